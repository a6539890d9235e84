"""PTX versions and targets (ISA sections 11.1.1 ``.version`` and 11.1.2 ``.target``).

A target is a name such as ``sm_90``; what supports a feature is a *set* of targets, never a lower bound compared as a string.
Plain targets are forward compatible; an ``a`` variant holds for one architecture alone; an ``f`` variant for its family.
"""

from __future__ import annotations

from functools import lru_cache

from ptxgen.layouts.errors import PtxgenError

__all__ = ["FIRST_VERSION", "Version", "family", "lowest_target", "order", "runs_on", "spelled", "target_set"]

Version = tuple[int, int]

# Target -> the first PTX version that knows it.
FIRST_VERSION: dict[str, Version] = {
    "sm_75": (6, 3),
    "sm_80": (7, 0), "sm_86": (7, 1), "sm_87": (7, 4), "sm_88": (9, 0), "sm_89": (7, 8),
    "sm_90": (7, 8), "sm_90a": (8, 0),
    "sm_100": (8, 6), "sm_100a": (8, 6), "sm_100f": (8, 8),
    "sm_103": (8, 8), "sm_103a": (8, 8), "sm_103f": (8, 8),
    "sm_107": (9, 4), "sm_107a": (9, 4), "sm_107f": (9, 4),
    "sm_110": (9, 0), "sm_110a": (9, 0), "sm_110f": (9, 0),
    "sm_120": (8, 7), "sm_120a": (8, 7), "sm_120f": (8, 8),
    "sm_121": (8, 8), "sm_121a": (8, 8), "sm_121f": (8, 8),
}  # fmt: skip

# Members of a family share its `f` features from the named base upward (ISA 11.1.2, "family-specific features").
_FAMILIES: dict[str, tuple[str, ...]] = {
    "sm_100f": ("sm_100", "sm_103", "sm_107"),
    "sm_103f": ("sm_103", "sm_107"),
    "sm_107f": ("sm_107",),
    "sm_110f": ("sm_110",),
    "sm_120f": ("sm_120", "sm_121"),
    "sm_121f": ("sm_121",),
}


def order(target: str) -> tuple[int, str]:
    """A sort key: by number, then plain before ``a`` before ``f``."""
    digits = target.removeprefix("sm_").rstrip("af")
    return int(digits), target[len("sm_") + len(digits) :]


def family(target: str) -> frozenset[str]:
    """All targets with the features of the family target `target` (``sm_100f``): the ``f`` and ``a`` variants of its members."""
    return frozenset(member + suffix for member in _FAMILIES[target] for suffix in ("a", "f"))


@lru_cache(maxsize=None)
def target_set(spec: str) -> frozenset[str]:
    """The targets that a specification names.

    Parameters
    ----------
    spec : str
        Words joined by blanks: ``"sm_80+"`` (sm_80 and everything newer, variants included), ``"sm_90a"`` (exactly it), ``"sm_100f"``
        (the family's ``f`` and ``a`` targets), ``"sm_100"`` (exactly it), or ``"all"``.

    Raises
    ------
    PtxgenError
        For an unknown target.
    """
    found: set[str] = set()
    for word in spec.split():
        if word == "all":
            found.update(FIRST_VERSION)
            continue
        name = word.rstrip("+")
        if name not in FIRST_VERSION:
            raise PtxgenError(f"unknown target {name!r}; known: {', '.join(FIRST_VERSION)}")
        if word.endswith("+"):
            found.update(other for other in FIRST_VERSION if order(other)[0] >= order(name)[0])
        elif name in _FAMILIES:
            found.update(family(name))
        else:
            found.add(name)
    return frozenset(found)


@lru_cache(maxsize=256)
def lowest_target(targets: frozenset[str]) -> str:
    """The member that the most devices can load: the lowest number, plain before ``f`` before ``a``."""
    return min(targets, key=lambda target: (order(target)[0], ("", "f", "a").index(order(target)[1])))


def spelled(targets: frozenset[str]) -> str:
    """A set of targets in few words: ``"all"``, ``"sm_90 and newer"``, ``"sm_100a, sm_100f"``."""
    if targets == frozenset(FIRST_VERSION):
        return "all"
    words = []
    left = set(targets)
    for target in sorted(targets, key=order):
        newer = target_set(f"{target}+")
        if target in left and newer <= targets and len(newer) > 1:
            words.append(f"{target} and newer")
            left -= newer
        elif target in left:
            words.append(target)
            left.discard(target)
    return ", ".join(words) or "none"


def runs_on(target: str, device: str) -> bool:
    """Whether a module for `target` runs on a device whose own target is `device` (``"sm_90"``; variants of it are ignored)."""
    number, suffix = order(target)
    have = order(device)[0]
    if suffix == "a":
        return have == number
    if suffix == "f":
        return f"sm_{have}" in _FAMILIES[target]
    return have >= number
