"""Tensor maps: the 128-byte descriptions of a tensor in global memory by which bulk copies find their boxes (ISA 5.5).

`TensorMap` describes one and refuses, by name, whatever the hardware does not take; `TensorMap.encode` has the driver write it for an
address. Extents, strides and boxes are in the order of the tensor's axes, the contiguous axis last, as NumPy and the rest of ptxgen
count them; the driver and PTX's coordinates count from the contiguous axis, which `TensorMap.reversed` gives.

Rules without another source are those of ``cuTensorMapEncodeTiled`` (CUDA Driver API, "Tensor Map Object Management").
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple, Union

from ptxgen.layouts.expr import Expr, Scalar, Symbol
from ptxgen.layouts.swizzle import Swizzle
from ptxgen.runtime.errors import ArgumentError
from ptxgen.runtime.signature import Parameter, TensorMapParam, TypeLike

__all__ = ["ENCODED_BYTES", "MAX_BOX", "Encoder", "TensorMap", "TensorMapError", "element_kind", "evaluated", "swizzle_mode"]

ENCODED_BYTES = 128
MAX_BOX = 256
"""Elements that a box spans along an axis at most."""

_MAX_BOX_BYTES = 228 * 1024  # what the driver takes; a block's shared memory
_MAX_RANK, _MAX_ELEMENT_STRIDE, _MAX_EXTENT, _STRIDE_END = 5, 8, 1 << 32, 1 << 40
_CACHED = 256  # encoded maps that each parameter keeps


class TensorMapError(ArgumentError):
    """A tensor map that the hardware does not take.

    Attributes
    ----------
    rule : str
        The rule's name: ``"rank"``, ``"box extent"``, ``"stride"``, ...
    axis : int or None
        The axis at fault, in the tensor's order.
    """

    def __init__(self, message: str, rule: str, axis: int | None) -> None:
        self.rule = rule
        self.axis = axis
        super().__init__(message)


class _Kind(NamedTuple):
    """An element kind: its name in ``CUtensorMapDataType``, bits in global and in shared memory, whether NaN can fill it."""

    driver: str
    bits: int
    shared_bits: int
    floating: bool = False


_KINDS: dict[str, _Kind] = {
    "u8": _Kind("UINT8", 8, 8), "u16": _Kind("UINT16", 16, 16),
    "u32": _Kind("UINT32", 32, 32), "s32": _Kind("INT32", 32, 32), "u64": _Kind("UINT64", 64, 64), "s64": _Kind("INT64", 64, 64),
    "f16": _Kind("FLOAT16", 16, 16, True), "bf16": _Kind("BFLOAT16", 16, 16, True),
    "f32": _Kind("FLOAT32", 32, 32, True), "f64": _Kind("FLOAT64", 64, 64, True),
    "b4x16": _Kind("16U4_ALIGN8B", 4, 4), "b4x16_p64": _Kind("16U4_ALIGN16B", 4, 8), "b6x16_p32": _Kind("16U6_ALIGN16B", 6, 8),
}  # fmt: skip
_PADDED = ("b4x16_p64", "b6x16_p32")  # packed in global memory, with gaps in shared memory

# Mode -> the driver's name, and the most bytes of a box's row.
_SWIZZLES: dict[str, tuple[str, int]] = {
    "none": ("NONE", 0),
    "32B": ("32B", 32),
    "64B": ("64B", 64),
    "128B": ("128B", 128),
    "128B_atom_32B": ("128B_ATOM_32B", 128),
}
_INTERLEAVES = ("none", "16B", "32B")
_PROMOTIONS = {"none": "NONE", "64B": "L2_64B", "128B": "L2_128B", "256B": "L2_256B"}
_FILLS = {"zero": "NONE", "nan": "NAN_REQUEST_ZERO_FMA"}

_MODES = ((None, "none"), (Swizzle.B32, "32B"), (Swizzle.B64, "64B"), (Swizzle.B128, "128B"), (Swizzle.B128_ATOM32, "128B_atom_32B"))


def element_kind(dtype: TypeLike) -> str:
    """The kind by which a copy moves elements of a PTX type: its own where there is one, else unsigned integers of its width.

    No kind changes a bit on the way: ``.tf32`` goes as ``f32`` and is not rounded by the copy.

    Raises
    ------
    TensorMapError
        For a type of a width that no kind has.
    """
    if dtype.name in _KINDS:
        return dtype.name
    if dtype.name == "tf32":
        return "f32"
    kind = f"u{dtype.bits}"
    if kind not in _KINDS:
        raise TensorMapError(
            f"a tensor map of .{dtype.name}: elements of {dtype.bits} bits have no kind of their own. Fix: view the tensor as .b8, or name "
            f"one of {', '.join(_KINDS)}",
            "element kind", None,
        )  # fmt: skip
    return kind


def swizzle_mode(swizzle: Swizzle | None) -> str:
    """The mode that does to a box's image what `swizzle` does to byte addresses.

    Raises
    ------
    TensorMapError
        For a swizzle that no tensor map has.
    """
    for one, mode in _MODES:
        if one == swizzle:
            return mode
    known = ", ".join(f"{one} ({mode})" for one, mode in _MODES if one is not None)
    raise TensorMapError(f"no tensor map swizzles by {swizzle}. Fix: one of {known}, or none", "swizzle", None)


Term = Union[int, Expr]


class TensorMap:
    """One tensor map but for the address: what it covers, and what one copy through it moves.

    Parameters
    ----------
    kind : str or TypeLike
        Element kind, or a PTX type (see `element_kind`).
    shape : sequence of int or Expr
        Extents in elements, the contiguous axis last. An Expr, of named dims, has a value at launch (`at`).
    strides : sequence of int or Expr, optional
        Bytes from one element to the next along each axis but the last, whose elements are adjacent; row-major by default.
    box : sequence of int
        Extents that one copy spans along each axis.
    element_strides : sequence of int, optional
        Take every n-th element of the box along each axis; 1 by default.
    swizzle : str
        ``"none"``, ``"32B"``, ``"64B"``, ``"128B"``, or ``"128B_atom_32B"`` (sm_100 and newer).
    interleave : str
        ``"none"``, ``"16B"``, ``"32B"``.
    promotion : str
        What L2 fetches at least: ``"none"``, ``"64B"``, ``"128B"``, ``"256B"``. Changes no result.
    fill : str
        What elements outside of the tensor become: ``"zero"`` or ``"nan"``.
    name : str
        The tensor's name, for messages.

    Raises
    ------
    TensorMapError
        For whatever breaks a rule and is known already, with the axis and the numbers.
    """

    __slots__ = ("box", "element_strides", "fill", "interleave", "kind", "name", "promotion", "shape", "strides", "swizzle")

    def __init__(
        self,
        kind: str | TypeLike,
        shape: Sequence[Scalar],
        strides: Sequence[Scalar] | None = None,
        *,
        box: Sequence[int],
        element_strides: Sequence[int] | None = None,
        swizzle: str = "none",
        interleave: str = "none",
        promotion: str = "128B",
        fill: str = "zero",
        name: str = "",
    ) -> None:
        self.name = name
        self.kind = kind if isinstance(kind, str) else element_kind(kind)
        self.shape = tuple(_term(one) for one in shape)
        self.box = tuple(int(one) for one in box)
        self.element_strides = (1,) * len(self.shape) if element_strides is None else tuple(int(one) for one in element_strides)
        self.swizzle, self.interleave, self.promotion, self.fill = swizzle, interleave, promotion, fill
        self._check_words()
        self.strides = self._row_major() if strides is None else tuple(_term(one) for one in strides)
        _Rules(self).check()

    # ---- identity ------------------------------------------------------------------------------------------------------

    def _key(self) -> tuple[Any, ...]:
        return (
            self.kind, self.shape, self.strides, self.box, self.element_strides, self.swizzle, self.interleave, self.promotion, self.fill,
        )  # fmt: skip

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, TensorMap) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        shape, box = (", ".join(map(str, extents)) for extents in (self.shape, self.box))
        return f"<tensor map of {self.name or 'a tensor'}: .{self.kind}[{shape}], box ({box}), swizzle {self.swizzle}>"

    # ---- what it moves -------------------------------------------------------------------------------------------------

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def element_bits(self) -> int:
        """Bits of an element in global memory."""
        return _KINDS[self.kind].bits

    @property
    def box_shape(self) -> tuple[int, ...]:
        """Extents of what one copy leaves in shared memory: the box, over its element strides (the last axis has none)."""
        steps = self.element_strides if self.interleave != "none" else (*self.element_strides[:-1], 1)
        return tuple(-(-extent // step) for extent, step in zip(self.box, steps))

    @property
    def box_bytes(self) -> int:
        """Bytes that one copy moves into shared memory, elements outside of the tensor included: what a transaction barrier counts."""
        return prod(self.box_shape) * _KINDS[self.kind].shared_bits // 8

    @property
    def row_pitch(self) -> int:
        """Bytes from one row of the image in shared memory to the next: the swizzle's span, however short the rows are."""
        span = _SWIZZLES[self.swizzle][1] if self.interleave == "none" else 0
        return span or self.box_shape[-1] * _KINDS[self.kind].shared_bits // 8

    @property
    def image_bytes(self) -> int:
        """Bytes of shared memory that the image spans, from its first to behind its last row."""
        return prod(self.box_shape[:-1]) * self.row_pitch

    @property
    def start_multiple(self) -> int:
        """What divides a box's coordinate along the last axis: the elements of 16 bytes. Another is an illegal instruction on an H200."""
        return 128 // self.element_bits

    @property
    def base_alignment(self) -> int:
        """Bytes that must divide the tensor's address."""
        return 32 if self.interleave == "32B" or self.kind in _PADDED else 16

    # ---- at launch -----------------------------------------------------------------------------------------------------

    def at(self, dims: Mapping[str, int]) -> TensorMap:
        """The same with the values of named dims put in. The stride of an axis with one element says nothing, and any will do.

        Raises
        ------
        TensorMapError
            Where the values break a rule.
        """
        shape = [evaluated(one, dims) for one in self.shape]
        strides = [evaluated(one, dims) for one in self.strides]
        strides = [self.base_alignment if extent == 1 else stride for extent, stride in zip(shape, strides)]
        return TensorMap(
            self.kind, shape, strides, box=self.box, element_strides=self.element_strides, swizzle=self.swizzle,
            interleave=self.interleave, promotion=self.promotion, fill=self.fill, name=self.name,
        )  # fmt: skip

    def check_address(self, address: int) -> None:
        """Refuse a base address that is not aligned.

        Raises
        ------
        TensorMapError
        """
        if rest := address % self.base_alignment:
            raise TensorMapError(
                f"{self._of()}: the tensor begins at an address that is {rest} modulo {self.base_alignment}; tensor maps need "
                f"{self.base_alignment}-byte alignment. Fix: a tensor that is no offset view, or a copy of it",
                "base address", None,
            )  # fmt: skip

    def encode(self, address: int) -> bytes:
        """The 128 bytes for a tensor at a device address, written by the CUDA driver.

        Raises
        ------
        TensorMapError
            For a misaligned address, or extents that are known at launch alone.
        NoGpuError, DriverError
        """
        from ptxgen.runtime.driver import bindings, check, current_device

        self.check_address(address)
        fields = self.reversed()
        driver, on = bindings(), current_device()
        self._check_target(on.target)
        kinds, swizzles, fills = driver.CUtensorMapDataType, driver.CUtensorMapSwizzle, driver.CUtensorMapFloatOOBfill
        with on.current():  # the driver asks for a context, whichever
            result = driver.cuTensorMapEncodeTiled(
                getattr(kinds, f"CU_TENSOR_MAP_DATA_TYPE_{_KINDS[self.kind].driver}"),
                self.rank,
                address,
                [driver.cuuint64_t(one) for one in fields.shape],
                [driver.cuuint64_t(one) for one in fields.strides or (0,)],  # an empty list would be a null pointer, which it refuses
                [driver.cuuint32_t(one) for one in fields.box],
                [driver.cuuint32_t(one) for one in fields.element_strides],
                getattr(driver.CUtensorMapInterleave, f"CU_TENSOR_MAP_INTERLEAVE_{self.interleave.upper()}"),
                getattr(swizzles, f"CU_TENSOR_MAP_SWIZZLE_{_SWIZZLES[self.swizzle][0]}"),
                getattr(driver.CUtensorMapL2promotion, f"CU_TENSOR_MAP_L2_PROMOTION_{_PROMOTIONS[self.promotion]}"),
                getattr(fills, f"CU_TENSOR_MAP_FLOAT_OOB_FILL_{_FILLS[self.fill]}"),
            )
        made = check(result, f"encoding {self!r}")
        return struct.pack("<16Q", *(int(word) for word in made.opaque))

    def reversed(self) -> Fields:
        """Extents, strides, box and element strides from the contiguous axis outwards, as the driver and PTX's coordinates count.

        Raises
        ------
        TensorMapError
            Where an extent or a stride is known at launch alone.
        """
        for one in (*self.shape, *self.strides):
            if not isinstance(one, int):
                raise TensorMapError(f"{self._of()}: {one} has its value at launch alone; put it in by at(dims)", "extent", None)
        return Fields(self.shape[::-1], self.strides[::-1], self.box[::-1], self.element_strides[::-1])  # type: ignore[arg-type]

    @property
    def newer(self) -> str:
        """What of it sm_100 brought; empty where sm_90 has all of it."""
        if self.element_bits != _KINDS[self.kind].shared_bits or self.element_bits < 8:
            return f"kind {self.kind}"
        return f"swizzle {self.swizzle}" if self.swizzle == "128B_atom_32B" else ""

    def _check_target(self, target: str) -> None:
        number = int(target.removeprefix("sm_"))
        if self.newer and number < 100:
            raise TensorMapError(f"{self._of()}: {self.newer} on {target}; it needs sm_100 or newer", "target", None)
        if number < 90:
            raise TensorMapError(f"{self._of()}: {target} has no tensor maps; they need sm_90 or newer", "target", None)

    # ---- words ---------------------------------------------------------------------------------------------------------

    def _of(self) -> str:
        return f"tensor map of {self.name!r}" if self.name else "tensor map"

    def _row_major(self) -> tuple[Term, ...]:
        strides, step = [], self.element_bits
        total: Any = step
        for extent in self.shape[:0:-1]:
            total = total * extent
            strides.append(total.floordiv(8) if isinstance(total, Expr) else total // 8)
        return tuple(reversed(strides))

    def _check_words(self) -> None:
        for value, known, rule in (
            (self.kind, _KINDS, "element kind"), (self.swizzle, _SWIZZLES, "swizzle"), (self.interleave, _INTERLEAVES, "interleave"),
            (self.promotion, _PROMOTIONS, "promotion"), (self.fill, _FILLS, "fill"),
        ):  # fmt: skip
            if value not in known:
                raise TensorMapError(f"{self._of()}: {rule} {value!r} is none of {', '.join(known)}", rule, None)


class Fields(NamedTuple):
    """The numbers of a tensor map from the contiguous axis outwards; `strides` has one fewer, in bytes."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]


class _Rules:
    """Every rule of the encoding, in the order of its arguments. What is known at launch alone waits until then."""

    __slots__ = ("map",)

    def __init__(self, map: TensorMap) -> None:
        self.map = map

    def check(self) -> None:
        self._rank()
        self._extents()
        self._strides()
        self._box()
        self._inner_box()
        self._element_strides()
        if (size := self.map.box_bytes) > _MAX_BOX_BYTES:
            shape = ", ".join(map(str, self.map.box_shape))
            found = f"a copy moves {shape} elements, {size} bytes; {_MAX_BOX_BYTES} are the most"
            raise self._broken("box bytes", None, found, "a smaller box, and more copies")
        self._interleave()
        self._packed()
        if self.map.fill == "nan" and not _KINDS[self.map.kind].floating:
            floats = ", ".join(name for name, kind in _KINDS.items() if kind.floating)
            raise self._broken("fill", None, f"fill 'nan' for elements of kind {self.map.kind}; only {floats} have NaNs", "fill='zero'")

    def _broken(self, rule: str, axis: int | None, found: str, fix: str) -> TensorMapError:
        return TensorMapError(f"{self.map._of()}: {found}. Fix: {fix}", rule, axis)

    def _rank(self) -> None:
        rank = self.map.rank
        if not 1 <= rank <= _MAX_RANK:
            found = f"{rank} axes; a tensor map has 1 to {_MAX_RANK}"
            raise self._broken("rank", None, found, "merge axes that are contiguous, or fix one")
        steps = self.map.element_strides
        given: Sequence[Any]
        for what, given, want in (
            ("strides", self.map.strides, rank - 1),
            ("box extents", self.map.box, rank),
            ("element strides", steps, rank),
        ):
            if len(given) != want:
                note = " (the last axis has none)" if what == "strides" else ""
                raise self._broken("rank", None, f"{len(given)} {what} for {rank} axes; {want} are needed{note}", "one for each axis")

    def _extents(self) -> None:
        for axis, extent in enumerate(self.map.shape):
            if isinstance(extent, int) and not 1 <= extent <= _MAX_EXTENT:
                fix = "launch nothing for an empty tensor" if extent == 0 else "split the axis"
                raise self._broken("extent", axis, f"axis {axis} has {extent} elements; 1 to 2^32 are allowed", fix)

    def _strides(self) -> None:
        multiple = self.map.base_alignment
        for axis, stride in enumerate(self.map.strides):
            if not isinstance(stride, int):
                continue
            if stride % multiple:
                up = -(-stride // multiple) * multiple
                raise self._broken(
                    "stride", axis,
                    f"axis {axis} has a stride of {stride} bytes, which is {stride % multiple} modulo {multiple}; "
                    f"strides are multiples of {multiple} bytes",
                    f"rows padded to {up} bytes ({up * 8 // self.map.element_bits} elements)",
                )  # fmt: skip
            if not 0 <= stride < _STRIDE_END:
                found = f"axis {axis} has a stride of {stride} bytes; 0 to 2^40 - 1 are allowed"
                raise self._broken("stride", axis, found, "a contiguous copy of the tensor")

    def _box(self) -> None:
        for axis, extent in enumerate(self.map.box):
            if not 1 <= extent <= MAX_BOX:
                parts = -(-extent // MAX_BOX)
                fix = f"{parts} copies of {-(-extent // parts)} elements" if extent > MAX_BOX else "at least one element"
                found = f"the box spans {extent} elements along axis {axis}; 1 to {MAX_BOX} are allowed"
                raise self._broken("box extent", axis, found, fix)

    def _inner_box(self) -> None:
        axis, extent = self.map.rank - 1, self.map.box[-1]
        bits = _KINDS[self.map.kind].shared_bits
        row = f"the box's rows, {extent} elements of {bits} bits along axis {axis}, are {extent * bits / 8:g} bytes"
        if extent * bits % 128:
            up = -(-extent * bits // 128) * 128 // bits
            raise self._broken("inner box", axis, f"{row}; a multiple of 16 is needed", f"a box of {up} elements along axis {axis}")
        span = _SWIZZLES[self.map.swizzle][1] if self.map.interleave == "none" else 0
        if span and extent * bits > 8 * span:
            raise self._broken(
                "swizzle span", axis, f"{row}; swizzle {self.map.swizzle} takes at most {span}",
                f"a box of at most {8 * span // bits} elements along axis {axis}, and more copies",
            )  # fmt: skip

    def _element_strides(self) -> None:
        for axis, step in enumerate(self.map.element_strides):
            if not 1 <= step <= _MAX_ELEMENT_STRIDE:
                found = f"the element stride along axis {axis} is {step}; 1 to {_MAX_ELEMENT_STRIDE} are allowed"
                raise self._broken("element stride", axis, found, "a view of the tensor with that stride")
        if self.map.element_strides[-1] != 1 and self.map.interleave == "none":
            axis, step = self.map.rank - 1, self.map.element_strides[-1]
            raise self._broken(
                "element stride", axis, f"the element stride along the contiguous axis {axis} is {step}, and the hardware ignores it",
                "1 there, and take every n-th element out of shared memory",
            )  # fmt: skip

    def _interleave(self) -> None:
        mode, swizzle = self.map.interleave, self.map.swizzle
        if mode == "none":
            return
        if self.map.rank < 3:
            raise self._broken("interleave", None, f"interleave {mode} with {self.map.rank} axes; it needs 3 to 5", "interleave='none'")
        if mode == "32B" and swizzle != "32B":
            raise self._broken("interleave", None, f"interleave 32B with swizzle {swizzle}; it needs swizzle 32B", "swizzle='32B'")

    def _packed(self) -> None:
        kind, axis, extent = self.map.kind, self.map.rank - 1, self.map.shape[-1]
        multiple = 128 if kind in _PADDED else 2 if kind == "b4x16" else 1
        if isinstance(extent, int) and extent % multiple:
            up = -(-extent // multiple) * multiple
            found = f"axis {axis} has {extent} elements of kind {kind}; a multiple of {multiple} is needed"
            raise self._broken("packed extent", axis, found, f"{up} elements")
        if kind not in _PADDED:
            return
        if self.map.box[-1] != 128:
            found = f"the box spans {self.map.box[-1]} elements of kind {kind} along axis {axis}; it must span 128"
            raise self._broken("packed box", axis, found, "128")
        if self.map.interleave != "none" or self.map.swizzle not in ("none", "128B", "128B_atom_32B"):
            found = f"kind {kind} with interleave {self.map.interleave} and swizzle {self.map.swizzle}"
            raise self._broken("packed swizzle", None, found, "interleave='none' and swizzle none, 128B or 128B_atom_32B")


def _term(value: Scalar) -> Term:
    """An extent or a stride: an int where it is one."""
    if isinstance(value, Expr):
        return value if value.constant is None else value.constant
    return int(value.__index__())


def evaluated(term: Scalar | Symbol, dims: Mapping[str, int]) -> int:
    """The value of an expression of named dims."""
    if isinstance(term, int):
        return term
    return sum(factor * prod(dims[one.name] for one in monomial) for monomial, factor in Expr.of(term).terms.items())


class Encoder:
    """Encodes one tensor-map parameter of a signature: by the tensor's address and the values of the signature's dims.

    Shape and strides follow from the dims, so these are the whole key. The newest maps are kept.
    """

    __slots__ = ("_dims", "_encoded", "param")

    def __init__(self, param: TensorMapParam, dims: Sequence[str]) -> None:
        self.param = param
        self._dims = tuple(dims)
        self._encoded: dict[tuple[int, ...], bytes] = {}

    def __call__(self, address: int, *dims: int) -> bytes:
        """The 128 bytes for a tensor at `address`.

        Raises
        ------
        TensorMapError
            Where address or dims break a rule.
        """
        key = (address, *dims)
        found = self._encoded.get(key)
        if found is None:
            found = self.describe(dims).encode(address)
            if len(self._encoded) >= _CACHED:
                self._encoded.clear()
            self._encoded[key] = found
        return found

    def describe(self, dims: Sequence[int]) -> TensorMap:
        """The tensor map for these values of the signature's dims, but for its address."""
        return self.param.map.at(dict(zip(self._dims, dims)))


def encoders(params: Sequence[Parameter], dims: Sequence[str]) -> dict[str, Encoder]:
    """An encoder for each tensor-map parameter, by the parameter's name."""
    return {param.name: Encoder(param, dims) for param in params if isinstance(param, TensorMapParam)}
