"""Which threads of a block certainly execute a step, as far as branches on the thread index alone decide it."""

from __future__ import annotations

from collections.abc import Callable
from operator import add, and_, eq, ge, gt, le, lshift, lt, mul, ne, or_, rshift, sub, xor

from ptxgen import ir
from ptxgen.lint.flow import Flow, Literal, Step
from ptxgen.lint.plans import named_operands

__all__ = ["Threads"]

_WORD = (1 << 32) - 1
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "eq": eq, "ne": ne, "lt": lt, "le": le, "gt": gt, "ge": ge, "lo": lt, "ls": le, "hi": gt, "hs": ge,
}  # fmt: skip
_COMPUTED: dict[tuple[str, str], Callable[[int, int], int]] = {
    ("integer", "add"): add, ("integer", "sub"): sub, ("integer", "mul"): mul, ("logic", "and"): and_, ("logic", "or"): or_,
    ("logic", "xor"): xor, ("logic", "shl"): lshift, ("logic", "shr"): rshift,
}  # fmt: skip

_Each = tuple[int, ...]
"""A number in each thread of the block."""


class Threads:
    """The threads of one entry, by linear index. Sets of them are ints, bit i for thread i."""

    def __init__(self, flow: Flow, shape: tuple[int, int, int]) -> None:
        self._flow = flow
        self._shape = shape
        self.count = shape[0] * shape[1] * shape[2]
        self._known: dict[str, _Each | None] = {}
        self._certain: list[int] | None = None

    def executing(self, number: int, step: Step) -> int:
        """Threads that certainly execute a step of a block."""
        if self._certain is None:
            self._certain = self._spread()
        here = self._certain[number]
        return here if step.guard is None else here & self._holding(step.guard)

    def _spread(self) -> list[int]:
        """For each block the threads that certainly come to it: those that certainly take an edge to it."""
        certain = [0] * len(self._flow.blocks)
        certain[0] = (1 << self.count) - 1
        waiting = [0]
        while waiting:
            number = waiting.pop()
            for after, literal in self._flow.blocks[number].exits:
                if literal is None and len(self._flow.blocks[number].exits) > 1:
                    continue  # an index decides
                coming = certain[number] if literal is None else certain[number] & self._holding(literal)
                if coming & ~certain[after]:
                    certain[after] |= coming
                    waiting.append(after)
        return certain

    def _holding(self, literal: Literal) -> int:
        """Threads in which a predicate certainly has a value."""
        values = self._each(literal[0])
        if values is None:
            return 0
        return sum(1 << thread for thread, value in enumerate(values) if bool(value) == literal[1])

    # ---- what each thread computes ------------------------------------------------------------------------------------

    def _each(self, name: str) -> _Each | None:
        """A register that one unguarded step writes, from the thread index and constants alone."""
        if name not in self._known:
            self._known[name] = None  # a register that depends on itself is none of these
            makers = self._flow.makers.get(name, ())
            if len(makers) == 1 and makers[0].guard is None and len(makers[0].writes) == 1:
                self._known[name] = self._made(makers[0])
        return self._known[name]

    def _made(self, step: Step) -> _Each | None:
        match = step.plan.match
        if match is None or not isinstance(step.statement, ir.Instruction) or not step.statement.operands:
            return None
        sources = [(name, self._source(step, one)) for name, one in named_operands(step.plan, step.statement.operands)[1:]]
        values = [value for _, value in sources if value is not None]
        if len(values) != len(sources) or not values or ".sat" in match.bindings:
            return None
        kind = match.entry.family, match.entry.name
        if kind in (("move", "mov"), ("conversion", "cvt")) and len(values) == 1:
            return values[0]
        if len(values) != 2:
            return None
        compare = _COMPARED.get(match.value(".CmpOp"))
        if kind == ("comparison", "setp") and compare is not None and match.value(".type") in ("u32", "s32", "b32"):
            return tuple(int(compare(one, other)) for one, other in zip(*values))
        compute = _COMPUTED.get(kind)
        if compute is None or match.value(".type") not in ("u32", "s32", "b32") or match.value(".mode") not in ("", "lo"):
            return None
        found = tuple(compute(one, other) for one, other in zip(*values) if other < 32 or compute not in (lshift, rshift))
        return found if len(found) == self.count and all(0 <= one <= _WORD >> 1 for one in found) else None

    def _source(self, step: Step, operand: ir.Operand) -> _Each | None:
        """A source as non-negative numbers below 2^31, which signed and unsigned comparisons read alike."""
        if isinstance(operand, ir.Int):
            return (operand.value,) * self.count if 0 <= operand.value <= _WORD >> 1 else None
        if not isinstance(operand, ir.Reg):
            return None
        x, y, _ = self._shape
        if operand.name == "%tid" and operand.part:
            digits = {"x": lambda t: t % x, "y": lambda t: t // x % y, "z": lambda t: t // (x * y), "w": lambda t: 0}
            return tuple(map(digits[operand.part], range(self.count)))
        if operand.name == "%laneid":  # warps are 32 consecutive threads of the block
            return tuple(thread % 32 for thread in range(self.count))
        return self._each(step.name(operand)) if operand.part is None else None
