"""Large-eddy simulations of Legay et al. (NetCDF), in files that hold nothing but profiles.

Variables without attributes, t [s], z [m] (cell centers, bottom first), b [m s-2], u and v [m
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

import re

import numpy as np

from .. import constants
from ..column.case import Case
from ..column.forcing import ConstantForcing, SurfaceFluxes
from ..column.grid import Grid
from ..column.observations import Observations
from ..physics.equation_of_state import LinearEquationOfState
from .axes import stem_of
from .errors import check_increasing, check_names, check_possible, names_its_file
from .les import HEAT_PER_KELVIN, case_of_profiles
from .netcdf import Contents, read_contents
from .units import Conversions, as_conversion

_STRESS, _BUOYANCY_FLUX = 4e-4, -5e-9
"""Of the wind-driven simulation [m2 s-2, m2 s-3]."""


@names_its_file("the file of Legay et al.")
def read_legay(
    path,
    *,
    stress_u: float | None = None,
    stress_v: float = 0.0,
    surface_buoyancy_flux: float | None = None,
    coriolis_parameter: float = 1e-4,
    thermal_expansion: float = 2e-4,
    reference_temperature: float = 20.0,
    units: Conversions | None = None,
) -> tuple[Case, Observations]:
    """Read the case and its profiles; temperature follows from b = g alpha (T - T_0).

    Args:
        path: `LES_windDominant_results.nc`, or a file with the same variables.
        stress_u, stress_v: stress on the water [N m-2]; by default that of the wind-driven simulation, if
            the profiles gain about as much momentum.
        surface_buoyancy_flux: downward surface buoyancy flux [m2 s-3], negative for cooling; by default that
            of the same simulation, if the profiles lose about as much buoyancy.
        coriolis_parameter: f [s-1].
        thermal_expansion: alpha [K-1].
        reference_temperature: T_0, the temperature of zero buoyancy [degC].
        units: units or conversions of `temperature`, `u` and `v`.

    Returns:
        The case on the grid of the file, and the profiles of temperature, u and v at all times.

    Raises:
        FileFormatError: a variable that is missing, of unexpected shape, not finite or out of range, or
            profiles of another simulation than the wind-driven one without its forcing.
    """
    file = read_contents(path)
    z, time = (_array(file, name) for name in ("z", "t"))
    thickness = np.diff(z)
    mean = thickness.mean()
    if np.ptp(thickness) > 1e-3 * mean or abs(z[-1] + 0.5 * mean) > 1e-3 * abs(z[0]):
        expected = "centers of equal cells up to the surface at 0 m"
        got = f"{z[0]:g} to {z[-1]:g} m with steps of {thickness.min():g} to {thickness.max():g} m"
        raise file.error("z", expected, got, f"{_NOT_LEGAY}; use a CF NetCDF with a mapping")
    buoyancy_per_kelvin = constants.GRAVITY * thermal_expansion
    values = {name: _array(file, name, (time.size, z.size)) for name in ("b", "u", "v")}
    is_given = stress_u is not None, surface_buoyancy_flux is not None
    _check_budgets(
        file, time, {k: mean * v.sum(axis=1) for k, v in values.items()}, coriolis_parameter, is_given
    )
    stress_u = _STRESS * constants.REFERENCE_DENSITY if stress_u is None else stress_u
    surface_buoyancy_flux = _BUOYANCY_FLUX if surface_buoyancy_flux is None else surface_buoyancy_flux
    profiles = {"temperature": reference_temperature + values.pop("b") / buoyancy_per_kelvin, **values}
    check_names("units", units or {}, profiles)
    for name, found in profiles.items():
        of_file = "degC" if name == "temperature" else "m s-1"
        found = profiles[name] = as_conversion((units or {}).get(name)).apply(
            path, name, name, found, of_file
        )
        check_possible(path, "b" if name == "temperature" else name, name, found)
    heat_flux = surface_buoyancy_flux / buoyancy_per_kelvin * HEAT_PER_KELVIN
    fluxes = SurfaceFluxes(stress_u=stress_u, stress_v=stress_v, heat_flux=heat_flux)
    return case_of_profiles(
        Grid.uniform(float(z[-1] - z[0] + mean), z.size),
        time - time[0],
        profiles,
        forcing=ConstantForcing(fluxes),
        coriolis_parameter=coriolis_parameter,
        equation_of_state=LinearEquationOfState(
            thermal_expansion=thermal_expansion, reference_temperature=reference_temperature
        ),
        name=name_of_legay(path),
    )


def _check_budgets(
    file: Contents,
    time: np.ndarray,
    contents: dict[str, np.ndarray],
    coriolis_parameter: float,
    is_given: tuple[bool, bool],
) -> None:
    """Raise `FileFormatError` if a forcing that is not given is not what changes the contents of the column.

    Contents are integrals over depth. They give the stress as that constant which turns momentum with the
    rotation and fits its changes between records best.
    """
    gained = (contents["b"][-1] - contents["b"][0]) / (time[-1] - time[0])
    turned = np.exp(1j * coriolis_parameter * time)
    changes = np.diff((contents["u"] + 1j * contents["v"]) * turned)
    # The integral of the turning stress; its midpoint is exact for f dt << 1.
    pulses = np.diff(time) * np.exp(0.5j * coriolis_parameter * (time[1:] + time[:-1]))
    stress = np.sum(np.conj(pulses) * changes) / np.sum(np.abs(pulses) ** 2)
    stress_known, buoyancy_known = is_given
    wrong = {
        # 15 % of the stress, and 3 % of the buoyancy, are missing in the file of the wind-driven simulation.
        "u": not stress_known and abs(stress - _STRESS) > 0.5 * _STRESS,
        "b": not buoyancy_known and abs(gained - _BUOYANCY_FLUX) > 0.3 * abs(_BUOYANCY_FLUX),
    }
    if any(wrong.values()):
        density = constants.REFERENCE_DENSITY
        expected = f"the wind-driven simulation, with {_STRESS:g} m2 s-2 and {_BUOYANCY_FLUX:g} m2 s-3"
        got = (
            f"profiles that a stress of ({stress.real:.3g}, {stress.imag:.3g}) m2 s-2 and a buoyancy flux of "
            f"{gained:.3g} m2 s-3 into the surface explain"
        )
        advice = (
            f"give the forcing of the run (stress_u, such as {stress.real * density:.3g} N m-2, and "
            f"surface_buoyancy_flux, such as {gained:.3g})"
        )
        raise file.error("b" if wrong["b"] else "u", expected, got, advice)


def name_of_legay(path) -> str:
    """Name of the case in a file, from that of the file: `LES_windDominant_results.nc` is wind_dominant."""
    found = re.search(r"([A-Za-z]+?)_?dominant", stem_of(path), re.IGNORECASE)
    return f"legay_{found[1].lower()}_dominant" if found else f"legay_{stem_of(path)}"


_NOT_LEGAY = "this is not the file of Legay et al."


def _array(file: Contents, name: str, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """An increasing axis, or finite values of a given shape."""
    expected = f"a variable of shape (t, z) = {shape}"
    if shape is None:
        expected = "a variable with one dimension and at least 3 values"
        shape = file[name].shape if name in file and file[name].values.ndim == 1 else (3,)
    if name not in file or file[name].shape != shape or shape[0] < 3:
        got = file[name].shape if name in file else f"none among {file.listing}"
        raise file.error(name, expected, got, _NOT_LEGAY)
    values = file[name].numbers()
    if len(shape) == 1:
        check_increasing(file.path, name, values)
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        got = f"{values[tuple(bad[0])]} at record {bad[0][0]}, level {bad[0][1]}"
        raise file.error(name, "finite values", got, "the file is damaged")
    return values
