"""Budgets between the profiles of a file and its own surface fluxes, and the sign of heat.

If the content of the column does not follow the flux, but follows the flux times another factor closely at
all times, that factor names the mistake. Profiles that follow neither prove nothing: there are currents.
"""

from collections.abc import Iterator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..column.case import Case
from ..column.forcing import WaterSurface
from ..column.observations import Observations
from ..column.state import State
from ..column.terms.base import or_zero
from ..column.terms.surface import kinematic_fluxes
from .finding import Finding, rule
from .inputs import DAY, Evidence, Samples

_CLOSE = 0.12
"""Largest relative misfit of a budget that proves a factor."""


@rule
def heat_sign(evidence: Evidence) -> Iterator[Finding]:
    """Note heat without the sun that warms the water for weeks of sunshine."""
    heat, light = evidence.fluxes.get("heat_flux"), evidence.fluxes.get("shortwave_flux")
    if heat is None or light is None or light.mean < 60.0:
        return
    long = heat.days > 20.0 or heat.time.size == 1
    if heat.mean > (35.0 if long else 90.0):
        said = f"expected a loss of heat beside {light.mean:.3g} W m-2 of sun, got {heat.mean:+.3g} W m-2"
        cause = "a flux that counts upward, or the net flux with the sun"
        yield heat.finding("heat_sign", said, cause, "`sign: -1`")


def _integrated(time: np.ndarray, values: np.ndarray, z: np.ndarray, bottom: float):
    """Times of complete profiles, their integrals over depth, and the height down to which they reach [m].

    Levels without any value do not count; if no two profiles are complete, levels that are often missing.
    """
    known = np.isfinite(values)
    levels = known.any(axis=0)
    if known[:, levels].all(axis=1).sum() < 2:
        levels &= known.mean(axis=0) >= 0.9 * known.mean(axis=0).max()
    complete = known[:, levels].all(axis=1)
    if levels.sum() < 3 or complete.sum() < 2:
        return np.zeros(0), np.zeros(0), 0.0
    heights = z[levels]
    lowest = max(heights[0] - 0.5 * (heights[1] - heights[0]), bottom)
    faces = np.concatenate([[lowest], 0.5 * (heights[1:] + heights[:-1]), [0.0]])
    return time[complete], values[complete][:, levels] @ np.diff(faces), float(lowest)


def _contents(evidence: Evidence, name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Times, and the content of the column [unit m], from profiles without gaps."""
    one = evidence.observed.get(name)
    if one is None or one.z is None or one.z.ndim == 2 or one.z.size < 5 or evidence.area is not None:
        return None
    time, content, _ = _integrated(one.time, one.values, one.z, evidence.z_face[0])
    # Of the sea itself two profiles would prove a factor by chance.
    return None if time.size < (2 if evidence.is_simulation else 8) else (time, content)


def _received(one: Samples | None, time: np.ndarray) -> np.ndarray:
    """Integral of a flux over time from the first of the times on."""
    if one is None:
        return np.zeros(time.size)
    fine = np.union1d(np.linspace(time[0], time[-1], 2000), time)
    flux = np.interp(fine, one.time, one.values) if one.time.size > 1 else np.full(fine.size, one.values[0])
    total = np.concatenate([[0.0], np.cumsum(0.5 * (flux[1:] + flux[:-1]) * np.diff(fine))])
    return np.interp(time, fine, total)


def _misfit(content: np.ndarray, expected: np.ndarray) -> float:
    """Root mean square of the difference over that of the content [1]."""
    return float(np.sqrt(np.mean(np.abs(content - expected) ** 2) / np.mean(np.abs(content) ** 2)))


@rule
def heat_budget(evidence: Evidence) -> Iterator[Finding]:
    """Note profiles that lose what the heat flux adds, or another multiple of it."""
    found = _contents(evidence, "temperature")
    if found is None:
        return
    time, kelvin = found
    water = evidence.reference_density * evidence.heat_capacity
    heat = water * (kelvin - kelvin[0]) - evidence.bottom_heat * (time - time[0])
    sun = _received(evidence.fluxes.get("shortwave_flux"), time)
    rest = _received(evidence.fluxes.get("heat_flux"), time)
    if np.max(np.abs(heat)) < 1e4 or np.max(np.abs(rest + sun)) == 0.0:
        return
    tried = [
        (cause, key, _misfit(heat, factor * rest + part * sun))
        for cause, (factor, key) in _factors(water).items()
        for part in (factor, 1.0)
    ]
    if np.any(sun) and np.any(rest):
        tried += [
            ("the sun is already counted in the heat flux", "leave shortwave_flux out", _misfit(heat, rest))
        ]
    best = _best(tried, _misfit(heat, rest + sun), evidence) or _multiple(heat, rest + sun, evidence)
    if best is not None:
        said = f"profiles gain {heat[-1]:.3g} J m-2, the flux adds {rest[-1] + sun[-1]:.3g}"
        yield Finding("heat_budget", "surface_heat_flux", "fluxes.heat_flux", said, *best)


def _factors(water: float) -> dict[str, tuple[float, str]]:
    """Factors that set the heat flux right, and the keys, by the mistake; of the heat capacity per volume."""
    return {
        "an upward flux": (-1.0, "`sign: -1`"),
        "kW m-2": (1000.0, "`unit`"),
        "mW m-2, or a factor": (0.001, "`unit`"),
        "K m s-1, a kinematic flux": (water, "`unit`"),
        "K m s-1, a kinematic flux, upward": (-water, "`unit` and `sign: -1`"),
        "kJ m-2 per hour": (1.0 / 3.6, "`unit`"),
        "MJ m-2 per day": (1e6 / DAY, "`unit`"),
        "cal cm-2 per day": (4.184e4 / DAY, "`unit`"),
        "cal cm-2 per minute": (4.184e4 / 60.0, "`unit`"),
        "W m-2 already divided": (1.0 / water, "`unit`"),
    }


def _best(tried: list[tuple[str, str, float]], here: float, evidence: Evidence) -> tuple[str, str] | None:
    """Cause and key of the mistake that explains a budget, if one does and the flux as it is does not."""
    cause, key, misfit = min(tried, key=lambda one: one[2])
    is_proof = (
        misfit < _CLOSE and here > 0.35 or evidence.is_simulation and misfit < 0.3 and here > 4.0 * misfit
    )
    return (cause, key) if is_proof and here > 0.2 else None


def _multiple(content: np.ndarray, expected: np.ndarray, evidence: Evidence) -> tuple[str, str] | None:
    """Cause and key where a simulation follows its flux with a factor that no mistake above has."""
    size = float(np.sum(np.abs(expected) ** 2))
    if not evidence.is_simulation or size == 0.0 or content.size < 4:  # fewer would fit by chance
        return None
    factor = float(np.real(np.vdot(expected, content)) / size)
    rest = np.sqrt(np.sum(np.abs(content - factor * expected) ** 2) / np.sum(np.abs(content) ** 2))
    if rest > _CLOSE or 0.6 < factor < 1.6:
        return None
    return f"another unit of the flux, of time or of height, {factor:.3g} times", f"`factor: {factor:.3g}`"


@rule
def salt_budget(evidence: Evidence) -> Iterator[Finding]:
    """Note profiles that become saltier in the rain that is given."""
    found, rain = _contents(evidence, "salinity"), evidence.fluxes.get("freshwater_flux")
    if found is None or rain is None:
        return
    time, salt = found[0], found[1] - found[1][0]
    mean = float(np.nanmean(evidence.observed["salinity"].values[0]))
    expected = -mean / evidence.reference_density * _received(rain, time)
    if np.max(np.abs(salt)) < 1e-3 or _misfit(salt, expected) < 0.5:
        return
    causes = (
        ("evaporation minus precipitation", -1.0, "`sign: -1`"),
        ("mm per day", 1.0 / DAY, "`unit`"),
        ("m s-1", 1000.0, "`unit`"),
        ("evaporation minus precipitation in m s-1", -1000.0, "`unit` and `sign: -1`"),
    )
    close = ((cause, key) for cause, factor, key in causes if _misfit(salt, factor * expected) < _CLOSE)
    best = next(close, None) or _multiple(salt, expected, evidence)
    if best is not None:
        said = f"profiles gain {salt[-1]:.3g} g kg-1 m of salt, the flux gives {expected[-1]:.3g}"
        yield rain.finding("salt_budget", said, *best)


def _observed_transport(evidence: Evidence) -> tuple[np.ndarray, np.ndarray] | None:
    """Times, and the transport u + iv times depth [m2 s-1], of simulations with a stress."""
    u, v = (_contents(evidence, name) for name in ("u", "v"))
    if not evidence.is_simulation or u is None or v is None or u[0].size != v[0].size:
        return None
    transport = u[1] + 1j * v[1]
    if evidence.drift is not None and evidence.has_drift_in_velocity:
        transport = transport - evidence.drift(u[0])
    return None if np.max(np.abs(transport)) < 1e-2 else (u[0], transport)


@rule
def momentum_budget(evidence: Evidence) -> Iterator[Finding]:
    """Note profiles whose transport turns or grows otherwise than the stress and f say.

    The transport M obeys dM/dt = -i f (M + M_s) + tau / rho, with the transport M_s of the Stokes drift.
    """
    found = _observed_transport(evidence)
    parts = [evidence.fluxes[name] for name in ("stress_u", "stress_v") if name in evidence.fluxes]
    if found is None or not parts:
        return
    time, observed = found
    fine = np.union1d(np.linspace(time[0], time[-1], 4000), time)
    units = {"surface_stress_u": 1.0, "surface_stress_v": 1j}
    stress = sum(
        units[one.quantity] * (np.interp(fine, one.time, one.values) if one.time.size > 1 else one.values[0])
        for one in parts
    ) + np.zeros(fine.size)
    drift = np.zeros(fine.size) if evidence.drift is None else evidence.drift(fine)
    f, density = evidence.coriolis_parameter, evidence.reference_density

    def expected(tau: np.ndarray, rotation: float) -> np.ndarray:
        turned = np.exp(1j * rotation * (fine - time[0]))
        given = (tau / density - 1j * rotation * drift) * turned
        total = np.concatenate([[0.0], np.cumsum(0.5 * (given[1:] + given[:-1]) * np.diff(fine))])
        return ((observed[0] + total) / turned)[np.searchsorted(fine, time)]

    swapped = 1j * np.conj(stress)
    of_latitude = 1.4584e-4 * float(np.sin(np.deg2rad(evidence.latitude or 0.0)))
    tried = [
        ("a stress on the atmosphere, upward", "`sign: -1`", -stress, f),
        ("a Coriolis parameter of the other hemisphere", "latitude", stress, -f),
        ("the components of the stress are swapped", "the variables", swapped, f),
        ("u and v of the currents are swapped", "the variables", swapped, -f),
        ("a stress over the density", "`unit`", density * stress, f),
        ("an upward stress over the density", "`unit` and `sign: -1`", -density * stress, f),
        ("a stress in dyn cm-2", "`unit`", 0.1 * stress, f),
        ("a Coriolis parameter per day", "coriolis_parameter", stress, f / DAY),
        ("half the Coriolis parameter", "coriolis_parameter", stress, 2.0 * f),
        ("a Coriolis parameter of another place", "latitude", stress, of_latitude),
    ]
    here = expected(stress, f)
    misfits = [(cause, key, _misfit(observed, expected(*changed))) for cause, key, *changed in tried]
    best = _best(misfits, _misfit(observed, here), evidence) or _multiple(observed, here, evidence)
    if best is not None:
        said = f"profiles carry {observed[-1]:.3g} m2 s-1 at the end, stress and f say {here[-1]:.3g}"
        yield Finding("momentum_budget", "surface_stress_u", "fluxes.stress_u", said, *best)


class Budget(NamedTuple):
    """What the profiles of a case gain from their first to their last complete record, and the fluxes add.

    Args:
        quantity: heat [J m-2] or salt [kg m-2].
        gained: by the profiles, between the surface and `depth` [m].
        added: by the fluxes through surface and bottom.
        start, stop: times of the two records [s].
    """

    quantity: str
    unit: str
    gained: float
    added: float
    depth: float
    start: float
    stop: float


def budgets_of(case: Case, observations: Observations | None) -> list[Budget]:
    """Budgets of heat and salt over the observed profiles, where profiles and fluxes exist."""
    if observations is None or observations.moves or case.batch_shape:
        return []
    found, eos = [], case.equation_of_state
    density = float(eos.reference_density)
    names = {
        "temperature": ("heat", "J m-2", density * float(eos.heat_capacity)),
        "salinity": ("salt", "kg m-2", density * 1e-3),
    }
    for name, (quantity, unit, per_unit) in names.items():
        if name not in observations.profiles or name in case.held:
            continue
        values, z = np.asarray(observations.profiles[name], dtype=float), np.asarray(observations.z)
        given = np.asarray(observations.time), values, z
        time, content, lowest = _integrated(*given, -float(case.grid.depth))
        added = _added(case, observations, name, time, per_unit) if time.size else None
        if added is not None:
            gained = per_unit * float(content[-1] - content[0])
            found.append(Budget(quantity, unit, gained, added, -lowest, float(time[0]), float(time[-1])))
    return found


def _added(
    case: Case, observations: Observations, name: str, time: np.ndarray, per_unit: float
) -> float | None:
    """Heat [J m-2] or salt [kg m-2] that surface and bottom add between the first and the last time.

    `per_unit` is the content of a cubic metre per unit of the variable [J m-3 K-1 or kg m-3 per g kg-1].
    """
    own = getattr(case.forcing, "weather", case.forcing)
    instants = np.asarray(getattr(own, "time", time))
    inside = instants[(instants > time[0]) & (instants < time[-1])]
    instants = np.concatenate([[time[0]], inside, [time[-1]]])

    def surface(variable: str) -> jax.Array:
        values = observations.profiles.get(variable)
        if values is None:
            return jnp.full(instants.shape, getattr(case.initial_state, variable)[-1])
        top = np.asarray(values)[:, np.isfinite(np.asarray(values)).any(axis=0)][:, -1]
        known = np.isfinite(top)
        return jnp.asarray(np.interp(instants, np.asarray(observations.time)[known], top[known]))

    rest = jnp.zeros(instants.shape)
    water = WaterSurface(rest, rest, surface("temperature"), surface("salinity"))
    fluxes = jax.vmap(lambda t, w: case.forcing.at(t, w))(jnp.asarray(instants), water)
    uppermost = State(rest[None], rest[None], water.temperature[None], water.salinity[None])
    entering = per_unit * kinematic_fluxes(uppermost, case.equation_of_state, fluxes)[name]
    if name == "temperature":
        entering = entering + or_zero(fluxes.shortwave_flux, uppermost)
    if not np.any(entering):
        return None
    total = np.trapezoid(np.broadcast_to(np.asarray(entering), instants.shape), instants)
    if name == "temperature" and case.interior.bottom_heat is not None:
        total += float(case.interior.bottom_heat.heat_flux) * (instants[-1] - instants[0])
    return float(total)
