"""The configuration of a calibration: free parameters, misfit, method, posterior."""

import dataclasses
from collections.abc import Collection, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from .._types import JSON
from ..calibration import Adam
from ..calibration.methods import AbstractMethod
from ..calibration.parameters import FreeParameter, FreeParameters
from ..calibration.posterior import NUTS, Laplace, Likelihood, TemperedSMC
from ..calibration.priors import CorrelatedNormal, LogNormal, LogUniform, Normal, Uniform
from ..calibration.target import AbstractScale, AbstractScore
from .builder import BY_HAND, choice, one_of, section_of
from .case import GridSection, UniformGrid
from .schema import Averaging, CorrectionsSection, ModelSection, ObservedVariable, Precision
from .section import Accepted, Annotation, Section, invalid, key
from .site import CaseSection

_PRIORS = {
    "uniform": Uniform,
    "normal": Normal,
    "correlated_normal": CorrelatedNormal,
    "log_normal": LogNormal,
}


class ParameterSection(Section):
    """First guess and prior of a free parameter."""

    prior: Literal["bounded", "uniform", "normal", "correlated_normal", "log_normal"] = key(
        "distribution; bounded is logit-normal between the bounds", "bounded"
    )
    lower: float | None = key("lower bound, by default that of its valid range", None)
    upper: float | None = key("upper bound, by default that of its valid range", None)
    start: float | None = key("first guess; by default the value of the closure, or else the median", None)
    scale: Literal["linear", "log"] = key(
        "log for a parameter that varies over orders of magnitude", "linear"
    )
    mean: float | None = key("mean of normal priors, in the unit of the parameter", None)
    standard_deviation: float | None = key(
        "standard deviation of normal priors, in the unit of the parameter", None
    )
    median: float | None = key("median of log_normal, in the unit of the parameter", None)
    log_standard_deviation: float | None = key(
        "standard deviation of the natural logarithm for log_normal [1]", None
    )
    length: float | None = key("correlation length of correlated_normal [m] or [s]", None)

    def of(self, path: str) -> FreeParameter:
        """Build the free parameter at a path; raises an error for missing or unknown keys of its prior."""
        given: dict[str, Any] = self.model_dump(exclude_none=True)
        prior, scale = given.pop("prior"), given.pop("scale")
        if prior == "bounded":
            _check_keys(given, {"lower", "upper", "start"}, set(), "the prior bounded")
            return FreeParameter(path, scale=scale, **given)
        start, kind = given.pop("start", None), _PRIORS[prior]
        if prior == "correlated_normal":
            given.setdefault("mean", 0.0)
        if scale == "log":
            kind, given = (LogUniform, given) if prior == "uniform" else (kind, given | {"scale": scale})
        fields = dataclasses.fields(kind)
        required = {field.name for field in fields if field.default is dataclasses.MISSING}
        _check_keys(given, {field.name for field in fields}, required, f"the prior {prior}")
        return FreeParameter(path, start=start, prior=kind(**given))

    def _check(self) -> None:
        self.of("this parameter")


def _check_keys(given: Collection[str], known: set[str], required: set[str], what: str) -> None:
    """Raise an error for unknown or missing keys of a prior."""
    if not required <= set(given) <= known:
        got = ", ".join(given) or "none"
        raise invalid(f"keys among {', '.join(sorted(known))} for {what}", got, "correct them")


FreeParameterSection = Annotated[
    ParameterSection,
    BeforeValidator(
        lambda value: {} if value is None else value,  # `c_eps_1:` without a value means all defaults
        json_schema_input_type=ParameterSection | None,
    ),
]
"""Section of one parameter, or of all numbers of a vector."""


def free_parameters(sections: Mapping[str, ParameterSection]) -> FreeParameters:
    """Build the free parameters; omitted bounds are filled in by `resolve`."""
    return FreeParameters(tuple(section.of(path) for path, section in sections.items()))


Weights = Annotated[
    dict[ObservedVariable, Annotated[float, Field(ge=0.0)]],
    key("weight of each variable [1]", min_length=1),
]


class MisfitSection(Section):
    """How model and observations are compared."""

    weights: Weights = {"temperature": 1.0}
    score: one_of(AbstractScore) = key(  # pyright: ignore[reportInvalidTypeForm]
        "measure that is summed over the cases", "root_mean_square", validate_default=True
    )
    scale: one_of(AbstractScale) = key("divisor of the differences", "physical", validate_default=True)  # pyright: ignore[reportInvalidTypeForm]
    averaging: Averaging = "points"
    reduction: Literal["mean", "sum"] = key(
        "mean of the squares by variable, or their sum, which with the scale of an uncertainty is twice the "
        "negative logarithm of a normal likelihood",
        "mean",
    )
    frame_interval: float | None = key(
        "time between model frames, which are interpolated to the observed times [s]; null for the longest "
        "that meets every observed time",
        None,
        gt=0.0,
    )
    most_times: int | None = key("largest number of observed times to use, evenly spread", None, ge=1)
    start: float = key("first time that counts [s]", 7200.0, ge=0.0)
    end: float | None = key("last time that counts [s]; null for all", None, gt=0.0)
    times: Literal["all", "last"] = key("whether all observed times count, or the last one only", "all")
    padded: bool = key(
        "whether cases are padded with ignored values, to share programs: compiles less, for methods in "
        "forward mode and times that are multiples of the step",
        False,
    )
    lowest: float | None = key("lowest height that counts [m]", None, le=0.0)
    bottom_fraction: float = key(
        "fraction of the column above the bottom that is ignored [1]", 0.0, ge=0.0, lt=1.0
    )
    highest: float = key("highest height that counts [m]", 0.0, le=0.0)
    prior_weight: float = key("weight of the priors of the parameters in the loss [1]", 0.0, ge=0.0)


class AdamSection(section_of(Adam, "adam")):
    """Adam with a learning rate that falls over `n_iterations`."""

    n_steps: ClassVar[None] = None  # not a key: it follows from n_iterations

    def of_length(self, n_iterations: int) -> Adam:
        """Build the method with a learning rate that falls over a number of evaluations."""
        # A constant rate does not depend on the number, so that a calibration continues with more iterations.
        is_constant = self.final_fraction == 1.0 and self.n_warmup == 0
        n_steps = None if is_constant else max(n_iterations, self.n_warmup + 1)
        return Adam(**self.given(), n_steps=n_steps)

    def build(self) -> Adam:
        """Build the method for one evaluation, which checks the numbers; runs use `of_length`."""
        return self.of_length(1)


BY_HAND[Adam] = AdamSection
OptimiserSection: Annotation = one_of(AbstractMethod)


class PosteriorSection(Section):
    """How the distribution of the free parameters is computed, and the assumed observation errors.

    Without `noise` and `n_observations`, both are estimated from the residuals of the best fit.
    """

    method: choice(  # pyright: ignore[reportInvalidTypeForm]
        section_of(Laplace, "laplace"), section_of(NUTS, "nuts"), section_of(TemperedSMC, "smc")
    ) = key("normal distribution at the best fit, or sampled", "laplace", validate_default=True)
    n_iterations: int = key("evaluations to find the most probable values", 30, ge=1)
    noise: float | None = key("standard deviation, in units of the scale of the misfit", None, gt=0.0)
    n_observations: float | None = key("independent observations in all cases together", None, gt=0.0)

    def _check(self) -> None:
        self.likelihood()

    def likelihood(self) -> Likelihood | None:
        """The assumed observation errors; `None` to estimate them."""
        if self.noise is None and self.n_observations is None:
            return None
        if self.noise is None or self.n_observations is None:
            todo = "give both, or leave both out"
            raise invalid("noise and n_observations, or neither", "one of them", todo)
        return Likelihood(self.noise, self.n_observations)


class CalibrationOutputSection(Section):
    """Files of a calibration."""

    folder: str | None = key("folder for results; null for one named after the file", None, min_length=1)
    figures: bool = key("whether to draw figures", True)


class TargetSection(Section):
    """A case of a calibration, with its weight."""

    case: CaseSection = key("where the case and its observations come from")
    weight: float = key("weight of the case relative to the others [1]", 1.0, ge=0.0)
    weights: Weights | None = key("weights of variables, instead of those of `misfit`", None)
    end: float | None = key("last time that counts [s]; null for that of `misfit`", None, gt=0.0)
    group: str | None = key(
        "group of cases that `cross-validate` leaves out together; null for the case alone", None
    )
    corrections: CorrectionsSection = key("corrections that `parameters` sets free", CorrectionsSection())


def _as_list(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else [value]


Grids = Annotated[
    list[GridSection],
    BeforeValidator(_as_list, json_schema_input_type=GridSection | list[GridSection]),
]
_Step = Annotated[float, Field(gt=0.0, le=86400.0)]
Steps = Annotated[list[_Step], BeforeValidator(_as_list, json_schema_input_type=_Step | list[_Step])]


class TimeStepsSection(Section):
    """Time steps of the runs of a calibration or a comparison."""

    dt: Steps = key("time step [s], or several: every case with each", [60.0], min_length=1)


class CalibrationConfig(Section):
    """Free parameters of a closure, calibrated on all cases together."""

    cases: list[TargetSection] = key("cases with observations", min_length=1)
    grid: Grids = key(
        "vertical grid, or several: every case on each",
        [UniformGrid(kind="uniform", n_cells=64)],
        min_length=1,
    )
    model: ModelSection = key("closure and time scheme", ModelSection())
    time: TimeStepsSection = key("time step", TimeStepsSection())
    precision: Precision = "float64"
    parameters: dict[str, FreeParameterSection] = key(
        "free parameters, by dotted name in the closure, or in a case", min_length=1
    )
    misfit: MisfitSection = key("how cases are compared", MisfitSection())
    optimiser: OptimiserSection = key("how the loss is lowered", "adam", validate_default=True)  # pyright: ignore[reportInvalidTypeForm]
    n_iterations: int = key("evaluations of the loss", 100, ge=1, le=1_000_000)
    n_threads: int = key("cases computed at the same time", 2, ge=1, le=1024)
    max_non_finite: int = key("evaluations in a row that may break down before the end", 10, ge=1)
    accept: Accepted = key("rules of plausibility whose notes are left out", default_factory=list)
    output: CalibrationOutputSection = key("where results go", CalibrationOutputSection())
    posterior: PosteriorSection = key(
        "settings of `posterior`, which computes the distribution of the parameters", PosteriorSection()
    )

    def _check(self) -> None:
        if self.optimiser.name == "ensemble_kalman" and self.misfit.prior_weight > 0.0:
            raise ValueError(
                "misfit.prior_weight: expected 0 for ensemble_kalman, which starts from its prior, got "
                f"{self.misfit.prior_weight:g}; leave it out."
            )
