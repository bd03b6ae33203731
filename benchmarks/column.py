"""The column that the benchmarks run: k-epsilon under wind and weak cooling, its loss, its parameters."""

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import tunax_lite as tl
from tunax_lite import in_precision
from tunax_lite.column.checkpointing import AbstractCheckpointing
from tunax_lite.column.integrate import batched_case, integrate, start_of
from tunax_lite.runtime.compilation import Program

N_STEPS = 2880
"""Two days: the length of every benchmark of one column."""
N_STEPS_OF_BATCHES = 480
"""Eight hours, for batches: the time of a column-step does not depend on the length."""
DT = 60.0
TEN_PARAMETERS = (
    *("c_eps_1", "c_eps_2", "c_eps_3_plus", "sigma_k", "sigma_eps"),
    *("steady_state_richardson_number", "length_limit", "turbulent_kinetic_energy_floor"),
    *("dissipation_rate_floor", "surface_roughness_length"),
)
FIVE_PARAMETERS = TEN_PARAMETERS[:5]


class Shape(NamedTuple):
    """What is run: one column has no batch axis."""

    n_columns: int = 1
    n_levels: int = 64
    precision: str = "float64"

    @property
    def n_steps(self) -> int:
        return N_STEPS if self.n_columns == 1 else N_STEPS_OF_BATCHES

    @property
    def column_steps(self) -> int:
        return self.n_columns * self.n_steps

    def __str__(self) -> str:
        return f"{self.n_columns} x {self.n_levels}, {self.precision}"


def problem(shape: Shape = Shape()) -> tuple[tl.Model, tl.Case]:  # noqa: B008
    """Model and case, to be arguments of a program: compiled in, they would be folded away.

    256 m of stratified water under 1 N m-2 and 100 W m-2; no two columns of a batch have the same.
    """
    spread = np.linspace(0.5, 1.5, shape.n_columns) if shape.n_columns > 1 else 1.0
    grid = tl.Grid.uniform(256.0, shape.n_levels)
    case = tl.Case(
        grid=grid,
        initial_state=tl.State.from_profiles(grid, temperature=lambda z: 20.0 + 0.002 * z),
        forcing=tl.ConstantForcing(
            tl.SurfaceFluxes(stress_u=1.0 * spread, stress_v=0.0, heat_flux=-100.0 * spread)
        ),
        coriolis_parameter=1e-4,
        duration=shape.n_steps * DT,
    )
    return in_precision((tl.Model(tl.KEpsilon()), case), shape.precision)


def frames(
    model: tl.Model,
    case: tl.Case,
    layout: AbstractCheckpointing,
    n_steps: int,
    save: Callable,
    every: int = 10,
) -> Any:
    """What `save` keeps of each frame, a frame every so many steps."""
    case = batched_case(model, case)
    return integrate(
        model,
        case,
        start_of(model, case),
        DT,
        n_frames=n_steps // every,
        steps_per_frame=every,
        checkpointing=layout,
        save=lambda carry, _: save(carry.now),
    )[1]


def loss(model: tl.Model, case: tl.Case, layout: AbstractCheckpointing, n_steps: int):
    """Mean over the frames of the sum of squares of temperature less 19.5 degC [K2].

    The squares are summed in the frame, so that no stack of profiles counts as memory of the gradient.
    """
    save = lambda current: jnp.sum((current.state.temperature - 19.5) ** 2)  # noqa: E731
    return jnp.mean(frames(model, case, layout, n_steps, save))


def value_and_gradient(
    values: jax.Array,
    model: tl.Model,
    case: tl.Case,
    names: Sequence[str],
    layout: AbstractCheckpointing,
    n_steps: int,
):
    """Loss, and its derivatives by the named parameters, at their values."""
    return jax.value_and_grad(lambda v: loss(with_parameters(model, names, v), case, layout, n_steps))(values)


def _leaves(model: tl.Model, names: Sequence[str]) -> list[jax.Array]:
    return [operator.attrgetter(name)(model.closure) for name in names]


def parameter_values(model: tl.Model, names: Sequence[str]) -> jax.Array:
    """Values of the named parameters of the closure, `(n_parameters,)`."""
    return jnp.stack(_leaves(model, names))


def with_parameters(model: tl.Model, names: Sequence[str], values) -> tl.Model:
    """The model with these values of the named parameters of its closure."""
    return eqx.tree_at(lambda m: _leaves(m, names), model, list(values))


def costs(program: Program) -> dict[str, float]:
    """What a program took to make and takes besides its arguments and results."""
    return {
        "trace_seconds": program.trace_seconds,
        "compile_seconds": program.compile_seconds,
        "temporary_bytes": program.memory.temporary,
    }
