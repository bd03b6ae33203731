"""Tables and profiles in text, series of one position, and the weather from a station, ship or buoy.

Tables are CSV with one line per time, or NetCDF with variables over time. Profiles in text become columns
with the values of all depths one after the other. They are a table with columns of time, depth (or z) and
values; GOTM profiles, each under a line with its time, number of levels and their order; or PMEL blocks with
one column per depth followed by quality codes, as the Global Tropical Moored Buoy Array (NOAA/PMEL) delivers
them in ASCII.
"""

import csv
import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .._types import warn_of_input
from ..air_sea import Weather
from ..air_sea.air import HumidityMeasure
from ..air_sea.bulk_forcing import HUMIDITY_QUANTITIES, WEATHER
from ..column.observables import OBSERVABLES, is_scalar, parse
from ..column.time_series import TimeSeries
from ..plausibility import recorded
from ..quantities import quantity_of
from .attributes import examine
from .axes import as_sources, at_position, check_measured, find_axis, stem_of
from .dated_text import begins_with_header, find_profiles, read_columns, read_lines
from .errors import (
    FileFormatError,
    check_names,
    check_possible,
    decimal,
    is_path,
    name_of,
    names_its_file,
    read_text,
)
from .gaps import Position, bridged
from .local_tables import DATE, TIMES, decoded, is_other_zone, missing_code, with_points
from .netcdf import read_netcdf
from .series import Series, as_series_together, start_of_case
from .times import as_series, intervals_of, joined, read_time, timed
from .units import (
    BRACKETS,
    DEGREES,
    Conversion,
    Conversions,
    as_conversion,
    unit_alone,
    unit_at_end,
    unit_in_brackets,
)
from .variables import (
    array,
    error_in,
    error_of,
    find_variable,
    get_variable,
    in_unit,
    listing,
    note_of_unused,
    numbers_in,
    on_axes,
    unit_in_file,
    variable_named,
)
from .yaml_file import NAMES

if TYPE_CHECKING:
    import xarray as xr

_TEXT_ENDINGS = (".csv", ".txt", ".tsv", ".dat")
_PLAIN = re.compile(r"(\d{4})[-/](\d\d)[-/](\d\d)\s+(\d\d:\d\d:\d\d)\s")
"""Start of a line in the format of GOTM: date and time."""
_HEADER = re.compile(r"\s*([^\[\]]*?)\s*(?:\[([^\[\]]*)\])?\s*$")
_CLOCKS = ("hour", "hours", "hhmm", "clock")
_NAN = ("nan", "-nan", "+nan")
_MISSING = (*_NAN, "", "na", "null", "none")
_PLACE = re.compile(r"([\d.]+)\s*([NS])[,\s]+([\d.]+)\s*([EW])")
_PMEL = {
    "TEMP": ("SST TEMP", {"units": "degC", "standard_name": "sea_water_temperature"}),
    "PSAL": ("SSS SAL", {"units": "1", "standard_name": "sea_water_practical_salinity"}),
}
_CODES = {
    "flag_values": [0, 1, 2, 3, 4, 5],
    "flag_meanings": "datum_missing highest_quality default_quality adjusted lower_quality sensor_failed",
}
_PRESSURES = ("pressure", "pres", "prdm")
_DEPTHS = {"depth": "down", "z": "up", "height": "up"}


@names_its_file("a table")
def read_table(path) -> "xr.Dataset":
    """Read the columns of a CSV file, or the variables of a NetCDF file or dataset, with units as attributes.

    The first line of a CSV file names the columns, as in `wind_u [m s-1]`; one of them is `time` (or
    `datetime`, `date`, `timestamp`), in ISO 8601 or as a number with a unit such as `time [days since
    2012-01-01]`. Lines that start with # are comments; columns of text stay text. In GOTM's format (date,
    time, numbers) columns are called `1`, `2`, ... or take the names in a preceding line that starts with !.
    Units in round brackets, a column `time` with the time of the day next to `date`, and decimal commas
    between semicolons or tabs are read, too; -999, -9999 and -99999 may mark missing values, with a warning.

    Raises:
        FileFormatError: a file that is not a table, with the first wrong line.
    """
    if not is_text(path):
        return read_netcdf(path)
    import pandas as pd  # takes long

    path = Path(path)
    rows = _rows(path)
    if len(rows) < 2:
        expected = "a line of names and lines of values"
        raise FileFormatError(path, "file", expected, f"{len(rows)} lines", "add what is missing")
    (number, head), *rows = rows
    for each, cells in rows:
        if len(cells) != len(head):
            expected = f"{len(head)} values, as in the line of names"
            raise FileFormatError(path, f"line {each}", expected, f"{len(cells)}", "complete the line")
    lines, cells = zip(*rows, strict=True)
    head, cells = _with_one_time(head, cells)
    units = _header(path, f"line {number}", head)
    columns, variables = dict(zip(units, zip(*cells, strict=True), strict=True)), {}
    for name in sorted(units, key="time".__eq__):  # messages list the measured variables first
        column, unit = columns[name], units[name]
        if name == "time" and unit in (None, "UTC", "GMT"):
            clock = next((other for other in units if other.lower() in _CLOCKS), None)
            if clock is not None and all(len(text) <= len("2012-06-10") for text in column):
                expected = "the time of day in a column called time, as 07:30, next to that of dates"
                raise FileFormatError(path, f"line {number}", expected, f"'{clock}'", "convert the column")
            dates = [text if DATE.fullmatch(text) else "" for text in column]
            moments = pd.to_datetime(dates, format="ISO8601", utc=True, errors="coerce")
            for i in np.flatnonzero(moments.isna())[:1]:
                expected = "an ISO 8601 time such as 2012-06-10T00:00:00"
                advice = "write it so, or name a unit, time [days since 2012-01-01]"
                raise FileFormatError(path, f"line {lines[i]}: {name}", expected, f"'{column[i]}'", advice)
            values, unit = _since_the_first(moments.tz_localize(None).to_numpy().astype("M8[us]"))
        else:
            values = np.asarray(pd.to_numeric(np.array(column, dtype=object), errors="coerce"), dtype=float)
            unread = [i for i in np.flatnonzero(np.isnan(values)) if column[i].lower() not in _NAN]
            if len(unread) == values.size and any(column):
                values = np.array(column)
            else:
                for i in (i for i in unread if column[i].lower() not in _MISSING):
                    where, advice = f"line {lines[i]}: {name}", "correct it, or leave it empty"
                    raise FileFormatError(path, where, "a number", f"'{column[i]}'", advice)
                if code := missing_code(column, values):
                    share = f"{np.sum(values == code)} of {values.size} values"
                    warn_of_input([f"{path}: {name}: {code:g} stands for a missing value, in {share}"])
                    values = np.where(values == code, np.nan, values)
        variables[name] = (("time",), values, {} if unit is None else {"units": unit})
    return _as_file(path, variables)


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """Numbers of the lines of a table and their cells, names first; in GOTM's format, times in ISO 8601."""
    text = read_text(path, "text in UTF-8", decoded)
    lines = [(i, t) for i, t in enumerate(text.splitlines(), 1) if t.strip() and not t.startswith("#")]
    data = [(number, line) for number, line in lines if not line.startswith("!")]
    if not (data and _PLAIN.match(data[0][1])):
        delimiter = max(",;\t", key=lines[0][1].count) if lines else ","
        cells = [[cell.strip() for cell in next(csv.reader([t], delimiter=delimiter))] for _, t in lines]
        numbers = [n for n, _ in lines]
        return list(zip(numbers, cells if delimiter == "," else with_points(cells), strict=True))
    rows = []
    for number, line in data:
        rest = (line[match.end() :] if (match := _PLAIN.match(line)) else line).replace(",", " ").split()
        rows.append((number, ["{}-{}-{}T{}".format(*match.groups()), *rest] if match else rest))
    n_cells = len(rows[0][1])
    named = [line.lstrip("! ").split() for _, line in lines if line.startswith("!")]
    names = next((cells for cells in named if len(cells) == n_cells), [*map(str, range(n_cells))])
    return [(0, ["time", *names[1:]]), *rows]


def _plain_name(head: str) -> str:
    """Name of a column in lower case, without a unit in brackets."""
    return BRACKETS.sub(r"\1", head.partition("[")[0].strip()).lower()


def _with_one_time(head: list[str], rows: Sequence[list[str]]) -> tuple[list[str], Sequence[list[str]]]:
    """Join the columns `date` and `time` of names and rows, if the latter has the time of day."""
    names = list(map(_plain_name, head))
    if not names.count("date") == names.count("time") == 1:
        return head, rows
    date, time = names.index("date"), names.index("time")
    if not re.match(r"\d\d?:\d\d", rows[0][time]):
        return head, rows
    name = next(filter(is_other_zone, (head[date], head[time])), "time")
    others = [i for i in range(len(head)) if i not in (date, time)]
    joined = [[f"{row[date]}T{row[time]}", *(row[i] for i in others)] for row in rows]
    return [name, *(head[i] for i in others)], joined


def _header(path: Path, where: str, cells: list[str]) -> dict[str, str | None]:
    """Units of the columns, or `None`, by name and in order; the column of times is called `time`."""
    units: dict[str, str | None] = {}
    times = ["time"] if "time" in cells else [cell for cell in cells if _plain_name(cell) in TIMES]
    if len(times) != 1:
        expected = f"names of columns, one of them time (or {', '.join(TIMES[1:])})"
        advice = "add a line of names, and # before lines above it"
        raise FileFormatError(path, where, expected, ", ".join(cells), advice)
    if is_other_zone(times[0]):
        advice = "convert them, or write 2012-06-10T00:00:00+02:00 with the zone of each, and rename it"
        raise FileFormatError(path, where, "times in Universal Time", f"'{times[0]}'", advice)
    for cell in cells:
        match = _HEADER.match(cell)
        text, unit = match.groups() if match else (cell, None)
        name, in_brackets = unit_in_brackets(text)
        units_stated = (unit, in_brackets, unit_at_end(name)[1])
        name = "time" if cell == times[0] else name
        if name in units:
            expected, advice = "a line of names, every name once", "rename a column, or add the line of names"
            raise FileFormatError(path, where, expected, f"'{name}' twice", advice)
        units[name] = next((each for each in units_stated if each is not None), None)
    return units


def _as_file(path: Path | str, variables: Mapping[str, tuple], attrs: Mapping | None = None) -> "xr.Dataset":
    """Build the dataset of a text file from variables, each (dims, values, attributes)."""
    import xarray as xr  # takes long

    file = xr.Dataset({name: array(path, name, *var) for name, var in variables.items()}, attrs=attrs)
    file.encoding["source"] = str(path)
    return file


def is_text(source) -> bool:
    """Return whether a source is a text file, by its name."""
    return is_path(source) and Path(source).suffix.lower() in _TEXT_ENDINGS


@names_its_file("a table")
def read_series(
    path,
    name: str,
    quantity: str,
    *,
    start_time: str | None,
    unit: str | Conversion | None = None,
    longest_gap: float | None = None,
    position: Position | None = None,
) -> Series:
    """Read one column of a table in the package's unit; warns of gaps that it bridges.

    Args:
        path: CSV or NetCDF file.
        name, quantity: of the column, and its quantity as named in the table of quantities.
        start_time: ISO 8601 time, universal time, at which the time of the case is 0; `None` if times count
            from the start of the case.
        unit: overrides the one in the file; may be a `Conversion`.
        longest_gap: longest time without a record, or with missing values, that is bridged [s]; by default a
            missing value is an error, and times between two records are not limited.
        position: latitude and longitude [degrees], whose clear-sky radiation fills gaps of more than three
            hours in shortwave radiation.

    Raises:
        FileFormatError: no such column, an unexpected unit or shape, times that do not increase, a gap (in
            shortwave radiation without a position), or an impossible value, with its time.
    """
    series = series_of(read_table(path), name, quantity, start_time=start_time, unit=unit)
    gaps = {"start_time": start_time, "longest_gap": longest_gap, "position": position}
    return as_series(bridged(series, quantity, **gaps))


def series_of(
    table: "xr.Dataset",
    name: str,
    quantity: str,
    *,
    start_time: str | None,
    unit: str | Conversion | None = None,
    time_unit: str | None = None,
    kind: str | None = None,
) -> "xr.DataArray":
    """Convert a column of a table to the package's unit, as a series of `times.timed`; gaps stay NaN."""
    variable = variable_named(table, name, quantity, "correct its name, which is a column of this file")
    coordinate = find_axis(table, variable, None, "time")
    examine(variable, quantity, requested=unit, kind=kind)
    variable = on_axes(variable, coordinate.dims, "choose one place and level")
    times = read_time(coordinate, time_unit)
    values = in_unit(variable, quantity, unit)
    check_measured(variable, quantity, values, times)
    return timed(variable, times, values, start_time, intervals_of(table, times, variable, time_unit))


@names_its_file("a table")
def read_numbers(
    path,
    observable: str,
    variable: str,
    *,
    start_time: str | None,
    unit: str | Conversion | None = None,
    position: tuple[float, float] | None = None,
) -> Series:
    """Read a series of an observable with one value per time, NaN where missing.

    Args:
        path, start_time, unit: as in `read_series`.
        observable, variable: its name in the package and in the file.
        position: latitude and longitude [degrees], for a file with a grid of several points.

    Raises:
        ValueError: an observable that is not a scalar.
        FileFormatError: as in `read_series`, except for gaps, or no value.
    """
    quantity = parse(observable).name
    if quantity not in OBSERVABLES or not is_scalar(observable):
        expected = "a number of the column, such as sea_surface_temperature"
        raise ValueError(f"expected {expected}, got '{observable}'; give profiles in files of their own.")
    table = read_table(path)
    if position is not None:
        table = at_position(path, table, variable, position)
    series = series_of(table, variable, quantity, start_time=start_time, unit=unit)
    if not np.isfinite(series.values).any():
        raise error_of(series, "a value", f"none of {series.size}", "check its fill value")
    return Series(series["time"].values, series.values)


def _since_the_first(moments: np.ndarray) -> tuple[np.ndarray, str]:
    since = str(moments[0]).replace("T", " ")
    return (moments - moments[0]) / np.timedelta64(1, "s"), f"seconds since {since}"


@names_its_file("profiles in text")
def read_profile_text(path) -> "xr.Dataset":
    """Read variables over `OBSERVATION`, with the time and depth of each value, or a table without depths.

    Each fixed depth is an instrument. If depths differ between profiles, there is a single one that moves.

    Raises:
        FileFormatError: a line that does not fit the format, with its number.
    """
    path = Path(path)
    lines = read_text(path, "text in UTF-8", decoded).splitlines()
    if any(line.lstrip().startswith("Depth(M):") for line in lines[:20]):
        return _blocks_of_pmel(path, lines)
    if begins_with_header(next((line for line in lines if line.strip() and line[0] not in "#!"), "")):
        return _profiles_of_gotm(path)
    return _profiles_of_table(read_table(path))


def _profiles_of_table(table: "xr.Dataset") -> "xr.Dataset":
    """Profiles from a column of depths; other tables are returned unchanged."""
    words = {name: re.split(r"[_ (\[]", name.lower())[0] for name in map(str, table.variables)}
    of_depth = [name for name, word in words.items() if word in _DEPTHS]
    units = {name: str(table[name].attrs.get("units", "dbar")).lower() for name in words}
    pressures = [name for name, word in words.items() if word in _PRESSURES and units[name].startswith("d")]
    if not of_depth and len(pressures) == 1:
        of_depth, attrs = pressures, {"units": "dbar", "standard_name": "sea_water_pressure_due_to_sea_water"}
    elif len(of_depth) == 1:
        attrs = {"units": "m", "positive": _DEPTHS[words[of_depth[0]]]}
    else:
        return table
    columns = {name: (table[name].values, table[name].attrs) for name in words}
    depth, stated = columns.pop(of_depth[0])
    return _observed(name_of(table), columns.pop("time"), (depth, attrs | stated), columns)


_Column = tuple[np.ndarray, dict]
"""Values and attributes."""


def _observed(
    path: Path | str, time: _Column, depth: _Column, others: Mapping[str, _Column], attrs: dict | None = None
) -> "xr.Dataset":
    """Build a file of values one after the other, each with a time and a depth."""
    depths, index = np.unique(depth[0], return_inverse=True)
    longest = int(np.unique(time[0], return_counts=True)[1].max())
    # Instruments share few depths; casts have new ones in every profile.
    is_fixed = depths.size <= 3 * longest
    columns = {
        **others,
        "TIME": (time[0], time[1] | {"axis": "T"}),
        "DEPTH": depth,
        "instrument_index": (index if is_fixed else 0 * index, {"instance_dimension": "INSTRUMENT"}),
    }
    variables = {name: (("OBSERVATION",), *column) for name, column in columns.items()}
    if is_fixed:
        variables["NOMINAL_DEPTH"] = (("INSTRUMENT",), depths, depth[1])
    return _as_file(path, variables, attrs=attrs)


def _profiles_of_gotm(path: Path) -> "xr.Dataset":
    """Read profiles in GOTM's format; the columns after the height are called 1, 2, ..."""
    file = read_lines(path, "file")
    profiles = find_profiles(file)
    levels = np.sort(np.concatenate([each.levels for each in profiles]))
    lengths = [len(file.texts[level].replace(",", " ").split()) for level in levels]
    columns = tuple(range(max(2, min(lengths))))
    table = read_columns(file, levels, columns, skip=0, names="heights and values")
    values = {str(i): (table[:, i], {}) for i in columns[1:]}
    times = np.repeat([each.time for each in profiles], [len(each.levels) for each in profiles])
    time = times, {"units": "seconds since 1970-01-01"}
    return _observed(path, time, (table[:, 0], {"units": "m"}), values)


def _blocks_of_pmel(path: Path, lines: list[str]) -> "xr.Dataset":
    """Read blocks of PMEL: a line of depths, then lines of a time, a value per depth and quality codes."""
    rows, levels, label = [], [], ""
    for number, line in enumerate(lines, 1):
        words = line.split()
        if words and words[0] == "Depth(M):":
            levels = [float(word) for word in words[1:] if re.fullmatch(r"[\d.]+", word)]
        elif words and words[0] in ("YYYYMMDD", "DATE"):
            label = words[2]
        elif re.match(r"\s*\d{8}\s+\d{4}\s", line):
            n = len(levels)
            try:
                moments = [start_of_case(f"{words[0]}T{words[1]}")] * n
                rows += zip(
                    moments, levels, map(decimal, words[2 : n + 2]), map(int, words[n + 2]), strict=True
                )
            except (ValueError, IndexError):
                expected, got = f"a date, a time, {n} values and as many quality codes", f"'{line.strip()}'"
                raise FileFormatError(path, f"line {number}", expected, got, "correct it") from None
    moments, depths, numbers, codes = np.array(rows, dtype=object).reshape(-1, 4).T
    name, (_, about) = next((x for x in _PMEL.items() if label in x[1][0].split()), (label, ("", {})))
    numbers = numbers.astype(float)
    columns = {
        name: (np.where(numbers < -9.9, np.nan, numbers), about),
        f"{name}_QC": (codes.astype(int), _CODES),
    }
    attrs = {}
    if place := next((match for line in lines[:5] if (match := _PLACE.search(line))), None):
        attrs["geospatial_lat_min"] = float(place[1]) * (1.0 if place[2] == "N" else -1.0)
        attrs["geospatial_lon_min"] = float(place[3]) * (1.0 if place[4] == "E" else -1.0)
    seconds, unit = _since_the_first(moments.astype("M8[us]"))
    depth = depths.astype(float), {"units": "m", "positive": "down"}
    return _observed(path, (seconds, {"units": unit}), depth, columns, attrs)


WIND = ("wind_speed", "wind_direction")
"""Names of speed and direction, which some files have instead of the components of the wind."""
_RADIATION = ("shortwave", "longwave")
_OPTIONAL = tuple(field.name for field in WEATHER if field.default is None and field.name not in _RADIATION)
_NEEDED = tuple(field.name for field in WEATHER if field.default is dataclasses.MISSING)


def _known(quantity: str, kind: str | None) -> tuple[list[str], list[str]]:
    """Names and CF standard names of a quantity of the weather; `kind` is `downward` or `net` radiation."""
    entry = NAMES["weather"].get(quantity, {})
    standard_name = None if kind is not None or quantity in WIND else quantity_of(quantity).standard_name
    usual = [] if standard_name is None else [standard_name]
    names = [quantity, *entry.get("names", ()), *entry.get(f"{kind}_names", ())]
    return names, [*usual, *entry.get(kind or "standard_names", ())]


@names_its_file("a table of the weather")
def read_weather(
    paths,
    *,
    start_time: str | None,
    variables: Mapping[str, str | float] | None = None,
    units: Conversions | None = None,
    humidity_measure: HumidityMeasure | None = None,
    shortwave: str | None = "downward",
    longwave: str | None = "downward",
    longest_gap: float | None = None,
    position: Position | None = None,
    stamp: str | None = None,
) -> tuple[TimeSeries[Weather], HumidityMeasure]:
    """Read the weather, and the kind of its humidity.

    A wind speed with a direction becomes components, without one an eastward wind. Missing values are bridged
    like missing records. Warns of assumptions, bridged gaps and codes of missing values.

    Args:
        paths: one table, or several, such as one per quantity or year.
        start_time: ISO 8601 time, universal time, at which the time of the case is 0; `None` if times count
            from the start of the case.
        variables: name in the file, or a number, by the name of a field of `Weather`; others are found by the
            package's names or CF standard names.
        units: units or conversions by the package's names, also the unit of `time`; override those in the
            file.
        humidity_measure: the kind of humidity; by default the one in the file.
        shortwave, longwave: "downward" or "net" for a series; `None` where a formula gives the radiation.
        longest_gap: reject a longer time between two values [s]; shorter ones are bridged. `None` for any
            time between records, and no missing value.
        position: latitude and longitude [degrees], whose clear-sky radiation fills gaps of more than three
            hours in shortwave radiation.
        stamp: for means over the time between records: whether times are the "start", "middle" or "end" of
            the interval; `None` uses the bounds of the time in the file, or treats values as instantaneous.

    Raises:
        FileFormatError: a quantity that is missing or ambiguous, an unexpected unit, a gap, unsorted times,
            an impossible value, or net radiation labelled as downward.
        ValueError: unknown names, or series that do not overlap.
    """
    requested, units = dict(variables or {}), dict(units or {})
    fields = tuple(field.name for field in WEATHER)
    check_names("variables", requested, (*fields, *WIND))
    check_names("units", units, (*fields, *WIND, "time"))
    paths = as_sources(paths)
    tables = [read_table(path) for path in paths]
    used = _name_components(tables, requested, units)
    measure = humidity_measure or _measure_of_humidity(tables, requested)
    kinds = {"shortwave": shortwave, "longwave": longwave}
    gaps = {"start_time": start_time, "longest_gap": longest_gap, "position": position, "stamp": stamp}

    def read(field: str) -> Series | float | None:
        quantity = HUMIDITY_QUANTITIES[measure] if field == "humidity" else field
        name, kind, unit = requested.get(field), kinds.get(field), units.get(field)
        if isinstance(name, (int, float)):
            scale, offset = as_conversion(unit).linear(quantity, None)
            number = scale * float(name) + offset
            check_possible(name_of(paths[0]), field, quantity, np.asarray([number]))
            return number
        options = {"unit": unit, "time_unit": unit_alone(units, "time"), "kind": kind}
        parts = [
            series_of(table, str(variable.name), quantity, start_time=start_time, **options)
            for table in tables
            if (variable := _find(table, quantity, kind, name)) is not None
        ]
        if not parts:
            if field in _OPTIONAL and name is None:
                return None
            names, standard_names = _known(quantity, kind)
            expected = f"a variable {repr(name) if name else ' or '.join((*names, *standard_names))}"
            names_of_all = ", ".join(listing(table) for table in tables)
            formula = "" if kind is None else ", or choose a formula of the radiation"
            advice = f"name it, or give a number (variables.{field}){formula}"
            raise error_in(tables[0], field, expected, f"only {names_of_all}", advice)
        used.update(str(part.name) for part in parts)
        series = joined(parts, "give each time once")
        is_mean = re.search(r"\btime: *(mean|average)", str(series.attrs.get("cell_methods")))
        if is_mean and stamp is None and "end" not in series.coords:
            note = "time without bounds: means count as values at instants; give stamp"
            warn_of_input([f"{name_of(series)}: {note}"])
        series = bridged(series, quantity, **gaps)
        if kind is not None:
            _check_radiation(series, field, kind)
        return as_series(series)

    wanted = (*_NEEDED, *_OPTIONAL, *(key for key, kind in kinds.items() if kind is not None))
    with recorded() as notes:  # the note on a gap without records is the same for all columns of a file
        values = {field: value for field in wanted if (value := read(field)) is not None}
    warn_of_input(notes)
    for table in tables:
        warn_of_input(note_of_unused(table, used))
    instants, columns = as_series_together(values, 1e12)
    return TimeSeries(instants, Weather(**columns), stem_of(paths[0])), measure


def radiation_of_table(table: "xr.Dataset") -> dict[str, str]:
    """Kind of the radiation in a table, "downward" or else "net", by "shortwave" and "longwave"."""
    kinds = [(name, kind) for kind in ("net", "downward") for name in _RADIATION]
    return {name: kind for name, kind in kinds if _find(table, name, kind) is not None}


def _find(
    table: "xr.Dataset", quantity: str, kind: str | None = None, name: str | None = None
) -> "xr.DataArray | None":
    """Find a variable by the requested name, or else by a usual name, CF standard name, or name and unit."""
    if name:
        return get_variable(table, name)
    names, standard_names = _known(quantity, kind)
    advice = f"choose one (variables.{quantity})"
    match = find_variable(table, quantity, names, standard_names, advice)
    if match is not None:
        return match
    wanted = {unit_at_end(name)[0].lower() for name in names}
    alike = [name for name in map(str, table.variables) if unit_at_end(name)[0].lower() in wanted]
    if len(alike) > 1:
        raise error_in(table, quantity, "one variable with its name", " and ".join(alike), advice)
    return table[alike[0]] if alike else None


def _name_components(
    tables: list["xr.Dataset"], requested: dict[str, str | float], units: Mapping
) -> set[str]:
    """Replace requested wind speed and direction by components; return the names of speed and direction."""
    named = {key: str(requested.pop(key)) for key in WIND if key in requested}
    components = ("wind_u", "wind_v")
    if any(key in requested or _find(table, key) is not None for key in components for table in tables):
        if named:
            expected, got = "wind_speed with wind_direction, or wind_u with wind_v", "both"
            raise error_in(tables[0], "wind", expected, got, "leave one pair out (variables)")
        return set()
    for key, name in named.items():
        if all(get_variable(table, name) is None for table in tables):
            variable_named(tables[0], name, key, f"correct its name (variables.{key})")
    used = set[str]()
    for table in tables:
        speed, direction = (_find(table, key, name=named.get(key)) for key in WIND)
        if speed is None:
            continue
        used |= {str(var.name) for var in (speed, direction) if var is not None}
        if direction is not None:
            _add_components(table, speed, direction, units)
            requested |= {key: key for key in components}
        elif "wind_u" not in requested:
            eastward = f"{name_of(table)}: {speed.name} has no direction and becomes an eastward wind"
            warn_of_input([f"{eastward}: turning winds would drive other inertial oscillations"])
            requested |= {"wind_u": str(speed.name), "wind_v": 0.0}
    return used


def _add_components(
    table: "xr.Dataset", speed: "xr.DataArray", direction: "xr.DataArray", units: Mapping
) -> None:
    """Put the components of a wind into its table; its direction is clockwise from north, in degrees."""
    of_speed, turn = (as_conversion(units.get(key)) for key in WIND)
    unit = turn.unit or direction.attrs.get("units") or "degrees"
    if str(unit).strip().lower() not in DEGREES or speed.dims != direction.dims:
        got = f"{unit} over {', '.join(map(str, direction.dims))}"
        raise error_of(
            direction, f"degrees from north, over {', '.join(map(str, speed.dims))}", got, "convert it"
        )
    degrees, towards = numbers_in(direction), "to" in str(direction.attrs.get("standard_name")).split("_")
    valid = degrees[np.isfinite(degrees)]
    if valid.size and not (0.0 <= valid.min() and valid.max() <= 360.0):
        got = f"{valid.min():g} to {valid.max():g}"
        raise error_of(direction, "degrees from 0 to 360", got, "correct it, or leave missing values empty")
    angle = np.deg2rad(turn.sign * (turn.factor * degrees + turn.offset) + 180.0 * (not towards))
    scale, offset = of_speed.linear("wind_u", unit_in_file(speed, of_speed.unit, "wind_speed"))
    values, attrs = scale * numbers_in(speed) + offset, {"units": "m s-1"}
    for name, function in (("wind_u", np.sin), ("wind_v", np.cos)):
        component = values * function(angle)
        table[name] = array(name_of(table), name, speed.dims, component, attrs)
    where = "to" if towards else "from"
    note = f"{name_of(table)}: {direction.name} is where the wind blows {where}; if it is the opposite: "
    warn_of_input([note + "units: {wind_direction: {offset: 180}}"])


def _measure_of_humidity(tables: list["xr.Dataset"], requested: Mapping) -> HumidityMeasure:
    if "humidity" in requested:
        expected = "humidity_measure with variables.humidity"
        raise error_in(tables[0], "humidity", expected, "none", "name its kind")
    measures: list[HumidityMeasure] = [
        measure
        for measure, quantity in HUMIDITY_QUANTITIES.items()
        if any(_find(table, quantity) is not None for table in tables)
    ]
    if len(measures) != 1:
        got = " and ".join(HUMIDITY_QUANTITIES[measure] for measure in measures) or "none"
        advice = "name it (variables.humidity) and its kind (humidity_measure)"
        expected = f"one of {', '.join(HUMIDITY_QUANTITIES.values())}"
        raise error_in(tables[0], "humidity", expected, got, advice)
    return measures[0]


def _check_radiation(series: "xr.DataArray", field: str, kind: str) -> None:
    values, other = series.values, "net" if kind == "downward" else "downward"
    is_other = series.attrs.get("standard_name") in _known(field, other)[1]
    # Even cold skies emit more than 50 W m-2; on average the water emits more longwave than it absorbs.
    if field == "longwave":
        is_other = is_other or (values.min() < 50.0 if kind == "downward" else values.mean() > 100.0)
    if is_other:
        got = f"{values.min():g} to {values.max():g} W m-2, which is {other}"
        raise error_of(series, f"{kind} {field} radiation", got, f"set {field}: {other}")
