// Warp intrinsics: shuffles, votes, matches, reductions, and threads that part and meet again.
extern "C" __global__ void shuffle(const int *x, int *y, double *z) {
    int i = threadIdx.x, v = x[i];
    y[5 * i] = __shfl_sync(~0u, v, (i * 7) & 31);
    y[5 * i + 1] = __shfl_up_sync(~0u, v, 3);
    y[5 * i + 2] = __shfl_down_sync(~0u, v, 5, 16);
    y[5 * i + 3] = __shfl_xor_sync(~0u, v, 9);
    for (int d = 16; d; d /= 2)
        v += __shfl_xor_sync(~0u, v, d);
    y[5 * i + 4] = v;
    z[i] = __shfl_down_sync(~0u, x[i] * 0.5, 1);
}

extern "C" __global__ void agree(const int *x, unsigned *y) {
    int i = threadIdx.x, v = x[i], all;
    y[9 * i] = __ballot_sync(~0u, v > 3);
    y[9 * i + 1] = __any_sync(~0u, v == 5);
    y[9 * i + 2] = __all_sync(~0u, v >= 0);
    y[9 * i + 3] = __match_any_sync(~0u, v);
    y[9 * i + 4] = __match_all_sync(~0u, v >> 5, &all) + all;
    y[9 * i + 5] = __reduce_add_sync(~0u, v);
    y[9 * i + 6] = __reduce_max_sync(~0u, v);
    y[9 * i + 7] = __reduce_xor_sync(~0u, (unsigned)v);
    y[9 * i + 8] = 0;
    if (v & 1) {
        unsigned mask = __activemask();
        y[9 * i + 8] = __popc(__ballot_sync(mask, v > 2)) + __reduce_min_sync(mask, v) * 100;
        __syncwarp(mask);
    }
}
