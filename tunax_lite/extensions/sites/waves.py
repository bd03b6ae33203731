"""Stokes drift and height of surface waves: ERA5 from files or the Climate Data Store."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...io.axes import read_at
from ...io.errors import FileFormatError
from ...io.times import joined, timed
from .place import Section, Site, netcdf_files
from .weather import download_era5

_NAMES = ("ust", "vst", "mwp", "swh", "mwd")
_VARIABLES = (
    "u_component_stokes_drift",
    "v_component_stokes_drift",
    "mean_wave_period",
    "significant_height_of_combined_wind_waves_and_swell",
)


def era5(place: Site, where: str) -> Section:
    """Write the waves of files of ERA5 at the position."""
    return _waves(place, netcdf_files(where, "--waves era5"))


def cds(place: Site, where: str) -> Section:
    """Write the waves of ERA5 from the Climate Data Store at the position; needs an account there."""
    return _waves(place, download_era5(place, "waves", _VARIABLES, margin=1.0))


def _waves(place: Site, paths: Sequence[Path]) -> Section:
    """Write the Stokes drift at the surface, from `ust` and `vst` or else `swh` and `mwd`, and its depth.

    The drift is that of a monochromatic wave in deep water of period T (`mwp`), with the energy of a sea of
    significant height H (an amplitude of H / sqrt(8)): u = pi^3 H^2 / (g T^3) at the surface, decaying over
    g T^2 / (8 pi^2). Source: Kenyon (1969), J. Geophys. Res. 74, 6991-6994.

    Raises:
        FileFormatError: files without these variables.
    """
    pieces: dict[str, list] = {}
    for path in paths:
        for variable, times in read_at(path, _NAMES, place.position):
            series = timed(variable, times, variable.values, place.start_time)
            pieces.setdefault(str(variable.name), []).append(series)
    has_drift = {"ust", "vst"} <= pieces.keys()
    if "mwp" not in pieces or not (has_drift or {"swh", "mwd"} <= pieces.keys()):
        expected, got = "mwp with ust and vst, or with swh and mwd", ", ".join(pieces) or "none"
        raise FileFormatError(paths[0], "mwp", expected, got, "download them")
    series = {name: joined(each, "give each hour once") for name, each in pieces.items()}
    time, period = series["mwp"]["time"].values, series["mwp"].values
    waves = {name: np.interp(time, each["time"].values, each.values) for name, each in series.items()}
    if has_drift:
        u, v = waves["ust"], waves["vst"]
    else:
        speed, direction = np.pi**3 * waves["swh"] ** 2 / (9.81 * period**3), np.deg2rad(waves["mwd"])
        u, v = -speed * np.sin(direction), -speed * np.cos(direction)  # waves come from `mwd`
    decay_depth = 9.81 * period**2 / (8.0 * np.pi**2)
    values = {"time": ("s", time), "u": ("m s-1", u), "v": ("m s-1", v), "decay_depth": ("m", decay_depth)}
    inputs = {name: {"path": "waves.nc", "variable": name} for name in ("u", "v", "decay_depth")}
    interior: Section = {"stokes_drift": {"kind": "exponential", **inputs}}
    if "swh" in waves:
        values["height"] = ("m", waves["swh"])
        interior["wave_height"] = {"path": "waves.nc", "variable": "height"}
    place.write_series("waves.nc", values)
    return {"interior": interior}
