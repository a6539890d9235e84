"""The same kernel gives the same bytes in every process, whatever the hash seed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples"
PROGRAM = """
import importlib.util, sys
for path in sys.argv[1:]:
    spec = importlib.util.spec_from_file_location("example", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel = module.case()[0]
    if hasattr(kernel, "ptx"):
        print(kernel.ptx(), kernel.ptx(comments=False, loc=True))
from ptxgen.cli import main
for opcode in ("setp.lt.f32", "ld", "cvt.rn.bf16x2.f32"):
    main(["explain", opcode])
"""


def output(seed):
    paths = sorted(map(str, FOLDER.glob("*.py")))
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, *paths],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return run.stdout


@pytest.mark.parametrize("seed", ["1", "4711"])
def test_text_does_not_depend_on_the_hash_seed(seed):
    found = output(seed)
    assert found.count(".entry") >= 10
    assert found == output("0")
