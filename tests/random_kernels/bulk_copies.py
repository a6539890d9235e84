"""cp.async.bulk through a ring of mbarriers: into the shared memory of a block, of all blocks of its cluster, and back to global memory."""

from __future__ import annotations

import numpy as np

import ptxgen as px
from ptxgen.testing.families.case import Case, bits

FIELDS = {
    "dtype": ["b32", "b8", "b16", "b64"],
    "pieces": range(1, 40),
    "sizes": ["constant", "runtime"],
    "stages": range(1, 5),
    "steps": range(1, 7),
    "blocks": [1, 2, 4],
    "multicast": [False, True],
    "store": ["threads", "bulk"],
}


def build(dtype: str, pieces: int, sizes: str, stages: int, steps: int, blocks: int, multicast: bool, store: str) -> Case:
    """One thread copies rows of 16-byte pieces into a ring of stages; a warp, or one thread of it by a bulk copy, copies them out.

    Multicast: block 0 copies for all blocks of the cluster, once each of them has freed the stage.
    """
    element = getattr(px, dtype)
    size = element.bits // 8
    length = pieces * 16 // size
    multicast = multicast and blocks > 1
    word = f"st.global.{dtype}", f"ld.shared.{dtype}"

    @px.kernel(grid=blocks, block=64, cluster=blocks if multicast else None, target="sm_90")
    def kernel(
        A: px.Tensor((blocks, steps, length), element, align=16), counts: px.Tensor((blocks, steps), px.u32),
        B: px.Tensor((blocks, steps, length), element, align=16),
    ):  # fmt: skip
        ring = px.shared(length, element, stages=stages, align=128)
        full, empty = (px.mbarrier(1, stages=stages) for _ in range(2))
        everywhere = px.mbarrier(blocks, stages=stages) if multicast else None
        warp, lane = px.warp_uniform(px.tid.x // 32), px.tid.x % 32
        block = px.ctaid.x
        with px.if_(px.tid.x == 0):
            for stage in range(stages):
                full[stage].init()
                empty[stage].init()
                if multicast:
                    everywhere[stage].init()
            px.fence_mbarrier_init()
        if multicast:
            px.cluster_sync()
        else:
            px.syncthreads()

        def count(step):
            return length * size if sizes == "constant" else px.ptx["ld.global.u32"](counts[0 if multicast else block, step])

        with px.if_((warp == 0) & px.elect()):
            at = px.pipeline_state(stages, phase=1)
            for step in px.range(steps):
                empty[at.stage].wait(at.phase)
                number = count(step)
                full[at.stage].arrive_expect_tx(number)
                copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                if multicast:
                    with px.if_(block == 0):
                        everywhere[at.stage].wait(at.phase, scope="cluster")
                        px.ptx[copy + ".multicast::cluster"](ring[at.stage], A[0, step], number, full[at.stage], (1 << blocks) - 1)
                else:
                    px.ptx[copy](ring[at.stage], A[block, step], number, full[at.stage])
                at.advance()
        with px.if_(warp == 1):
            at = px.pipeline_state(stages)
            for step in px.range(steps):
                full[at.stage].wait(at.phase)
                number = count(step)
                if store == "bulk":
                    with px.if_(px.elect()):
                        px.ptx["cp.async.bulk.global.shared::cta.bulk_group"](B[block, step], ring[at.stage], number)
                        px.bulk_commit()
                        px.bulk_wait(0)
                else:
                    for place in px.range(lane, length, 32):
                        with px.if_((place < length) & (place * size < number)):
                            px.ptx[word[0]](B[block, step, place], px.ptx[word[1]](ring[at.stage][place]))
                    px.fence_proxy_async("shared::cta")
                    px.ptx["bar.warp.sync"](0xFFFFFFFF)
                with px.if_(px.elect()):
                    if multicast:
                        everywhere[at.stage].arrive(cta=0, scope="cluster")
                    empty[at.stage].arrive()
                at.advance()
        if multicast:
            px.cluster_sync()

    a = bits(1, (blocks, steps, length), element.bits)
    given = 16 * np.random.default_rng(2).integers(1, pieces + 1, (blocks, steps)).astype(np.uint32)
    wanted = np.zeros_like(a)
    for block in range(blocks):
        for step in range(steps):
            of = 0 if multicast else block
            valid = length if sizes == "constant" else int(given[of, step]) // size
            wanted[block, step, :valid] = a[of, step, :valid]
    return Case(kernel, (a, given, np.zeros_like(a)), {2: wanted})
