"""Results of another model: a folder with `submission.yaml` and a CF NetCDF file NAME.nc for each simulation.

Times count from the start of the simulation. Results on other grids and at other times than the simulation
are interpolated, which the row says.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...calibration.comparison import VARIABLES, Reference, StoredResult
from ...column.grid import Grid
from ...config.load import validated
from ...io.case import grid_around
from ...io.cf_netcdf import read_profiles
from ...io.checksums import sha256_of
from ...io.errors import names_its_file
from ...io.netcdf import read_netcdf
from ...io.times import is_dated, seconds_since
from ...io.variables import error_in, error_of, listing
from ...io.writing import file_name
from ...io.yaml_file import ConfigError, naming, read_document
from .sections import BoardConfig, SubmissionConfig

if TYPE_CHECKING:
    import xarray as xr

NAME = "submission.yaml"
_LONGEST = 3600.0  # between interpolated times [s], or the interval of the simulation if it is longer


@dataclasses.dataclass(frozen=True)
class Submission:
    """Results of another model on some simulations, what was done to them, and SHA-256 of their files."""

    config: SubmissionConfig
    folder: Path
    results: tuple[StoredResult, ...]
    notes: tuple[str, ...]
    digests: Mapping[str, str]


def read_submission(
    folder: Path,
    references: Mapping[str, Reference],
    board: BoardConfig,
) -> Submission:
    """The results of a folder on simulations of a board, by name.

    Raises:
        ConfigError: a wrong `submission.yaml`, or no result on any of the simulations.
        FileFormatError: a file that is damaged, or lacks variables, units, depths or times that count.
    """
    config = validated(read_document(folder / NAME), SubmissionConfig)
    with naming(folder / NAME, "saw"):
        board.check_seen(config.label, config.saw)
    paths = {name: folder / f"{file_name(name)}.nc" for name in references}
    paths = {name: path for name, path in paths.items() if path.is_file()}
    if not paths:
        expected = ", ".join(f"{file_name(name)}.nc" for name in references)
        raise ConfigError(
            f"{folder}: expected results of at least one simulation, {expected}, got none; name the files so."
        )
    results, notes = [], dict[str, list[str]]()
    for name, path in paths.items():
        result, told = read_result(path, references[name], config, board.protocol.start)
        results.append(result)
        for note in told:
            notes.setdefault(note, []).append(name)
    said = tuple(f"{note} ({', '.join(names)})" for note, names in notes.items())
    digests = {str(path): sha256_of(path) for path in paths.values()}
    return Submission(config, folder, tuple(results), said, digests)


@names_its_file("a CF NetCDF file")
def read_result(
    path: Path, reference: Reference, config: SubmissionConfig, start: float
) -> tuple[StoredResult, list[str]]:
    """The profiles of a file at the times of a simulation, on their own grid, and what was done to them."""
    found = _profiles(path, config, VARIABLES)
    grid = _grid(found, float(reference.case.grid.depth))
    wanted = np.asarray(reference.observations.time)
    start_time = reference.case.start_time or str(found["time"].encoding.get("epoch"))
    time = seconds_since(found["time"], start_time if is_dated(found["time"]) else None)
    longest = max(_LONGEST, reference.interval)
    notes = _check_times(found, time, wanted[wanted >= start * (1.0 - 1e-9)], longest)
    profiles = {
        name: np.stack([np.interp(wanted, time, level) for level in found[name].values.T])
        for name in VARIABLES
    }
    if grid.n_cells != reference.case.grid.n_cells:
        notes.append(f"on its own grid of {grid.n_cells} cells")
    result = StoredResult(config.label, reference.case.name, wanted, grid, profiles, config.time_step)
    return result, notes


def _profiles(path: Path, config: SubmissionConfig, names: Sequence[str]) -> "xr.Dataset":
    """What a file has, with finite values of these variables."""
    file = read_netcdf(path)
    found = read_profiles(file, config.mapping.build()).sortby("z")
    for name in names:
        if name not in found:
            expected = f"a variable '{name}', or one with its CF standard name"
            raise error_in(file, name, expected, f"only {listing(file)}", _ADVICE)
        if not np.isfinite(found[name].values).all():
            raise error_of(found[name], "finite values", "missing ones", "fill them")
    return found


_ADVICE = "write it, or name it in the mapping of submission.yaml (variables)"


def _grid(found: "xr.Dataset", depth: float) -> Grid:
    """Cells around the levels, down to the bottom of the simulation."""
    z = found["z"].values
    bottom = found["z_lower"].values[0] if "z_lower" in found.coords else z[0] - 0.5 * (z[1] - z[0])
    if abs(bottom + depth) > z[1] - z[0] or z[0] <= -depth:
        got = f"levels from {z[0]:g} to {z[-1]:g} m"
        expected = f"levels down to the {depth:g} m of the simulation"
        raise error_of(found["z"], expected, got, "run the whole column")
    return grid_around(found, depth)


def _check_times(found: "xr.Dataset", time: np.ndarray, judged: np.ndarray, longest: float) -> list[str]:
    """Refuse times that do not cover those that are judged; a note where these are interpolated."""
    error = functools.partial(error_of, found["time"])
    slack = 1.0  # [s]
    if time[0] > judged[0] + slack or time[-1] < judged[-1] - slack:
        expected = f"times from {judged[0]:g} to {judged[-1]:g} s after the start of the simulation"
        advice = "count them from the start, and write all of the run"
        raise error(expected, f"{time[0]:g} to {time[-1]:g} s", advice)
    after = np.clip(np.searchsorted(time, judged), 1, time.size - 1) if time.size > 1 else np.zeros(1, int)
    nearest = np.abs(time[:, None] - judged).min(axis=0)
    gaps = np.where(nearest > slack, time[after] - time[after - 1], 0.0)
    if gaps.max() > longest:
        at = judged[np.argmax(gaps)]
        got = f"{gaps.max():g} s around {at:g} s"
        raise error(f"at most {longest:g} s between times", got, "write results more often")
    return ["interpolated in time"] if gaps.max() > 0.0 else []
