"""Which CUDA release, and which driver branch, understands which PTX version (PTX ISA, chapter "Release Notes").

Targets and the first PTX version of each are facts of the ISA and live in `ptxgen.instructions.targets`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ptxgen.instructions.targets import FIRST_VERSION, Version
from ptxgen.layouts.errors import PtxgenError

__all__ = ["RELEASES", "Header", "Release", "cuda_release_of", "header", "ptx_version_of", "supports_target"]


class Release(NamedTuple):
    """One CUDA release: its version, the PTX version that came with it, and the driver branch (0 where none is known)."""

    cuda: tuple[int, int]
    ptx: Version
    driver: int


RELEASES = (
    Release((11, 0), (7, 0), 450),
    Release((11, 1), (7, 1), 455),
    Release((11, 2), (7, 2), 460),
    Release((11, 3), (7, 3), 465),
    Release((11, 4), (7, 4), 470),
    Release((11, 5), (7, 5), 495),
    Release((11, 6), (7, 6), 510),
    Release((11, 7), (7, 7), 515),
    Release((11, 8), (7, 8), 520),
    Release((12, 0), (8, 0), 525),
    Release((12, 1), (8, 1), 530),
    Release((12, 2), (8, 2), 535),
    Release((12, 3), (8, 3), 545),
    Release((12, 4), (8, 4), 550),
    Release((12, 5), (8, 5), 555),
    Release((12, 6), (8, 5), 560),
    Release((12, 7), (8, 6), 565),
    Release((12, 8), (8, 7), 570),
    Release((12, 9), (8, 8), 575),
    Release((13, 0), (9, 0), 580),
    Release((13, 1), (9, 1), 590),
    Release((13, 2), (9, 2), 595),
    Release((13, 3), (9, 3), 0),
    Release((13, 4), (9, 4), 0),
    Release((13, 5), (9, 5), 0),
)
"""Oldest first. A release understands its own PTX version and every older one."""


class Header(NamedTuple):
    """What a PTX text says about itself: ``.version`` and the architecture named by ``.target``."""

    version: Version
    target: str


_VERSION = re.compile(r"^\s*\.version\s+(\d+)\.(\d+)", re.MULTILINE)
_TARGET = re.compile(r"^\s*\.target\s+(sm_\d+[af]?)", re.MULTILINE)


def header(ptx: str) -> Header:
    """Read ``.version`` and ``.target`` of a PTX text (ISA 11.1.1, 11.1.2).

    Raises
    ------
    PtxgenError
        Where one of them is missing.
    """
    version, target = _VERSION.search(ptx), _TARGET.search(ptx)
    if version is None or target is None:
        missing = ".version" if version is None else ".target"
        raise PtxgenError(
            f"the PTX text has no {missing} directive; a module begins with, for example, '.version 8.0' and '.target sm_90' (PTX ISA 11.1)"
        )
    return Header((int(version[1]), int(version[2])), target[1])


def ptx_version_of(cuda: tuple[int, int]) -> Version:
    """The newest PTX version that CUDA release `cuda` (driver or tool) understands.

    A release newer than the table understands at least the table's last PTX version; one older than the table gets (6, 3).
    """
    known = [release.ptx for release in RELEASES if release.cuda <= cuda]
    return known[-1] if known else (6, 3)


def cuda_release_of(version: Version) -> Release | None:
    """The first CUDA release that understands PTX `version`; None if it is newer than every release known here."""
    return next((release for release in RELEASES if release.ptx >= version), None)


def supports_target(cuda: tuple[int, int], target: str) -> bool:
    """Whether the assembler of CUDA release `cuda` knows `target`, judged by the PTX version that introduced the target."""
    first = FIRST_VERSION.get(target)
    return first is not None and first <= ptx_version_of(cuda)
