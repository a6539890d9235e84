"""`ptxgen.ir.Module` to PTX text, as one writes it by hand: the same text for the same tree, always.

Statements stand four blanks deep for every scope, labels at the margin, operands in a column where the opcode leaves room.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from typing import Any

from ptxgen.ir import (
    Address,
    Block,
    Call,
    Comment,
    Directive,
    Element,
    Field,
    FileDirective,
    Float,
    Function,
    Guard,
    Initializer,
    Instruction,
    Int,
    Label,
    Loc,
    Module,
    Neg,
    Node,
    Not,
    Operand,
    Pair,
    Pragma,
    Prototype,
    Reg,
    RegDecl,
    RegOffset,
    Section,
    Sink,
    SourceSection,
    Statement,
    Sym,
    SymbolRef,
    Targets,
    Variable,
    Vec,
)

__all__ = ["write", "write_mapped", "write_operand", "write_statement"]

_INDENT = "    "


class _Page:
    """Lines as they are written, and which of them hold an instruction that came from somewhere."""

    __slots__ = ("comments", "lines", "origins")

    def __init__(self, comments: bool = True) -> None:
        self.comments = comments
        self.lines: list[str] = []
        self.origins: list[tuple[int, Any]] = []


def write(module: Module, *, comments: bool = True) -> str:
    """The text of a module; `comments` False leaves its comments out."""
    page = _Page(comments)
    _module(module, page)
    return "\n".join(page.lines) + "\n"


def write_mapped(module: Module) -> tuple[str, list[tuple[int, Any]]]:
    """The text of a module, and where its instructions came from.

    Returns
    -------
    text : str
    origins : list of (int, where)
        For each line that holds an instruction or call with a ``where``: the line's number, from 1, and that ``where``.
    """
    page = _Page()
    _module(module, page)
    return "\n".join(page.lines) + "\n", page.origins


def write_statement(statement: Statement) -> str:
    """The text of one statement without indentation; of a block, its lines."""
    page = _Page()
    _statements((statement,), "", page)
    return "\n".join(page.lines)


# ---- operands ---------------------------------------------------------------------------------------------------------


def write_operand(operand: Operand) -> str:
    """The text of one operand."""
    return _OPERANDS[operand.__class__](operand)


def _reg(operand: Any) -> str:
    return operand.name if operand.part is None else f"{operand.name}.{operand.part}"


def _int(operand: Any) -> str:
    value = operand.value
    if operand.radix == 10:
        return f"{value}U" if operand.unsigned else str(value)
    sign, size = ("-", -value) if value < 0 else ("", value)
    digits = {16: f"0x{size:x}", 8: f"0{size:o}", 2: f"0b{size:b}"}[operand.radix]
    return f"{sign}{digits}{'U' if operand.unsigned else ''}"


def _float(operand: Any) -> str:
    return f"0f{operand.bits:08X}" if operand.width == 32 else f"0d{operand.bits:016X}"


_REGISTERS_ALONE = {Reg}
_NAME, _PART = attrgetter("name"), attrgetter("part")


def _list(operands: tuple[Operand, ...]) -> str:
    if set(map(type, operands)) == _REGISTERS_ALONE and not any(map(_PART, operands)):  # most of all, some of them of 128
        return ", ".join(map(_NAME, operands))
    written = _OPERANDS
    return ", ".join([
        operand.name if operand.__class__ is Reg and operand.part is None else written[operand.__class__](operand)
        for operand in operands
    ])  # fmt: skip


def _address(operand: Any) -> str:
    base = operand.base
    text = base.name if base.__class__ is not Int else _int(base)
    if operand.offset or operand.plus_zero:
        text = f"{text}+{operand.offset}"  # '[%rd1+-8]': assemblers take no other spelling of a negative offset
    text = f"[{text}, {_list(operand.rest)}]" if operand.rest else f"[{text}]"
    return text + ".unified" if operand.unified else text


def _reference(operand: Any) -> str:
    text = f"generic({operand.name})" if operand.generic else operand.name
    if operand.offset:
        text = f"{text}+{operand.offset}"
    return text if operand.mask is None else f"0x{operand.mask:x}({text})"


def _element(operand: Any) -> str:
    index = operand.index
    return f"{operand.name}[{index if isinstance(index, int) else write_operand(index)}]"


_OPERANDS: dict[type[Node], Callable[[Any], str]] = {
    Reg: _reg,
    Sym: lambda operand: operand.name,
    Int: _int,
    Float: _float,
    Vec: lambda operand: "{" + _list(operand.items) + "}",
    Address: _address,
    SymbolRef: _reference,
    RegOffset: lambda operand: f"{_reg(operand.reg)}+{operand.offset}",
    Not: lambda operand: "!" + _reg(operand.reg),
    Neg: lambda operand: "-" + _reg(operand.reg),
    Element: _element,
    Pair: lambda operand: f"{write_operand(operand.first)}|{write_operand(operand.second)}",
    Sink: lambda operand: "_",
}


# ---- statements -------------------------------------------------------------------------------------------------------


def _guarded(guard: Guard | None, opcode: str) -> str:
    if guard is None:
        return opcode
    return f"@{'!' if guard.negated else ''}{guard.reg.name} {opcode}"


@lru_cache(maxsize=1024)
def _column(head: str) -> str:
    """`head` filled up to the next of the columns at which operands stand."""
    size = len(head)
    if size < 16:
        return head.ljust(16)
    return head.ljust(24) if size < 24 else head + " "


def _instruction(statement: Any) -> str:
    head = statement.opcode if statement.guard is None else _guarded(statement.guard, statement.opcode)
    operands = statement.operands
    if not operands:
        return head + ";"
    return f"{_column(head)}{_list(operands)};"


def _call(statement: Any) -> str:
    parts = [f"({_list(statement.results)})"] if statement.results else []
    parts.append(statement.target.name)
    if statement.arguments:
        parts.append(f"({_list(statement.arguments)})")
    if statement.targets is not None:
        parts.append(statement.targets.name)
    return f"{_column(_guarded(statement.guard, statement.opcode))}{', '.join(parts)};"


def _registers(statement: Any) -> str:
    vector = f".v{statement.vector} " if statement.vector else ""
    names = ", ".join(statement.names) if statement.count is None else f"{statement.names[0]}<{statement.count}>"
    return f".reg {vector}.{statement.type} {names};"


def _variable(variable: Variable) -> str:
    """A variable or parameter without what closes it."""
    words = [f".{variable.linkage}"] if variable.linkage else []
    words.append(f".{variable.space}")
    if variable.attributes:
        words.append(f".attribute({', '.join(variable.attributes)})")
    if variable.align is not None:
        words.append(f".align {variable.align}")
    if variable.vector is not None:
        words.append(f".v{variable.vector}")
    words.append(f".{variable.type}")
    if variable.ptr is not None:
        space, align = variable.ptr
        words.append(".ptr")
        words += [f".{space}"] if space is not None else []
        words += [f".align {align}"] if align is not None else []
    words.append(variable.name + "".join("[]" if extent is None else f"[{extent}]" for extent in variable.dims))
    text = " ".join(words)
    return text if variable.init is None else f"{text} = {_initializer(variable.init)}"


def _initializer(init: Initializer) -> str:
    if isinstance(init, tuple):
        return "{" + ", ".join(map(_initializer, init)) + "}"
    if isinstance(init, Field):
        return f"{init.name} = {init.value}"
    return write_operand(init)


def _loc(statement: Any) -> str:
    text = f".loc{'_intermediate' if statement.intermediate else ''} {statement.file} {statement.line} {statement.column}"
    if statement.function is None:
        return text
    return f"{text}, function_name {statement.function}, inlined_at {' '.join(map(str, statement.inlined_at))}"


def _pragma(statement: Any) -> str:
    return ".pragma " + ", ".join([f'"{string}"' for string in statement.strings]) + ";"


def _prototype(statement: Any) -> str:
    results = f"({', '.join(map(_variable, statement.results))}) " if statement.results else ""
    params = f" ({', '.join(map(_variable, statement.params))})" if statement.params else ""
    directives = "".join([" " + _directive(directive) for directive in statement.directives])
    return f"{statement.label}: .callprototype {results}_{params}{directives};"


def _directive(directive: Any) -> str:
    if directive.__class__ is Pragma:
        return _pragma(directive)
    text = directive.name if directive.name == "@@DWARF" else f".{directive.name}"
    if directive.arguments:
        text += " " + ", ".join(map(str, directive.arguments))
    return text + ";" if directive.name == "alias" else text


_STATEMENTS: dict[type[Node], Callable[[Any], str]] = {
    Instruction: _instruction,
    Call: _call,
    RegDecl: _registers,
    Variable: lambda statement: _variable(statement) + ";",
    Comment: lambda statement: f"// {statement.text}".rstrip(),
    Loc: _loc,
    Pragma: _pragma,
    Prototype: _prototype,
    Targets: lambda statement: f"{statement.label}: .{statement.kind} {', '.join(statement.names)};",
}
_DECLARATIONS = (RegDecl, Variable)


def _statements(body: tuple[Statement, ...], indent: str, page: _Page) -> None:
    """Write a body; a blank line sets its leading declarations apart."""
    lines, origins = page.lines, page.origins
    declared = False
    for statement in body:
        kind = statement.__class__
        if kind is Instruction:  # by far the most
            if declared:
                lines.append("")
                declared = False
            lines.append(indent + _instruction(statement))
            where = statement.where  # type: ignore[union-attr]
            if where is not None:
                origins.append((len(lines), where))
            continue
        if kind is Comment and not page.comments:
            continue
        if kind in _DECLARATIONS:
            declared = True
        elif declared and kind is not Comment:
            lines.append("")
            declared = False
        if kind is Label:
            lines.append(f"{statement.name}:")  # type: ignore[union-attr]
        elif kind is Block:
            lines.append(indent + "{")
            _statements(statement.body, indent + _INDENT, page)  # type: ignore[union-attr]
            lines.append(indent + "}")
        else:
            lines.append(indent + _STATEMENTS[kind](statement))
            if kind is Call and statement.where is not None:  # type: ignore[union-attr]
                page.origins.append((len(lines), statement.where))  # type: ignore[union-attr]


# ---- module -----------------------------------------------------------------------------------------------------------


def _module(module: Module, page: _Page) -> None:
    lines = page.lines
    major, minor = module.version
    lines += [f".version {major}.{minor}", f".target {', '.join(module.target)}"]
    if module.address_size is not None:
        lines.append(f".address_size {module.address_size}")
    before: type[Any] | None = None
    for item in module.items:
        kind = item.__class__
        if kind is Comment and not page.comments:
            continue
        # A comment belongs to what follows it.
        if before is not Comment and (kind is not before or kind in (Function, Section)):
            lines.append("")
        before = kind
        if isinstance(item, Function):
            _function(item, page)
        elif isinstance(item, Section):
            _section(item, page)
        elif isinstance(item, SourceSection):
            _sources(item, page)
        else:
            lines.append(_ITEMS[kind](item))


def _file(item: Any) -> str:
    text = f'.file {item.index} "{item.name}"'
    if item.timestamp is not None:
        text += f", {item.timestamp}"
    return text if item.size is None else f"{text}, {item.size}"


_ITEMS: dict[type[Any], Callable[[Any], str]] = {
    Variable: _STATEMENTS[Variable],
    RegDecl: _registers,
    Comment: _STATEMENTS[Comment],
    Pragma: _pragma,
    Directive: _directive,
    FileDirective: _file,
}


def _function(function: Function, page: _Page) -> None:
    head = f".{function.linkage} " if function.linkage else ""
    head += f".{function.kind} "
    if function.attributes:
        head += f".attribute({', '.join(function.attributes)}) "
    if function.results:
        head += f"({', '.join(map(_variable, function.results))}) "
    head += function.name
    lines = page.lines
    if function.params:
        lines.append(head + "(")
        lines += [_INDENT + _variable(parameter) + "," for parameter in function.params]
        lines[-1] = lines[-1][:-1]
        lines.append(")")
    else:
        lines.append(head + "()")
    lines += map(_directive, function.directives)
    if function.body is None:
        lines[-1] += ";"
        return
    lines.append("{")
    _statements(function.body, _INDENT, page)
    lines.append("}")


def _section(section: Section, page: _Page) -> None:
    page.lines += [f".section {section.name}", "{"]
    page.lines += [line if line.endswith(":") else _INDENT + line for line in section.lines]
    page.lines.append("}")


def _sources(section: SourceSection, page: _Page) -> None:
    page.lines.append(".nv_intermediate_source_section {")
    for block in section.blocks:
        page.lines += [".code_block {", f'.ir_name: "{block.language}"', f".sourceFileName: {block.file}", ".source_begin"]
        page.lines += [*block.lines, ".source_end", "}"]
    page.lines.append("}")
