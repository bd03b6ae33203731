"""The core stands alone: JAX, Equinox, jaxtyping and NumPy suffice to import, run and differentiate it."""

import shutil
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "tunax_lite"
CORE = ("column", "closures", "numerics", "physics", "air_sea", "ice")

SCRIPT = """
import pkgutil
import sys
from importlib.abc import MetaPathFinder

others = "dask gsw h5py jinja2 matplotlib netCDF4 optax platformdirs pooch pydantic yaml typer xarray zarr"


class Refusal(MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] in others.split():
            raise ModuleNotFoundError(f"No module named {fullname!r} here", name=fullname)


sys.meta_path.insert(0, Refusal())
import tunax_lite as tl

for core in sys.argv[1:]:
    folder = __import__(f"tunax_lite.{core}", fromlist=["name"])
    for module in pkgutil.walk_packages(folder.__path__, f"{folder.__name__}."):
        __import__(module.name)

import equinox as eqx
import jax
import jax.numpy as jnp

grid = tl.Grid.stretched(30.0, 10, surface_zoom=1.0)
state = tl.State.from_profiles(grid, temperature=lambda z: 15.0 + 0.1 * z)
fluxes = tl.SurfaceFluxes(stress_u=0.1, heat_flux=-100.0)
case = tl.Case(grid, state, tl.ConstantForcing(fluxes), coriolis_parameter=1e-4)


@eqx.filter_jit
@eqx.filter_grad
def sensitivity(closure):
    run = tl.simulate(tl.Model(closure), case, dt=600.0, duration=6000.0, output_interval=3000.0)
    return jnp.sum((run.state.temperature[-1] - state.temperature) ** 2)


print(tl.__file__)
for value in jax.tree.leaves(sensitivity(tl.PacanowskiPhilander())):
    print(float(value))
"""


def test_the_core_runs_and_is_differentiated_without_the_rest(tmp_path):
    copy = tmp_path / "tunax_lite"
    for folder in (*CORE, "runtime"):
        shutil.copytree(PACKAGE / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in PACKAGE.glob("*.*"):
        if file.is_file():
            shutil.copy(file, copy)
    script = tmp_path / "alone.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, script, *CORE], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    file, *gradient = done.stdout.split()
    assert Path(file) == copy / "__init__.py"
    sizes = [abs(float(value)) for value in gradient]
    # A limit that nothing reaches has no effect.
    assert all(size < 1e12 for size in sizes) and sum(size > 1e-6 for size in sizes) >= 5


def test_the_core_has_at_most_18_500_lines():
    files = [file for folder in CORE for file in (PACKAGE / folder).rglob("*.py")]
    assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files) <= 18_500
