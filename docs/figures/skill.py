"""The table of docs/closures/comparison.md and the heat map of docs/skill.md.

`python docs/figures/skill.py ERRORS.csv [ERRORS.csv ...]` takes what
`tunax-lite compare configs/comparisons/les.yaml` writes, whole or in parts: rows of a later file
replace those of an earlier one. `--times TIMES.csv` gives the costs, from a comparison with times.
`python docs/figures/skill.py law NAME ...` runs Kato and Phillips' experiment with closures.
"""

import argparse
import csv
import io
import re
import sys
from pathlib import Path

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from PIL import Image

import tunax_lite as tl
from tunax_lite.config.closures import ClosureSection

Resolution = tuple[float, float]  # cell thickness [m], time step [s]
SHOWN: Resolution = 2.0, 60.0
OTHERS: tuple[Resolution, ...] = ((4, 600), (8, 600))
PERSISTENCE = "persistence"
SOURCES = {"six_day": "six days", "lesbrary_1m": "LESbrary, 1 m", "sofs": "storms", "lesbrary": "LESbrary"}
SOURCES["legay"] = "Legay"
LEAST, MOST = 1.0, 200.0  # of the colours [mK]
Key = tuple[str, str]  # of a source and its case


def errors(paths: list[Path]) -> dict[Resolution, dict[str, dict[Key, float]]]:
    """Root mean square errors of temperature [mK] by resolution, closure and case; NaN if a run failed."""
    found: dict[Resolution, dict[str, dict[Key, float]]] = {}
    for path in paths:
        with path.open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                resolution = float(row["cell_thickness"]), float(row["time_step"])
                of_closure = found.setdefault(resolution, {}).setdefault(row["closure"], {})
                of_closure[row["group"], row["case"]] = 1e3 * float(row["temperature_rms"])
    return found


def in_words(case: str) -> str:
    """What a column is called."""
    numbers = re.fullmatch(r"tau(.+)_Q(.+)_dTdz(.+)", case)
    if numbers:
        stress, heat, gradient = numbers.groups()
        return f"{stress} Pa, {heat} W, {1e3 * float(gradient):g} K/km".replace("-", "−")
    return re.sub(r" (\d+)h$", r", \1 h", case.removeprefix("legay_").replace("_", " "))


def draw(table: dict[str, dict[Key, float]]) -> Figure:
    """Closures by their mean error, the best on top; simulations by source, the easiest on the left."""
    ordered = by_mean(table)
    cases = list(table[ordered[0]])
    median = {case: float(np.median([table[name][case] for name in ordered])) for case in cases}
    cases.sort(key=lambda case: (list(SOURCES).index(case[0]), median[case]))
    values = np.array([[table[name][case] for case in cases] for name in ordered])
    places, starts, place = [], {}, 1.4
    for index, (source, _) in enumerate(cases):
        if index == 0 or source != cases[index - 1][0]:
            place += 0.25
            starts[source] = place
        places.append(place)
        place += 1.0
    figure = Figure(figsize=(9.2, 1.8 + 0.26 * len(ordered)), layout="constrained")
    ax = figure.subplots()
    norm = LogNorm(LEAST, MOST)
    colours = ScalarMappable(norm, "cividis_r")
    columns = [(0.5, values.mean(axis=1)), *zip(places, values.T, strict=True)]
    for left, column in columns:
        edges = [left - 0.5, left + 0.5], np.arange(len(ordered) + 1) - 0.5
        own = {"norm": norm, "cmap": colours.cmap, "edgecolors": "w", "linewidth": 0.4}
        ax.pcolormesh(*edges, column[:, None], **own)
        for row, value in enumerate(column):
            shown = f"{value:.1f}" if value < 9.95 else f"{value:.0f}"
            dark = norm(value) > 0.55
            weight = "bold" if left == 0.5 else "normal"
            style = {"ha": "center", "va": "center", "fontsize": 7.5, "fontweight": weight}
            ax.text(left, row, shown, color="w" if dark else "k", **style)
    ax.set(xlim=(-0.05, places[-1] + 0.55), ylim=(len(ordered) - 0.5, -0.5))
    ax.set_yticks(range(len(ordered)), [name.replace("_", " ") for name in ordered], fontsize=8.5)
    names = ["mean", *(in_words(case) for _, case in cases)]
    ax.set_xticks([0.5, *places], names, rotation=45, ha="right", rotation_mode="anchor", fontsize=8)
    for source, start in starts.items():
        size = sum(of == source for of, _ in cases)
        ax.text(start - 0.5 + 0.5 * size, -0.75, SOURCES[source], ha="center", fontsize=9)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    bar = figure.colorbar(colours, ax=ax, pad=0.01, fraction=0.025, ticks=[1, 3, 10, 30, 100])
    bar.ax.set_yticklabels(["1", "3", "10", "30", "100"])
    bar.set_label("rms error of temperature [mK]", fontsize=9)
    return figure


def costs(path: Path) -> dict[str, float]:
    """Time per step over that of k-epsilon, by closure."""
    with path.open(encoding="utf-8") as file:
        rows = {row["closure"]: float(row["microseconds_per_step"]) for row in csv.DictReader(file)}
    return {name: time / rows["k_epsilon"] for name, time in rows.items() if np.isfinite(time)}


def lines(found: dict[Resolution, dict[str, dict[Key, float]]], cost: dict[str, float]) -> list[str]:
    """The table: means by source, mean and worst of all; mean / worst at other resolutions; the cost."""
    sources, others = " | ".join(SOURCES.values()), " | ".join(f"{dz:g} m, {dt:g} s" for dz, dt in OTHERS)
    text = [
        f"| closure | {sources} | mean | worst | {others} | cost |",
        "| --- |" + " ---: |" * (len(SOURCES) + len(OTHERS) + 3),
    ]
    table = found[SHOWN]
    for name in by_mean(table):
        errors = table[name]
        means = [np.mean([x for (of, _), x in errors.items() if of == source]) for source in SOURCES]
        numbers = [f"{x:.1f}" for x in (*means, *mean_and_worst(errors))]
        for resolution in OTHERS:
            there = found.get(resolution, {}).get(name)
            numbers.append(" / ".join(f"{x:.1f}" for x in mean_and_worst(there)) if there else "")
        price = f"{cost[name]:.1f}" if name in cost else ""
        text.append(f"| `{name}` | {' | '.join(numbers)} | {price} |")
    return text


def mean_and_worst(errors: dict[Key, float]) -> tuple[float, float]:
    every = list(errors.values())
    return float(np.mean(every)), float(np.max(every))


def by_mean(table: dict[str, dict[Key, float]]) -> list[str]:
    """Closures from the lowest mean error on; those with a run that failed last."""
    return sorted(table, key=lambda name: float(np.nan_to_num(mean_and_worst(table[name])[0], nan=np.inf)))


def off_the_law(name: str) -> np.ndarray:
    """Relative difference of the depth of the mixed layer from 1.05 u* sqrt(t / N), 6, 12, 18 and 24 h on.

    Its base is the face of the largest stratification, in cells of 0.5 m with steps of a minute.
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("errors", nargs="+", type=Path, metavar="ERRORS.csv")
    parser.add_argument("--times", type=Path, metavar="TIMES.csv")
    options = parser.parse_args()
    found = errors(options.errors)
    print("\n".join(lines(found, {} if options.times is None else costs(options.times))))
    buffer = io.BytesIO()
    draw(found[SHOWN]).savefig(buffer, dpi=130)
    # A palette keeps what is seen, in a third of the bytes.
    image = Image.open(buffer).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    image.save(Path(__file__).parent / "skill.png", optimize=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["law"]:
        tl.configure()
        for closure in sys.argv[2:]:
            print(closure, np.round(100.0 * off_the_law(closure), 1), "%", flush=True)
    else:
        main()
