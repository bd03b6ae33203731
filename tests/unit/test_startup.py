"""Starting the same calibration again: programs come from the cache, nothing is imported in vain."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Seconds of the processor, which do not depend on what else the machine does, up to the first iterate.
CALIBRATION = """
import json, sys, time
from tunax_lite.runtime import cache_statistics, configure
configure(precision="float64", cache_folder=sys.argv[1])
import jax.numpy as jnp
import tunax_lite as tl
from tunax_lite.calibration import LBFGS, FreeParameter, FreeParameters, Target, calibrate

def report(iteration, loss, scores, values):
    seconds, cache = time.process_time(), cache_statistics()
    print(json.dumps({"seconds": seconds, "hits": cache.hits, "misses": cache.misses, "loss": loss}))
    raise SystemExit

grid = tl.Grid.uniform(64.0, 32)
case = tl.Case(
    grid,
    tl.State.from_profiles(grid, temperature=lambda z: 20.0 + 0.02 * z),
    tl.ConstantForcing(tl.SurfaceFluxes(stress_u=0.1, heat_flux=-100.0)),
    coriolis_parameter=1e-4,
    duration=7200.0,
)
observed = {"temperature": jnp.full((2, 32), 19.0), "u": jnp.full((2, 32), 0.01)}
observations = tl.Observations(jnp.array([3600.0, 7200.0]), grid.z_center, observed)
names = ("c_eps_1", "c_eps_2", "sigma_k", "sigma_eps", "length_limit", "stability.cc1")
calibrate(
    tl.Model(tl.KEpsilon()),
    FreeParameters(tuple(FreeParameter(name) for name in names)),
    [Target(case, observations, {"temperature": 1.0, "u": 1.0})],
    LBFGS(),
    10,
    report=report,
)
"""


def run_python(*arguments: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_second_start_of_a_calibration_compiles_none_of_its_programs_again(tmp_path):
    first, second = (json.loads(run_python("-c", CALIBRATION, str(tmp_path))) for _ in range(2))
    assert first["hits"] == 0 and first["misses"] > 0
    assert second["hits"] > 0
    assert second["loss"] == first["loss"]
    # Measured 0.4. Half of what is left is the import of JAX and Equinox, most of the rest is tracing.
    assert second["seconds"] < 0.6 * first["seconds"]


@pytest.mark.parametrize("module", ["tunax_lite.cli", "tunax_lite.calibration", "tunax_lite.io"])
def test_libraries_for_files_and_figures_are_imported_when_they_are_needed(module):
    listed = run_python("-c", f"import sys, {module}; print(*sys.modules)").split()
    assert module in listed
    assert not {"matplotlib", "xarray", "pandas", "netCDF4", "h5py"} & set(listed)


def test_names_that_are_imported_late_are_names_of_the_package():
    import tunax_lite.calibration
    import tunax_lite.io

    for package in (tunax_lite.io, tunax_lite.calibration):
        with pytest.raises(AttributeError, match="no attribute 'read_tea_leaves'"):
            package.read_tea_leaves  # noqa: B018
    assert tunax_lite.io.read_lesbrary.__module__ == "tunax_lite.io.lesbrary"
    assert tunax_lite.calibration.write_history.__module__ == "tunax_lite.calibration.history_file"
