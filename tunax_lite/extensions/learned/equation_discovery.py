"""The diffusivity of an energetic boundary layer, by equations that symbolic regression found.

    K = v_0 H G,    G = 1 - (1 - s / s_m)² above s_m,    G = 1 - (1 - g) (3 x² - 2 x³) below it

with s = z / H and x = (s - s_m) / (1 - s_m), and G = g beneath the layer. The maximum is at

    s_m = E F / (c_1 E F + c_2),    F = 1 / (c_3 + c_4 exp(c_5 L)) + c_6,    E = |f| H / u*,    L = B H / u*³

with B positive if it stabilises. The equations replace a network that had been trained with a closure of the
generic length scale. The depth H remains that which the energy reaches.

Source: Sane et al. (2026), Geophys. Res. Lett. 53, e2026GL122106; constants and limits of MOM6,
`EPBL_EQD_DIFFUSIVITY_SHAPE`, `EPBL_EQD_DIFFUSIVITY_VELOCITY` and `EPBL_EQD_DIFFUSIVITY_VELOCITY_H`.
"""

import abc

import equinox as eqx
import jax.numpy as jnp

from ..._types import InnerFaceArray, Scalar, parameter
from ...closures.epbl import AbstractProfile, Depths, Faces, Numbers, SurfaceForcing
from ...declarations import named
from ...numerics.elementary import at_least, at_most, inverse_cube_root, reciprocal, safe_sqrt

_EARTH = 7.2921e-5  # Omega [s-1]
_SLOWEST_ROTATION = 2.5384e-7  # at a tenth of a degree [s-1]
_STRONGEST_FLUX = 7e-7  # [m2 s-3]
_SLOWEST, _FASTEST = 1e-4, 0.1  # [m s-1]
_MOST_ROTATION, _MOST_BUOYANCY = 2.0, 8.0  # E and |L|
_SHALLOWEST, _DEEPEST = 0.1, 0.7  # s_m
_WEAKEST_WIND = 1e-6  # u* as a divisor [m s-1]
# Far below what occurs, so that quotients are finite without wind and buoyancy flux.
_SMALLEST_FLUX, _SMALLEST_POWER = 1e-18, 1e-18  # [m2 s-3], [m3 s-3]


class AbstractLayerVelocity(eqx.Module):
    """A formula for v_0."""

    @abc.abstractmethod
    def of(self, depth: Numbers, forcing: SurfaceForcing) -> Numbers:
        """v_0 [m s-1] of layers of given depths H [m], without its limits."""


@named("rotation")
class VelocityByRotation(AbstractLayerVelocity):
    """v_0 from wind, buoyancy flux and rotation, whatever the depth of the layer.

        v_0 = c_7 u* / (b + c_8 + c_9² / (b + c_9))                                           for B >= 0
        v_0 = c_10 b u* (|f| / O)^(1/2) / (1 + (c_11 exp(-c_12 |f| / O) + c_13) / b²) + c_14 u*   for B < 0

    with b = (|B / f|)^(1/2) / u*, and the rotation O of the Earth.

    Args:
        c_7 ... c_14: coefficients [1].
    """

    c_7: Scalar = parameter(0.155, valid_range=(0.0, 10.0))
    c_8: Scalar = parameter(1.112, valid_range=(0.01, 100.0))
    c_9: Scalar = parameter(0.8616, valid_range=(0.01, 100.0))
    c_10: Scalar = parameter(0.0984, valid_range=(0.0, 10.0))
    c_11: Scalar = parameter(45.0, valid_range=(0.0, 1e3))
    c_12: Scalar = parameter(2.857, valid_range=(0.0, 100.0))
    c_13: Scalar = parameter(3.29, valid_range=(0.0, 1e3))
    c_14: Scalar = parameter(0.0785, valid_range=(0.0, 10.0))

    def of(self, depth: Numbers, forcing: SurfaceForcing) -> Numbers:
        friction, rotation = forcing.friction_velocity, at_least(forcing.rotation, _SLOWEST_ROTATION)
        heating, cooling = _heating_and_cooling(forcing)
        of_wind = rotation * friction * friction
        # Multiplied by u*² |f|, for small winds.
        mixed = friction * safe_sqrt(heating * rotation)
        divisor = heating + (self.c_8 + self.c_9) * mixed + self.c_9 * (self.c_8 + self.c_9) * of_wind
        stable = friction * self.c_7 * (mixed + self.c_9 * of_wind) * reciprocal(divisor + _SMALLEST_FLUX)
        turning = rotation * (1.0 / _EARTH)
        divisor = cooling + (self.c_11 * jnp.exp(-self.c_12 * turning) + self.c_13) * of_wind
        free = self.c_10 * cooling * safe_sqrt(cooling * (1.0 / _EARTH))
        unstable = free * reciprocal(divisor + _SMALLEST_FLUX) + self.c_14 * friction
        return jnp.where(forcing.buoyancy_flux < 0.0, unstable, stable) + jnp.zeros_like(depth)


@named("depth")
class VelocityByDepth(AbstractLayerVelocity):
    """v_0 from wind, buoyancy flux and the depth of the layer.

        v_0 = c_14 u* / (c_15 a³ + c_16 a² + 1)          for B >= 0
        v_0 = a u* / (c_17 + c_18 / a²) + c_14 u*        for B < 0

    with a = (|B| H)^(1/3) / u*.

    Args:
        c_14 ... c_18: coefficients [1].
    """

    c_14: Scalar = parameter(0.0785, valid_range=(0.0, 10.0))
    c_15: Scalar = parameter(0.65, valid_range=(0.0, 100.0))
    c_16: Scalar = parameter(0.0944, valid_range=(0.0, 100.0))
    c_17: Scalar = parameter(6.0277, valid_range=(0.01, 1e3))
    c_18: Scalar = parameter(15.7292, valid_range=(0.01, 1e3))

    def of(self, depth: Numbers, forcing: SurfaceForcing) -> Numbers:
        friction = forcing.friction_velocity
        heating, cooling = (each * depth for each in _heating_and_cooling(forcing))
        squared = friction * friction
        divisor = self.c_15 * heating + self.c_16 * friction * _two_thirds(heating) + squared * friction
        stable = self.c_14 * squared * squared * reciprocal(divisor + _SMALLEST_POWER)
        divisor = self.c_17 * _two_thirds(cooling) + self.c_18 * squared + _SMALLEST_POWER
        unstable = cooling * reciprocal(divisor) + self.c_14 * friction
        return jnp.where(forcing.buoyancy_flux < 0.0, unstable, stable)


@named("equation_discovery")
class DiscoveredProfile(AbstractProfile):
    """K of an energetic boundary layer by equations of its shape and velocity.

    Args:
        c_1 ... c_6: coefficients of the depth of the maximum [1].
        beneath: g, below the layer, and at its base [1].
        velocity: formula for v_0.
    """

    c_1: Scalar = parameter(1.7908, valid_range=(0.1, 10.0))
    c_2: Scalar = parameter(0.6904, valid_range=(0.01, 10.0))
    c_3: Scalar = parameter(0.0712, valid_range=(0.001, 10.0))
    c_4: Scalar = parameter(0.438, valid_range=(0.0, 10.0))
    c_5: Scalar = parameter(2.6821, valid_range=(0.0, 10.0))
    c_6: Scalar = parameter(1.5845, valid_range=(0.0, 100.0))
    beneath: Scalar = parameter(0.01, valid_range=(1e-4, 1.0))
    velocity: AbstractLayerVelocity = eqx.field(default_factory=VelocityByRotation)

    def diffusivity(self, at: InnerFaceArray, depth: Depths, forcing: SurfaceForcing) -> Faces:
        velocity = at_most(at_least(self.velocity.of(depth, forcing), _SLOWEST), _FASTEST)
        return velocity * depth * self.shape(at[:, None] * reciprocal(depth), self.peak(depth, forcing))

    def peak(self, depth: Depths, forcing: SurfaceForcing) -> Depths:
        """s_m [1]."""
        inverse = reciprocal(at_least(forcing.friction_velocity, _WEAKEST_WIND))
        turning = at_most(depth * forcing.rotation * inverse, _MOST_ROTATION)
        buoyancy = forcing.buoyancy_flux * depth * inverse * inverse * inverse
        buoyancy = at_most(at_least(buoyancy, -_MOST_BUOYANCY), _MOST_BUOYANCY)
        function = reciprocal(self.c_3 + self.c_4 * jnp.exp(self.c_5 * buoyancy)) + self.c_6
        product = function * turning
        found = product * reciprocal(self.c_1 * product + self.c_2)
        return at_most(at_least(found, _SHALLOWEST), _DEEPEST)

    def shape(self, place: Faces, peak: Depths) -> Faces:
        """G at s = z / H [1]."""
        above = 1.0 - at_most(place * reciprocal(peak), 1.0)
        below = at_most(at_least((place - peak) * reciprocal(1.0 - peak), 0.0), 1.0)
        return (1.0 - above * above) * (1.0 - (1.0 - self.beneath) * below * below * (3.0 - 2.0 * below))


def _heating_and_cooling(forcing: SurfaceForcing) -> tuple[Scalar, Scalar]:
    """B and -B where positive, within the range of the training [m2 s-3]."""
    flux = forcing.buoyancy_flux
    heating, cooling = (at_most(at_least(each, 0.0), _STRONGEST_FLUX) for each in (flux, -flux))
    return heating, cooling


def _two_thirds(cube: Numbers) -> Numbers:
    """x^(2/3) of x >= 0."""
    return cube * inverse_cube_root(cube + _SMALLEST_POWER)
