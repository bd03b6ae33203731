"""The notebooks run from top to bottom, in an empty folder and a kernel of their own.

Cells with the tag `numbers` assert what the text says. `make test-all` runs all notebooks as they are.
`make test` runs the first up to the second such cell, compiled quickly; in all it looks up what they name.
"""

import ast
import importlib
import inspect
import os
import re
import tomllib
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "notebooks"
NEEDS_DATA = {
    "02_calibrate_on_les": "lesbrary/*.jld2",
    "04_ocean_weather_station_papa": "gotm_cases/ows_papa",
    "05_neural_closure": "lesbrary/*.jld2 and les_legay",
    "06_state_estimation_papa": "gotm_cases/ows_papa",
    "07_which_method": "lesbrary/*.jld2",
    "09_papa_hindcast": "gotm_cases/papa_2010_2014, moorings/papa_hourly and moorings/oce_papa",
    "12_surface_of_papa": "gotm_cases/papa_2010_2014 and moorings/oce_papa",
}
QUICK = "01_first_run"
LONGEST_CELL = 900  # [s]; the slowest compiles for about 90 s on two idle cores


def read(name: str) -> nbformat.NotebookNode:
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def plain(source: str) -> str:
    """A cell as Python, with nothing in place of its magics."""
    return re.sub(r"^( *)%.*$", r"\1pass", source, flags=re.MULTILINE)


NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb"))


def test_there_are_notebooks():
    assert len(NAMES) >= 8 and {QUICK, *NEEDS_DATA} <= set(NAMES)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n_numbers"),
    [
        pytest.param(QUICK, 2, id="beginning"),
        *(pytest.param(n, None, marks=pytest.mark.long, id=n) for n in NAMES),
    ],
)
# The kernel is a process of its own: what its client and the sockets between them warn of is not ours.
@pytest.mark.filterwarnings("default")
def test_notebook_runs(name, n_numbers, tmp_path, monkeypatch):
    if name in NEEDS_DATA and not os.environ.get("TUNAX_LITE_DATA"):
        pytest.skip(f"$TUNAX_LITE_DATA is not set: needs {NEEDS_DATA[name]} below that folder")
    monkeypatch.delenv("MPLBACKEND", raising=False)  # figures go into the notebook
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))  # no start-up files of the user
    notebook = read(name)
    if n_numbers is not None:
        monkeypatch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
        of_numbers = [
            i for i, cell in enumerate(notebook.cells) if "numbers" in cell.metadata.get("tags", [])
        ]
        del notebook.cells[of_numbers[n_numbers - 1] + 1 :]
    resources = {"metadata": {"path": str(tmp_path)}}
    # Raises CellExecutionError with the cell and its traceback.
    NotebookClient(notebook, timeout=LONGEST_CELL, kernel_name="python3", resources=resources).execute()
    figures = [
        output
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    assert len(figures) >= 2


@pytest.mark.parametrize("name", NAMES)
def test_what_a_notebook_names_of_the_package_is_there(name):
    tree = ast.parse("\n".join(plain(cell.source) for cell in read(name).cells if cell.cell_type == "code"))
    modules = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("tunax_lite"):
                    modules[alias.asname or alias.name] = importlib.import_module(alias.name)
        elif isinstance(node, ast.ImportFrom) and str(node.module).startswith("tunax_lite"):
            module = importlib.import_module(str(node.module))
            for alias in node.names:
                found = getattr(module, alias.name)
                if inspect.ismodule(found):
                    modules[alias.asname or alias.name] = found
    assert modules or name == QUICK  # which names all that it uses
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            getattr(modules[node.value.id], node.attr)


@pytest.mark.parametrize("name", NAMES)
def test_notebook_is_stored_without_outputs(name):
    for cell in read(name).cells:
        assert cell.cell_type != "code" or (cell.outputs == [] and cell.execution_count is None)


@pytest.mark.parametrize("name", NAMES)
def test_notebook_opens_elsewhere(name):
    """Valid, small, and its first cell with code installs the package, with extras that there are."""
    notebook = read(name)
    nbformat.validate(notebook)
    assert (FOLDER / f"{name}.ipynb").stat().st_size < 50_000  # of text; outputs would be megabytes
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in code:
        compile(plain(cell.source), name, "exec")
    assert "install" in code[0].metadata.tags
    (extras,) = re.findall(
        r'^    %pip install --quiet "tunax_lite(?:\[(.*)\])?"$', code[0].source, re.MULTILINE
    )
    project = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(filter(None, extras.split(","))) <= set(project["optional-dependencies"])


def test_published_notebooks_install_from_the_repository(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(FOLDER.parent / "docs")
    published = importlib.import_module("published")
    written = {path.stem: path for path in published.write_notebooks(tmp_path, "owner/name")}
    assert sorted(written) == NAMES
    cell = nbformat.read(written["08_posterior"], as_version=4).cells[1]
    assert cell.source.endswith(' "tunax_lite[posterior] @ git+https://github.com/owner/name"')
    page = (FOLDER.parent / "docs/notebooks.md").read_text(encoding="utf-8")
    linked = published.with_links(page, "owner/name")
    for name in NAMES:
        assert f"](../notebooks/{name}.ipynb) (" in linked
        assert f"google.com/github/owner/name/blob/gh-pages/notebooks/{name}.ipynb)" in linked
        assert f"/gh/owner/name/main?urlpath=lab/tree/notebooks/{name}.ipynb)" in linked


def test_first_run_takes_ten_lines():
    cells = [cell for cell in read(QUICK).cells if "ten-lines" in cell.metadata.get("tags", [])]
    assert len(cells) == 1
    lines = [line for line in cells[0].source.splitlines() if line.strip()]
    assert len(lines) <= 10
    for needed in ("read_", "Grid.", "Model(KEpsilon())", "simulate(", ".plot(", "_and_grad("):
        assert needed in cells[0].source
