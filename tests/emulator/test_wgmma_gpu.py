"""wgmma on the GPU and in the emulator: the same kernels on random values, with equal bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ptxgen.emulator import emulate
from ptxgen.text import read
from tests.emulator.test_sparse_wgmma import case
from tests.emulator.test_wgmma import FORMS, TYPES, prepare

pytestmark = pytest.mark.gpu

ACCUMULATORS: dict[str, Any] = {"f32": np.float32, "f16": np.float16, "s32": np.int32}


@pytest.fixture
def device() -> Iterator[Any]:
    from cuda.bindings import driver

    driver.cuInit(0)
    _, number = driver.cuDeviceGet(0)
    _, context = driver.cuDevicePrimaryCtxRetain(number)
    driver.cuCtxSetCurrent(context)
    yield driver
    driver.cuDevicePrimaryCtxRelease(number)


def call(result: Any) -> Any:
    assert int(result[0]) == 0, result
    return result[1] if len(result) > 1 else None


def on_gpu(driver: Any, text: str, arguments: list[Any]) -> None:
    """Launch one warpgroup; arrays are copied there and back."""
    module = call(driver.cuModuleLoadData(text.strip().encode() + b"\0"))
    arrays = {number: argument for number, argument in enumerate(arguments) if isinstance(argument, np.ndarray)}
    pointers = {number: call(driver.cuMemAlloc(array.nbytes)) for number, array in arrays.items()}
    for number, array in arrays.items():
        call(driver.cuMemcpyHtoD(pointers[number], array.ctypes.data, array.nbytes))
    words = [
        int(pointers[number]) if number in pointers else int.from_bytes(argument, "little") for number, argument in enumerate(arguments)
    ]
    values = [np.array([word], np.uint64) for word in words]
    packed = np.array([value.ctypes.data for value in values], np.uint64)
    function = call(driver.cuModuleGetFunction(module, b"k"))
    call(driver.cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, 0, packed.ctypes.data, 0))
    call(driver.cuCtxSynchronize())
    for number, array in arrays.items():
        call(driver.cuMemcpyDtoH(array.ctypes.data, pointers[number], array.nbytes))
        call(driver.cuMemFree(pointers[number]))
    call(driver.cuModuleUnload(module))


def values(shape: tuple[int, int], of: Any, rng: np.random.Generator) -> np.ndarray:
    if np.issubdtype(of, np.integer):
        return rng.integers(np.iinfo(of).min, np.iinfo(of).max, shape, endpoint=True).astype(of)
    return (rng.standard_normal(shape) * np.exp2(rng.integers(-6, 7, shape)) / 8).astype(of)


def compare(driver: Any, type_a: str, type_b: str, type_d: str, n: int, **options: Any) -> None:
    rng = np.random.default_rng(n)
    k = 32 // TYPES[type_a][1]
    a, b = values((64, k), TYPES[type_a][0], rng), values((n, k), TYPES[type_b][0], rng)
    c = values((64, n), ACCUMULATORS[type_d], rng)
    text, mine = prepare(a, b, c, f"{type_d}.{type_a}.{type_b}", **options)
    gpus = [argument.copy() if isinstance(argument, np.ndarray) else argument for argument in mine]
    emulate(read(text), "k", grid=1, block=128, arguments=mine).raise_for_reports()
    on_gpu(driver, text, gpus)
    np.testing.assert_array_equal(mine[1], gpus[1])


@pytest.mark.parametrize("n", range(8, 257, 8))
def test_every_n(device: Any, n: int) -> None:
    compare(device, "f16", "f16", "f32", n)


@pytest.mark.parametrize("a_registers", [False, True])
@pytest.mark.parametrize("type_a, type_b, type_d", FORMS)
def test_every_type(device: Any, type_a: str, type_b: str, type_d: str, a_registers: bool) -> None:
    compare(device, type_a, type_b, type_d, 64, a_registers=a_registers, a_span=32, b_span=64)


@pytest.mark.parametrize("span", [16, 32, 64, 128])
@pytest.mark.parametrize("a_major, b_major", [(True, True), (True, False), (False, True), (False, False)])
def test_every_major_and_swizzle(device: Any, span: int, a_major: bool, b_major: bool) -> None:
    compare(device, "bf16", "bf16", "f32", 136, a_span=span, b_span=span, a_major=a_major, b_major=b_major)


@pytest.mark.parametrize("a_registers", [False, True])
@pytest.mark.parametrize("types", FORMS, ids=".".join)
def test_sparse_products_of_random_bits(device: Any, types: tuple[str, str, str], a_registers: bool) -> None:
    text, mine, _ = case(*types, a_registers=a_registers, a_span=32, b_span=64)
    rng = np.random.default_rng(8)
    for array in (mine[1], mine[3]):  # both factors in shared memory, and A in registers
        array.view(np.uint8)[...] = rng.integers(0, 256, array.view(np.uint8).shape, np.uint8)
    gpus = [argument.copy() if isinstance(argument, np.ndarray) else argument for argument in mine]
    emulate(read(text), "k", grid=1, block=128, arguments=mine).raise_for_reports()
    on_gpu(device, text, gpus)
    np.testing.assert_array_equal(mine[2], gpus[2])
