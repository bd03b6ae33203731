"""What `tunax-lite site` does: choose sources, write the folder, run it."""

import datetime
import functools
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...cli import session
from ...cli.check import draw_inputs
from ...cli.run import run
from ...cli.terminal import echo
from ...config import ConfigError, build_run, load_run
from ...io.axes import place_in_words
from ...io.errors import FileFormatError
from ...io.series import start_of_case
from ...io.writing import replacing, write_text
from ...io.yaml_file import read_document, with_overrides, yaml_text
from ...plausibility.inputs import inputs_of
from .folders import (
    check_settings,
    configuration,
    head_of,
    new_folder,
    origin_lines,
    write_inputs,
    write_page,
)
from .sources import KINDS, Kind, Origin, Place, as_mapping, ask, chosen, is_number, merged

_CONFIG, _RESULT = "site.yaml", "site.nc"
# In a folder of data, by kind: what its own folders are called, the first there is taken.
_FOLDERS: dict[Kind, tuple[str, ...]] = {
    "weather": ("era5",),
    "water": ("argo", "gridded", "woa"),
    "depth": ("gebco", "etopo"),
    "waves": (),
    "tides": (),
}
_SERVICES: dict[Kind, str] = {"weather": "cds", "water": "copernicus"}


def site(
    output: Path,
    latitude: str | None,
    longitude: str | None,
    start: str | None,
    stop: str | None,
    name: str | None,
    data: Path | None,
    weather: str | None,
    water: str | None,
    depth: str | None,
    waves: str | None,
    tides: str | None,
    column: float,
    radius: float,
    settings: Sequence[str],
    *,
    no_run: bool,
    overwrite: bool,
) -> None:
    """See `commands.site`."""
    asked: dict[Kind, str | None] = {
        "weather": weather,
        "water": water,
        "depth": depth,
        "waves": waves,
        "tides": tides,
    }
    usual: dict[Kind, str] = {kind: text for kind in KINDS if (text := _usual(kind, data)) is not None}
    sources = functools.partial(_chosen, asked, usual)
    one = {"name": name, "latitude": latitude, "longitude": longitude, "start": start, "stop": stop}
    common = {"column": column, "radius": radius}
    place, wanted = _all(lambda: _place(one, output, common), sources)
    if "depth" not in wanted:
        raise ConfigError("site: expected --depth, got none; give metres, or a grid: gebco:FILE.")
    check_settings(settings, place)
    _one(place, output, wanted, settings, draw=not no_run, overwrite=overwrite)


def _all(*checks: Callable[[], Any]) -> list[Any]:  # of any kind
    """Results of checks; all that fail are told in one message."""
    found, problems = [], []
    for check in checks:
        try:
            found.append(check())
        except ConfigError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError("\n".join(problems))
    return found


def _chosen(
    asked: Mapping[str, object] | Mapping[Kind, object], others: Mapping[Kind, str]
) -> dict[Kind, str]:
    """Sources by kind: those that are asked for, checked, else the others."""
    found: dict[Kind, str] = {
        kind: str(text) for kind in KINDS if (text := asked.get(kind) or others.get(kind)) is not None
    }
    _all(*(functools.partial(chosen, *each) for each in found.items() if not is_number(each[1])))
    return found


def _place(row: Mapping[str, Any], output: Path, common: Mapping[str, float]) -> Place:  # text or numbers
    missing = [key for key in ("latitude", "longitude", "start", "stop") if row.get(key) is None]
    if missing:
        options = " and ".join(f"--{key}" for key in missing)
        raise ConfigError(f"site: expected {options}, got none; add them.")
    position, times = _all(lambda: _position(row), lambda: _times(row))
    name = str(row["name"] or output.absolute().name or "site")
    return Place(name, *position, *times, **common)


def _position(row: Mapping[str, Any]) -> tuple[float, float]:  # text or numbers
    try:
        north, east = float(row["latitude"]), float(row["longitude"])
    except ValueError:
        north = east = float("nan")
    if not (-90.0 <= north <= 90.0 and -360.0 <= east <= 360.0):
        expected = "a latitude of -90 to 90 and a longitude of -360 to 360 degrees"
        got = f"{row['latitude']}, {row['longitude']}"
        raise ConfigError(f"{row['name'] or 'site'}: expected {expected}, got {got}; correct it.")
    return north, east


def _times(row: Mapping[str, Any]) -> list[datetime.datetime]:  # text or numbers
    moments = []
    for key in ("start", "stop"):
        try:
            moments.append(start_of_case(str(row[key])))
        except ValueError as error:
            raise ConfigError(str(error).replace("start_time", f"--{key}", 1)) from None
    if moments[0] >= moments[1]:
        raise ConfigError(
            f"--stop {row['stop']}: expected a time after {row['start']}, got none; correct it."
        )
    return moments


def _usual(kind: Kind, data: Path | None) -> str | None:
    """The source of a kind that was not chosen: a folder of the data, or a service for what a run needs."""
    if data is not None:
        if not data.is_dir():
            raise ConfigError(f"--data {data}: expected a folder, got none; check the path.")
        for folder in _FOLDERS[kind]:
            if (data / folder).is_dir():
                return f"{folder}:{data / folder}"
    return _SERVICES.get(kind)


def _one(
    place: Place,
    folder: Path,
    wanted: Mapping[Kind, str],
    settings: Sequence[str],
    *,
    draw: bool,
    overwrite: bool,
) -> None:
    """Write the folder of a site as a whole, then run it there."""
    with new_folder(folder, wanted.values(), overwrite=overwrite) as made:
        where = place_in_words(place.latitude, place.longitude)
        echo(f"{place.name}: {where}, {place.start} to {place.stop}")
        case, files, origins = _fetched(place, wanted)
        write_inputs(files, origins, made)
        write_text(made / _CONFIG, yaml_text(configuration(place, case)))
        write_page(made, place.name, *_page(place, case, origins))
        try:
            _check(place, made, settings, draw)
        except (ConfigError, FileFormatError) as error:
            for one in origins:
                files = f"{one.kind}.nc (from {', '.join(list(one.places)[:3])})"
                error.args = (str(error).replace(f"{one.kind}.nc", files),)
            raise
    if not draw:
        return
    run(folder / _CONFIG, [f"output.folder={json.dumps(str(folder))}"], overwrite=True)
    _mark_origin(folder / _RESULT, origins)


def _fetched(
    place: Place, wanted: Mapping[Kind, str]
) -> tuple[dict[str, Any], dict[str, Any], list[Origin]]:  # keys of a case, datasets
    """What all sources give, depth first: it says how deep the others are needed."""
    case: dict[str, Any] = {}  # as in a configuration
    files: dict[str, Any] = {}  # datasets
    origins, errors = [], []
    for kind in sorted(wanted, key=lambda one: one != "depth"):
        if not is_number(wanted[kind]):
            source, where = chosen(kind, wanted[kind])
            if errors and not source.is_local:
                continue  # nothing is downloaded for a run that cannot be
            echo(f"{kind}: {source.title}{where and f', {where}'}")
        try:
            found, origin = ask(place, kind, wanted[kind])
        except (ConfigError, FileFormatError, FileNotFoundError) as error:
            errors.append(error)
            continue
        session.say_notes(found.notes)
        case, origins = merged(case, found.case), [*origins, origin]
        files |= found.files
    if errors:
        errors[0].args = ("\n".join(map(str, errors)),)
        raise errors[0]
    return case, files, origins


def _check(place: Place, folder: Path, settings: Sequence[str], draw: bool) -> None:
    """Build the run from the files as written, say what looks unlikely, and draw the inputs."""
    path, temporary = folder / _CONFIG, f"{folder}/"
    document, loaded = with_overrides(read_document(path), settings), load_run(path, settings)
    write_text(path, head_of(place.name) + yaml_text(document.data))
    with session.precision(loaded):
        built = build_run(loaded)
        session.say_notes(dict.fromkeys(note.replace(temporary, "") for note in built.notes))
        if draw:
            inputs, case = inputs_of(built.case, built.observations), built.case
            draw_inputs(inputs, folder / "inputs.png", case.name, case.start_time, overwrite=True)


def _mark_origin(path: Path, origins: Sequence[Origin]) -> None:
    """Add the origin of the inputs to the file of a run."""
    import netCDF4  # takes long

    with replacing(path) as temporary:
        shutil.copyfile(path, temporary)
        with netCDF4.Dataset(temporary, "a") as file:
            file.setncattr("origin_of_inputs", json.dumps([as_mapping(one) for one in origins]))


def _page(
    place: Place,
    case: Mapping[str, Any],  # as in a configuration
    origins: Sequence[Origin],
) -> tuple[str, list[str]]:
    """What the page of a site says."""
    said = (
        f"{place_in_words(place.latitude, place.longitude)}, {place.start} to {place.stop} UTC, a column of "
        f"{case['depth']:g} m."
    )
    lines = [
        "    tunax-lite check site.yaml",
        "    tunax-lite run site.yaml",
        "",
        "| file | content |",
        "| --- | --- |",
        "| `site.yaml` | the configuration, to edit |",
        "| `weather*.nc`, `water.nc`, ... | inputs at the position, during the run |",
        "| `inputs.png` | the inputs over time, and the first profiles |",
        "| `site.nc`, `site_*.png` | the first run and its figures |",
        "| `origin.json` | this page for programs, with SHA-256 of what was read |",
        "",
    ]
    return said, [*lines, *origin_lines(origins)]
