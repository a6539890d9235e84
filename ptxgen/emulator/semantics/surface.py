"""Surfaces (ISA "suld", "sust", "sured", "suq"): whole elements or bytes of an image; x counts bytes, but for the formatted ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ptxgen.emulator.atomics import combination
from ptxgen.emulator.images import Surface
from ptxgen.emulator.lowering import Lowering, Run
from ptxgen.emulator.operands import Array
from ptxgen.emulator.semantics.table import execution
from ptxgen.emulator.semantics.texture import answered, images_of, place_of
from ptxgen.instructions.types import TYPES, type_named
from ptxgen.ir import Instruction

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.machine import Wave


class _Bytes(NamedTuple):
    """Bytes that threads of one surface reach: `threads` among those that execute, and the places in `Surface.rows`."""

    surface: Surface
    threads: Array
    rows: tuple[Array, Array, Array]
    begin: Array

    def load(self, size: int) -> Array:
        """Shape (threads, size)."""
        layer, z, y = (one[:, None] for one in self.rows)
        found: Array = self.surface.rows[layer, z, y, self.begin[:, None] + np.arange(size)]
        return found

    def store(self, data: Array) -> None:
        layer, z, y = (one[:, None] for one in self.rows)
        self.surface.rows[layer, z, y, self.begin[:, None] + np.arange(data.shape[1])] = data


class _Access:
    """What all of them share: who reaches which bytes, and what happens outside."""

    def __init__(self, low: Lowering) -> None:
        assert isinstance(low.statement, Instruction)
        self.statement = low.statement
        self.formatted = ".p" in low.match.bindings
        self.outside = low.match.value(".clamp")
        self.images = images_of(low, Surface)
        self.place = place_of(low, "b", low.match.value(".geom") or low.match.value(".sgeom"), "s32")

    def reach(self, wave: Wave, frame: Frame, index: Any, size: int) -> list[_Bytes]:
        """`size` bytes of each thread (of the formatted ones, an element); those outside are left out, or moved to the nearest place."""
        layers, coordinates = self.place(wave, frame, index)
        found = []
        for surface, chosen in self.images(wave, frame, index):
            each = surface.elements.shape[-1] * surface.array.dtype.itemsize if self.formatted else size
            first = coordinates[0][chosen].astype(np.int64) * (each if self.formatted else 1)
            rest = [one[chosen].astype(np.int64) for one in coordinates[1:]]
            y, z = (*rest, *(np.zeros(len(chosen), np.int64),) * 2)[:2]
            place = np.stack([layers[chosen], z, y, first])
            last = np.array(surface.rows.shape)[:, None] - 1
            last[3] -= each - 1
            beyond: Array = np.any((place < 0) | (place > last), axis=0)
            odd = place[3] % each != 0
            trapped = beyond & np.bool_(self.outside == "trap")
            self._report(wave, index, chosen, trapped, odd & ~beyond, each)
            good = ~odd & (last[3] >= 0) & (~beyond | (self.outside == "clamp"))
            layer, z, y, begin = np.clip(place, 0, last)[:, good]
            found.append(_Bytes(surface, chosen[good], (layer, z, y), begin - begin % each))
        return found

    def _report(self, wave: Wave, index: Any, chosen: Array, trapped: Array, odd: Array, size: int) -> None:
        threads = wave.indices(index)[chosen]
        for kind, bad, message in (
            ("out of bounds", trapped, "coordinates lie outside of the surface, and .trap ends the launch there"),
            ("misaligned", odd, f"x counts bytes, and is no multiple of the {size} that are accessed"),
        ):
            if bad.any():
                wave.reports.add(kind, message, self.statement, wave.threads, threads[bad], subject=kind)


@execution("surface", "suld.b")
def lower_load(low: Lowering) -> Run:
    access, of = _Access(low), low.operand_type("d")
    puts = [low.target(item, of) for item in low.elements(low.named["d"])]
    unit = of.bits // 8

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        data = np.zeros((wave.count(index), unit * len(puts)), np.uint8)
        for part in access.reach(wave, frame, index, data.shape[1]):
            data[part.threads] = part.load(data.shape[1])
        for put, value in zip(puts, data.view(f"u{unit}").T):
            put(wave, frame, index, np.ascontiguousarray(value))

    return run


@execution("surface", "sust.b")
def lower_store(low: Lowering) -> Run:
    access, of = _Access(low), low.operand_type("c")
    gets, unit = low.sources(low.named["c"], of), of.bits // 8

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        count = wave.count(index)
        words = [np.broadcast_to(get(wave, frame, index), count).astype(f"u{unit}") for get in gets]
        data = np.ascontiguousarray(np.stack(words, axis=1)).view(np.uint8).reshape(count, -1)
        for part in access.reach(wave, frame, index, data.shape[1]):
            part.store(data[part.threads])

    return run


@execution("surface", "sust.p")
def lower_formatted_store(low: Lowering) -> Run:
    """Components are .f32 where the elements are floats, else integers of their sign, clamped to their range."""
    access, gets = _Access(low), low.sources(low.named["c"], type_named("b32"))

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        count = wave.count(index)
        words = np.stack([np.broadcast_to(get(wave, frame, index), count).view(np.uint32) for get in gets], axis=1)
        for part in access.reach(wave, frame, index, 0):
            dtype, channels = part.surface.array.dtype, part.surface.elements.shape[-1]
            given = np.zeros((len(part.threads), channels), np.uint32)
            given[:, : words.shape[1]] = words[part.threads, :channels]
            if dtype.kind == "f":
                values = given.view(np.float32).astype(dtype)
            else:
                limits = np.iinfo(dtype)
                values = np.clip(given.view(f"{dtype.kind}4"), limits.min, limits.max).astype(dtype)
            part.store(np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1))

    return run


@execution("surface", "sured.b", "sured.p")
def lower_reduction(low: Lowering) -> Run:
    """Threads take turns in their order."""
    access, of = _Access(low), low.operand_type("c")
    get, operation = low.source(low.named["c"], of), low.match.value(".op")

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        unit = np.dtype(f"u{of.bits // 8}")
        given = np.ascontiguousarray(np.broadcast_to(get(wave, frame, index), wave.count(index))).view(unit)
        for part in access.reach(wave, frame, index, unit.itemsize):
            sign = "s" if part.surface.array.dtype.kind == "i" else "u"
            exact = TYPES[f"{sign}{of.bits}"] if of.kind == "bits" and operation in ("add", "min", "max") else of
            what = combination(operation, exact)
            for number, thread in enumerate(part.threads.tolist()):
                one = _Bytes(part.surface, part.threads[[number]], tuple(row[[number]] for row in part.rows), part.begin[[number]])  # type: ignore[arg-type]
                there = np.ascontiguousarray(one.load(unit.itemsize)).view(what.dtype)[:, 0]
                after = what.globally(there, given[[thread]].view(what.dtype))
                one.store(np.ascontiguousarray(after).view(np.uint8).reshape(1, -1))

    return run


@execution("surface", "suq")
def lower_question(low: Lowering) -> Run:
    return answered(low, Surface)
