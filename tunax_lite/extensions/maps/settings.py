"""Input of a map, from a configuration or a user: fields from files, points, kinds of water properties."""

import abc
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any

import numpy as np
from jaxtyping import PyTree

from ...air_sea.air import HumidityMeasure
from ...air_sea.bulk_forcing import WEATHER, Weather
from ...column.forcing import DECLARED_FLUXES, FLUXES, SurfaceFluxes
from ...declarations import check_settings, dataclass_of, meanings, named, setting
from ...io.units import AbstractConversion
from .remapping import Points


@dataclass(frozen=True)
class Gridded(AbstractConversion):
    """A quantity over latitude and longitude, and over time or depth.

    Args:
        variable: name in the files; null for one of the common names.
        paths: consecutive files; by default those of the map. `{site}` stands for the name of a site, with
            one file per point.
        upward: whether the file counts the flux positive out of the water; it is then reversed last.
        repeats: whether the records are a repeating year; null to detect it by a reference year of 0 or 1, or
            an attribute `modulo` or `climatology`.
        missing: number that marks missing values, in addition to those declared in the file.
        constant: uniform number instead of a variable, in the package's unit.
        sum_of: fields whose sum replaces the variable.
    """

    variable: str | None = setting(None)
    paths: tuple[str, ...] = setting(())
    upward: bool = setting(False)
    repeats: bool | None = setting(None)
    missing: float | None = setting(None)
    constant: float | None = setting(None)
    sum_of: tuple["Gridded", ...] = setting(())


def as_field(given: PyTree) -> Gridded:
    """A field from its short form."""
    if isinstance(given, Gridded):
        return given
    if isinstance(given, str):
        return Gridded(given)
    if isinstance(given, list | tuple):
        return Gridded(sum_of=tuple(as_field(each) for each in given))
    return Gridded(constant=float(given))


class _Fields:
    """Shared by several classes of fields."""

    def __post_init__(self):
        check_settings(self)  # pyright: ignore[reportArgumentType]

    def given(self) -> dict[str, Gridded]:
        """The fields that are set, by name."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}  # pyright: ignore[reportArgumentType]
        return {name: value for name, value in found.items() if isinstance(value, Gridded)}


def _gridded(declared: Iterable[Field]) -> dict[str, tuple[object, object]]:
    """Gridded fields for declared ones; optional ones and those with a usual value may be left out."""
    fields: dict[str, tuple[object, object]] = {}
    for each in declared:
        needed = each.default is MISSING and each.metadata.get("usual") is None
        fields[each.name] = (Gridded, setting()) if needed else (Gridded | None, setting(None))
    return fields


@dataclass(frozen=True)
class WeatherFields(dataclass_of(_gridded(WEATHER), meanings(Weather)), _Fields):
    """Weather over the map, from which fluxes are computed.

    Args:
        wind_speed: mean wind speed [m s-1], if it exceeds the magnitude of the mean components; the wind is
            scaled to it.
        humidity_measure: relative, wet_bulb, dew_point or specific.
    """

    wind_speed: Gridded | None = setting(None)
    humidity_measure: HumidityMeasure = setting("relative")


_FLUXES = _gridded(field for field in DECLARED_FLUXES if field.name in FLUXES)


@dataclass(frozen=True)
class FluxFields(dataclass_of(_FLUXES, meanings(SurfaceFluxes)), _Fields):
    """Surface fluxes, positive into the water."""


@dataclass(frozen=True)
class CorrectionFields(dataclass_of(_FLUXES, meanings(SurfaceFluxes)), _Fields):
    """Corrections added to all fluxes, which prevent the drift of a map without currents."""


@dataclass(frozen=True)
class SurfaceTargets(_Fields):
    """Values towards which the uppermost cell is restored.

    Args:
        temperature: of the kind of the map [degC].
        salinity: of the kind of the map.
        temperature_velocity: piston velocity of the relaxation [m s-1]; 1e-5 is 40 W m-2 K-1.
        salinity_velocity: the same for salinity [m s-1].
    """

    temperature: Gridded | None = setting(None)
    salinity: Gridded | None = setting(None)
    temperature_velocity: float = setting(1e-5, above=0.0, at_most=1.0)
    salinity_velocity: float = setting(1e-5, above=0.0, at_most=1.0)


@dataclass(frozen=True)
class ObservedFields(_Fields):
    """Observations for calibration.

    Args:
        temperature: of the uppermost cell, of the kind of the map [degC].
    """

    temperature: Gridded = setting()


@dataclass(frozen=True)
class DriftFields(_Fields):
    """Stokes drift of surface waves.

    Args:
        u: eastward at the surface [m s-1].
        v: northward at the surface [m s-1].
        decay_depth: e-folding depth [m].
    """

    u: Gridded = setting()
    v: Gridded = setting()
    decay_depth: float = setting(5.0, at_least=1e-3, at_most=1e4)


@dataclass(frozen=True)
class AbstractPoints(abc.ABC):
    """Positions of the columns."""

    @abc.abstractmethod
    def of(self, source: Points) -> Points:
        """The points, with or without water; `source` are those of the file."""


@named("input")
@dataclass(frozen=True)
class InputPoints(AbstractPoints):
    """The points of the temperature file."""

    def of(self, source: Points) -> Points:
        return source


@named("grid")
@dataclass(frozen=True)
class GridPoints(AbstractPoints):
    """Cells of equal angles.

    Args:
        spacing: size of the cells [degrees].
        latitude: southern and northern edge [degrees north].
        longitude: western and eastern edge [degrees east].
    """

    spacing: float = setting(above=0.0, at_most=90.0)
    latitude: tuple[float, ...] = setting((-90.0, 90.0))
    longitude: tuple[float, ...] = setting((0.0, 360.0))

    def __post_init__(self):
        check_settings(self)
        for name, lowest, longest in (("latitude", -90.0, 180.0), ("longitude", -360.0, 360.0)):
            edges = getattr(self, name)
            right = len(edges) == 2 and lowest <= edges[0] < edges[-1] <= edges[0] + longest
            if not right or name == "latitude" and edges[1] > 90.0:
                raise ValueError(
                    f"points.{name}: expected two edges [degrees] that increase, got {list(edges)}; write "
                    "them like [-60, 60]."
                )
            n = (edges[1] - edges[0]) / self.spacing
            if abs(n - round(n)) > 1e-6 * n:
                raise ValueError(
                    f"points.{name}: expected edges that are a multiple of the spacing of {self.spacing:g} "
                    f"degrees apart, got {list(edges)}; change one of them."
                )

    def of(self, source: Points) -> Points:
        edges_of = [
            np.linspace(first, last, round((last - first) / self.spacing) + 1)
            for first, last in (self.latitude, self.longitude)
        ]
        latitude, longitude = (0.5 * (edges[1:] + edges[:-1]) for edges in edges_of)
        return Points(latitude, longitude, True)


@named("sites")
@dataclass(frozen=True)
class SitePoints(AbstractPoints):
    """A list of positions.

    Args:
        places: latitude and longitude [degrees north, degrees east] by name.
    """

    places: dict[str, list[float]] = setting()

    def __post_init__(self):
        for name, place in self.places.items():
            if len(place) != 2 or not (abs(place[0]) <= 90.0 and abs(place[1]) <= 360.0):
                raise ValueError(
                    f"points.places.{name}: expected latitude and longitude [degrees], got {list(place)}; "
                    "write them like [50.0, -145.0]."
                )
        if not self.places:
            raise ValueError("points.places: expected at least one place, got none; add one.")

    def of(self, source: Points) -> Points:
        places = np.array(list(self.places.values()), dtype=float)
        return Points(places[:, 0], places[:, 1], False, names=tuple(self.places))


@dataclass(frozen=True, kw_only=True)
class MapInput(_Fields):
    """Gridded files, and the columns made from them.

    Args:
        start_time: ISO 8601 date and time of the start, universal time.
        duration: of the map [s].
        paths: files for all fields without their own.
        points: positions of the columns.
        reach: largest distance of a water point used for a point without values, for example at a coast [m].
        temperature: initial, over depth.
        salinity: initial, over depth.
        tracers: initial ones over depth, by name, in the unit of the term that carries them; others start
            from the values of the term.
        temperature_kind: conservative, potential or in_situ; null for the kind in the CF standard name.
        salinity_kind: absolute or practical; null for the kind in the CF standard name.
        depth: of the sea floor [m]; null for the depth of the deepest temperature.
        least_depth: minimum depth of columns in shallower water [m].
        largest_depth: maximum depth of columns in deeper water [m].
        weather: for bulk fluxes.
        fluxes: prescribed surface fluxes, instead of the weather.
        flux_corrections: added to the fluxes.
        restoring: of the uppermost cell.
        stokes_drift: of surface waves.
        observed: observations for calibration; columns exist only where they have values.
        parameters: fields of parameters that vary between columns, by path of the parameter: in the closure,
            or in the case after `case.`, such as `case.absorption.visible_depth`.
    """

    start_time: str = setting()
    duration: float = setting(above=0.0)
    temperature: Gridded = setting(default_factory=Gridded)
    salinity: Gridded = setting(default_factory=Gridded)
    tracers: Mapping[str, Gridded] = setting(default_factory=dict)
    paths: tuple[str, ...] = setting(())
    points: AbstractPoints = setting(default_factory=InputPoints)
    reach: float = setting(3e5, at_least=0.0, at_most=2.1e7)
    temperature_kind: str | None = setting(None, choices=("conservative", "potential", "in_situ"))
    salinity_kind: str | None = setting(None, choices=("absolute", "practical"))
    depth: Gridded | None = setting(None)
    least_depth: float = setting(10.0, above=0.0, at_most=12000.0)
    largest_depth: float = setting(12000.0, above=0.0, at_most=12000.0)
    weather: WeatherFields | None = setting(None)
    fluxes: FluxFields | None = setting(None)
    flux_corrections: CorrectionFields | None = setting(None)
    restoring: SurfaceTargets | None = setting(None)
    stokes_drift: DriftFields | None = setting(None)
    observed: ObservedFields | None = setting(None)
    parameters: Mapping[str, Gridded] = setting(default_factory=dict)

    def __post_init__(self):
        check_settings(self)
        if (self.weather is None) == (self.fluxes is None):
            got = "neither" if self.weather is None else "both"
            raise ValueError(f"expected `weather` or `fluxes`, got {got}; give one of them.")
        if self.fluxes is not None and not self.fluxes.given():
            raise ValueError("fluxes: expected at least one flux, got none; 0 is no flux.")
        if self.least_depth > self.largest_depth:
            raise ValueError(
                f"least_depth: expected at most largest_depth, {self.largest_depth:g} m, got "
                f"{self.least_depth:g} m; change one of them."
            )


PARTS = {
    "weather": WeatherFields,
    "fluxes": FluxFields,
    "flux_corrections": CorrectionFields,
    "restoring": SurfaceTargets,
    "stokes_drift": DriftFields,
    "observed": ObservedFields,
}


def map_input(**given: Any) -> MapInput:  # arguments of `MapInput`, or their short forms
    """The input of a map, with short forms: names, numbers and lists for fields, mappings for sections.

    Args:
        given: arguments of `MapInput`.
    """
    parts = {name: _of_short(PARTS[name], value) for name, value in given.items() if name in PARTS}
    named = {
        key: {path: as_field(value) for path, value in given.get(key, {}).items()}
        for key in ("parameters", "tracers")
    }
    return _of_short(MapInput, given | parts | named)


def _of_short(kind: Any, given: Any) -> Any:  # a class of fields, and an instance or its short form
    if not isinstance(given, Mapping):
        return given
    known = {each.name for each in fields(kind) if each.type in (Gridded, Gridded | None)}
    short = {name: as_field(v) for name, v in given.items() if name in known and v is not None}
    return kind(**{**given, **short})
