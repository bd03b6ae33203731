"""What a configuration of GOTM wants written, and what of it the file of a run holds."""

from typing import Any

import pytest
import xarray as xr

from tests.errors import error_naming
from tests.extensions.gotm import folders
from tunax_lite.cli.run import select
from tunax_lite.cli.streaming import run_to_file
from tunax_lite.config import ConfigError
from tunax_lite.extensions.gotm.output import OURS
from tunax_lite.quantities import QUANTITIES


def build(folder, **files) -> Any:
    return folders.build(folder, {"output": files})


def variables(*sources):
    return [{"source": source} for source in sources]


def test_names_become_diagnostics_and_the_rest_is_named(tmp_path):
    sources = variables("temp", "h", "NN", "nuh", "qe", "u_taus", "sst", "my_tracer")
    prof = {"time_unit": "hour", "time_step": 6, "variables": sources}
    surf = {"time_unit": "hour", "time_method": "mean", "groups": [{"variables": variables("heat", "tx")}]}
    made = build(tmp_path, prof=prof, surf=surf)
    assert made.run.output_interval == 21600.0
    names = {OURS[name] for name in ("NN", "u_taus", "sst", "heat", "qe", "tx")}
    assert names == set(made.run.diagnostics) == set(made.run.averages) and made.run.means
    assert {"surface_latent_heat_flux", "surface_stress_u", "friction_velocity"} < names
    said = "\n".join(made.report.differences)
    assert "output: not written, because not computed here: my_tracer." in said
    assert "; means are over 21600 s" in said
    assert "output.surf: its variables are in the file of the run, every 21600 s instead of 3600 s" in said


OF_ICE = {OURS[name] for name in ("Hice", "Hfrazil", "Tice_surface", "T1", "T2")}  # which this case has not


def test_patterns_stand_for_what_is_computed(tmp_path):
    state = {"temperature", "salinity", "u", "v", "cell_thickness"}
    carried = {"eddy_viscosity", "eddy_diffusivity", "turbulent_kinetic_energy", "dissipation_rate"}
    turbulence = ("num", "nuh", "tke", "eps", "Rig", "SS", "P", "NN", "G", "buoy")
    for pattern, expected in (
        ("/*", set(OURS.values()) - OF_ICE),
        ("surface/heat_fluxes/*", {OURS[name] for name in ("heat", "qe", "qh", "ql", "I_0")}),
        ("q*", {f"surface_{part}_flux" for part in ("latent_heat", "sensible_heat", "longwave")}),
        ("/turbulence/*", {OURS[name] for name in turbulence}),
        ("mld_*", {"mixed_layer_depth_richardson"}),
    ):
        made = build(tmp_path, prof={"variables": variables(pattern)})
        assert set(made.run.diagnostics) == expected - state - carried, pattern
        assert not any("not written" in line for line in made.report.differences)


def test_means_are_asked_for_and_what_else_a_method_says_is_named(tmp_path):
    prof = {"time_method": "mean", "variables": variables("temp", "nuh")}
    made = build(tmp_path, prof=prof)
    assert made.run.means and not any("time_method" in line for line in made.report.differences)
    made = build(tmp_path, prof=prof | {"use": False}, other=prof | {"time_method": "integrated"})
    assert not made.run.means
    assert any("output.other.time_method:" in line for line in made.report.differences)


@pytest.mark.long
def test_the_file_holds_all_that_was_asked_for(tmp_path):
    run = build(tmp_path, prof={"time_unit": "hour", "time_step": 12, "variables": variables("/*")}).run
    times = {"dt": run.dt, "duration": run.duration_from(0.0), "output_interval": run.output_interval}
    run_to_file(run.model, run.case, tmp_path / "out.nc", **times, diagnostics=run.diagnostics)
    with xr.open_dataset(tmp_path / "out.nc") as dataset:
        for name in set(OURS.values()) - {"cell_thickness"} - OF_ICE:
            assert name in dataset and dataset[name].attrs["units"] == QUANTITIES[name].unit
        assert dataset["surface_stress_u"].values == pytest.approx([0.1, 0.1, 0.1])


def test_variables_are_chosen_by_our_names_and_by_those_of_gotm(tmp_path):
    run = build(tmp_path, prof={"variables": variables("/*")}).run
    given = ["temp", "nuh", "NN", "mixed_layer_depth_from_10m", "temperature"]
    chosen, names = select(run, given, "--variables")
    diagnosed = ("buoyancy_frequency_squared", "mixed_layer_depth_from_10m")
    assert names == ("temperature", "eddy_diffusivity", *diagnosed) and chosen.diagnostics == diagnosed
    with error_naming(ConfigError, "--variables tmep temp"):
        select(run, ["tmep"], "--variables")


def test_sections_that_are_none_name_their_line(tmp_path):
    for files, parts in (
        ({"prof": 3}, "output.prof 3"),
        ({"prof": {"variables": ["temp"]}}, "output.prof.variables source"),
        ({"prof": {"time_unit": "week"}}, "line output.prof.time_unit"),
    ):
        with error_naming(ConfigError, parts):
            build(tmp_path, **files)
