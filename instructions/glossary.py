"""What the qualifiers do that many instructions share; a contract's `meaning` starts from these."""

from __future__ import annotations

__all__ = [
    "COMBINE",
    "COMPARE",
    "FTZ",
    "HALF_FTZ",
    "MAGNITUDE",
    "NAN",
    "OOB",
    "RELU",
    "ROUNDING",
    "ROUND_NEAREST",
    "SAT",
    "SHIFT_AMOUNT",
]

ROUND_NEAREST = {".rn": "Rounds to the nearest representable value, ties to the one whose last mantissa bit is 0."}

ROUNDING = {
    ".rnd": "How an inexact result is rounded.",
    **ROUND_NEAREST,
    ".rz": "Rounds toward zero.",
    ".rm": "Rounds toward minus infinity.",
    ".rp": "Rounds toward plus infinity.",
}

FTZ = {".ftz": "Subnormal inputs and results become zero of the same sign; without it .f32 keeps subnormals."}

HALF_FTZ = {".ftz": "Subnormal inputs and results become zero of the same sign; without it 16-bit floats keep subnormals."}

SAT = {".sat": "Clamps the result to [0.0, 1.0]; NaN becomes +0.0."}

RELU = {".relu": "A negative result becomes 0; NaN becomes the canonical NaN."}

OOB = {".oob": "An operand that is the out-of-bounds NaN makes the result 0."}

NAN = {".NaN": "The result is the canonical NaN where an input is NaN; without it the other input wins."}

MAGNITUDE = {".abs": "Compares magnitudes.", ".xorsign": "The sign of the result is the XOR of both input signs."}

SHIFT_AMOUNT = {
    ".mode": "What happens to an amount past the width.",
    ".clamp": "An amount above 32 counts as 32.",
    ".wrap": "The amount is taken modulo 32.",
}

COMPARE = {
    ".CmpOp": "The comparison.",
    ".eq": "a equals b; false where either is NaN.",
    ".ne": "a differs from b; false where either is NaN.",
    ".lt": "a is less than b; false where either is NaN.",
    ".le": "a is less than or equal to b; false where either is NaN.",
    ".gt": "a is greater than b; false where either is NaN.",
    ".ge": "a is greater than or equal to b; false where either is NaN.",
    ".lo": "a is less than b, unsigned.",
    ".ls": "a is less than or equal to b, unsigned.",
    ".hi": "a is greater than b, unsigned.",
    ".hs": "a is greater than or equal to b, unsigned.",
    ".equ": "a equals b; true where either is NaN.",
    ".neu": "a differs from b; true where either is NaN.",
    ".ltu": "a is less than b; true where either is NaN.",
    ".leu": "a is less than or equal to b; true where either is NaN.",
    ".gtu": "a is greater than b; true where either is NaN.",
    ".geu": "a is greater than or equal to b; true where either is NaN.",
    ".num": "Neither is NaN.",
    ".nan": "At least one is NaN.",
}

COMBINE = {
    ".BoolOp": "How the comparison's outcome is combined with the predicate c.",
    ".and": "Outcome AND c.",
    ".or": "Outcome OR c.",
    ".xor": "Outcome XOR c.",
}
