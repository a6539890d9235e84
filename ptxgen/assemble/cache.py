"""Cubins on disk: cuda.core's program cache, keyed by everything that decides a cubin's bits.

``PTXGEN_CACHE_DIR`` chooses the folder (else ``$XDG_CACHE_HOME/ptxgen/cubins``, else ``~/.cache/ptxgen/cubins``);
``PTXGEN_CACHE=0`` switches it off.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from pathlib import Path
from typing import Any

__all__ = ["cache_dir", "cache_key", "lookup", "store"]

# cuda.core takes about 0.4 s to import and nvJitLink about 12 ms for a small module, so asking the disk pays for itself
# only where cuda.core is loaded already or the text is long.
_LONG = 200_000
_SCHEMA = "1"
_SIZE_CAP = 512 << 20

_open: dict[Path, Any] = {}
_lock = threading.Lock()


def cache_dir() -> Path:
    """The folder that cubins are kept in."""
    if chosen := os.environ.get("PTXGEN_CACHE_DIR"):
        return Path(chosen)
    if os.name == "nt" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local, "ptxgen", "cubins")
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "ptxgen" / "cubins"


def cache_key(ptx: str, target: str, options: tuple[str, ...], tool: str) -> str:
    """A key over text, target, options and tool version: a change in any of them is another cubin."""
    digest = hashlib.sha256()
    for part in (_SCHEMA, tool, target, *options, ptx):
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def lookup(key: str, length: int) -> tuple[bytes, str] | None:
    """The cubin and log kept under `key` for a text of `length` characters, or None."""
    cache = _cache(length)
    if cache is None:
        return None
    try:
        code, log = cache.get(key), cache.get(key + ".log")
    except OSError:
        return None
    return None if code is None or log is None else (code, log.decode(errors="replace"))


def store(key: str, length: int, code: bytes, log: str) -> None:
    """Keep a cubin and its log. A full or read-only disk costs the entry, never the assembly."""
    cache = _cache(length)
    if cache is None:
        return
    try:
        cache[key + ".log"] = log.encode() or b"\n"
        cache[key] = code
    except OSError:
        return


def _cache(length: int) -> Any:
    if os.environ.get("PTXGEN_CACHE", "1").lower() in ("0", "off", "no", "false"):
        return None
    if length < _LONG and "cuda.core" not in sys.modules:
        return None
    folder = cache_dir()
    with _lock:
        if folder not in _open:
            try:
                from cuda.core.utils import FileStreamProgramCache

                _open[folder] = FileStreamProgramCache(folder, max_size_bytes=_SIZE_CAP)
            except (ImportError, OSError):
                _open[folder] = None
        return _open[folder]
