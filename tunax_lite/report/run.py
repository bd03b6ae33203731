"""The page about a run: profiles and sections of all variables, with a slider of time."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
from matplotlib.colors import LogNorm

from .._types import JSON
from ..column.trajectory import Trajectory
from ..io.errors import FileFormatError, names_its_file
from ..io.netcdf import read_contents
from ..io.protection import note_input, text_mark
from ..io.runs import read_trajectory
from ..io.writing import write_text
from ..plotting import in_words, style
from ..plotting.runs import MixedLayer
from ..quantities import QUANTITIES
from .page import Origin, page

_MOST_VALUES, _MOST_FRAMES, _FEWEST_FRAMES = 1_500_000, 600, 50  # shown of a long run, evenly spaced
_MISSING = 65535  # of values in sixteen bits
_COLOURS = 64


@names_its_file("the results of `tunax-lite run`")
def write_run_report(file: str | Path, path: str | Path) -> Path:
    """Write the page about the NetCDF file of a run of one column, complete or not at all.

    Raises `FileNotFoundError`, or `FileFormatError` for a file of another kind.
    """
    note_input(file)
    found = read_contents(file, only=()).attrs
    if "closure_state" not in found:
        raise FileFormatError(
            file, "file", "the results of `tunax-lite run`", "one of another kind", "name such a file"
        )
    with jax.enable_x64(True):  # otherwise double precision would be cut on reading
        trajectory = read_trajectory(file)
    attributes = {name: str(value) for name, value in found.items()}
    text = render_run(trajectory, attributes, text_mark(path))
    write_text(path, text)
    return Path(path)


def render_run(trajectory: Trajectory, attributes: dict[str, str], mark: str = "") -> str:
    """The page as text; `attributes` are those of the file, `mark` what its head says of its origin.

    A run of more than 600 frames, or 1.5 million values, is shown at fewer times. A batch of columns is a
    `ValueError`.
    """
    fields = style.fields_of(trajectory)
    n_values = sum(values.shape[1] for _, values in fields.values())
    n_frames = min(trajectory.n_frames, _MOST_FRAMES, max(_FEWEST_FRAMES, _MOST_VALUES // n_values))
    frames = np.unique(np.linspace(0, trajectory.n_frames - 1, n_frames).round().astype(int))
    seconds = np.asarray(trajectory.time, dtype=float)[frames]
    axis = style.FigureTime(float(seconds[-1]), attributes.get("start_time") or None)
    layer = MixedLayer(trajectory)
    shown = {
        "times": [axis.moment(float(second)) for second in seconds],
        "seconds": seconds.tolist(),
        "depth": float(-np.min(trajectory.grid.z_face)),
        "layer": {
            "label": layer.label,
            "depths": [
                float(f"{depth:.5g}") if np.isfinite(depth) else None
                for depth in layer.of_run(trajectory)[frames]
            ],
        },
        "fields": list(_fields(fields, frames)),
    }
    case = in_words(attributes.get("tunax_lite_case") or "a run")
    closure = json.loads(attributes.get("tunax_lite_closure") or "{}").get("", "")
    return page(
        "run.html",
        Origin.of("Computed", attributes),
        mark=mark,
        title=f"Run of {case}",
        name=closure,
        parameters=json.loads(attributes.get("tunax_lite_parameters") or "{}"),
        n_frames=(len(frames), trajectory.n_frames),
        layer=layer.label,
        shown=json.dumps(shown).replace("<", "\\u003c"),
    )


def _fields(fields: dict[str, tuple[np.ndarray, np.ndarray]], frames: np.ndarray) -> Iterator[JSON]:
    """Of each variable that varies its name, unit, heights, colours, and values in sixteen bits."""
    for name, (height, values) in fields.items():
        if np.ptp(values) <= 1e-12 * np.abs(values).max():
            continue
        colours, values = style.colours_of(name, values), values[frames]
        norm, is_logarithmic = colours["norm"], isinstance(colours["norm"], LogNorm)
        if is_logarithmic:
            values = np.log10(np.where(values > 0.0, np.maximum(values, norm.vmin), np.nan))
        known = values[np.isfinite(values)]
        ends = (norm.vmin, norm.vmax) if norm.vmin is not None and not is_logarithmic else ()
        low, high = map(float, ends or (known.min(), known.max()))
        scaled = np.nan_to_num((values - low) / ((high - low) or 1.0) * (_MISSING - 1), nan=_MISSING)
        rgb = style.colour_map(colours["cmap"].name)(np.linspace(0.0, 1.0, _COLOURS))[:, :3]
        yield {
            "label": style.long_name(name),
            "unit": QUANTITIES[name].unit.replace("degC", "°C") if name in QUANTITIES else "",
            "is_state": name in style.STATE,
            "is_logarithmic": is_logarithmic,
            "low": low,
            "high": high,
            "z": [float(f"{z:.6g}") for z in height],
            "colours": (255.0 * rgb).round().astype(int).tolist(),
            "values": base64.b64encode(scaled.round().astype("<u2").tobytes()).decode(),
        }
