"""`drive`: Python in a process of its own, against a stand-in for libcuda (fake_driver.c) behind the real cuda.bindings.

A process of its own, since a process loads one libcuda.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

Drive = Callable[..., "tuple[list[str], list[str]]"]

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

PRELUDE = '''
import threading
from ptxgen.instructions.types import f32, u32
from ptxgen.layouts.errors import PtxgenError
from ptxgen.runtime import *

PTX = """.version 8.0
.target sm_90
.address_size 64
.entry saxpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n) {
ret;
}
"""
SIGNATURE = Signature("saxpy", [
    TensorParam("x", f32, ["n"], align=16), TensorParam("y", f32, ["n"], align=16), ScalarParam("a", f32), DimParam("n", u32)
])

class Array:
    def __init__(self, pointer, n, stream=1):
        self.__cuda_array_interface__ = dict(
            shape=(n,), typestr="<f4", data=(pointer, False), version=3, strides=None, stream=stream)

def runner(ptx=PTX, entry="saxpy", grid=lambda dims: -(-dims[0] // 128), block=128, **options):
    return Runner(ptx, entry, SIGNATURE, grid=grid, block=block, **options)

def refused(action):
    try:
        action()
    except PtxgenError as error:
        print(type(error).__name__ + ": " + str(error))
    else:
        print("accepted")

x, y = Array(0x1000, 1000), Array(0x2000, 1000)
'''


STUB_TORCH = """
import sys, types
torch = types.ModuleType("torch")
torch.float32, torch.strided, torch._C = "torch.float32", "strided", types.SimpleNamespace(_cuda_getCurrentRawStream=lambda d: 0x70)

class Tensor:
    dtype, layout = torch.float32, torch.strided
    device = types.SimpleNamespace(type="cuda")
    described = 0
    def __init__(self, pointer, n): self.pointer, self.shape = pointer, (n,)
    def is_contiguous(self): return True
    def data_ptr(self): return self.pointer
    def get_device(self): return 0
    def stride(self): return (1,)
    def element_size(self): return 4
    def untyped_storage(self):
        Tensor.described += 1
        return types.SimpleNamespace(data_ptr=lambda: self.pointer, nbytes=lambda: 4 * self.shape[0])

torch.Tensor = Tensor
sys.modules["torch"] = torch
"""


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if COMPILER is None or not sys.platform.startswith("linux"):
        pytest.skip("needs a C compiler on Linux")
    folder = tmp_path_factory.mktemp("driver")
    source = Path(__file__).with_name("fake_driver.c")
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", folder / "libcuda.so.1", source, "-ldl"], check=True)
    return folder


@pytest.fixture
def drive(library: Path, tmp_path: Path) -> Drive:
    """Runs Python behind `PRELUDE`; returns the lines that it prints and the driver calls that it makes."""

    def run(code: str, **environment: str) -> tuple[list[str], list[str]]:
        log = tmp_path / "calls"
        log.unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, "-c", PRELUDE + textwrap.dedent(code)],
            env={**os.environ, "LD_LIBRARY_PATH": str(library), "FAKE_CUDA_LOG": str(log), **environment},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines(), log.read_text().splitlines() if log.exists() else []

    return run


@pytest.fixture(scope="session")
def stub_torch() -> str:
    """A torch with CUDA tensors of float32, before the code of `drive`."""
    return STUB_TORCH
