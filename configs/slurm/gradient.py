"""Fit a closure to many columns at once, by one gradient over all devices of all hosts.

    srun --kill-on-bad-exit=1 python gradient.py --output fit.eqx

Every process passes the same columns, runs those of its own devices, and gets the same gradient, which is
summed over devices once, after the time loop. Process 0 writes the fit after each iteration; a requeued job
goes on from there, with the same numbers. To fit your own columns, replace `columns` and `observed`.
"""

import argparse
import faulthandler
import os
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

import tunax_lite as tl
from tunax_lite.io.writing import replacing


def columns(n_columns: int) -> tl.Case:
    """A stratified column under winds of 0.02 to 0.3 N m-2."""
    grid = tl.Grid.uniform(depth=60.0, n_cells=30)
    winds = tl.ConstantForcing(tl.SurfaceFluxes(stress_u=jnp.linspace(0.02, 0.3, n_columns), heat_flux=-50.0))
    start = tl.State.from_profiles(grid, temperature=lambda z: 15.0 + 0.1 * z)
    return tl.Case(grid, start, winds, coriolis_parameter=1e-4, duration=6 * 3600.0)


def temperature(case: tl.Case, alpha: jax.Array, devices) -> jax.Array:
    """At the end of the case [degC]."""
    model = tl.Model(tl.PacanowskiPhilander(alpha=alpha))
    return tl.simulate(model, case, output_interval=case.duration, devices=devices).state.temperature[-1]


def observed(case: tl.Case) -> jax.Array:
    """Stands for observations: what the model gives with an alpha of 8."""
    return temperature(case, jnp.asarray(8.0), jax.local_devices())


def fit(path: Path, n_columns: int, iterations: int, limit: float) -> None:
    case = columns(n_columns)
    goal = observed(case)

    @jax.jit
    def iterate(state):
        value_and_gradient = jax.value_and_grad(
            lambda alpha: jnp.mean((temperature(case, alpha, jax.devices()) - goal) ** 2)
        )
        loss, gradient = value_and_gradient(state["alpha"])
        change, adam = optimiser.update(gradient, state["adam"])
        return loss, {"alpha": state["alpha"] + change, "adam": adam, "iteration": state["iteration"] + 1}

    optimiser, start = optax.adam(0.2), jnp.asarray(5.0)
    state = {"alpha": start, "adam": optimiser.init(start), "iteration": jnp.asarray(0)}
    if path.exists():
        state = eqx.tree_deserialise_leaves(path, state)
    while int(state["iteration"]) < iterations:
        # A process that hangs would keep the others waiting: end it, and print where it was.
        faulthandler.dump_traceback_later(limit, exit=True)
        loss, state = jax.device_get(iterate(state))
        faulthandler.cancel_dump_traceback_later()
        if jax.process_index() == 0:
            with replacing(path) as temporary:
                eqx.tree_serialise_leaves(temporary, state)
            print(f"{state['iteration']} loss {loss:.17g} alpha {state['alpha']:.17g}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="file of the fit, and of its state")
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--limit", type=float, default=600.0, help="of an iteration, in seconds")
    parser.add_argument("--precision", choices=("float64", "float32"), default="float64")
    arguments = parser.parse_args()
    tl.configure(precision=arguments.precision)
    if int(os.environ.get("SLURM_NTASKS", "1")) > 1:  # one task per GPU; a single one has all
        jax.distributed.initialize(initialization_timeout=1800)
    fit(arguments.output, arguments.columns, arguments.iterations, arguments.limit)


if __name__ == "__main__":
    main()
