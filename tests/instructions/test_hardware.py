"""Hardware layouts by opcode: each is a bijection onto its places, which are covered as stated, and agrees with the ISA's own formulas.

The formulas are written out here from the ISA's text and figures; the walk of descriptors is the emulator's.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np
import pytest

import ptxgen as px
from ptxgen.emulator.descriptors import BLACKWELL, HOPPER, decode, matrix_addresses
from ptxgen.instructions.hardware import HardwareOperand, hardware_layout, hardware_layouts, hardware_operands
from ptxgen.layouts import Layout, TCol, TLane, cbx
from tests.emulator.shared_images import blackwell, hopper


def places(layout: Layout, bits: int = 0) -> dict[str, np.ndarray]:
    """Thread, lane, column, block and `m` of every element, replicas in front; `m` in bits where `bits` are given."""
    whole = (layout.bind(bits) if bits else layout).expand_replicas()
    table = whole.table()
    zero = np.zeros(table.shape, np.int64)
    found = {"m": table.m, "thread": zero if table.thread is None else table.thread}
    return {**found, **{axis.name: table.axes.get(axis, zero) for axis in (TLane, TCol, cbx)}}


def distinct(layout: Layout, bits: int = 0) -> int:
    """How many different places the elements have."""
    return len(set(zip(*(values.ravel().tolist() for values in places(layout, bits).values()))))


def element_bits(one: HardwareOperand) -> int:
    return 1 if one.unit == "bit" else getattr(px, one.unit).element.bits if one.unit != "b128" else 128


def chosen(one: HardwareOperand, **choices: Any) -> dict[str, Any]:
    """The first value of what must be chosen."""
    first = {name: values[0] for name, values in one.choices.items() if name in ("rows", "n")}
    first.update({"split": 64} if "split" in one.choices else {})
    return {**first, **{name: value for name, value in choices.items() if name in one.choices}}


# ---- every operand: a bijection, and what it covers -------------------------------------------------------------------

WGMMA = [
    f"wgmma.mma_async.{sparse}sync.aligned.m64n{n}k{k * (1 + bool(sparse))}.{types}"
    for sparse in ("", "sp.")
    for n in (8, 64, 256)
    for k, types in ((16, "f32.bf16.bf16"), (16, "f16.f16.f16"), (8, "f32.tf32.tf32"), (32, "f32.e4m3.e5m2"), (32, "s32.s8.u8"))
] + ["wgmma.mma_async.sync.aligned.m64n16k256.s32.b1.b1.and.popc"]
TCGEN05 = [
    f"tcgen05.mma{form}.cta_group::{group}.kind::{kind}{'.block_scale' if kind.startswith('mx') else ''}{size}"
    for form in ("", ".sp", ".ws", ".ws.sp")
    for group in (1, 2)
    for kind, size in (
        ("f16", ""), ("tf32", ""), ("f8f6f4", ""), ("i8", ""), ("mxf8f6f4", ""), ("mxf4", ""), ("mxf4nvf4", ".scale_vec::4X"),
    )
    if not (".ws" in form and (group == 2 or kind.startswith("mx")))
]  # fmt: skip


def operands(*beginnings: str) -> Iterator[HardwareOperand]:
    for beginning in beginnings:
        yield from hardware_layouts(beginning)


def listed(opcodes: list[str]) -> Iterator[HardwareOperand]:
    for opcode in opcodes:
        yield from hardware_operands(opcode).values()


def test_registers_and_addresses_are_bijections_onto_them() -> None:
    """Every register of every lane is full, but for words that metadata and scales share with other steps; addresses tell rows apart."""
    seen = {}
    for one in itertools.chain(operands("mma", "ldmatrix", "stmatrix", "movmatrix", "tcgen05.ld", "tcgen05.st"), listed(WGMMA)):
        if one.place in ("registers", "addresses"):
            seen.setdefault((one.operand, repr(one.layout(**chosen(one))), one.unit), one)
    assert len(seen) > 150
    for one in seen.values():
        layout = one.layout(**chosen(one))
        found = places(layout)
        assert distinct(layout) == layout.size, one
        assert not layout.replica_dims
        if one.place == "addresses":
            continue
        slots, threads = int(found["m"].max()) + 1, int(found["thread"].max()) + 1
        if one.operand in ("e", "sp_meta", "scale_a", "scale_b"):
            assert layout.size <= threads * 32 // element_bits(one)
        else:
            assert threads == (128 if "wgmma" in one.opcode else 32)
            assert slots * threads == layout.size, one


@pytest.mark.parametrize("opcode", TCGEN05)
def test_tensor_memory_and_shared_matrices_are_bijections(opcode: str) -> None:
    found = hardware_operands(opcode)
    assert {"d_tmem", "b_desc"} <= set(found) and ("sp_meta_tmem" in found) == (".sp" in opcode)
    for one in found.values():
        for rows in one.choices.get("rows", (128,)):
            layout = one.layout(**chosen(one, rows=rows, n=max(one.choices.get("n", (0,)))))
            copies = prod(extent for extent, _ in layout.replica_dims)
            assert distinct(layout, element_bits(one)) == layout.size * copies
            if one.operand == "d_tmem":  # the lanes that the datapath uses, each with as many columns
                at = places(layout)
                half = rows == 64 and ".ws" not in opcode and ("::1" in opcode.split(".kind")[0] or ".sp" in opcode)
                assert len(np.unique(at["TLane"])) == (64 if half else 128)
                assert len(np.unique(at["TCol"])) * len(np.unique(at["TLane"])) == layout.size
            if one.operand.startswith("scale"):
                assert copies == 4
            elif one.operand in ("a_tmem", "sp_meta_tmem"):
                stacked = ".ws" in opcode or (rows == 64 and "cta_group::2" in opcode and ".sp" not in opcode)
                assert copies == (128 // rows if stacked else 1)
            else:
                assert copies == 1
            if "pair" in one.choices:
                both = one.layout(**chosen(one, rows=rows), pair=True)
                assert distinct(both, element_bits(one)) == both.size * prod(extent for extent, _ in both.replica_dims)
                assert set(places(both, element_bits(one))["cbx"].ravel().tolist()) == {0, 1}


def test_copies_to_tensor_memory() -> None:
    for one in hardware_layouts("tcgen05.cp"):
        layout = one.layout(**chosen(one))
        copies = 4 if "warpx4" in one.opcode else 2 if "warpx2" in one.opcode else 1
        if one.place == "tensor memory":
            assert prod(extent for extent, _ in layout.replica_dims) == copies
            assert distinct(layout) == layout.size * copies
            rows = layout.shape[0] * copies
            assert len(np.unique(places(layout)["TLane"])) == rows == (4 if "4x256b" in one.opcode else 128)


def test_the_fragments_of_wmma_are_the_hardwares_own_affair() -> None:
    with pytest.raises(px.LayoutError) as caught:
        hardware_layout("wmma.load.a.sync.aligned.row.m16n16k16.global.f16", "r")
    assert str(caught.value) == (
        "r of wmma.load.a.sync.aligned.row.m16n16k16.global.f16: the ISA leaves open which lane holds which element of a wmma fragment, "
        "and targets differ; fragments are loaded, multiplied and stored by wmma alone, while those of mma.sync are specified "
        "(PTX ISA 9.7.16.4.1)"
    )
    opcode = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"
    assert not hardware_operands(opcode)
    with pytest.raises(px.LayoutError, match="leaves open"):
        hardware_layout(opcode, "D")


@pytest.mark.parametrize("layout", ["row", "col"])
def test_the_memory_of_wmma_is_specified(layout: str) -> None:
    """ISA 9.7.16.4.2: element (i, j) of a row-major matrix lies i * stride + j behind the address; b is written (n, k) here."""
    for matrix, (rows, columns), k_inside in (("a", (32, 16), layout == "row"), ("b", (8, 16), layout == "col")):
        opcode = f"wmma.load.{matrix}.sync.aligned.{layout}.m32n8k16.shared.bf16"
        for stride in (None, 48):
            found = hardware_layout(opcode, "p", **({} if stride is None else {"stride": stride}))
            leading = stride or (columns if k_inside else rows)
            i, j = np.indices((rows, columns))
            np.testing.assert_array_equal(found.table().m, i * leading + j if k_inside else j * leading + i)


# ---- formulas of registers --------------------------------------------------------------------------------------------


def check(layout: Layout, formula: Callable[..., tuple[int, ...]], threads: int, slots: int) -> None:
    """The element in a slot of a thread has the coordinates that the formula gives."""
    table = layout.table()
    held = {(int(t), int(s)): at for (at, t), s in zip(np.ndenumerate(table.thread), table.m.ravel())}
    assert held == {(t, s): formula(t, s) for t in range(threads) for s in range(slots)}


@pytest.mark.parametrize("n", [8, 40, 256])
def test_accumulators_of_wgmma(n: int) -> None:
    """ISA 9.7.17.5.1.1.1: row = 16 * warp + lane / 4 (+ 8), column = 8 * (i / 4) + lane % 4 * 2 + i % 2."""
    layout = hardware_layout(f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16", "D")
    check(layout, lambda t, i: (16 * (t // 32) + t % 32 // 4 + 8 * (i // 2 % 2), 8 * (i // 4) + t % 4 * 2 + i % 2), 128, n // 2)


@pytest.mark.parametrize(("k", "types", "e"), [(16, "f32.bf16.bf16", 2), (8, "f32.tf32.tf32", 1), (32, "s32.s8.s8", 4)])
def test_factors_of_wgmma_in_registers(k: int, types: str, e: int) -> None:
    """ISA 9.7.17.5.1.1.1: as mma's a for each warp's 16 rows, four registers of e elements."""
    layout = hardware_layout(f"wgmma.mma_async.sync.aligned.m64n8k{k}.{types}", "a")

    def formula(t: int, i: int) -> tuple[int, int]:
        register, inside = divmod(i, e)
        return 16 * (t // 32) + t % 32 // 4 + 8 * (register % 2), t % 4 * e + inside + 4 * e * (register // 2)

    check(layout, formula, 128, 4 * e)


SPARSE = [
    ("m16n8k16", "f32.f16.f16.f32", 1, False), ("m16n8k8", "f32.tf32.tf32.f32", 1, False), ("m16n8k32", "f32.bf16.bf16.f32", 2, False),
    ("m16n8k16", "f32.tf32.tf32.f32", 2, False), ("m16n8k32", "s32.s8.s8.s32", 2, True), ("m16n8k64", "s32.s4.u4.s32", 2, True),
    ("m16n8k64", "s32.u8.u8.s32", 4, True), ("m16n8k128", "s32.s4.s4.s32", 4, True), ("m16n8k64", "f32.e4m3.e4m3.f32", 4, True),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "types", "lanes", "by_row"), SPARSE)
def test_metadata_in_registers(shape: str, types: str, lanes: int, by_row: bool) -> None:
    """ISA 9.7.16.6.2, figures of metadata: nibble q of the word of lane 4 * g + selector * lanes + u."""
    opcode = f"mma.sp.sync.aligned.{shape}.row.col.{types}"
    for selector in hardware_operands(opcode)["e"].choices["selector"]:
        layout = hardware_layout(opcode, "E", selector=selector)
        assert layout.shape == (16, 4 * lanes)
        table, found = layout.table(), {}
        for (at, lane), nibble in zip(np.ndenumerate(table.thread), table.m.ravel()):
            found[int(lane), int(nibble)] = at
        for g, u, q in itertools.product(range(8), range(lanes), range(8)):
            if by_row:  # a word tells of one row: lanes 0 and 2 of row g, 1 and 3 of row g + 8
                wanted = g + 8 * (u % 2), 8 * (u // 2) + q
            else:  # the lower half of a word tells of row g, the upper one of row g + 8
                wanted = g + 8 * (q // 4), 4 * u + q % 4
            assert found.pop((4 * g + selector * lanes + u, q)) == wanted
        assert not found


@pytest.mark.parametrize(("k", "types"), [(32, "f32.f16.f16"), (16, "f32.tf32.tf32"), (64, "s32.s8.s8")])
def test_metadata_of_wgmma(k: int, types: str) -> None:
    """ISA 9.7.17.6.2: each warp's 16 rows as mma.sp of the same type and depth has them."""
    opcode = f"wgmma.mma_async.sp.sync.aligned.m64n16k{k}.{types}"
    for selector in hardware_operands(opcode)["sp_meta"].choices["selector"]:
        whole = hardware_layout(opcode, "sp_meta", selector=selector).table()
        d, a, b = types.split(".")
        one = hardware_layout(f"mma.sp.sync.aligned.m16n8k{k}.row.col.{d}.{a}.{b}.{d}", "e", selector=selector).table()
        for warp in range(4):
            rows = slice(16 * warp, 16 * warp + 16)
            np.testing.assert_array_equal(whole.thread[rows], one.thread + 32 * warp)
            np.testing.assert_array_equal(whole.m[rows], one.m)


@pytest.mark.parametrize(("kind", "vectors", "k", "of", "stype"), [
    ("mxf8f6f4", 1, 32, "e4m3", "ue8m0"), ("mxf4", 2, 64, "e2m1", "ue8m0"), ("mxf4nvf4", 4, 64, "e2m1", "ue4m3"),
])  # fmt: skip
def test_scales_in_registers(kind: str, vectors: int, k: int, of: str, stype: str) -> None:
    """ISA 9.7.16.3: thread-id-a picks the lower or upper two lanes of every four, thread-id-b one lane; byte-id the first byte."""
    opcode = f"mma.sync.aligned.m16n8k{k}.row.col.kind::{kind}.block_scale.scale_vec::{vectors}X.f32.{of}.{of}.f32.{stype}"
    found = hardware_operands(opcode)
    for byte, thread in itertools.product(found["scale_a"].choices["byte"], (0, 1)):
        table = hardware_layout(opcode, "SFA", byte=byte, thread=thread).table()
        i, j = np.indices((16, vectors))
        np.testing.assert_array_equal(table.thread, i % 8 * 4 + 2 * thread + i // 8)
        np.testing.assert_array_equal(table.m, byte + j)
    for byte, thread in itertools.product(found["scale_b"].choices["byte"], range(4)):
        table = hardware_layout(opcode, "SFB", byte=byte, thread=thread).table()
        i, j = np.indices((8, vectors))
        np.testing.assert_array_equal(table.thread, i * 4 + thread)
        np.testing.assert_array_equal(table.m, byte + j)
    assert found["scale_a"].choices["byte"] == {1: (0, 1, 2, 3), 2: (0, 2), 4: (0,)}[vectors]


@pytest.mark.parametrize(("source", "bits"), [("b6x16_p32", 6), ("b4x16_p64", 4)])
def test_packed_rows_of_ldmatrix(source: str, bits: int) -> None:
    """ISA 9.7.16.5.15: 16 elements are packed from the first bit of the 16 bytes of a row on."""
    for shape, rows in (("m8n16.x4", 8), ("m16n16.x2.trans", 16)):
        layout = hardware_layout(f"ldmatrix.sync.aligned.{shape}.shared.b8x16.{source}", "p")
        table, (i, row, element) = layout.table(), np.indices(layout.shape)
        assert layout.unit == "bit"
        np.testing.assert_array_equal(table.thread, rows * i + row)
        np.testing.assert_array_equal(table.m, bits * element)


# ---- tensor memory ----------------------------------------------------------------------------------------------------



DATAPATHS = {
    # opcode, rows of a block -> lane and column of (row, column) of D with n columns; ISA 9.7.18.10.5, by layout
    "A": ("tcgen05.mma.cta_group::2.kind::f16", 128, lambda r, c, n: (r, c)),
    "B": ("tcgen05.mma.cta_group::2.kind::f16", 64, lambda r, c, n: (r + 64 * (c // (n // 2)), c % (n // 2))),
    "C": ("tcgen05.mma.sp.cta_group::2.kind::f16", 64, lambda r, c, n: (r // 16 * 32 + r % 16, c)),
    "D": ("tcgen05.mma.cta_group::1.kind::f16", 128, lambda r, c, n: (r, c)),
    "D, sparse": ("tcgen05.mma.sp.cta_group::1.kind::f16", 128, lambda r, c, n: (r, c)),
    "E": ("tcgen05.mma.ws.cta_group::1.kind::f16", 64, lambda r, c, n: (r + 64 * (c // (n // 2)), c % (n // 2))),
    "F": ("tcgen05.mma.cta_group::1.kind::f16", 64, lambda r, c, n: (r // 16 * 32 + r % 16, c)),
    "G": ("tcgen05.mma.ws.cta_group::1.kind::f16", 32, lambda r, c, n: (r + 32 * (c // (n // 4)), c % (n // 4))),
}


@pytest.mark.parametrize("name", DATAPATHS)
def test_datapaths(name: str) -> None:
    opcode, rows, formula = DATAPATHS[name]
    at = places(hardware_layout(opcode, "D", rows=rows, n=64))
    lane, column = formula(*np.indices((rows, 64)), 64)
    np.testing.assert_array_equal(at["TLane"], lane)
    np.testing.assert_array_equal(at["TCol"], column)
    # A in tensor memory: its rows in the lanes of D's, two 16-bit elements a column, again wherever D's further columns are.
    k = 16
    at = places(hardware_layout(opcode, "a_tmem", rows=rows))
    stacked = {"B": 2, "E": 2, "G": 4}.get(name, 1)
    row, depth = np.indices((rows, k))
    base = formula(row, 0 * row, 64)[0]
    wanted = np.stack([base + rows * copy for copy in range(stacked)])
    np.testing.assert_array_equal(at["TLane"].reshape(wanted.shape), wanted)
    np.testing.assert_array_equal(at["TCol"].reshape(wanted.shape), np.broadcast_to(depth // 2, wanted.shape))
    np.testing.assert_array_equal(at["m"].reshape(wanted.shape), np.broadcast_to(depth % 2, wanted.shape))


@pytest.mark.parametrize(("kind", "chunks"), [("f16", 8), ("tf32", 8), ("i8", 16), ("f8f6f4", 16)])
@pytest.mark.parametrize("rows", [64, 128])
def test_metadata_in_tensor_memory(kind: str, chunks: int, rows: int) -> None:
    """ISA 9.7.18.10.8.4, figures: of wide elements rows r and r + 8 share words, chunks from the fifth on lie 8 lanes on."""
    opcode = f"tcgen05.mma.sp.cta_group::1.kind::{kind}"
    wide = chunks == 8
    for selector in hardware_operands(opcode)["sp_meta_tmem"].choices.get("selector", (None,)):
        at = places(hardware_layout(opcode, "E", rows=rows, **({} if selector is None else {"selector": selector})))
        row, chunk = np.indices((rows, chunks))
        lane = row // 16 * (32 if rows == 64 else 16) + (row % 8 + 8 * (chunk // 4) if wide else row % 16)
        np.testing.assert_array_equal(at["TLane"], lane)
        np.testing.assert_array_equal(at["TCol"], np.broadcast_to(selector, row.shape) if wide else chunk // 8)
        np.testing.assert_array_equal(at["m"], row % 16 // 8 * 4 + chunk % 4 if wide else chunk % 8)


@pytest.mark.parametrize(("kind", "vectors"), [("mxf8f6f4", 1), ("mxf4", 2), ("mxf4nvf4.block_scale.scale_vec::4X", 4)])
@pytest.mark.parametrize("group", [1, 2])
def test_scales_in_tensor_memory(kind: str, vectors: int, group: int) -> None:
    """ISA 9.7.18.10.7.2: row r in lane r % 32 of column r / 32, the same in the lanes of each of the four warps."""
    opcode = f"tcgen05.mma.cta_group::{group}.kind::{kind}" + ("" if ".block_scale" in kind else ".block_scale")
    for operand, rows, choices in (("SFA", 128, {}), ("SFB", 256, {"n": 256})):
        at = places(hardware_layout(opcode, operand, **choices))
        copy, row, vector = np.indices((4, rows, vectors))
        np.testing.assert_array_equal(at["TLane"], 32 * copy + row % 32)
        np.testing.assert_array_equal(at["TCol"], row // 32)
        np.testing.assert_array_equal(at["m"], vector)
    if group == 2:  # each block has the scales of its rows of A, and of all columns of the product
        layout = hardware_layout(opcode, "SFB", n=64, pair=True)
        assert layout.shape == (64, vectors) and places(layout)["cbx"].shape == (2, 4, 64, vectors)
        assert hardware_layout(opcode, "SFA", pair=True).shape == (256, vectors)


MOVES = {
    # shape -> (row, column) of register i of a lane; ISA 9.7.18.2.3, "Data Movement Shape"
    "32x32b": lambda t, i: (t, i),
    "16x64b": lambda t, i: (t // 4 + 8 * (t % 2), 2 * i + t % 4 // 2),
    "16x128b": lambda t, i: (t // 4 + 8 * (i % 2), 4 * (i // 2) + t % 4),
    "16x256b": lambda t, i: (t // 4 + 8 * (i // 2 % 2), 8 * (i // 4) + t % 4 * 2 + i % 2),
}


@pytest.mark.parametrize("shape", MOVES)
def test_moves_to_and_from_tensor_memory(shape: str) -> None:
    for opcode in (f"tcgen05.ld.sync.aligned.{shape}.x2.b32", f"tcgen05.st.sync.aligned.{shape}.x2.b32"):
        check(hardware_layout(opcode, "r"), MOVES[shape], 32, hardware_layout(opcode, "r").size // 32)
        at = places(hardware_layout(opcode, "taddr"))
        np.testing.assert_array_equal([at["TLane"], at["TCol"]], np.indices(at["TLane"].shape))


def test_halves_of_columns() -> None:
    """.pack::16b: the lower halves of two columns in a register; with .16x32bx2 the other 16 lanes' columns lie `split` on."""
    plain = "tcgen05.ld.sync.aligned.32x32b.x4.pack::16b.b32"
    check(hardware_layout(plain, "r"), lambda t, i: (t, i // 2, i % 2), 32, 8)
    opcode = "tcgen05.ld.sync.aligned.16x32bx2.x4.pack::16b.b32"
    check(hardware_layout(opcode, "r"), lambda t, i: (t % 16, t // 16, i // 2, i % 2), 32, 8)
    at = places(hardware_layout(opcode, "taddr", split=32))
    lane, half, register, part = np.indices((16, 2, 4, 2))
    np.testing.assert_array_equal(at["TLane"], lane)
    np.testing.assert_array_equal(at["TCol"], 32 * half + 2 * register + part)
    with pytest.raises(px.LayoutError) as caught:
        hardware_layout(opcode, "taddr")
    assert str(caught.value) == f"taddr of {opcode}: split is not given\n  legal: split = a number of columns"


# ---- shared memory ----------------------------------------------------------------------------------------------------

SHARED = [
    ("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16", 16, {}), ("wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32", 32, {}),
    ("wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8", 8, {}), ("tcgen05.mma.cta_group::1.kind::f16", 16, {"n": 64}),
    ("tcgen05.mma.cta_group::1.kind::tf32", 32, {"n": 64}), ("tcgen05.mma.cta_group::1.kind::f8f6f4", 8, {"n": 64}),
    ("tcgen05.mma.ws.cta_group::1.kind::i8", 8, {"n": 64}),
]  # fmt: skip


@pytest.mark.parametrize(("opcode", "bits", "choices"), SHARED)
def test_shared_matrices_are_where_the_hardware_walks(opcode: str, bits: int, choices: dict[str, int]) -> None:
    """Every element of one instruction's b, for every major and swizzle, dense and with distances of one's own."""
    one, t = hardware_operands(opcode)["b_desc"], 128 // bits
    count = 0
    for major, swizzle, apart in itertools.product(one.choices["major"], one.choices["swizzle"], (False, True)):
        if major == "mn" and bits == 32 and swizzle != 128:
            with pytest.raises(px.LayoutError, match=r"is not mn-major with a swizzle of \d+ bytes"):
                one.layout(major=major, swizzle=swizzle, **choices)
            continue
        count += 1
        k = 256 // bits
        span, atom = max(16, swizzle), 4 if (major, bits) == ("mn", 32) else 8
        if major == "k":  # dense: atoms along K are next to each other without a swizzle, else panels
            lead, stride = 128, 8 * span if swizzle else k // t * 128
        elif swizzle:
            lead, stride = span * k, span * atom
        else:
            lead, stride = 64 // t * 128, 128
        distances = {"lead": lead, "stride": stride}
        if apart:
            distances = {"lead": lead + 512, "stride": stride + 1024}
        layout = one.layout(major=major, swizzle=swizzle, **choices, **(distances if apart else {}))
        found = layout.bind(bits).table().m // 8
        fields = (hopper if "wgmma" in opcode else blackwell)(
            0, distances["lead"], distances["stride"], span, **({"granule": 32} if atom == 4 else {})
        )
        told = decode(fields, HOPPER if "wgmma" in opcode else BLACKWELL)
        assert not isinstance(told, str)
        chunks = matrix_addresses(told, k_major=major == "k", rows=64, depth=k, element=bits // 8)
        row, column = np.indices((64, k))
        chunk = chunks[row, column // t] if major == "k" else chunks[row // t, column]
        np.testing.assert_array_equal(found, chunk + (column if major == "k" else row) % t * bits // 8)
    assert count == 2 * (4 + (0 if "wgmma" in opcode and bits != 16 else 1 if bits == 32 else 4))


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("major", ["k", "mn"])
def test_tiles_of_shared_matrices_fill_their_memory(swizzle: int, major: str) -> None:
    """A tile of several instructions: dense, each byte once; a part of it lies as one instruction's operand does."""
    opcode = "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"
    tile = hardware_layout(opcode, "b_desc", major=major, swizzle=swizzle, shape=(128, 128))
    positions = tile.bind(16).table().m
    assert sorted(positions.ravel().tolist()) == list(range(0, 128 * 128 * 16, 16))
    # Behind the swizzle's XOR a step of one instruction along K is the same for all elements.
    linear = tile.bind(16).table().linear
    steps = linear[:, 16:32] - linear[:, :16]
    assert (steps == steps[0, 0]).all()


# ---- names and refusals -----------------------------------------------------------------------------------------------


def test_letters_and_what_must_be_chosen() -> None:
    opcode = "tcgen05.mma.cta_group::1.kind::f16"
    with pytest.raises(px.LayoutError) as caught:
        hardware_layout(opcode, "D", rows=128)
    assert str(caught.value) == (
        f"d_tmem of {opcode}: n is not given, and no qualifier spells it\n  legal: n = 16 to 256 in steps of 16"
    )
    with pytest.raises(px.LayoutError) as caught:
        hardware_layout(opcode, "D", rows=128, n=24)
    assert str(caught.value) == f"d_tmem of {opcode}: n = 24\n  legal: n = 16 to 256 in steps of 16"
    with pytest.raises(px.LayoutError) as caught:
        hardware_layout(opcode, "A", rows=128)
    assert str(caught.value) == f"A of {opcode} may be a_desc or a_tmem\n  legal: 'a_desc' or 'a_tmem'"
    with pytest.raises(px.LayoutError) as caught:
        hardware_layout(opcode, "b_desc", n=64, swizzle=16)
    assert str(caught.value) == f"swizzle = 16 for b_desc of {opcode}\n  legal: swizzle = 128 or 64 or 32 or 0"
    with pytest.raises(px.LayoutError) as caught:
        hardware_layout(opcode, "b_desc", n=64, shape=(64, 24))
    assert str(caught.value) == (
        f"a tile of (64, 24) for b_desc of {opcode}\n  legal: (rows, k) that are multiples of (64, 16), one instruction's"
    )
    with pytest.raises(px.LayoutError) as caught:
        hardware_layout("ldmatrix.sync.aligned.m8n8.x2.shared.b16", "r", swizzle=128)
    assert str(caught.value) == "swizzle is no choice for r of ldmatrix.sync.aligned.m8n8.x2.shared.b16\n  legal: it takes none"
    with pytest.raises(px.LayoutError, match="each thread has its own words"):
        hardware_layout("ld.global.b32", "d")
    with pytest.raises(px.InstructionError):
        hardware_layout("mma.sync.aligned.m16n8k17.row.col.f32.bf16.bf16.f32", "A")


def test_a_layout_passes_straight_to_a_tile() -> None:
    opcode = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"

    @px.kernel(grid=1, block=32)
    def product(a: px.Tensor((16, 8), px.tf32), b: px.Tensor((8, 8), px.tf32), d: px.Tensor((16, 8), px.f32)):  # type: ignore[no-untyped-def, valid-type]
        left, right, sums = (
            px.local(shape, of, layout=px.hardware_layout(opcode, name))
            for shape, of, name in (((16, 8), px.tf32, "A"), ((8, 8), px.tf32, "B"), ((16, 8), px.f32, "D"))
        )
        for registers, memory in ((left, a), (right, b)):
            own, there = (view.rearrange("(i g) (h t) -> g t i h 1", g=8, t=4) for view in (registers, memory))
            px.tile.apply("ld.global.b32", own, there, scope="cta")
        px.tile.ewise(lambda: 0.0, sums.rearrange("(i g) (t e) -> g t i e", g=8, e=2), scope="cta")
        px.tile.apply(opcode, *(view.view(1, 1, *view.shape) for view in (sums, left, right, sums)), scope="cta")
        own, there = (view.rearrange("(i g) (t e) -> g t i e 1", g=8, e=2) for view in (sums, d))
        px.tile.apply("st.global.f32", there, own, scope="cta")

    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((16, 8), (8, 8)))
    d = np.empty((16, 8), np.float32)
    product(a, b, d)
    np.testing.assert_array_equal(d, a @ b.T)
