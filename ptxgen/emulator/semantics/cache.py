"""Hints to the caches (ISA "prefetch" to "createpolicy"), of which a program sees nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.lowering import Lowering, Run
from ptxgen.emulator.semantics.table import execution
from ptxgen.instructions.types import type_named

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.machine import Wave


def _nothing(wave: Wave, frame: Frame, index: Any) -> None:
    """No value changes. What `discard` gives up stays as it is: a program may not read it before it writes it again."""


@execution("cache", "prefetch", "prefetchu", "applypriority", "applypriority.async.bulk", "applypriority.async.bulk.tensor", "discard")
def lower_hint(low: Lowering) -> Run:
    return _nothing


@execution("cache", "createpolicy")
def lower_policy(low: Lowering) -> Run:
    """A policy changes nothing here: any number will do."""
    put = low.target(low.named["cache_policy"], type_named("u64"))
    return lambda wave, frame, index: put(wave, frame, index, np.zeros(1, np.uint64))
