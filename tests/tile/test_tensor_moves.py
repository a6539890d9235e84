"""tcgen05.ld and st through tile.apply where registers hold two columns, or lanes two places: against NumPy, and what is refused."""

import numpy as np
import pytest

import ptxgen as px
from ptxgen import S, b16, b32, laneid, tx, u32, wid_in_wg
from ptxgen.assemble import assemble
from ptxgen.errors import InstructionError
from ptxgen.layouts import Layout
from tests.tracing.kernels import traced

# Owner and halfword of (warp, lane of 32 or 16, pair of columns, half), and the way from lanes and pairs to threads (ISA 9.7.18.8.1).
SHAPES = {
    "32x32b": (32, 8, S[(4, 32, 8, 2) : (1 @ wid_in_wg, 1 @ laneid, 2, 1)], "w l c -> (w l) c", {}),
    "16x64b": (
        16, 4, S[(4, 2, 8, 4, 2, 2) : (1 @ wid_in_wg, 1 @ laneid, 4 @ laneid, 2, 2 @ laneid, 1)],
        "w (h l) (c p) -> (w l p h) c", {"h": 2, "p": 2},
    ),
    "16x128b": (
        16, 2, S[(4, 2, 8, 2, 4, 2) : (1 @ wid_in_wg, 2, 4 @ laneid, 4, 1 @ laneid, 1)], "w (h l) (c p) -> (w l p) h c", {"h": 2, "p": 4},
    ),
    "16x256b": (
        16, 1, S[(4, 2, 8, 1, 4, 2, 2) : (1 @ wid_in_wg, 4, 4 @ laneid, 8, 1 @ laneid, 2, 1)],
        "w (h l) (c p e) -> (w l p) h c e", {"h": 2, "p": 4, "e": 2},
    ),
}  # fmt: skip


def whole(act, target="sm_100a"):
    """A kernel in which `act` gets cells of (128, 32) words, A and B; rows of A are in the cells before, and go to B after."""

    @px.kernel(grid=1, block=128, target=target)
    def kernel(A: px.Tensor((128, 32), u32, align=16), B: px.Tensor((128, 32), u32, align=16), C: px.Tensor((128, 8), b32, align=16)):
        memory = px.tensor_memory(32)
        with px.if_(px.tid.x < 32):
            memory.alloc()
        px.tcgen05_fence("before")
        px.syncthreads()
        px.tcgen05_fence("after")
        cells = memory.tile((128, 32), u32)
        rows = px.local((128, 32), u32, layout=S[(128, 32) : (1 @ tx, 1)])
        px.tile.apply("ld.global.v4.u32", rows.view(128, 8, 4), A.view(128, 8, 4), scope="cta")
        px.tile.apply("tcgen05.st.sync.aligned.32x32b.x32.b32", cells.view(4, 32, 32), rows.view(4, 32, 32), scope="cta")
        px.tcgen05_wait("st")
        act(cells, C)
        px.tile.apply("tcgen05.ld.sync.aligned.32x32b.x32.b32", rows.view(4, 32, 32), cells.view(4, 32, 32), scope="cta")
        px.tcgen05_wait("ld")
        px.tile.apply("st.global.v4.u32", B.view(128, 8, 4), rows.view(128, 8, 4), scope="cta")
        px.tcgen05_fence("before")
        px.syncthreads()
        with px.if_(px.tid.x < 32):
            memory.dealloc()

    return kernel


def parts(shape, cells, words):
    """The cells' lower halves by pairs of columns, registers of them, and the words of memory that each thread has of these registers."""
    lanes, num, layout, cut, extents = SHAPES[shape]
    pairs = cells.view(b16)[:, :32:2].view(4, 128 // 4 // lanes, lanes, 8, 2)
    for half in range(32 // lanes):
        held = px.local((4, lanes, 8, 2), b16, layout=Layout(layout).reshape(4, lanes, 8, 2), container=b32)
        each = held.view(b32).view(4, lanes, 8), words.view(4, 32 // lanes, lanes, 8)[:, half]
        own, there = (one.rearrange(cut, **extents) for one in each)
        yield held, pairs[:, half], own.view(*own.shape, 1), there.view(*there.shape, 1), f"{shape}.x{num}"


@pytest.mark.parametrize("shape", SHAPES)
def test_the_lower_halves_of_two_columns_fill_a_register(shape):
    def act(cells, C):
        for held, pairs, own, there, name in parts(shape, cells, C):
            px.tile.apply(f"tcgen05.ld.sync.aligned.{name}.pack::16b.b32", held, pairs, scope="cta")
            px.tcgen05_wait("ld")
            px.tile.apply("st.global.b32", there, own, scope="cta")

    kernel = whole(act)
    rng = np.random.default_rng(1)
    given, found, halves = rng.integers(0, 1 << 32, (128, 32), np.uint32), np.zeros((128, 32), np.uint32), np.zeros((128, 8), np.uint32)
    kernel(given, found, halves)
    np.testing.assert_array_equal(halves.view(np.uint16), given[:, :16].astype(np.uint16))
    np.testing.assert_array_equal(found, given)
    assemble(kernel.ptx())


@pytest.mark.parametrize("shape", SHAPES)
def test_halves_of_registers_go_to_columns_of_their_own(shape):
    def act(cells, C):
        for held, pairs, own, there, name in parts(shape, cells, C):
            px.tile.apply("ld.global.b32", own, there, scope="cta")
            px.tile.apply(f"tcgen05.st.sync.aligned.{name}.unpack::16b.b32", pairs, held, scope="cta")
            px.tcgen05_wait("st")

    kernel = whole(act)
    rng = np.random.default_rng(2)
    given, halves = (rng.integers(0, 1 << 32, (128, columns), np.uint32) for columns in (32, 8))
    found = np.zeros((128, 32), np.uint32)
    kernel(given, found, halves)
    np.testing.assert_array_equal(found[:, :16], halves.view(np.uint16))
    np.testing.assert_array_equal(found[:, 16:], given[:, 16:])
    assemble(kernel.ptx())


def split(cells, half, columns):
    """16 lanes of each warp, eight columns and eight more, so many columns behind."""
    return cells.rearrange("(w h l) (s c) -> w h l s c", w=4, h=2, c=8)[:, half][:, :, :: columns // 8][:, :, :2]


@pytest.mark.parametrize("columns", [8, 24])
def test_sixteen_lanes_and_their_columns_further_on(columns):
    layout = S[(4, 16, 2, 8) : (1 @ wid_in_wg, 1 @ laneid, 16 @ laneid, 1)]

    def act(cells, C):
        for half in range(2):
            held = px.local((4, 16, 2, 8), u32, layout=layout)
            px.tile.apply("tcgen05.ld.sync.aligned.16x32bx2.x8.b32", held, split(cells, half, columns), columns, scope="cta")
            px.tcgen05_wait("ld")
            back = px.local((4, 16, 2, 8), u32, layout=layout)
            own, sent = (one.rearrange("w l s c -> (w s l) c").view(128, 8, 1) for one in (back, held))
            px.tile.apply("add.u32", own, sent, half + 1, scope="cta")
            px.tile.apply("tcgen05.st.sync.aligned.16x32bx2.x8.b32", split(cells, half, columns), columns, back, scope="cta")
            px.tcgen05_wait("st")

    kernel = whole(act)
    given, found = np.arange(4096, dtype=np.uint32).reshape(128, 32), np.zeros((128, 32), np.uint32)
    kernel(given, found, np.zeros((128, 8), np.uint32))
    expected = given.reshape(4, 2, 16, 4, 8).copy()
    for half in range(2):
        expected[:, half, :, [0, columns // 8]] += np.uint32(half + 1)
    np.testing.assert_array_equal(found, expected.reshape(128, 32))
    assemble(kernel.ptx())


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize(("form", "least"), [("min.u32", np.min), ("max.s32", np.max), ("max.abs.f32", np.max)])
def test_a_load_that_reduces(wide, form, least):
    dtype = getattr(px, form.rpartition(".")[2])

    def act(cells, C):
        for half in range(2 if wide else 1):
            shape = (4, 16, 2, 8) if wide else (4, 32, 8)
            held = px.local(shape, dtype, layout=SPLIT if wide else S[(4, 32, 8) : (1 @ wid_in_wg, 1 @ laneid, 1)])
            one = px.local(shape[:-1], dtype, layout=Layout(SPLIT)[..., 0] if wide else S[(4, 32) : (1 @ wid_in_wg, 1 @ laneid)])
            seen = split(cells, half, 16).view(dtype), 16
            from_lanes = seen if wide else (cells.view(dtype)[:, :8].view(4, 32, 8),)
            opcode = f"tcgen05.ld.red.sync.aligned.{'16x32bx2' if wide else '32x32b'}.x8.{form}"
            px.tile.apply(opcode, held, one, *from_lanes, scope="cta")
            px.tcgen05_wait("ld")
            into = C.view(4, 2, 16, 8)[:, half, :, :2] if wide else C[:, 0].view(4, 32)
            own, there = (matrix.rearrange("w l s -> (w s l)" if wide else "w l -> (w l)").view(128, 1) for matrix in (one, into))
            px.tile.apply("st.global.b32", there, own.view(b32), scope="cta")

    kernel = whole(act, "sm_103a")
    given, found = np.random.default_rng(4).integers(0, 1 << 30, (128, 32), np.uint32), np.zeros((128, 32), np.uint32)
    given = given.view(np.uint32) | (np.uint32(0x80000000) if "abs" in form else np.uint32(0))
    reduced = np.zeros((128, 8), np.uint32)
    kernel(given, found, reduced)
    values = (given & np.uint32(0x7FFFFFFF) if "abs" in form else given).view(dtype.numpy)
    parts = [values[:, at : at + 8] for at in ((0, 16) if wide else (0,))]
    for at, part in enumerate(parts):
        np.testing.assert_array_equal(reduced[:, at].view(dtype.numpy), least(part, axis=1))
    assemble(kernel.ptx())


def loading(opcode, layout, shape, seen, *more, **named):
    def body(tid):
        memory = px.tensor_memory(32)
        with px.if_(px.tid.x < 32):
            memory.alloc()
        px.syncthreads()
        held = px.local(shape, layout=layout, **named)
        px.tile.apply(f"tcgen05.ld.sync.aligned.{opcode}.b32", held, seen(memory.tile((128, 32), u32)), *more, scope="cta")

    return traced(body, block=(128, 1, 1))


SPLIT = S[(4, 16, 2, 8) : (1 @ wid_in_wg, 1 @ laneid, 16 @ laneid, 1)]
PAIRS = S[(4, 32, 8, 2) : (1 @ wid_in_wg, 1 @ laneid, 2, 1)]


@pytest.mark.parametrize(
    ("arguments", "named", "words"),
    [
        (
            ("16x32bx2.x8", SPLIT, (4, 16, 2, 8), lambda cells: split(cells, 0, 16), 8), {"dtype": u32},
            ["element (0, 1, 0) lies at lane 0, column 16", "lane 0, column 8 is required"],
        ),
        (
            ("32x32b.x8.pack::16b", PAIRS, (4, 32, 8, 2), lambda cells: cells.view(b16)[:, :16].view(4, 32, 8, 2), ),
            {"dtype": b16, "container": b32}, ["element (0, 0, 1) lies at lane 0, column 0, bit 16", "lane 0, column 1 is required"],
        ),
        (
            ("16x32bx2.x8.pack::16b", SPLIT, (4, 16, 2, 8), lambda cells: split(cells, 0, 16), 8), {"dtype": u32},
            ["no tile form", ".shape1 or not .pack"],
        ),
    ],
)  # fmt: skip
def test_other_places_are_refused(arguments, named, words):
    with pytest.raises(InstructionError) as caught:
        loading(*arguments, **named)
    assert all(word in str(caught.value) for word in words), str(caught.value)
