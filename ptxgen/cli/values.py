"""Arguments on the command line: ``f32[1024]=arange``, ``u32=1000``, ``bytes=00ff``, ``texture.2d.linear:f32[8,8]=random``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ptxgen.cli.output import UsageError
from ptxgen.instructions.types import ELEMENT_TYPES, TYPES, Type
from ptxgen.layouts.errors import PtxgenError

__all__ = ["Given", "parse_argument", "parse_dims"]

_SPEC = re.compile(r"(\w+)(?:\[([\d,\s]*)\])?=(.*)", re.DOTALL)
_IMAGE = re.compile(r"(texture|surface)((?:\.\w+)*):(.*)", re.DOTALL)
_FORMS = (
    "TYPE[SHAPE]=zeros|ones|arange|random|NUMBER|FILE.npy for an array, TYPE=NUMBER for a scalar, bytes=HEX for a structure, "
    "texture.2d:TYPE[SHAPE]=... for a texture"
)
_WORDS = {
    **{word: ("geometry", word) for word in ("1d", "2d", "3d", "a1d", "a2d", "buffer")},
    **{word: ("address", word) for word in ("wrap", "mirror", "clamp", "border")},
    "linear": ("filter", "linear"), "nearest": ("filter", "nearest"), "normalized": ("normalized", True), "unorm": ("read", "normalized"),
    "x2": ("channels", 2), "x4": ("channels", 4),
}  # fmt: skip
"""What may be said of a texture or surface: the argument of `px.Texture` that a word stands for."""


class Given(NamedTuple):
    """One argument: an `array` for a pointer, a `number` of type `type`, or the `content` of a structure.

    Of a texture or surface `image` says which of the two, and how the array is read.
    """

    text: str
    type: Type | None = None
    array: NDArray[Any] | None = None
    number: Any = None
    content: bytes | None = None
    image: tuple[str, dict[str, Any]] | None = None


def parse_argument(text: str, random: np.random.Generator) -> Given:
    """Read one ``--arg``.

    Raises
    ------
    UsageError
        Where it is not of one of the forms, or the values do not fit the type.
    """
    image = _IMAGE.fullmatch(text.strip())
    if image is not None:
        given = parse_argument(image[3], random)
        if given.array is None:
            raise UsageError(f"--arg {text}: a {image[1]} is made of an array: {_FORMS}")
        return given._replace(text=text, image=(image[1], _image_words(text, image[1], image[2])))
    match = _SPEC.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--arg {text}: write {_FORMS}")
    name, shape, value = match[1], match[2], match[3].strip()
    if name == "bytes" and shape is None:
        return Given(text, content=_bytes(text, value))
    type = TYPES.get(name) or ELEMENT_TYPES.get(name)
    if type is None or type.kind in ("pred", "opaque"):
        raise UsageError(f"--arg {text}: {name!r} is no type of a value; types are f32, f16, bf16, u32, s64, b8, ...")
    if shape is None and not value.endswith(".npy"):
        return Given(text, type, number=_number(text, type, value))
    return Given(text, type, array=_array(text, type, shape, value, random))


def parse_dims(text: str, option: str) -> tuple[int, ...]:
    """``64`` or ``16,16,4``."""
    parts = re.split(r"[,x]", text)
    if not 1 <= len(parts) <= 3 or not all(part.strip().isdigit() for part in parts):
        raise UsageError(f"{option} {text}: one to three sizes are taken, such as 64 or 16,16,4")
    return tuple(map(int, parts))


def _image_words(text: str, kind: str, said: str) -> dict[str, Any]:
    """``.2d.linear`` as arguments of `px.Texture`, or `px.Surface`."""
    found = {}
    for word in filter(None, said.split(".")):
        name, value = _WORDS.get(word, ("", None))
        if not name or (kind == "surface" and name not in ("geometry", "channels")):
            known = [one for one, (means, _) in _WORDS.items() if kind == "texture" or means in ("geometry", "channels")]
            raise UsageError(f"--arg {text}: {word!r} says nothing of a {kind}; words are {', '.join(known)}")
        found[name] = value
    return found


def _bytes(text: str, value: str) -> bytes:
    try:
        return bytes.fromhex(value)
    except ValueError:
        raise UsageError(f"--arg {text}: bytes are written in hexadecimal, two digits each") from None


def _number(text: str, type: Type, value: str) -> Any:
    try:
        return float(value) if type.is_float else int(value, 0)
    except ValueError:
        kind = "a number" if type.is_float else "an integer"
        raise UsageError(f"--arg {text}: {value!r} is not {kind}; an array has its shape in brackets: {type}[1024]={value}") from None


def _array(text: str, type: Type, shape: str | None, value: str, random: np.random.Generator) -> NDArray[Any]:
    extents = tuple(int(part) for part in shape.split(",") if part.strip()) if shape else None
    if value.endswith(".npy"):
        return _loaded(text, type, extents, value)
    if extents is None:
        raise UsageError(f"--arg {text}: an array needs its shape, such as {type}[1024]")
    try:
        dtype = type.numpy
        if value == "random":
            return _random(type, extents, random)
        if value == "arange":
            return np.arange(int(np.prod(extents))).astype(dtype).reshape(extents)
        filled = {"zeros": 0, "ones": 1}.get(value)
        return np.full(extents, _number(text, type, value) if filled is None else filled, dtype)
    except (MemoryError, OverflowError, PtxgenError) as error:
        raise UsageError(f"--arg {text}: {error}" if f"--arg {text}" not in str(error) else str(error)) from None


def _random(type: Type, shape: tuple[int, ...], random: np.random.Generator) -> NDArray[Any]:
    """Floats in [-1, 1); other types take all of their values."""
    if type.is_float and type.lanes == 1:
        return random.uniform(-1, 1, shape).astype(type.numpy)
    count = int(np.prod(shape)) * max(1, type.bits // 8)
    return np.frombuffer(random.bytes(count), type.numpy).reshape(shape).copy()


def _loaded(text: str, type: Type, shape: tuple[int, ...] | None, name: str) -> NDArray[Any]:
    if not Path(name).is_file():
        raise UsageError(f"--arg {text}: there is no file {name}")
    try:
        found = np.load(name, allow_pickle=False)
    except ValueError as error:
        raise UsageError(f"--arg {text}: {name} can't be read: {error}") from None
    dtype = type.numpy
    if found.dtype.kind == "V" and found.dtype.itemsize == dtype.itemsize:  # NumPy saves ml_dtypes as plain bytes
        found = found.view(dtype)
    same_bits = found.dtype.itemsize == dtype.itemsize and type.kind == "bits"
    if found.dtype != dtype and not same_bits:
        raise UsageError(f"--arg {text}: {name} holds {found.dtype}, not {dtype}")
    if shape is not None and found.shape != shape:
        raise UsageError(f"--arg {text}: {name} has the shape {found.shape}")
    return np.ascontiguousarray(found)
