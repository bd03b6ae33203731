"""Page about a calibration: results, configuration, and size and date of its data, in one HTML file."""

import base64
import dataclasses
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import xarray as xr
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from matplotlib.figure import Figure

from .._types import JSON
from ..calibration.posterior.infer import POSTERIOR_NAME
from ..calibration.results import CROSS_VALIDATION_NAME, HISTORY_NAME, PARAMETERS_NAME
from ..calibration.validation import CrossValidationRow, read_table
from ..io.errors import names_its_file, reading
from ..io.netcdf import read_netcdf
from ..io.writing import write_text
from ..io.yaml_file import read_document
from ..plotting import history_figures, in_words, posterior_figures, style
from ..plotting.calibration import parameters_of

FIGURES = {
    "loss": "Loss and the score of each case at every evaluation",
    "parameters": "Parameters at every evaluation",
    "profiles": "Profiles at the end of each case: observed, before and after the calibration",
}
POSTERIOR_FIGURES = {
    "posterior_marginals": "Distribution and prior of every parameter",
    "posterior_correlations": "Correlations of the unconstrained parameters",
}
_ORIGIN = ("date", "version", "commit", "machine", "command", "config", "packages", "data")
_ERROR = "_error"
_TOO_FEW, _TOO_LARGE = 100.0, 1.05  # warn below this effective sample size, and above this R-hat
_HERE = Path(__file__).parent


def number(value: float | list[float] | None, digits: int = 4) -> str:
    """Format a number for a table, or the lowest and highest of several."""
    if isinstance(value, list):
        return f"{number(min(value), digits)} to {number(max(value), digits)}"
    return "–" if value is None or not math.isfinite(value) else f"{value + 0.0:.{digits}g}"


@dataclasses.dataclass(frozen=True)
class CalibrationFolder:
    """Contents of the folder of a calibration, with the paths of existing figures by name."""

    path: Path
    parameters: dict[str, JSON]
    history: xr.Dataset
    figures: Mapping[str, Path]
    cross_validation: tuple[CrossValidationRow, ...] = ()
    posterior: xr.Dataset | None = None

    @property
    def captions(self) -> dict[str, str]:
        """Captions of the figures of a calibration by name, including the series of its cases."""
        cases = {name: in_words(name.removeprefix("series").removeprefix("_")) for name in self.figures}
        over_time = {
            name: f"Time series: observed, before and after the calibration{case and f': {case}'}"
            for name, case in cases.items()
            if name.startswith("series")
        }
        return FIGURES | over_time

    @property
    def provenance(self) -> dict[str, str]:
        return {str(key): str(value) for key, value in (self.parameters.get("provenance") or {}).items()}


@names_its_file("the folder of a calibration")
def read_calibration_folder(folder: str | Path) -> CalibrationFolder:
    """Read the folder of a calibration.

    Raises `FileNotFoundError` without results of a calibration, and `ValueError` if they belong to different
    calibrations or cannot be read.
    """
    folder = Path(folder)
    paths = folder / PARAMETERS_NAME, folder / HISTORY_NAME
    if missing := [path.name for path in paths if not path.is_file()]:
        raise FileNotFoundError(
            f"{folder}: a report describes a calibration; there is no {' and no '.join(missing)} in this "
            "folder; name that of `tunax-lite calibrate`, or continue the calibration with --resume."
        )
    parameters, history = read_document(paths[0]).data, read_netcdf(paths[1])
    with reading(paths[0], "the parameters of a calibration"):
        expected = parameters["calibration"]["n_iterations"]
    if (got := history.sizes.get("iteration", 0)) != expected:
        raise ValueError(
            f"{paths[1]}: expected the {expected} iterations of {paths[0].name}, got {got}; calibrate again."
        )
    drawn = {name: folder / f"{name}.png" for name in (*FIGURES, *POSTERIOR_FIGURES)}
    drawn |= {path.stem: path for path in sorted(folder.glob("series*.png"))}
    cross_validation, posterior = folder / CROSS_VALIDATION_NAME, folder / POSTERIOR_NAME
    return CalibrationFolder(
        folder,
        parameters,
        history,
        {name: path for name, path in drawn.items() if path.is_file()},
        read_table(cross_validation) if cross_validation.is_file() else (),
        read_netcdf(posterior) if posterior.is_file() else None,
    )


def write_report(run: CalibrationFolder, path: str | Path) -> Path:
    """Write the report of a calibration as one HTML file, atomically."""
    with reading(run.path, "the results of a calibration"):
        text = render(run)
    write_text(path, text)
    return Path(path)


def render(run: CalibrationFolder) -> str:
    """Render the page as text."""
    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    origin = {name: run.provenance.get(f"tunax_lite_{name}") for name in _ORIGIN}
    return environment.get_template("calibration.html").render(
        origin=origin | {name: json.loads(origin[name] or "{}") for name in ("packages", "data")},
        title=f"Calibration of {run.parameters['closure']}",
        name=run.path.resolve().name,
        calibration=run.parameters["calibration"],
        parameters=list(parameter_entries(run)),
        errors=list(_error_rows(run)),
        cross_validation=run.cross_validation,
        figures=list(
            _encoded(run, run.captions, {"loss", "parameters"}, lambda: history_figures(run.history))
        ),
        posterior=None if run.posterior is None else _posterior(run, run.posterior),
    )


def _encoded(
    run: CalibrationFolder,
    captions: Mapping[str, str],
    drawable: set[str],
    draw: Callable[[], Mapping[str, Figure]],
) -> Iterator[dict[str, str]]:
    """Name, caption and content of figures, from the folder or drawn if they are missing there."""
    drawn = draw() if drawable - set(run.figures) else {}
    for name, caption in captions.items():
        if name in run.figures:
            yield _figure(name, caption, run.figures[name].read_bytes())
        elif name in drawn:
            yield _figure(name, caption, _png(drawn[name]))


def _figure(name: str, caption: str, png: bytes) -> dict[str, str]:
    return {"name": name, "caption": caption, "data": base64.b64encode(png).decode()}


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    style.show_names_as_they_are(figure)
    figure.savefig(buffer, format="png", dpi=130)
    return buffer.getvalue()


def parameter_entries(run: CalibrationFolder) -> Iterator[dict[str, object]]:
    """One row per parameter or vector: values, change, position between the bounds."""
    for path, entry in run.parameters["parameters"].items():
        label = path
        if isinstance(entry["value"], list) and len(entry["value"]) == 1:
            entry = entry | {name: entry[name][0] for name in ("value", "start")}
        elif isinstance(entry["value"], list):
            label = f"{path} ({len(entry['value'])} numbers, lowest to highest)"
        yield {"label": label, "remark": "", **entry} | {
            "change": _change(entry),
            "place": _position(entry),
            "note": entry.get("prior", ""),
        }


def _change(entry: dict[str, JSON]) -> str:
    """Change from start to best fit: in per cent, as a factor, or as a difference if 0 lies between them."""
    if isinstance(entry["value"], list) or entry["start"] is None:
        return "–"
    if entry["value"] * entry["start"] <= 0.0:
        return f"{entry['value'] - entry['start']:+.4g}"
    ratio = entry["value"] / entry["start"]
    return f"{100.0 * (ratio - 1.0):+.0f} %" if 0.5 < ratio < 2.0 else f"× {ratio:.3g}"


def _position(entry: dict[str, JSON]) -> float | None:
    """Position between the bounds, 0 to 1; logarithmic if they differ by orders of magnitude."""
    value, lower, upper = entry["value"], entry["lower"], entry["upper"]
    if isinstance(value, list) or lower is None or upper is None or not math.isfinite(upper - lower):
        return None
    if lower > 0.0 and upper > 20.0 * lower:
        value, lower, upper = math.log(value), math.log(lower), math.log(upper)
    return (value - lower) / (upper - lower)


def _error_rows(run: CalibrationFolder) -> Iterator[dict[str, object]]:
    """One row per case and observed variable: root mean square error before and after."""
    best = run.parameters["calibration"]["best_iteration"] - 1
    errors = {str(name): each for name, each in run.history.data_vars.items() if str(name).endswith(_ERROR)}
    for place, case in enumerate(run.history["case"].values):
        for name, variable in errors.items():
            values = variable.values[:, place]
            if not np.isnan(values[best]):
                yield {
                    "case": in_words(str(case)),
                    "variable": in_words(name.removesuffix(_ERROR)),
                    "unit": variable.attrs.get("units", "1"),
                    "start": float(values[0]),
                    "best": float(values[best]),
                }


_METHODS = {"nuts": "NUTS", "laplace": "Laplace", "smc": "Tempered SMC"}


def _posterior(run: CalibrationFolder, dataset: xr.Dataset) -> dict[str, object]:
    about = dataset.attrs
    information = np.linalg.eigvalsh(dataset["information"].values)
    return {
        "method": _METHODS.get(str(about["method"]), str(about["method"])),
        "noise": float(about["noise"]),
        "n_observations": float(about["n_observations"]),
        "n_constrained": int((information > 1.0).sum()),
        "n_combinations": information.size,
        "n_draws": int(dataset["x"][..., 0].size),
        "n_divergent": about.get("n_divergent"),
        "rows": list(_posterior_rows(dataset)),
        "figures": list(
            _encoded(run, POSTERIOR_FIGURES, set(POSTERIOR_FIGURES), lambda: posterior_figures(dataset))
        ),
    }


def _posterior_rows(dataset: xr.Dataset) -> Iterator[dict[str, object]]:
    names = [str(name) for name in dataset["parameter"].values]
    columns = {
        "size": dataset.get("effective_size"),
        "r_hat": dataset.get("r_hat"),
        "deviation": dataset.get("spread"),
    }
    for path, variable in parameters_of(dataset).items():
        available = {name: each for name, each in columns.items() if path in names and each is not None}
        row = dict.fromkeys(columns) | {k: float(each[names.index(path)]) for k, each in available.items()}
        size, r_hat = row["size"], row["r_hat"]
        quantiles = map(float, np.quantile(variable.values, (0.05, 0.5, 0.95)))
        yield (
            row
            | dict(zip(("low", "median", "high"), quantiles, strict=True))
            | {
                "label": path,
                "unit": variable.attrs.get("units", "1"),
                "best": float(variable.attrs["most_probable"]),
                "prior_low": variable.attrs.get("prior_5_percent"),
                "prior_high": variable.attrs.get("prior_95_percent"),
                "is_poor": (size is not None and size < _TOO_FEW)
                or (r_hat is not None and r_hat > _TOO_LARGE),
            }
        )
