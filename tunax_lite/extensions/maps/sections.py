"""The configuration of a map: many columns from gridded files, with one model."""

import dataclasses
from typing import Annotated, Any

from pydantic import BeforeValidator

from ..._types import JSON
from ...calibration import ResolvedParameters
from ...closures import AbstractClosure
from ...config.air_sea import LONGWAVE, AirSeaSection
from ...config.builder import STANDS_AS, one_of, part_of
from ...config.calibration import FreeParameterSection, free_parameters
from ...config.case import GridSection, NativeGrid, StretchedGrid
from ...config.closures import TermSection
from ...config.profiles import AbsorptionSection, EquationOfStateSection, TwoBandSeriesSection
from ...config.schema import ModelSection, Precision, TimeSection
from ...config.section import Accepted, Section, invalid, key
from ...config.series import ConversionSection, Paths
from ...ice import AbstractIce
from ...runtime.memory import check_steps
from .calibration import MapFit
from .settings import Gridded, MapInput

_FIELD = "variable upward repeats missing constant"


class FieldSection(part_of(Gridded, _FIELD), ConversionSection):
    """A quantity of gridded files."""

    paths: Paths = key("a file, or several one after the other in time; by default those of the map", [])
    sum_of: list["FieldGiven"] = key("fields whose sum replaces it", [])

    def _check(self) -> None:
        given = self.model_fields_set
        for name in ("constant", "sum_of"):
            if name in given and (others := given - {name}):
                raise invalid(f"`{name}` alone", f"it and {', '.join(sorted(others))}", "remove one of them")
        if self.upward and self.conversion.sign < 0:
            raise invalid("`upward`, or the sign -1", "both, which cancel", "remove one of them")

    def build(self) -> Gridded:
        """The field."""
        given = self.given() | dataclasses.asdict(self.conversion)
        return Gridded(**given, paths=tuple(self.paths), sum_of=tuple(f.build() for f in self.sum_of))


def _whole(said: JSON) -> JSON:
    """Expand a name, number or list to a variable, a constant or a sum."""
    if isinstance(said, str):
        return {"variable": said}
    if isinstance(said, int | float) and not isinstance(said, bool):
        return {"constant": float(said)}
    return {"sum_of": said} if isinstance(said, list) else said


FieldGiven = Annotated[
    FieldSection, BeforeValidator(_whole, json_schema_input_type=FieldSection | str | float | list[JSON])
]
"""A field, or in short the name of its variable, a number, or several that are added up."""
FieldSection.model_rebuild()
STANDS_AS[Gridded] = FieldGiven


class MapSection(part_of(MapInput)):
    """Positions of the columns, and the input files."""

    paths: Paths = key("files of all fields without their own", [])
    folder: str | None = key("where files are; null for the folder of the configuration", None, min_length=1)
    terms: dict[str, TermSection] = key(
        "terms of all columns, such as biogeochemistry, by a name of your choice", default_factory=dict
    )
    tracers: dict[str, FieldGiven] = key(
        "initial tracers over depth, by name, in the unit of their term; others start from its values",
        default_factory=dict,
    )
    parameters: dict[str, FieldGiven] = key(
        "fields of parameters that differ from column to column, by path: of the closure, or of the case "
        "behind `case.`, such as case.absorption.visible_depth",
        default_factory=dict,
    )
    air_sea: AirSeaSection = key("how fluxes follow from the weather", default_factory=AirSeaSection)
    equation_of_state: EquationOfStateSection = key(  # pyright: ignore[reportInvalidTypeForm]
        "how temperature and salinity set the density", "teos10", validate_default=True
    )
    absorption: AbsorptionSection = key("how deep shortwave radiation goes", "I", validate_default=True)  # pyright: ignore[reportInvalidTypeForm]
    ice: one_of(AbstractIce) | None = key("ice on the water", None)  # pyright: ignore[reportInvalidTypeForm]

    def _check(self) -> None:
        self.input()  # raises errors that only the class can detect
        if self.weather is None:
            if "air_sea" in self.model_fields_set:
                raise invalid("`air_sea` together with `weather`", "it with `fluxes`", "remove it")
        else:
            self._check_radiation(self.weather)
        if self.air_sea.implicit_stress == "long_steps":
            raise invalid("implicit_stress true or false on a map", "long_steps", "choose one of them")
        if isinstance(self.absorption, TwoBandSeriesSection):
            raise invalid("an absorption of numbers", "two_band_series", "give fields of its `parameters`")

    def _check_radiation(self, weather: Any) -> None:  # a derived section
        formula = self.air_sea.longwave in set(LONGWAVE) - {"net", "downward"}
        sky = self.air_sea.shortwave.name == "clear_sky"
        for name, is_formula in (("longwave", formula), ("shortwave", sky)):
            if is_formula and weather.cloud_cover is None:
                raise invalid(f"cloud_cover, from which {name} follows", "none", "add it to the weather")
            if is_formula == (getattr(weather, name) is not None):
                got = "both" if is_formula else "neither"
                raise invalid(f"{name} in the weather, or a formula in air_sea", got, "give one of them")

    def input(self) -> MapInput:
        """Input of the map."""
        parameters = {path: field.build() for path, field in self.parameters.items()}
        tracers = {name: field.build() for name, field in self.tracers.items()}
        return MapInput(**self.given(), paths=tuple(self.paths), parameters=parameters, tracers=tracers)


class MapOutputSection(Section):
    """Output of a map."""

    variables: list[str] = key(
        "stored at the end of every interval: variables of the state, the closure or diagnostics",
        ["temperature", "salinity", "sea_surface_temperature", "mixed_layer_depth", "heat_content"],
        min_length=1,
    )
    means: list[str] = key("of the state and the closure, as means over every interval", [])


class MapCalibrationSection(part_of(MapFit, "penalty misfit_scale start")):
    """What `calibrate` estimates on a map: a correction of the heat flux for each column, and parameters."""

    parameters: dict[str, FreeParameterSection] = key(
        "of the closure, the same in all columns, by dotted name", min_length=1
    )
    n_iterations: int = key("evaluations of the misfit and its derivatives", 8, ge=1, le=10_000)
    folder: str | None = key("folder for results; null for one named after the file", None, min_length=1)

    def free(self, closure: AbstractClosure) -> ResolvedParameters:
        """The free parameters of a closure."""
        return free_parameters(self.parameters).resolve(closure)


class MapConfig(Section):
    """One model on the columns of a map."""

    map: MapSection = key("where the columns are, and the files that they are made of")
    grid: GridSection = key(
        "faces of all columns, stretched to the depth of each",
        StretchedGrid(kind="stretched", n_cells=50, surface_zoom=2.0),
    )
    model: ModelSection = key("closure and time scheme", ModelSection())
    time: TimeSection = key("time step and output", TimeSection(step=3600.0, output_interval=5 * 86400.0))
    precision: Precision = "float64"
    output: MapOutputSection = key("stored variables", MapOutputSection())
    accept: Accepted = key("rules of plausibility whose notes are left out", default_factory=list)
    calibration: MapCalibrationSection | None = key("parameters and corrections for `calibrate`", None)

    def _check(self) -> None:
        try:
            check_steps(self.time.duration or self.map.duration, self.time.step)
        except ValueError as error:
            raise ValueError(f"time.step: {error}") from None
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
