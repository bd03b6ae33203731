"""Build the objects of runs, calibrations, evaluations and comparisons from checked configurations."""

import contextlib
import dataclasses
import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._types import JSON, warn_of_input
from ..calibration import Target, read_parameters, with_case_parameters, with_parameters
from ..calibration.comparison import VARIABLES
from ..calibration.methods import AbstractMethod
from ..calibration.observed import can_be_observed
from ..calibration.parameters import ParameterTable
from ..calibration.target import AbstractScore, padded_together
from ..column.averages import KINDS
from ..column.case import Case
from ..column.integrate import whole_steps
from ..column.model import Model
from ..column.observations import Observations
from ..io.errors import FileFormatError
from ..io.named_files import resolve
from ..io.place import Place
from ..io.yaml_file import ConfigError
from ..physics.equation_of_state import carries_conservative_temperature
from ..plausibility import recorded, remarks
from ..runtime.memory import check_steps
from .calibration import AdamSection, CalibrationConfig, MisfitSection, free_parameters
from .case import AbstractFileCase, BuiltCase, GridSection, NativeGrid, Run
from .comparison import ComparisonConfig, in_words
from .formats import AbstractTranslatedCase, Report
from .load import Loaded
from .schema import ModelSection, RunConfig
from .section import closest
from .site import CaseSection, DescribedCase


def build_run(loaded: Loaded[RunConfig], parameters: Mapping[str, float] | None = None) -> Run:
    """Objects of a run; `parameters`, by path in closure or case, override those of the configuration.

    Raises:
        ConfigError: values that contradict each other.
        FileNotFoundError, FileFormatError: a file of the case that is missing, or cannot be used.
    """
    config, translated = loaded.config, loaded
    if isinstance(config.case, AbstractTranslatedCase):  # gives grid, model and times unless they are set
        grid = config.grid if "grid" in config.model_fields_set else NativeGrid(kind="native")
        step = config.time.dt if "dt" in config.time.model_fields_set else None
        translated = config.case.translated(loaded.place.below("case"), grid, step)
    set_up, dt = translated.config, translated.config.time.dt
    if (report := translated.report) is not None:
        report.check()
        warn_of_input(report.errors + report.differences + report.warnings)
    model = config.model if "model" in config.model_fields_set else set_up.model
    interval = config.time if "output_interval" in config.time.model_fields_set else set_up.time
    if isinstance(set_up.case, DescribedCase):  # others know their length only when they are read
        with loaded.place.naming("time", "dt"):
            check_steps(config.time.duration or set_up.case.duration, dt)
    built = built_case(set_up.case, set_up.grid, translated.place.below("case"), dt, config.accept)
    case = built.case
    with loaded.place.naming("corrections"):
        case = config.corrections.of(case)
    with loaded.place.naming("parameters"):
        case = with_case_parameters(case, parameters or {})
    is_conservative = carries_conservative_temperature(case.equation_of_state)
    measurable = ("potential_temperature",) if is_conservative else ()
    requested = *set_up.output.diagnostics, *config.output.diagnostics
    diagnostics = tuple(dict.fromkeys((*measurable, *requested)))
    means = set_up.output.means or config.output.means
    effects = tuple(name for name in KINDS if getattr(config.output, name))
    averaged = (*diagnostics, *effects) if means else effects
    if config.time.duration is None:
        _warn_of_part_of_a_step(case, dt)
    return Run(
        model=build_model(model, loaded.place, parameters),
        case=case,
        observations=built.observations,
        dt=dt,
        output_interval=interval.output_interval,
        duration=config.time.duration,
        source=loaded.path,
        diagnostics=diagnostics,
        means=averaged or means,  # true averages the state alone
    )


def build_translated(loaded: Loaded[RunConfig]) -> tuple[Run | None, Report]:
    """Build a set-up of another model; also return the report on its keys and files, not yet checked.

    The run is `None` if the set-up asks for a closure that the package does not have.
    """
    report = loaded.report
    assert report is not None
    if "model" not in loaded.config.model_fields_set:
        return None, report
    with recorded() as notes:
        run = build_run(dataclasses.replace(loaded, report=None))
    return run, dataclasses.replace(report, warnings=(*report.warnings, *map(str, notes)))


def _warn_of_part_of_a_step(case: Case, step: float) -> None:
    """Warn if a case does not end with a step."""
    left = case.duration - step * whole_steps(case.duration, step)
    if left >= 1e-6 * step:
        warn_of_input(
            [
                f"{case.name}: the last {left:g} s of the case are left out: its {case.duration:g} s are no "
                f"multiple of time.dt, {step:g} s"
            ]
        )


def _end_of(case: Case, step: float) -> float:
    """Last time at which a case can be compared [s], with a margin for rounding.

    It is the end of the last whole step, or that of the case if the forcing covers one more step.
    """
    end = step * whole_steps(case.duration, step)
    with contextlib.suppress(ValueError):  # the forcing ends before that step
        case.check_covers(0.0, end + step)
        end = case.duration
    return end * (1.0 + 1e-9)


def build_model(section: ModelSection, place: Place, parameters: Mapping[str, float] | None = None) -> Model:
    """Build the model of a configuration; `parameters` override values of the closure."""
    closure = section.closure.build()
    if parameters:
        with place.naming("parameters"):
            closure = with_parameters(closure, parameters)
    return Model(closure, **section.given())


def built_case(
    section: CaseSection, grid: GridSection, where: Place, step: float, accept: Collection[str]
) -> BuiltCase:
    """Build a case, and print notes of its readers and of the rules of plausibility except `accept`."""
    with recorded() as notes:
        built = section.build(grid, where, step)
    notes += remarks(built.case, built.observations)
    warn_of_input(note for note in notes if note.rule not in accept)
    return built


def with_observations(built: BuiltCase | Run, where: Place) -> tuple[Case, Observations]:
    """Case and observations; `ConfigError` if it has none."""
    if built.observations is None:
        raise ConfigError(
            f"{where.at('format')}: expected a case with observations, got one without; give `observations` "
            "to the case in a configuration of the package, or choose another format."
        )
    return built.case, built.observations


def data_files(path: Path, document: JSON) -> dict[str, Path]:
    """Files whose names are values in a configuration, by name; `path` is that of the configuration."""
    if isinstance(document, str):
        try:
            return {document: resolve(document, path.parent)}
        except (OSError, FileFormatError):  # no name of a file, and perhaps too long for one
            return {}
    items = document.values() if isinstance(document, Mapping) else document
    found = dict[str, Path]()
    for value in items if isinstance(document, Mapping | list | tuple) else ():
        found |= data_files(path, value)
    return found


@dataclasses.dataclass(frozen=True)
class Calibration:
    """Objects that `calibrate` needs.

    Args:
        model: first guess of closure and time scheme.
        free_parameters: calibrated numbers of the closure and of the cases, with their priors.
        targets: one for each case, grid and time step.
        method: optimiser.
        n_iterations: number of evaluations of the loss.
        score: measure that is summed over the targets.
        prior_weight: weight of the priors in the loss [1].
        max_non_finite: number of evaluations in a row that may break down before the calibration stops.
    """

    model: Model
    free_parameters: ParameterTable
    targets: tuple[Target, ...]
    method: AbstractMethod
    n_iterations: int
    score: AbstractScore
    prior_weight: float
    max_non_finite: int


def build_calibration(
    loaded: Loaded[CalibrationConfig], parameters: Mapping[str, float] | None = None
) -> Calibration:
    """Objects of a calibration; `parameters` override the first guess of the configuration.

    Raises:
        ConfigError: values that contradict each other, or a case without observations.
        FileNotFoundError, FileFormatError: a file of a case that is missing, or cannot be used.
    """
    config, place = loaded.config, loaded.place
    model = build_model(config.model, place, parameters)
    cases = range(len(config.cases))
    targets = tuple(target for index in cases for target in _targets(config, index, place, model))
    if config.misfit.padded:
        with place.naming("misfit", "padded"):
            targets = padded_together(targets, model)
    names = [target.case.name for target in targets]
    for index, name in enumerate(names):
        if name in names[:index]:
            at = index // (len(config.grid) * len(config.time.dt))
            raise ConfigError(
                f"{place.at('cases', str(at), 'case')}: expected a case of another name, got '{name}' again; "
                "remove one of the two, or choose grids of different n_cells."
            )
    with place.naming("parameters"):
        by_name = {target.case.name: target.case for target in targets}
        free = free_parameters(config.parameters).resolve(model.closure, by_name)
    with place.naming("optimiser"):
        section = config.optimiser
        is_adam = isinstance(section, AdamSection)
        method = section.of_length(config.n_iterations) if is_adam else section.build()
        method.init(free.start())  # raises errors of the number of parameters
    for target in targets:
        if _end_of(target.case, target.dt) < target.case.duration:
            _warn_of_part_of_a_step(target.case, target.dt)
    return Calibration(
        model=model,
        free_parameters=free,
        targets=targets,
        method=method,
        n_iterations=config.n_iterations,
        score=config.misfit.score.build(),
        prior_weight=config.misfit.prior_weight,
        max_non_finite=config.max_non_finite,
    )


def _on_grids(
    section: CaseSection,
    grids: Sequence[GridSection],
    steps: Sequence[float],
    where: Place,
    accept: Collection[str],
) -> Iterator[tuple[GridSection, float, Case, Observations]]:
    """A case with observations on every grid with every time step; a file is read once."""
    read = None
    if isinstance(section, AbstractFileCase):  # does not depend on the step
        read = built_case(section, NativeGrid(kind="native"), where, steps[0], accept)
    for grid, step in itertools.product(grids, steps):
        if read is None:
            built = built_case(section, grid, where, step, accept)
        else:
            built = read.on(grid, where)
        yield grid, step, *with_observations(built, where)


def _target(case: Case, observations: Observations, dt: float, where: Place, **options: Any) -> Target:
    """Build a target, and its comparison now: errors of the comparison would stop the command later."""
    with where.naming():
        target = Target(case, observations, dt=dt, **options)
        _ = target.comparison
    return target


def _targets(config: CalibrationConfig, index: int, place: Place, model: Model) -> Iterator[Target]:
    """Yield the targets of a case, one for each grid and time step; names state these if several."""
    section, where, misfit = config.cases[index], place.below("cases", str(index)), config.misfit
    here, steps = where.below("case"), config.time.dt
    for _, step, case, observations in _on_grids(section.case, config.grid, steps, here, config.accept):
        with place.naming("time", "dt"):
            check_steps(case.duration, step)
        which = [f"{case.grid.n_cells}"] * (len(config.grid) > 1)
        which += [f"{step:g}s"] * (len(steps) > 1)
        name = case.name + (f"@{','.join(which)}" if which else "")
        with where.naming("corrections"):
            case = section.corrections.of(dataclasses.replace(case, name=name))
        with place.naming("time", "dt"):
            case.check_step(step)
        yield _target(
            case,
            observations,
            step,
            where,
            weights=section.weights or misfit.weights,
            weight=section.weight,
            group=section.group,
            time_window=_time_window(misfit, section.end, case, observations, step),
            depth_window=_depth_window(misfit, case),
            scale=misfit.scale.build(),
            averaging=misfit.averaging,
            reduction=misfit.reduction,
            frame_interval=misfit.frame_interval,
            most_times=misfit.most_times,
            samples_forcing=model.discretisation.samples_forcing,
        )


def _time_window(
    misfit: MisfitSection, end: float | None, case: Case, observations: Observations, step: float
) -> tuple[float, float]:
    """First and last time that count [s]; `end` of the case replaces the one of the misfit."""
    first, last = misfit.start, _end_of(case, step)
    if (wanted := end or misfit.end) is not None:
        last = min(last, wanted)
    if misfit.times == "last":
        times = np.asarray(observations.time)
        first = float(max(times[times <= last], default=first))
    return first, last


def _depth_window(misfit: MisfitSection, case: Case) -> tuple[float, float]:
    """Lowest and highest height that count [m]."""
    lowest = -math.inf if misfit.lowest is None else misfit.lowest
    if misfit.bottom_fraction:
        lowest = max(lowest, -float(case.grid.depth) * (1.0 - misfit.bottom_fraction))
    return lowest, misfit.highest


def evaluation_of(loaded: Loaded) -> tuple[Model, tuple[Target, ...]]:
    """A model and its evaluation targets: all levels, differences in physical units.

    Args:
        loaded: a run, whose section `evaluation` sets window and variables; or a calibration, of which all
            cases count, in the time window of `misfit`, with temperature, u, v, tracers and the variables of
            `misfit`.

    Raises:
        ConfigError: a case without observations, or with none of the variables.
        FileNotFoundError, FileFormatError: a file of a case that is missing, or cannot be used.
    """
    config, place = loaded.config, loaded.place.below("evaluation")
    if isinstance(config, CalibrationConfig):
        setup = build_calibration(loaded)
        model, requested, targets, of_misfit = setup.model, None, setup.targets, config.misfit.weights
    else:
        run, section = build_run(loaded), config.evaluation
        model, requested, of_misfit = run.model, section.variables, ()
        case, observations = with_observations(run, loaded.place.below("case"))
        if missing := [name for name in requested or () if not can_be_observed(observations, name)]:
            warn_of_input(
                [
                    f"{place.at('variables')}: not observed, and left out: {', '.join(missing)}; "
                    f"there are {', '.join(observations.names)}"
                ]
            )
        window = section.start, min(section.end or math.inf, run.duration_from(0.0))
        sampling = {"samples_forcing": model.discretisation.samples_forcing, "averaging": section.averaging}
        targets = (Target(case, observations, dt=run.dt, time_window=window, **sampling),)
    evaluated = []
    for target in targets:
        usual = dict.fromkeys((*VARIABLES, *target.case.initial_state.tracers, *of_misfit))
        options = {
            name: getattr(target, name) for name in ("time_window", "group", "averaging", "samples_forcing")
        }
        options["weights"] = _equal_weights(target.observations, requested or usual, place)
        evaluated.append(_target(target.case, target.observations, target.dt, place, **options))
    return model, tuple(evaluated)


def _equal_weights(observations: Observations, names: Collection[str], where: Place) -> dict[str, float]:
    """Weight 1 for each observed variable; `where` is the section with the key `variables`, for the error."""
    observed = [name for name in names if can_be_observed(observations, name)]
    if not observed:
        raise ConfigError(
            f"{where.at('variables')}: expected at least one of the observed variables "
            f"{', '.join(observations.names)}, got {', '.join(names)}; add one."
        )
    return dict.fromkeys(observed, 1.0)


def candidates_of(loaded: Loaded[ComparisonConfig], chosen: Sequence[str] = ()) -> dict[str, Model]:
    """Models of a comparison by label, with the default time scheme; all, or those with the chosen labels.

    Raises:
        ConfigError: an unknown label, or values of parameters that the closure does not take.
    """
    sections = {section.title: section for section in loaded.config.closures}
    check_chosen("closures", chosen, list(sections))
    candidates = dict[str, Model]()
    for title, section in sections.items():
        if chosen and title not in chosen:
            continue
        closure, values = section.build(), section.parameters
        with loaded.place.naming(f"closures: {title}"):
            if isinstance(values, str):
                try:
                    path = resolve(values, loaded.path.parent)
                except FileNotFoundError as error:
                    raise ValueError(f"parameters: {error}") from error
                closure = with_parameters(closure, read_parameters(path, type(closure).__name__))
            candidates[title] = Model(closure)
    return candidates


def targets_of(loaded: Loaded[ComparisonConfig], chosen: Sequence[str] = ()) -> dict[str, list[Target]]:
    """Targets of a comparison by the name of the grid; all cases, or those with the chosen names.

    Raises:
        ConfigError: an unknown name, or cases that cannot be compared.
        FileNotFoundError, FileFormatError: a file of a case that is missing, or cannot be used.
    """
    targets: dict[str, list[Target]] = {}
    for index in _chosen_cases(loaded, chosen):
        for grid, of_case in case_on_grids(loaded, index).items():
            targets.setdefault(grid, []).extend(of_case)
    names = [target.case.name for target in next(iter(targets.values()))[:: len(loaded.config.time.dt)]]
    if repeated := [name for name in names if names.count(name) > 1]:
        at, got = loaded.place.at("cases"), f"'{repeated[0]}' twice"
        raise ConfigError(f"{at}: expected cases of different names, got {got}; name one of them.")
    return targets


def _chosen_cases(loaded: Loaded[ComparisonConfig], chosen: Sequence[str]) -> Iterator[int]:
    """Indices of the cases with the chosen names, or of all."""
    if not chosen:
        return iter(range(len(loaded.config.cases)))
    names, unread = dict[int, str](), list[Exception]()
    for index, section in enumerate(loaded.config.cases):
        try:
            names[index] = section.case.named(loaded.place.below("cases", str(index)))
        except (FileNotFoundError, FileFormatError) as error:  # perhaps of a case that is not chosen
            unread.append(error)
    if unread and not set(chosen) <= set(names.values()):
        raise unread[0]
    check_chosen("cases", chosen, list(names.values()))
    return (index for index, name in names.items() if name in chosen)


def case_on_grids(loaded: Loaded[ComparisonConfig], index: int) -> dict[str, list[Target]]:
    """Targets of one case by the name of the grid, one for each time step; `index` is that of the case."""
    config, section = loaded.config, loaded.config.cases[index]
    where, targets = loaded.place.below("cases", str(index)), dict[str, list[Target]]()
    of_case = _on_grids(section.case, config.grid, config.time.dt, where, config.accept)
    for grid, step, case, observations in of_case:
        with where.naming():
            check_steps(case.duration, step)
        end = min(config.end or case.duration, case.duration)
        weights = _equal_weights(observations, config.variables or observations.names, loaded.place)
        window = config.start * (1.0 - 1e-9), end * (1.0 + 1e-9)  # margins for rounding
        options = {"time_window": window, "group": section.group or None, "averaging": config.averaging}
        target = _target(case, observations, step, where, weights=weights, **options)
        targets.setdefault(in_words(grid), []).append(target)
    return targets


def check_chosen(option: str, chosen: Sequence[str], known: list[str]) -> None:
    """Raise `ConfigError` for a name of an option, such as `--cases`, that the file lacks."""
    for name in chosen:
        if name not in known:
            raise ConfigError(
                f"--{option} {name}: expected one of the {option} of the file; {closest(name, known)}."
            )
