"""Asks the contracts and ptxas about cases, in modules of cases of equal version, target and place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ptxgen.certify.cases import Case
from ptxgen.certify.differences import Difference, explanation
from ptxgen.certify.judge import refusals
from ptxgen.certify.verdict import complaints

__all__ = ["batches", "compare"]

_AT_ONCE = 2000
_GENERATED_AT_ONCE = 8


def batches(cases: Iterable[Case]) -> Iterator[list[Case]]:
    """Cases that can stand in one module, at most so many at once."""
    found: dict[tuple[object, ...], list[Case]] = {}
    for case in cases:
        members = found.setdefault((case.version, case.target, case.place), [])
        members.append(case)
        if len(members) == _AT_ONCE:
            yield found.pop((case.version, case.target, case.place))
    yield from found.values()


def compare(batch: Sequence[Case]) -> list[Difference]:
    """Where the two disagree about a batch.

    ptxas first only reads; what it accepts there and the contracts refuse for no known reason, it is asked to generate code for, since it
    looks at some operands only then.
    """
    version, target, place = batch[0].version, batch[0].target, batch[0].place
    texts = [case.text for case in batch]
    theirs = refusals(texts, version, target, place)
    ours = complaints(texts, version, target, place)
    doubted = [index for index in ours if index not in theirs and explanation(Difference(batch[index], ours[index], None)) is None]
    for at in range(0, len(doubted), _GENERATED_AT_ONCE):
        some = doubted[at : at + _GENERATED_AT_ONCE]
        generated = refusals([texts[index] for index in some], version, target, place, generate=True)
        theirs.update((some[position], message) for position, message in generated.items())
    return [
        Difference(case, ours.get(index), theirs.get(index)) for index, case in enumerate(batch) if (index in ours) != (index in theirs)
    ]
