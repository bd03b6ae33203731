"""The guide: its examples run, its own model conserves, and its table names the models that exist."""

import re
from pathlib import Path

import pytest

from tests.cli.running import invoked
from tunax_lite.config import load_calibration
from tunax_lite.declarations import names_of
from tunax_lite.extensions.biogeochemistry import AbstractBiogeochemicalModel
from tunax_lite.extensions.biogeochemistry.fabm import MODELS

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "biogeochemistry.md").read_text(encoding="utf-8")


@pytest.mark.long
def test_the_examples_of_the_page_run(capsys):
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        exec(compile(block, "biogeochemistry.md", "exec"), names)  # noqa: S102
    assert "npzd_nut" in capsys.readouterr().out


def test_the_calibration_of_pools_is_one(tmp_path):
    page = (DOCS / "calibration/ecosystems.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL)
    (tmp_path / "calibration.yaml").write_text(block, encoding="utf-8")
    config = load_calibration(tmp_path / "calibration.yaml").config
    assert "cases.station.terms.life.models.npzd.rmax" in config.parameters
    assert config.misfit.weights == {"npzd_nut": 1.0, "npzd_phy": 1.0}


def test_describe_lists_what_a_file_can_name():
    for name, kind in names_of(AbstractBiogeochemicalModel).items():
        said = invoked("describe", name, env={"COLUMNS": "120"}).output
        model = kind.make()
        for pool in model.pools():
            row = rf"(?m)^{pool.name} +{re.escape(pool.unit)} +{pool.initial:g} +{re.escape(pool.meaning)}"
            assert re.search(row, said), (name, pool)
        named = [*model.links(), *model.measurable()]
        assert all(re.search(rf"\b{one}\b", said.partition("pools with")[2]) for one in named), name


def test_the_table_names_every_model():
    rows = dict(re.findall(r"^\| `(\w+)` \| (?:`([\w/]+)` )?\|", PAGE, flags=re.MULTILINE))
    assert rows.keys() == names_of(AbstractBiogeochemicalModel).keys()
    assert {theirs: ours for ours, theirs in rows.items() if theirs} == MODELS
