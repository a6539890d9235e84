// Conversions to and from floats of 8, 6 and 4 bits.
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

extern "C" __global__ void bytes(const float *x, unsigned char *y, float *z) {
    int i = threadIdx.x;
    __nv_fp8_e4m3 a(x[i]);
    __nv_fp8_e5m2 b(x[i]);
    y[2 * i] = a.__x;
    y[2 * i + 1] = b.__x;
    z[2 * i] = float(a);
    z[2 * i + 1] = float(b);
}

extern "C" __global__ void six(const float *x, unsigned char *y, float *z) {
    int i = threadIdx.x;
    __nv_fp6_e3m2 a(x[i]);
    __nv_fp6_e2m3 b(x[i]);
    y[2 * i] = a.__x;
    y[2 * i + 1] = b.__x;
    z[2 * i] = float(a);
    z[2 * i + 1] = float(b);
}

extern "C" __global__ void four(const float2 *x, unsigned char *y, float2 *z) {
    int i = threadIdx.x;
    __nv_fp4x2_e2m1 a(x[i]);
    y[i] = a.__x;
    z[i] = float2(a);
}
