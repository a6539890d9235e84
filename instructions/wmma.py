"""Products of whole matrices by one warp, whose fragments are opaque (ISA 9.7.16.4): wmma.load, wmma.store, wmma.mma.

The ISA leaves open which lane holds which element: fragments are loaded, multiplied and stored by these instructions, or changed element by
element; only c and d of the same shape and type agree. Newer kernels use mma, whose fragments are documented.
"""

# ptxas and published texts know two orders of layout and shape; the ISA's syntax lines show the first, its examples the second.

from __future__ import annotations

from ptxgen.instructions.fragments import COLLECTIVE
from ptxgen.instructions.language import Entry, Rule, Since, address, instruction, out, source
from ptxgen.instructions.tiles import Atom, Tile

_SHAPES = ".m16n16k16, .m8n32k16, .m32n8k16, .m16n16k8, .m8n8k4, .m8n8k32, .m8n8k128"
_WIDE = ".m16n16k16 .m8n32k16 .m32n8k16"
_SS = ".ss = { .global, .shared{::cta} };"


def _factor_rules(name: str) -> tuple[Rule, ...]:
    """Which shapes go with which type of a and b."""
    return (
        Rule("f16, bf16, s8 and u8 have 16 along k", when=f".shape in {_WIDE}", need=f"{name} in .f16 .bf16 .s8 .u8"),
        Rule("tf32 has 16 x 16 x 8", when=".shape in .m16n16k8", need=f"{name} in .tf32"),
        Rule("f64 has 8 x 8 x 4", when=".shape in .m8n8k4", need=f"{name} in .f64"),
        Rule("s4 and u4 have 8 x 8 x 32", when=".shape in .m8n8k32", need=f"{name} in .s4 .u4"),
        Rule("b1 has 8 x 8 x 128", when=".shape in .m8n8k128", need=f"{name} in .b1"),
    )


def _sum_rules(name: str) -> tuple[Rule, ...]:
    """Which shapes go with which type of c and d."""
    return (
        Rule("sums of 16 along k are f16, f32 or s32", when=f".shape in {_WIDE}", need=f"{name} in .f16 .f32 .s32"),
        Rule("sums of tf32 are f32", when=".shape in .m16n16k8", need=f"{name} in .f32"),
        Rule("sums of f64 are f64", when=".shape in .m8n8k4", need=f"{name} in .f64"),
        Rule("sums of bits and of numbers of 4 bits are s32", when=".shape in .m8n8k32 .m8n8k128", need=f"{name} in .s32"),
    )


_SINCE = (
    Since("6.0"),
    Since("7.0", "sm_80+", when=".shape in .m16n16k8 .m8n8k4"),
    Since("7.8", when=".ss in .shared::cta"),
)
_AMPERE = Since("7.0", "sm_80+", when=".abtype in .bf16")


def _packed(name: str) -> str:
    """What one register of a or b holds."""
    floats = f"f16x2 if {name} in .f16 else bf16x2 if {name} in .bf16 else tf32 if {name} in .tf32 else f64 if {name} in .f64"
    return f"{floats} else u32"


def _count(extent: str, name: str) -> str:
    """Registers of a or b: those of f16 hold every element more than once."""
    return f"8 if {name} in .f16 else 1 if {name} in .f64 else {extent}(.shape) * k(.shape) * bits({name}) / 1024"


def _sum_type(name: str) -> str:
    return f"f16x2 if {name} in .f16 else {name}"


def _sum_count(name: str) -> str:
    return f"2 if {name} in .f64 else m(.shape) * n(.shape) * bits({name}) / 1024"


_MEMORY = {
    **COLLECTIVE,
    ".a": "The left factor, m x k.",
    ".b": "The right factor, k x n.",
    ".c": "The matrix that is added, m x n.",
    ".d": "The result, m x n.",
    ".layout": "Whether rows (.row) or columns (.col) lie one behind the other, stride elements apart.",
    ".shape": "The product's extents.",
    ".row": "Rows.",
    ".col": "Columns.",
    ".global": "Global memory.",
    ".shared": "Shared memory of the thread's own block.",
    ".shared::cta": "Shared memory of the thread's own block.",
    ".ss": "The state space; left out, generic addresses of global or shared memory.",
    ".type": "The type of the elements.",
}


_OPEN = (
    "the ISA leaves open which lane holds which element of a wmma fragment, and targets differ; fragments are loaded, multiplied and "
    "stored by wmma alone, while those of mma.sync are specified (PTX ISA 9.7.16.4.1)"
)
_FRAGMENTS = Tile({}, unspecified=dict.fromkeys("abcd", _OPEN))


def _stored(rows: str, columns: str, type: str, by_row: str) -> Tile:
    """A matrix in memory, whose rows (of b: columns) lie `stride` elements apart `by_row`, else one behind the other (ISA 9.7.16.4.2)."""
    return Tile(
        {
            "p": Atom(
                f"{rows}, {columns}",
                f"S[({rows}, {columns}) : (stride, 1)] if .layout in {by_row} else S[({rows}, {columns}) : (1, stride)]",
                element=type, place="memory", constants={"stride": "stride or dense"},
            ),
        },
        names=f"m, n, k = .shape; dense = {columns} if .layout in {by_row} else {rows}",
        unspecified={"r": _OPEN},
    )  # fmt: skip


def _load(name: str, summary: str, rows: str, lies: str, layout: str) -> Entry:
    """The load of a or of b, which has so many `rows`; what `lies` one behind the other where elements have less than a byte."""
    return instruction(
        f"wmma.load ({name})",
        section="9.7.16.4.3",
        summary=summary,
        syntax=f"""
            wmma.load.{name}.sync.aligned.layout.shape{{.ss}}.abtype r, [p]{{, stride}};
            wmma.load.{name}.sync.aligned.shape.layout{{.ss}}.abtype r, [p]{{, stride}};
        """,
        choices=f"""
            .layout = {{ .row, .col }};
            .shape = {{ {_SHAPES} }};
            {_SS}
            .abtype = {{ .f16, .bf16, .tf32, .f64, .s8, .u8, .s4, .u4, .b1 }};
        """,
        operands={
            "r": out(_packed(".abtype"), vector=_count(rows, ".abtype"), braced=True, sink=True),
            "p": address("in", ".abtype", space=".ss"),
            "stride": source("u32"),
        },
        rules=(
            *_factor_rules(".abtype"),
            Rule(f"{lies} lie one behind the other where elements have less than a byte", when=".abtype in .s4 .u4 .b1", need=layout),
        ),
        since=(*_SINCE, _AMPERE),
        issuer="warp",
        layouts=_stored(rows, "k", ".abtype", ".row" if name == "a" else ".col"),
        meaning={**_MEMORY, ".abtype": _MEMORY[".type"]},
    )


wmma_load_a = _load(
    "a", "Loads the left factor of a product from memory, for wmma.mma of the same shape and type.", "m", "rows of a", ".layout in .row"
)
wmma_load_b = _load(
    "b", "Loads the right factor of a product from memory, for wmma.mma of the same shape and type.", "n", "columns of b", ".layout in .col"
)

wmma_load_sum = instruction(
    "wmma.load (c)",
    section="9.7.16.4.3",
    summary="Loads the matrix that a product is added to from memory, for wmma.mma of the same shape and type.",
    syntax="""
        wmma.load.c.sync.aligned.layout.shape{.ss}.ctype r, [p]{, stride};
        wmma.load.c.sync.aligned.shape.layout{.ss}.ctype r, [p]{, stride};
    """,
    choices=f"""
        .layout = {{ .row, .col }};
        .shape = {{ {_SHAPES} }};
        {_SS}
        .ctype = {{ .f16, .f32, .s32, .f64 }};
    """,
    operands={
        "r": out(_sum_type(".ctype"), vector=_sum_count(".ctype"), braced=True, sink=True),
        "p": address("in", ".ctype", space=".ss"),
        "stride": source("u32"),
    },
    rules=_sum_rules(".ctype"),
    since=_SINCE,
    issuer="warp",
    layouts=_stored("m", "n", ".ctype", ".row"),
    meaning={**_MEMORY, ".ctype": _MEMORY[".type"]},
)

wmma_store = instruction(
    "wmma.store",
    section="9.7.16.4.4",
    summary="Stores the result of wmma.mma of the same shape and type to memory.",
    syntax="""
        wmma.store.d.sync.aligned.layout.shape{.ss}.dtype [p], r{, stride};
        wmma.store.d.sync.aligned.shape.layout{.ss}.dtype [p], r{, stride};
        wmma.store.d.sync.aligned.shape.ss.layout.dtype [p], r{, stride};
    """,
    choices=f"""
        .layout = {{ .row, .col }};
        .shape = {{ {_SHAPES} }};
        {_SS}
        .dtype = {{ .f16, .f32, .s32, .f64 }};
    """,
    operands={
        "p": address("out", ".dtype", space=".ss"),
        "r": source(_sum_type(".dtype"), vector=_sum_count(".dtype"), braced=True),
        "stride": source("u32"),
    },
    rules=_sum_rules(".dtype"),
    since=_SINCE,
    issuer="warp",
    layouts=_stored("m", "n", ".dtype", ".row"),
    meaning={**_MEMORY, ".dtype": _MEMORY[".type"]},
)

_PRODUCT = {
    **COLLECTIVE,
    ".alayout": "How a was loaded: by rows or by columns.",
    ".blayout": "How b was loaded: by rows or by columns.",
    ".shape": "The product's extents.",
    ".dtype": "The type of the result.",
    ".ctype": "The type of the matrix that is added.",
    ".rnd": "How sums are rounded; left out, .rn.",
    ".rn": "To nearest, ties to even.",
    ".rz": "Toward zero.",
    ".rm": "Toward minus infinity.",
    ".rp": "Toward plus infinity.",
    ".satfinite": "A sum beyond the range of .s32 becomes its nearest end; without it the sum wraps.",
    ".op": "What replaces the multiplication of bits; the ones of its outcome are counted.",
}


def _product(name: str, syntax: str, choices: str, *, of: str, rules: tuple[Rule, ...] = (), since: tuple[Since, ...] = ()) -> Entry:
    """A product; `of` is the type of a and b: a qualifier, or a type by name that the opcode does not spell."""
    spelled = of.startswith(".")
    return instruction(
        f"wmma.mma ({name})",
        section="9.7.16.4.5",
        summary="Multiplies two matrices that a warp holds in fragments and adds a third one.",
        syntax=syntax,
        choices=choices,
        operands={
            "d": out(_sum_type(".dtype"), vector=_sum_count(".dtype"), braced=True),
            "a": source(_packed(of) if spelled else "f16x2", vector=_count("m", of) if spelled else 8, braced=True, immediate=False),
            "b": source(_packed(of) if spelled else "f16x2", vector=_count("n", of) if spelled else 8, braced=True, immediate=False),
            "c": source(_sum_type(".ctype"), vector=_sum_count(".ctype"), braced=True),
        },
        rules=rules,
        since=(Since("6.0"), *since),
        issuer="warp",
        layouts=_FRAGMENTS,
        meaning={
            **_PRODUCT,
            ".atype": "The type of the elements of a.",
            ".btype": "The type of the elements of b, the same.",
        },
    )


_LAYOUTS = """
    .alayout = { .row, .col };
    .blayout = { .row, .col };
"""
_SAME = tuple(
    Rule("a and b have the same type", when=f".atype in {one}", need=f".btype in {one}")
    for one in (".bf16", ".tf32", ".s8", ".u8", ".s4", ".u4")
)

wmma_mma = _product(
    "f16",
    """
        wmma.mma.sync.aligned.alayout.blayout.shape.dtype.ctype d, a, b, c;
        wmma.mma.sync.aligned.shape.alayout.blayout.dtype.ctype d, a, b, c;
    """,
    f"""
        {_LAYOUTS}
        .shape = {{ .m16n16k16, .m8n32k16, .m32n8k16 }};
        .dtype = {{ .f16, .f32 }};
        .ctype = {{ .f16, .f32 }};
    """,
    of="f16",
)

wmma_mma_wide = _product(
    "bf16, tf32",
    """
        wmma.mma.sync.aligned.alayout.blayout.shape.dtype.atype.btype.ctype d, a, b, c;
        wmma.mma.sync.aligned.shape.alayout.blayout.dtype.atype.btype.ctype d, a, b, c;
    """,
    f"""
        {_LAYOUTS}
        .shape = {{ .m16n16k16, .m8n32k16, .m32n8k16, .m16n16k8 }};
        .dtype = {{ .f32 }};
        .atype = {{ .bf16, .tf32 }};
        .btype = {{ .bf16, .tf32 }};
        .ctype = {{ .f32 }};
    """,
    of=".atype",
    rules=(
        *_SAME[:2],
        Rule("bf16 has 16 along k", when=f".shape in {_WIDE}", need=".atype in .bf16"),
        Rule("tf32 has 16 x 16 x 8", when=".shape in .m16n16k8", need=".atype in .tf32"),
    ),
    since=(Since("7.0", "sm_80+"),),
)

wmma_mma_f64 = _product(
    "f64",
    """
        wmma.mma.sync.aligned.alayout.blayout.shape{.rnd}.dtype.atype.btype.ctype d, a, b, c;
        wmma.mma.sync.aligned.alayout.blayout.shape.dtype.atype.btype.ctype.rnd d, a, b, c;
    """,
    f"""
        {_LAYOUTS}
        .shape = {{ .m8n8k4 }};
        .rnd = {{ .rn, .rz, .rm, .rp }};
        .dtype = {{ .f64 }};
        .atype = {{ .f64 }};
        .btype = {{ .f64 }};
        .ctype = {{ .f64 }};
    """,
    of=".atype",
    since=(Since("7.0", "sm_80+"),),
)

wmma_mma_bytes = _product(
    "s8, u8",
    "wmma.mma.sync.aligned.alayout.blayout.shape.dtype.atype.btype.ctype{.satfinite} d, a, b, c;",
    f"""
        {_LAYOUTS}
        .shape = {{ .m16n16k16, .m8n32k16, .m32n8k16 }};
        .dtype = {{ .s32 }};
        .atype = {{ .s8, .u8 }};
        .btype = {{ .s8, .u8 }};
        .ctype = {{ .s32 }};
    """,
    of=".atype",
    rules=_SAME[2:4],
    since=(Since("6.3"),),
)

wmma_mma_nibbles = _product(
    "s4, u4",
    "wmma.mma.sync.aligned.row.col.shape.dtype.atype.btype.ctype{.satfinite} d, a, b, c;",
    """
        .shape = { .m8n8k32 };
        .dtype = { .s32 };
        .atype = { .s4, .u4 };
        .btype = { .s4, .u4 };
        .ctype = { .s32 };
    """,
    of=".atype",
    rules=_SAME[4:],
    since=(Since("6.3"),),
)

wmma_mma_bits = _product(
    "b1",
    "wmma.mma.op.popc.sync.aligned.row.col.shape.dtype.atype.btype.ctype d, a, b, c;",
    """
        .op = { .xor, .and };
        .shape = { .m8n8k128 };
        .dtype = { .s32 };
        .atype = { .b1 };
        .btype = { .b1 };
        .ctype = { .s32 };
    """,
    of=".atype",
    since=(Since("6.3"), Since("7.1", "sm_80+", when=".op in .and")),
)
