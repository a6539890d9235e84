"""Stores and reductions that go on by themselves, and one that fills memory (ISA 9.7.10.12, 9.7.10.14, 9.7.15.7)."""

from __future__ import annotations

from ptxgen.instructions.language import Rule, Since, address, immediate, instruction, source

_MBAR = address("inout", "b64", space=".ss")
_SCOPE = ".scope = { .gpu, .sys };"
_CLUSTER = """
    .ss = { .shared::cluster };
"""
_MMIO_RULE = Rule("an access to a device is for the whole machine", when=".mmio", need=".scope in .sys")
_REMOTE = (Since("8.1", "sm_90+"),)
_RELEASED = (Since("8.7", "sm_100+"),)

_MEANING = {
    ".ss": "The state space of the addresses; left out, they are generic.",
    ".shared::cluster": "Shared memory of a block of the cluster.",
    ".global": "Global memory; left out, the address is generic and lies there all the same.",
    ".weak": "Orders nothing. The default.",
    ".relaxed": "The update is one step for the threads of its scope and orders nothing.",
    ".release": "Whoever acquires the stored value sees all that this thread wrote before.",
    ".mmio": "Exactly one access to the device behind the address.",
    ".scope": "The threads for which this holds.",
    ".cluster": "The blocks of the thread's cluster.",
    ".gpu": "All threads of the same device.",
    ".sys": "All threads of the machine, host and other devices included.",
    ".mbarrier::complete_tx::bytes": "Counts the bytes as arrived at an mbarrier of the block that receives them.",
    ".vec": "How many consecutive elements are stored.",
    ".type": "What is stored or combined.",
    ".op": "How the value is combined with what is there.",
    ".inc": "One more than what is there, or 0 where that is not below b.",
    ".dec": "One less than what is there, or b where 0 or more than b is there.",
    ".min": "The smaller one.",
    ".max": "The larger one.",
    ".and": "Bitwise and.",
    ".or": "Bitwise or.",
    ".xor": "Bitwise exclusive or.",
    ".add": "The sum.",
}

st_async = instruction(
    "st.async",
    section="9.7.10.12",
    summary="Stores to shared memory of another block of the cluster and tells an mbarrier there of the bytes, while the thread goes on.",
    syntax="st.async{.weak}{.ss}.mbarrier::complete_tx::bytes{.vec}.type [a], b, [mbar];",
    choices=f"""
        {_CLUSTER}
        .vec = {{ .v2, .v4 }};
        .type = {{ .b32, .b64, .b128, .u32, .u64, .s32, .s64, .f32, .f64 }};
    """,
    operands={"a": address("out", ".type", space=".ss", vector=".vec"), "b": source(".type", vector=".vec"), "mbar": _MBAR},
    rules=(
        Rule("a vector of four holds elements of 32 bits", when=".vec in .v4", need=".type in .b32 .u32 .s32 .f32"),
        Rule(".b128 is stored alone, not as a vector", when=".vec", need="not .type in .b128"),
    ),
    since=(*_REMOTE, Since("9.2", when=".type in .b128")),
    completes="mbarrier transaction",
    meaning={
        **_MEANING,
        "a": "Where it goes: shared memory of a block of the cluster, whose address mapa gives.",
        "mbar": "An mbarrier in the same block as a, which waits for the bytes (expect_tx).",
    },
)

st_async_release = instruction(
    "st.async (release)",
    section="9.7.10.12",
    summary="Stores to global memory so that whoever acquires the value sees what the thread wrote before, while the thread goes on.",
    syntax="st.async{.mmio}.release.scope{.global}.type [a], b;",
    choices=f"""
        {_SCOPE}
        .type = {{ .b8, .b16, .b32, .b64, .u8, .u16, .u32, .u64, .s8, .s16, .s32, .s64, .f32, .f64 }};
    """,
    operands={"a": address("out", ".type", space=".global"), "b": source(".type")},
    rules=(_MMIO_RULE,),
    since=_RELEASED,
    completes="with the block",
    meaning=_MEANING,
)

st_bulk = instruction(
    "st.bulk",
    section="9.7.10.14",
    summary="Fills bytes in a row of the block's shared memory with zeros.",
    syntax="""
        st.bulk{.weak}{.ss} [a], size, initval;
        st.bulk{.weak}{.ss} [a], short_size, initval;
    """,
    choices=".ss = { .shared::cta };",
    operands={
        "a": address("out", "b64", space=".ss", named=False),
        "size": source("u64", values=range(0, 1 << 24, 8)),
        "short_size": source("u32", immediate=False),
        "initval": immediate("u64", (0,)),
    },
    since=(Since("8.6", "sm_100+"), Since("9.0", when="short_size")),
    meaning={
        **_MEANING,
        ".shared::cta": "Shared memory of the thread's own block.",
        "size": "Bytes: a multiple of 8.",
        "short_size": "Bytes: a multiple of 8.",
        "initval": "What is written: 0.",
    },
)

red_async = instruction(
    "red.async",
    section="9.7.15.7",
    summary="Combines a value into shared memory of another block of the cluster and tells an mbarrier there, while the thread goes on.",
    syntax="red.async.relaxed.cluster{.ss}.mbarrier::complete_tx::bytes.op.type [a], b, [mbar];",
    choices=f"""
        {_CLUSTER}
        .op = {{ .inc, .dec, .min, .max, .and, .or, .xor, .add }};
        .type = {{ .b32, .u32, .s32, .u64, .s64 }};
    """,
    operands={"a": address("inout", ".type", space=".ss"), "b": source(".type"), "mbar": _MBAR},
    rules=(
        Rule(".inc and .dec are of .u32", when=".op in .inc .dec", need=".type in .u32"),
        Rule("minima and maxima are of .u32 and .s32", when=".op in .min .max", need=".type in .u32 .s32"),
        Rule("bitwise operations are of .b32", when=".op in .and .or .xor", need=".type in .b32"),
        Rule("sums are of integers", when=".op in .add", need="not .type in .b32"),
    ),
    since=_REMOTE,
    completes="mbarrier transaction",
    meaning={
        **_MEANING,
        "a": "Shared memory of a block of the cluster, whose address mapa gives.",
        "mbar": "An mbarrier in the same block as a, which waits for the bytes (expect_tx).",
    },
)

red_async_release = instruction(
    "red.async (release)",
    section="9.7.15.7",
    summary="Adds to global memory so that whoever acquires the sum sees what the thread wrote before, while the thread goes on.",
    syntax="red.async{.mmio}.release.scope{.global}.add.type [a], b;",
    choices=f"""
        {_SCOPE}
        .type = {{ .u32, .s32, .u64, .s64 }};
    """,
    operands={"a": address("inout", ".type", space=".global"), "b": source(".type")},
    rules=(_MMIO_RULE,),
    since=_RELEASED,
    completes="with the block",
    meaning=_MEANING,
)
