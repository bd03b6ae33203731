"""Methods that change what a window started from, and run it again: 4D-Var and an ensemble smoother.

4D-Var: the control v holds what of the window is uncertain in units of its prior: modes of the errors of the
profiles at its start, the noise of the processes in every interval, and parameters. With x(v) the run,

    J(v) = vᵀv / 2 + (y - h(x(v)))ᵀ R⁻¹ (y - h(x(v))) / 2.

The change of variables is the preconditioning by the square root of B. Gauss-Newton linearises h(x(v)) about
v_k with the Jacobian G, one adjoint run for each observation, side by side, and solves

    v = Gᵀ (G Gᵀ + R)⁻¹ (y - h(x(v_k)) + G v_k),

the exact minimum of the linear problem, which conjugate gradients approach; a step that raises J is halved.
Errors of the fluxes in time make it weakly constrained: they are the errors of the model.

The ensemble smoother with multiple data assimilation (Emerick and Reynolds 2013, Comput. Geosci. 55, 3-15)
runs the window n times and changes its start each time by an n-th of the information, R n instead of R, here
by the deterministic transform instead of perturbed observations.
"""

import dataclasses
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...declarations import named, setting
from .methods import AbstractMethod, Analysis, Predicted, Window, profiles_of, transform, transformed
from .observing import Frames
from .system import Ensemble, Knots, run_window

Control = Float[Array, " control"]


class Started(NamedTuple):
    """What a window starts from, with its processes."""

    ensemble: Ensemble
    knots: Knots


@named("variational")
class Variational(AbstractMethod):
    """Incremental 4D-Var with corrections of the start and of the fluxes in time.

    Args:
        n_outer: linearisations [1].
        background: error of a start, and of parameters, as part of that of the first one [1].
        n_halvings: of a step that raises the cost.
        n_members: one.
    """

    n_outer: int = setting(2, at_least=1, at_most=20)
    background: float = setting(0.3, above=0.0, at_most=1.0)
    n_halvings: int = setting(3, at_least=0)
    n_members: int = setting(1, at_least=1, at_most=1)

    def assimilate(self, window: Window, start: Ensemble) -> Analysis:
        v = jnp.zeros(n_control(window, start), start.processes.dtype)
        predicted, jacobian = linearised(self, window, start, v)
        background, seen = predicted, window.accepted(predicted[..., None])
        cost = cost_of(predicted, seen, v)
        for outer in range(self.n_outer):
            if outer:
                predicted, jacobian = linearised(self, window, start, v)
            v, cost = self._step(window, start, seen, v, cost, minimum(predicted, jacobian, seen, v))
        before = started(self, window, start, jnp.zeros_like(v))
        end = window.run(*before)[0]
        after = started(self, window, start, v)
        now, fitted = window.run(*after)
        following = window.first_interval(*after)
        return Analysis(end, background[..., None], now, fitted, seen.known, following)

    def _step(
        self, window: Window, start: Ensemble, seen: Frames, v: Control, cost: Array, aim: Control
    ) -> tuple[Control, Array]:
        """The control on the way to the minimum of the linear problem, where the cost is lower."""
        for halving in range(self.n_halvings + 1):
            tried = v + 0.5**halving * (aim - v)
            now = cost_of(predicted_by(self, window, start, tried), seen, tried)
            if now < cost:
                return tried, now
        return v, cost


def n_control(window: Window, start: Ensemble) -> int:
    """Length of the control vector of a window."""
    system = window.system
    profiles = len(system.profiles) * system.case.grid.n_cells
    return profiles + len(system.processes) * (window.n_intervals + 1) + start.parameters.shape[0]


def started(method: Variational, window: Window, start: Ensemble, v: Control) -> Started:
    """The start of a window with its processes for a control; linear."""
    system, z = window.system, window.system.case.grid.z_center
    state, place = start.now.state, 0
    for error in system.profiles:
        own, place = v[place : place + z.size], place + z.size
        added = method.background * error.factor(z) @ own
        value = getattr(state, error.variable) + added[:, None]
        state = dataclasses.replace(state, **{error.variable: value})
    n_knots = window.n_intervals + 1
    noise = v[place : place + len(system.processes) * n_knots].reshape(-1, n_knots)
    rows = []
    for process, own, first in zip(system.processes, noise, start.processes, strict=True):
        kept = process.kept(window.interval)
        size = process.standard_deviation * np.sqrt(1.0 - kept**2)
        values = [first + size * own[0]]
        for each in own[1:]:
            values.append(kept * values[-1] + size * each)
        rows.append(jnp.stack(values))
    knots = jnp.stack(rows) if rows else jnp.zeros((0, n_knots, 1), v.dtype)
    changed = start.parameters + method.background * v[place + noise.size :][:, None]
    now = dataclasses.replace(start.now, state=state)
    return Started(Ensemble(now, start.processes, changed), knots)


def _shown(method: Variational, window: Window, start: Ensemble, v: Control) -> Float[Array, "frame stream"]:
    ensemble, knots = started(method, window, start, v)
    whole = run_window(window.system, ensemble.now, knots, ensemble.parameters, window.times, window.whole)
    return whole.predicted[..., 0]


predicted_by = eqx.filter_jit(_shown)
"""What the streams show in a window for a control."""


@eqx.filter_jit
def linearised(
    method: Variational, window: Window, start: Ensemble, v: Control
) -> tuple[Float[Array, "frame stream"], Float[Array, "frame stream control"]]:
    """What the streams show, and its Jacobian: one adjoint run for each frame and stream, side by side."""
    shown, pull = jax.vjp(lambda v: _shown(method, window, start, v), v)
    rows = jnp.eye(shown.size, dtype=v.dtype).reshape(shown.size, *shown.shape)
    jacobian = jax.vmap(lambda row: pull(row)[0])(rows)
    return shown, jacobian.reshape(*shown.shape, v.size)


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
        begun = Started(start, window.drawn(start))
        background, before = window.run(*begun)
        seen, predicted = window.accepted(before), before
        for iteration in range(self.n_iterations):
            if iteration:
                predicted = window.run(*begun)[1]
            begun = _changed(self, begun, seen, predicted)
        end, fitted = window.run(*begun)
        return Analysis(background, before, end, fitted, seen.known, window.first_interval(*begun))


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
