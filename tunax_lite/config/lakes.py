"""Lakes in a configuration: how large they are at their depths, and what flows into them and out."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from pydantic import Field

from .. import terms
from ..grid import Grid
from ..io import read_hypsography
from .builder import part_of
from .section import Section, invalid, key
from .series import Place, Setting, TimedSection, TimedValue, check_keys, check_table, read_together

Converted = Callable[[Mapping[str, Any], np.ndarray], dict[str, Any]]
"""Temperature and salinity at heights [m], by name, from the kinds of the case to those of the column."""


class HypsographySection(Section):
    """The area of a lake at heights; its square root is linear in between."""

    path: str | None = key(
        "text in the format of GOTM's lake branch, or CSV with depth and area", None, min_length=1
    )
    z: list[float] | None = key("heights, increasing, from the bottom to 0 [m]", None, min_length=2)
    area: list[Annotated[float, Field(ge=0.0)]] | None = key("areas there [m2]", None, min_length=2)

    def _check(self) -> None:
        check_keys(self, (({"path"}, set()), ({"z", "area"}, set())), "`path`, or `z` with `area`")
        if self.z is not None and self.area is not None:
            check_table(self.z, self.area, "heights")

    def around(self, grid: Grid, where: Place) -> Grid:
        """A grid in that lake, for a case at its place in a configuration."""
        with where.naming("hypsography"):
            z, area = self.z, self.area
            if self.path is not None:
                path = where.file(self.path, "hypsography", "path")
                z, area = read_hypsography(path, float(grid.depth))
            return grid.with_hypsography(z, area)


class StreamSection(part_of(terms.Stream, "place lower upper density_width")):
    discharge: TimedSection = key("into the lake, out of it where negative [m3 s-1]")
    temperature: TimedSection | None = key(
        "of the kind of the case [degC]; null for that of the lake where it enters", None
    )
    salinity: TimedSection = key("of the kind of the case", TimedValue(constant=0.0))

    def _check(self) -> None:
        if self.place == "interleaving" and self.temperature is None:
            raise invalid("the temperature of a stream that finds its level", "none", "add it")

    def read(self, setting: Setting, name: str, converted: Converted) -> terms.Stream:
        """The stream, with temperature and salinity as the column carries them."""

        def water(discharge: Array, salinity: Array, temperature: Array | None = None) -> terms.StreamWater:
            if temperature is None:
                return terms.StreamWater(discharge, None, salinity)
            given = {"temperature": temperature, "salinity": salinity}
            found = converted({key: np.asarray(each)[:, None] for key, each in given.items()}, np.zeros(1))
            return terms.StreamWater(discharge, *(jnp.asarray(found[key][:, 0]) for key in given))

        names = ("discharge", "salinity", "temperature")[: 3 if self.temperature is not None else 2]
        series = read_together(
            self,
            water,
            f"stream {name}",
            setting,
            "interior",
            "streams",
            name,
            **{each: each for each in names},
        )
        return terms.Stream(series, **self.given())
