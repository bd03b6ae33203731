"""Sections of a configuration file that every kind of file shares: keys, types, units and ranges.

Nothing here is built; see `build`.
"""

import dataclasses
import math
from typing import Annotated, Any, Literal

import equinox as eqx
import numpy as np
from pydantic import Field, field_validator, model_validator

from ..case import Case
from ..corrections import CORRECTIONS, CorrectedForcing, InitialCorrection
from ..forcing import WaterSurface
from ..model import Model
from ..runtime.memory import MOST_CELLS
from .builder import Section, closest, invalid, section_of
from .closures import ClosureSection

_Model: Any = section_of(
    Model,
    only=(
        *("molecular_viscosity", "molecular_diffusivity", "molecular_salt_diffusivity"),
        *("coefficient_memory", "n_sweeps", "theta", "like_gotm"),
    ),
    partial=True,
)


class ModelSection(_Model):
    null_is_default = frozenset({"molecular_viscosity", "molecular_diffusivity"})

    closure: ClosureSection = Field(
        default=ClosureSection(), description="how turbulence mixes: name, parameters"
    )


NCells = Annotated[int, Field(ge=3, le=MOST_CELLS, description="number of cells")]
Zoom = Annotated[float, Field(ge=0.0, le=20.0, description="refinement; 0 for none [1]")]


class UniformGrid(Section):
    kind: Literal["uniform"]
    n_cells: NCells


class StretchedGrid(Section):
    kind: Literal["stretched"]
    n_cells: NCells
    surface_zoom: Zoom = 0.0
    bottom_zoom: Zoom = 0.0


class NativeGrid(Section):
    kind: Literal["native"]


class FacesGrid(Section):
    kind: Literal["faces"]
    z_face: list[float] = Field(
        min_length=4,
        max_length=MOST_CELLS + 1,
        description="heights of the faces, from the bottom up to 0 [m]",
    )


GridSection = Annotated[UniformGrid | StretchedGrid | NativeGrid | FacesGrid, Field(discriminator="kind")]


class TimeSection(Section):
    step: float = Field(default=60.0, gt=0.0, le=86400.0, description="time step [s]")
    output_interval: float = Field(default=600.0, gt=0.0, description="time between saved frames [s]")
    duration: float | None = Field(
        default=None, gt=0.0, description="length of the run [s]; null for that of the case"
    )

    @model_validator(mode="after")
    def _check_multiples(self) -> "TimeSection":
        for name, interval, of, unit in (
            ("output_interval", self.output_interval, "step", self.step),
            ("duration", self.duration, "output_interval", self.output_interval),
        ):
            if interval is None or interval > 1e15 * unit:  # more steps than any run may have
                continue
            n = round(interval / unit)
            if n < 1 or not math.isclose(n * unit, interval, rel_tol=1e-9):
                raise invalid(
                    f"{name} to be a multiple of {of} = {unit:g} s",
                    f"{interval:g} s",
                    f"for example {max(1, n) * unit:g}",
                )
        return self


Precision = Annotated[
    Literal["float64", "float32"], Field(description="floating-point numbers of the computation")
]


class CorrectionsSection(Section):
    """Corrections that change nothing until a calibration, or a file of parameters, gives them numbers."""

    fluxes: list[str] = Field(default=[], description="names such as heat_flux_bias, stress_scale")
    knots: list[float] | None = Field(
        default=None, min_length=2, description="times between which fluxes are corrected linearly [s]"
    )
    knot_interval: float | None = Field(
        default=None, gt=0.0, description="a knot every so often [s]; without knots corrections are constants"
    )
    initial: list[Literal["temperature", "salinity", "u", "v"]] = Field(
        default=[], description="initial profiles that are corrected"
    )
    z: list[Annotated[float, Field(le=0.0)]] | None = Field(
        default=None, min_length=1, description="heights of their increments [m]; null for every cell"
    )

    @field_validator("fluxes")
    @classmethod
    def _check_names(cls, names: list[str]) -> list[str]:
        for name in names:
            if name not in CORRECTIONS:
                raise invalid("the name of a correction", f"'{name}'", closest(name, list(CORRECTIONS)))
        return names

    @model_validator(mode="after")
    def _check_combination(self) -> "CorrectionsSection":
        if self.knots is not None and self.knot_interval is not None:
            raise invalid("`knots` or `knot_interval`", "both", "give one of them")
        for given, needed in (
            (("knots", "knot_interval"), "fluxes"),
            (("z",), "initial"),
        ):
            if not getattr(self, needed) and any(getattr(self, name) is not None for name in given):
                raise invalid(f"`{needed}` to correct", "none", f"name them, or remove {' and '.join(given)}")
        return self

    def of(self, case: Case) -> Case:
        """The case with corrections that change nothing.

        Raises:
            ValueError: knots or heights that cannot be used, or the scale of a flux that the case lacks.
        """
        if self.initial:
            z = case.grid.z_center if self.z is None else self.z
            correction = InitialCorrection.zero(z, self.initial)
            case = dataclasses.replace(case, initial_correction=correction)
        if self.fluxes:
            forcing = CorrectedForcing.neutral(case.forcing, self.fluxes, self._knots(case.duration))
            water = WaterSurface.of(case.initial_state)
            eqx.filter_eval_shape(forcing.at, np.zeros((), case.grid.z_face.dtype), water)
            case = dataclasses.replace(case, forcing=forcing)
        return case

    def _knots(self, duration: float) -> list[float] | None:
        if self.knot_interval is None:
            return self.knots
        n = max(1, int(np.ceil(duration / self.knot_interval * (1.0 - 1e-9))))
        return [i * self.knot_interval for i in range(n + 1)]
