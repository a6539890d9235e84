"""Copies through chains of views, with runtime starts, guards and any register layout, against NumPy's own views."""

from math import prod

import numpy as np
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

import ptxgen as px
from ptxgen import S

DTYPES = {"b8": np.uint8, "b16": np.uint16, "b32": np.uint32, "b64": np.uint64}
CTAS, STEPS = 3, 2


class Start:
    """A start that is known at run time: scale * (what varies) + constant, as a traced integer and as an int."""

    def __init__(self, kind, scale, constant):
        self.kind = kind
        self.scale = scale
        self.constant = constant
        self.last = self.plain(Now(CTAS - 1, STEPS - 1))

    def traced(self, now):
        if self.kind == "none":
            return self.constant
        varies = {"cta": lambda: now.cta, "loop": lambda: now.step, "register": lambda: now.register, "both": lambda: now.cta + now.step}
        one = varies[self.kind]()
        one = one * self.scale if self.scale != 1 else one
        return one + self.constant if self.constant else one

    def plain(self, now):
        varies = {"none": 0, "cta": now.cta, "loop": now.step, "register": now.step, "both": now.cta + now.step}[self.kind]
        return self.scale * varies + self.constant


class Now:
    """The block and the step of the loop, traced or as ints."""

    def __init__(self, cta, step, register=None):
        self.cta, self.step, self.register = cta, step, register


@st.composite
def chains(draw, atoms=(1, 2, 4)):
    """A parent shape, and steps that lead to a view of shape (*axes, atom); each is a name and its arguments."""
    atom = draw(st.sampled_from(atoms))
    shape = [*draw(st.lists(st.sampled_from([1, 2, 3, 4, 5, 6, 8, 12]), min_size=1, max_size=3)), atom * draw(st.integers(1, 3))]
    parent, steps = tuple(shape), []
    for _ in range(draw(st.integers(0, 4))):
        what = draw(st.sampled_from(["permute", "split", "merge", "sub", "index"]))
        if what == "permute" and len(shape) > 2:
            order = [*draw(st.permutations(range(len(shape) - 1))), len(shape) - 1]
            shape = [shape[axis] for axis in order]
            steps.append(("permute", order))
        elif what == "split":
            axis = draw(st.integers(0, len(shape) - 1))
            factors = [f for f in (2, 3, 4) if shape[axis] % f == 0 and (axis < len(shape) - 1 or shape[axis] // f % atom == 0)]
            if factors:
                by = draw(st.sampled_from(factors))
                pair = [by, shape[axis] // by]
                shape[axis : axis + 1] = pair
                steps.append(("view", tuple(shape)))
        elif what == "merge" and len(shape) > 2:
            axis = draw(st.integers(0, len(shape) - 3))
            shape[axis : axis + 2] = [shape[axis] * shape[axis + 1]]
            steps.append(("view", tuple(shape)))
        elif what == "sub":
            starts, extents, by = [], [], []
            for axis, extent in enumerate(shape):
                unit = atom if axis == len(shape) - 1 else 1
                step = draw(st.sampled_from([1, 1, 2])) if unit == 1 else 1
                start, spare = draw(starts_within(extent, unit))
                count = draw(st.integers(1, max(1, (spare - 1) // step // unit + 1 if unit == 1 else spare // unit))) * unit
                count = min(count, extent)
                assume(start.last + (count - 1) * step < extent)
                starts.append(start), extents.append(count), by.append(step)
            shape = extents[:]
            steps.append(("sub", starts, extents, by))
        elif what == "index" and len(shape) > 1:
            axis = draw(st.integers(0, len(shape) - 2))
            start, _ = draw(starts_within(shape[axis], 1))
            del shape[axis]
            steps.append(("index", axis, start))
    return parent, steps, shape, atom


@st.composite
def starts_within(draw, extent, unit):
    """A start below `extent`, in units, and how many elements are left behind its greatest value."""
    kind = draw(st.sampled_from(["none", "none", "cta", "loop", "register", "both"]))
    start = Start(kind, unit * draw(st.integers(1, 2)), unit * draw(st.integers(0, 2)))
    if start.last >= extent:
        start = Start("none", unit, 0)
    return start, extent - start.last


def follow(view, steps, now, numpy):
    """The view at the end of a chain: of NumPy's array, or of a traced tensor."""
    for name, *what in steps:
        if name == "permute":
            view = view.transpose(what[0]) if numpy else view.permute(*what[0])
        elif name == "view":
            view = view.reshape(what[0]) if numpy else view.view(what[0])
        elif name == "index":
            key = (slice(None),) * what[0] + ((what[1].plain(now) if numpy else what[1].traced(now)),)
            view = view[key]
        elif numpy:
            starts = [start.plain(now) for start in what[0]]
            view = view[tuple(slice(a, a + (n - 1) * s + 1, s) for a, n, s in zip(starts, what[1], what[2]))]
        else:
            view = view.sub([start.traced(now) for start in what[0]], what[1], what[2])
    return view


@st.composite
def guards(draw, count):
    """A block and a guard that leaves `count` threads active: block, predicate or None, thread layout strides."""
    kind = draw(st.sampled_from(["none", "none", "range", "lanes", "planar", "opaque"]))
    if kind == "range":
        lo, hi = draw(st.integers(0, 5)), draw(st.integers(0, 5))
        return (lo + count + hi, 1, 1), lambda: (px.tid.x >= lo) & (px.tid.x < lo + count), lo
    if kind == "planar" and count % 2 == 0:
        return (count // 2, 2, 1), None, 0
    if kind == "planar" and count % 3 == 0:
        return (count // 3, 1, 4), lambda: px.tid.z > 0, count // 3
    if kind == "opaque":
        return (count, 1, 1), lambda: px.sreg.nctaid.y < 7, 0
    return (count, 1, 1), None, 0


@st.composite
def register_strides(draw, extents):
    """Strides on m that keep the elements of a thread apart, in any order and with gaps; and the first position."""
    order = draw(st.permutations(range(len(extents))))
    strides, step = [0] * len(extents), 1
    for axis in order:
        strides[axis] = step
        step *= extents[axis] + draw(st.sampled_from([0, 0, 1]))
    return strides, draw(st.integers(0, 2))


@st.composite
def copies(draw):
    parent, steps, shape, atom = draw(chains())
    tail = [*shape[:-1], shape[-1] // atom, atom]
    split = draw(st.integers(0, len(tail) - 1))
    threads = prod(tail[:split])
    assume(threads <= 256 and prod(tail[split:]) <= 64)
    strides, first = draw(register_strides(tail[split:]))
    return parent, steps, tail, split, atom, strides, first, draw(guards(threads))


@given(copies(), st.sampled_from(sorted(DTYPES)), st.booleans())
@settings(max_examples=50, deadline=None)
def test_chains_of_views(copy, dtype, dynamic):
    parent, steps, tail, split, atom, strides, first, (block, guard, skipped) = copy
    element = getattr(px, dtype)
    assume(atom * element.bits <= 128)
    vector = f".v{atom}.{dtype}" if atom > 1 else f".{dtype}"
    align = atom * element.bits // 8
    n = px.dim("n") if dynamic else None
    threads = [1] * split
    for axis in reversed(range(split - 1)):
        threads[axis] = threads[axis + 1] * tail[axis + 1]
    layout = px.Layout(S[tuple(tail) : (*(stride @ px.tx for stride in threads), *strides)], offset=first + skipped @ px.tx)
    shape = (n, *parent) if dynamic else (1, *parent)

    @px.kernel(grid=CTAS, block=block)
    def kernel(A: px.Tensor(shape, element, align=align), B: px.Tensor((CTAS, STEPS, *tail), element, align=align)):
        def body():
            register = px.reg(px.u32, 0)
            for step in px.range(STEPS):
                now = Now(px.ctaid.x, step, register)
                with px.if_(register < STEPS):
                    r = px.local(tail, element, layout=layout)
                    source = follow(A[0], steps, now, False).view(*tail)
                    px.tile.apply(f"ld.global{vector}", r, source, scope="cta")
                    px.tile.apply(f"st.global{vector}", B[px.ctaid.x, step], r, scope="cta")
                register += 1

        def whole():
            if dynamic:
                with px.if_(n > 0):
                    body()
            else:
                body()

        if guard is None:
            whole()
        else:
            with px.if_(guard()):
                whole()

    a = np.arange(prod(parent), dtype=np.uint64).astype(DTYPES[dtype]).reshape(1, *parent)
    b = np.zeros((CTAS, STEPS, *tail), DTYPES[dtype])
    wanted = np.stack([np.stack([follow(a[0], steps, Now(c, s), True).reshape(tail) for s in range(STEPS)]) for c in range(CTAS)])
    try:
        kernel(a, b)
    except (px.TraceError, px.LayoutError, px.InstructionError) as error:
        event(refusal(error))
        return
    event("ran")
    np.testing.assert_array_equal(b, wanted)


def refusal(error):
    """The kind of a refusal, for Hypothesis's statistics."""
    text = str(error)
    kinds = ("not aligned", "not known to be aligned", "not contiguous", "digit-wise", "slice", "not proved", "start or end inside")
    return "refused: " + next((kind for kind in kinds if kind in text), text[:300])
