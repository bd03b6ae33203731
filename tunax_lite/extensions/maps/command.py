"""Commands on a map: `map` runs it, `calibrate` fits it, `check` describes it."""

import dataclasses
import functools
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from typer import Exit

from ...calibration.results import check_folder
from ...cli import session
from ...cli.application import Answer
from ...cli.check import InputFigures, describe_model, describe_times
from ...cli.progress import fraction_of
from ...cli.terminal import echo
from ...config import Loaded
from ...io.writing import check_outputs
from ...plausibility.inputs import column_of
from ...runtime.engine import AbstractEngine, open_engine
from ...runtime.machine import needed
from .build import build_map, build_map_fit, load_map
from .calibration import FILES, ITERATIONS_NAME, MapFit, Progress, fit_map, write_fit
from .plan import planned
from .run import Broken, MapReport, run_map
from .sections import MapConfig
from .setup import MapRun
from .store import MapStore, create_store, existing_store

_MOST_NAMED = 10  # failed columns in a message
_TIME_SHOWN = 31 * 86400.0
"""Longest period [s] whose inputs `check` draws."""


def map_columns(
    config: Path,
    settings: Sequence[str],
    output: Path,
    parameters: Path | None,
    n_columns: int | None,
    *,
    resume: bool,
    overwrite: bool,
    workers: int | None,
    scheduler: str | None,
) -> None:
    """See `commands.map_columns`."""
    needed("zarr", "tunax-lite map")
    loaded = load_map(config, settings)
    with session.precision(loaded):
        values = session.parameters_for(parameters, loaded.closure_class.__name__)
        run = build_map(loaded, values)
        session.say_notes(run.columns.notes)
        about = session.provenance(loaded, loaded.name, run.model.closure)
        run = dataclasses.replace(run, about=about)
        inputs = session.inputs_of(loaded, parameters, *run.columns.inputs)
        # Whether the store may be replaced is checked by `existing_store`.
        check_outputs([output], overwrite=True, inputs=inputs, folders=True)
        store = existing_store(output, run, resume=resume, overwrite=overwrite)
        if store is not None and store.is_complete:
            echo(f"{output}: complete; nothing to do")
            return
        with open_engine(workers, scheduler) as engine:
            report = _run(run, output, store, engine, n_columns)
    _say_broken(report.broken, run)
    session.report_written([output])
    if report.broken:
        raise Exit(session.FAILED)


def _run(
    run: MapRun,
    output: Path,
    store: MapStore | None,
    engine: AbstractEngine,
    n_columns: int | None,
) -> MapReport:
    columns, clock = run.columns, time.perf_counter()
    shape = " x ".join(str(n) for n in columns.shape)
    echo(
        f"{columns.n_columns} columns of {shape} points, {run.duration / run.dt:.0f} steps of {run.dt:g} s, "
        f"{run.n_frames} frames, {type(run.model.closure).__name__}"
    )
    if store is None:
        (plan,) = engine.map(functools.partial(planned, n_columns=n_columns), [run])
        echo(
            f"about {plan.memory / 1e9:.2g} GB of memory per process, {plan.n_bytes / 1e9:.2g} GB of results"
        )
        store = create_store(output, run, plan)
    elif n_columns is not None:
        session.say_notes(
            [f"--columns is not used: the map continues with tiles of {store.layout.width} columns"]
        )
    layout = store.layout
    n_tiles = len(run.tiles(layout.n_rows))
    echo(f"{n_tiles} tiles of at most {layout.width} columns, pieces of {layout.n_frames} frames")
    with fraction_of("map") as show:
        report = run_map(run, store, engine, report=show)
    echo(
        f"computed in {time.perf_counter() - clock:.1f} s, compilation included; at most "
        f"{report.peak_memory / 1e9:.2g} GB of memory per process"
    )
    return report


def calibrate(
    config: Path,
    settings: Sequence[str],
    output: Path | None,
    *,
    resume: bool,
    overwrite: bool,
    workers: int | None,
    scheduler: str | None,
) -> None:
    """Calibrate a map, for `tunax-lite calibrate`."""
    loaded = load_map(config, settings)
    with session.precision(loaded):
        fit = build_map_fit(loaded)
        folder = output or Path(fit.settings.folder or Path("results") / loaded.name)
        existing = [name for name in FILES if (folder / name).exists()]
        check_folder("calibration", folder, existing, resume, overwrite)
        columns, path = fit.run.columns, folder / ITERATIONS_NAME
        inputs = session.inputs_of(loaded, *columns.inputs)
        check_outputs([folder / name for name in FILES], overwrite=True, inputs=inputs)
        session.say_notes(columns.notes)
        names = ", ".join(fit.free.paths)
        echo(f"calibrating {columns.n_columns} corrections of the heat flux, and {names} for all columns")
        if overwrite:
            path.unlink(missing_ok=True)
        n_iterations = fit.settings.n_iterations
        with open_engine(workers, scheduler) as engine, fraction_of("calibration") as show:

            def note(progress: Progress) -> None:
                number = progress.losses.size
                loss = f"evaluation {number} of {n_iterations}, lowest loss {progress.loss:.4g} K2"
                show(number / n_iterations, loss)

            progress = fit_map(fit, n_iterations, engine, path=path, report=note)
        about = session.provenance(loaded, loaded.name, fit.run.model.closure)
        written = write_fit(fit, progress, folder, about)
    _say_fit(fit, progress)
    session.report_written(written)


def _say_fit(fit: MapFit, progress: Progress) -> None:
    used = progress.weight > 0.0
    if not used.all():
        echo(f"{np.sum(~used)} columns failed at the start and are ignored")
    echo(f"loss: {progress.losses[0]:.4g} K2 at the start, lowest {progress.loss:.4g} K2")
    size = float(np.sqrt(np.sum(progress.weight[used] * progress.correction[used] ** 2)))
    echo(f"  correction of the heat flux: {size:.3g} W m-2 (root mean square over the area)")
    values = zip(fit.free.numbers, fit.values(progress.x), strict=True)
    for number, value in values:
        echo(f"  {number.path}: {number.start:.4g} -> {value:.4g} [{number.unit}]")


def _say_broken(broken: Sequence[Broken], run: MapRun) -> None:
    if not broken:
        return
    first = sorted(broken, key=lambda column: column.time)[:_MOST_NAMED]
    listed = "; ".join(column.described(run.columns.epoch) for column in first)
    more = f"; and {len(broken) - len(first)} more" if len(broken) > len(first) else ""
    echo(
        f"tunax-lite: error: expected finite values, got NaN or infinity in {len(broken)} of "
        f"{run.columns.n_columns} columns: {listed}{more}. Their values are missing from then on, the other "
        "columns are complete; try a shorter time step, or check the input there.",
        err=True,
    )


def check(loaded: Loaded[MapConfig], parameters: Path | None, figures: InputFigures) -> Answer:
    """Print the size of a map, the model and the times, and draw the inputs of the first column."""
    needed("zarr", "tunax-lite map")
    run = build_map(loaded, session.parameters_for(parameters, loaded.closure_class.__name__))
    columns = run.columns
    model = describe_model(run.model)
    n_cells = run.first_column.grid.n_cells
    echo(
        f"map: {' x '.join(map(str, columns.shape))} points, {n_cells} cells in a column, from "
        f"{columns.epoch:%Y-%m-%d %H:%M} on"
    )
    length = min(run.duration, _TIME_SHOWN)
    first = column_of(columns.case(slice(0, 1), 0.0, length), 0)
    figures.draw(dataclasses.replace(first, duration=length))
    times = describe_times(run.duration, run.dt, run.output_interval)
    session.say_notes(columns.notes)
    points = {"shape": list(columns.shape), "n_cells": n_cells, "start": columns.epoch.isoformat()}
    return {"kind": "map", "map": points, "model": model, "time": times, "notes": columns.notes}
