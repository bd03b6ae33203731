"""Starting a command: nothing is imported in vain."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tunax_lite.io
from tests.errors import error_naming

ROOT = Path(__file__).parents[2]


def run_python(*arguments: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    kept: dict = {"cwd": ROOT, "env": environment, "capture_output": True, "text": True, "timeout": 600}
    done = subprocess.run([sys.executable, *arguments], **kept)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_libraries_are_imported_when_they_are_needed_and_jax_starts_when_it_is_configured():
    modules = "tunax_lite.cli.run", "tunax_lite.calibration", "tunax_lite.io"
    program = f"import sys, {', '.join(modules)}\nprint(*sys.modules)\nfrom jax._src import xla_bridge\n"
    listed, started = run_python("-c", program + "print(xla_bridge.backends_are_initialized())").splitlines()
    assert set(modules) <= set(listed.split()) and started == "False"
    late = {"matplotlib", "xarray", "pandas", "netCDF4", "h5py", "dask", "distributed", "zarr"}
    assert not late & set(listed.split())


# What the shell asks for, and everything that was imported for the answer.
QUICK = """
import os, sys
from tunax_lite.cli import main

os.environ |= {name: value for name, value in [one.split("=") for one in sys.argv[2:]]}
sys.argv[1:] = sys.argv[1].split()
try:
    main()
finally:
    print(*sys.modules)
"""
COMPLETE = "_TUNAX_LITE_COMPLETE=complete_bash", "COMP_WORDS=tunax-lite run --re", "COMP_CWORD=2"


def test_help_version_and_completion_import_nothing_that_computes():
    for arguments, answer in (
        (("--help",), "cross-validate  Calibrate on all cases"),
        (("--version",), r"tunax_lite \d+\.\d+\.\d+\S*$"),
        (("calibrate --help",), "--resume"),
        (("", *COMPLETE), "--restart"),
    ):
        said, _, listed = run_python("-c", QUICK, *arguments).rstrip().rpartition("\n")
        assert re.search(answer, said) and "tunax_lite.cli" in listed.split(), arguments
        assert not {"jax", "numpy", "xarray", "matplotlib"} & set(listed.split())


def test_names_that_are_imported_late_are_names_of_the_package():
    with error_naming(AttributeError, "tunax_lite.io read_tea_leaves"):
        tunax_lite.io.read_tea_leaves  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]
    assert tunax_lite.io.read_lesbrary.__module__ == "tunax_lite.io.les"
