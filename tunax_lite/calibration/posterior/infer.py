"""Infer the posterior of the parameters, summarise it, and run a model with its draws.

L is the loss with the mean square as score. All observations together are assumed to be worth n independent
ones with normal errors of standard deviation `noise` in units of the scale, including errors of the model:

    -ln p(x | observations) = n/2 L(x)/noise² + |x|²/2 + const

Times w = 2 noise²/n, this is the loss with a prior of weight w. Near its minimum the density is approximately
normal. With the Gauss-Newton matrix A of L, F = A / w is the Fisher information of the observations divided
by that of the prior, and the covariance is (F + I)⁻¹: along an eigenvector of F with eigenvalue f, the
variance falls from 1 to 1 / (1 + f).

A posterior is a dataset, the content of `posterior.nc`: parameters are variables along `chain` and `draw`.
"""

import dataclasses
import functools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from ..._types import precision_of
from ...column.case import Case
from ...column.checkpointing import SaveEverything
from ...column.diagnostics import diagnose
from ...column.integrate import simulate
from ...column.model import Model
from ...declarations import check_settings, named, setting
from ...io.dataset import described, titled, to_dataset, variable_name
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
from ..problem import NormalEquationsEvaluator, Problem
from ..results import check_folder, fingerprint, write_values
from ..target import MeanSquare, Target, misfit, residuals
from .samplers import (
    NUTS,
    LogDensity,
    Report,
    TemperedSMC,
    mixing,
    optional_module,
    sample_chains,
    temper,
)

if TYPE_CHECKING:
    import xarray as xr


@dataclasses.dataclass(frozen=True)
class Likelihood:
    """Assumed normal errors of observations and model together.

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
        """Weight of the priors with which the minimum of the loss is the mode of the posterior."""
        return 2.0 * self.noise**2 / self.n_observations


@named("laplace")
@dataclasses.dataclass(frozen=True)
class Laplace:
    """Laplace approximation: a normal distribution at the most probable vector.

    Args:
        n_draws: number of draws, for quantities that are nonlinear in the unconstrained vector.
        seed: seed of the random numbers.
    """

    n_draws: int = setting(4000, at_least=2)
    seed: int = setting(0, at_least=0)

    def __post_init__(self):
        check_settings(self)


def laplace_moments(matrix: np.ndarray, prior_weight: float) -> tuple[np.ndarray, np.ndarray]:
    """Return F and the covariance (F + I)⁻¹ from the matrix A + w I of the loss with priors of weight w."""
    total = 0.5 * (matrix + matrix.T) / prior_weight
    inverse, identity = np.linalg.inv(total), np.eye(len(total))
    return total - identity, 0.5 * (inverse + inverse.T)


def estimate_likelihood(problem: Problem, x: UnconstrainedVector) -> Likelihood:
    """Estimate noise and number of observations from the residuals at x, ideally the best fit.

    The noise is the root of the mean square of all residuals, including the structural error of the model. As
    for red noise, N residuals of one variable and case are worth

        n = N (1 - a)/(1 + a) (1 - b)/(1 + b)

    independent ones, at least one, where a and b are the correlations of consecutive times and levels. The
    mean error is not subtracted; negative correlations count as 0. Sums of squares q with n degrees
    of freedom each combine to (sum q)²/sum (q²/n) degrees (Satterthwaite).

    Raises `ValueError` for residuals that are all zero or not finite.

    Source: Bartlett (1935), J. R. Stat. Soc. 98, 536-543; Satterthwaite (1946), Biometrics Bull. 2, 110-114.
    """
    run = jax.jit(residuals)
    squares, freedoms = [], []
    for index, (weight, comparison) in enumerate(zip(problem.weights, problem.comparisons, strict=True)):
        if weight == 0.0:
            continue
        by_variable, _ = run(*problem.calibrated(jnp.asarray(x), index))
        for name, values in by_variable.items():
            values, selected = np.asarray(values, float), np.asarray(comparison.variables[name].shares) > 0.0
            squares.append(float(weight) * float(np.sum(values**2)))
            freedoms.append(effective_number(values, selected))
    total = sum(squares)
    if not (math.isfinite(total) and total > 0.0):
        raise ValueError(
            f"estimate_likelihood: expected finite residuals that are not all zero, got a mean square of "
            f"{total:g}; give noise and n_observations."
        )
    number = total**2 / sum(q**2 / n for q, n in zip(squares, freedoms, strict=True))
    return Likelihood(math.sqrt(total), float(number))


def effective_number(values: np.ndarray, selected: np.ndarray) -> float:
    """Number of independent values, at least 1, among selected ones `(n_times, n_levels)` of red noise."""
    # Drop frames and levels without selected values, so that the next one is the next selected one.
    some = np.ix_(selected.any(axis=1), selected.any(axis=0))
    values, selected = values[some], selected[some]
    number = float(selected.sum())
    for axis in range(values.ndim):
        correlation = _lag_one(values, selected, axis)
        number *= (1.0 - correlation) / (1.0 + correlation)
    return max(1.0, number)


def _lag_one(values: np.ndarray, selected: np.ndarray, axis: int) -> float:
    """Correlation with the next value along an axis, without subtracting the mean; 0 if it is negative."""
    values, selected = np.moveaxis(values, axis, 0), np.moveaxis(selected, axis, 0)
    both = selected[1:] & selected[:-1]
    first, second = values[:-1][both], values[1:][both]
    size = math.sqrt(float(first @ first) * float(second @ second))
    return max(0.0, float(first @ second) / size) if size > 0.0 else 0.0


def log_likelihood(problem: Problem) -> tuple[LogDensity, PyTree]:
    """Return the log likelihood up to a constant, a function of x and more arguments, and these arguments.

    It is -L/w with the prior weight w of the problem. Cases of equal shapes and free parameters are stacked
    and computed one after another, not as a batch, so that XLA compiles each time loop to one kernel.
    """
    # For each group of such cases: its table of parameters, and weight, places in x and comparison of each.
    shared: Shared[tuple[ParameterTable, list]] = Shared()
    for weight, free, comparison in zip(problem.weights, problem.in_cases, problem.comparisons, strict=True):
        if weight > 0.0:
            case = jnp.asarray(weight), jnp.asarray(free.places), comparison
            _, cases = shared.get(lambda free=free: (free, []), comparison, free)
            cases.append(case)
    tables = [free for free, _ in shared.all]
    groups = [jax.tree.map(lambda *leaves: jnp.stack(leaves), *cases) for _, cases in shared.all]

    def score_of(x: UnconstrainedVector, free: ParameterTable, model: Model, case: tuple):
        weight, places, comparison = case
        calibrated = free.to_pytree(model, x[places]), free.to_pytree(comparison, x[places])
        return weight * misfit(*calibrated, problem.score, problem.checkpointing)[0]

    def likelihood(x, model, prior_weight, groups):
        scores = (
            jnp.sum(jax.lax.map(functools.partial(score_of, x, free, model), group))
            for free, group in zip(tables, groups, strict=True)
        )
        return -sum(scores) / prior_weight

    return likelihood, (problem.model, jnp.asarray(problem.prior_weight), groups)


POSTERIOR_NAME = "posterior.nc"
_EACH_DRAW, _MATRIX = ("chain", "draw"), ("parameter", "parameter_2")
"""Dimensions of the draws of a parameter, and of a matrix."""
_NINETY_PERCENT = -1.6448536269514722, 1.6448536269514722
"""Ends of the middle 90 % of a standard normal distribution."""


def check_packages(method: Laplace | NUTS | TemperedSMC) -> None:
    """Raise `ImportError` with the command to install it if a method lacks an optional package."""
    needed = {NUTS: ("blackjax", "arviz_stats.base"), TemperedSMC: ("blackjax",)}
    for name in needed.get(type(method), ()):
        optional_module(name)


@failures_as_values()
def infer(
    model: Model,
    free_parameters: FreeParameters | ParameterTable,
    targets: Sequence[Target],
    method: Laplace | NUTS | TemperedSMC | None = None,
    *,
    likelihood: Likelihood | None = None,
    start: UnconstrainedVector | None = None,
    n_iterations: int = 30,
    folder: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    engine: AbstractEngine | None = None,
    report: Report = lambda fraction, state: None,
    announce: Callable[[str], None] = lambda line: None,
) -> "xr.Dataset":
    """Infer the distribution of the free parameters given the observations of one or more cases.

    Args:
        model, free_parameters, targets: as in `calibrate`.
        method: `Laplace()` by default.
        likelihood: assumed errors; by default estimated from the residuals of the best fit.
        start: unconstrained vector from which to search for the mode; by default the first guess.
        n_iterations: largest number of evaluations of that search, which is repeated if the likelihood is
            estimated.
        folder: for the chains of NUTS. Nothing else is saved: the caller writes the returned dataset.
        resume: continue the chains in the folder, with bit-identical draws; other methods start again.
        overwrite: start anew in a folder that holds chains or a posterior.
        engine: computes cases, then chains or particles; by default this process, two at a time. Results do
            not depend on it.
        report: called with the completed fraction of a stage, and a short description of its state.
        announce: called with a line of text after each search for the mode.

    Returns:
        Draws of each parameter in its unit, named by its path with underscores, with the most probable value
        and the ends of the middle 90 % of the prior as attributes. In unconstrained numbers, whose prior is
        the standard normal distribution: draws `x`, `mode`, `mean`, `covariance` and Fisher `information`;
        for NUTS also `effective_size` and `r_hat`. `shift` and `spread`: mean and standard deviation of each
        parameter in standard deviations of its prior, whose correlations are taken into account.

    Raises:
        ValueError: inconsistent settings, padded targets with NUTS or SMC, a folder that holds a posterior
            (without `resume` or `overwrite`) or a different one (with `resume`), or residuals at the start
            from which no likelihood can be estimated.
        ImportError: NUTS or SMC without their optional packages.
        FloatingPointError: the start has no finite loss and Jacobian.
    """
    method = Laplace() if method is None else method
    check_packages(method)
    if not isinstance(method, Laplace) and any(each.padded is not None for each in targets):
        raise ValueError("NUTS and SMC need unpadded cases; leave misfit.padded out.")
    folder = None if folder is None else Path(folder)
    if folder is not None:
        chains = sorted(folder.glob("posterior_chain_*.eqx"))
        held = [path.name for path in (*chains, folder / POSTERIOR_NAME) if path.exists()]
        check_folder("posterior", folder, held, resume, overwrite)
        # The old posterior.nc stays until the caller replaces it.
        for path in chains if overwrite else ():
            path.unlink()
    engine = ThisProcess(2) if engine is None else engine
    problem = Problem(model, free_parameters, targets, MeanSquare())
    evaluator, free = NormalEquationsEvaluator(problem, engine), problem.free_parameters
    # A fixed n_draws, so that chains can be continued to more draws.
    parts = fingerprint(problem, dataclasses.replace(method, n_draws=4))
    del parts["prior weight"]  # follows from the likelihood
    parts |= {"likelihood": repr(likelihood), "iterations to the mode": str(n_iterations)}

    def shown(iteration: Iteration) -> None:
        report((iteration.number + 1) / n_iterations, f"loss {iteration.loss:.5g}")

    x = free.start() if start is None else jnp.asarray(start)
    assumed = likelihood or estimate_likelihood(problem, x)
    n_searches = 1 if likelihood else 2  # the second with the likelihood estimated from the best fit
    for number in range(n_searches):
        if number > 0:
            assumed = estimate_likelihood(problem, x)
        problem = problem.with_weights(prior_weight=assumed.prior_weight)
        options = {"start": x, "max_non_finite": n_iterations, "report": shown}
        result = solve(problem, LevenbergMarquardt(), n_iterations, evaluator.for_problem(problem), **options)
        announce(
            f"loss {result.best_loss:.5g} with priors; noise {assumed.noise:.4g}, worth "
            f"{assumed.n_observations:.4g} independent observations"
        )
        x = jnp.asarray(result.history.x[result.history.best_iteration])
    mode = np.asarray(x)
    information, covariance = laplace_moments(evaluator.for_problem(problem)(x).matrix, problem.prior_weight)
    make, of_chains = functools.partial(log_likelihood, problem), {}
    if isinstance(method, Laplace):
        about, random = {"method": "laplace"}, np.random.default_rng(method.seed)
        draws = random.multivariate_normal(mode, covariance, method.n_draws, method="cholesky")[None]
    elif isinstance(method, TemperedSMC):
        particles, n_exponents = temper(method, make, mode.size, engine, report)
        about, draws = {"method": "smc", "n_exponents": n_exponents}, particles[None]
    else:
        options = {"engine": engine, "folder": folder, "parts": parts, "report": report}
        draws, is_divergent = sample_chains(method, make, mode, covariance, **options)
        about, (sizes, r_hat) = {"method": "nuts", "n_divergent": int(is_divergent.sum())}, mixing(draws)
        of_chains = {
            "effective_size": described("parameter", sizes, "effective sample size"),
            "r_hat": described("parameter", r_hat, "rank-normalised split R-hat"),
        }
    mean = mode
    if not isinstance(method, Laplace):  # from the draws, instead of those of the approximation
        flat = draws.reshape(-1, mode.size)
        mean, covariance = flat.mean(axis=0), np.atleast_2d(np.cov(flat, rowvar=False))
    root = free.root_of_correlation()
    spread = np.sqrt(np.diag(root @ covariance @ root.T))
    data = {
        "x": described((*_EACH_DRAW, "parameter"), draws, "unconstrained numbers"),
        "mode": described("parameter", mode, "most probable unconstrained numbers"),
        "mean": described("parameter", mean, "mean of the unconstrained numbers"),
        "covariance": described(_MATRIX, covariance, "covariance of the unconstrained numbers"),
        "shift": described("parameter", root @ mean, "mean minus prior median [prior standard deviation]"),
        "spread": described("parameter", spread, "standard deviation over that of the prior"),
        "information": described(
            _MATRIX, information, "Fisher information of the observations over that of the prior"
        ),
    }
    base = Base.of(model.closure, free.paths)
    about |= {**dataclasses.asdict(assumed), "base": json.dumps(base.content)}
    return _dataset(free, base.closure, data | of_chains, about)


def _dataset(
    free: ParameterTable, closure: str, data: dict[str, tuple], about: Mapping[str, object]
) -> "xr.Dataset":
    """Add the draws of the parameters in their units to `data`, which is in unconstrained numbers."""
    import xarray as xr  # slow import

    draws, mode = data["x"][1], data["mode"][1]
    physical = np.asarray(jax.vmap(free.to_physical)(draws.reshape(-1, draws.shape[-1]))).reshape(draws.shape)
    best = np.asarray(free.to_physical(mode)).tolist()
    for place, number in enumerate(free.numbers):
        path, prior, values = number.path, number.prior, physical[..., place]
        low, high = np.asarray(prior.to_physical(jnp.asarray(_NINETY_PERCENT)), float).tolist()
        more: dict[str, object] = {"path": path, "most_probable": best[place], "prior": repr(prior)}
        more |= {"prior_5_percent": low, "prior_95_percent": high}
        data[variable_name(path)] = described(_EACH_DRAW, values, f"parameter {path}", number.unit, **more)
    names = np.array(free.paths, dtype=object)
    coords = {name: (name, names, {"long_name": "path of the parameter"}) for name in _MATRIX}
    return xr.Dataset(data, coords, {**titled("Posterior", closure), **about})


def draws_of(posterior: "xr.Dataset") -> dict[str, "xr.DataArray"]:
    """Return the variables along `chain` and `draw` by their attribute `path`, or else by their name."""
    drawn = (draws for draws in posterior.data_vars.values() if draws.dims == _EACH_DRAW)
    return {str(draws.attrs.get("path", draws.name)): draws for draws in drawn}


def intervals(posterior: "xr.Dataset", level: float = 0.9) -> dict[str, tuple[float, float]]:
    """Credible intervals by path, with equal probabilities on both sides, in the unit of the parameter.

    The level is their probability; above 1 it raises `ValueError`.
    """
    ends = 0.5 - 0.5 * level, 0.5 + 0.5 * level
    return {path: tuple(np.quantile(values, ends).tolist()) for path, values in draws_of(posterior).items()}


_SAME_SPREAD, _SAME_MEAN = 0.9, 0.5
"""Smallest spread and largest mean that count as those of the prior, in its standard deviations."""


def paths_as_in_prior(posterior: "xr.Dataset") -> list[str]:
    """Paths of the parameters whose mean and spread hardly differ from those of their prior."""
    is_wide, is_near = posterior["spread"] > _SAME_SPREAD, np.abs(posterior["shift"]) < _SAME_MEAN
    same = (is_wide & is_near).values
    return [str(path) for path in posterior["parameter"].values[same]]


def write_summary(
    path: str | Path, posterior: "xr.Dataset", level: float, attributes: Mapping[str, str] | None = None
) -> None:
    """Write most probable values and credible intervals as YAML; attributes record the origin."""
    drawn = draws_of(posterior)
    parameters = {
        name: {"value": drawn[name].most_probable, "unit": drawn[name].units, "interval": list(interval)}
        for name, interval in intervals(posterior, level).items()
    }
    base = Base.read(posterior.closure, json.loads(posterior.base), parameters)
    section = {"method": posterior.method, "level": level}
    write_values(path, base, parameters, {"posterior": section}, attributes)


_FARTHEST = 3.0
"""Largest unconstrained distance of a start from the median; a bounded parameter hardly changes beyond."""


def start_from(free: ParameterTable, values: Mapping[str, float]) -> UnconstrainedVector:
    """Return the unconstrained vector of values by path; the first guess replaces missing ones.

    Values are moved to at most three standard deviations of the prior from its median.
    """
    near = {}
    for number in free.numbers:
        ends = number.prior.to_physical(jnp.asarray([-_FARTHEST, _FARTHEST]))
        near[number.path] = float(np.clip(values.get(number.path, number.start), *ends))
    return free.to_unconstrained(near)


_QUANTILES = 0.05, 0.25, 0.5, 0.75, 0.95
_SCALARS = "sea_surface_temperature", "mixed_layer_depth", "potential_energy_anomaly"


@names_its_file("a file of a posterior")
def members_of_file(path: str | Path, model: Model, n: int) -> Model:
    """Return the model with `n` draws from a file as members along a trailing axis of its parameters.

    The draws are evenly spaced over all chains. The file is `posterior.nc`, or any NetCDF file with variables
    along `chain` and `draw` whose name or attribute `path` is the path of a parameter of the closure.

    Raises:
        ValueError: no such variables, parameters of cases, draws for a closure with other options or
            constants, or `n` that is not between 2 and the number of draws.
    """
    import xarray as xr  # slow import

    closure, kind = model.closure, type(model.closure).__name__
    with xr.open_dataset(path) as dataset:
        drawn, known = draws_of(dataset), numbers_of(closure)
        others = [key for key, draws in drawn.items() if "path" in draws.attrs and key not in known]
        numbers = {key: np.asarray(draws, float).ravel() for key, draws in drawn.items() if key in known}
        if others or not numbers:
            raise ValueError(
                f"{path}: expected variables along chain and draw that are parameters of {kind}, got "
                f"{', '.join(others or drawn) or 'none'}; give the posterior.nc of `tunax-lite posterior` "
                "for this closure."
            )
        if "base" in dataset.attrs:
            Base.read(kind, json.loads(dataset.attrs["base"]), numbers).check(closure, numbers, str(path))
    size = next(iter(numbers.values())).size
    if not 2 <= n <= size:
        raise ValueError(f"draws: expected a number from 2 to {size}, got {n}; choose another one.")
    places = np.linspace(0, size - 1, n).round().astype(int)
    values = np.array([each[places] for each in numbers.values()], precision_of(module=closure))
    return dataclasses.replace(model, closure=replace_numbers(closure, list(numbers), values))


@failures_as_values()
def bands_of_members(
    ensemble: Model,
    case: Case,
    n_members: int,
    *,
    dt: float,
    duration: float,
    output_interval: float,
) -> "xr.Dataset":
    """Return quantiles over the members of an ensemble of runs of a single column.

    They show the uncertainty of the parameters alone, without the noise of observations and the error of the
    model. Runs whose temperature is not finite are ignored, and counted in the attribute `n_failed`.

    Args:
        ensemble: model with members along a trailing axis of its parameters.
        case: single column.
        n_members: number of members.
        dt, duration, output_interval: as in `simulate` [s].

    Raises:
        FloatingPointError: fewer than two finite runs.
    """
    name, case = case.name, dataclasses.replace(case, name="case")  # the name is part of the compiled program
    run = simulate(
        ensemble,
        case,
        dt=dt,
        duration=duration,
        output_interval=output_interval,
        checkpointing=SaveEverything(),
    )
    scalars = diagnose(run, case, _SCALARS)
    runs = to_dataset(run, case=case, diagnostics=scalars, dims=["member"], dates=False)
    good = np.isfinite(np.asarray(run.state.temperature)).all(axis=(0, 1))
    if good.sum() < 2:
        raise FloatingPointError(
            f"{name}: expected two runs or more that stay finite, got {good.sum()} of {n_members}; "
            "choose a shorter time step or narrower priors."
        )
    runs = runs[["temperature", *_SCALARS]].isel(member=good).astype(float)
    bands = runs.quantile(_QUANTILES, "member", skipna=False, keep_attrs=True)
    about = {"title": f"Bands of {name}", "case": name, "n_draws": n_members, "n_failed": int((~good).sum())}
    dated = {} if case.start_time is None else {"start_time": case.start_time}
    return bands.drop_attrs(deep=False).assign_attrs(about | dated)
