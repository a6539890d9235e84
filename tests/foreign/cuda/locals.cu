// Local memory: arrays that are indexed at run time, structures passed by value and returned, memory of a size known only then.
struct Matrix {
    float m[3][3];
};

__device__ __noinline__ Matrix product(Matrix a, Matrix b) {
    Matrix c;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            float sum = 0;
            for (int k = 0; k < 3; k++)
                sum = __fadd_rn(sum, __fmul_rn(a.m[i][k], b.m[k][j]));
            c.m[i][j] = sum;
        }
    return c;
}

extern "C" __global__ void powers(const Matrix *x, Matrix *y, int exponent) {
    Matrix base = x[threadIdx.x], result = base;
    for (int i = 1; i < exponent; i++)
        result = product(result, base);
    y[threadIdx.x] = result;
}

extern "C" __global__ void permute(const unsigned char *order, unsigned char *y, int n) {
    unsigned char seen[32];
    int i = threadIdx.x;
    for (int k = 0; k < n; k++)
        seen[order[i * n + k]] = k;
    for (int k = 0; k < n; k++)
        y[i * n + k] = seen[k];
}

extern "C" __global__ void reversed(const int *x, int *y, int n) {
    int *copy = static_cast<int *>(__builtin_alloca(n * sizeof(int)));
    for (int k = 0; k < n; k++)
        copy[k] = x[threadIdx.x * n + k];
    for (int k = 0; k < n; k++)
        y[threadIdx.x * n + k] = copy[n - 1 - k];
}
