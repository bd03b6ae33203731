"""Lakes in a configuration: hypsography, level and streams."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from pydantic import Field

from ..column import terms
from ..column.grid import Grid, Hypsography
from ..column.time_series import TimeSeries
from ..io import read_hypsography
from ..io.hypsography import in_metres
from ..io.yaml_file import ConfigError
from .builder import part_of
from .section import Section, invalid, key
from .series import (
    UNITS,
    Place,
    Setting,
    TimedSection,
    TimedValue,
    UnitGiven,
    check_keys,
    check_table,
    conversions_of,
    read_together,
)

Measures = dict[str, Any]  # numbers or arrays of NumPy or JAX, by quantity
Converted = Callable[[Measures, np.ndarray], Measures]
"""Temperature and salinity at heights [m], by name, from the kinds of the case to those of the column."""


class HypsographySection(Section):
    """Area of a lake at given heights; its square root is interpolated linearly."""

    path: str | None = key(
        "text in the format of GOTM's lake branch, or CSV with depth and area", None, min_length=1
    )
    z: list[float] | None = key("heights, increasing, from the bottom to 0 [m]", None, min_length=2)
    area: list[Annotated[float, Field(ge=0.0)]] | None = key("areas there [m2]", None, min_length=2)
    top: float | None = key(
        "height up to which the shore is extrapolated from the last two areas [m]; null for the last height",
        None,
    )
    units: dict[Literal["z", "area"], UnitGiven] = key(UNITS, default_factory=dict)

    def _check(self) -> None:
        others = {"top", "units"}
        check_keys(self, (({"path"}, others), ({"z", "area"}, others)), "`path`, or `z` with `area`")
        if self.z is not None and self.area is not None:
            check_table(self.z, self.area, "heights")

    def around(self, grid: Grid, where: Place) -> tuple[Grid, Hypsography]:
        """A grid with the areas of the lake, and its basin."""
        with where.naming("hypsography"):
            units = conversions_of(self.units)
            if self.path is not None:
                path = where.file(self.path, "hypsography", "path")
                z, area = read_hypsography(path, float(grid.depth), units)
            else:
                z, area = in_metres(np.asarray(self.z), np.asarray(self.area), units)
                upward = slice(None, None, 1 if z[0] < z[-1] else -1)  # depths turn with their sign
                z, area = z[upward], area[upward]
            grid, basin = grid.with_hypsography(z, area), Hypsography(z, area)
            return grid, basin if self.top is None else basin.up_to(self.top)


class LevelSection(part_of(terms.LakeLevel)):
    """Lake level that follows the water budget."""

    def build(self, basin: Hypsography) -> terms.LakeLevel:
        return terms.LakeLevel(basin, **self.given())


def moving_surface(  # Any: the section `interior`, which imports this file
    section: Any, setting: Setting
) -> tuple[TimeSeries | None, terms.LakeLevel | None]:
    """The surface elevation that the interior of a case prescribes, or the lake level."""
    elevation, basin = None, setting.basin
    if section.level is not None and basin is None:
        expected = "a hypsography where the level of a lake moves, got none; give it to the case"
        raise ConfigError(f"{setting.at('interior', 'level')}: expected {expected}.")
    if section.surface_elevation is not None:
        whole = lambda surface_elevation: surface_elevation  # noqa: E731
        what = {"surface_elevation": "height"}
        elevation = read_together(section, whole, "surface elevation", setting, "interior", **what)
        lowest, depth = float(np.min(elevation.values)), float(setting.grid.depth)
        if lowest <= -depth:
            raise ConfigError(
                f"{setting.at('interior', 'surface_elevation')}: expected a surface above the bottom, "
                f"-{depth:g} m, got {lowest:g} m; check its unit and sign."
            )
    with setting.naming("interior", "surface_elevation" if section.level is None else "level"):
        if basin is not None and elevation is not None:
            return None, terms.LakeLevel(basin, prescribed=elevation)
        if basin is not None and section.level is not None:
            return None, section.level.build(basin)
    return elevation, None


class StreamSection(part_of(terms.Stream)):
    """A stream into or out of a lake."""

    discharge: TimedSection = key("into the lake, out of it where negative [m3 s-1]")
    temperature: TimedSection | None = key(
        "of the kind of the case [degC]; null for that of the lake where it enters", None
    )
    salinity: TimedSection = key("of the kind of the case", TimedValue(constant=0.0))

    def _check(self) -> None:
        if self.place == "interleaving" and self.temperature is None:
            raise invalid("the temperature of an interleaving stream", "none", "add it")

    def read(self, setting: Setting, name: str, converted: Converted) -> terms.Stream:
        """The stream, with temperature and salinity converted to those of the column."""

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
