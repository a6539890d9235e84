"""CuTe's thread-value layouts: each is held against its own evaluation, thread by thread and value by value."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.instructions.fragments import FRAGMENTS
from ptxgen.layouts import Layout, LayoutError, R, S, Swizzle, cbx, laneid, m, parse, tx, warpid
from ptxgen.layouts.interchange import ThreadValues, from_cute_tv, to_cute_tv
from tests.layouts.cute_definitions import index, size, text_of


def owners(shape, stride, tile, thr_id=None):
    """For each element of the tile all (thread, value) that the TV layout sends to it."""
    found = {}
    for t in range(size(shape[0])):
        for v in range(size(shape[1])):
            flat = index(t, shape[0], stride[0]) + index(v, shape[1], stride[1])
            element = []
            for extent in tile:
                element.append(flat % extent)
                flat //= extent
            assert flat == 0
            found.setdefault(tuple(element), set()).add((t if thr_id is None else index(t, *thr_id), v))
    return found


def places(layout):
    """The same from the layout: every element's threads and registers, replicas included."""
    full = layout.expand_replicas()
    table, lead = full.table(), len(layout.replica_dims)
    found = {}
    for at in np.ndindex(*full.shape):
        thread = 0 if table.thread is None else int(table.thread[at])
        found.setdefault(at[lead:], set()).add((thread, int(table.m[at])))
    return found


@st.composite
def thread_values(draw):
    """Modes that cover a tile once: its prime steps, dealt out to threads and values in any order; and modes of stride 0."""
    tile = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 4, 6, 8]), min_size=1, max_size=3)))
    steps, weight = [], 1
    for extent in tile:
        while extent > 1:
            prime = next(p for p in (2, 3) if extent % p == 0)
            steps.append((prime, weight))
            weight *= prime
            extent //= prime
    steps = draw(st.permutations(steps)) + draw(st.lists(st.tuples(st.sampled_from([1, 2, 3]), st.just(0)), max_size=2))
    sides = ([], [])
    for step in steps:
        sides[draw(st.integers(0, 1))].append(step)
    modes = [side or [(1, 0)] for side in sides]
    return tuple(tuple(e for e, _ in side) for side in modes), tuple(tuple(s for _, s in side) for side in modes), tile


@settings(max_examples=40, deadline=None)
@given(thread_values())
def test_elements_live_where_the_layout_sends_threads_and_values(tv):
    shape, stride, tile = tv
    layout = from_cute_tv(f"{text_of(shape)}:{text_of(stride)}", tile=tile)
    assert layout.shape == tile
    assert places(layout) == owners(shape, stride, tile)


@settings(max_examples=40, deadline=None)
@given(thread_values())
def test_a_register_layout_is_written_and_read_back(tv):
    shape, stride, tile = tv
    layout = from_cute_tv(shape, stride, tile=tile)
    written = to_cute_tv(layout)
    again = from_cute_tv(written.layout, tile=written.tile, thr_id=written.thr_id)
    assert places(again) == places(layout)
    assert to_cute_tv(again) == written
    assert to_cute_tv(layout.bind(16), bits=16) == written


# Atoms as CuTe's mma_traits describe them, and the fragments of the contracts with m / 8, k / (4 * e) and e elements a register.
ATOMS = [
    ("((4,8),(2,2)):((32,1),(16,8))", (16, 8), "d", {"i": 2}),
    ("((4,8),(2,2,2)):((32,1),(16,8,128))", (16, 16), "a", {"i": 2, "h": 2, "e": 2}),
    ("((4,8),(2,2)):((16,1),(8,64))", (8, 16), "b", {"h": 2, "e": 2}),
    ("((4,8),(4,2,2)):((64,1),(16,8,256))", (16, 32), "a", {"i": 2, "h": 2, "e": 4}),
    ("((4,8),(4,2)):((32,1),(8,128))", (8, 32), "b", {"h": 2, "e": 4}),
]


@pytest.mark.parametrize("text, tile, operand, names", ATOMS)
def test_atoms_of_mma_are_the_fragments_of_the_contracts(text, tile, operand, names):
    fragment = parse(FRAGMENTS[operand].layout, **names)
    assert from_cute_tv(text, tile=tile, axis=laneid) == fragment
    assert to_cute_tv(fragment) == ThreadValues(text, tile, "32:1")


def test_the_accumulator_of_wgmma():
    layout = from_cute_tv("((4,8,4),(2,2,16)):((128,1,16),(64,8,512))", tile=(64, 128))
    for row, column in ((0, 0), (1, 0), (8, 3), (17, 9), (63, 127)):
        thread = row // 16 * 32 + row % 8 * 4 + column % 8 // 2
        assert layout(row, column) == {tx: thread, m: column // 8 * 4 + row % 16 // 8 * 2 + column % 2}


def test_a_quadpair_of_volta_as_cutes_documentation_derives_it():
    layout = from_cute_tv("((2,2,2),(2,2,2)):((1,16,4),(8,2,32))", tile=(8, 8), thr_id="(4,2):(1,16)", axis=laneid)
    # (T0,V0) ... (T7,V0), where T4 is lane 16
    assert [layout(*at)[tx] for at in ((0, 0), (1, 0), (0, 2), (1, 2), (4, 0), (5, 0), (4, 2), (5, 2))] == [0, 1, 2, 3, 16, 17, 18, 19]
    assert [layout(*at)[m] for at in ((0, 0), (0, 1), (2, 0), (2, 1), (0, 4), (0, 5), (2, 4), (2, 5))] == list(range(8))
    assert to_cute_tv(layout) == ThreadValues("((2,2,2),(2,2,2)):((1,16,4),(8,2,32))", (8, 8), "(4,2):(1,16)")


def test_threads_that_do_not_begin_at_0():
    second = from_cute_tv("(8,8):(1,8)", tile=(8, 8), thr_id="Sw<0,4,3> o 4 o (4,2):(1,16)")
    assert [second(row, 3)[tx] for row in range(8)] == [4, 5, 6, 7, 20, 21, 22, 23]
    assert to_cute_tv(second) == ThreadValues("(8,8):(1,8)", (8, 8), "Sw<0,4,3> o 4 o (4,2):(1,16)")
    warps = Layout(S[(64, 4) : (1 @ tx, 1)]) + 2 @ warpid
    written = to_cute_tv(warps)
    assert written == ThreadValues("(64,4):(1,64)", (64, 4), "Sw<0,4,3> o 64 o 64:1")
    assert from_cute_tv(written.layout, tile=written.tile, thr_id=written.thr_id) == warps


def test_threads_that_hold_the_same_become_replicas():
    layout = from_cute_tv("((4,8),2):((0,2),1)", tile=(2, 8))
    assert layout == Layout(S[(2, 8) : (1, 4 @ tx)], R[(4,) : (1 @ tx,)])
    assert to_cute_tv(layout) == ThreadValues("((4,8),2):((0,2),1)", (2, 8), "32:1")


@pytest.mark.parametrize(
    "operation, message",
    [
        (lambda: from_cute_tv("(4,2):(1,8)", tile=(4, 4)), "element (0, 1) of the tile (4, 4) (index 4) belongs to no thread and value"),
        (lambda: from_cute_tv("(4,2):(1,16)", tile=(4, 4)), "thread 0, value 1 is index 16, outside the tile (4, 4) of 16 elements"),
        (lambda: from_cute_tv("(4,4):(1,1)", tile=(4, 4)), "element (3, 1) of the tile (4, 4) (index 7) belongs to no thread and value"),
        (lambda: from_cute_tv("(4,4):(1,2)", tile=(10,)),
         "element (2,) of the tile (10,) (index 2) belongs to thread 0, value 1 and to thread 2, value 0; "
         "only modes of stride 0 repeat elements"),
        (lambda: from_cute_tv("(4,6):(1,4)", tile=(6, 4)), "the tile (6, 4) cuts a mode of (4,6):(1,4): "
         "extent 4 ends inside the dimension 6 : 1, and neither of 4 and 6 divides the other"),
        (lambda: from_cute_tv("(4,2,2):(1,4,8)", tile=(4, 4)),
         "a thread-value layout has two modes, (threads, values), not 3: (4,2,2):(1,4,8)"),
        (lambda: from_cute_tv("Sw<0,4,3> o 4 o (4,2):(1,4)", tile=(4, 4)),
         "a thread-value layout is made of numbers known now, without offset and swizzle: Sw<0,4,3> o 4 o (4,2):(1,4)"),
        (lambda: from_cute_tv("(64,2):(1,64)", tile=(64, 2), axis=laneid),
         "laneid reaches 63 at coordinate (63, 0); a warp has lanes 0..31: write warpid and laneid, or use tx"),
        (lambda: from_cute_tv("(8,2):(1,8)", tile=(8, 2), thr_id="4:1"), "thr_id names 4 threads, the layout has 8"),
        (lambda: from_cute_tv("((2,3),2):((1,2),6)", tile=(6, 2), thr_id="(3,2):(1,4)"),
         "the modes of thr_id and of the layout's threads don't divide each other: "
         "extent 3 ends inside the dimension 2 : 4, and neither of 3 and 2 divides the other"),
        (lambda: to_cute_tv(Layout(S[(2, 4) : (1 @ cbx, 1)])),
         "Layout(S[(2, 4) : (1 @ cbx, 1)]) is on cbx; a thread-value layout is made of threads, registers and numbers"),
        (lambda: to_cute_tv(Layout(S[8, 8], swizzle=Swizzle.B128)),
         "Layout(S[(8, 8) : (8, 1)], swizzle=Swizzle(3, 4, 3)) has a swizzle; "
         "a thread-value layout is made of threads, registers and numbers"),
        (lambda: to_cute_tv(Layout(S[(8, 4) : (1 @ tx, 1)], offset=2)),
         "Layout(S[(8, 4) : (1 @ tx, 1)], offset=2) has a first register or extents of the run; "
         "a thread-value layout is made of threads, registers and numbers"),
        (lambda: from_cute_tv("(8,2):(1,8)", tile=(8, 2), thr_id=Layout(S[(8,) : (1 @ laneid,)])),
         "thr_id = Layout(S[(8,) : (1 @ laneid,)]) maps to numbers of threads: without swizzle, replicas and other axes than m"),
        (lambda: to_cute_tv(Layout(S[(8, 4) : (1 @ tx, 2)])),
         "register 1 holds nothing in Layout(S[(8, 4) : (1 @ tx, 2)]); the values of a thread-value layout are registers 0, 1, ..."),
        (lambda: to_cute_tv(Layout(S[(2, 4) : (1, 1)])),
         "several elements share a register in Layout(S[(2, 4) : (1, 1)]); the values of a thread-value layout are registers 0, 1, ..."),
        (lambda: to_cute_tv(Layout(S[(2, 4) : (0, 1)])),
         "the dimension 2 : 0 of Layout(S[(2, 4) : (0, 1)]) keeps the position: several elements share a register; "
         "a thread-value layout gives every register one element"),
        (lambda: to_cute_tv(Layout(S[(2, 4) : (1 @ tx + 4, 1)])),
         "the dimension 2 : 4 + 1 @ tx of Layout(S[(2, 4) : (4 + 1 @ tx, 1)]) moves along several axes; "
         "a thread-value layout gives every register one element"),
        (lambda: to_cute_tv(Layout(S[(2, 4) : (1 @ tx, 1 @ tx)])),
         "the threads of Layout(S[(2, 4) : (1 @ tx, 1 @ tx)]) overlap or run backwards; a thread-value layout numbers each once"),
    ],
)  # fmt: skip
def test_what_is_no_thread_value_layout(operation, message):
    with pytest.raises(LayoutError) as error:
        operation()
    assert str(error.value) == message
