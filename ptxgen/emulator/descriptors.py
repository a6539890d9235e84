"""Matrices in shared memory behind 64-bit descriptors: what the tensor cores' address function reads (ISA "Matrix Descriptor Format").

A descriptor gives a start, two strides and a swizzle. Memory is read in chunks of 16 bytes, which no swizzle breaks: along K for a
K-major matrix, along M or N for an MN-major one. The swizzle is an XOR on the bits of absolute shared addresses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ptxgen.emulator.memory import FIRST, Access, Region
from ptxgen.emulator.operands import Array

if TYPE_CHECKING:
    from ptxgen.emulator.machine import Wave
    from ptxgen.ir import Instruction

__all__ = ["BLACKWELL", "CHUNK", "HOPPER", "Fields", "Format", "Reading", "Swizzle", "decode", "matrix_addresses", "read_chunks"]

CHUNK = 16
"""Bytes that stay together under every swizzle."""

ADDRESS_BITS = 18
"""Bits of a shared address that a descriptor can say: 14, in units of 16 bytes."""


class Swizzle(NamedTuple):
    """A swizzle mode.

    Attributes
    ----------
    span : int
        Bytes of a row of its atom: 16 where nothing is swizzled.
    rows : int
        Rows of its atom.
    mask, shift : int
        ``address ^ (address >> shift & mask)``.
    """

    name: str
    span: int
    rows: int
    mask: int
    shift: int


_NONE = Swizzle("none", 16, 8, 0, 3)
_SWIZZLE_32 = Swizzle("32B", 32, 8, 0x10, 3)
_SWIZZLE_64 = Swizzle("64B", 64, 8, 0x30, 3)
_SWIZZLE_128 = Swizzle("128B", 128, 8, 0x70, 3)
_SWIZZLE_128_ATOM_32 = Swizzle("128B with 32-byte atoms", 128, 4, 0x60, 2)


class Format(NamedTuple):
    """Where a descriptor's swizzle field lies and what its values mean; the other fields are common to both formats."""

    name: str
    shift: int
    modes: dict[int, Swizzle]
    constant: int
    constant_mask: int


HOPPER = Format("wgmma", 62, {0: _NONE, 1: _SWIZZLE_128, 2: _SWIZZLE_64, 3: _SWIZZLE_32}, 0, 0)
BLACKWELL = Format(
    "tcgen05",
    61,
    {0: _NONE, 1: _SWIZZLE_128_ATOM_32, 2: _SWIZZLE_128, 4: _SWIZZLE_64, 6: _SWIZZLE_32},
    1 << 46,
    0b111 << 46,
)


class Fields(NamedTuple):
    """One descriptor taken apart; `start`, `leading` and `stride` in bytes, `base` in units of 128 bytes."""

    start: int
    leading: int
    stride: int
    base: int
    swizzle: Swizzle


def decode(word: int, of: Format) -> Fields | str:
    """Take a descriptor apart; a text says what is wrong with one that means nothing.

    Parameters
    ----------
    word : int
        64 bits.
    of : Format
    """
    swizzle = of.modes.get(word >> of.shift)
    if swizzle is None:
        return f"swizzle mode {word >> of.shift} (bits {of.shift}-63) does not exist; known are {sorted(of.modes)}"
    if word & of.constant_mask != of.constant:
        return f"bits 46-48 are {word >> 46 & 7:03b}, which must be {of.constant >> 46:03b}"
    start, leading, stride = ((word >> shift & 0x3FFF) * CHUNK for shift in (0, 16, 32))
    return Fields(start, leading, stride, word >> 49 & 7, swizzle)


def matrix_addresses(fields: Fields, *, k_major: bool, rows: int, depth: int, element: int) -> Array:
    """The shared address of every chunk of a matrix of `rows` (M or N) by `depth` (K) elements of `element` bytes.

    Returns
    -------
    array of int64
        Shape (rows, chunks along K) for a K-major matrix, (chunks along M or N, depth) for an MN-major one, whose last chunk may hold
        more than `rows`.
    """
    swizzle = fields.swizzle
    per_row = swizzle.span // CHUNK
    if k_major:
        row, chunk = np.arange(rows)[:, None], np.arange(depth * element // CHUNK)[None, :]
        outer = fields.leading if per_row == 1 else 0  # a swizzled K-major matrix lies within one atom along K
        offset = row % 8 * swizzle.span + row // 8 * fields.stride
        offset = offset + (chunk * outer if outer or per_row == 1 else chunk * CHUNK)
    else:
        chunk, row = np.arange(-(-rows * element // CHUNK))[:, None], np.arange(depth)[None, :]
        outer, inner = (fields.stride, fields.leading) if per_row == 1 else (fields.leading, fields.stride)
        offset = chunk % per_row * CHUNK + chunk // per_row * outer
        offset = offset + row % swizzle.rows * swizzle.span + row // swizzle.rows * inner
    return _swizzled(fields.start + offset, fields)


def _swizzled(address: Array, fields: Fields) -> Array:
    """The XOR on absolute addresses; the base offset says where, in rows of 128 bytes, the pattern starts."""
    address = address & ((1 << ADDRESS_BITS) - 1)
    swizzle = fields.swizzle
    if not swizzle.mask:
        return address
    return address ^ ((address - fields.base * 128) >> swizzle.shift & swizzle.mask)


class Reading(NamedTuple):
    """Shared memory that an asynchronous instruction reads.

    Attributes
    ----------
    data : array of uint8
        Shape (readers, *addresses, 16).
    first : array of int64
        Where each chunk lies in the region's data, shape (readers, chunks); no chunks where some lie outside of shared memory.
    """

    data: Array
    first: Array


def read_chunks(wave: Wave, statement: Instruction, readers: Array, blocks: Array, address: Array, name: str) -> Reading:
    """Read the same shared addresses of several blocks.

    Chunks outside shared memory are reported and read as zeros; bytes that nothing has written, or that a copy in flight will write, are
    reported.

    Parameters
    ----------
    readers : array of int
        A thread for each read, for reports and races.
    blocks : array of int
        Whose shared memory each reads, counted from the wave's first.
    address : array of int64
        Multiples of 16.
    name : str
        The operand, for reports.
    """
    region = wave.memory.spaces.get("shared")
    if region is None:
        wave.reports.add("out of bounds", f"{name}: the kernel has no shared memory", statement, wave.threads, readers)
        return Reading(np.zeros((len(readers), *address.shape, CHUNK), np.uint8), np.zeros((len(readers), 0), np.int64))
    offset = address - FIRST["shared"]
    inside = (offset >= 0) & (offset <= region.extent - CHUNK)
    everywhere = bool(inside.all())
    if not everywhere:
        _report(wave, statement, region, address[~inside], readers, "out of bounds", name, "outside of shared memory: at")
        offset = np.where(inside, offset, 0)
    row = (offset + (blocks * region.stride).reshape(-1, *(1,) * offset.ndim)) // CHUNK
    data: Array = region.data.reshape(-1, CHUNK)[row]
    if not everywhere:
        data[:, ~inside] = 0
    if wave.checks and region.written is not None:
        shadow = region.written.view(np.uint64).reshape(-1, 2)[row]
        unwritten = inside & (shadow != np.iinfo(np.uint64).max).any(-1)
        if unwritten.any():
            _report_unwritten(wave, statement, region, readers, address, row, unwritten, name)
    return Reading(data, row.reshape(len(readers), -1) * CHUNK if everywhere else np.zeros((len(readers), 0), np.int64))


def _report_unwritten(
    wave: Wave, statement: Instruction, region: Region, readers: Array, address: Array, row: Array, unwritten: Array, name: str
) -> None:
    """Report chunks without a value; those that a copy in flight will write are told apart by who follows copies."""
    if region.tracker is not None:
        threads = np.repeat(readers, address.size)
        access = Access(statement, "shared", 8, CHUNK // 8)
        caught = region.tracker.in_flight(access, region, row.reshape(-1) * 2, unwritten.reshape(-1), threads)
        unwritten = unwritten & ~caught.reshape(unwritten.shape)
    bad = address[unwritten.any(0)]
    if bad.size:
        _report(wave, statement, region, bad, readers, "unwritten memory", name, "which nothing has written:")


def _report(wave: Wave, statement: Instruction, region: Region, bad: Array, threads: Any, kind: str, name: str, problem: str) -> None:
    first = int(bad.min())
    variable, offset = region.describe(first - FIRST["shared"])
    message = f"{name} takes {CHUNK} bytes from shared address {first:#x}, {problem} byte {offset} of {variable}"
    wave.reports.add(kind, message, statement, wave.threads, threads, subject=name, address=first, variable=variable, offset=offset)
