"""Inference: assumed errors, and the resulting density of the parameters given the observations.

    -ln p(x | observations) = n/2 L(x)/noise² + |x|²/2 + const

with the loss L of the mean square as score: all observations together are worth n independent ones with
normal errors, including those of the model, of standard deviation `noise` in units of the scale. This equals
the loss with a prior of weight w = 2 noise²/n, divided by w.

The density is a function that JAX can differentiate and embed in a larger program. Cases of equal shapes are
stacked and computed one after another, so that their time loops remain single kernels.

`infer` goes from observations to a posterior: likelihood, mode, normal approximation, and chains from it.
"""

import dataclasses
import functools
import math
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from ...column.checkpointing import AbstractCheckpointing
from ...column.model import Model
from ...io.protection import remove_file
from ...io.writing import claims
from ...runtime import Shared
from ...runtime.engine import AbstractEngine, ThisProcess
from ..calibrate import Iteration, solve
from ..methods import LevenbergMarquardt
from ..parameters import Base, FreeParameters, ResolvedParameters, UnconstrainedVector
from ..problem import AbstractEvaluator, EnsembleEvaluator, NormalEquationsEvaluator, Problem, inserted
from ..results import check_folder, fingerprint, read_tree, write_tree
from ..target import MeanSquare, Target, misfit, residuals
from .result import (
    Laplace,
    Likelihood,
    Posterior,
    Sampling,
    Weighting,
    covariance_of,
    draw_normal,
    fisher_information,
)
from .samplers import (
    NUTS,
    ChainReport,
    Chains,
    ChainState,
    Draw,
    ImportanceSampling,
    LogDensity,
    Weighted,
    blackjax_module,
    resampled,
    sample_chains,
    start_chain,
    weigh_runs,
)


def estimate_likelihood(problem: Problem, x: UnconstrainedVector) -> Likelihood:
    """Noise and number of observations from the residuals of the best fit.

    All residuals count as noise, so that a model with structural error gets parameter uncertainties of the
    size of that error; changes of L below it carry no information. The residuals of one variable and case are
    worth

        n = N (1 - a)/(1 + a) (1 - b)/(1 + b)

    independent ones, where a and b are their correlations with the next time and the next level (including
    the mean error), as for red noise. Sums of squares q with n degrees of freedom each combine to those of
    Satterthwaite, (sum q)²/sum (q²/n).

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
            values, counts = np.asarray(values, float), np.asarray(comparison.counts[name]) > 0.0
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
    number = float(counts.sum())
    for axis, length in enumerate(values.shape):
        correlation = _lag_one(values, counts, axis)
        # Limit the effect of anticorrelated noise, and of a field that never changes.
        number *= min(1.0, max((1.0 - correlation) / (1.0 + correlation), 1.0 / length))
    return max(1.0, number)


def _lag_one(values: np.ndarray, counts: np.ndarray, axis: int) -> float:
    """Correlation with the next value along an axis, without subtracting the mean."""
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
    shared: Shared[tuple[ResolvedParameters, list]] = Shared()
    for weight, free, comparison in zip(problem.weights, problem.in_cases, problem.comparisons, strict=True):
        if weight > 0.0:
            case = jnp.asarray(weight), jnp.asarray(free.places), comparison
            shared.get(lambda free=free: (free, []), comparison, free)[1].append(case)
    of_groups = [free for free, _ in shared.all]
    groups = [jax.tree.map(lambda *leaves: jnp.stack(leaves), *cases) for _, cases in shared.all]
    arguments = problem.model, jnp.asarray(problem.prior_weight), groups
    identity = "log posterior", problem.free_parameters, problem.score, problem.checkpointing

    def of_case(x: UnconstrainedVector, own: ResolvedParameters, model: Model, weight, places, comparison):
        def score_of(z):
            changed = inserted(own, z, model, comparison)
            if comparison.steps is None:
                score, _ = misfit(*changed, problem.score, problem.checkpointing)
                return weight * score
            by_variable, _ = residuals(*changed)
            return weight * problem.score(sum(jnp.sum(part**2) for part in by_variable.values()))

        z = x[places]
        if comparison.steps is None:
            value, slopes = jax.value_and_grad(score_of)(z)
        else:  # only forward mode follows its steps
            along = lambda direction: jax.jvp(score_of, (z,), (direction,))  # noqa: E731
            value, slopes = jax.vmap(along, in_axes=-1, out_axes=(None, 0))(jnp.eye(z.size, dtype=z.dtype))
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


MODE_NAME = "posterior_mode.eqx"
POSTERIOR_NAME = "posterior.nc"
Report = Callable[[float, str], None]
"""Called with the fraction that is done, and where that is in a few words."""
_TRIES = 5
"""At a start of a chain; each is half as far from the mode as the one before."""


@claims("folder", folder=True)
def infer(
    model: Model,
    free_parameters: FreeParameters | ResolvedParameters,
    targets: Sequence[Target],
    method: Laplace | NUTS | ImportanceSampling | None = None,
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
        folder: for checkpoints; without one nothing is saved.
        resume: continue from the folder, with bit-identical results.
        overwrite: start anew in a folder that holds a posterior.
        engine: computes cases, then chains; by default this process, two at a time. The results are
            identical.
        report: called with the fraction that is done, and where that is in a few words: after each draw of a
            chain, each round of importance sampling, or each evaluation of the fit, if that is all.
        announce: called with a line when a stage is done.

    Raises:
        ValueError: inconsistent settings, a folder that holds a posterior (without `resume` or `overwrite`)
            or a different one (with `resume`).
        ImportError: NUTS without the package blackjax.
        FloatingPointError: the first guess has no finite loss and Jacobian.
    """
    method = Laplace() if method is None else method
    if isinstance(method, NUTS):
        blackjax_module("")
    place = None if folder is None else _open_folder(Path(folder), resume, overwrite)
    weight = 1.0 if likelihood is None else likelihood.prior_weight
    engine = ThisProcess(2) if engine is None else engine
    problem = Problem(model, free_parameters, targets, MeanSquare(), checkpointing, weight)
    free = problem.free_parameters
    parts = _fingerprint(problem, method, likelihood, n_iterations)
    evaluator = NormalEquationsEvaluator(problem, engine)
    path = None if place is None else place / MODE_NAME
    if path is not None and path.exists():
        header, mode = read_tree(path, parts, lambda _: np.asarray(free.start()), "file of a posterior")
        likelihood = Likelihood(*header["likelihood"])
    else:
        x = free.start() if start is None else jnp.asarray(start)
        # The remaining time of chains and rounds is estimated from the first one.
        shown = report if isinstance(method, Laplace) else lambda fraction, where: None
        fit = functools.partial(_fit, problem, evaluator, n_iterations, shown)
        before = 0.0 if likelihood is not None else 0.5
        if likelihood is None:
            first, loss = fit(x, estimate_likelihood(problem, x), 0.0, before)
            announce(f"first fit: loss {loss:.5g} with priors")
            x = jnp.asarray(first)
            likelihood = estimate_likelihood(problem, x)
        mode, _ = fit(x, likelihood, before, 1.0)
        if path is not None:
            write_tree(path, {"likelihood": dataclasses.astuple(likelihood), "fingerprint": parts}, mode)
    problem = problem.changed(prior_weight=likelihood.prior_weight)
    evaluator = evaluator.of(problem)
    evaluation = evaluator(jnp.asarray(mode))
    if place is not None and overwrite:
        remove_file(place / POSTERIOR_NAME)
    announce(
        f"most probable vector: loss {evaluation.fit.loss:.5g} with priors; noise {likelihood.noise:.4g}, "
        f"worth {likelihood.n_observations:.4g} independent observations"
    )
    information = fisher_information(evaluation, likelihood.prior_weight)
    best = BestFit(Base.of(model.closure, free.changed_paths), free, likelihood, mode, information)
    if isinstance(method, Laplace):
        return _normal(method, best)
    if isinstance(method, ImportanceSampling):
        members = EnsembleEvaluator(problem.changed(prior_weight=0.0), engine)
        return _from_runs(method, best, members, report)
    starts = [_start(method, chain, best, evaluator) for chain in range(method.n_chains)]
    density = functools.partial(log_posterior, problem)
    shown = _in_words(method, report)
    chains = sample_chains(method, density, starts, folder=place, parts=parts, engine=engine, report=shown)
    return _from_chains(best, chains)


class BestFit(NamedTuple):
    """The first fields of a posterior, which do not depend on the method."""

    base: Base
    free_parameters: ResolvedParameters
    likelihood: Likelihood
    mode: np.ndarray
    information: np.ndarray

    @property
    def covariance(self) -> np.ndarray:
        """Covariance of the normal approximation."""
        return covariance_of(self.information)


def _open_folder(folder: Path, resume: bool, overwrite: bool) -> Path:
    held = sorted(folder.glob("posterior_chain_*.eqx"))
    held += [path for path in (folder / MODE_NAME, folder / POSTERIOR_NAME) if path.exists()]
    check_folder("posterior", folder, sorted(path.name for path in held), resume, overwrite)
    # The previous result stays until there is something to replace it.
    for path in held:
        if overwrite and path.name != POSTERIOR_NAME:
            remove_file(path)
    return folder


def _fingerprint(
    problem: Problem,
    method: Laplace | NUTS | ImportanceSampling,
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
    evaluator: NormalEquationsEvaluator,
    n_iterations: int,
    report: Report,
    x: UnconstrainedVector,
    likelihood: Likelihood,
    before: float,
    after: float,
) -> tuple[np.ndarray, float]:
    """Most probable vector and its loss, by steps from x; `before` and `after` are fractions of all work."""
    problem = problem.changed(prior_weight=likelihood.prior_weight)

    def shown(iteration: Iteration) -> None:
        fraction = (iteration.number + 1) / n_iterations
        report(before + (after - before) * fraction, f"loss {iteration.loss:.5g}")

    result = solve(
        problem,
        LevenbergMarquardt(),
        n_iterations,
        lambda: evaluator.of(problem),
        start=x,
        max_non_finite=n_iterations,
        report=shown,
    )
    return result.history.x[result.history.best_iteration], result.best_loss


def _normal(method: Laplace, best: BestFit) -> Posterior:
    mode, covariance = best.mode, best.covariance
    draws = draw_normal(method, mode, covariance)[None]
    away = draws[0] - mode
    density = -0.5 * np.einsum("ij,ij->i", away, np.linalg.solve(covariance, away.T).T)[None]
    never = np.zeros(density.shape, bool)
    return Posterior("laplace", *best, mode, covariance, draws, density, is_divergent=never)


def _start(method: NUTS, chain: int, best: BestFit, evaluator: AbstractEvaluator) -> ChainState:
    """A chain started from a draw of the normal approximation, closer to the mode if that run fails."""
    normal = np.random.default_rng((method.seed, chain)).standard_normal(best.mode.size)
    away = np.linalg.cholesky(best.covariance) @ normal
    x, evaluation = best.mode + away, evaluator(jnp.asarray(best.mode + away))
    for fraction in (*(0.5**halvings for halvings in range(1, _TRIES)), 0.0):
        if evaluation.is_finite:
            break
        x = best.mode + fraction * away
        evaluation = evaluator(jnp.asarray(x))
    weight = best.likelihood.prior_weight
    density, gradient = -evaluation.fit.loss / weight, -evaluation.gradient / weight
    return start_chain(method, chain, x, density, gradient, best.covariance)


def _in_words(method: NUTS, report: Report) -> ChainReport:
    """The progress of all chains together."""
    total = method.n_chains * (method.n_warmup + method.n_draws)
    reached, gradients, divergent = dict[int, int](), 0, 0
    lock = threading.Lock()  # chains report from their threads

    def shown(chain: int, number: int, draw: Draw) -> None:
        nonlocal gradients, divergent
        with lock:
            reached[chain] = number
            gradients, divergent = gradients + int(draw.n_steps), divergent + int(draw.is_divergent)
            done = sum(reached.values())
            report(done / total, f"draw {done} of {total}, {gradients} gradients, {divergent} divergent")

    return shown


def _from_runs(
    method: ImportanceSampling, best: BestFit, evaluator: EnsembleEvaluator, report: Report
) -> Posterior:
    worth = 0.5 * best.likelihood.n_observations / best.likelihood.noise**2

    def log_density(members: np.ndarray) -> np.ndarray:
        return -worth * evaluator(jnp.asarray(members)).losses - 0.5 * np.sum(members**2, axis=0)

    def shown(fraction: float, runs: Weighted) -> None:
        report(fraction, f"effective size {runs.effective_size:.0f}")

    runs = weigh_runs(method, best.mode.size, log_density, shown)
    places = resampled(runs, method.n_draws, method.seed)
    density = runs.log_density[places][None]
    draws, never = (runs.x[places][None], density), np.zeros(density.shape, bool)
    failed = int(np.isneginf(runs.log_density).sum())
    sampling = Weighting(runs.effective_size, len(runs.x), failed)
    return Posterior("importance", *best, runs.mean, runs.covariance, *draws, never, sampling)


def _from_chains(best: BestFit, chains: Chains) -> Posterior:
    draws, n_gradients = chains.draws, int(chains.draws.n_steps.sum()) + chains.n_steps_in_warmup
    flat = draws.position.reshape(-1, draws.position.shape[-1])
    moments = flat.mean(axis=0), np.atleast_2d(np.cov(flat, rowvar=False))
    divergent = int(draws.is_divergent.sum()), chains.n_divergent_in_warmup
    acceptance = float(draws.acceptance.mean())
    sampling = Sampling(*mixing(draws.position), *divergent, n_gradients, acceptance, chains.step_sizes)
    return Posterior("nuts", *best, *moments, *draws[:3], sampling)


def mixing(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Effective sample size and split R-hat by parameter of draws `(n_chains, n_draws, n_parameters)`."""
    diagnostics = blackjax_module("diagnostics")
    half = draws.shape[1] // 2
    halves = np.concatenate([draws[:, :half], draws[:, -half:]])
    # A single chain is split into two halves for comparison; types mix in blackjax.
    with jax.numpy_dtype_promotion("standard"):
        sizes = diagnostics.effective_sample_size(jnp.asarray(halves))
        r_hat = diagnostics.potential_scale_reduction(jnp.asarray(halves))
    return np.asarray(sizes, float), np.asarray(r_hat, float)


_FARTHEST = 3.0
"""From the median: where a bounded parameter feels the observations next to nothing."""


def start_from(free: ResolvedParameters, values: Mapping[str, float]) -> UnconstrainedVector:
    """The unconstrained vector of calibrated values by path, moved off the bounds.

    Parameters without a value take their first guess.
    """
    found = [float(values.get(number.path, number.start)) for number in free.numbers]
    bounds = [(number.distribution.lower, number.distribution.upper) for number in free.numbers]
    lower, upper = np.array(bounds).T
    inside = (lower < found) & (found < upper)
    given = {n.path: v if i else n.start for n, v, i in zip(free.numbers, found, inside, strict=True)}
    x = np.asarray(free.to_unconstrained(given))
    x = np.where(found == lower, -_FARTHEST, np.where(found == upper, _FARTHEST, x))
    has_bounds = np.isfinite(lower) & np.isfinite(upper)
    return jnp.asarray(np.where(has_bounds, np.clip(x, -_FARTHEST, _FARTHEST), x))
