"""Misfits of the columns of a map and their normal equations, block by block, and the resulting step.

    u_i = mean_k (T_i(t_k) - observed_i(t_k))^2 + (penalty q_i)^2,    loss = sum_i a_i rho(u_i) / sum_i a_i

over the times with observations. T_i is the temperature of the uppermost cell at the ends of the frames, a_i
the area of a column, and q_i its correction, which is constant in time. rho(u) = u, or with a scale c

    rho(u) = c^2 log(1 + u / c^2)

as for Student's t distribution: the model cannot reproduce a column whose misfit far exceeds c, and such a
column has little effect on the shared parameters. Because columns are independent, the residuals of column i
depend only on q_i and the m shared parameters x: m + 1 tangents through the time loop, each for all columns
at once, give the whole Jacobian by n + m numbers, and its normal equations are diagonal except for m rows and
columns. Corrections are eliminated column by column, which leaves m equations for x (Gauss-Newton with
Levenberg-Marquardt damping). In these, columns have a weight besides their area, recomputed in every step:
the derivative of rho, reduced for steep columns,

    w_i = rho'(u_i) / (1 + h_i / H) = 1 / (1 + u_i / c^2) / (1 + h_i / H)

where h_i is the mean square change of the surface temperature with all shared parameters, and H its median
over all columns, times `STEEP`. Without the second factor, the few columns that change abruptly, with
derivatives up to a million times those of the others, dominate the step, although these derivatives hold only
locally.

Sources: Golub and Pereyra (2003), Inverse Problems 19, R1-R26, on variable projection; Holland and Welsch
(1977), Communications in Statistics A 6, 813-827, on iteratively reweighted least squares; Hampel et al.
(1986), Robust statistics, ch. 6, on leverage.
"""

import dataclasses
import functools
import hashlib
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ...calibration import ResolvedParameters
from ...column.case import Case
from ...column.checkpointing import Auto
from ...column.corrections import CorrectedForcing
from ...column.integrate import batched_case, count_steps, integrate, start_of
from ...column.model import Model
from ...runtime import Program, Shared, compile_program
from .setup import MapRun

BLOCK = 64
"""Columns that are evaluated together."""
LARGEST_CHANGE = 0.5
"""Of an unconstrained number that all columns share, in one step."""
STEEP = 10.0
"""Mean square derivative of a column over the median, above which it counts less for the shared numbers."""
LARGEST_CORRECTION = 150.0
"""Change of a correction in one step [W m-2]."""


@dataclasses.dataclass(frozen=True)
class MapFit:
    """The fit on a map, as one picklable object.

    Args:
        run: of the map, whose variables are ignored; residuals are taken at the ends of its frames.
        free: parameters of the closure shared by all columns.
        penalty: equivalent misfit of a correction [K m2 W-1].
        scale: root mean square misfit above which a column is downweighted [K]; without it all have full
            weight.
        begin: time before which frames are ignored [s].
    """

    run: MapRun
    free: ResolvedParameters
    penalty: float = 0.0
    begin: float = 0.0
    scale: float | None = None

    @property
    def times(self) -> np.ndarray:
        """Ends of the frames to use [s]."""
        count_steps(self.run.duration, self.run.output_interval, "duration", "output_interval")
        found = self.run.times[self.run.times > self.begin]
        if not found.size:
            raise ValueError(
                f"start: expected a time before the end of the run, {self.run.duration:g} s, got "
                f"{self.begin:g} s; extend the run, or begin earlier."
            )
        return found

    @property
    def blocks(self) -> list[np.ndarray]:
        """Indices of the columns that are evaluated together."""
        n = self.run.columns.n_columns
        return [np.arange(first, min(first + BLOCK, n)) for first in range(0, n, BLOCK)]

    @property
    def area(self) -> np.ndarray:
        """Fraction of the total area in each column."""
        area = np.cos(np.deg2rad(self.run.columns.latitude))
        return area / area.sum()

    def counts(self, mean_square: np.ndarray) -> np.ndarray:
        """Contribution of columns to the loss [K2], from their mean squares with the penalty [K2]."""
        square = None if self.scale is None else self.scale**2
        return mean_square if square is None else square * np.log1p(mean_square / square)

    def weight(self, equations: "Equations") -> np.ndarray:
        """Weight of each column in the equations of the shared parameters, besides its area [1]."""
        if self.scale is None:
            return np.ones_like(equations.mean_square)
        steepness = np.trace(equations.matrix[:-1, :-1])
        some = steepness[steepness > 0.0]
        steep = STEEP * np.median(some) if some.size else 1.0
        return 1.0 / (1.0 + equations.mean_square / self.scale**2) / (1.0 + steepness / steep)

    def values(self, x: np.ndarray) -> np.ndarray:
        """The shared parameters, each in its own unit."""
        return np.asarray(self.free.to_physical(jnp.asarray(x)))

    @property
    def fingerprint(self) -> str:
        """Changes with everything that the iterates depend on."""
        known = self.run.fingerprint, repr(self.free), self.penalty, self.begin, self.scale
        return hashlib.sha256(repr(known).encode()).hexdigest()


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
        """Add the penalty of the corrections; derivatives are zero where they are not finite."""
        known = self.is_finite
        gradient, matrix = np.where(known, self.gradient, 0.0), np.where(known, self.matrix, 0.0)
        gradient[-1] += penalty**2 * correction
        matrix[-1, -1] += penalty**2
        return Equations(self.mean_square + (penalty * correction) ** 2, gradient, matrix)


class Block(NamedTuple):
    """Columns evaluated together, at an unconstrained vector and at corrections of these columns."""

    columns: np.ndarray
    x: np.ndarray
    correction: np.ndarray


def equations_of(fit: MapFit, item: Block) -> Equations:
    """Normal equations of a block of columns."""
    missing = BLOCK - len(item.columns)
    columns = np.concatenate([item.columns, np.repeat(item.columns[-1:], missing)])
    correction = np.concatenate([item.correction, np.zeros(missing)])
    batch = fit.run.batch(columns, 0.0, fit.run.duration)
    dtype = batch[1].grid.z_face.dtype
    observed = jnp.asarray(fit.run.columns.observed(columns, fit.times), dtype)
    given = jnp.asarray(item.x, dtype), jnp.asarray(correction, dtype), batch, observed
    program = _programs.get(
        lambda: compile_program(functools.partial(_equations, fit), *given), given, fit.fingerprint
    )
    found = jax.device_get(program(*given))
    return Equations(*(np.asarray(part, float)[..., : len(item.columns)] for part in found))


_programs: Shared[Program] = Shared(most=1)


def _equations(
    fit: MapFit, x: Array, correction: Array, batch: tuple[Model, Case], observed: Array
) -> Equations:
    model, case = batch
    m, (n,) = x.shape[0], correction.shape
    there = jnp.isfinite(observed)
    number = jnp.maximum(jnp.sum(there, axis=0), 1).astype(x.dtype)

    def residuals(x, correction):
        calibrated = dataclasses.replace(model, closure=fit.free.insert(model.closure, x))
        forcing = CorrectedForcing(case.forcing, None, heat_flux_bias=correction[None])
        own = batched_case(calibrated, dataclasses.replace(case, forcing=forcing))
        _, temperature = integrate(
            calibrated,
            own,
            start_of(calibrated, own),
            fit.run.dt,
            n_frames=fit.run.length.n_frames,
            steps_per_frame=fit.run.length.steps_per_frame,
            checkpointing=Auto(),
            save=lambda carry, _: carry.now.state.temperature[-1],
        )
        return jnp.where(there, temperature[-observed.shape[0] :] - observed, 0.0)

    # Every column has its own copy of the parameters, so that one tangent is a column of all Jacobians.
    at = jnp.broadcast_to(x[:, None], (m, n)), correction
    directions = jnp.broadcast_to(jnp.eye(m + 1, dtype=x.dtype)[:, :, None], (m + 1, m + 1, n))
    push = lambda d: jax.jvp(residuals, at, (d[:m], d[m]))  # noqa: E731
    found, jacobian = jax.vmap(push, out_axes=(None, 0))(directions)  # columns stay the last axis
    mean_square = jnp.sum(found**2, axis=0) / number
    gradient = jnp.sum(jacobian * found, axis=1) / number
    matrix = jnp.sum(jacobian[:, None] * jacobian[None], axis=2) / number
    return Equations(mean_square, gradient, matrix)  # pyright: ignore[reportArgumentType]


def step(
    equations: Equations, area: np.ndarray, damping: float, dampings: np.ndarray, *, is_joint: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Step of the shared parameters and corrections to the minimum of the damped quadratic model.

    Args:
        equations: with the penalty; area: fraction of the area in each column, times its weight.
        damping: relative increase of the diagonal of the shared parameters [1]; dampings: of each correction.
        is_joint: whether to change the shared parameters.
    """
    gradient, matrix = equations.gradient, equations.matrix
    own = matrix[-1, -1] * (1.0 + dampings)
    inverse = np.where(own > 0.0, 1.0 / np.where(own > 0.0, own, 1.0), 0.0)
    border = matrix[:-1, -1]  # (m, n)
    reduced = np.sum(area * (matrix[:-1, :-1] - border[:, None] * border[None] * inverse), axis=-1)
    reduced += damping * np.diag(np.sum(area * np.diagonal(matrix[:-1, :-1]).T, axis=-1))
    right = np.sum(area * (gradient[:-1] - border * gradient[-1] * inverse), axis=-1)
    shared = -np.linalg.lstsq(reduced, right, rcond=1e-12)[0]
    shared *= float(is_joint) * min(1.0, LARGEST_CHANGE / max(np.abs(shared).max(initial=0.0), 1e-300))
    change = -(gradient[-1] + shared @ border) * inverse
    return shared, np.clip(change, -LARGEST_CORRECTION, LARGEST_CORRECTION)
