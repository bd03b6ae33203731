"""Sections of the methods of a calibration, by name; what their numbers mean is said by the methods."""

from typing import Any, Literal

from pydantic import Field

from ..calibration import Adam, ConstantRate, CosineDecay, ExponentialDecay
from ..calibration.methods import AbstractMethod
from .builder import Section, one_of, section_of

_Adam: Any = section_of(Adam, "name", "adam", partial=True)


class AdamSection(_Adam):
    """Adam with a schedule of the learning rate over `n_iterations`."""

    schedule: Literal["constant", "cosine", "exponential"] = Field(
        default="cosine", description="how the learning rate falls"
    )
    n_warmup: int = Field(default=0, ge=0, description="steps over which the learning rate rises")
    final_fraction: float = Field(
        default=0.05, ge=0.0, le=1.0, description="last learning rate over the largest [1]"
    )

    def of_length(self, n_iterations: int) -> Adam:
        """The method, with a schedule over so many evaluations."""
        if self.schedule == "constant":
            return Adam(schedule=ConstantRate(), **self.given())
        kind = CosineDecay if self.schedule == "cosine" else ExponentialDecay
        n_steps = max(n_iterations, self.n_warmup + 1)
        return Adam(schedule=kind(n_steps, self.n_warmup, self.final_fraction), **self.given())


class StartsSection(Section):
    """Several starts of the optimiser, one after the other; the best of all counts."""

    number: int = Field(default=1, ge=1, le=10_000, description="of starts, the given one included")
    iterations_each: int | None = Field(
        default=None, ge=1, description="evaluations of a start; null for an equal fraction of all"
    )
    spread: float = Field(
        default=1.0, gt=0.0, description="standard deviation of the unconstrained numbers of the others [1]"
    )
    seed: int = Field(default=0, ge=0, description="of the random numbers")


OptimiserSection: Any = one_of(AbstractMethod, replaced={Adam: AdamSection})
