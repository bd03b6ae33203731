"""The guide: its examples run, its own model conserves, and its table names the models that exist."""

import re
from pathlib import Path

import pytest

from tests.cli.running import invoked
from tunax_lite.declarations import names_of
from tunax_lite.extensions.biogeochemistry import AbstractBiogeochemicalModel
from tunax_lite.extensions.biogeochemistry.fabm import MODELS

PAGE = (Path(__file__).parents[3] / "docs/biogeochemistry.md").read_text(encoding="utf-8")


@pytest.mark.long
def test_the_examples_of_the_page_run(capsys):
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        exec(compile(block, "biogeochemistry.md", "exec"), names)  # noqa: S102
    assert "npzd_nut" in capsys.readouterr().out


@pytest.mark.long
def test_the_calibration_of_pools_is_one(tmp_path, monkeypatch):
    page = (Path(__file__).parents[3] / "docs/calibration/ecosystems.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL)
    (tmp_path / "calibration.yaml").write_text(block, encoding="utf-8")
    rows = [
        f"2015-03-{day:02d}T00:00:00,{z},{4.0 - 0.1 * day},{0.1 * day}" for day in (4, 7) for z in (2.5, 52.5)
    ]
    (tmp_path / "pools.csv").write_text("\n".join(["time,depth,nitrate,phytoplankton", *rows]) + "\n")
    monkeypatch.chdir(tmp_path)
    said = invoked("check", "calibration.yaml").output
    assert "free: cases.station.terms.life.models.npzd.rmax from 1 [d-1]" in said
    assert "observed npzd_nut" in said and "weights: npzd_nut 1, npzd_phy 1" in said


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
