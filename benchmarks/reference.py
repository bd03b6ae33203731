"""Compare k-epsilon with GOTM's results and with the large-eddy simulations: `make verify`.

Needs the folders of the observation files in `TUNAX_LITE_DATA` and of GOTM's results in
`TUNAX_LITE_REFERENCE`; see docs/files.md.
"""

import os
import sys
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402
import xarray as xr  # noqa: E402

import tunax_lite as tl  # noqa: E402
from tunax_lite.io import read_lesbrary, resolve  # noqa: E402
from tunax_lite.precision import in_precision  # noqa: E402

CASES = ("free_convection", "strong_wind", "strong_wind_no_rotation", "strong_wind_weak_cooling")
LIMITS = {"temperature": 1e-5, "u": 1e-5, "v": 1e-5, "tke": 1e-4, "viscosity": 1e-4, "diffusivity": 1e-4}
SPIN_UP = 7200.0


def rms(difference) -> float:
    """Root mean square of an array."""
    return float(np.sqrt(np.mean(np.square(difference))))


def differences(trajectory: tl.Trajectory, reference: xr.Dataset) -> dict[str, float]:
    """Rms over all levels and times: absolute for the state, over the maximum for the turbulence."""
    state, closure = trajectory.state, trajectory.clo_state
    absolute = {
        "temperature": (state.temperature, reference["temp"]),
        "u": (state.u, reference["u"]),
        "v": (state.v, reference["v"]),
    }
    relative = {
        "tke": (closure.turbulent_kinetic_energy, reference["tke"]),  # pyright: ignore[reportAttributeAccessIssue]
        "viscosity": (closure.eddy_viscosity, reference["num"]),
        "diffusivity": (closure.eddy_diffusivity, reference["nuh"]),
    }
    result = {name: rms(ours - theirs.values.squeeze()) for name, (ours, theirs) in absolute.items()}
    for name, (ours, theirs) in relative.items():
        values = theirs.values.squeeze()
        result[name] = rms(ours - values) / float(np.abs(values).max())
    return result


def main() -> int:
    """Print the comparisons; the exit status says whether all differences to GOTM are within limits."""
    folder = os.environ.get("TUNAX_LITE_REFERENCE")
    if folder is None:
        print("set TUNAX_LITE_REFERENCE to the folder that holds gotm/les_*_keps.nc", file=sys.stderr)
        return 2
    print(
        "rms difference to GOTM (K, m/s; turbulence over its maximum); of temperature to the LES after 2 h,"
    )
    print("and of a run in float32 to that in float64 (K)")
    print(f"{'':<26}" + "".join(f"{name:>13}" for name in (*LIMITS, "LES", "float32")))
    within = True
    for name in CASES:
        case, observations = read_lesbrary(resolve(f"lesbrary:two_day_suite/8m/{name}"))
        model = tl.Model(tl.KEpsilon())
        trajectory = tl.simulate(model, case)
        single = tl.simulate(*in_precision((model, case), "float32"))
        reference = xr.open_dataset(Path(folder) / "gotm" / f"les_{name}_keps.nc")
        row = differences(trajectory, reference)
        late = np.asarray(observations.time) >= SPIN_UP
        error = trajectory.state.temperature - observations.profiles["temperature"]
        drift = np.asarray(single.state.temperature, float) - np.asarray(trajectory.state.temperature)
        figures = (f"{value:13.1e}" for value in row.values())
        print(f"{name:<26}{''.join(figures)}{rms(error[late]):13.4f}{rms(drift):13.4f}")
        within &= all(row[key] <= limit for key, limit in LIMITS.items())
    print(f"{'limit':<26}" + "".join(f"{limit:13.1e}" for limit in LIMITS.values()))
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
