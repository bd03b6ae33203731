"""Energetics-based planetary boundary layer: K from a profile, limited by an energy budget.

    integral of K N² over the layer = m* u*³ + n* (what convection releases)

In the water with the forcing of the next step, a march down from the surface gives each face its K until the
energy of the step is spent. The face where it ends gets what is left, those below nothing. K and m* depend on
the depth H of the layer, which is that where the energy ends.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp

from ..._types import FaceArray, InnerFaceArray, Scalar, ScalarLike, parameter
from ...declarations import check_settings, named, setting
from ...numerics.limiters import at_least, at_most, reciprocal, safe_sqrt
from ...numerics.stencils import with_end_faces
from ..base import AbstractPlainClosure, CloState, ClosureInputs
from ..bulk_layer import buoyancy_after, face_depth
from .layer_depth import self_consistent_depth
from .march import Depths, Energy, EnergyColumn, EnergyVelocity, Faces, Mixed, cube_root, march
from .wind_energy import AbstractWindEnergy, OM4WindEnergy, ReichlHallbergWindEnergy, SurfaceForcing

_OM4_ROTATION = 0.001**0.5 * 2.0 * 7.2921e-5
"""The fraction 0.001 of the squared rotation of the earth acts everywhere [s-1]."""
_UNSTABLE = 1e-7
"""-N² at which convection below the layer is complete [s-2]."""


class EPBLState(CloState):
    """Eddy coefficients [m2 s-1] and the depth that the energy reaches [m]."""

    eddy_viscosity: FaceArray
    eddy_diffusivity: FaceArray
    boundary_layer_depth: Scalar


@named("epbl", epbl_om4="as_in_om4")
class EPBL(AbstractPlainClosure[EPBLState]):
    """A boundary layer whose diffusivity is limited by the energy of wind and convection.

    Args:
        convective_efficiency: n*, fraction of the energy that convection releases which lifts water [1].
        von_karman: kappa in K = kappa w l [1].
        wind_velocity: c_u; w = [c_u u* + c_w (max(-B, 0) z)^(1/3)] max(1 - z / H, 1 - a) [1].
        convective_velocity: c_w [1].
        velocity_decay: a, fraction of w that is gone at the base [1].
        transition: l / z at the base [1].
        background_coefficient: of both viscosity and diffusivity, added everywhere [m2 s-1].
        convective_coefficient: where the water below the layer is unstable [m2 s-1].
        least_rotation: f_0; rotation acts as sqrt(f² + f_0²) [s-1].
        wind_energy: formula for m*.
        energy_velocity: formula for w in place of that with c_u, c_w and the decay; `None` for that.
        exponent: of the length, l = z (1 - z / H)^exponent above the base.

    Raises:
        ValueError: an exponent that is not a whole number from 1 to 4.

    Source: Reichl and Hallberg (2018), Ocean Model. 132, 112-129; numbers and order of the march of MOM6.
    """

    convective_efficiency: Scalar = parameter(0.066, valid_range=(0.0, 1.0))
    von_karman: Scalar = parameter(0.41, valid_range=(0.1, 1.0))
    wind_velocity: Scalar = parameter(1.2, valid_range=(0.0, 10.0))
    convective_velocity: Scalar = parameter(1.0, valid_range=(0.0, 10.0))
    velocity_decay: Scalar = parameter(0.95, valid_range=(0.0, 1.0))
    transition: Scalar = parameter(0.1, valid_range=(0.0, 1.0))
    background_coefficient: Scalar = parameter(1e-5, unit="m2 s-1", valid_range=(0.0, 1.0))
    convective_coefficient: Scalar = parameter(0.1, unit="m2 s-1", valid_range=(0.0, 1e3))
    least_rotation: Scalar = parameter(0.0, unit="s-1", valid_range=(0.0, 1e-3))
    wind_energy: AbstractWindEnergy = eqx.field(default_factory=ReichlHallbergWindEnergy)
    energy_velocity: EnergyVelocity | None = None
    exponent: int = setting(2, choices=(1, 2, 3, 4))

    def __check_init__(self):
        check_settings(self)

    @classmethod
    def as_in_om4(cls, **others: Any) -> "EPBL":
        """The numbers and formulas of the configuration OM4 of MOM6.

        Args:
            others: arguments that replace or complete them.
        """
        numbers = {
            "convective_efficiency": 0.06,
            "transition": 0.01,
            "exponent": 1,
            "least_rotation": _OM4_ROTATION,
            "wind_energy": OM4WindEnergy(),
            "energy_velocity": EnergyVelocity(),
        }
        return cls(**(numbers | others))

    def init(self, inputs: ClosureInputs) -> EPBLState:
        at_rest = jnp.zeros_like(inputs.shear_squared) + self.background_coefficient
        faces = with_end_faces(at_rest, 0.0, 0.0)
        depth = jnp.zeros_like(at_rest[0]) + inputs.grid.cell_thickness[-1]
        return EPBLState(eddy_viscosity=faces, eddy_diffusivity=faces, boundary_layer_depth=depth)

    def step(self, clo_state: EPBLState, inputs: ClosureInputs, dt: ScalarLike) -> EPBLState:
        del clo_state
        grid, forcing = inputs.grid, self._surface_forcing(inputs)
        water = EnergyColumn(buoyancy_after(inputs, dt), grid, dt, forcing.rotation, self.von_karman)
        scale = self._scale(inputs, face_depth(grid))

        def mixed(depth: Depths) -> Mixed:
            return march(
                water,
                self._energy(depth, inputs, forcing),
                self._profile(scale, depth, inputs),
                self.energy_velocity,
            )

        layer = self_consistent_depth(lambda depth: mixed(depth).reached, grid, water.buoyancy[0])
        result = mixed(layer[None])
        fraction, coefficient = result.fraction[:, 0], result.coefficient[:, 0]
        unstable = at_most(at_least(-inputs.buoyancy_frequency_squared, 0.0), _UNSTABLE) * (1.0 / _UNSTABLE)
        coefficient = coefficient + (1.0 - fraction) * unstable * self.convective_coefficient
        faces = with_end_faces(coefficient + self.background_coefficient, 0.0, 0.0)
        return EPBLState(eddy_viscosity=faces, eddy_diffusivity=faces, boundary_layer_depth=result.reached[0])

    def _scale(self, inputs: ClosureInputs, depth: InnerFaceArray) -> InnerFaceArray:
        """What the shape multiplies: kappa w z [m2 s-1], or kappa z where the march finds w [m]."""
        if self.energy_velocity is not None:
            return self.von_karman * (depth + jnp.zeros_like(inputs.buoyancy_frequency_squared))
        flux = inputs.surface_buoyancy_flux
        if inputs.radiative_buoyancy_flux is not None:
            light = inputs.radiative_buoyancy_flux
            flux = flux + (light[-1] - light[1:-1])
        velocity = self.convective_velocity * cube_root(at_least(-flux, 0.0) * depth)
        velocity = velocity + self.wind_velocity * inputs.surface_friction_velocity
        return self.von_karman * velocity * depth

    def _profile(self, scale: InnerFaceArray, layer: Depths, inputs: ClosureInputs) -> Faces:
        """K, or kappa l, of layers of some depths; down to the bottom l decreases to 0."""
        grid = inputs.grid
        part = at_most(face_depth(grid)[:, None] * reciprocal(layer), 1.0)
        shape = self.transition + (1.0 - self.transition) * (1.0 - part) ** self.exponent
        shape = at_most(shape, (1.0 - face_depth(grid) * reciprocal(grid.depth))[:, None])
        if self.energy_velocity is None:
            shape = shape * at_least(1.0 - part, 1.0 - self.velocity_decay)
        return scale[:, None] * shape

    def _energy(self, layer: Depths, inputs: ClosureInputs, forcing: SurfaceForcing) -> Energy:
        """What enters for layers of some depths; the uppermost cell mixes what enters at its surface."""
        velocity = forcing.friction_velocity
        wind = self.wind_energy.efficiency(layer, forcing) * (velocity * velocity * velocity)
        top = 0.5 * inputs.grid.cell_thickness[-1] * inputs.surface_buoyancy_flux
        return Energy(
            wind=at_least(wind - at_least(top, 0.0), 0.0),
            convection=at_least(-top, 0.0),
            efficiency=self.convective_efficiency,
        )

    def _surface_forcing(self, inputs: ClosureInputs) -> SurfaceForcing:
        flux = inputs.surface_buoyancy_flux
        if inputs.radiative_buoyancy_flux is not None:
            flux = flux + inputs.radiative_buoyancy_flux[-1]
        squared = inputs.coriolis_parameter**2 + self.least_rotation**2
        return SurfaceForcing(inputs.surface_friction_velocity, flux, safe_sqrt(squared))
