// Integers: division and remainders of every width, wide products, 128 bits, saturation.
extern "C" __global__ void quotients(const long long *a, const long long *b, long long *y, unsigned *z) {
    int i = threadIdx.x;
    y[6 * i] = a[i] / b[i];
    y[6 * i + 1] = a[i] % b[i];
    y[6 * i + 2] = (unsigned long long)a[i] / (unsigned long long)b[i];
    y[6 * i + 3] = (unsigned long long)a[i] % 1000000007ull;
    y[6 * i + 4] = __mul64hi(a[i], b[i]);
    y[6 * i + 5] = __umul64hi(a[i], b[i]);
    z[4 * i] = (unsigned)a[i] / (unsigned)(b[i] | 1);
    z[4 * i + 1] = (int)a[i] / (short)(b[i] | 1);
    z[4 * i + 2] = (unsigned)a[i] % 10u;
    z[4 * i + 3] = (int)a[i] / -3;
}

extern "C" __global__ void wide(const long long *a, const long long *b, unsigned long long *y) {
    int i = threadIdx.x;
    unsigned __int128 product = (unsigned __int128)(unsigned long long)a[i] * (unsigned long long)b[i];
    __int128 sum = (__int128)product + a[i];
    sum = (sum << 3) - (sum >> 5);
    y[2 * i] = (unsigned long long)sum;
    y[2 * i + 1] = (unsigned long long)(sum >> 64);
}
