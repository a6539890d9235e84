"""The place of memory of lanes and columns: one address, from which the instruction finds every element of its atom.

Unlike an access of consecutive words, the atom is spread over lanes, and all threads that issue the instruction together give one address.
Warps reach a part of the lanes each, so where that address may lie is the contract's to say.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

import numpy as np

from ptxgen import ir
from ptxgen.instructions.checking import Given
from ptxgen.instructions.language import Operand
from ptxgen.instructions.registry import Match
from ptxgen.instructions.tiles import LANE, Atom, atom_inside, atom_starts, chosen, evaluate_names
from ptxgen.layouts.expr import Expr, Monomial
from ptxgen.tile.addresses import Addresses
from ptxgen.tile.group import Group
from ptxgen.tile.image import Image
from ptxgen.tile.operands import ViewOperand, refuse
from ptxgen.tracing.views import Memory, View

__all__ = ["LanesOperand"]


class LanesOperand(ViewOperand):
    """An operand in memory of lanes and columns: its elements lie around one start as the contract's layout says."""

    __slots__ = ("addresses", "inside")

    inside: np.ndarray
    """For each repeat, how many bytes behind the column that its address names it begins."""

    def __init__(
        self, match: Match, name: str, contract: Operand, view: View, group: Group, atom: Atom, given: tuple[tuple[str, int], ...]
    ) -> None:
        image = Image.of(atom, match, given)
        if not isinstance(view.storage, Memory) or view.space != contract.space:
            raise refuse(
                match, name, f"{view!r} is not in .{contract.space}", rule=f"operand {name} is an address of lanes and columns",
                legal=f"a view of memory in .{contract.space}",
            )  # fmt: skip
        if view.dtype.bits != image.element_bits:
            raise refuse(
                match, name, f"{view!r} has elements of {view.dtype.bits} bits where the instruction's have {image.element_bits}",
                rule=f"the shape of this operand ends in {image!r}, counted in elements of {image.element_bits} bits",
                legal=f".view(px.b{image.element_bits})",
            )  # fmt: skip
        super().__init__(match, name, contract, view, group, image)
        self.addresses = self._starts(atom, given)

    def _starts(self, atom: Atom, given: tuple[tuple[str, int], ...]) -> Addresses:
        view, group = self.view, self.group
        assert self.repeat_shape is not None and isinstance(view.storage, Memory)
        table = view.layout.table()
        shape = group.size, prod(self.repeat_shape), self.atom.size
        starts = table.linear.reshape(shape) - self.atom.positions
        symbols = {mono: values.reshape(shape) for mono, values in table.symbols.items()}
        assert self.match.entry.tile is not None
        names, unit = evaluate_names(self.match.entry.tile, self.match, given), view.storage.unit
        self._check_image(starts, symbols.values(), atom_inside(atom, names, self.match) or unit)
        first = starts[:, :, 0]
        self.inside = first[0] % unit // 8
        first = first // unit * unit
        own = {mono: values[:, :, 0] for mono, values in symbols.items()}
        self._check_columns(first, own)
        self._check_lanes(first // unit, {mono: values // unit for mono, values in own.items()}, atom, names)
        spread = np.repeat(np.arange(group.size), group.unit)
        moved = {mono: values[spread] for mono, values in own.items()}
        return Addresses(view.builder, group, view, first[spread], first[spread], moved, True, swizzled=False)

    def _check_image(self, starts: np.ndarray, symbols: Iterable[np.ndarray], step: int) -> None:
        """Every element minus where the atom puts it is one start, a multiple of `step` bits."""
        assert isinstance(self.view.storage, Memory)
        unit = self.view.storage.unit
        rule = f"the instruction finds its elements from one address: {self._layout()}"
        wrong = (starts != starts[:, :, :1]) | (starts[:, :, :1] % step != 0)
        if wrong.any():
            g, r, a = map(int, np.argwhere(wrong)[0])
            at = tuple(int(i) for i in np.unravel_index(a, self.atom.shape))
            there, wanted = (int(self.atom.positions[a] + starts[g, r, one]) for one in (a, 0))
            raise refuse(
                self.match, self.name, f"{self.view!r} does not lie as the instruction holds it", rule=rule,
                example=f"{self.coordinates(g, r)}: element {at} lies at {_place(there, unit)}; {_place(wanted, unit)} is required",
                legal="a view whose last axes are lanes and columns in this order",
            )  # fmt: skip
        if any((values != values[:, :, :1]).any() for values in symbols):
            raise refuse(
                self.match, self.name, f"{self.view!r} has elements at runtime distances in its atom", rule=rule,
                legal="a static layout, indexed at run time outside of the atom alone",
            )  # fmt: skip

    def _layout(self) -> str:
        tile = self.match.entry.tile
        return "" if tile is None else chosen(tile.atoms[self.name].layout, self.match)

    def _check_lanes(self, first: np.ndarray, symbols: dict[Monomial, np.ndarray], atom: Atom, names: dict[str, int]) -> None:
        """A start lies in a lane that the issuing warp reaches."""
        rule = "the address lies in a lane from which the instruction reaches all others"
        for mono, values in symbols.items():
            if (np.abs(values) * Expr({mono: 1}).divisor() >= LANE).any():
                raise refuse(
                    self.match, self.name, f"{self.view!r} begins in a lane that is known only at run time", rule=rule,
                    legal="a group axis for the warps, at scope='warpgroup' or larger; runtime indices of columns alone",
                )  # fmt: skip
        lanes = first // LANE
        warps = np.tile(self.group.local // 32 % 4, self.group.size // len(self.group.local))
        for warp in sorted(set(warps.tolist())):
            legal = atom_starts(atom, names, self.match, warp)
            wrong = (warps == warp)[:, None] & ~np.isin(lanes, legal)
            if wrong.any():
                g, r = map(int, np.argwhere(wrong)[0])
                raise refuse(
                    self.match, self.name, f"{self.view!r} begins in a lane that this warp's instruction cannot name", rule=rule,
                    example=f"{self.coordinates(g, r)}: lane {int(lanes[g, r])}", legal=f"lane {' or '.join(map(str, legal))}",
                )  # fmt: skip

    def _check_columns(self, first: np.ndarray, symbols: dict[Monomial, np.ndarray]) -> None:
        """A start lies at a column that the instruction can name."""
        assert isinstance(self.view.storage, Memory)
        unit = self.view.storage.unit
        step = max(1, self.contract.align * 8 // unit)
        moved = [(Expr({mono: 1}).divisor() * values, mono) for mono, values in symbols.items()]
        bad = next((mono for values, mono in moved if (values % (step * unit)).any()), None)
        wrong = first // unit % step != 0
        if bad is None and not wrong.any():
            return
        g, r = map(int, np.argwhere(wrong)[0]) if wrong.any() else (0, 0)
        example = f"{self.coordinates(g, r)}: column {int(first[g, r]) // unit % LANE}"
        raise refuse(
            self.match, self.name, f"{self.view!r} does not begin at a multiple of {step} columns",
            rule=f"the address is a multiple of {step} columns",
            example=f"{'*'.join(one.name for one in bad)} moves it by other steps" if bad is not None else example,
            legal=f"a start at a multiple of {step} columns",
        )  # fmt: skip

    def given(self) -> Given:
        return Given("address", self.view.described, space=self.view.space)

    def render(self, repeats: int) -> list[ir.Operand]:
        return list(self.addresses.render())


def _place(bits: int, unit: int) -> str:
    """Lane and column of a position."""
    lane, column = divmod(bits // unit, LANE)
    return f"lane {lane}, column {column}" + (f", bit {bits % unit}" if bits % unit else "")
