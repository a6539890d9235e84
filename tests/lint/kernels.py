"""Small texts for lints: the body of an entry, with registers and shared memory declared around it."""

from __future__ import annotations

from ptxgen.lint import lint
from ptxgen.text import read
from ptxgen.verify import Problem

DECLARED = """\
    .reg .pred %p<8>; .reg .b16 %rs<4>; .reg .b32 %r<64>; .reg .b64 %rd<16>; .reg .f32 %f<64>;
    .shared .align 16 .b8 tile[1024]; .shared .b64 full[2];"""


def text_of(body: str, directives: str = "", target: str = "sm_100a", outside: str = "") -> str:
    """A module whose only entry runs `body`; its first line is line 9."""
    return f"""\
.version 8.7
.target {target}
.address_size 64 {outside}
.visible .entry kernel(.param .u64 p, .param .u64 .ptr .global .align 16 q)
    {directives}
{{
{DECLARED}
{body}
    ret;
}}
"""


def found(body: str, directives: str = "", *, without: tuple[str, ...] = (), outside: str = "") -> list[Problem]:
    """What the lints find in the body of an entry."""
    return lint(read(text_of(body, directives, outside=outside), filename="k.ptx"), without=without)


def said(body: str, directives: str = "") -> str:
    """All messages, one after another."""
    return "\n".join(map(str, found(body, directives)))


def ids(body: str, directives: str = "", *, outside: str = "") -> list[str]:
    """Severity and id of each finding."""
    return [f"{one.severity} {one.id}" for one in found(body, directives, outside=outside)]
