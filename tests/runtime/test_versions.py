"""Version and target tables against ptxas, which is the authority on both."""

from __future__ import annotations

import pytest

from ptxgen.assemble import check_many, cuda_release_of, find_tool, header, ptx_version_of
from ptxgen.assemble.versions import RELEASES, supports_target
from ptxgen.instructions.targets import FIRST_VERSION, runs_on
from ptxgen.layouts.errors import PtxgenError

EMPTY = ".version {0}.{1}\n.target {2}\n.address_size 64\n.visible .entry k()\n{{\nret;\n}}\n"


def _newest() -> tuple[int, int]:
    tool = find_tool("ptxas")
    assert tool is not None
    return ptx_version_of(tool.release)


def test_every_release_is_a_version_that_ptxas_knows():
    known = [release.ptx for release in RELEASES if release.ptx <= _newest()]
    verdicts = check_many([EMPTY.format(*version, "sm_75") for version in known], "sm_75")
    assert [version for version, verdict in zip(known, verdicts) if not verdict.ok] == []


def test_the_newest_version_is_the_last_that_ptxas_knows():
    major, minor = _newest()
    later = check_many([EMPTY.format(major, minor + 1, "sm_75"), EMPTY.format(major, minor, "sm_75")], "sm_75")
    assert [verdict.ok for verdict in later] == [False, True]
    assert later[0].reason == f"Unsupported .version {major}.{minor + 1}; current version is '{major}.{minor}'"


@pytest.mark.parametrize("target", FIRST_VERSION)
def test_first_version_of_a_target(target):
    first = FIRST_VERSION[target]
    versions = sorted({(6, 0), (6, 2), *(release.ptx for release in RELEASES)} | {first})
    before = versions[versions.index(first) - 1]
    verdicts = check_many([EMPTY.format(*first, target), EMPTY.format(*before, target)], target)
    assert [verdict.ok for verdict in verdicts] == [True, False]


@pytest.mark.parametrize(
    ("written", "target"),
    [
        ("sm_80", "sm_90"), ("sm_90", "sm_90a"), ("sm_90a", "sm_90a"), ("sm_90a", "sm_100"), ("sm_90", "sm_80"),
        ("sm_100f", "sm_103a"), ("sm_100f", "sm_103"), ("sm_100a", "sm_103"), ("sm_120f", "sm_121"), ("sm_100f", "sm_120"),
        ("sm_103f", "sm_100"), ("sm_100", "sm_120"),
    ],
)  # fmt: skip
def test_what_runs_where(written, target):
    verdict = check_many([EMPTY.format(*_newest(), written)], target)[0]
    assert runs_on(written, target) == verdict.ok


def test_driver_releases():
    assert ptx_version_of((12, 4)) == (8, 4)
    assert ptx_version_of((13, 0)) == (9, 0)
    assert ptx_version_of((10, 2)) == (6, 3)
    assert ptx_version_of((99, 0)) == RELEASES[-1].ptx
    assert [(r.driver, r.ptx) for r in RELEASES if r.driver in (525, 530, 535, 545, 550)] == [
        (525, (8, 0)), (530, (8, 1)), (535, (8, 2)), (545, (8, 3)), (550, (8, 4)),
    ]  # fmt: skip
    release = cuda_release_of((8, 5))
    assert release is not None and release.cuda == (12, 5)
    assert cuda_release_of((99, 0)) is None


def test_targets_of_a_release():
    assert supports_target((12, 0), "sm_90a") and not supports_target((12, 0), "sm_100a")
    assert supports_target((12, 9), "sm_100f") and not supports_target((12, 8), "sm_100f")
    assert not supports_target((13, 5), "sm_9")


def test_header():
    assert header("// text\n  .version 8.6 // x\n.target sm_100a, debug\n") == ((8, 6), "sm_100a")
    with pytest.raises(PtxgenError, match=r"has no \.target directive"):
        header(".version 8.0\n")
    with pytest.raises(PtxgenError, match=r"has no \.version directive"):
        header("// .version 8.0\n.target sm_90\n")
