"""The march from the surface down, which gives every face its K while the energy of the step lasts.

Two bodies of thicknesses h_a, h_b, mean buoyancies b_a, b_b and depths d_a, d_b that exchange the volume x
take the energy x (b_a - b_b) (d_b - d_a) per area. In a backward Euler step of length dt with the conductance
k = K dt / dz between them, x = k / (1 + k (1 / h_a + 1 / h_b)). The upper body is all water above the face as
it is when nothing below the face mixes, which follows from cell to cell:

    b_a <- b + (x / h) (b_a - b),    d_a <- d + (x / h) (d_a - d),    1 / h_a <- (1 - x / h) / h

The sum of these energies over the faces is the change of the potential energy in the step, to round-off.
Wind and convection bring energy, mixing uses it up, and unstable faces release some, of which the fraction
n* is there for the faces below. The face where energy ends exchanges the volume that the rest pays for.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from ..._types import CenterArray, Scalar, ScalarLike, parameter
from ...declarations import named
from ...grid import Grid
from ...numerics.limiters import at_least, at_most, reciprocal

Depths = Float[Array, "depth *#batch"]
"""One number for every depth of the layer that is tried."""
Faces = Float[Array, "inner depth *#batch"]

_SMALLEST_POWER = 1e-18
Numbers = Float[Array, "..."]
"""One number per column, per level, or per depth of the layer that is tried."""
_SMALLEST_CUBE = 1e-11
"""Of a velocity [m3 s-3]: below, it is linear in the energy."""
_SMALLEST_VELOCITY = 1e-12


def cube_root(cube: Numbers) -> Numbers:
    """x^(1/3) of energy from 0 on [m3 s-3]; linear in x, and finite in its derivative, at 0."""
    return cube * jnp.exp((-2.0 / 3.0) * jnp.log(cube + _SMALLEST_CUBE))


@named("om4")
class EnergyVelocity(eqx.Module):
    """w = (E + c R)^(1/3), with what wind (E) and convection (R) have left where it mixes.

    A face whose mixing releases energy counts with all that it could release.

    Args:
        convection: c [1].
        rotation: c_f; the length is l / (1 + c_f |f| l / w) [1].

    Source: Adcroft et al. (2019), J. Adv. Model. Earth Syst. 11, 3167-3211; numbers of MOM6.
    """

    convection: Scalar = parameter(1.0, valid_range=(0.0, 10.0))
    rotation: Scalar = parameter(1.0, valid_range=(0.0, 10.0))

    def diffusivity(self, energy: Numbers, length: Numbers, turning: Numbers) -> Numbers:
        """K = kappa w l [m2 s-1].

        Args:
            energy: E + c R [m3 s-3].
            length: kappa l without rotation [m].
            turning: c_f |f| / kappa [s-1].
        """
        velocity = cube_root(at_least(energy, 0.0))
        return velocity * velocity * length * reciprocal(velocity + turning * length + _SMALLEST_VELOCITY)


class EnergyColumn(NamedTuple):
    """The column of a step.

    Args:
        buoyancy: with the forcing of the step, before its mixing [m s-2].
        grid: of the column.
        dt: length of the step [s].
        rotation: |f| [s-1].
        von_karman: kappa [1].
    """

    buoyancy: CenterArray
    grid: Grid
    dt: ScalarLike
    rotation: Scalar
    von_karman: Scalar


class Energy(NamedTuple):
    """What enters at the surface.

    Args:
        wind, convection: [m3 s-3].
        efficiency: n*, fraction of the energy of convection that lifts water [1].
    """

    wind: Depths
    convection: Scalar
    efficiency: Scalar


class Mixed(NamedTuple):
    """What a march leaves.

    Args:
        coefficient: K [m2 s-1].
        fraction: of the energy that each face needs which there was, from 0 to 1.
        reached: depth where the energy ends [m].
    """

    coefficient: Faces
    fraction: Faces
    reached: Depths


def march(water: EnergyColumn, energy: Energy, profile: Faces, velocity: EnergyVelocity | None) -> Mixed:
    """Go down from the surface, for several depths of the layer at once.

    Args:
        water: that mixes.
        energy: that is there.
        profile: K [m2 s-1], or kappa l [m] where there is a formula for w.
        velocity: formula for w.
    """
    grid, dt = water.grid, water.dt
    level = jnp.zeros_like(water.buoyancy)[:, None]
    cell, depth = grid.cell_thickness[:, None] + level, level - grid.z_center[:, None]
    inverse_cell = reciprocal(cell)
    per_spacing = (dt * reciprocal(grid.center_spacing))[:, None]
    step, fall = water.buoyancy[1:, None] - water.buoyancy[:-1, None], depth[:-1] - depth[1:]
    same = jnp.zeros_like(profile[0] + energy.wind + cell[0])
    left = same + energy.wind + energy.efficiency * energy.convection
    start = (inverse_cell[-1] + same, same, same, left, 1.0 + same, cell[-1] + same)
    if velocity is not None:
        start = *start, same + energy.wind + velocity.convection * energy.convection
        turning = velocity.rotation * water.rotation * reciprocal(water.von_karman)
    inverse_dt = 1.0 / dt

    def down(above, face):
        inverse, lighter, higher, left, goes_on, reached, *available = above
        profile, per_spacing, cell, inverse_cell, step, fall = face
        lighter, higher = lighter + step, higher + fall
        both, lever = inverse + inverse_cell, lighter * higher * inverse_dt
        if velocity is None:
            wanted = profile * per_spacing
        else:
            most = velocity.convection * at_least(-lever, 0.0) * reciprocal(both)
            wanted = velocity.diffusivity(available[0] + most, profile, turning) * per_spacing
        exchanged = wanted * reciprocal(1.0 + wanted * both)
        needed = exchanged * lever
        taken = at_least(needed, 0.0)
        part = at_most(left * reciprocal(at_least(taken, _SMALLEST_POWER)), 1.0)
        ends = left < taken
        # Unstable water needs no energy, but it is reached only as far as the faces above mix.
        part = goes_on * jnp.where(needed < 0.0, 1.0, part)
        # Where the energy ends nothing is left, not even rounding: the next face may need as little.
        taken, released = jnp.where(ends, left, part * taken), part * (taken - needed)
        exchanged = part * exchanged
        renewed = exchanged * inverse_cell
        below = (
            inverse_cell * (1.0 - renewed),
            renewed * lighter,
            renewed * higher,
            left - taken + energy.efficiency * released,
            part,
            reached + part * cell,
        )
        if velocity is not None:
            kept = 1.0 - taken * reciprocal(at_least(left, _SMALLEST_POWER))
            below = *below, available[0] * kept + velocity.convection * released
        return below, (exchanged * reciprocal(1.0 - exchanged * both), part)

    faces = (profile, per_spacing, cell[:-1], inverse_cell[:-1], step, fall)
    last, (conductance, fraction) = lax.scan(down, start, faces, reverse=True)
    return Mixed(conductance / per_spacing, fraction, last[5])
