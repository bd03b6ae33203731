"""Onset of convection from rest, for closures whose turbulence has to grow from its floors.

At the floors of k and epsilon, T = k/eps, turbulence grows where production exceeds dissipation,

    T² (c_mu S² - c_mu' N²) > 1,

and T grows with it. With GOTM's floors T is 100 s, and N² has to fall below -7e-4 s-2. Only conduction of the
water gets it there: if the surface loses the buoyancy flux B, N² between the first two cells of thickness dz
falls by B t / dz², towards -B / kappa. The delay is therefore proportional to the square of the cell
thickness, and convection never starts where conduction carries the whole flux. Likewise S grows with the
stress, by u*² t / dz² towards u*² / nu; the Coriolis
parameter f limits it to 2 u*² / (|f| dz²). The delay counts from the time at which the
first two cells become unstable.
"""

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from .._types import Scalar
from ..closures import MellorYamada
from ..closures.energy import AbstractEnergyClosure
from ..closures.stability import Flow
from ..column.case import Case
from ..column.forcing import WaterSurface
from ..column.model import Model
from ..column.terms.surface import kinematic_fluxes, wind_stress
from ..physics.stratification import buoyancy_frequency_squared

_TRIED = np.geomspace(1e-3, 1e6, 400)
"""Values of -T² N² and T² S² among which growth is looked for."""


def delay_of_convection(model: Model, case: Case, duration: float) -> float | None:
    """Delay [s] of convection in a column cooled as at its start.

    Infinite if no turbulence grows within `duration` [s]. `None` if there is no delay: a batch of columns,
    ice, water that does not become unstable, a closure without floors of k and epsilon, or one whose
    turbulence is driven by the surface flux, breaking waves or internal waves.
    """
    closure, grid = model.closure, case.grid
    if not isinstance(closure, AbstractEnergyClosure) or closure.internal_waves is not None:
        return None
    factor = closure.convective_flux_factor
    # In Mellor-Yamada closures the length scale stays at its floor and dissipates the energy from the
    # surface.
    started = factor is not None and float(factor) > 0.0 and not isinstance(closure, MellorYamada)
    if started or grid.z_face.ndim > 1 or case.ice is not None:
        return None
    lost, stress, n_squared = map(float, _at_start(case.unlabelled()))
    if lost <= 0.0 or (stress > 0.0 and closure.surface.breaking_waves is not None):
        return None
    time_scale, at_floors, unstable, sheared = map(float, _at_floors(closure))
    viscosity, diffusivity = (
        at_floors + float(of_model if of_case is None else of_case)
        for of_model, of_case in (
            (model.molecular_viscosity, case.background_viscosity),
            (model.molecular_diffusivity, case.background_diffusivity),
        )
    )
    thickness = np.diff(np.asarray(grid.z_face, dtype=float))[-2:]
    area = float(thickness[-1] * thickness.mean())
    stable = max(n_squared, 0.0) * area / lost  # [s]
    if stable >= duration:
        return None
    coriolis = abs(float(case.coriolis_parameter))
    rotating = 2.0 / coriolis if coriolis > 0.0 else math.inf  # as long as the shear grows [s]
    starts = [
        begin + area * gradient / flux
        for begin, gradient, flux, coefficient, longest in (
            (stable, unstable / time_scale**2, lost, diffusivity, math.inf),
            (0.0, math.sqrt(sheared) / time_scale, stress, viscosity, rotating),
        )
        if gradient * coefficient < flux and area * gradient < longest * flux
    ]
    start = min(starts, default=math.inf)
    return max(0.0, start - stable) if start < duration else math.inf


@eqx.filter_jit
def _at_start(case: Case) -> tuple[Scalar, Scalar, Scalar]:
    """Buoyancy that the surface loses [m2 s-3], kinematic stress [m2 s-2], and uppermost N² [s-2]."""
    state, eos = case.start_state, case.equation_of_state
    fluxes = case.forcing.at(0.0, WaterSurface.of(state))
    entering = kinematic_fluxes(state, eos, fluxes)
    sun = 0.0 if fluxes.shortwave_flux is None else fluxes.shortwave_flux
    heat = entering["temperature"] + sun / (eos.reference_density * eos.heat_capacity)
    alpha, beta = eos.expansion(state.temperature[-1], state.salinity[-1], case.grid.z_center[-1])
    lost = eos.gravity * (beta * entering["salinity"] - alpha * heat)
    stress = jnp.hypot(*wind_stress(fluxes, state)) / eos.reference_density
    return lost, stress, buoyancy_frequency_squared(state, case.grid, eos)[-1]


@eqx.filter_jit
def _at_floors(closure: AbstractEnergyClosure) -> tuple[Scalar, ...]:
    """T [s], eddy coefficients [m2 s-1], and the least -T² N² and T² S² at which turbulence grows."""
    functions, tke = closure.stability.stability_functions(), closure.turbulent_kinetic_energy_floor
    time_scale = tke / closure.dissipation_rate_floor
    tried, none, one = jnp.asarray(_TRIED), jnp.zeros(_TRIED.size), jnp.ones(_TRIED.size)
    grows = functions.in_flow(Flow(one, -tried, none))[1] * tried > 1.0
    shears = functions.in_flow(Flow(one, none, tried))[0] * tried > 1.0
    least = (jnp.where(jnp.any(each), tried[jnp.argmax(each)], jnp.inf) for each in (grows, shears))
    return time_scale, functions.c_mu_0**4 * tke * time_scale, *least
