"""The interface of a closure: a set of parameters, a stepper, and a state with eddy coefficients."""

import abc
import dataclasses
from typing import Generic, TypeVar, get_args, get_type_hints

import equinox as eqx
import jax.numpy as jnp

from .. import constants
from .._types import FaceArray, FieldValue, InnerFaceArray, Scalar, ScalarLike
from ..column.grid import Grid
from ..column.state import State
from ..column.terms.base import AbstractTerm, BottomFlow, SurfaceWaves
from ..column.terms.turbulence import PlumeEnergy
from ..declarations import check_kinds, name_of, names_of
from ..numerics.elementary import with_end_faces
from ..numerics.tridiagonal import AbstractTridiagonalMethod, PlatformDefault
from ..physics.equation_of_state import AbstractEquationOfState
from ..views import AbstractShown
from .recommended import ConstantValue, recommended_sets


class AbstractCloState(eqx.Module):
    """State that every closure passes to the model."""

    eddy_viscosity: eqx.AbstractVar[FaceArray]  # of momentum [m2 s-1]
    eddy_diffusivity: eqx.AbstractVar[FaceArray]  # of temperature, salinity and tracers [m2 s-1]

    @abc.abstractmethod
    def terms(self, state: State) -> tuple[AbstractTerm, ...]:
        """Turbulent transport other than down-gradient mixing in a step from `state`."""


class CloState(AbstractCloState):
    """State of a closure that mixes all scalars alike, down the gradient; closures add variables."""

    def terms(self, state: State) -> tuple[AbstractTerm, ...]:
        return ()


class EddyCoefficients(CloState):
    """State of a closure without further variables [m2 s-1]."""

    eddy_viscosity: FaceArray
    eddy_diffusivity: FaceArray

    @classmethod
    def from_inner_faces(cls, viscosity: InnerFaceArray, diffusivity: InnerFaceArray) -> "EddyCoefficients":
        """Coefficients on inner faces; there is no mixing through the two ends."""
        return cls(with_end_faces(viscosity), with_end_faces(diffusivity))


class ClosureInputs(eqx.Module):
    """Input of a closure, computed once per step by the model.

    `radiative_buoyancy_flux` is the downward flux by shortwave radiation through each face: a layer gains its
    convergence; `None` without shortwave radiation. `friction_velocity_of_sea` sets the surface roughness: it
    is u* of this step or, as in GOTM, of the previous step.
    """

    grid: Grid  # with the batch axes of the state
    state: State  # after the transport in this step
    buoyancy_frequency_squared: InnerFaceArray  # N² of that state [s-2]
    shear_squared: InnerFaceArray  # S² between the states before and after the viscous step [s-2]
    surface_friction_velocity: Scalar  # u* = sqrt(|stress| / density) [m s-1]
    friction_velocity_of_sea: Scalar  # [m s-1]
    surface_momentum_flux: tuple[Scalar, Scalar]  # eastward and northward stress over density [m2 s-2]
    surface_buoyancy_flux: Scalar  # into the water, without shortwave radiation [m2 s-3]; positive stabilises
    coriolis_parameter: Scalar  # f [s-1]
    equation_of_state: AbstractEquationOfState  # of the case, for closures that compare water parcels
    start: State  # at the start of the step, after rotation
    radiative_buoyancy_flux: FaceArray | None = None  # [m2 s-3]
    waves: SurfaceWaves | None = None  # at the surface
    bottom: BottomFlow | None = None  # where there is bottom friction
    plume_energy: PlumeEnergy | None = None  # energy from plumes, for the closure of the water around them
    stirring: InnerFaceArray | None = None  # production of k by terms [m2 s-3]; TKE and CATKE ignore it
    terms: tuple[AbstractTerm, ...] = ()  # terms of the step, including those of the closure's own state
    tridiagonal_method: AbstractTridiagonalMethod = PlatformDefault()
    explicit_waves: bool = eqx.field(default=False, static=True)  # negative production stays explicit

    @property
    def buoyancy_flux_above(self) -> FaceArray:
        """Buoyancy flux through the surface plus radiation absorbed above each face [m2 s-3]."""
        flux, light = self.surface_buoyancy_flux, self.radiative_buoyancy_flux
        return flux + (jnp.zeros_like(self.grid.z_face) if light is None else light[-1] - light)


S = TypeVar("S", bound=AbstractCloState)
C = TypeVar("C", bound="AbstractClosure")


class AbstractStepper(eqx.Module, Generic[S]):
    """A closure prepared for a run, with everything computed that depends on its parameters alone."""

    @abc.abstractmethod
    def init(self, inputs: ClosureInputs) -> S:
        """Closure state of the initial column, for the first transport step."""

    @abc.abstractmethod
    def step(self, clo_state: S, inputs: ClosureInputs, dt: ScalarLike) -> S:
        """Closure state at the end of a step of `dt` [s], from that at its start.

        The eddy coefficients returned mix the column during the next step. They are at least zero.
        """


class AbstractClosure(AbstractShown, Generic[S]):
    """A turbulence closure: its fields are its parameters.

    Raises:
        TypeError: a part that is not of its declared class, such as the name of a class.
        ValueError: a setting that violates its declaration.
    """

    von_karman = constants.VON_KARMAN
    """kappa of the logarithmic layer [1]; some closures have a parameter or property of this name instead."""

    def __check_init__(self):
        check_kinds(self)

    @abc.abstractmethod
    def prepare(self) -> AbstractStepper[S]:
        """The closure prepared for a run; the time loop calls this once, so that no step repeats the work.

        If numbers are derived from the parameters, the result has another type, without parameters that could
        be changed while the derived numbers stay.
        """

    @classmethod
    def recommended(cls: type[C], **others: FieldValue) -> C:
        """Closure with the recommended constants, calibrated on large-eddy simulations and tested on others.

        `recommended_sets()` has their values, data, command, version and valid range. All other constants are
        the defaults of the class; `others` replace or complete them.

        Raises:
            ValueError: a closure without recommended constants.
        """
        sets, name = recommended_sets(), name_of(cls)
        if name not in sets:
            raise ValueError(
                f"{cls.__name__}: expected a closure with recommended constants, one of {', '.join(sets)}; "
                "use its default ones."
            )
        values: dict[str, FieldValue] = {}
        by_part: dict[str, dict[str, FieldValue]] = {}
        for path, value in sets[name].constants.items():
            part, _, field = path.rpartition(".")
            if part:
                by_part.setdefault(part, {})[field] = value
            else:
                values[field] = _field_value(cls, field, value)
        closure = cls(**values)
        parts = {
            part: dataclasses.replace(getattr(closure, part), **changes) for part, changes in by_part.items()
        }
        return dataclasses.replace(closure, **(parts | others))


def _field_value(kind: type[AbstractClosure], field: str, value: ConstantValue) -> FieldValue:
    """Convert a recommended constant to the value of a field: a list to an array, a name to the part."""
    if isinstance(value, list):
        return jnp.asarray(value, float)
    hint = get_type_hints(kind)[field]
    if not isinstance(value, str) or hint is str:
        return value
    family = next(option for option in get_args(hint) or (hint,) if option is not type(None))
    return names_of(family)[value].make()


class AbstractPlainClosure(AbstractClosure[S], AbstractStepper[S]):
    """A closure without derived numbers: a run steps with the closure itself."""

    def prepare(self) -> AbstractStepper[S]:
        return self


class AbstractDiagnosticClosure(AbstractPlainClosure[S]):
    """A closure without memory: its coefficients follow from the current column."""

    @abc.abstractmethod
    def diagnose(self, inputs: ClosureInputs) -> S:
        """Closure state of a column; its eddy coefficients are at least zero."""

    def init(self, inputs: ClosureInputs) -> S:
        return self.diagnose(inputs)

    def step(self, clo_state: S, inputs: ClosureInputs, dt: ScalarLike) -> S:
        return self.diagnose(inputs)
