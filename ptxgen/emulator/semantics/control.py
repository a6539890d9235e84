"""Branches, returns and exits (ISA "Control Flow Instructions"); `ptxgen.emulator.calls` compiles calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptxgen.emulator.calls import lower_call, lower_return
from ptxgen.emulator.lowering import Control, Lowering
from ptxgen.emulator.semantics.table import control
from ptxgen.instructions.types import type_named
from ptxgen.ir import Sym

if TYPE_CHECKING:
    from ptxgen.emulator.machine import Group, Wave

control("control", "call")(lower_call)
control("control", "ret")(lower_return)


@control("control", "bra")
def lower_branch(low: Lowering) -> Control:
    target = low.label(low.named["target"])
    return lambda wave, group: [group.at(target)]


@control("control", "brx.idx")
def lower_indexed_branch(low: Lowering) -> Control:
    name = low.named["targets"].name
    targets = low.scope.target_list(name)
    if targets is None:
        raise low.refuse(f"{name} is no .branchtargets list of this function", section=low.match.entry.section)
    places = [low.label(Sym(label)) for label in targets.names]
    get = low.source(low.named["index"], type_named("u32"))

    def jump(wave: Wave, group: Group) -> list[Group]:
        numbers = np.broadcast_to(get(wave, wave.frame(group), group.index), wave.count(group.index))
        index = wave.indices(group.index)
        following = []
        for number in np.unique(numbers):
            chosen = index[numbers == number]
            if number >= len(places):
                message = f"index {int(number)} is past the {len(places)} targets of {name}"
                wave.reports.add("branch", message, low.statement, wave.threads, chosen)
                wave.retire(chosen)
                continue
            part = group if len(chosen) == len(index) else group.part(chosen)
            following.append(part.at(places[int(number)]))
        return following

    return jump


@control("control", "exit")
def lower_exit(low: Lowering) -> Control:
    def leave(wave: Wave, group: Group) -> list[Group]:
        wave.retire(group.index)
        return []

    return leave
