"""How far a change of the initial temperature grows in a year, by the memory of the eddy coefficients.

    python -m benchmarks.tangents CASE.gotm.yaml

prints the largest derivative of any temperature by a uniform change of the initial one, which stays near 1
where a gradient is of use, and the temperature of the surface at the end.
"""

import argparse
import dataclasses
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import tunax_lite as tl
from tunax_lite.gotm import build_gotm, load_gotm

DAY = 86400.0


def growth(model: tl.Model, case: tl.Case, dt: float) -> tuple[np.ndarray, float]:
    """Largest derivative of the temperature after each day, and the final surface temperature [degC]."""
    n_days = int(case.duration // DAY)

    @eqx.filter_jit
    def differentiate(model, case):
        def temperature(change):
            where = lambda c: c.initial_state.temperature  # noqa: E731
            moved = eqx.tree_at(where, case, where(case) + change)
            run = tl.simulate(model, moved, dt=dt, duration=n_days * DAY, output_interval=DAY)
            return run.state.temperature

        return jax.jvp(temperature, (jnp.zeros(()),), (jnp.ones(()),))

    values, tangents = differentiate(model, case)
    return np.asarray(jnp.max(jnp.abs(tangents), axis=1)), float(values[-1, -1])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("case", type=Path, help="configuration of GOTM, of a year or so")
    path = parser.parse_args().case
    tl.configure()
    run = build_gotm(load_gotm(path)).run
    if run is None:
        raise SystemExit(f"{path}: expected a case that is supported; see tunax-lite check {path}.")
    days = "".join(f"{day:>10}" for day in ("60 d", "180 d", "270 d", "end"))
    print(f"{'step [s]':>8}  {'memory':>6}{days}  surface at the end")
    for dt in (run.dt, run.dt / 6.0):
        for memory in (None, 0.3, 0.5, 0.8):
            remembering = None if memory is None else jnp.asarray(memory)
            model = dataclasses.replace(run.model, coefficient_memory=remembering)
            largest, surface = growth(model, run.case, dt)
            shown = "".join(f"{largest[day]:10.1e}" for day in (60, 180, 270, -1))
            print(f"{dt:8.0f}  {memory or 0.0:6.1f}{shown}  {surface:.3f} degC")


if __name__ == "__main__":
    main()
