"""Columns of gridded files, of any layout and in tiles; their configurations, diagnostics and errors."""

import pickle
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from tests.errors import error_naming
from tests.extensions.maps.ocean import DEPTH, SETTINGS, floor, heat, ocean, temperature
from tunax_lite import Grid
from tunax_lite.column.forcing import WaterSurface
from tunax_lite.config import ConfigError
from tunax_lite.config.load import load
from tunax_lite.extensions.maps import build_map, load_map
from tunax_lite.extensions.maps.gridded import GriddedColumns, columns_from_dataset
from tunax_lite.extensions.maps.sections import Gridded, GridPoints, MapConfig, MapSection, SitePoints
from tunax_lite.extensions.maps.sources import header_of
from tunax_lite.io.errors import FileFormatError
from tunax_lite.io.variables import error_of

LEVELS = Grid.stretched(1.0, 8, surface_zoom=1.0)
DAY = 86400.0


def columns(dataset=None, **changed) -> GriddedColumns:
    given = dataset if isinstance(dataset, list) else [ocean() if dataset is None else dataset]
    return GriddedColumns(MapSection(**{**SETTINGS, **changed}), LEVELS, sources=given)


def whole(found: GriddedColumns) -> Any:
    return found.case(slice(None), 0.0, found.duration)


def assert_equal(one: Any, other: Any, tolerance: float = 0.0) -> None:
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=0.0, atol=tolerance)


def test_own_points_have_their_values_depths_and_places():
    found = columns()
    lat, lon = found.latitude, found.longitude
    assert found.shape == (9, 36) and found.n_columns == 9 * 32 and found.counts["land"] == 36
    assert not np.any((lon > 100.0) & (lon < 150.0))
    # Down to the lower edge of the deepest level with water.
    edges = np.append(0.5 * (DEPTH[1:] + DEPTH[:-1]), 140.0)
    deepest = np.searchsorted(DEPTH, floor(lat, lon), side="right") - 1
    np.testing.assert_allclose(found.depth, np.maximum(edges[deepest], 10.0))
    case = whole(found)
    np.testing.assert_allclose(case.grid.depth, found.depth)
    np.testing.assert_allclose(case.coriolis_parameter, 1.4584e-4 * np.sin(np.deg2rad(lat)), atol=1e-8)
    z = np.clip(-np.asarray(case.grid.z_center), 0.0, DEPTH[deepest])
    np.testing.assert_allclose(case.initial_state.temperature, temperature(lat, lon, z), atol=1e-12)
    # The middle of January, to which the end of the month is linear from that of February.
    at = case.forcing.at(15.5 * DAY)
    np.testing.assert_allclose(at.heat_flux, heat(0.5 + (15.5 - 365 / 24) / (365 / 12), lat, lon), atol=1e-9)


def test_the_layout_of_the_file_does_not_matter():
    south_up, north_up = np.arange(-40.0, 41.0, 10.0), np.arange(40.0, -41.0, -10.0)
    for points, start, latitude in (
        (GridPoints(spacing=20.0, latitude=[-40.0, 40.0]), -180.0, north_up),
        (SitePoints(places={"a": [5.0, -31.0], "b": [-21.0, 200.0]}), 20.0, south_up),
    ):
        longitude = np.sort((np.arange(0.0, 360.0, 10.0) - start) % 360.0 + start)
        expected = whole(columns(points=points))
        assert_equal(whole(columns(ocean(latitude, longitude), points=points)), expected, 1e-10)


def test_fill_values_decoding_files_stores_and_chunks_do_not_matter(tmp_path):
    plain, filled, names = ocean(), ocean(fill=-1e34), {"units": "m", "positive": "up"}
    expected = whole(columns(plain))
    filled.to_netcdf(tmp_path / "all.nc")
    plain.to_zarr(tmp_path / "all.zarr", zarr_format=3, consolidated=False)
    plain.to_zarr(tmp_path / "two.zarr", zarr_format=2)
    for part, months in (("a", slice(0, 5)), ("b", slice(5, None))):
        plain.isel(time=months).to_netcdf(tmp_path / f"{part}.nc")
    for other in (
        xr.open_dataset(tmp_path / "all.nc", decode_times=False).load(),
        *(str(tmp_path / name) for name in ("all.nc", "all.zarr", "two.zarr")),
        [tmp_path / "a.nc", tmp_path / "b.nc"],
        plain.isel(depth=slice(None, None, -1)).assign_coords(depth=("depth", -DEPTH[::-1], names)),
        plain.chunk({"time": 3, "lat": 4}),
    ):
        assert_equal(whole(columns(other)), expected, 1e-12)


@pytest.mark.long
def test_tiles_and_pieces_are_the_whole_to_the_bit_and_of_one_shape():
    found = pickle.loads(pickle.dumps(columns(duration=365 * DAY)))
    all_columns, shapes = found.case(slice(None), 0.0, 365 * DAY), set()
    for chosen in (np.arange(0, 40), np.arange(100, 140), np.append(np.arange(251, 288), [287, 287, 287])):
        for start in (0.0, 11 * DAY, 200 * DAY, 355 * DAY):
            tile = found.case(chosen, start, start + 10 * DAY)
            shapes.add(str(jax.tree.map(np.shape, tile)) + str(jax.tree.structure(tile)))
            pairs = [(tile.grid.z_face, all_columns.grid.z_face)]
            pairs.append((tile.initial_state.temperature, all_columns.initial_state.temperature))
            for time in (start, start + 4 * DAY, start + 10 * DAY):
                pairs.append(tuple(case.forcing.at(time).heat_flux[None] for case in (tile, all_columns)))
            for one, every in pairs:
                np.testing.assert_array_equal(one, every[:, chosen])
    assert len(shapes) == 1


def test_bathymetry_and_neighbours_stand_for_what_is_missing():
    dataset = ocean()
    elevation = np.broadcast_to(np.where(dataset.lon == 100.0, 200.0, -77.0), (9, 36))
    about = {"units": "m", "standard_name": "altitude"}
    dataset["elevation"] = (("lat", "lon"), elevation, about)
    found, near = (columns(dataset, depth="elevation", reach=reach) for reach in (3e6, 1.2e6))
    assert found.counts["filled from a neighbour"] == found.counts["columns"] - 9 * 32 + 9
    np.testing.assert_allclose(found.depth, 77.0)
    assert np.isfinite(whole(found).initial_state.temperature).all()
    assert near.counts["without values in reach"] > 0 and near.n_columns < found.n_columns
    apart = dataset.assign(thetao=dataset.thetao.where(dataset.lon == 100.0))
    with error_naming(ValueError, f"reach 3 km none {found.counts['columns']} without temperature"):
        columns(apart, depth="elevation", reach=3e3)
    assert near.fingerprint != found.fingerprint == columns(dataset, depth="elevation", reach=3e6).fingerprint


def test_weather_restoring_waves_and_corrections():
    weather = {"wind_v": 3.0, "wind_speed": 7.5, "air_temperature": 12.0, "humidity": 80.0}
    weather |= {
        "shortwave": 100.0,
        "longwave": -50.0,
        "wind_u": Gridded(variable="taux", unit="m s-1", factor=30.0),
    }
    found = columns(
        fluxes=None,
        weather=weather,
        air_sea={"longwave": "net"},
        restoring={"temperature": "thetao", "temperature_velocity": 2e-5},
        stokes_drift={"u": 0.1, "v": Gridded(sum_of=[Gridded(constant=0.02), Gridded(constant=0.03)])},
        flux_corrections={"heat_flux": Gridded(variable="heat", sign=-1)},
    )
    chosen = np.array([5, 100])
    lat, lon = found.latitude[chosen], found.longitude[chosen]
    case: Any = found.case(chosen, 0.0, DAY)
    air = case.forcing.forcing.weather.at(0.0)
    np.testing.assert_allclose(np.hypot(air.wind_u, air.wind_v), 7.5)
    np.testing.assert_allclose(air.wind_u / air.wind_v, 1.0)
    np.testing.assert_allclose(case.interior.stokes_drift.at_surface(0.0)[1], 0.05)
    np.testing.assert_allclose(case.terms["restoring"].temperature.at(0.0), temperature(lat, lon, 0.0))
    of_month = 0.5 + (np.asarray(case.forcing.time)[:, None] / DAY - 365 / 24) / (365 / 12)
    # The middle of December 2000 lies half a day later in a year of 366 days.
    np.testing.assert_allclose(case.forcing.heat_flux_bias, -heat(of_month % 12.0, lat, lon), atol=0.02)


@pytest.mark.long
@pytest.mark.parametrize("diurnal_cycle", [False, True])
def test_monthly_radiation_takes_the_albedo_of_the_day_or_is_spread_over_it(diurnal_cycle):
    weather: dict[str, Any] = {"wind_u": 5.0, "wind_v": 3.0, "air_temperature": 12.0, "humidity": 80.0}
    weather |= {"longwave": -50.0, "shortwave": Gridded(variable="heat", unit="W m-2")}
    dataset = ocean()
    dataset["heat"] = 0.0 * dataset["heat"] + 200.0
    air_sea = {"longwave": "net", "diurnal_cycle": diurnal_cycle}
    found = columns(dataset, fluxes=None, weather=weather, air_sea=air_sea)
    assert "h apart" in found.notes[-1]
    case: Any = found.case(np.array([5, 100]), 0.0, DAY)
    water = WaterSurface(jnp.zeros(2), jnp.zeros(2), jnp.full(2, 10.0), jnp.full(2, 33.0))
    light = np.stack([case.forcing.at(3600.0 * hour, water).shortwave_flux for hour in range(1, 25)])
    # Of 200 W m-2, water of the tropics and middle latitudes reflects 6 to 20 %, not 40.
    assert np.all((light.mean(axis=0) > 160.0) & (light.mean(axis=0) < 190.0))
    assert np.all(np.ptp(light, axis=0) > 300.0) if diurnal_cycle else np.all(np.ptp(light, axis=0) < 1.0)


def broken(name, change, **attributes):
    dataset = ocean()
    old = dataset[name]
    return dataset.assign({name: (old.dims, change(old.values), old.attrs | attributes)})


EDGES = {"units": "m", "positive": "down"}
WEATHER = {"wind_u": "taux", "wind_v": "VWND", "air_temperature": 10.0, "humidity": 80.0}
WEATHER |= {"shortwave": 100.0, "longwave": 300.0}
TWICE = [*np.arange(0.0, 340.0, 10.0), 330.0, 350.0]
FLOOR = (("lat", "lon"), np.full((9, 36), -80.0), {"units": "m"})
UPWARD = {"standard_name": "surface_upward_sensible_heat_flux"}
REVERSED = {"heat_flux": {"variable": "heat", "sign": -1}}
BAD = (
    (ocean, {"points": GridPoints(spacing=5.0, latitude=[60.0, 80.0])}, "points -40 40 288"),
    (ocean, {"points": SitePoints(places={"siberia": [0.0, 120.0]})}, "points 1"),
    (lambda: broken("heat", lambda v: v, units="degC"), {}, "heat W degC unit"),
    (lambda: broken("thetao", lambda v: v + 273.15), {}, "thetao temperature -5 60 40 0 K"),
    (lambda: broken("heat", lambda v: 1e5 * v), {}, "heat heat_flux -10000 10000 40 0 16"),
    (lambda: ocean().drop_vars("thetao"), {}, "temperature so heat taux variable"),
    (ocean, {"fluxes": {"heat_flux": "qnet"}}, "qnet heat_flux thetao"),
    (ocean, {"temperature": "heat"}, "heat time lat lon"),
    (lambda: broken("so", lambda v: v, standard_name="x"), {"salinity": "so"}, "so salinity_kind x"),
    (lambda: ocean().rename(lat="j").assign_coords(j=("j", np.arange(9), {})), {}, "lon degrees_north"),
    (lambda: ocean().assign_coords(depth=("depth", -DEPTH, EDGES)), {}, "depth 120 positive"),
    (lambda: ocean().assign(floor=FLOOR), {"depth": "floor"}, "floor positive up -80 factor -1"),
    (lambda: ocean(longitude=TWICE), {}, "lon 330"),
    (lambda: ocean(latitude=np.arange(-40.0, 41.0, 10.0) + 100.0), {}, "lat -90 90 140"),
    (ocean, {"fluxes": None, "weather": WEATHER}, "VWND wind_v thetao"),
    (lambda: broken("heat", lambda v: v, **UPWARD), {"fluxes": REVERSED}, "heat sign -1 upward"),
)


def test_bad_maps_say_what_is_wrong_where():
    for dataset, changed, parts in BAD:
        with error_naming(ValueError, parts):
            whole(columns(dataset(), **changed))
    for make, parts in (
        (lambda: MapSection(start_time="2001-01-01", duration=1.0), "weather fluxes"),
        (lambda: GridPoints(spacing=5.0, latitude=[10.0, -10.0]), "latitude 10 -10"),
        (lambda: SitePoints(places={"nowhere": [95.0, 0.0]}), "nowhere latitude longitude 95 0"),
    ):
        with error_naming(ValueError, parts):
            make()


def test_errors_about_headers_do_not_speak_of_values():
    header = header_of(xr.Dataset({"t": ("x", [1.0], {"valid_range": [0.0, 9.0]})}), "t")
    assert "valid_range" not in str(error_of(header, "a profile", "none", "name one"))


def test_gaps_in_some_records_are_filled_or_named(monkeypatch):
    dataset = ocean()
    dataset.heat[3, 4, 5] = np.nan
    found = columns(dataset, duration=200 * DAY, reach=1.5e6)
    at = whole(found).forcing.at(105 * DAY)
    assert found.counts["filled from a neighbour"] == 1 and np.isfinite(np.asarray(at.heat_flux)).all()
    monkeypatch.setattr("tunax_lite.extensions.maps.fields._MOST_SCANNED", 10)
    found = columns(dataset, duration=200 * DAY)
    found.case(slice(None), 0.0, 50 * DAY)
    with error_naming(FileFormatError, "heat 0 50 04-17"):
        found.case(slice(None), 90 * DAY, 110 * DAY)


def test_gaps_of_the_initial_water_are_filled_whichever_record_has_them():
    dataset = ocean()
    values = np.tile(dataset.thetao, (12, 1, 1, 1))
    values[11, :, 4, 5] = np.nan  # the run starts between December and January
    dataset["thetao"] = ("time", *dataset.thetao.dims), values, dataset.thetao.attrs
    found = columns(dataset, reach=1.5e6)
    assert found.counts["filled from a neighbour"] == 1
    filled = np.flatnonzero((found.latitude == 0.0) & (found.longitude == 50.0))
    start = np.asarray(found.case(filled, 0.0, DAY).initial_state.temperature)
    assert np.abs(start - temperature(0.0, 50.0, 0.0)).max() < 5.0
    assert columns(dataset, reach=0.0).counts["without values in reach"] == 1


def test_a_batch_for_notebooks_has_places_and_names():
    places = {"north": [30.0, 200.0], "south": [-30.0, -10.0]}
    case: Any = columns_from_dataset(ocean(), LEVELS, points=SitePoints(places=places), **SETTINGS)
    assert case.batch_shape == (2,) and case.sites == tuple(places)
    np.testing.assert_allclose(case.latitude, [30.0, -30.0])
    case.check_covers(0.0, SETTINGS["duration"])


MAP = """
map:
  paths: ocean.nc
  start_time: 2001-01-01
  duration: 864000.0
  fluxes:
    stress_u: taux
    heat_flux: [heat, {variable: heat, factor: 0.5, sign: -1}, 3]
grid: {kind: uniform, n_cells: 10}
time: {dt: 1800.0, output_interval: 86400.0}
"""

SHORT_WEATHER = "{wind_u: 1, wind_v: 2, air_temperature: 3, humidity: 40}"
LINES_OF_FLUXES = MAP[MAP.index("  fluxes:") : MAP.index("grid:")]


def write(folder: Path, text: str = MAP) -> Path:
    if not (folder / "ocean.nc").exists():
        ocean().to_netcdf(folder / "ocean.nc")
    (folder / "map.yaml").write_text(text, encoding="utf-8")
    return folder / "map.yaml"


def test_a_map_is_built_from_its_file(tmp_path):
    parts = build_map(load_map(write(tmp_path)))
    assert parts.columns.n_columns == 288 and (parts.dt, parts.duration) == (1800.0, 864000.0)
    assert "288 columns" in parts.columns.notes[0] and "36 land" in parts.columns.notes[0]
    columns: Any = pickle.loads(pickle.dumps(parts.columns))  # as a worker receives them
    case: Any = columns.case(np.arange(3), 0.0, 86400.0)
    with xr.open_dataset(tmp_path / "ocean.nc", decode_times=False) as dataset:
        january = dataset.heat.values[0, 0, :3]
        time = np.asarray(case.forcing.time)
        at = np.argmin(np.abs(time - 15.2 * 86400.0))
    np.testing.assert_allclose(case.forcing.fluxes.heat_flux[at], 0.5 * january + 3.0)
    assert isinstance(load(tmp_path / "map.yaml").config, MapConfig)


def test_a_map_converts_the_unit_first(tmp_path):
    heat, changed = "{variable: heat, factor: 2.0, offset: 0.5, sign: -1}", "{variable: heat, unit: W m-2}"
    given = "[heat, {variable: heat, factor: 0.5, sign: -1}, 3]"

    def columns_of(old, new) -> Any:
        return build_map(load_map(write(tmp_path, MAP.replace(old, new)))).columns

    runs = [columns_of(given, one) for one in (heat, changed)]
    one, plain = (run.case(np.arange(2), 0.0, 86400.0).forcing.fluxes.heat_flux for run in runs)
    np.testing.assert_allclose(one, -(2.0 * plain + 0.5))
    with xr.open_dataset(tmp_path / "ocean.nc", decode_times=False) as dataset:
        kelvin = dataset.thetao.copy(data=dataset.thetao + 273.15).assign_attrs(units="K")
        kelvin.to_dataset(name="kelvin").to_netcdf(tmp_path / "kelvin.nc")
        warmest = float(dataset.thetao.max())
    field = "{variable: kelvin, paths: kelvin.nc, unit: K, factor: 2.0, offset: -1.0}"
    case = columns_of("  fluxes:", f"  temperature: {field}\n  fluxes:").case(slice(None), 0.0, 86400.0)
    assert float(np.max(case.initial_state.temperature)) <= 2.0 * warmest - 1.0 + 1e-3


def test_broken_maps_are_refused(tmp_path):
    for old, new, parts in (
        ("  fluxes:", "  flxes:", "map.flxes fluxes"),
        ("stress_u: taux", "stress_u: {constant: 0.1, unit: N m-2}", "map.fluxes.stress_u constant unit"),
        ("  paths: ocean.nc", "  paths: none.nc", "map.paths none.nc"),
        ("  fluxes:", "  points: {name: grid, spacing: 7.0}\n  fluxes:", "points.latitude 7 -90 90"),
        ("  fluxes:", "  air_sea: {heat_factor: 1.1}\n  fluxes:", "map air_sea weather fluxes"),
        ("  fluxes:", f"  weather: {SHORT_WEATHER}\n  fluxes:", "map weather fluxes"),
        (LINES_OF_FLUXES, f"  weather: {SHORT_WEATHER}\n", "map longwave air_sea"),
        ("uniform, n_cells: 10", "native", "uniform stretched faces native"),
        ("output_interval", "duration: 1728000.0, output_interval", "time.duration map.duration 864000"),
        ("heat_flux: [heat,", "heat_flux: [taux,", "taux W N/m2"),
    ):
        assert old in MAP
        with error_naming((ConfigError, FileNotFoundError, ValueError), parts):
            build_map(load_map(write(tmp_path, MAP.replace(old, new))))
