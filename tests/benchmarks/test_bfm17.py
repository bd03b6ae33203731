"""The column of BFM17 at Bermuda and Hawaii: scores, and those with the real files."""

import os

import numpy as np
import pytest

from benchmarks import bfm17
from benchmarks.harness import Setting


def test_scores():
    ones = np.ones((2, 2))
    values, others = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[2.0, 4.0], [6.0, 8.0]])
    scores = bfm17.compared({"a": values, "b": values}, {"a": values + ones, "b": others})
    np.testing.assert_allclose(scores["a"], (1.0, 1.0))
    np.testing.assert_allclose(scores["b"], (np.sqrt(30.0 / 4.0), 1.0))


@pytest.mark.study
@pytest.mark.skipif(not os.environ.get("TUNAX_LITE_DATA"), reason="TUNAX_LITE_DATA is not set")
def test_bermuda_scores_like_the_program():
    rows = bfm17.measure_bfm17(Setting(quick=True, cores=()))
    for row in rows:
        # The closure is not that of the program: differences up to a tenth, correlations within 0.03.
        assert row["rmsd"] < 1.1 * row["rmsd_of_program"], row
        assert row["correlation"] > row["correlation_of_program"] - 0.03, row
