"""What a configuration of GOTM wants written, and what of it the file of a run holds."""

from typing import Any

from tests.errors import error_naming
from tests.extensions.gotm import folders
from tunax_lite.cli.run import select
from tunax_lite.config import ConfigError
from tunax_lite.extensions.gotm.output import OURS


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
    assert names == set(made.run.diagnostics) == set(made.run.means)
    said = "\n".join(made.report.differences)
    assert "output: not written, because not computed here: my_tracer." in said
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
    off = prof | {"use": False, "time_unit": "fortnight"}
    made = build(tmp_path, prof=off, other=prof | {"time_method": "integrated"})
    assert not made.run.means
    assert any("output.other.time_method:" in line for line in made.report.differences)


def test_variables_are_chosen_by_our_names_and_by_those_of_gotm(tmp_path):
    run = build(tmp_path, prof={"variables": variables("/*")}).run
    given = ["temp", "nuh", "NN", "mixed_layer_depth_from_10m", "temperature"]
    chosen, names = select(run, given, "output.variables")
    diagnosed = ("buoyancy_frequency_squared", "mixed_layer_depth_from_10m")
    assert names == ("temperature", "eddy_diffusivity", *diagnosed) and chosen.diagnostics == diagnosed
    with error_naming(ConfigError, "output.variables tmep temp"):
        select(run, ["tmep"], "output.variables")


def test_sections_that_are_none_name_their_line(tmp_path):
    for files, parts in (
        ({"prof": 3}, "output.prof 3"),
        ({"prof": {"variables": ["temp"]}}, "output.prof.variables source"),
        ({"prof": {"time_unit": "week"}}, "line output.prof.time_unit"),
    ):
        with error_naming(ConfigError, parts):
            build(tmp_path, **files)
