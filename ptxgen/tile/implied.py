"""What a call need not say because its operands do: extents that no qualifier spells, and constants of types, majors and extents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ptxgen.instructions.grammar import condition
from ptxgen.instructions.registry import Match
from ptxgen.instructions.tiles import Field, evaluate_names, field_value, legal_extents
from ptxgen.tile.descriptors import DescriptorOperand
from ptxgen.tile.operands import TileOperand, ViewOperand, refuse
from ptxgen.tracing.views import View

__all__ = ["check_extents", "extents", "implication"]


def extents(match: Match, values: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """The extents that views give, by the names of the contract."""
    tile = match.entry.tile
    if tile is None or not tile.extents:
        return ()
    found = []
    for name, extent in tile.extents.items():
        view = values.get(extent.operand)
        shape = view.shape[extent.axis :] if isinstance(view, View) else ()
        if len(shape) != -extent.axis or not isinstance(shape[0], int):
            raise refuse(
                match, extent.operand, f"{view!r} is no view with static last axes", rule="its last axes are one instruction's extents",
                legal="a view of the tile that one instruction takes",
            )  # fmt: skip
        found.append((name, shape[0]))
    return tuple(found)


def check_extents(match: Match, given: tuple[tuple[str, int], ...]) -> None:
    """Refuse extents that the instruction does not have."""
    tile = match.entry.tile
    if not given or tile is None:
        return
    names = evaluate_names(tile, match, given[:1])
    for at, (name, extent) in enumerate(tile.extents.items()):
        legal = legal_extents(extent, names, match)
        if not any(given[at][1] in values for values in legal):
            raise refuse(
                match, extent.operand, f"its last axes are {tuple(one for _, one in given)}",
                rule=f"the operand ends in ({tile.atoms[extent.operand].shape})", example=f"{name} = {given[at][1]}",
                legal=f"{name}: {', or '.join(map(_spoken, legal))}",
            )  # fmt: skip
        names = evaluate_names(tile, match, given[: at + 2])


def _spoken(values: range) -> str:
    first, last, step = values[0], values[-1], values.step
    if first == last:
        return str(first)
    return f"multiples of {step} up to {last}" if first == step else f"{first} to {last} in steps of {step}"


def implication(match: Match, name: str, made: Mapping[str, TileOperand], values: Mapping[str, Any]) -> int:
    """The value of a constant operand that follows from the others.

    Parameters
    ----------
    made : mapping
        The operands so far.
    values : mapping
        What the user gave for each.
    """
    assert match.entry.tile is not None
    said = match.entry.tile.implied[name]
    if isinstance(said, str):
        return _major(said, made) if said.startswith("major(") else int(said)
    fields = (field for field in said if condition(field.when).holds(match.bindings))
    return sum(_field(match, name, field, made, values) << field.low for field in fields)


def _major(said: str, made: Mapping[str, TileOperand]) -> int:
    """1 where an operand turned out MN-major, 0 where K-major or where it has no descriptor."""
    described = made.get(said[len("major(") : -1])
    return int(isinstance(described, DescriptorOperand) and described.found.canonical.major == "mn")


def _field(match: Match, name: str, field: Field, made: Mapping[str, TileOperand], values: Mapping[str, Any]) -> int:
    if field.source.startswith("major("):
        return _major(field.source, made)
    if not field.source.startswith("type("):
        assert match.entry.tile is not None
        return field_value(field.source, evaluate_names(match.entry.tile, match, extents(match, values)), match)
    operand = next(made[one] for one in field.source[len("type(") : -1].split() if one in made)
    assert isinstance(operand, ViewOperand)
    dtype = operand.view.dtype.name
    if dtype not in field.codes:
        raise refuse(
            match, operand.name, f"{operand.view!r} has elements that the instruction does not take",
            rule=f"{name} tells the type of {operand.name}", legal=f"elements of {', '.join(f'px.{one}' for one in field.codes)}",
        )  # fmt: skip
    return field.codes[dtype]
