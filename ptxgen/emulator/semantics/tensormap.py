"""Tensor maps that a kernel changes (ISA "tensormap.replace", "tensormap.cp_fenceproxy"), in the emulator's own encoding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.lowering import Lowering, Run
from ptxgen.emulator.memory import Access
from ptxgen.emulator.operands import Array
from ptxgen.emulator.semantics.table import execution
from ptxgen.emulator.tensormap import ELEMENT_CODES, ENCODED_BYTES, FIELDS, MAGIC, Place
from ptxgen.instructions.types import type_named
from ptxgen.ir import Instruction, Int

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.machine import Wave

_IMMEDIATE = ("element_type", "packed_type", "interleave", "swizzle", "swizzle_96", "atomicity", "fill")


@execution("tensormap", "tensormap.replace")
def lower_replace(low: Lowering) -> Run:
    statement = low.statement
    assert isinstance(statement, Instruction)
    space, address = low.address(low.named["addr"], low.match.value(".ss").partition("::")[0])
    place, value = _place(low), low.source(*_value(low))
    magic = Access(statement, space, 8, 1)
    parts = [Access(statement, space, place.width, 1)] * place.words

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        count = wave.count(index)
        begin = np.broadcast_to(address(wave, frame, index), count)
        (found,) = wave.memory.load(magic, begin, index, count)
        strange = found != np.uint64(MAGIC)
        if strange.any():
            message = "the 128 bytes are no tensor map that this launch was given"
            wave.reports.add("tensor map", message, statement, wave.threads, wave.indices(index)[strange], subject="replace")
            return
        new = np.broadcast_to(value(wave, frame, index), count).astype(np.uint64)
        for number, access in enumerate(parts):
            where = begin + place.offset + number * place.width
            (old,) = wave.memory.load(access, where, index, count)
            wave.memory.store(access, where, [place.word(new, old, number)], index, count)

    return run


def _value(low: Lowering) -> tuple[Any, Any]:
    """The operand that replaces a field, and its type."""
    name = next((name for name in _IMMEDIATE if name in low.named), "new_val")
    return low.named[name], type_named("u32") if name != "new_val" else low.match.type("u32 if .type in .b32 else u64")


def _place(low: Lowering) -> Place:
    """Where the field lies, and how its value is encoded."""
    words = low.statement.opcode.split(".")
    name = next(word for word in words if word in FIELDS)
    if name == "elemtype":
        code = low.named.get("element_type", low.named.get("packed_type"))
        assert isinstance(code, Int) and code.value in ELEMENT_CODES
    if (name == "swizzle_atomicity" and low.named["atomicity"].value > 1) or "swizzle_96" in low.named:
        raise low.refuse("the emulator does not know this way of swizzling", section=low.match.entry.section, legal="a GPU")
    dimension = low.named.get("ord")
    return FIELDS[name] if dimension is None else FIELDS[name].of(dimension.value)


@execution("tensormap", "tensormap.cp_fenceproxy")
def lower_copy(low: Lowering) -> Run:
    """Maps are read where they lie when a copy is issued: the copy of the bytes is all there is to do."""
    statement = low.statement
    assert isinstance(statement, Instruction)
    source_space, source = low.address(low.named["src"], "shared")
    target_space, target = low.address(low.named["dst"], "global")
    read, write = Access(statement, source_space, 8, ENCODED_BYTES // 8), Access(statement, target_space, 8, ENCODED_BYTES // 8)

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        count = wave.count(index)
        words: list[Array] = wave.memory.load(read, np.broadcast_to(source(wave, frame, index), count), index, count)
        wave.memory.store(write, np.broadcast_to(target(wave, frame, index), count), list(words), index, count)

    return run
