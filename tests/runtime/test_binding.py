"""Arguments against signatures: what fits, and the exact words for what does not."""

from __future__ import annotations

from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ptxgen as px
from ptxgen.instructions.types import b16, b32, bf16, f32, s32, type_named, u8, u32, u64
from ptxgen.runtime import (
    ArgumentError,
    Binder,
    Bound,
    DimParam,
    ScalarParam,
    Signature,
    TensorParam,
    binding,
    describe_array,
    stream_handle,
)
from ptxgen.runtime.arrays import accepted_dtypes
from ptxgen.runtime.fastpath import fast_path_source

SAXPY = Signature(
    "saxpy",
    [TensorParam("x", f32, ["n"], align=16), TensorParam("y", f32, ["n"], align=16), ScalarParam("a", f32), DimParam("n", u32)],
    {"n": 4},
)
X = np.zeros(64, np.float32)


def refusal(signature: Signature, *args: object) -> str:
    with pytest.raises(ArgumentError) as caught:
        Binder(signature)(*args)
    return str(caught.value)


def aligned(size: int, offset: int, align: int = 64) -> np.ndarray:
    """float32 elements, `offset` bytes after an aligned address inside one allocation."""
    raw = np.zeros(size * 4 + 2 * align, np.uint8)
    start = -raw.ctypes.data % align + offset
    return raw[start : start + 4 * size].view(np.float32)


def test_what_fits():
    y = np.ones_like(X)
    bound = Binder(SAXPY)(X, y, 2)
    assert bound.values == (X.ctypes.data, y.ctypes.data, 2.0, 64)
    assert (bound.device, bound.dims, bound.empty, bound.stream) == (None, (64,), False, 0)
    assert [info.owner is array for info, array in zip(bound.arrays, (X, y))] == [True, True]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((X, X), "saxpy(x, y, a) takes 3 arguments, 2 were given"),
        ((X.astype(np.float64), X, 1),
         "saxpy: argument 'x' is an array of float64; the signature says .f32, which takes float32. Fix: x.astype(np.float32)"),
        ((X, X[:32], 1), "saxpy: dimension 'n' is 64 by axis 0 of 'x' but 32 by axis 0 of 'y'; one name has one value"),
        ((X[:62], X[:62], 1),
         "saxpy: dimension 'n' is 62 by axis 0 of 'x'; the signature says multiple_of=4 (the next is 64)"),
        ((X[::2], X, 1),
         "saxpy: argument 'x' is a view with strides (2,) (in elements); the signature wants row-major contiguous elements, "
         "strides (1,). Fix: x.copy(), or declare strides= in the signature"),
        ((X[::-1], X, 1),
         "saxpy: argument 'x' is a view with strides (-1,) (in elements); the signature wants row-major contiguous elements, "
         "strides (1,). Fix: x.copy(), or declare strides= in the signature"),
        ((X, np.broadcast_to(np.float32(1), 64), 1),
         "saxpy: argument 'y' is a view with strides (0,) (in elements); the signature wants row-major contiguous elements, "
         "strides (1,). Fix: y.copy(), or declare strides= in the signature"),
        ((X[1:61], X, 1),
         "saxpy: argument 'x' is at an address that is 4 modulo 16 (it starts 4 bytes into its allocation); the signature wants "
         "16-byte alignment. Fix: x.copy() moves it to a fresh allocation"),
        ((X.reshape(8, 8), X, 1),
         "saxpy: argument 'x' is an array with 2 axes (8, 8); the signature says 1: .f32[n]. Fix: x.reshape(...) to 1 axes"),
        (([1.0], X, 1),
         "saxpy: argument 'x' is a list, not an array; the signature wants a tensor .f32[n]. Fix: pass a NumPy array, a torch "
         "tensor, or anything with __cuda_array_interface__ or __dlpack__"),
        ((X.astype(">f4"), X, 1), "saxpy: argument 'x' is a byte-swapped array (>f4); convert it: .astype('float32')"),
    ],
)  # fmt: skip
def test_refusals(args, message):
    assert refusal(SAXPY, *args) == message


def test_static_shapes():
    signature = Signature("k", [TensorParam("x", f32, [2, 32, "m"])])
    assert Binder(signature)(np.zeros((2, 32, 5), np.float32)).dims == (5,)
    assert refusal(signature, np.zeros((2, 31, 5), np.float32)) == (
        "k: argument 'x' is an array of shape (2, 31, 5); axis 1 has 31 elements where the signature says .f32[2, 32, m]"
    )


def test_a_dimension_may_be_read_after_it_is_used():
    signature = Signature("k", [TensorParam("out", f32, ["n", "m"]), TensorParam("x", f32, ["m"]), DimParam("m", u32)])
    assert Binder(signature)(np.zeros((2, 3), np.float32), np.zeros(3, np.float32)).dims == (2, 3)
    assert "dimension 'm' is 3 by axis 1 of 'out' but 4 by axis 0 of 'x'" in refusal(
        signature, np.zeros((2, 3), np.float32), np.zeros(4, np.float32)
    )


def test_required_strides():
    columns = Signature("k", [TensorParam("x", f32, ["n", 4], strides=[1, "n"])])
    array = np.zeros((4, 6), np.float32).T
    assert Binder(columns)(array).dims == (6,)
    assert "dimension 'n' is 6 by axis 0 of 'x' but 1 by the stride of axis 1 of 'x'" in refusal(
        Signature("k", [TensorParam("x", f32, ["n", 4], strides=[4, "n"])]), np.zeros((6, 4), np.float32)
    )
    fixed = Signature("k", [TensorParam("x", f32, [3, 4], strides=[8, 1])])
    assert Binder(fixed)(np.zeros((3, 8), np.float32)[:, :4]).dims == ()
    assert refusal(fixed, np.zeros((3, 4), np.float32)) == (
        "k: argument 'x' is a view with strides (4, 1) (in elements); axis 0 has stride 4 where the signature says strides (8, 1)"
    )
    both = Signature("k", [TensorParam("x", f32, ["n", 4], strides=["p", 1]), TensorParam("y", f32, [2, 4], strides=["p", 1])])
    assert Binder(both)(np.zeros((1, 4), np.float32), np.zeros((2, 8), np.float32)[:, :4]).dims == (1, 8)
    pitched = Signature("k", [TensorParam("x", f32, ["n", "m"], strides=["pitch", 1]), DimParam("pitch", u32)])
    assert Binder(pitched)(np.zeros((3, 8), np.float32)[:, :4]).values[1] == 8


def test_strides_of_single_elements_do_not_count():
    signature = Signature("k", [TensorParam("x", f32, [1, "n"])])
    view = np.lib.stride_tricks.as_strided(X, (1, 8), (999 * 4, 4))
    assert Binder(signature)(view).dims == (8,)


def test_host_alignment_counts_from_the_allocation():
    """The emulator maps each allocation to an aligned address, so where the host's allocator put it must not matter."""
    signature = Signature("k", [TensorParam("x", f32, [16], align=128)])
    raw = np.zeros(64, np.float32)
    assert Binder(signature)(raw[32:48]).values == (raw.ctypes.data + 128,)
    assert "is at an address that is 64 modulo 128" in refusal(signature, raw[16:32])


def test_zero_size():
    bound = Binder(SAXPY)(X[:0], X[:0], 1)
    assert bound.empty and bound.dims == (0,)
    reduce = Signature("sum", [TensorParam("x", f32, ["n"]), TensorParam("out", f32, [1])])
    assert not Binder(reduce)(X[:0], np.zeros(1, np.float32)).empty


def test_a_dimension_too_large_for_its_parameter():
    signature = Signature("k", [TensorParam("x", u8, ["n"]), DimParam("n", u8)])
    assert refusal(signature, np.zeros(256, np.uint8)) == (
        "k: dimension 'n', read from axis 0 of 'x', is 256, which is outside .u8's range 0 to 255"
    )


@pytest.mark.parametrize(
    ("dtype", "array"),
    [
        (bf16, ml_dtypes.bfloat16), (type_named("e4m3"), ml_dtypes.float8_e4m3fn), (type_named("e5m2"), ml_dtypes.float8_e5m2),
        (b16, np.float16), (b16, ml_dtypes.bfloat16), (b32, np.int32), (b32, np.float32), (u8, np.bool_), (u32, np.uint32),
        (type_named("f16x2"), np.uint32),
    ],
)  # fmt: skip
def test_dtypes_that_fit(dtype, array):
    assert Binder(Signature("k", [TensorParam("x", dtype, [3])]))(np.zeros(3, array)).dims == ()


@pytest.mark.parametrize(
    ("dtype", "array", "fix"),
    [
        (bf16, np.float16, "x.astype(ml_dtypes.bfloat16)"), (s32, np.uint32, "x.astype(np.int32)"),
        (u32, np.int64, "x.astype(np.uint32)"), (type_named("e4m3"), np.uint8, "x.astype(ml_dtypes.float8_e4m3fn)"),
    ],
)  # fmt: skip
def test_dtypes_that_do_not(dtype, array, fix):
    message = refusal(Signature("k", [TensorParam("x", dtype, [3])]), np.zeros(3, array))
    accepted = accepted_dtypes(dtype.name, dtype.bits)[0]
    assert message == (
        f"k: argument 'x' is an array of {np.dtype(array).name}; the signature says .{dtype.name}, which takes {accepted}. Fix: {fix}"
    )


def test_keywords():
    binder = Binder(SAXPY)
    assert binder.arrange((1,), {"a": 3, "y": 2}) == (1, 2, 3)
    for args, kwargs, message in [
        ((1, 2, 3, 4), {}, "saxpy(x, y, a) takes 3 arguments, 4 were given"),
        ((1,), {"x": 2}, "saxpy(x, y, a) got two values for 'x'"),
        ((1,), {"n": 2}, "saxpy(x, y, a) has no argument 'n'"),
        ((1,), {}, "saxpy(x, y, a) lacks 'y', 'a'"),
    ]:
        with pytest.raises(ArgumentError) as caught:
            binder.arrange(args, kwargs)
        assert str(caught.value) == message


class Exported:
    """An array known only through DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack_in_host_memory():
    array = np.arange(24, dtype=np.float32).reshape(4, 6)[:, :3]
    info = describe_array(Exported(array))
    assert info is not None
    assert (info.pointer, info.shape, info.strides, info.dtype) == (array.ctypes.data, (4, 3), (6, 1), "float32")
    other = SimpleNamespace(__dlpack__=None, __dlpack_device__=lambda: (8, 0))
    with pytest.raises(ArgumentError, match="an array on DLPack device type 8"):
        describe_array(other)


def test_views_share_a_root():
    base = np.zeros(100, np.float32)
    left, right = describe_array(base[10:20]), describe_array(base[15:].reshape(5, 17))
    assert left is not None and right is not None
    assert left.root == right.root == (base.ctypes.data, 400)
    assert right.pointer - left.pointer == 20


def test_streams():
    assert stream_handle(None) == 0 and stream_handle(7) == 7 and stream_handle(np.int64(9)) == 9
    assert stream_handle(SimpleNamespace(cuda_stream=5)) == 5
    assert stream_handle(SimpleNamespace(ptr=6)) == 6
    assert stream_handle(SimpleNamespace(__cuda_stream__=lambda: (0, 8))) == 8
    assert stream_handle(SimpleNamespace(__cuda_stream__=(0, 8))) == 8
    with pytest.raises(ArgumentError, match="stream='main' is no stream: pass an int handle"):
        stream_handle("main")


# ---- PyTorch ----


@pytest.mark.torch
def test_cpu_tensors():
    import torch

    x = torch.zeros(64)
    bound = Binder(SAXPY)(x, x, 1.0)
    assert bound.values[:2] == (x.data_ptr(), x.data_ptr()) and bound.device is None
    info = describe_array(x[8:])
    assert info is not None and info.root == (x.data_ptr(), 256) and info.pointer == x.data_ptr() + 32
    assert refusal(SAXPY, x.double(), x, 1.0) == (
        "saxpy: argument 'x' is an array of float64; the signature says .f32, which takes float32. Fix: x.to(torch.float32)"
    )
    assert refusal(SAXPY, x, torch.zeros(64, 2)[:, 0], 1.0) == (
        "saxpy: argument 'y' is a view with strides (2,) (in elements); the signature wants row-major contiguous elements, "
        "strides (1,). Fix: y.contiguous(), or declare strides= in the signature"
    )
    assert refusal(SAXPY, torch.zeros(64, device="meta"), x, 1.0) == (
        "saxpy: argument 'x' is a tensor on device meta; kernels run on CUDA devices, and on CPU tensors in the emulator"
    )
    assert "a tensor of layout torch.sparse_coo" in refusal(SAXPY, torch.zeros(64).to_sparse(), x, 1.0)
    assert Binder(Signature("k", [TensorParam("x", bf16, [2])]))(torch.zeros(2, dtype=torch.bfloat16)).device is None


def test_textures_of_the_emulator_are_none_of_a_gpu(monkeypatch):
    texture = px.Texture(np.zeros((2, 2), np.float32))
    signature = Signature("k", [ScalarParam("t", u64)])
    assert Binder(signature)(texture).values == (int(texture.__index__()),)
    monkeypatch.setattr(binding._Check, "_device", lambda self: 0)  # as if there were arrays on a GPU
    assert refusal(signature, texture) == (
        "k: argument 't' is <Texture 2d of float32[2, 2]>, which the emulator alone knows. "
        "Fix: pass the handle that cuTexObjectCreate gave, as an int"
    )


class CudaTensor:
    """A CPU tensor that says it is on cuda:0, so that the generated check can be compared with the careful one."""

    def __init__(self, tensor, device=0):
        self._tensor = tensor
        self._device = device

    def get_device(self):
        return self._device

    def __getattr__(self, name):
        return getattr(self._tensor, name)


def done(device, values, dims, stream):
    return Bound(device, values, dims, False, stream)


SIGNATURES = [
    SAXPY,
    Signature("k", [TensorParam("x", f32, [2, "n"]), TensorParam("y", b32, ["n", "n"], strides=[1, "n"]), ScalarParam("a", u32)]),
    Signature("k", [TensorParam("x", f32, [4, 4], align=32), TensorParam("y", f32, [4, 4], strides=[8, 1]), ScalarParam("a", b32)]),
    Signature("k", [TensorParam("x", f32, []), DimParam("n", u8), TensorParam("y", bf16, ["n", 3]), ScalarParam("a", f32)]),
]


@st.composite
def tensors(draw):
    import torch

    dtype = draw(st.sampled_from([torch.float32, torch.float32, torch.float32, torch.bfloat16, torch.int32]))
    shape = draw(st.sampled_from([(), (4,), (8,), (2, 4), (4, 4), (2, 2), (1, 1), (0, 3), (5, 3), (300, 3)]))
    tensor = torch.zeros(4096, dtype=dtype)[draw(st.sampled_from([0, 0, 0, 1, 4, 8])) :]
    strides = [1] * len(shape)
    for axis in range(len(shape) - 1, 0, -1):
        strides[axis - 1] = strides[axis] * shape[axis]
    if len(shape) == 2:
        strides = draw(st.sampled_from([strides, strides, [1, shape[0]], [8, 1]]))
    return CudaTensor(tensor.as_strided(shape, strides), draw(st.sampled_from([0, 0, 0, 0, 1, -1])))


@pytest.mark.torch
@settings(max_examples=400, deadline=None)
@given(st.data())
def test_the_generated_check_never_accepts_more(data):
    import torch

    signature = data.draw(st.sampled_from(SIGNATURES))
    x, y = data.draw(tensors()), data.draw(tensors())
    a = data.draw(st.sampled_from([1, 1.0, -1, 1 << 32, 1e39, float("nan"), True, None]))
    source = fast_path_source(signature)
    assert source is not None
    scope = {"done": done, "NUMBERS": (float, int), "raw_stream": lambda device: 0}
    for index, param in enumerate(signature.arguments):
        if isinstance(param, TensorParam):
            scope[f"D{index}"] = {getattr(torch, n) for n in accepted_dtypes(param.dtype.name, param.dtype.bits) if hasattr(torch, n)}
    exec(source, scope)
    fast = scope["bind"](x, y, a)
    if fast is None:
        return
    careful = Binder(signature)(x._tensor, y._tensor, a)
    assert x._device == y._device == fast.device
    assert (fast.values, fast.dims, fast.empty) == (careful.values, careful.dims, careful.empty)


@pytest.mark.torch
def test_the_generated_check_accepts_the_usual_call():
    import torch

    source = fast_path_source(SAXPY)
    assert source is not None
    scope = {
        "done": lambda *parts: Bound(*parts[:3], False, parts[3]),
        "NUMBERS": (float, int),
        "raw_stream": lambda d: 40 + d,
        "D0": {torch.float32},
        "D1": {torch.float32},
    }
    exec(source, scope)
    x = CudaTensor(torch.zeros(64), 1)
    assert scope["bind"](x, x, 2.0) == Bound(1, (x.data_ptr(), x.data_ptr(), 2.0, 64), (64,), False, 41)
