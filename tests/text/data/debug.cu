// Debug data and source lines, functions inlined into each other.
__device__ __forceinline__ float inner(float x) { return x > 1.f ? x * 2.f : x - 1.f; }
__device__ __forceinline__ float outer(float x) { return inner(x) + inner(x + 1.f); }
__device__ __noinline__ float called(float x, int n) { return x * n; }

extern "C" __global__ void lines(float *a, int n) {
    __shared__ float s[32];
    s[threadIdx.x & 31] = outer(a[threadIdx.x]);
    __syncthreads();
    for (int i = 0; i < n; i++) a[i] += called(s[i & 31], i);
}

struct Point {
    int x, y, z;
    __device__ Point(int3 at) : x(at.x), y(at.y), z(at.z) {}
};

extern "C" __global__ void places(Point *out, int3 at) { out[threadIdx.x] = Point(at); }
