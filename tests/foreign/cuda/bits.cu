// Bits: counts, reversals, permutations, shifts across words, dot products and arithmetic on the parts of a word.
extern "C" __global__ void count(const unsigned *x, unsigned *y) {
    int i = threadIdx.x;
    unsigned a = x[i], b = x[i + 32];
    unsigned *o = y + 14 * i;
    o[0] = __popc(a);
    o[1] = __clz(a);
    o[2] = __brev(a);
    o[3] = __ffs(a);
    o[4] = __byte_perm(a, b, 0x3715 ^ (b & 0x1111));
    o[5] = __funnelshift_l(a, b, b & 31);
    o[6] = __funnelshift_rc(a, b, b & 63);
    o[7] = __popcll(((unsigned long long)a << 32) | b) + __clzll((unsigned long long)b);
    o[8] = __sad((int)a, (int)b, 5u);
    o[9] = __mulhi((int)a, (int)b);
    o[10] = __umulhi(a, b);
    o[11] = __mul24(a, b);
    o[12] = __dp4a((int)a, (int)b, 9);
    o[13] = __hadd((int)a, (int)b) ^ __rhadd((int)a, (int)b);
}

extern "C" __global__ void parts(const unsigned *x, unsigned *y) {
    int i = threadIdx.x;
    unsigned a = x[i], b = x[i + 32];
    unsigned *o = y + 10 * i;
    o[0] = __vadd4(a, b);
    o[1] = __vsub2(a, b);
    o[2] = __vaddss2(a, b);
    o[3] = __vavgu4(a, b);
    o[4] = __vabsdiffu4(a, b);
    o[5] = __vmaxs4(a, b);
    o[6] = __vminu2(a, b);
    o[7] = __vcmpgtu4(a, b);
    o[8] = __vsadu4(a, b);
    o[9] = __viaddmax_s32(a, b, 17);
}

extern "C" __global__ void video(const unsigned *x, unsigned *y) {
    int i = threadIdx.x;
    unsigned a = x[i], b = x[i + 32], r;
    asm("vadd.s32.u32.s32.sat.add %0, %1.b0, %2.h1, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(3));
    y[3 * i] = r;
    asm("vmad.s32.u32.u32.shr7 %0, %1.b1, %2.b2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(5));
    y[3 * i + 1] = r;
    asm("vset.u32.s32.lt %0, %1.h0, %2.h1;" : "=r"(r) : "r"(a), "r"(b));
    y[3 * i + 2] = r;
}
