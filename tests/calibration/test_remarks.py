"""What is said of a calibration: signs, units, numbers of iterations, bounds; numbers are made by hand."""

import dataclasses
import re

import jax.numpy as jnp
import numpy as np
import pytest
import yaml

from tests.calibration.twins import make_case
from tests.cli.running import invoked
from tunax_lite.calibration import (
    CalibrationResult,
    FreeParameter,
    FreeParameters,
    History,
    LogNormal,
    Normal,
    remarks,
    remarks_in_short,
    write_results,
)
from tunax_lite.calibration.parameters import in_short, units_in_short
from tunax_lite.calibration.posterior import Bands
from tunax_lite.calibration.results import NEAR_A_BOUND
from tunax_lite.closures import KEpsilon
from tunax_lite.column.corrections import CorrectedForcing
from tunax_lite.column.observations import Observations
from tunax_lite.plotting.calibration import plot_bands
from tunax_lite.report import parameter_rows, read_run_folder, render

BIAS = "cases.papa.forcing.heat_flux_bias"


@dataclasses.dataclass(frozen=True)
class Given:
    """A parameter with its value at the start and at the best iteration."""

    parameter: FreeParameter
    start: float
    best: float


def result_of(*given: Given, variables=("temperature",), knots=None) -> CalibrationResult:
    """Three iterations, of which the second is the best, as if a calibration had found them."""
    case = dataclasses.replace(make_case(0.1, -50.0), name="papa")
    corrected = CorrectedForcing.neutral(case.forcing, ["heat_flux_bias"], time=knots)
    case = dataclasses.replace(case, forcing=corrected)
    free = FreeParameters(tuple(each.parameter for each in given)).resolve(KEpsilon(), {"papa": case})
    start, best = np.array([each.start for each in given]), np.array([each.best for each in given])
    empty = History.empty(3, len(given), 1, len(variables))
    history = dataclasses.replace(
        empty,
        loss=np.array([3.0, 1.0, 2.0]),
        is_finite=np.full(3, True),
        of_all_cases=np.full(3, True),
        values=np.stack([start, best, start]),
        errors=np.broadcast_to(np.array([0.75, 0.25, 0.5])[:, None, None], (3, 1, len(variables))),
    )
    return CalibrationResult.from_history(
        KEpsilon(), {"papa": case}, free, history, variables, "made by hand"
    )


def bias(*values: float) -> list[Given]:
    prior = Normal(0.0, 20.0)
    return [
        Given(FreeParameter(f"{BIAS}[{place}]", prior=prior), 0.0, value)
        for place, value in enumerate(values)
    ]


def test_a_negative_bias_is_negative_in_every_file(tmp_path):
    for values, expected in (
        ({"a": -2.5, "bias[0]": -37.3}, {"a": "-2.5", "bias[0]": "-37.3"}),
        # The root of the mean square of these is 43.6, of either sign.
        ({"bias[0]": -50.0, "bias[1]": -36.2}, {"bias (2 numbers)": "-50 to -36.2"}),
        ({"zero[0]": -0.0}, {"zero[0]": "0"}),
    ):
        assert in_short(values) == expected
        assert units_in_short(dict.fromkeys(values, "W m-2")) == dict.fromkeys(expected, "W m-2")
    values = -37.3, -12.5
    write_results(result_of(*bias(*values), knots=[0.0, 3600.0]), tmp_path)
    run = read_run_folder(tmp_path)
    written = run.parameters["parameters"][BIAS]
    assert written["value"] == list(values) and written["start"] == [0.0, 0.0]
    (row,) = parameter_rows(run)
    assert str(row["label"]).startswith(BIAS) and row["unit"] == "W m-2"
    page = render(run)
    assert ">-37.3 to -12.5<" in page and ">37.3<" not in page


def test_iterations_have_the_same_number_everywhere(tmp_path):
    names = ("sea_surface_temperature", "heat_content_above_100m")
    result = result_of(Given(FreeParameter("c_eps_1", 1.2, 1.7), 1.44, 1.5), variables=names)
    write_results(result, tmp_path)
    run = read_run_folder(tmp_path)
    # Of three evaluations the second is the best; the terminal counts from 1, too.
    assert run.parameters["calibration"]["best_iteration"] == 2
    assert run.history.attrs["best_iteration"] == 2
    assert run.history["loss"].sel(iteration=2) == 1.0
    assert [run.history[f"{name}_error"].attrs["units"] for name in names] == ["K", "J m-2"]
    page = render(run)
    assert "best: 2<" in page
    (row, *_) = re.findall(r"<tr><td>papa</td>.*?</tr>", page, re.DOTALL)
    # At the start, at the best, and their ratio.
    assert re.findall(r"<td[^>]*>(.*?)</td>", row)[2:] == ["0.75", "0.25", "K", "0.333"]


def test_numbers_of_a_vector_lie_between_the_bounds_of_all(tmp_path):
    lower, upper = FreeParameter(f"{BIAS}[0]", -5.0, 10.0), FreeParameter(f"{BIAS}[1]", -40.0, 5.0)
    result = result_of(Given(lower, 0.0, 1.0), Given(upper, 0.0, -30.0), knots=[0.0, 3600.0])
    write_results(result, tmp_path)
    run = read_run_folder(tmp_path)
    entry, variable = run.parameters["parameters"][BIAS], run.history["cases_papa_forcing_heat_flux_bias"]
    assert (entry["lower"], entry["upper"]) == (-40.0, 10.0)
    assert (variable.attrs["valid_min"], variable.attrs["valid_max"]) == (-40.0, 10.0)


def at(parameter: FreeParameter, start: float, best: float) -> str:
    return remarks(result_of(Given(parameter, start, best))).get(parameter.path, "")


def test_parameters_on_a_bound_and_still_ones_are_named(tmp_path):
    linear = FreeParameter("c_eps_1", 1.2, 1.7)
    log = FreeParameter("surface_roughness_length", 1e-4, 1.0, 0.1, "log")
    assert at(linear, 1.44, 1.2 + 0.5 * 0.9 * NEAR_A_BOUND) == "on its lower bound, 1.2"
    assert at(linear, 1.44, 1.7 - 0.5 * 0.9 * NEAR_A_BOUND) == "on its upper bound, 1.7"
    assert at(linear, 1.44, 1.2 + 0.5 * 1.1 * NEAR_A_BOUND) == ""
    # 2 % of four orders of magnitude is a factor of 10**0.08 = 1.2.
    assert at(log, 0.1, 1.1e-4) == "on its lower bound, 0.0001" and at(log, 0.1, 1.3e-4) == ""
    assert at(linear, 1.44, 1.44) == "did not move" and at(linear, 1.44, 1.45) == ""
    # In the logarithm, 0 is infinitely far away however small the value.
    small = FreeParameter("convective_flux_factor", prior=LogNormal(0.02, 1.0))
    assert at(small, 0.02, 1e-9) == ""
    normal = FreeParameter(f"{BIAS}[0]", prior=Normal(0.0, 20.0))
    assert at(normal, 0.0, 0.01) == "did not move" and at(normal, 0.0, -37.3) == ""
    found = {"w[0]": "did not move", "w[1]": "on its lower bound, 0", "a": "did not move"}
    assert remarks_in_short(found, dict.fromkeys(("a", "b", "w[0]", "w[1]", "w[2]"), 0.0)) == {
        "a": "did not move",
        "w (3 numbers)": "1 of 3 on a bound, 1 of 3 did not move",
    }
    write_results(result_of(Given(linear, 1.44, 1.2001), *bias(0.0)), tmp_path)
    run = read_run_folder(tmp_path)
    remarked = [run.parameters["parameters"][name]["remark"] for name in ("c_eps_1", BIAS)]
    assert remarked == ["on its lower bound, 1.2", "did not move"]
    assert ">on its lower bound, 1.2<" in render(run)


def test_bands_promise_what_they_draw():
    quantiles = np.array([0.05, 0.5, 0.95])
    profiles = {"temperature": np.broadcast_to(quantiles[:, None, None], (3, 2, 2))}
    series = {"sea_surface_temperature": np.broadcast_to(quantiles[:, None], (3, 2))}
    time, z = np.array([0.0, 3600.0]), np.array([-15.0, -5.0])
    band = Bands("papa", (0.05, 0.5, 0.95), time, z, profiles, series, 8, 0)
    missing, number = {"temperature": jnp.full((2, 2), jnp.nan)}, jnp.array([4.0, jnp.nan])
    for observations, expected in (
        (None, None),
        ([Observations(jnp.asarray(time), jnp.asarray(z), missing)], None),
        ([Observations(jnp.asarray(time), series={"sea_surface_temperature": number})], [4.0]),
    ):
        figure = plot_bands([band], observations)
        dotted = [line for panel in figure.axes for line in panel.lines if line.get_linestyle() == ":"]
        assert [list(np.asarray(line.get_ydata())) for line in dotted] == ([expected] if expected else [])
        assert ("observed" in figure.get_suptitle()) == bool(expected)


@pytest.mark.parametrize("place", ["closure", "option"])
def test_a_report_imports_what_results_name_only_if_they_are_trusted(tmp_path, monkeypatch, place):
    monkeypatch.syspath_prepend(tmp_path)
    name = f"planted_in_{place}"
    (tmp_path / f"{name}.py").write_text(
        "import pathlib\n"
        f"pathlib.Path({str(tmp_path / 'ran')!r}).touch()\n"
        "from tunax_lite.closures import KEpsilon as Mine\n"
    )
    closure = {"name": f"{name}:Mine"}
    if place == "option":
        closure = {"name": "mass_flux", "options": {"local": closure}}
    config = yaml.safe_dump({"model": {"closure": closure}})
    result = result_of(Given(FreeParameter("c_eps_1", 1.2, 1.7), 1.44, 1.5))
    write_results(result, tmp_path / "out", {"tunax_lite_config": config})
    said = invoked("report", tmp_path / "out").output
    assert not (tmp_path / "ran").exists()
    assert ("--trust" in said) == (place == "closure")
    invoked("report", tmp_path / "out", "--trust")
    assert (tmp_path / "ran").exists()
