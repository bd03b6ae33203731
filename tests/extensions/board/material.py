"""A board of two small simulations, and results of another program on them."""

from pathlib import Path

import netCDF4
import numpy as np
import yaml

from tests.cli.running import invoked
from tests.plausibility.inputs import cf_simulation, simulated

SUBMISSION = {"label": "other", "model": "Other 1.0", "constants_from": "its authors", "saw": ["there"]}
SUBMISSION |= {"command": "other run.nml", "time_step": 900.0}
BOARD = """
protocol: {version: test-1, cell_thickness: 4.0, time_step: 1800.0, n_timings: 0,
           reference: constant, cost_reference: constant}
sources:
  here: {title: a slab, licence: MIT}
  there: {title: slabs, licence: MIT, url: "https://example.org"}
simulations:
  - {name: slab, source: here, case: {format: cf_netcdf, path: slab.nc}}
  - {name: warm, source: there, case: {format: cf_netcdf, path: warm.nc}}
  - {name: gone, source: there, case: {format: cf_netcdf, path: gone.nc}}
rows:
  - {name: constant, constants_from: defaults, saw: []}
  - {name: constant, label: viscous, parameters: {viscosity: 0.02, diffusivity: 0.01}, saw: [there]}
  - {name: convective_adjustment}
"""


def write_board(folder: Path) -> Path:
    """The board and its simulations; the first has no date, the second is warmer, and one is missing."""
    folder.mkdir(exist_ok=True)
    for name, warmer in (("slab", 0.0), ("warm", 2.0)):
        given = simulated()
        given.values["temperature"] = given.values["temperature"] + warmer
        cf_simulation(given, folder)
        (folder / "les.nc").rename(folder / f"{name}.nc")
    with netCDF4.Dataset(folder / "slab.nc", "a") as file:
        file["time"].units = "s"
    path = folder / "board.yaml"
    path.write_text(BOARD, encoding="utf-8")
    return path


def board(*arguments: object, code: int = 0) -> str:
    return invoked("board", "board.yaml", *arguments, code=code).output


def write_submission(folder: Path, **changed) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "submission.yaml").write_text(yaml.safe_dump(SUBMISSION | changed), encoding="utf-8")
    return folder


def write_result(path: Path, time, z, profiles, units: dict[str, str] | None = None) -> Path:
    """A file as docs/board.md describes it; profiles are `(n_times, n_levels)` by name."""
    known = {"time": "s", "z": "m", "temperature": "degC", "u": "m s-1", "v": "m s-1"} | (units or {})
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", len(time))
        file.createDimension("z", len(z))
        for name, values in {"time": time, "z": z, **profiles}.items():
            dims = (name,) if name in ("time", "z") else ("time", "z")
            variable = file.createVariable(name, "f8", dims)
            variable.units = known[name]
            variable[...] = np.asarray(values)
        file["time"].axis, file["z"].axis, file["z"].positive = "T", "Z", "up"
    return path
