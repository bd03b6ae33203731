"""What `tunax-lite site` does: choose sources, write the folder, run it."""

import datetime
import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from typer import Exit

from ...cli import session
from ...cli.check import draw_inputs
from ...cli.run import run
from ...cli.terminal import echo
from ...config import ConfigError, build_run, load_run
from ...io.dataset import write_dataset
from ...io.errors import FileFormatError
from ...io.protection import OverwriteError, check_removable, make_folder, note_made, text_mark
from ...io.series import start_of_case
from ...io.writing import claimed, file_name, replacing, replacing_folder, write_text
from ...io.yaml_file import read_document, with_overrides, yaml_text
from ...plausibility.inputs import inputs_of
from ...runtime.interrupts import advise
from ...runtime.machine import MissingPackageError
from .files import depth_given, number_in, rows_of
from .sources import KINDS, Kind, Origin, Place, as_mapping, chosen, merged

_CONFIG, _RESULT = "site.yaml", "site.nc"
# In a folder of data, by kind: what its own folders are called, the first there is taken.
_FOLDERS: dict[Kind, tuple[str, ...]] = {
    "weather": ("era5",),
    "water": ("argo", "gridded", "woa"),
    "depth": ("gebco", "etopo"),
    "waves": (),
    "tides": (),
}
_SERVICES: dict[Kind, str] = {"weather": "cds", "water": "thredds", "depth": "erddap"}
_NEEDED: tuple[Kind, ...] = ("weather", "water", "depth")
_SHORT = 14.0 * 86400.0  # [s], up to which a run is saved every hour


def site(
    output: Path,
    latitude: float | None,
    longitude: float | None,
    start: str | None,
    stop: str | None,
    name: str | None,
    sites: Path | None,
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
    one = {"name": name, "latitude": latitude, "longitude": longitude, "start": start, "stop": stop}
    rows = [one] if sites is None else list(_rows(sites, one))
    places = [_place(row, output, column, radius) for row in rows]
    folders = [output if sites is None else output / file_name(place.name) for place in places]
    if len(set(folders)) < len(folders):
        raise ConfigError(f"--sites {sites}: expected a name of its own for each site, got one twice.")
    wanted: dict[Kind, str] = {
        kind: text for kind in KINDS if (text := asked[kind] or _usual(kind, data)) is not None
    }
    for kind, text in wanted.items():
        if not _is_number(text):
            chosen(kind, text)
    failed = []
    for place, folder in zip(places, folders, strict=True):
        try:
            _one(place, folder, wanted, settings, draw=not no_run, overwrite=overwrite)
        except (ConfigError, FileFormatError, OSError, MissingPackageError) as error:
            if sites is None:
                raise
            echo(f"tunax-lite: error: {place.name}: {error}", err=True)
            failed.append(place.name)
    if failed:
        echo(f"{len(failed)} of {len(places)} sites failed: {', '.join(failed)}", err=True)
        raise Exit(session.FAILED)


def _rows(path: Path, common: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """The sites of a table; what it does not give is that of the options."""
    for at, row in rows_of(path, "a table of sites", ("name", "latitude", "longitude")):
        for key in ("latitude", "longitude"):
            number_in(path, at, row, key)
        yield {**common, **{key: text for key, text in row.items() if key in common}}


def _place(row: Mapping[str, Any], output: Path, column: float, radius: float) -> Place:  # text or numbers
    missing = [key for key in ("latitude", "longitude", "start", "stop") if row.get(key) is None]
    if missing:
        options = " and ".join(f"--{key}" for key in missing)
        raise ConfigError(f"site: expected {options}, got none; add them, or columns of --sites.")
    north, east = float(row["latitude"]), float(row["longitude"])
    if not (-90.0 <= north <= 90.0 and -360.0 <= east <= 360.0):
        raise ConfigError(
            f"{row['name']}: expected a latitude and a longitude, got {north:g}, {east:g}; correct it."
        )
    moments = []
    for key in ("start", "stop"):
        try:
            moments.append(start_of_case(str(row[key])))
        except ValueError as error:
            raise ConfigError(
                f"--{key} {row[key]}: expected an ISO 8601 time, got another text; {error}"
            ) from None
    if moments[0] >= moments[1]:
        raise ConfigError(
            f"--stop {row['stop']}: expected a time after {row['start']}, got none; correct it."
        )
    name = str(row["name"] or output.absolute().name or "site")
    return Place(name, north, east, *moments, column=column, radius=radius)


def _usual(kind: Kind, data: Path | None) -> str | None:
    """The source of a kind that was not chosen: a folder of the data, or a service for what a run needs."""
    if data is not None:
        if not data.is_dir():
            raise ConfigError(f"--data {data}: expected a folder, got none; check the path.")
        for folder in _FOLDERS[kind]:
            if (data / folder).is_dir():
                return f"{folder}:{data / folder}"
    return _SERVICES.get(kind)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+]?[\d.]+(e\d+)?", text) is not None


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
    _check_free(folder, overwrite)
    with claimed(folder):
        echo(f"{place.name}: {place.latitude:g} N, {place.longitude:g} E, {place.start} to {place.stop}")
        case, files, origins = _fetched(place, wanted)
        with replacing_folder(folder) as made:
            make_folder(made)
            _write(place, case, files, origins, made)
            _check(place, made, settings, draw)
        for path in folder.iterdir():
            note_made(path)
    session.report_written(sorted(path for path in folder.iterdir() if path.suffix))
    if not draw:
        return
    advise(f"The inputs in {folder} are complete: tunax-lite run {folder / _CONFIG}")
    nothing = dict.fromkeys(("output", "variables", "restart", "parameters"))
    others = {"frame": -1, "ignore_unsupported": False, "strict": False, "overwrite": True}
    run(folder / _CONFIG, [f"output.folder={json.dumps(str(folder))}"], **nothing, **others)
    _mark_origin(folder / _RESULT, origins)


def _check_free(folder: Path, overwrite: bool) -> None:
    """Only a folder of this command is replaced, and only on request."""
    check_removable(folder)
    if folder.is_dir() and any(folder.iterdir()) and not overwrite:
        expected, advice = (
            "no folder, or an empty one",
            "add --overwrite to replace it, or choose another output",
        )
        raise OverwriteError(folder, expected, "an earlier site", advice)


def _fetched(
    place: Place, wanted: Mapping[Kind, str]
) -> tuple[dict[str, Any], dict[str, Any], list[Origin]]:  # keys of a case, datasets
    """What all sources give, depth first: it says how deep the others are needed."""
    case: dict[str, Any] = {}  # as in a configuration
    files: dict[str, Any] = {}  # datasets
    origins = []
    for kind in sorted(wanted, key=lambda one: one != "depth"):
        if kind == "depth" and _is_number(wanted[kind]):
            found = depth_given(place, wanted[kind])
            origin = Origin("depth", "given", "depth given by the user", "", "", notes=found.notes)
        else:
            source, where = chosen(kind, wanted[kind])
            echo(f"{kind}: {source.title}{where and f', {where}'}")
            found, origin = source.ask(place, where)
        session.say_notes(found.notes)
        case, origins = merged(case, found.case), [*origins, origin]
        files |= found.files
    for dataset in files.values():
        dataset.attrs["Conventions"] = "CF-1.11"
    return case, files, origins


def _write(
    place: Place,
    case: dict[str, Any],  # as in a configuration
    files: Mapping[str, Any],  # datasets
    origins: Sequence[Origin],
    folder: Path,
) -> None:
    """Inputs with their origin, the configuration, and the page."""
    by_kind = {origin.kind: origin for origin in origins}
    for name, dataset in files.items():
        origin = by_kind[re.split(r"[_.]", name)[0]]
        told = {"title": origin.title, "license": origin.licence, "references": origin.citation}
        dataset.attrs |= {key: text for key, text in told.items() if text}
        dataset.attrs |= {
            "source": json.dumps(as_mapping(origin)),
            "history": f"{origin.date} {session.command_line()}",
        }
        write_dataset(dataset, folder / name)
    write_text(folder / _CONFIG, yaml_text(_configuration(place, case)))
    write_text(folder / "origin.json", json.dumps([as_mapping(one) for one in origins], indent=1))
    write_text(folder / "README.md", _readme(place, case, origins))


def _head(place: Place) -> str:
    return f"# {place.name}, by tunax-lite site; README.md says what comes from where.\n"


def _configuration(place: Place, case: Mapping[str, Any]) -> dict[str, Any]:  # as in a file
    """The run: a stretched grid of about 1 m at the surface, k-epsilon, steps of ten minutes."""
    identity = {"format": "site", "name": place.name, **place.position}
    times = {"start_time": place.start_time, "duration": place.duration}
    n_cells = int(min(120, max(20, round(case["depth"] / 2.5))))
    step = 600.0
    interval = 3600.0 if place.duration <= _SHORT else 86400.0
    return {
        "case": {**identity, **times, **case},
        "grid": {"kind": "stretched", "n_cells": n_cells, "surface_zoom": 2.0},
        "model": {"closure": {"name": "k_epsilon", "options": {"internal_waves": "background_mixing"}}},
        "time": {"step": step, "output_interval": min(interval, place.duration)},
        "output": {"diagnostics": ["mixed_layer_depth", "heat_content"]},
    }


def _check(place: Place, folder: Path, settings: Sequence[str], draw: bool) -> None:
    """Build the run from the files as written, say what looks unlikely, and draw the inputs."""
    path, temporary = folder / _CONFIG, f"{folder}/"
    try:
        document = with_overrides(read_document(path), settings)
        write_text(path, _head(place) + yaml_text(document.data))
        loaded = load_run(path)
        with session.precision(loaded):
            built = build_run(loaded)
            session.say_notes(dict.fromkeys(note.replace(temporary, "") for note in built.notes))
            if draw:
                inputs, case = inputs_of(built.case, built.observations), built.case
                draw_inputs(inputs, folder / "inputs.png", case.name, case.start_time, overwrite=True)
    except (ConfigError, FileFormatError) as error:
        error.args = (str(error).replace(temporary, ""),)  # the folder is gone when it is read
        raise


def _mark_origin(path: Path, origins: Sequence[Origin]) -> None:
    """Add the origin of the inputs to the file of a run."""
    import netCDF4  # takes long

    with replacing(path) as temporary:
        shutil.copyfile(path, temporary)
        with netCDF4.Dataset(temporary, "a") as file:
            file.setncattr("origin_of_inputs", json.dumps([as_mapping(one) for one in origins]))


def _readme(place: Place, case: Mapping[str, Any], origins: Sequence[Origin]) -> str:  # keys of a case
    """The page of a site."""
    lines = [
        f"<!-- {text_mark(Path('README.md'))}site {place.name} -->",
        f"# {place.name}",
        "",
        f"{place.latitude:g} degrees north, {place.longitude:g} degrees east, {place.start} to {place.stop} "
        f"UTC, a column of {case['depth']:g} m. Written by `{session.command_line()}` on "
        f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}.",
        "",
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
        "## Origin",
        "",
        "| input | from | licence | read on |",
        "| --- | --- | --- | --- |",
    ]
    lines += [f"| {o.kind} | {o.title} | {o.licence or '-'} | {o.date or '-'} |" for o in origins]
    for origin in origins:
        lines += ["", f"### {origin.kind.capitalize()}", ""]
        lines += [f"Cite: {origin.citation}", ""] if origin.citation else []
        lines += [f"- {note}" for note in origin.notes]
        shown = list(origin.places.items())[:20]
        lines += [f"- `{where}`{digest and f', SHA-256 {digest[:16]}...'}" for where, digest in shown]
        lines += [f"- and {len(origin.places) - 20} more in `origin.json`"] if len(origin.places) > 20 else []
    return "\n".join(lines) + "\n"
