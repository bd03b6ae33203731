"""Columns over devices: what is refused, one device, and a process with two for `two_devices.py`."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.errors import error_naming
from tests.helpers import CASES, with_leaf
from tunax_lite import Model, PacanowskiPhilander, simulate
from tunax_lite.runtime import column_mesh, shard_columns

ROOT = Path(__file__).parents[2]
FILE = Path(__file__).with_name("two_devices.py")
MODEL = Model(PacanowskiPhilander())
BATCH = with_leaf(CASES["wind"], "coriolis_parameter", jnp.asarray([0.0, 1e-4, -1e-4]))


@pytest.mark.long
def test_two_devices():
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", FILE],
        cwd=ROOT,
        env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.long
def test_choice_of_one_device_gives_the_same_to_the_bit():
    plain = simulate(MODEL, BATCH, duration=1200.0)
    chosen = simulate(MODEL, BATCH, duration=1200.0, devices=jax.devices()[:1])
    for x, y in zip(jax.tree.leaves(plain), jax.tree.leaves(chosen), strict=True):
        np.testing.assert_array_equal(x, y)


def test_what_is_no_choice_of_devices_is_refused():
    for devices, message in (
        ("gpu", "jax.Device gpu"),
        ([], "device"),
        ([0, 1], "jax.Device 0 1"),
        (2 * jax.devices()[:1], "once"),
    ):
        with error_naming(ValueError, message):
            column_mesh(devices, 4)
    with error_naming(ValueError, "devices stack_cases"):
        simulate(MODEL, CASES["wind"], duration=1200.0, devices="all")
    assert column_mesh("all", 1).size == 1


def test_everything_that_is_no_array_stays():
    tree = {"columns": jnp.ones((4, 2)), "number": 3, "function": jnp.sin}
    placed = shard_columns(tree, {"columns": True, "number": False, "function": False}, column_mesh("all", 2))
    assert placed["number"] == 3 and placed["function"] is jnp.sin
    np.testing.assert_array_equal(placed["columns"], tree["columns"])
