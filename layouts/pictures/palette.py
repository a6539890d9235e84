"""Colours that people with any colour vision tell apart, light enough for black letters on them.

Seven hues are of Paul Tol's scheme "light" (https://sronpersonalpages.nl/~pault/), made for labelled cells; its olive, close to its
green, gave way to a violet.
"""

from __future__ import annotations

__all__ = ["HUES", "INK", "SHADES", "mixed", "ramp", "shade"]

HUES = ("#77AADD", "#EE8866", "#BBCC33", "#FFAABB", "#44BB99", "#EEDD88", "#99DDFF", "#9888F0")
"""In an order in which neighbours differ much."""

SHADES = 4
"""How many shades a hue has, the full colour first."""

INK = "#14181F"
"""Letters on cells, in light and in dark surroundings."""

_RAMP = ("#FFF7D6", "#BFE3C8", "#77AADD")
_PALER = 0.23  # of the way to white from one shade to the next


def mixed(one: str, other: str, part: float) -> str:
    """The colour `part` of the way from one to the other."""
    mix = (round(a + (b - a) * part) for a, b in zip(_channels(one), _channels(other)))
    return "#" + "".join(f"{channel:02X}" for channel in mix)


def _channels(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5))


def shade(hue: int, step: int) -> str:
    """The hue of a number, modulo `len(HUES)`, in one of its shades, modulo `SHADES`."""
    return mixed(HUES[hue % len(HUES)], "#FFFFFF", _PALER * (step % SHADES))


def ramp(part: float) -> str:
    """A colour for what is ordered: from light at 0 to full at 1."""
    scaled = min(max(part, 0.0), 1.0) * (len(_RAMP) - 1)
    at = min(int(scaled), len(_RAMP) - 2)
    return mixed(_RAMP[at], _RAMP[at + 1], scaled - at)
