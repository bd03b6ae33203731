"""Chains on threads, each with a file of its own that holds all that its next draw depends on."""

import dataclasses
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from ...runtime import Program
from ..checkpoint import read_tree, write_tree
from .density import LogDensity
from .nuts import NUTS, ChainState, Draw, draw_program, draws_like

_DRAWS_PER_FILE = 10
"""Draws between two versions of the file of a chain."""

ChainReport = Callable[[int, int, Draw], None]
"""Called from the thread of a chain with its number, the number of its draws so far, and the last one."""


@dataclasses.dataclass(frozen=True)
class Chains:
    """What the chains left, warm-up apart.

    Args:
        draws: by chain, with leading axes `(n_chains, n_draws)`.
        n_divergent_in_warmup: divergent trajectories of the warm-up.
        n_steps_in_warmup: steps of the integrator in the warm-up, each a gradient of all cases.
        step_sizes: of each chain after its warm-up.
    """

    draws: Draw
    n_divergent_in_warmup: int
    n_steps_in_warmup: int
    step_sizes: np.ndarray


def chain_name(chain: int) -> str:
    """Of the file of a chain."""
    return f"posterior_chain_{chain}.eqx"


def sample_chains(
    method: NUTS,
    log_density: LogDensity,
    arguments: PyTree,
    starts: Sequence[ChainState],
    *,
    identity: Any = None,
    folder: Path | None = None,
    parts: Mapping[str, str] | None = None,
    n_threads: int = 2,
    report: ChainReport | None = None,
) -> Chains:
    """Run the chains up to their number of draws; those that a folder holds go on.

    Args:
        method: settings.
        log_density: of a vector and the arguments.
        arguments: of the density, a tuple.
        starts: of each chain, from `start_chain`.
        identity: all that the density is made of besides its arguments; by default its own.
        folder: for the files of the chains.
        parts: what makes these chains the ones in the folder.
        n_threads: chains at the same time.
        report: called after every draw.

    Raises:
        ValueError: files of other chains, or damaged ones.
    """
    program = draw_program(
        method, log_density, starts[0], arguments, log_density if identity is None else identity
    )
    stop = threading.Event()
    # JAX keeps the precision that a context chose for each thread by itself.
    double = bool(jax.config.jax_enable_x64)  # pyright: ignore[reportAttributeAccessIssue]

    parts = {} if parts is None else parts

    def run(chain: int) -> tuple[ChainState, Draw]:
        path = None if folder is None else folder / chain_name(chain)
        with jax.enable_x64(double):
            state, draws = starts[chain], draws_like(0, starts[chain].position.size)
            if path is not None and path.exists():
                state, draws = _read(path, parts, state)
            return _run_chain(
                method, program, arguments, state, draws, chain, path, parts or {}, stop, report
            )

    with ThreadPoolExecutor(max_workers=max(1, n_threads)) as pool:
        futures = [pool.submit(run, chain) for chain in range(len(starts))]
        try:
            results = [future.result() for future in futures]
        except BaseException:
            stop.set()  # the others end after the draw at work
            pool.shutdown(cancel_futures=True)
            raise
    return _gather(method, results)


def _run_chain(method, program: Program, arguments, state, draws, chain, path, parts, stop, report):
    """Draws of one chain from where it stands."""
    total = method.n_warmup + method.n_draws
    fresh: list[Draw] = []
    while (done := len(draws.log_density) + len(fresh)) < total and not stop.is_set():
        following, draw = jax.device_get(program(state, arguments))
        state, draw = ChainState(*following), Draw(*draw)
        fresh.append(draw)
        if path is not None and (len(fresh) == _DRAWS_PER_FILE or done + 1 == total):
            draws, fresh = _joined(draws, fresh), []
            header = {"n_draws": len(draws.log_density), "fingerprint": dict(parts)}
            write_tree(path, header, (state, draws))
        if report is not None:
            report(chain, done + 1, draw)
    return state, _joined(draws, fresh)


def _joined(draws: Draw, fresh: list[Draw]) -> Draw:
    if not fresh:
        return draws
    stacked = (np.stack([np.asarray(part) for part in column]) for column in zip(*fresh, strict=True))
    return Draw(
        *(np.concatenate([old, new.astype(old.dtype)]) for old, new in zip(draws, stacked, strict=True))
    )


def _read(path: Path, parts: Mapping[str, str], state: ChainState) -> tuple[ChainState, Draw]:
    like = jax.device_get(state)

    def of_chain(header: dict):
        return like, draws_like(header["n_draws"], state.position.size)

    return read_tree(path, parts, of_chain, "file of a chain")


def _gather(method: NUTS, results: Sequence[tuple[ChainState, Draw]]) -> Chains:
    begin, end = method.n_warmup, method.n_warmup + method.n_draws
    warmups = [draws for _, draws in results]
    columns = zip(*(draws for _, draws in results), strict=True)
    return Chains(
        Draw(*(np.stack([part[begin:end] for part in column]) for column in columns)),
        int(sum(draws.is_divergent[:begin].sum() for draws in warmups)),
        int(sum(draws.n_steps[:begin].sum() for draws in warmups)),
        np.array([float(state.step_size) for state, _ in results]),
    )
