// Calls of the runtime library: printf with every kind of argument, and a failing assertion.
#include <cassert>
#include <cstdio>

struct Pair {
    int first;
    double second;
};

__device__ __noinline__ int report(const char *what, Pair pair) {
    return printf("%s: %d %f\n", what, pair.first, pair.second);
}

extern "C" __global__ void print_all(const float *x, int *counts, long long n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(i < n);
    counts[i] = printf("%d %u %lld %f %c %p\n", i, 7u, n, x[i], 'x', x);
    counts[i] += report("pair", Pair{i, x[i] * 0.5});
    printf("no arguments\n");
}
