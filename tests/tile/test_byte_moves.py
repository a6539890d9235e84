"""ldmatrix and stmatrix of bytes through tile.apply: what they move, against NumPy; texts that ptxas takes; what is refused."""

import numpy as np
import pytest

import ptxgen as px
from ptxgen import S, b8, b32, laneid, tx, warpid
from ptxgen.assemble import assemble
from ptxgen.errors import InstructionError
from ptxgen.layouts import Layout
from tests.tracing.kernels import traced

SWIZZLES = {0: None, 32: px.Swizzle.B32, 64: px.Swizzle.B64, 128: px.Swizzle.B128}
PACKED = {"": 8, "b8x16.b6x16_p32": 6, "b8x16.b4x16_p64": 4}


def rows_of(elements, bits):
    """Elements as rows of 16 bytes: 16 of so many bits each, and padding of ones."""
    packed = np.unpackbits(elements[..., None], axis=-1, bitorder="little")[..., :bits].reshape(*elements.shape[:-1], -1, 16 * bits)
    padded = np.pad(packed, [(0, 0)] * (packed.ndim - 1) + [(0, 128 - 16 * bits)], constant_values=1)
    return np.packbits(padded, axis=-1, bitorder="little").reshape(*elements.shape[:-1], -1)


def staged(given, rows, width, span):
    """A shared tile of bytes that holds what is given, 16 bytes after the other."""
    tile = px.shared((rows, width), b8, layout=Layout(S[rows, width], swizzle=SWIZZLES[span]))
    units = rows * width // 16
    through = px.local((32, units // 32, 4), b32, layout=S[(32, units // 32, 4) : (1 @ laneid, 4, 1)])
    each = {"t": width // 16, "c": 16, "r": 32 * 16 // width}
    px.tile.apply("ld.global.v4.b32", through, given.rearrange("(n r) (t c) -> (r t) n c", **each).view(b32), scope="warp")
    px.tile.apply("st.shared.v4.b32", tile.rearrange("(n r) (t c) -> (r t) n c", **each).view(b32), through, scope="warp")
    px.ptx["bar.warp.sync"](0xFFFFFFFF)
    return tile


@pytest.mark.parametrize("span", SWIZZLES)
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("form", PACKED)
def test_square_matrices_are_transposed(form, count, span):
    """Four neighbours of a column become one word of a row."""
    layout = S[(4, 8, (4, 4), (2, 8)) : (64, 8, (1 @ laneid, 1), (4, 4 @ laneid))]
    steps = 8 // count

    @px.kernel(grid=1, block=32, target="sm_100a")
    def kernel(A: px.Tensor((64, 128), b8, align=16), B: px.Tensor((128, 64), b8, align=16)):
        tile = staged(A, 64, 128, span).rearrange("(m r) (x c) -> m x r c", r=16, c=16)
        held = px.local((4, 8, 16, 16), b8, layout=layout, container=b32)
        opcode = f"ldmatrix.sync.aligned.m16n16.x{count}.trans.shared.{form or 'b8'}"
        px.tile.apply(opcode, held.view(4, steps, count, 16, 16), tile.view(4, steps, count, 16, 16), scope="warp")
        words = "m x (t e) (h g) -> (g t) m x h e"
        out = B.rearrange("(x c) (m r) -> m x r c", c=16, r=16)
        split = {"t": 4, "h": 2}
        px.tile.apply("st.global.b32", out.rearrange(words, **split).view(b32), held.rearrange(words, **split).view(b32), scope="warp")

    bits = PACKED[form]
    elements = np.random.default_rng(1).integers(0, 1 << bits, (64, 128), np.uint8)
    found = np.zeros((128, 64), np.uint8)
    kernel(rows_of(elements, bits), found)
    np.testing.assert_array_equal(found, elements.T)
    assemble(kernel.ptx())


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("form", [one for one in PACKED if one])
def test_packed_rows_are_widened(form, count):
    layout = S[(4, 8, 8, (4, 4)) : (32, 4, 4 @ laneid, (1 @ laneid, 1))]
    steps = 8 // count

    @px.kernel(grid=1, block=32, target="sm_100a")
    def kernel(A: px.Tensor((32, 128), b8, align=16), B: px.Tensor((32, 128), b8, align=16)):
        tile = staged(A, 32, 128, 128).rearrange("(m r) (x c) -> m x r c", r=8, c=16)
        held = px.local((4, 8, 8, 16), b8, layout=layout, container=b32)
        opcode = f"ldmatrix.sync.aligned.m8n16.x{count}.shared.{form}"
        px.tile.apply(opcode, held.view(4, steps, count, 8, 16), tile.view(4, steps, count, 8, 16), scope="warp")
        out = B.rearrange("(m r) (x t c) -> (r t) m x c", m=4, t=4, c=4)
        px.tile.apply("st.global.b32", out.view(b32), held.rearrange("m x r (t c) -> (r t) m x c", t=4).view(b32), scope="warp")

    bits = PACKED[form]
    elements = np.random.default_rng(2).integers(0, 1 << bits, (32, 128), np.uint8)
    found = np.zeros_like(elements)
    kernel(rows_of(elements, bits), found)
    np.testing.assert_array_equal(found, elements)
    assemble(kernel.ptx())


@pytest.mark.parametrize("span", SWIZZLES)
@pytest.mark.parametrize("count", [1, 2, 4])
def test_fragments_of_bytes_are_stored_transposed(count, span):
    """What mma leaves in registers, narrowed to bytes: rows g and g + 8, two neighbours of each."""
    layout = S[(2, 8, 8, (4, 2), (2, 8)) : (1 @ warpid, 4, 32, (1 @ laneid, 1), (2, 4 @ laneid))]
    steps = 8 // count

    @px.kernel(grid=1, block=64, target="sm_100a")
    def kernel(A: px.Tensor((2, 32, 8, 8), b32, align=16), B: px.Tensor((128, 128), b8, align=16)):
        tile = px.shared((128, 128), b8, layout=Layout(S[128, 128], swizzle=SWIZZLES[span]))
        held = px.local((2, 8, 8, 8, 16), b8, layout=layout, container=b32)
        words = held.rearrange("w x m (t i) (j g) -> (w g t) m x (j i)", t=4, j=2).view(b32)
        px.tile.apply("ld.global.b32", words, A.view(64, 8, 8, 1), scope="cta")
        into = tile.rearrange("(w m r) (x c) -> w m x r c", w=2, r=8, c=16)
        source = held.rearrange("w x m r c -> w m x r c")
        opcode = f"stmatrix.sync.aligned.m16n8.x{count}.trans.shared.b8"
        px.tile.apply(opcode, into.view(2, 8, steps, count, 8, 16), source.view(2, 8, steps, count, 8, 16), scope="cta")
        px.syncthreads()
        line = px.local((64, 2, 8, 4), b32, layout=S[(64, 2, 8, 4) : (1 @ tx, 32, 4, 1)])
        px.tile.apply("ld.shared.v4.b32", line, tile.rearrange("(n r) (t c) -> r n t c", r=64, c=16).view(b32), scope="cta")
        px.tile.apply("st.global.v4.b32", B.rearrange("(n r) (t c) -> r n t c", r=64, c=16).view(b32), line, scope="cta")

    given = np.random.default_rng(3).integers(0, 256, (128, 128), np.uint8)  # 16 * x + c, 64 * w + 8 * m + r
    x, j, g, w, m, t, i = np.ogrid[:8, :2, :8, :2, :8, :4, :2]
    octets = np.zeros((2, 8, 4, 8, 8, 2, 2), np.uint8)  # warp, g, t, m, x, j, i: bytes of a word
    octets[w, g, t, m, x, j, i] = given[16 * x + 8 * j + g, 64 * w + 8 * m + 2 * t + i]
    found = np.zeros_like(given)
    kernel(octets.reshape(2, 32, 8, 8, 4).view(np.uint32)[..., 0], found)
    np.testing.assert_array_equal(found, given.T)
    assemble(kernel.ptx())


@pytest.mark.parametrize(
    ("opcode", "layout", "shape", "words"),
    [
        ("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8", S[(1, 16, 16) : (0, 1 @ laneid, 1)], (1, 16, 16), ["not owned", "thread"]),
        ("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8", S[(1, 8, 16) : (0, 1 @ laneid, 1)], (1, 16, 16), ["ends in (1, 8, 16)"]),
        ("ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64", S[(1, 8, 16) : (4, 4 @ laneid, 1)], (1, 8, 16), ["not owned"]),
    ],
)  # fmt: skip
def test_other_fragments_are_refused(opcode, layout, shape, words):
    def body(tid):
        px.tile.apply(opcode, px.local(Layout(layout).shape, b8, layout=layout, container=b32), px.shared(shape, b8), scope="warp")

    with pytest.raises(InstructionError) as caught:
        traced(body, block=(32, 1, 1))
    assert all(word in str(caught.value) for word in words), str(caught.value)
