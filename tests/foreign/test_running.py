"""Kernels that nvcc compiled, in the emulator: what they leave behind is what NumPy computes; on a GPU the bits are equal."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest

from ptxgen.emulator import EmulationResult, emulate
from ptxgen.instructions.errors import InstructionError
from ptxgen.kernels.foreign import ForeignModule, load_ptx
from tests.foreign.cases import CASES, Case
from tests.foreign.cases.case import Launch
from tests.foreign.texts import loadable_text_of, module_of, text_of


def _different(case: Case) -> list[str]:
    """The targets whose texts differ in more than the name of the target."""
    texts = {text_of(f"{case.source}.{target}").replace(target, ""): target for target in case.targets}
    return list(texts.values())


RUNS = [pytest.param(case, target, id=f"{case}-{target}") for case in CASES for target in _different(case)]


def _drawn(case: Case) -> Launch:
    return case.make(np.random.default_rng(zlib.crc32(str(case).encode())))


def _entry(case: Case, target: str) -> Any:
    name = f"{case.source}.{target}"
    return ForeignModule(text_of(name), module_of(name))[case.kernel]


def _compare(launch: Launch, arguments: list[Any]) -> None:
    for place, expected in launch.results.items():
        found = np.ascontiguousarray(arguments[place]).view(expected.dtype).reshape(expected.shape)
        if launch.rtol:
            np.testing.assert_allclose(found, expected, launch.rtol, launch.rtol / 100, err_msg=f"argument {place}")
        else:
            np.testing.assert_array_equal(found, expected, err_msg=f"argument {place}")


def _run(case: Case, target: str, launch: Launch) -> EmulationResult:
    if any(callable(one) for one in launch.arguments):  # tensor maps: the emulator's own, which no GPU takes
        module = module_of(f"{case.source}.{target}")
        return emulate(module, case.kernel, grid=launch.grid, block=launch.block, arguments=launch.arguments)
    return _entry(case, target).emulate(*launch.arguments, grid=launch.grid, block=launch.block, shared=launch.shared)


def _emulated(case: Case, target: str) -> Launch:
    launch = _drawn(case)
    try:
        result = _run(case, target, launch)
    except InstructionError as error:
        if "known here" in str(error) or "yet" in str(error):
            pytest.skip(str(error).splitlines()[0])
        raise
    assert [str(report) for report in result.reports] == []
    return launch


@pytest.mark.parametrize("case, target", RUNS)
def test_the_emulator_computes_what_numpy_does(case: Case, target: str) -> None:
    launch = _emulated(case, target)
    _compare(launch, launch.arguments)


@pytest.mark.gpu
@pytest.mark.parametrize("case", [case for case in CASES if case.on_gpu], ids=str)
def test_the_gpu_computes_the_same_bits(case: Case) -> None:
    """Approximations, which the ISA leaves to the hardware, are compared as closely as with NumPy."""
    from ptxgen.cli.device import DeviceArray, synchronize

    target = _own_target(case)
    emulated = _emulated(case, target)
    launch = _drawn(case)
    arguments = [DeviceArray(one) if isinstance(one, np.ndarray) else one for one in launch.arguments]
    on_gpu = load_ptx(loadable_text_of(f"{case.source}.{target}"))[case.kernel]
    on_gpu.launch(*arguments, grid=launch.grid, block=launch.block, shared=launch.shared)
    synchronize()
    found = [one.numpy() if isinstance(one, DeviceArray) else one for one in arguments]
    _compare(launch, found)
    exact = {place: emulated.arguments[place] for place in launch.results}
    _compare(launch._replace(results=exact), found)


def _own_target(case: Case) -> str:
    """The target among the case's that this machine's GPU runs best."""
    from ptxgen.runtime import device_target

    own = device_target()
    if own in case.targets:
        return own
    if "sm_80" not in case.targets:
        pytest.skip(f"{case} was not compiled for {own}")
    return "sm_80"
