"""What wind and waves give to the turbulent kinetic energy: at the surface, below it, by Langmuir cells."""

import abc
import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ... import constants
from ..._types import InnerFaceArray, Scalar, ScalarLike, parameter
from ...declarations import named
from ...numerics.limiters import at_least, at_most, reciprocal
from ..base import ClosureInputs
from ..walls import EndCondition


class AbstractSurfaceEnergy(eqx.Module):
    """The condition for k at the surface."""

    @abc.abstractmethod
    def condition(self, friction_velocity: Scalar) -> EndCondition:
        """A value [m2 s-2] or a flux [m3 s-3] of k."""


@named("value")
class SurfaceValue(AbstractSurfaceEnergy):
    """k = max(factor u*², floor) at the surface.

    The factor is 67.83 below breaking waves (3.75 without them).

    Args:
        factor: of u*² [1].
        floor: least k at the surface [m2 s-2].

    Source: Mellor and Blumberg (2004), J. Phys. Oceanogr. 34, 693-698; NEMO.
    """

    factor: Scalar = parameter(67.83, valid_range=(0.0, 1000.0))
    floor: Scalar = parameter(1e-4, unit="m2 s-2", valid_range=(1e-12, 1e-1))

    def condition(self, friction_velocity: Scalar) -> EndCondition:
        return EndCondition(value=at_least(self.factor * friction_velocity**2, self.floor))


@named("flux")
class SurfaceFlux(AbstractSurfaceEnergy):
    """k enters through the surface at the rate factor u*³.

    Args:
        factor: of u*³ [1].

    Source: the global set-ups of Veros.
    """

    factor: Scalar = parameter(1.0, valid_range=(0.0, 1000.0))

    def condition(self, friction_velocity: Scalar) -> EndCondition:
        return EndCondition(flux=self.factor * friction_velocity**3)


@named("exponential")
class Penetration(eqx.Module):
    """Below the surface k grows in every step by a fraction of its surface value, decaying downward.

    k <- k + fraction k_surface exp(z / depth), as in NEMO: steps of half the length add twice as much. With a
    `time_step` the addition is in proportion to the step.

    Args:
        fraction: of k at the surface [1].
        time_step: for which the fraction holds [s]; `None` for every step.
        depth: of the decay [m]; `None` for min(max(45 |sin(latitude)|, 0.5), 30) as in NEMO.

    Source: Rodgers et al. (2014), Biogeosciences 11, 4077-4098; NEMO.
    """

    fraction: Scalar = parameter(0.05, valid_range=(0.0, 1.0))
    time_step: Scalar | None = parameter(None, unit="s", valid_range=(1.0, 86400.0))
    depth: Scalar | None = parameter(None, unit="m", valid_range=(0.1, 200.0))

    def added(self, at_surface: Scalar, inputs: ClosureInputs, dt: ScalarLike) -> InnerFaceArray:
        """What k gains in a step [m2 s-2]."""
        fraction = self.fraction if self.time_step is None else self.fraction * dt / self.time_step
        depth = self.depth
        if depth is None:
            sine = jnp.abs(inputs.coriolis_parameter) * (constants.ROTATION_PERIOD / (4.0 * math.pi))
            depth = at_most(at_least(45.0 * sine, 0.5), 30.0)
        z = inputs.grid.z_face
        height = z[1:-1] - z[-1]
        return fraction * at_surface * jnp.exp(height * reciprocal(jnp.asarray(depth)))


@named("axell")
class LangmuirCells(eqx.Module):
    """Production of k by Langmuir cells, (u_s w³) / H with w = c u_s sin(pi d / H) at the depth d above H.

    H is where a parcel with the kinetic energy u_s²/2 is stopped by the stratification,
    integral of max(N², 0) d over d = u_s²/2, linear between the faces.

    Args:
        velocity_ratio: c [1].
        stokes_drift_ratio: surface Stokes drift u_s over u* [1]; 0.016 of the wind at 10 m, with a drag
            coefficient of 1.5e-3 and densities of 1.22 and 1026 kg m-3.

    Source: Axell (2002), J. Geophys. Res. 107, 3200, eqs. 44 to 47; NEMO for the constants.
    """

    velocity_ratio: Scalar = parameter(0.15, valid_range=(0.0, 1.0))
    stokes_drift_ratio: Scalar = parameter(
        0.016 * math.sqrt(1026.0 / (1.22 * 1.5e-3)), valid_range=(0.0, 100.0)
    )

    def production(self, inputs: ClosureInputs) -> InnerFaceArray:
        """[m2 s-3]"""
        drift = self.stokes_drift_ratio * inputs.surface_friction_velocity
        z = inputs.grid.z_face
        depth = z[-1] - z[1:-1]
        lowest = self._depth(0.5 * drift**2, depth, inputs)
        inverse = reciprocal(at_least(lowest, 1e-2))
        fraction = at_most(depth * inverse, 1.0)
        velocity = self.velocity_ratio * drift * _sine_of_half_turns(fraction)
        return jnp.where(depth < lowest, velocity**3 * inverse, 0.0)

    def _depth(self, energy: Scalar, depth: InnerFaceArray, inputs: ClosureInputs) -> Scalar:
        """H [m]."""
        grid = inputs.grid
        work = at_least(inputs.buoyancy_frequency_squared, 0.0) * depth * grid.center_spacing
        until = jnp.cumsum(work[::-1], axis=0)[::-1]
        # Fraction of the cell above each face that is passed; 1e-15 where nothing in it stops a parcel.
        passed = (energy - until + work) * reciprocal(at_least(work, 1e-15))
        passed = at_most(at_least(passed, 0.0), 1.0)
        thickness = jnp.broadcast_to(grid.cell_thickness, (depth.shape[0] + 1, *work.shape[1:]))
        at_bottom = jnp.where(energy > until[0], thickness[0], 0.0)
        return jnp.sum(passed * thickness[1:], axis=0) + at_bottom


def _sine_of_half_turns(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """sin(pi x) between 0 and 1, to 1e-10: a polynomial costs a tenth of the sine."""
    square = (math.pi * (x - 0.5)) ** 2
    result = jnp.full_like(square, -1.0 / math.factorial(14))
    for k in range(6, -1, -1):
        result = result * square + (-1.0) ** k / math.factorial(2 * k)
    return result
