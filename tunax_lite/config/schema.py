"""The two kinds of configuration file: one run, or one calibration over several cases."""

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from ..calibration.parameters import FreeParameter, FreeParameters
from ..calibration.tied import Tied
from ..diagnostics import DIAGNOSTICS
from .cases import CaseSection
from .corrections import CorrectionsSection
from .free_parameters import FreeParameterSection
from .optimiser import AdamSection, EnsembleKalmanSection, OptimiserSection, StartsSection
from .sections import (
    GridSection,
    ModelSection,
    Precision,
    Section,
    TimeSection,
    UniformGrid,
    closest,
    invalid,
)

ObservedVariable = Annotated[str, Field(description="temperature, salinity, u, v or a tracer")]
Weights = Annotated[
    dict[ObservedVariable, Annotated[float, Field(ge=0.0)]],
    Field(min_length=1, description="weight of each variable [1]"),
]


class RunOutputSection(Section):
    """Where a run leaves its files, which are named after the configuration."""

    folder: str = Field(default="results", min_length=1, description="folder for results")
    figures: bool = Field(default=True, description="whether to draw figures")
    diagnostics: list[str] = Field(default=[], description="further variables to write; see docs/diagnostics")
    means: bool = Field(default=False, description="whether to write means between saved frames too")

    @field_validator("diagnostics")
    @classmethod
    def _check_names(cls, names: list[str]) -> list[str]:
        for name in names:
            if name not in DIAGNOSTICS:
                raise invalid("the name of a diagnostic", f"'{name}'", closest(name, list(DIAGNOSTICS)))
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


class MisfitSection(Section):
    """How model and observations are compared."""

    weights: Weights = {"temperature": 1.0}
    scale: Literal["physical", "z_score", "uncertainty"] = Field(
        default="physical", description="what differences are divided by"
    )
    score: Literal["mean_square", "root_mean_square"] = Field(
        default="root_mean_square", description="what is summed over the cases"
    )
    start: float = Field(default=7200.0, ge=0.0, description="first time that counts [s]")
    end: float | None = Field(default=None, gt=0.0, description="last time that counts [s]; null for all")
    lowest: float | None = Field(default=None, le=0.0, description="lowest height that counts [m]")
    highest: float = Field(default=0.0, le=0.0, description="highest height that counts [m]")
    prior_weight: float = Field(
        default=0.0, ge=0.0, description="of the priors of the parameters in the loss [1]"
    )


class CalibrationTimeSection(Section):
    step: float = Field(default=60.0, gt=0.0, le=86400.0, description="time step [s]")


class CalibrationConfig(Section):
    """Free parameters of a closure, calibrated on all cases together."""

    cases: list[TargetSection] = Field(min_length=1, description="cases with observations")
    grid: GridSection = Field(default=UniformGrid(kind="uniform", n_cells=64), description="vertical grid")
    model: ModelSection = Field(default=ModelSection(), description="closure and time scheme")
    time: CalibrationTimeSection = Field(default=CalibrationTimeSection(), description="time step")
    precision: Precision = "float64"
    parameters: dict[str, FreeParameterSection] = Field(
        min_length=1, description="what is calibrated, by dotted name in the closure, or in a case"
    )
    misfit: MisfitSection = Field(default=MisfitSection(), description="how cases are compared")
    optimiser: OptimiserSection = Field(
        default=AdamSection(name="adam"), description="how the loss is lowered"
    )
    starts: StartsSection = Field(default=StartsSection(), description="where the optimiser starts from")
    n_iterations: int = Field(default=100, ge=1, le=1_000_000, description="evaluations of the loss")
    n_threads: int = Field(default=2, ge=1, le=1024, description="cases computed at the same time")
    max_non_finite: int = Field(
        default=10, ge=1, description="evaluations in a row that may break down before the end"
    )
    output: CalibrationOutputSection = Field(
        default=CalibrationOutputSection(), description="where results go"
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
        if isinstance(self.optimiser, EnsembleKalmanSection) and self.misfit.prior_weight > 0.0:
            raise ValueError(
                "misfit.prior_weight: expected 0 for ensemble_kalman, which starts from its prior, got "
                f"{self.misfit.prior_weight:g}; leave it out."
            )
        return self

    @model_validator(mode="after")
    def _check_starts(self) -> "CalibrationConfig":
        if isinstance(self.optimiser, EnsembleKalmanSection) and self.starts.number > 1:
            raise ValueError(
                "starts.number: expected 1 for ensemble_kalman, whose members are many starts, got "
                f"{self.starts.number}; leave it out, or ask for more members."
            )
        return self

    @property
    def free_parameters(self) -> FreeParameters:
        """What is calibrated, bounds that are left out not yet filled in."""
        built = [section.build(path) for path, section in self.parameters.items()]
        return FreeParameters(
            tuple(each for each in built if isinstance(each, FreeParameter)),
            tuple(each for each in built if isinstance(each, Tied)),
        )
