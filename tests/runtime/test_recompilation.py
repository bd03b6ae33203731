"""What compiles again and what does not: values are traced, shapes and settings are static."""

import contextlib
import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.monitoring
import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.calibration.twins import CHEAP_FREE, CHEAP_TRUTH, make_case, make_targets
from tests.helpers import with_leaf
from tunax_lite._types import in_precision
from tunax_lite.calibration import (
    LBFGS,
    Adam,
    EnsembleKalman,
    LevenbergMarquardt,
    RootMeanSquare,
    calibrate,
    with_parameters,
)
from tunax_lite.calibration.problem import GradientEvaluator, Problem

RUN: dict[str, Any] = {"dt": 300.0, "output_interval": 900.0, "duration": 3600.0}


class Counts:
    """Programs that were traced and that were compiled, by name, one entry each time."""

    def __init__(self):
        self.traced: list[str] = []
        self.compiled: list[str] = []

    def __call__(self, event: str, duration_secs: float, **details: Any) -> None:
        del duration_secs
        if event == "/jax/core/compile/jaxpr_trace_duration":
            self.traced.append(details["fun_name"])
        elif event == "/jax/core/compile/backend_compile_duration":
            self.compiled.append(details["fun_name"].removeprefix("jit(").removesuffix(")"))

    @property
    def programs(self) -> set[str]:
        """What was traced or compiled, without the conversion of single arrays."""
        return {*self.traced, *self.compiled} - {"convert_element_type"}


@contextlib.contextmanager
def counting():
    """Count while the block runs."""
    counts = Counts()
    jax.monitoring.register_event_duration_secs_listener(counts)
    try:
        yield counts
    finally:
        jax.monitoring.unregister_event_duration_listener(counts)


def model(**parameters) -> tl.Model:
    return tl.Model(tl.PacanowskiPhilander(**parameters))


def with_alpha(value) -> tl.Model:
    """The model with a value that no converter has seen."""
    return eqx.tree_at(lambda m: m.closure.alpha, model(), value)


def series_case(stress, start_time: str | None = None) -> tl.Case:
    """The case of `make_case` under a stress that changes in time."""
    forcing = tl.TimeSeriesForcing.from_values([0.0, 5e3, 1e4], stress_u=stress, heat_flux=-100.0)
    return dataclasses.replace(make_case(0.1, -200.0), forcing=forcing, start_time=start_time)


BASE = make_case(0.1, -200.0)
STRETCHED = tl.Grid.stretched(64.0, 16, surface_zoom=1.0)
SAME_PROGRAM = {
    "other parameter": (model(alpha=7.0), BASE),
    "a parameter from a weakly typed array": (model(alpha=jnp.asarray(7.0)), BASE),
    "a parameter put in as an array": (with_alpha(jnp.asarray(6.0)), BASE),
    "a parameter put in as a Python number": (with_alpha(6.5), BASE),
    "a parameter put in as a NumPy number": (with_alpha(np.float64(6.4)), BASE),
    "other molecular viscosity": (tl.Model(tl.PacanowskiPhilander(), molecular_viscosity=2e-6), BASE),
    "parameters of a calibration": (tl.Model(with_parameters(tl.PacanowskiPhilander(), CHEAP_TRUTH)), BASE),
    "other forcing": (model(), make_case(0.3, 50.0)),
    "other rotation": (model(), dataclasses.replace(BASE, coriolis_parameter=-5e-5)),
    "other initial state": (model(), with_leaf(BASE, "initial_state.u", jnp.full(16, 0.1))),
    "other grid": (model(), with_leaf(BASE, "grid", STRETCHED)),
    "other equation of state": (
        model(),
        dataclasses.replace(BASE, equation_of_state=tl.LinearEquationOfState(thermal_expansion=1e-4)),
    ),
    "other name, date and duration": (
        model(),
        dataclasses.replace(BASE, name="other", start_time="2020-01-01T00:00:00", duration=7200.0),
    ),
}


def test_a_run_with_other_values_compiles_nothing():
    reference = tl.simulate(model(), BASE, **RUN)
    for change, (changed, case) in SAME_PROGRAM.items():
        with counting() as counts:
            run = tl.simulate(changed, case, **RUN)
        assert counts.programs == set(), change
        assert np.array_equal(run.state.u, reference.state.u) == change.startswith("other name"), change
    with counting() as counts:  # the same numbers of steps
        tl.simulate(model(), BASE, dt=100.0, output_interval=300.0, duration=1200.0)
    assert counts.programs == set()
    tl.simulate(model(), series_case([0.1, 0.2, 0.0]), **RUN)
    other = series_case(np.array([0.0, 0.2, 0.3]), start_time="2020-01-01T00:00:00")
    with counting() as counts:
        tl.simulate(model(), other, **RUN)
    assert counts.programs == set()


def test_a_run_that_goes_on_compiles_once_for_all_frames():
    run = tl.simulate(model(), BASE, **RUN)
    tl.simulate(model(), BASE, start=run.restart(1), **RUN)
    start = run.restart(2)
    with counting() as counts:
        tl.simulate(model(), BASE, start=start, **RUN)
    assert counts.programs == set()


# Of a size of its own: no other test has compiled for it.
SMALL = make_case(0.1, -200.0, n_cells=10)


WITH_V = dataclasses.replace(SMALL, forcing=tl.ConstantForcing(tl.SurfaceFluxes(0.1, 0.1, -200.0)))
ANOTHER_PROGRAM = {
    "number of frames": (model(), SMALL, {"duration": 4500.0}),
    "steps per frame": (model(), SMALL, {"dt": 450.0}),
    "number of cells": (model(), make_case(0.1, -200.0, n_cells=20), {}),
    "number of columns": (with_alpha(jnp.array([5.0, 6.0])), SMALL, {}),
    "precision": (*in_precision((model(), SMALL), "float32"), {}),
    "closure": (tl.Model(tl.Constant()), SMALL, {}),
    "a flux that was absent": (model(), WITH_V, {}),
    "constant or series": (model(), series_case([0.1, 0.2, 0.0]).on(SMALL.grid), {}),
    "a static setting": (tl.Model(tl.PacanowskiPhilander(), theta=0.5), SMALL, {}),
    "checkpointing": (model(), SMALL, {"checkpointing": tl.SaveSteps()}),
    "a start": (model(), SMALL, {"start": "restart"}),
}


@pytest.mark.long
def test_what_is_static_compiles_again():
    reference = tl.simulate(model(), SMALL, **RUN)
    for change, (changed, case, options) in ANOTHER_PROGRAM.items():
        if "start" in options:
            options = {"start": reference.restart(1)}
        with counting() as counts:
            tl.simulate(changed, case, **{**RUN, **options})
        assert counts.compiled.count("_simulate") == 1, change


def targets_of(*forcings: tuple[float, float]):
    """Targets of different wind stress and heat flux."""
    truth = tl.Model(with_parameters(tl.PacanowskiPhilander(), CHEAP_TRUTH))
    return make_targets(truth, [make_case(*both) for both in forcings], dt=300.0, interval=1800.0)


@pytest.mark.long
def test_cases_of_equal_shapes_share_one_program_and_one_of_another_length_has_its_own():
    targets = targets_of((0.1, -200.0), (0.2, 50.0), (0.4, -100.0), (0.3, 0.0), (0.2, -50.0))
    targets = (*targets[:4], dataclasses.replace(targets[4], time_window=(0.0, 5400.0)))
    closure = tl.PacanowskiPhilander()
    free = CHEAP_FREE.resolve(closure)
    with counting() as counts:
        evaluator = GradientEvaluator(Problem(tl.Model(closure), free, targets, RootMeanSquare()))
        evaluator(free.start())
        evaluator(free.start() + 0.1)
    assert evaluator.n_compiled == 2
    assert counts.compiled.count("value_and_gradient") == 2


@pytest.mark.long
@pytest.mark.parametrize(
    "method",
    [Adam(), LBFGS(), LevenbergMarquardt(), EnsembleKalman(noise=1e-4, n_members=5)],
    ids=lambda method: type(method).__name__,
)
def test_iterations_compile_nothing_after_the_first_ones(method):
    n_traced, n_compiled = [], []
    with counting() as counts:

        def report(_):
            n_traced.append(len(counts.traced))
            n_compiled.append(len(counts.compiled))

        calibrate(model(), CHEAP_FREE, targets_of((0.1, -200.0)), method, 20, report=report)
    assert n_compiled[-1] == n_compiled[5], counts.compiled[n_compiled[5] :]
    assert n_traced[-1] == n_traced[5], counts.traced[n_traced[5] :]
