"""Profiles in text files, read as contents with the values of all depths one after the other.

Formats: a table with columns of time, depth (or z) and values, or one column per depth (`temperature_35m`);
GOTM profiles, each under a line with its time, number of levels and their order; and PMEL blocks with one
column per depth followed by quality codes. Source of the last: the ASCII delivery of NOAA/PMEL, Global
Tropical Moored Buoy Array.
"""

import re
from pathlib import Path

import numpy as np

from .errors import FileFormatError, decimal, names_its_file, read_text
from .netcdf import Contents, Variable
from .series import start_of_case
from .table import read_table

_HEAD = re.compile(r"(\d{4}[-/]\d\d[-/]\d\d)\s+(\d\d:\d\d:\d\d)\s+(\d+)\s+([12])\s*$")
_PLACE = re.compile(r"([\d.]+)\s*([NS])[,\s]+([\d.]+)\s*([EW])")
_PMEL = {
    "TEMP": ("SST TEMP", {"units": "degC", "standard_name": "sea_water_temperature"}),
    "PSAL": ("SSS SAL", {"units": "1", "standard_name": "sea_water_practical_salinity"}),
}
_CODES = {
    "flag_values": [0, 1, 2, 3, 4, 5],
    "flag_meanings": "datum_missing highest_quality default_quality adjusted lower_quality sensor_failed",
}
_WIDE = re.compile(r"(temp|sal|wtr)[a-z]*[_ ]?(\d+(?:\.\d+)?)(?:_?m)?", re.IGNORECASE)
_DEPTHS = {"depth": "down", "z": "up", "height": "up"}


@names_its_file("profiles in text")
def read_profile_text(path) -> Contents:
    """Variables over `OBSERVATION`, with the time and depth of each value; each fixed depth is an instrument.

    If depths differ between profiles, there is a single instrument of varying depth.

    Raises:
        FileFormatError: a line that does not fit the format, with its number.
    """
    path = Path(path)
    lines = read_text(path, "text in UTF-8", "utf-8-sig").splitlines()
    if any(line.lstrip().startswith("Depth(M):") for line in lines[:20]):
        return _of_pmel(path, lines)
    first = next((line for line in lines if line.strip() and line[0] not in "#!"), "")
    if _HEAD.match(first):
        return _of_gotm(path, lines)
    table = read_table(path)
    found = [
        (one, way)
        for name, one in table.variables.items()
        for key, way in _DEPTHS.items()
        if key == _word(name)
    ]
    if len(found) != 1:
        return _of_columns(table)
    depth, way = found[0]
    of_depth = {"units": "m", "positive": way} | depth.attrs
    others = {name: one for name, one in table.variables.items() if one is not depth and name != "time"}
    return _observed(path, table["time"], depth.values, of_depth, others)


def _word(name: str) -> str:
    return re.split(r"[_ (\[]", name.lower())[0]


def _of_columns(table: Contents) -> Contents:
    """Stack columns with the depth in their names; other tables are returned unchanged."""
    columns = [(one, match) for name, one in table.variables.items() if (match := _WIDE.fullmatch(name))]
    if not columns:
        return table
    time, depths = table["time"], np.unique([float(match[2]) for _, match in columns])
    found = {}
    for one, match in columns:
        name = "salinity" if match[1].lower() == "sal" else "temperature"
        missing = np.full((depths.size, time.values.size), np.nan)
        own = found.setdefault(name, Variable(table.path, name, (), missing, one.attrs))
        own.values[np.searchsorted(depths, float(match[2]))] = one.values
    found = {name: one.with_values(one.values.ravel()) for name, one in found.items()}
    times, depth = time.with_values(np.tile(time.values, depths.size)), np.repeat(depths, time.values.size)
    return _observed(table.path, times, depth, {"units": "m", "positive": "down"}, found)


def _observed(
    path: Path,
    time: Variable,
    depth: np.ndarray,
    of_depth: dict,
    others: dict[str, Variable],
    attrs: dict | None = None,
) -> Contents:
    """Contents with values one after the other."""
    depths, index = np.unique(depth, return_inverse=True)
    most = int(np.unique(time.values, return_counts=True)[1].max())
    found = {
        name: Variable(path, name, ("OBSERVATION",), one.values, one.attrs) for name, one in others.items()
    }
    if depths.size <= 3 * most:
        found["NOMINAL_DEPTH"] = Variable(path, "NOMINAL_DEPTH", ("INSTRUMENT",), depths, of_depth)
    else:
        index = np.zeros_like(index)
    of_index = {"instance_dimension": "INSTRUMENT"}
    found["TIME"] = Variable(path, "TIME", ("OBSERVATION",), time.values, time.attrs | {"axis": "T"})
    found["DEPTH"] = Variable(path, "DEPTH", ("OBSERVATION",), depth, of_depth)
    found["instrument_index"] = Variable(path, "instrument_index", ("OBSERVATION",), index, of_index)
    return Contents(path, found, attrs or {})


def _stamps(path: Path, moments: list) -> Variable:
    seconds = np.array([(moment - moments[0]).total_seconds() for moment in moments])
    return Variable(
        path, "TIME", ("OBSERVATION",), seconds, {"units": f"seconds since {moments[0].isoformat(sep=' ')}"}
    )


def _of_gotm(path: Path, lines: list[str]) -> Contents:
    moments, rows, left, moment = [], [], 0, None
    for number, line in enumerate(lines, 1):
        if not line.strip() or line[0] in "#!":
            continue
        match = _HEAD.match(line)
        if (match is None) == (left == 0):
            expected = "a level" if left else "a date, a time, the number of levels and their order"
            raise FileFormatError(
                path, f"line {number}", expected, f"'{line.strip()}'", "correct the number of levels"
            )
        if match:
            moment, left = start_of_case(f"{match[1].replace('/', '-')}T{match[2]}"), int(match[3])
            continue
        try:
            rows.append([decimal(word) for word in line.replace(",", " ").split()])
        except ValueError:
            raise FileFormatError(
                path, f"line {number}", "numbers", f"'{line.strip()}'", "correct it"
            ) from None
        moments.append(moment)
        left -= 1
    n_columns = min(map(len, rows), default=0)
    if n_columns < 2 or left:
        got = f"{left} levels less" if left else f"{n_columns} columns"
        advice = "complete the file"
        raise FileFormatError(path, "file", "profiles of heights and values, as their heads say", got, advice)
    table = np.array([row[:n_columns] for row in rows])
    values = {str(i): Variable(path, str(i), (), table[:, i], {}) for i in range(1, table.shape[1])}
    return _observed(path, _stamps(path, moments), table[:, 0], {"units": "m"}, values)


def _of_pmel(path: Path, lines: list[str]) -> Contents:
    moments, depths, values, codes, now, label = [], [], [], [], np.zeros(0), ""
    for number, line in enumerate(lines, 1):
        words = line.split()
        if words and words[0] == "Depth(M):":
            now = np.array([float(word) for word in words[1:] if re.fullmatch(r"[\d.]+", word)])
        elif words and words[0] in ("YYYYMMDD", "DATE"):
            label = words[2]
        if not re.match(r"\s*\d{8}\s+\d{4}\s", line):
            continue
        try:
            numbers, own = (
                [decimal(word) for word in words[2 : 2 + now.size]],
                [int(c) for c in words[2 + now.size]],
            )
            moment = start_of_case(f"{words[0]}T{words[1]}")
            if len(own) != now.size:
                raise ValueError
        except (ValueError, IndexError):
            expected = f"a date, a time, {now.size} values and as many quality codes"
            raise FileFormatError(
                path, f"line {number}", expected, f"'{line.strip()}'", "correct it"
            ) from None
        moments += [moment] * now.size
        depths.append(now)
        values.append(numbers)
        codes.append(own)
    name, (_, own) = next((one for one in _PMEL.items() if label in one[1][0].split()), (label, ("", {})))
    found = np.concatenate(values)
    columns = {
        name: Variable(path, name, (), np.where(found < -9.9, np.nan, found), own),
        f"{name}_QC": Variable(path, f"{name}_QC", (), np.concatenate(codes), _CODES),
    }
    place = next((match for line in lines[:5] if (match := _PLACE.search(line))), None)
    attrs = {}
    if place:
        attrs["geospatial_lat_min"] = float(place[1]) * (1.0 if place[2] == "N" else -1.0)
        attrs["geospatial_lon_min"] = float(place[3]) * (1.0 if place[4] == "E" else -1.0)
    return _observed(
        path,
        _stamps(path, moments),
        np.concatenate(depths),
        {"units": "m", "positive": "down"},
        columns,
        attrs,
    )
