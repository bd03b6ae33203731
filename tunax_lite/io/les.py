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
  default is the stated value; pass the other to close the budget of the file.
- N² is initially 3.0e-6 s-2.

Source: Legay et al. (2025, preprint 2024), J. Adv. Model. Earth Syst. 17, e2024MS004243.
"""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import constants
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
    check_names,
    check_possible,
    check_size,
    existing_file,
    name_of,
    names_its_file,
)
from .netcdf import read_netcdf
from .units import Conversions
from .variables import array, error_in, in_unit, listing, numbers_in
from .yaml_file import NAMES

if TYPE_CHECKING:
    import xarray as xr

# For files with a buoyancy tracer, where the temperature is buoyancy in other units.
_GRAVITY, _THERMAL_EXPANSION, _TEMPERATURE_OF_ZERO_BUOYANCY = 9.80665, 2e-4, 20.0
_CONSTANTS = {"reference_density": constants.REFERENCE_DENSITY, "heat_capacity": constants.HEAT_CAPACITY}
_KEYS = NAMES["lesbrary"]
_KINEMATIC = dict(stress_u="m2 s-2", stress_v="m2 s-2", heat_flux="K m s-1", shortwave_flux="K m s-1")
"""Units of the fluxes in a file of the LESbrary, by name."""
_PROFILES = dict(temperature="degC", u="m s-1", v="m s-1")
_ABSORPTION = dict(infrared_fraction=0.6, infrared_depth=1.0, visible_depth=20.0)
"""Simulations with shortwave heating do not store their absorption; these are its constants."""
_STRESS, _BUOYANCY_FLUX = 4e-4, -5e-9
"""Of the wind-driven simulation of Legay et al. [m2 s-2, m2 s-3]."""
_NOT_LEGAY = "this is not the file of Legay et al."


class _Jld2:
    """An open JLD2 file (HDF5 written by Julia); its errors name file and key."""

    def __init__(self, path: Path, file: Any):  # of h5py, which is slow to import
        self.path, self._file = path, file
        self._n_halo = int(self.number("grid/Hz") or 0)

    def __contains__(self, key: str) -> bool:
        return key in self._file

    @property
    def name(self) -> str:
        """Name of the case."""
        name = self.value("parameters/name")
        name = name.decode(errors="replace") if isinstance(name, bytes) else ""
        return name or self.path.stem.removesuffix("_instantaneous_statistics")

    def error(self, key: str, expected: str, got: object, advice: str) -> FileFormatError:
        return FileFormatError(self.path, key, expected, str(got), advice)

    def value(self, key: object) -> Any:  # whatever the file holds
        """Values at a name or a reference."""
        import h5py  # takes long

        found = self._file.get(key) if isinstance(key, str) else self._file[key]
        if not isinstance(found, h5py.Dataset):
            return None
        block = math.prod(found.chunks or ()) * found.dtype.itemsize
        check_size(self.path, str(key), max(found.nbytes, block))
        value = found[()]
        if isinstance(value, np.void) and "parent" in (value.dtype.names or ()):
            # A wrapped Julia array refers to its parent; a range is stored as its parameters.
            parent = value["parent"]
            return self.value(parent) if isinstance(parent, h5py.Reference) else None
        return value

    def number(self, *keys: str) -> float | None:
        """The first key that holds one finite number; Julia's `nothing` is skipped."""
        for key in keys:
            value = np.asarray(self.value(key))
            if value.dtype.kind in "fiu" and value.size == 1:
                if not np.isfinite(value).all():
                    raise self.error(key, "a finite number", float(value.ravel()[0]), "repair the file")
                return float(value.ravel()[0])
        return None

    def required(self, *keys: str) -> float:
        """The first key that holds one finite number, of which there must be one."""
        value = self.number(*keys)
        if value is None:
            elsewhere = f" there or in {', '.join(keys[1:])}" if keys[1:] else ""
            advice = "the file is of an unknown generation, or incomplete"
            raise self.error(keys[0], f"a number{elsewhere}", "none", advice)
        return value

    def array(self, key: str) -> np.ndarray | None:
        """Numbers along one axis in double precision, or `None` without such a key."""
        expected = "an array of numbers"
        try:
            value = self.value(key)
        except FileFormatError:
            raise
        except Exception as error:
            raise self.error(key, expected, f"'{error}'", "the file is damaged or incomplete") from error
        if value is not None and np.asarray(value).dtype.kind not in "fiub":
            raise self.error(key, expected, f"type {np.asarray(value).dtype}", "choose another file")
        return None if value is None else np.asarray(value, dtype=float).ravel()

    def cells(self, key: str, n: int) -> np.ndarray | None:
        """An array of `n` values, without halo cells."""
        values, n_halo = self.array(key), self._n_halo
        if values is None or values.size == n:
            return values
        if values.size != n + 2 * n_halo:
            expected = f"{n} values, or {n + 2 * n_halo} with {n_halo} halo cells at each end"
            raise self.error(key, expected, values.size, "the shape does not fit grid/Nz and grid/Hz")
        return values[n_halo : n_halo + n]

    def iterations(self, key: str) -> list[str]:
        """Names of the iterations in a group, in numerical order."""
        group, above = self._file.get(key), self._file.get(key.rpartition("/")[0])
        if not hasattr(group, "keys"):
            known = list(above if hasattr(above, "keys") else self._file)
            got = f"none beside {', '.join(known[:8]) or 'nothing'}"
            raise self.error(key, "a group", got, "this is no LESbrary file, or it is incomplete")
        names = sorted((name for name in map(str, group) if name.isdecimal()), key=int)
        for one, other in zip(names, names[1:], strict=False):
            if int(one) == int(other):
                raise self.error(key, "every iteration once", f"both {one} and {other}", "remove one of them")
        return names


def read_lesbrary(path, **options: Any) -> tuple[Case, Observations]:
    """Read the case and the horizontal averages of a large-eddy simulation; options as in `open_lesbrary`.

    Returns:
        The case on the grid of the file, and the profiles of temperature, u and v at all times, from the
        first of which the case starts.
    """
    return case_from_dataset(open_lesbrary(path, **options))


@names_its_file("a JLD2 file")
def open_lesbrary(
    path, *, thermal_expansion: float | None = None, units: Conversions | None = None
) -> "xr.Dataset":
    """Read a large-eddy simulation, a `*_statistics.jld2` file, as a dataset; see `open_observations`.

    Args:
        path: of the file.
        thermal_expansion: alpha [K-1], instead of that of the file; a file with buoyancy may have none, and
            2e-4 is assumed, with a note.
        units: units or conversions by the package's names of profiles and fluxes; fluxes are in their
            kinematic units, m2 s-2 and K m s-1, and count into the water once they are converted.

    Raises:
        FileFormatError: not a JLD2 file, or a key that is missing, of unexpected shape, not finite, or out of
            range.
    """
    import h5py  # takes long

    path, units = existing_file(path), dict(units or {})
    check_names("units", units, (*_PROFILES, *_KINEMATIC))
    with h5py.File(path, "r") as opened:
        return _read(_Jld2(path, opened), thermal_expansion, units)


@names_its_file("a JLD2 file")
def name_of_lesbrary(path) -> str:
    """Name of the case in a file, without reading its profiles."""
    import h5py  # takes long

    path = existing_file(path)
    with h5py.File(path, "r") as opened:
        return _Jld2(path, opened).name


def _read(file: _Jld2, given: float | None, units: Conversions) -> "xr.Dataset":
    faces = _read_faces(file)
    iterations = file.iterations("timeseries/t")
    if len(iterations) < 2:
        raise file.error("timeseries/t", "at least two iterations", len(iterations), "choose another file")
    time = np.array([file.required(f"timeseries/t/{iteration}") for iteration in iterations])
    check_increasing(file.path, "timeseries/t", time)
    expansion, gravity, notes = _read_expansion(file, given)
    names = {name: f"timeseries/{name}" for name in ("T", "u", "v") if f"timeseries/{name}" in file}
    if "T" not in names:
        names = {"T": "timeseries/b" if "timeseries/b" in file else "timeseries/T"} | names
    values = {name: _read_profiles(file, key, iterations, faces.size - 1) for name, key in names.items()}
    if names.get("T") == "timeseries/b":
        names["T"] += " (as temperature)"
        values["T"] = _TEMPERATURE_OF_ZERO_BUOYANCY + values["T"] / (gravity * expansion)
    stated = {"thermal_expansion": expansion, "gravity": gravity} | _CONSTANTS
    rotation = file.required(*_KEYS["coriolis_parameter"])
    check_declared(file.path, _KEYS["coriolis_parameter"][0], Case, "coriolis_parameter", rotation)
    fluxes = _read_fluxes(file, gravity * expansion)
    stated |= {"coriolis_parameter": rotation} | (_ABSORPTION if "shortwave_flux" in fluxes else {})
    salinity = file.number("buoyancy/model/constant_salinity")
    stated |= {} if salinity is None else {"salinity": salinity}
    return _dataset(
        file.path,
        file.name,
        # The simulation accumulates its time steps: 172800.00000000003 s means two days.
        np.round(time - time[0], 6),
        faces,
        {"temperature" if name == "T" else name: (names[name], one) for name, one in values.items()},
        {flux: (f"parameters ({flux})", value) for flux, value in fluxes.items()},
        stated,
        units,
        notes,
    )


def _read_faces(file: _Jld2) -> np.ndarray:
    """Heights of the faces [m], bottom first."""
    n_cells = int(file.required("grid/Nz"))
    if not 3 <= n_cells <= MOST_CELLS:
        expected = "at least 3 cells" if n_cells < 3 else f"at most {MOST_CELLS} cells"
        raise file.error("grid/Nz", expected, n_cells, "choose another file")
    key = next((key for key in _KEYS["faces"] if file.array(key) is not None), "")
    faces = file.cells(key, n_cells + 1) if key else None
    if faces is None:
        depth = file.required("grid/Lz", *_KEYS["faces"])
        if depth <= 0.0:
            raise file.error("grid/Lz", "a positive depth [m]", f"{depth:g}", "repair the file")
        return np.linspace(-depth, 0.0, n_cells + 1)
    check_increasing(file.path, key, faces)
    depth = -float(faces[0])
    if depth <= 0.0 or abs(faces[-1]) > 1e-6 * depth:
        expected, got = "faces from the bottom up to the surface at 0 m", f"{faces[0]:g} to {faces[-1]:g} m"
        raise file.error(key, expected, got, "heights are negative below the surface")
    thickness = np.diff(faces)
    # Heights in single precision are uniform only to round-off.
    if np.ptp(thickness) <= 1e-5 * thickness.mean():
        return np.linspace(-depth, 0.0, faces.size)
    return np.append(faces[:-1], 0.0)


def _read_profiles(file: _Jld2, group: str, iterations: list[str], n_cells: int) -> np.ndarray:
    """Profiles over time, `(n_times, n_cells)`, from single to double precision."""
    file.iterations(group)
    rows = []
    for iteration in iterations:
        key = f"{group}/{iteration}"
        values = file.cells(key, n_cells)
        if values is None:
            advice = "the simulation stopped while it wrote, or the file is incomplete"
            raise file.error(key, "a profile for every iteration of timeseries/t", "none", advice)
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            got = f"{values[bad[0]]} in cell {bad[0]} (0 is the bottom)"
            raise file.error(key, "finite values", got, "the simulation blew up, or the file is damaged")
        rows.append(values)
    return np.stack(rows)


def _read_expansion(file: _Jld2, given: float | None) -> tuple[float, float, tuple[str, ...]]:
    """Thermal expansion [K-1] and gravity [m s-2], and a note on those that are assumed."""
    found, assumed = [], []
    usual = (("thermal_expansion", _THERMAL_EXPANSION, " (a setting)"), ("gravity", _GRAVITY, ""))
    for name, default, remark in usual:
        keys = _KEYS[name]
        if name == "thermal_expansion" and given is not None:
            value = given
        elif "timeseries/T" in file:
            value = file.required(*keys)
        else:
            value = file.number(*keys)
        if value is None:
            value = default
            assumed.append(f"{name} = {default:g}{remark}")
        if value <= 0.0:
            raise file.error(keys[0], "a positive number", f"{value:g}", "repair the file")
        check_declared(file.path, keys[0], LinearEquationOfState, name, value)
        found.append(value)
    note = f"{file.path}: assumed to convert buoyancy: {', '.join(assumed)}"
    return found[0], found[1], (note,) if assumed else ()


def _read_fluxes(file: _Jld2, buoyancy_per_kelvin: float) -> dict[str, float]:
    """Kinematic fluxes into the water."""
    temperature_flux = file.number(*_KEYS["temperature_flux"])
    if temperature_flux is None:
        keys = _KEYS["buoyancy_flux"] + _KEYS["temperature_flux"]
        temperature_flux = file.required(*keys) / buoyancy_per_kelvin
    penetrating = file.number("parameters/penetrating_buoyancy_flux")
    # Zero minus the number avoids negative zero where there is no flux.
    fluxes = {
        "stress_u": 0.0 - file.required(*_KEYS["momentum_flux"]),
        "stress_v": 0.0 - (file.number("parameters/boundary_condition_v_top") or 0.0),
        "heat_flux": 0.0 - temperature_flux,
    }
    return fluxes | ({"shortwave_flux": -penetrating / buoyancy_per_kelvin} if penetrating else {})


def _dataset(
    path,
    name: str,
    time: np.ndarray,
    faces: np.ndarray,
    profiles: Mapping[str, tuple[str, np.ndarray]],
    fluxes: Mapping[str, tuple[str, float]],
    stated: Mapping[str, Any],
    units: Conversions,
    notes: tuple[str, ...],
) -> "xr.Dataset":
    """Profiles and fluxes, each with its key in the file, in the units of the format, as a dataset."""
    import xarray as xr  # takes long

    found = xr.Dataset(attrs={**stated, "case": name, "source": "large-eddy simulation", "notes": [*notes]})
    found.encoding["source"] = str(path)
    found = found.assign_coords(
        time=("time", time, {"units": "s"}),
        z=("z", 0.5 * (faces[1:] + faces[:-1]), {"units": "m", "positive": "up"}),
        z_lower=("z", faces[:-1]),
        z_upper=("z", faces[1:]),
    )
    for quantity, (key, values) in {**profiles, **fluxes}.items():
        unit = (_PROFILES | _KINEMATIC)[quantity]
        dims = ("time", "z") if quantity in profiles else ()
        variable = array(path, key, dims, np.asarray(values), {"units": unit})
        values = in_unit(variable, quantity, units.get(quantity))
        check_possible(path, key, quantity, values)
        known = quantity_of(quantity)
        found[known.name] = array(path, key, dims, values, {"units": known.unit})
    return found


def read_legay(path, **options: Any) -> tuple[Case, Observations]:
    """Read the case on the grid of the file, and its profiles; options as in `open_legay`."""
    return case_from_dataset(open_legay(path, **options))


@names_its_file("the file of Legay et al.")
def open_legay(
    path,
    *,
    stress_u: float | None = None,
    stress_v: float = 0.0,
    surface_buoyancy_flux: float | None = None,
    coriolis_parameter: float = 1e-4,
    thermal_expansion: float | None = None,
    reference_temperature: float | None = None,
    units: Conversions | None = None,
) -> "xr.Dataset":
    """Read profiles as a dataset; temperature follows from b = g alpha (T - T_0).

    Args:
        path: `LES_windDominant_results.nc`, or a file with the same variables.
        stress_u, stress_v: stress on the water [N m-2]; by default that of the wind-driven simulation.
        surface_buoyancy_flux: downward surface buoyancy flux [m2 s-3], negative for cooling; by default that
            of the same simulation.
        coriolis_parameter: f [s-1].
        thermal_expansion: alpha [K-1]; 2e-4 is assumed otherwise, with a note.
        reference_temperature: T_0, the temperature of zero buoyancy [degC]; 20 is assumed otherwise.
        units: units or conversions of `temperature`, `u` and `v`.

    Raises:
        FileFormatError: a variable that is missing, of unexpected shape, not finite or out of range, or
            another simulation, by the name of its file, without its forcing.
    """
    file = read_netcdf(path)
    z, time = (_array(file, name) for name in ("z", "t"))
    thickness = np.diff(z)
    mean = thickness.mean()
    if np.ptp(thickness) > 1e-3 * mean or abs(z[-1] + 0.5 * mean) > 1e-3 * abs(z[0]):
        expected = "centers of equal cells up to the surface at 0 m"
        got = f"{z[0]:g} to {z[-1]:g} m with steps of {thickness.min():g} to {thickness.max():g} m"
        raise error_in(file, "z", expected, got, f"{_NOT_LEGAY}; use a CF NetCDF with a mapping")
    usual = {
        "thermal_expansion": (thermal_expansion, _THERMAL_EXPANSION),
        "reference_temperature": (reference_temperature, _TEMPERATURE_OF_ZERO_BUOYANCY),
    }
    assumed = [f"{name} = {value:g}" for name, (given, value) in usual.items() if given is None]
    water = {name: value if given is None else given for name, (given, value) in usual.items()}
    buoyancy_per_kelvin = constants.GRAVITY * water["thermal_expansion"]
    values = {name: _array(file, name, (time.size, z.size)) for name in ("b", "u", "v")}
    name = name_of_legay(path)
    for key, option, given in (
        ("b", "surface_buoyancy_flux", surface_buoyancy_flux),
        ("u", "stress_u", stress_u),
    ):
        if given is None and name.endswith("_dominant") and name != "legay_wind_dominant":
            expected = f"the forcing of {name}, which the file does not hold"
            raise error_in(file, key, expected, "none", f"give {option}")
    stress_u = _STRESS if stress_u is None else stress_u / constants.REFERENCE_DENSITY
    surface_buoyancy_flux = _BUOYANCY_FLUX if surface_buoyancy_flux is None else surface_buoyancy_flux
    temperature = water["reference_temperature"] + values["b"] / buoyancy_per_kelvin
    check_names("units", units or {}, _PROFILES)
    kinematic = {
        "stress_u": stress_u,
        "stress_v": stress_v / constants.REFERENCE_DENSITY,
        "heat_flux": surface_buoyancy_flux / buoyancy_per_kelvin,
    }
    return _dataset(
        path,
        name,
        time - time[0],
        np.linspace(z[0] - z[-1] - mean, 0.0, z.size + 1),
        {"temperature": ("b", temperature), "u": ("u", values["u"]), "v": ("v", values["v"])},
        {flux: (flux, value) for flux, value in kinematic.items()},
        water | _CONSTANTS | {"gravity": constants.GRAVITY, "coriolis_parameter": coriolis_parameter},
        units or {},
        tuple(f"{path}: assumed: {each}; give it" for each in assumed),
    )


def name_of_legay(path) -> str:
    """Name of the case in a file, from that of the file: `LES_windDominant_results.nc` is wind_dominant."""
    found = re.search(r"([A-Za-z]+?)_?dominant", stem_of(path), re.IGNORECASE)
    return f"legay_{found[1].lower()}_dominant" if found else f"legay_{stem_of(path)}"


def _array(file: "xr.Dataset", name: str, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """An increasing axis, or finite values of a given shape."""
    expected = f"a variable of shape (t, z) = {shape}"
    if shape is None:
        expected = "a variable with one dimension and at least 3 values"
        shape = file[name].values.shape if name in file and file[name].values.ndim == 1 else (3,)
    if name not in file or file[name].values.shape != shape or shape[0] < 3:
        got = file[name].values.shape if name in file else f"none among {listing(file)}"
        raise error_in(file, name, expected, got, _NOT_LEGAY)
    values = numbers_in(file[name])
    if len(shape) == 1:
        check_increasing(name_of(file), name, values)
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        got = f"{values[tuple(bad[0])]} at record {bad[0][0]}, level {bad[0][1]}"
        raise error_in(file, name, "finite values", got, "the file is damaged")
    return values
