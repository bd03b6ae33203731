"""Sources of inputs: what they are asked, what they answer, and the register of their names.

A source is a function with `@source(kind, name, ...)`. It takes a `Place`, what the user wrote after the name
(a file, a folder, an address; empty for its default), and returns `Found`.
"""

import dataclasses
import datetime
import importlib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ...config import ConfigError
from ...config.section import closest
from ...runtime.machine import needed

if TYPE_CHECKING:
    import xarray as xr

Kind = Literal["weather", "water", "depth", "waves", "tides"]
KINDS: tuple[Kind, ...] = ("weather", "water", "depth", "waves", "tides")


class Work(NamedTuple):
    """A published data set: its licence, and how to cite it."""

    licence: str
    citation: str = ""


FILES = Work("their own")
"""Files that do not come from a published data set."""


@dataclass(frozen=True)
class Place:
    """Where and when.

    Args:
        name: of the site, for files and figures.
        latitude, longitude: [degrees north, degrees east].
        start, stop: of the run, universal time.
        column: largest depth of the column [m].
        radius: largest distance of a measured profile [km].
    """

    name: str
    latitude: float
    longitude: float
    start: datetime.datetime
    stop: datetime.datetime
    column: float = 300.0
    radius: float = 150.0

    @property
    def duration(self) -> float:
        """Of the run [s]."""
        return (self.stop - self.start).total_seconds()

    @property
    def start_time(self) -> str:
        """The start as ISO 8601 time."""
        return self.start.isoformat()

    @property
    def clock(self) -> dict[str, str]:
        """Attributes of times since the start [s]."""
        return {"units": f"seconds since {self.start_time}", "standard_name": "time", "axis": "T"}

    @property
    def position(self) -> dict[str, float]:
        """Latitude and longitude by name."""
        return {"latitude": self.latitude, "longitude": self.longitude}

    def box(self, north: float, east: float) -> tuple[float, float, float, float]:
        """South, north, west and east [degrees] of a box with a margin around the place."""
        longitude = (self.longitude + 180.0) % 360.0 - 180.0
        south, top = max(self.latitude - north, -90.0), min(self.latitude + north, 90.0)
        return south, top, longitude - east, longitude + east


@dataclass(frozen=True)
class Origin:
    """Where an input comes from.

    Args:
        kind: of input.
        source: its registered name.
        title, licence, citation: of the data.
        places: files or addresses that were read, with their SHA-256 where it is known.
        date: of the reading, universal time.
        notes: sentences on what was chosen or left out.
    """

    kind: str
    source: str
    title: str
    licence: str
    citation: str
    places: Mapping[str, str] = field(default_factory=dict)
    date: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Found:
    """The answer of a source.

    Args:
        case: keys of the case of the format `site`.
        files: datasets to write beside the configuration, by file name.
        places: files or addresses that were read, with their SHA-256 where it is known.
        notes: sentences on what was chosen or left out.
    """

    case: dict[str, Any]  # as in a configuration
    files: "dict[str, xr.Dataset]" = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


Fetch = Callable[[Place, str], Found]


@dataclass(frozen=True)
class Source:
    """A registered source: what it is, and the function that asks it; `packages` are optional ones."""

    kind: Kind
    name: str
    title: str
    licence: str
    citation: str
    fetch: Fetch
    packages: tuple[str, ...] = ()

    @property
    def is_local(self) -> bool:
        """Whether it reads files of this machine."""
        return self.fetch.__module__.endswith(".files")

    def ask(self, place: Place, where: str) -> tuple[Found, Origin]:
        """Fetch, and say where it comes from.

        Raises:
            MissingPackageError: an optional package that the source needs.
            FileFormatError, FileNotFoundError: data that are missing or unusable.
        """
        for package in self.packages:
            needed(package, f"--{self.kind} {self.name}", f"or choose another source: {listed(self.kind)}")
        found = self.fetch(place, where)
        if self.kind == "water":
            found = _with_start(place, found)
        date = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}"
        told = {each: getattr(self, each) for each in ("kind", "title", "licence", "citation")}
        return found, Origin(source=self.name, places=found.places, date=date, notes=found.notes, **told)


def _with_start(place: Place, found: Found) -> Found:
    """With a profile at the start where there is none during the run: linear in time, or the nearest one."""
    import xarray as xr

    ((name, water),) = found.files.items()
    time, notes = water["time"].values, found.notes
    if not np.any((time >= 0.0) & (time <= place.duration)):
        beside = [*np.flatnonzero(time < 0.0)[-1:], *np.flatnonzero(time > 0.0)[:1]]
        first, last = beside[0], beside[-1]
        share = float(-time[first] / (time[last] - time[first])) if last > first else 0.0
        start = water.isel(time=[first]).copy()
        for key, one in water.variables.items():
            if one.dims[:1] == ("time",):
                values = one.values[first] * (1.0 - share) + one.values[last] * share
                start[key] = (one.dims, np.asarray(values)[None], one.attrs)
        start["time"] = ("time", [0.0], water["time"].attrs)
        water = xr.concat([water, start], "time", data_vars="minimal", coords="minimal").sortby("time")
        days = " and ".join(f"{time[at] / 86400.0:+.1f}" for at in beside)
        notes = (*notes, f"no profile during the run: it starts from those of day {days}")
    gap = float(np.max(np.diff(water["time"].values), initial=found.case["observations"]["longest_gap"]))
    case = merged(found.case, {"observations": {"longest_gap": gap}})
    return dataclasses.replace(found, case=case, files={name: water}, notes=notes)


_SOURCES: dict[tuple[str, str], Source] = {}


def source(
    kind: Kind,
    name: str,
    *,
    title: str,
    work: Work = FILES,
    packages: tuple[str, ...] = (),
) -> Callable[[Fetch], Fetch]:
    """Register the decorated function as the source of a kind of input, under a name."""

    def add(fetch: Fetch) -> Fetch:
        _SOURCES[kind, name] = Source(kind, name, title, *work, fetch, packages)
        return fetch

    return add


def listed(kind: str) -> str:
    """Names of the sources of a kind, for messages."""
    for module in ("files", "services"):
        importlib.import_module(f"{__package__}.{module}")
    return ", ".join(sorted(name for of, name in _SOURCES if of == kind))


def chosen(kind: Kind, text: str) -> tuple[Source, str]:
    """The source in `NAME` or `NAME:WHERE`, and the second part.

    Raises:
        ConfigError: an unknown name.
    """
    known, (name, _, where) = listed(kind), text.partition(":")
    if (kind, name) not in _SOURCES:
        hint = closest(name, known.split(", "))
        raise ConfigError(f"--{kind} {text}: expected NAME or NAME:WHERE, with a name among {known}; {hint}.")
    return _SOURCES[kind, name], where


def is_number(text: str) -> bool:
    """Whether a number stands in the place of a source."""
    return re.fullmatch(r"[-+]?[\d.]+(e\d+)?", text) is not None


def ask(place: Place, kind: Kind, text: str) -> tuple[Found, Origin]:
    """What the source in `NAME:WHERE` answers, and its origin; a depth may be a number [m]."""
    if kind == "depth" and is_number(text):
        found = given_depth(place, text)
        return found, Origin("depth", "given", "depth given by the user", "", "", notes=found.notes)
    source, where = chosen(kind, text)
    return source.ask(place, where)


def given_depth(place: Place, text: str) -> Found:
    """A depth [m] that the user gives."""
    try:
        depth = float(text)
    except ValueError:
        depth = math.nan
    if not 1.0 <= depth <= 12000.0:
        raise ConfigError(f"--depth {text}: expected metres from 1 to 12000, or a source; correct it.")
    return floor(place, depth, {}, "given")


def floor(place: Place, depth: float, places: Mapping[str, str], told: str) -> Found:
    """The column above a sea floor at a depth [m]: down to it, with friction there, or to its upper part."""
    case: dict[str, Any] = {"depth": float(round(min(depth, place.column), 1))}  # as in a configuration
    notes = [f"{told}: sea floor at {depth:.0f} m"]
    if depth <= place.column:
        case["interior"] = {"bottom_friction": {}}
    else:
        notes.append(f"the column is the upper {place.column:g} m, without friction at its end")
    return Found(case, {}, places, tuple(notes))


def merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:  # as in a configuration
    """Keys of both, sections joined key by key; the second prevails."""
    both = dict(first)
    for name, value in second.items():
        old = both.get(name)
        both[name] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return both


def as_mapping(origin: Origin) -> dict[str, Any]:  # JSON
    """For a file."""
    return dataclasses.asdict(origin) | {"places": dict(origin.places), "notes": list(origin.notes)}
