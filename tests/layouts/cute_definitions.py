"""CuTe's definitions of sizes and indices, spelled out."""

from __future__ import annotations

import math


def size(shape):
    """Number of coordinates of a shape."""
    return math.prod(map(size, shape)) if isinstance(shape, tuple) else shape


def index(coordinate, shape, stride):
    """CuTe's index: a tuple's coordinates one by one, a number's over a tuple with the first mode fastest."""
    if not isinstance(shape, tuple):
        return coordinate * stride
    if not isinstance(coordinate, tuple):
        coordinates = []
        for mode in shape:
            coordinates.append(coordinate % size(mode))
            coordinate //= size(mode)
        coordinate = tuple(coordinates)
    return sum(map(index, coordinate, shape, stride))


def text_of(value, static=False):
    """A number or nested tuple as text; static numbers as `_8`."""
    if isinstance(value, tuple):
        return "(" + ", ".join(text_of(part, static) for part in value) + ")"
    return f"_{value}" if static and value >= 0 else str(value)
