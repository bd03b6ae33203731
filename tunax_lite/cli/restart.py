"""Restarts: a frame of an earlier run with the same grid, closure and precision."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import jax
import numpy as np
import typer

from .. import io
from .._types import JSON, iterate_options
from ..column.trajectory import Restart
from ..config import ConfigError, Run
from ..io.errors import FileFormatError, check_possible
from ..io.protection import Provenance, read_provenance
from ..io.yaml_file import parse_yaml

_MAY_DIFFER = ("time", "output", "evaluation", "accept", "precision", "grid", "model.closure", "model.theta")
"""What is said elsewhere, or checked by itself."""
_MOST_LISTED = 6


def read_restart(path: Path, frame: int, setup: Run, config: str) -> tuple[Restart, str, Provenance]:
    """The frame to restart from, its description, and the origin recorded in its file.

    The last frame is -1; `setup` and the text `config` are those of the new run.

    Raises:
        ConfigError: no such frame, or a run with another grid, time step, closure, precision or tracers;
            names both.
    """

    def check(is_fine: bool, expected: str, got: object, advice: str) -> None:
        if not is_fine:
            raise ConfigError(f"--restart {path}: expected {expected}, got {got}; {advice}.")

    grid = setup.case.grid
    with jax.enable_x64(True):  # otherwise double precision would be lost on reading
        trajectory = io.read_trajectory(path)
        precision = np.asarray(trajectory.state.temperature).dtype
    wanted = grid.z_face.dtype
    check(precision == wanted, f"a run in {wanted}", f"one in {precision}", "use the same precision")
    for name in ("temperature", "salinity", "u", "v"):
        check_possible(path, name, name, np.asarray(getattr(trajectory.state, name)))
    before, now = np.asarray(trajectory.grid.z_face), np.asarray(grid.z_face)
    told, got = (f"{z.shape[0] - 1} cells over {-float(z.flat[0]):g} m" for z in (now, before))
    is_same = before.shape == now.shape
    if is_same:
        got += f", with faces up to {np.max(np.abs(before - now)):.3g} m from those"
        is_same = np.allclose(before, now, rtol=0.0, atol=1e-6)
    check(is_same, f"a run on the grid of this case ({told})", got, "choose the same grid")
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
    seconds = float(trajectory.time[frame])
    check(
        abs(float(start.step) * setup.dt - seconds) <= 1e-9 * max(seconds, setup.dt),
        f"time.step = {seconds / max(float(start.step), 1.0):g} s as in the earlier run",
        f"{setup.dt:g} s",
        "use the same time step",
    )
    expected, found = jax.eval_shape(setup.model.init, setup.case), start.clo_state
    check(
        jax.tree.structure(found) == jax.tree.structure(expected),
        f"a run with the closure of this configuration ({type(expected).__name__})",
        type(found).__name__,
        "use the same closure",
    )
    states = setup.case.start_state, start.state
    known, found = (sorted(state.surface) for state in states)
    check(known == found, f"a run with the ice {known} of the case", found, "use the same model of ice")
    known, found = (sorted(state.tracers) for state in states)
    check(known == found, f"the tracers {known} of the case", found, "use the same tracers")
    about = read_provenance(path)
    _check_closure(about, path, setup, config)
    return start, f"{path} at {seconds:g} s", about


def _check_closure(about: Provenance, path: Path, setup: Run, config: str) -> None:
    """Reject another closure of the same family: it shares the state and would continue silently."""
    if not about.closure:
        typer.echo(f"note: --restart {path}: the file does not name its closure")
        return
    before, now = json.loads(about.closure), dict(iterate_options(setup.model.closure))
    # Options that are not set may be missing in a file of another version.
    chosen = ({path: text for path, text in options.items() if text != "None"} for options in (before, now))
    changes = [*_changes(*chosen), *_changes(_options(about.config), _options(config))]
    if changes:
        raise ConfigError(
            f"--restart {path}: expected a run with the closure of this configuration ({now['']}), got "
            f"{before.get('')}: {_listed(changes)}; use the same closure with the same options."
        )


def say_what_differs(path: Path, before: Provenance, now: Provenance) -> None:
    """Report parameters and settings that differ from those of the earlier run."""
    told = [json.loads(one.parameters or "{}") for one in (before, now)]
    numbers = [{name: json.dumps(value) for name, value in one.items()} for one in told]
    changes = [*_changes(*numbers), *_changes(_settings(before.config), _settings(now.config))]
    if changes:
        typer.echo(f"note: --restart {path}: the earlier run was another one: {_listed(changes)}")


def _options(text: str) -> dict[str, str]:
    """Options of the closure in a configuration; some options are sets of numbers."""
    chosen = {}
    for path, value in _settings(text, ()).items():
        parts = path.split(".")
        if path.startswith("model.closure.options") or ("turbulence" in parts and value.startswith('"')):
            chosen[path] = value
    return chosen


def _settings(text: str, left_out: Sequence[str] = _MAY_DIFFER) -> dict[str, str]:
    def flat(section: JSON, path: str) -> Iterator[tuple[str, str]]:
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
