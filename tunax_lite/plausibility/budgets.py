"""Budgets between the profiles of a file and the surface fluxes of the same file.

If the content of the column does not follow the flux, but follows the flux times another factor closely at
all times, that factor names the mistake. Profiles that follow neither prove nothing: there are currents.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .._types import InputWarning
from ..column.case import Case
from ..column.forcing import WaterSurface
from ..column.observations import Observations
from ..column.state import State
from ..column.terms.base import or_zero
from ..column.terms.surface import kinematic_fluxes
from .inputs import DAY, Evidence, Samples
from .rules import TWICE_ROTATION, unlikely

_CLOSE = 0.12
"""Largest relative misfit of a budget that proves a factor."""
_DENSITY, _WATER = 1025.0, 1025.0 * 3991.0
"""Density [kg m-3] and heat capacity per volume [J m-3 K-1], near enough for any water."""
_FACTORS_OF_HEAT = (
    ("an upward flux", "`sign: -1`", -1.0),
    ("kW m-2", "`unit`", 1000.0),
    ("mW m-2, or a factor", "`unit`", 0.001),
    ("K m s-1, a kinematic flux", "`unit`", _WATER),
    ("K m s-1, a kinematic flux, upward", "`unit` and `sign: -1`", -_WATER),
    ("kJ m-2 per hour", "`unit`", 1.0 / 3.6),
    ("MJ m-2 per day", "`unit`", 1e6 / DAY),
    ("cal cm-2 per day", "`unit`", 4.184e4 / DAY),
    ("cal cm-2 per minute", "`unit`", 4.184e4 / 60.0),
    ("W m-2 already divided", "`unit`", 1.0 / _WATER),
)
"""Likely causes, keys that set the flux right, and factors."""
_FACTORS_OF_RAIN = (
    ("evaporation minus precipitation", "`sign: -1`", -1.0),
    ("mm per day", "`unit`", 1.0 / DAY),
    ("m s-1", "`unit`", 1000.0),
    ("evaporation minus precipitation in m s-1", "`unit` and `sign: -1`", -1000.0),
)
_Explanation = tuple[str, str, np.ndarray]
"""Cause, key, and the content that it would explain."""


def _integrated(time: np.ndarray, values: np.ndarray, z: np.ndarray, bottom: float):
    """Return times of complete profiles, their integrals over depth, and the lowest height [m].

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
    """Return times, and the content of the column [unit m], from profiles without gaps."""
    profiles = evidence.observed.get(name)
    if profiles is None or profiles.z is None or profiles.z.ndim == 2 or profiles.z.size < 5:
        return None
    if evidence.area is not None:
        return None
    time, content, _ = _integrated(profiles.time, profiles.values, profiles.z, evidence.z_face[0])
    # Of the sea itself two profiles would prove a factor by chance.
    return None if time.size < (2 if evidence.is_simulation else 8) else (time, content)


def _fine(time: np.ndarray) -> np.ndarray:
    """Return times at which fluxes are integrated, those of the profiles among them."""
    return np.union1d(np.linspace(time[0], time[-1], 4000), time)


def _at(flux: Samples | None, time: np.ndarray) -> np.ndarray:
    """Return a flux at times; 0 where there is none."""
    return np.zeros(time.size) if flux is None else np.interp(time, flux.time, flux.values)


def _integral(time: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the integral over time from the first of the times on."""
    return np.concatenate([[0.0], np.cumsum(0.5 * (values[1:] + values[:-1]) * np.diff(time))])


def _received(flux: Samples | None, time: np.ndarray) -> np.ndarray:
    """Return the integral of a flux over time from the first of the times on."""
    fine = _fine(time)
    return _integral(fine, _at(flux, fine))[np.searchsorted(fine, time)]


def _misfit(content: np.ndarray, expected: np.ndarray) -> float:
    """Return the root mean square of the difference over that of the content [1]."""
    return float(np.sqrt(np.mean(np.abs(content - expected) ** 2) / np.mean(np.abs(content) ** 2)))


def _mistake(
    content: np.ndarray, expected: np.ndarray, tried: Sequence[_Explanation], evidence: Evidence
) -> tuple[str, str] | None:
    """Return cause and key of the mistake that explains a budget, if the flux as it is does not."""
    without = _misfit(content, expected)
    misfits = [_misfit(content, explained) for *_, explained in tried]
    best, least = int(np.argmin(misfits)), min(misfits)
    is_close = least < _CLOSE and without > 0.35
    if is_close or evidence.is_simulation and least < 0.3 and without > max(0.2, 4.0 * least):
        return tried[best][:2]
    size = float(np.sum(np.abs(expected) ** 2))
    if not evidence.is_simulation or size == 0.0 or content.size < 4:  # fewer would fit by chance
        return None
    factor = float(np.real(np.vdot(expected, content)) / size)
    if _misfit(content, factor * expected) > _CLOSE or 0.6 < factor < 1.6:
        return None
    return f"another unit of the flux, of time or of height, {factor:.3g} times", f"`factor: {factor:.3g}`"


def heat_budget(evidence: Evidence) -> Iterator[InputWarning]:
    """Note profiles that lose what the heat flux adds, or another multiple of it."""
    contents = _contents(evidence, "temperature")
    if contents is None:
        return
    time, kelvin = contents
    heat = _WATER * (kelvin - kelvin[0]) - evidence.bottom_heat * (time - time[0])
    sun, rest = (_received(evidence.fluxes.get(name), time) for name in ("shortwave_flux", "heat_flux"))
    if np.max(np.abs(heat)) < 1e4 or np.max(np.abs(rest + sun)) == 0.0:
        return
    tried = [
        (cause, key, factor * rest + of_sun * sun)
        for cause, key, factor in _FACTORS_OF_HEAT
        for of_sun in (factor, 1.0)
    ]
    if np.any(sun) and np.any(rest):
        tried.append(("the sun is already counted in the heat flux", "leave shortwave_flux out", rest))
    if (mistake := _mistake(heat, rest + sun, tried, evidence)) is not None:
        problem = f"profiles gain {heat[-1]:.3g} J m-2, the flux adds {rest[-1] + sun[-1]:.3g}"
        yield unlikely("heat_budget", "fluxes.heat_flux", problem, *mistake)


def salt_budget(evidence: Evidence) -> Iterator[InputWarning]:
    """Note profiles that become saltier in rain."""
    contents, rain = _contents(evidence, "salinity"), evidence.fluxes.get("freshwater_flux")
    if contents is None or rain is None:
        return
    time, salt = contents[0], contents[1] - contents[1][0]
    mean = float(np.nanmean(evidence.observed["salinity"].values[0]))
    expected = -mean / _DENSITY * _received(rain, time)
    if np.max(np.abs(salt)) < 1e-3 or _misfit(salt, expected) < 0.5:
        return
    tried = [(cause, key, factor * expected) for cause, key, factor in _FACTORS_OF_RAIN]
    if (mistake := _mistake(salt, expected, tried, evidence)) is not None:
        problem = f"profiles gain {salt[-1]:.3g} g kg-1 m of salt, the flux gives {expected[-1]:.3g}"
        yield unlikely("salt_budget", rain.where, problem, *mistake)


def momentum_budget(evidence: Evidence) -> Iterator[InputWarning]:
    """Note profiles whose transport turns or grows otherwise than the stress and f say.

    The transport M of a simulation without waves obeys dM/dt = -i f M + tau / rho.
    """
    contents = [_contents(evidence, name) for name in ("u", "v")]
    parts = [evidence.fluxes.get(name) for name in ("stress_u", "stress_v")]
    u, v = contents
    if not evidence.is_simulation or evidence.has_waves or parts == [None, None] or u is None or v is None:
        return
    time, transport = u[0], u[1] + 1j * v[1]
    if np.max(np.abs(transport)) < 1e-2:
        return
    fine = _fine(time)
    stress = _at(parts[0], fine) + 1j * _at(parts[1], fine)
    f = evidence.coriolis_parameter

    def expected(tau: np.ndarray, rotation: float) -> np.ndarray:
        turned = np.exp(1j * rotation * (fine - time[0]))
        return ((transport[0] + _integral(fine, tau / _DENSITY * turned)) / turned)[
            np.searchsorted(fine, time)
        ]

    swapped = 1j * np.conj(stress)
    of_latitude = TWICE_ROTATION * float(np.sin(np.deg2rad(evidence.latitude or 0.0)))
    tried = (
        ("a stress on the atmosphere, upward", "`sign: -1`", -stress, f),
        ("a Coriolis parameter of the other hemisphere", "latitude", stress, -f),
        ("the components of the stress are swapped", "the variables", swapped, f),
        ("u and v of the currents are swapped", "the variables", swapped, -f),
        ("a stress over the density", "`unit`", _DENSITY * stress, f),
        ("an upward stress over the density", "`unit` and `sign: -1`", -_DENSITY * stress, f),
        ("a stress in dyn cm-2", "`unit`", 0.1 * stress, f),
        ("a Coriolis parameter per day", "coriolis_parameter", stress, f / DAY),
        ("half the Coriolis parameter", "coriolis_parameter", stress, 2.0 * f),
        ("a Coriolis parameter of another place", "latitude", stress, of_latitude),
    )
    as_given = expected(stress, f)
    explained = [(cause, key, expected(tau, rotation)) for cause, key, tau, rotation in tried]
    if (mistake := _mistake(transport, as_given, explained, evidence)) is not None:
        problem = f"profiles carry {transport[-1]:.3g} m2 s-1 at the end, stress and f say {as_given[-1]:.3g}"
        yield unlikely("momentum_budget", "fluxes.stress_u", problem, *mistake)


class Budget(NamedTuple):
    """Gain of the profiles of a case from their first to their last complete record, and that by the fluxes.

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
    """Return budgets of heat and salt over the observed profiles, where there are some."""
    if observations is None or observations.moves or case.batch_shape:
        return []
    budgets, eos = [], case.equation_of_state
    density = float(eos.reference_density)
    for name, quantity, unit, per_unit in (
        ("temperature", "heat", "J m-2", density * float(eos.heat_capacity)),
        ("salinity", "salt", "kg m-2", density * 1e-3),
    ):
        if name not in observations.profiles or name in case.held:
            continue
        values, z = np.asarray(observations.profiles[name], dtype=float), np.asarray(observations.z)
        time, content, lowest = _integrated(np.asarray(observations.time), values, z, -float(case.grid.depth))
        if time.size:
            added = per_unit * _added(case, observations, name, time)
            gained = per_unit * float(content[-1] - content[0])
            start, stop = float(time[0]), float(time[-1])
            budgets.append(Budget(quantity, unit, gained, added, -lowest, start, stop))
    return budgets


def _added(case: Case, observations: Observations, name: str, time: np.ndarray) -> float:
    """Return heat [K m] or salt [g kg-1 m] that surface and bottom add over the times."""
    series = getattr(case.forcing, "weather", case.forcing)
    instants = np.asarray(getattr(series, "time", time))
    inside = instants[(instants > time[0]) & (instants < time[-1])]
    instants = np.concatenate([[time[0]], inside, [time[-1]]])

    def surface(variable: str) -> jax.Array:
        values = observations.profiles.get(variable)
        if values is None:
            return jnp.full(instants.shape, getattr(case.initial_state, variable)[-1])
        top = np.asarray(values)[:, np.isfinite(np.asarray(values)).any(axis=0)][:, -1]
        known = np.isfinite(top)
        return jnp.asarray(np.interp(instants, np.asarray(observations.time)[known], top[known]))

    rest, eos = jnp.zeros(instants.shape), case.equation_of_state
    water = WaterSurface(rest, rest, surface("temperature"), surface("salinity"))
    fluxes = jax.vmap(lambda t, w: case.forcing.at(t, w))(jnp.asarray(instants), water)
    uppermost = State(rest[None], rest[None], water.temperature[None], water.salinity[None])
    entering = rest + kinematic_fluxes(uppermost, eos, fluxes)[name]
    if name == "temperature":
        bottom = case.interior.bottom_heat
        more = or_zero(fluxes.shortwave_flux, uppermost) + (0.0 if bottom is None else bottom.heat_flux)
        entering = entering + more / (eos.reference_density * eos.heat_capacity)
    return float(np.trapezoid(np.asarray(entering), instants))
