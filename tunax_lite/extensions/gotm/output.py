"""Times of a run, and its output: intervals, and the package's variables that correspond to GOTM's."""

import dataclasses
import datetime
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from ..._types import JSON
from ...column.diagnostics import DIAGNOSTICS
from ...quantities import QUANTITIES
from .keys import OUTPUT, WORDS
from .settings import Settings

_SECONDS = {"second": 1.0, "hour": 3600.0, "day": 86400.0, "month": 30.0 * 86400.0, "year": 365.0 * 86400.0}

_TABLE: dict[str, dict[str, str]] = WORDS["variables"]
OURS = {name: ours for variables in _TABLE.values() for name, ours in variables.items()}
"""The package's names by GOTM's names of output variables; others are not computed."""


@dataclasses.dataclass(frozen=True)
class OutputFile:
    """A file that GOTM would write: interval [s], GOTM's variables, and whether values are means."""

    name: str
    interval: float
    variables: tuple[str, ...]
    means: bool = False

    @property
    def has_profiles(self) -> bool:
        computed = [OURS[name] for name in self.variables if name in OURS]
        return any(QUANTITIES[name].location != "scalar" for name in computed)


def read_output_files(settings: Settings, dt: float) -> list[OutputFile]:
    """Read the output files that are in use; `dt` is the time step [s]."""
    files = settings.free.get("output", {})
    if not isinstance(files, dict):
        raise settings.error("output", f"expected names of files with their keys, got {files!r}; write them")
    files_in_use = []
    for name, section in files.items():
        section = {} if section is None else section
        if not isinstance(section, dict):
            raise settings.error(f"output.{name}", f"expected keys of the file, got {section!r}; write them")
        in_file = {key: value for key, value in section.items() if key in OUTPUT}
        switches = {key: value for key, value in in_file.items() if key in ("use", "is_active")}
        values = settings.values_of(f"output.{name}", switches, OUTPUT)
        if not (values["use"] and values["is_active"]):
            continue  # other keys of a file that is off may have any value
        values = settings.values_of(f"output.{name}", in_file, OUTPUT)
        unit, method = values["time_unit"], values["time_method"]
        seconds = values["time_step"] * (dt if unit == "dt" else _SECONDS[unit])
        variables = tuple(dict.fromkeys(_resolved(_sources(settings, str(name), section))))
        files_in_use.append(OutputFile(str(name), seconds, variables, method == "mean"))
        if method not in ("point", "mean"):
            text = f"values at the times of the frames are written, not the {method} over the interval"
            settings.notes.append((f"output.{name}.time_method", text))
    return files_in_use


def _diagnostics(files: list[OutputFile], settings: Settings) -> list[str]:
    """Diagnostics that the output files request; notes variables that are not computed."""
    requested = list(dict.fromkeys(name for file in files for name in file.variables))
    absent = [name for name in requested if name not in OURS]
    if absent:
        settings.notes.append(("output", f"not written, because not computed here: {', '.join(absent)}"))
    ice = _TABLE["ice"].values()  # written with the state
    names = (OURS[name] for name in requested if name in OURS)
    return list(dict.fromkeys(name for name in names if name in DIAGNOSTICS and name not in ice))


def _note_intervals(files: list[OutputFile], output_interval: float, settings: Settings) -> None:
    """Note the output files whose interval is not that of the run."""
    for file in files:
        if abs(file.interval - output_interval) > 1e-9 * output_interval:
            means = f"; means are over {output_interval:g} s" if file.means else ""
            text = f"its variables are in the file of the run, every {output_interval:g} s instead of "
            text += f"{file.interval:g} s; the file with the most frequent profiles sets the interval{means}"
            settings.notes.append((f"output.{file.name}", text))


def _sources(settings: Settings, name: str, section: dict) -> Iterator[str]:
    """Names and patterns of the variables of a file, including nested groups."""
    for group in ("variables", "groups"):
        items = section.get(group) or []
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise settings.error(
                f"output.{name}.{group}", f"expected a list of items with `source`, got {items!r}"
            )
        for item in items:
            if group == "groups":
                yield from _sources(settings, name, item)
            elif item.get("source") is not None:
                yield str(item["source"])


def _resolved(sources: Iterator[str]) -> Iterator[str]:
    """Resolve patterns, of a name or a category and a name, to the variables computed here."""
    for source in sources:
        if "*" not in source:
            yield source.rpartition("/")[2]
            continue
        pattern = source.lstrip("/")
        for category, variables in _TABLE.items():
            for name in variables:
                if fnmatchcase(name, pattern) or fnmatchcase(f"{category}/{name}", pattern):
                    yield name


def read_times(settings: Settings) -> dict[str, JSON]:
    """Start, length, time step [s] and output of a run; `since_midnight` is the start within its day [s]."""
    if settings["time.method"] != "start_stop":
        raise settings.error("time.method", "expected start_stop, got a number of steps; give time.stop")
    (start, stop), dt = read_period(settings), settings["time.dt"]
    if dt <= 0.0:
        raise settings.error("time.dt", f"expected a positive time step [s], got {dt:g}")
    # GOTM rounds to the nearest whole number of steps.
    n_steps = int((stop - start).total_seconds() / dt + 0.5)
    if n_steps < 1:
        raise settings.error("time.dt", f"expected a time step within the run, got {dt:g} s; shorten it")
    files = read_output_files(settings, dt)
    steps = _steps_per_frame(settings, files, dt, n_steps)
    _note_intervals(files, steps * dt, settings)
    return {
        "start_time": start.isoformat(),
        "since_midnight": 3600 * start.hour + 60 * start.minute + start.second,
        "length": n_steps * dt,
        "dt": dt,
        "output_interval": steps * dt,
        "diagnostics": _diagnostics(files, settings),
        "means": any(file.means for file in files),
    }


def read_period(settings: Settings) -> tuple[datetime.datetime, datetime.datetime]:
    """Start and end of a run."""
    start, stop = _instant(settings, "time.start"), _instant(settings, "time.stop")
    if stop <= start:
        got = f"got {stop}; correct one"
        raise settings.error("time.stop", f"expected a time after time.start, {start}, {got}")
    return start, stop


def _instant(settings: Settings, path: str) -> datetime.datetime:
    text, date = settings[path], r"(\d{4}).([ \d]\d).([ \d]\d)"
    # GOTM accepts any separator between the numbers, and takes missing seconds as 0.
    date_match = re.fullmatch(date + r".([ \d]\d).([ \d]\d)(?:.([ \d]\d)(?:[.]0*|Z)?)?", text.strip())
    try:
        numbers = [int(part or 0) for part in date_match.groups()] if date_match else []
        is_midnight = numbers[3:] == [24, 0, 0]
        instant = datetime.datetime(*numbers[:3], *([0, 0, 0] if is_midnight else numbers[3:]))  # pyright: ignore
    except (TypeError, ValueError):
        raise settings.error(path, f"expected YYYY-MM-DD HH:MM:SS, got {text!r}; correct the date") from None
    return instant + datetime.timedelta(days=is_midnight)


def _steps_per_frame(settings: Settings, files: list[OutputFile], dt: float, n_steps: int) -> int:
    """Time steps between frames: of the file with the most frequent profiles, or a day without files."""
    if not files:
        return min(n_steps, max(1, int(86400.0 / dt + 0.5)))
    with_profiles = [file.interval for file in files if file.has_profiles]
    wanted = min(with_profiles or [file.interval for file in files])
    steps = min(n_steps, max(1, int(wanted / dt + 0.5)))
    if abs(steps * dt - wanted) > 1e-9 * wanted:
        text = f"frames every {steps * dt:g} s, whole time steps, instead of {wanted:g} s"
        settings.notes.append(("output", text))
    return steps
