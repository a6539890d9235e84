"""``ptxgen draw``: a layout of ptxgen, CuTe or Triton, or an instruction's operand, as SVG or as a table in the terminal."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ptxgen.cli.output import UsageError
from ptxgen.instructions.hardware import HardwareOperand, hardware_layout, hardware_operands
from ptxgen.instructions.types import ELEMENT_TYPES, TYPES
from ptxgen.layouts import AxisTerm, Layout, LayoutError, Replica, Shard, Swizzle, m, parse
from ptxgen.layouts.pictures import WAYS, svg, terminal

__all__ = ["DrawOptions", "draw"]

_REGISTER = 32  # bits
_SWIZZLES = {"32B": Swizzle.B32, "64B": Swizzle.B64, "128B": Swizzle.B128, "128B-atom32B": Swizzle.B128_ATOM32}


class DrawOptions(NamedTuple):
    """The options of the command, as they are written."""

    by: str | None
    output: Path | None
    operand: str | None
    choices: Sequence[str]
    element: str | None
    container: str | None
    swizzle: str | None
    shape: str | None
    rows: int | None
    names: str | None
    title: str | None
    limit: int


_Reader = Callable[[str, "tuple[int, ...] | None", "int | None"], Layout]
"""Makes a layout of a text, the tile's extents and the bits of an element."""


class _Drawing(NamedTuple):
    layout: Layout
    by: str | None
    bits: int | None
    container: int | None
    names: tuple[str, ...] | None
    title: str


def draw(what: str, options: DrawOptions) -> None:
    """Write the picture of a layout or of an opcode's operand to a file, or show it in the terminal.

    Raises
    ------
    PtxgenError
        For what has no picture.
    UsageError
        For options that say nothing about what is drawn, or are not understood.
    """
    if options.output is not None and options.output.suffix.lower() not in (".svg", ""):
        raise UsageError(f"--output {options.output}: SVG is what is written; name the file *.svg")
    if options.by is not None and options.by not in WAYS:
        raise UsageError(f"--as {options.by}: owner, bank and address are known")
    reader = next((reader for start, reader in _READERS.items() if re.match(rf"\s*(?:{start})", what)), None)
    drawing = _of_opcode(what, options) if reader is None else _of_text(what, reader, options)
    layout = drawing.layout if options.swizzle is None else _swizzled(drawing.layout, options.swizzle)
    named: dict[str, Any] = {"bits": drawing.bits, "container": drawing.container, "rows": options.rows, "limit": options.limit}
    named["title"] = drawing.title if options.title is None else options.title
    if options.shape is not None and reader is not _triton:
        layout = layout.reshape(*_numbers("--shape", options.shape))
    else:
        named["names"] = drawing.names
    if options.names is not None:
        named["names"] = tuple(options.names.split(","))
    by = options.by or drawing.by
    try:
        _written(layout, by, named, options.output)
    except LayoutError as error:
        raise error.reword(_as_options) from None


def _written(layout: Layout, by: str | None, named: dict[str, Any], output: Path | None) -> None:
    if output is not None:
        output.write_text(svg(layout, by, **named), encoding="utf-8")
    else:
        _show(layout, by, named)


def _show(layout: Layout, by: str | None, named: dict[str, Any]) -> None:
    from rich.console import Console

    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=10_000)
    console.print(terminal(layout, by, width=console.width, **named))


def _of_text(text: str, reader: _Reader, options: DrawOptions) -> _Drawing:
    """A layout in some notation."""
    if options.operand is not None or options.choices:
        raise UsageError("--operand and --set are of opcodes; this is a layout")
    bits = _bits("--type", options.element)
    told = re.search(r"smem_ptr\w*[\[<](\d+)", text)
    if bits is None and told:  # a layout of CuTe behind a pointer says how wide its elements are
        bits = int(told[1])
    shape = None if options.shape is None else _numbers("--shape", options.shape)
    try:
        layout = reader(text, shape, bits)
    except LayoutError as error:
        raise LayoutError(_as_options(str(error))) from None
    return _Drawing(layout, None, bits, _bits("--container", options.container), None, "")


def _cute(text: str, shape: tuple[int, ...] | None, bits: int | None) -> Layout:
    from ptxgen.layouts.interchange import from_cute

    return from_cute(text, bits=bits)


def _triton(text: str, shape: tuple[int, ...] | None, bits: int | None) -> Layout:
    from ptxgen.layouts.interchange import from_triton

    if shape is None:
        raise UsageError("an encoding of Triton is for tiles of many shapes: --shape 64,32, for example")
    return from_triton(text, shape, bits=bits)


# How a text begins -> what reads it.
_READERS: dict[str, _Reader] = {
    r"S\[|Layout\(\s*S\[": lambda text, shape, bits: parse(text),
    r"#|(?:\w+\.)?\w+Layout\(": _triton,
    r"[(\d_]|Sw<|Swizzle<|Layout<|ComposedLayout<|make_": _cute,
}


def _of_opcode(opcode: str, options: DrawOptions) -> _Drawing:
    """An operand of an instruction, as the contract says where its elements are."""
    found = hardware_operands(opcode)
    if options.element is not None or options.container is not None:
        raise UsageError("--type and --container are of layouts; an opcode says what its operands are made of")
    if options.operand is None and len(found) > 1:
        raise UsageError(f"{opcode} has several operands: --operand {' or '.join(found)}")
    name = options.operand or next(iter(found), "")
    try:
        layout = hardware_layout(opcode, name, **dict(map(_choice, options.choices)))
    except LayoutError as error:
        raise error.reword(lambda text: re.sub(r"^(\w+) = ", r"--set \1=", text)) from None
    operand = found.get(name) or _meant(found, name)
    title, names = f"{opcode}, {operand.operand}", operand.axes or None
    bits = 1 if operand.unit == "bit" else (TYPES.get(operand.unit) or ELEMENT_TYPES[operand.unit]).bits
    if operand.place == "addresses" and any(axis.is_thread for axis in layout.axes):
        return _Drawing(_without_memory(layout), "owner", None, None, names, f"{title}: who gives the address")
    if operand.place == "registers":
        return _Drawing(layout, "owner", bits, max(bits, _REGISTER), names, title)
    return _Drawing(layout, "address", bits, None, names, title)


def _meant(found: dict[str, HardwareOperand], name: str) -> HardwareOperand:
    """The operand that `hardware_layout` has taken for a name of the ISA's figures, such as A."""
    return next(one for operand, one in found.items() if operand.partition("_")[0] == name.lower())


def _without_memory(layout: Layout) -> Layout:
    """The threads alone."""

    def threads(step: AxisTerm) -> AxisTerm:
        return AxisTerm(part for part in step.parts if part[0] is not m)

    return Layout(Shard(tuple(tuple((extent, threads(step)) for extent, step in part) for part in layout.dims)))


def _swizzled(layout: Layout, text: str) -> Layout:
    swizzle = _SWIZZLES.get(text) or _SWIZZLES.get(f"{text}B")
    if swizzle is None:
        numbers = _numbers("--swizzle", text, f"{', '.join(_SWIZZLES)} or bits,base,shift such as 3,4,3")
        if len(numbers) != 3:
            raise UsageError(f"--swizzle {text}: three numbers are expected: bits,base,shift")
        swizzle = Swizzle(*numbers)
    replicas = Replica(layout.replica_dims) if layout.replica_dims else None
    return Layout(Shard(layout.dims), replicas, offset=layout.offset, swizzle=swizzle, unit=layout.unit)


# ---- words of the command line ------------------------------------------------------------------------------------------

_OPTIONS = {"by": "--as", "bits": "--type", "container": "--container", "rows": "--rows", "names": "--names", "limit": "--limit"}


def _as_options(text: str) -> str:
    """Python's keywords in a sentence as options of the command."""
    return re.sub(r"\b(by|bits|container|rows|names|limit)=\"?(\w+)\"?", lambda found: f"{_OPTIONS[found[1]]} {found[2]}", text)


def _numbers(option: str, text: str, known: str = "numbers such as 8,64") -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"{option} {text}: {known} are understood") from None


def _bits(option: str, text: str | None) -> int | None:
    """The width that a type or a number of bits says."""
    if text is None or text.isdecimal():
        return None if text is None else int(text)
    found = TYPES.get(text) or ELEMENT_TYPES.get(text)
    if found is None:
        raise UsageError(f"{option} {text}: write a type such as bf16 or b32, or a number of bits")
    return found.bits


def _choice(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise UsageError(f"--set {text}: write NAME=VALUE")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
