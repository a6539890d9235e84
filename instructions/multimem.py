"""Operations on multimem addresses, each of which stands for one place in the memory of each of several devices.

Loads that reduce, stores and reductions (ISA 9.7.10.15), those that go on by themselves (9.7.10.13, 9.7.15.8), and bulk copies
(9.7.10.28.4.4 and .5).
"""

from __future__ import annotations

from ptxgen.instructions.language import Rule, Since, address, instruction, out, source

_PLACE = """
    .scope = { .cta, .cluster, .gpu, .sys };
    .ss = { .global };
"""
_INTEGERS = ".type = { .b32, .b64, .u32, .u64, .s32, .s64 };"
_HALVES = ".f16, .f16x2, .bf16, .bf16x2"
_NARROW = ".e4m3 .e4m3x2 .e4m3x4 .e5m2 .e5m2x2 .e5m2x4"
_FLOATS = f"""
    .vec = {{ .v2, .v4, .v8 }};
    .type = {{ {_HALVES}, .f32, .f64, {_NARROW.replace(" ", ", ")} }};
"""
_NARROW_TARGETS = "sm_100f sm_110f sm_120a sm_121a"

_INTEGER_RULES = (
    Rule("untyped bits are combined by .and, .or or .xor", when=".type in .b32 .b64", need=".op in .and .or .xor"),
    Rule("numbers are combined by .add, .min or .max", when=".type in .u32 .u64 .s32 .s64", need=".op in .add .min .max"),
    Rule("64-bit sums are of .u64; those of signed numbers are the same", when=".op in .add", need="not .type in .s64"),
)
_SIZE_RULES = (
    Rule("the elements are 32, 64 or 128 bits together", when=".type in .f16 .bf16 .e4m3x2 .e5m2x2", need=".vec"),
    Rule("the elements are 32, 64 or 128 bits together", when=".type in .e4m3 .e5m2", need=".vec in .v4 .v8"),
    Rule("the elements are 32, 64 or 128 bits together", when=".vec in .v8", need="not .type in .f16x2 .bf16x2 .f32 .f64 .e4m3x4 .e5m2x4"),
    Rule(".f64 stands alone, not in a vector", when=".vec in .v2 .v4", need="not .type in .f64"),
)
_SINCE = (Since("8.1", "sm_90+"),)
_FLOAT_SINCE = (*_SINCE, Since("8.6", _NARROW_TARGETS, when=f".type in {_NARROW}"))

_READ = address("in", ".type", space=".ss")
_WRITTEN = address("out", ".type", space=".ss")
_CHANGED = address("inout", ".type", space=".ss")
_READ_FLOATS = address("in", ".type", space=".ss", vector=".vec")
_WRITTEN_FLOATS = address("out", ".type", space=".ss", vector=".vec")
_CHANGED_FLOATS = address("inout", ".type", space=".ss", vector=".vec")
_VALUES = source(".type", vector=".vec")

_MEANING = {
    ".weak": "Orders nothing. The default.",
    ".sem": "How the access orders others.",
    ".relaxed": "Each access is one step for the threads of its scope and orders nothing.",
    ".acquire": "What the thread reads afterwards is at least as new as what the writers of the values had seen at their release.",
    ".release": "Whoever acquires the stored value sees all that this thread wrote before.",
    ".scope": "The threads for which this holds; of multimem.red left out, .sys.",
    ".cta": "The thread's own block.",
    ".cluster": "The blocks of the thread's cluster.",
    ".gpu": "All threads of the same device.",
    ".sys": "All threads of the machine, host and other devices included.",
    ".ss": "The state space of the address; left out, the address is generic and lies in global memory all the same.",
    ".global": "Global memory.",
    ".shared::cta": "Shared memory of the thread's own block.",
    ".bulk_group": "Belongs to the thread's bulk group that cp.async.bulk.commit_group closes next.",
    ".cp_mask": "Bit i of byte_mask says whether byte i of every 16 is written.",
    ".op": "How the values are combined.",
    ".redOp": "How each element of the source is combined with the destination's, one by one.",
    ".and": "Bitwise and.",
    ".or": "Bitwise or.",
    ".xor": "Bitwise exclusive or.",
    ".add": "The sum.",
    ".min": "The smallest.",
    ".max": "The largest.",
    ".inc": "One more than the destination, or 0 where that is not below the source's element.",
    ".dec": "One less than the destination, or the source's element where the destination is 0 or above it.",
    ".noftz": "Subnormal sums are kept.",
    ".acc": "In which precision sums are formed; left out, that of the type.",
    ".acc::f32": "Sums of 16-bit floats are formed in .f32.",
    ".acc::f16": "Sums of 8-bit floats are formed in .f16.",
    ".vec": "How many consecutive elements; all together 32, 64 or 128 bits.",
    ".type": "What lies there.",
    ".b128": "What is accessed in one step: 16 bytes.",
}
_PLACED = {**_MEANING, "a": "A multimem address, as the driver maps it: one place on each of several devices."}

ld_reduce = instruction(
    "multimem.ld_reduce",
    section="9.7.10.15",
    summary="Loads from every place that a multimem address stands for and returns all of these values combined.",
    syntax="""
        multimem.ld_reduce{.weak}{.ss}.op.type d, [a];
        multimem.ld_reduce.sem.scope{.ss}.op.type d, [a];
    """,
    choices=f"""
        .sem = {{ .relaxed, .acquire }};
        {_PLACE}
        .op = {{ .min, .max, .add, .and, .or, .xor }};
        {_INTEGERS}
    """,
    operands={"d": out(".type"), "a": _READ},
    rules=_INTEGER_RULES,
    since=_SINCE,
    meaning=_PLACED,
)

ld_reduce_floats = instruction(
    "multimem.ld_reduce (floats)",
    section="9.7.10.15",
    summary="Loads floats from every place that a multimem address stands for and returns all of these values combined.",
    syntax="""
        multimem.ld_reduce{.weak}{.ss}.op{.acc}{.vec}.type d, [a];
        multimem.ld_reduce.sem.scope{.ss}.op{.acc}{.vec}.type d, [a];
    """,
    choices=f"""
        .sem = {{ .relaxed, .acquire }};
        {_PLACE}
        .op = {{ .min, .max, .add }};
        .acc = {{ .acc::f32, .acc::f16 }};
        {_FLOATS}
    """,
    operands={"d": out(".type", vector=".vec"), "a": _READ_FLOATS},
    rules=(
        *_SIZE_RULES,
        Rule("floats of 32 and 64 bits are only added", when=".type in .f32 .f64", need=".op in .add"),
        Rule("a precision is chosen for sums", when=".acc", need=".op in .add"),
        Rule("sums of 16-bit floats may be formed in .f32", when=".acc in .acc::f32", need=f".type in {_HALVES.replace(',', '')}"),
        Rule("sums of 8-bit floats may be formed in .f16", when=".acc in .acc::f16", need=f".type in {_NARROW}"),
    ),
    since=(*_FLOAT_SINCE, Since("8.2", when=".acc")),
    meaning=_PLACED,
)

st = instruction(
    "multimem.st",
    section="9.7.10.15",
    summary="Stores a value to every place that a multimem address stands for.",
    syntax="""
        multimem.st{.weak}{.ss}.type [a], b;
        multimem.st.sem.scope{.ss}.type [a], b;
    """,
    choices=f"""
        .sem = {{ .relaxed, .release }};
        {_PLACE}
        {_INTEGERS}
    """,
    operands={"a": _WRITTEN, "b": source(".type")},
    since=_SINCE,
    meaning=_PLACED,
)

st_floats = instruction(
    "multimem.st (floats)",
    section="9.7.10.15",
    summary="Stores floats to every place that a multimem address stands for.",
    syntax="""
        multimem.st{.weak}{.ss}{.vec}.type [a], b;
        multimem.st.sem.scope{.ss}{.vec}.type [a], b;
    """,
    choices=f"""
        .sem = {{ .relaxed, .release }};
        {_PLACE}
        {_FLOATS}
    """,
    operands={"a": _WRITTEN_FLOATS, "b": _VALUES},
    rules=_SIZE_RULES,
    since=_FLOAT_SINCE,
    meaning=_PLACED,
)

red = instruction(
    "multimem.red",
    section="9.7.10.15",
    summary="Combines a value with what lies at every place that a multimem address stands for.",
    syntax="""
        multimem.red{.ss}.op.type [a], b;
        multimem.red.sem.scope{.ss}.op.type [a], b;
    """,
    choices=f"""
        .sem = {{ .relaxed, .release }};
        {_PLACE}
        .op = {{ .min, .max, .add, .and, .or, .xor }};
        {_INTEGERS}
    """,
    operands={"a": _CHANGED, "b": source(".type")},
    rules=_INTEGER_RULES,
    since=_SINCE,
    meaning=_PLACED,
)

red_floats = instruction(
    "multimem.red (floats)",
    section="9.7.10.15",
    summary="Adds floats to what lies at every place that a multimem address stands for.",
    syntax="""
        multimem.red{.ss}.add{.vec}.type [a], b;
        multimem.red.sem.scope{.ss}.add{.vec}.type [a], b;
    """,
    choices=f"""
        .sem = {{ .relaxed, .release }};
        {_PLACE}
        .vec = {{ .v2, .v4, .v8 }};
        .type = {{ {_HALVES}, .f32, .f64 }};
    """,
    operands={"a": _CHANGED_FLOATS, "b": _VALUES},
    rules=_SIZE_RULES,
    since=_SINCE,
    meaning=_PLACED,
)

_ASYNC_CHOICES = """
    .scope = { .gpu, .sys };
    .ss = { .global };
"""

st_async = instruction(
    "multimem.st.async",
    section="9.7.10.13",
    summary="Stores to every place of a multimem address, while the thread goes on; whoever acquires the value sees what it wrote before.",
    syntax="multimem.st.async.release.scope{.ss}.type [a], b;",
    choices=f"""
        {_ASYNC_CHOICES}
        .type = {{ .b8, .b16, .b32, .b64, .u8, .u16, .u32, .u64, .s8, .s16, .s32, .s64, .f32, .f64 }};
    """,
    operands={"a": _WRITTEN, "b": source(".type", wider="not .type in .f32")},
    since=(Since("9.3", "sm_100+"),),
    completes="with the block",
    meaning=_PLACED,
)

red_async = instruction(
    "multimem.red.async",
    section="9.7.15.8",
    summary="Adds to every place of a multimem address, while the thread goes on; whoever acquires the sum sees what it wrote before.",
    syntax="multimem.red.async.release.scope{.ss}.add.type [a], b;",
    choices=f"""
        {_ASYNC_CHOICES}
        .type = {{ .u32, .s32, .u64 }};
    """,
    operands={"a": _CHANGED, "b": source(".type")},
    since=(Since("9.3", "sm_100+"),),
    completes="with the block",
    meaning=_PLACED,
)

# ---- bulk copies ------------------------------------------------------------------------------------------------------

_COPY = {
    "dst_mem": address("out", "b8", space="global", align=16),
    "src_mem": address("in", "b8", space="shared", align=16),
    "size": source("u32", values=range(0, 1 << 20, 16)),
}

cp_async_bulk = instruction(
    "multimem.cp.async.bulk",
    section="9.7.10.28.4.4",
    summary="Copies bytes in a row from the block's shared memory to every place that a multimem address stands for.",
    syntax="""
        multimem.cp.async.bulk{.weak}.global.shared::cta.bulk_group [dst_mem], [src_mem], size;
        multimem.cp.async.bulk{.weak}.global.shared::cta.bulk_group.cp_mask [dst_mem], [src_mem], size, byte_mask;
        multimem.cp.async.bulk.relaxed.scope.global.shared::cta.bulk_group.b128 [dst_mem], [src_mem], size;
        multimem.cp.async.bulk.relaxed.scope.global.shared::cta.bulk_group.cp_mask.b128 [dst_mem], [src_mem], size, byte_mask;
    """,
    choices=_PLACE,
    operands={**_COPY, "byte_mask": source("u16", values=range(1 << 16))},
    since=(Since("9.1", "sm_90+"), Since("9.1", "sm_100+", when=".cp_mask"), Since("9.3", when=".weak or .relaxed")),
    issuer="one",
    completes="bulk group",
    meaning=_MEANING,
)

_REDUCED = {**_COPY, "dst_mem": address("inout", "b8", space="global", align=16)}
_REDUCE_SINCE = (Since("9.1", "sm_90+"), Since("9.3", when=".relaxed"))

cp_reduce_async_bulk = instruction(
    "multimem.cp.reduce.async.bulk",
    section="9.7.10.28.4.5",
    summary="Combines an array in the block's shared memory into one at every place that a multimem address stands for.",
    syntax="""
        multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.redOp.type [dst_mem], [src_mem], size;
        multimem.cp.reduce.async.bulk.relaxed.scope.global.shared::cta.bulk_group.redOp.type [dst_mem], [src_mem], size;
    """,
    choices=f"""
        {_PLACE}
        .redOp = {{ .and, .or, .xor, .add, .inc, .dec, .min, .max }};
        .type = {{ .f16, .bf16, .b32, .u32, .s32, .b64, .u64, .s64, .f32, .f64 }};
    """,
    operands=_REDUCED,
    rules=(
        Rule("sums without .noftz are of .u32, .s32, .u64, .f32 and .f64", when=".redOp in .add",
             need=".type in .u32 .s32 .u64 .f32 .f64"),
        Rule("minima and maxima are of integers, .f16 and .bf16", when=".redOp in .min .max",
             need=".type in .u32 .s32 .u64 .s64 .f16 .bf16"),
        Rule(".inc and .dec are of .u32", when=".redOp in .inc .dec", need=".type in .u32"),
        Rule("bitwise operations are of .b32 and .b64", when=".redOp in .and .or .xor", need=".type in .b32 .b64"),
    ),
    since=_REDUCE_SINCE,
    issuer="one",
    completes="bulk group",
    meaning=_MEANING,
)  # fmt: skip

cp_reduce_async_bulk_noftz = instruction(
    "multimem.cp.reduce.async.bulk (sums that keep subnormals)",
    section="9.7.10.28.4.5",
    summary="Adds an array of floats in the block's shared memory to one at every place that a multimem address stands for.",
    syntax="""
        multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.type [dst_mem], [src_mem], size;
        multimem.cp.reduce.async.bulk.relaxed.scope.global.shared::cta.bulk_group.add.noftz.type [dst_mem], [src_mem], size;
    """,
    choices=f"""
        {_PLACE}
        .type = {{ .f16, .bf16, .f32 }};
    """,
    operands=_REDUCED,
    since=(*_REDUCE_SINCE, Since("9.4", when=".type in .f32")),
    issuer="one",
    completes="bulk group",
    meaning=_MEANING,
)
