"""Decorators and signatures: what a kernel's head says, refused where it stands."""

from __future__ import annotations

from typing import Any

import pytest

import ptxgen as px
from ptxgen import TraceError, f32, u32
from tests.errors.refusal import refused

n = px.dim("n")

TYPE_SECOND = "\n  legal: px.Tensor((4, 8), px.f32): a shape, then px.f32, px.bf16, px.u8, ..."
ALIGN = "\n  legal: align=16 for vectors of 16 bytes; it is left out for single elements"


# ---- px.kernel ------------------------------------------------------------------------------------------------------------


def test_kernel_without_parentheses():
    def program():
        @px.kernel  # <- here
        def kernel(A: px.Tensor((4,), f32)):
            pass

    refused(TraceError, program, """
<here>: @px.kernel stands without its parentheses
  line: <source>
  why: how many blocks and threads run a kernel is part of it
  legal: @px.kernel(grid=1, block=128), or grid=lambda n: px.cdiv(n, 128) for named dims
""")


def test_kernel_with_empty_parentheses():
    def program():
        @px.kernel()  # <- here
        def kernel(A: px.Tensor((4,), f32)):
            pass

    refused(TraceError, program, """
<here>: @px.kernel lacks grid= in its parentheses
  line: <source>
  why: how many blocks and threads run a kernel is part of it
  legal: @px.kernel(grid=1, block=128), or grid=lambda n: px.cdiv(n, 128) for named dims
""")


def test_kernel_without_block():
    def program():
        @px.kernel(grid=1)  # <- here
        def kernel(A: px.Tensor((4,), f32)):
            pass

    refused(TraceError, program, """
<here>: @px.kernel lacks block= in its parentheses
  line: <source>
  why: how many blocks and threads run a kernel is part of it
  legal: @px.kernel(grid=1, block=128), or grid=lambda n: px.cdiv(n, 128) for named dims
""")


def test_unknown_target():
    def program():
        @px.kernel(grid=1, block=32, target="sm90a")  # <- here
        def kernel():
            pass

    refused(TraceError, program, """
<here>: unknown target 'sm90a'
  line: <source>
  legal: did you mean sm_90a or sm_90 or sm_120a?
""")


def test_block_of_text():
    def program():
        @px.kernel(grid=1, block="128")  # <- here
        def kernel():
            pass

    refused(TraceError, program, """
<here>: block='128' is neither an int nor a tuple of up to three
  line: <source>
  legal: block=128 or block=(32, 4)
""")


def test_block_of_four_extents():
    def program():
        @px.kernel(grid=1, block=(8, 8, 2, 2))  # <- here
        def kernel():
            pass

    refused(TraceError, program, """
<here>: block=(8, 8, 2, 2) is neither an int nor a tuple of up to three
  line: <source>
  legal: block=128 or block=(32, 4)
""")


def test_block_of_too_many_threads():
    def program():
        @px.kernel(grid=1, block=(64, 32))  # <- here
        def kernel():
            pass

    refused(TraceError, program, """
<here>: kernel kernel: a block of 2048 threads
  line: <source>
  legal: 1 to 1024 threads
""")


def test_empty_block():
    def program():
        @px.kernel(grid=1, block=0)  # <- here
        def kernel():
            pass

    refused(TraceError, program, """
<here>: kernel kernel: block.x = 0
  line: <source>
  legal: 1 to 1024, on any device
""")


def test_block_from_an_unknown_name():
    def program():
        @px.kernel(grid=1, block=lambda BM: BM)  # <- here
        def kernel(*, BN: px.constexpr = 64):
            pass

    refused(TraceError, program, """
<here>: block: its function asks for 'BM', which is not a constant of the kernel
  line: <source>
  why: a block's shape is fixed when the kernel is traced
  legal: one of: BN
""")


def test_block_from_a_dim():
    def program():
        @px.kernel(grid=1, block=lambda n: n)  # <- here
        def kernel(A: px.Tensor((n,), f32)):
            pass

    refused(TraceError, program, """
<here>: block: its function asks for 'n', which is not a constant of the kernel
  line: <source>
  why: a block's shape is fixed when the kernel is traced
  legal: a constant, and this kernel has none
""")


def test_grid_from_an_unknown_name():
    def program():
        @px.kernel(grid=lambda rows: rows, block=64)  # <- here
        def kernel(A: px.Tensor((n,), f32)):
            pass

    refused(TraceError, program, """
<here>: grid: its function asks for 'rows', which is not a named dim or constant of the kernel
  line: <source>
  legal: one of: n
""")


def test_grid_too_large():
    def program():
        @px.kernel(grid=(1, 65536), block=64)  # <- here
        def kernel():
            pass

    refused(TraceError, program, """
<here>: kernel kernel: grid.y = 65536
  line: <source>
  legal: 1 to 65535, on any device
""")


def test_empty_grid():
    def program():
        @px.kernel(grid=0, block=64)  # <- here
        def kernel():
            pass

    refused(TraceError, program, """
<here>: kernel kernel: grid.x = 0
  line: <source>
  legal: 1 to 2147483647, on any device
""")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cluster": 0}, "kernel kernel: cluster.x = 0\n  legal: 1 to 16, on any device"),
        ({"cluster": (4, 8)}, "kernel kernel: a cluster of 32 blocks\n  legal: 1 to 8 anywhere, up to 16 where it fits"),
        ({"max_registers": 0}, "kernel kernel: max_registers=0\n  legal: an int from 1 to 255"),
        ({"max_registers": 256}, "kernel kernel: max_registers=256\n  legal: an int from 1 to 255"),
        ({"min_blocks": "2"}, "kernel kernel: min_blocks='2'\n  legal: an int from 1 to 32"),
    ],
)
def test_options(options: dict[str, Any], message: str):
    with pytest.raises(TraceError) as caught:

        @px.kernel(grid=1, block=32, **options)
        def kernel():
            pass

    place, rest = str(caught.value).split(": ", 1)
    assert place.startswith("test_signatures.py:")
    assert "\n".join(line for line in rest.splitlines() if not line.startswith("  line:")) == message


def test_cluster_on_a_target_without_clusters():
    @px.kernel(grid=2, block=64, cluster=2, target="sm_80")  # <- here
    def kernel():
        pass

    refused(px.InstructionError, kernel, """
<here>: a cluster launch does not exist on sm_80
  line: <source>
  rule: what a kernel uses exists on its target (PTX ISA 11.4.9)
  legal: targets sm_90 and newer
""")


# ---- parameters -----------------------------------------------------------------------------------------------------------


def test_missing_annotation():
    def program():
        @px.kernel(grid=1, block=32)
        def kernel(A):  # <- here
            pass

    refused(TraceError, program, """
<here>: kernel kernel: parameter A has no annotation
  line: <source>
  legal: x: px.Tensor(shape, dtype), n: px.u32, or, behind *, BM: px.constexpr
""")


def test_python_type_as_annotation():
    def program():
        @px.kernel(grid=1, block=32)
        def kernel(A: px.Tensor((4,), f32), count: int):  # <- here
            pass

    refused(TraceError, program, """
<here>: kernel kernel: parameter count is annotated int
  line: <source>
  legal: x: px.Tensor(shape, dtype), n: px.u32, or, behind *, BM: px.constexpr
""")


def test_numpy_array_as_annotation():
    import numpy as np

    def program():
        @px.kernel(grid=1, block=32)
        def kernel(A: np.ndarray):  # <- here
            pass

    refused(TraceError, program, """
<here>: kernel kernel: the annotation of A, 'np.ndarray', fails: name 'np' is not defined
  line: <source>
  legal: x: px.Tensor((px.dim('n'),), px.f32), of names that exist there
""")


def test_annotation_that_fails():
    def program():
        @px.kernel(grid=1, block=32)
        def kernel(A: px.Tensor((m,), f32)):  # <- here  # noqa: F821
            pass

    refused(TraceError, program, """
<here>: kernel kernel: the annotation of A, 'px.Tensor((m,), f32)', fails: name 'm' is not defined
  line: <source>
  legal: x: px.Tensor((px.dim('n'),), px.f32), of names that exist there
""")


def test_constexpr_that_is_positional():
    def program():
        @px.kernel(grid=1, block=32)
        def kernel(A: px.Tensor((4,), f32), BM: px.constexpr = 64):  # <- here
            pass

    refused(TraceError, program, """
<here>: kernel kernel: the constant BM must be keyword-only
  line: <source>
  why: arguments by position are what a launch binds
  legal: def kernel(..., *, BM: px.constexpr = ...)
""")


def test_scalar_behind_the_star():
    def program():
        @px.kernel(grid=1, block=32)
        def kernel(A: px.Tensor((4,), f32), *, count: u32):  # <- here
            pass

    refused(TraceError, program, """
<here>: kernel kernel: parameter count is no plain argument: tensors and scalars are passed by position, before any *
  line: <source>
  legal: x: px.Tensor(shape, dtype), n: px.u32, or, behind *, BM: px.constexpr
""")


def test_default_of_a_scalar():
    def program():
        @px.kernel(grid=1, block=32)
        def kernel(A: px.Tensor((4,), f32), count: u32 = 4):  # <- here
            pass

    refused(TraceError, program, """
<here>: kernel kernel: parameter count has the default 4
  line: <source>
  why: every launch binds all arguments; only constants have defaults
  legal: count without a default, or, behind *, count: px.constexpr = 4
""")


def test_variadic_parameters():
    def program():
        @px.kernel(grid=1, block=32)
        def kernel(*tensors: px.Tensor((4,), f32)):  # <- here
            pass

    refused(TraceError, program, """
<here>: kernel kernel: parameter tensors is no plain argument: tensors and scalars are passed by position, before any *
  line: <source>
  legal: x: px.Tensor(shape, dtype), n: px.u32, or, behind *, BM: px.constexpr
""")


def test_unknown_constant():
    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((4,), f32), *, BM: px.constexpr = 64):
        pass

    def program():
        kernel.specialize(BN=32)  # <- here

    refused(TraceError, program, """
<here>: kernel kernel has no constant 'BN'
  line: <source>
  legal: its constants: BM
""")


def test_constant_without_a_value():
    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((4,), f32), *, BM: px.constexpr):
        pass

    def program():
        kernel.ptx()  # <- here

    refused(TraceError, program, """
<here>: kernel kernel: the constant BM has no value
  line: <source>
  legal: pass BM=..., or give it a default
""")


def test_constant_that_cannot_be_a_key():
    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((4,), f32), *, shape: px.constexpr = 64):
        pass

    def program():
        kernel.specialize(shape=[1, 2])  # <- here

    refused(TraceError, program, """
<here>: kernel kernel: the constant shape = [1, 2] is not hashable
  line: <source>
  why: a kernel is traced once for each of its values
  legal: an int, a type, a tuple of these
""")


def test_constant_tuple_that_holds_a_list():
    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((4,), f32), *, shape: px.constexpr = 64):
        pass

    def program():
        kernel.specialize(shape=([1], 2))  # <- here

    refused(TraceError, program, """
<here>: kernel kernel: the constant shape = ([1], 2) is not hashable
  line: <source>
  why: a kernel is traced once for each of its values
  legal: an int, a type, a tuple of these
""")


def test_dim_with_the_name_of_a_parameter():
    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((n,), f32), n: u32):  # <- here
        pass

    refused(TraceError, kernel, """
<here>: dim n has the name of a parameter
  line: <source>
  why: dims are parameters of the entry too
  legal: another name for one of them
""")


def test_dim_declared_twice():
    other = px.dim("n", multiple_of=4)

    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((n,), f32), B: px.Tensor((other,), f32)):  # <- here
        pass

    refused(TraceError, kernel, """
<here>: two dims are named n, with different types or multiples
  line: <source>
  why: one name has one value
  legal: one n = px.dim("n", ...) for all parameters
""")


def test_dim_of_no_parameter():
    columns = px.dim("columns")

    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((n,), f32)):
        with px.if_(px.tid.x < columns):  # <- here
            px.syncthreads()

    refused(TraceError, kernel, """
<here>: dim columns stands in no tensor parameter of this kernel
  line: <source>
  why: its value is read from the arguments' shapes
  legal: a parameter columns: px.u32
""")


def test_kernel_that_returns_a_value():
    @px.kernel(grid=1, block=1)
    def kernel(x: f32):
        y = x + 1
        return y  # <- here

    refused(TraceError, kernel, """
<here>: kernel kernel returns a traced .f32
  line: <source>
  why: a kernel has no result
  legal: store it into a tensor argument
""")


# ---- px.Tensor and px.dim -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: px.Tensor(f32, (4,)), "px.Tensor: the type stands first" + TYPE_SECOND),
        (lambda: px.Tensor((4,), "f32"), "px.Tensor: 'f32' is no element type" + TYPE_SECOND),
        (lambda: px.Tensor((4,), float), "px.Tensor: <class 'float'> is no element type" + TYPE_SECOND),
        (lambda: px.Tensor((4.0,), f32), 'px.Tensor: 4.0 is no extent\n  legal: an int, or a dim: n = px.dim("n")'),
        (lambda: px.Tensor(("n",), f32), 'px.Tensor: \'n\' is no extent\n  legal: an int, or a dim: n = px.dim("n")'),
        (lambda: px.Tensor((-1,), f32),
         "px.Tensor: the extent -1 leaves no elements\n  legal: 1 or more elements; a dim may be 0 at launch"),
        (lambda: px.Tensor((4,), f32, align=12),
         "px.Tensor: align=12 is no power of two of at least 4, the size of an element" + ALIGN),
        (lambda: px.Tensor((4,), f32, align=2),
         "px.Tensor: align=2 is no power of two of at least 4, the size of an element" + ALIGN),
        (lambda: px.Tensor((4, 4), f32, strides=(1,)),
         "px.Tensor: 1 strides for 2 extents\n  legal: one stride, in elements, for each extent"),
        (lambda: px.dim("2n"), 'a dim is named by an identifier, not \'2n\'\n  legal: n = px.dim("n")'),
        (lambda: px.dim("n", multiple_of=0), 'dim n: multiple_of=0 is no positive int\n  legal: px.dim("n", multiple_of=4)'),
        (lambda: px.dim(4), 'a dim is named by an identifier, not 4\n  legal: n = px.dim("n")'),
        (lambda: px.dim("n", dtype=f32), "dim n: dtype=f32 is no type of a count\n  legal: px.u32, px.s32, px.u64 or px.s64"),
    ],
)
def test_annotations(make: Any, message: str):
    with pytest.raises(TraceError) as caught:
        make()
    place, rest = str(caught.value).split(": ", 1)
    assert place.startswith("test_signatures.py:")
    assert "\n".join(line for line in rest.splitlines() if not line.startswith("  line:")) == message


# ---- outside of a kernel --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("use", "what"),
    [
        (lambda: px.local(4, f32), "px.local"),
        (lambda: px.shared(4, f32), "px.shared"),
        (lambda: px.reg(f32, 0), "px.reg"),
        (lambda: px.tid.x, "px.tid.x"),
        (lambda: px.f32(1.0), "px.f32(1.0)"),
        (lambda: px.tile.apply("ld.global.b32", None, None, scope="cta"), "tile.apply"),
        (lambda: px.tile.ewise(abs, None, None, scope="cta"), "tile.ewise"),
        (lambda: px.ptx["add.f32"](1, 2), "px.ptx['add.f32']"),
        (lambda: px.range(4), "px.range"),
        (lambda: px.if_(True), "px.if_"),
        (lambda: px.syncthreads(), "px.syncthreads"),
    ],
)
def test_outside_of_a_kernel(use: Any, what: str):
    with pytest.raises(TraceError) as caught:
        use()
    place, rest = str(caught.value).split(": ", 1)
    assert place.startswith("test_signatures.py:")
    assert [line for line in rest.splitlines() if not line.startswith("  line:")] == [
        f"{what} only has a meaning inside a kernel",
        "  legal: use it in a function under @px.kernel, while it is traced",
    ]


@pytest.mark.parametrize("use", [lambda: n * 2, lambda: 4 + n, lambda: n // 4, lambda: n < 4])
def test_arithmetic_on_a_dim_outside_of_a_kernel(use: Any):
    with pytest.raises(TraceError) as caught:
        use()
    place, rest = str(caught.value).split(": ", 1)
    assert place.startswith("test_signatures.py:")
    assert [line for line in rest.splitlines() if not line.startswith("  line:")] == [
        "arithmetic on dim n outside of a kernel",
        "  why: its value is known at launch alone",
        "  legal: a dim of its own for each extent and stride; in grid, a function of the dims: grid=lambda n: px.cdiv(n, 128)",
    ]


def test_dim_in_arithmetic_outside_of_a_kernel():
    def program():
        n // 4  # <- here

    refused(TraceError, program, """
<here>: arithmetic on dim n outside of a kernel
  line: <source>
  why: its value is known at launch alone
  legal: a dim of its own for each extent and stride; in grid, a function of the dims: grid=lambda n: px.cdiv(n, 128)
""")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("kernal", "module 'ptxgen' has no attribute 'kernal'; did you mean px.kernel or px.Kernel?"),
        ("float32", "module 'ptxgen' has no attribute 'float32'; did you mean px.f32?"),
        ("zzzzzz", "module 'ptxgen' has no attribute 'zzzzzz'"),
    ],
)
def test_names_that_do_not_exist(name: str, message: str):
    with pytest.raises(AttributeError) as caught:
        getattr(px, name)
    assert str(caught.value) == message
