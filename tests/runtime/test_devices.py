"""Columns over devices: what is refused, one device, and a process with four of them."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.errors import error_naming
from tests.runtime.several_devices import STRESS, run, with_wind
from tunax_lite import ConstantDiffusivity, Model, simulate
from tunax_lite.runtime import shard_columns
from tunax_lite.runtime.devices import column_mesh

ROOT = Path(__file__).parents[2]


@pytest.mark.long
def test_four_devices():
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=15"]
    command.append("tests/runtime/several_devices.py")
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    found = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


def test_what_is_no_choice_of_devices_is_refused():
    for devices, message in (
        ("gpu", "jax.Device gpu"),
        ([], "jax.Device"),
        ([0, 1], "jax.Device 0 1"),
        (2 * jax.devices()[:1], "once"),
    ):
        with error_naming(ValueError, message):
            column_mesh(devices, 4)
    with error_naming(ValueError, "devices stack_cases"):
        simulate(Model(ConstantDiffusivity()), with_wind(0.1), duration=1200.0, devices="all")
    on_all = lambda stress: run(stress, ConstantDiffusivity(), devices="all")  # noqa: E731
    for mapped in (on_all, jax.jit(on_all), lambda stress: on_all(stress * STRESS)):
        with error_naming(ValueError, "devices jax.vmap NamedSharding"):
            jax.vmap(mapped)(STRESS)
    assert column_mesh("all", 1).size == 1


def test_everything_that_is_no_array_stays():
    tree = {"columns": jnp.ones((4, 2)), "number": 3, "function": jnp.sin}
    placed = shard_columns(tree, {"columns": True, "number": False, "function": False}, column_mesh("all", 2))
    assert placed["number"] == 3 and placed["function"] is jnp.sin
    np.testing.assert_array_equal(placed["columns"], tree["columns"])
