"""Directives of functions, and directives of the module (ISA 11.2, 11.4, 11.7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ptxgen.instructions.targets import Version, order
from ptxgen.ir import Directive, Function
from ptxgen.verify.operands import Report
from ptxgen.verify.problems import explained

__all__ = ["check_directives", "check_module_directive"]


class _Rule(NamedTuple):
    """Of which functions a directive is (of all where `kind` is empty), its section, and since when; `positive` numbers are never 0."""

    kind: str
    section: str
    version: Version
    oldest: int = 0
    positive: bool = False


_RULES = {
    "maxntid": _Rule("entry", "11.4.2", (1, 3), positive=True),
    "reqntid": _Rule("entry", "11.4.3", (2, 1), positive=True),
    "minnctapersm": _Rule("entry", "11.4.4", (2, 0), positive=True),
    "maxnctapersm": _Rule("entry", "11.4.5", (1, 3), positive=True),
    "maxnreg": _Rule("entry", "11.4.1", (1, 3), positive=True),
    "noreturn": _Rule("func", "11.4.6", (6, 4)),
    "abi_preserve": _Rule("func", "11.4.8", (9, 0), 80),
    "abi_preserve_control": _Rule("func", "11.4.9", (9, 0), 80),
    "minperctamemory": _Rule("entry", "11.4.10", (9, 4), 80),
    "local_maxnreg": _Rule("", "", (8, 8), positive=True),  # of nvcc and ptxas, not of the ISA
    "reqnctapercluster": _Rule("entry", "11.7.1", (7, 8), 90),
    "explicitcluster": _Rule("entry", "11.7.2", (7, 8), 90),
    "maxclusterrank": _Rule("entry", "11.7.3", (7, 8), 90),
    "blocksareclusters": _Rule("entry", "11.8.1", (9, 0), 90),
}
_EXCLUDE = (("maxntid", "reqntid"), ("reqnctapercluster", "maxclusterrank"))


def check_directives(function: Function, version: Version, target: str | None, report: Report) -> None:
    """Report directives that are not this function's, that contradict one another, or that this version and target do not have."""
    directives = [one for one in function.directives if isinstance(one, Directive)]
    names = {one.name for one in directives}
    for attribute in function.attributes:
        if function.kind == "entry" or not attribute.startswith(".unified"):
            legal = ".attribute(.unified(uuid1, uuid2)) of a .func"
            _say(report, f"{attribute} stands at a .{function.kind}", "11.4.7", legal, function.name)
    for one in directives:
        rule = _RULES[one.name]
        spelled = f".{one.name}"
        if rule.kind not in ("", function.kind):
            _say(report, f"{spelled} stands at a .{function.kind}", rule.section, f"{spelled} is for .{rule.kind}", spelled)
        if rule.positive and any(isinstance(number, int) and number < 1 for number in one.arguments):
            _say(report, f"{spelled} {', '.join(map(str, one.arguments))} allows nothing", rule.section, "positive numbers", spelled)
        if version < rule.version:
            _say(report, f"{spelled} needs PTX {_text(rule.version)}", rule.section, f".version {_text(rule.version)}", spelled, "version")
        if target is not None and order(target)[0] < rule.oldest:
            _say(report, f"{spelled} does not exist on {target}", rule.section, f"sm_{rule.oldest} and newer", spelled, "target")
    if "maxnctapersm" in names and version >= (2, 1):
        _say(report, ".maxnctapersm ended with PTX 2.1", "11.4.5", ".minnctapersm", ".maxnctapersm")
    for first, second in _EXCLUDE:
        if {first, second} <= names:
            _say(report, f".{first} and .{second} both stand at {function.name}", _RULES[second].section, "one of them", f".{second}")
    if "blocksareclusters" in names and not {"reqntid", "reqnctapercluster"} <= names:
        _say(
            report, ".blocksareclusters needs the sizes of blocks and clusters", "11.8.1", ".reqntid and .reqnctapercluster beside it",
            ".blocksareclusters",
        )  # fmt: skip
    if "noreturn" in names and function.results:
        _say(report, f"{function.name} is .noreturn and has results", "11.4.6", "no results", ".noreturn")


def check_module_directive(directive: Directive, functions: Mapping[str, Function], version: Version, report: Report) -> None:
    """Report an ``.alias`` of what is none of the `functions` so far, and debug data of a kind that has ended."""
    if directive.name == "@@DWARF" and version >= (2, 0):
        report("directive", explained("@@DWARF ended with PTX 2.0", section="11.5.1", legal=".section"), "@@DWARF")
    if directive.name == "alias":
        alias, aliased = map(str, directive.arguments)
        _check_alias(alias, aliased, functions, report)


def _check_alias(alias: str, aliased: str, functions: Mapping[str, Function], report: Report) -> None:
    made, behind = functions.get(alias), functions.get(aliased)
    if made is None or made.kind != "func" or made.body is not None:
        _say(report, f"{alias} is no function that is declared before and never defined", "11.2.3", f".func {alias}; before", alias)
    elif behind is None or behind.kind != "func" or behind.body is None:
        _say(report, f"{aliased} is no .func that is defined before", "11.2.3", "a .func with a body", aliased)
    elif (len(made.results), len(made.params)) != (len(behind.results), len(behind.params)):
        _say(report, f"{alias} and {aliased} differ in parameters or results", "11.2.3", "the same parameters and results", alias)


def _say(report: Report, problem: str, section: str, legal: str, focus: str, id: str = "directive") -> None:
    report(id, explained(problem, section=section, legal=legal), focus)


def _text(version: Version) -> str:
    return f"{version[0]}.{version[1]}"
