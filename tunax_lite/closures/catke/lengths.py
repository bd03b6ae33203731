"""The lengths of CATKE, on faces or at cell centers.

    shear:        l_psi = sigma_psi(Ri) l*,   l* = min(C^s d, C^b D, w / N),   w = sqrt(max(e, e_min))
    convection:   l_psi = C^c_psi max(0, 1 - C^sp d w S² / J) w³ / J     where N² < 0
    entrainment:  l_psi = C^e_psi J / (w N²)                             where N² > 0, and N² < 0 just above

with d the depth, D the height above the bottom and J the mean destabilising surface buoyancy flux. The
larger of the two holds, up to the depth of the water. sigma_psi is C^un_psi where Ri < 0, and goes from
C^lo_psi to C^hi_psi between the Richardson numbers C^Ri0 and C^Ri0 + C^Rid.

Source: Wagner et al. (2025), J. Adv. Model. Earth Syst. 17, e2024MS004522, sections 2.2 and 2.3.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool

from ..._types import ColumnArray, InnerFaceArray, Scalar
from ...grid import Grid
from ...numerics.limiters import at_least, at_most, reciprocal, safe_sqrt
from ...numerics.stencils import mean_of_neighbours
from ...physics.stratification import richardson_number


class Factors(NamedTuple):
    """The five factors of the lengths of one quantity [1]: C^hi, C^lo, C^un, C^c, C^e."""

    high: Scalar
    low: Scalar
    unstable: Scalar
    convective: Scalar
    entraining: Scalar


class Widths(NamedTuple):
    """What all lengths share [1]: C^s, C^b, C^sp, C^Ri0, C^Rid; and J_min [m2 s-3]."""

    surface: Scalar
    bottom: Scalar
    sheared_plume: Scalar
    richardson_onset: Scalar
    richardson_width: Scalar
    smallest_flux: Scalar


class Flow(NamedTuple):
    """The flow on the levels where lengths are wanted.

    Args:
        buoyancy_frequency: N where the water is stable, 0 elsewhere [s-1].
        buoyancy_frequency_squared, shear_squared: N² and S² [s-2].
        unstable_above: whether N² < 0 on the next level above.
        negative: whether Ri < 0.
        rise: from 0 to 1 as Ri passes from C^Ri0 to C^Ri0 + C^Rid [1].
        depth: d [m].
        inverse_wall_length: 1 / min(C^s d, C^b D) [m-1].
    """

    buoyancy_frequency: ColumnArray
    buoyancy_frequency_squared: ColumnArray
    shear_squared: ColumnArray
    unstable_above: Bool[Array, "level *#batch"]
    negative: Bool[Array, "level *#batch"]
    rise: ColumnArray
    depth: ColumnArray
    inverse_wall_length: ColumnArray

    def sigma(self, factors: Factors) -> ColumnArray:
        """The stability function [1]."""
        stable = factors.low + (factors.high - factors.low) * self.rise
        return jnp.where(self.negative, factors.unstable, stable)


def to_centers(values: InnerFaceArray) -> ColumnArray:
    """Mean of the two faces of each cell; the cells at the ends have one that counts."""
    return mean_of_neighbours(jnp.concatenate([values[:1], values, values[-1:]]))


def flow_on_faces_and_centers(
    n_squared: InnerFaceArray, s_squared: InnerFaceArray, grid: Grid, widths: Widths
) -> tuple[Flow, Flow]:
    """The flow on inner faces and at centers, where N², S² and Ri are means of those of the faces."""
    ri = richardson_number(n_squared, s_squared)
    z, bottom = grid.z_face[1:-1], grid.z_face[0]
    faces = _flow(n_squared, s_squared, ri, z, bottom, widths)
    n_squared, s_squared, ri = (to_centers(values) for values in (n_squared, s_squared, ri))
    return faces, _flow(n_squared, s_squared, ri, grid.z_center, bottom, widths)


def _flow(n_squared, s_squared, ri, z, bottom, widths: Widths) -> Flow:
    unstable = n_squared < 0.0
    rise = (ri - widths.richardson_onset) * reciprocal(widths.richardson_width)
    return Flow(
        buoyancy_frequency=safe_sqrt(n_squared),
        buoyancy_frequency_squared=n_squared,
        shear_squared=s_squared,
        # Nothing is unstable above the uppermost level.
        unstable_above=jnp.concatenate([unstable[1:], jnp.zeros_like(unstable[:1])]),
        negative=ri < 0.0,
        rise=at_most(at_least(rise, 0.0), 1.0),
        depth=-z,
        inverse_wall_length=reciprocal(at_most(-widths.surface * z, widths.bottom * (z - bottom))),
    )


class Lengths(NamedTuple):
    """l* and the two convective lengths without their factors [m]; those are 0 where they do not hold."""

    stable: ColumnArray
    plume: ColumnArray
    entraining: ColumnArray

    @classmethod
    def of(
        cls, flow: Flow, speed: ColumnArray, speed_cubed: ColumnArray, flux: Scalar, widths: Widths
    ) -> "Lengths":
        """Lengths for w [m s-1] and w³ in a flow, with the mean surface buoyancy flux J [m2 s-3]."""
        n_squared = at_least(flow.buoyancy_frequency_squared, 0.0)
        convects, flux = flux > widths.smallest_flux, at_least(flux, 0.0)
        inverse_flux = reciprocal(flux + widths.smallest_flux)
        left = 1.0 - widths.sheared_plume * flow.depth * speed * flow.shear_squared * inverse_flux
        plume = at_least(left, 0.0) * speed_cubed * inverse_flux
        entraining = flux * reciprocal(speed * n_squared + widths.smallest_flux)
        is_plume = convects & (flow.buoyancy_frequency_squared < 0.0)
        is_base = convects & (flow.buoyancy_frequency_squared > 0.0) & flow.unstable_above
        rate = at_least(flow.buoyancy_frequency, speed * flow.inverse_wall_length)
        return cls(
            speed * reciprocal(rate), jnp.where(is_plume, plume, 0.0), jnp.where(is_base, entraining, 0.0)
        )

    def mixing(self, flow: Flow, factors: Factors, depth: Scalar) -> ColumnArray:
        """l_psi [m] of momentum, tracers or e; at most the depth of the water [m]."""
        return at_most(at_least(flow.sigma(factors) * self.stable, self.convective(factors)), depth)

    def dissipation(self, flow: Flow, factors: Factors, depth: Scalar) -> ColumnArray:
        """l_D [m], of which sigma_D divides the part of shear."""
        stable = self.stable * reciprocal(flow.sigma(factors))
        return at_most(at_least(stable, self.convective(factors)), depth)

    def convective(self, factors: Factors) -> ColumnArray:
        """The convective length [m], 0 where there is none."""
        return factors.convective * self.plume + factors.entraining * self.entraining
