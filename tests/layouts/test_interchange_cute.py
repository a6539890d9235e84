"""CuTe's layouts, held against an evaluator that follows CuTe's definitions of coordinates and indices."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.layouts import Layout, LayoutError, R, S, Swizzle, Symbol, cbx, laneid, m, warpid
from ptxgen.layouts.interchange import from_cute, to_cute, to_cute_tuples
from tests.layouts.cute_definitions import index, size, text_of

N = Symbol("N", 1)


def swizzled(position, bits, base, shift):
    """CuTe's Swizzle<B,M,S> with S >= 0."""
    mask = ((1 << bits) - 1) << (base + shift)
    return position ^ ((position & mask) >> shift)


def nested(numbers):
    return st.recursive(numbers, lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple), max_leaves=5)


@st.composite
def cute_layouts(draw, least=-5, most=40):
    shape = draw(nested(st.sampled_from([1, 2, 3, 4, 5])).filter(lambda shape: size(shape) <= 120))

    def like(part):
        return tuple(map(like, part)) if isinstance(part, tuple) else draw(st.integers(least, most))

    return shape, like(shape)


def coordinates(shape):
    """Coordinates of the outermost modes."""
    modes = shape if isinstance(shape, tuple) else (shape,)
    return itertools.product(*(range(size(mode)) for mode in modes))


@settings(max_examples=40, deadline=None)
@given(cute_layouts(), st.booleans())
def test_a_layout_has_the_index_that_cute_computes(cute, static):
    shape, stride = cute
    layout = from_cute(f"{text_of(shape, static)} : {text_of(stride, static)}")
    assert from_cute(shape, stride).dims == layout.dims
    whole = shape if isinstance(shape, tuple) else (shape,)
    steps = stride if isinstance(stride, tuple) else (stride,)
    for place in coordinates(shape):
        assert layout(*place)[m] == index(place, whole, steps)


@settings(max_examples=40, deadline=None)
@given(nested(st.sampled_from([1, 2, 3, 4, 5])).filter(lambda shape: size(shape) <= 120))
def test_a_shape_alone_counts_its_elements_from_the_left(shape):
    layout = from_cute(text_of(shape, False))
    assert from_cute(shape) == layout
    modes = [size(mode) for mode in shape] if isinstance(shape, tuple) else [size(shape)]
    for place in coordinates(shape):
        assert layout(*place)[m] == sum(c * math.prod(modes[:k]) for k, c in enumerate(place))


@settings(max_examples=40, deadline=None)
@given(cute_layouts(), st.integers(-9, 60))
def test_what_is_written_is_read_back_as_it_was(cute, offset):
    layout = from_cute(*cute) + offset
    again = from_cute(to_cute(layout))
    assert again == layout and again.dims == layout.dims
    assert to_cute(again) == to_cute(layout)
    shape, stride = to_cute_tuples(layout)
    assert from_cute(shape, stride) + offset == layout


swizzles = st.tuples(st.integers(1, 3), st.integers(0, 5), st.integers(0, 3)).map(lambda s: (s[0], s[1], s[0] + s[2]))


@settings(max_examples=40, deadline=None)
@given(cute_layouts(0, 64), swizzles, st.sampled_from([4, 8, 16, 32, 64]), st.integers(0, 70))
def test_a_swizzle_of_indices_moves_elements(cute, swizzle, bits, offset):
    shape, stride = cute
    text = "Sw<{},{},{}> o {} o {}:{}".format(*swizzle, offset, text_of(shape, True), text_of(stride, False))
    if swizzle[1] + bits.bit_length() - 1 < 3:
        with pytest.raises(LayoutError, match="moves parts of a byte"):
            from_cute(text, bits=bits)
        return
    layout = from_cute(text, bits=bits)
    bound = layout.bind(bits)
    whole, steps = (shape, stride) if isinstance(shape, tuple) else ((shape,), (stride,))
    for place in coordinates(shape):
        assert bound(*place)[m] == bits * swizzled(offset + index(place, whole, steps), *swizzle)
    assert from_cute(to_cute(layout, bits=bits), bits=bits).spelling == layout.spelling
    assert from_cute(to_cute(bound, bits=bits), bits=bits).spelling == layout.spelling


@settings(max_examples=40, deadline=None)
@given(cute_layouts(0, 64), swizzles, st.sampled_from([8, 16, 32]))
def test_a_swizzle_behind_a_pointer_moves_bytes(cute, swizzle, bits):
    shape, stride = cute
    text = "Sw<{},{},{}> o smem_ptr[{}b](unset) o {}:{}".format(*swizzle, bits, text_of(shape, True), text_of(stride, True))
    if 8 << swizzle[1] < bits:
        with pytest.raises(LayoutError, match="would be cut by it"):
            from_cute(text)
        return
    layout = from_cute(text)
    whole, steps = (shape, stride) if isinstance(shape, tuple) else ((shape,), (stride,))
    for place in coordinates(shape):
        assert layout.bind(bits)(*place)[m] == 8 * swizzled(bits // 8 * index(place, whole, steps), *swizzle)
    assert from_cute(to_cute(layout, bits=bits, pointer=True)).spelling == layout.spelling
    assert from_cute(to_cute(layout, bits=bits), bits=bits).spelling == layout.spelling


@pytest.mark.parametrize(
    "text, rows",
    [
        ("(_2,_4):(_1,_2)", [[0, 2, 4, 6], [1, 3, 5, 7]]),
        ("(2,4):(12,1)", [[0, 1, 2, 3], [12, 13, 14, 15]]),
        ("(2,(2,2)):(4,(2,1))", [[0, 2, 1, 3], [4, 6, 5, 7]]),
        ("(2,(2,2)):(_1,(2,4))", [[0, 2, 4, 6], [1, 3, 5, 7]]),
        ("((2,2),2):((4,1),2)", [[0, 2], [4, 6], [1, 3], [5, 7]]),
        ("(2,4)", [[0, 2, 4, 6], [1, 3, 5, 7]]),
    ],
)
def test_tables_that_cutes_documentation_prints(text, rows):
    layout = from_cute(text)
    assert layout.shape == (len(rows), len(rows[0]))
    assert layout.table().m.tolist() == rows


@pytest.mark.parametrize(
    "text, places",
    [("8:1", list(range(8))), ("8:2", list(range(0, 16, 2))), ("((4,2)):((2,1))", [0, 2, 4, 6, 1, 3, 5, 7])],
)
def test_vectors_that_cutes_documentation_prints(text, places):
    assert from_cute(text).table().m.tolist() == places
    assert to_cute(from_cute(text)) == text


@pytest.mark.parametrize(
    "layout, bits, text",
    [
        (Layout(S[8, 64]), None, "(8,64):(64,1)"),
        (Layout(S[((4, 2), 8) : ((16, 1), 2)]), None, "((2,4),8):((1,16),2)"),
        (Layout(S[8:3]), None, "8:3"),
        (Layout(S[((2, 4),) : ((1, 2),)]), None, "((4,2)):((2,1))"),
        (Layout(S[() : ()]), None, "():()"),
        (Layout(S[(N, 8) : (8, 1)]), None, "(N,8):(8,1)"),
        (Layout(S[(4, N) : (2 * N, -1)]), None, "(4,N):(2*N,-1)"),
        (Layout(S[(8, 64) : (64, 1)], offset=5), None, "Sw<0,4,3> o 5 o (8,64):(64,1)"),
        (Layout(S[8, 64], swizzle=Swizzle.B128), 16, "Sw<3,3,3> o 0 o (8,64):(64,1)"),
        (Layout(S[8, 32], swizzle=Swizzle.B128).bind(32), 32, "Sw<3,2,3> o 0 o (8,32):(32,1)"),
        (Layout(S[8, 32], swizzle=Swizzle.B64, offset=512), 8, "Sw<2,4,3> o 512 o (8,32):(32,1)"),
        (Layout(S[8, 32]).bind(16), 16, "(8,32):(32,1)"),
    ],
)
def test_texts(layout, bits, text):
    assert to_cute(layout, bits=bits) == text
    again = from_cute(text, bits=bits, N=N)
    assert again == layout if layout.unit == "element" else again.bind(bits) == layout


def test_atoms_of_matrix_descriptors_that_count_bits():
    atom = from_cute("ComposedLayout<Swizzle<3,4,3>, smem_ptr_flag, Layout<Shape<_8,_1024>, Stride<_1024,_1>>>")
    assert atom.bind(1).retype(1, 16) == Layout(S[8, 64], swizzle=Swizzle.B128).bind(16)


def test_both_ways_to_write_a_swizzle_are_one_layout():
    atom = from_cute("Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)")
    assert atom.spelling == Layout(S[8, 64], swizzle=Swizzle.B128).spelling
    assert from_cute("S<3,3,3> o 0 o (8,64):(64,1)", bits=16) == from_cute("Sw<3,3,3> o (8,64):(64,1)", bits=16) == atom
    assert to_cute(atom, bits=16, pointer=True) == "Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)"
    assert from_cute("Sw<0,4,3> o 0 o 8:1") == from_cute("8:1")


@pytest.mark.parametrize(
    "text, printed",
    [
        ("Layout<Shape <Shape < _4, _8>, _2>, Stride<Stride<_32, _1>, _16>>", "((4,8),2):((32,1),16)"),
        ("Layout<Shape<_8,_4>>{}", "(8,4):(1,8)"),
        ("Layout<_128,_1>", "128:1"),
        ("make_layout(Int<8>{})", "8:1"),
        ("make_layout(make_shape (Int< 2>{},4), make_stride(Int<12>{},_1{}))", "(2,4):(12,1)"),
        ("make_layout(make_shape(2,make_shape(2,2)), LayoutRight{})", "(2,(2,2)):(4,(2,1))"),
        ("make_layout(make_shape(2,make_shape(2,2)), LayoutLeft{})", "(2,(2,2)):(1,(2,4))"),
        ("Sw<3,3,3> o 0 o Layout<Shape<_8,_64>,Stride<_64,_1>>", "Sw<3,3,3> o 0 o (8,64):(64,1)"),
        ("composition(Swizzle<3,3,3>{}, Int<0>{}, make_layout(make_shape(8,64), LayoutRight{}))", "Sw<3,3,3> o 0 o (8,64):(64,1)"),
        ("composition(Swizzle<3,3,3>{}, (8,64):(64,1))", "Sw<3,3,3> o 0 o (8,64):(64,1)"),
        ("composition(Swizzle<3,3,3>{}, 512, (8,64):(64,1))", "Sw<3,3,3> o 512 o (8,64):(64,1)"),
        (
            "composition(Swizzle<3,4,3>{}, smem_ptr_flag_bits<16>{}, Layout<Shape<_8,_64>,Stride<_64,_1>>{})",
            "Sw<3,3,3> o 0 o (8,64):(64,1)",
        ),
        ("ComposedLayout<Swizzle<3,3,3>, _0, Layout<Shape<_8,_64>,Stride<_64,_1>>>", "Sw<3,3,3> o 0 o (8,64):(64,1)"),
        ("ComposedLayout<Swizzle<3,4,3>, smem_ptr_flag_bits<16>, Layout<Shape<_8,_64>,Stride<_64,_1>>>", "Sw<3,3,3> o 0 o (8,64):(64,1)"),
        ("Swizzle<3,4,3> o smem_ptr[16b](unset) o Layout<Shape<_8,_64>,Stride<_64,_1>>", "Sw<3,3,3> o 0 o (8,64):(64,1)"),
    ],
)
def test_cpp(text, printed):
    assert to_cute(from_cute(text, bits=16), bits=16) == printed


READ = "can't read the CuTe layout"


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("((2,4),8):((1,16,2)",), f"{READ} '((2,4),8):((1,16,2)': column 20: expected ',', found the end"),
        (("(2,4):(1,2) 8",), f"{READ} '(2,4):(1,2) 8': column 13: unexpected '8'"),
        (("(2,4):(1 2)",), f"{READ} '(2,4):(1 2)': column 10: expected ',', found '2'"),
        (("(2,4):(1,(2,3))",), f"{READ} '(2,4):(1,(2,3))': column 10: the stride (2,3) against the extent 4; nest both alike"),
        (("(2,(4,2)):(1,(2,3,4))",), f"{READ} '(2,(4,2)):(1,(2,3,4))': column 14: the strides (2,3,4) against the extents (4,2); "
         "there must be as many"),
        (("8:(1,2)",), f"{READ} '8:(1,2)': column 3: the stride (1,2) against the extent 8; nest both alike"),
        (("(2,M):(1,2)",), f"{READ} '(2,M):(1,2)': column 4: the name M has no value here (given: none)"),
        (("(2,?):(1,2)",), f"{READ} '(2,?):(1,2)': column 4: ? is a number that only the run knows: write a name and give it a Symbol"),
        (("(2,0):(1,2)",), f"{READ} '(2,0):(1,2)': column 4: an extent must be at least 1, not 0"),
        (("(2,):()",), f"{READ} '(2,):()': column 6: the strides () against the extents (2); there must be as many"),
        (("(4,5):(1@0,1@1)",), f"{READ} '(4,5):(1@0,1@1)': column 8: a stride on a coordinate (1@0) maps to coordinates of a tensor "
         "(TMA), not to memory"),
        (("Sw<3,4> o 8:1",), f"{READ} 'Sw<3,4> o 8:1': column 1: a swizzle is written Sw<B,M,S> with three numbers"),
        (
            ("GMMA::Layout_K_SW128_Atom<half_t>{}",),
            f"{READ} 'GMMA::Layout_K_SW128_Atom<half_t>{{}}': column 1: GMMA::Layout_K_SW128_Atom is a name of C++ whose layout the text "
            "does not say; shape:stride, Layout<...>, make_layout(...), ComposedLayout<...>, composition(Swizzle<B,M,S>, offset, layout) "
            "are read",
        ),
        (
            ("composition(Swizzle<3,4,3>{}, (1,2), (8,64):(64,1))",),
            f"{READ} 'composition(Swizzle<3,4,3>{{}}, (1,2), (8,64):(64,1))': column 31: the offset behind a swizzle is a number, "
            "not (1,2)",
        ),
        (("ComposedLayout<8:1>",), f"{READ} 'ComposedLayout<8:1>': column 16: expected Swizzle<B,M,S>, found '8'"),
        (("Sw<3,4,3> 8:1",), f"{READ} 'Sw<3,4,3> 8:1': column 11: expected 'o' between the parts of a composed layout, found '8'"),
        (("Sw<3,4,3> o (1,2) o 8:1",), f"{READ} 'Sw<3,4,3> o (1,2) o 8:1': column 13: the offset behind a swizzle is a number, not (1,2)"),
        (("Sw<3,4,3> o 0 o 8:1",), "Sw<3,4,3> acts on the indices of elements; say how wide an element is: bits=16"),
        (("Layout<Shape<_8,_4>,Stride<_4,_1>",), f"{READ} 'Layout<Shape<_8,_4>,Stride<_4,_1>': column 34: expected '>', found the end"),
        (("make_layout(make_shape(8,4), make_stride(4))",), f"{READ} 'make_layout(make_shape(8,4), make_stride(4))': column 30: "
         "the strides (4) against the extents (8,4); there must be as many"),
        (("",), f"{READ} '': column 1: expected a number or '(', found the end"),
        (("8:1", 2), "a text says its strides itself; give shape and stride as tuples"),
        (((2, 4), (1, (2, 3))), "shape (2,4) and stride (1,(2,3)) are no CuTe layout: "
         "the stride (2,3) against the extent 4; nest both alike"),
        ((2.5, 1), "a number of a CuTe layout must be an integer, not 2.5 (float)"),
    ],
)  # fmt: skip
def test_what_is_no_layout(arguments, message):
    with pytest.raises(LayoutError) as error:
        from_cute(*arguments)
    assert str(error.value) == message


@pytest.mark.parametrize(
    "text, bits, message",
    [
        ("Sw<3,4,-3> o 0 o 8:1", 16,
         "Sw<3,4,-3> XORs lower bits of a position into higher ones; a Swizzle of ptxgen XORs higher ones into lower ones"),
        ("Sw<3,4,2> o 0 o 8:1", 16, "Sw<3,4,2> is no swizzle: CuTe needs B >= 0, M >= 0 and |S| >= B"),
        ("Sw<3,0,3> o 0 o 8:1", 4, "Sw<3,0,3> on elements of 4 bits moves parts of a byte; a Swizzle of ptxgen permutes bytes"),
        ("Sw<3,3,3> o 0 o 8:1", 6, "Sw<3,3,3> on elements of 6 bits permutes no whole bytes: 6 is no power of two"),
        ("Sw<3,4,3> o smem_ptr[16b](unset) o 8:1", 32, "smem_ptr[16b] points to elements of 16 bits, not of 32"),
        ("Sw<3,1,3> o smem_ptr[32b](unset) o 8:1", None,
         "Swizzle(3, 1, 3) keeps 2 bytes together; an element of 32 bits would be cut by it"),
        ("8:1", 0, "an element has at least 1 bit, not 0"),
    ],
)  # fmt: skip
def test_swizzles_that_ptxgen_does_not_say(text, bits, message):
    with pytest.raises(LayoutError) as error:
        from_cute(text, bits=bits)
    assert str(error.value) == message


SWIZZLED = Layout(S[8, 64], swizzle=Swizzle.B128)


@pytest.mark.parametrize(
    "operation, message",
    [
        (lambda: to_cute(Layout(S[(32, 4) : (1 @ laneid, 1)])),
         "Layout(S[(32, 4) : (1 @ laneid, 1)]) is on laneid; a CuTe layout maps to one index\n"
         "  legal: to_cute_tv() for a tile in the registers of threads"),
        (lambda: to_cute(Layout(S[(2, 4) : (1 @ cbx, 1)])), "Layout(S[(2, 4) : (1 @ cbx, 1)]) is on cbx; a CuTe layout maps to one index"),
        (lambda: to_cute(Layout(S[4], R[(2,) : (4,)])),
         "Layout(S[(4,) : (1,)], R[(2,) : (4,)]) has replicas; a CuTe layout gives each coordinate one index"),
        (lambda: to_cute(SWIZZLED), "Swizzle(3, 4, 3) permutes bytes; say how wide an element is: bits=16"),
        (lambda: to_cute(SWIZZLED, bits=256), "Swizzle(3, 4, 3) keeps 16 bytes together; an element of 256 bits would be cut by it"),
        (lambda: to_cute(Layout(S[8, 64], swizzle=Swizzle.B128, offset=64), bits=16, pointer=True),
         "the pointer of a composed layout holds its offset, which is 64; the text has no place for it\n  legal: pointer=False"),
        (lambda: to_cute(Layout(S[8]).bind(16)),
         'Layout(S[(8,) : (16,)], unit="bit") counts bits; say how wide an element is: bits=16'),
        (lambda: to_cute(S[8]), "to_cute() takes a Layout for layout, not S[(8,) : (1,)]\n  legal: px.Layout(S[extents : strides])"),
        (lambda: to_cute(Layout(S[(4,) : (1 @ warpid,)])), "Layout(S[(4,) : (1 @ warpid,)]) is on warpid; a CuTe layout maps to one index\n"
         "  legal: to_cute_tv() for a tile in the registers of threads"),
    ],
)  # fmt: skip
def test_layouts_that_cute_does_not_write(operation, message):
    with pytest.raises(LayoutError) as error:
        operation()
    assert str(error.value) == message


@settings(max_examples=40, deadline=None)
@given(cute_layouts(0))
def test_pycute_computes_the_same_indices(cute):
    pycute = pytest.importorskip("pycute", reason="pycute comes with nvidia-cutlass")
    shape, stride = cute
    theirs, layout = pycute.Layout(shape, stride), from_cute(shape, stride)
    for place in coordinates(shape):
        assert theirs(*place) == layout(*place)[m]
    assert from_cute(str(theirs)) == layout
