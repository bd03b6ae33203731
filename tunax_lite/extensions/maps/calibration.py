"""Calibration on a map: a heat flux correction for every column, and shared parameters.

    u_i = mean_k (T_i(t_k) - observed_i(t_k))^2 + (penalty q_i)^2,    loss = sum_i a_i rho(u_i) / sum_i a_i

over the times with observations. T_i is the temperature of the uppermost cell, a_i the area of a column, q_i
its correction, which is constant in time. rho(u) = u, or c^2 log(1 + u / c^2) with a scale c: a column that
the model cannot follow then has little effect on the shared parameters. Columns are independent: m + 1
tangents, each for all columns at once, give the Jacobian by the n corrections and the m shared parameters.
Corrections are eliminated column by column, which leaves m equations (Gauss-Newton with Levenberg-Marquardt
damping). With a scale, columns have the weight rho'(u_i) / (1 + h_i / H) in these besides their area. h_i is
the sum of the mean square derivatives by the shared parameters, and H its median over columns where it is
not zero, times `STEEP`: otherwise a few columns that change abruptly, with derivatives up to a million times
those of the others, would dominate the step. Sums over columns are in order: iterates do not depend on the
number of workers.

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
from ...io.dataset import described, titled, write_dataset
from ...io.provenance import Provenance
from ...runtime import compile_program
from ...runtime.compilation import Program, Shared
from ...runtime.engine import AbstractEngine
from ...runtime.jax_setup import failures_as_values
from .sections import MapCalibrationSection
from .setup import MapRun, on_map
from .store import map_dims

BLOCK = 64
"""Columns that are evaluated together."""
LARGEST_CHANGE = 0.5
"""Largest change of an unconstrained shared parameter in one step."""
STEEP = 10.0
"""Ratio of a column's mean square derivatives to their median, above which it counts less."""
LARGEST_CORRECTION = 150.0
"""Largest change of a correction in one step [W m-2]."""
_FIRST_DAMPING, _DAMPINGS = 4e-2, (1e-4, 1e8)
_GROWTH, _SHRINKAGE = 8.0, 0.25
CORRECTIONS_NAME, ITERATIONS_NAME = "corrections.nc", "iterations.eqx"
FILES = ITERATIONS_NAME, CORRECTIONS_NAME, PARAMETERS_NAME


@dataclasses.dataclass(frozen=True)
class MapFit:
    """The fit on a map, as one picklable object.

    Args:
        run: run of the map, without output variables; residuals are taken at the ends of its frames.
        settings: shared parameters, penalty of the corrections, scale of the misfit, and spin-up.
    """

    run: MapRun
    settings: MapCalibrationSection

    @functools.cached_property
    def free(self) -> ParameterTable:
        """Parameters of the closure shared by all columns."""
        return self.settings.free(self.run.model.closure)

    @property
    def times(self) -> np.ndarray:
        """Ends of the frames to use [s]."""
        return self.run.times[self.run.times > self.settings.start]

    def contribution(self, mean_square: np.ndarray) -> np.ndarray:
        """Contribution rho(u) of each column to the loss, from its mean square u with the penalty [K2]."""
        scale = self.settings.misfit_scale
        return mean_square if scale is None else scale**2 * np.log1p(mean_square / scale**2)

    def weight(self, equations: "Equations") -> np.ndarray:
        """Weight of each column in the equations of the shared parameters, besides its area [1]."""
        scale = self.settings.misfit_scale
        if scale is None:
            return np.ones_like(equations.mean_square)
        slope = np.trace(equations.matrix[:-1, :-1])
        steep = STEEP * np.median(slope[slope > 0.0]) if np.any(slope > 0.0) else 1.0
        return 1.0 / (1.0 + equations.mean_square / scale**2) / (1.0 + slope / steep)

    def values(self, x: np.ndarray) -> np.ndarray:
        """The shared parameters, each in its own unit."""
        return np.asarray(self.free.to_physical(jnp.asarray(x)))

    def identity(self) -> dict[str, str]:
        """Settings and input files on which the iterates depend, by name."""
        text = repr(self.settings.model_copy(update={"n_iterations": 0, "folder": None}))
        return {"map": self.run.fingerprint[:16], "calibration": text, **dict(self.run.stamps())}


class Equations(NamedTuple):
    """Mean square of each column with its penalty [K2], and half its derivatives by the m shared parameters
    and the correction.
    """

    mean_square: np.ndarray  # (n_columns,)
    gradient: np.ndarray  # (m + 1, n_columns)
    matrix: np.ndarray  # (m + 1, m + 1, n_columns), of Gauss-Newton


_programs: Shared[Program] = Shared(most=1)


def equations_of(fit: MapFit, item: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Equations:
    """Normal equations of a block of columns.

    `item` contains the indices of the columns, the unconstrained shared parameters, and the corrections.
    """
    columns, *numbers = item
    model, case = fit.run.batch(columns, 0.0, fit.run.duration)
    dtype = case.grid.z_face.dtype
    numbers = [jnp.asarray(each, dtype) for each in (*numbers, fit.run.columns.observed(columns, fit.times))]
    arguments = *numbers, model, case
    compiled = lambda: compile_program(functools.partial(_equations, fit), *arguments)  # noqa: E731
    program = _programs.get(compiled, arguments, fit.run.fingerprint, repr(fit.settings))
    return Equations(*(np.asarray(part, float) for part in jax.device_get(program(*arguments))))


def _equations(
    fit: MapFit, x: Array, correction: Array, observed: Array, model: Model, case: Case
) -> Equations:
    m, (n,) = x.shape[0], correction.shape
    is_observed = jnp.isfinite(observed)
    n_times = jnp.maximum(is_observed.sum(axis=0), 1)
    # The sum of squares of residuals with these factors is the mean square over the observed times.
    factor = jnp.where(is_observed, n_times.astype(observed.dtype) ** -0.5, 0.0)

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
        misfit = factor * (surface[-len(observed) :] - jnp.where(is_observed, observed, 0.0))
        return jnp.append(misfit, fit.settings.penalty * correction[None], axis=0)

    # Every column has its own copy of the shared parameters: one tangent then gives the derivatives of all
    # columns at once.
    at = jnp.broadcast_to(x[:, None], (m, n)), correction
    directions = jnp.broadcast_to(jnp.eye(m + 1, dtype=x.dtype)[:, :, None], (m + 1, m + 1, n))
    push = lambda d: jax.jvp(differences, at, (d[:m], d[m]))  # noqa: E731
    residuals, jacobian = jax.vmap(push, out_axes=(None, 0))(directions)  # columns stay the last axis
    gradient = jnp.sum(jacobian * residuals, axis=1)
    matrix = jnp.sum(jacobian[:, None] * jacobian[None], axis=2)
    return Equations(jnp.sum(residuals**2, axis=0), gradient, matrix)  # pyright: ignore[reportArgumentType]


class Progress(NamedTuple):
    """State of a fit after its last evaluation.

    Args:
        x: unconstrained shared parameters in the evaluation with the lowest loss.
        correction: heat flux correction of each column in this evaluation [W m-2].
        equations: normal equations at x and correction.
        weight: fraction of the area in each column; 0 for columns that failed initially.
        losses: loss of each evaluation, in order [K2].
        damping: relative increase of the diagonal, `(1 + n_columns,)`: of the shared parameters, then of
            each correction [1].
    """

    x: np.ndarray
    correction: np.ndarray
    equations: Equations
    weight: np.ndarray
    losses: np.ndarray
    damping: np.ndarray

    @classmethod
    def at_start(cls, fit: MapFit, n_evaluations: int = 0) -> "Progress":
        """Return the start of a fit; with `n_evaluations`, a template of that length to read a file into.

        Its equations have no derivatives: the first step is zero, so the start values are evaluated first.
        """
        x, zero = np.asarray(fit.free.start(), float), np.zeros(fit.run.columns.n_columns)
        square = np.zeros((x.size + 1, x.size + 1, zero.size))
        equations = Equations(zero + np.inf, square[0], square)
        damping = np.full(1 + zero.size, _FIRST_DAMPING)
        return cls(x, zero, equations, zero, np.zeros(n_evaluations), damping)

    @property
    def loss(self) -> float:
        """The lowest loss so far [K2]."""
        return float(self.losses.min(initial=np.inf))

    def step(self, fit: MapFit) -> tuple[np.ndarray, np.ndarray]:
        """Steps of the shared parameters and corrections to the minimum of the damped quadratic model."""
        gradient, matrix = self.equations.gradient, self.equations.matrix
        weight = self.weight * fit.weight(self.equations)
        diagonal = matrix[-1, -1] * (1.0 + self.damping[1:])
        inverse = np.where(diagonal > 0.0, 1.0 / np.where(diagonal > 0.0, diagonal, 1.0), 0.0)
        border = matrix[:-1, -1]  # (m, n)
        reduced = np.sum(weight * (matrix[:-1, :-1] - border[:, None] * border[None] * inverse), axis=-1)
        reduced += self.damping[0] * np.diag(np.sum(weight * np.diagonal(matrix[:-1, :-1]).T, axis=-1))
        right = np.sum(weight * (gradient[:-1] - border * gradient[-1] * inverse), axis=-1)
        shared = -np.linalg.lstsq(reduced, right, rcond=1e-12)[0]
        shared *= min(1.0, LARGEST_CHANGE / max(np.abs(shared).max(initial=0.0), 1e-300))
        change = -(gradient[-1] + shared @ border) * inverse
        return shared, np.clip(change, -LARGEST_CORRECTION, LARGEST_CORRECTION)

    def after(self, fit: MapFit, x: np.ndarray, correction: np.ndarray, equations: Equations) -> "Progress":
        """The state after an evaluation, which is accepted if its loss is lower.

        Raises:
            FloatingPointError: the first evaluation, without a finite misfit in any column.
        """
        finite = [np.isfinite(part).reshape(-1, part.shape[-1]).all(axis=0) for part in equations]
        misfit = np.where(np.logical_and.reduce(finite), equations.mean_square, np.inf)
        weight = self.weight
        if not self.losses.size:
            if np.isinf(misfit).all():
                raise FloatingPointError(
                    "calibrate: expected a finite misfit with derivatives at the start, got none in all "
                    f"{misfit.size} columns; try a shorter time step, or other start values."
                )
            area = np.where(np.isinf(misfit), 0.0, np.cos(np.deg2rad(fit.run.columns.latitude)))
            weight = area / area.sum()
        used = weight > 0.0
        loss = float(np.sum(weight[used] * fit.contribution(misfit[used])))
        is_better = np.append(loss < self.loss, misfit < self.equations.mean_square)
        damping = np.clip(self.damping * np.where(is_better, _SHRINKAGE, _GROWTH), *_DAMPINGS)
        x, correction, equations = (x, correction, equations) if is_better[0] else self[:3]
        equations = Equations(*(np.where(used, part, 0.0) for part in equations))
        losses = np.append(self.losses, loss)
        return Progress(x, np.where(used, correction, 0.0), equations, weight, losses, damping)


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
        fit: the fit; its `settings.n_iterations` is not used.
        n_iterations: evaluations of the loss and its derivatives, including those before an interruption.
        engine: evaluates blocks of columns; iterates do not depend on it.
        path: file to continue from if it exists, written after every evaluation.
        report: called after each evaluation, and with the state that was read from `path`.

    Raises:
        FloatingPointError: no column has a finite initial misfit.
        FileFormatError, ValueError: `path` is damaged, or belongs to another fit or other input.
    """
    n = fit.run.columns.n_columns
    # Blocks are equally long, for one compiled program: copies of the last column fill the last block.
    blocks = [np.minimum(np.arange(first, first + BLOCK), n - 1) for first in range(0, n, BLOCK)]
    work = functools.partial(equations_of, fit)  # a single object: an engine sends it to its workers once
    progress = Progress.at_start(fit)
    if path is not None and path.exists():
        like = lambda header: Progress.at_start(fit, header["n_evaluations"])  # noqa: E731
        progress = read_tree(path, fit.identity(), like, "calibration on a map")
        report(progress)
    while progress.losses.size < n_iterations:
        shared, change = progress.step(fit)
        x, correction = progress.x + shared, progress.correction + change
        parts = engine.map(work, [(each, x, correction[each]) for each in blocks])
        joined = (np.concatenate(each, axis=-1)[..., :n] for each in zip(*parts, strict=True))
        progress = progress.after(fit, x, correction, Equations(*joined))
        if path is not None:
            header = {"fingerprint": fit.identity(), "n_evaluations": progress.losses.size}
            write_tree(path, header, progress)
        report(progress)
    return progress


def write_fit(fit: MapFit, progress: Progress, folder: Path, about: Provenance) -> list[Path]:
    """Write corrections, and parameters for `--parameters`, into a folder, and return their paths."""
    import xarray as xr  # takes long

    paths, closure = [folder / CORRECTIONS_NAME, folder / PARAMETERS_NAME], fit.run.model.closure
    columns, used = fit.run.columns, progress.weight > 0.0
    mean_square = progress.equations.mean_square - (fit.settings.penalty * progress.correction) ** 2
    variables = {"loss": described("iteration", progress.losses, "misfits with penalty", "K2")}
    for name, values, *labels in (
        ("heat_flux_correction", progress.correction, "heat flux correction", "W m-2"),
        ("misfit", np.maximum(mean_square, 0.0) ** 0.5, "root mean square misfit with the correction", "K"),
    ):
        values = on_map(np.where(used, values, np.nan), columns.index, columns.shape)
        variables[name] = described(map_dims(columns), values, *labels)
    attributes = titled("Calibration on a map", type(closure).__name__) | about.attributes
    write_dataset(xr.Dataset(variables, columns.coordinates, attributes), paths[0])
    best = fit.free.by_path(fit.values(progress.x).tolist())
    numbers = {
        "loss": progress.loss,
        "loss_at_start": float(progress.losses[0]),
        "n_columns": int(used.sum()),
    }
    entries = fit.free.to_yaml(best, closure, {}, {})
    write_values(paths[1], Base.of(closure, best), entries, {"calibration": numbers}, about.attributes)
    return paths
