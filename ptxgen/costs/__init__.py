"""What a kernel's instructions cost in memory: bank conflicts, sectors, requests; registers and issued instructions.

Nothing runs on a GPU. `of` follows one block through the text once, computes the address of every access in every thread with the
emulator's semantics, and counts by the rules of `ptxgen.layouts.banks` and `ptxgen.layouts.sectors`. docs/costs.md shows the counts
beside Nsight Compute's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ptxgen.costs.arguments import arranged
from ptxgen.costs.counting import Boxes, counted
from ptxgen.costs.records import Access, Cost, Costs
from ptxgen.costs.walk import walk
from ptxgen.emulator.memory import FIRST
from ptxgen.emulator.threads import Launch
from ptxgen.errors import PtxgenError
from ptxgen.runtime.signature import Signature, TensorMapParam

if TYPE_CHECKING:
    from ptxgen.kernels.kernel import Kernel
    from ptxgen.kernels.specialization import Specialization
    from ptxgen.kernels.trace import Trace

__all__ = ["Access", "Cost", "Costs", "block_costs", "of"]


def of(kernel: Kernel | Specialization, /, **values: Any) -> Costs:
    """The costs of one block, the first of the grid, each loop's body counted once.

    Parameters
    ----------
    kernel : px.Kernel or Specialization
        Of a kernel, with its constants at their defaults.
    **values : int or float
        Dims and scalars by name; those left out are taken for a number that is as divisible as declared and no more. A tensor by how
        many bytes behind a 256-byte boundary it begins, 0 by default, as allocations do.

    Returns
    -------
    Costs
        Prints as a table.

    Raises
    ------
    PtxgenError
        For a name that the kernel does not have, or a value against its declaration.
    """
    if not hasattr(kernel, "costs"):
        raise PtxgenError(f"px.costs.of takes a kernel or its specialization, not {kernel!r}")
    made: Any = kernel.specialize() if hasattr(kernel, "specialize") else kernel
    found: Costs = made.costs(**values)
    return found


def block_costs(
    name: str, traced: Trace, grid: Callable[[tuple[int, ...]], tuple[int, int, int]], resources: Callable[[], Any], values: dict[str, Any]
) -> Costs:
    """`of` for what a specialisation is made of; `grid` gives the blocks for values of the named dims."""
    arguments = arranged(traced.signature, values)
    launch = Launch(grid(arguments.dims), traced.block, traced.cluster, traced.dynamic_shared)
    records, overhead = counted(walk(traced.module, traced.entry, launch, arguments), _boxes(traced.signature))
    return Costs(name, traced.block, records, overhead, arguments.values, arguments.examples, resources)


def _boxes(signature: Signature) -> Boxes:
    """Bytes of the boxes that the entry's tensor maps describe, by where their parameters lie."""
    return {
        FIRST["param"] + offset: param.map.box_bytes
        for param, offset in zip(signature.params, signature.offsets)
        if isinstance(param, TensorMapParam)
    }
