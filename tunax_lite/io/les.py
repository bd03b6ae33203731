"""Large-eddy simulations: horizontal averages of the LESbrary (JLD2).

LESbrary (Oceananigans): every variable is a group `timeseries/<name>/<iteration>`; iterations sort as
integers, and other members of a group (`serialized`) are not data, nor are the halo cells at both ends of
some profiles. Kinematic fluxes are positive upward: an upward momentum flux is a stress on the water of
opposite sign. Processes beyond the column model (sponge layer, Stokes drift, forced tracers) are left out.
Source: Wagner et al. (2025), J. Adv. Model. Earth Syst. 17, e2024MS004522.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .. import constants
from ..column.case import Case
from ..column.forcing import ConstantForcing, SurfaceFluxes
from ..column.grid import Grid
from ..column.observations import Observations
from ..column.state import State
from ..physics.absorption import TwoBandAbsorption
from ..physics.equation_of_state import LinearEquationOfState
from ..runtime.memory import MOST_CELLS
from .errors import (
    check_declared,
    check_increasing,
    check_names,
    check_possible,
    existing_file,
    names_its_file,
)
from .jld2 import Jld2
from .units import Conversions
from .yaml_file import NAMES

# For files with a buoyancy tracer, where the temperature is buoyancy in other units.
_GRAVITY, _THERMAL_EXPANSION, _TEMPERATURE_OF_ZERO_BUOYANCY = 9.80665, 2e-4, 20.0
HEAT_PER_KELVIN = constants.REFERENCE_DENSITY * constants.HEAT_CAPACITY

_KEYS = NAMES["lesbrary"]


_KINEMATIC = dict(stress_u="m2 s-2", stress_v="m2 s-2", heat_flux="K m s-1", shortwave_flux="K m s-1")
"""Units of the fluxes in a file of the LESbrary, by name."""


def case_of_profiles(
    grid: Grid,
    time: np.ndarray,
    profiles: dict[str, np.ndarray],
    *,
    salinity: float = 35.0,
    **case: Any,  # fields of `Case`
) -> tuple[Case, Observations]:
    """The case that starts from the first profiles, and all profiles at times [s] since then."""
    arrays: dict[str, Array] = {name: jnp.asarray(values, dtype=float) for name, values in profiles.items()}
    initial: dict[str, Any] = {name: values[0] for name, values in arrays.items()}  # no tracers among them
    state = State.from_profiles(grid, salinity=salinity, **initial)
    built = Case(grid=grid, initial_state=state, duration=float(time[-1]), **case)
    times = jnp.asarray(time, dtype=float)
    return built, Observations(times, grid.z_center, arrays, name=built.name, source="LES")


@names_its_file("a JLD2 file")
def read_lesbrary(path, *, units: Conversions | None = None) -> tuple[Case, Observations]:
    """Read the case and the horizontal averages of a large-eddy simulation, a `*_statistics.jld2` file.

    Args:
        path: of the file.
        units: units or conversions by the package's names of profiles and fluxes; fluxes are in their
            kinematic units, m2 s-2 and K m s-1, and count into the water once they are converted.

    Returns:
        The case on the grid of the file, and the profiles of temperature, u and v at all times, from the
        first of which the case starts. Stress and heat flux are always set, so that all files of one
        resolution share one compiled function.

    Raises:
        FileFormatError: not a JLD2 file, or a key that is missing, of unexpected shape, not finite, or out of
            range.
    """
    import h5py  # takes long

    path, units = existing_file(path), dict(units or {})
    check_names("units", units, ("temperature", "u", "v", *_KINEMATIC))
    with h5py.File(path, "r") as opened:
        return _read(Jld2(path, opened, units))


@names_its_file("a JLD2 file")
def name_of_lesbrary(path) -> str:
    """Name of the case in a file, without reading its profiles."""
    import h5py  # takes long

    path = existing_file(path)
    with h5py.File(path, "r") as opened:
        return Jld2(path, opened, {}).name


def _read(file: Jld2) -> tuple[Case, Observations]:
    grid = _read_grid(file)
    iterations = file.iterations("timeseries/t")
    if len(iterations) < 2:
        raise file.error("timeseries/t", "at least two iterations", len(iterations), "choose another file")
    time = np.array([file.required(f"timeseries/t/{iteration}") for iteration in iterations])
    check_increasing(file.path, "timeseries/t", time)
    expansion, gravity = _read_expansion(file)
    if "timeseries/T" in file or "timeseries/b" not in file:
        temperature = _read_profiles(file, "T", iterations, grid)
    else:
        buoyancy = _read_profiles(file, "b", iterations, grid)
        temperature = _TEMPERATURE_OF_ZERO_BUOYANCY + buoyancy / (gravity * expansion)
        temperature = file.converted("timeseries/b", "temperature", temperature, "degC")
        check_possible(file.path, "timeseries/b (as temperature)", "temperature", temperature)
    profiles = {"temperature": temperature}
    profiles |= {n: _read_profiles(file, n, iterations, grid) for n in "uv" if f"timeseries/{n}" in file}
    fluxes, absorption = _read_fluxes(file, gravity * expansion)
    rotation = file.required(*_KEYS["coriolis_parameter"])
    check_declared(file.path, _KEYS["coriolis_parameter"][0], Case, "coriolis_parameter", rotation)
    salinity = file.number("buoyancy/model/constant_salinity")
    return case_of_profiles(
        grid,
        # The simulation accumulates its time steps: 172800.00000000003 s means two days.
        np.round(time - time[0], 6),
        profiles,
        **({} if salinity is None else {"salinity": salinity}),
        forcing=ConstantForcing(fluxes),
        coriolis_parameter=rotation,
        equation_of_state=LinearEquationOfState(thermal_expansion=expansion, gravity=gravity),
        absorption=absorption,
        name=file.name,
    )


def _read_grid(file: Jld2) -> Grid:
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
        return Grid.uniform(depth, n_cells)
    check_increasing(file.path, key, faces)
    depth = -float(faces[0])
    if depth <= 0.0 or abs(faces[-1]) > 1e-6 * depth:
        expected, got = "faces from the bottom up to the surface at 0 m", f"{faces[0]:g} to {faces[-1]:g} m"
        raise file.error(key, expected, got, "heights are negative below the surface")
    thickness = np.diff(faces)
    # Heights in single precision are uniform only to round-off.
    if np.ptp(thickness) <= 1e-5 * thickness.mean():
        return Grid.uniform(depth, faces.size - 1)
    return Grid(np.append(faces[:-1], 0.0))


def _read_profiles(file: Jld2, variable: str, iterations: list[str], grid: Grid) -> np.ndarray:
    """Profiles over time, `(n_times, n_cells)`, from single to double precision."""
    file.iterations(f"timeseries/{variable}")
    rows = []
    for iteration in iterations:
        key = f"timeseries/{variable}/{iteration}"
        values = file.cells(key, grid.n_cells)
        if values is None:
            advice = "the simulation stopped while it wrote, or the file is incomplete"
            raise file.error(key, "a profile for every iteration of timeseries/t", "none", advice)
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            got = f"{values[bad[0]]} in cell {bad[0]} (0 is the bottom)"
            raise file.error(key, "finite values", got, "the simulation blew up, or the file is damaged")
        rows.append(values)
    profiles = np.stack(rows)
    quantity = "temperature" if variable == "T" else variable
    if variable != "b":
        profiles = file.converted(
            f"timeseries/{variable}", quantity, profiles, "degC" if variable == "T" else "m s-1"
        )
    check_possible(file.path, f"timeseries/{variable}", quantity, profiles)
    return profiles


def _read_expansion(file: Jld2) -> tuple[float, float]:
    """Thermal expansion [K-1] and gravity [m s-2]."""
    found = []
    for name, default in (("thermal_expansion", _THERMAL_EXPANSION), ("gravity", _GRAVITY)):
        keys = _KEYS[name]
        value = file.required(*keys) if "timeseries/T" in file else file.number(*keys) or default
        if value <= 0.0:
            raise file.error(keys[0], "a positive number", f"{value:g}", "repair the file")
        check_declared(file.path, keys[0], LinearEquationOfState, name, value)
        found.append(value)
    return found[0], found[1]


def _read_fluxes(file: Jld2, buoyancy_per_kelvin: float) -> tuple[SurfaceFluxes, TwoBandAbsorption]:
    temperature_flux = file.number(*_KEYS["temperature_flux"])
    if temperature_flux is None:
        keys = _KEYS["buoyancy_flux"] + _KEYS["temperature_flux"]
        temperature_flux = file.required(*keys) / buoyancy_per_kelvin
    momentum_flux_v = file.number("parameters/boundary_condition_v_top") or 0.0
    penetrating = file.number("parameters/penetrating_buoyancy_flux") or 0.0
    # Zero minus the number avoids negative zero where there is no flux.
    fluxes = {
        "stress_u": 0.0 - file.required(*_KEYS["momentum_flux"]),
        "stress_v": 0.0 - momentum_flux_v,
        "heat_flux": 0.0 - temperature_flux,
    }
    absorption = TwoBandAbsorption()
    if penetrating:
        fluxes["shortwave_flux"] = -penetrating / buoyancy_per_kelvin
        # Simulations with shortwave heating do not store their absorption; these are its constants.
        absorption = TwoBandAbsorption(infrared_fraction=0.6, infrared_depth=1.0, visible_depth=20.0)
    for name, value in fluxes.items():
        value = fluxes[name] = file.converted(f"parameters ({name})", name, value, _KINEMATIC[name])
        check_possible(file.path, f"parameters ({name})", name, np.asarray(value))
    return SurfaceFluxes(**fluxes), absorption
