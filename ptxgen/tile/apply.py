"""`tile.apply`: exactly the named instruction, once for each repeat, over operands split into group | repeat | atom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ptxgen import ir
from ptxgen.errors import InstructionError, PtxgenError, TraceError
from ptxgen.instructions.checking import NAMED, Given, check, check_as
from ptxgen.instructions.grammar import Slot, condition
from ptxgen.instructions.language import Operand
from ptxgen.instructions.registry import Match, lookup
from ptxgen.instructions.tiles import Atom, atom_shape, evaluate_names
from ptxgen.instructions.types import TYPES
from ptxgen.tile.boxes import BoxImageOperand, TensorMapOperand
from ptxgen.tile.descriptors import DescriptorOperand
from ptxgen.tile.group import SCOPES, Group, check_guard, check_same
from ptxgen.tile.image import Image
from ptxgen.tile.implied import check_extents, extents, implication, stepped
from ptxgen.tile.lanes import LanesOperand
from ptxgen.tile.operands import MemoryOperand, PairOperand, RegisterOperand, ScalarOperand, TileOperand, ViewOperand, refuse
from ptxgen.tracing.boxes import Box
from ptxgen.tracing.builder import Builder, Value, current
from ptxgen.tracing.provenance import here
from ptxgen.tracing.values import operand
from ptxgen.tracing.views import Memory, Registers, View

__all__ = ["apply", "bound_operand", "common_repeats", "scope_left_out"]


def apply(opcode: str, *operands: Any, scope: str | None = None, pred: Any = None, **parameters: Any) -> None:
    """Emit one named instruction for every repeat of its operands' views.

    Parameters
    ----------
    opcode : str or px.ptx opcode
        The exact PTX opcode, such as ``"ld.global.v4.b32"`` or ``px.ptx.ld.global_.v4.b32``.
    *operands : View, traced scalar or constant
        In the order of the instruction's syntax line. The shape of a view is (*group, *repeat, atom): the group axes stand for the
        threads of `scope` that are active here, the atom for what one instruction takes, and what lies between is repeated, row-major. A
        scalar goes with every repeat.
    scope : {"thread", "warp", "warpgroup", "cta", "cluster"}
        Which threads the group axes stand for. It launches, elects and synchronises nothing.
    pred : traced predicate, optional
        Guards every emitted instruction.
    **parameters
        Optional operands by the name that the syntax line gives them, e.g. ``cache_policy=``.

    Raises
    ------
    InstructionError
        Where an operand breaks the contract: its shape, owners, registers, order, alignment, space or type; with one counter-example.
    """
    builder = current("tile.apply")
    opcode = getattr(opcode, "text", opcode)  # px.ptx.ld.global_.v4.f32 names it as well
    where = here(opcode)
    if not isinstance(opcode, str):
        raise TraceError(
            f"tile.apply takes the opcode first, as text, not {opcode!r}", where=where,
            legal='px.tile.apply("ld.global.v4.b32", destination, source, scope="cta")',
        )  # fmt: skip
    try:
        matches = lookup(opcode)
        if scope is None:
            raise scope_left_out(opcode, matches[0].entry.section)
        group = Group.at(builder, *_issuers(builder, scope, matches[0]))
        check_guard(builder, opcode, matches[0].entry.issuer, pred)
        bound = _bind(builder, matches, operands, parameters, group)
        _emit(builder, opcode, bound, builder.guard(pred, where), where)
    except InstructionError as error:
        raise error.at(where) from None
    except TraceError as error:
        raise error.of(opcode).at(where) from None


def _issuers(builder: Builder, scope: str, match: Match) -> tuple[str, str]:
    """The scope and the issuer of the group; what one thread issues for all needs guards that leave a single thread."""
    if match.entry.issuer != "one":
        return scope, match.entry.issuer
    if not builder.one_a_warp():
        raise InstructionError(
            f"is issued by {len(builder.active_threads())} threads here", opcode=match.opcode,
            rule="a single elected thread issues this instruction for all", section=match.entry.section,
            example="each of them would issue the whole operation again",
            legal="with px.if_(px.tid.x == 0): ..., or with px.if_(px.elect()): in one warp",
        )  # fmt: skip
    return "thread", "thread"


def scope_left_out(opcode: str, section: str = "") -> InstructionError:
    """The refusal of a tile operation that does not say which threads it is for."""
    return InstructionError(
        "scope is left out", opcode=opcode, rule="the group axes of every operand stand for the threads of the scope", section=section,
        example="64 rows of a block of 64 threads are one row a thread at scope 'cta', and 64 rows for each thread at scope 'thread'",
        legal=f"scope={' | '.join(map(repr, SCOPES))}",
    )  # fmt: skip


def _bind(
    builder: Builder, matches: Sequence[Match], operands: Sequence[Any], parameters: dict[str, Any], group: Group
) -> list[TileOperand]:
    """Give each operand its contract: the form whose operand list has these operands and parameters."""
    complaints: list[tuple[int, PtxgenError]] = []
    for match, slots in _candidates(matches):
        names = _names(slots)
        implied = _implied(match, names, parameters)
        positional = [name for name in names if name not in parameters and name not in implied]
        if len(positional) != len(operands) or any(name not in names for name in parameters):
            continue
        values = {**dict(zip(positional, operands)), **parameters}
        try:
            check_extents(match, extents(match, values))
            values.update((name, _size(match, name, values)) for name in implied if not _from_operands(match, name))
            made = {slot.name: _slot(builder, match, slot, values, group) for slot in slots if not _from_operands(match, slot.name)}
            for slot in slots:
                if slot.name not in made:
                    derived = implication(match, slot.name, made, values)
                    _check_major(match, slot.name, values.setdefault(slot.name, derived), derived)
                    constant = _slot(builder, match, slot, values, group)
                    made[slot.name] = constant if slot.name in parameters else stepped(constant, made)
            bound = [made[slot.name] for slot in slots]
            given = [one.given() for one in bound]
            checked = check_as(match, slots, given) if parameters else check(match.opcode, given)
            builder.need(checked)
            return bound
        except (InstructionError, TraceError) as error:
            complaints.append((_placed(match, slots, values), error))
    if complaints:
        raise max(complaints, key=lambda one: one[0])[1]  # the first of equals
    match = matches[0]
    optional = sorted({name for _, slots in _candidates(matches) for name in _names(slots)})
    for name in parameters:
        if name not in optional:
            raise InstructionError(
                f"has no operand {name!r}", opcode=match.opcode, rule="operands by keyword have the names of the syntax line",
                section=match.entry.section, legal=match.form.syntax,
            )  # fmt: skip
    raise InstructionError(
        f"takes {_counts(matches)} operands, not {len(operands) + len(parameters)}",
        opcode=match.opcode, rule="operands are those of the syntax line, destination first", section=match.entry.section,
        legal=match.form.syntax,
    )  # fmt: skip


def _placed(match: Match, slots: Sequence[Slot], values: dict[str, Any]) -> int:
    """How many register tiles stand where a form takes registers, and how many views of memory where it takes memory."""
    fitting = 0
    for name in _names(slots):
        value, contract = values.get(name), match.entry.operands[name]
        if isinstance(value, View):
            fitting += isinstance(value.storage, Memory) == (contract.kind == "address" or _place(match, name) == "descriptor")
    return fitting


def _candidates(matches: Sequence[Match]) -> Iterator[tuple[Match, tuple[Slot, ...]]]:
    for match in matches:
        for slots in match.form.operand_lists:
            yield match, slots


def _counts(matches: Sequence[Match]) -> str:
    """How many operands the forms take, those apart that follow from the others."""
    given = ([name for name in _names(slots) if name not in _implied(match, _names(slots), {})] for match, slots in _candidates(matches))
    return _either(sorted({len(names) for names in given}))


def _names(slots: Sequence[Slot]) -> list[str]:
    """The operands' names in order, both of a pair ``p|q``."""
    return [name for slot in slots for name in ((slot.name, slot.second) if slot.second else (slot.name,))]


def _implied(match: Match, names: list[str], parameters: dict[str, Any]) -> list[str]:
    """Constants that need not be given: those that a form writes out, and sizes that follow from a view."""
    tile = match.entry.tile
    known = {name for text in tile.sized.values() for name in text.split()} | set(tile.implied) if tile is not None else set()
    return [name for name in names if name.isdigit() or (name in known and name not in parameters)]


def _from_operands(match: Match, name: str) -> bool:
    """Whether a constant follows from what other operands turned out to be."""
    return match.entry.tile is not None and name in match.entry.tile.implied


def _check_major(match: Match, name: str, given: Any, derived: int) -> None:
    """Refuse a major that the user gives and that is not the operand's."""
    said = match.entry.tile.implied[name] if match.entry.tile is not None else ""
    if isinstance(said, str) and said.startswith("major(") and isinstance(given, int) and given != derived:
        operand = said[len("major(") : -1]
        raise refuse(
            match, name, f"{int(given)} is given, and operand {operand} is {'MN' if derived else 'K'}-major",
            rule="the flag says how the matrix lies: 0 is K-major, 1 is MN-major", legal=f"{derived}, or leave it out",
        )  # fmt: skip


def _size(match: Match, name: str, values: dict[str, Any]) -> int:
    """The bytes that one instruction moves: as the form says, or what the view's last axis holds."""
    if name.isdigit():
        return int(name)
    assert match.entry.tile is not None
    sized = next(operand for operand, text in match.entry.tile.sized.items() if name in text.split())
    view = values[sized]
    if not isinstance(view, View) or not view.ndim or not isinstance(view.shape[-1], int):
        raise refuse(match, sized, f"{view!r} is no view with a static last axis", legal=f"a view of memory, or {name}= in bytes")
    size = view.shape[-1] * view.dtype.bits // 8
    allowed = match.entry.operands[name].values
    if allowed is None or size in allowed:
        return size
    bits = view.dtype.bits
    if isinstance(allowed, range):
        sizes, legal = f"a multiple of {allowed.step}", f"a last axis of a multiple of {allowed.step * 8 // bits} elements of {bits} bits"
    else:
        known = [one for one in allowed if isinstance(one, int)]
        sizes, legal = _either(known), f"a last axis of {_either([one * 8 // bits for one in known])} elements of {bits} bits"
    raise refuse(
        match, sized, f"{view!r} ends in {view.shape[-1]} elements, {size} bytes", rule=f"one instruction moves {sizes} bytes", legal=legal
    )


def _either(numbers: Sequence[int]) -> str:
    """``4, 8 or 16``."""
    *most, last = map(str, numbers)
    return f"{', '.join(most)} or {last}" if most else last


def _slot(builder: Builder, match: Match, slot: Slot, values: dict[str, Any], group: Group) -> TileOperand:
    first = bound_operand(builder, match, slot, values, group)
    if not slot.second:
        return first
    return PairOperand(first, bound_operand(builder, match, Slot(slot.second), values, group))


def bound_operand(builder: Builder, match: Match, slot: Slot, values: dict[str, Any], group: Group) -> TileOperand:
    """What was given for one operand, held against all that the contract demands of it by itself."""
    value = values[slot.name]
    place = _place(match, slot.name)
    if place == "tensor map":
        return _tensor_map(match, slot, value, values)
    if slot.bracket and not isinstance(value, View) and hasattr(value, "__ptxgen_address__"):
        return ScalarOperand(match, slot.name, match.entry.operands[slot.name], *value.__ptxgen_address__(builder))
    contract = match.entry.operands[slot.name]
    if contract.kind in NAMED or contract.kind == "list" or slot.inner:
        raise refuse(match, slot.name, "is no operand of a tile operation", legal=f'the raw call px.ptx["{match.opcode}"](...)')
    if not isinstance(value, View):
        if contract.kind == "address":
            legal = "a px.Tensor parameter, a px.shared tile, or a view of one"
            raise refuse(match, slot.name, f"{value!r} is no view of memory", rule=f"operand {slot.name} is an address", legal=legal)
        return ScalarOperand(match, slot.name, contract, *_scalar(builder, match, slot, contract, value))
    value.check_visible()
    if place == "box":
        return BoxImageOperand(match, slot.name, contract, value, group)
    if place == "lanes":
        _check_tile_form(match, slot.name)
        given = extents(match, values)
        return LanesOperand(match, slot.name, contract, value, group, match.entry.tile.atoms[slot.name], given)  # type: ignore[union-attr]
    described = _described(match, slot.name)
    if described is not None:
        shape = atom_shape(described, evaluate_names(match.entry.tile, match, extents(match, values)), match)  # type: ignore[arg-type]
        return DescriptorOperand(match, slot.name, contract, value, group, described, shape)
    if contract.kind == "address" and not value.ndim and isinstance(value.storage, Memory):
        return ScalarOperand(match, slot.name, contract, *value.__ptxgen_address__(builder))  # one place for every repeat
    atom = _atom(match, slot.name, contract, value, values)
    if contract.kind == "address":
        if isinstance(value.storage, Registers):
            raise refuse(
                match, slot.name, f"{value!r} is a register tile where the instruction takes memory",
                rule=f"operand {slot.name} is an address", legal="a px.Tensor parameter, a px.shared tile, or a view of one",
            )  # fmt: skip
        return MemoryOperand(match, slot.name, contract, value, group, atom)
    if not isinstance(value.storage, Registers):
        raise refuse(
            match, slot.name, f"{value!r} is memory where the instruction takes registers",
            rule=f"operand {slot.name} is {'a register' if atom.size == 1 else f'a vector of {match.count(contract.vector)} registers'}",
            legal="a px.local tile; ld and st alone reach memory",
        )  # fmt: skip
    return RegisterOperand(match, slot.name, contract, value, group, atom)


def _place(match: Match, name: str) -> str:
    tile = match.entry.tile
    return tile.atoms[name].place if tile is not None and name in tile.atoms else ""


def _described(match: Match, name: str) -> Atom | None:
    """The atom of an operand that a descriptor describes."""
    tile = match.entry.tile
    return tile.atoms[name] if tile is not None and _place(match, name) == "descriptor" else None


def _tensor_map(match: Match, slot: Slot, value: Any, values: dict[str, Any]) -> TensorMapOperand:
    assert match.entry.tile is not None
    image = next(values[name] for name, atom in match.entry.tile.atoms.items() if atom.place == "box")
    if not isinstance(value, Box) or not isinstance(image, View):
        raise refuse(
            match, slot.name, f"{value!r} is no box of a tensor", rule="a tensor copy moves a box of a tensor argument",
            legal="x.box((i, j), (64, 64)) of a px.Tensor parameter x",
        )  # fmt: skip
    value.view.builder.visible_region(value.region)
    return TensorMapOperand(match, slot.name, match.entry.operands[slot.name], value, image)


def _atom(match: Match, name: str, contract: Operand, view: View, values: dict[str, Any]) -> Image:
    """The operand's atom: what the contract says, else consecutive words."""
    tile = match.entry.tile
    _check_tile_form(match, name)
    if tile is not None and name in tile.atoms:
        return Image.of(tile.atoms[name], match, extents(match, values))
    if tile is not None and name in tile.sized:
        size = next(values[one] for one in tile.sized[name].split() if one in values)
        return Image.words(max(1, size * 8 // view.dtype.bits), view.dtype.bits, view.dtype.bits)
    bits = view.storage.container.bits if isinstance(view.storage, Registers) else view.dtype.bits
    return Image.words(match.count(contract.vector), bits)


def _check_tile_form(match: Match, name: str) -> None:
    tile = match.entry.tile
    if tile is not None and not condition(tile.when).holds(match.bindings):
        raise refuse(
            match, name, "this variant has no tile form", rule=f"tiles hold where {tile.when}",
            legal=f'the raw call px.ptx["{match.opcode}"](...)',
        )  # fmt: skip


def _scalar(builder: Builder, match: Match, slot: Slot, contract: Operand, value: Any) -> tuple[ir.Operand, Given]:
    """A traced scalar as it is, for the contract to judge; a Python number as a constant of the operand's type; several in braces."""
    if isinstance(value, (tuple, list)):
        parts = [_scalar(builder, match, slot, contract, one) for one in value]
        return ir.Vec(tuple([part for part, _ in parts])), Given.vector(tuple([described for _, described in parts]))
    if hasattr(value, "__ptxgen_value__") and not isinstance(value, Value):
        value = value.__ptxgen_value__(builder)
    if contract.kind == "predicate" and contract.immediate and isinstance(value, int) and value in (0, 1):
        return ir.Int(int(value)), Given("int", str(int(value)), value=int(value))
    check_same(builder, match, slot.name, value)
    try:
        if not isinstance(value, Value):
            value = builder.scalar(value, TYPES["pred"] if contract.kind == "predicate" else match.type(contract.type))
        return operand(builder, value, negatable=contract.negatable)
    except TraceError as error:
        raise error.of(match.opcode, slot.name) from None


def _emit(builder: Builder, opcode: str, operands: list[TileOperand], guard: ir.Guard | None, where: Any) -> None:
    match = operands[0].match
    parts = [part for one in operands for part in one.parts]
    axes = common_axes(match, parts)
    for one in parts:
        if isinstance(one, RegisterOperand) and one.contract.role != "in":
            one.check_distinct()
    places = {one.name: _places(one, axes) for one in parts}
    chained = _chained(match, parts, axes)
    _check_aliasing(match, parts, places, chained, tuple(axes.values()))
    columns = {}
    for one in operands:
        own = one.render(prod(one.repeat_shape) if one.repeat_shape is not None else 1)
        columns[one.name] = one.at_steps(own, places)
    for name, (other, begun) in chained.items():
        following = [ir.Int(int(other))] * len(begun) if other.isdigit() else columns[other]
        columns[name] = [following[at] if begun[at] else one for at, one in enumerate(columns[name])]
    builder.body.extend([ir.Instruction(opcode, row, guard, where) for row in zip(*columns.values())])


def _places(one: TileOperand, axes: dict[str, int]) -> np.ndarray:
    """For every step of the iteration, which repeat of one operand it takes."""
    shape = tuple(axes.values())
    if not isinstance(one, ViewOperand) or one.repeat_shape is None:
        return np.zeros(prod(shape), np.int64)
    own = one.axes()
    if own == list(axes):
        return np.arange(prod(shape))
    steps = dict(zip(axes, np.indices(shape).reshape(len(shape), -1))) if shape else {}
    place = np.zeros(prod(shape), np.int64)
    for axis, extent in zip(own, one.repeat_shape):
        place = place * extent + steps[axis]
    return place


def _chained(match: Match, operands: list[TileOperand], axes: dict[str, int]) -> dict[str, tuple[str, np.ndarray]]:
    """Operands that give way to another one once the innermost axis has begun, and the steps at which they have."""
    tile = match.entry.tile
    if tile is None or not tile.chain:
        return {}
    inner = tuple(axes.values())[-1]
    begun = np.arange(prod(axes.values())) % inner > 0
    given = {one.name for one in operands}
    return {name: (other, begun) for name, other in tile.chain.items() if name in given}


def common_axes(match: Match, operands: list[TileOperand]) -> dict[str, int]:
    """The axes of the iteration with their extents, outermost first: those of all operands, in the contract's order."""
    tile = match.entry.tile
    if tile is None or tile.order == "*":
        return {f"*{place}": extent for place, extent in enumerate(common_repeats(match, operands))}
    extents: dict[str, tuple[int, TileOperand]] = {}
    for one in operands:
        if isinstance(one, ViewOperand) and one.repeat_shape is not None:
            for axis, extent in zip(one.axes(), one.repeat_shape):
                known, first = extents.setdefault(axis, (extent, one))
                if known != extent:
                    raise refuse(
                        match, one.name, f"its repeat axis {axis} has {extent} steps, that of operand {first.name} has {known}",
                        rule=f"the instruction is repeated along {tile.order}, and an axis has one extent", legal="views with equal axes",
                    )  # fmt: skip
    order = [axis for name in tile.order.split() for axis in (sorted(a for a in extents if a[0] == "*") if name == "*" else [name])]
    return {axis: extents[axis][0] for axis in order if axis in extents}


def common_repeats(match: Match, operands: list[TileOperand]) -> tuple[int, ...]:
    """The repeat axes, which all views share."""
    views = [one for one in operands if one.repeat_shape is not None]
    if not views and any(isinstance(one, TensorMapOperand) for one in operands):
        return ()
    if not views:
        raise InstructionError(
            "no operand is a view", opcode=match.opcode, rule="tile operations repeat an instruction over views",
            section=match.entry.section, legal=f'the raw call px.ptx["{match.opcode}"](...)',
        )  # fmt: skip
    first = views[0]
    for one in views[1:]:
        if one.repeat_shape != first.repeat_shape:
            raise refuse(
                match, one.name, f"its repeat axes are {one.repeat_shape}, those of operand {first.name} are {first.repeat_shape}",
                rule="every operand has the same repeats, one instruction each", legal="views with equal repeat axes",
            )  # fmt: skip
    assert first.repeat_shape is not None
    return first.repeat_shape


def _check_aliasing(
    match: Match,
    operands: list[TileOperand],
    places: dict[str, np.ndarray],
    chained: dict[str, tuple[str, np.ndarray]],
    shape: tuple[int, ...],
) -> None:
    """Refuse a destination that overwrites, in an earlier step, a register that a later step reads."""
    outputs = [one for one in operands if isinstance(one, RegisterOperand) and one.contract.role != "in"]
    inputs = [one for one in operands if isinstance(one, RegisterOperand) and one.contract.role != "out"]
    for written, read in product(outputs, inputs):
        if written.storage is not read.storage or written is read:
            continue
        rows = places[written.name].tolist()
        writer: dict[int, int] = {}
        for step in range(len(rows) - 1, -1, -1):
            writer.update((int(slot), step) for slot in written.slots[rows[step]])
        begun = chained[read.name][1] if read.name in chained else None
        for step, row in enumerate(places[read.name].tolist()):
            if begun is not None and begun[step]:
                continue  # here the instruction reads what it has just written, as it should
            early = next((int(slot) for slot in read.slots[row] if writer.get(int(slot), step) < step), None)
            if early is not None:
                at, before = (tuple(int(i) for i in np.unravel_index(k, shape)) for k in (step, writer[early]))
                raise refuse(
                    match, written.name, f"{written.view!r} overwrites registers that operand {read.name} still reads",
                    rule="repeats run in row-major order, each as one instruction",
                    example=f"repeat {before} writes register {early}, which repeat {at} reads",
                    legal="a destination tile of its own, or the same element order in both",
                )  # fmt: skip
