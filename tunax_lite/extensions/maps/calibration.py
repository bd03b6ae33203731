"""Calibration on a map: a heat flux correction for every column, and shared parameters.

    u_i = mean_k (T_i(t_k) - observed_i(t_k))^2 + (penalty q_i)^2,    loss = sum_i a_i rho(u_i) / sum_i a_i

over the times with observations. T_i is the temperature of the uppermost cell, a_i the area of a column, q_i
its correction, which is constant in time. rho(u) = u, or c^2 log(1 + u / c^2) with a scale c: a column that
the model cannot follow then has little effect on the shared parameters. Columns are independent: m + 1
tangents, each for all columns at once, give the Jacobian by the n corrections and the m shared parameters.
Corrections are eliminated column by column, which leaves m equations (Gauss-Newton with Levenberg-Marquardt
damping). In these, columns have the weight rho'(u_i) / (1 + h_i / H) besides their area, where h_i is the
mean square change of the surface temperature with all shared parameters, and H its median over all columns,
times `STEEP`: few columns that change abruptly, with derivatives up to a million times those of the others,
would dominate the step. Sums over columns are in order: iterates do not depend on the number of workers.

Sources: Golub and Pereyra (2003), Inverse Problems 19, R1-R26, on variable projection; Holland and Welsch
(1977), Communications in Statistics A 6, 813-827, on iteratively reweighted least squares; Hampel et al.
(1986), Robust statistics, ch. 6, on leverage.
"""

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ...calibration import ParameterTable
from ...calibration.base import Base
from ...calibration.results import PARAMETERS_NAME, read_tree, write_tree, write_values
from ...column.case import Case
from ...column.checkpointing import SaveEverything
from ...column.corrections import CorrectedForcing
from ...column.integrate import batched_case, integrate, start_of
from ...column.model import Model
from ...declarations import check_settings, setting
from ...io.dataset import described, titled, write_dataset
from ...io.provenance import Provenance
from ...runtime import compile_program
from ...runtime.compilation import Program, Shared
from ...runtime.engine import AbstractEngine
from ...runtime.jax_setup import failures_as_values
from .setup import MapRun
from .store import map_dims

BLOCK = 64
"""Columns that are evaluated together."""
LARGEST_CHANGE = 0.5
"""Largest change of an unconstrained shared parameter in one step."""
STEEP = 10.0
"""Mean square derivative of a column over the median, above which it counts less for shared parameters."""
LARGEST_CORRECTION = 150.0
"""Largest change of a correction in one step [W m-2]."""
_LEAST_DAMPING, _FIRST_DAMPING, _MOST_DAMPING = 1e-4, 1e-2, 1e8
_GROWTH, _SHRINKAGE = 8.0, 0.25
CORRECTIONS_NAME, ITERATIONS_NAME = "corrections.nc", "iterations.eqx"
FILES = ITERATIONS_NAME, CORRECTIONS_NAME, PARAMETERS_NAME


@dataclasses.dataclass(frozen=True)
class MapFit:
    """The fit on a map, as one picklable object.

    Args:
        run: of the map, whose variables are ignored; residuals are taken at the ends of its frames.
        free: parameters of the closure shared by all columns.
        penalty: misfit that a correction counts as [K m2 W-1].
        misfit_scale: root mean square misfit of a column above which it counts less [K]; null where all count
            in full.
        start: time up to which the misfit does not count [s].
    """

    run: MapRun
    free: ParameterTable
    penalty: float = setting(at_least=0.0)
    misfit_scale: float | None = setting(None, above=0.0)
    start: float = setting(0.0, at_least=0.0)

    def __post_init__(self):
        check_settings(self)
        if not self.times.size:
            raise ValueError(
                f"start: expected a time before the end of the run, {self.run.duration:g} s, got "
                f"{self.start:g} s; extend the run, or begin earlier."
            )

    @property
    def times(self) -> np.ndarray:
        """Ends of the frames to use [s]."""
        return self.run.times[self.run.times > self.start]

    def counts(self, mean_square: np.ndarray) -> np.ndarray:
        """Contribution of columns to the loss [K2], from their mean squares with the penalty [K2]."""
        square = None if self.misfit_scale is None else self.misfit_scale**2
        return mean_square if square is None else square * np.log1p(mean_square / square)

    def weight(self, equations: "Equations") -> np.ndarray:
        """Weight of each column in the equations of the shared parameters, besides its area [1]."""
        if self.misfit_scale is None:
            return np.ones_like(equations.mean_square)
        slope = np.trace(equations.matrix[:-1, :-1])
        steep = STEEP * np.median(slope[slope > 0.0]) if np.any(slope > 0.0) else 1.0
        return 1.0 / (1.0 + equations.mean_square / self.misfit_scale**2) / (1.0 + slope / steep)

    def values(self, x: np.ndarray) -> np.ndarray:
        """The shared parameters, each in its own unit."""
        return np.asarray(self.free.to_physical(jnp.asarray(x)))

    def identity(self) -> dict[str, str]:
        """Settings and input files that the iterates depend on."""
        own = repr((self.free, self.penalty, self.start, self.misfit_scale))
        return {"map": self.run.fingerprint[:16], "calibration": own, **dict(self.run.stamps())}


class Equations(NamedTuple):
    """Mean squares of each column [K2], half their derivatives by the shared numbers and the correction."""

    mean_square: np.ndarray  # (n_columns,)
    gradient: np.ndarray  # (m + 1, n_columns)
    matrix: np.ndarray  # (m + 1, m + 1, n_columns), without second derivatives of the residuals

    @property
    def is_finite(self) -> np.ndarray:
        """Columns for which everything is finite."""
        derivatives = np.isfinite(self.gradient).all(axis=0) & np.isfinite(self.matrix).all(axis=(0, 1))
        return np.isfinite(self.mean_square) & derivatives

    def penalised(self, correction: np.ndarray, penalty: float) -> "Equations":
        """Add the penalty of the corrections."""
        gradient, matrix = self.gradient.copy(), self.matrix.copy()
        gradient[-1] += penalty**2 * correction
        matrix[-1, -1] += penalty**2
        return Equations(self.mean_square + (penalty * correction) ** 2, gradient, matrix)


_programs: Shared[Program] = Shared(most=1)


def equations_of(fit: MapFit, item: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Equations:
    """Normal equations of at most a block of columns: their numbers, an unconstrained vector, corrections."""
    columns, x, correction = item
    n, missing = len(columns), BLOCK - len(columns)
    columns = np.concatenate([columns, np.repeat(columns[-1:], missing)])
    correction = np.concatenate([correction, np.zeros(missing)])
    model, case = fit.run.batch(columns, 0.0, fit.run.duration)
    observed = fit.run.columns.observed(columns, fit.times)
    dtype = case.grid.z_face.dtype
    given = *(jnp.asarray(one, dtype) for one in (x, correction, observed)), model, case
    compiled = lambda: compile_program(functools.partial(_equations, fit), *given)  # noqa: E731
    program = _programs.get(compiled, given, fit.run.fingerprint, repr((fit.free, fit.start)))
    return Equations(*(np.asarray(part, float)[..., :n] for part in jax.device_get(program(*given))))


def _equations(
    fit: MapFit, x: Array, correction: Array, observed: Array, model: Model, case: Case
) -> Equations:
    m, (n,) = x.shape[0], correction.shape
    there = jnp.isfinite(observed)
    n_times = jnp.maximum(there.sum(axis=0), 1)
    share = jnp.where(there, n_times.astype(observed.dtype) ** -0.5, 0.0)  # its square is that of a time

    def differences(x, correction):
        calibrated = dataclasses.replace(model, closure=fit.free.to_pytree(model.closure, x))
        forcing = CorrectedForcing(case.forcing, None, heat_flux_bias=correction[None])
        corrected = batched_case(calibrated, dataclasses.replace(case, forcing=forcing))
        _, surface = integrate(
            calibrated,
            corrected,
            start_of(calibrated, corrected),
            fit.run.dt,
            n_frames=fit.run.n_frames,
            steps_per_frame=fit.run.steps_per_frame,
            checkpointing=SaveEverything(),
            save=lambda carry, _: carry.now.state.temperature[-1],
        )
        return share * (surface[-len(observed) :] - jnp.where(there, observed, 0.0))

    # Every column has its own copy of the parameters, so that one tangent is a column of all Jacobians.
    at = jnp.broadcast_to(x[:, None], (m, n)), correction
    directions = jnp.broadcast_to(jnp.eye(m + 1, dtype=x.dtype)[:, :, None], (m + 1, m + 1, n))
    push = lambda d: jax.jvp(differences, at, (d[:m], d[m]))  # noqa: E731
    found, jacobian = jax.vmap(push, out_axes=(None, 0))(directions)  # columns stay the last axis
    gradient = jnp.sum(jacobian * found, axis=1)
    matrix = jnp.sum(jacobian[:, None] * jacobian[None], axis=2)
    return Equations(jnp.sum(found**2, axis=0), gradient, matrix)  # pyright: ignore[reportArgumentType]


@dataclasses.dataclass
class Progress:
    """An unfinished fit.

    Args:
        x: unconstrained shared parameters with the lowest loss.
        correction: of each column with the lowest loss [W m-2].
        equations: at these.
        first: initial misfit of each column [K2].
        weight: fraction of the area in each column; 0 for columns that failed initially.
        losses: of all evaluations, in order.
        damping: relative increase of the diagonal of the shared parameters [1].
        dampings: relative increase of the diagonal of each correction [1].
    """

    x: np.ndarray
    correction: np.ndarray
    equations: Equations
    first: np.ndarray
    weight: np.ndarray
    losses: list[float]
    damping: float
    dampings: np.ndarray

    @property
    def loss(self) -> float:
        """The lowest loss so far [K2]."""
        return min(self.losses)

    def step(self, fit: MapFit) -> tuple[np.ndarray, np.ndarray]:
        """Steps of the shared parameters and corrections to the minimum of the damped quadratic model."""
        gradient, matrix = self.equations.gradient, self.equations.matrix
        weight = self.weight * fit.weight(self.equations)
        diagonal = matrix[-1, -1] * (1.0 + self.dampings)
        inverse = np.where(diagonal > 0.0, 1.0 / np.where(diagonal > 0.0, diagonal, 1.0), 0.0)
        border = matrix[:-1, -1]  # (m, n)
        reduced = np.sum(weight * (matrix[:-1, :-1] - border[:, None] * border[None] * inverse), axis=-1)
        reduced += self.damping * np.diag(np.sum(weight * np.diagonal(matrix[:-1, :-1]).T, axis=-1))
        right = np.sum(weight * (gradient[:-1] - border * gradient[-1] * inverse), axis=-1)
        shared = -np.linalg.lstsq(reduced, right, rcond=1e-12)[0]
        shared *= min(1.0, LARGEST_CHANGE / max(np.abs(shared).max(initial=0.0), 1e-300))
        change = -(gradient[-1] + shared @ border) * inverse
        return shared, np.clip(change, -LARGEST_CORRECTION, LARGEST_CORRECTION)

    def learn(self, fit: MapFit, x: np.ndarray, correction: np.ndarray, equations: Equations) -> None:
        """Accept an evaluation with a lower loss; adapt the dampings."""
        used = self.weight > 0.0
        misfit = np.where(used & equations.is_finite, equations.mean_square, np.inf)
        loss = float(np.sum(self.weight[used] * fit.counts(misfit[used])))
        self.dampings = _adapted(self.dampings, misfit < self.equations.mean_square)
        self.damping = float(_adapted(self.damping, loss < self.loss))
        if loss < self.loss:
            self.x, self.correction = x, np.where(used, correction, 0.0)
            self.equations = Equations(*(np.where(used, part, 0.0) for part in equations))
        self.losses.append(loss)


def _adapted(damping: np.ndarray | float, is_better: np.ndarray | bool) -> np.ndarray:
    factor = np.where(is_better, _SHRINKAGE, _GROWTH)
    return np.asarray(np.clip(damping * factor, _LEAST_DAMPING, _MOST_DAMPING))


@failures_as_values()
def fit_map(
    fit: MapFit,
    n_iterations: int,
    engine: AbstractEngine,
    *,
    path: Path | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
) -> Progress:
    """Fit the corrections of all columns and the shared parameters together.

    Args:
        n_iterations: evaluations of the loss and its derivatives, including those before an interruption.
        engine: evaluates blocks of columns; iterates do not depend on it.
        path: file to continue from if it exists, written after every evaluation.
        report: called after each evaluation, and first if there are earlier ones.

    Raises:
        FloatingPointError: no column has a finite initial misfit.
        ValueError: a damaged file, or that of another fit or of other input.
    """
    n = fit.run.columns.n_columns
    blocks = [np.arange(first, min(first + BLOCK, n)) for first in range(0, n, BLOCK)]
    work = functools.partial(equations_of, fit)  # a single object: an engine sends it to its workers once

    def evaluated(x: np.ndarray, correction: np.ndarray) -> Equations:
        parts = engine.map(work, [(each, x, correction[each]) for each in blocks])
        equations = Equations(*(np.concatenate(each, axis=-1) for each in zip(*parts, strict=True)))
        return equations.penalised(correction, fit.penalty)

    progress = None
    if path is not None and path.exists():
        progress = _read(path, fit)
        report(progress)
    while progress is None or len(progress.losses) < n_iterations:
        if progress is None:
            x, correction = np.asarray(fit.free.start(), float), np.zeros(n)
            progress = _start(fit, x, correction, evaluated(x, correction))
        else:
            change = progress.step(fit)
            x, correction = progress.x + change[0], progress.correction + change[1]
            progress.learn(fit, x, correction, evaluated(x, correction))
        if path is not None:
            arrays = dataclasses.asdict(progress)
            header = {name: arrays.pop(name) for name in ("losses", "damping")}
            write_tree(path, {"fingerprint": fit.identity()} | header, arrays)
        report(progress)
    return progress


def _start(fit: MapFit, x: np.ndarray, correction: np.ndarray, equations: Equations) -> Progress:
    used = equations.is_finite
    if not used.any():
        raise FloatingPointError(
            "calibrate: expected a finite misfit with derivatives at the start, got none in all "
            f"{used.size} columns; try a shorter time step, or other start values."
        )
    weight = np.where(used, np.cos(np.deg2rad(fit.run.columns.latitude)), 0.0)
    weight = weight / weight.sum()
    first = np.where(used, equations.mean_square, np.nan)
    equations = Equations(*(np.where(used, part, 0.0) for part in equations))
    loss = float(np.sum(weight * fit.counts(equations.mean_square)))
    dampings = np.full(used.size, _FIRST_DAMPING)
    return Progress(x, correction, equations, first, weight, [loss], _FIRST_DAMPING, dampings)


def _read(path: Path, fit: MapFit) -> Progress:
    x, column = np.zeros(len(fit.free.paths)), np.zeros(fit.run.columns.n_columns)
    square = np.zeros((x.size + 1, x.size + 1, column.size))
    like = {name: column for name in ("correction", "dampings", "first", "weight")}
    like |= {"x": x, "equations": Equations(column, square[0], square)}
    header, arrays = read_tree(path, fit.identity(), lambda header: like, "calibration on a map")
    return Progress(**arrays, losses=header["losses"], damping=header["damping"])


def write_fit(fit: MapFit, progress: Progress, folder: Path, about: Provenance) -> list[Path]:
    """Write corrections, and parameters for all commands, into a folder, and return their paths."""
    import xarray as xr  # takes long

    origin = about.attributes
    paths, closure = [folder / CORRECTIONS_NAME, folder / PARAMETERS_NAME], fit.run.model.closure
    columns, used = fit.run.columns, progress.weight > 0.0
    last = progress.equations.mean_square - (fit.penalty * progress.correction) ** 2
    variables = {"loss": described("iteration", np.array(progress.losses), "misfits with penalty", "K2")}
    for name, values, *told in (
        ("heat_flux_correction", progress.correction, "heat flux correction", "W m-2"),
        ("misfit_before", progress.first**0.5, "root mean square misfit at the start", "K"),
        ("misfit_after", np.maximum(last, 0.0) ** 0.5, "root mean square misfit with the correction", "K"),
    ):
        on_map = np.full(int(np.prod(columns.shape)), np.nan)
        on_map[columns.index] = np.where(used, values, np.nan)
        variables[name] = described(map_dims(columns), on_map.reshape(columns.shape), *told)
    attributes = titled("Calibration on a map", type(closure).__name__) | origin
    write_dataset(xr.Dataset(variables, columns.coordinates, attributes), paths[0])
    numbers = {
        one.path: {"value": value, "unit": one.unit, "start": float(one.start)}
        | {"lower": one.lower, "upper": one.upper}
        for one, value in zip(fit.free.numbers, fit.values(progress.x).tolist(), strict=True)
    }
    calibration = {"loss": progress.loss, "loss_at_start": progress.losses[0], "n_columns": int(used.sum())}
    write_values(paths[1], Base.of(closure, numbers), numbers, {"calibration": calibration}, origin)
    return paths
