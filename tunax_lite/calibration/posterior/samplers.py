"""The no-U-turn sampler of blackjax with its window adaptation, on parallel chains that are saved.

The inverse mass matrix is initially the covariance of the Laplace approximation, so that trajectories have
the right directions and scales. Each window of the warm-up combines the covariance of its draws with the
matrix before, which counts as ten draws more than there are parameters.

A trajectory that becomes non-finite, or whose energy error exceeds 1000, ends there and counts as divergent;
earlier states on it remain candidates for the draw.
"""

import dataclasses
import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from ...declarations import check_settings, named, setting
from ...runtime import compile_program
from ...runtime.compilation import Program
from ...runtime.engine import AbstractEngine, Check, ThisProcess
from ...runtime.machine import needed
from ..results import read_tree, write_tree

LogDensity = Callable[..., Float[Array, ""]]
"""Of an unconstrained vector and further arguments, differentiable to the vector."""
Density = Callable[[], tuple[LogDensity, PyTree]]
"""Gives a density and its arguments after the vector, as `log_posterior` does; is pickled."""
Report = Callable[[float, str], None]
"""Called with the fraction that is done, and where that is in a few words."""
_FIRST_STEP = 0.5
"""Of the step size: stable for a normal density, of which the mass matrix knows the covariance, below 2."""
_DOUBLINGS = 6
"""Of a trajectory at most, which then has 64 steps: each takes the gradient of all cases."""
_DRAWS_PER_FILE = 10
"""Draws between two versions of the file of a chain, which are one piece of work."""


@named("nuts")
@dataclasses.dataclass(frozen=True)
class NUTS:
    """The No-U-Turn Sampler: Hamiltonian trajectories that end where they turn back.

    Args:
        n_draws: draws of each chain after the warm-up.
        n_warmup: draws during which step size and mass matrix adapt; they are discarded.
        n_chains: number of independent chains, run in parallel on threads or workers.
        seed: of all random numbers.
        target_acceptance: mean acceptance probability to which the step size is adapted.
    """

    n_draws: int = setting(500, at_least=4)
    n_warmup: int = setting(200, at_least=150)
    n_chains: int = setting(2, at_least=1, at_most=1024)
    seed: int = setting(0, at_least=0)
    target_acceptance: float = setting(0.8, above=0.0, below=1.0)

    def __post_init__(self):
        check_settings(self)


class ChainState(NamedTuple):
    """State of a chain after the warm-up or a draw; the last two are constant after the warm-up."""

    position: np.ndarray
    log_density: np.ndarray
    gradient: np.ndarray
    step_size: np.ndarray
    inverse_mass: np.ndarray


class Draws(NamedTuple):
    """Draws, and whether their trajectory diverged, `(n_draws,)` or `(n_chains, n_draws)` in front."""

    position: np.ndarray
    is_divergent: np.ndarray


class Start(NamedTuple):
    """Start of the warm-up of a chain: random key, unconstrained vector, and inverse mass matrix."""

    key: np.ndarray
    position: np.ndarray
    covariance: np.ndarray


def optional_module(name: str) -> Any:  # an untyped module
    """A module of blackjax or arviz_stats; `ImportError` tells what to install."""
    return needed(name, "NUTS", "or use the method laplace")


def mixing(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Effective sample size and R-hat by parameter of draws `(n_chains, n_draws, n_parameters)`."""
    statistics = optional_module("arviz_stats.base").array_stats
    half = draws.shape[1] // 2
    halves = np.concatenate([draws[:, :half], draws[:, -half:]])  # a single chain is compared with itself
    axes = {"chain_axis": 0, "draw_axis": 1}
    return statistics.ess(draws, **axes), statistics.rhat(halves, **axes)


def _finite(log_density: LogDensity, arguments: PyTree) -> LogDensity:
    def density(x):
        value = log_density(x, *arguments)
        return jnp.where(jnp.isfinite(value), value, -jnp.inf)  # a failed run has zero probability

    return density


def _warm_up(method: NUTS, log_density: LogDensity, start: Start, arguments: PyTree) -> ChainState:
    """State after the warm-up."""
    blackjax = optional_module("blackjax")
    adaptation = blackjax.window_adaptation(
        blackjax.nuts,
        _finite(log_density, arguments),
        is_mass_matrix_diagonal=False,
        initial_inverse_mass_matrix=start.covariance,
        imm_shrinkage_to_previous=10.0 + start.position.size,
        initial_step_size=_FIRST_STEP,
        target_acceptance_rate=method.target_acceptance,
        adaptation_info_fn=lambda state, info, adaptation: None,
        max_num_doublings=_DOUBLINGS,
    )
    (state, settings), _ = adaptation.run(start.key, start.position, method.n_warmup)
    return ChainState._make((*state, settings["step_size"], settings["inverse_mass_matrix"]))


def _draw(
    method: NUTS, log_density: LogDensity, keys: Array, before: ChainState, arguments: PyTree
) -> tuple[ChainState, Draws]:
    """The state after a draw for each key, and the draws."""
    density, settings = _finite(log_density, arguments), (before.step_size, before.inverse_mass)
    step = optional_module("blackjax").nuts(density, *settings, max_num_doublings=_DOUBLINGS).step

    def one(state, key):
        state, info = step(key, state)
        return state, Draws(state.position, info.is_divergent)

    after, draws = jax.lax.scan(one, optional_module("blackjax.mcmc.hmc").HMCState(*before[:3]), keys)
    return ChainState._make((*after, *settings)), draws


def _zeros(start: Start, n_draws: int) -> tuple[ChainState, Draws]:
    """A state and a number of draws, all zero."""
    position, number = np.zeros_like(start.position), np.zeros((), start.position.dtype)
    draws = Draws(np.zeros((n_draws, position.size)), np.zeros(n_draws, bool))
    return ChainState(position, number, position, number, np.zeros_like(start.covariance)), draws


class _Chain:
    """Continues chains; the programs are compiled on first use."""

    def __init__(self, method: NUTS, density: Density):
        self._method, self._density = method, density
        self._programs, self._compiling = dict[Callable, Program](), threading.Lock()

    def __reduce__(self):
        return type(self), (self._method, self._density)

    @functools.cached_property
    def _log_density(self) -> tuple[LogDensity, PyTree]:
        return self._density()

    def _run(self, function: Callable[..., PyTree], *given: PyTree) -> PyTree:
        # blackjax mixes types in ways that JAX rejects in strict mode.
        with self._compiling, jax.numpy_dtype_promotion("standard"):
            log_density, arguments = self._log_density
            if function not in self._programs:
                of_arrays = functools.partial(function, self._method, log_density)
                self._programs[function] = compile_program(of_arrays, *given, arguments)
        return jax.device_get(self._programs[function](*given, arguments))

    def __call__(self, item: tuple[Start, ChainState, int]) -> tuple[ChainState, Draws]:
        """The state and ten draws after the first `n_done` ones, or after the warm-up."""
        start, state, n_done = item
        if not n_done:
            state = self._run(_warm_up, start)
        keys = jax.vmap(jax.random.fold_in, (None, 0))(start.key, n_done + jnp.arange(_DRAWS_PER_FILE))
        return self._run(_draw, keys, state)


def sample_chains(
    method: NUTS,
    density: Density,
    starts: Sequence[Start],
    *,
    folder: Path | None = None,
    parts: Mapping[str, str] | None = None,
    engine: AbstractEngine | None = None,
    report: Report = lambda fraction, where: None,
) -> Draws:
    """Draws of all chains; continues those in the folder, whose identity is `parts`.

    Raises `ValueError` if the files in the folder are damaged or belong to others.
    """
    engine = ThisProcess(2) if engine is None else engine
    work, parts, total = _Chain(method, density), dict(parts or {}), len(starts) * method.n_draws
    finished, reporting = dict[int, np.ndarray](), threading.Lock()

    def run(chain: int, check: Check) -> Draws:
        start, (state, draws) = starts[chain], _zeros(starts[chain], 0)
        path = None if folder is None else folder / f"posterior_chain_{chain}.eqx"
        if path is not None and path.exists():
            of_length = lambda header: _zeros(start, header["n_draws"])  # noqa: E731
            _, (state, draws) = read_tree(path, parts, of_length, "file of a chain")
        while (n_done := len(draws.is_divergent)) < method.n_draws:
            check()
            ((state, drawn),) = engine.map(work, [(start, state, n_done)])
            draws = Draws(*(np.append(old, new, axis=0) for old, new in zip(draws, drawn, strict=True)))
            with reporting:  # chains report from their threads
                finished[chain] = draws.is_divergent
                flags = np.concatenate(list(finished.values()))
                report(flags.size / total, f"draw {flags.size} of {total}, {flags.sum()} divergent")
            if path is not None:
                write_tree(path, {"n_draws": len(draws.is_divergent), "fingerprint": parts}, (state, draws))
        return Draws(*(column[: method.n_draws] for column in draws))

    chains = engine.side_by_side([functools.partial(run, chain) for chain in range(len(starts))])
    return Draws(*(np.stack(column) for column in zip(*chains, strict=True)))
