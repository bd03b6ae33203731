"""The calibration loop: ask the method where to evaluate, evaluate, tell it the result, save, report."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ..column.checkpointing import AbstractCheckpointing
from ..column.model import Model
from ..runtime.engine import AbstractEngine, ThisProcess
from ..runtime.jax_setup import failures_as_values
from . import results as files
from .methods import AbstractMethod, MethodState
from .parameters import (
    FreeParameters,
    ParameterTable,
    UnconstrainedVector,
    with_case_parameters,
    with_parameters,
)
from .problem import AbstractEvaluator, Evaluation, Problem
from .results import CalibrationResult, History
from .target import AbstractScore, RootMeanSquare, Target


@dataclasses.dataclass(frozen=True)
class Iteration:
    """Report of an iteration."""

    number: int  # from 0
    loss: float
    best_loss: float  # lowest finite loss so far; infinite if there is none
    scores: dict[str, float]  # by case
    values: dict[str, float]  # physical values of the parameters, by path


Report = Callable[[Iteration], None]
"""Called on the host after each iteration."""


@failures_as_values()
def calibrate(
    model: Model,
    free_parameters: FreeParameters | ParameterTable,
    targets: Sequence[Target],
    method: AbstractMethod,
    n_iterations: int,
    *,
    folder: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    score: AbstractScore | None = None,
    prior_weight: float = 0.0,
    checkpointing: AbstractCheckpointing | None = None,
    engine: AbstractEngine | None = None,
    max_non_finite: int = 10,
    report: Report | None = None,
) -> CalibrationResult:
    """Find the parameters for which a model best fits the observations of one or more cases.

    One iteration is one evaluation of the kind that the method needs. After each, the folder holds everything
    that the next one depends on: a calibration interrupted in any way continues with the same iterates.

    Args:
        model: model with the closure to calibrate; its other parameters are fixed.
        free_parameters: parameters of the closure and the cases to calibrate.
        targets: cases with observations.
        method: optimisation method.
        n_iterations: total number, including those before an interruption.
        folder: for the checkpoint; without a folder nothing is saved.
        resume: continue the calibration in the folder, or start if there is none.
        overwrite: start a new calibration in a folder that holds one; the old files, with posterior, figures
            and report, are removed after the first successful evaluation.
        score: function of the mean square of a case; by default its root.
        prior_weight: half the squared length of the unconstrained vector, times this, is added to the loss,
            so that the priors pull towards their medians. Must be 0 for ensemble Kalman methods: their prior
            is the ensemble.
        checkpointing: what reverse mode stores of the time loop; segments by default.
        engine: computes the cases; by default this process, two at a time. Results do not depend on it.
        max_non_finite: number of successive evaluations that may fail before the calibration ends with the
            best result so far.
        report: called on the host after each iteration.

    Raises:
        ValueError: inconsistent settings, a folder that holds a calibration (without `resume` or `overwrite`)
            or a different one (with `resume`).
        FloatingPointError: the first guess has no finite loss and gradient, or fewer than two members of an
            ensemble are finite.
    """
    score = RootMeanSquare() if score is None else score
    problem = Problem(model, free_parameters, targets, score, checkpointing, prior_weight)
    evaluator = method.evaluator(problem, ThisProcess(2) if engine is None else engine)
    options = {"folder": folder, "resume": resume, "overwrite": overwrite}
    return solve(
        problem, method, n_iterations, evaluator, **options, max_non_finite=max_non_finite, report=report
    )


def solve(
    problem: Problem,
    method: AbstractMethod,
    n_iterations: int,
    evaluate: AbstractEvaluator,
    *,
    start: UnconstrainedVector | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    max_non_finite: int = 10,
    report: Report | None = None,
) -> CalibrationResult:
    """Run the loop from an unconstrained vector; other arguments and errors as in `calibrate`."""
    if n_iterations < 1 or max_non_finite < 1:
        raise ValueError(
            "calibrate: expected n_iterations and max_non_finite of at least 1, got "
            f"{n_iterations} and {max_non_finite}."
        )
    path = None
    if folder is not None:
        _check_folder(Path(folder), resume, overwrite)
        path = Path(folder) / files.CHECKPOINT_NAME
    free, parts = problem.free_parameters, files.fingerprint(problem, method)
    shape = len(free.paths), len(problem.case_names), len(problem.variables)
    state, history = method.init(free.start() if start is None else start), History.empty(0, *shape)
    if path is not None and resume and path.exists():
        initial = state
        like = lambda header: (initial, History.empty(header["n_iterations"], *shape))  # noqa: E731
        state, history = files.read_tree(path, parts, like, "checkpoint of a calibration")
    while (reason := _stop_reason(method, state, history, n_iterations, max_non_finite)) is None:
        evaluation = evaluate(*method.ask(state))
        if history.n_iterations == 0 and not evaluation.is_finite:
            raise _cannot_start(problem, evaluation)
        new_state = method.tell(state, evaluation)
        values, rejected = np.asarray(free.to_physical(state.trial)), not bool(new_state.accepted)
        history = history.append(state.trial, values, evaluation, rejected)
        state = new_state
        if path is not None:
            header = {"n_iterations": history.n_iterations, "fingerprint": parts}
            files.write_tree(path, header, (state, history))
            # Results of a calibration that is being overwritten do not match the new checkpoint.
            if history.n_iterations == 1:
                files.remove_results(path.parent, derived=overwrite)
        if report is not None:
            report(_last_iteration(problem, history))
    best = free.by_path(history.values[history.best_iteration])
    closure = with_parameters(problem.model.closure, best)
    cases = {name: with_case_parameters(case, best) for name, case in problem.cases.items()}
    return CalibrationResult(closure, cases, free, history, problem.variables, reason, problem.prior_weight)


def _cannot_start(problem: Problem, evaluation: Evaluation) -> FloatingPointError:
    scores = zip(problem.case_names, evaluation.scores, strict=True)
    bad = [name for name, score in scores if not np.isfinite(score)]
    reason = f"the score is not finite in {', '.join(bad)}" if bad else "the gradient is not finite"
    return FloatingPointError(
        f"calibrate: expected a finite loss and gradient at the start values, but {reason}; choose "
        "other start values or a shorter time step."
    )


def _last_iteration(problem: Problem, history: History) -> Iteration:
    values = problem.free_parameters.by_path(history.values[-1])
    scores = dict(zip(problem.case_names, history.scores[-1].tolist(), strict=True))
    last = history.n_iterations - 1, float(history.loss[-1]), history.best_loss
    return Iteration(*last, scores, values)


def _check_folder(folder: Path, resume: bool, overwrite: bool) -> None:
    """Raise `ValueError` if a calibration cannot start in a folder or, with `resume`, continue."""
    names = files.CHECKPOINT_NAME, files.PARAMETERS_NAME, files.HISTORY_NAME
    existing = [name for name in names if (folder / name).exists()]
    files.check_folder("calibration", folder, existing, resume, overwrite)
    if resume and existing and files.CHECKPOINT_NAME not in existing:
        raise ValueError(
            f"{folder}: expected a checkpoint to continue from, got only {', '.join(existing)}; "
            "choose another folder."
        )


def _stop_reason(
    method: AbstractMethod, state: MethodState, history: History, n_iterations: int, max_non_finite: int
) -> str | None:
    if history.n_iterations >= n_iterations:
        return f"all {history.n_iterations} iterations are done"
    if history.n_non_finite_at_end >= max_non_finite:
        return (
            f"{history.n_non_finite_at_end} evaluations in a row were not finite; the best result before "
            "them is kept; narrower bounds or a lower learning rate may help"
        )
    if bool(state.finished):
        return method.end
    return None
