"""Views that leave their tensor, and what NumPy or PyTorch would allow."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import ptxgen as px
from ptxgen import LayoutError, TraceError, b32, bf16, f32, u32
from tests.errors.refusal import refused

n = px.dim("n")


# ---- indices and parts that leave the tensor ------------------------------------------------------------------------------


def test_runtime_sub_past_the_end():
    @px.kernel(grid=1, block=128)
    def kernel(A: px.Tensor((128,), f32, align=16)):
        A.sub((px.tid.x,), (4,))  # <- here

    refused(TraceError, kernel, """
<here>: index tid.x to tid.x + 3 of axis 0 of A[128] f32 in .global is not proved to be below 128
  line: <source>
  why: it leaves the tensor for tid.x = 125
  legal: guard it: with px.if_(tid.x + 3 < 128): ...; or make the extents divide
""")


def test_a_guard_whose_sum_may_wrap():
    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((n,), f32), first: u32):
        with px.if_(first + 8 <= n):
            A.sub((first,), (8,))  # <- here

    refused(TraceError, kernel, """
<here>: index first to first + 7 of axis 0 of A[n] f32 in .global is not proved to be below n
  line: <source>
  why: first + 8 in the guard may wrap: it is 0 for first = 4294967288, n = 1, and the guard holds
  legal: bound first as well: with px.if_((first < n) & ...): ...
""")


def test_a_guard_beside_which_the_sum_cannot_wrap_is_legal():
    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((n,), f32), first: u32):
        with px.if_((first < n) & (first + 8 <= n)):
            px.ptx.ld.global_.f32(A.sub((first,), (8,))[7])

    assert "ld.global.f32" in kernel.ptx()


def test_quotients_of_a_thread_under_a_guard():
    """What a guard says of the thread holds for what is computed of it, before the guard and behind it."""

    @px.kernel(grid=1, block=64)
    def kernel(A: px.Tensor((4,), f32)):
        eighth = px.tid.x // 8
        with px.if_(px.tid.x < 32):
            px.ptx.ld.global_.f32(A[eighth])
            px.ptx.ld.global_.f32(A[px.tid.x // 8])

    assert kernel.ptx().count("ld.global.f32") == 2

    @px.kernel(grid=1, block=64)
    def further(A: px.Tensor((4,), f32)):
        eighth = px.tid.x // 8
        with px.if_(px.tid.x < 33):
            A[eighth]  # <- here

    refused(TraceError, further, """
<here>: index eighth of axis 0 of A[4] f32 in .global is not proved to be below 4
  line: <source>
  why: it leaves the tensor for eighth = 4
  legal: guard it: with px.if_(eighth < 4): ...; or make the extents divide
""")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="columns of running code are known since Python 3.11")
def test_a_part_of_a_statement_does_not_go_by_its_name():
    @px.kernel(grid=lambda n: n, block=128)
    def kernel(A: px.Tensor((n,), f32), c: u32):
        row = A[c * 256 + 1]  # <- here
        px.ptx.ld.global_.f32(row)

    refused(TraceError, kernel, """
<here>: index %r1 + 1 of axis 0 of A[n] f32 in .global is not proved to be below n
  line: <source>
  why: it leaves the tensor for %r1 = 0, c = 0, n = 1
  legal: guard it: with px.if_(%r1 + 1 < n): ...; or make the extents divide
""")


def test_unguarded_ragged_tail():
    @px.kernel(grid=lambda n: px.cdiv(n, 128), block=128)
    def kernel(A: px.Tensor((n,), f32)):
        i = px.ctaid.x * 128 + px.tid.x
        px.ptx.ld.global_.f32(A[i])  # <- here

    refused(TraceError, kernel, """
<here>: index 128*ctaid.x + tid.x of axis 0 of A[n] f32 in .global is not proved to be below n
  line: <source>
  why: it leaves the tensor for ctaid.x = 0, n = 1, tid.x = 1
  legal: guard it: with px.if_(128*ctaid.x + tid.x < n): ...; or make the extents divide
""")


def test_guard_that_is_one_short():
    @px.kernel(grid=lambda n: px.cdiv(n, 128), block=128)
    def kernel(A: px.Tensor((n,), f32)):
        i = px.ctaid.x * 128 + px.tid.x
        with px.if_(i <= n):
            px.ptx.ld.global_.f32(A[i])  # <- here

    refused(TraceError, kernel, """
<here>: index 128*ctaid.x + tid.x of axis 0 of A[n] f32 in .global is not proved to be below n
  line: <source>
  why: it leaves the tensor for ctaid.x = 0, n = 1, tid.x = 1
  legal: guard it: with px.if_(128*ctaid.x + tid.x < n): ...; or make the extents divide
""")


def test_guard_on_the_first_of_four():
    @px.kernel(grid=lambda n: px.cdiv(n, 512), block=128)
    def kernel(A: px.Tensor((n,), f32, align=16)):
        i = (px.ctaid.x * 128 + px.tid.x) * 4
        with px.if_(i < n):
            A[i : i + 4]  # <- here

    refused(TraceError, kernel, """
<here>: index 512*ctaid.x + 4*tid.x to 512*ctaid.x + 4*tid.x + 3 of axis 0 of A[n] f32 in .global is not proved to be below n
  line: <source>
  why: it leaves the tensor for ctaid.x = 0, n = 1, tid.x = 0
  legal: guard it: with px.if_(512*ctaid.x + 4*tid.x + 3 < n): ...; or make the extents divide
""")


def test_constant_index_past_the_end():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4, 8), f32)):
        A[4, 0]  # <- here

    refused(TraceError, kernel, """
<here>: index 4 of axis 0 of A[4, 8] f32 in .global is not below 4
  line: <source>
  legal: indices 0 to 3
""")


def test_constant_slice_past_the_end():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4, 8), f32)):
        A[0, 4:12]  # <- here

    refused(LayoutError, kernel, """
<here>: coordinate 11 of dimension 1 is outside 0..7 (shape (4, 8))
  line: <source>
""")


def test_constant_index_into_a_runtime_extent():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((n,), f32)):
        A[0]  # <- here

    refused(TraceError, kernel, """
<here>: index 0 of axis 0 of A[n] f32 in .global is not proved to be below n
  line: <source>
  why: it leaves the tensor for n = 0
  legal: guard it: with px.if_(0 < n): ...; or make the extents divide
""")


def test_signed_index_that_may_be_negative():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((8,), f32), i: px.s32):
        with px.if_(i < 8):
            A[i]  # <- here

    refused(TraceError, kernel, """
<here>: index i of axis 0 of A[8] f32 in .global is not proved to be at least 0
  line: <source>
  why: it leaves the tensor for i = -2147483648
  legal: guard it: with px.if_(i >= 0): ...; or make the extents divide
""")


def test_index_read_from_memory():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((8,), f32), B: px.Tensor((1,), u32)):
        i = px.ptx.ld.global_.u32(B[0])
        A[i]  # <- here

    refused(TraceError, kernel, """
<here>: index i of axis 0 of A[8] f32 in .global is not proved to be below 8
  line: <source>
  why: it leaves the tensor for i = 4294967294
  legal: guard it: with px.if_(i < 8): ...; or make the extents divide
""")


def test_slice_of_runtime_length():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((n,), f32)):
        A[0 : n - 1]  # <- here

    refused(TraceError, kernel, """
<here>: the slice of axis 0 of A[n] f32 in .global has the runtime length %r1
  line: <source>
  why: a view's extents are part of the text; and a sum that may wrap around has no known distance from its start
  legal: x.sub((start,), (4,)), which states a static length, or px.range over single elements
""")


def test_negative_step():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((8,), f32)):
        A[::-1]  # <- here

    refused(TraceError, kernel, """
<here>: the slice of axis 0 of A[8] f32 in .global has the step -1
  line: <source>
  legal: a positive int; x.view and x.permute rearrange whole axes
""")


def test_runtime_step():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((8,), f32), k: u32):
        A[0:8:k]  # <- here

    refused(TraceError, kernel, """
<here>: the slice of axis 0 of A[8] f32 in .global has the step <k: u32>
  line: <source>
  legal: a positive int; x.sub((start,), (4,), (step,)) states how many elements a runtime step takes
""")


def test_too_many_indices():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4, 8), f32)):
        A[0, 0, 0]  # <- here

    refused(LayoutError, kernel, """
<here>: 3 indices into A[4, 8] f32 in .global, which has 2 axes
  line: <source>
  legal: an index or slice for each axis at most
""")


def test_float_index():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4, 8), f32), x: f32):
        A[x, 0]  # <- here

    refused(TraceError, kernel, """
<here>: index 0 is a .f32 where an integer is needed
  line: <source>
  legal: index with u32, s32, u64 or s64
""")


def test_python_float_index():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4, 8), f32)):
        A[4 / 2, 0]  # <- here

    refused(TraceError, kernel, """
<here>: index 0 is 2.0, which is no index
  line: <source>
  legal: an int, a traced integer, or a slice of these
""")


def test_bool_mask_as_index():
    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((32,), f32)):
        A[px.tid.x < 4]  # <- here

    refused(TraceError, kernel, """
<here>: index 0 is a .pred where an integer is needed
  line: <source>
  legal: index with u32, s32, u64 or s64
""")


def test_sub_with_a_start_too_few():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4, 8), f32)):
        A.sub((0,), (4, 8))  # <- here

    refused(LayoutError, kernel, """
<here>: sub of A[4, 8] f32 in .global needs 2 starts and extents, not 1 and 2
  line: <source>
  legal: a start and an extent for each axis
""")


def test_sub_with_ints_instead_of_tuples():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((8,), f32)):
        A.sub(0, 4)  # <- here

    refused(TraceError, kernel, """
<here>: sub of A[8] f32 in .global takes tuples, not 0 and 4
  line: <source>
  legal: x.sub((i, j), (8, 4)): a start and an extent for each axis
""")


def test_sub_with_a_runtime_extent():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((n,), f32)):
        A.sub((0,), (n,))  # <- here

    refused(TraceError, kernel, """
<here>: extent 0 of a part of A[n] f32 in .global is known only at run time
  line: <source>
  why: a view's extents are part of the text
  legal: a static extent; px.range over tiles, and a guarded tail
""")


def test_iteration_over_a_tensor():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((8,), f32)):
        for row in A:  # <- here
            print(row)

    refused(TraceError, kernel, """
<here>: A[8] f32 in .global can't be iterated over
  line: <source>
  legal: index it: for k in range(n): x[k] (unrolled)
""")


def test_view_made_under_a_guard_used_outside():
    @px.kernel(grid=lambda n: px.cdiv(n, 128), block=128)
    def kernel(A: px.Tensor((n,), f32)):
        i = px.ctaid.x * 128 + px.tid.x
        kept = []
        with px.if_(i < n):  # <- there
            kept.append(A[i])
        px.ptx.st.global_.f32(kept[0], 0.0)  # <- here

    refused(TraceError, kernel, """
<here>: A[] f32 in .global is a view made inside the if block at <there> and used outside of it
  line: <source>
  why: what proves its bounds holds in that block alone
  legal: make the view where it is used
""")


# ---- NumPy's habits -------------------------------------------------------------------------------------------------------


def test_assignment_to_an_element():
    @px.kernel(grid=1, block=8)
    def kernel(A: px.Tensor((8,), f32)):
        A[px.tid.x] = 1.0  # <- here

    refused(TraceError, kernel, """
<here>: an element of A[8] f32 in .global is assigned
  line: <source>
  why: which instruction stores is the kernel's to say
  legal: px.ptx.st.global_.f32(x[i], value), or px.tile.apply
""")


def test_arithmetic_on_an_element():
    @px.kernel(grid=1, block=8)
    def kernel(A: px.Tensor((8,), f32), B: px.Tensor((8,), f32)):
        A[px.tid.x] + B[px.tid.x]  # <- here

    refused(TraceError, kernel, """
<here>: A[] f32 in .global is used with +
  line: <source>
  why: a view says where values are; it has none itself
  legal: load it: px.ptx.ld.global_.f32(...) of one element gives a traced scalar
""")


def test_comparison_of_an_element():
    @px.kernel(grid=1, block=8)
    def kernel(A: px.Tensor((8,), f32)):
        with px.if_(A[px.tid.x] > 0):  # <- here
            px.syncthreads()

    refused(TraceError, kernel, """
<here>: A[] f32 in .global is used with >
  line: <source>
  why: a view says where values are; it has none itself
  legal: load it: px.ptx.ld.global_.f32(...) of one element gives a traced scalar
""")


def test_length_of_a_runtime_tensor():
    @px.kernel(grid=1, block=8)
    def kernel(A: px.Tensor((n,), f32)):
        for i in range(len(A)):  # <- here
            A[i]

    refused(TraceError, kernel, """
<here>: len() of A[n] f32 in .global, whose first extent is known only at run time
  line: <source>
  legal: px.range(n) with the dim n, which runs on the GPU
""")


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda x: x.T, "a view has no attribute 'T'; x.permute(1, 0)"),
        (lambda x: x.reshape(8), "a view has no attribute 'reshape'; x.view(shape)"),
        (lambda x: x.astype(b32), "a view has no attribute 'astype'; x.view(dtype) keeps the bits, tile.apply with a cvt converts"),
        (lambda x: x.load(), "a view has no attribute 'load'; px.ptx.ld.global_.f32(x[i])"),
        (lambda x: x.permut(1, 0), "a view has no attribute 'permut'; x.permute"),
    ],
)
def test_methods_of_other_libraries(use: Any, message: str):
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4, 8), f32)):
        use(A)

    with pytest.raises(AttributeError) as caught:
        kernel.specialize()
    assert str(caught.value) == message


def test_index_by_an_array():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4, 8), f32)):
        A[np.array([0, 1])]  # <- here

    refused(TraceError, kernel, """
<here>: index 0 is array([0, 1]), which is no index
  line: <source>
  legal: an int, a traced integer, or a slice of these
""")


def test_index_by_none():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4, 8), f32)):
        A[None, 0]  # <- here

    refused(TraceError, kernel, """
<here>: index 0 is None, which is no index
  line: <source>
  legal: an int, a traced integer, or a slice of these
""")


def test_last_element_of_a_runtime_extent():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((n,), f32)):
        A[-1]  # <- here

    refused(TraceError, kernel, """
<here>: index -1 of axis 0 of A[n] f32 in .global is not at least 0
  line: <source>
  legal: 0 or more; x[n - 1] is the last
""")


def test_element_as_a_python_number():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4,), u32), B: px.Tensor((4,), f32)):
        B[A[0]]  # <- here

    refused(TraceError, kernel, """
<here>: A[] u32 in .global is used with a Python int
  line: <source>
  why: a view says where values are; it has none itself
  legal: load it: px.ptx.ld.global_.u32(...) of one element gives a traced scalar
""")


def test_extents_of_views_are_traced_integers():
    """`A.shape[0]` of a named dim is what the dim is: usable in guards, bounds of loops and arithmetic."""

    @px.kernel(grid=lambda n: n, block=1)
    def by_shape(A: px.Tensor((n,), f32)):
        with px.if_(px.ctaid.x < A.shape[0]):
            px.ptx.st.global_.f32(A[px.ctaid.x], 1.0)

    @px.kernel(grid=lambda n: n, block=1)
    def by_name(A: px.Tensor((n,), f32)):
        with px.if_(px.ctaid.x < n):
            px.ptx.st.global_.f32(A[px.ctaid.x], 1.0)

    assert by_shape.ptx(comments=False).replace("by_shape", "by_name") == by_name.ptx(comments=False)


def test_negative_starts_count_from_the_end():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((8,), f32)):
        px.ptx.st.global_.f32(A[-1], 1.0)
        px.ptx.st.global_.f32(A[-2:][0], 1.0)

    text = kernel.ptx(comments=False)
    assert "+28]" in text and "+24]" in text


# ---- other shapes and types -----------------------------------------------------------------------------------------------


def test_view_of_another_size():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4, 6), f32)):
        A.view(5, 5)  # <- here

    refused(LayoutError, kernel, """
<here>: can't reshape (4, 6) to (5, 5): 24 elements against 25
  line: <source>
""")


def test_retyped_rows_that_do_not_divide():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((4, 3), bf16)):
        A.view(b32)  # <- here

    refused(LayoutError, kernel, """
<here>: 3 contiguous elements of 16 bits in the last dimension don't fill whole elements of 32 bits
  line: <source>
""")


def test_elements_wider_than_their_registers():
    @px.kernel(grid=1, block=1)
    def kernel():
        r = px.local(8, bf16)
        r.view(b32)  # <- here

    refused(LayoutError, kernel, """
<here>: r[8] bf16 in .reg: an element of .b32 does not fit into its registers of .bf16
  line: <source>
  legal: declare the tile with container=px.b32
""")


def test_rearrange_with_an_unknown_name():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((8, 4), f32)):
        A.rearrange("(w l) c -> w l d", l=4)  # <- here

    refused(LayoutError, kernel, """
<here>: rearrange("(w l) c -> w l d", l=4) on shape (8, 4): axis c is missing on the right side; rearrange neither reduces nor repeats
  line: <source>
""")


def test_permute_with_a_repeated_axis():
    @px.kernel(grid=1, block=1)
    def kernel(A: px.Tensor((8, 4), f32)):
        A.permute(0, 0)  # <- here

    refused(LayoutError, kernel, """
<here>: the order (0, 0) does not name each of the 2 dimensions of shape (8, 4) once
  line: <source>
""")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="columns of running code are known since Python 3.11")
def test_several_assignments_on_a_line_keep_their_names():
    @px.kernel(grid=1, block=32)
    def kernel():
        wide = px.local(4, f32); narrow = px.local(3, f32); other = px.local(5, f32)  # noqa: E702, F841
        narrow[3]  # <- here

    refused(TraceError, kernel, """
<here>: index 3 of axis 0 of narrow[3] f32 in .reg is not below 3
  line: <source>
  legal: indices 0 to 2
""")
