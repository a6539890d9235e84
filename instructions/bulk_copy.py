"""Bulk copies and reductions, and their groups (ISA 9.7.10.28.4 and 9.7.10.28.6)."""

from __future__ import annotations

from ptxgen.instructions.copies import (
    COMPLETION,
    HINT,
    MASKS,
    MBAR,
    MULTICAST,
    MULTICAST_CHOICE,
    MULTICAST_RULES,
    MULTICAST_SINCE,
    POLICY,
    POLICY_RULES,
    REDUCTION_CHOICE,
    REDUCTIONS,
    REPORT,
    REPORT_SINCE,
    REPORTS,
    SIZE,
    SPACES,
)
from ptxgen.instructions.language import Operand, Rule, Since, address, immediate, instruction, source

_SINCE = (
    Since("8.0", "sm_90+"),
    Since("8.6", when=".shared::cta and .global and .mbarrier::complete_tx::bytes"),
    Since("9.3", when=".weak or .relaxed"),
)
_OOB_BYTES = source("u32", values=range(16))
_SCOPES = ".scope = { .cta, .cluster, .gpu, .sys };"
_ORDERS = {
    ".weak": "The accesses order nothing and are not atomic. The default.",
    ".relaxed": "Each element is accessed in one step for the threads of the scope; of reductions left out, for .sys.",
    ".scope": "The threads for which this holds.",
    ".cta": "The thread's own block.",
    ".cluster": "The blocks of the thread's cluster.",
    ".gpu": "All threads of the same device.",
    ".sys": "All threads of the machine, host and other devices included.",
    ".b128": "16 bytes are accessed in one step.",
}


def _bytes(role: str, space: str) -> Operand:
    """A bulk copy's end: `size` bytes, aligned to 16."""
    return address(role, "b8", space=space, align=16)


_LOADED = {"dst_mem": _bytes("out", "shared"), "src_mem": _bytes("in", "global"), "size": SIZE, "mbar": MBAR, "cache_policy": POLICY}

cp_async_bulk_load = instruction(
    "cp.async.bulk.load",
    section="9.7.10.28.4.1",
    summary="Copies bytes in a row from global memory into shared memory and signals an mbarrier.",
    syntax="""
        cp.async.bulk{.weak}.shared::cta.global.mbarrier::complete_tx::bytes{.report_mechanism}{.level::cache_hint}
            [dst_mem], [src_mem], size, [mbar]{, cache_policy};
        cp.async.bulk{.weak}.shared::cta.global.mbarrier::complete_tx::bytes{.mbarrier::report::disabled}{.level::cache_hint}.ignore_oob
            [dst_mem], [src_mem], size, ignore_bytes_left, ignore_bytes_right, [mbar]{, cache_policy};
        cp.async.bulk{.weak}.shared::cluster.global.mbarrier::complete_tx::bytes{.report_mechanism}{.multicast}{.level::cache_hint}
            [dst_mem], [src_mem], size, [mbar]{, cta_mask}{, wide_mask}{, cache_policy};
        cp.async.bulk.relaxed.scope.shared::cta.global.mbarrier::complete_tx::bytes{.report_mechanism}{.level::cache_hint}.b128
            [dst_mem], [src_mem], size, [mbar]{, cache_policy};
        cp.async.bulk.relaxed.scope.shared::cta.global.mbarrier::complete_tx::bytes
            {.mbarrier::report::disabled}{.level::cache_hint}.ignore_oob.b128
            [dst_mem], [src_mem], size, ignore_bytes_left, ignore_bytes_right, [mbar]{, cache_policy};
        cp.async.bulk.relaxed.scope.shared::cluster.global.mbarrier::complete_tx::bytes
            {.report_mechanism}{.multicast}{.level::cache_hint}.b128
            [dst_mem], [src_mem], size, [mbar]{, cta_mask}{, wide_mask}{, cache_policy};
    """,
    choices=f"""
        {_SCOPES}
        {MULTICAST_CHOICE}
        {HINT}
        {REPORT}
    """,
    operands={**_LOADED, **MASKS, "ignore_bytes_left": _OOB_BYTES, "ignore_bytes_right": _OOB_BYTES},
    rules=(*POLICY_RULES, *MULTICAST_RULES),
    since=(
        *_SINCE,
        *MULTICAST_SINCE,
        REPORT_SINCE,
        Since("9.4", "sm_107f", when=".mbarrier::report::disabled"),
        Since("9.3", "sm_90a sm_100f sm_110f", when=".relaxed and .shared::cluster"),
        Since("9.2", when=".ignore_oob"),
    ),
    several=".multicast",
    issuer="one",
    completes="mbarrier transaction",
    meaning={
        **SPACES,
        **COMPLETION,
        **MULTICAST,
        **REPORTS,
        **_ORDERS,
        ".ignore_oob": "The first ignore_bytes_left and the last ignore_bytes_right bytes may lie outside of the allocation; "
                       "their places in shared memory hold anything afterwards.",
    },
)  # fmt: skip

cp_async_bulk_copy = instruction(
    "cp.async.bulk.copy",
    section="9.7.10.28.4.1",
    summary="Copies bytes in a row from the block's shared memory into that of a block of the cluster and signals an mbarrier there.",
    syntax="""
        cp.async.bulk{.weak}.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [dst_mem], [src_mem], size, [mbar];
        cp.async.bulk.relaxed.scope.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.b128 [dst_mem], [src_mem], size, [mbar];
    """,
    choices=".scope = { .cta, .cluster };",
    operands={"dst_mem": _bytes("out", "shared"), "src_mem": _bytes("in", "shared"), "size": SIZE, "mbar": MBAR},
    since=_SINCE,
    issuer="one",
    completes="mbarrier transaction",
    meaning={**SPACES, **COMPLETION, **_ORDERS},
)

cp_async_bulk_store = instruction(
    "cp.async.bulk.store",
    section="9.7.10.28.4.1",
    summary="Copies bytes in a row from the block's shared memory into global memory.",
    syntax="""
        cp.async.bulk{.weak}.global.shared::cta.bulk_group{.level::cache_hint} [dst_mem], [src_mem], size{, cache_policy};
        cp.async.bulk{.weak}.global.shared::cta.bulk_group{.level::cache_hint}.cp_mask
            [dst_mem], [src_mem], size{, cache_policy}, byte_mask;
        cp.async.bulk.relaxed.scope.global.shared::cta.bulk_group{.level::cache_hint}.b128
            [dst_mem], [src_mem], size{, cache_policy};
        cp.async.bulk.relaxed.scope.global.shared::cta.bulk_group{.level::cache_hint}.cp_mask.b128
            [dst_mem], [src_mem], size{, cache_policy}, byte_mask;
    """,
    choices=f"""
        {_SCOPES}
        {HINT}
    """,
    operands={
        "dst_mem": _bytes("out", "global"),
        "src_mem": _bytes("in", "shared"),
        "size": SIZE,
        "cache_policy": POLICY,
        "byte_mask": source("u16", values=range(1 << 16)),
    },
    rules=POLICY_RULES,
    since=(*_SINCE, Since("8.6", "sm_100+", when=".cp_mask")),
    issuer="one",
    completes="bulk group",
    meaning={**SPACES, **COMPLETION, **_ORDERS, ".cp_mask": "Bit i of byte_mask says whether byte i of every 16 is written."},
)

cp_async_bulk_prefetch = instruction(
    "cp.async.bulk.prefetch",
    section="9.7.10.28.4.3",
    summary="Asks for bytes in a row of global memory to be fetched into L2; nothing tells of its end.",
    syntax="""
        cp.async.bulk.prefetch.L2.global{.level::cache_hint} [src_mem], size{, cache_policy};
        cp.async.bulk.prefetch.L2.global.level::eviction_priority [src_mem], size;
    """,
    choices=f"""
        .level::eviction_priority = {{ .L2::evict_last }};
        {HINT}
    """,
    operands={"src_mem": _bytes("in", "global"), "size": SIZE, "cache_policy": POLICY},
    rules=POLICY_RULES,
    since=(Since("8.0", "sm_90+"), Since("9.4", "sm_107f", when=".level::eviction_priority")),
    issuer="one",
    completes="never told",
    meaning={
        **SPACES,
        ".L2": "Into the L2 cache.",
        ".level::eviction_priority": "How long L2 keeps the bytes.",
        ".L2::evict_last": "Last to go: data that is used again.",
    },
)

# ---- reductions -------------------------------------------------------------------------------------------------------

_REDUCED = {
    "dst_mem": _bytes("inout", "global"),
    "src_mem": _bytes("in", "shared"),
    "size": SIZE,
    "cache_policy": POLICY,
}

cp_reduce_async_bulk_copy = instruction(
    "cp.reduce.async.bulk.copy",
    section="9.7.10.28.4.2",
    summary="Combines an array in the block's shared memory into one in the shared memory of a block of the cluster.",
    syntax="""
        cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.redOp.type
            [dst_mem], [src_mem], size, [mbar];
        cp.reduce.async.bulk.relaxed.scope.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.redOp.type
            [dst_mem], [src_mem], size, [mbar];
    """,
    choices=f"""
        .scope = {{ .cta, .cluster }};
        {REDUCTION_CHOICE}
        .type = {{ .b32, .u32, .s32, .u64 }};
    """,
    operands={"dst_mem": _bytes("inout", "shared"), "src_mem": _bytes("in", "shared"), "size": SIZE, "mbar": MBAR},
    rules=(
        Rule("sums are of .u32, .s32 and .u64", when=".redOp in .add", need=".type in .u32 .s32 .u64"),
        Rule("minima and maxima are of .u32 and .s32", when=".redOp in .min .max", need=".type in .u32 .s32"),
        Rule(".inc and .dec are of .u32", when=".redOp in .inc .dec", need=".type in .u32"),
        Rule("bitwise operations are of .b32", when=".redOp in .and .or .xor", need=".type in .b32"),
    ),
    since=_SINCE,
    issuer="one",
    completes="mbarrier transaction",
    meaning={**SPACES, **COMPLETION, **REDUCTIONS, **_ORDERS},
)

cp_reduce_async_bulk_store = instruction(
    "cp.reduce.async.bulk.store",
    section="9.7.10.28.4.2",
    summary="Combines an array in the block's shared memory into one in global memory.",
    syntax="""
        cp.reduce.async.bulk.global.shared::cta.bulk_group{.level::cache_hint}.redOp.type
            [dst_mem], [src_mem], size{, cache_policy};
        cp.reduce.async.bulk.relaxed.scope.global.shared::cta.bulk_group{.level::cache_hint}.redOp.type
            [dst_mem], [src_mem], size{, cache_policy};
    """,
    choices=f"""
        {_SCOPES}
        {REDUCTION_CHOICE}
        .type = {{ .f16, .bf16, .b32, .u32, .s32, .b64, .u64, .s64, .f32, .f64 }};
        {HINT}
    """,
    operands=_REDUCED,
    rules=(
        *POLICY_RULES,
        Rule("sums without .noftz are of .u32, .s32, .u64, .f32 and .f64", when=".redOp in .add",
             need=".type in .u32 .s32 .u64 .f32 .f64"),
        Rule("minima and maxima are of integers, .f16 and .bf16", when=".redOp in .min .max",
             need=".type in .u32 .s32 .u64 .s64 .f16 .bf16"),
        Rule(".inc and .dec are of .u32", when=".redOp in .inc .dec", need=".type in .u32"),
        Rule("bitwise operations are of .b32 and .b64", when=".redOp in .and .or .xor", need=".type in .b32 .b64"),
    ),
    since=_SINCE,
    issuer="one",
    completes="bulk group",
    meaning={**SPACES, **COMPLETION, **REDUCTIONS, **_ORDERS},
)  # fmt: skip

cp_reduce_async_bulk_noftz = instruction(
    "cp.reduce.async.bulk.noftz",
    section="9.7.10.28.4.2",
    summary="Adds an array of floats in the block's shared memory to one in global memory.",
    syntax="""
        cp.reduce.async.bulk.global.shared::cta.bulk_group{.level::cache_hint}.add.noftz.type
            [dst_mem], [src_mem], size{, cache_policy};
        cp.reduce.async.bulk.relaxed.scope.global.shared::cta.bulk_group{.level::cache_hint}.add.noftz.type
            [dst_mem], [src_mem], size{, cache_policy};
    """,
    choices=f"""
        {_SCOPES}
        .type = {{ .f16, .bf16, .f32 }};
        {HINT}
    """,
    operands=_REDUCED,
    rules=POLICY_RULES,
    since=(*_SINCE, Since("9.4", when=".type in .f32")),
    issuer="one",
    completes="bulk group",
    meaning={**SPACES, **COMPLETION, **REDUCTIONS, **_ORDERS},
)

# ---- bulk groups ------------------------------------------------------------------------------------------------------

cp_async_bulk_commit_group = instruction(
    "cp.async.bulk.commit_group",
    section="9.7.10.28.6.1",
    summary="Closes a group of all bulk copies with .bulk_group of the thread that belong to none yet; it may be empty.",
    syntax="cp.async.bulk.commit_group;",
    commits="bulk group",
    since=(Since("8.0", "sm_90+"),),
    meaning={".commit_group": "The group is complete when all of its copies are."},
)

cp_async_bulk_wait_group = instruction(
    "cp.async.bulk.wait_group",
    section="9.7.10.28.6.2",
    summary="Waits until at most n of the thread's youngest bulk groups are still under way.",
    syntax="cp.async.bulk.wait_group{.read} n;",
    awaits="bulk group",
    operands={"n": immediate("u32", range(1 << 31))},
    since=(Since("8.0", "sm_90+"),),
    meaning={
        ".wait_group": "Waits for the older groups.",
        ".read": "Waits only until the sources are read, so that shared memory may be written again.",
        "n": "Groups that may still be under way, the youngest ones; 0 waits for all.",
    },
)
