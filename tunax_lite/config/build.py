"""Build the package's objects from checked configurations."""

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .. import io
from .._types import JSON
from ..calibration import with_case_parameters, with_parameters
from ..column.case import Case
from ..column.integrate import start_of
from ..column.model import Model
from ..column.observations import Observations
from ..column.trajectory import Restart
from ..io.cf_netcdf import name_of_case
from ..io.checksums import sha256_of
from ..io.gotm_restart import restarted
from ..io.legay import name_of_legay
from ..io.les import name_of_lesbrary
from ..io.netcdf import read_contents
from ..io.registry import resolve
from ..io.yaml_file import ConfigError
from ..physics.equation_of_state import carries_conservative_temperature
from ..plausibility import collecting, remarks
from .build_site import placed_case
from .cases import CfNetcdfCase, IdealisedCase, LegayCase, LesbraryCase, SiteCase
from .conversions import conversions_of, notes_on_conversions
from .formats import AbstractTranslatedCase
from .load import Loaded
from .run import Run
from .schema import GridSection, ModelSection, NativeGrid, RunConfig, TimeSection
from .section import SomeCase
from .series import Place, Setting


def build_run(
    loaded: Loaded[RunConfig], parameters: Mapping[str, float] | None = None, *, translated: bool = False
) -> Run:
    """Objects of a run; `parameters` of the closure override those of the configuration.

    Conversions of inputs are not noted where the configuration is `translated` from that of GOTM.

    Raises:
        ConfigError: values that contradict each other.
        FileNotFoundError, FileFormatError: a file of the case that is missing, or cannot be used.
    """
    config, own, told = loaded.config, loaded, ()
    if isinstance(
        config.case, AbstractTranslatedCase
    ):  # which provides grid, model and times unless they are set
        grid = config.grid if "grid" in config.model_fields_set else NativeGrid(kind="native")
        step = config.time.step if "step" in config.time.model_fields_set else None
        own, report = config.case.translated(loaded.place.below("case"), grid, step)
        told = report.errors + report.differences + report.warnings
    model = config.model if "model" in config.model_fields_set else own.config.model
    time, output = own.config.time, own.config.output
    section, where = own.config.case, own.place.below("case")
    made = with_remarks(lambda: build_case(section, own.config.grid, where, time.step), config.accept)
    case, chosen = made.case, config.time if "output_interval" in config.time.model_fields_set else time
    with loaded.place.naming("corrections"):
        case = config.corrections.of(case)
    with loaded.place.naming("parameters"):
        case = with_case_parameters(case, parameters or {})
    built = build_model(model, loaded.place, parameters)
    is_conservative = carries_conservative_temperature(case.equation_of_state)
    measurable = ("potential_temperature",) if is_conservative else ()
    return Run(
        model=built,
        case=case,
        start=_start(own.config.case, own.place.below("case"), built, case),
        observations=made.observations,
        dt=time.step,
        output_interval=_output_interval(config, chosen.output_interval, time.step, made.observations),
        duration=config.time.duration,
        source=loaded.path,
        diagnostics=tuple(dict.fromkeys((*measurable, *output.diagnostics, *config.output.diagnostics))),
        means=output.means or config.output.means,
        notes=(
            *told,
            *(() if translated else notes_on_conversions(config.case, "case")),
            *made.notes,
            *_unreached(case, time),
        ),
    )


def _unreached(case: Case, time: TimeSection) -> list[str]:
    """A note where the case does not end with a step."""
    left = case.duration % time.step
    if time.duration is not None or min(left, time.step - left) < 1e-6 * time.step:
        return []
    return [
        f"the last {left:g} s of the case are left out: its {case.duration:g} s are no multiple of "
        f"time.step, {time.step:g} s"
    ]


def _output_interval(
    config: RunConfig, interval: float, step: float, observations: Observations | None
) -> float:
    """Time between frames [s], shortened to meet the observed times, to the nearest step."""
    if not config.output.observed_times or observations is None:
        return interval
    steps = np.rint(np.append(np.asarray(observations.time), interval) / step).astype(int)
    return step * int(np.gcd.reduce(steps))


def _start(section: SomeCase, where: Place, model: Model, case: Case) -> Restart | None:
    """Initial turbulence from another run; the water is that of the case."""
    if not isinstance(section, SiteCase) or section.restart is None:
        return None
    path = where.file(section.restart.path, "restart", "path")
    rest = start_of(model, case)
    turbulence = restarted(path, rest.clo_state, allow_missing=section.restart.allow_missing)
    return dataclasses.replace(rest, clo_state=turbulence)


def build_model(section: ModelSection, place: Place, parameters: Mapping[str, float] | None = None) -> Model:
    """The model of a configuration; `parameters` override values of the closure."""
    closure = section.closure.build()
    with place.naming("parameters"):
        closure = with_parameters(closure, parameters or {})
    return Model(closure, **section.given())


class BuiltCase(NamedTuple):
    """A case on its grid, its observations, if any, and oddities of its files."""

    case: Case
    observations: Observations | None
    notes: tuple[str, ...] = ()


def build_case(section: SomeCase, grid: GridSection, where: Place, step: float | None = None) -> BuiltCase:
    """The case of a section; some cases depend on the time step [s].

    Raises:
        ConfigError: values that contradict each other.
        FileNotFoundError, FileFormatError: a file that is missing, or cannot be used.
    """
    if isinstance(section, AbstractTranslatedCase):
        own, _ = section.translated(where, grid, step)
        return build_case(own.config.case, own.config.grid, own.place.below("case"), own.config.time.step)
    if isinstance(section, IdealisedCase | SiteCase):
        with where.whole.naming("grid"):
            own_grid = grid.of(section.depth)
            if own_grid is None:
                raise ValueError(
                    f"expected kind uniform, stretched or faces, got native, which {section.format} cases do "
                    "not have; choose one of these."
                )
            depth = -float(np.asarray(own_grid.z_face)[0])
            if abs(depth - section.depth) > 1e-6 * section.depth:
                raise ValueError(
                    f"expected faces down to the depth of the case, {section.depth:g} m, got "
                    f"{depth:g} m; correct one of the two."
                )
        basin = None
        if section.hypsography is not None:
            own_grid, basin = section.hypsography.around(own_grid, where)
        common = {"start_time": section.start_time, "duration": section.duration, "step": step}
        common["draft"] = section.equation_of_state.draft or 0.0
        elevation = section.interior.surface_elevation
        setting = Setting(**vars(where), grid=own_grid, basin=basin, **common, elevation=elevation)
        with where.naming():
            return BuiltCase(*placed_case(section, setting), tuple(setting.warnings))
    return on_grid(read_case(section, where), grid, where)


def with_remarks(make: Callable[[], BuiltCase], accept: Collection[str]) -> BuiltCase:
    """Make a case, and add what the rules of plausibility note about it, except the accepted ones."""
    with collecting() as left:
        made = make()
    found = remarks(made.case, made.observations, accept=accept, left=left)
    return made._replace(notes=(*made.notes, *map(str, found)))


FromFile = LesbraryCase | LegayCase | CfNetcdfCase
"""Cases of which everything comes from one file."""


def read_case(section: FromFile, where: Place) -> BuiltCase:
    """The case of a file, on its own grid; raises the errors of `build_case`."""
    path = where.file(section.path, "path")
    with where.naming():
        case, observations = _read(section, path)
    return BuiltCase(case, observations, observations.notes)


def on_grid(read: BuiltCase, grid: GridSection | NativeGrid, where: Place) -> BuiltCase:
    """A case from file, on the grid of a configuration."""
    with where.whole.naming("grid"):
        target = grid.of(float(read.case.grid.depth))
        return read if target is None else read._replace(case=read.case.on(target))


def case_name(section: SomeCase, where: Place) -> str:
    """Name of the case of a section; reads no more of its files than necessary."""
    if isinstance(section, IdealisedCase | SiteCase):
        return section.name
    if isinstance(section, AbstractTranslatedCase):
        return case_name(section.translated(where, NativeGrid(kind="native"), None)[0].config.case, where)
    path = where.file(section.path, "path")
    if isinstance(section, LegayCase):
        return name_of_legay(path)
    if isinstance(section, LesbraryCase):
        return name_of_lesbrary(path)
    return name_of_case(read_contents(path, only=()), section.mapping.build())


def with_observations(made: BuiltCase | Run | None, where: Place) -> tuple[Case, Observations]:
    """A case with observations, which it must have, and oddities of the files."""
    if made is None or made.observations is None:
        raise ConfigError(
            f"{where.at('format')}: expected a case with observations, got one without; choose "
            "another format."
        )
    return made.case, dataclasses.replace(made.observations, notes=tuple(made.notes))


def _read(section: SomeCase, path: Path) -> tuple[Case, Observations]:
    if isinstance(section, LesbraryCase):
        return io.read_lesbrary(path, units=conversions_of(section.units))
    if isinstance(section, LegayCase):
        return io.read_legay(path, **section.options, units=section.conversions)
    return io.read_cf_netcdf(path, section.mapping.build())


_KEYS = ("path", "paths", "forcing_file", "run")


def data_files(loaded: Loaded) -> dict[str, str]:
    """SHA-256 of the files named in a configuration, by these names; all must exist."""
    found = {}
    for name, required in _names(loaded.config.model_dump()):
        try:
            found[name] = sha256_of(resolve(name, loaded.path.parent))
        except FileNotFoundError:
            if required:
                raise
    return found


def _names(section: JSON, required: bool = True) -> Iterator[tuple[str, bool]]:
    """File names, and whether the configuration requires them."""
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
