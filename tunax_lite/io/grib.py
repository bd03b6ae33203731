"""GRIB files, by the optional package cfgrib: as datasets with one dimension of time.

Parameters of different steps or accumulations are datasets of their own. Forecasts count from their start:
the time at which a field holds is that of the start and the step together.
"""

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .errors import FileFormatError, Source, existing_file, is_path

if TYPE_CHECKING:
    import xarray as xr


def opened(sources: list[Source]) -> list[Source]:
    """The sources, with the datasets of GRIB files in place of these.

    Raises:
        FileFormatError: a GRIB file without cfgrib, or one that it cannot read.
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
        cfgrib = importlib.import_module("cfgrib")
    except (ImportError, RuntimeError) as error:  # of a missing ecCodes
        expected, advice = "NetCDF, or the package cfgrib", "pip install cfgrib, or download NetCDF"
        raise FileFormatError(path, "file", expected, f"GRIB without it ({error})", advice) from None
    # No index beside the file: its folder need not be ours to write into.
    datasets = cfgrib.open_datasets(str(path), backend_kwargs={"indexpath": ""})
    return [_over_time(dataset).assign_attrs(id=str(path)) for dataset in datasets]


def _over_time(dataset: "xr.Dataset") -> "xr.Dataset":
    """With the time at which a field holds as its only dimension of time."""
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
    # The last forecast of a file may be there in part.
    return dataset.sortby("valid_time").dropna("valid_time", how="all")
