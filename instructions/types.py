"""The PTX ISA's types, as values (ISA section 5.2, "Types").

A `Type` describes what one register or one element in memory holds. Packed types (``f16x2``) are instruction types: they say
that a register holds several elements. Sub-byte and narrow floating types (``e4m3``, ``e2m1``) are element types of tensors;
PTX has no register for one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ptxgen.layouts.errors import PtxgenError

__all__ = ["ELEMENT_TYPES", "TYPES", "Type", "type_named"]


class Type:
    """One PTX type.

    Attributes
    ----------
    name : str
        The ISA's name without the leading dot, e.g. ``"f32"``.
    kind : str
        ``"bits"``, ``"unsigned"``, ``"signed"``, ``"float"``, ``"pred"`` or ``"opaque"`` (tex, sampler and surface references).
    bits : int
        Width of a value in bits; a predicate counts 1.
    lanes : int
        Elements packed into one value: 2 for ``f16x2``.
    element : Type
        The type of one of them; the type itself where ``lanes`` is 1.
    is_float, is_integer, signed : bool
        What `kind` says; untyped bits count as neither floats nor integers.
    word : str
        How a value of it is declared, loaded, stored and passed: by its own name, or as untyped bits where it is half a word, packed or
        narrow.
    """

    __slots__ = ("_numpy", "bits", "element", "is_float", "is_integer", "kind", "lanes", "name", "signed", "word")

    maker: ClassVar[Callable[[Type, Any], Any] | None] = None
    """What calling a type does inside a kernel; set by the tracer."""

    def __init__(self, name: str, kind: str, bits: int, lanes: int = 1, element: Type | None = None) -> None:
        self.name = name
        self.kind = kind
        self.bits = bits
        self.lanes = lanes
        self.element = element or self
        self.is_float = kind == "float"
        self.is_integer = kind in ("signed", "unsigned")
        self.signed = kind == "signed"
        plain = lanes == 1 and (self.is_integer or name in ("f32", "f64"))
        self.word = name if plain else f"b{bits}"
        self._numpy: Any = None

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return type_named, (self.name,)

    def __call__(self, value: Any) -> Any:
        """A constant of this type inside a kernel: ``px.f32(0.1)`` is the f32 nearest to 0.1, ``px.u32(5)`` is 5."""
        maker = Type.maker
        if maker is None:
            raise PtxgenError(f"px.{self.name}({value!r}) makes a constant inside a kernel")
        return maker(self, value)

    @property
    def numpy(self) -> Any:
        """The NumPy dtype with the same bits (``ml_dtypes`` for narrow floats); `PtxgenError` where none exists."""
        if self._numpy is None:
            self._numpy = _numpy_dtype(self)
        return self._numpy


def _numpy_dtype(of: Type) -> Any:
    import numpy as np

    if of.kind == "pred":
        return np.dtype(np.bool_)
    if of.lanes > 1:
        of = Type(of.name, "bits", of.bits)
    plain = {"bits": "u", "unsigned": "u", "signed": "i", "float": "f"}.get(of.kind)
    narrow = _ML_DTYPES.get(of.name)
    if narrow is not None:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, narrow))
    if plain is None or of.bits not in (8, 16, 32, 64):
        raise PtxgenError(f"no NumPy dtype holds .{of.name}")
    return np.dtype(f"{plain}{of.bits // 8}")


_ML_DTYPES = {
    "bf16": "bfloat16",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "e3m2": "float6_e3m2fn",
    "e2m3": "float6_e2m3fn",
    "e2m1": "float4_e2m1fn",
    "ue8m0": "float8_e8m0fnu",
    "s4": "int4",
    "u4": "uint4",
}

TYPES: dict[str, Type] = {}
"""Every type that can stand in an instruction or a declaration, by name."""

ELEMENT_TYPES: dict[str, Type] = {}
"""Types that exist only as elements of tensors or inside packed types, by name."""


def _define(table: dict[str, Type], name: str, kind: str, bits: int, lanes: int = 1, element: Type | None = None) -> Type:
    table[name] = made = Type(name, kind, bits, lanes, element)
    return made


pred = _define(TYPES, "pred", "pred", 1)
b8, b16, b32, b64, b128 = (_define(TYPES, f"b{n}", "bits", n) for n in (8, 16, 32, 64, 128))
u8, u16, u32, u64 = (_define(TYPES, f"u{n}", "unsigned", n) for n in (8, 16, 32, 64))
s8, s16, s32, s64 = (_define(TYPES, f"s{n}", "signed", n) for n in (8, 16, 32, 64))
f16 = _define(TYPES, "f16", "float", 16)
bf16 = _define(TYPES, "bf16", "float", 16)
tf32 = _define(TYPES, "tf32", "float", 32)
f32 = _define(TYPES, "f32", "float", 32)
f64 = _define(TYPES, "f64", "float", 64)

e4m3, e5m2, ue8m0 = (_define(ELEMENT_TYPES, name, "float", 8) for name in ("e4m3", "e5m2", "ue8m0"))
s2f6 = _define(ELEMENT_TYPES, "s2f6", "float", 8)  # fixed point, but like the narrow floats a value in untyped bits
e3m2, e2m3 = (_define(ELEMENT_TYPES, name, "float", 6) for name in ("e3m2", "e2m3"))
e2m1 = _define(ELEMENT_TYPES, "e2m1", "float", 4)
s4 = _define(ELEMENT_TYPES, "s4", "signed", 4)
u4 = _define(ELEMENT_TYPES, "u4", "unsigned", 4)
b1 = _define(ELEMENT_TYPES, "b1", "bits", 1)
b4 = _define(ELEMENT_TYPES, "b4", "bits", 4)
b6 = _define(ELEMENT_TYPES, "b6", "bits", 6)

# A packed 6-bit type keeps a byte for each element (ISA 5.2.3, "Packed floating-point types").
for _element, _lanes, _bits in (
    (f16, 2, 32), (bf16, 2, 32), (f32, 2, 64), (u16, 2, 32), (s16, 2, 32), (u8, 4, 32), (s8, 4, 32),
    (e4m3, 2, 16), (e5m2, 2, 16), (ue8m0, 2, 16), (s2f6, 2, 16), (e3m2, 2, 16), (e2m3, 2, 16), (e2m1, 2, 8),
    (e4m3, 4, 32), (e5m2, 4, 32), (ue8m0, 4, 32), (e3m2, 4, 32), (e2m3, 4, 32), (e2m1, 4, 16),
):  # fmt: skip
    _define(TYPES, f"{_element.name}x{_lanes}", _element.kind, _bits, _lanes, _element)

for _name, _kind_bits in (("texref", 64), ("samplerref", 64), ("surfref", 64)):
    _define(TYPES, _name, "opaque", _kind_bits)


def type_named(name: str) -> Type:
    """The type called `name`, with or without its leading dot; `PtxgenError` names the nearest for anything else."""
    key = name.lstrip(".")
    found = TYPES.get(key) or ELEMENT_TYPES.get(key)
    if found is None:
        import difflib

        near = difflib.get_close_matches(key, [*TYPES, *ELEMENT_TYPES], n=3)
        hint = f"; nearest: {', '.join(near)}" if near else ""
        raise PtxgenError(f"no PTX type is called {name!r}{hint}")
    return found
