"""Files of FABM: translation, what is not available, and whole years against GOTM with FABM."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import tunax_lite as tl
from tests.conftest import find_fabm_reference, find_gotm_case
from tests.errors import error_naming, missing_from
from tests.extensions.gotm.folders import write_case
from tunax_lite.config import ConfigError
from tunax_lite.extensions.biogeochemistry import NPZD, Biogeochemistry, Carbonate
from tunax_lite.extensions.biogeochemistry.schemes import Euler, ModifiedPatankar2
from tunax_lite.extensions.gotm import build_gotm, load_gotm

FILE = """instances:
  plankton:
    model: gotm/npzd
    parameters:
      gmax: 0.2
      w_d: -6.0
    initialization:
      nut: 5.5
      phy: 1.0e-15
    coupling:
      dic: carbonate/dic
  carbonate:
    model: pml/carbonate
    parameters:
      pCO2a: 400.0
  off:
    model: a/b
    use: false
"""


def translated(folder: Path, text: str = FILE, **fabm) -> Any:
    (folder / "fabm.yaml").write_text(text)
    return build_gotm(load_gotm(write_case(folder, {"fabm": {"use": True} | fabm})))


def term_of(folder: Path, text: str = FILE, **fabm) -> Biogeochemistry:
    found = translated(folder, text, **fabm)
    found.report.check()
    term = found.run.case.terms["fabm"]
    assert isinstance(term, Biogeochemistry)
    return term


def test_instances_become_models_with_their_parameters_and_couplings(tmp_path):
    term = term_of(tmp_path, freshwater_impact=False, feedbacks={"shade": True})
    assert list(term.models) == ["plankton", "carbonate"]
    plankton, carbonate = term.models["plankton"], term.models["carbonate"]
    assert isinstance(plankton, NPZD) and isinstance(carbonate, Carbonate)
    assert float(plankton.gmax) == 0.2 and float(plankton.rmax) == 1.0
    assert float(carbonate.pCO2a) == 400.0
    assert term.couplings == ("plankton_dic = carbonate_dic",)
    assert term.initial_tracers()["plankton_nut"] == 5.5 and term.initial_tracers()["plankton_det"] == 4.5
    assert isinstance(term.scheme, Euler) and term.shading and not term.dilution
    assert term.surface_light == "shortwave"


def test_numerics_follow_the_names_and_numbers_of_gotm(tmp_path):
    numerics = {"ode_method": 8, "split_factor": 3, "w_adv_discr": "Superbee"}
    term = term_of(tmp_path, numerics=numerics, repair_state=True)
    assert isinstance(term.scheme, ModifiedPatankar2) and term.n_substeps == 3
    assert term.sinking.value == "superbee" and term.clipping
    found = translated(tmp_path)  # with prescribed fluxes GOTM's wind is zero
    assert "as in a calm" in "\n".join(found.report.differences)
    assert found.run.case.terms["fabm"].surface_exchange and found.run.case.terms["fabm"].wind_speed == 0.0
    # On request, and with the schemes that take production and destruction, as in GOTM.
    assert not term_of(tmp_path, debug={"no_surface": True}).surface_exchange
    assert not term_of(tmp_path, numerics={"ode_method": "MP1"}).surface_exchange
    ergom = translated(tmp_path, "instances: {baltic: {model: gotm/ergom}}", numerics={"ode_method": "MP1"})
    assert not missing_from(str(ergom.report.differences), "gotm/ergom modified_patankar baltic")
    with error_naming(ConfigError, "small.gotm.yaml fabm.numerics.split_factor 1 1000 0"):
        term_of(tmp_path, numerics={"split_factor": 0})
    # Explicitly, zooplankton at Ocean Weather Station Papa is 8e-4 off in three months of 9 mm a day.
    for rain in (0.0, 1e-7):
        changes = {"fabm": {"use": True}, "surface": {"precip": {"constant_value": rain}}}
        run: Any = build_gotm(load_gotm(write_case(tmp_path, changes))).run
        assert run.case.terms["fabm"].implicit_dilution == (rain > 0.0)


def test_carbon_dioxide_of_the_air_comes_from_the_file_or_the_set_up(tmp_path):
    text, name = "instances: {gas: {model: pml/carbonate}}", "mole_fraction_of_carbon_dioxide_in_air"
    (error,) = translated(tmp_path, text).report.errors
    assert not missing_from(error, f"instances.gas.parameters.pCO2a constant input {name}")
    gas = term_of(tmp_path, text, input={name: 410.0}).models["gas"]
    assert isinstance(gas, Carbonate) and float(gas.pCO2a) == 410.0


def test_what_is_not_available_is_named_with_its_line(tmp_path):
    for old, new, parts in (
        ("gotm/npzd", "gotm/npzdd", "3 instances.plankton.model gotm/npzdd gotm/npzd"),
        ("pml/carbonate", "ersem/all", "13 ersem/all gotm/ergom"),
        ("gmax", "gmaxx", "5 instances.plankton.parameters.gmaxx gmax"),
        ("1.0e-15", "none", "9 instances.plankton.initialization.phy none"),
        ("nut: 5.5", "nutt: 5.5", "8 plankton.initialization.nutt nut"),
        ("nut: 5.5", "nut: -5.5", "8 plankton.initialization.nut 0 -5.5"),
        ("carbonate/dic", "carbonate/dicc", "11 plankton.coupling.dic carbonate/dicc"),
        ("dic: carbonate", "dix: carbonate", "11 plankton.coupling.dix dic"),
        ("  off:\n    model: a/b\n    use: false\n", "  off: a/b\n", "16 instances.off a/b"),
        ("plankton:", "pl ankton:", "2 instances.pl"),
    ):
        errors = "\n".join(translated(tmp_path, FILE.replace(old, new)).report.errors)
        assert all(part in errors for part in f"fabm.yaml line {parts}".split()), errors


def test_inputs_give_initial_profiles_and_relaxation(tmp_path):
    levels = "  0.0 1.0 10.0\n -5.0 2.0 20.0\n-50.0 4.0 40.0\n"
    (tmp_path / "pools.dat").write_text(
        "".join(f"{year}-01-01 00:00:00 3 2\n{levels}" for year in (2010, 2020))
    )
    named = {"method": "file", "file": "pools.dat"}
    inputs = {
        "plankton_nut": named | {"column": 2, "scale_factor": 0.5, "relax_tau": 7200.0},
        "plankton_det": named | {"thickness_bot": 3.0, "relax_tau_bot": 3600.0},
        "carbonate_dic": 2100.0,
    }
    built = translated(tmp_path, input=inputs)
    built.report.check()
    case = built.run.case
    z, tracers = np.asarray(case.grid.z_center), case.initial_state.tracers
    profile = np.interp(z, [-50.0, -5.0, 0.0], [4.0, 2.0, 1.0])
    np.testing.assert_allclose(tracers["plankton_nut"], 5.0 * profile, rtol=1e-13)
    np.testing.assert_allclose(tracers["plankton_det"], profile, rtol=1e-13)
    np.testing.assert_array_equal(tracers["carbonate_dic"], 2100.0)
    assert float(tracers["plankton_phy"][0]) == 1e-15  # of the fabm.yaml
    relaxation = case.interior.relaxation.tracers
    assert set(relaxation) == {"plankton_nut", "plankton_det"}
    np.testing.assert_allclose(relaxation["plankton_nut"].rate, 1.0 / 7200.0)
    above_bottom = z - float(case.grid.z_face[0])
    rates = np.where(above_bottom <= 3.0, 1.0 / 3600.0, 1e-15)
    np.testing.assert_allclose(relaxation["plankton_det"].rate, rates)


def test_wrong_inputs_are_named_with_their_line(tmp_path):
    for inputs, parts in (
        ({"plankton_nit": 1.0}, "fabm.input.plankton_nit plankton_nut"),
        ({"plankton_nut": {"metod": "file"}}, "plankton_nut.metod method"),
        ({"plankton_nut": {"method": "file"}}, "plankton_nut.file name"),
        ({"plankton_nut": {"constant_value": 1.0, "relax_tau": 0.0}}, "plankton_nut.relax_tau above 0"),
    ):
        with error_naming(ConfigError, f"small.gotm.yaml line {parts}"):
            term_of(tmp_path, input=inputs)
    unused = {"plankton_nut": {"file": "nut.dat", "column": 1}}
    notes = translated(tmp_path, input=unused).report.differences
    assert any(not missing_from(one, "fabm.input.plankton_nut.file constant method") for one in notes)


BRIEF = ("nns_annual_npzd_shade", "nns_annual_ergom")
LONG = ("nns_annual_passive", "nns_annual_carbonate", "nns_annual_fasham", "medsea_east_npzd")


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.long if n in BRIEF else pytest.mark.study) for n in (*BRIEF, *LONG)],
)
def test_a_year_is_that_of_gotm_with_fabm(name, tmp_path):
    """GOTM was built without the table of salinity anomalies; its files are in single precision."""
    reference = find_fabm_reference(name)
    weather = "nns_annual/meteo_file.dat" if "nns" in name else "medsea_east/Med_east_s_prof.dat"
    for file in (*find_gotm_case(weather).parent.iterdir(), *reference.iterdir()):
        if file.is_file() and not (tmp_path / file.name).exists():
            (tmp_path / file.name).symlink_to(file)
    run: Any = build_gotm(load_gotm(tmp_path / "gotm.yaml", salinity_anomaly=False)).run
    term = run.case.terms["fabm"]
    assert isinstance(term, Biogeochemistry)
    trajectory = tl.simulate(run.model, run.case, dt=run.dt, output_interval=run.output_interval)
    pools = trajectory.state.tracers | trajectory.state.surface
    assert set(pools) == set(term.pools())
    with xr.open_dataset(reference / "reference.nc", decode_times=False) as expected:
        n = min(expected.time.size, trajectory.n_frames)
        np.testing.assert_allclose(trajectory.time[:n], expected.time.values[:n])
        for pool, values in pools.items():
            theirs = expected[pool].values.squeeze()[:n].astype(float)
            scale = max(np.ptp(theirs), 1e-6 * np.abs(theirs).max())
            assert np.sqrt(np.mean((np.asarray(values)[:n] - theirs) ** 2)) <= 1e-3 * scale, pool
    if "ergom" not in name:  # which takes nutrients from the air, and denitrifies
        totals = term.totals(trajectory.state.tracers, trajectory.state.surface, run.case.grid)
        conserved = totals["tracer" if "passive" in name else "nitrogen"]
        np.testing.assert_allclose(conserved, conserved[0], rtol=1e-12)
