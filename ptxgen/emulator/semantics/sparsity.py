"""Structured sparsity in registers (ISA "spcompress", "spdecompress"). What spcompress keeps its descriptor says, which is not emulated."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ptxgen.emulator.operands import Array
from ptxgen.emulator.semantics.table import semantics
from ptxgen.instructions.registry import Match


def _fields(registers: tuple[Array, ...], width: int) -> list[Array]:
    """The fields of registers, lowest first; of two or four bits they number 16 or 8 a register."""
    mask = np.uint32((1 << width) - 1)
    return [one >> np.uint32(first) & mask for one in registers for first in range(0, 32, width)]


@semantics("sparsity", "spdecompress")
def decompress(match: Match) -> Callable[..., tuple[Array, ...] | Array]:
    """Each group's elements go where their indices say; the rest of it is zero."""
    bits, index_bits = int(match.value(".type")[1:]), int(match.value(".idx")[1:])
    kept, group = (int(part) for part in match.value(".sparsity").removeprefix("sp::").split(":"))
    groups = int(match.value(".num")[1:])
    first = match.count(match.entry.operands["mdata"].vector)
    each = 32 // bits

    def apply(*sources: Array) -> tuple[Array, ...] | Array:
        shape = np.broadcast_shapes(*(one.shape for one in sources))
        words = tuple(np.broadcast_to(one, shape).view(np.uint32) for one in sources)
        indices, values = _fields(words[:first], index_bits), _fields(words[first:], bits)
        dense = np.zeros((groups * group, *shape), np.uint32)
        threads = np.arange(shape[0])
        for number in range(groups):
            for place in range(kept):
                at = number * kept + place
                dense[number * group + indices[at] % np.uint32(group), threads] = values[at]
        packed = [
            sum((dense[start + element] << np.uint32(bits * element) for element in range(1, each)), dense[start])
            for start in range(0, groups * group, each)
        ]
        return tuple(packed) if len(packed) > 1 else packed[0]

    return apply
