"""No module of the engine knows an instruction of the hard families: what they demand stands in the registry alone.

The engine is what traces kernels, maps tiles onto instructions, and writes and reads text; beside it layouts, and what of the solver asks
the engine. Objects whose calls are one instruction each (`ptxgen.tracing.handles`) and the emulator's semantics name their instructions;
that is what they are for. So do the solver's programs, which are made of instructions that it chooses.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ptxgen.instructions.registry import FAMILIES

PACKAGE = Path(__file__).resolve().parents[1] / "ptxgen"
CHOOSING = {"solve/copy.py", "solve/emit.py", "solve/steps.py", "solve/tensormap.py", "solve/through.py"}
"""Modules of the solver that choose instructions: copies, and moves from register to register."""
ENGINE = sorted(
    [PACKAGE / "ir.py"]
    + [
        path
        for part in ("layouts", "tile", "text", "tracing", "kernels", "solve")
        for path in (PACKAGE / part).rglob("*.py")
        if "handles" not in path.relative_to(PACKAGE).parts and str(path.relative_to(PACKAGE)) not in CHOOSING
    ]
)
PLAIN = {"integer", "extended", "floating", "half", "mixed", "comparison", "logic", "memory", "move", "conversion", "control"}
"""Families of single threads' arithmetic, moves and jumps: operators and addresses are written with them."""

HARD = sorted({head for heads in FAMILIES.values() for head in heads} - {head for family in PLAIN for head in FAMILIES[family]})
OPCODE = re.compile(rf"(?<![\w.%])(?:{'|'.join(HARD)})\.\w")  # "wgmma.mma_async", "of mbarrier.init"; not "%cluster_ctaid.x"
ENGLISH = {"atom", "bar", "barrier", "cp", "discard", "elect", "fence", "match", "tensormap", "vote"}  # also English
ALONE = {*HARD} - {"tex"}  # also a state space of old texts
NAMED = re.compile(rf"(?:^|_)(?:{'|'.join(sorted({*HARD} - ENGLISH))}|cp_async|named_barrier)(?:_|$)")


def _is_text(node: ast.stmt) -> bool:
    """A docstring, or a text behind an assignment that documents it."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _names_of_python(node: ast.stmt) -> bool:
    """``__all__`` and ``__slots__`` hold identifiers; these are looked at as such."""
    return isinstance(node, ast.Assign) and any(isinstance(one, ast.Name) and one.id in ("__all__", "__slots__") for one in node.targets)


def strings(tree: ast.Module) -> Iterator[ast.Constant]:
    """The string constants of a module that its code works with."""
    texts = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.stmt) and _is_text(node) for inner in ast.walk(node)}
    listed = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.stmt) and _names_of_python(node) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts | listed:
            yield node


def identifiers(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The names that a module defines and uses, each with its line."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.lineno, node.name
        elif isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute):
            yield node.lineno, node.attr


def found(source: str) -> list[str]:
    """What a module says of the hard families, a mnemonic alone, the head of an opcode or a name: ``line: text``."""
    tree = ast.parse(source)
    said = [f"{node.lineno}: {node.value!r}" for node in strings(tree) if node.value in ALONE or OPCODE.search(str(node.value))]
    return said + [f"{line}: {name}" for line, name in identifiers(tree) if NAMED.search(name.lower())]


@pytest.mark.parametrize("path", ENGINE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_module_of_the_engine_names_an_instruction_of_a_hard_family(path: Path) -> None:
    assert found(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "line",
    [
        'if opcode.startswith("wgmma"): pass',
        'emit("mbarrier.init.shared.b64")',
        'emit(f"cp.async.{kind}")',
        'legal = "issue tcgen05.commit first"',
        "from_mma = is_wgmma_fence(match)",
        "warp.shfl_sync()",
    ],
)
def test_an_engine_that_named_one_would_be_found(line: str) -> None:
    assert found(line)


def test_the_handles_name_theirs() -> None:
    assert all(found(path.read_text(encoding="utf-8")) for path in PACKAGE.glob("tracing/handles/[cgmo]*.py"))


def test_the_solvers_programs_name_theirs() -> None:
    assert all(found((PACKAGE / path).read_text(encoding="utf-8")) for path in CHOOSING)
