"""Hypothesis strategies for layouts, swizzles, views, instructions and kernels, for testing what is built on ptxgen.

Everything that is drawn is legal, and shrinks to what is plain: row-major layouts, views that change nothing, the first qualifiers of a
syntax line, one thread. Needs Hypothesis: ``pip install ptxgen[testing]``. docs/testing.md finds a planted bug in a layout.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ptxgen.errors import PtxgenError

if TYPE_CHECKING:
    from ptxgen.testing.drawn_instructions import module_of, opcodes, operand_sets, statements
    from ptxgen.testing.drawn_layouts import layouts, memory_layouts, register_layouts, shapes, swizzles
    from ptxgen.testing.drawn_views import Steps, view_steps
    from ptxgen.testing.families.drawing import kernels

__all__ = [
    "Steps", "kernels", "layouts", "memory_layouts", "module_of", "opcodes", "operand_sets", "register_layouts", "shapes", "statements",
    "swizzles", "view_steps",
]  # fmt: skip

_HOMES = {
    **dict.fromkeys(("module_of", "opcodes", "operand_sets", "statements"), "drawn_instructions"),
    **dict.fromkeys(("layouts", "memory_layouts", "register_layouts", "shapes", "swizzles"), "drawn_layouts"),
    **dict.fromkeys(("Steps", "view_steps"), "drawn_views"),
    "kernels": "families.drawing",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    try:
        importlib.import_module("hypothesis")
    except ModuleNotFoundError:
        raise PtxgenError(f"px.testing.{name} draws with Hypothesis, which is not installed: pip install ptxgen[testing]") from None
    found = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = found
    return found
