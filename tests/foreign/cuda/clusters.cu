// Clusters: fixed sizes, shared memory of other blocks, barriers of a cluster.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void __cluster_dims__(2, 1, 1) swap(const int *x, int *y) {
    __shared__ int box[32];
    cg::cluster_group cluster = cg::this_cluster();
    int i = threadIdx.x;
    box[i] = x[blockIdx.x * 32 + i];
    cluster.sync();
    int *other = cluster.map_shared_rank(box, cluster.block_rank() ^ 1);
    y[blockIdx.x * 32 + i] = other[31 - i];
    cluster.sync();
}

extern "C" __global__ void __cluster_dims__(4, 1, 1) gather(int *sums) {
    __shared__ int total;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0)
        total = 0;
    cluster.sync();
    atomicAdd(cluster.map_shared_rank(&total, 0), (int)cluster.thread_rank());
    cluster.barrier_wait(cluster.barrier_arrive());
    if (cluster.thread_rank() == 0)
        sums[blockIdx.x / cluster.num_blocks()] = total;
}

extern "C" __global__ void __launch_bounds__(64, 1, 8) limited(int *ranks) {
    cg::cluster_group cluster = cg::this_cluster();
    ranks[blockIdx.x * blockDim.x + threadIdx.x] = cluster.thread_rank();
}
