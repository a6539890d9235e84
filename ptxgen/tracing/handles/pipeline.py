"""`px.pipeline_state`: which stage of a ring is next, and the parity of its phase."""

from __future__ import annotations

from typing import Any, NoReturn

from ptxgen import ir
from ptxgen.errors import TraceError
from ptxgen.instructions.types import pred, u32
from ptxgen.tracing.builder import Builder, current
from ptxgen.tracing.literals import literal
from ptxgen.tracing.provenance import Where, here
from ptxgen.tracing.ranges import Bounds, Known
from ptxgen.tracing.registers import Register
from ptxgen.tracing.storage import static_extents
from ptxgen.tracing.values import emit, mov_opcode, operand

__all__ = ["PipelineState", "pipeline_state"]


class _Counter(Register):
    """A register that only `PipelineState.advance` writes, so that what it holds is in range wherever the trace stands."""

    __slots__ = ("below",)

    def __init__(self, builder: Builder, below: int, first: int, where: Where) -> None:
        self.below = below
        super().__init__(builder, u32, where)
        emit(builder, mov_opcode(u32), u32, [literal(builder, first, u32, where)], where, into=self.operand)  # type: ignore[arg-type]

    def renew(self, known: Known = None) -> None:
        super().renew(Bounds(0, self.below - 1))

    def _refuse(self, *_: Any) -> NoReturn:
        raise TraceError("the stage and the phase of a px.pipeline_state are written", where=here(), legal="state.advance()")

    set = _operate = _refuse  # type: ignore[assignment]


class PipelineState:
    """Where a thread stands in a ring of stages.

    Attributes
    ----------
    stage : traced u32
        The stage that is next, known to be below the number of stages; the int 0 in a ring of one.
    phase : traced u32
        The parity to wait for, 0 or 1: it flips whenever the ring begins anew.
    stages : int
    """

    __slots__ = ("_builder", "_phase", "_stage", "stages")

    def __init__(self, builder: Builder, stages: int, phase: int, where: Where) -> None:
        self._builder = builder
        self.stages = stages
        self._stage = _Counter(builder, stages, 0, where) if stages > 1 else None
        self._phase = _Counter(builder, 2, phase, where)

    @property
    def stage(self) -> Register | int:
        return 0 if self._stage is None else self._stage

    @property
    def phase(self) -> Register:
        return self._phase

    def advance(self) -> None:
        """Go on to the next stage (``setp``, ``add``, ``@p mov``, ``@p xor``): behind the last one to the first, with the other parity."""
        builder, stage, phase, where = self._builder, self._stage, self._phase, here()
        wrapped: ir.Guard | None = None
        if stage is not None:
            last = emit(builder, "setp.eq.u32", pred, [stage, literal(builder, self.stages - 1, u32, where)], where)
            wrapped = ir.Guard(last.operand)  # type: ignore[arg-type]
            emit(builder, "add.u32", u32, [stage, literal(builder, 1, u32, where)], where, into=stage.operand)  # type: ignore[arg-type]
            zero = operand(builder, literal(builder, 0, u32, where), where)
            builder.emit("mov.b32", [stage.described(), zero], guard=wrapped, where=where)
            stage.written()
        one = operand(builder, literal(builder, 1, u32, where), where)
        builder.emit("xor.b32", [phase.described(), phase.described(), one], guard=wrapped, where=where)
        phase.written()


def pipeline_state(stages: int, phase: int = 0) -> PipelineState:
    """The place of a producer or a consumer in a ring of `stages` stages, counted in two registers.

    Parameters
    ----------
    stages : int
        As many as the barriers have.
    phase : int
        The parity of the first wait. 0 for who waits for data; 1 for who waits for room, since the first round is free: a wait for
        parity 1 passes on a barrier that has completed nothing.
    """
    builder, where = current("px.pipeline_state"), here()
    (number,) = static_extents(stages)
    if phase not in (0, 1) or isinstance(phase, bool):
        raise TraceError(f"{phase!r} is no parity", where=where, legal="0 or 1")
    return PipelineState(builder, number, phase, where)
