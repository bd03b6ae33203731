"""Section of the posterior of a calibration; what its numbers mean is said by `calibration.posterior`."""

from typing import Any, Literal

from pydantic import Field, model_validator

from ..calibration.posterior import NUTS, Laplace, Likelihood
from .builder import invalid, section_of

_Nuts: Any = section_of(
    NUTS, only=("n_warmup", "n_chains", "target_acceptance", "most_doublings", "seed"), partial=True
)


class PosteriorSection(_Nuts):
    """How the distribution of the free parameters is found, and what is believed of the errors."""

    method: Literal["laplace", "nuts"] = Field(
        default="laplace", description="normal distribution at the best fit, or sampled"
    )
    noise: float | None = Field(
        default=None,
        gt=0.0,
        description="error of observations and model, in units of the scale; null for that of the best fit",
    )
    n_observations: float | None = Field(
        default=None,
        gt=0.0,
        description="independent observations that all cases are worth; null with noise [1]",
    )
    n_iterations: int = Field(default=30, ge=1, description="evaluations to find the most probable values")
    n_draws: int | None = Field(
        default=None, ge=4, description="of each chain, or of the normal distribution; null for 500, or 4000"
    )
    n_members: int = Field(default=64, ge=2, le=100_000, description="runs for the predictive bands")

    @model_validator(mode="after")
    def _check_likelihood(self):
        self.likelihood()
        return self

    def likelihood(self) -> Likelihood | None:
        """What is believed of the errors; `None` to estimate it.

        Raises:
            ValueError: one of the two numbers without the other.
        """
        if self.noise is None and self.n_observations is None:
            return None
        if self.noise is None or self.n_observations is None:
            raise invalid(
                "noise and n_observations, or neither", "one of them", "give both, or leave both out"
            )
        return Likelihood(self.noise, self.n_observations)

    def build(self) -> Laplace | NUTS:
        """The method."""
        drawn = {} if self.n_draws is None else {"n_draws": self.n_draws}
        if self.method == "laplace":
            return Laplace(seed=self.seed, **drawn)
        return NUTS(**drawn, **self.given())
