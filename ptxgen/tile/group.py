"""Execution scopes: which threads the leading axes of an operand stand for."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ptxgen.errors import InstructionError, TraceError
from ptxgen.instructions.registry import Match
from ptxgen.layouts.axes import cbx, cby, cbz
from ptxgen.layouts.expr import Monomial, Symbol
from ptxgen.layouts.table import Table
from ptxgen.tracing.builder import Builder, Value

__all__ = ["SCOPES", "UNITS", "Group"]

SCOPES = ("thread", "warp", "warpgroup", "cta", "cluster")
UNITS = {"thread": 1, "one": 1, "warp": 32, "warpgroup": 128}
"""Threads that issue an instruction together, by its contract's word for them."""


def check_guard(builder: Builder, opcode: str, issuer: str, predicate: Any) -> None:
    """Refuse ``pred=`` of an instruction that a warp or warpgroup executes as one where it may hold in a part of its threads.

    Raises
    ------
    TraceError
    """
    if issuer not in ("warp", "warpgroup") or ".aligned" not in opcode or not isinstance(predicate, Value) or predicate.same:
        return
    if predicate.threads is not None:
        units = np.arange(builder.threads) // UNITS[issuer]
        holding = np.bincount(units, weights=predicate.threads)
        if ((holding == 0) | (holding == np.bincount(units))).all():
            return
    raise TraceError(
        f"a {issuer} issues this instruction together, and pred= may hold in a part of it",
        why="the predicate is neither the same in all threads nor a comparison that cuts between them",
        legal=f"pred=px.uniform(p) where you know that all threads agree (the emulator checks it), or one that holds in whole {issuer}s",
    )


def check_same(builder: Builder, match: Match, name: str, value: Any) -> None:
    """Refuse an operand that threads which issue an instruction together are known to give different values.

    Such are descriptors of matrices, addresses in tensor memory, and the flag that says whether a product is added to.

    Raises
    ------
    InstructionError
    """
    issuer, contract, tile = match.entry.issuer, match.entry.operands.get(name), match.entry.tile
    if issuer not in ("warp", "warpgroup") or contract is None or not isinstance(value, Value) or value.same:
        return
    described = tile is not None and name in tile.atoms and tile.atoms[name].descriptor is not None
    flag = tile is not None and name in tile.chain and contract.kind == "predicate"
    if not (described or flag or contract.space == "tensor"):
        return
    given = value.threads if value.threads is not None else None if value.expr is None else builder.over_threads(value.expr)
    if given is None:
        return
    threads = builder.active_threads()
    units = threads // UNITS[issuer]
    differs = np.flatnonzero((units[1:] == units[:-1]) & (given[threads[1:]] != given[threads[:-1]]))
    if not len(differs):
        return
    one, other = int(threads[differs[0]]), int(threads[differs[0] + 1])
    raise InstructionError(
        f"the threads of a {issuer} give different values", opcode=match.opcode, operand=name, section=match.entry.section,
        rule=f"a {issuer} executes this as one, with one value of {name}",
        example=f"thread {one}: {_spoken(given[one])}, thread {other}: {_spoken(given[other])}",
        legal=f"a value that all threads of the {issuer} share",
    )  # fmt: skip


def _spoken(value: np.generic) -> str:
    return str(value.item()).lower()


class Group:
    """Who issues an instruction at a scope: threads, or the warps or warpgroups that issue it together.

    Attributes
    ----------
    scope : str
    issuer : str
        ``"thread"``, ``"warp"`` or ``"warpgroup"``.
    unit : int
        Threads of one issuer: 1, 32 or 128.
    size : int
        The number of issuers; the leading axes of every operand multiply to it. 1 where no axes stand for them.
    local : ndarray
        For each issuer, of one CTA, the index of its first thread in the scope (lane, thread of the warpgroup, thread of the block).
    rows : ndarray
        The same for each of their threads.
    ctas : tuple of int
        Cluster extents (z, y, x) in front of the threads; empty below cluster scope.
    slots : dict
        Register numbers of some operands that were checked, by how they lie (see `RegisterOperand`).
    """

    __slots__ = ("active", "ctas", "issuer", "local", "rows", "scope", "size", "slots", "span", "threads", "unit")

    @staticmethod
    def at(builder: Builder, scope: str, issuer: str = "thread") -> Group:
        """The group at this place of the trace, the same object wherever the same threads are active."""
        found = _group(scope, issuer, builder.threads, builder.cluster, builder.active_threads().tobytes())
        if found.unit > 1:
            _convergent(builder, issuer)
        return found

    def __init__(self, scope: str, issuer: str, threads: int, cluster: tuple[int, int, int], active: np.ndarray) -> None:
        if scope not in SCOPES:
            raise TraceError(f"{scope!r} is no execution scope", legal=f"scope={' | '.join(repr(one) for one in SCOPES)}")
        self.threads = threads
        self.scope = scope
        self.issuer = issuer
        self.unit = UNITS[issuer]
        self.active = active
        if not len(self.active):
            raise TraceError(
                "no thread is active here", why="the guards around this line exclude each other", legal="guards that some thread passes"
            )
        self.span = 1 if scope == "thread" else min(UNITS.get(scope, threads), threads)
        self.rows = np.zeros(1, np.int64) if scope == "thread" else self._local()
        self.local = self.rows if self.unit == 1 else self._whole_units()
        self.ctas = tuple(reversed(cluster)) if scope == "cluster" else ()
        self.size = len(self.local) * prod(self.ctas)
        self.slots: dict[Hashable, np.ndarray] = {}

    def _local(self) -> np.ndarray:
        """The indices inside the scope that are active, the same in each of the scope's instances that has any."""
        if len(self.active) == self.threads and self.threads % self.span == 0:
            return np.arange(self.span)
        local = _distinct(self.active % self.span)
        instances = len(self._instances())
        if len(self.active) != len(local) * instances:
            raise TraceError(
                f"the threads that the guards leave active are not the same in every {self.scope} of the block",
                why=f"{len(self.active)} threads are active, spread over {instances} {self.scope}s",
                legal="a larger scope, or guards that cut between warps",
            )
        return local

    def _instances(self) -> np.ndarray:
        """The numbers of the scope's instances in the block that have active threads."""
        return np.arange(1) if self.span >= self.threads else _distinct(self.active // self.span)

    def _whole_units(self) -> np.ndarray:
        """The first threads of the warps or warpgroups that issue an instruction together."""
        unit, rows = self.unit, self.rows
        if self.threads < unit:
            raise TraceError(
                f"a {self.issuer} issues this instruction together, and the block has {self.threads} threads",
                why=f"a {self.issuer} is {unit} threads", legal=f"@px.kernel(block={unit}), or a multiple of it",
            )  # fmt: skip
        if self.span < unit:
            raise TraceError(
                f"a {self.issuer} issues this instruction together, and scope={self.scope!r} is smaller",
                legal=f"scope={' | '.join(repr(one) for one in SCOPES[SCOPES.index(self.issuer) :])}",
            )
        first = rows[::unit]
        if len(rows) % unit or (first % unit).any() or (rows != (first[:, None] + np.arange(unit)).ravel()).any():
            parts = _distinct(rows // unit)
            missing = next(thread for part in parts for thread in range(int(part) * unit, int(part + 1) * unit) if thread not in rows)
            raise TraceError(
                f"a {self.issuer} issues this instruction together, and the guards leave only a part of one active",
                why=f"thread {missing} of the {self.scope} does not come here",
                legal=f"guards that cut between {self.issuer}s: thread indices that are multiples of {unit}",
            )
        return first

    def split(self, shape: tuple[int, ...]) -> int | None:
        """How many leading axes of `shape` are the group's; None where no leading axes multiply to its size."""
        if self.scope == "thread" or (self.unit >= self.span and not self.ctas):
            return 0
        total = 1
        for count, extent in enumerate(shape):
            if total == self.size and (count or self.size == 1) and extent != 1:
                return count
            total *= extent
            if total == self.size:
                return count + 1
        return None

    def spelled(self) -> str:
        """The usual spelling of the group's axes, for messages."""
        if self.unit > 1:
            return f"({', '.join(map(str, (*self.ctas, len(self.local))))},)"
        threads = len(self.local)
        inner = f"({threads // 32}, 32)" if threads % 32 == 0 and threads > 32 else f"({threads},)"
        if self.scope == "thread":
            return "no group axes"
        return f"{(*self.ctas, *((threads // 32, 32) if threads % 32 == 0 and threads > 32 else (threads,)))}" if self.ctas else inner

    def wrong_owner(self, table: Table, lanes: np.ndarray, known: Mapping[Symbol, np.ndarray]) -> tuple[int, int, str] | None:
        """The first (group index, remaining index, text) at which a register is owned by another thread than the issuing one.

        `table` are the positions of a register operand; `lanes` says for each of its remaining (repeat and atom) coordinates which of
        an issuer's threads it must be, `known` what each thread of a block computes.
        """
        rest = len(lanes)
        if table.thread is None:
            threads = len(self.rows)
            return None if self.scope == "thread" or threads == 1 else (min(1, self.size - 1), 0, "every thread, as it has no thread axis")
        constant = table.thread.reshape(self.size, rest)
        for axis, wanted in zip((cbz, cby, cbx), self._cta_digits()):
            along = table.axes.get(axis)
            found = np.zeros((self.size, rest), np.int64) if along is None else along.reshape(self.size, rest)
            wrong = np.argwhere(found != wanted[:, None])
            if len(wrong):
                g, e = map(int, wrong[0])
                return g, e, f"CTA {int(found[g, e])} along {axis} of the cluster instead of {int(wanted[g])}"
        return self._wrong_thread(constant, table.thread_symbols, lanes, known)

    def _cta_digits(self) -> list[np.ndarray]:
        if not self.ctas:
            return []
        _, y, x = self.ctas
        rank = np.arange(self.size) // len(self.local)
        return [rank // (y * x), rank // x % y, rank % x]

    def _wrong_thread(
        self, constant: np.ndarray, symbols: dict[Monomial, np.ndarray], lanes: np.ndarray, known: Mapping[Symbol, np.ndarray]
    ) -> tuple[int, int, str] | None:
        """Compare the owner with the issuing thread in every instance of the scope."""
        local = np.tile(self.local, self.size // len(self.local)) if self.ctas else self.local
        if not symbols and int(constant.max()) < self.span < self.threads and self.scope != "thread":
            instances = np.zeros(1, np.int64)  # a layout that names no warp means each warp's own
        elif self.scope == "thread":
            instances = self.active
        else:
            instances = self._instances() * self.span
        for start in instances:
            owner = constant
            thread = int(start) + local[:, None] + lanes
            for monomial, coefficients in symbols.items():
                factor = np.ones(thread.shape, np.int64)
                for symbol in monomial:
                    values = known.get(symbol)
                    if values is None:
                        return 0, 0, f"thread {symbol.name} (known only at run time)"
                    factor = factor * values[thread]
                owner = owner + coefficients.reshape(thread.shape) * factor
            wrong = owner != thread
            if wrong.any():
                g, e = map(int, np.argwhere(wrong)[0])
                return g, e, f"thread {int(owner[g, e])} instead of thread {int(thread[g, e])}"
        return None


@lru_cache(maxsize=256)
def _group(scope: str, issuer: str, threads: int, cluster: tuple[int, int, int], active: bytes) -> Group:
    return Group(scope, issuer, threads, cluster, np.frombuffer(active, np.int64))


def _distinct(numbers: np.ndarray) -> np.ndarray:
    """The numbers of threads, warps or the like that occur, ascending."""
    return np.flatnonzero(np.bincount(numbers))


def _convergent(builder: Builder, issuer: str) -> None:
    """Refuse a collective instruction where something unknown decides which threads come here."""
    parted = builder.divergence()
    if parted is not None:
        raise TraceError(
            f"a {issuer} issues this instruction together, and the branch at {parted} may part it",
            why="its condition is neither the same in all threads nor a comparison of the thread's index with constants",
            legal="px.uniform(p) where you know that all threads agree (the emulator checks it), or the instruction outside of the branch",
        )
