"""Where a variant must be refused: at the PTX version before its first, and at the targets outside its set."""

from __future__ import annotations

from ptxgen.assemble.versions import RELEASES
from ptxgen.instructions.registry import Match
from ptxgen.instructions.targets import FIRST_VERSION, Version, lowest_target, order

__all__ = ["NEWEST", "VERSIONS", "targets_outside", "version_before"]

VERSIONS: tuple[Version, ...] = tuple(sorted({(6, 3), (6, 4), (6, 5), *(release.ptx for release in RELEASES)}))
"""PTX versions from the first that knows our oldest target."""

NEWEST = VERSIONS[-1]


def version_before(match: Match) -> tuple[Version, str] | None:
    """The newest version that is too old for a variant and knows one of its targets; that target, the lowest."""
    older = [version for version in VERSIONS if version < match.version]
    if not older:
        return None
    known = [target for target in match.targets if FIRST_VERSION[target] <= older[-1]]
    return (older[-1], lowest_target(frozenset(known))) if known else None


def targets_outside(match: Match) -> list[str]:
    """Known targets that do not have a variant."""
    return sorted(set(FIRST_VERSION) - match.targets, key=order)
