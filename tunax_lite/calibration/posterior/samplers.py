"""NUTS on parallel chains that are saved, and tempered sequential Monte Carlo, both of blackjax.

The posterior density is that of a standard normal prior times the likelihood, which is 0 for a failed run.

NUTS: the inverse mass matrix is initially the covariance of the Laplace approximation, so that trajectories
have the right directions and scales. Each window of the warm-up combines the covariance of its draws with the
previous matrix, which counts as n + 10 draws for n parameters. A trajectory that becomes non-finite, or whose
energy error exceeds 1000, ends there and counts as divergent; earlier states on it may still be drawn.

SMC: particles start as draws from the prior. The likelihood is raised to an exponent that increases from 0 to
1, each time so far that the effective number of particles falls to half. They are resampled, then moved by a
random walk whose steps have 2.38²/n times their covariance in n dimensions.
"""

import dataclasses
import functools
import math
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from ..._types import warn_of_input
from ...declarations import check_settings, named, setting
from ...runtime import compile_program
from ...runtime.compilation import Program, Shared
from ...runtime.engine import AbstractEngine, Check
from ...runtime.machine import needed
from ..results import read_tree, write_tree

LogDensity = Callable[..., Float[Array, ""]]
"""Function of an unconstrained vector and, before these are bound, of further arguments."""
MakeLikelihood = Callable[[], tuple[LogDensity, PyTree]]
"""Returns the log likelihood and its further arguments; must be picklable."""
Report = Callable[[float, str], None]
"""Called with the completed fraction of the work, and a short description of its state."""
_IMPOSSIBLE = -1e20
"""Log likelihood of a failed run; finite, because SMC multiplies it with an exponent of zero."""
_FEWEST_DIFFERENT = 0.5
"""Fraction of distinct particles below which a note is printed; nearly all differ if steps are accepted."""
_FIRST_STEP = 0.5
"""Initial step size; below 2 it is stable for a normal density with the inverse mass matrix as covariance."""
_DOUBLINGS = 6
"""Most doublings of a trajectory, which has up to 64 steps; each step needs the gradient of all cases."""
_DRAWS_PER_FILE = 10
"""Draws between two updates of the file of a chain."""


@named("nuts")
@dataclasses.dataclass(frozen=True)
class NUTS:
    """The No-U-Turn Sampler: Hamiltonian trajectories that end where they turn back.

    Args:
        n_draws: draws of each chain after the warm-up.
        n_warmup: draws during which step size and mass matrix adapt; they are discarded.
        n_chains: number of independent chains, run in parallel on threads or workers.
        seed: seed of all random numbers.
        target_acceptance: mean acceptance probability to which the step size is adapted.
    """

    n_draws: int = setting(500, at_least=4)
    n_warmup: int = setting(200, at_least=150)
    n_chains: int = setting(2, at_least=1, at_most=1024)
    seed: int = setting(0, at_least=0)
    target_acceptance: float = setting(0.8, above=0.0, below=1.0)

    def __post_init__(self):
        check_settings(self)


@named("smc")
@dataclasses.dataclass(frozen=True)
class TemperedSMC:
    """Sequential Monte Carlo from the prior to the posterior, without gradients; finds several modes.

    Args:
        n_draws: number of particles, at least twice the number of parameters.
        n_moves: random steps of each particle at each exponent of the likelihood.
        seed: seed of all random numbers.
    """

    n_draws: int = setting(500, at_least=4)
    n_moves: int = setting(20, at_least=1)
    seed: int = setting(0, at_least=0)

    def __post_init__(self):
        check_settings(self)


def optional_module(name: str) -> Any:  # an untyped module
    """Import a module of blackjax or arviz_stats; `ImportError` with the command to install it."""
    return needed(name, "NUTS or SMC", "or use the method laplace")


def temper(
    method: TemperedSMC, likelihood: MakeLikelihood, n: int, engine: AbstractEngine, report: Report
) -> tuple[np.ndarray, int]:
    """Return particles `(n_draws, n)` of the posterior of `n` parameters, and the number of exponents.

    Raises `ValueError` for too few particles to estimate their covariance. Warns if many particles are equal:
    resampling copies them, and copies whose random steps are all rejected stay equal.
    """
    if method.n_draws < 2 * n:
        raise ValueError(
            f"smc: expected n_draws of at least {2 * n} for {n} parameters, got {method.n_draws}."
        )
    program, random = _Program(method, likelihood), np.random.default_rng(method.seed)
    particles = jnp.asarray(random.standard_normal((method.n_draws, n)))
    weights = jnp.full_like(particles[:, 0], 1.0 / method.n_draws)
    state, exponents = jax.device_get((particles, weights, jnp.zeros_like(weights[0]))), [0.0]
    while True:
        key = jax.random.fold_in(jax.random.PRNGKey(method.seed), len(exponents))
        (state,) = engine.map(program, [(_raise_exponent, np.asarray(key), state)])
        exponents.append(float(state[2]))
        report(exponents[-1], f"exponent {exponents[-1]:.3g} of the likelihood")
        if exponents[-2] == 1.0:  # the particles have moved at an exponent of 1, with equal weights
            break
    particles = np.asarray(state[0], float)
    n_different = len(np.unique(particles, axis=0))
    if n_different < _FEWEST_DIFFERENT * method.n_draws:
        warn_of_input(
            [
                f"smc: only {n_different} of {method.n_draws} particles differ, because most random steps "
                "were rejected; choose more n_moves, or the method nuts"
            ]
        )
    return particles, len(exponents) - 2


def _raise_exponent(method: TemperedSMC, log_likelihood: LogDensity, key: Array, state: tuple) -> tuple:
    """Resample and move the particles, then raise the exponent; the state is particles, weights, exponent."""
    blackjax, (particles, weights, _) = optional_module("blackjax"), state
    walk, covariance = blackjax.mcmc.random_walk, jnp.cov(particles, rowvar=False, aweights=weights)
    covariance = jnp.atleast_2d(covariance)
    step = walk.normal(2.38 / math.sqrt(len(covariance)) * jnp.linalg.cholesky(covariance))
    smc = blackjax.adaptive_tempered_smc(
        _log_prior,
        log_likelihood,
        functools.partial(walk.build_additive_step(), random_step=step),
        walk.init,
        {},
        blackjax.smc.resampling.systematic,
        target_ess=0.5,
        num_mcmc_steps=method.n_moves,
    )
    after, _ = smc.step(key, blackjax.smc.tempered.TemperedSMCState(*state))
    return tuple(after)


class ChainState(NamedTuple):
    """State of a chain after the warm-up or a draw; step size and matrix stay as the warm-up left them."""

    position: np.ndarray
    log_density: np.ndarray
    gradient: np.ndarray
    step_size: np.ndarray
    inverse_mass: np.ndarray


def sample_chains(
    method: NUTS,
    likelihood: MakeLikelihood,
    mode: np.ndarray,
    covariance: np.ndarray,
    *,
    engine: AbstractEngine,
    folder: Path | None = None,
    parts: Mapping[str, str] | None = None,
    report: Report = lambda fraction, state: None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return draws `(n_chains, n_draws, n)`, and which of their trajectories diverged `(n_chains, n_draws)`.

    Chains start from draws of the Laplace approximation with this mode and covariance. Chains in the folder
    are continued; `ValueError` if a file is damaged, or its fingerprint is not `parts`.
    """
    program, parts, total = _Program(method, likelihood), dict(parts or {}), method.n_chains * method.n_draws
    divergent_by_chain, reporting = dict[int, np.ndarray](), threading.Lock()
    root = np.linalg.cholesky(covariance)

    def run(chain: int, check: Check) -> tuple[np.ndarray, np.ndarray]:
        key = np.asarray(jax.random.fold_in(jax.random.PRNGKey(method.seed), chain))
        normal = np.random.default_rng((method.seed, chain)).standard_normal(mode.size)
        start = key, mode, (root @ normal).astype(mode.dtype), covariance.astype(mode.dtype)
        state, draws, is_divergent = _zeros(mode, 0)
        path = None if folder is None else folder / f"posterior_chain_{chain}.eqx"
        if path is not None and path.exists():
            like = lambda header: _zeros(mode, header["n_draws"])  # noqa: E731
            state, draws, is_divergent = read_tree(path, parts, like, "file of a chain")
        while (n_done := len(draws)) < method.n_draws:
            check()
            if not n_done:
                (state,) = engine.map(program, [(_warm_up, *start)])
            keys = jax.vmap(jax.random.fold_in, (None, 0))(key, n_done + jnp.arange(_DRAWS_PER_FILE))
            ((state, *new),) = engine.map(program, [(_draw, np.asarray(keys), state)])
            draws, is_divergent = np.append(draws, new[0], axis=0), np.append(is_divergent, new[1])
            with reporting:  # chains report from their threads
                divergent_by_chain[chain] = is_divergent
                flags = np.concatenate(list(divergent_by_chain.values()))
                report(flags.size / total, f"draw {flags.size} of {total}, {flags.sum()} divergent")
            if path is not None:
                header = {"n_draws": len(draws), "fingerprint": parts}
                write_tree(path, header, (state, draws, is_divergent))
        return draws[: method.n_draws], is_divergent[: method.n_draws]  # files hold multiples of ten

    chains = engine.side_by_side([functools.partial(run, chain) for chain in range(method.n_chains)])
    draws, is_divergent = zip(*chains, strict=True)
    return np.stack(draws), np.stack(is_divergent)


def _zeros(mode: np.ndarray, n_draws: int) -> tuple[ChainState, np.ndarray, np.ndarray]:
    """Contents of the file of a chain with `n_draws` draws, all zero."""
    zero, matrix = np.zeros((), mode.dtype), np.zeros((mode.size, mode.size), mode.dtype)
    state = ChainState(matrix[0], zero, matrix[0], zero, matrix)
    return state, np.zeros((n_draws, mode.size)), np.zeros(n_draws, bool)


def _warm_up(
    method: NUTS, log_likelihood: LogDensity, key: Array, mode: Array, away: Array, covariance: Array
) -> ChainState:
    """State after the warm-up from `mode + away`; `away` is halved until the run does not fail."""
    starts = mode + 0.5 ** jnp.arange(20.0)[:, None] * away
    is_possible = jax.lax.map(log_likelihood, starts) > _IMPOSSIBLE
    blackjax = optional_module("blackjax")
    adaptation = blackjax.window_adaptation(
        blackjax.nuts,
        functools.partial(_log_posterior, log_likelihood),
        is_mass_matrix_diagonal=False,
        initial_inverse_mass_matrix=covariance,
        imm_shrinkage_to_previous=10.0 + mode.size,
        initial_step_size=_FIRST_STEP,
        target_acceptance_rate=method.target_acceptance,
        adaptation_info_fn=lambda state, info, adaptation: None,
        max_num_doublings=_DOUBLINGS,
    )
    (state, settings), _ = adaptation.run(key, starts[jnp.argmax(is_possible)], method.n_warmup)
    return ChainState._make((*state, settings["step_size"], settings["inverse_mass_matrix"]))


def _draw(
    method: NUTS, log_likelihood: LogDensity, keys: Array, before: ChainState
) -> tuple[ChainState, Array, Array]:
    """Make one draw for each key; return the last state, the draws, and which of them diverged."""
    blackjax, settings = optional_module("blackjax"), (before.step_size, before.inverse_mass)
    density = functools.partial(_log_posterior, log_likelihood)
    step = blackjax.nuts(density, *settings, max_num_doublings=_DOUBLINGS).step

    def draw(state, key):
        state, info = step(key, state)
        return state, (state.position, info.is_divergent)

    after, new = jax.lax.scan(draw, blackjax.mcmc.hmc.HMCState(*before[:3]), keys)
    return ChainState._make((*after, *settings)), *new


def _log_prior(x: Array) -> Array:
    return -0.5 * x @ x


def _log_posterior(log_likelihood: LogDensity, x: Array) -> Array:
    return _log_prior(x) + log_likelihood(x)


class _Program:
    """Calls `function(method, log_likelihood, *arrays)`, compiled once per process for equal shapes."""

    def __init__(self, method: NUTS | TemperedSMC, likelihood: MakeLikelihood):
        self._method, self._make = method, likelihood
        self._programs, self._compiling = Shared[Program](), threading.Lock()

    def __reduce__(self):
        return type(self), (self._method, self._make)

    @functools.cached_property
    def _likelihood(self) -> tuple[LogDensity, PyTree]:
        return self._make()

    def __call__(self, item: tuple) -> PyTree:
        function, *arrays = item
        # blackjax mixes types in ways that JAX rejects in strict mode.
        with self._compiling, jax.numpy_dtype_promotion("standard"):
            log_likelihood, arguments = self._likelihood

            def run(arguments: PyTree, *arrays: PyTree) -> PyTree:
                def finite(x):
                    value = log_likelihood(x, *arguments)
                    return jnp.where(jnp.isfinite(value), value, _IMPOSSIBLE)

                return function(self._method, finite, *arrays)

            make = functools.partial(compile_program, run, arguments, *arrays)
            program = self._programs.get(make, arrays, function)
        return jax.device_get(program(arguments, *arrays))


def mixing(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Effective sample sizes and R-hat of the parameters, of draws `(n_chains, n_draws, n_parameters)`."""
    statistics = optional_module("arviz_stats.base").array_stats
    half = draws.shape[1] // 2
    # Halves as chains, so that a single chain has an R-hat; ArviZ halves them again.
    halves = np.concatenate([draws[:, :half], draws[:, -half:]])
    axes = {"chain_axis": 0, "draw_axis": 1}
    return statistics.ess(draws, **axes), statistics.rhat(halves, **axes)
