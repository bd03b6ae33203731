"""From a GOTM configuration to a run of the package, and what becomes of every key on the way."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from ..case import Case
from ..forcing import AbstractForcing
from ..grid import Grid
from ..io.yaml_file import ConfigError, Document, naming, read_document, with_overrides, yaml_text
from ..run import Run
from .closure import closure_of
from .hydrography import Hydrography, read_hydrography
from .interior import read_interior
from .keys import KEYS
from .kpp import kpp_of
from .medium import model_of, read_absorption, read_coriolis_parameter, read_equation_of_state, read_grid
from .observed import ObservedInputs, read_observed
from .output import Clock, read_clock
from .profiles import Inputs
from .settings import Settings
from .surface import check_ice, ignore_what_only_observes, read_bulk_fluxes, read_prescribed_fluxes
from .turbulence import read_turbulence


@dataclasses.dataclass(frozen=True)
class OutputOptions:
    """Where a run leaves its files."""

    folder: str = "results"
    figures: bool = True
    diagnostics: tuple[str, ...] = ()
    variables: list[str] | None = None
    means: bool = False


@dataclasses.dataclass(frozen=True)
class GotmOptions:
    """What a configuration of the package says and one of GOTM does not.

    Args:
        precision: of the run.
        output: where it leaves its files.
        salinity_anomaly: whether practical salinity is converted with TEOS-10's anomaly of the place; a GOTM
            that was built without the table of anomalies takes the ratio of the standard ocean.
        vertical_velocity: whether `mimic_3d.w` carries the profiles; GOTM reads it, and switches it off.
    """

    precision: str = "float64"
    output: OutputOptions = OutputOptions()
    salinity_anomaly: bool = True
    vertical_velocity: bool = False


@dataclasses.dataclass(frozen=True)
class LoadedGotm:
    """A configuration of GOTM that is read and not yet checked.

    Args:
        document: its keys and lines.
        path: of the file; the files that it names lie beside it.
        config: what it does not say.
    """

    document: Document
    path: Path
    config: GotmOptions = GotmOptions()

    @property
    def name(self) -> str:
        """Name of the file without `.gotm.yaml`."""
        return self.path.stem.removesuffix(".gotm")

    @property
    def text(self) -> str:
        """The settings of the file as YAML: what is stored with results."""
        return yaml_text(self.document.data)


@dataclasses.dataclass(frozen=True)
class Report:
    """Lines for the user.

    Args:
        source: the configuration file.
        n_followed: number of keys of the file that the run follows.
        differences: what is done in another way than in GOTM.
        without_effect: keys of the file that are not at their default and change nothing, with the reason.
        unsupported: keys of the file that are not supported, and at their default.
        errors: keys that change the result and cannot be followed.
        warnings: what is odd in the forcing files.
    """

    source: str
    n_followed: int
    differences: tuple[str, ...]
    without_effect: tuple[str, ...]
    unsupported: tuple[str, ...]
    errors: tuple[str, ...]
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, settings: Settings, warnings: list[str]) -> "Report":
        """The report after all has been read that is followed."""
        refused = {path for path, _ in settings.refusals}
        errors = [f"{settings.where(path)}: {reason}." for path, reason in settings.refusals]
        inactive: dict[tuple[str, str], list[str]] = {}
        unsupported, n_followed = [], 0
        for path, value in settings.given():
            reason = settings.reason(path)
            if settings.is_used(path):
                n_followed += path not in refused
            elif value == KEYS[path].default and reason is None:
                unsupported.append(f"{settings.line(path)}.")
            elif value != KEYS[path].default and reason is None:
                errors.append(
                    f"{settings.where(path)}: {value!r} is not supported; use the default, "
                    f"{KEYS[path].default!r}."
                )
            elif value != KEYS[path].default:
                inactive.setdefault((path.rpartition(".")[0], str(reason)), []).append(path)
        return cls(
            source=settings.source,
            n_followed=n_followed,
            differences=tuple(f"{settings.line(path)}: {text}." for path, text in settings.notes),
            without_effect=tuple(_grouped(settings, inactive)),
            unsupported=tuple(unsupported),
            errors=tuple(errors),
            warnings=tuple(warnings),
        )

    def check(self) -> None:
        """Raise `ConfigError` with all errors, if there are any."""
        if self.errors:
            raise ConfigError(
                "\n".join(self.errors)
                + "\n`--ignore-unsupported`, or `case.ignore_unsupported: true` in a configuration of the "
                "package, runs without what these settings ask for."
            )

    def lines(self) -> list[str]:
        """The report as text."""
        lines = [f"{self.source}: {self.n_followed} settings are followed"]
        for title, entries in (
            ("in another way than in GOTM", self.differences),
            ("without effect", self.without_effect),
            ("not supported, at the default", self.unsupported),
            ("odd in the files", self.warnings),
            (
                "not supported, and changes the result",
                tuple(e.removeprefix(f"{self.source}: ") for e in self.errors),
            ),
        ):
            if entries:
                lines += [f"{title}:", *(f"  {entry}" for entry in entries)]
        return lines


@dataclasses.dataclass(frozen=True)
class GotmRun:
    """A GOTM case, ready to run.

    Args:
        run: model, case and times; `None` where a refused setting leaves nothing to run.
        report: what became of every key.
    """

    run: Run | None
    report: Report


def load_gotm(
    path: Path,
    overrides: Sequence[str] = (),
    source: str = "--set",
    *,
    config: GotmOptions = GotmOptions(),  # noqa: B008
) -> LoadedGotm:
    """Read a configuration of GOTM.

    Args:
        path: the YAML file, of any name.
        overrides: settings `key.path=value` that replace values of the file.
        source: where the overrides were set, for messages.
        config: what GOTM's configuration does not say.

    Raises:
        ConfigError: a file that cannot be read.
    """
    return LoadedGotm(with_overrides(read_document(Path(path)), overrides, source), Path(path), config)


def build_gotm(loaded: LoadedGotm, observed: ObservedInputs | None = None) -> GotmRun:
    """The objects of a run, from a configuration and the files beside it.

    Args:
        loaded: the configuration.
        observed: which of its inputs are observations to compare with; none by default.

    Raises:
        ConfigError: a configuration that cannot be used; names file, line and key.
        FileNotFoundError: a forcing file that is missing.
        FileFormatError: a forcing file that cannot be used; names file, line, time and value.
    """
    settings = Settings(loaded.document)
    clock, grid = read_clock(settings), read_grid(settings)
    anomaly = loaded.config.salinity_anomaly
    inputs = Inputs(settings, clock.period, grid, clock.dt, salinity_anomaly=anomaly)
    check_ice(settings)
    ignore_what_only_observes(settings)
    _check_extensions(settings)
    turbulence = read_turbulence(settings)
    with naming(loaded.path, settings.line("turbulence")):
        closure = kpp_of(settings) if turbulence is None else closure_of(turbulence, settings)
    case = _case(loaded, inputs, clock, grid)
    observations = None if observed is None else read_observed(inputs, observed, loaded.name)
    model = None if closure is None else model_of(closure, settings)
    # After all that reads a setting: what was not read is not supported.
    run, report = None, Report.of(settings, inputs.warnings)
    if model is not None:
        run = Run(
            model=model,
            case=case,
            observations=observations,
            dt=clock.dt,
            output_interval=clock.output_interval,
            duration=None,
            source=loaded.path,
            diagnostics=clock.diagnostics,
            means=clock.means,
            notes=(*report.errors, *report.differences, *report.warnings),
        )
    return GotmRun(run, report)


def _case(loaded: LoadedGotm, inputs: Inputs, clock: Clock, grid: Grid) -> Case:
    """The place, the water and what acts on it; the wall at the bottom is that of the closure."""
    settings = inputs.settings
    equation_of_state = read_equation_of_state(settings)
    with naming(loaded.path, "temperature, salinity"):
        hydrography = read_hydrography(inputs, grid, equation_of_state)
    with naming(loaded.path, "surface"):
        forcing = _forcing(inputs, clock, hydrography)
    with naming(loaded.path, "mimic_3d, bottom, waves"):
        interior = read_interior(inputs, hydrography, vertical_velocity=loaded.config.vertical_velocity)
    return Case(
        grid,
        hydrography.initial_state,
        forcing,
        interior=interior,
        coriolis_parameter=read_coriolis_parameter(settings),
        equation_of_state=equation_of_state,
        absorption=read_absorption(inputs),
        duration=clock.period.length,
        name=loaded.name,
        start_time=clock.start_time,
        latitude=settings["location.latitude"],
        longitude=settings["location.longitude"],
    )


def _forcing(inputs: Inputs, clock: Clock, hydrography: Hydrography) -> AbstractForcing:
    settings = inputs.settings
    density = settings["equation_of_state.rho0"]
    solved = {f"has_{name}": name not in hydrography.held for name in ("temperature", "salinity")}
    if settings["surface.fluxes.method"] == "off":
        return read_prescribed_fluxes(inputs, density, **solved)
    return read_bulk_fluxes(inputs, clock.start_time, density, **solved)


def _check_extensions(settings: Settings) -> None:
    """Modules of GOTM that are not here."""
    if settings["fabm.use"]:
        feedbacks = ("shade", "albedo", "surface_drag")
        if any(settings[f"fabm.feedbacks.{name}"] for name in feedbacks):
            settings.refuse("fabm.use", "biogeochemistry that acts back on the physics is not supported")
        else:
            settings.note(
                "fabm.use", "no biogeochemistry is computed; the physics does without its feedbacks"
            )
        settings.without_effect("fabm", "no biogeochemistry is computed")
    settings.without_effect("fabm", "fabm.use is false")
    if settings["seagrass.method"] != "off":
        settings.refuse("seagrass.method", "sea grass is not supported; set it to off")
    settings.without_effect("seagrass", "seagrass.method is off")
    if settings["restart.load"]:
        settings.refuse("restart.load", "restart.nc of GOTM cannot be read; set it to false")
    settings.without_effect("restart", "restart.load is false")


def _grouped(settings: Settings, inactive: dict[tuple[str, str], list[str]]) -> list[str]:
    """One line for the keys of a group that have no effect for the same reason."""
    lines = []
    for (group, reason), paths in inactive.items():
        where = settings.line(paths[0])
        if len(paths) > 1:
            names = ", ".join(path.rpartition(".")[2] for path in paths)
            where = f"{where.partition(':')[0]}: {group}: {names}"
        lines.append(f"{where}: {reason}.")
    return lines
