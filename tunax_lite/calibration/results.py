"""History and result of a calibration, remarks on its parameters, and its files.

The files are a checkpoint, `history.nc` with all iterations, and `parameters.yaml`, which a run accepts. The
checkpoint is everything that the next iterate depends on, in one file written atomically: a line of JSON
(fingerprint of the calibration, number of iterations), the arrays of the method's state and of the history,
and a checksum.
"""

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import PyTree

from .. import __version__
from .._types import JSON
from ..closures.base import AbstractClosure
from ..column.case import Case
from ..column.observables import unit_of_difference
from ..io.checksums import digest_of_tree, sealing, unsealed
from ..io.dataset import described, titled, variable_name, write_dataset
from ..io.errors import FileFormatError, names_its_file, read_text, shortened
from ..io.writing import write_text
from ..io.yaml_file import ConfigError, parse_yaml, yaml_text
from .base import Base, CalibratedValues
from .parameters import (
    FreeNumber,
    ParameterTable,
    by_field,
    from_yaml,
    paths_by_label,
)
from .priors import LogBounded, Normal
from .problem import Evaluation, Problem

if TYPE_CHECKING:
    import xarray as xr


class History(eqx.Module):
    """One row per iteration, which is one evaluation of the kind that the method needs."""

    # The first five have the shape (n_iterations,).
    loss: np.ndarray  # NaN or infinite where a run failed
    gradient_norm: np.ndarray  # of the gradient with respect to the unconstrained vector; NaN without one
    is_finite: np.ndarray  # true if loss and requested derivatives were finite
    rejected: np.ndarray  # true if the method rejected the step
    n_failed: np.ndarray  # number of failed ensemble members
    x: np.ndarray  # unconstrained vector, or ensemble mean, (n_iterations, n_parameters)
    values: np.ndarray  # physical values, (n_iterations, n_parameters)
    scores: np.ndarray  # (n_iterations, n_cases)
    errors: np.ndarray  # root mean square, NaN if not observed, (n_iterations, n_cases, n_variables)

    @classmethod
    def empty(cls, n_iterations: int, n_parameters: int, n_cases: int, n_variables: int) -> "History":
        """History of zeros: the template of a checkpoint or, with 0 iterations, the start of a history."""
        kinds = [float, float, bool, bool, int, float, float, float, float]
        shapes = [()] * 5 + [(n_parameters,), (n_parameters,), (n_cases,), (n_cases, n_variables)]
        pairs = zip(shapes, kinds, strict=True)
        return cls(*(np.zeros((n_iterations, *shape), kind) for shape, kind in pairs))

    @property
    def n_iterations(self) -> int:
        return self.loss.size

    @property
    def best_iteration(self) -> int:
        """First iteration with the lowest finite loss, counted from 0; `ValueError` if none is finite."""
        if not self.is_finite.any():
            raise ValueError("history: expected an iteration with a finite loss, got none.")
        return int(np.argmin(np.where(self.is_finite, self.loss, np.inf)))

    @property
    def best_loss(self) -> float:
        """The lowest finite loss; infinite if there is none."""
        return float(np.min(self.loss, where=self.is_finite, initial=np.inf))

    @property
    def n_non_finite_at_end(self) -> int:
        """Number of successive evaluations at the end that were not finite."""
        return int(np.argmax(np.append(self.is_finite[::-1], True)))

    def append(self, x, values, evaluation: Evaluation, rejected: bool) -> "History":
        row = (
            evaluation.loss,
            evaluation.gradient_norm,
            evaluation.is_finite,
            rejected,
            int(evaluation.failed.sum()),
            np.asarray(x),
            np.asarray(values),
            evaluation.scores,
            evaluation.errors,
        )
        pairs = zip(vars(self).values(), row, strict=True)
        return History(*(np.append(old, np.asarray(new, old.dtype)[None], axis=0) for old, new in pairs))


@dataclasses.dataclass(frozen=True)
class CalibrationResult:
    """Result of a calibration; the best iteration is the one with the lowest loss."""

    closure: AbstractClosure  # with the best parameters
    cases: Mapping[str, Case]  # by name, with the best parameters, in the order of `history.scores`
    free_parameters: ParameterTable
    history: History
    variables: tuple[str, ...]  # along the last axis of `history.errors`
    stop_reason: str  # for a message
    prior_weight: float = 0.0  # weight of the priors in the loss

    @property
    def best(self) -> dict[str, float]:
        """The best physical values by path."""
        return self.free_parameters.by_path(self.history.values[self.history.best_iteration])

    @property
    def start(self) -> dict[str, float]:
        """The physical values of the first guess, by path."""
        return self.free_parameters.by_path([number.start for number in self.free_parameters.numbers])

    @property
    def case_names(self) -> tuple[str, ...]:
        return tuple(self.cases)

    @property
    def units(self) -> dict[str, str]:
        return self.free_parameters.units

    @property
    def units_of_errors(self) -> dict[str, str]:
        """Unit of the errors of each variable."""
        tracers = {name: each for case in self.cases.values() for name, each in case.tracer_units.items()}
        return {name: unit_of_difference(name, tracers) for name in self.variables}

    @property
    def best_loss(self) -> float:
        return self.history.best_loss

    @property
    def n_non_finite(self) -> int:
        """Number of evaluations that were not finite."""
        return int((~self.history.is_finite).sum())

    @property
    def n_failed(self) -> int:
        """Number of ensemble members that failed, over all iterations."""
        return int(self.history.n_failed.sum())

    def errors(self, iteration: int | None = None) -> dict[str, dict[str, float]]:
        """Root mean square errors without NaN by case and variable [its unit]; by default the best ones."""
        rows = self.history.errors[self.history.best_iteration if iteration is None else iteration]
        by_case = (dict(zip(self.variables, row.tolist(), strict=True)) for row in rows)
        known = ({name: error for name, error in row.items() if not math.isnan(error)} for row in by_case)
        return dict(zip(self.case_names, known, strict=True))


NEAR_A_BOUND = 0.02
"""Largest distance from a bound at which a parameter counts as on it, as a fraction of the (log) range."""
_NO_CHANGE = 1e-3
"""Smallest change of an unconstrained number, whose prior has the standard deviation 1, that counts."""
_DID_NOT_MOVE = "did not move"
_LARGE_GRADIENT = 1e6
"""Ratio of the norm of the gradient to the root of the loss that only derivatives growing in time reach."""


def remarks(result: CalibrationResult) -> dict[str, str]:
    """Remarks by path, on parameters that are on a bound or did not move.

    A value on a bound is determined by the bound. Parameters do not move if they hardly affect the loss, or
    if derivatives of the loss grow over the run.
    """
    best, start, history = result.best, result.start, result.history
    norm, text = history.gradient_norm[history.best_iteration], _DID_NOT_MOVE
    if norm > _LARGE_GRADIENT * math.sqrt(result.best_loss):  # for a good fit, both tend to 0
        text += f": derivatives grew to {norm:.0e}; try model.coefficient_memory: 0.5 or shorter time steps"
    by_path = {}
    for free in result.free_parameters.numbers:
        if remark := _on_bound(free, best[free.path]):
            by_path[free.path] = remark
        elif _did_not_move(free, start[free.path], best[free.path]):
            by_path[free.path] = text
    return by_path


class ParameterRow(NamedTuple):
    """A parameter, or all free numbers of a vector together, as text for display."""

    label: str
    start: str
    best: str
    unit: str
    remark: str


def parameter_rows(result: CalibrationResult) -> list[ParameterRow]:
    """Start, best value and remark of each parameter; for a vector, ranges and the number of each remark."""
    by_path, start, best, rows = remarks(result), result.start, result.best, list[ParameterRow]()
    for label, paths in paths_by_label(best).items():
        first, last = (_ends([values[path] for path in paths]) for values in (start, best))
        rows.append(ParameterRow(label, first, last, result.units[paths[0]], _remark_on(paths, by_path)))
    return rows


def _remark_on(paths: Sequence[str], by_path: Mapping[str, str]) -> str:
    """Return the remark on a parameter; for the numbers of a vector, how many have each remark."""
    if len(paths) == 1:
        return by_path.get(paths[0], "")
    texts = [by_path[path] for path in paths if path in by_path]
    n_unmoved = sum(text.startswith(_DID_NOT_MOVE) for text in texts)
    counts = (len(texts) - n_unmoved, "on a bound"), (n_unmoved, _DID_NOT_MOVE)
    return ", ".join(f"{number} of {len(paths)} {what}" for number, what in counts if number)


def _ends(values: Sequence[float]) -> str:
    """Format a number, or the lowest and highest of several."""
    ends = (min(values), max(values)) if len(values) > 1 else values
    return " to ".join(f"{end + 0.0:.6g}" for end in ends)  # adding 0 turns -0 into 0


def _on_bound(free: FreeNumber, value: float) -> str:
    """Return the remark on a value on a bound; empty elsewhere."""
    prior = free.prior
    lower, upper, middle, position = map(prior.on_scale, (prior.lower, prior.upper, prior.middle, value))
    # Half the range from the median, because the other bound may be infinitely far away.
    if position - lower < 2.0 * NEAR_A_BOUND * (middle - lower):
        return f"on its lower bound, {prior.lower:.6g}"
    if upper - position < 2.0 * NEAR_A_BOUND * (upper - middle):
        return f"on its upper bound, {prior.upper:.6g}"
    return ""


def _did_not_move(free: FreeNumber, start: float, value: float) -> bool:
    prior = free.prior
    if isinstance(prior, Normal):  # also for numbers of a correlated vector
        change = (value - start) / prior.standard_deviation
    else:
        change = prior.to_unconstrained(value) - prior.to_unconstrained(start)
    return bool(abs(change) < _NO_CHANGE)


PARAMETERS_NAME = "parameters.yaml"
HISTORY_NAME = "history.nc"
CROSS_VALIDATION_NAME = "cross_validation.csv"
RESULTS = (PARAMETERS_NAME, HISTORY_NAME, CROSS_VALIDATION_NAME)
"""Result files of a calibration; a new calibration in the folder removes them."""
_DERIVED = (
    *("posterior_chain_*.eqx", "posterior.nc", "posterior.yaml", "report.html"),
    *(f"posterior_{name}.png" for name in ("marginals", "correlations", "spectrum", "bands")),
    *("loss.png", "parameters.png", "profiles.png", "series*.png"),
)


def remove_results(folder: Path, *, derived: bool) -> None:
    """Remove the results of a calibration; with `derived` also its posterior, figures and report."""
    for pattern in (*RESULTS, *(_DERIVED if derived else ())):
        for path in folder.glob(pattern):
            path.unlink()


def write_results(
    result: CalibrationResult, folder: str | Path, attributes: Mapping[str, str] | None = None
) -> tuple[Path, Path]:
    """Write `parameters.yaml` and `history.nc` into a folder and return their paths.

    `parameters.yaml` has the best values with units, start values and bounds, and all numbers of a vector,
    also fixed ones. Files and messages count iterations from 1, the evaluation of the first guess. The
    attributes record the origin of the numbers (version, command, ...).
    """
    paths = Path(folder) / PARAMETERS_NAME, Path(folder) / HISTORY_NAME
    write_dataset(history_dataset(result, attributes), paths[1])
    by_path, best = remarks(result), result.best
    texts = {field: _remark_on(members, by_path) for field, members in by_field(best).items()}
    noted = {field: text for field, text in texts.items() if text}
    entries = result.free_parameters.to_yaml(best, result.closure, result.cases, noted)
    calibration = {
        "loss": result.best_loss,
        "prior_weight": result.prior_weight,
        "loss_at_start": float(result.history.loss[0]),
        "best_iteration": result.history.best_iteration + 1,
        "n_iterations": result.history.n_iterations,
        "n_rejected": int(result.history.rejected.sum()),
        "n_non_finite": result.n_non_finite,
        "n_failed_members": result.n_failed,
        "stop_reason": result.stop_reason,
        "root_mean_square_errors": result.errors(),
    }
    base = Base.of(result.closure, best)
    write_values(paths[0], base, entries, {"calibration": calibration}, attributes)
    return paths


def write_values(
    path: str | Path,
    base: Base,
    parameters: Mapping[str, dict],
    sections: Mapping[str, object],
    attributes: Mapping[str, str] | None = None,
) -> None:
    """Write a file for `read_parameters` from entries with a `value` by path; other sections are added."""
    content = {"closure": base.closure, "base": base.content, "parameters": parameters, **sections}
    write_text(path, yaml_text({**content, "provenance": dict(attributes or {})}))


def history_dataset(result: CalibrationResult, attributes: Mapping[str, str] | None = None) -> "xr.Dataset":
    """Return all iterations as a dataset; the variable of a parameter is its path with underscores.

    The free numbers of a vector form one variable; `NAME_coordinate` holds their times or heights.
    """
    import xarray as xr  # slow import

    history, free = result.history, result.free_parameters
    prior_term = " and half the square of the unconstrained parameters times prior_weight"
    loss_name = "mean of the scores, weighted by case" + (prior_term if result.prior_weight > 0.0 else "")
    series = {
        "loss": (history.loss, loss_name),
        "gradient_norm": (history.gradient_norm, "norm of the gradient to the unconstrained parameters"),
        "rejected": (history.rejected.astype(np.int8), "whether the method rejected the step"),
        "n_failed": (history.n_failed, "number of failed ensemble members"),
    }
    data = {name: described("iteration", *each) for name, each in series.items()}
    by_case = "iteration", "case"
    data["score"] = described(by_case, history.scores, "score of the case")
    for column, name in enumerate(result.variables):
        errors, text = history.errors[:, :, column], f"root mean square error of {name}"
        data[f"{name}_error"] = described(by_case, errors, text, result.units_of_errors[name])

    by_path = dict(zip(free.paths, history.values.T, strict=True))
    for field, rows in free.fields.items():
        name = variable_name(field)
        dims, values = ("iteration",), by_path[rows[0].path]
        if rows[0].path != field:
            dims = ("iteration", f"free_number_of_{name}")
            values = np.stack([by_path[row.path] for row in rows], axis=1)
        about: dict[str, object] = {"valid_min": min(row.lower for row in rows)}
        about["valid_max"] = max(row.upper for row in rows)
        if priors := dict.fromkeys(repr(row.prior) for row in rows if row.is_chosen):
            about["prior"] = "; ".join(priors)
        data[name] = described(dims, values, f"parameter {field}", rows[0].unit, **about)
        if rows[0].coordinate is not None:
            text = "time [s] or height [m] of the numbers"
            data[f"{name}_coordinate"] = described(dims[1:], [row.coordinate for row in rows], text)
    of_iterations = {"long_name": "evaluation of the loss, 1 at the start"}
    coords = {
        "iteration": ("iteration", 1 + np.arange(history.n_iterations), of_iterations),
        "case": ("case", np.array(result.case_names, dtype=object), {"long_name": "name of the case"}),
    }
    about_all = {
        **titled("Calibration", type(result.closure).__name__),
        "best_iteration": history.best_iteration + 1,
        "stop_reason": result.stop_reason,
        "prior_weight": result.prior_weight,
    }
    return xr.Dataset(data, coords, {**about_all, **(attributes or {})})


@names_its_file("a parameter file")
def read_values(path: str | Path) -> tuple[dict[str, JSON], CalibratedValues]:
    """Read a file of parameters; return its content, and the values by path with their base.

    Each entry needs only `value`; a bare number, or a list for a vector, is also accepted. Without the
    section `base`, the values are valid with any constants. Raises `FileNotFoundError` without a file, and
    `ValueError` for another format, or a value that is not a finite number.
    """
    if Path(path).suffix == ".nc" and Path(path).is_file():
        raise ValueError(f"{path}: expected a YAML file, got NetCDF; store it again with save_closure.")
    try:
        content = parse_yaml(read_text(Path(path), "a YAML file", "utf-8-sig"))
    except ConfigError as error:
        raise ValueError(f"{path}: expected a valid YAML file, got: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("parameters"), dict):
        raise ValueError(
            f"{path}: parameters: expected a mapping from parameter to value, got none; write the file "
            "with `tunax-lite calibrate` or `tl.save_closure`, or follow their format."
        )
    values = from_yaml(content["parameters"], str(path))
    try:
        base = Base.read(str(content.get("closure")), content["base"], values) if "base" in content else None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return content, CalibratedValues(values, base, str(path))


def read_parameters(path: str | Path, closure: str | None = None) -> CalibratedValues:
    """Read values by path, for `with_parameters` and `with_case_parameters`; errors as in `read_values`.

    Raises `ValueError` if `closure` is set and is not the class name in the file. Options and constants of
    the calibrated closure are checked later, by `with_parameters`.
    """
    content, values = read_values(path)
    if closure is not None and content.get("closure") != closure:
        raise ValueError(
            f"{path}: closure: expected {closure}, got {shortened(content.get('closure'))}; use the file "
            "with the closure that it was calibrated for."
        )
    return values


CHECKPOINT_NAME = "checkpoint.eqx"


def fingerprint(problem: Problem, method: object) -> dict[str, str]:
    """Properties that identify a calibration, by name, with digests of the model and of each case."""
    parts = {
        "version of tunax_lite": __version__,
        "precision": str(problem.free_parameters.start().dtype),
        "method": repr(method),
        "score": repr(problem.score),
        "closure": type(problem.model.closure).__name__,
        "model": digest_of_tree(problem.model)[:16],
        "prior weight": repr(problem.prior_weight),
        "case weights": repr(problem.weights.tolist()),
    }
    for free in problem.free_parameters.numbers:
        scale = "log" if isinstance(free.prior, LogBounded) else "linear"
        prior = repr(free.prior) if free.is_chosen else scale
        identity = f"{free.lower!r} to {free.upper!r} from {free.start!r}, {prior}"
        parts[f"free parameter {free.path}"] = identity
    pairs = zip(problem.case_names, problem.comparisons, strict=True)
    return parts | {f"case {name}": digest_of_tree(comparison)[:16] for name, comparison in pairs}


def write_tree(path: Path, header: Mapping[str, JSON], tree: PyTree) -> None:
    """Write a header as JSON and arrays atomically; `read_tree` needs the entry `fingerprint`."""
    with sealing(path) as file:
        file.write(json.dumps(dict(header)).encode() + b"\n")
        eqx.tree_serialise_leaves(file, tree)


def read_tree(path: Path, parts: Mapping[str, str], like: Callable[[dict], PyTree], kind: str) -> PyTree:
    """Read the arrays of `write_tree` into a tree like the one that `like` returns for the header.

    Raises `ValueError` if the file, described by `kind`, is damaged or its fingerprint is not `parts`.
    """
    advice = "restore the file, or remove it to begin again"
    try:
        with unsealed(path, kind, advice) as file:
            header = json.loads(file.readline())
            started = header["fingerprint"]
            if different := [name for name in {**started, **parts} if started.get(name) != parts.get(name)]:
                pairs = [(name, started.get(name, "none"), parts.get(name, "none")) for name in different]
                listed = "; ".join(f"{name}: started with {old}, now {new}" for name, old, new in pairs)
                raise OtherCalibrationError(
                    f"{path.parent}: expected to continue the calibration that was started there, got "
                    f"another one ({listed}). Restore the settings, or choose another folder."
                )
            return eqx.tree_deserialise_leaves(file, like(header))
    except (OtherCalibrationError, FileFormatError):
        raise
    except Exception as error:
        raise ValueError(
            f"{path}: expected a {kind}, got a file that cannot be read ({shortened(repr(error))}); "
            "remove it or choose another folder."
        ) from error


class OtherCalibrationError(ValueError):
    """The folder holds another calibration than the one to continue."""


def check_folder(kind: str, folder: Path, existing: Sequence[str], resume: bool, overwrite: bool) -> None:
    """Raise `ValueError` for existing files without `resume` or `overwrite`, or for both options."""
    if resume and overwrite:
        raise ValueError(f"{kind}: expected either resume or overwrite, got both.")
    if existing and not resume and not overwrite:
        raise ValueError(
            f"{folder}: expected a folder without a {kind}, got {', '.join(existing)}; resume it, overwrite "
            "it, or choose another folder."
        )
