"""Cases of GOTM in a configuration of the package: what they bring, and what it replaces."""

import re

import numpy as np
import pytest
import typer
import yaml

from tests.unit.gotm_folders import write_case, write_series
from tunax_lite import simulate
from tunax_lite.cli.check import check
from tunax_lite.config import ConfigError, build_run, load_run
from tunax_lite.gotm import build_gotm, load_gotm


@pytest.fixture
def build(tmp_path):
    """A run from the sections of a configuration beside a small case of GOTM."""

    def of(case=None, change=None, **sections):
        write_series(tmp_path / "tau.dat", 0.1 + np.zeros(30))
        write_case(
            tmp_path, {"surface": {"fluxes": {"tx": {"method": "file", "file": "tau.dat"}}}}, change or {}
        )
        data = {"case": {"format": "gotm", "path": "small.gotm.yaml"} | (case or {}), **sections}
        path = tmp_path / "run.yaml"
        path.write_text(yaml.safe_dump(data))
        return build_run(load_run(path))

    return of


def test_what_is_not_given_is_that_of_gotm(build, tmp_path):
    run = build()
    own = build_gotm(load_gotm(tmp_path / "small.gotm.yaml")).run
    assert own is not None
    assert (run.dt, run.output_interval, run.duration_from(0.0)) == (600.0, 21600.0, 86400.0)
    np.testing.assert_array_equal(run.case.grid.z_face, own.case.grid.z_face)
    assert float(run.model.closure.turbulent_kinetic_energy_floor) == 1e-8  # pyright: ignore
    ours, theirs = (simulate(r.model, r.case, dt=r.dt, output_interval=r.output_interval) for r in (run, own))
    np.testing.assert_array_equal(ours.state.u, theirs.state.u)
    assert float(ours.state.u[-1, -1]) > 0.01  # the wind of the file blows


def test_grid_times_and_closure_can_be_replaced(build):
    run = build(
        grid={"kind": "stretched", "n_cells": 12, "surface_zoom": 2.0},
        time={"step": 300.0, "output_interval": 3600.0, "duration": 7200.0},
        model={"closure": {"name": "pacanowski_philander"}},
    )
    assert run.case.grid.n_cells == 12
    thickness = np.asarray(run.case.grid.cell_thickness)
    assert thickness[-1] < 0.5 * thickness[0]
    np.testing.assert_allclose(thickness.sum(), 16.0)
    assert (run.dt, run.output_interval, run.duration_from(0.0)) == (300.0, 3600.0, 7200.0)
    assert type(run.model.closure).__name__ == "PacanowskiPhilander"


def test_settings_have_the_names_of_gotm_nested_or_dotted(build):
    for settings in (
        {"turbulence.turb_param.k_min": 1e-7, "location.latitude": 0.0},
        {"turbulence": {"turb_param": {"k_min": 1e-7}}, "location": {"latitude": 0.0}},
    ):
        run = build({"settings": settings})
        assert float(run.model.closure.turbulent_kinetic_energy_floor) == 1e-7
        assert float(run.case.coriolis_parameter) == 0.0


def test_unsupported_settings_are_refused_unless_they_are_to_be_ignored(build):
    change = {"seagrass": {"method": 1}}
    with pytest.raises(ConfigError, match=r"line \d+: seagrass.method: sea grass is not supported"):
        build(change=change)
    run = build({"ignore_unsupported": True}, change)
    assert any("seagrass.method" in note for note in run.notes)


@pytest.mark.parametrize(
    ("case", "sections", "error", "message"),
    [
        ({"path": "none.yaml"}, {}, FileNotFoundError, r"run.yaml: case.path: none.yaml: expected a file"),
        ({"settings": {"grid.nlevs": 3}}, {}, ConfigError, r"run.yaml: grid.nlevs=3.*unknown key.*nlev"),
        ({"setting": {}}, {}, ConfigError, r"case.setting: unknown key.*settings"),
        (
            {},
            {"grid": {"kind": "faces", "z_face": [-16.0, -8.0, -4.0, 0.0]}},
            ConfigError,
            "got faces.*grid.file",
        ),
    ],
    ids=["missing file", "unknown setting", "unknown key", "faces"],
)
def test_what_cannot_be_used_is_named(build, case, sections, error, message):
    with pytest.raises(error, match=re.compile(message, re.DOTALL)):
        build(case, **sections)


def test_the_case_is_found_below_the_data_folder(build, tmp_path, monkeypatch):
    build()
    (tmp_path / "data/gotm").mkdir(parents=True)
    for name in ("small.gotm.yaml", "tau.dat"):
        (tmp_path / name).rename(tmp_path / "data/gotm" / name)
    monkeypatch.setenv("TUNAX_LITE_DATA", str(tmp_path / "data"))
    loaded = load_run(tmp_path / "run.yaml", ["case.path=gotm/small.gotm.yaml"])
    assert build_run(loaded).case.grid.n_cells == 8


def test_stored_text_has_no_defaults_that_the_run_does_not_follow(build, tmp_path):
    build()
    loaded = load_run(tmp_path / "run.yaml")
    assert not {"grid", "model", "time"} & set(yaml.safe_load(loaded.text))
    (tmp_path / "again.yaml").write_text(loaded.text)
    again = build_run(load_run(tmp_path / "again.yaml"))
    first = build_run(loaded)
    assert again.dt == first.dt == 600.0
    assert again.case.grid.n_cells == first.case.grid.n_cells == 8


def test_a_configuration_of_the_package_is_written_for_a_case(build, tmp_path, capsys):
    from_gotm = build()
    assert from_gotm is not None
    source, target = tmp_path / "small.gotm.yaml", tmp_path / "ours.yaml"
    check(source, settings=["time.dt=300", "turbulence.turb_param.k_min=1e-7"], write_config=target)
    assert "wrote" in capsys.readouterr().out
    run = build_run(load_run(target))
    assert (run.dt, run.output_interval, run.duration_from(0.0)) == (300.0, 21600.0, 86400.0)
    assert float(run.model.closure.turbulent_kinetic_energy_floor) == 1e-7  # pyright: ignore
    own = build_gotm(load_gotm(source, ["time.dt=300", "turbulence.turb_param.k_min=1e-7"])).run
    assert own is not None
    ours, theirs = (simulate(r.model, r.case, dt=r.dt, output_interval=r.output_interval) for r in (run, own))
    np.testing.assert_array_equal(ours.state.u, theirs.state.u)
    with pytest.raises(typer.Exit):
        check(target, write_config=tmp_path / "again.yaml")
    assert not (tmp_path / "again.yaml").exists() and "copy the file" in capsys.readouterr().err
