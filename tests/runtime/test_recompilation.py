"""Runs with other values and further iterations compile nothing: values are traced."""

import contextlib
import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.monitoring
import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.calibration.twins import CHEAP_TRUTH, METHODS, calibrate_cheap, make_case
from tests.helpers import with_leaf
from tunax_lite.calibration import with_parameters

RUN: dict[str, Any] = {"dt": 300.0, "output_interval": 900.0, "duration": 3600.0}


class Counts(NamedTuple):
    """Names of the programs that were traced and that were compiled, one entry each time."""

    traced: list[str]
    compiled: list[str]

    @property
    def programs(self) -> set[str]:
        """What was traced or compiled, without the conversion of single arrays."""
        return {*self.traced, *self.compiled} - {"convert_element_type"}


@contextlib.contextmanager
def counting():
    counts = Counts([], [])

    def count(event: str, duration_secs: float, **details: Any) -> None:
        if event == "/jax/core/compile/jaxpr_trace_duration":
            counts.traced.append(details["fun_name"])
        elif event == "/jax/core/compile/backend_compile_duration":
            counts.compiled.append(details["fun_name"].removeprefix("jit(").removesuffix(")"))

    jax.monitoring.register_event_duration_secs_listener(count)
    try:
        yield counts
    finally:
        jax.monitoring.unregister_event_duration_listener(count)


def model(**parameters) -> tl.Model:
    return tl.Model(tl.PacanowskiPhilander(**parameters))


BASE = make_case(0.1, -200.0)


def series_case(stress) -> tl.Case:
    forcing = tl.TimeSeriesForcing.from_values([0.0, 5e3, 1e4], stress_u=stress, heat_flux=-100.0)
    return dataclasses.replace(BASE, forcing=forcing)


STRETCHED = tl.Grid.stretched(64.0, 16, surface_zoom=1.0)
OTHER_WATER = tl.LinearEquationOfState(thermal_expansion=1e-4)
OTHER_NAME: dict[str, Any] = {"name": "other", "start_time": "2020-01-01T00:00:00", "duration": 7200.0}
SAME_PROGRAM = {
    "other parameter": (model(alpha=7.0), BASE),
    "a parameter put in as a Python number": (eqx.tree_at(lambda m: m.closure.alpha, model(), 6.5), BASE),
    "parameters of a calibration": (tl.Model(with_parameters(tl.PacanowskiPhilander(), CHEAP_TRUTH)), BASE),
    "other forcing": (model(), make_case(0.3, 50.0)),
    "other initial state": (model(), with_leaf(BASE, "initial_state.u", jnp.full(16, 0.1))),
    "other grid": (model(), with_leaf(BASE, "grid", STRETCHED)),
    "other equation of state": (model(), dataclasses.replace(BASE, equation_of_state=OTHER_WATER)),
    "other name, date and duration": (model(), dataclasses.replace(BASE, **OTHER_NAME)),
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
    with counting() as counts:
        tl.simulate(model(), series_case(np.array([0.0, 0.2, 0.3])), **RUN)
    assert counts.programs == set()
    tl.simulate(model(), BASE, start=reference.restart(1), **RUN)
    start = reference.restart(2)
    with counting() as counts:  # from another frame
        tl.simulate(model(), BASE, start=start, **RUN)
    assert counts.programs == set()


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
def test_iterations_compile_nothing_after_the_first_ones(tmp_path, method):
    so_far = []
    with counting() as counts:
        report = lambda _: so_far.append((len(counts.traced), len(counts.compiled)))  # noqa: E731
        calibrate_cheap(tmp_path, method, 20, report=report)
    assert so_far[-1] == so_far[5], (counts.traced[so_far[5][0] :], counts.compiled[so_far[5][1] :])
