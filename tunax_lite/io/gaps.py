"""Observed profiles on a grid without gaps: to start from, and to relax to."""

import numpy as np

from ..observations import Observations
from .series import Series


def profiles_on_grid(
    observations: Observations, variable: str, z: np.ndarray, *, longest_gap: float, duration: float
) -> Series:
    """Profiles of one variable on given heights from the start to the end of a case.

    Each instrument (height) is interpolated in time over gaps of up to `longest_gap`; what it misses longer
    comes from the heights around it. Above the uppermost and below the deepest value profiles are constant.
    Before the first and after the last record they are constant for up to `longest_gap`.

    Args:
        observations: of the case.
        variable: of the observations.
        z: heights [m], increasing.
        longest_gap: longest time [s] that is bridged.
        duration: of the case [s].

    Raises:
        ValueError: a variable that was not observed, or a longer time without any value.
    """
    name = observations.name
    if variable not in observations.profiles:
        raise ValueError(
            f"expected {variable} among the observations {name}, got {', '.join(observations.profiles)}; "
            "give a profile, or add a file."
        )
    if observations.moves:
        raise ValueError(f"{name}: expected the same heights at all times, got heights that differ.")
    time = np.asarray(observations.time, dtype=float)
    values = np.asarray(observations.profiles[variable], dtype=float)
    before, after = (np.flatnonzero(part) for part in (time <= 0.0, time >= duration))
    kept = slice(before[-1] if before.size else 0, after[0] + 1 if after.size else time.size)
    # What lies outside of the case can still bridge a gap at its ends.
    around = (time >= time[kept][0] - longest_gap) & (time <= time[kept][-1] + longest_gap)
    wanted, time, values = time[kept], time[around], values[around]
    bridged = np.stack([_bridged(wanted, time, column, longest_gap) for column in values.T], axis=1)
    empty = np.flatnonzero(
        ~np.any(np.isfinite(bridged), axis=1) | (np.diff(wanted, prepend=wanted[0]) > longest_gap)
    )
    if empty.size:
        at = int(empty[0])
        raise ValueError(
            f"expected a value of {variable} in the observations {name} at least every {longest_gap:g} s "
            f"(longest_gap), got none around {wanted[at]:g} s; fill the gap, or set a longer longest_gap."
        )
    levels = np.asarray(observations.z, dtype=float)
    profiles = np.stack([np.interp(z, levels[np.isfinite(row)], row[np.isfinite(row)]) for row in bridged])
    return _extended(wanted, profiles, duration, longest_gap, f"{variable} in the observations {name}")


def _bridged(wanted: np.ndarray, time: np.ndarray, values: np.ndarray, longest: float) -> np.ndarray:
    """One instrument at the wanted times, NaN where the values around are farther apart than `longest`."""
    known = np.isfinite(values)
    if not np.any(known):
        return np.full(wanted.shape, np.nan)
    time, values = time[known], values[known]
    after = np.searchsorted(time, wanted)
    previous, following = time[np.clip(after - 1, 0, None)], time[np.clip(after, None, time.size - 1)]
    gap = np.where((wanted < time[0]) | (wanted > time[-1]), np.abs(following - wanted), following - previous)
    gap = np.where(wanted > time[-1], wanted - time[-1], gap)
    gap = np.where(np.isin(wanted, time), 0.0, gap)
    return np.where(gap <= longest, np.interp(wanted, time, values), np.nan)


def _extended(time: np.ndarray, profiles: np.ndarray, duration: float, longest: float, what: str) -> Series:
    """The profiles from 0 to `duration`, those at the ends held for up to `longest`."""
    if time[0] - 0.0 > longest or duration - time[-1] > longest:
        raise ValueError(
            f"expected {what} from 0 to {duration:g} s, got {time[0]:g} to {time[-1]:g} s; change start_time "
            "or duration, or set a longer longest_gap."
        )
    if time[0] > 0.0:
        time, profiles = np.append(0.0, time), np.concatenate([profiles[:1], profiles])
    if time[-1] < duration:
        time, profiles = np.append(time, duration), np.concatenate([profiles, profiles[-1:]])
    return Series(time, profiles)
