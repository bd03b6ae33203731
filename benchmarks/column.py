"""The column that all benchmarks run: k-epsilon under wind and weak cooling, its loss, its parameters."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import tunax_lite as tl
from tunax_lite.checkpointing import AbstractCheckpointing
from tunax_lite.precision import in_precision
from tunax_lite.simulation import batched_case, run_frames, start_of

N_STEPS = 2880
"""Two days: the length of every benchmark of one column."""
N_STEPS_OF_BATCHES = 480
"""Eight hours, for batches: the time of a column-step does not depend on the length."""
DT = 60.0
STEPS_PER_FRAME = 10
TEN_PARAMETERS = (
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
FIVE_PARAMETERS = TEN_PARAMETERS[:5]


def wind_driven_case(n_levels: int = 64, n_columns: int = 1, n_steps: int = N_STEPS) -> tl.Case:
    """256 m of stratified water under wind and weak cooling, without labels.

    Args:
        n_levels: cells of equal thickness.
        n_columns: 1 is a column without a batch axis, under 1 N m-2 and 100 W m-2; more are a batch, no two
            of whose columns have the same wind or heat flux.
        n_steps: of `DT`; sets the duration.
    """
    spread = np.linspace(0.5, 1.5, n_columns) if n_columns > 1 else 1.0
    grid = tl.Grid.uniform(256.0, n_levels)
    return tl.Case(
        grid=grid,
        initial_state=tl.State.from_profiles(grid, temperature=lambda z: 20.0 + 0.002 * z),
        forcing=tl.ConstantForcing(
            tl.SurfaceFluxes(stress_u=1.0 * spread, stress_v=0.0, heat_flux=-100.0 * spread)
        ),
        coriolis_parameter=1e-4,
        duration=n_steps * DT,
    )


def problem(
    *, n_columns: int = 1, n_levels: int = 64, precision: str = "float64"
) -> tuple[tl.Model, tl.Case]:
    """Model and case in a precision, as arguments of a program: compiled in, they would be folded away."""
    model, case = tl.Model(tl.KEpsilon()), wind_driven_case(n_levels, n_columns)
    return in_precision((model, case), precision)


def temperature_frames(
    model: tl.Model,
    case: tl.Case,
    checkpointing: AbstractCheckpointing,
    n_steps: int = N_STEPS,
    save=lambda current: current.state.temperature,
):
    """What `save` keeps of each frame: by default the temperature, `(n_frames, n_levels, *batch)` [degC]."""
    case = batched_case(model, case)
    return run_frames(
        model,
        case,
        start_of(model, case),
        DT,
        n_frames=n_steps // STEPS_PER_FRAME,
        steps_per_frame=STEPS_PER_FRAME,
        checkpointing=checkpointing,
        save=save,
    )


def loss(model: tl.Model, case: tl.Case, checkpointing: AbstractCheckpointing, n_steps: int = N_STEPS):
    """Mean over the frames of the sum of squares of temperature less 19.5 degC [K2].

    The squares are summed in the frame, so that no stack of profiles counts as memory of the gradient.
    """

    def sum_of_squares(current):
        return jnp.sum((current.state.temperature - 19.5) ** 2)

    return jnp.mean(temperature_frames(model, case, checkpointing, n_steps, sum_of_squares))


def parameter_values(model: tl.Model, names: Sequence[str]) -> jax.Array:
    """Values of the named parameters of the closure, `(n_parameters,)`."""
    return jnp.stack([getattr(model.closure, name) for name in names])


def with_parameters(model: tl.Model, names: Sequence[str], values) -> tl.Model:
    """The model with these values of the named parameters of its closure."""
    where = lambda m: [getattr(m.closure, name) for name in names]  # noqa: E731
    return eqx.tree_at(where, model, list(values))
