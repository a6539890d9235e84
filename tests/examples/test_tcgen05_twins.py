"""Broken twins of the tcgen05 GEMM: a line forgotten or wrong is reported, with what is missing, for one block and for a pair."""

import importlib.util
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "tcgen05_gemm.py"

TWINS = [
    ("full[at.stage].wait(at.phase)", "pass", "in flight", "tcgen05.mma"),
    ("empty[at.stage].wait(at.phase)", "pass", "mbarrier", "1 more arrive"),
    ("px.tcgen05_commit(empty[at.stage], cta_group=ctas, mask=both)", "pass", "deadlock", "try_wait"),
    ("px.tcgen05_commit(done, cta_group=ctas, mask=both)", "pass", "deadlock", "128 threads wait"),
    ("(ROWS + share) * DEPTH * 2", "(ROWS + share) * DEPTH", "", "full byte"),  # which comes first, a race or a deadlock, varies
    ('px.tcgen05_wait("ld")', "pass", "in flight", "tcgen05.wait::ld must come first"),
    ("done.wait(0)", "pass", "unwritten memory", "of tensor memory is read"),
    ('done.wait(0)\n        px.tcgen05_fence("after")', "done.wait(0)", "tensor fence", "tcgen05.fence::after_thread_sync must come first"),
    ('px.tcgen05_fence("before")\n        sync()\n        with px.if_(warp == 0):\n            memory.dealloc()',
     "with px.if_(warp == 0):\n            memory.dealloc()", "race", "columns at 0x0 are given back, and nothing orders this after"),
    ("memory.dealloc()", "pass", "tensor memory", "tcgen05.dealloc is missing"),
]  # fmt: skip


@pytest.mark.parametrize("ctas", [1, 2])
@pytest.mark.parametrize(("line", "instead", "kind", "words"), TWINS, ids=[line for line, *_ in TWINS])
def test_what_is_forgotten_is_named(tmp_path, ctas, line, instead, kind, words):
    text = EXAMPLE.read_text(encoding="utf-8")
    assert text.count(line) == 1
    path = tmp_path / "twin.py"
    path.write_text(text.replace(line, instead), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("twin", path)
    twin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(twin)
    kernel, arguments, _ = twin.case(0, ctas, (128 * ctas, 128, 328))
    reports = kernel.emulate(*arguments).reports
    assert any(kind in ("", report.kind) and words in str(report) for report in reports), [str(report) for report in reports]
