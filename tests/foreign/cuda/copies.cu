// Asynchronous copies to shared memory: pipelines of the runtime's headers, waits by group and by mbarrier.
#include <cuda_awbarrier_primitives.h>
#include <cuda_pipeline.h>

extern "C" __global__ void staged(const float4 *x, float4 *y, int steps) {
    __shared__ float4 stage[2][64];
    int i = threadIdx.x;
    __pipeline_memcpy_async(&stage[0][i], &x[i], 16);
    __pipeline_commit();
    for (int step = 0; step < steps; step++) {
        if (step + 1 < steps)
            __pipeline_memcpy_async(&stage[(step + 1) & 1][i], &x[(step + 1) * 64 + i], 16, i < 60 ? 0 : 8);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        float4 value = stage[step & 1][63 - i];
        value.x += step;
        y[step * 64 + i] = value;
        __syncthreads();
    }
}

extern "C" __global__ void counted(const int *x, int *y) {
    __shared__ int box[64];
    __shared__ __mbarrier_t barrier;
    int i = threadIdx.x;
    if (i == 0)
        __mbarrier_init(&barrier, 64);
    __syncthreads();
    box[i] = x[i];
    __mbarrier_token_t token = __mbarrier_arrive(&barrier);
    while (!__mbarrier_test_wait(&barrier, token))
        ;
    y[i] = box[i ^ 63];
}
