"""Pools in files: profiles and observations in text, CSV, CF NetCDF and of floats; notes and results."""

from typing import Any

import gsw
import numpy as np
import pytest
import xarray as xr
import yaml

import tunax_lite as tl
from tests.cli.running import invoked
from tests.conftest import _find
from tests.errors import error_naming, missing_from, notes_in
from tests.io import test_argo as argo
from tunax_lite.config import (
    ConfigError,
    build_calibration,
    build_run,
    evaluation_of,
    load_calibration,
    load_run,
)
from tunax_lite.io import FileFormatError, read_argo
from tunax_lite.io.tracers import Tracer

START = "2015-01-01T00:00:00"
DAY = 86400.0
Z = np.array([-40.0, -25.0, -10.0])
NITRATE = np.array([9.0, 6.0, 2.0])
CASE = {
    "format": "site",
    "latitude": 45.0,
    "longitude": -30.0,
    "start_time": START,
    "duration": 10 * DAY,
    "depth": 50.0,
    "temperature": {"surface": 12.0, "gradient": 0.05},
    "salinity": 35.0,
    "fluxes": {"stress_u": 0.05},
    "terms": {"life": {"name": "biogeochemistry", "models": {"npzd": {"name": "npzd"}}}},
}


@pytest.fixture
def build(tmp_path):
    return lambda **case: build_run(loaded(tmp_path, **case))


def loaded(folder, evaluate="npzd_nut", **case):
    config = {
        "case": CASE | case,
        "grid": {"kind": "uniform", "n_cells": 10},
        "time": {"dt": 3600.0, "output_interval": DAY},
        "evaluation": {"start": 0.0, "variables": [evaluate]},
    }
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump(config))
    return load_run(path)


def observed(path, name):
    return {"format": "oceansites", "paths": path, "tracers": {"npzd_nut": name}}


def csv(folder, head="nitrate [mmol m-3]", water=False, values=NITRATE, name: Any = "nitrate"):
    """Profiles of ten days, of nitrate, or with temperature and salinity."""
    lines = [f"time,depth [m],{head}" + (",TEMP [degC],PSAL [1]" if water else "")]
    for day in (1, 11):
        for z, value in zip(Z, values, strict=True):
            lines.append(f"2015-01-{day:02d},{-z:g},{value:g}" + (",10.0,35.0" if water else ""))
    (folder / "bottle.csv").write_text("\n".join(lines) + "\n")
    return observed("bottle.csv", name)


def netcdf(folder):
    values = xr.DataArray(np.stack([NITRATE, NITRATE]), dims=("time", "z"), attrs={"units": "mmol m-3"})
    time = xr.DataArray([0.0, 10.0], dims="time", attrs={"units": "days since 2015-01-01"})
    z = xr.DataArray(Z, dims="z", attrs={"units": "m", "positive": "up"})
    xr.Dataset({"nitrate": values}, coords={"time": time, "z": z}).to_netcdf(folder / "bottle.nc")
    return observed("bottle.nc", "nitrate")


def text(folder):
    rows = "".join(f"{z:g} {value:g}\n" for z, value in zip(Z, NITRATE, strict=True))
    days = "".join(f"2015/01/{day:02d} 00:00:00 3 1\n{rows}" for day in (1, 11))
    (folder / "nitrate.dat").write_text(days)
    return observed("nitrate.dat", "1")


def started(run) -> np.ndarray:
    return np.asarray(run.case.initial_state.tracers["npzd_nut"])


def expected(run, values=NITRATE) -> np.ndarray:
    return np.interp(np.asarray(run.case.grid.z_center), Z, values)


def test_a_measured_pool_is_start_and_observation(build, tmp_path):
    for make in (csv, netcdf, text):
        run = build(observations=make(tmp_path))
        np.testing.assert_allclose(started(run), expected(run), rtol=1e-13)
        assert float(run.case.initial_state.tracers["npzd_det"][0]) == 4.5  # not measured: that of the model
        np.testing.assert_allclose(run.observations.profiles["npzd_nut"][-1], NITRATE, rtol=1e-13)


@pytest.mark.long
def test_a_pool_is_relaxed_to_measured_values(build, tmp_path):
    relaxation = {"tracers": {"npzd_nut": {"time_scale": 3600.0}}}
    ends = []
    for interior in ({"relaxation": relaxation}, {}):
        run = build(observations=csv(tmp_path), interior=interior)
        end = tl.simulate(run.model, run.case, dt=3600.0, output_interval=10 * DAY).state.tracers["npzd_nut"]
        ends.append(np.abs(np.asarray(end[-1]) - expected(run)).max())
    # Drawn back within an hour, while mixing acts over days.
    assert ends[0] < 0.3 < ends[1]


def test_units_of_amounts_are_converted(build, tmp_path):
    for unit, factor in (("umol l-1", 1.0), ("mol m-3", 1e3), ("mmol N m-3", 1.0), ("nmol/L", 1e-3)):
        run = build(observations=csv(tmp_path, f"nitrate [{unit}]"))
        np.testing.assert_allclose(started(run), factor * expected(run), rtol=1e-12)


def test_text_without_a_unit_is_in_that_of_the_pool_with_a_note(build, tmp_path, recwarn):
    def notes(column):
        run = build(observations=csv(tmp_path, "nitrate", name=column))
        np.testing.assert_allclose(started(run), expected(run), rtol=1e-12)
        return [said for said in notes_in(recwarn) if "no unit" in said]

    (note,) = notes("nitrate")
    assert not missing_from(note, "bottle.csv nitrate npzd_nut mmol unit")
    assert not notes({"variable": "nitrate", "unit": "mmol m-3"})


def test_amounts_per_mass_take_the_density_of_the_water(build, tmp_path):
    run = build(observations=csv(tmp_path, "nitrate [umol kg-1]", water=True))
    absolute = gsw.SA_from_SP(35.0, -Z, -30.0, 45.0)
    density = gsw.rho(absolute, gsw.CT_from_t(absolute, 10.0, gsw.p_from_z(Z, 45.0)), 0.0)
    # The pressure of conversions is that of 1 dbar per metre to 1 %.
    np.testing.assert_allclose(started(run), expected(run, NITRATE * density / 1e3), rtol=1e-6)
    alone = build(observations=csv(tmp_path, "nitrate [umol kg-1]"))
    np.testing.assert_allclose(started(alone), started(run), rtol=5e-3)


def test_a_mass_is_refused_unless_a_factor_makes_it_an_amount(build, tmp_path):
    text(tmp_path)
    own = {"npzd_nut": {"path": "nitrate.dat", "column": 1, "factor": 3.0}, "dye": 1.0}
    run = build(observations=csv(tmp_path), tracers=own)
    np.testing.assert_allclose(started(run), 3.0 * expected(run), rtol=1e-13)  # replaces the measured one
    with error_naming(FileFormatError, "bottle.csv nitrate mmol m-3 mg molar mass factor"):
        build(observations=csv(tmp_path, "nitrate [mg m-3]"))
    how = {"variable": "nitrate", "unit": "mmol m-3", "factor": 1.0 / 14.007}
    run = build(observations=csv(tmp_path, "nitrate [mg m-3]", name=how))
    np.testing.assert_allclose(started(run), expected(run) / 14.007, rtol=1e-12)


def test_measured_values_below_zero_start_from_zero_with_a_note(build, tmp_path, recwarn):
    run = build(observations=csv(tmp_path, values=NITRATE - 3.0))
    assert started(run).min() == 0.0 and any(
        "npzd_nut" in note and "-1" in note for note in notes_in(recwarn)
    )
    assert float(run.observations.profiles["npzd_nut"].min()) == -1.0


def test_names_that_do_not_exist_are_refused(build, tmp_path):
    known, relaxed = {"npzd_nut": "nitrate"}, {"npzd_alg": {"time_scale": DAY}}
    for tracers, relaxation, error, parts in (
        ({"npzd_nit": "nitrate"}, {}, ConfigError, "observations.tracers.npzd_nit npzd_nut"),
        ({"npzd_nut": "NO3"}, {}, FileFormatError, "bottle.csv NO3 npzd_nut tracers"),
        (known, relaxed, ConfigError, "interior.relaxation.tracers.npzd_alg npzd_phy"),
    ):
        measured = csv(tmp_path) | {"tracers": tracers}
        with error_naming(error, parts):
            build(observations=measured, interior={"relaxation": {"tracers": relaxation}})


def sprof(path, modes=("RRR", "RRR"), first="NITRATE", unit="micromole/kg", **arrays):
    """Two profiles of a synthetic file of BGC-Argo with nitrate, or another parameter, and oxygen.

    Source: Argo user's manual 3.4 (doi:10.13155/29825), section on Sprof files.
    """
    argo.write(path)
    with xr.open_dataset(path, engine="netcdf4", decode_cf=False) as opened:
        dataset = opened.load().drop_vars("DATA_MODE")
    shape = dataset.PRES.shape
    for name, values in {first: [1.0, 3.0, 9.0, 12.0], "DOXY": [250.0, 250.0, 220.0, 200.0]}.items():
        for key, default, flags in ((name, values, "1111"), (f"{name}_ADJUSTED", [99999.0] * 4, "    ")):
            given = np.broadcast_to(arrays.get(key, default), shape).astype("f4")
            attrs = {"units": unit if name == first else "micromole/kg", "_FillValue": np.float32(99999.0)}
            dataset[key] = ("N_PROF", "N_LEVELS"), given, attrs
            flags = np.array([list(arrays.get(f"{key}_QC", flags))] * shape[0], "S1")
            dataset[f"{key}_QC"] = ("N_PROF", "N_LEVELS"), flags
    names = ["PRES", first, "DOXY"]
    texts = np.array([[list(name.ljust(16)) for name in names]] * shape[0], "S1")
    dims = ("N_PROF", "N_PARAM")
    dataset["STATION_PARAMETERS"] = (*dims, "STRING16"), texts
    dataset["PARAMETER_DATA_MODE"] = dims, np.array([list(mode) for mode in modes], "S1")
    dataset.to_netcdf(path)
    return path


def density_of_float() -> np.ndarray:
    _, conservative, absolute = argo.expected()
    return 1000.0 + gsw.sigma0(absolute, conservative)


NAMES = {"nit": Tracer("NITRATE", "mmol m-3"), "oxy": Tracer("DOXY", "mmol m-3")}


def test_adjusted_values_and_flags_of_each_parameter(tmp_path):
    adjusted = {"NITRATE_ADJUSTED": [0.5, 2.5, 8.5, 11.5], "NITRATE_ADJUSTED_QC": "1418"}
    path = sprof(tmp_path / "1_Sprof.nc", ("RRR", "RDR"), DOXY_QC="1131", **adjusted)
    found = read_argo(path, start_time=argo.START, tracers=NAMES)
    per_volume = density_of_float()[::-1] / 1e3
    sent = np.array([12.0, 9.0, 3.0, 1.0]) * per_volume
    np.testing.assert_allclose(found.profiles["nit"][0], sent, rtol=1e-12)
    wanted = np.array([11.5, 8.5, np.nan, 0.5]) * per_volume
    np.testing.assert_allclose(found.profiles["nit"][1], wanted, rtol=1e-12)
    assert np.isnan(found.profiles["oxy"][:, 1]).all()
    assert found.rejected == {"temperature": 0, "salinity": 0, "nit": 1, "oxy": 2}


def test_a_parameter_of_which_every_value_is_flagged_is_told(tmp_path, recwarn):
    path = sprof(tmp_path / "1_Sprof.nc", DOXY_QC="3333")
    found = read_argo(path, start_time=argo.START, tracers=NAMES)
    assert "nit" in found.profiles and "oxy" not in found.profiles
    (note,) = [note for note in notes_in(recwarn) if "oxy" in note]
    assert not missing_from(note, "1_Sprof.nc oxy none 8 good_flags")
    accepted = read_argo(path, start_time=argo.START, tracers=NAMES, good_flags=(1, 2, 3, 5, 8))
    oxygen = (np.array([250.0, 250.0, 220.0, 200.0]) * density_of_float() / 1e3)[::-1]
    np.testing.assert_allclose(accepted.profiles["oxy"], [oxygen, oxygen], rtol=1e-12)


def test_parameters_of_floats_that_do_not_fit_are_refused(tmp_path):
    for wanted, parts in (
        (Tracer("CHLA", "mg m-3"), "1_Sprof.nc CHLA alg NITRATE DOXY"),
        (Tracer("NITRATE", "mg m-3"), "1_Sprof.nc NITRATE mg m-3 micromole/kg"),
    ):
        with error_naming(FileFormatError, parts):
            read_argo(sprof(tmp_path / "1_Sprof.nc"), start_time=argo.START, tracers={"alg": wanted})


@pytest.mark.long
def test_a_float_in_real_time_gives_oxygen_only_if_its_flag_is_accepted():
    path = _find("TUNAX_LITE_DATA", "argo/argopy-data/3902131_Sprof.nc")
    options: Any = {"start_time": START, "tracers": {"oxy": NAMES["oxy"]}}
    assert "oxy" not in read_argo(path, **options).profiles
    found = np.asarray(read_argo(path, good_flags=(1, 2, 3, 5, 8), **options).profiles["oxy"])
    found = found[np.isfinite(found)]
    assert found.size > 1000 and 100.0 < np.median(found) < 350.0


@pytest.mark.long
def test_ph_of_a_float_is_compared_with_that_of_the_water(tmp_path):
    measured = np.array([8.05, 8.04, 7.95, 7.9])
    name = "PH_IN_SITU_TOTAL"
    path = sprof(tmp_path / "1_Sprof.nc", first=name, unit="dimensionless", **{name: measured})
    floats = {"format": "argo", "paths": path.name, "tracers": {"carbon_pH": name}, "z": [-40.0, -20.0]}
    models = {"carbon": {"name": "carbonate", "pCO2a": 420.0}}
    life = {"name": "biogeochemistry", "models": models, "kept": ["carbon_pH"], "wind_speed": 8.0}
    run = build_run(loaded(tmp_path, observations=floats, terms={"life": life}, evaluate="carbon_pH"))
    start = np.asarray(run.case.initial_state.tracers["carbon_pH"])
    assert measured.min() - 1e-6 <= start.min() < start.max() <= measured.max() + 1e-6
    assert run.case.terms["life"].tracer_units()["carbon_pH"][0] == "1"
    np.testing.assert_allclose(run.observations.profiles["carbon_pH"][0].max(), 8.05, atol=0.05)  # pyright: ignore


LIGHT = {"stress_u": 0.05, "shortwave_flux": 150.0}
ALL = {f"npzd_{name}": 0.1 for name in ("nut", "phy", "zoo", "det")}


def life(**options):
    return {"name": "biogeochemistry", "models": {"npzd": {"name": "npzd"}}, "initial": ALL} | options


def npzd(**numbers):
    return {"life": life(models={"npzd": {"name": "npzd", **numbers}})}


def profile(upper, lower):
    return {"z": [-50.0, 0.0], "values": [lower, upper]}


def test_what_is_unlikely_is_one_note(tmp_path, recwarn):
    usual = {"fluxes": LIGHT, "terms": npzd()}
    build_run(loaded(tmp_path, **usual))
    assert not any("terms" in note for note in notes_in(recwarn))
    for changes, parts in (({"tracers": {"npzd_zo": profile(1.0, 2.0)}}, "npzd_zo npzd_zoo"),):
        build_run(loaded(tmp_path, **usual | changes))  # pyright: ignore[reportArgumentType]
        (note,) = [said for said in notes_in(recwarn) if "case.terms.life" in said]
        assert not missing_from(note, parts), note


def test_what_cannot_be_is_an_error(tmp_path):
    sinking = life(models={"npzd": {"name": "npzd", "w_d": -400.0}})
    windless = life(models={"o": {"name": "oxygen"}}, initial={})
    for changes, parts in (
        ({"tracers": {"npzd_zoo": profile(1.0, -1.0)}}, "npzd_zoo 0 mmol"),
        ({"terms": {"life": life(), "again": life()}}, "npzd_nut life again models"),
    ):
        with error_naming(ConfigError, f"run.yaml case.terms {parts}"):
            build_run(loaded(tmp_path, **changes))  # pyright: ignore[reportArgumentType]
    for term, parts in ((sinking, "npzd_det n_sinking_substeps 4"), (windless, "wind wind_speed")):
        path = loaded(tmp_path, terms={"life": term}).path
        assert not missing_from(invoked("check", path, code=2).output, f"run.yaml {parts}")
    ergom = life(models={"m": {"name": "ergom"}}, initial={"m_oxy": -5.0})  # signed
    build_run(loaded(tmp_path, terms={"life": ergom}, tracers={"m_oxy": profile(1.0, -20.0)}))


def test_a_calibration_rejects_pools_that_sink_too_far_in_a_step(tmp_path):
    def build(**numbers):
        case = CASE | {"terms": npzd(**numbers), "observations": csv(tmp_path)}
        config = {
            "cases": [{"case": case}],
            "grid": {"kind": "uniform", "n_cells": 10},
            "time": {"dt": 3600.0},
            "misfit": {"weights": {"npzd_nut": 1.0}, "start": 0.0},
            "parameters": {"case.terms.life.models.npzd.w_d": {"lower": -300.0, "upper": -1.0}},
        }
        (tmp_path / "calibration.yaml").write_text(yaml.safe_dump(config))
        return build_calibration(load_calibration(tmp_path / "calibration.yaml"))

    with error_naming(ConfigError, "calibration.yaml time.dt npzd_det 1.67 cells n_sinking_substeps 2"):
        build(w_d=-200.0)
    build(w_d=-120.0)  # exactly a cell


@pytest.mark.long
def test_a_variable_to_evaluate_that_was_not_observed_is_told(tmp_path, recwarn):
    path = loaded(tmp_path, observations=csv(tmp_path)).path
    _, (target,) = evaluation_of(load_run(path, ["evaluation.variables=[npzd_nut, npzd_chl]"]))
    assert set(target.weights) == {"npzd_nut"}
    (note,) = [said for said in notes_in(recwarn) if "npzd_chl" in said]
    assert not missing_from(note, "run.yaml evaluation.variables left npzd_nut")
