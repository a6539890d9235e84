"""The descriptor of a matrix in shared memory, derived from its layout: what `px.tile.apply` computes of it, to look at and to test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ptxgen.errors import LayoutError
from ptxgen.instructions.arguments import ELEMENT, OPCODE
from ptxgen.instructions.descriptors import Descriptor
from ptxgen.instructions.types import Type
from ptxgen.layouts.arguments import COUNT, NATURAL, TEXT, takes
from ptxgen.layouts.layout import Layout
from ptxgen.layouts.spec import Shard
from ptxgen.layouts.swizzle import Swizzle
from ptxgen.solve.arrangement import Arrangement
from ptxgen.solve.frozen import Frozen
from ptxgen.solve.judge import Asked, asked, bound, is_described, issuers, judged, legal_operands
from ptxgen.solve.matrix import Steps, matrix_steps
from ptxgen.tile.descriptors import DescriptorOperand
from ptxgen.tile.matrices import BASE, REACH, UNIT, Found, addresses

__all__ = ["DescriptorPlan", "descriptor"]


_SHOWN = 8  # steps


class DescriptorPlan(Frozen):
    """What describes a matrix to an instruction. Immutable.

    Offsets are bytes. Nothing in it depends on where the tile lies but the start and the base offset, which `word` adds.

    Attributes
    ----------
    opcode, operand : str
        The operand by its name in the syntax line.
    dtype : Type
        Of an element.
    layout : Layout
        The tile's, in bits, as it was given.
    steps : Arrangement
        The view of the tile that `px.tile.apply` takes: (\\*repeats, rows, k).
    shape : tuple of int
        Rows and k of one instruction.
    major : {"k", "mn"}
    swizzle : Swizzle or None
    lead, stride : int
        Leading-dimension and stride byte offset, 0 where the hardware does not look at one.
    starts : int array of the shape of the repeats
        Where the matrix of each instruction begins in the tile, before the swizzle. Along its last axis are the steps of K.
    align : int
        Bytes that divide the tile's address.
    fields : Descriptor
        The bit fields.
    """

    __slots__ = ("align", "dtype", "fields", "found", "layout", "opcode", "operand", "shape", "starts", "steps")

    def __init__(self, of: Asked, proved: DescriptorOperand, layout: Layout, dtype: Type, steps: Arrangement, align: int) -> None:
        assert proved.repeat_shape is not None
        self.opcode = of.match.opcode
        self.operand = of.name
        self.dtype = dtype
        self.layout = layout
        self.steps = steps
        self.shape = proved.atom.shape
        self.found: Found = proved.found
        self.fields: Descriptor = proved.fields
        self.align = align
        group = (proved.group.size,) if proved.group.size > 1 else ()
        self.starts = proved.addresses.linear[:: proved.group.unit].reshape(*group, *proved.repeat_shape)
        self.starts.flags.writeable = False

    @property
    def major(self) -> str:
        return self.found.canonical.major

    @property
    def swizzle(self) -> Swizzle | None:
        return self.found.canonical.pattern

    @property
    def lead(self) -> int:
        return self.found.lead

    @property
    def stride(self) -> int:
        return self.found.stride

    @property
    def mode(self) -> int:
        """The value of the swizzle's field."""
        return self.fields.modes[self.swizzle]

    @property
    def transposed(self) -> int:
        """What an instruction's transpose flag says of the matrix: 0 where it is K-major, 1 where MN-major."""
        return int(self.major == "mn")

    @property
    def k_steps(self) -> tuple[int, ...]:
        """How far each step of K lies behind the first one, in bytes."""
        row = self.starts.reshape(-1, self.starts.shape[-1])[0] if self.starts.ndim else self.starts.reshape(1)
        return tuple((row - row[0]).tolist())

    @takes(address=NATURAL)
    def base_offset(self, address: int = 0) -> int:
        """The base offset of a tile at a shared address: where in the swizzle's pattern, in rows of 128 bytes, the tile begins."""
        unit = UNIT if self.swizzle is None else BASE
        if address % unit or address < 0:
            raise LayoutError(f"a tile at address {address:#x}", legal=f"a multiple of {unit} bytes")
        return address // BASE % 8 if self.swizzle is not None and address % self.swizzle.period else 0

    @takes(address=NATURAL)
    def word(self, address: int = 0, *step: int) -> int:
        """The 64-bit descriptor of one instruction's matrix, of a tile at a shared address.

        Parameters
        ----------
        address : int
            Of the tile's first byte, in the shared window.
        *step : int
            Which repeat; the first one by default.

        Raises
        ------
        LayoutError
            For an address that is no multiple of 16, or of 128 where the tile is swizzled.
        """
        start = address + int(self.starts[step or (0,) * self.starts.ndim])
        base = self.base_offset(address)
        return self.fields.encode(
            start=start % REACH // UNIT, lead=self.lead // UNIT, stride=self.stride // UNIT, base=base, mode=self.mode
        )

    @takes(address=NATURAL)
    def addresses(self, address: int = 0, *step: int) -> np.ndarray:
        """Where the hardware finds each element of one instruction's matrix, in bits: what its address function makes of `word`."""
        return addresses(self.word(address, *step), self.fields, self.major, self.shape, self.dtype.bits)

    @takes(address=NATURAL)
    def check(self, address: int = 0) -> None:
        """Walk the hardware's addresses of every element of every repeat, and compare them with the tile's layout.

        Raises
        ------
        LayoutError
            With the first element that lies elsewhere. It does not happen: the engine has proved it otherwise.
        """
        layout, _ = self.steps.on(self.layout, self.dtype.bits)
        wanted = layout.table().m.reshape(-1, *self.shape) + address * 8
        for number, step in enumerate(np.ndindex(self.starts.shape)):
            found = self.addresses(address, *step)
            wrong = np.argwhere(found != wanted[number])
            if len(wrong):
                at = tuple(map(int, wrong[0]))
                raise LayoutError(f"element {at} of repeat {step} lies at bit {int(wanted[number][at])}, and is sought at {int(found[at])}")

    def __str__(self) -> str:
        rows, k = self.shape
        unused = "" if self.lead else " (not looked at)"
        start = int(self.starts.reshape(-1)[0])
        lines = [
            f"{self.operand} of {self.opcode}: {rows} x {k} elements of .{self.dtype.name}, {self.found.canonical.described}",
            f"  layout        {self.layout!r}",
            f"  view          {self.steps}",
            f"  offsets       leading {self.lead}{unused}, stride {self.stride} bytes: fields {self.lead // UNIT}, {self.stride // UNIT}",
            f"  start         {start} bytes behind the tile's first",
            f"  swizzle mode  {self.mode}, base offset 0 at a multiple of {max(self.align, UNIT)} bytes; transpose flag {self.transposed}",
            f"  steps of K    {_listed(self.k_steps)} bytes",
            f"  descriptor    {self.word():#018x} + (address >> 4)",
        ]
        return "\n".join(lines)


def _listed(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:_SHOWN]))
    return f"{shown}, ... {numbers[-1]}" if len(numbers) > _SHOWN else shown


@takes(opcode=OPCODE, operand=TEXT, dtype=ELEMENT, scope=TEXT, threads=COUNT, align=COUNT, sizes=COUNT)
def descriptor(
    layout: Layout | Shard | Any,
    opcode: str,
    operand: str = "A",
    *,
    dtype: Type | None = None,
    scope: str | None = None,
    threads: int | None = None,
    align: int | None = None,
    **sizes: int,
) -> DescriptorPlan:
    """The descriptor of a matrix in shared memory: start, strides, swizzle, and the steps along K.

    It is derived as `px.tile.apply` derives it, by the same code, and proved by walking the hardware's address function over all elements.

    Parameters
    ----------
    layout : Layout or S[...], or a view of shared memory
        Of the tile, rows x K; or of the very view that `px.tile.apply` takes, (\\*repeats, rows, k). A slice keeps its parent's strides.
    opcode : str
    operand : str
        ``"A"`` or ``"B"``, or the name in the syntax line.
    dtype : Type, optional
        Of an element; by default as the instruction says.
    scope : str, optional
        Of the tile operation; by default one issuer.
    threads : int, optional
        Of the block, for scopes larger than a warpgroup.
    align : int, optional
        Bytes that divide the tile's address; by default the swizzle's period.
    **sizes : int
        Extents that views give and the opcode does not spell, by the contract's names (``rows=128, n=256``); by default the largest that
        divide the tile.

    Returns
    -------
    DescriptorPlan

    Raises
    ------
    InstructionError
        Where no descriptor describes the layout: the first element at fault, and the nearest canonical layout.
    LayoutError
        Where the operand has no descriptor, or the tile does not consist of whole instructions.
    """
    found = list(asked(opcode, operand, sizes, is_described))
    if not found:
        legal = legal_operands(opcode, is_described) or "a matrix of wgmma or tcgen05 in shared memory"
        raise LayoutError(f"operand {operand!r} of {getattr(opcode, 'text', opcode)} is found by no descriptor", legal=legal)
    of = found[0]
    element = dtype or getattr(layout, "dtype", None) or of.match.type(of.atom.element).element  # type: ignore[union-attr]
    whole = bound(getattr(layout, "layout", layout), element.bits)
    if whole.symbols:
        raise LayoutError(f"{whole!r} depends on what is known at run time", legal="the layout of one stage, with constant offsets")
    return described(of, whole, element, scope=scope or of.scope, threads=threads, align=align)


def described(
    of: Asked, whole: Layout, element: Type, *, scope: str, threads: int | None = None, align: int | None = None
) -> DescriptorPlan:
    """The plan for a layout in bits.

    Raises
    ------
    InstructionError, LayoutError
    """
    period = whole.swizzle.period if whole.swizzle is not None else UNIT
    cut: Steps = matrix_steps(of, whole.shape, issuers(of, scope, threads))
    seen, _ = cut.view.on(whole, element.bits)
    proved = judged(cut.of, seen, element, scope=scope, threads=threads, align=align or period, space="shared", name="tile")
    assert isinstance(proved, DescriptorOperand)
    return DescriptorPlan(cut.of, proved, whole, element, cut.view, align or period)
