"""``python -m ptxgen.reference``, in a checkout: write docs/instructions/, ptxgen/__init__.pyi and ptxgen/opcodes.pyi anew."""

from __future__ import annotations

from pathlib import Path

from ptxgen.reference import write

for path in write(Path(__file__).resolve().parents[2]):
    print(path)
