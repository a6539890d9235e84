// Half precision and bfloat16: arithmetic, pairs, comparisons, conversions.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void halves(const half *a, const half *b, half *y) {
    int i = threadIdx.x;
    y[8 * i] = __hadd(a[i], b[i]);
    y[8 * i + 1] = __hmul(a[i], b[i]);
    y[8 * i + 2] = __hfma(a[i], b[i], a[i]);
    y[8 * i + 3] = a[i] / b[i];
    y[8 * i + 4] = hsqrt(__habs(a[i]));
    y[8 * i + 5] = __hmax(a[i], b[i]);
    y[8 * i + 6] = __float2half_rz(__half2float(a[i]) * 3.0f);
    y[8 * i + 7] = __hlt(a[i], b[i]) ? a[i] : -b[i];
}

extern "C" __global__ void pairs(const half2 *a, const half2 *b, half2 *y, int *z) {
    int i = threadIdx.x;
    y[4 * i] = __hadd2(a[i], b[i]);
    y[4 * i + 1] = __hfma2_relu(a[i], b[i], b[i]);
    y[4 * i + 2] = __hmin2(a[i], b[i]);
    y[4 * i + 3] = __lowhigh2highlow(__hneg2(a[i]));
    z[2 * i] = __hbge2(a[i], b[i]);
    z[2 * i + 1] = __half2int_rd(__low2half(a[i])) + __half2short_rn(__high2half(b[i]));
}

extern "C" __global__ void brains(const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *y, float *z) {
    int i = threadIdx.x;
    y[4 * i] = __hadd(a[i], b[i]);
    y[4 * i + 1] = __hfma(a[i], b[i], b[i]);
    y[4 * i + 2] = __float2bfloat16_rn(__bfloat162float(a[i]) / 3.0f);
    y[4 * i + 3] = __hmin(a[i], b[i]);
    z[i] = __bfloat162float(a[i]) + __bfloat162float(b[i]);
}
