"""The no-U-turn sampler of blackjax: one compiled program for every draw of every chain, in parallel.

The inverse mass matrix is initially the covariance of the Laplace approximation, so that trajectories have
the right directions and scales. The warm-up adapts the step size by dual averaging; the draws of its middle
half give a new estimate of the covariance, combined with the first one, which counts as ten draws more than
there are parameters.

A trajectory that becomes non-finite, or whose energy error exceeds 1000, ends there and counts as divergent;
earlier states on it remain candidates for the draw. The file of a chain holds everything that its next draw
depends on.
"""

import dataclasses
import functools
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from ...declarations import check_settings, named, setting
from ...runtime import Program, Shared, compile_program
from ...runtime.engine import AbstractEngine, Check, ThisProcess
from ...runtime.machine import needed
from ..results import read_tree, write_tree

LogDensity = Callable[..., Float[Array, ""]]
"""Of an unconstrained vector and further arguments, differentiable to the vector."""
_programs: Shared[Program] = Shared(most=4)
"""The last ones of the process: many posteriors of one kind, as in a twin study, share them."""
_FIRST_STEP = 0.5
"""Of the step size: stable for a normal density, of which the mass matrix knows the covariance, below 2."""


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
        most_doublings: largest number of doublings of a trajectory, which has at most 2 to this power steps.
    """

    n_draws: int = setting(500, at_least=4)
    n_warmup: int = setting(200, at_least=20)
    n_chains: int = setting(2, at_least=1, at_most=1024)
    seed: int = setting(0, at_least=0)
    target_acceptance: float = setting(0.8, above=0.0, below=1.0)
    most_doublings: int = setting(6, at_least=1, at_most=20)

    def __post_init__(self):
        check_settings(self)


class ChainState(NamedTuple):
    """Everything that the next draw of a chain depends on; leaves are arrays.

    `number` counts draws, including the warm-up; position, density and gradient are those of the last draw.
    `averaging` is the dual averaging of the step size. In the window in which the inverse mass matrix
    (initially `first_mass`) is estimated, draws and their products are summed relative to `origin`, the
    start.
    """

    key: Array
    number: Int[Array, ""]
    position: Float[Array, " parameter"]
    log_density: Float[Array, ""]
    gradient: Float[Array, " parameter"]
    step_size: Float[Array, ""]
    averaging: Any  # of blackjax
    inverse_mass: Float[Array, "parameter parameter"]
    first_mass: Float[Array, "parameter parameter"]
    total: Float[Array, " parameter"]
    products: Float[Array, "parameter parameter"]
    origin: Float[Array, " parameter"]


class Draw(NamedTuple):
    """Stored result of a draw."""

    position: np.ndarray
    log_density: np.ndarray
    is_divergent: np.ndarray
    n_steps: np.ndarray
    acceptance: np.ndarray


def blackjax_module(name: str) -> Any:  # an untyped module
    """A module of blackjax, an optional dependency; `ImportError` tells what to install."""
    return needed(f"blackjax.{name}" if name else "blackjax", "NUTS", "or use the method laplace")


def start_chain(
    method: NUTS, chain: int, position, log_density, gradient, covariance: np.ndarray
) -> ChainState:
    """A chain before its first draw, at a position `(n,)` with its log density and gradient."""
    adaptation = blackjax_module("adaptation.step_size")
    init, *_ = adaptation.dual_averaging_adaptation(method.target_acceptance)
    position, mass = jnp.asarray(position, float), jnp.asarray(covariance, float)
    key = jax.random.fold_in(jax.random.PRNGKey(method.seed), chain)
    at_position = position, jnp.asarray(log_density, float), jnp.asarray(gradient, float)
    steps = jnp.asarray(_FIRST_STEP, float), jax.tree.map(_strong, init(_FIRST_STEP))
    learnt = mass, mass, jnp.zeros_like(position), jnp.zeros_like(mass), position
    return ChainState(key, jnp.asarray(0, jnp.int32), *at_position, *steps, *learnt)


def draw_program(
    method: NUTS, log_density: LogDensity, state: ChainState, arguments: PyTree, identity: Hashable
) -> Program:
    """The program of a draw: from a state and the arguments of the density to the next state and a `Draw`.

    It is independent of the number of draws. `identity` identifies the density, apart from its arguments.
    """
    settings = dataclasses.replace(method, n_draws=4, n_chains=1, seed=0)

    def compiled() -> Program:
        # blackjax mixes types in ways that JAX rejects in strict mode.
        with jax.numpy_dtype_promotion("standard"):
            return compile_program(functools.partial(_draw, settings, log_density), state, arguments)

    return _programs.get(compiled, (state, arguments), settings, identity)


def _draw(method: NUTS, log_density: LogDensity, state: ChainState, arguments: PyTree):
    """One draw, and the adaptation in the warm-up."""
    nuts, hmc = blackjax_module("mcmc.nuts"), blackjax_module("mcmc.hmc")
    state = ChainState(*state)
    kernel = nuts.build_kernel()

    def density(x):
        value = log_density(x, *arguments)
        return jnp.where(jnp.isfinite(value), value, -jnp.inf)  # a failed run has zero probability

    before = hmc.HMCState(state.position, state.log_density, state.gradient)
    key, settings = jax.random.fold_in(state.key, state.number), (state.step_size, state.inverse_mass)
    after, info = kernel(key, before, density, *settings, method.most_doublings)
    acceptance = jnp.nan_to_num(info.acceptance_rate)
    position, value, gradient = after.position, after.logdensity, after.logdensity_grad
    number = state.number + 1
    moved = state._replace(number=number, position=position, log_density=value, gradient=gradient)
    adapted = _adapted(method, moved, acceptance)
    draw = position, value, info.is_divergent, jnp.asarray(info.num_integration_steps, jnp.int32), acceptance
    return tuple(jax.tree.map(lambda a, b: jnp.asarray(a, b.dtype), adapted, state)), draw


def _adapted(method: NUTS, state: ChainState, acceptance) -> ChainState:
    """Step size and inverse mass matrix after a draw of the warm-up; constant afterwards."""
    adaptation = blackjax_module("adaptation.step_size")
    init, update, final = adaptation.dual_averaging_adaptation(method.target_acceptance)
    done, total = state.number, method.n_warmup
    begin, end = total // 4, total - total // 4
    averaging = update(state.averaging, acceptance)
    in_window = ((done > begin) & (done <= end)).astype(state.position.dtype)
    away = state.position - state.origin
    sums = state.total + in_window * away, state.products + in_window * jnp.outer(away, away)
    # The covariance of the draws, combined with the first one.
    n, weight = end - begin, 10.0 + sums[0].size
    mean = sums[0] / n
    covariance = (sums[1] - n * jnp.outer(mean, mean)) / (n - 1)
    learnt = (n * covariance + weight * state.first_mass) / (n + weight)
    # The new matrix changes the optimal step size: restart its averaging.
    restarted = init(jnp.exp(averaging.log_step_size_avg))
    averaging = jax.tree.map(functools.partial(jnp.where, done == end), restarted, averaging)
    step_size = jnp.exp(averaging.log_step_size)
    step_size = jnp.where(done == total, final(averaging), step_size)
    return state._replace(
        averaging=jax.tree.map(functools.partial(jnp.where, done > total), state.averaging, averaging),
        step_size=jnp.where(done > total, state.step_size, step_size),
        inverse_mass=jnp.where(done == end, learnt, state.inverse_mass),
        total=sums[0],
        products=sums[1],
    )


def _strong(leaf):
    """Remove weak types, which would cause a second program for the second draw."""
    leaf = jnp.asarray(leaf)
    kind = float if jnp.issubdtype(leaf.dtype, jnp.inexact) else leaf.dtype
    return jnp.asarray(np.asarray(leaf), kind)


def draws_like(n_draws: int, n_parameters: int) -> Draw:
    """A number of draws, all zero."""
    kinds = float, bool, np.int32, float
    return Draw(np.zeros((n_draws, n_parameters)), *(np.zeros(n_draws, kind) for kind in kinds))


_DRAWS_PER_FILE = 10
"""Draws between two versions of the file of a chain, which are one piece of work."""

ChainReport = Callable[[int, int, Draw], None]
"""Called from the thread of a chain with its number, the number of a draw from 1, and the draw."""

Density = Callable[[], tuple[LogDensity, PyTree, Hashable]]
"""Gives a density, its arguments after the vector, and its identity, as `log_posterior` does; is pickled."""


@dataclasses.dataclass(frozen=True)
class Chains:
    """Result of the chains: draws with leading axes `(n_chains, n_draws)`, without warm-up, and step sizes.

    Each integrator step evaluates the gradient of all cases.
    """

    draws: Draw
    n_divergent_in_warmup: int
    n_steps_in_warmup: int
    step_sizes: np.ndarray


class _Draws:
    """Draws of a chain from a state on; the program is compiled on first use."""

    def __init__(self, method: NUTS, density: Density):
        self._given, self._compiling = (method, density), threading.Lock()
        self._program: tuple[Program, PyTree] | None = None

    def __reduce__(self):
        return type(self), self._given

    def __call__(self, item: tuple[ChainState, int]) -> tuple[ChainState, list[Draw]]:
        (state, n_draws), (method, density) = item, self._given
        with self._compiling:
            if self._program is None:
                log_density, arguments, identity = density()
                self._program = draw_program(method, log_density, state, arguments, identity), arguments
        program, arguments = self._program
        draws = []
        for _ in range(n_draws):
            following, draw = jax.device_get(program(state, arguments))
            state = ChainState(*following)
            draws.append(Draw(*draw))
        return state, draws


def sample_chains(
    method: NUTS,
    density: Density,
    starts: Sequence[ChainState],
    *,
    folder: Path | None = None,
    parts: Mapping[str, str] | None = None,
    engine: AbstractEngine | None = None,
    report: ChainReport | None = None,
) -> Chains:
    """Run the chains from `start_chain` up to their number of draws; continues chains in the folder.

    Parts identify the chains; `ValueError` if the files in the folder are damaged or belong to others.
    """
    engine = ThisProcess(2) if engine is None else engine
    work, parts = _Draws(method, density), {} if parts is None else dict(parts)
    begin, total = method.n_warmup, method.n_warmup + method.n_draws

    def run(chain: int, check: Check) -> tuple[ChainState, Draw]:
        state, done, n_parameters = jax.device_get(starts[chain]), 0, starts[chain].position.size
        draws = draws_like(total, n_parameters)
        path = None if folder is None else folder / f"posterior_chain_{chain}.eqx"
        if path is not None and path.exists():
            first = state
            like = lambda header: (first, draws_like(header["n_draws"], n_parameters))  # noqa: E731
            header, (state, known) = read_tree(path, parts, like, "file of a chain")
            done = header["n_draws"]
            for column, values in zip(draws, known, strict=True):
                column[:done] = values[:total]
        while done < total:
            check()
            n_draws = min(_DRAWS_PER_FILE - done % _DRAWS_PER_FILE, total - done)
            ((state, drawn),) = engine.map(work, [(state, n_draws)])
            for draw in drawn:
                for column, value in zip(draws, draw, strict=True):
                    column[done] = value
                done += 1
                if report is not None:
                    report(chain, done, draw)
            if path is not None:
                header = {"n_draws": done, "fingerprint": parts}
                write_tree(path, header, (state, Draw(*(column[:done] for column in draws))))
        return state, draws

    found = engine.side_by_side([functools.partial(run, chain) for chain in range(len(starts))])
    states, found = zip(*found, strict=True)
    return Chains(
        Draw(*(np.stack([part[begin:] for part in column]) for column in zip(*found, strict=True))),
        int(sum(draws.is_divergent[:begin].sum() for draws in found)),
        int(sum(draws.n_steps[:begin].sum() for draws in found)),
        np.array([float(state.step_size) for state in states]),
    )
