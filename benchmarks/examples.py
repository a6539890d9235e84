"""The kernels of examples/, for benchmarks that time them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

__all__ = ["example"]


def example(name: str) -> Any:
    """The module examples/`name`.py, loaded anew."""
    path = Path(__file__).resolve().parents[1] / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"{name}_example", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
