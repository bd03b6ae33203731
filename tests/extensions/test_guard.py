"""Every command that writes, against every product and input in its place: nothing is lost without a word."""

import ast
import importlib
import inspect
import shutil
from collections.abc import Callable
from pathlib import Path

import netCDF4
import pytest
import xarray as xr
import yaml
from matplotlib.figure import Figure
from typer.testing import CliRunner

from tests.cli import test_notes as notes
from tests.cli.running import invoked
from tests.extensions.assimilation.test_command import CONFIG as ASSIMILATION
from tests.extensions.board.material import write_board
from tests.extensions.gotm.folders import write_case
from tests.extensions.sites.material import write_data
from tests.plausibility.inputs import cf_simulation, simulated
from tunax_lite.cli.commands import app
from tunax_lite.io.protection import OverwriteError, check_outputs, make_folder, mark_of, protecting, remove
from tunax_lite.plotting import save_figure

ROOT = Path(__file__).parents[2]
MAP = str(ROOT / "configs/maps/synthetic.yaml")
SHORT_MAP = ["--set", "time.duration=172800", "--set", "model.closure.name=pacanowski_philander"]
SITE = "--latitude 50.1 --longitude -144.9 --start 2012-06-10 --stop 2012-06-11".split()
WRITTEN_YAML = "closure: KEpsilon\n{}:\n  method: adam\nprovenance:\n  tunax_lite_version: 0.2.0\n"
PAGE = "<!-- tunax_lite product: report of other -->\n"


def _netcdf(path: Path, *variables: str, **attributes: str) -> None:
    with netCDF4.Dataset(path, "w") as file:
        file.setncatts({"tunax_lite_version": "0.2.0", "tunax_lite_config": "other"} | attributes)
        for name in variables:
            file.createVariable(name, "f8", ())


def _figure(path: Path) -> None:
    with protecting():
        check_outputs([path], overwrite=True, product="figures of other.nc")
        plain = path.with_name("figure.png")
        check_outputs([plain], overwrite=True, product="figures of other.nc")
        save_figure(Figure(), plain)
        plain.rename(path)


PRODUCTS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "run": (".nc", lambda path: _netcdf(path, closure_state="KEpsilonState")),
    "history": (".nc", lambda path: _netcdf(path, "loss")),
    "posterior": (".nc", lambda path: _netcdf(path, "information")),
    "parameters": (".yaml", lambda path: path.write_text(WRITTEN_YAML.format("calibration"))),
    "summary": (".yaml", lambda path: path.write_text(WRITTEN_YAML.format("posterior"))),
    "checkpoint": (".eqx", lambda path: path.write_text('{"fingerprint": {}}\n')),
    "mode": (".eqx", lambda path: path.write_text('{"fingerprint": {}, "likelihood": [1]}\n')),
    "figure": (".png", _figure),
    "page": (".html", lambda path: path.write_text(PAGE)),
    "table": (".md", lambda path: path.write_text(PAGE)),
    "user": (".csv", lambda path: path.write_text("mine")),
}


def test_products_say_what_they_are(tmp_path):
    marks = {}
    for name, (ending, make) in PRODUCTS.items():
        make(tmp_path / f"{name}{ending}")
        marks[name] = mark_of(tmp_path / f"{name}{ending}")
    assert marks.pop("user") is None and marks.pop("run").startswith("run ")
    assert marks == {
        **{"history": "calibration", "parameters": "calibration", "checkpoint": "calibration"},
        **{"posterior": "posterior", "summary": "posterior", "mode": "posterior"},
        **{"figure": "figures of other.nc", "page": "report of other", "table": "report of other"},
    }


# What each option for an output makes of the material below; without an option it is the default.
OUTPUTS = {
    ("run", "output"): ["run", "run.yaml", "--output", "out.nc"],
    ("run", ""): ["run", "run.yaml", "--set", "output={folder: out, figures: true}"],
    ("demo", "output"): ["demo", "--output", "out"],
    ("calibrate", "output"): ["calibrate", "calibration.yaml", "--output", "out"],
    ("cross-validate", "output"): ["cross-validate", "calibrations.yaml", "--output", "out"],
    ("posterior", "output"): ["posterior", "calibration.yaml", "--output", "out"],
    ("compare", "output"): ["compare", "comparison.yaml", "--output", "out"],
    ("evaluate", "output"): ["evaluate", "run.yaml", "--output", "out.csv"],
    ("report", "output"): ["report", "results/run.nc", "--output", "out.html"],
    ("plot", "output"): ["plot", "results/run.nc", "--output", "out"],
    ("check", "write_config"): ["check", "case/small.gotm.yaml", "--write-config", "out.yaml"],
    ("check", "figure"): ["check", "run.yaml", "--figure", "out.png"],
    ("budget", "figure"): ["budget", "results/run.nc", "--figure", "out.png"],
    ("schema", "output"): ["schema", "--output", "out.json"],
    ("board", "output"): ["board", "board/board.yaml", "--output", "out"],
    ("assimilate", "output"): ["assimilate", "assimilation.yaml", "--output", "out.nc"],
    ("assimilate", "figures"): ["assimilate", "assimilation.yaml", "--output", "out.nc", "--figures", "out"],
    ("assimilate", "report"): ["assimilate", "assimilation.yaml", "--output", "o.nc", "--report", "out.html"],
    ("map", "output"): ["map", "map.yaml", *SHORT_MAP, "--output", "out.zarr"],
    ("site", "output"): ["site", *SITE, "--data", "data", "--no-run", "--output", "out"],
}
READ = {"config", "configs", "parameters", "restart", "results", "file", "files"}
READ |= {"scheduler_file", "data", "sites"}
PRODUCING = [make for _, make in PRODUCTS.values()]


def test_the_table_has_every_output_of_every_command():
    options = {
        (one.name or one.callback.__name__.replace("_", "-"), name)
        for one in app.registered_commands
        if one.callback is not None
        for name, parameter in inspect.signature(one.callback).parameters.items()
        if "Path" in str(parameter.annotation) and name not in READ
    }
    assert options == {row for row in OUTPUTS if row[1]}


@pytest.fixture(scope="module")
def material(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("guard")
    cf_simulation(simulated(), folder)
    shutil.copy(folder / "les.nc", folder / "other.nc")
    with netCDF4.Dataset(folder / "other.nc", "a") as file:
        file.case = "other"
    one, other = ({"case": notes.CASE | {"path": str(folder / name)}} for name in ("les.nc", "other.nc"))
    calibration = notes.CALIBRATION | {"n_iterations": 1, "cases": [one]}
    shown = notes.RUN | one | {"output": {"figures": True}}
    for name, content in {
        "run": notes.RUN | one,
        "calibration": calibration | {"output": {"figures": False}},
        "calibrations": calibration | {"cases": [one, other], "output": {"figures": False}},
        "comparison": notes.COMPARISON | {"cases": [one["case"]]},
        "configs/runs/synthetic": shown,
        "configs/calibrations/synthetic": calibration,
    }.items():
        path = folder / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(content))
    given = yaml.safe_load(Path(MAP).read_text())
    given["map"]["paths"] = [str(ROOT / "data/synthetic_map.nc")]
    (folder / "map.yaml").write_text(yaml.safe_dump(given))
    (folder / "assimilation.yaml").write_text(ASSIMILATION)
    write_board(folder / "board")
    dates = [f"2020-01-01 {hour:02d}:00:00 12.1 0.1" for hour in (6, 12)]
    (folder / "sst.dat").write_text("\n".join(dates) + "\n")
    write_data(folder / "data")
    (folder / "case").mkdir()
    write_case(folder / "case")
    with_budgets = ["--set", "output.budgets=true"]
    invoked("run", folder / "run.yaml", *with_budgets, "--output", folder / "results/run.nc")
    return folder


def _marked(row: tuple[str, str]):
    is_slow = row[0] in ("demo", "posterior", "cross-validate") or not row[1]
    return pytest.param(row, id=" ".join(row), marks=pytest.mark.study if is_slow else pytest.mark.long)


@pytest.mark.parametrize("row", [_marked(row) for row in OUTPUTS])
def test_no_command_replaces_a_product_of_another_or_its_input(material, tmp_path, monkeypatch, row):
    place, arguments = tmp_path / "place", OUTPUTS[row]
    others = {"demo": "run.yaml", "schema": "run.yaml", "site": "data/era5/two_days.nc"}
    read = place / others.get(row[0], arguments[1])
    shutil.copytree(material, place)
    monkeypatch.chdir(place)
    monkeypatch.setattr(importlib.import_module("tunax_lite.cli.demo"), "_FOLDERS", (place / "configs",))
    invoked(*arguments)
    stores = {name[: name.index(".zarr/") + 5] for name in _contents(place) if ".zarr/" in name}
    written = sorted(stores or set(_contents(place)) - set(_contents(material)))
    links = () if row[0] == "schema" else (Path.symlink_to, Path.hardlink_to)
    for number, name in enumerate(written):
        attacks = [*_products(Path(name).suffix), _folder, *links]
        for attack in attacks if len(written) < 5 else attacks[number % len(attacks) :][:1]:
            shutil.rmtree(place)
            shutil.copytree(material, place)
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            attack(place / name) if attack in PRODUCING else attack(place / name, read)
            before = _contents(place)
            asked = [] if attack in PRODUCING else ["--overwrite"]
            ended = CliRunner().invoke(app, [*arguments, *asked])
            assert ended.exit_code in (2, 3), (name, attack, ended.output)
            assert _contents(place) == before, (name, attack)


def _products(ending: str) -> list[Callable[[Path], object]]:
    return [make for own, make in PRODUCTS.values() if own == ending] or [PRODUCTS["user"][1]]


def _folder(path: Path, _: Path) -> None:
    path.mkdir()
    (path / "mine.txt").write_text("mine")


@pytest.mark.long
def test_a_map_neither_replaces_nor_enters_its_input(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with xr.open_dataset(ROOT / "data/synthetic_map.nc", decode_times=False) as found:
        found.load().drop_encoding().to_zarr("sea.zarr", zarr_format=3, consolidated=False)
    Path("link").symlink_to("sea.zarr")
    before = _contents(tmp_path / "sea.zarr")
    command = ["map", MAP, *SHORT_MAP, "--set", "map.paths=sea.zarr", "--output"]
    for output in ("sea.zarr", "sea.zarr/new/out.zarr", "link"):
        for options in ([], ["--overwrite"]):
            said = invoked(*command, output, *options, code=2).output
            assert "one of them" in said or "inside of" in said, said
    inside = invoked("schema", "--output", "sea.zarr/schema.json", "--overwrite", code=2).output
    assert "expected a path outside of Zarr stores" in inside
    assert _contents(tmp_path / "sea.zarr") == before


def test_only_marked_folders_are_removed(tmp_path):
    folder = tmp_path / "made"
    make_folder(folder)
    (folder / "more").mkdir()
    make_folder(folder)  # anew
    assert [path.name for path in folder.iterdir()] == [".tunax_lite"]
    remove(folder)
    remove(folder)
    assert not folder.exists()
    folder.mkdir()
    remove(folder)  # empty: nothing is lost
    folder.mkdir()
    for path in (folder / "notes.txt", tmp_path / "file"):
        path.write_text("mine")
    for place in (folder, tmp_path / "file"):
        with pytest.raises(OverwriteError):
            remove(place)
        assert place.exists()


def _contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


# What removes files itself: the guard, temporary files, and places that only this package knows.
REMOVING = {"io/protection.py", "io/writing.py", "runtime/interrupts.py", "runtime/cache.py"}
REMOVING |= {"runtime/engine/cluster.py", "extensions/maps/store.py"}  # incomplete shards in its own store


def test_everything_else_removes_through_the_guard():
    for path in (ROOT / "tunax_lite").rglob("*.py"):
        tree = ast.walk(ast.parse(path.read_text("utf-8")))
        calls = {node.attr for node in tree if isinstance(node, ast.Attribute)}
        name = path.relative_to(ROOT / "tunax_lite").as_posix()
        assert name in REMOVING or not calls & {"unlink", "rmtree", "remove", "removedirs"}, name
