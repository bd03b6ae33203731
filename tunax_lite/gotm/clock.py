"""When a run begins and ends, its time step, and how often it is saved."""

import dataclasses
import datetime
from typing import Any

from ..io.yaml_file import ConfigError
from .keys import OUTPUT
from .series import Period
from .settings import Settings, checked

_SECONDS = {"second": 1.0, "hour": 3600.0, "day": 86400.0, "month": 30.0 * 86400.0, "year": 365.0 * 86400.0}

# Any of these in a file of GOTM's output makes it one of profiles.
_PROFILES = {"temp", "salt", "u", "v", "tke", "eps", "num", "nuh", "NN", "SS", "h", "rho", "rho_p", "L"}


@dataclasses.dataclass(frozen=True)
class Clock:
    """Times of a run.

    Args:
        start_time: ISO 8601.
        period: start and length.
        dt: time step [s].
        output_interval: time between frames [s], a multiple of `dt`.
    """

    start_time: str
    period: Period
    dt: float
    output_interval: float


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
    # GOTM takes the nearest whole number of steps.
    n_steps = int((stop - start).total_seconds() / dt + 0.5)
    if n_steps < 1:
        raise settings.error("time.dt", f"expected a time step within the run, got {dt:g} s; shorten it")
    steps = _steps_per_frame(settings, dt, n_steps)
    if n_steps % steps:
        settings.note(
            "time.stop",
            f"the last {n_steps % steps} of {n_steps} steps are left out: a run ends with a whole frame",
        )
    epoch = datetime.datetime(1970, 1, 1)
    period = Period(int((start - epoch).total_seconds()), n_steps * dt)
    return Clock(start.isoformat(), period, dt, steps * dt)


def _instant(settings: Settings, path: str) -> datetime.datetime:
    text = settings[path]
    try:
        return datetime.datetime.strptime(text.replace("T", " "), "%Y-%m-%d %H:%M:%S")
    except ValueError:
        raise settings.error(path, f"expected YYYY-MM-DD HH:MM:SS, got {text!r}; correct the date") from None


def _steps_per_frame(settings: Settings, dt: float, n_steps: int) -> int:
    """Time steps between frames: those of the most frequent file of profiles."""
    files, origins = settings.free.get("output", ({}, {}))
    intervals: dict[str, tuple[float, bool]] = {}
    for name, section in files.items():
        if not isinstance(section, dict):
            continue
        get = lambda key, name=name, section=section: _output_value(settings, origins, name, section, key)  # noqa: E731
        if not (get("use") and get("is_active")):
            continue
        unit = get("time_unit")
        seconds = get("time_step") * (dt if unit == "dt" else _SECONDS[unit])
        intervals[name] = (seconds, bool(_variables(section) & _PROFILES) or "*" in _variables(section))
    if not intervals:
        return min(n_steps, max(1, int(86400.0 / dt + 0.5)))
    some = [seconds for seconds, has_profiles in intervals.values() if has_profiles]
    wanted = min(some or [seconds for seconds, _ in intervals.values()])
    steps = min(n_steps, max(1, int(wanted / dt + 0.5)))
    if abs(steps * dt - wanted) > 1e-9 * wanted:
        settings.notes.append(
            ("output", f"frames every {steps * dt:g} s, whole time steps, instead of {wanted:g} s")
        )
    return steps


def _output_value(settings: Settings, origins: dict, name: str, section: dict, key: str) -> Any:
    try:
        return checked(OUTPUT[key], section.get(key))
    except ValueError as error:
        line = origins.get(("output", name, key), "")
        raise ConfigError(f"{settings.source}: {line}: output.{name}.{key}: {error}") from error


def _variables(section: dict) -> set[str]:
    """Names of the variables of a file, those of nested groups too."""
    found: set[str] = set()
    for item in section.get("variables") or []:
        if isinstance(item, dict):
            found.add(str(item.get("source")))
    for group in section.get("groups") or []:
        if isinstance(group, dict):
            found |= _variables(group)
    return found
