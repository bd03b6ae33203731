"""The configuration of a comparison: closures, cases, grids and time steps."""

from typing import Annotated

from pydantic import BeforeValidator, Discriminator, Tag

from .._types import JSON
from .calibration import Grids, TimeStepsSection
from .case import GridSection, NativeGrid, StretchedGrid, UniformGrid
from .closures import ClosureSection, Parameters, closure_names
from .schema import Averaging, ObservedVariable, Precision
from .section import Accepted, Section, invalid, key
from .site import CaseSection


class ComparedClosureSection(ClosureSection):
    """A closure with the label of its rows."""

    name: str = key("name of the closure, or package.module:Class")
    label: str = key("label of its rows; by default its name", "")
    parameters: Annotated[  # pyright: ignore[reportIncompatibleVariableOverride]
        Annotated[Parameters, Tag("values")] | Annotated[str, Tag("file")],
        Discriminator(lambda value: "file" if isinstance(value, str) else "values"),
    ] = key(
        "values that differ from the default, by dotted name, or a file of parameters", default_factory=dict
    )

    @property
    def title(self) -> str:
        """Label of the rows."""
        return self.label or self.name


def _expanded(value: JSON) -> JSON:
    """Expand names of closures to sections, and `all` to all names."""
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list):
        return items
    sections: list[JSON] = []
    for item in items:
        names = closure_names() if item == "all" else [item]
        sections += [{"name": name} if isinstance(name, str) else name for name in names]
    return sections


_Closures = Annotated[
    list[ComparedClosureSection],
    BeforeValidator(_expanded, json_schema_input_type=str | list[ComparedClosureSection | str]),
]


class ComparedCaseSection(Section):
    """A case and its source."""

    case: CaseSection = key("where the case and its profiles come from")
    group: str = key("source of the case, a column of the table", "")


def _in_groups(value: JSON) -> JSON:
    """Wrap cases without a group."""
    if not isinstance(value, list):
        return value
    return [{"case": each} if isinstance(each, dict) and "format" in each else each for each in value]


_Cases = Annotated[
    list[ComparedCaseSection],
    BeforeValidator(_in_groups, json_schema_input_type=str | list[ComparedCaseSection | CaseSection]),
]


class ComparisonConfig(Section):
    """Closures on cases with observations, on several grids and with several time steps."""

    closures: _Closures = key(
        "`all`, or a list of names and of mappings with name, label, options, parameters",
        default_factory=lambda: [ComparedClosureSection(name=name) for name in closure_names()],
        min_length=1,
    )
    cases: _Cases = key(
        "cases with observations, each alone or as `case` with its `group`, or a file of these", min_length=1
    )
    grid: Grids = key(
        "vertical grid, or several: every case on each; runs on the first are drawn",
        [UniformGrid(kind="uniform", n_cells=64)],
        min_length=1,
    )
    time: TimeStepsSection = key("time steps; runs with the first are drawn", TimeStepsSection())
    variables: list[ObservedVariable] | None = key(
        "compared variables and observables; null for all that a case has observed", None, min_length=1
    )
    start: float = key("first time that counts [s]", 7200.0, ge=0.0)
    end: float | None = key("last time that counts [s]; null for the whole case", None, gt=0.0)
    averaging: Averaging = "points"
    persistence: bool = key("whether to add rows with the initial profiles kept", True)
    accept: Accepted = key("rules of plausibility whose notes are left out", default_factory=list)
    precision: Precision = "float64"

    def _check(self) -> None:
        titles = [closure.title for closure in self.closures]
        repeated = sorted({title for title in titles if titles.count(title) > 1})
        if repeated:
            todo = "add a `label` to one of them"
            raise invalid("closures of different labels", f"'{repeated[0]}' twice", todo)
        settings = [*map(in_words, self.grid), *(f"{step:g} s" for step in self.time.dt)]
        if repeated := [name for name in settings if settings.count(name) > 1]:
            raise invalid("different grids and time steps", f"{repeated[0]} twice", "leave one of them out")


def in_words(grid: GridSection) -> str:
    """Description of a grid, as in the rows of the table."""
    if isinstance(grid, UniformGrid):
        return f"{grid.n_cells} cells" if grid.n_cells else f"cells of {grid.cell_thickness:g} m"
    if isinstance(grid, StretchedGrid):
        return f"{grid.n_cells} cells, stretched by {grid.surface_zoom:g} and {grid.bottom_zoom:g}"
    return "native grid" if isinstance(grid, NativeGrid) else f"{len(grid.z_face) - 1} cells between faces"
