"""Momentum, heat, salt and tracers over one step: what is added, what is carried, what is mixed.

Quantities that share a matrix (u with v; temperature with salinity and tracers, unless they relax at rates of
their own) are solved for together, and all matrices side by side.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ._types import CenterArray, ColumnArray, FaceArray, InnerFaceArray, Scalar, ScalarLike
from .case import Case
from .closures.base import CloState
from .forcing import SurfaceFluxes
from .interior import Target, VerticalVelocity, advect
from .numerics.diffusion import DiffusionSystem, Flow, Source, diffusion_system
from .numerics.limiters import reciprocal, vector_norm
from .numerics.stencils import gradient
from .numerics.tridiagonal import AbstractTridiagonalMethod, solve_tridiagonal_systems
from .physics.plume import Plume
from .state import State

_DOWN_GRADIENT = "temperature_mixed_down_its_gradient"


class MolecularMixing(NamedTuple):
    """Added to the eddy coefficients [m2 s-1]; salt `None` for that of heat, which saves a matrix."""

    viscosity: Scalar
    diffusivity: Scalar
    salt_diffusivity: Scalar | None


class Fluxes(NamedTuple):
    """Fluxes through the surface in this step, and in the one before where non-local fluxes are those."""

    now: SurfaceFluxes
    before: SurfaceFluxes | None


class Forced(NamedTuple):
    """A group of quantities that share a matrix, with what acts on them.

    Args:
        quantities: pytree of values on cells.
        sources: a `Source` for each.
        sink_rate: implicit, of all of them [s-1].
        eddy_coefficient: on faces [m2 s-1].
        molecular_coefficient: [m2 s-1].
        rising: mass flux of the surroundings of plumes on faces [m s-1]; `None` without plumes.
    """

    quantities: Any
    sources: Any
    sink_rate: CenterArray | None
    eddy_coefficient: Any
    molecular_coefficient: Scalar
    rising: FaceArray | None = None

    def system(self, case: Case, dt: ScalarLike, theta: float) -> DiffusionSystem:
        coefficient = self.eddy_coefficient[1:-1] + self.molecular_coefficient
        return diffusion_system(
            self.quantities,
            coefficient * reciprocal(case.grid.center_spacing),
            case.grid.cell_thickness,
            dt,
            source=self.sources,
            sink_rate=self.sink_rate,
            theta=theta,
            flow=None if self.rising is None else Flow(upward=self.rising[1:-1]),
        )


def transport(
    state: State,
    clo_state: CloState,
    plume: Plume | None,
    case: Case,
    fluxes: Fluxes,
    molecular: MolecularMixing,
    time: ScalarLike,
    dt: ScalarLike,
    *,
    theta: float,
    in_turn: bool,
    method: AbstractTridiagonalMethod | None,
) -> State:
    """State after a step that ends at `time`, from that after the rotation.

    Args:
        state: velocity already turned.
        clo_state: eddy coefficients of the step.
        plume: water in the plumes; `None` for a closure without a mass flux.
        case: grid, interior forcing, equation of state.
        fluxes: through the surface.
        molecular: mixing without turbulence.
        time: end of the step [s].
        dt: length of the step [s].
        theta: weight of the new values in the diffusive fluxes.
        in_turn: whether u, v and the contents are computed one after another, as in GOTM: the bottom drags v
            by the new u, and gradients are carried by the new velocity.
        method: of the linear solves.
    """
    entering, targets = state, case.interior.relaxation
    sources = _momentum_sources(state, clo_state, case, fluxes.now, time)
    if plume is not None:
        sources = _sinking(sources, plume.velocity)
    held = {name: getattr(state, name) for name in case.interior.held}
    if case.interior.vertical_velocity is not None:
        state = _carry(state, case, case.interior.vertical_velocity, time, dt)
    sources, pull = _relax(sources, (targets.u, targets.v) if targets else (None, None), case, time)

    def momentum(over_bottom: State, which: slice) -> Forced:
        """Components of the velocity, and the drag of a bottom over which a state flows."""
        rate = _add_rates(pull, _bottom_drag(state, over_bottom, case))
        rate = _add_rates(rate, _surface_drag(state, case, fluxes.now))
        rising = None if clo_state.mass_flux is None else clo_state.mass_flux.momentum
        viscosities = clo_state.eddy_viscosity, molecular.viscosity
        return Forced((state.u, state.v)[which], sources[which], rate, *viscosities, rising)

    def contents(u: CenterArray, v: CenterArray) -> list[Forced]:
        """What the water contains, and what a velocity carries of it."""
        given = _content_sources(_moving(entering, u, v), clo_state, case, fluxes, time)
        if plume is not None:
            given = {name: _sinking(given[name], getattr(plume, name)) for name in given}
        return list(_contents(state, given, clo_state, case, molecular, time).values())

    def advanced(*groups: Forced) -> tuple[Any, ...]:
        return _solved(groups, case, dt, theta, method) if groups else ()

    def driven(u: CenterArray, v: CenterArray) -> tuple[CenterArray, CenterArray]:
        gradient = case.interior.pressure_gradient
        return (u, v) if gradient is None else gradient.correct(u, v, case.grid, time)

    if in_turn:
        ((u,),) = advanced(momentum(state, slice(0, 1)))
        ((v,),) = advanced(momentum(_moving(state, u, state.v), slice(1, 2)))
        u, v = driven(u, v)
        mixed = advanced(*contents(u, v))
    else:
        (u, v), *mixed = advanced(momentum(state, slice(0, 2)), *contents(entering.u, entering.v))
        u, v = driven(u, v)
    new = held | {name: values for group in mixed for name, values in group.items()}
    if _DOWN_GRADIENT in new:
        new["temperature"] = _within_range(new["temperature"], new[_DOWN_GRADIENT], state.temperature)
    return State(u, v, new["temperature"], new["salinity"], new.get("tracers", {}))


def _moving(state: State, u: CenterArray, v: CenterArray) -> State:
    return State(u, v, state.temperature, state.salinity, state.tracers)


def _solved(
    groups: tuple[Forced, ...],
    case: Case,
    dt: ScalarLike,
    theta: float,
    method: AbstractTridiagonalMethod | None,
) -> tuple[Any, ...]:
    """New values of groups, whose matrices are solved side by side."""
    systems = [group.system(case, dt, theta) for group in groups]
    return solve_tridiagonal_systems(
        tuple(system.matrix for system in systems),
        tuple(system.rhs for system in systems),
        method,
        # For the change: a constant salinity stays what it is, and float32 serves for days.
        guess=tuple(group.quantities for group in groups),
        residual=tuple(system.residual for system in systems),
        sinking=tuple(system.sinking for system in systems),
    )


def _contents(
    state: State,
    sources: dict[str, Any],
    clo_state: CloState,
    case: Case,
    molecular: MolecularMixing,
    time: ScalarLike,
) -> dict[str, Forced]:
    """Temperature, salinity and tracers in as few groups as their rates and diffusivities allow."""
    targets = case.interior.relaxation
    given = {
        "temperature": targets.temperature if targets else None,
        "salinity": targets.salinity if targets else None,
        "tracers": None,
    }
    groups: dict[str, Forced] = {}
    for name, target in given.items():
        if name in case.interior.held:
            continue
        eddy, molecular_part = clo_state.eddy_diffusivity, molecular.diffusivity
        own_diffusivity = False
        if name == "salinity":
            of_salt = clo_state.salt_diffusivity()
            own_diffusivity = of_salt is not None or molecular.salt_diffusivity is not None
            eddy = eddy if of_salt is None else of_salt
            if molecular.salt_diffusivity is not None:
                molecular_part = molecular.salt_diffusivity
        key = name if target is not None or own_diffusivity else "contents"
        source, rate = sources[name], None
        if target is not None:
            (source,), rate = _relax((source,), (target,), case, time)
        before = groups[key] if key in groups else Forced({}, {}, None, None, molecular.diffusivity)
        quantities, added = {name: getattr(state, name)}, {name: source}
        if name == "temperature" and clo_state.nonlocal_temperature_flux() is not None:
            quantities[_DOWN_GRADIENT] = state.temperature
            added[_DOWN_GRADIENT] = source._replace(downward=None)
        groups[key] = Forced(
            before.quantities | quantities,
            before.sources | added,
            rate,
            eddy,
            molecular_part,
            None if clo_state.mass_flux is None else clo_state.mass_flux.contents,
        )
    return {name: group for name, group in groups.items() if jax.tree.leaves(group.quantities)}


def _within_range(new: CenterArray, down_gradient: CenterArray, old: CenterArray) -> CenterArray:
    """New values within the range of the old ones and of those without the flux against the gradient.

    All of that flux is weakened by one factor where it would lead out of it: content is kept.
    """
    highest = jnp.maximum(jnp.max(old, axis=0), jnp.max(down_gradient, axis=0))
    lowest = jnp.minimum(jnp.min(old, axis=0), jnp.min(down_gradient, axis=0))
    change = new - down_gradient
    room = jnp.where(change > 0.0, highest - down_gradient, down_gradient - lowest)
    leaves = (new > highest) | (new < lowest)
    share = jnp.where(leaves, room * reciprocal(jnp.where(leaves, jnp.abs(change), 1.0)), 1.0)
    share = jnp.min(share, axis=0)
    return jnp.where(share < 1.0, down_gradient + share * change, new)


def _sinking(sources: Any, plume: Any) -> Any:
    """Sources with what plumes carry."""
    is_source = lambda node: isinstance(node, Source)  # noqa: E731
    return jax.tree.map(lambda s, values: s._replace(sinking=values), sources, plume, is_leaf=is_source)


def _carry(state: State, case: Case, vertical: VerticalVelocity, time: ScalarLike, dt: ScalarLike) -> State:
    velocity = vertical.at(case.grid, time)
    options = {"scheme": vertical.scheme, "n_substeps": vertical.n_substeps}
    return jax.tree.map(lambda values: advect(values, velocity, case.grid, dt, **options), state)


def _relax(
    sources: tuple[Source, ...], targets: tuple[Target | None, ...], case: Case, time: ScalarLike
) -> tuple[tuple[Source, ...], CenterArray | None]:
    """Sources with what pulls to the observed profiles, and the rate, which is that of all of them."""
    pulled, rate = [], None
    for source, target in zip(sources, targets, strict=True):
        if target is not None:
            rate = target.rate_at(time)
            pull = rate * target.profiles.at(time) * case.grid.cell_thickness
            source = source._replace(volumes=_add_rates(source.volumes, pull))
        pulled.append(source)
    return tuple(pulled), rate


def _add_rates(first: ColumnArray | None, second: ColumnArray | None) -> ColumnArray | None:
    if first is None or second is None:
        return second if first is None else first
    return first + second


def _bottom_drag(state: State, flow: State, case: Case) -> CenterArray | None:
    """Rate at which the bottom slows the lowest cell [s-1]: with the coefficient of a state, and a flow."""
    friction = case.interior.bottom_friction
    if friction is None:
        return None
    thickness = case.grid.cell_thickness
    _, _, coefficient = friction.at(state.u[0], state.v[0], thickness[0])
    rate = coefficient * vector_norm(flow.u[0], flow.v[0]) / thickness[0]
    return jnp.concatenate([jnp.zeros_like(state.u[:1]) + rate, jnp.zeros_like(state.u[1:])])


def _surface_drag(state: State, case: Case, fluxes: SurfaceFluxes) -> CenterArray | None:
    """Rate at which the air slows the uppermost cell [s-1]."""
    if fluxes.surface_drag is None:
        return None
    rate = fluxes.surface_drag / (case.equation_of_state.reference_density * case.grid.cell_thickness[-1])
    return jnp.concatenate([jnp.zeros_like(state.u[1:]), jnp.zeros_like(state.u[:1]) + rate])


def _momentum_sources(
    state: State, clo_state: CloState, case: Case, fluxes: SurfaceFluxes, time: ScalarLike
) -> tuple[Source, Source]:
    """Acceleration times thickness [m2 s-2] of u and v."""
    eos, interior, thickness = case.equation_of_state, case.interior, case.grid.cell_thickness
    volumes: list[CenterArray | None] = [None, None]
    accelerations = []
    if interior.pressure_gradient is not None:
        accelerations.append(interior.pressure_gradient.acceleration(time, eos.gravity))
    if interior.buoyancy_gradient is not None:
        accelerations.append(interior.buoyancy_gradient.acceleration(state, case.grid, eos, time))
    for acceleration in accelerations:
        if acceleration is not None:
            parts = (thickness * component for component in acceleration)
            volumes = [_add_rates(old, new) for old, new in zip(volumes, parts, strict=True)]
    coefficient, drift = clo_state.down_stokes_shear(), interior.stokes_drift
    downward: list[InnerFaceArray | None] = [None, None]
    if coefficient is not None and drift is not None:
        speeds = drift.at(case.grid, time)
        downward = [coefficient[1:-1] * gradient(values, case.grid) for values in speeds]
    given = zip((fluxes.stress_u, fluxes.stress_v), (state.u, state.v), strict=True)
    stress = [or_zero(flux, state) + or_zero(fluxes.surface_drag, state) * speed[-1] for flux, speed in given]
    return (
        Source(volumes=volumes[0], surface=stress[0] / eos.reference_density, downward=downward[0]),
        Source(volumes=volumes[1], surface=stress[1] / eos.reference_density, downward=downward[1]),
    )


def _content_sources(
    state: State, clo_state: CloState, case: Case, fluxes: Fluxes, time: ScalarLike
) -> dict[str, Any]:
    """Content added per cell, area and time [unit m s-1]: temperature, salinity, passive tracers."""
    heat, salt, passive = kinematic_fluxes(state, case, fluxes.now)
    carried = (None, None)
    if case.interior.buoyancy_gradient is not None:
        carried = case.interior.buoyancy_gradient.advection(state.u, state.v, time)
    thickness, sunlight = case.grid.cell_thickness, penetrating_sunlight(case, fluxes.now)
    in_heat, in_salt = (None if rate is None else rate * thickness for rate in carried)
    entered, entered_salt = _entered(heat, sunlight), salt
    if fluxes.before is not None:
        heat_before, entered_salt, _ = kinematic_fluxes(state, case, fluxes.before)
        entered = _entered(heat_before, penetrating_sunlight(case, fluxes.before))
    in_heat = _add_rates(_absorbed(sunlight), in_heat)
    of_temperature = _content_source(heat, entered, clo_state, in_heat)
    upward = clo_state.nonlocal_temperature_flux()
    if upward is not None:
        downward = _add_rates(of_temperature.downward, -upward[1:-1])
        of_temperature = of_temperature._replace(downward=downward)
    return {
        "temperature": of_temperature,
        "salinity": _content_source(salt, entered_salt, clo_state, in_salt),
        "tracers": {name: _content_source(passive[name], passive[name], clo_state) for name in state.tracers},
    }


def _entered(surface_flux: Scalar, sunlight: FaceArray | None) -> InnerFaceArray | Scalar:
    """What enters through the surface and stays above a face [unit m s-1]."""
    return surface_flux if sunlight is None else surface_flux + (sunlight[-1] - sunlight[1:-1])


def _content_source(
    surface_flux: Scalar,
    entered: InnerFaceArray | Scalar,
    clo_state: CloState,
    volumes: CenterArray | None = None,
) -> Source:
    """Boundary flux, the non-local flux, and what is added in the volumes [unit m s-1]."""
    if clo_state.nonlocal_transport is None:
        return Source(volumes=volumes, surface=surface_flux)
    return Source(volumes, surface=surface_flux, downward=entered * clo_state.nonlocal_transport[1:-1])


def or_zero(flux: Scalar | None, state: State) -> Scalar:
    """A flux, or zero in the precision of the state where there is none."""
    return jnp.zeros((), state.temperature.dtype) if flux is None else flux


def kinematic_fluxes(
    state: State, case: Case, fluxes: SurfaceFluxes
) -> tuple[Scalar, Scalar, dict[str, Scalar]]:
    """Fluxes into the uppermost cell: temperature [K m s-1], salinity [g kg-1 m s-1], tracers."""
    eos = case.equation_of_state
    heat = or_zero(fluxes.heat_flux, state) / (eos.reference_density * eos.heat_capacity)
    # Fresh water dilutes the uppermost cell without changing its volume; salt flux is in kg, salinity in g.
    dilution = -state.salinity[-1] * or_zero(fluxes.freshwater_flux, state)
    salt = (dilution + 1e3 * or_zero(fluxes.salt_flux, state)) / eos.reference_density
    return heat, salt, {name: or_zero(fluxes.tracer_fluxes.get(name), state) for name in state.tracers}


def penetrating_sunlight(case: Case, fluxes: SurfaceFluxes) -> FaceArray | None:
    """Heating that sunlight carries down through each face [K m s-1], positive downward."""
    if fluxes.shortwave_flux is None:
        return None
    eos = case.equation_of_state
    entering = fluxes.shortwave_flux / (eos.reference_density * eos.heat_capacity)
    return entering * case.absorption.transmission(case.grid)


def _absorbed(sunlight: FaceArray | None) -> CenterArray | None:
    """Absorbed sunlight per cell [K m s-1]."""
    return None if sunlight is None else sunlight[1:] - sunlight[:-1]
