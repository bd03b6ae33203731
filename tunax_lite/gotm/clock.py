"""When a run begins and ends, its time step, and how often it is saved."""

import dataclasses
import datetime

from ..runtime.memory import TooLargeError, check_steps
from .output import OutputFile, diagnostics_of, read_output_files, say_intervals
from .series import Period
from .settings import Settings


@dataclasses.dataclass(frozen=True)
class Clock:
    """Times of a run.

    Args:
        start_time: ISO 8601.
        period: start and length.
        dt: time step [s].
        output_interval: time between frames [s], a multiple of `dt`.
        diagnostics: what the output asks for beyond the state.
        means: whether the output asks for means over the time between frames.
    """

    start_time: str
    period: Period
    dt: float
    output_interval: float
    diagnostics: tuple[str, ...]
    means: bool


def read_clock(settings: Settings) -> Clock:
    """Times from the sections `time` and `output`.

    Raises:
        ConfigError: a time that is none, a run that ends before it begins, or no time step.
    """
    if settings["time.method"] != "start_stop":
        raise settings.error("time.method", "expected start_stop, got a number of steps; give time.stop")
    start, stop = (_instant(settings, f"time.{name}") for name in ("start", "stop"))
    dt = settings["time.dt"]
    if stop <= start:
        raise settings.error(
            "time.stop", f"expected a time after time.start, {start}, got {stop}; correct one"
        )
    if dt <= 0.0:
        raise settings.error("time.dt", f"expected a positive time step [s], got {dt:g}")
    try:
        check_steps((stop - start).total_seconds(), dt)
    except TooLargeError as error:
        raise settings.error("time.dt", str(error).rstrip(".")) from None
    # GOTM takes the nearest whole number of steps.
    n_steps = int((stop - start).total_seconds() / dt + 0.5)
    if n_steps < 1:
        raise settings.error("time.dt", f"expected a time step within the run, got {dt:g} s; shorten it")
    files = read_output_files(settings, dt)
    steps = _steps_per_frame(settings, files, dt, n_steps)
    say_intervals(files, steps * dt, settings)
    if n_steps % steps:
        settings.note(
            "time.stop",
            f"the last {n_steps % steps} of {n_steps} steps are left out: a run ends with a whole frame",
        )
    epoch = datetime.datetime(1970, 1, 1)
    period = Period(int((start - epoch).total_seconds()), n_steps * dt)
    means = any(file.means for file in files)
    return Clock(start.isoformat(), period, dt, steps * dt, diagnostics_of(files, settings), means)


def _instant(settings: Settings, path: str) -> datetime.datetime:
    text = settings[path]
    try:
        return datetime.datetime.strptime(text.replace("T", " "), "%Y-%m-%d %H:%M:%S")
    except ValueError:
        raise settings.error(path, f"expected YYYY-MM-DD HH:MM:SS, got {text!r}; correct the date") from None


def _steps_per_frame(settings: Settings, files: list[OutputFile], dt: float, n_steps: int) -> int:
    """Time steps between frames: those of the most frequent file of profiles."""
    if not files:
        return min(n_steps, max(1, int(86400.0 / dt + 0.5)))
    some = [file.interval for file in files if file.has_profiles]
    wanted = min(some or [file.interval for file in files])
    steps = min(n_steps, max(1, int(wanted / dt + 0.5)))
    if abs(steps * dt - wanted) > 1e-9 * wanted:
        settings.notes.append(
            ("output", f"frames every {steps * dt:g} s, whole time steps, instead of {wanted:g} s")
        )
    return steps
