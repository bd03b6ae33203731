"""How model and observations of a calibration are compared; protocols of papers as presets."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from ..calibration.misfit import AbstractScore
from ..calibration.misfit.target import AbstractScale
from ..declarations import names_of
from .builder import Section, closest, invalid

ObservedVariable = Annotated[
    str, Field(description="what is compared: temperature, salinity, u, v, a tracer or an observable")
]
Weights = Annotated[
    dict[ObservedVariable, Annotated[float, Field(ge=0.0)]],
    Field(min_length=1, description="weight of each variable [1]"),
]
Averaging = Annotated[
    Literal["points", "cell_means"],
    Field(description="compare at the observed heights, or as means over the cells of the coarser grid"),
]

PRESETS: dict[str, dict[str, Any]] = {
    "wagner": {
        "weights": {"buoyancy": 1.0, "u": 1.0, "v": 1.0},
        "driven_velocities_only": True,
        "scale": "z_score",
        "score": "mean_square",
        "averaging": "cell_means",
        "initial_time": 600.0,
        "start": 0.0,
        "times": "last",
        "bottom_fraction": 1.0 / 3.0,
        "highest": -4.0,
    }
}
"""What a preset sets, where the section does not say otherwise.

Source of `wagner`: Wagner et al. (2025), J. Adv. Model. Earth Syst. 17, e2024MS004522, and their code.
"""


class MisfitSection(Section):
    """How model and observations are compared."""

    preset: Literal["wagner"] | None = Field(
        default=None, description="protocol of a paper; keys beside it go before it"
    )
    weights: Weights = {"temperature": 1.0}
    driven_velocities_only: bool = Field(
        default=False, description="whether u and v do not count without wind, and v not without rotation"
    )
    scale: Literal[tuple(names_of(AbstractScale))] = Field(  # pyright: ignore[reportInvalidTypeForm]
        default="physical", description="what differences are divided by"
    )
    score: Literal[tuple(names_of(AbstractScore))] = Field(  # pyright: ignore[reportInvalidTypeForm]
        default="root_mean_square", description="what is summed over the cases"
    )
    reduction: Literal["mean", "sum"] = Field(
        default="mean", description="of the squares of a variable: their mean, or their sum"
    )
    averaging: Averaging = "points"
    correlation_length: float = Field(
        default=0.0,
        ge=0.0,
        description="of errors of observations [m]; 0 for independent ones",
    )
    correlation_time: float = Field(
        default=0.0, ge=0.0, description="of errors of observations [s]; 0 for independent ones"
    )
    initial_time: float = Field(
        default=0.0, ge=0.0, description="time of the observed profiles that a case starts from [s]"
    )
    start: float = Field(default=7200.0, ge=0.0, description="first time that counts [s]")
    end: float | None = Field(default=None, gt=0.0, description="last time that counts [s]; null for all")
    times: Literal["all", "last"] = Field(
        default="all", description="whether all observed times count, or the last one only"
    )
    frame_interval: float | None = Field(
        default=None,
        gt=0.0,
        description="time between values of the model [s] that are interpolated to observed times",
    )
    lowest: float | None = Field(default=None, le=0.0, description="lowest height that counts [m]")
    bottom_fraction: float = Field(
        default=0.0,
        ge=0.0,
        lt=1.0,
        description="fraction of the column above the bottom that is left out [1]",
    )
    highest: float = Field(default=0.0, le=0.0, description="highest height that counts [m]")
    prior_weight: float = Field(
        default=0.0, ge=0.0, description="of the priors of the parameters in the loss [1]"
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, data: Any) -> Any:
        if not isinstance(data, dict) or data.get("preset") is None:
            return data
        if data["preset"] not in PRESETS:
            name = str(data["preset"])
            raise invalid("the name of a preset", f"'{name}'", closest(name, list(PRESETS)))
        return {**PRESETS[data["preset"]], **data}
