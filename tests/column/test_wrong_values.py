# pyright: reportArgumentType=false, reportIncompatibleMethodOverride=false
"""Values that cannot be, and texts where numbers are meant, are refused where they enter."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

import tunax_lite as tl
from tests.errors import missing_from
from tunax_lite.air_sea import BulkForcing, Weather
from tunax_lite.closures import AbstractDiagnosticClosure, EddyCoefficients
from tunax_lite.column.time_series import TimeSeries


@pytest.fixture(autouse=True)
def unchecked() -> Iterator[None]:
    """As for a user, who checks no types and mixes them."""
    jaxtyping.config.update("jaxtyping_disable", True)
    with jax.numpy_dtype_promotion("standard"):
        yield
    jaxtyping.config.update("jaxtyping_disable", False)


GRID = tl.Grid.uniform(depth=40.0, n_cells=4)
WATER = tl.State.from_profiles(GRID, temperature=lambda z: 20.0 + 0.02 * z)
FORCING = tl.ConstantForcing(tl.SurfaceFluxes(heat_flux=-50.0))
CASE, TIME = tl.Case(GRID, WATER, FORCING), jnp.array([0.0, 3600.0])
AIR = Weather(*(jnp.full(2, value) for value in (5.0, 0.0, 10.0, 80.0, 1e5, 0.5, 0.0, 0.0, -50.0)))
SERIES = TimeSeries(TIME, AIR, "air")
# netCDF4 reads variables as masked arrays: behind the mask is the fill value, or a value that is flagged.
MASKED = np.ma.array([0.0, 3600.0], mask=[False, True])
MASKED_PROFILE = np.ma.array([9, 9, 9, 9], mask=[False, False, True, False])
AIR_WITH_MASK = Weather(MASKED, *(jnp.full(2, value) for value in (0.0, 10.0, 80.0, 1e5)))


def case(**given):
    return tl.Case(GRID, WATER, FORCING, **given)


def run(closure=None, **options):
    given = {"dt": 600.0, "duration": 1200.0, "output_interval": 600.0} | options
    return tl.simulate(tl.Model(closure or tl.ConstantDiffusivity()), CASE, **given).state.temperature


def observed(value, z=GRID.z_center, time=TIME):
    values = jnp.full((2, 4), 10.0).at[1, 2].set(value)
    return tl.Observations(time=time, z=z, profiles={"temperature": values}, name="mooring")


class Careless(AbstractDiagnosticClosure[EddyCoefficients]):
    given: object

    def diagnose(self, inputs):
        return self.given


WRONG = [
    (lambda: run(dt="600"), "dt 600.0"),
    (lambda: run(dt=True), "dt True"),
    (lambda: run(output_interval=[600.0]), "output_interval [600.0]"),
    (lambda: run(duration=np.timedelta64(600, "s")), "duration timedelta64"),
    (lambda: jax.grad(lambda dt: run(dt=dt).sum())(600.0), "dt jax.grad"),
    (lambda: run(checkpointing="steps"), "checkpointing SaveSteps steps"),
    (lambda: run(checkpointing=tl.SaveSteps), "checkpointing instance SaveSteps"),
    (lambda: tl.Grid.uniform("40", 4), "depth '40'"),
    (lambda: tl.Grid.uniform(40.0, 4.5), "cells 4.5"),
    (lambda: tl.State.from_profiles(GRID, temperature="10"), "temperature '10'"),
    (lambda: tl.SurfaceFluxes(stress_u="0.1"), "stress_u '0.1'"),
    (lambda: TimeSeries(TIME, AIR_WITH_MASK), "wind_u nan 3600"),
    (lambda: tl.TimeSeriesForcing.from_values(TIME, stress_u=MASKED), "stress_u nan 3600"),
    (lambda: tl.TimeSeriesForcing.from_values(MASKED, stress_u=0.1), "nan"),
    (lambda: tl.Case(GRID, tl.State.from_profiles(GRID, temperature=MASKED_PROFILE), FORCING), "nan cell 2"),
    (lambda: case(start_time="yesterday"), "start_time yesterday"),
    (lambda: observed(-9999.0), "temperature -5 60 -9999"),
    (lambda: observed(290.0), "temperature 290 K"),
    (lambda: observed(10.0, -GRID.z_center[::-1]), "heights 5 35"),
    (lambda: observed(10.0, jnp.array([-jnp.inf, -3.0, -2.0, -1.0])), "mooring heights"),
    (lambda: observed(10.0, time=jnp.array([0.0, jnp.nan])), "mooring times"),
    (lambda: tl.Observations(jnp.zeros(0), GRID.z_center, {"u": jnp.ones((0, 4))}), "times"),
    (lambda: BulkForcing(SERIES, humidity_measure="dew"), "humidity_measure dew_point dew"),
    (lambda: BulkForcing(AIR), "BulkForcing TimeSeries Weather"),
    (lambda: case(latitude=95.0), "latitude -90 90 95"),
    (lambda: tl.coriolis_parameter("45"), "latitude '45'"),
    (lambda: tl.KEpsilon(c_eps_1=None), "c_eps_1 None"),
    (lambda: tl.KEpsilon(c_eps_1=1.4 + 0.1j), "c_eps_1 (1.4+0.1j)"),
    (lambda: tl.Model(tl.ConstantDiffusivity(), theta="1"), "theta '1'"),
    (lambda: tl.stack_cases(CASE), "stack_cases [case"),
    (lambda: run(Careless(jnp.ones(3))), "Careless eddy_viscosity 5"),
    (
        lambda: run(Careless(EddyCoefficients.from_inner_faces(*jnp.ones((2, 5))))),
        "Careless eddy_viscosity (7,)",
    ),
]


def test_values_that_cannot_be_are_refused_in_one_sentence():
    for number, (call, parts) in enumerate(WRONG):
        with pytest.raises((TypeError, ValueError)) as caught:
            call()
        message = str(caught.value)
        assert not missing_from(message, parts) and "\n" not in message, f"{number}: {message}"


def test_numbers_of_other_types_and_usual_dates_are_taken():
    for given in (jnp.asarray(600), np.float32(600), 600):
        assert (run(dt=given, output_interval=given) == run()).all()
    assert jnp.isnan(observed(jnp.nan).profiles["temperature"][1, 2])  # gaps are kept
    masked = tl.Observations(TIME, GRID.z_center, {"u": np.ma.stack([MASKED_PROFILE] * 2)}).profiles["u"]
    assert np.isnan(masked[:, 2]).all() and not np.ma.isMaskedArray(masked)
    assert BulkForcing(SERIES).humidity_measure == "relative"
    for date in ("2012-06-10", "2012-06-10T00:00:00", "2012-06-10 12:00:00"):
        assert case(start_time=date).start_time == date
    assert tl.KEpsilon(length_limit=None).length_limit is None
    # 4 pi / 86164 s * sin(45 degrees)
    np.testing.assert_allclose(case(latitude=45.0).coriolis_parameter, 1.03126e-4, rtol=1e-5)
    assert case(latitude=45.0, coriolis_parameter=0.0).coriolis_parameter == 0.0 == CASE.coriolis_parameter
