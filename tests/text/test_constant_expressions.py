"""Random constant expressions: ptxas makes the same machine code of each and of the value that the reader finds."""

from __future__ import annotations

import random

import pytest

from ptxgen.assemble import find_tool, ptxas
from ptxgen.ir import Int
from ptxgen.text import ReadError, read_instruction

LITERALS = (
    "0", "1", "2", "3", "7", "31", "017", "0b101", "5U", "0x10", "0xFFFFFFFF", "0x80000000", "12345678901U", "9223372036854775807",
    "0x8000000000000000", "18446744073709551615", "0xFFFFFFFFFFFFFFFFU", "(WARP_SZ)",
)  # fmt: skip
BINARY = ("+", "-", "*", "/", "%", "<<", ">>", "<", ">", "<=", ">=", "==", "!=", "&", "|", "^", "&&", "||")
COUNT = 250


def expression(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.25:
        return rng.choice(LITERALS)
    inner = [expression(rng, depth - 1) for _ in range(3)]
    kind = rng.randrange(7)
    if kind == 0:
        return f"{rng.choice('-~!')}({inner[0]})"
    if kind == 1:
        return f"({inner[0]})"
    if kind == 2:
        return f"({rng.choice(('.s64', '.u64'))})({inner[0]})"
    if kind == 3:
        return f"{inner[0]} ? {inner[1]} : {inner[2]}"
    sign = rng.choice(BINARY)
    if sign in ("<<", ">>"):  # a count past the width has no meaning in C, whose rules these are
        return f"({inner[0]} {sign} {rng.randrange(64)})"
    return f"{inner[0]} {sign} {inner[1]}"


def value_of(text: str) -> int | None:
    """None where the expression divides by zero."""
    try:
        found = read_instruction(f"mov.b64 %rd1, {text};").operands[1]
    except ReadError as error:
        assert error.problems[0].message == "a constant expression divides by zero"
        return None
    assert isinstance(found, Int)
    return found.value


def code(values: list[str]) -> bytes:
    stores = "".join(f"mov.b64 %rd2, {value}; st.global.b64 [%rd1+{8 * n}], %rd2;\n" for n, value in enumerate(values))
    body = f".reg .b64 %rd<3>; ld.param.u64 %rd1, [p];\n{stores} ret;"
    return ptxas(f".version 9.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 p) {{ {body} }}", "sm_90").code


@pytest.mark.skipif(find_tool("ptxas") is None, reason="needs ptxas: pip install 'ptxgen[asm]'")
@pytest.mark.parametrize("seed", range(2))
def test_ptxas_computes_the_same(seed: int) -> None:
    rng = random.Random(seed)
    known = {}
    while len(known) < COUNT:
        text = expression(rng, rng.randrange(1, 5))
        if (value := value_of(text)) is not None:
            known[text] = value
    assert code(list(known)) == code(list(map(str, known.values())))
