"""Methods of assimilation: from an ensemble at the start of a window and its observations to the analysis.

`AbstractAssimilationMethod.assimilate` is the one interface. A filter runs its members through the window and
changes them at its end; a variational method changes what the window started from and runs it again.

Ensemble transform (Hunt et al. 2007, Physica D 230, 112-126): with the departures Y of the m members from
their mean in observation space and S = R^(-1/2) Y / sqrt(m - 1),

    w = (I + SᵀS)⁻¹ Sᵀ R^(-1/2) (y - ȳ),    W = (I + SᵀS)^(-1/2) (symmetric),

    x_a = x̄ + X w / sqrt(m - 1),    X_a = X W.

The symmetric root is that of the ESTKF up to rounding (Nerger et al. 2012, Mon. Weather Rev. 140, 2335-2345).
With a localisation depth D the precision of an observation at height h is multiplied at height z by
exp(-(z - h)² / (2 D²)), and each level has weights of its own; numbers without a height have all of it.
"""

import abc
import dataclasses
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...column.state import State
from ...declarations import named, setting
from .observing import Frames
from .system import Ensemble, Knots, System, passed

Predicted = Float[Array, "frame stream member"]


class Window(eqx.Module):
    """One window: from when, how long, and what was observed in it.

    Args:
        system: the uncertain column.
        start: of the window [s] since the start of the case.
        interval: between knots of the processes, and between the starts of windows [s].
        n_intervals: length of the window in intervals.
        frames: frames of an interval, and steps of a frame.
        seen: the observations on the frames.
        key: of the random numbers of the window.
        background_check: largest departure of an observation from the background that is used, in standard
            deviations of the departure; infinite for all.
        withheld: of each stream, whether its observations change nothing.
    """

    system: System
    start: Float[Array, ""]
    interval: float
    n_intervals: int
    frames: tuple[int, int]
    seen: Frames
    key: Array
    background_check: float
    withheld: tuple[bool, ...]

    @property
    def times(self) -> Float[Array, " knot"]:
        """Of the knots [s]."""
        return self.start + jnp.asarray(self.interval * np.arange(self.n_intervals + 1.0), self.start.dtype)

    @property
    def whole(self) -> tuple[int, int]:
        """Frames of the window, and steps of a frame."""
        return self.frames[0] * self.n_intervals, self.frames[1]

    def drawn(self, start: Ensemble) -> Knots:
        """Perturbed processes of the members from the start of the window to its end."""
        return self.system.drawn(start, self.key, self.interval, self.n_intervals + 1)

    def grown(self, start: Ensemble) -> Ensemble:
        """The members with the errors that their water gains over the window, from its start on."""
        return self.system.grown(start, jax.random.fold_in(self.key, 0), self.n_intervals * self.interval)

    def run(self, start: Ensemble, knots: Knots) -> tuple[Ensemble, Predicted]:
        """Members at the end of the window with these processes, and what they show."""
        now, predicted = passed(self.system, start.now, knots, start.parameters, self.times, self.whole)
        return Ensemble(now, knots[:, -1], start.parameters), predicted

    def accepted(self, predicted: Predicted) -> Frames:
        """The observations that pass the background check against members, with zero weight of the others."""
        spread = jnp.var(predicted, axis=-1, ddof=1) if predicted.shape[-1] > 1 else 0.0
        mean, precision = jnp.mean(predicted, axis=-1), self.seen.precision
        variance = spread + 1.0 / jnp.where(precision > 0.0, precision, 1.0)
        near = (self.seen.values - mean) ** 2 <= self.background_check**2 * variance
        return Frames(self.seen.values, jnp.where(near & ~np.array(self.withheld), precision, 0.0))


class Analysis(NamedTuple):
    """What a method makes of a window.

    Args:
        background: members at its end, before its observations are used.
        predicted: what they would have shown.
        analysis: members at its end.
        fitted: what these would have shown.
        used: where an observation was used.
    """

    background: Ensemble
    predicted: Predicted
    analysis: Ensemble
    fitted: Predicted
    used: Array


class AbstractAssimilationMethod(eqx.Module):
    """How observations change an ensemble."""

    n_members: eqx.AbstractVar[int]

    @abc.abstractmethod
    def assimilate(self, window: Window, start: Ensemble) -> Analysis:
        """The analysis of a window; only observations within it are used."""


@named("free_run")
class FreeRun(AbstractAssimilationMethod):
    """No observation is used: a base line, and with members the spread without assimilation.

    Args:
        n_members: number of members.
    """

    n_members: int = setting(1, at_least=1)

    def assimilate(self, window: Window, start: Ensemble) -> Analysis:
        end, predicted = window.run(start, window.drawn(start))
        unused = jnp.zeros(window.seen.values.shape, bool)
        return Analysis(end, predicted, end, predicted, unused)


@named("persistence")
class Persistence(AbstractAssimilationMethod):
    """The last observation stays: a base line without a model; its water is that of the free run.

    Args:
        n_members: one.
    """

    n_members: int = setting(1, at_least=1, at_most=1)

    def assimilate(self, window: Window, start: Ensemble) -> Analysis:
        return FreeRun().assimilate(window, start)


@named("nudging")
class Nudging(AbstractAssimilationMethod):
    """A part of the departure of the last frame is added to the temperature near the surface.

    T(z) += gain (y - h(x)) exp(z / depth), for temperatures that are observed, from the highest observation.

    Args:
        gain: part that is added [1].
        depth: over which it decreases by a factor e [m].
        n_members: one.
    """

    gain: float = setting(0.5, above=0.0, at_most=1.0)
    depth: float = setting(30.0, above=0.0)
    n_members: int = setting(1, at_least=1, at_most=1)

    def assimilate(self, window: Window, start: Ensemble) -> Analysis:
        end, predicted = window.run(start, window.drawn(start))
        of_temperature = np.array([each.variable.endswith("temperature") for each in window.system.operators])
        seen = window.accepted(predicted)
        used = seen.known & of_temperature
        departure = jnp.where(used, seen.values - predicted[..., 0], 0.0)
        number = jnp.maximum(jnp.sum(used.astype(departure.dtype)), 1.0)
        added = self.gain * jnp.sum(departure) / number
        state, z = end.now.state, window.system.case.grid.z_center
        warmer = state.temperature + (added * jnp.exp(z / self.depth))[:, None]
        now = dataclasses.replace(end.now, state=dataclasses.replace(state, temperature=warmer))
        after = dataclasses.replace(end, now=now)
        return Analysis(end, predicted, after, predicted + added, used)


class Weights(NamedTuple):
    """Transformation of members: of the mean, and of the departures."""

    mean: Float[Array, " member"]
    departures: Float[Array, "member member"]


def transform(predicted: Float[Array, "observation member"], seen: Array, precision: Array) -> Weights:
    """Weights of the symmetric ensemble transform; an observation of precision zero has no effect."""
    m = predicted.shape[-1]
    mean = jnp.mean(predicted, axis=-1)
    scaled = jnp.sqrt(precision)[:, None] * (predicted - mean[:, None]) / jnp.sqrt(m - 1.0)
    value, vector = jnp.linalg.eigh(jnp.eye(m) + scaled.T @ scaled)
    pulled = scaled.T @ (jnp.sqrt(precision) * (seen - mean))
    weights = vector @ ((vector.T @ pulled) / value) / jnp.sqrt(m - 1.0)
    return Weights(weights, (vector / jnp.sqrt(value)) @ vector.T)


def transformed(leaf: Float[Array, "*row member"], weights: Weights, relaxation: float) -> Array:
    """Values of all members after the analysis; with relaxation of the spread to that before it."""
    mean = jnp.mean(leaf, axis=-1, keepdims=True)
    departure = leaf - mean
    if weights.mean.ndim == 1:
        after, shift = departure @ weights.departures, departure @ weights.mean
    else:
        after = jnp.einsum("zm,zmn->zn", departure, weights.departures)
        shift = jnp.sum(departure * weights.mean, axis=-1)
    if relaxation:
        before, now = (jnp.std(each, axis=-1, keepdims=True) for each in (departure, after))
        after = after * (1.0 + relaxation * (before - now) / jnp.where(now > 0.0, now, 1.0))
    return mean + shift[..., None] + after


@named("ensemble_transform")
class EnsembleTransform(AbstractAssimilationMethod):
    """Deterministic ensemble filter with a symmetric square root (ETKF, the ESTKF's analysis), also local.

    The turbulence of the members stays as it is: it adapts to the new water within minutes.

    Args:
        n_members: number of members.
        relaxation: part of the spread of the background that the analysis keeps (RTPS) [1].
        localisation: depth scale of the influence of an observation [m]; `None` for all depths.

    Source: Hunt et al. (2007), Physica D 230, 112-126; relaxation: Whitaker and Hamill (2012), Mon. Weather
    Rev. 140, 3078-3089.
    """

    n_members: int = setting(20, at_least=2)
    relaxation: float = setting(0.0, at_least=0.0, at_most=1.0)
    localisation: float | None = setting(None, above=0.0)

    def assimilate(self, window: Window, start: Ensemble) -> Analysis:
        start = window.grown(start)
        end, predicted = window.run(start, window.drawn(start))
        return filtered(self, window, end, predicted)


@eqx.filter_jit
def filtered(
    method: EnsembleTransform, window: Window, background: Ensemble, predicted: Predicted
) -> Analysis:
    """The analysis of members that were run through the window."""
    seen = window.accepted(predicted)
    flat = predicted.reshape(-1, predicted.shape[-1]), seen.values.ravel(), seen.precision.ravel()
    weights = transform(*flat)
    levels = weights
    if method.localisation is not None:
        z = window.system.case.grid.z_center
        heights = [0.0 if each.height is None else each.height for each in window.system.operators]
        near = jnp.exp(-0.5 * ((z[:, None] - jnp.array(heights)) / method.localisation) ** 2)
        near = jnp.broadcast_to(near[:, None], (z.size, *seen.values.shape)).reshape(z.size, -1)
        levels = Weights(*jax.vmap(lambda own: transform(flat[0], flat[1], own * flat[2]))(near))
    state = jax.tree.map(
        lambda x: transformed(x, levels, method.relaxation), profiles_of(background.now.state)
    )
    state["tracers"] = jax.tree.map(_not_below_zero, state["tracers"], background.now.state.tracers)
    state = dataclasses.replace(background.now.state, **state)
    others = (
        transformed(x, weights, method.relaxation) for x in (background.processes, background.parameters)
    )
    after = Ensemble(dataclasses.replace(background.now, state=state), *others)
    fitted = transformed(flat[0], weights, method.relaxation).reshape(predicted.shape)
    return Analysis(background, predicted, after, fitted, seen.known)


def _not_below_zero(after: Array, before: Array) -> Array:
    """Concentrations after the analysis: where no member was below zero, none is."""
    return jnp.maximum(after, jnp.minimum(jnp.min(before, axis=-1, keepdims=True), 0.0))


def profiles_of(state: State) -> dict:
    """What the analysis changes of a state, by field."""
    return {name: getattr(state, name) for name in ("u", "v", "temperature", "salinity", "tracers")}
