"""Special registers: `px.tid`, `px.ntid`, `px.ctaid`, `px.nctaid`, and all of them by name under `px.sreg`.

What stays the same while a thread runs is read once, in the prologue; counters and the like (``px.sreg.clock64``) are read where they
stand.
Names are PTX's own: ``px.tid.x``, ``px.sreg.laneid``, ``px.sreg.cluster_ctarank``.
"""

from __future__ import annotations

from math import prod
from typing import NoReturn

from ptxgen import ir
from ptxgen.errors import PtxgenError, TraceError
from ptxgen.instructions.special import SpecialRegister, special_register
from ptxgen.instructions.targets import order
from ptxgen.instructions.types import Type
from ptxgen.tracing.builder import Builder, current, given_register
from ptxgen.tracing.operatorless import operatorless
from ptxgen.tracing.provenance import Where, here
from ptxgen.tracing.values import Scalar

__all__ = ["ctaid", "nctaid", "ntid", "sreg", "tid"]


def _no_component(vector: Vector, symbol: str) -> TraceError:
    name = f"px.{vector.name}"
    return TraceError(f"{name} is used with {symbol}", where=here(), why="it has components", legal=f"{name}.x, .y or .z")


@operatorless(_no_component)
class Vector:
    """A special register with components ``.x``, ``.y`` and ``.z``."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def x(self) -> Scalar:
        return _read(f"{self.name}.x")

    @property
    def y(self) -> Scalar:
        return _read(f"{self.name}.y")

    @property
    def z(self) -> Scalar:
        return _read(f"{self.name}.z")

    def __repr__(self) -> str:
        return f"px.{self.name}"

    def _refuse(self, *_: object) -> NoReturn:
        raise _no_component(self, "an index, a call or unpacking")

    __getitem__ = __call__ = __iter__ = _refuse

    def __getattr__(self, name: str) -> Scalar:
        if name.startswith("__"):
            raise AttributeError(name)
        raise TraceError(f"%{self.name} has no component {name}", where=here(), legal=f"px.{self.name}.x, .y or .z")


tid = Vector("tid")
"""The thread's place in its block."""
ntid = Vector("ntid")
"""The block's shape in threads: constants."""
ctaid = Vector("ctaid")
"""The block's place in the grid."""
nctaid = Vector("nctaid")
"""The grid's shape in blocks."""


class _Special:
    """What `px.sreg` is."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Vector | Scalar:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            found, _ = special_register(name)
        except PtxgenError as error:
            raise TraceError(str(error), where=here(), legal="a special register by its name in PTX, without %") from None
        return Vector(name) if found.components else _read(name)


sreg = _Special()
"""Every special register by its PTX name: ``px.sreg.laneid``, ``px.sreg.clock64``, ``px.sreg.clusterid.x``."""


def _read(text: str) -> Scalar:
    builder, where = current(f"px.{text}" if "." in text else f"px.sreg.{text}"), here()
    found, component = special_register(text)
    _need(builder, found, where)
    key = ("sreg", text)
    if found.same == "never":
        return _mov(builder, found, component, where, None)
    made: Scalar | None = builder.root.numbered.get(key)
    if made is None:
        made = builder.root.numbered[key] = _read_once(builder, found, component, where)
    return made


def _read_once(builder: Builder, found: SpecialRegister, component: str, where: Where) -> Scalar:
    lo, hi = _range(builder, found, component)
    type = found.type
    if type.name != "u32":
        return _mov(builder, found, component, where, builder.prologue)
    text = found.name[1:] + (f".{component}" if component else "")
    value = builder.special(text, lo, hi)  # the engine reads thread indices by the same way
    made = Scalar(builder, value.type, value.operand, value.region, value.where, value.expr)
    made.same = value.same
    return made


def _range(builder: Builder, found: SpecialRegister, component: str) -> tuple[int, int]:
    """The least and the greatest value in this kernel."""
    values = found.values(component)
    lo, hi = values.start, values.stop - 1
    place = "xyz".find(component) if component else -1
    shapes = {"%tid": builder.block, "%ctaid": builder.grid, "%cluster_ctaid": builder.cluster}
    counts = {"%ntid": builder.block, "%cluster_nctaid": builder.cluster}
    blocks = prod(builder.cluster)
    if found.name == "%cluster_ctarank":
        return 0, blocks - 1
    if found.name == "%cluster_nctarank":
        return blocks, blocks
    if found.name in shapes:
        return 0, min(hi, shapes[found.name][place] - 1)
    if found.name in counts:
        return counts[found.name][place], counts[found.name][place]
    if found.name == "%nctaid":
        return 1, min(hi, builder.grid[place])
    return lo, hi


def _mov(builder: Builder, found: SpecialRegister, component: str, where: Where, into: list[ir.Statement] | None) -> Scalar:
    type: Type = found.type
    target, source = builder.register(type), ir.Reg(found.name, component or None)
    operands = [(target, given_register(target, type)), (source, given_register(source, type))]
    builder.emit(f"mov.{type.name}", operands, where=where, into=into)
    region = builder.region if into is None else builder.root
    made = Scalar(builder, type, target, region, where)
    if type.is_integer:
        builder.symbol(found.name[1:], made)
    return made


def _need(builder: Builder, found: SpecialRegister, where: Where) -> None:
    """Take note of the version and targets of a special register."""
    targets = builder.targets & found.targets
    if not targets or (builder.target is not None and builder.target not in found.targets):
        named = builder.target or "any target that has the instructions before it"
        raise TraceError(
            f"{found.name} does not exist on {named}",
            where=where,
            legal=f"targets {', '.join(sorted(found.targets, key=order))}, from PTX {found.version[0]}.{found.version[1]}",
        )
    builder.targets = targets
    builder.version = max(builder.version, found.version)
