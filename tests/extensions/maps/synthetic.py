"""A small ocean that needs no file: columns with their own depth, weather and latitude, and land."""
# pyright: reportIncompatibleVariableOverride=false

import dataclasses
import datetime
import time
from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from tunax_lite import Case, Grid, Model, PacanowskiPhilander, State, TimeSeriesForcing, coriolis_parameter
from tunax_lite.extensions.maps.gridded import GriddedColumns
from tunax_lite.extensions.maps.run import run_tile
from tunax_lite.extensions.maps.setup import Layout, MapRun

HOUR = 3600.0


@dataclasses.dataclass(frozen=True)
class SyntheticMap(GriddedColumns):
    """Wind and cooling that change with place and time, known every `interval` [s], for ten days.

    Every third point is land, and the whole second row. `broken` names a column whose forcing is absurd after
    some time [s].
    """

    shape: tuple[int, ...] = (6, 9)
    n_cells: int = 12
    interval: float = HOUR
    broken: tuple[int, float] | None = None
    delay: float = 0.0
    wind: float = 0.1
    cooling: float = 0.0
    fingerprint: str = "synthetic"
    epoch: datetime.datetime = datetime.datetime(2001, 3, 1)
    duration: float = 240 * HOUR
    notes: tuple[str, ...] = ()
    inputs: tuple[Path, ...] = ()

    @property
    def index(self) -> np.ndarray:
        flat = np.arange(np.prod(self.shape))
        row = flat // int(np.prod(self.shape[1:]))
        return flat[(flat % 3 != 2) & ((row != 1) | (len(self.shape) == 1))]

    @property
    def n_columns(self) -> int:
        return len(self.index)

    @property
    def latitude(self) -> np.ndarray:
        lat = np.linspace(-60.0, 60.0, self.shape[0])
        return lat[np.unravel_index(self.index, self.shape)[0]]

    @property
    def longitude(self) -> np.ndarray:
        return 5.0 * np.unravel_index(self.index, self.shape)[-1]

    @property
    def coordinates(self) -> dict[str, tuple]:
        lat = np.linspace(-60.0, 60.0, self.shape[0])
        if len(self.shape) == 1:
            return {"lat": ("point", lat, {}), "lon": ("point", 5.0 * np.arange(self.shape[0]), {})}
        lon = 5.0 * np.arange(self.shape[1])
        return {
            "lat": ("lat", lat, {"units": "degrees_north", "standard_name": "latitude"}),
            "lon": ("lon", lon, {"units": "degrees_east", "standard_name": "longitude"}),
        }

    def case(self, columns: slice | np.ndarray, start: float, stop: float) -> Case:
        if start < 0.0 or stop > self.duration:
            raise ValueError(
                f"synthetic map: expected times of 0 to {self.duration:g} s, got {start:g}, {stop:g}."
            )
        time.sleep(self.delay)
        number = np.arange(self.n_columns)[columns]
        lat, lon = self.latitude[number], self.longitude[number]
        depth = 40.0 + lon + 0.2 * np.abs(lat)
        grid = Grid(np.linspace(-1.0, 0.0, self.n_cells + 1)[:, None] * depth)
        first, n_times = int(start // self.interval), int(round((stop - start) / self.interval)) + 1
        times = self.interval * (first + np.arange(n_times))
        days = times[:, None] / 86400.0
        wind = self.wind * np.sin(2.0 * np.pi * (days + lon / 90.0))
        temperature = jnp.asarray(20.0 - 0.2 * np.abs(lat)) + 0.05 * grid.z_center
        forcing = TimeSeriesForcing.from_values(
            times, stress_u=wind, heat_flux=-50.0 - self.cooling - np.abs(lat) + 0.0 * days
        )
        if self.broken is not None:  # by stress and heat too large for later arithmetic
            is_broken = (number == self.broken[0]) & (times[:, None] > self.broken[1])
            forcing = eqx.tree_at(
                lambda it: (it.fluxes.stress_u, it.fluxes.heat_flux),
                forcing,
                replace_fn=lambda flux: jnp.where(is_broken, 1.7e308, flux),
            )
        water = State.from_profiles(grid, temperature=temperature, salinity=35.0 + 0.0 * temperature)
        coriolis = coriolis_parameter(jnp.asarray(lat))
        return Case(grid, water, forcing, coriolis_parameter=coriolis, duration=stop)

    def observed(self, columns: slice | np.ndarray, times: np.ndarray) -> np.ndarray:
        lat = self.latitude[columns]
        return 20.0 - 0.2 * np.abs(lat) - 0.02 * times[:, None] / HOUR


VARIABLES = "temperature", "eddy_diffusivity", "sea_surface_temperature", "mixed_layer_depth", "heat_content"
RUN = MapRun(
    model=Model(PacanowskiPhilander()),
    columns=SyntheticMap(),
    dt=1800.0,
    output_interval=6 * HOUR,
    duration=96 * HOUR,
    variables=VARIABLES,
)
SLOW = dataclasses.replace(RUN, columns=SyntheticMap(delay=0.2))
"""The same numbers, with time between pieces to be killed in."""
SMALL = Layout(n_rows=2, n_frames=5, block=4, width=12)
"""Tiles of 6, 12 and 12 columns; four pieces of five frames, the last with one frame that is new."""


def by_column(values: xr.DataArray) -> np.ndarray:
    return values.values.reshape(*values.shape[:-2], -1)[..., RUN.columns.index]


def assert_identical(path: Path, other: Path) -> None:
    assert not (path / "restart").exists() and not list(path.rglob("*.partial"))
    with xr.open_zarr(path, chunks=None) as one, xr.open_zarr(other, chunks=None) as two:
        xr.testing.assert_identical(one, two)


def interrupt(run: MapRun, path: Path, tile: int, after: float = 0.5) -> None:
    """Compute a tile until a share of its pieces is done, as if the process ended there."""

    class Killed(BaseException):
        pass

    def end(done: float) -> None:
        if done > after:
            raise Killed

    with pytest.raises(Killed):
        run_tile(run, path, tile, end)
