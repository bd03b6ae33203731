"""Errors of runs as rows, and leave-one-out cross-validation.

In cross-validation each case, or group of cases, is left out of the calibration in turn, and its error is
computed with the result. All calibrations share their programs, because the weights of the cases are data;
the case left out has weight 0. The folder holds the calibration on all cases, and a subfolder for each case
left out. All have checkpoints: interrupted calibrations continue, finished ones are only read. A case at
several resolutions or time steps, `strong_wind@32` and `strong_wind@64`, is left out at all of them. Cases of
a group are left out together, because simulations from one source have more in common than their physics.
"""

import csv
import dataclasses
import functools
import math
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..column.checkpointing import AbstractCheckpointing
from ..column.integrate import simulate
from ..column.model import Model
from ..column.observables import unit_of_difference
from ..column.observations import Observations
from ..column.trajectory import Trajectory
from ..io.errors import names_its_file, read_text
from ..io.writing import write_rows
from ..runtime.engine import AbstractEngine, Check, ThisProcess
from ..runtime.jax_setup import failures_as_values
from .calibrate import Iteration, Report, solve
from .methods import AbstractMethod
from .parameters import (
    FreeParameters,
    ParameterTable,
    with_case_parameters,
    with_parameters,
)
from .problem import Problem
from .results import CalibrationResult, write_results
from .target import (
    AbstractScore,
    Comparison,
    ErrorPair,
    RootMeanSquare,
    Target,
    errors_and_run,
    errors_of_states,
    initial_states,
)


def persistence_errors(comparison: Comparison) -> dict[str, ErrorPair]:
    """Errors of persistence, which keeps the initial profile, by variable [its unit]."""
    n_times = len(next(iter(comparison.variables.values())).observed)
    return errors_of_states(comparison, initial_states(comparison.case, n_times))


FEWEST_TIMES = 3
"""Smallest number of observed times of a series."""
_MOST_FRAMES = 300
"""Largest number of frames of a run that is compared with a measured series."""


def has_series(observations: Observations) -> bool:
    """Return whether a variable other than salinity, u and v was observed at enough times for a series."""
    names = {*observations.names} - {"salinity", "u", "v"}
    return observations.time.size >= FEWEST_TIMES and bool(names)


def is_measured_series(observations: Observations) -> bool:
    """Like `has_series`, but false for large-eddy simulations, whose figures show the last profile."""
    return observations.source != "LES" and has_series(observations)


def run_to_the_end(model: Model, target: Target) -> Trajectory:
    """Run a model to the last observation used.

    Its frames are those compared with observations, except for measured series (at most 300 frames) and
    observations between steps (only the last frame).
    """
    is_series = is_measured_series(target.observations)
    if target.comparison.in_time is None and not is_series:
        return errors_and_run(model, target.comparison)[1]
    times = target.times_of_run(_MOST_FRAMES if is_series else 1)
    # A common name, because it is part of the compiled program.
    return simulate(model, dataclasses.replace(target.case, name="case"), **times)


@dataclasses.dataclass(frozen=True)
class ErrorRow:
    """Errors of one variable in one run [unit]; NaN if the run failed."""

    closure: str  # label of the closure or of the parameters
    case: str
    variable: str
    unit: str
    root_mean_square: float
    mean: float  # model minus observed
    grid: str  # name or description
    dt: float  # [s]
    group: str = ""  # of the case, see `Target.group`
    note: str = ""  # reason of a failure, or unlikely water


def rows_of(
    label: str, target: Target, errors: Mapping[str, ErrorPair] | None, grid: str = "", note: str = ""
) -> list[ErrorRow]:
    """Make rows of the errors of a run, `None` if it failed; `grid` is by default its cell count."""
    case = target.case
    last = grid or f"{case.grid.n_cells} cells", target.dt, target.group or "", note
    errors = errors or dict.fromkeys(target.weights, ErrorPair(math.nan, math.nan))
    rows = []
    for variable in target.weights:
        unit = unit_of_difference(variable, case.tracer_units)
        rows.append(ErrorRow(label, case.name, variable, unit, *errors[variable], *last))
    return rows


def with_values(
    model: Model, targets: Sequence[Target], values: Mapping[str, float]
) -> list[tuple[Model, Target]]:
    """Pair the model with each target, after inserting values by path into closure and cases."""
    model = dataclasses.replace(model, closure=with_parameters(model.closure, values))
    return [
        (model, dataclasses.replace(target, case=with_case_parameters(target.case, values)))
        for target in targets
    ]


@dataclasses.dataclass(frozen=True)
class CrossValidationRow:
    """Root mean square errors of one variable in one case [unit], NaN where a run failed."""

    case: str
    variable: str
    unit: str
    persistence: float  # initial profile
    uncalibrated: float  # first guess
    calibrated: float  # calibration on all cases
    left_out: float  # calibration without the case

    @property
    def better(self) -> bool:
        """True if the calibration without the case has a smaller error than the first guess."""
        return self.left_out < self.uncalibrated


@dataclasses.dataclass(frozen=True)
class CrossValidation:
    """Errors, the result of the calibration on all cases, and those `without` each case by its name."""

    rows: tuple[CrossValidationRow, ...]
    calibrated: CalibrationResult
    without: Mapping[str, CalibrationResult]


@failures_as_values()
def cross_validate(
    model: Model,
    free_parameters: FreeParameters | ParameterTable,
    targets: Sequence[Target],
    method: AbstractMethod,
    n_iterations: int,
    folder: str | Path,
    *,
    overwrite: bool = False,
    score: AbstractScore | None = None,
    prior_weight: float = 0.0,
    checkpointing: AbstractCheckpointing | None = None,
    engine: AbstractEngine | None = None,
    max_non_finite: int = 10,
    attributes: Mapping[str, str] | None = None,
    begin: Callable[[str | None], Report | None] = lambda left_out: None,
) -> CrossValidation:
    """Calibrate on all cases, and without each in turn; continue from the files in the folder.

    Targets of one group are left out together, and so are those whose names differ only after an `@`. Results
    are written into the subfolders; the caller writes those of the calibration on all cases.

    Args:
        model, free_parameters, targets, method, n_iterations: as in `calibrate`; at least two cases or
            groups with positive weight.
        folder: folder of the calibration on all cases; that without the case or group `x`
            is in its subfolder `without_x`.
        overwrite: start new calibrations in a folder that holds some.
        score, prior_weight, checkpointing, max_non_finite: as in `calibrate`.
        engine: computes the cases of all calibrations, several of which run at the same time; by default this
            process.
        attributes: origin of the numbers, for the files in the subfolders.
        begin: called before each calibration with the name of the case or group left out, `None` for the one
            on all cases; returns a function to call after each iteration, on the thread of that calibration.

    Raises:
        ValueError: fewer than two cases or groups to leave out, or errors of `calibrate`.
        FloatingPointError: as in `calibrate`.
    """
    counted = [target for target in targets if target.weight > 0.0]
    together = left_out_together({target.case.name: target.group for target in counted})
    if len(together) < 2:
        raise ValueError(
            "cross_validate: expected at least two cases, or groups of cases, with a positive weight, got "
            f"{len(together)}; there must be something to calibrate on when one is left out."
        )
    folder = Path(folder)
    score = RootMeanSquare() if score is None else score
    engine = ThisProcess(2) if engine is None else engine
    problem = Problem(model, free_parameters, targets, score, checkpointing, prior_weight)
    evaluator, writing = method.evaluator(problem, engine), threading.Lock()

    def calibrated(name: str | None, check: Check) -> CalibrationResult:
        left_out = () if name is None else together[name]
        weights = [0.0 if target.case.name in left_out else target.weight for target in targets]
        subfolder = folder if name is None else folder / folder_without(name, list(together))
        weighted_problem, report_iteration = problem.with_weights(weights=weights), begin(name)

        def report(iteration: Iteration) -> None:
            if report_iteration is not None:
                report_iteration(iteration)
            check()

        result = solve(
            weighted_problem,
            method,
            n_iterations,
            evaluator.for_problem(weighted_problem),
            folder=subfolder,
            resume=not overwrite,
            overwrite=overwrite,
            max_non_finite=max_non_finite,
            report=report,
        )
        if name is not None:
            with writing:  # the NetCDF library is not thread-safe
                write_results(result, subfolder, attributes)
        return result

    on_all, *others = engine.side_by_side([functools.partial(calibrated, name) for name in (None, *together)])
    by_group = dict(zip(together, others, strict=True))
    without = {case: by_group[name] for name, cases in together.items() for case in cases}
    comparisons = dict(zip(problem.case_names, problem.comparisons, strict=True))
    rows = []
    for case, result in without.items():
        by_run = [errors[case] for errors in (on_all.errors(0), on_all.errors(), result.errors())]
        for variable, persistence in persistence_errors(comparisons[case]).items():
            # The run of the case left out may fail, because its weight is 0.
            errors = [each.get(variable, math.nan) for each in by_run]
            errors = [error if math.isfinite(error) else math.nan for error in errors]
            unit = unit_of_difference(variable, comparisons[case].case.tracer_units)
            rows.append(CrossValidationRow(case, variable, unit, persistence.root_mean_square, *errors))
    return CrossValidation(tuple(rows), on_all, without)


def left_out_together(groups: Mapping[str, str | None]) -> dict[str, tuple[str, ...]]:
    """Cases to leave out together, by their group or by the part of their names before an `@`.

    A case without a group that shares this part with no other is listed by its full name.
    """
    together: dict[str, list[str]] = {}
    for name, group in groups.items():
        together.setdefault(group or name.partition("@")[0], []).append(name)
    single = {key: each[0] for key, each in together.items() if len(each) == 1 and groups[each[0]] is None}
    return {single.get(key, key): tuple(cases) for key, cases in together.items()}


def folder_without(case: str, cases: Sequence[str]) -> str:
    """Name of the folder of the calibration without a case or group, with a number if not unique."""
    plain = [re.sub(r"[^\w.@+-]+", "_", name) for name in cases]
    name = plain[number := list(cases).index(case)]
    return f"without_{name}" + (f"_{number + 1}" if plain.count(name) > 1 else "")


def write_table(path: str | Path, rows: Sequence[CrossValidationRow]) -> None:
    """Write a table of rows as CSV."""
    write_rows(path, CrossValidationRow, rows, also=("better",))


@names_its_file("a table")
def read_table(path: str | Path) -> tuple[CrossValidationRow, ...]:
    """Read a table of `write_table`; `FileNotFoundError` without a file, `ValueError` for other columns."""
    columns = CrossValidationRow.__annotations__  # names with their types
    lines = csv.DictReader(read_text(Path(path), "a table").splitlines())
    try:
        return tuple(
            CrossValidationRow(*(kind(line[name] or "nan") for name, kind in columns.items()))
            for line in lines
        )
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            f"{path}: expected valid values in the columns {', '.join(columns)}, got others; write it again."
        ) from None
