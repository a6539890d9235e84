"""Load a PTX file that something else wrote, and run it: in the emulator on host arrays, on the GPU on CUDA arrays."""

from functools import partial
from pathlib import Path

import numpy as np

import ptxgen as px

module = px.load_ptx((Path(__file__).parent / "scale.ptx").read_text())
scale = module["scale"]


def case(seed=0, length=1000):
    """The kernel, its arguments, and what the arguments at these positions must hold afterwards."""
    x = np.random.default_rng(seed).standard_normal(length, dtype=np.float32)
    a = np.float32(0.3)
    return partial(scale, grid=px.cdiv(length, 128), block=128), (x, a, length), {0: x * a}


if __name__ == "__main__":
    kernel, arguments, expected = case()
    kernel(*arguments)
    print("elements that differ:", int((arguments[0] != expected[0]).sum()))
