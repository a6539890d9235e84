"""Structured sparsity in registers (ISA 9.7.16): which elements of each group are kept, and back again."""

from __future__ import annotations

from ptxgen.instructions.language import Rule, Since, instruction, out, source

_RUBIN = Since("9.4", "sm_107a")
_NUMBERS = ".num = { .x1, .x2, .x4, .x8, .x16, .x32, .x64 };"
_MEANING = {
    ".type": "The width of an element.",
    ".idx": "The width of an index: where in its group an element that is kept stood.",
    ".sparsity": "How many elements of how many are kept.",
}

spcompress = instruction(
    "spcompress",
    section="9.7.16",
    summary="Keeps two of each four elements, as a descriptor says, and tells where they stood.",
    syntax="spcompress.type.idx.sp::2:4.num mdata, cdata, data, spdesc;",
    choices=f"""
        .type = {{ .b8, .b16 }};
        .idx = {{ .b2, .b4 }};
        {_NUMBERS}
    """,
    operands={
        "mdata": out("b32", vector="x(.num) * b(.idx) / b(.type)", braced=True),
        "cdata": out("b32", vector=".num", braced=True),
        "data": source("b32", vector="2 * x(.num)", braced=True, immediate=False),
        "spdesc": source("b32", immediate=False),
    },
    since=(_RUBIN,),
    meaning={**_MEANING, ".sp::2:4": "Two of four.", ".num": "How many registers the elements that are kept fill."},
)

spdecompress = instruction(
    "spdecompress",
    section="9.7.16",
    summary="Puts the elements that were kept back where they stood, and zeros between them.",
    syntax="spdecompress.type.idx.sparsity.num data, mdata, cdata;",
    choices=f"""
        .type = {{ .b8, .b16 }};
        .idx = {{ .b2, .b4 }};
        .sparsity = {{ .sp::1:2, .sp::1:4, .sp::2:4, .sp::1:8, .sp::2:8, .sp::4:8, .sp::1:16, .sp::2:16 }};
        {_NUMBERS}
    """,
    operands={
        "data": out("b32", vector="x(.num) * group(.sparsity) * b(.type) / 32", braced=True),
        "mdata": source("b32", vector="x(.num) * kept(.sparsity) * b(.idx) / 32", braced=True, immediate=False),
        "cdata": source("b32", vector="x(.num) * kept(.sparsity) * b(.type) / 32", braced=True, immediate=False),
    },
    rules=(
        Rule("two bits tell places in a group of four at most", when=".idx in .b2", need=".sparsity in .sp::1:2 .sp::1:4 .sp::2:4"),
        Rule("four of eight are bytes", when=".sparsity in .sp::4:8", need=".type in .b8"),
        Rule("the result fills a register at least", when=".type in .b8 and .sparsity in .sp::1:2", need="not .num in .x1"),
        Rule("the result has 128 registers at most", when=".sparsity in .sp::1:16 .sp::2:16", need="not .num in .x64"),
        Rule("the result has 128 registers at most", when=".type in .b16 and .sparsity in .sp::1:16 .sp::2:16", need="not .num in .x32"),
        Rule("the result has 128 registers at most", when=".type in .b16 and .sparsity in .sp::1:8 .sp::2:8", need="not .num in .x64"),
    ),
    since=(_RUBIN,),
    meaning={**_MEANING, ".num": "How many groups are filled."},
)
