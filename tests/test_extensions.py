"""An extension can be taken away, and another package can bring one."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

ROOT = Path(__file__).parents[1]
EXTENSIONS = sorted(path.parent.name for path in (ROOT / "tunax_lite/extensions").glob("*/__init__.py"))
# Of each floor above the core; `tests/test_architecture.py` reads every file.
QUICK = (
    "tests/test_architecture.py",
    "tests/column/test_grid.py",
    "tests/config/test_closures.py",
    "tests/cli/test_startup.py",
)


def names_in(path: Path) -> set[str]:
    """Dotted names that a file imports or holds as text."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
        elif isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return found


def test_nothing_else_names_an_extension():
    shared = (ROOT / "tests/extensions", ROOT / "tests/golden", Path(__file__))
    for path in [*(ROOT / "tunax_lite").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        if any(path.is_relative_to(each) for each in shared) or "extensions" not in path.read_text("utf-8"):
            continue
        named = {each for each in names_in(path) if "extensions." in each.split(" ")[0]}
        for name in EXTENSIONS:
            if not path.is_relative_to(ROOT / "tunax_lite/extensions" / name):
                called = {each for each in named if f"extensions.{name}" in each.split(" ")[0]}
                assert not called, f"{path.relative_to(ROOT)} names {called}"


@pytest.mark.long
def test_everything_else_works_without_extensions(tmp_path):
    ignored = shutil.ignore_patterns("__pycache__", ".*", "results", "_build", "gallery", "notebooks")
    for folder in ("tunax_lite", "tests", "configs", "data", "docs", "benchmarks"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    for file in ("pyproject.toml", "README.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / file, tmp_path / file)
    for name in EXTENSIONS:
        shutil.rmtree(tmp_path / "tunax_lite/extensions" / name)
    shutil.rmtree(tmp_path / "tests/extensions")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    # What names of the guide and of pages are used where is a question to the whole repository.
    whole = "not use and not version and not circle"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", whole, *QUICK]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.long
def test_another_package_brings_a_closure_a_term_a_case_format_and_a_command(tmp_path):
    places = os.pathsep.join([str(ROOT / "tests/example_extension"), str(ROOT)])

    def run(*arguments: str) -> str:
        command = [sys.executable, "-c", "from tunax_lite.cli import main; main()", *arguments]
        environment = {**os.environ, "PYTHONPATH": places}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    (tmp_path / "basin.txt").write_text("20.0 10.0 -50.0\n")
    (tmp_path / "run.yaml").write_text(
        "case: {format: three_numbers, path: basin.txt}\n"
        "grid: {kind: native}\n"
        "model: {closure: {name: uniform_mixing, parameters: {coefficient: 0.01}}}\n"
        "time: {dt: 600.0, output_interval: 1800.0}\n"
    )
    run("run", "run.yaml", "--output", "out.nc")
    with xr.open_dataset(tmp_path / "out.nc", decode_times=False) as result:
        np.testing.assert_allclose(result.eddy_diffusivity[-1, 4], 0.01)
        # The seiche moves the whole column alike: a cosine that begins at its crest, by backward Euler.
        times = 600.0 * np.arange(1, 4)
        speed = 1e-6 * 600.0 * np.sum(np.cos(2.0 * np.pi * times / 7200.0))
        np.testing.assert_allclose(result.u[1], speed, rtol=1e-6)
        assert float(result.temperature[-1].mean()) < 10.0
    # 2 x 2 km over sqrt(9.81 x 20) m/s.
    assert run("seiche-period", "2000", "20").strip() == "285.6 s"
    assert "uniform_mixing" in run("describe", "uniform_mixing")
