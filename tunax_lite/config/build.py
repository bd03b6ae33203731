"""Build the package's objects from checked configurations."""

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping

import numpy as np

from .._types import JSON
from ..calibration import with_case_parameters, with_parameters
from ..column.case import Case
from ..column.model import Model
from ..column.observations import Observations
from ..io.checksums import sha256_of
from ..io.registry import resolve
from ..io.yaml_file import ConfigError
from ..physics.equation_of_state import carries_conservative_temperature
from ..plausibility import collecting, remarks
from .case import BuiltCase, NativeGrid, Run
from .formats import AbstractTranslatedCase
from .load import Loaded
from .schema import ModelSection, RunConfig, TimeSection
from .series import Place, notes_on_conversions


def build_run(
    loaded: Loaded[RunConfig], parameters: Mapping[str, float] | None = None, *, translated: bool = False
) -> Run:
    """Objects of a run; `parameters` of the closure override those of the configuration.

    Conversions of inputs are not noted where the configuration is `translated` from that of another model.

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
    made = with_remarks(lambda: section.build(own.config.grid, where, time.step), config.accept)
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
        start=made.start(built, case),
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


def build_model(section: ModelSection, place: Place, parameters: Mapping[str, float] | None = None) -> Model:
    """The model of a configuration; `parameters` override values of the closure."""
    closure = section.closure.build()
    with place.naming("parameters"):
        closure = with_parameters(closure, parameters or {})
    return Model(closure, **section.given())


def with_remarks(make: Callable[[], BuiltCase], accept: Collection[str]) -> BuiltCase:
    """Make a case, and add what the rules of plausibility note about it, except the accepted ones."""
    with collecting() as left:
        made = make()
    found = remarks(made.case, made.observations, accept=accept, left=left)
    return made._replace(notes=(*made.notes, *map(str, found)))


def with_observations(made: BuiltCase | Run | None, where: Place) -> tuple[Case, Observations]:
    """A case with observations, which it must have, and oddities of the files."""
    if made is None or made.observations is None:
        raise ConfigError(
            f"{where.at('format')}: expected a case with observations, got one without; choose "
            "another format."
        )
    return made.case, dataclasses.replace(made.observations, notes=tuple(made.notes))


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
