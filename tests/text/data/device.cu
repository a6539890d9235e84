// What compilers write of most of the language; see test_compiled.py for how the .ptx files beside this one are made.
#include <cstdio>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

struct Shape {
    __device__ virtual float area(float x) = 0;
};
struct Square : Shape {
    __device__ float area(float x) override { return x * x; }
};

__constant__ int table[5] = {1, 2, 3};
__device__ float (*functions[2])(float) = {sinf, cosf};
__device__ const char *greeting = "hello";
__managed__ int shared_with_host = 7;
extern __shared__ float dynamic[];

extern "C" __global__ void __launch_bounds__(256, 2) calls(float *a, int n, Shape *shape) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        a[i] = shape->area(a[i]) + functions[i & 1](a[i]);
        printf("%d %f %s\n", i, a[i], greeting);
    }
    dynamic[threadIdx.x] = a[i];
    __syncthreads();
    atomicAdd(&shared_with_host, (int)dynamic[threadIdx.x ^ 1] + table[i % 5]);
}

extern "C" __global__ void construct(Shape **out) { out[0] = new Square; }

template <class T> __global__ void polynomial(T *x, int n) {
    T s = 0;
    for (int i = 0; i < n; i++) s = s * x[i] + T(0.5);
    x[0] = s / sqrt(s);
}
template __global__ void polynomial<double>(double *, int);
template __global__ void polynomial<float>(float *, int);

extern "C" __global__ void textures(cudaTextureObject_t t, cudaSurfaceObject_t s, float4 *o) {
    o[threadIdx.x] = tex2D<float4>(t, threadIdx.x, 0.5f);
    surf2Dwrite(1.0f, s, 4 * threadIdx.x, 1);
}

extern "C" __global__ void matrices(half *a, half *b, float *c) {
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, half, row_major> fa;
    fragment<matrix_b, 16, 16, 16, half, col_major> fb;
    fragment<accumulator, 16, 16, 16, float> fc;
    fill_fragment(fc, 0.f);
    load_matrix_sync(fa, a, 16);
    load_matrix_sync(fb, b, 16);
    mma_sync(fc, fa, fb, fc);
    store_matrix_sync(c, fc, 16, mem_row_major);
}

extern "C" __global__ void copies(float *g) {
    __shared__ float s[256];
    __pipeline_memcpy_async(&s[threadIdx.x * 4], &g[threadIdx.x * 4], 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    g[threadIdx.x] = s[threadIdx.x + 1];
}

extern "C" __global__ void inline_assembly(unsigned *x) {
    unsigned r;
    asm volatile("{\n .reg .pred p;\n .reg .b32 t;\n setp.ne.u32 p, %1, 0;\nAGAIN:\n @p add.u32 t, %1, 4;\n mov.u32 %0, t;\n"
                 " @!p bra AGAIN;\n}" : "=r"(r) : "r"(x[0]));
    x[1] = r;
    switch (x[2]) {
        case 0: x[3] = 1; break;
        case 1: x[3] = r * 5; break;
        case 2: x[4] = 9; break;
        case 3: x[5] = 3; break;
        case 4: x[1] = 8; break;
        case 5: x[2] = 9; break;
        default: asm("trap;");
    }
}
