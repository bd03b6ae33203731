"""Columns of a map that assimilate the surface temperature above them, each for itself, on an engine.

A column is one item: all its cycles run in one process, and nothing is sent between columns, so that the
numbers do not depend on that of the processes. What a column gave is written beside the results before the
next one begins, and a command that was interrupted continues with the others.
"""

import dataclasses
import datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ... import __version__
from ...calibration import ResolvedParameters
from ...column.model import Model
from ...config.formats import AbstractColumns, columns_in
from ...config.load import Loaded
from ...io.checksums import digest_of_tree
from ...io.dataset import Frames, write_frames
from ...io.protection import Provenance, product_of_run
from ...io.writing import replacing
from ...io.yaml_file import ConfigError
from .cycles import Assimilation, Cycles, Records
from .methods import AbstractMethod
from .observing import Operator, Stream
from .sections import AssimilationConfig, free_of, text_of
from .system import Process, ProfileError, System

_DAY = 86400.0
TITLE = "assimilation of columns"


class Found(NamedTuple):
    """What a column gave, on all ends of windows; NaN where there was no observation.

    Args:
        observation, predicted, predicted_spread, fitted: `(n_cycles,)` [degC, K].
        innovation: `(n_cycles, n_leads)` [K].
        background, analysis: mean temperature at the end [degC], `(n_cycles, n_cells)`.
        height: of the cells [m].
        correction: `(n_cycles, n_processes)`.
        parameters: in their units, `(n_cycles, n_parameters)`.
    """

    observation: np.ndarray
    predicted: np.ndarray
    predicted_spread: np.ndarray
    fitted: np.ndarray
    innovation: np.ndarray
    background: np.ndarray
    analysis: np.ndarray
    height: np.ndarray
    correction: np.ndarray
    parameters: np.ndarray


@dataclasses.dataclass(frozen=True)
class ColumnsAssimilation:
    """The same assimilation in every column; called with the number of one, it gives what it found.

    Args:
        columns: where the columns are, and what is observed above them.
        model: of the first column.
        method, cycles, processes, profiles: as of one column.
        parameters: that are estimated, as resolved in the first column.
        error: standard deviation of the observations [K].
        average: as in `System` [s].
        folder: for what each column gave.
        mark: identifies the computation.
    """

    columns: AbstractColumns
    model: Model
    method: AbstractMethod
    cycles: Cycles
    processes: tuple[Process, ...]
    profiles: tuple[ProfileError, ...]
    parameters: ResolvedParameters | None
    error: float
    average: float
    folder: Path
    mark: str

    @property
    def times(self) -> np.ndarray:
        """Ends of the windows [s]."""
        return self.cycles.analysis_time

    @property
    def n_columns(self) -> int:
        return len(self.columns.index)

    def path(self, number: int) -> Path:
        """Where a column leaves what it gave."""
        return self.folder / f"{number}.npz"

    def kept(self, number: int) -> Found | None:
        """What a column of this computation gave before; `None` if it did not, or if its file is damaged."""
        try:
            with np.load(self.path(number)) as file:
                is_own = str(file["mark"]) == self.mark
                return Found._make([file[name] for name in Found._fields]) if is_own else None
        except (OSError, ValueError, KeyError, EOFError):
            return None

    def __call__(self, number: int) -> Found:
        found = self.compute(number)
        with replacing(self.path(number)) as temporary, open(temporary, "wb") as file:
            np.savez(file, allow_pickle=False, mark=np.array(self.mark), **found._asdict())  # pyright: ignore[reportArgumentType]
        return found

    def compute(self, number: int) -> Found:
        """All cycles of one column."""
        cycles, times = self.cycles, self.times
        before = np.arange(cycles.interval, times[0] - cycles.start, cycles.interval)
        seen = np.concatenate([cycles.start + before, times])
        values = np.asarray(self.columns.observed(number, seen), dtype=float)
        known = np.isfinite(values)
        model, case = self.columns.case(number)
        height = np.asarray(case.grid.z_center)
        if not known.any():
            return self._nothing(height)
        operator = Operator("sea_surface_temperature")
        stream = Stream(operator, seen[known], values[known], np.full(int(known.sum()), self.error))
        system = System(
            model, case, self.columns.dt, (operator,), self.processes, self.profiles, self.parameters,
            self.average,
        )  # fmt: skip
        run = Assimilation(system, (stream,), self.method, cycles)
        return self._on_times(run.run(), height)

    def _nothing(self, height: np.ndarray) -> Found:
        n = len(self.times)
        free = 0 if self.parameters is None else len(self.parameters.numbers)
        none = [np.full(n, np.nan)] * 4
        ends = [np.full((n, size), np.nan) for size in (len(self.cycles.leads), height.size, height.size)]
        numbers = [np.full((n, size), np.nan) for size in (len(self.processes), free)]
        return Found._make([*none, *ends, height, *numbers])

    def _on_times(self, records: Records, height: np.ndarray) -> Found:
        every, n = records.every, len(self.times)
        place = np.rint((records.time - self.times[0]) / self.cycles.interval).astype(int)
        innovation = np.full((n, len(self.cycles.leads)), np.nan)
        innovation[place] = records.innovation()[..., 0]
        known = np.isfinite(every.values[:, -1, 0])
        at_ends = (
            np.where(known, getattr(every, name)[:, -1, 0], np.nan)
            for name in ("values", "predicted", "predicted_spread", "fitted")
        )
        numbers = np.zeros((n, 0))
        if self.parameters is not None:
            numbers = np.stack([np.asarray(self.parameters.to_physical(each)) for each in every.parameters])
        rest = innovation, every.background, every.analysis, height, every.processes, numbers
        return Found._make([*at_ends, *rest])


def columns_assimilation(loaded: Loaded[AssimilationConfig], folder: Path) -> ColumnsAssimilation:
    """Of a configuration; columns leave what they gave in `folder`.

    Raises:
        ConfigError: values that contradict each other, or a map without observations.
    """
    config, place = loaded.config, loaded.place
    assert config.columns is not None and isinstance(config.observations.error, dict)
    columns = columns_in(place.file(config.columns, "columns"))
    with place.naming("cycles"):
        cycles = config.cycles.of(columns.start_time, columns.duration)
        if cycles.end > columns.duration:
            raise ValueError(
                f"end: expected at most the duration of the map, {columns.duration:g} s, got "
                f"{cycles.end:g} s; end earlier."
            )
    model, case = columns.case(0)
    with place.naming("uncertainty", "parameters"):
        free = free_of(config, model, case)
    processes, profiles = config.uncertainty.build()
    variable = "sea_surface_temperature"
    if variable not in config.observations.error:
        raise ConfigError(f"{place.at('observations', 'error')}: expected an error of {variable}, got none.")
    error = float(np.hypot(config.observations.error[variable], config.observations.representativeness))
    average = config.observations.average or 0.0
    mark = digest_of_tree(model, columns.fingerprint, text_of(loaded), __version__)
    made = ColumnsAssimilation(
        columns, model, config.method.build(), cycles, processes, profiles, free, error, average, folder, mark
    )
    with place.naming("columns"):
        columns.observed(0, made.times)  # raises early
    return made


def write_columns(path: Path, made: ColumnsAssimilation, found: list[Found], about: Provenance) -> None:
    """Write what all columns gave, on the map; complete or not at all."""
    columns, free = made.columns, () if made.parameters is None else made.parameters.numbers
    dims = _dims_of(columns.coordinates)
    epoch = datetime.datetime.fromisoformat(columns.start_time)

    def on_map(name: str) -> np.ndarray:
        values = np.stack([getattr(each, name) for each in found], axis=-1)
        whole = np.full((*values.shape[:-1], int(np.prod(columns.shape))), np.nan)
        whole[..., columns.index] = values
        return whole.reshape(*values.shape[:-1], *columns.shape)

    def variable(name: str, own: tuple[str, ...], unit: str, meaning: str) -> tuple:
        about_it = {"units": unit, "long_name": meaning, "_FillValue": np.nan}
        return (*own, *dims), on_map(name), about_it

    variables = {
        "innovation": variable(
            "innovation", ("time", "lead"), "K",
            "observation minus forecast from an analysis that did not see the observation",
        ),
        "observation": variable("observation", ("time",), "degC", "observed surface temperature"),
        "predicted": variable("predicted", ("time",), "degC", "mean of the members before the analysis"),
        "predicted_spread": variable(
            "predicted_spread", ("time",), "K", "standard deviation of the members before the analysis"
        ),
        "fitted": variable("fitted", ("time",), "degC", "mean of the members after the analysis"),
        "background": variable(
            "background", ("time", "level"), "degC", "mean temperature of the members before the analysis"
        ),
        "analysis": variable(
            "analysis", ("time", "level"), "degC", "mean temperature of the members after the analysis"
        ),
        "height": variable("height", ("level",), "m", "height of the cells above the mean surface"),
    }  # fmt: skip
    if made.processes:
        meaning = "mean of the autoregressive errors after the analysis"
        variables["correction"] = variable("correction", ("time", "process"), "1", meaning)
        del variables["correction"][2]["units"]  # those of each process
    numbers = variable("parameters", ("time", "number"), "1", "")[1]
    for place, number in enumerate(free):
        told = {"long_name": number.path, "units": number.unit, "_FillValue": np.nan}
        variables[f"parameter_{number.path.replace('.', '_')}"] = ("time", *dims), numbers[:, place], told
    seconds = {
        "standard_name": "time",
        "units": f"seconds since {epoch}",
        "calendar": "standard",
        "axis": "T",
    }
    coordinates = {
        "time": ("time", made.times, seconds | {"long_name": "end of the window"}),
        "lead": ("lead", np.asarray(made.cycles.leads) / _DAY, {"units": "days"}),
        **columns.coordinates,
    }
    if made.processes:
        coordinates["process"] = "process", np.array([each.of for each in made.processes], dtype=object), {}
    attributes = {"Conventions": "CF-1.11", "title": TITLE, "method": type(made.method).__name__}
    attributes |= {f"tunax_lite_{name}": value for name, value in dataclasses.asdict(about).items()}
    attributes["tunax_lite_judged_from"] = str(made.cycles.judged_from)  # seconds, as the times
    attributes["tunax_lite_product"] = product_of_run(about)
    write_frames(Frames(variables, coordinates, attributes), path)


def _dims_of(coordinates: dict[str, tuple]) -> tuple[str, ...]:
    """Axes of the map, from its coordinates."""
    dims = dict.fromkeys(
        dim for own, *_ in coordinates.values() for dim in ((own,) if isinstance(own, str) else own)
    )
    return tuple(dims)
