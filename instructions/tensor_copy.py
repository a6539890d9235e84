"""Copies of boxes of tensors, as tensor maps say (ISA 9.7.10.28.5)."""

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
    SPACES,
)
from ptxgen.instructions.language import Since, address, instruction
from ptxgen.instructions.tensor_maps import (
    COORDINATES,
    DEEP,
    DIMENSIONS,
    IM2COL_INFO,
    MAP,
    OVERRIDE_ATTRIBUTE,
    OVERRIDE_RULES,
    OVERRIDE_SINCE,
    OVERRIDE_SPELLED,
    OVERRIDES,
    STORED,
    TENSOR_MEANING,
)
from ptxgen.instructions.tiles import Atom, Tile

_TENSOR_CORES_5 = "sm_100f sm_110f"
"""Targets of the families that have tensor memory, and with it pairs of blocks."""

_LOADED = f"""
    {DIMENSIONS}
    .load_mode = {{ .tile, .tile::gather4, .im2col, .im2col::w, .im2col::w::128 }};
    {HINT}
    {OVERRIDE_ATTRIBUTE}
"""
_IN_PLACE = f"[tensor_map, global_address{OVERRIDE_SPELLED}, tensor_coords]"
_BOXES = "not .load_mode and not .override::global_address or .load_mode in .tile and not .override::global_address"
_MEANING = {
    **SPACES,
    **TENSOR_MEANING,
    ".cta_group": "Whose mbarrier is signalled.",
    ".cta_group::1": "One of the block that receives the data.",
    ".cta_group::2": "One of that block or of its partner in a pair of blocks.",
}

cp_async_bulk_tensor_load = instruction(
    "cp.async.bulk.tensor.load",
    section="9.7.10.28.5.3",
    summary="Copies a box of a tensor in global memory into shared memory, as its tensor map says, and signals an mbarrier.",
    syntax=f"""
        cp.async.bulk.tensor.dim.shared::cta.global{{.load_mode}}.mbarrier::complete_tx::bytes
            {{.report_mechanism}}{{.cta_group}}{{.level::cache_hint}}
            [dst_mem], [tensor_map, tensor_coords], [mbar]{{, im2col_info}}{{, cache_policy}};
        cp.async.bulk.tensor.dim.shared::cluster.global{{.load_mode}}.mbarrier::complete_tx::bytes
            {{.report_mechanism}}{{.multicast}}{{.cta_group}}{{.level::cache_hint}}
            [dst_mem], [tensor_map, tensor_coords], [mbar]{{, im2col_info}}{{, cta_mask}}{{, wide_mask}}{{, cache_policy}};
        cp.async.bulk.tensor.dim.cta_group.shared::cluster.global{{.load_mode}}.mbarrier::complete_tx::bytes
            {{.multicast}}{{.level::cache_hint}}
            [dst_mem], [tensor_map, tensor_coords], [mbar]{{, im2col_info}}{{, cta_mask}}{{, wide_mask}}{{, cache_policy}};
        cp.async.bulk.tensor.dim.shared::cta.global{{.load_mode}}.mbarrier::complete_tx::bytes
            {{.report_mechanism}}{{.cta_group}}{{.level::cache_hint}}.override::global_address{{.override_attribute}}
            [dst_mem], {_IN_PLACE}, [mbar]{{, im2col_info}}{{, cache_policy}};
        cp.async.bulk.tensor.dim.shared::cluster.global{{.load_mode}}.mbarrier::complete_tx::bytes
            {{.report_mechanism}}{{.multicast}}{{.cta_group}}{{.level::cache_hint}}.override::global_address{{.override_attribute}}
            [dst_mem], {_IN_PLACE}, [mbar]{{, im2col_info}}{{, cta_mask}}{{, wide_mask}}{{, cache_policy}};
    """,  # the third line in the order that kernels in use have, and ptxas takes
    choices=f"""
        {_LOADED}
        {MULTICAST_CHOICE}
        .cta_group = {{ .cta_group::1, .cta_group::2 }};
        {REPORT}
    """,
    tile=Tile({"dst_mem": Atom(place="box"), "tensor_map": Atom(place="tensor map")}, when=_BOXES),
    operands={
        "dst_mem": address("out", "b8", space="shared", align=128),
        "tensor_map": MAP,
        **OVERRIDES,
        "tensor_coords": COORDINATES,
        "mbar": MBAR,
        "im2col_info": IM2COL_INFO,
        **MASKS,
        "cache_policy": POLICY,
    },
    rules=(*DEEP, *POLICY_RULES, *MULTICAST_RULES, *OVERRIDE_RULES),
    since=(
        Since("8.0", "sm_90+"),
        Since("8.6", when=".shared::cta"),
        Since("8.6", _TENSOR_CORES_5, when=".cta_group"),
        Since("8.6", "sm_100+", when=".load_mode in .tile::gather4 .im2col::w"),
        Since("8.6", _TENSOR_CORES_5, when=".shared::cluster and .load_mode in .tile::gather4 .im2col::w"),
        Since("8.6", _TENSOR_CORES_5, when=".load_mode in .im2col::w::128"),
        *MULTICAST_SINCE,
        REPORT_SINCE,
        OVERRIDE_SINCE,
    ),
    several=".multicast",
    issuer="one",
    completes="mbarrier transaction",
    meaning={**_MEANING, **COMPLETION, **MULTICAST, **REPORTS},
)

_STORED = {
    "tensor_map": MAP,
    **OVERRIDES,
    "tensor_coords": COORDINATES,
    "src_mem": address("in", "b8", space="shared", align=128),
    "cache_policy": POLICY,
}
_STORED_SINCE = (
    Since("8.0", "sm_90+"),
    Since("8.6", _TENSOR_CORES_5, when=".load_mode in .tile::scatter4"),
    Since("9.4", "sm_107f", when=".load_mode in .im2col_no_offs::w"),
    OVERRIDE_SINCE,
)

cp_async_bulk_tensor_store = instruction(
    "cp.async.bulk.tensor.store",
    section="9.7.10.28.5.3",
    summary="Copies shared memory into a box of a tensor in global memory, as its tensor map says.",
    syntax=f"""
        cp.async.bulk.tensor.dim.global.shared::cta{{.load_mode}}.bulk_group{{.level::cache_hint}}
            [tensor_map, tensor_coords], [src_mem]{{, cache_policy}};
        cp.async.bulk.tensor.dim.global.shared::cta{{.load_mode}}.bulk_group
            {{.level::cache_hint}}.override::global_address{{.override_attribute}}
            {_IN_PLACE}, [src_mem]{{, cache_policy}};
    """,
    choices=f"""
        {DIMENSIONS}
        .load_mode = {{ .tile, .tile::scatter4, .im2col_no_offs, .im2col_no_offs::w }};
        {HINT}
        {OVERRIDE_ATTRIBUTE}
    """,
    tile=Tile({"tensor_map": Atom(place="tensor map"), "src_mem": Atom(place="box")}, when=_BOXES),
    operands=_STORED,
    rules=(*STORED, *POLICY_RULES, *OVERRIDE_RULES),
    since=_STORED_SINCE,
    issuer="one",
    completes="bulk group",
    meaning={**_MEANING, **COMPLETION},
)

cp_reduce_async_bulk_tensor = instruction(
    "cp.reduce.async.bulk.tensor",
    section="9.7.10.28.5.4",
    summary="Combines shared memory into a box of a tensor in global memory, as its tensor map says.",
    syntax=f"""
        cp.reduce.async.bulk.tensor.dim.global.shared::cta.redOp{{.load_mode}}.bulk_group{{.level::cache_hint}}
            [tensor_map, tensor_coords], [src_mem]{{, cache_policy}};
        cp.reduce.async.bulk.tensor.dim.global.shared::cta.redOp{{.load_mode}}.bulk_group
            {{.level::cache_hint}}.override::global_address{{.override_attribute}}
            {_IN_PLACE}, [src_mem]{{, cache_policy}};
    """,
    choices=f"""
        {DIMENSIONS}
        {REDUCTION_CHOICE}
        .load_mode = {{ .tile, .im2col_no_offs, .im2col_no_offs::w }};
        {HINT}
        {OVERRIDE_ATTRIBUTE}
    """,
    tile=Tile({"tensor_map": Atom(place="tensor map"), "src_mem": Atom(place="box")}, when=_BOXES),
    operands=_STORED,
    rules=(*STORED, *POLICY_RULES, *OVERRIDE_RULES),
    since=_STORED_SINCE,
    issuer="one",
    completes="bulk group",
    meaning={**_MEANING, **COMPLETION, **REDUCTIONS},
)

cp_async_bulk_prefetch_tensor = instruction(
    "cp.async.bulk.prefetch.tensor",
    section="9.7.10.28.5.5",
    summary="Asks for a box of a tensor in global memory to be fetched into L2; nothing tells of its end.",
    syntax=f"""
        cp.async.bulk.prefetch.tensor.dim.L2.global{{.load_mode}}{{.level::cache_hint}}
            [tensor_map, tensor_coords]{{, im2col_info}}{{, cache_policy}};
        cp.async.bulk.prefetch.tensor.dim.L2.global{{.load_mode}}.level::eviction_priority [tensor_map, tensor_coords]{{, im2col_info}};
        cp.async.bulk.prefetch.tensor.dim.L2.global{{.load_mode}}{{.level::cache_hint}}.override::global_address{{.override_attribute}}
            {_IN_PLACE}{{, im2col_info}}{{, cache_policy}};
        cp.async.bulk.prefetch.tensor.dim.L2.global
            {{.load_mode}}.level::eviction_priority.override::global_address{{.override_attribute}}
            {_IN_PLACE}{{, im2col_info}};
    """,
    choices=f"""
        {_LOADED}
        .level::eviction_priority = {{ .L2::evict_last }};
    """,
    operands={
        "tensor_map": MAP,
        **OVERRIDES,
        "tensor_coords": COORDINATES,
        "im2col_info": IM2COL_INFO,
        "cache_policy": POLICY,
    },
    rules=(*DEEP, *POLICY_RULES, *OVERRIDE_RULES),
    since=(
        Since("8.0", "sm_90+"),
        Since("8.6", _TENSOR_CORES_5, when=".load_mode in .tile::gather4 .im2col::w .im2col::w::128"),
        Since("9.4", "sm_107f", when=".level::eviction_priority"),
        OVERRIDE_SINCE,
    ),
    issuer="one",
    completes="never told",
    meaning={
        **_MEANING,
        ".L2": "Into the L2 cache.",
        ".level::eviction_priority": "How long L2 keeps the box.",
        ".L2::evict_last": "Last to go: data that is used again.",
    },
)
