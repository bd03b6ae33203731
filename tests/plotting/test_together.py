"""Several runs and observations in one figure: on one axis of dates, with the numbers of the files."""

from pathlib import Path

import jax.numpy as jnp
import matplotlib.dates as dates
import netCDF4
import numpy as np
import pytest

import tunax_lite as tl
from tests.calibration.test_comparison import write_gotm
from tests.errors import error_naming
from tunax_lite.io import write_trajectory
from tunax_lite.io.errors import FileFormatError
from tunax_lite.physics.equation_of_state import LinearEquationOfState
from tunax_lite.plotting import files_figures
from tunax_lite.plotting.fits import CaseRuns, RunProfiles, plot_series
from tunax_lite.plotting.style import FigureTime, reference_depth

MOORING = Path(__file__).parents[2] / "data/synthetic_station_profiles.nc"


def write_run(path: Path, temperature: float, start: str | None) -> Path:
    """Twelve hours of water that warms by 0.1 K per hour in its uppermost cell of 2 m."""
    grid, water = tl.Grid.uniform(20.0, 10), LinearEquationOfState()
    state = tl.State.from_profiles(grid, temperature=temperature)
    heat_flux = float(water.reference_density * water.heat_capacity) * 2.0 * 0.1 / 3600.0
    forcing = tl.ConstantForcing(tl.SurfaceFluxes(heat_flux=heat_flux))
    case = tl.Case(grid, state, forcing, equation_of_state=water, start_time=start, duration=43200.0)
    still = tl.Model(tl.ConstantDiffusivity(0.0, 0.0), molecular_diffusivity=0.0)
    write_trajectory(tl.simulate(still, case, dt=3600.0, output_interval=3600.0), path, case=case)
    return path


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("together")
    starts = {"early": "2015-03-02T00:00:00", "late": "2015-03-02T06:00:00", "undated": None}
    first = {"early": 11.0, "late": 12.0, "undated": 12.0}
    return [write_run(folder / f"{name}.nc", first[name], start) for name, start in starts.items()]


def test_runs_share_the_dates_and_stand_beside_the_observations(runs):
    figures = files_figures([*runs[:2], MOORING])
    observed, early, late = figures["series"].axes[0].get_lines()
    assert [line.get_label() for line in (early, late)] == ["early", "late"]
    hours = 24.0 * np.diff([dates.date2num(np.asarray(line.get_xdata())[0]) for line in (early, late)])
    np.testing.assert_allclose(hours, 6.0, atol=1e-6)
    # At the instrument at 1 m, in the center of the uppermost cell.
    np.testing.assert_allclose(np.asarray(late.get_ydata()), 12.0 + 0.1 * np.arange(13), rtol=1e-9)
    with netCDF4.Dataset(MOORING) as file:
        measured = np.asarray(file["TEMP"][:])
        uppermost = measured.reshape(len(measured), -1)[:3, np.argmin(file["DEPTH"][:])]
    # A potential temperature at 1 m is that in situ to a thousandth of a kelvin.
    np.testing.assert_allclose(np.asarray(observed.get_ydata()), uppermost, atol=2e-3)
    profiles = figures["profiles"].axes[0].get_lines()
    # At the last record of the mooring before both runs end: noon, 12 h and 6 h after their starts.
    tops = {line.get_label(): float(np.asarray(line.get_xdata())[-1]) for line in profiles}
    assert tops["early"] == pytest.approx(12.2) and tops["late"] == pytest.approx(12.6)


def test_runs_without_dates_count_from_their_starts_and_do_not_mix_with_others(runs):
    copy = runs[2].with_name("again.nc")
    copy.write_bytes(runs[2].read_bytes())
    panel = files_figures([runs[2], copy])["series"].axes[-1]
    assert panel.get_xlabel() == "time [h]"
    for wrong, parts in (
        ([runs[0], runs[2]], "undated start_time"),
        ([runs[2], MOORING], "undated start_time"),
        ([MOORING], f"{MOORING.name} run"),
    ):
        with error_naming(FileFormatError, parts):
            files_figures(wrong)


def test_results_of_gotm_stand_beside_runs(runs, tmp_path):
    since = {"units": "seconds since 2015-03-02 00:00:00"}
    gotm = write_gotm(tmp_path / "gotm.nc", time=(("time",), [0.0, 21600.0, 43200.0], since))
    line = files_figures([runs[0], gotm])["series"].axes[0].get_lines()[1]
    assert line.get_label() == "gotm"
    np.testing.assert_array_equal(np.asarray(line.get_ydata()), [11.0, 13.0, 15.0])
    with error_naming(FileFormatError, "gotm.nc temp GOTM"):
        files_figures([runs[0], write_gotm(gotm, temp=None)])


def test_the_depth_of_a_moving_instrument_stands_in_the_label():
    fixed, moving = np.full(5, -4.0), np.array([-4.0, -4.5, -9.0, -6.0, -5.0])
    assert reference_depth(fixed) == (-4.0, "4 m")
    assert reference_depth(moving) == (-5.0, "5 m\n(measured at 4 to 9 m)")
    times, faces = 3600.0 * np.arange(5.0), np.array([-12.5, -7.5, -2.5, 2.5])
    profiles = {"temperature": jnp.full((5, 1), 9.0)}
    seen = tl.Observations(jnp.asarray(times), jnp.asarray(moving)[:, None], profiles)
    run = RunProfiles(times, faces, {"temperature": 8.0 + np.linspace(0.0, 1.0, 15).reshape(5, 3)})
    panel = plot_series(CaseRuns("", {"run": run}, seen, FigureTime(times[-1]))).axes[0]
    mixed = run._replace(layer=lambda: ("mixed layer", np.full(5, np.nan)))  # to the bottom: not drawn
    both = CaseRuns("", {"run": mixed, "again": mixed}, seen, FigureTime(times[-1]))
    assert len(plot_series(both).axes) == 1
    assert "at 5 m\n(measured at 4 to 9 m) [" in panel.get_ylabel()
    drawn = np.asarray(panel.get_lines()[1].get_ydata())
    np.testing.assert_allclose(drawn, run.profiles["temperature"][:, 1])  # at 5 m
