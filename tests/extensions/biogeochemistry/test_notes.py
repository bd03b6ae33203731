"""Everyday mistakes with pools: what cannot be is an error of `check`, what is unlikely is one note."""

import dataclasses

import pytest
import yaml

import tunax_lite as tl
from tests.cli.running import invoked
from tests.errors import error_naming, missing_from
from tests.extensions.biogeochemistry.columns import column
from tests.extensions.biogeochemistry.test_files import CASE, DAY, csv, loaded
from tunax_lite.config import ConfigError, build_calibration, build_run, load_calibration
from tunax_lite.extensions.biogeochemistry import NPZD, Biogeochemistry, Euler, notes_on

LIGHT = {"stress_u": 0.05, "shortwave_flux": 150.0}
ALL = {f"npzd_{name}": 0.1 for name in ("nut", "phy", "zoo", "det")}


def life(**options):
    return {"name": "biogeochemistry", "models": {"npzd": {"name": "npzd"}}, "initial": ALL} | options


def npzd(**numbers):
    return {"life": life(models={"npzd": {"name": "npzd", **numbers}})}


def profile(upper, lower):
    return {"z": [-50.0, 0.0], "values": [lower, upper]}


def test_what_is_unlikely_is_one_note(tmp_path):
    usual = {"fluxes": LIGHT, "terms": npzd()}
    assert not any("terms" in note for note in build_run(loaded(tmp_path, **usual)).notes)
    for changes, parts in (
        ({"terms": npzd(rmax=1e-5)}, "models.npzd.rmax d-1 1 1e-5 unit"),
        ({"terms": npzd(w_d=5.0)}, "models.npzd.w_d -5 5 sign"),
        ({"terms": {"life": life(initial=ALL | {"npzd_nut": 5000.0})}}, "npzd_nut mmol 5000 unit"),
        ({"tracers": {"npzd_nut": profile(1.0, 5000.0)}}, "npzd_nut mmol unit"),
        ({"tracers": {"npzd_zo": profile(1.0, 2.0)}}, "npzd_zo npzd_zoo"),
        ({"fluxes": {"stress_u": 0.05}}, "light npzd shortwave_flux"),
    ):
        run = build_run(loaded(tmp_path, **usual | changes))  # pyright: ignore[reportArgumentType]
        (note,) = [said for said in run.notes if "case.terms.life" in said]
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


def test_a_calibration_is_told_of_pools_that_sink_too_far_before_it_begins(tmp_path):
    """Otherwise it would end when the best numbers are run, after all of its iterations."""
    sinking = "case.terms.life.models.npzd.w_d"

    def build(**numbers):
        case = CASE | {"terms": npzd(**numbers), "observations": csv(tmp_path)}
        config = {
            "cases": [{"case": case}],
            "grid": {"kind": "uniform", "n_cells": 10},
            "time": {"step": 3600.0},
            "misfit": {"weights": {"npzd_nut": 1.0}, "start": 0.0},
            "parameters": {sinking: {"lower": -300.0, "upper": -1.0}},
        }
        (tmp_path / "calibration.yaml").write_text(yaml.safe_dump(config))
        return build_calibration(load_calibration(tmp_path / "calibration.yaml"))

    (note,) = [said for said in build().notes if "step" in said]
    assert not missing_from(note, f"parameters.{sinking} -264.4 d-1 npzd_det n_sinking_substeps 3")
    with error_naming(ConfigError, "calibration.yaml time.step npzd_det 1.67 cells n_sinking_substeps 2"):
        build(w_d=-200.0)
    build(w_d=-120.0)  # exactly a cell


@pytest.mark.long
def test_python_is_told_what_the_commands_say():
    growing = NPZD(rmax=10.0, rpdu=4.0, rpdl=4.0)
    term = Biogeochemistry({"npzd": growing}, scheme=Euler(), n_sinking_substeps=2)
    dark = tl.ConstantForcing(tl.SurfaceFluxes(stress_u=0.05))
    case = dataclasses.replace(column(term, dark, npzd_phy=0.5), duration=5 * DAY)
    defaults, light = notes_on(case)
    assert not missing_from(defaults, "terms.life npzd_nut npzd_zoo npzd_det") and "npzd_phy" not in defaults
    assert not missing_from(light, "terms.life light npzd shortwave_flux")
    run = tl.simulate(tl.Model(tl.KEpsilon()), case, dt=DAY / 2, output_interval=DAY)
    (negative,) = set(notes_on(case, run)) - {defaults, light}
    least = run.state.tracers["npzd_det"]
    assert not missing_from(negative, "terms.life npzd_det mmol day n_substeps")
    assert f"{float(least.min()):.3g} mmol" in negative
