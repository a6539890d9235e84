"""Where values live: layouts of named axes, views, swizzles. Knows no PTX and no CUDA API."""

from __future__ import annotations

if __name__ != "ptxgen.layouts":
    raise ImportError("import this package as ptxgen.layouts")
