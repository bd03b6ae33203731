"""Numbers of the column that were observed over time, such as the temperature of the surface, from tables."""

from collections.abc import Sequence

import numpy as np

from ..observables import OBSERVABLES, is_number
from ..observables.names import parse
from .errors import FileFormatError, reading
from .measured import has_flag
from .series import GOOD_FLAGS, Series
from .table import read_series, read_table


def read_numbers(
    path,
    observable: str,
    variable: str,
    *,
    start_time: str | None,
    unit: str | None = None,
    flags: str | None = None,
    good_flags: Sequence[int] = GOOD_FLAGS,
) -> tuple[Series, int]:
    """An observable that is one number at a time, NaN where it is missing or its flag is not good.

    Args:
        path: CSV or NetCDF file.
        observable: its name in the package.
        variable: its name in the file.
        start_time: as in `read_series`.
        unit: goes before the one in the file.
        flags: name in the file of the quality flags, which are numbers.
        good_flags: values with another one are left out.

    Returns:
        The series, and how many values were left out because of their flags.

    Raises:
        ValueError: an observable that is no number of the column.
        FileNotFoundError: no such file.
        FileFormatError: as `read_series`; no flags of that name, or no good value.
    """
    name = parse(observable).name
    if name not in OBSERVABLES or not is_number(observable):
        raise ValueError(
            f"expected a number of the column, such as sea_surface_temperature or mixed_layer_depth, got "
            f"'{observable}'; profiles come from files of moorings or floats."
        )
    with reading(path, "a table"):
        return _read(path, variable, name, start_time, unit, flags, good_flags)


def _read(
    path,
    variable: str,
    quantity: str,
    start_time: str | None,
    unit: str | None,
    flags: str | None,
    good_flags: Sequence[int],
) -> tuple[Series, int]:
    table = read_table(path)
    series = read_series(path, table, variable, quantity, start_time=start_time, unit=unit, missing=True)
    good = np.ones(series.values.shape, dtype=bool)
    if flags is not None:
        if flags not in table.variables or table[flags].shape != series.values.shape:
            raise FileFormatError(
                path,
                flags,
                f"a quality flag for each of the {series.values.size} values of {variable}",
                "none" if flags not in table.variables else f"shape {table[flags].shape}",
                "correct its name (flags)",
            )
        good = has_flag(table[flags].values, good_flags)
    kept = np.where(good, series.values, np.nan)
    if not np.isfinite(kept).any():
        raise FileFormatError(
            path, variable, "a good value", f"none of {kept.size}", "check good_flags and fill values"
        )
    return Series(series.time, kept), int((np.isfinite(series.values) & ~good).sum())
