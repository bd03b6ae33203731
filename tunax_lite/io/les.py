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
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import constants
from .._types import warn_of_input
from ..column.case import Case
from ..column.observations import Observations
from ..physics.equation_of_state import LinearEquationOfState
from ..runtime.memory import MOST_CELLS
from .axes import stem_of
from .case import case_from_dataset
from .cf_netcdf import Mapping, open_cf
from .errors import (
    FileFormatError,
    check_declared,
    check_increasing,
    check_size,
    existing_file,
    names_its_file,
)
from .netcdf import read_netcdf
from .variables import error_in, listing, numbers_in
from .yaml_file import NAMES

if TYPE_CHECKING:
    import xarray as xr

_ASSUMED = {"thermal_expansion": 2e-4, "gravity": 9.80665}
_TEMPERATURE_OF_ZERO_BUOYANCY = 20.0
"""Constants that convert buoyancy [m s-2] to temperature [degC] in files that state none."""
_CONSTANTS = {"reference_density": constants.REFERENCE_DENSITY, "heat_capacity": constants.HEAT_CAPACITY}
_KEYS = NAMES["lesbrary"]
_KINEMATIC = dict(stress_u="m2 s-2", stress_v="m2 s-2", heat_flux="K m s-1", shortwave_flux="K m s-1")
"""Units of the fluxes in a file of the LESbrary, by name."""
_PROFILES = dict(temperature="degC", u="m s-1", v="m s-1")
_ABSORPTION = dict(infrared_fraction=0.6, infrared_depth=1.0, visible_depth=20.0)
"""Simulations with shortwave heating do not store their absorption; these are its constants."""
_STRESS, _BUOYANCY_FLUX = 4e-4, -5e-9
"""Stress and buoyancy flux of the wind-driven simulation of Legay et al. [m2 s-2, m2 s-3]."""
_SOURCE = "large-eddy simulation"
_NOT_LEGAY = "this is not the file of Legay et al."


class _Jld2:
    """An open JLD2 file (HDF5 written by Julia)."""

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
        """Values at a name or an HDF5 reference; `None` if there is no array or number."""
        import h5py  # takes long

        stored = self._file.get(key) if isinstance(key, str) else self._file[key]
        if not isinstance(stored, h5py.Dataset):
            return None
        block = math.prod(stored.chunks or ()) * stored.dtype.itemsize
        check_size(self.path, str(key), max(stored.nbytes, block))
        value = stored[()]
        if isinstance(value, np.void) and "parent" in (value.dtype.names or ()):
            # A wrapped Julia array refers to its parent; a range is stored as its parameters and ignored.
            parent = value["parent"]
            return self.value(parent) if isinstance(parent, h5py.Reference) else None
        return value

    def number(self, *keys: str) -> float | None:
        """Number at the first key that holds one, else `None`; `FileFormatError` if it is not finite."""
        for key in keys:
            value = np.asarray(self.value(key))
            if value.dtype.kind in "fiu" and value.size == 1:
                if not np.isfinite(value).all():
                    raise self.error(key, "a finite number", float(value.ravel()[0]), "repair the file")
                return float(value.ravel()[0])
        return None

    def required(self, *keys: str) -> float:
        """Like `number`, but raises `FileFormatError` if no key holds a number."""
        value = self.number(*keys)
        if value is None:
            elsewhere = f" there or in {', '.join(keys[1:])}" if keys[1:] else ""
            advice = "the file is of an unknown generation, or incomplete"
            raise self.error(keys[0], f"a number{elsewhere}", "none", advice)
        return value

    def cells(self, key: str, n: int) -> np.ndarray | None:
        """Array of `n` numbers in double precision without halo cells; `None` if the key is missing."""
        expected, n_halo = "an array of numbers", self._n_halo
        try:
            value = self.value(key)
        except FileFormatError:
            raise
        except Exception as error:
            raise self.error(key, expected, f"'{error}'", "the file is damaged or incomplete") from error
        if value is None:
            return None
        if np.asarray(value).dtype.kind not in "fiub":
            raise self.error(key, expected, f"type {np.asarray(value).dtype}", "choose another file")
        values = np.asarray(value, dtype=float).ravel()
        if values.size == n:
            return values
        if values.size != n + 2 * n_halo:
            expected = f"{n} values, or {n + 2 * n_halo} with {n_halo} halo cells at each end"
            raise self.error(key, expected, values.size, "the shape does not fit grid/Nz and grid/Hz")
        return values[n_halo : n_halo + n]

    def iterations(self, key: str) -> list[str]:
        """Names of the iterations in a group, in numerical order."""
        group = self._file.get(key)
        if not hasattr(group, "keys"):
            others = list(self._file.get(key.rpartition("/")[0], self._file))
            got = f"only {', '.join(others[:8]) or 'an empty file'}"
            raise self.error(key, "a group", got, "this is no LESbrary file, or it is incomplete")
        return sorted((name for name in map(str, group) if name.isdecimal()), key=int)


def read_lesbrary(path, **options: Any) -> tuple[Case, Observations]:
    """Read the case and the horizontal averages of a large-eddy simulation; options as in `open_lesbrary`.

    Returns:
        The case on the grid of the file, starting at the first time, and the profiles of temperature, u and v
        at all times.
    """
    return case_from_dataset(open_lesbrary(path, **options))


@names_its_file("a JLD2 file")
def open_lesbrary(path, *, thermal_expansion: float | None = None) -> "xr.Dataset":
    """Read a large-eddy simulation, a `*_statistics.jld2` file, as a dataset; see `open_observations`.

    Args:
        path: of the file.
        thermal_expansion: alpha [K-1], instead of that of the file; a file with buoyancy may have none, and
            2e-4 is assumed, with a warning.

    Raises:
        FileFormatError: not a JLD2 file, or a key that is missing, of unexpected shape, not finite, or out of
            range.
    """
    import h5py  # takes long

    path = existing_file(path)
    with h5py.File(path, "r") as opened:
        return _read(_Jld2(path, opened), thermal_expansion)


def _read(file: _Jld2, thermal_expansion: float | None) -> "xr.Dataset":
    """Read an open file; arguments and errors as in `open_lesbrary`."""
    import xarray as xr  # takes long

    faces = _read_faces(file)
    iterations = file.iterations("timeseries/t")
    if len(iterations) < 2:
        raise file.error("timeseries/t", "at least two iterations", len(iterations), "choose another file")
    time = np.array([file.required(f"timeseries/t/{iteration}") for iteration in iterations])
    # The simulation accumulates its time steps: 172800.00000000003 s means two days.
    time = np.round(time - time[0], 6)
    expansion, gravity = _read_expansion(file, thermal_expansion)
    has_buoyancy = "timeseries/T" not in file and "timeseries/b" in file
    keys = {"temperature": "timeseries/b" if has_buoyancy else "timeseries/T"}
    keys |= {name: f"timeseries/{name}" for name in ("u", "v") if f"timeseries/{name}" in file}
    variables: dict[str, tuple] = _levels(faces)
    for name, key in keys.items():
        values = _read_profiles(file, key, iterations, faces.size - 1)
        if key == "timeseries/b":
            values = _TEMPERATURE_OF_ZERO_BUOYANCY + values / (gravity * expansion)
        variables[key] = (("timeseries/t", "z"), values, {"units": _PROFILES[name]})
    rotation = file.required(*_KEYS["coriolis_parameter"])
    check_declared(file.path, _KEYS["coriolis_parameter"][0], Case, "coriolis_parameter", rotation)
    fluxes = _read_fluxes(file, gravity * expansion)
    for name, value in fluxes.items():
        variables[f"parameters ({name})"] = ((), value, {"units": _KINEMATIC[name]})
    variables["timeseries/t"] = ("timeseries/t", time, {"units": "s"})
    stated = {"thermal_expansion": expansion, "gravity": gravity, "coriolis_parameter": rotation}
    stated |= _ABSORPTION if "shortwave_flux" in fluxes else {}
    dataset = xr.Dataset(variables, attrs=stated | _CONSTANTS | {"source": _SOURCE})
    dataset.encoding["source"] = str(file.path)
    salinity = file.number("buoyancy/model/constant_salinity")
    mapping = Mapping(
        variables=dict(keys),
        time="timeseries/t",
        vertical="z",
        fluxes={name: f"parameters ({name})" for name in fluxes},
        name=file.name,
        salinity=35.0 if salinity is None else salinity,
    )
    return open_cf(dataset, mapping)


def _levels(faces: np.ndarray) -> dict[str, tuple]:
    """Centers of cells with bounds, as variables of a CF file."""
    z_attrs = {"units": "m", "positive": "up", "bounds": "z_bounds"}
    return {
        "z": ("z", 0.5 * (faces[1:] + faces[:-1]), z_attrs),
        "z_bounds": (("z", "end"), np.stack([faces[:-1], faces[1:]], axis=1)),
    }


def _read_faces(file: _Jld2) -> np.ndarray:
    """Heights of the faces [m], bottom first."""
    n_cells = int(file.required("grid/Nz"))
    if not 3 <= n_cells <= MOST_CELLS:
        expected = "at least 3 cells" if n_cells < 3 else f"at most {MOST_CELLS} cells"
        raise file.error("grid/Nz", expected, n_cells, "choose another file")
    options = ((key, file.cells(key, n_cells + 1)) for key in _KEYS["faces"])
    key, faces = next((pair for pair in options if pair[1] is not None), ("", None))
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
    """Profiles over time, `(n_times, n_cells)`, in double precision."""
    file.iterations(group)  # raises if there is no such group
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


def _read_expansion(file: _Jld2, thermal_expansion: float | None) -> tuple[float, float]:
    """Thermal expansion [K-1] and gravity [m s-2]; warns of those that are assumed."""
    read = file.required if "timeseries/T" in file else file.number
    expansion = read(*_KEYS["thermal_expansion"]) if thermal_expansion is None else thermal_expansion
    stated = {"thermal_expansion": expansion, "gravity": read(*_KEYS["gravity"])}
    values = {name: _ASSUMED[name] if value is None else value for name, value in stated.items()}
    for name, value in values.items():
        key = _KEYS[name][0]
        if value <= 0.0:
            raise file.error(key, "a positive number", f"{value:g}", "repair the file")
        check_declared(file.path, key, LinearEquationOfState, name, value)
    if assumed := [f"{name} = {values[name]:g}" for name, value in stated.items() if value is None]:
        warn_of_input([f"{file.path}: assumed to convert buoyancy: {', '.join(assumed)}"])
    return values["thermal_expansion"], values["gravity"]


def _read_fluxes(file: _Jld2, buoyancy_per_kelvin: float) -> dict[str, float]:
    """Kinematic fluxes into the water, in the units of `_KINEMATIC`."""
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
) -> "xr.Dataset":
    """Read profiles as a dataset; temperature follows from b = g alpha (T - T_0). See `open_observations`.

    Args:
        path: `LES_windDominant_results.nc`, or a file with the same variables.
        stress_u, stress_v: stress on the water [N m-2]; by default that of the wind-driven simulation.
        surface_buoyancy_flux: downward surface buoyancy flux [m2 s-3], negative for cooling; by default that
            of the same simulation.
        coriolis_parameter: f [s-1].
        thermal_expansion: alpha [K-1]; by default 2e-4, with a warning.
        reference_temperature: T_0, the temperature of zero buoyancy [degC]; by default 20, with a warning.

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
    if not np.allclose(z, 0.5 * (faces[1:] + faces[:-1]), rtol=0.0, atol=1e-3 * spacing):
        expected = "centers of equal cells up to the surface at 0 m, bottom first"
        got = f"{z.size} from {z[0]:g} to {z[-1]:g} m"
        raise error_in(file, "z", expected, got, f"{_NOT_LEGAY}; use a CF NetCDF with a mapping")
    for key, option, value in (
        ("b", "surface_buoyancy_flux", surface_buoyancy_flux),
        ("u", "stress_u", stress_u),
    ):
        if value is None and name.endswith("_dominant") and name != "legay_wind_dominant":
            expected = f"the forcing of {name}, which the file does not hold"
            raise error_in(file, key, expected, "none", f"give {option}")
    if thermal_expansion is None:
        thermal_expansion = _ASSUMED["thermal_expansion"]
        warn_of_input([f"{path}: assumed: thermal_expansion = {thermal_expansion:g}; give it"])
    if reference_temperature is None:
        reference_temperature = _TEMPERATURE_OF_ZERO_BUOYANCY
        warn_of_input([f"{path}: assumed: reference_temperature = {reference_temperature:g}; give it"])
    buoyancy_per_kelvin = constants.GRAVITY * thermal_expansion
    flux = _BUOYANCY_FLUX if surface_buoyancy_flux is None else surface_buoyancy_flux
    heat_capacity = constants.REFERENCE_DENSITY * constants.HEAT_CAPACITY  # of a volume
    temperature = reference_temperature + file["b"].astype(float) / buoyancy_per_kelvin
    file = file.assign({"b": temperature, "t": file["t"].astype(float) - float(file["t"][0])}).assign(
        _levels(faces)
    )
    for key, unit in {"b": "degC", "u": "m s-1", "v": "m s-1", "t": "s"}.items():
        file[key].attrs["units"] = unit
    file = file.assign_attrs(_CONSTANTS, source=_SOURCE, gravity=constants.GRAVITY)
    file = file.assign_attrs(thermal_expansion=thermal_expansion, reference_temperature=reference_temperature)
    mapping = Mapping(
        variables={"temperature": "b"},
        time="t",
        vertical="z",
        fluxes={
            "stress_u": _STRESS * constants.REFERENCE_DENSITY if stress_u is None else stress_u,
            "stress_v": stress_v,
            "heat_flux": flux / buoyancy_per_kelvin * heat_capacity,
        },
        coriolis_parameter=coriolis_parameter,
        name=name,
    )
    return open_cf(file, mapping)


def _name_of_legay(path) -> str:
    """Name of the case, from that of the file: `LES_windDominant_results.nc` is wind_dominant."""
    match = re.search(r"([A-Za-z]+?)_?dominant", stem_of(path), re.IGNORECASE)
    return f"legay_{match[1].lower()}_dominant" if match else f"legay_{stem_of(path)}"
