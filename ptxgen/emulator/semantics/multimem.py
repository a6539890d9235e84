"""Operations on multimem addresses (ISA "multimem"): there is one device here, so that each of them stands for one place of its memory.

A load that reduces finds one value, which is the result; stores, reductions and bulk copies are those of ordinary global memory.
"""

from __future__ import annotations

from ptxgen.emulator.semantics.async_store import lower_released_store, lower_released_sum
from ptxgen.emulator.semantics.atomic import lower_atomic
from ptxgen.emulator.semantics.bulk_copy import lower_bulk_store, lower_bulk_store_reduction
from ptxgen.emulator.semantics.memory import lower_load, lower_store
from ptxgen.emulator.semantics.table import execution

execution("multimem", "multimem.ld_reduce", "multimem.ld_reduce (floats)")(lower_load)
execution("multimem", "multimem.st", "multimem.st (floats)")(lower_store)
execution("multimem", "multimem.red", "multimem.red (floats)")(lower_atomic)
execution("multimem", "multimem.st.async")(lower_released_store)
execution("multimem", "multimem.red.async")(lower_released_sum)
execution("multimem", "multimem.cp.async.bulk")(lower_bulk_store)
execution("multimem", "multimem.cp.reduce.async.bulk", "multimem.cp.reduce.async.bulk (sums that keep subnormals)")(
    lower_bulk_store_reduction
)
