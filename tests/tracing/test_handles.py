"""Handles: the exact text of every call, what is refused, and what the emulator makes of rings, clusters and elections."""

import numpy as np
import pytest

import ptxgen as px
from ptxgen.assemble import assemble
from ptxgen.errors import PtxgenError
from ptxgen.tracing.builder import Builder
from tests.tracing.kernels import traced

f32, u32 = px.f32, px.u32


def initialised(count=1, **named):
    """A barrier, or several, which thread 0 has initialised."""
    bar = px.mbarrier(count, **named)
    with px.if_(px.tid.x == 0):
        for i in range(bar.stages):
            (bar[i] if named else bar).init()
    return bar


def after_init(function, **named):
    """The lines that a use of a barrier emits in the body; what the prologue computes for it is left out."""
    lines = traced(lambda tid: function(initialised(**named)))
    return lines[lines.index("$L_endif_1:") + 1 :]


# ---- text -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "lines"),
    [
        (lambda bar: bar.arrive(), ["mbarrier.arrive.shared.b64 _, [mbar];"]),
        (lambda bar: bar.arrive(3), ["mbarrier.arrive.shared.b64 _, [mbar], 3;"]),
        (lambda bar: bar.arrive(scope="cluster"), ["mbarrier.arrive.release.cluster.shared.b64 _, [mbar];"]),
        (lambda bar: bar.arrive_expect_tx(512), ["mbarrier.arrive.expect_tx.shared.b64 _, [mbar], 512;"]),
        (lambda bar: bar.arrive_expect_tx(px.tid.x), ["mbarrier.arrive.expect_tx.shared.b64 _, [mbar], %r0;"]),
        (lambda bar: bar.arrive_drop(), ["mbarrier.arrive_drop.shared.b64 _, [mbar];"]),
        (lambda bar: bar.arrive_drop(2), ["mbarrier.arrive_drop.shared.b64 _, [mbar], 2;"]),
        (lambda bar: bar.expect_tx(64), ["mbarrier.expect_tx.shared.b64 [mbar], 64;"]),
        (lambda bar: bar.complete_tx(3), ["mbarrier.complete_tx.shared.b64 [mbar], 3;"]),
        (lambda bar: bar.test_wait(0), ["mbarrier.test_wait.parity.shared.b64 %p1, [mbar], 0;"]),
        (lambda bar: bar.try_wait(1, hint=500), ["mbarrier.try_wait.parity.shared.b64 %p1, [mbar], 1, 500;"]),
        (lambda bar: bar.try_wait(1, scope="cluster"), ["mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p1, [mbar], 1;"]),
        (lambda bar: bar.wait(0),
         ["$L_wait_1:", "mbarrier.try_wait.parity.shared.b64 %p1, [mbar], 0;", "@!%p1 bra $L_wait_1;"]),
        (lambda bar: bar.wait(px.tid.x & 1, hint=9, scope="cta"),
         ["and.b32 %r1, %r0, 1;", "$L_wait_1:", "mbarrier.try_wait.parity.acquire.cta.shared.b64 %p1, [mbar], %r1, 9;",
          "@!%p1 bra $L_wait_1;"]),
        (lambda bar: px.ptx["cp.async.mbarrier.arrive.noinc.shared.b64"](bar), ["cp.async.mbarrier.arrive.noinc.shared.b64 [mbar];"]),
        (lambda bar: px.ptx["mbarrier.arrive.shared.b64"](bar), ["mbarrier.arrive.shared.b64 %rd0, [mbar];"]),
    ],
)  # fmt: skip
def test_calls_on_a_barrier_are_one_instruction(call, lines):
    assert after_init(call) == lines


def test_barriers_of_a_ring_lie_side_by_side_and_are_chosen_at_run_time():
    def function(bar):
        bar[2].arrive()
        bar[-1].arrive()
        bar[px.tid.x % 3].wait(0)

    assert after_init(function, stages=3) == [
        "mbarrier.arrive.shared.b64 _, [mbar+16];",
        "mbarrier.arrive.shared.b64 _, [mbar+16];",
        "rem.u32 %r1, %r0, 3;",
        "mul.lo.u32 %r3, %r1, 8;",
        "add.u32 %r4, %r2, %r3;",
        "$L_wait_1:",  # the address is computed once, before the loop
        "mbarrier.try_wait.parity.shared.b64 %p1, [%r4], 0;",
        "@!%p1 bra $L_wait_1;",
    ]


def test_init_counts_and_what_is_declared():
    builder = Builder("k", (32, 1, 1))
    with builder:
        bar = px.mbarrier(5, stages=2)
        other = px.mbarrier(px.tid.x + 1)
        with px.if_(px.tid.x == 0):
            bar[0].init()
            bar[1].init(7)
            other.init()
    assert [(one.name, one.dims, one.align) for one in builder.shared] == [("mbar", (16,), 8), ("mbar_2", (8,), 8)]
    inits = [[operand.value for operand in one.operands[1:] if hasattr(operand, "value")] for one in builder.body
             if getattr(one, "opcode", "") == "mbarrier.init.shared.b64"]  # fmt: skip
    assert inits == [[5], [7], []]


@pytest.mark.parametrize(
    ("call", "lines"),
    [
        (lambda: px.fence("acq_rel", "gpu"), ["fence.acq_rel.gpu;"]),
        (px.fence_mbarrier_init, ["fence.mbarrier_init.release.cluster;"]),
        (px.fence_proxy_async, ["fence.proxy.async;"]),
        (lambda: px.fence_proxy_async("shared::cta"), ["fence.proxy.async.shared::cta;"]),
        (px.cp_async_commit, ["cp.async.commit_group;"]),
        (lambda: px.cp_async_wait(2), ["cp.async.wait_group 2;"]),
        (px.bulk_commit, ["cp.async.bulk.commit_group;"]),
        (lambda: px.bulk_wait(0), ["cp.async.bulk.wait_group 0;"]),
        (lambda: px.bulk_wait(1, read=True), ["cp.async.bulk.wait_group.read 1;"]),
        (px.griddepcontrol.wait, ["griddepcontrol.wait;"]),
        (px.griddepcontrol.launch_dependents, ["griddepcontrol.launch_dependents;"]),
        (px.cluster_sync, ["barrier.cluster.arrive.aligned;", "barrier.cluster.wait.aligned;"]),
        (lambda: px.cluster_arrive("relaxed"), ["barrier.cluster.arrive.relaxed.aligned;"]),
        (lambda: px.named_barrier(1, 64).sync(), ["bar.sync 1, 64;"]),
        (lambda: px.named_barrier(px.tid.x & 1, 128).arrive(), ["and.b32 %r1, %r0, 1;", "bar.arrive %r1, 128;"]),
        (lambda: px.setmaxnreg(40, "dec"), ["setmaxnreg.dec.sync.aligned.u32 40;"]),
        (px.wgmma_fence, ["wgmma.fence.sync.aligned;"]),
        (px.wgmma_commit, ["wgmma.commit_group.sync.aligned;"]),
        (lambda: px.wgmma_wait(1), ["wgmma.wait_group.sync.aligned 1;"]),
        (px.elect, ["elect.sync _|%p0, 0xffffffff;"]),
        (lambda: px.allow("membermask")(px.elect)(0xFF), ["elect.sync _|%p0, 0xff;"]),
        (lambda: px.warp_uniform(px.tid.x), ["shfl.sync.idx.b32 %r1, %r0, 0, 31, 0xffffffff;"]),
    ],
)  # fmt: skip
def test_functions_are_one_instruction(call, lines):
    assert traced(lambda tid: call())[1:] == lines


def test_a_pipeline_state_advances_in_four_instructions():
    def function(tid):
        at = px.pipeline_state(3, phase=1)
        at.advance()
        only = px.pipeline_state(1)
        assert only.stage == 0
        only.advance()

    assert traced(function)[1:] == [
        "mov.b32 %r1, 0;",
        "mov.b32 %r2, 1;",
        "setp.eq.u32 %p0, %r1, 2;",
        "add.u32 %r1, %r1, 1;",
        "@%p0 mov.b32 %r1, 0;",
        "@%p0 xor.b32 %r2, %r2, 1;",
        "mov.b32 %r3, 0;",
        "xor.b32 %r3, %r3, 1;",
    ]


def test_another_block_s_shared_memory():
    builder = Builder("k", (32, 1, 1), cluster=(2, 1, 1))
    with builder:
        tile, bar = px.shared((4, 8), f32), initialised(stages=2)
        there = px.mapa(tile, 1)
        assert there.space == "shared::cluster" and there.shape == (4, 8)
        px.ptx["st.shared::cluster.f32"](there[3, 1], 1.0)
        bar[1].arrive(cta=1)
        bar[1].arrive_expect_tx(16, cta=px.sreg.cluster_ctarank, scope="cluster")
    emitted = [(one.opcode, [operand.offset for operand in one.operands if hasattr(operand, "offset")])
               for one in builder.body if getattr(one, "opcode", "").startswith(("mapa", "st.", "mbarrier.arrive"))]  # fmt: skip
    assert emitted == [
        ("mapa.shared::cluster.u32", []),
        ("st.shared::cluster.f32", [4 * 25]),
        ("mapa.shared::cluster.u32", []),
        ("mbarrier.arrive.shared::cluster.b64", [8]),
        ("mapa.shared::cluster.u32", []),
        ("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64", [8]),
    ]


def test_all_of_it_is_assembled():
    @px.kernel(grid=2, block=256, cluster=2, target="sm_90a")
    def everything(x: px.Tensor((64,), u32)):
        full, empty, tile = initialised(1, stages=3), initialised(2, stages=3), px.shared(64, u32)
        px.fence_mbarrier_init()
        px.cluster_sync()
        with px.if_(px.warp_uniform(px.tid.x // 32) == 0):
            at = px.pipeline_state(3, phase=1)
            for _ in px.range(x.shape[0]):
                empty[at.stage].wait(at.phase, hint=100, scope="cluster")
                with px.if_(px.elect()):
                    full[at.stage].arrive_expect_tx(64)
                    full[at.stage].expect_tx(32)
                    full[at.stage].complete_tx(32)
                    empty[at.stage].arrive(cta=px.sreg.cluster_ctarank ^ 1, scope="cluster")
                at.advance()
        with px.if_(px.tid.x >= 128):
            px.setmaxnreg(40, "dec")
            px.wgmma_fence(), px.wgmma_commit(), px.wgmma_wait(0)
            px.named_barrier(1, 128).sync()
            full[0].test_wait(0), full[0].arrive(), full[1].arrive_drop()
        px.ptx["st.shared::cluster.u32"](px.mapa(tile, 1)[px.tid.x % 64], 1)
        px.fence("sc", "cluster"), px.fence_proxy_async(), px.fence_proxy_async("shared::cluster")
        px.cp_async_commit(), px.cp_async_wait(0), px.bulk_commit(), px.bulk_wait(0, read=True)
        px.griddepcontrol.wait(), px.griddepcontrol.launch_dependents()
        px.cluster_arrive("relaxed"), px.cluster_wait()
        with px.if_(px.tid.x == 0):
            full[0].inval()

    assert everything.name in assemble(everything.specialize().ptx()).resources


@pytest.mark.parametrize(
    ("function", "version", "target"),
    [
        (lambda: initialised().arrive(), (7, 1), "sm_80"),
        (lambda: initialised().test_wait(0), (7, 1), "sm_80"),
        (lambda: initialised().wait(0), (7, 8), "sm_90"),
        (lambda: initialised().arrive_expect_tx(16), (8, 0), "sm_90"),
        (lambda: px.cp_async_wait(0), (7, 0), "sm_80"),
        (px.elect, (8, 0), "sm_90"),
        (px.wgmma_fence, (8, 0), "sm_90a"),
    ],
)
def test_the_lowest_version_and_target(function, version, target):
    builder = Builder("k", (128, 1, 1))
    with builder:
        function()
    assert builder.lowest() == (version, target)


# ---- what is known ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "guard", "single"),
    [
        (1, None, True),
        (32, None, False),
        (64, lambda: px.tid.x == 40, True),
        (64, lambda: px.tid.x < 32, False),
        (32, px.elect, True),
        (64, px.elect, False),
        (64, lambda: (px.tid.x < 32) & px.elect(), True),
        (64, lambda: px.elect() & (px.warp_uniform(px.tid.x // 32) == 1), True),
        (64, lambda: px.elect() | (px.tid.x < 32), False),
        (32, lambda: ~px.elect(), False),
    ],
)
def test_which_thread_is_alone(block, guard, single):
    with Builder("k", (block, 1, 1)) as builder:
        if guard is None:
            assert builder.single_thread() is single
            return
        with px.if_(guard()):
            assert builder.single_thread() is single
        assert not builder.single_thread()


def test_an_election_inside_of_a_warp_s_branch():
    with Builder("k", (96, 1, 1)) as builder:
        warp = px.warp_uniform(px.tid.x // 32)
        with px.if_(warp == 2):
            with px.if_(px.elect()):
                assert builder.single_thread() and builder.active_threads().tolist() == list(range(64, 96))
            with px.else_():
                assert not builder.single_thread()


def test_a_stage_is_known_to_be_in_range_wherever_it_stands():
    with Builder("k", (32, 1, 1)):
        ring, at = px.shared(8, f32, stages=5), px.pipeline_state(5)
        for _ in px.range(px.tid.x):
            ring[at.stage]
            with px.if_(px.tid.x < 3):
                at.advance()
                ring[at.stage]
            ring[at.stage]
        ring[at.stage]
        assert at.stage.expr.range() == (0, 4) and at.phase.expr.range() == (0, 1)


# ---- in the emulator --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("phase", [0, 1])
def test_a_pipeline_state_counts_as_python_does(stages, phase):
    @px.kernel(grid=1, block=1)
    def count(out: px.Tensor((10, 2), u32, align=8)):
        at = px.pipeline_state(stages, phase=phase)
        for i in px.range(10):
            px.ptx.st.global_.v2.u32(out[i], (at.stage, at.phase))
            at.advance()

    found = np.zeros((10, 2), np.uint32)
    count(found)
    assert found.tolist() == [[i % stages, (i // stages + phase) % 2] for i in range(10)]


@pytest.mark.parametrize("seed", range(3))
def test_a_ring_between_two_warps(seed):
    rows = px.dim("rows")

    @px.kernel(grid=1, block=64)
    def reverse(x: px.Tensor((rows, 32), u32), y: px.Tensor((rows, 32), u32)):
        ring, lane = px.shared(32, u32, stages=3), px.tid.x % 32
        full, empty = initialised(32, stages=3), initialised(32, stages=3)
        px.syncthreads()
        with px.if_(px.tid.x < 32):
            at = px.pipeline_state(3, phase=1)
            for i in px.range(rows):
                empty[at.stage].wait(at.phase)
                px.ptx.st.shared.u32(ring[at.stage, lane], px.ptx.ld.global_.u32(x[i, lane]))
                full[at.stage].arrive()
                at.advance()
        with px.else_():
            at = px.pipeline_state(3)
            for i in px.range(rows):
                full[at.stage].wait(at.phase)
                px.ptx.st.global_.u32(y[i, lane], px.ptx.ld.shared.u32(ring[at.stage, 31 - lane]))
                empty[at.stage].arrive()
                at.advance()

    x = np.arange(320, dtype=np.uint32).reshape(10, 32)
    y = np.zeros_like(x)
    assert reverse.emulate(x, y, seed=seed).ok
    assert np.array_equal(y, x[:, ::-1])


def test_a_bulk_copy_that_an_elected_thread_issues():
    @px.kernel(grid=1, block=64)
    def copy(x: px.Tensor((64,), u32, align=16), y: px.Tensor((64,), u32)):
        tile, bar = px.shared(64, u32), px.mbarrier(1)
        with px.if_((px.warp_uniform(px.tid.x // 32) == 1) & px.elect()):
            bar.init()
            px.fence_mbarrier_init()
            bar.arrive_expect_tx(256)
            px.ptx["cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"](tile, x, 256, bar)
        px.syncthreads()
        bar.wait(0)
        px.ptx.st.global_.u32(y[px.tid.x], px.ptx.ld.shared.u32(tile[px.tid.x]))

    x, y = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    assert copy.emulate(x, y).ok
    assert np.array_equal(x, y)


def test_blocks_of_a_cluster_write_into_each_other():
    @px.kernel(grid=2, block=64, cluster=2)
    def swap(y: px.Tensor((2, 64), u32)):
        tile, bar = px.shared(64, u32), initialised(64)
        px.fence_mbarrier_init()
        px.cluster_sync()
        rank = px.sreg.cluster_ctarank
        px.ptx["st.shared::cluster.u32"](px.mapa(tile, rank ^ 1)[px.tid.x], rank * 100 + px.tid.x)
        bar.arrive(cta=rank ^ 1, scope="cluster")
        bar.wait(0, scope="cluster")
        px.ptx.st.global_.u32(y[rank, px.tid.x], px.ptx.ld.shared.u32(tile[px.tid.x]))
        px.cluster_sync()

    y = np.zeros((2, 64), np.uint32)
    assert swap.emulate(y).ok
    assert np.array_equal(y, np.arange(64) + np.array([[100], [0]]))


def test_one_thread_of_each_warp_is_elected_and_lane_0_is_broadcast():
    @px.kernel(grid=1, block=96)
    def choose(y: px.Tensor((2, 96), u32)):
        px.ptx.st.global_.u32(y[0, px.tid.x], px.elect().to(u32))
        px.ptx.st.global_.u32(y[1, px.tid.x], px.warp_uniform(px.tid.x * 3))

    y = np.zeros((2, 96), np.uint32)
    assert choose.emulate(y).ok
    assert y[0].reshape(3, 32).sum(axis=1).tolist() == [1, 1, 1]
    assert np.array_equal(y[1], np.arange(96) // 32 * 96)


# ---- refusals ---------------------------------------------------------------------------------------------------------


def one():
    bar = px.mbarrier(1)
    bar.wait(0)


def partly():
    bar = px.mbarrier(1, stages=3)
    with px.if_(px.tid.x == 0):
        bar[0].init()
        bar[1].init()
    bar[1].arrive()
    bar[px.tid.x % 3].arrive()


def only_copied_to():
    bar = px.mbarrier(1)
    px.ptx["cp.async.mbarrier.arrive.shared.b64"](bar)


def part_of_a_warp():
    with px.if_(px.tid.x < 20):
        px.elect()


def unknown_branch():
    with px.if_(px.sreg.clock64 > 5):
        px.cluster_sync()


def part_of_a_warpgroup():
    with px.if_(px.tid.x < 32):
        px.setmaxnreg(40, "dec")


def counted_by_hand():
    at = px.pipeline_state(3)
    at.stage += 1


UNUSED = "mbarrier.init makes the object; before it, the memory holds anything (PTX ISA 9.7.15.16.4)"


@pytest.mark.parametrize(
    ("function", "lines"),
    [
        (one, ["bar is used, and nothing before initialises it", f"rule: {UNUSED}",
               "legal: bar.init() in one thread and px.syncthreads(), before its first use"]),
        (only_copied_to,
         ["bar is used, and nothing before initialises it", f"rule: {UNUSED}",
          "legal: bar.init() in one thread and px.syncthreads(), before its first use"]),
        (partly, ["bar[2] is used, and nothing before initialises it", f"rule: {UNUSED}",
                  "legal: bar[2].init() in one thread and px.syncthreads(), before its first use"]),
        (lambda: px.mbarrier(1).init(),
         ["mbarrier.init: 128 threads run this", "rule: one thread initialises an mbarrier (PTX ISA 9.7.15.16.4)",
          "legal: with px.if_(px.tid.x == 0): ..."]),
        (lambda: px.mbarrier(0),
         ["mbarrier.init, operand count: 0 is no number of arrivals",
          "rule: a phase of an mbarrier expects 1 to 2^20 - 1 arrivals (PTX ISA 9.7.15.16.3)",
          "legal: the number of threads (or warps) that arrive in each phase"]),
        (lambda: px.mbarrier(1 << 20),
         ["mbarrier.init, operand count: 1048576 is no number of arrivals",
          "rule: a phase of an mbarrier expects 1 to 2^20 - 1 arrivals (PTX ISA 9.7.15.16.3)",
          "legal: the number of threads (or warps) that arrive in each phase"]),
        (lambda: px.mbarrier(1, stages=2).init(), ["mbar, 2 mbarriers stand where one is needed", "legal: mbar[i]"]),
        (lambda: px.mbarrier(1)[0], ["mbar is one mbarrier and is indexed", "legal: px.mbarrier(count, stages=...)"]),
        (lambda: initialised(stages=2)[2],
         ["index 2 of axis 0 of bar[2] b64 in .shared is not below 2", "legal: indices 0 to 1"]),
        (lambda: list(px.mbarrier(1, stages=2)), ["mbar, 2 mbarriers can't be iterated over", "legal: for i in range(2): mbar[i]"]),
        (lambda: bool(px.mbarrier(1)),
         ["mbar is used with a truth value", "why: a barrier has no value that an instruction could read",
          "legal: bar.test_wait(parity), which gives a predicate"]),
        (lambda: initialised().wait(2),
         ["mbarrier.try_wait, operand phase_parity: 2 is no parity of a phase",
          "rule: a phase is named by its number modulo 2 (PTX ISA 9.7.15.16.19)",
          "legal: 0, 1, or the phase of a px.pipeline_state"]),
        (lambda: initialised().arrive_expect_tx(1 << 20),
         ["mbarrier.expect_tx, operand tx_count: 1048576 bytes are more than an mbarrier counts",
          "rule: an mbarrier counts at most 2^20 - 1 bytes under way (PTX ISA 9.7.15.16.3)",
          "legal: 0 to 1048575; more phases, each with a part of the copies"]),
        (lambda: initialised().expect_tx(102),
         ["mbarrier.expect_tx, operand tx_count: no copies signal 102 bytes",
          "rule: what signals an mbarrier moves whole words: bulk and tensor copies multiples of 16 bytes, st.async of 4 "
          "(PTX ISA 9.7.15.16.6)",
          "legal: the bytes of all copies of the phase, what a tensor copy fills in included"]),
        (lambda: initialised().arrive(cta=1),
         ["px.mapa asks for the shared memory of block 1 of a cluster, and this kernel declares none",
          "why: without the launch attribute cluster= (directive .reqnctapercluster) every block is a cluster of its own",
          "legal: @px.kernel(cluster=2, ...)"]),
        (lambda: px.ptx["ld.shared.f32"](px.mapa(px.shared(1, f32), 0)),
         ["ld.shared.f32, operand a: smem[1] f32 in .shared::cluster lies in .shared::cluster, not in .shared",
          "rule: the address lies in the state space that the opcode names (PTX ISA 9.7.10.8)",
          "legal: an address [base+offset] in .shared"]),
        (lambda: px.mapa(px.local(4, f32), 0),
         ["px.mapa of px.local[4] f32 in .reg", "why: only shared memory has a copy in every block", "legal: a px.shared tile"]),
        (part_of_a_warp,
         ["a warp issues this instruction together, and the guards leave only a part of one active",
          "why: thread 20 of the warp does not come here",
          "legal: guards that cut between warps: thread indices that are multiples of 32"]),
        (part_of_a_warpgroup,
         ["a warpgroup issues this instruction together, and the guards leave only a part of one active",
          "why: thread 32 of the warpgroup does not come here",
          "legal: guards that cut between warpgroups: thread indices that are multiples of 128"]),
        (lambda: px.named_barrier(1, 256),
         ["a barrier of 256 threads in a block of 128", "why: it would never be complete", "legal: at most 128"]),
        (lambda: px.named_barrier(1, 48).sync(),
         ["bar.sync, operand b: the constant 48 is out of range",
          "rule: the instruction has this operand for some numbers only (PTX ISA 9.7.15.1)",
          "legal: a register of .u32, .s32 or .b32, or a constant (0, 32, 64, ... 1048544)"]),
        (lambda: px.setmaxnreg(41, "dec"),
         ["setmaxnreg.dec.sync.aligned.u32, operand imm_reg_count: the constant 41 is out of range",
          "rule: the instruction has this operand for some numbers only (PTX ISA 9.7.21.5)",
          "legal: a .u32 constant (24, 32, 40, ... 256)"]),
        (lambda: px.fence("acqrel", "gpu"),
         ["fence.acqrel.gpu: '.acqrel' cannot stand after 'fence'; did you mean .acq_rel or .acquire?",
          "rule: an opcode is spelled as its syntax line says, qualifier by qualifier (PTX ISA 9.7.15.4)",
          "legal: after 'fence': .acquire; .sem: .sc .acq_rel .acquire .release"]),
        (lambda: px.fence_proxy_async("shared"),
         ["px.fence_proxy_async('shared')", "legal: no space, which is all, or 'global', 'shared::cta', 'shared::cluster'"]),
        (lambda: px.cp_async_wait(px.tid.x),
         ["cp.async.wait_group, operand n: tid.x is a register where the instruction encodes a constant",
          "rule: this operand is part of the instruction's encoding (PTX ISA 9.7.10.28.3.3)",
          "legal: a .u32 constant (0 to 2147483647)"]),
        (counted_by_hand, ["the stage and the phase of a px.pipeline_state are written", "legal: state.advance()"]),
        (lambda: px.pipeline_state(3, phase=2), ["2 is no parity", "legal: 0 or 1"]),
        (lambda: px.warp_uniform(px.u64(1)),
         ["px.warp_uniform takes a traced value of 32 bits, not a .u64", "legal: px.warp_uniform(px.tid.x // 32)"]),
    ],
)  # fmt: skip
def test_refusals(function, lines):
    @px.kernel(grid=1, block=128)
    def kernel():
        function()

    with pytest.raises(PtxgenError) as caught:
        kernel.specialize().ptx()
    head, source, *rest = str(caught.value).splitlines()
    assert head.startswith("test_handles.py:") and source.startswith("  line: ")
    assert [head.partition(": ")[2], *(line.strip() for line in rest)] == lines


def test_a_branch_that_may_part_a_warp_is_named():
    with Builder("k", (128, 1, 1)), pytest.raises(PtxgenError) as caught:
        unknown_branch()
    assert caught.value.problem.startswith("a warp issues this instruction together, and the branch at test_handles.py:")


def test_a_wait_on_a_target_without_it():
    @px.kernel(grid=1, block=32, target="sm_80")
    def kernel():
        initialised().wait(0)

    with pytest.raises(PtxgenError) as caught:
        kernel.specialize().ptx()
    assert caught.value.problem == "does not exist on sm_80, the target of this kernel"
    assert caught.value.legal == "targets sm_90 and newer, from PTX 7.8"


@pytest.mark.parametrize("block", [1, 16, 48])
def test_the_barrier_of_a_cluster_takes_blocks_that_are_no_whole_warps(block):
    @px.kernel(grid=4, block=block, cluster=2)
    def meeting(out: px.Tensor((4,), u32)):
        mine = px.shared(1, u32)
        with px.if_(px.tid.x == 0):
            px.ptx["st.shared.u32"](mine[0], px.ctaid.x + 5)
        px.cluster_sync()
        with px.if_(px.tid.x == 0):
            other = px.mapa(mine, px.sreg.cluster_ctarank ^ 1)
            px.ptx["st.global.u32"](out[px.ctaid.x], px.ptx["ld.shared::cluster.u32"](other[0]))
        px.cluster_sync()

    out = np.zeros(4, np.uint32)
    meeting(out)
    assert out.tolist() == [6, 5, 8, 7]
    assemble(meeting.ptx())


def test_the_emulator_leaves_checks_out_where_it_is_told_so():
    @px.kernel(grid=1, block=64)
    def racing(out: px.Tensor((64,), u32)):
        tile = px.shared(64, u32)
        px.ptx["st.shared.u32"](tile[px.tid.x], px.tid.x)
        px.ptx["st.global.u32"](out[px.tid.x], px.ptx["ld.shared.u32"](tile[px.tid.x ^ 32]))

    out = np.zeros(64, np.uint32)
    assert [report.kind for report in racing.emulate(out).reports] == ["race"]
    assert racing.emulate(out, checks="values").ok


@pytest.mark.parametrize(("target", "header"), [(None, (".version 8.1", ".target sm_89")), ("sm_90", (".version 7.8", ".target sm_90"))])
def test_a_version_that_depends_on_the_target(target, header):
    """PTX 7.8 brought 8-bit floats for sm_90, 8.1 for sm_89 (ISA "cvt")."""

    @px.kernel(grid=1, block=32, target=target)
    def narrowed(x: px.Tensor((32,), px.f32), y: px.Tensor((32,), px.b16)):
        value = px.ptx.ld.global_.f32(x[px.tid.x])
        px.ptx.st.global_.b16(y[px.tid.x], px.ptx["cvt.rn.satfinite.e4m3x2.f32"](value, value))

    text = narrowed.ptx(comments=False)
    assert tuple(text.splitlines()[:2]) == header, text
    assert assemble(text, target or "sm_89").resources
