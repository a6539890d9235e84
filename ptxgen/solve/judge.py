"""The tile engine outside of a kernel: it judges a layout just as `px.tile.apply` judges a view that has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ptxgen import ir
from ptxgen.errors import LayoutError
from ptxgen.instructions.grammar import Slot
from ptxgen.instructions.registry import Match, lookup
from ptxgen.instructions.tiles import Atom, atom_shape, evaluate_names, legal_extents
from ptxgen.instructions.types import TYPES, Type
from ptxgen.layouts import S
from ptxgen.layouts.layout import Layout, as_layout
from ptxgen.layouts.spec import Shard
from ptxgen.tile.apply import bound_operand
from ptxgen.tile.group import SCOPES, UNITS, Group
from ptxgen.tile.implied import check_extents, extents
from ptxgen.tile.operands import TileOperand
from ptxgen.tracing.builder import Builder
from ptxgen.tracing.views import Memory, Registers, View

__all__ = ["Asked", "asked", "bound", "is_described", "issuers", "judged", "legal_operands"]

_ANY, _LISTED = 128, 6


class Asked:
    """One operand of one instruction, as one form of it has it.

    Attributes
    ----------
    match : Match
    slot : Slot
    atom : Atom or None
        What the contract says of its place; None for consecutive words.
    sizes : dict of str to int
        The extents that views give, by the contract's names; and the bytes that a constant operand says, by its name.
    """

    __slots__ = ("atom", "match", "sizes", "slot")

    def __init__(self, match: Match, slot: Slot, sizes: Mapping[str, int]) -> None:
        tile = match.entry.tile
        self.match = match
        self.slot = slot
        self.atom: Atom | None = tile.atoms.get(slot.name) if tile is not None else None
        self.sizes = dict(sizes)

    @property
    def name(self) -> str:
        return self.slot.name

    @property
    def place(self) -> str:
        """Of the atom; empty for consecutive words."""
        return self.atom.place if self.atom is not None else ""

    @property
    def repeats(self) -> tuple[str, ...]:
        """The repeat axes, outermost first; ``*`` stands for any number."""
        return tuple(self.atom.repeats.split()) if self.atom is not None else ("*",)

    @property
    def scope(self) -> str:
        """The scope at which the instruction has one issuer."""
        issuer = self.match.entry.issuer
        return issuer if issuer in SCOPES else "thread"

    @property
    def sized(self) -> str:
        """The constant operand that says how many bytes are consecutive; empty where the opcode does."""
        tile = self.match.entry.tile
        names = tile.sized.get(self.name, "").split() if tile is not None else ()
        known = {slot.name for slots in self.match.form.operand_lists for slot in slots}
        return next((name for name in names if name in known), "")

    def shape(self, bits: int = 8) -> tuple[int, ...]:
        """The atom's extents, in elements of so many bits where the contract does not say them."""
        tile = self.match.entry.tile
        if self.sized:
            return (max(1, self.sizes[self.sized] * 8 // bits),)
        if self.atom is None or tile is None:
            return (self.match.count(self.match.entry.operands[self.name].vector),)
        return atom_shape(self.atom, evaluate_names(tile, self.match, tuple(self.sizes.items())), self.match)

    def choices(self) -> list[Asked]:
        """The operand with each legal choice of the extents that are not said, the largest first."""
        tile = self.match.entry.tile
        found: list[dict[str, int]] = [{}]
        for name, extent in tile.extents.items() if tile is not None else ():
            assert tile is not None
            grown = []
            legal: set[int] = set()
            for sizes in found:
                names = evaluate_names(tile, self.match, (*sizes.items(), (name, _ANY)))  # names need a value, its own choices do not
                legal = {one for values in legal_extents(extent, names, self.match) for one in values}
                wanted = [self.sizes[name]] if name in self.sizes else sorted(legal, reverse=True)
                grown += [{**sizes, name: value} for value in wanted if value in legal]
            if not grown:
                raise LayoutError(f"{self.match.opcode} has no {name} of {self.sizes[name]}", legal=f"{name}= one of {_listed(legal)}")
            found = grown
        if self.sized and self.sized not in self.sizes:
            allowed = [int(self.sized)] if self.sized.isdigit() else self.match.entry.operands[self.sized].values or ()
            numbers = sorted((value for value in allowed if isinstance(value, int)), reverse=True)
            found = [{**sizes, self.sized: value} for sizes in found for value in numbers]
        elif self.sized:
            found = [{**sizes, self.sized: self.sizes[self.sized]} for sizes in found]
        return [Asked(self.match, self.slot, sizes) for sizes in found]

    def bits(self) -> int | None:
        """Bits of an element, where the contract says them."""
        if self.sized:
            return None
        return self.match.type(self.atom.element).element.bits if self.atom is not None and self.atom.element else None

    def __repr__(self) -> str:
        return f"operand {self.name} of {self.match.opcode}"


Fits = Callable[[Asked], bool]


def _listed(numbers: set[int]) -> str:
    """``16, 32, ..., 256``."""
    ordered = sorted(numbers)
    return ", ".join(map(str, ordered if len(ordered) < _LISTED else [*ordered[:2], "...", ordered[-1]]))


def asked(opcode: Any, operand: str, sizes: Mapping[str, int], fits: Fits) -> Iterator[Asked]:
    """The operands that a name may mean: its own, or a letter such as ``"A"`` for ``a``, ``a_desc`` and ``a_tmem``.

    Parameters
    ----------
    fits : callable
        Which operands the question can be asked of: those are the legal answers where none has the name, and others are left out.

    Raises
    ------
    InstructionError
        For an opcode that does not exist.
    LayoutError
        Where no form has such an operand.
    """
    name = operand.lower()
    known: list[str] = []
    named = False
    seen = set()
    matches = lookup(getattr(opcode, "text", opcode))
    for match in matches:
        for slots in match.form.operand_lists:
            for slot in slots:
                known.append(slot.name)
                if (slot.name == name or slot.name.startswith(f"{name}_")) and (match.form, slot.name) not in seen:
                    named = True
                    seen.add((match.form, slot.name))
                    found = Asked(match, slot, sizes)
                    if fits(found):
                        yield found
    if not named:
        raise LayoutError(f"{matches[0].opcode} has no operand {operand!r}", legal=legal_operands(opcode, fits))
    extents_of = {name for match in matches if match.entry.tile is not None for name in match.entry.tile.extents}
    unknown = next((name for name in sizes if name not in extents_of and name not in known), None)
    if unknown is not None:
        legal = f"{', '.join(f'{name}=' for name in sorted(extents_of))}" if extents_of else "no extents: the opcode spells them"
        raise LayoutError(f"{matches[0].opcode} has no extent {unknown!r} that views give", legal=legal)


def legal_operands(opcode: Any, fits: Fits) -> str:
    """The operands of an opcode that fit, as they are given; empty for none."""
    forms = ((match, slot) for match in lookup(getattr(opcode, "text", opcode)) for slots in match.form.operand_lists for slot in slots)
    names = dict.fromkeys(slot.name for match, slot in forms if fits(Asked(match, slot, {})))
    return f"operand={' or '.join(map(repr, names))}" if names else ""


def is_described(of: Asked) -> bool:
    """Whether a descriptor finds the operand."""
    return of.place == "descriptor"


def bound(layout: Layout | Shard, bits: int) -> Layout:
    """The layout in bits."""
    whole = as_layout(layout)
    return whole.bind(bits) if whole.unit == "element" else whole.in_units("bit")


def issuers(of: Asked, scope: str, threads: int | None) -> int:
    """How many threads, warps or warpgroups issue the instruction at a scope: what the group axes multiply to; 1 where there are none.

    Raises
    ------
    LayoutError
        For a scope that does not exist, or that has as many threads as the block, when these are not said.
    """
    issuer = of.match.entry.issuer
    if scope not in SCOPES:
        raise LayoutError(f"{scope!r} is no execution scope", legal=f"scope={' | '.join(map(repr, SCOPES))}")
    if issuer == "one" or scope == "thread":
        return 1
    count = UNITS.get(scope) or threads
    if count is None:
        raise LayoutError(f"scope {scope!r} has as many threads as the block, which are not said", legal="threads=256")
    return max(1, count // UNITS[issuer])


def judged(of: Asked, layout: Layout, dtype: Type, *, scope: str, threads: int | None, align: int, space: str, name: str) -> TileOperand:
    """What the engine makes of a view with this layout, in bits.

    Parameters
    ----------
    of : Asked
    layout : Layout
        In bits, of shape (\\*group, \\*repeat, \\*atom).
    scope : str
    threads : int or None
        Of the block; by default as many as the scope has.
    align : int
        Bytes that divide the address of memory.
    space : str
        State space of memory; ``"reg"`` for registers.
    name : str
        The tile's name in messages.

    Raises
    ------
    InstructionError, TraceError
        As `px.tile.apply` would raise, without a line.
    """
    match = of.match
    issuers(of, scope, threads)  # which refuses scopes that mean nothing
    if threads is None and scope not in UNITS:  # one thread issues for a block of any size
        threads = 1
    builder = Builder(name, (threads or UNITS[scope], 1, 1))
    with builder:
        scope, issuer = ("thread", "thread") if match.entry.issuer == "one" else (scope, match.entry.issuer)
        group = Group.at(builder, scope, issuer)
        view = View(builder, dtype, _storage(of, layout, dtype, align, space, name), layout)
        values = {**_others(builder, of), of.name: view, **({of.sized: of.sizes[of.sized]} if of.sized else {})}
        check_extents(match, extents(match, values))
        return bound_operand(builder, match, of.slot, values, group)


def _storage(of: Asked, layout: Layout, dtype: Type, align: int, space: str, name: str) -> Memory | Registers:
    if space != "reg":
        return Memory(name, space, ir.Sym(name), align)
    demanded = of.match.type(of.match.entry.operands[of.name].type)
    container = TYPES.get(f"b{demanded.bits}", demanded) if dtype.bits < demanded.bits else dtype
    count = int(layout.table().m.max()) // container.bits + 1
    return Registers(container, [ir.Reg(f"%r{number}") for number in range(count)], None)  # type: ignore[arg-type]


def _others(builder: Builder, of: Asked) -> dict[str, Any]:
    """Views that do nothing but give the extents that no qualifier spells."""
    tile = of.match.entry.tile
    shapes: dict[str, dict[int, int]] = {}
    for name, extent in tile.extents.items() if tile is not None else ():
        if name in of.sizes:
            shapes.setdefault(extent.operand, {})[extent.axis] = of.sizes[name]
    found = {}
    for operand, axes in shapes.items():
        shape = tuple(axes.get(axis, 1) for axis in range(min(axes), 0))
        storage = Memory(operand, "tensor", ir.Sym(operand), 16)
        found[operand] = View(builder, TYPES["b32"], storage, Layout(S[shape]).bind(32))
    return found
