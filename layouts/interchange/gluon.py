"""Layouts as Gluon, Triton's lower language, writes them in Python: `gl.BlockedLayout(size_per_thread=[2, 4], ...)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.interchange.encodings import Blocked, DotOperand, Encoding, Linear, NvidiaMma, Slice
from ptxgen.layouts.interchange.shared_encodings import NvmmaShared, PaddedShared, SharedLinear, SwizzledShared

if TYPE_CHECKING:
    import ast

_CALL = re.compile(r"\s*(?:\w+\.)*\w+Layout\s*\(")


def looks_like_gluon(text: str) -> bool:
    """Whether a text calls something named ...Layout."""
    return _CALL.match(text) is not None


def read_gluon(text: str) -> Encoding:
    """The encoding that a call of a Gluon layout's class makes. Nothing is executed.

    Raises
    ------
    LayoutError
        For other classes and arguments, with the column of the fault.
    """
    import ast  # costs some ms, and few programs read layouts

    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as problem:
        raise LayoutError(f"can't read the Gluon layout {text!r}: column {problem.offset}: no Python expression") from None
    return _Reader(text.strip()).encoding(tree.body)


def _linear(reg_bases: Any, lane_bases: Any, warp_bases: Any, block_bases: Any, shape: Any) -> Encoding:
    return Linear(register=reg_bases, lane=lane_bases, warp=warp_bases, block=block_bases)


def _nvmma_shared(
    swizzle_byte_width: int,
    element_bitwidth: int,
    rank: int = 2,
    transposed: bool = False,
    fp4_padded: bool = False,
    cga_layout: Sequence[Sequence[int]] = (),
) -> Encoding:
    if fp4_padded:
        raise LayoutError("fp4_padded: eight bytes of every sixteen hold nothing, which no linear layout says")
    return NvmmaShared(
        swizzling_byte_width=swizzle_byte_width,
        transposed=transposed,
        element_bit_width=element_bitwidth,
        rank=rank,
        cga_layout=cga_layout,
    )


def _padded(interval_padding_pairs: Any, offset_bases: Any, cga_layout: Any, shape: Any) -> Encoding:
    if cga_layout:
        raise LayoutError("a padded layout of several blocks is not understood")
    return PaddedShared(padding=interval_padding_pairs, offset=offset_bases)


# For each class of Gluon: what makes the encoding, and the class' parameters in order as "own=ours" (or both at once).
_CLASSES: dict[str, tuple[Callable[..., Encoding], str]] = {
    "BlockedLayout": (Blocked, "size_per_thread threads_per_warp warps_per_cta order cga_layout"),
    "SliceLayout": (Slice, "dim parent"),
    "DistributedLinearLayout": (_linear, "reg_bases lane_bases warp_bases block_bases shape"),
    "DotOperandLayout": (DotOperand, "operand_index=op_idx parent k_width"),
    "NVMMADistributedLayout": (NvidiaMma, "version warps_per_cta instr_shape cga_layout"),
    "NVMMASharedLayout": (_nvmma_shared, "swizzle_byte_width element_bitwidth rank transposed fp4_padded cga_layout"),
    "SwizzledSharedLayout": (SwizzledShared, "vec per_phase max_phase order cga_layout"),
    "PaddedSharedLayout": (_padded, "interval_padding_pairs offset_bases cga_layout shape"),
    "SharedLinearLayout": (SharedLinear, "offset_bases=offset block_bases=block alignment"),
}


class _Reader:
    """Walks the syntax tree of one text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def fail(self, node: ast.AST, why: str) -> LayoutError:
        column = getattr(node, "col_offset", 0) + 1
        return LayoutError(f"can't read the Gluon layout {self.text!r}: column {column}: {why}")

    def encoding(self, node: ast.expr) -> Encoding:
        import ast

        called = node.func if isinstance(node, ast.Call) else None
        name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else None
        if name not in _CLASSES or not isinstance(node, ast.Call):
            raise self.fail(node, f"expected a call of {', '.join(_CLASSES)}")
        make, words = _CLASSES[name]
        names = dict((word.split("=") * 2)[:2] for word in words.split())
        given: dict[str, Any] = {}
        if len(node.args) > len(names):
            raise self.fail(node.args[len(names)], f"{name} has {len(names)} parameters: {', '.join(names)}")
        for own, argument in [*zip(names, node.args), *((keyword.arg, keyword.value) for keyword in node.keywords)]:
            if own is None or own not in names:
                raise self.fail(argument, f"{name} has no parameter {own}; it has {', '.join(names)}")
            given[names[own]] = self.value(argument)
        try:
            return make(**given)
        except TypeError:
            raise self.fail(node, f"{name} needs more of {', '.join(names)}, or numbers where lists stand") from None

    def value(self, node: ast.expr) -> Any:
        import ast

        if isinstance(node, ast.Call):
            return self.encoding(node)
        try:
            return ast.literal_eval(node)
        except ValueError:
            raise self.fail(node, "expected a number, True, False, a list or a layout") from None
