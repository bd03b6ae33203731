"""What thick cells alone cost: `python -m benchmarks.cells`.

The large-eddy simulations of configs/comparisons/les.yaml, averaged to cells and judged there as runs are:
root mean square errors of temperature at the levels of the simulation [mK], below which no closure can be
expected to be.
"""

import argparse
import dataclasses
import json
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import tunax_lite as tl
from tunax_lite.calibration import Target
from tunax_lite.calibration.comparison import VARIABLES
from tunax_lite.calibration.target import errors_of_states, initial_states
from tunax_lite.column.case import remap
from tunax_lite.config import load_comparison
from tunax_lite.config.build import case_on_grids


def error(native: Target, target: Target) -> float:
    """Error of the simulation of a target on its native grid, averaged to the cells of another one."""
    own, grid, profiles = native.case.grid, target.case.grid, native.observations.profiles
    averaged = {name: remap(jnp.asarray(profiles[name]).T, own, grid).T for name in VARIABLES}
    start = initial_states(target.case, len(averaged["u"]))
    states = dataclasses.replace(start, **averaged)
    return 1e3 * errors_of_states(target.comparison, states)["temperature"].root_mean_square


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cells", nargs="+", type=float, default=[1.0, 2.0, 4.0, 8.0], metavar="M")
    cells = parser.parse_args().cells
    tl.configure(precision="float64")
    path, once = Path("configs/comparisons/les.yaml"), "time.dt=60.0"
    native = load_comparison(path, [once, "grid={kind: native}"])
    grids = [{"kind": "uniform", "cell_thickness": thickness} for thickness in cells]
    setup = load_comparison(path, [once, f"grid={json.dumps(grids)}"])
    print("| simulation |", " | ".join(f"{thickness:g} m" for thickness in cells), "|")
    print("| --- |", " | ".join(["---:"] * len(cells)), "|")
    rows = []
    for index in range(len(setup.config.cases)):
        ((simulation,),) = case_on_grids(native, index).values()
        rows.append([error(simulation, target) for (target,) in case_on_grids(setup, index).values()])
        print(f"| {simulation.case.name} |", " | ".join(f"{each:.1f}" for each in rows[-1]), "|", flush=True)
    for name, summary in (("mean", np.mean(rows, axis=0)), ("largest", np.max(rows, axis=0))):
        print(f"| {name} |", " | ".join(f"{each:.1f}" for each in summary), "|")


if __name__ == "__main__":
    main()
