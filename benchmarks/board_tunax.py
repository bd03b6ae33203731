"""Errors of Tunax on the board: `python -m benchmarks.board_tunax`; needs `pip install tunax==0.2.12`.

k-epsilon with Tunax's own constants, on the simulations of `configs/boards/les.yaml` that its forcing can
describe: constant stress and heat flux. It has no waves: simulations with waves are run without. Where a
simulation has a background viscosity and diffusivity, these are Tunax's floors; the flux of heat that leaves
such a simulation through the bottom is prescribed.
"""

import dataclasses
import importlib
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from tunax_lite import KEpsilon, Model
from tunax_lite.calibration import Target
from tunax_lite.calibration.comparison import VARIABLES
from tunax_lite.calibration.target import errors_and_run, errors_of_states, initial_states
from tunax_lite.column.forcing import WaterSurface
from tunax_lite.extensions.board.command import available
from tunax_lite.extensions.board.sections import ProtocolSection, load_board
from tunax_lite.io.series import Series
from tunax_lite.physics import LinearEquationOfState


def fluxes_of(target: Target) -> tuple[float, float, float] | None:
    """Kinematic stress [m2 s-2] and heat flux [K m s-1]; `None` where they vary."""
    case, eos = target.case, target.case.equation_of_state
    times = np.linspace(0.0, float(target.observations.time[-1]), 50)
    found = [case.forcing.at(time, WaterSurface.of(case.initial_state)) for time in times]
    values = [[float(x or 0.0) for x in (one.stress_u, one.stress_v, one.heat_flux)] for one in found]
    if np.ptp(values, axis=0).max() > 1e-9:
        return None
    density, capacity = float(eos.reference_density), float(eos.heat_capacity)
    stress_u, stress_v, heat = values[0]
    return stress_u / density, stress_v / density, heat / (density * capacity)


def background(target: Target) -> dict[str, float]:
    """The floors of viscosity and diffusivity where the simulation has a background."""
    case = target.case
    found = {"akv_min": case.background_viscosity, "akt_min": case.background_diffusivity}
    return {name: float(value) for name, value in found.items() if value is not None}


def run(tunax: Any, protocol: ProtocolSection, target: Target, fluxes: tuple[float, float, float]) -> float:
    """Root mean square error of temperature of the simulation with Tunax [K]."""
    case, eos, step = target.case, target.case.equation_of_state, protocol.dt
    assert isinstance(eos, LinearEquationOfState)
    depth = float(case.grid.depth)
    grid = tunax.Grid.linear(round(depth / protocol.cell_thickness), depth)
    z = np.asarray(case.grid.z_center)
    start = {
        name: np.interp(grid.zr, z, np.asarray(getattr(case.initial_state, name)))
        for name in ("u", "v", "temperature")
    }
    state = tunax.State(grid, start["u"], start["v"], t=start["temperature"])
    stress_u, stress_v, heat = fluxes
    bottom = case.interior.bottom_heat
    per_area = float(eos.reference_density * eos.heat_capacity)
    from_below = 0.0 if bottom is None else float(bottom.heat_flux) / per_area
    physics = tunax.Case(
        rho0=float(eos.reference_density),
        grav=float(eos.gravity),
        cp=float(eos.heat_capacity),
        alpha=float(eos.thermal_expansion),
        fcor=float(case.coriolis_parameter),
        ustr_sfc=stress_u,
        vstr_sfc=stress_v,
        t_forcing=(-from_below, heat),
    )
    interval = float(target.observations.time[1])
    every = interval / np.ceil(interval / 3600.0)
    n_steps = round(float(target.observations.time[-1]) / step)
    model = tunax.SingleColumnModel(n_steps, step, round(every / step), state, physics, "k-epsilon")
    found = model.jit_run(tunax.CLOSURES_REGISTRY["k-epsilon"].parameters_class(**background(target)))
    comparison = target.comparison
    values = {}
    for name, profiles in zip(VARIABLES, (found.t, found.u, found.v), strict=True):
        rows = Series(np.asarray(found.time), np.asarray(profiles)).on(comparison.times)
        values[name] = jnp.asarray(np.stack([np.interp(z, grid.zr, row) for row in rows]))
    states = dataclasses.replace(initial_states(case, comparison.times.size), **values)
    return errors_of_states(comparison, states)["temperature"].root_mean_square


def main() -> None:
    tunax = importlib.import_module("tunax")
    board = load_board(Path("configs/boards/les.yaml"))
    protocol, targets = board.config.protocol, available(board)[0]
    given = {name: fluxes_of(target) for name, target in targets.items()}
    print("left out, because their forcing varies:", *(name for name in given if given[name] is None))
    constant = {name: fluxes for name, fluxes in given.items() if fluxes is not None}
    model = Model(KEpsilon())
    ours = [errors_and_run(model, targets[name].comparison)[0]["temperature"] for name in constant]
    errors = {
        "k_epsilon": [error.root_mean_square for error in ours],
        "tunax": [run(tunax, protocol, targets[name], fluxes) for name, fluxes in constant.items()],
    }
    for label, values in errors.items():
        print(f"{label}: mean {1e3 * np.mean(values):.1f} mK, worst {1e3 * np.max(values):.1f} mK")


if __name__ == "__main__":
    main()
