"""Copies that go on by themselves: cp.async, bulk copies and tensor copies (ISA 9.7.10.28)."""

from __future__ import annotations

from ptxgen.instructions.language import Operand, Rule, Since, address, immediate, instruction, predicate, source
from ptxgen.instructions.tiles import Atom, Tile

_HINT = ".level::cache_hint = { .L2::cache_hint };"
_POLICY = source("u64", immediate=False)
_POLICY_RULES = (
    Rule("a cache policy is given exactly where .L2::cache_hint is", when="cache_policy", need=".level::cache_hint"),
    Rule("a cache policy is given exactly where .L2::cache_hint is", when=".level::cache_hint", need="cache_policy"),
)
_TENSOR_CORES_5 = "sm_100f sm_110f"
"""Targets of the families that have tensor memory, and with it pairs of blocks."""

_SPACES = {
    ".global": "Global memory.",
    ".shared": "Shared memory of the thread's own block.",
    ".shared::cta": "Shared memory of the thread's own block.",
    ".shared::cluster": "Shared memory of any block in the cluster.",
    ".level::cache_hint": "The operand cache_policy, made by createpolicy, governs L2.",
}
_COMPLETION = {
    ".mbarrier::complete_tx::bytes": "Counts its bytes as arrived at an mbarrier of the block that receives them.",
    ".bulk_group": "Belongs to the thread's bulk group that cp.async.bulk.commit_group closes next.",
}

# ---- cp.async ---------------------------------------------------------------------------------------------------------

cp_async = instruction(
    "cp.async",
    section="9.7.10.28.3.1",
    summary="Copies 4, 8 or 16 bytes from global into shared memory while the thread goes on.",
    syntax="""
        cp.async.ca.state.global{.level::cache_hint}{.level::prefetch_size} [dst], [src], cp_size{, src_size}{, cache_policy};
        cp.async.cg.state.global{.level::cache_hint}{.level::prefetch_size} [dst], [src], 16{, src_size}{, cache_policy};
        cp.async.ca.state.global{.level::cache_hint}{.level::prefetch_size} [dst], [src], cp_size, {!}ignore_src{, cache_policy};
        cp.async.cg.state.global{.level::cache_hint}{.level::prefetch_size} [dst], [src], 16, {!}ignore_src{, cache_policy};
    """,
    choices=f"""
        .state = {{ .shared{{::cta}} }};
        .level::prefetch_size = {{ .L2::64B, .L2::128B, .L2::256B }};
        {_HINT}
    """,
    operands={
        "dst": address("out", "b8", space=".state", align=4),
        "src": address("in", "b8", space="global", align=4),
        "cp_size": immediate("u32", (4, 8, 16)),
        "16": immediate("u32", (16,)),
        "src_size": source("u32", values=range(17), limit="cp_size"),
        "ignore_src": predicate(negatable=True),
        "cache_policy": _POLICY,
    },
    rules=_POLICY_RULES,
    since=(
        Since("7.0", "sm_80+"),
        Since("7.4", when=".level::cache_hint or .level::prefetch_size"),
        Since("7.5", when="ignore_src"),
    ),
    completes="cp.async group",
    tile=Tile({}, sized={"dst": "cp_size 16", "src": "cp_size 16"}),
    meaning={
        **_SPACES,
        ".ca": "Cached in L1 and L2.",
        ".cg": "Cached in L2 alone; moves 16 bytes.",
        ".state": "Where the bytes go.",
        ".level::prefetch_size": "How many bytes around the address L2 may fetch ahead.",
    },
)

cp_async_commit_group = instruction(
    "cp.async.commit_group",
    section="9.7.10.28.3.2",
    summary="Closes a group of all cp.async of the thread that belong to none yet; it may be empty.",
    syntax="cp.async.commit_group;",
    commits="cp.async group",
    since=(Since("7.0", "sm_80+"),),
    meaning={".commit_group": "The group is complete when all of its copies have written."},
)

cp_async_wait_group = instruction(
    "cp.async.wait_group",
    section="9.7.10.28.3.3",
    summary="Waits until at most n of the thread's youngest groups, or none of its copies, are still under way.",
    syntax="""
        cp.async.wait_group n;
        cp.async.wait_all;
    """,
    awaits="cp.async group",
    operands={"n": immediate("u32", range(1 << 31))},
    since=(Since("7.0", "sm_80+"),),
    meaning={
        ".wait_group": "Waits for the older groups; what the thread copied is then visible to it alone, to others after a barrier.",
        ".wait_all": "Waits for every copy of the thread, committed or not.",
    },
)

cp_async_mbarrier_arrive = instruction(
    "cp.async.mbarrier.arrive",
    section="9.7.15.15.15",
    summary="Arrives at an mbarrier once all cp.async that the thread has issued before are done.",
    syntax="cp.async.mbarrier.arrive{.noinc}{.state}.b64 [addr];",
    choices=".state = { .shared{::cta} };",
    operands={"addr": address("inout", "b64", space=".state")},
    since=(Since("7.0", "sm_80+"), Since("7.8", when=".state in .shared::cta")),
    completes="mbarrier arrival",
    meaning={
        **_SPACES,
        ".noinc": "The count that init set includes this arrival; left out, the pending count is raised by one first.",
        ".state": "Where the mbarrier lies; left out, the address is generic.",
    },
)

# ---- bulk copies ------------------------------------------------------------------------------------------------------

_SIZE = source("u32", values=range(0, 1 << 20, 16))
_MBAR = address("inout", "b64", space="shared")
_CTA_MASK = source("u16", values=range(1 << 16))
_BULK_SINCE = (Since("8.0", "sm_90+"), Since("8.6", when=".shared::cta and .global and .mbarrier::complete_tx::bytes"))
_OOB_BYTES = source("u32", values=range(16))
_MULTICAST_RULES = (
    Rule("a mask of blocks is given exactly where .multicast::cluster is", when="cta_mask", need=".multicast"),
    Rule("a mask of blocks is given exactly where .multicast::cluster is", when=".multicast", need="cta_mask"),
)
_MULTICAST = {
    ".multicast": "The data goes to the same offset in the shared memory of each block that cta_mask names, and so does the signal.",
    ".multicast::cluster": "To several blocks of the cluster.",
}


def _bytes(role: str, space: str) -> Operand:
    """A bulk copy's end: `size` bytes, aligned to 16."""
    return address(role, "b8", space=space, align=16)


cp_async_bulk_load = instruction(
    "cp.async.bulk.load",
    section="9.7.10.28.4.1",
    summary="Copies bytes in a row from global memory into shared memory and signals an mbarrier.",
    syntax="""
        cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes{.level::cache_hint}
            [dst_mem], [src_mem], size, [mbar]{, cache_policy};
        cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes{.level::cache_hint}.ignore_oob
            [dst_mem], [src_mem], size, ignore_bytes_left, ignore_bytes_right, [mbar]{, cache_policy};
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes{.multicast}{.level::cache_hint}
            [dst_mem], [src_mem], size, [mbar]{, cta_mask}{, cache_policy};
    """,
    choices=f"""
        .multicast = {{ .multicast::cluster }};
        {_HINT}
    """,
    operands={
        "dst_mem": _bytes("out", "shared"),
        "src_mem": _bytes("in", "global"),
        "size": _SIZE,
        "ignore_bytes_left": _OOB_BYTES,
        "ignore_bytes_right": _OOB_BYTES,
        "mbar": _MBAR,
        "cta_mask": _CTA_MASK,
        "cache_policy": _POLICY,
    },
    rules=(*_POLICY_RULES, *_MULTICAST_RULES),
    since=(*_BULK_SINCE, Since("9.2", when=".ignore_oob")),
    issuer="one",
    completes="mbarrier transaction",
    meaning={
        **_SPACES,
        **_COMPLETION,
        **_MULTICAST,
        ".ignore_oob": "The first ignore_bytes_left and the last ignore_bytes_right bytes may lie outside of the allocation; "
                       "their places in shared memory hold anything afterwards.",
    },
)  # fmt: skip

cp_async_bulk_copy = instruction(
    "cp.async.bulk.copy",
    section="9.7.10.28.4.1",
    summary="Copies bytes in a row from the block's shared memory into that of a block of the cluster and signals an mbarrier there.",
    syntax="cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [dst_mem], [src_mem], size, [mbar];",
    operands={"dst_mem": _bytes("out", "shared"), "src_mem": _bytes("in", "shared"), "size": _SIZE, "mbar": _MBAR},
    since=_BULK_SINCE,
    issuer="one",
    completes="mbarrier transaction",
    meaning={**_SPACES, **_COMPLETION},
)

cp_async_bulk_store = instruction(
    "cp.async.bulk.store",
    section="9.7.10.28.4.1",
    summary="Copies bytes in a row from the block's shared memory into global memory.",
    syntax="""
        cp.async.bulk.global.shared::cta.bulk_group{.level::cache_hint} [dst_mem], [src_mem], size{, cache_policy};
        cp.async.bulk.global.shared::cta.bulk_group{.level::cache_hint}.cp_mask
            [dst_mem], [src_mem], size{, cache_policy}, byte_mask;
    """,
    choices=_HINT,
    operands={
        "dst_mem": _bytes("out", "global"),
        "src_mem": _bytes("in", "shared"),
        "size": _SIZE,
        "cache_policy": _POLICY,
        "byte_mask": source("u16", values=range(1 << 16)),
    },
    rules=_POLICY_RULES,
    since=(*_BULK_SINCE, Since("8.6", "sm_100+", when=".cp_mask")),
    issuer="one",
    completes="bulk group",
    meaning={**_SPACES, **_COMPLETION, ".cp_mask": "Bit i of byte_mask says whether byte i of every 16 is written."},
)

cp_async_bulk_prefetch = instruction(
    "cp.async.bulk.prefetch",
    section="9.7.10.28.4.3",
    summary="Asks for bytes in a row of global memory to be fetched into L2; nothing tells of its end.",
    syntax="cp.async.bulk.prefetch.L2.global{.level::cache_hint} [src_mem], size{, cache_policy};",
    choices=_HINT,
    operands={"src_mem": _bytes("in", "global"), "size": _SIZE, "cache_policy": _POLICY},
    rules=_POLICY_RULES,
    since=(Since("8.0", "sm_90+"),),
    issuer="one",
    completes="never told",
    meaning={**_SPACES, ".L2": "Into the L2 cache."},
)

# ---- reductions by bulk copy ------------------------------------------------------------------------------------------

_RED_OP = ".redOp = { .and, .or, .xor, .add, .inc, .dec, .min, .max };"
_OPERATIONS = {
    ".redOp": "How each element of the source is combined with the destination's; elements are atomic one by one, relaxed, at gpu scope.",
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

cp_reduce_async_bulk_copy = instruction(
    "cp.reduce.async.bulk.copy",
    section="9.7.10.28.4.2",
    summary="Combines an array in the block's shared memory into one in the shared memory of a block of the cluster.",
    syntax="""
        cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.redOp.type
            [dst_mem], [src_mem], size, [mbar];
    """,
    choices=f"""
        {_RED_OP}
        .type = {{ .b32, .u32, .s32, .u64 }};
    """,
    operands={"dst_mem": _bytes("inout", "shared"), "src_mem": _bytes("in", "shared"), "size": _SIZE, "mbar": _MBAR},
    rules=(
        Rule("sums are of .u32, .s32 and .u64", when=".redOp in .add", need=".type in .u32 .s32 .u64"),
        Rule("minima and maxima are of .u32 and .s32", when=".redOp in .min .max", need=".type in .u32 .s32"),
        Rule(".inc and .dec are of .u32", when=".redOp in .inc .dec", need=".type in .u32"),
        Rule("bitwise operations are of .b32", when=".redOp in .and .or .xor", need=".type in .b32"),
    ),
    since=(Since("8.0", "sm_90+"),),
    issuer="one",
    completes="mbarrier transaction",
    meaning={**_SPACES, **_COMPLETION, **_OPERATIONS},
)

_REDUCED = {
    "dst_mem": _bytes("inout", "global"),
    "src_mem": _bytes("in", "shared"),
    "size": _SIZE,
    "cache_policy": _POLICY,
}

cp_reduce_async_bulk_store = instruction(
    "cp.reduce.async.bulk.store",
    section="9.7.10.28.4.2",
    summary="Combines an array in the block's shared memory into one in global memory.",
    syntax="""
        cp.reduce.async.bulk.global.shared::cta.bulk_group{.level::cache_hint}.redOp.type [dst_mem], [src_mem], size{, cache_policy};
    """,
    choices=f"""
        {_RED_OP}
        .type = {{ .f16, .bf16, .b32, .u32, .s32, .b64, .u64, .s64, .f32, .f64 }};
        {_HINT}
    """,
    operands=_REDUCED,
    rules=(
        *_POLICY_RULES,
        Rule("sums without .noftz are of .u32, .s32, .u64, .f32 and .f64", when=".redOp in .add",
             need=".type in .u32 .s32 .u64 .f32 .f64"),
        Rule("minima and maxima are of integers, .f16 and .bf16", when=".redOp in .min .max",
             need=".type in .u32 .s32 .u64 .s64 .f16 .bf16"),
        Rule(".inc and .dec are of .u32", when=".redOp in .inc .dec", need=".type in .u32"),
        Rule("bitwise operations are of .b32 and .b64", when=".redOp in .and .or .xor", need=".type in .b32 .b64"),
    ),
    since=(Since("8.0", "sm_90+"),),
    issuer="one",
    completes="bulk group",
    meaning={**_SPACES, **_COMPLETION, **_OPERATIONS},
)  # fmt: skip

cp_reduce_async_bulk_noftz = instruction(
    "cp.reduce.async.bulk.noftz",
    section="9.7.10.28.4.2",
    summary="Adds an array of 16-bit floats in the block's shared memory to one in global memory.",
    syntax="""
        cp.reduce.async.bulk.global.shared::cta.bulk_group{.level::cache_hint}.add.noftz.type
            [dst_mem], [src_mem], size{, cache_policy};
    """,
    choices=f"""
        .type = {{ .f16, .bf16 }};
        {_HINT}
    """,
    operands=_REDUCED,
    rules=_POLICY_RULES,
    since=(Since("8.0", "sm_90+"),),
    issuer="one",
    completes="bulk group",
    meaning={**_SPACES, **_COMPLETION, **_OPERATIONS},
)

# ---- bulk groups ------------------------------------------------------------------------------------------------------

cp_async_bulk_commit_group = instruction(
    "cp.async.bulk.commit_group",
    section="9.7.10.28.6.1",
    summary="Closes a group of all bulk copies with .bulk_group of the thread that belong to none yet; it may be empty.",
    syntax="cp.async.bulk.commit_group;",
    since=(Since("8.0", "sm_90+"),),
    meaning={".commit_group": "The group is complete when all of its copies are."},
)

cp_async_bulk_wait_group = instruction(
    "cp.async.bulk.wait_group",
    section="9.7.10.28.6.2",
    summary="Waits until at most n of the thread's youngest bulk groups are still under way.",
    syntax="cp.async.bulk.wait_group{.read} n;",
    operands={"n": immediate("u32", range(1 << 31))},
    since=(Since("8.0", "sm_90+"),),
    meaning={
        ".wait_group": "Waits for the older groups.",
        ".read": "Waits only until the sources are read, so that shared memory may be written again.",
    },
)

# ---- tensor copies ----------------------------------------------------------------------------------------------------

_DIM = ".dim = { .1d, .2d, .3d, .4d, .5d };"
_MAP = address("in", "b8", align=64)
_COORDS = source("s32", vector="5 if .load_mode in .tile::gather4 .tile::scatter4 else .dim", braced=True)
_INFO = source(
    "u16", vector="2 if .load_mode in .im2col::w .im2col::w::128 else 1 if .dim in .3d else 2 if .dim in .4d else 3", braced=True
)
_TILE = address("out", "b8", space="shared", align=128)
_IM2COL = ".load_mode in .im2col .im2col::w .im2col::w::128"
_DEEP = ".dim in .3d .4d .5d"
_MODE_RULES = (
    Rule("im2col needs a tensor of three to five dimensions", when=_IM2COL, need=_DEEP),
    Rule("four rows are gathered from a tensor of two dimensions", when=".load_mode in .tile::gather4", need=".dim in .2d"),
    Rule("im2col offsets are given exactly in an im2col mode", when="im2col_info", need=_IM2COL),
    Rule("im2col offsets are given exactly in an im2col mode", when=_IM2COL, need="im2col_info"),
)
_STORE_RULES = (
    Rule("im2col needs a tensor of three to five dimensions", when=".load_mode in .im2col_no_offs", need=_DEEP),
    Rule("four rows are scattered to a tensor of two dimensions", when=".load_mode in .tile::scatter4", need=".dim in .2d"),
)
_TENSOR = {
    **_SPACES,
    ".dim": "The number of the tensor's dimensions, and of coordinates; coordinates count from the innermost one.",
    ".load_mode": "How coordinates name what moves; left out, .tile.",
    ".tile": "The box of the tensor map at the coordinates.",
    ".tile::gather4": "Four rows of two-dimensional boxes: a column, then four row coordinates.",
    ".tile::scatter4": "Four rows of two-dimensional boxes: a column, then four row coordinates.",
    ".im2col": "Pixels of an image and their neighbourhood, as a convolution reads them; im2col_info holds offsets.",
    ".im2col::w": "As .im2col, along the width alone.",
    ".im2col::w::128": "As .im2col::w, always 128 pixels.",
    ".im2col_no_offs": "Pixels of an image, without offsets.",
    ".cta_group": "Whose mbarrier is signalled.",
    ".cta_group::1": "One of the block that receives the data.",
    ".cta_group::2": "One of that block or of its partner in a pair of blocks.",
}

cp_async_bulk_tensor_load = instruction(
    "cp.async.bulk.tensor.load",
    section="9.7.10.28.5.2",
    summary="Copies a box of a tensor in global memory into shared memory, as its tensor map says, and signals an mbarrier.",
    syntax="""
        cp.async.bulk.tensor.dim.shared::cta.global{.load_mode}.mbarrier::complete_tx::bytes{.cta_group}{.level::cache_hint}
            [dst_mem], [tensor_map, tensor_coords], [mbar]{, im2col_info}{, cache_policy};
        cp.async.bulk.tensor.dim.shared::cluster.global{.load_mode}.mbarrier::complete_tx::bytes
            {.multicast}{.cta_group}{.level::cache_hint}
            [dst_mem], [tensor_map, tensor_coords], [mbar]{, im2col_info}{, cta_mask}{, cache_policy};
        cp.async.bulk.tensor.dim.cta_group.shared::cluster.global{.load_mode}.mbarrier::complete_tx::bytes
            {.multicast}{.level::cache_hint}
            [dst_mem], [tensor_map, tensor_coords], [mbar]{, im2col_info}{, cta_mask}{, cache_policy};
    """,  # the last line in the order that kernels in use have, and ptxas takes
    choices=f"""
        {_DIM}
        .load_mode = {{ .tile, .tile::gather4, .im2col, .im2col::w, .im2col::w::128 }};
        .multicast = {{ .multicast::cluster }};
        .cta_group = {{ .cta_group::1, .cta_group::2 }};
        {_HINT}
    """,
    tile=Tile({"dst_mem": Atom(place="box"), "tensor_map": Atom(place="tensor map")}, when="not .load_mode or .load_mode in .tile"),
    operands={
        "dst_mem": _TILE,
        "tensor_map": _MAP,
        "tensor_coords": _COORDS,
        "mbar": _MBAR,
        "im2col_info": _INFO,
        "cta_mask": _CTA_MASK,
        "cache_policy": _POLICY,
    },
    rules=(*_MODE_RULES, *_POLICY_RULES, *_MULTICAST_RULES),
    since=(
        Since("8.0", "sm_90+"),
        Since("8.6", when=".shared::cta"),
        Since("8.6", _TENSOR_CORES_5, when=".cta_group"),
        Since("8.6", "sm_100+", when=".load_mode in .tile::gather4 .im2col::w"),
        Since("8.6", _TENSOR_CORES_5, when=".shared::cluster and .load_mode in .tile::gather4 .im2col::w"),
        Since("8.6", _TENSOR_CORES_5, when=".load_mode in .im2col::w::128"),
    ),
    issuer="one",
    completes="mbarrier transaction",
    meaning={**_TENSOR, **_COMPLETION, **_MULTICAST},
)

cp_async_bulk_tensor_store = instruction(
    "cp.async.bulk.tensor.store",
    section="9.7.10.28.5.2",
    summary="Copies shared memory into a box of a tensor in global memory, as its tensor map says.",
    syntax="""
        cp.async.bulk.tensor.dim.global.shared::cta{.load_mode}.bulk_group{.level::cache_hint}
            [tensor_map, tensor_coords], [src_mem]{, cache_policy};
    """,
    choices=f"""
        {_DIM}
        .load_mode = {{ .tile, .tile::scatter4, .im2col_no_offs }};
        {_HINT}
    """,
    tile=Tile({"tensor_map": Atom(place="tensor map"), "src_mem": Atom(place="box")}, when="not .load_mode or .load_mode in .tile"),
    operands={
        "tensor_map": _MAP,
        "tensor_coords": _COORDS,
        "src_mem": address("in", "b8", space="shared", align=128),
        "cache_policy": _POLICY,
    },
    rules=(*_STORE_RULES, *_POLICY_RULES),
    since=(Since("8.0", "sm_90+"), Since("8.6", _TENSOR_CORES_5, when=".load_mode in .tile::scatter4")),
    issuer="one",
    completes="bulk group",
    meaning={**_TENSOR, **_COMPLETION},
)

cp_reduce_async_bulk_tensor = instruction(
    "cp.reduce.async.bulk.tensor",
    section="9.7.10.28.5.3",
    summary="Combines shared memory into a box of a tensor in global memory, as its tensor map says.",
    syntax="""
        cp.reduce.async.bulk.tensor.dim.global.shared::cta.redOp{.load_mode}.bulk_group{.level::cache_hint}
            [tensor_map, tensor_coords], [src_mem]{, cache_policy};
    """,
    choices=f"""
        {_DIM}
        {_RED_OP}
        .load_mode = {{ .tile, .im2col_no_offs }};
        {_HINT}
    """,
    tile=Tile({"tensor_map": Atom(place="tensor map"), "src_mem": Atom(place="box")}, when="not .load_mode or .load_mode in .tile"),
    operands={
        "tensor_map": _MAP,
        "tensor_coords": _COORDS,
        "src_mem": address("in", "b8", space="shared", align=128),
        "cache_policy": _POLICY,
    },
    rules=(*_STORE_RULES[:1], *_POLICY_RULES),
    since=(Since("8.0", "sm_90+"),),
    issuer="one",
    completes="bulk group",
    meaning={**_TENSOR, **_COMPLETION, **_OPERATIONS},
)

cp_async_bulk_prefetch_tensor = instruction(
    "cp.async.bulk.prefetch.tensor",
    section="9.7.10.28.5.4",
    summary="Asks for a box of a tensor in global memory to be fetched into L2; nothing tells of its end.",
    syntax="""
        cp.async.bulk.prefetch.tensor.dim.L2.global{.load_mode}{.level::cache_hint}
            [tensor_map, tensor_coords]{, im2col_info}{, cache_policy};
    """,
    choices=f"""
        {_DIM}
        .load_mode = {{ .tile, .tile::gather4, .im2col, .im2col::w, .im2col::w::128 }};
        {_HINT}
    """,
    operands={"tensor_map": _MAP, "tensor_coords": _COORDS, "im2col_info": _INFO, "cache_policy": _POLICY},
    rules=(*_MODE_RULES, *_POLICY_RULES),
    since=(
        Since("8.0", "sm_90+"),
        Since("8.6", _TENSOR_CORES_5, when=".load_mode in .tile::gather4 .im2col::w .im2col::w::128"),
    ),
    issuer="one",
    completes="never told",
    meaning={**_TENSOR, ".L2": "Into the L2 cache."},
)
