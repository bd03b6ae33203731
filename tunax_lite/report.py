"""One page about a calibration, with everything in it: what was asked, what was found, and from what."""

import base64
import dataclasses
import io
import json
import math
import operator
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
import xarray as xr
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from matplotlib.figure import Figure

from ._types import iterate_parameters, iterate_weights
from .calibration.checks import CheckRow
from .calibration.cross_validation import (
    CrossValidationRow,
    RowT,
    checks_in_words,
    cross_validation_in_words,
    read_table,
)
from .calibration.files import CHECKS_NAME, CROSS_VALIDATION_NAME, HISTORY_NAME, PARAMETERS_NAME
from .config import closure_of
from .corrections import VARIABLES as INITIAL_VARIABLES
from .corrections import CorrectedForcing
from .declarations import meanings, summary_and_source
from .io.errors import FileFormatError, names_its_file, read_text, reading, what_is_at
from .io.netcdf import read_netcdf
from .io.protection import note_input, text_mark
from .io.writing import replacing
from .io.yaml_file import ConfigError, parse_yaml
from .plotting import history_figures, posterior_figures

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
    """Name, caption and content of the figures that are there, in the order of the captions."""
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


class ParameterDescription(NamedTuple):
    """What the docstrings say a parameter means, and where the equations come from; empty if nothing."""

    meaning: str
    source: str


def describe_parameters(module: eqx.Module) -> dict[str, ParameterDescription]:
    """Description of each calibratable number of a module, by path."""
    paths = [info.path for info in iterate_parameters(module)]
    paths += [path for path, _ in iterate_weights(module)]
    return {path: _describe(module, path) for path in paths}


def describe_corrections(paths: Iterable[str]) -> dict[str, ParameterDescription]:
    """Description of corrections of a case, by path."""
    known = dict(meanings(CorrectedForcing))
    known |= {name: f"increment of the initial {name}" for name in INITIAL_VARIABLES}
    named = {path: path.rpartition(".")[2] for path in paths}
    return {path: ParameterDescription(known[name], "") for path, name in named.items() if name in known}


def _describe(module: eqx.Module, path: str) -> ParameterDescription:
    part, _, name = path.rpartition(".")
    owner = type(operator.attrgetter(part)(module) if part else module)
    return ParameterDescription(meanings(owner).get(name, ""), _source(owner))


def _source(kind: type) -> str:
    """The source of a class, else of what it inherits from."""
    return next((source for owner in kind.__mro__ if (source := summary_and_source(owner)[1])), "")


_PREFIX = "parameter "
_TOO_FEW, _TOO_LARGE = 100.0, 1.05
"""Effective sample size and R-hat at which a warning is due."""


def posterior_of(run: RunFolder) -> dict[str, Any] | None:
    """Numbers, rows and figures; `None` without a posterior."""
    dataset = run.posterior
    if dataset is None:
        return None
    about = dataset.attrs
    drawn = (
        posterior_figures(dataset) if set(POSTERIOR_FIGURES) - set(run.figures) - {"posterior_bands"} else {}
    )
    information = np.linalg.eigvalsh(dataset["information"].values)
    return {
        "method": {"nuts": "NUTS", "laplace": "Laplace"}.get(str(about["method"]), str(about["method"])),
        "noise": float(about["noise"]),
        "n_observations": float(about["n_observations"]),
        "n_constrained": int((information > 1.0).sum()),
        "n_combinations": information.size,
        "n_draws": int(dataset["log_density"].size),
        "n_divergent": about.get("n_divergent"),
        "n_gradients": about.get("n_gradients"),
        "rows": list(_posterior_rows(dataset)),
        "figures": list(encoded(POSTERIOR_FIGURES, run.figures, drawn)),
    }


def _posterior_rows(dataset: xr.Dataset) -> Iterator[dict[str, Any]]:
    """A row for each parameter."""
    names = [str(name) for name in dataset["parameter"].values]
    deviation = np.sqrt(np.diag(dataset["covariance"].values))
    for variable in dataset.data_vars.values():
        long_name = str(variable.attrs.get("long_name", ""))
        if not long_name.startswith(_PREFIX):
            continue
        path = long_name.removeprefix(_PREFIX)
        low, median, high = np.quantile(variable.values, (0.05, 0.5, 0.95))
        place = names.index(path) if path in names else None
        size = _of(dataset, "effective_size", place)
        r_hat = _of(dataset, "r_hat", place)
        yield {
            "label": path,
            "unit": variable.attrs.get("units", "1"),
            "best": float(variable.attrs["most_probable"]),
            "low": float(low),
            "median": float(median),
            "high": float(high),
            "prior_low": variable.attrs.get("prior_5_percent"),
            "prior_high": variable.attrs.get("prior_95_percent"),
            "deviation": None if place is None else float(deviation[place]),
            "size": size,
            "r_hat": r_hat,
            "is_poor": (size is not None and size < _TOO_FEW) or (r_hat is not None and r_hat > _TOO_LARGE),
        }


def _of(dataset: xr.Dataset, name: str, place: int | None) -> float | None:
    return float(dataset[name].values[place]) if name in dataset and place is not None else None


_ERROR = "_error"


def write_report(run: RunFolder, path: str | Path) -> Path:
    """Write the report of a calibration as one HTML file, complete or not at all."""
    with reading(run.path, "the results of a calibration"):
        text = render(run, text_mark(path))
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return Path(path)


def render(run: RunFolder, mark: str = "") -> str:
    """The page as text, with what its head says of its origin."""
    environment = Environment(
        loader=PackageLoader("tunax_lite", "."),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    return environment.get_template("report.html").render(
        mark=mark,
        closure=run.parameters["closure"],
        calibration=run.parameters["calibration"],
        name=run.path.resolve().name,
        parameters=list(parameter_rows(run)),
        errors=list(error_rows(run)),
        cross_validation=run.cross_validation,
        cross_validation_in_words=cross_validation_in_words(run.cross_validation),
        checks=run.checks,
        checks_in_words=checks_in_words(run.checks),
        figures=list(figures(run)),
        posterior=posterior_of(run),
        data=run.data,
        config=run.config,
        version=run.provenance.get("tunax_lite_version", "not known"),
        command=run.provenance.get("tunax_lite_command", "not known"),
    )


def number(value: float | list[float] | None, digits: int = 4) -> str:
    """A number for a table, or the lowest and the highest of several."""
    if isinstance(value, list):
        return f"{number(min(value), digits)} to {number(max(value), digits)}"
    return "–" if value is None or not math.isfinite(value) else f"{value + 0.0:.{digits}g}"


def parameter_rows(run: RunFolder) -> Iterator[dict[str, Any]]:
    """A row for each parameter: its numbers, where it lies between its bounds, what it means."""
    descriptions = _descriptions(run)
    for path, entry in run.parameters["parameters"].items():
        label = path
        if isinstance(entry["value"], list) and len(entry["value"]) == 1:
            entry = entry | {name: entry[name][0] for name in ("value", "start")}
        elif isinstance(entry["value"], list):
            label = f"{path} ({len(entry['value'])} numbers, lowest to highest)"
        row = {"label": label, **entry, "change": _change(entry), "place": _place(entry)}
        row["note"] = f"= {entry['tied_to']}" if "tied_to" in entry else entry.get("prior", "")
        row["remark"] = entry.get("remark", "")
        yield row | descriptions.get(path, ParameterDescription("", ""))._asdict()


def _descriptions(run: RunFolder) -> dict[str, ParameterDescription]:
    """Of the closure that the configuration names; none where it cannot be made any more."""
    of_cases = describe_corrections(path for path in run.parameters["parameters"] if path.startswith("case"))
    try:
        return of_cases | describe_parameters(closure_of(parse_yaml(run.config)))
    except Exception:  # a closure of the user's own may be anywhere, or gone
        return of_cases


def _change(entry: dict[str, Any]) -> str:
    """From the start to the best: in per cent, as a factor, or, from 0 or over it, as a difference."""
    if isinstance(entry["value"], list) or entry["start"] is None:
        return "–"
    if entry["value"] * entry["start"] <= 0.0:
        return f"{entry['value'] - entry['start']:+.4g}"
    ratio = entry["value"] / entry["start"]
    return f"{100.0 * (ratio - 1.0):+.0f} %" if 0.5 < ratio < 2.0 else f"× {ratio:.3g}"


def _place(entry: dict[str, Any]) -> float | None:
    """Between the bounds, 0 to 1; in the logarithm where they are orders of magnitude apart."""
    value, lower, upper = entry["value"], entry["lower"], entry["upper"]
    if isinstance(value, list) or lower is None or upper is None or not math.isfinite(upper - lower):
        return None
    if lower > 0.0 and upper > 20.0 * lower:
        value, lower, upper = math.log(value), math.log(lower), math.log(upper)
    return (value - lower) / (upper - lower)


def error_rows(run: RunFolder) -> Iterator[dict[str, Any]]:
    """A row for each case and observed variable: root mean square error at the start and at the best."""
    best = run.parameters["calibration"]["best_iteration"] - 1
    for number_of_case, case in enumerate(run.history["case"].values):
        for name, variable in run.history.data_vars.items():
            if not str(name).endswith(_ERROR):
                continue
            errors = variable.values[:, number_of_case]
            if not np.isnan(errors[best]):
                yield {
                    "case": str(case).replace("_", " "),
                    "variable": str(name).removesuffix(_ERROR).replace("_", " "),
                    "unit": variable.attrs.get("units", "1"),
                    "start": float(errors[0]),
                    "best": float(errors[best]),
                }


def figures(run: RunFolder) -> Iterator[dict[str, str]]:
    """The figures of the folder, and those of its history that it lacks."""
    drawn = history_figures(run.history) if {"loss", "parameters"} - set(run.figures) else {}
    yield from encoded(FIGURES, run.figures, drawn)
