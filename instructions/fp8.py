"""Arithmetic of 8-bit floats (ISA 9.7.6): four of them in a register."""

from __future__ import annotations

from ptxgen.instructions.glossary import ROUND_NEAREST
from ptxgen.instructions.language import Entry, Since, instruction, out, source


def _sum(name: str, section: str, summary: str) -> Entry:
    return instruction(
        name,
        section=section,
        summary=summary,
        syntax=f"{name}{{.rn}}{{.satfinite}}.type.atype d, a, b;",
        choices="""
            .type = { .e4m3x4, .e5m2x4 };
            .atype = { .e4m3x4, .e5m2x4, .e3m2x4, .e2m3x4, .e2m1x4, .ue8m0x4 };
        """,
        operands={"d": out(".type"), "a": source(".atype", immediate=False), "b": source(".type", immediate=False)},
        since=(Since("9.4", "sm_100a sm_103a"),),
        meaning={
            **ROUND_NEAREST,
            ".satfinite": "A sum past the largest finite value becomes that one; without it, NaN for .e4m3x4 and infinity for .e5m2x4.",
            ".atype": "The type of a, which is widened without loss before the operation.",
        },
    )


add = _sum("add", "9.7.6.1", "Adds four small floats to four 8-bit ones.")
sub = _sum("sub", "9.7.6.2", "Subtracts four 8-bit floats from four small ones.")
