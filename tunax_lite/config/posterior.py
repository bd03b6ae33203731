"""Section of the posterior of a calibration; what its numbers mean is said by `calibration.posterior`."""

from typing import Literal

from pydantic import Field, model_validator

from ..calibration.posterior import NUTS, Laplace, Likelihood
from .sections import Section, invalid


class PosteriorSection(Section):
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
    n_warmup: int = Field(default=200, ge=20, description="nuts: draws before those, to adapt")
    n_chains: int = Field(default=2, ge=1, le=1024, description="nuts: independent chains")
    target_acceptance: float = Field(
        default=0.8, gt=0.0, lt=1.0, description="nuts: mean acceptance that the step size aims at [1]"
    )
    most_doublings: int = Field(default=6, ge=1, le=20, description="nuts: of the length of a trajectory")
    n_members: int = Field(default=64, ge=2, le=100_000, description="runs for the predictive bands")
    seed: int = Field(default=0, ge=0, description="of all random numbers")

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
        if self.method == "laplace":
            return Laplace(Laplace.n_draws if self.n_draws is None else self.n_draws, self.seed)
        return NUTS(
            NUTS.n_draws if self.n_draws is None else self.n_draws,
            self.n_warmup,
            self.n_chains,
            self.seed,
            self.target_acceptance,
            self.most_doublings,
        )
