"""Loads and stores (ISA 9.7.10.8 to 9.7.10.11)."""

from __future__ import annotations

from ptxgen.instructions.language import Rule, Since, address, instruction, out, source

_ONLY_GLOBAL = "not .ss in .const .local .param .param::entry .param::func .shared .shared::cta .shared::cluster"
_WORD = ".b32 .u32 .s32 .f32"
_DOUBLE = ".b64 .u64 .s64 .f64"

_TYPES = ".type = { .b8, .b16, .b32, .b64, .b128, .u8, .u16, .u32, .u64, .s8, .s16, .s32, .s64, .f32, .f64 };"
_HINTS = """
    .level1::eviction_priority = { .L1::evict_normal, .L1::evict_unchanged, .L1::evict_first, .L1::evict_last, .L1::no_allocate };
    .level2::eviction_priority = { .L2::evict_normal, .L2::evict_first, .L2::evict_last };
    .level::cache_hint = { .L2::cache_hint };
    .level::prefetch_size = { .L2::64B, .L2::128B, .L2::256B };
    .scope = { .cta, .cluster, .gpu, .sys };
    .vec = { .v2, .v4, .v8 };
"""

_SIZES = (
    Rule(".b128 is loaded and stored alone, not as a vector", when=".type in .b128", need="not .vec", section="9.7.10.8"),
    # ptxas 13.5 reads a .v8 of narrower elements as well, and then crashes on the loads.
    Rule("a vector of eight holds 32-bit elements", when=".vec in .v8 and not .type in .b128", need=f".type in {_WORD}"),
)
_WIDE = f".vec in .v8 and .type in {_WORD} or .vec in .v4 and .type in {_DOUBLE}"
_WIDE_SPACE = (Rule("an access of 256 bits is for global memory alone", when=_WIDE, need=_ONLY_GLOBAL),)
_HINT_RULES = (
    Rule("an L1 eviction priority is for global memory alone", when=".level1::eviction_priority", need=_ONLY_GLOBAL,
         section="9.7.10.2"),
    Rule("an L2 prefetch size is for global memory alone", when=".level::prefetch_size", need=_ONLY_GLOBAL),
    Rule("an L2 cache policy is for global memory alone", when=".level::cache_hint", need=_ONLY_GLOBAL),
    Rule("an L2 eviction priority needs an access of 256 bits: .v8 of 32-bit or .v4 of 64-bit elements",
         when=".level2::eviction_priority", need=_WIDE, section="9.7.10.2"),
    Rule("a cache policy is given exactly where .L2::cache_hint is", when="cache_policy", need=".level::cache_hint"),
    Rule("a cache policy is given exactly where .L2::cache_hint is", when=".level::cache_hint", need="cache_policy"),
)  # fmt: skip
_STRONG = (
    Rule(".volatile does not apply to constant memory and parameters", when=".volatile",
         need="not .ss in .const .param .param::entry .param::func"),
    Rule("synchronising accesses are for global and shared memory", when=".relaxed or .acquire or .release",
         need="not .ss in .const .local .param .param::entry .param::func"),
)  # fmt: skip
_SINCE = (
    Since("8.8", "sm_100+", when=_WIDE),
    Since("8.3", when=".type in .b128"),
    Since("8.4", when=".type in .b128 and .mmio or .type in .b128 and .scope in .sys"),
    Since("8.2", when=".mmio"),
    Since("9.3", when=".mmio and .acquire or .mmio and .release"),
    Since("9.4", "sm_90+", when=".proxy::readonly"),
    Since("9.1", when=".volatile and .ss in .local"),
    Since("7.4", when=".level1::eviction_priority"),
    Since("7.4", when=".level::prefetch_size"),
    Since("7.4", "sm_80+", when=".level::prefetch_size in .L2::256B"),
    Since("7.4", "sm_80+", when=".level::cache_hint"),
    Since("7.8", when=".ss in .shared::cta"),
    Since("7.8", "sm_90+", when=".ss in .shared::cluster"),
    Since("7.8", "sm_90+", when=".scope in .cluster"),
    Since("8.3", when=".ss in .param::entry .param::func"),
)

_MEANING = {
    ".weak": "No synchronisation: other threads see the access only where something else orders it. The default.",
    ".volatile": "As .relaxed.sys, and never merged, split or removed by the assembler.",
    ".relaxed": "Atomic with respect to the threads of .scope, without ordering other accesses.",
    ".acquire": "What the thread reads afterwards is at least as new as what the writer had seen at its release.",
    ".release": "Whoever acquires the stored value sees all that this thread wrote before.",
    ".mmio": "Exactly one access to the device or memory behind the address; always with .sys.",
    ".proxy::readonly": "Through a proxy of its own, which a fence must join to the one that wrote.",
    ".scope": "The threads that the access synchronises with.",
    ".cta": "The thread's own block.",
    ".cluster": "The blocks of the thread's cluster.",
    ".gpu": "All threads of the same device.",
    ".sys": "All threads of the machine, host and other devices included.",
    ".ss": "The state space of the address; left out, the address is generic.",
    ".const": "Constant memory, read-only.",
    ".global": "Global memory.",
    ".local": "The thread's private memory.",
    ".param": "A kernel's parameters, or a device function's; what the surroundings say.",
    ".param::entry": "A kernel's parameters.",
    ".param::func": "A device function's parameters and results.",
    ".shared": "Shared memory of the thread's own block.",
    ".shared::cta": "Shared memory of the thread's own block, said explicitly.",
    ".shared::cluster": "Shared memory of any block in the cluster.",
    ".cop": "How the caches treat the line.",
    ".ca": "Cached at all levels. The default of loads.",
    ".cg": "Cached in L2, not in L1.",
    ".cs": "Likely used once: first to be evicted.",
    ".lu": "Last use: the line need not be written back.",
    ".cv": "Never taken from a cache: read again each time.",
    ".wb": "Written back where the caches are coherent. The default of stores.",
    ".wt": "Written through L2 to system memory.",
    ".nc": "Through the read-only path: nobody may write the data while the kernel runs.",
    ".level1::eviction_priority": "How long L1 keeps the line.",
    ".level2::eviction_priority": "How long L2 keeps the line.",
    ".level::cache_hint": "The operand cache_policy, made by createpolicy, governs L2.",
    ".level::prefetch_size": "How many bytes around the address L2 may fetch ahead.",
    ".L1::evict_normal": "Ordinary priority.",
    ".L1::evict_unchanged": "Leaves the line's priority as it is.",
    ".L1::evict_first": "First to go: streaming data.",
    ".L1::evict_last": "Last to go: data that is used again.",
    ".L1::no_allocate": "No line is allocated.",
    ".L2::evict_normal": "Ordinary priority.",
    ".L2::evict_first": "First to go.",
    ".L2::evict_last": "Last to go.",
    ".L2::cache_hint": "A cache policy follows as the last operand.",
    ".L2::64B": "64 bytes.",
    ".L2::128B": "128 bytes.",
    ".L2::256B": "256 bytes.",
    ".vec": "How many consecutive elements move; the address is aligned to all of them together.",
    ".type": "What is moved. A wider register is sign- or zero-extended on load and truncated on store.",
}

_MMIO = (
    Rule("an .mmio access without .global is a generic one", when=".mmio and .ss", need=".ss in .global"),
    Rule("the readonly proxy loads from global memory", when=".proxy::readonly and .ss", need=".ss in .global"),
    Rule("the readonly proxy loads no .b128", when=".proxy::readonly", need="not .type in .b128"),
)
_POLICY = source("u64", immediate=False)

ld = instruction(
    "ld",
    section="9.7.10.8",
    reordered=True,
    summary="Loads one value or a vector of consecutive values from memory into registers.",
    syntax="""
        ld{.weak}{.ss}{.cop}{.level::cache_hint}{.level::prefetch_size}{.vec}.type d, [a]{.unified}{, cache_policy};
        ld{.weak}{.ss}{.level1::eviction_priority}{.level2::eviction_priority}
            {.level::cache_hint}{.level::prefetch_size}{.vec}.type d, [a]{.unified}{, cache_policy};
        ld.volatile{.ss}{.level::prefetch_size}{.vec}.type d, [a];
        ld.ss.volatile{.level::prefetch_size}{.vec}.type d, [a];
        ld.relaxed.scope{.ss}{.level1::eviction_priority}{.level2::eviction_priority}
            {.level::cache_hint}{.level::prefetch_size}{.vec}.type d, [a]{, cache_policy};
        ld.acquire.scope{.ss}{.level1::eviction_priority}{.level2::eviction_priority}
            {.level::cache_hint}{.level::prefetch_size}{.vec}.type d, [a]{, cache_policy};
        ld.mmio.relaxed.sys{.ss}.type d, [a];
        ld.mmio.acquire.sys{.ss}.type d, [a];
        ld.proxy::readonly{.ss}{.vec}.type d, [a];
    """,
    choices=f"""
        .ss = {{ .const, .global, .local, .param{{::entry, ::func}}, .shared{{::cta, ::cluster}} }};
        .cop = {{ .ca, .cg, .cs, .lu, .cv }};
        {_HINTS}
        {_TYPES}
    """,
    operands={
        "d": out(".type", vector=".vec", wider="not .vec in .v8", sink=".vec", braceable=True),
        "a": address("in", ".type", space=".ss", vector=".vec"),
        "cache_policy": _POLICY,
    },
    rules=(*_SIZES, *_WIDE_SPACE, *_HINT_RULES, *_STRONG, *_MMIO),
    since=_SINCE,
    meaning=_MEANING,
)  # fmt: skip

ld_global_nc = instruction(
    "ld.global.nc",
    section="9.7.10.9",
    reordered=True,
    summary="Loads from global memory that nobody writes while the kernel runs, through the read-only data path.",
    syntax="""
        ld.global{.cop}.nc{.level::cache_hint}{.level::prefetch_size}{.vec}.type d, [a]{, cache_policy};
        ld.global.nc{.level1::eviction_priority}{.level2::eviction_priority}
            {.level::cache_hint}{.level::prefetch_size}{.vec}.type d, [a]{, cache_policy};
    """,
    choices=f"""
        .cop = {{ .ca, .cg, .cs }};
        {_HINTS}
        {_TYPES}
    """,
    operands={
        "d": out(".type", vector=".vec", wider="not .vec in .v8", sink=".vec", braceable=True),
        "a": address("in", ".type", space="global", vector=".vec"),
        "cache_policy": _POLICY,
    },
    rules=(*_SIZES, *_HINT_RULES),
    since=_SINCE,
    meaning=_MEANING,
)

ldu = instruction(
    "ldu",
    section="9.7.10.10",
    reordered=True,
    summary="Loads read-only global data from an address that is the same in all threads of the warp.",
    syntax="ldu{.ss}{.vec}.type d, [a];",
    choices=f"""
        .ss = {{ .global }};
        .vec = {{ .v2, .v4 }};
        {_TYPES}
    """,
    operands={
        "d": out(".type", vector=".vec", wider="not .vec in .v8", sink=".vec", braceable=True),
        "a": address("in", ".type", space=".ss", vector=".vec"),
    },
    rules=(
        _SIZES[0],
        Rule("ldu moves at most 128 bits", when=".vec in .v4", need=f"not .type in {_DOUBLE}"),
    ),
    since=(Since("8.3", when=".type in .b128"),),
    meaning=_MEANING,
)

st = instruction(
    "st",
    section="9.7.10.11",
    reordered=True,
    summary="Stores one value or a vector of consecutive values from registers into memory.",
    syntax="""
        st{.weak}{.ss}{.cop}{.level::cache_hint}{.vec}.type [a], b{, cache_policy};
        st{.weak}{.ss}{.level1::eviction_priority}{.level2::eviction_priority}
            {.level::cache_hint}{.vec}.type [a], b{, cache_policy};
        st.volatile{.ss}{.vec}.type [a], b;
        st.ss.volatile{.vec}.type [a], b;
        st.relaxed.scope{.ss}{.level1::eviction_priority}{.level2::eviction_priority}
            {.level::cache_hint}{.vec}.type [a], b{, cache_policy};
        st.release.scope{.ss}{.level1::eviction_priority}{.level2::eviction_priority}
            {.level::cache_hint}{.vec}.type [a], b{, cache_policy};
        st.mmio.relaxed.sys{.ss}.type [a], b;
        st.mmio.release.sys{.ss}.type [a], b;
    """,
    choices=f"""
        .ss = {{ .global, .local, .param{{::func}}, .shared{{::cta, ::cluster}} }};
        .cop = {{ .wb, .cg, .cs, .wt }};
        {_HINTS}
        {_TYPES}
    """,
    operands={
        "a": address("out", ".type", space=".ss", vector=".vec"),
        "b": source(".type", vector=".vec", wider="not .vec in .v8", sink=_WIDE, braceable=True),
        "cache_policy": _POLICY,
    },
    rules=(*_SIZES, *_WIDE_SPACE, *_HINT_RULES, *_STRONG, *_MMIO),
    since=_SINCE,
    meaning=_MEANING,
)  # fmt: skip
