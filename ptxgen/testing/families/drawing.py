"""Drawing a kernel: its family's name, a value for each field of the family, and a seed of the emulator.

FIELDS of a family holds for each field the values to choose from, the simplest first: a sequence, or `Several` choices from one. Every
combination is legal; where fields depend on one another, ``build`` takes what is nearest. So a drawn kernel can be typed in again, and
made simpler field by field.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from hypothesis import strategies as st

from ptxgen.layouts.arguments import WORDS, takes
from ptxgen.layouts.errors import PtxgenError
from ptxgen.testing.families import copies, elements
from ptxgen.testing.families.case import Case, Several

__all__ = ["FAMILIES", "Drawn", "fields", "kernels"]

FAMILIES: dict[str, Any] = {"ld and st": copies, "elements": elements}
"""Modules with FIELDS and build, by name. Others may be entered."""

SEEDS = range(4)


class Drawn(NamedTuple):
    """A kernel by its family's name and fields, and the emulator's seed. As a text it is JSON, which `parse` reads."""

    family: str
    fields: dict[str, Any]
    seed: int = 0

    def build(self) -> Case:
        """The kernel, its arguments, and what they hold afterwards."""
        found: Case = FAMILIES[self.family].build(**self.fields)
        return found

    def wrong(self) -> str | None:
        """Run it in the emulator with all its checks: what is reported, or differs from NumPy; None where all is well."""
        return self.build().emulated(self.seed)[1]

    def __str__(self) -> str:
        fields = {name: list(value) if isinstance(value, tuple) else value for name, value in self.fields.items()}
        return json.dumps({"family": self.family, "fields": fields, "seed": self.seed})

    @staticmethod
    def parse(text: str) -> Drawn:
        """The kernel behind `str(drawn)`. Raises ValueError for what no family draws."""
        found = json.loads(text)
        if found.get("family") not in FAMILIES:
            raise ValueError(f"no family {found.get('family')!r}: {', '.join(FAMILIES)}")
        chosen = {}
        for name, choices in FAMILIES[found["family"]].FIELDS.items():
            if name not in found["fields"]:
                raise ValueError(f"{found['family']}: field {name} is missing")
            chosen[name] = _chosen(name, choices, found["fields"][name])
        return Drawn(found["family"], chosen, int(found.get("seed", 0)))


def _chosen(name: str, choices: Any, value: Any) -> Any:
    """The choice that JSON made `value` of."""
    if isinstance(choices, Several):
        return tuple(_chosen(name, choices.values, one) for one in value)
    for choice in choices:
        if json.dumps(choice) == json.dumps(value):
            return choice
    raise ValueError(f"{name} = {value!r} is none of {', '.join(json.dumps(choice) for choice in choices)}")


def fields(family: str) -> st.SearchStrategy[dict[str, Any]]:
    """The fields of a kernel of a family."""
    return st.fixed_dictionaries({name: _strategy(choices) for name, choices in FAMILIES[family].FIELDS.items()})


def _strategy(choices: Any) -> st.SearchStrategy[Any]:
    if isinstance(choices, Several):
        return st.tuples(*[st.sampled_from(choices.values)] * choices.number)
    return st.sampled_from(choices)


@takes(families=WORDS)
def kernels(families: str | Iterable[str] = ("ld and st", "elements")) -> st.SearchStrategy[Drawn]:
    """Small kernels with arguments, and NumPy's word on what they compute.

    ``"ld and st"`` moves a tensor through swizzled or padded shared memory to other threads, in every width; ``"elements"`` computes on
    register tiles, by `px.tile.ewise` and `px.tile.apply`, on every scalar type. Threads, scopes and guards are drawn too. Each shrinks
    field by field to one thread and plain layouts.

    Parameters
    ----------
    families : str or iterable of str
        Names in `FAMILIES`.

    Returns
    -------
    strategy of Drawn
        ``drawn.build()`` gives the kernel, ``drawn.wrong()`` runs it in the emulator.
    """
    names = [families] if isinstance(families, str) else list(families)
    for name in names:
        if name not in FAMILIES:
            raise PtxgenError(f"no family of kernels is called {name!r}; there are {', '.join(FAMILIES)}")
    return st.one_of([st.builds(Drawn, st.just(name), fields(name), st.sampled_from(SEEDS)) for name in names])
