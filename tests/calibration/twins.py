"""Small twin problems: observations that a model with known parameters made."""

import dataclasses
import functools
from typing import Any

import numpy as np

import tunax_lite as tl
from tunax_lite import calibration as cal
from tunax_lite.calibration import FreeParameter, FreeParameters, Target, with_parameters

CHEAP_TRUTH = {"alpha": 4.0, "viscosity_scale": 0.02, "convective_coefficient": 0.05}
CHEAP_FREE = FreeParameters(
    (
        FreeParameter("alpha", 1.0, 20.0),
        FreeParameter("viscosity_scale", 1e-3, 1e-1, scale="log"),
        FreeParameter("convective_coefficient", 1e-2, 1.0, scale="log"),
    )
)


def assert_same_history(result, expected) -> None:
    for field in dataclasses.fields(expected.history):
        found, wanted = (getattr(each.history, field.name) for each in (result, expected))
        np.testing.assert_array_equal(found, wanted, err_msg=field.name)


def make_case(stress: float, heat_flux: float, *, n_cells: int = 16, hours: float = 3.0) -> tl.Case:
    """A column of 64 m under constant wind and heat flux."""
    grid = tl.Grid.uniform(64.0, n_cells)
    return tl.Case(
        grid,
        tl.State.from_profiles(grid, temperature=lambda z: 20.0 + 0.02 * z),
        tl.ConstantForcing(tl.SurfaceFluxes(stress_u=stress, heat_flux=heat_flux)),
        coriolis_parameter=1e-4,
        duration=3600.0 * hours,
        name=f"stress {stress:g} heat {heat_flux:g}",
    )


def observe(model: tl.Model, case: tl.Case, *, dt: float, interval: float) -> tl.Observations:
    """Temperature and velocity of a run at all levels."""
    run = tl.simulate(model, case, dt=dt, output_interval=interval)
    profiles = {name: getattr(run.state, name) for name in ("temperature", "u", "v")}
    return tl.Observations(run.time, case.grid.z_center, profiles, name=case.name)


@functools.cache
def cheap_targets() -> tuple[Target, ...]:
    truth = tl.Model(with_parameters(tl.PacanowskiPhilander(), CHEAP_TRUTH))
    options: dict[str, Any] = {
        "weights": {"temperature": 1.0, "u": 1.0, "v": 1.0},
        "dt": 300.0,
        "scale": cal.ZScore(),
    }
    cases = make_case(0.1, -200.0), make_case(0.2, 50.0)
    return tuple(Target(case, observe(truth, case, dt=300.0, interval=1800.0), **options) for case in cases)


METHODS = {
    "adam": cal.Adam(0.1, 30, 3),
    "lbfgs": cal.LBFGS(),
    "levenberg_marquardt": cal.LevenbergMarquardt(),
    "ensemble_kalman": cal.EnsembleKalman(noise=1e-3, n_members=8, prior_spread=0.5),
}


def calibrate_cheap(folder, name: str, n_iterations: int, **changes):
    """Calibrate the cheap twin from the closure's defaults, with changed arguments of `calibrate`."""
    options = {
        "model": tl.Model(tl.PacanowskiPhilander()),
        "free_parameters": CHEAP_FREE,
        "targets": cheap_targets(),
        "method": METHODS[name],
        "score": cal.MeanSquare(),
    } | changes
    return cal.calibrate(n_iterations=n_iterations, folder=folder, **options)
