"""The module around statements: everything that their operands may name is declared in it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ptxgen.instructions.targets import Version

__all__ = ["module"]

_SURROUNDINGS = """\
.version {version[0]}.{version[1]}
.target {target}{mode}
.address_size 64
.global .align 64 .b8 g_mem[512];
.const .align 64 .b8 c_mem[512];
.shared .align 64 .b8 s_mem[512];
.global .texref g_tex;
.global .surfref g_surf;
{outside}
.func callee() {{ ret; }}
.func (.reg .b32 out) callee_one(.reg .b32 in) {{ mov.b32 out, in; ret; }}
{head}
{{
.local .align 64 .b8 l_mem[512];
{registers}
L_list: .branchtargets L_end, L_other;
F_list: .calltargets callee;
P_list: .callprototype _ ();
P_one: .callprototype (.reg .b32 _) _ (.reg .b32 _);
L_other:
"""
_HEADS = {
    "entry": ".visible .entry k(.param .align 64 .b8 p_mem[512])",
    "func": ".visible .func (.param .align 64 .b8 r_mem[512]) k(.param .align 64 .b8 p_mem[512])",
}


def module(texts: Sequence[str], version: Version, target: str, place: str) -> tuple[str, int]:
    """A module with one statement a line, and the number of the first of those lines."""
    used: dict[str, int] = {}
    for name, number in re.findall(r"%(pred|[bsuf]\d+(?:x2)?)_(\d+)", "\n".join(texts)):
        used[name] = max(used.get(name, 0), int(number) + 1)
    registers = " ".join(f".reg .{name} %{name}_<{number}>;" for name, number in sorted(used.items()))
    mode, outside = (", texmode_independent", ".global .samplerref g_sampler;") if place == "independent" else ("", "")
    head = _HEADS.get(place, _HEADS["entry"])
    opening = _SURROUNDINGS.format(version=version, target=target, mode=mode, outside=outside, head=head, registers=registers)
    return opening + "\n".join(texts) + "\nL_end:\nret;\n}\n", opening.count("\n") + 1
