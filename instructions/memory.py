"""Loads and stores (ISA 9.7.9.8 to 9.7.9.12)."""

from __future__ import annotations

from ptxgen.instructions.language import Rule, Since, address, instruction, out, source

_VECTORS = (
    Rule("a vector of eight holds 32-bit elements", when=".vec in .v8", need=".type in .b32 .u32 .s32 .f32"),
    Rule("an access moves at most 256 bits: .v4 of 64-bit elements, .v8 of 32-bit elements", when=".type in .b128", need="not .vec"),
)
_WIDE_VECTORS = (
    Since("8.8", "sm_100+", when=".vec in .v8"),
    Since("8.8", "sm_100+", when=".vec in .v4 and .type in .b64 .u64 .s64 .f64"),
)

ld = instruction(
    "ld",
    section="9.7.9.8",
    summary="Loads one value or a vector of consecutive values from memory into registers.",
    syntax="""
        ld{.weak}{.ss}{.level1::eviction_priority}{.level2::eviction_priority}{.level::cache_hint}{.level::prefetch_size}{.vec}.type d, [a]{.unified}{, cache_policy};
    """,
    choices="""
        .ss = { .const, .global, .local, .param{::entry, ::func}, .shared{::cta, ::cluster} };
        .level1::eviction_priority = { .L1::evict_normal, .L1::evict_unchanged, .L1::evict_first, .L1::evict_last, .L1::no_allocate };
        .level2::eviction_priority = { .L2::evict_normal, .L2::evict_first, .L2::evict_last };
        .level::cache_hint = { .L2::cache_hint };
        .level::prefetch_size = { .L2::64B, .L2::128B, .L2::256B };
        .vec = { .v2, .v4, .v8 };
        .type = { .b8, .b16, .b32, .b64, .b128, .u8, .u16, .u32, .u64, .s8, .s16, .s32, .s64, .f32, .f64 };
    """,
    operands={
        "d": out(".type", vector=".vec", wider=True, sink=True),
        "a": address("in", ".type", space=".ss", vector=".vec"),
        "cache_policy": source("b64", immediate=False),
    },
    rules=(*_VECTORS, Rule("a cache policy is given exactly where .L2::cache_hint is", when="cache_policy", need=".level::cache_hint"),
           Rule("a cache policy is given exactly where .L2::cache_hint is", when=".level::cache_hint", need="cache_policy")),
    since=_WIDE_VECTORS,
)  # fmt: skip
