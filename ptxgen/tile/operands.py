"""Operands of a tile operation: a view split into group | repeat | atom, and what the contract's place for it demands.

The rule is the same for every instruction: over all elements that share an issuing thread and an operand slot, where the element is
minus where the contract's atom puts it must be one start. What a start becomes in the text is the place's business.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ptxgen import ir
from ptxgen.errors import InstructionError
from ptxgen.instructions.checking import Given
from ptxgen.instructions.language import Operand
from ptxgen.instructions.registry import Match
from ptxgen.instructions.types import TYPES, Type
from ptxgen.layouts.expr import Expr, Monomial
from ptxgen.tile.addresses import Addresses
from ptxgen.tile.group import Group
from ptxgen.tracing.builder import given_register
from ptxgen.tracing.source import assigned_name
from ptxgen.tracing.views import Memory, Registers, View

__all__ = ["MemoryOperand", "RegisterOperand", "ScalarOperand", "TileOperand", "refuse"]


def refuse(match: Match, operand: str, problem: str, *, rule: str = "", example: str = "", legal: str = "") -> InstructionError:
    """An error about one operand of one instruction."""
    return InstructionError(
        problem, opcode=match.opcode, operand=operand, rule=rule, section=match.entry.section, example=example, legal=legal
    )


class TileOperand:
    """An operand bound to a contract: its name, and the number of elements (registers, memory words) in one atom.

    `render` gives the operand of every repeat in text, `given` how the contract's check sees it.
    """

    __slots__ = ("atom", "contract", "match", "name")

    def __init__(self, match: Match, name: str, contract: Operand, atom: int) -> None:
        self.match = match
        self.name = name
        self.contract = contract
        self.atom = atom

    repeat_shape: tuple[int, ...] | None = None
    """Extents of the repeat axes; None for a scalar, which goes with any."""

    @property
    def parts(self) -> tuple[TileOperand, ...]:
        """The operands that the contract names: both halves of a pair, else the operand itself."""
        return (self,)

    def given(self) -> Given:
        raise NotImplementedError

    def render(self, repeats: int) -> list[ir.Operand]:
        raise NotImplementedError


class PairOperand(TileOperand):
    """Two destinations in one place, ``p|q``."""

    __slots__ = ("halves",)

    def __init__(self, first: TileOperand, second: TileOperand) -> None:
        super().__init__(first.match, first.name, first.contract, 1)
        self.halves = first, second

    @property
    def parts(self) -> tuple[TileOperand, ...]:
        return self.halves

    def given(self) -> Given:
        items = tuple(half.given() for half in self.halves)
        return Given("pair", "|".join(item.text for item in items), items=items)

    def render(self, repeats: int) -> list[ir.Operand]:
        first, second = (half.render(repeats) for half in self.halves)
        return [ir.Pair(one, other) for one, other in zip(first, second)]


class ScalarOperand(TileOperand):
    """A traced scalar or a constant, the same for every repeat."""

    __slots__ = ("described", "operand")

    def __init__(self, match: Match, name: str, contract: Operand, operand: ir.Operand, described: Given) -> None:
        super().__init__(match, name, contract, 1)
        self.operand = operand
        self.described = described

    def given(self) -> Given:
        return self.described

    def render(self, repeats: int) -> list[ir.Operand]:
        return [self.operand] * repeats


class ViewOperand(TileOperand):
    """A view whose axes are split into group | repeat | atom."""

    __slots__ = ("group", "repeat_shape", "view")

    def __init__(self, match: Match, name: str, contract: Operand, view: View, group: Group, atom: int) -> None:
        super().__init__(match, name, contract, atom)
        self.view = view
        self.group = group
        self.repeat_shape = self._split()

    def _split(self) -> tuple[int, ...]:
        shape = self.view.shape
        for extent in shape:
            if not isinstance(extent, int):
                raise refuse(
                    self.match, self.name, f"{self.view!r} has the runtime extent {extent}",
                    rule="group, repeat and atom extents are static", legal="select a static part: x.sub(starts, extents) or x[i : i + 4]",
                )  # fmt: skip
        static: tuple[int, ...] = shape  # type: ignore[assignment]
        wanted = f"(*group, *repeat, {self.atom})"
        if not static or static[-1] != self.atom:
            raise refuse(
                self.match, self.name, f"{self.view!r} ends in {static[-1] if static else 'no axis'} where the atom has {self.atom}",
                rule=f"the shape of this operand is {wanted}: the atom is what one instruction takes",
                legal=self._atom_advice(static),
            )  # fmt: skip
        count = self.group.split(static[:-1])
        if count is None:
            raise refuse(
                self.match, self.name,
                f"no leading axes of {static} multiply to the {self.group.size} threads of scope {self.group.scope!r}",
                rule=f"the shape of this operand is {wanted}, and the group axes stand for the threads that are active here",
                legal=f"group axes {self.group.spelled()}, e.g. shape {self._shape_advice()}",
            )  # fmt: skip
        return static[count:-1]

    def _atom_advice(self, shape: tuple[int, ...]) -> str:
        if self.atom == 1:
            return f"a last axis of 1: .view{(*shape, 1)}"
        if shape and shape[-1] % self.atom == 0:
            return f".view{(*shape[:-1], shape[-1] // self.atom, self.atom)}"
        return f"a last axis of {self.atom}"

    def _shape_advice(self) -> str:
        total = prod(extent for extent in self.view.shape if isinstance(extent, int))
        rest = total // (self.group.size * self.atom)
        whole = rest * self.group.size * self.atom == total
        return f"({self.group.spelled().strip('()').rstrip(',')}, {rest if whole else '...'}, {self.atom})"

    def coordinates(self, g: int, r: int) -> str:
        """Where in the operand a group index and a repeat index are, for messages."""
        assert self.repeat_shape is not None
        repeat = tuple(int(i) for i in np.unravel_index(r, self.repeat_shape)) if self.repeat_shape else ()
        local = self.group.local
        thread = f"thread {int(local[g % len(local)])}" if self.group.scope != "warp" else f"lane {int(local[g % len(local)])}"
        return f"{thread}, repeat {repeat}" if repeat else thread


class RegisterOperand(ViewOperand):
    """A register tile: the issuing thread owns every element, and a slot is the same register in every thread."""

    __slots__ = ("slots", "storage")

    def __init__(self, match: Match, name: str, contract: Operand, view: View, group: Group, atom: int) -> None:
        super().__init__(match, name, contract, view, group, atom)
        assert isinstance(view.storage, Registers)
        self.storage = view.storage
        self.slots = self._known_slots()

    def type(self) -> Type:
        """The type that the registers have for this operand: the elements' where one fills a register, else the container's."""
        dtype, container = self.view.dtype, self.storage.container
        if dtype.bits != container.bits:
            return container
        declared = TYPES[self.storage.declared]
        return declared if declared.is_float and not dtype.is_float and dtype.kind != "bits" else dtype

    def _known_slots(self) -> np.ndarray:
        """Register numbers, found once for a tile that is the operand of several instructions."""
        layout = self.view.layout
        key = id(layout), self.atom, self.storage.container.bits, self.view.dtype.bits
        known = self.group.slots.get(key)
        if known is None:
            known = self.group.slots[key] = layout, self._slots()  # the layout is kept, so that its id stays its own
        slots: np.ndarray = known[1]
        return slots

    def _slots(self) -> np.ndarray:
        """Register numbers, (repeats, atom)."""
        view, group = self.view, self.group
        assert self.repeat_shape is not None
        repeats = prod(self.repeat_shape)
        table = view.layout.table()
        self._check_packing(view)
        if table.symbols:
            raise refuse(
                self.match, self.name, f"{view!r} begins at a register that is known only at run time",
                rule="a register's name is part of the instruction's text",
                legal="a Python index (unrolled), or memory instead of registers",
            )  # fmt: skip
        wrong = group.wrong_owner(table, repeats * self.atom)
        if wrong is not None:
            g, e, found = wrong
            raise refuse(
                self.match, self.name, f"{view!r} is not owned by the threads that issue the instruction",
                rule="each thread names its own registers",
                example=f"{self.coordinates(g, e // self.atom)}, element {e % self.atom}: the layout places it in {found}",
                legal=f"group axes {group.spelled()} laid out on the thread axes in this order",
            )  # fmt: skip
        slots = table.m.reshape(group.size, repeats, self.atom) // self.storage.container.bits
        if (slots != slots[:1]).any():
            g, r, a = map(int, np.argwhere(slots != slots[:1])[0])
            raise refuse(
                self.match, self.name, f"{view!r} is not in the same register in every thread",
                rule="all threads execute one text, so an element's register can't depend on the thread",
                example=f"{self.coordinates(g, r)}, element {a}: register {int(slots[g, r, a])}; "
                f"thread 0: register {int(slots[0, r, a])}",
                legal="group axes with strides on thread axes only, 0 on m",
            )  # fmt: skip
        return np.asarray(slots[0])

    def _check_packing(self, view: View) -> None:
        if view.dtype.bits >= self.storage.container.bits:
            return
        lanes = self.storage.container.bits // view.dtype.bits
        packed = f"{view.dtype.name}x{lanes}"
        packed = packed if packed in TYPES else f"b{self.storage.container.bits}"
        raise refuse(
            self.match, self.name, f"{view!r} packs {lanes} elements into each .{self.storage.container.name} register",
            rule="apply names whole registers and never packs or unpacks", legal=f".view(px.{packed}) to take whole registers",
        )  # fmt: skip

    def given(self) -> Given:
        type = self.type()
        names = [self.storage.registers[slot] for slot in self.slots[0]] if len(self.slots) else []
        items = tuple(given_register(name, type) for name in names)
        if self.match.count(self.contract.vector) == 1:
            return items[0]
        return Given("vector", "{" + ", ".join(item.text for item in items) + "}", items=items)

    def render(self, repeats: int) -> list[ir.Operand]:
        registers = self.storage.registers
        if self.match.count(self.contract.vector) == 1:
            return list(self.column())
        return [ir.Vec(tuple([registers[slot] for slot in row])) for row in self.slots.tolist()]

    def column(self) -> list[ir.Reg]:
        """The register of each repeat's only (or first) element."""
        registers = self.storage.registers
        return [registers[slot] for slot in self.slots[:, 0].tolist()]

    def check_distinct(self) -> None:
        """Two elements of a destination in one register would overwrite each other."""
        flat = self.slots.reshape(-1)
        if len(set(flat.tolist())) != len(flat):
            unique, counts = np.unique(flat, return_counts=True)
            slot = unique[counts > 1][0]
            one, two = np.flatnonzero(flat == slot)[:2]
            raise refuse(
                self.match, self.name, f"{self.view!r} puts two elements into one register",
                rule="every element of a destination has a register of its own",
                example=f"register {int(slot)} holds {self._element(int(one))} and {self._element(int(two))}",
                legal="strides on m that keep repeat and atom elements apart",
            )  # fmt: skip

    def _element(self, flat: int) -> str:
        assert self.repeat_shape is not None
        repeat = tuple(int(i) for i in np.unravel_index(flat // self.atom, self.repeat_shape)) if self.repeat_shape else ()
        return f"repeat {repeat} element {flat % self.atom}" if repeat else f"element {flat % self.atom}"


class MemoryOperand(ViewOperand):
    """A memory operand: the elements of an atom are consecutive, and the access is aligned to its size."""

    __slots__ = ("addresses",)

    def __init__(self, match: Match, name: str, contract: Operand, view: View, group: Group, atom: int) -> None:
        self.addresses: Addresses | None = None
        demanded = match.type(contract.type)
        if view.dtype.bits != demanded.bits:
            raise refuse(
                match, name, f"{view!r} has elements of {view.dtype.bits} bits where the instruction moves .{demanded.name}",
                rule="one element of the view is one word of the instruction",
                legal=f".view(px.b{demanded.bits}) to see the same memory as {demanded.bits}-bit words",
            )  # fmt: skip
        super().__init__(match, name, contract, view, group, atom)
        self._check()

    def _check(self) -> None:
        view, group = self.view, self.group
        assert self.repeat_shape is not None and isinstance(view.storage, Memory)
        repeats = prod(self.repeat_shape)
        table = view.layout.table()
        shape = (group.size, repeats, self.atom)
        width = view.dtype.bits
        if table.thread is not None:
            raise refuse(self.match, self.name, f"{view!r} is memory, but its layout has thread axes", legal="a layout on m alone")
        linear = table.linear.reshape(shape)
        positions = table.m.reshape(shape) if table.separable else linear
        symbols = {mono: values.reshape(shape) for mono, values in table.symbols.items()}
        if not table.separable:
            self._check_granule(width)
        self._check_consecutive(positions, symbols, width)
        self._check_alignment(positions, symbols, width)
        self.addresses = Addresses(view.builder, group, view, repeats, self.atom)

    def _check_granule(self, width: int) -> None:
        """Under a swizzle of a runtime position, an access stays together where it lies in one granule."""
        swizzle = self.view.layout.swizzle
        access = self.atom * width // 8
        if swizzle is not None and swizzle.granule % access:
            raise refuse(
                self.match, self.name, f"{self.view!r} is cut by its swizzle at a position that is known only at run time",
                rule=f"the {self.atom} elements behind one address are consecutive in memory",
                example=f"{swizzle} keeps {swizzle.granule} bytes together; the access has {access}",
                legal=f"an access of at most {swizzle.granule} bytes, or a swizzle of a larger base",
            )  # fmt: skip

    def _check_consecutive(self, positions: np.ndarray, symbols: dict[Any, np.ndarray], width: int) -> None:
        if self.atom == 1:
            return
        steps = positions - positions[:, :, :1]
        wrong = steps != np.arange(self.atom) * width
        name: Monomial | None = next((name for name, values in symbols.items() if (values != values[:, :, :1]).any()), None)
        if not wrong.any() and name is None:
            return
        rule = f"the {self.atom} elements behind one address are consecutive in memory"
        legal = f"an atom axis of stride 1; .rearrange or .permute to bring the contiguous axis last, or a .v{self.atom // 2 or 1} form"
        if name is not None:
            between = symbols[name] - symbols[name][:, :, :1]
            g, r, a = map(int, np.argwhere(between)[0])
            distance = Expr({name: int(between[g, r, a]) // 8, (): int(steps[g, r, a]) // 8})
            raise refuse(
                self.match, self.name, f"{self.view!r} has elements at a runtime distance in its atom", rule=rule,
                example=f"{self.coordinates(g, r)}: element {a} is {distance} bytes behind element 0; {_bytes(a * width)} required",
                legal=legal,
            )  # fmt: skip
        g, r, a = map(int, np.argwhere(wrong)[0])
        raise refuse(
            self.match, self.name, f"{self.view!r} is not contiguous along its atom", rule=rule,
            example=f"{self.coordinates(g, r)}: element {a} is {_bytes(steps[g, r, a])} behind element 0; {_bytes(a * width)} required",
            legal=legal,
        )  # fmt: skip

    def _check_alignment(self, positions: np.ndarray, symbols: dict[Any, np.ndarray], width: int) -> None:
        view = self.view
        assert isinstance(view.storage, Memory)
        access = self.atom * width
        rule = f"an access of {access // 8} bytes is aligned to {access // 8} bytes"
        if view.storage.align * 8 % access:
            name = assigned_name(view.storage.where) or view.storage.name
            raise refuse(
                self.match, self.name, f"{view!r} is not known to be aligned: its base is a multiple of {view.storage.align} bytes",
                rule=rule,
                example=f"{name} at address {0x1000 + view.storage.align:#x} fits its declaration; "
                f"{_bytes(view.storage.align * 8 % access)} behind a multiple of {access // 8}",
                legal=f"declare {name} with align={access // 8}, or a narrower access",
            )  # fmt: skip
        wrong = positions[:, :, 0] % access != 0
        if wrong.any():
            g, r = map(int, np.argwhere(wrong)[0])
            at = int(positions[g, r, 0])
            raise refuse(
                self.match, self.name, f"{view!r} is not aligned", rule=rule,
                example=f"{self.coordinates(g, r)}: byte offset {_exact(at)} = {_exact(at // access * access)} + {_exact(at % access)}",
                legal=self._narrower(positions),
            )  # fmt: skip
        for mono, values in symbols.items():
            step = int(np.gcd.reduce(np.abs(values[:, :, 0]).ravel())) * prod(symbol.divisor for symbol in mono)
            if step % access:
                text = "*".join(symbol.name for symbol in mono)
                raise refuse(
                    self.match, self.name, f"{view!r} is not known to be aligned: {text} moves it in steps of {_bytes(step)}", rule=rule,
                    example=self._off(mono, step, access),
                    legal=f"{_multiple(mono, access // width)}; or a narrower access",
                )  # fmt: skip

    def _off(self, mono: Monomial, step: int, access: int) -> str:
        """Values of runtime symbols, inside their ranges and the guards in force, that misalign the access."""
        facts = self.view.builder.facts()
        for factor in range(1, 64):
            values = {symbol: symbol.divisor * (factor if symbol is mono[0] else 1) for symbol in mono}
            known = [fact for fact in facts if set(fact.symbols) <= set(values)]
            offset = step // prod(symbol.divisor for symbol in mono) * prod(values.values())
            inside = all((symbol.lo or 0) <= value <= (symbol.hi or value) for symbol, value in values.items())
            if inside and offset % access and all(fact.evaluate(values) >= 0 for fact in known):
                shown = ", ".join(f"{symbol.name} = {value}" for symbol, value in values.items())
                return f"{shown}: moved by {_bytes(offset)}"
        return ""

    def _narrower(self, positions: np.ndarray) -> str:
        """The widest vector that the offsets allow."""
        width = self.view.dtype.bits
        step = int(np.gcd.reduce(np.append(np.abs(positions[:, :, 0]).ravel(), self.atom * width)))
        words = max(1, step // width)
        if words == 1:
            return "scalar accesses, or padded rows"
        return f"a vector of {words}: strides and offsets are multiples of {_bytes(step)}"

    def given(self) -> Given:
        return Given("address", self.view.described(), space=self.view.space)

    def render(self, repeats: int) -> list[ir.Operand]:
        assert self.addresses is not None
        return list(self.addresses.render())


def _exact(bits: int) -> str:
    return str(bits // 8) if bits % 8 == 0 else f"{bits / 8}"


def _multiple(mono: Monomial, elements: int) -> str:
    """What makes a runtime term a multiple of so many elements."""
    symbol = mono[0]
    if len(mono) == 1 and symbol.key == (tuple, ("dim", symbol.name)):
        return f'px.dim("{symbol.name}", multiple_of={elements})'
    return f"an index in steps of {elements} elements, such as {elements} * i"


def _bytes(bits: int) -> str:
    bits = int(bits)
    return f"{bits // 8} bytes" if bits % 8 == 0 else f"{bits} bits"
