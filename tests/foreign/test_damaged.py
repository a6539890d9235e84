"""Compiled texts with something cut out, put in or moved: read and checked, or refused with a place in the text; never anything else."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ptxgen.cli.check import check_text
from ptxgen.text import ReadError, read, write
from tests.foreign.texts import text_of

BASES = (
    "assembly.sm_90a", "clusters.sm_100a", "lineinfo.sm_80", "linked.sm_80", "pointers.sm_90a", "switches.sm_80", "tables.sm_120a",
    "textures.sm_90a",
)  # fmt: skip
PIECES = (
    "", ";", ",", "{", "}", "(", ")", "[", "]", ":", "%r1", ".b32", ".param", ".reg .b64 %rd<3>;", "ret;", "L:", "@%p1", "0f3F800000", "-1",
    '"', "//", "/*", "call", ".visible", ".entry", ".func f", "<4>", "generic(", "=", "_", "|", "!", ".v4", ".global .u32 x[2] = {1, 2};",
    ".align 3", "WARP_SZ", "%tid.x", "%tid", "+4", ".branchtargets a;",
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn) -> str:
    text = text_of(draw(st.sampled_from(BASES)))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(text)))
        end = min(len(text), place + draw(st.sampled_from([0, 0, 1, 3, 12, 80])))
        text = text[:place] + draw(st.sampled_from(PIECES)) + text[end:]
    return text


@settings(max_examples=60, deadline=None)
@given(damaged())
def test_a_damaged_text_is_read_or_refused_at_a_place(text: str) -> None:
    lines = text.split("\n")
    try:
        module = read(text, filename="damaged.ptx")
    except ReadError as error:
        assert 1 <= len(error.problems) <= 50
        for problem in error.problems:
            line, column = problem.position.line, problem.position.column
            assert 1 <= line <= len(lines) and 1 <= column <= len(lines[line - 1]) + 1
            assert problem.source == lines[line - 1].rstrip("\r") and problem.message
    else:
        assert read(write(module)) == module
    for finding in check_text(text, "damaged.ptx"):
        assert finding.severity in ("error", "warning", "note") and finding.message
        assert finding.file == "damaged.ptx" and 1 <= finding.line <= len(lines) and 1 <= finding.column <= finding.end
