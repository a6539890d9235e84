"""Every atomic update that the registry has as a kernel of one block in which each thread has a place, and what must come of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ptxgen.instructions.grammar import broken_rules, forms
from ptxgen.instructions.registry import Match, family_entries

THREADS, PLACE = 128, 16  # bytes of each thread's place and of each of its operands
TARGET, VERSION = "sm_90", (8, 8)
_ORDER = {".sem", ".scope", ".level::cache_hint"}
_MOVES = {16: ("b16", "%h"), 32: ("b32", "%r"), 64: ("b64", "%rd"), 128: ("b128", "%q")}


class Update(NamedTuple):
    """An update of one thread's place: its opcode, and what the opcode says."""

    match: Match
    operation: str
    type: str
    count: int
    flushes: bool

    @property
    def bits(self) -> int:
        return self.match.type(".type").bits

    @property
    def shared(self) -> bool:
        return ".shared" in self.match.opcode

    @property
    def operands(self) -> int:
        return 2 if self.operation == "cas" else 1


def updates() -> Iterator[Update]:
    """Each operation on each type, in each state space, without an order or scope."""
    for entry in family_entries("atomic"):
        for form in forms(entry):
            if "{.sem}" not in form.syntax:
                continue  # the same in another order
            for bindings in form.combinations():
                if _ORDER & set(bindings) or any(broken_rules(entry, bindings, operands_known=False)):
                    continue
                match = Match(form.opcode(bindings), form, bindings)
                if TARGET not in match.targets or match.version > VERSION:
                    continue
                words = match.opcode.split(".")
                operation = next(word for word in words if word in _OPERATIONS)
                of = match.type(".type")
                count = match.count(".vec") if ".vec" in bindings else 1
                flushes = of.name == "f32" and operation == "add" and ".shared" not in match.opcode and ".noftz" not in bindings
                yield Update(match, operation, of.name, count, flushes)


_OPERATIONS = ("and", "or", "xor", "add", "inc", "dec", "min", "max", "cas", "exch")


def text(chosen: list[Update], *, together: bool = False) -> str:
    """A module with an entry for each update, ``k0``, ``k1``, ...: its array holds places, old values, operands and second operands.

    With `together` there is one place for all threads, the first one.
    """
    entries = [_entry(number, update, together) for number, update in enumerate(chosen)]
    return f".version {VERSION[0]}.{VERSION[1]}\n.target {TARGET}\n.address_size 64\n" + "".join(entries)


def _entry(number: int, update: Update, together: bool) -> str:
    size = THREADS * PLACE
    lines = [f"mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [a]; mad.wide.u32 %rd2, %r1, {PLACE}, %rd1;"]
    lines.append(f"mov.u64 %rd3, %rd{1 if together else 2};")
    place = "%rd3"
    if update.shared:
        place = "%r3"
        lines.append(f"mov.u32 %r3, s; mad.lo.u32 %r2, %r1, {PLACE}, %r3;" + ("" if together else " mov.u32 %r3, %r2;"))
        lines.append("ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%rd2]; st.shared.v4.b32 [%r2], {%r4, %r5, %r6, %r7}; bar.sync 0;")
    names = []
    for operand in range(update.operands):
        names.append(_braced(update, [_loaded(update, lines, operand, place_of) for place_of in range(update.count)]))
    old = _braced(update, [f"{_MOVES[update.bits][1]}{40 + element}" for element in range(update.count)])
    returns = update.match.opcode.startswith("atom")
    lines.append(f"{update.match.opcode} {old + ', ' if returns else ''}[{place}], {', '.join(names)};")
    for element in range(update.count) if returns else ():
        offset = size + element * update.bits // 8
        if update.bits == 128:
            lines.append(f"mov.b128 {{%rd8, %rd9}}, %q40; st.global.v2.b64 [%rd2+{offset}], {{%rd8, %rd9}};")
        else:
            kind, prefix = _MOVES[update.bits]
            lines.append(f"st.global.{kind} [%rd2+{offset}], {prefix}{40 + element};")
    if update.shared:
        lines.append("bar.sync 0; ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%r2]; st.global.v4.b32 [%rd2], {%r4, %r5, %r6, %r7};")
    shared = f".shared .align 16 .b8 s[{size}];" if update.shared else ""
    registers = ".reg .b16 %h<60>; .reg .b32 %r<60>; .reg .b64 %rd<60>; .reg .b128 %q<60>;"
    body = "\n".join(lines)
    return f".visible .entry k{number}(.param .u64 a)\n{{\n{registers} {shared}\n{body}\nret;\n}}\n"


def _loaded(update: Update, lines: list[str], operand: int, element: int) -> str:
    """A register with an element of an operand."""
    offset = (2 + operand) * THREADS * PLACE + element * update.bits // 8
    register = f"{_MOVES[update.bits][1]}{20 + 10 * operand + element}"
    if update.bits == 128:
        lines.append(f"ld.global.v2.b64 {{%rd8, %rd9}}, [%rd2+{offset}]; mov.b128 {register}, {{%rd8, %rd9}};")
    else:
        lines.append(f"ld.global.{_MOVES[update.bits][0]} {register}, [%rd2+{offset}];")
    return register


def _braced(update: Update, names: list[str]) -> str:
    return "{" + ", ".join(names) + "}" if update.count > 1 else names[0]


# ---- values -----------------------------------------------------------------------------------------------------------

_FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}


def element_of(type_: str) -> str:
    return type_.removesuffix("x2") if type_ in ("f16x2", "bf16x2") else type_


def array(update: Update, seed: int = 5) -> np.ndarray[Any, Any]:
    """Places, room for old values, operands and second operands; random bits, corners, and places that equal an operand."""
    rng = np.random.default_rng(seed)
    element = element_of(update.type)
    bits = int("".join(filter(str.isdigit, element)))
    width = min(bits, 64)
    values = rng.integers(0, 256, (4, THREADS, PLACE), dtype=np.uint8).view(f"u{width // 8}")
    corners = np.array([0, 1, 2, (1 << width) - 1, 1 << width - 1, (1 << width - 1) - 1, (1 << width - 1) + 1], np.uint64)
    if element in _FORMATS:
        exponent, fraction = _FORMATS[element]
        specials = [0, 1, (1 << fraction) - 1, 1 << fraction, ((1 << exponent) - 1) << fraction, (1 << exponent + fraction) - 1,
                    ((1 << exponent) - 1 << fraction) - 1, (1 << exponent - 1) - 1 << fraction, (1 << fraction) + 3]  # fmt: skip
        corners = np.array([*specials, *(value | 1 << width - 1 for value in specials)], np.uint64)
        near = rng.normal(0, 4, values.shape)
        values = np.where(rng.random(values.shape) < 0.4, from_floats(near, element), values)
    values = np.where(rng.random(values.shape) < 0.5, rng.choice(corners, values.shape).astype(values.dtype), values)
    if update.operation == "cas":
        same = rng.random(THREADS) < 0.5
        values[2][same] = values[0][same]
    values[1] = 0
    found: np.ndarray[Any, Any] = np.ascontiguousarray(values).view(np.uint8).reshape(4, THREADS, PLACE)
    return found


def to_floats(values: np.ndarray[Any, Any], element: str) -> np.ndarray[Any, Any]:
    """Bits as numbers, in doubles."""
    if element == "bf16":
        with np.errstate(all="ignore"):
            return (values.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    with np.errstate(all="ignore"):
        return values.view({"f16": np.float16, "f32": np.float32, "f64": np.float64}[element]).astype(np.float64)


def from_floats(values: np.ndarray[Any, Any], element: str) -> np.ndarray[Any, Any]:
    """Numbers rounded to nearest even; those given are exact, or far wider than what they are rounded to."""
    with np.errstate(all="ignore"):
        if element != "bf16":
            of = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[element]
            return values.astype(of).view(f"u{np.dtype(of).itemsize}")
        single = values.astype(np.float32)
        near = single.astype(np.float64)
        bits = single.view(np.uint32).astype(np.int64)
        # A first rounding must not make a tie: step back towards the number, and let the last bit tell that there is more.
        off = np.isfinite(near) & (near != values) & np.isfinite(values)
        bits = np.where(off & (np.abs(near) > np.abs(values)), bits - 1, bits)
        bits = np.where(off, bits | 1, bits)
        rounded = bits + 0x7FFF + (bits >> 16 & 1) >> 16
        return np.where(np.isnan(values), 0x7FFF, rounded).astype(np.uint16)


def expected(update: Update, given: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array behind the update, NaN as it comes: compare with `same`."""
    element = element_of(update.type)
    bits = int("".join(filter(str.isdigit, element)))
    used = update.count * update.bits // 8
    after = given.copy()
    if bits == 128:
        there, wanted, value = given[0], given[2], given[3]
        new = np.where((there == wanted).all(axis=1, keepdims=True), value, there) if update.operation == "cas" else wanted
        after[0] = new
    else:
        there, first, second = (np.ascontiguousarray(given[number][:, :used]).view(f"u{bits // 8}") for number in (0, 2, 3))
        after[0][:, :used] = np.ascontiguousarray(_new(update, element, bits, there, first, second)).view(np.uint8)
    if update.match.opcode.startswith("atom"):
        after[1][:, :used] = given[0][:, :used]
    return after


def _new(update: Update, element: str, bits: int, there: Any, first: Any, second: Any) -> np.ndarray[Any, Any]:
    if update.operation in ("add", "min", "max") and element in _FORMATS:
        return _new_float(update, element, there, first)
    flat = zip(there.reshape(-1).tolist(), first.reshape(-1).tolist(), second.reshape(-1).tolist())
    results = [_new_integer(update.operation, element.startswith("s"), bits, *one) for one in flat]
    return np.array(results, there.dtype).reshape(there.shape)


def _new_integer(operation: str, signed: bool, bits: int, there: int, first: int, second: int) -> int:
    def key(value: int) -> int:
        return value - (1 << bits) if signed and value >> bits - 1 else value

    if operation == "cas":
        return second if there == first else there
    if operation == "inc":
        return 0 if there >= first else there + 1
    if operation == "dec":
        return first if there == 0 or there > first else there - 1
    plain = {"and": there & first, "or": there | first, "xor": there ^ first, "exch": first, "add": (there + first) % (1 << bits)}
    if operation in plain:
        return plain[operation]
    return min(there, first, key=key) if operation == "min" else max(there, first, key=key)


def _new_float(update: Update, element: str, there: np.ndarray[Any, Any], first: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    one, other = to_floats(there, element), to_floats(first, element)
    if update.operation == "add":
        smallest = 2.0**-126
        if update.flushes:
            one, other = (np.where(np.abs(value) < smallest, np.copysign(0, value), value) for value in (one, other))
        with np.errstate(all="ignore"):
            total = one + other
        if update.flushes:
            total = np.where(np.abs(total) < smallest, np.copysign(0, total), total)
        return from_floats(total, element)
    smaller = (one < other) | ((one == other) & np.signbit(one)) | np.isnan(other)
    larger = (one > other) | ((one == other) & ~np.signbit(one)) | np.isnan(other)
    return np.where(smaller if update.operation == "min" else larger, there, first)


def same(update: Update, found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Threads whose place and old value are as wanted, one NaN like another."""
    element = element_of(update.type)
    equal = (found == wanted).reshape(4, THREADS, PLACE)
    if element in _FORMATS:
        width = int("".join(filter(str.isdigit, element))) // 8
        mine, theirs = (to_floats(np.ascontiguousarray(part[0]).view(f"u{width}"), element) for part in (found, wanted))
        equal[0] |= np.repeat(np.isnan(mine) & np.isnan(theirs), width, axis=1)
    threads: np.ndarray[Any, Any] = equal.all(axis=2).all(axis=0)
    return threads
