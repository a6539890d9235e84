"""cvt between scalar integer and floating-point types (ISA "Data Movement and Conversion Instructions: cvt")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxgen.emulator.numerics import softfloat
from ptxgen.emulator.numerics.common import (
    DTYPES,
    INTEGERS,
    ROUNDINGS,
    TINY32,
    Array,
    Op,
    blocked,
    canonical32,
    flush32,
    has_nan,
    propagate64,
    quiet,
    saturate32,
    saturate64,
    unsupported,
)
from ptxgen.emulator.numerics.half import bf16_to_f32, f32_to_bf16, f32_to_f16
from ptxgen.emulator.numerics.ieee import rounds_to_normal
from ptxgen.emulator.numerics.rounding import BF16, F16, F32, F64, TF32, Format, narrow, round_pack

FLOATS = ("f16", "bf16", "f32", "f64")
INTEGER_ROUNDINGS: dict[str, Callable[[Array], Array]] = {
    "rni": np.rint,
    "rzi": np.trunc,
    "rmi": np.floor,
    "rpi": np.ceil,
}
_FORMATS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64, "tf32": TF32}
_PRECISION = {"f16": 0, "bf16": 0, "tf32": 1, "f32": 2, "f64": 3}


def cvt(
    dst: str,
    src: str,
    *,
    rounding: str | None = None,
    ftz: bool = False,
    sat: bool = False,
    relu: bool = False,
    satfinite: bool = False,
) -> Op:
    """The callable for one scalar ``cvt{.rounding}{.ftz}{.sat}{.relu}{.satfinite}.dst.src``.

    Parameters
    ----------
    dst, src : str
        u8 ... s64, f16, bf16, f32, f64; tf32 as destination from f32.
    rounding : str, optional
        rni rzi rmi rpi to an integer or an integral value of the same float type; rn rz rm rp (rna to tf32) to a
        float; None where the conversion is exact.
    ftz : bool
        Flush f32 subnormal operands and results. From f32 to f16 this has no effect, as seen on sm_90: subnormal
        operands round like any tiny value (the ISA has them flushed; only rm and rp show the difference).
    sat : bool
        Integers: clamp to the destination's range (floating sources always do). Floats: clamp to [0, 1].
    relu, satfinite : bool
        f32 to f16, bf16, tf32: negative results to +0; overflow to the largest finite value.

    Raises
    ------
    NumericsError
        No such conversion.

    Notes
    -----
    NaN to an integer gives 0, or ``1 << (bits - 1)`` if the source is f64 or the destination has 64 bits (ISA, "cvt").
    NaN from f64, or from bf16 to f32, passes its payload on, as seen on sm_90; else it becomes canonical. f64 to f64 without rounding
    copies the bits.
    """
    options = {"rounding": rounding, "ftz": ftz, "sat": sat, "relu": relu, "satfinite": satfinite}
    known = (dst in DTYPES) and (src in DTYPES) and src != "tf32"
    if not known or ((relu or satfinite) and (src != "f32" or dst not in ("f16", "bf16", "tf32"))):
        raise unsupported("cvt", f"{dst}.{src}", **options)
    if src in INTEGERS and dst in INTEGERS:
        return _integer_to_integer(dst, src, sat)
    if src in INTEGERS:
        function = _integer_to_float(dst, src, rounding or "", sat)
    elif dst in INTEGERS:
        function = _float_to_integer(dst, src, rounding or "", ftz)
    elif dst == "tf32":
        function = _to_tf32(src, rounding or "", relu, satfinite)
    elif rounding in INTEGER_ROUNDINGS or dst == src:
        function = _same_type(dst, src, rounding, ftz, sat)
    else:
        function = _float_to_float(dst, src, rounding, ftz, sat, relu, satfinite)
    if function is None:
        raise unsupported("cvt", f"{dst}.{src}", **options)
    return quiet(blocked(function))


# Integers


def _limits(type_: str) -> np.iinfo[np.integer[Any]]:
    return np.iinfo(np.dtype(INTEGERS[type_]))


def _integer_to_integer(dst: str, src: str, sat: bool) -> Op:
    target, source = INTEGERS[dst], INTEGERS[src]
    if not sat:
        return lambda a: a.astype(target)
    info, limits = _limits(dst), _limits(src)
    low, high = source(max(info.min, limits.min)), source(min(info.max, limits.max))
    return blocked(lambda a: np.minimum(np.maximum(a, low), high).astype(target))


def _integer_to_float(dst: str, src: str, rounding: str, sat: bool) -> Op | None:
    if dst not in FLOATS or rounding not in ROUNDINGS:
        return None
    convert = _exact_or_nearest(dst, src) if rounding == "rn" else None
    if convert is None:
        form, dtype = _FORMATS[dst], DTYPES[dst]
        convert = lambda a: _round_integer(a, form, rounding).view(dtype)  # noqa: E731
    if not sat:
        return convert
    return _saturated(convert, dst)


def _exact_or_nearest(dst: str, src: str) -> Op | None:
    if dst in ("f32", "f64"):
        target = DTYPES[dst]
        return lambda a: a.astype(target)
    if dst == "f16" and src not in ("u64", "s64"):
        # By way of f64, which is exact: NumPy would go through f32.
        return lambda a: a.astype(np.float64).astype(np.float16)
    if dst == "bf16" and src in ("u8", "s8", "u16", "s16"):
        return lambda a: f32_to_bf16(a.astype(np.float32))
    return None


def _round_integer(values: Array, form: Format, rounding: str) -> Array:
    negative = values < 0
    magnitude = values.astype(np.uint64)
    magnitude = np.where(negative, np.uint64(0) - magnitude, magnitude)
    top = softfloat.leading_bit(magnitude)
    left = np.clip(62 - top, 0, 62).astype(np.uint64)
    # A 64-bit magnitude gives up its last bit to the sticky one.
    reduced = (magnitude >> np.uint64(1)) | (magnitude & np.uint64(1))
    significand = np.where(top == 63, reduced, magnitude << left)
    exponent = np.where(magnitude == 0, -5000, top)
    return round_pack(negative.astype(np.uint64), exponent, significand, form, rounding).astype(form.container)


def _load(src: str) -> Op:
    """Values of a float type in f32 (f16, bf16, f32) or f64, exactly."""
    if src == "bf16":
        return bf16_to_f32
    if src == "f16":
        return lambda a: a.astype(np.float32)
    return lambda a: a


def _float_to_integer(dst: str, src: str, rounding: str, ftz: bool) -> Op | None:
    if rounding not in INTEGER_ROUNDINGS or (ftz and src != "f32"):
        return None
    target, bits = INTEGERS[dst], int(dst[1:])
    to_integral, load = INTEGER_ROUNDINGS[rounding], _load(src)
    info = _limits(dst)
    of_nan = target(0) if src != "f64" and bits < 64 else np.array(1 << (bits - 1), np.uint64).astype(target)
    # For 64 bits the largest integer is no f64: compare with 2^63 or 2^64, one above it, and fill in.
    above = float(info.max) + (1 if bits < 64 else 0)

    def convert(a: Array) -> Array:
        values = load(flush32(a) if ftz else a)
        values = to_integral(values.astype(np.float64))
        high = values >= above
        low = values < float(info.min)
        inside = np.where(high | low | (values != values), 0.0, values)
        result = inside.astype(target if bits == 64 else np.int64).astype(target)
        if high.any():
            result[high] = info.max
        if low.any():
            result[low] = info.min
        if has_nan(values):
            result[values != values] = of_nan
        return result

    return convert


# Floats


def _saturated(convert: Op, dst: str) -> Op:
    """``.sat`` behind a conversion to f16, f32 or f64."""
    if dst == "f16":
        return lambda a: saturate32(convert(a).astype(np.float32)).astype(np.float16)
    if dst == "f32":
        return lambda a: saturate32(convert(a))
    if dst == "f64":
        return lambda a: saturate64(convert(a))
    raise unsupported("cvt.sat", dst)


def _same_type(dst: str, src: str, rounding: str | None, ftz: bool, sat: bool) -> Op | None:
    if dst != src or (ftz and src != "f32") or rounding not in (None, *INTEGER_ROUNDINGS):
        return None
    round_ = INTEGER_ROUNDINGS[rounding] if rounding else (lambda a: a.copy())
    if src == "f64":
        # Assemblers drop the conversion that changes nothing, so a signalling NaN stays one.
        step: Op = (lambda a: propagate64(round_(a), a)) if rounding else round_
    elif src == "f32":
        step = (lambda a: canonical32(round_(flush32(a)))) if ftz else (lambda a: canonical32(round_(a)))
    elif src == "f16":
        step = lambda a: f32_to_f16(round_(a.astype(np.float32)))  # noqa: E731
    else:
        step = lambda a: f32_to_bf16(round_(bf16_to_f32(a)))  # noqa: E731
    return _saturated(step, dst) if sat else step


def _float_to_float(dst: str, src: str, rounding: str | None, ftz: bool, sat: bool, relu: bool, satfinite: bool) -> Op | None:
    narrowing = _PRECISION[dst] < _PRECISION[src] or {dst, src} == {"f16", "bf16"}
    if narrowing != (rounding in ROUNDINGS) or (ftz and "f32" not in (dst, src)):
        return None
    convert = _narrowing(dst, src, rounding, relu, satfinite) if narrowing and rounding else _widening(dst, src)
    if ftz and dst != "f16":
        convert = _flushing(convert, dst, src, rounding)
    return _saturated(convert, dst) if sat else convert


def _flushing(convert: Op, dst: str, src: str, rounding: str | None) -> Op:
    """``.ftz`` around a conversion from or to f32. Widening with it also makes NaN canonical, as seen on sm_90."""
    if src != "f32":
        if src == "f64":
            return lambda a: _flush_narrowed(convert(a), a, rounding or "rn")
        return lambda a: canonical32(flush32(convert(a)))
    if dst == "f64":
        return lambda a: convert(canonical32(flush32(a)))
    return lambda a: convert(flush32(a))


def _flush_narrowed(result: Array, exact: Array, rounding: str) -> Array:
    """``.ftz`` on f32 results of f64 values; subnormality is decided as in `ieee`."""
    result = flush32(result)
    smallest = np.abs(result) == TINY32
    if smallest.any():
        result[smallest] *= rounds_to_normal(exact[smallest], rounding)
    return result


def _widening(dst: str, src: str) -> Op:
    if dst == "f64":
        load = _load(src)
        return lambda a: load(a).astype(np.float64)
    if src == "bf16":
        return bf16_to_f32
    return lambda a: canonical32(a.astype(np.float32))


def _narrowing(dst: str, src: str, rounding: str, relu: bool, satfinite: bool) -> Op:
    form, dtype, load = _FORMATS[dst], DTYPES[dst], _load(src)
    if rounding == "rn" and not satfinite:
        native = _narrow_nearest(dst, src)
        if native is not None:
            return (lambda a: native(_relu(a))) if relu else native

    def convert(a: Array) -> Array:
        values = load(_relu(a) if relu else a).astype(np.float64)
        result = narrow(values, form, rounding, satfinite)
        if src == "f64" and has_nan(values):
            where = values != values
            result[where] = _narrow_nan(values[where], form)
        return result.view(dtype)

    return convert


def _relu(a: Array) -> Array:
    return np.where(a <= 0, np.float32(0), a)


def _narrow_nearest(dst: str, src: str) -> Op | None:
    if (dst, src) == ("f16", "f32"):
        return f32_to_f16
    if (dst, src) == ("bf16", "f32"):
        return f32_to_bf16
    if (dst, src) == ("bf16", "f16"):
        return lambda a: f32_to_bf16(a.astype(np.float32))
    if (dst, src) == ("f32", "f64"):
        return lambda a: a.astype(np.float32)
    return None


def _narrow_nan(values: Array, form: Format) -> Array:
    """NaN from f64 keeps its sign and the upper payload bits, made quiet."""
    bits = np.ascontiguousarray(values).view(np.uint64)
    payload = (bits & np.uint64((1 << 52) - 1)) >> np.uint64(52 - form.fraction_bits)
    quiet_nan = np.uint64((form.infinity or 0) | 1 << (form.fraction_bits - 1))
    sign = (bits >> np.uint64(63)) << np.uint64(form.sign_shift)
    return (sign | quiet_nan | payload).astype(form.container)


def _to_tf32(src: str, rounding: str, relu: bool, satfinite: bool) -> Op | None:
    if rounding == "rna" and not relu:
        return lambda a: _tf32_away(a, satfinite)
    if rounding not in ("rn", "rz"):
        return None

    def convert(a: Array) -> Array:
        values = (_relu(a) if relu else a).astype(np.float64)
        return narrow(values, TF32, rounding, satfinite) << np.uint32(13)

    return convert


def _tf32_away(a: Array, satfinite: bool) -> Array:
    """``cvt.rna{.satfinite}.tf32.f32``, on the bits: NaN and infinity are cut, not rounded, as seen on sm_90."""
    bits = np.ascontiguousarray(a).view(np.uint32)
    exponent = np.uint32(0x7F800000)
    finite = bits & exponent != exponent
    rounded = (bits + (finite.astype(np.uint32) << np.uint32(12))) & np.uint32(0xFFFFE000)
    if satfinite:
        over = rounded & exponent == exponent
        rounded = np.where(over, rounded - np.uint32(0x2000), rounded)
    return rounded
