// Cooperative groups: tiles, coalesced threads, reductions, scans and a barrier over the grid.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

extern "C" __global__ void tiles(const int *x, int *y) {
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int i = block.thread_rank();
    int value = x[i];
    y[i] = cg::reduce(tile, value, cg::plus<int>());
    y[i] += tile.shfl_xor(value, 1) * 1000;
    y[i] += cg::exclusive_scan(tile, value) * 1000000;
    if (tile.any(value == 3))
        y[i] ^= tile.meta_group_rank();
    block.sync();
}

extern "C" __global__ void coalesced(const int *x, int *y, int *count) {
    int i = threadIdx.x;
    y[i] = -1;
    if (x[i] & 1) {
        auto active = cg::coalesced_threads();
        int base = 0;
        if (active.thread_rank() == 0)
            base = atomicAdd(count, active.size());
        y[i] = active.shfl(base, 0) + active.thread_rank();
    }
}

extern "C" __global__ void over_the_grid(int *x) {
    cg::grid_group grid = cg::this_grid();
    x[grid.thread_rank()] = 1;
    grid.sync();
    x[0] = x[grid.size() - 1];
}
