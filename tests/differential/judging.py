"""What became of each case: equal bits, an error within the ISA's bound, or a difference with the least that reproduces it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ptxgen.instructions.types import Type
from tests.differential.approximate import approximated, measure
from tests.differential.drawing import Values
from tests.differential.explained import explanation
from tests.differential.running import Batch, Results
from tests.differential.sections import GROUP, Leaf, Section

__all__ = ["Judged", "judged"]


class Judged(NamedTuple):
    """A case: values compared, threads that differ, the simplest of them, and the largest error for each of the ISA's bounds.

    `reason` is the pattern of `explained.EXPLAINED` that explains all of them, or None; then the example is one that nothing explains.
    """

    values: int
    differ: int
    example: dict[str, Any] | None
    errors: dict[str, tuple[float, float, str]]
    reason: str | None = None


def judged(batch: Batch, mine: Results, gpus: Results) -> list[Judged]:
    return [_section(section, batch, mine, gpus) for section in batch.sections]


def _section(section: Section, batch: Batch, mine: Results, gpus: Results) -> Judged:
    case, count = section.case, batch.out.shape[1]
    wrong = np.zeros(count, bool)
    errors: dict[str, tuple[float, float, str]] = {}
    style = case.style.partition(" ")[0]
    if style != "rival":
        for leaf in section.outputs:
            if style == "plain" and leaf.declared.kind != "pred" and approximated(case.match) is not None:
                wrong |= _approximate(section, leaf, batch, mine, gpus, errors)
                continue
            columns = slice(leaf.column, leaf.column + leaf.columns)
            here, there = mine.out[columns], gpus.out[columns]
            if style == "same":  # any order of the threads is right
                here, there = _sorted(here), _sorted(there)
            wrong |= (here != there).any(0)
    if section.cell is not None:
        wrong |= (mine.cells[section.cell] != gpus.cells[section.cell]).any(1)
    values = count * max(1, len(section.outputs) + (section.cell is not None))
    if not wrong.any():
        return Judged(values, 0, None, errors)
    reason, wrong = explanation(section, batch, gpus, wrong)
    example = _example(section, batch, mine, gpus, wrong)
    return Judged(values, int(wrong.sum()), example, errors, reason.pattern if reason is not None else None)


def _sorted(columns: Values) -> Values:
    """The values that each group got, in ascending order; those of two columns as one."""
    groups = columns.reshape(len(columns), -1, GROUP)
    order = np.lexsort(groups, axis=-1)
    return np.take_along_axis(groups, order[None], -1).reshape(columns.shape)


def _approximate(
    section: Section, leaf: Leaf, batch: Batch, mine: Results, gpus: Results, errors: dict[str, tuple[float, float, str]]
) -> np.ndarray[Any, Any]:
    of = section.case.match.type()
    width = of.bits // of.lanes
    mask = np.uint64(2**width - 1)
    wrong = np.zeros(batch.out.shape[1], bool)
    for lane in range(of.lanes):
        shift = np.uint64(width * lane)
        operands = [batch.columns[one.column] >> shift & mask for one in section.inputs]
        if not operands:
            return mine.out[leaf.column] != gpus.out[leaf.column]  # of constants
        if len(operands) < len(section.case.slots) - 1:
            return wrong  # a constant among them: the plain statement measures this form
        found, own = (results.out[leaf.column] >> shift & mask for results in (gpus, mine))
        result = measure(section.case.match, operands, found, own)
        wrong |= result.wrong
        for number, kind in enumerate(result.kinds):
            held = np.where(result.which == number, result.errors, np.nan)
            if np.isnan(held).all():
                continue
            place = int(np.nanargmax(held))
            bound = float(result.bounds[place])
            name = f"{kind} {number}"
            if held[place] > errors.get(name, (-1.0, 0.0, ""))[0]:
                at = ", ".join(hex(int(operand[place])) for operand in operands)
                errors[name] = float(held[place]), bound, at
    return wrong


def _example(section: Section, batch: Batch, mine: Results, gpus: Results, wrong: np.ndarray[Any, Any]) -> dict[str, Any]:
    """The differing thread with the simplest values; the values of its whole warp where threads work together."""
    places = np.flatnonzero(wrong)
    weights = sum((_set_bits(batch.columns[one.column][places], one.declared) for one in section.inputs), np.zeros(len(places), int))
    thread = int(places[np.argmin(weights)])
    warp = section.case.match.entry.issuer == "warp"
    shown: Any = slice(thread // 32 * 32, thread // 32 * 32 + 32) if warp else slice(thread, thread + 1)
    group = thread // GROUP * GROUP
    if section.case.style.startswith(("same", "rival")):
        shown = slice(group, group + GROUP)

    def values(columns: Values, leaf: Leaf) -> Any:
        rows = columns[leaf.column : leaf.column + leaf.columns, shown]
        found = [hex(sum(int(word) << 64 * number for number, word in enumerate(words)) & _bits(leaf.declared)) for words in rows.T]
        return found[0] if len(found) == 1 else found

    found: dict[str, Any] = {
        "thread": thread,
        "inputs": {f"{leaf.operand} {leaf.register}": values(batch.columns, leaf) for leaf in section.inputs},
        "emulator": {f"{leaf.operand} {leaf.register}": values(mine.out, leaf) for leaf in section.outputs},
        "GPU": {f"{leaf.operand} {leaf.register}": values(gpus.out, leaf) for leaf in section.outputs},
    }
    if section.case.style == "part":
        found["mask"] = hex(int(batch.columns[0][thread]))
    if section.cell is not None:
        place = thread if section.case.style.startswith("own") else group
        for name, cells in (("inputs", batch.cells), ("emulator", mine.cells), ("GPU", gpus.cells)):
            found[name]["memory"] = "0x" + cells[section.cell, place].tobytes()[::-1].hex().lstrip("0").rjust(1, "0")
    return found


def _set_bits(words: Values, of: Type) -> np.ndarray[Any, Any]:
    masked = words & np.uint64(_bits(of) & 2**64 - 1)
    return np.unpackbits(masked[:, None].view(np.uint8), axis=1).sum(1).astype(int)


def _bits(of: Type) -> int:
    return 1 if of.kind == "pred" else 2**of.bits - 1
