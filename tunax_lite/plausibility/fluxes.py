"""Budgets between the profiles of a file and its own surface fluxes, and the sign of heat.

If the content of the column does not follow the flux, but follows the flux times another factor closely at
all times, that factor names the mistake. Profiles that follow neither prove nothing: there are currents.
"""

from collections.abc import Iterator

import numpy as np

from .evidence import DAY, Evidence, Samples
from .finding import Finding, rule

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


def _contents(evidence: Evidence, name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Times, and the content of the column [unit m], from profiles without gaps."""
    one = evidence.observed.get(name)
    if one is None or one.z is None or one.z.ndim == 2 or one.z.size < 5:
        return None
    if evidence.area is not None:
        return None
    complete = np.isfinite(one.values).all(axis=1)
    # Of the sea itself two profiles would prove a factor by chance.
    if complete.sum() < (2 if evidence.is_simulation else 8):
        return None
    middle = 0.5 * (one.z[1:] + one.z[:-1])
    faces = np.concatenate([[evidence.z_face[0]], middle, [0.0]])
    return one.time[complete], one.values[complete] @ np.diff(faces)


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
