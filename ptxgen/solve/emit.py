"""A conversion's plan as instructions of the kernel that is being traced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptxgen import ir
from ptxgen.instructions.checking import Given
from ptxgen.instructions.types import TYPES, Type
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.layout import Layout
from ptxgen.solve.steps import run
from ptxgen.tile.apply import apply
from ptxgen.tracing.builder import Builder, current
from ptxgen.tracing.handles.groups import syncthreads
from ptxgen.tracing.raw import ptx
from ptxgen.tracing.views import Registers, View

if TYPE_CHECKING:
    from ptxgen.solve.convert import ConvertPlan

__all__ = ["emitted"]


def emitted(plan: ConvertPlan, source: Any, destination: Any, through: Any) -> None:
    """See `ConvertPlan.apply`."""
    builder = current("plan.apply")
    held = _registers(plan, source, plan.source, plan.containers[0], "source")
    into = _registers(plan, destination, plan.destination, plan.containers[1], "destination")
    if source.storage is destination.storage:
        raise LayoutError("source and destination are the same registers", legal="a tile of its own for each: px.local(...)")
    if plan.route is not None:
        if through is None:
            raise LayoutError("the plan goes through shared memory", legal="plan.apply(source, destination, px.shared(**plan.tile))")
        _through(builder, plan, source, destination, through)
        return

    def lane() -> tuple[ir.Operand, Given]:
        return builder.special("laneid", 0, 31).described()

    run(builder, plan.steps, {**_named("s", held), **_named("d", into)}, lane)


def _through(builder: Builder, plan: ConvertPlan, source: View, destination: View, through: View) -> None:
    route = plan.route
    assert route is not None
    source, taken = _apart(builder, plan, source, 0)
    run(builder, route.parted(0), taken, _no_lane)
    apply(route.store, route.stored(through), route.stored(source), scope=plan.scope)
    if plan.scope == "warp":
        ptx["bar.warp.sync"](0xFFFFFFFF)
    else:
        syncthreads()
    destination, given = _apart(builder, plan, destination, 1)
    apply(route.load, route.loaded(destination), route.loaded(through), scope=plan.scope)
    run(builder, route.parted(1), given, _no_lane)


def _apart(builder: Builder, plan: ConvertPlan, view: View, side: int) -> tuple[View, dict[str, tuple[ir.Reg, Type]]]:
    """The tile itself, or one of an element a register, and the registers that the program between the two names."""
    route = plan.route
    assert route is not None and isinstance(view.storage, Registers)
    if not route.loose[side]:
        return view, {}
    count = len(view.storage.registers) * (view.storage.container.bits // plan.dtype.bits)
    storage = Registers(plan.dtype, builder.take(plan.dtype, count), view.storage.where)
    builder.tiles.append(storage)
    loose = View(builder, plan.dtype, storage, view.layout)
    return loose, {**_named("sd"[side], view.storage), **_named("uv"[side], storage)}


def _no_lane() -> tuple[ir.Operand, Given]:
    raise AssertionError("registers are packed alike in all lanes")


def _named(letter: str, storage: Registers) -> dict[str, tuple[ir.Reg, Type]]:
    """A tile's registers by their names in a program, as what they are declared."""
    declared = TYPES[storage.declared]
    return {f"{letter}{number}": (register, declared) for number, register in enumerate(storage.registers)}


def _registers(plan: ConvertPlan, view: Any, layout: Layout, container: Type, which: str) -> Registers:
    if not isinstance(view, View) or not isinstance(view.storage, Registers):
        raise LayoutError(f"the {which} {view!r} is no register tile", legal="a px.local tile")
    view.check_visible()
    wanted = layout if layout.unit == "bit" else layout.bind(plan.dtype.bits)
    if view.dtype.bits != plan.dtype.bits or view.storage.container.bits != container.bits or view.layout != wanted:
        raise LayoutError(
            f"the {which} {view!r} is not the tile that the plan converts",
            legal=f"px.local({layout.shape}, px.{plan.dtype.name}, layout={layout!r}, container=px.{container.name})",
        )
    return view.storage
