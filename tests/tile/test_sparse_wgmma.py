"""wgmma with a sparse factor through tile.apply: texts of two steps along K that ptxas takes, and what is refused."""

import pytest

import ptxgen as px
from ptxgen import S, b32, bf16, e4m3, e5m2, f16, f32, s8, s32, tid_in_wg, tx, u8
from ptxgen.assemble import assemble
from ptxgen.errors import InstructionError
from ptxgen.layouts import Layout

PRODUCTS = {
    "f32.f16.f16": (f16, f16, f32), "f32.bf16.bf16": (bf16, bf16, f32), "f32.tf32.tf32": (px.tf32, px.tf32, f32),
    "f32.e4m3.e5m2": (e4m3, e5m2, f32), "s32.s8.u8": (s8, u8, s32),
}  # fmt: skip
SWIZZLES = {32: px.Swizzle.B32, 64: px.Swizzle.B64, 128: px.Swizzle.B128}
N, STEPS = 16, 2


def kernel_of(types, in_registers, kept=1, spans=(64, 128)):
    """Two steps along K of a 64 x 16 product; of A the half that is kept (`kept` = 1), or all of it."""
    of_a, of_b, of_c = PRODUCTS[types]
    e = 32 // of_a.bits
    k = 16 * e  # of one instruction: 64 bytes of B, of which A keeps 32
    half = k // 2 * (1 if kept == 1 else 2)
    sums = S[((4, 2, 8), (N // 8, 4, 2)) : ((32 @ tid_in_wg, 2, 4 @ tid_in_wg), (4, 1 @ tid_in_wg, 1))]
    h = half // (4 * e)
    factor = S[(STEPS, (4, 2, 8), (h, 4, e)) : (2 * e * h, (32 @ tid_in_wg, e, 4 @ tid_in_wg), (2 * e, 1 @ tid_in_wg, 1))]

    @px.kernel(grid=1, block=128, target="sm_90a")
    def kernel(E: px.Tensor((STEPS, 128), b32), C: px.Tensor((128, N // 2), of_c, align=16)):
        b = px.shared((N, STEPS * k), of_b, layout=Layout(S[N, STEPS * k], swizzle=SWIZZLES[spans[1]]))
        if in_registers:
            a = px.local((STEPS, 64, half), of_a, layout=factor, **({} if e == 1 else {"container": b32}))
            words = a.rearrange("s (w i r) (h t e) -> (w r t) s h i e", w=4, i=2, t=4, e=e).view(b32)
            px.tile.apply("mov.b32", words, 0, scope="cta")
        else:
            shared = px.shared((64, STEPS * half), of_a, layout=Layout(S[64, STEPS * half], swizzle=SWIZZLES[spans[0]]))
            a = shared.rearrange("m (s k) -> s m k", s=STEPS)
        d = px.local((64, N), of_c, layout=sums)
        e_words = px.local((STEPS, 128), b32, layout=S[(STEPS, 128) : (1, 1 @ tx)])
        px.tile.apply("ld.global.b32", e_words.permute(1, 0).view(128, STEPS, 1), E.permute(1, 0).view(128, STEPS, 1), scope="cta")
        px.wgmma_fence()
        opcode = f"wgmma.mma_async.sp.sync.aligned.m64n{N}k{k}.{types}"
        right = b.rearrange("n (s k) -> s n k", s=STEPS).view(1, STEPS, N, k)
        left, metadata = a.view(1, STEPS, 64, half), e_words.view(1, STEPS, 128)
        px.tile.apply(opcode, d.view(1, 1, 64, N), left, right, metadata, 0, scale_d=0, scope="warpgroup")
        px.wgmma_commit()
        px.wgmma_wait(0)
        words = d.rearrange("(w i r) (c t j) -> (w r t) (i c j)", w=4, i=2, t=4, j=2)
        px.tile.apply("st.global.v4.b32", C.view(128, N // 8, 4), words.view(128, N // 8, 4), scope="cta")

    return kernel


@pytest.mark.parametrize("in_registers", [False, True])
@pytest.mark.parametrize("types", PRODUCTS)
def test_texts_of_sparse_products(types, in_registers):
    text = kernel_of(types, in_registers).ptx(comments=False)
    lines = [line.strip().rstrip(";") for line in text.splitlines() if line.strip().startswith("wgmma.mma_async.sp")]
    assert len(lines) == STEPS
    behind = [line.split("}, ")[-1].split(", ")[1 if in_registers else 2 :][:3] for line in lines]
    assert behind[0][0] != behind[1][0] and [one[1:] for one in behind] == [["0", "0"], ["0", "1"]]
    assemble(text)


def test_a_dense_factor_is_no_sparse_one():
    with pytest.raises(InstructionError, match=r"operand a: .* ends in \(64, 32\) where the atom has \(64, 16\)"):
        kernel_of("f32.f16.f16", True, kept=2).ptx()


def test_rows_of_b_are_as_long_as_an_instruction_takes():
    """64 bytes of a row of B do not lie in a swizzle of 32."""
    with pytest.raises(InstructionError, match="none of the layouts that a descriptor can describe"):
        kernel_of("f32.f16.f16", False, spans=(32, 32)).ptx()
