"""ptxgen: a direct PTX assembler for Python.

Name the exact PTX instruction; ptxgen knows what it demands, maps tensor views onto it, writes PTX text, and runs it on the GPU or in its
own emulator.

>>> import ptxgen as px
>>> from ptxgen import S, f32, laneid, warpid
>>> px.Layout(S[(2, 32, 3, 4) : (1 @ warpid, 1 @ laneid, 4, 1)])
Layout(S[(2, 32, 3, 4) : (1@warpid, 1@laneid, 4, 1)])

Names are loaded when first used, so that ``import ptxgen`` costs next to nothing; none of them loads CUDA or PyTorch. What type checkers
read is __init__.pyi, which `python -m ptxgen.reference` makes from `_HOMES`.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# Public name -> where it lives, and its name there if it is another.
_HOMES: dict[str, str] = {
    # layouts
    **dict.fromkeys(
        ("S", "R", "Layout", "Swizzle", "Expr", "Symbol", "m", "laneid", "warpid", "wid_in_wg", "wgid", "tid_in_wg", "tx", "cbx", "cby",
         "cbz", "bx", "by", "bz", "TLane", "TCol"),
        "ptxgen.layouts",
    ),
    # kernels and what their parameters are annotated with
    **dict.fromkeys(("kernel", "Kernel"), "ptxgen.kernels.kernel"),
    **dict.fromkeys(("Tensor", "cdiv", "constexpr", "dim"), "ptxgen.kernels.annotations"),
    "load_ptx": "ptxgen.kernels.foreign",
    **dict.fromkeys(("hardware_layout", "hardware_layouts", "hardware_operands"), "ptxgen.instructions.hardware"),
    "allow": "ptxgen.lint.switch",
    "func": "ptxgen.kernels.function",
    # inside a kernel
    **dict.fromkeys(("local", "shared"), "ptxgen.tracing.storage"),
    **dict.fromkeys(("const", "global_"), "ptxgen.tracing.module_data"),
    **dict.fromkeys(("assert_", "printf"), "ptxgen.tracing.debugging"),
    "reg": "ptxgen.tracing.registers",
    **dict.fromkeys(("div", "fma", "rcp", "rem", "select", "sqrt", "uniform"), "ptxgen.tracing.functions"),
    "abs": "ptxgen.tracing.functions:absolute",
    "min": "ptxgen.tracing.functions:minimum",
    "max": "ptxgen.tracing.functions:maximum",
    **dict.fromkeys(
        ("if_", "elif_", "else_", "while_", "break_", "continue_", "return_", "exit_"),
        "ptxgen.tracing.control",
    ),
    "range": "ptxgen.tracing.control:range_",
    **dict.fromkeys(("ptx", "sink"), "ptxgen.tracing.raw"),
    **dict.fromkeys(("part", "negated"), "ptxgen.tracing.marks"),
    "mbarrier": "ptxgen.tracing.handles.mbarriers",
    "pipeline_state": "ptxgen.tracing.handles.pipeline",
    **dict.fromkeys(
        ("elect", "named_barrier", "setmaxnreg", "syncthreads", "warp_uniform", "wgmma_commit", "wgmma_fence", "wgmma_wait"),
        "ptxgen.tracing.handles.groups",
    ),
    **dict.fromkeys(
        ("bulk_commit", "bulk_wait", "cp_async_commit", "cp_async_wait", "fence", "fence_mbarrier_init", "fence_proxy_async",
         "griddepcontrol"),
        "ptxgen.tracing.handles.ordering",
    ),
    **dict.fromkeys(
        ("tensor_memory", "tcgen05_commit", "tcgen05_fence", "tcgen05_wait"), "ptxgen.tracing.handles.tensor_memory"
    ),
    **dict.fromkeys(("cluster_arrive", "cluster_sync", "cluster_wait", "mapa"), "ptxgen.tracing.handles.clusters"),
    **dict.fromkeys(("sreg", "tid", "ntid", "ctaid", "nctaid"), "ptxgen.tracing.specials"),
    # errors
    **dict.fromkeys(("PtxgenError", "LayoutError", "Impossible", "InstructionError", "TraceError"), "ptxgen.errors"),
    "LintError": "ptxgen.lint.switch",
    "EmulationError": "ptxgen.emulator",
    **dict.fromkeys(("Surface", "Texture"), "ptxgen.emulator.images"),
    "ArgumentError": "ptxgen.runtime",
}  # fmt: skip

_MODULES = ("costs", "solve", "testing", "tile")
"""Names that are modules of their own."""


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is not None:
        module, _, attribute = home.partition(":")
        found = getattr(importlib.import_module(module), attribute or name)
    elif name in _MODULES or name == "ir":  # Python asks for a module before it imports it from here
        found = importlib.import_module(f"ptxgen.{name}")
    else:
        found = _type_named(name)
    globals()[name] = found
    return found


def _type_named(name: str) -> Any:
    """A PTX type, such as ``px.f32``."""
    from ptxgen.instructions.types import ELEMENT_TYPES, TYPES

    found = TYPES.get(name) or ELEMENT_TYPES.get(name)
    if found is None:
        import difflib

        from ptxgen.elsewhere import ELSEWHERE

        near = difflib.get_close_matches(name, sorted({*_HOMES, *_MODULES, *TYPES, *ELEMENT_TYPES}), n=3)
        hint = f"; did you mean {' or '.join('px.' + one for one in near)}?" if near else ""
        hint = f"; here: {ELSEWHERE[name]}" if name in ELSEWHERE else hint
        raise AttributeError(f"module 'ptxgen' has no attribute {name!r}{hint}")
    return found


def __dir__() -> list[str]:
    from ptxgen.instructions.types import ELEMENT_TYPES, TYPES

    return sorted({*globals(), *_HOMES, *_MODULES, *TYPES, *ELEMENT_TYPES})
