"""Branches, calls and ends (ISA 9.7.14.3 to 9.7.14.7)."""

from __future__ import annotations

from ptxgen.instructions.language import instruction, label, source, symbol, values

_UNI = {".uni": "The caller's promise that all active threads of the warp come here together and go the same way."}

bra = instruction(
    "bra",
    section="9.7.14.3",
    summary="Goes on at a label of the same function.",
    syntax="bra{.uni} target;",
    operands={"target": label()},
    meaning=_UNI,
)

brx = instruction(
    "brx.idx",
    section="9.7.14.4",
    summary="Goes on at the label that an index picks from a .branchtargets list.",
    syntax="brx.idx{.uni} index, targets;",
    operands={"index": source("u32"), "targets": symbol("branch targets")},
    meaning={**_UNI, ".idx": "Targets are picked by index; one past the end of the list is undefined."},
)

call = instruction(
    "call",
    section="9.7.14.5",
    summary="Calls a function by name, or through a pointer together with a list or prototype of what it may point to.",
    syntax="""
        call{.uni} (results), function, (arguments);
        call{.uni} function, (arguments);
        call{.uni} function;
        call{.uni} (results), pointer, (arguments), targets;
        call{.uni} pointer, (arguments), targets;
        call{.uni} pointer, targets;
    """,
    operands={
        "results": values("out"),
        "function": symbol("function"),
        "arguments": values(),
        "pointer": source("u64", immediate=False),
        "targets": symbol("call targets"),
    },
    meaning=_UNI,
)

ret = instruction(
    "ret",
    section="9.7.14.6",
    summary="Returns from a function to its caller; in a kernel it ends the thread.",
    syntax="ret{.uni};",
    ends=True,
    meaning=_UNI,
)

exit = instruction(
    "exit",
    section="9.7.14.7",
    summary="Ends the thread; barriers no longer wait for it.",
    syntax="exit;",
    ends=True,
)
