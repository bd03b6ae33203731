"""Diagnostics of a run: stratification, mixed layer depth, production of turbulence, contents, fluxes.

Each is a function of one `Snapshot`, with the vertical first and the batch last; `diagnose` applies the
requested ones to all frames of a trajectory.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._types import CenterArray, FaceArray, InnerFaceArray, Scalar, ScalarLike, is_traced
from ..closures.base import AbstractCloState, ClosureInputs
from ..closures.energy import AbstractEnergyStepper, TurbulenceState
from ..numerics.elementary import (
    column_integral,
    gradient,
    mean_of_neighbours,
    reciprocal,
    with_end_faces,
)
from ..physics.stratification import buoyancy_frequency_squared, buoyancy_per_kelvin, depth_of_first_face
from .arguments import case_over_steps
from .case import Case
from .forcing import DECLARED_FLUXES, SurfaceFluxes, WaterSurface
from .grid import Grid
from .model import Model, batched_case
from .observables import OBSERVABLES, ColumnState, Observable, observable, parse
from .state import State
from .terms import ELEVATION
from .terms.base import first_of
from .terms.surface import friction_velocity, total_stress
from .terms.turbulence import CounterGradientHeat
from .trajectory import Restart, Trajectory, prognostic_variables


class LastStep(eqx.Module):
    """The last step before a frame.

    Args:
        clo_state: closure state at the start of the step, with the coefficients that mixed the column.
        inputs: input of the closure.
        fluxes: surface fluxes.
        production: P, B and P_St [m2 s-3] on inner faces; `None` unless the closure itself, not one that it
            wraps, is an `AbstractEnergyClosure`.
    """

    clo_state: AbstractCloState
    inputs: ClosureInputs
    fluxes: SurfaceFluxes
    production: tuple[InnerFaceArray, InnerFaceArray, InnerFaceArray | None] | None

    @classmethod
    def of(cls, model: Model, start: Restart, end: State, case: Case, dt: Scalar) -> "LastStep":
        """Evaluate the closure inputs and fluxes of the step from `start` to the state `end`."""
        time = start.step.astype(dt.dtype) * dt
        inputs, fluxes = model.inputs_of_closure(start.state, start.clo_state, end, case, time, dt)
        closure, clo_state, production = model.closure.prepare(), start.clo_state, None
        if isinstance(closure, AbstractEnergyStepper) and isinstance(clo_state, TurbulenceState):
            production = closure.production(clo_state, inputs)
        return cls(start.clo_state, inputs, fluxes, production)


class Snapshot(eqx.Module):
    """One frame of a run, at a time [s], with its case.

    The grid is that at rest, except in a lake with a varying level. With the last step before the frame,
    fluxes and production are those of that step.
    """

    state: State
    clo_state: AbstractCloState
    time: ScalarLike
    grid: Grid
    case: Case
    last: LastStep | None = None

    @property
    def mixing(self) -> AbstractCloState:
        """The closure state whose coefficients mix the column: that before the last step, if it is known."""
        return self.clo_state if self.last is None else self.last.clo_state

    @property
    def fluxes(self) -> SurfaceFluxes:
        """Surface fluxes of the last step; if it is unknown, those at the time and state of the frame."""
        if self.last is not None:
            return self.last.fluxes
        if self.case.ice is not None:
            return self.case.ice_step(self.state, self.time, dt=1.0).fluxes
        return self.case.forcing.at(self.time, WaterSurface.of(self.state))

    @property
    def zeros(self) -> Scalar:
        """Zero, one per column."""
        return jnp.zeros_like(self.state.u[-1])


Diagnostic = Callable[[Snapshot], Float[Array, "..."]]


def _of_water(function: Observable) -> Diagnostic:
    return lambda now: function(ColumnState(now.state, now.grid, now.case.equation_of_state))


DIAGNOSTICS: dict[str, Diagnostic] = {name: _of_water(function) for name, function in OBSERVABLES.items()}
"""Diagnostics by name; names, units and places are those of `QUANTITIES`."""
OF_THE_STEP: set[str] = set()
"""Diagnostics of the last step before a frame, if the trajectory has `step_starts`."""


def _named(name: str, *, of_the_step: bool = False) -> Callable[[Diagnostic], Diagnostic]:
    """Register a function as a diagnostic."""

    def register(function: Diagnostic) -> Diagnostic:
        DIAGNOSTICS[name] = function
        if of_the_step:
            OF_THE_STEP.add(name)
        return function

    return register


@_named("buoyancy_frequency_squared")
def _stratification(now: Snapshot) -> FaceArray:
    """N² [s-2], zero at both ends."""
    return with_end_faces(buoyancy_frequency_squared(now.state, now.grid, now.case.equation_of_state))


@_named("shear_squared", of_the_step=True)
def _shear(now: Snapshot) -> FaceArray:
    """S² [s-2], zero at both ends: the input of the closure in the last step, or that of the frame."""
    if now.last is not None:
        return with_end_faces(now.last.inputs.shear_squared)
    return with_end_faces(gradient(now.state.u, now.grid) ** 2 + gradient(now.state.v, now.grid) ** 2)


@_named("richardson_number", of_the_step=True)
def _richardson_number(now: Snapshot) -> FaceArray:
    """N² / (S² + 1e-10 s-2) [1]; the added shear keeps it finite at rest."""
    return _stratification(now) * reciprocal(_shear(now) + 1e-10)


@_named("shear_production", of_the_step=True)
def _shear_production(now: Snapshot) -> FaceArray:
    """P = nu S² [m2 s-3]; that of the last step includes waves and the stirring by terms."""
    if now.last is not None and now.last.production is not None:
        return with_end_faces(now.last.production[0])
    return now.mixing.eddy_viscosity * _shear(now)


@_named("buoyancy_production", of_the_step=True)
def _buoyancy_production(now: Snapshot) -> FaceArray:
    """B = -kappa N² + g alpha Gamma [m2 s-3], Gamma of `CounterGradientHeat`; positive where it produces k.

    The non-local transport of KPP and plumes is not included.
    """
    if now.last is not None and now.last.production is not None:
        return with_end_faces(now.last.production[1])
    production = -now.mixing.eddy_diffusivity * _stratification(now)
    for term in now.mixing.terms(now.state):
        if isinstance(term, CounterGradientHeat):
            per_kelvin = buoyancy_per_kelvin(now.state, now.grid, now.case.equation_of_state)
            production = production + with_end_faces(per_kelvin * term.upward[1:-1])
    return production


@_named("mixed_layer_depth_richardson", of_the_step=True)
def _depth_by_richardson_number(now: Snapshot) -> Scalar:
    """Depth of the first face from the surface with a Richardson number above 0.5 [m]."""
    return depth_of_first_face(_richardson_number(now) > 0.5, now.grid)


@_named("mixed_layer_depth_turbulence")
def _depth_by_turbulence(now: Snapshot) -> Scalar:
    """Depth of the first face from the surface with a diffusivity below 1e-5 m2 s-1 [m]."""
    return depth_of_first_face(now.clo_state.eddy_diffusivity < 1e-5, now.grid)


@_named("turbulent_energy")
def _turbulent_energy(now: Snapshot) -> Scalar:
    """rho_0 integral of k [J m-2], without that of plumes; zero for a closure without k."""
    tke = prognostic_variables(now.state, now.clo_state).get("turbulent_kinetic_energy")
    if tke is None:
        return now.zeros
    if tke.shape[0] > now.grid.n_cells:  # on faces
        tke = mean_of_neighbours(tke)
    return now.case.equation_of_state.reference_density * column_integral(tke, now.grid)


def _surface_flux(name: str, absent: float = 0.0) -> Diagnostic:
    """Register the diagnostic of a surface flux; `absent` is its value in a case without that flux."""

    def flux(now: Snapshot) -> Scalar:
        value = getattr(now.fluxes, name)
        return (absent if value is None else value) + now.zeros

    return _named(f"surface_{name}", of_the_step=True)(flux)


for _flux in DECLARED_FLUXES:
    # The components of a heat flux prescribed as a sum are unknown.
    _surface_flux(_flux.name, 0.0 if _flux.metadata["prescribed"] else math.nan)


@_named("friction_velocity", of_the_step=True)
def _friction_velocity(now: Snapshot) -> Scalar:
    """sqrt(|stress| / rho_0) at the surface [m s-1], including the stress of a lid."""
    stress = DIAGNOSTICS["surface_stress_u"](now), DIAGNOSTICS["surface_stress_v"](now)
    density = now.case.equation_of_state.reference_density
    return friction_velocity(total_stress(stress, now.state, now.grid, density, now.case.acting()), density)


@_named("bottom_friction_velocity", of_the_step=True)
def _bottom_friction_velocity(now: Snapshot) -> Scalar:
    """u* of the logarithmic layer at the bottom [m s-1]; zero without bottom friction."""
    if now.last is not None and now.last.inputs.bottom is not None:
        return now.last.inputs.bottom.friction_velocity
    flow = first_of(term.bottom_flow(now.state, now.grid) for term in now.case.acting())
    return now.zeros if flow is None else flow.friction_velocity


@_named("surface_elevation")
def _surface_elevation(now: Snapshot) -> Scalar:
    """Height of the surface above its level at rest [m]."""
    if ELEVATION in now.state.surface:
        return now.state.surface[ELEVATION]
    elevation = now.case.interior.surface_elevation
    return (0.0 if elevation is None else elevation.at(now.time)) + now.zeros


def _discharges(now: Snapshot) -> tuple[Scalar, Scalar]:
    entering = leaving = now.zeros
    for flow in filter(None, (term.discharge(now.time) for term in now.case.acting())):
        entering, leaving = entering + flow[0], leaving + flow[1]
    return entering, leaving


@_named("stream_inflow")
def _stream_inflow(now: Snapshot) -> Scalar:
    """Inflow by streams [m3 s-1]."""
    return _discharges(now)[0]


@_named("stream_outflow")
def _stream_outflow(now: Snapshot) -> Scalar:
    """Outflow by streams [m3 s-1]."""
    return _discharges(now)[1]


@_named("level_outflow", of_the_step=True)
def _level_outflow(now: Snapshot) -> Scalar:
    """Outflow at the surface that maintains a constant or prescribed level of a lake [m3 s-1].

    Zero without areas, and where the level follows the water budget.
    """
    level, rise = now.case.interior.level, 0.0
    prescribed = None if level is None else level.prescribed
    if now.grid.area is None or (level is not None and prescribed is None):
        return now.zeros
    if prescribed is not None:
        rise = jax.jvp(prescribed.at, (now.time,), (jnp.ones_like(now.time),))[1]
    entering, leaving = _discharges(now)
    rain = 0.0 if now.fluxes.freshwater_flux is None else now.fluxes.freshwater_flux
    density = now.case.equation_of_state.reference_density
    return entering - leaving + (rain / density - rise) * now.grid.area[-1] + now.zeros


def _stokes_drift(now: Snapshot, component: int) -> CenterArray:
    """A component of the Stokes drift [m s-1]; zero without waves."""
    drift = first_of(term.stokes_drift(now.grid, now.time) for term in now.case.acting())
    return (0.0 if drift is None else drift[component]) + jnp.zeros_like(now.state.u)


for _component in (0, 1):
    DIAGNOSTICS[f"stokes_drift_{'uv'[_component]}"] = functools.partial(_stokes_drift, component=_component)


def diagnostic(name: str) -> Diagnostic:
    """Look up a diagnostic by name, or an observable with numbers in its name; `ValueError` for others."""
    if name in DIAGNOSTICS:
        return DIAGNOSTICS[name]
    if parse(name).name not in OBSERVABLES:
        raise ValueError(f"diagnose: expected names among {', '.join(DIAGNOSTICS)}, got {name}.")
    return _of_water(observable(name))


@eqx.filter_jit
def _diagnose(frames, grid: Grid, case: Case, names: tuple[str, ...], model: Model | None):
    case = case if model is None else model.with_von_karman(case)
    time, starts = frames[2:]  # times and step numbers count from the start of the case
    dt = None if starts is None else time[-1] / jnp.asarray(starts[1][-1], time.dtype)

    def of_frame(frame):
        state, clo_state, time, start_of_step = frame
        placed = dataclasses.replace(case, grid=grid).placed(state)
        now = Snapshot(state, clo_state, time, placed.grid, case)
        values = {name: diagnostic(name)(now) for name in names}
        if model is None or start_of_step is None or dt is None:
            return values
        start, step = start_of_step
        stepped = dataclasses.replace(now, last=LastStep.of(model, start, state, case, dt))
        # In the order of `names`, not of the set: every process then finds the same program in the cache.
        for name in (name for name in names if name in OF_THE_STEP):
            # No step precedes the first frame of a run.
            values[name] = jnp.where(start.step < step, DIAGNOSTICS[name](stepped), values[name])
        return values

    return jax.lax.map(of_frame, frames)


def diagnose(
    trajectory: Trajectory, case: Case, names: Sequence[str], model: Model | None = None
) -> dict[str, Float[Array, "..."]]:
    """Evaluate diagnostics of all frames.

    Args:
        trajectory, case: a run, and its case.
        names: names of `DIAGNOSTICS`, or with numbers, such as `mixed_layer_depth_0.5K_from_10m`.
        model: model of the run; with it and a trajectory with `step_starts`, diagnostics in `OF_THE_STEP` are
            those of the last step before each frame, otherwise those of the frame itself.

    Returns:
        Values by name: on cells, on faces or one per column, with a leading time axis.

    Raises:
        ValueError: an unknown name.
    """
    for name in names:
        diagnostic(name)  # raises if unknown
    if not names:
        return {}
    starts = None
    if model is not None and trajectory.step_starts is not None:
        starts = trajectory.step_starts, trajectory.step
        if not is_traced((trajectory.time, trajectory.step)) and trajectory.step[-1] > 0:
            # The run averaged forcing finer than its steps.
            case = case_over_steps(model, case, float(trajectory.time[-1]) / int(trajectory.step[-1]))
        case = batched_case(model, case)
    frames = trajectory.state, trajectory.clo_state, trajectory.time, starts
    return _diagnose(frames, trajectory.grid, case.unlabelled(), tuple(names), model)
