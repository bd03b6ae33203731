"""Sections of the methods of a calibration, by name; what their numbers mean is said by the methods."""

from typing import Annotated, Literal

from pydantic import Field

from .sections import Section


class AdamSection(Section):
    """Adam with a schedule of the learning rate over `n_iterations`."""

    name: Literal["adam"]
    learning_rate: float = Field(
        default=0.05, gt=0.0, le=10.0, description="largest change per step of an unconstrained number [1]"
    )
    schedule: Literal["constant", "cosine", "exponential"] = Field(
        default="cosine", description="how the learning rate falls"
    )
    n_warmup: int = Field(default=0, ge=0, description="steps over which the learning rate rises")
    final_share: float = Field(
        default=0.05, ge=0.0, le=1.0, description="last learning rate over the largest [1]"
    )
    beta_1: float = Field(default=0.9, ge=0.0, lt=1.0, description="decay of the mean of gradients [1]")
    beta_2: float = Field(default=0.999, ge=0.0, lt=1.0, description="decay of the mean of squares [1]")
    largest_gradient: float | None = Field(
        default=None, gt=0.0, description="norm to which longer gradients are scaled down; null for any [1]"
    )
    cases_per_step: int | None = Field(
        default=None, ge=1, description="cases at a time, drawn in rounds; null for all of them"
    )
    all_cases_every: int = Field(
        default=10, ge=1, description="with `cases_per_step`: one step in so many takes all cases"
    )
    seed: int = Field(default=0, ge=0, description="of the order of the cases")


class LBFGSSection(Section):
    """Limited-memory BFGS with a backtracking line search."""

    name: Literal["lbfgs"]
    memory_size: int = Field(default=10, ge=1, le=1000, description="pairs of steps that are kept")
    largest_step: float = Field(
        default=0.5, gt=0.0, description="largest change per step of an unconstrained number [1]"
    )
    sufficient_decrease: float = Field(default=1e-4, gt=0.0, lt=1.0, description="Armijo's constant [1]")
    backtracking: float = Field(default=0.5, gt=0.0, lt=1.0, description="factor after a rejection [1]")
    shortest_step: float = Field(default=1e-4, gt=0.0, lt=1.0, description="shortest step length [1]")


class LevenbergMarquardtSection(Section):
    """Damped Gauss-Newton steps from the Jacobian of all residuals."""

    name: Literal["levenberg_marquardt"]
    damping: float = Field(default=1e-2, gt=0.0, description="at the start [1]")
    largest_step: float = Field(
        default=2.0, gt=0.0, description="largest change per step of an unconstrained number [1]"
    )
    decrease: float = Field(default=10.0, gt=1.0, description="of the damping, as a factor [1]")
    tolerance: float = Field(
        default=1e-6, gt=0.0, description="promised decrease over the loss at which it ends [1]"
    )


class EnsembleKalmanSection(Section):
    """Ensemble Kalman inversion; needs no derivatives."""

    name: Literal["ensemble_kalman"]
    noise: float = Field(gt=0.0, description="error of observations and best model, in units of the scale")
    n_members: int = Field(default=64, ge=3, le=100_000, description="members, more than parameters")
    n_observations: float = Field(
        default=1.0, gt=0.0, description="independent observations that all cases are worth [1]"
    )
    prior_spread: float = Field(
        default=1.0, gt=0.0, description="standard deviation of the unconstrained numbers at the start [1]"
    )
    final_time: float = Field(default=1.0, gt=0.0, description="1 for the posterior, more to go on [1]")
    seed: int = Field(default=0, ge=0, description="of the random numbers")


class StartsSection(Section):
    """Several starts of the optimiser, one after the other; the best of all counts."""

    number: int = Field(default=1, ge=1, le=10_000, description="of starts, the given one included")
    iterations_each: int | None = Field(
        default=None, ge=1, description="evaluations of a start; null for an equal share of all"
    )
    spread: float = Field(
        default=1.0, gt=0.0, description="standard deviation of the unconstrained numbers of the others [1]"
    )
    seed: int = Field(default=0, ge=0, description="of the random numbers")


OptimiserSection = Annotated[
    AdamSection | LBFGSSection | LevenbergMarquardtSection | EnsembleKalmanSection,
    Field(discriminator="name"),
]
