"""Entrainment under wind, waves and cooling, where only the growth of potential energy is known.

Known are fluxes and waves of simulations of two days, and the rate dPE/dt [W m-2] at which their potential
energy grows over the last inertial period. R, the published measure, is the rate of the model over it.
Cooling alone gives rho B (H - h / 2) with any closure, so that R is near 1 under strong cooling; the error is
therefore given as a fraction of the rest, the entrainment.

Source: Li and Fox-Kemper (2017), J. Phys. Oceanogr. 47, 2863-2886; set-up of Li et al. (2019), J. Adv. Model.
Earth Syst. 11, 3545-3592, section 3.3; waves of Donelan et al. (1985), Phil. Trans. R. Soc. A 315, 509-562.
"""

import csv
import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from tunax_lite.column.case import Case, stack_cases
from tunax_lite.column.forcing import ConstantForcing, SurfaceFluxes
from tunax_lite.column.grid import Grid
from tunax_lite.column.integrate import simulate
from tunax_lite.column.model import Model
from tunax_lite.column.state import State
from tunax_lite.column.terms import DriftProfiles, DriftVector, DriftVectors, Interior
from tunax_lite.column.time_series import TimeSeries
from tunax_lite.extensions.board.scores import LEVEL, bootstrap_means
from tunax_lite.io.errors import FileFormatError, decimal, names_its_file, read_text
from tunax_lite.physics import LinearEquationOfState

GRAVITY, DENSITY, HEAT_CAPACITY, EXPANSION = 9.81, 1000.0, 3985.0, 2e-4
CORIOLIS = 4.0 * np.pi / 86164.0 * np.sin(np.pi / 4.0)
DEPTH, LAYER, WARMEST, GRADIENT = 163.84, 42.0, 12.0, 0.01  # m, m, degC, K m-1
DURATION, FRAME = 172800.0, 600.0
LATE = DURATION - 2.0 * np.pi / CORIOLIS
"""Start of the last inertial period [s]."""
_HEADER = "name b0 wind_speed stress wave_age dpedt stokes_drift_at_0.64_m boundary_layer_depth".split()
_MAY_LACK = "wave_age", "stokes_drift_at_0.64_m"


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


@dataclasses.dataclass(frozen=True)
class Entrainment:
    """Growth of potential energy in some simulations.

    Args:
        ratios: R by simulation, the growth over that of the simulation [1].
        errors: as a fraction of the entrainment [1].
        with_waves: simulations with waves.
    """

    ratios: Mapping[str, float]
    errors: Mapping[str, float]
    with_waves: tuple[str, ...]

    @property
    def range(self) -> tuple[float, float]:
        """Least and largest R."""
        return min(self.ratios.values()), max(self.ratios.values())

    @property
    def bias(self) -> float:
        return float(np.mean(list(self.errors.values())))

    def rms(self, *, waves: bool | None = None) -> float:
        """Root mean square error of all, or of those with or without waves; NaN if there are none."""
        chosen = [e for name, e in self.errors.items() if waves is None or (name in self.with_waves) is waves]
        return float(np.sqrt(np.mean(np.square(chosen)))) if chosen else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Of the root mean square error of all, by drawing the simulations again."""
        means = bootstrap_means(np.square(list(self.errors.values())))
        ends = 0.5 - 0.5 * LEVEL, 0.5 + 0.5 * LEVEL
        return tuple(np.sqrt(np.quantile(means, ends)).tolist()) if means.size else (math.nan, math.nan)


@names_its_file("a table of simulations")
def read_simulations(path: Path) -> list[Simulation]:
    """The simulations of a CSV file; `FileFormatError` for other columns, or what is no number."""
    found = []
    lines = csv.DictReader(read_text(path, "a table of simulations").splitlines())
    got = list(lines.fieldnames or ())
    if got != _HEADER:
        expected = f"the columns {', '.join(_HEADER)}"
        raise FileFormatError(path, "the header", expected, ", ".join(got), "name them so")
    for line in lines:
        values: list[float | None] = []
        for name in _HEADER[1:]:
            try:
                value = None if name in _MAY_LACK and not line[name] else decimal(line[name])
                is_number = value is None or math.isfinite(value)
            except (TypeError, ValueError):  # too few columns; a text
                value, is_number = None, False
            if not is_number:
                raise FileFormatError(
                    path, f"line {lines.line_num}, {name}", "a number", repr(line[name]), "correct it"
                )
            values.append(value)
        found.append(Simulation(line["name"], *values))  # pyright: ignore[reportArgumentType]
    return found


def donelan_drift(grid: Grid, wind_speed: float, age: float) -> np.ndarray:
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


def case_of(simulation: Simulation) -> Case:
    """The column in 256 cells."""
    grid = Grid.uniform(DEPTH, 256)
    heat = -simulation.buoyancy_flux * DENSITY * HEAT_CAPACITY / (GRAVITY * EXPANSION)
    interior = Interior()
    if simulation.wave_age is not None and simulation.drift is not None:
        drift = donelan_drift(grid, simulation.wind_speed, simulation.wave_age)
        drift = jnp.asarray(drift * simulation.drift / drift[-2:].mean())  # the first cell there has 1.28 m
        surface = DriftVector(1.5 * drift[-1] - 0.5 * drift[-2], 0.0)
        series = TimeSeries.constant(DriftVectors(drift, jnp.zeros_like(drift)))
        interior = Interior(stokes_drift=DriftProfiles(series, TimeSeries.constant(surface)))
    return Case(
        grid,
        State.from_profiles(grid, temperature=lambda z: WARMEST + GRADIENT * jnp.minimum(z + LAYER, 0.0)),
        ConstantForcing(SurfaceFluxes(stress_u=simulation.stress, heat_flux=heat)),
        coriolis_parameter=CORIOLIS,
        equation_of_state=LinearEquationOfState(
            thermal_expansion=EXPANSION,
            haline_contraction=0.0,
            reference_density=DENSITY,
            heat_capacity=HEAT_CAPACITY,
        ),
        interior=interior,
        duration=DURATION,
        name=simulation.name,
    )


def potential_energy_rate(temperature: np.ndarray, time: np.ndarray, grid: Grid) -> np.ndarray:
    """Slope of the potential energy above the bottom over the last inertial period [W m-2].

    Args:
        temperature: `(n_times, n_cells, *batch)` [degC].
        time: since the start [s].
    """
    late = time >= LATE
    weight = np.asarray((grid.z_center - grid.z_face[0]) * grid.cell_thickness)
    energy = -DENSITY * GRAVITY * EXPANSION * np.tensordot(temperature[late] - WARMEST, weight, (1, 0))
    return np.asarray(np.polyfit(time[late], energy, 1)[0])


def rates(model: Model, rows: Sequence[Simulation], n_cells: int, step: float) -> np.ndarray:
    """dPE/dt [W m-2] of all: with waves they are columns of one run, without waves of another."""
    found, grid = np.zeros(len(rows)), Grid.uniform(DEPTH, n_cells)
    for waves in (False, True):
        kept = [i for i, row in enumerate(rows) if (row.wave_age is not None) is waves]
        if not kept:
            continue
        case = stack_cases([case_of(rows[i]).on(grid) for i in kept])
        run = simulate(model, case, dt=step, output_interval=max(FRAME, step))
        found[kept] = potential_energy_rate(np.asarray(run.state.temperature), np.asarray(run.time), grid)
    return found


def judged(found: np.ndarray, rows: Sequence[Simulation]) -> Entrainment:
    """How near rates [W m-2] are to those of the simulations."""
    pairs = list(zip(rows, np.asarray(found, float).tolist(), strict=True))
    return Entrainment(
        {row.name: rate / row.rate for row, rate in pairs},
        {row.name: (rate - row.rate) / row.entrainment for row, rate in pairs},
        tuple(row.name for row in rows if row.wave_age is not None),
    )
