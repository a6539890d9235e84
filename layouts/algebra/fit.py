"""From positions back to a layout: the strides that give a table of positions, if there are any."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ptxgen.layouts.axes import Axis, AxisTerm
from ptxgen.layouts.dims import Dim, Dims


class Misfit(Exception):
    """No layout of the shape has these positions; `coordinate` is the first that contradicts those before it."""

    def __init__(self, coordinate: tuple[int, ...]) -> None:
        super().__init__(coordinate)
        self.coordinate = coordinate


def fit(positions: Mapping[Axis, np.ndarray], shape: tuple[int, ...]) -> tuple[tuple[Dims, ...], AxisTerm]:
    """The canonical dimensions and the offset of the layout that has these positions.

    Complete: where it raises, there is no such layout without a swizzle. A layout is a sum of one function for each dimension, and
    each is linear in the digits of one factorisation of its extent, whose innermost factor is the longest linear beginning.

    Raises
    ------
    Misfit
        With the first coordinate, row-major, at which no layout agrees.
    """
    axes = list(positions)
    values = np.stack([np.broadcast_to(positions[axis], shape) for axis in axes]) if axes else np.zeros((0, *shape), np.int64)
    values = values.reshape(len(axes), *shape)
    origin = values.reshape(len(axes), -1)[:, 0]
    total = origin.reshape(-1, *(1,) * len(shape))
    dims: list[Dims] = []
    for place, extent in enumerate(shape):
        line = np.moveaxis(values, place + 1, 1).reshape(len(axes), extent, -1)[:, :, 0] - origin[:, None]
        wrong, part = _factorise(line, axes)
        if wrong is not None:
            raise Misfit(tuple(wrong if p == place else 0 for p in range(len(shape))))
        dims.append(part)
        total = total + line.reshape(-1, *(extent if p == place else 1 for p in range(len(shape))))
    differing = np.argwhere((values != total).any(axis=0))
    if differing.size:
        raise Misfit(tuple(int(value) for value in differing[0]))
    return tuple(dims), AxisTerm.collect((axis, int(value)) for axis, value in zip(axes, origin))


def _factorise(line: np.ndarray, axes: list[Axis]) -> tuple[int | None, Dims]:
    """One dimension's function (axes, extent), zero at 0, as physical dimensions; or its first coordinate that fits none."""
    parts: list[Dim] = []
    scale = 1
    while line.shape[1] > 1:
        extent = line.shape[1]
        step = line[:, 1]
        straight = (line == step[:, None] * np.arange(extent)).all(axis=0)
        inner = extent if straight.all() else int(np.argmin(straight))
        if extent % inner:
            return inner * scale, ()
        rows = line.reshape(len(axes), -1, inner)
        wrong = (rows != rows[:, :, :1] + (step[:, None] * np.arange(inner))[:, None, :]).any(axis=0).ravel()
        if wrong.any():
            return int(np.argmax(wrong)) * scale, ()
        parts.append((inner, AxisTerm.collect((axis, int(value)) for axis, value in zip(axes, step))))
        line, scale = rows[:, :, 0], scale * inner
    return None, tuple(reversed(parts))
