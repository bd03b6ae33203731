"""Leave-one-out cross-validation: each case, or group of cases, is left out in turn and tests the result.

All calibrations share their programs: the weights of the cases are data, and a case of weight 0 is only
reported. The folder holds the calibration on all cases, and a subfolder for each case left out. All have
checkpoints: interrupted calibrations continue, finished ones are only read. A case at several resolutions or
time steps, `strong_wind@32` and `strong_wind@64`, counts as one case and is left out as a whole. So are the
cases of a group, because simulations from one source have more in common than their physics.
"""

import csv
import dataclasses
import functools
import math
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ..column.checkpointing import AbstractCheckpointing
from ..column.model import Model
from ..column.observables import unit_of_difference
from ..io.errors import names_its_file, read_text
from ..io.writing import claims, write_csv
from ..runtime.engine import AbstractEngine, Check, ThisProcess
from .calibrate import Iteration, Report, calibrate_weighted
from .checks import LARGEST_GROWTH, CheckRow, persistence_errors
from .files import write_results
from .history import CalibrationResult
from .methods.base import AbstractMethod
from .misfit.comparison import AbstractScore, RootMeanSquare
from .misfit.target import Target
from .parameters import FreeParameters, ResolvedParameters
from .problem import AbstractEvaluator, Problem


@dataclasses.dataclass(frozen=True)
class CrossValidationRow:
    """Root mean square errors of one variable of one case [unit], over the values in the misfit."""

    case: str
    variable: str
    unit: str
    persistence: float  # of the initial profile
    uncalibrated: float  # at the first guess
    calibrated: float  # of the calibration on all cases
    left_out: float  # of the calibration without the case

    @property
    def better(self) -> bool:
        """Whether the calibration without the case reduces its error."""
        return self.left_out < self.uncalibrated


@dataclasses.dataclass(frozen=True)
class CrossValidation:
    """Result of leaving out each case: errors, and the calibrations `without` each case."""

    rows: tuple[CrossValidationRow, ...]
    calibrated: CalibrationResult
    without: Mapping[str, CalibrationResult]


@claims("folder", folder=True)
def cross_validate(
    model: Model,
    free_parameters: FreeParameters | ResolvedParameters,
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
    """Calibrate on all cases, and without each in turn; continues from the files in the folder.

    Targets of one group are left out together, and so are those whose names differ only after an `@`.

    Args:
        model, free_parameters, targets, method, n_iterations: as in `calibrate`; at least two targets with
            positive weight.
        folder: of the calibration on all cases; the one without case `x` is in its subfolder `without_x`.
        overwrite: start new calibrations in a folder that holds some.
        score, prior_weight, checkpointing, max_non_finite: as in `calibrate`.
        engine: computes the cases of all calibrations, several of which run at the same time; by default this
            process.
        attributes: origin of the numbers, for the files in the subfolders.
        begin: called before each calibration with the case left out, `None` for all; it returns a function to
            call after each iteration, on the thread of that calibration.

    Raises:
        ValueError: fewer than two cases to leave out, or errors of `calibrate`.
        FloatingPointError, MemoryError: as in `calibrate`.
    """
    counted = [target for target in targets if target.weight > 0.0]
    together = left_out_together({target.case.name: target.group for target in counted})
    if len(together) < 2:
        raise ValueError(
            f"cross_validate: expected at least two cases with a positive weight, got {len(together)}; there "
            "must be something to calibrate on when one is left out."
        )
    folder = Path(folder)
    score = RootMeanSquare() if score is None else score
    engine = ThisProcess(2) if engine is None else engine
    problem = Problem(model, free_parameters, targets, score, checkpointing, prior_weight)
    made, alone = list[AbstractEvaluator](), threading.Lock()

    def evaluator(weighed: Problem) -> AbstractEvaluator:
        with alone:
            if not made:
                made.append(method.evaluator(problem, engine))
        return made[0].of(weighed)

    def calibrated(name: str | None, check: Check) -> CalibrationResult:
        left_out = () if name is None else together[name]
        weights = [0.0 if target.case.name in left_out else target.weight for target in targets]
        place = folder if name is None else folder / folder_without(name, list(together))
        weighed, told = problem.weighed(weights), begin(name)

        def report(iteration: Iteration) -> None:
            if told is not None:
                told(iteration)
            check()

        result = calibrate_weighted(
            weighed, method, n_iterations, functools.partial(evaluator, weighed), place,
            overwrite=overwrite, max_non_finite=max_non_finite, report=report,
        )  # fmt: skip
        if name is not None:
            with alone:  # the NetCDF library is not thread-safe
                write_results(result, place, attributes)
        return result

    on_all, *others = engine.side_by_side([functools.partial(calibrated, name) for name in (None, *together)])
    by_group = dict(zip(together, others, strict=True))
    without = {case: by_group[name] for name, cases in together.items() for case in cases}
    comparisons = dict(zip(problem.case_names, problem.comparisons, strict=True))
    rows = []
    for case, result in without.items():
        found = [source[case] for source in (on_all.errors(0), on_all.errors(), result.errors())]
        for variable, kept in persistence_errors(comparisons[case]).items():
            # NaN where a run of a case with weight 0 failed.
            errors = [each.get(variable, math.nan) for each in found]
            errors = [error if math.isfinite(error) else math.nan for error in errors]
            unit = unit_of_difference(variable)
            rows.append(CrossValidationRow(case, variable, unit, kept, *errors))
    return CrossValidation(tuple(rows), on_all, without)


def left_out_together(groups: Mapping[str, str | None]) -> dict[str, tuple[str, ...]]:
    """Cases by their group, or by the part of the name before an `@` that they share.

    A case without a group that shares this part with no other keeps its full name.
    """
    found: dict[str, list[str]] = {}
    for name, group in groups.items():
        found.setdefault(group or name.partition("@")[0], []).append(name)
    alone = {of: same[0] for of, same in found.items() if len(same) == 1 and groups[same[0]] is None}
    return {alone.get(of, of): tuple(same) for of, same in found.items()}


def folder_without(case: str, cases: Sequence[str]) -> str:
    """Folder name of the calibration without a case: a valid file name, numbered if not unique."""
    plain = [re.sub(r"[^\w.@+-]+", "_", name) for name in cases]
    own = plain[list(cases).index(case)]
    return f"without_{own}" + (f"_{list(cases).index(case) + 1}" if plain.count(own) > 1 else "")


# Derived from the columns, and written for readers of the file.
_DERIVED = {CrossValidationRow: ("better",), CheckRow: ("growth", "too_large")}
RowT = TypeVar("RowT", CrossValidationRow, CheckRow)


def write_table(path: str | Path, rows: Sequence[CrossValidationRow] | Sequence[CheckRow]) -> None:
    """Write rows of one kind, at least one, atomically; `nan` for missing numbers."""
    kind = type(rows[0])
    columns = [*(field.name for field in dataclasses.fields(kind)), *_DERIVED[kind]]
    write_csv(path, columns, [[getattr(row, column) for column in columns] for row in rows])


@names_its_file("a table")
def read_table(path: str | Path, kind: type[RowT]) -> tuple[RowT, ...]:
    """Read a table of `write_table`; `FileNotFoundError` without a file, `ValueError` for another table."""
    names = [field.name for field in dataclasses.fields(kind)]
    lines = list(csv.DictReader(read_text(Path(path), "a table").splitlines()))

    def value(name: str, text: str) -> Any:  # of the field's type
        return float(text or math.nan) if kind.__annotations__[name] is float else text

    try:
        return tuple(kind(*(value(name, line[name]) for name in names)) for line in lines)
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            f"{path}: expected a table with the columns {', '.join(names)}, got another one; write it again."
        ) from None


def cross_validation_in_words(rows: Sequence[CrossValidationRow]) -> list[str]:
    """One sentence per variable: in how many cases left out the error falls, and where it does not."""
    sentences = []
    for variable in dict.fromkeys(row.variable for row in rows):
        own = [row for row in rows if row.variable == variable]
        worse = [row for row in own if not row.better]
        changes = [f"({_number(row.uncalibrated)} to {_number(row.left_out)} {row.unit})" for row in worse]
        losses = [f"{_plain(row.case)} {change}" for row, change in zip(worse, changes, strict=True)]
        lost = [_plain(row.case) for row in own if not row.left_out < row.persistence]
        sentences.append(
            f"{_plain(variable)}: calibrated without the case, the error on it is below the uncalibrated one "
            f"in {len(own) - len(worse)} of {len(own)} cases"
            + (f"; not in {', '.join(losses)}" if worse else "")
            + (f"; not below that of the initial profile kept in {', '.join(lost)}" if lost else "")
            + "."
        )
    return sentences


def checks_in_words(rows: Sequence[CheckRow]) -> list[str]:
    """A warning for each error that grew by more than allowed; one sentence if none did."""
    limit = f"{100.0 * LARGEST_GROWTH:.0f} %"
    bad = [row for row in rows if row.too_large]
    if not bad:
        return [f"No error of the checks grows by more than {limit}."]
    return [
        f"WARNING: with the calibrated parameters the error of {_plain(row.variable)} in {_plain(row.check)} "
        + (f"grows by {100 * row.growth:.0f} %" if math.isfinite(row.growth) else "is no number or was zero")
        + f", from {_number(row.uncalibrated)} to {_number(row.calibrated)} {row.unit}; "
        f"at most {limit} more is allowed."
        for row in bad
    ]


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "no number"
