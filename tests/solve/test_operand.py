"""Matrix operands of one call: in kernels against NumPy, assembled; descriptors against the emulator's own decoding; all swizzles tried."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ptxgen as px
from ptxgen import S, bf16, e4m3, f16, f32, tf32, tid_in_wg
from ptxgen.assemble import assemble
from ptxgen.emulator.descriptors import BLACKWELL, HOPPER, decode, matrix_addresses
from ptxgen.errors import Impossible, LayoutError
from tests.solve.shown import shown

WGMMA = "wgmma.mma_async.sync.aligned.m64n{n}k{k}.f32.{t}.{t}"
LOAD = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
OPERAND = WGMMA.format(n=64, k=16, t="bf16")
SWIZZLES = {0: None, 32: px.Swizzle.B32, 64: px.Swizzle.B64, 128: px.Swizzle.B128}


def fragment(n):
    """What 128 threads hold of 64 x n sums."""
    return S[((4, 2, 8), (n // 8, 4, 2)) : ((32 @ tid_in_wg, 2, 4 @ tid_in_wg), (4, 1 @ tid_in_wg, 1))]


def wgmma_product(dtype, n, depth, majors, spans, stages=None, only=None):
    """One product of 64 x n x depth by plans, read from the middle of tensors; of the steps of K, where one is given, it alone."""
    k = 256 // dtype.bits
    opcode = WGMMA.format(n=n, k=k, t=dtype.name)
    plans = [
        px.solve.operand(opcode, (extent, depth), operand=name, major=major, swizzle=SWIZZLES.get(span, "any"), stages=stages)
        for name, extent, major, span in zip("AB", (64, n), majors, spans)
    ]
    for plan in plans:
        plan.check()
    store = px.solve.canonical(px.Layout(fragment(n)), "st.global.v2.f32", "b", scope="cta", threads=128, dtype=f32)
    shapes = [(extent + 64, depth + 64) if plan.major == "k" else (depth + 64, extent + 64) for plan, extent in zip(plans, (64, n))]
    corners = [(32, 16) if plan.major == "k" else (16, 32) for plan in plans]
    corners = [tuple(one - one % (16 // (dtype.bits // 8)) for one in corner) for corner in corners]

    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel(A: px.Tensor(shapes[0], dtype, align=16), B: px.Tensor(shapes[1], dtype, align=16), C: px.Tensor((64, n), f32, align=8)):
        tiles = [px.shared(**plan.shared) if stages is None else px.shared(**plan.shared)[stages - 1] for plan in plans]
        arrived = px.mbarrier(1)
        with px.if_(px.tid.x == 0):
            arrived.init()
            px.fence_mbarrier_init()
            arrived.arrive_expect_tx(sum(plan.bytes for plan in plans))
            for plan, tile, tensor, corner in zip(plans, tiles, (A, B), corners):
                for part, box in plan.copies(tile, tensor, corner):
                    px.tile.apply(LOAD, part, box, arrived, scope="thread")
        px.syncthreads()
        arrived.wait(0)
        c = px.local((64, n), f32, layout=fragment(n))
        px.wgmma_fence()
        a, b = (plan.steps(tile) for plan, tile in zip(plans, tiles))
        a, b = (one if only is None else one[:, only : only + 1] for one in (a, b))
        px.tile.apply(opcode, c.view(1, 1, 64, n), a, b, scale_d=0, scope="warpgroup")
        px.wgmma_commit()
        px.wgmma_wait(0)
        px.tile.apply("st.global.v2.f32", store.view(C), store.view(c), scope="cta")

    rng = np.random.default_rng(n + depth)
    whole = [rng.integers(-3, 5, shape).astype(dtype.numpy) for shape in shapes]
    c = np.zeros((64, n), np.float32)
    kernel(*whole, c)
    parts = []
    for one, plan, (row, column), extent in zip(whole, plans, corners, (64, n)):
        size = (extent, depth) if plan.major == "k" else (depth, extent)
        part = one[row : row + size[0], column : column + size[1]].astype(np.float32)
        parts.append(part if plan.major == "k" else part.T)
    chosen = slice(None) if only is None else slice(only * k, only * k + k)
    assert np.array_equal(c, parts[0][:, chosen] @ parts[1][:, chosen].T)
    return kernel


@pytest.mark.parametrize(
    ("dtype", "n", "depth", "majors", "spans", "stages"),
    [
        (bf16, 64, 64, ("k", "k"), ("any", "any"), None),
        (f16, 128, 32, ("k", "mn"), ("any", 64), 2),
        (bf16, 24, 16, ("mn", "k"), (128, 32), None),
        (e4m3, 40, 128, ("k", "k"), (64, 0), None),
    ],
    ids=str,
)  # fmt: skip
def test_products_of_a_warpgroup(dtype, n, depth, majors, spans, stages):
    kernel = wgmma_product(dtype, n, depth, majors, spans, stages)
    assemble(kernel.ptx(), "sm_90a")


@given(st.data())
@settings(max_examples=8, deadline=None)
def test_products_of_drawn_types_majors_swizzles_and_steps(data):
    draw = data.draw
    dtype = draw(st.sampled_from([bf16, f16, e4m3]))
    majors = ("k", "k") if dtype is e4m3 else draw(st.tuples(*[st.sampled_from(["k", "mn"])] * 2))
    steps = draw(st.sampled_from([1, 2, 4]))
    spans = draw(st.tuples(*[st.sampled_from(["any", *SWIZZLES])] * 2))
    try:
        stages, only = draw(st.sampled_from([None, 2])), draw(st.sampled_from([None, *range(steps)]))
        wgmma_product(dtype, draw(st.sampled_from([8, 32, 64, 72])), steps * 256 // dtype.bits, majors, spans, stages, only)
    except Impossible:
        assert spans != ("any", "any")  # without a swizzle there is always a layout


@pytest.mark.parametrize(
    ("kind", "dtype", "majors", "swizzle"),
    [
        ("f16", bf16, ("k", "mn"), px.Swizzle.B128),
        ("tf32", tf32, ("mn", "k"), px.Swizzle.B128_ATOM32),
        ("f8f6f4", e4m3, ("mn", "mn"), None),
    ],
    ids=str,
)
def test_products_of_tensor_memory(kind, dtype, majors, swizzle):
    """D = A x B of 128 x 64 x 64 by one thread; tf32 along M has the swizzle of 32-byte atoms."""
    opcode, depth = f"tcgen05.mma.cta_group::1.kind::{kind}", 64
    a_plan = px.solve.operand(opcode, (128, depth), dtype, operand="A", major=majors[0])
    b_plan = px.solve.operand(opcode, (64, depth), dtype, operand="B", major=majors[1], n=64)
    plans = a_plan, b_plan
    assert swizzle is None or swizzle in [plan.swizzle for plan in plans]
    for plan in plans:
        plan.check()
    shapes = [plan.shape if plan.major == "k" else plan.shape[::-1] for plan in plans]
    held = dtype if dtype is not tf32 else f32

    @px.kernel(grid=1, block=128, target="sm_100a")
    def kernel(A: px.Tensor(shapes[0], held, align=16), B: px.Tensor(shapes[1], held, align=16), C: px.Tensor((128, 64), f32, align=16)):
        tiles = [px.shared(**{**plan.shared, "dtype": held}) for plan in plans]
        arrived, done = px.mbarrier(1), px.mbarrier(1)
        memory = px.tensor_memory(64)
        with px.if_(px.tid.x == 0):
            arrived.init()
            done.init()
            px.fence_mbarrier_init()
        with px.if_(px.tid.x < 32):
            memory.alloc()
        px.tcgen05_fence("before")
        px.syncthreads()
        px.tcgen05_fence("after")
        cells = memory.tile((128, 64), f32)
        with px.if_(px.tid.x == 0):
            arrived.arrive_expect_tx(sum(plan.bytes for plan in plans))
            for plan, tile, tensor in zip(plans, tiles, (A, B)):
                for part, box in plan.copies(tile, tensor):
                    px.tile.apply(LOAD, part, box, arrived, scope="thread")
            arrived.wait(0)
            a, b = (plan.steps(tile) for plan, tile in zip(plans, tiles))
            px.tile.apply(opcode, cells.view(1, 1, 128, 64), a, b, enable_input_d=False, scope="thread")
            px.tcgen05_commit(done)
        done.wait(0)
        px.tcgen05_fence("after")
        load = px.solve.canonical(cells, "tcgen05.ld.sync.aligned.32x32b.x64.b32", "taddr", scope="warpgroup", dtype=px.b32)
        r = px.local((128, 64), f32, layout=S[(128, 64) : (1 @ px.tx, 1)])
        px.tile.apply(load.opcode, load.view(r.view(px.b32)), load.view(cells.view(px.b32)), scope="warpgroup")
        px.tcgen05_wait("ld")
        px.tile.apply("st.global.v4.f32", C.view(128, 16, 4), r.view(128, 16, 4), scope="cta")
        px.tcgen05_fence("before")
        px.syncthreads()
        px.tcgen05_fence("after")
        with px.if_(px.tid.x < 32):
            memory.dealloc()

    rng = np.random.default_rng(1)
    x, y = (rng.integers(-3, 5, shape).astype(held.numpy) for shape in shapes)
    z = np.zeros((128, 64), np.float32)
    kernel(x, y, z)
    a, b = (one.astype(np.float32) if plan.major == "k" else one.T.astype(np.float32) for one, plan in zip((x, y), plans))
    assert np.array_equal(z, a @ b.T)
    assemble(kernel.ptx(), "sm_100a")


# ---- every swizzle ------------------------------------------------------------------------------------------------------


TYPES = {"bf16": 16, "f16": 16, "tf32": 8, "e4m3": 32}


@st.composite
def operands(draw):
    """An instruction and a tile of it."""
    name = draw(st.sampled_from(sorted(TYPES)))
    k, dtype = TYPES[name], getattr(px, name)
    blackwell = draw(st.booleans())
    n = draw(st.sampled_from([16, 32, 48, 64, 96, 128, 256]))
    kind = {"tf32": "tf32", "e4m3": "f8f6f4"}.get(name, "f16")
    opcode = f"tcgen05.mma.cta_group::1.kind::{kind}" if blackwell else WGMMA.format(n=n, k=k, t=name)
    return {
        "opcode": opcode, "shape": (n * draw(st.integers(1, 2)), k * draw(st.sampled_from([1, 2, 3, 4, 8]))),
        "dtype": dtype, "operand": "B",
        "major": draw(st.sampled_from(["k", "mn"])), "swizzle": draw(st.sampled_from(["any", *SWIZZLES.values()])),
        **({"n": n} if blackwell else {}),
    }  # fmt: skip


def hardware(plan, step, address):
    """Shared addresses of a matrix's elements as the emulator decodes the descriptor, of shape (rows, k), in bytes."""
    fields = decode(plan.word(address, *step), BLACKWELL if plan.opcode.startswith("tcgen05") else HOPPER)
    assert not isinstance(fields, str), fields
    rows, k = plan.shape
    size = plan.dtype.bits // 8
    chunks = matrix_addresses(fields, k_major=plan.major == "k", rows=rows, depth=k, element=size)
    row, column = np.indices((rows, k))
    if plan.major == "k":
        return chunks[row, column * size // 16] + column * size % 16
    return chunks[row * size // 16, column] + row * size % 16


def layout_addresses(plan, address):
    """Where the layout has each element, in bytes: (repeats, rows, k)."""
    return plan.steps.on(plan.layout, plan.dtype.bits)[0].table().m.reshape(-1, *plan.shape) // 8 + address


@given(operands(), st.integers(0, 20))
@settings(max_examples=60, deadline=None)
def test_descriptors_read_what_the_layout_holds(asked, place):
    """The emulator takes the descriptor apart bit by bit and walks the addresses by itself; the layout has every element there."""
    try:
        plan = px.solve.operand(**asked)
    except Impossible as impossible:
        assert len(impossible.demands) >= 2
        return
    plan.check()
    found = plan.descriptor
    assert found.transposed == (asked["major"] == "mn")
    address = place * (128 if plan.swizzle is not None else 16)  # any multiple: the base offset says where the pattern starts
    wanted = layout_addresses(found, address)
    for number, step in enumerate(np.ndindex(found.starts.shape)):
        assert np.array_equal(hardware(found, step, address), wanted[number])
    assert np.array_equal(found.addresses(address) // 8, wanted[0])


def images(plan):
    """The tile as its copies leave it: numbers of elements by byte address, boxes written row by row as wide as the swizzle's pattern."""
    memory = {}
    for one in plan.boxes:
        at = one.tile.on(px.Layout(S[plan.shape]).bind(1), 1)[0].table().linear.reshape(-1, one.box[-1])
        first = int(one.tile.on(plan.descriptor.layout, plan.dtype.bits)[0].table().linear.ravel()[0]) // 8
        size = plan.dtype.bits // 8
        for row, numbers in enumerate(at):
            line = first + row * one.box[-1] * size  # rows of a box fill the swizzle's span
            for column, number in enumerate(numbers):
                byte = line + column * size
                byte = byte if plan.swizzle is None else plan.swizzle.apply_bytes(byte)
                assert byte not in memory
                memory[byte] = int(number)
    return memory


@given(operands())
@settings(max_examples=15, deadline=None)
def test_copies_write_what_the_layout_says(asked):
    asked["shape"] = (min(asked["shape"][0], 64) // 16 * 16 or 16, asked["shape"][1])
    asked = {**asked, "opcode": asked["opcode"].replace("n256", "n16").replace("n128", "n16").replace("n96", "n16").replace("n48", "n16")}
    asked.pop("n", None)
    try:
        plan = px.solve.operand(**asked)
    except Impossible:
        return
    table = plan.descriptor.layout.table().m.ravel() // 8
    assert images(plan) == {int(byte): number for number, byte in enumerate(table)}


def test_elements_below_a_byte():
    """Four bits and single bits are copied as bytes; descriptors and addresses count bits."""
    for opcode, shape, dtype, spans in (
        ("wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc", (64, 1024), px.b1, 128),
        ("tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block32", (128, 128), px.e2m1, 64),
    ):
        plan = px.solve.operand(opcode, shape, dtype)
        plan.check()
        assert plan.swizzle == SWIZZLES[spans]
        assert plan.descriptor.k_steps == tuple(range(0, spans, 32))
        assert np.array_equal(plan.descriptor.addresses(), plan.steps.on(plan.descriptor.layout, dtype.bits)[0].table().m[0, 0])
        if dtype is px.e2m1:
            said = plan.tensor_map(px.Tensor((512, 1024), dtype, align=16))
            assert (said.map.kind, said.box, said.strides, said.bytes) == ("u8", (128, 64), (512,), plan.bytes)


def test_sources_of_copies_into_tensor_memory():
    """Four rows are less than a swizzle's pattern, and one block of lines holds them."""
    for shape, rows in (("128x256b", 128), ("4x256b", 4), ("32x128b.warpx4", 32)):
        words = 4 if "128b" in shape.split("x")[1] else 8
        plan = px.solve.operand(f"tcgen05.cp.cta_group::1.{shape}", (rows, words), px.b32, operand="s_desc")
        plan.check()
        assert plan.descriptor.shape == (rows, words)
        assert np.array_equal(hardware(plan.descriptor, (0, 0), 0x800), layout_addresses(plan.descriptor, 0x800)[0])


def test_warpgroups_of_a_block_have_rows_of_their_own():
    plan = px.solve.operand(OPERAND, (256, 64), scope="cta", threads=256)
    plan.check()
    assert str(plan.steps) == '.rearrange("(g m r) (s k) -> g m s r k", g=2, r=64, k=16)'
    assert plan.descriptor.starts.tolist() == [[[m * 8192 + g * 16384 + 32 * s for s in range(4)] for m in (0, 1)] for g in (0, 1)]
    told = shown(Impossible, lambda: px.solve.operand(OPERAND, (192, 64), scope="cta", threads=256))
    assert "demand: the tile has 192 rows and 64 of K, and each of 2 warpgroups has its own rows" in told


def test_plans_do_not_change():
    plan = px.solve.operand(OPERAND, (64, 64))
    for one in (plan, plan.descriptor, plan.tensor_map(px.Tensor((64, 64), bf16, align=16)), px.solve.canonical(plan.layout, OPERAND)):
        assert repr(one) == str(one)
        name = one.__slots__[-1]
        with pytest.raises(AttributeError, match="a plan does not change"):
            setattr(one, name, None)


@pytest.mark.parametrize(("swizzle", "span"), [(px.Swizzle.B128, 128), (px.Swizzle.B64, 64), (px.Swizzle.B32, 32), (None, 0)])
def test_a_swizzle_is_itself_or_its_bytes(swizzle, span):
    plan = px.solve.operand(OPERAND, (64, 64), swizzle=swizzle)
    assert plan.swizzle == swizzle and px.solve.operand(OPERAND, (64, 64), swizzle=span).layout == plan.layout
    layouts = [px.hardware_layout(OPERAND, "a_desc", major="k", swizzle=one, shape=(64, 64)) for one in (swizzle, span)]
    assert layouts[0] == layouts[1] and layouts[0].swizzle == swizzle
    maps = [px.solve.tensor_map(px.Tensor((64, 64), bf16, align=16), (8, 16), swizzle=one) for one in (swizzle, span)]
    assert maps[0].swizzle == maps[1].swizzle and maps[0].image.swizzle == swizzle


@pytest.mark.parametrize("wrong", ["B128", 16, [], 1.5])
def test_what_is_no_swizzle(wrong):
    legal = "px.Swizzle.B128, .B64, .B32 or None, or their bytes: 128, 64, 32, 0"
    for call in (
        lambda: px.solve.operand(OPERAND, (64, 64), swizzle=wrong),
        lambda: px.solve.tensor_map(px.Tensor((64, 64), bf16, align=16), (8, 16), swizzle=wrong),
    ):
        with pytest.raises(px.LayoutError) as error:
            call()
        assert str(error.value) == f"swizzle={wrong!r} is no swizzle\n  legal: {legal}"


def test_the_widest_swizzle_that_the_tile_fills():
    for depth, span in ((16, 32), (32, 64), (48, 32), (64, 128), (192, 128)):
        plan = px.solve.operand(WGMMA.format(n=64, k=16, t="bf16"), (64, depth))
        assert plan.swizzle == SWIZZLES[span]
        widest = max(width for width in (16, 32, 64, 128) if depth * 2 % width == 0)
        assert widest == span
        assert plan.wavefronts == 1
    assert [name for name, _ in plan.ranking] == ["Swizzle.B128", "Swizzle.B64", "Swizzle.B32", "no swizzle"]


def test_what_is_printed():
    plan = px.solve.operand(WGMMA.format(n=64, k=16, t="bf16"), (128, 32), stages=2)
    assert str(plan) == """\
a_desc of wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16: a tile of 128 x 32 elements of .bf16, K-major with a 64-byte swizzle
  px.shared     (128, 32), layout=Layout(S[(128, 32) : (32, 1)], swizzle=Swizzle(2, 4, 3)), align=512, stages=2: 8192 bytes
  operand       tile.rearrange("(m r) (s k) -> m s r k", r=64, k=16)
  copies        1 of box (128, 32) from a tensor of shape (rows, K); the first: tile as it is
  wavefronts    1 for 128 bytes of neighbouring lines
  offsets       leading 0 (not looked at), stride 512 bytes: fields 0, 32
  start         0 bytes behind the tile's first
  swizzle mode  2, base offset 0 at a multiple of 512 bytes; transpose flag 0
  steps of K    0, 32 bytes
  descriptor    0x8000002000000000 + (address >> 4)
  B128          32 of K are 64 bytes, no multiple of its lines' 128
  B64           the widest that the tile fills
  B32           legal, and narrower
  no swizzle    legal, and narrower"""


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: px.solve.operand(OPERAND, (64, 24)),
            """\
a tile of 64 x 24 is no whole number of instructions
  demand: the tile has 64 rows and 24 of K
  demand: one instruction takes 64 x 16 of a_desc (wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16)
  legal: a tile of multiples of 64 x 16""",
        ),
        (
            lambda: px.solve.operand(OPERAND, (64, 64), f32),
            """\
a_desc of wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 holds no elements of .f32
  demand: the tile has elements of 32 bits
  demand: the instruction takes elements of 16 bits""",
        ),
        (
            lambda: px.solve.operand(WGMMA.format(n=64, k=32, t="e4m3"), (64, 64), operand="B", major="mn"),
            """\
b_desc of wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 is never MN-major
  demand: the tile is MN-major
  demand: the instruction takes it K-major
  legal: major='k', and a tile that lies so""",
        ),
        (
            lambda: px.solve.operand(OPERAND, (64, 16), swizzle=px.Swizzle.B128),
            """\
a_desc of wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16: no canonical layout that is asked for has this tile
  demand: the tile is 64 x 16 elements of .bf16, K-major
  demand: Swizzle.B128: 16 of K are 32 bytes, no multiple of its lines' 128""",
        ),
        (
            lambda: px.solve.operand(OPERAND, (64, 64), swizzle=px.Swizzle.B128_ATOM32),
            """\
a_desc of wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16, K-major, never has the swizzle Swizzle(2, 5, 2)
  demand: the swizzle is Swizzle(2, 5, 2)
  demand: the instruction knows, K-major, no swizzle, Swizzle.B32, Swizzle.B64, Swizzle.B128""",
        ),
    ],
    ids=["k", "type", "major", "swizzle", "atoms"],
)
def test_what_is_impossible(call, message):
    assert shown(Impossible, call) == message


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: px.solve.operand(OPERAND, 64), "the tile's shape is 64\n  legal: (rows, K), two positive ints"),
        (lambda: px.solve.operand(OPERAND, (64, 0)), "the tile's shape is (64, 0)\n  legal: (rows, K), two positive ints"),
        (lambda: px.solve.operand(OPERAND, (64, 64), major="row"), "a matrix is not 'row'-major\n  legal: major=\"k\" or \"mn\""),
        (
            lambda: px.solve.operand(OPERAND, (64, 64), n=64),
            f"{OPERAND} has no extent 'n' that views give\n  legal: no extents: the opcode spells them",
        ),
        (
            lambda: px.solve.operand("tcgen05.mma.cta_group::1.kind::f16", (64, 64), bf16, rows=50),
            "tcgen05.mma.cta_group::1.kind::f16 has no rows of 50\n  legal: rows= one of 64, 128",
        ),
        (
            lambda: px.solve.operand("tcgen05.mma.cta_group::1.kind::f16", (64, 64), bf16, operand="B", rows=128, n=24),
            "tcgen05.mma.cta_group::1.kind::f16 has no n of 24\n  legal: n= one of 16, 32, ..., 256",
        ),
        (
            lambda: px.solve.operand(OPERAND, (64, 64), scope="grid"),
            "'grid' is no execution scope\n  legal: scope='thread' | 'warp' | 'warpgroup' | 'cta' | 'cluster'",
        ),
        (
            lambda: px.solve.canonical("tile", OPERAND),
            "'tile' is no tensor\n  legal: a Layout or S[...], a px.Tensor, or a view in a kernel",
        ),
        (lambda: px.solve.tensor_map(S[64, 64], 64, dtype=bf16), "box 64 of a tensor of 2 axes\n  legal: an int for each axis"),
    ],
    ids=["shape", "empty", "major", "name", "rows", "n", "scope", "tensor", "box"],
)
def test_calls_that_mean_nothing(call, message):
    assert shown(LayoutError, call) == message


def test_operands_without_a_descriptor():
    assert shown(LayoutError, lambda: px.solve.operand(OPERAND, (64, 64), operand="D")).startswith("operand 'D' of wgmma")
    assert "has no operand 'X'" in shown(LayoutError, lambda: px.solve.operand(OPERAND, (64, 64), operand="X"))


def test_the_demands_in_conflict_are_the_fewest():
    """Without either of the two the other is met."""
    with pytest.raises(Impossible) as problem:
        px.solve.operand(OPERAND, (64, 16), swizzle=px.Swizzle.B128)
    assert len(problem.value.demands) == 2, problem.value.demands
    assert px.solve.operand(OPERAND, (64, 16)).swizzle == px.Swizzle.B32  # the tile, with any swizzle
    assert px.solve.operand(OPERAND, (64, 64), swizzle=px.Swizzle.B128).swizzle == px.Swizzle.B128  # the swizzle, of another tile
    tile = px.Layout(S[(72, 64)], swizzle=px.Swizzle.B128)
    with pytest.raises(Impossible) as problem:
        px.solve.canonical(tile, OPERAND, "A")
    assert len(problem.value.demands) == 2, problem.value.demands
    px.solve.canonical(tile, WGMMA.format(n=72, k=16, t="bf16"), "B").check()  # the tensor, for another operand
    px.solve.canonical(px.Layout(S[(128, 64)], swizzle=px.Swizzle.B128), OPERAND, "A").check()  # the operand, of another tensor
