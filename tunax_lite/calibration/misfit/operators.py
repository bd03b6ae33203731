"""Observation operators: from values on the cells of the model to values where something was observed.

All are linear, take the vertical first and the batch last, and are arrays: targets of equal shapes share
compiled code.
"""

import abc

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

Values = Float[Array, "center *#member"]
Observed = Float[Array, "level *#member"]


class AbstractOperator(eqx.Module):
    """What becomes of the values of a variable at one time."""

    @abc.abstractmethod
    def __call__(self, values: Values) -> Observed:
        """Values at the observed heights."""


class AtCenters(AbstractOperator):
    """The values themselves: observed on the cells of the model."""

    def __call__(self, values: Values) -> Observed:
        return values


class Interpolation(AbstractOperator):
    """Linear interpolation along the leading axis: `(1 - fraction) * [lower] + fraction * [lower + 1]`."""

    lower: Int[Array, " *target"]
    fraction: Float[Array, " *target"]

    def __call__(self, values: Values) -> Observed:
        fraction = self.fraction.reshape((-1,) + (1,) * (values.ndim - 1))
        return (1.0 - fraction) * values[self.lower] + fraction * values[self.lower + 1]


class Averaging(AbstractOperator):
    """Means over the observed cells, where these are thicker than those of the model."""

    matrix: Float[Array, "level center"]

    def __call__(self, values: Values) -> Observed:
        return jnp.tensordot(self.matrix, values, axes=1)


class OneNumber(AbstractOperator):
    """A number of the column as a profile of one level."""

    def __call__(self, values: Float[Array, "*#member"]) -> Observed:
        return values[None]


def interpolation(source: np.ndarray, points: np.ndarray) -> Interpolation:
    """Linear interpolation to points of any shape, from increasing places; constant beyond the ends.

    A point that is NaN takes the first value.
    """
    inside = np.clip(np.where(np.isnan(points), source[0], points), source[0], source[-1])
    lower = np.clip(np.searchsorted(source, inside, side="right") - 1, 0, source.size - 2)
    fraction = (inside - source[lower]) / (source[lower + 1] - source[lower])
    return Interpolation(jnp.asarray(lower), jnp.asarray(fraction))
