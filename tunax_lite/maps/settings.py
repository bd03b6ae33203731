"""The input of a map, from a configuration or a user: fields of files, points, kinds of water."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from jaxtyping import PyTree

from ..air_sea.air import HumidityMeasure
from ..declarations import check_settings, named, setting
from .points import Points


@dataclass(frozen=True)
class Gridded:
    """A quantity over latitude and longitude, and over time or depth.

    Args:
        variable: its name in the files; null for one of the usual names.
        paths: files, one after the other in time; by default those of the map. `{site}` stands for the name
            of a site, of which each file holds one point.
        unit: instead of that in the file.
        factor: times which values count, before their unit is converted [1].
        upward: whether the file counts it positive out of the water.
        repeats: whether its times are a year that repeats; null if the file says so, by a reference year
            of 0 or 1, or an attribute `modulo` or `climatology`.
        stretched_years: whether years of 360 or 366 days are stretched to those of the run.
        missing: number that stands for missing values, beside those that the file declares.
        constant: number in its place, in the unit of the package; the same everywhere.
        sum_of: fields whose sum replaces it.
    """

    variable: str | None = setting(None)
    paths: tuple[str, ...] = setting(())
    unit: str | None = setting(None)
    factor: float = setting(1.0)
    upward: bool = setting(False)
    repeats: bool | None = setting(None)
    stretched_years: bool = setting(False)
    missing: float | None = setting(None)
    constant: float | None = setting(None)
    sum_of: tuple["Gridded", ...] = setting(())


def as_field(given: PyTree) -> Gridded:
    """A field of what stands for one."""
    if isinstance(given, Gridded):
        return given
    if isinstance(given, str):
        return Gridded(given)
    if isinstance(given, list | tuple):
        return Gridded(sum_of=tuple(as_field(each) for each in given))
    return Gridded(constant=float(given))


class _Fields:
    """What several classes of fields share."""

    def __post_init__(self):
        check_settings(self)  # pyright: ignore[reportArgumentType]

    def given(self) -> dict[str, Gridded]:
        """The fields that there are, by name."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}  # pyright: ignore[reportArgumentType]
        return {name: value for name, value in found.items() if isinstance(value, Gridded)}


@dataclass(frozen=True)
class WeatherFields(_Fields):
    """Weather over the map, from which fluxes are computed.

    Args:
        wind_u: eastward wind at 10 m [m s-1].
        wind_v: northward wind at 10 m [m s-1].
        wind_speed: mean speed of the wind [m s-1], where that of the means of its components is less; the
            wind is lengthened to it.
        air_temperature: at 2 m [degC].
        humidity: at 2 m, in the unit of its measure.
        humidity_measure: relative, wet_bulb, dew_point or specific.
        air_pressure: at the surface [Pa]; null for 1013.25 hPa.
        cloud_cover: 0 to 1.
        precipitation: rain [m s-1].
        shortwave: shortwave radiation [W m-2].
        longwave: longwave radiation [W m-2].
    """

    wind_u: Gridded = setting()
    wind_v: Gridded = setting()
    air_temperature: Gridded = setting()
    humidity: Gridded = setting()
    wind_speed: Gridded | None = setting(None)
    humidity_measure: HumidityMeasure = setting("relative")
    air_pressure: Gridded | None = setting(None)
    cloud_cover: Gridded | None = setting(None)
    precipitation: Gridded | None = setting(None)
    shortwave: Gridded | None = setting(None)
    longwave: Gridded | None = setting(None)


@dataclass(frozen=True)
class FluxFields(_Fields):
    """Surface fluxes, positive into the water.

    Args:
        stress_u: eastward stress on the water [N m-2].
        stress_v: northward stress on the water [N m-2].
        heat_flux: heat into the surface, without shortwave radiation [W m-2].
        shortwave_flux: shortwave radiation into the water [W m-2].
        freshwater_flux: precipitation minus evaporation [kg m-2 s-1].
        salt_flux: salt [kg m-2 s-1].
    """

    stress_u: Gridded | None = setting(None)
    stress_v: Gridded | None = setting(None)
    heat_flux: Gridded | None = setting(None)
    shortwave_flux: Gridded | None = setting(None)
    freshwater_flux: Gridded | None = setting(None)
    salt_flux: Gridded | None = setting(None)


@dataclass(frozen=True)
class CorrectionFields(_Fields):
    """Corrections added to all fluxes, which keep a map without currents from drifting.

    Args:
        heat_flux: heat into the surface [W m-2].
        freshwater_flux: fresh water [kg m-2 s-1].
        salt_flux: salt [kg m-2 s-1].
    """

    heat_flux: Gridded | None = setting(None)
    freshwater_flux: Gridded | None = setting(None)
    salt_flux: Gridded | None = setting(None)


@dataclass(frozen=True)
class SurfaceTargets(_Fields):
    """Values towards which the uppermost cell is restored.

    Args:
        temperature: of the kind of the map [degC].
        salinity: of the kind of the map.
        temperature_velocity: thickness of water that is renewed in a time [m s-1]; 1e-5 is 40 W m-2 K-1.
        salinity_velocity: the same for salinity [m s-1].
    """

    temperature: Gridded | None = setting(None)
    salinity: Gridded | None = setting(None)
    temperature_velocity: float = setting(1e-5, above=0.0, at_most=1.0)
    salinity_velocity: float = setting(1e-5, above=0.0, at_most=1.0)


@dataclass(frozen=True)
class ObservedFields(_Fields):
    """Observations that a calibration compares columns with.

    Args:
        temperature: of the uppermost cell, of the kind of the map [degC].
    """

    temperature: Gridded = setting()


@dataclass(frozen=True)
class DriftFields(_Fields):
    """Stokes drift of the waves.

    Args:
        u: eastward at the surface [m s-1].
        v: northward at the surface [m s-1].
        decay_depth: e-folding depth of its decay [m].
    """

    u: Gridded = setting()
    v: Gridded = setting()
    decay_depth: float = setting(5.0, at_least=1e-3, at_most=1e4)


@dataclass(frozen=True)
class AbstractPoints:
    """Where the columns are."""

    def of(self, source: Points) -> tuple[Points, tuple[str, ...]]:
        """The points, some of which may have no water, and their names; `source` are those of the file."""
        raise NotImplementedError


@named("input")
@dataclass(frozen=True)
class InputPoints(AbstractPoints):
    """The points of the file of the temperature."""

    def of(self, source: Points) -> tuple[Points, tuple[str, ...]]:
        return source, ()


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

    def of(self, source: Points) -> tuple[Points, tuple[str, ...]]:
        edges_of = [
            np.linspace(first, last, round((last - first) / self.spacing) + 1)
            for first, last in (self.latitude, self.longitude)
        ]
        latitude, longitude = (0.5 * (edges[1:] + edges[:-1]) for edges in edges_of)
        return Points(latitude, longitude, True, edges_of[0], edges_of[1]), ()


@named("sites")
@dataclass(frozen=True)
class SitePoints(AbstractPoints):
    """A list of places.

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

    def of(self, source: Points) -> tuple[Points, tuple[str, ...]]:
        places = np.array(list(self.places.values()), dtype=float)
        return Points(places[:, 0], places[:, 1], False), tuple(self.places)


@dataclass(frozen=True, kw_only=True)
class MapInput(_Fields):
    """Gridded files, and the columns made of them.

    Args:
        start_time: date and time of the start, ISO 8601, Universal Time.
        duration: length of the map's time [s].
        paths: files of all fields without their own.
        points: where the columns are.
        remapping: of surface fields to these points; conservative keeps integrals over cells.
        reach: farthest water whose values may stand for a point without any, at a coast for one [m].
        temperature: of the start, over depth.
        salinity: of the start, over depth.
        temperature_kind: conservative, potential or in_situ; null for what its CF standard name says.
        salinity_kind: absolute or practical; null for what its CF standard name says.
        depth: of the sea [m]; null for that of the deepest temperature.
        least_depth: columns in shallower water are as deep as this [m].
        largest_depth: columns in deeper water end here [m].
        weather: the air, from which fluxes follow.
        fluxes: surface fluxes, instead of the weather.
        flux_corrections: added to the fluxes.
        restoring: values that the uppermost cell is drawn to.
        stokes_drift: of surface waves.
        observed: what a calibration compares columns with; only where it has values there are columns.
        parameters: fields of parameters that differ from column to column, by the path of the parameter: of
            the closure, or of the case behind `case.`, such as `case.absorption.visible_depth`.
    """

    start_time: str = setting()
    duration: float = setting(above=0.0)
    temperature: Gridded = setting(default_factory=Gridded)
    salinity: Gridded = setting(default_factory=Gridded)
    paths: tuple[str, ...] = setting(())
    points: AbstractPoints = setting(default_factory=InputPoints)
    remapping: str = setting("bilinear", choices=("bilinear", "conservative"))
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


_PARTS = {
    "weather": WeatherFields,
    "fluxes": FluxFields,
    "flux_corrections": CorrectionFields,
    "restoring": SurfaceTargets,
    "stokes_drift": DriftFields,
    "observed": ObservedFields,
}


def map_input(**given: Any) -> MapInput:  # arguments of `MapInput`, or what is short for them
    """The input of a map, in which names of variables, numbers and lists may stand for fields, and mappings
    of fields for its parts.

    Args:
        given: arguments of `MapInput`.
    """
    parts = {name: _of_short(_PARTS[name], value) for name, value in given.items() if name in _PARTS}
    parameters = {path: as_field(value) for path, value in given.get("parameters", {}).items()}
    return _of_short(MapInput, given | parts | {"parameters": parameters})


def _of_short(kind: Any, given: Any) -> Any:  # a class of fields, and an instance or what makes it
    if not isinstance(given, Mapping):
        return given
    known = {each.name for each in fields(kind) if each.type in (Gridded, Gridded | None)}
    short = {name: as_field(v) for name, v in given.items() if name in known and v is not None}
    return kind(**{**given, **short})
