"""Eight large-eddy simulations that no constants of this package saw: `python -m benchmarks.unseen A B`.

A is the folder `column_models` of https://github.com/glwagner/ColumnModelOptimizationProject at ea3ec1d, B
the file `LES_buoyancyDominant_results.nc` of https://github.com/legaya/James2024-ket at 1ed4b48. Five
simulations of six days, not among those below `$TUNAX_LITE_DATA`, become CF NetCDF files in `--output`,
beside a `comparison.yaml` of these, of Legay's, and of two of the LESbrary that are downloaded by name:

    tunax-lite compare results/unseen/comparison.yaml --closures k_epsilon_recommended

`--data DIR` also converts the nine simulations of six days in `configs/cases/les.yaml`; DIR is a folder of
`$TUNAX_LITE_DATA`.
"""

import argparse
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import xarray as xr
import yaml

from tunax_lite import constants

UNSEEN = (
    "tau0_Q-75_dTdz0.01",
    "tau0.04_Q0_dTdz0.001",
    "tau0.04_Q-75_dTdz0.001",
    "tau0.1_Q-75_dTdz0.01",
    "tau0.1_Q10_dTdz0.001",
)
CALIBRATED = (
    "tau0_Q0_dTdz0.01",
    "tau0_Q10_dTdz0.001",
    "tau0_Q-75_dTdz0.001",
    "tau0.04_Q0_dTdz0.01",
    "tau0.04_Q10_dTdz0.01",
    "tau0.04_Q-75_dTdz0.01",
    "tau0.1_Q0_dTdz0.001",
    "tau0.1_Q0_dTdz0.01",
    "tau0.1_Q-75_dTdz0.001",
)
LESBRARY = ("strong_wind_weak_heating", "weak_wind_strong_cooling")
COMPARISON = Path(__file__).parent.parent / "configs" / "comparisons" / "les.yaml"


def converted(path: Path) -> xr.Dataset:
    """A file of Oceananigans' profiles: temperature in kelvin, from the surface down, fluxes upward."""
    with h5py.File(path) as file:
        content: Any = file  # h5py's types do not know what is a group
        given = {
            name: float(value[()])
            for group in ("boundary_conditions", "constants", "grid")
            for name, value in content[group].items()
        }
        series = content["timeseries"]
        records = sorted(series["t"], key=int)
        time = [float(series["t"][record][()]) for record in records]
        profiles = {
            name: np.array([series[key][record][:, 0, 0][::-1] for record in records])
            for name, key in (("temperature", "T"), ("u", "U"), ("v", "V"))
        }
    profiles["temperature"] -= 273.15
    units = {"temperature": "degC", "u": "m s-1", "v": "m s-1"}
    density, thickness = given["ρ₀"], given["L"] / given["N"]
    heat_per_buoyancy = density * given["cP"] / (given["α"] * given["g"])
    fluxes = {
        "surface_stress_u": (-density * given["Fu"], "N m-2"),
        "surface_stress_v": (0.0, "N m-2"),
        "surface_heat_flux": (-heat_per_buoyancy * given["Fb"], "W m-2"),
    }
    return xr.Dataset(
        {name: (("time", "z"), values, {"units": units[name]}) for name, values in profiles.items()}
        | {
            name: ("time", np.full(len(time), flux), {"units": unit}) for name, (flux, unit) in fluxes.items()
        },
        coords={
            "time": ("time", time, {"units": "seconds since 2000-01-01"}),
            "z": ("z", (np.arange(given["N"]) + 0.5) * thickness - given["L"], {"units": "m"}),
        },
        attrs={
            "Conventions": "CF-1.11",
            "coriolis_parameter": given["f"],
            "thermal_expansion": given["α"],
            "gravity": given["g"],
            "reference_density": density,
            "heat_capacity": given["cP"],
            "background_viscosity": given["κ"],
            "background_diffusivity": given["κ"],
        },
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("six_day", type=Path, metavar="A")
    parser.add_argument("legay", type=Path, metavar="B")
    parser.add_argument("--output", type=Path, default=Path("results/unseen"), metavar="DIR")
    parser.add_argument("--data", type=Path, metavar="DIR")
    options = parser.parse_args()

    def convert(name: str, folder: Path) -> None:
        originals = sorted(options.six_day.glob(f"*/wind_stress_N256_{name}_k*_timeseries.jld2"))
        if not originals:
            parser.error(f"{options.six_day} has no simulation {name}: expected the folder `column_models`.")
        folder.mkdir(parents=True, exist_ok=True)
        converted(originals[0]).to_netcdf(folder / f"{name}.nc")

    if options.data is not None:
        for name in CALIBRATED:
            convert(name, options.data / "les" / "six_day")
    cases: list[dict] = []
    for name in UNSEEN:
        convert(name, options.output)
        cases.append({"group": "six_day", "case": {"format": "cf_netcdf", "path": f"{name}.nc"}})
    for name in LESBRARY:
        path = f"lesbrary:two_day_suite/8m/{name}"
        cases.append({"group": "lesbrary", "case": {"format": "lesbrary", "path": path}})
    # The forcing is that of its parameters, `LEScode/LES_buoyancyDominant_params.in`.
    forcing = {"stress_u": 6.25e-4 * constants.REFERENCE_DENSITY, "surface_buoyancy_flux": -2.0e-7}
    legay = {"format": "legay", "path": str(options.legay.resolve()), **forcing}
    cases.append({"group": "legay", "case": legay})
    settings = yaml.safe_load(COMPARISON.read_text(encoding="utf-8")) | {"cases": cases}
    path = options.output / "comparison.yaml"
    path.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
