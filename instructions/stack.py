"""The stack of a function (ISA 9.7.19): local memory whose size is known only while the thread runs."""

from __future__ import annotations

from ptxgen.instructions.language import Since, immediate, instruction, out, source

_SINCE = (Since("7.3"),)
_TYPES = ".type = { .u32, .u64 };"

stacksave = instruction(
    "stacksave",
    section="9.7.19.1",
    summary="Gives the stack pointer, so that stackrestore can return to it.",
    syntax="stacksave.type d;",
    choices=_TYPES,
    operands={"d": out(".type")},
    since=_SINCE,
)

stackrestore = instruction(
    "stackrestore",
    section="9.7.19.2",
    summary="Sets the stack pointer to what stacksave gave: what was allocated since then is gone.",
    syntax="stackrestore.type a;",
    choices=_TYPES,
    operands={"a": source(".type", immediate=False)},
    since=_SINCE,
)

alloca = instruction(
    "alloca",
    section="9.7.19.3",
    summary="Allocates bytes of local memory on the stack, until stackrestore or the function's end, and gives their lowest address.",
    syntax="alloca.type ptr, size{, immAlign};",
    choices=_TYPES,
    operands={
        "ptr": out(".type"),
        "size": source(".type"),
        "immAlign": immediate("u32", tuple(1 << bit for bit in range(24))),
    },
    since=_SINCE,
)
