"""One time step of the column against dense matrices, and the input of the closure."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tunax_lite as tl
from tests.closures.columns import exchange_matrix, random_grid
from tunax_lite.closures import AbstractCloState, AbstractPlainClosure, ClosureInputs
from tunax_lite.column.terms.turbulence import NonlocalTransport
from tunax_lite.numerics.tridiagonal import PlatformDefault, ThomasScan, TwistedThomas, VendorLibrary

N = 10
GRID = random_grid(90, N)
EOS = tl.LinearEquationOfState(reference_density=1020.0, heat_capacity=4000.0, gravity=9.8)
F, DT, TIME = 1.2e-4, 900.0, 1800.0

FLUXES = {
    "stress_u": [0.1, 0.2, -0.1],
    "stress_v": [0.0, -0.3, 0.1],
    "heat_flux": [-100.0, 50.0, 200.0],
    "shortwave_flux": [0.0, 300.0, 500.0],
    "freshwater_flux": [1e-4, -2e-4, 3e-4],
    "salt_flux": [1e-6, 2e-6, -1e-6],
}
OF_DYE = {"dye": [1e-5, 2e-5, -3e-5]}


class RecordedState(AbstractCloState):
    eddy_viscosity: jax.Array
    eddy_diffusivity: jax.Array
    fraction: jax.Array | None
    inputs: ClosureInputs

    def terms(self, state):
        return () if self.fraction is None else (NonlocalTransport(self.fraction),)


class Recorder(AbstractPlainClosure[RecordedState]):
    """Given coefficients, and a memory of what the closure was told."""

    viscosity: jax.Array
    diffusivity: jax.Array
    fraction: jax.Array | None = None

    def init(self, inputs):
        return RecordedState(self.viscosity, self.diffusivity, self.fraction, inputs)

    def step(self, clo_state, inputs, dt):
        return self.init(inputs)


def recorder():
    rng = np.random.default_rng(91)
    nu, kappa = 10.0 ** rng.uniform(-5.0, -2.0, (2, N + 1))
    return Recorder(jnp.asarray(nu), jnp.asarray(kappa))


def random_case(**fluxes) -> tl.Case:
    """A random column, by default under fluxes that change in time."""
    u, v, t, s, dye = jnp.asarray(np.random.default_rng(92).normal(size=(5, N)))
    profiles = {"temperature": 10.0 + t, "salinity": 30.0 + s, "tracers": {"dye": dye}}
    state = tl.State.from_profiles(GRID, u=u, v=v, **profiles)
    times = [0.0, TIME + DT, 2.0 * TIME + DT]
    forcing = tl.TimeSeriesForcing.from_values(times, **FLUXES, tracer_fluxes=OF_DYE)
    if fluxes:
        forcing = tl.ConstantForcing(tl.SurfaceFluxes(**fluxes))
    return tl.Case(GRID, state, forcing, coriolis_parameter=F, equation_of_state=EOS)


def content(values):
    return float(jnp.sum(values * GRID.cell_thickness))


@eqx.filter_jit
def one_step(model, case):
    return model.step(case.initial_state, model.init(case), case, jnp.asarray(TIME), jnp.asarray(DT))


def reference(case, theta, viscosity, diffusivity, of_salt):
    """The equations of the module with dense matrices and fluxes at the end of the step."""
    h, spacing = np.asarray(GRID.cell_thickness), np.asarray(GRID.center_spacing)
    state = jax.tree.map(np.asarray, case.initial_state)

    def diffused(values, coefficient, molecular, source):
        exchange = exchange_matrix((np.asarray(coefficient)[1:-1] + molecular) / spacing, N)
        right = h * values + DT * ((1.0 - theta) * exchange @ values + source)
        return np.linalg.solve(np.diag(h) - theta * DT * exchange, right)

    def at_surface(flux):
        return np.array([0.0] * (N - 1) + [flux])

    angle = F * DT
    u = np.cos(angle) * state.u + np.sin(angle) * state.v
    v = np.cos(angle) * state.v - np.sin(angle) * state.u
    now = {name: series[1] for name, series in FLUXES.items()}
    z = np.asarray(GRID.z_face)
    light = 0.58 * np.exp(z / 0.35) + 0.42 * np.exp(z / 23.0)
    light[0] = 0.0
    heat = (now["shortwave_flux"] * np.diff(light) + at_surface(now["heat_flux"])) / (1020.0 * 4000.0)
    salt = (1e3 * now["salt_flux"] - now["freshwater_flux"] * state.salinity[-1]) / 1020.0
    dye = 2e-5 - now["freshwater_flux"] * state.tracers["dye"][-1] / 1020.0
    return {
        "u": diffused(u, viscosity, 1.3e-6, at_surface(now["stress_u"] / 1020.0)),
        "v": diffused(v, viscosity, 1.3e-6, at_surface(now["stress_v"] / 1020.0)),
        "temperature": diffused(state.temperature, diffusivity, 1.4e-7, heat),
        "salinity": diffused(state.salinity, diffusivity, of_salt, at_surface(salt)),
        "dye": diffused(state.tracers["dye"], diffusivity, 1.4e-7, at_surface(dye)),
    }


@pytest.mark.parametrize(("theta", "salt"), [(1.0, None), (0.6, 1e-5)])
def test_step_equals_a_reference_with_dense_matrices(theta, salt):
    closure, case = recorder(), random_case()
    state, clo_state = one_step(tl.Model(closure, theta=theta, molecular_salt_diffusivity=salt), case)
    expected = reference(case, theta, closure.viscosity, closure.diffusivity, salt or 1.4e-7)
    for name in ("u", "v", "temperature", "salinity"):
        np.testing.assert_allclose(getattr(state, name), expected[name], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(state.tracers["dye"], expected["dye"], rtol=1e-11, atol=1e-12)
    # The closure sees the state after the transport.
    assert eqx.tree_equal(clo_state.inputs.state, state)


def test_nonlocal_transport_moves_the_surface_flux_down_and_conserves():
    cooling = random_case(heat_flux=-200.0, tracer_fluxes={"dye": 1e-4})
    fraction = jnp.concatenate([jnp.zeros(1), jnp.linspace(0.0, 0.9, N - 1), jnp.zeros(1)])
    zeros = jnp.zeros(N + 1)
    still = tl.Model(Recorder(zeros, zeros, fraction), molecular_diffusivity=0.0, molecular_viscosity=0.0)
    new = one_step(still, cooling)[0]
    old = cooling.initial_state
    h = np.asarray(GRID.cell_thickness)
    # What passes a face downward is its fraction of the flux; all of the flux passes the surface.
    passing = np.asarray(fraction).copy()
    passing[-1] = 1.0
    for x, y, flux in (
        (new.temperature, old.temperature, -200.0 / (1020.0 * 4000.0)),
        (new.tracers["dye"], old.tracers["dye"], 1e-4),
    ):
        np.testing.assert_allclose(x - y, DT * flux * np.diff(passing) / h, rtol=1e-9, atol=1e-13)
        np.testing.assert_allclose(content(x) - content(y), DT * flux, rtol=1e-9)


def test_what_the_closure_is_told():
    case = random_case(stress_u=0.3, stress_v=-0.4)
    inputs = one_step(tl.Model(recorder()), case)[1].inputs
    np.testing.assert_allclose(inputs.surface_friction_velocity, np.sqrt(0.5 / 1020.0), rtol=1e-13)
    assert inputs.coriolis_parameter == F
    salinity, contraction = float(case.initial_state.salinity[-1]), float(EOS.haline_contraction)
    for fluxes, expected in (
        ({"heat_flux": 150.0}, 9.8 * 2e-4 * 150.0 / (1020.0 * 4000.0)),
        ({"freshwater_flux": 1e-4}, 9.8 * contraction * salinity * 1e-4 / 1020.0),
        ({"salt_flux": 1e-5}, -9.8 * contraction * 1e3 * 1e-5 / 1020.0),
        ({"shortwave_flux": 100.0, "stress_u": 0.1}, 0.0),
    ):
        start: Any = tl.Model(recorder()).init(random_case(**fluxes))
        np.testing.assert_allclose(start.inputs.surface_buoyancy_flux, expected, rtol=1e-12)


def test_the_solver_suits_the_way_in_which_the_time_loop_is_compiled(monkeypatch):
    for fused, expected in ((True, TwistedThomas), (False, ThomasScan)):
        monkeypatch.setattr("tunax_lite.column.model.time_loop_is_fused", lambda fused=fused: fused)
        chosen = tl.Model(tl.ConstantDiffusivity()).solver
        assert isinstance(chosen, PlatformDefault) and type(chosen.cpu) is expected
    given = tl.Model(tl.ConstantDiffusivity(), tridiagonal_method=VendorLibrary())
    assert isinstance(given.solver, VendorLibrary)
