"""The wheel: what it holds, and that it runs where nothing else of the project is."""

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tunax_lite.io import read_trajectory

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[1]


def ran(*command: str | Path, cwd: Path) -> str:
    """What a command prints that must succeed, without any variable that leads back to the repository."""
    kept = [name for name in os.environ if not name.startswith(("PYTHON", "TUNAX_"))]
    environment = {name: os.environ[name] for name in kept}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    ran(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


def test_wheel_holds_the_package_its_data_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "tunax_lite"]
    tracked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode:
        pytest.skip(f"needs a checkout: {tracked.stderr}")
    package = {name for name in tracked.stdout.splitlines() if (ROOT / name).is_file()}
    data = {f"tunax_lite/data/{path.name}" for path in (ROOT / "data").iterdir() if path.is_file()}
    assert {"tunax_lite/report/calibration.html", "tunax_lite/py.typed"} <= package
    configs = {f"tunax_lite/configs/{kind}/synthetic.yaml" for kind in ("calibrations", "runs")}
    # The registry looks for its files beside the package; what makes them stays in the repository.
    assert held == package | configs | {name for name in data if not name.endswith(".py")}


def test_wheel_and_sdist_are_as_registries_want_them(wheel, tmp_path):
    ran(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", tmp_path, cwd=ROOT)
    (sdist,) = tmp_path.glob("*.tar.gz")
    ran(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist, cwd=tmp_path)
    ran(sys.executable, "-m", "check_wheel_contents", wheel, cwd=tmp_path)
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    source = tmp_path / sdist.name.removesuffix(".tar.gz")
    build = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path / "again")
    ran(*build, source, cwd=tmp_path)
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(*(tmp_path / "again").glob("*.whl")) as other:
        assert sorted(one.namelist()) == sorted(other.namelist())


def test_wheel_runs_in_an_empty_environment(wheel, tmp_path):
    venv.create(tmp_path / "environment", with_pip=True)
    scripts = tmp_path / "environment" / ("Scripts" if os.name == "nt" else "bin")
    ran(scripts / "python", "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path)
    where = ran(scripts / "python", "-c", "import tunax_lite; print(tunax_lite.__file__)", cwd=tmp_path)
    assert (tmp_path / "environment") in Path(where.strip()).parents
    config = tmp_path / "synthetic.yaml"
    config.write_text((ROOT / "configs" / "runs" / "synthetic.yaml").read_text())
    ran(scripts / "tunax-lite", "run", config, "--output", "run.nc", cwd=tmp_path)
    state = read_trajectory(tmp_path / "run.nc").state
    surface = np.asarray(state.temperature)[:, -1]
    assert np.isfinite(surface).all() and surface[-1] < surface[0]  # two days of wind and cooling
