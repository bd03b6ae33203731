"""Several starts, and a few cases at a time."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from tests.calibration.twins import CHEAP_FREE, cheap_targets, told
from tests.errors import error_naming
from tunax_lite.calibration import (
    LBFGS,
    Adam,
    EnsembleKalman,
    LevenbergMarquardt,
    MultiStart,
    calibrate,
    write_history,
)
from tunax_lite.calibration.problem import MiniBatch
from tunax_lite.closures import PacanowskiPhilander
from tunax_lite.column.model import Model
from tunax_lite.plotting import history_figures
from tunax_lite.runtime.engine import ThisProcess


def two_valleys(x):
    """Valleys at -1 and 2, the second one is lower: (x + 1)² (x - 2)² - x."""
    x = np.asarray(x)
    loss = float(((x + 1.0) ** 2 * (x - 2.0) ** 2 - x).sum())
    return loss, 2.0 * (x + 1.0) * (x - 2.0) * (2.0 * x - 1.0) - 1.0


def test_other_starts_find_the_lower_valley():
    method = MultiStart(LBFGS(), n_starts=6, iterations_each=30, spread=4.0)
    state, losses = method.init(jnp.array([-1.2])), {}
    while not bool(state.finished):
        number = state.start_number
        loss, gradient = two_valleys(*method.ask(state))
        losses.setdefault(number, []).append(loss)
        state = told(method, state, loss, gradient)
    assert list(losses) == list(range(6)) and max(map(len, losses.values())) <= 30
    assert min(losses[0]) == pytest.approx(0.9, abs=0.1)  # where one start stays
    assert min(min(each) for each in losses.values()) == pytest.approx(-2.0, abs=0.1)


def test_every_case_comes_once_in_a_round_and_the_mean_is_that_of_all():
    weights = np.array([0.1, 0.0, 0.4, 0.2, 0.3])  # one is only reported
    for size in (1, 3, 9):
        n_batches = -(-4 // size)
        for round_ in range(3):
            batches = [MiniBatch(size, 7, round_ * n_batches + i).weights(weights) for i in range(n_batches)]
            assert all(0 < np.count_nonzero(batch) <= size for batch in batches)
            assert np.count_nonzero(batches) == 4
            np.testing.assert_allclose(np.mean(batches, axis=0), weights, rtol=1e-14)


def _calibrated(folder, method, n_iterations, **options):
    model = Model(PacanowskiPhilander())
    return calibrate(model, CHEAP_FREE, cheap_targets(), method, n_iterations, folder=folder, **options)


BATCHES = Adam(0.1, cases_per_step=1, all_cases_every=4)


@pytest.mark.long
@pytest.mark.parametrize("method", [BATCHES, MultiStart(BATCHES, 3, 5, 0.5)], ids=["one start", "three"])
def test_a_calibration_goes_on_bit_by_bit(tmp_path, method):
    class Stop(Exception):
        pass

    def stop(iteration):
        if iteration.number == 6:
            raise Stop

    plain = _calibrated(tmp_path / "plain", method, 13)
    wide = ThisProcess(4)  # with which later starts run ahead
    with pytest.raises(Stop):
        _calibrated(tmp_path / "stopped", method, 13, report=stop, engine=wide)
    resumed = _calibrated(tmp_path / "stopped", method, 13, resume=True, engine=wide)
    for field in dataclasses.fields(plain.history):
        np.testing.assert_array_equal(
            getattr(plain.history, field.name), getattr(resumed.history, field.name), err_msg=field.name
        )
    history = plain.history
    several = isinstance(method, MultiStart)
    expected = [0, 4, 5, 9, 10] if several else [0, 4, 8, 12]
    np.testing.assert_array_equal(np.flatnonzero(history.of_all_cases), expected)
    np.testing.assert_array_equal(np.isnan(history.scores).sum(axis=1), np.where(history.of_all_cases, 0, 1))
    np.testing.assert_array_equal(history.start, np.arange(13) // 5 if several else 0)
    assert history.best_iteration in expected and plain.best_loss == history.loss[expected].min()
    assert len(plain.lowest_by_start) == (3 if several else 1)
    lowest = [loss for loss in plain.lowest_by_start if loss is not None]
    assert plain.best_loss == min(lowest) < history.loss[0]
    write_history(tmp_path / "history.nc", plain)
    with xr.open_dataset(tmp_path / "history.nc") as dataset:
        np.testing.assert_array_equal(dataset["start"], history.start)
        panel = history_figures(dataset)["loss"].axes[0]
    labels = [line.get_label() for line in panel.lines]
    assert labels.count("of a few cases") == 1 and len(panel.lines) == 5 + 2 * several


def test_bad_settings_are_refused():
    for make, message in (
        (lambda: Adam(cases_per_step=0), "cases_per_step 1 0"),
        (lambda: MultiStart(LBFGS(), 0, 5), "n_starts 1 0"),
        (lambda: MultiStart(LBFGS(), 2, 5, spread=0.0), "MultiStart spread 0"),
        (lambda: MultiStart(EnsembleKalman(noise=1.0), 2, 5), "MultiStart EnsembleKalman"),
    ):
        with error_naming(ValueError, message):
            make()


def test_starts_are_those_of_the_seed_and_one_that_breaks_down_is_given_up():
    first = {}
    for seed in (0, 0, 1):
        method = MultiStart(LBFGS(), n_starts=3, iterations_each=1, seed=seed)
        state, trials = method.init(jnp.zeros(2)), []
        for _ in range(3):
            trials.append(np.asarray(state.trial))
            state = told(method, state, 1.0, np.ones(2))
        assert bool(state.finished)
        np.testing.assert_array_equal(trials[0], 0.0)
        assert np.abs(trials[1:]).min() > 0.0
        np.testing.assert_array_equal(first.setdefault(seed, trials), trials)
    assert np.abs(np.array(first[0][1:]) - np.array(first[1][1:])).min() > 0.0
    method = MultiStart(LevenbergMarquardt(), n_starts=3, iterations_each=20)
    after = told(method, method.init(jnp.zeros(2)), np.nan, np.full(2, np.nan))
    assert after.start_number == 1 and not bool(after.accepted) and not bool(after.finished)
