"""What copies that go on by themselves have in common: operands, rules and meanings (ISA 9.7.10.28)."""

from __future__ import annotations

from ptxgen.instructions.language import Rule, Since, address, source

__all__ = [
    "COMPLETION",
    "HINT",
    "MASKS",
    "MBAR",
    "MULTICAST",
    "MULTICAST_CHOICE",
    "MULTICAST_RULES",
    "MULTICAST_SINCE",
    "POLICY",
    "POLICY_RULES",
    "REDUCTIONS",
    "REDUCTION_CHOICE",
    "REPORT",
    "REPORTS",
    "REPORT_SINCE",
    "SIZE",
    "SPACES",
]  # fmt: skip

HINT = ".level::cache_hint = { .L2::cache_hint };"
POLICY = source("u64", immediate=False)
POLICY_RULES = (
    Rule("a cache policy is given exactly where .L2::cache_hint is", when="cache_policy", need=".level::cache_hint"),
    Rule("a cache policy is given exactly where .L2::cache_hint is", when=".level::cache_hint", need="cache_policy"),
)

SPACES = {
    ".global": "Global memory.",
    ".shared": "Shared memory of the thread's own block.",
    ".shared::cta": "Shared memory of the thread's own block.",
    ".shared::cluster": "Shared memory of any block in the cluster.",
    ".level::cache_hint": "The operand cache_policy, made by createpolicy, governs L2.",
}
COMPLETION = {
    ".mbarrier::complete_tx::bytes": "Counts its bytes as arrived at an mbarrier of the block that receives them.",
    ".bulk_group": "Belongs to the thread's bulk group that cp.async.bulk.commit_group closes next.",
}

SIZE = source("u32", values=range(0, 1 << 20, 16))
MBAR = address("inout", "b64", space="shared")

# ---- several blocks ---------------------------------------------------------------------------------------------------

MULTICAST_CHOICE = ".multicast = { .multicast::cluster{::16b, ::32b} };"
MASKS = {
    "cta_mask": source("u16", values=range(1 << 16), blocks=True),
    "wide_mask": source("u32", values=range(1 << 32), blocks=True),
}
_NARROW = ".multicast in .multicast::cluster .multicast::cluster::16b"
_WIDE = ".multicast in .multicast::cluster::32b"
MULTICAST_RULES = (
    Rule("a mask of blocks is given exactly where .multicast::cluster is", when="cta_mask", need=_NARROW),
    Rule("a mask of blocks is given exactly where .multicast::cluster is", when=_NARROW, need="cta_mask"),
    Rule("a mask of 32 blocks is given exactly where .multicast::cluster::32b is", when="wide_mask", need=_WIDE),
    Rule("a mask of 32 blocks is given exactly where .multicast::cluster::32b is", when=_WIDE, need="wide_mask"),
)
MULTICAST_SINCE = (
    Since("9.4", when=".multicast in .multicast::cluster::16b"),
    Since("9.4", "sm_107f", when=_WIDE),
)
MULTICAST = {
    ".multicast": "The data goes to the same offset in the shared memory of each block that the mask names, and so does the signal.",
    ".multicast::cluster": "To several blocks of the cluster.",
    ".multicast::cluster::16b": "To several of the first 16 blocks of the cluster.",
    ".multicast::cluster::32b": "To several of the first 32 blocks of the cluster.",
}

# ---- reports ----------------------------------------------------------------------------------------------------------

_VALIDITY = ".mbarrier::report::validity"
REPORT = f"""
    .report_mechanism = {{ .mbarrier::report::disabled, {_VALIDITY}::per_16bytes::80000000, {_VALIDITY}::per_16bytes::8000,
        {_VALIDITY}::per_16bytes::80, {_VALIDITY}::per_16bytes::8, {_VALIDITY}::per_element::ff }};
"""
REPORT_SINCE = Since("9.4", "sm_107f", when=".report_mechanism")
REPORTS = {
    ".report_mechanism": "What is looked for in the data; where it is found, the mbarrier, of layout v1, reports it.",
    ".mbarrier::report::disabled": "Nothing. The default.",
    f"{_VALIDITY}::per_16bytes::80000000": "A -0 of .f32, in one element of every 16 bytes.",
    f"{_VALIDITY}::per_16bytes::8000": "A -0 of 16 bits, in one element of every 16 bytes.",
    f"{_VALIDITY}::per_16bytes::80": "A -0 of 8 bits, in one element of every 16 bytes.",
    f"{_VALIDITY}::per_16bytes::8": "A -0 of 4 bits, in one element of every 16 bytes.",
    f"{_VALIDITY}::per_element::ff": "A byte of ones.",
}

# ---- reductions -------------------------------------------------------------------------------------------------------

REDUCTION_CHOICE = ".redOp = { .and, .or, .xor, .add, .inc, .dec, .min, .max };"
REDUCTIONS = {
    ".redOp": "How each element of the source is combined with the destination's; each of them is one step.",
    ".and": "Bitwise and.",
    ".or": "Bitwise or.",
    ".xor": "Bitwise exclusive or.",
    ".add": "The sum.",
    ".inc": "One more than the destination, or 0 where that is not below the source's element.",
    ".dec": "One less than the destination, or the source's element where the destination is 0 or above it.",
    ".min": "The smaller one.",
    ".max": "The larger one.",
    ".noftz": "Subnormal sums are kept.",
}
