"""`px.const` and `px.global_`: data that the module begins with."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import ptxgen as px
from ptxgen import TraceError
from ptxgen.assemble import assemble
from tests.errors.refusal import refused

DTYPES = {np.dtype(one).name: one for one in (np.uint8, np.int8, np.int16, np.uint32, np.int64, np.float16, np.float32, np.float64)}
DTYPES["bfloat16"] = ml_dtypes.bfloat16
DTYPES["float8_e4m3fn"] = ml_dtypes.float8_e4m3fn


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("space", ["const", "global"])
def test_every_type_is_read_back_as_it_was_given(space, name):
    table = np.random.default_rng(1).integers(0, 100, (3, 5)).astype(DTYPES[name])
    bits = 8 * table.itemsize

    @px.kernel(grid=1, block=15)
    def read(out: px.Tensor((15,), getattr(px, f"u{bits}"))):
        data = (px.const if space == "const" else px.global_)(table)
        assert data.shape == (3, 5)
        flat, t = data.view(15), px.tid.x
        px.ptx[f"st.global.b{bits}"](out[t], px.ptx[f"ld.{space}.b{bits}"](flat[t]))

    out = np.zeros(15, f"u{table.itemsize}")
    read(out)
    np.testing.assert_array_equal(out, table.reshape(-1).view(f"u{table.itemsize}"))
    assemble(read.ptx())


def test_negative_zero_and_nan_keep_their_bits():
    bits = np.array([0x80000000, 0x7FC12345, 0xFF800000], np.uint32)

    @px.kernel(grid=1, block=3)
    def read(out: px.Tensor((3,), px.u32)):
        table = px.const(bits.view(np.float32))
        px.ptx.st.global_.b32(out[px.tid.x], px.ptx.ld.const.b32(table[px.tid.x]))

    out = np.zeros(3, np.uint32)
    read(out)
    np.testing.assert_array_equal(out, bits)


def test_packed_elements_are_declared_as_untyped_bits():
    @px.kernel(grid=1, block=2)
    def read(out: px.Tensor((2,), px.u32)):
        table = px.const([65537, 131074], px.u16x2)
        px.ptx.st.global_.b32(out[px.tid.x], px.ptx.ld.const.b32(table[px.tid.x]))

    assert ".b32 table[2] = {65537, 131074};" in read.ptx()
    assemble(read.ptx())
    out = np.zeros(2, np.uint32)
    read(out)
    assert out.tolist() == [65537, 131074]


def test_equal_tables_are_one_and_names_are_the_users():
    @px.kernel(grid=1, block=1)
    def kernel(weights: px.Tensor((1,), px.f32)):
        first = px.const([1.0, 2.0], px.f32)
        again = px.const([1.0, 2.0], px.f32)
        px.ptx.st.global_.f32(weights[0], px.ptx.ld.const.f32(first[0]) + px.ptx.ld.const.f32(again[1]))

    text = kernel.ptx()
    assert [line for line in text.splitlines() if ".const" in line and "[2]" in line] == [
        ".const .align 16 .f32 first[2] = {0f3F800000, 0f40000000};"
    ]
    out = np.zeros(1, np.float32)
    kernel(out)
    assert out[0] == 3


def test_a_tile_operation_reads_a_table():
    @px.kernel(grid=1, block=32)
    def kernel(out: px.Tensor((32, 4), px.f32, align=16)):
        table = px.const(np.arange(128, dtype=np.float32).reshape(32, 4))
        held = px.local((32, 4), px.f32, layout=px.S[(32, 4) : (1 @ px.laneid, 1)])
        px.tile.apply("ld.const.v4.f32", held, table, scope="warp")
        px.tile.apply("st.global.v4.f32", out, held, scope="warp")

    assemble(kernel.ptx())
    out = np.zeros((32, 4), np.float32)
    kernel(out)
    np.testing.assert_array_equal(out.reshape(-1), np.arange(128))


@pytest.mark.gpu
def test_gpu_reads_tables_and_keeps_variables_between_launches():
    torch = pytest.importorskip("torch")

    @px.kernel(grid=1, block=4)
    def count(out: px.Tensor((4,), px.u32)):
        table, launches = px.const([10, 20, 30, 40], px.u32), px.global_([0, 0, 0, 0], px.u32)
        t = px.tid.x
        seen = px.ptx.ld.global_.u32(launches[t]) + 1
        px.ptx.st.global_.u32(launches[t], seen)
        px.ptx.st.global_.u32(out[t], px.ptx.ld.const.u32(table[t]) + seen)

    out = torch.zeros(4, dtype=torch.uint32, device="cuda")
    for launch in (1, 2, 3):
        count(out)
        assert out.tolist() == [10 + launch, 20 + launch, 30 + launch, 40 + launch]


# ---- refused --------------------------------------------------------------------------------------------------------------


def test_number_that_the_type_does_not_hold():
    @px.kernel(grid=1, block=1)
    def kernel():
        px.const([0.5, 0.1], px.f16)  # <- here

    refused(TraceError, kernel, """
<here>: px.const: .f16 does not hold 0.1 exactly
  line: <source>
  why: nothing is rounded unasked
  legal: round it in the open: np.asarray(values, dtype)
""")


def test_missing_type():
    @px.kernel(grid=1, block=1)
    def kernel():
        px.const([1, 2])  # <- here

    refused(TraceError, kernel, """
<here>: px.const: the type of the elements is missing
  line: <source>
  legal: px.const([0.5, 0.25], px.f32), or a NumPy array
""")


def test_more_than_constant_memory_holds():
    @px.kernel(grid=1, block=1)
    def kernel():
        px.const(np.arange(20_000, dtype=np.float32))  # <- here

    refused(TraceError, kernel, """
<here>: the kernel declares 80000 bytes of constant memory with this table
  line: <source>
  why: a module has at most 65536 bytes of it (ISA 5.1.3)
  legal: px.global_(values), or a tensor argument
""")


def test_store_into_a_table():
    @px.kernel(grid=1, block=1)
    def kernel():
        table = px.const([1.0], px.f32)
        px.ptx.st.global_.f32(table[0], 2.0)  # <- here

    with pytest.raises(px.PtxgenError) as caught:
        kernel.specialize()
    assert "table" in str(caught.value) and ".const" in str(caught.value)
