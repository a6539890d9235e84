"""Bit-exact, vectorised PTX arithmetic on NumPy arrays: no PTX text, no threads.

Each family offers a factory that compiles one instruction form to a callable, so that an emulator chooses once and
then only calls. `common` states the value convention and the NaN rules.

========== =====================================================================================
ieee       `float_op`: add sub mul div fma rcp sqrt of f32, f64
half       `half_op`: add sub mul fma of f16, bf16
compare    `sign_op`, `copysign`, `testp`, `float_minmax`, `compare`
approx     `approx`, `MAX_ERROR`
convert    `cvt`: scalar types
minifloat  `cvt_packed`: pairs, down to four bits a value
integer    `integer_op`, `packed_op`, `dot_product`, `add_carry`, `sub_carry`, `mad_carry`
matrix     `matrix_product`: what the tensor cores compute
bits       `shift_op`, `funnel_shift`, `popc`, `clz`, `bfind`, `brev`, `fns`, `bfe`, `bfi`, `bmsk`, `szext`, `lop3`, `prmt`
========== =====================================================================================
"""

from __future__ import annotations

from ptxgen.emulator.numerics.approx import MAX_ERROR, Bound, approx
from ptxgen.emulator.numerics.bits import (
    bfe,
    bfi,
    bfind,
    bmsk,
    brev,
    clz,
    fns,
    funnel_shift,
    lop3,
    popc,
    prmt,
    shift_op,
    szext,
)
from ptxgen.emulator.numerics.common import DTYPES, NumericsError
from ptxgen.emulator.numerics.compare import compare, copysign, float_minmax, sign_op, testp
from ptxgen.emulator.numerics.convert import cvt
from ptxgen.emulator.numerics.half import half_op
from ptxgen.emulator.numerics.ieee import float_op
from ptxgen.emulator.numerics.integer import add_carry, dot_product, integer_op, mad_carry, packed_op, sub_carry
from ptxgen.emulator.numerics.matrix import matrix_product
from ptxgen.emulator.numerics.minifloat import cvt_packed

__all__ = [
    "DTYPES",
    "MAX_ERROR",
    "Bound",
    "NumericsError",
    "add_carry",
    "approx",
    "bfe",
    "bfi",
    "bfind",
    "bmsk",
    "brev",
    "clz",
    "compare",
    "copysign",
    "cvt",
    "cvt_packed",
    "dot_product",
    "float_minmax",
    "float_op",
    "fns",
    "funnel_shift",
    "half_op",
    "integer_op",
    "lop3",
    "mad_carry",
    "matrix_product",
    "packed_op",
    "popc",
    "prmt",
    "shift_op",
    "sign_op",
    "sub_carry",
    "szext",
    "testp",
]
