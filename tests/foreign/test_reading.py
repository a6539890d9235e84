"""What nvcc writes reads, is found right by ``ptxgen check``, and assembles to the same machine code when it is rewritten."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from ptxgen import ir
from ptxgen.assemble import find_tool, ptxas
from ptxgen.cli.check import check_text
from ptxgen.text import read, write
from tests.foreign.texts import NAMES, TARGETS, machine_code, module_of, text_of


@pytest.mark.parametrize("name", NAMES)
def test_a_text_reads_back_from_what_is_written(name: str) -> None:
    module = module_of(name)
    written = write(module)
    assert read(written) == module
    assert write(read(written)) == written


@pytest.mark.skipif(find_tool("ptxas") is None, reason="needs ptxas: pip install 'ptxgen[asm]'")
@pytest.mark.parametrize("target", TARGETS)
def test_a_rewritten_text_assembles_to_the_same_machine_code(target: str) -> None:
    names = [name for name in NAMES if name.endswith(f".{target}")]
    texts = [text for name in names for text in (text_of(name), write(module_of(name)))]
    with ThreadPoolExecutor(2) as pool:  # "-c": some call the runtime library
        codes = list(pool.map(lambda text: machine_code(ptxas(text, target, ("-c",)).code), texts))
    assert all(any(section.startswith(".text.") for section in code) for code in codes)
    assert [name for name, original, ours in zip(names, codes[::2], codes[1::2]) if original != ours] == []


@pytest.mark.parametrize("target", TARGETS)
def test_check_finds_nothing_wrong(target: str) -> None:
    names = [name for name in NAMES if name.endswith(f".{target}")]
    found = [finding for name in names for finding in check_text(text_of(name), f"{name}.ptx")]
    assert [str(finding) for finding in found if finding.severity != "note"] == []


def test_the_sources_cover_the_grammar() -> None:
    """Each of these occurs in some text as a node of the tree: a source that loses it would leave its reading untested."""
    statements = [one for name in NAMES for function in module_of(name).functions.values() for one in ir.walk(function.body or ())]
    items = [item for name in NAMES for item in module_of(name).items]
    kinds = {type(one) for one in (*statements, *items)}
    assert kinds >= {
        ir.Instruction, ir.Call, ir.Label, ir.Block, ir.RegDecl, ir.Variable, ir.Comment, ir.Loc, ir.Pragma, ir.Targets, ir.Prototype,
        ir.Function, ir.FileDirective, ir.Section,
    }  # fmt: skip
    calls = [one for one in statements if isinstance(one, ir.Call)]
    assert any(isinstance(call.target, ir.Reg) for call in calls) and any(isinstance(call.target, ir.Sym) for call in calls)
    assert {one.linkage for one in items if isinstance(one, (ir.Function, ir.Variable))} == {None, "visible", "extern", "weak"}
    assert any(loc.inlined_at for loc in statements if isinstance(loc, ir.Loc))
    directives = {one.name for item in items if isinstance(item, ir.Function) for one in item.directives if isinstance(one, ir.Directive)}
    assert directives >= {"maxntid", "minnctapersm", "maxnreg", "noreturn", "reqnctapercluster", "explicitcluster", "maxclusterrank"}
    inits = [item.init for item in items if isinstance(item, ir.Variable) and isinstance(item.init, tuple)]
    assert any(isinstance(leaf, ir.SymbolRef) and leaf.generic for init in inits for leaf in init)
