"""Triton's layouts, both ways: linear layouts, and the attributes that its compiler prints, `#ttg.blocked<{...}>`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ptxgen.layouts.arguments import BUILT, TEXT, takes
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.interchange.encodings import Blocked, DotOperand, Encoding, Linear, NvidiaMma, Slice
from ptxgen.layouts.interchange.gluon import looks_like_gluon, read_gluon
from ptxgen.layouts.interchange.linear import Basis, LinearLayout
from ptxgen.layouts.interchange.mlir import Attribute, read_attribute
from ptxgen.layouts.interchange.shared_encodings import NvmmaShared, PaddedShared, SharedLinear, SwizzledShared, padded_of
from ptxgen.layouts.interchange.widths import check_bits, in_elements
from ptxgen.layouts.layout import Layout

__all__ = [
    "Blocked",
    "DotOperand",
    "Encoding",
    "Linear",
    "LinearLayout",
    "NvidiaMma",
    "NvmmaShared",
    "PaddedShared",
    "SharedLinear",
    "Slice",
    "SwizzledShared",
    "from_triton",
    "read_encoding",
    "to_triton",
]


def from_triton(encoding: object, shape: Sequence[int] | None = None, *, bits: int | None = None) -> Layout:
    """The layout of a tile that Triton encodes so.

    Parameters
    ----------
    encoding
        A text as `read_encoding` takes it, an Encoding, a LinearLayout, or a layout of Gluon, whose `str()` is such a text.
    shape
        Extents of the tile, powers of two. A LinearLayout knows its own.
    bits
        Bits of an element, needed where offsets in shared memory are XORed: Triton's swizzles count elements, ptxgen's bytes.

    Returns
    -------
    Layout
        From coordinates to registers (elements, on `m`), lanes (`laneid`), warps (`warpid`) and blocks (`cbx`), or to elements of
        shared memory (on `m`). What several threads hold has replicas.

    Raises
    ------
    LayoutError
        For a text that is no layout of Triton, with the column of the fault; a shape that the encoding does not have; XORs that are
        no swizzle of memory, naming the basis.
    """
    if isinstance(encoding, LinearLayout):
        if shape is not None and tuple(shape) != encoding.shape:
            raise LayoutError(f"the linear layout has the shape {encoding.shape}, not {tuple(shape)}")
        return encoding.layout(bits)
    found = encoding if isinstance(encoding, Encoding) else read_encoding(str(encoding))
    if shape is None:
        raise LayoutError(f"{found} is for tiles of many shapes; say which: from_triton(encoding, (64, 32))")
    return found.layout(shape, bits)


# --- reading --------------------------------------------------------------------------------------------------------------


@takes(text=TEXT)
def read_encoding(text: str) -> Encoding:
    """The encoding that a text names; `str(read_encoding(text))` is the attribute as Triton prints it.

    Parameters
    ----------
    text
        An attribute, `#ttg.blocked<{...}>`, or a layout as Gluon writes and prints it, `gl.BlockedLayout(size_per_thread=[2, 4], ...)`.

    Raises
    ------
    LayoutError
        For anything else, with the column of the fault.
    """
    return read_gluon(text) if looks_like_gluon(text) else _encoding(read_attribute(text))


# For each kind: its class, and the attribute's fields with the class' names for them. Those in brackets may be missing.
_KINDS: dict[str, tuple[type[Encoding], str]] = {
    "blocked": (Blocked, "sizePerThread=size_per_thread threadsPerWarp=threads_per_warp warpsPerCTA=warps_per_cta order=order"),
    "nvidia_mma": (NvidiaMma, "versionMajor=major versionMinor=minor warpsPerCTA=warps_per_cta instrShape=instr_shape"),
    "dot_op": (DotOperand, "opIdx=op_idx parent=parent [kWidth=k_width]"),
    "slice": (Slice, "dim=dim parent=parent"),
    "linear": (Linear, "register=register lane=lane warp=warp [block=block]"),
    "swizzled_shared": (SwizzledShared, "vec=vec perPhase=per_phase maxPhase=max_phase order=order"),
    "shared": (SwizzledShared, "vec=vec perPhase=per_phase maxPhase=max_phase order=order [hasLeadingOffset=leading_offset]"),
    "nvmma_shared": (
        NvmmaShared,
        "swizzlingByteWidth=swizzling_byte_width transposed=transposed elementBitWidth=element_bit_width "
        "[fp4Padded=fp4_padded] [rank=rank]",
    ),
    "shared_linear": (SharedLinear, "offset=offset [block=block] [alignment=alignment]"),
    "padded_shared": (PaddedShared, "[order=order] [shape=shape] [offset=offset] [block=block]"),
}
_CLUSTERED = ("blocked", "nvidia_mma", "swizzled_shared", "shared", "nvmma_shared")
_OLD_CLUSTER = ("CTAsPerCGA", "CTASplitNum", "CTAOrder")


def _encoding(read: Attribute) -> Encoding:
    if read.kind not in _KINDS:
        raise read.scan.fail(f"unknown layout {read.kind}; {', '.join(_KINDS)} are known", read.places[""])
    made, words = _KINDS[read.kind]
    given = _arguments(read, words)
    if read.kind in _CLUSTERED:
        given["cga_layout"] = _cluster(read)
    if read.kind == "nvidia_mma":
        given["version"] = (given.pop("major"), given.pop("minor"))
    if given.pop("fp4_padded", False):
        raise read.scan.fail("fp4Padded: eight bytes of every sixteen hold nothing, which no linear layout says", read.places["fp4Padded"])
    if given.pop("leading_offset", False):
        raise read.scan.fail("hasLeadingOffset: what a tensor map copies is nvmma_shared", read.places["hasLeadingOffset"])
    if read.kind == "padded_shared":
        given["padding"] = read.pairs
    elif read.pairs:
        raise read.scan.fail(f"{read.kind} has no intervals of padding", read.places[""])
    return made(**given)


def _arguments(read: Attribute, words: str) -> dict[str, Any]:
    names = dict(word.strip("[]").split("=") for word in words.split())
    known = {*names, *(("CGALayout", *_OLD_CLUSTER) if read.kind in _CLUSTERED else ())}
    for name in read.fields:
        if name not in known:
            raise read.scan.fail(f"{read.kind} has no {name}; it has {', '.join(names)}", read.places[name])
    for word in words.split():
        if word.split("=")[0] not in read.fields and not word.startswith("["):
            raise read.scan.fail(f"{read.kind} lacks {word.split('=')[0]}", read.places[""])
    found = {}
    for name, value in read.fields.items():
        if name in names:
            wanted = _type_of(name)
            if not wanted(value):
                raise read.scan.fail(f"{name} = {value!r} is not {_MEANT[wanted]}", read.places[name])
            found[names[name]] = _encoding(value) if isinstance(value, Attribute) else value
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_numbers(value: object) -> bool:
    return isinstance(value, tuple) and not isinstance(value, Attribute) and all(map(_is_number, value))


def _is_bases(value: object) -> bool:
    return isinstance(value, tuple) and not isinstance(value, Attribute) and all(map(_is_numbers, value))


def _is_attribute(value: object) -> bool:
    return isinstance(value, Attribute)


def _is_truth(value: object) -> bool:
    return isinstance(value, bool)


_MEANT: dict[Callable[[object], bool], str] = {
    _is_number: "a number",
    _is_numbers: "a list of numbers",
    _is_bases: "a list of lists of numbers",
    _is_attribute: "an attribute",
    _is_truth: "true or false",
}


def _type_of(name: str) -> Callable[[object], bool]:
    if name == "parent":
        return _is_attribute
    if name in ("transposed", "fp4Padded", "hasLeadingOffset"):
        return _is_truth
    if name in ("register", "lane", "warp", "block", "offset", "CGALayout"):
        return _is_bases
    lists = ("sizePerThread", "threadsPerWarp", "warpsPerCTA", "order", "instrShape", "shape", *_OLD_CLUSTER)
    return _is_numbers if name in lists else _is_number


def _cluster(read: Attribute) -> tuple[Basis, ...]:
    """The blocks of a cluster: `CGALayout`, or as three lists in texts of Triton before 3.6."""
    for name in ("CGALayout", *_OLD_CLUSTER):
        if name in read.fields and not _type_of(name)(read.fields[name]):
            raise read.scan.fail(f"{name} = {read.fields[name]!r} is not {_MEANT[_type_of(name)]}", read.places[name])
    if "CGALayout" in read.fields:
        return read.fields["CGALayout"]  # type: ignore[return-value]
    old: list[tuple[int, ...]] = [read.fields[name] for name in _OLD_CLUSTER if name in read.fields]  # type: ignore[misc]
    if not old:
        return ()
    if len(old) < 3 or len({len(part) for part in old}) > 1 or sorted(old[2]) != list(range(len(old[2]))):
        raise read.scan.fail(f"{', '.join(_OLD_CLUSTER)} go together, one number each for every dimension", read.places[""])
    counts, splits, order = old
    bases: list[Basis] = []
    for place in order:
        for bit in range(counts[place].bit_length() - 1):
            step = 1 << bit if 1 << bit < splits[place] else 0
            bases.append(tuple(step if own == place else 0 for own in range(len(order))))
    return tuple(bases)


# --- writing --------------------------------------------------------------------------------------------------------------


@takes(layout=BUILT, kind=TEXT)
def to_triton(layout: Layout, kind: str, *, bits: int | None = None, version: int | None = None) -> str:
    """The text of an attribute of this kind that encodes the layout; `from_triton(to_triton(x, kind), x.shape) == x`.

    Parameters
    ----------
    layout
        A tile in registers, or, for the kinds named `..._shared` and `shared_linear`, in memory.
    kind
        "linear", "blocked", "nvidia_mma", "dot_op", "shared_linear", "swizzled_shared", "nvmma_shared" or "padded_shared". Of several
        encodings that say the same, one is written; k of an `instrShape`, which no layout shows, is 16.
    bits
        Bits of an element: needed with a swizzle, for layouts that count bits, and for "nvmma_shared".
    version
        Of "nvidia_mma" and the parent of "dot_op": 2 (mma) or 3 (wgmma); some layouts are both, and by default 2 then.

    Raises
    ------
    LayoutError
        When the layout is no linear layout, or none of this kind: with the nearest one, and the first basis in which it differs.
    """
    if kind == "padded_shared":
        return str(padded_of(in_elements(layout, bits)))
    if kind not in _CANDIDATES:
        raise LayoutError(f"{kind!r} is no kind of layout that can be written; {', '.join((*_CANDIDATES, 'padded_shared'))} can")
    if version is not None and (version not in (2, 3) or kind not in ("nvidia_mma", "dot_op")):
        raise LayoutError(f"version {version} of {kind}: nvidia_mma and dot_op have versions, 2 and 3")
    linear = LinearLayout.of(layout, shared=_KINDS[kind][0].shared, bits=bits)
    nearest: tuple[int, Encoding | None, str] = (-1, None, "")
    for candidate in _CANDIDATES[kind](linear, bits):
        if version is not None and _version(candidate) != version:
            continue
        try:
            found = candidate.linear(linear.shape)
        except LayoutError:  # a shape that this encoding does not have
            continue
        if found == linear:
            return str(candidate)
        agreeing, difference = _difference(linear, found)
        if agreeing > nearest[0]:
            nearest = agreeing, candidate, difference
    if nearest[1] is None:
        raise LayoutError(f"no {kind} encoding has tiles of shape {linear.shape}", _ANY[linear.is_shared])
    raise LayoutError(f"{layout!r} is no {kind} encoding: in the nearest, {nearest[1]}, {nearest[2]}", _ANY[linear.is_shared])


def _version(encoding: Encoding) -> int | None:
    product = encoding.parent if isinstance(encoding, DotOperand) else encoding
    return product.version[0] if isinstance(product, NvidiaMma) else None


_ANY = {False: "to_triton(layout, 'linear'), which says every linear layout", True: "to_triton(layout, 'shared_linear')"}


def _difference(wanted: LinearLayout, found: LinearLayout) -> tuple[int, str]:
    """How many bases agree, and the first that does not."""
    agreeing, text = 0, ""
    for name, part in wanted.bases.items():
        other = found.bases[name]
        for bit in range(max(len(part), len(other))):
            mine, theirs = (list(side[bit]) if bit < len(side) else "missing" for side in (part, other))
            if mine == theirs:
                agreeing += 1
            elif not text:
                text = f"{name}[{bit}] is {theirs}; the layout's is {mine}"
    return agreeing, text


def _linears(linear: LinearLayout, bits: int | None) -> Iterator[Encoding]:
    yield Linear(**linear.bases)


def _shared_linears(linear: LinearLayout, bits: int | None) -> Iterator[Encoding]:
    yield SharedLinear(offset=linear.bases["offset"], block=linear.bases["block"])


def _blockeds(linear: LinearLayout, bits: int | None) -> Iterator[Encoding]:
    rank = len(linear.shape)
    cga = _cga_of(linear)
    for lanes in _splits(linear.bases["lane"], rank):
        for warps in _splits(linear.bases["warp"], rank):
            for sizes in itertools.product(*(_sizes(linear, place) for place in range(rank))):
                for order in itertools.permutations(range(rank)[::-1]):
                    yield Blocked(size_per_thread=sizes, threads_per_warp=lanes, warps_per_cta=warps, order=order, cga_layout=cga)


def _sizes(linear: LinearLayout, place: int) -> list[int]:
    """Neighbours that a thread may hold along a dimension, most first; where lanes or warps go on, that settles it."""
    others = [basis[place] for name in ("lane", "warp") for basis in linear.bases[name] if basis[place]]
    return [min(others)] if others else [1 << bit for bit in range(linear.shape[place].bit_length())[::-1]]


def _splits(bases: Sequence[Basis], rank: int) -> Iterator[tuple[int, ...]]:
    """How many there may be along each dimension: those whose bases say so, and any of the others."""
    sure = [sum(1 for basis in bases if basis[place]) for place in range(rank)]
    free = len(bases) - sum(sure)
    for more in itertools.product(range(free + 1), repeat=rank):
        if sum(more) == free:
            yield tuple(1 << own + extra for own, extra in zip(sure, more))


def _cga_of(linear: LinearLayout) -> list[Basis]:
    """Blocks counted in blocks, from the bases that count elements."""
    bases = linear.bases["block"]
    parts = [min((basis[place] for basis in bases if basis[place]), default=1) for place in range(len(linear.shape))]
    return [tuple(value // part for value, part in zip(basis, parts)) for basis in bases]


_ATOM_K = 16


def _mmas(linear: LinearLayout, bits: int | None) -> Iterator[NvidiaMma]:
    rank = len(linear.shape)
    cga = _cga_of(linear)
    for warps in _splits(linear.bases["warp"], rank) if rank in (2, 3) else ():
        yield NvidiaMma(version=(2, 0), warps_per_cta=warps, instr_shape=(1, 16, 8)[-rank:], cga_layout=cga)
    for warps in _splits(linear.bases["warp"], rank) if rank == 2 else ():
        for n in (256, 128, 64, 32, 16, 8):  # the widest instruction that fits
            yield NvidiaMma(version=(3, 0), warps_per_cta=warps, instr_shape=(16, n, _ATOM_K), cga_layout=cga)


def _dot_operands(linear: LinearLayout, bits: int | None) -> Iterator[Encoding]:
    rank = len(linear.shape)
    for op_idx, k_width in itertools.product((0, 1), (1, 2, 4, 8, 16)):
        for parent in _parents(linear, rank):
            if op_idx == 0 or parent.version[0] == 2:
                yield DotOperand(op_idx=op_idx, parent=parent, k_width=k_width)


def _parents(linear: LinearLayout, rank: int) -> Iterator[NvidiaMma]:
    for warps in _splits(linear.bases["warp"], rank) if rank in (2, 3) else ():
        yield NvidiaMma(version=(2, 0), warps_per_cta=warps, instr_shape=(1, 16, 8)[-rank:], cga_layout=_cga_of(linear))
        if rank == 2:
            yield NvidiaMma(version=(3, 0), warps_per_cta=warps, instr_shape=(16, 8, _ATOM_K), cga_layout=_cga_of(linear))


def _swizzleds(linear: LinearLayout, bits: int | None) -> Iterator[Encoding]:
    rank = len(linear.shape)
    powers = [1 << bit for bit in range(8)]
    numbers: Iterable[tuple[int, int, int]] = [(1, 1, 1), *itertools.product(powers, powers[:5], powers[1:5])]
    for (vec, per_phase, max_phase), order in itertools.product(numbers, itertools.permutations(range(rank)[::-1])):
        yield SwizzledShared(vec=vec, per_phase=per_phase, max_phase=max_phase, order=order, cga_layout=_cga_of(linear))


def _nvmmas(linear: LinearLayout, bits: int | None) -> Iterator[Encoding]:
    width = check_bits(bits, "nvmma_shared says the width of its elements")
    for swizzle, transposed in itertools.product((0, 32, 64, 128), (False, True)):
        yield NvmmaShared(
            swizzling_byte_width=swizzle,
            transposed=transposed,
            element_bit_width=width,
            rank=len(linear.shape),
            cga_layout=_cga_of(linear),
        )


_CANDIDATES: dict[str, Callable[[LinearLayout, int | None], Iterator[Encoding]]] = {
    "linear": _linears,
    "blocked": _blockeds,
    "nvidia_mma": _mmas,
    "dot_op": _dot_operands,
    "shared_linear": _shared_linears,
    "swizzled_shared": _swizzleds,
    "nvmma_shared": _nvmmas,
}
