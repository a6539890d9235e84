"""What nvcc makes of CUDA C++ reads, reads back, and assembles to the same machine code.

The .ptx files in ``data`` are the output of nvcc 13.0 (V13.0.88) for the .cu files beside them::

    nvcc -ptx -arch=sm_80 device.cu -o device_sm80.ptx
    nvcc -ptx -arch=sm_90a -lineinfo debug.cu -o lineinfo_sm90a.ptx
    nvcc -ptx -arch=sm_90a -G debug.cu -o debug_sm90a.ptx
    nvcc -ptx -arch=sm_100a -G debug.cu -o debug_sm100a.ptx
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ptxgen import ir
from ptxgen.assemble import find_tool, ptxas
from ptxgen.text import read, write
from tests.foreign.texts import machine_code

DATA = Path(__file__).parent / "data"
FILES = {"device_sm80": "sm_80", "lineinfo_sm90a": "sm_90a", "debug_sm90a": "sm_90a", "debug_sm100a": "sm_100a"}


def _text(name: str) -> str:
    return (DATA / f"{name}.ptx").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FILES)
def test_a_compiled_text_reads_back_from_what_is_written(name: str) -> None:
    module = read(_text(name))
    text = write(module)
    assert read(text) == module
    assert write(read(text)) == text


@pytest.mark.skipif(find_tool("ptxas") is None, reason="needs ptxas: pip install 'ptxgen[asm]'")
@pytest.mark.parametrize("name, target", FILES.items())
def test_a_rewritten_text_assembles_to_the_same_machine_code(name: str, target: str) -> None:
    original = _text(name)
    options = ("-c",)  # device.cu calls functions of the runtime library
    ours = machine_code(ptxas(write(read(original)), target, options).code)
    assert any(key.startswith(".text.") for key in ours)
    assert ours == machine_code(ptxas(original, target, options).code)


def test_the_tree_says_what_the_compiled_text_says() -> None:
    module = read(_text("device_sm80"), filename="device.ptx")
    assert module.version == (9, 0) and module.target == ("sm_80",) and module.address_size == 64
    calls = module.functions["calls"]
    assert calls.directives == (ir.Directive("maxntid", (256, 1, 1)), ir.Directive("minnctapersm", (2,)))
    assert [parameter.name for parameter in calls.params] == [f"calls_param_{index}" for index in range(3)]
    assert module.functions["vprintf"].body is None
    assert calls.body is not None
    made = [statement for statement in ir.walk(calls.body) if isinstance(statement, ir.Call)]
    indirect = next(call for call in made if isinstance(call.target, ir.Reg))
    prototype = next(statement for statement in ir.walk(calls.body) if isinstance(statement, ir.Prototype))
    assert indirect.targets == ir.Sym(prototype.label)
    printing = next(call for call in made if call.target == ir.Sym("vprintf"))
    line = _text("device_sm80").split("\n")[printing.where.line - 1]
    assert line.strip().startswith("call.uni") and line[printing.where.column - 1 :].startswith("call.uni")


def test_registers_of_inline_assembly_belong_to_their_braces() -> None:
    body = read(_text("device_sm80")).functions["inline_assembly"].body
    assert body is not None
    scope = next(s for s in body if isinstance(s, ir.Block) and ir.RegDecl("pred", ("p",)) in s.body)
    add = next(s for s in scope.body if isinstance(s, ir.Instruction) and s.opcode == "add.u32")
    assert add.guard == ir.Guard(ir.Reg("p")) and add.operands[0] == ir.Reg("t")
    branch = next(s for s in scope.body if isinstance(s, ir.Instruction) and s.opcode == "bra")
    assert branch.guard == ir.Guard(ir.Reg("p"), negated=True) and branch.operands == (ir.Sym("AGAIN"),)
    assert ir.Label("AGAIN") in scope.body


def test_source_lines_and_debug_data_are_kept() -> None:
    text = _text("lineinfo_sm90a")
    module = read(text)
    bodies = [function.body for function in module.functions.values() if function.body is not None]
    locs = [statement for body in bodies for statement in ir.walk(body) if isinstance(statement, ir.Loc)]
    assert len(locs) == text.count(".loc")
    assert {loc.inlined_at is not None for loc in locs} == {True, False}
    sections = [item for item in module.items if isinstance(item, ir.Section)]
    assert [section.name for section in sections] == [".debug_str"]
    assert sections[0].lines[0] == "$L__info_string0:"
    assert [item.name for item in module.items if isinstance(item, ir.FileDirective)] == ["/src/debug.cu"]
