"""ptxgen: a direct PTX assembler for Python."""

from __future__ import annotations
