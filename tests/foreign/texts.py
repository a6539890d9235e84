"""The checked-in texts, and what two cubins have in common."""

from __future__ import annotations

import re
import struct
from functools import lru_cache

from ptxgen import ir
from ptxgen.text import read
from tests.foreign.regenerate import TARGETS, outputs, path_of

__all__ = ["NAMES", "TARGETS", "loadable_text_of", "machine_code", "module_of", "sections", "text_of"]

NAMES = [f"{source}.{target}" for source, target in outputs()]


def text_of(name: str) -> str:
    source, _, target = name.partition(".")
    return path_of(source, target).read_text(encoding="utf-8")


def loadable_text_of(name: str) -> str:
    """The text for this machine's GPU: nvcc writes its own version, which the instructions need not have and the driver may not know."""
    from ptxgen.runtime import device

    text, known = text_of(name), device(0).ptx_version
    said = re.search(r"^\.version (\d+)\.(\d+)$", text, re.M)
    assert said is not None
    version = min((int(said[1]), int(said[2])), known)
    return text.replace(said[0], f".version {version[0]}.{version[1]}", 1)


@lru_cache(maxsize=None)
def module_of(name: str) -> ir.Module:
    return read(text_of(name), filename=f"{name}.ptx")


def sections(code: bytes) -> dict[str, bytes]:
    """The contents of an ELF file's sections, by name."""
    (table,) = struct.unpack_from("<Q", code, 40)
    count, names = struct.unpack_from("<HH", code, 60)
    headers = [struct.unpack_from("<IIQQQQ", code, table + 64 * index) for index in range(count)]

    def name(header: tuple[int, ...]) -> str:
        start = headers[names][4] + header[0]
        return code[start : code.index(b"\0", start)].decode()

    no_bits = 8
    return {name(header): b"" if header[1] == no_bits else code[header[4] : header[4] + header[5]] for header in headers}


def machine_code(code: bytes) -> dict[str, bytes]:
    """Instructions, constants and initial values. The order of symbols and debug data follow the line numbers of the PTX."""
    kept = (".text.", ".nv.constant", ".nv.global", ".nv.info.", ".nv.shared.", ".nv.local.", ".rel.text.", ".rela.text.")
    return {name: content for name, content in sections(code).items() if name.startswith(kept)}
