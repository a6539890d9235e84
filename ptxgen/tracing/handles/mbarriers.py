"""`px.mbarrier`: barriers in shared memory that count arrivals and the bytes of copies (ISA 9.7.15.16)."""

from __future__ import annotations

from typing import Any

from ptxgen import ir
from ptxgen.errors import InstructionError, TraceError
from ptxgen.instructions.types import b64
from ptxgen.layouts import S
from ptxgen.layouts.axes import m
from ptxgen.layouts.expr import Expr
from ptxgen.layouts.layout import Layout
from ptxgen.tracing.blocks import branch
from ptxgen.tracing.builder import Builder, Value, current
from ptxgen.tracing.operatorless import operatorless
from ptxgen.tracing.provenance import Where, here
from ptxgen.tracing.raw import Described, ptx, sink
from ptxgen.tracing.source import assigned_name
from ptxgen.tracing.storage import declare, static_extents
from ptxgen.tracing.values import Scalar
from ptxgen.tracing.views import View

__all__ = ["MBarrier", "mbarrier"]

_BYTES = 8  # an mbarrier is 8 bytes and aligned to them (ISA 9.7.15.16.1)
_ARRIVALS = _UNDER_WAY = (1 << 20) - 1  # the most arrivals and bytes that one counts (ISA 9.7.15.16.3)


class _Ring:
    """Barriers that are declared together.

    Attributes
    ----------
    count : int or Value
        Arrivals that each expects.
    stages : int
        How many there are.
    initialised : set of int
        Those for which the kernel has an init already.
    """

    __slots__ = ("count", "initialised", "name", "stages")

    def __init__(self, name: str, count: Any, stages: int) -> None:
        self.name = name
        self.count = count
        self.stages = stages
        self.initialised: set[int] = set()


def _no_value(bar: MBarrier, symbol: str) -> TraceError:
    return TraceError(
        f"{bar!r} is used with {symbol}", where=here(), why="a barrier has no value that an instruction could read",
        legal="bar.test_wait(parity), which gives a predicate",
    )  # fmt: skip


@operatorless(_no_value)
class MBarrier:
    """An mbarrier, or several that are declared together; ``bar[i]`` is one of several.

    Every method emits the one instruction after which it is named, for this thread. As an operand (``mbar=`` of `px.tile.apply`, an
    address of `px.ptx`) it is the barrier's address.
    """

    __slots__ = ("_ring", "_view")

    def __init__(self, ring: _Ring, view: View) -> None:
        self._ring = ring
        self._view = view

    def __repr__(self) -> str:
        name = self._ring.name
        if self._view.ndim:
            return f"{name}, {self._ring.stages} mbarriers"
        index = self._index()
        return name if self._ring.stages == 1 and index == 0 else f"{name}[{index}]"

    def __getitem__(self, index: Any) -> MBarrier:
        """One barrier, by an int or a traced integer that is proved to be in range."""
        if not self._view.ndim:
            raise TraceError(f"{self!r} is one mbarrier and is indexed", where=here(), legal="px.mbarrier(count, stages=...)")
        chosen = self._view[index]
        if chosen.ndim:
            raise TraceError(f"{self!r} are indexed by {index!r}", where=here(), legal="an int or a traced integer")
        return MBarrier(self._ring, chosen)

    def __iter__(self) -> Any:
        raise TraceError(
            f"{self!r} can't be iterated over", where=here(), legal=f"for i in range({self._ring.stages}): {self._ring.name}[i]"
        )

    @property
    def stages(self) -> int:
        """How many barriers were declared together."""
        return self._ring.stages

    # ---- the object -----------------------------------------------------------------------------------------------------

    def init(self, count: Any = None) -> None:
        """``mbarrier.init``: phase 0, expecting `count` arrivals in each phase (those of the declaration by default).

        One thread does it. The block's other threads may use the barrier behind a `px.syncthreads`, those of the cluster behind
        `px.fence_mbarrier_init` and `px.cluster_sync`, asynchronous copies behind `px.fence_proxy_async` or `px.fence_mbarrier_init`.

        Raises
        ------
        InstructionError
            Where more than one thread surely runs it, or for a count outside of 1 to 2^20 - 1.
        """
        builder, where = current("mbarrier.init"), here()
        self._one()
        self._by_one_thread(builder, "mbarrier.init", where)
        ptx["mbarrier.init.shared.b64"](self._view, _arrivals(self._ring.count if count is None else count, where))
        index = self._index()
        self._ring.initialised.update(range(self._ring.stages) if isinstance(index, Expr) else [index])

    def inval(self) -> None:
        """``mbarrier.inval``: ends the object, so that its memory may be used for anything else. One thread does it."""
        builder, where = current("mbarrier.inval"), here()
        self._one()
        self._by_one_thread(builder, "mbarrier.inval", where)
        ptx["mbarrier.inval.shared.b64"](self)

    # ---- arrivals -------------------------------------------------------------------------------------------------------

    def arrive(self, count: Any = None, *, cta: Any = None, scope: str | None = None) -> None:
        """``mbarrier.arrive``: one pending arrival less, or `count` less.

        Parameters
        ----------
        count : int or traced u32, optional
        cta : int or traced u32, optional
            Rank of a block in the cluster: the same barrier there (one ``mapa`` in front).
        scope : str, optional
            ``"cta"`` or ``"cluster"``: between which threads it releases; PTX's default is the block. Needed where a thread of another
            block reads what this one has written; not where only a copy overwrites what it has read.
        """
        self._arrive("mbarrier.arrive", "" if scope is None else f".release.{scope}", () if count is None else (count,), cta)

    def arrive_expect_tx(self, bytes: Any, *, cta: Any = None, scope: str | None = None) -> None:
        """``mbarrier.arrive.expect_tx``: adds to the bytes that the phase waits for, then arrives.

        Parameters
        ----------
        bytes : int or traced u32
            What the copies that signal this barrier in this phase write, all together: 0 to 2^20 - 1.
        cta, scope
            As for `arrive`.
        """
        self._arrive("mbarrier.arrive.expect_tx", "" if scope is None else f".release.{scope}", (_transaction(bytes),), cta)

    def arrive_drop(self, count: Any = None) -> None:
        """``mbarrier.arrive_drop``: arrives, and is expected in no later phase."""
        self._arrive("mbarrier.arrive_drop", "", () if count is None else (count,), None)

    def expect_tx(self, bytes: Any) -> None:
        """``mbarrier.expect_tx``: adds to the bytes that the current phase waits for, without arriving."""
        ptx["mbarrier.expect_tx.shared.b64"](self, _transaction(bytes))

    def complete_tx(self, bytes: Any) -> None:
        """``mbarrier.complete_tx``: takes from those bytes, as a copy does that has arrived."""
        ptx["mbarrier.complete_tx.shared.b64"](self, bytes)

    def _arrive(self, opcode: str, order: str, operands: tuple[Any, ...], cta: Any) -> None:
        if cta is None:
            ptx[f"{opcode}{order}.shared.b64"](self, *operands, out=sink)
            return
        from ptxgen.tracing.handles.clusters import mapa

        ptx[f"{opcode}{order}.shared::cluster.b64"](mapa(self, cta), *operands)

    # ---- waits ----------------------------------------------------------------------------------------------------------

    def test_wait(self, parity: Any, *, scope: str | None = None) -> Scalar:
        """``mbarrier.test_wait.parity``: whether the phase of this parity is complete; see `wait`."""
        made: Scalar = ptx[f"mbarrier.test_wait.parity{_acquire(scope)}.shared.b64"](self, _parity(parity))
        return made

    def try_wait(self, parity: Any, *, hint: Any = None, scope: str | None = None) -> Scalar:
        """``mbarrier.try_wait.parity``: the same after waiting for a while: at most `hint` nanoseconds, or what the device likes."""
        operands = (_parity(parity),) if hint is None else (_parity(parity), hint)
        made: Scalar = ptx[f"mbarrier.try_wait.parity{_acquire(scope)}.shared.b64"](self, *operands)
        return made

    def wait(self, parity: Any, *, hint: Any = None, scope: str | None = None) -> None:
        """Waits until the phase of this parity is complete: ``mbarrier.try_wait.parity`` in a loop that tries again on false.

        Parameters
        ----------
        parity : int or traced u32
            0 or 1: the phase's number modulo 2. The first phase has parity 0; parity 1 passes at once while it lasts.
        hint : int or traced u32, optional
            Nanoseconds for one try.
        scope : str, optional
            ``"cluster"`` where threads of other blocks arrive with that scope.
        """
        builder, where = current("mbarrier.try_wait"), here()
        self.__ptxgen_address__(builder)  # computed before the loop, which uses it again
        again = builder.label("wait")
        builder.append(ir.Label(again))
        done = self.try_wait(parity, hint=hint, scope=scope)
        assert isinstance(done.operand, ir.Reg)
        branch(builder, again, where, ir.Guard(done.operand, negated=True))

    # ---- as an operand --------------------------------------------------------------------------------------------------

    def __ptxgen_address__(self, builder: Builder) -> Described:
        """The barrier's address in shared memory; refused where nothing has initialised it, so that every use is."""
        self._demand_init()
        return self._view.__ptxgen_address__(builder)

    def __ptxgen_view__(self) -> View:
        """The barrier's eight bytes, for what takes a view of shared memory; demands its init as any use does."""
        self._demand_init()
        return self._view

    def _one(self) -> None:
        if self._view.ndim:
            raise TraceError(f"{self!r} stand where one is needed", where=here(), legal=f"{self._ring.name}[i]")

    def _index(self) -> int | Expr:
        """Which barrier of the ring this is."""
        bits = Expr.of(self._view.layout.offset[m])
        return bits.floordiv(8 * _BYTES) if bits.constant is None else bits.constant // (8 * _BYTES)

    def _demand_init(self) -> None:
        """Refuse the use of a barrier that nothing in the kernel has initialised."""
        self._one()
        ring, index = self._ring, self._index()
        missing = [one for one in (range(ring.stages) if isinstance(index, Expr) else [index]) if one not in ring.initialised]
        if not missing:
            return
        one = ring.name if ring.stages == 1 else f"{ring.name}[{missing[0]}]"
        raise InstructionError(
            f"{one} is used, and nothing before initialises it",
            rule="mbarrier.init makes the object; before it, the memory holds anything", section="9.7.15.16.4",
            legal=f"{one}.init() in one thread and px.syncthreads(), before its first use",
            where=here(),
        )  # fmt: skip

    def _by_one_thread(self, builder: Builder, opcode: str, where: Where) -> None:
        """Refuse what only one thread may do where more surely do it to the same barrier."""
        several = isinstance(self._index(), Expr)  # each thread may have a barrier of its own
        if several or builder.single_thread() or builder.divergence() is not None:
            return
        raise InstructionError(
            f"{len(builder.active_threads())} threads run this", opcode=opcode,
            rule=f"one thread {'initialises' if opcode.endswith('init') else 'ends'} an mbarrier", section="9.7.15.16.4",
            legal="with px.if_(px.tid.x == 0): ...",
            where=where,
        )  # fmt: skip


def mbarrier(count: Any, stages: int | None = None) -> MBarrier:
    """Declare mbarriers in the block's shared memory; each has to be initialised (`MBarrier.init`) before its use.

    Parameters
    ----------
    count : int or traced u32
        Arrivals that complete a phase, 1 to 2^20 - 1.
    stages : int, optional
        Declares so many, and ``bar[i]`` is one of them, also for a runtime `i`.

    Raises
    ------
    InstructionError
        For a count that no mbarrier has.
    """
    builder, where = current("px.mbarrier"), here()
    (number,) = static_extents(1 if stages is None else stages)
    _arrivals(count, where)
    storage = declare(builder, "mbar", number * _BYTES, _BYTES, where)
    shape = () if stages is None else (number,)
    view = View(builder, b64, storage, Layout(S[shape]).bind(8 * _BYTES))
    return MBarrier(_Ring(assigned_name(where) or storage.name, count, number), view)


def _arrivals(count: Any, where: Where) -> Any:
    """A count of arrivals; refused where it is known to be none."""
    if isinstance(count, Value) or hasattr(count, "__ptxgen_value__"):
        return count
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _ARRIVALS:
        raise InstructionError(
            f"{count!r} is no number of arrivals", opcode="mbarrier.init", operand="count",
            rule="a phase of an mbarrier expects 1 to 2^20 - 1 arrivals", section="9.7.15.16.3",
            legal="the number of threads (or warps) that arrive in each phase",
            where=where,
        )  # fmt: skip
    return count


def _transaction(bytes: Any) -> Any:
    """A number of bytes under way; refused where no copy moves so many."""
    if not isinstance(bytes, int):
        return bytes
    if not 0 <= bytes <= _UNDER_WAY:
        raise InstructionError(
            f"{bytes} bytes are more than an mbarrier counts" if bytes > 0 else f"{bytes} is no number of bytes",
            opcode="mbarrier.expect_tx", operand="tx_count",
            rule="an mbarrier counts at most 2^20 - 1 bytes under way", section="9.7.15.16.3",
            legal="0 to 1048575; more phases, each with a part of the copies", where=here(),
        )  # fmt: skip
    if bytes % 4:
        raise InstructionError(
            f"no copies signal {bytes} bytes", opcode="mbarrier.expect_tx", operand="tx_count",
            rule="what signals an mbarrier moves whole words: bulk and tensor copies multiples of 16 bytes, st.async of 4",
            section="9.7.15.16.6", legal="the bytes of all copies of the phase, what a tensor copy fills in included", where=here(),
        )  # fmt: skip
    return bytes


def _parity(parity: Any) -> Any:
    """A parity; refused where it is known to be none."""
    if isinstance(parity, int) and (isinstance(parity, bool) or parity not in (0, 1)):
        raise InstructionError(
            f"{parity!r} is no parity of a phase", opcode="mbarrier.try_wait", operand="phase_parity",
            rule="a phase is named by its number modulo 2", section="9.7.15.16.19",
            legal="0, 1, or the phase of a px.pipeline_state", where=here(),
        )  # fmt: skip
    return parity


def _acquire(scope: str | None) -> str:
    return "" if scope is None else f".acquire.{scope}"
