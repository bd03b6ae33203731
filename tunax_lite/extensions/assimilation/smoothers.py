"""Methods that change what a window started from, and run it again: 4D-Var and an ensemble smoother.

4D-Var: the control v holds what of the window is uncertain in units of its prior: modes of the errors of the
profiles at its start and of the processes over its knots, and parameters. With x(v) the run,

    J(v) = vᵀv / 2 + (y - h(x(v)))ᵀ R⁻¹ (y - h(x(v))) / 2.

The change of variables is the preconditioning by the square root of B. The modes are eigenvectors of B, a few
of which hold nearly all of its variance. Gauss-Newton linearises h(x(v)) about v_k with the Jacobian G, one
tangent column for each mode, side by side, and solves

    v = Gᵀ (G Gᵀ + R)⁻¹ (y - h(x(v_k)) + G v_k),

the exact minimum of the linear problem; a step that raises J is halved. `descents` has ways without all of G.
Errors of the fluxes in time make it weakly constrained: they are the errors of the model. A hybrid covariance
is the weighted sum of B and of the covariance of members, whose departures are further modes.

The ensemble smoother with multiple data assimilation (Emerick and Reynolds 2013, Comput. Geosci. 55, 3-15)
runs the window n times and changes its start each time by an n-th of the information, R n instead of R, here
by the deterministic transform instead of perturbed observations.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...declarations import named, setting
from .descents import Control, by_lanczos, by_lbfgs
from .methods import (
    AbstractMethod,
    Analysis,
    EnsembleTransform,
    Predicted,
    Window,
    filtered,
    profiles_of,
    transform,
    transformed,
)
from .observing import Frames
from .system import OBSERVATIONS, Ensemble, Knots, Process, System, at_frames, run_window


class Departures(NamedTuple):
    """Departures of members, of those fields of a state that an analysis changes, and of what runs beside."""

    profiles: dict[str, Array | dict[str, Array]]
    processes: Float[Array, "process member"]
    parameters: Float[Array, "parameter member"]


class Started(NamedTuple):
    """What a window starts from, with its processes."""

    ensemble: Ensemble
    knots: Knots


class Modes(eqx.Module):
    """Square roots of the covariance of a window, one column for each number of the control.

    Args:
        profiles: of the error of each profile, on cells.
        processes: of each process, on knots.
        members: of the members of an ensemble, departures of profiles, processes and parameters together.
        parameters: standard deviation of the unconstrained parameters.
    """

    profiles: tuple[Float[Array, "center _"], ...]
    processes: tuple[Float[Array, "knot _"], ...]
    members: Departures
    parameters: float

    def places(self, v: Control) -> list[np.ndarray]:
        """Where the control of each profile, of each process, of the members, and of the parameters lies."""
        sizes = [each.shape[-1] for each in (*self.profiles, *self.processes, self.members.processes)]
        return np.split(np.arange(v.size), np.cumsum(sizes))


class Shown(eqx.Module):
    """What the streams show for a control; of `start`, a single member."""

    window: Window
    start: Ensemble
    modes: Modes

    def __call__(self, v: Control) -> Float[Array, "frame stream"]:
        window = self.window
        ensemble, knots = started(window, self.start, self.modes, v)
        run = run_window(window.system, ensemble.now, knots, ensemble.parameters, window.times, window.whole)
        return run.predicted[..., 0]


class Cost(eqx.Module):
    """J(v) [1]."""

    shown: Shown
    seen: Frames

    def __call__(self, v: Control) -> Float[Array, ""]:
        return cost_of(self.shown(v), self.seen, v)


@named("variational")
class Variational(AbstractMethod):
    """Incremental 4D-Var with corrections of the start and of the fluxes in time, also hybrid.

    With members a part of the covariance of the start is that of their departures, which relates the water to
    fluxes and parameters, and changes from day to day. They run through the window with perturbed processes,
    their departures change as in `EnsembleTransform`, and their mean becomes the minimum of the cost.

    Args:
        n_outer: linearisations, or steps of L-BFGS [1].
        background: error of the profiles and parameters of a start, as part of that of the first one [1].
        processes: error of the processes of a start, as part of their standard deviation [1].
        kept_variance: part of the variance of each profile and process that its modes hold [1].
        n_halvings: of a step that raises the cost.
        n_members: one, or members of the ensemble.
        ensemble: part of the covariance of the start that is the members' [1]; unused with one member.
        minimiser: `jacobian` for an exact solution of each linear problem, `lanczos` for one by Krylov
            vectors, `lbfgs` for a quasi-Newton method (see `descents`).
        n_inner: largest number of Krylov vectors, or steps that L-BFGS remembers [1].

    Source of the hybrid covariance: Lorenc (2003), Q. J. R. Meteorol. Soc. 129, 3183-3203.
    """

    n_outer: int = setting(2, at_least=1, at_most=200)
    background: float = setting(0.15, above=0.0, at_most=1.0)
    processes: float = setting(0.4, above=0.0, at_most=1.0)
    kept_variance: float = setting(0.99, above=0.0, at_most=1.0)
    n_halvings: int = setting(3, at_least=0)
    n_members: int = setting(1, at_least=1)
    ensemble: float = setting(0.5, at_least=0.0, at_most=1.0)
    minimiser: str = setting("jacobian", choices=("jacobian", "lanczos", "lbfgs"))
    n_inner: int = setting(20, at_least=1)

    def assimilate(self, window: Window, start: Ensemble) -> Analysis:
        if self.n_members == 1:
            return self._minimised(window, start, modes_of(self, window, start))
        start = window.grown(start)
        found = self._minimised(window, start.mean(), modes_of(self, window, start))
        members = filtered(EnsembleTransform(self.n_members), window, *window.run(start, window.drawn(start)))
        after, best = members.analysis, found.analysis
        state = jax.tree.map(_about, profiles_of(after.now.state), profiles_of(best.now.state))
        now = dataclasses.replace(after.now, state=dataclasses.replace(after.now.state, **state))
        others = (_about(getattr(after, name), getattr(best, name)) for name in ("processes", "parameters"))
        fitted = _about(members.fitted, found.fitted)
        return members._replace(analysis=Ensemble(now, *others), fitted=fitted)

    def _minimised(self, window: Window, start: Ensemble, modes: Modes) -> Analysis:
        """4D-Var of one member."""
        v = jnp.zeros(n_control(modes, start), start.processes.dtype)
        before, background = window.run(*started(window, start, modes, v))
        end, fitted, seen = before, background, window.accepted(background)
        cost, next_of = cost_of(background[..., 0], seen, v), self._descent(window, start, modes, seen)
        for _ in range(self.n_outer):
            aim = next_of(v)
            for halving in range(self.n_halvings + 1):
                tried = v + 0.5**halving * (aim - v)
                now, shown = window.run(*started(window, start, modes, tried))
                if (lower := cost_of(shown[..., 0], seen, tried)) < cost:
                    v, cost, end, fitted = tried, lower, now, shown
                    break
            else:
                break
        return Analysis(before, background, end, fitted, seen.known)

    def _descent(
        self, window: Window, start: Ensemble, modes: Modes, seen: Frames
    ) -> Callable[[Control], Control]:
        """From a control to the one that the minimiser aims at."""
        shown = Shown(window, start, modes)
        if self.minimiser == "lanczos":
            return by_lanczos(Cost(shown, seen), shown, seen.precision, self.n_inner)
        if self.minimiser == "lbfgs":
            return by_lbfgs(Cost(shown, seen), self.n_inner)
        return lambda v: minimum(*linearised(window, start, modes, v), seen, v)


def _about(members: Array, middle: Array) -> Array:
    """Members with another mean."""
    return members - jnp.mean(members, axis=-1, keepdims=True) + middle


def modes_of(method: Variational, window: Window, start: Ensemble) -> Modes:
    """Modes of a window, those of the largest variance first, and those of members at its start."""
    system = window.system
    z, part = np.asarray(system.case.grid.z_center), method.kept_variance
    size = float(np.sqrt(1.0 - method.ensemble)) if start.n_members > 1 else 1.0
    of_start = size * method.background
    profiles = (of_start * np.asarray(each.factor(jnp.asarray(z))) for each in system.profiles)
    processes = (_noise(each, window, size * method.processes) for each in system.processes)
    first, second = (
        tuple(jnp.asarray(_leading(each, part), system.case.grid.z_center.dtype) for each in group)
        for group in (profiles, processes)
    )
    return Modes(first, second, departures_of(system, start, method.ensemble), of_start)


def _noise(process: Process, window: Window, first: float) -> np.ndarray:
    """From noise to the process on knots, c_0 = first s xi_0 and c_{j+1} = k c_j + s sqrt(1 - k²) xi."""
    kept, knots = process.kept(window.interval), np.arange(window.n_intervals + 1)
    powers = np.tril(kept ** np.abs(knots[:, None] - knots))
    size = np.where(knots == 0, first, np.sqrt(1.0 - kept**2))
    return process.standard_deviation * size * powers


def _leading(factor: np.ndarray, part: float) -> np.ndarray:
    """Another square root of the same covariance, with the modes that hold a part of its variance."""
    vectors, sizes = np.linalg.svd(factor)[:2]
    held = np.cumsum(sizes**2) / max(float(np.sum(sizes**2)), 1e-300)
    number = sizes.size if part == 1.0 else int(np.searchsorted(held, part)) + 1
    number = min(number, np.count_nonzero(sizes))
    return vectors[:, :number] * sizes[:number]


def departures_of(system: System, ensemble: Ensemble, part: float) -> Departures:
    """Square root of a part of the covariance of members; without columns for a single one."""
    n = ensemble.n_members
    if n == 1:
        return Departures({}, jnp.zeros((len(system.processes), 0)), jnp.zeros((1, 0)))
    size = np.sqrt(part / (n - 1.0))
    profiles, processes, parameters = jax.tree.map(
        lambda x: size * (x - jnp.mean(x, axis=-1, keepdims=True)),
        (profiles_of(ensemble.now.state), ensemble.processes, ensemble.parameters),
    )
    return Departures(profiles, processes, parameters)


def n_control(modes: Modes, start: Ensemble) -> int:
    """Length of the control vector of a window."""
    groups = *modes.profiles, *modes.processes, modes.members.processes
    return sum(each.shape[-1] for each in groups) + start.parameters.shape[0]


@eqx.filter_jit
def started(window: Window, start: Ensemble, modes: Modes, v: Control) -> Started:
    """The start of a window with its processes for a control; linear."""
    system, state = window.system, start.now.state
    *controls, of_members, parameters = (v[place] for place in modes.places(v))
    factors, members = (*modes.profiles, *modes.processes), modes.members
    added = [(factor @ own)[:, None] for factor, own in zip(factors, controls, strict=True)]
    for error, change in zip(system.profiles, added, strict=False):
        value = getattr(state, error.variable) + change
        state = dataclasses.replace(state, **{error.variable: value})
    if members.profiles:
        moved = jax.tree.map(
            lambda x, own: x + (own @ of_members)[..., None], profiles_of(state), members.profiles
        )
        state = dataclasses.replace(state, **moved)
    start = dataclasses.replace(start, processes=start.processes + (members.processes @ of_members)[:, None])
    expected = system.expected(start, window.interval, window.n_intervals + 1)
    if system.processes:
        expected = expected + jnp.stack(added[len(system.profiles) :])
    changed = modes.parameters * parameters + members.parameters @ of_members
    now = dataclasses.replace(start.now, state=state)
    return Started(Ensemble(now, start.processes, start.parameters + changed[:, None]), expected)


@eqx.filter_jit
def linearised(
    window: Window, start: Ensemble, modes: Modes, v: Control
) -> tuple[Float[Array, "frame stream"], Float[Array, "frame stream control"]]:
    """What the streams show, and its Jacobian: one tangent column for each number of the control.

    Errors of the observations do not enter the water, and need none.
    """

    shown = Shown(window, start, modes)

    def along(tangent: Control) -> tuple[Array, Array]:
        return jax.jvp(shown, (v,), (tangent,))

    n, processes = len(modes.profiles), window.system.processes
    places = modes.places(v)
    own = [n + place for place, each in enumerate(processes) if each.of == OBSERVATIONS]
    water = np.concatenate([each for group, each in enumerate(places) if group not in own])
    predicted, along_water = jax.vmap(along, out_axes=(None, -1))(jnp.eye(v.size, dtype=v.dtype)[water])
    jacobian = jnp.zeros((*predicted.shape, v.size), v.dtype).at[..., water].set(along_water)
    for group in own:
        errors = at_frames(modes.processes[group - n], window.times, window.whole, window.system.dt)
        part = window.system.shown_by(processes[group - n])
        jacobian = jacobian.at[..., places[group]].set(errors[:, None] * part[:, None])
    return predicted, jacobian


@jax.jit
def cost_of(predicted: Float[Array, "frame stream"], seen: Frames, v: Control) -> Float[Array, ""]:
    """J(v) [1]."""
    return 0.5 * jnp.sum(v**2) + 0.5 * jnp.sum(seen.precision * (seen.values - predicted) ** 2)


@jax.jit
def minimum(
    predicted: Float[Array, "frame stream"],
    jacobian: Float[Array, "frame stream control"],
    seen: Frames,
    v: Control,
) -> Control:
    """The control at the minimum of the cost of the linear problem about v."""
    root = jnp.sqrt(seen.precision).ravel()
    scaled = root[:, None] * jacobian.reshape(root.size, -1)
    departure = root * (seen.values - predicted).ravel() + scaled @ v
    matrix = jnp.eye(root.size, dtype=v.dtype) + scaled @ scaled.T
    return scaled.T @ jax.scipy.linalg.solve(matrix, departure, assume_a="pos")


@named("ensemble_smoother")
class EnsembleSmoother(AbstractMethod):
    """Smoother with multiple data assimilation: start, processes and parameters of the members.

    Args:
        n_members: number of members.
        n_iterations: how often the window is run before the analysis.
        relaxation: part of the spread before an iteration that it keeps [1].
    """

    n_members: int = setting(20, at_least=2)
    n_iterations: int = setting(2, at_least=1, at_most=20)
    relaxation: float = setting(0.0, at_least=0.0, at_most=1.0)

    def assimilate(self, window: Window, start: Ensemble) -> Analysis:
        start = window.grown(start)
        begun = Started(start, window.drawn(start))
        background, before = window.run(*begun)
        seen, predicted = window.accepted(before), before
        for iteration in range(self.n_iterations):
            if iteration:
                predicted = window.run(*begun)[1]
            begun = _changed(self, begun, seen, predicted)
        end, fitted = window.run(*begun)
        return Analysis(background, before, end, fitted, seen.known)


@eqx.filter_jit
def _changed(method: EnsembleSmoother, begun: Started, seen: Frames, predicted: Predicted) -> Started:
    """The start after an iteration."""
    flat = predicted.reshape(-1, predicted.shape[-1])
    weights = transform(flat, seen.values.ravel(), seen.precision.ravel() / method.n_iterations)
    ensemble, keep = begun.ensemble, method.relaxation
    state = jax.tree.map(lambda x: transformed(x, weights, keep), profiles_of(ensemble.now.state))
    now = dataclasses.replace(ensemble.now, state=dataclasses.replace(ensemble.now.state, **state))
    parameters = transformed(ensemble.parameters, weights, keep)
    knots = transformed(begun.knots, weights, keep)
    return Started(Ensemble(now, knots[:, 0], parameters), knots)
