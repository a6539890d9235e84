"""Small kernels from a few lines of PTX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ptxgen.emulator import EmulationResult, emulate
from ptxgen.ir import Module
from ptxgen.text import read

HEADER = ".version 8.8\n.target sm_100a\n.address_size 64\n"

REGISTERS = """
    .reg .pred %p<20>; .reg .b8 %c<20>; .reg .b16 %h<20>; .reg .b32 %r<60>; .reg .f32 %f<20>;
    .reg .b64 %rd<40>; .reg .f64 %d<20>; .reg .b128 %q<4>;
"""


def module(body: str, parameters: str, before: str = "") -> Module:
    """A module with one entry ``k``."""
    return read(f"{HEADER}{before}\n.visible .entry k({parameters})\n{{{REGISTERS}\n{body}\n}}\n")


@pytest.fixture(scope="session")
def kernel() -> Callable[..., Module]:
    """``kernel(body, parameters, before="")``: a module with one entry ``k``."""
    return module


@pytest.fixture
def run() -> Callable[..., EmulationResult]:
    """``run(body, *arguments, grid=1, block=32, before="")``: parameters are ``a``, ``b``, ``c`` ...; bytes of 4 are ``.u32``."""

    def launch(body: str, *arguments: Any, before: str = "", grid: Any = 1, block: Any = 32, **options: Any) -> EmulationResult:
        types = [".u64" if isinstance(one, np.ndarray) else f".u{8 * len(one)}" for one in arguments]
        parameters = ", ".join(f".param {of} {name}" for of, name in zip(types, "abcdefgh"))
        return emulate(module(body, parameters, before), "k", grid=grid, block=block, arguments=arguments, **options)

    return launch


_MOVES = {1: ("u8", "%c"), 2: ("b16", "%h"), 4: ("b32", "%r"), 8: ("b64", "%rd")}


@pytest.fixture
def apply() -> Callable[..., np.ndarray[Any, Any]]:
    """``apply(lines, out_dtype, *inputs)``: one thread an element; ``lines`` use ``{a}``, ``{b}``, ``{c}`` and write ``{d}``."""

    def compute(lines: str, dtype: Any, *inputs: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        count = len(inputs[0])
        result = np.zeros(count, dtype)
        body = ["mov.u32 %r50, %tid.x;"]
        names = {}
        for number, values in enumerate([*inputs, result]):
            name = "abcd"[number] if number < len(inputs) else "d"
            width = values.dtype.itemsize
            move, prefix = _MOVES[width]
            names[name] = f"{prefix}{10 + number}"
            body.append(f"ld.param.u64 %rd{30 + number}, [{'abcd'[number]}];")
            body.append(f"mad.wide.u32 %rd{30 + number}, %r50, {width}, %rd{30 + number};")
            if number < len(inputs):
                body.append(f"ld.global.{move} {names[name]}, [%rd{30 + number}];")
        move, _ = _MOVES[result.dtype.itemsize]
        body.append(lines.format(**names))
        body.append(f"st.global.{move} [%rd{30 + len(inputs)}], {names['d']};")
        parameters = ", ".join(f".param .u64 {name}" for name in "abcd"[: len(inputs) + 1])
        outcome = emulate(module("\n".join(body), parameters), "k", grid=1, block=count, arguments=[*inputs, result])
        outcome.raise_for_reports()
        return result

    return compute
