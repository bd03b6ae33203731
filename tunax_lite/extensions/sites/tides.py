"""Tidal currents from harmonic constants: speeds and phases of the main constituents from the sun and moon.

A current is the sum of f a cos(V + u - g) over constituents, with amplitude a, phase lag of Greenwich g,
equilibrium argument V, and the slow corrections f and u of the moon's node.
Source: Schureman (1958), Manual of harmonic analysis and prediction of tides, U.S. Coast and Geodetic Survey
Special Publication 98; Doodson (1928), Phil. Trans. R. Soc. A 227, 223-279.
"""

import datetime
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

_STEP = 600.0  # [s] between values
_EPOCH = datetime.datetime(2000, 1, 1, 12)
# Mean longitudes of the moon, the sun, the moon's perigee and its node [degrees], and degrees in a day.
_MEAN = np.array([218.3164, 280.4661, 83.3535, 125.0445])
_RATE = np.array([13.17639648, 0.98564736, 0.11140353, -0.05295377])
# Multiples of the hour angle of the mean sun at Greenwich T, of s, h and p, and degrees.
_ARGUMENTS = {
    "M2": (2, -2, 2, 0, 0.0),
    "S2": (2, 0, 0, 0, 0.0),
    "N2": (2, -3, 2, 1, 0.0),
    "K2": (2, 0, 2, 0, 0.0),
    "K1": (1, 0, 1, 0, -90.0),
    "O1": (1, -2, 1, 0, 90.0),
    "P1": (1, 0, -1, 0, 90.0),
    "Q1": (1, -3, 1, 1, 90.0),
}
# Amplitudes of the first terms in the longitude N of the node: f = 1 + a cos N, u = b sin N [degrees].
_NODE = {"M2": (-0.037, -2.1), "N2": (-0.037, -2.1), "K2": (0.286, -17.7), "K1": (0.115, -8.9)}
_NODE |= {"O1": (0.189, 10.8), "Q1": (0.189, 10.8)}

CONSTITUENTS = tuple(_ARGUMENTS)
"""Names of those that are known."""


class Harmonic(NamedTuple):
    """Constants of one constituent: amplitudes [m s-1] and phase lags of Greenwich [degrees]."""

    constituent: str
    amplitude_u: float
    phase_u: float
    amplitude_v: float
    phase_v: float


def arguments(constituent: str, moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The factor f and the phase V + u [degrees] of a constituent at days since noon of 1 January 2000."""
    s, h, p, node = (_MEAN[:, None] + _RATE[:, None] * moments) % 360.0
    hour = 360.0 * (moments % 1.0)  # the count of days begins at noon, when the hour angle is 0
    a, b, c, d, constant = _ARGUMENTS[constituent]
    factor, shift = _NODE.get(constituent, (0.0, 0.0))
    slow = np.deg2rad(node)
    return 1.0 + factor * np.cos(slow), a * hour + b * s + c * h + d * p + constant + shift * np.sin(slow)


def times_of(duration: float) -> np.ndarray:
    """Times of values that cover a run, since its start [s]."""
    return np.arange(0.0, duration + 2.0 * _STEP, _STEP)


def current(
    constants: Sequence[Harmonic], start: datetime.datetime, duration: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times since the start [s], and the eastward and northward current [m s-1]."""
    time = times_of(duration)
    moments = (start - _EPOCH).total_seconds() / 86400.0 + time / 86400.0
    u, v = np.zeros_like(time), np.zeros_like(time)
    for one in constants:
        factor, phase = arguments(one.constituent, moments)
        u += factor * one.amplitude_u * np.cos(np.deg2rad(phase - one.phase_u))
        v += factor * one.amplitude_v * np.cos(np.deg2rad(phase - one.phase_v))
    return time, u, v
