"""Control flow that happens on the GPU: loops, branches, and the ways to leave them."""

from __future__ import annotations

from ptxgen.errors import TraceError
from ptxgen.tracing.blocks import branch
from ptxgen.tracing.branches import elif_, else_, if_
from ptxgen.tracing.builder import Builder, current
from ptxgen.tracing.loops import Loop, range_, while_
from ptxgen.tracing.provenance import Where, here

__all__ = ["break_", "continue_", "elif_", "else_", "exit_", "finish", "if_", "range_", "return_", "while_"]


def _innermost(what: str) -> tuple[Builder, Loop, Where]:
    builder, where = current(what), here()
    if not builder.loops:
        raise TraceError(
            f"{what} outside of a traced loop", where=where, legal="inside for i in px.range(...) or with px.while_(...)"
        )
    return builder, builder.loops[-1], where


def break_() -> None:
    """The threads that come here leave the innermost traced loop."""
    builder, loop, where = _innermost("px.break_")
    branch(builder, loop.end, where)
    builder.region.leaves = True


def continue_() -> None:
    """The threads that come here go on with the innermost traced loop's next iteration."""
    builder, loop, where = _innermost("px.continue_")
    loop.continued = True
    branch(builder, loop.again, where)
    builder.region.leaves = True


def return_() -> None:
    """The threads that come here are done with the kernel (``ret``)."""
    builder = current("px.return_")
    builder.emit("ret", [], where=here())
    builder.region.leaves = True


def exit_() -> None:
    """The threads that come here end (``exit``)."""
    builder = current("px.exit_")
    builder.emit("exit", [], where=here())
    builder.region.leaves = True


def finish(builder: Builder) -> None:
    """Called at the end of a trace: refuse blocks that were made and never entered, and a trace that an exception cut through."""
    if builder.unentered:
        block = builder.unentered[0]
        raise TraceError(
            f"{block.what}(...) is not the head of a with statement",
            where=block.where,
            why="it has no effect by itself",
            legal=f"with {block.what}(...): ...",
        )
    broken = builder.broken or (builder.loops[-1].where if builder.loops else None)
    if broken is not None:
        raise TraceError(
            "an exception left this block, and the kernel went on",
            where=broken,
            why="what the block had emitted is incomplete",
            legal="let the exception end the trace",
        )
