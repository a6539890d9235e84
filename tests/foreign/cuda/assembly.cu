// Inline assembly: scopes with their own registers and labels, predicates, vectors, 128 bits, comments, several statements.
extern "C" __global__ void scopes(const unsigned *x, unsigned *y) {
    unsigned i = threadIdx.x, r, s;
    asm volatile("{\n\t.reg .pred p;\n\t.reg .b32 t<2>;\n\tmov.u32 t0, %2; // the counter\n\tmov.u32 t1, 0;\n"
                 "AGAIN_%=:\n\tadd.u32 t1, t1, t0;\n\tsub.u32 t0, t0, 1;\n\tsetp.ne.u32 p, t0, 0;\n\t@p bra AGAIN_%=;\n"
                 "\tmov.u32 %0, t1;\n\t{ .reg .b64 t0; /* another */ cvt.u64.u32 t0, t1; shl.b64 t0, t0, 1; cvt.u32.u64 %1, t0; }\n}"
                 : "=r"(r), "=r"(s)
                 : "r"(x[i] + 1));
    y[4 * i] = r;
    y[4 * i + 1] = s;
    asm("{ .reg .pred p, q; setp.lt.and.u32 p|q, %1, 9, 1; selp.u32 %0, 1, 2, p; @q add.u32 %0, %0, 10; }" : "=r"(r) : "r"(x[i]));
    y[4 * i + 2] = r;
    asm("mov.u32 %0, %%laneid;\n\tadd.u32 %0, %0, WARP_SZ;" : "=r"(r));
    y[4 * i + 3] = r;
}

extern "C" __global__ void vectors(const float4 *x, float4 *y, unsigned long long *z) {
    int i = threadIdx.x;
    float4 v;
    asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4 + 16];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(x + i));
    asm volatile("st.global.v4.f32 [%0], {%4, %3, %2, %1};" ::"l"(y + i), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
    unsigned long long low, high;
    asm("{ .reg .b128 w; mov.b128 w, {%2, %3}; mov.b128 {%0, %1}, w; }" : "=l"(low), "=l"(high) : "l"((unsigned long long)i), "l"(7ull));
    z[2 * i] = low;
    z[2 * i + 1] = high;
}

extern "C" __global__ void carried(const unsigned *a, const unsigned *b, unsigned *c) {
    int i = threadIdx.x * 4;
    asm("add.cc.u32 %0, %4, %8;\n\taddc.cc.u32 %1, %5, %9;\n\taddc.cc.u32 %2, %6, %10;\n\taddc.u32 %3, %7, %11;"
        : "=r"(c[i]), "=r"(c[i + 1]), "=r"(c[i + 2]), "=r"(c[i + 3])
        : "r"(a[i]), "r"(a[i + 1]), "r"(a[i + 2]), "r"(a[i + 3]), "r"(b[i]), "r"(b[i + 1]), "r"(b[i + 2]), "r"(b[i + 3]));
}
