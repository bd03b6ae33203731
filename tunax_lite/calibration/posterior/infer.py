"""The posterior of the parameters, how it is inferred, its files, and bands of runs.

With the loss L of the mean square as score, all observations together are worth n independent ones with
normal errors, including those of the model, of standard deviation `noise` in units of the scale:

    -ln p(x | observations) = n/2 L(x)/noise² + |x|²/2 + const

This is the loss with a prior of weight w = 2 noise²/n, divided by w. Near its minimum the density is normal.
With the Gauss-Newton matrix A of L, the Fisher information F = A / w of the observations relative to that of
the prior gives the covariance (F + I)⁻¹: along an eigenvector of eigenvalue f, the variance falls from 1 to
1 / (1 + f).

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


def laplace_moments(matrix: np.ndarray, prior_weight: float) -> tuple[np.ndarray, np.ndarray]:
    """F and the covariance of the unconstrained vector from the matrix of the loss with its priors."""
    total = 0.5 * (matrix + matrix.T) / prior_weight
    inverse, identity = np.linalg.inv(total), np.eye(len(total))
    return total - identity, 0.5 * (inverse + inverse.T)


def spectrum_of(information: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of F, the best constrained first, and unit vectors with positive largest components.

    The observations are more informative than the prior in directions with an eigenvalue above 1.
    """
    values, vectors = np.linalg.eigh(information)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    largest = np.abs(vectors).argmax(axis=0)
    return values, vectors * np.sign(vectors[largest, np.arange(len(values))])


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
            values, counts = np.asarray(values, float), np.asarray(comparison.variables[name].shares) > 0.0
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


def log_likelihood(problem: Problem) -> tuple[LogDensity, PyTree]:
    """Log likelihood up to a constant, and its arguments after the vector.

    The prior weight of the problem is that of the likelihood. Cases of equal shapes and free parameters are
    stacked and computed one after another, so that their time loops remain single kernels.
    """
    # Each group has its free parameters, and weights, indices of its numbers in the vector, and comparisons.
    shared: Shared[tuple[ParameterTable, list]] = Shared()
    for weight, free, comparison in zip(problem.weights, problem.in_cases, problem.comparisons, strict=True):
        if weight > 0.0:
            case = jnp.asarray(weight), jnp.asarray(free.places), comparison
            shared.get(lambda free=free: (free, []), comparison, free)[1].append(case)
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
_EACH_DRAW = "chain", "draw"


def check_packages(method: Laplace | NUTS | TemperedSMC) -> None:
    """Raise `ImportError`, which tells what to install, if a method lacks an optional package."""
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
    """The distribution of the parameters of a closure given the observations of one or more cases.

    Args:
        model, free_parameters, targets: as in `calibrate`; the parameters with priors.
        method: `Laplace()` by default.
        likelihood: assumed errors; by default estimated from the residuals of the best fit.
        start: unconstrained vector from which to search for the mode; by default the first guess.
        n_iterations: evaluations of that search, twice as many if the likelihood is estimated.
        folder: for the files of chains; without one nothing is saved.
        resume: continue the chains in the folder, with bit-identical results.
        overwrite: start anew in a folder that holds a posterior.
        engine: computes cases, then chains; by default this process, two at a time. The results are
            identical.
        report: called with the fraction of a stage that is done, and its state in a few words.
        announce: called with a line when a stage is done.

    Returns:
        Draws of each parameter in its unit, by its path with underscores instead of dots, with the most
        probable value and 90 % of the prior as attributes; along `parameter`, draws `x`, mode, mean,
        covariance and Fisher information of the unconstrained numbers, whose prior is the standard normal
        distribution, and of NUTS effective sample sizes and R-hat.

    Raises:
        ValueError: inconsistent settings, a folder that holds a posterior (without `resume` or `overwrite`)
            or a different one (with `resume`).
        ImportError: NUTS or SMC without their optional packages.
        FloatingPointError: the first guess has no finite loss and Jacobian.
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
        # The previous result stays until there is something to replace it.
        for path in chains if overwrite else ():
            path.unlink()
    engine = ThisProcess(2) if engine is None else engine
    problem = Problem(model, free_parameters, targets, MeanSquare())
    evaluator, free = NormalEquationsEvaluator(problem, engine), problem.free_parameters
    # More draws of the same chains still belong to the same posterior.
    parts = fingerprint(problem, dataclasses.replace(method, n_draws=4))
    del parts["prior weight"]
    parts |= {"likelihood": repr(likelihood), "iterations to the mode": str(n_iterations)}

    def shown(iteration: Iteration) -> None:
        report((iteration.number + 1) / n_iterations, f"loss {iteration.loss:.5g}")

    x = free.start() if start is None else jnp.asarray(start)
    assumed = likelihood or estimate_likelihood(problem, x)
    for is_last in (True,) if likelihood else (False, True):  # estimate the noise again from the best fit
        problem = problem.with_weights(prior_weight=assumed.prior_weight)
        options = {"start": x, "max_non_finite": n_iterations, "report": shown}
        result = solve(problem, LevenbergMarquardt(), n_iterations, evaluator.for_problem(problem), **options)
        announce(
            f"loss {result.best_loss:.5g} with priors; noise {assumed.noise:.4g}, worth "
            f"{assumed.n_observations:.4g} independent observations"
        )
        x = jnp.asarray(result.history.x[result.history.best_iteration])
        assumed = assumed if is_last else estimate_likelihood(problem, x)
    mean = mode = np.asarray(x)
    information, covariance = laplace_moments(evaluator.for_problem(problem)(x).matrix, problem.prior_weight)
    make, mixed = functools.partial(log_likelihood, problem), {}
    if isinstance(method, Laplace):
        about, normal = {"method": "laplace"}, np.random.default_rng(method.seed)
        draws = normal.multivariate_normal(mode, covariance, method.n_draws, method="cholesky")[None]
    elif isinstance(method, TemperedSMC):
        particles, n_exponents = temper(method, make, mode.size, engine, report)
        about, draws = {"method": "smc", "n_exponents": n_exponents}, particles[None]
    else:
        options = {"engine": engine, "folder": folder, "parts": parts, "report": report}
        draws, is_divergent = sample_chains(method, make, mode, covariance, **options)
        about, (sizes, r_hat) = {"method": "nuts", "n_divergent": int(is_divergent.sum())}, mixing(draws)
        mixed = {
            "effective_size": described("parameter", sizes, "effective sample size"),
            "r_hat": described("parameter", r_hat, "rank-normalised R-hat of halves of chains"),
        }
    if not isinstance(method, Laplace):
        flat = draws.reshape(-1, mode.size)
        mean, covariance = flat.mean(axis=0), np.atleast_2d(np.cov(flat, rowvar=False))
    across = "parameter", "parameter_2"
    data = {
        "x": described((*_EACH_DRAW, "parameter"), draws, "unconstrained numbers"),
        "mode": described("parameter", mode, "most probable unconstrained numbers"),
        "mean": described("parameter", mean, "mean of the unconstrained numbers"),
        "covariance": described(across, covariance, "covariance of the unconstrained numbers"),
        "information": described(
            across, information, "Fisher information of the observations over that of the prior"
        ),
    }
    base = Base.of(model.closure, free.paths)
    about |= {**dataclasses.asdict(assumed), "base": json.dumps(base.content)}
    return _dataset(free, base.closure, data | mixed, about)


def _dataset(
    free: ParameterTable, closure: str, data: dict[str, tuple], about: Mapping[str, object]
) -> "xr.Dataset":
    """A posterior with the draws of the parameters in their units."""
    import xarray as xr  # takes long

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
    axes = ("parameter", "parameter_2")
    coords = {name: (name, names, {"long_name": "path of the parameter"}) for name in axes}
    return xr.Dataset(data, coords, {**titled("Posterior", closure), **about})


_NINETY_PERCENT = -1.6448536269514722, 1.6448536269514722
"""Ends of the middle 90 % of a standard normal distribution."""


def draws_of(posterior: "xr.Dataset") -> dict[str, "xr.DataArray"]:
    """Draws by path of the parameter, along `chain` and `draw`, also of datasets of other programs."""
    drawn = (one for one in posterior.data_vars.values() if one.dims == _EACH_DRAW)
    return {str(one.attrs.get("path", one.name)): one for one in drawn}


def intervals(posterior: "xr.Dataset", level: float = 0.9) -> dict[str, tuple[float, float]]:
    """Credible intervals by path, with equal probabilities on both sides, in the unit of the parameter.

    Raises `ValueError` for a level above 1.
    """
    ends = 0.5 - 0.5 * level, 0.5 + 0.5 * level
    return {path: tuple(np.quantile(values, ends).tolist()) for path, values in draws_of(posterior).items()}


_SAME_SPREAD, _SAME_MEAN = 0.9, 0.5
"""Smallest spread and largest mean of an unconstrained parameter, in standard deviations of its prior."""


def unconstrained_in(posterior: "xr.Dataset") -> list[str]:
    """Paths of the parameters that have neither another mean nor a smaller spread than in their prior."""
    is_wide = np.diag(posterior["covariance"]) > _SAME_SPREAD**2
    same = is_wide & (np.abs(posterior["mean"].values) < _SAME_MEAN)
    return [str(path) for path in posterior["parameter"].values[same]]


def write_summary(
    path: str | Path, posterior: "xr.Dataset", level: float, attributes: Mapping[str, str] | None = None
) -> None:
    """Write most probable values and credible intervals; attributes record the origin."""
    drawn = draws_of(posterior)
    parameters = {
        name: {"value": drawn[name].most_probable, "unit": drawn[name].units, "interval": list(interval)}
        for name, interval in intervals(posterior, level).items()
    }
    base = Base.read(posterior.closure, json.loads(posterior.base), parameters)
    section = {"method": posterior.method, "level": level}
    write_values(path, base, parameters, {"posterior": section}, attributes)


_FARTHEST = 3.0
"""From the median: where a bounded parameter feels the observations next to nothing."""


def start_from(free: ParameterTable, values: Mapping[str, float]) -> UnconstrainedVector:
    """The unconstrained vector of values by path, at most three deviations of a prior from its median.

    Parameters without a value take their first guess.
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
    """A model in `n` draws of a posterior from a file, evenly spaced over all chains.

    The file is that of `infer`, or any NetCDF file whose variables along `chain` and `draw` are parameters of
    the closure, by name or with their path as attribute `path`. Members lie along a trailing axis. Draws of
    another base than the closure of the model are refused, as by `with_parameters`.

    Raises:
        ValueError: no such variables, parameters of cases, or `n` is not between 2 and the number of draws.
    """
    import xarray as xr  # takes long

    closure, kind = model.closure, type(model.closure).__name__
    with xr.open_dataset(path) as dataset:
        drawn, known = draws_of(dataset), numbers_of(closure)
        others = [key for key, one in drawn.items() if "path" in one.attrs and key not in known]
        numbers = {key: np.asarray(one, float).ravel() for key, one in drawn.items() if key in known}
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
    cases: Case,
    n_members: int,
    variables: Sequence[str] = ("temperature",),
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
        dt, duration, output_interval: as in `simulate` [s].

    Raises:
        ValueError: an unknown variable.
        FloatingPointError: fewer than two finite runs.
    """
    name, cases = cases.name, dataclasses.replace(cases, name="case")  # it is part of the compiled program
    run = simulate(
        ensemble,
        cases,
        dt=dt,
        duration=duration,
        output_interval=output_interval,
        checkpointing=SaveEverything(),
    )
    scalars = diagnose(run, cases, _SCALARS)
    runs = to_dataset(run, case=cases, diagnostics=scalars, dims=["member"], dates=False)
    if not set(variables) <= set(runs):
        raise ValueError(f"bands: expected variables out of {', '.join(map(str, runs))}, got {variables}.")
    good = np.isfinite(np.asarray(run.state.temperature)).all(axis=(0, 1))
    if good.sum() < 2:
        raise FloatingPointError(
            f"{name}: expected two runs or more that stay finite, got {good.sum()} of {n_members}; "
            "choose a shorter time step or narrower priors."
        )
    runs = runs[[*variables, *_SCALARS]].isel(member=good).astype(float)
    bands = runs.quantile(_QUANTILES, "member", skipna=False, keep_attrs=True)
    about = {"title": f"Bands of {name}", "case": name, "n_draws": n_members, "n_failed": int((~good).sum())}
    dated = {} if cases.start_time is None else {"start_time": cases.start_time}
    return bands.drop_attrs(deep=False).assign_attrs(about | dated)
