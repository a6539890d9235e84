"""What a call need not say because its operands do: extents that no qualifier spells, and constants of types, majors and extents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ptxgen import ir
from ptxgen.instructions.grammar import condition
from ptxgen.instructions.registry import Match
from ptxgen.instructions.tiles import Field, evaluate_names, field_value, legal_extents
from ptxgen.tile.descriptors import DescriptorOperand
from ptxgen.tile.lanes import LanesOperand
from ptxgen.tile.operands import ScalarOperand, TileOperand, ViewOperand, refuse
from ptxgen.tracing.views import View

__all__ = ["check_extents", "extents", "implication", "stepped"]


def extents(match: Match, values: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """The extents that views give, and the numbers that constants do, by the names of the contract."""
    tile = match.entry.tile
    if tile is None or not (tile.extents or tile.constants):
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
    for name, operand in tile.constants.items():
        value = values.get(operand, 0)
        if not isinstance(value, int):
            rule = f"{operand} says how other operands lie"
            raise refuse(match, operand, f"{value!r} is no constant", rule=rule, legal="a Python number")
        found.append((name, value))
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


class SteppedOperand(ScalarOperand):
    """A constant some of whose bits tell where an operand begins inside its column, at every step.

    Attributes
    ----------
    told : list of (int, LanesOperand)
        The lowest of these bits, and the operand.
    """

    __slots__ = ("told",)

    def __init__(self, constant: ScalarOperand, told: list[tuple[int, LanesOperand]]) -> None:
        super().__init__(constant.match, constant.name, constant.contract, constant.operand, constant.described)
        self.told = told

    def at_steps(self, own: list[ir.Operand], places: Mapping[str, np.ndarray]) -> list[ir.Operand]:
        assert isinstance(self.operand, ir.Int)
        words = self.operand.value + sum(one.inside[places[one.name]] << low for low, one in self.told)
        return [ir.Int(word) for word in np.asarray(words).tolist()]


def stepped(constant: TileOperand, made: Mapping[str, TileOperand]) -> TileOperand:
    """A constant that followed from the operands, which may tell of places that differ from step to step."""
    tile = constant.match.entry.tile
    said = tile.implied[constant.name] if tile is not None else ""
    fields = () if isinstance(said, str) else said
    told = [(field.low, made[field.source[len(_INSIDE) : -1]]) for field in fields if field.source.startswith(_INSIDE)]
    lanes = [(low, one) for low, one in told if isinstance(one, LanesOperand)]
    return SteppedOperand(constant, lanes) if lanes and isinstance(constant, ScalarOperand) else constant


_INSIDE = "inside("


def _major(said: str, made: Mapping[str, TileOperand]) -> int:
    """1 where an operand turned out MN-major, 0 where K-major or where it has no descriptor."""
    described = made.get(said[len("major(") : -1])
    return int(isinstance(described, DescriptorOperand) and described.found.canonical.major == "mn")


def _field(match: Match, name: str, field: Field, made: Mapping[str, TileOperand], values: Mapping[str, Any]) -> int:
    if field.source.startswith("major("):
        return _major(field.source, made)
    if field.source.startswith(_INSIDE):
        return 0  # differs from step to step: `stepped`
    if not field.source.startswith(("type(", "types(")):
        assert match.entry.tile is not None
        return field_value(field.source, evaluate_names(match.entry.tile, match, extents(match, values)), match)
    codes = {}
    for one in field.source[field.source.index("(") + 1 : -1].split():
        operand = made.get(one)
        if not isinstance(operand, ViewOperand):
            continue
        dtype = operand.view.dtype.name
        if dtype not in field.codes:
            raise refuse(
                match, operand.name, f"{operand.view!r} has elements that the instruction does not take",
                rule=f"{name} tells the type of {operand.name}", legal=f"elements of {', '.join(f'px.{code}' for code in field.codes)}",
            )  # fmt: skip
        codes[dtype] = field.codes[dtype]
    if len(codes) > 1:
        raise refuse(
            match, name, f"{' and '.join(codes)} are given", rule="these operands have elements of one type",
            legal=f"{' or '.join(f'px.{code}' for code in field.codes)} in all of them",
        )  # fmt: skip
    return next(iter(codes.values()))
