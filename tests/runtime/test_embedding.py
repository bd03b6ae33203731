"""Inside of programs that distribute their arrays; a process with four devices for `four_devices.py`."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec

from tests.runtime.four_devices import STRESS, Constant, run

ROOT = Path(__file__).parents[2]


@pytest.mark.long
def test_four_devices():
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/runtime/four_devices.py"],
        cwd=ROOT,
        env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr


def test_explicit_axis_of_one_device():
    mesh = jax.make_mesh((1,), ("columns",))
    stress = jax.device_put(STRESS, NamedSharding(mesh, PartitionSpec("columns")))
    found = run(stress, Constant())
    assert jax.typeof(found).sharding.spec == PartitionSpec(None, None, "columns")
    np.testing.assert_array_equal(found, run(STRESS, Constant()))


def test_all_devices_within_a_mesh_of_one():
    with jax.set_mesh(jax.make_mesh((1,), ("columns",))):
        found = np.asarray(run(STRESS, Constant(), devices="all"))
    np.testing.assert_array_equal(found, run(STRESS, Constant()))
