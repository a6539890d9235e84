// Special registers, clocks, fences, and instructions that compute nothing.
extern "C" __global__ void places(unsigned *y) {
    unsigned i = blockIdx.x * blockDim.x * blockDim.y + threadIdx.y * blockDim.x + threadIdx.x, lane, mask, size;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(size));
    y[6 * i] = threadIdx.x + 100 * threadIdx.y + 10000 * blockIdx.x;
    y[6 * i + 1] = blockDim.x + 100 * blockDim.y + 10000 * gridDim.x;
    y[6 * i + 2] = lane;
    y[6 * i + 3] = mask;
    y[6 * i + 4] = size;
    y[6 * i + 5] = __isGlobal(y) + 2 * __isShared(y) + 4 * __isLocal(&i) + 8 * __isConstant(&y);
}

extern "C" __global__ void wait(long long *y) {
    long long start = clock64();
    __nanosleep(100);
    __threadfence_block();
    __threadfence();
    __threadfence_system();
    y[0] = clock64() - start;
    y[1] = clock();
    asm volatile("pmevent 1;");
    unsigned long long time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    y[2] = time;
}
