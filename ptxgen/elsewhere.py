"""What newcomers look for under the name that CUDA C++, Triton, Numba or NumPy gives it, and the way here."""

from __future__ import annotations

__all__ = ["ELSEWHERE"]

_APPROXIMATE = 'px.ptx["{}.approx.f32"](x), to within the bound that the ISA states'
_ATOMIC = 'px.ptx["atom.global.add.u32"](x[i], value), or px.ptx["red...."] where the old value is not needed; `ptxgen list atom`'
_LOAD = "px.ptx.ld.global_.f32(x[i]): a load names its instruction"
_STORE = "px.ptx.st.global_.f32(x[i], value): a store names its instruction"

ELSEWHERE: dict[str, str] = {
    "threadIdx": "px.tid.x",
    "blockIdx": "px.ctaid.x",
    "blockDim": "px.ntid.x",
    "gridDim": "px.nctaid.x",
    "grid": "px.ctaid.x * px.ntid.x + px.tid.x",
    "program_id": "px.ctaid.x",
    "lane_id": "px.sreg.laneid",
    "warp_id": "px.tid.x // 32",
    "where": "px.select(p, a, b)",
    "exp": 'px.ptx["ex2.approx.f32"](x * px.f32(1.4426950408889634))',
    "exp2": _APPROXIMATE.format("ex2"),
    "log": 'px.ptx["lg2.approx.f32"](x) * px.f32(0.6931471805599453)',
    "log2": _APPROXIMATE.format("lg2"),
    "sin": _APPROXIMATE.format("sin"),
    "cos": _APPROXIMATE.format("cos"),
    "tanh": _APPROXIMATE.format("tanh"),
    "rsqrt": _APPROXIMATE.format("rsqrt"),
    "load": _LOAD,
    "store": _STORE,
    "zeros": "px.local(shape, dtype) is a tile in registers, px.shared(shape, dtype) one in shared memory; px.tile.ewise fills one",
    **dict.fromkeys(("atomicAdd", "atomic_add", "atomic"), _ATOMIC),
    **dict.fromkeys(("__syncthreads", "barrier", "debug_barrier"), "px.syncthreads()"),
    **dict.fromkeys(("syncwarp", "__syncwarp"), 'px.ptx["bar.warp.sync"](0xFFFFFFFF)'),
    **dict.fromkeys(("shfl", "shfl_sync", "shfl_xor_sync", "shfl_down_sync"), 'px.ptx["shfl.sync.bfly.b32"](x, lanes, 31, 0xFFFFFFFF)'),
    **dict.fromkeys(("shared_memory", "SharedMemory"), "px.shared(shape, dtype)"),
    **dict.fromkeys(("print", "device_print"), 'px.printf("%u\\n", x)'),
    **dict.fromkeys(("device_assert", "static_assert"), 'px.assert_(condition, "message"); Python\'s assert for constants'),
}
