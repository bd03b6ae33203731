"""Translate a GOTM configuration to one of this package, and report on every key."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..._types import JSON
from ...config.formats import Report
from ...io.place import Place
from ...io.yaml_file import Document, read_document, with_overrides
from ...registry import additions
from .closure import closure_section
from .interior import interior_section
from .keys import KEYS, WORDS
from .older import is_namelist, read_namelists, up_to_date
from .output import read_times
from .settings import Content, KeyedValue, Settings, looks_like_gotm
from .surface import draft, ice_section, surface_sections
from .water import (
    ObservedInputs,
    absorption,
    coriolis_parameter,
    depth_of,
    equation_of_state,
    grid_section,
    hydrography,
    hypsography,
    observed_section,
)

if TYPE_CHECKING:
    from ...config.case import Run
    from ...config.load import Loaded
    from ...config.schema import RunConfig


def load_gotm(
    path: Path,
    overrides: Sequence[str] | Mapping[str, JSON] = (),
    source: str = "--set",
    *,
    name: str | None = None,
    salinity_anomaly: bool = True,
    ignore_unsupported: bool = False,
    observed: ObservedInputs | None = None,
) -> "Loaded[RunConfig]":
    """Read a GOTM set-up as the configuration of a run, with a report on its keys.

    Series and profiles stay in their files. The configuration lacks `model` if the closure was rejected.

    Args:
        path: a YAML file of any name, or one of the namelists in a folder with `gotmrun.nml`.
        overrides: settings `key.path=value`, or values by key path, that override those of the file.
        source: where the overrides were set, for messages.
        name: name of the case; by default that of the file, or of the folder for namelists and `gotm.yaml`.
        salinity_anomaly: whether practical salinity is converted with the TEOS-10 anomaly of the position; a
            GOTM built without the table of anomalies uses the reference-composition ratio.
        ignore_unsupported: whether to run without settings that are not supported.
        observed: inputs that are observations.

    Raises:
        ConfigError: a file that is missing, cannot be read or is of an unknown version; a key or a value that
            cannot be used. Names file, line and key.
        FileNotFoundError, FileFormatError: a file of the grid, the hypsograph or sea grass cannot be used.
    """
    # The sections of runs import the formats of cases, and with them this module.
    from ...config.load import Loaded, validated
    from ...config.schema import RunConfig

    path = Path(path)
    document, note = up_to_date(read_set_up(path))
    settings = Settings(with_overrides(document, overrides, source), note)
    settings.check()
    content = _translated(settings, name or _name_of(path), salinity_anomaly, observed)
    origins: dict[tuple[str, ...], str] = {}
    translated = Document(_plain(content, (), settings, origins), origins, str(path))
    # Last, because a setting that nothing has read by now is not supported.
    report = report_on(settings, ignores_unsupported=ignore_unsupported and "model" in content)
    return Loaded(validated(translated, RunConfig), Place(path, origins), report)


def _name_of(path: Path) -> str:
    """Name of the file; for namelists and `gotm.yaml`, of the folder."""
    stem = path.stem.removesuffix(".gotm")
    folder = path.absolute().parent.name if is_namelist(path) or stem == "gotm" else ""
    return folder or stem


def is_gotm(path: Path) -> bool:
    """Return whether a file is a configuration of GOTM, of any version."""
    return looks_like_gotm(read_set_up(path).data)


def read_set_up(path: Path) -> Document:
    """Read a YAML file, or all namelists in the folder of one of them."""
    return read_namelists(path) if is_namelist(path) else read_document(path)


def _translated(
    settings: Settings, name: str, salinity_anomaly: bool, observed: ObservedInputs | None
) -> dict[str, Content]:
    """Return the configuration of this package; without `model` if the closure was rejected."""
    times, depth = read_times(settings), depth_of(settings)
    grid = grid_section(settings, depth.value)
    settings.follow(WORDS["rules"])
    modules = _modules(settings)
    terms = modules.get("terms")
    closure = closure_section(settings)
    below_ice = draft(settings)
    water, relaxation, held = hydrography(settings, times["dt"])
    case = {
        "format": "site",
        "name": name,
        "latitude": settings.keyed("location.latitude"),
        "longitude": settings.keyed("location.longitude"),
        "coriolis_parameter": KeyedValue(coriolis_parameter(settings), "location.latitude"),
        "start_time": KeyedValue(times["start_time"], "time.start"),
        "duration": KeyedValue(times["length"], "time.stop"),
        "depth": depth._replace(value=depth.value - below_ice),
        "hypsography": hypsography(settings),
        **water,
        "decibar_per_metre": True,
        "linear_sunlight": True,
        "salinity_anomaly": salinity_anomaly,
        "equation_of_state": equation_of_state(settings) | ({"draft": below_ice} if below_ice else {}),
        "ice": ice_section(settings),
        **surface_sections(settings, held),
        "interior": interior_section(settings, times)
        | {"relaxation": relaxation | modules.get("relaxation", {}), "held": held},
        "absorption": absorption(settings),
        **{key: modules[key] for key in ("terms", "tracers") if modules.get(key)},
    }
    if observed is not None:
        case["observations"] = observed_section(settings, observed)
    molecular = {
        "avmolu": "molecular_viscosity",
        "avmolt": "molecular_diffusivity",
        "avmols": "molecular_salt_diffusivity",
    }
    model: dict[str, Content] = {"closure": closure, **settings.renamed("physical_constants", molecular)}
    if terms:
        model["molecular_tracer_diffusivity"] = 0.0  # FABM's tracers mix by eddy diffusivity alone
    model |= {"theta": settings.keyed("time.cnpar"), "discretisation": "gotm"}
    return {
        "case": case,
        "grid": grid,
        **({} if closure is None else {"model": model}),
        "time": {
            "dt": settings.keyed("time.dt"),
            "output_interval": KeyedValue(times["output_interval"], "output"),
        },
        "output": {"diagnostics": times["diagnostics"], "means": times["means"]},
    }


class BuiltGotm(NamedTuple):
    """Run of a GOTM configuration, `None` if its closure was rejected, and the report on its keys."""

    run: "Run | None"
    report: Report


def build_gotm(loaded: "Loaded[RunConfig]") -> BuiltGotm:
    """Build a run from what `load_gotm` returns, and the files that it names.

    Raises:
        ConfigError: a configuration that cannot be used; names file, line and key.
        FileNotFoundError: a forcing file that is missing.
        FileFormatError: a forcing file that cannot be used; names file, line, time and value.
    """
    from ...config.build import build_translated  # imports this module

    return BuiltGotm(*build_translated(loaded))


def _plain(
    content: Content, path: tuple[str, ...], settings: Settings, origins: dict[tuple[str, ...], str]
) -> JSON:
    """Content with plain values; records the GOTM line and key of each in `origins`."""
    if isinstance(content, KeyedValue):
        origins[path] = settings.line(content.key)
        return content.value
    if isinstance(content, dict):
        return {key: _plain(value, (*path, key), settings, origins) for key, value in content.items()}
    if isinstance(content, list):
        return [_plain(value, (*path, str(i)), settings, origins) for i, value in enumerate(content)]
    return content


def _modules(settings: Settings) -> dict[str, dict[str, Content]]:
    """Sections `terms`, `tracers` and `relaxation` from GOTM's section `fabm`, if an extension reads it."""
    if not settings["fabm.use"]:
        settings.without_effect("fabm", "fabm.use is false")
        return {}
    file = settings.folder / str(settings["fabm.yaml_file"])
    module = dict(additions("formats", "GOTM_MODULES")).get("fabm")
    if module is not None and file.is_file():
        return module(settings)
    missing = f"there is no {file.name}" if module is not None else "no extension computes it"
    if any(settings[f"fabm.feedbacks.{name}"] for name in ("shade", "albedo", "surface_drag")):
        settings.refuse("fabm.use", f"biogeochemistry that acts back on the physics: {missing}")
    else:
        settings.note("fabm.use", f"no biogeochemistry is computed: {missing}")
    settings.without_effect("fabm", "no biogeochemistry is computed")
    return {}


def report_on(settings: Settings, *, ignores_unsupported: bool) -> Report:
    """Build the report, after the translation has read all supported settings."""
    refused = {path for path, _ in settings.refusals}
    errors = [f"{settings.where(path)}: {reason}." for path, reason in settings.refusals]
    inactive: dict[tuple[str, str], list[str]] = {}
    unsupported_at_default, n_followed = [], 0
    for path, value in settings.set_in_file.items():
        reason = settings.reason(path)
        if path in settings.used:
            n_followed += path not in refused
        elif value == KEYS[path].default and reason is None:
            unsupported_at_default.append(f"{settings.line(path)}.")
        elif reason is None:
            advice = f"use the default, {KEYS[path].default!r}"
            errors.append(f"{settings.where(path)}: {value!r} is not supported; {advice}.")
        elif value != KEYS[path].default:
            inactive.setdefault((path.rpartition(".")[0], str(reason)), []).append(path)
    return Report(
        model="GOTM",
        source=settings.source,
        n_followed=n_followed,
        differences=tuple(f"{settings.line(path)}: {text}." for path, text in settings.notes),
        without_effect=tuple(_grouped(settings, inactive)),
        unsupported=tuple(unsupported_at_default),
        errors=tuple(errors),
        ignores_unsupported=ignores_unsupported,
    )


def _grouped(settings: Settings, inactive: dict[tuple[str, str], list[str]]) -> list[str]:
    """Group keys that have no effect for the same reason into one line."""
    lines = []
    for (group, reason), paths in inactive.items():
        where = settings.line(paths[0])
        if len(paths) > 1:
            names = ", ".join(path.rpartition(".")[2] for path in paths)
            where = f"{where.partition(':')[0]}: {group}: {names}"
        lines.append(f"{where}: {reason}.")
    return lines
