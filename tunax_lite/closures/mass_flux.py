"""Non-local convection: plumes that sink from the surface, combined with any local closure.

Plumes with velocity w (downward), area a and properties phi_p = (T, S, u, v) obey, from cell to cell,

    alpha (w²)' = -2 (d w² + a_B B),      B = buoyancy in plumes minus around,  alpha = 1 + b beta_1 or 1,
    E = beta_1 a max(w', 0),              D = beta_2 a max(-w', 0) + delta_0 a w,
    (a w)' = E - D,                       a w phi_p' = E (phi - phi_p),
    w k_p' = E / a (k - k_p + (w² + (1 - c_u)² |u_p - u|²) / 2) - c_eps k_p^(3/2) / l,

where ' is the downward derivative; B is negative for dense plumes, alpha is 1 where they slow down, and l² is
the product of the distances to the surface and to the end of the plumes. M = a w transports heat, salt
and tracers, (1 - c_u) M momentum, with c_u the `momentum_coefficient`. The energy that the mean flow loses,
and the energy that sinks, go to k of the local closure if it is an `AbstractEnergyClosure`; `TKE` and `CATKE`
do not receive them.

Source: Perrot and Lemarie (2025), J. Adv. Model. Earth Syst., parts I and II; Rio et al. (2010),
Boundary-Layer Meteorol. 135, 469-483, for E and D.
"""

import dataclasses
from collections import namedtuple
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax

from .._types import FaceArray, Scalar, ScalarLike, parameter
from ..column.state import State
from ..column.terms import AbstractTerm
from ..column.terms.turbulence import PlumeEnergy, Plumes
from ..declarations import named
from ..numerics.elementary import (
    at_least,
    at_most,
    inner_faces,
    mean_of_neighbours,
    reciprocal,
    safe_sqrt,
    with_end_faces,
)
from .base import AbstractCloState, AbstractClosure, AbstractStepper, ClosureInputs
from .energy import TurbulenceState
from .two_equation import KEpsilon


class MassFluxState(AbstractCloState):
    """State of the local closure and of the plumes, on faces."""

    local: AbstractCloState
    plume_mass_flux: FaceArray  # M [m s-1], positive downward
    plume_momentum_flux: FaceArray  # for momentum [m s-1]
    entrained_fraction: FaceArray  # fraction of the plume water from the cell above [1]
    plume_velocity: FaceArray  # w [m s-1], positive downward
    plume_kinetic_energy: FaceArray  # k_p of turbulence in the plumes [m2 s-2]
    plume_depth: Scalar  # depth of the plumes [m]

    # `AbstractVar` may be a property, which type checkers do not accept.
    @property
    def eddy_viscosity(self) -> FaceArray:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.local.eddy_viscosity

    @property
    def eddy_diffusivity(self) -> FaceArray:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.local.eddy_diffusivity

    def terms(self, state: State) -> tuple[AbstractTerm, ...]:
        plumes = Plumes.of(state, self.plume_mass_flux, self.plume_momentum_flux, self.entrained_fraction)
        return *self.local.terms(state), plumes


_Cells = namedtuple(
    "_Cells", "temperature salinity u v thermal haline tke thickness gain_faster gain_slower dissipation"
)
"""Input per cell: thermal g alpha, haline g beta, dissipation 2 h c_eps / l; w² grows by gain times push."""
_Plumes = namedtuple(
    "_Plumes", "velocity_squared velocity area temperature salinity u v kinetic_energy depth drained"
)
"""The plumes at a face; `drained` is the largest rate so far at which they empty a cell [s-1]."""


@named("mass_flux")
class MassFluxConvection(AbstractClosure[MassFluxState]):
    """Plumes combined with a local closure.

    Args:
        entrainment, detrainment: beta_1 and beta_2 [1].
        buoyancy_coefficient: a_B [1].
        entrainment_drag: b [1].
        drag: d times the depth of the plumes [1].
        background_detrainment: delta_0 times the depth of the plumes [1].
        momentum_coefficient: fraction of the ambient velocity that pressure imparts to the plumes [1].
        surface_area: fraction of the surface area covered by plumes [1].
        dissipation_coefficient: c_eps of the turbulence in the plumes [1].
        least_velocity: velocity at which plumes end [m s-1]; it bounds the derivative of the square root.
        least_depth: least depth of the plumes as a divisor [m].
        local: closure of the turbulence around the plumes.
    """

    entrainment: Scalar = parameter(0.99, valid_range=(0.1, 1.0))
    detrainment: Scalar = parameter(1.99, valid_range=(1.0, 2.0))
    buoyancy_coefficient: Scalar = parameter(1.0, valid_range=(0.1, 2.0))
    entrainment_drag: Scalar = parameter(1.0, valid_range=(0.0, 3.0))
    drag: Scalar = parameter(0.75, valid_range=(0.0, 4.0))
    background_detrainment: Scalar = parameter(1.75, valid_range=(0.0, 5.0))
    momentum_coefficient: Scalar = parameter(0.5, valid_range=(0.0, 1.0))
    surface_area: Scalar = parameter(0.2, valid_range=(0.0, 0.5))
    dissipation_coefficient: Scalar = parameter(0.5**0.5, valid_range=(0.1, 3.0))
    least_velocity: Scalar = parameter(1e-5, unit="m s-1", valid_range=(1e-7, 1e-3))
    least_depth: Scalar = parameter(10.0, unit="m", valid_range=(1.0, 100.0))
    local: AbstractClosure = eqx.field(default_factory=KEpsilon)

    @property
    def von_karman(self) -> ScalarLike:
        """kappa of the local closure [1]."""
        return self.local.von_karman

    def prepare(self) -> "MassFluxStepper":
        return MassFluxStepper(self.local.prepare(), self)

    def with_energy(self, clo_state: MassFluxState, inputs: ClosureInputs) -> ClosureInputs:
        """Input of the local closure, with the energy carried down by the plumes."""
        plumes = next((term for term in inputs.terms if isinstance(term, Plumes)), None)
        if plumes is None:  # without a transport step
            return inputs
        by_shear, by_buoyancy, slip_squared = plumes.production(
            inputs.state, inputs.start, inputs.grid, inputs.equation_of_state
        )
        velocity = inner_faces(clo_state.plume_velocity)
        # Area: M / w. Without plumes both are 0.
        area = inner_faces(clo_state.plume_mass_flux) * reciprocal(at_least(velocity, self.least_velocity))
        slip = (1.0 - self.momentum_coefficient) ** 2 * slip_squared
        kinetic = 0.5 * (velocity**2 + slip) + inner_faces(clo_state.plume_kinetic_energy)
        energy = PlumeEnergy(by_shear, by_buoyancy, plumes.mass_flux[1:-1], area * kinetic, velocity)
        return dataclasses.replace(inputs, plume_energy=energy)

    def march(
        self, local: AbstractCloState, inputs: ClosureInputs, depth: Scalar, dt: ScalarLike
    ) -> MassFluxState:
        """Compute the plumes from the surface down; `depth` is that of the previous step [m]."""
        drag = self.drag * reciprocal(depth)
        cells = self._cells(local, inputs, drag, depth)
        sink = partial(self._sink, drag, self.background_detrainment * reciprocal(depth))
        # At rest at the surface, with linearly extrapolated temperature and salinity.
        thickness, contents = inputs.grid.cell_thickness, (inputs.state.temperature, inputs.state.salinity)
        weight = thickness[-1] * reciprocal(thickness[-1] + thickness[-2])
        temperature, salinity = (values[-1] + weight * (values[-1] - values[-2]) for values in contents)
        zeros = jnp.zeros_like(temperature)
        motion_and_area = zeros + self.least_velocity**2, zeros, zeros + self.surface_area
        surroundings = cells.u[-1], cells.v[-1], cells.tke[-1]
        start = _Plumes(*motion_and_area, temperature, salinity, *surroundings, zeros, zeros)
        end, (flux, *others) = lax.scan(sink, start, cells, reverse=True)
        # No cell may lose more water within a step than it contains.
        flux = flux * reciprocal(at_least(dt * end.drained, 1.0))
        profiles = flux, (1.0 - self.momentum_coefficient) * flux, *others
        return MassFluxState(local, *map(with_end_faces, profiles), end.depth)  # pyright: ignore

    def _cells(self, local: AbstractCloState, inputs: ClosureInputs, drag: Scalar, depth: Scalar) -> _Cells:
        state, grid, eos = inputs.state, inputs.grid, inputs.equation_of_state
        alpha, beta = eos.expansion(state.temperature, state.salinity, grid.z_center)
        tke = jnp.zeros_like(state.temperature)
        if isinstance(local, TurbulenceState):
            tke = mean_of_neighbours(local.turbulent_kinetic_energy)
        inertia = 1.0 + self.entrainment_drag * self.entrainment
        z, thickness = grid.z_center, grid.cell_thickness
        squared_length = at_least(-z * (z + depth), 0.25 * thickness**2)
        cells = _Cells(
            *(state.temperature, state.salinity, state.u, state.v),
            thermal=eos.gravity * alpha,
            haline=eos.gravity * beta,
            tke=tke,
            thickness=thickness,
            gain_faster=2.0 * thickness * reciprocal(inertia + thickness * drag),
            gain_slower=2.0 * thickness * reciprocal(1.0 + thickness * drag),
            dissipation=2.0 * thickness * self.dissipation_coefficient * lax.rsqrt(squared_length),
        )
        # The lowest cell has no face below.
        return jax.tree.map(lambda values: jnp.broadcast_to(values, state.temperature.shape)[1:], cells)

    def _sink(
        self, drag: Scalar, detrainment: Scalar, above: _Plumes, cell: _Cells
    ) -> tuple[_Plumes, tuple[Scalar, ...]]:
        """March from the face above a cell to the face below; returns a w, entrained fraction, w and k_p."""
        gain = self._gain(drag, above, cell)
        squared = above.velocity_squared + gain
        velocity_squared = at_least(squared, self.least_velocity**2)
        velocity = jnp.sqrt(velocity_squared) - self.least_velocity
        # Test the root: XLA would compute a condition on `squared` again for every result.
        goes_on = (velocity > 0.0) & (above.area > 0.0)

        speeds, acceleration = above.velocity + velocity, velocity - above.velocity
        inflow = self.entrainment * at_least(acceleration, 0.0)
        outflow = self.detrainment * at_least(-acceleration, 0.0)
        outflow = outflow + at_least(0.5 * cell.thickness * detrainment * speeds, 2.0 * self.least_velocity)
        # Solve (a w)' = E - D, with the mean area of both faces, for the area below.
        factor = 2.0 * velocity - inflow + outflow
        area_per_factor = above.area * reciprocal(factor)
        area = at_least(area_per_factor * (2.0 * above.velocity + inflow - outflow), 0.0)
        entrained = speeds * inflow
        flow = above.velocity * factor + entrained
        fraction = jnp.where(goes_on, entrained * reciprocal(jnp.where(flow > 0.0, flow, 1.0)), 0.0)

        # Fraction of the cell that the plumes cross before they stop.
        stops_after = (above.velocity_squared - self.least_velocity**2) * reciprocal(
            at_least(-gain, self.least_velocity**2)
        )
        crossed = jnp.where(above.area > 0.0, jnp.where(goes_on, 1.0, at_most(stops_after, 1.0)), 0.0)
        below = _Plumes(
            velocity_squared=velocity_squared,
            velocity=velocity,
            area=jnp.where(goes_on, area, 0.0),
            temperature=_mixed(above.temperature, cell.temperature, fraction),
            salinity=_mixed(above.salinity, cell.salinity, fraction),
            u=_mixed(above.u, cell.u, fraction),
            v=_mixed(above.v, cell.v, fraction),
            kinetic_energy=jnp.where(goes_on, self._kinetic_energy(above, cell, speeds, fraction), 0.0),
            depth=above.depth + crossed * cell.thickness,
            drained=at_least(above.drained, area_per_factor * entrained * reciprocal(cell.thickness)),
        )
        return below, (below.area * velocity, fraction, velocity, below.kinetic_energy)

    def _gain(self, drag: Scalar, above: _Plumes, cell: _Cells) -> Scalar:
        """Increase of w² over a cell [m2 s-2]; alpha depends on its sign, which is that of the push."""
        buoyancy = cell.thermal * (above.temperature - cell.temperature)
        buoyancy = buoyancy - cell.haline * (above.salinity - cell.salinity)
        push = -(drag * above.velocity_squared + self.buoyancy_coefficient * buoyancy)
        return push * jnp.where(push > 0.0, cell.gain_faster, cell.gain_slower)

    def _kinetic_energy(self, above: _Plumes, cell: _Cells, speeds: Scalar, fraction: Scalar) -> Scalar:
        """k_p below the cell, with implicit dissipation."""
        slip = (above.u - cell.u) ** 2 + (above.v - cell.v) ** 2
        relative = (1.0 - self.momentum_coefficient) ** 2 * slip + 0.25 * speeds**2
        mixed_energy = _mixed(above.kinetic_energy, cell.tke + 0.5 * relative, fraction)
        decay = cell.dissipation * safe_sqrt(above.kinetic_energy)
        speed = speeds + self.least_velocity
        return mixed_energy * speed * reciprocal(speed + decay)


class MassFluxStepper(AbstractStepper[MassFluxState]):
    """Steps of a local closure, each followed by the plumes."""

    local: AbstractStepper
    plumes: MassFluxConvection

    def init(self, inputs: ClosureInputs) -> MassFluxState:
        local = self.local.init(inputs)
        zeros = jnp.zeros_like(local.eddy_viscosity)
        return MassFluxState(local, zeros, zeros, zeros, zeros, zeros, plume_depth=zeros[0])  # pyright: ignore

    def step(self, clo_state: MassFluxState, inputs: ClosureInputs, dt: ScalarLike) -> MassFluxState:
        depth = at_least(clo_state.plume_depth, self.plumes.least_depth)
        local = self.local.step(clo_state.local, self.plumes.with_energy(clo_state, inputs), dt)
        return self.plumes.march(local, inputs, depth, dt)


def _mixed(plume: Scalar, cell: Scalar, fraction: Scalar) -> Scalar:
    return plume + fraction * (cell - plume)
