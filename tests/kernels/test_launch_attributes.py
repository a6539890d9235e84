"""Clusters, programmatic launches, dynamic shared memory and registers: in the text, at the driver, on a GPU."""

from __future__ import annotations

import re
import textwrap

import numpy as np
import pytest

import ptxgen as px
from ptxgen.errors import TraceError
from ptxgen.runtime import LaunchError

LIMIT = 227 * 1024  # of a block, on sm_90 and sm_100

KERNELS = """
import ptxgen as px

def made(**options):
    shared = options.pop("shared", 0)
    options = {"grid": 8, "block": 32, **options}
    @px.kernel(**options)
    def k(x: px.Tensor((4,), px.f32), y: px.Tensor((4,), px.f32), a: px.f32, n: px.u32):
        if shared:
            tile = px.shared((shared,), px.u8)
            px.ptx.st.shared.u8(tile[0], px.u32(1))
        px.ptx.st.global_.f32(y[0], a)
    return k

p, q = Array(0x1000, 4), Array(0x2000, 4)
"""


def launches(calls: list[str]) -> list[str]:
    words = ("launch", "launchex", "cluster", "cooperative", "programmatic", "set")
    return [call for call in calls if call.split()[0] in words]


def errors(said: list[str]) -> list[str]:
    """Error messages without the lines of source."""
    return [re.sub(r"<string>:\d+: ", "", line) for line in said if "Error: " in line]


def test_the_directive_and_the_attribute_agree(drive) -> None:
    said, calls = drive(
        KERNELS
        + textwrap.dedent("""
        k = made(cluster=(2, 2), grid=(4, 2))
        print([line for line in k.ptx().splitlines() if "cluster" in line])
        k(p, q, 1.0, 2)
        k.bind(p, q, 1.0, 2)()
        refused(lambda: k.launch(p, q, 1.0, 2, grid=(4, 3)))
        refused(lambda: k.bind(p, q, 1.0, 2, grid=(3, 2))())
        """)
    )
    assert said[0] == "['.explicitcluster', '.reqnctapercluster 2, 2, 1']"
    assert launches(calls) == ["launchex 4 2 1 | 0 | 1", "cluster 2 2 1"] * 2
    assert errors(said) == [
        "LaunchError: k: grid.y = 3 is no multiple of cluster.y = 2",
        "LaunchError: k: grid.x = 3 is no multiple of cluster.x = 2",
    ]


def test_clusters_up_to_8_are_portable_and_up_to_16_where_they_fit(drive) -> None:
    said, calls = drive(
        KERNELS
        + textwrap.dedent("""
        made(cluster=8)(p, q, 1.0, 2)
        made(cluster=16, grid=16)(p, q, 1.0, 2)
        refused(lambda: made(cluster=16, grid=16, shared=110000)(p, q, 1.0, 2))
        refused(lambda: made(cluster=17, grid=17))
        """)
    )
    assert launches(calls) == [
        "launchex 8 1 1 | 0 | 1",
        "cluster 8 1 1",
        "set 14 1",  # CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
        "launchex 16 1 1 | 0 | 1",
        "cluster 16 1 1",
        "set 14 1",
        "set 8 110000",  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    ]
    assert errors(said) == [
        "LaunchError: k: a cluster of 16 blocks, each of 32 threads with 111024 bytes of shared memory and 64 registers a thread, does not "
        "fit on Fake H; the largest of such blocks has 12; more than 8 fit on some devices alone",
        "TraceError: kernel k: cluster.x = 17",
    ]


def test_programmatic_dependent_launch(drive) -> None:
    said, calls = drive(
        KERNELS
        + textwrap.dedent("""
        k = made(programmatic=True)
        k(p, q, 1.0, 2)
        k.bind(p, q, 1.0, 2)()
        k.launch(p, q, 1.0, 2, stream=0x70)
        k.with_target("sm_90")(p, q, 1.0, 2)
        made()(p, q, 1.0, 2)
        """)
    )
    assert said == []
    assert launches(calls) == ["launchex 8 1 1 | 0 | 1", "programmatic 1"] * 4 + ["launch 8 1 1 | 32 1 1 | 0 | (nil) | 0"]


def test_older_devices_have_neither(drive) -> None:
    said, _ = drive(
        KERNELS
        + textwrap.dedent("""
        refused(lambda: made(programmatic=True)(p, q, 1.0, 2))
        refused(lambda: runner(PTX.replace("sm_90", "sm_80"), grid=2, cluster=2)(x, y, 1.0))
        """),
        FAKE_CUDA_MAJOR="8",
    )
    assert errors(said) == [
        "LaunchError: k: Fake H (sm_80) has no programmatic dependent launch; it needs sm_90 or newer",
        "LaunchError: saxpy: Fake H (sm_80) has no clusters; they need sm_90 or newer",
    ]


def test_a_prepared_launch_has_them_all(drive) -> None:
    _, calls = drive(
        KERNELS
        + textwrap.dedent("""
        again = made(cluster=2, programmatic=True, cooperative=True, shared=60000).bind(p, q, 1.0, 2)
        again()
        again(stream=0x70)
        """)
    )
    one = ["launchex 8 1 1 | 60000 | 3", "cluster 2 1 1", "cooperative 1", "programmatic 1"]
    assert launches(calls) == ["set 8 60000", *one, *one]


def test_cooperative_clusters_all_fit_at_once(drive) -> None:
    said, _ = drive(KERNELS + "refused(lambda: made(cluster=2, cooperative=True, grid=16)(p, q, 1.0, 2))")
    assert errors(said) == [
        "LaunchError: k: a cooperative launch runs all blocks at once; 16 were asked for and 14 fit on Fake H (7 clusters)"
    ]


def test_a_foreign_entry_says_its_cluster_or_the_launch_does(drive) -> None:
    said, calls = drive(
        KERNELS
        + textwrap.dedent("""
        free = px.load_ptx(PTX)["saxpy"]
        free(p, q, 1.0, 2, grid=4, block=32, cluster=(2, 1))
        free(p, q, 1.0, 2, grid=4, block=32, programmatic=True)
        fixed = px.load_ptx(PTX.replace(") {", ") .reqnctapercluster 4 {"))["saxpy"]
        fixed(p, q, 1.0, 2, grid=4, block=32)
        fixed(p, q, 1.0, 2, grid=4, block=32, cluster=4)
        refused(lambda: fixed(p, q, 1.0, 2, grid=4, block=32, cluster=2))
        """)
    )
    assert launches(calls) == [
        *("launchex 4 1 1 | 0 | 1", "cluster 2 1 1"),
        *("launchex 4 1 1 | 0 | 1", "programmatic 1"),
        *("launchex 4 1 1 | 0 | 1", "cluster 4 1 1") * 2,
    ]
    assert errors(said) == ["LaunchError: saxpy: cluster (2, 1, 1), where the entry says .reqnctapercluster (4, 1, 1); leave cluster= out"]


def test_shared_memory_up_to_227_KiB(drive) -> None:
    """The stand-in's device has 227 KiB, 1 KiB of which its function takes statically."""
    said, calls = drive(
        KERNELS
        + textwrap.dedent("""
        made(shared=226 * 1024)(p, q, 1.0, 2)
        refused(lambda: made(shared=226 * 1024 + 1)(p, q, 1.0, 2))
        """)
    )
    assert launches(calls) == [f"set 8 {226 * 1024}", f"launch 8 1 1 | 32 1 1 | {226 * 1024} | (nil) | 0"]
    assert errors(said) == [
        "LaunchError: k: 1024 static and 231425 dynamic bytes of shared memory are 232449 bytes a block; Fake H has 232448"
    ]


def filled(bytes_: int):
    @px.kernel(grid=1, block=32)
    def k(out: px.Tensor((1,), px.u32)):
        tile = px.shared((bytes_ // 4,), px.u32)
        with px.if_(px.tid.x == 0):
            px.ptx.st.shared.u32(tile[0], px.u32(7))
            px.ptx.st.shared.u32(tile[bytes_ // 4 - 1], px.u32(1234))
            px.ptx.st.global_.u32(out[0], px.ptx.ld.shared.u32(tile[bytes_ // 4 - 1]) + px.ptx.ld.shared.u32(tile[0]))

    return k


def test_a_kernel_may_declare_exactly_what_a_block_can_have() -> None:
    out = np.zeros(1, np.uint32)
    filled(LIMIT)(out)
    assert out[0] == 1241
    with pytest.raises(TraceError, match=r"227 KiB"):
        filled(LIMIT + 4).ptx()


def test_registers_are_bounded_by_a_directive() -> None:
    @px.kernel(grid=1, block=64, max_registers=24, min_blocks=2)
    def k(out: px.Tensor((64, 64), px.f32)):
        values = [px.ptx.ld.global_.f32(out[i, px.tid.x]) for i in range(64)]
        for i in range(64):
            px.ptx.st.global_.f32(out[i, px.tid.x], values[63 - i] * values[i])

    assert ".maxnreg 24\n.minnctapersm 2\n" in k.ptx()
    assert k.resources("sm_90a")["k"].registers <= 24


# ---- the hardware ----------------------------------------------------------------------------------------------------


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.mark.gpu
@pytest.mark.torch
@pytest.mark.parametrize("blocks", [1, 2, 4, 8, 16])
def test_blocks_know_their_cluster(torch, blocks: int) -> None:
    @px.kernel(grid=32, block=32, cluster=blocks)
    def k(out: px.Tensor((32,), px.u32)):
        px.ptx.st.global_.u32(out[px.ctaid.x], px.sreg.cluster_ctarank * 100 + px.sreg.cluster_nctarank)

    out = torch.zeros(32, dtype=torch.int64, device="cuda").to(torch.uint32)
    k(out)
    k.bind(out)()
    torch.cuda.synchronize()
    assert out.cpu().numpy().tolist() == [i % blocks * 100 + blocks for i in range(32)]


@pytest.mark.gpu
@pytest.mark.torch
def test_all_of_the_shared_memory(torch) -> None:
    out = torch.zeros(1, dtype=torch.int64, device="cuda").to(torch.uint32)
    filled(LIMIT)(out)
    torch.cuda.synchronize()
    assert int(out.cpu().numpy()[0]) == 1241


# `first` lets its dependents start, then waits at most 50 ms for what `second` does before its griddepcontrol.wait.
DEPENDENT = """.version 7.8
.target sm_90
.address_size 64
.visible .entry first(.param .u64 words)
{
    .reg .pred %p<2>;
    .reg .b32 %r<2>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [words];
    griddepcontrol.launch_dependents;
    mov.u64 %rd2, %globaltimer;
    add.u64 %rd2, %rd2, 50000000;
again:
    ld.acquire.gpu.global.u32 %r1, [%rd1];
    mov.u64 %rd3, %globaltimer;
    setp.lt.u64 %p1, %rd3, %rd2;
    setp.eq.and.u32 %p1, %r1, 0, %p1;
    @%p1 bra again;
    st.global.u32 [%rd1+4], %r1;
    ret;
}
.visible .entry second(.param .u64 words)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [words];
    mov.u32 %r1, 1;
    st.release.gpu.global.u32 [%rd1], %r1;
    griddepcontrol.wait;
    ld.global.u32 %r2, [%rd1+4];
    add.u32 %r2, %r2, 10;
    st.global.u32 [%rd1+8], %r2;
    ret;
}
"""


@pytest.mark.gpu
@pytest.mark.torch
@pytest.mark.parametrize("programmatic", [True, False])
def test_a_dependent_begins_while_the_one_before_it_runs(torch, programmatic: bool) -> None:
    module = px.load_ptx(DEPENDENT)
    words = torch.zeros(3, dtype=torch.int32, device="cuda")
    module["first"](words, grid=1, block=1)  # both loaded, before it matters when they start
    module["second"](words, grid=1, block=1)
    words.zero_()
    torch.cuda.synchronize()
    module["first"](words, grid=1, block=1)
    module["second"](words, grid=1, block=1, programmatic=programmatic)
    torch.cuda.synchronize()
    assert words.tolist() == ([1, 1, 11] if programmatic else [1, 0, 10])


@pytest.mark.gpu
@pytest.mark.torch
def test_a_cluster_that_does_not_fit_is_said_so(torch) -> None:
    """Sixteen blocks that each need most of a multiprocessor: whether a device has 16 in a row, it says itself."""

    @px.kernel(grid=16, block=1024, cluster=16)
    def k(out: px.Tensor((16,), px.u32)):
        tile = px.shared((56 * 1024,), px.u32)
        px.ptx.st.shared.u32(tile[px.tid.x], px.u32(1))
        px.ptx.st.global_.u32(out[px.ctaid.x], px.sreg.cluster_ctarank)

    out = torch.zeros(16, dtype=torch.int64, device="cuda").to(torch.uint32)
    try:
        k(out)
    except LaunchError as error:
        assert re.search(r"a cluster of 16 blocks, each of 1024 threads with \d+ bytes .* does not fit on .*; the largest", str(error))
    else:
        torch.cuda.synchronize()
        assert out.cpu().numpy().tolist() == list(range(16))
