"""Textures (ISA 9.7.12): reads through a unit that addresses, filters and converts, and questions about textures and samplers."""

from __future__ import annotations

from ptxgen.instructions.language import Rule, Since, address, instruction, out, predicate, source

_GEOMETRY = {
    ".geom": "The shape of the texture, and with it what the coordinates are.",
    ".1d": "One row: {x}, or x alone.",
    ".2d": "{x, y}.",
    ".3d": "{x, y, z, and one that is ignored}.",
    ".a1d": "An array of rows: {layer, x}.",
    ".a2d": "An array of images: {layer, x, y, and one that is ignored}.",
    ".cube": "Six faces around a direction: {s, t, r, and one that is ignored}.",
    ".acube": "An array of cubes: {cube, s, t, r}.",
    ".2dms": "Several samples an element: {sample, x, y, and one that is ignored}.",
    ".a2dms": "An array of these: {layer, sample, x, y}.",
}
_ARRAYS = ".geom in .a1d .a2d .acube .2dms .a2dms"
_SAMPLERS = (
    Rule("in independent mode a sampler is named beside the texture", when="texmode_independent", need="b", section="5.3"),
    Rule("a sampler is named where .target says texmode_independent", when="b", need="texmode_independent", section="5.3"),
)
_NO_CUBE_OFFSET = Rule("a cube takes no offset", when=".geom in .cube .acube", need="not e")

_RESULTS = (".v4.dtype.ctype d", ".v4.dtype.ctype d|p", ".v2.f16x2.ctype d", ".v2.f16x2.ctype d|p")
_LEVELS = (("{.base}", ""), (".level", ", lod"), (".grad", ", dPdx, dPdy"))

_SAMPLES = {
    "d": out("f16x2 if .f16x2 else .dtype", vector="2 if .f16x2 else 4", sink=".v4"),
    "p": predicate("out"),
    "a": address("in", "texref"),
    "b": source("samplerref", immediate=False, symbol=True),
    "c": source(
        ".ctype",
        vector="1 if .geom in .1d else 2 if .geom in .2d .a1d else 4",
        first=f"u32 if {_ARRAYS} else .ctype",
        braceable=True,
        padded=4,
    ),
    "e": source("s32", vector="1 if .geom in .1d .a1d else 4 if .geom in .3d else 2", values=range(-8, 8), braceable=True),
    "f": source("f32"),
}
_PREDICATE = Since("7.1", when="p")
_SAMPLES_MEANING = {
    "p": "Whether the data is resident in memory; where it is not, d is zeros.",
    "a": "The texture.",
    "b": "The sampler, where .target says texmode_independent; else the texture has one.",
    "c": "The coordinates, as the geometry lists them: numbers of elements, or from 0 to 1 where the texture is normalized. "
    "A vector of four will do for any geometry; what is too much is ignored.",
    "e": "Elements that are added to the coordinates, each -8 to 7.",
    "f": "The depth that what is read is compared with; results are then 0 to 1.",
}

tex = instruction(
    "tex",
    section="9.7.12.3",
    summary="Reads a texture at coordinates: filtered, converted, from a level of detail, perhaps compared with a depth.",
    syntax="".join(f"tex{level}.geom{result}, [a{{, b}}, c]{more}{{, e}}{{, f}};\n" for level, more in _LEVELS for result in _RESULTS),
    choices="""
        .geom = { .1d, .2d, .3d, .a1d, .a2d, .cube, .acube, .2dms, .a2dms };
        .dtype = { .u32, .s32, .f16, .f32 };
        .ctype = { .s32, .f32 };
    """,
    operands={
        **_SAMPLES,
        "lod": source(".ctype"),
        "dPdx": source("f32", vector="1 if .geom in .1d .a1d else 2 if .geom in .2d .a2d else 4", braced=True),
        "dPdy": source("f32", vector="1 if .geom in .1d .a1d else 2 if .geom in .2d .a2d else 4", braced=True),
    },
    rules=(
        Rule("coordinates of a cube are floats", when=".geom in .cube .acube", need=".ctype in .f32"),
        Rule("coordinates of samples are integers", when=".geom in .2dms .a2dms", need=".ctype in .s32"),
        Rule("several samples an element have no levels of detail", when=".level or .grad", need="not .geom in .2dms .a2dms"),
        _NO_CUBE_OFFSET,
        Rule("only these geometries compare depths", when="f", need=".geom in .1d .2d .a1d .a2d .cube .acube"),
        Rule("a comparison of depths takes floating coordinates", when="f", need=".ctype in .f32"),
        *_SAMPLERS,
    ),
    since=(_PREDICATE,),
    meaning={
        **_GEOMETRY,
        ".base": "From the finest level of detail.",
        ".level": "From the level of detail that lod names.",
        ".grad": "From the level of detail that the derivatives of the coordinates ask for.",
        ".v4": "Four components.",
        ".v2": "Two registers of two components.",
        ".f16x2": "Two halves a register.",
        ".dtype": "The type of the components.",
        ".ctype": "The type of the coordinates.",
        **_SAMPLES_MEANING,
    },
)

tld4 = instruction(
    "tld4",
    section="9.7.12.4",
    summary="Reads one component of the four elements that a bilinear filter would blend.",
    syntax="""
        tld4.comp.geom.v4.dtype.f32 d, [a{, b}, c]{, e}{, f};
        tld4.comp.geom.v4.dtype.f32 d|p, [a{, b}, c]{, e}{, f};
    """,
    choices="""
        .comp = { .r, .g, .b, .a };
        .geom = { .2d, .a2d, .cube, .acube };
        .dtype = { .u32, .s32, .f32 };
    """,
    operands={
        **_SAMPLES,
        "d": out(".dtype", vector=4, sink=True),
        "c": source("f32", vector="2 if .geom in .2d else 4", first="u32 if .geom in .a2d .acube else f32", padded=4),
        "e": source("s32", vector=2, values=range(-8, 8)),
    },
    rules=(_NO_CUBE_OFFSET, *_SAMPLERS),
    since=(_PREDICATE,),
    meaning={
        ".comp": "Which component.",
        ".r": "The first.",
        ".g": "The second.",
        ".b": "The third.",
        ".a": "The fourth.",
        **{name: _GEOMETRY[name] for name in (".geom", ".2d", ".a2d", ".cube", ".acube")},
        ".v4": "Four elements.",
        ".dtype": "The type of the component.",
        **_SAMPLES_MEANING,
    },
)

_OUTSIDE = "0 the texture again, 1 its mirror image, 2 and 3 its nearest element, 4 the border"

txq = instruction(
    "txq",
    section="9.7.12.5",
    summary="Asks for an attribute of a texture or of a sampler.",
    syntax="""
        txq.tquery.b32 d, [a];
        txq.level.tlquery.b32 d, [a], lod;
        txq.squery.b32 d, [a];
        txq.isquery.b32 d, [s];
    """,
    choices="""
        .tquery = { .width, .height, .depth, .channel_data_type, .channel_order, .normalized_coords, .array_size, .num_mipmap_levels,
                    .num_samples };
        .tlquery = { .width, .height, .depth };
        .squery = { .filter_mode, .addr_mode_0, .addr_mode_1, .addr_mode_2 };
        .isquery = { .force_unnormalized_coords, .filter_mode, .addr_mode_0, .addr_mode_1, .addr_mode_2 };
    """,
    operands={
        "d": out("b32"),
        "a": address("in", "texref"),
        "s": address("in", "samplerref"),
        "lod": source("s32"),
    },
    rules=(Rule("in unified mode a sampler is part of its texture", when="s", need="texmode_independent", section="5.3"),),
    meaning={
        ".level": "Of one level of detail.",
        ".tquery": "The attribute of the texture.",
        ".tlquery": "The attribute of that level.",
        ".squery": "The attribute of the sampler that belongs to the texture.",
        ".isquery": "The attribute of the sampler, in independent mode.",
        ".width": "Elements along x.",
        ".height": "Elements along y.",
        ".depth": "Elements along z.",
        ".array_size": "Layers of an array; 0 where it is none.",
        ".num_mipmap_levels": "Levels of detail; 0 where it has none.",
        ".num_samples": "Samples an element; 0 where it has one.",
        ".channel_data_type": "The type of the components, as the API numbers it that made the texture.",
        ".channel_order": "Which components there are, in which order, as the API numbers it that made the texture.",
        ".filter_mode": "How elements are blended: 0 the nearest one, 1 linearly.",
        ".addr_mode_0": f"What lies outside along x: {_OUTSIDE}.",
        ".addr_mode_1": f"What lies outside along y: {_OUTSIDE}.",
        ".addr_mode_2": f"What lies outside along z: {_OUTSIDE}.",
        ".force_unnormalized_coords": "1 where the sampler takes coordinates as element numbers, whatever the texture says; else 0.",
        ".normalized_coords": "1 where coordinates run from 0 to 1; else 0.",
    },
)

istypep = instruction(
    "istypep",
    section="9.7.12.6",
    summary="Tells whether a generic address is that of an opaque variable of this type.",
    syntax="istypep.type p, a;",
    choices=".type = { .texref, .samplerref, .surfref };",
    operands={"p": predicate("out"), "a": source("u64")},
)
