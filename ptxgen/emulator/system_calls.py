"""Functions that the driver gives to kernels: `vprintf`, `__assertfail`, `malloc`, `free` (CUDA C++ Programming Guide, 10.33 to 10.35)."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxgen.emulator.lowering import Control, Lowering
from ptxgen.emulator.memory import Access
from ptxgen.emulator.schedule import Group
from ptxgen.ir import Call, Sym

if TYPE_CHECKING:
    from ptxgen.emulator.frames import Frame
    from ptxgen.emulator.machine import Wave

__all__ = ["SYSTEM_CALLS"]

_Argument = Callable[["Wave", "Frame", Any], np.ndarray]


class _Site:
    """One call of the driver's: what reads its arguments, and memory on their behalf."""

    def __init__(self, low: Lowering) -> None:
        statement = low.statement
        assert isinstance(statement, Call)
        self.statement = statement
        self.accesses = {width: Access(statement, "", width, 1) for width in (1, 4, 8)}  # type: ignore[arg-type]
        self.arguments = [self._argument(low, actual) for actual in statement.arguments]

    def _argument(self, low: Lowering, actual: Any) -> _Argument:
        """Reads a ``.param`` variable of the caller's as an unsigned integer."""
        location = low.scope.variable(actual.name) if isinstance(actual, Sym) else None
        if location is None or not location.in_frame or location.size not in (4, 8):
            raise low.refuse(f"an argument of {self.statement.target.name} is a .param variable of 32 or 64 bits", section="7.1")
        access = Access(self.statement, "local", location.size, 1)  # type: ignore[arg-type]
        start = location.address

        def read(wave: Wave, frame: Frame, index: Any) -> np.ndarray:
            count = wave.count(index)
            return np.broadcast_to(wave.memory.load(access, np.array([frame.base + start]), index, count)[0], count)

        return read

    def word(self, wave: Wave, thread: np.ndarray, address: int, width: int) -> int:
        """What one thread reads at a generic address."""
        return int(wave.memory.load(self.accesses[width], np.array([address]), thread, 1)[0][0])

    def text(self, wave: Wave, thread: np.ndarray, address: int) -> str:
        """The bytes at a generic address up to a zero."""
        found = bytearray()
        while byte := self.word(wave, thread, address + len(found), 1):
            found.append(byte)
        return found.decode(errors="replace")


_CONVERSION = re.compile(r"%([-+ #0]*)(\*|\d+)?(\.\d*)?(hh|h|ll|l|j|z|t|L)?(.)", re.S)


def _vprintf(low: Lowering) -> Control:
    """``int vprintf(const char *format, va_list arguments)``: prints for one thread after the other."""
    site = _Site(low)
    statement = site.statement
    results = [low.scope.variable(one.name) for one in statement.results if isinstance(one, Sym)]
    answer = Access(statement, "local", 4, 1)  # type: ignore[arg-type]

    def control(wave: Wave, group: Group) -> list[Group]:
        frame, index = wave.frame(group), group.index
        formats, buffers = (read(wave, frame, index) for read in site.arguments)
        printed = []
        for thread, format, buffer in zip(wave.indices(index), formats, buffers):
            text, count = _formatted(site, wave, np.array([thread]), int(format), int(buffer))
            sys.stdout.write(text)
            printed.append(count)
        for location in results:
            if location is not None:
                values = [np.array(printed, np.uint32)]
                wave.memory.store(answer, np.array([frame.base + location.address]), values, index, wave.count(index))
        return [Group(group.code, group.pc + 1, group.depth, index, group.strand)]

    return control


def _formatted(site: _Site, wave: Wave, thread: np.ndarray, format: int, buffer: int) -> tuple[str, int]:
    """The text for one thread, and the number of arguments in it; they lie one behind the other, each naturally aligned."""
    at, count = buffer, 0

    def take(width: int) -> int:
        nonlocal at, count
        at = -(-at // width) * width
        found = site.word(wave, thread, at, width)
        at, count = at + width, count + 1
        return found

    def convert(match: re.Match[str]) -> str:
        flags, width, precision, size, kind = match.groups()
        if kind == "%":
            return "%"
        width = str(_signed(take(4), 32)) if width == "*" else width or ""
        if width.startswith("-"):  # of an argument: C takes it as the flag and a width
            flags, width = f"{flags}-", width[1:]
        precision = f"{precision}0" if precision == "." else precision or ""
        spec = f"%{flags}{width}{precision}"
        if kind in "eEfFgGaA":
            number = float(np.uint64(take(8)).view(np.float64))
            return _float(spec, kind, number)
        if kind == "s":
            return f"{spec}s" % site.text(wave, thread, take(8))
        if kind == "p":
            return f"{take(8):#x}"
        bits = 64 if size in ("l", "ll", "j", "z", "t") else 32
        value = take(bits // 8)
        if kind == "c":
            return f"{spec}c" % (value & 0xFF)
        narrow = {"h": 16, "hh": 8}.get(size or "", bits)
        value &= (1 << narrow) - 1
        return _integer(flags, width, precision[1:], kind, _signed(value, narrow) if kind in "di" else value)

    return _CONVERSION.sub(convert, site.text(wave, thread, format)), count


def _integer(flags: str, width: str, precision: str, kind: str, value: int) -> str:
    """An integer as C prints it, which Python's % does but for ``#``."""
    digits = {"o": f"{abs(value):o}", "x": f"{value:x}", "X": f"{value:X}"}.get(kind, str(abs(value)))
    digits = "" if precision == "0" and value == 0 else digits.rjust(int(precision or 0), "0")
    lead = "-" if value < 0 else next((one for one in "+ " if one in flags and kind in "di"), "")
    if "#" in flags and kind == "o" and not digits.startswith("0"):
        digits = f"0{digits}"
    if "#" in flags and kind in "xX" and value:
        lead = f"0{kind}"
    if "-" in flags:
        return f"{lead}{digits}".ljust(int(width or 0))
    if "0" in flags and not precision:
        return lead + digits.rjust(int(width or 0) - len(lead), "0")
    return f"{lead}{digits}".rjust(int(width or 0))


def _float(spec: str, kind: str, number: float) -> str:
    if kind not in "aA":
        return f"{spec}{kind}" % number
    text = number.hex()  # Python has no %a: the digits are C's, but for trailing zeros
    mantissa, _, exponent = text.partition("p")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    text = f"{mantissa}p{exponent}" if exponent else text
    return text.upper() if kind == "A" else text


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def _assertfail(low: Lowering) -> Control:
    """``void __assertfail(message, file, line, function, size of a character)``: ends the threads that come here."""
    site = _Site(low)

    def control(wave: Wave, group: Group) -> list[Group]:
        frame, index = wave.frame(group), wave.indices(group.index)
        message, file, line, function, _ = (read(wave, frame, group.index) for read in site.arguments)
        first = index[:1]
        said, where, name = (site.text(wave, first, int(one[0])) for one in (message, file, function))
        wave.reports.add("assertion", f"{said} does not hold ({where}:{int(line[0])}, {name})", site.statement, wave.threads, index)
        wave.retire(group.index)
        return []

    return control


def _malloc(low: Lowering) -> Control:
    """``void *malloc(size_t size)``"""
    site = _Site(low)
    results = [low.scope.variable(one.name) for one in site.statement.results if isinstance(one, Sym)]
    answer = Access(site.statement, "local", 8, 1)  # type: ignore[arg-type]

    def control(wave: Wave, group: Group) -> list[Group]:
        frame, index = wave.frame(group), group.index
        (sizes,) = (read(wave, frame, index) for read in site.arguments)
        addresses = np.array([wave.program.heap.allocate(int(size)) for size in sizes], np.uint64)
        for location in results:
            if location is not None:
                wave.memory.store(answer, np.array([frame.base + location.address]), [addresses], index, wave.count(index))
        return [Group(group.code, group.pc + 1, group.depth, index, group.strand)]

    return control


def _free(low: Lowering) -> Control:
    """``void free(void *address)``"""
    site = _Site(low)

    def control(wave: Wave, group: Group) -> list[Group]:
        frame, index = wave.frame(group), wave.indices(group.index)
        (addresses,) = (read(wave, frame, group.index) for read in site.arguments)
        for thread, address in zip(index, addresses):
            wave.program.heap.release(int(address), wave, site.statement, np.array([thread]))
        return [Group(group.code, group.pc + 1, group.depth, group.index, group.strand)]

    return control


SYSTEM_CALLS: dict[str, Callable[[Lowering], Control]] = {
    "vprintf": _vprintf,
    "__assertfail": _assertfail,
    "malloc": _malloc,
    "free": _free,
}
"""By name: what a call of a function without a body does."""
