"""Configuration of an assimilation: a run, observations, uncertainties, a method, and cycles."""

import dataclasses
import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from ..._types import warn_of_input
from ...config.build import build_run
from ...config.builder import one_of, section_of
from ...config.calibration import FreeParameterSection, free_parameters
from ...config.case import Run
from ...config.formats import AbstractTranslatedCase
from ...config.load import Loaded, load
from ...config.schema import Precision, RunConfig
from ...config.section import Section, invalid, key
from ...config.series import DataPath
from ...io.dated_text import TIME_WIDTH, read_columns, read_lines, read_times
from ...io.errors import check_possible
from ...io.place import Place
from ...io.series import start_of_case
from ...io.yaml_file import ConfigError, yaml_text
from . import variational  # noqa: F401  # name of its method
from .cycles import Assimilation, Cycles
from .methods import AbstractAssimilationMethod
from .observing import Operator, Stream, build_streams
from .system import Process, ProfileError, System

_ERROR = Annotated[float, Field(gt=0.0)]
_DEPTH = Annotated[float, Field(ge=0.0)]


class ObservationsSection(Section):
    """Observations: a text file of dates, values and errors, or the observations of the case."""

    path: DataPath | None = key(
        "file with lines of date, value and error; null for the observations of the case", None
    )
    variable: str = key("observable in the file", "sea_surface_temperature")
    depth: float | None = key(
        "depth of its values [m]; required for a profile; with sea_surface_temperature, the temperature of "
        "the water at this depth is compared; null for a scalar of the column",
        None,
        ge=0.0,
    )
    factor: float = key(
        "value in the file per unit of the variable, such as mg of chlorophyll per mmol of nitrogen",
        1.0,
        gt=0.0,
    )
    logarithm: bool = key(
        "whether the file holds logarithms to base 10, as products of chlorophyll do", False
    )
    column: int = key("column of the values, after date and time, from 1", 1, ge=1)
    error_column: int | None = key("column of their errors; null with `error`", 2, ge=1)
    variables: list[str] = key("names of the observations of the case to use", [])
    depths: list[_DEPTH] | None = key("depths of its profiles to use [m]; null for all", None, min_length=1)
    withheld: list[_DEPTH] = key("depths of its profiles that only judge forecasts [m]", [])
    error: _ERROR | dict[str, _ERROR] | None = key(
        "standard deviation instead of that of the file, or by variable of the case", None
    )
    representativeness: float = key(
        "error of what the column cannot represent; its square adds to that of each error", 0.0, ge=0.0
    )
    average: float | None = key(
        "averaging time of each value, centred at its time [s]; null for instantaneous values",
        None,
        gt=0.0,
    )
    every: float | None = key(
        "interval [s] to thin to: the value nearest to each multiple of it after the start of the case is "
        "used, at that time; with the cycle of a float, forecasts end at its profiles",
        None,
        gt=0.0,
    )

    def _check(self) -> None:
        if (self.path is None) == (not self.variables):
            got = "neither" if self.path is None else "both"
            raise invalid("`path`, or `variables` of the case", got, "give one of them")
        if self.path is None and isinstance(self.error, float):
            raise invalid("an error by variable with `variables`", f"{self.error}", "write {name: error}")
        if self.path is not None and (
            isinstance(self.error, dict) or (self.error is None and self.error_column is None)
        ):
            raise invalid("one `error`, or an `error_column`", f"{self.error}", "give one of them")
        if self.path is not None and (self.depths is not None or self.withheld):
            raise invalid("`depths` and `withheld` only with `variables`", "a path", "leave them out")
        if self.path is None and (self.depth is not None or self.factor != 1.0 or self.logarithm):
            got = "`variables` of the case"
            raise invalid("`depth`, `factor` and `logarithm` only with `path`", got, "leave them out")

    @property
    def operator(self) -> Operator:
        """Observation operator of the values of the file."""
        if self.depth is None:
            return Operator(self.variable, None, self.factor, self.logarithm)
        at_depth = {"sea_surface_temperature": "potential_temperature"}
        name = at_depth.get(self.variable, self.variable)
        return Operator(name, -self.depth, self.factor, self.logarithm)

    def streams(self, run: Run, where: Place) -> tuple[Stream, ...]:
        """Read the observations of the file or the case, thinned, with the error of representativeness."""
        if self.path is not None:
            streams = (self._stream_of_file(run, where),)
        else:
            if run.observations is None:
                raise ConfigError(
                    f"{where.at('variables')}: expected a case with observations, got one without."
                )
            errors = self.error if isinstance(self.error, dict) else {}
            with where.naming("variables"):
                streams = build_streams(run.observations, self.variables, errors, self.depths, self.withheld)
        with where.naming():
            return tuple(self.prepared(each) for each in streams)

    def prepared(self, stream: Stream) -> Stream:
        """Thin a stream to multiples of `every`, and add the error of representativeness."""
        if self.every is not None:
            stream = stream.at_multiples(self.every)
        return dataclasses.replace(stream, error=np.hypot(stream.error, self.representativeness))

    def _stream_of_file(self, run: Run, where: Place) -> Stream:
        assert self.path is not None
        path = where.file(self.path, "path")
        if run.case.start_time is None:
            raise ConfigError(f"{where.at('path')}: expected a case with a date, for the dates of {path}.")
        file = read_lines(path, where.at("path"))
        indices = np.arange(len(file.texts))
        begin = start_of_case(run.case.start_time).replace(tzinfo=datetime.UTC).timestamp()
        time = (read_times(file, indices) - begin).astype(float)
        columns = self.column - 1, *([] if self.error_column is None else [self.error_column - 1])
        names = self.variable if self.error_column is None else f"{self.variable}, its error"
        read = read_columns(file, indices, columns, skip=TIME_WIDTH, names=names)
        known = np.isfinite(read[:, 0])
        error = read[:, 1] if self.error is None else np.full(time.size, self.error)

        def line(index: int) -> str:
            return f"line {file.numbers[np.flatnonzero(known)[index]]}"

        if not self.logarithm:
            check_possible(path, f"column {self.column}", self.variable, read[known, 0], line)
        without_error = np.flatnonzero(known & ~((error > 0.0) & np.isfinite(error)))
        expected, advice = "an error above 0 of every observation", "correct it, or set observations.error"
        if without_error.size:
            first = int(without_error[0])
            raise file.error(first, expected, f"{error[first]:g}", advice)
        inside = known & (time >= 0.0) & (time <= run.case.duration)
        with where.naming("path"):
            if not inside.any():
                raise ValueError(
                    f"expected observations within the case, which begins at {run.case.start_time} and lasts "
                    f"{run.case.duration:g} s, got times from {time[0]:g} to {time[-1]:g} s after its start; "
                    "choose another file or another case."
                )
            return Stream(self.operator, time[inside], read[inside, 0], error[inside], str(path))


class CyclesSection(Section):
    """Times of assimilation windows and forecasts."""

    start: str | None = key(
        "start of the first window, ISO 8601; null for that of the case, or up to an interval later so that "
        "windows end at the observations if all of them have the same time of day, such as noon",
        None,
    )
    end: str | None = key("end of the last window; null for that of the observations", None)
    interval: float = key("time between analyses [s]", 86400.0, gt=0.0)
    length: float | None = key("length of a window [s], in whole intervals; null for one", None, gt=0.0)
    leads: list[Annotated[float, Field(gt=0.0)]] = key("lead times of forecasts [s]", [86400.0], min_length=1)
    background_check: float | None = key(
        "largest departure of an observation that is used, in standard deviations; null for all", None, gt=0.0
    )
    seed: int = key("seed of random numbers", 0, ge=0)
    judged_from: str | None = key(
        "first date of the observations that the printed summary judges forecasts by; null for all", None
    )

    def build(self, case_start: str | None, default_end: float, default_start: float = 0.0) -> Cycles:
        """Cycles in seconds since the start of the case; `default_start` and `default_end` replace null."""
        return Cycles(
            default_start if self.start is None else _since(self.start, case_start, "start"),
            default_end if self.end is None else _since(self.end, case_start, "end"),
            self.interval,
            self.length,
            tuple(self.leads),
            float("inf") if self.background_check is None else self.background_check,
            self.seed,
            0.0 if self.judged_from is None else _since(self.judged_from, case_start, "judged_from"),
        )


def _since(date: str, case_start: str | None, name: str) -> float:
    if case_start is None:
        raise ValueError(f"{name}: expected a case with a date, got one without; leave {name} out.")
    try:
        then = start_of_case(date)
    except ValueError:
        raise ValueError(f"{name}: expected a date such as 2021-01-01T12:00:00, got {date!r}.") from None
    return (then - start_of_case(case_start)).total_seconds()


class UncertaintySection(Section):
    """Uncertainties of the column; everything else is taken as certain."""

    profiles: list[section_of(ProfileError)] = key("errors of the initial profiles", [])  # pyright: ignore[reportInvalidTypeForm]
    processes: list[section_of(Process)] = key(  # pyright: ignore[reportInvalidTypeForm]
        "autoregressive errors of fluxes, and those of observations that are correlated in time", []
    )
    parameters: dict[str, FreeParameterSection] = key(
        "numbers of the closure, or of the case after `case.`, by dotted name",
        default_factory=dict,
    )


class AssimilationConfig(Section):
    """Assimilation of observations into a run."""

    run: RunConfig = key("the model and the case")
    observations: ObservationsSection = key("what is observed")
    uncertainty: UncertaintySection = key("what is perturbed and estimated", UncertaintySection())
    method: one_of(AbstractAssimilationMethod) = key(  # pyright: ignore[reportInvalidTypeForm]
        "how observations change the column", "ensemble_transform", validate_default=True
    )
    cycles: CyclesSection = key("windows and forecasts")

    @property
    def precision(self) -> Precision:  # pyright: ignore[reportInvalidTypeForm]
        """Precision of the run."""
        return self.run.precision


def load_assimilation(path: Path, overrides: Sequence[str] = ()) -> Loaded[AssimilationConfig]:
    """Read the configuration of an assimilation; arguments and errors as in `load_run`."""
    return load(path, overrides, AssimilationConfig)


def text_of(loaded: Loaded[AssimilationConfig]) -> str:
    """Configuration as YAML; for a case of another model, without unset settings that its files define."""
    run = loaded.config.run
    is_translated = isinstance(run.case, AbstractTranslatedCase)
    unset = {"run": {"grid", "model", "time"} - run.model_fields_set} if is_translated else None
    return yaml_text(loaded.config.model_dump(exclude=unset))


def run_of(loaded: Loaded[AssimilationConfig]) -> Loaded[RunConfig]:
    """Return the configuration of the run of an assimilation."""
    return Loaded(loaded.config.run, loaded.place.below("run"))


def build_assimilation(loaded: Loaded[AssimilationConfig], run: Run | None = None) -> Assimilation:
    """Build an assimilation, and warn of observations that are not used, or judge no forecast.

    Args:
        loaded: the configuration.
        run: its run with other parameters; `None` to build the run of the configuration.

    Raises:
        ConfigError: contradictory values.
        FileNotFoundError, FileFormatError: a file that is missing, or cannot be used.
    """
    config, place = loaded.config, loaded.place
    run = run or build_run(run_of(loaded))
    streams = config.observations.streams(run, place.below("observations"))
    with place.naming("cycles"):
        last = max(float(stream.time[-1]) for stream in streams)
        first = common_phase(streams, config.cycles.interval, run.dt)
        cycles = config.cycles.build(run.case.start_time, last, first)
    uncertainty, free = config.uncertainty, None
    if uncertainty.parameters:
        with place.naming("uncertainty", "parameters"):
            cases = {run.case.name: run.case}
            free = free_parameters(uncertainty.parameters).resolve(run.model.closure, cases)
    operators, depth = tuple(stream.operator for stream in streams), float(run.case.grid.depth)
    with place.naming("observations"):
        for operator in operators:
            operator.check(tuple(run.case.start_state.tracers), depth)
    with place.naming("uncertainty"):
        system = System(
            run.model,
            run.case,
            run.dt,
            operators,
            processes=tuple(each.build() for each in uncertainty.processes),
            profiles=tuple(each.build() for each in uncertainty.profiles),
            parameters=free,
            average=config.observations.average or 0.0,
        )
    with place.naming("cycles"):
        assimilation = Assimilation(system, streams, config.method.build(), cycles)
        _ = assimilation.frames  # raises for times between steps
        notes = assimilation.notes()
    warn_of_input(notes)
    return assimilation


def common_phase(streams: Sequence[Stream], interval: float, dt: float) -> float:
    """Phase of the observations within the interval, in whole steps [s]; 0 if they have several."""
    n = round(interval / dt)
    phases = np.unique(np.concatenate([np.rint(each.time / dt) for each in streams]) % n)
    return float(phases[0] * dt) if phases.size == 1 else 0.0
