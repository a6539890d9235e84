"""`px.tensor_memory`: columns of tensor memory, and what orders the instructions that use them (ISA 9.7.18)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ptxgen.errors import InstructionError, TraceError
from ptxgen.instructions.tiles import LANE
from ptxgen.instructions.types import Type, u32
from ptxgen.layouts import S
from ptxgen.layouts.layout import Layout
from ptxgen.tracing.builder import Builder, Value, current
from ptxgen.tracing.handles.groups import together
from ptxgen.tracing.operatorless import operatorless
from ptxgen.tracing.provenance import here
from ptxgen.tracing.raw import ptx
from ptxgen.tracing.source import assigned_name
from ptxgen.tracing.storage import declare, static_extents
from ptxgen.tracing.views import ComputedMemory, View

__all__ = ["TensorMemory", "tcgen05_commit", "tcgen05_fence", "tcgen05_wait", "tensor_memory"]

_LANES = 128
_COLUMN = 32  # bits of a lane in one column
_COLUMNS = (32, 64, 128, 256, 512)


def _no_value(memory: TensorMemory, symbol: str) -> TraceError:
    return TraceError(
        f"{memory!r} is used with {symbol}", where=here(), why="tensor memory is reached by views of it alone", legal="d = memory.tile(...)"
    )


@operatorless(_no_value)
class TensorMemory:
    """Columns of tensor memory that a block allocates, and frees before it ends; see `tensor_memory`."""

    __slots__ = ("_allocated", "_group", "_name", "_view", "columns")

    def __init__(self, name: str, columns: int, group: int, view: View) -> None:
        self._name = name
        self._group = group
        self._view = view
        self._allocated = False
        self.columns = columns

    def __repr__(self) -> str:
        return f"{self._name}, {self.columns} columns of tensor memory"

    def alloc(self, *, relinquish: bool = True) -> None:
        """``tcgen05.alloc``, by one whole warp: waits until the columns are free, and writes their address to shared memory.

        Other threads may use the columns behind ``px.tcgen05_fence("before")``, a barrier of the block (of the cluster for a pair), and
        ``px.tcgen05_fence("after")``. With `relinquish`, ``tcgen05.relinquish_alloc_permit`` follows: the block allocates no more.
        """
        together(current("tcgen05.alloc"), "warp")
        ptx[f"tcgen05.alloc.cta_group::{self._group}.sync.aligned.shared::cta.b32"](self._view, self.columns)
        if relinquish:
            ptx[f"tcgen05.relinquish_alloc_permit.cta_group::{self._group}.sync.aligned"]()
        self._allocated = True

    def dealloc(self) -> None:
        """``tcgen05.dealloc``, by one whole warp, behind a barrier after the last use."""
        builder = current("tcgen05.dealloc")
        together(builder, "warp")
        ptx[f"tcgen05.dealloc.cta_group::{self._group}.sync.aligned.b32"](self._address(builder), self.columns)

    def tile(self, shape: Sequence[int], dtype: Type, *, column: int = 0) -> View:
        """A view of lanes and columns, for the operands of `px.tile.apply` that lie in tensor memory.

        Parameters
        ----------
        shape : tuple of int
            Lanes, at most 128, and elements of each.
        dtype : Type
            Elements narrower than a column's 32 bits lie side by side in it.
        column : int
            The column at which it begins.

        Raises
        ------
        TraceError
            Where it is not inside, or before `alloc`.
        """
        builder, where = current("px.tensor_memory"), here()
        lanes, elements = extents if len(extents := static_extents(shape)) == 2 else (0, 0)
        end = column + -(-elements * dtype.bits // _COLUMN)
        if not 0 < lanes <= _LANES or column < 0 or end > self.columns or _COLUMN % dtype.bits:
            raise TraceError(
                f"a tile of {extents} elements of .{dtype.name} from column {column} on does not lie inside {self!r}", where=where,
                why=f"it has {_LANES} lanes, and {_COLUMN} bits of each in a column",
                legal=f"at most {_LANES} lanes and {self.columns * _COLUMN // dtype.bits} elements of each",
            )  # fmt: skip
        storage = ComputedMemory(self._name, "tensor", self._address(builder), 16, where)
        layout = Layout(S[extents : (LANE * (_COLUMN // dtype.bits), 1)]) + column * (_COLUMN // dtype.bits)
        return View(builder, dtype, storage, layout.bind(dtype.bits))

    def _address(self, builder: Builder) -> Value:
        """The columns' address, read from shared memory where it is not known yet."""
        if not self._allocated:
            raise InstructionError(
                f"{self!r} is used, and nothing before allocates it", rule="tensor memory is allocated before its use",
                section="9.7.18.7.1", legal=f"{self._name}.alloc() in one warp, and a barrier", where=here(),
            )  # fmt: skip
        made: Value = builder.numbered(("tensor memory", self), lambda: ptx["ld.shared.u32"](self._view.view(u32)))
        return made


def tensor_memory(columns: int, *, cta_group: int = 1) -> TensorMemory:
    """Declare columns of tensor memory; one warp allocates them (`TensorMemory.alloc`) and frees them (`TensorMemory.dealloc`).

    Parameters
    ----------
    columns : int
        32, 64, 128, 256 or 512.
    cta_group : int
        1; or 2 for a pair of blocks whose products are one, both of which then allocate.
    """
    builder, where = current("px.tensor_memory"), here()
    if columns not in _COLUMNS or cta_group not in (1, 2):
        raise InstructionError(
            f"{columns} columns in cta_group::{cta_group}", opcode="tcgen05.alloc", operand="n_cols",
            rule="columns are allocated by powers of two, at least 32", section="9.7.18.7.1",
            legal=f"{', '.join(map(str, _COLUMNS))} columns; cta_group=1 or 2", where=where,
        )  # fmt: skip
    word = declare(builder, "tmem", 4, 4, where)
    name = assigned_name(where) or word.name
    return TensorMemory(name, columns, cta_group, View(builder, u32, word, Layout(S[()]).bind(32)))


def tcgen05_commit(mbar: Any, *, cta_group: int = 1, mask: Any = None) -> None:
    """``tcgen05.commit``: the mbarrier is arrived at once all products and copies that this thread has issued are done.

    Parameters
    ----------
    mbar : MBarrier
    cta_group : int
        As in the products.
    mask : int or traced u16, optional
        The mbarrier at the same place in each block of the cluster whose bit is set, instead of this block's.
    """
    many = "" if mask is None else ".multicast::cluster"
    operands = () if mask is None else (mask,)
    ptx[f"tcgen05.commit.cta_group::{cta_group}.mbarrier::arrive::one.shared::cluster{many}.b64"](mbar, *operands)


def tcgen05_wait(what: str) -> None:
    """``tcgen05.wait``: until the thread's moves between registers and tensor memory are done, ``"ld"`` or ``"st"``."""
    together(current("tcgen05.wait"), "warp")
    ptx[f"tcgen05.wait::{what}.sync.aligned"]()


def tcgen05_fence(side: str) -> None:
    """``tcgen05.fence``: orders the thread's tcgen05 instructions against those of other threads across a synchronisation.

    Parameters
    ----------
    side : str
        ``"before"`` the synchronisation, or ``"after"`` it.
    """
    ptx[f"tcgen05.fence::{side}_thread_sync"]()
