"""No false alarm: the lints find nothing but notes in what compilers, examples and the tile engine write."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import ptxgen as px
from ptxgen.lint import lint
from ptxgen.text import read
from tests.random_kernels.drawing import draw
from tests.random_kernels.families import FAMILIES

REPOSITORY = Path(__file__).resolve().parents[2]
TEXTS = sorted(path for folder in ("tests", "examples", "ptxgen") for path in (REPOSITORY / folder).rglob("*.ptx"))
EXAMPLES = sorted((REPOSITORY / "examples").glob("*.py"))


def warned(text: str) -> list[str]:
    return [str(one) for one in lint(read(text)) if one.severity != "note"]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_text(path: Path) -> None:
    assert warned(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path) -> None:
    spec = importlib.util.spec_from_file_location(f"linted_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    kernel = example.case()[0]
    kernels = [kernel, *(one for one in vars(example).values() if isinstance(one, px.Kernel) and one.name != kernel.name)]
    assert [line for one in kernels if hasattr(one, "ptx") for line in warned(one.ptx())] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_random_kernels(family: str) -> None:
    assert [line for drawn in draw(family, 3, 11) for line in warned(drawn.build().kernel.ptx())] == []
