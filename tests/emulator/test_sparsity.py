"""spdecompress in the emulator, against Python lists."""

from __future__ import annotations

import random
from itertools import chain

import numpy as np
import pytest

from ptxgen.emulator import emulate
from ptxgen.layouts.errors import PtxgenError
from ptxgen.text import read


def text(line: str, count: int, registers: int = 60) -> str:
    return (
        f".version 9.4\n.target sm_107a\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b)\n{{\n"
        f".reg .b32 %r<{registers}>; .reg .b64 %rd<4>;\nld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];\n{line}\n"
        + "".join(f"st.global.b32 [%rd2+{4 * at}], %r{at};\n" for at in range(count))
        + "}\n"
    )


def packed(values: list[int], bits: int) -> list[int]:
    whole = sum(value << at * bits for at, value in enumerate(values))
    return [whole >> 32 * at & 0xFFFFFFFF for at in range(-(-len(values) * bits // 32))]


@pytest.mark.parametrize(
    "element, index, kept, group, groups",
    [(8, 2, 2, 4, 2), (8, 4, 2, 4, 4), (8, 2, 1, 2, 4), (16, 2, 1, 4, 4), (8, 4, 4, 8, 2), (16, 4, 2, 16, 2), (8, 4, 1, 16, 1)],
)
def test_elements_go_back_where_they_stood(element: int, index: int, kept: int, group: int, groups: int) -> None:
    draw = random.Random(element * index * kept * group)
    places = [sorted(draw.sample(range(group), kept)) for _ in range(groups)]
    values = [[draw.randrange(1, 1 << element) for _ in range(kept)] for _ in range(groups)]
    dense = [[0] * group for _ in range(groups)]
    for where, what, row in zip(places, values, dense):
        for at, value in zip(where, what):
            row[at] = value
    metadata, data = packed([*chain(*places)], index), packed([*chain(*values)], element)
    expected = packed([*chain(*dense)], element)

    def names(first: int, count: int) -> str:
        return "{" + ", ".join(f"%r{first + at}" for at in range(count)) + "}"

    loads = "".join(f"ld.global.b32 %r{30 + at}, [%rd1+{4 * at}];\n" for at in range(len(metadata) + len(data)))
    line = (
        f"spdecompress.b{element}.b{index}.sp::{kept}:{group}.x{groups} {names(0, len(expected))}, {names(30, len(metadata))}, "
        f"{names(30 + len(metadata), len(data))};"
    )
    out = np.zeros(len(expected), np.uint32)
    module = read(text(loads + line, len(expected)))
    emulate(module, "k", grid=1, block=1, arguments=[np.array(metadata + data, np.uint32), out]).raise_for_reports()
    assert out.tolist() == expected


def test_the_figure_of_the_isa() -> None:
    out = np.zeros(2, np.uint32)
    line = "mov.b32 %r10, 0x060503F9; mov.b32 %r11, 0x3121; spdecompress.b8.b4.sp::2:4.x2 {%r0, %r1}, {%r11}, {%r10};"
    emulate(read(text(line, 2)), "k", grid=1, block=1, arguments=[np.zeros(1, np.uint32), out]).raise_for_reports()
    assert [hex(one) for one in out] == ["0x3f900", "0x6000500"]


def test_compression_is_refused_by_name() -> None:
    line = "mov.b32 %r2, 0; mov.b32 %r3, 0; mov.b32 %r4, 0; spcompress.b8.b4.sp::2:4.x1 {%r0}, {%r1}, {%r2, %r3}, %r4;"
    with pytest.raises(PtxgenError, match=r"spcompress.*the emulator cannot execute this instruction yet"):
        emulate(read(text(line, 1)), "k", grid=1, block=1, arguments=[np.zeros(1, np.uint32), np.zeros(1, np.uint32)])
