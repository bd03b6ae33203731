"""Several sites at a glance: a table, a figure, and a page."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from ...cli import session
from ...io.axes import place_in_words
from ...io.netcdf import read_contents
from ...io.writing import check_outputs, write_csv
from ...io.yaml_file import read_document
from ...plotting import style
from .folders import write_page
from .sources import Place

_TABLE, _FIGURE = "sites.csv", "sites.png"
_COLUMNS = (
    *("name", "latitude", "longitude", "start", "stop", "depth", "weather", "water"),
    *("mean_sea_surface_temperature", "bias_of_temperature", "rms_of_temperature", "failed"),
)
_SHOWN = "uppermost cell [°C]", "mixed layer depth [m]"
_SPIN_UP = 7200.0  # [s], before which the run is what it started from


class Outcome(NamedTuple):
    """What became of a site: its folder, and why it failed, if it did."""

    place: Place
    folder: Path
    reason: str


class _Run(NamedTuple):
    """The first run of a site: times [s], surface temperature, mixed layer, and errors against its water."""

    time: np.ndarray
    surface: np.ndarray
    layer: np.ndarray
    bias: float
    rms: float


def check_overview(output: Path, *, overwrite: bool) -> None:
    """Refuse to replace files that stand in the place of the overview."""
    check_outputs([output / name for name in (_TABLE, _FIGURE, "README.md")], overwrite=overwrite)


def write_overview(outcomes: Sequence[Outcome], output: Path) -> None:
    """Table, figure and page of all sites, those that failed with the reason."""
    runs = {one.place.name: run_of(one.folder) for one in outcomes if not one.reason}
    rows = [_row(one, runs.get(one.place.name)) for one in outcomes]
    output.mkdir(parents=True, exist_ok=True)
    write_csv(output / _TABLE, _COLUMNS, rows)
    style.save_figure(_figure(outcomes, {name: run for name, run in runs.items() if run}), output / _FIGURE)
    said = f"{len(outcomes)} sites, {sum(not one.reason for one in outcomes)} of them complete."
    write_page(output, output.absolute().name, said, _lines(rows))
    session.report_written(output / name for name in (_TABLE, _FIGURE, "README.md"))


def run_of(folder: Path) -> _Run | None:
    """The first run in the folder of a site; `None` without."""
    if not (folder / "site.nc").is_file():
        return None
    run = read_contents(folder / "site.nc", only=("time", "z_center", "temperature", "mixed_layer_depth"))
    time, z, temperature = (run[name].numbers() for name in ("time", "z_center", "temperature"))
    layer = run["mixed_layer_depth"].numbers() if "mixed_layer_depth" in run else np.full(time.size, np.nan)
    errors = _errors(time, z, temperature, folder / "water.nc")
    bias, rms = (errors.mean(), np.sqrt((errors**2).mean())) if errors.size else (np.nan, np.nan)
    return _Run(time, temperature[:, -1], layer, float(bias), float(rms))


def _errors(time: np.ndarray, z: np.ndarray, temperature: np.ndarray, path: Path) -> np.ndarray:
    """Of a run against the profiles of its water during the run, at their levels within the column [K]."""
    water = read_contents(path, only=("time", "depth", "TEMP"))
    at, depth, observed = (water[name].numbers() for name in ("time", "depth", "TEMP"))
    found = []
    for moment, profile in zip(at, observed, strict=True):
        if not _SPIN_UP < moment <= time[-1]:
            continue
        modelled = np.array([np.interp(moment, time, level) for level in temperature.T])
        known = np.isfinite(profile) & (-depth >= z[0])
        found.append(np.interp(-depth[known], z, modelled) - profile[known])
    return np.concatenate(found) if found else np.empty(0)


def _row(outcome: Outcome, run: _Run | None) -> list[object]:
    """Of the table; what is not known is empty."""
    place = outcome.place
    row = [place.name, place.latitude, place.longitude, place.start_time, place.stop.isoformat()]
    if outcome.reason:
        return [*row, *[""] * 6, outcome.reason]
    depth = read_document(outcome.folder / "site.yaml").data["case"]["depth"]
    origins = json.loads((outcome.folder / "origin.json").read_text(encoding="utf-8"))
    titles = {one["kind"]: one["title"] for one in origins}
    numbers = [] if run is None else [float(run.surface.mean()), run.bias, run.rms]
    texts = [f"{number:.4g}" if np.isfinite(number) else "" for number in numbers] or [""] * 3
    return [*row, depth, titles["weather"], titles["water"], *texts, ""]


def _lines(rows: Sequence[Sequence[object]]) -> list[str]:
    """The table for a reader."""
    lines = [
        f"![positions, surface temperature and mixed layer]({_FIGURE})",
        "",
        "| site | position | column [m] | weather | water | surface [°C] | bias [K] | rms [K] |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, north, east, _, _, *own, failed in rows:
        where = place_in_words(float(str(north)), float(str(east)))
        told = ["failed, see below", *[""] * 5] if failed else own
        lines.append(f"| {name} | {where} | {' | '.join(map(str, told))} |")
    failures = [f"- {row[0]}: {row[-1]}" for row in rows if row[-1]]
    return [
        *lines,
        "",
        "The surface is the mean temperature of the uppermost cell; bias and rms are those of the run "
        "against the profiles in `water.nc` after the first two hours. A climatology is no measurement of "
        f"the same time. `{_TABLE}` is this table for programs; each site has a page of its own.",
        *[""] * bool(failures),
        *failures,
    ]


def _figure(outcomes: Sequence[Outcome], runs: dict[str, _Run]) -> Figure:
    """Positions with names, crosses where a site failed; temperature and mixed layer of the runs."""
    figure, axes = style.panels(3 if runs else 1, 1, (7.0, 2.8))
    where, *others = axes[:, 0]
    colours = {name: f"C{number % 10}" for number, name in enumerate(runs)}  # those of the lines
    places = [((one.longitude + 180.0) % 360.0 - 180.0, one.latitude) for one, *_ in outcomes]
    for (place, _, reason), at in zip(outcomes, places, strict=True):
        where.plot(*at, "x" if reason else "o", color=colours.get(place.name, "0.4"))
    where.margins(0.2, 0.25)
    style.name_points(where, [one.place.name for one in outcomes], places, 8.0)
    style.label(where, "longitude [°E]", "latitude [°N]")
    if not runs:
        return figure
    chosen = [outcome.place for outcome in outcomes if outcome.place.name in runs]
    first, longest = min(one.start for one in chosen), max(one.duration for one in chosen)
    length = (max(one.stop for one in chosen) - first).total_seconds()
    together = length <= 2.0 * longest  # else every run begins at day 0
    axis = style.FigureTime(length if together else longest, first.isoformat() if together else None)
    for panel, name, what in zip(others, ("surface", "layer"), _SHOWN, strict=True):
        for place in chosen:
            run, later = runs[place.name], (place.start - first).total_seconds() if together else 0.0
            panel.plot(axis.places(run.time + later), getattr(run, name), label=place.name, linewidth=1.0)
        style.label(panel, "", what)
        axis.finish(panel, "small")
        if not together:
            panel.set_xlabel(f"{panel.get_xlabel()}, since the start of each run", fontsize="small")
    others[1].set_ylim(others[1].get_ylim()[1], 0.0)
    others[0].legend(fontsize="x-small")
    return figure
