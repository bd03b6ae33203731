"""What a calibration may change: a section for each kind of prior, and one for tied parameters."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from ..calibration.parameters import FreeParameter, Tied
from ..calibration.priors import AbstractPrior, CorrelatedNormal, LogNormal, LogUniform, Normal, Uniform
from .builder import Section, closest, invalid, section_of


class BoundedSection(Section):
    """Bounds and start of a parameter; by default its valid range and the value of the closure."""

    prior: Literal["bounded"] = Field(default="bounded", description="logit-normal between the bounds")
    lower: float | None = Field(default=None, description="lower bound")
    upper: float | None = Field(default=None, description="upper bound")
    start: float | None = Field(default=None, description="value to start from")
    scale: Literal["linear", "log"] = Field(
        default="linear", description="log for a parameter that varies over orders of magnitude"
    )


class _StartedSection(Section):
    start: float | None = Field(
        default=None, description="value to start from; by default the closure's, or else the median"
    )


class UniformSection(_StartedSection):
    """All values between two bounds are equally likely, or all orders of magnitude."""

    prior: Literal["uniform"]
    lower: float = Field(description="lower bound")
    upper: float = Field(description="upper bound")
    scale: Literal["linear", "log"] = Field(
        default="linear", description="log for equally likely orders of magnitude"
    )

    def build(self) -> AbstractPrior:
        """The prior."""
        return (LogUniform if self.scale == "log" else Uniform)(self.lower, self.upper)

    @model_validator(mode="after")
    def _check_prior(self):
        self.build()
        return self


_Normal: Any = section_of(Normal, "prior", "normal", only=("mean", "standard_deviation"))
_Correlated: Any = section_of(
    CorrelatedNormal, "prior", "correlated_normal", only=("standard_deviation", "length"), partial=True
)
_LogNormal: Any = section_of(LogNormal, "prior", "log_normal", only=("median", "log_standard_deviation"))


class NormalSection(_Normal, _StartedSection):
    """A value with a symmetric uncertainty."""


class CorrelatedNormalSection(_Correlated, _StartedSection):
    """Numbers of a vector with a symmetric uncertainty, each like its neighbours in time or height."""

    mean: float = Field(default=0.0, description="in the unit of the numbers")

    def build(self, **others: Any) -> AbstractPrior:
        """The prior."""
        return CorrelatedNormal(self.mean, **self.given(), **others)


class LogNormalSection(_LogNormal, _StartedSection):
    """A positive value that is known but for a factor."""


class TiedSection(Section):
    """A parameter that follows a free one."""

    tied_to: str = Field(description="dotted name of the free parameter")
    factor: float = Field(default=1.0, description="times the free parameter")
    offset: float = Field(default=0.0, description="in the unit of this parameter")


def free_parameter(path: str, section: Any) -> FreeParameter | Tied:
    """What a calibration does with a number.

    Args:
        path: dotted name of the number.
        section: one of `FreeParameterSection`.
    """
    if isinstance(section, TiedSection):
        return Tied(path, section.tied_to, section.factor, section.offset)
    if isinstance(section, BoundedSection):
        return FreeParameter(path, section.lower, section.upper, section.start, section.scale)
    return FreeParameter(path, start=section.start, prior=section.build())


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


_Section = (
    Annotated[BoundedSection, Tag("bounded")]
    | Annotated[UniformSection, Tag("uniform")]
    | Annotated[NormalSection, Tag("normal")]
    | Annotated[CorrelatedNormalSection, Tag("correlated_normal")]
    | Annotated[LogNormalSection, Tag("log_normal")]
    | Annotated[TiedSection, Tag("tied")]
)
FreeParameterSection = Annotated[
    _Section, Discriminator(_kind), BeforeValidator(_complete, json_schema_input_type=_Section | None)
]
"""Of one parameter, or of all numbers of a vector."""
