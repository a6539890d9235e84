"""Many different kernels from one seed, and simpler ones that fail as well; `ptxgen.testing.families` says what a drawn kernel is."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded

from ptxgen.testing.families.case import Several
from ptxgen.testing.families.drawing import Drawn, kernels
from tests.random_kernels.families import FAMILIES

__all__ = ["Drawn", "draw", "kernels", "reduced", "simpler"]


def draw(family: str, count: int, seed: int) -> Iterator[Drawn]:
    """`count` different kernels of a family, the same for the same seed.

    Hypothesis makes later examples of a run by changing earlier ones a little, so they are taken from many short runs.
    """
    seen: set[str] = set()
    numbers = random.Random(f"{seed} {family}")
    while len(seen) < count:
        for drawn in _short_run(family, numbers.getrandbits(64)):
            if str(drawn) not in seen and len(seen) < count:
                seen.add(str(drawn))
                yield drawn


def _short_run(family: str, seed: int) -> list[Drawn]:
    found: list[Drawn] = []

    @seeded(seed)
    @settings(max_examples=10, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(kernels(family))
    def collect(drawn: Drawn) -> None:
        found.append(drawn)

    collect()
    return found


# ---- simpler ones -----------------------------------------------------------------------------------------------------


def simpler(drawn: Drawn) -> Iterator[Drawn]:
    """The kernels that differ in one choice, and that from an earlier one of its field."""
    if drawn.seed:
        yield drawn._replace(seed=0)
    for name, choices in FAMILIES[drawn.family].FIELDS.items():
        value = drawn.fields[name]
        if isinstance(choices, Several):
            for place, one in enumerate(value):
                for choice in choices.values[: choices.values.index(one)]:
                    yield drawn._replace(fields={**drawn.fields, name: (*value[:place], choice, *value[place + 1 :])})
        else:
            for choice in choices[: choices.index(value)]:
                yield drawn._replace(fields={**drawn.fields, name: choice})


def reduced(drawn: Drawn, failing: Callable[[list[Drawn]], list[Drawn]], rounds: int = 20) -> Drawn:
    """The simplest kernel found that still fails.

    Parameters
    ----------
    failing : function
        Those of some kernels that fail, in the same order.
    """
    for _ in range(rounds):
        found = failing(list(simpler(drawn)))
        if not found:
            break
        drawn = found[0]
    return drawn
