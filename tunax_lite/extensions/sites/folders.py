"""Folders of sites: made as a whole, with inputs that tell their origin, and a page."""

import contextlib
import datetime
import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...cli import session
from ...config import ConfigError, load_any
from ...io.dataset import write_dataset
from ...io.errors import FileFormatError
from ...io.writing import OverwriteError, check_outputs, replacing_folder, write_text
from ...io.yaml_file import read_document, with_overrides, yaml_text
from .sources import Origin, Place, as_mapping

if TYPE_CHECKING:
    import xarray as xr

_ORIGIN = "origin.json"
_SHORT = 14.0 * 86400.0  # [s], up to which a run is saved every hour


def head_of(name: str) -> str:
    """The first line of a configuration."""
    return f"# {name}, by tunax-lite site; README.md says what comes from where.\n"


def configuration(place: Place, case: Mapping[str, Any]) -> dict[str, Any]:  # as in a file
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


_ANY_CASE = {
    "depth": 100.0,
    "temperature": 10.0,
    "salinity": 35.0,
    "weather": {
        "format": "constant",
        "wind_u": 5.0,
        "air_temperature": 10.0,
        "humidity": 80.0,
        "cloud_cover": 0.5,
    },
    "air_sea": {"shortwave": "clear_sky", "longwave": "clark"},
}
"""A case in place of what sources will give."""
_OF_SOURCES = [f"case.{key}" for key in (*_ANY_CASE, "observations", "initial", "interior")]
"""Keys whose settings may depend on it."""


def check_settings(settings: Sequence[str], place: Place) -> None:
    """Check settings before sources are asked, those of what they will give only as far as their form.

    Raises:
        ConfigError: a setting that no sources can make valid.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "site.yaml"
        write_text(path, yaml_text(configuration(place, _ANY_CASE)))
        try:
            with_overrides(read_document(path), settings)
            load_any(path, [one for one in settings if not re.match(rf"\s*({'|'.join(_OF_SOURCES)})\b", one)])
        except ConfigError as error:
            raise ConfigError(str(error).replace(f"{folder}/", "")) from error


@contextlib.contextmanager
def new_folder(folder: Path, sources: Iterable[str], *, overwrite: bool) -> Iterator[Path]:
    """A folder to fill, which takes its place when that is done; `sources` as in `--weather`."""
    if not folder.is_dir() or any(folder.iterdir()):
        inputs = [Path(path).expanduser() for source in sources if (path := source.partition(":")[2])]
        check_outputs([folder], overwrite=overwrite, inputs=inputs, folders=True)
        if folder.exists() and not (folder / _ORIGIN).is_file():
            raise OverwriteError(f"{folder} is not the folder of a site; choose another output.")
    with replacing_folder(folder) as made:
        made.mkdir(parents=True)
        try:
            yield made
        except (ConfigError, FileFormatError) as error:
            error.args = (str(error).replace(f"{made}/", ""),)  # the folder is gone when it is read
            raise
    session.report_written(sorted(path for path in folder.iterdir() if path.suffix))


def write_inputs(files: "Mapping[str, xr.Dataset]", origins: Sequence[Origin], folder: Path) -> None:
    """Inputs as NetCDF with their origin, and the origins for programs."""
    by_kind = {origin.kind: origin for origin in origins}
    for name, dataset in files.items():
        origin = by_kind[re.split(r"[_.]", name)[0]]
        told = {"title": origin.title, "license": origin.licence, "references": origin.citation}
        dataset.attrs |= {key: text for key, text in told.items() if text}
        dataset.attrs |= {
            "Conventions": "CF-1.11",
            "source": json.dumps(as_mapping(origin)),
            "history": f"{origin.date} {session.command_line()}",
        }
        write_dataset(dataset, folder / name)
    write_text(folder / _ORIGIN, json.dumps([as_mapping(one) for one in origins], indent=1))


def write_page(folder: Path, name: str, said: str, lines: Sequence[str]) -> None:
    """README.md with a title, and who wrote it when."""
    path = folder / "README.md"
    written = f"Written by `{session.command_line()}` on {datetime.datetime.now(datetime.UTC):%Y-%m-%d}."
    head = [f"# {name}", "", f"{said} {written}", ""]
    write_text(path, "\n".join([*head, *lines]) + "\n")


def origin_lines(origins: Sequence[Origin]) -> list[str]:
    """What comes from where."""
    lines = ["## Origin", "", "| input | from | licence | read on |", "| --- | --- | --- | --- |"]
    lines += [f"| {o.kind} | {o.title} | {o.licence or '-'} | {o.date or '-'} |" for o in origins]
    for origin in origins:
        lines += ["", f"### {origin.kind.capitalize()}", ""]
        lines += [f"Cite: {origin.citation}", ""] if origin.citation else []
        lines += [f"- {note}" for note in origin.notes]
        shown = list(origin.places.items())[:20]
        lines += [f"- `{where}`{digest and f', SHA-256 {digest[:16]}...'}" for where, digest in shown]
        lines += [f"- and {len(origin.places) - 20} more in `origin.json`"] if len(origin.places) > 20 else []
    return lines
