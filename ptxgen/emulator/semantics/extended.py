"""Extended-precision integer arithmetic: CC.CF is a register of the function that no text names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator import numerics
from ptxgen.emulator.lowering import Lowering, Run
from ptxgen.emulator.operands import Array, read_register, write_register
from ptxgen.emulator.semantics.table import execution
from ptxgen.instructions.types import type_named

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.machine import Wave

_UNSIGNED = {32: np.uint32, 64: np.uint64}


@execution("extended", "add.cc", "addc", "sub.cc", "subc", "mad.cc", "madc")
def lower_extended(low: Lowering) -> Run:
    of = low.operand_type("d")
    compute = _function(low)
    names = [name for name in ("a", "b", "c") if name in low.named]
    gets = [low.source(low.named[name], of) for name in names]
    put = low.target(low.named["d"], of)
    carry, pred = low.code.carry(), type_named("pred")
    if low.match.entry.name.startswith(("addc", "subc", "madc")):
        gets.append(read_register(carry.slot, pred, pred, low.statement, "CC.CF"))
    put_carry = write_register(carry.slot, pred, pred) if ".cc" in low.match.bindings else None

    def run(wave: Wave, frame: Frame, index: Any) -> None:
        value, carried = compute(*[get(wave, frame, index) for get in gets])
        put(wave, frame, index, value)
        if put_carry is not None:
            put_carry(wave, frame, index, carried)

    return run


def _function(low: Lowering) -> Callable[..., tuple[Array, Array]]:
    of, name = low.operand_type("d"), low.match.entry.name
    if name.startswith("mad"):
        return numerics.mad_carry(low.match.value(".mode"), of.name)
    function = numerics.add_carry if name.startswith("add") else numerics.sub_carry
    dtype = _UNSIGNED[of.bits]
    return lambda a, b, *carry: function(a.view(dtype), b.view(dtype), *carry)
