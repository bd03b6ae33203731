"""Budgets between the profiles of a file and the surface fluxes of the same file.

If the content of the column does not follow the flux, but closely follows it with another sign, factor or
direction at all times, that is the likely mistake. Profiles that follow neither prove nothing: currents may
change the content.
"""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from .._types import InputWarning
from ..column.case import Case
from ..column.forcing import (
    AbstractForcing,
    ConstantForcing,
    SurfaceFluxes,
    TimeSeriesForcing,
    WaterSurface,
)
from ..column.observations import Observations
from ..column.state import State
from ..column.terms import BottomHeat
from ..column.terms.base import or_zero
from ..column.terms.surface import kinematic_fluxes
from ..physics import AbstractEquationOfState
from .inputs import uncorrected
from .rules import unlikely

_CLOSE = 0.12
"""Largest relative misfit of a budget at which a mistake counts as its explanation."""
_WATER = 1025.0 * 3991.0
"""Approximate heat capacity per volume of any water [J m-3 K-1]."""
_SCALARS = {
    "temperature": ("heat_budget", "heat_flux", "an upward flux", _WATER, "J m-2", 1e4),
    "salinity": (
        "salt_budget", "freshwater_flux", "evaporation minus precipitation", 1.0, "g kg-1 m", 1e-3
    ),
}  # fmt: skip
"""Rule, flux, cause of a wrong sign, factor and unit of the content, and smallest change that counts."""


def _contents(case: Case, observations: Observations, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return times of complete profiles, and their integrals over depth; empty for fewer than two.

    Levels without any value are left out; if fewer than two profiles are then complete, so are levels
    that are often missing.
    """
    values, z = np.asarray(observations.profiles[name], dtype=float), np.asarray(observations.z)
    known = np.isfinite(values)
    levels = known.any(axis=0)
    if known[:, levels].all(axis=1).sum() < 2:
        levels &= known.mean(axis=0) >= 0.9 * known.mean(axis=0).max()
    complete = known[:, levels].all(axis=1)
    if levels.sum() < 3 or complete.sum() < 2:
        return np.zeros(0), np.zeros(0)
    heights = z[levels]
    lowest = max(heights[0] - 0.5 * (heights[1] - heights[0]), -float(case.grid.depth))
    faces = np.concatenate([[lowest], 0.5 * (heights[1:] + heights[:-1]), [0.0]])
    contents = values[complete][:, levels] @ np.diff(faces)
    return np.asarray(observations.time)[complete], contents


def _integral(instants: np.ndarray, values: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Return the integral of values at instants from the first to each of the times, which are among them."""
    total = np.cumsum(0.5 * (values[1:] + values[:-1]) * np.diff(instants))
    return np.concatenate([[0.0], total])[np.searchsorted(instants, time)]


def _fluxes(case: Case, time: np.ndarray) -> tuple[np.ndarray, SurfaceFluxes, WaterSurface]:
    """Return instants (`time`, and those of the forcing between), fluxes, and the initial surface water."""
    instants = np.asarray(getattr(case.forcing, "time", time))
    instants = np.union1d(instants[(instants > time[0]) & (instants < time[-1])], time)
    zeros, start = np.zeros(instants.shape), case.initial_state
    temperature, salinity = (zeros + np.asarray(each)[-1] for each in (start.temperature, start.salinity))
    water = WaterSurface(zeros, zeros, temperature, salinity)
    return instants, _fluxes_at(case.forcing, instants, water), water


@jax.jit  # operation by operation, the interpolation would compile twenty programs
def _fluxes_at(forcing: AbstractForcing, instants, water: WaterSurface) -> SurfaceFluxes:
    return jax.vmap(lambda *instant_and_water: forcing.at(*instant_and_water))(instants, water)


def _supply(case: Case, name: str, time: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return heat [K m] or salt [g kg-1 m] added until each time: at the surface, by sun, at the bottom."""
    instants, fluxes, water = _fluxes(case, time)
    parts = _supplied(case.equation_of_state, case.interior.bottom_heat, fluxes, water)[name]
    return tuple(_integral(instants, np.asarray(part), time) for part in parts)


@jax.jit
def _supplied(
    eos: AbstractEquationOfState, bottom: BottomHeat | None, fluxes: SurfaceFluxes, water: WaterSurface
) -> dict[str, tuple[jax.Array, ...]]:
    """Fluxes of heat [K m s-1] and salt [g kg-1 m s-1] at the surface, by shortwave and at the bottom."""
    zeros, per_kelvin = jnp.zeros_like(water.temperature), eos.reference_density * eos.heat_capacity
    uppermost = State(zeros[None], zeros[None], water.temperature[None], water.salinity[None])
    surface = kinematic_fluxes(uppermost, eos, fluxes)
    sun = zeros + or_zero(fluxes.shortwave_flux, uppermost) / per_kelvin
    from_bottom = zeros + (0.0 if bottom is None else bottom.heat_flux) / per_kelvin
    return {
        "temperature": (zeros + surface["temperature"], sun, from_bottom),
        "salinity": (zeros + surface["salinity"], zeros, zeros),
    }


def heat_budget(case: Case, observations: Observations) -> tuple[float, float] | None:
    """Return the mean rates at which profiles gain heat and fluxes add it [W m-2]; `None` if unknown."""
    has_heat = "temperature" in observations.profiles and "temperature" not in case.held
    if observations.moves or case.batch_shape or not has_heat:
        return None
    time, content = _contents(case, observations, "temperature")
    if not time.size:
        return None
    eos = case.equation_of_state
    per_kelvin = float(eos.reference_density) * float(eos.heat_capacity) / float(time[-1] - time[0])
    added = sum(part[-1] for part in _supply(case, "temperature", time))
    return per_kelvin * float(content[-1] - content[0]), per_kelvin * float(added)


def unclosed_budgets(case: Case, observations: Observations | None) -> Iterator[InputWarning]:
    """Warn of profiles of the sea that follow the fluxes with another sign, factor or direction."""
    case = replace(case, forcing=uncorrected(case.forcing))
    if observations is None or observations.moves or observations.z.size < 5 or case.grid.area is not None:
        return
    if not isinstance(case.forcing, ConstantForcing | TimeSeriesForcing):
        return
    is_simulation = _is_simulation(case, observations)
    names = [name for name in ("temperature", "salinity", "u", "v") if name in observations.profiles]
    contents = {name: _contents(case, observations, name) for name in names}
    # Two profiles of the sea would prove a factor by chance.
    contents = {name: pair for name, pair in contents.items() if pair[0].size >= (2 if is_simulation else 8)}
    for name in filter(contents.__contains__, _SCALARS):
        yield from _scalar_budget(case, name, *contents[name], is_simulation)
    if is_simulation and {"u", "v"} <= contents.keys():
        (time, u), (_, v) = contents["u"], contents["v"]
        yield from _momentum_budget(case, time, u + 1j * v)


def _is_simulation(case: Case, observations: Observations) -> bool:
    """True for a large-eddy simulation, and for profiles that are complete over the column at all times."""
    z, profiles = np.asarray(observations.z), observations.profiles
    if observations.source == "LES" or z.size < 8 or observations.time.size < 4:
        return observations.source == "LES"
    spacing = 1.5 * float(np.max(np.diff(z)))
    reaches = z[-1] > -spacing and z[0] < spacing + float(np.asarray(case.grid.z_face)[0])
    names = "temperature", "u", "v"
    return bool(reaches) and all(name in profiles and np.isfinite(profiles[name]).all() for name in names)


def _misfit(content: np.ndarray, expected: np.ndarray) -> float:
    """Root mean square of the difference over that of the content [1]."""
    return float(np.sqrt(np.mean(np.abs(content - expected) ** 2) / np.mean(np.abs(content) ** 2)))


def _mistake(
    content: np.ndarray,
    expected: np.ndarray,
    tried: Sequence[tuple[str, str, np.ndarray]],
    is_simulation: bool,
) -> tuple[str, str] | None:
    """Return cause and remedy of the mistake that explains a budget; `None` without one.

    Args:
        content: content of the profiles over time.
        expected: content that follows from the fluxes.
        tried: cause, remedy, and the content expected with this mistake.
        is_simulation: true if no currents change the content; then a looser fit and any factor count.
    """
    unexplained = _misfit(content, expected)
    misfits = [_misfit(content, explained) for *_, explained in tried]
    best, least = int(np.argmin(misfits)), min(misfits)
    is_close = least < _CLOSE and unexplained > 0.35
    if is_close or is_simulation and least < 0.3 and unexplained > max(0.2, 4.0 * least):
        return tried[best][:2]
    size = float(np.sum(np.abs(expected) ** 2))
    if not is_simulation or size == 0.0 or content.size < 4:  # fewer would fit by chance
        return None
    factor = float(np.real(np.vdot(expected, content)) / size)
    if _misfit(content, factor * expected) > _CLOSE or 0.6 < factor < 1.6:
        return None
    return f"another unit of the flux, of time or of height, {factor:.3g} times", f"`factor: {factor:.3g}`"


def _scalar_budget(
    case: Case, name: str, time: np.ndarray, content: np.ndarray, is_simulation: bool
) -> Iterator[InputWarning]:
    """Warn of profiles that lose the heat or salt that the fluxes add, or gain another multiple of it."""
    rule, flux, upward, factor, unit, least = _SCALARS[name]
    surface, sun, bottom = (factor * each for each in _supply(case, name, time))
    gained = factor * (content - content[0]) - bottom
    if np.max(np.abs(gained)) < least or np.max(np.abs(surface + sun)) == 0.0:
        return
    tried = [(upward, "`sign: -1`", of_sun * sun - surface) for of_sun in (-1.0, 1.0)]
    if np.any(sun) and np.any(surface):
        tried.append(("the sun is already counted in the heat flux", "leave shortwave_flux out", surface))
    if (mistake := _mistake(gained, surface + sun, tried, is_simulation)) is not None:
        problem = f"profiles gain {gained[-1]:.3g} {unit}, the flux adds {surface[-1] + sun[-1]:.3g}"
        yield unlikely(rule, f"fluxes.{flux}", problem, *mistake)


def _momentum_budget(case: Case, time: np.ndarray, transport: np.ndarray) -> Iterator[InputWarning]:
    """Warn of profiles whose transport follows from another stress or f than those of the case.

    The transport M of a simulation obeys dM/dt = -i f (M + S) + tau / rho with the transport S of the Stokes
    drift, which Lagrangian velocities include.
    """
    if np.max(np.abs(transport)) < 1e-2:
        return
    instants = np.union1d(np.linspace(time[0], time[-1], 4000), time)
    instants, fluxes, _ = _fluxes(case, instants)
    if fluxes.stress_u is None and fluxes.stress_v is None:
        return
    of_waves, drift = np.zeros(instants.shape), case.interior.stokes_drift
    if drift is not None and case.interior.velocities != "lagrangian":
        of_u, of_v = jax.vmap(functools.partial(drift.at, case.grid))(jnp.asarray(instants))
        of_waves = (np.asarray(of_u) + 1j * np.asarray(of_v)) @ np.asarray(case.grid.cell_thickness)
    u, v = (0.0 if part is None else np.asarray(part) for part in (fluxes.stress_u, fluxes.stress_v))
    stress = np.zeros(instants.shape) + u + 1j * v
    f, density = float(case.coriolis_parameter), float(case.equation_of_state.reference_density)

    def expected(tau: np.ndarray, rotation: float) -> np.ndarray:
        turned = np.exp(1j * rotation * (instants - time[0]))
        gained = _integral(instants, (tau / density - 1j * rotation * of_waves) * turned, time)
        return (transport[0] + gained) / turned[np.searchsorted(instants, time)]

    swapped = 1j * np.conj(stress)
    tried = (
        ("a stress on the atmosphere, upward", "`sign: -1`", -stress, f),
        ("a Coriolis parameter of the other hemisphere", "latitude", stress, -f),
        ("the components of the stress are swapped", "the variables", swapped, f),
        ("u and v of the currents are swapped", "the variables", swapped, -f),
    )
    as_given = expected(stress, f)
    explained = [(cause, key, expected(tau, rotation)) for cause, key, tau, rotation in tried]
    if (mistake := _mistake(transport, as_given, explained, True)) is not None:
        carried, implied = (f"({each.real:.3g}, {each.imag:.3g})" for each in (transport[-1], as_given[-1]))
        problem = f"profiles carry {carried} m2 s-1 (east, north) at the end, stress and f imply {implied}"
        yield unlikely("momentum_budget", "fluxes.stress_u", problem, *mistake)
