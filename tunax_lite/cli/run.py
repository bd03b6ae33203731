"""`tunax-lite run`: one model on one case, from its start or from a frame of an earlier run."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import jax
import numpy as np

from .. import io
from .._types import iterate_options
from ..calibration.base import constants_of
from ..column.diagnostics import diagnostic
from ..column.model import Model
from ..column.time_series import universal
from ..column.trajectory import Restart, Trajectory, prognostic_variables
from ..config import ConfigError, Loaded, Run, RunConfig, load_run
from ..config.section import closest
from ..io.errors import FileFormatError, check_possible
from ..io.netcdf import opened, read_netcdf
from ..io.provenance import Provenance, read_provenance
from ..io.writing import check_outputs
from ..plausibility.water_limits import Extreme, extremes_of, merged
from ..registry import additions
from . import session
from .progress import fraction_of
from .terminal import echo

_FRAMES_IN_FIGURES = 2000
FIGURES = ("sections", "profiles", "surface", "fit", "differences", "series")


def run(
    config: Path,
    settings: Sequence[str],
    *,
    output: Path | None = None,
    parameters: Path | None = None,
    restart: Path | None = None,
    frame: int = -1,
    overwrite: bool = False,
    draws: int = 0,
    posterior: Path | None = None,
) -> None:
    """See `commands.run`."""
    loaded = load_run(config, settings)
    if output is not None and output.suffix != ".nc":
        raise ConfigError(f"--output {output}: expected a file name that ends in .nc, for example OUT.nc.")
    if (posterior is None) == bool(draws):
        raise ConfigError("--draws N, --posterior FILE: expected both, got one of them; add the other.")
    with session.precision(loaded):
        setup = session.build_with_parameters(loaded, parameters)
        names: tuple[str, ...] = ()
        if loaded.config.output.variables is not None:
            setup, names = select(setup, loaded.config.output.variables, f"{loaded.path}: output.variables")
        start, name = None, ""
        if restart is not None:
            start, name = read_restart(restart, frame, setup)
        path = Path(loaded.config.output.folder) / f"{loaded.name}.nc" if output is None else output
        with_figures = output is None and loaded.config.output.figures
        origin = session.provenance(loaded, setup.case.name, setup.model.closure, name)
        bands_path = path.with_name(f"{path.stem}_draws.nc")
        outputs = [path, *([bands_path] if draws else [])]
        outputs += [path.with_name(f"{path.stem}_{name}.png") for name in FIGURES if with_figures]
        inputs = session.inputs_of(loaded, parameters, restart, posterior)
        check_outputs(outputs, overwrite=overwrite, inputs=inputs)
        members = None if posterior is None else _members_of(setup, draws, posterior, restart)
        extremes = _simulate(setup, start, loaded, path, origin)
        others = _draw(path, setup) if with_figures else []
        if members is not None:
            _write_bands(bands_path, members, draws, setup, origin)
            others.append(bands_path)
        if names:
            io.keep_variables(path, names)
        session.report_written([path, *others])
    session.judge_water(extremes)


def _simulate(
    setup: Run, start: Restart | None, loaded: Loaded[RunConfig], path: Path, origin: Provenance
) -> list[Extreme]:
    begin = 0.0 if start is None else float(start.step) * setup.dt
    duration = setup.duration_from(begin)
    depth = -np.asarray(setup.case.grid.z_face)[0]  # in NumPy: JAX would compile three programs
    echo(
        f"{setup.case.name}: {setup.case.grid.n_cells} cells over {depth:g} m, "
        f"{duration / setup.dt:.0f} steps of {setup.dt:g} s, {type(setup.model.closure).__name__}, "
        f"{loaded.config.precision}"
    )
    clock = perf_counter()
    from .streaming import run_to_file  # slow import

    extremes = list[Extreme]()
    try:
        with fraction_of("run") as show:

            def report(piece: Trajectory) -> None:
                time = float(np.asarray(piece.time)[-1])
                show((time - begin) / duration, f"day {time / 86400.0:.1f}")
                extremes[:] = merged(extremes, extremes_of(piece, has_ice=setup.case.ice is not None))

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
                provenance=origin,
                report=report,
            )
    except ValueError as error:
        raise ConfigError(f"{loaded.path}: time: {error}") from error
    echo(f"computed in {perf_counter() - clock:.1f} s, compilation included")
    return extremes


def _members_of(setup: Run, draws: int, posterior: Path, restart: Path | None) -> Model:
    if restart is not None:
        raise ConfigError("--draws: expected a run from its start, got --restart; leave out one of them.")
    from ..calibration.posterior.infer import members_of_file  # slow import

    try:
        return members_of_file(posterior, setup.model, draws)
    except (FileNotFoundError, ValueError) as error:
        raise ConfigError(f"--draws: {str(error).removeprefix('draws: ')}") from error


def _write_bands(path: Path, members: Model, n: int, setup: Run, origin: Provenance) -> None:
    from ..calibration.posterior.infer import bands_of_members  # slow import
    from ..io.dataset import write_dataset

    echo(f"running {n} draws of the constants ...")
    bands = bands_of_members(
        members,
        setup.case,
        n,
        dt=setup.dt,
        duration=setup.duration_from(0.0),
        output_interval=setup.output_interval,
    )
    write_dataset(bands.assign_attrs(origin.attributes), path)


def _draw(path: Path, setup: Run) -> list[Path]:
    echo("drawing figures ...")
    # Slow imports, only where needed.
    from ..plotting import case_runs, fit_figures, in_words, run_figures, save_figures

    with opened(path) as stored:
        every, case = 1 + stored.sizes["time"] // _FRAMES_IN_FIGURES, setup.case
    figures = run_figures(read_netcdf(path, at={"time": slice(None, None, every)}), in_words(case.name))
    if setup.observations is not None:
        trajectory = io.read_trajectory(path, every=every)
        figures |= fit_figures(case_runs(case.name, {"model": trajectory}, setup.observations, case))
    return save_figures(figures, path.parent, f"{path.stem}_")


def select(setup: Run, names: Sequence[str], where: str) -> tuple[Run, tuple[str, ...]]:
    """Return a run that computes the requested diagnostics, and the names of the variables to keep.

    Names of another model are translated. `where` names the setting in messages.

    Raises `ConfigError` for a name that is neither a variable of the run nor a diagnostic.
    """
    aliases: dict[str, str] = {}
    for names_of_model in additions("formats", "VARIABLE_NAMES"):  # from names of another model
        aliases |= names_of_model
    shapes = jax.eval_shape(lambda case: (case.start_state, setup.model.init(case)), setup.case)
    stored = set(prognostic_variables(*shapes))
    chosen = tuple(dict.fromkeys(name if name in stored else aliases.get(name, name) for name in names))
    computed = tuple(name for name in chosen if name not in stored)
    for name in computed:
        try:
            diagnostic(name)
        except ValueError:
            raise ConfigError(
                f"{where}: expected variables of this run, or diagnostics, got '{name}'; "
                f"{closest(name, [*sorted(stored), *aliases])}"
            ) from None
    return dataclasses.replace(setup, diagnostics=computed), chosen


def read_restart(path: Path, frame: int, setup: Run) -> tuple[Restart, str]:
    """Read the frame to restart from, and describe it; print a note on parameters that have changed.

    Raises:
        ConfigError: no such frame, or a run with another grid, start, time step, closure, precision, surface
            state or tracers, or other options of the closure; the message has the old and the new value.
        FileFormatError: a frame with values that are not finite or not possible.
    """
    case, model = setup.case, setup.model
    with jax.enable_x64(True):  # keeps double precision on reading
        trajectory = io.read_trajectory(path)
    earlier = read_provenance(path)
    with opened(path) as stored:
        dates = case.start_time, stored.attrs.get("start_time")
    faces, old_faces = np.asarray(case.grid.z_face), np.asarray(trajectory.grid.z_face)
    try:
        start = trajectory.restart(frame)
    except ValueError as error:
        raise ConfigError(f"--restart {path}: {error}") from error
    for place, leaf in jax.tree_util.tree_leaves_with_path((start.state, start.clo_state)):
        if not np.isfinite(np.asarray(leaf)).all():
            name = jax.tree_util.keystr(place[1:]).lstrip(".")
            expected, advice = f"finite values in frame {frame}", "choose another frame"
            raise FileFormatError(path, name, expected, "others", advice)
        quantity = jax.tree_util.keystr(place[-1:]).lstrip(".")
        check_possible(path, quantity, quantity, np.asarray(leaf))
    seconds, clo_state = float(trajectory.time[frame]), jax.eval_shape(model.init, case)
    options = dict(iterate_options(model.closure))
    old_options = json.loads(earlier.closure) if earlier.closure else options
    # An option that is not set may be missing in a file of another version.
    differing = [
        name for name in options | old_options if str(options.get(name)) != str(old_options.get(name))
    ]
    same_step = abs(float(start.step) * setup.dt - seconds) <= 1e-9 * max(seconds, setup.dt)
    same_grid = faces.shape == old_faces.shape and np.allclose(faces, old_faces, rtol=0.0, atol=1e-6)
    grid, old_grid = map(_grid_size, (faces, old_faces))
    settings = {
        "precision": (faces.dtype, np.asarray(trajectory.state.temperature).dtype),
        "grid": (grid, grid if same_grid else f"{old_grid}, with other faces"),
        "time.dt": (setup.dt, setup.dt if same_step else seconds / max(float(start.step), 1.0)),
        "closure": (type(clo_state).__name__, type(start.clo_state).__name__),
        "surface state": (sorted(case.start_state.surface), sorted(start.state.surface)),
        "tracers": (sorted(case.start_state.tracers), sorted(start.state.tracers)),
        "options of the closure": tuple(
            {name or "class": each.get(name) for name in differing} for each in (options, old_options)
        ),
    }
    if all(dates):  # times count from this date: with another, the forcing would differ
        settings["case.start_time"] = tuple(universal(date) for date in dates)
    for name, (new, old) in settings.items():
        if new != old:
            raise ConfigError(f"--restart {path}: expected {name} {new}, got {old}; choose the same.")
    before, now = json.loads(earlier.parameters or "{}"), constants_of(model.closure)
    changes = [
        f"{name} was {before[name]}, now {value}"
        for name, value in now.items()
        if before.get(name, value) != value
    ]
    if changes:
        session.say_notes([f"--restart {path}: {'; '.join(changes)}"])
    return start, f"{path} at {seconds:g} s"


def _grid_size(z_face: np.ndarray) -> str:
    return f"{len(z_face) - 1} cells over {-float(z_face.flat[0]):g} m"
