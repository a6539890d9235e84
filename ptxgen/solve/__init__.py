"""Searches for layouts and views that instructions accept. Explicit: no tile operation calls them.

Each call returns a plan: immutable, printed as what was decided and why, with attributes that pass to `px.local`, `px.shared` and
`px.tile.apply`, and a `check()` that proves it. Where no plan exists it raises `Impossible`, which names the smallest set of demands in
conflict.
"""

from __future__ import annotations

from ptxgen.layouts.errors import Impossible
from ptxgen.solve.arrangement import Arrangement
from ptxgen.solve.canonical import CanonicalPlan, canonical
from ptxgen.solve.convert import ConvertPlan, convert
from ptxgen.solve.copy import CopyPart, CopyPlan, copy
from ptxgen.solve.descriptor import DescriptorPlan, descriptor
from ptxgen.solve.operand import Copied, OperandPlan, operand
from ptxgen.solve.shared import Access, SharedPlan, shared
from ptxgen.solve.tensormap import TensorMapPlan, tensor_map

__all__ = [
    "Access", "Arrangement", "CanonicalPlan", "ConvertPlan", "Copied", "CopyPart", "CopyPlan", "DescriptorPlan", "Impossible",
    "OperandPlan", "SharedPlan", "TensorMapPlan", "canonical", "convert", "copy", "descriptor", "operand", "shared", "tensor_map",
]  # fmt: skip
