"""What every closure is: a set of parameters, what a run steps with, and a state with eddy coefficients."""

import abc
from typing import Generic, TypeVar

import equinox as eqx

from .. import constants
from .._types import CenterArray, FaceArray, InnerFaceArray, Scalar, ScalarLike
from ..grid import Grid
from ..numerics.stencils import with_end_faces
from ..numerics.tridiagonal_method import AbstractTridiagonalMethod
from ..physics.equation_of_state import AbstractEquationOfState
from ..physics.plume import MassFlux, PlumeEnergy
from ..state import State


class CloState(eqx.Module):
    """What every closure hands to the model; each closure adds its own variables.

    Args:
        eddy_viscosity: of momentum [m2 s-1].
        eddy_diffusivity: of temperature, salinity and tracers [m2 s-1].
        nonlocal_transport: share of the surface flux that is carried to a face without a gradient [1],
            0 at the surface and the bottom; of heat with the sunlight that the water above has absorbed;
            `None` for a local closure, which costs nothing.
    """

    eddy_viscosity: eqx.AbstractVar[FaceArray]
    eddy_diffusivity: eqx.AbstractVar[FaceArray]
    nonlocal_transport: eqx.AbstractVar[FaceArray | None]

    def salt_diffusivity(self) -> FaceArray | None:
        """Eddy diffusivity of salinity [m2 s-1] where it has its own; `None` where it shares that of heat."""
        return None

    def down_stokes_shear(self) -> FaceArray | None:
        """Eddy coefficient of the momentum that the shear of the Stokes drift drives [m2 s-1].

        `None` where waves drive none, which costs nothing.
        """
        return None

    def nonlocal_temperature_flux(self) -> FaceArray | None:
        """Upward flux of temperature beside that down its gradient [K m s-1], 0 at both ends.

        For a flux that is no share of that through the surface; `None` without one, which costs nothing.
        """
        return None

    @property
    def mass_flux(self) -> MassFlux | None:
        """Transport by plumes; `None` for a closure without them, which costs nothing."""
        return None


class EddyCoefficients(CloState):
    """State of a closure that carries nothing else [m2 s-1]."""

    eddy_viscosity: FaceArray
    eddy_diffusivity: FaceArray
    nonlocal_transport: None = None

    @classmethod
    def within(cls, viscosity: InnerFaceArray, diffusivity: InnerFaceArray) -> "EddyCoefficients":
        """Coefficients on inner faces; nothing mixes through the two ends."""
        return cls(with_end_faces(viscosity, 0.0, 0.0), with_end_faces(diffusivity, 0.0, 0.0))


class ClosureInputs(eqx.Module):
    """What a closure may know of the column; computed once per step by the model.

    Args:
        grid: the vertical grid, with the batch axes of the state.
        state: after the transport of this step.
        buoyancy_frequency_squared: N² of that state [s-2].
        shear_squared: S² between the states before and after the viscous step [s-2].
        surface_friction_velocity: u* = sqrt(|stress| / density) [m s-1].
        friction_velocity_before: that of the step before [m s-1], which sets the roughness of the sea in
            GOTM; `None` for that of this step.
        surface_buoyancy_flux: buoyancy that enters through the surface, sunlight left out [m2 s-3];
            positive stabilises.
        coriolis_parameter: f [s-1].
        equation_of_state: of the case, for closures that compare parcels of water.
        surface_momentum_flux: eastward and northward stress over density [m2 s-2]; `None` where only its
            size counts.
        radiative_buoyancy_flux: buoyancy that sunlight carries down through each face [m2 s-3], so that a
            layer below the surface gains the difference over it; `None` in the dark.
        bottom_friction_velocity: of the flow over the bottom [m s-1]; `None` where nothing drags there.
        bottom_roughness_length: z_0 of the bottom [m]; `None` where nothing drags there.
        stokes_shear: dU/dz . dU_s/dz, with U_s the Stokes drift [s-2]; `None` without waves.
        stokes_shear_squared: |dU_s/dz|² [s-2]; `None` without waves.
        stokes_drift: eastward and northward drift of the cells [m s-1]; `None` without waves.
        surface_stokes_drift: at the surface [m s-1]; `None` where only that of the cells is known.
        plume_energy: what the mass flux of the step did; `None` without one.
        tridiagonal_method: how the linear systems of the closure are solved; `None` for the fastest.
        explicit_waves: whether energy that waves take is taken explicitly, as in GOTM, even below zero.
    """

    grid: Grid
    state: State
    buoyancy_frequency_squared: InnerFaceArray
    shear_squared: InnerFaceArray
    surface_friction_velocity: Scalar
    surface_buoyancy_flux: Scalar
    coriolis_parameter: Scalar
    equation_of_state: AbstractEquationOfState
    surface_momentum_flux: tuple[Scalar, Scalar] | None = None
    radiative_buoyancy_flux: FaceArray | None = None
    friction_velocity_before: Scalar | None = None
    bottom_friction_velocity: Scalar | None = None
    bottom_roughness_length: Scalar | None = None
    stokes_shear: InnerFaceArray | None = None
    stokes_shear_squared: InnerFaceArray | None = None
    stokes_drift: tuple[CenterArray, CenterArray] | None = None
    surface_stokes_drift: tuple[Scalar, Scalar] | None = None
    plume_energy: PlumeEnergy | None = None
    tridiagonal_method: AbstractTridiagonalMethod | None = None
    explicit_waves: bool = eqx.field(default=False, static=True)

    @property
    def friction_velocity_of_sea(self) -> Scalar:
        """u* that sets the roughness of the sea [m s-1]."""
        before = self.friction_velocity_before
        return self.surface_friction_velocity if before is None else before


S = TypeVar("S", bound=CloState)


class AbstractStepper(eqx.Module, Generic[S]):
    """A closure as a run steps with it: what follows from its parameters alone is computed."""

    @abc.abstractmethod
    def init(self, inputs: ClosureInputs) -> S:
        """Closure state of a column at rest, used by the first transport step."""

    @abc.abstractmethod
    def step(self, clo_state: S, inputs: ClosureInputs, dt: ScalarLike) -> S:
        """Closure state at the end of a step of `dt` [s], from that at its start.

        The eddy coefficients returned mix the column during the next step. They are at least zero.
        """


class AbstractClosure(eqx.Module, Generic[S]):
    """A turbulence closure: its fields are its parameters."""

    von_karman = constants.VON_KARMAN
    """kappa at the bottom [1]; a closure with its own has a parameter or a property of this name."""

    @abc.abstractmethod
    def prepare(self) -> AbstractStepper[S]:
        """What a run steps with; the time loop asks for it once, so that no step repeats that work.

        It is of another type where anything follows from the parameters, so that none of them can be changed
        without what follows from it.
        """


class AbstractPlainClosure(AbstractClosure[S], AbstractStepper[S]):
    """A closure from whose parameters nothing follows: a run steps with the closure itself."""

    def prepare(self) -> AbstractStepper[S]:
        return self


class AbstractDiagnosticClosure(AbstractPlainClosure[S]):
    """A closure without memory: its coefficients follow from the column as it is."""

    @abc.abstractmethod
    def diagnose(self, inputs: ClosureInputs) -> S:
        """Closure state of a column; its eddy coefficients are at least zero."""

    def init(self, inputs: ClosureInputs) -> S:
        return self.diagnose(inputs)

    def step(self, clo_state: S, inputs: ClosureInputs, dt: ScalarLike) -> S:
        del clo_state, dt
        return self.diagnose(inputs)
