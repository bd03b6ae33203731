"""The energy that mixing takes, face by face from the surface down, and the coefficients that it allows.

Two bodies of thicknesses h_a, h_b, mean buoyancies b_a, b_b and depths d_a, d_b that exchange the volume x
take the energy x (b_a - b_b) (d_b - d_a) per area. In a backward Euler step of length dt with the conductance
k = K dt / dz between them, x = k / (1 + k (1 / h_a + 1 / h_b)). The upper body is all water above the face as
it is when nothing below the face mixes: what the elimination from the surface leaves. The sum of these
energies over the faces is the change of the potential energy in the step, to round-off.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from ..._types import CenterArray, InnerFaceArray, Scalar, ScalarLike
from ...grid import Grid
from ...numerics.limiters import at_least, at_most, reciprocal

_SMALLEST_POWER = 1e-18


class Costs(NamedTuple):
    """Of mixing at each face, if all faces above mix.

    Args:
        power: energy over the step [m3 s-3]; negative where the water is unstable.
        conductance: K dt / dz [m].
        inverse_thickness: 1 / h_a + 1 / h_b [m-1].
    """

    power: InnerFaceArray
    conductance: InnerFaceArray
    inverse_thickness: InnerFaceArray


def costs_of(coefficient: InnerFaceArray, buoyancy: CenterArray, grid: Grid, dt: ScalarLike) -> Costs:
    """What a profile of coefficients costs in a step.

    Args:
        coefficient: K [m2 s-1].
        buoyancy: with the forcing of the step, before its mixing [m s-2].
        grid: of both.
        dt: length of the step [s].
    """
    conductance = coefficient * (dt * reciprocal(grid.center_spacing))
    cell = grid.cell_thickness + jnp.zeros_like(buoyancy)
    content, moment = cell * buoyancy, -cell * grid.z_center
    uppermost = (cell[-1], content[-1], moment[-1])

    def down(above, face):
        conductance, *below = face
        share = conductance * reciprocal(above[0] + conductance)
        return tuple(b + share * a for a, b in zip(above, below, strict=True)), above

    faces = (conductance, cell[:-1], content[:-1], moment[:-1])
    _, (thickness, content, moment) = lax.scan(down, uppermost, faces, reverse=True)
    inverse = reciprocal(thickness)
    rise = inverse * moment + grid.z_center[:-1]
    both = inverse + reciprocal(cell[:-1])
    exchanged = conductance * reciprocal(1.0 + conductance * both)
    power = exchanged * (inverse * content - buoyancy[:-1]) * -rise / dt
    return Costs(power, conductance, both)


def share_allowed(costs: Costs, power: Scalar, convective_efficiency: Scalar) -> InnerFaceArray:
    """Share of the energy of each face that is there when all faces above have theirs, from 0 to 1.

    Args:
        costs: of the faces.
        power: that enters at the surface [m3 s-3].
        convective_efficiency: share of what unstable faces give that is there for those below [1].
    """
    taken = at_least(costs.power, 0.0)
    spent = taken + convective_efficiency * (costs.power - taken)
    # Over the faces above each: the running sum less the face itself.
    left = power - (jnp.cumsum(spent[::-1], axis=0)[::-1] - spent)
    share = at_most(at_least(left * reciprocal(at_least(taken, _SMALLEST_POWER)), 0.0), 1.0)
    # Unstable water needs no energy, but it is not reached where energy has run out above.
    return jnp.where((costs.power < 0.0) & (left >= 0.0), 1.0, share)


def limited(costs: Costs, share: InnerFaceArray) -> InnerFaceArray:
    """Conductances with which every face exchanges this share of its volume [m]."""
    return (
        share
        * costs.conductance
        * reciprocal(1.0 + (1.0 - share) * costs.conductance * costs.inverse_thickness)
    )
