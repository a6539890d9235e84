// Tensor memory accelerator by inline assembly: tensor maps as parameters, mbarriers, bulk copies and reductions.
#include <cstdint>
struct alignas(64) Map {
    unsigned long long opaque[16];
};

__device__ uint32_t place(const void *p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

__device__ void wait(uint32_t barrier, uint32_t phase) {
    asm volatile("{\n.reg .pred done;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@done bra DONE;\nbra WAIT;\nDONE:\n}" ::"r"(barrier),
                 "r"(phase)
                 : "memory");
}

extern "C" __global__ void bulk(const int *x, int *y) {
    __shared__ alignas(128) int box[256];
    __shared__ alignas(8) uint64_t barrier;
    int i = threadIdx.x;
    if (i == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(place(&barrier)));
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    __syncthreads();
    if (i == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(place(&barrier)));
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];" ::"r"(place(box)),
                     "l"(__cvta_generic_to_global(x)), "r"(place(&barrier))
                     : "memory");
    }
    wait(place(&barrier), 0);
    box[i] += i;
    box[i + 128] -= i;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (i == 0) {
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], 1024;" ::"l"(__cvta_generic_to_global(y)),
                     "r"(place(box))
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
    }
}

extern "C" __global__ void boxes(const __grid_constant__ Map from, const __grid_constant__ Map to, const float *, float *) {
    __shared__ alignas(128) float box[32 * 32];
    __shared__ alignas(8) uint64_t barrier;
    if (threadIdx.x == 0) {
        asm volatile("prefetch.tensormap [%0];" ::"l"(&from));
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(place(&barrier)));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4096;" ::"r"(place(&barrier)));
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(
                         place(box)),
                     "l"(&from), "r"(place(&barrier)), "r"(0), "r"(32 * blockIdx.x), "l"(0x12f0000000000000ull)
                     : "memory");
    }
    __syncthreads();
    wait(place(&barrier), 0);
    box[threadIdx.x] += 1.0f;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&to), "r"(place(box)), "r"(0),
                     "r"(32 * blockIdx.x)
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
    }
}
