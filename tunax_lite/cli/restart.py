"""What a run goes on from: a frame of an earlier run of the same grid, closure and precision."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
import typer

from .. import io
from .._types import iterate_options
from ..config import ConfigError, Run
from ..io.errors import FileFormatError, check_possible
from ..io.protection import Provenance, read_provenance
from ..io.yaml_file import parse_yaml
from ..trajectory import Restart

_MAY_DIFFER = ("time", "output", "evaluation", "precision", "grid", "model.closure", "model.theta")
"""What is said elsewhere, or checked by itself."""
_MOST_LISTED = 6


def read_restart(path: Path, frame: int, setup: Run, config: str) -> tuple[Restart, str, Provenance]:
    """The frame of an earlier run to go on from, what to call it, and what its file says of its origin.

    Args:
        path: of the file.
        frame: its number; -1 is the last.
        setup: of the run that goes on.
        config: the text of its configuration.

    Raises:
        ConfigError: a frame that is not there, or a run with another grid, time step, closure, precision or
            tracers; names both.
        FileNotFoundError, FileFormatError: a file that is missing or cannot be used.
    """
    grid = setup.case.grid
    with jax.enable_x64(True):  # otherwise double precision would be cut on reading
        trajectory = io.read_trajectory(path)
        precision = np.asarray(trajectory.state.temperature).dtype
    if precision != grid.z_face.dtype:
        raise ConfigError(
            f"--restart {path}: expected a run in {grid.z_face.dtype}, got one in {precision}; use the same "
            "precision."
        )
    for name in ("temperature", "salinity", "u", "v"):
        check_possible(path, name, name, np.asarray(getattr(trajectory.state, name)))
    _check_grid(np.asarray(trajectory.grid.z_face), np.asarray(grid.z_face), path)
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
    _check_goes_on(start, seconds := float(trajectory.time[frame]), path, setup)
    about = read_provenance(path)
    _check_closure(about, path, setup, config)
    return start, f"{path} at {seconds:g} s", about


def _check_grid(before: np.ndarray, now: np.ndarray, path: Path) -> None:
    if before.shape == now.shape and np.allclose(before, now, rtol=0.0, atol=1e-6):
        return
    expected, got = (
        f"{faces.shape[0] - 1} cells over {-float(faces.flat[0]):g} m" for faces in (now, before)
    )
    if before.shape == now.shape:
        got += f", with faces up to {np.max(np.abs(before - now)):.3g} m from those"
    raise ConfigError(
        f"--restart {path}: expected a run on the grid of this case ({expected}), got {got}; choose the same "
        "grid."
    )


def _check_goes_on(start: Restart, seconds: float, path: Path, setup: Run) -> None:
    """Check time step, closure state and tracers of a frame at a time [s]."""
    if abs(float(start.step) * setup.dt - seconds) > 1e-9 * max(seconds, setup.dt):
        raise ConfigError(
            f"--restart {path}: expected time.step = {seconds / float(start.step):g} s as in the earlier "
            f"run, got {setup.dt:g} s; use the same time step."
        )
    expected = jax.eval_shape(setup.model.init, setup.case)
    if jax.tree.structure(start.clo_state) != jax.tree.structure(expected):
        raise ConfigError(
            f"--restart {path}: expected a run with the closure of this configuration "
            f"({type(expected).__name__}), got {type(start.clo_state).__name__}; use the same closure."
        )
    if set(start.state.tracers) != set(setup.case.initial_state.tracers):
        raise ConfigError(
            f"--restart {path}: expected the tracers {sorted(setup.case.initial_state.tracers)} of the case, "
            f"got {sorted(start.state.tracers)}; use the same tracers."
        )


def _check_closure(about: Provenance, path: Path, setup: Run, config: str) -> None:
    """Closures of one family share their state, and would go on from each other's without a word."""
    if not about.closure:
        typer.echo(f"note: --restart {path}: the file does not say with which closure it was made")
        return
    before, now = json.loads(about.closure), dict(iterate_options(setup.model.closure))
    # What is not chosen may be missing in a file of another version.
    chosen = ({path: text for path, text in options.items() if text != "None"} for options in (before, now))
    changes = [*_changes(*chosen), *_changes(_options(about.config), _options(config))]
    if changes:
        raise ConfigError(
            f"--restart {path}: expected a run with the closure of this configuration ({now['']}), got "
            f"{before.get('')}: {_listed(changes)}; use the same closure with the same options."
        )


def say_what_differs(path: Path, before: Provenance, now: Provenance) -> None:
    """Name parameters and settings that are not those of the run that this one goes on from."""
    changes = list(_changes(*map(_numbers, (before.parameters, now.parameters))))
    changes += _changes(*map(_settings, (before.config, now.config)))
    if changes:
        typer.echo(f"note: --restart {path}: the earlier run was another one: {_listed(changes)}")


def _numbers(text: str) -> dict[str, str]:
    return {name: json.dumps(value) for name, value in json.loads(text or "{}").items()}


def _options(text: str) -> dict[str, str]:
    """What a configuration chooses for the closure besides numbers; some choices are sets of numbers."""
    chosen = {}
    for path, value in _settings(text, ()).items():
        parts = path.split(".")
        if path.startswith("model.closure.options") or ("turbulence" in parts and value.startswith('"')):
            chosen[path] = value
    return chosen


def _settings(text: str, left_out: Sequence[str] = _MAY_DIFFER) -> dict[str, str]:
    def flat(section: Any, path: str) -> Iterator[tuple[str, str]]:
        if isinstance(section, Mapping) and section:
            for key, value in section.items():
                yield from flat(value, f"{path}.{key}".lstrip("."))
        elif not any(f"{path}.".startswith(f"{known}.") for known in left_out):
            yield path, json.dumps(section, default=str)

    try:
        return dict(flat(parse_yaml(text), ""))
    except ConfigError:
        return {}


def _changes(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for path in dict.fromkeys((*before, *now)):
        if before.get(path) != now.get(path):
            yield f"{path or 'class'} was {before.get(path, 'not there')}, now {now.get(path, 'not there')}"


def _listed(changes) -> str:
    changes = [change if len(change) <= 200 else f"{change[:200]} ..." for change in changes]
    more = f"; and {len(changes) - _MOST_LISTED} more" if len(changes) > _MOST_LISTED else ""
    return "; ".join(changes[:_MOST_LISTED]) + more
