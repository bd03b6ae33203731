"""Energetics-based planetary boundary layer: a profile of K, limited by an energy budget.

    integral of K N² over the layer = m* u*³ + n* (energy released by convection)

In the column after the forcing of the next step, a downward march assigns K to each face until the energy of
the step is used up. The face where the energy ends gets the remainder, those below nothing. K and m* depend
on the depth H of the layer, which is the depth where the energy ends. m* is the fraction of the work of the
wind, u*³, that is available for mixing over a layer of given depth.

Two water bodies of thickness h_a, h_b, mean buoyancy b_a, b_b and depth d_a, d_b that exchange the volume x
require the energy x (b_a - b_b) (d_b - d_a) per unit area. In a backward Euler step of length dt with the
conductance k = K dt / dz between them, x = k / (1 + k (1 / h_a + 1 / h_b)). The upper body is all water above
the face, as if nothing below the face mixed, and is updated from cell to cell:

    b_a <- b + (x / h) (b_a - b),    d_a <- d + (x / h) (d_a - d),    1 / h_a <- (1 - x / h) / h

The sum of these energies over the faces is the change of potential energy in the step, to round-off. Wind and
convection supply energy, mixing uses it, and unstable faces release energy, of which the fraction n* is
available to the faces below. The face where the energy ends exchanges the volume that the remainder allows.

The depth of the layer is the root of the difference between the depth that the energy reaches and the assumed
depth. Each round tries several depths in one march and continues between the two where the sign changes; then
bracketed secant steps find the exact root. The derivative is that of the root, by the implicit function
theorem: the rounds are not differentiated, because that of an approximate root would be wrong.

Source: Reichl and Hallberg (2018), Ocean Model. 132, 112-129; Adcroft et al. (2019), J. Adv. Model. Earth
Syst. 11, 3167-3211, for OM4.
"""

import abc
import math
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from .._types import CenterArray, FaceArray, FieldValue, InnerFaceArray, Scalar, ScalarLike, parameter
from ..column.grid import Grid
from ..declarations import named, setting
from ..numerics.elementary import at_least, at_most, reciprocal, safe_sqrt, with_end_faces
from .base import AbstractPlainClosure, CloState, ClosureInputs
from .bulk_layer import buoyancy_after, face_depth
from .kpp import LargeShear, gradient_richardson_number
from .langmuir import LangmuirWork

Depths = Float[Array, "depth *#batch"]
"""One number per trial depth of the layer."""
Faces = Float[Array, "inner depth *#batch"]

Numbers = Float[Array, "..."]  # one number per column, per level, or per trial depth
# Below this energy, mixing fades out within a cell [m3 s-3]: slower turbulence needs less energy, so that a
# tiny remainder could reach the bottom, and the depth would jump where it vanishes.
_SMALLEST_ENERGY = 1e-12
_SMALLEST_CUBE = 1e-11  # energy [m3 s-3] below which its cube root, w, becomes linear
_SMALLEST_TURBULENT_VELOCITY = 1e-12  # [m s-1]


def cube_root(cube: Numbers) -> Numbers:
    """x^(1/3) of an energy x >= 0 [m3 s-3]; linear in x near 0, with a finite derivative."""
    return cube * jnp.exp((-2.0 / 3.0) * jnp.log(cube + _SMALLEST_CUBE))


@named("om4")
class EnergyVelocity(eqx.Module):
    """Velocity from the energy of wind (E) and convection (R) that remains: w = (E + c R)^(1/3).

    At a face whose mixing releases energy, all energy that it could release is included.

    Args:
        convection: c [1].
        rotation: c_f; the length is l / (1 + c_f |f| l / w) [1].

    Source: Adcroft et al. (2019), J. Adv. Model. Earth Syst. 11, 3167-3211; numbers of MOM6.
    """

    convection: Scalar = parameter(1.0, valid_range=(0.0, 10.0))
    rotation: Scalar = parameter(1.0, valid_range=(0.0, 10.0))

    def diffusivity(self, energy: Numbers, length: Numbers, turning: Numbers) -> Numbers:
        """K [m2 s-1] from E + c R [m3 s-3], kappa l without rotation [m] and c_f |f| / kappa [s-1]."""
        velocity = cube_root(at_least(energy, 0.0))
        product = velocity * velocity * length
        return product * reciprocal(velocity + turning * length + _SMALLEST_TURBULENT_VELOCITY)


class Water(NamedTuple):
    """The column of a step."""

    buoyancy: CenterArray  # after the forcing of the step, before mixing [m s-2]
    grid: Grid
    dt: ScalarLike
    convection: Scalar  # energy released at the surface [m3 s-3]
    efficiency: Scalar  # n*, fraction of convective energy available for mixing [1]
    velocity: EnergyVelocity | None  # formula for w
    turning: Scalar  # c_f |f| / kappa [s-1]


def march(water: Water, wind: Depths, profile: Faces) -> tuple[Faces, Faces, Depths]:
    """March down from the surface, for several depths of the layer at once.

    `wind` is the energy from wind [m3 s-3]; `profile` is K [m2 s-1], or kappa l [m] with a formula for w.
    Returns K, the available fraction of the energy that each face requires, and the depth where it ends [m].

    The march carries 1 / h_a, b_a - b, d - d_a, the remaining energy, the fraction at the face above, the
    depth reached, and with a formula for w the energy E + c R.
    """
    grid, dt, velocity = water.grid, water.dt, water.velocity
    zeros_in_cells = jnp.zeros_like(water.buoyancy)[:, None]
    cell, depth = grid.cell_thickness[:, None] + zeros_in_cells, zeros_in_cells - grid.z_center[:, None]
    inverse_cell = reciprocal(cell)
    per_spacing = (dt * reciprocal(grid.center_spacing))[:, None]
    buoyancy_step, depth_step = water.buoyancy[1:, None] - water.buoyancy[:-1, None], depth[:-1] - depth[1:]
    zeros = jnp.zeros_like(profile[0] + wind + cell[0])
    remaining = zeros + wind + water.efficiency * water.convection
    start = (inverse_cell[-1] + zeros, zeros, zeros, remaining, 1.0 + zeros, cell[-1] + zeros)
    if velocity is not None:
        start = *start, zeros + wind + velocity.convection * water.convection
    inverse_dt = 1.0 / dt

    def down(above, face):
        inverse_above, excess, height, remaining, fraction_above, reached, *available = above
        profile, per_spacing, cell, inverse_cell, buoyancy_step, depth_step = face
        excess, height = excess + buoyancy_step, height + depth_step
        inverse_sum, energy_rate = inverse_above + inverse_cell, excess * height * inverse_dt
        if velocity is None:
            conductance = profile * per_spacing
        else:
            release = velocity.convection * at_least(-energy_rate, 0.0) * reciprocal(inverse_sum)
            conductance = velocity.diffusivity(available[0] + release, profile, water.turning) * per_spacing
        volume = conductance * reciprocal(1.0 + conductance * inverse_sum)
        required = volume * energy_rate
        spent = at_least(required, 0.0)
        fraction_here = at_most(remaining * reciprocal(at_least(spent, _SMALLEST_ENERGY)), 1.0)
        ends = remaining < spent
        # Unstable faces need no energy, but they mix only as far as the faces above do.
        fraction_here = fraction_above * jnp.where(required < 0.0, 1.0, fraction_here)
        spent, released = fraction_here * spent, fraction_here * (spent - required)
        volume = fraction_here * volume
        share = volume * inverse_cell
        below = (
            inverse_cell * (1.0 - share),
            share * excess,
            share * height,
            # Where the energy ends, set it to exactly zero: the next face may need as little as rounding.
            jnp.where(ends, 0.0, remaining - spent) + water.efficiency * released,
            fraction_here,
            reached + fraction_here * cell,
        )
        if velocity is not None:
            unspent = jnp.where(ends, 0.0, 1.0 - spent * reciprocal(at_least(remaining, _SMALLEST_ENERGY)))
            below = *below, available[0] * unspent + velocity.convection * released
        return below, (volume * reciprocal(1.0 - volume * inverse_sum), fraction_here)

    faces = (profile, per_spacing, cell[:-1], inverse_cell[:-1], buoyancy_step, depth_step)
    last, (conductance, fraction) = lax.scan(down, start, faces, reverse=True)
    return conductance / per_spacing, fraction, last[5]  # the depth reached


_N_TRIED = 4
_FINAL_WIDTH = 0.1  # of the bracket after the rounds [mean cell thickness]
_MOST_STEPS = 40  # usually four or five; some thirty where the remaining energy fades out


def self_consistent_depth(reached: Callable[[Depths], Depths], grid: Grid, template: Scalar) -> Scalar:
    """Depth H with reached(H) = H [m]; of several, the shallowest that the first round brackets.

    `reached` returns depths between the uppermost cell and the bottom; `template` has the batch shape.
    """
    n = grid.n_cells
    n_rounds = math.ceil(math.log(n / _FINAL_WIDTH) / math.log(_N_TRIED + 1))
    start = jnp.zeros_like(template)
    tolerance = 8.0 * jnp.finfo(start.dtype).eps * grid.depth

    def search(_, start: Scalar) -> Scalar:
        below_surface = grid.z_face[-1] - grid.z_face[::-1]
        faces = [max(round(n * k / (_N_TRIED - 1)), 1) for k in range(_N_TRIED)]
        tried = jnp.stack([start + below_surface[face] for face in faces])

        def narrow(_, bracket_and_tried):
            bracket, tried = bracket_and_tried
            bracket = bracket.narrowed(tried, reached(tried) - tried)
            return bracket, bracket.inner()

        def goes_on(carry):
            bracket, (_, excess), _, n_steps = carry
            is_open = (jnp.abs(excess) > tolerance) & (bracket.upper - bracket.lower > tolerance)
            return jnp.any(is_open) & (n_steps < _MOST_STEPS)

        def approach(carry):
            bracket, estimate, last_move, n_steps = carry
            depth = jnp.where(jnp.abs(estimate[1]) > tolerance, bracket.crossing(), estimate[0])
            estimate = depth, excess(depth)
            return *bracket.with_estimate(estimate, last_move), n_steps + 1

        bracket = _Bracket(tried[0], start, tried[-1], start)
        bracket, _ = lax.fori_loop(0, n_rounds, narrow, (bracket, tried))
        no_estimate = bracket.upper, jnp.full_like(start, jnp.inf)
        return lax.while_loop(goes_on, approach, (bracket, no_estimate, start, 0))[1][0]

    def excess(depth: Scalar) -> Scalar:
        return reached(depth[None])[0] - depth

    return lax.custom_root(excess, start, search, lambda slope, y: y / slope(jnp.ones_like(y)))


class _Bracket(NamedTuple):
    """Shallower and deeper limit of H, and reached(H) - H at both: at least zero, and at most zero."""

    lower: Scalar
    excess_at_lower: Scalar
    upper: Scalar
    excess_at_upper: Scalar

    def narrowed(self, tried: Depths, excess: Depths) -> "_Bracket":
        """Narrow to the first neighbours between which the excess becomes negative, or to the last two."""
        depth = jnp.concatenate([self.lower[None], tried, self.upper[None]])
        excess = jnp.concatenate([self.excess_at_lower[None], excess, self.excess_at_upper[None]])
        upper = jnp.min(jnp.where(excess < 0.0, depth, depth[-1]), axis=0)
        lower = jnp.max(jnp.where(depth < upper, depth, depth[0]), axis=0)
        excess_at_lower = jnp.max(jnp.where(depth == lower, excess, 0.0), axis=0)
        excess_at_upper = jnp.min(jnp.where(depth == upper, excess, 0.0), axis=0)
        return _Bracket(lower, excess_at_lower, upper, excess_at_upper)

    def inner(self) -> Depths:
        """Depths that divide the bracket evenly."""
        step = (self.upper - self.lower) * (1.0 / (_N_TRIED + 1))
        return jnp.stack([self.lower + k * step for k in range(1, _N_TRIED + 1)])

    def crossing(self) -> Scalar:
        """Zero of the straight line through both excesses."""
        fall = self.excess_at_lower - self.excess_at_upper
        fraction = -self.excess_at_upper * reciprocal(jnp.where(fall > 0.0, fall, 1.0))
        return self.upper - fraction * (self.upper - self.lower)

    def with_estimate(self, estimate: tuple[Scalar, Scalar], last_move: Scalar):
        """Replace one limit by a depth with its excess; return bracket, estimate and move.

        The move is 1 if the lower limit is replaced, -1 if the upper one is. If it equals the last move, the
        excess at the other limit is reduced, so that both approach the root.

        Source: Anderson and Bjorck (1973), BIT 13, 253-264.
        """
        depth, excess = estimate
        positive = excess > 0.0
        remaining = 1.0 - excess / jnp.where(positive, self.excess_at_lower, self.excess_at_upper)
        reduced = jnp.where(remaining > 0.0, remaining, 0.5)
        excess_at_lower = jnp.where(last_move < 0.0, reduced, 1.0) * self.excess_at_lower
        excess_at_upper = jnp.where(last_move > 0.0, reduced, 1.0) * self.excess_at_upper
        lower = jnp.where(positive, depth, self.lower), jnp.where(positive, excess, excess_at_lower)
        upper = jnp.where(positive, self.upper, depth), jnp.where(positive, excess_at_upper, excess)
        towards_lower = jnp.ones_like(depth)
        return _Bracket(*lower, *upper), estimate, jnp.where(positive, towards_lower, -towards_lower)


_SMALLEST_VELOCITY = 1e-6  # u* as a divisor [m s-1]
_SMALLEST_RATIO = 1e-30


class SurfaceForcing(NamedTuple):
    """Surface forcing on which m* depends."""

    friction_velocity: Scalar  # u* [m s-1]
    buoyancy_flux: Scalar  # B including all shortwave radiation [m2 s-3], positive if stabilising
    rotation: Scalar  # |f|, with the least rotation of the closure [s-1]

    def rotation_per_depth(self) -> Scalar:
        """|f| / u*, finite without wind [m-1]."""
        return self.rotation * reciprocal(at_least(self.friction_velocity, _SMALLEST_VELOCITY))


class AbstractWindEnergy(eqx.Module):
    """A formula for m*."""

    @abc.abstractmethod
    def efficiency(self, depth: Numbers, forcing: SurfaceForcing) -> Numbers:
        """m* for layers of given depths H [m]."""


@named("om4")
class OM4WindEnergy(AbstractWindEnergy):
    """OM4: m* = max(c_s sqrt(B / (u*² |f|)), min(m, c_e ln(u* / (|f| H)))), the first for stabilising B.

    Args:
        heating_scale: c_s [1].
        rotation_scale: c_e [1].
        largest: m [1]; 1.25 corresponds to a layer as deep as the Obukhov length.
        largest_heated: maximum of the first term [1].
        convective_reduction: c; m* decreases by the factor 1 - c H|B| / (H|B| + 2 m* u*³) for destabilising B
            [1].

    Source: Adcroft et al. (2019); numbers of the configuration OM4 of MOM6.
    """

    heating_scale: Scalar = parameter(0.29, valid_range=(0.0, 10.0))
    rotation_scale: Scalar = parameter(0.152, valid_range=(0.0, 10.0))
    largest: Scalar = parameter(1.25, valid_range=(0.0, 10.0))
    largest_heated: Scalar = parameter(10.0, valid_range=(0.0, 100.0))
    convective_reduction: Scalar = parameter(0.667, valid_range=(0.0, 1.0))

    def efficiency(self, depth: Numbers, forcing: SurfaceForcing) -> Numbers:
        velocity, flux = forcing.friction_velocity, forcing.buoyancy_flux
        turning = at_least(forcing.rotation_per_depth() * depth, _SMALLEST_RATIO)
        rotating = at_most(at_least(-self.rotation_scale * jnp.log(turning), 0.0), self.largest)
        divisor = at_least(velocity * velocity * forcing.rotation, _SMALLEST_RATIO)
        heated = self.heating_scale * safe_sqrt(at_least(flux, 0.0) * reciprocal(divisor))
        heated = at_most(heated, self.largest_heated)
        efficiency = jnp.where(heated > rotating, heated, rotating)
        convection = at_least(-flux, 0.0) * depth
        wind = 2.0 * efficiency * velocity * velocity * velocity + _SMALLEST_RATIO
        return efficiency * (1.0 - self.convective_reduction * convection * reciprocal(convection + wind))


@named("reichl_hallberg")
class ReichlHallbergWindEnergy(AbstractWindEnergy):
    """Reichl and Hallberg: m* = c_1 X / (1 + X) + c_4 (B² H / (u*⁵ |f|))^c_5, X = c_2 exp(-c_3 |f| H / u*).

    The second term applies to stabilising B.

    Args:
        rotation_scale, rotation_ratio, rotation_decay: c_1, c_2, c_3 [1].
        heating_scale, heating_exponent: c_4, c_5 [1].
        largest: largest m* [1]; 1.25 corresponds to a layer as deep as the Obukhov length.

    Source: Reichl and Hallberg (2018); the limit from Adcroft et al. (2019).
    """

    rotation_scale: Scalar = parameter(0.275, valid_range=(0.0, 10.0))
    rotation_ratio: Scalar = parameter(8.0, valid_range=(0.0, 100.0))
    rotation_decay: Scalar = parameter(5.0, valid_range=(0.0, 20.0))
    heating_scale: Scalar = parameter(0.2, valid_range=(0.0, 10.0))
    heating_exponent: Scalar = parameter(0.4, valid_range=(0.1, 2.0))
    largest: Scalar = parameter(1.25, valid_range=(0.0, 10.0))

    def efficiency(self, depth: Numbers, forcing: SurfaceForcing) -> Numbers:
        velocity, heating = forcing.friction_velocity, at_least(forcing.buoyancy_flux, 0.0)
        turning = forcing.rotation_per_depth() * depth
        rotating = self.rotation_ratio * jnp.exp(-self.rotation_decay * turning)
        rotating = self.rotation_scale * rotating * reciprocal(1.0 + rotating)
        squared = velocity * velocity
        divisor = at_least(squared * squared * velocity * forcing.rotation, _SMALLEST_RATIO)
        ratio = at_least(heating * heating * reciprocal(divisor), _SMALLEST_RATIO)
        # Separate logarithms: that of the grid's depths does not change between steps.
        heated = jnp.exp(self.heating_exponent * (jnp.log(ratio) + jnp.log(depth)))
        return at_most(rotating + self.heating_scale * heated, self.largest)


_UNSTABLE = 1e-7  # -N² at which convection below the layer is complete [s-2]
_WITHOUT_FORMULA = {"energy_velocity": (None,)}


class EPBLState(CloState):
    """Eddy coefficients [m2 s-1] and the depth reached by the energy [m]."""

    eddy_viscosity: FaceArray
    eddy_diffusivity: FaceArray
    boundary_layer_depth: Scalar


@named("epbl", epbl_om4="as_in_om4", epbl_recommended="recommended")
class EPBL(AbstractPlainClosure[EPBLState]):
    """A boundary layer whose diffusivity is limited by the energy of wind and convection.

    Args:
        convective_efficiency: n*, fraction of the energy released by convection that is available for mixing
            [1].
        von_karman: kappa in K = kappa w l [1].
        wind_velocity: c_u; w = [c_u u* + c_w (max(-B, 0) z)^(1/3)] max(1 - z / H, 1 - a) [1].
        convective_velocity: c_w [1].
        velocity_decay: a, fractional decrease of w at the base [1].
        transition: t, l / z at the base [1].
        background_coefficient: background of both viscosity and diffusivity, added everywhere [m2 s-1].
        convective_coefficient: coefficient in unstable water below the layer [m2 s-1].
        least_rotation: f_0; rotation acts as sqrt(f² + f_0²) [s-1].
        wind_energy: formula for m*.
        energy_velocity: formula for w from the energy; `None` for that with c_u, c_w and a.
        interior_shear: mixing by shear outside the energy budget; the larger coefficient acts, as in OM4.
        langmuir: factor of m* u*³ by waves; `None` for 1.
        exponent: e in l = z [t + (1 - t) (1 - z / H)^e] above the base.

    Source: Reichl and Hallberg (2018), Ocean Model. 132, 112-129; constants and order of the march of MOM6.
    """

    convective_efficiency: Scalar = parameter(0.066, valid_range=(0.0, 1.0))
    von_karman: Scalar = parameter(0.41, valid_range=(0.1, 1.0))
    wind_velocity: Scalar = parameter(1.2, valid_range=(0.0, 10.0), only_if=_WITHOUT_FORMULA)
    convective_velocity: Scalar = parameter(1.0, valid_range=(0.0, 10.0), only_if=_WITHOUT_FORMULA)
    velocity_decay: Scalar = parameter(0.95, valid_range=(0.0, 1.0), only_if=_WITHOUT_FORMULA)
    transition: Scalar = parameter(0.1, valid_range=(0.0, 1.0))
    background_coefficient: Scalar = parameter(1e-5, unit="m2 s-1", valid_range=(0.0, 1.0))
    convective_coefficient: Scalar = parameter(0.1, unit="m2 s-1", valid_range=(0.0, 1e3))
    least_rotation: Scalar = parameter(0.0, unit="s-1", valid_range=(0.0, 1e-3))
    wind_energy: AbstractWindEnergy = eqx.field(default_factory=ReichlHallbergWindEnergy)
    energy_velocity: EnergyVelocity | None = None
    interior_shear: LargeShear | None = None
    langmuir: LangmuirWork | None = None
    exponent: int = setting(2, choices=(1, 2, 3, 4))

    @classmethod
    def as_in_om4(cls, **others: FieldValue) -> "EPBL":
        """Constants and formulae of the OM4 configuration of MOM6; other arguments replace them."""
        settings = {
            "convective_efficiency": 0.06,
            "transition": 0.01,
            "exponent": 1,
            # The fraction 0.001 of the squared rotation rate of the Earth acts everywhere.
            "least_rotation": 0.001**0.5 * 2.0 * 7.2921e-5,
            "wind_energy": OM4WindEnergy(),
            "energy_velocity": EnergyVelocity(),
        }
        return cls(**(settings | others))

    def init(self, inputs: ClosureInputs) -> EPBLState:
        at_rest = jnp.zeros_like(inputs.shear_squared) + self.background_coefficient
        faces = with_end_faces(at_rest)
        depth = jnp.zeros_like(at_rest[0]) + inputs.grid.cell_thickness[-1]
        return EPBLState(eddy_viscosity=faces, eddy_diffusivity=faces, boundary_layer_depth=depth)

    def step(self, clo_state: EPBLState, inputs: ClosureInputs, dt: ScalarLike) -> EPBLState:
        grid, flux, light = inputs.grid, inputs.surface_buoyancy_flux, inputs.radiative_buoyancy_flux
        total_flux = flux if light is None else flux + light[-1]
        rotation = safe_sqrt(inputs.coriolis_parameter**2 + self.least_rotation**2)
        forcing = SurfaceForcing(inputs.surface_friction_velocity, total_flux, rotation)
        # Energy that the uppermost cell needs to mix the surface flux; negative where it releases energy.
        flux_energy, velocity = 0.5 * grid.cell_thickness[-1] * flux, forcing.friction_velocity
        turning, formula = jnp.zeros_like(rotation), self.energy_velocity
        if formula is not None:
            turning = formula.rotation * rotation * reciprocal(self.von_karman)
        convection = at_least(-flux_energy, 0.0), self.convective_efficiency
        water = Water(buoyancy_after(inputs, dt), grid, dt, *convection, formula, turning)
        scale = self._scale(inputs, face_depth(grid))

        work = velocity * velocity * velocity
        if self.langmuir is not None:
            work = work * self.langmuir.factor(clo_state.boundary_layer_depth, inputs)

        def march_for(depth: Depths) -> tuple[Faces, Faces, Depths]:
            wind = self.wind_energy.efficiency(depth, forcing) * work
            wind = at_least(wind - at_least(flux_energy, 0.0), 0.0)
            return march(water, wind, self._profile(scale, depth, inputs))

        layer = self_consistent_depth(lambda depth: march_for(depth)[2], grid, water.buoyancy[0])
        coefficient, fraction, reached = march_for(layer[None])
        coefficient, fraction = coefficient[:, 0], fraction[:, 0]
        unstable = at_most(at_least(-inputs.buoyancy_frequency_squared, 0.0), _UNSTABLE) * (1.0 / _UNSTABLE)
        coefficient = coefficient + (1.0 - fraction) * unstable * self.convective_coefficient
        if self.interior_shear is not None:
            by_shear = self.interior_shear.coefficient_at(gradient_richardson_number(inputs))
            coefficient = jnp.maximum(coefficient, by_shear)
        faces = with_end_faces(coefficient + self.background_coefficient)
        return EPBLState(faces, faces, boundary_layer_depth=reached[0])

    def _scale(self, inputs: ClosureInputs, depth: InnerFaceArray) -> InnerFaceArray:
        """Factor of the shape: kappa w z [m2 s-1], or kappa z if the march determines w [m]."""
        if self.energy_velocity is not None:
            return self.von_karman * (depth + jnp.zeros_like(inputs.buoyancy_frequency_squared))
        buoyancy_loss = at_least(-inputs.buoyancy_flux_above[1:-1], 0.0)
        velocity = self.convective_velocity * cube_root(buoyancy_loss * depth)
        velocity = velocity + self.wind_velocity * inputs.surface_friction_velocity
        return self.von_karman * velocity * depth

    def _profile(self, scale: InnerFaceArray, layer: Depths, inputs: ClosureInputs) -> Faces:
        """K, or kappa l, for layers of given depths; l decreases to 0 at the bottom."""
        grid = inputs.grid
        relative_depth = at_most(face_depth(grid)[:, None] * reciprocal(layer), 1.0)
        shape = self.transition + (1.0 - self.transition) * (1.0 - relative_depth) ** self.exponent
        shape = at_most(shape, (1.0 - face_depth(grid) * reciprocal(grid.depth))[:, None])
        if self.energy_velocity is None:
            shape = shape * at_least(1.0 - relative_depth, 1.0 - self.velocity_decay)
        return scale[:, None] * shape
