"""Triton's layouts: against the bases that Triton 3.9 computes, and against what its encodings say element by element."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.layouts import Layout, LayoutError, R, S, Swizzle, Symbol, TLane, cbx, laneid, m, parse, tx, warpid
from ptxgen.layouts.interchange import LinearLayout, from_triton, read_encoding, to_triton
from ptxgen.layouts.interchange.triton import (
    Blocked,
    DotOperand,
    Linear,
    NvidiaMma,
    NvmmaShared,
    PaddedShared,
    SharedLinear,
    Slice,
    SwizzledShared,
)

# (text, shape, bases), as Triton 3.9.0 prints and computes them.
TABLE = json.loads((Path(__file__).parent / "triton_layouts.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", sorted({entry["text"].split("<")[0] for entry in TABLE}))
def test_encodings_have_the_bases_that_triton_computes(kind):
    for entry in TABLE:
        if entry["text"].startswith(f"{kind}<"):
            encoding = read_encoding(entry["text"])
            assert str(encoding) == entry["text"]
            assert encoding.linear(entry["shape"]) == LinearLayout(shared(encoding, entry["bases"]), entry["shape"]), entry["text"]


def shared(encoding, bases):
    return {"offset": [], **bases} if encoding.shared else bases


@pytest.mark.parametrize("kind", sorted({entry["text"].split("<")[0] for entry in TABLE}))
def test_what_is_read_is_written_back(kind):
    for entry in TABLE:
        if not entry["text"].startswith(f"{kind}<"):
            continue
        encoding, shape = read_encoding(entry["text"]), tuple(entry["shape"])
        bits = getattr(encoding, "element_bit_width", 16) if encoding.shared else None
        layout = from_triton(encoding, shape, bits=bits)
        again = to_triton(layout, "linear" if encoding.kind == "slice" else encoding.kind, bits=bits)
        linear = "shared_linear" if encoding.shared else "linear"
        for text in (again, to_triton(layout, linear, bits=bits)):
            assert from_triton(text, shape, bits=bits).spelling == layout.spelling
            assert read_encoding(text).linear(shape) == encoding.linear(shape)


# --- element by element ---------------------------------------------------------------------------------------------------


def holders(layout):
    """For each element all (register, lane, warp, block) that hold it."""
    full = layout.expand_replicas()
    table, lead = full.table(), len(layout.replica_dims)
    zero = np.zeros(full.shape, int)
    thread, block = zero if table.thread is None else table.thread, table.axes.get(cbx, zero)
    found = {}
    for at in np.ndindex(*full.shape):
        place = int(table.m[at]), int(thread[at]) % 32, int(thread[at]) // 32, int(block[at])
        found.setdefault(at[lead:], set()).add(place)
    return found


def evaluated(linear):
    """The same from a linear layout's own XORs."""
    found = {}
    sizes = [range(1 << len(part)) for part in linear.bases.values()]
    for inputs in itertools.product(*sizes):
        found.setdefault(linear(**dict(zip(linear.bases, inputs))), set()).add(inputs)
    return found


@st.composite
def distributed(draw):
    """Every bit of the coordinates and some zeros, dealt out to registers, 5 bits of lanes, warps and blocks."""
    shape = tuple(1 << bits for bits in draw(st.lists(st.integers(0, 3), min_size=1, max_size=2)))
    bases = [
        tuple(1 << bit if own == place else 0 for own in range(len(shape)))
        for place, extent in enumerate(shape)
        for bit in range(extent.bit_length() - 1)
    ]
    bases += [(0,) * len(shape)] * max(draw(st.integers(0, 2)), 5 - len(bases))
    bases = draw(st.permutations(bases))
    cuts = sorted(draw(st.tuples(*[st.integers(5, len(bases))] * 2)))
    parts = {"lane": bases[:5], "warp": bases[5 : cuts[0]], "block": bases[cuts[0] : cuts[1]], "register": bases[cuts[1] :]}
    return LinearLayout(parts, shape)


@settings(max_examples=40, deadline=None)
@given(distributed())
def test_a_linear_layout_and_its_inverse_agree_on_every_element(linear):
    layout = linear.layout()
    assert holders(layout) == evaluated(linear)
    assert LinearLayout.of(layout) == linear
    assert from_triton(to_triton(layout, "linear"), linear.shape) == layout


@st.composite
def swizzled(draw):
    """Bits of the coordinates in any order, and a swizzle of their offsets; the bases by evaluating the swizzle on each offset."""
    shape = tuple(1 << bits for bits in draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    dims = [(place, bit) for place, extent in enumerate(shape) for bit in range(extent.bit_length() - 1)]
    order = draw(st.permutations(dims))
    count = draw(st.integers(0, len(dims) // 2))
    base = draw(st.integers(0, len(dims) - 2 * count))
    shift = draw(st.integers(count, max(count, len(dims) - base - count)))
    return shape, order, (count, base, shift)


def element(offset, shape, order):
    coordinates = [0] * len(shape)
    for k, (place, bit) in enumerate(order):
        coordinates[place] |= (offset >> k & 1) << bit
    return tuple(coordinates)


@settings(max_examples=40, deadline=None)
@given(swizzled(), st.sampled_from([8, 16, 32]))
def test_offsets_that_a_swizzle_xors(case, bits):
    shape, order, (count, base, shift) = case
    mask = (1 << count) - 1

    def at(offset):
        return element(offset ^ (offset >> shift & mask << base), shape, order)

    linear = LinearLayout({"offset": [at(1 << k) for k in range(len(order))]}, shape)
    layout = linear.layout(bits)
    bound = layout.bind(bits)
    for offset in range(math.prod(shape)):
        assert linear(offset=offset) == at(offset)
        assert bound(*at(offset))[m] == offset * bits
    assert LinearLayout.of(layout, shared=True, bits=bits) == linear
    assert LinearLayout.of(bound, shared=True, bits=bits) == linear


@st.composite
def blockeds(draw):
    rank = draw(st.integers(1, 3))

    def split(bits):
        places = [draw(st.integers(0, rank - 1)) for _ in range(bits)]
        return [1 << places.count(place) for place in range(rank)]

    numbers = [split(draw(st.integers(0, 3))), split(5), split(draw(st.integers(0, 2)))]
    repeats = split(draw(st.integers(0, 2)))
    shape = tuple(math.prod(sizes) for sizes in zip(*numbers, repeats))
    return numbers, draw(st.permutations(range(rank))), repeats, shape


def mixed(digits, sizes, order):
    """One number of digits, the dimension that `order` names first running fastest."""
    total, weight = 0, 1
    for place in order:
        total, weight = total + digits[place] * weight, weight * sizes[place]
    return total


@settings(max_examples=40, deadline=None)
@given(blockeds())
def test_blocked_is_tiled_by_registers_then_lanes_then_warps(case):
    (sizes, lanes, warps), order, repeats, shape = case
    encoding = Blocked(size_per_thread=sizes, threads_per_warp=lanes, warps_per_cta=warps, order=order)
    table = encoding.layout(shape).table()
    for at in itertools.islice(np.ndindex(*shape), 0, None, 7):
        digits, rest = [], list(at)
        for counts in (sizes, lanes, warps, repeats):
            digits.append([value % count for value, count in zip(rest, counts)])
            rest = [value // count for value, count in zip(rest, counts)]
        register = mixed(digits[0], sizes, order) + math.prod(sizes) * mixed(digits[3], repeats, order)
        assert table.m[at] == register
        assert table.thread[at] == mixed(digits[1], lanes, order) + 32 * mixed(digits[2], warps, order)


def test_the_block_that_tritons_documentation_shows():
    layout = from_triton(Blocked(size_per_thread=[2, 4], threads_per_warp=[16, 2], warps_per_cta=[2, 2], order=[1, 0]), (64, 16))
    assert layout.shape == (64, 16)
    assert layout(0, 3) == {m: 3, tx: 0}
    assert layout(1, 0) == {m: 4, tx: 0}
    assert layout(0, 4) == {m: 0, tx: 1}
    assert layout(2, 0) == {m: 0, tx: 2}
    assert layout(0, 8) == {m: 0, tx: 32}
    assert layout(32, 0) == {m: 0, tx: 64}


# The examples in the description of swizzled_shared: vec, perPhase, maxPhase, and memory row by row.
SWIZZLES = [
    ((1, 1, 4), [[0, 1, 2, 3], [5, 4, 7, 6], [10, 11, 8, 9], [15, 14, 13, 12]]),
    ((1, 2, 4), [[0, 1, 2, 3], [4, 5, 6, 7], [9, 8, 11, 10], [13, 12, 15, 14]]),
    ((1, 1, 2), [[0, 1, 2, 3], [5, 4, 7, 6], [8, 9, 10, 11], [13, 12, 15, 14]]),
    ((2, 1, 4), [[0, 1, 2, 3, 4, 5, 6, 7], [10, 11, 8, 9, 14, 15, 12, 13],
                 [20, 21, 22, 23, 16, 17, 18, 19], [30, 31, 28, 29, 26, 27, 24, 25]]),
]  # fmt: skip


@pytest.mark.parametrize("numbers, rows", SWIZZLES)
def test_swizzles_that_tritons_descriptions_show(numbers, rows):
    vec, per_phase, max_phase = numbers
    encoding = SwizzledShared(vec=vec, per_phase=per_phase, max_phase=max_phase, order=[1, 0])
    shape = len(rows), len(rows[0])
    places = encoding.layout(shape, bits=16).bind(16).table().m // 16
    memory = np.argsort(places.ravel()).reshape(shape)
    assert memory.tolist() == rows


@pytest.mark.parametrize("swizzle, bits", list(itertools.product((32, 64, 128), (8, 16, 32))))
@pytest.mark.parametrize("transposed", [False, True])
def test_nvmma_shared_is_boxes_with_the_swizzle_of_tensor_maps(swizzle, bits, transposed):
    width, rows = 8 * swizzle // bits, 16
    encoding = NvmmaShared(swizzling_byte_width=swizzle, transposed=transposed, element_bit_width=bits)
    shape = (2 * width, rows) if transposed else (rows, 2 * width)
    table = encoding.layout(shape).bind(bits).table().m // 8
    hardware = {32: Swizzle.B32, 64: Swizzle.B64, 128: Swizzle.B128}[swizzle]
    for row, column in np.ndindex(rows, 2 * width):
        inside = hardware.apply_bytes(row * swizzle + column % width * bits // 8)
        assert table[(column, row) if transposed else (row, column)] == column // width * rows * swizzle + inside


@settings(max_examples=30, deadline=None)
@given(
    st.permutations([0, 1]),
    st.lists(st.tuples(st.sampled_from([2, 4, 8, 16]), st.sampled_from([1, 2, 4])), min_size=1, max_size=2, unique_by=lambda p: p[0]),
)
def test_padding_follows_every_interval(order, padding):
    shape = (4, 8)
    encoding = PaddedShared(padding=padding, order=order, shape=shape)
    layout = encoding.layout(shape)
    for row, column in np.ndindex(*shape):
        offset = row * 8 + column if order[0] == 1 else column * 4 + row
        assert layout(row, column)[m] == offset + sum(offset // every * left for every, left in padding)
    again = read_encoding(to_triton(layout, "padded_shared"))
    assert again.layout(shape) == layout
    assert read_encoding(str(encoding)) == encoding


def test_padding_of_permuted_rows():
    offset = [[0, 1], [0, 2], [2, 0], [4, 0], [1, 0]]
    encoding = read_encoding(f"#ttg.padded_shared<[8:+1] {{offset = {offset}, block = []}}>")
    layout = encoding.layout((8, 4))
    rows = [[0, 2], [4, 6], [1, 3], [5, 7]]  # as Triton's documentation of PaddedSharedLayout draws them
    for place, pair in enumerate(rows):
        for k, row in enumerate(pair):
            assert [layout(row, column)[m] for column in range(4)] == [9 * place + 4 * k + column for column in range(4)]
    assert to_triton(layout, "padded_shared") == str(encoding)


# --- against ptxgen's own layouts -----------------------------------------------------------------------------------------


def test_results_of_mma_and_wgmma_are_what_the_contracts_say():
    v2 = NvidiaMma(version=(2, 0), warps_per_cta=[1, 1], instr_shape=[16, 8])
    assert v2.layout((16, 8)) == parse("S[((2, 8), (4, 2)) : ((2, 4@laneid), (1@laneid, 1))]")
    assert DotOperand(op_idx=0, parent=v2, k_width=2).layout((16, 16)) == parse(
        "S[((2, 8), (2, 4, 2)) : ((2, 4@laneid), (4, 1@laneid, 1))]"
    )
    # Triton's b is k x n, that of the contracts n x k
    assert DotOperand(op_idx=1, parent=v2, k_width=2).layout((16, 8)).permute(1, 0) == parse(
        "S[(8, (2, 4, 2)) : (4@laneid, (2, 1@laneid, 1))]"
    )
    v3 = NvidiaMma(version=(3, 0), warps_per_cta=[4, 1], instr_shape=[16, 64, 16])
    assert v3.layout((64, 64)) == parse("S[((4, 2, 8), (8, 4, 2)) : ((1@warpid, 2, 4@laneid), (4, 1@laneid, 1))]")


@pytest.mark.parametrize(
    "layout, kind, bits, text",
    [
        (Layout(S[(16, 8) : (2 @ laneid, 1)]) + R[(2,) : (1 @ laneid,)], "linear", None,
         "#ttg.linear<{register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 0], [1, 0], [2, 0], [4, 0], [8, 0]], warp = [], block = []}>"),
        (Layout(S[(32, 8) : (1 @ laneid, 1)]), "blocked", None,
         "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [32, 1], warpsPerCTA = [1, 1], order = [1, 0]}>"),
        (Layout(S[(4, 32, 4) : (1 @ warpid, 1 @ laneid, 1)]).reshape(128, 4), "blocked", None,
         "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [1, 0]}>"),
        (Layout(S[(2, 64, 4) : (1 @ cbx, 1 @ tx, 1)]).reshape(128, 4), "blocked", None,
         "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [32, 1], warpsPerCTA = [2, 1], order = [1, 0], CGALayout = [[1, 0]]}>"),
        (Layout(S[64, 64], swizzle=Swizzle.B128), "nvmma_shared", 16,
         "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>"),
        (Layout(S[64, 64], swizzle=Swizzle.B128).permute(1, 0), "nvmma_shared", 16,
         "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>"),
        (Layout(S[64, 64], swizzle=Swizzle.B128).bind(16), "swizzled_shared", 16,
         "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"),
        (Layout(S[4, 8]), "shared_linear", None,
         "#ttg.shared_linear<{offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]]}, alignment = 16>"),
        (Layout(S[(32, 64) : (68, 1)]), "padded_shared", None, "#ttg.padded_shared<[64:+4] {order = [1, 0], shape = [32, 64]}>"),
    ],
)  # fmt: skip
def test_texts(layout, kind, bits, text):
    assert to_triton(layout, kind, bits=bits) == text
    again = from_triton(text, layout.shape, bits=bits)
    assert again == layout if layout.unit == "element" else again.bind(bits) == layout


def test_older_texts_and_names():
    blocked = "sizePerThread = [1, 2], threadsPerWarp = [8, 4], warpsPerCTA = [1, 2], order = [1, 0]"
    old = f"#blocked = #triton_gpu.blocked<{{{blocked}, CTAsPerCGA = [2, 2], CTASplitNum = [2, 1], CTAOrder = [1, 0]}}>"
    assert str(read_encoding(old)) == f"#ttg.blocked<{{{blocked}, CGALayout = [[0, 0], [1, 0]]}}>"
    swizzled = "vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]"
    assert str(read_encoding(f"#triton_gpu.shared<{{{swizzled}, hasLeadingOffset = false}}>")) == f"#ttg.swizzled_shared<{{{swizzled}}}>"
    plain = f"#ttg.blocked<{{{blocked}, CTAsPerCGA = [1, 1], CTASplitNum = [1, 1], CTAOrder = [1, 0]}}>"
    assert read_encoding(plain) == read_encoding(f"#ttg.blocked<{{{blocked}}}>")


GLUON = [
    ("gl.BlockedLayout([1, 2], threads_per_warp=[8, 4], warps_per_cta=[1, 2], order=[1, 0], cga_layout=[[1, 0]])",
     "#ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [8, 4], warpsPerCTA = [1, 2], order = [1, 0], CGALayout = [[1, 0]]}>"),
    ("ttgl.DotOperandLayout(operand_index=1, parent=NVMMADistributedLayout([2, 0], [4, 1], [16, 8]), k_width=2)",
     "#ttg.dot_op<{opIdx = 1, parent = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], "
     "instrShape = [16, 8]}>, kWidth = 2}>"),
    ("SliceLayout(dim=1, parent=DistributedLinearLayout([[0, 1]], [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], [], [], [32, 2]))",
     "#ttg.slice<{dim = 1, parent = #ttg.linear<{register = [[0, 1]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [], "
     "block = []}>}>"),
    ("NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=3, transposed=False, fp4_padded=False, cga_layout=[])",
     "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16, rank = 3}>"),
    ("SwizzledSharedLayout(8, 1, 8, order=[1, 0])", "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"),
    ("PaddedSharedLayout(interval_padding_pairs=[[2, 2]], offset_bases=[[2], [1]], cga_layout=[], shape=[4])",
     "#ttg.padded_shared<[2:+2] {offset = [[2], [1]], block = []}>"),
    ("SharedLinearLayout(offset_bases=[[1], [2]], block_bases=[], alignment=32)",
     "#ttg.shared_linear<{offset = [[1], [2]]}, alignment = 32>"),
]  # fmt: skip


@pytest.mark.parametrize("gluon, text", GLUON)
def test_layouts_as_gluon_writes_them(gluon, text):
    assert str(read_encoding(gluon)) == text
    assert read_encoding(text) == read_encoding(gluon)


@pytest.mark.parametrize(
    "text, problem",
    [
        ("gl.BlockedLayout([2], [32], [1], odr=[0])", "column 38: BlockedLayout has no parameter odr; it has size_per_thread, "
         "threads_per_warp, warps_per_cta, order, cga_layout"),
        ("BlockedLayout([2], [32])", "column 1: BlockedLayout needs more of size_per_thread, threads_per_warp, warps_per_cta, order, "
         "cga_layout, or numbers where lists stand"),
        ("BlockedLayout([n], [32], [1], [0])", "column 15: expected a number, True, False, a list or a layout"),
        ("SliceLayout(0, 1, 2)", "column 19: SliceLayout has 2 parameters: dim, parent"),
        ("SliceLayout(0, AutoLayout())", "column 16: expected a call of BlockedLayout, SliceLayout, DistributedLinearLayout, "
         "DotOperandLayout, NVMMADistributedLayout, NVMMASharedLayout, SwizzledSharedLayout, PaddedSharedLayout, SharedLinearLayout"),
        ("BlockedLayout([2], [", "column 20: no Python expression"),
    ],
)  # fmt: skip
def test_texts_that_are_no_layout_of_gluon(text, problem):
    with pytest.raises(LayoutError) as error:
        read_encoding(text)
    assert str(error.value) == f"can't read the Gluon layout {text!r}: {problem}"


class BlockedLayout(NamedTuple):
    """Prints as Gluon's class does."""

    size_per_thread: list
    threads_per_warp: list
    warps_per_cta: list
    order: list


def test_objects_that_print_as_layouts_do():
    assert from_triton(BlockedLayout([1], [32], [2], [0]), (64,)) == Layout(S[(64,) : (1 @ tx,)])
    with pytest.raises(LayoutError, match="can't read the Triton layout '5': column 1"):
        from_triton(5, (64,))


def test_one_layout_of_mma_and_wgmma():
    layout = NvidiaMma(version=(3, 0), warps_per_cta=[4, 1], instr_shape=[16, 64, 16]).layout((64, 64))
    both = [read_encoding(to_triton(layout, "nvidia_mma", version=version)) for version in (2, 3)]
    assert [encoding.version for encoding in both] == [(2, 0), (3, 0)]
    assert [encoding.layout((64, 64)) for encoding in both] == [layout, layout]
    operand = DotOperand(op_idx=0, parent=both[1], k_width=2).layout((64, 16))
    assert read_encoding(to_triton(operand, "dot_op", version=3)).parent.version == (3, 0)
    for kind, version in (("blocked", 2), ("nvidia_mma", 5)):
        with pytest.raises(LayoutError) as error:
            to_triton(layout, kind, version=version)
        assert str(error.value) == f"version {version} of {kind}: nvidia_mma and dot_op have versions, 2 and 3"


def test_slices_repeat_what_they_lose():
    parent = Blocked(size_per_thread=[1, 2], threads_per_warp=[8, 4], warps_per_cta=[1, 2], order=[1, 0])
    assert Slice(dim=1, parent=parent).layout((8,)) == Layout(S[(8,) : (4 @ laneid,)], R[(4, 2) : (1 @ laneid, 1 @ warpid)])


# --- what is refused ------------------------------------------------------------------------------------------------------

READ = "can't read the Triton layout"
BLOCKED = "#ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [8, 4], warpsPerCTA = [1, 2], order = [1, 0]}>"


@pytest.mark.parametrize(
    "text, problem",
    [
        ("blocked<{}>", "column 1: expected an attribute such as #ttg.blocked<...>, found 'b'"),
        ("#llvm.blocked<{}>", "column 1: expected an attribute such as #ttg.blocked<...>, found '#llvm.blocked'"),
        ("#ttg.amd_mfma<{}>", "column 6: unknown layout amd_mfma; blocked, nvidia_mma, dot_op, slice, linear, swizzled_shared, "
         "shared, nvmma_shared, shared_linear, padded_shared are known"),
        ("#ttg.blocked<{order = [1, 0}>", "column 28: expected ',', found '}'"),
        ("#ttg.blocked<{order = [1, 0]>", "column 29: expected ',', found '>'"),
        ("#ttg.blocked<{order = [1, 0], order = [1, 0]}>", "column 31: order stands twice"),
        ("#ttg.blocked<{order = x}>", "column 23: expected a number, true, false, a list or an attribute, found 'x'"),
        ("#ttg.blocked<{order = [1, 0]}>", "column 6: blocked lacks sizePerThread"),
        ("#ttg.blocked<{vec = 1}>", "column 15: blocked has no vec; it has sizePerThread, threadsPerWarp, warpsPerCTA, order"),
        ("#ttg.swizzled_shared<{vec = [1], perPhase = 1, maxPhase = 1, order = [0]}>", "column 23: vec = (1,) is not a number"),
        ("#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0], CGALayout = 3}>",
         "column 73: CGALayout = 3 is not a list of lists of numbers"),
        ("#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0], CTAOrder = [0]}>",
         "column 6: CTAsPerCGA, CTASplitNum, CTAOrder go together, one number each for every dimension"),
        (f"{BLOCKED} x", "column 103: unexpected 'x'"),
        ("#ttg.padded_shared<[32:4] {order = [0], shape = [64]}>", "column 21: expected interval:+padding, found '3'"),
        ("#ttg.blocked<[32:+4] {order = [0], sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1]}>",
         "column 6: blocked has no intervals of padding"),
        ("#triton_gpu.shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0], hasLeadingOffset = true}>",
         "column 74: hasLeadingOffset: what a tensor map copies is nvmma_shared"),
        ("#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8, fp4Padded = true}>",
         "column 87: fp4Padded: eight bytes of every sixteen hold nothing, which no linear layout says"),
    ],
)  # fmt: skip
def test_texts_that_are_no_layout(text, problem):
    with pytest.raises(LayoutError) as error:
        read_encoding(text)
    assert str(error.value) == f"{READ} {text!r}: {problem}"


V2 = NvidiaMma(version=(2, 0), warps_per_cta=[2, 2], instr_shape=[16, 8])
V3 = NvidiaMma(version=(3, 0), warps_per_cta=[4, 1], instr_shape=[16, 64, 16])
LANES = [[1], [2], [4], [8], [16]]


@pytest.mark.parametrize(
    "operation, message",
    [
        (lambda: from_triton(BLOCKED), f"{BLOCKED} is for tiles of many shapes; say which: from_triton(encoding, (64, 32))"),
        (lambda: from_triton(BLOCKED, (64, 96)), "extent 96 of dimension 1 is no power of two; Triton's tiles have no other extents"),
        (lambda: from_triton(BLOCKED, (64,)), "the shape (64,) has 1 dimensions, the encoding has 2"),
        (lambda: from_triton(LinearLayout({"lane": LANES}), (64,)), "the linear layout has the shape (32,), not (64,)"),
        (lambda: Linear(lane=LANES).layout((64,)), "the bases reach (32,), the tile is (64,)"),
        (lambda: Blocked(size_per_thread=[3], threads_per_warp=[32], warps_per_cta=[1], order=[0]),
         "sizePerThread = [3]: 3 is no power of two"),
        (lambda: Blocked(size_per_thread=[1], threads_per_warp=[16], warps_per_cta=[1], order=[0]),
         "threadsPerWarp = [16] makes 16 threads; a warp has 32"),
        (lambda: Blocked(size_per_thread=[1, 1], threads_per_warp=[32], warps_per_cta=[1], order=[0]),
         "sizePerThread = [1, 1] has 2 dimensions, order = [0] has 1"),
        (lambda: Blocked(size_per_thread=[1], threads_per_warp=[32], warps_per_cta=[1], order=[1]),
         "order = [1] does not name each of 1 dimensions once"),
        (lambda: Blocked(size_per_thread=[1], threads_per_warp=[32], warps_per_cta=[1], order=[0], cga_layout=[[4]]).layout((4,)),
         "extent 4 of dimension 0 does not split among 8 blocks"),
        (lambda: Blocked(size_per_thread=[1], threads_per_warp=[32], warps_per_cta=[1], order=[0], cga_layout=[[1, 0]]),
         "CGALayout = [[1, 0]]: [1, 0] has 2 coordinates, not 1"),
        (lambda: NvidiaMma(version=(1, 0), warps_per_cta=[1, 1], instr_shape=[16, 16]),
         "nvidia_mma of version 1.0: versions 2 (mma) and 3 (wgmma) are known"),
        (lambda: NvidiaMma(version=(3, 0), warps_per_cta=[4, 1], instr_shape=[16, 96, 16]),
         "instrShape = [16, 96, 16]: n = 96 is no power of two from 8"),
        (lambda: NvidiaMma(version=(2, 0), warps_per_cta=[4, 1], instr_shape=[16, 16]),
         "instrShape = [16, 16]: version 2 has instructions of 16x8"),
        (lambda: DotOperand(op_idx=1, parent=V3, k_width=2),
         "opIdx = 1 under nvidia_mma of version 3: wgmma reads b from shared memory"),
        (lambda: DotOperand(op_idx=0, parent=read_encoding(BLOCKED), k_width=2),
         f"a dot_op whose parent is {BLOCKED} is no operand of tensor cores; the parent must be #ttg.nvidia_mma"),
        (lambda: DotOperand(op_idx=0, parent=V2), "kWidth = [0]: 0 is no power of two"),
        (lambda: NvmmaShared(swizzling_byte_width=128, element_bit_width=16).layout((4, 64)),
         "the tile (4, 64) is smaller than the swizzle of 128 bytes, which needs 8 rows of 64 elements"),
        (lambda: NvmmaShared(swizzling_byte_width=128, element_bit_width=16).layout((64, 64), bits=8),
         "elementBitWidth = 16 is not 8, the bits given"),
        (lambda: NvmmaShared(swizzling_byte_width=48, element_bit_width=16),
         "swizzlingByteWidth = 48: tensor maps swizzle 0, 32, 64 or 128 bytes"),
        (lambda: SwizzledShared(vec=8, per_phase=1, max_phase=8, order=[1, 0]).layout((64, 64)),
         "the XOR of offset[6] = [1, 8] with offset[3] is a swizzle, which permutes bytes; say how wide an element is: bits=16"),
        (lambda: SwizzledShared(vec=1, per_phase=1, max_phase=8, order=[1, 0]).layout((64, 64), bits=4),
         "the XOR of offset[6] = [1, 1] with offset[0] on elements of 4 bits moves parts of a byte; a Swizzle of ptxgen permutes bytes"),
        (lambda: PaddedShared(padding=[(32, 4)], order=[0], shape=[64]).linear((64,)),
         "#ttg.padded_shared<[32:+4] {order = [0], shape = [64]}> is no linear layout: padding leaves holes between offsets\n"
         "  legal: from_triton('#ttg.padded_shared<[32:+4] {order = [0], shape = [64]}>', (64,))"),
        (lambda: LinearLayout({"lane": [*LANES[:4], [16 + 8]]}).layout(),
         "lane[4] = [24] changes several bits of the coordinates: who holds an element is an XOR of them, which no strides of ptxgen "
         "say (a swizzle XORs positions in memory)"),
        (lambda: LinearLayout({"lane": LANES, "register": [[1]]}).layout(),
         "lane[0] and register[0] are both [1]: who holds an element is an XOR of the two, which no strides of ptxgen say"),
        (lambda: LinearLayout({"lane": LANES}, (64,)).layout(), "no basis alone reaches bit 5 of dimension 0: element (32,) has no place"),
        (lambda: LinearLayout({"offset": [[1], [2], [4 + 1], [8 + 1]]}).layout(16),
         "offset[3] = [9] is XORed with offset[0] = [1], offset[2] with offset[0]: no swizzle does both, which XORs neighbouring bits "
         "over one distance"),
        (lambda: LinearLayout({"offset": [[1], [2], [4 + 2 + 1]]}).layout(16),
         "offset[2] = [7] changes several bits of the coordinates: who holds an element is an XOR of them, which no strides of ptxgen "
         "say (a swizzle XORs positions in memory)"),
        (lambda: LinearLayout({"offset": [[1 + 2], [2]]}).layout(8),
         "the XOR of offset[0] = [3] with offset[1] XORs lower bits of a position into higher ones; a Swizzle of ptxgen XORs higher ones "
         "into lower ones"),
        (lambda: LinearLayout({"thread": LANES}),
         "a linear layout maps from register, lane, warp, block, or from offset and block, not from 'thread'"),
        (lambda: LinearLayout({}), "a linear layout without bases needs a shape"),
        (lambda: LinearLayout({"lane": [[1, 0], [2]]}, (4, 1)), "lane[1] = [2] has 1 coordinates, the shape is (4, 1)"),
        (lambda: LinearLayout({"lane": [[4]]}, (4,)), "lane[0] = [4] lies outside the shape (4,)"),
        (lambda: LinearLayout({"lane": [["x"]]}), "a basis is a list of integers, not of 'x'"),
        (lambda: LinearLayout({"lane": LANES})(lane=32),
         "lane=32 is no input of this linear layout: register < 1, lane < 32, warp < 1, block < 1"),
    ],
)  # fmt: skip
def test_what_has_no_layout(operation, message):
    with pytest.raises(LayoutError) as error:
        operation()
    assert str(error.value) == message


N = Symbol("n", 1)
ANY = "\n  legal: to_triton(layout, 'linear'), which says every linear layout"
ANY_SHARED = "\n  legal: to_triton(layout, 'shared_linear')"


@pytest.mark.parametrize(
    "layout, kind, bits, message",
    [
        (Layout(S[(32, 3) : (1 @ laneid, 1)]), "linear", None, "extent 3 of dimension 1 of Layout(S[(32, 3) : (1 @ laneid, 1)]): "
         "no power of two; a linear layout is made of bits"),
        (Layout(S[(32, 4) : (1 @ laneid, 3)]), "linear", None,
         "bit 0 of dimension 1 adds 3 of Layout(S[(32, 4) : (1 @ laneid, 3)]): no power of two; a linear layout is made of bits"),
        (Layout(S[(N, 4) : (1 @ laneid, 1)]), "linear", None,
         "extent n of dimension 0 of Layout(S[(n, 4) : (1 @ laneid, 1)]): no power of two; a linear layout is made of bits"),
        (Layout(S[(16, 4) : (1 @ laneid, 1)]), "linear", None,
         "nothing in Layout(S[(16, 4) : (1 @ laneid, 1)]) moves lanes by 16: lane 16 holds no element\n"
         "  legal: replicas, R[(2,) : (16 @ laneid,)], where it holds what lane 0 holds"),
        (Layout(S[(32, 4) : (1 @ laneid, 2)]), "blocked", None,
         "nothing in Layout(S[(32, 4) : (1 @ laneid, 2)]) moves registers by 1: register 1 holds no element\n"
         "  legal: replicas, R[(2,) : (1,)], where it holds what register 0 holds"),
        (Layout(S[(32, 4) : (1 @ laneid, 1 @ warpid + 1)]), "linear", None,
         "bit 0 of dimension 1 of Layout(S[(32, 4) : (1 @ laneid, 1 + 1 @ warpid)]) moves along several axes; "
         "each bit of a linear layout is one bit of one place"),
        (Layout(S[(32, 4) : (1 @ laneid, 0)]), "linear", None, "bit 0 of dimension 1 of Layout(S[(32, 4) : (1 @ laneid, 0)]) "
         "changes nothing, so elements share a place; each bit of a linear layout is one bit of one place"),
        (Layout(S[(32, 2, 2) : (1 @ laneid, 1, 1)]), "linear", None,
         "bit 0 of dimension 1 and bit 0 of dimension 2 of Layout(S[(32, 2, 2) : (1 @ laneid, 1, 1)]) both move registers by 1; "
         "their sum is no XOR"),
        (Layout(S[(32,) : (1 @ laneid,)], offset=4), "linear", None,
         "Layout(S[(32,) : (1 @ laneid,)], offset=4) has the offset 4; a linear layout maps 0 to 0"),
        (Layout(S[(32,) : (1 @ TLane,)]), "linear", None,
         "Layout(S[(32,) : (1 @ TLane,)]) is on TLane; a linear layout has registers, lanes, warps, blocks and offsets"),
        (Layout(S[(32,) : (1 @ laneid,)]), "shared_linear", None,
         "Layout(S[(32,) : (1 @ laneid,)]) is on threads; a tile in shared memory belongs to all of them"),
        (Layout(S[(32, 64) : (68, 1)]), "shared_linear", None,
         "bit 0 of dimension 0 adds 68 of Layout(S[(32, 64) : (68, 1)]): no power of two; a linear layout is made of bits"),
        (Layout(S[(32, 32) : (64, 1)]), "shared_linear", None,
         "nothing in Layout(S[(32, 32) : (64, 1)]) moves offsets by 32: offset 32 holds no element\n"
         "  legal: to_triton(layout, 'padded_shared'), if what is left out is padding"),
        (Layout(S[64, 64], swizzle=Swizzle.B128), "swizzled_shared", None,
         "Swizzle(3, 4, 3) permutes bytes; say how wide an element is: bits=16"),
        (Layout(S[8, 8]), "nvmma_shared", None, "nvmma_shared says the width of its elements; say how wide an element is: bits=16"),
        (Layout(S[(32, 8) : (1 @ laneid, 1)]), "nvidia_mma", None,
         "Layout(S[(32, 8) : (1 @ laneid, 1)]) is no nvidia_mma encoding: in the nearest, #ttg.nvidia_mma<{versionMajor = 2, "
         "versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8]}>, register[1] is [8, 0]; the layout's is [0, 2]" + ANY),
        (Layout(S[64, 64], swizzle=Swizzle.B64), "nvmma_shared", 16,
         "Layout(S[(64, 64) : (64, 1)], swizzle=Swizzle(2, 4, 3)) is no nvmma_shared encoding: in the nearest, "
         "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>, "
         "offset[8] is [4, 32]; the layout's is [4, 0]" + ANY_SHARED),
        (Layout(S[32]), "nvmma_shared", 16, "no nvmma_shared encoding has tiles of shape (32,)" + ANY_SHARED),
        (Layout(S[32]), "slice", None, "'slice' is no kind of layout that can be written; linear, blocked, nvidia_mma, dot_op, "
         "shared_linear, swizzled_shared, nvmma_shared, padded_shared can"),
        (Layout(S[(4, 8) : (11, 1)]), "padded_shared", None,
         "a step of 11 elements in Layout(S[(4, 8) : (11, 1)]) where 8 would follow: padded_shared leaves out a power of two elements "
         "behind every 2, 4, 8, ..."),
        (Layout(S[4, 8]), "padded_shared", None,
         "Layout(S[(4, 8) : (8, 1)]) has no padding\n  legal: to_triton(layout, 'shared_linear')"),
        (Layout(S[(4, 8) : (12, 1)], offset=1), "padded_shared", None,
         "Layout(S[(4, 8) : (12, 1)], offset=1) has replicas, an offset or a swizzle; padded_shared has none"),
        (Layout(S[(3, 8) : (12, 1)]), "padded_shared", None,
         "the dimension 3 : 12 of Layout(S[(3, 8) : (12, 1)]): padded_shared has extents of 2, 4, ..., steps above 0"),
    ],
)  # fmt: skip
def test_layouts_that_triton_does_not_write(layout, kind, bits, message):
    with pytest.raises(LayoutError) as error:
        to_triton(layout, kind, bits=bits)
    assert str(error.value) == message


def test_encodings_are_values():
    assert read_encoding(BLOCKED) == read_encoding(BLOCKED.replace(", ", ",  "))
    assert len({read_encoding(BLOCKED), read_encoding(BLOCKED)}) == 1
    assert repr(V2) == str(V2) and V2 != V3
    assert SharedLinear(offset=[[1], [2]]).layout((4,)) == Layout(S[4])
