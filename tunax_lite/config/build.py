"""From checked configurations to the objects of the package."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import io
from ..calibration import with_case_parameters, with_parameters
from ..case import Case
from ..gotm import GotmOptions, LoadedGotm, ObservedInputs, Report, load_gotm, translate
from ..grid import Grid
from ..io.registry import resolve, sha256_of
from ..io.yaml_file import ConfigError, Document, yaml_text
from ..model import Model
from ..observations import Observations
from ..run import Run
from .build_site import placed_case
from .cases import GotmCase, IdealisedCase, LegayCase, LesbraryCase, SiteCase
from .load import Loaded, validated
from .schema import FacesGrid, ModelSection, NativeGrid, RunConfig, StretchedGrid, UniformGrid
from .series import Place, Setting


def build_run(loaded: Loaded[RunConfig], parameters: dict[str, float] | None = None) -> Run:
    """Objects of a run; `parameters` of the closure replace those of the configuration.

    Raises:
        ConfigError: values that do not fit each other.
        FileNotFoundError, FileFormatError: a file of the case that is missing, or cannot be used.
    """
    config, place = loaded.config, loaded.place
    if isinstance(config.case, GotmCase):
        return _gotm_run(loaded, config.case, parameters)
    made = build_case(config.case, config.grid, place, "case", config.time.step)
    return Run(
        model=build_model(config.model, place, parameters),
        case=_corrected(made.case, loaded, parameters),
        observations=made.observations,
        dt=config.time.step,
        output_interval=config.time.output_interval,
        duration=config.time.duration,
        source=loaded.path,
        diagnostics=tuple(config.output.diagnostics),
        means=config.output.means,
        notes=made.notes,
    )


def _gotm_run(loaded: Loaded[RunConfig], case: GotmCase, parameters: dict[str, float] | None) -> Run:
    """The run of a case of GOTM; its own grid, model and times where the configuration gives none."""
    config, given = loaded.config, loaded.config.model_fields_set
    times = config.time.model_fields_set if "time" in given else set()
    grid = config.grid if "grid" in given else NativeGrid(kind="native")
    step = config.time.step if "step" in times else None
    own, report = _in_our_words(case, loaded.place, "case", grid, step)
    chosen = {"model"} & given
    own = dataclasses.replace(
        own, config=own.config.model_copy(update={k: getattr(config, k) for k in chosen})
    )
    run = build_run(own)
    with loaded.place.naming("parameters"):
        closure = with_parameters(run.model.closure, parameters or {})
    return dataclasses.replace(
        run,
        model=dataclasses.replace(run.model, closure=closure),
        case=_corrected(run.case, loaded, parameters),
        output_interval=config.time.output_interval if "output_interval" in times else run.output_interval,
        duration=config.time.duration,
        source=loaded.path,
        diagnostics=tuple(dict.fromkeys((*run.diagnostics, *config.output.diagnostics))),
        means=run.means or config.output.means,
        notes=(*report.errors, *report.differences, *run.notes),
    )


def _in_our_words(
    case: GotmCase, place: Place, key: str, grid: Any, step: float | None
) -> tuple[Loaded[RunConfig], Report]:
    """The configuration of the package that a case of GOTM is; its own time step where `step` is `None`."""
    path = place.file(case.path, f"{key}.path")
    replaced: dict[str, Any] = dict(case.settings)
    if not isinstance(grid, NativeGrid):
        replaced["grid.method"] = "analytical"  # whatever its file
    if step is not None:
        replaced["time.dt"] = step
    options = GotmOptions(**case.given())
    made = translate(load_gotm(path, replaced, f"{place.path}:", config=options), case.observed)
    if not case.ignore_unsupported or "model" not in made.content:
        made.report.check()
    own = validated(Document(made.content, made.origins, str(path)), RunConfig)
    if not isinstance(grid, NativeGrid):
        own = own.model_copy(update={"grid": grid})
    return Loaded(own, path, made.origins), made.report


@dataclasses.dataclass(frozen=True)
class GotmRun:
    """A case of GOTM, ready to run, and what became of every key; no run where a refusal leaves no model."""

    run: Run | None
    report: Report


def build_gotm(source: LoadedGotm, observed: ObservedInputs | None = None) -> GotmRun:
    """The objects of a run, from a configuration of GOTM and the files beside it; some may be observations.

    Raises:
        ConfigError: a configuration that cannot be used; names file, line and key.
        FileNotFoundError: a forcing file that is missing.
        FileFormatError: a forcing file that cannot be used; names file, line, time and value.
    """
    made = translate(source, observed)
    if "model" not in made.content:
        return GotmRun(None, made.report)
    config = validated(Document(made.content, made.origins, str(source.path)), RunConfig)
    run = build_run(Loaded(config, source.path, made.origins))
    report = dataclasses.replace(made.report, warnings=run.notes)
    notes = (*report.errors, *report.differences, *report.warnings)
    return GotmRun(dataclasses.replace(run, notes=notes), report)


def configuration_of(source: LoadedGotm) -> str:
    """Text of a configuration of the package that is a case of GOTM; its series stay in their files."""
    header = f"# {source.name}: the case of GOTM in {source.path.name}, in the words of this package.\n"
    return header + yaml_text(translate(source).content)


def _corrected(case: Case, loaded: Loaded[RunConfig], parameters: dict[str, float] | None) -> Case:
    """The case with the corrections of the configuration, and their numbers."""
    with loaded.place.naming("corrections"):
        case = loaded.config.corrections.of(case)
    with loaded.place.naming("parameters"):
        return with_case_parameters(case, parameters or {})


def build_model(section: ModelSection, place: Place, parameters: dict[str, float] | None = None) -> Model:
    """The model of a configuration; `parameters` replace values of the closure."""
    closure = section.closure.build()
    with place.naming("parameters"):
        closure = with_parameters(closure, parameters or {})
    return Model(closure, **section.given())


def build_grid(section: Any, depth: float) -> Grid | None:
    """The grid of a configuration; `None` for the native grid of the case."""
    match section:
        case UniformGrid(n_cells=n):
            return Grid.uniform(depth, n)
        case StretchedGrid(n_cells=n, surface_zoom=upper, bottom_zoom=lower):
            return Grid.stretched(depth, n, surface_zoom=upper, bottom_zoom=lower)
        case FacesGrid(z_face=faces):
            return Grid(np.asarray(faces))
    return None


class BuiltCase(NamedTuple):
    """A case on its grid, its observations, if there are any, and what is odd in its files."""

    case: Case
    observations: Observations | None
    notes: tuple[str, ...] = ()


def build_case(section: Any, grid: Any, place: Place, key: str, step: float | None = None) -> BuiltCase:
    """The case of a section, which stands under a key of a place; some depend on the time step [s].

    Raises:
        ConfigError: values that do not fit each other.
        FileNotFoundError, FileFormatError: a file that is missing, or cannot be used.
    """
    if isinstance(section, GotmCase):
        own, _ = _in_our_words(section, place, key, grid, step)
        return build_case(own.config.case, own.config.grid, own.place, "case", own.config.time.step)
    if isinstance(section, IdealisedCase | SiteCase):
        with place.naming("grid"):
            own_grid = build_grid(grid, section.depth)
            if own_grid is None:
                raise ValueError(
                    f"expected kind uniform, stretched or faces, got native, which {section.format} cases do "
                    "not have; choose one of these."
                )
            if abs(float(own_grid.depth) - section.depth) > 1e-6 * section.depth:
                raise ValueError(
                    f"expected faces down to the depth of the case, {section.depth:g} m, got "
                    f"{float(own_grid.depth):g} m; correct one of the two."
                )
        setting = Setting(place, key, own_grid, section.start_time, section.duration, step)
        with place.naming(key):
            return BuiltCase(*placed_case(section, setting), tuple(setting.warnings))
    path = place.file(section.path, f"{key}.path")
    with place.naming(key):
        case, observations = _read(section, path)
    with place.naming("grid"):
        target = build_grid(grid, float(case.grid.depth))
        return BuiltCase(case if target is None else case.on(target), observations)


def with_observations(made: BuiltCase | Run | None, place: Place, key: str) -> tuple[Case, Observations]:
    """A case and its observations, of what must have some."""
    if made is None or made.observations is None:
        raise ConfigError(
            f"{place.at(f'{key}.format')}: expected a case with observations, got one without; choose "
            "another format."
        )
    return made.case, made.observations


def _read(section: Any, path: Path) -> tuple[Case, Observations]:
    if isinstance(section, LesbraryCase):
        return io.read_lesbrary(path)
    if isinstance(section, LegayCase):
        return io.read_legay(path, **section.options)
    return io.read_cf_netcdf(path, section.mapping.build())


_KEYS = ("path", "paths", "forcing_file", "run")


def data_files(loaded: Loaded[Any]) -> dict[str, str]:
    """SHA-256 of the files that a configuration names, by what they are called there; all must exist."""
    found = {}
    for name, required in _names(loaded.config.model_dump()):
        try:
            found[name] = sha256_of(resolve(name, loaded.path.parent))
        except FileNotFoundError:
            if required:
                raise
    return found


def _names(section: Any, required: bool = True) -> Iterator[tuple[str, bool]]:
    """Names of files, and whether the configuration cannot do without them."""
    if isinstance(section, list | tuple):
        for item in section:
            yield from _names(item, required)
    elif isinstance(section, dict):
        required = required and not section.get("skip_if_missing", False)
        for key, value in section.items():
            if key in _KEYS and isinstance(value, str):
                yield value, required
            elif key in _KEYS and isinstance(value, list | tuple):
                yield from ((str(item), required) for item in value)
            else:
                yield from _names(value, required)
