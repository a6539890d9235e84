"""Kernels for other libraries, measured beside ours. Each needs its library: `pip install pyptx`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["pyptx_hopper_gemm", "pyptx_vector_add"]


def pyptx_vector_add() -> str:
    """A vector add in pyptx, one element a thread; traced and emitted anew at every call."""
    from pyptx import Tile, kernel, ptx, reg
    from pyptx.types import f32, u32

    blocks, threads = 64, 128
    vector = Tile(blocks * threads, f32)

    @kernel(in_specs=(vector, vector), out_specs=(vector,), grid=(blocks, 1, 1), block=(threads, 1, 1), arch="sm_80")
    def vector_add(a, b, c):
        a, b, c = ptx.global_ptrs(a, b, c)
        thread, block = reg.scalar(u32), reg.scalar(u32)
        ptx.inst.mov.u32(thread, ptx.special.tid.x())
        ptx.inst.mov.u32(block, ptx.special.ctaid.x())
        offset = (block * threads + thread) * 4
        x, y, z = reg.scalar(f32), reg.scalar(f32), reg.scalar(f32)
        ptx.inst.ld.global_.f32(x, ptx.addr(a + offset))
        ptx.inst.ld.global_.f32(y, ptx.addr(b + offset))
        ptx.inst.add.f32(z, x, y)
        ptx.inst.st.global_.f32(ptx.addr(c + offset), z)
        ptx.ret()

    return vector_add.ptx()


def pyptx_hopper_gemm(torch: Any, a: Any, b: Any) -> Callable[[], Any]:
    """A call of pyptx's own Hopper GEMM, `a @ b.T` of square matrices whose sides 256 divides."""
    from pyptx.examples.hopper import gemm_highperf_hopper as example

    tiles = a.shape[0] // 256
    schedule = torch.tensor(example.create_hilbert_schedule(tiles, tiles), device="cuda", dtype=torch.int32)
    return lambda: example.gemm_warp_specialized(a, b, schedule)
