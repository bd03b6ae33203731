"""Limits of results: water too cold, hot, of negative or high salinity.

Source: McDougall and Barker (2011), Getting started with TEOS-10 (gsw), for the freezing point.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jax.typing import ArrayLike

from ..column.trajectory import Trajectory
from ..quantities import quantity_of

_SUPERCOOLED, _UNDER_ICE, _FROZEN = 0.1, 1.0, 10.0
"""Kelvin below freezing that are unlikely, unlikely under ice, and impossible. Ice models have linear
freezing points and act on the uppermost cell after a step; a lake without one cools by a few kelvin."""
_SALTIEST = 120.0
"""Highest salinity for which TEOS-10 is valid [g kg-1]."""
_ROUND_OFF, _NEGATIVE = 1e-6, 1e-2
"""Amounts of salinity below zero [g kg-1] that are unlikely, and impossible."""
_NO_ICE = "switch on an ice model (ice: winton, or simple), or check unit and sign of the heat flux"
_ADVICE = {
    "frozen": "water under ice does not cool further: check the heat flux, its unit and sign",
    "hot": "check the heat flux, its unit and sign, and the depth to which shortwave radiation goes",
    "negative": (
        "in a step rain exceeds what the uppermost cell holds, or salt leaves water that has none: choose a "
        "shorter time step or a thicker uppermost cell, and check the rain and its unit"
    ),
    "salty": (
        "check the evaporation, its unit and sign, and the unit of salinity; where rain exceeds what the "
        "uppermost cell holds in a step, choose a shorter step or a thicker cell"
    ),
}


class Extreme(NamedTuple):
    """The most extreme water of a kind, with its height [m] and time [s]."""

    kind: str  # frozen, hot, negative or salty
    value: float  # temperature [degC] or salinity [g kg-1]
    excess: float  # compared with the limits: kelvin below freezing, the value, or for negative its opposite
    z: float
    time: float
    first: float  # time of the first value beyond the limit [s]
    is_impossible: bool
    advice: str
    place: str = ""  # case of the run, followed by a comma

    def described(self, moment: str) -> str:
        """Describe quantity, value, depth, case and time, which `moment` words."""
        quantity = "salinity" if self.kind in ("negative", "salty") else "temperature"
        value = f"{self.value:.4g} {quantity_of(quantity).unit} at {-self.z:.3g} m, {self.place}{moment}"
        below = f", {self.excess:.3g} K below its freezing point" if self.kind == "frozen" else ""
        return f"{quantity} {value}{below}"


def extremes(
    temperature: ArrayLike,
    salinity: ArrayLike,
    z: ArrayLike,
    time: np.ndarray,
    *,
    has_ice: bool = False,
) -> list[Extreme]:
    """Return the most extreme water of each kind that is beyond its limit.

    Args:
        temperature, salinity: conservative [degC] and absolute [g kg-1], shape `(n_times, n_cells)`.
        z: heights [m], `(n_cells,)`.
        time: times [s], `(n_times,)`.
        has_ice: whether the column has an ice model.
    """
    coldest = _UNDER_ICE if has_ice else _SUPERCOOLED
    temperature, salinity, z = (np.asarray(each, dtype=float) for each in (temperature, salinity, z))
    excesses = {
        "frozen": (temperature, _below_freezing(temperature, salinity, z), coldest, _FROZEN),
        "hot": (temperature, temperature, quantity_of("temperature").possible[1], 100.0),
        "negative": (salinity, -salinity, _ROUND_OFF, _NEGATIVE),
        "salty": (salinity, salinity, quantity_of("salinity").possible[1], _SALTIEST),
    }
    worst = []
    for kind, (values, excess, unlikely, impossible) in excesses.items():
        beyond = excess > unlikely
        if not beyond.any():
            continue
        at = np.unravel_index(int(np.argmax(np.where(np.isfinite(excess), excess, -np.inf))), excess.shape)
        extreme = Extreme(
            kind,
            value=float(values[at]),
            excess=float(excess[at]),
            z=float(z[at[1]]),
            time=float(time[at[0]]),
            first=float(time[int(beyond.any(axis=1).argmax())]),
            is_impossible=bool(excess[at] > impossible),
            advice=_NO_ICE if kind == "frozen" and not has_ice else _ADVICE[kind],
        )
        worst.append(extreme)
    return worst


def extremes_of(trajectory: Trajectory, *, has_ice: bool) -> list[Extreme]:
    """Return the most extreme water of each kind in all frames of a run."""
    state, z, time = trajectory.state, trajectory.grid.z_center, np.asarray(trajectory.time, dtype=float)
    return extremes(state.temperature, state.salinity, z, time, has_ice=has_ice)


def _below_freezing(temperature: np.ndarray, salinity: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return how far water is below its freezing point [K], 0 where it is not."""
    below = np.zeros(temperature.shape)
    cold = temperature < 0.05  # the freezing point of fresh water is 0.02 degC of conservative temperature
    if cold.any():
        import gsw  # slow

        pressure = np.broadcast_to(-np.minimum(z, 0.0), temperature.shape)[cold]  # 1 dbar is 1 m
        salt = np.clip(salinity[cold], 0.0, _SALTIEST)
        below[cold] = np.maximum(gsw.CT_freezing(salt, pressure, 0.0) - temperature[cold], 0.0)
    return below


def merged(before: Sequence[Extreme], more: Sequence[Extreme]) -> list[Extreme]:
    """Return the most extreme of each kind in two parts of a run, with the earlier `first` of both."""
    worst = {extreme.kind: extreme for extreme in before}
    for extreme in more:
        other = worst.get(extreme.kind, extreme)
        worse = extreme if extreme.excess > other.excess else other
        worst[extreme.kind] = worse._replace(first=min(extreme.first, other.first))
    return list(worst.values())
