"""Kernels that Hypothesis draws, against NumPy, in the emulator with all its checks; some of their texts are assembled."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ptxgen.assemble import AssemblyError
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
