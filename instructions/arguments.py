"""What public calls take for an opcode and for an element type; see `ptxgen.layouts.arguments`."""

from __future__ import annotations

from ptxgen.instructions.types import Type
from ptxgen.layouts.arguments import Kind

__all__ = ["ELEMENT", "OPCODE"]

ELEMENT = Kind(lambda value: isinstance(value, Type) and value.kind != "pred", "an element type", "px.bf16, px.f32, px.u8, ...")
OPCODE = Kind(lambda value: isinstance(getattr(value, "text", value), str), "an opcode", "its text, or px.ptx. and its words")
