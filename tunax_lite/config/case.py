"""Vertical grids, base classes of the case formats, and a run of a case."""

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
    powers_of_two: bool = key(
        "whether the number of cells that follows from cell_thickness is a power of two", False
    )

    def of(self, depth: float) -> Grid:
        if self.cell_thickness is None:
            assert self.n_cells is not None  # see `_check`
            return Grid.uniform(depth, self.n_cells)
        ratio = depth / self.cell_thickness
        n = 2 ** max(2, round(math.log2(ratio))) if self.powers_of_two else max(3, round(ratio))
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
        """Return no grid: the case keeps the one of its file."""


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
        """Move the case to a grid; `where` is its position in the file."""
        with where.root.naming("grid"):
            target = grid.of(-float(np.asarray(self.case.grid.z_face)[0]))  # in NumPy: nothing to compile
            return self if target is None else self._replace(case=self.case.on(target))


@dataclasses.dataclass(frozen=True)
class Run:
    """Arguments of `simulate`, and the observations of the case.

    Args:
        model: closure and time scheme.
        case: case on the grid of the configuration, with its corrections.
        observations: observations of the case; `None` without any.
        dt: time step [s].
        output_interval: time between saved frames [s].
        duration: length of the run [s]; `None` to run to the end of the case.
        source: path of the configuration file, for messages.
        diagnostics: further variables to write, requested by the configuration or by a set-up as its case.
        means: argument `means` of `simulate`.
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
        """Length of a run that begins at a time [s]: `duration`, or whole steps up to the end of the case.

        Raises `ConfigError` if the rest of the case is shorter than a step, or the run has too many steps.
        """
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
    """A case in one of the formats; the key `format` selects the class.

    Methods raise `ConfigError` for values that contradict each other, and `FileNotFoundError` or
    `FileFormatError` for a file that is missing or cannot be used.
    """

    format: str

    @abc.abstractmethod
    def named(self, where: Place) -> str:
        """Return the name of the case, without building it where possible."""

    @abc.abstractmethod
    def build(self, grid: GridSection, where: Place, step: float) -> BuiltCase:
        """Build the case on a grid; `step` is the time step of its runs [s], on which some cases depend."""


class AbstractFileCase(AbstractCase):
    """A case that is read from one file."""

    path: DataPath

    @abc.abstractmethod
    def read_file(self, path: Path) -> tuple[Case, Observations]:
        """Read the case on the grid of its file, and its observations."""

    def named(self, where: Place) -> str:
        with recorded():  # hides notes on cases that are not selected
            return self.read(where).case.name

    def build(self, grid: GridSection, where: Place, step: float) -> BuiltCase:
        return self.read(where).on(grid, where)

    def read(self, where: Place) -> BuiltCase:
        """Read the case of the file that `path` names."""
        path = where.file(self.path, "path")
        with where.naming():
            return BuiltCase(*self.read_file(path))
