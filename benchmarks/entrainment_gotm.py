"""GOTM on the simulations of entrainment: `python -m benchmarks.entrainment_gotm FOLDER GOTM`.

GOTM is the path of the program, version 7. k-epsilon, k-omega and the KPP of CVMix have its own settings, in
128 levels with steps of 60 s. Waves are a profile of the Stokes drift: the two-equation closures count its
production with the constants of GOTM, and KPP has the enhancement of Li et al. (2016).
"""

import argparse
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from tunax_lite.column.grid import Grid
from tunax_lite.io import resolve
from tunax_lite.io.yaml_file import yaml_text

from .entrainment import in_words
from .li_fox_kemper import (
    DENSITY,
    DEPTH,
    EXPANSION,
    HEAT_CAPACITY,
    LAYER,
    WARMEST,
    Simulation,
    case_of,
    judged,
    potential_energy_rate,
    read_simulations,
)

START = "2000-01-01 00:00:00"
CLOSURES: dict[str, dict[str, Any]] = {  # sections of GOTM's configuration
    "k_epsilon": {"turbulence": {"len_scale_method": "dissipation"}},
    "k_omega": {"turbulence": {"len_scale_method": "omega"}},
    "kpp": {"turbulence": {"turb_method": "cvmix"}, "cvmix": {"surface_layer": {"langmuir_method": "lwf16"}}},
}


def configuration(row: Simulation, closure: Mapping[str, Any]) -> dict[str, Any]:
    """Of GOTM; everything else has its defaults."""
    heat = case_of(row).forcing.at(0.0).heat_flux
    assert heat is not None

    def constant(value: float) -> dict[str, object]:
        return {"method": "constant", "constant_value": float(value)}

    waves = {}
    if row.wave_age is not None:
        waves = {
            "us0": {"method": "file", "file": "surface.dat", "column": 1},
            "vs0": {"method": "file", "file": "surface.dat", "column": 2},
            "us": {"method": "file", "file": "drift.dat", "column": 1},
            "vs": {"method": "file", "file": "drift.dat", "column": 2},
            "dusdz": {"method": "us"},
            "dvsdz": {"method": "vs"},
        }
    return {
        "version": 7,
        "location": {"latitude": 45.0, "longitude": 0.0, "depth": DEPTH},
        "time": {"start": START, "stop": "2000-01-03 00:00:00", "dt": 60.0},
        "grid": {"nlev": 128},
        "temperature": {"method": "file", "file": "temperature.dat", "type": "conservative"},
        "salinity": {**constant(35.0), "type": "absolute"},
        "surface": {
            "fluxes": {
                "method": "off",
                "heat": constant(heat),
                "tx": constant(row.stress),
                "ty": constant(0.0),
            },
            "u10": constant(row.wind_speed),
            "v10": constant(0.0),
            "ice": {"model": "no_ice"},
        },
        **({"waves": {"stokes_drift": waves}} if waves else {}),
        "equation_of_state": {
            "method": "linear_custom",
            "rho0": DENSITY,
            "linear": {"T0": WARMEST, "alpha": EXPANSION, "cp": HEAT_CAPACITY},
        },
        "output": {
            "result": {"time_unit": "dt", "time_step": 10, "variables": [{"source": "temp"}, {"source": "h"}]}
        },
        **closure,
    }


def inputs(row: Simulation) -> dict[str, str]:
    """Text of the files that GOTM reads, by name."""
    grid = Grid.uniform(DEPTH, 256)
    below = WARMEST - 0.01 * (DEPTH - LAYER)
    lines = f"{START}  3  2\n 0.0 {WARMEST}\n {-LAYER} {WARMEST}\n {-DEPTH} {below}\n"
    found = {"temperature.dat": lines}
    waves = case_of(row).interior.stokes_drift
    if waves is not None:
        drift, z = np.asarray(waves.at(grid, 0.0)[0]), np.asarray(grid.z_center)
        profile = "".join(f" {a:.4f} {b:.10f} 0.0\n" for a, b in zip(z[::-1], drift[::-1], strict=True))
        ends = START, "2000-01-04 00:00:00"
        found["drift.dat"] = "".join(f"{end}  {z.size}  2\n{profile}" for end in ends)
        found["surface.dat"] = "".join(
            f"{end} {1.5 * drift[-1] - 0.5 * drift[-2]:.10f} 0.0\n" for end in ends
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("gotm", type=Path)
    options = parser.parse_args()
    program, rows = options.gotm.resolve(), read_simulations(resolve("les_entrainment/simulations.csv"))
    print("| closure | R | bias | rms | waves | none |\n| --- | --- | ---: | ---: | ---: | ---: |")
    for name, closure in CLOSURES.items():
        rates = []
        for row in rows:
            place = options.folder / f"gotm_{name}" / f"run_{row.name}"
            place.mkdir(parents=True, exist_ok=True)
            for file, text in inputs(row).items():
                (place / file).write_text(text, encoding="utf-8")
            text = yaml_text(configuration(row, closure)).replace("'", "")  # GOTM knows no quotation marks
            (place / "gotm.yaml").write_text(text, encoding="utf-8")
            with (place / "gotm.log").open("w") as log:
                subprocess.run([program], cwd=place, check=True, stdout=log, stderr=log)
            with xr.open_dataset(place / "result.nc", decode_times=False) as result:
                column = result.isel(lat=0, lon=0)
                grid = Grid.uniform(DEPTH, column["temp"].shape[1])
                rates.append(potential_energy_rate(column["temp"].values, column["time"].values, grid))
        print(f"| gotm_{name} | {in_words(judged(np.array(rates), rows))} |", flush=True)


if __name__ == "__main__":
    main()
