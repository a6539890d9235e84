"""Video instructions (ISA 9.7.20): 32-bit integers, or parts of them that a selector names, with more than one step in one instruction."""

from __future__ import annotations

from ptxgen.instructions.glossary import COMPARE
from ptxgen.instructions.language import Entry, Operand, instruction, out, source

_PARTS = "b[0-3] h[01]"
_TYPES = ".dtype = { .u32, .s32 };\n.atype = { .u32, .s32 };\n.btype = { .u32, .s32 };\n"
_SAT = {".sat": "Clamps the result to the range of its type instead of wrapping around."}
_SECOND = {
    ".op2": "A second step with c.",
    ".add": "Adds c to the result.",
    ".min": "Takes the smaller of the result and c.",
    ".max": "Takes the larger of the result and c.",
}
_OF = {
    ".dtype": "The type of the result and of c; .sat clamps to it, or to the part of it that d selects.",
    ".atype": "The type of a, or of the part of it.",
    ".btype": "The type of b, or of the part of it.",
}
_PARTS_MEANING = {
    "d": "With .dsel, the part of it that takes the result; the rest of it is c's.",
    "a": "All of it; or with .asel a byte or a half of it, extended as its type says.",
    "b": "All of it; or with .bsel a byte or a half of it, extended as its type says.",
    "c": "What the second step takes, or what the rest of d is.",
}
_COMPARES = {name: COMPARE[name] for name in (".eq", ".ne", ".lt", ".le", ".gt", ".ge")}
_COMPARISON = {".cmp": "The comparison, whose outcome is 1 or 0.", **_COMPARES}
_SCALARS = {
    "d": out(".dtype", selector=_PARTS),
    "a": source(".atype", selector=_PARTS),
    "b": source(".btype", selector=_PARTS),
    "c": source(".dtype"),
}


# A c that goes with neither a second step nor a part of d does nothing: ptxas takes it, and compilers write it.
def _scalar(name: str, summary: str) -> Entry:
    return instruction(
        name,
        section="9.7.20.1.1",
        summary=summary,
        syntax=f"""
            {name}.dtype.atype.btype{{.sat}} d, a{{.asel}}, b{{.bsel}}{{, c}};
            {name}.dtype.atype.btype{{.sat}}.op2 d, a{{.asel}}, b{{.bsel}}, c;
            {name}.dtype.atype.btype{{.sat}} d.dsel, a{{.asel}}, b{{.bsel}}, c;
        """,
        choices=f"{_TYPES} .op2 = {{ .add, .min, .max }};",
        operands=_SCALARS,
        meaning={**_OF, **_SAT, **_SECOND, **_PARTS_MEANING},
    )


vadd = _scalar("vadd", "Adds parts of two registers; then combines the sum with c, or puts it into a part of c.")
vsub = _scalar("vsub", "Subtracts parts of two registers; then combines the difference with c, or puts it into a part of c.")
vabsdiff = _scalar("vabsdiff", "Takes how far parts of two registers are apart; then combines that with c, or puts it into a part of c.")
vmin = _scalar("vmin", "Takes the smaller of parts of two registers; then combines it with c, or puts it into a part of c.")
vmax = _scalar("vmax", "Takes the larger of parts of two registers; then combines it with c, or puts it into a part of c.")


def _shift(name: str, summary: str) -> Entry:
    return instruction(
        name,
        section="9.7.20.1.2",
        summary=summary,
        syntax=f"""
            {name}.dtype.atype.u32{{.sat}}.mode d, a{{.asel}}, b{{.bsel}}{{, c}};
            {name}.dtype.atype.u32{{.sat}}.mode.op2 d, a{{.asel}}, b{{.bsel}}, c;
            {name}.dtype.atype.u32{{.sat}}.mode d.dsel, a{{.asel}}, b{{.bsel}}, c;
        """,
        choices="""
            .dtype = { .u32, .s32 };
            .atype = { .u32, .s32 };
            .mode = { .clamp, .wrap };
            .op2 = { .add, .min, .max };
        """,
        operands={**_SCALARS, "b": source("u32", selector=_PARTS)},
        meaning={
            ".dtype": _OF[".dtype"],
            ".atype": _OF[".atype"],
            **_SAT,
            **_SECOND,
            **_PARTS_MEANING,
            ".mode": "What happens to an amount past the width.",
            ".clamp": "An amount above 32 counts as 32.",
            ".wrap": "The amount is taken modulo 32.",
        },
    )


vshl = _shift("vshl", "Shifts a part of a register left; then combines the result with c, or puts it into a part of c.")
vshr = _shift("vshr", "Shifts a part of a register right; then combines the result with c, or puts it into a part of c.")

# The ISA forbids negation with .po; ptxas takes one that cancels.
vmad = instruction(
    "vmad",
    section="9.7.20.1.3",
    summary="Multiplies parts of two registers, adds c, and takes 32 bits of the sum from bit 0, 7 or 15 on.",
    syntax="""
        vmad.dtype.atype.btype{.sat}{.scale} d, {-}a{.asel}, {-}b{.bsel}, c;
        vmad.dtype.atype.btype{.sat}{.scale} d, a{.asel}, b{.bsel}, -c;
        vmad.dtype.atype.btype{.sat}{.scale} d, -a{.asel}, -b{.bsel}, -c;
        vmad.dtype.atype.btype.po{.sat}{.scale} d, a{.asel}, b{.bsel}, c;
        vmad.dtype.atype.btype.po{.sat}{.scale} d, -a{.asel}, -b{.bsel}, c;
    """,
    choices=f"{_TYPES} .scale = {{ .shr7, .shr15 }};",
    operands={**_SCALARS, "d": out(".dtype")},
    meaning={
        ".dtype": "The type of the result and of c.",
        ".atype": _OF[".atype"],
        ".btype": _OF[".btype"],
        **_SAT,
        "a": _PARTS_MEANING["a"],
        "b": _PARTS_MEANING["b"],
        "c": "Is added to the product.",
        ".po": "Adds one more, as an average that is rounded up needs.",
        ".scale": "How far the sum is shifted right; left out, not at all.",
        ".shr7": "By 7 bits.",
        ".shr15": "By 15 bits.",
    },
)

vset = instruction(
    "vset",
    section="9.7.20.1.4",
    summary="Compares parts of two registers; then combines the outcome with c, or puts it into a part of c.",
    syntax="""
        vset.atype.btype.cmp d, a{.asel}, b{.bsel}{, c};
        vset.atype.btype.cmp.op2 d, a{.asel}, b{.bsel}, c;
        vset.atype.btype.cmp d.dsel, a{.asel}, b{.bsel}, c;
    """,
    choices="""
        .atype = { .u32, .s32 };
        .btype = { .u32, .s32 };
        .cmp = { .eq, .ne, .lt, .le, .gt, .ge };
        .op2 = { .add, .min, .max };
    """,
    operands={**_SCALARS, "d": out("u32", selector=_PARTS), "c": source("u32")},
    meaning={".atype": _OF[".atype"], ".btype": _OF[".btype"], **_COMPARISON, **_SECOND, **_PARTS_MEANING},
)

# ---- two halves or four bytes at once ---------------------------------------------------------------------------------

_SIMD_PARTS = {
    2: ("h0 h1 h10", "h[0-3][0-3]"),
    4: ("b0 b1 b10 b2 b20 b21 b210 b3 b30 b31 b310 b32 b320 b321 b3210", "b[0-7][0-7][0-7][0-7]"),
}
_SIMD_ADD = {".add": "Adds all results that d's mask names to c, instead of putting them into parts of c."}
_WIDTHS = {2: "half", 4: "byte"}


def _simd_operands(count: int, of: str) -> dict[str, Operand]:
    mask, parts = _SIMD_PARTS[count]
    return {
        "d": out(of, selector=mask),
        "a": source(".atype", immediate=False, selector=parts),
        "b": source(".btype", immediate=False, selector=parts),
        "c": source(of, immediate=False),
    }


def _simd_meaning(count: int) -> dict[str, str]:
    """What masks and selectors mean."""
    letter, low, high = ("h", "10", "32") if count == 2 else ("b", "3210", "7654")
    of = _WIDTHS[count]
    picks = f"The selector has a digit for each {of} of the result, the highest first: 0 to {count - 1} are those of a, {count} and up of b"
    return {
        "d": f"The mask names what takes results, all where left out; each other {of} is c's.",
        "a": f"{picks}; left out, .{letter}{low}.",
        "b": f"{picks}; left out, .{letter}{high}.",
        "c": "What is not written is this; with .add, what results are added to.",
    }


def _simd(name: str, does: str) -> Entry:
    count = int(name[-1])
    return instruction(
        name,
        section=f"9.7.20.2.{count - 1}",
        summary=f"{does}, {_WIDTHS[count]} by {_WIDTHS[count]}; then puts the results into c, or adds them to it.",
        syntax=f"""
            {name}.dtype.atype.btype{{.sat}} d{{.mask}}, a{{.asel}}, b{{.bsel}}, c;
            {name}.dtype.atype.btype.add d{{.mask}}, a{{.asel}}, b{{.bsel}}, c;
        """,
        choices=_TYPES,
        operands=_simd_operands(count, ".dtype"),
        meaning={
            ".dtype": "Whether results, and parts of c, are signed; .sat clamps to their width.",
            ".atype": "Whether parts of a are signed.",
            ".btype": "Whether parts of b are signed.",
            **_SAT,
            **_SIMD_ADD,
            **_simd_meaning(count),
        },
    )


def _simd_set(name: str) -> Entry:
    count = int(name[-1])
    return instruction(
        name,
        section=f"9.7.20.2.{count}",
        summary=f"Compares, {_WIDTHS[count]} by {_WIDTHS[count]}; then puts the outcomes into c, or adds them to it.",
        syntax=f"""
            {name}.atype.btype.cmp d{{.mask}}, a{{.asel}}, b{{.bsel}}, c;
            {name}.atype.btype.cmp.add d{{.mask}}, a{{.asel}}, b{{.bsel}}, c;
        """,
        choices="""
            .atype = { .u32, .s32 };
            .btype = { .u32, .s32 };
            .cmp = { .eq, .ne, .lt, .le, .gt, .ge };
        """,
        operands=_simd_operands(count, "u32"),
        meaning={
            ".atype": "Whether parts of a are signed.",
            ".btype": "Whether parts of b are signed.",
            **_COMPARISON,
            **_SIMD_ADD,
            **_simd_meaning(count),
        },
    )


vadd2 = _simd("vadd2", "Adds")
vsub2 = _simd("vsub2", "Subtracts")
vavrg2 = _simd("vavrg2", "Averages, rounding away from zero")
vabsdiff2 = _simd("vabsdiff2", "Takes how far values are apart")
vmin2 = _simd("vmin2", "Takes the smaller")
vmax2 = _simd("vmax2", "Takes the larger")
vset2 = _simd_set("vset2")
vadd4 = _simd("vadd4", "Adds")
vsub4 = _simd("vsub4", "Subtracts")
vavrg4 = _simd("vavrg4", "Averages, rounding away from zero")
vabsdiff4 = _simd("vabsdiff4", "Takes how far values are apart")
vmin4 = _simd("vmin4", "Takes the smaller")
vmax4 = _simd("vmax4", "Takes the larger")
vset4 = _simd_set("vset4")
