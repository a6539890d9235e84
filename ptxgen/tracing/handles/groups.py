"""What warps, warpgroups and parts of a block do together."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxgen import ir
from ptxgen.errors import TraceError
from ptxgen.instructions.checking import Given
from ptxgen.instructions.types import pred, u32
from ptxgen.tracing import ranges
from ptxgen.tracing.builder import Builder, Value, current
from ptxgen.tracing.knowledge import attach
from ptxgen.tracing.literals import bounds
from ptxgen.tracing.provenance import Where, here
from ptxgen.tracing.raw import Described, ptx
from ptxgen.tracing.values import Scalar, as_value, operand

__all__ = [
    "NamedBarrier", "elect", "named_barrier", "setmaxnreg", "syncthreads", "together", "warp_uniform", "wgmma_commit", "wgmma_fence",
    "wgmma_wait",
]  # fmt: skip

_ALL_LANES = 0xFFFFFFFF


def together(builder: Builder, unit: str) -> None:
    """Refuse a place that the threads of a warp or warpgroup may not reach together.

    Raises
    ------
    TraceError
    """
    from ptxgen.tile.group import Group  # the tile engine's account of who issues what

    Group.at(builder, unit, unit)


def _mask(builder: Builder, given: Any, where: Where) -> Described:
    """The lanes that take part: all of a whole warp, unless the user names them."""
    if given is None:
        together(builder, "warp")
        given = _ALL_LANES
    if isinstance(given, int) and not isinstance(given, bool) and 0 < given <= _ALL_LANES:
        return ir.Int(given, radix=16), Given("int", hex(given), value=given)
    return operand(builder, as_value(builder, given, u32, where), where)


def elect(mask: Any = None) -> Scalar:
    """``elect.sync``: a predicate that holds in one thread of the warp; which one is the hardware's to say, and always the same.

    ``with px.if_(px.elect()):`` runs in one thread of every warp that comes here, and in one thread of the block where that is one warp.

    Parameters
    ----------
    mask : int or traced u32, optional
        The lanes that take part; a whole warp by default, which has to come here together.
    """
    builder, where = current("px.elect"), here()
    members = _mask(builder, mask, where)
    made = Scalar(builder, pred, builder.register(pred), builder.region, where)
    register, chosen = made.described()
    pair = Given("pair", f"_|{chosen.text}", items=(Given("sink", "_"), chosen))
    builder.emit("elect.sync", [(ir.Pair(ir.Sink(), register), pair), members], where=where)
    made.elected = True
    return made


def warp_uniform(x: Any, mask: Any = None) -> Scalar:
    """The value of the warp's first lane in all of its lanes: ``shfl.sync.idx`` from lane 0.

    For what is equal in all lanes anyway, such as ``px.tid.x // 32``: the assembler then knows it too, and keeps it in a uniform register.

    Parameters
    ----------
    x : traced value of 32 bits
    mask : int or traced u32, optional
        The lanes that take part, lane 0 among them; a whole warp by default, which has to come here together.
    """
    builder, where = current("px.warp_uniform"), here()
    if hasattr(x, "__ptxgen_value__"):
        x = x.__ptxgen_value__(builder)
    if not isinstance(x, Value) or x.type.bits != 32:
        kind = f"a .{x.type.name}" if isinstance(x, Value) else repr(x)
        raise TraceError(
            f"px.warp_uniform takes a traced value of 32 bits, not {kind}", where=where, legal="px.warp_uniform(px.tid.x // 32)"
        )
    members = _mask(builder, mask, where)
    made = Scalar(builder, x.type, builder.register(x.type), builder.region, where)
    lane, clamp = ((ir.Int(number), Given("int", str(number), value=number)) for number in (0, 31))
    builder.emit("shfl.sync.idx.b32", [made.described(), operand(builder, x, where), lane, clamp, members], where=where)
    made.same = x.same
    if x.expr is not None:
        lo, hi = ranges.limits(x.expr, bounds(x.type))
        attach(made, ranges.Bounds(lo, hi, x.expr.divisor() or 1))
        threads = builder.over_threads(x.expr)
        if threads is not None and made.expr is not None:
            builder.thread_arrays[made.expr.symbols[0]] = threads[np.arange(builder.threads) // 32 * 32]
    return made


def syncthreads() -> None:
    """All threads of the block wait for each other (``bar.sync 0``); the emulator reports a block in which some never come."""
    current("px.syncthreads").emit("bar.sync", [(ir.Int(0), Given("int", "0", value=0))], where=here())


class NamedBarrier:
    """One of the block's 16 barriers, for a number of its threads."""

    __slots__ = ("id", "threads")

    def __init__(self, id: Any, threads: Any) -> None:
        self.id = id
        self.threads = threads

    def sync(self) -> None:
        """``bar.sync``: arrives, and waits until all taking part have arrived."""
        ptx["bar.sync"](self.id, self.threads)

    def arrive(self) -> None:
        """``bar.arrive``: arrives and goes on; others wait."""
        ptx["bar.arrive"](self.id, self.threads)


def named_barrier(id: Any, threads: Any) -> NamedBarrier:
    """A barrier of the block by its number, for a part of the block's threads; barrier 0 is that of `px.syncthreads`.

    Parameters
    ----------
    id : int or traced u32
        0 to 15.
    threads : int or traced u32
        How many threads take part, those that only arrive included: whole warps.

    Raises
    ------
    TraceError
        For more threads than the block has.
    """
    builder, where = current("px.named_barrier"), here()
    if isinstance(threads, int) and threads > builder.threads:
        raise TraceError(
            f"a barrier of {threads} threads in a block of {builder.threads}", where=where,
            why="it would never be complete", legal=f"at most {builder.threads}",
        )  # fmt: skip
    return NamedBarrier(id, threads)


def wgmma_fence() -> None:
    """``wgmma.fence.sync.aligned``: registers that the warpgroup has written may be read by its products behind this."""
    together(current("wgmma.fence"), "warpgroup")
    ptx["wgmma.fence.sync.aligned"]()


def wgmma_commit() -> None:
    """``wgmma.commit_group.sync.aligned``: closes a group of the warpgroup's products that are in none yet."""
    together(current("wgmma.commit_group"), "warpgroup")
    ptx["wgmma.commit_group.sync.aligned"]()


def wgmma_wait(n: int) -> None:
    """``wgmma.wait_group.sync.aligned``: until at most the warpgroup's `n` youngest groups are under way."""
    together(current("wgmma.wait_group"), "warpgroup")
    ptx["wgmma.wait_group.sync.aligned"](n)


def setmaxnreg(n: int, action: str) -> None:
    """``setmaxnreg``: the warpgroup gives registers back (``"dec"``), or waits until it has `n` for each thread (``"inc"``).

    Parameters
    ----------
    n : int
        Registers of a thread: 24 to 256, a multiple of 8.
    action : str
        ``"inc"`` or ``"dec"``.
    """
    together(current("setmaxnreg"), "warpgroup")
    ptx[f"setmaxnreg.{action}.sync.aligned.u32"](n)
