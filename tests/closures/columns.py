"""Columns that several unit tests need."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import tunax_lite as tl
from tunax_lite.closures import ClosureInputs
from tunax_lite.closures.base import SurfaceWaves
from tunax_lite.closures.energy import TurbulenceState
from tunax_lite.column.terms import Column


def random_grid(seed: int, n_cells: int, depth: float = 40.0) -> tl.Grid:
    """Cells whose thickness varies by a factor of four from one to the next."""
    thickness = np.random.default_rng(seed).uniform(0.5, 2.0, n_cells)
    heights = np.concatenate([[0.0], np.cumsum(thickness)])
    z_face = depth * (heights / heights[-1] - 1.0)
    z_face[-1] = 0.0
    return tl.Grid(z_face)


def random_turbulence(grid: tl.Grid, seed: int) -> TurbulenceState:
    """Eddy coefficients, k and epsilon over several orders of magnitude, each face for itself."""
    rng = np.random.default_rng(seed)

    def values(low, high):
        return jnp.asarray(10.0 ** rng.uniform(low, high, grid.n_cells + 1))

    return TurbulenceState(values(-5, -1), values(-5, -1), values(-6, -3), values(-9, -6))


BOX = tl.Grid.uniform(4.0, 4)
N_IN_BOX = 20000  # one program per kind of closure, however many of the steps a test needs
FREE: dict[str, Any] = dict(surface_roughness_length=1e30, bottom_roughness_length=1e30, length_limit=None)
FREE |= dict(turbulent_kinetic_energy_floor=1e-300, dissipation_rate_floor=1e-300)
"""Numbers with which a uniform column is turbulence in a box: no walls, floors or limits; for `beyond`."""


def beyond(module, **values: float | None):
    """A module with numbers outside their valid ranges, for limits in which a solution is known.

    Constructors refuse such numbers; what is built from leaves may hold them.
    """
    numbers = [None if value is None else jnp.asarray(value, float) for value in values.values()]
    at_names = lambda tree: [getattr(tree, name) for name in values]  # noqa: E731
    return eqx.tree_at(at_names, module, numbers, is_leaf=lambda leaf: leaf is None)


def uniform_turbulence(
    grid: tl.Grid, tke: float, dissipation: float, coefficient: float = 0.0
) -> TurbulenceState:
    """The same k, epsilon and eddy coefficients on all faces."""
    ones = jnp.ones(grid.n_cells + 1)
    return TurbulenceState(coefficient * ones, coefficient * ones, tke * ones, dissipation * ones)


@eqx.filter_jit
def _run_box(closure, start: TurbulenceState, n_squared, s_squared, dt):
    inputs, stepper = closure_inputs(BOX, n_squared, s_squared), closure.prepare()

    def advance(state, _):
        state = stepper.step(state, inputs, dt)
        return state, (state.turbulent_kinetic_energy[2], state.dissipation_rate[2])

    return jax.lax.scan(advance, start, length=N_IN_BOX)[1]


def run_box(closure, start, n_squared, s_squared, dt, n_steps: int) -> tuple[np.ndarray, np.ndarray]:
    """k and epsilon after each step of turbulence in a box; `start` as `uniform_turbulence` takes it."""
    numbers = (jnp.asarray(x, dtype=float) for x in (n_squared, s_squared, dt))
    k, eps = _run_box(closure, uniform_turbulence(BOX, *start), *numbers)
    return np.asarray(k)[:n_steps], np.asarray(eps)[:n_steps]


def stratified(grid: tl.Grid, gradient: float, case: dict | None = None, **fluxes) -> tl.Case:
    """Water at rest whose temperature rises by `gradient` [K m-1] to 20 degC, under constant fluxes."""
    state = tl.State.from_profiles(grid, temperature=lambda z: 20.0 + gradient * z)
    return tl.Case(grid, state, tl.ConstantForcing(tl.SurfaceFluxes(**fluxes)), **(case or {}))


def closure_inputs(
    grid: tl.Grid, n_squared, s_squared, *, friction_velocity=0.0, buoyancy_flux=0.0, **others
) -> ClosureInputs:
    """Inputs of a closure with given stratification and shear [s-2] on inner faces, or one number each."""
    inner, state = grid.center_spacing.shape, tl.State.from_profiles(grid, temperature=10.0)
    inputs = ClosureInputs(
        grid=grid,
        state=state,
        start=state,
        buoyancy_frequency_squared=jnp.broadcast_to(jnp.asarray(n_squared, dtype=float), inner),
        shear_squared=jnp.broadcast_to(jnp.asarray(s_squared, dtype=float), inner),
        surface_friction_velocity=jnp.asarray(friction_velocity),
        friction_velocity_of_sea=jnp.asarray(friction_velocity),
        surface_momentum_flux=(jnp.asarray(0.0), jnp.asarray(0.0)),
        surface_buoyancy_flux=jnp.asarray(buoyancy_flux),
        coriolis_parameter=jnp.asarray(0.0),
        equation_of_state=tl.LinearEquationOfState(),
    )
    return dataclasses.replace(inputs, **others)


def random_inputs(grid: tl.Grid, seed: int) -> ClosureInputs:
    """Stable and unstable faces, with and without net production, under wind."""
    rng, n = np.random.default_rng(seed), grid.n_cells - 1
    n_squared = rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-7, -3, n)
    return closure_inputs(grid, n_squared, 10.0 ** rng.uniform(-8, -3, n), friction_velocity=0.01)


def budget_gaps(state: tl.State, case: tl.Case, dt: float) -> dict[str, float]:
    """Largest gap of each budget in any step, relative to the content and to what passed the surface."""
    frames = jax.tree.map(np.asarray, state)
    fluxes = jax.tree.map(np.asarray, jax.vmap(case.forcing.at)(dt * jnp.arange(1.0, len(frames.u))))
    water, thickness = case.equation_of_state, np.asarray(case.grid.cell_thickness)
    density = float(water.reference_density)
    heat = (fluxes.heat_flux + fluxes.shortwave_flux) / float(water.heat_capacity)
    dilution = -frames.salinity[:-1, -1] * fluxes.freshwater_flux
    dye, dye_flux = frames.tracers["dye"], density * fluxes.tracer_fluxes["dye"]
    # Momentum as a complex number: the column turns, then takes up the stress.
    turn = np.exp(-1j * float(case.coriolis_parameter) * dt)
    gaps = {}
    for name, values, added, kept in (
        ("heat", frames.temperature, heat, 1.0),
        ("salt", frames.salinity, dilution + 1e3 * fluxes.salt_flux, 1.0),
        ("dye", dye, dye_flux - dye[:-1, -1] * fluxes.freshwater_flux, 1.0),
        ("momentum", frames.u + 1j * frames.v, fluxes.stress_u + 1j * fluxes.stress_v, turn),
    ):
        content, entered = values @ thickness, dt * added / density
        gap = np.max(np.abs(content[1:] - kept * content[:-1] - entered))
        passed = np.max(np.abs(values) @ thickness) + np.sum(np.abs(entered))
        gaps[name] = float(gap / passed if passed > 0.0 else gap)
    return gaps


def column_of(state: tl.State, grid: tl.Grid, *, time: float = 0.0, dt: float = 60.0, **fluxes) -> Column:
    """What terms see of a column without turbulence, waves and rotation."""
    entering, still = tl.SurfaceFluxes(**fluxes), jnp.zeros_like(grid.z_face)
    return Column(
        state=state,
        advected=state,
        velocity=(state.u, state.v),
        grid=grid,
        equation_of_state=tl.LinearEquationOfState(),
        absorption=tl.TwoBandAbsorption(),
        coriolis_parameter=jnp.asarray(0.0),
        fluxes=entering,
        fluxes_before=entering,
        stokes_drift=None,
        eddy_viscosity=still,
        eddy_diffusivity=still,
        time=time,
        dt=dt,
    )


def mixed_depth(temperature, n_squared: float) -> np.ndarray:
    """Of the first face, in cells of 1 m, with half of the first stratification [m]; time comes first."""
    steep = np.diff(temperature, axis=1)[:, ::-1] > 0.5 * n_squared / (9.81 * 2e-4)
    return 1.0 + np.argmax(steep, axis=1)


def surface_waves(grid: tl.Grid, *, drift=None, shear=None) -> SurfaceWaves:
    """Waves of a given drift of the cells, or shear along that of the flow; what is not given is zero."""
    cells, inner = jnp.zeros(grid.n_cells), jnp.zeros(grid.n_cells - 1)
    return SurfaceWaves(
        drift=(cells, cells) if drift is None else drift,
        at_surface=None,
        shear=inner if shear is None else jnp.asarray(shear),
        shear_squared=inner,
    )


def backward_euler(
    grid: tl.Grid, old, source, sink, diffusivity, dt: float, ends=(("flux", 0.0),) * 2
) -> np.ndarray:
    """Values on inner faces after a step, with dense matrices; `source` is explicit, `sink` a rate [s-1].

    The ends are "flux" or "value" and a number, for the lowest and the uppermost inner face.
    """
    h, thickness = np.asarray(grid.center_spacing), np.asarray(grid.cell_thickness)
    conductance = 0.5 * (diffusivity[1:] + diffusivity[:-1]) / thickness[1:-1]
    matrix = np.diag(h * (1.0 + dt * sink)) - dt * exchange_matrix(conductance, len(h))
    right = h * (old + dt * source)
    for row, (kind, number) in zip((0, -1), ends, strict=True):
        if kind == "flux":
            right[row] += dt * number
        else:
            matrix[row], right[row] = 0.0, number
            matrix[row, row] = 1.0
    return np.linalg.solve(matrix, right)


def exchange_matrix(conductance, n: int) -> np.ndarray:
    """Dense matrix A of dY/dt h = A Y for conductances between n neighbouring volumes."""
    matrix = np.zeros((n, n))
    for i, k in enumerate(np.asarray(conductance)):
        matrix[i, i] -= k
        matrix[i, i + 1] += k
        matrix[i + 1, i] += k
        matrix[i + 1, i + 1] -= k
    return matrix
