"""What a calibration may correct in a case, in a configuration file."""

import dataclasses
from typing import Annotated, Literal

import equinox as eqx
import numpy as np
from pydantic import Field, field_validator, model_validator

from ..case import Case
from ..corrections import CORRECTIONS, CorrectedForcing, InitialCorrection
from ..forcing import WaterSurface
from .builder import Section, closest, invalid


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
