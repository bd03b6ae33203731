"""Figures show what they should: one panel per variable, units on the axes, no global state."""

import dataclasses

import gsw
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib import _pylab_helpers
from matplotlib.dates import num2date

import tunax_lite as tl
from tests.errors import error_naming
from tunax_lite.io import to_dataset
from tunax_lite.physics import Teos10
from tunax_lite.plotting import (
    case_runs,
    closure_figures,
    plot_differences,
    plot_fits,
    plot_loss,
    plot_parameters,
    plot_profiles,
    plot_sections,
    plot_series,
    plot_surface,
    save_figure,
)


@pytest.fixture(scope="module")
def trajectory():
    grid = tl.Grid.uniform(20.0, 8)
    state = tl.State.from_profiles(grid, temperature=lambda z: 20.0 + 0.05 * z, tracers={"dye": lambda z: -z})
    forcing = tl.ConstantForcing(tl.SurfaceFluxes(stress_u=0.1, heat_flux=-100.0))
    case = tl.Case(grid, state, forcing, duration=7200.0)
    return tl.simulate(tl.Model(tl.KEpsilon()), case, dt=60.0, output_interval=600.0)


def _with_temperature(trajectory, values):
    """The run with the same profile of temperature at all times."""
    temperature = jnp.broadcast_to(jnp.asarray(values), trajectory.state.temperature.shape)
    state = dataclasses.replace(trajectory.state, temperature=temperature)
    return dataclasses.replace(trajectory, state=state)


def _case(trajectory, **options):
    """A case of the run without fluxes."""
    start = jax.tree.map(lambda leaf: leaf[0], trajectory.state)
    return tl.Case(trajectory.grid, start, tl.ConstantForcing(tl.SurfaceFluxes()), **options)


def _sensors(times, temperature, **series):
    """Temperature of two sensors, and numbers."""
    profiles = {"temperature": jnp.asarray(temperature)}
    return tl.Observations(times, jnp.asarray([-15.0, -5.0]), profiles, series=series)


def _panels(figure):
    return [panel for panel in figure.axes if panel.get_visible() and panel.get_label() != "<colorbar>"]


def _x(line) -> np.ndarray:
    return np.asarray(line.get_xdata(), float)


def _y(line) -> np.ndarray:
    return np.asarray(line.get_ydata(), float)


@pytest.mark.long  # from the command line: tests/cli/test_cli
def test_sections_show_the_values_of_every_variable_that_varies(trajectory):
    figure = plot_sections(to_dataset(trajectory), title="a run")
    titles = [panel.get_title() for panel in _panels(figure)]
    # v and salinity stay constant: no rotation, no salt flux.
    turbulence = {"turbulent kinetic energy per mass", "dissipation rate of turbulent kinetic energy"}
    coefficients = {"eddy viscosity", "eddy diffusivity"}
    assert set(titles) == {"temperature", "eastward velocity", "dye", *coefficients, *turbulence}
    run = to_dataset(trajectory)
    run["dye"].attrs |= {"units": "mg m-3", "long_name": "rhodamine"}
    # Two of one long name are told apart.
    for several, label in ((run, "rhodamine"), (run.assign(ink=run["dye"]), "rhodamine (dye)")):
        (panel, *_) = _panels(plot_profiles(several, [name for name in ("dye", "ink") if name in several]))
        assert panel.get_xlabel() == f"{label} [mg m⁻³]"
    (panel,) = _panels(plot_sections(to_dataset(trajectory), ["temperature"]))
    values = np.asarray(panel.collections[0].get_array()).reshape(8, 13)
    np.testing.assert_array_equal(values, trajectory.state.temperature.T)


def test_profiles_have_a_line_per_time(trajectory):
    figure = plot_profiles(to_dataset(trajectory), ["temperature", "eddy_diffusivity"], n_times=4)
    temperature, diffusivity = _panels(figure)
    assert len(temperature.lines) == 4
    np.testing.assert_array_equal(_x(temperature.lines[-1]), trajectory.state.temperature[-1])
    assert temperature.get_xlabel() == "temperature [°C]"
    # Zeros at the ends have no spike on a logarithmic axis.
    last = _x(diffusivity.lines[-1])
    assert np.isnan(last[[0, -1]]).all() and (last[1:-1] > 0.0).all()


def test_fits_show_runs_observations_and_errors(trajectory):
    profiles = {"temperature": trajectory.state.temperature[::2] + 0.2, "u": trajectory.state.u[::2]}
    observations = tl.Observations(trajectory.time[::2], trajectory.grid.z_center, profiles, name="observed")
    fit = case_runs("a_case", {"before": trajectory, "after": trajectory}, observations)
    figure = plot_fits([fit, fit])
    panels = _panels(figure)
    assert len(panels) == 6  # temperature, its error, and u, for two cases
    np.testing.assert_allclose(_x(panels[1].lines[-1]), -0.2, atol=1e-12)
    assert panels[1].get_xlabel() == "error of temperature [K]"
    only_u = dataclasses.replace(observations, profiles={"u": profiles["u"]})
    first = _panels(plot_fits([case_runs("a_case", {"after": trajectory}, only_u), fit]))[0]
    assert first.get_title("left") and first.get_ylabel() and first.get_legend() is not None
    at_rest = dataclasses.replace(trajectory.state, u=0.0 * trajectory.state.u)
    runs = {"model": dataclasses.replace(trajectory, state=at_rest)}
    assert len(_panels(plot_fits([case_runs("a", runs, only_u)]))) == 2


def test_loss_leaves_a_gap_where_it_is_not_finite():
    loss = np.array([3.0, 2.0, np.nan, 1.0])
    rejected = np.array([False, False, True, False])
    (panel,) = _panels(plot_loss(loss, {"one": loss, "two": 2.0 * loss}, rejected))
    np.testing.assert_array_equal(_y(panel.lines[3]), [3.0, 2.0, 2.0, 1.0])


def test_parameters_have_a_panel_each_with_unit():
    values = {"c": np.array([1.0, 1.1]), "floor": np.array([1e-10, 1e-6])}
    first, second = _panels(plot_parameters(values, {"c": "1", "floor": "m2 s-2"}, {"c": (0.5, 2.0)}))
    assert first.get_title() == "c" and second.get_title().startswith("floor [m")
    assert (first.get_yscale(), second.get_yscale()) == ("linear", "log")


def test_figure_is_written_whole_and_without_pyplot(tmp_path, trajectory):
    path = tmp_path / "new" / "figure.png"
    save_figure(plot_sections(to_dataset(trajectory), ["temperature"]), path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert not _pylab_helpers.Gcf.figs
    with error_naming(ValueError, "nothing pdf png"):
        save_figure(plot_sections(to_dataset(trajectory), ["temperature"]), tmp_path / "figure.nothing")
    assert sorted(p.name for p in tmp_path.rglob("*") if p.is_file()) == ["figure.png"]


def test_unknown_variables_and_batches_are_refused(trajectory):
    with error_naming(ValueError, "temperature salinity nitrate"):
        plot_sections(to_dataset(trajectory), ["nitrate"])
    with error_naming(ValueError, "plotting batch"):
        plot_profiles(to_dataset(trajectory).expand_dims("column", axis=-1))


def test_ice_has_a_temperature_where_there_is_ice(trajectory):
    thickness = jnp.maximum(trajectory.time - 3600.0, 0.0) * 1e-5
    surface = {"ice_thickness": thickness, "upper_ice_temperature": -1.8 - thickness}
    state = dataclasses.replace(trajectory.state, surface=surface)
    run = to_dataset(dataclasses.replace(trajectory, state=state))
    drawn = [_y(panel.lines[0]) for panel in _panels(plot_surface(run))]
    np.testing.assert_array_equal(np.isfinite(drawn), [[True] * 13, thickness > 0.0])


def test_sections_show_the_mixed_layer(trajectory):
    z = trajectory.grid.z_center  # -18.75, -16.25, ..., -1.25
    profile = jnp.where(z > -11.0, 20.0, 20.0 + (z + 8.75))  # spans 10 K
    (panel,) = _panels(plot_sections(to_dataset(_with_temperature(trajectory, profile)), ["temperature"]))
    (line,) = [line for line in panel.lines if not str(line.get_label()).startswith("_")]
    # By hand: 20 degC at -8.75 m and 17.5 degC at -11.25 m are 18.75 degC at 10 m, and 0.2 K less at 10.2 m.
    np.testing.assert_allclose(_y(line), -10.2, atol=1e-12)


def test_cases_with_a_date_have_an_axis_of_dates(trajectory):
    (panel,) = _panels(
        plot_sections(to_dataset(trajectory, start_time="2012-02-28T23:00:00"), ["temperature"])
    )
    begin, end = (num2date(place).replace(tzinfo=None).isoformat() for place in panel.get_xlim())
    assert (begin, end) == ("2012-02-28T23:00:00", "2012-02-29T01:00:00")


def _simulation(z, temperature) -> tl.Observations:
    profiles = {"temperature": jnp.asarray(np.broadcast_to(temperature, (2, len(z))))}
    return tl.Observations(jnp.asarray([0.0, 7200.0]), jnp.asarray(z), profiles, source="LES")


def test_a_finer_simulation_is_compared_by_cell_means(trajectory):
    """A run that has the exact means over its cells has no error: there was a hook at the surface."""

    def means(faces):  # of the parabola T = 20 - z²/1000
        return 20.0 - (faces[1:] ** 3 - faces[:-1] ** 3) / (3000.0 * np.diff(faces))

    run = _with_temperature(trajectory, means(np.asarray(trajectory.grid.z_face)))
    fine = np.linspace(-20.0, 0.0, 65)
    fit = case_runs("a", {"model": run}, _simulation(0.5 * (fine[1:] + fine[:-1]), means(fine)))
    first, error = _panels(plot_fits([fit], ["temperature"]))
    assert _x(error.lines[-1]).shape == (8,)
    np.testing.assert_allclose(_x(error.lines[-1]), 0.0, atol=1e-9)
    assert first.get_legend_handles_labels()[1] == ["LES", "model"]


def test_a_simulation_on_a_stretched_grid_is_compared_at_its_levels(trajectory):
    z = np.concatenate([np.arange(-17.5, -6.0, 3.0), np.arange(-5.5, 0.0)])
    observed = _simulation(z, 20.0 + 0.01 * z)
    centers = np.asarray(trajectory.grid.z_center)
    run = _with_temperature(trajectory, 20.25 + 0.01 * centers)
    _, error = _panels(plot_fits([case_runs("a", {"model": run}, observed)], ["temperature"]))
    inside = (z >= centers[0]) & (z <= centers[-1])
    np.testing.assert_allclose(_y(error.lines[-1]), z)
    np.testing.assert_allclose(_x(error.lines[-1])[inside], 0.25, rtol=1e-9)


def test_differences_are_of_the_model_at_the_sensors(trajectory):
    z, seconds = jnp.asarray([-17.5, -10.0, -2.5]), trajectory.time[1::2] + 30.0
    # The run linear between its frames and centers, and 0.25 K on top.
    frames = np.array([np.interp(z, trajectory.grid.z_center, row) for row in trajectory.state.temperature])
    at = np.stack([np.interp(seconds[:-1], trajectory.time, column) for column in frames.T], axis=1)
    observed = tl.Observations(time=seconds[:-1], z=z, profiles={"temperature": jnp.asarray(at + 0.25)})
    panels = _panels(plot_differences(case_runs("a_mooring", {"model": trajectory}, observed)))
    difference = np.asarray(panels[1].collections[0].get_array()).ravel()
    np.testing.assert_allclose(difference, -0.25, atol=1e-12)


def test_each_quantity_is_shown_at_its_own_heights_and_times(trajectory):
    dye = np.full((13, 8), np.nan)
    dye[:7, [0, 3, 6]] = [9.0, 5.0, 2.0]
    profiles = {"temperature": trajectory.state.temperature, "dye": jnp.asarray(dye)}
    observed = tl.Observations(trajectory.time, trajectory.grid.z_center, profiles)
    fit = case_runs("a_case", {"run": trajectory}, observed, fitted=("dye",))
    bottles, run = _panels(plot_fits([fit]))[0].get_lines()
    np.testing.assert_array_equal(bottles.get_xdata(), [9.0, 5.0, 2.0])
    np.testing.assert_array_equal(run.get_xdata(), trajectory.state.tracers["dye"][6])
    shown = np.ma.getdata(
        np.asanyarray(_panels(plot_differences(fit))[0].collections[0].get_array())
    ).reshape(3, 7)
    np.testing.assert_array_equal(shown, np.repeat([[9.0], [5.0], [2.0]], 7, axis=1))


def test_series_show_the_uppermost_sensor_the_mixed_layer_and_observed_numbers(trajectory):
    times = trajectory.time[::3]
    temperature = jnp.stack([19.0 + 0.0 * times, 19.8 + 0.0 * times], axis=1)
    observed = _sensors(times, temperature, heat_content=1e9 + 0.0 * times)
    case = _case(trajectory, start_time="2012-02-28T23:00:00")
    panels = _panels(plot_series(case_runs("a", {"model": trajectory}, observed, case)))
    seen, modelled = panels[0].lines
    np.testing.assert_allclose(_y(seen), 19.8)
    expected = [np.interp(-5.0, trajectory.grid.z_center, row) for row in trajectory.state.temperature]
    np.testing.assert_allclose(_y(modelled), expected, atol=1e-12)
    # Linear between the sensors: 10 m has 19.4 degC, 0.2 K less in 12.5 m.
    np.testing.assert_allclose(_y(panels[1].lines[0]), 12.5, atol=1e-9)


def test_a_lake_is_shown_in_the_temperature_that_was_measured(trajectory):
    """Conservative temperature is 1.27 K above 24.7 degC in fresh water."""
    measured, conservative = 24.7, float(gsw.CT_from_t(0.0, 24.7, 5.0))
    assert conservative == pytest.approx(25.97, abs=0.005)
    lake = _with_temperature(trajectory, conservative)
    fresh = dataclasses.replace(lake.state, salinity=jnp.zeros_like(lake.state.salinity))
    lake = dataclasses.replace(lake, state=fresh)
    case, times = _case(lake, equation_of_state=Teos10()), lake.time[::3]
    temperature = jnp.full((times.size, 2), conservative)
    observed = _sensors(times, temperature, sea_surface_temperature=jnp.full(times.size, measured))
    fit = case_runs("a_lake", {"model": lake}, observed, case)
    diagnostics = tl.diagnose(lake, case, ["potential_temperature"])
    alone_of_run = plot_profiles(to_dataset(lake, case=case, diagnostics=diagnostics), ["temperature"])
    for panel in (_panels(plot_fits([fit]))[0], *_panels(alone_of_run)):
        for line in panel.lines:
            np.testing.assert_allclose(_x(line), measured, atol=0.006)
    for line in next(panel.lines for panel in _panels(plot_series(fit)) if "surface" in panel.get_ylabel()):
        np.testing.assert_allclose(_y(line), measured, atol=0.006)


def test_many_closures_have_lines_of_their_own(trajectory):
    times = trajectory.time[jnp.asarray([0, -1])]
    profiles = {name: jnp.ones((2, trajectory.grid.n_cells)) for name in ("temperature", "u", "v")}
    reference = tl.Observations(times, trajectory.grid.z_center, profiles, source="LES")
    runs = {f"closure {number}": trajectory for number in range(23)}
    figures = closure_figures(case_runs("a_case", runs, reference))
    panels = _panels(figures["profiles_a_case"])
    assert len(panels) == 9 and len(_panels(figures["sections_a_case"])) == 24
    for panel in panels[::3]:
        styles = {(line.get_color(), line.get_linestyle()) for line in panel.lines}
        assert 7 <= len(styles) - 1 <= 8 and len(panel.lines) == len(styles)  # with the LES
