"""Fences, groups of asynchronous copies, and dependent grids: one instruction a function."""

from __future__ import annotations

from ptxgen.errors import TraceError
from ptxgen.tracing.provenance import here
from ptxgen.tracing.raw import ptx

__all__ = [
    "bulk_commit", "bulk_wait", "cp_async_commit", "cp_async_wait", "fence", "fence_mbarrier_init", "fence_proxy_async", "griddepcontrol",
]  # fmt: skip

_SPACES = ("global", "shared::cta", "shared::cluster")


def fence(sem: str, scope: str) -> None:
    """``fence.sem.scope``: orders the thread's accesses before it against those behind it.

    Parameters
    ----------
    sem : str
        ``"acq_rel"``, ``"sc"``, ``"acquire"``, ``"release"``.
    scope : str
        ``"cta"``, ``"cluster"``, ``"gpu"``, ``"sys"``.
    """
    ptx[f"fence.{sem}.{scope}"]()


def fence_mbarrier_init() -> None:
    """``fence.mbarrier_init.release.cluster``: what the thread has initialised is known to the cluster behind its next barrier."""
    ptx["fence.mbarrier_init.release.cluster"]()


def fence_proxy_async(space: str | None = None) -> None:
    """``fence.proxy.async``: what the thread has written is seen by asynchronous copies and matrix products behind it, and the reverse.

    Parameters
    ----------
    space : str, optional
        For one space alone: ``"global"``, ``"shared::cta"``, ``"shared::cluster"``.
    """
    if space is not None and space not in _SPACES:
        raise TraceError(
            f"px.fence_proxy_async({space!r})", where=here(), legal=f"no space, which is all, or {', '.join(map(repr, _SPACES))}"
        )
    ptx["fence.proxy.async" if space is None else f"fence.proxy.async.{space}"]()


def cp_async_commit() -> None:
    """``cp.async.commit_group``: closes a group of all ``cp.async`` of the thread that are in none yet."""
    ptx["cp.async.commit_group"]()


def cp_async_wait(n: int) -> None:
    """``cp.async.wait_group``: until at most the thread's `n` youngest groups are under way. Others see the data behind a barrier."""
    ptx["cp.async.wait_group"](n)


def bulk_commit() -> None:
    """``cp.async.bulk.commit_group``: closes a group of all bulk and tensor stores of the thread that are in none yet."""
    ptx["cp.async.bulk.commit_group"]()


def bulk_wait(n: int, read: bool = False) -> None:
    """``cp.async.bulk.wait_group``: until at most the thread's `n` youngest groups are under way; with `read`, until the older ones
    have read shared memory."""
    ptx["cp.async.bulk.wait_group.read" if read else "cp.async.bulk.wait_group"](n)


class _GridDependencies:
    """What `px.griddepcontrol` is."""

    __slots__ = ()

    def wait(self) -> None:
        """``griddepcontrol.wait``: until the grids before have ended and their writes are visible."""
        ptx["griddepcontrol.wait"]()

    def launch_dependents(self) -> None:
        """``griddepcontrol.launch_dependents``: the dependent grid may start once all blocks have said so or ended."""
        ptx["griddepcontrol.launch_dependents"]()


griddepcontrol = _GridDependencies()
"""Programmatic dependent launch, from the kernel's side."""
