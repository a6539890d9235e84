"""Kernels that Hypothesis draws, against NumPy, in the emulator with all its checks; some of their texts are assembled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ptxgen.assemble import AssemblyError
from ptxgen.testing.families.case import difference
from tests.random_kernels import workers
from tests.random_kernels.drawing import Drawn, draw, kernels, reduced, simpler
from tests.random_kernels.families import FAMILIES
from tests.random_kernels.running import disagreement

# No shrinking: it takes minutes, a drawn kernel is small as it is, and the command that the message names looks for a simpler one.
SOME = settings(
    max_examples=20, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate], suppress_health_check=[HealthCheck.too_slow]
)


@pytest.mark.parametrize("family", FAMILIES)
def test_numpy_and_the_emulator_agree(family: str) -> None:
    @SOME
    @given(kernels(family))
    def agree(drawn: Drawn) -> None:
        assert disagreement(drawn) is None, f"python -m tests.random_kernels --kernel '{drawn}'"

    agree()


@pytest.mark.parametrize("family", FAMILIES)
def test_texts_assemble(family: str) -> None:
    for drawn in draw(family, 4, seed=0):
        try:
            drawn.build().kernel.resources("sm_90a")
        except AssemblyError as error:
            raise AssertionError(f"python -m tests.random_kernels --kernel '{drawn}'") from error


@given(st.sampled_from(list(FAMILIES)).flatmap(kernels))
@settings(max_examples=30, deadline=None)
def test_a_kernel_is_its_text(drawn: Drawn) -> None:
    assert Drawn.parse(str(drawn)) == drawn


def test_the_same_seed_draws_the_same_kernels() -> None:
    first, again, other = (list(draw("wgmma", 12, seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert len({str(drawn) for drawn in first}) == 12


def test_a_failing_kernel_becomes_simpler() -> None:
    """It ends at the simplest kernel that still has what fails."""
    (drawn,) = draw("cp.async", 1, seed=3)
    drawn = drawn._replace(fields={**drawn.fields, "tail": "src_size", "stages": 3, "steps": 4})

    def failing(candidates: list[Drawn]) -> list[Drawn]:
        return [one for one in candidates if one.fields["tail"] == "src_size" and one.fields["stages"] > 1]

    found = reduced(drawn, failing)
    simplest = {name: choices[0] for name, choices in FAMILIES["cp.async"].FIELDS.items()}
    assert found == Drawn("cp.async", {**simplest, "tail": "src_size", "stages": 2}, 0)
    assert not failing(list(simpler(found)))


def test_one_wrong_bit_is_a_difference() -> None:
    """-0.0 is NumPy's 0.0, and other bits on the GPU; a NaN is equal to itself bit by bit."""
    zeros, minus = np.zeros((2, 3), np.float32), np.zeros((2, 3), np.float32)
    minus[1, 2] = -0.0
    assert difference(minus, zeros, "NumPy") is None
    assert difference(minus, zeros, "the emulator", exact=True) == (
        "1 of 6 elements differ, the first at (1, 2): 2147483648, the emulator says 0"
    )
    undefined = np.full(3, np.nan, np.float16)
    assert difference(undefined, undefined, "the emulator", exact=True) is None
    assert "3 of 3 elements differ" in str(difference(undefined, undefined, "NumPy"))


@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked")
def test_a_process_that_dies_or_hangs_is_its_kernels_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third, fourth = draw("cp.async", 4, seed=0)

    def fate(drawn: Drawn, gpu: bool) -> str | None:
        if drawn == first:
            os._exit(3)
        if drawn == second:
            time.sleep(600)
        return "wrong" if drawn == third else None

    monkeypatch.setattr(workers, "disagreement", fate)
    monkeypatch.setattr(workers, "TIME_LIMIT", 1.0)
    found = {str(one.drawn): one.wrong for one in workers.outcomes([first, second, third, fourth], 2, False)}
    assert found == {
        str(first): "the process ended with code 3", str(second): "no end within 1 seconds", str(third): "wrong", str(fourth): None,
    }  # fmt: skip


def test_the_command_writes_a_report(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    command = [sys.executable, "-m", "tests.random_kernels", "--no-gpu", "--count", "2", "--family", "elements", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], env={**os.environ, "PYTHONPATH": "."})
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(out.read_text())
    assert report["kernels"] == 2 and report["seed"] == 0 and report["compared"] == ["NumPy", "emulator"]
    assert report["families"]["elements"]["differ"] == 0 and report["differences"] == []
    assert report["machine"]["date"] and report["machine"]["packages"]["numpy"]
