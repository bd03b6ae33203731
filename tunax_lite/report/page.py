"""The page: numbers of the folder as text, figures as data, nothing that has to be loaded from elsewhere."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from ..config import closure_of
from ..io.errors import reading
from ..io.protection import text_mark
from ..io.writing import replacing
from ..io.yaml_file import parse_yaml
from ..plotting import history_figures
from ..validation import checks_in_words, cross_validation_in_words
from .descriptions import ParameterDescription, describe_corrections, describe_parameters
from .posterior import posterior_of
from .run_folder import FIGURES, RunFolder, encoded

_ERROR = "_error"


def write_report(run: RunFolder, path: str | Path) -> Path:
    """Write the report of a calibration as one HTML file, complete or not at all.

    Args:
        run: from `read_run_folder`.
        path: of the file.

    Raises:
        OSError: a path that cannot be written.
    """
    with reading(run.path, "the results of a calibration"):
        text = render(run, text_mark(path))
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return Path(path)


def render(run: RunFolder, mark: str = "") -> str:
    """The page as text, with what its head says of its origin."""
    environment = Environment(
        loader=PackageLoader("tunax_lite.report", "."),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    return environment.get_template("page.html").render(
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
