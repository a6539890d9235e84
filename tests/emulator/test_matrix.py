"""Matrix instructions of a warp: images of registers against formulas written from the ISA's text, products against NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

WARPS = 3
NOTHING = "{0f00000000, 0f00000000, 0f00000000, 0f00000000}"
THREADS = 32 * WARPS


@pytest.fixture
def registers(run) -> Callable[..., tuple]:
    """``registers(lines, *inputs, outputs=4)``: registers of each thread in %r10 ... (one input's after the other's), results in
    %r30 ...; inputs have shape (threads, registers)."""

    def launch(lines: str, *inputs, outputs: int = 4, block: int = THREADS, **options):
        result = np.zeros((block, outputs), np.uint32)
        body = ["mov.u32 %r50, %tid.x;"]
        place = 10
        for number, one in enumerate([*inputs, result]):
            body.append(f"ld.param.u64 %rd{number}, [{'abcd'[number]}]; mad.wide.u32 %rd{number}, %r50, {4 * one.shape[1]}, %rd{number};")
            if number < len(inputs):
                body += [f"ld.global.b32 %r{place + i}, [%rd{number}+{4 * i}];" for i in range(one.shape[1])]
                place += one.shape[1]
        body.append(lines)
        body += [f"st.global.b32 [%rd{len(inputs)}+{4 * i}], %r{30 + i};" for i in range(outputs)]
        outcome = run("\n".join(body), *inputs, result, block=block, **options)
        return result, outcome

    return launch


def names(first: int, count: int) -> str:
    return "{" + ", ".join(f"%r{first + number}" for number in range(count)) + "}"


def messages(result) -> list[str]:
    return [str(report).removeprefix(f"{report.where}: ") for report in result.reports]


# ---- where the ISA puts the elements of mma: element i of lane `lane`, as (row, column) ---------------------------------


def place_of_a(m: int, k: int, each: int) -> Callable[[int, int], tuple[int, int]]:
    """A: `each` elements a register; registers go down eight rows first, then on along k."""

    def place(lane: int, i: int) -> tuple[int, int]:
        group, member = lane >> 2, lane % 4
        register, inside = divmod(i, each)
        if m == 8:
            return group, member * each + inside
        row = group if register % 2 == 0 else group + 8
        return row, member * each + inside + (register // 2) * 4 * each

    return place


def place_of_b(k: int, each: int) -> Callable[[int, int], tuple[int, int]]:
    """B, as (row = k, column = n)."""
    return lambda lane, i: ((lane % 4) * each + i % each + i // each * 4 * each, lane >> 2)


def place_of_c(lane: int, i: int) -> tuple[int, int]:
    return (lane >> 2) + (8 if i >= 2 else 0), (lane % 4) * 2 + (i & 1)


def gather(matrices: np.ndarray, place: Callable[[int, int], tuple[int, int]], count: int) -> np.ndarray:
    """Elements of matrices of shape (warps, rows, columns) as (threads, count)."""
    found = np.zeros((len(matrices) * 32, count), matrices.dtype)
    for thread in range(len(found)):
        for i in range(count):
            found[thread, i] = matrices[thread // 32][place(thread % 32, i)]
    return found


def pack(elements: np.ndarray, bits: int) -> np.ndarray:
    """Patterns of `bits` bits, shape (threads, count), as registers, the first in the low bits."""
    each = 32 // bits
    grouped = elements.astype(np.uint64).reshape(len(elements), -1, each)
    shifts = np.arange(each, dtype=np.uint64) * np.uint64(bits)
    return np.bitwise_or.reduce((grouped & np.uint64(2**bits - 1)) << shifts, axis=2).astype(np.uint32)


def encode(values: np.ndarray, name: str) -> np.ndarray:
    """Small integers as patterns of an element type."""
    import ml_dtypes

    if name in ("s8", "u8", "s4", "u4", "b1"):
        return values.astype(np.int64).astype(np.uint64)
    if name == "tf32":
        return values.astype(np.float32).view(np.uint32)
    floats = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
    stored = values.astype(floats[name])
    assert (stored.astype(np.float64) == values).all()
    return stored.view(f"u{stored.itemsize}")


BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1}
LIMITS = {"s8": (-128, 128), "u8": (0, 256), "s4": (-8, 8), "u4": (0, 16), "b1": (0, 2), "e5m2": (-8, 9), "e4m3": (-16, 17)}


def forms() -> Iterator[tuple[str, str, str, str]]:
    """Shape, result, and the types of a and b."""
    for shape in ("m16n8k8", "m16n8k16"):
        yield from ((shape, d, "f16", "f16") for d in ("f16", "f32"))
        yield shape, "f32", "bf16", "bf16"
    yield from ((shape, "f32", "tf32", "tf32") for shape in ("m16n8k4", "m16n8k8"))
    yield from (
        (shape, d, a, b) for shape in ("m16n8k16", "m16n8k32") for d in ("f16", "f32") for a, b in (("e4m3", "e5m2"), ("e5m2", "e4m3"))
    )
    yield from ((shape, "s32", a, b) for shape in ("m8n8k16", "m16n8k16", "m16n8k32") for a, b in (("s8", "u8"), ("u8", "s8")))
    yield from ((shape, "s32", a, b) for shape in ("m8n8k32", "m16n8k32", "m16n8k64") for a, b in (("s4", "u4"), ("u4", "s4")))
    yield from ((shape, "s32", "b1", "b1") for shape in ("m8n8k128", "m16n8k128", "m16n8k256"))


@pytest.mark.parametrize(("shape", "d", "a", "b"), [*forms()])
def test_products_of_integers_are_exact(registers, shape: str, d: str, a: str, b: str) -> None:
    """Random integers are asymmetric: any element in a wrong place shows."""
    rng = np.random.default_rng(len(shape) * 7 + BITS[a])
    m, n, k = (int(part) for part in shape[1:].replace("n", " ").replace("k", " ").split())
    left = rng.integers(*LIMITS.get(a, (-16, 17)), (WARPS, m, k))
    right = rng.integers(*LIMITS.get(b, (-16, 17)), (WARPS, k, n))
    c = rng.integers(-30, 31, (WARPS, m, n))
    if d == "f16":
        left, right = left // 4, right // 4  # sums stay whole numbers of f16
    each = 32 // BITS[a]
    ra = pack(gather(encode(left, a), place_of_a(m, k, each), m * k // 32), BITS[a])
    rb = pack(gather(encode(right, b), place_of_b(k, each), n * k // 32), BITS[b])
    held = gather(c, place_of_c, m * n // 32)
    rc = pack(encode(held, "f16"), 16) if d == "f16" else held.astype({"f32": np.float32, "s32": np.int32}[d]).view(np.uint32)
    places = np.cumsum([10, ra.shape[1], rb.shape[1]])
    operands = ", ".join([names(30, rc.shape[1]), *(names(p, r.shape[1]) for p, r in zip(places, (ra, rb, rc)))])
    tail = ".and.popc" if a == "b1" else ""
    result, outcome = registers(f"mma.sync.aligned.{shape}.row.col.{d}.{a}.{b}.{d}{tail} {operands};", ra, rb, rc, outputs=rc.shape[1])
    assert outcome.ok
    expected = gather(np.matmul(left, right) + c, place_of_c, m * n // 32)
    found = result.view(np.float16) if d == "f16" else result.view({"f32": np.float32, "s32": np.int32}[d])
    assert (found == expected).all()


@pytest.mark.parametrize(("a", "b"), [("e2m1", "e4m3"), ("e3m2", "e2m1"), ("e2m3", "e5m2"), ("e2m1", "e3m2")])
def test_narrow_floats_lie_in_bytes(registers, a: str, b: str) -> None:
    """.kind::f8f6f4: six bits at the bottom of a byte, four in bits 2 to 5."""
    import ml_dtypes

    stored = {
        "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "e3m2": ml_dtypes.float6_e3m2fn,
        "e2m3": ml_dtypes.float6_e2m3fn, "e2m1": ml_dtypes.float4_e2m1fn,
    }  # fmt: skip

    def bytes_of(values: np.ndarray, name: str) -> np.ndarray:
        return values.astype(stored[name]).view(np.uint8).astype(np.uint64) << np.uint64(2 if name == "e2m1" else 0)

    rng = np.random.default_rng(7)
    left, right = (rng.choice([-4.0, -3.0, -1.5, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0], (WARPS, *shape)) for shape in ((16, 32), (32, 8)))
    ra = pack(gather(bytes_of(left, a), place_of_a(16, 32, 4), 16), 8)
    rb = pack(gather(bytes_of(right, b), place_of_b(32, 4), 8), 8)
    line = f"mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.{a}.{b}.f32 {names(30, 4)}, {names(10, 4)}, {names(14, 2)}, {NOTHING};"
    result, outcome = registers(line, ra, rb)
    assert outcome.ok
    assert (result.view(np.float32) == gather(np.matmul(left, right), place_of_c, 4)).all()


def test_bits_by_exclusive_or(registers) -> None:
    rng = np.random.default_rng(2)
    left, right = rng.integers(0, 2, (WARPS, 16, 128)), rng.integers(0, 2, (WARPS, 128, 8))
    ra = pack(gather(left, place_of_a(16, 128, 32), 64), 1)
    rb = pack(gather(right, place_of_b(128, 32), 32), 1)
    line = "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.xor.popc {%r30, %r31, %r32, %r33}, {%r10, %r11}, {%r12}, {5, 5, 5, 5};"
    result, outcome = registers(line, ra, rb)
    assert outcome.ok
    expected = 5 + (left[:, :, :, None] != right[:, None]).sum(2)
    assert (result == gather(expected, place_of_c, 4)).all()


@pytest.mark.parametrize("shape", ["m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"])
def test_doubles(run, shape: str) -> None:
    rng = np.random.default_rng(6)
    m, n, k = (int(part) for part in shape[1:].replace("n", " ").replace("k", " ").split())
    left, right, c = rng.normal(size=(1, m, k)), rng.normal(size=(1, k, n)), rng.normal(size=(1, m, n))
    held = [
        gather(left, place_of_a(m, k, 1), m * k // 32),
        gather(right, place_of_b(k, 1), n * k // 32),
        gather(c, place_of_c, m * n // 32),
    ]
    result = np.zeros_like(held[2])
    body, vectors, place = ["mov.u32 %r50, %tid.x;"], [], 0
    for number, one in enumerate([*held, result]):
        body.append(f"ld.param.u64 %rd{number}, [{'abcd'[number]}]; mad.wide.u32 %rd{number}, %r50, {8 * one.shape[1]}, %rd{number};")
        if number < 3:
            body += [f"ld.global.f64 %d{place + i}, [%rd{number}+{8 * i}];" for i in range(one.shape[1])]
            vectors.append("{" + ", ".join(f"%d{place + i}" for i in range(one.shape[1])) + "}")
            place += one.shape[1]
    body.append(f"mma.sync.aligned.{shape}.row.col.f64.f64.f64.f64 {vectors[2]}, {', '.join(vectors)};")
    body += [f"st.global.f64 [%rd3+{8 * i}], {name};" for i, name in enumerate(vectors[2].strip("{}").split(", "))]
    assert run("\n".join(body), *held, result).ok
    expected = gather(np.matmul(left, right) + c, place_of_c, m * n // 32)
    bound = gather(np.matmul(np.abs(left), np.abs(right)) + np.abs(c), place_of_c, m * n // 32) * (k + 1) * 2.0**-53
    assert (np.abs(result - expected) <= bound).all()


@pytest.mark.parametrize(("saturates", "expected"), [("", -(2**31) + 16255), (".satfinite", 2**31 - 1)])
def test_integer_sums_wrap_or_saturate(registers, saturates: str, expected: int) -> None:
    """16 products of 127 and 8: 16256."""
    ra, rb = np.full((THREADS, 2), 0x7F7F7F7F, np.uint32), np.full((THREADS, 1), 0x08080808, np.uint32)
    line = f"mma.sync.aligned.m16n8k16.row.col{saturates}.s32.s8.s8.s32 {names(30, 4)}, {names(10, 2)}, {names(12, 1)}, {names(13, 4)};"
    result, outcome = registers(line, ra, rb, np.full((THREADS, 4), 2**31 - 1, np.uint32))
    assert outcome.ok
    assert (result.view(np.int32) == expected).all()


@pytest.mark.parametrize("layouts", ["row.row", "row.col", "col.row", "col.col"])
@pytest.mark.parametrize(("d", "c"), [("f32", "f32"), ("f16", "f16"), ("f32", "f16")])
def test_four_products_at_a_time(registers, layouts: str, d: str, c: str) -> None:
    """m8n8k4: product q belongs to lanes 4 * q to 4 * q + 3 and to those 16 further on (ISA, "mma.m8n8k4 with .f16")."""
    rng = np.random.default_rng(3)
    left, right = rng.integers(-9, 10, (WARPS, 4, 8, 4)), rng.integers(-9, 10, (WARPS, 4, 4, 8))
    added = rng.integers(-50, 50, (WARPS, 4, 8, 8))

    def sums(matrices: np.ndarray, name: str) -> np.ndarray:
        found = np.zeros((THREADS, 8), np.int64)
        for thread in range(THREADS):
            warp, lane = divmod(thread, 32)
            for i in range(8):
                below = 4 if lane >= 16 else 0
                row, column = lane % 4 + below, i
                if name == "f32":
                    row, column = (lane & 1) + (i & 2) + below, (i & 4) + (lane & 2) + (i & 1)
                found[thread, i] = matrices[warp, lane // 4 % 4, row, column]
        return found

    ra, rb = np.zeros((THREADS, 4), np.int64), np.zeros((THREADS, 4), np.int64)
    for thread in range(THREADS):
        warp, lane = divmod(thread, 32)
        quarter, below = lane // 4 % 4, 4 if lane >= 16 else 0
        for i in range(4):
            ra[thread, i] = left[warp, quarter][(lane % 4 + below, i) if layouts.startswith("row") else (i + below, lane % 4)]
            rb[thread, i] = right[warp, quarter][(i, lane % 4 + below) if layouts.endswith("col") else (lane % 4, i + below)]
    rc = pack(encode(sums(added, c), "f16"), 16) if c == "f16" else sums(added, c).astype(np.float32).view(np.uint32)
    count = 8 if d == "f32" else 4
    operands = f"{names(30, count)}, {names(10, 2)}, {names(12, 2)}, {names(14, rc.shape[1])}"
    inputs = pack(encode(ra, "f16"), 16), pack(encode(rb, "f16"), 16), rc
    result, outcome = registers(f"mma.sync.aligned.m8n8k4.{layouts}.{d}.f16.f16.{c} {operands};", *inputs, outputs=count)
    assert outcome.ok
    found = result.view(np.float32 if d == "f32" else np.float16)
    assert (found == sums(np.matmul(left, right) + added, d)).all()


# ---- moves ------------------------------------------------------------------------------------------------------------

SHARED = ".shared .align 16 .b8 s[4096]; mov.u32 %r55, s;"


def fill(words: int) -> str:
    """Word i of shared memory holds 0x20000 * i + (0x10000 * 2 + 1) * ... : halves 2 * i and 2 * i + 1, by all threads."""
    return f"""mov.u32 %r56, %r50;
        FILL: mad.lo.u32 %r57, %r56, 0x20002, 0x10000; mad.lo.u32 %r58, %r56, 4, %r55; st.shared.b32 [%r58], %r57;
        add.u32 %r56, %r56, {THREADS}; setp.lt.u32 %p9, %r56, {words}; @%p9 bra FILL; bar.sync 0;"""


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("trans", ["", ".trans"])
@pytest.mark.parametrize("space", [".shared", ""])
def test_ldmatrix(registers, count: int, trans: str, space: str) -> None:
    """Shared memory holds halves 0, 1, 2 ...; every thread gives the address of any row, and only those of 8 * count lanes count."""
    rng = np.random.default_rng(count)
    rows = rng.integers(0, 200, (THREADS, 1)).astype(np.uint32)
    rows[np.arange(THREADS) % 32 >= 8 * count] = 2**20
    generic = "cvt.u64.u32 %rd20, %r59; cvta.shared.u64 %rd20, %rd20;"
    base = "%r59" if space else "%rd20"
    lines = f"""{SHARED} {fill(1024)} mad.lo.u32 %r59, %r10, 16, %r55; {generic}
        ldmatrix.sync.aligned.m8n8.x{count}{trans}{space}.b16 {names(30, count)}, [{base}];"""
    result, outcome = registers(lines, rows, outputs=count)
    assert outcome.ok
    for thread in range(THREADS):
        warp, lane = thread // 32 * 32, thread % 32
        for matrix in range(count):
            start = [8 * int(rows[warp + 8 * matrix + row, 0]) for row in range(8)]
            pair = (2 * (lane % 4), lane // 4), (2 * (lane % 4) + 1, lane // 4)
            where = pair if trans else [(row, column) for column, row in pair]
            low, high = (start[row] + column for row, column in where)
            assert int(result[thread, matrix]) == low | high << 16, (thread, matrix)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("trans", ["", ".trans"])
def test_stmatrix_writes_what_ldmatrix_reads(registers, count: int, trans: str) -> None:
    rng = np.random.default_rng(9)
    values = rng.integers(0, 2**32, (THREADS, count), dtype=np.uint64).astype(np.uint32)
    order = np.concatenate([rng.permutation(32) for _ in range(WARPS)]).astype(np.uint32).reshape(-1, 1)
    address = "shr.u32 %r59, %r50, 5; mad.lo.u32 %r59, %r59, 32, %r10; mad.lo.u32 %r59, %r59, 16, %r55;"
    lines = f"""{SHARED} {address} stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%r59], {names(11, count)};
        ldmatrix.sync.aligned.m8n8.x{count}.shared.b16 {names(30, count)}, [%r59];"""
    result, outcome = registers(lines, order, values, outputs=count)
    assert outcome.ok
    if not trans:
        assert (result == values).all()
        return
    halves = values.view(np.uint16).reshape(WARPS, 8, 4, count, 2).transpose(0, 3, 1, 2, 4).reshape(WARPS, count, 8, 8)
    turned = result.view(np.uint16).reshape(WARPS, 8, 4, count, 2).transpose(0, 3, 1, 2, 4).reshape(WARPS, count, 8, 8)
    assert (turned == halves.swapaxes(2, 3)).all()


def test_movmatrix(registers) -> None:
    values = np.random.default_rng(4).integers(0, 2**32, (THREADS, 1), dtype=np.uint64).astype(np.uint32)
    result, outcome = registers("movmatrix.sync.aligned.m8n8.trans.b16 %r30, %r10;", values, outputs=1)
    assert outcome.ok
    before, after = (one.view(np.uint16).reshape(WARPS, 8, 8) for one in (values, result))
    assert (after == before.swapaxes(1, 2)).all()


def test_threads_of_a_warp_meet_again_before_a_product(registers) -> None:
    """The lanes of a warp come to an aligned instruction in any order."""
    ones = np.full((THREADS, 2), 0x3C003C00, np.uint32)
    line = f"""setp.lt.u32 %p1, %r50, 45; @%p1 bra ON; mov.u32 %r40, 5; ON:
        mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {names(30, 4)}, {names(10, 2)}, {names(12, 1)}, {NOTHING};"""
    for seed in range(3):
        result, outcome = registers(line, ones, ones[:, :1].copy(), seed=seed)
        assert outcome.ok
        assert (result.view(np.float32) == 8).all()


# ---- reports ----------------------------------------------------------------------------------------------------------

MMA = f"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {names(30, 4)}, {names(10, 2)}, {names(12, 1)}, {NOTHING};"
ZERO = " ".join(f"mov.u32 %r{number}, 0;" for number in range(30, 34))


def test_a_part_of_a_warp_cannot_multiply(registers) -> None:
    ones = np.zeros((THREADS, 3), np.uint32)
    _, outcome = registers(f"{ZERO} setp.lt.u32 %p1, %r50, 48; @%p1 {MMA} bar.sync 0;", ones)
    barrier = outcome.reports[1].where
    assert messages(outcome)[0] == (
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32: collective: warp 1 of block 0 waits here for the whole warp, and lanes 16-31 "
        f"never come; thread 48 waits in barrier 0 ({barrier}) (block 0, thread 32 and 15 more)"
    )


def test_exited_lanes_tear_a_warp(registers) -> None:
    ones = np.zeros((THREADS, 3), np.uint32)
    _, outcome = registers(f"{ZERO} setp.eq.u32 %p1, %r50, 7; @%p1 exit; {MMA}", ones)
    assert messages(outcome) == [
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32: collective: lanes 0-6, 8-31 alone of the warp reach this .aligned instruction: "
        "lane 7 already exited (block 0, thread 0 and 30 more)"
    ]


def test_an_incomplete_warp_cannot_multiply(registers) -> None:
    ones = np.zeros((40, 3), np.uint32)
    _, outcome = registers(MMA, ones, block=40)
    assert messages(outcome) == [
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32: collective: lanes 0-7 alone of the warp reach this .aligned instruction: "
        "lanes 8-31 not there (the block has 40 threads) (block 0, thread 32 and 7 more)"
    ]


def test_rows_are_aligned_and_inside(registers) -> None:
    rows = np.arange(THREADS, dtype=np.uint32).reshape(-1, 1) % 32 * 24
    lines = f"{SHARED} {fill(1024)} add.u32 %r59, %r10, %r55; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {names(30, 4)}, [%r59];"
    _, outcome = registers(lines, rows)
    start = outcome.reports[0].address - 24
    assert messages(outcome) == [
        f"ldmatrix.sync.aligned.m8n8.x4.shared.b16: misaligned: 16 bytes at address {start + 24:#x} (s byte 24), which is no multiple of 16"
        " (block 0, thread 1 and 47 more)"
    ]
    rows = np.full((THREADS, 1), 4096 - 16, np.uint32)
    rows[40] = 4096
    _, outcome = registers(lines, rows)
    assert messages(outcome) == [
        f"ldmatrix.sync.aligned.m8n8.x4.shared.b16: out of bounds: 16 bytes at .shared address {start + 4096:#x}: "
        "s has 4096 bytes, the access ends at byte 4112 (block 0, thread 40)"
    ]
