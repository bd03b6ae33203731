"""Onset of convection from rest with a closure whose turbulence has to grow from its floors.

At the floors of k and epsilon, T = k/eps, turbulence grows where production exceeds dissipation,

    T² (c_mu S² - c_mu' N²) > 1,

and T grows with it. With GOTM's floors T is 100 s and N² has to fall below -7e-4 s-2. What takes it there is
the conduction of the water alone: where the surface loses the buoyancy flux B, N² between the first two cells
of thickness dz falls by B t / dz², towards -B / kappa. So the delay goes with the square of the thickness of
cells, and convection never begins where the water conducts all that is lost. S² grows with the stress.
"""

import functools
import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from .case import Case
from .closures import MellorYamada
from .closures.energy import AbstractEnergyClosure
from .closures.stability import Flow
from .forcing import WaterSurface
from .model import Model
from .physics.stratification import buoyancy_frequency_squared
from .terms.surface import kinematic_fluxes, surface_stress

_N_CELLS, _N_TIMES = 60, 200  # from the surface down, and after the start
_FIRST_TIME = 10.0  # [s]


def delay_of_convection(model: Model, case: Case, duration: float) -> float | None:
    """Time [s] for which unstable water waits for turbulence in a column that is cooled as at its start.

    Infinite where no turbulence grows within `duration` [s]. `None` where there is nothing to wait for: a
    batch of columns, ice, water that does not become unstable; a closure without floors of k and epsilon, or
    one that has turbulence from the surface flux, from breaking waves, or from internal waves.
    """
    closure, grid, state = model.closure, case.grid, case.start_state
    if not isinstance(closure, AbstractEnergyClosure) or closure.internal_waves is not None:
        return None
    factor = closure.convective_flux_factor
    # Mellor and Yamada's length stays that of the floors, and dissipates what the surface brings.
    started = factor is not None and float(factor) > 0.0 and not isinstance(closure, MellorYamada)
    if started or grid.z_face.ndim > 1 or case.ice is not None:
        return None
    eos, fluxes = case.equation_of_state, case.forcing.at(0.0, WaterSurface.of(state))
    entering = kinematic_fluxes(state, eos, fluxes)
    sun = 0.0 if fluxes.shortwave_flux is None else fluxes.shortwave_flux
    heat = entering["temperature"] + sun / (eos.reference_density * eos.heat_capacity)
    alpha, beta = eos.expansion(state.temperature[-1], state.salinity[-1], grid.z_center[-1])
    lost = -float(eos.gravity * (alpha * heat - beta * entering["salinity"]))
    stress = math.hypot(*map(float, surface_stress(fluxes, state))) / float(eos.reference_density)
    if lost <= 0.0 or (stress > 0.0 and closure.surface.breaking_waves is not None):
        return None
    functions = closure.stability.stability_functions()
    tke = float(closure.turbulent_kinetic_energy_floor)
    time_scale = tke / float(closure.dissipation_rate_floor)
    at_floors = float(functions.c_mu_0) ** 4 * tke * time_scale
    viscosity, diffusivity = (
        at_floors + float(of_model if of_case is None else of_case)
        for of_model, of_case in (
            (model.molecular_viscosity, case.background_viscosity),
            (model.molecular_diffusivity, case.background_diffusivity),
        )
    )
    times = np.append(0.0, np.geomspace(_FIRST_TIME, max(duration, 2.0 * _FIRST_TIME), _N_TIMES))
    thickness = np.asarray(grid.cell_thickness, dtype=float)[-_N_CELLS:]
    spacing = 0.5 * (thickness[1:] + thickness[:-1])
    n_squared = np.asarray(buoyancy_frequency_squared(state, grid, eos), dtype=float)[-spacing.size :]
    conducted = functools.partial(_gradients, times=times, thickness=thickness, spacing=spacing)
    turning = 1j * float(case.coriolis_parameter)
    n_squared = np.real(conducted(n_squared, surface=-lost, diffusivity=diffusivity))
    shear = conducted(np.zeros(spacing.size), surface=stress, diffusivity=viscosity, turning=turning)
    growth = _growth(functions, jnp.asarray(n_squared), jnp.asarray(abs(shear) ** 2), time_scale)
    unstable = np.flatnonzero((n_squared < 0.0).any(axis=1))
    grows = np.flatnonzero((np.asarray(growth) > 1.0).any(axis=1))
    if not unstable.size:
        return None
    return max(0.0, float(times[grows[0]] - times[unstable[0]])) if grows.size else math.inf


def _gradients(
    start: np.ndarray,
    *,
    times: np.ndarray,
    thickness: np.ndarray,
    spacing: np.ndarray,
    surface: float,
    diffusivity: float,
    turning: complex = 0.0,
) -> np.ndarray:
    """Gradients `(n_times, n_faces)` between cells that a flux enters from above, by conduction alone.

    `turning` is the rotation i f of a velocity u + i v [s-1].
    """
    values = np.append(0.0, np.cumsum(start * spacing)).astype(complex)
    identity, between = np.eye(thickness.size), np.diff(np.eye(thickness.size), axis=0)
    rates = diffusivity * between.T @ (between / spacing[:, None]) / thickness[:, None] + turning * identity
    gained, all_values = np.append(np.zeros(spacing.size), surface / thickness[-1]), [values]
    for step in np.diff(times):  # implicit
        values = np.linalg.solve(identity + step * rates, values + step * gained)
        all_values.append(values)
    return np.diff(np.stack(all_values), axis=1) / spacing


@eqx.filter_jit
def _growth(functions, n_squared, s_squared, time_scale: float):
    """(P + B) / eps [1] at the floors."""
    flow = Flow(jnp.full_like(n_squared, time_scale**-2), n_squared, s_squared)
    c_mu, c_mu_prime = functions.in_flow(flow)
    return time_scale**2 * (c_mu * s_squared - c_mu_prime * n_squared)
