// Recursion: frames of different depth in the threads of a warp.
__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__device__ int is_odd(unsigned n);
__device__ __noinline__ int is_even(unsigned n) { return n == 0 ? 1 : is_odd(n - 1); }
__device__ __noinline__ int is_odd(unsigned n) { return n == 0 ? 0 : is_even(n - 1); }

__device__ void quicksort(int *x, int low, int high) {
    if (low >= high)
        return;
    int pivot = x[(low + high) / 2], i = low, j = high;
    while (i <= j) {
        while (x[i] < pivot)
            i++;
        while (x[j] > pivot)
            j--;
        if (i <= j) {
            int t = x[i];
            x[i++] = x[j];
            x[j--] = t;
        }
    }
    quicksort(x, low, j);
    quicksort(x, i, high);
}

extern "C" __global__ void recurse(int *rows, int length, int *numbers) {
    int i = threadIdx.x;
    quicksort(rows + i * length, 0, length - 1);
    numbers[2 * i] = fibonacci(i % 7);
    numbers[2 * i + 1] = is_even(i);
}
