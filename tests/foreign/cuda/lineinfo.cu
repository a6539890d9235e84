// Compiled with line numbers: inlined functions name the places that they were inlined at.
__device__ float square(float x) { return x * x; }
__device__ float norm(float x, float y) {
    float sum = square(x);
    sum += square(y);
    return sqrtf(sum);
}

extern "C" __global__ void norms(const float2 *x, float *y, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float2 one = x[i];
        y[i] = norm(one.x, one.y);
        if (one.x > 0.0f)
            y[i] = -y[i];
    }
}
