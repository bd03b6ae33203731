"""The uncertain column: perturbed and estimated quantities, and the run of an ensemble through a window.

An ensemble is a batch of columns, members last. Besides the water, a member has autoregressive processes,

    c(t + dt) = exp(-dt / T) c(t) + s sqrt(1 - exp(-2 dt / T)) xi,    xi ~ N(0, 1),

which are added to a flux (a bias), multiply it (exp(c) for a scale), or are correlated errors of
observations; and parameters of the closure in the unconstrained space of their priors.

Sources: Evensen (2003), Ocean Dyn. 53, 343-367, eq. 42-45, for the processes.
"""

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...calibration.parameters import ParameterTable
from ...column.arguments import case_over_steps
from ...column.case import Case
from ...column.checkpointing import AutoCheckpointing
from ...column.corrections import CORRECTIONS, CorrectedForcing
from ...column.integrate import Carry, advance, integrate, start_of
from ...column.model import Model, batched_case
from ...column.observables import ColumnState, unit_of_difference
from ...column.trajectory import Restart
from ...declarations import setting
from .observing import Operator

Knots = Float[Array, "process knot member"]
OBSERVATIONS = "observations"
"""Value of `Process.of` for errors of the observations."""
_UNITS = {
    field.name: field.metadata["vector"]["unit"]
    for field in dataclasses.fields(CorrectedForcing)
    if "vector" in field.metadata
}


class Process(eqx.Module):
    """An autoregressive process of a flux, or of the errors of the observations.

    Args:
        of: name of a correction such as `heat_flux_bias`, or `observations`.
        standard_deviation: s [unit of the correction or of the observed variable]; for a scale, standard
            deviation of its logarithm [1].
        memory: T [s]; with years, the error of observations is the bias of an instrument.
        stream: label of the stream with these errors, such as `temperature -20`; by default all. Only with
            `observations`.
    """

    of: str = setting(choices=(*CORRECTIONS, OBSERVATIONS))
    standard_deviation: float = setting(above=0.0)
    memory: float = setting(86400.0, above=0.0)
    stream: str | None = setting(None)

    @property
    def label(self) -> str:
        """Name of the correction or of the observations with these errors."""
        return self.of if self.stream is None else f"{self.of} {self.stream}"

    def decay_factor(self, interval: float) -> float:
        """Decay of a departure over an interval [s], exp(-dt / T) [1]."""
        return math.exp(-interval / self.memory)


class ProfileError(eqx.Module):
    """Uncertainty of an initial profile, with a Gaussian correlation between heights.

    Args:
        variable: name of the profile.
        standard_deviation: standard deviation at the surface [unit of the variable].
        length: correlation length of the errors [m].
        decay: e-folding depth of the standard deviation [m]; `None` if it is constant.
        growth: standard deviation at the surface of errors of the same shape that the members gain in one
            day, such as by advection [unit of the variable]. It grows with the square root of time.
    """

    variable: str = setting(choices=("temperature", "salinity", "u", "v"))
    standard_deviation: float = setting(at_least=0.0)
    length: float = setting(30.0, above=0.0)
    decay: float | None = setting(None, above=0.0)
    growth: float = setting(0.0, at_least=0.0)

    def factor(self, z: Float[Array, " center"]) -> Float[Array, "center mode"]:
        """Square root of the covariance on heights [m], B = L Lᵀ with the modes of a Gaussian."""
        return self.standard_deviation * self.shape(z)

    def shape(self, z: Float[Array, " center"]) -> Float[Array, "center mode"]:
        """Square root of the correlation on heights [m]; with `decay`, relative to the surface."""
        distance = (z[:, None] - z[None]) / self.length
        value, vector = jnp.linalg.eigh(jnp.exp(-0.5 * distance**2))
        modes = vector * jnp.sqrt(jnp.maximum(value, 0.0))
        return modes if self.decay is None else jnp.exp(z / self.decay)[:, None] * modes


class Ensemble(eqx.Module):
    """Members at one time.

    Args:
        now: water and turbulence, members last.
        processes: value of each process, `(n_processes, n_members)`.
        parameters: unconstrained parameters of the closure and the case, `(n_parameters, n_members)`.
    """

    now: Restart
    processes: Float[Array, "process member"]
    parameters: Float[Array, "parameter member"]

    @property
    def n_members(self) -> int:
        return self.processes.shape[-1]

    def mean(self) -> "Ensemble":
        """Mean of the members, as an ensemble of one; averages each array, of water and of turbulence."""

        def middle(leaf):
            return jnp.mean(leaf, axis=-1, keepdims=True) if jnp.ndim(leaf) else leaf

        return jax.tree.map(middle, self)


class System(eqx.Module):
    """A column with its uncertainties and observation operators.

    Args:
        model, case: model and case of one column.
        dt: time step [s].
        operators: observation operators, one for each stream.
        processes: autoregressive errors of fluxes and observations.
        profiles: errors of the initial profiles.
        parameters: estimated parameters; `None` for none.
        average: centred averaging time of every observation [s]; 0 for instantaneous values.
    """

    model: Model
    case: Case
    dt: float = eqx.field(static=True)
    operators: tuple[Operator, ...]
    processes: tuple[Process, ...] = ()
    profiles: tuple[ProfileError, ...] = ()
    parameters: ParameterTable | None = eqx.field(default=None, static=True)
    average: float = eqx.field(default=0.0, static=True)

    def __post_init__(self):
        self.case = case_over_steps(self.model, self.case, self.dt)

    def __check_init__(self):
        for process in self.processes:
            if process.stream is not None and not (
                process.of == OBSERVATIONS and self.affected_streams(process).any()
            ):
                labels = ", ".join(operator.label for operator in self.operators)
                raise ValueError(
                    f"processes: expected a stream among {labels}, of a process of `{OBSERVATIONS}`, got "
                    f"{process.stream} of `{process.of}`; correct it, or leave it out."
                )

    def unit_of(self, process: Process) -> str:
        """Unit of a process; 1 for the logarithm of a scale, and for converted streams or several units."""
        if process.of != OBSERVATIONS:
            return _UNITS[process.of]
        is_affected = self.affected_streams(process)
        affected = [each for each, applies in zip(self.operators, is_affected, strict=True) if applies]
        tracers = self.case.tracer_units
        units = {
            "1" if each.is_converted else unit_of_difference(each.variable, tracers) for each in affected
        }
        return units.pop() if len(units) == 1 else "1"

    def affected_streams(self, process: Process) -> np.ndarray:
        """Return 1.0 for each stream with the errors of a process of `observations`, and 0.0 for others."""
        labels = [operator.label for operator in self.operators]
        return np.array([float(process.stream in (None, label)) for label in labels])

    def members(self, key: Array, n_members: int) -> Ensemble:
        """Draw the first ensemble: perturbed profiles, processes and parameters.

        The perturbations sum to zero over the members; a single member has none.
        """
        keys = jax.random.split(key, len(self.profiles) + 2)
        z = self.case.grid.z_center
        start = self.case.start_state.broadcast((n_members,))
        for error, subkey in zip(self.profiles, keys, strict=False):
            perturbation = error.factor(z) @ centred(jax.random.normal(subkey, (z.size, n_members)))
            values = getattr(start, error.variable) + perturbation
            start = dataclasses.replace(start, **{error.variable: values})
        size = jnp.asarray([each.standard_deviation for each in self.processes], float)
        shape = len(self.processes), n_members
        processes = size[:, None] * centred(jax.random.normal(keys[-1], shape))
        first = jnp.zeros((0,)) if self.parameters is None else self.parameters.start()
        spread = centred(jax.random.normal(keys[-2], (first.size, n_members)))
        case = dataclasses.replace(self.case.unlabelled(), initial_state=start, initial_correction=None)
        return Ensemble(_start(self.model, case), processes, first[:, None] + spread)

    def draw_processes(self, ensemble: Ensemble, key: Array, interval: float, n_knots: int) -> Knots:
        """Draw the processes of each member on knots an interval [s] apart, from the values at the start."""
        decay = np.array([each.decay_factor(interval) for each in self.processes])[:, None]
        size = np.array([each.standard_deviation for each in self.processes])[:, None]
        decay, scale = (jnp.asarray(each, float) for each in (decay, size * np.sqrt(1.0 - decay**2)))
        shape = (n_knots - 1, *ensemble.processes.shape)
        noise = centred(jax.random.normal(key, shape)) * scale
        values = [ensemble.processes]
        for each in noise:
            values.append(decay * values[-1] + each)
        return jnp.stack(values, axis=1)

    @eqx.filter_jit
    def with_model_error(self, ensemble: Ensemble, key: Array, duration: float) -> Ensemble:
        """Add random errors that profiles gain over a duration [s]; a single member has none."""
        state, z = ensemble.now.state, self.case.grid.z_center
        for error, subkey in zip(self.profiles, jax.random.split(key, len(self.profiles)), strict=True):
            if error.growth:
                random = centred(jax.random.normal(subkey, (z.size, ensemble.n_members)))
                size = error.growth * math.sqrt(duration / 86400.0)
                values = getattr(state, error.variable) + size * error.shape(z) @ random
                state = dataclasses.replace(state, **{error.variable: values})
        return dataclasses.replace(ensemble, now=dataclasses.replace(ensemble.now, state=state))

    def decaying_processes(self, ensemble: Ensemble, interval: float, n_knots: int) -> Knots:
        """Processes that decay from their values, without noise."""
        decay = np.array([each.decay_factor(interval) for each in self.processes])[:, None]
        factor = jnp.asarray(decay ** np.arange(float(n_knots)), ensemble.processes.dtype)
        return ensemble.processes[:, None] * factor[..., None]


def centred(random: Array) -> Array:
    """Random numbers without their mean over the members, with unchanged variance; zero for one member."""
    n = random.shape[-1]
    if n == 1:
        return jnp.zeros_like(random)
    return (random - jnp.mean(random, axis=-1, keepdims=True)) * math.sqrt(n / (n - 1))


@eqx.filter_jit
def _start(model: Model, case: Case) -> Restart:
    return start_of(model, batched_case(model, case))


def run_window(
    system: System,
    start: Restart,
    knots: Knots,
    parameters: Float[Array, "parameter member"],
    times: Float[Array, " knot"],
    steps: tuple[int, int],
) -> tuple[Restart, Float[Array, "frame stream member"]]:
    """Return the members at the end of a window, and the observations predicted at the ends of its frames.

    Members are run from `start` for `steps`: frames, and steps per frame. Processes are linear between knots
    at `times`. Predictions include the autoregressive errors of observations. With an averaging time, members
    are run for half of it beyond the window, with constant processes.
    """
    model, case = _with_values(system, knots, parameters, times)
    case = batched_case(model, case)
    half = round(0.5 * system.average / (steps[1] * system.dt))

    def save(carry: Carry, _) -> tuple[Array, Restart | None]:
        state = carry.now.state if carry.means is None else carry.means[0]
        water = ColumnState(state, case.grid, case.equation_of_state)
        predicted = jnp.stack([operator(water) for operator in system.operators])
        return predicted, carry.now if half else None

    end, (observed, ends) = integrate(
        model, case, start, system.dt, n_frames=steps[0] + half, steps_per_frame=steps[1],
        checkpointing=AutoCheckpointing(), save=save, means=half > 0,
    )  # fmt: skip
    if half:
        end = jax.tree.map(lambda every: every[steps[0] - 1], ends)
        n_left = (system.case.duration - times[0]) / (steps[1] * system.dt)  # frames with forcing
        observed = _centred_means(observed, half, n_left)
    observational = [index for index, each in enumerate(system.processes) if each.of == OBSERVATIONS]
    if observational:
        streams = np.stack([system.affected_streams(system.processes[index]) for index in observational])
        errors = (processes_at_frames(knots[index], times, steps, system.dt) for index in observational)
        observed = observed + sum(
            error[:, None] * part[:, None] for error, part in zip(errors, streams, strict=True)
        )
    return end, observed


def processes_at_frames(
    values: Float[Array, "knot column"], times: Float[Array, " knot"], steps: tuple[int, int], dt: float
) -> Float[Array, "frame column"]:
    """Values of processes at the ends of frames, linear between the knots at times [s]."""
    ends = times[0] + jnp.asarray(np.arange(1.0, steps[0] + 1.0) * steps[1] * dt, times.dtype)
    return jax.vmap(lambda column: jnp.interp(ends, times, column), in_axes=-1, out_axes=-1)(values)


def _centred_means(frames: Float[Array, "frame stream member"], half: int, n_left: Array) -> Array:
    """Average `half` frames on both sides of the end of each frame, leaving out frames without forcing."""
    n = frames.shape[0]
    counted = (np.arange(1.0, n + 1.0) < n_left + 0.5).astype(frames.dtype)
    sums, numbers = (
        jnp.concatenate([jnp.zeros_like(each[:1]), jnp.cumsum(each, axis=0)])
        for each in (frames * counted[:, None, None], counted)
    )
    last = np.arange(1, n - half + 1)
    first, end = np.maximum(last - half, 0), last + half
    number = jnp.maximum(numbers[end] - numbers[first], 1.0)
    return (sums[end] - sums[first]) / number[:, None, None]


run_members = eqx.filter_jit(run_window)
"""`run_window`, compiled once for each number of members and frames."""


def _with_values(system: System, knots: Knots, parameters: Array, times: Array) -> tuple[Model, Case]:
    """Model and case with the corrections and parameters of the members."""
    model, case = system.model, system.case.unlabelled()
    if system.parameters is not None:
        model = system.parameters.to_pytree(model, parameters)
        case = system.parameters.to_pytree(case, parameters)
    corrections: dict[str, Array] = {}
    for each, values in zip(system.processes, knots, strict=True):
        if each.of != OBSERVATIONS:
            corrections[each.of] = corrections[each.of] + values if each.of in corrections else values
    if corrections:
        corrections = {name: jnp.exp(c) if name.endswith("_scale") else c for name, c in corrections.items()}
        forcing = CorrectedForcing(case.forcing, times, **corrections)  # pyright: ignore[reportArgumentType]
        case = dataclasses.replace(case, forcing=forcing)
    state = case.start_state.broadcast(knots.shape[-1:])
    return model, dataclasses.replace(case, initial_state=state, initial_correction=None)


@eqx.filter_jit
def spin_up(system: System, ensemble: Ensemble, n_steps: int | Array) -> Ensemble:
    """Run an ensemble for a number of steps with constant processes."""
    constant = jnp.stack([ensemble.processes] * 2, axis=1)
    model, case = _with_values(system, constant, ensemble.parameters, jnp.array([0.0, 1.0]))
    now = advance(model, batched_case(model, case), ensemble.now, system.dt, n_steps)
    return dataclasses.replace(ensemble, now=now)
