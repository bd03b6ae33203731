"""What a call knows of its arguments before its first step."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import tunax_lite as tl
from tests.errors import error_naming
from tunax_lite.column.arguments import Parts
from tunax_lite.column.terms import AbstractTerm, Tendency
from tunax_lite.column.time_series import TimeSeries


class Warming(AbstractTerm):
    """A source of heat that is the same in all cells."""

    rate: tl.Scalar = tl.parameter(1e-4, unit="degC s-1")

    def on_scalars(self, column):
        return {"temperature": Tendency(cells=self.rate * column.grid.cell_thickness)}


class Module(eqx.Module):
    x: object
    table: dict = eqx.field(default_factory=dict)
    label: str = eqx.field(default="a", static=True)


def test_columns_of_tables_are_arrays_and_dates_need_a_start():
    dates: Any = pd.date_range("2020-01-01T06:00", periods=3, freq="h")
    heat = pd.Series([1.0, 2.0, 4.0], index=dates)
    plain = TimeSeries(jnp.array([21600.0, 25200.0, 28800.0]), jnp.array([1.0, 2.0, 4.0]))
    for values in (heat, heat.to_xarray(), heat.to_numpy()):
        for when in (dates, dates.tz_localize("UTC").tz_convert("Asia/Tokyo"), list(dates), dates.to_numpy()):
            assert eqx.tree_equal(TimeSeries.from_dates(when, values, "2020-01-01T00:00+00:00"), plain)
    forcing = tl.TimeSeriesForcing.from_values(dates, start_time="2020-01-01", heat_flux=heat, stress_u=0.1)
    np.testing.assert_array_equal(forcing.fluxes.heat_flux, plain.values)
    since = tl.Observations(dates - pd.Timestamp("2020-01-01"), series={"sea_surface_temperature": heat})
    np.testing.assert_array_equal(since.time, plain.time)
    assert eqx.tree_equal(tl.ConstantDiffusivity(heat), tl.ConstantDiffusivity(heat.to_numpy()))
    for make in (
        lambda: TimeSeries(dates, heat),
        lambda: TimeSeries(plain.time, dates),
        lambda: tl.Observations(dates),
        lambda: tl.Observations(dates.tz_localize("UTC")),
    ):
        with error_naming(TypeError, "seconds start"):
            make()
    with error_naming(TypeError, "viscosity real"):
        tl.ConstantDiffusivity(dates)


def test_equal_structures_are_one_object_and_values_that_only_compare_equal_are_not():
    tree = Module({"a": jnp.arange(3.0), "b": True, "c": None}, {"n": 2})
    parts = Parts.of(tree)
    assert eqx.tree_equal(parts.structure.tree(parts.arrays), tree)
    known, zeros = Parts.of(Module(jnp.ones(5), {"n": 1})).structure, jnp.zeros(3)
    assert Parts.of(Module(zeros, {"n": 1})).structure is known
    for other in (Module(zeros, {"n": True}), Module(zeros, {"n": 1}, label="b"), Module(zeros)):
        assert Parts.of(other).structure is not known


@pytest.fixture
def column():
    grid = tl.Grid.uniform(20.0, 10)
    state = tl.State.from_profiles(grid, temperature=lambda z: 20.0 + 0.02 * z)
    forcing = tl.ConstantForcing(tl.SurfaceFluxes(stress_u=0.1))
    return tl.Model(tl.PacanowskiPhilander()), tl.Case(grid=grid, initial_state=state, forcing=forcing)


def temperature(model, case, **options):
    return np.asarray(tl.simulate(model, case, duration=3600.0, **options).state.temperature)


def test_a_term_added_to_a_case_acts_in_the_next_call(column):
    model, case = column
    before = temperature(model, case)
    case.terms["warming"] = Warming()
    assert temperature(model, case)[-1].mean() - before[-1].mean() == pytest.approx(0.36, rel=1e-6)


def test_every_call_checks_the_times_of_its_own_forcing(column):
    model, case = column
    series = tl.TimeSeriesForcing.from_values([0.0, 3600.0], stress_u=[0.1, 0.2])
    case = eqx.tree_at(lambda case: case.forcing, case, series)
    temperature(model, case)
    for _ in range(2):
        with error_naming(ValueError, "3600 7200"):
            tl.simulate(model, case, duration=7200.0)
