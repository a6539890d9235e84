"""What px.costs says of kernels whose costs are plain to see, and what it does not know."""

import pytest

import ptxgen as px
from ptxgen import PtxgenError, S, b32, f32, laneid, u32

rows, cols = px.dim("rows", multiple_of=32), px.dim("cols")


@px.kernel(grid=1, block=64)
def column(x: px.Tensor((64, 32), f32, align=16), y: px.Tensor((64, 32), f32)):
    """Rows of 128 bytes, a row each thread: every lane in the same banks."""
    tile = px.shared((64, 32), f32)
    held = px.local((64, 32), f32, layout=S[(64, 32) : (1 @ px.tx, 1)])
    px.tile.apply("ld.global.v4.f32", held.view(64, 8, 4), x.view(64, 8, 4), scope="cta")
    px.tile.apply("st.shared.v4.f32", tile.view(64, 8, 4), held.view(64, 8, 4), scope="cta")
    px.syncthreads()
    with px.if_(px.tid.x < 40):
        px.ptx["st.global.f32"](y[px.tid.x, 0], px.ptx["ld.shared.f32"](tile[px.tid.x, 3]))


def test_the_table():
    assert str(column.costs()) == "\n".join(
        [
            "column, one block of 64 threads",
            "line              opcode            instr.  issued  regs  operand  requests  bytes  wavefronts  ideal  sectors  ideal",
            "test_costs.py:16  ld.global.v4.f32       8      16    32  a              16   8192                         512    256",
            "test_costs.py:17  st.shared.v4.f32       8      16    32  a              16   8192         512     64"
            "                  lanes 0, 1, 2, 3 and 4 more meet in bank 0",
            "test_costs.py:18  bar.sync               1       2     0",
            "test_costs.py:20  ld.shared.f32          1       2     1  a               2    160          40      2"
            "                  lanes 0, 1, 2, 3 and 28 more meet in bank 3",
            "test_costs.py:20  st.global.f32          1       2     1  a               2    160                          40      5",
            "instructions: 19, issued by warps 38 times; beside them 15 of addresses, indices and branches",
            "shared loads: 2 requests, 40 wavefronts, ideally 2",
            "shared stores: 16 requests, 512 wavefronts, ideally 64",
            "global loads: 16 requests, 512 sectors, ideally 256",
            "global stores: 2 requests, 40 sectors, ideally 5",
        ]
    )


def test_one_record_an_apply_with_its_line_opcode_and_operand():
    load, store, *_ = column.costs().memory
    assert (load.where.line, load.opcode, load.instructions, load.issued, load.registers) == (16, "ld.global.v4.f32", 8, 16, 32)
    (access,) = store.accesses
    assert (access.operand, access.space, access.store, access.requests, access.bytes) == ("a", "shared", True, 16, 8192)
    assert (access.wavefronts, access.ideal_wavefronts, access.conflicts) == (512, 64, 448)


def test_moves_that_a_line_asks_for_are_work_and_those_of_its_addresses_are_not():
    swapped = px.solve.convert(S[(32, 8) : (1 @ laneid, 1)], S[(32, (4, 2)) : (1 @ laneid, (1, 4))], f32)

    @px.kernel(grid=1, block=32)
    def moved(x: px.Tensor((32, 8), f32)):
        held, turned = px.local((32, 8), f32, layout=swapped.source), px.local((32, 8), f32, layout=swapped.destination)
        px.tile.apply("ld.global.f32", held.view(32, 8, 1), x.view(32, 8, 1), scope="warp")
        swapped.apply(held, turned)
        px.ptx["add.u32"](px.tid.x, 1)
        px.tile.apply("st.global.f32", x.view(32, 8, 1), turned.view(32, 8, 1), scope="warp")

    costs = moved.costs()
    assert [(one.opcode, one.instructions) for one in costs.records if not one.arithmetic] == [
        ("ld.global.f32", 8), ("mov.b32", len(swapped.steps)), ("add.u32", 1), ("st.global.f32", 8),
    ]  # fmt: skip
    assert any(one.arithmetic for one in costs.records) or costs.overhead


def test_registers_are_those_that_the_assembler_gives():
    assert column.costs().registers == column.resources()["column"].registers


def test_of_takes_a_kernel_and_a_specialisation():
    assert str(px.costs.of(column)) == str(px.costs.of(column.specialize())) == str(column.costs())


# ---- which threads ----------------------------------------------------------------------------------------------------


def test_a_loop_counts_once_and_what_follows_it_counts():
    @px.kernel(grid=1, block=32)
    def looping(x: px.Tensor((1024,), f32)):
        total = px.reg(f32, 0.0)
        for step in px.range(0, 32):
            with px.if_(step < 31):
                total += px.ptx["ld.global.f32"](x[step * 32 + px.tid.x])
        px.ptx["st.global.f32"](x[px.tid.x], total)

    load, store = looping.costs().memory
    assert [one.accesses[0].requests for one in (load, store)] == [1, 1]
    assert load.accesses[0].sectors == 4


def test_what_data_decides_is_an_upper_bound():
    @px.kernel(grid=1, block=32)
    def deciding(x: px.Tensor((32,), f32), y: px.Tensor((64,), f32)):
        value = px.ptx["ld.global.f32"](x[px.tid.x])
        with px.if_(value > 0.0):
            px.ptx["st.global.f32"](y[px.tid.x], value)
        with px.else_():
            px.ptx["st.global.f32"](y[px.tid.x + 32], value)
        px.ptx["st.global.f32"](x[px.tid.x], value)

    costs = deciding.costs()
    assert [one.certain for one in costs.memory] == [True, False, False, True]
    assert costs.total("sectors", "global", store=True) == 12
    assert "at most" in str(costs)


def test_what_follows_a_way_that_may_have_ended_is_an_upper_bound():
    @px.kernel(grid=1, block=32)
    def leaving(x: px.Tensor((32,), f32)):
        with px.if_(px.ptx["ld.global.f32"](x[px.tid.x]) > 0.0):
            px.return_()
        px.ptx["st.global.f32"](x[px.tid.x], px.f32(0.0))

    assert [one.certain for one in leaving.costs().memory] == [True, False]


def test_an_address_that_a_loop_makes_is_that_after_one_round():
    @px.kernel(grid=1, block=32)
    def walking(x: px.Tensor((1024,), f32)):
        at = px.reg(u32, 0)
        for _ in px.range(0, 8):
            px.ptx["st.global.f32"](x[at % 32 * 32 + px.tid.x], px.f32(1.0))
            at += 1
        px.ptx["st.global.f32"](x[at % 32 * 32 + px.tid.x], px.f32(2.0))

    inside, behind = walking.costs().memory
    assert (inside.certain, inside.accesses[0].sectors, inside.accesses[0].note) == (True, 4, "")
    assert (behind.certain, behind.accesses[0].sectors, behind.accesses[0].note) == (True, 4, "after one round of a loop")


def test_an_elected_thread_is_one():
    @px.kernel(grid=1, block=64, target="sm_90")
    def elected(x: px.Tensor((64,), u32)):
        with px.if_(px.elect()):
            px.ptx["st.global.u32"](x[px.tid.x], px.tid.x)

    (store,) = elected.costs().memory
    assert (store.certain, store.accesses[0].requests, store.accesses[0].bytes) == (True, 2, 8)


def test_an_address_from_memory_is_not_known():
    @px.kernel(grid=1, block=32)
    def gathered(x: px.Tensor((32,), u32), y: px.Tensor((1024,), u32)):
        place = px.ptx["ld.global.u32"](x[px.tid.x])
        px.ptx["st.global.u32"](x[px.tid.x], px.ptx["ld.global.u32"](y[place & 1023]))

    access = gathered.costs().memory[1].accesses[0]
    assert (access.requests, access.bytes, access.sectors, access.note) == (1, 128, None, "its address is not known")


def test_what_a_function_returns_is_not_known():
    @px.func
    def place(of: u32) -> u32:
        return of * 2

    @px.kernel(grid=1, block=32)
    def calling(x: px.Tensor((64,), u32)):
        px.ptx["st.global.u32"](x[place(px.tid.x) & 63], px.tid.x)

    (store,) = calling.costs().memory
    assert (store.accesses[0].requests, store.accesses[0].sectors) == (1, None)


def test_what_a_warp_exchanges_is_known():
    @px.kernel(grid=1, block=64)
    def exchanging(x: px.Tensor((64,), u32)):
        with px.if_(px.warp_uniform(px.tid.x // 32) == 1):
            px.ptx["st.global.u32"](x[px.tid.x], px.tid.x)

    (store,) = exchanging.costs().memory
    assert (store.certain, store.issued, store.accesses[0].sectors) == (True, 1, 4)


# ---- arguments --------------------------------------------------------------------------------------------------------


@px.kernel(grid=1, block=32)
def strided(x: px.Tensor((rows, cols), f32), y: px.Tensor((rows, cols), f32), first: px.u32):
    with px.if_((first < cols) & (rows > 31)):
        px.ptx["st.global.f32"](y[px.tid.x, first], px.ptx["ld.global.f32"](x[px.tid.x, first]))


def test_dims_are_taken_for_examples_that_are_as_divisible_as_declared():
    costs = strided.costs()
    assert costs.values == {"rows": 992, "cols": 1001, "first": 1000}
    assert costs.examples == {"rows", "cols", "first"}
    assert str(costs).splitlines()[0] == (
        "strided, one block of 32 threads, rows = 992 (an example), cols = 1001 (an example), first = 1000 (an example)"
    )
    assert costs.memory[0].accesses[0].note == "with the example arguments"
    assert not costs.memory[0].certain


def test_given_dims_and_scalars_are_what_is_counted_with():
    costs = strided.costs(rows=32, cols=1, first=0)
    assert (costs.total("sectors", store=False), costs.memory[0].certain, costs.memory[0].accesses[0].note) == (4, True, "")
    assert strided.costs(rows=32, cols=2, first=1).total("sectors", store=False) == 8
    assert strided.costs(rows=32, cols=2, first=2).total("requests") == 0, "a guard that does not hold"


def test_a_tensor_may_begin_behind_a_boundary():
    assert strided.costs(rows=32, cols=1, first=0, x=4).total("sectors", store=False) == 5


@pytest.mark.parametrize(
    "given, message",
    [
        ({"row": 32}, "strided has no tensor, scalar or dim 'row'; did you mean rows?"),
        ({"rows": 33}, "strided: rows = 33 is no multiple of 32, as it is declared"),
        ({"x": 2}, "strided: x begins 2 bytes behind a boundary; its alignment is 4"),
    ],
)
def test_arguments_that_the_kernel_does_not_have(given, message):
    with pytest.raises(PtxgenError) as caught:
        strided.costs(**given)
    assert str(caught.value) == message


def test_totals_of_what_is_not_counted():
    costs = strided.costs()
    with pytest.raises(PtxgenError, match=r"'wavefront' is not counted; there are requests, bytes, wavefronts, "):
        costs.total("wavefront")
    with pytest.raises(PtxgenError, match=r"'shard' is not counted; there are shared, global"):
        costs.total("wavefronts", "shard")


# ---- copies that engines make -----------------------------------------------------------------------------------------


def test_copies_of_boxes_and_of_bytes_are_counted_in_copies_and_bytes():
    @px.kernel(grid=1, block=32, target="sm_90")
    def copying(x: px.Tensor((256, 64), b32, align=16), y: px.Tensor((4096,), b32, align=16)):
        tile, full = px.shared((64, 32), b32, align=128), px.mbarrier(1)
        with px.if_(px.tid.x == 0):
            full.init()
            px.tile.apply(
                "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
                tile, x.box((0, 0), (64, 32)), full, scope="cta",
            )  # fmt: skip
            px.ptx["cp.async.bulk.global.shared::cta.bulk_group"](y[:2048], tile.view(2048), 8192)

    box, line = copying.costs().memory
    assert {one.operand: (one.space, one.store, one.requests, one.bytes) for one in box.accesses} == {
        "dst_mem": ("shared", True, 1, 8192), "tensor_map": ("global", False, 1, 8192),
    }  # fmt: skip
    assert {one.operand: (one.space, one.store, one.requests, one.bytes) for one in line.accesses} == {
        "dst_mem": ("global", True, 1, 8192), "src_mem": ("shared", False, 1, 8192),
    }  # fmt: skip
    assert all(one.wavefronts is None and one.sectors is None for record in (box, line) for one in record.accesses)


def test_matrices_are_rows():
    layout = px.Layout(S[(32, 64)], swizzle=px.Swizzle.B128)

    def kernel(layout):
        @px.kernel(grid=1, block=32)
        def loading(x: px.Tensor((32,), b32)):
            tile = px.shared((32, 64), px.b16, layout=layout)
            held = px.local((4, 8, 8), px.b16, container=b32, layout=S[(4, 8, (4, 2)) : (2, 4 @ laneid, (1 @ laneid, 1))])
            rows = tile[:, :8].rearrange("(m r) c -> m r c", r=8)
            px.tile.apply("ldmatrix.sync.aligned.m8n8.x4.shared.b16", held, rows, scope="warp")

        return loading

    assert kernel(S[(32, 64)]).costs().total("wavefronts") == 32
    assert kernel(layout).costs().total("wavefronts") == 4


def test_what_lanes_part_among_themselves_has_its_bytes():
    @px.kernel(grid=1, block=32)
    def kernel(C: px.Tensor((16, 16), px.f32, align=32)):
        tile = px.shared((16, 16), px.f16, align=32)
        a, b = (px.ptx[f"wmma.load.{name}.sync.aligned.row.m16n16k16.shared.f16"](tile, 16) for name in "ab")
        c = px.ptx["wmma.load.c.sync.aligned.row.m16n16k16.global.f32"](C, 16)
        d = px.ptx["wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32"](a, b, c)
        px.ptx["wmma.store.d.sync.aligned.row.m16n16k16.global.f32"](C, d, 16)

    accesses = [one for record in kernel.costs().memory for one in record.accesses]
    assert [(one.space, one.store, one.requests, one.bytes) for one in accesses] == [
        ("shared", False, 1, 512), ("shared", False, 1, 512), ("global", False, 1, 1024), ("global", True, 1, 1024),
    ]  # fmt: skip
    assert {(one.wavefronts, one.sectors, one.note) for one in accesses} == {
        (None, None, "which lane takes what is the hardware's affair")
    }
