"""Strong-constraint 4D-Var: the start of a window, its fluxes and parameters from observations within it.

The control v is in units of its prior. It holds modes of the errors of the profiles, the values of the
processes at the start, which decay with their memory, and parameters. For a run x(v)

    J(v) = vᵀv / 2 + (y - h(x(v)))ᵀ R⁻¹ (y - h(x(v))) / 2.

The change of variables preconditions with the square root of B. The modes are eigenvectors of B, a few of
which hold nearly all of its variance. Gauss-Newton linearises h(x(v)) about v_k with the Jacobian G, one
tangent for each mode, and solves

    v = Gᵀ (G Gᵀ + R)⁻¹ (y - h(x(v_k)) + G v_k),

the exact minimum of the linear problem. A step that does not lower J is halved.
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...declarations import named, setting
from .methods import AbstractAssimilationMethod, Analysis, Window
from .observing import Frames
from .system import Ensemble, Knots, Process, run_window

Control = Float[Array, " control"]


class Modes(eqx.Module):
    """Square roots of the covariance of a window, one column for each element of the control.

    Args:
        profiles: modes of the error of each profile, on cells.
        processes: decay of each process, on knots.
        parameters: standard deviation of the unconstrained parameters, equal for all [1].
    """

    profiles: tuple[Float[Array, "center _"], ...]
    processes: tuple[Float[Array, "knot _"], ...]
    parameters: float

    def indices(self, v: Control) -> list[np.ndarray]:
        """Indices in the control of each profile, of each process, and of the parameters."""
        sizes = [each.shape[-1] for each in (*self.profiles, *self.processes)]
        return np.split(np.arange(v.size), np.cumsum(sizes))


@named("variational")
class Variational(AbstractAssimilationMethod):
    """Incremental 4D-Var that corrects the start of a window and its fluxes.

    Args:
        n_outer: number of linearisations [1].
        background: error of profiles and parameters at the start of a window, as a fraction of that of the
            first window [1].
        processes: error of the processes at the start, as a fraction of their standard deviation [1].
        kept_variance: fraction of the variance of each profile that its modes hold [1].
        n_halvings: number of times that a step is halved before it is given up, if it does not lower the cost
            [1].
        n_members: 1.
    """

    n_outer: int = setting(2, at_least=1, at_most=200)
    background: float = setting(0.15, above=0.0, at_most=1.0)
    processes: float = setting(0.4, above=0.0, at_most=1.0)
    kept_variance: float = setting(0.99, above=0.0, at_most=1.0)
    n_halvings: int = setting(3, at_least=0)
    n_members: int = setting(1, at_least=1, at_most=1)

    def assimilate(self, window: Window, start: Ensemble) -> Analysis:
        modes = leading_modes(self, window)
        v = jnp.zeros(n_control(modes, start), start.processes.dtype)
        background, predicted = window.run(*start_from(window, start, modes, v))
        analysis, fitted = background, predicted
        observed = window.accepted_observations(predicted)
        cost = cost_of(predicted[..., 0], observed, v)
        for _ in range(self.n_outer):
            target = linear_minimum(*linearise(window, start, modes, v), observed, v)
            for halving in range(self.n_halvings + 1):
                candidate = v + 0.5**halving * (target - v)
                end, predicted_again = window.run(*start_from(window, start, modes, candidate))
                if (lower := cost_of(predicted_again[..., 0], observed, candidate)) < cost:
                    v, cost, analysis, fitted = candidate, lower, end, predicted_again
                    break
            else:
                break
        return Analysis(background, predicted, analysis, fitted, observed.known)


def leading_modes(method: Variational, window: Window) -> Modes:
    """Modes of a window, by decreasing variance."""
    system, size = window.system, method.background
    factors = (size * np.asarray(each.factor(system.case.grid.z_center)) for each in system.profiles)
    profiles = (jnp.asarray(_leading(each, method.kept_variance)) for each in factors)
    processes = (method.processes * _decay(each, window) for each in system.processes)
    return Modes(tuple(profiles), tuple(processes), method.background)


def _decay(process: Process, window: Window) -> Float[Array, "knot 1"]:
    """Decay of a process from its standard deviation, on knots."""
    decay = process.decay_factor(window.interval) ** np.arange(window.n_intervals + 1.0)
    return jnp.asarray(process.standard_deviation * decay[:, None], window.start.dtype)


def _leading(factor: np.ndarray, fraction: float) -> np.ndarray:
    """Reduce a square root of a covariance to the leading modes with a fraction of its variance."""
    vectors, sizes = np.linalg.svd(factor)[:2]
    held = np.cumsum(sizes**2) / max(float(np.sum(sizes**2)), 1e-300)
    number = sizes.size if fraction == 1.0 else int(np.searchsorted(held, fraction)) + 1
    number = min(number, np.count_nonzero(sizes))
    return vectors[:, :number] * sizes[:number]


def n_control(modes: Modes, start: Ensemble) -> int:
    """Length of the control vector of a window."""
    groups = *modes.profiles, *modes.processes
    return sum(each.shape[-1] for each in groups) + start.parameters.shape[0]


@eqx.filter_jit
def start_from(window: Window, start: Ensemble, modes: Modes, v: Control) -> tuple[Ensemble, Knots]:
    """Start of a window and its processes on knots, both linear in the control."""
    system, state = window.system, start.now.state
    *controls, parameters = (v[index] for index in modes.indices(v))
    factors = *modes.profiles, *modes.processes
    increments = [(factor @ part)[:, None] for factor, part in zip(factors, controls, strict=True)]
    for error, increment in zip(system.profiles, increments, strict=False):
        value = getattr(state, error.variable) + increment
        state = dataclasses.replace(state, **{error.variable: value})
    processes = system.decaying_processes(start, window.interval, window.n_intervals + 1)
    if system.processes:
        processes = processes + jnp.stack(increments[len(system.profiles) :])
    now = dataclasses.replace(start.now, state=state)
    parameters = start.parameters + (modes.parameters * parameters)[:, None]
    return Ensemble(now, start.processes, parameters), processes


@eqx.filter_jit
def linearise(
    window: Window, start: Ensemble, modes: Modes, v: Control
) -> tuple[Float[Array, "frame stream"], Float[Array, "frame stream control"]]:
    """Predicted observations and their Jacobian, with one tangent column for each element of the control."""

    def predicted(v: Control) -> Float[Array, "frame stream"]:
        ensemble, knots = start_from(window, start, modes, v)
        start_and_forcing = window.system, ensemble.now, knots, ensemble.parameters
        return run_window(*start_and_forcing, window.times, window.all_frames)[1][..., 0]

    along = lambda tangent: jax.jvp(predicted, (v,), (tangent,))  # noqa: E731
    return jax.vmap(along, out_axes=(None, -1))(jnp.eye(v.size, dtype=v.dtype))


@jax.jit
def cost_of(predicted: Float[Array, "frame stream"], observed: Frames, v: Control) -> Float[Array, ""]:
    """Cost J(v) of the control [1]."""
    return 0.5 * jnp.sum(v**2) + 0.5 * jnp.sum(observed.precision * (observed.values - predicted) ** 2)


@jax.jit
def linear_minimum(
    predicted: Float[Array, "frame stream"],
    jacobian: Float[Array, "frame stream control"],
    observed: Frames,
    v: Control,
) -> Control:
    """Control at the minimum of the cost of the problem linearised about v."""
    root = jnp.sqrt(observed.precision).ravel()
    scaled = root[:, None] * jacobian.reshape(root.size, -1)
    departure = root * (observed.values - predicted).ravel() + scaled @ v
    matrix = jnp.eye(root.size, dtype=v.dtype) + scaled @ scaled.T
    return scaled.T @ jax.scipy.linalg.solve(matrix, departure, assume_a="pos")
