"""The benchmarks: what they count, compare and print. Nothing here is timed against a limit."""

import copy
import json
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

import benchmarks.__main__ as command_line
from benchmarks import baseline, figures, forward, gradient, limits, report, suite, targets, timing
from benchmarks.operations import Operations, count_operations

DOCS = Path(__file__).parents[2] / "docs"
KEYS = {
    "forward_1x64_float64_us",
    "forward_1x256_float64_us",
    "forward_128x64_float64_us",
    "forward_512x64_float32_us",
    "two_device_speedup",
    "gradient_over_forward",
    "gradient_temporary_bytes",
    "gradient_compile_seconds",
    "jacobian10_over_forward",
    "gradient_128x64_float64_us",
}
TINY = forward.Shape(2, 4)


@pytest.fixture(scope="module")
def stored() -> dict:
    """The report that the docs show."""
    return baseline.read_report(baseline.BASELINE)


def test_the_figures_are_those_with_targets(stored):
    assert set(targets.FIGURES) == KEYS
    assert set(stored["figures"]) == KEYS
    assert {figure.ceiling for figure in targets.FIGURES.values()} - {None} <= set(stored["ceilings"])


def test_quick_figures_are_one_flat_object(stored, monkeypatch, tmp_path, capsys):
    measured = {key: stored[key] for key in ("ceilings", "figures")}
    monkeypatch.setattr(suite, "measure_quick", lambda cores: copy.deepcopy(measured))
    monkeypatch.setattr(command_line, "pin_to_one_core", lambda: (0,))
    monkeypatch.setattr(command_line, "configure", lambda **_: None)
    command_line.main(["--quick", "--json", str(tmp_path / "figures.json")])
    written = json.loads((tmp_path / "figures.json").read_text())
    assert set(written) == KEYS
    assert all(isinstance(value, float | int) for value in written.values())
    assert "Nothing became worse" in capsys.readouterr().out


def test_a_quick_run_is_no_baseline():
    with pytest.raises(SystemExit):
        command_line.parse(["--quick", "--update-baseline"])


def changed(stored: dict, **factors: float) -> dict:
    """The report with some figures and ceilings multiplied."""
    other = copy.deepcopy(stored)
    for name, factor in factors.items():
        kind = "figures" if name in other["figures"] else "ceilings"
        other[kind][name] *= factor
    return other


def test_only_what_became_worse_is_flagged(stored):
    now = changed(stored, forward_1x64_float64_us=1.4, gradient_temporary_bytes=0.5, two_device_speedup=0.6)
    worse = {change.name for change in baseline.compare(now, stored) if change.is_worse}
    assert worse == {"forward_1x64_float64_us", "two_device_speedup"}
    assert not any(change.is_worse for change in baseline.compare(stored, stored))
    shown = report.text({"about": stored["about"], **now}, baseline.compare(now, stored))
    assert shown.count("SLOWER") == 2
    assert "WORSE than 1.3x the baseline: forward_1x64_float64_us (1.40x)" in shown


def test_a_slower_machine_is_not_slower_code(stored):
    names = [name for name, figure in targets.FIGURES.items() if figure.ceiling is not None]
    slower = changed(stored, **dict.fromkeys(names, 2.0))
    assert {c.name for c in baseline.compare(slower, stored) if c.is_worse} == set(names)
    ceilings = {figure.ceiling for figure in targets.FIGURES.values() if figure.ceiling is not None}
    slower = changed(slower, **dict.fromkeys(ceilings, 2.0))
    assert not any(change.is_worse for change in baseline.compare(slower, stored))


def test_a_figure_that_was_not_measured_is_not_compared(stored):
    now = copy.deepcopy(stored)
    now["figures"]["two_device_speedup"] = None
    assert "two_device_speedup" not in {change.name for change in baseline.compare(now, stored)}
    assert report.MISSING in report.targets_table(now["figures"])


def test_reports_that_cannot_be_read_say_what_to_do(tmp_path):
    with pytest.raises(FileNotFoundError, match="python -m benchmarks --json"):
        baseline.read_report(tmp_path / "none.json")
    baseline.write_json({"forward_1x64_float64_us": 1.0}, tmp_path / "flat.json")
    with pytest.raises(ValueError, match="without --quick"):
        baseline.read_report(tmp_path / "flat.json")


def test_the_docs_show_the_stored_report(stored):
    tables = (DOCS / "figures" / "performance_tables.md").read_text()
    assert tables == report.markdown(stored), "run: python -m benchmarks --figures docs/figures"
    wanted = re.findall(r":start-after: (<!-- begin \w+ -->)", (DOCS / "performance.md").read_text())
    assert wanted == [marker for marker in wanted if tables.count(marker) == 1]
    assert len(wanted) == len(set(re.findall(r"<!-- begin \w+ -->", tables)))


def test_figures_are_drawn_for_the_docs(stored, tmp_path):
    names = {path.name for path in figures.write_figures(stored, tmp_path)}
    assert names == set(re.findall(r"\(figures/(\w+\.png)\)", (DOCS / "performance.md").read_text()))
    assert all((DOCS / "figures" / name).is_file() for name in names)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        ("7 to 10", "7 to 10"),
        (3.14159, "3.14"),
        (158.04, "158.0"),
        (12345.6, "12 346"),
        (7, "7"),
    ],
)
def test_numbers_are_short(value, shown):
    assert report.number(value) == shown


def test_growth_is_the_power_of_the_steps():
    rows = [{"layout": "root", "n_steps": n, "temporary_bytes": 7.0 * n**0.5} for n in (100, 1000, 10000)]
    assert report.growth(rows, "root") == pytest.approx(0.5)


def test_operations_are_counted_through_loops():
    def program(x):
        def over_levels(carry, value):
            carry = 1.0 / (value + carry)
            return carry, carry

        def over_steps(carry, _):
            return jax.lax.scan(over_levels, 0.0 * carry[0], jnp.sqrt(carry))[1] / 3.0, None

        return jax.lax.scan(over_steps, x, length=10)[0]

    expected = Operations(
        divisions=50, roots=50, simple=50 + 10 + 50, dividing_links=50, linked_divisions=50, linked_simple=50
    )
    assert count_operations(program, jnp.ones(5)) == expected


def test_the_least_time_is_chains_and_arithmetic():
    costs = {"dividing_link": 5.0, "plain_link": 2.0, "division": 1.0, "root": 2.0, "simple": 0.05}
    ideal = 9 * 1.0 + 2 * 2.0
    ceilings = {f"{name}_float64_ns": cost for name, cost in (costs | {"fused": 2.0 * ideal}).items()}
    ceilings["copy_cache_GB_per_s"] = 1.0
    operations = Operations(
        divisions=200, roots=50, simple=100, dividing_links=10, plain_links=10, linked_divisions=100
    )
    single = limits.Need(operations, 8.0, True, "float64")
    # The fused loop reaches half of the speed of its parts.
    assert limits.least_us(single, ceilings) == pytest.approx((10 * 5 + 10 * 2 + 2 * (100 + 50 * 2)) / 1e3)
    batch = single._replace(single=False)
    assert limits.least_us(batch, ceilings) == pytest.approx(2 * (200 + 50 * 2) / 1e3)
    assert limits.least_us(batch.scaled(3.0), ceilings) == pytest.approx(3 * limits.least_us(batch, ceilings))
    assert limits.least_us(batch._replace(bytes=5000.0), ceilings) == pytest.approx(5.0)


def test_calls_take_turns():
    order = []
    calls = {name: lambda name=name: order.append(name) or jnp.zeros(()) for name in "ab"}
    timings = timing.time_in_turn(calls, rounds=3)
    assert order == ["a", "b"] * 4  # one round that does not count
    assert all(0.0 <= taken.minimum <= taken.median for taken in timings.values())


def test_forward_and_gradient_of_a_tiny_batch():
    (run,) = forward.measure_forward([TINY], rounds=2)
    (row,) = gradient.measure_gradient({"SaveSegments": gradient.LAYOUTS["SaveSegments"]}, TINY, rounds=2)
    assert (run["n_columns"], run["n_levels"], run["precision"]) == TINY
    for measured in (run, row):
        assert min(measured[key] for key in ("us", "compile_seconds", "temporary_bytes")) > 0.0
    assert run["temporary_bytes"] < row["temporary_bytes"]
