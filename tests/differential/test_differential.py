"""The comparison itself: what it draws, what it would notice, and a sample of it; on a machine with a GPU, against that."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ptxgen.assemble import assemble
from ptxgen.assemble.tools import find_tool
from ptxgen.instructions.grammar import forms
from ptxgen.instructions.registry import FAMILIES, Match, family_entries, lookup
from ptxgen.instructions.types import TYPES
from tests.differential.approximate import measure
from tests.differential.catalogue import LEFT_OUT, Case, cases, families
from tests.differential.drawing import draw, grouped
from tests.differential.judging import judged
from tests.differential.running import Batch, Results, emulated, made

TARGET, VERSION, COUNT = "sm_90a", (9, 0), 256
NEEDED = {
    "integer", "extended", "floating", "half", "comparison", "logic", "move", "conversion", "video", "warp", "atomic",
}  # fmt: skip
ROOT = Path(__file__).parents[2]
every_family = pytest.mark.parametrize("family", [family for family in families() if next(cases(family, TARGET, VERSION, 0, {}), None)])


def some(family: str, number: int) -> list[Case]:
    known = list(cases(family, TARGET, VERSION, 0, {}))
    return [known[place] for place in np.random.default_rng(0).permutation(len(known))[:number]]


def of_opcode(opcode: str, style: str = "plain") -> Case:
    (match, *_) = lookup(opcode)
    return next(case for case in cases(match.entry.family, TARGET, VERSION, 0, {}) if (case.match.opcode, case.style) == (opcode, style))


def batch(case: Case) -> tuple[Batch, Results]:
    found = made([case], TARGET, VERSION, 5, COUNT)
    return found, emulated(found)


def test_a_family_is_compared_unless_it_is_named_with_the_reason() -> None:
    assert {*LEFT_OUT} <= {*FAMILIES}
    assert {*families()} >= NEEDED


def test_every_form_of_the_target_is_drawn() -> None:
    skipped: dict[str, str] = {}
    drawn = {case.match.opcode for case in cases("floating", TARGET, VERSION, 0, skipped)}
    known = set()
    for entry in family_entries("floating"):
        for form in forms(entry):
            matches = (Match(form.opcode(bound), form, bound) for bound in form.combinations())
            known |= {match.opcode for match in matches if TARGET in match.targets}
    assert drawn | {*skipped} == known
    assert all("reads PTX 9.0" in reason for reason in skipped.values())


def test_values_with_corners_are_drawn() -> None:
    rng = np.random.default_rng(1)
    floats = draw(TYPES["f32"], rng, 4096).astype(np.uint32)
    magnitude = floats & 0x7FFFFFFF
    for pattern in (0, 0x80000000, 1, 0x007FFFFF, 0x7F800000, 0xFF800000, 0x7F7FFFFF):
        assert pattern in floats
    assert ((magnitude > 0x7F800000) & (magnitude < 0x7FC00000)).sum() > 10  # signalling
    assert (floats & 0x1FFF == 0x1000).sum() > 10  # halfway between two f16
    assert {0x80000000, 0x7FFFFFFF, 0xFFFFFFFF, 31, 32, 33} <= {*map(int, draw(TYPES["s32"], rng, 4096) & np.uint64(0xFFFFFFFF))}
    first = draw(TYPES["s64"], rng, 4096)
    assert (draw(TYPES["s64"], rng, 4096, first) == first).mean() > 0.04
    warps = grouped(draw(TYPES["b32"], rng, 4096), rng, 32).reshape(-1, 32)
    kinds = {len({*map(int, warp)}) for warp in warps}
    assert 1 in kinds and {2, 3} & kinds and max(kinds) > 8


@every_family
def test_every_form_executes(family: str) -> None:
    found = made(some(family, 48), TARGET, VERSION, 7, COUNT)
    results = emulated(found)
    assert all(not one.differ for one in judged(found, results, results))


@pytest.mark.skipif(find_tool("ptxas") is None, reason="needs ptxas: pip install 'ptxgen[asm]'")
def test_kernels_assemble() -> None:
    chosen = [case for family in sorted(NEEDED) for case in some(family, 8)]
    assemble(made(chosen, TARGET, VERSION, 7, COUNT).text, cache=False)


def test_a_wrong_bit_is_reported_with_what_reproduces_it() -> None:
    found, mine = batch(of_opcode("add.s32"))
    gpus = Results(mine.out.copy(), mine.cells)
    assert judged(found, mine, gpus)[0].differ == 0
    gpus.out[0, 9] ^= np.uint64(4)
    (one,) = judged(found, mine, gpus)
    assert one.differ == 1 and one.example is not None
    (here,), (there,) = one.example["emulator"].values(), one.example["GPU"].values()
    left, right = (int(value, 16) for value in one.example["inputs"].values())
    assert one.example["thread"] == 9
    assert int(here, 16) == (left + right) % 2**32 == int(there, 16) ^ 4


def test_any_order_of_threads_is_right_where_they_update_one_cell() -> None:
    found, mine = batch(of_opcode("atom.global.add.u32", "same global"))
    gpus = Results(mine.out.copy(), mine.cells.copy())
    gpus.out[:, :16] = gpus.out[:, 15::-1]
    assert (gpus.out != mine.out).any()
    assert judged(found, mine, gpus)[0].differ == 0
    gpus.out[0, 3] += np.uint64(1)
    assert judged(found, mine, gpus)[0].differ == 16 or judged(found, mine, gpus)[0].differ > 0
    gpus.cells[0, 0, 0] ^= np.uint64(1)
    assert judged(found, Results(mine.out, mine.cells), Results(mine.out, gpus.cells))[0].differ == 1


def test_cells_are_updated_as_numpy_does() -> None:
    found, mine = batch(of_opcode("red.shared.xor.b32", "rival shared"))
    (leaf,) = found.sections[0].inputs
    given = found.columns[leaf.column].astype(np.uint32).reshape(-1, 16)
    before, after = (cells[0, ::16, 0].astype(np.uint32) for cells in (found.cells, mine.cells))
    np.testing.assert_array_equal(after, before ^ np.bitwise_xor.reduce(given, axis=1))


def test_an_approximation_is_held_to_its_bound() -> None:
    match = lookup("rcp.approx.f32")[0]
    operands = np.array([3.0, 7.0, 0.0], np.float32)
    with np.errstate(divide="ignore"):
        exact = (1 / operands).view(np.uint32).astype(np.uint64)
    given = [operands.view(np.uint32).astype(np.uint64)]
    assert not measure(match, given, exact, exact).wrong.any()
    near = exact + np.uint64([1, 2, 0])
    found = measure(match, given, near, exact)  # an ulp is allowed, from the value itself
    thirds, sevenths = (abs(int(bits) - exact_bits) for bits, exact_bits in zip(near, (_position(1 / 3), _position(1 / 7))))
    np.testing.assert_allclose(found.errors[:2], [thirds, sevenths], rtol=1e-6)
    assert found.wrong.tolist() == [thirds > 1, sevenths > 1, False]
    finite = near.copy()
    finite[2] = 0x7F7FFFFF
    assert measure(match, given, finite, exact).wrong[2]


def _position(value: float) -> float:
    """Where a value lies among the patterns of f32."""
    low = np.array(value).astype(np.float32)
    bits = int(low.view(np.uint32))
    spacing = float(np.spacing(low))
    return bits + (value - float(low)) / spacing


def _command(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.differential", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": "."})


@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked")
def test_the_command_writes_a_report(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    done = _command("--no-gpu", "--family", "logic", "--opcode", "sh", "--count", "100", "--seed", "3", "--out", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(out.read_text())
    assert report["compared"] == ["emulator"] and report["seed"] == 3 and report["values a statement"] == 256
    assert report["families"]["logic"]["statements"] >= 20 and report["families"]["logic"]["failed"] == 0
    assert report["machine"]["packages"]["numpy"] and report["unexplained differences"] == 0
    assert any(form.startswith("shf.dir.mode.b32") for form in report["forms"]["logic"])


@pytest.mark.gpu
@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked")
def test_the_gpu_gives_the_same_bits() -> None:
    done = _command("--sample", "200", "--count", "256")
    assert done.returncode == 0, done.stdout + done.stderr
