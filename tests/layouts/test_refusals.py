"""Operations that have no meaning, and what is said about them."""

from __future__ import annotations

import pytest

from ptxgen.layouts import Layout, LayoutError, PtxgenError, S, Swizzle, Symbol, laneid, warpid

I = Symbol("i", 0, 7)
N = Symbol("n", 1)
TILE = Layout(S[8, 16])
STRIDED = Layout(S[(6, 6) : (100, 1)])
NESTED = Layout(S[((4, 8),) : ((100, 1),)])


@pytest.mark.parametrize(
    "operation, message",
    [
        (lambda: TILE(8, 0), "coordinate 8 of dimension 0 is outside 0..7 (shape (8, 16))"),
        (lambda: TILE(0, -1), "coordinate -1 of dimension 1 is outside 0..15 (shape (8, 16))"),
        (lambda: TILE(0), "1 coordinates for shape (8, 16)"),
        (lambda: TILE(0, 1.0), "coordinate 1 must be an integer, not 1.0 (float)"),
        (lambda: TILE[8], "coordinate 8 of dimension 0 is outside 0..7 (shape (8, 16))"),
        (lambda: TILE[-1], "coordinate -1 of dimension 0 is outside 0..7 (shape (8, 16))"),
        (lambda: TILE[0:9], "coordinate 8 of dimension 0 is outside 0..7 (shape (8, 16))"),
        (lambda: TILE[4:4], "the slice 4:4:1 of dimension 0 is empty or runs backwards; "
         "layouts have positive steps and at least one element"),
        (lambda: TILE[7:0:-1], "the slice 7:0:-1 of dimension 0 is empty or runs backwards; "
         "layouts have positive steps and at least one element"),
        (lambda: TILE[0, 0, 0], "3 indices for shape (8, 16)"),
        (lambda: TILE[..., ...], "an index has at most one ellipsis (...)"),
        (lambda: TILE["x"], "the start in dimension 0 must be an integer, not 'x' (str)"),
        (lambda: TILE[I : N], "the extent -i + n of a part of dimension 0 must be known now"),
        (lambda: TILE.sub((0, 8), (8, 9)), "coordinate 16 of dimension 1 is outside 0..15 (shape (8, 16))"),
        (lambda: TILE.sub((0, 8), (8, 5), (1, 2)), "coordinate 16 of dimension 1 is outside 0..15 (shape (8, 16))"),
        (lambda: TILE.sub((I, 0), (9, 1)), "9 elements 1 apart don't fit into dimension 0 of extent 8"),
        (lambda: TILE.sub((0,), (8,)), "sub() needs 2 starts, extents and steps for shape (8, 16), not 1, 1 and 2"),
        (lambda: TILE.sub((0, 0), (8, 4), (1, 0)), "the step in dimension 1 must be positive, not 0"),
        (lambda: TILE.sub((0, 0), (8, 0)), "an extent must be at least 1, not 0"),
        (lambda: NESTED.sub((4,), (8,)), "coordinates 4, 5, ... (8 of them) of the dimension (4, 8) : (100, 1) "
         "start or end inside its rows of 8; only whole rows or a part of one row form a layout"),
        (lambda: TILE.permute(0, 0), "the order (0, 0) does not name each of the 2 dimensions of shape (8, 16) once"),
        (lambda: TILE.group(1, 3), "no dimensions 1..2 in shape (8, 16)"),
        (lambda: TILE.ungroup(2), "no dimension 2 in shape (8, 16)"),
        (lambda: TILE.reshape(8, 17), "can't reshape (8, 16) to (8, 17): 128 elements against 136"),
        (lambda: STRIDED.reshape(4, 9), "can't reshape (6, 6) to (4, 9): extent 4 ends inside the dimension 6 : 100, "
         "and neither of 4 and 6 divides the other"),
        (lambda: Layout(S[(3, 4, 9) : (100, 20, 1)]).reshape(18, 6), "can't reshape (3, 4, 9) to (18, 6): "
         "extent 18 (6 of it left) ends inside the dimension 4 : 20, and neither of 6 and 4 divides the other"),
        (lambda: Layout(S[(N, 4) : (8, 1)]).reshape(4, N), "can't reshape (n, 4) to (4, n): the runtime extent n stays whole"),
        (lambda: Layout(S[(N, 4)]).table(), "can't tabulate positions: dimension 0 of shape (n, 4) has the extent n, "
         "which is known only at run time"),
        (lambda: Layout(S[(N, 4)]).size, "can't count elements: dimension 0 of shape (n, 4) has the extent n, "
         "which is known only at run time"),
        (lambda: Layout(S[(4,) : (N,)]).coordinates(0), "coordinates() needs positions that are known now, without symbols"),
        (lambda: TILE.coordinates({"m": 3}), "a position is a mapping from axes such as m and tx, not from 'm'"),
        (lambda: Layout(S[(4,) : (Symbol("s", None),)]).span(), "the stride s may have either sign; give its symbols a range"),
        (lambda: Layout(S[(4,) : (1 << 62,)]).table(), "positions on m reach 13835058055282163712, past 64 bits"),
        (lambda: TILE.retype(32, 16), "retype() needs positions in bits: bind(bits_per_element) first"),
        (lambda: TILE.bind(0), "an element has at least 1 bit, not 0"),
        (lambda: TILE.bind(6).retype(6, 4), "elements of 6 bits can't be seen as elements of 4 bits"),
        (lambda: Layout(S[() : ()]).bind(16).retype(16, 8), "a layout of shape () has no last dimension to hold 2 elements"),
        (lambda: Layout(S[(8, 16) : (1, 8)]).bind(16).retype(16, 32),
         'the last dimension of Layout(S[(8, 16) : (16, 128)], unit="bit") is not contiguous: '
         "its elements of 16 bits are 128 bits apart"),
        (lambda: Layout(S[(2, 3)]).bind(16).retype(16, 32),
         "3 contiguous elements of 16 bits in the last dimension don't fill whole elements of 32 bits"),
        (lambda: Layout(S[(2, 4) : (5, 1)]).bind(16).retype(16, 32),
         "elements of 32 bits would be misaligned: a stride of 80 bits is not known to be a multiple of 32"),
        (lambda: Layout(S[(2, 4) : (N, 1)]).bind(16).retype(16, 32),
         "elements of 32 bits would be misaligned: a stride of 16*n bits is not known to be a multiple of 32"),
        (lambda: Layout(S[4], offset=1).bind(16).retype(16, 32),
         "elements of 32 bits would be misaligned: the offset of 16 bits is not known to be a multiple of 32"),
        (lambda: Layout(S[8, 64], swizzle=Swizzle.B128).bind(16).retype(16, 256),
         "Swizzle(3, 4, 3) keeps 16 bytes together; an element of 256 bits would be cut by it"),
        (lambda: Layout(S[(16,) : (1 @ laneid,)]) + 20 @ laneid,
         "laneid reaches 35 at coordinate (15,); a warp has lanes 0..31: write warpid and laneid, or use tx"),
        (lambda: Layout(S[(16,) : (1 @ warpid,)]) + -1 @ warpid,
         "warpid reaches -1 at coordinate (0,); thread indices start at 0"),
    ],
)  # fmt: skip
def test_operations_that_are_refused(operation, message):
    with pytest.raises(LayoutError) as error:
        operation()
    assert str(error.value) == message


@pytest.mark.parametrize(
    "pattern, sizes, problem",
    [
        ("(w l) r", {}, 'a pattern has one "->" between its two sides'),
        ("w l r -> r l w", {}, "the left side has 3 dimensions, the layout 2"),
        ("(w l) r -> w l", {"l": 4}, "axis r is missing on the right side; rearrange neither reduces nor repeats"),
        ("a r -> a r q", {}, "axis q is missing on the left side; rearrange neither reduces nor repeats"),
        ("(a a) r -> a r", {}, "axis a stands twice on one side"),
        ("(w l) r -> w l r", {}, "dimension 0: give sizes for all but one of the axes w, l"),
        ("(w l) r -> w l r", {"l": 32}, "axis w: the extent 8 of dimension 0 is no multiple of 32"),
        ("(w l) r -> w l r", {"l": 4, "w": 4}, "dimension 0 has extent 8, but its axes (w l) make 16"),
        ("a r -> r a", {"q": 4}, "a size is given for q, which is no axis of the pattern (a, r)"),
        ("a r -> r a", {"a": 0}, "an extent must be at least 1, not 0"),
        ("a 1 -> 1 a", {}, "dimension 1 has extent 16, but its axes () make 1"),
        ("((a) b) r -> a b r", {}, "unexpected '(' (names, 1, ... and one level of parentheses are understood)"),
        ("(a b r -> a b r", {}, 'a "(" is not closed'),
        ("a) r -> a r", {}, "unexpected ')' (names, 1, ... and one level of parentheses are understood)"),
        ("(a ...) r -> a ... r", {}, "... stands for whole dimensions: it is in no parentheses on the left side"),
        ("a b c ... -> ... a b c", {}, "the left side names 3 dimensions beside ..., the layout has 2"),
        ("a r ... ... -> a r ...", {}, "axis ... stands twice on one side"),
        ("a r -> a r ...", {}, "axis ... is missing on the left side; rearrange neither reduces nor repeats"),
        ("a ... -> a", {}, "axis ... is missing on the right side; rearrange neither reduces nor repeats"),
    ],
)
def test_patterns_that_are_refused(pattern, sizes, problem):
    with pytest.raises(LayoutError) as error:
        TILE.rearrange(pattern, **sizes)
    given = "".join(f", {name}={size}" for name, size in sizes.items())
    assert str(error.value) == f'rearrange("{pattern}"{given}) on shape (8, 16): {problem}'


def test_a_pattern_that_does_not_split_a_nested_dimension():
    with pytest.raises(LayoutError) as error:
        Layout(S[((6, 4),) : ((100, 1),)]).rearrange("(a b) -> b a", a=8)
    assert str(error.value) == (
        'rearrange("(a b) -> b a", a=8) on shape (24,): (a=8 b=3) does not split a dimension of extent 24: '
        "extent 8 ends inside the dimension 6 : 100, and neither of 8 and 6 divides the other"
    )


def test_a_runtime_extent_does_not_split():
    with pytest.raises(LayoutError) as error:
        Layout(S[(N, 4)]).rearrange("(a b) r -> b a r", a=8)
    assert str(error.value) == (
        'rearrange("(a b) r -> b a r", a=8) on shape (n, 4): dimension 0: the runtime extent n can\'t be split into b and 8'
    )


def test_every_error_is_ptxgens():
    assert issubclass(LayoutError, PtxgenError) and issubclass(LayoutError, ValueError)


def test_the_bare_package_name_is_refused():
    import importlib

    with pytest.raises(ImportError, match=r"import this package as ptxgen\.layouts"):
        importlib.import_module("layouts")
