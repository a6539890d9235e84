"""Sign operations, minimum and maximum, class tests and comparisons of floating-point and integer values."""

from __future__ import annotations

import numpy as np

from ptxgen.emulator.numerics.common import (
    DTYPES,
    INTEGERS,
    Array,
    Op,
    blocked,
    canonical32,
    flush32,
    propagate64,
    quiet,
    unsupported,
)

_UNSIGNED = {"f16": np.uint16, "bf16": np.uint16, "f32": np.uint32, "f64": np.uint64}
# (bit width, infinity) of each format, as patterns without sign.
_INFINITY = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F800000, "f64": 0x7FF0 << 48}
_SMALLEST_NORMAL = {"f16": 0x0400, "bf16": 0x0080, "f32": 0x00800000, "f64": 0x0010 << 48}
_NAN = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF}
_WIDTH = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}


class _Bits:
    """The constants of one format, and values seen as patterns."""

    __slots__ = ("dtype", "infinity", "magnitude", "nan", "sign", "smallest_normal", "type", "unsigned")

    def __init__(self, type_: str) -> None:
        self.type = type_
        self.dtype = DTYPES[type_]
        self.unsigned = _UNSIGNED[type_]
        make = self.unsigned
        self.sign = make(1 << (_WIDTH[type_] - 1))
        self.magnitude = make((1 << (_WIDTH[type_] - 1)) - 1)
        self.infinity = make(_INFINITY[type_])
        self.smallest_normal = make(_SMALLEST_NORMAL[type_])
        self.nan = make(_NAN.get(type_, 0))

    def view(self, values: Array) -> Array:
        return np.ascontiguousarray(values, self.dtype).view(self.unsigned).reshape(np.shape(values))

    def back(self, patterns: Array) -> Array:
        return patterns.view(self.dtype)

    def flush(self, patterns: Array) -> Array:
        """Subnormals to zero of the same sign."""
        return np.where(patterns & self.magnitude < self.smallest_normal, patterns & self.sign, patterns)

    def nan_or(self, source: Array, patterns: Array) -> Array:
        """The NaN that an operation on ``source`` gives, where that is NaN, and ``patterns`` elsewhere."""
        is_nan = source & self.magnitude > self.infinity
        if not is_nan.any():
            return patterns
        quiet_source = source | np.uint64(1 << 51) if self.type == "f64" else self.nan
        return np.where(is_nan, quiet_source, patterns)


def sign_op(op: str, type_: str, *, ftz: bool = False) -> Op:
    """``abs`` or ``neg`` of f16, bf16, f32 or f64.

    NaN operands give the canonical NaN; in f64 they pass on unchanged but for the quiet bit, sign included.
    """
    if op not in ("abs", "neg") or type_ not in _UNSIGNED or (ftz and type_ not in ("f16", "f32")):
        raise unsupported(op, type_, ftz=ftz)
    form = _Bits(type_)

    def apply(a: Array) -> Array:
        source = form.view(a)
        changed = source & form.magnitude if op == "abs" else source ^ form.sign
        if ftz:
            changed = form.flush(changed)
        return form.back(form.nan_or(source, changed))

    return blocked(apply)


def copysign(type_: str) -> Op:
    """``copysign d, a, b``: the sign of a with the magnitude of b (f32, f64); NaN patterns are kept."""
    if type_ not in ("f32", "f64"):
        raise unsupported("copysign", type_)
    form = _Bits(type_)
    return lambda a, b: form.back((form.view(a) & form.sign) | (form.view(b) & form.magnitude))


def testp(kind: str, type_: str) -> Op:
    """``testp.kind``: finite, infinite, number, notanumber, normal or subnormal; zeros count as normal."""
    if type_ not in ("f32", "f64"):
        raise unsupported(f"testp.{kind}", type_)
    form = _Bits(type_)
    tests: dict[str, Op] = {
        "finite": lambda m: m < form.infinity,
        "infinite": lambda m: m == form.infinity,
        "number": lambda m: m <= form.infinity,
        "notanumber": lambda m: m > form.infinity,
        "normal": lambda m: ((m >= form.smallest_normal) & (m < form.infinity)) | (m == 0),
        "subnormal": lambda m: (m < form.smallest_normal) & (m != 0),
    }
    if kind not in tests:
        raise unsupported(f"testp.{kind}", type_)
    test = tests[kind]
    return lambda a: test(form.view(a) & form.magnitude)


# Minimum and maximum


def float_minmax(op: str, type_: str, *, ftz: bool = False, nan: bool = False, xorsign_abs: bool = False) -> Op:
    """``min`` or ``max`` of two or three f16, bf16, f32 or f64 operands; -0 is less than +0.

    Parameters
    ----------
    op : {"min", "max"}
    ftz : bool
        f16, f32: flush subnormal operands and results.
    nan : bool
        ``.NaN``: any NaN operand gives the canonical NaN; otherwise NaN loses against a number.
    xorsign_abs : bool
        ``.xorsign.abs``: compare magnitudes; the sign is the exclusive or of the operands' signs.
    """
    legal = op in ("min", "max") and type_ in _UNSIGNED and not (ftz and type_ in ("bf16", "f64"))
    if not legal or (type_ == "f64" and (nan or xorsign_abs)):
        raise unsupported(op, type_, ftz=ftz, NaN=nan, xorsign_abs=xorsign_abs)
    if type_ in ("f32", "f64") and not (ftz or xorsign_abs):
        return quiet(_native_minmax(op, nan, canonical32 if type_ == "f32" else None))
    form = _Bits(type_)

    def apply(*operands: Array) -> Array:
        patterns = [form.view(x) for x in operands]
        if ftz:
            patterns = [form.flush(p) for p in patterns]
        sign = form.sign.dtype.type(0)
        if xorsign_abs:
            for p in patterns:
                sign = sign ^ (p & form.sign)
            patterns = [p & form.magnitude for p in patterns]
        result = patterns[0]
        for p in patterns[1:]:
            result = _select(form, op == "min", nan, result, p)
        is_nan = result & form.magnitude > form.infinity
        return form.back(np.where(is_nan, form.nan, (result & form.magnitude | sign) if xorsign_abs else result))

    return blocked(apply)


def _select(form: _Bits, least: bool, nan: bool, a: Array, b: Array) -> Array:
    """The lesser or greater of two patterns; a NaN where the rules give one."""
    key_a, key_b = (np.where(p & form.sign != 0, ~p, p | form.sign) for p in (a, b))
    nan_a, nan_b = a & form.magnitude > form.infinity, b & form.magnitude > form.infinity
    take_a = key_a < key_b if least else key_a > key_b
    if nan:
        return np.where(nan_a | nan_b, form.nan, np.where(take_a, a, b))
    return np.where(nan_a, b, np.where(nan_b | take_a, a, b))


def _native_minmax(op: str, nan: bool, finish: Op | None) -> Op:
    # fmin and fmax prefer numbers, minimum and maximum prefer NaN.
    function: Op = getattr(np, f"{op}imum" if nan else f"f{op}")

    def two(a: Array, b: Array) -> Array:
        result = function(a, b)
        zero = result == 0
        if zero.any():
            # NumPy leaves the order of -0 and +0 open: zeros are -0 if any (minimum) or every (maximum) zero is.
            minus_a, minus_b = (a == 0) & np.signbit(a), (b == 0) & np.signbit(b)
            negative = minus_a | minus_b
            if op == "max":
                negative &= (minus_a | (a != 0)) & (minus_b | (b != 0))
            result = np.where(zero, np.where(negative, -np.zeros_like(result), np.zeros_like(result)), result)
        return finish(result) if finish is not None else propagate64(result, b, a)

    return lambda a, b, *rest: two(two(a, b), rest[0]) if rest else two(a, b)


# Comparisons

_ORDERED: dict[str, Op] = {
    "eq": np.equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_UNSIGNED_ORDER = {"lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal}
_NEGATED = {"ltu": "ge", "leu": "gt", "gtu": "le", "geu": "lt"}


def compare(op: str, type_: str, *, ftz: bool = False) -> Op:
    """A comparison of ``setp`` and ``set``, as a callable of two arrays that returns a bool array.

    Parameters
    ----------
    op : str
        Integers and .b types: eq ne lt le gt ge, and lo ls hi hs for unsigned ones. Floats: eq ne lt le gt ge
        (false with a NaN), equ neu ltu leu gtu geu (true with a NaN), num, nan.
    type_ : str
        b16 b32 b64 compare as unsigned.
    """
    if type_ in INTEGERS or type_ in ("b16", "b32", "b64"):
        return _compare_integers(op, type_)
    if type_ not in _UNSIGNED or (ftz and type_ not in ("f16", "f32")):
        raise unsupported(op, type_, ftz=ftz)
    function = _float_comparison(op, type_)
    if type_ == "bf16":
        return quiet(lambda a, b: function(_bf16_value(a), _bf16_value(b)))
    if not ftz:
        return quiet(function)
    if type_ == "f32":
        return quiet(lambda a, b: function(flush32(a), flush32(b)))
    form = _Bits(type_)
    return quiet(lambda a, b: function(form.back(form.flush(form.view(a))), form.back(form.flush(form.view(b)))))


def _bf16_value(bits: Array) -> Array:
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _compare_integers(op: str, type_: str) -> Op:
    if op == "ne":
        return np.not_equal
    if op in _ORDERED and not (type_[0] == "b" and op != "eq"):
        return _ORDERED[op]
    if op in _UNSIGNED_ORDER and type_[0] == "u":
        return _UNSIGNED_ORDER[op]
    raise unsupported(op, type_)


def _float_comparison(op: str, type_: str) -> Op:
    if op in _ORDERED:
        return _ORDERED[op]
    if op == "neu":
        return np.not_equal
    if op == "ne":
        return lambda a, b: (a < b) | (a > b)
    if op == "equ":
        return lambda a, b: ~((a < b) | (a > b))
    if op in _NEGATED:
        opposite = _ORDERED[_NEGATED[op]]
        return lambda a, b: ~opposite(a, b)
    if op == "num":
        return lambda a, b: (a == a) & (b == b)
    if op == "nan":
        return lambda a, b: (a != a) | (b != b)
    raise unsupported(op, type_)
