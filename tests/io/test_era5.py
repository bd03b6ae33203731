"""The weather of ERA5 from files as they were before 2024 and as they are since."""

import datetime
from typing import Any

import netCDF4
import numpy as np
import pytest
import xarray as xr

from tests.errors import error_naming
from tunax_lite.io import FileFormatError, read_era5, read_era5_fluxes, read_numbers

LATITUDES = np.array([50.5, 50.25, 50.0])
LONGITUDES = np.array([-145.25, -145.0, -144.75])
PLACE: dict[str, Any] = {"latitude": 50.1, "longitude": -144.9}
START = "2012-06-10T00:00:00"
DAYS_FROM_1900, DAYS_FROM_1970 = (
    (datetime.date(2012, 6, 10) - datetime.date(year, 1, 1)).days for year in (1900, 1970)
)
N = 49
HOURS = np.arange(N, dtype=float)
# Noon is at 21:40 Universal Time.
SUN = np.maximum(0.0, 700.0 * np.cos(2.0 * np.pi * (HOURS - 0.5 - 21.67) / 24.0))
SERIES = {
    "u10": ("m s**-1", 8.0 + 0.1 * HOURS),
    "v10": ("m s**-1", -3.0 + 0.0 * HOURS),
    "t2m": ("K", 283.15 + np.sin(HOURS)),
    "d2m": ("K", 280.15 + 0.0 * HOURS),
    "sp": ("Pa", 1.013e5 + 10.0 * HOURS),
    "tcc": ("(0 - 1)", np.clip(HOURS / 40.0, 0.0, 1.0)),
    "ssrd": ("J m**-2", 3600.0 * SUN),
    "strd": ("J m**-2", 3600.0 * (300.0 + HOURS)),
    "tp": ("m", 1e-3 * (HOURS % 5)),
}
SUMS = ("ssrd", "strd", "tp")


def write(path, series=None, *, style="new", hours=HOURS, units=None, slope=0.0, **replaced):
    """All parameters on a grid of 3 by 3 points, with a slope [1 per point] to tell the points apart."""
    series = SERIES if series is None else series
    with netCDF4.Dataset(path, "w") as file:
        name = "valid_time" if style == "new" else "time"
        file.createDimension(name, len(hours))
        file.createDimension("latitude", 3)
        file.createDimension("longitude", 3)
        time = file.createVariable(name, "i8" if style == "new" else "i4", (name,))
        if style == "new":
            time.setncatts({"units": "seconds since 1970-01-01", "calendar": "proleptic_gregorian"})
            time[:] = 86400 * DAYS_FROM_1970 + np.round(3600.0 * np.asarray(hours)).astype(int)
            file.createVariable("expver", str, (name,))[:] = np.array(["0001"] * len(hours), object)
            file.createVariable("number", "i8", ())[:] = 0
        else:
            time.setncatts({"units": "hours since 1900-01-01 00:00:00.0", "calendar": "gregorian"})
            time[:] = 24 * DAYS_FROM_1900 + np.asarray(hours).astype(int)
        file.createVariable("latitude", "f8", ("latitude",))[:] = LATITUDES
        # Old files count from 0 to 360.
        file.createVariable("longitude", "f8", ("longitude",))[:] = (
            LONGITUDES if style == "new" else LONGITUDES + 360.0
        )
        versions = style == "old with preliminary"
        dimensions = (name, *(("expver",) if versions else ()), "latitude", "longitude")
        if versions:
            file.createDimension("expver", 2)
            file.createVariable("expver", "i4", ("expver",))[:] = [1, 5]
        points = 1.0 + slope * (3.0 * np.arange(3.0)[:, None] + np.arange(3.0))
        for key, (unit, values) in series.items():
            values = np.asarray(replaced.get(key, values))[: len(hours), None, None] * points
            variable = file.createVariable(key, "f8", dimensions, fill_value=np.nan)
            variable.units = (units or {}).get(key, unit)
            if versions:
                final = np.arange(len(hours))[:, None, None] < 30
                variable[:, 0] = np.where(final, values, np.nan)
                variable[:, 1] = np.where(final, np.nan, values)
            else:
                variable[:] = values
    return path


def read(path, **options) -> Any:
    given: dict[str, Any] = {"start_time": START, **PLACE, **options}
    return read_era5(path, **given)[0]


def at(weather, hour) -> Any:
    return weather.at(3600.0 * hour)


@pytest.mark.parametrize("style", ["new", "old", "old with preliminary"])
def test_values_and_units(tmp_path, style):
    path = write(tmp_path / "e.nc", style=style, units={"ssrd": "J/m2"})
    series, measure = read_era5(path, **PLACE, start_time=START)
    for hour in (0, 17, 48):
        weather = at(series, hour)
        found = [weather.wind_u, weather.wind_v, weather.air_temperature, weather.humidity]
        wanted = [SERIES[key][1][hour] for key in ("u10", "v10", "t2m", "d2m")]
        np.testing.assert_allclose(found, np.array(wanted) - [0, 0, 273.15, 273.15], atol=1e-10)
        np.testing.assert_allclose(weather.air_pressure, SERIES["sp"][1][hour])
        np.testing.assert_allclose(weather.cloud_cover, SERIES["tcc"][1][hour], atol=1e-12)
    for hour in (1, 22, 48):  # the mean over the hour that ends at the stamp
        weather = at(series, hour - 0.5)
        found = [weather.shortwave, weather.longwave, weather.precipitation]
        wanted = [SUN[hour], 300.0 + hour, 1e-3 * (hour % 5) / 3600.0]
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15)
    assert measure == "dew_point" and series.time[0] <= 0.0 and series.time[-1] == 48 * 3600.0


NET: dict[str, Any] = {"shortwave": "net", "longwave": "net"}


def test_net_radiation(tmp_path):
    path = write(tmp_path / "n.nc", net_series(SUN * 0.94, -60.0 + 0.0 * HOURS))
    weather = at(read(path, **NET), 21.5)
    np.testing.assert_allclose([weather.shortwave, weather.longwave], [0.94 * SUN[22], -60.0])


def net_series(short, long):
    kept = {key: value for key, value in SERIES.items() if key not in ("ssrd", "strd")}
    return kept | {"ssr": ("J m**-2", 3600.0 * short), "str": ("J m**-2", 3600.0 * long)}


@pytest.mark.parametrize("style", ["new", "old"])
def test_between_the_points_of_the_grid(tmp_path, style):
    path = write(tmp_path / "e.nc", style=style, slope=1e-3, tcc=0.5 * SERIES["tcc"][1])
    # The place is 0.6 of a cell south of the second row and 0.4 of a cell east of the second column.
    factor = 1.0 + 1e-3 * (3.0 * 1.6 + 1.4)
    np.testing.assert_allclose(at(read(path), 3).wind_u, 8.3 * factor, rtol=1e-12)
    # The cells around the outermost points.
    outside = read(path, latitude=50.6, longitude=-145.3)
    np.testing.assert_allclose(at(outside, 3).wind_u, 8.3, rtol=1e-12)
    with error_naming(FileFormatError, "latitude 52 50 50.5"):
        read(path, latitude=52.0)
    with error_naming(FileFormatError, "longitude 35"):
        read(path, longitude=35.0)


def test_parameters_and_months_in_files_of_their_own(tmp_path):
    instant = {key: value for key, value in SERIES.items() if key not in SUMS}
    sums = {key: SERIES[key] for key in SUMS}
    later = {key: (unit, values[25:]) for key, (unit, values) in instant.items()}
    files = [
        write(tmp_path / "later.nc", later, hours=HOURS[25:]),
        write(tmp_path / "instant.nc", instant, hours=HOURS[:25]),
        write(tmp_path / "sums.nc", sums),
    ]
    whole = read(write(tmp_path / "whole.nc"))
    found = read(files)
    np.testing.assert_allclose(found.time, whole.time)
    np.testing.assert_allclose(found.values.wind_u, whole.values.wind_u)
    np.testing.assert_allclose(found.values.shortwave, whole.values.shortwave)
    with error_naming(FileFormatError, "later.nc u10 2012-06-12T00:00:00"):
        read([*files, files[0]])
    with error_naming(FileFormatError, "ssrd strd"):
        read(files[:2])


def test_parameters_of_other_days_are_refused(tmp_path):
    light = {name: SERIES[name] for name in ("ssrd", "strd")}
    rest = {name: one for name, one in SERIES.items() if name not in light}
    parts = [write(tmp_path / "one.nc", rest), write(tmp_path / "two.nc", light, hours=HOURS + 240.0)]
    with error_naming(FileFormatError, "time"):
        read(parts)


def test_parts_that_may_be_absent(tmp_path):
    few = {key: value for key, value in SERIES.items() if key not in ("tcc", "tp", "sp")}
    weather = read(write(tmp_path / "e.nc", few | {"msl": SERIES["sp"]}))
    assert weather.values.cloud_cover is None
    np.testing.assert_allclose(at(weather, 4).air_pressure, 1.0134e5)


def without(*names):
    return {key: value for key, value in SERIES.items() if key not in names}


def test_formulae_from_the_cloud_cover_need_no_radiation(tmp_path):
    dark = read(write(tmp_path / "none.nc", without("strd", "ssrd")), longwave=None, shortwave=None)
    assert dark.values.shortwave is None and dark.values.longwave is None


def test_what_is_missing_says_who_needs_it(tmp_path):
    for absent, options, message in (
        (("tcc", "strd"), {"longwave": None}, "tcc total_cloud_cover radiation"),
        (("strd",), {}, "strd radiation tcc"),
        (("u10", "d2m", "ssrd"), {}, "u10 10u 10m_u_component_of_wind 2m_dewpoint_temperature ssrd"),
    ):
        with error_naming(FileFormatError, message):
            read(write(tmp_path / "e.nc", without(*absent)), **options)


def test_rounding_of_packed_numbers_is_not_an_error(tmp_path):
    path = write(tmp_path / "e.nc", tp=SERIES["tp"][1] - 1e-9, ssrd=SERIES["ssrd"][1] - 0.06)
    weather = read(path).values
    assert np.min(weather.precipitation) == 0.0 and np.min(weather.shortwave) == 0.0


def changed(key, record, value):
    values = SERIES[key][1].copy()
    values[record] = value
    return {key: values}


NOON = "2012-06-10T10:00:00"
WRONG = [
    ({"t2m": SERIES["t2m"][1] - 273.15}, "t2m -263.15 2012-06-10T00:00:00 degC"),
    ({"units": {"sp": "hPa"}}, "sp Pa 1.013e+07"),
    ({"units": {"ssrd": "W m-2"}}, "ssrd 'W m-2' downloaded"),
    (changed("ssrd", 20, -1e5), "ssrd -27.7778 2012-06-10T20:00:00"),
    (changed("ssrd", 10, 5e5), f"ssrd 20 138.889 {NOON}"),
    ({"ssrd": np.cumsum(SERIES["ssrd"][1])}, "ssrd 0 1500"),
    ({"ssrd": np.roll(SERIES["ssrd"][1], 10)}, "ssrd W 2012-06-10T05:00:00"),
    ({"strd": -SERIES["strd"][1]}, "strd 30 700"),
    (changed("u10", 7, np.nan), "u10 nan 2012-06-10T07:00:00"),
    ({"hours": np.delete(HOURS, [5, 6])}, "u10 3600 10800 2012-06-10T04:00:00 4"),
    ({"hours": HOURS[[0, 1, 3, 2, 4]]}, "valid_time 2012-06-10T02:00:00 3 2012-06-10T03:00:00"),
]


def test_files_that_cannot_be_right(tmp_path):
    for number, (written, message) in enumerate(WRONG):
        with error_naming(FileFormatError, f"{number}.nc {message}"):
            read(write(tmp_path / f"{number}.nc", **written))


def test_options_that_do_not_exist(tmp_path):
    path = write(tmp_path / "e.nc")
    for options, message in (
        ({"shortwave": "up"}, "shortwave downward net up"),
        ({"shortwave": "net"}, "shortwave net longwave downward"),
        ({"latitude": 91.0}, "latitude -90 90 91"),
        ({"start_time": "June"}, "start_time June"),
    ):
        with error_naming(ValueError, message):
            read(path, **options)
    with error_naming(FileFormatError, "ssr str radiation"):
        read(path, **NET)


FLUXES = {
    "ssr": ("J m**-2", 3600.0 * 0.94 * SUN),
    "str": ("J m**-2", -3600.0 * (60.0 + HOURS)),
    "sshf": ("J m**-2", -3600.0 * 20.0 + 0.0 * HOURS),
    "slhf": ("J m**-2", -3600.0 * 80.0 + 0.0 * HOURS),
    "ewss": ("N m**-2 s", 3600.0 * 0.1 + 0.0 * HOURS),
    "nsss": ("N m**-2 s", -3600.0 * 0.01 * HOURS),
    "tp": ("m", 1e-3 * (HOURS % 5)),
    "e": ("m of water equivalent", -1e-4 + 0.0 * HOURS),
}
MEANS = {
    "ssr": "msnswrf",
    "str": "avg_snlwrf",
    "sshf": "msshf",
    "slhf": "mslhf",
    "ewss": "metss",
    "nsss": "mntss",
}


def read_fluxes(path, **options) -> Any:
    return read_era5_fluxes(path, **{"start_time": START, **PLACE, **options})


def test_fluxes_that_era5_computed(tmp_path):
    forcing = read_fluxes(write(tmp_path / "f.nc", FLUXES))
    at = forcing.at(20.5 * 3600.0)
    found = [at.heat_flux, at.shortwave_flux, at.stress_u, at.stress_v, at.freshwater_flux]
    wanted = [-81.0 - 100.0, 0.94 * SUN[21], 0.1, -0.21, (1.0 - 0.1) / 3600.0]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    forcing.check_covers(0.0, 48 * 3600.0)
    # Means over the hour instead of sums, without precipitation.
    means = {
        MEANS[key]: (unit.replace("J", "W").removesuffix(" s"), values / 3600.0)
        for key, (unit, values) in FLUXES.items()
        if key in MEANS
    }
    of_means = read_fluxes(write(tmp_path / "m.nc", means)).at(20.5 * 3600.0)
    np.testing.assert_allclose(of_means.heat_flux, -181.0)
    np.testing.assert_allclose(of_means.stress_v, -0.21)
    np.testing.assert_allclose(of_means.freshwater_flux, -80.0 / 2.5008e6, rtol=1e-12)  # of the latent heat
    few = {key: value for key, value in FLUXES.items() if key not in ("ewss", "nsss")}
    with error_naming(
        FileFormatError, "ewss eastward_turbulent_surface_stress nsss northward_turbulent_surface_stress"
    ):
        read_fluxes(write(tmp_path / "few.nc", few))


@pytest.mark.long
def test_sums_over_three_hours(tmp_path):
    stamps = np.arange(3, 49, 3)
    three = {key: (unit, values[stamps]) for key, (unit, values) in SERIES.items()}
    sums = {key: SERIES[key][1][1:].reshape(-1, 3).sum(axis=1) for key in SUMS}
    path = write(tmp_path / "three.nc", three, hours=stamps, **sums)  # pyright: ignore[reportArgumentType]
    rain = SERIES["tp"][1][22:25].sum() / 10800.0
    np.testing.assert_allclose(at(read(path, accumulation=10800.0), 22.5).precipitation, rain, rtol=1e-12)
    third = read(write(tmp_path / "third.nc", three, hours=stamps), accumulation=3600.0)
    np.testing.assert_allclose(at(third, 11.5).longwave, 312.0)
    for options, message in (({}, "tp 10800 accumulation"), ({"accumulation": 0.0}, "accumulation 0")):
        with error_naming(ValueError, message):
            read(path, **options)
    midnight: Any = {key: np.cumsum(SERIES[key][1] * (HOURS > 0)) for key in SUMS}  # as ERA5-Land has them
    with error_naming(FileFormatError, "ssrd accumulated"):
        read(write(tmp_path / "land.nc", **midnight))


def test_members_tell_over_what_time_fluxes_are_summed(tmp_path):
    stamps = np.arange(3, 49, 3)
    dark = {key: (unit, values[stamps]) for key, (unit, values) in FLUXES.items()}
    path = write(tmp_path / "dark.nc", dark, hours=stamps)
    with error_naming(FileFormatError, "ssr 10800 accumulation"):
        read_fluxes(path)
    for members, hours in ((0, 1), (10, 3)):
        with netCDF4.Dataset(path, "a") as file:
            for name in FLUXES:
                file[name].GRIB_totalNumber = np.int64(members)
        heat = read_fluxes(path).at(3600.0 * (24.0 - 0.5 * hours)).heat_flux
        np.testing.assert_allclose(heat, -(20.0 + 80.0 + 60.0 + 24.0) / hours)


def test_the_integral_over_each_hour_is_the_sum_of_the_file(tmp_path):
    weather = read(write(tmp_path / "a.nc"))
    time, light = np.asarray(weather.time), np.asarray(weather.values.shortwave)
    integral = np.append(0.0, np.cumsum(np.diff(time) * 0.5 * (light[1:] + light[:-1])))
    by_hour = np.diff(np.interp(3600.0 * HOURS, time, integral))
    np.testing.assert_allclose(by_hour, SERIES["ssrd"][1][1:], rtol=1e-5, atol=10.0)


def test_points_on_land(tmp_path):
    path = write(tmp_path / "e.nc")
    with netCDF4.Dataset(path, "a") as file:
        file["t2m"][:, 1:, :2] = np.nan
    with error_naming(FileFormatError, "t2m 2012-06-10T00:00:00 point"):
        read(path)
    np.testing.assert_allclose(at(read(path, latitude=50.25, longitude=-144.75), 0).air_temperature, 10.0)
    sst = write(tmp_path / "sst.nc", {"sst": SERIES["t2m"]})
    numbers = read_numbers(sst, "sea_surface_temperature", "sst", start_time=START, position=(50.1, -144.9))
    np.testing.assert_allclose(numbers.values, SERIES["t2m"][1] - 273.15)
    with error_naming(ValueError, "latitude longitude -144.9 50.1 swap"):
        read_numbers(sst, "sea_surface_temperature", "sst", start_time=START, position=(-144.9, 50.1))


def test_a_dataset_of_xarray(tmp_path):
    path = write(tmp_path / "e.nc")
    with xr.open_dataset(path, engine="netcdf4") as dataset:
        loaded = dataset.load().drop_vars(("number", "expver"))
    found = read(loaded).values
    np.testing.assert_allclose(found.shortwave, read(path).values.shortwave)
