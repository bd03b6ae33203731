"""LESbrary files: horizontally averaged large-eddy simulations of Oceananigans, in JLD2.

Every variable is a group `timeseries/<name>/<iteration>`; iterations sort as integers, and other members
of a group (`serialized`) are not data. Profiles may come with halo cells at both ends, which are not data.
Kinematic fluxes count positive upward: an upward momentum flux is a stress on the water with the opposite
sign. What the simulation had beyond the column model (sponge, Stokes drift, forced tracers) is left out.

Source: Wagner et al. (2025), J. Adv. Model. Earth Syst. 17, e2024MS004522.
"""

import math
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from .. import constants
from ..case import Case
from ..forcing import ConstantForcing, SurfaceFluxes
from ..grid import Grid
from ..observations import Observations
from ..physics.absorption import TwoBandAbsorption
from ..physics.equation_of_state import LinearEquationOfState
from ..runtime.memory import MOST_CELLS
from ..state import State
from .errors import (
    FileFormatError,
    check_declared,
    check_increasing,
    check_possible,
    check_size,
    existing_file,
    names_its_file,
)

# For files with a buoyancy tracer, where the temperature is only another name of it.
_GRAVITY, _THERMAL_EXPANSION = 9.80665, 2e-4
_TEMPERATURE_OF_ZERO_BUOYANCY = 20.0
_SALINITY = 35.0

# Generations of the files name the same number differently; the first key that exists counts.
_EXPANSION_KEYS = (
    "parameters/thermal_expansion_coefficient",
    "buoyancy/model/equation_of_state/α",
    "buoyancy/equation_of_state/α",
    "buoyancy/formulation/equation_of_state/thermal_expansion",
)
_GRAVITY_KEYS = (
    "parameters/gravitational_acceleration",
    "buoyancy/model/gravitational_acceleration",
    "buoyancy/gravitational_acceleration",
    "buoyancy/formulation/gravitational_acceleration",
)
_MOMENTUM_KEYS = ("parameters/momentum_flux", "parameters/boundary_condition_u_top")
_TEMPERATURE_FLUX_KEYS = (
    "parameters/temperature_flux",
    "parameters/boundary_condition_θ_top",
    "parameters/boundary_condition_T_top",
)
_BUOYANCY_FLUX_KEYS = ("parameters/buoyancy_flux", "parameters/boundary_condition_b_top")
_CORIOLIS_KEYS = ("parameters/coriolis_parameter", "coriolis/f")
_FACE_KEYS = ("grid/zᵃᵃᶠ", "grid/z/cᵃᵃᶠ")


class Jld2File:
    """An open JLD2 file (HDF5 written by Julia); its errors name file and key."""

    def __init__(self, path: Path, file: Any):
        self.path = path
        self._file = file

    def __contains__(self, key: str) -> bool:
        return key in self._file

    def error(self, key: str, expected: str, got: object, advice: str) -> FileFormatError:
        """The error to raise, with the name of this file."""
        return FileFormatError(self.path, key, expected, str(got), advice)

    def _dataset(self, key: Any) -> Any:
        """What a name or reference leads to, if it holds values."""
        import h5py  # takes long

        found = self._file.get(key) if isinstance(key, str) else self._file[key]
        if not isinstance(found, h5py.Dataset):
            return None
        block = math.prod(found.chunks or ()) * found.dtype.itemsize
        check_size(self.path, str(key), max(found.nbytes, block))
        return found

    def number(self, *keys: str) -> float | None:
        """The first of the keys that holds one number; Julia's `nothing` is no number.

        Raises:
            FileFormatError: a number that is not finite.
        """
        for key in keys:
            dataset = self._dataset(key)
            if dataset is not None and dataset.dtype.kind in "fiu" and dataset.size == 1:
                value = float(np.asarray(dataset[()]).ravel()[0])
                if not np.isfinite(value):
                    raise self.error(key, "a finite number", value, "repair the file")
                return value
        return None

    def required(self, *keys: str) -> float:
        """The same, for a number that has to be there.

        Raises:
            FileFormatError: none of the keys, or a number that is not finite.
        """
        value = self.number(*keys)
        if value is None:
            elsewhere = f" there or in {', '.join(keys[1:])}" if keys[1:] else ""
            advice = "the file is of an unknown generation, or incomplete"
            raise self.error(keys[0], f"a number{elsewhere}", "none", advice)
        return value

    def text(self, key: str) -> str | None:
        """A string, if the key has one."""
        dataset = self._dataset(key)
        value = dataset[()] if dataset is not None and dataset.size == 1 else None
        return value.decode(errors="replace") if isinstance(value, bytes) else None

    def array(self, key: str) -> np.ndarray | None:
        """Numbers along one axis in double precision, or `None` without such a key.

        Raises:
            FileFormatError: a damaged dataset, or one that holds no numbers.
        """
        import h5py  # takes long

        expected = "an array of numbers"
        try:
            dataset = self._dataset(key)
            value = None if dataset is None else dataset[()]
            if isinstance(value, np.void) and "parent" in (value.dtype.names or ()):
                # A wrapped Julia array refers to its parent; a range is stored as its rule instead.
                parent = value["parent"]
                dataset = self._dataset(parent) if isinstance(parent, h5py.Reference) else None
                value = None if dataset is None else dataset[()]
            if value is None:
                return None
            if np.asarray(value).dtype.kind not in "fiub":
                raise self.error(key, expected, f"type {np.asarray(value).dtype}", "choose another file")
            return np.asarray(value, dtype=float).ravel()
        except FileFormatError:
            raise
        except Exception as error:
            raise self.error(key, expected, f"'{error}'", "the file is damaged or incomplete") from error

    def iterations(self, key: str) -> list[str]:
        """Names of the members of a group that are iterations, in the order of their numbers.

        Raises:
            FileFormatError: no such group, or the same number twice.
        """
        group, above = self._file.get(key), self._file.get(key.rpartition("/")[0])
        if not hasattr(group, "keys"):
            known = list(above if hasattr(above, "keys") else self._file)
            got = f"none beside {', '.join(known[:8]) or 'nothing'}"
            raise self.error(key, "a group", got, "this is no LESbrary file, or it is incomplete")
        names = sorted((name for name in map(str, group) if name.isdecimal()), key=int)
        for before, after in zip(names, names[1:], strict=False):
            if int(before) == int(after):
                raise self.error(
                    key, "every iteration once", f"both {before} and {after}", "remove one of them"
                )
        return names


@names_its_file("a JLD2 file")
def read_lesbrary(path) -> tuple[Case, Observations]:
    """Read the case and the horizontal averages of a large-eddy simulation.

    Args:
        path: a `*_statistics.jld2` file.

    Returns:
        The case on the grid of the file (the initial state is the first profile), with stress and heat
        flux always set, so that all files of one resolution run through the same compiled function; and
        the profiles of temperature, u and v at all times.

    Raises:
        FileNotFoundError: no such file.
        FileFormatError: not a JLD2 file, or a key that is missing, of another shape, not finite, or out
            of range; the message names file and key.
    """
    import h5py  # takes long

    path = existing_file(path)
    try:
        opened = h5py.File(path, "r")
    except OSError as error:
        advice = "it is truncated or of another format"
        raise FileFormatError(path, "file", "a JLD2 file", f"'{error}'", advice) from error
    with opened:
        return _read(Jld2File(path, opened))


def _read(file: Jld2File) -> tuple[Case, Observations]:
    grid = _read_grid(file)
    iterations, time = _read_times(file)
    expansion, gravity = _read_expansion(file)
    profiles = {"temperature": _read_temperature(file, iterations, grid, gravity * expansion)}
    for name in ("u", "v"):
        if f"timeseries/{name}" in file:
            profiles[name] = _read_profiles(file, name, iterations, grid)

    fluxes, absorption = _read_fluxes(file, gravity * expansion)
    name = file.text("parameters/name") or file.path.stem.removesuffix("_instantaneous_statistics")
    salinity = file.number("buoyancy/model/constant_salinity")
    initial: dict[str, Any] = {
        variable: jnp.asarray(values[0], dtype=float) for variable, values in profiles.items()
    }
    case = Case(
        grid=grid,
        initial_state=State.from_profiles(
            grid, salinity=_SALINITY if salinity is None else salinity, **initial
        ),
        forcing=ConstantForcing(fluxes),
        coriolis_parameter=_read_rotation(file),
        equation_of_state=LinearEquationOfState(thermal_expansion=expansion, gravity=gravity),
        absorption=absorption,
        duration=float(time[-1]),
        name=name,
    )
    observations = Observations(
        time=jnp.asarray(time, dtype=float),
        z=grid.z_center,
        profiles={name: jnp.asarray(values, dtype=float) for name, values in profiles.items()},
        name=name,
        source="LES",
    )
    return case, observations


def _halo_size(file: Jld2File) -> int:
    return int(file.number("grid/Hz") or 0)


def _without_halo(file: Jld2File, key: str, values: np.ndarray, n: int, n_halo: int) -> np.ndarray:
    """The `n` values between the halos, or all of them where there is no halo."""
    if values.size == n:
        return values
    if values.size == n + 2 * n_halo:
        return values[n_halo : n_halo + n]
    expected = f"{n} values, or {n + 2 * n_halo} with {n_halo} halo cells at each end"
    raise file.error(key, expected, values.size, "the shape does not fit grid/Nz and grid/Hz")


def _read_grid(file: Jld2File) -> Grid:
    n_cells = int(file.required("grid/Nz"))
    if n_cells < 3:
        raise file.error("grid/Nz", "at least 3 cells", f"{n_cells}", "choose another file")
    if n_cells > MOST_CELLS:
        raise file.error("grid/Nz", f"at most {MOST_CELLS} cells", f"{n_cells}", "choose another file")
    for key in _FACE_KEYS:
        faces = file.array(key)
        if faces is not None:
            return _grid_from_faces(file, key, _without_halo(file, key, faces, n_cells + 1, _halo_size(file)))
    depth = file.required("grid/Lz", *_FACE_KEYS)
    if depth <= 0.0:
        raise file.error("grid/Lz", "a positive depth [m]", f"{depth:g}", "repair the file")
    return Grid.uniform(depth, n_cells)


def _grid_from_faces(file: Jld2File, key: str, faces: np.ndarray) -> Grid:
    check_increasing(file.path, key, faces)
    depth = -float(faces[0])
    if depth <= 0.0 or abs(faces[-1]) > 1e-6 * depth:
        expected, got = "faces from the bottom up to the surface at 0 m", f"{faces[0]:g} to {faces[-1]:g} m"
        raise file.error(key, expected, got, "heights are negative below the surface")
    thickness = np.diff(faces)
    # Heights in single precision are uniform only to their round-off.
    if np.ptp(thickness) <= 1e-5 * thickness.mean():
        return Grid.uniform(depth, faces.size - 1)
    return Grid(np.append(faces[:-1], 0.0))


def _read_times(file: Jld2File) -> tuple[list[str], np.ndarray]:
    """Iterations, and their times since the first of them [s]."""
    iterations = file.iterations("timeseries/t")
    if len(iterations) < 2:
        raise file.error("timeseries/t", "at least two iterations", len(iterations), "choose another file")
    time = np.array([file.required(f"timeseries/t/{iteration}") for iteration in iterations])
    check_increasing(file.path, "timeseries/t", time)
    # The simulation adds up its time steps: 172800.00000000003 s means two days.
    return iterations, np.round(time - time[0], 6)


def _read_profiles(file: Jld2File, variable: str, iterations: list[str], grid: Grid) -> np.ndarray:
    """Profiles over time, `(n_times, n_cells)`; single precision is widened without change."""
    file.iterations(f"timeseries/{variable}")
    rows, n_halo = [], _halo_size(file)
    for iteration in iterations:
        key = f"timeseries/{variable}/{iteration}"
        values = file.array(key)
        if values is None:
            advice = "the simulation stopped while it wrote, or the file is incomplete"
            raise file.error(key, "a profile for every iteration of timeseries/t", "none", advice)
        values = _without_halo(file, key, values, grid.n_cells, n_halo)
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            got = f"{values[bad[0]]} in cell {bad[0]} (0 is the bottom)"
            raise file.error(key, "finite values", got, "the simulation blew up, or the file is damaged")
        rows.append(values)
    profiles = np.stack(rows)
    quantity = "temperature" if variable == "T" else variable
    check_possible(file.path, f"timeseries/{variable}", quantity, profiles)
    return profiles


def _read_expansion(file: Jld2File) -> tuple[float, float]:
    """Thermal expansion [K-1] and gravity [m s-2]."""
    found = []
    for name, keys, default in (
        ("thermal_expansion", _EXPANSION_KEYS, _THERMAL_EXPANSION),
        ("gravity", _GRAVITY_KEYS, _GRAVITY),
    ):
        value = file.required(*keys) if "timeseries/T" in file else file.number(*keys) or default
        if value <= 0.0:
            raise file.error(keys[0], "a positive number", f"{value:g}", "repair the file")
        check_declared(file.path, keys[0], LinearEquationOfState, name, value)
        found.append(value)
    return found[0], found[1]


def _read_rotation(file: Jld2File) -> float:
    value = file.required(*_CORIOLIS_KEYS)
    check_declared(file.path, _CORIOLIS_KEYS[0], Case, "coriolis_parameter", value)
    return value


def _read_temperature(
    file: Jld2File, iterations: list[str], grid: Grid, buoyancy_per_kelvin: float
) -> np.ndarray:
    """Temperature [degC]; from b = g alpha (T - 20 degC) where the file has buoyancy alone."""
    if "timeseries/T" in file or "timeseries/b" not in file:
        return _read_profiles(file, "T", iterations, grid)
    buoyancy = _read_profiles(file, "b", iterations, grid)
    temperature = _TEMPERATURE_OF_ZERO_BUOYANCY + buoyancy / buoyancy_per_kelvin
    check_possible(file.path, "timeseries/b (as temperature)", "temperature", temperature)
    return temperature


def _read_fluxes(file: Jld2File, buoyancy_per_kelvin: float) -> tuple[SurfaceFluxes, TwoBandAbsorption]:
    density, heat_capacity = constants.REFERENCE_DENSITY, constants.HEAT_CAPACITY
    temperature_flux = file.number(*_TEMPERATURE_FLUX_KEYS)
    if temperature_flux is None:
        keys = _BUOYANCY_FLUX_KEYS + _TEMPERATURE_FLUX_KEYS
        temperature_flux = file.required(*keys) / buoyancy_per_kelvin
    momentum_flux_v = file.number("parameters/boundary_condition_v_top") or 0.0
    penetrating = file.number("parameters/penetrating_buoyancy_flux") or 0.0
    # Zero minus the number: no negative zero where the file has no flux.
    fluxes = {
        "stress_u": 0.0 - file.required(*_MOMENTUM_KEYS) * density,
        "stress_v": 0.0 - momentum_flux_v * density,
        "heat_flux": 0.0 - temperature_flux * density * heat_capacity,
    }
    absorption = TwoBandAbsorption()
    if penetrating:
        fluxes["shortwave_flux"] = -penetrating / buoyancy_per_kelvin * density * heat_capacity
        # The sunny simulations do not store their absorption; these are its constants.
        absorption = TwoBandAbsorption(infrared_fraction=0.6, infrared_depth=1.0, visible_depth=20.0)
    for name, value in fluxes.items():
        check_possible(file.path, f"parameters ({name})", name, np.asarray(value))
    return SurfaceFluxes(**fluxes), absorption
