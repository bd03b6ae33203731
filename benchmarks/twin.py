"""Twin experiment: eight numbers of NPZD from chlorophyll and nitrate of one year, in an idealised North Sea.

A run with known numbers is observed once a week: phytoplankton, as chlorophyll of a known ratio, and
nutrients, in every cell. From wrong numbers, each between half and twice the true one, Levenberg-Marquardt
has to find them. The Jacobian at the truth says what real observations, which have errors, could determine.
"""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import tunax_lite as tl
from tunax_lite._types import ScalarLike
from tunax_lite.calibration import (
    FreeParameter,
    FreeParameters,
    LevenbergMarquardt,
    MeanSquare,
    Target,
    ZScore,
    calibrate,
)
from tunax_lite.column.forcing import AbstractForcing, SurfaceFluxes, WaterSurface
from tunax_lite.column.observations import Observations
from tunax_lite.extensions.biogeochemistry import NPZD, Biogeochemistry
from tunax_lite.physics import TwoBandAbsorption

from .harness import Row, Setting

DAY = 86400.0
WEEK = 7.0 * DAY
DT = 7200.0
OBSERVED = {"npzd_phy": 0.2, "npzd_nut": 0.5}
"""Pools and errors of their observations [mmol m-3]."""
PER_PROFILE = 5
"""Independent values that a profile is worth: neighbouring heights err together."""
FACTOR = 5.0
"""Bounds relative to the true number."""
TRUTH = {
    "rmax": 1.0,
    "gmax": 0.3,
    "iv": 1.1,
    "alpha": 0.3,
    "kc": 0.03,
    "rpdl": 0.1,
    "rzd": 0.02,
    "rdn": 0.03,
}
PATH = "cases.twin.terms.life.models.npzd"


class Seasons(AbstractForcing):
    """Sun, heat and wind of 59 degrees north; every eight days a storm."""

    def at(self, time: ScalarLike, water: WaterSurface | None = None) -> SurfaceFluxes:
        assert water is not None
        angle = 2.0 * jnp.pi * time / (365.0 * DAY)
        air = 9.5 - 4.0 * jnp.cos(angle - 0.77)
        storm = 1.0 + 0.8 * jnp.sin(2.0 * jnp.pi * time / (8.0 * DAY))
        return SurfaceFluxes(
            stress_u=(0.13 + 0.07 * jnp.cos(angle - 0.26)) * storm,
            heat_flux=30.0 * (air - water.temperature) - 70.0,
            shortwave_flux=100.0 - 90.0 * jnp.cos(angle + 0.17),
        )

    def check_covers(self, start: float, end: float) -> None:
        pass


def column(duration: float, n_cells: int = 30, **numbers: Any) -> tuple[tl.Model, tl.Case]:
    """Model and case of a year that begins on the first of January.

    Args:
        duration: [s].
        n_cells: of 90 m.
        numbers: of NPZD, instead of the true ones.
    """
    grid = tl.Grid.uniform(90.0, n_cells)
    npzd = NPZD(w_d=-2.0, transition=2.0, **(TRUTH | numbers))
    life = Biogeochemistry({"npzd": npzd}, shading=True)
    winter = tl.State.from_profiles(grid, temperature=7.5, salinity=35.1)
    start = {"npzd_nut": 8.9, "npzd_phy": 0.05, "npzd_zoo": 0.05, "npzd_det": 0.0}
    case = tl.Case(
        grid,
        life.with_pools(winter, start),
        Seasons(),
        coriolis_parameter=1.25e-4,
        absorption=TwoBandAbsorption(infrared_fraction=0.77, infrared_depth=1.5, visible_depth=14.0),
        background_diffusivity=2e-5,
        terms={"life": life},
        duration=duration,
        name="twin",
    )
    return tl.Model(tl.KEpsilon()), case


def observed(model: tl.Model, case: tl.Case) -> Observations:
    """Exact profiles of every week."""
    run = tl.simulate(model, case, dt=DT, output_interval=WEEK)
    profiles = {name: run.state.tracers[name][1:] for name in OBSERVED}
    return Observations(run.time[1:], case.grid.z_center, profiles)


class Found(NamedTuple):
    """An estimate.

    Args:
        start, values: numbers by name, before and after.
        n_evaluations: runs, each with its Jacobian where it lowered the misfit.
        loss: mean square of the differences, of those at the start.
    """

    start: dict[str, float]
    values: dict[str, float]
    n_evaluations: int
    loss: float

    @property
    def error(self) -> float:
        """Of the worst number, relative to the truth [1]."""
        return max(abs(value / TRUTH[name] - 1.0) for name, value in self.values.items())


def find(
    start: dict[str, float], observations: Observations, duration: float, n_cells: int = 30, most: int = 80
) -> Found:
    """Numbers of NPZD from observations; those that are not in `start` are known."""
    model, case = column(duration, n_cells, **start)
    free = FreeParameters(
        tuple(
            FreeParameter(f"{PATH}.{name}", TRUTH[name] / FACTOR, TRUTH[name] * FACTOR, scale="log")
            for name in start
        )
    )
    target = Target(case, observations, dict.fromkeys(OBSERVED, 1.0), dt=DT, scale=ZScore())
    result = calibrate(
        model, free, [target], LevenbergMarquardt(largest_step=0.5, tolerance=1e-10), most, score=MeanSquare()
    )
    values = {name: float(result.best[f"{PATH}.{name}"]) for name in start}
    losses = np.asarray(result.history.loss)
    return Found(start, values, result.history.n_iterations, float(np.nanmin(losses) / losses[0]))


def wrong(seed: int) -> dict[str, float]:
    """Numbers between half and twice the truth."""
    factors = np.exp2(np.random.default_rng(seed).uniform(-1.0, 1.0, len(TRUTH)))
    return {name: float(value * factor) for (name, value), factor in zip(TRUTH.items(), factors, strict=True)}


@dataclasses.dataclass(frozen=True)
class Knowledge:
    """What observations with errors determine of the logarithms of the numbers.

    Args:
        names: of the numbers.
        singular: values of the Jacobian over the errors, the largest first; the error of each combination is
            its reciprocal.
        directions: combinations of numbers, in columns.
    """

    names: tuple[str, ...]
    singular: np.ndarray
    directions: np.ndarray

    @property
    def deviations(self) -> dict[str, float]:
        """Standard deviation of each logarithm, that is, the relative error [1], if no prior helps."""
        each = np.sqrt(np.sum((self.directions / self.singular) ** 2, axis=1))
        return dict(zip(self.names, each.tolist(), strict=True))


def knowledge(duration: float = 364.0 * DAY, pools: tuple[str, ...] = tuple(OBSERVED)) -> Knowledge:
    """From the Jacobian at the truth, with the errors of the observations."""
    model, case = column(duration)
    names = tuple(sorted(TRUTH))

    def residuals(logarithms: dict[str, jax.Array], case: tl.Case) -> Any:
        values = [jnp.exp(logarithms[name]) for name in names]
        changed = eqx.tree_at(
            lambda c: [getattr(c.terms["life"].models["npzd"], name) for name in names], case, values
        )
        run = tl.simulate(model, changed, dt=DT, duration=duration, output_interval=WEEK)
        share = np.sqrt(PER_PROFILE / case.grid.n_cells)
        return {name: share / OBSERVED[name] * run.state.tracers[name] for name in pools}

    start = {name: jnp.log(TRUTH[name]) for name in names}
    matrix = np.asarray(tl.jacobian(residuals, start, case.unlabelled()).matrix)
    _, singular, directions = np.linalg.svd(matrix, full_matrices=False)
    return Knowledge(names, singular, directions.T)


def measure_twin(setting: Setting) -> list[Row]:
    """Twin experiment of NPZD: numbers found from wrong starts."""
    duration = (112.0 if setting.quick else 364.0) * DAY
    seen = observed(*column(duration))
    rows: list[Row] = []
    for seed in range(1 if setting.quick else 5):
        found = find(wrong(seed), seen, duration)
        off = max(abs(np.log2(value / TRUTH[name])) for name, value in found.start.items())
        rows.append({
            "what": f"start {seed}",
            "n_iterations": found.n_evaluations,
            "start_off": float(2.0**off),
            "loss_of_start": found.loss,
            "worst_error": found.error,
        })  # fmt: skip
    return rows


def measure_twin_errors(setting: Setting) -> list[Row]:
    """Relative errors of the numbers of NPZD from observations with errors, without a prior."""
    duration = (112.0 if setting.quick else 364.0) * DAY
    sets = {"both": tuple(OBSERVED), "chlorophyll": ("npzd_phy",), "nitrate": ("npzd_nut",)}
    rows: list[Row] = []
    for what, pools in sets.items():
        known = knowledge(duration, pools)
        ends = {"largest_singular": float(known.singular[0]), "smallest_singular": float(known.singular[-1])}
        rows.append({"observed": what} | known.deviations | ends)
    return rows
