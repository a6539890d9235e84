"""`px.ptx`: one instruction of the PTX ISA by its name, emitted exactly as it is named.

``px.ptx["ld.global.v4.b32"](x)`` and ``px.ptx.ld.global_.v4.b32(x)`` are the same. In the second spelling an underscore at the end keeps a
Python keyword legal (``global_``, ``and_``), one in front lets a word begin with a digit (``_2d``), and two stand for ``::``
(``shared__cta``); ``to`` between digits stands for ``:`` (``sp__2to4``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ptxgen import ir
from ptxgen.errors import InstructionError, PtxgenError, TraceError
from ptxgen.instructions import language
from ptxgen.instructions.checking import Given
from ptxgen.instructions.grammar import Slot
from ptxgen.instructions.registry import Match, lookup
from ptxgen.instructions.special import special_register
from ptxgen.instructions.types import Type, pred
from ptxgen.tracing.access import check_access, check_piece, has_size, sized_operands
from ptxgen.tracing.builder import Builder, Value, current, given_register
from ptxgen.tracing.knowledge import attach
from ptxgen.tracing.literals import is_number, literal
from ptxgen.tracing.marks import Marked, marked
from ptxgen.tracing.mixed import no_scalar
from ptxgen.tracing.provenance import Where, here
from ptxgen.tracing.registers import Register
from ptxgen.tracing.values import Scalar, operand
from ptxgen.tracing.views import View

if TYPE_CHECKING:
    from ptxgen.opcodes import Instructions  # a stub alone: what may follow each word of an opcode

__all__ = ["Opcode", "ptx", "sink"]

Described = tuple[ir.Operand, Given]
_SINK: Described = ir.Sink(), Given("sink", "_")


class _SinkMark:
    """What `px.sink` is: ``_``, a result or an element that nobody wants."""

    def __repr__(self) -> str:
        return "px.sink"


sink = _SinkMark()
"""``_`` in place of an operand: a result, or an element of a vector, that nobody wants."""


class _Reading(NamedTuple):
    """One way to read an opcode.

    Attributes
    ----------
    results, inputs : tuple of int
        Positions of the results among the operands, and those that the user fills.
    types : tuple
        For each result the types of its registers.
    changed : frozenset of int
        Inputs that are read and then written.
    scalars : frozenset of int
        Inputs that are one value each, no address and no pair.
    several : bool
        Whether there is more than one result.
    sized, together, aligned : bool
        Whether an operand says how many bytes are moved; whether several threads issue it as one, and whether all of them must come.
    """

    match: Match
    slots: tuple[Slot, ...]
    results: tuple[int, ...]
    inputs: tuple[int, ...]
    types: tuple[tuple[Type, ...], ...]
    changed: frozenset[int]
    scalars: frozenset[int]
    several: bool
    sized: bool
    together: bool
    aligned: bool


_NAMES = ("label", "function", "branch targets", "call targets")


@lru_cache(maxsize=None)
def _readings(opcode: str) -> tuple[_Reading, ...]:
    found = []
    for match in lookup(opcode):
        if any(contract.kind in _NAMES for contract in match.entry.operands.values()):
            raise InstructionError(
                "a traced kernel has no labels and functions that it could go to", opcode=opcode, section=match.entry.section,
                rule="control goes to a name, and names in the text are ptxgen's to place",
                legal="px.if_, px.while_, px.break_, px.continue_, px.return_; a Python function is inlined",
            )  # fmt: skip
        for slots in match.form.operand_lists:
            results = tuple(at for at, slot in enumerate(slots) if _is_result(match, slot))
            dropped = {at for at, slot in enumerate(slots) if match.entry.operands[slot.name].kind == "sink"}
            inputs = tuple(at for at in range(len(slots)) if at not in results and at not in dropped)
            types = tuple(_result_types(match, slots[at]) for at in results)
            changed = frozenset(at for at in inputs if _is_changed(match, slots[at]))
            scalars = frozenset(at for at in inputs if not slots[at].second and not _is_address(match, slots[at]))
            several = len(results) > 1 or any(slots[at].second or len(each) > 1 for at, each in zip(results, types))
            together = match.entry.issuer != "thread"
            aligned = match.entry.issuer in ("warp", "warpgroup") and ".aligned" in opcode
            found.append(_Reading(match, slots, results, inputs, types, changed, scalars, several, has_size(match), together, aligned))
    return tuple(found)


@lru_cache(maxsize=4096)
def _fitting(opcode: str, inputs: int, out: bool) -> tuple[_Reading, ...]:
    """The readings that take so many inputs, and have a result where there is an ``out=``."""
    return tuple(one for one in _readings(opcode) if len(one.inputs) == inputs and (one.results or not out))


def _is_result(match: Match, slot: Slot) -> bool:
    contract = match.entry.operands.get(slot.name)
    return contract is not None and contract.role == "out" and contract.kind not in ("address", "sink") and not slot.bracket


def _is_changed(match: Match, slot: Slot) -> bool:
    contract = match.entry.operands.get(slot.name)
    return contract is not None and contract.role == "inout" and contract.kind != "address" and not slot.bracket


def _is_address(match: Match, slot: Slot) -> bool:
    contract = match.entry.operands.get(slot.name)
    return slot.bracket or (contract is not None and contract.kind == "address")


class Opcode:
    """An opcode, or the beginning of one: longer by attribute, emitted by a call."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __getattr__(self, name: str) -> Opcode:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _longer(self.text, name)

    def __repr__(self) -> str:
        return f"px.ptx[{self.text!r}]"

    def __call__(self, *operands: Any, pred: Any = None, out: Any = None) -> Any:
        """Emit the instruction.

        Parameters
        ----------
        *operands
            Its sources in the ISA's order, results left out: traced scalars, mutable registers, Python numbers (exact in the type that the
            instruction demands), tuples for vectors, views or ``(base, offset)`` or a 32- or 64-bit scalar for addresses, `px.sink`.
        pred : predicate, optional
            Guards the instruction: ``@p``; a negated predicate (``pred=~p``) is written ``@!p``.
        out : Register, `px.part` of one, tuple of Register, or `px.sink`, optional
            Where results go. Without it they are fresh, and an instruction with `pred` that has results needs it.

        Returns
        -------
        Scalar or tuple
            The results: one, several for a vector or a pair; None if there are none; `out` where it is given.

        Raises
        ------
        InstructionError
            At the user's line, naming the operand, the rule and its section of the ISA.
        TraceError
            For operands that are not what they would have to be.
        """
        builder, where = current(f"px.ptx[{self.text!r}]"), here(self.text)
        guard = None if pred is None else _guard(builder, pred, where)
        try:
            if guard is not None:
                _check_guard(builder, self.text, pred, where)
            return _emit(builder, self.text, operands, guard, out, where)
        except InstructionError as error:
            raise error.at(where) from None


class _Instructions:
    """What `px.ptx` is."""

    __slots__ = ()

    def __getitem__(self, opcode: str) -> Opcode:
        if not isinstance(opcode, str):
            raise TraceError(f"px.ptx[...] takes an opcode as text, not {opcode!r}", where=here(), legal='px.ptx["add.f32"]')
        return Opcode(opcode.strip())

    def __getattr__(self, name: str) -> Opcode:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _longer("", name)


ptx = cast("Instructions", _Instructions())
"""Instructions by name: ``px.ptx["add.f32"](a, b)``, ``px.ptx.add.f32(a, b)``."""


@lru_cache(maxsize=4096)
def _longer(text: str, name: str) -> Opcode:
    """An opcode with one more word, spelled as an attribute; the same object for the same words."""
    return Opcode(f"{text}.{_word(name)}" if text else _word(name))


def _word(name: str) -> str:
    """A word of an opcode from the attribute that spells it."""
    if name[:1] == "_" and name[1:2].isdigit():
        name = name[1:]
    if name.endswith("_"):
        name = name[:-1]
    return _RATIO.sub(":", name).replace("__", "::")


_RATIO = re.compile(r"(?<=\d)to(?=\d)")


# ---- emitting ---------------------------------------------------------------------------------------------------------


def _guard(builder: Builder, given: Any, where: Where) -> ir.Guard:
    if not isinstance(given, Value) or given.type is not pred:
        raise TraceError(f"pred={given!r} is no predicate", where=where, legal="pred=x > 0, or pred=~p")
    found, _ = operand(builder, given, where, negatable=True)
    return ir.Guard(found.reg, True) if isinstance(found, ir.Not) else ir.Guard(found)  # type: ignore[arg-type]


def _emit(builder: Builder, opcode: str, given: tuple[Any, ...], guard: ir.Guard | None, out: Any, where: Where) -> Any:
    fitting = _fitting(opcode, len(given), out is not None)
    if not fitting:
        raise _wrong_count(opcode, _readings(opcode), given, out)
    if given and out is None and isinstance(given[0], Register) and any(_lists_results(one, given) for one in _readings(opcode)):
        raise _wrong_count(opcode, _readings(opcode), given, out)
    problem: InstructionError | TraceError | None = None
    for reading in fitting:
        if guard is not None and reading.results and out is None:
            raise TraceError(
                f"{opcode} with pred= has a result, which is undefined where the predicate is false",
                where=where,
                legal="out=r with r = px.reg(dtype, init), which keeps its value there",
            )
        try:
            return _emit_as(builder, opcode, reading, given, guard, out, where)
        except (InstructionError, TraceError) as error:
            # The complaint about an operand says more than one about how many there are.
            if problem is None or (isinstance(problem, InstructionError) and not problem.operand):
                problem = error
    assert problem is not None
    raise problem


def _lists_results(reading: _Reading, given: tuple[Any, ...]) -> bool:
    """Whether a user lists the result first, as the ISA does, and an address second."""
    second = reading.slots[1] if len(reading.slots) == len(given) == 2 and reading.results == (0,) else None
    contract = None if second is None else reading.match.entry.operands.get(second.name)
    return contract is not None and contract.kind == "address"


def _wrong_count(opcode: str, readings: Sequence[_Reading], given: tuple[Any, ...], out: Any) -> InstructionError:
    first = readings[0]
    if out is not None and not any(one.results for one in readings):
        problem = "has no result, and out= is given"
    else:
        counts = sorted({len(one.inputs) for one in readings})
        named = f"{counts[0]} operand{'' if counts == [1] else 's'}" if len(counts) == 1 else f"{' or '.join(map(str, counts))} operands"
        problem = f"takes {named} besides its results, not {len(given)}"
        if any(len(one.slots) == len(given) for one in readings):
            problem += "; a result is not listed, it is returned or goes to out="
    return InstructionError(
        problem, opcode=opcode, rule="operands are those of the syntax line", section=first.match.entry.section,
        legal=first.match.form.syntax,
    )  # fmt: skip


def _check_guard(builder: Builder, opcode: str, given: Any, where: Where) -> None:
    from ptxgen.tile.group import check_guard

    try:
        check_guard(builder, opcode, lookup(opcode)[0].entry.issuer, given)
    except TraceError as error:
        raise error.of(opcode).at(where) from None


def _check_sizes(reading: _Reading, described: Sequence[Described | None], given: tuple[Any, ...]) -> None:
    """Hold the views of memory against a constant number of bytes that the instruction moves."""
    values = dict(zip(reading.inputs, given))
    constants = {slot.name: one[1].value for slot, one in zip(reading.slots, described) if one is not None and one[1].value is not None}
    places = {slot.name: at for at, slot in enumerate(reading.slots)}
    for name, nbytes in sized_operands(reading.match, constants):
        if reading.match.entry.operands[name].role == "in" and (f"{name}_size" in places or any("ignore" in one for one in places)):
            continue  # a part of the source is not read
        view = values.get(places.get(name, -1))
        view, offset = view if isinstance(view, tuple) and len(view) == 2 else (view, 0)
        if isinstance(view, View) and view.space != "reg" and isinstance(offset, int):
            check_piece(reading.match, name, view, offset, nbytes)


def _check_same(builder: Builder, match: Match, name: str, given: Any) -> None:
    from ptxgen.tile.group import check_same

    for one in given if isinstance(given, (tuple, list)) else (given,):
        check_same(builder, match, name, one)


def _check_issuers(builder: Builder, opcode: str, match: Match, where: Where) -> None:
    """Refuse an instruction that all threads of a warp or warpgroup execute together where the guards may part them."""
    if builder.divergence() is None and len(builder.active_threads()) == builder.threads:
        return  # also where the block's last warp is no whole one
    from ptxgen.tile.group import Group  # the tile engine's account of who issues what

    try:
        Group.at(builder, match.entry.issuer, match.entry.issuer)
    except TraceError as error:
        raise error.of(opcode).at(where) from None


def _emit_as(
    builder: Builder, opcode: str, reading: _Reading, given: tuple[Any, ...], guard: ir.Guard | None, out: Any, where: Where
) -> Any:
    match, slots = reading.match, reading.slots
    described = [_SINK] * len(slots)
    written: list[Register] = []
    for at, one in zip(reading.inputs, given):
        if at in reading.scalars and isinstance(one, Value):
            described[at] = operand(builder, one, where, negatable=match.entry.operands[slots[at].name].negatable)
        else:
            described[at] = _input(builder, match, slots[at], one, where)
        if reading.together:
            _check_same(builder, match, slots[at].name, one)
        if at in reading.changed:
            written.extend(_mutable(builder, one, f"operand {slots[at].name}", where))
    results: list[Scalar] = []
    for at, types in zip(reading.results, reading.types):
        if out is None:
            described[at] = _fresh(builder, match, slots[at], types, results, where)
        else:
            described[at] = _given_result(builder, match, slots[at], types, out, written, where)
    if reading.aligned:
        _check_issuers(builder, opcode, match, where)
    if reading.sized:
        _check_sizes(reading, described, given)
    builder.emit(opcode, described, guard=guard, where=where)
    for register in written:
        register.written()
    if out is not None:
        return out
    for made in results:
        attach(made, None)
    return tuple(results) if reading.several else results[0] if results else None


# ---- results ----------------------------------------------------------------------------------------------------------


def _result_types(match: Match, slot: Slot) -> tuple[Type, ...]:
    """The types of the registers that a result takes."""
    operands = match.entry.operands
    contract = operands[slot.name]
    types = [_type(match, contract)] * match.count(contract.vector)
    return (*types, _type(match, operands[slot.second])) if slot.second else tuple(types)


def _type(match: Match, contract: language.Operand) -> Type:
    return pred if contract.kind == "predicate" else match.type(contract.type)


def _fresh(builder: Builder, match: Match, slot: Slot, types: tuple[Type, ...], results: list[Scalar], where: Where) -> Described:
    parts = []
    for type in types:
        made = Scalar(builder, type, builder.register(type), builder.region, where)
        results.append(made)
        parts.append(made.described())
    return _joined(slot, parts, match.entry.operands[slot.name].braced)


def _given_result(
    builder: Builder, match: Match, slot: Slot, types: tuple[Type, ...], out: Any, written: list[Register], where: Where
) -> Described:
    wanted = len(types)
    items = list(out) if isinstance(out, (tuple, list)) else [out]
    if len(items) != wanted:
        raise InstructionError(
            f"out= gives {len(items)} registers for {wanted} results",
            opcode=match.opcode,
            operand=slot.name,
            section=match.entry.section,
            legal=match.form.syntax,
        )
    parts: list[Described] = []
    for one in items:
        if one is sink:
            parts.append(_SINK)
            continue
        (register,) = _mutable(builder, one.value if isinstance(one, Marked) else one, "out=", where)
        written.append(register)
        if isinstance(one, Marked):
            parts.append(marked(builder, one, where))
            continue
        parts.append((register.operand, given_register(register.operand, register.type)))  # type: ignore[arg-type]
    return _joined(slot, parts, match.entry.operands[slot.name].braced)


def _joined(slot: Slot, parts: list[Described], braced: bool = False) -> Described:
    """One operand of several registers: a pair, a vector, or the one there is."""
    if len(parts) == 1 and not braced:
        return parts[0]
    operands, given = tuple(part[0] for part in parts), tuple(part[1] for part in parts)
    if slot.second:
        return ir.Pair(*operands), Given.pair(given)
    return _vector(operands, given)


def _vector(operands: tuple[ir.Operand, ...], given: tuple[Given, ...]) -> Described:
    return ir.Vec(operands), Given.vector(given)


def _mutable(builder: Builder, given: Any, what: str, where: Where) -> list[Register]:
    found = list(given) if isinstance(given, (tuple, list)) else [given]
    for one in found:
        if not isinstance(one, Register):
            raise TraceError(f"{what} takes a mutable register, not {one!r}", where=where, legal="r = px.reg(dtype, init)")
        builder.visible(one, where)
    return found


# ---- sources ----------------------------------------------------------------------------------------------------------


def _input(builder: Builder, match: Match, slot: Slot, given: Any, where: Where) -> Described:
    if _is_address(match, slot):
        return _address(builder, match, slot, given, where)
    contract = match.entry.operands.get(slot.name)
    if slot.second:
        if not isinstance(given, tuple) or len(given) != 2:
            raise TraceError(f"operand {slot.name}|{slot.second} takes a pair, not {given!r}", where=where, legal="(first, second)")
        return _joined(slot, [_scalar(builder, match, contract, one, where) for one in given])
    return _scalar(builder, match, contract, given, where)


def _scalar(builder: Builder, match: Match, contract: language.Operand | None, given: Any, where: Where) -> Described:
    if isinstance(given, Marked):
        return marked(builder, given, where)
    if isinstance(given, Value):
        return operand(builder, given, where, negatable=contract is not None and contract.negatable)
    if isinstance(given, (tuple, list)):
        parts = [_scalar(builder, match, contract, one, where) for one in given]
        return _vector(tuple(part[0] for part in parts), tuple(part[1] for part in parts))
    if given is sink:
        return _SINK
    if hasattr(given, "__ptxgen_value__"):  # a named dim
        return operand(builder, given.__ptxgen_value__(builder), where)
    if isinstance(given, str):
        if given.startswith("%"):
            _check_register(given, where)
            name, _, part = given.partition(".")
            return ir.Reg(name, part or None), Given("register", given)
        return ir.Sym(given), Given("symbol", given)
    if is_number(given):
        return _number(builder, match, contract, given, where)
    raise no_scalar(
        given,
        f"{given!r} can't be an operand of {match.opcode}",
        "a traced scalar, a px.reg, a number, a tuple of these for a vector, a view for an address",
        where,
    )


def _check_register(given: str, where: Where) -> None:
    """Refuse registers by name, but for special ones: a kernel's own have no names that a user could know."""
    try:
        special_register(given)
    except PtxgenError as error:
        raise TraceError(str(error), where=where, legal='px.sreg, or a special register by its name, such as "%clock"') from None


def _number(builder: Builder, match: Match, contract: language.Operand | None, given: Any, where: Where) -> Described:
    if contract is None or contract.kind in ("label", "symbol", "function"):
        return ir.Int(int(given)), Given("int", str(given), value=int(given))
    try:
        made = literal(builder, given, _type(match, contract), where)
    except TraceError as error:
        raise error.of(match.opcode, next(name for name, one in match.entry.operands.items() if one is contract)) from None
    return operand(builder, made, where)


def _address(builder: Builder, match: Match, slot: Slot, given: Any, where: Where) -> Described:
    base, rest = given, ()
    if slot.inner:
        if not isinstance(given, tuple) or len(given) != 1 + len(slot.inner):
            raise TraceError(
                f"operand [{slot.name}, {', '.join(slot.inner)}] of {match.opcode} takes {1 + len(slot.inner)} entries in a tuple",
                where=where,
                legal=match.form.syntax,
            )
        base, rest = given[0], given[1:]
    offset = 0
    if isinstance(base, tuple) and len(base) == 2:
        base, offset = base
        if isinstance(offset, bool) or not isinstance(offset, int):
            raise TraceError(f"the offset {offset!r} of an address is no int", where=where, legal="(base, 16): bytes; add runtime offsets")
    contract = match.entry.operands.get(slot.name)
    if isinstance(base, View) and base.space != "reg":
        base.check_visible()
        if contract is not None and contract.kind == "address" and contract.type:
            check_access(match, slot.name, contract, base, offset)
    if hasattr(base, "__ptxgen_address__"):
        address, described = base.__ptxgen_address__(builder)
        if offset:
            address = ir.Address(address.base, address.offset + offset, address.rest, address.unified)
        if contract is not None and not contract.named and isinstance(base, View):
            from ptxgen.tile.addresses import in_register

            address = in_register(builder, base, address)
    else:
        address, described = _raw_address(builder, match, base, offset, where)
    if not rest:
        return address, described
    if address.offset or isinstance(address.base, ir.Int):
        raise InstructionError(
            f"the address {described.text} is a constant or has an offset",
            opcode=match.opcode, operand=slot.name, section=match.entry.section,
            rule="an address in front of a comma is a register or a name alone", legal=match.form.syntax,
        )  # fmt: skip
    operands = match.entry.operands
    inner = [_scalar(builder, match, operands.get(name), one, where) for name, one in zip(slot.inner, rest)]
    address = ir.Address(address.base, address.offset, tuple(part[0] for part in inner))
    items = tuple(part[1] for part in inner)
    return address, Given("address", described.text, items=items, space=described.space)


def _raw_address(builder: Builder, match: Match, base: Any, offset: int, where: Where) -> Described:
    if not isinstance(base, Value) or base.type.is_float or base.type.bits not in (32, 64) or base.type.lanes > 1:
        raise TraceError(
            f"{base!r} can't be an address of {match.opcode}",
            where=where,
            legal="a view, a .u64 scalar (.u32 in shared memory), or (base, offset) with an int of bytes",
        )
    register, _ = operand(builder, base, where)
    if not isinstance(register, (ir.Reg, ir.Int)):
        raise TraceError(f"{base!r} can't be an address", where=where)
    text = register.name if isinstance(register, ir.Reg) else str(register.value)
    return ir.Address(register, offset), Given("address", f"[{text}+{offset}]" if offset else f"[{text}]")
