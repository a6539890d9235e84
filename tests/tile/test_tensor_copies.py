"""Copies from shared to tensor memory through tile.apply: every shape, swizzle and CTA group against NumPy; texts; what is refused."""

import numpy as np
import pytest

import ptxgen as px
from ptxgen import S, tx, u32
from ptxgen.assemble import assemble
from ptxgen.errors import InstructionError
from ptxgen.layouts import Layout
from tests.tracing.kernels import traced

SWIZZLES = {0: None, 32: px.Swizzle.B32, 64: px.Swizzle.B64, 128: px.Swizzle.B128}
COLUMN = 4  # where the copies begin

# Rows and words of an instruction; how the cells are seen by it, n instructions along columns; the lanes that row r goes to.
SHAPES = {
    "128x256b": (128, 8, lambda cells, w: cells.rearrange("l (n w) -> n l w", w=w), lambda r: [r]),
    "128x128b": (128, 4, lambda cells, w: cells.rearrange("l (n w) -> n l w", w=w), lambda r: [r]),
    "4x256b": (4, 8, lambda cells, w: cells.rearrange("(r l) (n w) -> l n r w", l=32, w=w)[29], lambda r: [32 * r + 29]),
    "64x128b.warpx2::02_13": (64, 4, lambda cells, w: cells.rearrange("(c r) (n w) -> n c r w", c=2, w=w), lambda r: [r, r + 64]),
    "64x128b.warpx2::01_23": (
        64, 4, lambda cells, w: cells.rearrange("(h c r) (n w) -> n c (h r) w", h=2, c=2, w=w),
        lambda r: [r % 32 + 64 * (r // 32), r % 32 + 64 * (r // 32) + 32],
    ),
    "32x128b.warpx4": (32, 4, lambda cells, w: cells.rearrange("(c r) (n w) -> n c r w", c=4, w=w), lambda r: [r, r + 32, r + 64, r + 96]),
}  # fmt: skip


def copier(shape, span, cta_group):
    """A kernel that copies rows A, as many words as fit a swizzled row, into lanes that hold B before and give it back after."""
    rows, words, seen, _ = SHAPES[shape]
    units = max(words // 4, span // 16)
    width = 4 * units
    # Rows as long as the swizzle's span; without one every 16 bytes of a row lie in a column of their own.
    spread = S[(rows, width) : (width, 1)] if span else S[(rows, (units, 4)) : (4, (rows * 4, 1))]

    @px.kernel(grid=cta_group, block=128, cluster=cta_group, target="sm_100a")
    def kernel(A: px.Tensor((cta_group, rows, width), u32, align=16), B: px.Tensor((cta_group, 128, 64), u32, align=16)):
        tile = px.shared((rows, width), u32, layout=Layout(spread, swizzle=SWIZZLES[span]))
        done = px.mbarrier(1)
        memory = px.tensor_memory(64, cta_group=cta_group)
        rank = px.sreg.cluster_ctarank
        together = px.syncthreads if cta_group == 1 else px.cluster_sync
        with px.if_(px.tid.x < rows):
            line = px.local((rows, units, 4), u32, layout=S[(rows, units, 4) : (1 @ tx, 4, 1)])
            px.tile.apply("ld.global.v4.u32", line, A[rank].view(rows, units, 4), scope="cta")
            px.tile.apply("st.shared.v4.u32", tile.rearrange("r (u w) -> r u w", w=4), line, scope="cta")
        with px.if_(px.tid.x == 0):
            done.init()
            px.fence_mbarrier_init()
        with px.if_(px.tid.x < 32):
            memory.alloc()
        px.fence_proxy_async()
        px.tcgen05_fence("before")
        together()
        px.tcgen05_fence("after")
        cells = memory.tile((128, 64), u32)
        held = px.local((128, 64), u32, layout=S[(128, 64) : (1 @ tx, 1)])
        px.tile.apply("ld.global.v4.u32", held.view(128, 16, 4), B[rank].view(128, 16, 4), scope="cta")
        px.tile.apply("tcgen05.st.sync.aligned.32x32b.x64.b32", cells.view(4, 32, 64), held.view(4, 32, 64), scope="cta")
        px.tcgen05_wait("st")
        px.tcgen05_fence("before")
        together()
        px.tcgen05_fence("after")
        with px.if_((px.tid.x == 0) & (rank == 0)):
            source = tile.rearrange("r (n w) -> n r w", w=words)
            into = seen(cells[:, COLUMN : COLUMN + width], words)
            px.tile.apply(f"tcgen05.cp.cta_group::{cta_group}.{shape}", into, source, scope="thread")
            px.tcgen05_commit(done, cta_group=cta_group, mask=None if cta_group == 1 else 3)
        done.wait(0)
        px.tcgen05_fence("after")
        px.tile.apply("tcgen05.ld.sync.aligned.32x32b.x64.b32", held.view(4, 32, 64), cells.view(4, 32, 64), scope="cta")
        px.tcgen05_wait("ld")
        px.tile.apply("st.global.v4.u32", B[rank].view(128, 16, 4), held.view(128, 16, 4), scope="cta")
        px.tcgen05_fence("before")
        together()
        with px.if_(px.tid.x < 32):
            memory.dealloc()

    return kernel, width


@pytest.mark.parametrize("cta_group", [1, 2])
@pytest.mark.parametrize("span", SWIZZLES)
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_go_to_their_lanes(shape, span, cta_group):
    rows, _, _, lanes = SHAPES[shape]
    kernel, width = copier(shape, span, cta_group)
    rng = np.random.default_rng(0)
    given = rng.integers(0, 1 << 32, (cta_group, rows, width), np.uint32)
    found = rng.integers(0, 1 << 32, (cta_group, 128, 64), np.uint32)
    expected = found.copy()
    for row in range(rows):
        for lane in lanes(row):
            expected[:, lane, COLUMN : COLUMN + width] = given[:, row]
    kernel(given, found)
    np.testing.assert_array_equal(found, expected)
    assemble(kernel.ptx())


def test_readers_must_wait_for_the_commit():
    """Without the wait the lanes are on their way, and the report says what is missing."""

    @px.kernel(grid=1, block=128, target="sm_100a")
    def kernel(B: px.Tensor((128, 4), u32, align=16)):
        tile = px.shared((128, 4), u32)
        done = px.mbarrier(1)
        memory = px.tensor_memory(32)
        line = px.local((128, 4), u32, layout=S[(128, 4) : (1 @ tx, 1)])
        px.tile.ewise(lambda _: px.tid.x, line, line, scope="cta")
        px.tile.apply("st.shared.v4.u32", tile, line, scope="cta")
        with px.if_(px.tid.x == 0):
            done.init()
            px.fence_mbarrier_init()
        with px.if_(px.tid.x < 32):
            memory.alloc()
        px.fence_proxy_async()
        px.tcgen05_fence("before")
        px.syncthreads()
        px.tcgen05_fence("after")
        cells = memory.tile((128, 4), u32)
        with px.if_(px.tid.x == 0):
            px.tile.apply("tcgen05.cp.cta_group::1.128x128b", cells, tile, scope="thread")
            px.tcgen05_commit(done)
        px.tile.apply("tcgen05.ld.sync.aligned.32x32b.x4.b32", line.view(4, 32, 4), cells.view(4, 32, 4), scope="cta")
        px.tcgen05_wait("ld")
        px.tile.apply("st.global.v4.u32", B, line, scope="cta")
        done.wait(0)
        px.tcgen05_fence("before")
        px.syncthreads()
        with px.if_(px.tid.x < 32):
            memory.dealloc()

    reports = [str(one) for one in kernel.emulate(np.zeros((128, 4), np.uint32)).reports]
    words = "in flight: this reads lane 0, column 0", "tcgen05.cp.cta_group::1.128x128b", "a wait for mbarrier done byte 0"
    assert any(all(word in one for word in words) for one in reports), reports


# ---- text, and what is refused ----------------------------------------------------------------------------------------


def copied(opcode, into, tile):
    def body(tid):
        memory = px.tensor_memory(64)
        with px.if_(px.tid.x < 32):
            memory.alloc()
        px.syncthreads()
        with px.if_(px.tid.x == 0):
            px.tile.apply(f"tcgen05.cp.cta_group::1.{opcode}", into(memory), tile(), scope="thread")

    return traced(body, block=(128, 1, 1))


def rows(count, words=4, *, dtype=u32):
    return lambda: px.shared((count, words), dtype)


def test_text_of_two_copies_steps_by_columns_and_units():
    def tile():
        return px.shared((128, 32), u32, layout=Layout(S[128, 32], swizzle=px.Swizzle.B128)).rearrange("r (n w) -> n r w", w=8)[:2]

    text = copied("128x256b", lambda memory: memory.tile((128, 16), u32, column=8).rearrange("l (n w) -> n l w", w=8), tile)
    lines = [line for line in text if "tcgen05.cp" in line]
    assert [line.split("[")[1].split("]")[0].partition("+")[2] for line in lines] == ["8", "16"]
    # Rows of 128 bytes, eight of them 1024 bytes: the stride is 64 units, the mode 2, and bits 46 to 48 say 1.
    assert any(f"{2 << 61 | 1 << 46 | 64 << 32:#x}" in line.lower() for line in text), text
    assert any(line.startswith("add.s64") and line.rstrip(";").endswith(", 2") for line in text)


@pytest.mark.parametrize(
    ("opcode", "into", "tile", "words"),
    [
        ("128x128b", lambda m: m.tile((128, 4), u32, column=2), rows(128), ["multiple of 4 columns", "column 2"]),
        ("128x128b", lambda m: m.tile((128, 8), u32), rows(128), ["ends in (128, 8)", "(128, 4)"]),
        ("32x128b.warpx4", lambda m: m.tile((32, 4), u32), rows(32), ["(4, 32, 4)"]),
        (
            "32x128b.warpx4", lambda m: m.tile((128, 4), u32).rearrange("(r c) w -> c r w", c=4), rows(32),
            ["element (0, 1, 0) lies at lane 4, column 0", "lane 1, column 0 is required"],
        ),
        (
            "64x128b.warpx2::01_23", lambda m: m.tile((128, 4), u32).view(2, 64, 4), rows(64),
            ["element (0, 32, 0) lies at lane 32, column 0", "lane 64, column 0 is required"],
        ),
        ("32x128b.warpx4", lambda m: m.tile((128, 4), u32).view(4, 32, 4), rows(32, dtype=px.f16), ["16 bits", "32"]),
        ("128x256b", lambda m: m.tile((128, 8), u32), rows(128, 8), ["none of the layouts that a descriptor", "element (1, 0)"]),
        ("128x128b", lambda m: px.shared((128, 4), u32), rows(128), ["is not in .tensor"]),
        ("128x128b.b8x16.b4x16_p64", lambda m: m.tile((128, 4), u32), rows(128), ["no tile form", "not .dst_src_fmt"]),
    ],
)  # fmt: skip
def test_copies_are_refused(opcode, into, tile, words):
    with pytest.raises(InstructionError) as caught:
        copied(opcode, into, tile)
    assert all(word in str(caught.value) for word in words), str(caught.value)
