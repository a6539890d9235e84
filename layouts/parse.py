"""Reading the notation back from text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Union

from ptxgen.layouts.axes import AXES, AxisTerm
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Expr, Scalar, Symbol, as_scalar
from ptxgen.layouts.layout import Layout
from ptxgen.layouts.spec import R, Replica, S, Shard
from ptxgen.layouts.swizzle import Swizzle

if TYPE_CHECKING:
    import ast

_Value = Union[int, Expr, AxisTerm]


def parse(text: str, **names: int | Expr | Symbol) -> Layout:
    """The layout that a text in the notation describes; `parse(repr(layout)) == layout`.

    Parameters
    ----------
    text
        `S[...]`, a sum `S[...] + R[...] + 5 @ warpid`, or `Layout(S[...], R[...], offset=, swizzle=, unit=)`.
    names
        Values of the names in extents and coefficients, e.g. `parse("S[(x, 8) : (2, 4@laneid)]", x=4)`. Axis names are
        looked up after `@` only, so a name may be spelled like an axis.

    Raises
    ------
    LayoutError
        For anything else, with the part of the text at fault.
    """
    import ast  # costs some ms, and few programs parse

    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as problem:
        raise LayoutError(f"can't read the layout {text!r}: no expression (near column {problem.offset})") from None
    reader = _Reader(text.strip(), {name: as_scalar(value, name) for name, value in names.items()})
    result = reader.layout(tree.body)
    return Layout(result) if isinstance(result, Shard) else result


class _Reader:
    """Walks the syntax tree of one text; nothing in it is ever executed."""

    def __init__(self, text: str, names: Mapping[str, Scalar]) -> None:
        self.text = text
        self.names = names

    def fail(self, node: ast.AST, why: str) -> LayoutError:
        import ast

        return LayoutError(f"can't read {ast.get_source_segment(self.text, node)!r} in {self.text!r}: {why}")

    def layout(self, node: ast.expr) -> Layout | Shard:
        import ast

        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Layout":
            return self.call(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            return self.sum(node, isinstance(node.op, ast.Sub))
        part = self.notation(node)
        if not isinstance(part, Shard):
            raise self.fail(node, "a layout starts with S[extents : strides]")
        return part

    def sum(self, node: ast.BinOp, negative: bool) -> Layout:
        left = self.layout(node.left)
        base = Layout(left) if isinstance(left, Shard) else left
        if self.head(node.right) == "R" and not negative:
            return base + self.notation(node.right)
        step = AxisTerm.of(self.value(node.right))
        return base + (-step if negative else step)

    def call(self, node: ast.Call) -> Layout:
        import ast

        parts = [self.notation(argument) for argument in node.args]
        if [type(part) for part in parts] not in ([Shard], [Shard, Replica]):
            raise self.fail(node, "Layout() takes S[...] and at most one R[...]")
        replicas = parts[1] if len(parts) > 1 else None
        layout = Layout(parts[0], replicas)  # type: ignore[arg-type]
        options: dict[str, object] = {}
        for keyword in node.keywords:
            if keyword.arg == "offset":
                options["offset"] = self.value(keyword.value)
            elif keyword.arg == "swizzle":
                options["swizzle"] = self.swizzle(keyword.value)
            elif keyword.arg == "unit" and isinstance(keyword.value, ast.Constant):
                options["unit"] = keyword.value.value
            else:
                raise self.fail(node, f"unknown argument {keyword.arg}; offset, swizzle and unit are known")
        return Layout(parts[0], replicas, **options) if options else layout  # type: ignore[arg-type]

    def head(self, node: ast.expr) -> str | None:
        import ast

        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            return node.value.id
        return None

    def notation(self, node: ast.expr) -> Shard | Replica:
        import ast

        letter = self.head(node)
        if letter not in ("S", "R") or not isinstance(node, ast.Subscript):
            raise self.fail(node, "expected S[extents : strides] or R[extents : strides]")
        inside = node.slice
        if isinstance(inside, ast.Slice):
            sides = [None if side is None else self.nested(side) for side in (inside.lower, inside.upper, inside.step)]
            key: object = slice(*sides)
        else:
            key = self.nested(inside)
        return S[key] if letter == "S" else R[key]

    def nested(self, node: ast.expr) -> object:
        import ast

        if isinstance(node, (ast.Tuple, ast.List)):
            return tuple(self.nested(part) for part in node.elts)
        return self.value(node)

    def value(self, node: ast.expr) -> _Value:
        """A number, an expression of names, or a step such as `4 @ laneid`."""
        import ast

        if isinstance(node, ast.Constant):
            return as_scalar(node.value, "a number in the notation")
        if isinstance(node, ast.Name):
            if node.id in self.names:
                return self.names[node.id]
            known = ", ".join(self.names) or "none"
            axis = f"; a step along the axis is written 1 @ {node.id}" if node.id in AXES else ""
            raise self.fail(node, f"the name {node.id} has no value here (given: {known}){axis}")
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            value = self.value(node.operand)
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.BinOp):
            return self.binary(node)
        raise self.fail(node, "only integers, names, + - * // and @ are understood")

    def binary(self, node: ast.BinOp) -> _Value:
        import ast

        left = self.value(node.left)
        if isinstance(node.op, ast.MatMult):
            return self.step(left, node)
        right = self.value(node.right)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult) and not (isinstance(left, AxisTerm) and isinstance(right, AxisTerm)):
            return left * right
        if isinstance(node.op, ast.FloorDiv) and isinstance(right, int) and not isinstance(left, AxisTerm):
            if right < 1:
                raise self.fail(node, f"division by {right}")
            return left // right if isinstance(left, int) else as_scalar(left.floordiv(right), "a quotient")
        raise self.fail(node, "only integers, names, + - * // and @ are understood")

    def step(self, count: _Value, node: ast.BinOp) -> AxisTerm:
        import ast

        if isinstance(count, AxisTerm):
            raise self.fail(node, "a step has one axis; write a sum of steps")
        if not isinstance(node.right, ast.Name) or node.right.id not in AXES:
            raise self.fail(node, f"unknown axis; the axes are {', '.join(AXES)}")
        return count @ AXES[node.right.id]

    def swizzle(self, node: ast.expr) -> Swizzle | None:
        import ast

        if isinstance(node, ast.Constant) and node.value is None:
            return None
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != "Swizzle":
            raise self.fail(node, "expected Swizzle(bits, base, shift)")
        numbers = [self.value(argument) for argument in node.args]
        if len(numbers) != 3 or node.keywords:
            raise self.fail(node, "expected Swizzle(bits, base, shift)")
        return Swizzle(*numbers)  # type: ignore[arg-type]
