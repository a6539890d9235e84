"""The descriptor place: a matrix in shared memory that an instruction finds by a 64-bit descriptor, derived from the operand's layout.

The canonical layouts of the contract have two free strides. They are read off the operand, and then every element is compared: what is
accepted is what the hardware's address function reaches. A slice keeps its parent's strides, since they are in its layout.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ptxgen import ir
from ptxgen.instructions.checking import Given
from ptxgen.instructions.descriptors import CANONICAL, Descriptor
from ptxgen.instructions.language import Operand
from ptxgen.instructions.registry import Match
from ptxgen.instructions.tiles import Atom, chosen
from ptxgen.instructions.types import u32, u64
from ptxgen.layouts.expr import Expr, Symbol
from ptxgen.layouts.swizzle import Swizzle
from ptxgen.tile.addresses import Addresses
from ptxgen.tile.expressions import compute, integer, operand
from ptxgen.tile.group import Group
from ptxgen.tile.image import Image
from ptxgen.tile.matrices import REACH, UNIT, Found, Missed, canonical_layout, recognise
from ptxgen.tile.operands import ViewOperand, refuse
from ptxgen.tracing.builder import Value
from ptxgen.tracing.views import Memory, View

__all__ = ["SWIZZLES", "DescriptorOperand"]

SWIZZLES = {None: "none", Swizzle.B32: "Swizzle.B32", Swizzle.B64: "Swizzle.B64", Swizzle.B128: "Swizzle.B128",
            Swizzle.B128_ATOM32: "Swizzle.B128_ATOM32"}  # fmt: skip
"""The swizzles that descriptors know, as a kernel names them."""


class DescriptorOperand(ViewOperand):
    """A shared-memory operand in one of the canonical layouts."""

    __slots__ = ("addresses", "fields", "found")

    def __init__(self, match: Match, name: str, contract: Operand, view: View, group: Group, atom: Atom, shape: tuple[int, ...]) -> None:
        bits = match.type(atom.element).element.bits
        image = Image(shape, np.zeros(prod(shape), np.int64), np.zeros(prod(shape), np.int64), bits, tuple(atom.repeats.split()))
        storage = view.storage
        if not isinstance(storage, Memory) or storage.space != "shared":
            raise refuse(
                match, name, f"{view!r} is not in shared memory", rule=f"operand {name} is a matrix that a descriptor describes",
                legal="a px.shared tile",
            )  # fmt: skip
        if view.dtype.bits != bits:
            raise refuse(
                match, name, f"{view!r} has elements of {view.dtype.bits} bits where the instruction's have {bits}",
                rule=f"the shape of this operand ends in {image!r}, counted in elements of {bits} bits", legal=f".view(px.b{bits})",
            )  # fmt: skip
        super().__init__(match, name, contract, view, group, image)
        assert atom.descriptor is not None
        self.fields: Descriptor = atom.descriptor
        # What was found about a layout holds wherever the same threads take it from the same memory.
        key = "descriptor", match, atom, shape, view.storage, view.layout.spelling, group
        self.found, self.addresses = view.builder.once(key, lambda: self._proved(atom, bits))

    def _proved(self, atom: Atom, bits: int) -> tuple[Found, Addresses]:
        self.found = self._recognise(atom, bits)
        return self.found, self._starts()

    # ---- which canonical layout ----------------------------------------------------------------------------------------

    def _recognise(self, atom: Atom, bits: int) -> Found:
        view = self.view
        assert self.repeat_shape is not None
        swizzle = view.layout.swizzle
        if swizzle not in self.fields.modes:
            known = sorted((one for one in self.fields.modes if one is not None), key=lambda one: (one.base, one.bits))
            atoms = ", or of 128 in atoms of 32" if Swizzle.B128_ATOM32 in known else ""
            raise refuse(
                self.match, self.name, f"{view!r} has the swizzle {swizzle}",
                rule=f"a descriptor knows swizzles of 32, 64 and 128 bytes{atoms}",
                legal=f"{', '.join(SWIZZLES[one] for one in known)} or none",
            )  # fmt: skip
        table = view.layout.table()
        positions = table.linear.reshape(self.group.size, prod(self.repeat_shape), self.atom.size)
        shape = positions - positions[:, :, :1]
        words = chosen(atom.majors, self.match).split()
        outcome = recognise(shape[0, 0], self.atom.shape, bits, swizzle, words)
        if not isinstance(outcome, Found):
            raise self._unrecognised(outcome, shape[0, 0], words)
        wrong = shape != shape[:1, :1]
        if wrong.any():
            g, r, a = map(int, np.argwhere(wrong)[0])
            raise self._differs(f"{self.coordinates(g, r)}: {self._moved(a, shape[g, r, a])}; {self._moved(a, shape[0, 0, a])} elsewhere")
        for mono, within in self._within(table.symbols).items():
            if within.any():
                g, r, a = map(int, np.argwhere(within)[0])
                distance = Expr({mono: int(within[g, r, a]) // 8, (): int(shape[g, r, a]) // 8})
                raise self._differs(f"{self.coordinates(g, r)}: element {self._place(a)} lies {distance} bytes behind element (0, 0)")
        return outcome

    def _within(self, symbols: dict[tuple[Symbol, ...], np.ndarray]) -> dict[tuple[Symbol, ...], np.ndarray]:
        """Runtime coefficients inside each atom, relative to its first element: they must vanish."""
        assert self.repeat_shape is not None
        shape = self.group.size, prod(self.repeat_shape), self.atom.size
        differing = {mono: values.reshape(shape) for mono, values in symbols.items() if any(values.strides)}  # others are one number
        return {mono: values - values[:, :, :1] for mono, values in differing.items()}

    def _place(self, element: int) -> tuple[int, ...]:
        return tuple(divmod(element, self.atom.shape[-1]))

    def _moved(self, element: int, bits: int) -> str:
        return f"element {self._place(element)} lies {_counted(int(bits) // 8)} behind element (0, 0)"

    def _differs(self, example: str) -> Exception:
        return refuse(
            self.match, self.name, f"{self.view!r} does not lie in one way in every repeat", example=example,
            rule="one descriptor's strides serve all repeats, whose starts alone differ", legal="repeats that are parts of one layout",
        )  # fmt: skip

    def _unrecognised(self, missed: list[Missed], found: np.ndarray, words: list[str]) -> Exception:
        swizzle, others = self.view.layout.swizzle, sorted({one.word for one in CANONICAL} - set(words))
        other = recognise(found, self.atom.shape, self.view.dtype.bits, swizzle, others)
        if isinstance(other, Found):
            return refuse(
                self.match, self.name, f"{self.view!r} is {other.canonical.described}",
                rule=f"this operand of this instruction is {_majors(words)}", legal=self._describable(found, words),
            )  # fmt: skip
        rule = "a matrix descriptor describes the canonical layouts of the ISA, each with two free strides"
        example = ""
        if missed and missed[0].distance is not None:
            stride = _counted(missed[0].distance)
            example = f"it is {missed[0].canonical.described}, and a stride of {stride} is none that a descriptor says"
            return refuse(
                self.match, self.name, f"{self.view!r} is in none of the layouts that a descriptor can describe", rule=rule,
                example=example, legal=f"strides that are multiples of {UNIT} bytes, below {REACH}",
            )  # fmt: skip
        if missed:
            nearest = missed[0]
            example = (
                f"{self._moved(nearest.element, found[nearest.element])}, where the nearest canonical layout, "
                f"{nearest.canonical.described}, puts it {_counted(nearest.wanted // 8)} behind"
            )
        return refuse(
            self.match, self.name, f"{self.view!r} is in none of the layouts that a descriptor can describe", rule=rule, example=example,
            legal=self._describable(found, words) or f"a layout that is {_majors(words)}",
        )  # fmt: skip

    def _describable(self, found: np.ndarray, words: list[str]) -> str:
        """The same distances under another swizzle, where a descriptor describes them; else the layouts of the operand's own swizzle."""
        bits, own = self.view.dtype.bits, self.view.layout.swizzle
        for one in self.fields.modes:
            if one is not None and isinstance(recognise(found, self.atom.shape, bits, one, words), Found):
                return f"the same tile with layout=px.Layout(..., swizzle=px.{SWIZZLES[one]})"
        layouts = []
        for canonical in CANONICAL:
            if canonical.word in words and canonical.pattern == own:
                layout = canonical_layout(canonical, self.atom.shape, bits)
                if layout is not None:
                    layouts.append(f"{'K' if canonical.major == 'k' else 'MN'}-major {layout!r}")
        return f"{' or '.join(layouts)}, whatever lead and stride; px.solve.operand makes one" if layouts else ""

    # ---- where it starts -----------------------------------------------------------------------------------------------

    def _starts(self) -> Addresses:
        """The addresses of the first elements, before the swizzle: the hardware XORs absolute addresses itself."""
        view, group = self.view, self.group
        assert self.repeat_shape is not None and isinstance(view.storage, Memory)
        table = view.layout.table()
        shape = group.size, prod(self.repeat_shape), self.atom.size
        spread = np.repeat(np.arange(group.size), group.unit)
        first = table.linear.reshape(shape)[:, :, 0]
        period = view.layout.swizzle.period if view.layout.swizzle is not None else UNIT
        if view.storage.align % max(period, UNIT):
            raise refuse(
                self.match, self.name, f"{view!r} begins at a multiple of {view.storage.align} bytes",
                rule="the swizzle acts on absolute addresses, so its pattern must begin at a multiple of its period",
                example=f"a tile at address {view.storage.align} begins {view.storage.align} bytes inside a pattern of {period} bytes",
                legal=f"px.shared(..., align={max(period, UNIT)})",
            )  # fmt: skip
        symbols = {mono: values.reshape(shape)[:, :, 0] for mono, values in table.symbols.items()}
        self._check_start(first, symbols, period)
        own = {mono: values[spread] for mono, values in symbols.items()}
        return Addresses(view.builder, group, view, first[spread], first[spread], own, True, swizzled=False)

    def _check_start(self, first: np.ndarray, symbols: dict[tuple[Symbol, ...], np.ndarray], period: int) -> None:
        """A start is a multiple of 16 bytes; unless the descriptor may name the midst of a swizzle's pattern, in its first row."""
        midway = self.fields.midway and self.found.canonical.major == "k"
        span = self.found.canonical.swizzle if not midway else 0
        for mono, values in symbols.items():
            step = int(np.gcd.reduce(np.abs(values).ravel())) * Expr({mono: 1}).divisor()
            if step % (8 * (period if span else UNIT)):
                raise self._moving("*".join(s.name for s in mono), step, period if span else UNIT)
        inside = first // 8 % period
        unaligned = first % (8 * UNIT) != 0
        bad = unaligned | ((inside >= span) if span else np.zeros(first.shape, bool))
        if not bad.any():
            return
        g, r = map(int, np.argwhere(bad)[0])
        if not span:
            raise refuse(
                self.match, self.name, f"{self.view!r} begins inside of {UNIT} bytes",
                rule=f"a descriptor's start is a multiple of {UNIT} bytes",
                example=f"{self.coordinates(g, r)}: byte {int(first[g, r]) // 8} is {int(first[g, r]) // 8 % UNIT} bytes inside",
                legal=f"parts that begin at a multiple of {8 * UNIT // self.view.dtype.bits} elements",
            )  # fmt: skip
        raise refuse(
            self.match, self.name, f"{self.view!r} begins in the middle of a swizzle pattern",
            rule="a descriptor's start lies in the first row of a swizzle pattern, at a multiple of 16 bytes",
            example=f"{self.coordinates(g, r)}: byte {int(first[g, r]) // 8} is {int(inside[g, r])} bytes inside a pattern of {period}",
            legal=f"parts that begin at a multiple of {period // span} rows",
        )  # fmt: skip

    def _moving(self, what: str, step: int, multiple: int) -> Exception:
        """The refusal of a runtime term whose steps a start can't take."""
        if multiple == UNIT:
            return refuse(
                self.match, self.name, f"{self.view!r} begins inside of {UNIT} bytes, as far as is known",
                rule=f"a descriptor's start is a multiple of {UNIT} bytes", example=f"{what} moves it in steps of {step // 8} bytes",
                legal=f"an index whose steps are multiples of {UNIT} bytes",
            )  # fmt: skip
        return refuse(
            self.match, self.name, f"{self.view!r} begins at a runtime place inside the swizzle's pattern",
            rule="a descriptor's start is a multiple of the swizzle's period, plus a constant step along one of its rows",
            example=f"{what} moves it in steps of {step // 8} bytes; the period is {multiple}",
            legal="stages and tiles that are whole periods apart",
        )  # fmt: skip

    # ---- text ----------------------------------------------------------------------------------------------------------

    @property
    def word(self) -> int:
        """The descriptor but for its start."""
        found, fields = self.found, self.fields
        return fields.encode(lead=found.lead // UNIT, stride=found.stride // UNIT, mode=fields.modes[found.canonical.pattern])

    def given(self) -> Given:
        return Given("register", "%rd0", u64)

    def render(self, repeats: int) -> list[ir.Operand]:
        return [self._descriptor(address) for address in self.addresses.render()]

    def _descriptor(self, address: ir.Address) -> ir.Operand:
        """The descriptor of one start: constant fields and the base address once, then the start's distance in 16-byte units."""
        builder = self.view.builder
        base = address.base
        first, into = self._encoded(base)
        units = address.offset // UNIT
        if not units:
            return first.operand
        key = "descriptor", first.operand, units
        made: Value = builder.numbered(key, lambda: compute(builder, "add.s64", u64, operand(first), integer(units), into=into))
        return made.operand

    def _encoded(self, base: ir.Operand) -> tuple[Value, list[ir.Statement] | None]:
        """The descriptor of a base register, and where it is computed: in the prologue, or here (None)."""
        builder = self.view.builder
        word = self.word
        start = self.addresses.start() if isinstance(base, ir.Sym) else Value(builder, u32, base, builder.region, None)
        into = builder.prologue if isinstance(base, ir.Sym) or self.addresses.in_prologue(base) else None

        def make() -> Value:
            # In a cluster, bits above the shared window's 256 KiB name the CTA; they must not reach the next field.
            within = compute(builder, "and.b32", u32, operand(start), integer(REACH - 1), into=into)
            units = compute(builder, "shr.u32", u32, operand(within), integer(4), into=into)
            wide = compute(builder, "cvt.u64.u32", u64, operand(units), into=into)
            constant = ir.Int(word, radix=16), Given("int", hex(word), value=word)
            return compute(builder, "or.b64", u64, operand(wide), constant, into=into)

        key = "descriptor base", start.operand, word
        if into is None:
            made: Value = builder.numbered(key, make)
            return made, None
        known: Value | None = builder.root.numbered.get(key)
        if known is None:
            known = builder.root.numbered[key] = make()
        return known, into


def _majors(words: list[str]) -> str:
    """The majors that an operand may have, in words."""
    known = {"k": "K-major", "mn": "MN-major", "mn32": f"MN-major with {SWIZZLES[Swizzle.B128_ATOM32]}"}
    return " or ".join(known[word] for word in words)


def _counted(number: int) -> str:
    return f"{number} byte{'' if number == 1 else 's'}"
