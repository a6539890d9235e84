"""Asynchronous products of a warpgroup and their order (ISA "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Operation")."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.descriptors import HOPPER, decode, matrix_addresses, read_chunks
from ptxgen.emulator.inflight import Issue, watched_registers
from ptxgen.emulator.lowering import Control, Lowering, Run
from ptxgen.emulator.metadata import chunks_of_lanes, expanded, first_fault
from ptxgen.emulator.numerics.matrix import ELEMENT_BITS, matrix_product
from ptxgen.emulator.operands import Array, Get
from ptxgen.emulator.rendezvous import WARPGROUP, together
from ptxgen.emulator.semantics.table import control, execution
from ptxgen.emulator.threads import WARP
from ptxgen.emulator.warpgroup import QUEUE, Shape, a_fragment, d_fragment
from ptxgen.instructions.types import type_named
from ptxgen.ir import Instruction, Int

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.machine import Wave

_TYPES = ("f16", "bf16", "tf32", "e4m3, e5m2", "s8, u8", "b1")
_PATTERNS: dict[str, Any] = {
    "f16": np.uint16, "bf16": np.uint16, "tf32": np.uint32, "e4m3": np.uint8, "e5m2": np.uint8, "s8": np.int8, "u8": np.uint8,
    "b1": np.uint8,
}  # fmt: skip

_GIVERS = {"e4m3": 4, "e5m2": 4, "s8": 4, "u8": 4}
"""How many lanes of every four give metadata, where it is not two."""

_SHAPE = re.compile(r"m64n(\d+)k(\d+)")


@execution("warpgroup", "setmaxnreg")
def lower_register_count(low: Lowering) -> Run:
    """Registers are no scarce good here."""
    return lambda wave, frame, index: None


@control("warpgroup", "wgmma.fence")
def lower_fence(low: Lowering) -> Control:
    return together(low, WARP, lambda wave, frame, threads: wave.warpgroups.fence(frame, threads))


@control("warpgroup", "wgmma.commit_group")
def lower_commit(low: Lowering) -> Control:
    return together(low, WARP, lambda wave, frame, threads: wave.warpgroups.commit(threads))


@control("warpgroup", "wgmma.wait_group")
def lower_wait(low: Lowering) -> Control:
    assert isinstance(low.statement, Instruction)
    statement = low.statement
    newest = statement.operands[0]
    assert isinstance(newest, Int)
    count = newest.value
    return together(low, WARP, lambda wave, frame, threads: wave.warpgroups.wait(threads, count, statement))


_DENSE = [f"wgmma.mma_async ({types}{place})" for types in _TYPES for place in ("", ", A in registers")]


_SPARSE = [f"wgmma.mma_async.sp ({types})" for types in _TYPES if types != "b1"]


@control("warpgroup", *_DENSE, *_SPARSE)
def lower_product(low: Lowering) -> Control:
    return together(low, WARPGROUP, _Product(low).execute)


class _Product:
    """One wgmma.mma_async: operands resolved, fragments tabulated."""

    def __init__(self, low: Lowering) -> None:
        assert isinstance(low.statement, Instruction)
        self.statement = low.statement
        parts = low.statement.opcode.split(".")
        place = next(number for number, part in enumerate(parts) if _SHAPE.fullmatch(part))
        n, k = map(int, _SHAPE.fullmatch(parts[place]).groups())  # type: ignore[union-attr]
        saturates = parts[place + 1] == "satfinite"
        d_type, self.a_type, self.b_type = parts[place + 1 + saturates :][:3]
        self.multiply = matrix_product(self.a_type, self.b_type, d_type, unit="wgmma", satfinite=saturates)
        self.shape = Shape(n, k, d_type)
        operands = low.statement.operands
        self.d = watched_registers(low, operands[0])
        self.in_registers = len(low.elements(operands[1])) > 1
        self.a = watched_registers(low, operands[1]) if self.in_registers else np.zeros(0, np.int64)
        self.a_descriptor = None if self.in_registers else low.source(operands[1], type_named("b64"))
        self.b_descriptor = low.source(operands[2], type_named("b64"))
        self.sparse = "sp" in parts
        if self.sparse:
            selector = operands[4]
            assert isinstance(selector, Int)
            self.metadata, self.selector = low.source(operands[3], type_named("b32")), selector.value
            operands = (*operands[:3], *operands[5:])
        self.scale_d = low.source(operands[3], type_named("pred"))
        self._immediates([operand.value for operand in operands[4:] if isinstance(operand, Int)])
        self.d_row, self.d_column = d_fragment(n, 2 if d_type == "f16" else 1)
        bits = ELEMENT_BITS[self.a_type]
        self.element = max(bits // 8, 1)
        self.depth = k * bits // 8 // self.element
        self.kept = self.depth // 2 if self.sparse else self.depth
        if self.in_registers:
            self.a_row, self.a_column = a_fragment(32 // bits)

    def _immediates(self, values: list[int]) -> None:
        scales, transposes = values[:2], values[2:]
        self.negate = bool(np.prod(scales) < 0)
        if self.in_registers:
            transposes = [0, *transposes]
        a, b = (*transposes, 0, 0)[:2]
        self.a_k_major, self.b_k_major = not a, not b

    def execute(self, wave: Wave, frame: Frame, threads: Array) -> None:
        threads, torn = wave.rendezvous.whole(threads, WARPGROUP)
        if len(torn):
            message = "the four warps of a warpgroup execute wgmma together; some of this warpgroup are not there"
            wave.reports.add("collective", message, self.statement, wave.threads, torn)
        if not len(threads):
            return
        groups = threads.reshape(-1, WARPGROUP)
        watched = wave.in_flight.of(frame)
        adds = self._uniform(wave, frame, groups, self.scale_d, "scale-d").astype(np.bool_)
        if wave.checks:
            reads = np.repeat(adds, WARPGROUP)
            wave.warpgroups.check(watched, self.d, self.a, threads, reads, self.shape, self.statement)
        if self.a_descriptor is None:
            a = self._from_registers(watched.load(self.a, threads))
        else:
            a = self._matrix(wave, frame, groups, self.a_descriptor, (64, self.kept), self.a_k_major, self.a_type, "A")
        if self.sparse:
            a = self._expanded(wave, frame, groups, a)
        b = self._matrix(wave, frame, groups, self.b_descriptor, (self.shape.n, self.depth), self.b_k_major, self.b_type, "B")
        c = self._accumulators(watched.load(self.d, threads), adds)
        if self.negate:
            a = a ^ a.dtype.type(1 << 8 * self.element - 1)
        d = self.multiply(a, b, c)
        issue = Issue(self.statement, QUEUE, wave.warpgroups.missing)
        until = wave.warpgroups.open_groups(threads)
        watched.hold(self.d, threads, self._to_registers(d), issue, until)
        if self.in_registers:
            watched.read_later(self.a, threads, issue, until)

    def _uniform(self, wave: Wave, frame: Frame, groups: Array, get: Get, name: str) -> Array:
        """One value a warpgroup; its threads must agree."""
        values = np.broadcast_to(get(wave, frame, groups.reshape(-1)), groups.size).reshape(groups.shape)
        torn = (values != values[:, :1]).any(1)
        if torn.any():
            message = f"{name} differs between threads of a warpgroup"
            wave.reports.add("collective", message, self.statement, wave.threads, groups[torn].reshape(-1), subject=name)
        return values[:, 0]

    def _expanded(self, wave: Wave, frame: Frame, groups: Array, kept: Array) -> Array:
        """A sparse A with its zeros; each warp tells of its own 16 rows."""
        words = np.broadcast_to(self.metadata(wave, frame, groups.reshape(-1)), groups.size).reshape(-1, WARP)
        chunks = chunks_of_lanes(words, self.selector, _GIVERS.get(self.a_type, 2), self.a_type).reshape(len(groups), 64, -1)
        dense, valid = expanded(kept, chunks, self.a_type)
        if not valid.all():
            group, message = first_fault(chunks, valid)
            wave.reports.add("metadata", message, self.statement, wave.threads, groups[group])
        return dense

    def _matrix(
        self, wave: Wave, frame: Frame, groups: Array, get: Get, extent: tuple[int, int], k_major: bool, type: str, name: str
    ) -> Array:
        """A matrix of rows x depth elements in shared memory: shape (warpgroups, rows, K)."""
        rows, depth = extent
        words = self._uniform(wave, frame, groups, get, f"the descriptor of {name}")
        blocks = wave.threads.block[groups[:, 0]]
        result = None
        for word in np.unique(words):
            chosen = words == word
            fields = decode(int(word), HOPPER)
            if isinstance(fields, str):
                message = f"the descriptor of {name} is {int(word):#018x}: {fields}"
                wave.reports.add("descriptor", message, self.statement, wave.threads, groups[chosen].reshape(-1), subject=name)
                continue
            address = matrix_addresses(fields, k_major=k_major, rows=rows, depth=depth, element=self.element)
            readers = groups[chosen, 0]
            reading = read_chunks(wave, self.statement, readers, blocks[chosen], address, name)
            if wave.checks:
                wave.warpgroups.reading(self.statement, readers, reading.first)
            part = _patterns(reading.data, type)
            part = part.reshape(len(part), rows, -1) if k_major else part.transpose(0, 1, 3, 2).reshape(len(part), rows, -1)
            if result is None:
                result = np.zeros((len(groups), *part.shape[1:]), part.dtype)
            result[chosen] = part
        if result is None:
            return np.zeros((len(groups), rows, depth * (8 if type == "b1" else 1)), _PATTERNS[type])
        return result

    def _from_registers(self, words: Array) -> Array:
        """A from (register, thread) words to shape (warpgroups, 64, K)."""
        grouped = np.ascontiguousarray(words.reshape(4, -1, WARPGROUP).transpose(1, 2, 0))
        elements = _patterns(grouped.view(np.uint8), self.a_type).reshape(len(grouped), WARPGROUP, 4, -1)
        matrix = np.empty((len(grouped), 64, self.shape.k // (2 if self.sparse else 1)), elements.dtype)
        matrix[:, self.a_row, self.a_column] = elements
        return matrix

    def _accumulators(self, words: Array, adds: Array) -> Array:
        """D before the product, zero where it is not added to: shape (warpgroups, 64, N)."""
        grouped = np.ascontiguousarray(words.reshape(len(self.d), -1, WARPGROUP).transpose(1, 2, 0))
        dtype = {"f16": np.float16, "f32": np.float32, "s32": np.int32}[self.shape.type]
        matrix = np.empty((len(grouped), 64, self.shape.n), dtype)
        matrix[:, self.d_row, self.d_column] = grouped.view(dtype).reshape(len(grouped), WARPGROUP, len(self.d), -1)
        matrix[~adds] = 0
        return matrix

    def _to_registers(self, d: Array) -> Array:
        values = np.ascontiguousarray(d[:, self.d_row, self.d_column])
        words = values.view(np.uint32).reshape(len(d), WARPGROUP, len(self.d))
        return words.transpose(2, 0, 1).reshape(len(self.d), -1)


def _patterns(data: Array, of: str) -> Array:
    """Bytes as elements: unsigned patterns of floats, values of integers."""
    patterns = np.ascontiguousarray(data).view(_PATTERNS[of])
    return np.unpackbits(patterns, axis=-1, bitorder="little") if of == "b1" else patterns
