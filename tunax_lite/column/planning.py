"""Memory of a run, its gradient or its Jacobian, estimated by compiling only."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from .._types import chosen_paths, dotted, free_leaves
from ..runtime import compile_program
from .case import Case
from .checkpointing import AbstractCheckpointing, AutoCheckpointing
from .integrate import simulate
from .model import Model, shape_of_batch
from .sensitivity import ChunkSize, CompiledJacobian
from .trajectory import Trajectory

What = Literal["forward", "gradient", "jacobian"]


@dataclasses.dataclass(frozen=True)
class MemoryEstimate:
    """The compiler's memory estimate for a program, in bytes; prints as one line."""

    what: str  # description of the program
    arguments: int
    outputs: int
    temporary: int
    code: int
    peak: int  # the sum of these, in use while the program runs
    trace_seconds: float
    compile_seconds: float

    def __str__(self) -> str:
        return (
            f"{self.what}: {self.peak} bytes ({self.arguments} arguments, {self.outputs} outputs, "
            f"{self.temporary} temporary, {self.code} code), traced in {self.trace_seconds:.1f} s, "
            f"compiled in {self.compile_seconds:.1f} s"
        )


def estimate_memory(
    model: Model,
    case: Case,
    *,
    what: What = "forward",
    n_columns: int | None = None,
    checkpointing: AbstractCheckpointing | None = None,
    dt: float = 60.0,
    output_interval: float = 600.0,
    duration: float | None = None,
    parameters: Sequence[str] | None = None,
    residuals: Callable[[Trajectory], PyTree] = lambda run: (run.state.temperature, run.state.u, run.state.v),
    chunk_size: ChunkSize = "auto",
) -> MemoryEstimate:
    """Memory and compile time of a run, its gradient or its Jacobian, without running it.

    Args:
        model, case: a single column if `n_columns` is given; otherwise also a batch or an ensemble.
        what: `forward`: a run with all its frames. `gradient`: the gradient of the mean square of the
            residuals, in reverse mode. `jacobian`: their Jacobian, in the mode that `jacobian` chooses.
        n_columns: size of a batch of such columns; nothing of that size is allocated.
        checkpointing: what reverse mode stores; by default `AutoCheckpointing()`.
        dt, output_interval, duration: as in `simulate` [s].
        parameters: paths in the closure to differentiate by, as `unconstrained` takes them: `c_eps_1`,
            `net.*`; by default all numbers except fixed ones and `None`, with the weights of networks.
        residuals: function of a trajectory; by default all profiles of temperature, u and v.
        chunk_size: chunk size of the Jacobian, as in `jacobian`.

    Raises:
        ValueError: an unknown `what`, a number of columns that is not positive or given for a batch, an
            unknown parameter, or errors of `simulate`.
    """
    if what not in ("forward", "gradient", "jacobian"):
        raise ValueError(f"estimate_memory: expected what to be forward, gradient or jacobian, got {what!r}.")
    scheme = AutoCheckpointing() if checkpointing is None else checkpointing
    if n_columns is not None:
        if batch := shape_of_batch(model, case):
            raise ValueError(
                f"estimate_memory: expected a single column to repeat {n_columns} times, got a model and a "
                f"case with the batch {batch}; leave n_columns out."
            )
        if n_columns < 1:
            raise ValueError(f"estimate_memory: expected n_columns of at least 1, got {n_columns}.")
        repeated = lambda leaf: jax.ShapeDtypeStruct((*leaf.shape, n_columns), leaf.dtype)  # noqa: E731
        case = eqx.tree_at(lambda c: c.initial_state, case, jax.tree.map(repeated, case.initial_state))

    def run(model: Model, case: Case) -> Trajectory:
        times = {"dt": dt, "output_interval": output_interval, "duration": duration}
        return simulate(model, case, checkpointing=scheme, **times)

    def residuals_of(free, model: Model, case: Case) -> PyTree:
        return residuals(run(eqx.tree_at(lambda m: m.closure, model, eqx.combine(free, model.closure)), case))

    def mean_square(free, model: Model, case: Case):
        leaves = jax.tree.leaves(residuals_of(free, model, case))
        return sum(jnp.sum(leaf**2) for leaf in leaves) / sum(leaf.size for leaf in leaves)

    if what == "forward":
        program = compile_program(run, model, case)
    else:
        arguments = _free(model, parameters), model, case
        if what == "gradient":
            program = compile_program(jax.value_and_grad(mean_square), *arguments)
        else:
            program = CompiledJacobian(residuals_of, *arguments, chunk_size=chunk_size).program
    batch = shape_of_batch(model, case)
    columns = f"{int(np.prod(batch))} columns" if batch else "one column"
    seconds = program.trace_seconds, program.compile_seconds
    return MemoryEstimate(f"{what} of {columns}", *program.memory, *seconds)


def _free(model: Model, parameters: Sequence[str] | None) -> PyTree:
    """Keep only the numbers of the closure to differentiate by; all other leaves become `None`."""
    known, owner = free_leaves(model.closure).keys(), type(model.closure).__name__
    where = "estimate_memory: parameters"
    paths = known if parameters is None else chosen_paths(known, parameters, where, owner)
    if not paths:
        raise ValueError(f"{where}: expected at least one of {', '.join(known) or 'no numbers'}, got none.")
    is_free = jax.tree_util.tree_map_with_path(lambda path, _: dotted(path) in paths, model.closure)
    return eqx.filter(model.closure, is_free)
