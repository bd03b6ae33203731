"""Open a file of observations as a dataset with the same names and units for all formats.

A format is a function that opens its files as a dataset, and a test that recognises them. The last of
`FORMATS` is tried first, so a format added at the end takes precedence.
"""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .argo import open_argo
from .cf_netcdf import open_cf
from .errors import FileFormatError, Source, existing_file, is_path, name_of, names_its_file
from .les import open_legay, open_lesbrary
from .netcdf import opened
from .oceansites import open_oceansites
from .table import is_text

if TYPE_CHECKING:
    import xarray as xr


class Format(NamedTuple):
    """Functions that recognise and open files of a format.

    Args:
        recognises: whether a path and the names of its variables fit the format; text and JLD2 files have no
            names.
        read: opens a file, with the options of the format, as a dataset.
    """

    recognises: Callable[[str, frozenset[str]], bool]
    read: Callable[..., "xr.Dataset"]


def _is_mooring(path: str, names: frozenset[str]) -> bool:
    return is_text(path) or any(name.lower().endswith(("_qc", "_quality_control")) for name in names)


FORMATS: dict[str, Format] = {
    "cf_netcdf": Format(lambda path, names: True, open_cf),
    "oceansites": Format(_is_mooring, open_oceansites),
    "argo": Format(lambda path, names: "PRES" in names and "PLATFORM_NUMBER" in names, open_argo),
    "legay": Format(lambda path, names: names >= {"t", "z", "b", "u", "v"}, open_legay),
    "lesbrary": Format(lambda path, names: path.endswith(".jld2"), open_lesbrary),
}


@names_its_file("a file of observations")
def open_observations(path: Source, *, format: str | None = None, **options: Any) -> "xr.Dataset":
    """Open a file of observations as a dataset with the package's names and units.

    All formats give `time` as dates (or seconds, if a file has no dates) and heights `z` [m], positive
    upward, negative below the surface; the names and units of `quantities.csv`, and `in_situ_temperature`,
    `potential_temperature` and `practical_salinity` if a file has these; NaN where values are missing or, for
    moorings and floats, have no good flag; `rejected`, `uncertainty` and `role` as attributes of variables;
    `latitude` and `longitude`; constants of the water and the Coriolis parameter as global attributes.
    `case_from_dataset` and `observations_from_dataset` take the dataset, also after you changed it. Readers
    warn of assumptions and omissions (`InputWarning`).

    Args:
        path: of the file, or an xarray dataset.
        format: one of `FORMATS`; by default the last that recognises the file.
        options: those of the reader of the format.

    Raises:
        FileFormatError: an unknown format, or a file that the reader of the format refuses.
    """
    if format is not None:
        if format not in FORMATS:
            expected, advice = f"one of the formats {', '.join(FORMATS)}", "correct it"
            raise FileFormatError(name_of(path), "format", expected, f"'{format}'", advice)
        return FORMATS[format].read(path, **options)
    names: frozenset[str] = frozenset()
    where = str(existing_file(path)) if is_path(path) else ""
    if not where.endswith(".jld2") and not (where and is_text(Path(where))):
        # A format that a user added may be binary; for other files the default reader raises the error.
        with contextlib.suppress(FileFormatError), opened(path) as file:
            names = frozenset(map(str, file.variables))
    match = next(each for each in reversed(FORMATS.values()) if each.recognises(where, names))
    return match.read(path, **options)
