"""`px.cdiv` of traced integers."""

from __future__ import annotations

import numpy as np
import pytest

import ptxgen as px
from ptxgen import u32


@pytest.mark.parametrize(("a", "b"), [(0, 4), (1, 4), (4, 4), (5, 4), (2**32 - 1, 2), (2**32 - 1, 2**32 - 1), (2**32 - 4, 5)])
def test_ceiling_division_of_traced_integers_does_not_wrap(a: int, b: int):
    """`px.cdiv` near 2^32, where ``-(-a // b)`` and ``(a + b - 1) // b`` of unsigned integers would wrap."""

    @px.kernel(grid=1, block=1)
    def kernel(out: px.Tensor((2,), u32), a: u32, b: u32):
        px.ptx.st.global_.u32(out[0], px.cdiv(a, b))
        px.ptx.st.global_.u32(out[1], px.cdiv(a, 7))

    out = np.zeros(2, np.uint32)
    kernel(out, a, b)
    assert out.tolist() == [-(-a // b), -(-a // 7)]
