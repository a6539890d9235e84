"""What mbarriers, clusters, named barriers and fences refuse. Each program is right but for one thing."""

from __future__ import annotations

import ptxgen as px
from ptxgen import InstructionError, TraceError, f32
from tests.errors.refusal import refused


def test_wait_without_init():
    @px.kernel(grid=1, block=32, target="sm_90")
    def kernel():
        arrived = px.mbarrier(1)
        arrived.wait(0)  # <- here

    refused(InstructionError, kernel, """
<here>: arrived is used, and nothing before initialises it
  line: <source>
  rule: mbarrier.init makes the object; before it, the memory holds anything (PTX ISA 9.7.15.16.4)
  legal: arrived.init() in one thread and px.syncthreads(), before its first use
""")


def test_one_stage_without_init():
    @px.kernel(grid=8, block=32, target="sm_90")
    def kernel():
        full = px.mbarrier(1, stages=3)
        with px.if_(px.tid.x == 0):
            full[0].init()
            full[1].init()
        stage = px.ctaid.x % 3
        full[stage].arrive()  # <- here

    refused(InstructionError, kernel, """
<here>: full[2] is used, and nothing before initialises it
  line: <source>
  rule: mbarrier.init makes the object; before it, the memory holds anything (PTX ISA 9.7.15.16.4)
  legal: full[2].init() in one thread and px.syncthreads(), before its first use
""")


def test_init_by_every_thread():
    @px.kernel(grid=1, block=32, target="sm_90")
    def kernel():
        arrived = px.mbarrier(1)
        arrived.init()  # <- here

    refused(InstructionError, kernel, """
<here>: mbarrier.init: 32 threads run this
  line: <source>
  rule: one thread initialises an mbarrier (PTX ISA 9.7.15.16.4)
  legal: with px.if_(px.tid.x == 0): ...
""")


def test_no_arrivals():
    @px.kernel(grid=1, block=32, target="sm_90")
    def kernel():
        px.mbarrier(0)  # <- here

    refused(InstructionError, kernel, """
<here>: mbarrier.init, operand count: 0 is no number of arrivals
  line: <source>
  rule: a phase of an mbarrier expects 1 to 2^20 - 1 arrivals (PTX ISA 9.7.15.16.3)
  legal: the number of threads (or warps) that arrive in each phase
""")


def test_more_bytes_than_a_phase_counts():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel():
        arrived = px.mbarrier(1)
        arrived.init()
        arrived.arrive_expect_tx(1 << 20)  # <- here

    refused(InstructionError, kernel, """
<here>: mbarrier.expect_tx, operand tx_count: 1048576 bytes are more than an mbarrier counts
  line: <source>
  rule: an mbarrier counts at most 2^20 - 1 bytes under way (PTX ISA 9.7.15.16.3)
  legal: 0 to 1048575; more phases, each with a part of the copies
""")


def test_bytes_that_no_copies_have():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel():
        arrived = px.mbarrier(1)
        arrived.init()
        arrived.arrive_expect_tx(8190)  # <- here

    refused(InstructionError, kernel, """
<here>: mbarrier.expect_tx, operand tx_count: no copies signal 8190 bytes
  line: <source>
  rule: what signals an mbarrier moves whole words: bulk and tensor copies multiples of 16 bytes, st.async of 4 (PTX ISA 9.7.15.16.6)
  legal: the bytes of all copies of the phase, what a tensor copy fills in included
""")


def test_parity_of_the_second_phase_by_its_number():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel():
        arrived = px.mbarrier(1)
        arrived.init()
        arrived.wait(2)  # <- here

    refused(InstructionError, kernel, """
<here>: mbarrier.try_wait, operand phase_parity: 2 is no parity of a phase
  line: <source>
  rule: a phase is named by its number modulo 2 (PTX ISA 9.7.15.16.19)
  legal: 0, 1, or the phase of a px.pipeline_state
""")


def test_ring_where_one_barrier_is_needed():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel():
        full = px.mbarrier(1, stages=2)
        full.init()  # <- here

    refused(TraceError, kernel, """
<here>: full, 2 mbarriers stand where one is needed
  line: <source>
  legal: full[i]
""")


def test_stage_past_the_ring():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel():
        full = px.mbarrier(1, stages=2)
        full[2].init()  # <- here

    refused(TraceError, kernel, """
<here>: index 2 of axis 0 of full[2] b64 in .shared is not below 2
  line: <source>
  legal: indices 0 to 1
""")


def test_stage_that_counts_past_the_ring():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel(steps: px.u32):
        full = px.mbarrier(1, stages=2)
        for stage in range(2):
            full[stage].init()
        for step in px.range(0, steps):
            full[step].wait(0)  # <- here

    refused(TraceError, kernel, """
<here>: index step of axis 0 of full[2] b64 in .shared is not proved to be below 2
  line: <source>
  why: it leaves the tensor for step = 2, steps = 4294967294
  legal: guard it: with px.if_(step < 2): ...; or make the extents divide
""")


def test_barrier_used_as_a_condition():
    @px.kernel(grid=1, block=1, target="sm_90")
    def kernel():
        arrived = px.mbarrier(1)
        arrived.init()
        with px.if_(arrived == 0):  # <- here
            pass

    refused(TraceError, kernel, """
<here>: arrived is used with ==
  line: <source>
  why: a barrier has no value that an instruction could read
  legal: bar.test_wait(parity), which gives a predicate
""")


def test_barrier_of_a_block_that_the_cluster_has_not():
    @px.kernel(grid=2, block=32, cluster=2, target="sm_90")
    def kernel():
        arrived = px.mbarrier(2)
        with px.if_(px.tid.x == 0):
            arrived.init()
        px.cluster_sync()
        arrived.arrive(cta=2)  # <- here

    refused(TraceError, kernel, """
<here>: a cluster of 2 has no block of rank 2
  line: <source>
  legal: 0 to 1, @px.kernel(cluster=...)
""")


def test_barrier_of_another_block_without_a_cluster():
    @px.kernel(grid=2, block=1, target="sm_90")
    def kernel():
        arrived = px.mbarrier(2)
        arrived.init()
        arrived.arrive(cta=1)  # <- here

    refused(TraceError, kernel, """
<here>: px.mapa asks for the shared memory of block 1 of a cluster, and this kernel declares none
  line: <source>
  why: without the launch attribute cluster= (directive .reqnctapercluster) every block is a cluster of its own
  legal: @px.kernel(cluster=2, ...)
""")


def test_try_wait_before_hopper():
    @px.kernel(grid=1, block=1, target="sm_80")
    def kernel():
        arrived = px.mbarrier(1)
        arrived.init()
        arrived.wait(0)  # <- here

    refused(InstructionError, kernel, """
<here>: mbarrier.try_wait.parity.shared.b64: does not exist on sm_80, the target of this kernel
  line: <source>
  rule: what a kernel uses exists on its target (PTX ISA 9.7.15.16.19)
  legal: targets sm_90 and newer, from PTX 7.8
""")


def test_remote_view_of_a_register_tile():
    @px.kernel(grid=2, block=32, cluster=2, target="sm_90")
    def kernel():
        r = px.local(4, f32)
        px.mapa(r, 1)  # <- here

    refused(TraceError, kernel, """
<here>: px.mapa of r[4] f32 in .reg
  line: <source>
  why: only shared memory has a copy in every block
  legal: a px.shared tile
""")


def test_named_barrier_of_48_threads():
    @px.kernel(grid=1, block=64)
    def kernel():
        px.named_barrier(1, 48).sync()  # <- here

    refused(InstructionError, kernel, """
<here>: bar.sync, operand b: the constant 48 is out of range
  line: <source>
  rule: the instruction has this operand for some numbers only (PTX ISA 9.7.15.1)
  legal: a register of .u32, .s32 or .b32, or a constant (0, 32, 64, ... 1048544)
""")


def test_named_barrier_of_more_threads_than_the_block():
    @px.kernel(grid=1, block=64)
    def kernel():
        px.named_barrier(1, 128)  # <- here

    refused(TraceError, kernel, """
<here>: a barrier of 128 threads in a block of 64
  line: <source>
  why: it would never be complete
  legal: at most 64
""")


def test_seventeenth_named_barrier():
    @px.kernel(grid=1, block=64)
    def kernel():
        px.named_barrier(16, 64).sync()  # <- here

    refused(InstructionError, kernel, """
<here>: bar.sync, operand a: the constant 16 is out of range
  line: <source>
  rule: the instruction encodes this operand in few bits (PTX ISA 9.7.15.1)
  legal: a register of .u32, .s32 or .b32, or a constant (0 to 15)
""")


def test_cluster_before_hopper():
    @px.kernel(grid=2, block=32, cluster=2, target="sm_80")
    def kernel():
        px.cluster_sync()  # <- here

    refused(InstructionError, kernel, """
<here>: barrier.cluster.arrive.aligned: does not exist on sm_80, the target of this kernel
  line: <source>
  rule: what a kernel uses exists on its target (PTX ISA 9.7.15.3)
  legal: targets sm_90 and newer, from PTX 7.8
""")


def test_proxy_fence_of_an_unknown_space():
    @px.kernel(grid=1, block=32, target="sm_90")
    def kernel():
        px.fence_proxy_async("local")  # <- here

    refused(TraceError, kernel, """
<here>: px.fence_proxy_async('local')
  line: <source>
  legal: no space, which is all, or 'global', 'shared::cta', 'shared::cluster'
""")


def test_wait_for_a_runtime_number_of_groups():
    @px.kernel(grid=1, block=32, target="sm_90")
    def kernel(n: px.u32):
        px.bulk_wait(n)  # <- here

    refused(InstructionError, kernel, """
<here>: cp.async.bulk.wait_group, operand n: n is a register where the instruction encodes a constant
  line: <source>
  rule: this operand is part of the instruction's encoding (PTX ISA 9.7.10.28.6.2)
  legal: a .u32 constant (0 to 2147483647)
""")


def test_pipeline_state_of_no_stages():
    @px.kernel(grid=1, block=32, target="sm_90")
    def kernel():
        px.pipeline_state(0)  # <- here

    refused(TraceError, kernel, """
<here>: the extent 0 of a tile is no positive int
  line: <source>
  why: registers and shared memory are allotted before the kernel runs
  legal: an int, or a px.constexpr parameter
""")


def test_elected_thread_that_goes_on_as_a_warp():
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel(x: f32):
        with px.if_(px.elect()):  # <- there
            px.ptx["wgmma.commit_group.sync.aligned"]()  # <- here

    refused(TraceError, kernel, """
<here>: wgmma.commit_group.sync.aligned: a warpgroup issues this instruction together, and the branch at <there> may part it
  line: <source>
  why: its condition is neither the same in all threads nor a comparison of the thread's index with constants
  legal: px.uniform(p) where you know that all threads agree (the emulator checks it), or the instruction outside of the branch
""")


def test_cluster_barrier_in_a_part_of_a_warp():
    @px.kernel(grid=2, block=64, cluster=2, target="sm_90")
    def kernel():
        with px.if_(px.tid.x < 16):
            px.cluster_arrive()  # <- here

    refused(TraceError, kernel, """
<here>: barrier.cluster.arrive.aligned: a warp issues this instruction together, and the guards leave only a part of one active
  line: <source>
  why: thread 16 of the warp does not come here
  legal: guards that cut between warps: thread indices that are multiples of 32
""")


def test_cluster_larger_than_any():
    def make():
        @px.kernel(grid=32, block=32, cluster=32, target="sm_90")  # <- here
        def kernel():
            px.cluster_sync()

    refused(TraceError, make, """
<here>: kernel kernel: cluster.x = 32
  line: <source>
  legal: 1 to 16, on any device
""")
