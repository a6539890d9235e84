"""Tensor memory through tile.apply: products of every layout and type, and moves of every shape, against NumPy; texts; what is refused."""

import numpy as np
import pytest

import ptxgen as px
from ptxgen import S, b32, bf16, e4m3, e5m2, f16, f32, laneid, s8, s32, tid_in_wg, tx, u8, u32, wid_in_wg
from ptxgen.assemble import assemble
from ptxgen.errors import InstructionError, PtxgenError
from ptxgen.layouts import Layout
from tests.tracing.kernels import traced

SWIZZLES = {0: None, 32: px.Swizzle.B32, 64: px.Swizzle.B64, 128: px.Swizzle.B128}


def blocked(lines, length, span, bits):
    """`lines` runs of `length` elements in blocks as wide as the swizzle's span: the canonical layouts of ISA 9.7.18.4."""
    width = (span or 16) * 8 // bits
    return Layout(S[(lines, (length // width, width)) : (width, (lines * width, 1))], swizzle=SWIZZLES[span])


def lanes_of(sums, rows, n, m, cta_group, stationary=False):
    """The rows and columns of D as a view of 128 lanes (ISA 9.7.18.10.5, data path layouts D, F, B and A; E and G for .ws)."""
    if stationary:
        return sums.rearrange("(p l) n -> l p n", l=rows).view(rows, n)
    if m == 64:
        return sums.rearrange("(w h l) n -> w h l n", w=4, h=2)[:, 0].view(rows, n)
    if m == 128 and cta_group == 2:
        return sums.rearrange("(h l) n -> l h n", h=2).view(rows, n)
    return sums


def product(dtype, other, m, n, a_major, b_major, span, cta_group=1, depth=2, a_in_tensor_memory=False, stationary=False):
    """A kernel that multiplies one tile: A (m, K) and B (n, K), or their transposes, C (m, n)."""
    bits = dtype.bits
    whole = dtype in (s8, u8)
    kind = "i8" if whole else {16: "f16", 32: "tf32", 8: "f8f6f4"}[bits]
    sums, number = (s32, "mov.b32") if whole else (f32, "cvt.rn.f32.u32")
    k = 256 // bits
    K = max(k * depth, (span or 16) * 8 // bits)
    rows, share = m // cta_group, n // cta_group
    width = n * m // 128 if stationary else n // 2 if (m, cta_group) == (128, 2) else n
    parts = {"a": (rows, a_major), "b": (share, b_major)}
    # Rows that do not fill the last block of an MN-major matrix are followed by others, which the product does not take.
    block = (span or 16) * 8 // bits
    shapes = {name: (extent, K) if major == "k" else (K, -(-extent // block) * block) for name, (extent, major) in parts.items()}

    @px.kernel(grid=cta_group, block=128, cluster=cta_group, target="sm_100a")
    def kernel(
        A: px.Tensor((cta_group, *shapes["a"]), dtype, align=16), B: px.Tensor((cta_group, *shapes["b"]), other, align=16),
        C: px.Tensor((cta_group, 128, width), sums, align=16),
    ):  # fmt: skip
        a, b = (px.shared(shapes[name], type, layout=blocked(*shapes[name], span, bits)) for name, type in (("a", dtype), ("b", other)))
        done = px.mbarrier(1)
        used = width + (K * bits // 32 if a_in_tensor_memory else 0)
        memory = px.tensor_memory(max(32, 1 << (used - 1).bit_length()), cta_group=cta_group)
        rank = px.sreg.cluster_ctarank
        for tile, given in ((a, A), (b, B)):
            lines, units = tile.shape[0], tile.shape[1] * bits // 128
            threads = next(one for one in (128, 64, 32) if lines * units % one == 0 and lines % (one // units) == 0)
            part, sizes = "(n r) (t c) -> (r t) n c", {"t": units, "r": threads // units, "c": 128 // bits}
            shape = threads, lines * units // threads, 4
            through = px.local(shape, b32, layout=S[shape : (1 @ tx, 4, 1)])
            with px.if_(px.tid.x < threads):
                px.tile.apply("ld.global.v4.b32", through, given[rank].rearrange(part, **sizes).view(b32), scope="cta")
                px.tile.apply("st.shared.v4.b32", tile.rearrange(part, **sizes).view(b32), through, scope="cta")
        with px.if_(px.tid.x == 0):
            done.init()
            px.fence_mbarrier_init()
        with px.if_(px.tid.x < 32):
            memory.alloc()
        px.fence_proxy_async()
        px.tcgen05_fence("before")
        px.syncthreads() if cta_group == 1 else px.cluster_sync()
        px.tcgen05_fence("after")
        cells = memory.tile((128, width), sums)
        # Every lane and column has a number of its own, so that what a product leaves alone shows.
        held = px.local((128, width), sums, layout=S[(128, width) : (1 @ tx, 1)])
        words = held.view(128, width // 8, 8)
        for column in range(width):
            px.tile.apply(number, held[:, column : column + 1], px.tid.x * 4 + 1000 * column, scope="cta")
        px.tile.apply("tcgen05.st.sync.aligned.32x32b.x8.b32", cells.view(4, 32, width // 8, 8).permute(0, 2, 1, 3),
                      words.view(4, 32, width // 8, 8).permute(0, 2, 1, 3), scope="cta")  # fmt: skip
        if a_in_tensor_memory:
            left = memory.tile((128, K), dtype, column=width)
            lines = K * bits // 32
            own = px.local((128, lines), b32, layout=S[(128, lines) : (1 @ tx, 1)])
            # Lane l has the row of A that its product takes from there: of 64 rows 16 in every 32 lanes, or all of them twice.
            line = px.tid.x // 32 * 16 + px.tid.x % 16 if (m, cta_group, stationary) == (64, 1, False) else px.tid.x % rows
            for column in range(lines):
                px.tile.apply("mov.b32", own[:, column : column + 1], px.ptx["ld.shared.b32"](a[line].view(b32)[column]), scope="cta")
            pair = left.view(b32).view(4, 32, lines), own.view(4, 32, lines)
            px.tile.apply(f"tcgen05.st.sync.aligned.32x32b.x{lines}.b32", *pair, scope="cta")
        px.tcgen05_wait("st")
        px.tcgen05_fence("before")
        px.syncthreads() if cta_group == 1 else px.cluster_sync()
        px.tcgen05_fence("after")
        with px.if_((px.tid.x == 0) & (rank == 0)):
            if a_in_tensor_memory:
                left = lanes_of(left, rows, K, m, 1) if m == 64 and not stationary else left
            else:
                left = a if a_major == "k" else a.permute(1, 0)[:rows]
            right = b if b_major == "k" else b.permute(1, 0)[:share]
            px.tile.apply(
                f"tcgen05.mma{'.ws' * stationary}.cta_group::{cta_group}.kind::{kind}",
                lanes_of(cells, rows, n, m, cta_group, stationary).view(1, 1, rows, n),
                left.rearrange("m (s k) -> s m k", k=k).view(1, K // k, left.shape[0], k),
                right.rearrange("n (s k) -> s n k", k=k).view(1, K // k, share, k),
                enable_input_d=1,
                scope="thread",
            )
            px.tcgen05_commit(done, cta_group=cta_group, mask=None if cta_group == 1 else 3)
        done.wait(0)
        px.tcgen05_fence("after")
        px.tile.apply("tcgen05.ld.sync.aligned.32x32b.x8.b32", words.view(4, 32, width // 8, 8).permute(0, 2, 1, 3),
                      cells.view(4, 32, width // 8, 8).permute(0, 2, 1, 3), scope="cta")  # fmt: skip
        px.tcgen05_wait("ld")
        px.tile.apply("st.global.v4.b32", C[rank].view(128, width // 4, 4), held.view(128, width // 4, 4), scope="cta")
        px.tcgen05_fence("before")
        px.syncthreads() if cta_group == 1 else px.cluster_sync()
        with px.if_(px.tid.x < 32):
            memory.dealloc()

    return kernel, K, width


def check(dtype=bf16, other=None, m=128, n=32, a_major="k", b_major="k", span=128, cta_group=1, seed=0, stationary=False, **options):
    other = other or dtype
    kernel, K, width = product(dtype, other, m, n, a_major, b_major, span, cta_group, stationary=stationary, **options)
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(0 if of is u8 else -3, 4, (extent, K)).astype(of.numpy) for extent, of in ((m, dtype), (n, other)))
    given = []
    for matrix, major in ((a, a_major), (b, b_major)):
        halves = matrix.reshape(cta_group, -1, K)
        if major == "mn":
            more = -halves.shape[1] % ((span or 16) * 8 // dtype.bits)
            halves = np.pad(halves, ((0, 0), (0, more), (0, 0)), constant_values=3).transpose(0, 2, 1)
        given.append(np.ascontiguousarray(halves))
    found = np.zeros((cta_group, 128, width), np.int32 if dtype in (s8, u8) else np.float32)
    kernel(*given, found)
    lane, column = np.indices((128, width))
    expected = np.broadcast_to(4 * lane + 1000 * column, found.shape).astype(found.dtype)
    sums = a.astype(found.dtype) @ b.astype(found.dtype).T
    for row in range(m):
        block, inside = divmod(row, m // cta_group)
        if stationary:
            for part in range(128 // m):
                expected[0, part * m + row] += sums[row, part * width : (part + 1) * width]
        elif (m, cta_group) == (128, 2):
            expected[block, inside] += sums[row, : n // 2]
            expected[block, inside + 64] += sums[row, n // 2 :]
        else:
            expected[block, inside // 16 * 32 + inside % 16 if m == 64 else inside] += sums[row]
    np.testing.assert_array_equal(found, expected)
    assemble(kernel.ptx())


@pytest.mark.parametrize(("m", "n", "cta_group"), [(64, 8, 1), (64, 40, 1), (128, 16, 1), (128, 48, 1), (128, 32, 2), (256, 16, 2)])
def test_products_of_every_data_path(m, n, cta_group):
    check(m=m, n=n, cta_group=cta_group)


@pytest.mark.parametrize(
    ("dtype", "other"),
    [(f16, f16), (bf16, f16), (px.tf32, px.tf32), (e4m3, e4m3), (e4m3, e5m2), (e5m2, e4m3), (s8, s8), (s8, u8), (u8, s8), (u8, u8)],
    ids=str,
)
def test_products_of_every_type(dtype, other):
    check(dtype, other)


@pytest.mark.parametrize(("m", "n", "cta_group"), [(64, 8, 1), (64, 24, 1), (64, 48, 1), (128, 80, 1), (128, 32, 2), (256, 64, 2)])
@pytest.mark.parametrize("majors", [("k", "k"), ("mn", "mn")])
def test_products_of_bytes(m, n, cta_group, majors):
    check(s8, u8, m=m, n=n, cta_group=cta_group, a_major=majors[0], b_major=majors[1], span=128)


@pytest.mark.parametrize("span", [0, 32, 64, 128])
@pytest.mark.parametrize("a_major", ["k", "mn"])
@pytest.mark.parametrize("b_major", ["k", "mn"])
def test_products_of_every_major_and_swizzle(a_major, b_major, span):
    check(n=64, a_major=a_major, b_major=b_major, span=span)


@pytest.mark.parametrize(
    ("dtype", "m", "n", "cta_group", "span"),
    [
        (bf16, 64, 8, 1, 32), (bf16, 64, 24, 1, 64), (bf16, 128, 48, 1, 128), (bf16, 128, 48, 2, 64), (e4m3, 64, 72, 1, 128),
        (e4m3, 128, 16, 1, 64),
    ],
)  # fmt: skip
def test_the_last_block_of_rows_may_be_cut_off(dtype, m, n, cta_group, span):
    check(dtype, m=m, n=n, cta_group=cta_group, a_major="mn", b_major="mn", span=span)


@pytest.mark.parametrize(("m", "n", "cta_group"), [(64, 16, 1), (128, 32, 1), (128, 32, 2), (256, 32, 2)])
@pytest.mark.parametrize("dtype", [bf16, e4m3], ids=str)
def test_products_of_a_matrix_in_tensor_memory(dtype, m, n, cta_group):
    check(dtype, m=m, n=n, cta_group=cta_group, span=0, a_in_tensor_memory=True)


@pytest.mark.parametrize("a_in_tensor_memory", [False, True])
@pytest.mark.parametrize(("m", "n"), [(32, 64), (32, 128), (64, 64), (64, 256), (128, 64)])
def test_products_whose_b_stays(m, n, a_in_tensor_memory):
    check(m=m, n=n, stationary=True, span=0, a_in_tensor_memory=a_in_tensor_memory)


@pytest.mark.parametrize("dtype", [f16, px.tf32, e5m2, s8], ids=str)
@pytest.mark.parametrize("b_major", ["k", "mn"])
def test_products_whose_b_stays_of_every_type(dtype, b_major):
    check(dtype, m=64, n=64, stationary=True, span=32, b_major="k" if dtype is px.tf32 else b_major)


# ---- moves ------------------------------------------------------------------------------------------------------------

# Owner and register of lane (h, l) and column (c, ...) of 16 lanes, h the upper or lower eight (ISA 9.7.18.8.1).
FRAGMENTS = {
    "16x64b": S[(4, 2, 8, 8, 2) : (1 @ wid_in_wg, 1 @ laneid, 4 @ laneid, 1, 2 @ laneid)],
    "16x128b": S[(4, 2, 8, 4, 4) : (1 @ wid_in_wg, 1, 4 @ laneid, 2, 1 @ laneid)],
    "16x256b": S[(4, 2, 8, 2, 4, 2) : (1 @ wid_in_wg, 2, 4 @ laneid, 4, 1 @ laneid, 1)],
}


@pytest.mark.parametrize("shape", FRAGMENTS)
@pytest.mark.parametrize("loads", [True, False])
def test_moves_of_sixteen_lanes_are_the_inverse_of_rows(shape, loads):
    """Lanes go one way as rows of 32 lanes and 16 columns, the other way in fragments: what comes back is what was given."""
    count = 16 * 32 // int(shape[3:-1])

    @px.kernel(grid=1, block=(128, 1, 1))
    def kernel(A: px.Tensor((128, 16), u32, align=16), B: px.Tensor((128, 16), u32, align=16)):
        memory = px.tensor_memory(32)
        with px.if_(px.tid.x < 32):
            memory.alloc()
        px.tcgen05_fence("before")
        px.syncthreads()
        px.tcgen05_fence("after")
        cells = memory.tile((128, 16), u32, column=8)
        rows = px.local((128, 16), u32, layout=S[(128, 16) : (1 @ tx, 1)])

        def by_rows(opcode, *pair):
            px.tile.apply(f"{opcode}.sync.aligned.32x32b.x16.b32", *(one.view(4, 32, 16) for one in pair), scope="cta")

        def each(held, out, opcode):
            """One element after the other between registers and global memory."""
            split = {
                "16x64b": ("w (h l) (c p) -> (w l p h) c", {"h": 2, "p": 2}), "16x128b": ("w (h l) (c p) -> (w l p) h c", {"h": 2, "p": 4}),
                "16x256b": ("w (h l) (c p e) -> (w l p) h c e", {"h": 2, "p": 4, "e": 2}),
            }[shape]  # fmt: skip
            pair = [one.rearrange(split[0], **split[1]) for one in (held, out)]
            pair = [one.view(*one.shape, 1) for one in pair]
            px.tile.apply(f"{opcode}.global.u32", *(pair if opcode == "ld" else reversed(pair)), scope="cta")

        if loads:
            px.tile.apply("ld.global.v4.u32", rows.view(128, 4, 4), A.view(128, 4, 4), scope="cta")
            by_rows("tcgen05.st", cells, rows)
            px.tcgen05_wait("st")
            for half in range(2):
                held = px.local((4, 16, 16), u32, layout=Layout(FRAGMENTS[shape]).reshape(4, 16, 16))
                px.tile.apply(f"tcgen05.ld.sync.aligned.{shape}.x{count}.b32", held, cells.view(4, 2, 16, 16)[:, half], scope="cta")
                px.tcgen05_wait("ld")
                each(held, B.view(4, 2, 16, 16)[:, half], "st")
        else:
            for half in range(2):
                held = px.local((4, 16, 16), u32, layout=Layout(FRAGMENTS[shape]).reshape(4, 16, 16))
                each(held, A.view(4, 2, 16, 16)[:, half], "ld")
                px.tile.apply(f"tcgen05.st.sync.aligned.{shape}.x{count}.b32", cells.view(4, 2, 16, 16)[:, half], held, scope="cta")
                px.tcgen05_wait("st")
            by_rows("tcgen05.ld", rows, cells)
            px.tcgen05_wait("ld")
            px.tile.apply("st.global.v4.u32", B.view(128, 4, 4), rows.view(128, 4, 4), scope="cta")
        px.tcgen05_fence("before")
        px.syncthreads()
        with px.if_(px.tid.x < 32):
            memory.dealloc()

    given, found = np.random.default_rng(1).integers(0, 1 << 32, (128, 16), np.uint32), np.zeros((128, 16), np.uint32)
    kernel(given, found)
    np.testing.assert_array_equal(found, given)
    assemble(kernel.ptx())


def test_a_runtime_column_and_two_warpgroups():
    """Two accumulators side by side, chosen at run time; each warpgroup takes one."""

    @px.kernel(grid=1, block=256, target="sm_100a")
    def kernel(A: px.Tensor((2, 128, 16), u32, align=16), B: px.Tensor((2, 128, 16), u32, align=16)):
        memory = px.tensor_memory(32)
        with px.if_(px.tid.x < 32):
            memory.alloc()
        px.tcgen05_fence("before")
        px.syncthreads()
        px.tcgen05_fence("after")
        group = px.warp_uniform(px.tid.x // 128)
        own = memory.tile((128, 32), u32).rearrange("l (s n) -> s l n", s=2)[group].view(4, 32, 16)
        rows = px.local((128, 16), u32, layout=S[(128, 16) : (1 @ tid_in_wg, 1)])
        px.tile.apply("ld.global.v4.u32", rows.view(128, 4, 4), A[group].view(128, 4, 4), scope="warpgroup")
        px.tile.apply("tcgen05.st.sync.aligned.32x32b.x16.b32", own, rows.view(4, 32, 16), scope="warpgroup")
        px.tcgen05_wait("st")
        back = px.local((128, 16), u32, layout=S[(128, 16) : (1 @ tid_in_wg, 1)])
        px.tile.apply("tcgen05.ld.sync.aligned.32x32b.x16.b32", back.view(4, 32, 16), own, scope="warpgroup")
        px.tcgen05_wait("ld")
        px.tile.apply("st.global.v4.u32", B[group].view(128, 4, 4), back.view(128, 4, 4), scope="warpgroup")
        px.tcgen05_fence("before")
        px.syncthreads()
        with px.if_(px.tid.x < 32):
            memory.dealloc()

    given = np.arange(4096, dtype=np.uint32).reshape(2, 128, 16)
    found = np.zeros_like(given)
    kernel(given, found)
    np.testing.assert_array_equal(found, given)
    assemble(kernel.ptx())


# ---- text, and what is refused ----------------------------------------------------------------------------------------


def allocated(columns=128, **named):
    """Tensor memory that warp 0 has allocated, its lanes as f32."""
    memory = px.tensor_memory(columns, **named)
    with px.if_(px.tid.x < 32):
        memory.alloc()
    px.syncthreads()
    return memory


def multiply(d, a, b, kind="f16", cta_group=1, ws=""):
    with px.if_(px.tid.x == 0):
        px.tile.apply(f"tcgen05.mma{ws}.cta_group::{cta_group}.kind::{kind}", d, a, b, enable_input_d=0, scope="thread")


def operands(rows=128, n=64, dtype=bf16, depth=64):
    layout = [Layout(S[(extent, depth)], swizzle=px.Swizzle.B128) for extent in (rows, n)]
    a, b = (px.shared(one.shape, dtype, layout=one) for one in layout)
    step = 256 // dtype.bits
    return (one.rearrange("r (k c) -> k r c", c=step).view(1, depth // step, one.shape[0], step) for one in (a, b))


def test_text_of_a_product_steps_through_a_swizzled_row():
    def body(tid):
        a, b = operands()
        d = allocated().tile((128, 64), f32, column=16)
        multiply(d.view(1, 1, 128, 64), a, b)

    lines = [line for line in traced(body, block=(128, 1, 1)) if "tcgen05.mma" in line]
    # f32 (1 << 4) from bf16 (1 << 7, 1 << 10), N = 64 (8 << 17), M = 128 (8 << 24); K steps of 32 bytes are two units of the start.
    idesc = 1 << 4 | 1 << 7 | 1 << 10 | 8 << 17 | 8 << 24
    assert len(lines) == 4
    assert all(line.startswith("tcgen05.mma.cta_group::1.kind::f16 [%r") and f", {idesc}, " in line and "+16]" in line for line in lines)
    assert [line.rstrip(";").split(", ")[-1] for line in lines] == ["0", "1", "1", "1"]


def shifted(memory):
    return memory.tile((128, 64), f32).rearrange("(w l) n -> l w n", w=4).view(128, 64)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda a, b: multiply(allocated().tile((128, 64), f32)[:96].view(1, 1, 96, 64), a, b), ["rows = 96", "multiples of 64 up to 128"]),
        (lambda a, b: multiply(allocated().tile((128, 72), f32).view(1, 1, 128, 72), a, b), ["n = 72", "multiples of 16 up to 256"]),
        (lambda a, b: multiply(shifted(allocated()).view(1, 1, 128, 64), a, b), ["element (1, 0) lies at lane 32", "lane 1, column 0"]),
        (lambda a, b: multiply(allocated().tile((128, 64), u32).view(1, 1, 128, 64), a, b), ["does not take", "px.f32"]),
        (lambda a, b: multiply(allocated().tile((128, 64), f32).view(1, 1, 128, 64), a.view(px.b16), b), ["px.f16", "px.bf16"]),
        (lambda a, b: multiply(px.local((1, 1, 128, 64), f32), a, b), ["not in .tensor"]),
        (
            lambda a, b: multiply(allocated().tile((128, 72), s32).view(1, 1, 128, 72), a, b, kind="i8"),
            ["multiples of 16 up to 32, or 48 to 256 in steps of 16"],
        ),
        (lambda a, b: multiply(allocated().tile((128, 64), f32).view(1, 1, 128, 64), a, b, kind="i8"), ["operand a_desc", "16 bits", "8"]),
        (lambda a, b: multiply(allocated().tile((128, 64), f32).view(1, 1, 128, 64)[:, :, :96], a, b, ws=".ws"), ["32, or 64, or 128"]),
        (lambda a, b: px.tensor_memory(48), ["48 columns", "32, 64, 128, 256, 512"]),
        (lambda a, b: px.tensor_memory(32).tile((128, 32), f32), ["nothing before allocates", ".alloc()"]),
        (lambda a, b: allocated(32).tile((128, 33), f32), ["does not lie inside", "32 elements"]),
    ],
)  # fmt: skip
def test_products_are_refused(call, words):
    with pytest.raises(PtxgenError) as caught:
        traced(lambda tid: call(*operands()), block=(128, 1, 1))
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_whole_warp_does_not_issue_a_product():
    def body(tid):
        a, b = operands()
        d = allocated().tile((128, 64), f32).view(1, 1, 128, 64)
        px.tile.apply("tcgen05.mma.cta_group::1.kind::f16", d, a, b, enable_input_d=0, scope="thread")

    with pytest.raises(InstructionError, match="128 threads here"):
        traced(body, block=(128, 1, 1))


def test_a_warp_reaches_its_own_lanes():
    def body(tid):
        held = px.local((128, 8), f32, layout=S[(128, 8) : (1 @ tid_in_wg, 1)])
        cells = allocated().tile((128, 8), f32).view(4, 32, 8)
        turned = cells.view(2, 2, 32, 8).permute(1, 0, 2, 3).view(4, 32, 8)
        px.tile.apply("tcgen05.ld.sync.aligned.32x32b.x8.b32", held.view(4, 32, 8), turned, scope="cta")

    with pytest.raises(InstructionError, match=r"thread 32: lane 64[\s\S]*lane 32"):
        traced(body, block=(128, 1, 1))


@pytest.mark.parametrize("swizzle", [None, px.Swizzle.B32])
def test_shared_memory_of_another_block_is_a_tile_as_any_other(swizzle):
    """The base is computed in the body, so nothing of it may stand in the prologue."""

    @px.kernel(grid=2, block=64, cluster=2, target="sm_90")
    def kernel(A: px.Tensor((2, 64, 8), u32, align=32), B: px.Tensor((2, 64, 8), u32, align=32)):
        tile = px.shared((64, 8), u32, layout=Layout(S[(64, 8)], swizzle=swizzle))
        held = px.local((64, 2, 4), u32, layout=S[(64, 2, 4) : (1 @ tx, 4, 1)])
        rank = px.sreg.cluster_ctarank
        px.tile.apply("ld.global.v4.u32", held, A[rank].view(64, 2, 4), scope="cta")
        px.cluster_sync()
        px.tile.apply("st.shared::cluster.v4.u32", px.mapa(tile, rank ^ 1).view(64, 2, 4), held, scope="cta")
        px.cluster_sync()
        px.tile.apply("ld.shared.v4.u32", held, tile.view(64, 2, 4), scope="cta")
        px.tile.apply("st.global.v4.u32", B[rank].view(64, 2, 4), held, scope="cta")

    given = np.arange(1024, dtype=np.uint32).reshape(2, 64, 8)
    found = np.zeros_like(given)
    kernel(given, found)
    np.testing.assert_array_equal(found, given[::-1])
