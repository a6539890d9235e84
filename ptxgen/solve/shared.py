"""Shared memory for all accesses of a tile: the swizzle or the padding without bank conflicts, or with the fewest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Any, NamedTuple, Union

import numpy as np

from ptxgen.instructions.arguments import ELEMENT, OPCODE
from ptxgen.instructions.grammar import Slot
from ptxgen.instructions.registry import Match, lookup
from ptxgen.instructions.tiles import Atom, chosen
from ptxgen.instructions.types import Type
from ptxgen.layouts.arguments import COUNT, FLAG, SEQUENCE, SHAPE, TEXT, Kind, takes
from ptxgen.layouts.banks import WARP
from ptxgen.layouts.errors import Impossible, LayoutError
from ptxgen.layouts.layout import Layout
from ptxgen.layouts.search import Pattern, Placement, Unplaced, place
from ptxgen.layouts.search.placement import count_wavefronts
from ptxgen.layouts.swizzle import Swizzle
from ptxgen.runtime.tensormap import MAX_BOX
from ptxgen.solve.arrangement import Arrangement
from ptxgen.solve.judge import Asked
from ptxgen.solve.probe import Probe
from ptxgen.tile.boxes import SPANS, box_rows, copied, image_align
from ptxgen.tile.group import UNITS
from ptxgen.tile.image import Image
from ptxgen.tile.matrices import Found, recognise

__all__ = ["Access", "SharedPlan", "fitted", "shared"]

_SWIZZLES = (None, Swizzle.B32, Swizzle.B64, Swizzle.B128)  # of boxes and descriptors, on every target that has these
_BULK = 16  # bytes that the size and the address of a bulk copy are multiples of

View = Union[Callable[[Any], Any], Arrangement, None]


class Access(NamedTuple):
    """One instruction's access to a shared tile.

    Attributes
    ----------
    opcode : str
        As it stands in `px.tile.apply`.
    view : callable, optional
        The view of the tile that `px.tile.apply` gets: ``lambda t: t.rearrange("(r w) c -> w r c", w=4).view(px.b32)``, or an
        `Arrangement`. The tile itself by default. The leading axes are the threads, in order, the last ones the atom.
    threads : int, optional
        Threads that take part, if others than those of the whole search.
    operand : str, optional
        Which operand of the instruction the tile is, where several may be: "a" or "b" of a wgmma, by name or by its beginning.
    """

    opcode: str
    view: View = None
    threads: int | None = None
    operand: str = ""


_VIEW = Kind(callable, "a function of the tile", "lambda t: a view of t")


@takes(opcode=OPCODE, view=_VIEW, threads=COUNT, operand=TEXT)
def access(opcode: str, view: View = None, threads: int | None = None, operand: str = "") -> Access:
    """An access whose parts are what they shall be."""
    return Access(opcode, view, threads, operand)


class SharedPlan(NamedTuple):
    """How a tile lies in shared memory.

    ``tile = px.shared(**plan.tile)``; the accesses take the views that were given.

    Attributes
    ----------
    tile : dict
        Arguments of `px.shared`: shape, dtype, layout.
    words : str
        What the layout is.
    size : int
        Bytes of the tile.
    accesses : tuple of Access
    wavefronts, least : tuple of int
        For each access, over all warps and repeats: passes through the banks, and those that it would take without conflicts.
    """

    tile: Mapping[str, Any]
    words: str
    size: int
    accesses: tuple[Access, ...]
    wavefronts: tuple[int, ...]
    least: tuple[int, ...]
    threads: int

    @property
    def layout(self) -> Layout:
        """The tile's layout."""
        found: Layout = self.tile["layout"]
        return found

    @property
    def conflicts(self) -> int:
        """Wavefronts beyond those that a tile without conflicts takes."""
        return sum(self.wavefronts) - sum(self.least)

    def check(self) -> None:
        """Prove it: every element of every access is placed by the layout, and the wavefronts are counted address by address.

        Raises
        ------
        LayoutError
            For a lane whose bytes are not together or not aligned, two elements in one place, or another count.
        """
        dtype = self.tile["dtype"]
        table = self.layout.bind(dtype.bits).table()
        if not self.layout.is_injective():
            raise LayoutError(f"{self.layout!r} puts two elements into one place")
        linear, places = table.linear.ravel(), table.m.ravel()
        for access, wanted in zip(self.accesses, self.wavefronts):
            pattern = _pattern(access, self.tile["shape"], dtype, self.threads)
            if pattern.accepts is not None:
                found = pattern.least if pattern.accepts(linear[pattern.elements], self.layout.swizzle) else -1
            else:
                found = _counted(pattern, places, access)
            if found != wanted:
                raise LayoutError(f"{access.opcode}: {found} wavefronts where the plan says {wanted}")

    def __str__(self) -> str:
        shape = ", ".join(map(str, self.tile["shape"]))
        dtype = self.tile["dtype"]
        lines = [f"shared ({shape}) {dtype.name}: {self.words}, {self.size} bytes"]
        lines.append(f"  tile: px.shared({self.tile['shape']}, px.{dtype.name}, layout={self.layout!r})")
        for access, found, least in zip(self.accesses, self.wavefronts, self.least):
            verdict = "no conflicts" if found == least else f"{least} without conflicts"
            lines.append(f"  {access.opcode}: {found} wavefronts, {verdict}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


def _counted(pattern: Pattern, places: np.ndarray, access: Access) -> int:
    found = places[pattern.elements]
    run = np.arange(found.shape[-1]) * pattern.bits
    if (found != found[..., :1] + run).any() or (found[..., 0] % (8 * pattern.width)).any():
        raise LayoutError(f"{access.opcode}: the {pattern.width} bytes of a lane are not together, or not aligned")
    return int(count_wavefronts(pattern, found[..., 0] // 8, pattern.active).sum())


@takes(shape=SHAPE, dtype=ELEMENT, accesses=SEQUENCE, threads=COUNT, exact=FLAG, limit=COUNT)
def shared(
    shape: int | Sequence[int],
    dtype: Type,
    accesses: Sequence[Access | tuple[Any, ...]],
    *,
    threads: int,
    exact: bool = False,
    limit: int | None = None,
) -> SharedPlan:
    """The layout of a shared tile under which all its accesses together take the fewest wavefronts.

    Tried are dense layouts with each axis contiguous, rows in panels of 16 to 128 bytes, every XOR swizzle that moves what one lane touches
    as one, and padded rows and planes; of equally good ones the smallest, then the simplest is taken. Tensor copies and operands behind
    descriptors find their elements by themselves, so they admit no padding and none but the swizzles of 32, 64 and 128 bytes.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : Type
    accesses : sequence of Access
        All instructions that write or read the tile; tuples, and opcodes alone, are made into `Access`.
    threads : int
        Threads of the block (or of the scope), of which the leading axes of the views are made.
    exact : bool
        Demands that no access conflicts.
    limit : int, optional
        Demands that the tile takes at most so many bytes.

    Returns
    -------
    SharedPlan

    Raises
    ------
    Impossible
        With the smallest set of accesses and demands in conflict.
    LayoutError
        For an access that is none of shared memory, or views that do not fit it.
    """
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    if isinstance(accesses, Access) or not accesses or not all(isinstance(one, (Access, tuple, str)) for one in accesses):
        raise LayoutError("the accesses are a list of opcodes with their views", legal="[px.solve.Access(opcode, view), ...]")
    made = tuple(access(*((one,) if isinstance(one, str) else one)) for one in accesses)
    patterns = [_pattern(one, extents, dtype, threads) for one in made]
    found = place(extents, dtype.bits, patterns, exact=exact, limit=limit)
    if isinstance(found, Unplaced):
        raise _impossible(extents, dtype, made, patterns, exact, limit, found)
    return _plan(extents, dtype, made, patterns, threads, found)


def fitted(
    shape: tuple[int, ...],
    dtype: Type,
    accesses: tuple[Access, ...],
    threads: int,
    digits: tuple[int, ...],
    orders: Sequence[Sequence[int]],
) -> SharedPlan | None:
    """`shared` for a tile whose axes are cut into `digits`, row-major, in further orders of these; None where nothing fits.

    Powers of two need no padding: in one of the orders a swizzle serves.
    """
    patterns = [_pattern(one, shape, dtype, threads) for one in accesses]
    found = place(digits, dtype.bits, patterns, orders=orders, padded=any(extent & (extent - 1) for extent in digits))
    if isinstance(found, Unplaced):
        return None
    return _plan(shape, dtype, accesses, patterns, threads, found._replace(layout=found.layout.reshape(shape).canonical()))


def _plan(
    shape: tuple[int, ...], dtype: Type, accesses: tuple[Access, ...], patterns: list[Pattern], threads: int, found: Placement
) -> SharedPlan:
    tile = MappingProxyType({"shape": shape, "dtype": dtype, "layout": found.layout})
    least = tuple(pattern.least for pattern in patterns)
    return SharedPlan(tile, found.words, found.size, accesses, found.wavefronts, least, threads)


def _impossible(
    shape: tuple[int, ...],
    dtype: Type,
    accesses: tuple[Access, ...],
    patterns: list[Pattern],
    exact: bool,
    limit: int | None,
    found: Unplaced,
) -> Impossible:
    sentences = [_demand(access, pattern) for access, pattern in zip(accesses, patterns)]
    if exact:
        sentences += [f"{access.opcode} has no bank conflicts" for access in accesses]
    sentences.append(f"the tile takes at most {limit} bytes")
    legal = "an access that is narrower or along another axis, or two tiles"
    if [sentences[at] for at in found.demands] == sentences[-1:]:
        legal = f"the {-(-prod(shape) * dtype.bits // 8)} bytes of its elements, or more"
    return Impossible(
        f"no layout of a shared tile of shape {shape} of {dtype.name} serves all accesses", [sentences[at] for at in found.demands],
        legal=legal,
    )  # fmt: skip


def _demand(access: Access, pattern: Pattern) -> str:
    if pattern.accepts is not None and not pattern.load:
        return f"{access.opcode} takes {pattern.width} consecutive bytes at a multiple of {_BULK}"
    if pattern.accepts is not None:
        how = "a box, dense and row-major" if pattern.rows else "a canonical layout"
        return f"{access.opcode} finds its elements in {how}, with a swizzle of 32, 64 or 128 bytes or none"
    if pattern.elements.shape[-1] == 1:
        return f"{access.opcode} takes elements at multiples of {pattern.width} bytes"
    return f"{access.opcode} takes {pattern.elements.shape[-1]} elements at once, together and at multiples of {pattern.width} bytes"


# ---- what an access touches -------------------------------------------------------------------------------------------


def _pattern(access: Access, shape: tuple[int, ...], dtype: Type, threads: int) -> Pattern:
    match = lookup(access.opcode)[0]
    name = _operand(match, access)
    seen = Probe.of(shape, dtype)
    view = seen if access.view is None else access.view(seen)
    if not isinstance(view, Probe):
        raise LayoutError(f"{access.opcode}: the view is {view!r}", legal="lambda t: a view of t")
    tile = match.entry.tile
    atom = tile.atoms.get(name) if tile is not None else None
    if atom is not None and atom.place == "box":
        return _box(view, dtype)
    if atom is not None and atom.place == "descriptor":
        return _described(access, match, name, atom, view, dtype)
    if match.entry.issuer == "one":
        return _bulk(view, dtype)
    if match.entry.issuer != "thread" and atom is None:
        raise LayoutError(f"{access.opcode} has no tile form, so it is not known what its lanes touch", legal="ldmatrix, or ld by lanes")
    image = _image(match, name, atom, view)
    return _lanes(access, match, name, image, view, dtype, access.threads or threads)


def _operand(match: Match, access: Access) -> str:
    """The operand in shared memory."""
    tile = match.entry.tile
    atoms = tile.atoms if tile is not None else {}
    found = [
        name
        for name, contract in match.entry.operands.items()
        if (name in atoms and atoms[name].place in ("box", "descriptor"))
        or (contract.kind == "address" and _is_shared(match, contract.space) and (not atoms or name in atoms))
    ]
    if access.operand:
        wanted = access.operand.lower()
        named = [name for name in found if name == wanted or name.startswith(f"{wanted}_")]
    else:  # an mbarrier is read and written, the data one of both
        named = found if len(found) == 1 else [name for name in found if match.entry.operands[name].role != "inout"]
    if len(named) != 1:
        said = f"operand {access.operand!r}" if access.operand else f"{len(found)} operands"
        legal = f"operand= {' or '.join(map(repr, found))}" if found else "an instruction that reaches shared memory"
        raise LayoutError(f"{access.opcode} has {said} in shared memory", legal=legal)
    return named[0]


def _is_shared(match: Match, space: str | None) -> bool:
    named = str(match.bindings.get(space, "") or "") if space and space.startswith(".") else space or ""
    return "shared" in named


def _image(match: Match, name: str, atom: Atom | None, view: Probe) -> Image:
    if atom is not None:
        return Image.of(atom, match)
    if match.entry.tile is not None and name in match.entry.tile.sized:
        return Image.words(view.shape[-1] if view.ndim else 1, view.dtype.bits)
    return Image.words(match.count(match.entry.operands[name].vector), view.dtype.bits)


def _lanes(access: Access, match: Match, name: str, image: Image, view: Probe, dtype: Type, threads: int) -> Pattern:
    unit = UNITS[match.entry.issuer]
    issuers = threads // unit
    if view.shape[view.ndim - len(image.shape) :] != image.shape or not issuers or prod(view.shape) % (issuers * image.size):
        raise LayoutError(
            f"{access.opcode}: {view!r} is not made of {issuers} {match.entry.issuer}s, repeats and an atom of {image!r}",
            legal=f"leading axes of {issuers}, last axes of {image!r}",
        )
    elements = view.elements.reshape(issuers, -1, image.size, view.elements.shape[-1])
    order = np.lexsort((image.positions, image.lanes))
    elements = elements[:, :, order].reshape(issuers, elements.shape[1], image.providers, -1)
    load = match.entry.operands[name].role != "out"
    if unit > 1:
        rows = elements.reshape(-1, *elements.shape[2:])
        return Pattern(rows, dtype.bits, np.ones(rows.shape[:2], np.bool_), rows=True, load=load)
    missing = -issuers % WARP
    padded = np.concatenate([elements[:, :, 0], np.repeat(elements[:1, :, 0], missing, axis=0)])
    warps = padded.reshape(-1, WARP, *padded.shape[1:]).swapaxes(1, 2).reshape(-1, WARP, padded.shape[-1])
    active = np.repeat((np.arange(len(padded)) < issuers).reshape(-1, 1, WARP), elements.shape[1], axis=1).reshape(-1, WARP)
    return Pattern(warps, dtype.bits, active, load=load)


def _bulk(view: Probe, dtype: Type) -> Pattern:
    """Pieces that one thread has copied, each the last axis: consecutive bytes, 16 at least, that no swizzle parts."""
    elements = view.elements.reshape(1, prod(view.shape[:-1]), -1)

    def accepts(places: np.ndarray, swizzle: Swizzle | None) -> bool:
        run = np.arange(places.shape[-1]) * dtype.bits
        whole = (places == places[..., :1] + run).all() and not (places[..., 0] % (8 * _BULK)).any()
        return bool(whole) and (swizzle is None or (swizzle.granule >= _BULK and places.shape[-1] * dtype.bits <= 8 * swizzle.granule))

    return Pattern(elements, dtype.bits, np.ones((1, elements.shape[1]), np.bool_), rows=True, load=False, accepts=accepts)


def _box(view: Probe, dtype: Type) -> Pattern:
    """A box of a tensor copy: dense and row-major, its rows no longer than the swizzle's span."""
    elements = view.elements.reshape(1, 1, -1)

    def accepts(places: np.ndarray, swizzle: Swizzle | None) -> bool:
        row, pitch = box_rows(view.shape, swizzle, dtype.bits)
        fits = not row * dtype.bits % (8 * _BULK) and (swizzle is None or row * dtype.bits <= 8 * SPANS.get(swizzle, 0))
        if swizzle not in _SWIZZLES or not fits or max(view.shape, default=1) > MAX_BOX:
            return False
        found = places.ravel()
        wanted = copied(view.shape, row, pitch, dtype.bits)
        return bool((found - found[0] == wanted).all()) and int(found[0]) % (8 * image_align(swizzle)) == 0

    return Pattern(elements, dtype.bits, np.ones((1, 1), np.bool_), rows=True, accepts=accepts)


def _described(access: Access, match: Match, name: str, atom: Atom, view: Probe, dtype: Type) -> Pattern:
    """A matrix behind a descriptor: in one of the canonical layouts, the same in every repeat."""
    shape = view.shape[-2:]
    legal = list(dict.fromkeys(one.shape() for one in Asked(match, Slot(name), {}).choices()))
    if shape not in legal:
        shown = " or ".join(map(str, legal[:4])) + (" ..." if len(legal) > 4 else "")
        raise LayoutError(f"{access.opcode}, operand {name}: {view!r} does not end in {shown}", legal=f"last axes of {shown}")
    elements = view.elements.reshape(1, -1, prod(shape))
    words = chosen(atom.majors, match).split()

    def accepts(places: np.ndarray, swizzle: Swizzle | None) -> bool:
        if swizzle not in _SWIZZLES:
            return False
        found = places[0]
        inside = found - found[:, :1]
        period = 8 * (swizzle.period if swizzle is not None else 16)
        span = 8 * SPANS[swizzle] or period
        starts = bool((found[:, 0] % 128 == 0).all() and (found[:, 0] % period < span).all())
        same = starts and bool((inside == inside[:1]).all())
        return same and isinstance(recognise(inside[0], shape, dtype.bits, swizzle, words), Found)

    return Pattern(elements, dtype.bits, np.ones((1, elements.shape[1]), np.bool_), accepts=accepts)
