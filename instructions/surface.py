"""Surfaces (ISA 9.7.13): images that are read and written at whole elements or bytes, and questions about them."""

from __future__ import annotations

from ptxgen.instructions.language import Rule, Since, address, instruction, out, source

_GEOMETRY = {
    ".geom": "The shape of the surface, and with it what the coordinates are; x counts bytes.",
    ".sgeom": "The shape of the surface, and with it what the coordinates are; x counts elements.",
    ".1d": "One row: {x}, or x alone.",
    ".2d": "{x, y}.",
    ".3d": "{x, y, z, and one that is ignored}.",
    ".a1d": "An array of rows: {layer, x}.",
    ".a2d": "An array of images: {layer, x, y, and one that is ignored}.",
}
_OUTSIDE = {
    ".clamp": "What happens outside of the surface.",
    ".trap": "The launch ends with an error.",
    ".zero": "Reads give 0, writes are dropped.",
}
_VECTOR = {".vec": "How many registers are moved."}
_TOO_LONG = Rule("16 bytes at most are moved at once", when=".vec in .v4", need="not .type in .b64")
_SURFACE = address("in", "surfref")
_PLACE = source("s32", vector="1 if .geom in .1d else 2 if .geom in .2d .a1d else 4", braceable=True)
_PLAIN_PLACE = source("s32", vector="1 if .sgeom in .1d else 2 if .sgeom in .2d else 4", braceable=True)
_GEOM = ".geom = { .1d, .2d, .3d, .a1d, .a2d };"
_SGEOM = ".sgeom = { .1d, .2d, .3d };"
_CLAMP = ".clamp = { .trap, .clamp, .zero };"

suld = instruction(
    "suld.b",
    section="9.7.13.1",
    summary="Reads bytes of a surface as they are.",
    syntax="suld.b.geom{.cop}{.vec}.type.clamp d, [a, b];",
    choices=f"""
        {_GEOM}
        .cop = {{ .ca, .cg, .cs, .cv }};
        .vec = {{ .v2, .v4 }};
        .type = {{ .b8, .b16, .b32, .b64 }};
        {_CLAMP}
    """,
    operands={"d": out(".type", vector=".vec", wider=True, sink=".vec", braceable=True), "a": _SURFACE, "b": _PLACE},
    rules=(_TOO_LONG,),
    meaning={
        **_GEOMETRY,
        ".cop": "The cache operation, as for ld.",
        ".ca": "Cached at all levels.",
        ".cg": "Cached in L2 alone.",
        ".cs": "Likely to be read once.",
        ".cv": "Read from memory anew.",
        **_VECTOR,
        **_OUTSIDE,
    },
)

sust_b = instruction(
    "sust.b",
    section="9.7.13.2",
    summary="Writes bytes of a surface as they are.",
    syntax="sust.b.geom{.cop}{.vec}.type.clamp [a, b], c;",
    choices=f"""
        {_GEOM}
        .cop = {{ .wb, .cg, .cs, .wt }};
        .vec = {{ .v2, .v4 }};
        .type = {{ .b8, .b16, .b32, .b64 }};
        {_CLAMP}
    """,
    operands={"a": _SURFACE, "b": _PLACE, "c": source(".type", vector=".vec", wider=True, braceable=True)},
    rules=(_TOO_LONG,),
    meaning={
        **_GEOMETRY,
        ".cop": "The cache operation, as for st.",
        ".wb": "Written back from all levels.",
        ".cg": "Cached in L2 alone.",
        ".cs": "Likely to be used once.",
        ".wt": "Written through to memory.",
        **_VECTOR,
        **_OUTSIDE,
    },
)

sust_p = instruction(
    "sust.p",
    section="9.7.13.2",
    summary="Writes an element of a surface, converted to its format: R, G, B and A.",
    syntax="sust.p.sgeom{.vec}.b32.clamp [a, b], c;",
    choices=f"""
        {_SGEOM}
        .vec = {{ .v2, .v4 }};
        {_CLAMP}
    """,
    operands={"a": _SURFACE, "b": _PLAIN_PLACE, "c": source("b32", vector=".vec", braceable=True)},
    meaning={**_GEOMETRY, **_VECTOR, **_OUTSIDE},
)

_OPERATION = {
    ".op": "How the values are combined.",
    ".add": "The sum.",
    ".min": "The smaller.",
    ".max": "The larger.",
    ".and": "Bits that both have.",
    ".or": "Bits that one of them has.",
}
_REDUCTION = {"a": _SURFACE, "b": _PLAIN_PLACE}

sured_b = instruction(
    "sured.b",
    section="9.7.13.3",
    summary="Combines bytes of a surface with a value.",
    syntax="sured.b.op.sgeom.type.clamp [a, b], c;",
    choices=f"""
        .op = {{ .add, .min, .max, .and, .or }};
        {_SGEOM}
        .type = {{ .u32, .u64, .s32, .b32, .s64 }};
        {_CLAMP}
    """,
    operands={**_REDUCTION, "c": source(".type")},
    rules=(
        Rule("sums are of .u32, .s32 or .u64", when=".op in .add", need=".type in .u32 .s32 .u64"),
        Rule("the smaller and the larger are of numbers", when=".op in .min .max", need="not .type in .b32"),
        Rule("bits are combined as .b32", when=".op in .and .or", need=".type in .b32"),
    ),
    since=(Since("8.1", when=".op in .min .max and .type in .u64 .s64"),),
    meaning={**_GEOMETRY, **_OPERATION, ".sgeom": _GEOMETRY[".geom"], **_OUTSIDE},
)

sured_p = instruction(
    "sured.p",
    section="9.7.13.3",
    summary="Combines an element of a surface, whose format says whether it has a sign, with a value.",
    syntax="sured.p.op.sgeom.type.clamp [a, b], c;",
    choices=f"""
        .op = {{ .add, .min, .max, .and, .or }};
        {_SGEOM}
        .type = {{ .b32, .b64 }};
        {_CLAMP}
    """,
    operands={**_REDUCTION, "c": source(".type")},
    rules=(Rule("64 bits have only a smaller and a larger", when=".type in .b64", need=".op in .min .max"),),
    since=(Since("8.1", when=".type in .b64"),),
    meaning={**_GEOMETRY, **_OPERATION, **_OUTSIDE},
)

suq = instruction(
    "suq",
    section="9.7.13.4",
    summary="Asks for an attribute of a surface.",
    syntax="suq.query.b32 d, [a];",
    choices=".query = { .width, .height, .depth, .channel_data_type, .channel_order, .array_size, .memory_layout };",
    operands={"d": out("b32"), "a": _SURFACE},
    meaning={
        ".query": "The attribute.",
        ".width": "Elements along x.",
        ".height": "Elements along y.",
        ".depth": "Elements along z.",
        ".array_size": "Layers of an array; 0 where it is none.",
        ".channel_data_type": "The type of the components, as the API numbers it that made the surface.",
        ".channel_order": "Which components there are, in which order, as the API numbers it that made the surface.",
        ".memory_layout": "1 where elements lie in rows, 0 where they lie in blocks.",
    },
)
