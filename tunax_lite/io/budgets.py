"""Budgets from the file of a run: what every term does, the change of the content, and what is left.

    residual = change of the content between two frames / time between them - sum of the means of the terms

The content is that of the frames, so that a budget closes from the file. Where cells move with the surface,
their volume at a frame is not in the file: the change is that which the run has summed over its steps.
"""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..column.averages import BUDGETS
from ..column.budgets import MOVING_CELLS, STORAGE
from ..column.terms import ELEVATION
from .dataset import UNITS_OF_BUDGETS
from .errors import names_its_file
from .netcdf import read_netcdf
from .runs import read_grid
from .variables import error_in

if TYPE_CHECKING:
    import xarray as xr

_ROUNDINGS = 8.0


class Budget(NamedTuple):
    """One budget of the column, as means over the intervals between frames, `(n_intervals,)`.

    Args:
        name: `heat`, `salt`, `kinetic_energy` or a tracer.
        label: the same in words, for tables and figures.
        unit: of all rates.
        since, until: ends of the intervals [s] since the start of the case.
        terms: rates by name; what enters the column is positive.
        change: of the content between the frames, per time.
        rounding: by how much rounding may separate the change from the sum of the terms.
        notes: on what is not as usual.
    """

    name: str
    label: str
    unit: str
    since: np.ndarray
    until: np.ndarray
    terms: dict[str, np.ndarray]
    change: np.ndarray
    rounding: np.ndarray
    notes: tuple[str, ...]

    @property
    def residual(self) -> np.ndarray:
        """Change of the content that no term explains."""
        return self.change - sum(self.terms.values(), np.zeros_like(self.change))

    @property
    def is_closed(self) -> bool:
        """Whether rounding explains the residual of every interval."""
        return bool(np.all(np.abs(self.residual) <= self.rounding))

    def mean(self, values: np.ndarray) -> float:
        """Mean over the whole run."""
        return float(np.average(values, weights=self.until - self.since))


@names_its_file("the file of a run")
def read_budgets(path: str | Path) -> list[Budget]:
    """The budgets in the file of a run with `output.budgets`, or with `averages=("budgets",)`.

    Raises:
        FileFormatError: a file without budgets, of several columns, or with a single frame.
    """
    file = read_netcdf(path)
    end = f"_budget_{STORAGE}"
    names = [name.removesuffix(end) for name in map(str, file.variables) if name.endswith(end)]
    if not names:
        advice = "run with output.budgets: true, or simulate(..., averages=('budgets',))"
        raise error_in(file, "heat_budget_storage", f"a file with means of {BUDGETS}", "one without", advice)
    if file[names[0] + end].values.ndim != 1:
        raise error_in(file, "file", "one column", "several", "write the file of one of them")
    bounds = file["time_bounds"].values
    if bounds.shape[0] < 2:
        advice = "run longer, or shorten time.output_interval"
        raise error_in(file, "time", "two frames at least", "one", advice)
    order = {name: number for number, name in enumerate(UNITS_OF_BUDGETS)}
    return [_budget(file, name) for name in sorted(names, key=lambda one: order.get(one, len(order)))]


def _budget(file: "xr.Dataset", name: str) -> Budget:
    # No step precedes the first frame.
    since, until = file["time_bounds"].values[1:].T
    prefix = f"{name}_budget_"
    there = [of for of in map(str, file.variables) if of.startswith(prefix)]
    terms = {of.removeprefix(prefix): file[of].values[1:] for of in there}
    stored = terms.pop(STORAGE)
    content, size, notes = *_contents(file, name), list[str]()
    if MOVING_CELLS in terms or ELEVATION in str(file.attrs.get("surface", "")).split():
        change = stored
        notes.append("the cells move with the surface: the change of the content is that of the steps")
    else:
        change = np.diff(content) / (until - since)
    if not terms:
        notes.append("no term acts on it: it is held, or nothing enters the column")
    eps = float(np.finfo(file["temperature"].values.dtype).eps)
    if eps > 1e-10:
        notes.append("the run is in single precision: rounding hides what 64 bits would show")
    n_steps = np.diff(file["step"].values)
    exchanged = sum((np.abs(of) for of in terms.values()), np.abs(change))
    rounding = _ROUNDINGS * eps * (size[1:] * n_steps / (until - since) + np.sqrt(n_steps) * exchanged)
    unit = str(file[f"{prefix}{STORAGE}"].attrs.get("units", "unit m s-1"))
    label = words = name.replace("_", " ")
    if name not in UNITS_OF_BUDGETS and (meaning := file[name].attrs.get("long_name", words)) != words:
        label = f"{meaning} ({name})"
    return Budget(name, label, unit, since, until, terms, change, rounding, tuple(notes))


def _contents(file: "xr.Dataset", name: str) -> tuple[np.ndarray, np.ndarray]:
    """Content of the column in every frame, and the same with all values positive, which rounding follows."""
    density, capacity = (float(file.attrs.get(key, np.nan)) for key in ("reference_density", "heat_capacity"))
    volume = np.asarray(read_grid(file).cell_volume, dtype=float).reshape(-1)
    if name == "kinetic_energy":
        values = 0.5 * density * (file["u"].values.astype(float) ** 2 + file["v"].values.astype(float) ** 2)
    else:
        variable = {"heat": "temperature", "salt": "salinity"}.get(name, name)
        scale = {"heat": density * capacity, "salt": 1e-3 * density}.get(name, 1.0)
        values = scale * file[variable].values.astype(float)
    return values @ volume, np.abs(values) @ volume
