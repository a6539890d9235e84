"""Hints to the caches, and policies for them (ISA 9.7.10.16 to 9.7.10.21)."""

from __future__ import annotations

from ptxgen.instructions.language import Rule, Since, address, immediate, instruction, out, source
from ptxgen.instructions.tensor_maps import COORDINATES, DEEP, DIMENSIONS, IM2COL_INFO, MAP, TENSOR_MEANING

_LINE = immediate("u32", (128,))
_PRIORITIES = {
    ".level::eviction_priority": "How long L2 keeps the line.",
    ".level::primary_priority": "How long L2 keeps the lines that the policy is for.",
    ".level::secondary_priority": "How long L2 keeps the rest; left out, .L2::evict_unchanged.",
    ".L2::evict_last": "Last to go: data that is used again.",
    ".L2::evict_normal": "Ordinary priority.",
    ".L2::evict_first": "First to go: streaming data.",
    ".L2::evict_unchanged": "Leaves the line's priority as it is.",
}
_SPACES = {
    ".space": "The state space of the address; left out, it is generic.",
    ".global": "Global memory; left out, the address is generic and lies there all the same.",
    ".local": "The thread's private memory.",
    ".L1": "The L1 cache.",
    ".L2": "The L2 cache.",
}

prefetch = instruction(
    "prefetch",
    section="9.7.10.16",
    summary="Asks for the cache line behind an address, or for a tensor map, to be fetched before it is needed.",
    syntax="""
        prefetch{.space}.level [a];
        prefetch{.global}.level::eviction_priority [line];
        prefetch{.global}.L1::32B.valid_addr [line];
        prefetch{.tensormap_space}.tensormap [map];
    """,
    choices="""
        .space = { .global, .local };
        .level = { .L1, .L2 };
        .level::eviction_priority = { .L2::evict_last, .L2::evict_normal };
        .tensormap_space = { .const, .param };
    """,
    operands={
        "a": address("in", "b8", space=".space"),
        "line": address("in", "b8", space=".global"),
        "map": address("in", "b8", space=".tensormap_space", align=64),
    },
    since=(
        Since("2.0"),
        Since("7.4", "sm_80+", when=".level::eviction_priority"),
        Since("8.0", "sm_90+", when=".tensormap"),
        Since("9.4", "sm_90+", when=".valid_addr"),
    ),
    meaning={
        **_SPACES,
        **_PRIORITIES,
        ".level": "Into which cache.",
        ".L1::32B": "32 bytes, into L1.",
        ".valid_addr": "The caller's promise that the address can be read.",
        ".tensormap_space": "The state space of the tensor map; left out, the address is generic.",
        ".const": "Constant memory.",
        ".param": "A kernel's parameters.",
        ".tensormap": "A tensor map, for the tensor copies that will use it.",
    },
)

prefetchu = instruction(
    "prefetchu",
    section="9.7.10.16",
    summary="Asks for the line behind a generic address to be fetched into the cache for uniform accesses.",
    syntax="prefetchu.L1 [a];",
    operands={"a": address("in", "b8", within="global")},
    since=(Since("2.0"),),
    meaning=_SPACES,
)

applypriority = instruction(
    "applypriority",
    section="9.7.10.17",
    summary="Sets the priority of a line of 128 bytes in L2, to end what an earlier access with .L2::evict_last asked for.",
    syntax="applypriority{.global}.level::eviction_priority [a], size;",
    choices=".level::eviction_priority = { .L2::evict_normal };",
    operands={"a": address("in", "b8", space=".global", align=128), "size": _LINE},
    since=(Since("7.4", "sm_80+"),),
    meaning={**_SPACES, **_PRIORITIES},
)

applypriority_bulk = instruction(
    "applypriority.async.bulk",
    section="9.7.10.18",
    summary="Sets the priority of bytes in a row in L2, while the thread goes on.",
    syntax="applypriority.async.bulk{.global}.bulk_group.level::eviction_priority [src_mem], size;",
    choices=".level::eviction_priority = { .L2::evict_normal };",
    operands={"src_mem": address("in", "b8", space=".global", align=16), "size": source("u32", values=range(0, 1 << 20, 16))},
    since=(Since("9.4", "sm_107f"),),
    issuer="one",
    completes="bulk group",
    meaning={
        **_SPACES,
        **_PRIORITIES,
        ".bulk_group": "Belongs to the thread's bulk group that cp.async.bulk.commit_group closes next.",
    },
)

applypriority_tensor = instruction(
    "applypriority.async.bulk.tensor",
    section="9.7.10.19",
    summary="Sets the priority of a box of a tensor in L2, as its tensor map says, while the thread goes on.",
    syntax="""
        applypriority.async.bulk.tensor.dim{.global}{.load_mode}.bulk_group.level::eviction_priority
            [tensor_map, tensor_coords]{, im2col_info};
    """,
    choices=f"""
        {DIMENSIONS}
        .load_mode = {{ .tile, .tile::gather4, .im2col, .im2col::w, .im2col::w::128 }};
        .level::eviction_priority = {{ .L2::evict_normal }};
    """,
    operands={"tensor_map": MAP, "tensor_coords": COORDINATES, "im2col_info": IM2COL_INFO},
    rules=(
        *(rule for rule in DEEP if "tile::gather4" not in rule.when),
        # ptxas 13.5 takes five coordinates for any number of dimensions.
        Rule("the priority of four rows is set in a tensor of two dimensions", when=".load_mode in .tile::gather4", need=".dim in .2d"),
    ),
    since=(Since("9.4", "sm_107f"),),
    issuer="one",
    completes="bulk group",
    meaning={
        **TENSOR_MEANING,
        **_PRIORITIES,
        ".bulk_group": "Belongs to the thread's bulk group that cp.async.bulk.commit_group closes next.",
    },
)

discard = instruction(
    "discard",
    section="9.7.10.20",
    summary="Drops a line of 128 bytes from L2 without writing it back: what was stored there is lost, and reads give anything.",
    syntax="discard{.global}.L2 [a], size;",
    operands={"a": address("out", "b8", space=".global", align=128), "size": _LINE},
    since=(Since("7.4", "sm_80+"),),
    meaning=_SPACES,
)

createpolicy = instruction(
    "createpolicy",
    section="9.7.10.21",
    summary="Makes a cache policy for L2, for the operand cache_policy of loads, stores and copies.",
    syntax="""
        createpolicy.range{.global}.level::primary_priority{.level::secondary_priority}.b64 cache_policy, [a], primary_size, total_size;
        createpolicy.range.fabric.level::primary_priority{.level::secondary_priority}.b64
            cache_policy, [endpoint, offset], primary_size, total_size;
        createpolicy.fractional.level::primary_priority{.level::secondary_priority}.b64 cache_policy{, fraction};
        createpolicy.cvt.L2.b64 cache_policy, access_property;
    """,
    choices="""
        .level::primary_priority = { .L2::evict_last, .L2::evict_normal, .L2::evict_first, .L2::evict_unchanged };
        .level::secondary_priority = { .L2::evict_first, .L2::evict_unchanged };
    """,
    operands={
        "cache_policy": out("u64"),
        "a": address("in", "b8", space=".global"),
        "endpoint": address("in", "b8", space="fabric"),
        "offset": source("u64", immediate=False),
        "primary_size": source("u32", limit="total_size"),
        "total_size": source("u32"),
        "fraction": source("f32", fraction=True),
        "access_property": source("u64"),
    },
    since=(Since("7.4", "sm_80+"), Since("9.4", "sm_100+", when=".fabric")),
    meaning={
        **_SPACES,
        **_PRIORITIES,
        ".range": "The primary priority is for primary_size bytes at the address, the secondary one for the rest of total_size bytes.",
        ".fabric": "For bytes of a logical endpoint of the fabric.",
        ".fractional": "The primary priority is for this part of the accesses, above 0 and at most 1; left out, for all.",
        ".cvt": "From an access property of the CUDA run-time library.",
        "a": "Where the bytes of the primary priority begin.",
        "primary_size": "Bytes of the primary priority, at most total_size.",
        "total_size": "Bytes that the policy speaks of; it is undefined beyond them.",
        "fraction": "The part of the accesses with the primary priority: above 0, at most 1; left out, 1. The hardware picks which.",
        "access_property": "The 64 bits of a cuda::access_property.",
    },
)
