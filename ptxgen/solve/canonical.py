"""A tensor in the coordinates of an instruction: which rearrangement makes it group | repeat | atom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from math import prod
from typing import Any

from ptxgen.errors import InstructionError, PtxgenError, TraceError
from ptxgen.instructions.arguments import ELEMENT, OPCODE
from ptxgen.instructions.tiles import atom_layout, evaluate_names
from ptxgen.instructions.types import Type
from ptxgen.kernels.annotations import Tensor
from ptxgen.layouts.arguments import COUNT, TEXT, takes
from ptxgen.layouts.axes import ZERO, AxisTerm, m, tx
from ptxgen.layouts.dims import Dims, coalesce
from ptxgen.layouts.errors import Impossible, LayoutError
from ptxgen.layouts.expr import Expr
from ptxgen.layouts.layout import Layout, as_layout
from ptxgen.layouts.search.cuts import Piece, cuts
from ptxgen.layouts.spec import Shard
from ptxgen.solve.arrangement import Arrangement, braced
from ptxgen.solve.frozen import Frozen
from ptxgen.solve.judge import Asked, asked, bound, issuers, judged, legal_operands
from ptxgen.tile.group import UNITS

__all__ = ["CanonicalPlan", "canonical"]

_TRIED = 64  # rearrangements that the engine is asked about


_Split = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]  # group, repeat and atom


class CanonicalPlan(Frozen):
    """How a tensor becomes an operand: ``px.tile.apply(opcode, ..., plan.view(tensor), ..., scope=plan.scope)``. Immutable.

    Attributes
    ----------
    opcode, operand : str
        The operand by its name in the syntax line.
    scope : str
    view : Arrangement
        The rearrangement.
    group, repeat, atom : tuple of int
        The extents that it gives: the issuers of the scope; one instruction each; what an instruction takes.
    repeats : tuple of str
        The names of the repeat axes that the contract has, the last ones of `repeat`; ``*`` stands for any others.
    layout : Layout
        The tensor's, in bits, before.
    dtype : Type
    sizes : dict of str to int
        Extents that this view gives to the instruction.
    """

    __slots__ = ("_how", "_of", "atom", "dtype", "group", "layout", "opcode", "operand", "repeat", "repeats", "scope", "sizes", "view")

    def __init__(self, of: Asked, view: Arrangement, split: _Split, layout: Layout, dtype: Type, sizes: dict[str, int], how: Any) -> None:
        self.opcode = of.match.opcode
        self.operand = of.name
        self.scope: str = how["scope"]
        self.view = view
        self.group, self.repeat, self.atom = split
        self.repeats = of.repeats
        self.layout = layout
        self.dtype = dtype
        self.sizes = sizes
        self._of = of
        self._how = how

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the view: (\\*group, \\*repeat, \\*atom)."""
        return (*self.group, *self.repeat, *self.atom)

    def check(self) -> None:
        """Have the engine judge the view again.

        Raises
        ------
        InstructionError
            Which does not happen: it has judged it before.
        """
        judged(self._of, self.view.on(self.layout, self.dtype.bits)[0], self.dtype, **self._how)

    def __str__(self) -> str:
        named = "".join(f", {axis}" for axis in self.repeats if axis != "*")
        issuer = self._of.match.entry.issuer
        return "\n".join([
            f"{self.operand} of {self.opcode}, scope {self.scope!r}: tensor of shape {self.layout.shape}, {self.dtype.name}",
            f"  view    tensor{self.view}",
            f"  group   {_extents(self.group)}: {'issued once' if issuer == 'one' or not self.group else f'{issuer}s of the {self.scope}'}",
            f"  repeat  {_extents(self.repeat)}: {prod(self.repeat)} instructions{f', along{named[1:]}' if named else ''}",
            f"  atom    {_extents(self.atom)}",
            *([f"  sizes   {', '.join(f'{name} = {value}' for name, value in self.sizes.items())}"] if self.sizes else []),
        ])  # fmt: skip


def _extents(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "none"


@takes(opcode=OPCODE, operand=TEXT, scope=TEXT, dtype=ELEMENT, threads=COUNT, space=TEXT, align=COUNT, sizes=COUNT)
def canonical(
    tensor: Any,
    opcode: Any,
    operand: str = "A",
    *,
    scope: str | None = None,
    dtype: Type | None = None,
    threads: int | None = None,
    space: str | None = None,
    align: int | None = None,
    **sizes: int,
) -> CanonicalPlan:
    """The rearrangement of a tensor into the group, repeat and atom axes of an operand.

    The axes of the tensor stand for those of the atom in the same order where that is possible (rows and K of A, N and K of B), otherwise
    in another one, which the plan shows. Whatever is proposed, the tile engine has judged.

    Parameters
    ----------
    tensor : Layout or S[...], px.Tensor, or a view in a kernel
        A layout with thread axes is a register tile.
    opcode : str
    operand : str
        Its name in the syntax line, or its letter.
    scope : str, optional
        Of the tile operation; by default one issuer.
    dtype : Type, optional
        Of an element; by default as the instruction says.
    threads : int, optional
        Of the block, for scopes larger than a warpgroup.
    space : str, optional
        State space of memory; by default shared, and global for a px.Tensor. ``"reg"`` for registers of which each thread has its own.
    align : int, optional
        Bytes that divide the tensor's address; by default as declared, else 1024.
    **sizes : int
        Extents that views give and the opcode does not spell, by the contract's names.

    Raises
    ------
    Impossible
        Where there is none: the demands in conflict.
    InstructionError
        For an opcode that does not exist.
    """
    registers, space = _where(tensor, space)
    candidates = list(asked(opcode, operand, sizes, fits := partial(_fits, registers=registers)))
    if not candidates:
        places = "a layout with thread axes for registers, on m alone for memory; px.solve.tensor_map for boxes of tensors"
        others = legal_operands(opcode, fits)
        raise LayoutError(
            f"operand {operand!r} of {getattr(opcode, 'text', opcode)} takes no {'register tile' if registers else 'view of memory'}",
            legal=f"{others}, or {places}" if others else places,
        )
    failures: list[Impossible] = []
    for of in candidates:
        element = _element(of, tensor, dtype)
        layout = bound(tensor.layout() if isinstance(tensor, Tensor) else getattr(tensor, "layout", tensor), element.bits)
        if not layout.is_static:
            raise LayoutError(f"a tensor of shape {layout.shape} has a runtime extent", legal="a static part of it: x.sub(starts, extents)")
        how = {
            "scope": scope or of.scope, "threads": threads, "space": "reg" if registers else space,
            "align": align or getattr(tensor, "align", None) or getattr(getattr(tensor, "storage", None), "align", None) or 1024,
            "name": "tensor",
        }  # fmt: skip
        try:
            return _search(of, layout, element, how, repr(tensor))
        except Impossible as failure:
            failures.append(failure)
    raise failures[0]


def _where(tensor: Any, space: str | None) -> tuple[bool, str]:
    """Whether a tensor lies in registers, and the state space of one that does not."""
    if isinstance(tensor, Tensor):
        return False, space or "global"
    own = getattr(tensor, "space", None)
    if own is not None:
        return own == "reg", own
    if not isinstance(tensor, (Layout, Shard)):
        raise LayoutError(f"{tensor!r} is no tensor", legal="a Layout or S[...], a px.Tensor, or a view in a kernel")
    layout = as_layout(tensor)
    return space == "reg" or any(axis.is_thread for axis in layout.axes), space or "shared"


def _fits(of: Asked, registers: bool) -> bool:
    if of.place in ("box", "tensor map"):
        return False
    contract = of.match.entry.operands[of.name]
    if of.atom is None:
        return contract.kind == ("register" if registers else "address")
    return (of.place == "registers") == registers


def _element(of: Asked, tensor: Any, dtype: Type | None) -> Type:
    own = dtype or getattr(tensor, "dtype", None)
    if of.sized:
        if own is None:
            raise LayoutError("the element type of the tensor is not said", legal="dtype=px.bf16, or a px.Tensor")
        return own
    demanded = of.match.type(of.atom.element if of.atom is not None else of.match.entry.operands[of.name].type)
    demanded = demanded.element if of.atom is not None else demanded
    if own is None:
        return demanded
    if own.bits != demanded.bits:
        raise Impossible(
            f"{of.name} of {of.match.opcode} holds no elements of .{own.name}",
            (f"the tensor has elements of {own.bits} bits", f"the instruction takes elements of {demanded.bits} bits"),
            legal=f".view(px.b{demanded.bits})",
        )
    return own


# ---- the search ---------------------------------------------------------------------------------------------------------


def _search(of: Asked, layout: Layout, element: Type, how: dict[str, Any], spelled: str) -> CanonicalPlan:
    refusals: list[PtxgenError] = []
    tried = 0
    for sized in of.choices():
        for view, split in _proposals(sized, layout, element, how):
            if tried == _TRIED:
                break
            tried += 1
            try:
                judged(sized, view.on(layout, element.bits)[0], element, **how)
            except (InstructionError, TraceError) as error:
                refusals.append(error)
                continue
            given = {name: value for name, value in sized.sizes.items() if name not in of.sizes and not name.isdigit()}
            return CanonicalPlan(sized, view, split, layout, element, given, how)
    raise _impossible(of, layout, element, how, refusals, spelled)


def _impossible(
    of: Asked, layout: Layout, element: Type, how: dict[str, Any], refusals: Sequence[PtxgenError], given: str
) -> Impossible:
    """The demands in conflict: one of the tensor, and one of the instruction or of the scope."""
    problem = f"{of.name} of {of.match.opcode}: no rearrangement of this tensor is an operand"
    first = of.choices()[0]
    atom = first.shape(element.bits)
    takes = " x ".join(map(str, atom))
    if not refusals:
        for extent, wanted in zip(layout.shape[-len(atom) :], atom):
            if extent % wanted:
                unfit = f"one instruction takes {takes}, and {wanted} does not divide {extent}"
                return Impossible(problem, (f"the tensor's shape is {layout.shape}", unfit), legal=f"an extent of a multiple of {wanted}")
        count, whole = issuers(of, how["scope"], how["threads"]), layout.size // prod(atom)
        if how["space"] != "reg" and whole % count:
            return Impossible(
                problem, (f"the tensor is {whole} times what one instruction takes", f"scope {how['scope']!r} has {count} that issue it"),
                legal=f"a tensor of a multiple of {count} times {takes}, or a part of it",
            )  # fmt: skip
        threads, wanted = layout.table().thread, issuers(of, how["scope"], how["threads"]) * UNITS[of.match.entry.issuer]
        owners = len(set(threads.ravel().tolist())) if threads is not None else wanted
        if owners != wanted:
            return Impossible(
                problem, (f"{owners} threads own the tensor", f"scope {how['scope']!r} has {wanted}"),
                legal="the scope of as many threads, or a part of the tensor",
            )  # fmt: skip
        refusals = list(_refused_in_order(first, layout, element, how))
    if refusals:
        error = refusals[0]
        rule, example = getattr(error, "rule", ""), getattr(error, "example", "")
        said = f"{rule}{f'; {example}' if example else ''}" or str(error)
        return Impossible(problem, (f"the tensor lies as {given}", said), legal=getattr(error, "legal", ""))
    return Impossible(problem, (f"the tensor lies as {given}", f"one instruction takes {takes}: {_atom_text(first)}"))


def _refused_in_order(of: Asked, layout: Layout, element: Type, how: dict[str, Any]) -> Iterator[PtxgenError]:
    """What the engine says of the tensor cut in the plainest way, for a counter-example."""
    for view, _ in _proposals(of, layout, element, how, plain=True):
        try:
            judged(of, view.on(layout, element.bits)[0], element, **how)
        except (InstructionError, TraceError) as error:
            yield error
        return


def _atom_text(of: Asked) -> str:
    tile = of.match.entry.tile
    if of.atom is None or tile is None or not of.atom.layout:
        return "elements side by side in memory"
    return repr(atom_layout(of.atom, evaluate_names(tile, of.match, tuple(of.sizes.items())), of.match))


def _proposals(
    of: Asked, layout: Layout, element: Type, how: dict[str, Any], plain: bool = False
) -> Iterator[tuple[Arrangement, _Split]]:
    """Rearrangements whose atoms have the instruction's strides, as far as strides alone tell; `plain` ones have any."""
    shape, count = of.shape(element.bits), issuers(of, how["scope"], how["threads"])
    whole = layout.shape
    if whole[-len(shape) :] == shape and len(whole) >= len(shape) + len([axis for axis in of.repeats if axis != "*"]):
        split = _grouped(whole[: -len(shape)], count)
        if split is not None:
            yield Arrangement(), (*split, shape)
    axes = [coalesce(part) for part in layout.dims]
    atom, alike = _atom(of, shape, element, how["space"])
    alike = _anything if plain else alike
    inner = atom[max(0, len(shape) - len(axes)) :]
    front = prod(shape[: len(shape) - len(inner)])
    for found in islice(cuts(axes, inner, alike), _TRIED):
        for pieces in _joined(found, front) if len(inner) < len(shape) else [found]:
            for grouped in _issued(of, pieces, count, how["space"] == "reg"):
                arranged = _pattern(of, grouped, shape)
                if arranged is not None:
                    yield arranged


def _grouped(leading: tuple[int, ...], wanted: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Leading extents as those of the group and of the repeats."""
    count, total = 0, 1
    while total < wanted and count < len(leading):
        total *= leading[count]
        count += 1
    return (leading[:count], leading[count:]) if total == wanted else None


def _atom(of: Asked, shape: tuple[int, ...], element: Type, space: str) -> tuple[list[Dims], Any]:
    """The atom's axes in bits, and when a stride of the tensor may stand for one of its strides."""
    bits, tile = element.bits, of.match.entry.tile
    if of.atom is None or tile is None:
        free = space == "reg"
        return [((shape[0], AxisTerm.of(bits)),)], (_anything if free else _same)
    if of.place == "descriptor":
        return [((extent, ZERO),) for extent in shape], _anything
    layout = atom_layout(of.atom, evaluate_names(tile, of.match, tuple(of.sizes.items())), of.match).bind(bits)
    axes = [coalesce(part) for part in layout.dims]
    if of.place == "registers":
        width = of.match.type(of.match.entry.operands[of.name].type).bits
        return axes, lambda own, wanted: _same_register(own, wanted, width)
    if of.place == "memory":
        return axes, lambda own, wanted: any(axis.is_thread or axis is tx for axis, _ in wanted.parts) or own == wanted
    return axes, _same


def _anything(own: AxisTerm, wanted: AxisTerm) -> bool:
    return True


def _same(own: AxisTerm, wanted: AxisTerm) -> bool:
    return own == wanted


def _same_register(own: AxisTerm, wanted: AxisTerm, width: int) -> bool:
    """The same owner; inside of a register the same place, and another register for another register."""
    if own[tx] != wanted[tx]:
        return False
    there, here = Expr.of(own[m]).constant, Expr.of(wanted[m]).constant
    if there is None or here is None:
        return False
    return there == here if here % width else there % width == 0


# ---- what is left over --------------------------------------------------------------------------------------------------

_Pieces = list[list[Piece]]  # of each axis
_FRONT, _GROUP = -1, -2  # marks of pieces that are a leading axis of the atom, and the group's


def _joined(pieces: _Pieces, count: int) -> Iterator[_Pieces]:
    """Ways to make a leading axis of the atom, of extent `count`, of what is left over.

    Matrices of one instruction may lie anywhere in the tile; squares of them come first.
    """
    inner = [next((at for at in range(len(own) - 1, -1, -1) if own[at].atom is None), None) for own in pieces]
    options: list[list[int]] = [[]]
    for own, place in zip(pieces, inner):
        extent = own[place].extent if place is not None else 1
        options = [[*option, take] for option in options for take in range(1, extent + 1) if extent % take == 0]
    for option in sorted((one for one in options if prod(one) == count), key=max):
        yield [_parted(own, place, take, _FRONT) for own, place, take in zip(pieces, inner, option)]


def _parted(own: list[Piece], at: int | None, take: int, mark: int, inside: bool = True) -> list[Piece]:
    """The pieces of an axis with `take` of one of them marked: the innermost of it, or the outermost."""
    if at is None or take == 1:
        return own
    piece = own[at]
    rest = piece.extent // take
    if rest == 1:
        parts = [piece._replace(atom=mark)]
    elif inside:
        parts = [piece._replace(extent=rest, stride=piece.stride * take), piece._replace(extent=take, atom=mark)]
    else:
        parts = [piece._replace(extent=take, stride=piece.stride * rest, atom=mark), piece._replace(extent=rest)]
    return [*own[:at], *parts, *own[at + 1 :]]


def _issued(of: Asked, pieces: _Pieces, count: int, registers: bool) -> Iterator[_Pieces]:
    """The pieces with the group's marked: those of a register tile that threads own, as many of memory as there are issuers."""
    if registers:
        made = [[piece._replace(atom=_GROUP) if piece.atom is None and piece.stride[tx] != 0 else piece for piece in own] for own in pieces]
        if prod(piece.extent for own in made for piece in own if piece.atom == _GROUP) == count:
            yield made
        return
    single = of.match.entry.issuer == "thread"  # neighbouring threads take neighbours in memory, warps whole parts
    for inside in (single, not single):
        taken = _taken(pieces, count, inside)
        if taken is not None:
            yield taken


def _taken(pieces: _Pieces, count: int, inside: bool) -> _Pieces | None:
    made, need = [list(own) for own in pieces], count
    for axis in sorted(range(len(made)), reverse=inside):
        for at in sorted(range(len(pieces[axis])), reverse=True) if inside else range(len(pieces[axis])):
            piece = made[axis][at]
            if need == 1:
                return made
            if piece.atom is not None:
                continue
            take = piece.extent if need % piece.extent == 0 else need if piece.extent % need == 0 else 1
            made[axis] = _parted(made[axis], at, take, _GROUP, inside)
            need //= take
            if 1 < take < piece.extent:
                return made  # so many are left over that the group is complete
    return made if need == 1 else None


_Places = list[tuple[int, int]]  # axis and number of pieces


def _pattern(of: Asked, pieces: _Pieces, shape: tuple[int, ...]) -> tuple[Arrangement, _Split] | None:
    """The einops pattern of pieces: group, repeats, atom."""
    all_of = {(axis, at): piece for axis, own in enumerate(pieces) for at, piece in enumerate(own)}
    marked = lambda mark: [place for place, piece in all_of.items() if piece.atom == mark]  # noqa: E731
    group = sorted(marked(_GROUP), key=lambda place: -_thread(all_of[place]))
    front = [sorted(marked(_FRONT), reverse=True)] if any(piece.atom == _FRONT for piece in all_of.values()) else []
    atom = [sorted(marked(number), key=lambda place: -all_of[place].inner) for number in range(len(shape) - len(front))]
    held = [*front, *atom]
    repeats = _repeats(of, [[place for place in marked(None) if place[0] == axis] for axis in range(len(pieces))], held)
    if repeats is None:
        return None
    runs = [_runs(places) for places in (*repeats, *held)]
    names = _names(of, group, runs[: len(repeats)], runs[len(repeats) :])
    lhs = [braced([names[axis, at] for at in range(len(own)) if (axis, at) in names]) for axis, own in enumerate(pieces)]
    rhs = [*(names[place] for place in group), *(braced([names[run[0]] for run in slot]) for slot in runs)]
    extents = {place: all_of[place].extent for place in group}
    extents.update((run[0], prod(all_of[place].extent for place in run)) for slot in runs for run in slot)
    sizes = {names[place]: extents[place] for place in sorted(extents) if place[1]}
    split = tuple(all_of[place].extent for place in group), tuple(prod(all_of[place].extent for place in one) for one in repeats), shape
    return Arrangement().rearrange(f"{' '.join(lhs)} -> {' '.join(rhs)}", **sizes), split


def _runs(places: _Places) -> list[_Places]:
    """Pieces that stay side by side, together."""
    runs: list[_Places] = []
    for axis, at in places:
        if runs and runs[-1][-1] == (axis, at - 1):
            runs[-1].append((axis, at))
        else:
            runs.append([(axis, at)])
    return runs


def _thread(piece: Piece) -> int:
    """The stride between threads; 0 for what is in memory, and for what is known at run time alone."""
    return Expr.of(piece.stride[tx]).constant or 0


def _repeats(of: Asked, left: list[_Places], held: list[_Places]) -> list[_Places] | None:
    """What is left over of each axis as repeat axes: the contract's by the axis of the atom beside them, others in front."""
    named = [axis for axis in of.repeats if axis != "*"]
    if not named:
        return [places for places in left if places]
    beside = [places[0][0] if places else None for places in held]
    if len(named) != len(held):
        free = [places for axis, places in enumerate(left) if axis not in beside]
        spare = any(left[axis] for axis in beside if axis is not None)
        return [*free, *([] for _ in named[len(free) :])] if len(free) <= len(named) and not spare else None
    known = {axis for axis in beside if axis is not None}
    others = [places for axis, places in enumerate(left) if places and axis not in known]
    if others and "*" not in of.repeats:
        return None
    return [*others, *([] if axis is None else left[axis] for axis in beside)]


def _names(of: Asked, group: _Places, repeats: list[list[_Places]], atom: list[list[_Places]]) -> dict[tuple[int, int], str]:
    """Names of pieces: g for the group, the contract's for repeats, i and j and so on for the atom; numbered where there are several."""
    contract = [axis.lower() for axis in of.repeats if axis != "*"]
    stems = [*"pquvw"[: len(repeats) - len(contract)], *contract]
    found: dict[tuple[int, int], str] = {}
    for stem, runs in [("g", [[place] for place in group]), *zip(stems, repeats), *zip("ijlxyz", atom)]:
        for number, run in enumerate(runs):
            found[run[0]] = stem if len(runs) == 1 else f"{stem}{number}"
    return found
