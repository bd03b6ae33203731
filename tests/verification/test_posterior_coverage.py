"""Intervals contain what they should: twins whose parameters were drawn from the priors."""

import numpy as np
import pytest

from tests.calibration.posterior_twins import FREE, noisy_twin
from tunax_lite.calibration.posterior import NUTS, infer
from tunax_lite.closures import PacanowskiPhilander
from tunax_lite.column.model import Model

N_TWINS = 40
NINETY_PERCENT = 1.6448536269514722


def inside(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Whether the 90 % interval of each parameter holds the truth: the normal one, and that of NUTS."""
    twin = noisy_twin(seed)
    method = NUTS(n_draws=150, n_warmup=150, seed=seed)
    found = infer(Model(PacanowskiPhilander()), FREE, [twin.target], method, likelihood=twin.likelihood)
    deviation = np.sqrt(np.diag(np.linalg.inv(found["information"].values + np.eye(len(FREE.paths)))))
    by_laplace = np.abs(twin.truth - found["mode"].values) <= NINETY_PERCENT * deviation
    low, high = np.quantile(found["x"], (0.05, 0.95), axis=(0, 1))
    return by_laplace, (low <= twin.truth) & (twin.truth <= high)


@pytest.mark.study
def test_ninety_percent_intervals_contain_the_truth_of_ninety_percent_of_twins():
    results = np.array([inside(seed) for seed in range(N_TWINS)])  # (twin, method, parameter)
    for fraction in results.mean(axis=(0, 2)):
        assert 0.80 <= fraction <= 0.97
