"""``.version`` and ``.target`` (ISA 11.1)."""

from __future__ import annotations

import re
from difflib import get_close_matches

from ptxgen.assemble.versions import RELEASES
from ptxgen.instructions.targets import FIRST_VERSION, order, runs_on
from ptxgen.ir import Module
from ptxgen.layouts.errors import PtxgenError
from ptxgen.verify.operands import Report

__all__ = ["architecture", "check_header"]

_MODES = frozenset({"texmode_unified", "texmode_independent", "debug", "map_f64_to_f32"})
_OLDEST = min(order(target)[0] for target in FIRST_VERSION)


def architecture(module: Module) -> str | None:
    """The target that instructions are held against; None where it is none that is known here."""
    return next((word for word in module.target if word in FIRST_VERSION), None)


def check_header(module: Module, target: str | None, report: Report) -> None:
    """Report what is wrong with version and target, and whether the module runs on `target`."""
    if target is not None and target not in FIRST_VERSION:
        raise PtxgenError(f"unknown target {target!r}; known: {', '.join(FIRST_VERSION)}")
    newest = RELEASES[-1].ptx
    if module.version > newest:
        said = f"{module.version[0]}.{module.version[1]}"
        report("note version", f".version {said} is newer than what is known here, {newest[0]}.{newest[1]}", ".version")
    for word in module.target:
        _check_word(word, report)
    own = architecture(module)
    if own is None:
        return
    first = FIRST_VERSION[own]
    if module.version < first:
        said = f"{module.version[0]}.{module.version[1]}"
        report("version", f".target {own} needs PTX {first[0]}.{first[1]}; the module says .version {said} (PTX ISA 11.1.2)", ".version")
    if target is not None and target != own and (own.endswith("a") or not runs_on(own, target)):
        report(
            "target",
            f"a module for .target {own} can't be assembled for {target}: plain targets run on newer architectures, an 'a' target on "
            "itself alone, an 'f' target within its family (PTX ISA 11.1.2)",
            ".target",
        )


def _check_word(word: str, report: Report) -> None:
    if word in FIRST_VERSION or word in _MODES:
        return
    old = re.fullmatch(r"(?:sm|compute)_(\d+)", word)
    if old is not None and int(old[1]) < _OLDEST:
        report("note target", f".target {word} is older than what is known here, sm_{_OLDEST}; targets were not checked", word)
        return
    near = get_close_matches(word, [*FIRST_VERSION, *_MODES], n=3)
    hint = f"; nearest: {', '.join(near)}" if near else ""
    report("target", f"PTX has no target {word}{hint} (PTX ISA 11.1.2)", word)
