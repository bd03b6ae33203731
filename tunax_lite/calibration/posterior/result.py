"""The posterior of the parameters, independent of the method.

Near the best fit the density is approximately normal: with the Gauss-Newton matrix A of the loss without
prior and the weight w = 2 noise²/n of the priors, the unconstrained vector has

    covariance = (F + I)⁻¹,   F = A / w.

F is the Fisher information of the observations relative to that of the prior: along a direction of eigenvalue
f, the variance is reduced from 1 to 1 / (1 + f).

The file of a posterior, `posterior.nc`, written atomically.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from ...declarations import check_settings, named, setting
from ...io.dataset import described, titled, variable_name, write_dataset
from ..parameters import Base, ResolvedParameters, UnconstrainedVector
from ..problem import Evaluation
from ..results import write_values

if TYPE_CHECKING:
    import xarray as xr


@dataclasses.dataclass(frozen=True)
class Likelihood:
    """Normal errors of observations and model together.

    Args:
        noise: standard deviation, in units of the scale of the misfit.
        n_observations: number of independent observations in all cases together.
    """

    noise: float = setting(above=0.0)
    n_observations: float = setting(above=0.0)

    def __post_init__(self):
        check_settings(self)

    @property
    def prior_weight(self) -> float:
        """Weight of the priors in a loss whose minimum is the mode."""
        return 2.0 * self.noise**2 / self.n_observations


@named("laplace")
@dataclasses.dataclass(frozen=True)
class Laplace:
    """Laplace approximation: a normal distribution at the most probable vector.

    Args:
        n_draws: number of draws, for quantities that are nonlinear in the unconstrained vector.
        seed: of the draws.
    """

    n_draws: int = setting(4000, at_least=2)
    seed: int = setting(0, at_least=0)

    def __post_init__(self):
        check_settings(self)


@dataclasses.dataclass(frozen=True)
class Spectrum:
    """Directions in the unconstrained space, the best constrained first."""

    information: np.ndarray  # eigenvalues of F, (n_parameters,)
    directions: np.ndarray  # unit vectors in the columns, with positive largest components

    @property
    def n_constrained(self) -> int:
        """Number of directions in which the observations are more informative than the prior."""
        return int((self.information > 1.0).sum())

    @property
    def reduction(self) -> np.ndarray:
        """Ratio of posterior to prior standard deviation, `(n_parameters,)`."""
        return 1.0 / np.sqrt(1.0 + self.information)


def fisher_information(evaluation: Evaluation, prior_weight: float) -> np.ndarray:
    """The matrix F of an evaluation whose loss contains a prior of that weight; `ValueError` without one."""
    if not (evaluation.matrix.size and evaluation.is_finite):
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


@dataclasses.dataclass(frozen=True)
class Sampling:
    """Diagnostics of a sampler."""

    effective_sizes: np.ndarray  # number of independent draws in all chains, (n_parameters,)
    r_hat: np.ndarray  # split potential scale reduction, 1 for chains that agree, (n_parameters,)
    n_divergent: int  # trajectories that diverged or failed, after the warm-up
    n_divergent_in_warmup: int
    n_gradients: int  # of the density, including the warm-up
    acceptance: float  # mean over the trajectories
    step_sizes: np.ndarray  # of the chains


@dataclasses.dataclass(frozen=True)
class Weighting:
    """Diagnostics of importance sampling."""

    effective_size: float  # number of independent draws that the weighted runs are worth
    n_runs: int  # of the model, of all members
    n_failed: int  # of them without a finite loss


@dataclasses.dataclass(frozen=True)
class Posterior:
    """Distribution of the free parameters given the observations.

    The Fisher information of the observations at the mode is a Gauss-Newton matrix, relative to the prior.
    """

    method: str  # `laplace`, `nuts` or `importance`
    base: Base  # the closure without its free parameters
    free_parameters: ResolvedParameters
    likelihood: Likelihood
    mode: np.ndarray  # most probable unconstrained vector, (n_parameters,)
    information: np.ndarray  # (n_parameters, n_parameters)
    mean: np.ndarray  # of the unconstrained vector, (n_parameters,)
    covariance: np.ndarray  # (n_parameters, n_parameters)
    draws: np.ndarray  # unconstrained vectors, (n_chains, n_draws, n_parameters)
    log_density: np.ndarray  # of the draws up to a constant, (n_chains, n_draws)
    is_divergent: np.ndarray  # whether the trajectory to the draw diverged, (n_chains, n_draws)
    sampling: Sampling | Weighting | None = None

    @property
    def closure(self) -> str:
        """Name of the class."""
        return self.base.closure

    @property
    def paths(self) -> tuple[str, ...]:
        return self.free_parameters.paths

    @property
    def units(self) -> dict[str, str]:
        return self.free_parameters.units

    @property
    def standard_deviation(self) -> np.ndarray:
        """Of the unconstrained numbers, 1 in the prior, `(n_parameters,)`."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def correlation(self) -> np.ndarray:
        """Of the unconstrained numbers, `(n_parameters, n_parameters)`."""
        deviation = self.standard_deviation
        return self.covariance / np.outer(deviation, deviation)

    @property
    def effective_sizes(self) -> np.ndarray | None:
        """Number of independent draws by parameter, `(n_parameters,)`; `None` for the normal distribution."""
        if isinstance(self.sampling, Weighting):
            return np.full(len(self.paths), self.sampling.effective_size)
        return None if self.sampling is None else self.sampling.effective_sizes

    @property
    def spectrum(self) -> Spectrum:
        """Combinations that the observations constrain."""
        return spectrum_of(self.information)

    @property
    def best(self) -> dict[str, float]:
        """Physical values of the mode by path, including tied parameters."""
        return self.free_parameters.by_path(self.free_parameters.to_physical(self.mode))

    def values(self) -> dict[str, np.ndarray]:
        """Physical values of the draws by path, including tied parameters, `(n_chains, n_draws)`."""
        flat = self.draws.reshape(-1, self.draws.shape[-1])
        physical = np.asarray(jax.vmap(self.free_parameters.to_physical)(flat))
        columns = physical.reshape(self.draws.shape)
        found = {path: columns[..., i] for i, path in enumerate(self.paths)}
        return found | {tied.path: tied.value(found[tied.to]) for tied in self.free_parameters.tied}

    def intervals(self, level: float = 0.9) -> dict[str, tuple[float, float]]:
        """Credible intervals by path: lower and upper end for a probability, in the unit of the parameter.

        The remaining probability is equal on both sides. Raises `ValueError` for a level outside 0 to 1.
        """
        if not 0.0 < level < 1.0:
            raise ValueError(f"intervals: expected a level between 0 and 1, got {level}.")
        ends = 0.5 - 0.5 * level, 0.5 + 0.5 * level
        return {path: tuple(np.quantile(values, ends).tolist()) for path, values in self.values().items()}

    def subset(self, n: int) -> np.ndarray:
        """Evenly spaced draws over all chains, `(n, n_parameters)`; all of them if there are fewer."""
        flat = self.draws.reshape(-1, self.draws.shape[-1])
        places = np.unique(np.linspace(0, len(flat) - 1, min(n, len(flat))).round().astype(int))
        return flat[places]


def write_posterior(
    path: str | Path, posterior: Posterior, attributes: Mapping[str, str] | None = None
) -> None:
    """Write draws, moments and information as NetCDF; attributes record the origin of the numbers."""
    write_dataset(posterior_dataset(posterior, attributes), path)


def posterior_dataset(posterior: Posterior, attributes: Mapping[str, str] | None = None) -> "xr.Dataset":
    """All of a posterior with units and long names; a dot in the path of a parameter becomes an underscore.

    Parameters are variables by draw; variables along the axis `parameter` refer to the unconstrained numbers,
    whose prior is the standard normal distribution.
    """
    import xarray as xr  # takes long

    across, each, diverged = ("parameter", "parameter_2"), ("chain", "draw"), posterior.is_divergent
    fisher = "Fisher information of the observations over that of the prior"
    data: dict[str, tuple] = {
        "x": described((*each, "parameter"), posterior.draws, "unconstrained numbers"),
        "mode": described("parameter", posterior.mode, "most probable unconstrained numbers"),
        "mean": described("parameter", posterior.mean, "mean of the unconstrained numbers"),
        "covariance": described(across, posterior.covariance, "covariance of the unconstrained numbers"),
        "information": described(across, posterior.information, fisher),
        "log_density": described(each, posterior.log_density, "logarithm of the density but for a constant"),
        "divergent": described(each, diverged.astype(np.int8), "whether the trajectory diverged"),
    }
    title: dict[str, object] = {
        **titled("Posterior", posterior.closure),
        "method": posterior.method,
        **dataclasses.asdict(posterior.likelihood),
    }
    sampling = posterior.sampling
    sizes = posterior.effective_sizes
    if sizes is not None:
        data["effective_size"] = described("parameter", sizes, "effective sample size")
    if isinstance(sampling, Weighting):
        title |= {"n_runs": sampling.n_runs, "n_failed": sampling.n_failed}
    elif sampling is not None:
        data["r_hat"] = described("parameter", sampling.r_hat, "split potential scale reduction")
        data["step_size"] = described("chain", sampling.step_sizes, "step size of the integrator")
        counts = ("n_divergent", "n_divergent_in_warmup", "n_gradients", "acceptance")
        title |= {name: getattr(sampling, name) for name in counts}
    best = posterior.best
    priors = {free.path: free.distribution for free in posterior.free_parameters.numbers}
    for path, values in posterior.values().items():
        about: dict[str, object] = {"most_probable": best[path]}
        if path in priors:
            # Physical values at three quantiles of the prior.
            ends = jnp.asarray([-1.6448536269514722, 0.0, 1.6448536269514722])
            quantiles = np.asarray(priors[path].to_physical(ends), float).tolist()
            names = "prior_5_percent", "prior_median", "prior_95_percent"
            about |= {"prior": repr(priors[path]), **dict(zip(names, quantiles, strict=True))}
        unit = posterior.units[path]
        data[variable_name(path)] = described(each, values, f"parameter {path}", unit, **about)
    names = np.array(posterior.paths, dtype=object)
    long_name = {"long_name": "path of the parameter"}
    coords = {name: (name, names, long_name) for name in across}
    return xr.Dataset(data, coords, {**title, **(attributes or {})})


def write_summary(
    path: str | Path, posterior: Posterior, level: float = 0.9, attributes: Mapping[str, str] | None = None
) -> None:
    """Write most probable values, credible intervals and the method; attributes as above."""
    best, sampling, sizes = posterior.best, posterior.sampling, posterior.effective_sizes
    free = {number.path: (i, number) for i, number in enumerate(posterior.free_parameters.numbers)}
    parameters: dict[str, dict] = {}
    for name, interval in posterior.intervals(level).items():
        parameters[name] = {"value": best[name], "unit": posterior.units[name], "interval": list(interval)}
        if name in free:
            i, number = free[name]
            parameters[name]["prior"] = repr(number.distribution)
            # Of the unconstrained number: 1 means that nothing was learnt.
            parameters[name]["deviation_over_prior"] = float(posterior.standard_deviation[i])
            if sizes is not None:
                parameters[name]["effective_sample_size"] = float(sizes[i])
            if isinstance(sampling, Sampling):
                parameters[name]["r_hat"] = float(sampling.r_hat[i])
    about: dict[str, object] = {
        "method": posterior.method,
        "level": level,
        **dataclasses.asdict(posterior.likelihood),
        "n_constrained_combinations": posterior.spectrum.n_constrained,
        "n_draws": int(posterior.log_density.size),
    }
    if isinstance(sampling, Weighting):
        about |= {"n_runs": sampling.n_runs, "n_failed": sampling.n_failed}
    elif sampling is not None:
        about |= {"n_divergent": sampling.n_divergent, "n_gradients": sampling.n_gradients}
    write_values(path, posterior.base, parameters, {"posterior": about}, attributes)
