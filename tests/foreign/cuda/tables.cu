// Initialised data: constants, arrays of arrays, structures, strings, pointers into other variables and into themselves.
struct Entry {
    char name[4];
    short key;
    const int *values;
    double weight;
};

__constant__ int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__device__ int grid[2][3] = {{1, 2, 3}, {4, 5}};
__device__ const char text[] = "ptx";
__constant__ const char *words[3] = {"one", "three", text};
__device__ float scale = 1.5f;
__device__ float *scales[2] = {&scale, &scale};
__constant__ Entry entries[2] = {{"ab", -7, &grid[1][0], 0.25}, {"xyz", 9, primes + 5, -2.0}};
__constant__ double pi = 3.141592653589793;
__device__ unsigned char flags[5] = {1, 255, 3};
__device__ long long big[2] = {-1, 0x123456789abcdef};
__managed__ int managed = 42;

extern "C" __global__ void look_up(int *y, double *z) {
    int i = threadIdx.x;
    const Entry &entry = entries[i & 1];
    y[8 * i] = primes[i & 7];
    y[8 * i + 1] = grid[i & 1][i % 3];
    y[8 * i + 2] = words[i % 3][i & 1];
    y[8 * i + 3] = entry.key + entry.name[1];
    y[8 * i + 4] = entry.values[i % 2];
    y[8 * i + 5] = (int)(*scales[i & 1] * 2.0f);
    y[8 * i + 6] = flags[i % 5] + managed;
    y[8 * i + 7] = (int)(big[i & 1] >> 16);
    z[i] = entry.weight * pi;
}

extern "C" __global__ void change(int by) {
    grid[0][threadIdx.x] += by;
    if (threadIdx.x == 0)
        scales[1] = nullptr;
}
