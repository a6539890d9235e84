"""Video instructions in the emulator, against the ISA's pseudocode in Python integers."""

from __future__ import annotations

import numpy as np
import pytest

RNG = np.random.default_rng(11)
EDGES = np.array([0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 0x80FF7F00, 0x00FF80FF], np.uint32)
A = np.concatenate([RNG.integers(0, 2**32, 51, dtype=np.uint32), EDGES])
B = np.concatenate([RNG.integers(0, 2**32, 51, dtype=np.uint32), RNG.permutation(EDGES)])
C = np.concatenate([RNG.integers(0, 2**32, 51, dtype=np.uint32), RNG.permutation(EDGES)])
PARTS = ["", ".b0", ".b3", ".h0", ".h1"]


def part(word: int, selector: str, signed: bool) -> int:
    width = {"": 32, "b": 8, "h": 16}[selector[1:2]]
    value = word >> int(selector[2:] or 0) * width & (1 << width) - 1
    return value - (1 << width) if signed and value >> width - 1 else value


def clamp(value: int, width: int, signed: bool) -> int:
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
    return max(low, min(value, high))


def average(a: int, b: int) -> int:
    """Half of the sum, halves away from zero."""
    total = a + b
    return (total + 1) // 2 if total >= 0 else -((-total + 1) // 2)


PRIMARY = {
    "vadd": lambda a, b: a + b, "vsub": lambda a, b: a - b, "vabsdiff": lambda a, b: abs(a - b), "vmin": min, "vmax": max, "vavrg": average,
}  # fmt: skip
COMPARE = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


def ran(apply, line: str) -> list[int]:
    return [int(value) for value in apply(line, "u4", A, B, C)]


def expected(function) -> list[int]:
    return [function(int(a), int(b), int(c)) % 2**32 for a, b, c in zip(A, B, C)]


@pytest.mark.parametrize("name", ["vadd", "vsub", "vabsdiff", "vmin", "vmax"])
@pytest.mark.parametrize("types", ["u32.u32.u32", "s32.s32.s32", "s32.u32.s32", "u32.s32.u32"])
@pytest.mark.parametrize("sat", ["", ".sat"])
def test_scalar_arithmetic(apply, name: str, types: str, sat: str) -> None:
    d_signed, a_signed, b_signed = (one[0] == "s" for one in types.split("."))
    a_part, b_part, d_part = RNG.choice(PARTS), RNG.choice(PARTS), RNG.choice(PARTS[1:])

    def primary(a: int, b: int, selector: str) -> int:
        value = PRIMARY[name](part(a, a_part, a_signed), part(b, b_part, b_signed))
        return clamp(value, {"": 32, "b": 8, "h": 16}[selector[1:2]], d_signed) if sat else value

    operands = f"{{a}}{a_part}, {{b}}{b_part}"
    assert ran(apply, f"{name}.{types}{sat} {{d}}, {operands};") == expected(lambda a, b, c: primary(a, b, ""))
    for second, combine in (("add", lambda t, c: t + c), ("min", min), ("max", max)):
        line = f"{name}.{types}{sat}.{second} {{d}}, {operands}, {{c}};"
        assert ran(apply, line) == expected(lambda a, b, c, combine=combine: combine(primary(a, b, ""), part(c, "", d_signed)))
    width = 8 if d_part[1] == "b" else 16
    first = int(d_part[2]) * width
    mask = (1 << width) - 1 << first
    merged = expected(lambda a, b, c: primary(a, b, d_part) << first & mask | c & ~mask)
    assert ran(apply, f"{name}.{types}{sat} {{d}}{d_part}, {operands}, {{c}};") == merged


@pytest.mark.parametrize("types", ["u32.u32", "s32.s32", "s32.u32", "u32.s32"])
@pytest.mark.parametrize("mode", ["clamp", "wrap"])
def test_shifts(apply, types: str, mode: str) -> None:
    d_signed, a_signed = (one[0] == "s" for one in types.split("."))

    def amount(b: int) -> int:
        return b % 32 if mode == "wrap" else min(b, 32)

    shifted = expected(lambda a, b, c: part(a, "", a_signed) << amount(part(b, ".b0", False)))
    assert ran(apply, f"vshl.{types}.u32.{mode} {{d}}, {{a}}, {{b}}.b0;") == shifted
    right = expected(lambda a, b, c: clamp(part(a, "", a_signed) >> amount(part(b, ".b1", False)), 32, d_signed))
    assert ran(apply, f"vshr.{types}.u32.sat.{mode} {{d}}, {{a}}, {{b}}.b1;") == right
    added = expected(lambda a, b, c: (part(a, ".h1", a_signed) << amount(part(b, ".b2", False))) + c)
    assert ran(apply, f"vshl.{types}.u32.{mode}.add {{d}}, {{a}}.h1, {{b}}.b2, {{c}};") == added


@pytest.mark.parametrize("comparison", COMPARE)
def test_comparisons(apply, comparison: str) -> None:
    compare = COMPARE[comparison]
    outcome = expected(lambda a, b, c: compare(part(a, "", True), part(b, ".h0", False)))
    assert ran(apply, f"vset.s32.u32.{comparison} {{d}}, {{a}}, {{b}}.h0;") == outcome
    largest = expected(lambda a, b, c: max(compare(a, b), c))
    assert ran(apply, f"vset.u32.u32.{comparison}.max {{d}}, {{a}}, {{b}}, {{c}};") == largest
    merged = expected(lambda a, b, c: compare(a, part(b, ".b1", True)) << 16 | c & 0xFF00FFFF)
    assert ran(apply, f"vset.u32.s32.{comparison} {{d}}.b2, {{a}}, {{b}}.b1, {{c}};") == merged


MADS = [
    ("u32.u32.u32", "{a}, {b}, {c}", False, lambda a, b, c: a * b + c, False),
    ("s32.s32.s32", "{a}, {b}, {c}", True, lambda a, b, c: a * b + c, True),
    ("s32.u32.u32", "-{a}, {b}, {c}", True, lambda a, b, c: -a * b + c, False),
    ("s32.u32.u32", "-{a}, -{b}, {c}", False, lambda a, b, c: a * b + c, False),
    ("s32.u32.u32", "{a}, {b}, -{c}", True, lambda a, b, c: a * b - c, False),
    ("s32.s32.s32", "{a}, -{b}, {c}", True, lambda a, b, c: -a * b + c, True),
]


@pytest.mark.parametrize("types, operands, final, exact, signed", MADS)
@pytest.mark.parametrize("scale", ["", ".shr7", ".shr15"])
@pytest.mark.parametrize("sat", ["", ".sat"])
def test_multiply_and_add(apply, types, operands, final, exact, signed, scale, sat) -> None:
    def value(a: int, b: int, c: int) -> int:
        total = exact(part(a, "", signed), part(b, "", signed), part(c, "", final)) >> int(scale[4:] or 0)
        return clamp(total, 32, final) if sat else total

    assert ran(apply, f"vmad.{types}{sat}{scale} {{d}}, {operands};") == expected(value)


def test_multiply_and_add_one_more(apply) -> None:
    rounded = expected(lambda a, b, c: part(a, ".h0", False) * part(b, ".b3", False) + c + 1 >> 7)
    assert ran(apply, "vmad.u32.u32.u32.po.shr7 {d}, {a}.h0, {b}.b3, {c};") == rounded
    assert ran(apply, "vmad.u32.u32.u32.po.shr7 {d}, -{a}.h0, -{b}.b3, {c};") == rounded


def lanes(a: int, b: int, selector: str, count: int, signed: bool) -> list[int]:
    letter = "h" if count == 2 else "b"
    return [part(a if int(digit) < count else b, f".{letter}{int(digit) % count}", signed) for digit in reversed(selector)]


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("name", [*PRIMARY, "vset"])
@pytest.mark.parametrize("types", ["u32.u32.u32", "s32.s32.s32", "s32.u32.s32", "u32.s32.u32"])
def test_parallel_arithmetic(apply, count: int, name: str, types: str) -> None:
    d_signed, a_signed, b_signed = (one[0] == "s" for one in types.split("."))
    letter, width = ("h", 16) if count == 2 else ("b", 8)
    comparison = RNG.choice([*COMPARE])
    compute = (lambda a, b: int(COMPARE[comparison](a, b))) if name == "vset" else PRIMARY[name]
    if name == "vset":
        d_signed = False
    opcode = f"{name}{count}.{types[4:]}.{comparison}" if name == "vset" else f"{name}{count}.{types}"

    def results(a: int, b: int, left: str, right: str, sat: bool) -> list[int]:
        pairs = zip(lanes(a, b, left, count, a_signed), lanes(a, b, right, count, b_signed))
        return [clamp(compute(*pair), width, d_signed) if sat else compute(*pair) for pair in pairs]

    def merge(values: list[int], c: int, chosen: list[int]) -> int:
        for place in chosen:
            mask = (1 << width) - 1 << place * width
            c = c & ~mask | values[place] << place * width & mask
        return c

    plain = ("10", "32") if count == 2 else ("3210", "7654")
    everything = [*range(count)]
    assert ran(apply, f"{opcode} {{d}}, {{a}}, {{b}}, {{c}};") == expected(
        lambda a, b, c: merge(results(a, b, *plain, False), c, everything)
    )
    left, right = ("".join(map(str, RNG.integers(0, 2 * count, count))) for _ in range(2))
    selected = f"{{a}}.{letter}{left}, {{b}}.{letter}{right}, {{c}};"
    if name != "vset":
        assert ran(apply, f"{opcode}.sat {{d}}.{letter}1, {selected}") == expected(
            lambda a, b, c: merge(results(a, b, left, right, True), c, [1])
        )
    mask, chosen = ("h10", [0, 1]) if count == 2 else ("b320", [0, 2, 3])
    assert ran(apply, f"{opcode}.add {{d}}.{mask}, {selected}") == expected(
        lambda a, b, c: c + sum(results(a, b, left, right, False)[place] for place in chosen)
    )
