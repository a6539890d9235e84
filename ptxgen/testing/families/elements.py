"""Arithmetic on register tiles: chains of `ewise` and of register instructions, in place, shifted, on packed registers."""

from __future__ import annotations

from typing import Any

import numpy as np

import ptxgen as px
from ptxgen import b32
from ptxgen.testing.families.case import Case, Several, bits
from ptxgen.testing.families.threads import GROUP_AXES, THREADS, Threads

TYPES = ["u32", "s32", "u64", "s64", "u16", "s16", "f32", "f64", "f16", "bf16", "f16x2", "bf16x2"]
OPERATIONS = ["add", "sub", "mul", "min", "max", "fma", "and", "or", "xor", "neg", "abs", "select"]

FIELDS = {
    "dtype": TYPES,
    "threads": THREADS,
    "inner": GROUP_AXES,
    "rows": range(1, 4),
    "columns": range(1, 4),
    "operations": Several(OPERATIONS, 3),
    "places": Several([(d, a, b) for d in range(3) for a in range(3) for b in range(3)], 3),
    "ways": Several(["ewise", "apply", "shifted"], 3),
    "orders": Several(range(2), 3),
}

_MEANT = {
    "add": lambda a, b, c: a + b, "sub": lambda a, b, c: a - b, "mul": lambda a, b, c: a * b, "min": lambda a, b, c: px.min(a, b),
    "max": lambda a, b, c: px.max(a, b), "fma": lambda a, b, c: px.fma(a, b, c), "and": lambda a, b, c: a & b, "or": lambda a, b, c: a | b,
    "xor": lambda a, b, c: a ^ b, "neg": lambda a, b, c: -a, "abs": lambda a, b, c: px.abs(a),
    "select": lambda a, b, c: px.select(a < b, c, a),
}  # fmt: skip


def legal(operation: str, dtype: str) -> str:
    """The nearest operation that a type has, as a Python operator and as an instruction."""
    integer, packed = dtype[0] in "us", "x2" in dtype
    if operation in ("and", "or", "xor") and not integer:
        return "add"
    if operation in ("neg", "abs") and dtype[0] == "u":
        return "sub"
    if operation == "fma" and integer:
        return "mul"
    if operation == "select" and packed:
        return "max"
    return operation


def opcode(operation: str, dtype: str) -> str:
    """The instruction behind an operation."""
    if operation in ("and", "or", "xor"):
        return f"{operation}.b{dtype[1:]}"
    if operation in ("min", "max", "neg", "abs"):
        return f"{operation}.{dtype}"
    if dtype[0] in "us":
        return f"{'mul.lo' if operation == 'mul' else operation}.{dtype}"
    return f"{operation}.rn.{dtype}"


def computed(operation: str, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """NumPy's result, in the type of the operands; f64 holds what half, bf16 and f32 compute exactly, so it is rounded once."""
    if operation == "fma":
        return (a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)).astype(a.dtype)
    with np.errstate(over="ignore"):
        found = {
            "add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b,
            "min": lambda: np.minimum(a, b), "max": lambda: np.maximum(a, b),
            "and": lambda: a & b, "or": lambda: a | b, "xor": lambda: a ^ b, "neg": lambda: -a, "abs": lambda: np.abs(a),
            "select": lambda: np.where(a < b, c, a),
        }[operation]()  # fmt: skip
    return found.astype(a.dtype)


def build(dtype: str, threads: Any, inner: int, rows: int, columns: int, operations: Any, places: Any, ways: Any, orders: Any) -> Case:
    """Three tiles; each operation writes one of them from two of them (and the third), whole or shifted by a column."""
    them, packed = Threads(threads, inner), "x2" in dtype
    base = dtype.removesuffix("x2")
    element, width = getattr(px, base), 2 if packed else 1
    kind = element.numpy
    shape = them.parts, them.count, rows, (columns + 1) * width
    word = b32 if packed else getattr(px, f"b{element.bits}")
    steps = [(legal(one, dtype), place, way) for one, place, way in zip(operations, places, ways)]

    def parts(view: Any, shifted: bool) -> tuple[Any, Any]:
        """The part of a tile that is written and that is read."""
        return (view[..., :-1], view[..., 1:]) if shifted else (view, view)

    tensor = px.Tensor(shape, element, align=max(4, element.bits // 8))

    @px.kernel(grid=1, block=them.block)
    def kernel(A: tensor, B: tensor, C: tensor, D: tensor, E: tensor, F: tensor):
        with them.working():
            tiles = []
            for number, given in enumerate((A, B, C)):
                container = {"container": b32} if packed else {}
                order = (0, 1, 2) if orders[number] else (1, 0, 2)
                if packed:
                    held = them.registers((rows, columns + 1, 2), (*order[:2], -1), 0, element, **container)
                    held = held.view(*them.group, rows, (columns + 1) * 2)
                else:
                    held = them.registers((rows, columns + 1), order, 0, element)
                source = given[them.part()].view(*them.group, *shape[2:])
                words = held.view(word) if packed else held
                px.tile.apply(f"ld.global.{word.name}", ones(words), ones(source.view(word)), scope=them.scope)
                tiles.append(held.view(getattr(px, dtype)))
            for operation, (d, a, b), way in steps:
                to, _ = parts(tiles[d], way == "shifted")
                of, also, third = (parts(tiles[one], way == "shifted")[1] for one in (a, b, 3 - a - b if a != b else a))
                if way == "apply" and operation != "select":
                    sources = {"neg": (of,), "abs": (of,), "fma": (of, also, third)}.get(operation, (of, also))
                    px.tile.apply(opcode(operation, dtype), ones(to), *(ones(one) for one in sources), scope=them.scope)
                else:
                    px.tile.ewise(lambda x, y, z, meant=_MEANT[operation]: meant(x, y, z), to, of, also, third, scope=them.scope)
            for held, out in zip(tiles, (D, E, F)):
                target = out[them.part()].view(*them.group, *shape[2:])
                px.tile.apply(f"st.global.{word.name}", ones(target.view(word)), ones(held.view(word)), scope=them.scope)

    given = [values(base, number, shape) for number in range(3)]
    found = [one.copy() for one in given]
    for operation, (d, a, b), way in steps:
        third = 3 - a - b if a != b else a
        shift = width if way == "shifted" else 0
        size = shape[-1] - shift
        of, also, last = (found[one][..., shift:].copy() for one in (a, b, third))
        found[d][..., :size] = computed(operation, of, also, last)
    return Case(kernel, (*given, *(np.zeros(shape, kind) for _ in range(3))), dict(zip((3, 4, 5), found)))


def ones(view: Any) -> Any:
    """A view with an atom of one element."""
    return view.view(*view.shape, 1)


def values(dtype: str, seed: int, shape: Any) -> np.ndarray:
    """Any integers; small integers of the float types, three products of which no type overflows."""
    element = getattr(px, dtype)
    if dtype[0] in "us":
        return bits(seed, shape, element.bits).view(element.numpy)
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(element.numpy)
