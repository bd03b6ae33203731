"""From checked configurations to what a calibration or an evaluation needs."""

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..calibration import (
    LBFGS,
    Adam,
    ConstantRate,
    CosineDecay,
    EnsembleKalman,
    ExponentialDecay,
    FreeParameters,
    LevenbergMarquardt,
    MeanSquare,
    MultiStart,
    Physical,
    RootMeanSquare,
    Target,
    Uncertainty,
    ZScore,
    prepare,
)
from ..calibration.methods import AbstractMethod
from ..calibration.misfit import AbstractScore
from ..case import Case
from ..io.yaml_file import ConfigError, naming
from ..model import Model
from ..observations import Observations
from .build import build_case, build_model, build_run
from .load import Loaded
from .optimiser import EnsembleKalmanSection, LBFGSSection, LevenbergMarquardtSection
from .schema import CalibrationConfig, EvaluationSection, RunConfig


@dataclasses.dataclass(frozen=True)
class Calibration:
    """Everything that `calibrate` needs.

    Args:
        model: whose closure is calibrated.
        free_parameters: what may change.
        targets: cases with observations.
        method: how the loss is lowered.
        n_iterations: evaluations, of the kind that the method needs.
        score: of a case.
        prior_weight: of the priors of the parameters.
        n_threads: cases computed at the same time.
        max_non_finite: evaluations in a row that may break down.
    """

    model: Model
    free_parameters: FreeParameters
    targets: tuple[Target, ...]
    method: AbstractMethod
    n_iterations: int
    score: AbstractScore
    prior_weight: float
    n_threads: int
    max_non_finite: int

    @property
    def resolved(self) -> FreeParameters:
        """What may change, with bounds, start values and units."""
        cases = {target.case.name: target.case for target in self.targets}
        return self.free_parameters.resolve(self.model.closure, cases)


def build_calibration(
    loaded: Loaded[CalibrationConfig], parameters: dict[str, float] | None = None
) -> Calibration:
    """Objects of a calibration.

    Args:
        loaded: from `load_calibration`.
        parameters: values of the closure to start from, instead of those of the configuration.

    Raises:
        ConfigError: values that do not fit each other, or a case without observations.
        FileNotFoundError: a file of a case that is missing.
        FileFormatError: a file of a case that cannot be used.
    """
    config, source = loaded.config, loaded.path
    with loaded.naming_lines():
        targets = tuple(_target(config, index, source) for index in range(len(config.cases)))
    names = [target.case.name for target in targets]
    for index, name in enumerate(names):
        if name in names[:index]:
            raise ConfigError(
                f"{source}: cases.{index}.case: expected a case of another name, got '{name}' again; "
                "remove one of the two."
            )
    cases = {target.case.name: target.case for target in targets}
    with naming(source, "parameters"):
        free = config.free_parameters.resolve(config.model.closure.build(), cases)
        for name in names:
            if free.in_case(name) is None:
                raise ValueError(f"expected a free parameter in the case {name}, got none; leave it out.")
    with naming(source, "optimiser"):
        method = _method(config)
        method.init(free.start())  # checks sizes
    return Calibration(
        model=build_model(config.model, source, parameters),
        free_parameters=config.free_parameters,
        targets=targets,
        method=method,
        n_iterations=config.n_iterations,
        score=_SCORES[config.misfit.score],
        prior_weight=config.misfit.prior_weight,
        n_threads=config.n_threads,
        max_non_finite=config.max_non_finite,
    )


_SCALES = {"physical": Physical(), "z_score": ZScore(), "uncertainty": Uncertainty()}
_SCORES = {"mean_square": MeanSquare(), "root_mean_square": RootMeanSquare()}


def _target(config: CalibrationConfig, index: int, source: Path) -> Target:
    section, misfit = config.cases[index], config.misfit
    key = f"cases.{index}"
    case, observations = build_case(section.case, config.grid, source, f"{key}.case", config.time.step)
    with naming(source, f"{key}.corrections"):
        case = section.corrections.of(case)
    target = Target(
        case=case,
        observations=_required(observations, source, f"{key}.case"),
        weights=section.weights or misfit.weights,
        weight=section.weight,
        dt=config.time.step,
        time_window=(misfit.start, math.inf if misfit.end is None else misfit.end),
        depth_window=(-math.inf if misfit.lowest is None else misfit.lowest, misfit.highest),
        scale=_SCALES[misfit.scale],
    )
    with naming(source, key):
        prepare(target)  # raises what would stop the calibration later
    return target


def _required(observations: Observations | None, source: Path, key: str) -> Observations:
    if observations is None:
        raise ConfigError(
            f"{source}: {key}.format: expected a case with observations, got one without; choose another "
            "format."
        )
    return observations


def evaluation_of(loaded: Loaded[RunConfig] | Loaded[CalibrationConfig]) -> tuple[Model, tuple[Target, ...]]:
    """A model, and what its errors are computed against: all levels, differences in physical units.

    Args:
        loaded: of a run, with the window and the variables of `evaluation`; or of a calibration, with all
            its cases, the time window of `misfit` and the variables temperature, u and v.

    Raises:
        ConfigError: a case without observations, or with none of the variables.
        FileNotFoundError: a file of a case that is missing.
        FileFormatError: a file of a case that cannot be used.
    """
    if isinstance(loaded.config, CalibrationConfig):
        setup = build_calibration(Loaded(loaded.config, loaded.path, loaded.origins))
        start_and_end = setup.targets[0].time_window
        compared = [(target.case, target.observations, target.dt) for target in setup.targets]
        variables = EvaluationSection().variables
        model = setup.model
    else:
        run = build_run(Loaded(loaded.config, loaded.path, loaded.origins))
        section, duration = loaded.config.evaluation, run.duration_from(0.0)
        start_and_end = section.start, duration if section.end is None else min(section.end, duration)
        compared = [(run.case, _required(run.observations, loaded.path, "case"), run.dt)]
        variables, model = section.variables, run.model
    return model, tuple(
        _evaluation_target(case, observations, dt, start_and_end, variables, loaded.path)
        for case, observations, dt in compared
    )


def _evaluation_target(
    case: Case,
    observations: Observations,
    dt: float,
    window: tuple[float, float],
    variables: Sequence[str],
    source: Path,
) -> Target:
    observed = [name for name in variables if name in observations.profiles]
    if not observed:
        raise ConfigError(
            f"{source}: evaluation.variables: expected at least one of the observed variables "
            f"{', '.join(observations.profiles)}, got {', '.join(variables)}; add one."
        )
    target = Target(case, observations, dict.fromkeys(observed, 1.0), dt=dt, time_window=window)
    with naming(source, "evaluation"):
        prepare(target)
    return target


_METHODS = {
    LBFGSSection: LBFGS,
    LevenbergMarquardtSection: LevenbergMarquardt,
    EnsembleKalmanSection: EnsembleKalman,
}
"""Methods whose sections hold their arguments."""


def _method(config: CalibrationConfig) -> AbstractMethod:
    starts = config.starts
    if starts.number == 1:
        return _of_one_start(config.optimiser, config.n_iterations)
    each = starts.iterations_each or max(1, config.n_iterations // starts.number)
    method = _of_one_start(config.optimiser, each)
    return MultiStart(method, starts.number, each, starts.spread, starts.seed)


def _of_one_start(section: Any, n_iterations: int) -> AbstractMethod:
    if type(section) in _METHODS:
        return _METHODS[type(section)](**section.model_dump(exclude={"name"}))
    n_steps = max(n_iterations, section.n_warmup + 1)
    schedules = {
        "constant": lambda: ConstantRate(),
        "cosine": lambda: CosineDecay(n_steps, section.n_warmup, section.final_share),
        "exponential": lambda: ExponentialDecay(n_steps, section.n_warmup, section.final_share),
    }
    return Adam(
        learning_rate=section.learning_rate,
        schedule=schedules[section.schedule](),
        beta_1=section.beta_1,
        beta_2=section.beta_2,
        largest_gradient=math.inf if section.largest_gradient is None else section.largest_gradient,
        cases_per_step=section.cases_per_step,
        all_cases_every=section.all_cases_every,
        seed=section.seed,
    )
