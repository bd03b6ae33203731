"""Files of runs: reading them, selecting variables, budgets."""

import dataclasses
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .. import closures
from ..column.averages import BUDGETS
from ..column.budgets import MOVING_CELLS, STORAGE
from ..column.grid import Grid
from ..column.state import State
from ..column.terms import ELEVATION
from ..column.trajectory import Trajectory
from ..quantities import GRID_NAMES
from .dataset import SELECTED, STATE_NAMES, UNITS_OF_BUDGETS, class_name, write_dataset
from .errors import FileFormatError, is_path, names_its_file
from .netcdf import opened, read_netcdf
from .times import read_time, seconds_since
from .variables import error_in, error_of, listing

if TYPE_CHECKING:
    import xarray as xr


def _find_state_class(file: "xr.Dataset", name: str) -> type[closures.AbstractCloState]:
    """Find the imported closure state class of a name, even if its module has moved within its package."""

    def without_modules(name: str) -> tuple[str, str]:
        return name.partition(".")[0], name.rpartition(".")[2]

    pending, matches = closures.AbstractCloState.__subclasses__(), {}
    while pending:
        cls = pending.pop()
        pending += cls.__subclasses__()
        if without_modules(class_name(cls)) == without_modules(name):
            matches[class_name(cls)] = cls
    if not matches:
        expected, advice = "the name of a class of a closure state", "import the module of that closure first"
        raise error_in(file, "attribute closure_state", expected, f"'{name}'", advice)
    return matches.get(name, list(matches.values())[-1])


@names_its_file("the file of a run")
def read_trajectory(path, *, every: int = 1) -> Trajectory:
    """Read a file of `write_trajectory` without loss; diagnostics and means are ignored.

    Args:
        path: the file, or the dataset of `to_dataset`.
        every: read every n-th frame, for a look at a long run.

    Raises:
        FileFormatError: a file of another kind, or of selected variables only; a variable that is missing or
            of unexpected shape; an unknown closure.
    """
    file = read_netcdf(path, at={"time": slice(None, None, every)})
    if "closure_state" not in file.attrs:
        advice = "give a file of `tunax-lite run` or write_trajectory"
        raise error_in(file, "file", "a file of a run", f"another one, with {listing(file)}", advice)
    if SELECTED in file.attrs:
        got, advice = f"one with {file.attrs[SELECTED]} alone", "run without output.variables"
        raise error_in(file, "file", "a file of a run with all variables", got, advice)
    if not is_path(path) and file.attrs.get("start_time") and "time" in file:
        # Convert dates of a dataset back to seconds since the start.
        seconds = seconds_since(read_time(file["time"]), file.attrs["start_time"])
        file = file.assign_coords(time=seconds)
    cls = _find_state_class(file, str(file.attrs["closure_state"]))

    def closure_state(cls: type[closures.AbstractCloState], attribute: str) -> closures.AbstractCloState:
        fields = {}
        for field in dataclasses.fields(cls):
            inner = f"{attribute}_{field.name}"
            has_default = field.default is not dataclasses.MISSING
            if inner in file.attrs:
                inner_class = _find_state_class(file, str(file.attrs[inner]))
                fields[field.name] = closure_state(inner_class, inner)
            elif field.name in file or not has_default:
                fields[field.name] = _values(file, field.name, "time")
        # The shapes of a closure state have no time axis: build one per frame.
        return jax.vmap(lambda frame: cls(**frame))(fields)

    names = str(file.attrs.get("tracers", "")).split()
    profiles = {name: _values(file, name, "time", "z_center") for name in (*STATE_NAMES, *names)}
    surface = {name: _values(file, name, "time") for name in str(file.attrs.get("surface", "")).split()}
    state = State(tracers={name: profiles.pop(name) for name in names}, surface=surface, **profiles)
    try:
        return Trajectory(
            read_grid(file),
            _values(file, "time", "time"),
            _values(file, "step", "time", kind="i"),
            state,
            closure_state(cls, "closure_state"),
        )
    except FileFormatError:
        raise
    except (TypeError, ValueError) as error:
        advice = "the file was changed or is damaged"
        raise error_in(file, "file", "a trajectory", f"'{error}'", advice) from error


def _values(file: "xr.Dataset", name: str, *dims: str, kind: str = "f") -> jax.Array:
    """Values of a variable whose axes are `dims`, then any batch axes; `FileFormatError` for another one."""
    if name not in file:
        advice = "only files of write_trajectory can be read back"
        raise error_in(file, name, "a variable of a trajectory", f"only {listing(file)}", advice)
    var = file[name]
    if var.dims[: len(dims)] != dims or var.values.dtype.kind != kind:
        numbers = "whole numbers" if kind == "i" else "numbers"
        got = f"type {var.values.dtype} along {', '.join(map(str, var.dims)) or 'none'}"
        expected = f"{numbers} along {', '.join(dims) or 'any axis'}"
        raise error_of(var, expected, got, "the file was changed or is damaged")
    return jnp.asarray(var.values)


def read_grid(file: "xr.Dataset") -> Grid:
    """Read the grid of a run, at rest, in the precision of the file."""
    if "height_face" in file:
        faces = _values(file, "height_face")
    else:
        rank = int(file.attrs.get("grid_batch_rank", 0))
        faces = _values(file, "z_face").reshape((-1,) + (1,) * rank)
    area = None
    if "face_area" in file:
        area = _values(file, "face_area", "z_face")
        area = area.reshape(area.shape + (1,) * (faces.ndim - area.ndim))
    # The constructor checks the heights, but uses the default precision.
    return eqx.tree_at(lambda grid: grid.z_face, Grid(faces, area), faces)


def keep_variables(path: str | Path, names: Collection[str]) -> None:
    """Remove all variables of a file but these, their means and coordinates, and budgets and tendencies.

    The result can be plotted and compared with any tool, but not used as a restart. It replaces the file of
    `write_trajectory` atomically.

    Raises:
        ValueError: a name that is not in the file.
    """
    with opened(path) as source:
        absent = [name for name in names if name not in source.variables]
        if absent:
            got, present = ", ".join(absent), ", ".join(map(str, source.variables))
            raise ValueError(f"{path}: expected variables of the file, got {got}; it has {present}.")
        wanted = {*names, *(f"{name}_mean" for name in names), *GRID_NAMES, *source.dims}
        for name, variable in source.variables.items():
            wanted |= {*str(variable.attrs.get("coordinates", "")).split()}
            if variable.attrs.get("role") in ("budget", "tendency"):
                wanted.add(str(name))
        left_out = [name for name in source.variables if name not in wanted]
        selected = source.drop_vars(left_out).assign_attrs({SELECTED: " ".join(names)}).load()
    write_dataset(selected, path)


_ROUNDINGS = 8.0
"""Safety factor of the estimated rounding error."""


class Budget(NamedTuple):
    """Budget of a column, as means over the intervals between frames, `(n_intervals,)`.

    Args:
        name: `heat`, `salt`, `kinetic_energy` or a tracer.
        label: name in words, for tables and figures.
        unit: of all rates.
        since, until: ends of the intervals [s] since the start of the case.
        terms: rates by name, positive into the column.
        change: rate at which the content changes between the frames.
        rounding: largest difference between the change and the sum of the terms due to rounding.
        notes: remarks, for example on moving cells or single precision.
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
        """Rate of change that no term explains."""
        return self.change - sum(self.terms.values(), np.zeros_like(self.change))

    @property
    def is_closed(self) -> bool:
        """Return whether rounding explains the residual of every interval."""
        return bool(np.all(np.abs(self.residual) <= self.rounding))

    def mean(self, values: np.ndarray) -> float:
        """Mean of a rate over the run."""
        return float(np.average(values, weights=self.until - self.since))


@names_its_file("the file of a run")
def read_budgets(path: str | Path) -> list[Budget]:
    """Read the budgets in the file of a run with `output.budgets`, or with `means=("budgets",)`.

    Raises:
        FileFormatError: a file without budgets, of several columns, or with a single frame.
    """
    file = read_netcdf(path)
    end = f"_budget_{STORAGE}"
    names = [name.removesuffix(end) for name in map(str, file.variables) if name.endswith(end)]
    if not names:
        advice = "run with output.budgets: true, or simulate(..., means=('budgets',))"
        raise error_in(file, "heat_budget_storage", f"a file with means of {BUDGETS}", "one without", advice)
    if file[names[0] + end].values.ndim != 1:
        raise error_in(file, "file", "one column", "several", "write the file of one of them")
    bounds = file["time_bounds"].values
    if bounds.shape[0] < 2:
        advice = "run longer, or shorten time.output_interval"
        raise error_in(file, "time", "at least two frames", "one", advice)
    order = {name: number for number, name in enumerate(UNITS_OF_BUDGETS)}
    return [_budget(file, name) for name in sorted(names, key=lambda name: order.get(name, len(order)))]


def _budget(file: "xr.Dataset", name: str) -> Budget:
    # No step precedes the first frame.
    since, until = file["time_bounds"].values[1:].T
    prefix = f"{name}_budget_"
    keys = [key for key in map(str, file.variables) if key.startswith(prefix)]
    terms = {key.removeprefix(prefix): file[key].values[1:] for key in keys}
    stored = terms.pop(STORAGE)
    density, capacity = (float(file.attrs.get(key, np.nan)) for key in ("reference_density", "heat_capacity"))
    if name == "kinetic_energy":
        values = 0.5 * density * (file["u"].values.astype(float) ** 2 + file["v"].values.astype(float) ** 2)
    else:
        variable = {"heat": "temperature", "salt": "salinity"}.get(name, name)
        scale = {"heat": density * capacity, "salt": 1e-3 * density}.get(name, 1.0)
        values = scale * file[variable].values.astype(float)
    volume = np.asarray(read_grid(file).cell_volume, dtype=float).reshape(-1)
    content, size = values @ volume, np.abs(values) @ volume  # rounding follows the size
    notes: list[str] = []
    if MOVING_CELLS in terms or ELEVATION in str(file.attrs.get("surface", "")).split():
        change = stored
        notes.append("the cells move with the surface: the change of the content is that of the steps")
    else:
        change = np.diff(content) / (until - since)
    if not terms:
        notes.append("no term changes it: it is prescribed, or nothing enters the column")
    eps = float(np.finfo(file["temperature"].values.dtype).eps)
    if eps > 1e-10:
        notes.append("the run is in single precision: rounding hides small residuals")
    n_steps = np.diff(file["step"].values)
    exchanged = sum((np.abs(rate) for rate in terms.values()), np.abs(change))
    rounding = _ROUNDINGS * eps * (size[1:] * n_steps / (until - since) + np.sqrt(n_steps) * exchanged)
    unit = str(file[f"{prefix}{STORAGE}"].attrs.get("units", "unit m s-1"))
    label = words = name.replace("_", " ")
    if name not in UNITS_OF_BUDGETS and (meaning := file[name].attrs.get("long_name", words)) != words:
        label = f"{meaning} ({name})"
    return Budget(name, label, unit, since, until, terms, change, rounding, tuple(notes))
