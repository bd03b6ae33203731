"""k-epsilon beside GOTM's results and large-eddy simulations; tests/verification/test_gotm.py sets limits.

Needs the files of observations in `TUNAX_LITE_DATA`, GOTM's in `TUNAX_LITE_REFERENCE`; see docs/files.md.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import tunax_lite as tl
from tunax_lite import in_precision
from tunax_lite.io import read_lesbrary, resolve

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
