"""Steps of `tunax-lite site`: write the inputs and the configuration, check it, run it."""

import datetime
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ...cli import session
from ...cli.check import check
from ...cli.run import run
from ...cli.terminal import echo
from ...config import ConfigError
from ...config.section import closest
from ...io.axes import number_of, place_in_words
from ...io.series import start_of_case
from ...io.writing import check_outputs, write_text
from ...io.yaml_file import Document, with_overrides, yaml_text
from . import sea_floor, tides, water, waves, weather
from .place import Section, Site

_ERA5 = "ERA5, Hersbach et al. (2020), doi:10.1002/qj.3803; Copernicus licence"
_ARGO = "Argo (2000), doi:10.17882/42182; CC-BY 4.0"
_WOA = "World Ocean Atlas 2023, Reagan et al. (2024), doi:10.25921/va26-hv25; public domain"


class _Source(NamedTuple):
    """A source of an input: a function that prepares it and returns keys of the case, and its reference."""

    fetch: Callable[[Site, str], Section]
    reference: str


_SOURCES: dict[str, dict[str, _Source]] = {
    "depth": {
        "metres": _Source(sea_floor.metres, "a number"),
        "gebco": _Source(sea_floor.grid, "GEBCO Compilation Group, gebco.net; public domain"),
        "etopo": _Source(sea_floor.grid, "ETOPO 2022, doi:10.25921/fd45-gt74; public domain"),
    },
    "weather": {
        "era5": _Source(weather.era5, _ERA5),
        "table": _Source(weather.table, "a table"),
        "cds": _Source(weather.cds, _ERA5),
    },
    "water": {
        "argo": _Source(water.argo, _ARGO),
        "gridded": _Source(water.gridded, "gridded files"),
        "woa": _Source(water.woa, _WOA),
        "mooring": _Source(water.mooring, "a mooring"),
        "argopy": _Source(water.argopy, _ARGO),
        "copernicus": _Source(
            water.copernicus, "GLORYS12, doi:10.48670/moi-00021; Copernicus Marine Service licence"
        ),
    },
    "waves": {"era5": _Source(waves.era5, _ERA5), "cds": _Source(waves.cds, _ERA5)},
    "tides": {"pytmd": _Source(tides.pytmd, "an atlas of tides, by pyTMD")},
}
# Default sources: the first folder with one of these names in --data, else the service.
_FOLDERS = {"depth": ("gebco", "etopo"), "weather": ("era5",), "water": ("argo", "gridded", "woa")}
_SERVICES = {"weather": "cds", "water": "copernicus"}
_FORTNIGHT = 14.0 * 86400.0  # [s]; shorter runs are saved every hour


def site(
    output: Path,
    latitude: float,
    longitude: float,
    start: str,
    stop: str,
    name: str | None,
    data: Path | None,
    column: float,
    radius: float,
    settings: Sequence[str],
    *,
    no_run: bool,
    overwrite: bool,
    **chosen: str | None,
) -> None:
    """See `commands.site`; `chosen` maps each kind of input to the text of its option, if any."""
    first, last = _time("start", start), _time("stop", stop)
    if first >= last:
        raise ConfigError(f"--stop {stop}: expected a time after {start}, got none; correct it.")
    name = name or output.absolute().name or "site"
    place = Site(name, latitude, longitude, first, last, output, column, radius)
    specified = {kind: chosen[kind] or _by_default(kind, data) for kind in _SOURCES}
    sources = {kind: _source(kind, text) for kind, text in specified.items() if text}
    if "depth" not in sources:
        raise ConfigError("site: expected --depth, got none; give metres, or a grid: gebco:FILE.")
    config = output / "site.yaml"
    outputs = [config, output / "inputs.png", output / "site.nc"]
    outputs += [output / f"{kind}.nc" for kind in ("water", "waves", "tides") if kind in sources]
    inputs = [Path(where).expanduser() for _, where in sources.values() if where]
    check_outputs(outputs, overwrite=overwrite, inputs=inputs)
    echo(f"{name}: {place_in_words(latitude, longitude)}, {first} to {last}")
    case: Section = {}
    head = f"# {session.command_line()}\n"
    for kind, (source, where) in sources.items():
        reference = f"{kind}: {specified[kind]}, {source.reference}"
        echo(reference)
        head += f"# {reference}\n"
        keys = source.fetch(place, where)
        if "interior" in keys:
            keys["interior"] = case.get("interior", {}) | keys["interior"]
        case |= keys
    document = with_overrides(Document(_configuration(place, case), {}, str(config)), settings)
    output.mkdir(parents=True, exist_ok=True)
    write_text(config, head + yaml_text(document.data))
    session.report_written(sorted(output.glob("*.nc")))
    check(config, figures=output, overwrite=overwrite)
    if not no_run:
        run(config, [f"output.folder={json.dumps(str(output))}"], overwrite=True)


def _time(option: str, text: str) -> datetime.datetime:
    try:
        return start_of_case(text)
    except ValueError as error:
        raise ConfigError(str(error).replace("start_time", f"--{option}", 1)) from None


def _by_default(kind: str, data: Path | None) -> str | None:
    """Source of an input that was not chosen: a folder of the data, or a service."""
    if data is not None and not data.is_dir():
        raise ConfigError(f"--data {data}: expected a folder, got none; check the path.")
    for folder in _FOLDERS.get(kind, ()):
        if data is not None and (data / folder).is_dir():
            return f"{folder}:{data / folder}"
    return _SERVICES.get(kind)


def _source(kind: str, text: str) -> tuple[_Source, str]:
    """Split `NAME` or `NAME:WHERE` into the source and WHERE; a depth may be a number [m]."""
    if kind == "depth" and number_of(text) is not None:
        text = f"metres:{text}"
    (name, _, where), known = text.partition(":"), _SOURCES[kind]
    if name not in known:
        expected = f"NAME or NAME:WHERE, with a name among {', '.join(known)}"
        raise ConfigError(f"--{kind} {text}: expected {expected}; {closest(name, list(known))}.")
    return known[name], where


def _configuration(place: Site, case: Section) -> Section:
    """Return the configuration: k-epsilon, steps of ten minutes, surface cells of 0.4 m from 100 m depth."""
    interval = 3600.0 if place.duration <= _FORTNIGHT else 86400.0
    return {
        "case": {
            "format": "site",
            "name": place.name,
            **place.position,
            "start_time": place.start_time,
            "duration": place.duration,
            **case,
        },
        "grid": {
            "kind": "stretched",
            "n_cells": int(min(120, max(20, round(case["depth"] / 2.5)))),
            "surface_zoom": 2.0,
        },
        "model": {"closure": {"name": "k_epsilon", "options": {"internal_waves": "background_mixing"}}},
        "time": {"dt": 600.0, "output_interval": min(interval, place.duration)},
        "output": {"diagnostics": ["mixed_layer_depth", "heat_content"]},
    }
