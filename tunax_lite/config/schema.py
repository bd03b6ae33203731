"""The configuration of a run (one model on one case), and sections that other kinds of files share."""

import dataclasses
import math
from typing import Annotated, Literal

import equinox as eqx
import numpy as np
from pydantic import Field, field_validator

from ..column.case import Case
from ..column.corrections import CORRECTIONS, CorrectedForcing, InitialCorrection
from ..column.diagnostics import DIAGNOSTICS, diagnostic
from ..column.forcing import WaterSurface
from ..column.model import Model
from .builder import section_of
from .case import GridSection, UniformGrid
from .closures import ClosureSection, NamedClosure
from .section import Accepted, Section, closest, invalid, key, known
from .site import CaseSection


class ModelSection(section_of(Model)):
    """The closure and the time scheme."""

    closure: NamedClosure = key("how turbulence mixes: name, parameters", ClosureSection())


class TimeSection(Section):
    """Time step, length and frames of a run."""

    dt: float = key("time step [s]", 60.0, gt=0.0, le=86400.0)
    output_interval: float = key("time between saved frames [s]", 600.0, gt=0.0)
    duration: float | None = key("length of the run [s]; null for that of the case", None, gt=0.0)

    def _check(self) -> None:
        for name in ("output_interval", "duration"):
            interval = getattr(self, name)
            if interval is None or interval > 1e15 * self.dt:  # more steps than any run can have
                continue
            n = round(interval / self.dt)
            if n < 1 or not math.isclose(n * self.dt, interval, rel_tol=1e-9):
                expected = f"{name} to be a multiple of dt = {self.dt:g} s"
                raise invalid(expected, f"{interval:g} s", f"for example {max(1, n) * self.dt:g}")


Precision = Annotated[Literal["float64", "float32"], key("floating-point numbers of the computation")]


class CorrectionsSection(Section):
    """Corrections, neutral until a calibration or a file of parameters sets them."""

    fluxes: Annotated[list[str], known("the name of a correction", CORRECTIONS)] = key(
        "names such as heat_flux_bias, stress_scale", []
    )
    knots: Annotated[list[float], Field(min_length=2)] | Annotated[float, Field(gt=0.0)] | None = key(
        "times between which fluxes are corrected linearly, or the time between two [s]; null for constants",
        None,
    )
    period: float | None = key("after which the knots repeat [s], a year for one", None, gt=0.0)
    initial: list[Literal["temperature", "salinity", "u", "v"]] = key(
        "initial profiles that are corrected", []
    )
    z: list[Annotated[float, Field(le=0.0)]] | None = key(
        "heights of their increments [m]; null for every cell", None, min_length=1
    )

    def _check(self) -> None:
        if self.period is not None and self.knots is None:
            raise invalid("`knots` within the period", "none", "add them")
        for name, needed in (("knots", "fluxes"), ("z", "initial")):
            if not getattr(self, needed) and getattr(self, name) is not None:
                raise invalid(f"`{needed}` to correct", "none", f"name them, or remove {name}")

    def of(self, case: Case) -> Case:
        """Add neutral corrections to a case; `ValueError` for a scale of a flux that the case lacks."""
        if self.initial:
            z = case.grid.z_center if self.z is None else self.z
            correction = InitialCorrection.zero(z, self.initial)
            case = dataclasses.replace(case, initial_correction=correction)
        if self.fluxes:
            knots = self._knots(case.duration)
            forcing = CorrectedForcing.neutral(case.forcing, self.fluxes, knots, self.period)
            water = WaterSurface.of(case.initial_state)
            # Raises the error of a missing flux now instead of in the first step.
            eqx.filter_eval_shape(forcing.at, np.zeros((), case.grid.z_face.dtype), water)
            case = dataclasses.replace(case, forcing=forcing)
        return case

    def _knots(self, duration: float) -> list[float] | None:
        """Times of the knots [s]; without a period the last one is at the end of the case or after it."""
        if self.knots is None or isinstance(self.knots, list):
            return self.knots
        n = max(1, int(np.ceil((self.period or duration) / self.knots * (1.0 - 1e-9))))
        return [i * self.knots for i in range(n + (self.period is None))]


class RunOutputSection(Section):
    """Where a run writes its files, which are named after the configuration."""

    folder: str = key("folder for results", "results", min_length=1)
    figures: bool = key("whether to draw figures", True)
    diagnostics: list[str] = key("further variables to write; see docs/diagnostics", [])
    variables: list[str] | None = key(
        "the only ones to keep in the file; null for all, which a restart needs", None, min_length=1
    )
    means: bool = key("whether to write means between saved frames too, of diagnostics as well", False)
    budgets: bool = key(
        "whether to write what each term does to heat, salt and kinetic energy between saved frames", False
    )
    tendencies: bool = key("whether to write what each term does to every variable in each cell, too", False)

    @field_validator("diagnostics")
    @classmethod
    def _check_names(cls, names: list[str]) -> list[str]:
        for name in names:
            try:
                diagnostic(name)
            except ValueError:
                known = list(DIAGNOSTICS)
                raise invalid("the name of a diagnostic", f"'{name}'", closest(name, known)) from None
        return names


ObservedVariable = Annotated[
    str, key("compared variables: temperature, salinity, u, v, a tracer or an observable")
]
Averaging = Annotated[
    Literal["points", "cell_means"],
    key("compare at the observed heights, or as means over the cells of the coarser grid"),
]


class EvaluationSection(Section):
    """Observations that `evaluate` uses."""

    start: float = key("first time that counts [s]", 7200.0, ge=0.0)
    end: float | None = key("last time that counts [s]; null for all", None, gt=0.0)
    variables: list[ObservedVariable] | None = key(
        "variables to compare; null for temperature, u, v and tracers", None, min_length=1
    )
    averaging: Averaging = "points"


class RunConfig(Section):
    """One model on one case."""

    case: CaseSection = key("where the case comes from")
    grid: GridSection = key("vertical grid", UniformGrid(kind="uniform", n_cells=64))
    model: ModelSection = key("closure and time scheme", ModelSection())
    time: TimeSection = key("time step and output", TimeSection())
    precision: Precision = "float64"
    output: RunOutputSection = key("where results go", RunOutputSection())
    corrections: CorrectionsSection = key(
        "corrections that a file of parameters has numbers for", CorrectionsSection()
    )
    evaluation: EvaluationSection = key("reference of `evaluate`", EvaluationSection())
    accept: Accepted = key("rules of plausibility whose notes are left out", default_factory=list)
