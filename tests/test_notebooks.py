"""The notebooks run from top to bottom, in an empty folder and a kernel of their own.

Cells with the tag `numbers` assert what the text says. `make test-all` runs the short ones, `make verify`
the others; `make test` looks up what they name.
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
NEED_DATA = ("02", "04", "05", "06", "07", "09", "12")
SHORT = ("01",)
LONGEST_CELL = 900  # [s]; the slowest compiles for about 90 s on two idle cores


def read(name: str) -> nbformat.NotebookNode:
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def plain(source: str) -> str:
    """A cell as Python, with nothing in place of its magics."""
    return re.sub(r"^( *)%.*$", r"\1pass", source, flags=re.MULTILINE)


NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb"))


def _of_tier(name: str):
    return pytest.param(name, marks=pytest.mark.long if name[:2] in SHORT else pytest.mark.study, id=name)


@pytest.mark.parametrize("name", [_of_tier(name) for name in NAMES])
# The kernel is a process of its own: what its client and the sockets between them warn of is not ours.
@pytest.mark.filterwarnings("default")
def test_notebook_runs(name, tmp_path, monkeypatch):
    if name[:2] in NEED_DATA and not os.environ.get("TUNAX_LITE_DATA"):
        pytest.skip("$TUNAX_LITE_DATA is not set")
    monkeypatch.delenv("MPLBACKEND", raising=False)  # figures go into the notebook
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))  # no start-up files of the user
    notebook = read(name)
    resources = {"metadata": {"path": str(tmp_path)}}
    # Raises CellExecutionError with the cell and its traceback.
    NotebookClient(notebook, timeout=LONGEST_CELL, kernel_name="python3", resources=resources).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 2


def missing_names(tree: ast.Module) -> list[str]:
    """Names of modules of the package that a program uses and that are not there."""
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
    used = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    named = [(node.value.id, node.attr) for node in used if isinstance(node.value, ast.Name)]
    return [f"{of}.{name}" for of, name in named if of in modules and not hasattr(modules[of], name)]


def test_notebooks_name_what_is_there_open_elsewhere_and_hold_no_outputs():
    assert {*NEED_DATA, *SHORT} <= {name[:2] for name in NAMES}
    project = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for name in NAMES:
        notebook = read(name)
        nbformat.validate(notebook)
        assert (FOLDER / f"{name}.ipynb").stat().st_size < 50_000, name  # outputs would be megabytes
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert not [cell for cell in code if cell.outputs or cell.execution_count is not None], name
        assert not missing_names(ast.parse("\n".join(plain(cell.source) for cell in code))), name
        assert "install" in code[0].metadata.tags, name
        install = r'^    %pip install --quiet "tunax_lite(?:\[(.*)\])?"$'
        (extras,) = re.findall(install, code[0].source, re.MULTILINE)
        assert set(filter(None, extras.split(","))) <= set(project["optional-dependencies"]), name
