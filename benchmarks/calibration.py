"""Methods of calibration side by side, from the same start, one after the other; needs `TUNAX_LITE_DATA`.

The four large-eddy simulations of configs/calibrations/lesbrary_levenberg_marquardt.yaml. Seconds hold
compiling. The mark to reach is the lowest loss of Adam, which comes first.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tunax_lite.calibration import LBFGS, Adam, EnsembleKalman, LevenbergMarquardt, calibrate
from tunax_lite.config import build_calibration, load_calibration

from .harness import Row, Setting

CONFIG = Path("configs/calibrations/lesbrary_levenberg_marquardt.yaml")


def measure_calibration(setting: Setting) -> list[Row]:
    """Methods of calibration: what they evaluated, seconds, and what it took to the lowest loss of Adam."""
    setup = build_calibration(load_calibration(CONFIG, ["time.dt=600.0"] if setting.quick else []))
    n_adam = 3 if setting.quick else 300
    methods: dict[str, tuple[Any, int]] = {
        "Adam": (Adam(0.1, n_adam, min(5, n_adam - 1)), n_adam),
        "L-BFGS": (LBFGS(), 200),
        "Levenberg-Marquardt": (LevenbergMarquardt(), 40),
        "ensemble Kalman": (EnsembleKalman(noise=3e-3, final_time=1e9), 25),
    }
    rows: list[Row] = []
    for name, (method, n_iterations) in methods.items():
        begin, seconds = time.perf_counter(), []
        result = calibrate(
            setup.model,
            setup.free_parameters,
            setup.targets,
            method,
            min(n_iterations, n_adam) if setting.quick else n_iterations,
            score=setup.score,
            report=lambda *_: seconds.append(time.perf_counter() - begin),  # noqa: B023
        )
        losses, rejected = np.asarray(result.history.loss), np.asarray(result.history.rejected)
        row = {"method": name, "losses": losses.tolist(), "rejected": rejected.tolist(), "seconds": seconds}
        mark = float(np.nanmin(rows[0]["losses"] if rows else losses))
        rows.append(row | summary(row, mark))
    return rows


def summary(row: Mapping[str, Any], mark: float) -> Row:
    """Cost of a method, and what it takes to a mark."""
    losses, seconds = np.array(row["losses"]), row["seconds"]
    n, below = len(seconds), np.flatnonzero(losses <= mark)
    where = int(below[0]) if below.size else None
    return {
        "evaluations": evaluations(row, n),
        "lowest_loss": f"{np.nanmin(losses):.4g}",
        "mark": f"{mark:.4g}",
        # The Jacobian of the last iteration follows its run: the loss was known before.
        "to_the_mark": "not reached" if where is None else evaluations(row, where + 1, last_jacobian=False),
        "seconds_to_it": None if where is None else seconds[where],
        "first": seconds[0],
        "each_more": (seconds[-1] - seconds[0]) / max(1, n - 1),
        "total": seconds[-1],
    }


def evaluations(row: Mapping[str, Any], n: int, *, last_jacobian: bool = True) -> str:
    """What the first n iterations evaluated, in words."""
    if row["method"].startswith("Levenberg"):
        n_jacobians = n - sum(row["rejected"][:n]) - (not last_jacobian)
        return f"{n_jacobians} Jacobians, {n} runs"
    return f"{n} ensembles" if row["method"].startswith("ensemble") else f"{n} gradients"
