"""The posterior of the parameters, how it is inferred, and its files.

Near the best fit the density is approximately normal: with the Gauss-Newton matrix A of the loss without
prior and the weight w = 2 noise²/n of the priors, the unconstrained vector has

    covariance = (F + I)⁻¹,   F = A / w.

F is the Fisher information of the observations relative to that of the prior: along a direction of eigenvalue
f, the variance is reduced from 1 to 1 / (1 + f).

The density of the parameters given the observations follows from assumed errors:

    -ln p(x | observations) = n/2 L(x)/noise² + |x|²/2 + const

with the loss L of the mean square as score: all observations together are worth n independent ones with
normal errors, including those of the model, of standard deviation `noise` in units of the scale. This equals
the loss with a prior of weight w = 2 noise²/n, divided by w.

The density is a function that JAX can differentiate and embed in a larger program. Cases of equal shapes are
stacked and computed one after another, so that their time loops remain single kernels.

`infer` goes from observations to a posterior: likelihood, mode, normal approximation, and chains from it.

Effect of the posterior on runs: uncertainty bands from many draws as one batch.
"""

import dataclasses
import functools
import json
import math
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, PyTree

from ..._types import JSON, precision_of
from ...closures import recommended_sets
from ...column.case import Case
from ...column.checkpointing import AbstractCheckpointing, SaveEverything
from ...column.diagnostics import diagnose
from ...column.integrate import simulate
from ...column.model import Model
from ...declarations import check_settings, name_of, named, setting
from ...io.dataset import (
    IDEALISED_EPOCH,
    attributes_of,
    described,
    titled,
    variable_name,
)
from ...io.errors import names_its_file
from ...runtime.compilation import Shared
from ...runtime.engine import AbstractEngine, ThisProcess
from ...runtime.jax_setup import failures_as_values
from ..base import Base
from ..calibrate import Iteration, solve
from ..methods import LevenbergMarquardt
from ..parameters import (
    FreeParameters,
    ParameterTable,
    UnconstrainedVector,
    numbers_of,
    replace_numbers,
)
from ..problem import (
    AbstractEvaluator,
    Evaluation,
    NormalEquationsEvaluator,
    Problem,
)
from ..results import check_folder, fingerprint, write_values
from ..target import MeanSquare, Target, misfit, residuals
from .samplers import NUTS, ChainReport, Draws, LogDensity, Start, mixing, optional_module, sample_chains

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


@dataclasses.dataclass(frozen=True)
class Sampling:
    """Diagnostics of a sampler."""

    effective_sizes: np.ndarray  # number of independent draws in all chains, (n_parameters,)
    r_hat: np.ndarray  # rank-normalised, of halves of chains: 1 for chains that agree, (n_parameters,)
    n_divergent: int  # trajectories that diverged or failed, after the warm-up
    n_gradients: int  # of the density, including the warm-up


_SAME_SPREAD, _SAME_MEAN = 0.9, 0.5
"""Smallest spread and largest mean of an unconstrained parameter, in standard deviations of its prior."""


@dataclasses.dataclass(frozen=True)
class Posterior:
    """Distribution of the free parameters given the observations.

    The Fisher information of the observations at the mode is a Gauss-Newton matrix, relative to the prior.
    """

    method: str  # `laplace` or `nuts`
    base: Base  # the closure without its free parameters
    free_parameters: ParameterTable
    likelihood: Likelihood
    mode: np.ndarray  # most probable unconstrained vector, (n_parameters,)
    information: np.ndarray  # (n_parameters, n_parameters)
    mean: np.ndarray  # of the unconstrained vector, (n_parameters,)
    covariance: np.ndarray  # (n_parameters, n_parameters)
    draws: np.ndarray  # unconstrained vectors, (n_chains, n_draws, n_parameters)
    sampling: Sampling | None = None

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
    def unconstrained(self) -> tuple[str, ...]:
        """Paths of the parameters that have neither another mean nor a smaller spread than in their prior."""
        is_wide, is_near = self.standard_deviation > _SAME_SPREAD, np.abs(self.mean) < _SAME_MEAN
        return tuple(path for path, same in zip(self.paths, is_wide & is_near, strict=True) if same)

    @property
    def correlation(self) -> np.ndarray:
        """Of the unconstrained numbers, `(n_parameters, n_parameters)`."""
        deviation = self.standard_deviation
        return self.covariance / np.outer(deviation, deviation)

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


def posterior_dataset(posterior: Posterior, attributes: Mapping[str, str] | None = None) -> "xr.Dataset":
    """All of a posterior with units and long names; a dot in the path of a parameter becomes an underscore.

    Parameters are variables by draw; variables along the axis `parameter` refer to the unconstrained numbers,
    whose prior is the standard normal distribution. The attributes record the origin of the numbers.
    """
    import xarray as xr  # takes long

    across, sampling = ("parameter", "parameter_2"), posterior.sampling
    fisher = "Fisher information of the observations over that of the prior"
    data: dict[str, tuple] = {
        "x": described((*_EACH_DRAW, "parameter"), posterior.draws, "unconstrained numbers"),
        "mode": described("parameter", posterior.mode, "most probable unconstrained numbers"),
        "mean": described("parameter", posterior.mean, "mean of the unconstrained numbers"),
        "covariance": described(across, posterior.covariance, "covariance of the unconstrained numbers"),
        "information": described(across, posterior.information, fisher),
    }
    title: dict[str, object] = {
        **titled("Posterior", posterior.base.closure),
        "base": json.dumps(posterior.base.content),
        "method": posterior.method,
        **dataclasses.asdict(posterior.likelihood),
    }
    if sampling is not None:
        sizes = described("parameter", sampling.effective_sizes, "effective sample size")
        r_hat = described("parameter", sampling.r_hat, "rank-normalised R-hat of halves of chains")
        data |= {"effective_size": sizes, "r_hat": r_hat}
        title |= {"n_divergent": sampling.n_divergent, "n_gradients": sampling.n_gradients}
    best = posterior.best
    priors = {free.path: free.prior for free in posterior.free_parameters.numbers}
    for path, values in posterior.values().items():
        about: dict[str, object] = {"path": path, "most_probable": best[path]}
        if path in priors:
            ends = jnp.asarray([-1.6448536269514722, 1.6448536269514722])
            low, high = np.asarray(priors[path].to_physical(ends), float).tolist()
            about |= {"prior": repr(priors[path]), "prior_5_percent": low, "prior_95_percent": high}
        unit = posterior.units[path]
        data[variable_name(path)] = described(_EACH_DRAW, values, f"parameter {path}", unit, **about)
    names = np.array(posterior.paths, dtype=object)
    coords = {name: (name, names, {"long_name": "path of the parameter"}) for name in across}
    return xr.Dataset(data, coords, {**title, **(attributes or {})})


def write_summary(
    path: str | Path, posterior: Posterior, level: float = 0.9, attributes: Mapping[str, str] | None = None
) -> None:
    """Write most probable values, credible intervals and the method; attributes as above."""
    best, deviation = posterior.best, posterior.standard_deviation
    parameters: dict[str, dict] = {
        name: {"value": best[name], "unit": posterior.units[name], "interval": list(interval)}
        for name, interval in posterior.intervals(level).items()
    }
    for i, number in enumerate(posterior.free_parameters.numbers):
        # The deviation of the unconstrained number: 1 means that nothing was learnt.
        about = {"prior": repr(number.prior), "deviation_over_prior": float(deviation[i])}
        parameters[number.path] |= about
    section: dict[str, object] = {
        "method": posterior.method,
        "level": level,
        **dataclasses.asdict(posterior.likelihood),
        "n_constrained_combinations": posterior.spectrum.n_constrained,
        "n_draws": posterior.draws[..., 0].size,
    }
    write_values(path, posterior.base, parameters, {"posterior": section}, attributes)


def estimate_likelihood(problem: Problem, x: UnconstrainedVector) -> Likelihood:
    """Noise and number of observations from the residuals of the best fit.

    All residuals count as noise, so that a model with structural error gets parameter uncertainties of the
    size of that error; changes of L below it carry no information. The residuals of one variable and case are
    worth

        n = N (1 - a)/(1 + a) (1 - b)/(1 + b)

    independent ones, at least one, where a and b are their correlations with the next selected time and the
    next level (including the mean error; 0 if negative), as for red noise. Sums of squares q with n degrees
    of freedom each combine to those of Satterthwaite, (sum q)²/sum (q²/n).

    The score must be the mean square. Raises `ValueError` for a fit that is perfect or not finite.

    Source: Bartlett (1935), J. R. Stat. Soc. 98, 536-543; Satterthwaite (1946), Biometrics Bull. 2, 110-114.
    """
    run = jax.jit(residuals)
    squares, freedoms = [], []
    for index, (weight, comparison) in enumerate(zip(problem.weights, problem.comparisons, strict=True)):
        if weight == 0.0:
            continue
        by_variable, _ = run(*problem.calibrated(jnp.asarray(x), index))
        for name, values in by_variable.items():
            values, counts = np.asarray(values, float), np.asarray(comparison.variables[name].counts) > 0.0
            squares.append(float(weight) * float(np.sum(values**2)))
            freedoms.append(effective_number(values, counts))
    total = sum(squares)
    if not (math.isfinite(total) and total > 0.0):
        raise ValueError(
            f"estimate_likelihood: expected a finite mean square above 0 at the best fit, got {total:g}; "
            "give noise and n_observations."
        )
    number = total**2 / sum(q**2 / n for q, n in zip(squares, freedoms, strict=True))
    return Likelihood(math.sqrt(total), float(number))


def effective_number(values: np.ndarray, counts: np.ndarray) -> float:
    """Number of independent values, at least 1, in red noise `(n_times, n_levels)` at the selected values."""
    # Frames and levels without any selected value lie between the selected ones: those are the neighbours.
    some = np.ix_(counts.any(axis=1), counts.any(axis=0))
    values, counts = values[some], counts[some]
    number = float(counts.sum())
    for axis in range(values.ndim):
        correlation = _lag_one(values, counts, axis)
        number *= (1.0 - correlation) / (1.0 + correlation)
    return max(1.0, number)


def _lag_one(values: np.ndarray, counts: np.ndarray, axis: int) -> float:
    """Correlation with the next value along an axis, without subtracting the mean; 0 if it is negative."""
    values, counts = np.moveaxis(values, axis, 0), np.moveaxis(counts, axis, 0)
    both = counts[1:] & counts[:-1]
    first, second = values[:-1][both], values[1:][both]
    size = math.sqrt(float(first @ first) * float(second @ second))
    return max(0.0, float(first @ second) / size) if size > 0.0 else 0.0


def log_posterior(problem: Problem) -> tuple[LogDensity, PyTree, Hashable]:
    """Log density up to a constant, its arguments after the vector, and its identity.

    The prior weight of the problem must be positive: see `likelihood`. Problems of equal identity and
    argument shapes share compiled code.
    """
    if not problem.prior_weight > 0.0:
        raise ValueError(f"log_posterior: expected a positive prior_weight, got {problem.prior_weight}.")
    # Stack the cases of equal shapes with the same free parameters. Each group has its free parameters,
    # weights, the indices of its numbers in the vector, and comparisons.
    shared: Shared[tuple[ParameterTable, list]] = Shared()
    for weight, free, comparison in zip(problem.weights, problem.in_cases, problem.comparisons, strict=True):
        if weight > 0.0:
            case = jnp.asarray(weight), jnp.asarray(free.places), comparison
            shared.get(lambda free=free: (free, []), comparison, free)[1].append(case)
    of_groups = [free for free, _ in shared.all]
    groups = [jax.tree.map(lambda *leaves: jnp.stack(leaves), *cases) for _, cases in shared.all]
    arguments = problem.model, jnp.asarray(problem.prior_weight), groups
    identity = "log posterior", problem.free_parameters, problem.score, problem.checkpointing

    def of_case(x: UnconstrainedVector, own: ParameterTable, model: Model, weight, places, comparison):
        def score_of(z):
            changed = own.to_pytree(model, z), own.to_pytree(comparison, z)
            return weight * misfit(*changed, problem.score, problem.checkpointing)[0]

        value, slopes = jax.value_and_grad(score_of)(x[places])
        return value, jnp.zeros_like(x).at[places].add(slopes)

    def value_and_gradient(x, model, prior_weight, groups):
        value, gradient = -0.5 * x @ x, -x
        for own, group in zip(of_groups, groups, strict=True):
            here = functools.partial(of_case, x, own, model)
            values, gradients = jax.lax.map(lambda case, here=here: here(*case), group)
            value = value - jnp.sum(values) / prior_weight
            gradient = gradient - jnp.sum(gradients, axis=0) / prior_weight
        return value, gradient

    # The gradient is computed case by case: nothing of one case is stored while the next is computed.
    @jax.custom_vjp
    def log_density(x, *arguments):
        return value_and_gradient(x, *arguments)[0]

    def forward(x, *arguments):
        return value_and_gradient(x, *arguments)

    def backward(gradient, cotangent):
        return cotangent * gradient, None, None, None  # the other arguments are data

    log_density.defvjp(forward, backward)
    return log_density, arguments, identity


POSTERIOR_NAME = "posterior.nc"
Report = Callable[[float, str], None]
"""Called with the fraction that is done, and where that is in a few words."""


@failures_as_values()
def infer(
    model: Model,
    free_parameters: FreeParameters | ParameterTable,
    targets: Sequence[Target],
    method: Laplace | NUTS | None = None,
    *,
    likelihood: Likelihood | None = None,
    start: UnconstrainedVector | None = None,
    n_iterations: int = 30,
    folder: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    checkpointing: AbstractCheckpointing | None = None,
    engine: AbstractEngine | None = None,
    report: Report = lambda fraction, where: None,
    announce: Callable[[str], None] = lambda line: None,
) -> Posterior:
    """The distribution of the parameters of a closure given the observations of one or more cases.

    Args:
        model, free_parameters, targets, checkpointing: as in `calibrate`; the parameters with priors.
        method: `Laplace()` by default.
        likelihood: assumed errors; by default estimated from the residuals of the best fit.
        start: unconstrained vector from which to search for the mode; by default the first guess.
        n_iterations: evaluations of that search, twice as many if the likelihood is estimated.
        folder: for the files of chains; without one nothing is saved.
        resume: continue the chains in the folder, with bit-identical results.
        overwrite: start anew in a folder that holds a posterior.
        engine: computes cases, then chains; by default this process, two at a time. The results are
            identical.
        report: called with the fraction of a stage that is done, and where that is in a few words.
        announce: called with a line when a stage is done.

    Raises:
        ValueError: inconsistent settings, a folder that holds a posterior (without `resume` or `overwrite`)
            or a different one (with `resume`).
        ImportError: NUTS without the packages blackjax and arviz_stats.
        FloatingPointError: the first guess has no finite loss and Jacobian.
    """
    method = Laplace() if method is None else method
    if isinstance(method, NUTS):
        for name in ("blackjax", "arviz_stats.base"):
            optional_module(name)
        if any(each.padded is not None for each in targets):
            raise ValueError("NUTS needs unpadded cases; leave misfit.padded out.")
    place = None if folder is None else _open_folder(Path(folder), resume, overwrite)
    weight = 1.0 if likelihood is None else likelihood.prior_weight
    engine = ThisProcess(2) if engine is None else engine
    problem = Problem(model, free_parameters, targets, MeanSquare(), checkpointing, weight)
    free = problem.free_parameters
    parts = _fingerprint(problem, method, likelihood, n_iterations)
    evaluator = NormalEquationsEvaluator(problem, engine)
    fit = functools.partial(_fit, evaluator=evaluator, n_iterations=n_iterations, report=report)
    x = free.start() if start is None else jnp.asarray(start)
    if likelihood is None:
        problem = problem.changed(prior_weight=estimate_likelihood(problem, x).prior_weight)
        x, loss = fit(problem, x)
        announce(f"first fit: loss {loss:.5g} with priors")
        likelihood = estimate_likelihood(problem, x)
    problem = problem.changed(prior_weight=likelihood.prior_weight)
    x, loss = fit(problem, x)
    evaluator, mode = evaluator.of(problem), np.asarray(x)
    information = fisher_information(evaluator(x), likelihood.prior_weight)
    covariance = covariance_of(information)
    if place is not None and overwrite:
        (place / POSTERIOR_NAME).unlink(missing_ok=True)
    announce(
        f"most probable vector: loss {loss:.5g} with priors; noise {likelihood.noise:.4g}, "
        f"worth {likelihood.n_observations:.4g} independent observations"
    )
    best = Base.of(model.closure, free.changed_paths), free, likelihood, mode, information
    if isinstance(method, Laplace):
        normal = np.random.default_rng(method.seed)
        draws = normal.multivariate_normal(mode, covariance, method.n_draws, method="cholesky")
        return Posterior("laplace", *best, mode, covariance, draws[None])
    starts = [_start(method, chain, mode, covariance, evaluator) for chain in range(method.n_chains)]
    density = functools.partial(log_posterior, problem)
    shown = _in_words(method, report)
    options = {"folder": place, "parts": parts, "engine": engine, "report": shown}
    draws, n_gradients = sample_chains(method, density, starts, **options)
    flat = draws.position.reshape(-1, mode.size)
    moments = flat.mean(axis=0), np.atleast_2d(np.cov(flat, rowvar=False))
    n_gradients += int(draws.n_steps.sum())
    sampling = Sampling(*mixing(draws.position), int(draws.is_divergent.sum()), n_gradients)
    return Posterior("nuts", *best, *moments, draws.position, sampling)


def _open_folder(folder: Path, resume: bool, overwrite: bool) -> Path:
    held = sorted(folder.glob("posterior_chain_*.eqx"))
    held += [path for path in (folder / POSTERIOR_NAME,) if path.exists()]
    check_folder("posterior", folder, sorted(path.name for path in held), resume, overwrite)
    # The previous result stays until there is something to replace it.
    for path in held:
        if overwrite and path.name != POSTERIOR_NAME:
            path.unlink()
    return folder


def _fingerprint(
    problem: Problem,
    method: Laplace | NUTS,
    likelihood: Likelihood | None,
    n_iterations: int,
) -> dict[str, str]:
    # More draws of the same chains still belong to the same posterior.
    settings = dataclasses.replace(method, n_draws=4) if isinstance(method, NUTS) else method
    parts = fingerprint(problem, settings)
    del parts["prior weight"]
    return parts | {"likelihood": repr(likelihood), "iterations to the mode": str(n_iterations)}


def _fit(
    problem: Problem,
    x: UnconstrainedVector,
    *,
    evaluator: NormalEquationsEvaluator,
    n_iterations: int,
    report: Report,
) -> tuple[UnconstrainedVector, float]:
    """Most probable vector and its loss, by steps from x."""

    def shown(iteration: Iteration) -> None:
        report((iteration.number + 1) / n_iterations, f"loss {iteration.loss:.5g}")

    of_problem, options = lambda: evaluator.of(problem), {"max_non_finite": n_iterations, "report": shown}
    result = solve(problem, LevenbergMarquardt(), n_iterations, of_problem, start=x, **options)
    return jnp.asarray(result.history.x[result.history.best_iteration]), result.best_loss


def _start(
    method: NUTS, chain: int, mode: np.ndarray, covariance: np.ndarray, evaluator: AbstractEvaluator
) -> Start:
    """Start of a chain at a draw of the normal approximation, closer to the mode if that run fails."""
    normal = np.random.default_rng((method.seed, chain)).standard_normal(mode.size)
    away = np.linalg.cholesky(covariance) @ normal
    while not evaluator(jnp.asarray(mode + away), loss_to_beat=-math.inf).fit.is_finite:
        away = 0.5 * away
    key = jax.random.fold_in(jax.random.PRNGKey(method.seed), chain)
    return Start(*map(np.asarray, (key, jnp.asarray(mode + away), jnp.asarray(covariance))))


def _in_words(method: NUTS, report: Report) -> ChainReport:
    """The progress of all chains together."""
    reached, total = dict[int, Draws](), method.n_chains * method.n_draws
    lock = threading.Lock()  # chains report from their threads

    def shown(chain: int, draws: Draws) -> None:
        with lock:
            reached[chain] = draws
            done = sum(len(one.n_steps) for one in reached.values())
            divergent = sum(int(one.is_divergent.sum()) for one in reached.values())
            report(done / total, f"draw {done} of {total}, {divergent} divergent")

    return shown


_FARTHEST = 3.0
"""From the median: where a bounded parameter feels the observations next to nothing."""


def start_from(free: ParameterTable, values: Mapping[str, float]) -> UnconstrainedVector:
    """The unconstrained vector of calibrated values by path, moved off the bounds.

    Parameters without a value take their first guess.
    """
    found = [float(values.get(number.path, number.start)) for number in free.numbers]
    bounds = [(number.prior.lower, number.prior.upper) for number in free.numbers]
    lower, upper = np.array(bounds).T
    inside = (lower < found) & (found < upper)
    given = {n.path: v if i else n.start for n, v, i in zip(free.numbers, found, inside, strict=True)}
    x = np.asarray(free.to_unconstrained(given))
    x = np.where(found == lower, -_FARTHEST, np.where(found == upper, _FARTHEST, x))
    has_bounds = np.isfinite(lower) & np.isfinite(upper)
    return jnp.asarray(np.where(has_bounds, np.clip(x, -_FARTHEST, _FARTHEST), x))


QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_ERRORS = 9
"""Of each member, one in each of so many equally likely ranges of the normal distribution."""
_EACH_DRAW = "chain", "draw"
SCALARS = ("sea_surface_temperature", "mixed_layer_depth", "potential_energy_anomaly")


def predictive_bands(
    model: Model, free_parameters: ParameterTable, case: Case, draws: np.ndarray, **options: Any
) -> "xr.Dataset":
    """Bands of a case from unconstrained vectors `(n_members, n_parameters)`, as `bands_of_members`."""
    if len(draws) < 2:
        raise ValueError(f"draws: expected two draws or more, got {len(draws)}.")
    free = free_parameters.in_case(case.name)
    x = free.part_of(jnp.asarray(np.asarray(draws, float).T))
    return bands_of_members(free.to_pytree(model, x), free.to_pytree(case, x), len(draws), **options)


def recommended_members(model: Model, n: int) -> tuple[Model, float]:
    """A model with recommended constants, in `n` draws of their posterior, and the error that this assumes.

    Members lie along a trailing axis; the error is the `noise` of `bands_of_members`.

    Raises:
        ValueError: the closure is no recommended set with draws, or `n` is not between 2 and their number.
    """
    closure, name = model.closure, name_of(type(model.closure))
    known = {name: one for name, one in recommended_sets().items() if one.draws}
    if name not in known or Base.of(closure, ()).name != f"{name}_recommended":
        raise ValueError(
            f"draws: expected the recommended constants of {' or '.join(known)}, got another set of "
            f"{type(closure).__name__}; write `constants: recommended` without other parameters, or give a "
            "file of `tunax-lite posterior` with --posterior."
        )
    draws = known[name].draws
    if not 2 <= n <= len(draws):
        raise ValueError(f"draws: expected a number from 2 to {len(draws)}, got {n}; choose another one.")
    numbers = np.asarray(draws[:n], precision_of(module=closure)).T
    members = replace_numbers(closure, list(known[name].calibrated), numbers)
    return dataclasses.replace(model, closure=members), known[name].noise


def members_of_file(path: str | Path, model: Model, n: int) -> Model:
    """A model in `n` draws of a posterior from a file, evenly spaced over all chains.

    The file is that of `posterior_dataset`, or any NetCDF file whose variables along `chain` and `draw` are
    parameters of the closure, by name or with their path as attribute `path`. Members lie along a trailing
    axis. Draws of another base than the closure of the model are refused, as by `with_parameters`.

    Raises:
        ValueError: no such variables, parameters of cases, or `n` is not between 2 and the number of draws.
    """
    closure = model.closure
    numbers, base = _read_draws(path, closure)
    size = next(iter(numbers.values())).size
    if not 2 <= n <= size:
        raise ValueError(f"draws: expected a number from 2 to {size}, got {n}; choose another one.")
    if base is not None:
        Base.read(type(closure).__name__, base, numbers).check(closure, numbers, str(path))
    places = np.linspace(0, size - 1, n).round().astype(int)
    members = np.array([values[places] for values in numbers.values()], precision_of(module=closure))
    return dataclasses.replace(model, closure=replace_numbers(closure, list(numbers), members))


@names_its_file("a file of a posterior")
def _read_draws(path, closure: PyTree) -> tuple[dict[str, np.ndarray], JSON]:
    """Draws by path of the parameter, and the base of the closure, `None` if the file has none."""
    import xarray as xr  # takes long

    with xr.open_dataset(path) as dataset:
        drawn = {one.attrs.get("path", name): one for name, one in dataset.items() if one.dims == _EACH_DRAW}
        known = numbers_of(closure)
        numbers = {str(key): np.asarray(one, float).ravel() for key, one in drawn.items() if key in known}
        others = [key for key, one in drawn.items() if "path" in one.attrs and key not in numbers]
        if others or not numbers:
            raise ValueError(
                f"{path}: expected variables along chain and draw that are parameters of "
                f"{type(closure).__name__}, got {', '.join(map(str, others or drawn)) or 'none'}; give the "
                "posterior.nc of `tunax-lite posterior` for this closure."
            )
        return numbers, json.loads(dataset.attrs["base"]) if "base" in dataset.attrs else None


@failures_as_values()
def bands_of_members(
    ensemble: Model,
    cases: Case,
    n_members: int,
    variables: Sequence[str] = ("temperature",),
    series: Sequence[str] = SCALARS,
    quantiles: Sequence[float] = QUANTILES,
    noise: float = 0.0,
    *,
    dt: float,
    duration: float,
    output_interval: float,
) -> "xr.Dataset":
    """Quantiles over members of the results of a single column: the uncertainty of the parameters.

    They include neither the noise of observations nor the error of the model. Runs that are not finite are
    ignored, and counted in the attribute `n_failed`.

    Args:
        ensemble, cases: model and case, one of which has members along a trailing axis of its numbers.
        n_members: at least two.
        variables: prognostic variables or tracers.
        series: diagnostics that are scalars.
        quantiles: between 0 and 1.
        noise: with it those of temperature, at all depths and at the surface, also have normal errors of this
            fraction of the root mean square change of temperature since the start, over depth and time: the
            errors that a likelihood assumes.
        dt, duration, output_interval: as in `simulate` [s].

    Raises:
        ValueError: an unknown variable.
        FloatingPointError: fewer than two finite runs.
    """
    import xarray as xr  # takes long

    name, cases = cases.name, dataclasses.replace(cases, name="case")  # it is part of the compiled program
    run = simulate(
        ensemble,
        cases,
        dt=dt,
        duration=duration,
        output_interval=output_interval,
        checkpointing=SaveEverything(),
    )
    known = {**vars(run.state), **run.state.tracers}
    del known["tracers"], known["surface"]
    if not set(variables) <= set(known):
        raise ValueError(f"bands: expected variables out of {', '.join(known)}, got {variables}.")
    good = np.isfinite(np.asarray(run.state.temperature)).all(axis=(0, 1))
    if good.sum() < 2:
        raise FloatingPointError(
            f"{name}: expected two runs or more that stay finite, got {good.sum()} of {n_members}; "
            "choose a shorter time step or narrower priors."
        )
    change = np.asarray(run.state.temperature, float) - np.asarray(run.state.temperature[0], float)
    size = noise * np.sqrt(np.mean(np.square(change), axis=(0, 1)))
    # All members together have equally spaced probabilities.
    likely = (np.arange(_ERRORS) + (np.arange(n_members)[:, None] + 0.5) / n_members) / _ERRORS
    error = size[:, None] * np.vectorize(NormalDist().inv_cdf)(likely)

    def spread(name: str, values: ArrayLike, dims: tuple[str, ...]) -> tuple:
        values = np.broadcast_to(np.asarray(values, float), (*np.shape(values)[:-1], n_members))[..., good]
        if noise > 0.0 and name in ("temperature", "sea_surface_temperature"):
            values = (values[..., None] + error[good]).reshape(*values.shape[:-1], -1)
        found = np.quantile(values, quantiles, axis=-1)
        return ("quantile", *dims), found, attributes_of(name, cases.tracer_units)

    data = {name: spread(name, known[name], ("time", "z_center")) for name in variables}
    scalars = diagnose(run, cases, series)
    data |= {name: spread(name, values, ("time",)) for name, values in scalars.items()}
    since = f"seconds since {cases.start_time or IDEALISED_EPOCH}"
    coords = {
        "quantile": ("quantile", list(quantiles), {"long_name": "of the draws", "units": "1"}),
        "time": ("time", np.asarray(run.time), {"standard_name": "time", "axis": "T", "units": since}),
        "z_center": (
            "z_center",
            np.asarray(cases.grid.z_center).reshape(-1),
            {"units": "m", "axis": "Z", "positive": "up"},
        ),
    }
    title = {"title": f"Bands of {name}", "case": name, "n_draws": n_members, "n_failed": int((~good).sum())}
    dated = {} if cases.start_time is None else {"start_time": cases.start_time}
    return xr.Dataset(data, coords, title | dated)
