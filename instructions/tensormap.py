"""Tensor maps that a kernel changes (ISA 9.7.10.29 and 9.7.15.17)."""

from __future__ import annotations

from ptxgen.instructions.language import Rule, Since, address, immediate, instruction, source

_TARGETS = "sm_90a sm_100f sm_110f sm_120f"
_PLACE = address("inout", "b8", space=".ss", align=64)

tensormap_replace = instruction(
    "tensormap.replace",
    section="9.7.10.29",
    summary="Replaces a field of a tensor map in global or shared memory.",
    syntax="""
        tensormap.replace.tile.field1{.ss}.b1024.type [addr], new_val;
        tensormap.replace.tile.field2{.ss}.b1024.type [addr], ord, new_val;
        tensormap.replace.tile.elemtype{.ss}.b1024.b32 [addr], element_type;
        tensormap.replace.tile.elemtype{.ss}.b1024.b32 [addr], packed_type;
        tensormap.replace.tile.interleave_layout{.ss}.b1024.b32 [addr], interleave;
        tensormap.replace.tile.swizzle_mode{.ss}.b1024.b32 [addr], swizzle;
        tensormap.replace.tile.swizzle_mode{.ss}.b1024.b32 [addr], swizzle_96;
        tensormap.replace.tile.swizzle_atomicity{.ss}.b1024.b32 [addr], atomicity;
        tensormap.replace.tile.fill_mode{.ss}.b1024.b32 [addr], fill;
    """,
    choices="""
        .ss = { .global, .shared::cta };
        .field1 = { .global_address, .rank };
        .field2 = { .box_dim, .global_dim, .global_stride, .element_stride };
        .type = { .b32, .b64 };
    """,
    operands={
        "addr": _PLACE,
        "ord": immediate("u32", range(5)),
        "new_val": source("u32 if .type in .b32 else u64"),
        "element_type": immediate("u32", range(13)),
        "packed_type": immediate("u32", (13, 14, 15)),
        "interleave": immediate("u32", range(3)),
        "swizzle": immediate("u32", range(4)),
        "swizzle_96": immediate("u32", (4,)),
        "atomicity": immediate("u32", range(4)),
        "fill": immediate("u32", range(2)),
    },
    rules=(
        Rule("an address or a stride has 64 bits", when=".field1 in .global_address", need=".type in .b64"),
        Rule("an address or a stride has 64 bits", when=".field2 in .global_stride", need=".type in .b64"),
        Rule("every other field has 32 bits", when=".field1 in .rank", need=".type in .b32"),
        Rule("every other field has 32 bits", when=".field2 in .box_dim .global_dim .element_stride", need=".type in .b32"),
    ),
    since=(
        Since("8.3", _TARGETS),
        Since("8.7", "sm_100f sm_110f sm_120f", when="packed_type"),
        Since("8.6", "sm_100f sm_110f sm_120f", when=".swizzle_atomicity"),
        Since("8.8", "sm_103a sm_107a", when="swizzle_96"),
    ),
    meaning={
        ".replace": "Copies see the change once tensormap.cp_fenceproxy, or fence.proxy.tensormap::generic, has made it known.",
        ".tile": "A map for tensor copies in tile mode.",
        ".ss": "Where the tensor map lies; left out, the address is generic.",
        ".global": "Global memory.",
        ".shared::cta": "Shared memory of the thread's own block.",
        ".b1024": "A tensor map has 1024 bits.",
        ".field1": "What is replaced.",
        ".field2": "What is replaced, for the dimension ord, the innermost being 0.",
        ".global_address": "Where the tensor begins.",
        ".rank": "The number of dimensions, less one.",
        ".box_dim": "The box's extent.",
        ".global_dim": "The tensor's extent.",
        ".global_stride": "Bytes from one step of dimension ord + 1 to the next.",
        ".element_stride": "Elements from one that is copied to the next.",
        ".elemtype": "The element type: 0 to 12 are u8, u16, u32, s32, u64, s64, f16, f32, f32.ftz, f64, bf16, tf32, tf32.ftz; "
                     "13 to 15 are b4x16, b4x16_p64, b6x16_p32.",
        ".interleave_layout": "0: none; 1: 16 bytes; 2: 32 bytes.",
        ".swizzle_mode": "0: none; 1: 32 bytes; 2: 64 bytes; 3: 128 bytes; 4: 96 bytes.",
        ".swizzle_atomicity": "0: 16 bytes; 1: 32 bytes; 2: 32 bytes with 8-byte flip; 3: 64 bytes.",
        ".fill_mode": "What lies outside of the tensor: 0: zeros; 1: NaN.",
        ".type": "The width of the field.",
        "addr": "A tensor map: 128 bytes, as the driver encoded it.",
        "ord": "The dimension, 0 the innermost; of strides, 0 is that of dimension 1, as dimension 0 has none.",
        "new_val": "An address in global memory, a number of elements, the bytes of a stride, or the dimensions less one.",
        "element_type": "A code of .elemtype.",
        "packed_type": "A code of .elemtype.",
        "interleave": "A code of .interleave_layout.",
        "swizzle": "A code of .swizzle_mode.",
        "swizzle_96": "A code of .swizzle_mode.",
        "atomicity": "A code of .swizzle_atomicity.",
        "fill": "A code of .fill_mode.",
    },
)  # fmt: skip

tensormap_cp_fenceproxy = instruction(
    "tensormap.cp_fenceproxy",
    section="9.7.15.17",
    summary="Copies a tensor map from shared into global memory and makes it known to the tensor copies of whoever acquires it there.",
    syntax="tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned [dst], [src], size;",
    choices=".scope = { .cta, .cluster, .gpu, .sys };",
    operands={
        "dst": address("out", "b8", space="global", align=128),
        "src": address("in", "b8", space="shared", align=128),
        "size": immediate("u32", (128,)),
    },
    since=(Since("8.3", "sm_90+"),),
    issuer="warp",
    meaning={
        ".global": "Into global memory.",
        ".shared::cta": "From shared memory of the thread's own block.",
        ".tensormap::generic": "From ordinary writes of a tensor map to its use by tensor copies.",
        ".release": "At the writer's side; the user has fence.proxy.tensormap::generic.acquire.",
        ".scope": "The threads that may use it.",
        ".cta": "The thread's own block.",
        ".cluster": "The blocks of the thread's cluster.",
        ".gpu": "All threads of the same device.",
        ".sys": "All threads of the machine, host and other devices included.",
        ".sync": "Waits until all threads of the warp execute this.",
        ".aligned": "All threads of the warp execute this very instruction.",
    },
)
