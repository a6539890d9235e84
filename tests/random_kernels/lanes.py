"""What the lanes of a warp do together: shfl, vote, match and redux, by whole warps and by some lanes of them."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np

import ptxgen as px
from ptxgen.testing.families.case import Case, Several

SHUFFLES = ("idx", "up", "down", "bfly")
VOTES = ("all", "any", "uni", "ballot", "not ballot")
REDUCTIONS = ("add.u32", "min.u32", "max.u32", "add.s32", "min.s32", "max.s32", "and.b32", "or.b32", "xor.b32")
OPERATIONS = [*SHUFFLES, *VOTES, "match any", "match all", "match any 64", *REDUCTIONS]

FIELDS = {
    "warps": range(1, 4),
    "width": [32, 16, 8, 4],
    "segments": range(1, 256),
    "operations": Several(OPERATIONS, 4),
    "amounts": Several(range(32), 4),
    "kept": [0xFFFFFFFF, 0x80000003, 1, 0],
}


def shuffled(mode: str, values: np.ndarray, amount: Any, width: int) -> tuple[np.ndarray, np.ndarray]:
    """What each of 32 lanes reads, and whether it is another lane's (or would be)."""
    lanes = np.arange(32)
    first = lanes // width * width
    source = {"idx": first + amount % width, "up": lanes - amount, "down": lanes + amount, "bfly": lanes ^ amount}[mode]
    inside = (source >= first) & (source < first + width) if mode != "up" else source >= first
    return values[np.where(inside, source, lanes)], inside


def reduced(operation: str, values: np.ndarray) -> int:
    """All values reduced, as 32 bits."""
    function, kind = operation.split(".")
    typed = values.view(np.int32) if kind[0] == "s" else values
    by = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[function]
    return int(by.reduce(typed.astype(np.int64))) & 0xFFFFFFFF


def expected(operation: str, amount: int, width: int, values: np.ndarray, taking: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both results of each lane of a warp that takes part."""
    members = np.flatnonzero(taking)
    mask = int(sum(1 << int(lane) for lane in members))
    holds = values & 1 == 1
    ones, zeros = np.ones(32, np.uint32), np.zeros(32, np.uint32)
    if operation in SHUFFLES:
        found, inside = shuffled(operation, values, amount, width)
        return found, inside.astype(np.uint32)
    if operation in ("ballot", "not ballot"):
        said = holds if operation == "ballot" else ~holds
        return ones * np.uint32(sum(1 << int(lane) for lane in members if said[lane])), zeros
    if operation in VOTES:
        mine = holds[members]
        return ones * np.uint32({"all": mine.all(), "any": mine.any(), "uni": mine.all() or not mine.any()}[operation]), zeros
    if operation.startswith("match any"):
        return np.array([sum(1 << int(one) for one in members if values[one] == value) for value in values], np.uint32), zeros
    if operation == "match all":
        alike = len(set(values[members].tolist())) == 1
        return ones * np.uint32(mask if alike else 0), ones * np.uint32(alike)
    return ones * np.uint32(reduced(operation, values[members])), zeros


def emitted(operation: str, amount: int, width: int, value: Any, mask: int) -> tuple[Any, Any]:
    """One instruction; its results as 32-bit registers, 0 for a second one that there is not."""
    nothing = px.u32(0)
    if operation in SHUFFLES:
        clamp = 0 if operation == "up" else width - 1
        out = px.reg(px.b32), px.reg(px.pred)
        found, inside = px.ptx[f"shfl.sync.{operation}.b32"](value, amount, (32 - width) << 8 | clamp, mask, out=out)
        return found, inside.to(px.u32)
    holds = (value & 1) == 1
    if operation in ("ballot", "not ballot"):
        return px.ptx["vote.sync.ballot.b32"](~holds if operation == "not ballot" else holds, mask), nothing
    if operation in VOTES:
        return px.ptx[f"vote.sync.{operation}.pred"](holds, mask).to(px.u32), nothing
    if operation == "match any":
        return px.ptx["match.any.sync.b32"](value, mask), nothing
    if operation == "match any 64":
        return px.ptx["match.any.sync.b64"](value.to(px.u64), mask), nothing
    if operation == "match all":
        found, alike = px.ptx["match.all.sync.b32"](value, mask, out=(px.reg(px.u32), px.reg(px.pred)))
        return found, alike.to(px.u32)
    return px.ptx[f"redux.sync.{operation}"](value, mask), nothing


def build(warps: int, width: int, segments: int, operations: Any, amounts: Any, kept: int) -> Case:
    """Segments of `width` lanes take part; each operation's results go to memory, zeros stay where a lane takes none."""
    count = 32 // width
    chosen = [segment for segment in range(count) if segments >> segment & 1] or [0]
    mask = sum(((1 << width) - 1) << segment * width for segment in chosen)
    steps = [(one, amount % width if one != "idx" else amount) for one, amount in zip(operations, amounts)]

    @px.kernel(grid=1, block=32 * warps, target="sm_80")
    def kernel(A: px.Tensor((32 * warps,), px.u32), B: px.Tensor((len(steps), 2, 32 * warps), px.u32)):
        t = px.tid.x
        value = px.ptx["ld.global.u32"](A[t])
        with nullcontext() if len(chosen) == count else px.if_((px.u32(mask) >> t % 32 & 1) == 1):
            for step, (operation, amount) in enumerate(steps):
                for place, found in enumerate(emitted(operation, amount, width, value, mask)):
                    px.ptx["st.global.b32"](B[step, place, t], found)

    a = np.random.default_rng(1).integers(0, 1 << 32, 32 * warps, np.uint32)
    a &= np.uint32(kept)  # few bits make equal values
    taking = np.array([mask >> lane & 1 == 1 for lane in range(32)])
    wanted = np.zeros((len(steps), 2, warps, 32), np.uint32)
    for step, (operation, amount) in enumerate(steps):
        for warp in range(warps):
            for place, found in enumerate(expected(operation, amount, width, a.reshape(warps, 32)[warp], taking)):
                wanted[step, place, warp] = np.where(taking, found, 0)
    return Case(kernel, (a, np.zeros(wanted.shape, np.uint32).reshape(len(steps), 2, -1)), {1: wanted.reshape(len(steps), 2, -1)})
