"""Energetics-based planetary boundary layer: K from a profile, limited by an energy budget.

    integral of K N² over the layer = m* u*³ + n* (what convection releases)

A step finds the depth H at which this holds for the profile K(z; H). Then, in the water with the forcing of
the next step, it goes down from the surface and gives each face its K until the energy of the step is spent.
The face where it ends gets what is left, those below nothing.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp

from ..._types import FaceArray, InnerFaceArray, Scalar, ScalarLike, parameter
from ...numerics.limiters import at_least, at_most, reciprocal
from ...numerics.powers import inverse_cube_root
from ...numerics.stencils import with_end_faces
from ..base import AbstractClosure, CloState, ClosureInputs
from ..bulk_layer.layer import buoyancy_after, face_depth
from ..kpp.boundary_layer import first_crossing
from .budget import costs_of, limited, share_allowed
from .profile import Shape, cost_of_layers
from .wind_energy import AbstractWindEnergy, Levels, OM4WindEnergy, ReichlHallbergWindEnergy, SurfaceForcing

_SMALLEST_CUBE = 1e-11
"""Of the convective velocity [m3 s-3]: below, it is linear in the flux."""
_SMALLEST_SHAPE = 1e-6
_UNSTABLE = 1e-7
"""-N² at which convection below the layer is complete [s-2]."""


class EPBLState(CloState):
    """Eddy coefficients [m2 s-1] and the depth that the energy reaches [m]."""

    eddy_viscosity: FaceArray
    eddy_diffusivity: FaceArray
    boundary_layer_depth: Scalar
    nonlocal_transport: None = None


class EPBL(AbstractClosure[EPBLState]):
    """A boundary layer whose diffusivity is limited by the energy of wind and convection.

    Args:
        convective_efficiency: n*, share of the energy that convection releases which lifts water [1].
        von_karman: kappa in K = kappa w l [1].
        wind_velocity: c_u; w = c_u u* + c_w (max(-B, 0) z)^(1/3) at the surface [1].
        convective_velocity: c_w [1].
        velocity_decay: share of w that is gone at the base [1].
        transition: l / z at the base [1].
        background_coefficient: of both viscosity and diffusivity, added everywhere [m2 s-1].
        convective_coefficient: where the water below the layer is unstable [m2 s-1].
        wind_energy: formula for m*.
        exponent: of the length, l = z (1 - z / H)^exponent above the base.
        n_passes: how often H is found: after the first pass from what the mixing of the next step will cost,
            not from what it costs in the water as it is. More than one serves long steps.

    Raises:
        ValueError: an exponent that is not a whole number from 1 to 4; no pass.

    Source: Reichl and Hallberg (2018), Ocean Model. 132, 112-129; numbers of MOM6.
    """

    convective_efficiency: Scalar = parameter(0.066, valid_range=(0.0, 1.0))
    von_karman: Scalar = parameter(0.41, valid_range=(0.1, 1.0))
    wind_velocity: Scalar = parameter(1.2, valid_range=(0.0, 10.0))
    convective_velocity: Scalar = parameter(1.0, valid_range=(0.0, 10.0))
    velocity_decay: Scalar = parameter(0.95, valid_range=(0.0, 1.0))
    transition: Scalar = parameter(0.1, valid_range=(0.0, 1.0))
    background_coefficient: Scalar = parameter(1e-5, unit="m2 s-1", valid_range=(0.0, 1.0))
    convective_coefficient: Scalar = parameter(0.1, unit="m2 s-1", valid_range=(0.0, 1e3))
    wind_energy: AbstractWindEnergy = eqx.field(default_factory=ReichlHallbergWindEnergy)
    exponent: int = eqx.field(default=2, static=True)
    n_passes: int = eqx.field(default=1, static=True)

    def __check_init__(self):
        if self.exponent not in (1, 2, 3, 4):
            raise ValueError(f"EPBL: expected an exponent of 1, 2, 3 or 4, got {self.exponent}.")
        if not self.n_passes >= 1:
            raise ValueError(f"EPBL: expected at least 1 pass, got n_passes = {self.n_passes}.")

    @classmethod
    def as_in_om4(cls, **others: Any) -> "EPBL":
        """The numbers of the configuration OM4 of MOM6, with the velocity of this closure.

        Args:
            others: arguments that replace or complete them.
        """
        numbers = {"convective_efficiency": 0.06, "transition": 0.01, "exponent": 1}
        return cls(**{"wind_energy": OM4WindEnergy(), **numbers, **others})

    def prepare(self) -> "EPBL":
        return self

    def init(self, inputs: ClosureInputs) -> EPBLState:
        at_rest = jnp.zeros_like(inputs.shear_squared) + self.background_coefficient
        faces = with_end_faces(at_rest, 0.0, 0.0)
        depth = jnp.zeros_like(at_rest[0]) + inputs.grid.cell_thickness[-1]
        return EPBLState(eddy_viscosity=faces, eddy_diffusivity=faces, boundary_layer_depth=depth)

    def step(self, clo_state: EPBLState, inputs: ClosureInputs, dt: ScalarLike) -> EPBLState:
        del clo_state
        grid, forcing = inputs.grid, _surface_forcing(inputs)
        depth = face_depth(grid)
        scale = self._scale(inputs, depth)
        buoyancy = buoyancy_after(inputs, dt)
        cost = scale * inputs.buoyancy_frequency_squared * grid.center_spacing
        for _ in range(self.n_passes):
            layer = self._layer_depth(inputs, cost, depth, forcing)
            shape = self._shape.at(depth * reciprocal(layer))
            costs = costs_of(scale * shape, buoyancy, grid, dt)
            cost = costs.power * reciprocal(at_least(shape, _SMALLEST_SHAPE))
        share = share_allowed(costs, self._power(layer, inputs, forcing), self.convective_efficiency)
        coefficient = limited(costs, share) * (grid.center_spacing / dt)

        unstable = at_most(at_least(-inputs.buoyancy_frequency_squared, 0.0), _UNSTABLE) * (1.0 / _UNSTABLE)
        coefficient = coefficient + (1.0 - share) * unstable * self.convective_coefficient
        faces = with_end_faces(coefficient + self.background_coefficient, 0.0, 0.0)
        reached = grid.cell_thickness[-1] + jnp.sum(share * grid.cell_thickness[:-1], axis=0)
        return EPBLState(eddy_viscosity=faces, eddy_diffusivity=faces, boundary_layer_depth=reached)

    @property
    def _shape(self) -> Shape:
        return Shape(self.transition, self.velocity_decay, self.exponent)

    def _scale(self, inputs: ClosureInputs, depth: InnerFaceArray) -> InnerFaceArray:
        """K over its shape: kappa w z [m2 s-1]."""
        flux = inputs.surface_buoyancy_flux
        if inputs.radiative_buoyancy_flux is not None:
            light = inputs.radiative_buoyancy_flux
            flux = flux + (light[-1] - light[1:-1])
        cube = at_least(-flux, 0.0) * depth
        root = inverse_cube_root(cube + _SMALLEST_CUBE)
        velocity = self.convective_velocity * cube * root * root
        velocity = velocity + self.wind_velocity * inputs.surface_friction_velocity
        return self.von_karman * velocity * depth

    def _layer_depth(
        self, inputs: ClosureInputs, cost: InnerFaceArray, depth: InnerFaceArray, forcing: SurfaceForcing
    ) -> Scalar:
        """H: where the layer first costs more than there is, between two centers [m]."""
        grid = inputs.grid
        cost = self._counted(cost)
        center = jnp.zeros_like(inputs.state.temperature) - grid.z_center
        needed = cost_of_layers(self._shape, cost, depth, center)
        missing = needed - self._power(center, inputs, forcing)
        crossing = first_crossing(missing, jnp.zeros_like(missing[0]), center, "linear")
        return at_least(crossing, center[-1])

    def _power(self, depth: Levels, inputs: ClosureInputs, forcing: SurfaceForcing) -> Levels:
        """What enters for layers of some depths, less what mixes the uppermost cell [m3 s-3]."""
        velocity = forcing.friction_velocity
        wind = self.wind_energy.efficiency(depth, forcing) * (velocity * velocity * velocity)
        return wind - 0.5 * inputs.grid.cell_thickness[-1] * self._counted(inputs.surface_buoyancy_flux)

    def _counted(self, taken: Levels) -> Levels:
        """What energy that is taken counts: in whole, but what convection releases in part."""
        return jnp.where(taken < 0.0, self.convective_efficiency * taken, taken)


def _surface_forcing(inputs: ClosureInputs) -> SurfaceForcing:
    flux = inputs.surface_buoyancy_flux
    if inputs.radiative_buoyancy_flux is not None:
        flux = flux + inputs.radiative_buoyancy_flux[-1]
    return SurfaceForcing(inputs.surface_friction_velocity, flux, jnp.abs(inputs.coriolis_parameter))
