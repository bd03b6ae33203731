"""What a calibration left in its folder, read and checked."""

import base64
import dataclasses
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from ..calibration.files import HISTORY_NAME, PARAMETERS_NAME
from ..io.errors import FileFormatError, names_its_file, read_text, what_is_at
from ..io.netcdf import read_netcdf
from ..io.protection import note_input
from ..io.yaml_file import ConfigError, parse_yaml
from ..validation import CHECKS_NAME, CROSS_VALIDATION_NAME, CheckRow, CrossValidationRow, read_table
from ..validation.tables import RowT

FIGURES = {
    "loss": "Loss and the score of each case at every evaluation",
    "parameters": "Parameters at every evaluation",
    "profiles": "Profiles at the end of each case, before and after, and what was observed",
    "cross_validation": "Errors by case, with the case in the calibration and left out of it",
}
POSTERIOR_FIGURES = {
    "posterior_marginals": "Distribution of every parameter, beside its prior",
    "posterior_spectrum": "Combinations of parameters, and what observations say of them over what priors do",
    "posterior_correlations": "Correlations of the unconstrained numbers",
    "posterior_bands": "Runs with parameters drawn from the posterior: profile at the end, series in time",
}
POSTERIOR_NAME = "posterior.nc"


@dataclasses.dataclass(frozen=True)
class RunFolder:
    """A calibration on disk.

    Args:
        path: of the folder.
        parameters: content of `parameters.yaml`.
        history: content of `history.nc`.
        figures: by name, those of `FIGURES` and `POSTERIOR_FIGURES` that are there.
        cross_validation: rows by case left out; none without `tunax-lite cross-validate`.
        checks: rows of runs that the calibration must not spoil; none without checks.
        posterior: content of `posterior.nc`, if it is there.
    """

    path: Path
    parameters: dict[str, Any]
    history: xr.Dataset
    figures: Mapping[str, Path]
    cross_validation: tuple[CrossValidationRow, ...] = ()
    checks: tuple[CheckRow, ...] = ()
    posterior: xr.Dataset | None = None

    @property
    def provenance(self) -> dict[str, str]:
        return {str(key): str(value) for key, value in (self.parameters.get("provenance") or {}).items()}

    @property
    def config(self) -> str:
        """Text of the configuration; empty if it was not kept."""
        return self.provenance.get("tunax_lite_config", "")

    @property
    def data(self) -> dict[str, str]:
        """SHA-256 of the files that were read, by path."""
        return json.loads(self.provenance.get("tunax_lite_data") or "{}")


@names_its_file("the folder of a calibration")
def read_run_folder(folder: str | Path) -> RunFolder:
    """Read the folder of a calibration.

    Raises:
        FileNotFoundError: no such folder, or one without results.
        ValueError: results that cannot be read, or that do not belong together.
    """
    folder = Path(folder)
    paths = folder / PARAMETERS_NAME, folder / HISTORY_NAME
    missing = [path.name for path in paths if not path.is_file()]
    if missing:
        raise FileNotFoundError(
            f"{folder}: expected the folder of a calibration that has ended, got none of "
            f"{', '.join(missing)}; name the folder that `tunax-lite calibrate` wrote, or let it go on "
            "with --resume."
        )
    parameters: Any = None  # whatever the file holds
    try:
        parameters = parse_yaml(read_text(paths[0], "the parameters of a calibration"))
        complete = isinstance(parameters["parameters"], dict) and isinstance(parameters["calibration"], dict)
    except (ConfigError, FileFormatError, TypeError, KeyError):
        complete = False
    if not complete:
        raise ValueError(
            f"{paths[0]}: expected closure, parameters and calibration, as `tunax-lite calibrate` writes "
            "them, got a file without; calibrate again."
        )
    history = read_netcdf(paths[1])
    lacking = [name for name in ("loss", "rejected", "score") if name not in history]
    expected, got = parameters["calibration"].get("n_iterations"), history.sizes.get("iteration", 0)
    if lacking or got != expected:
        raise ValueError(
            f"{paths[1]}: expected loss, rejected and score of the {expected} iterations of {paths[0].name}, "
            f"got {got}{', without ' + ', '.join(lacking) if lacking else ''}; calibrate again."
        )
    drawn = {name: folder / f"{name}.png" for name in (*FIGURES, *POSTERIOR_FIGURES)}
    for read in (*paths, *drawn.values(), folder / CROSS_VALIDATION_NAME, folder / CHECKS_NAME):
        note_input(read)
    path = folder / POSTERIOR_NAME
    return RunFolder(
        folder,
        parameters,
        history,
        {name: path for name, path in drawn.items() if path.is_file()},
        _rows(folder / CROSS_VALIDATION_NAME, CrossValidationRow),
        _rows(folder / CHECKS_NAME, CheckRow),
        _read_posterior(path) if what_is_at(path) != "none" else None,
    )


def _rows(path: Path, kind: type[RowT]) -> tuple[RowT, ...]:
    return read_table(path, kind) if what_is_at(path) != "none" else ()


def _read_posterior(path: Path) -> xr.Dataset:
    dataset = read_netcdf(path)
    lacking = [name for name in ("mean", "covariance", "information") if name not in dataset]
    if lacking:
        raise ValueError(
            f"{path}: expected what `tunax-lite posterior` writes, got a file without {', '.join(lacking)}; "
            "compute it again."
        )
    return dataset


def encoded(
    captions: Mapping[str, str], stored: Mapping[str, Path], drawn: Mapping[str, Figure]
) -> Iterator[dict[str, str]]:
    """Name, caption and content of the figures that are there, in the order of the captions.

    Args:
        captions: by name.
        stored: files by name.
        drawn: those that have no file.
    """
    for name, caption in captions.items():
        if name in stored:
            content = stored[name].read_bytes()
        elif name in drawn:
            buffer = io.BytesIO()
            drawn[name].savefig(buffer, format="png", dpi=130)
            content = buffer.getvalue()
        else:
            continue
        yield {"name": name, "caption": caption, "data": base64.b64encode(content).decode()}
