"""What biogeochemical models conserve in a closed column, and whether their pools stay positive."""

from collections.abc import Callable
from functools import partial

import jax.numpy as jnp
import numpy as np

import tunax_lite as tl
from tunax_lite._types import Scalar, ScalarLike
from tunax_lite.column.forcing import AbstractForcing, SurfaceFluxes, WaterSurface
from tunax_lite.extensions.biogeochemistry import (
    BFM17,
    NPZD,
    AbstractBiogeochemicalModel,
    Biogeochemistry,
    Fasham,
    Passive,
)
from tunax_lite.extensions.biogeochemistry.schemes import (
    AbstractSourceScheme,
    Euler,
    ModifiedPatankar,
    ModifiedPatankar2,
)

from .harness import Row, Setting

DAY = 86400.0
HELD = ("nitrogen", "phosphorus", "tracer")
"""Contents that do not pass the surface; oxygen and carbon do."""
MODELS: dict[str, Callable[[], AbstractBiogeochemicalModel]] = {
    # Not ergom: its cyanobacteria fix nitrogen of the air, and it loses nitrogen where there is no oxygen.
    "npzd": NPZD,
    "fasham": Fasham,
    "bfm17": BFM17,
    "passive": partial(Passive, vertical_velocity=-2.0),
}
SCHEMES: dict[str, tuple[AbstractSourceScheme, ...]] = {
    "1800": (ModifiedPatankar(), ModifiedPatankar2(), Euler()),
    "43200": (ModifiedPatankar(),),
}
"""By time step [s]."""
SINKING_SUBSTEPS = {"1800": 1, "43200": 4}


class Summer(AbstractForcing):
    """Constant sun, wind and stress, without rain."""

    def at(self, time: ScalarLike, water: WaterSurface | None = None) -> SurfaceFluxes:
        return SurfaceFluxes(stress_u=0.05, heat_flux=-140.0, shortwave_flux=150.0)

    def wind_speed(self, time: ScalarLike, water=None) -> Scalar:
        return jnp.asarray(8.0)

    def check_covers(self, start: float, end: float) -> None:
        pass


def conserved(
    name: str, model: AbstractBiogeochemicalModel, scheme: AbstractSourceScheme, dt: str, n_days: float
) -> list[Row]:
    """Largest change of each content over its first value, and the least concentration.

    Args:
        name: of the model.
        dt: time step [s].
    """
    life = Biogeochemistry({name: model}, scheme=scheme, n_sinking_substeps=SINKING_SUBSTEPS[dt])
    grid = tl.Grid.uniform(60.0, 12)
    water = tl.State.from_profiles(grid, temperature=lambda z: 12.0 + 0.05 * z, salinity=35.0)
    pools = {pool.name: pool for pool in model.pools() if not pool.on_bottom}
    start = {f"{name}_{key}": pool.initial + 0.1 for key, pool in pools.items()}
    case = tl.Case(
        grid,
        life.with_pools(water, start),
        Summer(),
        coriolis_parameter=1e-4,
        terms={"life": life},
        duration=n_days * DAY,
    )
    run = tl.simulate(tl.Model(tl.KEpsilon()), case, dt=float(dt), output_interval=DAY)
    totals = life.totals(run.state.tracers, run.state.surface, grid)
    least = min(
        float(np.min(run.state.tracers[f"{name}_{key}"])) for key, pool in pools.items() if pool.positive
    )
    return [
        {
            "model": name,
            "scheme": type(scheme).__name__,
            "dt": int(dt),
            "what": what,
            "largest_change": float(np.max(np.abs(np.asarray(held) / held[0] - 1.0))),
            "least": least,
        }
        for what, held in totals.items()
        if what in HELD
    ]


def measure_conservation(setting: Setting) -> list[Row]:
    """Contents of a closed column over thirty days of sun: largest relative change, least concentration."""
    rows: list[Row] = []
    for name, model in MODELS.items():
        for dt, schemes in SCHEMES.items():
            for scheme in schemes[:1] if setting.quick else schemes:
                rows += conserved(name, model(), scheme, dt, 5.0 if setting.quick else 30.0)
    return rows
