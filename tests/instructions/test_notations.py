"""The contract language's small notations: counts and conditions."""

from __future__ import annotations

import pytest

from ptxgen.instructions.grammar import condition, count_expression
from ptxgen.layouts.errors import PtxgenError

HALF = {".shape": ".m16n8k16", ".atype": ".f16", ".num": ".x4", ".vec": ".v2", ".trans": ".trans"}

COUNTS = [
    ("4", 4),
    (".vec", 2),
    (".num", 4),
    (".left_out", 1),
    (".num * 2", 8),
    ("m(.shape)", 16),
    ("n(.shape)", 8),
    ("k(.shape)", 16),
    ("bits(.atype)", 16),
    ("bits(wide(u32))", 64),
    ("m(.shape) * k(.shape) * bits(.atype) / 1024", 4),
    ("n(.shape) / 3", 3),
    ("7 if .trans else 2", 7),
    ("7 if not .trans else 2", 2),
    ("1 if .num in .x1 else 2 if .num in .x2 else .num", 4),
]


@pytest.mark.parametrize(("text", "count"), COUNTS, ids=[text for text, _ in COUNTS])
def test_counts(text: str, count: int) -> None:
    assert count_expression(text)(HALF) == count


@pytest.mark.parametrize("text", ["two", "2 + 2", "shape", "m(shape)"])
def test_a_count_that_cannot_be_read_is_refused_at_once(text: str) -> None:
    with pytest.raises(PtxgenError, match="contract count"):
        count_expression(text)


def test_a_qualifier_without_the_number_is_refused() -> None:
    with pytest.raises(PtxgenError, match=r"\.m16n8k16 has no number"):
        count_expression("x(.shape)")(HALF)


def test_values_named_like_the_words_of_a_condition() -> None:
    holds = condition(".op in .and .or and .type in .b32 or .neg").holds
    assert holds({".op": ".and", ".type": ".b32"})
    assert holds({".op": ".or", ".type": ".b32"})
    assert not holds({".op": ".or", ".type": ".u32"})
    assert not holds({".op": ".add", ".type": ".b32"})
    assert holds({".neg": ".neg"})
