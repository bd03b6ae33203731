"""What thick cells alone cost: `python -m benchmarks.cells`.

The large-eddy simulations of configs/comparisons/les.yaml, averaged to cells and judged there as runs are:
root mean square errors of temperature at the levels of the simulation [mK], below which no closure can be
expected to be.
"""

import argparse
import dataclasses
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import tunax_lite as tl
from tunax_lite.calibration.comparison import VARIABLES, Judging, Reference
from tunax_lite.calibration.target import errors_of_states
from tunax_lite.column.case import remap
from tunax_lite.config.comparison import load_comparison


def error(reference: Reference, thickness: float, start: float, averaging: str) -> float:
    """Error of the averaged simulation in cells of a thickness [m] from a time on [s]."""
    target = reference.target(thickness, Judging(start, averaging=averaging))
    case, own, profiles = target.case, reference.case.grid, reference.observations.profiles
    averaged = {name: remap(jnp.asarray(profiles[name]).T, own, case.grid).T for name in VARIABLES}
    start_state = jax.tree.map(
        lambda x: jnp.broadcast_to(x, (len(averaged["u"]), *jnp.shape(x))), case.start_state
    )
    states = dataclasses.replace(start_state, **averaged)
    return 1e3 * errors_of_states(target.comparison, states)["temperature"].root_mean_square


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cells", nargs="+", type=float, default=[1.0, 2.0, 4.0, 8.0], metavar="M")
    cells = parser.parse_args().cells
    tl.configure(precision="float64")
    setup = load_comparison(Path("configs/comparisons/les.yaml"))
    print("| simulation |", " | ".join(f"{thickness:g} m" for thickness in cells), "|")
    print("| --- |", " | ".join(["---:"] * len(cells)), "|")
    rows = []
    for index in range(len(setup.config.cases)):
        reference = setup.reference(index)
        how = setup.config.start, setup.config.averaging
        rows.append([error(reference, thickness, *how) for thickness in cells])
        print(f"| {reference.case.name} |", " | ".join(f"{each:.1f}" for each in rows[-1]), "|", flush=True)
    for name, summary in (("mean", np.mean(rows, axis=0)), ("largest", np.max(rows, axis=0))):
        print(f"| {name} |", " | ".join(f"{each:.1f}" for each in summary), "|")


if __name__ == "__main__":
    main()
