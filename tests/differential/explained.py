"""Differences that are none: the ISA leaves the result open, or the assembler does not do what the ISA says. Each with reason and section.

An entry names statements and says what the GPU gives instead of the emulator's bits. A thread whose bits are neither is a difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.differential.catalogue import Case
from tests.differential.running import Batch, Results
from tests.differential.sections import Section
from tests.differential.video import assembled

__all__ = ["CRASHES", "EXPLAINED", "Crash", "Explained", "explanation", "of_crash"]

Holds = Callable[[Section, Batch, Results], NDArray[np.bool_]]
"""In which threads the GPU's bits are those that the reason foretells."""


class Explained(NamedTuple):
    """Statements whose text, followed by the style of their threads, a pattern matches, and the bits that the GPU gives."""

    pattern: str
    reason: str
    section: str
    holds: Holds


class Crash(NamedTuple):
    """Statements on which the assembler's process ends."""

    pattern: str
    reason: str
    section: str


def _as_assembled(section: Section, batch: Batch, gpus: Results) -> NDArray[np.bool_]:
    mask = np.uint64(0xFFFFFFFF)
    return np.asarray(gpus.out[section.outputs[0].column] & mask == assembled(section, batch))


def _as_newly_assembled(section: Section, batch: Batch, gpus: Results) -> NDArray[np.bool_]:
    mask = np.uint64(0xFFFFFFFF)
    return np.asarray(gpus.out[section.outputs[0].column] & mask == assembled(section, batch, newer=True))


def _as_given(section: Section, batch: Batch, gpus: Results) -> NDArray[np.bool_]:
    """NaN, and the bits of the only register that goes in."""
    (given,), (found,) = section.inputs, section.outputs
    bits = given.type.bits
    mask, infinity = np.uint64(2**bits - 1), np.uint64({32: 0x7F800000, 64: 0x7FF << 52}[bits])
    number = batch.columns[given.column] & mask
    return np.asarray((gpus.out[found.column] & mask == number) & (number & mask >> np.uint64(1) > infinity))


_OF_THE_ASSEMBLER = "the code of the assembler (ptxas 13.0 and 13.5, tests/differential/video.py) is not what the ISA says: "
EXPLAINED: tuple[Explained, ...] = (
    Explained(
        r"^v(add|sub|absdiff|min|max|shl|shr|set)\.\S* %\w+\.h1,",
        "the code of the driver's assembler (ptxas 13.0; not of 13.5) puts the upper half of the result into .h1 of d, and the ISA the"
        " lower half",
        "9.7.20.1",
        _as_assembled,
    ),
    Explained(
        r"^v(add|sub|absdiff|min|max|shl|shr)\.\S*\.sat\S* %\w+\.(b[0-3]|h[01]),",
        _OF_THE_ASSEMBLER + "with .sat, results that go into a part of d are compared as unsigned numbers, so that a negative one becomes"
        " the largest; those of shifts are clamped to 32 bits instead of to the part",
        "9.7.20.1",
        _as_newly_assembled,
    ),
    Explained(
        r"^v(add|sub|absdiff)\.u32\.\S*\.sat(\.add)? %\w+,",
        _OF_THE_ASSEMBLER + "with .sat, a result above 2^32 - 1 is cut to 32 bits instead of clamped",
        "9.7.20.1.1",
        _as_assembled,
    ),
    Explained(
        r"^v(add|sub|absdiff|min|max|shl|shr|set)\.\S*\.(min|max) %\w+,",
        _OF_THE_ASSEMBLER + ".min and .max see a sum without .sat cut to 32 bits, compare numbers of 64 bits as unsigned where d is"
        " (for vset, by the type of a), and have a result of .sat.u32 extended by its highest bit",
        "9.7.20.1",
        _as_assembled,
    ),
    Explained(
        r"^vmad\.",
        _OF_THE_ASSEMBLER + "a, b and c, when each is extended to 32 bits, are multiplied and added as signed words whatever their types",
        "9.7.20.1.3",
        _as_assembled,
    ),
    Explained(
        r"^mul\.f(32|64) .*\b(0f3F800000|0d3FF0000000000000)\b",
        "the assembler drops a multiplication by 1 without a rounding, so that NaN keeps its bits",
        "9.7.3.5",
        _as_given,
    ),
)

CRASHES: tuple[Crash, ...] = (
    Crash(r"^atom\.\S*add\.noftz\S*\.bf16(x2)? _,", "ptxas 13.0 crashes where nobody wants the sum; ptxas 13.5 does not", "9.7.15.5"),
)
CRASHED = "the process ended with code -11"


def explanation(section: Section, batch: Batch, gpus: Results, wrong: NDArray[np.bool_]) -> tuple[Explained | None, NDArray[np.bool_]]:
    """Why differences of a case are none, if one reason holds in all threads; otherwise those that none explains."""
    whole = _whole(section.case)
    left: NDArray[np.bool_] = wrong
    for one in EXPLAINED:
        if re.search(one.pattern, whole):
            holds = one.holds(section, batch, gpus)
            if holds[wrong].all():
                return one, wrong
            left = left & ~holds
    return None, left


def of_crash(case: Case, failed: str) -> Crash | None:
    """The known crash that a case ended with."""
    whole: Any = _whole(case)
    return next((one for one in CRASHES if failed.startswith(CRASHED) and re.search(one.pattern, whole)), None)


def _whole(case: Case) -> str:
    return f"{case.text} {case.style}"
