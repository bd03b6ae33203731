"""The benchmarks: what they compare, print and draw, and that they end. Nothing is timed against a limit."""

import copy
import re
from pathlib import Path

import pytest

import benchmarks.__main__ as command_line
from benchmarks import forward, gradient, report
from benchmarks.column import Shape
from benchmarks.harness import Setting

DOCS = Path(__file__).parents[2] / "docs"
TINY = Shape(2, 4)
STORED: dict = report.read_report(report.BASELINE)


def changed(before: dict, **factors: float) -> dict:
    """The report with some figures and ceilings multiplied."""
    other = copy.deepcopy(before)
    for name, factor in factors.items():
        if name in report.FIGURES:
            report.row_of(other, report.FIGURES[name])[report.FIGURES[name].key] *= factor
        else:
            other["ceilings"][name] *= factor
    return other


def worse(report_now: dict, before: dict) -> set[str]:
    factors = report.worsened(report_now, before)
    return {name for name, factor in factors.items() if factor > report.TOLERANCE}


def test_baseline_holds_every_figure_and_ceiling():
    assert all(value is not None for value in report.figures_of(STORED).values())
    assert {figure.ceiling for figure in report.FIGURES.values()} - {None} <= set(STORED["ceilings"])
    assert set(report.DEFAULT) <= set(STORED["tables"]) <= set(report.TABLES)
    assert {figure.table for figure in report.FIGURES.values()} == set(command_line.QUICK)


def test_only_what_became_worse_is_flagged():
    now = changed(STORED, forward_1x64_float64_us=1.4, gradient_temporary_bytes=0.5, two_device_speedup=0.6)
    assert worse(now, STORED) == {"forward_1x64_float64_us", "two_device_speedup"}
    assert not worse(STORED, STORED)
    text = report.text(now, report.worsened(now, STORED))
    assert "WORSE than 1.3x the baseline: forward_1x64_float64_us (1.40x)" in text
    # A slower machine is not slower code.
    ceilings = {name: one.ceiling for name, one in report.FIGURES.items() if one.ceiling is not None}
    slower = changed(STORED, **dict.fromkeys(ceilings, 2.0))
    assert worse(slower, STORED) == set(ceilings)
    assert not worse(changed(slower, **dict.fromkeys(ceilings.values(), 2.0)), STORED)


def test_the_docs_show_the_stored_report():
    wanted = re.findall(r"<!-- measured (\w+) -->", (DOCS / "performance.md").read_text())
    assert wanted and set(wanted) <= report.sections(STORED).keys()


@pytest.mark.long
def test_figures_are_drawn_for_the_docs(tmp_path):
    names = {path.name for path in report.draw(STORED, tmp_path) if path.suffix == ".png"}
    assert names == set(re.findall(r"\(figures/(\w+\.png)\)", (DOCS / "performance.md").read_text()))


@pytest.mark.long
def test_forward_and_gradient_of_a_tiny_batch(monkeypatch):
    monkeypatch.setattr(forward, "COMPARED", (TINY,))
    (run,) = forward.measure_forward(Setting(True, ()))
    (row,) = gradient.gradients(["SaveSegments"], TINY, rounds=2)
    assert (run["n_columns"], run["n_levels"], run["precision"]) == TINY
    for measured in (run, row):
        assert min(measured[key] for key in ("us", "compile_seconds", "temporary_bytes")) > 0.0
    assert run["temporary_bytes"] < row["temporary_bytes"]
