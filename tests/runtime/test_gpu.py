"""The runtime on a real GPU, with PTX written by hand."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from ptxgen.assemble import assemble, header
from ptxgen.instructions.types import f16, f32, u16, u32, u64
from ptxgen.runtime import (
    ArgumentError,
    BytesParam,
    DimParam,
    LaunchError,
    LoadError,
    PointerParam,
    Runner,
    ScalarParam,
    Signature,
    TensorParam,
    current_device,
    device,
    device_count,
    device_target,
    driver_version,
    load,
    load_cubin,
)

pytestmark = [pytest.mark.gpu]

SAXPY = """.version 7.0
.target sm_80
.address_size 64
.visible .entry saxpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<5>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<5>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r1, [n];
    setp.ge.u32 %p, %r4, %r1;
    @%p ret;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.f32 %f1, [a];
    mul.wide.u32 %rd3, %r4, 4;
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd3;
    ld.global.f32 %f2, [%rd1];
    ld.global.f32 %f3, [%rd2];
    fma.rn.f32 %f3, %f1, %f2, %f3;
    st.global.f32 [%rd2], %f3;
    ret;
}
"""
SIGNATURE = Signature("saxpy", [TensorParam("x", f32, ["n"]), TensorParam("y", f32, ["n"]), ScalarParam("a", f32), DimParam("n", u32)])

# Every thread stores its index at the end of the dynamic array, so all of it must exist.
DYNAMIC = """.version 7.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry last_word(.param .u64 out, .param .u32 bytes)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<3>;
    .shared .align 4 .b8 fixed[64];
    mov.u32 %r3, fixed;
    st.shared.u32 [%r3], 9;
    ld.param.u32 %r1, [bytes];
    mov.u32 %r2, dynamic;
    add.u32 %r2, %r2, %r1;
    st.shared.u32 [%r2+-4], 1234;
    ld.shared.u32 %r1, [%r2+-4];
    ld.param.u64 %rd1, [out];
    st.global.u32 [%rd1], %r1;
    ret;
}
"""

MIXED = """.version 7.0
.target sm_80
.address_size 64
.visible .entry mixed(.param .u64 out, .param .u16 a, .param .f32 b, .param .align 8 .b8 c[12], .param .u16 d, .param .u64 e)
{
    .reg .b16 %h<3>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    ld.param.u16 %h1, [a];
    ld.param.b32 %r1, [b];
    ld.param.b32 %r2, [c+8];
    ld.param.u16 %h2, [d];
    ld.param.u64 %rd2, [e];
    cvt.u32.u16 %r3, %h1;
    cvt.u32.u16 %r4, %h2;
    st.global.u32 [%rd1], %r3;
    st.global.u32 [%rd1+4], %r1;
    st.global.u32 [%rd1+8], %r2;
    st.global.u32 [%rd1+12], %r4;
    st.global.u64 [%rd1+16], %rd2;
    ret;
}
"""

CLUSTER = """.version 7.8
.target sm_90
.address_size 64
.visible .entry rank(.param .u64 out)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    mov.u32 %r1, %cluster_ctarank;
    mov.u32 %r2, %ctaid.x;
    ld.param.u64 %rd1, [out];
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r1;
    ret;
}
"""


@pytest.fixture(scope="module")
def torch():
    module = pytest.importorskip("torch")
    if not module.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    return module


def fresh(text: str) -> str:
    """The same program under a text that no other test has loaded."""
    fresh.count += 1
    return f"// {fresh.count}\n{text}"


fresh.count = 0


def saxpy(**options) -> Runner:
    return Runner(SAXPY, "saxpy", SIGNATURE, **{"grid": lambda dims: -(-dims[0] // 256), "block": 256, **options})


def eighths(torch, n):
    """Multiples of 1/8 below 128, so that 2.5 * x + y is exact in float32."""
    return torch.randint(-1000, 1000, (n,), device="cuda").float() / 8


@pytest.mark.parametrize("n", [1, 255, 256, 100_003])
def test_saxpy(torch, n):
    x, y = eighths(torch, n), eighths(torch, n)
    wanted = np.float32(2.5) * x.cpu().numpy() + y.cpu().numpy()
    saxpy()(x, y, 2.5)
    assert np.array_equal(y.cpu().numpy(), wanted)


def test_the_fast_path_is_the_one_taken(torch):
    kernel = saxpy()
    x, y = torch.ones(64, device="cuda"), torch.ones(64, device="cuda")
    kernel(x, y, 1.0)
    bound = kernel.binder(x, y, 3.0)
    assert bound.arrays == () and bound.values == (x.data_ptr(), y.data_ptr(), 3.0, 64) and bound.device == 0
    for changed in [(x[::2], y[::2], 1.0), (x, y[:32], 1.0), (x.double(), y, 1.0), (x, y.cpu(), 1.0), (x, y, "1")]:
        with pytest.raises(ArgumentError):
            kernel(*changed)


def test_the_current_stream(torch):
    kernel = saxpy()
    kernel.preload(0)
    stream = torch.cuda.Stream()
    x, y = torch.ones(1 << 20, device="cuda"), torch.zeros(1 << 20, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        assert kernel.binder(x, y, 1.0).stream == stream.cuda_stream
        torch.cuda._sleep(20_000_000)
        for _ in range(3):
            kernel(x, y, 1.0)
        busy = not stream.query()
        after = y.clone()
    stream.synchronize()
    assert busy and bool((after == 3).all())
    kernel.run(kernel.binder(x, y, 1.0), stream=stream)
    stream.synchronize()
    assert bool((y == 4).all())


def test_zero_size_launches_nothing(torch):
    empty = torch.empty(0, device="cuda")
    saxpy()(empty, empty, 1.0)
    saxpy().prepare(empty, empty, 1.0)()
    saxpy(grid=0)(torch.ones(4, device="cuda"), torch.ones(4, device="cuda"), 1.0)
    torch.cuda.synchronize()


def test_a_prepared_launch(torch):
    x, y = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
    again = saxpy().prepare(x, y, 2.0)
    for _ in range(5):
        again()
    x.fill_(10)
    again()
    torch.cuda.synchronize()
    assert bool((y == 30).all())


def test_several_threads(torch):
    kernel = saxpy()
    x = torch.ones(4096, device="cuda")
    results = [torch.zeros(4096, device="cuda") for _ in range(8)]
    torch.cuda.synchronize()
    failures: list[BaseException] = []

    def work(index: int) -> None:
        try:
            for _ in range(50):
                kernel(x, results[index], float(index))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()
    assert failures == []
    assert [float(result[0]) for result in results] == [50.0 * index for index in range(8)]
    assert all(bool((result == result[0]).all()) for result in results)


@pytest.mark.parametrize("preload", [False, True])
def test_graph_capture(torch, preload):
    kernel = Runner(fresh(SAXPY), "saxpy", SIGNATURE, grid=lambda dims: -(-dims[0] // 256), block=256)
    x, y = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
    if preload:
        kernel.preload()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(x, y, 2.0)
    torch.cuda.synchronize()
    assert float(y.sum()) == 0
    graph.replay()
    graph.replay()
    torch.cuda.synchronize()
    assert bool((y == 4).all())


@pytest.mark.parametrize("size", [1024, 48 * 1024 - 64, 48 * 1024, 100 * 1024])
def test_dynamic_shared_memory(torch, size):
    out = torch.zeros(1, dtype=torch.int32, device="cuda")
    signature = Signature("last_word", [PointerParam("out"), ScalarParam("bytes", u32)])
    Runner(DYNAMIC, "last_word", signature, grid=1, block=1, shared_bytes=size)(out, size)
    assert int(out[0]) == 1234


def test_too_much_shared_memory(torch):
    signature = Signature("last_word", [PointerParam("out"), ScalarParam("bytes", u32)])
    limit = device(0).limit("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
    out = torch.zeros(1, dtype=torch.int32, device="cuda")
    Runner(DYNAMIC, "last_word", signature, grid=1, block=1, shared_bytes=limit - 64)(out, limit - 64)
    assert int(out[0]) == 1234
    with pytest.raises(LaunchError, match=f"64 static and {512 << 10} dynamic bytes of shared memory are .* has {limit}"):
        Runner(DYNAMIC, "last_word", signature, grid=1, block=1, shared_bytes=512 << 10)(out, 512 << 10)


def test_parameters_lie_where_ptx_puts_them(torch):
    signature = Signature(
        "mixed",
        [
            PointerParam("out"),
            ScalarParam("a", u16),
            ScalarParam("b", f32),
            BytesParam("c", 12, 8),
            ScalarParam("d", u16),
            ScalarParam("e", u64),
        ],
    )
    out = torch.zeros(6, dtype=torch.int32, device="cuda")
    block = np.array([1, 2, 77], np.uint32).tobytes()
    Runner(MIXED, "mixed", signature, grid=1, block=1)(out, 40000, 1.5, block, 65535, 2**63 + 5)
    torch.cuda.synchronize()
    found = out.cpu().numpy().view(np.uint32)
    assert found[:4].tolist() == [40000, int(np.float32(1.5).view(np.uint32)), 77, 65535]
    assert int(found[4:].view(np.uint64)[0]) == 2**63 + 5


def test_the_jits_error_shows_both_lines():
    bad = SAXPY.replace("fma.rn.f32 %f3, %f1, %f2, %f3;", "fma.rn.f33 %f3, %f1, %f2, %f3;")
    line = bad[: bad.index("fma.rn.f33")].count("\n") + 1
    with pytest.raises(LoadError) as caught:
        load(bad, "saxpy", 0, line_map={line: "saxpy.py:9  y[i] = a * x[i] + y[i]"})
    shown = str(caught.value).splitlines()
    assert shown[0].startswith("the driver's JIT refused the PTX on ") and "CUDA_ERROR_INVALID_PTX" in shown[0]
    assert f"  PTX line {line}: fma.rn.f33 %f3, %f1, %f2, %f3;" in shown
    assert "    from saxpy.py:9  y[i] = a * x[i] + y[i]" in shown
    assert any("f33" in text and "error" in text for text in shown[2:])


def test_a_very_long_jit_log_is_kept():
    wrong = "\n".join(f"add.f33 %f1, %f2, %f{i % 4};" for i in range(300))
    with pytest.raises(LoadError) as caught:
        load(SAXPY.replace("fma.rn.f32 %f3, %f1, %f2, %f3;", wrong), "saxpy", 0)
    shown = str(caught.value).splitlines()
    assert len([line for line in shown if "add.f33" in line]) > 5 and shown[-1].endswith("more errors")


def test_targets_that_do_not_fit():
    own = device(0).target
    newer = "sm_121" if own != "sm_121" else "sm_110a"
    for target, version in ((newer, "8.8"), ("sm_90a" if own != "sm_90" else "sm_100a", "8.6")):
        text = SAXPY.replace("sm_80", target).replace(".version 7.0", f".version {version}")
        with pytest.raises(LoadError, match=f"PTX written for .target {target} does not run on .*, whose architecture is {own}"):
            load(text, "saxpy", 0)


def test_a_missing_entry_is_named():
    with pytest.raises(LoadError, match="the module has no entry called 'sexpy'"):
        load(SAXPY, "sexpy", 0)


def test_versions_the_driver_knows():
    newest = current_device().ptx_version
    assert newest >= (7, 0) and driver_version() >= (11, 0)
    load(fresh(SAXPY).replace(".version 7.0", f".version {newest[0]}.{newest[1]}"), "saxpy", 0)
    beyond = SAXPY.replace(".version 7.0", ".version 99.0")
    with pytest.raises(LoadError, match=r"\.version 99\.0 is newer than the driver"):
        load(beyond, "saxpy", 0)


def test_one_module_a_text_and_device():
    assert load(SAXPY, "saxpy", 0) is load(SAXPY, "saxpy", 0)
    assert load(SAXPY, "saxpy", 0, max_registers=32) is not load(SAXPY, "saxpy", 0)


def test_an_assembled_cubin(torch):
    cubin = assemble(SAXPY, device_target(0))
    kernel = load_cubin(cubin, "saxpy", 0)
    assert kernel.attribute("NUM_REGS") == cubin.resources["saxpy"].registers
    other = assemble(SAXPY, "sm_80")
    if device(0).target != "sm_80":
        with pytest.raises(LoadError, match="a cubin for sm_80 does not run on"):
            load_cubin(other, "saxpy", 0)
    assert header(SAXPY).target == "sm_80"


def test_limits(torch):
    x, y = torch.ones(8, device="cuda"), torch.ones(8, device="cuda")
    for options, message in [
        ({"grid": (1, 65536)}, "grid.y = 65536"),
        ({"block": 2048}, "block.x = 2048"),
        ({"block": (1024, 2)}, "has 2048 threads"),
        ({"grid": 1 << 20, "block": 1024, "cooperative": True}, "a cooperative launch runs all blocks at once"),
    ]:
        with pytest.raises(LaunchError, match=message):
            saxpy(**options)(x, y, 1.0)
    saxpy(grid=(1, 65535), block=1)(x, y, 1.0)
    saxpy(grid=4, cooperative=True)(x, y, 1.0)
    torch.cuda.synchronize()


def test_clusters(torch):
    if not device(0).limit("CLUSTER_LAUNCH"):
        pytest.skip("this device has no clusters")
    out = torch.full((16,), -1, dtype=torch.int32, device="cuda")
    signature = Signature("rank", [PointerParam("out")])
    Runner(CLUSTER, "rank", signature, grid=16, block=32, cluster=4)(out)
    assert out.tolist() == [0, 1, 2, 3] * 4
    Runner(CLUSTER, "rank", signature, grid=16, block=32, cluster=16)(out)
    assert sorted(out.tolist()) == list(range(16))
    with pytest.raises(LaunchError, match=r"grid\.x = 15 is no multiple of cluster\.x = 4"):
        Runner(CLUSTER, "rank", signature, grid=15, block=32, cluster=4)(out)


class Interface:
    """A tensor known only through ``__cuda_array_interface__``."""

    def __init__(self, tensor):
        self.tensor = tensor

    @property
    def __cuda_array_interface__(self):
        return self.tensor.__cuda_array_interface__


class Exported:
    """A tensor known only through DLPack."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


@pytest.mark.parametrize("wrap", [Interface, Exported])
def test_other_libraries(torch, wrap):
    x, y = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
    torch.cuda.synchronize()
    saxpy()(wrap(x), wrap(y), 2.0)
    torch.cuda.synchronize()
    assert bool((y == 2).all())
    with pytest.raises(ArgumentError, match="an array of float16"):
        saxpy()(wrap(x.half()), wrap(y), 2.0)
    with pytest.raises(ArgumentError, match="a view with strides"):
        saxpy()(wrap(x[::2]), wrap(y[::2]), 2.0)


def test_cupy():
    cupy = pytest.importorskip("cupy")
    x, y = cupy.ones(1000, cupy.float32), cupy.zeros(1000, cupy.float32)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        saxpy()(x, y, 2.0)
    stream.synchronize()
    assert bool((y == 2).all())


def test_raw_addresses(torch):
    signature = Signature("saxpy", [PointerParam("x"), PointerParam("y"), ScalarParam("a", f32), ScalarParam("n", u32)])
    kernel = Runner(SAXPY, "saxpy", signature, grid=1, block=256)
    x, y = torch.ones(100, device="cuda"), torch.zeros(100, device="cuda")
    kernel(x.data_ptr(), y.data_ptr(), 2.0, 100)
    kernel(x, y, 2.0, 100)
    torch.cuda.synchronize()
    assert bool((y == 4).all())


def test_alignment_of_a_slice(torch):
    signature = Signature("k", [TensorParam("x", f16, ["n"], align=16)])
    kernel = Runner(SAXPY, "saxpy", signature, grid=1, block=1)
    with pytest.raises(ArgumentError, match=r"is at an address that is 2 modulo 16 \(it starts 2 bytes into its allocation\)"):
        kernel(torch.zeros(64, device="cuda", dtype=torch.float16)[1:])


def test_two_devices(torch):
    if device_count() < 2:
        pytest.skip("one device")
    kernel = saxpy()
    for ordinal in (1, 0, 1):
        x, y = torch.ones(100, device=f"cuda:{ordinal}"), torch.zeros(100, device=f"cuda:{ordinal}")
        with torch.cuda.device(1 - ordinal):
            kernel(x, y, 2.0)
        torch.cuda.synchronize(ordinal)
        assert bool((y == 2).all())
    with pytest.raises(ArgumentError, match="'x' on cuda:0, 'y' on cuda:1; move them to one"):
        kernel(torch.ones(4, device="cuda:0"), torch.ones(4, device="cuda:1"), 1.0)
