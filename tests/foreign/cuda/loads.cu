// Loads and stores: caches, vectors, volatile, restrict, packed structures, prefetches.
struct __align__(16) Record {
    int key;
    short parts[2];
    double value;
};

extern "C" __global__ void cached(const int *__restrict__ a, const float4 *__restrict__ b, int *y, float4 *z) {
    int i = threadIdx.x;
    int sum = __ldg(a + i) + __ldcs(a + 32 + i) + __ldcg(a + 64 + i) + __ldca(a + 96 + i) + __ldlu(a + 128 + i) + __ldcv(a + 160 + i);
    __stcs(y + i, sum);
    float4 v = __ldg(b + i);
    v.w = b[i + 1].x;
    __stwt(z + i, v);
    __stcg(y + 32 + i, a[i]);
}

extern "C" __global__ void records(const Record *x, Record *y, volatile unsigned short *s, char3 *bytes) {
    int i = threadIdx.x;
    Record one = x[i];
    one.parts[0] ^= one.parts[1];
    one.value += one.key;
    y[i] = one;
    s[i] = s[i + 32] + 1;
    bytes[i] = make_char3(i, -i, bytes[i].y);
}

extern "C" __global__ void hinted(const float *x, float *y) {
    int i = threadIdx.x;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(x)));
    float v;
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.f32 %0, [%1];" : "=f"(v) : "l"(__cvta_generic_to_global(x + i)));
    y[i] = v + 1.0f;
}
