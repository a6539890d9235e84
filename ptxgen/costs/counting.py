"""From the instructions of one pass to records: what each form does to memory, summed over the repeats of an apply."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ptxgen.costs.records import Access, Cost
from ptxgen.costs.walk import Executed, Place
from ptxgen.emulator.memory import FIRST
from ptxgen.instructions.registry import Match
from ptxgen.instructions.tiles import atom_shape, evaluate_names
from ptxgen.instructions.types import TYPES
from ptxgen.layouts.banks import SHARED, WARP, collision, copy_wavefronts, ideal_wavefronts, row_wavefronts, wavefronts
from ptxgen.layouts.sectors import copied_sectors, ideal_sectors, sectors

__all__ = ["Boxes", "counted"]

Boxes = dict[int, int]
"""Bytes of one box, by the address of the tensor map that describes it."""

_FROM_MEMORY = "its address is not known"
_ENGINE = "moved by the copy engine"
_ATOMIC = "updated at the memory"
_ELSEWHERE = "of another unit"
_PAST = "written past the banks' pipe"
_UNSAID = "which lane takes what is the hardware's affair"

_ADDRESSING = {"integer", "logic", "move", "control", "comparison"}

_ROW = 16
"""Bytes of a row of a matrix whose address a lane gives."""


class _Reach(NamedTuple):
    """What one operand of a form reaches: `width` bytes a lane, or a row of `width` bytes by each of the first `rows` lanes.

    The width is 0 where it is not known. `other` is the other side of a copy, on which the counts depend as well.
    """

    width: int
    rows: int = 0
    note: str = ""
    other: str = ""


def counted(executed: Iterable[Executed], boxes: Boxes) -> tuple[list[Cost], int]:
    """One record for each apply and raw instruction that a line of the user's wrote, and how many other instructions there are."""
    groups: dict[tuple[Any, str], list[Executed]] = {}
    overhead = 0
    for one in executed:
        where = one.step.statement.where
        if where is None:
            overhead += 1
            continue
        groups.setdefault((id(where), one.step.statement.opcode), []).append(one)  # the instructions of one apply share their place
    return [_cost(group, boxes) for group in groups.values()], overhead


def _cost(group: list[Executed], boxes: Boxes) -> Cost:
    first = group[0]
    held: dict[str, int] = {}
    for one in group:
        held.update(one.registers)
    return Cost(
        first.step.statement.where,
        first.step.statement.opcode,
        len(group),
        sum(_warps(one.active).any(axis=1).sum().item() for one in group),
        sum(held.values()),
        tuple(access for name in first.places for access in _access(group, name, boxes)),
        all(one.certain for one in group),
        _is_arithmetic(first),
    )


def _is_arithmetic(one: Executed) -> bool:
    """Whether an instruction is of the kind that addresses, indices and branches are made of, and none that the user asked for."""
    match, statement = one.match, one.step.statement
    if match is None or statement.where.asked == statement.opcode:
        return False
    if match.entry.family == "conversion":
        return all(one.is_integer for one in (TYPES.get(match.value(name)) for name in (".dtype", ".atype")) if one is not None)
    return match.entry.family in _ADDRESSING


def _warps(values: NDArray[Any]) -> NDArray[Any]:
    """One row a warp; lanes that the last one lacks are 0."""
    missing = -len(values) % WARP
    return (np.concatenate([values, np.zeros(missing, values.dtype)]) if missing else values).reshape(-1, WARP)


def _access(group: list[Executed], name: str, boxes: Boxes) -> list[Access]:
    """What an operand does to memory in all repeats of an apply; nothing where it lies elsewhere or names no bytes."""
    match = group[0].match
    assert match is not None
    places = [one.places[name] for one in group]
    if match.entry.family == "tensor_copy" and name == "tensor_map":
        return [_moved(group, name, "global", "dst_mem" not in match.entry.operands, boxes)]
    space = next((one.space for one in places if one.space), "")
    if space not in ("shared", "global"):
        return []
    store = match.entry.operands[name].role != "in"
    reach = _reach(match, name, group[0])
    if reach is None:
        return []
    active = np.stack([_warps(one.active) for one in group])
    requests = int(active.any(axis=-1).sum())
    if reach.note == _ENGINE:
        return [_moved(group, name, space, store, boxes)]
    size = int(active[..., : reach.rows].sum() if reach.rows else active.sum()) * reach.width
    unknown = _FROM_MEMORY if any(one.addresses is None for one in places) else reach.note
    access = Access(name, space, store, requests, size if reach.width else None, note=unknown)
    if unknown not in ("", _ATOMIC):
        return [access]
    others = [one.places[reach.other] for one in group] if reach.other else []
    if any(one.addresses is None for one in others):
        return [access._replace(note=_FROM_MEMORY)]
    return [_counts(access, reach, places, others, active)]


def _addresses(places: list[Place]) -> NDArray[np.int64]:
    """Of each instruction's warps, from the first byte of shared memory or of all memory: (instructions, warps, 32)."""
    first = [FIRST["shared"] if one.space == "shared" else 0 for one in places]
    return np.stack([_warps(one.addresses) - start for one, start in zip(places, first) if one.addresses is not None])


def _counts(access: Access, reach: _Reach, places: list[Place], others: list[Place], active: NDArray[np.bool_]) -> Access:
    """The counts of accesses whose addresses are known: one row of lanes for each instruction of each warp."""
    busy = active.any(axis=-1)
    lanes, on = _addresses(places)[busy], active[busy]
    far = _addresses(others)[busy] if others else None
    if reach.rows:
        on = on & (np.arange(WARP) < reach.rows)
    access = access._replace(note=next((one.assumed for one in (*places, *others) if one.assumed), access.note))
    if access.space == "global":
        found = sectors(lanes, reach.width, active=on) if far is None else copied_sectors(lanes, far, reach.width, active=on)
        ideal = ideal_sectors(lanes, reach.width, active=on)
        return access._replace(sectors=int(found.sum()), ideal_sectors=int(ideal.sum()))
    if reach.note:
        return access
    if reach.rows:
        each = row_wavefronts(lanes[:, : reach.rows], width=reach.width, active=on[:, : reach.rows])
        least = -(-on.sum(axis=-1) * reach.width // SHARED.span)
    elif far is not None:
        each = copy_wavefronts(far, lanes, reach.width, active=on)
        least = ideal_wavefronts(lanes, reach.width, active=on, packed=False)
    else:
        each, least = (count(lanes, reach.width, active=on, packed=not access.store) for count in (wavefronts, ideal_wavefronts))
    worst = int((each - least).argmax()) if len(each) else 0
    met = collision(lanes[worst], reach.width, active=on[worst]) if (each > least).any() else None
    return access._replace(wavefronts=int(each.sum()), ideal_wavefronts=int(least.sum()), collision=met)


def _moved(group: list[Executed], name: str, space: str, store: bool, boxes: Boxes) -> Access:
    """A copy that one thread begins and an engine makes: its bytes are said by a size, or by the box of a tensor map."""
    copies, size, known = 0, 0, True
    for one in group:
        times = int(one.active.sum())
        each = one.numbers.get("size")
        if each is None and "tensor_map" in one.places:
            described = one.places["tensor_map"].addresses
            each = None if described is None or not times else boxes.get(int(described[one.active][0]))
        copies += times
        size += times * (each or 0)
        known &= each is not None or not times
    return Access(name, space, store, copies, size if known else None, note=_ENGINE)


# ---- what forms reach -------------------------------------------------------------------------------------------------


def _reach(match: Match, name: str, one: Executed) -> _Reach | None:
    """What an operand of a form reaches; None for one that is no data: a barrier, a tensor map."""
    family, contract = match.entry.family, match.entry.operands[name]
    if family in ("mbarrier", "cache", "tensormap") or (contract.type == "b64" and name in ("mbar", "addr")):
        return None
    if family in ("bulk_copy", "tensor_copy"):
        return _Reach(1, note=_ENGINE)
    if family == "memory":
        return _Reach(_bytes(match, name))
    if family == "atomic":
        return _Reach(_bytes(match, name), note=_ATOMIC)
    if match.entry.name == "cp.async":
        return _copy(match, name, one.numbers.get("cp_size", 16))
    if match.entry.issuer == "warp":
        return _matrices(match, name)
    return _Reach(_bytes(match, name) if str(contract.type).startswith(".") else 0, note=_ELSEWHERE)


def _matrices(match: Match, name: str) -> _Reach:
    """Matrices that a warp moves together: row by row at the addresses that its lanes give, or one that lanes part among themselves."""
    for tile in (match.entry.layouts, match.entry.tile):
        if tile is not None and name in tile.atoms:
            atom = tile.atoms[name]
            shape = atom_shape(atom, evaluate_names(tile, match, ()), match)
            if not tile.unspecified:
                return _Reach(_ROW, rows=prod(shape[:-1]))
            return _Reach(prod(shape) * match.type(atom.element).element.bits // 8 // WARP, note=_UNSAID)
    return _Reach(0, note=_ELSEWHERE)


def _copy(match: Match, name: str, size: int) -> _Reach:
    """An operand of cp.async: ``.ca`` reads the cache and writes shared memory in one pass, ``.cg`` passes by the cache, by sectors."""
    cached = "ca" in match.opcode.split(".")
    if name == "src":
        return _Reach(size) if cached else _Reach(size, other="dst")
    return _Reach(size, other="src") if cached else _Reach(size, note=_PAST)


def _bytes(match: Match, name: str) -> int:
    """Bytes that one lane accesses: the operand's type, times the vector."""
    contract = match.entry.operands[name]
    return max(1, match.type(contract.type or ".type").bits // 8) * match.count(contract.vector)
