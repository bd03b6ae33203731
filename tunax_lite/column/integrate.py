"""Run a model on a case: a scan over saved frames of a scan over time steps."""

import contextlib
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Int, PyTree

from .._types import (
    ScalarLike,
    batch_shape_of,
    check_numbers,
    is_switch,
    is_traced,
    leading_axes,
    precision_of,
    without_weak_types,
)
from ..closures.base import AbstractCloState, AbstractClosure
from ..runtime.devices import (
    ColumnBlock,
    Devices,
    Split,
    block_size,
    check_block,
    column_mesh,
    map_blocks,
    map_columns,
    shard_columns,
)
from ..runtime.embedding import check_axes, varying_alike
from ..runtime.memory import free_memory
from .arguments import ByIdentity, Parts, Structure, case_over_steps, common_precision
from .averages import Averaged
from .case import Case
from .checkpointing import AbstractCheckpointing, AutoCheckpointing, scan_frames, shared_among
from .mapping import WITHOUT_MAP, accepts_batches, check_not_mapped, is_mapped, run_last
from .model import Model, Stepped, batched_case
from .state import State
from .trajectory import Means, Restart, Trajectory


def _as_seconds(name: str, value: object) -> float:
    """Convert a time [s] to a Python number: the number of steps, which follows from it, cannot be traced."""
    if not is_traced(value) and np.ndim(value) == 0 and np.asarray(value).dtype.kind in "fiu":  # pyright: ignore
        return float(value)  # pyright: ignore[reportArgumentType]
    got = "a value that jax.jit or jax.grad has not computed yet" if is_traced(value) else f"{value!r:.60}"
    raise TypeError(f"simulate: expected {name} as a number of seconds, such as {name}=600.0, got {got}.")


def count_steps(interval: float, dt: float, name: str, unit: str = "dt") -> int:
    """Number of steps of `dt` in an interval [s]; `name` and `unit` are used in messages."""
    if not (math.isfinite(dt) and dt > 0.0):
        raise ValueError(f"simulate: expected a positive dt [s], got {dt}.")
    n = round(interval / dt) if math.isfinite(interval) else 0
    if n < 1 or abs(n * dt - interval) > 1e-9 * abs(interval):
        raise ValueError(
            f"simulate: expected {name} to be a positive multiple of {unit} = {dt:g} s, got {interval:g} s."
        )
    return n


def whole_steps(duration: float, dt: float) -> int:
    """Number of complete steps of `dt` in a duration [s], up to round-off."""
    return int(duration / dt * (1.0 + 1e-9))


class Length(NamedTuple):
    """Steps of a run: complete frames, and the steps of a shorter last frame, if any."""

    n_frames: int
    steps_per_frame: int
    rest: int

    @property
    def n_all(self) -> int:
        """Number of frames after the start, with a shorter last one."""
        return self.n_frames + (self.rest > 0)


def length_of_run(duration: float, output_interval: float, dt: float, name: str = "the duration") -> Length:
    """Divide a run [s] into frames; `ValueError` if interval or duration is not a multiple of the step."""
    steps_per_frame = count_steps(output_interval, dt, "output_interval")
    n_frames, rest = divmod(count_steps(duration, dt, name), steps_per_frame)
    return Length(n_frames, steps_per_frame, rest)


def start_of(model: Model, case: Case) -> Restart:
    """State, closure state and step counter at the start of a case."""
    return Restart(case.start_state, model.init(case), jnp.zeros((), jnp.int32))


@eqx.filter_jit
def _compiled_start(model: Model, case: Case) -> Restart:
    return start_of(model, batched_case(model, case))


def restart_of(model: Model, case: Case) -> Restart:
    """Start of a case in the form of a restart, so that all pieces of a run use the same program."""
    model, case = without_weak_types((model, case), precision_of(model=model, case=case))
    return _compiled_start(model, case.unlabelled())


class Carry(NamedTuple):
    """Values that the time loop carries from step to step.

    Args:
        now: the end of the last step.
        means: means of state and closure state since the last frame; `None` if not averaged.
        step_start: start of the last step; `None` if not stored.
        others: means of other averaged quantities, by name.
    """

    now: Restart
    means: tuple[State, AbstractCloState] | None
    step_start: Restart | None
    others: PyTree = {}

    @classmethod
    def at_start(
        cls,
        start: Restart,
        means: bool | tuple[str, ...] = False,
        step_starts: bool = False,
        others: PyTree = None,
    ) -> "Carry":
        """The carry that enters the first step."""
        mean = (start.state, start.clo_state) if means else None
        return cls(start, mean, start if step_starts else None, others or {})


def integrate(
    model: Model,
    case: Case,
    start: Restart,
    dt: ScalarLike,
    *,
    n_frames: int,
    steps_per_frame: int,
    checkpointing: AbstractCheckpointing,
    save: Callable[[Carry, PyTree], PyTree] = lambda carry, _: carry,
    inputs: PyTree = None,
    means: bool | tuple[str, ...] = False,
    step_starts: bool = False,
) -> tuple[Restart, PyTree]:
    """Run the time loop, for callers that do not save complete states.

    Args:
        model, case: with the case broadcast over its batch by `batched_case`.
        start: from `start_of` or `Trajectory.restart`.
        dt: time step [s].
        n_frames, steps_per_frame, checkpointing: length of the run, and what reverse mode stores.
        save: function from the carry and the inputs of a frame to the saved variables.
        inputs: pytree of arrays with a leading axis of `n_frames`, such as observations.
        means: whether to carry means of state and closure state over the steps of the frame; or names of
            other quantities to average as well, see `Averaged`.
        step_starts: whether to carry the start of the last step.

    Returns:
        The end of the run, and the saved variables with a leading axis of `n_frames`, without the start.
    """
    model, case, start = varying_alike((model, case, start))
    dt = jnp.asarray(dt, dtype=precision_of(case=case, start=start))
    step, requested = _stepping(model, case, dt), Averaged.of(means)
    prepared = model.with_von_karman(case)

    def advanced(carry: Carry) -> Carry:
        now, stepped = step(carry.now)
        mean, others = carry.means, carry.others
        n = (carry.now.step - start.step) % steps_per_frame + 1
        if mean is not None:
            mean = _averaged(mean, (now.state, now.clo_state), n)
        if requested.names:
            others = _averaged(others, requested.of_step(model, prepared, carry.now, stepped, dt), n)
        return Carry(now, mean, None if carry.step_start is None else carry.now, others)

    end, saved = scan_frames(
        advanced,
        save,
        _all_varied(_Extras(means, step_starts).first(model, case, start, dt), (model, case)),
        inputs=inputs,
        checkpointing=checkpointing,
        n_frames=n_frames,
        steps_per_frame=steps_per_frame,
    )
    return end.now, saved


@eqx.filter_custom_jvp
def _all_varied(carry: Carry, constants: PyTree) -> Carry:
    """The carry, with a zero tangent for each array without one, if any of the carry or `constants` has one.

    Most arrays get their first tangent in the first step; for each JAX would linearise the loop again.
    """
    return carry


@_all_varied.def_jvp
def _(primals, tangents):
    carry, (change, changes) = primals[0], tangents
    # The condition never holds; without it JAX would notice that the tangent is zero.
    smallest = min(jax.tree.leaves(changes), key=jnp.size, default=None)
    some = 0.0 if smallest is None else jnp.ravel(smallest)[0]

    def varied(x, change):
        if change is not None or not eqx.is_inexact_array(x):
            return change
        return jnp.where(False, some, jnp.zeros_like(x))

    return carry, jax.tree.map(varied, carry, change, is_leaf=lambda x: x is None)


class _Extras(NamedTuple):
    """Values to carry in addition to the state: arguments of `integrate`."""

    means: bool | tuple[str, ...]
    step_starts: bool

    def first(self, model: Model, case: Case, start: Restart, dt: ScalarLike) -> Carry:
        """Carry that enters the first step."""
        others, requested = {}, Averaged.of(self.means)
        if requested.names:
            others = requested.at_start(model, model.with_von_karman(case), start, dt)
        return Carry.at_start(start, self.means, self.step_starts, others)


def _averaged(mean: PyTree, now: PyTree, n: Int[Array, ""]) -> PyTree:
    """Update a mean with the n-th step."""

    def updated(mean, now):
        if not jnp.issubdtype(now.dtype, jnp.inexact):
            return now
        weight = 1.0 / n.astype(now.dtype)
        # The first step discards the previous mean, which may be NaN, as a mixed layer depth can be.
        return jnp.where(n == 1, now, (1.0 - weight) * mean + weight * now)

    return jax.tree.map(updated, mean, now)


def advance(
    model: Model, case: Case, start: Restart, dt: ScalarLike, n_steps: int | Int[Array, ""]
) -> Restart:
    """Advance by `n_steps` without saving; 0 returns the start. Other arguments are those of `integrate`.

    The number of steps may be traced, except in reverse mode.
    """
    model, case, start = varying_alike((model, case, start))
    step = _stepping(model, case, jnp.asarray(dt, dtype=precision_of(case=case, start=start)))
    return jax.lax.fori_loop(0, n_steps, lambda _, current: step(current)[0], start)


def _stepping(model: Model, case: Case, dt: jax.Array) -> Callable[[Restart], tuple[Restart, Stepped]]:
    """Return the function that advances by one step; work that all steps share is done here, before them."""
    stepper, case = model.closure.prepare(), model.with_von_karman(case)

    def step(current: Restart) -> tuple[Restart, Stepped]:
        time = current.step.astype(dt.dtype) * dt
        stepped = model.stepped(current.state, current.clo_state, case, time, dt, stepper)
        return Restart(stepped.state, stepped.clo_state, current.step + 1), stepped

    return step


def columns_of(model: Model, case: Case, start: Restart | None) -> tuple[PyTree, PyTree, PyTree]:
    """Masks of the leaves of model, case and start whose last axis is the columns of a batch."""
    batch_shape = batch_shape_of((model, case))
    if not batch_shape:
        raise ValueError(
            "simulate: expected a batch of columns to split over devices, got a single column; leave "
            "`devices` out, stack cases with `stack_cases`, or give parameters one value per column; "
            f"{WITHOUT_MAP}."
        )

    # The length alone cannot distinguish 64 levels or times from 64 columns: count the declared axes, too.
    def has_columns(leaf, axes: int) -> bool:
        return axes >= 0 and jnp.ndim(leaf) > axes and leaf.shape[-1] == batch_shape[-1]

    of_model, of_case = (jax.tree.map(has_columns, tree, leading_axes(tree)) for tree in (model, case))
    # A restart of a batch has axes (level, column), or (column,) for one number per column.
    return of_model, of_case, jax.tree.map(lambda leaf: has_columns(leaf, 0), start)


_AUTO = AutoCheckpointing()  # the same object in every call, so that programs are found without comparing


class _Options(NamedTuple):
    """Static options of the program of a run, in addition to shapes and structure of model and case."""

    n_frames: int
    steps_per_frame: int
    checkpointing: AbstractCheckpointing
    means: bool | tuple[str, ...]
    step_starts: bool
    mesh: Mesh | None
    column_block: ColumnBlock

    @property
    def extras(self) -> _Extras:
        return _Extras(self.means, self.step_starts)

    @property
    def loop(self) -> dict[str, Any]:  # arguments of `integrate` of several types
        """Arguments of `integrate`."""
        return {name: value for name, value in self._asdict().items() if name not in ("mesh", "column_block")}


def _run_columns(model: Model, case: Case, start: Restart, dt: ScalarLike, options: _Options) -> Carry:
    """Run a batch on one or several devices, each of which runs its blocks of columns in turn."""
    has_columns = columns_of(model, case, start)
    extras, first = options.extras, options.extras.first(model, case, start, dt)
    # A carry of masks: True where the last axis is that of the columns.
    carry_columns = Carry.at_start(has_columns[2], *extras, dict.fromkeys(first.others, True))
    split = Split((*has_columns, False), first, carry_columns)

    def run(arguments):
        start = arguments[2]
        n_columns = jax.tree.leaves(start.state)[0].shape[-1]
        n_bytes = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(start))
        block = block_size(options.column_block, n_columns, n_bytes)
        if block == n_columns:
            return integrate(*arguments, **options.loop)[1]
        # Reverse mode stores the data of all blocks at the same time.
        shared = shared_among(-(-n_columns // block), options.checkpointing)
        of_block = options._replace(checkpointing=shared).loop
        # On several devices, `arguments` has only the columns of this device.
        local = split._replace(like=extras.first(*arguments))
        run_block = lambda part: integrate(*part, **of_block)[1]  # noqa: E731
        return map_blocks(run_block, arguments, local, block)

    arguments = (model, case, start, dt)
    return run(arguments) if options.mesh is None else map_columns(run, arguments, split, options.mesh)


@functools.partial(jax.jit, static_argnames=("structures", "options"))
def _simulate(arrays, dt, structures: tuple[Structure, ...], options: _Options) -> Trajectory:
    check_axes(arrays)
    trees = (structure.tree(part) for structure, part in zip(structures, arrays, strict=True))
    model, case, start, dt = varying_alike((*trees, jnp.asarray(dt)))
    case = batched_case(model, case)
    start = _compiled_start(model, case) if start is None else start
    if not batch_shape_of((model, case)):
        later = integrate(model, case, start, dt, **options.loop)[1]
    else:
        later = _run_columns(model, case, start, dt, options)
    first = options.extras.first(model, case, start, dt)
    frames = jax.tree.map(lambda initial, saved: jnp.concatenate([initial[None], saved]), first, later)
    now, time = frames.now, frames.now.step.astype(dt.dtype) * dt
    means = frames.means
    if means is not None:
        since = jnp.concatenate([time[:1], time[:-1]])
        means = Means(means[0], means[1], since, frames.others)
    return Trajectory(case.grid, time, now.step, now.state, now.clo_state, means, frames.step_start)


class _Prepared(NamedTuple):
    """Properties of a model or a case that `simulate` determines once."""

    parts: Parts
    covered: set[tuple[float, float, float]]  # start, end and step for which a case is known to be complete


@ByIdentity
def _prepared(tree: Model | Case) -> _Prepared:
    parts = Parts.of(tree.unlabelled() if isinstance(tree, Case) else tree)
    if any(map(is_switch, (*parts.structure.others.values(), *parts.arrays))):
        check_numbers(tree)
    return _Prepared(parts, set())


def simulate(
    model: Model,
    case: Case,
    *,
    dt: float = 60.0,
    duration: float | None = None,
    output_interval: float = 600.0,
    checkpointing: AbstractCheckpointing | None = None,
    start: Restart | None = None,
    devices: Devices | None = None,
    column_block: ColumnBlock = "auto",
    means: bool | Sequence[str] = False,
    step_starts: bool = False,
) -> Trajectory:
    """Run a model on a case.

    Args:
        model: closure and time scheme.
        case: one column or a batch; model parameters with a batch axis make an ensemble.
        dt: time step [s].
        duration: length of the run [s], a multiple of `dt`; by default from `start` to the end of the case.
            Needed with a traced `start`, whose time is unknown.
        output_interval: time between saved frames [s], a multiple of `dt`. The last frame is at the end of
            the run; the last interval is shorter if the interval does not divide the duration.
        checkpointing: what reverse mode stores; see `checkpointing`.
        start: frame of an earlier run to continue, `Trajectory.restart(frame)`; with the same `dt` the
            results are identical bit for bit. By default the initial state of the case.
        devices: devices over which a batch is split evenly along its last axis: `"all"` of this process, or a
            list. By default the columns stay together where JAX places them.
        column_block: number of columns run at once on a device, so that they fit into its cache: a number,
            `"auto"` for a size measured to be fast, or `None` for all. Results change only by rounding.
        means: whether to return also means of state and closure state over all steps between frames; or names
            of other quantities to average as well, in `Means.others`: those of `DIAGNOSTICS`; `budgets`,
            effects of each term on heat, salt, tracers and kinetic energy of the column; `tendencies`,
            effects of each term on every quantity, on cells.
        step_starts: whether to save also the start of the last step before each frame, so that `diagnose` can
            evaluate that step.

    Returns:
        The initial state and all frames. Values that are not finite are returned, not raised: see
        `first_non_finite`.

    Raises:
        MemoryError: frames that do not fit into the memory of the device.
        TypeError: arguments of other classes, or times that are not numbers.
        ValueError: times that are not multiples of the step, a forcing that does not cover the run, a model
            and a case of different precision, a block of zero columns, or an unknown name in `means`.
    """
    if not (isinstance(model, Model) and isinstance(case, Case) and isinstance(start, Restart | None)):
        raise TypeError(_wrong_kinds(model, case, start))
    if not isinstance(checkpointing, AbstractCheckpointing | None):
        raise TypeError(
            "simulate: expected checkpointing as an instance such as tl.SaveSteps(), tl.SaveSegments(), "
            f"tl.SaveEverything() or tl.AutoCheckpointing(), got {checkpointing!r:.60}."
        )
    dt, output_interval = _as_seconds("dt", dt), _as_seconds("output_interval", output_interval)
    duration = None if duration is None else _as_seconds("duration", duration)
    check_block(column_block)
    if isinstance(means, list | tuple):
        means = tuple(means)
    elif isinstance(means, bool | np.bool_):
        means = bool(means)
    else:
        raise TypeError(f"simulate: expected means as True, False or a list of names, got {means!r:.60}.")
    Averaged.of(means).check()
    begin = 0.0 if start is None or is_traced(start.step) else float(start.step) * dt
    remaining = case.duration - begin if duration is None else duration
    unlabelled = " (unlabelled cases have none: pass `duration`)" * (case.duration == 1.0)
    label = "duration" if duration is not None else f"the rest of case.duration{unlabelled}"
    length = length_of_run(remaining, output_interval, dt, label)
    times = begin, begin + remaining
    of_model, (of_case, covered) = _prepared(model).parts, _prepared(case)
    precision = common_precision(of_model, of_case) or precision_of(model=model, case=case)
    if (*times, dt) not in covered and not is_traced(case.forcing):
        case.check_covers(*times)
        case.check_step(dt)
        covered.add((*times, dt))
    first = 0 if start is None else start.step
    averaged = case_over_steps(model, case, dt, first, round(remaining / dt))
    if averaged is not case:
        case = averaged
        of_case = _prepared(case).parts
    if length.rest:
        run = functools.partial(
            simulate, model, case, dt=dt, checkpointing=checkpointing, devices=devices,
            column_block=column_block, means=means, step_starts=step_starts,
        )  # fmt: skip
        return _with_shorter_end(run, length, start, dt)
    parts = of_model.settled(precision), of_case.settled(precision), Parts.of(start)
    mesh = None
    if devices is not None:
        model, case, start = (part.structure.tree(part.arrays) for part in parts)
        check_not_mapped((model, case, start))
        has_columns = columns_of(model, case, start)
        mesh = column_mesh(devices, batch_shape_of((model, case))[-1])
        parts = tuple(map(Parts.of, shard_columns((model, case, start), has_columns, mesh)))
    layout = _AUTO if checkpointing is None else checkpointing
    options = _Options(*length[:2], layout, means, step_starts, mesh, column_block)
    arrays, structures = zip(*(part[:2] for part in parts), strict=True)
    columns_at_most = max(array.size for part in arrays for array in part)
    n_states = (length.n_frames + 1) * (1 + bool(means) + step_starts)
    run = functools.partial(_simulate, dt=np.asarray(dt, precision), structures=structures, options=options)
    if (
        is_mapped(arrays)  # one column under jax.vmap runs as a batch, which is faster: see `mapping`
        and start is None
        and mesh is None
        and not batch_shape_of((model, case))
        and accepts_batches((model, case))
    ):
        return run_last(run, arrays, (*map(_axes_before_batch, parts[:2]), ()))
    with _enough_memory(model, case, n_states, columns_at_most, mesh):
        return run(arrays)


def _axes_before_batch(parts: Parts) -> tuple[int, ...]:
    """Number of axes before the batch axes for each array of a tree; -1 for arrays without batch axes."""
    tree = parts.structure.tree(parts.arrays)
    leaves = zip(jax.tree.leaves(tree), jax.tree.leaves(leading_axes(tree)), strict=True)
    return tuple(axes for leaf, axes in leaves if eqx.is_array(leaf) or type(leaf) is float)


def _wrong_kinds(model: object, case: object, start: object) -> str:
    """Message for arguments that are not a model, a case and a restart."""
    if isinstance(model, Model) and isinstance(case, Case):
        return f"simulate: expected start=trajectory.restart(frame), got {type(start).__name__}."
    got = f"{type(model).__name__} and {type(case).__name__}"
    remedy = getattr(model, "remedy", "call tl.simulate(tl.Model(closure), case)")
    if isinstance(model, Case) and isinstance(case, Model):
        remedy = "swap them"
    elif isinstance(model, AbstractClosure):
        remedy = f"wrap the closure: tl.Model({type(model).__name__}(...))"
    return f"simulate: expected a Model and a Case, got {got}; {remedy}."


_LARGE = 1e8
"""Bytes of frames above which free memory is checked, because the check takes longer than a short run."""


def _least_bytes(n_states: int, columns: int, case: Case) -> float:
    """Lower bound of the memory of saved states [bytes]: u, v, temperature and salinity of all columns."""
    return n_states * 4.0 * columns * case.grid.n_cells * case.grid.z_face.dtype.itemsize


@contextlib.contextmanager
def _enough_memory(
    model: Model, case: Case, n_states: int, columns_at_most: int, mesh: Mesh | None
) -> Iterator[None]:
    """Raise `MemoryError`, with a remedy, for frames that do not fit, before or while they are computed."""

    def message(got: str) -> str:
        columns = math.prod(batch_shape_of((model, case)))
        return (
            f"simulate: expected memory for {n_states} saved states of {columns} columns, at least "
            f"{_least_bytes(n_states, columns, case) / 1e9:.3g} GB, got {got}; save less often "
            "(output_interval), take fewer columns, or write the run piece by piece (streaming.run_to_file, "
            "or tunax-lite map)."
        )

    if _least_bytes(n_states, columns_at_most, case) > _LARGE and not is_traced((model, case)):
        with contextlib.suppress(RuntimeError):  # a system that does not report it
            devices = list(mesh.devices.flat) if mesh is not None else jax.devices()[:1]
            on_host = devices[0].platform == "cpu"
            free = free_memory(devices[0]) * (1 if on_host else len(devices))
            if _least_bytes(n_states, math.prod(batch_shape_of((model, case))), case) > free:
                raise MemoryError(message(f"{free / 1e9:.3g} GB that are free"))
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        raise MemoryError(message(str(error).splitlines()[0])) from error


def _with_shorter_end(
    run: Callable[..., Trajectory], length: Length, start: Restart | None, dt: float
) -> Trajectory:
    """Run the complete frames with their usual program, then the remaining steps as one frame."""
    last_frame = {"duration": length.rest * dt, "output_interval": length.rest * dt}
    if not length.n_frames:
        return run(start=start, **last_frame)
    interval = length.steps_per_frame * dt
    complete = run(start=start, duration=length.n_frames * interval, output_interval=interval)
    shorter = run(start=complete.restart(), **last_frame)

    def frames(each: Trajectory) -> tuple:
        return each.time, each.step, each.state, each.clo_state, each.means, each.step_starts

    joined = jax.tree.map(lambda a, b: jnp.concatenate([a, b[1:]]), frames(complete), frames(shorter))
    return Trajectory(complete.grid, *joined)
