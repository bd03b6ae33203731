"""BFM17 estimated at Bermuda, judged at Hawaii: `python -m benchmarks.bats`; needs `TUNAX_LITE_DATA`.

Free are the 51 numbers of Kern et al. (2024), the velocity of the exchange of oxygen with the air, and four
numbers of the water. The third year of the column of `bfm17` is compared with five fields of observations,
month by month and metre by metre. A residual of a field is its difference relative to the standard deviation
of the observations; and, with a weight of its own, the difference of both after each is centred and scaled,
whose mean square is twice one minus the correlation.

Gauss-Newton with the Jacobian over all three years, in forward mode. Between two Jacobians candidates of
several dampings run side by side, and correct the Jacobian by what they show (Broyden 1965). The plan
`coarse` does most of its work with a column of cells twice as thick, whose run costs a quarter.

Source: Kern et al. (2024), Geosci. Model Dev. 17, 621-649; Broyden (1965), Math. Comp. 19, 577-593.
"""

import argparse
import dataclasses
import json
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

import tunax_lite as tl
from tunax_lite.extensions.biogeochemistry import BFM17
from tunax_lite.numerics.batch_last import vmap_last

from . import bfm17
from .bfm17 import FIELDS, MONTH, N_CELLS, N_YEARS, THICKNESS, YEAR, Fields

DT = 7200.0
CORRECT = {"molar_volume": 22.391, "d_wan": 0.31}
"""Saturation and exchange of oxygen as they should be; the program differs."""
FIXED = ("own_light", "schmidt_o2", "p_qon_nitri", "molar_volume", "q10")
RANGES = {"d_wan": (0.0, 3.0)}
"""The stress is the mean of a month, as a vector: the wind of gusts and turns does not show in it."""
BELOW = ("o2o", "n1p", "n3n", "n4n")
WATER = {
    "background": (1e-5, 5e-4, 1e-4),
    "stress": (0.3, 4.0, 1.0),
    "rising": (0.0, 3.0, 1.0),
    "eddies": (0.0, 3.0, 1.0),
}
"""Range and first guess of the background diffusivity [m2 s-1] and of factors of the stress of the wind, of
the mean vertical velocity and of that of eddies [1]."""
PRIOR = 2e-3
"""Weight of the squared distance from the first guess, in units of the logit of the place in the range."""


@dataclasses.dataclass(frozen=True)
class Numbers:
    """All numbers of a column that may be free, with ranges and first guesses."""

    names: tuple[str, ...]
    low: np.ndarray
    high: np.ndarray
    first: np.ndarray

    @classmethod
    def of(cls, site: str) -> "Numbers":
        """Of the ecosystem, of what lies below (`below.`), of the water (`water.`)."""
        rows: list[tuple[str, float, float, float]] = []
        for field in dataclasses.fields(BFM17):
            if field.name not in FIXED:
                low, high = RANGES[field.name] if field.name in RANGES else field.metadata["valid_range"]
                default: Any = field.default
                given = {field.name: default} | CORRECT | bfm17.PARAMETERS[site]
                rows.append((field.name, low, high, given[field.name]))
        usual = {"o2o": 0.06, "n1p": 0.06, "n3n": 0.06, "n4n": 0.05} | bfm17.BELOW[site]
        rows += [(f"below.{name}", 0.0, 0.5, usual[name]) for name in BELOW]
        rows += [(f"water.{name}", *row) for name, row in WATER.items()]
        names, *columns = zip(*rows, strict=True)
        return cls(names, *(np.array(values, float) for values in columns))

    def free(self, values: np.ndarray) -> np.ndarray:
        """Unbounded, of values; a value at the edge of its range starts a fiftieth inside."""
        place = np.clip((values - self.low) / (self.high - self.low), 0.02, 0.98)
        return np.log(place / (1.0 - place))

    def values(self, free: np.ndarray) -> np.ndarray:
        """Of unbounded ones, shape (n, ...)."""
        low, high = (of.reshape(-1, *[1] * (free.ndim - 1)) for of in (self.low, self.high))
        return low + (high - low) / (1.0 + np.exp(-free))

    def slopes(self, free: np.ndarray) -> np.ndarray:
        """Derivatives of the values by the unbounded ones."""
        place = 1.0 / (1.0 + np.exp(-free))
        return (self.high - self.low) * place * (1.0 - place)

    def chosen(self, part: str) -> np.ndarray:
        """Which are free: `biology`, with what lies below, `water`, or `both`."""
        of_water = np.array([name.startswith("water.") for name in self.names])
        return {"biology": ~of_water, "water": of_water, "both": np.ones_like(of_water)}[part]


def _with(model: tl.Model, case: tl.Case, given: dict[str, Any]) -> tuple[tl.Model, tl.Case]:
    """Model and case with other numbers."""
    terms: Any = dict(case.terms)
    parts: dict[str, dict[str, Any]] = {"": {}, "below": {}, "water": {}}
    for name, value in given.items():
        part, _, key = name.rpartition(".")
        parts[part][key] = value
    water, life = parts["water"], terms["life"]
    changed = dataclasses.replace(life.models["bfm"], **parts[""])
    terms["life"] = eqx.tree_at(lambda term: term.models["bfm"], life, changed)
    around = dataclasses.replace(terms["surroundings"], **parts["below"])
    terms["surroundings"] = eqx.tree_at(
        lambda term: (term.eddies, term.months.values.velocity),
        around,
        (around.eddies * water["eddies"], around.months.values.velocity * water["rising"]),
    )
    stress = lambda forcing: (forcing.months.values["u"], forcing.months.values["v"])  # noqa: E731
    forcing = eqx.tree_at(stress, case.forcing, tuple(of * water["stress"] for of in stress(case.forcing)))
    model = dataclasses.replace(model, molecular_tracer_diffusivity=water["background"])
    return model, dataclasses.replace(case, terms=terms, forcing=forcing)


NUMBERS = Numbers.of("bats")
N_SIDE_BY_SIDE = 8
N_ROUNDS = 5


def fields_of(model: tl.Model, case: tl.Case, values: Any, dt: float = DT) -> Any:
    """Months of the third year: five fields, shape (5, 12, 150)."""
    changed_model, changed = _with(model, case, dict(zip(NUMBERS.names, values, strict=True)))
    kept = tl.simulate(
        changed_model, changed, dt=dt, duration=N_YEARS * YEAR, output_interval=MONTH, means=True
    )
    assert kept.means is not None
    months: Any = {name: of[-12:, ::-1] for name, of in kept.means.state.tracers.items()}
    found = bfm17.fields(months)
    return jnp.repeat(jnp.stack([found[name] for name in FIELDS]), N_CELLS // changed.grid.n_cells, axis=2)


class Programs(eqx.Module):
    """A run of a column, some runs side by side, and derivatives along all numbers: compiled once."""

    run: Callable[..., Any]
    side_by_side: Callable[..., Any]
    pushed: Callable[..., Any]

    @classmethod
    def of(cls, model: tl.Model, run: Callable[..., Any]) -> "Programs":
        def fields(values: Any, case: tl.Case) -> Any:
            return fields_of(model, case, values)

        def beside(values: Any, case: tl.Case) -> Any:
            return vmap_last(lambda each: fields(each, case))(values)

        def pushed(values: Any, directions: Any, case: tl.Case) -> Any:
            along = lambda one: jax.jvp(lambda x: fields(x, case), (values,), (one,))[1]  # noqa: E731
            return vmap_last(along)(directions)

        one, case = jnp.asarray(NUMBERS.first), column("bats")[1]
        some = jnp.tile(one[:, None], N_SIDE_BY_SIDE)
        jit: Any = eqx.filter_jit
        # Compiled here, so that compilation is no part of the cost.
        return cls(
            run,
            jit(beside).lower(some, case).compile(),
            jit(pushed).lower(one, jnp.diag(one), case).compile(),
        )


def column(site: str) -> tuple[tl.Model, tl.Case]:
    """Model and case of a site, with oxygen as it should be."""
    model, case = bfm17.column(site, molar_volume=CORRECT["molar_volume"])
    return model, case.unlabelled()


@dataclasses.dataclass(frozen=True)
class Misfit:
    """Residuals of the five fields; the sum of their squares is what an estimate makes small.

    Args:
        observations: shape (5, 12, 150).
        weights: of the difference, and of the correlation, by field.
    """

    observations: np.ndarray
    weights: dict[str, tuple[float, float]]

    def __call__(self, fields: Any) -> Any:
        parts = []
        for i, name in enumerate(FIELDS):
            seen, made = self.observations[i], fields[i]
            of_difference, of_pattern = (np.sqrt(weight / seen.size) for weight in self.weights[name])
            spread = np.std(seen)
            centred = (made - jnp.mean(made)) / (jnp.std(made) + 1e-3 * spread)
            parts.append(of_difference * ((made - seen) / spread).ravel())
            parts.append(of_pattern * (centred - (seen - np.mean(seen)) / spread).ravel())
        return jnp.concatenate(parts)

    def along(self, fields: Any, tangents: Any) -> np.ndarray:
        """Derivatives of the residuals, shape (residual, number)."""
        push = jax.linearize(self, jnp.asarray(fields))[1]
        return np.asarray(jax.vmap(push, -1, -1)(jnp.asarray(tangents)))

    def moved(self, fields: Any, tangents: Any) -> np.ndarray:
        """Derivatives of the correlations of the five fields, shape (5, number)."""

        def correlations(fields: Any) -> Any:
            return jnp.stack([
                jnp.corrcoef(made.ravel(), seen.ravel())[0, 1]
                for made, seen in zip(fields, self.observations, strict=True)
            ])  # fmt: skip

        push = lambda tangent: jax.jvp(correlations, (fields,), (tangent,))[1]  # noqa: E731
        return np.asarray(jax.jit(lambda of: jax.vmap(push, -1, -1)(of))(tangents))


WEIGHTS = {
    "chlorophyll": (0.5, 3.0),
    "oxygen": (0.15, 1.0),
    "nitrate": (1.0, 1.0),
    "phosphate": (1.0, 1.0),
    "PON": (0.5, 1.0),
}


def scores(fields: np.ndarray, site: str) -> dict[str, tuple[float, float]]:
    """Root mean square difference and correlation of five fields."""
    modelled: Fields = {name: np.asarray(fields[i]).T for i, name in enumerate(FIELDS)}
    return bfm17.compared(modelled, bfm17.observed(site))


@dataclasses.dataclass
class Estimate:
    """What an estimate found.

    Args:
        free: unbounded numbers.
        fields: the five fields with them.
        jacobian: of the residuals by the unbounded numbers, at the last place where it was computed.
        moved: derivatives of the correlations by all unbounded numbers, at the first guess.
        n_runs, n_jacobians: done.
        seconds: of the processor in Jacobians and runs; seconds_of_run: in one run.
        history: sums of squares.
    """

    free: np.ndarray
    fields: np.ndarray
    jacobian: np.ndarray
    moved: np.ndarray
    n_runs: int = 0
    n_jacobians: int = 0
    seconds: float = 0.0
    seconds_of_run: float = 0.0
    history: list[float] = dataclasses.field(default_factory=list)

    @property
    def cost(self) -> float:
        """In runs."""
        return self.seconds / self.seconds_of_run

    @property
    def values(self) -> dict[str, float]:
        """Numbers by name."""
        return dict(zip(NUMBERS.names, NUMBERS.values(self.free).tolist(), strict=True))


class Search:
    """Gauss-Newton from a first guess.

    Args:
        part: which numbers are free.
        known: derivatives of the fields by all numbers that another search has computed, and their seconds.
    """

    def __init__(
        self,
        site: str,
        part: str,
        programs: Programs,
        case: tl.Case,
        start: np.ndarray | None = None,
        weights: dict[str, tuple[float, float]] = WEIGHTS,
        tell: Callable[[str], None] = lambda line: None,
        known: dict[bytes, Any] | None = None,
    ):
        self.known = {} if known is None else known
        self.site, self.programs, self.case, self.tell = site, programs, case, tell
        self.chosen, self.first = NUMBERS.chosen(part), NUMBERS.free(NUMBERS.first)
        observed = bfm17.observed(site)
        self.misfit = Misfit(np.stack([observed[name].T for name in FIELDS]), weights)
        x = self.first if start is None else start
        fields = self.run(x)
        began = time.process_time()
        self.run(x)
        self.found = Estimate(x, fields, np.zeros(0), np.zeros(0), seconds_of_run=time.process_time() - began)
        self.rest = self.residuals(fields, x)
        self.found.history.append(float(self.rest @ self.rest))
        self.damping = 1e-2
        self.report("start")

    def run(self, free: np.ndarray) -> np.ndarray:
        """The five fields."""
        return np.asarray(self.programs.run(jnp.asarray(NUMBERS.values(free)), self.case))

    def residuals(self, fields: Any, free: np.ndarray) -> np.ndarray:
        """Of the fields and of the prior."""
        return np.concatenate([np.asarray(self.misfit(fields)), np.sqrt(PRIOR) * (free - self.first)])

    def report(self, what: str) -> None:
        """Tell the sum of squares and the scores."""
        found = scores(self.found.fields, self.site)
        told = " ".join(f"{name} {r:.3g}/{c:.3f}" for name, (r, c) in found.items())
        self.tell(f"{what}: {self.found.history[-1]:.4f}; {told}")

    def jacobian(self) -> np.ndarray:
        """Of the residuals by the free numbers."""
        slopes = NUMBERS.slopes(self.found.free)
        values = jnp.asarray(NUMBERS.values(self.found.free))
        key = self.found.free.tobytes()
        if key not in self.known:
            began = time.process_time()
            of_fields = np.asarray(self.programs.pushed(values, jnp.diag(jnp.asarray(slopes)), self.case))
            self.known[key] = of_fields, time.process_time() - began
        tangents, seconds = self.known[key]
        self.found.seconds += seconds
        self.tell(f"Jacobian: {seconds:.1f} s, run {self.found.seconds_of_run:.2f} s")
        if not self.found.n_jacobians:
            self.found.moved = self.misfit.moved(self.found.fields, tangents)
        self.found.n_jacobians += 1
        self.found.jacobian = self.misfit.along(self.found.fields, tangents[..., self.chosen])
        of_prior = np.sqrt(PRIOR) * np.eye(self.first.size)[:, self.chosen]
        return np.concatenate([self.found.jacobian, of_prior])

    def iterate(self) -> float:
        """A Jacobian, then rounds of candidates; returns the fraction by which the sum fell."""
        before = self.found.history[-1]
        matrix = self.jacobian()
        began = time.process_time()
        for _ in range(N_ROUNDS):
            last = self.found.history[-1]
            matrix = self.round(matrix)
            if 0.0 < 1.0 - self.found.history[-1] / last < 0.01:
                break
        self.found.seconds += time.process_time() - began
        return 1.0 - self.found.history[-1] / before

    def round(self, matrix: np.ndarray) -> np.ndarray:
        """Try dampings side by side, move to the best, correct the matrix."""
        dampings = [self.damping * 4.0**power for power in range(-4, N_SIDE_BY_SIDE - 4)]
        steps = [_step(matrix, self.rest, damping) for damping in dampings]
        tried = np.tile(self.found.free[:, None], N_SIDE_BY_SIDE)
        tried[self.chosen] += np.stack(steps, axis=1)
        runs = np.asarray(self.programs.side_by_side(jnp.asarray(NUMBERS.values(tried)), self.case))
        self.found.n_runs += N_SIDE_BY_SIDE
        rests = [self.residuals(runs[..., i], tried[:, i]) for i in range(N_SIDE_BY_SIDE)]
        sums = np.array([rest @ rest if np.isfinite(rest).all() else np.inf for rest in rests])
        base, best, i = self.rest, self.found.history[-1], int(np.argmin(sums))
        for j in np.argsort(sums)[::-1]:  # the best last, so that it fits exactly
            if sums[j] < 1.5 * best:
                change = rests[j] - base - matrix @ steps[j]
                matrix = matrix + np.outer(change, steps[j]) / (steps[j] @ steps[j])
        self.tell(f"  damping {self.damping:.1e}: {np.array2string(sums, precision=3)}")
        self.damping = self.damping * 4.0 ** (i - 4) if sums[i] < best else self.damping * 64.0
        if sums[i] < best:
            self.found.free, self.found.fields, self.rest = tried[:, i], runs[..., i], rests[i]
            self.found.history.append(float(sums[i]))
            self.report("  better")
        return matrix


def _step(matrix: np.ndarray, rest: np.ndarray, damping: float) -> np.ndarray:
    """Of Gauss-Newton with Marquardt's damping, at most 1.5 in a number."""
    normal = matrix.T @ matrix
    size = np.diag(normal) + 1e-3 * np.diag(normal).max()
    step = -np.linalg.solve(normal + damping * np.diag(size), matrix.T @ rest)
    return step * min(1.0, 1.5 / np.abs(step).max())


# ---- most of the work with a coarser column ----

COARSE_DT = 14400.0
"""With six hours the closure is chaotic in the stress of the wind."""
COARSE_PRIOR = 5e-3
"""With less, Hawaii loses what Bermuda gains."""
COARSE_WEIGHTS = WEIGHTS | {"chlorophyll": (0.5, 10.0)}
DIFFERENCE = 0.01
"""Of the unbounded numbers."""
N_DIRECTIONS, N_PARTIAL, N_TRIES = 16, 2, 3
"""Directions of a partial Jacobian, partial ones after each full one, rounds of candidates after each."""
DAMPINGS = (1e-4, 1e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 10.0, 100.0)
BEST_OVER_LEAST = 1.2
"""Smallest ratio of the best content of nitrogen and phosphorus to the least: at 1 growth is a switch."""


def coarser(case: tl.Case) -> tl.Case:
    """A case of `bfm17` with cells twice as thick."""
    terms: Any = dict(case.terms)
    mean = lambda of: 0.5 * (of[..., ::2] + of[..., 1::2]) if of.ndim else of  # noqa: E731
    around = terms["surroundings"]
    held = around.months.values
    months = dataclasses.replace(
        held,
        temperature=mean(held.temperature),
        salinity=mean(held.salinity),
        velocity=held.velocity[:, ::2],
    )
    terms["surroundings"] = eqx.tree_at(
        lambda term: (term.eddies, term.months.values), around, (around.eddies[:, ::2], months)
    )
    grid = tl.Grid.uniform(N_CELLS * THICKNESS, N_CELLS // 2)
    state = jax.tree.map(mean, case.initial_state)
    return dataclasses.replace(case, grid=grid, initial_state=state, terms=terms)


class Columns(NamedTuple):
    """Fields by unbounded numbers, and the time of a coarse run over that of a run."""

    run: Callable[[np.ndarray], np.ndarray]
    coarse: Callable[[np.ndarray], np.ndarray]
    ratio: float

    @classmethod
    def of(cls, model: tl.Model, run: Callable[..., Any], case: tl.Case) -> "Columns":
        """Compiled; both are timed in turn."""
        first, small = jnp.asarray(NUMBERS.first), coarser(case)
        jit: Any = eqx.filter_jit
        program = jit(lambda values, case: fields_of(model, case, values, COARSE_DT))
        program = program.lower(first, small).compile()
        columns = cls(
            lambda free: np.asarray(run(jnp.asarray(NUMBERS.values(free)), case)),
            lambda free: np.asarray(program(jnp.asarray(NUMBERS.values(free)), small)),
            1.0,
        )
        seconds = np.full((2, 3), np.inf)
        for i in range(3):
            for j, each in enumerate(columns[:2]):
                began = time.process_time()
                each(NUMBERS.free(NUMBERS.first))
                seconds[j, i] = time.process_time() - began
        of_run, of_coarse = seconds.min(axis=1)
        return columns._replace(ratio=float(of_coarse / of_run))


def distinct(free: np.ndarray) -> np.ndarray:
    """Unbounded numbers with the best contents raised where they come too close to the least."""
    values = NUMBERS.values(free)
    raised = values.copy()
    for least, best in (("p_qnlc", "p_qncppy"), ("p_qplc", "p_qpcppy")):
        i, j = NUMBERS.names.index(least), NUMBERS.names.index(best)
        raised[j] = min(max(values[j], BEST_OVER_LEAST * values[i]), NUMBERS.high[j])
    return np.where(raised > values, NUMBERS.free(raised), free)


class CoarseSearch:
    """Gauss-Newton with the coarse column, which the other one corrects.

    The fields are those of the coarse column plus the difference of both where they were last compared. The
    derivatives are differences: of all numbers; or, between, along the directions in which the misfit changes
    most. Candidates correct them, too.
    """

    def __init__(self, columns: Columns, observations: np.ndarray, tell: Callable[[str], None]):
        self.columns, self.tell = columns, tell
        self.misfit = Misfit(observations, COARSE_WEIGHTS)
        self.first = self.free = NUMBERS.free(NUMBERS.first)
        self.coarse, self.fields = columns.coarse(self.free), columns.run(self.free)
        self.n_runs, self.n_coarse, self.n_partial = 1, 1, N_PARTIAL
        self.tangents = np.zeros((*self.fields.shape, self.first.size))
        self.best = self.sum_of_squares(self.fields, self.free), self.free, self.fields

    @property
    def cost(self) -> float:
        """In runs."""
        return self.n_runs + self.columns.ratio * self.n_coarse

    def residuals(self, fields: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Of the fields and of the prior."""
        return np.concatenate([np.asarray(self.misfit(fields)), np.sqrt(COARSE_PRIOR) * (free - self.first)])

    def sum_of_squares(self, fields: np.ndarray, free: np.ndarray) -> float:
        """Infinite where a run failed."""
        rest = self.residuals(fields, free)
        return float(rest @ rest) if np.isfinite(rest).all() else np.inf

    def until(self, cost: float) -> None:
        """Iterate as long as the next iteration ends within a cost in runs."""
        while True:
            full = self.n_partial == N_PARTIAL
            directions = np.eye(self.first.size) if full else self.steepest()
            n_more = directions.shape[1] + N_TRIES * len(DAMPINGS)
            if self.cost + 1 + self.columns.ratio * n_more > cost:
                return
            fell = self.iterate(directions)
            self.n_partial = N_PARTIAL if not fell else 0 if full else self.n_partial + 1

    def steepest(self) -> np.ndarray:
        """Directions in which the misfit changes most."""
        matrix = self.misfit.along(self.fields, self.tangents)
        return np.linalg.eigh(matrix.T @ matrix)[1][:, -N_DIRECTIONS:]

    def iterate(self, directions: np.ndarray) -> bool:
        """Derivatives along directions, then candidates; returns whether the sum fell clearly."""
        start, before = self.free, self.sum_of_squares(self.fields, self.free)
        for along in directions.T:
            change = (self.run_coarse(start + DIFFERENCE * along) - self.coarse) / DIFFERENCE
            self.correct(change, along)
        for _ in range(N_TRIES):
            if not self.try_steps():
                break
        if self.free is start:
            return False
        self.fields, self.n_runs = self.columns.run(self.free), self.n_runs + 1
        found = self.sum_of_squares(self.fields, self.free)
        if found < self.best[0]:
            self.best = found, self.free, self.fields
        told = " ".join(f"{k} {r:.3g}/{c:.3f}" for k, (r, c) in scores(self.fields, "bats").items())
        self.tell(f"cost {self.cost:.0f}: {found:.4f}; {told}")
        return found < 0.985 * before

    def run_coarse(self, free: np.ndarray) -> np.ndarray:
        """Counted."""
        self.n_coarse += 1
        return self.columns.coarse(free)

    def correct(self, change: np.ndarray, step: np.ndarray) -> None:
        """Derivatives that give the change along a step (Broyden)."""
        error = change - self.tangents @ step
        self.tangents += error[..., None] * step / (step @ step)

    def try_steps(self) -> bool:
        """Steps of all dampings; moves to the best if it is better."""
        base, here = self.coarse, self.free
        offset, fields = self.fields - base, self.fields
        rest = self.residuals(fields, here)
        of_prior = np.sqrt(COARSE_PRIOR) * np.eye(here.size)
        matrix = np.concatenate([self.misfit.along(fields, self.tangents), of_prior])
        steps = [distinct(here + _step(matrix, rest, damping)) - here for damping in DAMPINGS]
        made = [self.run_coarse(here + step) for step in steps]
        sums = [self.sum_of_squares(of + offset, here + step) for of, step in zip(made, steps, strict=True)]
        before, order = float(rest @ rest), np.argsort(sums)
        for j in order[::-1]:  # the best last, so that it fits exactly
            if sums[j] < 1.5 * before:
                self.correct(made[j] - base, steps[j])
        best = order[0]
        if sums[best] < before:
            self.free, self.coarse, self.fields = here + steps[best], made[best], made[best] + offset
        return bool(sums[best] < 0.985 * before)


# ---- what a year of climatology determines ----

N_INDEPENDENT = 180
"""Values that the observations are worth: five fields, twelve months, three layers."""
OF_RANGE = np.pi / np.sqrt(3.0)
"""Standard deviation of an unbounded number if its value is equally likely in its whole range."""


def ratios(found: Estimate, part: str) -> dict[str, float]:
    """Standard deviation of the free numbers after the observations, over that before, the surest first.

    What is left of the misfit is taken as the error of the observations.
    """
    information = found.jacobian.T @ found.jacobian * N_INDEPENDENT / found.history[-1]
    covariance = np.linalg.inv(information + np.eye(len(information)) / OF_RANGE**2)
    deviations = np.sqrt(np.diag(covariance)) / OF_RANGE
    names = [name for name, free in zip(NUMBERS.names, NUMBERS.chosen(part), strict=True) if free]
    return dict(sorted(zip(names, deviations.tolist(), strict=True), key=lambda pair: pair[1]))


def n_combinations(found: Estimate) -> int:
    """Number of combinations of numbers that the observations determine better than their ranges do."""
    singular = np.linalg.svd(found.jacobian, compute_uv=False)
    return int(np.sum(singular**2 * N_INDEPENDENT / found.history[-1] > 1.0 / OF_RANGE**2))


# ---- the study ----


def elsewhere(free: np.ndarray, site: str) -> np.ndarray:
    """Values of numbers at another site, which keeps what lies below it."""
    values, own = NUMBERS.values(free), Numbers.of(site)
    below = np.array([name.startswith("below.") for name in own.names])
    return np.where(below, own.first, values)


def table(title: str, modelled: Mapping[str, np.ndarray]) -> str:
    """Markdown of the scores of one estimate at sites."""
    rows = []
    for site, fields in modelled.items():
        of_site = scores(fields, site)
        cells = " | ".join(f"{of_site[name][0]:.3g} / {of_site[name][1]:.2f}" for name in FIELDS)
        rows.append(f"| {title} | {site} | {cells} |")
    return "\n".join(rows)


class Plan(NamedTuple):
    """An estimate: what is free, where it starts, how many Jacobians it has, its weights."""

    part: str
    start: str
    n_jacobians: int = 1
    weights: dict[str, tuple[float, float]] = WEIGHTS


PLANS = {
    "both": Plan("both", "nominal", 2),
    "pattern": Plan("both", "both", weights=WEIGHTS | {"chlorophyll": (0.5, 10.0)}),
    "biology": Plan("biology", "nominal"),
    "water": Plan("water", "biology"),
    "biology_again": Plan("biology", "biology"),
}
"""Together, then with more weight on the pattern of chlorophyll; and one after the other."""
COSTS = (75, 100, 130)
"""At which the search with a coarser column is judged, in runs."""


class Study:
    """Estimates one after the other, judged at both sites, and stored.

    Args:
        folder: for numbers and fields.
        tell: called with lines of the progress.
    """

    def __init__(self, folder: Path, tell: Callable[[str], None]):
        self.folder, self.tell = folder, tell
        self.model, self.bermuda = column("bats")
        self.hawaii = column("hot")[1]
        jit: Any = eqx.filter_jit
        run = jit(lambda values, case: fields_of(self.model, case, values))
        self.run = run.lower(jnp.asarray(NUMBERS.first), self.bermuda).compile()
        self.known: dict[bytes, Any] = {}
        self.free = {"nominal": NUMBERS.free(NUMBERS.first)}
        folder.mkdir(parents=True, exist_ok=True)
        self.judge("nominal", NUMBERS.first, Numbers.of("hot").first, {})

    @cached_property
    def programs(self) -> Programs:
        """Of the searches with exact Jacobians."""
        return Programs.of(self.model, self.run)

    def judge(self, name: str, at_bermuda: np.ndarray, at_hawaii: np.ndarray, more: dict[str, Any]) -> None:
        """Run both sites, tell the scores, store numbers and fields."""
        places = {"bats": (at_bermuda, self.bermuda), "hot": (at_hawaii, self.hawaii)}
        modelled = {
            site: np.asarray(self.run(jnp.asarray(values), case)) for site, (values, case) in places.items()
        }
        self.tell(table(name, modelled))
        np.savez(self.folder / f"{name}.npz", bats=modelled["bats"], hot=modelled["hot"])
        stored = {"values": dict(zip(NUMBERS.names, at_bermuda.tolist(), strict=True))} | more
        (self.folder / f"{name}.json").write_text(json.dumps(stored, indent=1))

    def coarse(self) -> None:
        """The estimate with a coarser column, judged where its cost reaches each of `COSTS`."""
        observed = bfm17.observed("bats")
        columns = Columns.of(self.model, self.run, self.bermuda)
        self.tell(f"a coarse run costs {columns.ratio:.2f} runs")
        search = CoarseSearch(columns, np.stack([observed[name].T for name in FIELDS]), self.tell)
        for cost in COSTS:
            search.until(cost)
            total, free, _ = search.best
            more = {"n_runs": search.n_runs, "n_coarse": search.n_coarse, "cost": search.cost, "sum": total}
            self.judge(f"coarse_{cost}", NUMBERS.values(free), elsewhere(free, "hot"), more)

    def estimate(self, name: str, plan: Plan) -> None:
        """An estimate, judged after each Jacobian."""
        search = Search(
            "bats",
            plan.part,
            self.programs,
            self.bermuda,
            self.free[plan.start],
            plan.weights,
            self.tell,
            self.known,
        )
        for _ in range(plan.n_jacobians):
            search.iterate()
            found = search.found
            moved = {
                field: dict(zip(NUMBERS.names, of, strict=True))
                for field, of in zip(FIELDS, found.moved.tolist(), strict=True)
            }
            more = {
                "n_runs": found.n_runs,
                "n_jacobians": found.n_jacobians,
                "cost": found.cost,
                "sums": found.history,
                "n_combinations": n_combinations(found),
                "ratios": ratios(found, plan.part),
                "moved": moved,
            }
            self.judge(name, NUMBERS.values(found.free), elsewhere(found.free, "hot"), more)
        self.free[name] = search.found.free


def draw(folder: Path, names: tuple[str, ...] = ("nominal", "both", "coarse_100")) -> Figure:
    """Fields at Bermuda by month and depth, as observed and as modelled."""
    rows = {"observed": np.stack([bfm17.observed("bats")[name].T for name in FIELDS])}
    rows |= {name: np.load(folder / f"{name}.npz")["bats"] for name in names}
    figure = Figure(figsize=(15, 2.6 * len(rows)), layout="constrained")
    axes = figure.subplots(len(rows), len(FIELDS), sharex=True, sharey=True)
    month, depth = np.arange(1, 13), -np.arange(bfm17.N_CELLS) - 0.5
    for j, field in enumerate(FIELDS):
        of_all = np.stack([fields[j] for fields in rows.values()])
        low, high = float(of_all[0].min()), float(of_all[0].max())
        image = None
        for i, (name, fields) in enumerate(rows.items()):
            image = axes[i, j].pcolormesh(month, depth, fields[j].T, cmap="viridis", vmin=low, vmax=high)
            title, r = name.partition("_")[0], _correlation(fields[j], of_all[0])
            axes[i, j].set_title(title if i == 0 else f"{title}, r = {r:.2f}")
        unit = "mg m$^{-3}$" if field == "chlorophyll" else "mmol m$^{-3}$"
        assert image is not None
        figure.colorbar(image, ax=axes[:, j], location="bottom", label=f"{field} [{unit}]", extend="both")
    for ax in axes[:, 0]:
        ax.set_ylabel("z [m]")
    for ax in axes[-1]:
        ax.set_xlabel("month")
    return figure


def _correlation(ours: np.ndarray, theirs: np.ndarray) -> float:
    return float(np.corrcoef(ours.ravel(), theirs.ravel())[0, 1])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bats", description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("results/bats"), metavar="FOLDER")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=[*PLANS, "coarse"],
        default=[*PLANS, "coarse"],
        help="some of the estimates",
    )
    parser.add_argument("--figure", type=Path, metavar="FILE", help="run nothing: draw the stored results")
    options = parser.parse_args()
    tl.configure()
    if options.figure:
        draw(options.results).savefig(options.figure, dpi=80)
        return
    study = Study(options.results, lambda line: print(line, flush=True))
    for name in options.only:
        if name in PLANS:
            study.estimate(name, PLANS[name])
        else:
            study.coarse()


if __name__ == "__main__":
    main()
