"""Operands of a tile operation: a view split into group | repeat | atom, and what the contract's place for it demands.

The rule is the same for every instruction: over all elements that share an issuing thread and an operand slot, where the element is
minus where the contract's atom puts it must be one start. What a start becomes in the text is the place's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from ptxgen import ir
from ptxgen.errors import InstructionError
from ptxgen.instructions.checking import Given
from ptxgen.instructions.language import Operand
from ptxgen.instructions.registry import Match
from ptxgen.instructions.tiles import atom_layout, evaluate_names
from ptxgen.instructions.types import TYPES, Type
from ptxgen.layouts.axes import m
from ptxgen.layouts.expr import Expr, Monomial
from ptxgen.tile.addresses import Addresses, in_register
from ptxgen.tile.group import Group
from ptxgen.tile.image import Image
from ptxgen.tracing.source import assigned_name
from ptxgen.tracing.views import Memory, Registers, View

__all__ = ["MemoryOperand", "RegisterOperand", "ScalarOperand", "TileOperand", "refuse"]

_REMEMBERED = 256  # ways to lie in registers that a group of threads keeps


def refuse(match: Match, operand: str, problem: str, *, rule: str = "", example: str = "", legal: str = "") -> InstructionError:
    """An error about one operand of one instruction."""
    return InstructionError(
        problem, opcode=match.opcode, operand=operand, rule=rule, section=match.entry.section, example=example, legal=legal
    )


class TileOperand:
    """An operand bound to a contract: its name, and its atom.

    `render` gives the operand of every repeat in text, `given` how the contract's check sees it.
    """

    __slots__ = ("atom", "contract", "match", "name")

    def __init__(self, match: Match, name: str, contract: Operand, atom: Image) -> None:
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

    def at_steps(self, own: list[ir.Operand], places: Mapping[str, np.ndarray]) -> list[ir.Operand]:
        """The operand at every step of the iteration: which of its repeats (`own`) `places` gives by operand."""
        return list(map(own.__getitem__, places[self.parts[0].name].tolist()))


class PairOperand(TileOperand):
    """Two destinations in one place, ``p|q``."""

    __slots__ = ("halves",)

    def __init__(self, first: TileOperand, second: TileOperand) -> None:
        super().__init__(first.match, first.name, first.contract, first.atom)
        self.halves = first, second

    @property
    def parts(self) -> tuple[TileOperand, ...]:
        return self.halves

    def given(self) -> Given:
        return Given.pair(tuple(half.given() for half in self.halves))

    def render(self, repeats: int) -> list[ir.Operand]:
        first, second = (half.render(repeats) for half in self.halves)
        return [ir.Pair(one, other) for one, other in zip(first, second)]


class ScalarOperand(TileOperand):
    """A traced scalar or a constant, the same for every repeat."""

    __slots__ = ("described", "operand")

    def __init__(self, match: Match, name: str, contract: Operand, operand: ir.Operand, described: Given) -> None:
        super().__init__(match, name, contract, Image.words(1, 32))
        self.operand = operand
        self.described = described

    def given(self) -> Given:
        return self.described

    def render(self, repeats: int) -> list[ir.Operand]:
        return [self.operand] * repeats


class ViewOperand(TileOperand):
    """A view whose axes are split into group | repeat | atom."""

    __slots__ = ("group", "repeat_shape", "view")

    def __init__(self, match: Match, name: str, contract: Operand, view: View, group: Group, atom: Image) -> None:
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
        atom = self.atom.shape
        wanted = f"(*group, *repeat, {self.atom!r})"
        if static[-len(atom) :] != atom:
            ends = static[-1] if len(atom) == 1 and static else f"{static[-len(atom):]}" if static else "no axis"
            raise refuse(
                self.match, self.name, f"{self.view!r} ends in {ends} where the atom has {atom[0] if len(atom) == 1 else atom}",
                rule=f"the shape of this operand is {wanted}: the atom is what one instruction takes",
                legal=self._atom_advice(static),
            )  # fmt: skip
        count = self.group.split(static[: -len(atom)])
        if count is None:
            raise refuse(
                self.match, self.name,
                f"no leading axes of {static} multiply to the {self.group.size} {self.group.issuer}s of scope {self.group.scope!r}",
                rule=f"the shape of this operand is {wanted}, and the group axes stand for the {self.group.issuer}s that are active here",
                legal=f"group axes {self.group.spelled()}, e.g. shape {self._shape_advice()}",
            )  # fmt: skip
        repeats = static[count : len(static) - len(atom)]
        named = [axis for axis in self.atom.repeats if axis != "*"]
        if len(repeats) < len(named) or (len(repeats) > len(named) and "*" not in self.atom.repeats):
            raise refuse(
                self.match, self.name,
                f"{self.view!r} has the repeat axes {repeats} where the instruction is repeated along {', '.join(named)}",
                rule=f"the shape of this operand is (*group, {', '.join(self.atom.repeats)}, {self.atom!r})",
                legal="an axis for each of them, of extent 1 where nothing is repeated",
            )  # fmt: skip
        return repeats

    def axes(self) -> list[str]:
        """The names of its repeat axes: those behind ``*`` are numbered."""
        assert self.repeat_shape is not None
        named = [axis for axis in self.atom.repeats if axis != "*"]
        return [*(f"*{place}" for place in range(len(self.repeat_shape) - len(named))), *named]

    def _atom_advice(self, shape: tuple[int, ...]) -> str:
        atom = self.atom.shape
        if len(atom) > 1:
            return f"last axes of {', '.join(map(str, atom))}"
        if atom == (1,):
            return f"a last axis of 1: .view{(*shape, 1)}"
        if shape and shape[-1] % atom[0] == 0:
            return f".view{(*shape[:-1], shape[-1] // atom[0], atom[0])}"
        return f"a last axis of {atom[0]}"

    def _shape_advice(self) -> str:
        total = prod(extent for extent in self.view.shape if isinstance(extent, int))
        rest = total // (self.group.size * self.atom.size)
        whole = rest * self.group.size * self.atom.size == total
        return f"({self.group.spelled().strip('()').rstrip(',')}, {rest if whole else '...'}, {self.atom!r})"

    def coordinates(self, g: int, r: int, lane: int = 0) -> str:
        """Where in the operand a group index, a repeat index and one of the issuer's threads are, for messages."""
        assert self.repeat_shape is not None
        repeat = tuple(int(i) for i in np.unravel_index(r, self.repeat_shape)) if self.repeat_shape else ()
        local = self.group.local
        number = int(local[g % len(local)]) + lane
        thread = f"lane {number}" if self.group.scope == "warp" else f"thread {number}"
        return f"{thread}, repeat {repeat}" if repeat else thread


class RegisterOperand(ViewOperand):
    """A register tile: the issuing thread owns every element, and a slot is the same register in every thread."""

    __slots__ = ("slots", "storage")

    def __init__(self, match: Match, name: str, contract: Operand, view: View, group: Group, atom: Image) -> None:
        assert isinstance(view.storage, Registers)
        self.storage = view.storage
        self.match, self.name, self.contract, self.view, self.atom = match, name, contract, view, atom
        self._check_container()
        super().__init__(match, name, contract, view, group, atom)
        self.slots = self._known_slots()

    def type(self) -> Type:
        """The type that the registers have for this operand: the elements' where one fills a register, else the container's."""
        dtype, container = self.view.dtype, self.storage.container
        if dtype.bits != container.bits:
            return container
        declared = TYPES[self.storage.declared]
        return declared if declared.is_float and not dtype.is_float and dtype.kind != "bits" else dtype

    def _check_container(self) -> None:
        """Elements of the atom's width, in registers of the instruction's."""
        bits, view, container = self.atom.element_bits, self.view, self.storage.container
        if bits is None:
            return
        if view.dtype.bits != bits:
            raise refuse(
                self.match, self.name, f"{view!r} has elements of {view.dtype.bits} bits where the instruction's have {bits}",
                rule=f"the shape of this operand ends in {self.atom!r}, counted in elements of {bits} bits",
                legal=f".view(px.b{bits}) to see the same registers as {bits}-bit elements",
            )  # fmt: skip
        demanded = self.match.type(self.contract.type)
        if container.bits != demanded.bits:
            raise refuse(
                self.match, self.name, f"{view!r} lies in registers of .{container.name} where the instruction takes .{demanded.name}",
                rule="apply never packs or unpacks", legal=f"declare the tile with container=px.b{demanded.bits}",
            )  # fmt: skip

    def _known_slots(self) -> np.ndarray:
        """Register numbers, found once for all parts that lie alike: what begins whole registers further has theirs so much further."""
        layout, width = self.view.layout, self.storage.container.bits
        start = layout.offset[m]
        if not isinstance(start, int) or start % width:
            return self._slots()
        threads = tuple([part for part in layout.offset.parts if part[0] is not m])
        key = layout.dims, threads, self.atom, width, self.view.dtype.bits
        known = self.group.slots.get(key)
        if known is None:
            known = self._slots() - start // width
            if len(self.group.slots) < _REMEMBERED and not layout.table().thread_symbols:  # which another trace may know otherwise
                self.group.slots[key] = known
        return known + start // width

    def _slots(self) -> np.ndarray:
        """Register numbers, (repeats, registers of one atom)."""
        view, group, atom = self.view, self.group, self.atom
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
        wrong = group.wrong_owner(table, np.tile(atom.lanes, repeats), view.builder.thread_arrays)
        if wrong is not None:
            g, e, found = wrong
            raise refuse(
                self.match, self.name, f"{view!r} is not owned by the threads that issue the instruction",
                rule="each thread names its own registers",
                example=f"{self.coordinates(g, e // atom.size, int(atom.lanes[e % atom.size]))}, {self._coordinate(e % atom.size)}: "
                f"the layout places it in {found}",
                legal=self._owner_advice(),
            )  # fmt: skip
        return self._registers(table.m.reshape(group.size, repeats, atom.size))

    def _owner_advice(self) -> str:
        if self.group.unit == 1:
            return f"group axes {self.group.spelled()} laid out on the thread axes in this order"
        tile = self.match.entry.tile
        if tile is None:
            return "the fragment layout of the instruction"
        layout = atom_layout(tile.atoms[self.name], evaluate_names(tile, self.match), self.match)
        return f"the fragment layout of the instruction: {layout!r}"

    def _registers(self, positions: np.ndarray) -> np.ndarray:
        """The register of each (repeat, register of the atom): element minus atom is one start, in all threads and elements."""
        width, atom = self.storage.container.bits, self.atom
        number, inside, first = atom.registers(width)
        starts = positions - inside
        slots = starts[0][:, first] // width
        wrong = starts != slots[:, number] * width
        if not wrong.any():
            return np.asarray(slots)
        g, r, a = map(int, np.argwhere(wrong)[0])
        example = f"{self.coordinates(g, r, int(atom.lanes[a]))}, {self._coordinate(a)}: register {int(positions[g, r, a]) // width}"
        if atom.element_bits and np.array_equal(positions[0], positions[g]):
            raise refuse(
                self.match, self.name, f"{self.view!r} does not lie in its registers as the instruction holds it",
                rule=f"an atom's elements lie in its registers in one order: {self._owner_advice()}",
                example=f"{example}, bit {int(positions[g, r, a]) % width}; required: register {int(slots[r, number[a]])}, "
                f"bit {int(inside[a])}",
                legal=self._owner_advice(),
            )  # fmt: skip
        raise refuse(
            self.match, self.name, f"{self.view!r} is not in the same register in every thread",
            rule="all threads execute one text, so an element's register can't depend on the thread",
            example=f"{example}; thread 0: register {int(positions[0, r, a]) // width}",
            legal="group axes with strides on thread axes only, 0 on m",
        )  # fmt: skip

    def _coordinate(self, a: int) -> str:
        """An element of the atom, for messages."""
        if len(self.atom.shape) == 1:
            return f"element {a}"
        return f"element {tuple(int(i) for i in np.unravel_index(a, self.atom.shape))}"

    def _check_packing(self, view: View) -> None:
        if view.dtype.bits >= self.storage.container.bits or self.atom.element_bits is not None:
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
        registers = [self.storage.registers[slot] for slot in self.slots[0].tolist()] if len(self.slots) else []
        items = tuple([Given.numbered(one.name, type) for one in registers])
        return items[0] if self._single else Given.vector(items)

    def render(self, repeats: int) -> list[ir.Operand]:
        registers = self.storage.registers
        if self._single:
            return list(self.column())
        return [ir.Vec(tuple(map(registers.__getitem__, row))) for row in self.slots.tolist()]

    @property
    def _single(self) -> bool:
        """Whether the operand is one register without braces."""
        return self.slots.shape[1] == 1 and not self.contract.braced

    def column(self) -> list[ir.Reg]:
        """The register of each repeat's only (or first) element."""
        registers = self.storage.registers
        return list(map(registers.__getitem__, self.slots[:, 0].tolist()))

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
        each = self.slots.shape[1]
        repeat = tuple(int(i) for i in np.unravel_index(flat // each, self.repeat_shape)) if self.repeat_shape else ()
        return f"repeat {repeat} element {flat % each}" if repeat else f"element {flat % each}"


class MemoryOperand(ViewOperand):
    """A memory operand: what lies behind each address is consecutive, and the access is aligned to its size."""

    __slots__ = ("addresses",)

    def __init__(self, match: Match, name: str, contract: Operand, view: View, group: Group, atom: Image) -> None:
        bits = atom.element_bits or match.type(contract.type).bits
        if view.dtype.bits != bits:
            demanded = match.type(contract.type)
            moved = f".{demanded.name}" if demanded.bits == bits else f"elements of {bits} bits"
            raise refuse(
                match, name, f"{view!r} has elements of {view.dtype.bits} bits where the instruction moves {moved}",
                rule="one element of the view is one word of the instruction",
                legal=f".view(px.b{bits}) to see the same memory as {bits}-bit words",
            )  # fmt: skip
        super().__init__(match, name, contract, view, group, atom)
        # What was found about a layout holds wherever the same threads take it from the same memory.
        key = "addresses", view.storage, view.layout.spelling, view.dtype.bits, atom, group
        self.addresses: Addresses = view.builder.once(key, self._checked)

    @property
    def each(self) -> int:
        """Elements behind one address."""
        return self.atom.size // self.atom.providers

    @property
    def _vector(self) -> bool:
        """Whether the number of elements is that of a vector of registers, which other forms of the instruction have fewer of."""
        tile = self.match.entry.tile
        return tile is None or (self.name not in tile.atoms and self.name not in tile.sized)

    def _rows(self, values: np.ndarray) -> np.ndarray:
        """Positions as (issuers x threads that provide an address, repeats, elements behind it)."""
        assert self.repeat_shape is not None
        shape = self.group.size, prod(self.repeat_shape), self.atom.size
        if self.atom.providers == 1:
            return values.reshape(shape)
        order = np.argsort(self.atom.lanes, kind="stable")
        split = values.reshape(shape)[:, :, order].reshape(shape[0], shape[1], self.atom.providers, self.each)
        return np.ascontiguousarray(split.transpose(0, 2, 1, 3)).reshape(-1, shape[1], self.each)

    def _checked(self) -> Addresses:
        """The addresses of what lies consecutive and aligned behind each of them."""
        view, group = self.view, self.group
        assert isinstance(view.storage, Memory)
        table = view.layout.table()
        width = view.dtype.bits
        if table.thread is not None:
            raise refuse(self.match, self.name, f"{view!r} is memory, but its layout has thread axes", legal="a layout on m alone")
        linear, separable = self._rows(table.linear), table.separable
        positions = self._rows(table.m) if separable else linear
        symbols = {mono: self._rows(values) for mono, values in table.symbols.items()}
        if not separable:
            self._check_granule(width)
        self._check_consecutive(positions, symbols, width)
        self._check_alignment(positions, symbols, width)
        return Addresses(
            view.builder, group, view, self._threads(linear), self._threads(positions),
            {mono: self._threads(values) for mono, values in symbols.items()}, separable,
        )  # fmt: skip

    def _threads(self, rows: np.ndarray) -> np.ndarray:
        """The position behind the address of every thread, (threads, repeats); threads without an own part repeat the others'."""
        starts = rows[:, :, 0]
        unit, providers = self.group.unit, self.atom.providers
        if unit == 1:
            return starts
        spread = np.arange(self.group.size)[:, None] * providers + np.arange(unit) % providers
        return starts[spread.ravel()]

    def row(self, at: int, r: int) -> str:
        """Where a row of `_rows` is, for messages."""
        return self.coordinates(at // self.atom.providers, r, at % self.atom.providers)

    def _check_granule(self, width: int) -> None:
        """Under a swizzle of a runtime position, an access stays together where it lies in one granule."""
        swizzle = self.view.layout.swizzle
        access = self.each * width // 8
        if swizzle is not None and swizzle.granule % access:
            raise refuse(
                self.match, self.name, f"{self.view!r} is cut by its swizzle at a position that is known only at run time",
                rule=f"the {self.each} elements behind one address are consecutive in memory",
                example=f"{swizzle} keeps {swizzle.granule} bytes together; the access has {access}",
                legal=f"an access of at most {swizzle.granule} bytes, or a swizzle of a larger base",
            )  # fmt: skip

    def _check_consecutive(self, positions: np.ndarray, symbols: dict[Any, np.ndarray], width: int) -> None:
        if self.each == 1:
            return
        steps = positions - positions[:, :, :1]
        wrong = steps != np.arange(self.each) * width
        name: Monomial | None = next((name for name, values in symbols.items() if (values != values[:, :, :1]).any()), None)
        if not wrong.any() and name is None:
            return
        rule = f"the {self.each} elements behind one address are consecutive in memory"
        legal = "an atom axis of stride 1; .rearrange or .permute to bring the contiguous axis last"
        if self._vector:
            legal = f"{legal}, or a .v{self.each // 2 or 1} form"
        if name is not None:
            between = symbols[name] - symbols[name][:, :, :1]
            g, r, a = map(int, np.argwhere(between)[0])
            distance = Expr({name: int(between[g, r, a]) // 8, (): int(steps[g, r, a]) // 8})
            raise refuse(
                self.match, self.name, f"{self.view!r} has elements at a runtime distance in its atom", rule=rule,
                example=f"{self.row(g, r)}: element {a} is {distance} bytes behind element 0; {_bytes(a * width)} required",
                legal=legal,
            )  # fmt: skip
        g, r, a = map(int, np.argwhere(wrong)[0])
        raise refuse(
            self.match, self.name, f"{self.view!r} is not contiguous along its atom", rule=rule,
            example=f"{self.row(g, r)}: element {a} is {_bytes(steps[g, r, a])} behind element 0; {_bytes(a * width)} required",
            legal=legal,
        )  # fmt: skip

    def _check_alignment(self, positions: np.ndarray, symbols: dict[Any, np.ndarray], width: int) -> None:
        view = self.view
        assert isinstance(view.storage, Memory)
        access = self.each * width
        rule = f"an access of {access // 8} bytes is aligned to {access // 8} bytes"
        if view.storage.align * 8 % access:
            name = assigned_name(view.storage.where) or view.storage.name
            raise refuse(
                self.match, self.name, f"{view!r} is not known to be aligned: its base is a multiple of {view.storage.align} bytes",
                rule=rule,
                example=f"{name} at address {0x1000 + view.storage.align:#x} fits its declaration; "
                f"{_bytes(view.storage.align * 8 % access)} behind a multiple of {access // 8}",
                legal=f"declare {name} with align={access // 8}{', or a narrower access' if self._vector else ''}",
            )  # fmt: skip
        wrong = positions[:, :, 0] % access != 0
        if wrong.any():
            g, r = map(int, np.argwhere(wrong)[0])
            at = int(positions[g, r, 0])
            raise refuse(
                self.match, self.name, f"{view!r} is not aligned", rule=rule,
                example=f"{self.row(g, r)}: byte offset {_exact(at)} = {_exact(at // access * access)} + {_exact(at % access)}",
                legal=self._narrower(positions),
            )  # fmt: skip
        for mono, values in symbols.items():
            step = int(np.gcd.reduce(np.abs(values[:, :, 0]).ravel())) * prod(symbol.divisor for symbol in mono)
            if step % access:
                text = "*".join(symbol.name for symbol in mono)
                raise refuse(
                    self.match, self.name, f"{view!r} is not known to be aligned: {text} moves it in steps of {_bytes(step)}", rule=rule,
                    example=self._off(mono, step, access),
                    legal=f"{_multiple(mono, access // width)}{'; or a narrower access' if self._vector else ''}",
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
        """The widest vector that the offsets allow, where there are narrower ones."""
        if not self._vector:
            return f"strides and starts that are multiples of {_bytes(self.each * self.view.dtype.bits)}: padded rows"
        width = self.view.dtype.bits
        step = int(np.gcd.reduce(np.append(np.abs(positions[:, :, 0]).ravel(), self.each * width)))
        words = max(1, step // width)
        if words == 1:
            return "scalar accesses, or padded rows"
        return f"a vector of {words}: strides and offsets are multiples of {_bytes(step)}"

    def given(self) -> Given:
        return Given("address", self.view.described, space=self.view.space)

    def render(self, repeats: int) -> list[ir.Operand]:
        rendered = self.addresses.render()
        if self.contract.named:
            return [*rendered]
        return [in_register(self.view.builder, self.view, address) for address in rendered]


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
