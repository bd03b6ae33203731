"""What `schema` and `describe` say: shipped files are valid, broken ones are not, every name is described."""

import json
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner

from tests.errors import missing_from
from tunax_lite.cli.commands import app
from tunax_lite.config.builder import keys_of
from tunax_lite.config.json_schema import configurations, json_schema
from tunax_lite.config.names import describe
from tunax_lite.declarations import all_names, meanings
from tunax_lite.io.yaml_file import read_document

ROOT = Path(__file__).parents[2]
KINDS = ("run", "calibration", "comparison", "map", "assimilation", "board")
FILES = [(kind, path) for kind in KINDS for path in sorted((ROOT / f"configs/{kind}s").iterdir())]
CASE = {"format": "idealised", "depth": 50.0, "duration": 7200.0, "temperature": 20.0}


@pytest.mark.long
def test_shipped_configurations_follow_the_schema_and_broken_ones_do_not():
    schemas = {kind: json_schema(kind) for kind in configurations()}
    validators = {kind: jsonschema.Draft202012Validator(schema) for kind, schema in schemas.items()}
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    for kind, path in FILES:
        found = [error.message for error in validators[kind].iter_errors(read_document(path).data)]
        assert found == [], path
    for broken, place in (
        ({"tme": {}}, []),
        ({"time": {"dt": "fast"}}, ["time", "dt"]),
        ({"model": {"theta": 2.0}}, ["model", "theta"]),
        ({"model": {"closure": {"name": "k_epsilon", "option": {}}}}, ["model", "closure"]),
    ):
        (error,) = validators["run"].iter_errors({"case": CASE, **broken})
        assert list(error.absolute_path)[-len(place) or None :] == place


def test_every_name_is_described_with_all_that_a_file_may_set():
    for each in all_names():
        for name in keys_of(each.kind):
            assert meanings(each.kind).get(name), f"{each.kind.__name__}.{name} in Args"
        assert any(found.kind is each.kind and found.summary for found in describe(each.name)), each


def test_commands_show_what_a_configuration_may_hold():
    runner = CliRunner()
    shown = runner.invoke(app, ["describe", "k_epsilon"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    assert not missing_from(shown.output, "c_eps_1 1.44 1 2.5 stability.cc1 canuto_a Rodi 1987")
    unknown = runner.invoke(app, ["describe", "k_epsilom"])
    assert unknown.exit_code == 2 and not missing_from(unknown.output, "k_epsilon")
    assert json.loads(runner.invoke(app, ["schema", "run"]).stdout) == json_schema("run")
    assert runner.invoke(app, ["schema", "rnu"]).exit_code == 2
