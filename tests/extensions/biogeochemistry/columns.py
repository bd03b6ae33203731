"""A lit, windy column with any models in it."""

import jax.numpy as jnp

import tunax_lite as tl
from tunax_lite.air_sea import BulkForcing, Kondo, Weather
from tunax_lite.column.time_series import TimeSeries
from tunax_lite.extensions.biogeochemistry import Biogeochemistry
from tunax_lite.extensions.biogeochemistry.interface import Environment

N_CELLS, DEPTH = 8, 40.0


def windy(shortwave: float = 150.0, wind: float = 8.0) -> BulkForcing:
    values = {"wind_u": wind, "wind_v": 0.0, "air_temperature": 9.0, "humidity": 80.0}
    values |= {"air_pressure": 101300.0, "shortwave": shortwave, "longwave": -50.0}
    weather = Weather(**{name: jnp.asarray(value) for name, value in values.items()})
    return BulkForcing(TimeSeries.constant(weather), bulk=Kondo(), evaporation=False)


def column(term: Biogeochemistry, forcing=None, **values) -> tl.Case:
    grid = tl.Grid.uniform(DEPTH, N_CELLS)
    state = tl.State.from_profiles(grid, temperature=lambda z: 10.0 + 0.05 * z, salinity=34.8)
    return tl.Case(
        grid,
        term.with_pools(state, values),
        windy() if forcing is None else forcing,
        coriolis_parameter=1e-4,
        terms={"life": term},
        duration=6.0 * 3600.0,
    )


def environment(**changes) -> Environment:
    """Three cells in light of 100, 30 and 3 W m-2, the lowest first."""
    usual = {
        "temperature": jnp.array([7.0, 9.0, 12.0]),
        "salinity": jnp.array([35.0, 34.8, 34.5]),
        "density": jnp.array([1027.2, 1027.0, 1026.5]),
        "depth": jnp.array([25.0, 15.0, 5.0]),
        "thickness": jnp.array([10.0, 10.0, 10.0]),
        "light": jnp.array([3.0, 30.0, 100.0]),
        "surface_light": jnp.asarray(160.0),
        "shortwave": jnp.asarray(400.0),
        "wind_speed": jnp.asarray(8.0),
        "bottom_stress": jnp.asarray(0.02),
        "time": 0.0,
    }
    return Environment(**(usual | changes))
