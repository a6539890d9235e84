"""Texts of CuTe's layouts: as it prints them, `((2,4),8):((1,16),2)`, and C++, `Layout<Shape<_8,_4>, Stride<_4,_1>>`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.expr import Expr, Scalar, as_scalar
from ptxgen.layouts.interchange.scanner import Scanner

_WHAT = "CuTe layout"
_SWIZZLE = re.compile(r"(?:Sw|S|Swizzle)\s*<\s*(-?\d+)\s*,\s*(-?\d+)\s*,\s*(-?\d+)\s*>(?:\s*\{\s*\})?")
_SWIZZLE_OPENS = re.compile(r"(?:Sw|S|Swizzle)\s*<")
_POINTER = re.compile(r"smem_ptr\s*\[\s*(\d+)b\s*\]\s*\([^()]*\)")
_NUMBER = re.compile(r"_?(\d+)(?:\s*\{\s*\})?")
_STATIC = re.compile(r"(?:Int|C)\s*<\s*(\d+)\s*>(?:\s*\{\s*\})?")
_NAME = re.compile(r"[A-Za-z]\w*")
_THEN = re.compile(r"o\b")
# A layout, a tuple and an order of strides as C++ writes them; what closes each opening is the same everywhere else.
_LAYOUT = re.compile(r"(?:Layout\s*(<)|make_layout\s*(\())")
_TUPLE = re.compile(r"(?:(?:Shape|Stride|Step|Coord)\s*(<)|(?:make_(?:shape|stride|step|coord|tuple)\s*)?(\())")
_ORDER = re.compile(r"(?:LayoutLeft|(LayoutRight))(?:\s*\{\s*\})?")
_COMPOSED = re.compile(r"(?:ComposedLayout\s*(<)|composition\s*(\())")
_FLAG = re.compile(r"smem_ptr_flag(?:_bits\s*<\s*(\d+)\s*>)?(?:\s*\{\s*\})?")  # without a number, the layout counts bits
_FOREIGN = re.compile(r"\w+(?:::\w+)*(?=\s*(?:::|[<({]))")  # the name of a type or a call in C++
_READ = "shape:stride, Layout<...>, make_layout(...), ComposedLayout<...>, composition(Swizzle<B,M,S>, offset, layout) are read"
_CLOSES = {"<": ">", "(": ")"}


class Node(NamedTuple):
    """A number or a tuple of nodes, and where it stands in a text."""

    value: Scalar | tuple[Any, ...]
    column: int = 0

    def __str__(self) -> str:
        if not isinstance(self.value, tuple):
            return str(self.value)
        return f"({','.join(map(str, self.value))})"


def node_of(value: object) -> Node:
    """A number or nested tuple as nodes."""
    if isinstance(value, (tuple, list)):
        return Node(tuple(node_of(part) for part in value))
    return Node(as_scalar(value, "a number of a CuTe layout"))


def flat(node: Node) -> list[Scalar]:
    """The numbers in a node, the fastest first."""
    if isinstance(node.value, tuple):
        return [number for part in node.value for number in flat(part)]
    return [node.value]


class Read(NamedTuple):
    """A layout as it was read, or given as tuples."""

    shape: Node
    stride: Node | None = None  #: None: compact
    from_right: bool = False  #: whether compact strides grow from the right (LayoutRight)
    swizzle: tuple[int, int, int] | None = None
    offset: Scalar = 0
    pointer: int | None = None  #: bits of what a swizzled pointer points to
    text: str | None = None

    def fail(self, why: str, at: int) -> LayoutError:
        """The error that something is wrong at a column of the text."""
        if self.text is not None:
            return Scanner(self.text, _WHAT).fail(why, at)
        return LayoutError(f"shape {self.shape} and stride {self.stride or 'compact'} are no CuTe layout: {why}")


def read_cute(text: str, names: Mapping[str, object]) -> Read:
    """What a text says; `names` have values.

    Raises
    ------
    LayoutError
        With the column of the fault.
    """
    return _Reader(text, names).layout()


class _Reader:
    """A recursive descent over one text."""

    def __init__(self, text: str, names: Mapping[str, object]) -> None:
        self.scan = Scanner(text, _WHAT)
        self.names = {name: as_scalar(value, name) for name, value in names.items()}

    def layout(self) -> Read:
        opening = self.scan.match(_COMPOSED)
        read = self.composed(_CLOSES[opening[1] or opening[2]]) if opening else self.chained()
        self.scan.end()
        return read._replace(text=self.scan.text)

    def chained(self) -> Read:
        """A layout, perhaps behind `Sw<3,4,3> o` and a pointer or an offset."""
        scan = self.scan
        swizzle = self.swizzle()
        if swizzle is None:
            return self.body()
        self.then()
        pointer = scan.match(_POINTER)
        if pointer is not None:
            self.then()
            return self.body()._replace(swizzle=swizzle, pointer=int(pointer[1]))
        read = self.body()
        if read.stride is None and scan.match(_THEN):
            return self.body()._replace(swizzle=swizzle, offset=self.offset(read.shape))
        return read._replace(swizzle=swizzle)

    def composed(self, close: str) -> Read:
        """What stands behind `ComposedLayout<` or `composition(`: a swizzle, a flag or an offset, which a call may leave out, a layout."""
        scan = self.scan
        swizzle = self.swizzle()
        if swizzle is None:
            raise scan.fail(f"expected Swizzle<B,M,S>, found {scan.found}")
        scan.expect(",")
        flag = scan.match(_FLAG)
        read = self.body() if flag is None else None
        offset: Scalar = 0
        if read is None or close == ">" or (read.stride is None and scan.ahead(",")):
            offset = self.offset(read.shape) if read is not None else 0
            scan.expect(",")
            read = self.body()
        scan.expect(close)
        self.braces()
        return read._replace(swizzle=swizzle, offset=offset, pointer=int(flag[1] or 1) if flag else None)

    def braces(self) -> None:
        """The braces that make a value of a C++ type, if there are."""
        if self.scan.take("{"):
            self.scan.expect("}")

    def offset(self, node: Node) -> Scalar:
        if isinstance(node.value, tuple):
            raise self.scan.fail(f"the offset behind a swizzle is a number, not {node}", node.column)
        return node.value

    def body(self) -> Read:
        """A layout without swizzle and offset."""
        scan = self.scan
        opening = scan.match(_LAYOUT)
        if opening is None:
            shape = self.nested()
            return Read(shape, self.nested() if scan.take(":") else None)
        shape = self.nested()
        stride, from_right = None, False
        if scan.take(","):
            order = scan.match(_ORDER)
            if order is None:
                stride = self.nested()
            else:
                from_right = order[1] is not None
        scan.expect(_CLOSES[opening[1] or opening[2]])
        self.braces()
        return Read(shape, stride, from_right)

    def swizzle(self) -> tuple[int, int, int] | None:
        """The numbers of `Sw<3,4,3>`."""
        scan, at = self.scan, self.scan.place
        found = scan.match(_SWIZZLE)
        if found is None and scan.match(_SWIZZLE_OPENS):
            raise scan.fail("a swizzle is written Sw<B,M,S> with three numbers", at)
        return None if found is None else (int(found[1]), int(found[2]), int(found[3]))

    def then(self) -> None:
        if not self.scan.match(_THEN):
            raise self.scan.fail(f"expected 'o' between the parts of a composed layout, found {self.scan.found}")

    def nested(self) -> Node:
        scan, at = self.scan, self.scan.place
        opening = scan.match(_TUPLE)
        if opening is None:
            return Node(self.number(), at)
        close = _CLOSES[opening[1] or opening[2]]
        parts: list[Node] = []
        while not scan.take(close):
            if parts:
                scan.expect(",")
                if scan.take(close):  # (8,)
                    break
            parts.append(self.nested())
        return Node(tuple(parts), at)

    def number(self) -> Scalar:
        """A sum of products of integers and names."""
        total = Expr.of(self.product())
        while True:
            if self.scan.take("+"):
                total = total + self.product()
            elif self.scan.take("-"):
                total = total - self.product()
            else:
                return as_scalar(total, "a number")

    def product(self) -> Scalar:
        value = Expr.of(self.factor())
        while self.scan.take("*"):
            value = value * self.factor()
        return as_scalar(value, "a number")

    def factor(self) -> Scalar:
        scan, at = self.scan, self.scan.place
        if scan.take("-"):
            return as_scalar(-Expr.of(self.factor()), "a number")
        digits = scan.match(_NUMBER) or scan.match(_STATIC)
        if digits:
            if scan.take("@"):
                raise scan.fail("a stride on a coordinate (1@0) maps to coordinates of a tensor (TMA), not to memory", at)
            return int(digits[1])
        foreign = scan.match(_FOREIGN)
        if foreign:
            raise scan.fail(f"{foreign[0]} is a name of C++ whose layout the text does not say; {_READ}", at)
        name = scan.match(_NAME)
        if name:
            if name[0] not in self.names:
                known = ", ".join(self.names) or "none"
                raise scan.fail(f"the name {name[0]} has no value here (given: {known})", at)
            return self.names[name[0]]
        if scan.take("?"):
            raise scan.fail("? is a number that only the run knows: write a name and give it a Symbol", at)
        raise scan.fail(f"expected a number or '(', found {scan.found}")
