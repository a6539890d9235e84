"""``.uni`` is a promise, and the emulator looks whether it is kept: by the threads of each warp, not by those of a block."""

import numpy as np
import pytest

import ptxgen as px
from ptxgen import f32, u32


@px.kernel(grid=2, block=(24, 4))
def promising(x: px.Tensor((96,), f32), limit: u32):
    thread = px.tid.y * 24 + px.tid.x
    with px.if_(px.uniform(thread < limit)):
        px.ptx.st.global_.f32(x[thread], 1.0)


@pytest.mark.parametrize("limit", [0, 1, 31, 32, 33, 64, 90, 96])
def test_a_warp_that_parts_at_a_uniform_branch_is_reported(limit):
    x = np.zeros(96, np.float32)
    result = promising.emulate(x, limit)
    assert x.sum() == limit
    torn = limit % 32
    assert [(report.kind, report.count) for report in result.reports] == ([("branch", 2 * (32 - torn))] if torn else [])
