// Matrices by nvcuda::wmma: halves, bytes, doubles.
#include <mma.h>
using namespace nvcuda::wmma;

extern "C" __global__ void halves(const half *a, const half *b, float *c) {
    fragment<matrix_a, 16, 16, 16, half, row_major> fa;
    fragment<matrix_b, 16, 16, 16, half, col_major> fb;
    fragment<accumulator, 16, 16, 16, float> fc;
    fill_fragment(fc, 0.0f);
    for (int k = 0; k < 32; k += 16) {
        load_matrix_sync(fa, a + k, 32);
        load_matrix_sync(fb, b + k, 32);
        mma_sync(fc, fa, fb, fc);
    }
    for (int i = 0; i < fc.num_elements; i++)
        fc.x[i] *= 2.0f;
    store_matrix_sync(c, fc, 16, mem_row_major);
}

extern "C" __global__ void bytes(const signed char *a, const signed char *b, int *c) {
    fragment<matrix_a, 8, 32, 16, signed char, row_major> fa;
    fragment<matrix_b, 8, 32, 16, signed char, row_major> fb;
    fragment<accumulator, 8, 32, 16, int> fc;
    load_matrix_sync(fc, c, 32, mem_row_major);
    load_matrix_sync(fa, a, 16);
    load_matrix_sync(fb, b, 32);
    mma_sync(fc, fa, fb, fc);
    store_matrix_sync(c, fc, 32, mem_row_major);
}

extern "C" __global__ void doubles(const double *a, const double *b, double *c) {
    fragment<matrix_a, 8, 8, 4, double, col_major> fa;
    fragment<matrix_b, 8, 8, 4, double, row_major> fb;
    fragment<accumulator, 8, 8, 4, double> fc;
    load_matrix_sync(fa, a, 8);
    load_matrix_sync(fb, b, 8);
    fill_fragment(fc, 1.0);
    mma_sync(fc, fa, fb, fc);
    store_matrix_sync(c, fc, 8, mem_col_major);
}
