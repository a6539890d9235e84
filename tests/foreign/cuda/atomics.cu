// Atomics: every operation, scopes, orders of cuda::atomic_ref, and a lock.
#include <cuda/atomic>

extern "C" __global__ void integers(const int *x, int *cells, unsigned long long *wide) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&cells[0], x[i]);
    atomicMin(&cells[1], x[i]);
    atomicMax(&cells[2], x[i]);
    atomicAnd(&cells[3], x[i] | 1);
    atomicOr(&cells[4], x[i]);
    atomicXor(&cells[5], x[i]);
    atomicInc((unsigned *)&cells[6], 16);
    atomicDec((unsigned *)&cells[7], 9);
    atomicSub(&cells[8], 3);
    atomicAdd(&wide[0], (unsigned long long)x[i]);
    atomicMax(&wide[1], (unsigned long long)(unsigned)x[i]);
    atomicXor(&wide[2], 1ull << (i & 63));
}

extern "C" __global__ void scoped(int *cells, float *sum, double *wide) {
    __shared__ int count;
    if (threadIdx.x == 0)
        count = 0;
    __syncthreads();
    int mine = atomicAdd_block(&count, 1);
    atomicAdd_system(&cells[0], mine);
    cells[1 + blockIdx.x * blockDim.x + mine] = mine;
    atomicAdd(sum, 1.0f);
    atomicAdd(wide, 0.5);
    __syncthreads();
    if (threadIdx.x == 0)
        atomicExch(&cells[1 + gridDim.x * blockDim.x + blockIdx.x], count);
}

extern "C" __global__ void exchanged(int *cell, int *seen) {
    int i = threadIdx.x, old = *(volatile int *)cell, assumed;
    do {
        assumed = old;
        old = atomicCAS(cell, assumed, assumed + 2 * i);
    } while (assumed != old);
    seen[i] = old & 1;
}

extern "C" __global__ void ordered(int *cells, const int *x) {
    cuda::atomic_ref<int, cuda::thread_scope_device> total(cells[0]);
    cuda::atomic_ref<int, cuda::thread_scope_block> flags(cells[1]);
    total.fetch_add(x[threadIdx.x], cuda::memory_order_relaxed);
    flags.fetch_or(1 << (threadIdx.x & 31), cuda::memory_order_acq_rel);
    __syncthreads();
    if (threadIdx.x == 0)
        cells[2] = total.load(cuda::memory_order_acquire) + flags.exchange(5, cuda::memory_order_release);
}

extern "C" __global__ void locked(int *lock, int *total) {
    if (threadIdx.x)
        return;
    while (atomicCAS(lock, 0, 1))
        __nanosleep(20);
    __threadfence();
    *(volatile int *)total += blockIdx.x;
    __threadfence();
    atomicExch(lock, 0);
}
