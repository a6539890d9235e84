"""Where the hardware holds the operands of an instruction, by opcode: fragments, shared matrices, tensor memory, metadata and scales.

The layouts are the contracts' own (see `ptxgen.instructions.tiles`), with every number filled in. An operand's axes are written as its
contract writes them: a is (m, k), b (n, k), c and d (m, n), scales (m or n, vectors), metadata (m, chunks of k); matrices that ldmatrix
moves are (matrix, row, element of the row in memory).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from ptxgen.instructions.arguments import OPCODE
from ptxgen.instructions.descriptors import CANONICAL, Canonical, Descriptor
from ptxgen.instructions.grammar import condition, forms, operand_names
from ptxgen.instructions.registry import Match, entries, lookup
from ptxgen.instructions.tiles import (
    LANE,
    Atom,
    Tile,
    atom_layout,
    atom_shape,
    chosen,
    evaluate_names,
    field_value,
    legal_extents,
    names_of,
)
from ptxgen.layouts.arguments import TEXT, takes
from ptxgen.layouts.axes import AxisTerm, TCol, TLane, cbx, m
from ptxgen.layouts.dims import Dim, Dims
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import exact_int
from ptxgen.layouts.layout import Layout
from ptxgen.layouts.parse import parse
from ptxgen.layouts.spec import Replica, Shard
from ptxgen.layouts.swizzle import Swizzle

__all__ = ["HardwareOperand", "canonical_shared", "hardware_layout", "hardware_layouts", "hardware_operands"]

_PLACES = {
    "registers": "registers", "memory": "addresses", "descriptor": "shared memory", "lanes": "tensor memory",
}  # fmt: skip
_CELL = 32  # bits of a column of tensor memory
_UNIT = 128  # bits that a descriptor's strides count
_MAJORS = {"k": "k", "mn": "mn", "mn32": "mn"}


class HardwareOperand:
    """One operand of one opcode, and where it may lie.

    Attributes
    ----------
    opcode, operand : str
        As the contract spells them.
    place : str
        ``"registers"``: positions are a thread and `m` in its registers, from the operand's first one on. ``"addresses"``: a thread that
        gives an address, and `m` behind it. ``"shared memory"``: `m` behind the start of a descriptor. ``"tensor memory"``: `TLane` and
        `TCol` from the address on, and `m` inside a column of 32 bits.
    unit : str
        The type of what `m` counts; ``"bit"`` for layouts in bits.
    choices : mapping of str to tuple
        What `layout` takes besides, each with its values; those that may be left out begin with what is then taken.
    section : str
        Of the PTX ISA.
    """

    __slots__ = ("_atom", "_match", "_spoken", "_tile", "choices", "opcode", "operand", "place", "section", "unit")

    def __init__(self, match: Match, tile: Tile, operand: str, atom: Atom) -> None:
        self._match, self._tile, self._atom = match, tile, atom
        self.opcode, self.operand, self.section = match.opcode, operand, match.entry.section
        self.place = _PLACES[atom.place]
        self._spoken = names_of(tile, chosen(atom.shape, match), chosen(atom.layout, match), atom.copies)
        self.unit = "bit" if atom.element == "bit" else match.type(atom.element).element.name
        self.choices = self._choices()

    def __repr__(self) -> str:
        return f"<{self.operand} of {self.opcode} in {self.place}>"

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the layout's axes, where they have some: ``("m", "k")``, ``("lane", "column")``; else empty."""
        extents = len(chosen(self._atom.shape, self._match).split(","))
        repeated = tuple(name.lower() for name in self._atom.repeats.split() if name != "*")
        if repeated:
            return repeated if self._atom.place == "descriptor" or len(repeated) == extents else ()
        in_lanes = any(atom.place == "lanes" for atom in self._tile.atoms.values())
        return ("lane", "column") if in_lanes and extents == 2 else ()

    def _choices(self) -> Mapping[str, tuple[Any, ...]]:
        found: dict[str, tuple[Any, ...]] = {name: self._legal(name, {}) for name in self._needed()}
        for name, source in {**self._tile.constants, **self._atom.constants}.items():
            if name in self._spoken:
                found[name] = self._constant(source)
        if self._atom.place == "descriptor":
            found["major"] = tuple(dict.fromkeys(_MAJORS[word] for word in self.majors))
            swizzles = {one.swizzle for one in self._canonical}
            found["swizzle"] = tuple(sorted(swizzles, reverse=True))
        if self._paired():
            found["pair"] = (False, True)
        return found

    def _needed(self) -> list[str]:
        """The extents that no qualifier spells and that the layout speaks of."""
        return [name for name in self._tile.extents if name in self._spoken]

    def _legal(self, name: str, given: Mapping[str, int]) -> tuple[int, ...]:
        extent = self._tile.extents[name]
        others = self._with_others(given, before=name)
        names = evaluate_names(self._tile, self._match, others) if others else {}  # the first extent's values speak of no other
        return tuple(sorted({value for values in legal_extents(extent, names, self._match) for value in values}))

    def _with_others(self, given: Mapping[str, int], before: str = "") -> tuple[tuple[str, int], ...]:
        """The extents, up to one of them, with the largest for those that are not given."""
        found: dict[str, int] = {}
        for name in self._tile.extents:
            if name == before:
                break
            found[name] = given[name] if name in given else max(self._legal(name, found))
        return tuple(found.items())

    def _constant(self, source: str) -> tuple[int, ...]:
        if source[0].isdigit():
            return tuple(map(int, source.split()))
        operand, _, place = source.partition(" ")[0].partition(".")
        values = self._match.entry.operands[operand].values
        if isinstance(values, tuple) and place:
            return tuple(values[int(place)])  # type: ignore[arg-type]
        return tuple(values or ())  # type: ignore[arg-type]

    def _paired(self) -> bool:
        return bool(self._atom.blocks) and self._match.value(".cta_group") == "cta_group::2"

    # ---- the layout ----------------------------------------------------------------------------------------------------

    def layout(self, **choices: Any) -> Layout:
        """The layout, for these choices; see `hardware_layout`."""
        self._check(choices)
        names = self._names(choices)
        if self._atom.place == "descriptor":
            made = self._shared(names, choices)
        else:
            made = self._parsed(names)
            if self._atom.place == "lanes":
                made = _in_tensor_memory(made, _CELL // self._bits)
        if self._atom.copies:
            made = _replicated(made, field_value(self._atom.copies, names, self._match))
        return _of_pair(made, self._atom.blocks) if choices.get("pair") else made

    @property
    def descriptor(self) -> Descriptor | None:
        """The bit fields of the descriptor that names a matrix in shared memory."""
        return self._atom.descriptor

    @property
    def majors(self) -> list[str]:
        """The majors of such a matrix, as its contract calls them."""
        return chosen(self._atom.majors, self._match).split()

    @property
    def _canonical(self) -> list[Canonical]:
        """The canonical layouts that it may have."""
        return [one for one in CANONICAL if one.word in self.majors]

    @property
    def _bits(self) -> int:
        return self._match.type(self._atom.element).element.bits

    def _parsed(self, names: Mapping[str, int]) -> Layout:
        if self.unit != "bit":
            return atom_layout(self._atom, names, self._match)
        laid = parse(chosen(self._atom.layout, self._match), **names)
        return Layout(Shard(laid.dims), offset=laid.offset, unit="bit").reshape(atom_shape(self._atom, names, self._match))

    def _check(self, choices: Mapping[str, Any]) -> None:
        known = {*self.choices, *(("shape", "lead", "stride") if self._atom.place == "descriptor" else ())}
        for name, value in choices.items():
            if name not in known:
                takes = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
                raise LayoutError(f"{name} is no choice for {self.operand} of {self.opcode}", legal=takes)
            legal = self.choices.get(name, ())
            swizzled = name == "swizzle" and any(one.has(value) for one in self._canonical)
            if name not in self._tile.extents and legal and value not in legal and not swizzled:
                raise LayoutError(
                    f"{name} = {value!r} for {self.operand} of {self.opcode}", legal=f"{name} = {' or '.join(map(repr, legal))}"
                )

    def _names(self, choices: Mapping[str, Any]) -> dict[str, int]:
        given: dict[str, int] = {}
        needed = self._needed()
        for name in self._tile.extents:
            if name in choices:
                given[name] = exact_int(choices[name], name)
                legal = self._legal(name, given)
                if given[name] not in legal:
                    raise self._illegal(f"{name} = {given[name]}", name, legal)
            elif name in needed:
                raise self._illegal(f"{name} is not given, and no qualifier spells it", name, self._legal(name, given))
        known = dict(self._with_others(given))
        for name in self._tile.constants:
            if name in self.choices and name not in choices:
                raise LayoutError(f"{self.operand} of {self.opcode}: {name} is not given", legal=f"{name} = a number of columns")
            known[name] = exact_int(choices.get(name, 0), name)
        names = dict(evaluate_names(self._tile, self._match, tuple(known.items())))
        for name, source in self._atom.constants.items():
            if name in self.choices:
                default = source.partition(" or ")[2]
                names[name] = exact_int(choices.get(name, names[default] if default else self.choices[name][0]), name)
        return names

    def _illegal(self, problem: str, name: str, legal: tuple[int, ...]) -> LayoutError:
        step = legal[1] - legal[0] if len(legal) > 4 else 0
        regular = step and legal == tuple(range(legal[0], legal[-1] + 1, step))
        listed = f"{legal[0]} to {legal[-1]} in steps of {step}" if regular else ", ".join(map(str, legal))
        return LayoutError(f"{self.operand} of {self.opcode}: {problem}", legal=f"{name} = {listed}")

    # ---- shared memory -------------------------------------------------------------------------------------------------

    def _shared(self, names: Mapping[str, int], choices: Mapping[str, Any]) -> Layout:
        atom = atom_shape(self._atom, names, self._match)
        shape = self._matrix(atom, choices.get("shape"))
        majors, swizzles = self.choices["major"], self.choices["swizzle"]
        major, swizzle = choices.get("major", majors[0]), choices.get("swizzle", swizzles[0])
        for one in self._canonical:
            if one.major == major and one.has(swizzle):
                return canonical_shared(one, shape, self._bits, choices.get("lead"), choices.get("stride"))
        legal = sorted({one.swizzle for one in self._canonical if one.major == major})
        asked = f"the swizzle {swizzle}" if isinstance(swizzle, Swizzle) else f"a swizzle of {swizzle or 0} bytes"
        raise LayoutError(
            f"{self.operand} of {self.opcode} is not {major}-major with {asked}",
            legal=f"{major}-major with {' or '.join(map(str, legal))}",
        )

    def _matrix(self, atom: tuple[int, ...], shape: Any) -> tuple[int, int]:
        """Rows and k of a tile: those of one instruction, or multiples."""
        own = atom[0], prod(atom[1:])
        if shape is None:
            return own
        asked = tuple(exact_int(extent, "an extent") for extent in (shape if isinstance(shape, (tuple, list)) else (shape,)))
        if len(asked) != 2 or any(extent < 1 or extent % one for extent, one in zip(asked, own)):
            raise LayoutError(
                f"a tile of {asked} for {self.operand} of {self.opcode}", legal=f"(rows, k) that are multiples of {own}, one instruction's"
            )
        return asked[0], asked[1]


def canonical_shared(
    canonical: Canonical, shape: tuple[int, int], bits: int, lead: int | None = None, stride: int | None = None
) -> Layout:
    """A matrix in one of the canonical layouts of a descriptor, in elements, with its swizzle.

    K-major matrices with a swizzle that are longer than its span along K lie as panels, each as long as the span, one behind the other.

    Parameters
    ----------
    canonical : Canonical
    shape : (int, int)
        Rows (M or N) and k.
    bits : int
        Of an element.
    lead, stride : int, optional
        The descriptor's two distances in bytes, multiples of 16; left out, the matrix is dense.

    Raises
    ------
    LayoutError
        For distances that no descriptor can say, and extents along K that are no multiples of what the layout repeats.
    """
    rows, k = shape
    unit = _UNIT // bits
    span = unit * max(1, canonical.swizzle // 16)
    if canonical.major == "k":
        panel, whole, step = min(k, span) if canonical.swizzle else k, -(-rows // 8) * 8, unit
        dense = (8 * unit, (k if not canonical.swizzle else span) * 8)
        repeated = panel if canonical.swizzle else unit
    else:
        step = 4 if canonical.word == "mn32" else 8
        panel, whole = k, -(-rows // span) * span
        dense = (whole * step, step * unit) if not canonical.swizzle else (span * k, span * step)
        repeated = step
    if k % repeated or (canonical.major == "k" and panel % unit):
        raise LayoutError(f"k = {k} is no multiple of {repeated}, which {canonical.described} repeats")
    distances = []
    for name, given, own in (("lead", lead, dense[0]), ("stride", stride, dense[1])):
        if given is not None and (exact_int(given, name) % 16 or not 0 <= given < 1 << 18):
            raise LayoutError(f"{name} = {given} bytes", legal="a multiple of 16 below 262144")
        distances.append(own if given is None else given * 8 // bits)
    made = parse(canonical.layout, rows=whole, k=panel, t=unit, lead=distances[0], stride=distances[1]).reshape(whole, panel)
    if k > panel:
        made = made.stacked(k // panel, whole // 8 * distances[1]).permute(1, 0, 2).group(1, 3)
    made = made[:rows]
    return Layout(Shard(made.dims), swizzle=canonical.pattern)


# ---- tensor memory ----------------------------------------------------------------------------------------------------


def _in_tensor_memory(flat: Layout, cell: int) -> Layout:
    """A layout whose steps from lane to lane are `LANE` columns of `cell` elements each, on the axes of tensor memory."""
    dims = tuple(tuple(part for dim in dims for part in _split_cell(dim, cell)) for dims in flat.dims)
    return Layout(Shard(dims), offset=_cell_term(flat.offset[m], cell))


def _split_cell(dim: Dim, cell: int) -> Dims:
    extent, stride = dim
    step = stride[m]
    assert isinstance(extent, int) and isinstance(step, int)
    inside = cell // step if 0 < step < cell else 1  # so many elements of the dimension lie in one column
    if inside == 1 or extent <= inside:
        return ((extent, _cell_term(step, cell)),)
    return ((extent // inside, _cell_term(step * inside, cell)), (inside, _cell_term(step, cell)))


def _cell_term(step: Any, cell: int) -> AxisTerm:
    lane, rest = divmod(step, LANE * cell)
    column, element = divmod(rest, cell)
    return AxisTerm(((m, element), (TLane, lane), (TCol, column)))


def _replicated(made: Layout, copies: int) -> Layout:
    """The first `1 / copies` of the first axis, with the others as its replicas."""
    first = made.shape[0]
    if copies == 1 and first != 1:
        return made
    split = made.reshape(copies, first // copies, *made.shape[1:])
    kept = split.dims[1:] if first > copies else split.dims[2:]
    replicas = tuple(dim for dim in split.dims[0] if dim[0] != 1)
    return Layout(Shard(kept), Replica(replicas) if replicas else None, offset=made.offset)


def _of_pair(made: Layout, blocks: str) -> Layout:
    """What two blocks hold together: halves of the first axis, or copies."""
    across: Dim = (2, AxisTerm(((cbx, 1),)))
    dims, replicas = made.dims, made.replica_dims
    if blocks == "copy":
        replicas = (across, *replicas)
    else:
        dims = ((across, *dims[0]), *dims[1:])
    return Layout(Shard(dims), Replica(replicas) if replicas else None, offset=made.offset, swizzle=made.swizzle)


# ---- by opcode --------------------------------------------------------------------------------------------------------


def _operand_names(match: Match) -> frozenset[str]:
    return frozenset().union(*map(operand_names, match.form.operand_lists))


def _tiles(match: Match) -> Iterator[Tile]:
    for tile in (match.entry.layouts, match.entry.tile):
        if tile is not None and condition(tile.when).holds(match.bindings):
            yield tile


def _operands_of(match: Match) -> Iterator[HardwareOperand]:
    spelled = _operand_names(match)
    for tile in _tiles(match):
        for name, atom in {**tile.atoms, **tile.words}.items():
            if name in spelled and atom.place in _PLACES and (atom.layout or atom.place == "descriptor"):
                yield HardwareOperand(match, tile, name, atom)


@takes(opcode=OPCODE)
def hardware_operands(opcode: str) -> dict[str, HardwareOperand]:
    """The operands of an opcode whose place in hardware is fixed, by the contract's names for them.

    Raises
    ------
    InstructionError
        If the opcode is none.

    Examples
    --------
    >>> hardware_operands("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")["a"].layout()
    Layout(S[((2, 8), (2, 4, 1)) : ((1, 4@laneid), (2, 1@laneid, 1))])
    """
    found: dict[str, HardwareOperand] = {}
    for match in lookup(opcode):
        for operand in _operands_of(match):
            found.setdefault(operand.operand, operand)
    return found


@takes(opcode=OPCODE, operand=TEXT)
def hardware_layout(opcode: str, operand: str, **choices: Any) -> Layout:
    """Where the elements of an instruction's operand lie.

    Parameters
    ----------
    opcode : str
    operand : str
        The contract's name for it (`ptxgen explain` shows it), or the ISA's letter: ``"A"``, ``"B"``, ``"C"``, ``"D"``, where one operand
        alone can be meant; ``"SFA"``, ``"SFB"`` and ``"E"`` for scales and metadata.
    **choices
        What the opcode leaves open. `hardware_operands` lists for each operand which there are:

        - ``rows=``, ``n=``: extents of tcgen05's matrices, in one block;
        - ``major="k"`` or ``"mn"``, ``swizzle=Swizzle.B128`` (``.B64``, ``.B32``, None) or its bytes, 128, 64, 32 or 0: a shared matrix.
          ``shape=(rows, k)``: a tile of several instructions. ``lead=``, ``stride=``: the descriptor's distances in bytes, where the
          matrix is not dense;
        - ``selector=``, ``byte=``, ``thread=``: which lanes give metadata and scales, and in which bytes;
        - ``split=``: columns between the halves of ``.16x32bx2``;
        - ``pair=True``: both blocks of ``.cta_group::2``, on the axis `cbx`.

    Returns
    -------
    Layout
        In elements of the operand's type (`HardwareOperand.unit`) on `m`; replicas where every element lies several times.

    Raises
    ------
    InstructionError
        If the opcode is none.
    LayoutError
        If the operand has no fixed place, with what the ISA says of it; or for choices that the operand does not have.

    Examples
    --------
    >>> hardware_layout("ldmatrix.sync.aligned.m8n8.x2.shared.b16", "r")
    Layout(S[(2, 8, (4, 2)) : (2, 4@laneid, (1@laneid, 1))])
    """
    found = hardware_operands(opcode)
    if operand in found:
        return found[operand].layout(**choices)
    meant = [name for name in found if _means(operand, name)]
    if len(meant) == 1:
        return found[meant[0]].layout(**choices)
    raise _no_operand(opcode, operand, found, meant)


_WORDS = {"sfa": "scale_a", "sfb": "scale_b", "e": "sp_meta"}


def _means(operand: str, name: str) -> bool:
    word = operand.lower()
    return name.lower() == word or name.partition("_")[0] == word or name.startswith(_WORDS.get(word, "\0"))


def _no_operand(opcode: str, operand: str, found: Mapping[str, HardwareOperand], meant: list[str]) -> LayoutError:
    for match in lookup(opcode):
        for tile in _tiles(match):
            for name, why in tile.unspecified.items():
                if name in _operand_names(match) and _means(operand, name):
                    return LayoutError(f"{name} of {opcode}: {why}")
    if len(meant) > 1:
        return LayoutError(f"{operand} of {opcode} may be {' or '.join(meant)}", legal=" or ".join(map(repr, meant)))
    if found:
        return LayoutError(f"{operand!r} is no operand of {opcode} whose place is fixed", legal=", ".join(map(repr, found)))
    return LayoutError(f"{opcode} has no operand whose elements lie in places of the hardware's choice: each thread has its own words")


@takes(beginning=TEXT)
def hardware_layouts(beginning: str = "") -> Iterator[HardwareOperand]:
    """Every operand with a place of its own, of every opcode that begins so, family by family.

    They are some ten thousand, most of them wgmma's; each is made when it is reached.

    Examples
    --------
    >>> sorted({one.operand for one in hardware_layouts("movmatrix")})
    ['a', 'd']
    """
    for entry in entries():
        if entry.tile is None and entry.layouts is None:
            continue
        for form in forms(entry):
            if not form.head.startswith(beginning.partition(".")[0]) and beginning:
                continue
            for bound in form.combinations():
                opcode = form.opcode(bound)
                if opcode.startswith(beginning):
                    yield from _operands_of(Match(opcode, form, bound))
