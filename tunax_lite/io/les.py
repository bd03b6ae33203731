"""Large-eddy simulations: horizontal averages of the LESbrary (JLD2) and of Legay et al. (NetCDF).

LESbrary (Oceananigans): every variable is a group `timeseries/<name>/<iteration>`; iterations sort as
integers, and other members of a group (`serialized`) are not data, nor are the halo cells at both ends of
some profiles. Kinematic fluxes are positive upward: an upward momentum flux is a stress on the water of
opposite sign. Processes beyond the column model (sponge layer, Stokes drift, forced tracers) are left out.
Source: Wagner et al. (2025), J. Adv. Model. Earth Syst. 17, e2024MS004522.

Legay et al.: variables without attributes, t [s], z [m] (cell centers, bottom first), b [m s-2], u and v [m
s-1]. Forcing and rotation are not in the file. The profiles of the wind-driven simulation
(256 cells in 600 m, 240 h) show:

- The column-mean buoyancy changes by -4.87e-9 m2 s-3, the same every day: the surface flux of the run, 5e-9
  m2 s-3, leaves the column (less the flux through the bottom), so it is negative here.
- The depth-integrated momentum rotates with f = 1e-4 s-1, and its hourly budget closes with a constant stress
  of (4.61e-4, -0.37e-4) +- 0.12e-4 m2 s-2: eastward, but 15 % above the 4e-4 m2 s-2 stated for the run. The
  default is the stated value; `stress_u` = 0.473 N m-2 closes the eastward budget.
- N² is initially 3.0e-6 s-2.

Source: Legay et al. (2025, preprint 2024), J. Adv. Model. Earth Syst. 17, e2024MS004243.
"""

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import constants
from .._types import warn_of_input
from ..column.case import Case
from ..column.observations import Observations
from ..physics.equation_of_state import LinearEquationOfState
from ..quantities import quantity_of
from ..runtime.memory import MOST_CELLS
from .axes import stem_of
from .case import case_from_dataset
from .errors import (
    FileFormatError,
    check_declared,
    check_increasing,
    check_possible,
    check_size,
    existing_file,
    name_of,
    names_its_file,
)
from .netcdf import read_netcdf
from .variables import array, error_in, listing, numbers_in, on_axes
from .yaml_file import NAMES

if TYPE_CHECKING:
    import xarray as xr

_File = Any  # of h5py, which is slow to import

_ASSUMED = {"thermal_expansion": 2e-4, "gravity": 9.80665}
_TEMPERATURE_OF_ZERO_BUOYANCY = 20.0
"""Constants that convert buoyancy [m s-2] to temperature [degC] in files that state none."""
_HEAT_PER_KELVIN = constants.REFERENCE_DENSITY * constants.HEAT_CAPACITY
"""Heat capacity of a volume of water [J m-3 K-1]."""
_KEYS = NAMES["lesbrary"]
_ABSORPTION = dict(infrared_fraction=0.6, infrared_depth=1.0, visible_depth=20.0)
"""Absorption of shortwave radiation in simulations of the LESbrary, which their files do not state."""
_STRESS, _BUOYANCY_FLUX, _CORIOLIS_PARAMETER = 4e-4, -5e-9, 1e-4
"""Stress, buoyancy flux and f of the wind-driven simulation of Legay et al. [m2 s-2, m2 s-3, s-1]."""
_NOT_LEGAY = "this is not the file of Legay et al. (2025)"


def _dataset(
    path: str,
    faces: np.ndarray,
    time: tuple[str, np.ndarray],
    profiles: Mapping[str, tuple[str, np.ndarray]],
    fluxes: Mapping[str, float],
    attributes: Mapping[str, Any],
) -> "xr.Dataset":
    """Build the dataset of `open_observations`; times [s] and profiles come with their keys in the file.

    Raises:
        FileFormatError: times that do not increase, or impossible values.
    """
    import xarray as xr  # takes long

    check_increasing(path, *time)
    dataset = xr.Dataset(
        coords={
            "time": array(path, time[0], ("time",), time[1], {"units": "s"}),
            "z": array(path, "z", ("z",), 0.5 * (faces[1:] + faces[:-1]), {"units": "m", "positive": "up"}),
            "z_lower": ("z", faces[:-1]),
            "z_upper": ("z", faces[1:]),
        },
        attrs={
            "reference_density": constants.REFERENCE_DENSITY,
            "heat_capacity": constants.HEAT_CAPACITY,
            "source": "large-eddy simulation",
            **attributes,
        },
    )
    for name, (key, values) in profiles.items():
        check_possible(path, key, name, values)
        dataset[name] = array(path, key, ("time", "z"), values, {"units": quantity_of(name).unit})
    for name, value in fluxes.items():
        quantity = quantity_of(name)
        check_possible(path, name, name, np.asarray(value))
        dataset[quantity.name] = array(path, name, (), np.asarray(value), {"units": quantity.unit})
    dataset.encoding["source"] = path
    return dataset


def _value(file: _File, key: object) -> Any:  # number, array, text or structure
    """Value of the HDF5 dataset at a name or reference; `None` if there is none."""
    import h5py  # takes long

    stored = file.get(key) if isinstance(key, str) else file[key]
    if not isinstance(stored, h5py.Dataset):
        return None
    block = math.prod(stored.chunks or ()) * stored.dtype.itemsize
    check_size(file.filename, str(key), max(stored.nbytes, block))
    value = stored[()]
    if isinstance(value, np.void) and "parent" in (value.dtype.names or ()):
        # A wrapped Julia array refers to its parent; that of a range has no values and is ignored.
        parent = value["parent"]
        return _value(file, parent) if isinstance(parent, h5py.Reference) else None
    return value


def _number(file: _File, *keys: str) -> float | None:
    """Number at the first key that holds one, else `None`; `FileFormatError` if it is not finite."""
    for key in keys:
        value = np.asarray(_value(file, key))
        if value.dtype.kind in "fiu" and value.size == 1:
            if not np.isfinite(value).all():
                got = str(float(value.item()))
                raise FileFormatError(file.filename, key, "a finite number", got, "repair the file")
            return float(value.item())
    return None


def _required(file: _File, *keys: str) -> float:
    """Like `_number`, but raises `FileFormatError` if no key holds a number."""
    if (value := _number(file, *keys)) is None:
        expected, advice = f"a number in {' or '.join(keys)}", "the file is of another kind, or incomplete"
        raise FileFormatError(file.filename, keys[0], expected, "none", advice)
    return value


def _cells(file: _File, key: str, n: int, n_halo: int) -> np.ndarray | None:
    """Read `n` numbers without their halo cells, if any; `None` if the key is missing.

    Raises:
        FileFormatError: a text, or another number of values.
    """
    if (stored := _value(file, key)) is None:
        return None
    values = np.ravel(stored)
    if values.dtype.kind not in "fiub" or values.size not in (n, n + 2 * n_halo):
        expected = f"{n} numbers, or {n + 2 * n_halo} with {n_halo} halo cells at each end"
        got, advice = f"{values.size} of type {values.dtype}", "the shape does not fit grid/Nz and grid/Hz"
        raise FileFormatError(file.filename, key, expected, got, advice)
    first = (values.size - n) // 2
    return values[first : first + n].astype(float)


def _halo_cells(file: _File) -> int:
    """Number of halo cells at each end of the column; 0 without `grid/Hz`."""
    return int(_number(file, "grid/Hz") or 0)


def _iterations(file: _File, key: str) -> list[str]:
    """Names of the iterations in a group, in numerical order; `FileFormatError` if there is no such group."""
    group = file.get(key)
    if not hasattr(group, "keys"):
        others = ", ".join([*file.get(key.rpartition("/")[0], file)][:8])
        advice = "this is no LESbrary file, or it is incomplete"
        raise FileFormatError(file.filename, key, "a group", f"only {others or 'an empty file'}", advice)
    return sorted((name for name in map(str, group) if name.isdecimal()), key=int)


def read_lesbrary(path, **options: Any) -> tuple[Case, Observations]:
    """Read the case and the horizontal averages of a large-eddy simulation; options as in `open_lesbrary`.

    Returns:
        The case on the grid of the file, starting at the first time, and the profiles of temperature at all
        times, also of u and v if the file has them.
    """
    return case_from_dataset(open_lesbrary(path, **options))


@names_its_file("a JLD2 file")
def open_lesbrary(path, *, thermal_expansion: float | None = None) -> "xr.Dataset":
    """Read a large-eddy simulation, a `*_statistics.jld2` file, as a dataset; see `open_observations`.

    Args:
        path: of the file.
        thermal_expansion: alpha [K-1], instead of that of the file; a file with buoyancy
            instead of temperature may have none, and 2e-4 is assumed, with a warning.

    Raises:
        FileFormatError: not a JLD2 file, or a key that is missing, of unexpected shape, not finite, or out of
            range.
    """
    import h5py  # takes long

    with h5py.File(existing_file(path), "r") as file:
        return _read(file, thermal_expansion)


def _read(file: _File, thermal_expansion: float | None) -> "xr.Dataset":
    """Read an open file; arguments and errors as in `open_lesbrary`."""
    path, faces = file.filename, _read_faces(file)
    iterations = _iterations(file, "timeseries/t")
    if len(iterations) < 2:
        got, advice = str(len(iterations)), "choose another file"
        raise FileFormatError(path, "timeseries/t", "at least two iterations", got, advice)
    time = np.array([_required(file, f"timeseries/t/{iteration}") for iteration in iterations])
    # The simulation accumulates its time steps: 172800.00000000003 s means two days.
    time = np.round(time - time[0], 6)
    expansion, gravity = _read_expansion(file, thermal_expansion)
    has_buoyancy = "timeseries/T" not in file and "timeseries/b" in file
    keys = {"temperature": "timeseries/b" if has_buoyancy else "timeseries/T"}
    keys |= {name: f"timeseries/{name}" for name in ("u", "v") if f"timeseries/{name}" in file}
    profiles = {name: _read_profiles(file, key, iterations, faces.size - 1) for name, key in keys.items()}
    if has_buoyancy:
        temperature = profiles["temperature"] / (gravity * expansion)
        profiles["temperature"] = _TEMPERATURE_OF_ZERO_BUOYANCY + temperature
    fluxes = _read_fluxes(file, gravity * expansion)
    rotation = _required(file, *_KEYS["coriolis_parameter"])
    check_declared(path, _KEYS["coriolis_parameter"][0], Case, "coriolis_parameter", rotation)
    key = "buoyancy/model/constant_salinity"
    salinity = 35.0 if (stated := _number(file, key)) is None else stated
    check_possible(path, key, "salinity", np.asarray(salinity))
    title = _value(file, "parameters/name")
    name = title.decode(errors="replace") if isinstance(title, bytes) else ""
    attributes = {
        "thermal_expansion": expansion,
        "gravity": gravity,
        "coriolis_parameter": rotation,
        "salinity": salinity,
        "case": name or stem_of(path).removesuffix("_instantaneous_statistics"),
        **(_ABSORPTION if "shortwave_flux" in fluxes else {}),
    }
    with_keys = {name: (keys[name], values) for name, values in profiles.items()}
    return _dataset(path, faces, ("timeseries/t", time), with_keys, fluxes, attributes)


def _read_faces(file: _File) -> np.ndarray:
    """Heights of the faces [m], bottom first."""
    n_cells = int(_required(file, "grid/Nz"))
    if not 3 <= n_cells <= MOST_CELLS:
        expected = "at least 3 cells" if n_cells < 3 else f"at most {MOST_CELLS} cells"
        raise FileFormatError(file.filename, "grid/Nz", expected, str(n_cells), "choose another file")
    n_halo = _halo_cells(file)
    options = ((key, _cells(file, key, n_cells + 1, n_halo)) for key in _KEYS["faces"])
    key, faces = next((pair for pair in options if pair[1] is not None), ("", None))
    if faces is None:
        key, length = "grid/Lz", _required(file, "grid/Lz", *_KEYS["faces"])
        faces = np.linspace(-length, 0.0, n_cells + 1)
    else:
        check_increasing(file.filename, key, faces)
    depth = -float(faces[0])
    if depth <= 0.0 or abs(faces[-1]) > 1e-6 * depth:
        expected, got = "faces from the bottom up to the surface at 0 m", f"{faces[0]:g} to {faces[-1]:g} m"
        raise FileFormatError(file.filename, key, expected, got, "heights are negative below the surface")
    thickness = np.diff(faces)
    # Heights in single precision are uniform only to round-off.
    if np.ptp(thickness) <= 1e-5 * thickness.mean():
        return np.linspace(-depth, 0.0, faces.size)
    return np.append(faces[:-1], 0.0)


def _read_profiles(file: _File, group: str, iterations: list[str], n_cells: int) -> np.ndarray:
    """Profiles over time, `(n_times, n_cells)`, in double precision."""
    _iterations(file, group)  # raises if there is no such group
    rows, n_halo = [], _halo_cells(file)
    for iteration in iterations:
        key = f"{group}/{iteration}"
        values = _cells(file, key, n_cells, n_halo)
        if values is None or not np.isfinite(values).all():
            got = "none"
            if values is not None:
                cell = int(np.argmin(np.isfinite(values)))
                got = f"{values[cell]} in cell {cell} (0 is the bottom)"
            advice = "the simulation blew up or stopped while it wrote, or the file is damaged"
            raise FileFormatError(file.filename, key, "finite values at all times", got, advice)
        rows.append(values)
    return np.stack(rows)


def _read_expansion(file: _File, thermal_expansion: float | None) -> tuple[float, float]:
    """Thermal expansion [K-1] and gravity [m s-2]; a file with buoyancy may lack them, with a warning."""
    read = _required if "timeseries/T" in file else _number
    expansion = read(file, *_KEYS["thermal_expansion"]) if thermal_expansion is None else thermal_expansion
    stated = {"thermal_expansion": expansion, "gravity": read(file, *_KEYS["gravity"])}
    values = {name: _ASSUMED[name] if value is None else value for name, value in stated.items()}
    for name, value in values.items():
        key = _KEYS[name][0]
        if value <= 0.0:
            raise FileFormatError(file.filename, key, "a positive number", f"{value:g}", "repair the file")
        check_declared(file.filename, key, LinearEquationOfState, name, value)
    if assumed := [f"{name} = {values[name]:g}" for name, value in stated.items() if value is None]:
        warn_of_input([f"{file.filename}: assumed to convert buoyancy: {', '.join(assumed)}"])
    return values["thermal_expansion"], values["gravity"]


def _read_fluxes(file: _File, buoyancy_per_kelvin: float) -> dict[str, float]:
    """Fluxes into the water, from kinematic ones that are positive upward."""
    temperature_flux = _number(file, *_KEYS["temperature_flux"])
    if temperature_flux is None:
        keys = _KEYS["buoyancy_flux"] + _KEYS["temperature_flux"]
        temperature_flux = _required(file, *keys) / buoyancy_per_kelvin
    stress_v = _number(file, "parameters/boundary_condition_v_top") or 0.0
    # Zero minus the number avoids negative zero where there is no flux.
    fluxes = {
        "stress_u": (0.0 - _required(file, *_KEYS["momentum_flux"])) * constants.REFERENCE_DENSITY,
        "stress_v": (0.0 - stress_v) * constants.REFERENCE_DENSITY,
        "heat_flux": (0.0 - temperature_flux) * _HEAT_PER_KELVIN,
    }
    if penetrating := _number(file, "parameters/penetrating_buoyancy_flux"):
        fluxes["shortwave_flux"] = -penetrating / buoyancy_per_kelvin * _HEAT_PER_KELVIN
    return fluxes


def read_legay(path, **options: Any) -> tuple[Case, Observations]:
    """Read the case on the grid of the file, and its profiles; options as in `open_legay`."""
    return case_from_dataset(open_legay(path, **options))


@names_its_file("the file of Legay et al.")
def open_legay(
    path, *, stress_u: float | None = None, surface_buoyancy_flux: float | None = None
) -> "xr.Dataset":
    """Read profiles as a dataset; see `open_observations`.

    Temperature follows from b = g alpha (T - T_0) with constants that the file does not state, with a
    warning.

    Args:
        path: `LES_windDominant_results.nc`, or a file with the same variables.
        stress_u: eastward stress on the water [N m-2]; by default that of the wind-driven simulation.
        surface_buoyancy_flux: downward surface buoyancy flux [m2 s-3], negative for cooling; by default that
            of the same simulation.

    Raises:
        FileFormatError: a variable that is missing, of unexpected shape, not finite or out of range, unequal
            cells, or another simulation, by the name of its file, without its forcing.
    """
    keys, name = ("t", "z", "b", "u", "v"), _name_of_legay(path)
    file = read_netcdf(path, only=keys)
    for key in keys:
        if key not in file or not np.isfinite(numbers_in(file[key])).all():
            got = "values that are not finite" if key in file else f"only {listing(file)}"
            raise error_in(file, key, "a variable with finite values", got, _NOT_LEGAY)
    z = numbers_in(file["z"]).ravel()
    spacing = np.ptp(z) / max(z.size - 1, 1)
    faces = np.linspace(-z.size * spacing, 0.0, z.size + 1)
    if z.size < 3 or not np.allclose(z, 0.5 * (faces[1:] + faces[:-1]), rtol=0.0, atol=1e-3 * spacing):
        expected = "centers of at least 3 equal cells up to the surface at 0 m, bottom first"
        got = f"{z.size} from {z[0]:g} to {z[-1]:g} m"
        raise error_in(file, "z", expected, got, f"{_NOT_LEGAY}; use a CF NetCDF with a mapping")
    for key, option, value in (
        ("b", "surface_buoyancy_flux", surface_buoyancy_flux),
        ("u", "stress_u", stress_u),
    ):
        if value is None and name.endswith("_dominant") and name != "legay_wind_dominant":
            expected = f"the forcing of {name}, which the file does not hold"
            raise error_in(file, key, expected, "none", f"give {option}")
    constants_of_water = {
        "thermal_expansion": _ASSUMED["thermal_expansion"],
        "reference_temperature": _TEMPERATURE_OF_ZERO_BUOYANCY,
    }
    assumed = ", ".join(f"{key} = {value:g}" for key, value in constants_of_water.items())
    warn_of_input([f"{path}: assumed to convert buoyancy: {assumed}"])
    buoyancy_per_kelvin = constants.GRAVITY * _ASSUMED["thermal_expansion"]
    flux = _BUOYANCY_FLUX if surface_buoyancy_flux is None else surface_buoyancy_flux
    fluxes = {
        "stress_u": _STRESS * constants.REFERENCE_DENSITY if stress_u is None else stress_u,
        "stress_v": 0.0,
        "heat_flux": flux / buoyancy_per_kelvin * _HEAT_PER_KELVIN,
    }
    dims = (*file["t"].dims, *file["z"].dims)
    arrays = {key: numbers_in(on_axes(file[key], dims, _NOT_LEGAY)) for key in ("b", "u", "v")}
    temperature = _TEMPERATURE_OF_ZERO_BUOYANCY + arrays["b"] / buoyancy_per_kelvin
    profiles = {"temperature": ("b", temperature), "u": ("u", arrays["u"]), "v": ("v", arrays["v"])}
    attributes = {
        **file.attrs,
        "gravity": constants.GRAVITY,
        **constants_of_water,
        "coriolis_parameter": _CORIOLIS_PARAMETER,
        "salinity": 35.0,
        "case": name,
    }
    time = numbers_in(file["t"])
    return _dataset(name_of(file), faces, ("t", time - time[0]), profiles, fluxes, attributes)


def _name_of_legay(path) -> str:
    """Name of the case: `legay_wind_dominant` for the file `LES_windDominant_results.nc`."""
    match = re.search(r"([A-Za-z]+?)_?dominant", stem_of(path), re.IGNORECASE)
    return f"legay_{match[1].lower()}_dominant" if match else f"legay_{stem_of(path)}"
