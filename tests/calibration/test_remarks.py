"""What is said of a calibration: signs, units, numbers of iterations, bounds; numbers are made by hand."""

import dataclasses
import re

import numpy as np

import tunax_lite as tl
from tests.calibration.twins import make_case
from tunax_lite import calibration as cal
from tunax_lite.calibration import FreeParameter, Normal, with_case_parameters, write_results
from tunax_lite.calibration.results import NEAR_A_BOUND
from tunax_lite.column.corrections import CorrectedForcing
from tunax_lite.report import parameter_entries, read_calibration_folder, render

BIAS = "cases.papa.forcing.heat_flux_bias"

Given = tuple[FreeParameter, float, float]  # with its value at the start and at the best iteration
GIVEN: Given = FreeParameter("c_eps_1", 1.2, 1.7), 1.44, 1.5


def result_of(*given: Given, variables=("temperature",), knots=None) -> cal.CalibrationResult:
    """Three iterations, of which the second is the best, as if a calibration had found them."""
    case = dataclasses.replace(make_case(0.1, -50.0), name="papa")
    corrected = CorrectedForcing.neutral(case.forcing, ["heat_flux_bias"], time=knots)
    cases = {"papa": dataclasses.replace(case, forcing=corrected)}
    parameters, start, best = zip(*given, strict=True)
    history = dataclasses.replace(
        cal.History.empty(3, len(given), 1, len(variables)),
        loss=np.array([3.0, 1.0, 2.0]),
        is_finite=np.full(3, True),
        values=np.array([start, best, start]),
        errors=np.broadcast_to(np.array([0.75, 0.25, 0.5])[:, None, None], (3, 1, len(variables))),
    )
    free = cal.FreeParameters(parameters).resolve(tl.KEpsilon(), cases)
    closure = cal.with_parameters(tl.KEpsilon(), free.by_path(best))
    cases = {"papa": with_case_parameters(cases["papa"], free.by_path(best))}
    return cal.CalibrationResult(closure, cases, free, history, variables, "made by hand")


def bias(*values: float) -> list[Given]:
    prior = Normal(0.0, 20.0)
    return [(FreeParameter(f"{BIAS}[{n}]", prior=prior), 0.0, value) for n, value in enumerate(values)]


def test_numbers_keep_their_signs(tmp_path):
    for values, expected in (
        ([-37.3], (f"{BIAS}[0]", "0", "-37.3", "W m-2", "")),
        # The root of the mean square of these is 43.6, of either sign.
        ([-50.0, -36.2], (f"{BIAS} (2 numbers)", "0 to 0", "-50 to -36.2", "W m-2", "")),
        ([-0.0], (f"{BIAS}[0]", "0", "0", "W m-2", "did not move")),
    ):
        assert cal.parameter_rows(result_of(*bias(*values), knots=[0.0, 3600.0])) == [expected]
    values = -37.3, -12.5
    write_results(result_of(*bias(*values), knots=[0.0, 3600.0]), tmp_path)
    run = read_calibration_folder(tmp_path)
    written = run.parameters["parameters"][BIAS]
    assert written["value"] == list(values) and written["start"] == [0.0, 0.0]
    (row,) = parameter_entries(run)
    assert str(row["label"]).startswith(BIAS) and row["unit"] == "W m-2"
    page = render(run)
    assert ">-37.3 to -12.5<" in page and ">37.3<" not in page


def test_errors_have_the_units_of_their_variables(tmp_path):
    names = ("sea_surface_temperature", "heat_content_above_100m")
    write_results(result_of(GIVEN, variables=names), tmp_path)
    history = read_calibration_folder(tmp_path).history
    assert [history[f"{name}_error"].attrs["units"] for name in names] == ["K", "J m-2"]


def test_iterations_have_the_same_number_everywhere(tmp_path):
    write_results(result_of(GIVEN), tmp_path)
    run = read_calibration_folder(tmp_path)
    # Of three evaluations the second is the best; the terminal counts from 1, too.
    assert run.parameters["calibration"]["best_iteration"] == 2
    assert run.history.attrs["best_iteration"] == 2
    assert run.history["loss"].sel(iteration=2) == 1.0
    page = render(run)
    assert "best: 2<" in page
    (row, *_) = re.findall(r"<tr><td>papa</td>.*?</tr>", page, re.DOTALL)
    assert re.findall(r"<td[^>]*>(.*?)</td>", row)[2:] == ["0.75", "0.25", "K", "0.333"]  # start, best, ratio


def test_numbers_of_a_vector_lie_between_the_bounds_of_all(tmp_path):
    lower, upper = FreeParameter(f"{BIAS}[0]", -5.0, 10.0), FreeParameter(f"{BIAS}[1]", -40.0, 5.0)
    result = result_of((lower, 0.0, 1.0), (upper, 0.0, -30.0), knots=[0.0, 3600.0])
    write_results(result, tmp_path)
    run = read_calibration_folder(tmp_path)
    entry, variable = run.parameters["parameters"][BIAS], run.history["cases_papa_forcing_heat_flux_bias"]
    assert (entry["lower"], entry["upper"]) == (-40.0, 10.0)
    assert (variable.attrs["valid_min"], variable.attrs["valid_max"]) == (-40.0, 10.0)


def test_parameters_on_a_bound_and_still_ones_are_named(tmp_path):
    linear, half = FreeParameter("c_eps_1", 1.2, 1.7), 0.5 * NEAR_A_BOUND
    log = FreeParameter("surface_roughness_length", 1e-4, 1.0, 0.1, "log")
    small = FreeParameter("convective_flux_factor", prior=cal.LogNormal(0.02, 1.0))
    normal = FreeParameter(f"{BIAS}[0]", prior=Normal(0.0, 20.0))
    for parameter, start, best, expected in (
        (linear, 1.44, 1.2 + 0.9 * half, "on its lower bound, 1.2"),
        (linear, 1.44, 1.7 - 0.9 * half, "on its upper bound, 1.7"),
        (linear, 1.44, 1.2 + 1.1 * half, None),
        # 2 % of four orders of magnitude is a factor of 10**0.08 = 1.2.
        (log, 0.1, 1.1e-4, "on its lower bound, 0.0001"),
        (log, 0.1, 1.3e-4, None),
        (linear, 1.44, 1.44, "did not move"),
        (small, 0.02, 1e-9, None),  # in the logarithm, 0 is infinitely far away however small the value
        (normal, 0.0, 0.01, "did not move"),
    ):
        remark = cal.remarks(result_of((parameter, start, best))).get(parameter.path)
        assert remark == expected, (parameter, best)
    result = result_of((linear, 1.44, 1.44))
    result.history.gradient_norm[1] = 4e80
    grown = cal.remarks(result)["c_eps_1"]
    assert grown.startswith("did not move: ") and "4e+80" in grown
    result = result_of(*bias(0.0, 9.0, 0.0), knots=[0.0, 3600.0, 7200.0])
    assert cal.parameter_rows(result)[0].remark == "2 of 3 did not move"
    write_results(result_of((linear, 1.44, 1.2001), *bias(0.0)), tmp_path)
    run = read_calibration_folder(tmp_path)
    remarked = [run.parameters["parameters"][name]["remark"] for name in ("c_eps_1", BIAS)]
    assert remarked == ["on its lower bound, 1.2", "did not move"]
