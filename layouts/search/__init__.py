"""Searches over layouts: how work is cut among threads, how a tile lies in banks, how values change lanes. Knows no instruction.

What an instruction demands comes in as numbers (widths, granules, lanes, banks); what comes out are layouts and steps.
"""

from __future__ import annotations

from ptxgen.layouts.search.conflict import smallest_conflict
from ptxgen.layouts.search.exchange import Exchange, Gather, Stream, Turn, exchange, gather, wants
from ptxgen.layouts.search.partition import Partition, partition
from ptxgen.layouts.search.placement import Pattern, Placement, Unplaced, place

__all__ = [
    "Exchange", "Gather", "Partition", "Pattern", "Placement", "Stream", "Turn", "Unplaced", "exchange", "gather", "partition", "place",
    "smallest_conflict", "wants",
]  # fmt: skip
