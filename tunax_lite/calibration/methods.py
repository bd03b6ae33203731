"""Calibration methods, with an ask/tell interface.

One iteration is one evaluation, of the kind that the method needs. The state of a method is a tree of arrays
that can be saved, so that a calibration continues bit for bit from a checkpoint. Steps never start from an
evaluation that is not finite.

Gradient methods: Adam and limited-memory BFGS. Least-squares methods: Levenberg-Marquardt and ensemble Kalman
inversion.

With the gradient g and the Gauss-Newton matrix H of the loss, the step d of Levenberg-Marquardt solves

    (H + damping D) d = -g,    D = diag(H) + loss

and is limited to the largest step. With the loss in D, parameters to which the residuals are insensitive stay
where they are, since unconstrained numbers are of order one. A step is accepted if the loss falls. The
damping follows the gain, the ratio of the decrease of the loss to the predicted decrease.

An ensemble moves from the prior to the posterior. With the unconstrained vectors x_i of M members and
residuals r_i = (model_i - observed) / noise, deviations

    X = (x_i - mean) / sqrt(M - 1),    Y = (r_i - mean) / sqrt(M - 1)

represent the covariances of the ensemble. A step of length h in artificial time,

    mean <- mean - h X (1 + h YᵀY)⁻¹ Yᵀ mean(r),    X <- X (1 + h YᵀY)^(-1/2)

is the Kalman update for an error covariance 1 / h. Steps whose lengths sum to 1 lead from the prior to the
posterior, exactly if the model is linear in x. Only products of residuals of members are needed.
"""

import abc
import dataclasses
import math
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from .._types import ScalarLike
from ..declarations import check_settings, named, setting
from .parameters import UnconstrainedVector
from .problem import (
    AbstractEvaluator,
    EnsembleEvaluator,
    Evaluation,
    GradientEvaluator,
    NormalEquationsEvaluator,
)

F = TypeVar("F")


class MethodState(eqx.Module):
    """State shared by all methods."""

    trial: UnconstrainedVector  # to evaluate next; the mean of an ensemble
    accepted: Bool[Array, ""]  # true if the next step starts from the last evaluation
    finished: Bool[Array, ""]  # true if the method has ended


class AbstractMethod(abc.ABC):
    """A calibration method: a dataclass of settings; `ValueError` for those out of range."""

    evaluator: ClassVar[type[AbstractEvaluator]]
    end: ClassVar[str]  # why the method ends, for a message

    def __post_init__(self):
        check_settings(self)  # pyright: ignore[reportArgumentType]

    @abc.abstractmethod
    def init(self, x: UnconstrainedVector) -> MethodState:
        """State before the first evaluation, at x or, for an ensemble, at members around x."""

    @abc.abstractmethod
    def ask(self, state: Any) -> tuple[Any, ...]:  # types differ between methods
        """Arguments of the next evaluation."""

    @abc.abstractmethod
    def tell(self, state: Any, evaluation: Evaluation) -> MethodState:  # its state class
        """State after an evaluation; `FloatingPointError` if there is no point to continue from."""


def compiled(method: F) -> F:
    """Compile a function of arrays as one program: compiling its operations one by one takes seconds."""
    return cast(F, jax.jit(cast(Callable, method), static_argnums=0))


def _optax_update(transformation: Any, gradient, state, x):  # Any: optax is slow to import
    """Update of an Optax transformation, without strict type promotion, which Optax violates."""
    with jax.numpy_dtype_promotion("standard"):
        return transformation.update(gradient, state, x)


class AdamState(MethodState):
    """State of Adam; the trial is `base + shortening * update`."""

    base: UnconstrainedVector  # last finite evaluation
    update: UnconstrainedVector
    shortening: Float[Array, ""]  # halved after a failure, doubled up to 1 after a finite evaluation
    step: Int[Array, ""]  # number of finite evaluations
    transformation: PyTree  # Optax's state: the moments


@named("adam")
@dataclasses.dataclass(frozen=True)
class Adam(AbstractMethod):
    """Adam (Kingma and Ba 2015) with optional decay of the learning rate and gradient clipping.

    With `n_steps`, the rate rises linearly over `n_warmup` steps, and falls as half a cosine until `n_steps`.

    Args:
        learning_rate: largest rate: approximate change per step of each unconstrained number.
        n_steps: number of accepted steps at which the decay ends; `None` for a constant rate.
        n_warmup: steps over which the rate rises, fewer than `n_steps`; must be 0 if `n_steps` is `None`.
        final_fraction: ratio of the last rate to the largest [1]; 1 for no decay.
        beta_1, beta_2: decay rates of the means of the gradient and its square.
        largest_gradient: norm to which longer gradients are scaled down; `None` for no limit.
    """

    learning_rate: float = setting(0.05, above=0.0, at_most=10.0)
    n_steps: int | None = setting(None, at_least=1)
    n_warmup: int = setting(0, at_least=0)
    final_fraction: float = setting(0.05, at_least=0.0, at_most=1.0)
    beta_1: float = setting(0.9, at_least=0.0, below=1.0)
    beta_2: float = setting(0.999, at_least=0.0, below=1.0)
    largest_gradient: float | None = setting(None, above=0.0)

    evaluator: ClassVar = GradientEvaluator
    end: ClassVar = ""  # never used: Adam does not end by itself

    def __post_init__(self):
        super().__post_init__()
        if self.n_warmup >= (self.n_steps or 1):
            raise ValueError(
                f"Adam: expected n_steps above n_warmup = {self.n_warmup}, got n_steps {self.n_steps}."
            )

    def rate(self, step: ScalarLike) -> ScalarLike:
        """Learning rate at an accepted step, counted from 0."""
        if self.n_steps is None:
            return self.learning_rate
        from optax.schedules import warmup_cosine_decay_schedule  # slow import

        # A rate of 0 at the first step would waste an evaluation.
        numbers = self.n_warmup, self.n_steps, self.final_fraction
        schedule = warmup_cosine_decay_schedule(1.0 / (self.n_warmup + 1), 1.0, *numbers)
        return self.learning_rate * jnp.asarray(schedule(jnp.asarray(step, float)))

    @property
    def _transformation(self) -> Any:  # of optax
        import optax

        adam = optax.scale_by_adam(self.beta_1, self.beta_2)
        if self.largest_gradient is None:
            return adam
        return optax.chain(optax.clip_by_global_norm(self.largest_gradient), adam)

    @compiled
    def init(self, x: UnconstrainedVector) -> AdamState:
        no, zeros, transformation = jnp.asarray(False), jnp.zeros_like(x), self._transformation.init(x)
        full, step = jnp.ones((), x.dtype), jnp.zeros((), jnp.int32)
        return AdamState(x, no, no, x, zeros, full, step, transformation)

    def ask(self, state: AdamState) -> tuple[UnconstrainedVector]:
        return (state.trial,)

    def tell(self, state: AdamState, evaluation: Evaluation) -> AdamState:
        if not evaluation.is_finite:
            return self._shorten(state)
        return self._advance(state, jnp.asarray(evaluation.gradient))

    @compiled
    def _shorten(self, state: AdamState) -> AdamState:
        # Keep moments and starting point of the last finite evaluation.
        shortening = 0.5 * state.shortening
        trial = state.base + shortening * state.update
        return dataclasses.replace(state, trial=trial, accepted=jnp.asarray(False), shortening=shortening)

    @compiled
    def _advance(self, state: AdamState, gradient: UnconstrainedVector) -> AdamState:
        adam = self._transformation
        scaled, transformation = _optax_update(adam, gradient, state.transformation, state.trial)
        update = (-self.rate(state.step.astype(float)) * jnp.asarray(scaled)).astype(gradient.dtype)
        # After a rejection, double the step until it has its full length.
        shortening = jnp.minimum(1.0, 2.0 * state.shortening).astype(gradient.dtype)
        trial, accepted = state.trial + shortening * update, jnp.asarray(True)
        return AdamState(
            trial, accepted, state.finished, state.trial, update, shortening, state.step + 1, transformation
        )


class LBFGSState(MethodState):
    """State of L-BFGS: start of the line search with loss and gradient, its direction and step length."""

    base: UnconstrainedVector
    base_loss: Float[Array, ""]
    base_gradient: UnconstrainedVector
    direction: UnconstrainedVector
    step_length: Float[Array, ""]
    memory: PyTree  # of Optax: pairs of steps and gradient changes
    has_memory: Bool[Array, ""]  # true if the direction uses the memory


@named("lbfgs")
@dataclasses.dataclass(frozen=True)
class LBFGS(AbstractMethod):
    """Limited-memory BFGS with a backtracking line search, which also backtracks from non-finite values.

    Args:
        memory_size: number of stored pairs of steps and gradient changes.
        largest_step: largest change of any unconstrained number in one step.
        sufficient_decrease: required fraction of the decrease predicted by the slope (Armijo).
        backtracking: factor of the step length after a rejection.
        shortest_step: smallest step length; below it the search restarts along the gradient, and ends if that
            fails too.

    Source: Nocedal and Wright (2006), Numerical Optimization, algorithms 3.1 and 7.5.
    """

    memory_size: int = setting(10, at_least=1, at_most=1000)
    largest_step: float = setting(0.5, above=0.0, finite=False)
    sufficient_decrease: float = setting(1e-4, above=0.0, below=1.0)
    backtracking: float = setting(0.5, above=0.0, below=1.0)
    shortest_step: float = setting(1e-4, above=0.0, below=1.0)

    evaluator: ClassVar = GradientEvaluator
    end: ClassVar = "no step was found that lowers the loss"

    @property
    def _transformation(self) -> Any:  # of optax
        import optax

        return optax.scale_by_lbfgs(self.memory_size)

    @compiled
    def init(self, x: UnconstrainedVector) -> LBFGSState:
        no, zeros = jnp.asarray(False), jnp.zeros_like(x)
        infinite, full = jnp.full((), jnp.inf, x.dtype), jnp.ones((), x.dtype)
        memory = self._transformation.init(x)
        return LBFGSState(x, no, no, x, infinite, zeros, zeros, full, memory, no)

    def ask(self, state: LBFGSState) -> tuple[UnconstrainedVector]:
        return (state.trial,)

    def tell(self, state: LBFGSState, evaluation: Evaluation) -> LBFGSState:
        loss, slope = evaluation.loss, float(np.vdot(state.base_gradient, state.direction))
        required_change = self.sufficient_decrease * float(state.step_length) * slope
        if evaluation.is_finite and loss <= float(state.base_loss) + required_change:
            return self._learn(state, loss, jnp.asarray(evaluation.gradient))
        if self.backtracking * float(state.step_length) >= self.shortest_step:
            return self._backtrack(state)
        if bool(state.has_memory):
            return self._restart(state)
        return dataclasses.replace(state, accepted=jnp.asarray(False), finished=jnp.asarray(True))

    @compiled
    def _learn(self, state: LBFGSState, loss: ScalarLike, gradient: UnconstrainedVector) -> LBFGSState:
        """Start a search from the accepted point, after updating the memory."""
        change = jnp.vdot(state.trial - state.base, gradient - state.base_gradient)
        # Without positive curvature, as at the first evaluation, forget all steps.
        empty = self._transformation.init(gradient)
        memory = jax.tree.map(lambda kept, none: jnp.where(change > 0.0, kept, none), state.memory, empty)
        return self._search_from(state.trial, jnp.asarray(loss, gradient.dtype), gradient, memory)

    @compiled
    def _backtrack(self, state: LBFGSState) -> LBFGSState:
        step_length = self.backtracking * state.step_length
        trial = state.base + step_length * state.direction
        return dataclasses.replace(state, trial=trial, accepted=jnp.asarray(False), step_length=step_length)

    @compiled
    def _restart(self, state: LBFGSState) -> LBFGSState:
        """Start a search along the gradient from the same point."""
        empty = self._transformation.init(state.base)
        restarted = self._search_from(state.base, state.base_loss, state.base_gradient, empty)
        return dataclasses.replace(restarted, accepted=jnp.asarray(False))

    def _search_from(self, base, loss, gradient, memory) -> LBFGSState:
        empty = self._transformation.init(gradient)
        with_memory = _optax_update(self._transformation, gradient, memory, base)
        without = _optax_update(self._transformation, gradient, empty, base)
        # Round-off can turn the direction uphill; then follow the gradient.
        has_memory = (memory.count > 0) & (jnp.vdot(jnp.asarray(with_memory[0]), gradient) > 0.0)
        scaled, new_memory = jax.tree.map(lambda a, b: jnp.where(has_memory, a, b), with_memory, without)
        direction = -scaled
        largest = jnp.max(jnp.abs(direction))
        direction = direction * jnp.minimum(1.0, self.largest_step / jnp.maximum(largest, 1e-300))
        trial, finished, full = base + direction, ~jnp.any(gradient != 0.0), jnp.ones((), gradient.dtype)
        search = base, loss, gradient, direction, full, new_memory, has_memory
        return LBFGSState(trial, jnp.asarray(True), finished, *search)


_GOOD, _POOR = 0.75, 0.25
"""Gains above which the damping falls, and below which it rises."""


class LevenbergMarquardtState(MethodState):
    """State of Levenberg-Marquardt: last accepted point, the step from there, and the damping."""

    base: UnconstrainedVector
    base_loss: Float[Array, ""]
    gradient: UnconstrainedVector
    matrix: Float[Array, "parameter parameter"]
    predicted_decrease: Float[Array, ""]
    damping: Float[Array, ""]
    growth: Float[Array, ""]  # factor of the damping after the next rejection


@named("levenberg_marquardt")
@dataclasses.dataclass(frozen=True)
class LevenbergMarquardt(AbstractMethod):
    """Levenberg-Marquardt with Marquardt's scaling and a damping adjusted by the gain ratio.

    An iteration is a run at the trial vector, plus its Jacobian if that reduces the loss. A rejected trial,
    including one that is not finite, costs one run and increases the damping until the step is shorter.

    Args:
        damping: initial damping.
        largest_step: largest change of any unconstrained number in one step.
        decrease: divisor of the damping after a step that lowered the loss nearly as predicted or more.
        tolerance: the method ends when the predicted decrease is less than this fraction of the loss.

    Source: Marquardt (1963), J. SIAM 11, 431-441; thresholds of the gain as in Fletcher (1971), AERE-R6799;
        the growth after rejections of Nielsen (1999), IMM-REP-1999-05, Technical University of Denmark.
    """

    damping: float = setting(1e-2, above=0.0)
    largest_step: float = setting(2.0, above=0.0)
    decrease: float = setting(10.0, above=1.0)
    tolerance: float = setting(1e-6, above=0.0)

    evaluator: ClassVar = NormalEquationsEvaluator
    end: ClassVar = "no step is predicted to lower the loss by more than the tolerance"

    def init(self, x: UnconstrainedVector) -> LevenbergMarquardtState:
        no, infinite, zero = jnp.asarray(False), jnp.asarray(math.inf), jnp.asarray(0.0)
        gradient, matrix = map(jnp.asarray, (np.zeros_like(x), np.zeros((x.size, x.size), x.dtype)))
        damping, growth = jnp.asarray(self.damping), jnp.asarray(2.0)
        return LevenbergMarquardtState(x, no, no, x, infinite, gradient, matrix, zero, damping, growth)

    def ask(self, state: LevenbergMarquardtState) -> tuple[UnconstrainedVector, float]:
        return state.trial, float(state.base_loss)

    def tell(self, state: LevenbergMarquardtState, evaluation: Evaluation) -> LevenbergMarquardtState:
        base = np.asarray(state.base), float(state.base_loss), np.asarray(state.gradient)
        # The evaluator computes the matrix only where the loss is below `base_loss`.
        if not (evaluation.matrix.size and evaluation.is_finite):
            return self._shorter_step(state, base)
        loss, damping = evaluation.loss, float(state.damping)
        if math.isfinite(base[1]):  # the first evaluation follows no step
            gain = (base[1] - loss) / float(state.predicted_decrease)
            damping *= 1.0 / self.decrease if gain > _GOOD else 1.0 if gain > _POOR else 2.0
        at_trial = np.asarray(state.trial), loss, evaluation.gradient, evaluation.matrix
        return self._step(*at_trial, damping, 2.0, True)

    def _shorter_step(
        self, state: LevenbergMarquardtState, base: tuple[np.ndarray, float, np.ndarray]
    ) -> LevenbergMarquardtState:
        """Raise the damping until the step from the same base is shorter than the rejected one.

        At first, damping may not change a step that is limited to the largest one.
        """
        damping, growth = float(state.damping), float(state.growth)
        rejected = (1.0 - 1e-6) * np.linalg.norm(np.asarray(state.trial) - base[0])
        while True:
            damping, growth = growth * damping, 2.0 * growth
            new = self._step(*base, np.asarray(state.matrix), damping, growth, False)
            if bool(new.finished) or np.linalg.norm(np.asarray(new.trial) - base[0]) < rejected:
                return new

    def _step(self, base, loss: float, gradient, matrix, damping: float, growth: float, accepted: bool):
        """Take a step from a point; with few numbers, plain NumPy is faster than compiling."""

        def predicted_decrease(step: np.ndarray) -> float:
            return float(-gradient @ step - 0.5 * step @ matrix @ step)

        scale = np.diag(matrix) + loss
        # If the loss is 0 and depends on no parameter, any positive scale avoids a singular matrix.
        damped = matrix + damping * np.diag(np.where(scale > 0.0, scale, 1.0))
        full = -np.linalg.solve(damped, gradient)
        # Limiting each number separately lets the others move on; a common factor keeps the direction.
        cut = np.clip(full, -self.largest_step, self.largest_step)
        shortened = full * min(1.0, self.largest_step / max(float(np.abs(full).max()), 1e-300))
        step = max(cut, shortened, key=predicted_decrease)
        decrease = predicted_decrease(step)
        finished, numbers = not decrease > self.tolerance * abs(loss), (decrease, damping, growth)
        vectors = jnp.asarray(base + step), jnp.asarray(accepted), jnp.asarray(finished), jnp.asarray(base)
        at_base = jnp.asarray(loss, float), jnp.asarray(gradient), jnp.asarray(matrix)
        return LevenbergMarquardtState(*vectors, *at_base, *(jnp.asarray(x, float) for x in numbers))


class EnsembleKalmanState(MethodState):
    """State of an ensemble: members (`members[:, i]` is a vector), artificial time and step number."""

    members: Float[Array, "parameter member"]
    time: Float[Array, ""]
    step: Int[Array, ""]


@named("ensemble_kalman")
@dataclasses.dataclass(frozen=True)
class EnsembleKalman(AbstractMethod):
    """Ensemble Kalman inversion with an ensemble transform and adaptive steps; needs no derivatives.

    The prior is normal around the first guess, independent in the unconstrained numbers. The data misfit,
    which is the negative log-likelihood, is

        misfit = n_observations * loss / (2 noise²)

    with the mean square as score: all observations together are worth `n_observations` independent ones with
    normal errors of standard deviation `noise`, in units of the scale of the targets. That number is much
    smaller than the number of levels and times, which are far from independent. With the root mean square as
    score, the weights of cases change at every step, and the result is not a posterior.

    An iteration runs all members and their mean; the history records the mean. Members that failed, or
    whose loss far exceeds that of the others, are ignored, and redrawn from the others after the step.

    Args:
        noise: error of observations and model, in units of the scale, for example the root mean square error
            of the best possible model.
        n_members: number of members, larger than the number of parameters.
        n_observations: number of independent observations in all cases together [1].
        prior_spread: standard deviation of the prior of the unconstrained numbers.
        final_time: 1 for the posterior; beyond it the ensemble moves towards the smallest misfit and
            collapses.
        seed: seed of the random numbers.

    Source: Iglesias, Law and Stuart (2013), Inverse Problems 29, 045001; ensemble transform of Bishop et al.
        (2001), Mon. Wea. Rev. 129, 420-436, as in Huang et al. (2022), Inverse Problems 38, 125006; the
        step length of Iglesias and Yang (2021), Inverse Problems 37, 025008.
    """

    noise: float = setting(above=0.0)
    n_members: int = setting(64, at_least=3, at_most=100_000)
    n_observations: float = setting(1.0, above=0.0)
    prior_spread: float = setting(1.0, above=0.0)
    final_time: float = setting(1.0, above=0.0, finite=False)
    seed: int = setting(0, at_least=0)

    evaluator: ClassVar = EnsembleEvaluator
    end: ClassVar = "the ensemble has arrived at its final time"

    def init(self, x: UnconstrainedVector) -> EnsembleKalmanState:
        """Draw members from the prior around x, and transform them to its exact mean and covariance."""
        if self.n_members <= x.size:
            raise ValueError(
                f"EnsembleKalman: expected more members than the {x.size} parameters, because the ensemble "
                f"moves between its members only, got {self.n_members}."
            )
        drawn = _normal(self.seed, 0, (x.size, self.n_members))
        drawn -= drawn.mean(axis=1, keepdims=True)
        factor = np.linalg.cholesky(drawn @ drawn.T / (self.n_members - 1))
        members = np.asarray(x)[:, None] + self.prior_spread * np.linalg.solve(factor, drawn)
        no, time, step = jnp.asarray(False), jnp.zeros((), x.dtype), jnp.zeros((), jnp.int32)
        return EnsembleKalmanState(x, no, no, jnp.asarray(members, x.dtype), time, step)

    def ask(self, state: EnsembleKalmanState) -> tuple[Float[Array, "parameter member"]]:
        return (state.members,)

    def tell(self, state: EnsembleKalmanState, evaluation: Evaluation) -> EnsembleKalmanState:
        time = float(state.time)
        if time >= self.final_time:  # the last evaluation was at the end
            return dataclasses.replace(state, accepted=jnp.asarray(True), finished=jnp.asarray(True))
        good, step = ~evaluation.failed, int(state.step) + 1
        if good.sum() < 2:
            raise FloatingPointError(
                f"EnsembleKalman: expected at least 2 members with a finite loss at iteration {step}, got "
                f"{good.sum()} of {good.size}; choose narrower bounds, a smaller prior_spread or a shorter "
                "time step."
            )
        products = evaluation.products[np.ix_(good, good)] * self.n_observations / self.noise**2
        # Step length of Iglesias and Yang (2021): limits the change of the misfit relative to n_observations.
        misfits, half = 0.5 * np.diag(products), 0.5 * self.n_observations
        mean_misfit, variance = (max(float(x), 1e-300) for x in (misfits.mean(), misfits.var()))
        length = max(half / mean_misfit, math.sqrt(half / variance))
        time, length = min(time + length, self.final_time), min(length, self.final_time - time)
        moved = self._move(np.asarray(state.members)[:, good], products, length)
        # Redraw failed members from the normal distribution of the others.
        mean = moved.mean(axis=1, keepdims=True)
        deviations = (moved - mean) / math.sqrt(moved.shape[1] - 1)
        members = np.empty((moved.shape[0], good.size))
        members[:, good] = moved
        drawn = _normal(self.seed, step, (moved.shape[1], int((~good).sum())))
        members[:, ~good] = mean + deviations @ drawn
        return dataclasses.replace(
            state,
            trial=jnp.asarray(members.mean(axis=1), state.trial.dtype),
            accepted=jnp.asarray(True),
            members=jnp.asarray(members, state.members.dtype),
            time=jnp.asarray(time, state.time.dtype),
            step=jnp.asarray(step, jnp.int32),
        )

    @staticmethod
    def _move(members: np.ndarray, products: np.ndarray, length: float) -> np.ndarray:
        """Return the members after a Kalman step of a length; see the top of this module."""
        n_members = members.shape[1]
        mean = members.mean(axis=1, keepdims=True)
        deviations = members - mean
        # Yᵀ mean(r) and YᵀY, without factors of M - 1.
        to_mean = products.mean(axis=1) - products.mean()
        inner = products - products.mean(axis=0) - to_mean[:, None]
        values, vectors = np.linalg.eigh(0.5 * (inner + inner.T) * length / (n_members - 1))
        values = np.maximum(values, 0.0)
        shift = vectors @ ((vectors.T @ to_mean) / (1.0 + values)) * length / (n_members - 1)
        transform = (vectors / np.sqrt(1.0 + values)) @ vectors.T
        return mean - (deviations @ shift)[:, None] + deviations @ transform


def _normal(seed: int, step: int, shape: tuple[int, int]) -> np.ndarray:
    return np.random.default_rng([seed, step]).standard_normal(shape)
