"""Address text is proved: a fault put into what writes it never becomes a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ptxgen as px
from ptxgen import S, f32, laneid
from ptxgen.errors import PtxgenError
from ptxgen.layouts.expr import Expr
from ptxgen.tile import addresses
from ptxgen.tracing.builder import Value


def element() -> str:
    @px.kernel(grid=4, block=64)
    def kernel(x: px.Tensor((64, 4, 64), f32), n: px.u32):
        with px.if_(n < 64):
            px.ptx.st.global_.f32(x[n, px.ctaid.x, px.tid.x], px.f32(0))

    return kernel.ptx(comments=False)


def loaded_index() -> str:
    @px.kernel(grid=1, block=32)
    def kernel(x: px.Tensor((512,), f32), n: px.Tensor((32,), px.u32)):
        i = px.ptx.ld.global_.u32(n[px.tid.x])
        with px.if_(i < 100):
            px.ptx.st.global_.f32(x[i * 4 + 3], px.f32(0))

    return kernel.ptx(comments=False)


def tile() -> str:
    @px.kernel(grid=4, block=32)
    def kernel(x: px.Tensor((4, 32, 2, 4), f32, align=16)):
        r = px.local((32, 2, 4), f32, layout=S[(32, 2, 4) : (1 @ laneid, 4, 1)])
        px.tile.apply("ld.global.v4.f32", r, x[px.ctaid.x], scope="cta")

    return kernel.ptx(comments=False)


def wrong_coefficient(monkeypatch: pytest.MonkeyPatch) -> None:
    right = addresses.materialize

    def wrong(builder: Any, expr: Expr, bits: int) -> Value:
        return right(builder, expr + 4 * Expr.of(expr.symbols[0]), bits)

    monkeypatch.setattr(addresses, "materialize", wrong)


def wrong_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    right = addresses.Anchor._encoded

    def wrong(self: Any, base: Value | None, start: int) -> tuple[Any, int]:
        return right(self, base, start + 4)

    monkeypatch.setattr(addresses.Anchor, "_encoded", wrong)


def wrong_stride(monkeypatch: pytest.MonkeyPatch) -> None:
    right = addresses._multiply_add
    monkeypatch.setattr(addresses, "_multiply_add", lambda builder, value, stride, *rest: right(builder, value, stride + 16, *rest))


@pytest.mark.parametrize(
    ("kernel", "fault"),
    [
        (element, wrong_coefficient), (element, wrong_constant), (loaded_index, wrong_coefficient), (loaded_index, wrong_constant),
        (tile, wrong_coefficient), (tile, wrong_constant), (tile, wrong_stride),
    ],
)  # fmt: skip
def test_wrong_addresses_are_stopped(
    monkeypatch: pytest.MonkeyPatch, kernel: Callable[[], str], fault: Callable[[pytest.MonkeyPatch], None]
) -> None:
    assert kernel().count(".global") >= 2  # right without the fault
    fault(monkeypatch)
    with pytest.raises(PtxgenError, match="internal: the address text"):
        kernel()
