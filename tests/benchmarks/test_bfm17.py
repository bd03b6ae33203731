"""The column of BFM17 at Bermuda and Hawaii: what it reads, and that it runs; scores with the real files."""

import os

import numpy as np
import pytest

import tunax_lite as tl
from benchmarks import bfm17
from benchmarks.bfm17 import DAY, MONTH, N_CELLS, YEAR, Surroundings
from benchmarks.harness import Setting

LEVELS = np.arange(N_CELLS + 1.0)  # from the surface down
MONTHS = np.arange(13.0)[:, None]  # from December to December


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Input of the program with a number for every month and level."""
    monkeypatch.setenv("TUNAX_LITE_DATA", str(tmp_path))
    inputs, flat = tmp_path / "biogeochemistry/bats/inputs", 0.0 * (MONTHS + LEVELS)
    of_months = {
        "mon_vprof_temp": 20.0 + MONTHS % 12.0 - 0.01 * LEVELS,
        "mon_vprof_sal": 36.0 + 0.001 * LEVELS + flat,
        "mon_vprof_wgen": -1e-6 + flat,
        "vprof_weddy1": MONTHS + flat,
        "vprof_weddy2": MONTHS + 0.5 + flat,
        "mon_botnut": np.tile([200.0, 2.0, 0.1, 0.001], (13, 1)),
        "mon_surf_wind_stress": np.tile([0.03, 0.04], (13, 1)),
        "mon_surf_rad": np.tile([150.0, 0.0, 0.0], (13, 1)),
    }
    pools = [f"init_vprof_{name}" for name in ("Pc", "Zc", "POC", "DOC", "Oxy", "Pho", "Nit")]
    starts = dict.fromkeys(pools, 1.0 + 0.01 * LEVELS)
    for folder, contents in (("bfm17_pom", of_months), ("bfm17_init", starts)):
        (inputs / folder).mkdir(parents=True)
        for name, values in contents.items():
            (inputs / folder / f"{name}.da").write_bytes(values.astype("<f8").tobytes())


def test_months_are_in_their_places(files):
    _, case = bfm17.column("bats")
    around, wind = case.terms["surroundings"], case.forcing.wind_speed(5.0 * YEAR)
    assert isinstance(around, Surroundings) and wind is not None
    # The middle of January; the first cell is the lowest, level 150.
    january = around.months.at(0.5 * MONTH)
    np.testing.assert_allclose(january.temperature[0], 21.0 - 1.49, rtol=1e-12)
    np.testing.assert_allclose(january.temperature[-1], 21.0, rtol=1e-12)
    np.testing.assert_allclose(around.months.at(YEAR).temperature[-1], 0.5 * (20.0 + 21.0))  # December again
    # Half months: the second interval of December, then the first of January, and so on.
    np.testing.assert_allclose(around.eddies[:4, 0], (0.5, 1.0, 1.5, 2.0))
    # Wind of a stress of 0.05 N m-2 at a drag of 1.4e-3 and 1.25 kg m-3.
    np.testing.assert_allclose(wind, np.sqrt(0.05 / 0.00175))
    assert case.grid.n_cells == N_CELLS
    np.testing.assert_allclose(case.initial_state.tracers["bfm_p2l"][-1], 1.0 / 50.0)


@pytest.mark.long
def test_a_day_stays_positive_in_prescribed_water(files):
    model, case = bfm17.column("bats")
    kept = tl.simulate(model, case, dt=3600.0, duration=DAY, output_interval=DAY)
    around = case.terms["surroundings"]
    assert isinstance(around, Surroundings)
    np.testing.assert_allclose(kept.state.temperature[-1], around.months.at(DAY).temperature, rtol=1e-12)
    for name, values in kept.state.tracers.items():
        assert np.all(np.isfinite(values)) and np.all(np.asarray(values) > 0.0), name


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
