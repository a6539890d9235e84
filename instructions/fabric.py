"""Copies and reductions between devices by logical endpoints of the fabric (ISA 9.7.11).

An address is an endpoint, 32 bits, with an offset in its memory and, where completion is counted there, the offset of a counter.
"""

from __future__ import annotations

from ptxgen.instructions.copies import HINT, POLICY, POLICY_RULES
from ptxgen.instructions.language import Rule, Since, address, immediate, instruction, source
from ptxgen.instructions.tensor_maps import (
    COORDINATES,
    DIMENSIONS,
    OVERRIDE_ATTRIBUTE,
    OVERRIDE_RULES,
    OVERRIDE_SPELLED,
    OVERRIDES,
    TENSOR_MEANING,
)

_GET = "mbarrier::complete_tx::bytes.mbarrier::report::fabric"
_PUT = "mbarrier::complete_tx::16B.mbarrier::report::fabric"
_COUNTED = f"{_PUT}.counted::bytes"

_OFFSET = source("u64", immediate=False)
_SIZE = source("u32", values=range(0, 1 << 20, 16))
_PLACES = {
    "endpoint": address("in", "b8", space="fabric"),
    "offset": _OFFSET,
    "counter": _OFFSET,
    "size": _SIZE,
    "mbar": address("inout", "b64", space="shared"),
    "cache_policy": POLICY,
}
_READ = address("in", "b8", space="shared", align=16)
_WRITTEN = address("out", "b8", space="shared", align=16)
_SINCE = (Since("9.3", "sm_100+"),)
_TENSOR_SINCE = (Since("9.4", "sm_107f"),)
_NARROW_TARGETS = "sm_100f sm_110f sm_120f"

_MEANING = {
    ".async": "The thread goes on.",
    ".multimem": "The endpoint stands for one place on each of several devices.",
    ".shared::cta": "Shared memory of the thread's own block.",
    ".mbarrier::complete_tx::bytes": "Counts its bytes as arrived at an mbarrier of the block, of layout v1.",
    ".mbarrier::complete_tx::16B": "Counts every 16 bytes as one that has arrived at an mbarrier of the block, of layout v1.",
    ".mbarrier::report::fabric": "The mbarrier reports where the fabric failed.",
    ".counted::bytes": "A counter at the endpoint counts the bytes.",
    ".cp_mask": "Bit i of byte_mask says whether byte i of every 16 is written.",
    ".level::cache_hint": "The operand cache_policy, made by createpolicy, governs L2.",
    ".relaxed": "Each element is accessed in one step and orders nothing.",
    ".sys": "For all threads of the machine.",
    ".b128": "16 bytes are accessed in one step.",
    ".op": "How elements are combined.",
    ".and": "Bitwise and.",
    ".or": "Bitwise or.",
    ".xor": "Bitwise exclusive or.",
    ".add": "The sum.",
    ".min": "The smaller one.",
    ".max": "The larger one.",
    ".exch": "Writes the operand, whatever is there.",
    ".cas": "Writes the second of two operands where the first is there.",
    ".acc::f16": "Sums are formed in .f16.",
    ".acc::f32": "Sums are formed in .f32.",
    ".type": "What the elements are.",
    ".sync": "Waits until every thread of the warp executes this.",
}

try_get = instruction(
    "fabric.try_get",
    section="9.7.11.5.1",
    summary="Copies bytes in a row from an endpoint into shared memory and signals an mbarrier.",
    syntax=f"""
        fabric.try_get.async.shared::cta.{_GET}{{.level::cache_hint}}.relaxed.sys.b128
            [dst], [endpoint, offset], size, [mbar]{{, cache_policy}};
    """,
    choices=HINT,
    operands={**_PLACES, "dst": _WRITTEN},
    rules=POLICY_RULES,
    since=_SINCE,
    issuer="one",
    completes="mbarrier transaction",
    meaning=_MEANING,
)

try_put = instruction(
    "fabric.try_put",
    section="9.7.11.5.2",
    summary="Copies bytes in a row from shared memory to an endpoint and signals an mbarrier.",
    syntax=f"""
        fabric.try_put.async{{.multimem}}.shared::cta.{_PUT}{{.level::cache_hint}}.relaxed.sys.b128
            [endpoint, offset], [src], size, [mbar]{{, cache_policy}};
        fabric.try_put.async{{.multimem}}.shared::cta.{_PUT}{{.level::cache_hint}}.cp_mask.relaxed.sys.b128
            [endpoint, offset], [src], size, [mbar], byte_mask{{, cache_policy}};
        fabric.try_put.async{{.multimem}}.shared::cta.{_COUNTED}{{.level::cache_hint}}.relaxed.sys.b128
            [endpoint, offset, counter], [src], size, [mbar]{{, cache_policy}};
    """,
    choices=HINT,
    operands={**_PLACES, "src": _READ, "byte_mask": source("u16", values=range(1 << 16))},
    rules=POLICY_RULES,
    since=_SINCE,
    issuer="one",
    completes="mbarrier transaction",
    meaning=_MEANING,
)

try_red = instruction(
    "fabric.try_red",
    section="9.7.11.5.3",
    summary="Combines an array in shared memory into one at an endpoint and signals an mbarrier.",
    syntax=f"""
        fabric.try_red.async{{.multimem}}.shared::cta.{_PUT}{{.level::cache_hint}}.relaxed.sys.op.type
            [endpoint, offset], [src], size, [mbar]{{, cache_policy}};
        fabric.try_red.async{{.multimem}}.shared::cta.{_COUNTED}{{.level::cache_hint}}.relaxed.sys.op.type
            [endpoint, offset, counter], [src], size, [mbar]{{, cache_policy}};
    """,
    choices=f"""
        .op = {{ .and, .xor, .or, .min, .max, .add }};
        .type = {{ .b32, .b64, .u32, .s32, .u64, .s64, .f16, .bf16, .f32, .f64 }};
        {HINT}
    """,
    operands={**_PLACES, "src": _READ},
    rules=(
        *POLICY_RULES,
        Rule("bitwise operations are of .b32 and .b64", when=".op in .and .or .xor", need=".type in .b32 .b64"),
        Rule("minima and maxima are of integers, .f16 and .bf16", when=".op in .min .max", need=".type in .u32 .s32 .u64 .s64 .f16 .bf16"),
        Rule("sums are of .u32, .u64 and floats; those of signed numbers are the same", when=".op in .add",
             need=".type in .u32 .u64 .f16 .bf16 .f32 .f64"),
    ),
    since=_SINCE,
    issuer="one",
    completes="mbarrier transaction",
    meaning=_MEANING,
)  # fmt: skip

try_pullred = instruction(
    "fabric.try_pullred",
    section="9.7.11.5.4",
    summary="Reads arrays of several devices, combines them element by element into shared memory and signals an mbarrier.",
    syntax=f"""
        fabric.try_pullred.async.multimem.shared::cta.{_GET}.relaxed.sys.op.type.sync
            [dst], [endpoint, offset], size, [mbar], membermask;
        fabric.try_pullred.async.multimem.shared::cta.{_GET}.relaxed.sys.add.acc.type.sync
            [dst], [endpoint, offset], size, [mbar], membermask;
    """,
    choices="""
        .op = { .and, .xor, .or, .min, .max, .add };
        .acc = { .acc::f16, .acc::f32 };
        .type = { .b32, .b64, .u32, .s32, .u64, .s64, .f16, .bf16, .f32, .e4m3, .e5m2 };
    """,
    operands={**_PLACES, "dst": _WRITTEN, "membermask": immediate("b32", (0xFFFFFFFF,))},
    rules=(
        Rule("bitwise operations are of .b32 and .b64", when=".op in .and .or .xor", need=".type in .b32 .b64"),
        Rule("minima and maxima are of numbers, but for .f32", when=".op in .min .max",
             need=".type in .u32 .s32 .u64 .s64 .f16 .bf16 .e4m3 .e5m2"),
        Rule("sums are of .u32, .u64, .f16, .bf16 and .f32; those of signed numbers are the same", when=".op in .add",
             need=".type in .u32 .u64 .f16 .bf16 .f32"),
        Rule("sums of 8-bit floats are formed in .f16", when=".acc in .acc::f16", need=".type in .e4m3 .e5m2"),
        # ptxas 13.5 takes .e5m2 as well, though not .e4m3.
        Rule("of floats, those of 16 bits are summed in .f32", when=".acc in .acc::f32", need=".type in .f16 .bf16"),
    ),
    since=(*_SINCE, Since("9.3", _NARROW_TARGETS, when=".acc"), Since("9.3", _NARROW_TARGETS, when=".type in .e4m3 .e5m2")),
    issuer="warp",
    completes="mbarrier transaction",
    meaning={**_MEANING, ".acc": "In which precision sums are formed."},
)  # fmt: skip

submit = instruction(
    "fabric.submit",
    section="9.7.11.5.5",
    summary="Submits the fabric operations that the thread has begun, without which nobody sees them complete.",
    syntax="""
        fabric.submit{.op_restrict::fetching};
        fabric.submit.commit_group;
    """,
    since=(*_SINCE, Since("9.5", when=".commit_group")),
    meaning={
        ".op_restrict::fetching": "Only those that read from endpoints.",
        ".commit_group": "And closes a group of them.",
    },
)

wait = instruction(
    "fabric.wait",
    section="9.7.11.5.6",
    summary="Waits until the fabric operations that the thread has submitted have read shared memory, so that it may be written again.",
    syntax="fabric.wait.sync_restrict::reads;",
    since=_SINCE,
    meaning={".sync_restrict::reads": "Waits for reads alone."},
)

# ---- tensors ----------------------------------------------------------------------------------------------------------

_TENSOR_CHOICES = f"""
    {DIMENSIONS}
    {HINT}
    {OVERRIDE_ATTRIBUTE}
"""
_MAP = address("in", "b8", align=64, named=False)  # ptxas 13.5 takes the name of no tensor map here
_TENSOR = {**_PLACES, "tensor_map": _MAP, **OVERRIDES, "tensor_coords": COORDINATES, "endpoint": source("u32", immediate=False)}
_AT = f"[tensor_map, endpoint, offset{OVERRIDE_SPELLED}, tensor_coords]"
_COUNTED_AT = f"[tensor_map, endpoint, offset, counter{OVERRIDE_SPELLED}, tensor_coords]"
_TENSOR_RULES = (*POLICY_RULES, *OVERRIDE_RULES)
_TENSOR_WORDS = {**_MEANING, **TENSOR_MEANING}

try_get_tensor = instruction(
    "fabric.try_get.async.tensor",
    section="9.7.11.5.7",
    summary="Copies a box of a tensor at an endpoint into shared memory, as its tensor map says, and signals an mbarrier.",
    syntax=f"""
        fabric.try_get.async.tensor.dim.shared::cta{{.tile}}.{_GET}{{.level::cache_hint}}.relaxed.sys.b128
            .override::global_address{{.override_attribute}} [dst], {_AT}, [mbar]{{, cache_policy}};
    """,
    choices=_TENSOR_CHOICES,
    operands={**_TENSOR, "dst": address("out", "b8", space="shared", align=128)},
    rules=_TENSOR_RULES,
    since=_TENSOR_SINCE,
    issuer="one",
    completes="mbarrier transaction",
    meaning=_TENSOR_WORDS,
)

try_put_tensor = instruction(
    "fabric.try_put.async.tensor",
    section="9.7.11.5.8",
    summary="Copies shared memory into a box of a tensor at an endpoint, as its tensor map says, and signals an mbarrier.",
    syntax=f"""
        fabric.try_put.async.tensor{{.multimem}}.dim.shared::cta{{.tile}}.{_PUT}{{.level::cache_hint}}.relaxed.sys.b128
            .override::global_address{{.override_attribute}} {_AT}, [src], size, [mbar]{{, cache_policy}};
        fabric.try_put.async.tensor{{.multimem}}.dim.shared::cta{{.tile}}.{_COUNTED}{{.level::cache_hint}}.relaxed.sys.b128
            .override::global_address{{.override_attribute}} {_COUNTED_AT}, [src], size, [mbar]{{, cache_policy}};
    """,
    choices=_TENSOR_CHOICES,
    operands={**_TENSOR, "src": address("in", "b8", space="shared", align=128)},
    rules=_TENSOR_RULES,
    since=_TENSOR_SINCE,
    issuer="one",
    completes="mbarrier transaction",
    meaning=_TENSOR_WORDS,
)

try_red_tensor = instruction(
    "fabric.try_red.async.tensor",
    section="9.7.11.5.9",
    summary="Combines shared memory into a box of a tensor at an endpoint, as its tensor map says, and signals an mbarrier.",
    syntax=f"""
        fabric.try_red.async.tensor{{.multimem}}.dim.shared::cta{{.tile}}.{_PUT}{{.level::cache_hint}}.relaxed.sys.op
            .override::global_address{{.override_attribute}} {_AT}, [src], size, [mbar]{{, cache_policy}};
        fabric.try_red.async.tensor{{.multimem}}.dim.shared::cta{{.tile}}.{_COUNTED}{{.level::cache_hint}}.relaxed.sys.op
            .override::global_address{{.override_attribute}} {_COUNTED_AT}, [src], size, [mbar]{{, cache_policy}};
    """,
    choices=f"""
        .op = {{ .and, .xor, .or, .min, .max, .add }};
        {_TENSOR_CHOICES}
    """,
    operands={**_TENSOR, "src": address("in", "b8", space="shared", align=128)},
    rules=_TENSOR_RULES,
    since=_TENSOR_SINCE,
    issuer="one",
    completes="mbarrier transaction",
    meaning=_TENSOR_WORDS,
)

# ---- one element ------------------------------------------------------------------------------------------------------

try_atom = instruction(
    "fabric.try_atom",
    section="9.7.11.5.10",
    summary="Combines an operand in shared memory with an element at an endpoint, writes what was there before into shared memory and "
            "signals an mbarrier.",
    syntax=f"""
        fabric.try_atom.async.shared::cta.{_PUT}{{.level::cache_hint}}.relaxed.sys.op.type
            [endpoint, offset], [dst], [src], [mbar]{{, cache_policy}};
    """,
    choices=f"""
        .op = {{ .and, .xor, .or, .min, .max, .add, .exch, .cas }};
        .type = {{ .b32, .b64, .b128, .u32, .s32, .u64, .s64, .f16x2, .bf16x2, .f32, .f64 }};
        {HINT}
    """,
    operands={**_PLACES, "dst": _WRITTEN, "src": _READ},
    rules=(
        *POLICY_RULES,
        Rule("bitwise operations are of .b32 and .b64", when=".op in .and .or .xor", need=".type in .b32 .b64"),
        Rule("minima and maxima are of integers, .f16x2 and .bf16x2", when=".op in .min .max",
             need=".type in .u32 .s32 .u64 .s64 .f16x2 .bf16x2"),
        Rule("sums are of .u32, .u64 and floats; those of signed numbers are the same", when=".op in .add",
             need=".type in .u32 .u64 .f16x2 .bf16x2 .f32 .f64"),
        Rule("untyped bits are exchanged", when=".op in .exch .cas", need=".type in .b32 .b64 .b128"),
    ),
    since=(Since("9.4", "sm_100+"),),
    issuer="one",
    completes="mbarrier transaction",
    meaning=_MEANING,
)  # fmt: skip
