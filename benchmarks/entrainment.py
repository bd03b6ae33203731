"""Entrainment under wind, waves and cooling in large-eddy simulations: `python -m benchmarks.entrainment`.

Needs `les_entrainment/simulations.csv` below `TUNAX_LITE_DATA`. R, the published measure, and the error as a
fraction of the entrainment are defined in `benchmarks/li_fox_kemper.py`; closures may be given as sections,
at several resolutions. `--write FOLDER` writes the simulations as CF NetCDF files for other models.
"""

import argparse
from pathlib import Path

import numpy as np
import xarray as xr

import tunax_lite as tl
from tunax_lite.closures import AbstractClosure
from tunax_lite.config.closures import ClosureSection
from tunax_lite.io import resolve
from tunax_lite.io.yaml_file import parse_yaml

from .li_fox_kemper import (
    CORIOLIS,
    DENSITY,
    DEPTH,
    DURATION,
    EXPANSION,
    GRAVITY,
    HEAT_CAPACITY,
    Entrainment,
    Simulation,
    case_of,
    judged,
    rates,
    read_simulations,
)

CLOSURES = ("k_epsilon_recommended", "generic_length_scale_recommended")
TABLE = "les_entrainment/simulations.csv"


def written(simulation: Simulation) -> xr.Dataset:
    """First profile, fluxes and waves in 256 cells, with the constants of the set-up as attributes."""
    case = case_of(simulation)
    fluxes = case.forcing.at(0.0)
    assert fluxes.heat_flux is not None
    variables = {
        "temperature": ("z", np.asarray(case.initial_state.temperature), {"units": "degC"}),
        "surface_stress_u": ((), simulation.stress, {"units": "N m-2"}),
        "surface_heat_flux": ((), float(fluxes.heat_flux), {"units": "W m-2", "comment": "into the water"}),
    }
    waves = case.interior.stokes_drift
    if waves is not None:
        drift = np.asarray(waves.at(case.grid, 0.0)[0])
        variables["stokes_drift_u"] = ("z", drift, {"units": "m s-1"})
    axes = {"z": ("z", np.asarray(case.grid.z_center), {"units": "m", "positive": "up", "axis": "Z"})}
    numbers = {"coriolis_parameter": CORIOLIS, "gravity": GRAVITY, "reference_density": DENSITY}
    numbers |= {"thermal_expansion": EXPANSION, "heat_capacity": HEAT_CAPACITY, "duration": DURATION}
    about = {"Conventions": "CF-1.11", "title": f"Li and Fox-Kemper (2017): {simulation.name}"}
    return xr.Dataset(variables, axes, about | numbers)


def in_words(of: Entrainment) -> str:
    """Cells of a row."""
    errors = f"{of.bias:+.2f} | {of.rms():.3f} | {of.rms(waves=True):.2f} | {of.rms(waves=False):.2f}"
    return f"{of.range[0]:.2f} to {of.range[1]:.2f} | {errors}"


def closure_of(text: str) -> AbstractClosure:
    """The closure of a name, or of a section in braces."""
    given = parse_yaml(text)
    return ClosureSection.model_validate(given if isinstance(given, dict) else {"name": given}).build()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--closures", nargs="+", default=CLOSURES, metavar="CLOSURE", help="names, or sections in braces")
    add("--cells", nargs="+", type=int, default=[128], metavar="N", help="of 163.84 m")
    add("--steps", nargs="+", type=float, default=[60.0], metavar="S", help="time steps")
    add("--each", action="store_true", help="R and error of each simulation too")
    add("--write", type=Path, metavar="FOLDER", help="write the simulations as files instead")
    options = parser.parse_args()
    tl.configure()
    rows = read_simulations(resolve(TABLE))
    if options.write is not None:
        options.write.mkdir(parents=True, exist_ok=True)
        for row in rows:
            written(row).to_netcdf(options.write / f"{row.name}.nc")
        return
    print("| closure | cells [m] | step [s] | R | bias | rms | waves | none |")
    print("| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: |")
    for text in options.closures:
        model = tl.Model(closure_of(text))
        for n_cells in options.cells:
            for step in options.steps:
                of = judged(rates(model, rows, n_cells, step), rows)
                print(f"| `{text}` | {DEPTH / n_cells:.2f} | {step:g} | {in_words(of)} |", flush=True)
                if options.each:
                    for name, error in of.errors.items():
                        print(f"{name}: R {of.ratios[name]:.2f}, error {error:+.2f}")


if __name__ == "__main__":
    main()
