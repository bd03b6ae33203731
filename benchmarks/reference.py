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
import yaml

import tunax_lite as tl
from tunax_lite import in_precision
from tunax_lite.config import ConfigError, build_run, load_run
from tunax_lite.config.case import Run
from tunax_lite.extensions.gotm import build_gotm, load_gotm
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
    run = _built(path)
    if isinstance(run, str):
        return row | {"runs": run}
    row["scheme"] = type(run.model.closure).__name__
    gotm, seconds = _of_gotm(path, tuple(GOTM_VARIABLES))
    if gotm is None:
        return row | {"runs": "yes; no result of GOTM"}
    if gotm["temp"].sizes["z"] != run.case.grid.n_cells:
        return row | {"runs": f"yes; GOTM writes {gotm['temp'].sizes['z']} of {run.case.grid.n_cells} levels"}
    times, frames = _times(gotm, run.dt)
    jax.block_until_ready(tl.simulate(run.model, run.case, **times))  # compiles
    start = time.perf_counter()
    kept = jax.block_until_ready(tl.simulate(run.model, run.case, **times))
    elapsed = time.perf_counter() - start
    for theirs, ours in GOTM_VARIABLES.items():
        values = np.asarray(getattr(kept.state, ours))[frames]
        difference = values - gotm[theirs].values.squeeze().astype(float)
        row |= {f"{ours}_rms": f"{rms(difference):.1e}", f"{ours}_max": f"{np.abs(difference).max():.1e}"}
    return row | {"seconds": elapsed, "gotm_seconds": seconds}


def _built(path: Path) -> Run | str:
    """The run of a set-up, or why there is none."""
    try:
        made = build_gotm(load_gotm(path))
        made.report.check()
    except (ConfigError, FileNotFoundError, FileFormatError) as error:
        return str(error).splitlines()[0].replace(f"{path.parent}/", "")
    assert made.run is not None
    return made.run


def _times(gotm: xr.Dataset, dt: float) -> tuple[dict[str, Any], np.ndarray]:
    """What a run is given to have the times of a result of GOTM, and which of its frames they are."""
    unit = {"s": 1.0, "h": 3600.0, "d": 86400.0}[gotm["time"].attrs["units"][0]]
    steps = np.round((gotm["time"].values - gotm["time"].values[0]) * unit / dt).astype(int)
    frame = int(np.gcd.reduce(steps))  # GOTM writes in the first step after a time
    return {"dt": dt, "output_interval": frame * dt, "duration": int(steps[-1]) * dt}, steps // frame


def _of_gotm(path: Path, names: tuple[str, ...]) -> tuple[xr.Dataset | None, float | None]:
    """GOTM's result, of its program in a copy of the case or stored, and the seconds that it took."""
    program, elapsed = os.environ.get("TUNAX_LITE_GOTM"), None
    with tempfile.TemporaryDirectory() as temporary:
        if program is None:
            folder = Path(os.environ["TUNAX_LITE_REFERENCE"]) / "gotm"
            stored = folder / f"{path.name.removesuffix('.gotm.yaml')}.nc"
            results = [stored] if stored.is_file() else []
        else:
            copy = Path(temporary) / "case"
            shutil.copytree(path.parent, copy, ignore=shutil.ignore_patterns("*.nc"))
            start = time.perf_counter()
            subprocess.run([program, path.name], cwd=copy, capture_output=True, check=False)
            elapsed = time.perf_counter() - start
            results = [file for file in copy.glob("*.nc") if file.name != "restart.nc"]
            results = [file for file in results if "temp" in xr.open_dataset(file, decode_times=False)]
        if not results:
            return None, elapsed
        largest = max(results, key=lambda file: file.stat().st_size)
        with xr.open_dataset(largest, decode_times=False) as dataset:
            return dataset[[name for name in names if name in dataset]].load(), elapsed


SPUN_UP = 20
"""Frames after which salinity is compared: GOTM draws it to zero in a first step."""


def measure_near(setting: Setting) -> list[Row]:
    """Rms from GOTM like GOTM, and in brackets with our own choices: mK, g/kg, of the range, of the largest.

    All set-ups below `gotm_cases` of `TUNAX_LITE_DATA`; results of GOTM as in `measure_gotm`.
    """
    paths = sorted((Path(os.environ["TUNAX_LITE_DATA"]) / "gotm_cases").glob("*/*.gotm.yaml"))
    rows = []
    for path in paths[:2] if setting.quick else paths:
        run = _built(path)
        gotm = None if isinstance(run, str) else _of_gotm(path, (*GOTM_VARIABLES, "num", "tke"))[0]
        if isinstance(run, str) or gotm is None or gotm["temp"].sizes["z"] != run.case.grid.n_cells:
            continue
        like, own = _distances(run, gotm), _distances(_with_own_choices(path), gotm)
        rows.append(
            {"case": path.name.removesuffix(".gotm.yaml")}
            | {key: f"{value:.2g} ({own[key]:.2g})" for key, value in like.items()}
        )
    return rows


def _distances(run: Run, gotm: xr.Dataset) -> dict[str, float]:
    times, frames = _times(gotm, run.dt)
    kept = tl.simulate(run.model, run.case, **times)
    theirs = {str(name): gotm[name].values.squeeze().astype(float) for name in gotm}
    off = {
        name: np.asarray(getattr(kept.state, ours))[frames] - theirs[name]
        for name, ours in GOTM_VARIABLES.items()
    }
    found = {
        "temperature_mK": 1e3 * rms(off["temp"]),
        "surface_mK": 1e3 * rms(off["temp"][:, -1]),
        "salinity": rms(off["salt"][SPUN_UP:]),
        "u_percent": 100.0 * rms(off["u"]) / np.ptp(theirs["u"]),
    }
    inner = slice(1, None), slice(1, -1)  # GOTM's first frame holds zeros
    for key, name, ours in (
        ("viscosity_percent", "num", "eddy_viscosity"),
        ("k_percent", "tke", "turbulent_kinetic_energy"),
    ):
        if hasattr(kept.clo_state, ours) and name in theirs:
            difference = np.asarray(getattr(kept.clo_state, ours))[frames][inner] - theirs[name][inner]
            found[key] = 100.0 * rms(difference) / np.abs(theirs[name][inner]).max()
    return found


def _with_own_choices(path: Path) -> Run:
    """A case of GOTM with Boussinesq density, and without what only GOTM does."""
    text = load_run(path).short_text.replace("name: specific_volume", "name: teos10")
    with tempfile.TemporaryDirectory() as temporary:
        target = Path(temporary) / "own.yaml"
        target.write_text(yaml.safe_dump(_without(yaml.safe_load(text), GOTM_ALONE)), encoding="utf-8")
        return build_run(load_run(target))


GOTM_ALONE = ("discretisation", "from_rest", "from_zero", "lag", "closed_base", "form")
"""Keys of a configuration by which it does as GOTM, where the default is ours."""


def _without(section: Any, keys: tuple[str, ...]) -> Any:
    if isinstance(section, dict):
        return {key: _without(value, keys) for key, value in section.items() if key not in keys}
    return section
