// Tensor memory by inline assembly, for sm_100a alone.
#include <cstdint>
#include <cuda_fp16.h>

__device__ uint32_t place(const void *p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

__device__ uint64_t describe(const void *p, uint64_t leading, uint64_t stride) {
    return (uint64_t)(place(p) >> 4 & 0x3fff) | leading >> 4 << 16 | stride >> 4 << 32 | 1ull << 46;
}

extern "C" __global__ void __launch_bounds__(128) multiply(const half *a, const half *b, float *c) {
    __shared__ alignas(128) half sa[128 * 16], sb[16 * 16];
    __shared__ uint32_t where;
    __shared__ alignas(8) uint64_t barrier;
    int t = threadIdx.x;
    for (int i = t; i < 128 * 16; i += 128)
        sa[i / 128 * 128 + i % 16 / 8 * 64 + i / 16 % 8 * 8 + i % 8] = a[i];
    for (int i = t; i < 16 * 16; i += 128)
        sb[i / 128 * 128 + i % 16 / 8 * 64 + i / 16 % 8 * 8 + i % 8] = b[i];
    if (t < 32)
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;\n"
                     "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::"r"(place(&where)));
    if (t == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(place(&barrier)));
    asm volatile("fence.proxy.async.shared::cta;\ntcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    if (t == 0) {
        uint32_t shape = 1 << 4 | 16 / 8 << 17 | 128 / 16 << 24;
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 0, 0;\ntcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n}" ::"r"(where),
                     "l"(describe(sa, 128, 256)), "l"(describe(sb, 128, 256)), "r"(shape));
        asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(place(&barrier)));
    }
    asm volatile("{\n.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra AGAIN;\n}" ::"r"(place(&barrier)));
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    uint32_t r[8];
    for (int half = 0; half < 2; half++) {
        asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];\ntcgen05.wait::ld.sync.aligned;"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
                     : "r"(where + (t / 32 << 21) + half * 8));
        for (int i = 0; i < 8; i++)
            c[t * 16 + half * 8 + i] = __uint_as_float(r[i]);
    }
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    if (t < 32)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" ::"r"(where));
}
