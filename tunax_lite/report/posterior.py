"""What the page says about a posterior."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from ..plotting import posterior_figures
from .run_folder import POSTERIOR_FIGURES, RunFolder, encoded

_PREFIX = "parameter "
_TOO_FEW, _TOO_LARGE = 100.0, 1.05
"""Effective sample size and R-hat at which a warning is due."""


def posterior_of(run: RunFolder) -> dict[str, Any] | None:
    """Numbers, rows and figures; `None` without a posterior."""
    dataset = run.posterior
    if dataset is None:
        return None
    about = dataset.attrs
    drawn = (
        posterior_figures(dataset) if set(POSTERIOR_FIGURES) - set(run.figures) - {"posterior_bands"} else {}
    )
    information = np.linalg.eigvalsh(dataset["information"].values)
    return {
        "method": {"nuts": "NUTS", "laplace": "Laplace"}.get(str(about["method"]), str(about["method"])),
        "noise": float(about["noise"]),
        "n_observations": float(about["n_observations"]),
        "n_constrained": int((information > 1.0).sum()),
        "n_combinations": information.size,
        "n_draws": int(dataset["log_density"].size),
        "n_divergent": about.get("n_divergent"),
        "n_gradients": about.get("n_gradients"),
        "rows": list(_rows(dataset)),
        "figures": list(encoded(POSTERIOR_FIGURES, run.figures, drawn)),
    }


def _rows(dataset: xr.Dataset) -> Iterator[dict[str, Any]]:
    """A row for each parameter."""
    names = [str(name) for name in dataset["parameter"].values]
    deviation = np.sqrt(np.diag(dataset["covariance"].values))
    for variable in dataset.data_vars.values():
        long_name = str(variable.attrs.get("long_name", ""))
        if not long_name.startswith(_PREFIX):
            continue
        path = long_name.removeprefix(_PREFIX)
        low, median, high = np.quantile(variable.values, (0.05, 0.5, 0.95))
        place = names.index(path) if path in names else None
        size = _of(dataset, "effective_size", place)
        r_hat = _of(dataset, "r_hat", place)
        yield {
            "label": path,
            "unit": variable.attrs.get("units", "1"),
            "best": float(variable.attrs["most_probable"]),
            "low": float(low),
            "median": float(median),
            "high": float(high),
            "prior_low": variable.attrs.get("prior_5_percent"),
            "prior_high": variable.attrs.get("prior_95_percent"),
            "deviation": None if place is None else float(deviation[place]),
            "size": size,
            "r_hat": r_hat,
            "is_poor": (size is not None and size < _TOO_FEW) or (r_hat is not None and r_hat > _TOO_LARGE),
        }


def _of(dataset: xr.Dataset, name: str, place: int | None) -> float | None:
    return float(dataset[name].values[place]) if name in dataset and place is not None else None
