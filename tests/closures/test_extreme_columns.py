"""Columns at the edge of what can be asked for.

Few or many levels, thick or thin, steps of a minute to a day, wind of up to 100 m/s from changing sides,
heat of up to 5 000 W m-2, cloudbursts, evaporation, no rotation, water that overturns or hardly moves, every
closure with its default settings. None may end in numbers that are not finite, in energy below zero, or with
a budget of heat, salt, dye or momentum open by more than 1e-10 of the content or of what went through.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.closures.columns import beyond
from tunax_lite.closures import CATKE, KPP, AbstractClosure, CATKEState, Constant, KEpsilonTheta
from tunax_lite.column.integrate import batched_case, integrate, start_of
from tunax_lite.config.closures import closure_names, closure_with

N_STEPS = 24
LARGEST_GAP = 1e-10
"""Of a budget, relative to the content and what went through."""


@dataclasses.dataclass(frozen=True)
class Column:
    """What is drawn: SI units; fluxes change their sign every `period` steps, 0 for never."""

    n_cells: int
    depth: float
    zoom: float
    dt: float
    stress: float
    heat_flux: float
    shortwave_flux: float
    freshwater_flux: float
    salt_flux: float
    dye_flux: float
    period: int
    coriolis: float
    warmer_at_surface: float
    salinity: float
    current: float

    @classmethod
    def drawn(cls, rng: np.random.Generator, levels: Sequence[int]) -> "Column":
        def one_of(*values):
            return values[rng.integers(len(values))]

        return cls(
            n_cells=one_of(*levels),
            depth=float(10.0 ** rng.uniform(-1.0, 3.7)),
            zoom=one_of(0.0, 0.0, 3.0),
            dt=one_of(60.0, 3600.0, 3600.0, 86400.0),
            stress=one_of(0.0, 0.1, 5.0, 50.0),
            heat_flux=one_of(0.0, -200.0, -5000.0, 5000.0),
            shortwave_flux=one_of(0.0, 0.0, 1000.0),
            freshwater_flux=one_of(0.0, 1e-4, -1e-4, 3e-2, -3e-3),
            salt_flux=one_of(0.0, 1e-6, 1e-3),
            dye_flux=one_of(0.0, 1e-5, 1.0),
            period=one_of(0, 1, 4),
            coriolis=one_of(0.0, 1e-4, -1.4e-4),
            warmer_at_surface=one_of(0.0, 1e-6, 0.1, 30.0, -0.1, -30.0),
            salinity=one_of(0.0, 35.0),
            current=one_of(0.0, 0.0, 5.0),
        )

    def case(self) -> tl.Case:
        """The column with series of its fluxes; all columns of as many cells share their structure."""
        grid = tl.Grid.stretched(self.depth, self.n_cells, surface_zoom=self.zoom)
        step = np.arange(N_STEPS + 1)
        sign = np.where(step // self.period % 2, -1.0, 1.0) if self.period else np.ones(N_STEPS + 1)
        turned = np.deg2rad(37.0)
        wave = np.cos(np.pi * np.arange(self.n_cells) / max(1, self.n_cells - 1))
        return tl.Case(
            grid=grid,
            initial_state=tl.State.from_profiles(
                grid,
                temperature=lambda z: 15.0 + self.warmer_at_surface * (1.0 + z / self.depth),
                salinity=self.salinity,
                u=jnp.asarray(self.current * wave),
                tracers={"dye": lambda z: jnp.exp(3.0 * z / self.depth)},
            ),
            forcing=tl.TimeSeriesForcing.from_values(
                step * self.dt,
                stress_u=self.stress * np.cos(turned) * sign,
                stress_v=self.stress * np.sin(turned) * sign,
                heat_flux=self.heat_flux * sign,
                shortwave_flux=self.shortwave_flux,
                freshwater_flux=self.freshwater_flux * sign,
                salt_flux=self.salt_flux * sign,
                tracer_fluxes={"dye": self.dye_flux},
            ),
            coriolis_parameter=self.coriolis,
            duration=N_STEPS * self.dt,
        )


def broken(run: tl.Trajectory, case: tl.Case, dt: float) -> list[str]:
    """What of a run with every step saved is not as it must be."""
    where = tl.first_non_finite(run)
    if where is not None:
        return [f"{where[0]} is not finite after {where[1]:g} s"]
    found = []
    for path, leaf in jax.tree_util.tree_leaves_with_path(run.clo_state):
        lowest = float(jnp.min(leaf))
        if _is_energy(jax.tree_util.keystr(path)) and lowest < 0.0:
            found.append(f"{jax.tree_util.keystr(path)} is {lowest:.3g}")
    for name, gap in budget_gaps(run, case, dt).items():
        if not gap <= LARGEST_GAP:
            found.append(f"the budget of {name} is open by {gap:.2g}")
    return found


def _is_energy(path: str) -> bool:
    return any(
        name in path for name in ("kinetic_energy", "dissipation", "variance", "viscosity", "eddy_diff")
    )


def budget_gaps(run: tl.Trajectory, case: tl.Case, dt: float) -> dict[str, float]:
    """The largest gap of each budget in any step, relative to the content and what went through so far."""
    fluxes = jax.vmap(case.forcing.at)(run.time[1:])
    density = float(case.equation_of_state.reference_density)
    heat_capacity = float(case.equation_of_state.heat_capacity)
    thickness = np.asarray(case.grid.cell_thickness)
    array = np.asarray
    dilution = -array(run.state.salinity)[:-1, -1] * array(fluxes.freshwater_flux)
    added = {
        "heat": (array(fluxes.heat_flux) + array(fluxes.shortwave_flux)) / (density * heat_capacity),
        "salt": (dilution + 1e3 * array(fluxes.salt_flux)) / density,
        "dye": array(fluxes.tracer_fluxes["dye"])
        - array(run.state.tracers["dye"])[:-1, -1] * array(fluxes.freshwater_flux) / density,
        "momentum": (array(fluxes.stress_u) + 1j * array(fluxes.stress_v)) / density,
    }
    values = {
        "heat": array(run.state.temperature),
        "salt": array(run.state.salinity),
        "dye": array(run.state.tracers["dye"]),
        "momentum": array(run.state.u) + 1j * array(run.state.v),
    }
    gaps = {}
    for name, profiles in values.items():
        turn = np.exp(-1j * float(case.coriolis_parameter) * dt) if name == "momentum" else 1.0
        content = profiles @ thickness
        gap = content[1:] - turn * content[:-1] - dt * added[name]
        passed = np.max(np.abs(profiles) @ thickness) + dt * np.sum(np.abs(added[name]))
        gaps[name] = float(np.max(np.abs(gap)) / passed) if passed > 0.0 else float(np.max(np.abs(gap)))
    return gaps


@eqx.filter_jit
def _run(model: tl.Model, case: tl.Case, dt) -> Any:
    case = batched_case(model, case)
    start = start_of(model, case)
    _, saved = integrate(
        model, case, start, dt, n_frames=N_STEPS, steps_per_frame=1, checkpointing=tl.SaveSteps()
    )
    frames = jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), start, saved.now)
    time = frames.step.astype(case.grid.z_face.dtype) * dt
    return tl.Trajectory(case.grid, time, frames.step, frames.state, frames.clo_state, None)


def run_column(closure: AbstractClosure, column: Column) -> tuple[tl.Trajectory, tl.Case]:
    """A column with every step saved, and its case."""
    case = column.case()
    return _run(tl.Model(closure), case, jnp.asarray(column.dt)), case


STORM = Column(
    n_cells=3,
    depth=2.67,
    zoom=0.0,
    dt=3600.0,
    stress=50.0,
    heat_flux=-200.0,
    shortwave_flux=0.0,
    freshwater_flux=1e-4,
    salt_flux=1e-3,
    dye_flux=0.0,
    period=1,
    coriolis=0.0,
    warmer_at_surface=-0.1,
    salinity=35.0,
    current=0.0,
)
"""100 m/s of wind from changing sides over less than three metres of water that overturns, by the hour."""


@pytest.mark.long
def test_energy_of_catke_stays_positive_where_the_shear_does_negative_work():
    """Backward Euler alone let it fall to -0.1 m2 s-2: a gradient that turns around takes energy."""
    run, _ = run_column(CATKE(), STORM)
    assert isinstance(run.clo_state, CATKEState)
    assert float(np.min(run.clo_state.turbulent_kinetic_energy)) > 0.0


def test_budgets_close_however_fast_eddies_mix():
    """That of heat was open by 0.14 of the content."""
    column = dataclasses.replace(STORM, n_cells=24, warmer_at_surface=30.0, dye_flux=1.0, current=5.0)
    run, case = run_column(beyond(Constant(), viscosity=1e12, diffusivity=1e12), column)
    gaps = budget_gaps(run, case, column.dt)
    assert max(gaps.values()) < 1e-14, gaps
    assert np.ptp(np.asarray(run.state.temperature)[1]) < 1e-9


@pytest.mark.long
def test_temperature_stays_in_the_range_of_the_water_against_a_flux_up_its_gradient():
    """A layer that is cooled warmed by 1e6 K."""
    column = dataclasses.replace(
        STORM, n_cells=24, depth=0.31, dt=86400.0, stress=0.1, heat_flux=-5000.0, period=0, current=5.0
    )
    run, case = run_column(KEpsilonTheta(), column)
    temperature = np.asarray(run.state.temperature)
    assert temperature[1:].max() <= temperature[0].max() + 1e-12
    assert np.abs(np.diff(temperature[1:], axis=1)).max() > 0.0
    assert budget_gaps(run, case, column.dt)["heat"] < 1e-12


@pytest.mark.long
@pytest.mark.parametrize(
    ("shape", "depth", "dt"), [("simple", 3.0, 60.0), ("parabolic_nonlocal", 30.0, 3600.0)]
)
def test_no_cell_cools_by_more_than_what_the_surface_loses(shape, depth, dt):
    """Non-local fluxes above that of the surface cooled the second of three cells beyond it."""
    column = dataclasses.replace(STORM, depth=depth, dt=dt, stress=0.0, heat_flux=-5000.0, period=0)
    column = dataclasses.replace(column, freshwater_flux=0.0, salt_flux=0.0, warmer_at_surface=0.1)
    run, case = run_column(KPP(shape=shape), column)
    coldest, water = np.asarray(run.state.temperature).min(axis=1), case.equation_of_state
    lost = 5000.0 * dt / float(water.reference_density * water.heat_capacity * case.grid.cell_thickness[-1])
    assert np.all(coldest[1:] >= coldest[:-1] - lost - 1e-9)


@pytest.mark.study
@pytest.mark.parametrize("name", closure_names())
def test_a_sample_of_every_closure(name):
    rng = np.random.default_rng([11, *name.encode()])
    closure, failures = closure_with(name, {}), []
    for column in (Column.drawn(rng, levels=(3, 24)) for _ in range(16)):
        failures += [(what, column) for what in broken(*run_column(closure, column), column.dt)]
    assert not failures
