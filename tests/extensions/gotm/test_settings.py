"""Configurations of GOTM: defaults, the forms that values take, and errors with file and line."""

from pathlib import Path

import pytest

from tests.errors import error_naming, missing_from
from tests.extensions.gotm.folders import case_data, write_case
from tunax_lite.config import ConfigError
from tunax_lite.extensions.gotm.case import build_gotm, load_gotm
from tunax_lite.extensions.gotm.older import up_to_date
from tunax_lite.extensions.gotm.settings import Settings, looks_like_gotm
from tunax_lite.io.yaml_file import read_document


def settings_of(folder: Path, text: str) -> Settings:
    path = folder / "case.gotm.yaml"
    path.write_text(text)
    settings = Settings(*up_to_date(read_document(path)))
    settings.check()
    return settings


def refused(folder: Path, text: str) -> str:
    with pytest.raises(ConfigError) as error:
        settings_of(folder, text)
    return str(error.value)


def test_what_the_file_does_not_say_is_at_gotms_default(tmp_path):
    settings = settings_of(tmp_path, "version: 7\n")
    for path, expected in (
        ("turbulence.turb_method", "second_order"),
        ("turbulence.turb_param.k_min", 1e-10),
        ("temperature.method", "off"),
        ("mimic_3d.w.max.method", "off"),
        ("light_extinction.g2.constant_value", 8.0),
        ("velocities.relax.tau", 1e15),
    ):
        assert settings[path] == expected, path


def test_values_take_the_forms_that_gotm_takes(tmp_path):
    for text, path, expected in (
        ("turbulence: {turb_method: 2}", "turbulence.turb_method", "first_order"),
        ("turbulence: {turb_method: First_Order}", "turbulence.turb_method", "first_order"),
        ("surface: {swr: {type: net shortwave radiation}}", "surface.swr.type", "net"),
        ("turbulence: {turb_param: {k_min: 1.0D-6}}", "turbulence.turb_param.k_min", 1e-6),
        ("turbulence: {turb_param: {length_lim: .false.}}", "turbulence.turb_param.length_lim", False),
        ("turbulence: {turb_param: {ri_st: 0.2}}", "turbulence.turb_param.Ri_st", 0.2),
        ("surface: {u10: 7.5}", "surface.u10.constant_value", 7.5),
        ("temperature: {method: off}", "temperature.method", "off"),
        ("temperature: {relax: }", "temperature.relax.tau", 1e15),
    ):
        assert settings_of(tmp_path, f"version: 7\n{text}\n")[path] == expected, text


def test_keys_and_values_that_cannot_be_are_refused_with_their_lines(tmp_path):
    message = refused(tmp_path, "version: 7\ngrid:\n   nlevs: 10\nsurface:\n   u_10: 3\n")
    assert not missing_from(message, f"{tmp_path}/case.gotm.yaml line 3 5 grid.nlev surface.u_10 surface.u10")
    for text, parts in (
        ("k_min: 1", "turbulence.turb_param.k_min"),
        ("location: {latitude: 95}", "2 location.latitude -90 90 95"),
        ("grid: {nlev: 10.5}", "grid.nlev whole 10.5"),
        ("time: {dt: .nan}", "time.dt number nan"),
        ("turbulence: {len_scale_method: disipation}", "len_scale_method dissipation"),
        ("fabm: {use: maybe}", "fabm.use true false maybe"),
        ("grid: 10", "grid group 10"),
        ("time: {dt: {a: 1}}", "time.dt one keys"),
        ("turbulence: {epsprof: 3}", "turbulence.epsprof group"),
    ):
        message = refused(tmp_path, f"version: 7\n{text}\n")
        assert not missing_from(message, parts), message
    for version in ("4", "8", "seven", "true"):
        message = refused(tmp_path, f"version: {version}\ntitle: old\n")
        assert not missing_from(message, "line 1 version 5 6 7 update_setup.py"), message


def test_all_keys_and_then_the_first_contradiction_or_file(tmp_path):
    backwards = {"time": {"stop": "2010-03-02 00:00:00"}}
    profiles = {"temperature": {"method": "file", "file": "t.dat"}}
    misspelt, wrong = {"grid": {"nlevs": 8}}, {"turbulence": {"keps": {"ce2": "abc"}}}
    for changes, kind, parts in (
        ((misspelt, wrong, backwards), ConfigError, "grid.nlevs turbulence.keps.ce2"),
        ((backwards, profiles), ConfigError, "time.stop"),
        ((profiles,), FileNotFoundError, "temperature.file t.dat"),
    ):
        with error_naming(kind, parts):
            build_gotm(load_gotm(write_case(tmp_path, *changes)))


def test_gotm_files_are_told_from_ours():
    assert looks_like_gotm(case_data())
    assert looks_like_gotm({"location": {}, "time": {}})
    assert not looks_like_gotm({"case": {"format": "idealised"}, "grid": {}, "time": {}})
    assert not looks_like_gotm({"cases": [], "parameters": {}})
