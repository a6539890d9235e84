"""Arguments of a wrong type: every public call of the solver, of costs, of the algebra and of its neighbours says what it takes."""

import contextlib

import pytest

import ptxgen as px
from ptxgen import S, b32, bf16, f32, laneid, testing
from ptxgen.layouts import algebra, interchange

WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"
MATRIX = "ldmatrix.sync.aligned.m8n8.x2.shared.b16"
TENSOR = px.Tensor((64, 64), bf16, align=16)
TILE = px.Layout(S[(4, 8) : (8, 1)])
LANES = px.Layout(S[(32, 2) : (1 @ laneid, 1)])
IMAGE = px.Layout(S[(64, 64)], swizzle=px.Swizzle.B128)
ENCODING = "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"

WRONG = ["x", None, 1.5, -1, [], ("x",), [None]]


@px.kernel(grid=1, block=32)
def kernel(A: px.Tensor((px.dim("n"),), f32), z: px.u32):
    px.syncthreads()


def access(*parts):
    return px.solve.shared((32, 4), b32, [("st.shared.b32", *parts)] if parts else [px.solve.Access(None)], threads=32)


PLAN = px.solve.operand(WGMMA, (64, 64))
MOVES = px.solve.convert(LANES, S[(32, 2) : (1 @ laneid, 1)], f32)

NAMED = [
    (
        px.solve.copy,
        {
            "shape": (64, 64), "dtype": bf16, "threads": 128, "strides": (64, 1), "align": 16, "direction": "load", "space": "global",
            "qualifiers": "", "width": 16, "whole": False, "target": "sm_100a", "scope": "cta",
        },
    ),
    (px.solve.shared, {"shape": (32, 4), "dtype": b32, "accesses": [], "threads": 32, "exact": False, "limit": 4096}),
    (
        px.solve.operand,
        {
            "opcode": WGMMA, "shape": (64, 64), "dtype": bf16, "operand": "A", "major": "k", "swizzle": None, "stages": 2,
            "scope": "warpgroup", "threads": 128, "n": 8,
        },
    ),
    (
        px.solve.descriptor,
        {"layout": IMAGE, "opcode": WGMMA, "operand": "A", "dtype": bf16, "scope": "warpgroup", "threads": 128, "align": 1024},
    ),
    (
        px.solve.tensor_map,
        {
            "tensor": TENSOR, "box": (64, 64), "image": None, "dtype": None, "swizzle": None, "steps": (1, 1), "interleave": "none",
            "promotion": "128B", "fill": "zero", "align": 1024,
        },
    ),
    (
        px.solve.canonical,
        {"tensor": TENSOR, "opcode": MATRIX, "operand": "p", "scope": "warp", "dtype": bf16, "threads": 32, "space": "shared", "align": 16},
    ),
    (
        px.solve.convert,
        {"source": LANES, "destination": LANES, "dtype": f32, "container": f32, "into": f32, "threads": 32, "scope": "warp"},
    ),
    (lambda **given: px.costs.of(given.pop("kernel"), **given), {"kernel": kernel, "n": 1000, "z": 3, "A": 16}),
    (px.hardware_layout, {"opcode": WGMMA, "operand": "a_desc", "major": "k", "swizzle": 128, "shape": (64, 64), "lead": 16, "stride": 16}),
    (px.hardware_operands, {"opcode": WGMMA}),
    (lambda beginning: next(px.hardware_layouts(beginning), None), {"beginning": "movmatrix"}),
    (TILE.svg, {"by": "address", "bits": 8, "rows": 1, "names": ("a", "b"), "title": "", "limit": 8}),
    (LANES.svg, {"by": "owner", "container": 8}),
    (px.Swizzle, {"bits": 3, "base": 4, "shift": 3}),
    (PLAN.copies, {"tile": TILE, "tensor": TENSOR}),
    (PLAN.tensor_map, {"tensor": TENSOR}),
    *((call, {"address": 0}) for call in (PLAN.descriptor.word, PLAN.descriptor.base_offset, PLAN.descriptor.addresses)),
    (MOVES.apply, {"source": LANES, "destination": LANES}),
    (interchange.from_cute, {"shape": (4, 8), "stride": (8, 1), "bits": 16}),
    (interchange.to_cute, {"layout": TILE, "bits": 8}),
    (interchange.to_cute_tuples, {"layout": TILE, "bits": 8}),
    (interchange.from_cute_tv, {"layout": "((4,8),2):((1,8),4)", "tile": (8, 8)}),
    (interchange.to_cute_tv, {"layout": LANES, "bits": 8}),
    (interchange.from_triton, {"encoding": ENCODING, "shape": (64, 64), "bits": 16}),
    (interchange.read_encoding, {"text": ENCODING}),
    (interchange.to_triton, {"layout": px.Layout(S[(64, 64)]), "kind": "swizzled_shared", "bits": 16, "version": None}),
    (interchange.LinearLayout.of, {"layout": TILE, "bits": 8}),
    (testing.opcodes, {"families": "barrier", "target": "sm_90a"}),
    (testing.statements, {"families": "barrier", "target": "sm_90a"}),
    (testing.operand_sets, {"opcode": "add.u32"}),
    (testing.kernels, {"families": "elements"}),
    (testing.shapes, {"min_axes": 1, "max_axes": 2, "max_elements": 64, "multiple_of": 1}),
    (testing.swizzles, {"granule": 1, "period": 1024}),
    (testing.memory_layouts, {"shape": (4, 4), "gaps": True}),
    (testing.register_layouts, {"shape": (4, 4), "lanes": 32, "warps": 1, "gaps": True}),
    (testing.layouts, {"shape": (4, 4)}),
    (testing.view_steps, {"shape": (4, 4), "max_steps": 2}),
]

ALGEBRA = {
    "alignment": (2,), "blocked_product": (S[2, 2],), "broadcast": (4, 8), "canonical": (), "complement": (64,), "compose": (S[4],),
    "contiguous_run": (1,), "coordinate": (3,), "direct_sum": (S[4],), "element_table": ("m",), "elements": ({"m": 3},), "equal": (TILE,),
    "flat_divide": ((2, 2),), "group": (0, 2), "image_size": (), "in_units": ("byte",), "inverse": ("m",), "is_injective": (),
    "left_inverse": ("m",), "logical_divide": ((2, 2),), "logical_product": (S[2],), "pack": (2,), "permute": (1, 0),
    "raked_product": (S[2, 2],), "reshape": ((8, 4),), "right_inverse": ("m",), "span": (), "sub": ((0, 0), (2, 2), (1, 1)),
    "tile": (2, 2), "tile_to_shape": ((8, 8), (0, 1)), "tiled_divide": ((2, 2),), "tiled_product": (S[2],), "ungroup": (0,),
    "unpack": (2,), "zipped_divide": ((2, 2),), "zipped_product": (S[2],),
}  # fmt: skip


@pytest.mark.parametrize(("call", "given"), NAMED, ids=lambda one: getattr(one, "__name__", ""))
def test_each_argument_replaced_by_wrong_ones(call, given):
    """Whatever else is raised ends the test."""
    for name in given:
        for wrong in WRONG:
            with contextlib.suppress(px.PtxgenError):
                call(**{**given, name: wrong})


@pytest.mark.parametrize("name", algebra.__all__)
def test_each_argument_of_the_algebra_replaced_by_wrong_ones(name):
    given = (TILE, *ALGEBRA[name])
    for place in range(len(given)):
        for wrong in WRONG:
            with contextlib.suppress(px.PtxgenError):
                getattr(algebra, name)(*given[:place], wrong, *given[place + 1 :])


@pytest.mark.parametrize("parts", [(), *((wrong,) for wrong in WRONG), (None, "32"), (None, 32, 3)])
def test_parts_of_an_access(parts):
    with contextlib.suppress(px.PtxgenError):
        access(*parts)


TYPES = "\n  legal: px.bf16, px.f32, px.u8, ..."
LAYOUTS = "\n  legal: px.Layout(...) or S[extents : strides]"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: px.solve.copy((128, 64), "bf16", align=16, threads=128), f"copy() takes an element type for dtype, not 'bf16'{TYPES}"),
        (lambda: px.solve.convert(LANES, LANES, "f32"), f"convert() takes an element type for dtype, not 'f32'{TYPES}"),
        (lambda: px.solve.convert("tile", LANES, f32), f"convert() takes a layout for source, not 'tile'{LAYOUTS}"),
        (lambda: px.solve.operand(WGMMA, (64, 64), dtype="bf16"), f"operand() takes an element type for dtype, not 'bf16'{TYPES}"),
        (lambda: px.solve.copy((128, 64), bf16, threads="128"), "copy() takes an int for threads, not '128'"),
        (lambda: px.solve.copy((0,), bf16, threads=128), "copy() takes a positive int or a tuple of them for shape, not (0,)"),
        (lambda: px.solve.copy((8,), bf16, threads=128, whole=1), "copy() takes True or False for whole, not 1"),
        (lambda: px.solve.operand(3, (64, 64)), "operand() takes an opcode for opcode, not 3\n  legal: its text, or px.ptx. and its words"),
        (lambda: px.solve.operand(WGMMA, (64, 64), n="64"), "operand() takes a positive int for n, not '64'"),
        (
            lambda: px.solve.operand(WGMMA, (64, 64), operand="C"),
            f"{WGMMA} has no operand 'C'\n  legal: operand='a_desc' or 'b_desc'",
        ),
        (
            lambda: px.solve.descriptor(IMAGE, WGMMA, "scale_d"),
            f"operand 'scale_d' of {WGMMA} is found by no descriptor\n  legal: operand='a_desc' or 'b_desc'",
        ),
        (
            lambda: px.solve.canonical(S[(16, 16) : (1 @ laneid, 1)], WGMMA, "scale_d"),
            f"operand 'scale_d' of {WGMMA} takes no register tile\n  legal: operand='d' or 'a', or a layout with thread axes for "
            "registers, on m alone for memory; px.solve.tensor_map for boxes of tensors",
        ),
        (
            lambda: px.solve.canonical(S[8], "st.shared.b32", "c"),
            "st.shared.b32 has no operand 'c'\n  legal: operand='a'",
        ),
        (lambda: px.solve.shared((8, 8), b32, "st.shared.b32", threads=8), "shared() takes a tuple for accesses, not 'st.shared.b32'"),
        (lambda: access(3), "access() takes a function of the tile for view, not 3\n  legal: lambda t: a view of t"),
        (lambda: PLAN.descriptor.word("0x400"), "word() takes an int of 0 or more for address, not '0x400'"),
        (lambda: px.costs.of(3), "px.costs.of takes a kernel or its specialization, not 3"),
        (lambda: px.costs.of(kernel, n="8"), "kernel: an int of 0 or more is taken for n, not '8'"),
        (lambda: px.costs.of(kernel, z=-1), "kernel: z is -1, which is outside .u32's range 0 to 4294967295"),
        (lambda: px.hardware_layout(WGMMA, None), "hardware_layout() takes a str for operand, not None"),
        (lambda: TILE.svg(names=3), "svg() takes a tuple of str for names, not 3"),
        (lambda: algebra.tile_to_shape(TILE, 8), "tile_to_shape() takes a tuple of positive ints for shape, not 8"),
        (lambda: TILE.inverse(3), "3 names no axes\n  legal: an axis, or a tuple of them: (laneid, m)"),
        (lambda: TILE.elements(3), "places are given by their axes, not as 3\n  legal: laneid=5, m=3, or {laneid: 5, m: 3}"),
        (lambda: algebra.equal(TILE, "x"), "a layout is compared with 'x'\n  legal: a Layout"),
        (
            lambda: algebra.flat_divide(TILE, "ab"),
            "'ab' is no tile\n  legal: a layout or an int, or one of these or None for each dimension",
        ),
        (lambda: TILE.sub(0, (1, 1)), "sub() takes starts, extents and steps as tuples, not 0\n  legal: an int for each dimension"),
        (lambda: interchange.from_triton(ENCODING, 64), "the tile's shape is 64\n  legal: a tuple of powers of two"),
        (lambda: testing.shapes(min_axes="1"), "shapes() takes a positive int for min_axes, not '1'"),
        (lambda: testing.memory_layouts("48"), "memory_layouts() takes a tuple of positive ints for shape, not '48'"),
    ],
)  # fmt: skip
def test_what_is_taken(call, message):
    with pytest.raises(px.PtxgenError) as error:
        call()
    assert str(error.value) == message
