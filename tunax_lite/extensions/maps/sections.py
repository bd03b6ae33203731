"""Keys of a map: fields of gridded files, positions of the columns, and one model for all of them.

Notebooks give the same keys as configurations: a field is the name of its variable, a number, a list of
fields to add up, or a `Gridded` with more settings.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Optional

import numpy as np
from pydantic import BeforeValidator, Field, create_model

from ..._types import JSON
from ...air_sea.air import HumidityMeasure
from ...air_sea.bulk_forcing import WEATHER, Weather
from ...calibration import ParameterTable
from ...closures import AbstractClosure
from ...column.forcing import DECLARED_FLUXES, FLUXES, SurfaceFluxes
from ...config.air_sea import LONGWAVE, AirSeaSection
from ...config.builder import choice, one_of
from ...config.calibration import FreeParameterSection, free_parameters
from ...config.case import GridSection, NativeGrid, StretchedGrid
from ...config.closures import TermSection
from ...config.profiles import AbsorptionSection, EquationOfStateSection, TwoBandSeriesSection
from ...config.schema import ModelSection, Precision, TimeSection
from ...config.section import Accepted, Section, invalid, key, reject
from ...config.series import ConversionSection, Paths
from ...declarations import meanings
from ...ice import AbstractIce
from ...runtime.memory import check_steps
from .remapping import Points


class Gridded(ConversionSection):
    """A quantity over latitude and longitude, and over time or depth."""

    variable: str | None = key("name in the files; null for one of the common names", None)
    paths: Paths = key("a file, or several one after the other in time; by default those of the map", [])
    repeats: bool | None = key(
        "whether the records are a repeating year; null to detect it by a reference year of 0 or 1, or an "
        "attribute `modulo` or `climatology`",
        None,
    )
    constant: float | None = key("uniform number instead of a variable, in the package's unit", None)
    sum_of: list["GriddedInput"] = key("fields whose sum replaces the variable", [])

    def _check(self) -> None:
        keys = self.model_fields_set
        for name in ("constant", "sum_of"):
            if name in keys and (others := keys - {name}):
                raise invalid(f"`{name}` alone", f"it and {', '.join(sorted(others))}", "remove one of them")


def _expanded(value: JSON) -> JSON:
    """Expand a name, number or list to a variable, a constant or a sum."""
    if isinstance(value, str):
        return {"variable": value}
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {"constant": float(value)}
    return {"sum_of": value} if isinstance(value, list) else value


GriddedInput = Annotated[
    Gridded, BeforeValidator(_expanded, json_schema_input_type=Gridded | str | float | list[JSON])
]
_Optional = Optional[GriddedInput]  # noqa: UP045
_ByName = dict[str, GriddedInput]
Gridded.model_rebuild()


def _fields_of(kind: type, declared: Iterable[dataclasses.Field]) -> Any:  # to derive from
    """A section with a field per declared quantity, optional where the quantity has a usual value."""
    keys: dict[str, Any] = {}
    for each in declared:
        is_needed = each.default is dataclasses.MISSING and each.metadata.get("usual") is None
        about = meanings(kind).get(each.name, "").removesuffix(".")
        keys[each.name] = (GriddedInput, key(about)) if is_needed else (_Optional, key(about, None))
    return create_model(f"{kind.__name__}Fields", __base__=Section, **keys)


class WeatherFields(_fields_of(Weather, WEATHER)):
    """Weather over the map, from which fluxes are computed."""

    wind_speed: GriddedInput | None = key(
        "mean wind speed [m s-1], to which the wind is scaled if it exceeds the magnitude of the mean "
        "components",
        None,
    )
    humidity_measure: HumidityMeasure = key("relative, wet_bulb, dew_point or specific", "relative")


class FluxFields(_fields_of(SurfaceFluxes, (each for each in DECLARED_FLUXES if each.name in FLUXES))):
    """Surface fluxes, positive into the water."""

    def _check(self) -> None:
        if not any(isinstance(value, Gridded) for _, value in self):
            raise invalid("at least one flux", "none", "add one; 0 means no flux")


class RestoringFields(Section):
    """Values towards which the uppermost cell is restored."""

    temperature: GriddedInput | None = key("temperature in the map's temperature_kind [degC]", None)
    salinity: GriddedInput | None = key("salinity in the map's salinity_kind", None)
    temperature_velocity: float = key(
        "piston velocity of temperature [m s-1]; 1e-5 is 40 W m-2 K-1", 1e-5, gt=0.0, le=1.0
    )
    salinity_velocity: float = key("piston velocity of salinity [m s-1]", 1e-5, gt=0.0, le=1.0)


class ObservedFields(Section):
    """Observations for calibration."""

    temperature: GriddedInput = key("temperature of the uppermost cell, in the map's temperature_kind [degC]")


class DriftFields(Section):
    """Stokes drift of surface waves."""

    u: GriddedInput = key("eastward at the surface [m s-1]")
    v: GriddedInput = key("northward at the surface [m s-1]")
    decay_depth: float = key("e-folding depth [m]", 5.0, ge=1e-3, le=1e4)


class InputPoints(Section):
    """The points of the temperature file."""

    name: Literal["input"] = "input"

    def of(self, source: Points) -> Points:
        """Return the points, with or without water; `source` are those of the file."""
        return source


_Edges = Annotated[list[float], Field(min_length=2, max_length=2)]


class GridPoints(Section):
    """Cells of equal angles."""

    name: Literal["grid"] = "grid"
    spacing: float = key("size of the cells [degrees]", gt=0.0, le=90.0)
    latitude: _Edges = key("southern and northern edge [degrees north]", [-90.0, 90.0])
    longitude: _Edges = key("western and eastern edge [degrees east]", [0.0, 360.0])

    def _check(self) -> None:
        for name, lowest, longest in (("latitude", -90.0, 180.0), ("longitude", -360.0, 360.0)):
            first, last = getattr(self, name)
            is_beyond_pole = name == "latitude" and last > 90.0
            if is_beyond_pole or not lowest <= first < last <= first + longest:
                expected = f"two edges of {name} [degrees] that increase, such as [-60, 60]"
                reject(f"expected {expected}, got {first:g}, {last:g}", name)
            n = (last - first) / self.spacing
            if abs(n - round(n)) > 1e-6 * n:
                expected = f"edges of {name} that are a multiple of {self.spacing:g} degrees apart"
                reject(f"expected {expected}, got {first:g}, {last:g}; change one of them", name)

    def of(self, source: Points) -> Points:
        """Return the centers of the cells."""
        edges_of = [
            np.linspace(first, last, round((last - first) / self.spacing) + 1)
            for first, last in (self.latitude, self.longitude)
        ]
        latitude, longitude = (0.5 * (edges[1:] + edges[:-1]) for edges in edges_of)
        return Points(latitude, longitude, True)


class SitePoints(Section):
    """A list of positions."""

    name: Literal["sites"] = "sites"
    places: dict[str, list[float]] = key(
        "latitude and longitude [degrees north, degrees east] by name", min_length=1
    )

    def _check(self) -> None:
        for name, place in self.places.items():
            if len(place) != 2 or not (abs(place[0]) <= 90.0 and abs(place[1]) <= 360.0):
                expected = "latitude and longitude [degrees], such as [50.0, -145.0]"
                reject(f"expected {expected} of {name}, got {place}", "places", name)

    def of(self, source: Points | None = None) -> Points:
        """Return the positions, in order."""
        places = np.array(list(self.places.values()))
        return Points(places[:, 0], places[:, 1], False, names=tuple(self.places))


PointsSection = choice(InputPoints, GridPoints, SitePoints)


class MapSection(Section):
    """Positions of the columns, and the input files."""

    start_time: str = key("ISO 8601 date and time of the start, universal time")
    duration: float = key("duration of the map [s]", gt=0.0)
    temperature: GriddedInput = key("initial temperature over depth", default_factory=Gridded)
    salinity: GriddedInput = key("initial salinity over depth", default_factory=Gridded)
    tracers: _ByName = key(
        "initial tracers over depth, by name, in the unit of their term; others start from its values",
        default_factory=dict,
    )
    paths: Paths = key("files of all fields without their own", [])
    folder: str | None = key("where files are; null for the folder of the configuration", None, min_length=1)
    points: PointsSection = key("positions of the columns", InputPoints())  # pyright: ignore[reportInvalidTypeForm]
    reach: float = key(
        "largest distance of a water point used for a point without values, for example at a coast [m]",
        3e5,
        ge=0.0,
        le=2.1e7,
    )
    temperature_kind: Literal["conservative", "potential", "in_situ"] | None = key(
        "null for the kind in the CF standard name", None
    )
    salinity_kind: Literal["absolute", "practical"] | None = key(
        "null for the kind in the CF standard name", None
    )
    depth: GriddedInput | None = key(
        "depth of the sea floor [m]; null for that of the deepest temperature", None
    )
    least_depth: float = key("minimum depth of columns in shallower water [m]", 10.0, gt=0.0, le=12000.0)
    largest_depth: float = key("maximum depth of columns in deeper water [m]", 12000.0, gt=0.0, le=12000.0)
    weather: WeatherFields | None = key("weather, from which fluxes are computed", None)
    fluxes: FluxFields | None = key("prescribed surface fluxes, instead of the weather", None)
    flux_corrections: FluxFields | None = key("added to the fluxes, so that columns do not drift", None)
    restoring: RestoringFields | None = key("restoring of the uppermost cell", None)
    stokes_drift: DriftFields | None = key("Stokes drift of surface waves", None)
    observed: ObservedFields | None = key(
        "observations for calibration; columns exist only where they have values", None
    )
    terms: dict[str, TermSection] = key(
        "terms of all columns, such as biogeochemistry, by a name of your choice", default_factory=dict
    )
    air_sea: AirSeaSection = key("how fluxes follow from the weather", default_factory=AirSeaSection)
    equation_of_state: EquationOfStateSection = key(  # pyright: ignore[reportInvalidTypeForm]
        "how temperature and salinity set the density", "teos10", validate_default=True
    )
    absorption: AbsorptionSection = key("how deep shortwave radiation goes", "I", validate_default=True)  # pyright: ignore[reportInvalidTypeForm]
    ice: one_of(AbstractIce) | None = key("ice on the water", None)  # pyright: ignore[reportInvalidTypeForm]

    def _check(self) -> None:
        if (self.weather is None) == (self.fluxes is None):
            got = "neither" if self.weather is None else "both"
            raise invalid("`weather` or `fluxes`", got, "give one of them")
        if self.least_depth > self.largest_depth:
            expected = f"least_depth of at most largest_depth, {self.largest_depth:g} m"
            raise invalid(expected, f"{self.least_depth:g} m", "change one of them")
        if self.weather is None:
            if "air_sea" in self.model_fields_set:
                raise invalid("`air_sea` together with `weather`", "it with `fluxes`", "remove it")
        else:
            self._check_radiation(self.weather)
        if self.air_sea.implicit_stress == "long_steps":
            raise invalid("implicit_stress true or false on a map", "long_steps", "choose one of them")
        if isinstance(self.absorption, TwoBandSeriesSection):
            raise invalid("an absorption of numbers", "two_band_series", "choose another")

    def groups(self) -> Mapping[str, Mapping[str, Gridded]]:
        """Fields over time by name, grouped by section."""
        names = "weather", "fluxes", "flux_corrections", "restoring", "stokes_drift", "observed"
        return {
            name: {key: value for key, value in getattr(self, name) if isinstance(value, Gridded)}
            for name in names
            if getattr(self, name) is not None
        }

    def _check_radiation(self, weather: WeatherFields) -> None:
        formula = self.air_sea.longwave in set(LONGWAVE) - {"net", "downward"}
        sky = self.air_sea.shortwave.name == "clear_sky"
        for name, is_formula in (("longwave", formula), ("shortwave", sky)):
            if is_formula and weather.cloud_cover is None:
                raise invalid(f"cloud_cover, from which {name} follows", "none", "add it to the weather")
            if is_formula == (getattr(weather, name) is not None):
                got = "both" if is_formula else "neither"
                raise invalid(f"{name} in the weather, or a formula in air_sea", got, "give one of them")


class MapOutputSection(Section):
    """Output of a map."""

    variables: list[str] = key(
        "stored at the end of every interval: variables of the state, the closure or diagnostics",
        ["temperature", "salinity", "sea_surface_temperature", "mixed_layer_depth", "heat_content"],
        min_length=1,
    )


class MapCalibrationSection(Section):
    """Calibration of a map: a heat flux correction for each column, and parameters for all columns."""

    penalty: float = key("misfit added per W m-2 of correction [K m2 W-1]", 0.002, ge=0.0)
    misfit_scale: float | None = key(
        "root mean square misfit of a column above which it counts less [K]; null where all count in full",
        None,
        gt=0.0,
    )
    start: float = key("time up to which the misfit does not count [s]", 0.0, ge=0.0)
    parameters: dict[str, FreeParameterSection] = key(
        "free parameters of the closure, equal in all columns, by dotted name", min_length=1
    )
    n_iterations: int = key("evaluations of the misfit and its derivatives", 8, ge=1, le=10_000)
    folder: str | None = key("folder for results; null for one named after the file", None, min_length=1)

    def free(self, closure: AbstractClosure) -> ParameterTable:
        """Return the free parameters of a closure."""
        return free_parameters(self.parameters).resolve(closure)


class MapConfig(Section):
    """One model on the columns of a map."""

    map: MapSection = key("positions of the columns, and their input files")
    grid: GridSection = key(
        "faces of all columns, stretched to the depth of each",
        StretchedGrid(kind="stretched", n_cells=50, surface_zoom=2.0),
    )
    model: ModelSection = key("closure and time scheme", ModelSection())
    time: TimeSection = key("time step and output", TimeSection(dt=3600.0, output_interval=5 * 86400.0))
    precision: Precision = "float64"
    output: MapOutputSection = key("stored variables", MapOutputSection())
    accept: Accepted = key("rules of plausibility whose notes are left out", default_factory=list)
    calibration: MapCalibrationSection | None = key("parameters and corrections for `calibrate`", None)

    def _check(self) -> None:
        try:
            check_steps(self.time.duration or self.map.duration, self.time.dt)
        except ValueError as error:
            raise ValueError(f"time.dt: {error}") from None
        if self.calibration is not None:
            self._check_calibration(self.calibration)
        if isinstance(self.grid, NativeGrid):
            raise invalid("a grid of kind uniform, stretched or faces", "native", "choose one of these")

    def _check_calibration(self, section: MapCalibrationSection) -> None:
        if self.map.observed is None:
            raise invalid("map.observed, which `calibration` compares columns with", "none", "add it")
        try:
            section.free(self.model.closure.build())
        except ValueError as error:
            raise ValueError(f"calibration.parameters: {error}") from None
