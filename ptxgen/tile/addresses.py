"""The addresses of a memory operand: base registers and immediates for all repeats, as an expert writes them.

Offsets are tabulated over (thread, repeat). Repeats that differ by a constant share a base register; a swizzled repeat gets its own
base by an XOR where the alignment allows it. Thread parts go to the prologue and are computed once; runtime terms are added where they
are known.
"""

from __future__ import annotations

from math import gcd, prod
from typing import Any

import numpy as np

from ptxgen import ir
from ptxgen.errors import InstructionError, TraceError
from ptxgen.instructions.checking import Given
from ptxgen.instructions.types import s64, u32, u64
from ptxgen.layouts.axes import m
from ptxgen.layouts.expr import Expr, Monomial
from ptxgen.layouts.swizzle import Swizzle
from ptxgen.tile.expressions import compute, convert, integer, materialize, operand
from ptxgen.tile.group import Group
from ptxgen.tile.program import Linear, emit_digit, fit
from ptxgen.tile.proof import Evaluator, mismatch
from ptxgen.tracing.builder import Builder, Value, given_register
from ptxgen.tracing.views import Memory, View

__all__ = ["Addresses", "in_register", "scalar_address"]


# ---- one operand --------------------------------------------------------------------------------------------------------


class Anchor:
    """The storage behind a memory operand: its first byte, and registers that lie at a distance from it."""

    def __init__(self, builder: Builder, view: View) -> None:
        assert isinstance(view.storage, Memory)
        self.builder = builder
        self.view = view
        self.storage = view.storage
        self.bits = self.storage.address_bits
        self.unit = self.storage.unit

    def start(self) -> Value:
        """The address of the storage's first byte in a register."""
        base = self.storage.base
        if isinstance(base, Value):
            return base
        type = u32 if self.bits == 32 else u64
        given = (base, Given("symbol", base.name))

        def make() -> Value:
            return compute(self.builder, f"mov.u{self.bits}", type, given, into=self.builder.prologue)

        return self._once(("symbol", base.name), make)

    def _add(self, base: Value, term: Value) -> Value:
        opcode = "add.s64" if self.bits == 64 else "add.u32"
        key = ("base", base.operand, term.operand)
        made: Value = self.builder.numbered(key, lambda: compute(self.builder, opcode, base.type, operand(base), operand(term)))
        return made

    def _once(self, key: Any, make: Any) -> Value:
        found: Value = self.builder.once(key, make)
        return found

    def _moved_by(self, base: Value | None, runtime: Expr) -> Value | None:
        """A base, the storage's first byte by default, plus a displacement in bits that is known at run time."""
        if not runtime.terms:
            return base
        return self._add(base if base is not None else self.start(), materialize(self.builder, _in_units(runtime, self), self.bits))

    def _encoded(self, base: Value | None, start: int) -> tuple[ir.Operand, int]:
        """The operand and the immediate of an address `start` bytes behind a base, the storage's first byte by default."""
        if base is None and _encodable(start):
            first = self.storage.base
            return (first if isinstance(first, ir.Sym) else first.operand), start
        base = self.start() if base is None else base
        if not _encodable(start):
            base, start = self._add(base, Value(self.builder, base.type, ir.Int(start), None, None)), 0
        return base.operand, start

    def element(self) -> ir.Address:
        """The address of the only element of a view without a swizzle."""
        offset = Expr.of(self.view.layout.offset[m])
        constant = offset.terms.get((), 0)
        base, start = self._encoded(self._moved_by(None, offset - constant), constant // self.unit)
        self._prove_element(base, start, offset)
        return ir.Address(base, start)  # type: ignore[arg-type]

    def _evaluator(self) -> Evaluator:
        """The trace's evaluator, for addresses that count from this storage's first byte."""
        evaluator = Evaluator.of(self.builder)
        if self.storage.computed:
            evaluator.begins(self.start().operand)
        return evaluator

    def _prove_element(self, base: ir.Operand, start: int, offset: Expr) -> None:
        """Evaluate the base that was written, in all active threads, and compare it with the layout's offset."""
        evaluator, due = self._evaluator(), np.zeros(1, np.int64)
        for mono, coefficient in offset.terms.items():
            due = due + coefficient // self.unit * prod(evaluator.sample(symbol) for symbol in mono)  # before what is made of the samples
        value = evaluator.value(base)
        if value is None:
            return
        found = value + start
        if self.bits == 32:
            found = found & 0xFFFFFFFF
        wrong = found != due
        if wrong.any():
            active = self.builder.active_threads()
            wrong, found, due = (np.broadcast_to(one, (self.builder.threads,))[active] for one in (wrong, found, due))
            if wrong.any():
                at = int(np.flatnonzero(wrong)[0])
                raise mismatch(repr(self.view), int(active[at]), 0, int(found[at]), int(due[at]))


class Addresses(Anchor):
    """The addresses of one memory operand under one group.

    Parameters
    ----------
    builder, group, view
    linear, physical : ndarray of shape (threads, repeats)
        Bits from the storage's first byte to what each thread's address points at, before and after the swizzle; without runtime terms.
    symbols : dict
        Coefficients of the runtime terms, likewise.
    separable : bool
        Whether the runtime terms may be added behind the swizzle.
    swizzled : bool
        Whether the swizzle is in the addresses; not where the hardware applies it to what they point at.
    """

    def __init__(
        self,
        builder: Builder,
        group: Group,
        view: View,
        linear: np.ndarray,
        physical: np.ndarray,
        symbols: dict[Monomial, np.ndarray],
        separable: bool,
        swizzled: bool = True,
    ) -> None:
        super().__init__(builder, view)
        self.group = group
        self.swizzle: Swizzle | None = view.layout.swizzle if swizzled else None
        self.linear = linear // self.unit
        self.physical = self.linear if self.swizzle is None else physical // self.unit
        self.symbols = symbols
        self.separable = separable
        # How far each repeat lies behind the first one, where that is the same for every thread.
        steps = self.physical - self.physical[:, :1]
        self.steps = [step if same else None for step, same in zip(steps[0].tolist(), (steps == steps[:1]).all(axis=0).tolist())]
        self._bases: dict[Any, tuple[ir.Operand, int]] = {}

    def in_prologue(self, base: ir.Operand) -> bool:
        """Whether a base register of these addresses is computed in the prologue."""
        return not self.symbols and not self.storage.computed and isinstance(base, ir.Reg)

    def render(self) -> list[ir.Address]:
        """One address a repeat; emits what computes the base registers, where none that are visible hold them already."""
        written: list[ir.Address] = self.builder.numbered(("addresses", self), self._written)
        return written

    def _written(self) -> list[ir.Address]:
        self._bases.clear()
        repeats = range(self.linear.shape[1])
        if self.separable:
            addresses = self._all_behind(self._address(0)) or [self._address(repeat) for repeat in repeats]
        else:
            addresses = [self._runtime_swizzle(repeat) for repeat in repeats]
        self._prove(addresses)
        return addresses

    def _all_behind(self, first: ir.Address) -> list[ir.Address]:
        """The first address and what lies behind it, where that is the same for every thread in all repeats, as it nearly always is."""
        steps = [step for step in self.steps if step is not None and _encodable(first.offset + step)]
        if len(steps) < len(self.steps) or any((values != values[:, :1]).any() for values in self.symbols.values()):
            return []
        return [ir.Address(first.base, first.offset + step) for step in steps]

    def _prove(self, addresses: list[ir.Address]) -> None:
        """Evaluate the text that was written, in all threads of the first CTA, and compare it with the table."""
        group, evaluator = self.group, self._evaluator()
        threads = len(group.rows)
        # An instance of the scope that has active threads: what the others would compute is nobody's business.
        rows = group.rows + int(group.active[0]) // group.span * group.span if group.scope != "thread" else group.active
        wanted = self.linear[:threads]
        for mono, values in self.symbols.items():
            factor = prod(_at(evaluator.sample(symbol), rows) for symbol in mono)
            wanted = wanted + values[:threads] // self.unit * factor
        if self.swizzle is not None:
            wanted = self.swizzle.apply_bytes(wanted)
        repeats: dict[int, list[int]] = {}  # by the identity of the base
        for repeat, address in enumerate(addresses):
            repeats.setdefault(id(address.base), []).append(repeat)
        for own in repeats.values():
            value = evaluator.value(addresses[own[0]].base)
            if value is None:
                continue
            found = _at(value, rows) + [addresses[one].offset for one in own]
            if self.bits == 32:
                found = found & 0xFFFFFFFF
            due = wanted if len(own) == len(addresses) else wanted[:, own]
            if (found != due).any():
                at, one = map(int, np.argwhere(found != due)[0])
                found, due = np.broadcast_arrays(found, due)
                raise mismatch(repr(self.view), int(rows[at]), own[one], int(found[at, one]), int(due[at, one]))

    def _address(self, repeat: int) -> ir.Address:
        moved = self._moved(repeat)
        for (other, other_moved), (base, start) in self._bases.items():
            if other_moved != moved:
                continue
            step = self._constant_step(repeat, other)
            if step is not None and _encodable(start + step):
                return ir.Address(base, start + step)  # type: ignore[arg-type]
        base, start = self._flipped(repeat, moved) or self._shifted(repeat, moved) or self._base(repeat)
        self._bases[repeat, moved] = base, start
        return ir.Address(base, start)  # type: ignore[arg-type]

    def _constant_step(self, repeat: int, other: int) -> int | None:
        """How far a repeat lies behind another one, in bytes, where that is the same for every thread."""
        one, two = self.steps[repeat], self.steps[other]
        if one is not None and two is not None:
            return one - two
        steps = self.physical[:, repeat] - self.physical[:, other]
        return int(steps[0]) if (steps == steps[0]).all() else None

    def _moved(self, repeat: int) -> tuple[tuple[Monomial, int], ...]:
        """How the runtime terms of a repeat differ from those of the first one."""
        if not self.symbols:
            return ()
        moves = ((mono, values[:, repeat] - values[:, 0]) for mono, values in self.symbols.items())
        return tuple((mono, int(move[0])) for mono, move in moves if move.any())

    def _flipped(self, repeat: int, moved: tuple[tuple[Monomial, int], ...]) -> tuple[ir.Operand, int] | None:
        """The base of a swizzled repeat as an XOR of an earlier base: legal below the base's alignment."""
        if self.swizzle is None:
            return None
        into = None if self.symbols or self.storage.computed else self.builder.prologue
        runtime = (Expr({mono: 1}).divisor() * int(np.gcd.reduce(values, axis=None)) // self.unit for mono, values in self.symbols.items())
        aligned = gcd(self.storage.align, *runtime)  # what is added to the swizzled offset is a multiple of this power of two
        for (other, other_moved), (base, start) in self._bases.items():
            flip = self.physical[:, repeat] ^ self.physical[:, other]
            constant = int(flip[0])
            below = (flip == constant).all() and constant < aligned
            if below and other_moved == moved and start == 0 and isinstance(base, ir.Reg):
                return self._flip(base, constant, into).operand, 0
        return None

    def _flip(self, base: ir.Reg, constant: int, into: list[ir.Statement] | None) -> Value:
        type = u32 if self.bits == 32 else u64

        def make() -> Value:
            operands = (base, given_register(base, type)), integer(constant)
            return compute(self.builder, f"xor.b{self.bits}", type, *operands, into=into)

        key = ("flip", base, constant)
        if into is not None:
            return self._once(key, make)
        made: Value = self.builder.numbered(key, make)
        return made

    def _shifted(self, repeat: int, moved: tuple[tuple[Monomial, int], ...]) -> tuple[ir.Operand, int] | None:
        """The base of a repeat as that of the first one plus the runtime distance between them."""
        first = self._bases.get((0, ()))
        step = self._constant_step(repeat, 0)
        distances = [values[:, repeat] - values[:, 0] for values in self.symbols.values()]
        if first is None or step is None or not moved or not all(self._uniform(distance) for distance in distances):
            return None
        base, start = first
        if not isinstance(base, ir.Reg) or not _encodable(start + step):
            return None
        type = s64 if self.bits == 64 else u32
        distance = materialize(self.builder, _in_units(Expr(dict(moved)), self), self.bits)
        key = ("base", base, distance.operand)
        given = base, given_register(base, type)
        opcode = f"add.{type.name}"
        value: Value = self.builder.numbered(key, lambda: compute(self.builder, opcode, type, given, operand(distance)))
        return value.operand, start + step

    def _base(self, repeat: int) -> tuple[ir.Operand, int]:
        """A base register for a repeat: storage + thread part (in the prologue) + runtime part (here)."""
        value, start = self._thread_part(repeat)
        uniform, strided = {}, {}
        for mono, values in self.symbols.items():
            own = values[:, repeat]
            if self._uniform(own):
                uniform[mono] = int(own[0])
            else:
                strided[mono] = own
        if uniform:
            value = self._moved_by(value, Expr(uniform))
        for mono, own in strided.items():
            value = self._strided(value if value is not None else self.start(), mono, own)
        return self._encoded(value, start)

    @staticmethod
    def _uniform(values: np.ndarray) -> bool:
        return len(values) == 1 or bool((values == values[0]).all())

    def _fit(self, offsets: np.ndarray) -> list[tuple[Value, Linear]]:
        """Programs for the thread part, one for each index that it depends on (CTA of the cluster, thread)."""
        threads = len(self.group.rows)
        table = offsets.reshape(-1, threads)
        inner = fit(self.group.rows, table[0])
        if inner is None or (table - table[:, :1] != table[0] - table[0, 0]).any():
            raise TraceError(
                f"the addresses of {self.view!r} are no digit-wise linear function of the thread's index",
                why=f"the offsets of the first threads are {', '.join(map(str, offsets[:8]))} bytes",
                legal="a layout whose thread axes split evenly, or scope='thread' with explicit indices",
            )
        programs = [(self._index(), inner)]
        rank = table[:, 0] - table[0, 0]
        cta = fit(np.arange(len(rank)), rank)
        if cta is not None and cta.digits:
            programs.append((self._cta_rank(), cta))
        return programs

    def _index(self) -> Value:
        """The thread's index in the scope."""
        builder, group = self.builder, self.group
        thread = builder.thread_index()
        if group.span == builder.threads or group.scope == "thread":
            return thread
        from ptxgen.tile.program import Digit

        return emit_digit(builder, thread, Digit(1, group.span), builder.prologue)

    def _cta_rank(self) -> Value:
        return self.builder.special("cluster_ctarank", 0, int(np.prod(self.builder.cluster)) - 1)

    def _thread_part(self, repeat: int) -> tuple[Value | None, int]:
        """The register with storage + thread part of a repeat, and the constant left for the immediate."""
        if len(self.physical) == 1:
            return None, int(self.physical[0, repeat])
        programs = self._fit(self.linear[:, repeat] if self.swizzle is not None else self.physical[:, repeat])
        start = sum(program.start for _, program in programs)
        if not any(program.digits for _, program in programs):
            return None, int(self.physical[0, repeat])
        if self.swizzle is not None:
            return self._swizzled(programs, start), 0
        key = ("thread part", self.storage, tuple((index.operand, program.digits) for index, program in programs))
        if self.storage.computed:  # the prologue does not have it yet
            zero = Value(self.builder, u32 if self.bits == 32 else u64, ir.Int(0), None, None)
            return self._add(self.start(), self._once(key, lambda: self._accumulate(zero, programs))), start
        return self._once(key, lambda: self._accumulate(self.start(), programs)), start

    def _accumulate(self, base: Value, programs: list[tuple[Value, Linear]]) -> Value:
        """base + the digits times their strides, in the prologue."""
        into = self.builder.prologue
        for index, program in programs:
            for digit, stride in program.digits:
                value = emit_digit(self.builder, index, digit, into)
                base = _multiply_add(self.builder, value, stride, base, into)
        return base

    def _swizzled(self, programs: list[tuple[Value, Linear]], start: int) -> Value:
        """storage + swizzle(thread part): the offset is formed in 32 bits, XORed, then added to the aligned base."""
        builder, into = self.builder, self.builder.prologue
        assert self.swizzle is not None
        swizzle = self.swizzle
        key = ("swizzled", self.storage, swizzle, start, tuple((index.operand, program.digits) for index, program in programs))

        def offset() -> Value:
            zero = Value(builder, u32, ir.Int(start % (1 << 32)), None, None)
            return _xor_swizzle(builder, self._accumulate(zero, programs), swizzle, into)

        if self.storage.computed:
            return self._add(self.start(), self._once(key, offset))
        return self._once(key, lambda: self._add_offset(offset(), into))

    def _add_offset(self, offset: Value, into: list[ir.Statement] | None) -> Value:
        base = self.start()
        if self.bits == 32:
            return compute(self.builder, "add.u32", u32, operand(base), operand(offset), into=into)
        wide = compute(self.builder, "cvt.u64.u32", u64, operand(offset), into=into)
        return compute(self.builder, "add.s64", u64, operand(base), operand(wide), into=into)

    def _strided(self, base: Value, mono: Monomial, coefficients: np.ndarray) -> Value:
        """Add a runtime stride times the thread's coordinate along it."""
        builder = self.builder
        for index, program in self._fit(coefficients):
            for digit, stride in (*program.digits, *(((None, program.start),) if program.start else ())):
                step = materialize(builder, _in_units(Expr({mono: stride}), self), self.bits)
                if digit is None:
                    opcode = "add.s64" if self.bits == 64 else "add.u32"
                    base = compute(builder, opcode, base.type, operand(base), operand(step))
                    continue
                value = convert(builder, emit_digit(builder, index, digit, builder.prologue), self.bits)
                opcode = "mad.lo.s64" if self.bits == 64 else "mad.lo.u32"
                base = compute(builder, opcode, base.type, operand(value), operand(step), operand(base))
        return base

    def _runtime_swizzle(self, repeat: int) -> ir.Address:
        """The address of a repeat whose swizzle depends on a runtime term: linear offset, XOR, base, all here."""
        builder = self.builder
        assert self.swizzle is not None
        programs = self._fit(self.linear[:, repeat])
        start = sum(program.start for _, program in programs)
        zero = Value(builder, u32, ir.Int(start % (1 << 32)), None, None)
        offset = self._accumulate(zero, programs) if any(program.digits for _, program in programs) else zero
        for mono, values in self.symbols.items():
            if not self._uniform(values[:, repeat]):
                raise TraceError(f"{self.view!r} has a runtime stride under a swizzle", legal="static strides in swizzled tiles")
            term = materialize(builder, _in_units(Expr({mono: int(values[0, repeat])}), self), 32)
            offset = compute(builder, "add.u32", u32, operand(term), operand(offset))
        return ir.Address(self._add_offset(_xor_swizzle(builder, offset, self.swizzle, None), None).operand)  # type: ignore[arg-type]


def _multiply_add(builder: Builder, value: Value, stride: int, base: Value, into: list[ir.Statement]) -> Value:
    """``value * stride + base`` in the width of `base`; exact in 64 bits, modulo 2**32 in the shared window."""
    if base.type.bits == 64:
        if not -(1 << 31) <= stride < 1 << 32:
            wide = compute(builder, "cvt.u64.u32", u64, operand(value), into=into)
            return compute(builder, "mad.lo.s64", base.type, operand(wide), integer(stride), operand(base), into=into)
        opcode = "mad.wide.s32" if stride < 0 else "mad.wide.u32"
        return compute(builder, opcode, base.type, operand(value), integer(stride), operand(base), into=into)
    if base.operand != ir.Int(0):
        return compute(builder, "mad.lo.u32", base.type, operand(value), integer(stride % (1 << 32)), operand(base), into=into)
    if stride > 0 and stride & (stride - 1) == 0:
        return compute(builder, "shl.b32", base.type, operand(value), integer(stride.bit_length() - 1), into=into)
    return compute(builder, "mul.lo.u32", base.type, operand(value), integer(stride % (1 << 32)), into=into)


def _xor_swizzle(builder: Builder, offset: Value, swizzle: Swizzle, into: list[ir.Statement] | None) -> Value:
    mask = ((1 << swizzle.bits) - 1) << swizzle.base
    shifted = compute(builder, "shr.u32", u32, operand(offset), integer(swizzle.shift), into=into)
    picked = compute(builder, "and.b32", u32, operand(shifted), integer(mask), into=into)
    return compute(builder, "xor.b32", u32, operand(offset), operand(picked), into=into)


def _in_units(expr: Expr, of: Anchor) -> Expr:
    """A displacement in bits as one in the units that addresses count."""
    if expr.terms and expr.divisor() % of.unit:
        raise InstructionError(f"{of.view!r} begins inside {of.unit} bits of one address", example=f"displacement {expr} bits")
    return expr.floordiv(of.unit)


def _at(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """A column of the values in some threads; of one value where all threads agree."""
    return (values if len(values) == 1 else values[rows])[:, None]


def _encodable(offset: int) -> bool:
    """Whether an offset fits the immediate of an address (ISA 6.4.1: a 32-bit integer constant)."""
    return -(1 << 31) <= offset < 1 << 31


def in_register(builder: Builder, view: View, address: ir.Address) -> ir.Address:
    """An address of a view's storage for an instruction that takes no name in it."""
    if not isinstance(address.base, ir.Sym):
        return address
    base = Anchor(builder, view).start().operand
    assert isinstance(base, ir.Reg)
    return ir.Address(base, address.offset, address.rest, address.unified)


def scalar_address(builder: Builder, view: View) -> tuple[ir.Address, Given]:
    """The address of a view's first element, for a raw instruction: base plus the view's offset."""
    assert isinstance(view.storage, Memory)
    first = view[(0,) * view.ndim] if view.ndim else view
    if view.layout.swizzle is None:
        address = Anchor(builder, first).element()
    else:
        table = first.layout.table()
        linear, physical = table.linear.reshape(1, 1), (table.m if table.separable else table.linear).reshape(1, 1)
        symbols = {mono: values.reshape(1, 1) for mono, values in table.symbols.items()}
        address = Addresses(builder, Group.at(builder, "thread"), first, linear, physical, symbols, table.separable).render()[0]
    return address, Given("address", view.described, space=view.space)


