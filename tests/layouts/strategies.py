"""Random layouts with an independent account of where their elements are."""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import strategies as st

from ptxgen.layouts import AXES, Layout, R, S

#: One number for a whole position: fields far enough apart for the small strides drawn here.
FIELD = {"m": 1, "tx": 1 << 20, "TLane": 1 << 40}
SCALE = {"m": ("m", 1), "tx": ("tx", 1), "warpid": ("tx", 32), "wgid": ("tx", 128), "TLane": ("TLane", 1)}


class Spec:
    """A layout as plain data: for each logical dimension a list of (extent, {axis name: step})."""

    def __init__(self, dims, offset, replicas=()):
        self.dims = dims
        self.offset = offset
        self.replicas = replicas

    def __repr__(self):
        return f"Spec({self.dims}, {self.offset}, {self.replicas})"

    @property
    def shape(self):
        return tuple(math.prod(extent for extent, _ in part) for part in self.dims)

    def layout(self):
        extents = tuple(tuple(e for e, _ in part) if len(part) > 1 else part[0][0] for part in self.dims)
        strides = tuple(tuple(term(s) for _, s in part) if len(part) > 1 else term(part[0][1]) for part in self.dims)
        replicas = R[tuple(e for e, _ in self.replicas) : tuple(term(s) for _, s in self.replicas)] if self.replicas else None
        return Layout(S[extents:strides], replicas, offset=term(self.offset))

    def positions(self):
        """The packed position of every element, one coordinate after the other."""
        result = np.empty(self.shape, np.int64)
        flat = [dim for part in self.dims for dim in part]
        digits = itertools.product(*(range(extent) for extent, _ in flat))
        for element, digit in zip(np.ndindex(*self.shape), digits):
            result[element] = pack(self.offset) + sum(d * pack(step) for d, (_, step) in zip(digit, flat))
        return result

    def displacements(self):
        digits = itertools.product(*(range(extent) for extent, _ in self.replicas))
        return {sum(d * pack(step) for d, (_, step) in zip(digit, self.replicas)) for digit in digits}


def pack(step):
    return sum(value * SCALE[name][1] * FIELD[SCALE[name][0]] for name, value in step.items())


def term(step):
    return sum((value @ AXES[name] for name, value in step.items()), 0 @ AXES["m"])


def packed_table(layout):
    """What the layout's own table says, packed."""
    table = layout.table()
    total = table.linear.copy()
    if table.thread is not None:
        total += table.thread * FIELD["tx"]
    for axis, values in table.axes.items():
        total += values * FIELD[axis.name]
    return total


def packed_calls(layout):
    """What calling the layout says, packed, element by element."""
    result = np.empty(layout.shape, np.int64)
    for element in np.ndindex(*layout.shape):
        result[element] = sum(value * FIELD[axis.name] for axis, value in layout(*element).items())
    return result


steps = st.one_of(
    st.fixed_dictionaries({"m": st.integers(-6, 40)}),
    st.sampled_from([{"m": 1}, {"m": 2}, {"m": 4}, {"m": 8}, {"m": 0}, {"tx": 1}, {"warpid": 1}, {"tx": 32}, {"TLane": 1}]),
    st.fixed_dictionaries({"m": st.integers(0, 9), "warpid": st.integers(0, 2)}),
)
dim = st.tuples(st.sampled_from([1, 2, 3, 4, 6, 8]), steps)
small_dim = st.tuples(st.integers(1, 4), steps)


def specs(min_dims=0, max_dims=3, nested=2, extents=dim, replicas=0):
    parts = st.lists(st.lists(extents, min_size=1, max_size=nested), min_size=min_dims, max_size=max_dims)
    offsets = st.fixed_dictionaries({}, optional={"m": st.integers(-50, 50), "wgid": st.integers(0, 3), "TLane": st.integers(0, 9)})
    extra = st.lists(small_dim, max_size=replicas)
    return st.builds(Spec, parts.filter(lambda p: math.prod(e for part in p for e, _ in part) <= 600), offsets, extra)


@st.composite
def factors(draw, size):
    """A random ordered factorisation of a size."""
    shape = []
    while size > 1 and len(shape) < 5:
        part = draw(st.sampled_from([d for d in range(1, size + 1) if size % d == 0]))
        shape.append(part)
        size //= part
    return (*shape, size) if size > 1 or not shape else tuple(shape)
