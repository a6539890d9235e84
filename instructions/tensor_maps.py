"""What instructions that work through tensor maps have in common: operands, choices, rules and meanings (ISA 9.7.10.28.5)."""

from __future__ import annotations

from ptxgen.instructions.language import Rule, Since, address, source

__all__ = [
    "COORDINATES", "DEEP", "DIMENSIONS", "IM2COL_INFO", "MAP", "OVERRIDES", "OVERRIDE_ATTRIBUTE", "OVERRIDE_RULES", "OVERRIDE_SINCE",
    "OVERRIDE_SPELLED", "STORED", "TENSOR_MEANING",
]  # fmt: skip

DIMENSIONS = ".dim = { .1d, .2d, .3d, .4d, .5d };"
MAP = address("in", "b8", align=64, within="global")
COORDINATES = source("s32", vector="5 if .load_mode in .tile::gather4 .tile::scatter4 else .dim", braced=True)
IM2COL_INFO = source(
    "u16", vector="2 if .load_mode in .im2col::w .im2col::w::128 else 1 if .dim in .3d else 2 if .dim in .4d else 3", braced=True
)

_IM2COL = ".load_mode in .im2col .im2col::w .im2col::w::128"
_DEEP = ".dim in .3d .4d .5d"
DEEP = (
    Rule("im2col needs a tensor of three to five dimensions", when=_IM2COL, need=_DEEP),
    Rule("four rows are gathered from a tensor of two dimensions", when=".load_mode in .tile::gather4", need=".dim in .2d"),
    Rule("im2col offsets are given exactly in an im2col mode", when="im2col_info", need=_IM2COL),
    Rule("im2col offsets are given exactly in an im2col mode", when=_IM2COL, need="im2col_info"),
)
"""Of what is read through a tensor map."""

STORED = (
    Rule("im2col needs a tensor of three to five dimensions", when=".load_mode in .im2col_no_offs .im2col_no_offs::w", need=_DEEP),
    Rule("four rows are scattered to a tensor of two dimensions", when=".load_mode in .tile::scatter4", need=".dim in .2d"),
)
"""Of what is written through a tensor map."""

# ---- properties of the map that an instruction sets aside ------------------------------------------------------------------

OVERRIDE_SPELLED = "{, tensor_size}{, lower_strides, upper_strides}"
"""The operands of `.override_attribute`, behind the address in the brackets."""

OVERRIDE_ATTRIBUTE = ".override_attribute = { .override::global_dim, .override::global_dim_stride };"
OVERRIDES = {  # of extents ptxas 13.5 takes .u16 in copies, and not for fabric
    "global_address": source("u64", immediate=False),
    "tensor_size": source("s16", vector=".dim", braced=True, immediate=False),
    "lower_strides": source(
        "b32", vector="1 if .dim in .2d else 2 if .dim in .3d else 3 if .dim in .4d else 4", braced=True, immediate=False
    ),
    "upper_strides": source("s16", immediate=False),
}
_ATTRIBUTE = "other extents are given exactly where .override::global_dim or .override::global_dim_stride is"
_STRIDES = "other strides are given exactly where .override::global_dim_stride is"
OVERRIDE_RULES = (
    Rule("a tensor of one dimension has no strides", when=".override_attribute in .override::global_dim", need=".dim in .1d"),
    Rule("extents and strides are given together", when=".override_attribute in .override::global_dim_stride", need="not .dim in .1d"),
    Rule("other extents are for boxes in tile mode", when=".override_attribute and .load_mode", need=".load_mode in .tile"),
    Rule("other extents go to several blocks by a mask of 32 bits", when=".override_attribute and .multicast",
         need=".multicast in .multicast::cluster::32b"),
    Rule(_ATTRIBUTE, when="tensor_size", need=".override_attribute"),
    Rule(_ATTRIBUTE, when=".override_attribute", need="tensor_size"),
    Rule(_STRIDES, when="lower_strides", need=".override_attribute in .override::global_dim_stride"),
    Rule(_STRIDES, when=".override_attribute in .override::global_dim_stride", need="lower_strides"),
)  # fmt: skip
OVERRIDE_SINCE = Since("9.4", "sm_107f", when=".override::global_address")

TENSOR_MEANING = {
    ".global": "Global memory.",
    ".dim": "The number of the tensor's dimensions, and of coordinates; coordinates count from the innermost one.",
    ".load_mode": "How coordinates name what moves; left out, .tile.",
    ".tile": "The box of the tensor map at the coordinates.",
    ".tile::gather4": "Four rows of two-dimensional boxes: a column, then four row coordinates.",
    ".tile::scatter4": "Four rows of two-dimensional boxes: a column, then four row coordinates.",
    ".im2col": "Pixels of an image and their neighbourhood, as a convolution reads them; im2col_info holds offsets.",
    ".im2col::w": "As .im2col, along the width alone.",
    ".im2col::w::128": "As .im2col::w, always 128 pixels.",
    ".im2col_no_offs": "Pixels of an image, without offsets.",
    ".im2col_no_offs::w": "As .im2col_no_offs, along the width alone.",
    ".override::global_address": "The tensor begins at the operand behind the map, whatever the map says.",
    ".override_attribute": "What else of the map is set aside.",
    ".override::global_dim": "The tensor's extent, in a byte.",
    ".override::global_dim_stride": "The tensor's extents, a byte each; and its strides in 16 bytes: 32 lower bits each, 4 upper bits each "
                                    "in one register.",
}  # fmt: skip
