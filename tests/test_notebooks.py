"""The notebooks run from top to bottom, in an empty folder and a kernel of their own.

Cells with the tag `numbers` assert what the text says. `make test` runs the longer notebooks with fewer
iterations, in programs that compile quickly, and without those cells; `make test-all` runs them as they are.
"""

import os
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
}
# What is written otherwise where a notebook would take long: its text, and what stands for it.
SHORTER = {
    "02_calibrate_on_les": {"n_iterations=30": "n_iterations=2"},
    "03_cost_of_the_gradient": {
        "N_STEPS = [300, 3000, 10000]": "N_STEPS = [300]",
        "SIZES = [16, 64, 256, 1024]": "SIZES = [16]",
        "turns=5": "turns=1",
        "turns=3 if n_steps < 5000 else 1": "turns=1",
    },
    "05_neural_closure": {"n_iterations=80": "n_iterations=2"},
    "06_state_estimation_papa": {"LevenbergMarquardt(), 6,": "LevenbergMarquardt(), 2,"},
    "07_which_method": {
        "(Adam(0.1, CosineDecay(60, 3)), 60, free_parameters)": "(Adam(0.1), 2, free_parameters)",
        "(LBFGS(), 40, free_parameters)": "(LBFGS(), 2, free_parameters)",
        "(LevenbergMarquardt(), 15, free_parameters)": "(LevenbergMarquardt(), 2, free_parameters)",
        "(LevenbergMarquardt(), 10, free_parameters)": "(LevenbergMarquardt(), 2, free_parameters)",
        "(ensemble, 12, free_parameters)": "(ensemble, 2, free_parameters)",
        "(ensemble, 6, free_parameters)": "(ensemble, 2, free_parameters)",
        "iterations_each=10": "iterations_each=1",
        "(several, 40, free_parameters)": "(several, 6, free_parameters)",
        "(LevenbergMarquardt(), 15, from_ensemble)": "(LevenbergMarquardt(), 2, from_ensemble)",
    },
    "08_posterior": {
        "n_draws=60, n_warmup=40": "n_draws=4, n_warmup=20",
        "nuts.subset(24)": "nuts.subset(2)",
    },
}
LONGEST_CELL = 900  # [s]; the slowest compiles for about 90 s on two idle cores


def read(name: str) -> nbformat.NotebookNode:
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb"))


def test_there_are_notebooks():
    assert NAMES == [
        "01_first_run",
        "02_calibrate_on_les",
        "03_cost_of_the_gradient",
        "04_ocean_weather_station_papa",
        "05_neural_closure",
        "06_state_estimation_papa",
        "07_which_method",
        "08_posterior",
    ]


def shorter(notebook: nbformat.NotebookNode, name: str) -> None:
    """Write the smaller numbers in, and leave out the cells that hold for the others."""
    notebook.cells = [cell for cell in notebook.cells if "numbers" not in cell.metadata.get("tags", [])]
    for text, instead in SHORTER[name].items():
        cells = [cell for cell in notebook.cells if cell.cell_type == "code" and text in cell.source]
        assert cells, f"{name}: {text!r} is in none of its cells"
        for cell in cells:
            cell.source = cell.source.replace(text, instead)


LENGTHS = [
    *(pytest.param(name, name not in SHORTER, id=name) for name in NAMES),
    *(pytest.param(name, True, id=f"{name}-whole", marks=pytest.mark.long) for name in SHORTER),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "whole"), LENGTHS)
# The kernel is a process of its own: what its client and the sockets between them warn of is not ours.
@pytest.mark.filterwarnings("default")
def test_notebook_runs(name, whole, tmp_path, monkeypatch):
    if name in NEEDS_DATA and not os.environ.get("TUNAX_LITE_DATA"):
        pytest.skip(f"$TUNAX_LITE_DATA is not set: needs {NEEDS_DATA[name]} below that folder")
    monkeypatch.delenv("MPLBACKEND", raising=False)  # figures go into the notebook
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))  # no start-up files of the user
    notebook = read(name)
    if not whole:
        monkeypatch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
        shorter(notebook, name)
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
def test_notebook_is_stored_without_outputs(name):
    for cell in read(name).cells:
        assert cell.cell_type != "code" or (cell.outputs == [] and cell.execution_count is None)


def test_first_run_takes_ten_lines():
    cells = [cell for cell in read("01_first_run").cells if "ten-lines" in cell.metadata.get("tags", [])]
    assert len(cells) == 1
    lines = [line for line in cells[0].source.splitlines() if line.strip()]
    assert len(lines) <= 10
    for needed in ("read_", "Grid.", "Model(KEpsilon())", "simulate(", ".plot(", "_and_grad("):
        assert needed in cells[0].source
