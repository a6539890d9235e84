"""What a guard proves, against running the kernel over all small sizes: the emulator never finds an access out of bounds."""

import numpy as np
import ptxgen as px


def test_an_asserted_predicate_keeps_what_a_mutable_one_held():
    n = px.dim("n")

    @px.kernel(grid=1, block=32)
    def kernel(A: px.Tensor((n,), px.u32)):
        i = px.tid.x
        register = px.reg(px.pred, i < n)
        inside = px.uniform(register)
        register.set(i < 100)
        with px.if_(inside):
            px.ptx.st.global_.u32(A[i], i + 1)

    a = np.zeros(32, np.uint32)
    kernel(a)
    assert a.tolist() == list(range(1, 33))
