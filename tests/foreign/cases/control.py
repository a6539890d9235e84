"""Control: virtual calls, pointers to functions, recursion, switches, inline assembly, frames in local memory."""

from __future__ import annotations

import numpy as np

from tests.foreign.cases.case import Launch, collector

CASES, case = collector()
Random = np.random.Generator


@case("virtuals", "measure_all")
def measure_all(rng: Random) -> Launch:
    x = rng.integers(1, 50, 64).astype(np.float32)
    kind = np.arange(64) % 3
    areas = np.choose(kind, [x * 2 + 4, x * 2 + 3, x * x * 3]).astype(np.float32)
    tags = np.arange(64) * 10 + np.where(np.arange(64) % 2, 0, 3)
    return Launch(1, 64, [x, np.zeros(64, np.float32), np.zeros(64, np.int32)], {1: areas, 2: tags.astype(np.int32)})


@case("pointers", "apply")
def apply(rng: Random) -> Launch:
    x = rng.integers(-40, 40, 64).astype(np.int32)
    functions = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a**b]
    y = []
    for i, value in enumerate(x.tolist()):
        big = [functions[0 if i & 4 else 2](value, step) for step in range(6)]
        y += [functions[(i + 1) % 3](value, 3), big[i % 6] + big[5]]
    return Launch(1, 64, [x, np.zeros(128, np.int32), 1], {1: np.array(y).astype(np.int32)})


@case("recursion", "recurse")
def recurse(rng: Random) -> Launch:
    rows = rng.integers(-100, 100, (32, 12)).astype(np.int32)
    fibonacci = [0, 1, 1, 2, 3, 5, 8]
    numbers = np.array([value for i in range(32) for value in (fibonacci[i % 7], 1 - i % 2)], np.int32)
    return Launch(1, 32, [rows, 12, np.zeros(64, np.int32)], {0: np.sort(rows, axis=1), 2: numbers})


@case("switches", "choose")
def choose(rng: Random) -> Launch:
    x = rng.choice([0, 1, 2, 3, 4, 5, 6, 7, 99, 100, 101, -5], 64).astype(np.int32)
    y = rng.integers(0, 1000, 64).astype(np.int32)
    found = []
    for i, (value, old) in enumerate(zip(x.tolist(), y.tolist())):
        table = {0: value * 3 + i, 1: i * i, 2: (1 + i) * 7, 3: 7, 4: i // 3, 5: i.bit_count(), 6: old, 100: 100}
        found.append(table.get(value, -value))
    return Launch(1, 64, [x, y], {1: np.array(found, np.int32)})


@case("switches", "interpret")
def interpret(rng: Random) -> Launch:
    program = rng.integers(0, 8, 60).astype(np.uint8)
    program[50] = 9
    registers = rng.integers(-1000, 1000, 32).astype(np.int32)
    found = []
    for a in registers.tolist():
        b, pc = 1, 0
        while pc < len(program):
            code = program[pc]
            if code == 0:
                a += b
            elif code == 1:
                a -= b
            elif code == 2:
                b = a * 3
            elif code == 3:
                a ^= b
            elif code == 4:
                pc += a & 1
            elif code == 5:
                b <<= 1
            elif code == 6:
                a = ~a
            elif code == 7:
                a, b = b, a
            else:
                break
            a, b = (int(np.int64(one).astype(np.int32)) if -(2**62) < one < 2**62 else one for one in (a, b))
            pc += 1
        found.append(a + 16 * b)
    return Launch(1, 32, [program, 60, registers], {2: np.array(found).astype(np.int32)})


@case("switches", "compute")
def compute(rng: Random) -> Launch:
    kinds = (np.arange(32) % 22).astype(np.int32)
    x = rng.integers(-(2**31), 2**31, 64).astype(np.int32)
    x[:16] >>= 20
    found = []
    for kind, a, b in zip(kinds.tolist(), x[:32].tolist(), x[32:].tolist()):
        u, v = a % 2**32, b % 2**32
        content = [(v << 32 | u) >> 8 * place & 255 for place in range(8)]
        divisor = b | 1
        quotient = abs(a) // abs(divisor) * (1 if (a < 0) == (divisor < 0) else -1)
        table = [
            a + b, a - b, a * b, a & b, a | b, a ^ b, a << (b & 7), a >> (b & 7), min(a, b), max(a, b), u.bit_count() + b,
            32 - u.bit_length() - b, int(a == b), int(a < b), quotient, a - quotient * divisor, int(f"{u:032b}"[::-1], 2) + b, ~a, -b,
            sum(content[0x2143 >> 4 * place & 7] << 8 * place for place in range(4)), kind, kind,
        ]  # fmt: skip
        found.append(table[kind] % 2**32)
    return Launch(1, 32, [kinds, x, np.zeros(32, np.int32)], {2: np.array(found, np.uint32).view(np.int32)})


@case("locals", "powers")
def powers(rng: Random) -> Launch:
    x = rng.normal(size=(32, 3, 3)).astype(np.float32)
    y = x
    for _ in range(2):
        wide = np.zeros_like(x)
        for k in range(3):
            wide = wide + y[:, :, k : k + 1] * x[:, k : k + 1, :]
        y = wide
    return Launch(1, 32, [x, np.zeros_like(x), 3], {1: y})


@case("locals", "permute")
def permute(rng: Random) -> Launch:
    order = np.stack([rng.permutation(20) for _ in range(32)]).astype(np.uint8)
    return Launch(1, 32, [order, np.zeros_like(order), 20], {1: np.argsort(order, axis=1).astype(np.uint8)})


@case("locals", "reversed")
def reversed_rows(rng: Random) -> Launch:
    x = rng.integers(-100, 100, (32, 9)).astype(np.int32)
    return Launch(1, 32, [x, np.zeros_like(x), 9], {1: x[:, ::-1].copy()})


@case("debug", "walk")
def walk(rng: Random) -> Launch:
    x = rng.integers(-100, 100, 32).astype(np.int32)
    found = []
    for i, value in enumerate(x.tolist()):
        points = [(value, i)]
        for _ in range(3):
            points.append((-points[-1][1], points[-1][0]))
        found.append(sum(100 * p + q for p, q in points[:3]) + (4, 5, 6)[i % 3] + points[0][0] * 3 + points[1][1] * 4)
    return Launch(1, 32, [x, np.zeros(32, np.int32)], {1: np.array(found, np.int32)})


@case("assembly", "scopes")
def scopes(rng: Random) -> Launch:
    x = rng.integers(0, 20, 32).astype(np.uint32)
    n = x + 1
    y = np.stack([n * (n + 1) // 2, n * (n + 1), np.where(x < 9, 1, 12), np.arange(32) + 32], axis=1).astype(np.uint32)
    return Launch(1, 32, [x, np.zeros((32, 4), np.uint32)], {1: y})


@case("assembly", "vectors")
def vectors(rng: Random) -> Launch:
    x = rng.normal(size=(33, 4)).astype(np.float32)
    z = np.stack([np.arange(32), np.full(32, 7)], axis=1).astype(np.uint64)
    return Launch(1, 32, [x, np.zeros((32, 4), np.float32), np.zeros((32, 2), np.uint64)], {1: x[1:, ::-1].copy(), 2: z})


@case("assembly", "carried")
def carried(rng: Random) -> Launch:
    a, b = (rng.integers(0, 2**32, (32, 4), dtype=np.uint32) for _ in range(2))
    a[:8], b[:4] = 2**32 - 1, 1
    numbers = [sum(int(word) << 32 * place for place, word in enumerate(row)) for row in a]
    others = [sum(int(word) << 32 * place for place, word in enumerate(row)) for row in b]
    c = [[(p + q) >> 32 * place & 2**32 - 1 for place in range(4)] for p, q in zip(numbers, others)]
    return Launch(1, 32, [a, b, np.zeros((32, 4), np.uint32)], {2: np.array(c, np.uint32)})
