"""Asynchronous instructions by name: sinks, braces around one register, entries of a bracket, and what views must be aligned to."""

import pytest

import ptxgen as px
from ptxgen.assemble.referee import run_ptxas
from ptxgen.assemble.tools import find_tool
from ptxgen.errors import PtxgenError


@px.kernel(grid=1, block=128, target="sm_100a")
def everything(x: px.Tensor((64, 64), px.f32, align=128)):
    bar = px.shared((2,), px.b64, align=8)
    tile = px.shared((64, 64), px.f32, align=128)
    slot = px.shared((1,), px.b32)
    tensor_map = px.reg(px.u64, 0)
    px.ptx["mbarrier.init.shared::cta.b64"](bar, 1)
    px.ptx["mbarrier.arrive.expect_tx.shared::cta.b64"](bar, 64)
    px.ptx["mbarrier.arrive.shared::cta.b64"](bar, out=px.sink)
    px.ptx["mbarrier.arrive.shared::cluster.b64"](px.ptx["mapa.shared::cluster.u32"](px.u32(0), 0))
    px.ptx["cp.async.cg.shared.global"](tile, x, 16, 8)
    px.ptx["cp.async.wait_group"](0)
    px.ptx["cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"](tile, x, 64, bar)
    px.ptx["cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes"](tile, (tensor_map, (3,)), (bar, 8))
    complete = px.ptx["mbarrier.try_wait.parity.shared::cta.b64"](bar, 0)
    px.ptx["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"](slot, 32)
    address = px.reg(px.u32, 0)
    loaded = px.ptx["tcgen05.ld.sync.aligned.32x32b.x1.b32"](address)
    px.ptx["tcgen05.st.sync.aligned.32x32b.x1.b32"]((address, 4), (loaded,))
    px.ptx["tcgen05.mma.cta_group::1.kind::f16"](address, px.u64(0), px.u64(1), px.u32(5), complete)


def test_calls_become_the_statements_that_the_isa_writes() -> None:
    text = everything.specialize().ptx()
    lines = [line.strip() for line in text.splitlines() if "." in line and not line.strip().startswith(("//", "."))]
    assert [line for line in lines if not line.startswith(("ld.param", "cvta", "mov"))] == [
        "mbarrier.init.shared::cta.b64 [smem], 1;",
        "mbarrier.arrive.expect_tx.shared::cta.b64 %rd3, [smem], 64;",
        "mbarrier.arrive.shared::cta.b64 _, [smem];",
        "mapa.shared::cluster.u32 %r0, 0, 0;",
        "mbarrier.arrive.shared::cluster.b64 _, [%r0];",
        "cp.async.cg.shared.global [smem_2], [%rd1], 16, 8;",
        "cp.async.wait_group     0;",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [smem_2], [%rd1], 64, [smem];",
        "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [smem_2], [%rd2, {3}], [smem+8];",
        "mbarrier.try_wait.parity.shared::cta.b64 %p0, [smem], 0;",
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem_3], 32;",
        "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r1];",
        "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1+4], {%r2};",
        "tcgen05.mma.cta_group::1.kind::f16 [%r1], 0, 1, 5, %p0;",
    ]


@pytest.mark.skipif(find_tool("ptxas") is None, reason="needs ptxas: pip install 'ptxgen[asm]'")
def test_ptxas_takes_them() -> None:
    tool = find_tool("ptxas")
    assert tool is not None
    code, log = run_ptxas(tool, everything.specialize().ptx(), "sm_100a", ("-w",))
    assert code is not None, log


def refused(call) -> str:
    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel(x: px.Tensor((64, 64), px.f32)):
        call(x, px.shared((64, 64), px.f32), px.shared((2,), px.b64, align=8))

    with pytest.raises(PtxgenError) as caught:
        kernel.specialize()
    return str(caught.value)


def test_a_bulk_copy_wants_sixteen_bytes_and_a_tile_128() -> None:
    bulk = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
    message = refused(lambda x, tile, bar: px.ptx[bulk](tile, x, 64, bar))
    assert "operand src_mem" in message and "x is a multiple of 4 bytes" in message and "align=16" in message
    tensor = "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes"
    message = refused(lambda x, tile, bar: px.ptx[tensor](tile, (px.reg(px.u64, 0), (0,)), bar))
    assert "operand dst_mem" in message and "align=128" in message


def test_an_mbarrier_lies_at_a_multiple_of_eight() -> None:
    message = refused(lambda x, tile, bar: px.ptx["mbarrier.init.shared.b64"]((bar, 4), 1))
    assert "operand addr" in message and "8 bytes" in message


def test_the_address_of_a_tensor_map_has_no_offset() -> None:
    store = "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group"
    message = refused(lambda x, tile, bar: px.ptx[store](((px.reg(px.u64, 0), 64), (0,)), bar))
    assert "an address in front of a comma is a register or a name alone" in message


def test_what_cannot_return_a_state_takes_no_register_for_it() -> None:
    arrive = "mbarrier.arrive.shared::cluster.b64"
    message = refused(lambda x, tile, bar: px.ptx[arrive](px.u32(0), out=px.reg(px.u64, 0)))
    assert "has no result" in message
