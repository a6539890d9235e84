"""Clusters: the barrier of all their threads, and shared memory of other blocks (ISA 9.7.15.3 and 9.7.10.26)."""

from __future__ import annotations

from math import prod
from typing import Any

from ptxgen.errors import TraceError
from ptxgen.instructions.types import u32
from ptxgen.tracing.builder import Value, current
from ptxgen.tracing.provenance import here
from ptxgen.tracing.raw import ptx
from ptxgen.tracing.values import as_value, emit
from ptxgen.tracing.views import ComputedMemory, Memory, View

__all__ = ["cluster_arrive", "cluster_sync", "cluster_wait", "mapa"]


def cluster_arrive(sem: str | None = None) -> None:
    """``barrier.cluster.arrive.aligned``: announces arrival at the barrier of all threads of the cluster, and goes on.

    Parameters
    ----------
    sem : str, optional
        ``"release"``, PTX's default, or ``"relaxed"``, which orders nothing.
    """
    ptx[f"barrier.cluster.arrive{'' if sem is None else f'.{sem}'}.aligned"]()


def cluster_wait() -> None:
    """``barrier.cluster.wait.aligned``: until all threads of the cluster have arrived; what they wrote before is then visible."""
    ptx["barrier.cluster.wait.aligned"]()


def cluster_sync() -> None:
    """All threads of the cluster wait for each other: `cluster_arrive` and `cluster_wait`."""
    cluster_arrive()
    cluster_wait()


def mapa(view: Any, rank: Any) -> View:
    """``mapa.shared::cluster``: the same part of shared memory in another block of the cluster.

    Parameters
    ----------
    view : View or MBarrier
        Of the block's own shared memory; or a barrier, for what signals that of another block.
    rank : int or traced u32
        The block's rank in its cluster, as in `px.sreg.cluster_ctarank`.

    Returns
    -------
    View
        In ``.shared::cluster``, which instructions name: ``px.ptx["ld.shared::cluster.f32"]``.

    Raises
    ------
    TraceError
        For a view of other memory, or a rank that the cluster does not have.
    """
    from ptxgen.tile.addresses import Anchor

    builder, where = current("px.mapa"), here()
    if hasattr(view, "__ptxgen_view__"):
        view = view.__ptxgen_view__()
    if not isinstance(view, View) or view.space != "shared":
        raise TraceError(f"px.mapa of {view!r}", where=where, why="only shared memory has a copy in every block", legal="a px.shared tile")
    view.check_visible()
    blocks = prod(builder.cluster)
    if blocks == 1 and not (isinstance(rank, int) and rank == 0):
        raise TraceError(
            f"px.mapa asks for the shared memory of block {rank!r} of a cluster, and this kernel declares none", where=where,
            why="without the launch attribute cluster= (directive .reqnctapercluster) every block is a cluster of its own",
            legal="@px.kernel(cluster=2, ...)",
        )  # fmt: skip
    if isinstance(rank, int) and not 0 <= rank < blocks:
        raise TraceError(
            f"a cluster of {blocks} has no block of rank {rank}", where=where, legal=f"0 to {blocks - 1}, @px.kernel(cluster=...)"
        )
    own, given = Anchor(builder, view).start(), as_value(builder, rank, u32, where)
    if getattr(given, "mutable", False):
        given = given.get()  # type: ignore[attr-defined]

    def make() -> Value:
        return emit(builder, "mapa.shared::cluster.u32", u32, [own, given], where)

    base: Value = builder.numbered(("mapa", own.operand, given.operand), make)
    assert isinstance(view.storage, Memory)
    storage = ComputedMemory(view.storage.name, "shared::cluster", base, view.storage.align, view.storage.where)
    return View(builder, view.dtype, storage, view.layout)
