"""What the threads of a warp do together (ISA "shfl.sync", "vote.sync", "match.sync", "activemask", "redux.sync", "elect.sync")."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.collectives import Exchange, Members, lanes_text
from ptxgen.emulator.lowering import Control, Lowering, Run
from ptxgen.emulator.operands import Array, Put
from ptxgen.emulator.reports import place
from ptxgen.emulator.semantics.table import control, execution
from ptxgen.emulator.threads import WARP
from ptxgen.instructions.types import type_named
from ptxgen.ir import Instruction, Reg, Sink

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.machine import Group, Wave

_LANES = np.arange(WARP, dtype=np.int64)
_WEIGHTS = np.left_shift(1, _LANES)


def _pack(truth: Array) -> Array:
    """Truths over a last axis of 32 lanes as masks."""
    return (np.packbits(truth, axis=-1, bitorder="little").view("<u4")[..., 0]).astype(np.uint32)


def _collective(low: Lowering, exchange: Exchange, *sources: tuple[Any, str]) -> Control:
    """Threads bring the `sources` (operand, type name) and wait for their fellow members."""
    assert isinstance(low.statement, Instruction)
    statement = low.statement
    mask = low.source(low.named["membermask"], type_named("u32"))
    gets = [low.source(operand, type_named(of)) for operand, of in sources]

    def arrive(wave: Wave, group: Group) -> list[Group]:
        frame, index = wave.frame(group), group.index
        values = [get(wave, frame, index) for get in gets]
        return wave.collectives.arrive(group, exchange, mask(wave, frame, index), values, statement)

    return arrive


def _puts(low: Lowering, *names: str) -> Callable[[Wave, Frame, Any, tuple[Array, ...]], None]:
    """Store result i in the operand of the i-th name, where the text has one."""
    places: list[tuple[int, Put]] = [
        (number, low.target(low.named[name], low.operand_type(name))) for number, name in enumerate(names) if name in low.named
    ]

    def put(wave: Wave, frame: Frame, index: Any, results: tuple[Array, ...]) -> None:
        for number, store in places:
            store(wave, frame, index, results[number])

    return put


# ---- exchange ---------------------------------------------------------------------------------------------------------


def shuffle_source(mode: str, lane: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """The lane that each thread reads, and whether it lies in range (ISA "shfl.sync", semantics).

    Parameters
    ----------
    mode : {"up", "down", "bfly", "idx"}
    lane : int64 array
    b : integer array
        Source lane, or offset.
    c : integer array
        Bits 0 to 4 the clamp, bits 8 to 12 the segment mask.
    """
    offset, clamp, segment = b.astype(np.int64) & 31, c.astype(np.int64) & 31, c.astype(np.int64) >> 8 & 31
    first = lane & segment
    bound = first | (clamp & ~segment)
    if mode == "up":
        source = lane - offset
        valid = source >= bound
    else:
        source = {"down": lane + offset, "bfly": lane ^ offset, "idx": first | (offset & ~segment)}[mode]
        valid = source <= bound
    return np.where(valid, source, lane), valid


@control("warp", "shfl.sync")
def lower_shuffle(low: Lowering) -> Control:
    mode = low.match.value(".mode")
    store = _puts(low, "d", "p")
    spoil = _spoiler(low)

    def compute(wave: Wave, members: Members, a: Array, b: Array, c: Array) -> tuple[Array, ...]:
        source, valid = shuffle_source(mode, members.lane, b, c)
        there = members.row, source
        return members.spread(a)[there], valid, members.present[there], source

    def put(wave: Wave, frame: Frame, index: Any, results: tuple[Array, ...]) -> None:
        store(wave, frame, index, results)
        if not results[2].all():
            spoil(wave, frame, index, ~results[2], results[3])

    exchange = Exchange(low.statement.opcode, compute, put)
    return _collective(low, exchange, (low.named["a"], "b32"), (low.named["b"], "u32"), (low.named["c"], "u32"))


def _spoiler(low: Lowering) -> Callable[[Wave, Frame, Any, Array, Array], None]:
    """What a shuffle leaves where a thread reads a lane that takes no part: a value that nobody may use."""
    operand = low.named["d"]
    register = None if isinstance(operand, Sink) or not isinstance(operand, Reg) else low.scope.register(operand.name, operand.part)
    statement = low.statement
    at = "" if statement.where is None else f" ({place(statement.where)})"

    def spoil(wave: Wave, frame: Frame, index: Any, undefined: Array, source: Array) -> None:
        if register is None or not wave.checks:
            return
        lane = lanes_text(1 << int(source[undefined][0]))
        reason = f"which {statement.opcode}{at} took from {lane}, which has exited or is not in its member mask"
        frame.spoil(register.slot, wave.indices(index)[undefined], reason)

    return spoil


# ---- votes ------------------------------------------------------------------------------------------------------------


@control("warp", "vote.sync")
def lower_vote(low: Lowering) -> Control:
    mode = low.match.value(".mode") or "ballot"

    def compute(wave: Wave, members: Members, a: Array) -> tuple[Array, ...]:
        truth = members.spread(a)
        if mode == "ballot":
            return (members.collect(_pack(truth)[:, None]),)
        every: Array = np.logical_and.reduce(truth | ~members.present, axis=1, keepdims=True)
        some: Array = np.logical_or.reduce(truth, axis=1, keepdims=True)
        return (members.collect({"all": every, "any": some, "uni": every | ~some}[mode]),)

    put = _puts(low, "ballot" if mode == "ballot" else "d")
    return _collective(low, Exchange(low.statement.opcode, compute, put), (low.named["a"], "pred"))


@control("warp", "match.sync")
def lower_match(low: Lowering) -> Control:
    everyone = ".all" in low.match.bindings

    def compute(wave: Wave, members: Members, a: Array) -> tuple[Array, ...]:
        values, present = members.spread(a), members.present
        equal = (values[:, :, None] == values[:, None, :]) & present[:, None, :]
        masks = _pack(equal)
        if not everyone:
            return (members.collect(masks),)
        there = _pack(present)[:, None]
        agreed = masks == there
        return members.collect(np.where(agreed, there, np.uint32(0))), members.collect(agreed)

    of = low.operand_type("a").name
    return _collective(low, Exchange(low.statement.opcode, compute, _puts(low, "d", "p")), (low.named["a"], of))


@execution("warp", "activemask")
def lower_activemask(low: Lowering) -> Run:
    put = low.target(low.named["d"], type_named("b32"))

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        threads = wave.threads
        warps = threads.warp if index is None else threads.warp[index]
        lanes = threads.lane if index is None else threads.lane[index]
        masks = np.bincount(warps, _WEIGHTS[lanes])[warps]
        put(wave, frame, index, masks.astype(np.uint32))

    return run


@control("warp", "elect.sync")
def lower_elect(low: Lowering) -> Control:
    """The lowest lane leads, as on sm_90; the ISA only says that the choice is deterministic."""

    def compute(wave: Wave, members: Members) -> tuple[Array, ...]:
        leader = members.present.argmax(axis=1).astype(np.uint32)[:, None]
        lead = members.collect(leader)
        return lead, members.lane == lead

    return _collective(low, Exchange(low.statement.opcode, compute, _puts(low, "d", "p")))


# ---- reductions -------------------------------------------------------------------------------------------------------

_REDUCE: dict[str, tuple[Any, Any]] = {
    "add": (np.add, 0),
    "and": (np.bitwise_and, -1),
    "or": (np.bitwise_or, 0),
    "xor": (np.bitwise_xor, 0),
}


@control("warp", "redux.sync")
def lower_reduction(low: Lowering) -> Control:
    operation, of = low.match.value(".op"), low.operand_type("src")
    reduce = _float_reduction(low, operation) if of.name == "f32" else _integer_reduction(operation, of.signed)

    def compute(wave: Wave, members: Members, a: Array) -> tuple[Array, ...]:
        return (members.collect(reduce(members.spread(a), members.present)),)

    return _collective(low, Exchange(low.statement.opcode, compute, _puts(low, "dst")), (low.named["src"], of.name))


def _integer_reduction(operation: str, signed: bool) -> Callable[[Array, Array], Array]:
    def reduce(values: Array, present: Array) -> Array:
        if operation in ("min", "max"):
            limits = np.iinfo(values.dtype)
            neutral = limits.max if operation == "min" else limits.min
            ufunc = np.minimum if operation == "min" else np.maximum
        else:
            ufunc, neutral = _REDUCE[operation]
        filled = np.where(present, values, np.array(neutral).astype(values.dtype))
        return ufunc.reduce(filled, axis=1, keepdims=True, dtype=values.dtype)

    return reduce


def _float_reduction(low: Lowering, operation: str) -> Callable[[Array, Array], Array]:
    """min or max with -0 below +0; NaN is passed over, or wins with .NaN."""
    absolute, keeps_nan = ".abs" in low.match.bindings, ".NaN" in low.match.bindings

    def reduce(values: Array, present: Array) -> Array:
        bits = values.view(np.int32)
        if absolute:
            bits = bits & 0x7FFFFFFF
        nan = (bits & 0x7FFFFFFF) > 0x7F800000
        order = np.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
        counts = present & ~nan
        neutral = np.int32(2**31 - 1 if operation == "min" else -(2**31))
        filled = np.where(counts, order, neutral)
        best = (filled.min if operation == "min" else filled.max)(axis=1, keepdims=True)
        result = np.where(best < 0, best ^ np.int32(0x7FFFFFFF), best)
        lost = (present & nan).any(axis=1, keepdims=True) if keeps_nan else ~counts.any(axis=1, keepdims=True)
        return np.where(lost, np.int32(0x7FFFFFFF), result).astype(np.int32).view(np.float32)

    return reduce
