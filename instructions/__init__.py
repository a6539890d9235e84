"""What each PTX instruction demands: contracts, and the hardware's own layouts. Data, no emission."""

from __future__ import annotations

if __name__ != "ptxgen.instructions":
    raise ImportError("import this package as ptxgen.instructions")
