// Compiled to be linked: functions and variables from elsewhere, weak ones, aliases of constructors, functions that never return.
extern __device__ int elsewhere(int x, double y);
extern __device__ float outside[];
extern __constant__ int limits[4];

__device__ __attribute__((weak)) int replaceable(int x) { return x + 1; }
inline __device__ int shared_by_all(int x) {
    static __device__ int calls = 3;
    return x * calls;
}
template <class T> __device__ T stored = 11;

__device__ __noinline__ __attribute__((noreturn)) void stop(int code) {
    asm volatile("brkpt;");
    __trap();
    while (true)
        ;
}

struct Base {
    __device__ __noinline__ Base(int x) : x(x) {}
    __device__ virtual ~Base() {}
    int x;
};

static __global__ void hidden(int *y) { y[0] = 1; }
void launch_hidden(int *y) { hidden<<<1, 1>>>(y); }

extern "C" __global__ void link(int *y) {
    int i = threadIdx.x;
    Base base(i);
    y[i] = elsewhere(i, 0.5) + replaceable(i) + shared_by_all(i) + stored<int> + (int)outside[i] + limits[i & 3] + base.x;
    if (y[i] < 0)
        stop(3);
}
