"""Operators against NumPy, bit for bit, in the emulator."""

import operator

import ml_dtypes
import numpy as np
import pytest

import ptxgen as px
from ptxgen.errors import TraceError
from tests.tracing.kernels import apply, traced

RNG = np.random.default_rng(7)
INTEGERS = (np.uint16, np.int16, np.uint32, np.int32, np.uint64, np.int64)


def integers(dtype, count=256):
    info = np.iinfo(dtype)
    edges = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 7]
    return np.array([*edges, *RNG.integers(info.min, info.max, count - len(edges), dtype, endpoint=True)], dtype)


def floats(dtype, count=256):
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0**-14]
    return np.concatenate([np.array(edges), RNG.standard_normal(count - len(edges)) * 4]).astype(dtype)


def same(found, expected):
    """Equal, NaN counting as equal to NaN, and zeros by sign."""
    found, expected = np.asarray(found), np.asarray(expected)
    both_nan = np.isnan(found.astype(np.float64)) & np.isnan(expected.astype(np.float64))
    width = f"u{found.dtype.itemsize}"
    assert (both_nan | (found.view(width) == expected.view(width))).all()


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul, operator.and_, operator.or_, operator.xor])
def test_integers_wrap(op, dtype):
    a, b = integers(dtype), integers(dtype)[::-1].copy()
    assert (apply(op, a, b, out=dtype) == op(a, b)).all()


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", [operator.neg, operator.invert])
def test_unary_integers(op, dtype):
    a = integers(dtype)
    assert (apply(op, a, out=dtype) == op(a)).all()


@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64])
def test_abs_of_signed(dtype):
    a = integers(dtype)
    assert (apply(abs, a, out=dtype) == np.abs(a)).all()


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.uint64])
@pytest.mark.parametrize("op", [operator.floordiv, operator.mod])
def test_unsigned_division(op, dtype):
    a, b = integers(dtype), np.maximum(integers(dtype)[::-1] >> 5, 1).astype(dtype)
    assert (apply(op, a, b, out=dtype) == op(a, b)).all()


def test_named_division_truncates():
    a = np.array([-7, 7, -7, 7, -8, 0], np.int32)
    b = np.array([2, -2, -2, 2, 2, 3], np.int32)
    assert apply(px.div, a, b, out=np.int32).tolist() == [int(x / y) for x, y in zip(a.tolist(), b.tolist())]
    assert apply(px.rem, a, b, out=np.int32).tolist() == [-1, 1, -1, 1, 0, 0]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_follow_the_sign_and_pass_the_width(dtype):
    a = integers(dtype)
    bits = np.iinfo(dtype).bits
    for amount in (0, 1, 5, bits - 1, bits, bits + 9):
        left = [(int(x) << amount) & ((1 << bits) - 1) for x in a]
        right = [int(x) >> amount for x in a]
        unsigned = np.dtype(f"u{bits // 8}")
        assert apply(lambda x: x << amount, a, out=dtype).view(unsigned).tolist() == left  # noqa: B023
        assert apply(lambda x: x >> amount, a, out=dtype).tolist() == right  # noqa: B023


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul])
def test_floats_round_to_nearest(op, dtype):
    a, b = floats(dtype), floats(dtype)[::-1].copy()
    with np.errstate(all="ignore"):
        same(apply(op, a, b, out=dtype), op(a, b))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_division_root_and_reciprocal(dtype):
    a, b = floats(dtype), floats(dtype)[::-1].copy()
    with np.errstate(all="ignore"):
        same(apply(operator.truediv, a, b, out=dtype), a / b)
        same(apply(px.sqrt, a, out=dtype), np.sqrt(a))
        same(apply(px.rcp, a, out=dtype), dtype(1) / a)


COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@pytest.mark.parametrize("op", COMPARISONS)
@pytest.mark.parametrize("dtype", [*INTEGERS, np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_comparisons_nan_included(op, dtype):
    make = floats if dtype not in INTEGERS else integers
    a, b = make(dtype), make(dtype)
    b[1::2] = a[1::2]
    with np.errstate(invalid="ignore"):
        assert (apply(op, a, b, out=np.uint32) == op(a, b)).all()


def test_predicates_combine():
    a, b = np.arange(64, dtype=np.uint32), np.full(64, 20, np.uint32)

    def function(x, y):
        p, q, r = x < y, (x & 1) == 0, x > 50
        return (p & ~q) | (r ^ q) & ~(p | r)

    p, q, r = a < b, a & 1 == 0, a > 50
    assert (apply(function, a, b, out=np.uint32) == ((p & ~q) | (r ^ q) & ~(p | r))).all()


def test_select_min_max_fma():
    a, b = integers(np.int32), integers(np.int32)[::-1].copy()
    assert (apply(lambda x, y: px.select(~(x < y), x, y), a, b, out=np.int32) == np.maximum(a, b)).all()
    assert (apply(px.min, a, b, out=np.int32) == np.minimum(a, b)).all()
    assert (apply(lambda x: px.max(x, 5), a, out=np.int32) == np.maximum(a, 5)).all()
    x, y = (RNG.integers(1 << 23, 1 << 24, 64).astype(np.float32) for _ in range(2))
    exact = (x.astype(np.float64) * y + y.astype(np.float64)).astype(np.float32)  # 48 bits: one rounding, that to float32
    assert (apply(lambda p, q: px.fma(p, q, q), x, y, out=np.float32) == exact).all()
    assert (exact != x * y + y).any()


def test_the_text_names_exact_instructions():
    def function(tid):
        x = tid.to(px.f32)
        -(x * 2 + 1) / x
        tid >> 1
        tid.bitcast(px.s32) >> 1
        x != x  # noqa: B015

    assert traced(function) == [
        "mov.u32 %r0, %tid.x;",
        "cvt.rn.f32.u32 %f0, %r0;",
        "mul.rn.f32 %f1, %f0, 0f40000000;",
        "add.rn.f32 %f2, %f1, 0f3F800000;",
        "neg.f32 %f3, %f2;",
        "div.rn.f32 %f4, %f3, %f0;",
        "shr.u32 %r1, %r0, 1;",
        "shr.s32 %r2, %r0, 1;",
        "setp.neu.f32 %p0, %f0, %f0;",
    ]


def test_a_negated_predicate_costs_nothing_where_it_may_stand():
    def function(tid):
        p = tid < 5
        px.ptx["st.shared.b32"](tid * 4, tid, pred=~p)
        with px.if_(~p):
            px.syncthreads()

    assert traced(function)[2:] == [
        "mul.lo.u32 %r1, %r0, 4;",
        "@!%p0 st.shared.b32 [%r1], %r0;",
        "@%p0 bra $L_endif_1;",
        "bar.sync 0;",
        "$L_endif_1:",
    ]


def refused(function):
    with pytest.raises(TraceError) as caught:
        traced(function)
    error = caught.value
    return [error.problem, error.why, error.legal]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda t: t + t.to(px.f32),
         [".u32 + .f32: the operands have different types", "nothing is promoted implicitly",
          "convert one: .to(px.u32) or .to(px.f32); .bitcast keeps the bits"]),
        (lambda t: t + t.to(px.s32),
         [".u32 + .s32: the operands have different types", "nothing is promoted implicitly",
          "convert one: .to(px.u32) or .to(px.s32); .bitcast keeps the bits"]),
        (lambda t: t.to(px.f32) * 0.1,
         ["0.1 is not exactly representable in .f32", "the nearest .f32 is 0.10000000149011612", "px.f32(0.1) to round it here and now"]),
        (lambda t: t.to(px.f16) + 2049,
         ["2049 is not exactly representable in .f16", "the nearest .f16 is 2048.0", "px.f16(2049) to round it here and now"]),
        (lambda t: t + 1.5,
         ["1.5 is no integer, and the other operand is .u32", "nothing is converted implicitly",
          "an int, or convert the traced value first: x.to(px.f32)"]),
        (lambda t: t + -1,
         ["-1 does not fit into .u32", "it would wrap to 4294967295", "0 to 4294967295, or a wider type"]),
        (lambda t: t + True, ["the truth value True stands where a .u32 is needed", "", "a number"]),
        (lambda t: t == None,  # noqa: E711
         ["None (NoneType) can't be an operand of ==", "", "a traced .u32 or a Python number"]),
        (lambda t: t / 2,
         ["/ on .u32", "Python's / gives a float, and nothing is converted implicitly",
          "// for unsigned integers, px.div(a, b) truncating for signed ones, or .to(px.f32)"]),
        (lambda t: t.to(px.s32) % 2,
         ["% on signed .s32",
          "Python rounds towards minus infinity, PTX towards zero: -7 // 2 is -4 in Python and -3 in PTX",
          "px.rem(a, b), which truncates as PTX does; >> and & for powers of two; or unsigned types"]),
        (lambda t: t // 0, ["division by zero", "PTX leaves the result of an integer division by zero open", ""]),
        (lambda t: t.bitcast(px.b32) + 1,
         ["PTX has no + on .b32", "",
          "say what the bits mean: .bitcast(px.u32), .bitcast(px.s32) or .bitcast(px.f32)"]),
        (lambda t: t.to(px.u8) + 1, ["PTX has no + on .u8", "", "widen: .to(px.u16) or .to(px.u32)"]),
        (lambda t: t.to(px.f32) & 1, ["PTX has no & on .f32", "", ".bitcast(px.b32) for the bits"]),
        (lambda t: (t < 1) + (t < 2),
         ["PTX has no + on .pred", "", "&, |, ^ and ~ join predicates; px.select(p, 1, 0) makes a number of one"]),
        (lambda t: t << t.to(px.u64), ["the shift amount is a .u64", "PTX counts shifts in .u32", "an int, or .to(px.u32)"]),
        (lambda t: 1 << t, ["1 << a traced value: the type of 1 is not known", "", "px.u32(1) << ..."]),
        (lambda t: t.to(px.f16) / t.to(px.f16), ["PTX has no division of .f16", "", "a.to(px.f32) / b.to(px.f32)"]),
        (lambda t: t**2,
         ["PTX has no power instruction", "", 'x * x, or px.ptx["ex2.approx.f32"](y * px.ptx["lg2.approx.f32"](x))']),
        (lambda t: [10, 20][t],
         ["a traced .u32 is used as an index or a count of Python", "its value is known on the GPU alone",
          "index a px tensor with it, loop with px.range, or make it a px.constexpr"]),
        (lambda t: list(t),
         ["a traced .u32 is used as something to iterate over", "its value is known on the GPU alone", "px.range(x) to loop up to it"]),
        (lambda t: {t: 1},
         ["a traced value can't be a key of a dict or an element of a set", "its value is known on the GPU alone, and == makes a predicate",
          "a list or a tuple; an int as key"]),
        (lambda t: int(t),
         ["a traced .u32 is used as int(...)", "its value is known on the GPU alone", 'x.to(px.s32, "rzi") to convert on the GPU']),
        (lambda t: t.to(px.f32).to(px.s32),
         [".f32 to .s32 needs a rounding", "several results are sensible, and ptxgen picks none silently",
          '.to(px.s32, "rni"), or rzi, rmi, rpi']),
        (lambda t: t.to(px.u64, "rn"), ["'rn' is no rounding from .u32 to .u64", "", "no rounding: this conversion rounds nothing"]),
        (lambda t: t.bitcast(px.f64),
         [".u32 has 32 bits and .f64 has 64", "", "a type of 32 bits; .to(...) converts; mov.b64 packs and unpacks"]),
        (lambda t: px.select(t < 1, 1, 2), ["px.select of Python numbers alone has no PTX type", "", "give one a type: px.f32(1)"]),
        (lambda t: px.f32(t), ["px.f32(...) makes a constant of a Python number", "", "x.to(px.f32) converts a traced value"]),
        (lambda t: px.f32(1e39), ["1e+39 is beyond the largest .f32", "", "a wider type, or float('inf')"]),
    ],
)  # fmt: skip
def test_refused(function, message):
    assert refused(function) == message


def test_a_value_of_another_trace_is_refused():
    kept = []
    traced(kept.append)
    found = refused(lambda t: t + kept[0])
    assert found[0] == "a value of another trace is used"
