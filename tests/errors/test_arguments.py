"""Arguments that do not fit a kernel's signature: refused before anything is launched or emulated."""

from __future__ import annotations

import numpy as np
import pytest

import ptxgen as px
from ptxgen import ArgumentError, TraceError, f32, u8, u32
from ptxgen.runtime import LaunchError
from tests.errors.refusal import refused

rows, cols = px.dim("rows"), px.dim("cols", multiple_of=4)


@px.kernel(grid=1, block=32)
def scale(x: px.Tensor((rows, cols), f32, align=16), y: px.Tensor((rows, cols), f32), a: f32, count: u8):
    px.syncthreads()


def f(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


X = f(3, 8)


def test_float64_array():
    def program():
        scale(f(3, 8, dtype=np.float64), X, 1.0, 1)  # <- here

    refused(ArgumentError, program, """
<here>: scale: argument 'x' is an array of float64; the signature says .f32, which takes float32. Fix: x.astype(np.float32)
  line: <source>
""")


def test_integer_array():
    def program():
        scale(f(3, 8, dtype=np.int32), X, 1.0, 1)  # <- here

    refused(ArgumentError, program, """
<here>: scale: argument 'x' is an array of int32; the signature says .f32, which takes float32. Fix: x.astype(np.float32)
  line: <source>
""")


def test_list_instead_of_an_array():
    def program():
        scale([[1.0]], X, 1.0, 1)  # <- here

    refused(ArgumentError, program, """
<here>: scale: argument 'x' is a list, not an array; the signature wants a tensor .f32[rows, cols]. Fix: pass a NumPy \
array, a torch tensor, or anything with __cuda_array_interface__ or __dlpack__
  line: <source>
""")


def test_wrong_rank():
    def program():
        scale(f(24), X, 1.0, 1)  # <- here

    refused(ArgumentError, program, """
<here>: scale: argument 'x' is an array with 1 axes (24,); the signature says 2: .f32[rows, cols]. Fix: x.reshape(...) to 2 axes
  line: <source>
""")


def test_dims_that_disagree():
    def program():
        scale(X, f(4, 8), 1.0, 1)  # <- here

    refused(ArgumentError, program, """
<here>: scale: dimension 'rows' is 3 by axis 0 of 'x' but 4 by axis 0 of 'y'; one name has one value
  line: <source>
""")


def test_dim_that_is_no_multiple():
    def program():
        scale(f(3, 6), f(3, 6), 1.0, 1)  # <- here

    refused(ArgumentError, program, """
<here>: scale: dimension 'cols' is 6 by axis 1 of 'x'; the signature says multiple_of=4 (the next is 8)
  line: <source>
""")


def test_dim_beyond_its_maximum():
    limited = px.dim("limited", max=100)

    @px.kernel(grid=1, block=32)
    def kernel(x: px.Tensor((limited,), f32)):
        px.syncthreads()

    kernel.specialize().runner.binder(f(100))

    def program():
        kernel(f(101))  # <- here

    refused(ArgumentError, program, """
<here>: kernel: dimension 'limited' is 101 by axis 0 of 'x'; the signature says at most 100: px.dim('limited', max=...) raises the limit
  line: <source>
""")


def test_every_second_row():
    def program():
        scale(f(6, 8)[::2], X, 1.0, 1)  # <- here

    refused(ArgumentError, program, """
<here>: scale: argument 'x' is a view with strides (16, 1) (in elements); the signature wants row-major contiguous \
elements, strides (8, 1). Fix: x.copy(), or declare strides= in the signature
  line: <source>
""")


def test_flipped_array():
    def program():
        scale(X[::-1], X, 1.0, 1)  # <- here

    refused(ArgumentError, program, """
<here>: scale: argument 'x' is a view with strides (-8, 1) (in elements); the signature wants row-major contiguous \
elements, strides (8, 1). Fix: x.copy(), or declare strides= in the signature
  line: <source>
""")


def test_broadcast_array():
    def program():
        scale(np.broadcast_to(f(1, 8), (3, 8)), X, 1.0, 1)  # <- here

    refused(ArgumentError, program, """
<here>: scale: argument 'x' is a view with strides (0, 1) (in elements); the signature wants row-major contiguous \
elements, strides (8, 1). Fix: x.copy(), or declare strides= in the signature
  line: <source>
""")


def test_transposed_array():
    def program():
        scale(f(8, 3).T, X, 1.0, 1)  # <- here

    refused(ArgumentError, program, """
<here>: scale: argument 'x' is a view with strides (1, 3) (in elements); the signature wants row-major contiguous \
elements, strides (8, 1). Fix: x.copy(), or declare strides= in the signature
  line: <source>
""")


def test_misaligned_storage_offset():
    memory = np.zeros(64, np.float32)

    def program():
        scale(memory[1:25].reshape(3, 8), X, 1.0, 1)  # <- here

    refused(ArgumentError, program, """
<here>: scale: argument 'x' is at an address that is 4 modulo 16 (it starts 4 bytes into its allocation); the signature \
wants 16-byte alignment. Fix: x.copy() moves it to a fresh allocation
  line: <source>
""")


def test_text_as_a_scalar():
    def program():
        scale(X, X, "1", 1)  # <- here

    refused(ArgumentError, program, """
<here>: scale: argument 'a' is '1', which is no real number (the signature says .f32)
  line: <source>
""")


def test_scalar_out_of_range():
    def program():
        scale(X, X, 1.0, 256)  # <- here

    refused(ArgumentError, program, """
<here>: scale: argument 'count' is 256, which is outside .u8's range 0 to 255 (the signature says .u8)
  line: <source>
""")


def test_float_for_an_integer():
    def program():
        scale(X, X, 1.0, 1.5)  # <- here

    refused(ArgumentError, program, """
<here>: scale: argument 'count' is 1.5, which is no integer; pass int(...) if truncation is meant (the signature says .u8)
  line: <source>
""")


def test_float_beyond_f32():
    def program():
        scale(X, X, 1e300, 1)  # <- here

    refused(ArgumentError, program, """
<here>: scale: argument 'a' is 1e+300, which is outside the range of .f32 (the signature says .f32)
  line: <source>
""")


def test_array_for_a_scalar():
    def program():
        scale(X, X, f(2), 1)  # <- here

    refused(ArgumentError, program, """
<here>: scale: argument 'a' is an array (ndarray); this parameter is a number: pass value.item() (the signature says .f32)
  line: <source>
""")


def test_argument_left_out():
    def program():
        scale(X, X, 1.0)  # <- here

    refused(ArgumentError, program, """
<here>: scale(x, y, a, count) takes 4 arguments, 3 were given
  line: <source>
""")


def test_argument_too_many():
    def program():
        scale(X, X, 1.0, 1, 2)  # <- here

    refused(ArgumentError, program, """
<here>: scale(x, y, a, count) takes 4 arguments, 5 were given
  line: <source>
""")


def test_argument_by_an_unknown_name():
    def program():
        scale(X, X, 1.0, b=1)  # <- here

    refused(px.TraceError, program, """
<here>: kernel scale has no constant 'b'
  line: <source>
  legal: its constants: none
""")


def test_grid_of_a_plain_call():
    def program():
        scale(X, X, 1.0, 1, grid=4)  # <- here

    refused(px.TraceError, program, """
<here>: kernel scale has no constant 'grid'
  line: <source>
  legal: scale.launch(..., grid=, stream=) or scale.emulate(..., grid=, seed=)
""")


def test_constant_passed_by_position():
    @px.kernel(grid=1, block=32)
    def kernel(x: px.Tensor((4,), f32), *, BM: px.constexpr = 4):
        px.syncthreads()

    def program():
        kernel(f(4), 8)  # <- here

    refused(ArgumentError, program, """
<here>: kernel(x) takes 1 arguments, 2 were given
  line: <source>
""")


def test_static_extent():
    @px.kernel(grid=1, block=32)
    def kernel(x: px.Tensor((4, 8), f32)):
        px.syncthreads()

    def program():
        kernel(f(4, 9))  # <- here

    refused(ArgumentError, program, """
<here>: kernel: argument 'x' is an array of shape (4, 9); axis 1 has 9 elements where the signature says .f32[4, 8]
  line: <source>
""")


def test_declared_strides():
    @px.kernel(grid=1, block=32)
    def kernel(x: px.Tensor((4, 8), f32, strides=(16, 1))):
        px.syncthreads()

    def program():
        kernel(f(4, 8))  # <- here

    refused(ArgumentError, program, """
<here>: kernel: argument 'x' is a view with strides (8, 1) (in elements); axis 0 has stride 8 where the signature says strides (16, 1)
  line: <source>
""")


def test_no_array_says_where_to_run():
    @px.kernel(grid=1, block=32)
    def kernel(count: u32):
        px.syncthreads()

    def program():
        kernel(4)  # <- here

    refused(ArgumentError, program, """
<here>: kernel: no parameter is a tensor, so nothing says where to run; use .launch or .emulate
  line: <source>
""")


def test_launch_without_a_gpu_on_host_arrays():
    def program():
        scale.launch(X, X, 1.0, 1)  # <- here

    refused(ArgumentError, program, """
<here>: scale: the arguments are in host memory; the GPU takes CUDA arrays
  line: <source>
""")


def test_grid_function_of_a_float():
    @px.kernel(grid=lambda rows: rows / 2, block=32)
    def kernel(x: px.Tensor((rows, 8), f32)):
        px.syncthreads()

    def program():
        kernel(X)  # <- here

    refused(LaunchError, program, """
<here>: grid = 1.5: an int or a tuple of up to three ints is needed
  line: <source>
""")


def test_grid_function_beyond_the_limits():
    @px.kernel(grid=lambda rows: (1, rows * 30000), block=32)
    def kernel(x: px.Tensor((rows, 8), f32)):
        px.syncthreads()

    def program():
        kernel(X)  # <- here

    refused(LaunchError, program, """
<here>: kernel: grid.y = 90000; a grid has 1 to 65535 blocks along y; put the large axis into x
  line: <source>
""")


def test_negative_grid():
    @px.kernel(grid=lambda rows: rows - 5, block=32)
    def kernel(x: px.Tensor((rows, 8), f32)):
        px.syncthreads()

    def program():
        kernel(X)  # <- here

    refused(LaunchError, program, """
<here>: kernel: grid.x = -2; a grid has 1 to 2147483647 blocks along x
  line: <source>
""")


def test_launch_shape_in_brackets():
    def program():
        scale[1, 32](X, X, 1.0, 1)  # <- here

    refused(TraceError, program, """
<here>: kernel scale is indexed with a launch shape
  line: <source>
  why: grid and block are part of the kernel, which is traced for them
  legal: scale(...); @px.kernel(grid=..., block=...) says how many; scale.launch(..., grid=...) takes another grid
""")


@pytest.mark.torch
def test_tensor_of_another_type():
    import torch

    def program():
        scale(torch.zeros(3, 8, dtype=torch.float64), torch.zeros(3, 8), 1.0, 1)  # <- here

    refused(ArgumentError, program, """
<here>: scale: argument 'x' is an array of float64; the signature says .f32, which takes float32. Fix: x.to(torch.float32)
  line: <source>
""")


@pytest.mark.torch
@pytest.mark.gpu
def test_arrays_on_different_devices():
    import torch

    x, y = torch.zeros(3, 8, device="cuda"), torch.zeros(3, 8)

    def program():
        scale(x, y, 1.0, 1)  # <- here

    refused(ArgumentError, program, """
<here>: scale: arguments live on different devices: 'x' on cuda:0, 'y' on the host; move them to one
  line: <source>
""")
