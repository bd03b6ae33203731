"""Fluxes of measured weather against those that GOTM computed from it."""

import datetime
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from tests.conftest import find_gotm_case, find_reference
from tunax_lite import air_sea
from tunax_lite.air_sea import BulkForcing, SolarPosition, Weather
from tunax_lite.column.forcing import WaterSurface
from tunax_lite.column.time_series import TimeSeries

REFERENCE_DENSITY = 1027.0
FORMULAE = air_sea.Kondo(), air_sea.Clark(), air_sea.ClearSky(), air_sea.Payne()
KONDO: Any = dict(zip(("bulk", "longwave", "shortwave", "albedo"), FORMULAE, strict=True))
KONDO["relative_wind"] = False


def read_series(name: str, start: str) -> tuple[np.ndarray, np.ndarray]:
    """Seconds since the start, and values, of a series of GOTM."""
    rows = [line.split() for line in find_gotm_case(name).read_text().splitlines() if line.strip()]
    origin = datetime.datetime.fromisoformat(start)
    times = [(datetime.datetime.fromisoformat(f"{r[0]} {r[1]}") - origin).total_seconds() for r in rows]
    return np.array(times), np.array([[float(value) for value in r[2:]] for r in rows])


def read_reference(name: str) -> dict[str, np.ndarray]:
    with xr.open_dataset(find_reference(name), decode_times=False) as dataset:
        return {str(v): dataset[v].values.astype(float) for v in dataset.variables}


def meteo_weather(name: str, start: str, wind_factor: float) -> TimeSeries[Weather]:
    """Series of a file with wind, pressure in hPa, air temperature, humidity and cloud cover."""
    time, values = read_series(name, start)
    u, v, pressure, temperature, humidity, cloud = values.T[:6]
    weather = Weather(wind_factor * u, wind_factor * v, temperature, humidity, 100.0 * pressure, cloud)
    return TimeSeries(jnp.asarray(time), weather, name)


def fluxes(forcing, time, u, v, temperature, salinity):
    """Kinematic stress, heat and shortwave radiation at times for states of the surface."""

    def at(time, *water):
        fluxes = forcing.at(time, WaterSurface(*water))
        return fluxes.stress_u, fluxes.stress_v, fluxes.heat_flux, fluxes.shortwave_flux

    water = (jnp.asarray(values) for values in (u, v, temperature, salinity))
    tx, ty, heat, sun = (np.asarray(x) for x in jax.jit(jax.vmap(at))(jnp.asarray(time), *water))
    return tx / REFERENCE_DENSITY, ty / REFERENCE_DENSITY, heat, sun


def heat_parts(forcing, time, temperature) -> list[np.ndarray]:
    """Latent, sensible and longwave heat over water at rest and without salt."""

    def at(time, temperature):
        zero = jnp.zeros(())
        fluxes = forcing.at(time, WaterSurface(zero, zero, temperature, zero))
        return fluxes.latent_heat_flux, fluxes.sensible_heat_flux, fluxes.longwave_flux

    return [np.asarray(x) for x in jax.jit(jax.vmap(at))(jnp.asarray(time), jnp.asarray(temperature))]


@pytest.mark.long
def test_kondo_over_the_eastern_mediterranean():
    start = "1996-01-15 00:00:00"
    forcing = BulkForcing(
        meteo_weather("medsea_east/meteo_east.dat", start, 1.3),
        **KONDO,
        sun=SolarPosition(start, 35.0, 30.5),
        heat_factor=1.2,
        shortwave_factor=0.89,
        humidity_measure="dew_point",
        conservative_temperature=False,  # its output is what the air meets
    )
    gotm = read_reference("medsea_east_surf")
    zero = 0.0 * gotm["sst"]
    tx, ty, heat, sun = (x[1:] for x in fluxes(forcing, gotm["time"], zero, zero, gotm["sst"], zero))
    gotm = {name: values[1:] for name, values in gotm.items()}
    np.testing.assert_allclose(tx, gotm["tx"], rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(ty, gotm["ty"], rtol=1e-5, atol=1e-9)
    # The parts are without the factor 1.2 in ours and in GOTM's output.
    parts = [heat, *heat_parts(forcing, gotm["time"], gotm["sst"])]
    for found, name in zip(parts, ("heat", "qe", "qh", "ql"), strict=True):
        np.testing.assert_allclose(found, gotm[name], rtol=1e-5, atol=1e-3)
    # GOTM takes neighbouring entries of the table of Payne when the sun is 16 to 40 degrees high.
    np.testing.assert_allclose(sun, gotm["I_0"], atol=0.0016 * 0.89 * 1350.0)
    other = np.abs(sun - gotm["I_0"]) > 1e-3
    assert 0.0 < np.mean(other) < 0.3
    assert np.sqrt(np.mean((sun - gotm["I_0"]) ** 2)) < 0.1
