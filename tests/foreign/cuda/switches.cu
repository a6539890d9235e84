// Switches: a table of targets, ranges, fall-through, and a loop that interprets a program.
extern "C" __global__ void choose(const int *x, int *y) {
    int i = threadIdx.x, value = x[i], result = 1;
    switch (value) {
    case 0: result = value * 3 + i; break;
    case 1: result = i * i; break;
    case 2: result += i; // and on
    case 3: result *= 7; break;
    case 4: result = i / 3; break;
    case 5: result = __popc(i); break;
    case 6: result = y[i]; break;
    case 100: result = 100; break;
    default: result = -value;
    }
    y[i] = result;
}

extern "C" __global__ void interpret(const unsigned char *program, int length, int *registers) {
    int i = threadIdx.x;
    int a = registers[i], b = 1;
    for (int pc = 0; pc < length; pc++) {
        switch (program[pc]) {
        case 0: a += b; break;
        case 1: a -= b; break;
        case 2: b = a * 3; break;
        case 3: a ^= b; break;
        case 4: if (a & 1) pc++; break;
        case 5: b = b << 1; break;
        case 6: a = ~a; break;
        case 7: { int t = a; a = b; b = t; break; }
        default: pc = length;
        }
    }
    registers[i] = a + 16 * b;
}

__device__ __noinline__ int step(int kind, int a, int b) {
    switch (kind) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return a & b;
    case 4: return a | b;
    case 5: return a ^ b;
    case 6: return a << (b & 7);
    case 7: return a >> (b & 7);
    case 8: return min(a, b);
    case 9: return max(a, b);
    case 10: return __popc(a) + b;
    case 11: return __clz(a) - b;
    case 12: return a == b;
    case 13: return a < b;
    case 14: return a / (b | 1);
    case 15: return a % (b | 1);
    case 16: return __brev(a) + b;
    case 17: return ~a;
    case 18: return -b;
    case 19: return __byte_perm(a, b, 0x2143);
    default: return kind;
    }
}

extern "C" __global__ void compute(const int *kinds, const int *x, int *y) {
    int i = threadIdx.x;
    y[i] = step(kinds[i], x[i], x[i + 32]);
}
