"""Weather and surface fluxes from the ERA5 reanalysis on single levels, at one position.

Source: Hersbach et al. (2020), Q. J. R. Meteorol. Soc. 146, 1999-2049; ECMWF documentation: radiation,
precipitation and fluxes are accumulated over the hour before the time stamp (three hours in the ensemble) and
count downward. All other parameters are instantaneous.
"""

import jax.numpy as jnp
import numpy as np

from ..air_sea import (
    AbstractAlbedo,
    AbstractBulkFormula,
    AbstractLongwave,
    BulkForcing,
    ClearSky,
    ConstantAlbedo,
    DownwardLongwave,
    Fairall,
    MeanSun,
    Payne,
    SolarPosition,
    Weather,
    with_mean_sun,
)
from ..column.forcing import TimeSeriesForcing
from ..column.time_series import TimeSeries
from .axes import Record, as_sources, in_order, joined, stem_of
from .era5_sums import HOUR, Parameter, Point, checked, parameters_of, with_conversions
from .errors import FileFormatError, check_names, name_of, names_its_file
from .grib import opened
from .netcdf import read_contents
from .places import read_at
from .units import Conversions
from .yaml_file import NAMES

_KELVIN = 273.15
_PARAMETERS = parameters_of(NAMES["era5"])
_RADIATION = {kind: parameters_of(known) for kind, known in NAMES["era5_radiation"].items()}
_FLUXES = parameters_of(NAMES["era5_fluxes"])
_OPTIONAL = ("cloud_cover", "precipitation", "evaporation")
_DATA_SET = "reanalysis-era5-single-levels of the Climate Data Store"


@names_its_file("a file of ERA5")
def read_era5(
    paths,
    *,
    latitude: float,
    longitude: float,
    start_time: str,
    radiation: str = "downward",
    interpolation: str = "bilinear",
    accumulation: float | None = None,
    units: Conversions | None = None,
    bulk: AbstractBulkFormula | None = None,
    albedo: AbstractAlbedo | None = None,
    longwave: AbstractLongwave | None = None,
    shortwave: ClearSky | None = None,
    name: str | None = None,
) -> BulkForcing:
    """Bulk forcing from ERA5: u10, v10, t2m, d2m, sp or msl, radiation, and tcc and tp if present.

    Means of accumulated parameters are assigned to the middle of their interval and interpolated linearly. If
    the file has precipitation, the forcing includes evaporation too.

    Args:
        paths: one file or xarray dataset, or several (one per parameter, one per month); NetCDF, or GRIB,
            which needs the package cfgrib.
        latitude, longitude: of the position [degrees north, degrees east].
        start_time: ISO 8601 time, universal time, at which the time of the case is 0.
        radiation: "downward" takes ssrd less an albedo and strd less the emission of the modelled surface;
            "net" takes ssr and str, which contain the albedo and surface temperature of ERA5.
        interpolation: bilinear between the four surrounding grid points, or the nearest point.
        accumulation: interval before the time stamp over which parameters are accumulated [s]. By default it
            is either one hour or the time between records; the reader decides by the sun's elevation, by the
            air temperature, then by the number of members in the GRIB attributes. Sums since midnight
            (ERA5-Land) are detected from their growth. If given, records may be more than six hours apart.
        units: units or conversions by the package's names; override those in the file. `humidity` is the dew
            point.
        bulk: formula of the turbulent fluxes; `Fairall` by default.
        albedo: of the water, unless the shortwave radiation is net; `Payne` by default. That of the day where
            records are more than three hours apart.
        longwave, shortwave: formulae based on cloud cover that replace the radiation of ERA5, which is then
            not read; they need tcc.
        name: for messages; by default the name of the first file.

    Raises:
        FileFormatError: a parameter that is missing or in an unexpected unit, a position outside the grid,
            missing or unsorted times, a gap, or an impossible value, with its time.
        ValueError: an albedo with net radiation, a longwave that is not a formula, or unknown options.
    """
    if radiation not in _RADIATION:
        raise ValueError(f"radiation: expected 'downward' or 'net', got '{radiation}'.")
    if longwave is not None and not longwave.needs_cloud:
        raise ValueError(
            f"longwave: expected a formula from the cloud cover, got {type(longwave).__name__}; leave it out "
            "for the radiation of ERA5."
        )
    is_net = radiation == "net"
    if is_net and shortwave is None and albedo is not None:
        raise ValueError("albedo: expected none with net radiation, from which ERA5 took its own; leave it.")
    formulae = {"longwave": longwave, "shortwave": shortwave}
    cloudy = [f"{field} formula {type(formula).__name__}" for field, formula in formulae.items() if formula]
    sources = opened(as_sources(paths))
    parameters = _PARAMETERS | {k: v for k, v in _RADIATION[radiation].items() if formulae[k] is None}
    place = {"latitude": latitude, "longitude": longitude}
    check_names("units", units or {}, (*_PARAMETERS, *formulae))
    parameters = with_conversions(parameters, {k: v for k, v in (units or {}).items() if k in parameters})
    found = _read_point(sources, parameters, place, start_time, interpolation)
    missing, other = [key for key in parameters if key not in found], "downward" if is_net else "net"
    for key in missing:
        hint = ""
        if key == "cloud_cover" and cloudy:
            hint = f", which the {' and the '.join(cloudy)} needs"
        elif key in formulae:
            hint = f", choose radiation='{other}', or a {key} formula, which needs tcc"
        if hint or key not in _OPTIONAL:
            raise _missing(sources[0], parameters, [key, *(k for k in missing if k != key)], hint)
    sun = SolarPosition(start_time=start_time, latitude=latitude, longitude=longitude)
    found = checked(found, parameters, accumulation, sun)
    if albedo is None:
        albedo = ConstantAlbedo(0.0) if is_net and shortwave is None else Payne()
    time, values = _common(found)
    celsius = {key: values[key] - _KELVIN for key in ("air_temperature", "humidity")}
    weather = Weather(**values | celsius)
    forcing = BulkForcing(
        weather=TimeSeries(jnp.asarray(time, dtype=float), weather, name or stem_of(sources[0])),
        bulk=Fairall() if bulk is None else bulk,
        longwave=DownwardLongwave() if longwave is None and not is_net else longwave,
        shortwave=shortwave,
        albedo=albedo,
        sun=sun,
        humidity_measure="dew_point",
        evaporation="precipitation" in found,
    )
    return with_mean_sun(forcing, MeanSun(), step=HOUR, duration=float(time[-1]))[0]


@names_its_file("a file of ERA5")
def read_era5_fluxes(
    paths,
    *,
    latitude: float,
    longitude: float,
    start_time: str,
    interpolation: str = "bilinear",
    accumulation: float | None = None,
    units: Conversions | None = None,
) -> TimeSeriesForcing:
    """The surface fluxes computed by ERA5 over its own sea surface temperature.

    Net radiation, turbulent heat fluxes and stress (ssr, str, sshf, slhf, ewss, nsss), accumulated or as
    means (msnswrf or avg_snswrf, ...), and precipitation minus evaporation if tp and e are present.

    Args:
        paths, latitude, longitude, start_time, interpolation, accumulation, units: as in `read_era5`.

    Raises:
        FileFormatError, ValueError: as in `read_era5`.
    """
    sources, place = opened(as_sources(paths)), {"latitude": latitude, "longitude": longitude}
    parameters = with_conversions(_FLUXES, units or {})
    found = _read_point(sources, parameters, place, start_time, interpolation)
    missing = [key for key in _FLUXES if key not in found]
    if set(missing) - set(_OPTIONAL):
        raise _missing(sources[0], _FLUXES, missing, "; or read_era5 makes the fluxes of the weather")
    found = checked(found, parameters, accumulation, SolarPosition(start_time, latitude, longitude))
    time, values = _common(found)
    heat = sum(values[key] for key in ("longwave", "sensible", "latent"))
    fluxes = {key: values[key] for key in ("stress_u", "stress_v")}
    fluxes |= {"heat_flux": heat, "shortwave_flux": values["shortwave"]}
    if "precipitation" in values and "evaporation" in values:
        fluxes["freshwater_flux"] = 1000.0 * (values["precipitation"] + values["evaporation"])
    return TimeSeriesForcing.from_values(time, **fluxes)


def _missing(source, parameters: dict[str, Parameter], missing: list[str], hint: str) -> FileFormatError:
    """The error for parameters that no file contains: names all of them, with the first as the key."""
    wanted = [parameters[key] for key in missing if key == missing[0] or key not in _OPTIONAL]
    listed = ", ".join(f"{' or '.join(one.names)} ({one.download})" for one in wanted)
    expected, name = f"{listed} of {_DATA_SET} in one of the files", wanted[0].names[0]
    return FileFormatError(name_of(source), name, expected, "none", f"download it{hint}")


def _common(found: dict[str, Point]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """All series on the union of time stamps and interval centres, interpolated linearly; sums as means."""
    times = {key: point.time - 0.5 * point.interval for key, point in found.items()}
    # A mean holds for half its interval on either side of the centre.
    first = max(times[key][0] - 0.5 * point.interval for key, point in found.items())
    last = min(times[key][-1] + 0.5 * point.interval for key, point in found.items())
    common = np.unique(np.concatenate([*times.values(), [first, last]]))
    common = common[(common >= first) & (common <= last)]
    if common.size < 2:
        path, expected = next(iter(found.values())).records[0].variable.path, "times that all parameters have"
        raise FileFormatError(path, "time", expected, "none", "download them again")
    sums = {key: point.values / (HOUR if point.interval else 1.0) for key, point in found.items()}
    return common, {key: np.interp(common, times[key], values) for key, values in sums.items()}


def _read_point(
    sources: list, parameters: dict[str, Parameter], place: dict[str, float], start: str, interpolation: str
) -> dict[str, Point]:
    """Read series at a position, by the package's names; of several names, the first that any file has."""
    if interpolation not in ("bilinear", "nearest"):
        raise ValueError(f"interpolation: expected 'bilinear' or 'nearest', got '{interpolation}'.")
    latitude, longitude = place.values()
    if not (-90.0 <= latitude <= 90.0 and -180.0 <= longitude <= 360.0):
        expected = "a latitude from -90 to 90 and a longitude from -180 to 360 degrees"
        raise ValueError(f"expected {expected}, got {latitude:g} and {longitude:g}.")
    names = {key: (*one.names, one.download, *one.means) for key, one in parameters.items()}
    wanted = {name for known in names.values() for name in known}
    pieces: dict[str, list[Record]] = {}
    for source in sources:
        for variable, axis in read_at(source, wanted, place, interpolation):
            record = Record(variable, axis, axis.since(start), variable.values)
            pieces.setdefault(variable.name, []).append(record)
    if not pieces:
        file = read_contents(sources[0], only=())
        listed = ", ".join(sorted(name for one in parameters.values() for name in one.names))
        advice = "use a NetCDF file of ERA5 on single levels"
        raise file.error("file", f"a variable among {listed}", file.listing, advice)
    found = {}
    for key, known in names.items():
        for name in [name for name in known if name in pieces][:1]:
            records = in_order(pieces[name], "give each hour of a parameter once")
            series = joined(records)
            found[key] = Point(records, series.time, series.values)
    return found
