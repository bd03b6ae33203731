"""`tunax-lite run`: one model on one case."""

import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path

import jax
import numpy as np

from .. import io
from ..column.diagnostics import diagnostic
from ..column.trajectory import Restart, carried
from ..config import ConfigError, Run, load_run
from ..config.section import closest
from ..io.protection import Provenance
from ..io.water_limits import Extreme, extremes_of, merged
from ..io.writing import claimed
from ..registry import additions
from ..runtime.interrupts import advise, ordered_end
from . import session
from .outputs import check_run_outputs
from .progress import fraction_of
from .restart import read_restart, say_what_differs
from .terminal import echo

_FRAMES_IN_FIGURES = 2000
FIGURES = ("sections", "profiles", "fit", "differences", "series")


def run(
    config: Path,
    settings: Sequence[str],
    *,
    output: Path | None,
    parameters: Path | None,
    variables: str | None,
    restart: Path | None,
    frame: int,
    ignore_unsupported: bool,
    strict: bool,
    overwrite: bool,
) -> None:
    """See `commands.run`."""
    set_up = session.set_up_format(config)
    loaded = load_run(config, settings) if set_up is None else set_up.load(config, settings)
    if output is not None and output.suffix != ".nc":
        raise ConfigError(f"--output {output}: expected a file name that ends in .nc, for example OUT.nc.")
    with session.precision(loaded):
        setup = session.build_source(loaded, parameters, ignore_unsupported=ignore_unsupported, strict=strict)
        names, kept = loaded.config.output.variables if variables is None else variables.split(","), ()
        if names is not None:
            where = f"{loaded.path}: output.variables" if variables is None else "--variables"
            setup, kept = select(setup, names, where)
        start, name, before = setup.start, "", None
        if restart is not None:
            start, name, before = read_restart(restart, frame, setup, loaded.text)
        path = Path(loaded.config.output.folder) / f"{loaded.name}.nc" if output is None else output
        draws = output is None and loaded.config.output.figures
        about = session.provenance(loaded, setup.case.name, setup.model.closure, name)
        check_run_outputs(path, about, overwrite, figures=FIGURES if draws else ())
        if restart is not None and before is not None:
            say_what_differs(restart, before, about)
        with claimed(path):
            beyond = _simulate(setup, start, loaded, path, about)
            drawn = _draw(path, setup) if draws else []
            if kept:
                io.keep_variables(path, kept)
            session.report_written([path, *drawn])
    session.judge_water(beyond)


def _simulate(
    setup: Run, start: Restart | None, loaded: session.RunSource, path: Path, about: Provenance
) -> list[Extreme]:
    begin = 0.0 if start is None else float(start.step) * setup.dt
    duration = setup.duration_from(begin)
    setup.check_output(duration, path.absolute().parent)
    depth = -np.asarray(setup.case.grid.z_face)[0]  # of JAX it would be three programs
    echo(
        f"{setup.case.name}: {setup.case.grid.n_cells} cells over {depth:g} m, "
        f"{duration / setup.dt:.0f} steps of {setup.dt:g} s, {type(setup.model.closure).__name__}, "
        f"{loaded.config.precision}"
    )
    session.say_how_long(duration / setup.dt, setup.case.grid.n_cells)
    clock = time.perf_counter()
    # Slow import.
    from ..io.runs import parts_folder, parts_of
    from .streaming import Progress, run_to_file

    kept = f"What was computed is in {parts_folder(path)}: the same command continues after it, "
    kept += f"tunax-lite plot {path} draws it."
    if parts_of(path):
        advise(kept)
    beyond: list[Extreme] = []
    try:
        with fraction_of("run") as show, ordered_end("what is computed now") as safe_point:

            def report(progress: Progress) -> None:
                show((progress.time - begin) / (progress.end - begin), f"day {progress.time / 86400.0:.1f}")
                advise(kept)
                beyond[:] = merged(
                    beyond, extremes_of(progress.trajectory, has_ice=setup.case.ice is not None)
                )
                safe_point()

            run_to_file(
                setup.model,
                setup.case,
                path,
                dt=setup.dt,
                duration=duration,
                output_interval=setup.output_interval,
                start=start,
                diagnostics=setup.diagnostics,
                means=setup.means,
                provenance=about,
                start_time=setup.case.start_time,
                report=report,
            )
            advise(f"{path} is complete.")
    except ValueError as error:
        raise ConfigError(f"{loaded.path}: time: {error}") from error
    echo(f"computed in {time.perf_counter() - clock:.1f} s, compilation included")
    return beyond


def _draw(path: Path, setup: Run) -> list[Path]:
    echo("drawing figures ...")
    # Slow imports, only where needed.
    from ..plotting import CaseRuns, fit_figures, in_words, run_figures, save_figures

    trajectory = io.read_trajectory(path, every=1 + io.count_frames(path) // _FRAMES_IN_FIGURES)
    case = setup.case
    figures = run_figures(trajectory, in_words(case.name), case.start_time, case.equation_of_state)
    if setup.observations is not None:
        figures |= fit_figures(CaseRuns(case.name, {"model": trajectory}, setup.observations, case))
    return save_figures(figures, path.parent, f"{path.stem}_")


def select(setup: Run, names: Sequence[str], where: str) -> tuple[Run, tuple[str, ...]]:
    """Select the requested diagnostics of a run; also returns the names of the variables in the file.

    Names are the package's or those of another model; `where` is used in messages.
    """
    others: dict[str, str] = {}
    for names_of_model in additions("formats", "VARIABLE_NAMES"):
        others |= names_of_model
    shapes = jax.eval_shape(lambda case: (case.start_state, setup.model.init(case)), setup.case)
    held = set(carried(*shapes))
    ours = tuple(dict.fromkeys(name if name in held else others.get(name, name) for name in names))
    computed = tuple(name for name in ours if name not in held)
    for name in computed:
        try:
            diagnostic(name)
        except ValueError:
            raise ConfigError(
                f"{where}: expected variables of this run, or diagnostics, got '{name}'; "
                f"{closest(name, [*sorted(held), *others])}"
            ) from None
    return dataclasses.replace(setup, diagnostics=computed), ours
