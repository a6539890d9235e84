"""``ptxgen dump``: finding a kernel by name, and its text."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from ptxgen.cli.output import UsageError
from ptxgen.instructions.types import ELEMENT_TYPES, TYPES
from ptxgen.kernels.kernel import Kernel
from ptxgen.layouts.errors import PtxgenError

__all__ = ["dump_kernel", "find_kernel"]


def dump_kernel(name: str, constants: Sequence[str], *, comments: bool, loc: bool, target: str | None) -> str:
    """The PTX of ``module:kernel``."""
    kernel = find_kernel(name)
    if target is not None:
        kernel = kernel.with_target(target)
    return kernel.specialize(**dict(map(_constant, constants))).ptx(comments=comments, loc=loc)


def find_kernel(name: str) -> Kernel:
    """The kernel called ``module:kernel``, where `module` is dotted or a path to a ``.py`` file.

    Raises
    ------
    PtxgenError
        If there is no such module, it fails, or the name in it is no kernel.
    """
    module_name, colon, attribute = name.rpartition(":")
    if not colon or not module_name or not attribute:
        raise UsageError(f"{name!r} does not name a kernel; write MODULE:KERNEL, e.g. ptxgen.demo:add_one_tile or kernels.py:saxpy")
    module = _module(module_name)
    found: Any = module
    for part in attribute.split("."):
        found = getattr(found, part, None)
    if isinstance(found, Kernel):
        return found
    kernels = ", ".join(one for one, value in vars(module).items() if isinstance(value, Kernel)) or "none"
    what = f"has nothing called {attribute}" if found is None else f"{attribute} is a {type(found).__name__}, not a px.kernel"
    joint = " " if found is None else ": "
    raise PtxgenError(f"{module_name}{joint}{what}; its kernels: {kernels}")


def _module(name: str) -> ModuleType:
    path = Path(name)
    is_file = name.endswith(".py")
    if is_file and not path.is_file():
        raise PtxgenError(f"there is no file {name}")
    folder = str(path.resolve().parent) if is_file else str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return _executed(path) if is_file else importlib.import_module(name)
    except PtxgenError:
        raise
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise PtxgenError(f"there is no module {name} (a path to a file ends in .py)") from None
        raise PtxgenError(f"{name} can't be imported: {error}") from error
    except Exception as error:  # whatever the user's module does when it is imported
        raise PtxgenError(f"{name} can't be imported: {type(error).__name__}: {error}") from error


def _executed(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _constant(text: str) -> tuple[str, Any]:
    """``BM=64`` with a Python literal, a type's name, or else plain text."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise UsageError(f"--set {text}: write NAME=VALUE")
    type = TYPES.get(value) or ELEMENT_TYPES.get(value)
    if type is not None:
        return name, type
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
