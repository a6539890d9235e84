"""Where the elements of an operand are that several threads hold together, or that hardware finds by itself: in words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ptxgen.instructions.descriptors import CANONICAL, Descriptor
from ptxgen.instructions.grammar import condition
from ptxgen.instructions.hardware import HardwareOperand, hardware_operands
from ptxgen.instructions.registry import Match
from ptxgen.instructions.tiles import Field
from ptxgen.layouts.swizzle import Swizzle

__all__ = ["fragments"]

_EXAMPLE = 5  # the thread that is shown: no corner case
_SHOWN = 4  # of its registers

_FIELDS = {
    "start": "the matrix's shared address / 16",
    "lead": "the leading-dimension byte offset / 16",
    "stride": "the stride byte offset / 16",
    "base": "the base offset",
    "mode": "the swizzle",
}


def fragments(match: Match) -> Iterator[tuple[str, str]]:
    """(operand, where its elements are), for each operand whose contract says so.

    What the opcode leaves open, such as the extents of tcgen05.mma, is chosen for the layout that is shown, and said.
    """
    for name, operand in hardware_operands(match.opcode).items():
        if name not in match.entry.operands:
            continue
        if operand.descriptor is not None:
            yield name, f"{_descriptor(operand.descriptor)}; {_canonical(operand.majors)}"
        elif all(operand.choices.values()):
            yield name, _held(operand, match)
    tile = match.entry.tile
    if tile is not None and condition(tile.when).holds(match.bindings):
        for name, implied in tile.implied.items():
            if isinstance(implied, tuple):
                yield name, "; ".join(_field(one) for one in implied if condition(one.when).holds(match.bindings))


def _held(operand: HardwareOperand, match: Match) -> str:
    """The layout, and what one thread has."""
    chosen = {name: max(values) if name in ("rows", "n") else values[0] for name, values in operand.choices.items() if name != "pair"}
    layout = operand.layout(**chosen)
    spelled = repr(layout).removeprefix("Layout(").removesuffix(")")
    if chosen:
        spelled = f"with {', '.join(f'{name} = {value}' for name, value in chosen.items())}: {spelled}"
    if operand.place == "tensor memory":
        return spelled
    table = layout.table()
    thread = np.broadcast_to(table.thread, layout.shape) if table.thread is not None else np.zeros(layout.shape, int)
    number = _EXAMPLE if (thread == _EXAMPLE).any() else int(thread.max())
    positions = np.broadcast_to(table.m, layout.shape)
    places = np.argwhere(thread == number)
    order = np.argsort(positions[tuple(places.T)], kind="stable")
    if operand.place == "addresses":
        first = tuple(map(int, places[order[0]]))
        return f"{spelled}: lane {number} gives the address of {first} and what follows it"
    register = match.type(match.entry.operands[operand.operand].type).bits
    each = max(1, register // (1 if operand.unit == "bit" else match.type(operand.unit).bits))
    groups: dict[int, list[str]] = {}
    for at in order:
        place = tuple(map(int, places[at]))
        groups.setdefault(int(positions[place]) // each, []).append(str(place))
    shown = "; ".join(f"register {one}: {' '.join(found)}" for one, found in list(groups.items())[:_SHOWN])
    return f"{spelled}: thread {number} has {shown}{'; ...' if len(groups) > _SHOWN else ''}"


def _descriptor(of: Descriptor) -> str:
    """The bit fields of a matrix descriptor."""
    fields = [f"bits {_bits(low, width)} {_FIELDS[name]}" for name, (low, width) in of.fields.items() if name != "mode"]
    low, width = of.fields["mode"]
    modes = ", ".join(f"{code} for {_swizzle(one)}" for one, code in sorted(of.modes.items(), key=lambda mode: _span(mode[0])))
    always = f"; always {of.constant:#x}" if of.constant else ""
    return f"{'; '.join(fields)}; bits {_bits(low, width)} the swizzle: {modes}{always}"


def _swizzle(of: Swizzle | None) -> str:
    atoms = f" in atoms of {of.granule}" if of is not None and of.granule != 16 else ""
    return f"{_span(of)} bytes{atoms}" if of is not None else "none"


def _span(of: Swizzle | None) -> int:
    return 1 << (of.base + of.bits) if of is not None else 0


def _canonical(majors: list[str]) -> str:
    """Where a descriptor's offsets lead: the layouts that it can tell of, one swizzle standing for all."""
    layouts = "; ".join(str(one) for one in CANONICAL if one.word in majors and one.swizzle in (0, 128))
    units = "row and k in elements, t of them in 16 bytes, lead and stride counted in them"
    return f"{units}: {layouts}; smaller swizzles have fewer units than 8"


def _bits(low: int, width: int) -> str:
    return f"{low}-{low + width - 1}" if width > 1 else str(low)


def _field(one: Field) -> str:
    """Some bits of a constant."""
    kind, _, of = one.source.partition("(")
    of = of.rstrip(")")
    if kind in ("type", "types"):
        codes = ", ".join(f"{code} for {name}" for name, code in one.codes.items())
        return f"from bit {one.low} the type of {' or '.join(of.split())}: {codes}"
    if kind == "major":
        return f"bit {one.low}: 1 where {of} is MN-major"
    if kind == "inside":
        return f"from bit {one.low} the bytes from the column that {of} names to where it begins"
    return f"from bit {one.low} {one.source}"
