"""Methods of calibration side by side: `python -m benchmarks.calibration_methods`, with `TUNAX_LITE_DATA`.

The four large-eddy simulations of configs/calibrations/lesbrary_levenberg_marquardt.yaml from the same start,
one method after the other; seconds hold compiling. The mark to reach is the lowest loss of Adam.
"""

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

CONFIG = Path("configs/calibrations/lesbrary_levenberg_marquardt.yaml")
FOLDER = Path("results/calibration_methods")


def methods_of(n_adam: int) -> dict[str, tuple[Any, int]]:
    """Method and number of iterations by name; Adam, which sets the mark, comes first."""
    from tunax_lite.calibration import LBFGS, Adam, CosineDecay, EnsembleKalman, LevenbergMarquardt

    return {
        "Adam": (Adam(0.1, CosineDecay(n_adam, min(5, n_adam - 1))), n_adam),
        "L-BFGS": (LBFGS(), 200),
        "Levenberg-Marquardt": (LevenbergMarquardt(), 40),
        "ensemble Kalman": (EnsembleKalman(noise=3e-3, final_time=1e9), 25),
    }


def measure(setup: Any, name: str, method: Any, n_iterations: int) -> dict[str, Any]:
    """One calibration: losses, and the seconds after which each was known."""
    from tunax_lite.calibration import calibrate

    begin, seconds = time.perf_counter(), []
    result = calibrate(
        setup.model,
        setup.free_parameters,
        setup.targets,
        method,
        n_iterations,
        score=setup.score,
        n_threads=setup.n_threads,
        report=lambda *_: seconds.append(time.perf_counter() - begin),
    )
    history = result.history
    return {
        "method": name,
        "settings": repr(method),
        "loss": history.loss.tolist(),
        "rejected": history.rejected.tolist(),
        "seconds": seconds,
        "n_failed": result.n_failed,
        "stop_reason": result.stop_reason,
    }


def reached(row: Mapping[str, Any], mark: float) -> int | None:
    """The first iteration whose loss is not above a mark."""
    below = np.flatnonzero(np.array(row["loss"]) <= mark)
    return int(below[0]) if below.size else None


def evaluations(row: Mapping[str, Any], n: int, with_last_jacobian: bool = True) -> str:
    """What the first n iterations evaluated, in words.

    Args:
        row: of a method.
        n: number of iterations.
        with_last_jacobian: whether the last of them counts with its Jacobian, which follows its run.
    """
    if row["method"].startswith("Levenberg"):
        n_jacobians = n - sum(row["rejected"][:n])
        return f"{n_jacobians if with_last_jacobian else n_jacobians - 1} Jacobians, {n} runs"
    if row["method"].startswith("ensemble"):
        return f"{n} ensembles"
    return f"{n} gradients"


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Cost of each method, and what it takes to the lowest loss of the first."""
    mark = float(np.nanmin(rows[0]["loss"]))
    lines = [
        f"| method | evaluations | lowest loss | to {mark:.4g} | seconds to it | first | each more | total |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        seconds, where = row["seconds"], reached(row, mark)
        n = len(seconds)
        each = (seconds[-1] - seconds[0]) / max(1, n - 1)
        to_it = "not reached | "
        if where is not None:
            to_it = f"{evaluations(row, where + 1, False)} | {seconds[where]:.0f}"
        lowest, all_of_it = np.nanmin(row["loss"]), evaluations(row, n)
        lines.append(
            f"| {row['method']} | {all_of_it} | {lowest:.4g} | {to_it} | {seconds[0]:.0f} | {each:.2f} "
            f"| {seconds[-1]:.0f} |"
        )
    return "\n".join(lines)


def draw(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Lowest loss so far against seconds."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    axes = figure.subplots()
    for row in rows:
        lowest = np.fmin.accumulate(np.array(row["loss"]))
        axes.step(row["seconds"], lowest, where="post", label=row["method"])
    axes.axhline(np.nanmin(rows[0]["loss"]), color="0.6", linewidth=0.8, linestyle=":")
    axes.set(xscale="log", yscale="log", xlabel="seconds, compiling included", ylabel="lowest loss so far")
    axes.set_title("k-epsilon on four large-eddy simulations", fontsize="medium")
    axes.grid(which="both", alpha=0.25)
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=120)


def main(arguments: list[str] | None = None) -> None:
    """Calibrate with each method, print the table, draw, store."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration_methods", description=__doc__)
    parser.add_argument("--adam", type=int, default=300, metavar="N", help="iterations of Adam")
    parser.add_argument("--only", action="append", metavar="METHOD", help="and Adam")
    parser.add_argument("--output", type=Path, default=FOLDER, metavar="FOLDER")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="of the configuration"
    )
    options = parser.parse_args(arguments)
    from tunax_lite.config import build_calibration, load_calibration
    from tunax_lite.runtime import configure

    configure(cache_folder=None)  # a program from the cache would seem to compile in no time
    setup = build_calibration(load_calibration(CONFIG, options.set))
    options.output.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, (method, n_iterations) in methods_of(options.adam).items():
        if name == "Adam" or not options.only or name in options.only:
            rows.append(measure(setup, name, method, n_iterations))
            (options.output / "calibration_methods.json").write_text(json.dumps(rows, indent=1))
            print(table(rows[:1] + rows[-1:] if len(rows) > 1 else rows), flush=True)
    print(table(rows))
    draw(rows, options.output / "calibration_methods.png")


if __name__ == "__main__":
    main()
