"""Textures and surfaces on a GPU and in the emulator: equal bits where nothing is blended, and close ones where elements are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ptxgen as px

pytestmark = pytest.mark.gpu

FORMATS = {"f4": "FLOAT", "f2": "HALF", "u1": "UNSIGNED_INT8", "i1": "SIGNED_INT8", "u2": "UNSIGNED_INT16", "i4": "SIGNED_INT32"}
KERNEL = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 image, .param .u64 x, .param .u64 y, .param .u64 z, .param .u64 out)
{{
    .reg .b32 %r<12>; .reg .f32 %f<8>; .reg .b64 %rd<12>;
    ld.param.u64 %rd0, [image]; ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u64 %rd3, [z]; ld.param.u64 %rd4, [out];
    mov.u32 %r0, %tid.x; mul.wide.u32 %rd5, %r0, 4; mul.wide.u32 %rd6, %r0, 16;
    add.u64 %rd1, %rd1, %rd5; add.u64 %rd2, %rd2, %rd5; add.u64 %rd3, %rd3, %rd5; add.u64 %rd4, %rd4, %rd6;
    ld.global.b32 %r1, [%rd1]; ld.global.b32 %r2, [%rd2]; ld.global.b32 %r3, [%rd3];
    mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3;
    {line}
    st.global.v4.b32 [%rd4], {{%r4, %r5, %r6, %r7}};
    ret;
}}
"""
COUNT = 512


def call(result: Any) -> Any:
    assert int(result[0]) == 0, result
    return result[1] if len(result) > 1 else None


@pytest.fixture
def driver() -> Iterator[Any]:
    from cuda.bindings import driver

    call(driver.cuInit(0))
    device = call(driver.cuDeviceGet(0))
    call(driver.cuCtxSetCurrent(call(driver.cuDevicePrimaryCtxRetain(device))))
    yield driver
    call(driver.cuDevicePrimaryCtxRelease(device))


def copied(driver: Any, image: Any, array: Any, out: np.ndarray | None = None) -> None:
    """The image into a CUDA array, or with `out` the array's contents into that."""
    layers, depth, height, *_ = image.elements.shape
    host = image.array if out is None else out
    copy = driver.CUDA_MEMCPY3D()
    copy.WidthInBytes, copy.Height, copy.Depth = host.nbytes // (layers * depth * height), height, layers * depth
    names = ("src", "dst") if out is None else ("dst", "src")
    setattr(copy, f"{names[0]}MemoryType", driver.CUmemorytype.CU_MEMORYTYPE_HOST)
    setattr(copy, f"{names[0]}Host", host.ctypes.data)
    setattr(copy, f"{names[0]}Pitch", copy.WidthInBytes)
    setattr(copy, f"{names[0]}Height", height)
    setattr(copy, f"{names[1]}MemoryType", driver.CUmemorytype.CU_MEMORYTYPE_ARRAY)
    setattr(copy, f"{names[1]}Array", array)
    call(driver.cuMemcpy3D(copy))


def resource(driver: Any, image: Any) -> Any:
    """A CUDA array with the image in it."""
    layers, depth, height, width, channels = image.elements.shape
    described = driver.CUDA_ARRAY3D_DESCRIPTOR()
    described.Width, described.NumChannels = width, channels
    described.Height = 0 if image.geometry in ("1d", "a1d") else height
    described.Depth = layers if image.layers else depth if image.geometry == "3d" else 0
    described.Format = getattr(driver.CUarray_format, f"CU_AD_FORMAT_{FORMATS[image.array.dtype.str[1:]]}")
    layered = driver.CUDA_ARRAY3D_LAYERED if image.layers else 0
    described.Flags = layered | (driver.CUDA_ARRAY3D_SURFACE_LDST if isinstance(image, px.Surface) else 0)
    array = call(driver.cuArray3DCreate(described))
    copied(driver, image, array)
    found = driver.CUDA_RESOURCE_DESC()
    found.resType = driver.CUresourcetype.CU_RESOURCE_TYPE_ARRAY
    found.res.array.hArray = array
    return found


def handle_of(driver: Any, texture: px.Texture) -> int:
    sampled = driver.CUDA_TEXTURE_DESC()
    # An H200 blends a 1d texture along y as well, at 0 between what lies outside and the row: half of it, if that is a border.
    modes = (texture.modes[0], "clamp", "clamp") if texture.geometry == "1d" else texture.modes
    sampled.addressMode = [getattr(driver.CUaddress_mode, f"CU_TR_ADDRESS_MODE_{mode.upper()}") for mode in modes]
    filters = driver.CUfilter_mode
    sampled.filterMode = filters.CU_TR_FILTER_MODE_LINEAR if texture.filter == "linear" else filters.CU_TR_FILTER_MODE_POINT
    whole = texture.array.dtype.kind != "f" and texture.read == "element"
    sampled.flags = (driver.CU_TRSF_READ_AS_INTEGER if whole else 0) | (driver.CU_TRSF_NORMALIZED_COORDINATES if texture.normalized else 0)
    return int(call(driver.cuTexObjectCreate(resource(driver, texture), sampled, None)))


def both(handle: int, image: Any, line: str, *coordinates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What a statement leaves in %r4 to %r7, shape (threads, 4): in the emulator, on the GPU."""
    from ptxgen.cli.device import DeviceArray, synchronize

    given = [*coordinates, *(np.zeros(COUNT, np.float32),) * 3][:3]
    results = np.zeros((2, COUNT, 4), np.uint32)
    entry = px.load_ptx(KERNEL.format(line=line))["k"]
    entry.emulate(image, *given, results[0], grid=1, block=COUNT).raise_for_reports()
    placed = [DeviceArray(one) for one in (*given, results[1])]
    entry.launch(handle, *placed, grid=1, block=COUNT)
    synchronize()
    return results[0], placed[-1].numpy()


def coordinates(extent: int, normalized: bool, seed: int, away: float = 1 / 128) -> np.ndarray:
    """Inside and outside, none of them so near to the edge of an element that a GPU's rounding of coordinates decides."""
    drawn = np.random.default_rng(seed).uniform(-1.5 * extent, 2.5 * extent, 4 * COUNT)
    drawn = drawn[np.abs(drawn - np.round(drawn)) > away][:COUNT]
    return (drawn / extent if normalized else drawn).astype(np.float32)


SHAPES: dict[str, tuple[tuple[int, ...], str]] = {
    "1d": ((37,), "tex.1d.v4.{}.f32 {{{}}}, [%rd0, {{%f1}}];"), "2d": ((11, 24), "tex.2d.v4.{}.f32 {{{}}}, [%rd0, {{%f1, %f2}}];"),
    "3d": ((5, 7, 16), "tex.3d.v4.{}.f32 {{{}}}, [%rd0, {{%f1, %f2, %f3, %f3}}];"),
    "a2d": ((3, 6, 8), "cvt.rzi.u32.f32 %r3, %f3; tex.a2d.v4.{}.f32 {{{}}}, [%rd0, {{%r3, %f1, %f2, %f2}}];"),
}  # fmt: skip
REGISTERS = "%r4, %r5, %r6, %r7"


def drawn(texture: px.Texture, seed: int = 0) -> list[np.ndarray]:
    extents = [texture.extents[0], texture.extents[1], texture.layers or texture.extents[2]]
    scaled = [texture.normalized, texture.normalized, texture.normalized and not texture.layers]
    return [coordinates(extent, whole, seed + axis) for axis, (extent, whole) in enumerate(zip(extents, scaled))]


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("mode", ["wrap", "mirror", "clamp", "border"])
@pytest.mark.parametrize("geometry", SHAPES)
def test_nearest(driver: Any, geometry: str, mode: str, normalized: bool) -> None:
    shape, line = SHAPES[geometry]
    data = np.random.default_rng(1).normal(0, 1, shape).astype(np.float32)
    texture = px.Texture(data, geometry, address=mode, normalized=normalized)
    mine, gpus = both(handle_of(driver, texture), texture, line.format("f32", REGISTERS), *drawn(texture))
    np.testing.assert_array_equal(mine, gpus)


@pytest.mark.parametrize("mode", ["wrap", "mirror", "clamp", "border"])
@pytest.mark.parametrize("geometry", SHAPES)
def test_linear(driver: Any, geometry: str, mode: str) -> None:
    """Weights have 8 bits behind the point on both sides; a GPU rounds coordinates first."""
    shape, line = SHAPES[geometry]
    data = np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32)
    texture = px.Texture(data, geometry, filter="linear", address=mode, normalized=True)
    mine, gpus = both(handle_of(driver, texture), texture, line.format("f32", REGISTERS), *drawn(texture))
    np.testing.assert_allclose(mine.view(np.float32), gpus.view(np.float32), 0, 2 / 256 * len(shape))


@pytest.mark.parametrize("mode", ["clamp", "border"])
def test_gathers(driver: Any, mode: str) -> None:
    data = np.random.default_rng(2).normal(0, 1, (9, 12, 2)).astype(np.float32)
    texture = px.Texture(data, "2d", channels=2, address=mode)
    x, y = (coordinates(extent, False, seed) + np.float32(0.5) for seed, extent in enumerate((12, 9)))
    mine, gpus = both(handle_of(driver, texture), texture, f"tld4.g.2d.v4.f32.f32 {{{REGISTERS}}}, [%rd0, {{%f1, %f2}}];", x, y)
    np.testing.assert_array_equal(mine, gpus)


@pytest.mark.parametrize("read", ["element", "normalized"])
@pytest.mark.parametrize(("dtype", "channels"), [("u1", 4), ("i1", 2), ("u2", 1), ("i4", 2), ("f2", 4)])
def test_elements(driver: Any, dtype: str, channels: int, read: str) -> None:
    if read == "normalized" and dtype in ("i4", "f2"):
        pytest.skip("read as they are")
    shape = (6, 10, channels) if channels > 1 else (6, 10)
    raw = np.random.default_rng(3).integers(0, 256, (*shape, np.dtype(dtype).itemsize), np.uint8).view(dtype)[..., 0]
    texture = px.Texture(np.nan_to_num(raw) if dtype == "f2" else raw, "2d", channels=channels, read=read)
    of = "f32" if texture.floats else "s32" if dtype[0] == "i" else "u32"
    mine, gpus = both(handle_of(driver, texture), texture, SHAPES["2d"][1].format(of, REGISTERS), *drawn(texture))
    np.testing.assert_array_equal(mine, gpus)


QUERIES = ["width", "height", "depth"]  # driver 580 loads no text with the others


@pytest.mark.parametrize("query", QUERIES)
def test_questions(driver: Any, query: str) -> None:
    texture = px.Texture(np.zeros((3, 4, 8), np.float32), "a2d", filter="linear", address=("mirror", "border"), normalized=True)
    mine, gpus = both(handle_of(driver, texture), texture, f"txq.{query}.b32 %r4, [%rd0]; mov.b32 %r5, 0; mov.b32 %r6, 0; mov.b32 %r7, 0;")
    assert (int(mine[0, 0]), query) == (int(gpus[0, 0]), query)


@pytest.mark.parametrize("outside", ["clamp", "zero"])
def test_surfaces(driver: Any, outside: str) -> None:
    """Half of the threads read, the others write elsewhere."""
    data = np.random.default_rng(4).integers(0, 1 << 31, (8, 32)).astype(np.int32)
    surface = px.Surface(data.copy(), "2d")
    found = resource(driver, surface)
    handle = int(call(driver.cuSurfObjectCreate(found)))
    x = (np.arange(COUNT) % 40 - 4).astype(np.int32).view(np.float32)
    y = (np.arange(COUNT) // 40 % 4 - 1).astype(np.int32).view(np.float32)
    line = f"""
        shl.b32 %r1, %r1, 2; suld.b.2d.b32.{outside} %r4, [%rd0, {{%r1, %r2}}]; mov.b32 %r5, %r0; mov.b32 %r6, 0; mov.b32 %r7, 0;
        shl.b32 %r8, %r0, 2; shr.u32 %r9, %r0, 5; add.s32 %r9, %r9, 5; sub.s32 %r8, %r8, 8; sust.b.2d.b32.zero [%rd0, {{%r8, %r9}}], %r0;
    """
    mine, gpus = both(handle, surface, line, x, y)
    np.testing.assert_array_equal(mine, gpus)
    after = np.zeros_like(data)
    copied(driver, surface, found.res.array.hArray, after)
    np.testing.assert_array_equal(surface.array, after)


