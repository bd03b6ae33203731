"""Sections of a configuration file that every kind of file shares: keys, types, units and ranges.

Nothing here is built; see `build`.
"""

import math
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from ..model import Model
from ..runtime.memory import MOST_CELLS
from .builder import Section, invalid, section_of
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
