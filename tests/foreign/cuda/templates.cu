// Templates: kernels and functors for several types, deduced extents, a fold over a pack.
template <class T> struct Scale {
    T factor;
    __device__ T operator()(T x) const { return x * factor; }
};

template <class T> struct Clip {
    T low, high;
    __device__ T operator()(T x) const { return x < low ? low : x > high ? high : x; }
};

template <class T, class... Functions> __global__ void chain(const T *x, T *y, int n, Functions... functions) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        T value = x[i];
        ((value = functions(value)), ...);
        y[i] = value;
    }
}

template <class T, int degree> __global__ void horner(const T *x, T *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    T sum = 0;
#pragma unroll
    for (int step = 0; step <= degree; step++)
        sum = sum * x[i] + T(step + 1);
    y[i] = sum;
}

template __global__ void chain(const float *, float *, int, Scale<float>, Clip<float>);
template __global__ void chain(const double *, double *, int, Clip<double>);
template __global__ void chain(const long long *, long long *, int, Clip<long long>, Scale<long long>);
template __global__ void horner<float, 3>(const float *, float *, int);
template __global__ void horner<double, 4>(const double *, double *, int);
template __global__ void horner<short, 2>(const short *, short *, int);
