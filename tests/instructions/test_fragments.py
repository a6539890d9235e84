"""The atoms of matrix instructions against the index formulas of the PTX ISA, element by element (9.7.16.5.1 to 9.7.16.5.17).

`g` and `t` are the ISA's groupID and threadID_in_group. A formula gives row and column of element `i` of a lane's fragment; rows and
columns of b are (k, n) there and (n, k) here.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from ptxgen.instructions.grammar import condition, forms
from ptxgen.instructions.registry import Match, family_entries
from ptxgen.instructions.tiles import atom_layout, atom_shape, evaluate_names

Formula = Callable[[int, int, int], tuple[int, int]]  # g, t, i -> row, column

# Shape and bits of an element -> how a lane's elements lie in a (m, k) and in b (k, n).
FORMULAS: dict[tuple[str, int], tuple[Formula, Formula]] = {
    ("m8n8k4", 64): (lambda g, t, i: (g, t), lambda g, t, i: (t, g)),
    ("m16n8k4", 64): (lambda g, t, i: (g + 8 * (i == 1), t), lambda g, t, i: (t, g)),
    ("m16n8k8", 64): (lambda g, t, i: (g + 8 * (i % 2), t if i < 2 else t + 4), lambda g, t, i: (t + 4 * i, g)),
    ("m16n8k16", 64): (
        lambda g, t, i: (g + 8 * (i % 2), i * 2 + t if i % 2 == 0 else i * 2 - 2 + t),
        lambda g, t, i: (t + 4 * i, g),
    ),
    ("m16n8k4", 32): (lambda g, t, i: (g if i == 0 else g + 8, t), lambda g, t, i: (t, g)),
    ("m16n8k8", 32): (
        lambda g, t, i: (g if i in (0, 2) else g + 8, t if i in (0, 1) else t + 4),
        lambda g, t, i: (t if i == 0 else t + 4, g),
    ),
    ("m16n8k8", 16): (lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1)), lambda g, t, i: (t * 2 + (i & 1), g)),
    ("m16n8k16", 16): (
        lambda g, t, i: (g if 0 <= i < 2 or 4 <= i < 6 else g + 8, t * 2 + (i & 1) + (8 if i >= 4 else 0)),
        lambda g, t, i: (t * 2 + (i & 1) + (8 if i >= 2 else 0), g),
    ),
    ("m8n8k16", 8): (lambda g, t, i: (g, t * 4 + i), lambda g, t, i: (t * 4 + i, g)),
    ("m16n8k16", 8): (lambda g, t, i: (g if i < 4 else g + 8, t * 4 + (i & 3)), lambda g, t, i: (t * 4 + i, g)),
    ("m16n8k32", 8): (
        lambda g, t, i: (g if 0 <= i < 4 or 8 <= i < 12 else g + 8, t * 4 + (i & 3) + (16 if i >= 8 else 0)),
        lambda g, t, i: (t * 4 + (i & 3) + (16 if i >= 4 else 0), g),
    ),
    ("m8n8k32", 4): (lambda g, t, i: (g, t * 8 + i), lambda g, t, i: (t * 8 + i, g)),
    ("m16n8k32", 4): (lambda g, t, i: (g if i < 8 else g + 8, t * 8 + (i & 7)), lambda g, t, i: (t * 8 + i, g)),
    ("m16n8k64", 4): (
        lambda g, t, i: (g if 0 <= i < 8 or 16 <= i < 24 else g + 8, t * 8 + (i & 7) + (32 if i >= 16 else 0)),
        lambda g, t, i: (t * 8 + (i & 7) + (32 if i >= 8 else 0), g),
    ),
    ("m8n8k128", 1): (lambda g, t, i: (g, t * 32 + i), lambda g, t, i: (t * 32 + i, g)),
    ("m16n8k128", 1): (lambda g, t, i: (g if i < 32 else g + 8, t * 32 + (i & 31)), lambda g, t, i: (t * 32 + i, g)),
    ("m16n8k256", 1): (
        lambda g, t, i: (g if 0 <= i < 32 or 64 <= i < 96 else g + 8, t * 32 + (i & 31) + (128 if i >= 64 else 0)),
        lambda g, t, i: (t * 32 + (i & 31) + (128 if i >= 32 else 0), g),
    ),
}  # fmt: skip

RESULT: dict[int, Formula] = {
    8: lambda g, t, i: (g, t * 2 + (i & 1)),
    16: lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1)),
}
"""Rows of the accumulator -> how a lane's elements lie in c and d (m, n)."""


def owners(match: Match, operand: str) -> tuple[np.ndarray, np.ndarray]:
    """Lane and number within its lane's registers of each element of an operand's atom."""
    tile = match.entry.tile
    assert tile is not None
    names = evaluate_names(tile, match)
    layout = atom_layout(tile.atoms[operand], names, match)
    assert layout.shape == atom_shape(tile.atoms[operand], names, match)
    table = layout.table()
    lanes, slots = np.asarray(table.thread), table.linear
    assert len(set(zip(lanes.ravel().tolist(), slots.ravel().tolist()))) == layout.size, "two elements lie in one place"
    return lanes, slots


def expected(formula: Formula, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Lane and element number of each matrix element, by inverting a formula of the ISA; it covers the matrix exactly once."""
    lanes, slots = np.full(shape, -1), np.full(shape, -1)
    for lane in range(32):
        for i in range(shape[0] * shape[1] // 32):
            at = formula(lane // 4, lane % 4, i)
            assert lanes[at] == -1
            lanes[at], slots[at] = lane, i
    assert (lanes >= 0).all()
    return lanes, slots


def opcodes(name: str, family: str = "matrix") -> list[Match]:
    """Every legal opcode of the entries whose name begins so and that have a tile form."""
    found = []
    for entry in family_entries(family):
        if entry.name.startswith(name) and entry.tile is not None:
            for form in forms(entry):
                found += [Match(form.opcode(bound), form, bound) for bound in form.combinations()]
    return [match for match in found if match.entry.tile is not None and condition(match.entry.tile.when).holds(match.bindings)]


PRODUCTS = [match for match in opcodes("mma") if ".m8n8k4" not in match.opcode or ".f64" in match.opcode]
QUARTERS = [match for match in opcodes("mma") if ".m8n8k4" in match.opcode and ".f16" in match.opcode]
by_opcode = {"ids": lambda match: match.opcode}


def test_every_product_has_a_formula() -> None:
    assert len(PRODUCTS) > 150
    bits = {(match.value(".shape"), 8 if ".kind" in match.bindings else match.type(".atype").bits) for match in PRODUCTS}
    assert bits == set(FORMULAS)


@pytest.mark.parametrize("match", PRODUCTS, **by_opcode)
def test_products_hold_their_elements_where_the_isa_says(match: Match) -> None:
    shape = match.value(".shape")
    m, n, k = map(int, re.findall(r"\d+", shape))
    bits = 8 if ".kind" in match.bindings else match.type(".atype").bits
    first, second = FORMULAS[shape, bits]
    for operand, formula, extents in (("a", first, (m, k)), ("b", second, (k, n)), ("c", RESULT[m], (m, n)), ("d", RESULT[m], (m, n))):
        lanes, slots = owners(match, operand)
        if operand == "b":
            lanes, slots = lanes.T, slots.T
        wanted_lanes, wanted_slots = expected(formula, extents)
        assert (lanes == wanted_lanes).all(), operand
        assert (slots == wanted_slots).all(), operand


@pytest.mark.parametrize("match", PRODUCTS, **by_opcode)
def test_registers_hold_the_elements_exactly(match: Match) -> None:
    """As many registers as the fragment's elements fill: no bit of a lane's registers is unused, but beside 6- and 4-bit elements."""
    for name, expression in (("a", ".atype"), ("b", ".btype"), ("c", ".ctype"), ("d", ".dtype")):
        contract = match.entry.operands[name]
        bits = 8 if ".kind" in match.bindings and name in "ab" else match.type(expression).bits
        _, slots = owners(match, name)
        assert (int(slots.max()) + 1) * bits == match.count(contract.vector) * max(32, match.type(contract.type).bits)


@pytest.mark.parametrize("match", QUARTERS, **by_opcode)
def test_four_products_of_eight_lanes_each(match: Match) -> None:
    """ISA 9.7.16.5.1: low and high lanes of each quad pair hold the two halves of the rows of a, and of the columns of b."""
    layouts = {name: owners(match, name) for name in "abcd"}
    for lane in range(32):
        q, high = lane % 16 // 4, 4 * (lane >= 16)
        for i in range(4):
            along, across = (lane % 4 + high, i), (i + high, lane % 4)
            for name, at in (
                ("a", along if match.value(".alayout") == "row" else across),
                ("b", along if match.value(".blayout") == "col" else across),
            ):
                assert (layouts[name][0][q][at], layouts[name][1][q][at]) == (lane, i)
        for name, type in (("c", ".ctype"), ("d", ".dtype")):
            for i in range(8):
                wide = match.value(type) == "f32"
                row = (lane & 1) + (i & 2) + high if wide else lane % 4 + high
                column = (i & 4) + (lane & 2) + (i & 1) if wide else i
                assert (layouts[name][0][q, row, column], layouts[name][1][q, row, column]) == (lane, i)


OTHERS = opcodes("mma", "sparse") + opcodes("mma", "scaled")


def test_every_sparse_and_scaled_product_is_a_tile_operation() -> None:
    entries = [*family_entries("sparse"), *family_entries("scaled")]
    assert len(entries) == 12 and all(entry.tile is not None for entry in entries)
    assert len(OTHERS) > 400


@pytest.mark.parametrize("match", [match for match in OTHERS if ".satfinite" not in match.bindings], **by_opcode)
def test_sparse_and_scaled_products_hold_their_elements_where_the_isa_says(match: Match) -> None:
    """ISA 9.7.16.6.2: a row's elements that are kept lie as those of a dense a of half the k; b lies as in dense products."""
    m, n, k = map(int, re.findall(r"\d+", match.value(".shape")))
    kind = match.value(".kind")
    bits = 4 if kind.startswith("kind::mxf4") else 8 if kind else match.type(".atype").bits
    e, kept = 32 // bits, k // 2 if ".sp" in match.opcode else k
    formulas: dict[str, tuple[Formula, tuple[int, int]]] = {
        "a": (lambda g, t, i: (g + 8 * (i // e % 2), t * e + i % e + 4 * e * (i // (2 * e))), (m, kept)),
        "b": (lambda g, t, i: (t * e + i % e + 4 * e * (i // e), g), (k, n)),
        "c": (RESULT[m], (m, n)),
        "d": (RESULT[m], (m, n)),
    }
    for operand, (formula, extents) in formulas.items():
        lanes, slots = owners(match, operand)
        found = expected(formula, extents)
        assert [np.array_equal(one, other.T if operand == "b" else other) for one, other in zip((lanes, slots), found)] == [True, True]
        registers = match.count(match.entry.operands[operand].vector)
        assert registers == -(-(slots.max() + 1) * match.type(match.entry.tile.atoms[operand].element).bits // 32)  # type: ignore[union-attr]
    for operand in {"e", "scale_a", "scale_b"} & set(match.entry.operands):
        lanes, slots = owners(match, operand)
        assert lanes.tolist() == list(range(32)) and not slots.any()


MOVES = opcodes("ldmatrix") + opcodes("stmatrix")
HALVES, OCTETS = ([match for match in MOVES if (".m8n8." in match.opcode) == halves] for halves in (True, False))


@pytest.mark.parametrize("match", HALVES, **by_opcode)
def test_moved_matrices_lie_row_by_row_in_groups_of_four_lanes(match: Match) -> None:
    """ISA 9.7.16.5.15: register i of lane 4 * r + w holds elements 2 * w and 2 * w + 1 of row r of matrix i; of column r with .trans."""
    lanes, slots = owners(match, "r")
    count = int(match.value(".num")[1:])
    assert lanes.shape == (count, 8, 8) and count == match.count(match.entry.operands["r"].vector)
    for i in range(count):
        for row in range(8):
            for element in range(8):
                r, c = (element, row) if ".trans" in match.bindings else (row, element)
                assert lanes[i, row, element] == 4 * r + c // 2
                assert slots[i, row, element] == 2 * i + c % 2


# For byte e of register r of a matrix: row and byte of the row in memory.
#   .m16n16 .trans: the transposed matrix's rows g and g + 8 in the two registers, four consecutive columns (ISA 9.7.16.5.15);
#   .m8n16: row g, four consecutive columns;
#   .m16n8 .trans: the transposed matrix's rows g and g + 8, two consecutive columns of each, as mma holds d (ISA 9.7.16.5.16).
OCTET_FORMULAS: dict[str, Callable[[int, int, int, int], tuple[int, int]]] = {
    "m16n16": lambda g, t, r, e: (4 * t + e, g + 8 * r),
    "m8n16": lambda g, t, r, e: (g, 4 * t + e),
    "m16n8": lambda g, t, r, e: (2 * t + e % 2, g + 8 * (e // 2)),
}


@pytest.mark.parametrize("match", OCTETS, **by_opcode)
def test_moved_matrices_of_bytes(match: Match) -> None:
    lanes, slots = owners(match, "r")
    shape = next(part for part in match.opcode.split(".") if part in OCTET_FORMULAS)
    registers = match.count(match.entry.operands["r"].vector) // int(match.value(".num")[1:])
    count, rows, width = lanes.shape
    assert (rows, width) == ((16, 16) if shape == "m16n16" else (8, 16)) and registers == rows // 8
    for i in range(count):
        for lane in range(32):
            for r in range(registers):
                for e in range(4):
                    at = OCTET_FORMULAS[shape](lane // 4, lane % 4, r, e)
                    assert (lanes[i][at], slots[i][at]) == (lane, 4 * (i * registers + r) + e)


@pytest.mark.parametrize("match", MOVES, **by_opcode)
def test_each_lane_gives_the_address_of_one_row(match: Match) -> None:
    lanes, offsets = owners(match, "p")
    count, rows, width = lanes.shape
    for i in range(count):
        for row in range(rows):
            assert lanes[i, row].tolist() == [rows * i + row] * width
            assert offsets[i, row].tolist() == list(range(width))
