"""Where a run, or its derivative, stops being finite: the step, the part of the step, and the parameters.

A run returns values that are not finite, because a calibration rejects such a step and goes on. Here the run
is repeated with every step saved, from the last frame that is finite, and the first bad step in its parts.
"""

import contextlib
import difflib
import functools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from .._types import ParameterInfo, at_path, is_below, iterate_parameters, iterate_vectors
from ..column.case import Case
from ..column.integrate import batched_case, simulate
from ..column.model import Model
from ..column.terms.surface import ShortwaveHeating, SurfaceExchange
from ..column.trajectory import Restart, Trajectory


class NonFinite(NamedTuple):
    """The first value of a run that is not finite.

    Args:
        variable: its name; for a derivative, followed by the path of the parameter.
        step: number of the step that made it, from 1; 0 for the start.
        time: end of that step [s].
        origin: the part of the step: `start`, `fluxes`, a term by its class, `transport`, or the closure.
        parameters: paths of numbers in model and case outside their valid range, and of all arrays, such as
            profiles and fluxes of the case, that are not finite.
    """

    variable: str
    step: int
    time: float
    origin: str
    parameters: tuple[str, ...]

    def __str__(self) -> str:
        suspects = f"; suspects: {', '.join(self.parameters)}" if self.parameters else ""
        return f"{self.variable} in step {self.step} (to {self.time:g} s), from {self.origin}{suspects}"


def find_non_finite(
    model: Model,
    case: Case,
    *,
    by: str | Iterable[str] = (),
    dt: float = 60.0,
    start: Restart | None = None,
    **options: Any,  # Any: those of `simulate`
) -> NonFinite | None:
    """Find the first step after which a value of a run is not finite; `None` if all are.

    Args:
        model, case, dt, start: as in `simulate`.
        by: paths of numbers in the model, such as `closure.c_eps_1`, `closure.stability.*` for all below, or
            in the case, `case.forcing.fluxes.heat_flux`: if the run is finite, its derivative by each of them
            is searched too, in forward mode.
        options: `duration` and `output_interval` of `simulate`; the frames between which steps are searched.

    Raises:
        ValueError: as `simulate`, or a path without a number.
    """
    paths = _paths(model, case, [by] if isinstance(by, str) else by)
    if not is_finite(case.start_state):
        return NonFinite(_name_of_bad(case.start_state), 0, 0.0, "start", _suspects(model, case))

    def run(begin: Restart | None, **options: Any) -> Trajectory:  # Any: as above
        return simulate(model, case, dt=dt, start=begin, **options)

    trajectory = run(start, **options)
    frame = _first_bad(trajectory)
    if frame == 0:
        first = jax.tree.map(lambda leaf: leaf[0], (trajectory.state, trajectory.clo_state))
        step, origin = int(trajectory.step[0]), _origin(model, first)
        return NonFinite(_name_of_bad(first), step, step * dt, origin, _suspects(model, case))
    if frame is not None:
        every, length = _every_step(trajectory, frame, dt), trajectory.restart(frame - 1)
        steps = run(length, **every)
        before = _first_bad(steps) or 1  # the same steps again: the start is finite
        return _in_parts(model, case, dt, steps.restart(before - 1))
    found = (_of_derivative(model, case, dt, start, path, options) for path in paths)
    return next((each for each in found if each is not None), None)


def _paths(model: Model, case: Case, given: Iterable[str]) -> list[str]:
    """The given paths, and those below `.*`; `ValueError` for one without a number."""
    both, found = {**vars(model), "case": case}, list[str]()
    known = [path for path, _ in _numbers(model, case)]
    for one in given:
        below = [path for path in known if is_below(path, one)]
        if not below:
            with contextlib.suppress(AttributeError, KeyError, IndexError, ValueError):
                below = [one] if eqx.is_inexact_array(at_path(both, one)) else []
        if not below:
            near = difflib.get_close_matches(one, known, n=3, cutoff=0.4)
            hint = f"did you mean {' or '.join(near)}?" if near else "name one such as closure.c_eps_1."
            raise ValueError(f"by: expected paths of numbers of the model or the case, got {one!r}; {hint}")
        found += below
    return found


def _numbers(model: Model, case: Case) -> Iterator[tuple[str, ParameterInfo]]:
    """Declared numbers that are given, by path."""
    for prefix, module in (("", model), ("case.", case)):
        for info in (*iterate_parameters(module), *iterate_vectors(module)):
            if info.value is not None:
                yield prefix + info.path, info


def is_finite(tree: PyTree) -> bool:
    """Whether all floating-point numbers of a tree are finite."""
    return all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(tree) if eqx.is_inexact_array(leaf))


def _first_bad(trajectory: Trajectory) -> int | None:
    """The first frame with a value that is not finite."""
    leaves = jax.tree.leaves((trajectory.state, trajectory.clo_state))
    flat = [np.asarray(leaf).reshape(leaf.shape[0], -1) for leaf in leaves if eqx.is_inexact_array(leaf)]
    bad = np.any([~np.isfinite(values).all(axis=1) for values in flat], axis=0)
    return int(np.argmax(bad)) if bad.any() else None


def _origin(model: Model, both: tuple[PyTree, PyTree]) -> str:
    """What made a start: the given water, or the closure that begins with it."""
    return type(model.closure).__name__ if is_finite(both[0]) else "start"


def _name_of_bad(tree: PyTree) -> str:
    """Name of the first array of a tree that is not finite; of the entry that holds it in a dictionary."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        if not is_finite(leaf):
            return jax.tree_util.keystr(path[:1] if isinstance(tree, dict) else path[-1:], simple=True)
    return ""


def _every_step(trajectory: Trajectory, frame: int, dt: float) -> dict[str, float]:
    """Options of a run of the steps between a frame and the one before."""
    n_steps = int(trajectory.step[frame] - trajectory.step[frame - 1])
    return {"duration": n_steps * dt, "output_interval": dt}


def _suspects(model: Model, case: Case) -> tuple[str, ...]:
    """Paths of numbers outside their valid range, and of all arrays that are not finite."""
    found: list[str] = []
    for name, info in _numbers(model, case):
        (lower, upper), values = info.valid_range, np.asarray(info.value)
        if not (np.isfinite(values) & (lower <= values) & (values <= upper)).all():
            found.append(name)
    for prefix, module in (("", model), ("case.", case)):
        for path, leaf in jax.tree_util.tree_leaves_with_path(module):
            if not is_finite(leaf):
                found.append(prefix + jax.tree_util.keystr(path, simple=True, separator="."))
    return tuple(dict.fromkeys(found))


def _in_parts(model: Model, case: Case, dt: float, before: Restart) -> NonFinite:
    """The parts of a step whose start is finite and whose end is not, in the order of their computation."""
    whole, step = batched_case(model, case), int(before.step)
    after = eqx.filter_jit(model.step)(before.state, before.clo_state, whole, step * dt, dt)
    named = ((origin, _name_of_bad(part)) for origin, part in _parts(model, whole, dt, before))
    origin, variable = next((each for each in named if each[1]), ("transport", _name_of_bad(after[0])))
    if origin == "transport" and not variable:
        origin, variable = type(model.closure).__name__, _name_of_bad(after[1])
    return NonFinite(variable, step + 1, (step + 1) * dt, origin, _suspects(model, case))


def _parts(model: Model, case: Case, dt: float, before: Restart) -> Iterator[tuple[str, PyTree]]:
    """What goes into the transport of a step: fluxes at the surface, and the tendencies of each term."""
    column, case = model.column_at_start(
        before.state, before.clo_state, case, int(before.step) * dt, jnp.asarray(dt, case.grid.z_face.dtype)
    )
    yield "fluxes", column.fluxes
    terms = (ShortwaveHeating(), *case.acting(), SurfaceExchange(), *before.clo_state.terms(column.state))
    for term in terms:
        yield type(term).__name__, {**term.on_velocity(column), **term.on_scalars(column)}


def _of_derivative(
    model: Model,
    case: Case,
    dt: float,
    start: Restart | None,
    path: str,
    options: dict[str, Any],  # Any: as above
) -> NonFinite | None:
    """The first step after which the derivative of a finite run by one number is not finite."""
    both = {**vars(model), "case": case}
    number = jnp.asarray(at_path(both, path))
    in_case = path.startswith("case.")

    def run(number: Array, begin: Restart | None, options: dict[str, Any]) -> Trajectory:  # Any: as above
        own = path.removeprefix("case.")
        changed = eqx.tree_at(lambda tree: at_path(tree, own), case if in_case else model, number)
        pair = (model, changed) if in_case else (changed, case)
        return simulate(*pair, dt=dt, start=begin, **options)

    def derivative(begin: Restart | None, slope: Restart | None, options) -> tuple[Trajectory, Trajectory]:
        function = functools.partial(run, options=options)
        return eqx.filter_jvp(function, (number, begin), (jnp.ones_like(number), slope))

    trajectory, slopes = derivative(start, None, options)
    frame = _first_bad(slopes)
    if frame is None:
        return None
    if frame > 0:
        last = frame - 1
        take = lambda leaf: None if leaf is None else leaf[last]  # noqa: E731
        slope: Any = trajectory.restart()  # an integer has no tangent
        slope = eqx.tree_at(
            lambda restart: (restart.state, restart.clo_state, restart.step),
            slope,
            (*jax.tree.map(take, (slopes.state, slopes.clo_state)), None),
        )
        every = _every_step(trajectory, frame, dt)
        trajectory, slopes = derivative(trajectory.restart(last), slope, every)
        frame = _first_bad(slopes) or 0
    of_frame = jax.tree.map(lambda leaf: leaf[frame], (slopes.state, slopes.clo_state))
    variable, step = f"{_name_of_bad(of_frame)} by {path}", int(trajectory.step[frame])
    origin = _origin(model, of_frame) if step == 0 or is_finite(of_frame[0]) else "transport"
    return NonFinite(variable, step, step * dt, origin, _suspects(model, case))
