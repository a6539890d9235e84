"""What a texture gives at coordinates: addressing, filtering, conversion (CUDA C++ Programming Guide, "Texture Fetching").

Coordinates are taken exactly, as their 32 bits say. Weights of linear filtering are rounded to 8 bits behind the point; the sum is formed
in f64 and rounded once. Hardware rounds in places that nothing documents.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ptxgen.emulator.images import Texture
from ptxgen.emulator.operands import Array

__all__ = ["gathered", "sampled"]

_FAR = 2.0**40
_WEIGHTS = 256


def sampled(texture: Texture, coordinates: Sequence[Array], layers: Array, offsets: Sequence[Array]) -> Array:
    """The four components at coordinates.

    Parameters
    ----------
    texture : Texture
    coordinates : sequence of array
        Along x, y and z: int32 or float32, one for each thread.
    layers : array of int
    offsets : sequence of array of int
        Elements that are added, along each axis.

    Returns
    -------
    array
        Shape (threads, 4): float64 where `Texture.floats`, else int64.
    """
    whole = coordinates[0].dtype.kind != "f"
    if whole or texture.filter == "nearest":
        positions = [_nearest(texture, axis, one, more) for axis, (one, more) in enumerate(zip(coordinates, offsets))]
        return _texels(texture, positions, layers)
    corners = [_corners(texture, axis, one, more) for axis, (one, more) in enumerate(zip(coordinates, offsets))]
    total = np.zeros((len(layers), 4))
    for number in range(1 << len(corners)):
        sides = [number >> axis & 1 for axis in range(len(corners))]
        weight = np.ones(len(layers))
        for side, (_, fraction) in zip(sides, corners):
            weight = weight * (fraction if side else 1 - fraction)
        texels = _texels(texture, [first + side for side, (first, _) in zip(sides, corners)], layers)
        total += np.where(weight[:, None] == 0, 0.0, weight[:, None] * texels)
    return total


def gathered(texture: Texture, coordinates: Sequence[Array], layers: Array, offsets: Sequence[Array], component: int) -> Array:
    """One component of the four elements that a bilinear filter blends: (x0, y1), (x1, y1), (x1, y0), (x0, y0); shape (threads, 4)."""
    (x, _), (y, _) = (_corners(texture, axis, one, more) for axis, (one, more) in enumerate(zip(coordinates, offsets)))
    return np.stack([_texels(texture, [x + right, y + down], layers)[:, component] for right, down in ((0, 1), (1, 1), (1, 0), (0, 0))], 1)


def _scaled(texture: Texture, axis: int, coordinate: Array, offset: Array) -> Array:
    """In elements, as float64; NaN counts as zero."""
    place = np.nan_to_num(coordinate.astype(np.float64), nan=0.0, posinf=_FAR, neginf=-_FAR)
    place = place * texture.extents[axis] if texture.normalized else place
    return np.clip(place + offset, -_FAR, _FAR)


def _nearest(texture: Texture, axis: int, coordinate: Array, offset: Array) -> Array:
    if coordinate.dtype.kind != "f":
        return coordinate.astype(np.int64) + offset
    return np.floor(_scaled(texture, axis, coordinate, offset)).astype(np.int64)


def _corners(texture: Texture, axis: int, coordinate: Array, offset: Array) -> tuple[Array, Array]:
    """The lower neighbour, and the weight of the upper one."""
    place = _scaled(texture, axis, coordinate, offset) - 0.5
    first = np.floor(place)
    return first.astype(np.int64), np.floor((place - first) * _WEIGHTS + 0.5) / _WEIGHTS


def _inside(position: Array, extent: int, mode: str) -> tuple[Array, Array]:
    """Where in the texture a position lies, and whether the border is read instead."""
    outside = (position < 0) | (position >= extent)
    if mode == "wrap":
        return position % extent, np.zeros_like(outside)
    if mode == "mirror":
        folded = position % (2 * extent)
        return np.where(folded < extent, folded, 2 * extent - 1 - folded), np.zeros_like(outside)
    return np.clip(position, 0, extent - 1), outside if mode == "border" else np.zeros_like(outside)


def _texels(texture: Texture, positions: Sequence[Array], layers: Array) -> Array:
    """Components of elements, those of its channels and 0 for what is missing: shape (threads, 4)."""
    border = np.zeros(len(layers), np.bool_)
    found = []
    for position, extent, mode in zip(positions, texture.extents, texture.modes):
        inside, beyond = _inside(position, extent, "border" if texture.geometry == "buffer" else mode)
        found.append(inside)
        border |= beyond
    x, y, z = (*found, *(np.zeros(len(layers), np.int64),) * 2)[:3]
    layer = np.clip(layers, 0, texture.elements.shape[0] - 1)
    values = texture.elements[layer, z, y, x]
    result = np.zeros((len(layers), 4), np.float64 if texture.floats else np.int64)
    channels = values.shape[1]
    result[:, :channels] = _normalized(values) if texture.read == "normalized" else values
    result[border] = 0
    return result


def _normalized(values: Array) -> Array:
    """Integers as floats from 0, or -1, to 1."""
    return np.maximum(values.astype(np.float64) / np.iinfo(values.dtype).max, -1.0)
