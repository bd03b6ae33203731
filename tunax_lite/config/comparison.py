"""The configuration of a comparison: closures, cases, resolutions and time steps."""

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Discriminator, Field, Tag

from .._types import JSON
from ..calibration import Target, read_parameters, with_parameters
from ..calibration.comparison import Candidate, Reference, StoredResult
from ..column.grid import Grid
from ..column.model import Model
from ..io.errors import FileFormatError
from ..io.named_files import REFERENCE_VARIABLE, resolve
from ..io.yaml_file import ConfigError, read_document, with_overrides
from ..runtime.memory import check_steps
from .build import evaluation_target, with_observations, with_remarks
from .case import GridSection, NativeGrid, NCells, Thickness, UniformGrid
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
    time_step: float | None = key("time step of the result [s]; null if the file gives it", None, gt=0.0)


class FiguresSection(Section):
    """The runs to draw, which are also those of the first part of the summary."""

    n_cells: NCells = 64
    cell_thickness: Thickness | None = key("where cells are chosen by it [m]", None)
    time_step: float = key("time step [s]", 60.0, gt=0.0, le=86400.0)


class ObservedSection(Section):
    """How closures are compared with any observations: moorings, profiles, lakes, at any times."""

    variables: list[ObservedVariable] | None = key(
        "compared variables and observables; null for all that a case has observed", None, min_length=1
    )
    grid: GridSection = key(
        "vertical grid; native for that of the files", UniformGrid(kind="uniform", n_cells=64)
    )
    time_step: float = key("time step [s]", 600.0, gt=0.0, le=86400.0)
    end: float | None = key("last time that counts [s]; null for the whole case", None, gt=0.0)
    averaging: Averaging = "points"


class ComparisonConfig(Section):
    """Closures on cases with large-eddy simulations, at several resolutions and time steps."""

    closures: _Closures = key(
        "`all`, or a list of names and of mappings with name, label, options, parameters",
        default_factory=lambda: [ComparedClosureSection(name=name) for name in closure_names()],
        min_length=1,
    )
    cases: _Cases = key(
        "cases with profiles over the whole column, each alone or as `case` beside its group, or a "
        "file of such",
        min_length=1,
    )
    n_cells: list[NCells] = key("numbers of cells", [32, 64, 128], min_length=1)
    cell_thicknesses: list[Thickness] | None = key("instead of them, of all cells [m]", None, min_length=1)
    time_steps: list[Annotated[float, Field(gt=0.0, le=86400.0)]] = key(
        "time steps [s]", [60.0, 600.0], min_length=1
    )
    start: float = key("first time that counts [s]", 7200.0, ge=0.0)
    averaging: Averaging = "cell_means"
    temperature_difference: float = key(
        "between the surface and the base of the mixed layer [K]", 0.05, gt=0.0, le=10.0
    )
    n_timings: int = key("runs for the time per step; 0 for none", 5, ge=0, le=1000)
    persistence: bool = key("whether the initial profiles kept have rows too; not with `observed`", True)
    observed: ObservedSection | None = key(
        "compare with any observations instead, at one resolution and time step, with these settings", None
    )
    stored: list[StoredResultSection] = key("results that are compared too", [])
    accept: Accepted = key("rules of plausibility whose notes are left out", default_factory=list)
    figures: FiguresSection = key("what is drawn", FiguresSection())
    precision: Precision = "float64"

    def _check(self) -> None:
        titles = [closure.title for closure in self.closures]
        repeated = sorted({title for title in titles if titles.count(title) > 1})
        if repeated:
            todo = "add a `label` to one of them"
            raise invalid("closures of different labels", f"'{repeated[0]}' twice", todo)
        size = "n_cells" if self.cell_thicknesses is None else "cell_thickness"
        if self.cell_thicknesses is not None and "n_cells" in self.model_fields_set:
            raise invalid("`n_cells` or `cell_thicknesses`", "both", "give one of them")
        for name, chosen, known in (
            (f"figures.{size}", getattr(self.figures, size), self.sizes),
            ("figures.time_step", self.figures.time_step, self.time_steps),
        ):
            if chosen not in known:
                if chosen is None:
                    raise invalid(f"`{name}` with `cell_thicknesses`", "none", "add it")
                listed = ", ".join(f"{value:g}" for value in known)
                raise invalid(f"{name} to be one of {listed}", f"{chosen:g}", "choose one of these")

    @property
    def sizes(self) -> Sequence[int | float]:
        """Numbers of cells, or thicknesses [m]."""
        return self.n_cells if self.cell_thicknesses is None else self.cell_thicknesses

    @property
    def shown(self) -> tuple[int | float, float]:
        """The one to draw, and its time step [s]."""
        chosen = self.figures.n_cells if self.cell_thicknesses is None else self.figures.cell_thickness
        return chosen or self.sizes[0], self.figures.time_step


@dataclasses.dataclass(frozen=True)
class ComparisonSetup:
    """Input of `compare_closures`, as configured.

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

    def references(self, chosen: Sequence[str] = ()) -> list[Reference]:
        """Cases on their own grids; all of them, or those with the given names."""
        return [self.reference(index) for index in self._chosen(chosen)]

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

    def targets(self, chosen: Sequence[str] = ()) -> list[Target]:
        """Cases with any observations, on the grid of `observed`; all, or those with the given names."""
        assert self.config.observed is not None
        targets = [self._target(index, self.config.observed) for index in self._chosen(chosen)]
        names = [target.case.name for target in targets]
        if repeated := [name for name in names if names.count(name) > 1]:
            at, got = self.place.at("cases"), f"'{repeated[0]}' twice"
            raise ConfigError(f"{at}: expected cases of different names, got {got}; name one of them.")
        return targets

    def _target(self, index: int, settings: ObservedSection) -> Target:
        section, where = self.config.cases[index].case, self.place.below("cases", str(index))
        with where.naming("observed"):
            check_steps(settings.end or 0.0, settings.time_step)
        build = functools.partial(section.build, settings.grid, where, settings.time_step)
        case, observations = with_observations(with_remarks(build, self.config.accept), where)
        end = settings.end or case.duration
        options = {"dt": settings.time_step, "averaging": settings.averaging}
        target = Target(
            case, observations, time_window=(self.config.start, min(end, case.duration)), **options
        )
        return evaluation_target(target, settings.variables or observations.names, self.place)

    def stored(self, compared: Sequence[Reference | Target]) -> list[StoredResult]:
        """Stored results on the cases of these references or targets."""
        return [
            self._stored(section, each.case.name, ("stored", str(index)))
            for index, section in enumerate(self.config.stored)
            for each in compared
            if section.cases is None or each.case.name in section.cases
        ]

    def _stored(self, section: StoredResultSection, case: str, key: tuple[str, ...]) -> StoredResult:
        from ..io.runs import read_stored_run  # needs xarray, which is slow to import

        name = section.path.replace("{case}", case)
        path = self.place.file(name, *key, "path", variable=REFERENCE_VARIABLE)
        run = read_stored_run(path)
        step = run.dt if section.time_step is None else section.time_step
        if not step > 0.0 and self.config.observed is None:
            raise ConfigError(
                f"{self.place.at(*key, 'time_step')}: expected a time step, which {path} does not say, "
                "got none; add it."
            )
        return StoredResult(section.label, case, run.time, Grid(run.z_face), run.profiles, step)

    def reference(self, index: int) -> Reference:
        """The case at this place in the list, on its own grid."""
        given, where = self.config.cases[index], self.place.below("cases", str(index))
        build = functools.partial(given.case.build, NativeGrid(kind="native"), where)
        case, observations = with_observations(with_remarks(build, self.config.accept), where)
        with where.naming():
            reference = Reference(case, observations, given.group)
            for step in self.config.time_steps:
                check_steps(case.duration, step)
                reference.n_steps(step)
        return reference


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
