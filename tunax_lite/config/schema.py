"""The kinds of configuration file, one run or one calibration over several cases, and what they share."""

import dataclasses
import math
from typing import Annotated, Any, Literal

import equinox as eqx
import numpy as np
from pydantic import BeforeValidator, Field, field_validator, model_validator

from ..calibration.known import Tied
from ..calibration.parameters import FreeParameter, FreeParameters
from ..case import Case
from ..corrections import CORRECTIONS, CorrectedForcing, InitialCorrection
from ..diagnostics import DIAGNOSTICS, diagnostic
from ..forcing import WaterSurface
from ..model import Model
from ..runtime.memory import MOST_CELLS, check_steps
from .builder import Section, closest, invalid, section_of
from .calibration import (
    Averaging,
    CheckSection,
    FreeParameterSection,
    MisfitSection,
    ObservedVariable,
    OptimiserSection,
    PosteriorSection,
    StartsSection,
    Weights,
    free_parameter,
)
from .cases import CaseSection, IdealisedCase, SiteCase
from .closures import ClosureSection

_Model: Any = section_of(
    Model,
    only=(
        *("molecular_viscosity", "molecular_diffusivity", "molecular_salt_diffusivity"),
        *("coefficient_memory", "n_sweeps", "theta", "like_gotm"),
    ),
    partial=True,
)


class ModelSection(_Model):
    null_is_default = frozenset({"molecular_viscosity", "molecular_diffusivity"})

    closure: ClosureSection = Field(
        default=ClosureSection(), description="how turbulence mixes: name, parameters"
    )


NCells = Annotated[int, Field(ge=3, le=MOST_CELLS, description="number of cells")]
Zoom = Annotated[float, Field(ge=0.0, le=20.0, description="refinement; 0 for none [1]")]


class UniformGrid(Section):
    kind: Literal["uniform"]
    n_cells: NCells


class StretchedGrid(Section):
    kind: Literal["stretched"]
    n_cells: NCells
    surface_zoom: Zoom = 0.0
    bottom_zoom: Zoom = 0.0


class NativeGrid(Section):
    kind: Literal["native"]


class FacesGrid(Section):
    kind: Literal["faces"]
    z_face: list[float] = Field(
        min_length=4,
        max_length=MOST_CELLS + 1,
        description="heights of the faces, from the bottom up to 0 [m]",
    )


GridSection = Annotated[UniformGrid | StretchedGrid | NativeGrid | FacesGrid, Field(discriminator="kind")]


class TimeSection(Section):
    step: float = Field(default=60.0, gt=0.0, le=86400.0, description="time step [s]")
    output_interval: float = Field(default=600.0, gt=0.0, description="time between saved frames [s]")
    duration: float | None = Field(
        default=None, gt=0.0, description="length of the run [s]; null for that of the case"
    )

    @model_validator(mode="after")
    def _check_multiples(self) -> "TimeSection":
        for name, interval, of, unit in (
            ("output_interval", self.output_interval, "step", self.step),
            ("duration", self.duration, "output_interval", self.output_interval),
        ):
            if interval is None or interval > 1e15 * unit:  # more steps than any run may have
                continue
            n = round(interval / unit)
            if n < 1 or not math.isclose(n * unit, interval, rel_tol=1e-9):
                raise invalid(
                    f"{name} to be a multiple of {of} = {unit:g} s",
                    f"{interval:g} s",
                    f"for example {max(1, n) * unit:g}",
                )
        return self


Precision = Annotated[
    Literal["float64", "float32"], Field(description="floating-point numbers of the computation")
]


class CorrectionsSection(Section):
    """Corrections that change nothing until a calibration, or a file of parameters, gives them numbers."""

    fluxes: list[str] = Field(default=[], description="names such as heat_flux_bias, stress_scale")
    knots: list[float] | None = Field(
        default=None, min_length=2, description="times between which fluxes are corrected linearly [s]"
    )
    knot_interval: float | None = Field(
        default=None, gt=0.0, description="a knot every so often [s]; without knots corrections are constants"
    )
    initial: list[Literal["temperature", "salinity", "u", "v"]] = Field(
        default=[], description="initial profiles that are corrected"
    )
    z: list[Annotated[float, Field(le=0.0)]] | None = Field(
        default=None, min_length=1, description="heights of their increments [m]; null for every cell"
    )

    @field_validator("fluxes")
    @classmethod
    def _check_names(cls, names: list[str]) -> list[str]:
        for name in names:
            if name not in CORRECTIONS:
                raise invalid("the name of a correction", f"'{name}'", closest(name, list(CORRECTIONS)))
        return names

    @model_validator(mode="after")
    def _check_combination(self) -> "CorrectionsSection":
        if self.knots is not None and self.knot_interval is not None:
            raise invalid("`knots` or `knot_interval`", "both", "give one of them")
        for given, needed in (
            (("knots", "knot_interval"), "fluxes"),
            (("z",), "initial"),
        ):
            if not getattr(self, needed) and any(getattr(self, name) is not None for name in given):
                raise invalid(f"`{needed}` to correct", "none", f"name them, or remove {' and '.join(given)}")
        return self

    def of(self, case: Case) -> Case:
        """The case with corrections that change nothing."""
        if self.initial:
            z = case.grid.z_center if self.z is None else self.z
            correction = InitialCorrection.zero(z, self.initial)
            case = dataclasses.replace(case, initial_correction=correction)
        if self.fluxes:
            forcing = CorrectedForcing.neutral(case.forcing, self.fluxes, self._knots(case.duration))
            water = WaterSurface.of(case.initial_state)
            eqx.filter_eval_shape(forcing.at, np.zeros((), case.grid.z_face.dtype), water)
            case = dataclasses.replace(case, forcing=forcing)
        return case

    def _knots(self, duration: float) -> list[float] | None:
        if self.knot_interval is None:
            return self.knots
        n = max(1, int(np.ceil(duration / self.knot_interval * (1.0 - 1e-9))))
        return [i * self.knot_interval for i in range(n + 1)]


class RunOutputSection(Section):
    """Where a run leaves its files, which are named after the configuration."""

    folder: str = Field(default="results", min_length=1, description="folder for results")
    figures: bool = Field(default=True, description="whether to draw figures")
    diagnostics: list[str] = Field(default=[], description="further variables to write; see docs/diagnostics")
    variables: list[str] | None = Field(
        default=None,
        min_length=1,
        description="the only ones to keep in the file; null for all, which a restart needs",
    )
    means: bool = Field(default=False, description="whether to write means between saved frames too")

    @field_validator("diagnostics")
    @classmethod
    def _check_names(cls, names: list[str]) -> list[str]:
        for name in names:
            try:
                diagnostic(name)
            except ValueError:
                known = list(DIAGNOSTICS)
                raise invalid("the name of a diagnostic", f"'{name}'", closest(name, known)) from None
        return names


class CalibrationOutputSection(Section):
    """Where a calibration leaves its files."""

    folder: str | None = Field(
        default=None, min_length=1, description="folder for results; null for one named after the file"
    )
    figures: bool = Field(default=True, description="whether to draw figures")


class EvaluationSection(Section):
    """Which observations `evaluate` compares with."""

    start: float = Field(default=7200.0, ge=0.0, description="first time that counts [s]")
    end: float | None = Field(default=None, gt=0.0, description="last time that counts [s]; null for all")
    variables: list[ObservedVariable] = Field(
        default=["temperature", "u", "v"], min_length=1, description="variables to compare"
    )
    averaging: Averaging = "points"


class RunConfig(Section):
    """One model on one case."""

    case: CaseSection = Field(description="where the case comes from")
    grid: GridSection = Field(default=UniformGrid(kind="uniform", n_cells=64), description="vertical grid")
    model: ModelSection = Field(default=ModelSection(), description="closure and time scheme")
    time: TimeSection = Field(default=TimeSection(), description="time step and output")
    precision: Precision = "float64"
    output: RunOutputSection = Field(default=RunOutputSection(), description="where results go")
    corrections: CorrectionsSection = Field(
        default=CorrectionsSection(), description="corrections that a file of parameters has numbers for"
    )
    evaluation: EvaluationSection = Field(
        default=EvaluationSection(), description="what `evaluate` compares with"
    )

    @model_validator(mode="after")
    def _check_length(self) -> "RunConfig":
        if isinstance(self.case, IdealisedCase | SiteCase):
            try:
                check_steps(self.time.duration or self.case.duration, self.time.step)
            except ValueError as error:
                raise ValueError(f"time.step: {error}") from None
        return self


class TargetSection(Section):
    """A case of a calibration and how much it counts."""

    case: CaseSection = Field(description="where the case and its observations come from")
    weight: float = Field(default=1.0, ge=0.0, description="weight of the case among the others [1]")
    weights: Weights | None = Field(
        default=None, description="weights of variables, instead of those of `misfit`"
    )
    corrections: CorrectionsSection = Field(
        default=CorrectionsSection(), description="corrections that `parameters` sets free"
    )


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _as_grids(value: Any) -> Any:
    """One grid, several, or one with several numbers of cells, as a list."""
    grids = []
    for grid in _as_list(value):
        several = isinstance(grid, dict) and isinstance(grid.get("n_cells"), list)
        grids += [{**grid, "n_cells": n} for n in grid["n_cells"]] if several else [grid]
    return grids


class _UniformGrids(UniformGrid):
    n_cells: list[NCells]  # pyright: ignore[reportIncompatibleVariableOverride]


class _StretchedGrids(StretchedGrid):
    n_cells: list[NCells]  # pyright: ignore[reportIncompatibleVariableOverride]


_Grid = GridSection | _UniformGrids | _StretchedGrids
_Grids = Annotated[list[GridSection], BeforeValidator(_as_grids, json_schema_input_type=_Grid | list[_Grid])]
_Step = Annotated[float, Field(gt=0.0, le=86400.0)]
_Steps = Annotated[list[_Step], BeforeValidator(_as_list, json_schema_input_type=_Step | list[_Step])]


class CalibrationTimeSection(Section):
    step: _Steps = Field(
        default=[60.0], min_length=1, description="time step [s], or several: every case with each"
    )


class CalibrationConfig(Section):
    """Free parameters of a closure, calibrated on all cases together."""

    cases: list[TargetSection] = Field(min_length=1, description="cases with observations")
    grid: _Grids = Field(
        default=[UniformGrid(kind="uniform", n_cells=64)],
        min_length=1,
        description="vertical grid, or several: every case on each",
    )
    model: ModelSection = Field(default=ModelSection(), description="closure and time scheme")
    time: CalibrationTimeSection = Field(default=CalibrationTimeSection(), description="time step")
    precision: Precision = "float64"
    parameters: dict[str, FreeParameterSection] = Field(
        min_length=1, description="what is calibrated, by dotted name in the closure, or in a case"
    )
    misfit: MisfitSection = Field(default=MisfitSection(), description="how cases are compared")
    optimiser: OptimiserSection = Field(  # pyright: ignore[reportInvalidTypeForm]
        default="adam", validate_default=True, description="how the loss is lowered"
    )
    starts: StartsSection = Field(default=StartsSection(), description="where the optimiser starts from")
    n_iterations: int = Field(default=100, ge=1, le=1_000_000, description="evaluations of the loss")
    n_threads: int = Field(default=2, ge=1, le=1024, description="cases computed at the same time")
    max_non_finite: int = Field(
        default=10, ge=1, description="evaluations in a row that may break down before the end"
    )
    checks: list[CheckSection] = Field(
        default=[], description="runs whose errors may not grow by more than 10 %"
    )
    output: CalibrationOutputSection = Field(
        default=CalibrationOutputSection(), description="where results go"
    )
    posterior: PosteriorSection = Field(
        default=PosteriorSection(),
        description="what `posterior` computes: the distribution of the parameters",
    )

    @model_validator(mode="after")
    def _check_parameters(self) -> "CalibrationConfig":
        closure = self.model.closure.build()
        try:
            self.free_parameters.check_closure(closure)
        except ValueError as error:
            raise ValueError(f"parameters: {error}") from None
        return self

    @model_validator(mode="after")
    def _check_prior_weight(self) -> "CalibrationConfig":
        if self.optimiser.name == "ensemble_kalman" and self.misfit.prior_weight > 0.0:
            raise ValueError(
                "misfit.prior_weight: expected 0 for ensemble_kalman, which starts from its prior, got "
                f"{self.misfit.prior_weight:g}; leave it out."
            )
        return self

    @model_validator(mode="after")
    def _check_starts(self) -> "CalibrationConfig":
        if self.optimiser.name == "ensemble_kalman" and self.starts.number > 1:
            raise ValueError(
                "starts.number: expected 1 for ensemble_kalman, whose members are many starts, got "
                f"{self.starts.number}; leave it out, or ask for more members."
            )
        return self

    @property
    def free_parameters(self) -> FreeParameters:
        """What is calibrated, bounds that are left out not yet filled in."""
        built = [free_parameter(path, section) for path, section in self.parameters.items()]
        return FreeParameters(
            tuple(each for each in built if isinstance(each, FreeParameter)),
            tuple(each for each in built if isinstance(each, Tied)),
        )
