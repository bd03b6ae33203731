"""Albedo of the sea surface: what part of the shortwave radiation is reflected."""

import abc
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp

from .._types import Scalar, parameter
from ..declarations import named
from ..numerics.limiters import at_least, at_most


class AbstractAlbedo(eqx.Module):
    """Albedo from the position of the sun."""

    needs_sun: ClassVar[bool]

    @abc.abstractmethod
    def value(self, zenith: Scalar | float, day: Scalar | float) -> Scalar:
        """Reflected fraction for a zenith angle [degrees] (90 at night) and a day of the year."""


@named("constant")
class ConstantAlbedo(AbstractAlbedo):
    """The same at all times.

    Args:
        albedo: reflected fraction of the light [1].
    """

    needs_sun = False
    albedo: Scalar = parameter(valid_range=(0.0, 1.0))

    def value(self, zenith: Scalar | float, day: Scalar | float) -> Scalar:
        del zenith, day
        return self.albedo


_PAYNE_ZENITH = (0, 10, 20, 30, 40, 50, 54, 58, 62, 66, 70, 74, 76, 78, 80, 82, 84, 86, 88, 90)
_PAYNE_ALBEDO = (
    (0.034, 0.034, 0.036, 0.039, 0.043, 0.054, 0.061, 0.071, 0.084, 0.103)
    + (0.131, 0.164, 0.193, 0.250, 0.300, 0.385, 0.480, 0.603, 0.656, 0.719)
)  # fmt: skip


@named("payne")
class Payne(AbstractAlbedo):
    """By the height of the sun, linear between the entries of a table.

    GOTM takes the neighbouring entries between 50 and 74 degrees, which moves its albedo by up to 0.0015.

    Source: Payne (1972), J. Atmos. Sci. 29, 959-970.
    """

    needs_sun = True

    def value(self, zenith: Scalar | float, day: Scalar | float) -> Scalar:
        del day
        zenith = jnp.asarray(zenith)
        angles = jnp.asarray(_PAYNE_ZENITH, dtype=zenith.dtype)
        return jnp.interp(zenith, angles, jnp.asarray(_PAYNE_ALBEDO, dtype=zenith.dtype))


_COGLEY = (
    (1.000, 1.000, 0.301, 0.293, 0.171, 0.148, 0.160, 0.246, 0.342, 1.000, 1.000, 1.000),
    (1.000, 0.301, 0.319, 0.225, 0.160, 0.131, 0.145, 0.206, 0.294, 0.305, 1.000, 1.000),
    (0.301, 0.338, 0.229, 0.148, 0.116, 0.112, 0.114, 0.134, 0.202, 0.313, 0.301, 1.000),
    (0.339, 0.240, 0.155, 0.105, 0.088, 0.084, 0.086, 0.098, 0.136, 0.216, 0.321, 0.355),
    (0.220, 0.161, 0.108, 0.084, 0.075, 0.073, 0.074, 0.080, 0.099, 0.144, 0.210, 0.241),
    (0.145, 0.111, 0.085, 0.073, 0.068, 0.067, 0.068, 0.071, 0.080, 0.103, 0.138, 0.161),
    (0.103, 0.086, 0.073, 0.067, 0.065, 0.064, 0.064, 0.066, 0.071, 0.082, 0.100, 0.111),
    (0.083, 0.074, 0.067, 0.064, 0.063, 0.063, 0.063, 0.064, 0.066, 0.072, 0.081, 0.087),
    (0.072, 0.067, 0.064, 0.063, 0.064, 0.064, 0.064, 0.063, 0.063, 0.066, 0.071, 0.074),
    (0.066, 0.064, 0.063, 0.064, 0.066, 0.068, 0.067, 0.064, 0.063, 0.064, 0.066, 0.068),
)
"""Zenith angles 90, 80, ... 0 degrees by months."""
_MONTH_STARTS = (1, 32, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335)
_MONTH = 365.25 / 12.0


@named("cogley")
class Cogley(AbstractAlbedo):
    """By the height of the sun and the season, bilinear in a table whose months count from their first day.

    Source: Cogley (1979), Mon. Weather Rev. 107, 775-781; GOTM.
    """

    needs_sun = True

    def value(self, zenith: Scalar | float, day: Scalar | float) -> Scalar:
        zenith, day = jnp.asarray(zenith), jnp.asarray(day)
        table = jnp.asarray(_COGLEY, dtype=zenith.dtype)
        row = (90.0 - at_most(at_least(zenith, 0.0), 90.0)) * 0.1
        upper = jnp.clip(jnp.floor(row).astype(jnp.int32), 0, 8)
        by_zenith = row - upper.astype(row.dtype)
        month = jnp.clip(jnp.floor(day / _MONTH).astype(jnp.int32), 0, 11)
        by_month = (day - jnp.asarray(_MONTH_STARTS, dtype=zenith.dtype)[month]) * (1.0 / _MONTH)

        def of_month(index):
            return table[upper, index] + by_zenith * (table[upper + 1, index] - table[upper, index])

        first, second = of_month(month), of_month((month + 1) % 12)
        return at_most(at_least(first + by_month * (second - first), 0.0), 1.0)
