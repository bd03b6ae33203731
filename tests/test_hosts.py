"""Inside of other people's programs: without streams, with JAX's flags, in other processes."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from tests.helpers import CASES
from tunax_lite import KEpsilon, Model
from tunax_lite.cli.session import errors_as_messages
from tunax_lite.cli.terminal import prepare_terminal
from tunax_lite.runtime.engine import ThisProcess

ROOT = Path(__file__).parents[1]


def python(*arguments, **environment):
    command, variables = [sys.executable, *arguments], {**os.environ, **environment}
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_streams_that_are_missing_become_the_null_device(monkeypatch):
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    prepare_terminal()
    print("nobody reads this")
    print("nor this", file=sys.stderr)
    assert not sys.stdout.isatty() and sys.stdin.read() == ""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        stream.close()


@pytest.mark.long
@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-", "| true"])
def test_run_of_a_service_without_streams(tmp_path, closed):
    config = ROOT / "configs" / "runs" / "kato_phillips.yaml"
    out = tmp_path / "out.nc"
    program = "from tunax_lite.cli import main; main()"
    command = f"{sys.executable} -c '{program}' run {config} --output {out} {closed}"
    assert subprocess.run(["bash", "-c", command], cwd=ROOT, check=False).returncode == 0
    assert out.stat().st_size > 0


def test_failures_are_values_where_the_package_expects_them():
    values = [-jnp.ones(()), jnp.zeros(())]
    with jax.debug_nans(True), jax.debug_infs(True):
        with pytest.raises(FloatingPointError):
            jnp.log(values[0]).block_until_ready()
        with errors_as_messages():  # around every command
            assert jnp.isnan(jnp.log(values[0]))
            threads = ThisProcess(n_threads=2).map(lambda x: float(jnp.log(x)), values)
        assert str(threads) == "[nan, -inf]"
        with pytest.raises(FloatingPointError):
            jnp.log(values[1]).block_until_ready()


def test_model_that_loses_its_precision_in_another_process_says_so():
    given = pickle.dumps((Model(KEpsilon()), CASES["wind"]))
    model, case = pickle.loads(given)
    assert (model.molecular_viscosity.dtype, case.grid.z_face.dtype) == ("float64", "float64")
    with jax.enable_x64(False), pytest.warns(UserWarning, match="float64, got float32.*configure"):
        model, _ = pickle.loads(given)
    assert model.molecular_viscosity.dtype == "float32"
