"""Fluxes through the surface."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from tests.errors import error_naming
from tunax_lite import ConstantForcing, SurfaceFluxes, TimeSeriesForcing
from tunax_lite._types import batch_shape_of

TIME = np.array([0.0, 100.0, 400.0, 500.0])
HEAT = np.array([1.0, -3.0, 6.0, 6.0])


def heat_at(forcing, time):
    return forcing.at(jnp.asarray(time)).heat_flux


def test_interpolation_at_between_and_outside_of_the_nodes():
    forcing = TimeSeriesForcing.from_values(TIME, heat_flux=HEAT)
    at = jax.jit(lambda time: heat_at(forcing, time))
    np.testing.assert_array_equal([at(time) for time in TIME], HEAT)
    times = np.linspace(-50.0, 600.0, 53)
    # Beyond both ends numpy holds the value too.
    expected = np.interp(times, TIME, HEAT)
    np.testing.assert_allclose([at(time) for time in times], expected, rtol=1e-14, atol=1e-14)


def test_gradients_to_the_values_are_the_weights_and_to_the_time_the_slope():
    def heat(values, time):
        return heat_at(TimeSeriesForcing(jnp.asarray(TIME), SurfaceFluxes(heat_flux=values)), time)

    gradient = jax.jit(jax.grad(heat, argnums=(0, 1)))
    weights, slope = gradient(jnp.asarray(HEAT), 175.0)
    np.testing.assert_allclose(weights, [0.0, 0.75, 0.25, 0.0], atol=1e-15)
    np.testing.assert_allclose(slope, (6.0 + 3.0) / 300.0, rtol=1e-14)
    for time in (-50.0, 0.0, 100.0, 500.0, 600.0):
        weights, slope = gradient(jnp.asarray(HEAT), time)
        assert np.all(weights >= 0.0) and np.sum(weights) == 1.0 and np.isfinite(slope)


def test_batches_numbers_lists_and_constants():
    batch = np.stack([HEAT, 2.0 * HEAT, 0.0 * HEAT], axis=-1)
    forcing = TimeSeriesForcing.from_values(TIME, heat_flux=batch, stress_u=0.1, tracer_fluxes={"dye": HEAT})
    assert batch_shape_of(forcing) == (3,)
    fluxes = forcing.at(250.0)
    np.testing.assert_allclose(np.asarray(fluxes.heat_flux), [1.5, 3.0, 0.0])
    np.testing.assert_allclose(np.array([fluxes.stress_u, fluxes.tracer_fluxes["dye"]]), [0.1, 1.5])
    assert fluxes.stress_v is None
    listed = {"heat_flux": batch.tolist(), "stress_u": 0.1, "tracer_fluxes": {"dye": list(HEAT)}}
    assert eqx.tree_equal(TimeSeriesForcing.from_values(list(TIME), **listed), forcing)
    forcing = ConstantForcing(SurfaceFluxes(stress_u=0.1, heat_flux=np.array([1.0, 2.0])))
    assert batch_shape_of(forcing) == (2,)
    assert forcing.at(0.0) is forcing.fluxes and forcing.at(1e9) is forcing.fluxes
    forcing.check_covers(-1e9, 1e9)


def series(time: list[float] | np.ndarray = TIME, **values):
    return lambda: TimeSeriesForcing.from_values(time, **({"heat_flux": 1.0} | values))


def test_times_gaps_and_other_lengths_are_refused_by_name():
    infinite, dye = np.where(HEAT == 6.0, np.inf, HEAT), {"dye": np.inf}
    for make, message in (
        (series([0.0, 100.0, 100.0, 500.0]), "100 s"),
        (series([0.0, 100.0, np.nan, 500.0]), "increase"),
        (series([0.0]), "times"),
        (series(heat_flux=np.where(HEAT == 6.0, np.nan, HEAT)), "heat_flux 400"),
        (series(tracer_fluxes={"dye": infinite}), "dye 400"),
        (series(stress_u=np.stack([HEAT, infinite], axis=-1)), "stress_u 400"),  # one column of a batch
        (series(heat_flux=HEAT[:3]), "heat_flux 4"),
        (lambda: ConstantForcing(SurfaceFluxes(heat_flux=np.nan)), "heat_flux"),
        (lambda: ConstantForcing(SurfaceFluxes(tracer_fluxes=dye)), "tracer_fluxes dye"),
    ):
        with error_naming(ValueError, message):
            make()


def test_run_must_be_covered():
    forcing = TimeSeriesForcing.from_values(TIME + 1000.0, heat_flux=HEAT)
    forcing.check_covers(1000.0, 1500.0)
    # Days written with nine digits.
    forcing.check_covers(1000.0, 1500.0 + 1e-7)
    for start, end in ((999.0, 1400.0), (1100.0, 1501.0), (0.0, 5000.0)):
        with error_naming(ValueError, "1000 1500"):
            forcing.check_covers(start, end)
