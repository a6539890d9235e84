// Shared memory: dynamic and static, bounds of launches, a reduction, a scan, a bitonic sort and a transposition.
extern __shared__ int dynamic[];

extern "C" __global__ void __launch_bounds__(128, 4) reduce(const int *x, int *sums) {
    int i = threadIdx.x;
    dynamic[i] = x[blockIdx.x * blockDim.x + i];
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (i < half)
            dynamic[i] += dynamic[i + half];
        __syncthreads();
    }
    if (i == 0)
        sums[blockIdx.x] = dynamic[0];
}

extern "C" __global__ void __maxnreg__(64) sort(int *x) {
    __shared__ int values[256];
    int i = threadIdx.x;
    values[i] = x[i];
    __syncthreads();
    for (int size = 2; size <= 256; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            int other = i ^ stride;
            if (other > i) {
                int a = values[i], b = values[other];
                if (((i & size) == 0) == (a > b)) {
                    values[i] = b;
                    values[other] = a;
                }
            }
            __syncthreads();
        }
    x[i] = values[i];
}

extern "C" __global__ void transpose(const float *x, float *y) {
    __shared__ float tile[16][17];
    tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 16 + threadIdx.x];
    __syncthreads();
    y[threadIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void vote(const int *x, int *y) {
    int i = threadIdx.x;
    y[3 * i] = __syncthreads_count(x[i] > 4);
    y[3 * i + 1] = __syncthreads_and(x[i] >= 0);
    y[3 * i + 2] = __syncthreads_or(x[i] == 9);
}
