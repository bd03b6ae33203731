"""BFM17 at Bermuda and Hawaii against monthly observations; needs `TUNAX_LITE_DATA`.

Its own program, BFM17-Opt, couples it to POM in one dimension: temperature and salinity are prescribed for
each month, wind and the closure of Mellor and Yamada give the mixing, a vertical velocity carries all pools,
and oxygen, phosphate and nitrate of the lowest cell are drawn to those below. A year has 360 days. The third
year is compared, month by month and metre by metre.

Source: Smith et al. (2021), Geosci. Model Dev. 14, 2419-2441; Kern et al. (2024), Geosci. Model Dev. 17,
621-649.
"""

import os
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import tunax_lite as tl
from tunax_lite._types import Scalar, ScalarLike, array_field, parameter
from tunax_lite.closures import MellorYamada, SecondMomentClosure
from tunax_lite.column.forcing import AbstractForcing, SurfaceFluxes, WaterSurface
from tunax_lite.column.state import State
from tunax_lite.column.terms import AbstractTerm, AdvectionScheme, Column, Tendency, advect
from tunax_lite.column.time_series import TimeSeries
from tunax_lite.extensions.biogeochemistry import BFM17, Biogeochemistry
from tunax_lite.numerics.elementary import at_least, vector_norm
from tunax_lite.physics import Teos10, coriolis_parameter

from .harness import Row, Setting

DAY = 86400.0
MONTH, YEAR = 30.0 * DAY, 360.0 * DAY
DT = 3600.0
N_CELLS, N_YEARS = 150, 3
THICKNESS = 150.0 / 152.0  # of a cell [m]
LATITUDE = 45.0  # of both sites in the program
FIELDS = ("chlorophyll", "oxygen", "nitrate", "phosphate", "PON")
FILES = {
    "bats": ("Chla_1yr_climatology", "Oxy_1yr_climatology", "Nitrate_1yr_climatology", "Phos_1yr_climatology",
             "PON_1yr_climatology"),
    "hot": ("Chla_1yr_HOTS", "Oxy_1yr_HOTS", "Nit_1yr_HOTS", "Phs_1yr_HOTS", "PON_1yr_HOTS"),
}  # fmt: skip
PARAMETERS: dict[str, dict[str, float]] = {"bats": {}, "hot": {"p_rr6m": 10.0}}
BELOW: dict[str, dict[str, float]] = {"bats": {}, "hot": {"o2o": 0.45, "n1p": 0.17, "n3n": 0.0, "n4n": 0.0}}
"""The program's files: its baseline, and what is different at Hawaii, of the model and of `Surroundings`."""
PROGRAM = {
    "bats": ((0.0853, 0.611), (25.5, 0.151), (0.336, 0.923), (0.0127, 0.921), (0.312, 0.861)),
    "hot": ((0.0685, 0.870), (34.6, -0.581), (0.317, 0.880), (0.0340, 0.865), (0.200, -0.107)),
}
"""Root mean square difference and correlation of the program itself with these parameters."""
Fields = dict[str, np.ndarray]
"""Means of the months, by level from the surface down: shape (150, 12)."""


def folder(site: str) -> Path:
    """Of the files of a site."""
    data = os.environ.get("TUNAX_LITE_DATA")
    if not data:
        raise SystemExit("benchmarks: set TUNAX_LITE_DATA to the folder that holds biogeochemistry")
    return Path(data) / "biogeochemistry" / site


def observed(site: str) -> Fields:
    """Monthly observations."""
    return {
        name: np.load(folder(site) / f"{file}.npy")[:N_CELLS]
        for name, file in zip(FIELDS, FILES[site], strict=True)
    }


def read(site: str, name: str, *shape: int) -> np.ndarray:
    """A file of the program's input."""
    return np.fromfile(folder(site) / "inputs" / f"{name}.da", "<f8").reshape(-1, *shape)


def monthly(site: str, name: str, *shape: int) -> np.ndarray:
    """Values in the middle of fourteen months from December on; a profile from the bottom up."""
    values = read(site, f"bfm17_pom/{name}", *shape)
    values = np.concatenate([values, values[1:2]])
    return values[:, ::-1].copy() if shape and shape[0] > N_CELLS else values


def over_the_year(values: Any) -> TimeSeries[Any]:
    """Values of fourteen months as a series."""
    return TimeSeries(jnp.asarray((np.arange(14.0) - 0.5) * MONTH), jax.tree.map(jnp.asarray, values))


class Repeated(AbstractForcing):
    """Stress of the wind and shortwave radiation of every year."""

    months: TimeSeries[dict[str, Any]] = array_field(0)

    def at(self, time: ScalarLike, water: WaterSurface | None = None) -> SurfaceFluxes:
        now = self.months.at(time % YEAR)
        return SurfaceFluxes(stress_u=now["u"], stress_v=now["v"], shortwave_flux=now["shortwave"])

    def wind_speed(self, time: ScalarLike, water=None) -> Scalar:
        now = self.months.at(time % YEAR)
        return jnp.sqrt(vector_norm(now["u"], now["v"]) / (1.25 * 0.0014))

    def check_covers(self, start: float, end: float) -> None:
        pass


class Months(eqx.Module):
    """Water and what lies below it in the middle of months.

    Args:
        temperature, salinity: on cells [degC, 1].
        velocity: of the water on faces, positive upward [m s-1].
        below: oxygen, nitrate and phosphate [mmol m-3], and the gradient of particulate nitrogen [mmol m-4].
    """

    temperature: Any = array_field(1)
    salinity: Any = array_field(1)
    velocity: Any = array_field(1)
    below: Any = array_field(1)


class Surroundings(AbstractTerm):
    """Water of prescribed temperature and salinity that rises and sinks, and what lies below it.

    The profiles have the water at their faces, of eddies for both halves of a month; the fluxes through the
    bottom are those of the program.

    Args:
        o2o, n1p, n3n: velocities at which oxygen, phosphate and nitrate are exchanged [m d-1].
        n4n: factor of the flux of ammonium [m2 s-1], which the program does not divide by a day.
    """

    months: TimeSeries[Months] = array_field(0)
    eddies: Any = array_field(2)
    o2o: Scalar = parameter(0.06, unit="m d-1", valid_range=(0.0, 0.5))
    n1p: Scalar = parameter(0.06, unit="m d-1", valid_range=(0.0, 0.5))
    n3n: Scalar = parameter(0.06, unit="m d-1", valid_range=(0.0, 0.5))
    n4n: Scalar = parameter(0.05, valid_range=(0.0, 0.5))

    def before(self, column: Column) -> State:
        now, state = self.months.at(column.time % YEAR), column.state
        temperature, salinity = (of + 0.0 * state.temperature for of in (now.temperature, now.salinity))
        return State(state.u, state.v, temperature, salinity, state.tracers, state.surface)

    def held(self) -> tuple[str, ...]:
        return ("temperature", "salinity")

    def advect(self, column: Column) -> State:
        state, grid = column.advected, column.grid
        half = jnp.floor((column.time % YEAR) / (0.5 * MONTH)).astype(int)
        velocity = self.months.at(column.time % YEAR).velocity + 0.1 / DAY * self.eddies[half % 24]
        inner = velocity.at[0].set(0.0).at[-1].set(0.0)
        tracers = {}
        for name, values in state.tracers.items():
            moved = advect(
                values, inner, grid, column.dt, scheme=AdvectionScheme.UPSTREAM, moving=grid.cell_volume
            )
            through = column.dt * velocity[0] * values[0] / grid.cell_thickness[0]
            tracers[name] = moved.at[0].add(through)
        return State(state.u, state.v, state.temperature, state.salinity, tracers, state.surface)

    def on_scalars(self, column: Column) -> dict[str, Tendency]:
        below = self.months.at(column.time % YEAR).below
        lowest = jnp.zeros_like(column.grid.cell_thickness).at[0].set(1.0 / column.grid.cell_thickness[0])
        found = {}
        for i, (name, speed) in enumerate((("o2o", self.o2o), ("n3n", self.n3n), ("n1p", self.n1p))):
            found[f"bfm_{name}"] = Tendency(bottom=speed / DAY * below[i], loss_rate=speed / DAY * lowest)
        into, held = -self.n4n * below[3], at_least(column.state.tracers["bfm_n4n"][0], 1e-10)
        loss = at_least(-into, 0.0) / held * lowest
        return found | {"bfm_n4n": Tendency(bottom=at_least(into, 0.0), loss_rate=loss)}

    def check_covers(self, start: float, end: float) -> None:
        pass


def start(site: str, grid: tl.Grid, term: Biogeochemistry, temperature, salinity) -> State:
    """Pools at the start, in the program's proportions to carbon."""
    profile = lambda name: np.maximum(read(site, f"bfm17_init/init_vprof_{name}")[N_CELLS - 1 :: -1], 1e-10)  # noqa: E731
    carbon = {"p2": profile("Pc"), "z5": profile("Zc"), "r6": profile("POC"), "r1": profile("DOC")}
    pools = {
        "o2o": profile("Oxy"),
        "n1p": profile("Pho"),
        "n3n": profile("Nit"),
        "n4n": 1e-10 + 0.0 * profile("Pho"),
    }
    for name, values in carbon.items():
        share = 0.5 if name == "r1" else 1.0
        pools |= {
            f"{name}c": values,
            f"{name}n": share * 0.0126 * values,
            f"{name}p": share * 0.7862e-3 * values,
        }
    pools["p2l"] = carbon["p2"] / 50.0
    state = State.from_profiles(grid, temperature=jnp.asarray(temperature), salinity=jnp.asarray(salinity))
    return term.with_pools(state, {f"bfm_{name}": jnp.asarray(values) for name, values in pools.items()})


def column(site: str, **parameters: Any) -> tuple[tl.Model, tl.Case]:
    """Model and case of a site, with the program's parameters of the ecosystem unless given.

    The program adds the flux of oxygen through the surface twice: `d_wan` is twice its value.
    """
    grid = tl.Grid.uniform(N_CELLS * THICKNESS, N_CELLS)
    on_faces = {"temperature": "temp", "salinity": "sal", "velocity": "wgen"}
    months = {name: monthly(site, f"mon_vprof_{file}", N_CELLS + 1) for name, file in on_faces.items()}
    # Of these profiles the program takes levels 1 to 150 for its cells; the 151st is only a face.
    months |= {name: months[name][:, 1:] for name in ("temperature", "salinity")}
    months["below"] = monthly(site, "mon_botnut", 4)
    early, late = (monthly(site, f"../bfm17_pom/vprof_weddy{i}", N_CELLS + 1) for i in (1, 2))
    # A month begins with the second half of the interval from the middle of the month before.
    eddies = np.stack([late[:12], early[1:13]], axis=1).reshape(24, N_CELLS + 1)
    stress, radiation = monthly(site, "mon_surf_wind_stress", 2), monthly(site, "mon_surf_rad", 3)
    term = Biogeochemistry(
        {"bfm": BFM17(own_light=True, **({"d_wan": 0.62} | PARAMETERS[site] | parameters))},
        sinking=AdvectionScheme.UPSTREAM,
        open_bottom=True,
    )
    surroundings = Surroundings(over_the_year(Months(**months)), jnp.asarray(eddies), **BELOW[site])
    case = tl.Case(
        grid,
        start(site, grid, term, months["temperature"][0], months["salinity"][0]),
        Repeated(over_the_year({"u": stress[:, 0], "v": stress[:, 1], "shortwave": radiation[:, 0]})),
        coriolis_parameter=coriolis_parameter(LATITUDE),
        equation_of_state=Teos10(),
        terms={"surroundings": surroundings, "life": term},
        duration=N_YEARS * YEAR,
        name=site,
    )
    closure = MellorYamada(stability=SecondMomentClosure.of("mellor_yamada"), e_3_minus=1.8, e_3_plus=1.8)
    return tl.Model(closure, molecular_tracer_diffusivity=1e-4), case


def run(site: str, **parameters: Any) -> list[Fields]:
    """Means of the months of every year."""
    model, case = column(site, **parameters)
    kept = eqx.filter_jit(lambda: tl.simulate(model, case, dt=DT, output_interval=MONTH, means=True))()
    assert kept.means is not None
    # The first frame is the start, which has no means.
    means = {k: np.asarray(of)[1:, ::-1] for k, of in kept.means.state.tracers.items()}
    return [fields({k: of[12 * i : 12 * (i + 1)].T for k, of in means.items()}) for i in range(N_YEARS)]


def fields(pools: Fields) -> Fields:
    """What is compared, of pools."""
    direct = {"chlorophyll": "p2l", "oxygen": "o2o", "nitrate": "n3n", "phosphate": "n1p"}
    found = {name: pools[f"bfm_{pool}"] for name, pool in direct.items()}
    return found | {"PON": pools["bfm_p2n"] + pools["bfm_z5n"] + pools["bfm_r6n"]}


def compared(modelled: Fields, observations: Fields) -> dict[str, tuple[float, float]]:
    """Root mean square difference, and correlation over months and depths [1]."""
    return {
        name: (
            float(np.sqrt(np.mean((modelled[name] - values) ** 2))),
            float(np.corrcoef(modelled[name].ravel(), values.ravel())[0, 1]),
        )
        for name, values in observations.items()
    }


def measure_bfm17(setting: Setting) -> list[Row]:
    """BFM17 at Bermuda and Hawaii: difference from monthly observations and correlation with them."""
    rows: list[Row] = []
    for site in ("bats",) if setting.quick else FILES:
        years = run(site)
        scores = compared(years[-1], observed(site))
        for i, name in enumerate(FIELDS):
            before, last = years[-2][name], years[-1][name]
            rows.append({
                "site": site,
                "field": name,
                "rmsd": scores[name][0],
                "correlation": scores[name][1],
                "rmsd_of_program": PROGRAM[site][i][0],
                "correlation_of_program": PROGRAM[site][i][1],
                "change_in_a_year": float(np.abs(last - before).max() / np.abs(last).max()),
            })  # fmt: skip
    return rows
