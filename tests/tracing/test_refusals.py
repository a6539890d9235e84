"""Every refusal's exact message here, and the same under every other Python that has the dependencies."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import ptxgen as px
from ptxgen.errors import TraceError
from tests.tracing.refusal_cases import CASES, LEGAL, outcome, trace

ROOT = Path(__file__).parents[2]
VERSIONS = ("3.10", "3.11", "3.12", "3.13")


@pytest.mark.parametrize("name", CASES)
def test_refused_at_its_line(name):
    function, *expected = CASES[name]
    assert list(outcome(function) or ()) == expected


@pytest.mark.parametrize("name", LEGAL)
def test_left_alone(name):
    trace(LEGAL[name])


def _interpreters(version):
    """Pythons of a version: those that PTXGEN_TEST_PYTHONS lists (folders, as in PATH), on the PATH, and of pyenv."""
    listed = os.environ.get("PTXGEN_TEST_PYTHONS", "")
    folders = [listed] if listed else []
    folders += [str(one / "bin") for one in Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser().glob(f"versions/{version}.*")]
    for path in (*folders, os.environ.get("PATH", "")):
        found = shutil.which(f"python{version}", path=path)
        if found:
            yield found


@pytest.mark.parametrize("version", VERSIONS)
def test_the_same_under_each_python(version):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for python in _interpreters(version):
        probe = subprocess.run([python, "-c", "import numpy, ml_dtypes"], capture_output=True, env=environment)
        if probe.returncode:
            continue
        ran = subprocess.run(
            [python, "-m", "tests.tracing.refusal_cases"], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert f"on Python {version}" in ran.stdout
        return
    pytest.skip(f"no Python {version} with numpy and ml_dtypes is installed")


def test_without_source_loops_are_refused_and_arithmetic_is_not():
    names = {"px": px}
    exec(compile("def loop(tid):\n    for i in px.range(4): pass\ndef plain(tid):\n    tid + 1", "<made up>", "exec"), names)
    trace(names["plain"])
    with pytest.raises(TraceError) as caught:
        trace(names["loop"])
    assert caught.value.problem == "px.range: the source of loop (<made up>) is not at hand"
    assert caught.value.legal == "put the kernel into a file or a notebook cell, or give its text to linecache"


def test_a_changed_file_is_noticed(tmp_path):
    file = tmp_path / "changed.py"
    file.write_text("def loop(tid):\n    for i in px.range(4):\n        pass\n")
    names = {"px": px}
    exec(compile(file.read_text(), str(file), "exec"), names)
    file.write_text("\n\ndef loop(tid):\n    pass\n")
    with pytest.raises(TraceError, match="is not what runs here"):
        trace(names["loop"])


def test_constructs_outside_of_a_kernel():
    for use in (lambda: px.range(4), lambda: px.if_(True), lambda: px.reg(px.f32), lambda: px.f32(1), lambda: px.tid.x):
        with pytest.raises(TraceError, match="only has a meaning inside a kernel"):
            use()
