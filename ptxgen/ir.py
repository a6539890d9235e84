"""The one representation of a PTX module, used by tracer, writer, reader and emulator.

Nodes are immutable values: two are equal when they say the same thing in PTX, whatever their provenance (`where`
is left out of equality). Every name stands as PTX spells it: registers with their ``%``, types and
directives without their dot. ISA chapters 4, 5, 7 and 11 define what each node means.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Union

__all__ = [
    "Address", "Block", "Call", "Comment", "Directive", "Element", "Field", "FileDirective", "Float", "Function", "Guard",
    "Initializer", "Instruction", "Int", "Item", "Label", "Loc", "Module", "Neg", "Node", "Not", "Operand", "Pair", "Pragma",
    "Prototype", "Reg", "RegDecl", "RegOffset", "Section", "Sink", "SourceBlock", "SourceSection", "Statement", "Sym",
    "SymbolRef", "Targets", "Variable", "Vec", "walk",
]  # fmt: skip


class Node:
    """Base of all nodes: a value compared by class and fields. `_provenance` names fields that equality ignores."""

    __slots__ = ()
    _provenance: ClassVar[frozenset[str]] = frozenset()

    def _values(self) -> tuple[Any, ...]:
        skip = self._provenance
        names: tuple[str, ...] = self.__slots__
        return tuple(getattr(self, name) for name in names if name not in skip)

    def __eq__(self, other: object) -> bool:
        return self is other or (self.__class__ is other.__class__ and self._values() == other._values())

    def __hash__(self) -> int:
        return hash((self.__class__, self._values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._values()))})"


# ---- operands ---------------------------------------------------------------------------------------------------------


class Reg(Node):
    """A register, declared or special: ``%r1``, ``%tid.x`` (part ``"x"``), ``%v.y``, and video selectors such as ``%r1.b0``."""

    __slots__ = ("name", "part")

    def __init__(self, name: str, part: str | None = None) -> None:
        self.name = name
        self.part = part

    # As every node, written out: registers are compared and looked up most of all.
    def __eq__(self, other: object) -> bool:
        return self is other or (other.__class__ is Reg and self.name == other.name and self.part == other.part)

    def __hash__(self) -> int:
        return hash((self.name, self.part))


class Sym(Node):
    """A named thing that is not a register: a variable, a parameter, a label, a function."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Int(Node):
    """An integer constant. `unsigned` is the ``U`` suffix; `radix` (2, 8, 10 or 16) is how the text spells it."""

    __slots__ = ("radix", "unsigned", "value")

    def __init__(self, value: int, unsigned: bool = False, radix: int = 10) -> None:
        self.value = value
        self.unsigned = unsigned
        self.radix = radix


class Float(Node):
    """A floating constant, by its exact bits: ``0f3F800000`` (width 32) or ``0d3FF0000000000000`` (width 64)."""

    __slots__ = ("bits", "width")

    def __init__(self, bits: int, width: int) -> None:
        self.bits = bits
        self.width = width


class Vec(Node):
    """A vector operand ``{a, b, c, d}``, or coordinates; one element keeps its braces."""

    __slots__ = ("items",)

    def __init__(self, items: tuple[Operand, ...]) -> None:
        self.items = items


class Address(Node):
    """``[base]``, ``[base+4]``, ``[base+-8]`` or, with `rest`, ``[tensor_map, {x, y}]``; `unified` is the suffix in ``[a].unified``.

    `base` is a register, a symbol or an integer. `plus_zero` says that an offset of 0 is written out, ``[base+0]``: assembled
    without optimisation, as ``.target debug`` asks for, that is an addition.
    """

    __slots__ = ("base", "offset", "plus_zero", "rest", "unified")

    def __init__(
        self,
        base: Reg | Sym | Int,
        offset: int = 0,
        rest: tuple[Operand, ...] = (),
        unified: bool = False,
        plus_zero: bool = False,
    ) -> None:
        self.base = base
        self.offset = offset
        self.rest = rest
        self.unified = unified
        self.plus_zero = plus_zero


class SymbolRef(Node):
    """A symbol with a byte offset where an operand or an initialiser takes an address as a value: ``mov.u64 %rd1, table+16``.

    As an operand its `offset` is not 0; without one it is a `Sym`. Only initialisers take `generic`, ``generic(table)+16``, and
    `mask`, ``0xff00(table)``, which selects one byte of the address.
    """

    __slots__ = ("generic", "mask", "name", "offset")

    def __init__(self, name: str, offset: int = 0, generic: bool = False, mask: int | None = None) -> None:
        self.name = name
        self.offset = offset
        self.generic = generic
        self.mask = mask


class RegOffset(Node):
    """A register and a constant as one value, ``add.u32 %r1, %r2+4, %r3``: rare, yet PTX."""

    __slots__ = ("offset", "reg")

    def __init__(self, reg: Reg, offset: int) -> None:
        self.reg = reg
        self.offset = offset


class Not(Node):
    """A negated predicate operand, ``!%p1``."""

    __slots__ = ("reg",)

    def __init__(self, reg: Reg) -> None:
        self.reg = reg


class Neg(Node):
    """A negated source of a video instruction, ``-%r1.b0``."""

    __slots__ = ("reg",)

    def __init__(self, reg: Reg) -> None:
        self.reg = reg


class Element(Node):
    """An element of an array, ``table[2]`` or ``table[%r1+1]``: its address, which a load takes without brackets (ISA 6.4.2)."""

    __slots__ = ("index", "name")

    def __init__(self, name: str, index: int | Reg | RegOffset) -> None:
        self.name = name
        self.index = index


class Pair(Node):
    """Two destinations of one instruction, ``%p1|%p2`` or ``%r1|%p1``."""

    __slots__ = ("first", "second")

    def __init__(self, first: Operand, second: Operand) -> None:
        self.first = first
        self.second = second


class Sink(Node):
    """``_``: a result, or a vector element, that nobody wants."""

    __slots__ = ()


Operand = Union[Reg, Sym, Int, Float, Vec, Address, SymbolRef, RegOffset, Not, Neg, Element, Pair, Sink]


# ---- statements -------------------------------------------------------------------------------------------------------


class Guard(Node):
    """The predicate in front of an instruction: ``@%p1`` or ``@!%p1``."""

    __slots__ = ("negated", "reg")

    def __init__(self, reg: Reg, negated: bool = False) -> None:
        self.reg = reg
        self.negated = negated


class Instruction(Node):
    """One instruction: the whole opcode with its qualifiers (``"ld.global.v4.b32"``), operands in order, and an optional guard.

    `where` says where it came from: a `ptxgen.provenance.Where` of the user's Python, or the `ptxgen.text.Position` in a
    text that was read.
    """

    __slots__ = ("guard", "opcode", "operands", "where")
    _provenance = frozenset({"where"})

    def __init__(self, opcode: str, operands: tuple[Operand, ...] = (), guard: Guard | None = None, where: Any = None) -> None:
        self.opcode = opcode
        self.operands = operands
        self.guard = guard
        self.where = where


class Call(Node):
    """``call{.uni} (results), target, (arguments), targets;`` : it alone has lists in parentheses.

    `target` is a `Sym` for a direct call or a `Reg`; `targets` names the call-target list or prototype of an indirect one.
    """

    __slots__ = ("arguments", "guard", "opcode", "results", "target", "targets", "where")
    _provenance = frozenset({"where"})

    def __init__(
        self,
        opcode: str,
        target: Sym | Reg,
        results: tuple[Operand, ...] = (),
        arguments: tuple[Operand, ...] = (),
        targets: Sym | None = None,
        guard: Guard | None = None,
        where: Any = None,
    ) -> None:
        self.opcode = opcode
        self.target = target
        self.results = results
        self.arguments = arguments
        self.targets = targets
        self.guard = guard
        self.where = where


class Label(Node):
    """``name:``"""

    __slots__ = ("name", "where")
    _provenance = frozenset({"where"})

    def __init__(self, name: str, where: Any = None) -> None:
        self.name = name
        self.where = where


class Block(Node):
    """A scope in braces: its registers, variables and labels are its own."""

    __slots__ = ("body",)

    def __init__(self, body: tuple[Statement, ...]) -> None:
        self.body = body


class RegDecl(Node):
    """``.reg .f32 %f<4>;`` (name ``"%f"``, count 4) or ``.reg .pred p, q;`` (names, count None).

    `vector` is 2 or 4 for ``.v2``, ``.v4``.
    """

    __slots__ = ("count", "names", "type", "vector", "where")
    _provenance = frozenset({"where"})

    def __init__(
        self, type: str, names: tuple[str, ...], count: int | None = None, vector: int | None = None, where: Any = None
    ) -> None:
        self.type = type
        self.names = names
        self.count = count
        self.vector = vector
        self.where = where


class Field(Node):
    """One setting of a sampler or texture, ``filter_mode = nearest``: a number or a word."""

    __slots__ = ("name", "value")

    def __init__(self, name: str, value: int | str) -> None:
        self.name = name
        self.value = value


Initializer = Union[Int, Float, SymbolRef, Field, tuple]
"""A scalar, an address, or a tuple of initialisers for an array; shorter than the array means zeros behind.

The fields of an opaque variable stand in one tuple.
"""


class Variable(Node):
    """A variable or parameter declaration.

    Attributes
    ----------
    space : str
        ``"param"``, ``"global"``, ``"shared"``, ``"const"``, ``"local"``; ``"reg"`` for a register parameter of a ``.func``;
        ``"tex"``, ``"surf"``, ``"sampler"``, ``"const[2]"`` in old texts.
    type : str
        Type name without its dot.
    name : str
    dims : tuple of int or None
        Array extents; None is an open ``[]``. Empty for a scalar.
    align : int or None
        Bytes, where the text says ``.align``.
    vector : int or None
    linkage : str or None
        ``"extern"``, ``"visible"``, ``"weak"`` or ``"common"``.
    init : Initializer or None
    ptr : tuple or None
        ``(space or None, alignment or None)`` of an entry parameter's ``.ptr``; the space may be ``"texref"``, ``"samplerref"`` or
        ``"surfref"``.
    attributes : tuple of str
        The texts inside ``.attribute(...)``, such as ``".managed"``.
    """

    __slots__ = ("align", "attributes", "dims", "init", "linkage", "name", "ptr", "space", "type", "vector", "where")
    _provenance = frozenset({"where"})

    def __init__(
        self,
        space: str,
        type: str,
        name: str,
        dims: tuple[int | None, ...] = (),
        align: int | None = None,
        vector: int | None = None,
        linkage: str | None = None,
        init: Initializer | None = None,
        ptr: tuple[str | None, int | None] | None = None,
        attributes: tuple[str, ...] = (),
        where: Any = None,
    ) -> None:
        self.space = space
        self.type = type
        self.name = name
        self.dims = dims
        self.align = align
        self.vector = vector
        self.linkage = linkage
        self.init = init
        self.ptr = ptr
        self.attributes = attributes
        self.where = where


class Comment(Node):
    """A line comment of its own, without ``//`` and surrounding blanks. A longer one is several of these."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class Loc(Node):
    """``.loc file line column`` with, where inlined, ``function_name label{+offset}, inlined_at file line column``.

    `function` is the label, with ``+offset`` where the text has one. `intermediate` is set for ``.loc_intermediate``, a place in what a
    compiler made of the source; that is never inlined.
    """

    __slots__ = ("column", "file", "function", "inlined_at", "intermediate", "line")

    def __init__(
        self,
        file: int,
        line: int,
        column: int = 0,
        function: str | None = None,
        inlined_at: tuple[int, int, int] | None = None,
        intermediate: bool = False,
    ) -> None:
        self.intermediate = intermediate
        self.file = file
        self.line = line
        self.column = column
        self.function = function
        self.inlined_at = inlined_at


class Pragma(Node):
    """``.pragma "nounroll";``"""

    __slots__ = ("strings",)

    def __init__(self, strings: tuple[str, ...]) -> None:
        self.strings = strings


class Targets(Node):
    """``label: .branchtargets a, b;`` or ``label: .calltargets f, g;`` (`kind` without its dot)."""

    __slots__ = ("kind", "label", "names")

    def __init__(self, label: str, kind: str, names: tuple[str, ...]) -> None:
        self.label = label
        self.kind = kind
        self.names = names


class Prototype(Node):
    """``label: .callprototype (results) _ (params) .noreturn;``"""

    __slots__ = ("directives", "label", "params", "results")

    def __init__(
        self,
        label: str,
        results: tuple[Variable, ...],
        params: tuple[Variable, ...],
        directives: tuple[Directive | Pragma, ...] = (),
    ) -> None:
        self.label = label
        self.results = results
        self.params = params
        self.directives = directives


class Directive(Node):
    """A performance or control directive with its numbers, words or names.

    ``.maxntid 128, 1, 1``, ``.noreturn``, ``.alias f, g``; and ``.target sm_90, debug`` where it stands again inside a module.
    A line of the old debug data is one called ``@@DWARF``, the rest of the line its argument.
    """

    __slots__ = ("arguments", "name")

    def __init__(self, name: str, arguments: tuple[int | str, ...] = ()) -> None:
        self.name = name
        self.arguments = arguments


Statement = Union[Instruction, Call, Label, Block, RegDecl, Variable, Comment, Loc, Pragma, Targets, Prototype]


# ---- module -----------------------------------------------------------------------------------------------------------


class Function(Node):
    """An ``.entry`` or ``.func``; `body` is None for a declaration that is not a definition.

    `attributes` holds the texts inside ``.attribute(...)``, such as ``".unified(1, 2)"``.
    """

    __slots__ = ("attributes", "body", "directives", "kind", "linkage", "name", "params", "results", "where")
    _provenance = frozenset({"where"})

    def __init__(
        self,
        kind: str,
        name: str,
        params: tuple[Variable, ...] = (),
        body: tuple[Statement, ...] | None = (),
        results: tuple[Variable, ...] = (),
        directives: tuple[Directive | Pragma, ...] = (),
        linkage: str | None = "visible",
        where: Any = None,
        attributes: tuple[str, ...] = (),
    ) -> None:
        self.kind = kind
        self.name = name
        self.params = params
        self.body = body
        self.results = results
        self.directives = directives
        self.linkage = linkage
        self.where = where
        self.attributes = attributes


class FileDirective(Node):
    """``.file 1 "kernel.py"`` with optional timestamp and size."""

    __slots__ = ("index", "name", "size", "timestamp")

    def __init__(self, index: int, name: str, timestamp: int | None = None, size: int | None = None) -> None:
        self.index = index
        self.name = name
        self.timestamp = timestamp
        self.size = size


class Section(Node):
    """Debug data, ``.section .debug_str { ... }``: its `lines` as text, each one directive or label, blanks made one."""

    __slots__ = ("lines", "name")

    def __init__(self, name: str, lines: tuple[str, ...]) -> None:
        self.name = name
        self.lines = lines


class SourceBlock(Node):
    """One text of a `SourceSection`: `file` is the number of its ``.file``, `language` says what it is written in."""

    __slots__ = ("file", "language", "lines")

    def __init__(self, language: str, file: int, lines: tuple[str, ...]) -> None:
        self.language = language
        self.file = file
        self.lines = lines


class SourceSection(Node):
    """``.nv_intermediate_source_section { ... }``: the texts that ``.loc_intermediate`` speaks of (ISA 11.5.6)."""

    __slots__ = ("blocks",)

    def __init__(self, blocks: tuple[SourceBlock, ...]) -> None:
        self.blocks = blocks


Item = Union[Function, Variable, RegDecl, FileDirective, Comment, Pragma, Directive, Section, SourceSection]


class Module(Node):
    """A translation unit: ``.version``, ``.target``, ``.address_size``, and its items in order."""

    __slots__ = ("address_size", "items", "target", "version")

    def __init__(
        self,
        version: tuple[int, int],
        target: tuple[str, ...],
        items: tuple[Item, ...] = (),
        address_size: int | None = 64,
    ) -> None:
        self.version = version
        self.target = target
        self.items = items
        self.address_size = address_size

    @property
    def functions(self) -> dict[str, Function]:
        """Definitions and declarations by name; a definition wins over its declarations."""
        found: dict[str, Function] = {}
        for item in self.items:
            if isinstance(item, Function) and (item.body is not None or item.name not in found):
                found[item.name] = item
        return found


def walk(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """All statements of a body in order, those of nested blocks included; a block comes before what it holds."""
    for statement in body:
        yield statement
        if isinstance(statement, Block):
            yield from walk(statement.body)
