"""Beside GOTM: k-epsilon with large-eddy simulations, and all of GOTM's set-ups, each in its own scheme.

Needs the files of observations in `TUNAX_LITE_DATA`, GOTM's in `TUNAX_LITE_REFERENCE`; see docs/files.md.
"""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
import xarray as xr

import tunax_lite as tl
from tunax_lite import in_precision
from tunax_lite.config import ConfigError, build_gotm
from tunax_lite.gotm import load_gotm
from tunax_lite.io import read_lesbrary, resolve
from tunax_lite.io.errors import FileFormatError

from .harness import Row, Setting

CASES = ("free_convection", "strong_wind", "strong_wind_no_rotation", "strong_wind_weak_cooling")
SPIN_UP = 7200.0
"""Seconds after which the large-eddy simulations are compared with."""


def rms(difference: Any) -> float:
    """Root mean square of an array."""
    return float(np.sqrt(np.mean(np.square(np.asarray(difference, float)))))


def measure_reference(setting: Setting) -> list[Row]:
    """k-epsilon beside GOTM, rms: K, m/s, over the maximum; temperature beside the simulations, K."""
    folder = os.environ.get("TUNAX_LITE_REFERENCE")
    if folder is None:
        raise SystemExit("benchmarks: set TUNAX_LITE_REFERENCE to the folder that holds gotm/les_*_keps.nc")
    rows = []
    for name in CASES[:1] if setting.quick else CASES:
        case, observed = read_lesbrary(resolve(f"lesbrary:two_day_suite/8m/{name}"))
        model = tl.Model(tl.KEpsilon())
        run = tl.simulate(model, case)
        single = tl.simulate(*in_precision((model, case), "float32")).state.temperature
        state = run.state
        closure: Any = run.clo_state  # that of k-epsilon
        gotm = {key: value.values.squeeze() for key, value in _read(Path(folder), name).items()}
        pairs = {
            "temperature": (state.temperature, gotm["temp"], 1.0),
            "u": (state.u, gotm["u"], 1.0),
            "v": (state.v, gotm["v"], 1.0),
            "tke": (closure.turbulent_kinetic_energy, gotm["tke"], np.abs(gotm["tke"]).max()),
            "viscosity": (closure.eddy_viscosity, gotm["num"], np.abs(gotm["num"]).max()),
            "diffusivity": (closure.eddy_diffusivity, gotm["nuh"], np.abs(gotm["nuh"]).max()),
        }
        row = {key: f"{rms(ours - theirs) / scale:.1e}" for key, (ours, theirs, scale) in pairs.items()}
        late = np.asarray(observed.time) >= SPIN_UP
        error = (state.temperature - observed.profiles["temperature"])[late]
        drift = np.asarray(single, float) - np.asarray(state.temperature)
        rows.append(
            {"case": name} | row | {"les_after_2_h": f"{rms(error):.4f}", "float32": f"{rms(drift):.1e}"}
        )
    return rows


def _read(folder: Path, name: str) -> xr.Dataset:
    with xr.open_dataset(folder / "gotm" / f"les_{name}_keps.nc") as dataset:
        return dataset[["temp", "u", "v", "tke", "num", "nuh"]].load()


GOTM_VARIABLES = {"temp": "temperature", "salt": "salinity", "u": "u", "v": "v"}
"""What is compared: GOTM's names and ours."""


def measure_gotm(setting: Setting) -> list[Row]:
    """GOTM's set-ups, each in its own scheme: what runs, rms and maximum of the difference, seconds.

    All below `gotm_cases` of `TUNAX_LITE_DATA`, and those of a copy of GOTM's repository of cases that
    `TUNAX_LITE_GOTM_CASES` names. With a program of GOTM in `TUNAX_LITE_GOTM` results and seconds are its
    own; without it results are those of `TUNAX_LITE_REFERENCE`. Ours are seconds after compilation.
    """
    roots = [Path(os.environ["TUNAX_LITE_DATA"]) / "gotm_cases"]
    if copy := os.environ.get("TUNAX_LITE_GOTM_CASES"):
        roots.append(Path(copy))
    paths = [path for root in roots for path in sorted(root.glob("*/*gotm*.yaml"))]
    return [_beside_gotm(path) for path in (paths[:2] if setting.quick else paths)]


def _beside_gotm(path: Path) -> Row:
    name, folder = path.name.removesuffix(".yaml").removesuffix(".gotm"), path.parent.name
    columns = [f"{ours}_{size}" for ours in GOTM_VARIABLES.values() for size in ("rms", "max")]
    row: Row = {"case": folder if name in (folder, "gotm") else f"{folder}: {name}", "runs": "yes"}
    row |= dict.fromkeys(["scheme", *columns, "seconds", "gotm_seconds"])
    try:
        made = build_gotm(load_gotm(path))
        made.report.check()
        assert made.run is not None
    except (ConfigError, FileNotFoundError, FileFormatError) as error:
        return row | {"runs": str(error).splitlines()[0].replace(f"{path.parent}/", "")}
    run = made.run
    row["scheme"] = type(run.model.closure).__name__
    with tempfile.TemporaryDirectory() as temporary:
        result, seconds = _of_gotm(path, Path(temporary))
        if result is None:
            return row | {"runs": "yes; no result of GOTM"}
        with xr.open_dataset(result, decode_times=False) as dataset:
            gotm = dataset[[name for name in GOTM_VARIABLES if name in dataset]].load()
    if gotm["temp"].sizes["z"] != run.case.grid.n_cells:
        return row | {"runs": f"yes; GOTM writes {gotm['temp'].sizes['z']} of {run.case.grid.n_cells} levels"}
    unit = {"s": 1.0, "h": 3600.0, "d": 86400.0}[gotm["time"].attrs["units"][0]]
    steps = np.round((gotm["time"].values - gotm["time"].values[0]) * unit / run.dt).astype(int)
    frame = int(np.gcd.reduce(steps))  # GOTM writes in the first step after a time
    interval, duration = frame * run.dt, int(steps[-1]) * run.dt
    times: dict[str, Any] = {"dt": run.dt, "output_interval": interval, "duration": duration}
    jax.block_until_ready(tl.simulate(run.model, run.case, **times))  # compiles
    start = time.perf_counter()
    kept = jax.block_until_ready(tl.simulate(run.model, run.case, **times))
    elapsed = time.perf_counter() - start
    for theirs, ours in GOTM_VARIABLES.items():
        values = np.asarray(getattr(kept.state, ours))[steps // frame]
        difference = values - gotm[theirs].values.squeeze().astype(float)
        row |= {f"{ours}_rms": f"{rms(difference):.1e}", f"{ours}_max": f"{np.abs(difference).max():.1e}"}
    return row | {"seconds": elapsed, "gotm_seconds": seconds}


def _of_gotm(path: Path, folder: Path) -> tuple[Path | None, float | None]:
    """GOTM's result, of its program in a copy of the case or stored, and the seconds that it took."""
    program = os.environ.get("TUNAX_LITE_GOTM")
    if program is None:
        stored = (
            Path(os.environ["TUNAX_LITE_REFERENCE"]) / "gotm" / f"{path.name.removesuffix('.gotm.yaml')}.nc"
        )
        return (stored if stored.is_file() else None), None
    copy = folder / "case"
    shutil.copytree(path.parent, copy, ignore=shutil.ignore_patterns("*.nc"))
    start = time.perf_counter()
    subprocess.run([program, path.name], cwd=copy, capture_output=True, check=False)
    elapsed = time.perf_counter() - start
    results = [file for file in copy.glob("*.nc") if file.name != "restart.nc"]
    results = [file for file in results if "temp" in xr.open_dataset(file, decode_times=False)]
    return (max(results, key=lambda file: file.stat().st_size) if results else None), elapsed
