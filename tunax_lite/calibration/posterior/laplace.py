"""The normal distribution around the best fit, and what it says about who constrains what.

With the Gauss-Newton matrix A of the loss without prior at the best fit and the weight w = 2 noise²/n of the
priors, the unconstrained vector has

    covariance = (F + I)⁻¹,   F = A / w.

F is the Fisher information of the observations in units of that of the prior: a direction of eigenvalue f has
its variance reduced from 1 to 1 / (1 + f).
"""

import dataclasses

import numpy as np

from ...declarations import check_settings, named, setting
from ..evaluation import NormalEquationsEvaluation
from ..parameters import UnconstrainedVector


@named("laplace")
@dataclasses.dataclass(frozen=True)
class Laplace:
    """The method: normal distribution at the most probable vector.

    Args:
        n_draws: drawn from it, for what is not linear in the unconstrained vector.
        seed: of the draws.

    Raises:
        ValueError: fewer than two draws.
    """

    n_draws: int = setting(4000, at_least=2)
    seed: int = setting(0, at_least=0)

    def __post_init__(self):
        check_settings(self)


@dataclasses.dataclass(frozen=True)
class Spectrum:
    """Directions in the unconstrained vector, the best constrained first.

    Args:
        information: eigenvalues of F, `(n_parameters,)`.
        directions: unit vectors in the columns, `(n_parameters, n_parameters)`; the largest component of each
            is positive.
    """

    information: np.ndarray
    directions: np.ndarray

    @property
    def n_constrained(self) -> int:
        """Directions of which the observations say more than the prior."""
        return int((self.information > 1.0).sum())

    @property
    def reduction(self) -> np.ndarray:
        """Standard deviation after the observations over that before, `(n_parameters,)`."""
        return 1.0 / np.sqrt(1.0 + self.information)


def fisher_information(evaluation: NormalEquationsEvaluation, prior_weight: float) -> np.ndarray:
    """The matrix F of an evaluation whose loss contains a prior of that weight.

    Raises:
        ValueError: an evaluation without a matrix, or with one that is not finite.
    """
    if not (evaluation.has_jacobian and evaluation.is_finite):
        raise ValueError(
            "laplace: expected a finite Gauss-Newton matrix at the best fit, got none; start from other "
            "values."
        )
    matrix = np.asarray(evaluation.matrix, float) / prior_weight
    return 0.5 * (matrix + matrix.T) - np.eye(len(matrix))


def covariance_of(information: np.ndarray) -> np.ndarray:
    """Covariance of the unconstrained vector."""
    inverse = np.linalg.inv(information + np.eye(len(information)))
    return 0.5 * (inverse + inverse.T)


def spectrum_of(information: np.ndarray) -> Spectrum:
    """Eigenvalues and eigenvectors of F."""
    values, vectors = np.linalg.eigh(information)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    largest = np.abs(vectors).argmax(axis=0)
    return Spectrum(values, vectors * np.sign(vectors[largest, np.arange(len(values))]))


def draw_normal(
    method: Laplace, mean: UnconstrainedVector | np.ndarray, covariance: np.ndarray
) -> np.ndarray:
    """Draws of a normal distribution, `(n_draws, n_parameters)`."""
    normal = np.random.default_rng(method.seed).standard_normal((method.n_draws, len(covariance)))
    return np.asarray(mean, float) + normal @ np.linalg.cholesky(covariance).T
