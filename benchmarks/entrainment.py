"""Entrainment under wind, waves and cooling in large-eddy simulations: `python -m benchmarks.entrainment`.

Needs `les_entrainment/simulations.csv` below `TUNAX_LITE_DATA`: fluxes and waves of simulations of two days,
and the rate dPE/dt [W m-2] at which their potential energy grows over the last inertial period. R, the
published measure, is the rate of the model over it. Cooling alone gives rho B (H - h / 2) with any closure,
so that R is near 1 under strong cooling; the error is therefore given as a fraction of the rest.

Source: Li and Fox-Kemper (2017), J. Phys. Oceanogr. 47, 2863-2886; set-up of Li et al. (2019), J. Adv. Model.
Earth Syst. 11, 3545-3592, section 3.3; waves of Donelan et al. (1985), Phil. Trans. R. Soc. A 315, 509-562.
"""

import argparse
import csv
from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

import tunax_lite as tl
from tunax_lite.column.terms import Interior
from tunax_lite.column.terms.stokes_drift import DriftProfiles, DriftVector, DriftVectors
from tunax_lite.column.time_series import TimeSeries
from tunax_lite.config.closures import ClosureSection
from tunax_lite.io import resolve
from tunax_lite.io.yaml_file import parse_yaml

CLOSURES = ("k_epsilon_recommended", "generic_length_scale_recommended")
GRAVITY, DENSITY, HEAT_CAPACITY, EXPANSION = 9.81, 1000.0, 3985.0, 2e-4
CORIOLIS = 4.0 * np.pi / 86164.0 * np.sin(np.pi / 4.0)
DEPTH, LAYER, WARMEST, GRADIENT = 163.84, 42.0, 12.0, 0.01  # m, m, degC, K m-1
DURATION, FRAME = 172800.0, 600.0


class Simulation(NamedTuple):
    """One row of the file.

    Args:
        buoyancy_flux: out of the water [m2 s-3].
        wind_speed: at 10 m [m s-1].
        stress: [N m-2].
        wave_age: phase speed of the peak over the wind speed [1]; `None` without waves.
        rate: dPE/dt [W m-2].
        drift: at 0.64 m depth [m s-1]; `None` without waves.
        boundary_layer_depth: h [m].
    """

    name: str
    buoyancy_flux: float
    wind_speed: float
    stress: float
    wave_age: float | None
    rate: float
    drift: float | None
    boundary_layer_depth: float

    @property
    def entrainment(self) -> float:
        """Part of the rate that is not cooling of the layer [W m-2]."""
        return self.rate - DENSITY * self.buoyancy_flux * (DEPTH - 0.5 * self.boundary_layer_depth)


def simulations() -> list[Simulation]:
    with resolve("les_entrainment/simulations.csv").open(encoding="utf-8") as file:
        rows = [list(row.values()) for row in csv.DictReader(file)]
    return [Simulation(row[0], *(float(x) if x else None for x in row[1:])) for row in rows]  # pyright: ignore


def donelan_drift(grid: tl.Grid, wind_speed: float, age: float) -> np.ndarray:
    """Stokes drift of the cells [m s-1] of a wind sea, from 0.1 to 20 rad s-1.

    Args:
        wind_speed: at 10 m [m s-1].
        age: phase speed of the peak over the wind speed [1].
    """
    omega, inverse = np.linspace(0.1, 20.0, 4000), 1.0 / age
    peak, width = GRAVITY * inverse / wind_speed, 0.08 * (1.0 + 4.0 * age**3)
    enhancement = 1.7 + (6.0 * np.log10(inverse) if inverse > 1.0 else 0.0)
    spectrum = 0.006 * inverse**0.55 * GRAVITY**2 / (peak * omega**4) * np.exp(-((peak / omega) ** 4))
    spectrum *= enhancement ** np.exp(-((omega - peak) ** 2) / (2.0 * width**2 * peak**2))
    faces = np.asarray(grid.z_face)
    above = np.trapezoid(omega * spectrum * np.exp(2.0 * omega**2 / GRAVITY * faces[:, None]), omega)
    return np.diff(above) / np.diff(faces)


def case_of(simulation: Simulation) -> tl.Case:
    """The column in 256 cells."""
    grid = tl.Grid.uniform(DEPTH, 256)
    heat = -simulation.buoyancy_flux * DENSITY * HEAT_CAPACITY / (GRAVITY * EXPANSION)
    interior = Interior()
    if simulation.wave_age is not None and simulation.drift is not None:
        drift = donelan_drift(grid, simulation.wind_speed, simulation.wave_age)
        drift = jnp.asarray(drift * simulation.drift / drift[-2:].mean())  # the first cell there has 1.28 m
        surface = DriftVector(1.5 * drift[-1] - 0.5 * drift[-2], 0.0)
        series = TimeSeries.constant(DriftVectors(drift, jnp.zeros_like(drift)))
        interior = Interior(stokes_drift=DriftProfiles(series, TimeSeries.constant(surface)))
    return tl.Case(
        grid,
        tl.State.from_profiles(grid, temperature=lambda z: WARMEST + GRADIENT * jnp.minimum(z + LAYER, 0.0)),
        tl.ConstantForcing(tl.SurfaceFluxes(stress_u=simulation.stress, heat_flux=heat)),
        coriolis_parameter=CORIOLIS,
        equation_of_state=tl.LinearEquationOfState(
            thermal_expansion=EXPANSION,
            haline_contraction=0.0,
            reference_density=DENSITY,
            heat_capacity=HEAT_CAPACITY,
        ),
        interior=interior,
        duration=DURATION,
        name=simulation.name,
    )


def potential_energy_rate(temperature: np.ndarray, time: np.ndarray, grid: tl.Grid) -> np.ndarray:
    """Slope of the potential energy above the bottom over the last inertial period [W m-2].

    Args:
        temperature: `(n_times, n_cells, *batch)` [degC].
    """
    late = time >= time[-1] - 2.0 * np.pi / CORIOLIS
    weight = np.asarray((grid.z_center - grid.z_face[0]) * grid.cell_thickness)
    energy = -DENSITY * GRAVITY * EXPANSION * np.tensordot(temperature[late] - WARMEST, weight, (1, 0))
    return np.polyfit(time[late], energy, 1)[0]


def rates(model: tl.Model, rows: Sequence[Simulation], n_cells: int, step: float) -> np.ndarray:
    """dPE/dt [W m-2] of all: with waves they are columns of one run, without waves of another."""
    found, grid = np.zeros(len(rows)), tl.Grid.uniform(DEPTH, n_cells)
    for waves in (False, True):
        kept = [i for i, row in enumerate(rows) if (row.wave_age is not None) is waves]
        if not kept:
            continue
        case = tl.stack_cases([case_of(rows[i]).on(grid) for i in kept])
        run = tl.simulate(model, case, dt=step, output_interval=max(FRAME, step))
        found[kept] = potential_energy_rate(np.asarray(run.state.temperature), np.asarray(run.time), grid)
    return found


class Score(NamedTuple):
    """Of some simulations: least and largest R, and errors as a fraction of the entrainment [1]."""

    least: float
    most: float
    bias: float
    rms: float
    rms_waves: float
    rms_none: float


def score(found: np.ndarray, rows: Sequence[Simulation]) -> Score:
    """How near rates [W m-2] are to those of the simulations."""
    true, entrainment = (np.array([getattr(row, name) for row in rows]) for name in ("rate", "entrainment"))
    waves = np.array([row.wave_age is not None for row in rows])
    ratio, error = found / true, (found - true) / entrainment
    rms = [float(np.sqrt(np.mean(np.square(error[kept])))) for kept in (waves | ~waves, waves, ~waves)]
    return Score(ratio.min(), ratio.max(), error.mean(), *rms)


def in_words(of: Score) -> str:
    """Cells of a row."""
    errors = f"{of.bias:+.2f} | {of.rms:.3f} | {of.rms_waves:.2f} | {of.rms_none:.2f}"
    return f"{of.least:.2f} to {of.most:.2f} | {errors}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--closures", nargs="+", default=CLOSURES, metavar="CLOSURE", help="names, or sections in braces")
    add("--cells", nargs="+", type=int, default=[128], metavar="N", help="of 163.84 m")
    add("--steps", nargs="+", type=float, default=[60.0], metavar="S", help="time steps")
    add("--each", action="store_true", help="R and error of each simulation too")
    options = parser.parse_args()
    tl.configure()
    rows = simulations()
    print("| closure | cells [m] | step [s] | R | bias | rms | waves | none |")
    print("| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: |")
    for text in options.closures:
        given = parse_yaml(text)
        model = tl.Model(
            ClosureSection.model_validate(given if isinstance(given, dict) else {"name": given}).build()
        )
        for n_cells in options.cells:
            for step in options.steps:
                found = rates(model, rows, n_cells, step)
                of = score(found, rows)
                print(f"| `{text}` | {DEPTH / n_cells:.2f} | {step:g} | {in_words(of)} |", flush=True)
                if options.each:
                    for row, rate in zip(rows, found, strict=True):
                        error = (rate - row.rate) / row.entrainment
                        print(f"{row.name}: R {rate / row.rate:.2f}, error {error:+.2f}")


if __name__ == "__main__":
    main()
