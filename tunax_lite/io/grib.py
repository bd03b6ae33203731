"""GRIB files, read with the optional package cfgrib as datasets with one time dimension.

Parameters with different steps or accumulations become separate datasets. The valid time of a forecast is its
start time plus the step.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..runtime.extras import MissingPackageError, command_for, needed
from .errors import FileFormatError, Source, existing_file, is_path

if TYPE_CHECKING:
    import xarray as xr


def opened(sources: list[Source]) -> list[Source]:
    """Replace GRIB files among the sources by their datasets.

    Raises:
        FileFormatError: a GRIB file that cannot be read, or without cfgrib.
    """
    found = []
    for source in sources:
        found += _datasets(existing_file(source)) if is_path(source) and _is_grib(source) else [source]
    return found


def _is_grib(path) -> bool:
    with existing_file(path).open("rb") as stream:
        return stream.read(4) == b"GRIB"


def _datasets(path: Path) -> list["xr.Dataset"]:
    try:
        cfgrib: Any = needed("cfgrib", "GRIB")  # untyped
    except MissingPackageError as error:  # also where ecCodes is missing
        expected, advice = "NetCDF, or the package cfgrib", f"{command_for('cfgrib')}, or download NetCDF"
        raise FileFormatError(
            path, "file", expected, f"GRIB without it ({error.__cause__})", advice
        ) from None
    # Write no index file: the folder may not be writable.
    datasets = cfgrib.open_datasets(str(path), backend_kwargs={"indexpath": ""})
    return [_over_time(dataset).assign_attrs(id=str(path)) for dataset in datasets]


def _over_time(dataset: "xr.Dataset") -> "xr.Dataset":
    """Make the valid time the only time dimension."""
    if "valid_time" not in dataset.variables:
        return dataset
    over = [dim for dim in ("time", "step") if dim in dataset.dims]
    times = np.asarray(dataset["valid_time"].transpose(*over).values).reshape(-1)
    if over:
        dataset = dataset.stack(moment=over, create_index=False)
    else:
        dataset = dataset.expand_dims("moment")
    dataset = dataset.drop_vars(["time", "step", "valid_time"], errors="ignore")
    dataset = dataset.assign_coords(valid_time=("moment", times)).swap_dims(moment="valid_time")
    # The last forecast of a file may be incomplete.
    return dataset.sortby("valid_time").dropna("valid_time", how="all")
