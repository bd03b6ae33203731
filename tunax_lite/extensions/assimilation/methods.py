"""Assimilation methods: from the ensemble at the start of a window and its observations to the analysis.

`AbstractAssimilationMethod.assimilate` is the common interface. A filter runs its members through the window
and changes them at its end; a variational method changes the start of the window and runs it again.

Ensemble transform (Hunt et al. 2007, Physica D 230, 112-126): with the departures Y of the m members from
their mean in observation space and S = R^(-1/2) Y / sqrt(m - 1),

    w = (I + SᵀS)⁻¹ Sᵀ R^(-1/2) (y - ȳ),    W = (I + SᵀS)^(-1/2) (symmetric),

    x_a = x̄ + X w / sqrt(m - 1),    X_a = X W.

The symmetric root is that of the ESTKF up to rounding (Nerger et al. 2012, Mon. Weather Rev. 140, 2335-2345).
With a localisation depth D the precision of an observation at height h is multiplied at height z by
exp(-(z - h)² / (2 D²)), and weights differ between levels; observations without a height have h = 0.
"""

import abc
import dataclasses
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...declarations import named, setting
from .observing import Frames
from .system import Ensemble, Knots, System, run_members

Predicted = Float[Array, "frame stream member"]


class Window(eqx.Module):
    """One assimilation window with its observations.

    Args:
        system: uncertain column.
        start: start of the window [s] since the start of the case.
        interval: time between knots of the processes, and between the starts of windows [s].
        n_intervals: length of the window in intervals.
        frames: numbers of frames per interval and of steps per frame.
        observed: observations on the frames.
        key: random key of the window.
        background_check: largest departure of a used observation from the background, in standard deviations
            of the departure (with one member, of the observation); infinite to use all.
        withheld: for each stream, true if its observations are not assimilated.
    """

    system: System
    start: Float[Array, ""]
    interval: float
    n_intervals: int
    frames: tuple[int, int]
    observed: Frames
    key: Array
    background_check: float
    withheld: tuple[bool, ...]

    @property
    def times(self) -> Float[Array, " knot"]:
        """Times of the knots [s]."""
        return self.start + jnp.asarray(self.interval * np.arange(self.n_intervals + 1.0), self.start.dtype)

    @property
    def all_frames(self) -> tuple[int, int]:
        """Numbers of frames of the window and of steps per frame."""
        return self.frames[0] * self.n_intervals, self.frames[1]

    def background(self, start: Ensemble) -> tuple[Ensemble, Predicted]:
        """Like `run`, with random processes, and with the growth of profile errors added at the start."""
        duration = self.n_intervals * self.interval
        start = self.system.with_model_error(start, jax.random.fold_in(self.key, 0), duration)
        knots = self.system.draw_processes(start, self.key, self.interval, self.n_intervals + 1)
        return self.run(start, knots)

    def run(self, start: Ensemble, knots: Knots) -> tuple[Ensemble, Predicted]:
        """Members at the end of the window with these processes, and their predicted observations."""
        now, predicted = run_members(
            self.system, start.now, knots, start.parameters, self.times, self.all_frames
        )
        return Ensemble(now, knots[:, -1], start.parameters), predicted

    def accepted_observations(self, predicted: Predicted) -> Frames:
        """Observations; those that fail the background check or are withheld have zero precision."""
        spread = jnp.var(predicted, axis=-1, ddof=1) if predicted.shape[-1] > 1 else 0.0
        mean, precision = jnp.mean(predicted, axis=-1), self.observed.precision
        variance = spread + 1.0 / jnp.where(precision > 0.0, precision, 1.0)
        passes = (self.observed.values - mean) ** 2 <= self.background_check**2 * variance
        return Frames(self.observed.values, jnp.where(passes & ~np.array(self.withheld), precision, 0.0))


class Analysis(NamedTuple):
    """Result of a method for a window.

    Args:
        background: members at the end of the window, before its observations are used.
        predicted: observations that the background predicts.
        analysis: members at the end of the window, after its observations are used.
        fitted: predicted observations after the analysis. Only variational methods run the window again. The
            ensemble transform updates `predicted` with the weights of the global analysis; nudging adds its
            correction at the heights of the temperatures.
        used: true for each observation that changed the analysis, `(n_frames, n_streams)`.
    """

    background: Ensemble
    predicted: Predicted
    analysis: Ensemble
    fitted: Predicted
    used: Array


class AbstractAssimilationMethod(eqx.Module):
    """Assimilation method."""

    n_members: eqx.AbstractVar[int]

    @abc.abstractmethod
    def assimilate(self, window: Window, start: Ensemble) -> Analysis:
        """Return the analysis of a window, from observations within it only."""


@named("free_run")
class FreeRun(AbstractAssimilationMethod):
    """Run without observations: a baseline, and with several members the spread without assimilation.

    Args:
        n_members: number of members.
    """

    n_members: int = setting(1, at_least=1)

    def assimilate(self, window: Window, start: Ensemble) -> Analysis:
        end, predicted = window.background(start)
        unused = jnp.zeros(window.observed.values.shape, bool)
        return Analysis(end, predicted, end, predicted, unused)


@named("persistence")
class Persistence(AbstractAssimilationMethod):
    """Forecast the last observation: a baseline without a model. The analysis is that of the free run.

    Args:
        n_members: 1.
    """

    n_members: int = setting(1, at_least=1, at_most=1)

    def assimilate(self, window: Window, start: Ensemble) -> Analysis:
        return FreeRun().assimilate(window, start)


@named("nudging")
class Nudging(AbstractAssimilationMethod):
    """Add a fraction of the observed temperature departure to the temperature near the surface.

    T(z) += gain (y - h(x)) exp(z / depth), with the mean departure of all temperatures in the window.
    Other observations have no effect; `Assimilation.notes` names them.

    Args:
        gain: fraction of the departure [1].
        depth: e-folding depth of the correction [m].
        n_members: 1.
    """

    gain: float = setting(0.5, above=0.0, at_most=1.0)
    depth: float = setting(30.0, above=0.0)
    n_members: int = setting(1, at_least=1, at_most=1)

    def assimilate(self, window: Window, start: Ensemble) -> Analysis:
        end, predicted = window.background(start)
        operators = window.system.operators
        is_temperature = np.array([each.is_temperature for each in operators])
        observed = window.accepted_observations(predicted)
        used = observed.known & is_temperature
        departure = jnp.where(used, observed.values - predicted[..., 0], 0.0)
        number = jnp.maximum(jnp.sum(used.astype(departure.dtype)), 1.0)
        correction = self.gain * jnp.sum(departure) / number
        state, z = end.now.state, window.system.case.grid.z_center
        corrected = state.temperature + (correction * jnp.exp(z / self.depth))[:, None]
        now = dataclasses.replace(end.now, state=dataclasses.replace(state, temperature=corrected))
        analysis = dataclasses.replace(end, now=now)
        heights = np.array([each.height or 0.0 for each in operators])
        at_heights = correction * np.where(is_temperature, np.exp(heights / self.depth), 0.0)
        return Analysis(end, predicted, analysis, predicted + at_heights[:, None], used)


def weights_of(
    predicted: Float[Array, "observation member"], observed: Array, precision: Array
) -> tuple[Float[Array, " member"], Float[Array, "member member"]]:
    """Weights w / sqrt(m - 1) of the mean and W of the departures; zero precision leaves a value out."""
    m = predicted.shape[-1]
    mean = jnp.mean(predicted, axis=-1)
    scaled = jnp.sqrt(precision)[:, None] * (predicted - mean[:, None]) / jnp.sqrt(m - 1.0)
    value, vector = jnp.linalg.eigh(jnp.eye(m) + scaled.T @ scaled)
    projected = scaled.T @ (jnp.sqrt(precision) * (observed - mean))
    weights = vector @ ((vector.T @ projected) / value) / jnp.sqrt(m - 1.0)
    return weights, (vector / jnp.sqrt(value)) @ vector.T


def transformed(leaf: Float[Array, "*row member"], weights: tuple[Array, Array], relaxation: float) -> Array:
    """Values of all members after the analysis, with the spread relaxed to that before it.

    The weights are those of `weights_of`, or have a leading axis with those of each level.
    """
    of_mean, of_departures = weights
    mean = jnp.mean(leaf, axis=-1, keepdims=True)
    departure = leaf - mean
    if of_mean.ndim == 1:
        after, shift = departure @ of_departures, departure @ of_mean
    else:
        after = jnp.einsum("zm,zmn->zn", departure, of_departures)
        shift = jnp.sum(departure * of_mean, axis=-1)
    if relaxation:
        before, now = (jnp.std(each, axis=-1, keepdims=True) for each in (departure, after))
        after = after * (1.0 + relaxation * (before - now) / jnp.where(now > 0.0, now, 1.0))
    return mean + shift[..., None] + after


@named("ensemble_transform")
class EnsembleTransform(AbstractAssimilationMethod):
    """Deterministic ensemble filter with a symmetric square root (ETKF, equal to the ESTKF), global or local.

    The turbulence of the members is not changed: it adapts to the new water within minutes.

    Args:
        n_members: number of members.
        relaxation: fraction by which the spread is relaxed to that of the background (RTPS) [1].
        localisation: depth scale D of the influence of an observation [m]; `None` for a global analysis.

    Source: Hunt et al. (2007), Physica D 230, 112-126; relaxation: Whitaker and Hamill (2012), Mon. Weather
    Rev. 140, 3078-3089.
    """

    n_members: int = setting(20, at_least=2)
    relaxation: float = setting(0.0, at_least=0.0, at_most=1.0)
    localisation: float | None = setting(None, above=0.0)

    def assimilate(self, window: Window, start: Ensemble) -> Analysis:
        return analyse(self, window, *window.background(start))


@eqx.filter_jit
def analyse(
    method: EnsembleTransform, window: Window, background: Ensemble, predicted: Predicted
) -> Analysis:
    """Return the analysis of members that were run through the window."""
    observed = window.accepted_observations(predicted)
    flat = predicted.reshape(-1, predicted.shape[-1])
    values, precision = observed.values.ravel(), observed.precision.ravel()
    weights = weights_of(flat, values, precision)
    level_weights = weights
    if method.localisation is not None:
        z = window.system.case.grid.z_center
        heights = [0.0 if each.height is None else each.height for each in window.system.operators]
        nearness = jnp.exp(-0.5 * ((z[:, None] - jnp.array(heights)) / method.localisation) ** 2)
        shape = z.size, *observed.values.shape
        nearness = jnp.broadcast_to(nearness[:, None], shape).reshape(z.size, -1)
        level_weights = jax.vmap(lambda near: weights_of(flat, values, near * precision))(nearness)
    profiles = {
        name: getattr(background.now.state, name) for name in ("u", "v", "temperature", "salinity", "tracers")
    }
    state = jax.tree.map(lambda x: transformed(x, level_weights, method.relaxation), profiles)
    state["tracers"] = jax.tree.map(_not_below_zero, state["tracers"], background.now.state.tracers)
    state = dataclasses.replace(background.now.state, **state)
    others = (
        transformed(x, weights, method.relaxation) for x in (background.processes, background.parameters)
    )
    analysis = Ensemble(dataclasses.replace(background.now, state=state), *others)
    fitted = transformed(flat, weights, method.relaxation).reshape(predicted.shape)
    return Analysis(background, predicted, analysis, fitted, observed.known)


def _not_below_zero(after: Array, before: Array) -> Array:
    """Raise concentrations to zero, or to the lowest member before the analysis if that is negative."""
    return jnp.maximum(after, jnp.minimum(jnp.min(before, axis=-1, keepdims=True), 0.0))
