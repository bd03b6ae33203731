"""Figures show what they should: one panel per variable, units on the axes, no global state."""

import jax
import numpy as np
import pytest
from matplotlib import _pylab_helpers

import tunax_lite as tl
from tunax_lite.plotting import (
    Fit,
    plot_fits,
    plot_loss,
    plot_parameters,
    plot_profiles,
    plot_sections,
    save_figure,
)


@pytest.fixture(scope="module")
def trajectory():
    grid = tl.Grid.uniform(20.0, 8)
    case = tl.Case(
        grid=grid,
        initial_state=tl.State.from_profiles(
            grid, temperature=lambda z: 20.0 + 0.05 * z, tracers={"dye": lambda z: -z}
        ),
        forcing=tl.ConstantForcing(tl.SurfaceFluxes(stress_u=0.1, heat_flux=-100.0)),
        duration=7200.0,
    )
    return tl.simulate(tl.Model(tl.KEpsilon()), case, dt=60.0, output_interval=600.0)


@pytest.fixture(scope="module")
def observations(trajectory):
    return tl.Observations(
        time=trajectory.time[::2],
        z=trajectory.grid.z_center,
        profiles={"temperature": trajectory.state.temperature[::2] + 0.1, "u": trajectory.state.u[::2]},
        name="observed",
    )


def _panels(figure):
    return [panel for panel in figure.axes if panel.get_visible() and panel.get_label() != "<colorbar>"]


def test_sections_show_every_variable_that_varies(trajectory):
    figure = plot_sections(trajectory, title="a run")
    titles = [panel.get_title() for panel in _panels(figure)]
    assert set(titles) == {
        "temperature",
        "eastward velocity",
        "dye",
        "eddy viscosity",
        "eddy diffusivity",
        "turbulent kinetic energy per mass",
        "dissipation rate of turbulent kinetic energy",
    }
    # v and salinity stay constant: no rotation, no salt flux.
    assert "salinity" not in titles and "northward velocity" not in titles
    colour_bars = [panel.get_ylabel() for panel in figure.axes if panel.get_label() == "<colorbar>"]
    assert "[°C]" in colour_bars and "[m2 s-1]" not in colour_bars
    assert figure.get_suptitle() == "a run"


def test_sections_have_the_values_of_the_run(trajectory):
    figure = plot_sections(trajectory, ["temperature"])
    (panel,) = _panels(figure)
    values = panel.collections[0].get_array()
    np.testing.assert_array_equal(
        np.asarray(values).reshape(8, 13), np.asarray(trajectory.state.temperature).T
    )
    assert panel.get_ylim() == (-20.0, 0.0)
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("time [h]", "z [m]")


def test_profiles_have_a_line_per_time(trajectory):
    figure = plot_profiles(trajectory, ["temperature", "eddy_diffusivity"], n_times=4)
    temperature, diffusivity = _panels(figure)
    assert len(temperature.lines) == 4
    np.testing.assert_array_equal(temperature.lines[-1].get_xdata(), trajectory.state.temperature[-1])
    assert temperature.get_xlabel() == "temperature [°C]"
    assert diffusivity.get_xscale() == "log"


def test_fits_show_runs_observations_and_errors(trajectory, observations):
    fit = Fit("a_case", {"before": trajectory, "after": trajectory}, observations)
    figure = plot_fits([fit, fit])
    panels = _panels(figure)
    assert len(panels) == 6  # temperature, u and the error of temperature, for two cases
    legend = panels[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "observations",
        "before",
        "after",
    ]
    error = np.asarray(panels[2].lines[-1].get_xdata())
    np.testing.assert_allclose(error, -0.1, atol=1e-12)
    assert panels[2].get_xlabel() == "error of temperature [K]"
    assert panels[0].get_title(loc="left") == "a case, 2 h"


def test_loss_leaves_a_gap_where_it_is_not_finite():
    loss = np.array([3.0, 2.0, np.nan, 1.0])
    rejected = np.array([False, False, True, False])
    figure = plot_loss(loss, {"one": loss, "two": 2.0 * loss}, rejected)
    (panel,) = _panels(figure)
    labels = [line.get_label() for line in panel.lines]
    assert labels == ["one", "two", "loss", "lowest so far", "rejected"]
    np.testing.assert_array_equal(panel.lines[3].get_ydata(), [3.0, 2.0, 2.0, 1.0])


def test_parameters_have_a_panel_each_with_unit(tmp_path):
    values = {"c": np.array([1.0, 1.1]), "floor": np.array([1e-10, 1e-6])}
    figure = plot_parameters(values, {"c": "1", "floor": "m2 s-2"}, {"c": (0.5, 2.0)})
    first, second = _panels(figure)
    assert first.get_title() == "c"
    assert second.get_title().startswith("floor [m")
    assert (first.get_yscale(), second.get_yscale()) == ("linear", "log")


def test_figure_is_written_whole_and_without_pyplot(tmp_path, trajectory):
    path = tmp_path / "new" / "figure.png"
    save_figure(plot_sections(trajectory, ["temperature"]), path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert not _pylab_helpers.Gcf.figs
    with pytest.raises(ValueError, match="nothing"):
        save_figure(plot_sections(trajectory, ["temperature"]), tmp_path / "figure.nothing")
    assert sorted(p.name for p in tmp_path.rglob("*") if p.is_file()) == ["figure.png"]


def test_unknown_variables_and_batches_are_refused(trajectory):
    with pytest.raises(ValueError, match="among temperature.*got nitrate"):
        plot_sections(trajectory, ["nitrate"])
    batch = jax.tree.map(lambda leaf: leaf[..., None], trajectory)
    with pytest.raises(ValueError, match="single column"):
        plot_profiles(batch)
