"""Assimilation cycles: windows with an analysis and a forecast each, compared with observations.

Window k ends at start + length + k interval; windows longer than an interval overlap. Each window begins with
the analysis of the window that ended there, or with a run without observations if none did, so that no
analysis uses an observation twice. From each analysis the mean of the members is run with decaying processes
to the later of the longest lead and the last observation that judges it. An observation at time t judges
the forecast of lead L from the analysis nearest to t - L, if that analysis is earlier than t and differs from
t - L by less than half the interval and half the smallest distance between leads.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ...column.integrate import count_steps
from ...runtime.jax_setup import failures_as_values
from .methods import AbstractAssimilationMethod, Analysis, Nudging, Persistence, Window
from .observing import Frames, Stream, observations_on_frames
from .system import Ensemble, System, run_members, spin_up


@dataclasses.dataclass(frozen=True)
class Cycles:
    """Times of assimilation windows and forecasts.

    Args:
        start: start of the first window [s] since the start of the case; the ensemble is run up to it.
        end: latest end of a window [s].
        interval: time between analyses [s].
        length: length of a window [s], a multiple of the interval; by default the interval.
        leads: lead times of the forecasts [s], multiples of the time step.
        background_check: largest departure of a used observation from the background, in standard deviations
            of the departure.
        seed: seed of all random numbers.
        judged_from: time of the first observation that `Records.skill` counts [s]; earlier ones are spin-up.

    Raises:
        ValueError: a start before the case, no room for a window, `judged_from` at or after the end, or a
            length that is no multiple of the interval.
    """

    start: float
    end: float
    interval: float = 86400.0
    length: float | None = None
    leads: tuple[float, ...] = (86400.0,)
    background_check: float = float("inf")
    seed: int = 0
    judged_from: float = 0.0

    def __post_init__(self):
        if self.start < 0.0:
            raise ValueError(
                f"start: expected a time not before that of the case, got {-self.start:g} s before it; "
                "start later, or choose a case that starts earlier."
            )
        if self.start + self.window_length > self.end:
            raise ValueError(
                f"end: expected at least one window of {self.window_length:g} s between start and end, got "
                f"{self.end - self.start:g} s; end later."
            )
        if self.judged_from >= self.end:
            raise ValueError(
                f"judged_from: expected a time before the last window ends at {self.end:g} s, got "
                f"{self.judged_from:g} s; judge from an earlier time on."
            )
        count_steps(self.window_length, self.interval, "the length of a window", "the interval")

    @property
    def window_length(self) -> float:
        """Length of a window [s]."""
        return self.interval if self.length is None else self.length

    @property
    def n_intervals(self) -> int:
        """Number of intervals in a window."""
        return round(self.window_length / self.interval)

    @property
    def n_cycles(self) -> int:
        """Number of windows."""
        # The small terms keep a last window that ends at `end` up to rounding.
        return int((self.end - self.start - self.window_length) / self.interval * (1.0 + 1e-12) + 1e-9) + 1

    @property
    def analysis_time(self) -> Float[np.ndarray, " cycle"]:
        """Ends of the windows [s] since the start of the case."""
        return self.start + self.window_length + self.interval * np.arange(self.n_cycles)

    @property
    def tolerance(self) -> float:
        """Half the interval, or half the smallest distance between leads if that is shorter [s]."""
        return 0.5 * float(np.min([self.interval, *np.diff(np.unique(self.leads))]))

    def judged_forecasts(
        self, time: Float[np.ndarray, " time"], lead: float
    ) -> tuple[Int[np.ndarray, " time"], Float[np.ndarray, " time"]]:
        """Cycle whose forecast each observation judges, and time since its analysis [s]; -1 and NaN for none.

        This time differs from the lead by less than `tolerance`.
        """
        first = self.analysis_time[0]
        cycle = np.rint((time - lead - first) / self.interval)
        period = time - first - cycle * self.interval
        near = self.tolerance * (1.0 - 1e-9)
        matches = (np.abs(period - lead) < near) & (period > 0.0) & (cycle >= 0) & (cycle < self.n_cycles)
        return np.where(matches, cycle, -1).astype(int), np.where(matches, period, np.nan)


class Record(NamedTuple):
    """Results of a cycle: statistics over the members.

    Args:
        values, error: observations on the frames of the last interval, `(n_frames, n_streams)`; NaN without
            an observation.
        used: true for each observation that changed the analysis, `(n_frames, n_streams)`.
        background, analysis: mean temperature at the end of the window [degC], `(n_cells,)`.
        background_spread, analysis_spread: standard deviation of this temperature over the members [K].
        predicted, predicted_spread: mean and standard deviation of the observations predicted before the
            analysis, `(n_frames, n_streams)`.
        fitted: mean of the observations predicted after the analysis; see `Analysis`.
        processes, processes_spread: mean and standard deviation after the analysis, `(n_processes,)`.
        parameters: mean of the unconstrained parameters after the analysis, `(n_parameters,)`.
        forecast: predicted observations up to `Assimilation.horizon`, `(n_frames, n_streams)`; NaN after the
            case.
    """

    values: np.ndarray
    error: np.ndarray
    used: np.ndarray
    background: np.ndarray
    background_spread: np.ndarray
    analysis: np.ndarray
    analysis_spread: np.ndarray
    predicted: np.ndarray
    predicted_spread: np.ndarray
    fitted: np.ndarray
    processes: np.ndarray
    processes_spread: np.ndarray
    parameters: np.ndarray
    forecast: np.ndarray


@dataclasses.dataclass(frozen=True)
class Assimilation:
    """An assimilation method applied to an uncertain column and its observations.

    Args:
        system: uncertain column; its operators are those of the streams.
        streams: observations.
        method: assimilation method.
        cycles: times of windows and forecasts.

    Raises:
        ValueError: an end after the case, no observations of a stream between start and end, or nudging
            without a stream that it can use.
    """

    system: System
    streams: tuple[Stream, ...]
    method: AbstractAssimilationMethod
    cycles: Cycles

    def __post_init__(self):
        if self.cycles.end > self.system.case.duration:
            raise ValueError(
                f"end: expected no window that ends after the case, at {self.system.case.duration:g} s, got "
                f"{self.cycles.end:g} s; end earlier, or choose a case that lasts longer."
            )
        for stream in self.streams:
            inside = (stream.time > self.cycles.start) & (stream.time <= self.cycles.end)
            if not inside.any():
                raise ValueError(
                    f"{stream.name}: expected observations of {stream.operator.variable} between "
                    f"{self.cycles.start:g} and {self.cycles.end:g} s, got none (they lie between "
                    f"{stream.time[0]:g} and {stream.time[-1]:g} s); are these of another time? Choose other "
                    "times, or other observations."
                )
        if isinstance(self.method, Nudging) and not any(
            each.operator.is_temperature and not each.withheld for each in self.streams
        ):
            raise ValueError(
                "expected observations of temperature for nudging, which corrects nothing else, got none; "
                "choose another method or other observations."
            )

    @functools.cached_property
    def frames(self) -> tuple[int, int]:
        """Numbers of frames per interval and of steps per frame; every observation and lead ends a frame.

        Frames are as long as possible; observations are moved to the nearest time step.

        Raises:
            ValueError: a lead, interval, or half of an average that is no multiple of the step, or an average
                that reaches back before the window or the forecast.
        """
        cycles, dt, average = self.cycles, self.system.dt, self.system.average
        shortest = min(cycles.interval, *cycles.leads)
        if 0.5 * average > shortest:
            raise ValueError(
                f"observations.average: expected at most {2.0 * shortest:g} s, twice the shorter of the "
                f"interval and the shortest lead, got {average:g} s; shorten it."
            )
        interval = count_steps(cycles.interval, dt, "the interval between analyses")
        steps = [interval, *(count_steps(lead, dt, "each of the leads") for lead in cycles.leads)]
        if average:
            steps.append(count_steps(0.5 * average, dt, "half of observations.average"))
        for stream in self.streams:
            steps += np.rint((stream.time - cycles.start) / dt).astype(int).tolist()
        steps_per_frame = int(np.gcd.reduce(steps))
        return interval // steps_per_frame, steps_per_frame

    @functools.cached_property
    def _times(self) -> list[np.ndarray]:
        """Times of the observations of each stream within the windows, on time steps [s]."""
        cycles, dt = self.cycles, self.system.dt
        times = (cycles.start + np.rint((each.time - cycles.start) / dt) * dt for each in self.streams)
        return [each[(each > cycles.start) & (each <= cycles.analysis_time[-1] + 0.5 * dt)] for each in times]

    @functools.cached_property
    def horizon(self) -> float:
        """Length of the forecasts [s]: to the longest lead or the last observation that judges them."""
        leads = self.cycles.leads
        periods = (self.cycles.judged_forecasts(times, lead)[1] for times in self._times for lead in leads)
        return max((0.0, *leads, *(float(np.max(each, initial=0.0, where=each > 0.0)) for each in periods)))

    def notes(self) -> list[str]:
        """Notes on observations that are replaced, have no effect, or judge no forecast.

        Raises:
            ValueError: observations lie a lead or more after the first analysis, but none judges a forecast.
        """
        cycles, notes = self.cycles, []
        number = sum(each.time.size for each in self.streams)
        times = np.concatenate(self._times)
        if outside := number - times.size:
            notes.append(
                f"cycles: {outside} of {number} observations lie outside the windows, which begin at "
                f"{cycles.start:g} s and end at {cycles.analysis_time[-1]:g} s"
            )
        if replaced := sum(each.size - np.unique(each).size for each in self._times):
            step = "replaced by a later one on the same time step"
            notes.append(f"cycles: {replaced} of {number} observations are {step}")
        if isinstance(self.method, Nudging):
            assimilated = [each.operator for each in self.streams if not each.withheld]
            unused = [each.label for each in assimilated if not each.is_temperature]
            if unused:
                effect = "only judge forecasts, because nudging corrects temperatures alone"
                notes.append(f"method: observations of {', '.join(unused)} {effect}")
        expected = [np.sum(times >= cycles.analysis_time[0] + lead) for lead in cycles.leads]
        judging = [np.sum(cycles.judged_forecasts(times, lead)[0] >= 0) for lead in cycles.leads]
        if any(expected) and not any(judging):
            raise ValueError(
                f"leads: expected observations less than {cycles.tolerance:g} s from the end of a "
                f"forecast, got none; the first analysis is at {cycles.analysis_time[0]:g} s, the first "
                f"observation at {times.min():g} s; start the cycles so that windows end at observations, or "
                "choose other leads."
            )
        for lead, late, n in zip(cycles.leads, expected, judging, strict=True):
            if n < late or not late:
                notes.append(f"cycles.leads: {n} of {late} observations judge a forecast of {lead:g} s")
        return notes

    def begin(self) -> tuple[Ensemble, ...]:
        """Initial ensembles of the first window and of the windows that overlap with it."""
        key = jax.random.fold_in(jax.random.key(self.cycles.seed), 0)
        first = self.system.members(key, self.method.n_members)
        n_steps = round(self.cycles.start / self.system.dt)
        if n_steps:
            first = spin_up(self.system, first, jnp.asarray(n_steps))
        starts, n_steps = [first], jnp.asarray(round(self.cycles.interval / self.system.dt))
        while len(starts) < self.cycles.n_intervals:
            starts.append(spin_up(self.system, starts[-1], n_steps))
        return tuple(starts)

    @failures_as_values()
    def run(self, report: Callable[[int], None] = lambda cycle: None) -> "Records":
        """Run all cycles; `report` is called with the number of completed ones."""
        records, starts = [], self.begin()
        for cycle in range(self.cycles.n_cycles):
            window = self._window(cycle)
            analysis = self.method.assimilate(window, starts[0])
            starts = (*starts[1:], analysis.analysis)
            records.append(self._record(window, analysis))
            report(cycle + 1)
        stacked = Record(*(np.stack(each) for each in zip(*records, strict=True)))
        return Records(self.frames[1] * self.system.dt, self.cycles, stacked)

    def _window(self, cycle: int) -> Window:
        cycles, (n_frames, n_steps) = self.cycles, self.frames
        start, n_frames = cycles.start + cycle * cycles.interval, n_frames * cycles.n_intervals
        observed = observations_on_frames(self.streams, start, n_steps * self.system.dt, n_frames)
        key = jax.random.fold_in(jax.random.key(cycles.seed), cycle + 1)
        return Window(
            self.system, jnp.asarray(start), cycles.interval, cycles.n_intervals,
            self.frames, observed, key,
            cycles.background_check, tuple(stream.withheld for stream in self.streams),
        )  # fmt: skip

    def _record(self, window: Window, analysis: Analysis) -> Record:
        last = slice(-self.frames[0], None)
        observed = Frames(window.observed.values[last], window.observed.precision[last])
        on_frames = (each[last] for each in (analysis.predicted, analysis.fitted, analysis.used))
        summary = _summary(analysis.background, analysis.analysis, observed, *on_frames)
        statistics = {name: np.asarray(value) for name, value in summary.items()}
        return Record(**statistics, forecast=self._forecast(window, analysis))

    def _forecast(self, window: Window, analysis: Analysis) -> np.ndarray:
        """Predicted observations of a run from the mean of the members, with the forcing of the case.

        Persistence has no run: its forecast is the last observation of each stream.
        """
        cycles = self.cycles
        end = float(window.start) + cycles.window_length
        frame = self.frames[1] * self.system.dt
        n_frames = round(self.horizon / frame)
        if isinstance(self.method, Persistence):
            return self._persistence(end, n_frames)
        if not n_frames:
            return np.zeros((0, len(self.streams)))
        n_knots = int(np.ceil(self.horizon / cycles.interval - 1e-9)) + 1
        times = jnp.asarray(end + cycles.interval * np.arange(float(n_knots)))
        mean = analysis.analysis.mean()
        knots = self.system.decaying_processes(mean, cycles.interval, n_knots)
        steps = n_frames, self.frames[1]
        _, predicted = run_members(self.system, mean.now, knots, mean.parameters, times, steps)
        covered = end + frame * np.arange(1, n_frames + 1) <= self.system.case.duration + 1e-6
        return np.where(covered[:, None], predicted[..., 0], np.nan)  # no forcing after the case

    def _persistence(self, end: float, n_frames: int) -> np.ndarray:
        forecast = np.full((n_frames, len(self.streams)), np.nan)
        for column, stream in enumerate(self.streams):
            before = np.searchsorted(stream.time, end + 0.5 * self.system.dt)
            forecast[:, column] = stream.values[before - 1] if before else np.nan
        return forecast


@eqx.filter_jit
def _summary(
    background: Ensemble, analysis: Ensemble, observed: Frames, predicted: Array, fitted: Array, used: Array
) -> dict[str, Array]:
    """Means and standard deviations over the members, by name in `Record`."""

    def spread(values):
        return jnp.std(values, axis=-1, ddof=1) if values.shape[-1] > 1 else jnp.zeros(values.shape[:-1])

    variance = 1.0 / jnp.where(observed.known, observed.precision, 1.0)
    summary = {
        "values": jnp.where(observed.known, observed.values, jnp.nan),
        "error": jnp.where(observed.known, jnp.sqrt(variance), jnp.nan),
        "used": used,
        "fitted": jnp.mean(fitted, axis=-1),
        "parameters": jnp.mean(analysis.parameters, axis=-1),
    }
    temperature = {"background": background.now.state.temperature, "analysis": analysis.now.state.temperature}
    for name, values in {**temperature, "predicted": predicted, "processes": analysis.processes}.items():
        summary |= {name: jnp.mean(values, axis=-1), f"{name}_spread": spread(values)}
    return summary


_BLOCK = 14.0 * 86400.0
"""Length of the blocks that are resampled for the interval of a skill [s]."""


class Skill(NamedTuple):
    """Root mean square of innovations, its 90 % interval, and their mean and number.

    The interval is NaN if the observations fill fewer than two blocks.
    """

    rms: float
    lower: float
    upper: float
    mean: float
    number: int


@dataclasses.dataclass(frozen=True)
class Records:
    """Results of all cycles; the arrays of `Record` have the cycle as leading axis.

    Args:
        frame: time between frames [s].
        cycles: times of windows and forecasts.
        by_cycle: stacked records.
    """

    frame: float
    cycles: Cycles
    by_cycle: Record

    @property
    def analysis_time(self) -> Float[np.ndarray, " cycle"]:
        """Ends of the windows [s] since the start of the case."""
        return self.cycles.analysis_time

    @property
    def time(self) -> Float[np.ndarray, " time"]:
        """Ends of the frames with an observation [s]."""
        return self._times.ravel()[self._known]

    @property
    def _times(self) -> np.ndarray:
        n = self.by_cycle.values.shape[1]
        return self.analysis_time[:, None] + self.frame * np.arange(1 - n, 1)

    @property
    def _known(self) -> np.ndarray:
        return np.isfinite(self.by_cycle.values).any(axis=2).ravel()

    def observed(self, name: str) -> np.ndarray:
        """Values of a field of `Record` at the times of observations, `(n_times, n_streams)`."""
        values = getattr(self.by_cycle, name)
        return values.reshape(-1, values.shape[-1])[self._known]

    def innovation(self) -> Float[np.ndarray, "time lead stream"]:
        """Observation minus forecast, by time of the observation and lead; NaN where there is none."""
        time, values = self.time, self.observed("values")
        innovation = np.full((time.size, len(self.cycles.leads), values.shape[1]), np.nan)
        for index, lead in enumerate(self.cycles.leads):
            cycle, period = self.cycles.judged_forecasts(time, lead)
            matches = cycle >= 0
            frame = np.rint(period[matches] / self.frame).astype(int) - 1
            innovation[matches, index] = values[matches] - self.by_cycle.forecast[cycle[matches], frame]
        return innovation

    def forecast_period(self) -> Float[np.ndarray, "time lead"]:
        """Time from the analysis to the observation [s], by time of the observation and lead."""
        periods = [self.cycles.judged_forecasts(self.time, lead)[1] for lead in self.cycles.leads]
        return np.stack(periods, axis=1)

    def skill(self, lead: int, stream: int = 0, block: float = _BLOCK) -> "Skill | None":
        """Skill of the forecasts of one lead; `None` without observations that judge them.

        The interval comes from 1000 resamples of blocks of consecutive observations, because errors of
        neighbouring days are correlated.

        Args:
            lead: index of the lead.
            stream: index of the stream.
            block: length of the blocks [s].

        Source: Kuensch (1989), Ann. Stat. 17, 1217-1241.
        """
        judged = self.time >= self.cycles.judged_from
        errors = self.innovation()[judged][:, lead, stream]
        time, errors = (each[np.isfinite(errors)] for each in (self.time[judged], errors))
        n = time.size
        if n == 0:
            return None
        spacing = np.median(np.diff(time)) if n > 1 else block
        length = int(np.clip(round(block / spacing), 1, n))
        random = np.random.default_rng(0)
        starts = random.integers(0, n - length + 1, size=(1000, -(-n // length)))
        resamples = (starts[..., None] + np.arange(length)).reshape(1000, -1)[:, :n]
        ends = np.quantile(np.sqrt(np.mean(errors[resamples] ** 2, axis=1)), [0.05, 0.95])
        if 2 * length > n:  # a single block says nothing about the spread of others
            ends = np.full(2, np.nan)
        rms = np.sqrt(np.mean(errors**2))
        return Skill(float(rms), float(ends[0]), float(ends[1]), float(np.mean(errors)), n)
