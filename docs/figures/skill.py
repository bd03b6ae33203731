"""The errors behind docs/results.md, their figure, and Kato and Phillips' experiment.

`python docs/figures/skill.py COMPARISON.csv` stores the errors that `tunax-lite compare
configs/comparisons/les.yaml` wrote, in cells of 2 m with steps of 60 s, as benchmarks/les_errors.csv [mK].
Without a file it only draws the figure of the stored errors. `python docs/figures/skill.py law NAME ...`
prints the depths of the mixed layer of closures against the law.
"""

import csv
import io
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

import tunax_lite as tl
from tunax_lite.config.closures import ClosureSection

ERRORS = Path(__file__).parents[2] / "benchmarks" / "les_errors.csv"
GRID, TIME_STEP = "cells of 2 m", 60.0  # [s]
COLOURS = {"default": "tab:blue", "recommended": "tab:red"}


def store(comparison: Path) -> None:
    """Write the errors of a comparison [mK], a line for each closure and a column for each simulation."""
    errors: dict[str, dict[str, float]] = {}
    with comparison.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if (row["variable"], row["grid"], float(row["dt"])) == ("temperature", GRID, TIME_STEP):
                errors.setdefault(row["closure"], {})[row["case"]] = 1e3 * float(row["root_mean_square"])
    simulations = list(next(iter(errors.values())))
    with ERRORS.open("w", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["closure", *simulations])
        for closure in sorted(errors):
            writer.writerow([closure, *(f"{errors[closure][name]:.2f}" for name in simulations)])


def read() -> dict[str, np.ndarray]:
    """Stored errors of each closure [mK]."""
    with ERRORS.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {row.pop("closure"): np.array([float(value) for value in row.values()]) for row in rows}


def draw(errors: dict[str, np.ndarray]) -> Figure:
    """Draw each simulation as a dot and each median as a diamond, for default and recommended constants."""
    recommended = [name.removesuffix("_recommended") for name in errors if name.endswith("_recommended")]
    recommended.sort(key=lambda name: np.median(errors[f"{name}_recommended"]))
    figure = Figure(figsize=(7.2, 5.0), layout="constrained")
    ax = figure.subplots()
    for row, name in enumerate(recommended):
        for offset, (kind, colour) in zip((-0.17, 0.17), COLOURS.items(), strict=True):
            values = errors[name if kind == "default" else f"{name}_recommended"]
            ax.plot(values, np.full(values.size, row + offset), ".", color=colour, alpha=0.35, markersize=6)
            label = f"{kind} constants" if row == 0 else None
            ax.plot(np.median(values), row + offset, "D", color=colour, markersize=7, label=label)
    ax.axvline(np.median(errors["persistence"]), color="0.5", linestyle="--", label="initial profile, median")
    ax.set_yticks(range(len(recommended)), [name.replace("_", "-") for name in recommended])
    ax.set(xscale="log", xlim=(0.5, 200.0), xlabel="rms error of temperature [mK]")
    ax.set_xticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
    ax.invert_yaxis()
    ax.grid(axis="x", alpha=0.3)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
    return figure


def law_difference(name: str) -> np.ndarray:
    """Relative difference of the mixed layer depth from 1.05 u* sqrt(t / N) after 6, 12, 18 and 24 h.

    The base is the face of the largest stratification, in cells of 0.5 m with steps of a minute.
    """
    grid, friction_velocity, frequency = tl.Grid.uniform(50.0, 100), 1e-2, 1e-2
    gradient = frequency**2 / (9.81 * 2e-4)
    case = tl.Case(
        grid,
        tl.State.from_profiles(grid, temperature=lambda z: 20.0 + gradient * z, salinity=0.0),
        tl.ConstantForcing(tl.SurfaceFluxes(stress_u=1027.0 * friction_velocity**2)),
    )
    model = tl.Model(ClosureSection(name=name).build())
    run = tl.simulate(model, case, dt=60.0, duration=86400.0, output_interval=21600.0)
    change = np.diff(np.asarray(run.state.temperature)[1:], axis=1)
    depth = -np.asarray(grid.z_face)[1:-1][np.argmax(change, axis=1)]
    return depth / (1.05 * friction_velocity * np.sqrt(np.asarray(run.time)[1:] / frequency)) - 1.0


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["law"]:
        tl.configure()
        for closure in arguments[1:]:
            print(closure, np.round(100.0 * law_difference(closure), 1), "%", flush=True)
        return
    if arguments:
        store(Path(arguments[0]))
    buffer = io.BytesIO()
    draw(read()).savefig(buffer, dpi=130)
    # Quantised colours take a third of the bytes.
    image = Image.open(buffer).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    image.save(Path(__file__).parent / "skill.png", optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
