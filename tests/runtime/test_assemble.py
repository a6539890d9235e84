"""Assembling: resources, errors with both lines, the fallback, SASS, and the referee."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ptxgen.assemble import AssemblyError, MissingTool, assemble, check_many, check_statements, front, ptxas, sass
from ptxgen.assemble.cubin import Message, parse_messages, parse_resources
from ptxgen.layouts.errors import PtxgenError

KERNEL = """.version 8.0
.target sm_90
.address_size 64
.visible .entry first(.param .u64 x, .param .u32 n)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<3>;
    .shared .align 4 .b8 s[1024];
    ld.param.u64 %rd1, [x];
    ld.param.u32 %r1, [n];
    st.global.u32 [%rd1], %r1;
    bar.sync 0;
    ret;
}
.visible .entry second()
{
    ret;
}
"""
BAD = KERNEL.replace("st.global.u32 [%rd1], %r1;", "add.f33 %r1, %r1, %r1;")
TOOLS = ["nvjitlink", "ptxas"]


def spilling(count: int = 64) -> str:
    """A kernel that keeps `count` loaded words alive across a barrier."""
    loads = "\n".join(f"ld.volatile.global.u32 %r{i}, [%rd1+{4 * i}];" for i in range(count))
    stores = "\n".join(f"st.volatile.global.u32 [%rd1+{4 * i}], %r{i};" for i in range(count))
    return (
        f".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry spill(.param .u64 x)\n{{\n.reg .b64 %rd<2>;\n"
        f".reg .b32 %r<{count}>;\nld.param.u64 %rd1, [x];\n{loads}\nbar.sync 0;\n{stores}\nret;\n}}\n"
    )


@pytest.mark.parametrize("tool", TOOLS)
def test_resources_by_entry(tool):
    cubin = assemble(KERNEL, tool=tool, cache=False)
    assert cubin.code[:4] == b"\x7fELF"
    assert sorted(cubin.resources) == ["first", "second"]
    first = cubin.resources["first"]
    assert (first.shared, first.barriers, first.spill_stores, first.stack) == (1024, 1, 0, 0)
    assert first.registers > 0 and first.notes == ()
    assert cubin.resources["second"].barriers == 0


def test_both_assemblers_report_the_same_resources():
    assert assemble(KERNEL, "sm_90a", tool="nvjitlink").resources == assemble(KERNEL, "sm_90a", tool="ptxas").resources


@pytest.mark.parametrize("tool", TOOLS)
def test_spills_are_reported(tool):
    roomy = assemble(spilling(), tool=tool, cache=False).resources["spill"]
    tight = assemble(spilling(), tool=tool, max_registers=24, cache=False).resources["spill"]
    assert roomy.spill_stores == roomy.spill_loads == 0 and roomy.registers > 64
    assert tight.spill_stores > 0 and tight.spill_loads > 0 and tight.stack > 0 and tight.registers <= 24


@pytest.mark.parametrize("tool", TOOLS)
def test_an_error_shows_the_ptx_line_and_the_users_line(tool):
    with pytest.raises(AssemblyError) as caught:
        assemble(BAD, tool=tool, line_map={11: "saxpy.py:14  y[i] = a * x[i]"}, cache=False)
    summary, *rest = str(caught.value).splitlines()
    assert summary.endswith("refused the PTX for sm_90:")
    assert rest == [
        "  PTX line 11: add.f33 %r1, %r1, %r1;",
        "    from saxpy.py:14  y[i] = a * x[i]",
        "    error: Unknown modifier '.f33'",
        "    error: Unexpected instruction types specified for 'add'",
    ]
    assert caught.value.messages[0] == Message("error", "Unknown modifier '.f33'", 11)
    assert isinstance(caught.value, PtxgenError)


def test_an_error_without_a_line_shows_the_message():
    unresolved = KERNEL.replace(".visible .entry first", ".extern .func lost();\n.visible .entry first").replace(
        "bar.sync 0;", "call lost;"
    )
    with pytest.raises(AssemblyError, match="Undefined reference to 'lost'"):
        assemble(unresolved, cache=False)


def test_many_errors_are_cut_short():
    wrong = "\n".join(f"add.f{i} %r1, %r1, %r1;" for i in range(100, 130))
    with pytest.raises(AssemblyError) as caught:
        assemble(KERNEL.replace("bar.sync 0;", wrong), tool="ptxas")
    shown = str(caught.value).splitlines()
    failed = len(caught.value.messages)
    assert failed >= 30 and shown[-1] == f"  and {failed - 12} more errors"
    assert "Unknown modifier '.f129'" in caught.value.log


def test_an_unknown_target_is_refused_before_nvjitlink_ends_the_process():
    with pytest.raises(PtxgenError, match="unknown target 'sm_9'; known: sm_75, "):
        assemble(KERNEL, "sm_9")


@pytest.mark.parametrize(("written", "target"), [("sm_90", "sm_80"), ("sm_90a", "sm_100"), ("sm_90a", "sm_90"), ("sm_100f", "sm_120")])
def test_a_target_that_cannot_run_the_text(written, target):
    text = KERNEL.replace(".version 8.0", ".version 9.0").replace("sm_90", written)
    assert not check_many([text], target)[0].ok
    with pytest.raises(PtxgenError, match=f"PTX written for .target {written} can't be assembled for {target}"):
        assemble(text, target)


def test_max_registers_out_of_range():
    with pytest.raises(PtxgenError, match="max_registers = 300: a thread has between 16 and 255 registers"):
        assemble(KERNEL, max_registers=300)


def test_without_an_assembler_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(front, "nvjitlink_release", lambda: None)
    monkeypatch.setattr(front, "find_tool", lambda name: None)
    with pytest.raises(MissingTool) as caught:
        assemble(KERNEL)
    assert str(caught.value) == (
        "no PTX assembler is installed; install nvJitLink and ptxas with: pip install 'ptxgen[asm]' "
        "(or pip install nvidia-nvjitlink nvidia-cuda-nvcc)"
    )


def test_an_old_assembler_is_passed_over(monkeypatch):
    text = KERNEL.replace(".version 8.0", ".version 9.1")
    monkeypatch.setattr(front, "nvjitlink_release", lambda: (12, 8))
    assert assemble(text, cache=False).tool.startswith("ptxas ")
    monkeypatch.setattr(front, "find_tool", lambda name: None)
    needs = r"PTX version 9\.1 for sm_90 needs an assembler from CUDA 13\.1 or newer; installed: nvJitLink 12\.8"
    with pytest.raises(MissingTool, match=needs):
        assemble(text, cache=False)


def test_ptxas_as_a_subprocess():
    assert ptxas(KERNEL, "sm_90").resources["first"].shared == 1024
    assert ptxas(KERNEL, "compute_90", ()).code == b""
    with pytest.raises(AssemblyError, match=r"PTX line 11: add\.f33"):
        ptxas(BAD, "sm_90")


def test_sass_of_one_entry():
    cubin = assemble(KERNEL)
    everything, one = sass(cubin), sass(cubin, "second")
    assert "BAR.SYNC" in everything and "EXIT" in one and "BAR.SYNC" not in one
    with pytest.raises(PtxgenError, match="the cubin has no function 'third'; it has: "):
        sass(cubin, "third")
    with pytest.raises(PtxgenError, match="could not read the cubin"):
        sass(b"no cubin at all")


def test_messages_of_every_form():
    log = (
        "ptxas /tmp/a b/x.ptx, line 12; error   : Unknown modifier '.f33'\n"
        "ptxas application ptx input, line 3; warning : old\n"
        "ptxas fatal   : Ptx assembly aborted due to errors\n"
        "error   : Undefined reference to 'foo' in 'kernel.ptx'\n"
        "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized in function 'k'\n"
    )
    assert parse_messages(log) == (
        ("error", "Unknown modifier '.f33'", 12),
        ("warning", "old", 3),
        ("error", "Undefined reference to 'foo' in 'kernel.ptx'", None),
        ("info", "(C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized in function 'k'", None),
    )


def test_notes_belong_to_the_entry_they_name():
    log = (
        "ptxas info    : (C7510) Potential Performance Loss: wgmma serialized in function 'k1'\n"
        "ptxas info    : Compiling entry function 'k1' for 'sm_90a'\n"
        "ptxas info    : Function properties for k1\n"
        "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
        "ptxas info    : Used 40 registers, used 2 barriers, 16 bytes cumulative stack size, 96 bytes smem, 540 bytes cmem[0]\n"
        "ptxas info    : Compiling entry function 'k2' for 'sm_90a'\n"
        "ptxas info    : Used 8 registers, used 0 barriers\n"
    )
    found = parse_resources(log)
    assert found["k1"] == (
        "k1", 40, 8, 12, 16, 96, 2, 0, 540, ("(C7510) Potential Performance Loss: wgmma serialized in function 'k1'",),
    )  # fmt: skip
    assert found["k2"].notes == () and found["k2"].registers == 8


SERIALISED = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .f32 %f<4>;
    .reg .b64 %rd<2>;
    .reg .pred %p;
    .shared .align 128 .b8 s[8192];
    mov.u64 %rd1, s;
    mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
    setp.ne.b32 %p, 1, 0;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd1, %rd1, %p, 1, 1, 0, 0;
    add.f32 %f0, %f0, 0f3F800000;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd1, %rd1, %p, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    ld.param.u64 %rd1, [out];
    st.global.v4.f32 [%rd1], {%f0, %f1, %f2, %f3};
    ret;
}
.visible .entry quiet()
{
    ret;
}
"""


@pytest.mark.parametrize("tool", TOOLS)
def test_a_serialised_wgmma_is_shown_with_the_users_line(tool):
    """ptxas waits for a wgmma early where its accumulators are touched in flight, and says so in a note only."""
    lines = {number: f"gemm.py:{number}" for number in range(1, 40)}
    found = assemble(SERIALISED, tool=tool, cache=False, line_map=lines).resources
    assert found["quiet"].notes == ()
    (note,) = found["k"].notes
    assert note.startswith("(C75") and "wgmma" in note
    assert note.endswith("[gemm.py:15]")


def test_the_referee_judges_statements_one_by_one():
    statements = [
        "add.f32 %f0, %f1, %f2;",
        "add.f33 %f0, %f1, %f2;",
        "st.global.v4.b32 [%rd0], {%r0, _, %r0, %r0};",
        "garbage (",
        "add.u32 %r0, %r1, 1;\nadd.u32 %r0, %r0, 2;",
        "wgmma.fence.sync.aligned;",
    ]
    declarations = ".reg .f32 %f<3>; .reg .b32 %r<2>; .reg .b64 %rd<1>;"
    verdicts = check_statements(statements, "sm_90", declarations=declarations)
    assert [verdict.ok for verdict in verdicts] == [True, False, False, False, True, False]
    assert verdicts[1].reason == "Unknown modifier '.f33'"
    assert verdicts[2].reason == "Sink '_' not allowed as a source operand"
    alone = [check_statements([statement], "sm_90", declarations=declarations)[0].ok for statement in statements]
    assert alone == [verdict.ok for verdict in verdicts]


def test_importing_loads_no_cuda():
    code = "import sys, ptxgen.assemble, ptxgen.runtime; print([m for m in ('cuda', 'torch', 'cupy') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
