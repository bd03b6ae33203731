"""The wind-driven large-eddy simulation of Legay et al. (2024): a NetCDF file without any attributes.

Variables are t [s], z [m] (cell centers, bottom first), b [m s-2], u and v [m s-1]; forcing and rotation
are not in the file. What its content says of them (256 cells over 600 m, 240 hours):

- the buoyancy of the column changes by -4.87e-9 m2 s-3, the same on every day: the surface flux of the
  run, 5e-9 m2 s-3, leaves the column (less what enters through the bottom), so it is negative here;
- the momentum of the column turns with f = 1e-4 s-1 and closes, hour by hour, with a constant stress of
  (4.61e-4, -0.37e-4) +- 0.12e-4 m2 s-2: eastward, but 15 % more than the 4e-4 m2 s-2 of the run's
  parameters. The parameters are the default; pass the other value to close the budget of the file;
- N² is 3.0e-6 s-2 at the start.

Source: Legay et al. (2025, preprint 2024), J. Adv. Model. Earth Syst. 17, e2024MS004243.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

from .. import constants
from ..case import Case
from ..forcing import ConstantForcing, SurfaceFluxes
from ..grid import Grid
from ..observations import Observations
from ..physics.equation_of_state import LinearEquationOfState
from ..state import State
from .errors import check_increasing, check_possible, names_its_file
from .netcdf import Contents, read_contents


@names_its_file("the file of Legay et al.")
def read_legay(
    path,
    *,
    stress_u: float = 4e-4 * constants.REFERENCE_DENSITY,
    stress_v: float = 0.0,
    surface_buoyancy_flux: float = -5e-9,
    coriolis_parameter: float = 1e-4,
    thermal_expansion: float = 2e-4,
    reference_temperature: float = 20.0,
) -> tuple[Case, Observations]:
    """Read the case and its profiles; temperature follows from b = g alpha (T - T_0).

    Args:
        path: `LES_windDominant_results.nc`, or a file with the same variables.
        stress_u, stress_v: stress on the water [N m-2].
        surface_buoyancy_flux: buoyancy that enters through the surface [m2 s-3]; negative cools.
        coriolis_parameter: f [s-1].
        thermal_expansion: alpha [K-1].
        reference_temperature: T_0, where the buoyancy is zero [degC].

    Returns:
        The case on the grid of the file, and the profiles of temperature, u and v at all times.

    Raises:
        FileNotFoundError: no such file.
        FileFormatError: a variable that is missing, of another shape, not finite or out of range.
    """
    file = read_contents(path)
    z, time = (_axis(file, name) for name in ("z", "t"))
    grid = _grid(file, z)
    equation_of_state = LinearEquationOfState(
        thermal_expansion=thermal_expansion, reference_temperature=reference_temperature
    )
    buoyancy_per_kelvin = constants.GRAVITY * thermal_expansion
    values = {name: _profiles(file, name, (time.size, z.size)) for name in ("b", "u", "v")}
    profiles = {"temperature": reference_temperature + values.pop("b") / buoyancy_per_kelvin, **values}
    for name, found in profiles.items():
        check_possible(path, "b" if name == "temperature" else name, name, found)
    heat_per_kelvin = constants.REFERENCE_DENSITY * constants.HEAT_CAPACITY
    arrays: dict[str, Any] = {name: jnp.asarray(values, dtype=float) for name, values in profiles.items()}
    case = Case(
        grid=grid,
        initial_state=State.from_profiles(grid, **{name: values[0] for name, values in arrays.items()}),
        forcing=ConstantForcing(
            SurfaceFluxes(
                stress_u=stress_u,
                stress_v=stress_v,
                heat_flux=surface_buoyancy_flux / buoyancy_per_kelvin * heat_per_kelvin,
            )
        ),
        coriolis_parameter=coriolis_parameter,
        equation_of_state=equation_of_state,
        duration=float(time[-1] - time[0]),
        name="legay_wind_dominant",
    )
    observations = Observations(
        time=jnp.asarray(time - time[0], dtype=float),
        z=grid.z_center,
        profiles=arrays,
        name=case.name,
        source="LES",
    )
    return case, observations


def _grid(file: Contents, z: np.ndarray) -> Grid:
    thickness = np.diff(z)
    if np.ptp(thickness) > 1e-3 * thickness.mean() or abs(z[-1] + 0.5 * thickness.mean()) > 1e-3 * abs(z[0]):
        raise file.error(
            "z",
            "centers of equal cells up to the surface at 0 m",
            f"{z[0]:g} to {z[-1]:g} m with steps of {thickness.min():g} to {thickness.max():g} m",
            "this is not the file of Legay et al.; use a CF NetCDF with a mapping",
        )
    return Grid.uniform(float(z[-1] - z[0] + thickness.mean()), z.size)


def _axis(file: Contents, name: str) -> np.ndarray:
    if name not in file or len(file[name].dims) != 1 or file[name].shape[0] < 3:
        expected = "a variable with one dimension and at least 3 values"
        got = "another shape" if name in file else f"only {file.listing}"
        raise file.error(name, expected, got, "this is not the file of Legay et al.")
    values = file[name].numbers()
    check_increasing(file.path, name, values)
    return values


def _profiles(file: Contents, name: str, shape: tuple[int, int]) -> np.ndarray:
    if name not in file or file[name].shape != shape:
        expected, got = f"a variable of shape (t, z) = {shape}", file[name].shape if name in file else "none"
        raise file.error(name, expected, got, "this is not the file of Legay et al.")
    values = file[name].numbers()
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        got = f"{values[tuple(bad[0])]} at record {bad[0][0]}, level {bad[0][1]}"
        raise file.error(name, "finite values", got, "the file is damaged")
    return values
