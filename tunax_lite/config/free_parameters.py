"""What a calibration may change: a section for each kind of prior, and one for tied parameters."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from ..calibration.parameters import FreeParameter, Tied
from ..calibration.priors import AbstractPrior, CorrelatedNormal, LogNormal, LogUniform, Normal, Uniform
from .sections import Section, closest, invalid


class BoundedSection(Section):
    """Bounds and start of a parameter; by default its valid range and the value of the closure."""

    prior: Literal["bounded"] = Field(default="bounded", description="logit-normal between the bounds")
    lower: float | None = Field(default=None, description="lower bound")
    upper: float | None = Field(default=None, description="upper bound")
    start: float | None = Field(default=None, description="value to start from")
    scale: Literal["linear", "log"] = Field(
        default="linear", description="log for a parameter that varies over orders of magnitude"
    )

    def build(self, path: str) -> FreeParameter:
        """The free parameter."""
        return FreeParameter(path, self.lower, self.upper, self.start, self.scale)


class _PriorSection(Section):
    start: float | None = Field(
        default=None, description="value to start from; by default the closure's, or else the median"
    )

    def _prior(self) -> AbstractPrior:
        raise NotImplementedError

    @model_validator(mode="after")
    def _check_prior(self):
        self._prior()
        return self

    def build(self, path: str) -> FreeParameter:
        """The free parameter."""
        return FreeParameter(path, start=self.start, prior=self._prior())


class UniformSection(_PriorSection):
    """All values between two bounds are equally likely, or all orders of magnitude."""

    prior: Literal["uniform"]
    lower: float = Field(description="lower bound")
    upper: float = Field(description="upper bound")
    scale: Literal["linear", "log"] = Field(
        default="linear", description="log for equally likely orders of magnitude"
    )

    def _prior(self) -> AbstractPrior:
        return (LogUniform if self.scale == "log" else Uniform)(self.lower, self.upper)


class NormalSection(_PriorSection):
    """A value with a symmetric uncertainty."""

    prior: Literal["normal"]
    mean: float = Field(description="in the unit of the parameter")
    standard_deviation: float = Field(gt=0.0, description="in the unit of the parameter")

    def _prior(self) -> AbstractPrior:
        return Normal(self.mean, self.standard_deviation)


class CorrelatedNormalSection(_PriorSection):
    """Numbers of a vector with a symmetric uncertainty, each like its neighbours in time or height."""

    prior: Literal["correlated_normal"]
    mean: float = Field(default=0.0, description="in the unit of the numbers")
    standard_deviation: float = Field(gt=0.0, description="in the unit of the numbers")
    length: float = Field(gt=0.0, description="of the correlation: [s] over time, [m] over height")

    def _prior(self) -> AbstractPrior:
        return CorrelatedNormal(self.mean, self.standard_deviation, length=self.length)


class LogNormalSection(_PriorSection):
    """A positive value that is known but for a factor."""

    prior: Literal["log_normal"]
    median: float = Field(gt=0.0, description="in the unit of the parameter")
    log_standard_deviation: float = Field(gt=0.0, description="of the natural logarithm [1]")

    def _prior(self) -> AbstractPrior:
        return LogNormal(self.median, self.log_standard_deviation)


class TiedSection(Section):
    """A parameter that follows a free one."""

    tied_to: str = Field(description="dotted name of the free parameter")
    factor: float = Field(default=1.0, description="times the free parameter")
    offset: float = Field(default=0.0, description="in the unit of this parameter")

    def build(self, path: str) -> Tied:
        """The tied parameter."""
        return Tied(path, self.tied_to, self.factor, self.offset)


_PRIORS = ("bounded", "uniform", "normal", "correlated_normal", "log_normal")


def _complete(value: Any) -> Any:
    if value is None:  # `c_eps_1:` with nothing behind it means all defaults
        return {}
    if isinstance(value, dict) and (prior := value.get("prior", "bounded")) not in _PRIORS:
        raise invalid("the name of a prior", f"'{prior}'", closest(str(prior), list(_PRIORS)))
    return value


def _kind(value: Any) -> str:
    """Name of the section, of the content of a file or of a section that was made before."""
    given = value if isinstance(value, dict) else dict(value) if isinstance(value, Section) else {}
    return "tied" if "tied_to" in given else given.get("prior", "bounded")


FreeParameterSection = Annotated[
    Annotated[BoundedSection, Tag("bounded")]
    | Annotated[UniformSection, Tag("uniform")]
    | Annotated[NormalSection, Tag("normal")]
    | Annotated[CorrelatedNormalSection, Tag("correlated_normal")]
    | Annotated[LogNormalSection, Tag("log_normal")]
    | Annotated[TiedSection, Tag("tied")],
    Discriminator(_kind),
    BeforeValidator(_complete),
]
"""Of one parameter, or of all numbers of a vector."""
