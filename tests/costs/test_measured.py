"""Costs against what Nsight Compute counted on an H200 (benchmarks/costs.py)."""

import json
from pathlib import Path

from benchmarks.costs import COUNTED, predicted
from benchmarks.costs_cases import CASES

FIGURES = json.loads((Path(__file__).parents[2] / "benchmarks" / "results" / "h200" / "costs.json").read_text(encoding="utf-8"))


def test_the_figures_are_of_the_counters_that_the_report_names():
    assert {name: tuple(counters) for name, counters in FIGURES["counters"].items()} == COUNTED
    assert FIGURES["machine"]["gpu"] == "NVIDIA H200"
    assert len(FIGURES["kernels"]) == FIGURES["equal"] > 100


def test_every_count_is_the_counter_s():
    """Of every third kernel: they stand in families, which differ in one number."""
    for name, figures in list(FIGURES["kernels"].items())[::3]:
        counts = predicted(CASES[name].costs())
        assert {what: counts.get(what) for what in figures["counts"]} == {
            what: one["measured"] for what, one in figures["counts"].items()
        }, name
