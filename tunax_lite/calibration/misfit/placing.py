"""Where observed times and heights lie among the frames and cells of a model."""

import math

import numpy as np

from ...simulation import count_steps
from .operators import Interpolation, interpolation


def place_in_time(
    times: np.ndarray, *, name: str, dt: float, duration: float, frame_interval: float | None
) -> tuple[Interpolation | None, int, int, np.ndarray]:
    """Interpolation, number of frames, steps per frame, and where the observed times are placed.

    Args:
        times: [s], increasing.
        name: of the case, for messages.
        dt: time step [s].
        duration: of the case [s].
        frame_interval: that is asked for [s], or `None`.

    Raises:
        ValueError: times outside of the case, or steps that do not fit.
    """
    if times[0] < 0.0 or times[-1] > duration * (1.0 + 1e-9) or times[-1] <= 0.0:
        raise ValueError(
            f"{name}: expected observed times between the start and the end of the case, 0 to "
            f"{duration:g} s, got {times[0]:g} to {times[-1]:g} s; set `time_window` or the "
            "duration of the case."
        )
    steps_per_frame = (
        _longest_interval(times, dt)
        if frame_interval is None
        else count_steps(frame_interval, dt, f"the frame_interval of {name}")
    )
    position = times / (steps_per_frame * dt)
    nearest = np.rint(position).astype(int)
    if np.all(np.abs(position - nearest) * steps_per_frame <= 1e-6):
        return None, int(nearest[-1]), steps_per_frame, nearest
    last = math.ceil(position[-1])
    return interpolation(np.arange(last + 1.0), position), last, steps_per_frame, np.arange(times.size)


def _longest_interval(times: np.ndarray, dt: float) -> int:
    """Steps between frames that meet all times; one step if there are times between the steps."""
    count_steps(dt, dt, "dt")  # raises for a step that is not positive
    steps = np.rint(times / dt).astype(int)
    if np.any(np.abs(times / dt - steps) > 1e-6):
        return 1
    return int(np.gcd.reduce(steps))


def check_heights(z: np.ndarray, depth: float, name: str) -> None:
    """Raise `ValueError` for heights [m] above the surface or below the bottom."""
    known = z[np.isfinite(z)]
    if known.size and (known.min() < -depth * (1.0 + 1e-9) or known.max() > 0.0):
        raise ValueError(
            f"{name}: expected observed heights between the bottom at {-depth:g} m and the surface at "
            f"0 m, got {known.min():g} to {known.max():g} m; set `depth_window` or a deeper grid."
        )


def centers_of(z: np.ndarray, centers: np.ndarray, depth: float) -> np.ndarray | None:
    """Indices of the centers that heights are at; `None` if one of them lies between centers."""
    nearest = np.argmin(np.abs(z[:, None] - centers), axis=1)
    met = np.all(np.abs(z - centers[nearest]) <= 1e-6 * depth) and np.all(np.diff(nearest) > 0)
    return nearest if met else None
