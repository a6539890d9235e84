"""The descriptor place: a matrix in shared memory that an instruction finds by a 64-bit descriptor, derived from the operand's layout.

The canonical layouts of the contract have two free strides. They are read off the operand, and then every element is compared: what is
accepted is what the hardware's address function reaches. A slice keeps its parent's strides, since they are in its layout.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from ptxgen import ir
from ptxgen.instructions.checking import Given
from ptxgen.instructions.descriptors import CANONICAL, Canonical
from ptxgen.instructions.language import Operand
from ptxgen.instructions.registry import Match
from ptxgen.instructions.tiles import Atom, chosen
from ptxgen.instructions.types import u32, u64
from ptxgen.layouts.expr import Expr, Symbol
from ptxgen.layouts.layout import Layout
from ptxgen.layouts.parse import parse
from ptxgen.layouts.swizzle import Swizzle
from ptxgen.tile.addresses import Addresses
from ptxgen.tile.expressions import compute, integer, operand
from ptxgen.tile.group import Group
from ptxgen.tile.image import Image
from ptxgen.tile.operands import ViewOperand, refuse
from ptxgen.tracing.builder import Value
from ptxgen.tracing.views import Memory, View

__all__ = ["DescriptorOperand"]

_SPANS: dict[Swizzle | None, int] = {None: 0, Swizzle.B32: 32, Swizzle.B64: 64, Swizzle.B128: 128}
_LEAD, _STRIDE = Symbol("lead"), Symbol("stride")
_WINDOW = 1 << 18  # bytes that a descriptor's 14-bit start reaches
_UNIT = 16  # bytes that addresses and offsets in a descriptor are counted in


class Found(NamedTuple):
    """The canonical layout that an operand has, and its strides in bytes (0 where nothing uses them)."""

    canonical: Canonical
    lead: int
    stride: int


class DescriptorOperand(ViewOperand):
    """A shared-memory operand in one of the canonical layouts."""

    __slots__ = ("addresses", "found")

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
        # What was found about a layout holds wherever the same threads take it from the same memory.
        key = "descriptor", match, atom, shape, view.storage, view.layout.spelling, group
        self.found, self.addresses = view.builder.once(key, lambda: (self._recognise(atom, bits), self._starts()))

    # ---- which canonical layout ----------------------------------------------------------------------------------------

    def _recognise(self, atom: Atom, bits: int) -> Found:
        view = self.view
        assert self.repeat_shape is not None
        swizzle = view.layout.swizzle
        if swizzle not in _SPANS:
            raise refuse(
                self.match, self.name, f"{view!r} has the swizzle {swizzle}", rule="a descriptor knows swizzles of 32, 64 and 128 bytes",
                legal="Swizzle.B32, Swizzle.B64, Swizzle.B128 or none",
            )  # fmt: skip
        table = view.layout.table()
        positions = table.linear.reshape(self.group.size, prod(self.repeat_shape), self.atom.size)
        shape = positions - positions[:, :, :1]
        majors = chosen(atom.majors, self.match).split()
        nearest: tuple[int, Canonical, int, int] | None = None
        for canonical in CANONICAL:
            if canonical.swizzle != _SPANS[swizzle] or canonical.major not in majors:
                continue
            outcome = _solve(canonical, self.atom.shape, bits, shape[0, 0])
            if isinstance(outcome, Found):
                if (shape == shape[:1, :1]).all() and not any((v != v.ravel()[0]).any() for v in self._within(table.symbols)):
                    return outcome
                outcome = (0, 0, 0)
            if nearest is None or outcome[0] > nearest[0]:
                nearest = outcome[0], canonical, outcome[1], outcome[2]
        raise self._unrecognised(nearest, shape[0, 0], majors)

    def _within(self, symbols: dict[tuple[Symbol, ...], np.ndarray]) -> list[np.ndarray]:
        """Runtime coefficients inside each atom, relative to its first element: they must vanish."""
        assert self.repeat_shape is not None
        differing = [values for values in symbols.values() if any(values.strides)]  # the others are one number in all elements
        split = (values.reshape(self.group.size, prod(self.repeat_shape), self.atom.size) for values in differing)
        return [values - values[:, :, :1] for values in split]

    def _unrecognised(self, nearest: tuple[int, Canonical, int, int] | None, found: np.ndarray, majors: list[str]) -> Exception:
        k = self.atom.shape[-1]
        rule = "a matrix descriptor describes the canonical layouts of the ISA, each with two free strides"
        example = ""
        if nearest is not None:
            at = nearest[2]
            example = (
                f"element ({at // k}, {at % k}) lies {_counted(int(found[at]) // 8)} behind element (0, 0), where the nearest canonical "
                f"layout puts it {_counted(nearest[3] // 8)} behind"
            )
        return refuse(
            self.match, self.name, f"{self.view!r} is in none of the layouts that a descriptor can describe", rule=rule, example=example,
            legal=self._describable(found, majors) or f"a {' or '.join(majors)}-major layout",
        )  # fmt: skip

    def _describable(self, found: np.ndarray, majors: list[str]) -> str:
        """The same distances under another swizzle, where a descriptor describes them; else the layouts of the operand's own swizzle."""
        bits, own = self.view.dtype.bits, _SPANS[self.view.layout.swizzle]
        layouts = []
        for one in CANONICAL:
            if one.major not in majors:
                continue
            if one.swizzle and isinstance(_solve(one, self.atom.shape, bits, found), Found):
                return f"the same tile with layout=px.Layout(..., swizzle=px.Swizzle.B{one.swizzle})"
            if one.swizzle == own and (layout := _parsed(one, self.atom.shape, bits)) is not None:
                layouts.append(f"{'K' if one.major == 'k' else 'MN'}-major {layout!r}")
        return f"{' or '.join(layouts)}, whatever lead and stride" if layouts else ""

    # ---- where it starts -----------------------------------------------------------------------------------------------

    def _starts(self) -> Addresses:
        """The addresses of the first elements, before the swizzle: the hardware XORs absolute addresses itself."""
        view, group = self.view, self.group
        assert self.repeat_shape is not None and isinstance(view.storage, Memory)
        table = view.layout.table()
        shape = group.size, prod(self.repeat_shape), self.atom.size
        spread = np.repeat(np.arange(group.size), group.unit)
        first = table.linear.reshape(shape)[:, :, 0]
        period = view.layout.swizzle.period if view.layout.swizzle is not None else _UNIT
        if view.storage.align % max(period, _UNIT):
            raise refuse(
                self.match, self.name, f"{view!r} begins at a multiple of {view.storage.align} bytes",
                rule="the swizzle acts on absolute addresses, so its pattern must begin at a multiple of its period",
                example=f"a tile at address {view.storage.align} begins {view.storage.align} bytes inside a pattern of {period} bytes",
                legal=f"px.shared(..., align={max(period, _UNIT)})",
            )  # fmt: skip
        symbols = {mono: values.reshape(shape)[:, :, 0] for mono, values in table.symbols.items()}
        self._check_start(first, symbols, period)
        own = {mono: values[spread] for mono, values in symbols.items()}
        return Addresses(view.builder, group, view, first[spread], first[spread], own, True, swizzled=False)

    def _check_start(self, first: np.ndarray, symbols: dict[tuple[Symbol, ...], np.ndarray], period: int) -> None:
        """A start inside a swizzle pattern is legal along a row of it; in the middle of its rows the base-offset field would matter."""
        span = _SPANS[self.view.layout.swizzle]
        inside = first // 8 % period
        bad = (first % (8 * _UNIT) != 0) | ((inside >= span) if span else np.zeros(first.shape, bool))
        for mono, values in symbols.items():
            step = int(np.gcd.reduce(np.abs(values).ravel())) * Expr({mono: 1}).divisor()
            if step % (8 * (period if span else _UNIT)):
                raise refuse(
                    self.match, self.name, f"{self.view!r} begins at a runtime place inside the swizzle's pattern",
                    rule="a descriptor's start is a multiple of the swizzle's period, plus a constant step along one of its rows",
                    example=f"{'*'.join(s.name for s in mono)} moves it in steps of {step // 8} bytes; the period is {period}",
                    legal="stages and tiles that are whole periods apart",
                )  # fmt: skip
        if bad.any():
            g, r = map(int, np.argwhere(bad)[0])
            raise refuse(
                self.match, self.name, f"{self.view!r} begins in the middle of a swizzle pattern",
                rule="a descriptor's start lies in the first row of a swizzle pattern, at a multiple of 16 bytes",
                example=f"{self.coordinates(g, r)}: byte {int(first[g, r]) // 8} is {int(inside[g, r])} bytes inside a pattern of {period}",
                legal="parts that begin at a multiple of 8 rows",
            )  # fmt: skip

    # ---- text ----------------------------------------------------------------------------------------------------------

    def given(self) -> Given:
        return Given("register", "%rd0", u64)

    def render(self, repeats: int) -> list[ir.Operand]:
        return [self._descriptor(address) for address in self.addresses.render()]

    def _descriptor(self, address: ir.Address) -> ir.Operand:
        """The descriptor of one start: constant fields and the base address once, then the start's distance in 16-byte units."""
        builder = self.view.builder
        base = address.base
        first, into = self._encoded(base)
        units = address.offset // _UNIT
        if not units:
            return first.operand
        key = "descriptor", first.operand, units
        made: Value = builder.numbered(key, lambda: compute(builder, "add.s64", u64, operand(first), integer(units), into=into))
        return made.operand

    def _encoded(self, base: ir.Operand) -> tuple[Value, list[ir.Statement] | None]:
        """The descriptor of a base register, and where it is computed: in the prologue, or here (None)."""
        builder = self.view.builder
        atom = self.match.entry.tile.atoms[self.name] if self.match.entry.tile is not None else None
        assert atom is not None and atom.descriptor is not None
        found, fields = self.found, atom.descriptor
        word = fields.encode(lead=found.lead // _UNIT, stride=found.stride // _UNIT, mode=fields.modes[found.canonical.swizzle])
        start = self.addresses.start() if isinstance(base, ir.Sym) else Value(builder, u32, base, builder.region, None)
        into = builder.prologue if isinstance(base, ir.Sym) or self.addresses.in_prologue(base) else None

        def make() -> Value:
            # In a cluster, bits above the shared window's 256 KiB name the CTA; they must not reach the next field.
            within = compute(builder, "and.b32", u32, operand(start), integer(_WINDOW - 1), into=into)
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


@lru_cache(maxsize=256)
def _canonical(canonical: Canonical, shape: tuple[int, ...], bits: int) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Constant part and the coefficients of the two free strides, in bits for every element; None where the extents do not fit.

    The last block of rows may be cut off: where an element lies does not depend on how many rows there are.
    """
    layout = _parsed(canonical, shape, bits)
    if layout is None:
        return None
    table, rows = layout.table(), shape[0]
    zero = np.zeros(table.shape, np.int64)
    parts = (table.linear, table.symbols.get((_LEAD,), zero), table.symbols.get((_STRIDE,), zero))
    constant, lead, stride = (part[:rows].ravel() * bits for part in parts)
    return constant, lead, stride


def _parsed(canonical: Canonical, shape: tuple[int, ...], bits: int) -> Layout | None:
    """A canonical layout in elements, of whole blocks of rows; None where the extents do not fit."""
    rows, k = shape
    block = canonical.rows(128 // bits)
    rows = -(-rows // block) * block
    try:
        return parse(canonical.layout, rows=rows, k=k, t=128 // bits, lead=Expr.of(_LEAD), stride=Expr.of(_STRIDE)).reshape(rows, k)
    except Exception:  # an extent that the layout's units do not divide
        return None


def _counted(number: int) -> str:
    return f"{number} byte{'' if number == 1 else 's'}"


def _solve(canonical: Canonical, shape: tuple[int, ...], bits: int, found: np.ndarray) -> Found | tuple[int, int, int]:
    """The strides under which a canonical layout is the operand's; or (elements that agree, the first that does not, its place there)."""
    image = _canonical(canonical, shape, bits)
    if image is None:
        return 0, 0, 0
    constant, lead, stride = image
    values = []
    for own, other in ((lead, stride), (stride, lead)):
        at = np.flatnonzero((own == bits) & (other == 0))
        values.append(int(found[at[0]] - constant[at[0]]) // bits if len(at) else 0)
    wanted = constant + lead * values[0] + stride * values[1]
    wrong = np.flatnonzero(wanted != found)
    if len(wrong):
        return int(wrong[0]), int(wrong[0]), int(wanted[wrong[0]])
    distances = [value * bits // 8 for value in values]
    if any(distance % _UNIT or not 0 <= distance < 1 << 18 for distance in distances):
        return len(found) - 1, 0, 0
    return Found(canonical, *distances)


