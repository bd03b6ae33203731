"""Turbulence below breaking waves against GOTM's own results, the closure alone in a minimal column.

Unstratified water of 20 m under wind and waves, with bottom friction, 100 levels refined at the surface, and
steps of 1 s. The momentum equation and the bottom friction are written here, with GOTM's discrete shear: what
is compared is the closure.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from tunax_lite import Grid, LinearEquationOfState, State
from tunax_lite.closures import (
    BottomFlow,
    Boundary,
    BreakingWaves,
    ClosureInputs,
    ConstantStability,
    GenericLengthScale,
    KOmega,
)
from tunax_lite.numerics import Added, diffuse

GRID = Grid.stretched(20.0, 100, surface_zoom=2.0)
STRESS, MOLECULAR_VISCOSITY, BOTTOM_ROUGHNESS = 1e-3, 1.3e-6, 0.03 * 0.6666
SETTINGS = dict(
    stability=ConstantStability(),
    surface=Boundary(breaking_waves=BreakingWaves()),
    surface_roughness_length=0.5,
    dissipation_rate_floor=1e-14,
)
CLOSURES = {
    "wave_breaking": KOmega(**SETTINGS),  # pyright: ignore[reportArgumentType]
    "wave_breaking_gls": GenericLengthScale.generated(m=0.5, p=-1.0, **SETTINGS),  # pyright: ignore[reportArgumentType]
}


def inputs_of(shear_squared, bottom_friction_velocity, bottom_roughness_length) -> ClosureInputs:
    state, friction_velocity = State.from_profiles(GRID, temperature=20.0), jnp.sqrt(jnp.asarray(STRESS))
    return ClosureInputs(
        grid=GRID,
        state=state,
        start=state,
        buoyancy_frequency_squared=jnp.zeros(99),
        shear_squared=shear_squared,
        surface_friction_velocity=friction_velocity,
        friction_velocity_of_sea=friction_velocity,
        surface_momentum_flux=(jnp.asarray(STRESS), jnp.asarray(0.0)),
        surface_buoyancy_flux=jnp.asarray(0.0),
        coriolis_parameter=jnp.asarray(0.0),
        equation_of_state=LinearEquationOfState(),
        bottom=BottomFlow(bottom_friction_velocity, bottom_roughness_length),
    )


def gotm_shear_squared(u, before):
    """Burchard (2002): exact for the energy on uniform grids."""
    h, spacing = GRID.cell_thickness, GRID.center_spacing
    difference = u[1:] - u[:-1]
    below = difference * (u[1:] - before[:-1]) / (spacing * h[:-1])
    above = difference * (before[1:] - u[:-1]) / (spacing * h[1:])
    return 0.5 * (below + above)


@eqx.filter_jit
def run(closure, hours):
    """Velocity and closure state after every hour."""
    stepper = closure.prepare()
    h, spacing, von_karman = GRID.cell_thickness, GRID.center_spacing, stepper.walls.von_karman

    def step(carry, _):
        u, clo_state, bottom_velocity, drag = carry
        sink = jnp.where(jnp.arange(100) == 0, drag * jnp.abs(u[0]) / h[0], 0.0)
        conductance = (clo_state.eddy_viscosity[1:-1] + MOLECULAR_VISCOSITY) / spacing
        new = diffuse(u, conductance, h, 1.0, source=Added(surface=jnp.asarray(STRESS)), sink_rate=sink)
        viscous = 0.1 * MOLECULAR_VISCOSITY / jnp.maximum(MOLECULAR_VISCOSITY, bottom_velocity)
        roughness = viscous + BOTTOM_ROUGHNESS
        ratio = von_karman / jnp.log((roughness + 0.5 * h[0]) / roughness)
        bottom_velocity = ratio * jnp.abs(new[0])
        inputs = inputs_of(gotm_shear_squared(new, u), bottom_velocity, roughness)
        return (new, stepper.step(clo_state, inputs, 1.0), bottom_velocity, ratio**2), None

    def hour(carry, _):
        carry, _ = jax.lax.scan(step, carry, length=3600)
        return carry, carry[:2]

    nothing = jnp.asarray(0.0)
    start = stepper.init(inputs_of(jnp.zeros(99), nothing, jnp.asarray(BOTTOM_ROUGHNESS)))
    return jax.lax.scan(hour, (jnp.zeros(100), start, nothing, nothing), length=hours)[1]


@pytest.mark.slow
@pytest.mark.parametrize("name", CLOSURES)
def test_turbulence_below_breaking_waves_reproduces_gotm(name, reference_path):
    u, turbulence = run(CLOSURES[name], 24)
    with xr.open_dataset(reference_path(name)) as reference:
        expected = {key: reference[key].values.squeeze()[1:] for key in ("u", "tke", "eps", "num")}

    def check(ours, theirs, limit):
        assert np.sqrt(np.mean((ours - theirs) ** 2)) < limit * np.abs(theirs).max()

    # Round-off, and the single precision of some of GOTM's constants.
    check(u, expected["u"], 1e-8)
    check(turbulence.turbulent_kinetic_energy, expected["tke"], 1e-7)
    check(turbulence.dissipation_rate, expected["eps"], 1e-7)
    check(turbulence.eddy_viscosity[:, 1:-1], expected["num"][:, 1:-1], 1e-7)
