"""Measured weather of a station, ship or buoy from plain tables: CSV or CF NetCDF."""

from collections.abc import Mapping

import jax.numpy as jnp
import numpy as np

from ..air_sea import Weather
from ..air_sea.air import HumidityMeasure
from ..air_sea.bulk_forcing import HUMIDITY_QUANTITIES
from ..time_series import TimeSeries
from .axes import Record, as_paths, in_order, joined
from .errors import FileFormatError, check_possible, names_its_file
from .netcdf import Contents, Variable
from .series import Series, on_common_times
from .table import read_table, record_of

_KNOWN = {
    "wind_u": (("wind_u", "UWND", "u10"), ("eastward_wind",)),
    "wind_v": (("wind_v", "VWND", "v10"), ("northward_wind",)),
    "air_temperature": (("air_temperature", "AIRT"), ("air_temperature",)),
    "relative_humidity": (("relative_humidity", "RELH"), ("relative_humidity",)),
    "wet_bulb": (("wet_bulb", "wet_bulb_temperature"), ("wet_bulb_temperature",)),
    "dew_point": (("dew_point", "DEWT"), ("dew_point_temperature",)),
    "specific_humidity": (("specific_humidity",), ("specific_humidity",)),
    "air_pressure": (
        ("air_pressure", "ATMS"),
        ("air_pressure", "surface_air_pressure", "air_pressure_at_mean_sea_level"),
    ),
    "cloud_cover": (("cloud_cover",), ("cloud_area_fraction",)),
    "precipitation": (
        ("precipitation",),
        ("rainfall_rate", "rainfall_flux", "precipitation_flux", "lwe_precipitation_rate"),
    ),
    "shortwave": (("shortwave",), ()),
    "longwave": (("longwave",), ()),
}
"""Names of a quantity in files: plain ones, ours first, and CF standard names."""
_RADIATION = {
    ("shortwave", "downward"): "surface_downwelling_shortwave_flux_in_air",
    ("shortwave", "net"): "surface_net_downward_shortwave_flux",
    ("longwave", "downward"): "surface_downwelling_longwave_flux_in_air",
    ("longwave", "net"): "surface_net_downward_longwave_flux",
}
_NEEDED = ("wind_u", "wind_v", "air_temperature", "humidity", "air_pressure")
_OPTIONAL = ("cloud_cover", "precipitation")


@names_its_file("a table of the weather")
def read_weather(
    paths,
    *,
    start_time: str | None,
    variables: Mapping[str, str | float] | None = None,
    units: Mapping[str, str] | None = None,
    humidity_measure: HumidityMeasure | None = None,
    shortwave: str | None = "downward",
    longwave: str | None = "downward",
    time: str | None = None,
    longest_gap: float | None = None,
    length: float = 1e12,
    name: str | None = None,
) -> tuple[TimeSeries[Weather], HumidityMeasure]:
    """The weather, and what its humidity measures.

    Args:
        paths: one table, or several: quantities apart, or one year after the other.
        start_time: ISO 8601 time at which the time of the case is 0, Universal Time; `None` for files whose
            times count from the start of the case.
        variables: name in the file, or a number, by the name of a field of `Weather`; what is left out is
            found by our names or CF standard names.
        units: unit by our name, also for `time`; goes before the one in the file.
        humidity_measure: what the humidity is; by default what the file has.
        shortwave, longwave: "downward" or "net" for a series that is needed; `None` where a formula gives it.
        time: name of the times, where a file has several.
        longest_gap: refuse a longer time between two records [s].
        length: of the run [s], for weather that is all numbers.
        name: for messages; by default that of the first file.

    Raises:
        FileNotFoundError: no such file.
        FileFormatError: a quantity that is missing or twice there, another unit, a gap, times that are not in
            order, a value that cannot be, or net radiation under the name of downward radiation.
        ValueError: unknown names, or series that do not overlap.
    """
    given, units = dict(variables or {}), dict(units or {})
    _check_names(given, units)
    paths = as_paths(paths)
    tables = [read_table(path) for path in paths]
    measure = _measure(tables, given, humidity_measure)
    kinds = {"shortwave": shortwave, "longwave": longwave}
    options = {
        "start_time": start_time,
        "time": time,
        "time_unit": units.get("time"),
        "longest_gap": longest_gap,
    }
    found: dict[str, Series | float] = {}
    for field in (*_NEEDED, *_OPTIONAL, *(key for key, kind in kinds.items() if kind is not None)):
        quantity = HUMIDITY_QUANTITIES[measure] if field == "humidity" else field
        value, kind = given.get(field), kinds.get(field)
        if isinstance(value, (int, float)):
            check_possible(paths[0], field, quantity, np.asarray([float(value)]))
            found[field] = float(value)
            continue
        parts = []
        for table in tables:
            variable = table.variables.get(value) if value else _find(table, quantity, kind)
            if variable is not None:
                record = record_of(table, variable.name, quantity, unit=units.get(field), **options)
                _check_radiation(record, field, kind)
                parts.append(record)
        if parts:
            found[field] = joined(in_order(parts, "give each time once"))
        elif field not in _OPTIONAL or value is not None:
            raise _missing(tables, field, quantity, value, kind)
    instants, values = on_common_times(found, length)
    arrays = {field: np.asarray(value + 0.0 * instants) for field, value in values.items()}
    return TimeSeries(jnp.asarray(instants, dtype=float), Weather(**arrays), name or paths[0].name), measure


def _check_names(variables: Mapping, units: Mapping) -> None:
    fields = tuple(Weather.__dataclass_fields__)
    for key, names, known in (("variables", variables, fields), ("units", units, (*fields, "time"))):
        unknown = [name for name in names if name not in known]
        if unknown:
            raise ValueError(f"{key}: expected names among {', '.join(known)}, got '{unknown[0]}'.")


def _names_of(quantity: str, kind: str | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Plain names and CF standard names of a quantity; radiation has a kind, downward or net."""
    names, standard_names = _KNOWN[quantity]
    return names, standard_names if kind is None else (_RADIATION[quantity, kind],)


def _find(table: Contents, quantity: str, kind: str | None) -> Variable | None:
    return table.find(quantity, *_names_of(quantity, kind), f"choose one (variables.{quantity})")


def _measure(tables: list[Contents], given: Mapping, wanted: HumidityMeasure | None) -> HumidityMeasure:
    """What the humidity is."""
    if wanted is not None:
        return wanted
    if "humidity" in given:
        expected = "humidity_measure with variables.humidity"
        raise tables[0].error("humidity", expected, "none", "say what it measures")
    found: list[HumidityMeasure] = [
        measure
        for measure, quantity in HUMIDITY_QUANTITIES.items()
        if any(_find(table, quantity, None) for table in tables)
    ]
    if len(found) != 1:
        raise tables[0].error(
            "humidity",
            f"one of {', '.join(HUMIDITY_QUANTITIES.values())}",
            " and ".join(HUMIDITY_QUANTITIES[measure] for measure in found) or "none",
            "name it (variables.humidity) and say what it measures (humidity_measure)",
        )
    return found[0]


def _check_radiation(record: Record, field: str, kind: str | None) -> None:
    """Net radiation is not taken for that of the sky, or the other way round."""
    if kind is None:
        return
    values, other = record.values, "net" if kind == "downward" else "downward"
    is_other = record.variable.attrs.get("standard_name") == _RADIATION[field, other]
    # The sky sends more than 50 W m-2 in the coldest air; the water loses more than it gets on the mean.
    if field == "longwave":
        is_other = is_other or (values.min() < 50.0 if kind == "downward" else values.mean() > 100.0)
    if is_other:
        got = f"{values.min():g} to {values.max():g} W m-2, which is {other}"
        raise record.variable.error(f"{kind} {field} radiation", got, f"set {field}: {other}")


def _missing(
    tables: list[Contents], field: str, quantity: str, name: str | None, kind: str | None
) -> FileFormatError:
    names, standard_names = _names_of(quantity, kind)
    wanted = f"'{name}'" if name else " or ".join((*names, *standard_names))
    advice = f"name it, or give a number (variables.{field})"
    if kind is not None:
        advice += ", or choose a formula of the radiation"
    there = ", ".join(table.listing for table in tables)
    return tables[0].error(field, f"a variable {wanted}", f"only {there}", advice)
