"""Textures and surfaces: arrays that kernels reach by a handle, as by a `cudaTextureObject_t` (ISA 5.3, 9.7.12, 9.7.13).

A handle is a number, given where the kernel takes 64 bits. It finds its image as long as somebody holds the image; `image_at` looks it up.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from ptxgen.emulator.operands import Array
from ptxgen.layouts.errors import PtxgenError

__all__ = ["Image", "Surface", "Texture", "image_at"]

_AXES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 2, "a2d": 3, "buffer": 1}
"""Axes of the array, but for one of channels."""
_ELEMENTS = tuple(np.dtype(name) for name in ("u1", "i1", "u2", "i2", "u4", "i4", "f2", "f4"))
_MODES = ("wrap", "mirror", "clamp", "border")

_numbers = count(0x7E00_0000_0000, 64)
_images: WeakValueDictionary[int, Image] = WeakValueDictionary()


class Image:
    """What textures and surfaces share.

    Attributes
    ----------
    array : numpy.ndarray
    geometry : str
        As opcodes spell it: ``"1d"``, ``"2d"``, ``"3d"``, ``"a1d"``, ``"a2d"``, or ``"buffer"``.
    elements : numpy.ndarray
        The array as (layers, depth, height, width, channels).
    """

    __slots__ = ("__weakref__", "_handle", "array", "elements", "geometry")

    emulated_only = True
    """A GPU's handles come from its driver."""

    def __init__(self, array: Any, geometry: str, channels: int) -> None:
        if geometry not in _AXES:
            raise PtxgenError(f"geometry={geometry!r} is none of {', '.join(_AXES)}")
        if not isinstance(array, np.ndarray) or array.dtype not in _ELEMENTS:
            found = f"an array of {array.dtype}" if isinstance(array, np.ndarray) else f"a {type(array).__name__}"
            raise PtxgenError(f"{type(self).__name__} takes a NumPy array of 8-, 16- or 32-bit integers, float16 or float32, not {found}")
        if channels not in (1, 2, 4):
            raise PtxgenError(f"channels={channels!r}: an element has 1, 2 or 4 of them")
        wanted = _AXES[geometry] + (channels > 1)
        if array.ndim != wanted or 0 in array.shape or (channels > 1 and array.shape[-1] != channels):
            axes = f"{_AXES[geometry]} axes{f' and a last one of {channels} channels' if channels > 1 else ''}"
            raise PtxgenError(f"geometry {geometry!r} takes {axes}, none of them empty, not the shape {array.shape}")
        if not array.flags.c_contiguous:
            raise PtxgenError(f"{type(self).__name__} takes a contiguous array; .copy() makes one")
        extents = array.shape[:-1] if channels > 1 else array.shape
        layers = extents[:1] if geometry in ("a1d", "a2d") else (1,)
        inner = extents[1:] if geometry in ("a1d", "a2d") else extents
        self.array, self.geometry = array, geometry
        self.elements: Array = array.reshape(*layers, *(1,) * (3 - len(inner)), *inner, channels)
        self._handle = next(_numbers)
        _images[self._handle] = self

    def __index__(self) -> int:
        """The handle."""
        return self._handle

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.geometry} of {self.array.dtype}{list(self.array.shape)}>"

    @property
    def extents(self) -> tuple[int, int, int]:
        """Width, height and depth."""
        _, depth, height, width, _ = self.elements.shape
        return width, height, depth

    @property
    def layers(self) -> int:
        """Images of an array; 0 where it is none."""
        return self.elements.shape[0] if self.geometry in ("a1d", "a2d") else 0


class Texture(Image):
    """An array that kernels read by ``tex`` and ``tld4``, in the emulator.

    Parameters
    ----------
    array : numpy.ndarray
        Integers of 8, 16 or 32 bits, float16 or float32, row-major: (height, width) for ``"2d"``, (layers, height, width) for ``"a2d"``.
        It is not copied: what changes in it is seen by the next launch.
    geometry : str
        ``"1d"``, ``"2d"``, ``"3d"``; ``"a1d"`` and ``"a2d"`` for arrays of layers; ``"buffer"`` for linear memory, which is read at whole
        numbers alone (``tex1Dfetch``).
    channels : int
        Components of an element, 1, 2 or 4; more than one are the array's last axis.
    filter : {"nearest", "linear"}
        ``"linear"`` blends neighbours, with weights of 8 bits behind the point.
    address : str or sequence of str
        What lies outside, along x, y and z: ``"wrap"``, ``"mirror"``, ``"clamp"``, ``"border"`` (zeros). The first two are for normalized
        coordinates; others are clamped then.
    normalized : bool
        Whether coordinates run from 0 to 1.
    read : {"element", "normalized"}
        ``"normalized"``: 8- and 16-bit integers are read as floats from 0 or -1 to 1.

    Raises
    ------
    PtxgenError
        If these do not go together.
    """

    __slots__ = ("filter", "modes", "normalized", "read")

    def __init__(
        self,
        array: Any,
        geometry: str = "2d",
        *,
        channels: int = 1,
        filter: str = "nearest",
        address: str | Sequence[str] = "clamp",
        normalized: bool = False,
        read: str = "element",
    ) -> None:
        super().__init__(array, geometry, channels)
        modes = (address,) * 3 if isinstance(address, str) else (*address, *("clamp",) * 3)[:3]
        if filter not in ("nearest", "linear") or read not in ("element", "normalized") or any(mode not in _MODES for mode in modes):
            raise PtxgenError(
                f"filter={filter!r}, address={address!r}, read={read!r}: filters are nearest and linear, addresses {', '.join(_MODES)}, "
                "reads element and normalized"
            )
        if read == "normalized" and (array.dtype.kind == "f" or array.dtype.itemsize == 4):
            raise PtxgenError(f"integers of 8 and 16 bits are read normalized, not {array.dtype}")
        if filter == "linear" and read == "element" and array.dtype.kind != "f":
            raise PtxgenError(f'elements of {array.dtype} are no floats to blend: read="normalized", or filter="nearest"')
        self.filter, self.normalized, self.read = filter, normalized, read
        self.modes: tuple[str, ...] = tuple(mode if normalized or mode == "border" else "clamp" for mode in modes)

    @property
    def floats(self) -> bool:
        """Whether components are read as floats."""
        return self.array.dtype.kind == "f" or self.read == "normalized"


class Surface(Image):
    """An array that kernels read and write by ``suld``, ``sust`` and ``sured``, in the emulator.

    Parameters
    ----------
    array : numpy.ndarray
        As for `Texture`; kernels write into it in place.
    geometry : str
        ``"1d"``, ``"2d"``, ``"3d"``, ``"a1d"`` or ``"a2d"``.
    channels : int
        Components of an element, 1, 2 or 4; more than one are the array's last axis.

    Raises
    ------
    PtxgenError
        If these do not go together.
    """

    __slots__ = ("rows",)

    def __init__(self, array: Any, geometry: str = "2d", *, channels: int = 1) -> None:
        if geometry == "buffer":
            raise PtxgenError("linear memory is no surface; pass the array itself")
        super().__init__(array, geometry, channels)
        self.rows: Array = self.elements.reshape(*self.elements.shape[:3], -1).view(np.uint8)
        """Bytes, as (layers, depth, height, bytes of a row)."""


def image_at(handle: int, of: type[Image]) -> Image | str:
    """The texture or surface behind a handle, or a sentence that says what is there instead."""
    found = _images.get(handle)
    if isinstance(found, of):
        return found
    what = "nothing that the emulator knows" if found is None else repr(found)
    return f"the handle {handle:#x} stands for {what}, not for a px.{of.__name__}"
