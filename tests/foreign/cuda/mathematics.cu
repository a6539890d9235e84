// Mathematics of floats: precise functions with their slow paths, fast ones, rounding.
extern "C" __global__ void precise(const float *x, float *y) {
    int i = threadIdx.x;
    y[12 * i] = sinf(x[i]);
    y[12 * i + 1] = cosf(x[i]);
    y[12 * i + 2] = tanf(x[i]);
    y[12 * i + 3] = expf(x[i]);
    y[12 * i + 4] = logf(fabsf(x[i]));
    y[12 * i + 5] = powf(fabsf(x[i]), 0.3f);
    y[12 * i + 6] = atan2f(x[i], 2.0f);
    y[12 * i + 7] = tanhf(x[i]);
    y[12 * i + 8] = erff(x[i]);
    y[12 * i + 9] = x[i] / 7.0f;
    y[12 * i + 10] = sqrtf(fabsf(x[i]));
    y[12 * i + 11] = fmodf(x[i], 0.7f);
}

extern "C" __global__ void fast(const float *x, float *y) {
    int i = threadIdx.x;
    y[6 * i] = __sinf(x[i]);
    y[6 * i + 1] = __expf(x[i]);
    y[6 * i + 2] = __logf(fabsf(x[i]));
    y[6 * i + 3] = __fdividef(x[i], 3.0f);
    y[6 * i + 4] = rsqrtf(fabsf(x[i]));
    y[6 * i + 5] = __powf(fabsf(x[i]), 1.3f);
}

extern "C" __global__ void rounded(const float *x, int *y, float *z) {
    int i = threadIdx.x;
    y[4 * i] = __float2int_rn(x[i]);
    y[4 * i + 1] = (int)x[i];
    y[4 * i + 2] = __float2int_ru(x[i]);
    y[4 * i + 3] = (int)roundf(x[i]);
    z[5 * i] = floorf(x[i]);
    z[5 * i + 1] = rintf(x[i]);
    z[5 * i + 2] = __fadd_rd(x[i], 1e-6f);
    z[5 * i + 3] = __saturatef(x[i]);
    z[5 * i + 4] = copysignf(__uint2float_rz(y[4 * i] * 7919u), x[i]);
}
