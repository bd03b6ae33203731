"""A map: every point of a region is a place, whose inputs are put together for `tunax-lite map`.

Each point asks the sources of a site, so that the formats, the checks and the conversions are the same.
"""

import contextlib
import dataclasses
import io
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...air_sea import BulkForcing
from ...air_sea.air import HumidityMeasure
from ...air_sea.bulk_forcing import HUMIDITY_QUANTITIES
from ...cli import session
from ...cli.application import work_of
from ...cli.check import Page
from ...cli.evaluate import plot
from ...cli.progress import fraction_of
from ...cli.terminal import echo
from ...config import ConfigError, build_run, load_any, load_run
from ...config.formats import kind_of
from ...io.axes import place_in_words
from ...io.dataset import attributes_of, write_dataset
from ...io.errors import FileFormatError
from ...io.writing import write_text
from ...io.yaml_file import read_document, with_overrides, yaml_text
from .files import LEVELS
from .folders import (
    check_settings,
    configuration,
    head_of,
    new_folder,
    origin_lines,
    write_inputs,
    write_page,
)
from .sources import Found, Kind, Origin, Place, ask, merged

if TYPE_CHECKING:
    import xarray as xr

_CONFIG, _STORE = "map.yaml", "ocean.zarr"
_KINDS: tuple[Kind, ...] = ("depth", "weather", "water")
_STEP = 1800.0  # [s]
_WEATHER = "wind_u", "wind_v", "air_temperature", "humidity", "shortwave", "longwave"
_DIMS = ("latitude", "longitude")


@dataclasses.dataclass(frozen=True)
class Region:
    """The points of a map.

    Args:
        of: what they have in common.
        latitudes, longitudes: of the points [degrees].
    """

    of: Place
    latitudes: tuple[float, ...]
    longitudes: tuple[float, ...]

    @classmethod
    def between(
        cls, of: Place, latitude: tuple[float, float], longitude: tuple[float, float], every: float
    ) -> "Region":
        """Cells of a size between edges [degrees], with a point in the middle of each.

        Raises:
            ConfigError: edges that do not increase, lie beyond a pole, or are no multiple of the size apart.
        """
        found = []
        for name, (first, last), least in (("latitude", latitude, -90.0), ("longitude", longitude, -360.0)):
            n = round((last - first) / every) if every > 0.0 else 0
            inside = least <= first < last <= min(-least, first + 360.0)
            if not inside or n < 1 or abs(last - first - n * every) > 1e-6 * every:
                expected = f"edges that increase and are a multiple of {every:g} degrees apart"
                raise ConfigError(
                    f"--{name} {first:g}:{last:g}: expected {expected}, got others; change one."
                )
            found.append(tuple((first + every * (np.arange(n) + 0.5)).tolist()))
        return cls(of, *found)

    def places(self) -> list[Place]:
        """All points, from south to north, and in these from west to east."""
        around = self.latitudes, self.longitudes
        return [
            dataclasses.replace(
                self.of, name=place_in_words(north, east), latitude=north, longitude=east, around=around
            )
            for north in self.latitudes
            for east in self.longitudes
        ]


class _Left(NamedTuple):
    """A point without an input: of which kind, and why."""

    place: Place
    kind: str
    reason: Exception


class _Point(NamedTuple):
    """What the sources gave for a point.

    Args:
        at: row and column on the grid.
        air_sea: how fluxes follow from the weather, as in a configuration.
        depth: of the column [m].
        time, weather, humidity: of the weather [s], its series by name, and the measure of its humidity.
        z: heights [m], upward, of `temperature` and `salinity` at the start.
    """

    at: tuple[int, int]
    air_sea: dict[str, Any]  # as in a configuration
    depth: float
    time: np.ndarray
    weather: dict[str, np.ndarray]
    humidity: HumidityMeasure
    z: np.ndarray
    temperature: np.ndarray
    salinity: np.ndarray


def write_map(
    region: Region,
    folder: Path,
    wanted: Mapping[Kind, str],
    settings: Sequence[str],
    *,
    draw: bool,
    overwrite: bool,
) -> None:
    """Write the folder of a map as a whole, then run it there."""
    if others := set(wanted) - set(_KINDS):
        expected, got = "weather, water and depth of a map", f"--{min(others)}"
        raise ConfigError(f"site: expected {expected}, got {got} as well; leave it out.")
    run_map = work_of("map")
    if run_map is None:
        raise ConfigError(
            "--every: expected the command `tunax-lite map`, got a package without; install it."
        )
    check_settings(settings, region.of, _configuration(region, 100.0, _WEATHER))
    with new_folder(folder, wanted.values(), overwrite=overwrite) as made:
        n_points = len(region.latitudes) * len(region.longitudes)
        echo(f"{region.of.name}: {n_points} points, {region.of.start} to {region.of.stop}")
        points, origins, left = _asked(region, wanted)
        files = _joined(region, points)
        write_inputs(files, origins, made)
        weather = list(map(str, files["weather.nc"].data_vars))
        deepest = max(point.depth for point in points)
        document = yaml_text(_configuration(region, deepest, weather, points[0].humidity, points[0].air_sea))
        write_text(made / _CONFIG, document)
        write_page(made, region.of.name, *_page(region, points, origins, left))
        _check(made, region.of.name, settings, draw)
    session.say_notes(_left_out(left))
    if not draw:
        return
    run_map(config=folder / _CONFIG, output=folder / _STORE, overwrite=True)
    plot([folder / _STORE], folder, [], None, overwrite=True)


def _asked(region: Region, wanted: Mapping[Kind, str]) -> tuple[list[_Point], list[Origin], list[_Left]]:
    """All points, those without an input apart."""
    points, left, places = [], list[_Left](), region.places()
    answers: dict[Kind, list[tuple[Found, Origin]]] = {kind: [] for kind in _KINDS}
    with fraction_of("points") as show, tempfile.TemporaryDirectory() as folder:
        for number, place in enumerate(places):
            found: dict[Kind, tuple[Found, Origin]] = {}
            try:
                for kind in _KINDS:
                    found[kind] = ask(place, kind, wanted[kind])
                at = divmod(number, len(region.longitudes))
                point = _built(place, [one for one, _ in found.values()], at, Path(folder))
            except (FileFormatError, ConfigError) as error:
                error.args = (str(error).replace(f"{folder}/", ""),)
                left.append(_Left(place, next((each for each in _KINDS if each not in found), "use"), error))
            else:
                points.append(point)
                for kind, answer in found.items():
                    answers[kind].append(answer)
            show((number + 1) / len(places), f"{place.name}")
    if not points:
        expected = f"{region.of.name}: expected a point with all inputs, got none of {len(left)}"
        error = left[0].reason
        error.args = ("\n".join([f"{expected}; choose other sources or points:", *_left_out(left)]),)
        raise error
    return points, [_common(several) for several in answers.values()], left


def _common(answers: Sequence[tuple[Found, Origin]]) -> Origin:
    """The origin of an input at all points: what was read for any, and notes that hold for each."""
    places = {where: digest for found, _ in answers for where, digest in found.places.items()}
    notes = [note for note in answers[0][0].notes if all(note in found.notes for found, _ in answers)]
    return dataclasses.replace(answers[0][1], places=places, notes=tuple(notes))


def _built(place: Place, found: Sequence[Found], at: tuple[int, int], folder: Path) -> _Point:
    """A point with its weather and the water at the start on levels of profiles, from files in a folder."""
    case: dict[str, Any] = {}  # as in a configuration
    for one in found:
        case = merged(case, one.case)
        for name, dataset in one.files.items():
            write_dataset(dataset, folder / name)
    document = configuration(place, case)
    between = 0.5 * (LEVELS[1:] + LEVELS[:-1])  # so that centers are levels
    faces = [0.0, *(float(z) for z in between if z > -case["depth"]), -case["depth"]]
    document["grid"] = {"kind": "faces", "z_face": faces[::-1]}
    path = folder / "site.yaml"
    write_text(path, yaml_text(document))
    loaded = load_run(path)
    with session.precision(loaded):
        built = build_run(loaded).case
        assert isinstance(built.forcing, BulkForcing)  # every source of weather makes one
        series, state = built.forcing.weather, built.initial_state
        weather = {name: np.asarray(one) for name, one in vars(series.values).items() if one is not None}
        water = (np.asarray(one) for one in (built.grid.z_center, state.temperature, state.salinity))
        time, humidity = np.asarray(series.time), built.forcing.humidity_measure
    return _Point(at, case.get("air_sea", {}), case["depth"], time, weather, humidity, *water)


def _joined(region: Region, points: Sequence[_Point]) -> "dict[str, xr.Dataset]":
    """Weather, water at the start, and depth on the grid, NaN at the points that are left out."""
    import xarray as xr

    shape, first = (len(region.latitudes), len(region.longitudes)), points[0]
    z = max(points, key=lambda one: one.depth).z

    def on_grid(values: Sequence[np.ndarray], kind: str = "f8") -> np.ndarray:
        found = np.full((*values[0].shape, *shape), np.nan, kind)
        for point, own in zip(points, values, strict=True):
            found[..., *point.at] = own
        return found

    weather, water = {}, {}
    for name in first.weather:
        quantity = HUMIDITY_QUANTITIES[first.humidity] if name == "humidity" else name
        values = on_grid([one.weather[name] for one in points], "f4")
        weather[name] = (("time", *_DIMS), values, attributes_of(quantity))
    for name, kind in (("temperature", "conservative_temperature"), ("salinity", "absolute_salinity")):
        values = on_grid([np.interp(z, one.z, getattr(one, name))[::-1] for one in points])
        told = attributes_of(name) | {"standard_name": f"sea_water_{kind}"}
        water[name] = (("depth", *_DIMS), values, told)
    floor = on_grid([np.asarray(one.depth) for one in points])
    axes = {
        name: (name, list(values), {"units": f"degrees_{letter}", "standard_name": name})
        for name, values, letter in zip(
            _DIMS, (region.latitudes, region.longitudes), ("north", "east"), strict=True
        )
    }
    down = {"units": "m", "positive": "down", "axis": "Z", "standard_name": "depth"}
    told = {"units": "m", "long_name": "depth of the column", "positive": "down"}
    return {
        "depth.nc": xr.Dataset({"floor": (_DIMS, floor, told)}, axes),
        "weather.nc": xr.Dataset(weather, axes | {"time": ("time", first.time, region.of.clock)}),
        "water.nc": xr.Dataset(water, axes | {"depth": ("depth", -z[::-1], down)}),
    }


def _configuration(
    region: Region,
    deepest: float,
    weather: Sequence[str],
    humidity: str = "relative",
    air_sea: Mapping[str, Any] | None = None,  # as in a file
) -> dict[str, Any]:  # as in a file
    """The map: columns of the points, with the grid and the closure of a site."""
    of_site = configuration(region.of, {"depth": deepest})
    own = lambda name, file: {"variable": name, "paths": file}  # noqa: E731
    section = {
        "start_time": region.of.start_time,
        "duration": region.of.duration,
        "reach": 0.0,  # a point has its own values, or is left out
        "temperature": own("temperature", "water.nc"),
        "salinity": own("salinity", "water.nc"),
        "depth": own("floor", "depth.nc"),
        "weather": {name: own(name, "weather.nc") for name in weather} | {"humidity_measure": humidity},
    }
    section |= {"air_sea": air_sea} if air_sea else {}
    variables = ["temperature", "salinity", "sea_surface_temperature", "mixed_layer_depth", "heat_content"]
    return {
        "map": section,
        "grid": of_site["grid"],
        "model": of_site["model"],
        "time": of_site["time"] | {"step": _STEP},
        "output": {"variables": variables},
    }


def _check(folder: Path, name: str, settings: Sequence[str], draw: bool) -> None:
    """What `tunax-lite check` does with the map from the files as written."""
    path, said = folder / _CONFIG, io.StringIO()
    document, loaded = with_overrides(read_document(path), settings), load_any(path, settings)
    write_text(path, head_of(name) + yaml_text(document.data))
    kind = kind_of(loaded.config)
    assert kind is not None  # it is a map
    with session.precision(loaded), contextlib.redirect_stdout(said):
        kind.check(loaded, None, Page(folder / "inputs.png" if draw else None, overwrite=True, title=name))
    echo(said.getvalue().replace(f"{folder}/", "").rstrip())


def _left_out(left: Sequence[_Left]) -> list[str]:
    """A sentence for each kind of input that points lack, with the reason of the first."""
    lines = []
    for kind in dict.fromkeys(one.kind for one in left):
        own = [one for one in left if one.kind == kind]
        names = ", ".join(one.place.name for one in own[:10])
        more = f" and {len(own) - 10} more" if len(own) > 10 else ""
        points = "1 point" if len(own) == 1 else f"{len(own)} points"
        lines.append(f"without {kind}: {points}, {names}{more}; the first: {own[0].reason}")
    return lines


def _page(
    region: Region, points: Sequence[_Point], origins: Sequence[Origin], left: Sequence[_Left]
) -> tuple[str, list[str]]:
    """What the page of a map says."""
    south, north, west, east = (
        *(region.latitudes[i] for i in (0, -1)),
        *(region.longitudes[i] for i in (0, -1)),
    )
    said = (
        f"{len(points)} columns at {len(region.latitudes)} x {len(region.longitudes)} points from {south:g} "
        f"to {north:g} degrees north and {west:g} to {east:g} degrees east, {region.of.start} to "
        f"{region.of.stop} UTC."
    )
    lines = [
        f"    tunax-lite check {_CONFIG}",
        f"    tunax-lite map {_CONFIG} --output {_STORE}",
        f"    tunax-lite plot {_STORE}",
        "",
        "| file | content |",
        "| --- | --- |",
        f"| `{_CONFIG}` | the configuration, to edit |",
        "| `weather.nc`, `water.nc`, `depth.nc` | weather during the run, water at its start and depth of "
        "the column at the points |",
        "| `inputs.png` | inputs of some columns |",
        f"| `{_STORE}`, `ocean_*.png` | the first run and its figures |",
        "| `origin.json` | this page for programs, with SHA-256 of what was read |",
        "",
        "A column at the sea floor has no friction there, and no column has tides.",
        "",
        *[f"- {sentence}" for sentence in _left_out(left)],
        *[""] * bool(left),
    ]
    return said, [*lines, *origin_lines(origins)]
