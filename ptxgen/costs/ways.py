"""Ways through a function's blocks in the order of the text: loops gone round once, and where ways meet again."""

from __future__ import annotations

from ptxgen.lint.flow import Flow, Literal

__all__ = ["Ways"]


class Ways:
    """What one pass from top to bottom makes of a flow.

    Attributes
    ----------
    forward : list of list of (int, Literal or None)
        For each block the ways to later blocks, with what leads there.
    leaving : dict of int to set of int
        For each block that goes back to an earlier one: the blocks behind that loop to which any of its blocks leads.
    changed : dict of int to set of str
        For the same blocks the registers that the loop writes.
    meet : list of (int or None)
        For each block the next one that every way from it comes to; None where some way ends before.
    """

    def __init__(self, flow: Flow) -> None:
        blocks = flow.blocks
        self.forward: list[list[tuple[int, Literal | None]]] = [
            [(after, literal) for after, literal in block.exits if after > number] for number, block in enumerate(blocks)
        ]
        self.leaving: dict[int, set[int]] = {}
        self.changed: dict[int, set[str]] = {}
        for number, block in enumerate(blocks):
            for header, _ in block.exits:
                if header <= number:
                    inside = range(header, number + 1)
                    self.leaving.setdefault(number, set()).update(
                        after for one in inside for after, _ in blocks[one].exits if after > number
                    )
                    steps = flow.steps[blocks[header].start : block.end]
                    self.changed.setdefault(number, set()).update(name for step in steps for name in step.writes)
        self.meet = self._meetings(len(blocks))

    def _meetings(self, count: int) -> list[int | None]:
        """The nearest block behind each that is on all ways; sets of blocks are ints, bit i for block i."""
        on_all = [0] * count
        found: list[int | None] = [None] * count
        for number in reversed(range(count)):
            following = {after for after, _ in self.forward[number]} | self.leaving.get(number, set())
            common = -1 if following else 0
            for after in following:
                common &= on_all[after]
            if common:
                found[number] = (common & -common).bit_length() - 1
            on_all[number] = common | 1 << number
        return found
