"""Runs that a calibration must not degrade: their errors with and without its parameters."""

import abc
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from .._types import InnerFaceArray, in_precision, precision_of
from ..closures import AbstractClosure, Constant
from ..column.case import Case
from ..column.forcing import ConstantForcing, SurfaceFluxes
from ..column.integrate import simulate
from ..column.model import Model
from ..column.observables import unit_of_difference
from ..column.terms import Interior
from ..io.water_limits import Extreme
from ..physics.stratification import buoyancy_frequency_squared
from .known import known_parameters, with_case_parameters, with_parameters
from .misfit.comparison import Comparison, errors_and_water, root_mean_square_errors
from .misfit.target import Target

CaseReport = Callable[[float, str], None]
"""Called with the fraction that is done, and what was done last."""

WaterReport = Callable[[Sequence[Extreme]], object]
"""Called with the water of a run that cannot be, or is unlikely."""

LARGEST_GROWTH = 0.1
"""By which share an error may grow."""

Error = tuple[str, str, float]
"""A variable of a run, its unit, and its error in this unit."""


@dataclasses.dataclass(frozen=True)
class CheckRow:
    """Root mean square errors before and after a calibration [unit]; NaN if a run failed."""

    check: str
    variable: str
    unit: str
    uncalibrated: float
    calibrated: float

    @property
    def growth(self) -> float:
        """Growth of the error, as a fraction of the uncalibrated one; negative if it shrinks."""
        if self.calibrated == self.uncalibrated:
            return 0.0
        return self.calibrated / self.uncalibrated - 1.0 if self.uncalibrated > 0.0 else math.inf

    @property
    def too_large(self) -> bool:
        """Whether the error grows by more than allowed, or the calibrated run failed."""
        return not self.growth <= LARGEST_GROWTH


class AbstractCheck(abc.ABC):
    """A run with a reference; `model` holds the original closure of the run."""

    name: str
    model: Model
    kind: ClassVar[str]

    @abc.abstractmethod
    def errors(self, model: Model) -> tuple[Error, ...]:
        """Errors of a model used instead of the original one."""


def run_checks(
    checks: Sequence[AbstractCheck],
    before: AbstractClosure,
    after: AbstractClosure,
    values: Mapping[str, float],
    report: CaseReport = lambda fraction, name: None,
) -> tuple[CheckRow, ...]:
    """Errors of all checks without and with calibrated parameters; `report` as in `errors_by_label`.

    A run whose closure is of the calibrated class keeps its own constants, except the calibrated ones; any
    other run uses the closures before and after the calibration.

    Calibrated values are by path; those outside the closure are ignored. Raises `ValueError` for a parameter
    that the closure of a run does not have.
    """
    known = known_parameters(after)
    values = {path: value for path, value in values.items() if path in known}
    rows = []
    for number, check in enumerate(checks):
        own, pair = check.model.closure, (before, after)
        if type(own) is type(after):
            try:
                pair = own, with_parameters(own, values)
            except ValueError as error:
                raise ValueError(f"check {check.name}: {error}") from None
        first, second = (check.errors(eqx.tree_at(lambda m: m.closure, check.model, one)) for one in pair)
        rows += [CheckRow(check.name, *a, b[-1]) for a, b in zip(first, second, strict=True)]
        report((number + 1) / len(checks), check.name)
    return tuple(rows)


_INTERVAL = 3600.0  # between the times of comparison [s], or the step if that is longer


@dataclasses.dataclass(frozen=True)
class EntrainmentLaw(AbstractCheck):
    """Mixed layer depth under constant wind without rotation: 1.05 u* sqrt(t / N).

    The model's depth is that of the largest temperature gradient, located between faces by a parabola through
    the largest difference and its two neighbours.

    Args:
        name, model: of the run.
        case: at rest, linearly stratified, under constant stress only; `ValueError` for others.
        dt, duration: time step and length of the run [s].
        start: first time of comparison [s].

    Source: Kato and Phillips (1969), J. Fluid Mech. 37, 643-655; Price (1979), J. Fluid Mech. 90, 509-527.
    """

    name: str
    model: Model
    case: Case
    dt: float
    duration: float
    start: float = 7200.0
    kind: ClassVar[str] = "entrainment_law"

    def __post_init__(self):
        case, n_squared = self.case, np.asarray(self._stratification)
        fluxes = vars(case.forcing.fluxes) if isinstance(case.forcing, ConstantForcing) else {}
        given = {name for name, flux in fluxes.items() if flux is not None}
        stress_alone = given and given - {"tracer_fluxes"} <= {"stress_u", "stress_v"}
        linear = n_squared.min() > 0.0 and np.ptp(n_squared) < 0.05 * n_squared.mean()
        if not (stress_alone and linear and float(case.coriolis_parameter) == 0.0):
            raise ValueError(
                f"{self.name}: expected a linearly stratified case without rotation under a constant stress "
                "alone, for which the law of entrainment holds, got another one; choose another comparison."
            )

    def law(self, time: np.ndarray) -> np.ndarray:
        """Depth [m] at times [s]."""
        case = self.case
        assert isinstance(case.forcing, ConstantForcing)
        fluxes = case.forcing.fluxes
        stress = [float(x) for x in (fluxes.stress_u, fluxes.stress_v) if x is not None]
        friction_velocity = math.sqrt(math.hypot(*stress) / float(case.equation_of_state.reference_density))
        n_squared = float(jnp.mean(self._stratification))
        return 1.05 * friction_velocity * np.sqrt(time / math.sqrt(n_squared))

    @property
    def _stratification(self) -> InnerFaceArray:
        case = self.case
        return buoyancy_frequency_squared(case.initial_state, case.grid, case.equation_of_state)

    def errors(self, model: Model) -> tuple[Error, ...]:
        interval = max(1, round(_INTERVAL / self.dt)) * self.dt
        duration = math.floor(self.duration / self.dt * (1.0 + 1e-9)) * self.dt
        run = simulate(model, self.case, dt=self.dt, output_interval=interval, duration=duration)
        time = np.asarray(run.time)
        depth = depth_of_thermocline(np.asarray(run.state.temperature), np.asarray(self.case.grid.z_center))
        error = (depth - self.law(time))[time >= self.start]
        return (("mixed_layer_depth", "m", float(np.sqrt(np.mean(np.square(error))))),)


def depth_of_thermocline(temperature: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Depth [m] of the largest temperature gradient, from `(n_times, n_cells)` values at centers z [m]."""
    gradient, middle = np.diff(temperature, axis=1) / np.diff(z), 0.5 * (z[1:] + z[:-1])
    # The uppermost of equal maxima, where the profile is still linear.
    largest = gradient.shape[1] - 1 - np.argmax(gradient[:, ::-1], axis=1)
    index = np.clip(largest, 1, gradient.shape[1] - 2)
    lower, here, upper = (np.take_along_axis(gradient, (index + i)[:, None], 1)[:, 0] for i in (-1, 0, 1))
    curvature = lower - 2.0 * here + upper
    shift = np.where(curvature < 0.0, 0.5 * (lower - upper) / np.where(curvature < 0.0, curvature, 1.0), 0.0)
    shift = np.where(largest == index, np.clip(shift, -0.5, 0.5), largest - index)
    return -(middle[index] + shift * 0.5 * (middle[index + 1] - middle[index - 1]))


@dataclasses.dataclass(frozen=True)
class ObservedCase(AbstractCheck):
    """Observations of a target's case; `ValueError` if it cannot be evaluated."""

    name: str
    model: Model
    target: Target
    kind: ClassVar[str] = "observations"

    def __post_init__(self):
        _ = self.target.comparison

    def errors(self, model: Model) -> tuple[Error, ...]:
        found = root_mean_square_errors(model, self.target.comparison)
        return tuple((name, unit_of_difference(name), found[name]) for name in self.target.weights)


def persistence_errors(comparison: Comparison) -> dict[str, float]:
    """Root mean square errors of persistence by variable [its unit], from `Target.comparison`."""
    case, precision = comparison.case, precision_of(case=comparison.case)
    # A model in which nothing acts on the water, with one step per frame.
    undisturbed = dataclasses.replace(
        case,
        forcing=in_precision(ConstantForcing(SurfaceFluxes()), precision),
        interior=Interior(),
        terms={},
        background_viscosity=None,
        background_diffusivity=None,
        coriolis_parameter=0.0 * case.coriolis_parameter,
    )
    frame = comparison.dt * comparison.steps_per_frame
    steps = None if comparison.steps is None else jnp.minimum(comparison.steps, 1)
    still = dataclasses.replace(comparison, case=undisturbed, dt=frame, steps_per_frame=1, steps=steps)
    constant = Constant(viscosity=0.0, diffusivity=0.0)
    nothing = Model(constant, molecular_viscosity=0.0, molecular_diffusivity=0.0)
    return root_mean_square_errors(in_precision(nothing, precision), still)


ModelOnTargets = tuple[Model, Sequence[Target]]
"""A model, and what it is compared with."""


class ErrorRow(NamedTuple):
    """Root mean square and mean error of one variable of one case [unit], by model label."""

    case: str
    variable: str
    unit: str
    errors: dict[str, float]
    means: dict[str, float]


def with_values(judged: ModelOnTargets, values: Mapping[str, float]) -> ModelOnTargets:
    """The same with parameter values by path, including those of cases."""
    model, targets = judged
    model = dataclasses.replace(model, closure=with_parameters(model.closure, values))
    return model, [
        dataclasses.replace(target, case=with_case_parameters(target.case, values)) for target in targets
    ]


def errors_by_label(
    candidates: Mapping[str, ModelOnTargets],
    report: CaseReport = lambda fraction, name: None,
    judge: WaterReport = lambda water: None,
) -> list[ErrorRow]:
    """Errors of models on the same targets; `FloatingPointError` for a run that is not finite.

    After each case `report` is called with the fraction done and the name of the case; after each run `judge`
    is called, with case and label as the place.
    """
    rows = []
    together = list(zip(*(targets for _, targets in candidates.values()), strict=True))
    for number, targets in enumerate(together):
        found = {}
        for (label, (model, _)), target in zip(candidates.items(), targets, strict=True):
            found[label], beyond = errors_and_water(model, target.comparison)
            judge([one._replace(place=f"{target.case.name} with the {label}, ") for one in beyond])
        case = targets[0].case.name
        for variable in targets[0].weights:
            errors = {label: of[variable].root_mean_square for label, of in found.items()}
            if bad := [label for label, error in errors.items() if not math.isfinite(error)]:
                raise FloatingPointError(
                    f"{case}: expected finite values, got a {variable} that is not with the {bad[0]}; "
                    "try a shorter time.step, or other parameters."
                )
            means = {label: of[variable].mean for label, of in found.items()}
            rows.append(ErrorRow(case, variable, unit_of_difference(variable), errors, means))
        report((number + 1) / len(together), case)
    return rows
