"""Pictures say what brute force over all coordinates says: the SVG is read back, cell by cell."""

from __future__ import annotations

import itertools
import math
import re
import xml.etree.ElementTree as ElementTree
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from ptxgen.layouts import Layout, LayoutError, R, S, Swizzle, Symbol, TCol, TLane, bx, by, cbx, laneid, tid_in_wg, tx, warpid
from ptxgen.layouts.pictures import terminal
from ptxgen.layouts.pictures.palette import HUES, INK, SHADES, ramp, shade
from tests.layouts.strategies import Spec

NS = "{http://www.w3.org/2000/svg}"


class Read(NamedTuple):
    """A cell of a picture: its elements' coordinates, what it says in each place, what stands in it, its colours and its box."""

    elements: list[tuple[int, ...]]
    sentences: list[str]
    texts: list[str]
    colours: list[str]
    box: tuple[float, float, float, float]


def read(svg):
    """The cells of a picture."""
    found = []
    for group in ElementTree.fromstring(svg).iter(f"{NS}g"):
        title = group.find(f"{NS}title")
        if title is None:
            continue
        at, sentence = re.fullmatch(r"\((.*?),?\): (.*)", title.text).groups()
        *outer, inner = at.split(", ") if at else [""]
        first, _, last = inner.partition("–")
        run = range(int(first), int(last or first) + 1) if inner else []
        elements = [(*map(int, outer), one) for one in run] or [()]
        rects, texts = group.findall(f"{NS}rect"), [text.text for text in group.findall(f"{NS}text")]
        xs = [float(rect.get("x")) for rect in rects]
        ys = [float(rect.get("y")) for rect in rects]
        box = xs[0], min(ys), float(rects[0].get("width")), sum(float(rect.get("height")) for rect in rects)
        found.append(Read(elements, sentence.split(", "), texts, [rect.get("fill") for rect in rects], box))
    return found


def places(svg):
    """For each coordinate what its cell says in each place, and how far into the cell's run the element is."""
    found = {}
    for cell in read(svg):
        assert " ".join(cell.texts) == " ".join(
            re.sub(r"^(bank|byte|position) ", "", one).replace(" bit ", ".") for one in cell.sentences
        ) or (cell.sentences[0].startswith("position"))
        for step, element in enumerate(cell.elements):
            assert element not in found
            found[element] = [(sentence, step) for sentence in cell.sentences]
    return found


def span(text):
    first, _, last = text.partition("–")
    return int(first), int(last or first)


def owned(sentence, step, per_register):
    """(thread, position in elements) that an owner's sentence and a step into its run mean."""
    thread, register = re.fullmatch(r"T(\d+)(?: R(\S+))?", sentence).groups()
    number, _, inside = (register or "0").partition(".")
    return int(thread), span(number)[0] * per_register + (span(inside)[0] if inside else 0) + step


# ---- against brute force ------------------------------------------------------------------------------------------------

dims = st.lists(
    st.lists(st.tuples(st.integers(1, 4), st.sampled_from([{"m": 1}, {"m": 2}, {"m": 4}, {"m": 5}, {"tx": 1}, {"tx": 4}, {"warpid": 1}])),
             min_size=1, max_size=2),
    min_size=1, max_size=3,
).filter(lambda parts: math.prod(extent for part in parts for extent, _ in part) <= 100)  # fmt: skip
copies = st.lists(st.tuples(st.integers(1, 3), st.sampled_from([{"m": 64}, {"tx": 256}])), max_size=1)


offsets = st.fixed_dictionaries({}, optional={"m": st.integers(0, 9), "tx": st.integers(0, 40)})


def in_memory(parts):
    return [[(extent, {"m": step.get("m", 3)}) for extent, step in part] for part in parts]


@settings(max_examples=25, deadline=None)
@given(dims, offsets, copies, st.sampled_from([None, (8, 8), (8, 32), (16, 32), (32, 32), (64, 64)]))
def test_owners(parts, offset, replicas, widths):
    spec = Spec([*parts, [(2, {"tx": 64})]], offset, replicas)
    bits, container = widths or (1, 1)
    layout = spec.layout()
    said = places(layout.svg("owner", limit=1000, **({"bits": bits, "container": container} if widths else {})))
    assert set(said) == set(np.ndindex(*spec.shape))
    on_m = "m" in map(str, layout.axes)
    positions, moves = spec.positions(), spec.displacements()
    for element, marks in said.items():
        wanted = {divmod(int(positions[element]) + move, 1 << 20) for move in moves}
        assert {owned(sentence, step * on_m, container // bits) for sentence, step in marks} == wanted


swizzles = st.sampled_from([None, (1, 4, 3), (3, 4, 3), (2, 5, 2)])


def swizzled(byte, swizzle):
    """The address bits [base + shift, ...) flipped into [base, ...), one by one."""
    for bit in range(swizzle[0] if swizzle else 0):
        byte ^= (byte >> swizzle[1] + swizzle[2] + bit & 1) << swizzle[1] + bit
    return byte


@settings(max_examples=25, deadline=None)
@given(dims, st.integers(0, 9), copies, st.sampled_from([4, 8, 16, 32, 64]), swizzles)
def test_addresses_and_banks(parts, offset, replicas, bits, swizzle):
    spec = Spec(in_memory(parts), {"m": offset * 16}, in_memory([replicas])[0])
    plain = spec.layout()
    layout = Layout(shard_of(plain), replicas_of(plain), offset=plain.offset, swizzle=Swizzle(*swizzle) if swizzle else None)
    starts = {
        element: {bit_of((int(position) + move) * bits, swizzle) for move in spec.displacements()}
        for element, position in np.ndenumerate(spec.positions())
    }
    addresses = places(layout.svg("address", bits=bits, limit=1000))
    assert {at: {address(sentence) + step * bits for sentence, step in marks} for at, marks in addresses.items()} == starts
    cells = read(layout.svg("bank", bits=bits, limit=1000))
    assert sorted(at for cell in cells for at in cell.elements) == sorted(starts)
    for cell in cells:
        bit = {bit + inside for at in cell.elements for bit in starts[at] for inside in range(0, bits, 4)}
        assert set().union(*map(banks, cell.sentences)) == {one // 32 % 32 for one in bit}


def shard_of(layout):
    extents = tuple(tuple(e for e, _ in part) for part in layout.dims)
    return S[extents : tuple(tuple(s for _, s in part) for part in layout.dims)]


def replicas_of(layout):
    dims = layout.replica_dims
    return R[tuple(e for e, _ in dims) : tuple(s for _, s in dims)] if dims else None


def bit_of(bit, swizzle):
    return swizzled(bit // 8, swizzle) * 8 + bit % 8


def address(sentence):
    byte, bit = re.fullmatch(r"byte (\d+)(?: bit (\d+))?", sentence).groups()
    return int(byte) * 8 + int(bit or 0)


def banks(sentence):
    first, last = span(sentence.removeprefix("bank "))
    return {(first + number) % 32 for number in range((last - first) % 32 + 1)}


def test_positions_in_elements():
    said = places(Layout(S[(4, 8) : (1, 4)]).svg())
    assert said == {(i, j): [(f"position {i + 4 * j}", 0)] for i in range(4) for j in range(8)}


def test_each_word_of_a_row_of_narrow_elements_says_its_bank():
    cells = read(Layout(S[32, 64], swizzle=Swizzle.B128).svg("bank", bits=16))
    assert len(cells) == 32 * 32 and all(len(cell.elements) == 2 for cell in cells)
    for cell in cells:
        i, j = cell.elements[0]
        assert cell.texts == [str(swizzled((i * 64 + j) * 2, (3, 4, 3)) // 4 % 32)]


def test_tensor_memory():
    layout = Layout(S[(128, 4) : (1 @ TLane, 2 @ TCol)], offset=8 @ TCol)
    said = places(layout.svg(limit=128))
    assert said == {(i, j): [(f"L{i} C{8 + 2 * j}", 0)] for i in range(128) for j in range(4)}


def test_blocks():
    said = places(Layout(S[(2, 3) : (1 @ cbx, 1 @ tx)]).svg())
    assert said == {(i, j): [(f"cbx{i} T{j}", 0)] for i in range(2) for j in range(3)}
    assert "block 1" in Layout(S[(2, 3) : (1 @ bx, 1 @ laneid)]).svg()
    assert [cell.texts for cell in read(Layout(S[(2, 2) : (1 @ bx, 1 @ by)]).svg())] == [
        [f"bx{i}", f"by{j}"] for i in (0, 1) for j in (0, 1)
    ]


def test_memory_of_several_blocks():
    shared = Layout(S[(2, 4, 8) : (1 @ cbx, 8, 1)])
    for way, width in (("address", 4), ("bank", 1)):
        for cell in read(shared.svg(way, bits=32)):
            ((block, i, j),) = cell.elements
            assert cell.texts == [f"cbx{block}", str((8 * i + j) * width)]
    assert read(shared.svg())[-1].sentences == ["cbx1 position 31"]
    pair = Layout(S[((2, 128), 4) : ((1 @ cbx, 1 @ TLane), 1 @ TCol)])
    assert [cell.sentences for cell in read(pair.svg(limit=256))] == [
        [f"cbx{i // 128} L{i % 128} C{j}"] for i in range(256) for j in range(4)
    ]


# ---- what fragments look like -------------------------------------------------------------------------------------------

A = Layout(S[((2, 8), (2, 4, 2)) : ((2, 4 @ laneid), (4, 1 @ laneid, 1))])
"""A of mma.m16n8k16 with 16-bit elements (ISA 9.7.16.5.8): row g or g + 8, columns 2t, 2t + 1 and these + 8, of lane 4g + t."""


def test_a_packed_fragment_has_a_cell_a_register():
    cells = read(A.svg(bits=16, container=32))
    assert len(cells) == 32 * 4
    for cell in cells:
        (row, column), (_, right) = cell.elements
        assert right == column + 1
        assert cell.texts == [f"T{row % 8 * 4 + column % 8 // 2}", f"R{row // 8 + column // 8 * 2}"]


def test_lanes_have_colours_of_their_own_and_keep_them():
    colours = {}
    for cell in read(A.svg(bits=16, container=32)):
        colours.setdefault(cell.texts[0], set()).update(cell.colours)
    assert len(colours) == 32 and all(len(found) == 1 for found in colours.values())
    assert len(set().union(*colours.values())) == 32


def test_replicas_are_several_owners_of_one_cell():
    svg = (S[(4, 8) : (8 @ laneid, 1 @ laneid)] + R[(2,) : (1 @ warpid,)]).svg()
    assert "Each element is in 2 places." in svg
    for cell in read(svg):
        ((i, j),) = cell.elements
        assert cell.texts == [f"T{8 * i + j}", f"T{8 * i + j + 32}"]
        assert cell.colours == [shade(0, j), shade(1, j)]


def test_more_places_than_a_cell_has_room_for_are_counted():
    (cell,) = read((S[(1,) : (1 @ tx,)] + R[(6,) : (1 @ tx,)]).svg())
    assert cell.sentences == ["T0", "T1", "T2", "T3 and 2 more"] and cell.texts == ["T0", "T1", "T2", "T3", "+2"]


def test_replicas_in_one_place_are_one_owner():
    svg = (S[(4,) : (1 @ tx,)] + R[(3,) : (0,)]).svg()
    assert "places" not in svg and all(len(cell.colours) == 1 for cell in read(svg))


# ---- how it is drawn ----------------------------------------------------------------------------------------------------

PICTURES = [
    (A, {"bits": 16, "container": 32, "names": ("m", "k"), "title": "A & <B>"}),
    (Layout(S[8, 64], swizzle=Swizzle.B128), {"bits": 16}),
    (Layout(S[(2, 32, 3, 4) : (1 @ warpid, 1 @ laneid, 4, 1)]), {}),
    (Layout(S[(64, 64) : (64, 1)]), {"by": "bank", "bits": 32}),
    (Layout(S[((4, 2, 8), (32, 4, 2)) : ((32 @ tid_in_wg, 2, 4 @ tid_in_wg), (4, 1 @ tid_in_wg, 1))]), {"bits": 32}),
    (Layout(S[()]), {}),
    (Layout(S[(7,) : (3,)]), {}),
    (S[(2, 2, 2, 2, 2) : (16, 8, 4, 2, 1)] + 5, {"rows": 0}),
]


@pytest.mark.parametrize(("layout", "options"), PICTURES, ids=range(len(PICTURES)))
def test_cells_stand_apart_below_their_headers_and_inside_the_page(layout, options):
    svg = layout.svg(**options)
    assert svg == Layout(shard_of(layout), offset=layout.offset, swizzle=layout.swizzle).svg(**options)
    root = ElementTree.fromstring(svg)
    width, height = (float(root.get(name)) for name in ("width", "height"))
    cells = read(svg)
    boxes = sorted({cell.box for cell in cells})
    assert len(boxes) == len(cells)
    for (x, y, w, h), (x2, y2, _, _) in itertools.pairwise(sorted(boxes, key=lambda box: (box[1], box[0]))):
        assert y2 >= y + h if y2 != y else x2 >= x + w
    assert all(x > 0 and x + w < width and y > 0 and y + h < height for x, y, w, h in boxes)
    assert all(0 < float(text.get("x")) < width and 0 < float(text.get("y")) < height for text in root.iter(f"{NS}text"))
    texts = [(text.text, float(text.get("x")), float(text.get("y"))) for text in root.iter(f"{NS}text")]
    top = min(box[1] for box in boxes)
    outer = [
        text for text in root.findall(f"{NS}text") if text.get("font-weight") and not text.get("text-anchor") and not text.get("font-size")
    ]
    for one, other in itertools.pairwise(outer):
        assert float(one.get("x")) + 6.6 * len(one.text) < float(other.get("x"))
    for cell in cells:
        if cell.elements[0] and layout.ndim == 2:
            row, column = cell.elements[0]
            last = cell.elements[-1][1]
            x, y, w, h = cell.box
            whole = column == last or f" ({last - column + 1} in a cell) →" in svg
            header = str(column) if whole else f"{column}–{last}"
            assert any(text == header and abs(at - x - w / 2) < 1 and line < top for text, at, line in texts)
            assert any(text == str(row) and at < x and y < line < y + h for text, at, line in texts)


def test_words_that_xml_knows_are_kept():
    svg = A.svg(title='<A> & "B"')
    assert ElementTree.fromstring(svg).find(f"{NS}title").text == '<A> & "B"'


def test_of_a_large_tile_the_ends_of_each_part_are_drawn():
    svg = Layout(S[(128, 64) : (1 @ tx, 1)]).svg()
    rows = sorted({cell.elements[0][0] for cell in read(svg)})
    assert rows == [32 * warp + lane for warp in range(4) for lane in (0, 1, 2, 3, 4, 5, 30, 31)]
    words = " ".join(text.text for text in ElementTree.fromstring(svg).iter(f"{NS}text"))
    assert "Dashed: rows are left out. A limit of more draws more of them, a slice of the layout shows a part in full." in words
    plain = read(Layout(S[128, 4]).svg())
    assert sorted({cell.elements[0][0] for cell in plain}) == [*range(24), *range(120, 128)]
    assert len(read(Layout(S[128, 4]).svg(limit=128))) == 512
    assert [cell.elements[0] for cell in read(Layout(S[8, 8]).svg(limit=2))] == [(0, 0), (0, 1), (1, 0), (1, 1)]


@pytest.mark.parametrize("layout", [Layout(S[1024, 1024]), Layout(S[(512, 2048) : (1 @ tx, 1)]), Layout(S[1 << 20 : 1])])
def test_the_largest_tiles_have_pictures_of_moderate_size(layout):
    svg = layout.svg()
    assert len(svg) < 300_000 and len(read(svg)) <= 32 * 32


def test_notebooks_show_the_picture_or_the_text():
    assert A._repr_svg_() == A.svg()
    assert Layout(S[8, 64], swizzle=Swizzle.B128)._repr_svg_() is None
    assert Layout(S[Symbol("n"), 4])._repr_svg_() is None


def test_tables_hold_the_same_words():
    console = Console(width=200, no_color=True, highlight=False)
    with console.capture() as capture:
        console.print(terminal(A, bits=16, container=32, names=("m", "k"), title="A of mma"))
    lines = capture.get().splitlines()
    assert lines[0].strip() == "A of mma" and "m ↓, k →" in lines[2]
    for row, line in enumerate(lines[4:20]):
        wanted = [(row % 8 * 4 + t, row // 8 + 2 * half) for half in range(2) for t in range(4)]
        assert line.split() == [str(row), *(word for thread, register in wanted for word in (f"T{thread}", f"R{register}"))]


@pytest.mark.parametrize("width", [30, 60, 100])
def test_tables_fit_into_the_terminal(width):
    console = Console(width=width, no_color=True, highlight=False)
    drawn = terminal(Layout(S[(4, 64) : (1 @ tx, 1)]), width=width)
    with console.capture() as capture:
        console.print(drawn)
    rows = [line for line in capture.get().splitlines() if re.match(r" *[0-3] +T", line)]
    assert len(rows) == 4 and all(re.search(r"T\d+ R\S+ *$", line) for line in rows)


# ---- colours ------------------------------------------------------------------------------------------------------------

# Machado, Oliveira, Fernandes 2009: what a viewer without one kind of cones sees, in linear light.
SEEN = {
    "all cones": np.eye(3),
    "no long ones": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    "no middle ones": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
    "no short ones": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour):
    channels = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(light):
    x, y, z = np.cbrt(TO_XYZ @ np.clip(light, 0, 1) / (0.9505, 1, 1.089))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eyes", SEEN)
def test_hues_differ_for_every_eye(eyes):
    seen = [lab(SEEN[eyes] @ linear(hue)) for hue in HUES]
    assert min(np.linalg.norm(one - other) for one, other in itertools.combinations(seen, 2)) > 12  # 2.3 is just noticeable


def test_letters_are_legible_on_every_colour():
    shades = [shade(hue, step) for hue in range(len(HUES)) for step in range(SHADES)]
    every = [*shades, *(ramp(part / 16) for part in range(17))]
    dark = (TO_XYZ @ linear(INK))[1]
    assert all(((TO_XYZ @ linear(colour))[1] + 0.05) / (dark + 0.05) >= 4.5 for colour in every)  # WCAG 2, level AA
    assert len(set(shades)) == len(shades)


# ---- what has no picture ------------------------------------------------------------------------------------------------

REFUSED = [
    (
        Layout(S[8, 64], swizzle=Swizzle.B128), {},
        "Swizzle(3, 4, 3) permutes bytes, and nothing says how many bits an element has\n  legal: bits=16 for a tile of bf16, for example",
    ),
    (
        Layout(S[8, 8]), {"by": "bank"},
        "a bank is four bytes wide, and nothing says how many bits an element has\n  legal: bits=16, for example",
    ),
    (
        Layout(S[8, 8]), {"by": "owner"},
        "Layout(S[(8, 8) : (8, 1)]) has no owners: its positions are on m\n"
        '  legal: by="address" or by="bank"; owners have thread axes, as in S[(32, 4) : (1 @ laneid, 1)]',
    ),
    (
        Layout(S[(32, 4) : (1 @ laneid, 1)]), {"by": "address"},
        "Layout(S[(32, 4) : (1 @ laneid, 1)]) is of registers: its elements are in threads, not at addresses\n  legal: by=\"owner\"",
    ),
    (
        Layout(S[(32, 4) : (1 @ TLane, 1 @ TCol)]), {"by": "bank", "bits": 32},
        "Layout(S[(32, 4) : (1 @ TLane, 1 @ TCol)]) is of tensor memory, which has lanes and columns, no banks\n  legal: by=\"address\"",
    ),
    (
        Layout(S[8, 8]), {"by": "colour"},
        "a picture tells of owner, bank or address, not of 'colour'\n  legal: by=\"owner\", by=\"bank\", by=\"address\"",
    ),
    (
        Layout(S[Symbol("n"), 8]), {},
        "the extent n is known only at run time, and a picture has all cells\n  legal: a part: layout[:8, :]",
    ),
    (
        Layout(S[(8, 8) : (8, 1)]) + Symbol("first"), {},
        "positions depend on first, known only at run time\n  legal: a layout without symbols",
    ),
    (
        Layout(S[4096, 8, 4096]), {},
        "134217728 elements, replicas included, are more than the 1048576 of which a picture is made\n"
        "  legal: a part: layout[:64, :, :64]",
    ),
    (
        Layout(S[(32, 4) : (1 @ laneid, 1)]), {"container": 32},
        "registers of a container hold elements of a known size\n  legal: bits=16, container=32, for example",
    ),
    (
        Layout(S[(32, 4) : (1 @ laneid, 1)]), {"bits": 12, "container": 32},
        "elements of 12 bits do not fill registers of 32 bits\n  legal: a container that is a multiple of the element or divides it",
    ),
    (
        Layout(S[(32, 4) : (1 @ laneid, 1)], unit="byte"), {},
        "positions count bits, and nothing says how many an element has\n  legal: bits=16, for example",
    ),
    (Layout(S[8, 8]), {"rows": 3}, "rows=3: 2 dimensions can run downwards\n  legal: rows=0 to rows=2"),
    (Layout(S[8, 8]), {"names": ("m",)}, "1 names for 2 dimensions\n  legal: a name for each dimension"),
    (Layout(S[8, 8]), {"bits": 0}, "bits=0 is not at least 1"),
    (Layout(S[8, 8]), {"limit": 0}, "limit=0 is not at least 1"),
]  # fmt: skip


@pytest.mark.parametrize(("layout", "options", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_has_no_picture_is_refused(layout, options, message):
    with pytest.raises(LayoutError) as caught:
        layout.svg(**options)
    assert str(caught.value) == message
