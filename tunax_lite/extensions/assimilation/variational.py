"""4D-Var with a strong constraint: the start of a window, its fluxes and parameters by observations in it.

The control v holds what of the window is uncertain in units of its prior: modes of the errors of the profiles
and the values of the processes at its start, which decay with their memory, and parameters. For a run x(v)

    J(v) = vᵀv / 2 + (y - h(x(v)))ᵀ R⁻¹ (y - h(x(v))) / 2.

The change of variables is the preconditioning by the square root of B. The modes are eigenvectors of B, a few
of which hold nearly all of its variance. Gauss-Newton linearises h(x(v)) about v_k with the Jacobian G, one
tangent column for each mode, side by side, and solves

    v = Gᵀ (G Gᵀ + R)⁻¹ (y - h(x(v_k)) + G v_k),

the exact minimum of the linear problem. A step that raises J is halved.
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
    """Square roots of the covariance of a window, one column for each number of the control.

    Args:
        profiles: of the error of each profile, on cells.
        processes: of each process, on knots.
        parameters: standard deviation of the unconstrained parameters.
    """

    profiles: tuple[Float[Array, "center _"], ...]
    processes: tuple[Float[Array, "knot _"], ...]
    parameters: float

    def places(self, v: Control) -> list[np.ndarray]:
        """Indices of the control of each profile, of each process, and of the parameters."""
        sizes = [each.shape[-1] for each in (*self.profiles, *self.processes)]
        return np.split(np.arange(v.size), np.cumsum(sizes))


@named("variational")
class Variational(AbstractAssimilationMethod):
    """Incremental 4D-Var with corrections of the start, and of the fluxes as they are at the start.

    Args:
        n_outer: linearisations [1].
        background: error of the profiles and parameters of a start, as part of that of the first one [1].
        processes: error of the processes of a start, as part of their standard deviation [1].
        kept_variance: part of the variance of each profile that its modes hold [1].
        n_halvings: of a step that raises the cost.
        n_members: one.
    """

    n_outer: int = setting(2, at_least=1, at_most=200)
    background: float = setting(0.15, above=0.0, at_most=1.0)
    processes: float = setting(0.4, above=0.0, at_most=1.0)
    kept_variance: float = setting(0.99, above=0.0, at_most=1.0)
    n_halvings: int = setting(3, at_least=0)
    n_members: int = setting(1, at_least=1, at_most=1)

    def assimilate(self, window: Window, start: Ensemble) -> Analysis:
        modes = modes_of(self, window)
        v = jnp.zeros(n_control(modes, start), start.processes.dtype)
        before, background = window.run(*started(window, start, modes, v))
        end, fitted, seen = before, background, window.accepted(background)
        cost = cost_of(background[..., 0], seen, v)
        for _ in range(self.n_outer):
            aim = minimum(*linearised(window, start, modes, v), seen, v)
            for halving in range(self.n_halvings + 1):
                tried = v + 0.5**halving * (aim - v)
                now, shown = window.run(*started(window, start, modes, tried))
                if (lower := cost_of(shown[..., 0], seen, tried)) < cost:
                    v, cost, end, fitted = tried, lower, now, shown
                    break
            else:
                break
        return Analysis(before, background, end, fitted, seen.known)


def modes_of(method: Variational, window: Window) -> Modes:
    """Modes of a window, those of the largest variance first."""
    system, size = window.system, method.background
    factors = (size * np.asarray(each.factor(system.case.grid.z_center)) for each in system.profiles)
    profiles = (jnp.asarray(_leading(each, method.kept_variance)) for each in factors)
    processes = (method.processes * _decay(each, window) for each in system.processes)
    return Modes(tuple(profiles), tuple(processes), method.background)


def _decay(process: Process, window: Window) -> Float[Array, "knot 1"]:
    """A process on knots that starts with its standard deviation."""
    kept = process.kept(window.interval) ** np.arange(window.n_intervals + 1.0)
    return jnp.asarray(process.standard_deviation * kept[:, None], window.start.dtype)


def _leading(factor: np.ndarray, part: float) -> np.ndarray:
    """Another square root of the same covariance, with the modes that hold a part of its variance."""
    vectors, sizes = np.linalg.svd(factor)[:2]
    held = np.cumsum(sizes**2) / max(float(np.sum(sizes**2)), 1e-300)
    number = sizes.size if part == 1.0 else int(np.searchsorted(held, part)) + 1
    number = min(number, np.count_nonzero(sizes))
    return vectors[:, :number] * sizes[:number]


def n_control(modes: Modes, start: Ensemble) -> int:
    """Length of the control vector of a window."""
    groups = *modes.profiles, *modes.processes
    return sum(each.shape[-1] for each in groups) + start.parameters.shape[0]


@eqx.filter_jit
def started(window: Window, start: Ensemble, modes: Modes, v: Control) -> tuple[Ensemble, Knots]:
    """The start of a window, and its processes on knots, for a control; linear."""
    system, state = window.system, start.now.state
    *controls, parameters = (v[place] for place in modes.places(v))
    factors = *modes.profiles, *modes.processes
    added = [(factor @ own)[:, None] for factor, own in zip(factors, controls, strict=True)]
    for error, change in zip(system.profiles, added, strict=False):
        value = getattr(state, error.variable) + change
        state = dataclasses.replace(state, **{error.variable: value})
    expected = system.expected(start, window.interval, window.n_intervals + 1)
    if system.processes:
        expected = expected + jnp.stack(added[len(system.profiles) :])
    now = dataclasses.replace(start.now, state=state)
    changed = start.parameters + (modes.parameters * parameters)[:, None]
    return Ensemble(now, start.processes, changed), expected


@eqx.filter_jit
def linearised(
    window: Window, start: Ensemble, modes: Modes, v: Control
) -> tuple[Float[Array, "frame stream"], Float[Array, "frame stream control"]]:
    """Predicted observations and their Jacobian, with one tangent column for each number of the control."""

    def predicted(v: Control) -> Float[Array, "frame stream"]:
        ensemble, knots = started(window, start, modes, v)
        run = run_window(window.system, ensemble.now, knots, ensemble.parameters, window.times, window.whole)
        return run.predicted[..., 0]

    along = lambda tangent: jax.jvp(predicted, (v,), (tangent,))  # noqa: E731
    return jax.vmap(along, out_axes=(None, -1))(jnp.eye(v.size, dtype=v.dtype))


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
