"""Moves within and between registers, and address conversions (ISA 9.7.10.3, 9.7.10.4, 9.7.10.7, 9.7.10.22, 9.7.10.23)."""

from __future__ import annotations

from ptxgen.instructions.language import Rule, Since, instruction, out, predicate, source

_SPACES = ".space = { .const, .global, .local, .param{::entry}, .shared{::cta, ::cluster} };"
_SPACES_SINCE = (
    Since("7.7", when=".space in .param"),
    Since("8.3", when=".space in .param::entry"),
    Since("7.8", when=".space in .shared::cta"),
    Since("7.8", "sm_90+", when=".space in .shared::cluster"),
)
_SPACES_MEANING = {
    ".space": "The state space whose window is meant.",
    ".const": "Constant memory.",
    ".global": "Global memory; a kernel's parameters lie in its window.",
    ".local": "The thread's private memory.",
    ".param": "A kernel's parameters, as .param::entry.",
    ".param::entry": "A kernel's parameters.",
    ".shared": "Shared memory of the thread's own block, as .shared::cta.",
    ".shared::cta": "Shared memory of the thread's own block.",
    ".shared::cluster": "Shared memory of any block in the cluster.",
}

mov = instruction(
    "mov",
    section="9.7.10.3",
    summary="Copies a register, a special register, a constant, or the address of a variable or function.",
    syntax="""
        mov.type d, a;
        mov.pred p, {!}q;
        mov.vec.type dv, av;
    """,
    choices="""
        .type = { .b16, .b32, .b64, .b128, .u16, .u32, .u64, .s16, .s32, .s64, .f32, .f64 };
        .vec = { .v2, .v4 };
    """,
    operands={
        "d": out(".type"),
        "a": source(".type", symbol=True, special="not .type in .f32 .f64"),
        "p": predicate("out"),
        "q": predicate(negatable=True, immediate=True, special=True),
        "dv": out(".type", vector=".vec"),
        "av": source(".type", vector=".vec", special="not .type in .f32 .f64"),
    },
    rules=(
        Rule("a vector move carries at most 128 bits", when=".vec", need="not .type in .b128"),
        Rule("a vector move carries at most 128 bits", when=".vec in .v4", need="not .type in .b64 .u64 .s64 .f64"),
    ),
    since=(Since("8.3", when=".type in .b128"),),
    meaning={
        ".type": "The type of both sides; a variable's name gives its address within its own state space.",
        ".pred": "Copies a predicate.",
        ".vec": "Copies a register vector, element by element.",
    },
)

mov_pack = instruction(
    "mov (pack and unpack)",
    section="9.7.10.4",
    summary="Packs two or four registers into one, or unpacks one into two or four; the first holds the lowest bits.",
    syntax="""
        mov.packed d, halves;
        mov.packed d, quarters;
        mov.packed low_high, a;
        mov.packed four, a;
    """,
    choices=".packed = { .b16, .b32, .b64, .b128 };",
    operands={
        "d": out(".packed"),
        "halves": source("half(.packed)", vector=2, special=True),
        "quarters": source("quarter(.packed)", vector=4, special=True),
        "low_high": out("half(.packed)", vector=2, sink=True),
        "four": out("quarter(.packed)", vector=4, sink=True),
        "a": source(".packed", symbol=True, special=True),
    },
    rules=(
        Rule("four parts need at least 32 bits", when="quarters", need="not .packed in .b16"),
        Rule("four parts need at least 32 bits", when="four", need="not .packed in .b16"),
    ),
    since=(Since("8.3", when=".packed in .b128"),),
    meaning={
        ".packed": "The width of the packed side; the parts together are as wide.",
        "halves": "The lower half, then the upper one.",
        "quarters": "Four parts from the lowest up.",
        "low_high": "The lower half, then the upper one.",
        "four": "Four parts from the lowest up.",
    },
)

prmt = instruction(
    "prmt",
    section="9.7.10.7",
    summary="Picks any four bytes out of the eight of two registers, each possibly replaced by copies of its sign.",
    syntax="prmt.b32{.mode} d, a, b, c;",
    choices=".mode = { .f4e, .b4e, .rc8, .ecl, .ecr, .rc16 };",
    operands={"d": out("b32"), "a": source("b32"), "b": source("b32"), "c": source("b32")},
    meaning={
        ".mode": "A fixed pattern that the low two bits of c select; left out, c's four nibbles name a byte each, bit 3 its sign.",
        ".f4e": "Four bytes upward from the selected one: byte i of d is byte n + i.",
        ".b4e": "Four bytes downward from the selected one: byte i of d is byte n - i, counted around eight.",
        ".rc8": "The selected byte four times.",
        ".ecl": "The bytes of a, none below the selected one: byte i of d is byte max(i, n).",
        ".ecr": "The bytes of a, none above the selected one: byte i of d is byte min(i, n).",
        ".rc16": "One 16-bit half of a twice: the upper one where n is odd.",
        "a": "Bytes 0 to 3, from the lowest up.",
        "b": "Bytes 4 to 7, from the lowest up.",
        "c": "Without a mode, bits 4i to 4i + 2 are the number of byte i of d, and bit 4i + 3 fills it with that byte's sign: 0x3210 "
        "gives a, 0x0123 turns its bytes around. With one, bits 0 and 1 are n.",
    },
)

isspacep = instruction(
    "isspacep",
    section="9.7.10.22",
    summary="Tells whether a generic address lies in a state space's window.",
    syntax="""
        isspacep.space p, a;
        isspacep.space p, short;
    """,
    choices=_SPACES,
    operands={
        "p": predicate("out"),
        "a": source("u64", immediate=False),
        "short": source("u32", immediate=False),
    },
    since=_SPACES_SINCE,
    meaning=_SPACES_MEANING,
)

cvta = instruction(
    "cvta",
    section="9.7.10.23",
    summary="Turns an address within a state space into a generic one; with .to, a generic one into one within the space.",
    syntax="""
        cvta.space.size p, a;
        cvta.to.space.size p, g;
    """,
    choices=f"""
        {_SPACES}
        .size = {{ .u32, .u64 }};
    """,
    operands={
        "p": out(".size"),
        "a": source(".size", space=".space", symbol=True),
        "g": source(".size", immediate=False),
    },
    # ptxas 13.5 reads .u32 and then stops: "32-Bit compilation is no longer supported".
    rules=(Rule("generic addresses are 64 bits wide", need=".size in .u64"),),
    since=_SPACES_SINCE,
    meaning={
        **_SPACES_MEANING,
        ".to": "From a generic address; undefined where it does not lie in the space.",
        ".size": "The width of both addresses.",
    },
)
