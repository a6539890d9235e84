// Warpgroup matrices by inline assembly, for sm_90a alone.
#include <cstdint>
#include <cuda_fp16.h>

__device__ uint64_t describe(const void *p, uint64_t leading, uint64_t stride) {
    uint64_t start = __cvta_generic_to_shared(p);
    return (start >> 4 & 0x3fff) | leading >> 4 << 16 | stride >> 4 << 32;
}

extern "C" __global__ void __launch_bounds__(128) groups(const half *a, const half *b, float *c) {
    __shared__ alignas(128) half sa[64 * 16], sb[8 * 16]; // 8 x 8 matrices, two of them beside each other along k
    int t = threadIdx.x;
    for (int i = t; i < 64 * 16; i += 128)
        sa[i / 128 * 128 + i % 16 / 8 * 64 + i / 16 % 8 * 8 + i % 8] = a[i];
    if (t < 128)
        sb[t % 16 / 8 * 64 + t / 16 * 8 + t % 8] = b[t];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    float d[4] = {0, 0, 0, 0};
    asm volatile("" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])); // written before the fence, wherever the compiler would rather
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;\n}"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(describe(sa, 128, 256)), "l"(describe(sb, 128, 256)), "r"(0));
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < 4; i++)
        c[(t / 32 * 16 + t % 32 / 4 + i / 2 * 8) * 8 + t % 4 * 2 + i % 2] = d[i];
}

extern "C" __global__ void __launch_bounds__(256) registers(int *y) {
    if (threadIdx.x < 128)
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    else
        asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
    y[threadIdx.x] = threadIdx.x;
}
