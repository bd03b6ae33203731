"""The interface of a closure: a set of parameters, a stepper, and a state with eddy coefficients."""

import abc
import csv
import dataclasses
import functools
from pathlib import Path
from typing import Generic, TypeVar

import equinox as eqx

from .. import constants
from .._types import CenterArray, FaceArray, FieldValue, InnerFaceArray, Scalar, ScalarLike
from ..declarations import check_settings, name_of
from ..grid import Grid
from ..numerics.elementary import with_end_faces
from ..numerics.tridiagonal import PlatformDefault
from ..numerics.tridiagonal_methods import AbstractTridiagonalMethod
from ..physics.equation_of_state import AbstractEquationOfState
from ..state import State
from ..terms import AbstractTerm
from ..terms.turbulence import PlumeEnergy


class CloState(eqx.Module):
    """State that every closure passes to the model; each closure adds its own variables."""

    eddy_viscosity: eqx.AbstractVar[FaceArray]  # of momentum [m2 s-1]
    eddy_diffusivity: eqx.AbstractVar[FaceArray]  # of temperature, salinity and tracers [m2 s-1]

    def salt_diffusivity(self) -> FaceArray | None:
        """Eddy diffusivity of salinity [m2 s-1] where it has its own; `None` where it shares that of heat."""
        return None

    def terms(self, state: State) -> tuple[AbstractTerm, ...]:
        """What turbulence does in a step from `state` besides mixing down gradients; nothing by default."""
        return ()


class SurfaceWaves(eqx.Module):
    """Stokes drift U_s of surface waves, eastward and northward; at the surface where it is known there.

    Velocities that contain it have its shear in S² and in dU/dz.
    """

    drift: tuple[CenterArray, CenterArray]  # of the cells [m s-1]
    at_surface: tuple[Scalar, Scalar] | None  # [m s-1]
    shear: InnerFaceArray  # dU/dz . dU_s/dz [s-2]
    shear_squared: InnerFaceArray  # |dU_s/dz|² [s-2]
    height: Scalar | None = None  # of the waves, significant [m]; `None` where it is not known
    in_velocity: bool = eqx.field(default=False, static=True)  # whether velocities contain the drift


class BottomFlow(eqx.Module):
    """Flow that a bottom drags: friction velocity [m s-1], and roughness length z_0 of the bottom [m]."""

    friction_velocity: Scalar
    roughness_length: Scalar


class EddyCoefficients(CloState):
    """State of a closure that carries nothing else [m2 s-1]."""

    eddy_viscosity: FaceArray
    eddy_diffusivity: FaceArray

    @classmethod
    def within(cls, viscosity: InnerFaceArray, diffusivity: InnerFaceArray) -> "EddyCoefficients":
        """Coefficients on inner faces; nothing mixes through the two ends."""
        return cls(with_end_faces(viscosity), with_end_faces(diffusivity))


class ClosureInputs(eqx.Module):
    """Input of a closure, computed once per step by the model.

    `radiative_buoyancy_flux` is what shortwave radiation carries down through each face, so that a layer
    below the surface gains the difference over it; `None` in the dark. `friction_velocity_of_sea` is the u*
    that sets the roughness of the sea: the same, or like GOTM that of the step before.
    """

    grid: Grid  # with the batch axes of the state
    state: State  # after the transport of this step
    buoyancy_frequency_squared: InnerFaceArray  # N² of that state [s-2]
    shear_squared: InnerFaceArray  # S² between the states before and after the viscous step [s-2]
    surface_friction_velocity: Scalar  # u* = sqrt(|stress| / density) [m s-1]
    friction_velocity_of_sea: Scalar  # [m s-1]
    surface_momentum_flux: tuple[Scalar, Scalar]  # eastward and northward stress over density [m2 s-2]
    surface_buoyancy_flux: Scalar  # in, but for shortwave radiation [m2 s-3]; positive stabilises
    coriolis_parameter: Scalar  # f [s-1]
    equation_of_state: AbstractEquationOfState  # of the case, for closures that compare parcels of water
    start: State  # that the step started from, already turned
    radiative_buoyancy_flux: FaceArray | None = None  # [m2 s-3]
    waves: SurfaceWaves | None = None  # at the surface
    bottom: BottomFlow | None = None  # where something drags there
    plume_energy: PlumeEnergy | None = None  # for the closure around plumes: what their mass flux did
    stirring: InnerFaceArray | None = None  # k that terms make [m2 s-3]
    acted: tuple[AbstractTerm, ...] = ()  # the terms of the step, those of the closure's own state too
    tridiagonal_method: AbstractTridiagonalMethod = PlatformDefault()
    explicit_waves: bool = eqx.field(default=False, static=True)  # even those that take energy, as in GOTM


S = TypeVar("S", bound=CloState)
C = TypeVar("C", bound="AbstractClosure")


class AbstractStepper(eqx.Module, Generic[S]):
    """A closure prepared for a run: numbers that follow from its parameters alone are computed."""

    @abc.abstractmethod
    def init(self, inputs: ClosureInputs) -> S:
        """Closure state of a column at rest, used by the first transport step."""

    @abc.abstractmethod
    def step(self, clo_state: S, inputs: ClosureInputs, dt: ScalarLike) -> S:
        """Closure state at the end of a step of `dt` [s], from that at its start.

        The eddy coefficients returned mix the column during the next step. They are at least zero.
        """


class AbstractClosure(eqx.Module, Generic[S]):
    """A turbulence closure: its fields are its parameters.

    Raises:
        ValueError: a setting that its declaration excludes.
    """

    von_karman = constants.VON_KARMAN
    """kappa at the bottom [1]; a closure with its own has a parameter or a property of this name."""

    def __check_init__(self):
        check_settings(self)

    @abc.abstractmethod
    def prepare(self) -> AbstractStepper[S]:
        """What a run steps with; the time loop asks for it once, so that no step repeats that work.

        It is of another type where anything follows from the parameters, so that none of them can be changed
        without what follows from it.
        """

    @classmethod
    def recommended(cls: type[C], **others: FieldValue) -> C:
        """Constants that carry over from one large-eddy simulation to others; `recommended.csv` has them.

        Those that are not imposed are those of `tunax-lite calibrate configs/calibrations/les_NAME.yaml`
        (version 0.2.0), all others those of the class. Data: 22 large-eddy simulations of five sources, six
        hours to ten days of stress to 1.4 N m-2 and cooling to 2 kW m-2, with and without waves. Valid for
        those, in cells of 1 to 4 m and with steps of up to 600 s. Other arguments replace or complete them.

        Raises:
            ValueError: a closure that has none.
        """
        sets, name = recommended_sets(), name_of(cls)
        if name not in sets:
            raise ValueError(
                f"{cls.__name__}: expected a closure with recommended constants, one of {', '.join(sets)}; "
                "use its default ones."
            )
        given: dict[str, FieldValue] = {}
        of_parts: dict[str, dict[str, FieldValue]] = {}
        for path, value in sets[name].items():
            part, _, field = path.rpartition(".")
            (of_parts.setdefault(part, {}) if part else given)[field] = value
        for part, values in of_parts.items():
            given[part] = dataclasses.replace(getattr(cls(), part), **values)
        return cls(**(given | others))


@functools.cache
def recommended_sets() -> dict[str, dict[str, float | bool | None]]:
    """Recommended constants and settings by the name of their closure, then by their own name, with dots."""
    table, sets = Path(__file__).parent / "recommended.csv", dict[str, dict[str, float | bool | None]]()
    for row in csv.DictReader(table.read_text(encoding="utf-8").splitlines()):
        value = {"on": True, "none": None}.get(row["value"], row["value"])
        sets.setdefault(row["closure"], {})[row["constant"]] = (
            float(value) if value is row["value"] else value
        )
    return sets


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
