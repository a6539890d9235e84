"""Layouts as CuTe and Triton write them, both ways. docs/interchange.md has examples."""

from __future__ import annotations

from ptxgen.layouts.interchange.cute import from_cute, to_cute, to_cute_tuples
from ptxgen.layouts.interchange.linear import LinearLayout
from ptxgen.layouts.interchange.thread_values import ThreadValues, from_cute_tv, to_cute_tv
from ptxgen.layouts.interchange.triton import from_triton, read_encoding, to_triton

__all__ = [
    "LinearLayout",
    "ThreadValues",
    "from_cute",
    "from_cute_tv",
    "from_triton",
    "read_encoding",
    "to_cute",
    "to_cute_tuples",
    "to_cute_tv",
    "to_triton",
]
