"""Every example: in the emulator against NumPy, and on the GPU with the emulator's bits."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import ptxgen as px
from ptxgen.assemble import assemble

FOLDER = Path(__file__).resolve().parents[2] / "examples"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))


def load(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compare(example, found, wanted):
    """Bit by bit, so that NaN and signed zeros compare too; but where the example says what its approximate instructions cost."""
    if hasattr(example, "RELATIVE_ERROR"):
        np.testing.assert_allclose(found, wanted, rtol=example.RELATIVE_ERROR)
    else:
        np.testing.assert_array_equal(*(np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}") for array in (found, wanted)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [0, 1])
def test_emulated_result_is_numpys(name, seed):
    example = load(name)
    kernel, arguments, expected = example.case(seed)
    kernel(*arguments)
    assert expected
    for position, wanted in expected.items():
        compare(example, arguments[position], wanted)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "foreign"])
def test_text_is_assembled_and_spills_nothing(name):
    kernel, _, _ = load(name).case()
    resources = assemble(kernel.ptx()).resources[kernel.name]
    assert resources.spill_stores == resources.spill_loads == 0


@pytest.mark.parametrize("span", [16, 32, 64, 128])
@pytest.mark.parametrize("b_major", ["k", "mn"])
@pytest.mark.parametrize("a_major", ["k", "mn"])
def test_wgmma_multiplies_every_major_and_swizzle(a_major, b_major, span):
    kernel, arguments, expected = load("wgmma_tile").case(5, a_major, b_major, span)
    kernel(*arguments)
    np.testing.assert_array_equal(arguments[2], expected[2])
    assemble(kernel.ptx())


@pytest.mark.parametrize(
    "dtype, shape",
    [(px.bf16, (8, 8, 8)), (px.bf16, (128, 256, 64)), (px.bf16, (264, 520, 72)), (px.e4m3, (8, 8, 16)), (px.e4m3, (264, 520, 144))],
    ids=lambda one: getattr(one, "name", None),
)
def test_hopper_gemm_of_any_multiples_of_eight(dtype, shape):
    kernel, arguments, expected = load("hopper_gemm").case(6, shape, 4, dtype)
    kernel(*arguments)
    np.testing.assert_array_equal(arguments[2], expected[2])
    assemble(kernel.ptx())


@pytest.mark.parametrize("shape", [(256, 128, 8), (512, 128, 328)])
@pytest.mark.parametrize("ctas", [1, 2])
def test_tcgen05_gemm_of_one_block_and_of_pairs(ctas, shape):
    kernel, arguments, expected = load("tcgen05_gemm").case(7, ctas, shape)
    kernel(*arguments)
    np.testing.assert_array_equal(arguments[2], expected[2])
    assemble(kernel.ptx())


@pytest.mark.gpu
@pytest.mark.parametrize("name", NAMES)
def test_gpu_gives_the_emulators_bits(name):
    torch = pytest.importorskip("torch")
    example = load(name)
    if hasattr(example, "NEEDS") and (have := "sm_{}{}".format(*torch.cuda.get_device_capability())) != example.NEEDS.rstrip("af"):
        pytest.skip(f"the example is for {example.NEEDS} alone, and this GPU is {have}")
    gives_the_emulators_bits(torch, example, *example.case(seed=3))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [px.bf16, px.e4m3], ids=lambda one: one.name)
@pytest.mark.parametrize("shape", [(8, 8, 16), (1000, 1032, 528)])
def test_gpu_multiplies_every_type_and_shape(shape, dtype):
    torch = pytest.importorskip("torch")
    example = load("hopper_gemm")
    kernel, arguments, expected = example.case(4, shape, 8, dtype)
    on_gpu = [to_cuda(torch, one) for one in arguments]
    kernel(*on_gpu)
    compare(example, to_numpy(torch, on_gpu[2], arguments[2]), expected[2])


def gives_the_emulators_bits(torch, example, kernel, arguments, expected):
    on_gpu = [to_cuda(torch, one) for one in arguments]
    kernel(*arguments)
    kernel(*on_gpu)
    torch.cuda.synchronize()
    for position in expected:
        compare(example, to_numpy(torch, on_gpu[position], arguments[position]), arguments[position])


def to_cuda(torch, value):
    if not isinstance(value, np.ndarray) or value.ndim == 0:
        return value
    if value.dtype.name in ("bfloat16", "float8_e4m3fn"):  # torch's names too
        return torch.from_numpy(value.view(f"u{value.dtype.itemsize}").copy()).cuda().view(getattr(torch, value.dtype.name))
    return torch.from_numpy(value.copy()).cuda()


def to_numpy(torch, tensor, like):
    return tensor.contiguous().view(torch.uint8).cpu().numpy().view(like.dtype).reshape(like.shape)
