"""The tile words of the contract language: how one instruction holds each operand of a tile operation.

An operand's **atom** says, for every element that one instruction takes, which of the issuing threads holds it (or provides its address)
and where: in which of the operand's registers, or how far behind the address. Atoms are layouts in the notation of `ptxgen.layouts`, over
numbers that the opcode's qualifiers spell: ``S[((2, 8), (kk, 4, e)) : ((e, 4@laneid), (2*e, 1@laneid, 1))]``.

An operand without an atom has the default one: `count` consecutive words, one thread's own.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from ptxgen.layouts.errors import PtxgenError

if TYPE_CHECKING:
    from ptxgen.instructions.descriptors import Descriptor
    from ptxgen.instructions.registry import Match
    from ptxgen.layouts.layout import Layout

__all__ = [
    "LANE", "Atom", "Extent", "Field", "Tile", "atom_inside", "atom_layout", "atom_shape", "atom_starts", "chosen", "evaluate_names",
    "field_value", "legal_extents", "names_of",
]  # fmt: skip


class Atom:
    """One operand's atom.

    Attributes
    ----------
    shape : str
        Extents of the operand's last axes, e.g. ``"16, k"``; ``A if CONDITION else B`` chooses by the qualifiers.
    layout : str
        Where each element lies: thread axes count from the first thread of the issuing group, ``m`` in elements from the operand's first
        register or address. ``A if CONDITION else B`` chooses by the qualifiers.
    element : str
        Type expression of one element.
    repeats : str
        The repeat axes that the operand takes part in, outermost first: ``"* M K"``; ``*`` stands for any number of axes.
    place : str
        ``"registers"``; ``"memory"`` for addresses that the threads of the layout provide; ``"descriptor"`` for a matrix in shared memory
        that a descriptor describes: then the layout is one of the canonical ones, and `layout` stays empty; ``"tensor map"`` for a box of a
        tensor and ``"box"`` for its dense image in shared memory; ``"lanes"`` for memory of lanes and columns, all of whose elements the
        instruction finds from one address: the layout's steps from lane to lane are `LANE` columns.
    starts : str
        For ``"lanes"``: in which lanes the address may lie, parted by semicolons; `w` is the issuing warp's number modulo 4.
        ``A if CONDITION else B`` chooses by the qualifiers.
    inside : str
        For ``"lanes"``: arithmetic on names, the bits of which a start inside its column is a multiple. The address names the column; where
        in it the operand begins is a `Field`'s to say. Empty where operands begin at columns.
    descriptor : Descriptor or None
        The bit fields.
    majors : str
        The majors that the operand may have, the words of canonical layouts; ``A if CONDITION else B`` chooses by the qualifiers.
    copies : str
        How many times the operand lies there, one behind the other along its first axis: arithmetic on names. Empty for once.
    blocks : str
        What each block of a pair holds of the operand: ``"half"`` of its first axis, or a ``"copy"``; empty where there are no pairs.
    constants : mapping of str to str
        Names that `shape` and `layout` speak of and that a constant operand gives: ``"selector"``, ``"selector_a.0"`` for the first of
        several, ``"stride or k"`` for one that may be left out.
    """

    __slots__ = (
        "blocks", "constants", "copies", "descriptor", "element", "inside", "layout", "majors", "place", "repeats", "shape", "starts",
    )  # fmt: skip

    def __init__(
        self,
        shape: str = "",
        layout: str = "",
        *,
        element: str = "b8",
        repeats: str = "*",
        place: str = "registers",
        descriptor: Descriptor | None = None,
        majors: str = "",
        starts: str = "0",
        inside: str = "",
        copies: str = "",
        blocks: str = "",
        constants: Mapping[str, str] | None = None,
    ) -> None:
        self.copies = copies
        self.blocks = blocks
        self.constants = constants or {}
        self.starts = starts
        self.inside = inside
        self.descriptor = descriptor
        self.majors = majors
        self.shape = shape
        self.layout = layout
        self.element = element
        self.repeats = repeats
        self.place = place


class Extent:
    """An extent that no qualifier spells: the view of one operand gives it.

    Attributes
    ----------
    operand : str
    axis : int
        Of the operand's atom, counted from the last one: -1, -2.
    values : str
        What it may be, parted by semicolons: arithmetic on names, or three such as ``first : last : step``. ``A if CONDITION else B``
        chooses by the qualifiers.
    """

    __slots__ = ("axis", "operand", "values")

    def __init__(self, operand: str, axis: int, values: str) -> None:
        self.operand = operand
        self.axis = axis
        self.values = values


class Field:
    """Some bits of a constant that follows from the operands.

    Attributes
    ----------
    low : int
        The lowest bit.
    source : str
        ``type(a b)``: the code of the element type of whichever of the operands there is; ``types(a b)``: of all of them, which have one;
        ``major(a)``: 1 where operand a is MN-major; ``inside(a)``: the bytes from the column that a's address names to where a begins, for
        each repeat; else arithmetic on names.
    codes : mapping of str to int
        Element type -> code.
    when : str
        The condition under which these bits say this; otherwise they are 0, or another field's.
    """

    __slots__ = ("codes", "low", "source", "when")

    def __init__(self, low: int, source: str, codes: Mapping[str, int] | None = None, *, when: str = "") -> None:
        self.low = low
        self.source = source
        self.codes = codes or {}
        self.when = when


LANE = 1 << 16
"""Columns from one lane of memory of lanes and columns to the next, as its addresses count them."""


class Tile:
    """How an instruction is repeated over tiles.

    Attributes
    ----------
    atoms : mapping of str to Atom
        By operand name.
    names : str
        Numbers that the atoms speak of, one a line: ``m, n, k = .shape`` takes the numbers in a qualifier's value, anything else is
        arithmetic on names, with ``bits(.atype)`` for the width of a type: ``e = 32 // bits(.atype)``; ``A if CONDITION else B`` chooses.
    order : str
        The repeat axes, outermost first: ``"* M N K"``.
    chain : mapping of str to str
        Operand -> the operand (or constant) that takes its place from the second step on of the innermost axis: mma's C is D once K has
        begun.
    when : str
        The condition under which the atoms hold; other variants have no tile form.
    sized : mapping of str to str
        Memory operand -> the constant operand that says how many bytes it moves (alternatives parted by blanks, as forms name it).
        Where the constant is left out, the view's last axis decides.
    implied : mapping of str to str or tuple of Field
        Constant operands that need not be given: a number; ``major(a)`` for 1 where operand a turned out MN-major and 0 where K-major; or
        fields of bits.
    extents : mapping of str to Extent
        Names that views give; `names` may use them.
    constants : mapping of str to str
        Names of numbers that a constant operand gives, 0 where a form has none.
    words : mapping of str to Atom
        What is inside the words of an operand, where that is finer than the operand's atom: nibbles of metadata, bytes with scales.
    unspecified : mapping of str to str
        Operands whose elements lie where the ISA does not tell, and what it says instead.
    """

    __slots__ = (
        "atoms", "chain", "constants", "extents", "implied", "names", "order", "sized", "unspecified", "when", "words",
    )  # fmt: skip

    def __init__(
        self,
        atoms: Mapping[str, Atom],
        *,
        names: str = "",
        order: str = "*",
        chain: Mapping[str, str] | None = None,
        when: str = "",
        sized: Mapping[str, str] | None = None,
        implied: Mapping[str, str | tuple[Field, ...]] | None = None,
        extents: Mapping[str, Extent] | None = None,
        constants: Mapping[str, str] | None = None,
        words: Mapping[str, Atom] | None = None,
        unspecified: Mapping[str, str] | None = None,
    ) -> None:
        self.words = words or {}
        self.unspecified = unspecified or {}
        self.extents = extents or {}
        self.constants = constants or {}
        self.implied = implied or {}
        self.atoms = atoms
        self.sized = sized or {}
        self.when = when
        self.names = names
        self.order = order
        self.chain = chain or {}


def names_of(tile: Tile, *texts: str) -> set[str]:
    """The names that texts speak of, and those that these are computed from."""
    found = {name for text in texts for name in _spoken(text)}
    for targets, text in reversed(_program(tile.names)):
        if not found.isdisjoint(targets):
            found |= _spoken(text)
    return found


@lru_cache(maxsize=None)
def _program(text: str) -> tuple[tuple[tuple[str, ...], str], ...]:
    """The assignments of `Tile.names`."""
    found = []
    for line in filter(None, (line.strip() for line in text.replace(";", "\n").splitlines())):
        left, separator, right = line.partition("=")
        if not separator:
            raise PtxgenError(f"contract names {line!r}: an assignment is expected")
        found.append((tuple(name.strip() for name in left.split(",")), right.strip()))
    return tuple(found)


def evaluate_names(tile: Tile, match: Match, given: Iterable[tuple[str, int]] = ()) -> dict[str, int]:
    """The numbers that a tile's atoms speak of, for one opcode; `given` are those that views give."""
    return dict(_evaluated(tile, match, tuple(given)))


@lru_cache(maxsize=1024)
def _evaluated(tile: Tile, match: Match, given: tuple[tuple[str, int], ...]) -> dict[str, int]:
    names: dict[str, int] = {"LANE": LANE, **dict(given)}
    for targets, text in _program(tile.names):
        if text.startswith("."):
            numbers = [int(number) for number in re.findall(r"\d+", str(match.bindings.get(text, "")))]
            if len(numbers) < len(targets):
                numbers = [1] * len(targets)  # a multiplicity that is left out
            names.update(zip(targets, numbers))
        else:
            names[targets[0]] = _arithmetic(_branch(text, match))(names, match)
    return names


def _branch(text: str, match: Match) -> str:
    """The branch of arithmetic that the qualifiers choose; type expressions in it choose by themselves."""
    masked, types = _masked(text)
    if " if " not in masked:
        return text
    return re.sub(r"bits\((\d+)\)", lambda one: types[int(one[1])], chosen(masked, match))


@lru_cache(maxsize=None)
def _masked(text: str) -> tuple[str, tuple[str, ...]]:
    """Arithmetic with numbers for the type expressions in ``bits()``, and these in turn."""
    types = re.findall(r"bits\([^()]*\)", text)
    numbers = iter(range(len(types)))
    return re.sub(r"bits\([^()]*\)", lambda _: f"bits({next(numbers)})", text), tuple(types)


@lru_cache(maxsize=None)
def _arithmetic(text: str) -> Callable[[Mapping[str, int], Match], int]:
    """Compile integer arithmetic over names and ``bits(type expression)``."""
    types = re.findall(r"bits\(([^()]*)\)", text)
    tree = ast.parse(re.sub(r"bits\([^()]*\)", lambda found: f"_{types.index(found[0][5:-1])}", text), mode="eval").body

    def compute(names: Mapping[str, int], match: Match) -> int:
        widths = {f"_{at}": match.type(expression.strip()).element.bits for at, expression in enumerate(types)}
        return _value(tree, {**names, **widths}, text)

    return compute


_OPERATIONS: dict[type, Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
}


def _value(node: ast.expr, names: Mapping[str, int], text: str) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_value(node.left, names, text), _value(node.right, names, text))
    raise PtxgenError(f"contract arithmetic {text!r}: only names and + - * // are known")


def atom_layout(atom: Atom, names: Mapping[str, int], match: Match) -> Layout:
    """The atom's layout in elements, reshaped to its shape."""
    text = chosen(atom.layout, match)
    spoken = tuple((name, names[name]) for name in _spoken(text) if name in names)
    return _laid(text, spoken, atom_shape(atom, names, match))


@lru_cache(maxsize=512)
def _laid(text: str, names: tuple[tuple[str, int], ...], shape: tuple[int, ...]) -> Layout:
    """A layout by its text, of which opcodes by the hundred have few."""
    from ptxgen.layouts.parse import parse

    return parse(text, **dict(names)).reshape(shape)


@lru_cache(maxsize=512)
def _spoken(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[A-Za-z_]\w*", text))


def chosen(text: str, match: Match) -> str:
    """The branch of ``A if CONDITION else B`` that the qualifiers choose."""
    from ptxgen.instructions.grammar import condition

    while (found := re.fullmatch(r"(.+?) if (.+?) else (.+)", text)) is not None:
        text = found[1] if condition(found[2]).holds(match.bindings) else found[3]
    return text


def atom_shape(atom: Atom, names: Mapping[str, int], match: Match) -> tuple[int, ...]:
    """The extents of the atom's axes."""
    text = chosen(atom.shape, match)
    nodes = ast.parse(f"({text},)", mode="eval").body
    assert isinstance(nodes, ast.Tuple)
    return tuple(_value(node, names, text) for node in nodes.elts)


def atom_starts(atom: Atom, names: Mapping[str, int], match: Match, warp: int) -> list[int]:
    """The lanes in which the address of an atom of lanes and columns may lie, for a warp by its number modulo 4."""
    known = {**names, "w": warp}
    return sorted({_arithmetic(text.strip())(known, match) for text in chosen(atom.starts, match).split(";")})


def atom_inside(atom: Atom, names: Mapping[str, int], match: Match) -> int:
    """The bits of which a start inside its column is a multiple; 0 where operands begin at columns."""
    return _arithmetic(atom.inside)(names, match) if atom.inside else 0


def legal_extents(extent: Extent, names: Mapping[str, int], match: Match) -> list[range]:
    """What an extent that a view gives may be."""
    found = []
    for text in chosen(extent.values, match).split(";"):
        first, *rest = (_arithmetic(part.strip())(names, match) for part in text.split(":"))
        last, step = rest or (first, 1)
        found.append(range(first, last + 1, step))
    return found


def field_value(source: str, names: Mapping[str, int], match: Match) -> int:
    """The value of a field that is arithmetic on names."""
    return _arithmetic(source)(names, match)
