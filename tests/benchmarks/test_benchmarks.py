"""The benchmarks: what they compare, print and draw, and that they end. Nothing is timed against a limit."""

import copy
import json
import re
from pathlib import Path

import pytest

import benchmarks.__main__ as command_line
from benchmarks import calibration, forward, gpu, gradient, report
from benchmarks.column import Shape
from benchmarks.harness import Setting, Worker, WorkerError
from tests.errors import error_naming

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TINY = Shape(2, 4)


STORED: dict = report.read_report(report.BASELINE)
"""The report that the docs show."""


@pytest.fixture
def pretend(monkeypatch):
    """Runs of the command line that measure nothing."""

    def main(measured: dict, *arguments: str) -> None:
        monkeypatch.setattr(command_line, "measure", lambda *_: copy.deepcopy(measured))
        monkeypatch.setattr(command_line, "pin_to_one_core", lambda: (0,))
        command_line.main(arguments)

    return main


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


def test_figures_are_one_flat_object_and_some_tables_can_be_measured_again(
    pretend, tmp_path, monkeypatch, capsys
):
    figures, baseline = tmp_path / "figures.json", tmp_path / "baseline.json"
    pretend(STORED, "--quick", "--json", str(figures))
    assert json.loads(figures.read_text()) == report.figures_of(STORED)
    assert "Nothing became worse" in capsys.readouterr().out
    monkeypatch.setattr(report, "BASELINE", baseline)
    report.write_json(STORED, baseline)
    rows = [{"run": "one column, one core", "seconds": 0.13}]
    measured = {"ceilings": STORED["ceilings"], "tables": {"papa": rows}}
    pretend(measured, "--only", "papa", "--update-baseline", "--json", str(figures))
    assert json.loads(figures.read_text())["tables"] == {"papa": rows}
    assert report.read_report(baseline)["tables"] == STORED["tables"] | {"papa": rows}
    with pytest.raises(SystemExit):  # a quick run is no baseline
        command_line.parse(["--quick", "--update-baseline"])


def test_only_what_became_worse_is_flagged():
    now = changed(STORED, forward_1x64_float64_us=1.4, gradient_temporary_bytes=0.5, two_device_speedup=0.6)
    assert worse(now, STORED) == {"forward_1x64_float64_us", "two_device_speedup"}
    assert not worse(STORED, STORED)
    text = report.text(now, report.worsened(now, STORED))
    assert text.count("x WORSE") == 2
    assert "WORSE than 1.3x the baseline: forward_1x64_float64_us (1.40x)" in text
    # A slower machine is not slower code.
    ceilings = {name: one.ceiling for name, one in report.FIGURES.items() if one.ceiling is not None}
    slower = changed(STORED, **dict.fromkeys(ceilings, 2.0))
    assert worse(slower, STORED) == set(ceilings)
    assert not worse(changed(slower, **dict.fromkeys(ceilings.values(), 2.0)), STORED)


def test_the_docs_show_the_stored_report():
    tables = (DOCS / "figures" / "performance_tables.md").read_text()
    assert tables == report.markdown(STORED), "run: python -m benchmarks --figures docs/figures"
    wanted = re.findall(r"<!-- measured (\w+) -->", (DOCS / "performance.md").read_text())
    assert sorted(wanted) == sorted(re.findall(r"<!-- begin (\w+) -->", tables))


@pytest.mark.long
def test_figures_are_drawn_for_the_docs(tmp_path):
    names = {path.name for path in report.draw(STORED, tmp_path) if path.suffix == ".png"}
    assert names == set(re.findall(r"\(figures/(\w+\.png)\)", (DOCS / "performance.md").read_text()))


def test_entries_are_short_and_growth_is_the_power_of_the_steps():
    for key, value, shown in (
        ("us", None, "–"),
        ("us", 3.14159, "3.14"),
        ("n_steps", 2880, "2880"),
        ("column_steps_per_second", 2.5e7, "2.5e+07"),
        ("temporary_bytes", 444096, "444 kB"),
        ("over_forward", 4.588, "4.59x"),
        ("failed", "took too long\nand said this", "took too long"),
    ):
        assert report.shown(key, value) == shown
    rows = [{"n_steps": n, "root_bytes": 7.0 * n**0.5} for n in (100, 1000, 10000)]
    assert gradient.growth(rows, "root_bytes") == pytest.approx(0.5)


@pytest.mark.long
def test_forward_and_gradient_of_a_tiny_batch(monkeypatch):
    monkeypatch.setattr(forward, "COMPARED", (TINY,))
    (run,) = forward.measure_forward(Setting(True, ()))
    (row,) = gradient.gradients(["SaveSegments"], TINY, rounds=2)
    assert (run["n_columns"], run["n_levels"], run["precision"]) == TINY
    for measured in (run, row):
        assert min(measured[key] for key in ("us", "compile_seconds", "temporary_bytes")) > 0.0
    assert run["temporary_bytes"] < row["temporary_bytes"]


def test_methods_of_calibration_are_counted_to_the_mark():
    row = {
        "method": "Levenberg-Marquardt",
        "losses": [3.0, 2.0, 2.5, 0.5, 0.4],
        "rejected": [False, False, True, False, False],
        "seconds": [5.0, 6.0, 6.5, 8.0, 9.0],
    }
    found = calibration.summary(row, 0.5)
    assert found["evaluations"] == "4 Jacobians, 5 runs"
    # The loss is known before the Jacobian of that iteration.
    assert found["to_the_mark"] == "2 Jacobians, 4 runs" and found["seconds_to_it"] == 8.0
    assert calibration.summary(row, 0.1)["to_the_mark"] == "not reached"


@pytest.mark.long
def test_worker_that_fails_or_hangs_says_why():
    for precision, seconds, said in (("float16", 60.0, "float16"), ("float64", 0.0, "long")):
        worker = Worker("benchmarks.forward:batch_runs", shape=Shape(2, 4, precision), n_steps=8)
        try:
            with error_naming(WorkerError, said):
                worker.ask(seconds=seconds)
        finally:
            worker.stop()


def test_gpu_plan_covers_everything_once_and_begins_with_one_column_and_many():
    jobs = gpu.plan(quick=False)
    assert len(jobs) == len(set(jobs)) == len(gpu.METHODS) * len(gpu.COLUMNS) * 4
    assert {1, 1_000_000} <= {job.n_columns for job in jobs}
    first = dict.fromkeys((job.n_columns, job.precision, job.kind) for job in jobs)
    assert list(first)[:2] == [(1, "float32", "forward"), (100_000, "float32", "forward")]


@pytest.mark.long
def test_gpu_table_in_small_on_a_cpu():
    assert gpu.measure(gpu.plan(quick=True), "cpu", seconds=0.0) == []
    rows = gpu.measure(gpu.plan(quick=True), "cpu", seconds=300.0)
    assert len(rows) == len(gpu.plan(quick=True))
    assert not [row["failed"] for row in rows if "failed" in row]
    assert {row["kind"] for row in rows} == {"forward", "gradient"}
    # The second method is compared with the first, in float32.
    assert 0.0 < rows[1]["difference"] < 1e-5
    assert "ParallelCyclicReduction" in report.drawn(rows)
