"""The configuration of a comparison: closures, cases, grids and time steps."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Discriminator, Tag

from .._types import JSON
from ..calibration import Target, read_parameters, with_parameters
from ..calibration.comparison import Candidate, StoredResult
from ..column.grid import Grid
from ..column.model import Model
from ..io.errors import FileFormatError
from ..io.named_files import REFERENCE_VARIABLE, resolve
from ..io.yaml_file import ConfigError, read_document, with_overrides
from ..runtime.memory import check_steps
from .build import cases_on, evaluation_target
from .calibration import Grids, Steps
from .case import GridSection, NativeGrid, StretchedGrid, UniformGrid
from .closures import ClosureSection, Parameters, closure_names
from .load import validated, with_cases
from .schema import Averaging, ObservedVariable, Precision
from .section import Accepted, Section, closest, invalid, key
from .series import Place
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


_Said = str | list[ComparedClosureSection | str]
_Closures = Annotated[list[ComparedClosureSection], BeforeValidator(_expanded, json_schema_input_type=_Said)]


class ComparedCaseSection(Section):
    """A case and its source."""

    case: CaseSection = key("where the case and its profiles come from")
    group: str = key("cases of one source, which a summary takes together", "")


def _in_groups(value: JSON) -> JSON:
    """Put cases without a group into one without a name."""
    if not isinstance(value, list):
        return value
    return [{"case": each} if isinstance(each, dict) and "format" in each else each for each in value]


_SaidCases = str | list[ComparedCaseSection | CaseSection]
_Cases = Annotated[list[ComparedCaseSection], BeforeValidator(_in_groups, json_schema_input_type=_SaidCases)]


class StoredResultSection(Section):
    """Stored results of another model, or of an earlier run."""

    label: str = key("label of its rows", min_length=1)
    path: str = key(
        "NetCDF file of GOTM or of this package, with {case} for the name of the case; also "
        "below $TUNAX_LITE_REFERENCE",
        min_length=1,
    )
    cases: list[str] | None = key("names of its cases; null for all", None)


class ComparisonConfig(Section):
    """Closures on cases with observations, on several grids and with several time steps."""

    closures: _Closures = key(
        "`all`, or a list of names and of mappings with name, label, options, parameters",
        default_factory=lambda: [ComparedClosureSection(name=name) for name in closure_names()],
        min_length=1,
    )
    cases: _Cases = key(
        "cases with observations, each alone or as `case` beside its group, or a file of such", min_length=1
    )
    grid: Grids = key(
        "vertical grid, or several: every case on each; runs on the first are drawn",
        [UniformGrid(kind="uniform", n_cells=64)],
        min_length=1,
    )
    time_steps: Steps = key("time step [s], or several; runs with the first are drawn", [60.0], min_length=1)
    variables: list[ObservedVariable] | None = key(
        "compared variables and observables; null for all that a case has observed", None, min_length=1
    )
    start: float = key("first time that counts [s]", 7200.0, ge=0.0)
    end: float | None = key("last time that counts [s]; null for the whole case", None, gt=0.0)
    averaging: Averaging = "points"
    persistence: bool = key("whether the initial profiles kept have rows too", True)
    stored: list[StoredResultSection] = key("results that are compared too", [])
    accept: Accepted = key("rules of plausibility whose notes are left out", default_factory=list)
    precision: Precision = "float64"

    def _check(self) -> None:
        titles = [closure.title for closure in self.closures]
        repeated = sorted({title for title in titles if titles.count(title) > 1})
        if repeated:
            todo = "add a `label` to one of them"
            raise invalid("closures of different labels", f"'{repeated[0]}' twice", todo)
        settings = [*map(_in_words, self.grid), *(f"{step:g} s" for step in self.time_steps)]
        if repeated := [name for name in settings if settings.count(name) > 1]:
            raise invalid("different grids and time steps", f"{repeated[0]} twice", "leave one of them out")


def _in_words(grid: GridSection) -> str:
    """A grid as rows name it."""
    if isinstance(grid, UniformGrid):
        return f"{grid.n_cells} cells" if grid.n_cells else f"cells of {grid.cell_thickness:g} m"
    if isinstance(grid, StretchedGrid):
        return f"{grid.n_cells} cells, stretched by {grid.surface_zoom:g} and {grid.bottom_zoom:g}"
    return "native grid" if isinstance(grid, NativeGrid) else f"{len(grid.z_face) - 1} cells between faces"


@dataclasses.dataclass(frozen=True)
class ComparisonSetup:
    """Input of `compare`, as configured.

    All methods raise `ConfigError` for an invalid name or value, and `FileNotFoundError` or `FileFormatError`
    for a file that is missing or cannot be used.
    """

    config: ComparisonConfig
    path: Path

    @property
    def place(self) -> Place:
        """Place in the configuration, for messages."""
        return Place(self.path)

    def candidates(self, chosen: Sequence[str] = ()) -> list[Candidate]:
        """Closures with default model settings; all of them, or those with the given labels."""
        sections = {section.title: section for section in self.config.closures}
        _check_chosen("closures", chosen, list(sections))
        return [
            self._candidate(section) for title, section in sections.items() if not chosen or title in chosen
        ]

    def _candidate(self, section: ComparedClosureSection) -> Candidate:
        closure, values = section.build(), section.parameters
        with self.place.naming(f"closures: {section.title}"):
            if isinstance(values, str):
                try:
                    path = resolve(values, self.path.parent)
                except FileNotFoundError as error:
                    raise ValueError(f"parameters: {error}") from error
                closure = with_parameters(closure, read_parameters(path, type(closure).__name__))
            return Candidate(section.title, Model(closure))

    def targets(self, chosen: Sequence[str] = ()) -> dict[str, list[Target]]:
        """Cases on each grid, by its name; all of them, or those with the given names."""
        targets: dict[str, list[Target]] = {}
        for index in self._chosen(chosen):
            for grid, of_case in self.case_on_grids(index).items():
                targets.setdefault(grid, []).extend(of_case)
        names = [target.case.name for target in next(iter(targets.values()))[:: len(self.config.time_steps)]]
        if repeated := [name for name in names if names.count(name) > 1]:
            at, got = self.place.at("cases"), f"'{repeated[0]}' twice"
            raise ConfigError(f"{at}: expected cases of different names, got {got}; name one of them.")
        return targets

    def _chosen(self, chosen: Sequence[str]) -> list[int]:
        """Places of the cases with the given names, or of all."""
        if not chosen:
            return list(range(len(self.config.cases)))
        names: dict[int, str] = {}
        unread: list[Exception] = []  # of cases that may not be requested
        for index, section in enumerate(self.config.cases):
            try:
                names[index] = section.case.named(self.place.below("cases", str(index)))
            except (FileNotFoundError, FileFormatError) as error:
                unread.append(error)
        if unread and not set(chosen) <= set(names.values()):
            raise unread[0]
        _check_chosen("cases", chosen, list(names.values()))
        return [index for index, name in names.items() if name in chosen]

    def case_on_grids(self, index: int) -> dict[str, list[Target]]:
        """The case at this place in the list on each grid, by its name, with each time step."""
        config, section = self.config, self.config.cases[index]
        where, found = self.place.below("cases", str(index)), dict[str, list[Target]]()
        of_case = cases_on(section.case, config.grid, config.time_steps, where, config.accept)
        for grid, step, case, observations in of_case:
            with where.naming():
                check_steps(case.duration, step)
            end = min(config.end or case.duration, case.duration)
            window = config.start * (1.0 - 1e-9), end * (1.0 + 1e-9)  # but for round-off
            options = {"group": section.group or None, "averaging": config.averaging}
            target = Target(case, observations, dt=step, time_window=window, **options)
            target = evaluation_target(target, config.variables or observations.names, self.place)
            with where.naming():
                _ = target.comparison  # raises if it does not fit
            found.setdefault(_in_words(grid), []).append(target)
        return found

    def stored(self, targets: Mapping[str, Sequence[Target]]) -> list[StoredResult]:
        """Stored results on the cases of these targets."""
        names = dict.fromkeys(target.case.name for each in targets.values() for target in each)
        return [
            self._stored(section, name, ("stored", str(index)))
            for index, section in enumerate(self.config.stored)
            for name in names
            if section.cases is None or name in section.cases
        ]

    def _stored(self, section: StoredResultSection, case: str, key: tuple[str, ...]) -> StoredResult:
        from ..io.runs import read_stored_run  # needs xarray, which is slow to import

        name = section.path.replace("{case}", case)
        run = read_stored_run(self.place.file(name, *key, "path", variable=REFERENCE_VARIABLE))
        return StoredResult(section.label, case, run.time, Grid(run.z_face), run.profiles)


def _check_chosen(option: str, chosen: Sequence[str], known: list[str]) -> None:
    for name in chosen:
        if name not in known:
            raise ConfigError(
                f"--{option} {name}: expected one of the {option} of the file; {closest(name, known)}."
            )


def load_comparison(path: Path, overrides: Sequence[str] = ()) -> ComparisonSetup:
    """Read the configuration of a comparison; arguments and errors as in `load_run`."""
    document = with_overrides(with_cases(read_document(Path(path))), overrides)
    return ComparisonSetup(validated(document, ComparisonConfig), Path(path))
