"""Drawing a kernel: its family's name, a value for each field of the family, and a seed of the emulator.

FIELDS of a family holds for each field the values to choose from, the simplest first: a sequence, or `Several` choices from one. Every
combination is legal; where fields depend on one another, ``build`` takes what is nearest. So a drawn kernel can be typed in again, and
made simpler field by field.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from tests.random_kernels.case import Case, Several
from tests.random_kernels.families import FAMILIES

SEEDS = range(4)


class Drawn(NamedTuple):
    """A kernel by its family's name and fields, and the emulator's seed."""

    family: str
    fields: dict[str, Any]
    seed: int = 0

    def build(self) -> Case:
        return FAMILIES[self.family].build(**self.fields)

    def __str__(self) -> str:
        fields = {name: list(value) if isinstance(value, tuple) else value for name, value in self.fields.items()}
        return json.dumps({"family": self.family, "fields": fields, "seed": self.seed})

    @staticmethod
    def parse(text: str) -> Drawn:
        """The kernel behind `str(drawn)`. Raises ValueError for what no family draws."""
        found = json.loads(text)
        if found.get("family") not in FAMILIES:
            raise ValueError(f"no family {found.get('family')!r}: {', '.join(FAMILIES)}")
        fields = {}
        for name, choices in FAMILIES[found["family"]].FIELDS.items():
            if name not in found["fields"]:
                raise ValueError(f"{found['family']}: field {name} is missing")
            fields[name] = _chosen(name, choices, found["fields"][name])
        return Drawn(found["family"], fields, int(found.get("seed", 0)))


def _chosen(name: str, choices: Any, value: Any) -> Any:
    """The choice that JSON made `value` of."""
    if isinstance(choices, Several):
        return tuple(_chosen(name, choices.values, one) for one in value)
    for choice in choices:
        if json.dumps(choice) == json.dumps(value):
            return choice
    raise ValueError(f"{name} = {value!r} is none of {', '.join(json.dumps(choice) for choice in choices)}")


# ---- strategies -------------------------------------------------------------------------------------------------------


def fields(family: str) -> st.SearchStrategy[dict[str, Any]]:
    """The fields of a kernel of a family."""
    return st.fixed_dictionaries({name: _strategy(choices) for name, choices in FAMILIES[family].FIELDS.items()})


def _strategy(choices: Any) -> st.SearchStrategy[Any]:
    if isinstance(choices, Several):
        return st.tuples(*[st.sampled_from(choices.values)] * choices.number)
    return st.sampled_from(choices)


def kernels(family: str) -> st.SearchStrategy[Drawn]:
    """Kernels of a family."""
    return st.builds(Drawn, st.just(family), fields(family), st.sampled_from(SEEDS))


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
