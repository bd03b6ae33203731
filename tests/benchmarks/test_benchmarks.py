"""The benchmarks: what they compare, print and draw, and that they end. Nothing is timed against a limit."""

import copy
import json
import math
import re
from pathlib import Path

import jax.numpy as jnp
import pytest

import benchmarks.__main__ as command_line
from benchmarks import calibration, forward, gpu, gradient, harness, history, report
from benchmarks.column import Shape
from benchmarks.gpu import Job
from benchmarks.harness import Setting, Worker, WorkerError
from tests.errors import error_naming

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TINY = Shape(2, 4)


@pytest.fixture(scope="module")
def stored() -> dict:
    """The report that the docs show."""
    return report.read_report(report.BASELINE)


@pytest.fixture
def pretend(monkeypatch):
    """Runs of the command line that measure nothing."""

    def main(measured: dict, *arguments: str) -> None:
        monkeypatch.setattr(command_line, "measure", lambda *_: copy.deepcopy(measured))
        monkeypatch.setattr(command_line, "pin_to_one_core", lambda: (0,))
        command_line.main(arguments)

    return main


def changed(stored: dict, **factors: float) -> dict:
    """The report with some figures and ceilings multiplied."""
    other = copy.deepcopy(stored)
    for name, factor in factors.items():
        if name in report.FIGURES:
            report.row_of(other, report.FIGURES[name])[report.FIGURES[name].key] *= factor
        else:
            other["ceilings"][name] *= factor
    return other


def worse(report_now: dict, before: dict) -> set[str]:
    factors = report.worsened(report_now, before)
    return {name for name, factor in factors.items() if factor > report.TOLERANCE}


def test_baseline_holds_every_figure_and_ceiling(stored):
    assert all(value is not None for value in report.figures_of(stored).values())
    assert {figure.ceiling for figure in report.FIGURES.values()} - {None} <= set(stored["ceilings"])
    assert set(report.DEFAULT) <= set(stored["tables"]) <= set(report.TABLES)
    assert {figure.table for figure in report.FIGURES.values()} == set(command_line.QUICK)


def test_quick_figures_are_one_flat_object(stored, pretend, tmp_path, capsys):
    pretend(stored, "--quick", "--json", str(tmp_path / "figures.json"))
    written = json.loads((tmp_path / "figures.json").read_text())
    assert written == report.figures_of(stored)
    assert "Nothing became worse" in capsys.readouterr().out


def test_some_tables_of_the_baseline_can_be_measured_again(stored, pretend, tmp_path, monkeypatch):
    baseline = tmp_path / "baseline.json"
    monkeypatch.setattr(report, "BASELINE", baseline)
    report.write_json(stored, baseline)
    rows = [{"run": "one column, one core", "seconds": 0.13}]
    measured = {"ceilings": stored["ceilings"], "tables": {"papa": rows}}
    pretend(measured, "--only", "papa", "--update-baseline", "--json", str(tmp_path / "papa.json"))
    assert json.loads((tmp_path / "papa.json").read_text())["tables"] == {"papa": rows}
    assert report.read_report(baseline)["tables"] == stored["tables"] | {"papa": rows}


def test_a_quick_run_is_no_baseline():
    with pytest.raises(SystemExit):
        command_line.parse(["--quick", "--update-baseline"])


def test_only_what_became_worse_is_flagged(stored):
    now = changed(stored, forward_1x64_float64_us=1.4, gradient_temporary_bytes=0.5, two_device_speedup=0.6)
    assert worse(now, stored) == {"forward_1x64_float64_us", "two_device_speedup"}
    assert not worse(stored, stored)
    text = report.text(now, report.worsened(now, stored))
    assert text.count("x WORSE") == 2
    assert "WORSE than 1.3x the baseline: forward_1x64_float64_us (1.40x)" in text


def test_a_slower_machine_is_not_slower_code(stored):
    names = [name for name, figure in report.FIGURES.items() if figure.ceiling is not None]
    slower = changed(stored, **dict.fromkeys(names, 2.0))
    assert worse(slower, stored) == set(names)
    ceilings = {figure.ceiling for figure in report.FIGURES.values() if figure.ceiling is not None}
    assert not worse(changed(slower, **dict.fromkeys(ceilings, 2.0)), stored)


def test_a_figure_that_was_not_measured_is_not_compared(stored):
    now = copy.deepcopy(stored)
    del now["tables"]["devices"]
    assert "two_device_speedup" not in report.worsened(now, stored)
    assert report.MISSING in report.figures_table(now, {})


def test_reports_that_cannot_be_read_say_what_to_do(tmp_path):
    with error_naming(FileNotFoundError, "none.json --json"):
        report.read_report(tmp_path / "none.json")
    report.write_json({"forward_1x64_float64_us": 1.0}, tmp_path / "flat.json")
    with error_naming(ValueError, "flat.json about ceilings tables"):
        report.read_report(tmp_path / "flat.json")


def test_the_docs_show_the_stored_report(stored):
    tables = (DOCS / "figures" / "performance_tables.md").read_text()
    assert tables == report.markdown(stored), "run: python -m benchmarks --figures docs/figures"
    wanted = re.findall(r"<!-- measured (\w+) -->", (DOCS / "performance.md").read_text())
    assert sorted(wanted) == sorted(re.findall(r"<!-- begin (\w+) -->", tables))


def test_figures_are_drawn_for_the_docs(stored, tmp_path):
    names = {path.name for path in report.draw(stored, tmp_path) if path.suffix == ".png"}
    assert names == set(re.findall(r"\(figures/(\w+\.png)\)", (DOCS / "performance.md").read_text()))
    assert all((DOCS / "figures" / name).is_file() for name in names)


def test_commands_that_stand_somewhere_exist():
    pages = [ROOT / "Makefile", *DOCS.rglob("*.md"), *(ROOT / "tunax_lite").rglob("*.py")]
    named = {
        name
        for page in pages
        for names in re.findall(r"python -m benchmarks --only ([a-z0-9 ]+)", page.read_text(encoding="utf-8"))
        for name in names.split()
    }
    assert named and named <= set(report.TABLES)


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("us", None, "–"),
        ("us", 3.14159, "3.14"),
        ("n_steps", 2880, "2880"),
        ("column_steps_per_second", 2.5e7, "2.5e+07"),
        ("seconds_per_step", 0.00123, "0.0012"),
        ("temporary_bytes", 444096, "444 kB"),
        ("over_forward", 4.588, "4.59x"),
        ("failed", "took too long\nand said this", "took too long"),
    ],
)
def test_entries_are_short(key, value, shown):
    assert report.shown(key, value) == shown


def test_headings_follow_from_keys():
    assert [report.heading(key) for key in ("n_levels", "compile_seconds", "temporary_bytes", "us")] == [
        "levels",
        "compile s",
        "temporary",
        "us",
    ]


def test_growth_is_the_power_of_the_steps():
    rows = [{"n_steps": n, "root_bytes": 7.0 * n**0.5} for n in (100, 1000, 10000)]
    assert gradient.growth(rows, "root_bytes") == pytest.approx(0.5)


def test_calls_take_turns():
    order = []
    calls = {name: lambda name=name: order.append(name) or jnp.zeros(()) for name in "ab"}
    seconds = harness.time_in_turn(calls, rounds=3)
    assert order == ["a", "b"] * 4  # one round that does not count
    assert all(taken >= 0.0 for taken in seconds.values())


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


def test_worker_says_why_it_ended():
    worker = Worker("benchmarks.forward:batch_runs", shape=Shape(2, 4, "float16"), n_steps=8)
    try:
        with error_naming(WorkerError, "float16"):
            worker.ask()
    finally:
        worker.stop()


def test_worker_that_hangs_is_given_up():
    worker = Worker("benchmarks.forward:batch_runs", shape=TINY, n_steps=8)
    try:
        with error_naming(WorkerError, "long"):
            worker.ask(seconds=0.0)
    finally:
        worker.stop()


@pytest.mark.slow
@pytest.mark.long
def test_two_devices_are_measured_against_one():
    rows = forward.split_runs(Shape(4, 8), (0, 0), n_steps=8, rounds=2)
    by_way = {row["way"]: row for row in rows}
    assert list(by_way) == ["one core", "one device, two cores", "two devices"]
    for row in rows:
        assert row["over_one_core"] == pytest.approx(by_way["one core"]["us"] / row["us"])


def test_one_processor_has_no_second_to_measure():
    assert forward.measure_devices(Setting(True, (0,))) == []


def test_gpu_plan_covers_everything_once_and_begins_with_one_column_and_many():
    jobs = gpu.plan(quick=False)
    assert len(jobs) == len(set(jobs)) == len(gpu.METHODS) * len(gpu.COLUMNS) * 4
    assert {1, 1_000_000} <= {job.n_columns for job in jobs}
    first = dict.fromkeys((job.n_columns, job.precision, job.kind) for job in jobs)
    assert list(first)[:2] == [(1, "float32", "forward"), (100_000, "float32", "forward")]


def test_gpu_table_has_the_fastest_of_each_size_that_worked_first(monkeypatch):
    job = Job("forward", "float32", 1, "VendorLibrary")._asdict()
    rows = [job | {"failed": "took too long"}]
    rows += [
        job | {"method": name, "n_columns": n, "seconds_per_step": speed / n}
        for n in (32, 1)
        for name, speed in (("ThomasScan", 1.0), ("VendorLibrary", 2.0))
    ]
    monkeypatch.setattr(gpu, "measure", lambda *_: rows)
    found = [
        (row["n_columns"], row["method"], "failed" in row) for row in gpu.measure_gpu(Setting(False, ()))
    ]
    assert found == [
        (1, "ThomasScan", False),
        (1, "VendorLibrary", False),
        (1, "VendorLibrary", True),
        (32, "ThomasScan", False),
        (32, "VendorLibrary", False),
    ]


def test_gpu_without_time_gives_no_rows():
    assert gpu.measure(gpu.plan(quick=True), "cpu", seconds=0.0) == []


def test_gpu_that_is_missing_is_said():
    with error_naming(WorkerError, "tpu"):
        gpu.measure(gpu.plan(quick=True), "tpu", seconds=120.0)


@pytest.mark.slow
@pytest.mark.long
def test_gpu_table_in_small_on_a_cpu():
    rows = gpu.measure(gpu.plan(quick=True), "cpu", seconds=300.0)
    assert len(rows) == len(gpu.plan(quick=True))
    assert not [row["failed"] for row in rows if "failed" in row]
    assert {row["kind"] for row in rows} == {"forward", "gradient"}
    # The second method is compared with the first, in float32.
    assert 0.0 < rows[1]["difference"] < 1e-5
    assert "ParallelCyclicReduction" in report.drawn(rows)


def test_the_history_grows_by_a_line(stored, tmp_path, monkeypatch):
    monkeypatch.setattr(history, "FILE", tmp_path / "history.csv")
    for name in ("TUNAX_LITE_GOTM", "TUNAX_LITE_TUNAX"):
        monkeypatch.delenv(name, raising=False)
    assert len(history.append(stored).splitlines()) == 3
    monkeypatch.setattr(history, "_gotm", lambda: 30.0)
    *_, before, last = history.append(stored).splitlines()
    column = report.figures_of(stored)["forward_1x64_float64_us"] or math.nan
    assert before.split("|")[-3].strip() == "" and last.split("|")[-3].strip() == f"{30.0 / column:.3g}"
