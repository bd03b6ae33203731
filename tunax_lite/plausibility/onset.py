"""Onset of convection from rest, for closures whose turbulence has to grow from its floors.

At the floors of k and epsilon, T = k/eps, turbulence grows where production exceeds dissipation,

    T² (c_mu S² - c_mu' N²) > 1,

and T grows with it. With GOTM's floors T is 100 s, and N² has to fall below -7e-4 s-2. Only conduction of the
water gets it there: if the surface loses the buoyancy flux B, N² between the first two cells of thickness dz
falls by B t / dz², towards -B / kappa. The delay is therefore proportional to the square of the cell
thickness, and convection never starts where conduction carries the whole flux. S² grows with the stress.
"""

import functools
import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from .._types import InnerFaceArray, Scalar
from ..closures import MellorYamada
from ..closures.energy import AbstractEnergyClosure
from ..closures.stability import AbstractStabilityFunctions, Flow
from ..column.case import Case
from ..column.forcing import WaterSurface
from ..column.model import Model
from ..column.terms.surface import kinematic_fluxes, wind_stress
from ..physics.stratification import buoyancy_frequency_squared

_N_CELLS, _N_TIMES = 60, 200  # from the surface down, and after the start
_FIRST_TIME = 10.0  # [s]
_ROUND_OFF = 1e-12  # of N² [s-2]


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
    loss, stresses, n_squared = _at_start(case.unlabelled())
    lost, stress = float(loss), math.hypot(*map(float, stresses))
    if lost <= 0.0 or (stress > 0.0 and closure.surface.breaking_waves is not None):
        return None
    functions, time_scale, at_floors = _at_floors(closure)
    viscosity, diffusivity = (
        float(at_floors) + float(of_model if of_case is None else of_case)
        for of_model, of_case in (
            (model.molecular_viscosity, case.background_viscosity),
            (model.molecular_diffusivity, case.background_diffusivity),
        )
    )
    times = np.append(0.0, np.geomspace(_FIRST_TIME, max(duration, 2.0 * _FIRST_TIME), _N_TIMES))
    thickness = np.diff(np.asarray(grid.z_face, dtype=float))[-_N_CELLS:]
    conducted = functools.partial(_gradients, times=times, thickness=thickness)
    turning = 1j * float(case.coriolis_parameter)
    n_squared = np.asarray(n_squared, dtype=float)[-thickness.size + 1 :]
    n_squared = np.real(conducted(n_squared, surface=-lost, diffusivity=diffusivity))
    shear = conducted(np.zeros(thickness.size - 1), surface=stress, diffusivity=viscosity, turning=turning)
    growth = _growth(functions, n_squared, abs(shear) ** 2, time_scale)
    unstable = np.flatnonzero((n_squared < -_ROUND_OFF).any(axis=1))
    grows = np.flatnonzero((np.asarray(growth) > 1.0).any(axis=1))
    if not unstable.size:
        return None
    return max(0.0, float(times[grows[0]] - times[unstable[0]])) if grows.size else math.inf


# Compiled as wholes: operation by operation they would be a hundred programs.


@eqx.filter_jit
def _at_start(case: Case) -> tuple[Scalar, tuple[Scalar, Scalar], InnerFaceArray]:
    """Buoyancy that the surface loses [m2 s-3], kinematic stress [m2 s-2] and N² [s-2]."""
    state, eos = case.start_state, case.equation_of_state
    fluxes = case.forcing.at(0.0, WaterSurface.of(state))
    entering = kinematic_fluxes(state, eos, fluxes)
    sun = 0.0 if fluxes.shortwave_flux is None else fluxes.shortwave_flux
    heat = entering["temperature"] + sun / (eos.reference_density * eos.heat_capacity)
    alpha, beta = eos.expansion(state.temperature[-1], state.salinity[-1], case.grid.z_center[-1])
    stress_u, stress_v = wind_stress(fluxes, state)
    return (
        eos.gravity * (beta * entering["salinity"] - alpha * heat),
        (stress_u / eos.reference_density, stress_v / eos.reference_density),
        buoyancy_frequency_squared(state, case.grid, eos),
    )


@eqx.filter_jit
def _at_floors(closure: AbstractEnergyClosure) -> tuple[AbstractStabilityFunctions, Scalar, Scalar]:
    """Stability functions, T [s] and eddy coefficients [m2 s-1] at the floors of k and epsilon."""
    functions, tke = closure.stability.stability_functions(), closure.turbulent_kinetic_energy_floor
    time_scale = tke / closure.dissipation_rate_floor
    return functions, time_scale, functions.c_mu_0**4 * tke * time_scale


@eqx.filter_jit
def _growth(functions: AbstractStabilityFunctions, n_squared, s_squared, time_scale: Scalar):
    """(P + B) / eps [1] at the floors."""
    flow = Flow(jnp.full_like(n_squared, time_scale**-2), n_squared, s_squared)
    c_mu, c_mu_prime = functions.in_flow(flow)
    return time_scale**2 * (c_mu * s_squared - c_mu_prime * n_squared)


def _gradients(
    start: np.ndarray,
    *,
    times: np.ndarray,
    thickness: np.ndarray,
    surface: float,
    diffusivity: float,
    turning: complex = 0.0,
) -> np.ndarray:
    """Gradients `(n_times, n_faces)` between cells heated or cooled from above, by conduction alone.

    Exact in time: the modes of conduction decay on their own. `turning` is the rotation i f of a velocity
    u + i v [s-1].
    """
    spacing, root = 0.5 * (thickness[1:] + thickness[:-1]), np.sqrt(thickness)
    between = np.diff(np.eye(thickness.size), axis=0) / root
    rates, modes = np.linalg.eigh(between.T @ (between / spacing[:, None]))
    exponents = -np.multiply.outer(times, diffusivity * rates + turning)
    steady = exponents == 0.0
    lasted = np.where(steady, 1.0, np.expm1(exponents) / np.where(steady, 1.0, exponents))
    values = np.append(0.0, np.cumsum(start * spacing)) * root
    at_surface = surface * modes[-1] / root[-1]
    found = np.exp(exponents) * (values @ modes) + times[:, None] * lasted * at_surface
    return np.diff(found @ modes.T / root, axis=1) / spacing
