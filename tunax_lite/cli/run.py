"""`tunax-lite run`: one model on one case."""

import time
from pathlib import Path
from typing import Annotated

import jax
import numpy as np
import typer

from .. import io
from ..config import ConfigError, Run
from ..interrupts import advise, ordered_end
from ..io.errors import FileFormatError, check_possible
from ..trajectory import Restart
from . import options
from .progress import share_of
from .session import errors_as_messages, precision, provenance, report_written
from .source import RunSource, build_source, load_source
from .variables import select

_FRAMES_IN_FIGURES = 2000


def run(
    config: options.Config,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="OUT.nc",
            help="File for the results alone; by default the folder of the configuration, with figures.",
        ),
    ] = None,
    parameters: options.Parameters = None,
    settings: options.Settings = None,
    variables: Annotated[
        str | None,
        typer.Option(
            "--variables",
            metavar="NAME,NAME",
            help="Keep these in the file alone, by our names or GOTM's; as output.variables.",
        ),
    ] = None,
    restart: Annotated[
        Path | None,
        typer.Option("--restart", metavar="FILE.nc", help="Go on from a frame of an earlier run."),
    ] = None,
    frame: Annotated[int, typer.Option("--frame", help="Frame to go on from; -1 is the last.")] = -1,
    ignore_unsupported: Annotated[
        bool,
        typer.Option(
            "--ignore-unsupported",
            help="Run a case of GOTM without those of its settings that are not supported.",
        ),
    ] = False,
    debug: options.Debug = False,
) -> None:
    """Run a model on a case; write the trajectory as NetCDF, and figures.

    CONFIG is a configuration of the package, or one of GOTM (version 7) with its files beside it.
    """
    with errors_as_messages(debug, "Nothing was written."):
        loaded = load_source(config, settings or [])
        if output is not None and output.suffix != ".nc":
            raise ConfigError(
                f"--output {output}: expected a file name that ends in .nc, for example OUT.nc."
            )
        with precision(loaded):
            setup = build_source(loaded, parameters, ignore_unsupported=ignore_unsupported)
            names = loaded.config.output.variables if variables is None else variables.split(",")
            setup, kept = (setup, ()) if names is None else select(setup, names, _key_of(variables, loaded))
            start = None if restart is None else _restart(restart, frame, setup)
            path = Path(loaded.config.output.folder) / f"{loaded.name}.nc" if output is None else output
            _simulate(setup, start, loaded, path)
            draws = output is None and loaded.config.output.figures
            figures = _draw(path, setup, loaded) if draws else []
            if kept:
                io.keep_variables(path, kept)
            report_written([path, *figures])


def _key_of(variables: str | None, loaded: RunSource) -> str:
    return f"{loaded.path}: output.variables" if variables is None else "--variables"


def _restart(path: Path, frame: int, setup: Run) -> Restart:
    """The frame of an earlier run, checked to be of the same grid and model."""
    trajectory = io.read_trajectory(path)
    for name in ("temperature", "salinity", "u", "v"):
        check_possible(path, name, name, np.asarray(getattr(trajectory.state, name)))
    before, now = np.asarray(trajectory.grid.z_face), np.asarray(setup.case.grid.z_face)
    if before.shape != now.shape or not np.allclose(before, now, rtol=0.0, atol=1e-6):
        raise ConfigError(
            f"--restart {path}: expected a run on the grid of this case ({now.size - 1} cells over "
            f"{-now[0]:g} m), got {before.shape[0] - 1} cells over {-float(before.flat[0]):g} m; "
            "choose the same grid."
        )
    try:
        start = trajectory.restart(frame)
    except ValueError as error:
        raise ConfigError(f"--restart {path}: {error}") from error
    for place, leaf in jax.tree_util.tree_leaves_with_path((start.state, start.clo_state)):
        if not np.isfinite(np.asarray(leaf)).all():
            name = jax.tree_util.keystr(place[1:]).lstrip(".")
            raise FileFormatError(
                path, name, f"finite values in frame {frame}", "others", "choose another frame"
            )
    _check_goes_on(start, float(trajectory.time[frame]), path, setup)
    return start


def _check_goes_on(start: Restart, seconds: float, path: Path, setup: Run) -> None:
    """Check time step, closure, precision and tracers of a frame at a time [s]."""
    if abs(float(start.step) * setup.dt - seconds) > 1e-9 * max(seconds, setup.dt):
        raise ConfigError(
            f"--restart {path}: expected time.step = {seconds / float(start.step):g} s as in the earlier "
            f"run, got {setup.dt:g} s; use the same time step."
        )
    expected = jax.eval_shape(setup.model.init, setup.case)
    if type(start.clo_state) is not type(expected):
        raise ConfigError(
            f"--restart {path}: expected a run with the closure of this configuration "
            f"({type(expected).__name__}), got {type(start.clo_state).__name__}; use the same closure."
        )
    if start.state.temperature.dtype != setup.case.grid.z_face.dtype:
        raise ConfigError(
            f"--restart {path}: expected a run in {setup.case.grid.z_face.dtype}, got one in "
            f"{start.state.temperature.dtype}; use the same precision."
        )
    if set(start.state.tracers) != set(setup.case.initial_state.tracers):
        raise ConfigError(
            f"--restart {path}: expected the tracers {sorted(setup.case.initial_state.tracers)} of the case, "
            f"got {sorted(start.state.tracers)}; use the same tracers."
        )


def _simulate(setup: Run, start: Restart | None, loaded: RunSource, path: Path) -> None:
    begin = 0.0 if start is None else float(start.step) * setup.dt
    duration = setup.duration_from(begin)
    setup.check_output(duration, path.absolute().parent)
    typer.echo(
        f"{setup.case.name}: {setup.case.grid.n_cells} cells over {float(setup.case.grid.depth):g} m, "
        f"{duration / setup.dt:.0f} steps of {setup.dt:g} s, {type(setup.model.closure).__name__}, "
        f"{loaded.config.precision}"
    )
    clock = time.perf_counter()
    # Takes long to import.
    from ..io.stream import parts_folder, parts_of

    kept = f"What was computed is in {parts_folder(path)}: the same command goes on after it, "
    kept += f"tunax-lite plot {path} draws it."
    if parts_of(path):
        advise(kept)
    try:
        with share_of("run") as show, ordered_end("what is computed now") as safe_point:

            def report(progress: io.Progress) -> None:
                show((progress.time - begin) / (progress.end - begin), f"day {progress.time / 86400.0:.1f}")
                advise(kept)
                safe_point()

            io.run_to_file(
                setup.model,
                setup.case,
                path,
                dt=setup.dt,
                duration=duration,
                output_interval=setup.output_interval,
                start=start,
                diagnostics=tuple(dict.fromkeys((*setup.diagnostics, *loaded.config.output.diagnostics))),
                means=setup.means or loaded.config.output.means,
                provenance=provenance(loaded, setup.case.name, setup.model.closure),
                start_time=setup.case.start_time,
                report=report,
            )
            advise(f"{path} is complete.")
    except ValueError as error:
        raise ConfigError(f"{loaded.path}: time: {error}") from error
    typer.echo(f"computed in {time.perf_counter() - clock:.1f} s, compilation included")


def _draw(path: Path, setup: Run, loaded: RunSource) -> list[Path]:
    """Figures beside the file of a run."""
    # What takes long to import, where it is needed.
    from ..plotting import Fit, save_figure
    from .figures import fit_figures, run_figures

    trajectory = io.read_trajectory(path, every=1 + io.count_frames(path) // _FRAMES_IN_FIGURES)
    case = setup.case
    figures = run_figures(trajectory, case.name.replace("_", " "), case.start_time)
    if setup.observations is not None:
        figures |= fit_figures(Fit(case.name, {"model": trajectory}, setup.observations, case))
    written = []
    for name, figure in figures.items():
        written.append(path.with_name(f"{path.stem}_{name}.png"))
        save_figure(figure, written[-1])
    return written
