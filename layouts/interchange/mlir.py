"""Attributes of MLIR as Triton prints its layouts: `#ttg.blocked<{sizePerThread = [1, 2], order = [1, 0]}>`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, Union

from ptxgen.layouts.interchange.scanner import Scanner

_ALIAS = re.compile(r"#\w+\s*=(?=\s*#)")
_HEAD = re.compile(r"#(?:ttg|triton_gpu)\.(\w+)\s*<")
_ANY_HEAD = re.compile(r"#[\w.]+")
_KEY = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"-?\d+")
_PAIR = re.compile(r"(\d+)\s*:\s*\+\s*(\d+)")

Value = Union[int, bool, tuple[Any, ...], "Attribute"]


class Attribute(NamedTuple):
    """One attribute as it was read."""

    kind: str  #: the mnemonic, such as blocked
    fields: Mapping[str, Value]  #: of all braces, and behind them
    pairs: tuple[tuple[int, int], ...]  #: (interval, padding) of padded_shared
    places: Mapping[str, int]  #: where the fields' names stand, and the kind under ""
    scan: Scanner


def read_attribute(text: str) -> Attribute:
    """The attribute that a text is; a name before it, `#blocked = #ttg.blocked<...>`, is skipped.

    Raises
    ------
    LayoutError
        With the column of the fault.
    """
    scan = Scanner(text, "Triton layout")
    scan.match(_ALIAS)
    found = _attribute(scan)
    scan.end()
    return found


def _attribute(scan: Scanner) -> Attribute:
    at = scan.place
    head = scan.match(_HEAD)
    if head is None:
        other = _ANY_HEAD.match(scan.text, at)
        raise scan.fail(f"expected an attribute such as #ttg.blocked<...>, found {repr(other[0]) if other else scan.found}")
    fields: dict[str, Value] = {}
    places = {"": head.start(1)}
    pairs = _pairs(scan)
    if scan.take("{"):
        _fields(scan, fields, places, "}")
        scan.expect("}")
    while scan.take(","):  # what stands behind the braces
        _field(scan, fields, places)
    scan.expect(">")
    return Attribute(head[1], fields, pairs, places, scan)


def _pairs(scan: Scanner) -> tuple[tuple[int, int], ...]:
    if not scan.take("["):
        return ()
    pairs: list[tuple[int, int]] = []
    while not scan.take("]"):
        if pairs:
            scan.expect(",")
        pair = scan.match(_PAIR)
        if pair is None:
            raise scan.fail(f"expected interval:+padding, found {scan.found}")
        pairs.append((int(pair[1]), int(pair[2])))
    return tuple(pairs)


def _fields(scan: Scanner, fields: dict[str, Value], places: dict[str, int], close: str) -> None:
    while not scan.text.startswith(close, scan.place):
        if fields:
            scan.expect(",")
        _field(scan, fields, places)


def _field(scan: Scanner, fields: dict[str, Value], places: dict[str, int]) -> None:
    at = scan.place
    key = scan.match(_KEY)
    if key is None:
        raise scan.fail(f"expected a name, found {scan.found}")
    if key[0] in fields:
        raise scan.fail(f"{key[0]} stands twice", at)
    scan.expect("=")
    fields[key[0]] = _value(scan)
    places[key[0]] = at


def _value(scan: Scanner) -> Value:
    if scan.take("["):
        parts: list[Value] = []
        while not scan.take("]"):
            if parts:
                scan.expect(",")
            parts.append(_value(scan))
        return tuple(parts)
    if scan.text.startswith("#", scan.place):
        return _attribute(scan)
    number = scan.match(_NUMBER)
    if number:
        return int(number[0])
    if scan.take("true"):
        return True
    if scan.take("false"):
        return False
    raise scan.fail(f"expected a number, true, false, a list or an attribute, found {scan.found}")
