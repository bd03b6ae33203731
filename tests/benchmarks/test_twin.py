"""Numbers of NPZD are found again from a run with them, and errors pass to them as in linear algebra."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import twin
from benchmarks.harness import Setting


def test_errors_of_numbers_are_those_of_least_squares():
    matrix = np.random.default_rng(1).normal(size=(30, 3))
    _, singular, directions = np.linalg.svd(matrix, full_matrices=False)
    known = twin.Knowledge(("a", "b", "c"), singular, directions.T)
    expected = np.sqrt(np.diag(np.linalg.inv(matrix.T @ matrix)))
    np.testing.assert_allclose(list(known.deviations.values()), expected, rtol=1e-10)


@pytest.mark.study
def test_eight_numbers_are_found_from_a_year():
    rows = twin.measure_twin(Setting(quick=False, cores=()))
    assert len(rows) == 5 and all(row["worst_error"] < 0.01 for row in rows), rows


@pytest.mark.long
def test_studies_of_ecosystems_do_not_start_jax():
    """They are imported before `configure`, which is too late once JAX has made an array."""
    lines = "import tunax_lite as tl; from benchmarks import bats, conservation, report, twin; tl.configure()"
    subprocess.run([sys.executable, "-c", lines], check=True, cwd=Path(__file__).parents[2])
