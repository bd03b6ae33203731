"""A two-day wind-driven column with k-epsilon, its loss and the gradient of the loss."""

import equinox as eqx
import jax.numpy as jnp

import tunax_lite as tl
from tunax_lite.checkpointing import AbstractCheckpointing
from tunax_lite.simulation import batched_case, run_frames, start_of

N_STEPS = 2880
DT = 60.0
STEPS_PER_FRAME = 10
GRADIENT_PARAMETERS = (
    "c_eps_1",
    "c_eps_2",
    "c_eps_3_plus",
    "sigma_k",
    "sigma_eps",
    "steady_state_richardson_number",
    "length_limit",
    "turbulent_kinetic_energy_floor",
    "dissipation_rate_floor",
    "surface_roughness_length",
)


def wind_driven_case(n_levels: int) -> tl.Case:
    """256 m of stratified water under a stress of 1 N m-2 and weak cooling, 48 h."""
    grid = tl.Grid.uniform(256.0, n_levels)
    return tl.Case(
        grid=grid,
        initial_state=tl.State.from_profiles(grid, temperature=lambda z: 20.0 + 0.002 * z),
        forcing=tl.ConstantForcing(tl.SurfaceFluxes(stress_u=1.0, stress_v=0.0, heat_flux=-100.0)),
        coriolis_parameter=1e-4,
        duration=N_STEPS * DT,
    )


def loss(model: tl.Model, case: tl.Case, checkpointing: AbstractCheckpointing):
    """Mean square temperature over all frames and levels [K2]."""
    case = batched_case(model, case)
    temperature = run_frames(
        model,
        case,
        start_of(model, case),
        DT,
        n_frames=N_STEPS // STEPS_PER_FRAME,
        steps_per_frame=STEPS_PER_FRAME,
        checkpointing=checkpointing,
        save=lambda current: current.state.temperature,
    )
    return jnp.mean((temperature - 19.5) ** 2)


def with_parameters(values) -> tl.Model:
    """k-epsilon with the values of `GRADIENT_PARAMETERS`."""
    closure = tl.KEpsilon()
    where = lambda c: [getattr(c, name) for name in GRADIENT_PARAMETERS]  # noqa: E731
    return tl.Model(eqx.tree_at(where, closure, list(values)))


def default_values():
    """Values of `GRADIENT_PARAMETERS` in `KEpsilon()`."""
    closure = tl.KEpsilon()
    return jnp.stack([getattr(closure, name) for name in GRADIENT_PARAMETERS])
