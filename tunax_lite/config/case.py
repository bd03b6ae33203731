"""Vertical grids, what the sections of all case formats offer, and a run of a case."""

import abc
import dataclasses
import math
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field

from ..column.case import Case
from ..column.grid import Grid
from ..column.integrate import whole_steps
from ..column.model import Model
from ..column.observations import Observations
from ..io.place import Place
from ..io.yaml_file import ConfigError
from ..plausibility import recorded
from ..runtime.memory import MOST_CELLS, check_steps
from .section import Section, invalid, key
from .series import DataPath

NCells = Annotated[int, key("number of cells", ge=3, le=MOST_CELLS)]
Thickness = Annotated[float, key("of all cells, as near to it as fills the depth [m]", gt=0.0, le=1000.0)]
Zoom = Annotated[float, key("refinement; 0 for none [1]", ge=0.0, le=20.0)]


class UniformGrid(Section):
    """Cells of equal thickness."""

    kind: Literal["uniform"]
    n_cells: NCells | None = None
    cell_thickness: Thickness | None = None
    powers_of_two: bool = key("whether numbers of cells that follow from it are powers of two", False)

    def of(self, depth: float) -> Grid:
        if self.cell_thickness is None:
            return Grid.uniform(depth, self.n_cells or 3)
        n = max(3, round(depth / self.cell_thickness))
        n = 2 ** max(2, round(math.log2(depth / self.cell_thickness))) if self.powers_of_two else n
        if n > MOST_CELLS:
            raise ValueError(
                f"expected cells of which at most {MOST_CELLS} fill the depth, {depth:g} m, got a "
                f"cell_thickness of {self.cell_thickness:g} m; choose thicker ones."
            )
        return Grid.uniform(depth, n)

    def _check(self) -> None:
        if (self.n_cells is None) == (self.cell_thickness is None):
            got = "neither" if self.n_cells is None else "both"
            raise invalid("`n_cells` or `cell_thickness`", got, "give one of them")


class StretchedGrid(Section):
    """Cells that are thinner towards the surface or the bottom."""

    kind: Literal["stretched"]
    n_cells: NCells
    surface_zoom: Zoom = 0.0
    bottom_zoom: Zoom = 0.0

    def of(self, depth: float) -> Grid:
        return Grid.stretched(
            depth, self.n_cells, surface_zoom=self.surface_zoom, bottom_zoom=self.bottom_zoom
        )


class NativeGrid(Section):
    """The grid of the file of a case."""

    kind: Literal["native"]

    def of(self, depth: float) -> None:
        """None: the case uses its own."""


class FacesGrid(Section):
    """Cells between given faces."""

    kind: Literal["faces"]
    z_face: list[float] = key(
        "heights of the faces, from the bottom up to 0 [m]", min_length=4, max_length=MOST_CELLS + 1
    )

    def of(self, depth: float) -> Grid:
        return Grid(np.asarray(self.z_face))


GridSection = Annotated[UniformGrid | StretchedGrid | NativeGrid | FacesGrid, Field(discriminator="kind")]


class BuiltCase(NamedTuple):
    """A case on its grid, and its observations, if any."""

    case: Case
    observations: Observations | None

    def on(self, grid: GridSection, where: Place) -> "BuiltCase":
        """Move the case to a grid."""
        with where.whole.naming("grid"):
            target = grid.of(-float(np.asarray(self.case.grid.z_face)[0]))  # in NumPy: nothing to compile
            return self if target is None else self._replace(case=self.case.on(target))


@dataclasses.dataclass(frozen=True)
class Run:
    """Everything that `simulate` needs, and the observations of the case, if it has any.

    Args:
        model: closure and time scheme.
        case: on the grid of the configuration.
        observations: of the case.
        dt: time step [s].
        output_interval: time between saved frames [s].
        duration: length of the run [s]; `None` for the rest of the case.
        source: the configuration file, for messages.
        diagnostics: further variables requested by the case.
        means: whether means between frames are requested, or of what besides the state, as in `simulate`.
    """

    model: Model
    case: Case
    observations: Observations | None
    dt: float
    output_interval: float
    duration: float | None
    source: Path
    diagnostics: tuple[str, ...] = ()
    means: bool | tuple[str, ...] = False

    def duration_from(self, begin: float) -> float:
        """Length of a run that begins at a time [s]: as given, or to the end of the case in whole steps."""
        length = self.duration
        if length is None:
            left = self.case.duration - begin
            n_steps = whole_steps(left, self.dt)
            if n_steps < 1:
                raise ConfigError(
                    f"{self.source}: time.dt: expected at most the rest of the case, {left:g} s, got "
                    f"{self.dt:g} s; choose a shorter step or set time.duration."
                )
            length = n_steps * self.dt
        with Place(self.source).naming("time", "dt"):
            check_steps(length, self.dt)
        return length


class AbstractCase(Section):
    """A case in one of the formats; `format` is the key that names it.

    Methods raise `ConfigError` for values that contradict each other, and `FileNotFoundError` or
    `FileFormatError` for a file that is missing or cannot be used.
    """

    format: str

    @abc.abstractmethod
    def named(self, where: Place) -> str:
        """Name of the case; reads no more of its files than necessary."""

    @abc.abstractmethod
    def build(self, grid: GridSection, where: Place, step: float | None = None) -> BuiltCase:
        """Build the case on a grid; some cases depend on the time step [s]."""


class AbstractFileCase(AbstractCase):
    """A case of which everything comes from one file."""

    path: DataPath

    @abc.abstractmethod
    def read_file(self, path: Path) -> tuple[Case, Observations]:
        """The case on the grid of its file, and its observations."""

    def named(self, where: Place) -> str:
        with recorded():  # the case may not be chosen
            return self.read(where).case.name

    def build(self, grid: GridSection, where: Place, step: float | None = None) -> BuiltCase:
        return self.read(where).on(grid, where)

    def read(self, where: Place) -> BuiltCase:
        """Read the case on the grid of its file, and its observations."""
        path = where.file(self.path, "path")
        with where.naming():
            return BuiltCase(*self.read_file(path))
