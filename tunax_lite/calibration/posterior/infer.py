"""From observations to a posterior: likelihood, most probable vector, normal density, and chains from it."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...checkpointing import AbstractCheckpointing
from ...io.writing import claims
from ...model import Model
from ..evaluation import NormalEquationsEvaluator
from ..files import fingerprint, read_tree, write_tree
from ..methods import LevenbergMarquardt
from ..misfit import MeanSquare, Target
from ..parameters import FreeParameters, ResolvedParameters, UnconstrainedVector
from ..problem import Evaluation, Problem
from .chains import NUTS, ChainReport, Chains, ChainState, blackjax_module, sample_chains, start_chain
from .likelihood import Likelihood, estimate_likelihood, log_posterior
from .result import Laplace, Posterior, Sampling, covariance_of, draw_normal, fisher_information

MODE_NAME = "posterior_mode.eqx"
POSTERIOR_NAME = "posterior.nc"
_TRIES = 5
"""At a start of a chain; each is half as far from the mode as the one before."""


@claims("folder", folder=True)
def infer(
    model: Model,
    free_parameters: FreeParameters | ResolvedParameters,
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
    n_threads: int = 2,
    report: ChainReport | None = None,
    announce: Callable[[str], None] | None = None,
) -> Posterior:
    """The distribution of the parameters of a closure given the observations of one or more cases.

    Args:
        model: whose closure has the parameters; its others stay.
        free_parameters: with priors.
        targets: cases with observations.
        method: by default `Laplace()`.
        likelihood: what is believed of the errors; by default estimated from the residuals of the best fit.
        start: unconstrained vector to look for the most probable one from; by default the start values.
        n_iterations: evaluations to look for it, twice as many where the likelihood is estimated.
        folder: for what is needed to go on after an interruption; without one nothing is saved.
        resume: go on with what the folder holds, bit by bit as if nothing had happened.
        overwrite: start anew in a folder that holds a posterior.
        checkpointing: what reverse mode keeps of the time loop.
        n_threads: cases, then chains, that are computed at the same time.
        report: called after each draw of a chain.
        announce: called with a line when a stage is done.

    Raises:
        ValueError: settings that do not fit each other, a folder that holds a posterior (without `resume` or
            `overwrite`) or another one than this (with `resume`).
        ImportError: NUTS without the package blackjax.
        FloatingPointError: start values without a finite loss and Jacobian.
    """
    method = Laplace() if method is None else method
    if isinstance(method, NUTS):
        blackjax_module("")
    place = None if folder is None else _open_folder(Path(folder), resume, overwrite)
    weight = 1.0 if likelihood is None else likelihood.prior_weight
    with Problem(model, free_parameters, targets, MeanSquare(), checkpointing, n_threads, weight) as problem:
        free = problem.free_parameters
        parts = _fingerprint(problem, method, likelihood, n_iterations)
        mode_path = None if place is None else place / MODE_NAME
        known = _read_mode(mode_path, parts, free) if mode_path is not None and mode_path.exists() else None
        evaluator = NormalEquationsEvaluator(problem)
        if known is not None:
            believed, mode = known
        else:
            x = free.start() if start is None else jnp.asarray(start)
            believed, mode = _find(problem, evaluator, x, likelihood, n_iterations, announce)
            if mode_path is not None:
                write_tree(
                    mode_path,
                    {"likelihood": dataclasses.astuple(believed), "fingerprint": parts},
                    mode,
                )
        problem.prior_weight = believed.prior_weight
        evaluation = evaluator(jnp.asarray(mode))
        if place is not None and overwrite:
            (place / POSTERIOR_NAME).unlink(missing_ok=True)
        if announce is not None:
            announce(_about_mode(believed, evaluation))
        information = fisher_information(evaluation, believed.prior_weight)
        covariance = covariance_of(information)
        common = {
            "closure": type(model.closure).__name__,
            "free_parameters": free,
            "units": free.units,
            "likelihood": believed,
            "mode": mode,
            "information": information,
        }
        if isinstance(method, Laplace):
            return _normal(method, common, covariance)
        chains = _sample(method, problem, evaluator, mode, covariance, place, parts, report)
        return _sampled(common, chains)


def _about_mode(likelihood: Likelihood, evaluation: Evaluation) -> str:
    return (
        f"most probable vector: loss {evaluation.fit.loss:.5g} with priors; noise {likelihood.noise:.4g}, "
        f"worth {likelihood.n_observations:.4g} independent observations"
    )


def _open_folder(folder: Path, resume: bool, overwrite: bool) -> Path:
    if resume and overwrite:
        raise ValueError("posterior: expected either resume or overwrite, got both.")
    held = [path for path in folder.glob("posterior_chain_*.eqx")]
    held += [path for path in (folder / MODE_NAME, folder / POSTERIOR_NAME) if path.exists()]
    if held and not resume and not overwrite:
        names = ", ".join(sorted(path.name for path in held))
        raise ValueError(
            f"{folder}: expected a folder without a posterior, got {names}; resume it, overwrite it, or "
            "choose another folder."
        )
    # The result of before stays until there is something in its place.
    for path in held:
        if overwrite and path.name != POSTERIOR_NAME:
            path.unlink(missing_ok=True)
    return folder


def _fingerprint(
    problem: Problem, method: Laplace | NUTS, likelihood: Likelihood | None, n_iterations: int
) -> dict[str, str]:
    """More draws of the same chains are no other posterior."""
    settings = dataclasses.replace(method, n_draws=4) if isinstance(method, NUTS) else method
    parts = fingerprint(problem, settings)
    del parts["prior weight"]
    return parts | {"likelihood": repr(likelihood), "iterations to the mode": str(n_iterations)}


def _find(
    problem: Problem,
    evaluator: NormalEquationsEvaluator,
    x: UnconstrainedVector,
    likelihood: Likelihood | None,
    n_iterations: int,
    announce: Callable[[str], None] | None,
) -> tuple[Likelihood, np.ndarray]:
    """Likelihood and most probable vector; an estimate of the one needs the other."""
    believed = estimate_likelihood(problem, x) if likelihood is None else likelihood
    mode = np.asarray(x)
    for last in (False, True) if likelihood is None else (True,):
        problem.prior_weight = believed.prior_weight
        mode, evaluation = find_mode(evaluator, jnp.asarray(mode), n_iterations)
        if not last:
            if announce is not None:
                announce(f"first fit: loss {evaluation.fit.loss:.5g} with priors")
            believed = estimate_likelihood(problem, jnp.asarray(mode))
    return believed, mode


def _read_mode(path: Path, parts: dict[str, str], free: ResolvedParameters) -> tuple[Likelihood, np.ndarray]:
    believed: list[Likelihood] = []

    def like(header: dict):
        believed.append(Likelihood(*header["likelihood"]))
        return np.asarray(free.start())

    mode = read_tree(path, parts, like, "file of a posterior")
    return believed[0], mode


def _sample(
    method: NUTS,
    problem: Problem,
    evaluator: NormalEquationsEvaluator,
    mode: np.ndarray,
    covariance: np.ndarray,
    folder: Path | None,
    parts: dict[str, str],
    report: ChainReport | None,
) -> Chains:
    log_density, arguments, identity = log_posterior(problem)
    starts = [_start(method, chain, problem, evaluator, mode, covariance) for chain in range(method.n_chains)]
    return sample_chains(
        method,
        log_density,
        arguments,
        starts,
        identity=identity,
        folder=folder,
        parts=parts,
        n_threads=problem.n_threads,
        report=report,
    )


def _start(
    method: NUTS,
    chain: int,
    problem: Problem,
    evaluator: NormalEquationsEvaluator,
    mode: np.ndarray,
    covariance: np.ndarray,
) -> ChainState:
    """A chain that starts from a draw of the normal approximation, nearer to the mode if that breaks down."""
    normal = np.random.default_rng((method.seed, chain)).standard_normal(mode.size)
    away = np.linalg.cholesky(covariance) @ normal
    for halvings in range(_TRIES):
        x = mode + 0.5**halvings * away
        evaluation = evaluator(jnp.asarray(x))
        if evaluation.is_finite:
            break
    else:
        x, evaluation = mode, evaluator(jnp.asarray(mode))
    weight = problem.prior_weight
    return start_chain(
        method, chain, x, -evaluation.fit.loss / weight, -evaluation.gradient / weight, covariance
    )


def _normal(method: Laplace, common: dict[str, Any], covariance: np.ndarray) -> Posterior:
    mode = common["mode"]
    draws = draw_normal(method, mode, covariance)[None]
    away = draws[0] - mode
    log_density = -0.5 * np.einsum("ij,ij->i", away, np.linalg.solve(covariance, away.T).T)[None]
    none = np.zeros(log_density.shape, bool)
    return Posterior(
        **common,
        method="laplace",
        mean=mode,
        covariance=covariance,
        draws=draws,
        log_density=log_density,
        is_divergent=none,
    )


def _sampled(common: dict[str, Any], chains: Chains) -> Posterior:
    draws = chains.draws
    flat = draws.position.reshape(-1, draws.position.shape[-1])
    sizes, r_hat = mixing(draws.position)
    sampling = Sampling(
        sizes,
        r_hat,
        int(draws.is_divergent.sum()),
        chains.n_divergent_in_warmup,
        int(draws.n_steps.sum()) + chains.n_steps_in_warmup,
        float(draws.acceptance.mean()),
        chains.step_sizes,
    )
    return Posterior(
        **common,
        method="nuts",
        mean=flat.mean(axis=0),
        covariance=np.atleast_2d(np.cov(flat, rowvar=False)),
        draws=draws.position,
        log_density=draws.log_density,
        is_divergent=draws.is_divergent,
        sampling=sampling,
    )


def mixing(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Effective sample size and split R-hat of each parameter.

    Args:
        draws: `(n_chains, n_draws, n_parameters)`.
    """
    diagnostics = blackjax_module("diagnostics")
    half = draws.shape[1] // 2
    halves = np.concatenate([draws[:, :half], draws[:, -half:]])
    # A chain alone has two halves to compare; types mix in blackjax.
    with jax.numpy_dtype_promotion("standard"):
        sizes = diagnostics.effective_sample_size(jnp.asarray(halves))
        r_hat = diagnostics.potential_scale_reduction(jnp.asarray(halves))
    return np.asarray(sizes, float), np.asarray(r_hat, float)


_FARTHEST = 3.0
"""From the median: where a bounded parameter feels the observations next to nothing."""


def start_from(free: ResolvedParameters, values: Mapping[str, float]) -> UnconstrainedVector:
    """The unconstrained vector of values that a calibration left, away from the bounds.

    Args:
        free: those without a value start where they would.
        values: by path.
    """
    given, on_bound, has_bounds = {}, {}, np.zeros(len(free.numbers), bool)
    for i, parameter in enumerate(free.numbers):
        prior = parameter.distribution
        value = float(values.get(parameter.path, parameter.start))
        has_bounds[i] = math.isfinite(prior.lower) and math.isfinite(prior.upper)
        if value in (prior.lower, prior.upper):
            on_bound[i] = -_FARTHEST if value == prior.lower else _FARTHEST
        inside = prior.lower < value < prior.upper
        given[parameter.path] = value if inside else parameter.start
    x = np.asarray(free.to_unconstrained(given)).copy()
    for i, far in on_bound.items():
        x[i] = far
    return jnp.asarray(np.where(has_bounds, np.clip(x, -_FARTHEST, _FARTHEST), x))


def find_mode(
    evaluator: NormalEquationsEvaluator,
    start: UnconstrainedVector,
    n_iterations: int,
    report: Callable[[int, float], None] | None = None,
) -> tuple[np.ndarray, Evaluation]:
    """The lowest loss found, and its evaluation with the Gauss-Newton matrix.

    Args:
        evaluator: of a problem with a prior weight.
        start: unconstrained vector to start from.
        n_iterations: runs, each with a Jacobian where it lowers the loss.
        report: called with number and loss of each.

    Raises:
        FloatingPointError: a loss or derivatives that are not finite at the start.
    """
    method = LevenbergMarquardt()
    state, best = method.init(jnp.asarray(start)), None
    for iteration in range(n_iterations):
        evaluation = evaluator(*method.ask(state))
        if iteration == 0 and not evaluation.is_finite:
            raise FloatingPointError(
                "posterior: expected a finite loss and Jacobian at the start values, got others; choose "
                "other start values or a shorter time step."
            )
        if report is not None:
            report(iteration, evaluation.fit.loss)
        if evaluation.matrix.size and evaluation.is_finite:
            lowest = math.inf if best is None else best[1].fit.loss
            if evaluation.fit.loss < lowest:
                best = np.asarray(state.trial), evaluation
        state = method.tell(state, evaluation)
        if bool(state.finished):
            break
    assert best is not None  # the first evaluation was good
    return best
