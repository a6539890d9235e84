// Double precision: division, square roots and what the compiler's library inlines for them.
extern "C" __global__ void divide(const double *a, const double *b, double *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[4 * i] = a[i] / b[i];
    y[4 * i + 1] = sqrt(fabs(a[i]));
    y[4 * i + 2] = 1.0 / b[i];
    y[4 * i + 3] = fma(a[i], b[i], -a[i] * b[i]);
}

extern "C" __global__ void directed(const double *a, const double *b, double *y) {
    int i = threadIdx.x;
    y[6 * i] = __dadd_rd(a[i], b[i]);
    y[6 * i + 1] = __dadd_ru(a[i], b[i]);
    y[6 * i + 2] = __dmul_rz(a[i], b[i]);
    y[6 * i + 3] = __ddiv_rn(a[i], b[i]);
    y[6 * i + 4] = __dsqrt_ru(fabs(b[i]));
    y[6 * i + 5] = __double2float_rd(a[i]);
}

extern "C" __global__ void transcend(const double *x, double *y) {
    int i = threadIdx.x;
    y[8 * i] = exp(x[i]);
    y[8 * i + 1] = log(fabs(x[i]));
    y[8 * i + 2] = sin(x[i]);
    y[8 * i + 3] = atan2(x[i], 2.0);
    y[8 * i + 4] = pow(fabs(x[i]), 1.5);
    y[8 * i + 5] = cbrt(x[i]);
    y[8 * i + 6] = fmod(x[i], 0.75);
    y[8 * i + 7] = erf(x[i]);
}

extern "C" __global__ void take_apart(const double *x, int *e, double *m, long long *n) {
    int i = threadIdx.x;
    m[i] = frexp(x[i], e + i);
    n[2 * i] = llrint(x[i]);
    n[2 * i + 1] = __double_as_longlong(trunc(x[i]));
}
