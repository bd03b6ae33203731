"""Build a case and its observations from a dataset with the package's names, for all readers."""

import dataclasses
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .. import constants
from .._types import warn_of_input
from ..column.case import Case
from ..column.forcing import FLUXES, AbstractForcing, ConstantForcing, SurfaceFluxes, TimeSeriesForcing
from ..column.grid import Grid
from ..column.observations import Observations
from ..column.state import State
from ..column.terms import BottomHeat, DriftProfiles, DriftVector, DriftVectors, Interior
from ..column.time_series import TimeSeries
from ..physics import AbstractEquationOfState, LinearEquationOfState, TwoBandAbsorption
from ..physics.stratification import coriolis_parameter as coriolis_parameter_at
from ..plausibility.budgets import heat_budget
from ..quantities import quantity_of
from .errors import check_declared, name_of, names_its_file
from .sea_water import MIDDLE_LATITUDE, SalinityGuess, modelled_water, salinity_at
from .series import Series, on_common_times
from .times import describe, is_dated, seconds_since
from .variables import error_in, error_of, listing, name_in_file
from .yaml_file import NAMES

if TYPE_CHECKING:
    import xarray as xr

WATER = ("temperature", "salinity", "u", "v")
STOKES_DRIFT = ("stokes_drift_u", "stokes_drift_v")
_NUMBERS = "thermal_expansion haline_contraction reference_temperature reference_salinity gravity"
_STATED: dict[str, tuple[type, list[str]]] = {
    "equation_of_state": (LinearEquationOfState, [*_NUMBERS.split(), "reference_density", "heat_capacity"]),
    "absorption": (TwoBandAbsorption, ["infrared_fraction", "infrared_depth", "visible_depth"]),
}
"""Classes of the parts of a case that attributes of a dataset describe, and names of these attributes."""
_BACKGROUND = ("background_viscosity", "background_diffusivity")
# These three fluxes are always set, so that all cases from observation files share one structure and with it
# the compiled functions.
_ALWAYS = ("stress_u", "stress_v", "heat_flux")


@names_its_file("a dataset of observations")
def case_from_dataset(
    dataset: "xr.Dataset",
    *,
    equation_of_state: AbstractEquationOfState | None = None,
) -> tuple[Case, Observations]:
    """Build a case, and the observations to compare it with, from a dataset of `open_observations`.

    The case lasts from the first record with complete profiles to the last record. The faces of its grid lie
    midway between the levels (or at `z_lower` and `z_upper`), the uppermost at the surface; initial values
    are interpolated linearly to its centers. Attributes `background_viscosity` and `background_diffusivity`
    [m2 s-1] become those of the case.
    If the profiles show heat diffusing out through the bottom down the initial gradient, as in a simulation
    that prescribes this gradient, the case prescribes it too.

    Args:
        dataset: profiles over `time` and `z`, surface fluxes and Stokes drift over other times or constant.
            Attributes are constants of the water, `coriolis_parameter` [s-1], a constant `salinity` [g kg-1]
            if there are no profiles of it, and whether `velocities` are eulerian or lagrangian means.
        equation_of_state: instead of the linear one with the constants of the attributes.

    Raises:
        FileFormatError: no temperature, no complete profile or none after it, levels above the surface, no
            forcing, fluxes that do not overlap, no latitude, or a constant out of range.
    """
    dataset = dataset.sortby("z").transpose(..., "time", "z")
    time, z = dataset["time"], dataset["z"]
    arrays = {str(name): var for name, var in dataset.data_vars.items() if var.dims == ("time", "z")}
    profiles = {name: var for name, var in arrays.items() if name not in STOKES_DRIFT}
    if "temperature" not in profiles:
        expected, advice = "profiles over time and z", "add them under this name"
        raise error_in(dataset, "temperature", expected, f"only {listing(dataset)}", advice)
    first = _first_complete(dataset, profiles)
    after = dataset.isel(time=slice(first, None))
    seconds = _since(after["time"].values, time.values[first])
    length = float(seconds[-1])
    if length <= 0.0:
        got, advice = (
            f"only {describe(time, -1)}",
            "add a record, even without values, at the end of the case",
        )
        raise error_of(time, "a complete profile and later ones", got, advice)
    grid = _grid_around(dataset)
    state = _initial_state(grid, after, list(profiles))
    start_time = None
    # Files of idealised cases count from an arbitrary date.
    if is_dated(time) and dataset.attrs.get("start_time") != "":
        start_time = str(time.values[first].astype("M8[us]").astype(object))
    optional: dict[str, Any] = {**_number_attributes(dataset, Case, _BACKGROUND)}
    for axis, largest in (("latitude", 90.0), ("longitude", 360.0)):
        if axis in dataset.coords and abs(degrees := float(dataset[axis])) <= largest:
            optional[axis] = degrees
    case = Case(
        grid=grid,
        initial_state=state,
        forcing=_forcing(dataset, time.values[first]),
        coriolis_parameter=_rotation(dataset),
        interior=_waves(dataset, grid, time.values[first]),
        equation_of_state=_water(dataset, equation_of_state, state),
        absorption=part_from_attributes(dataset, "absorption"),
        **optional,
        duration=length,
        name=str(dataset.attrs.get("case", "case")),
        start_time=start_time,
    )
    words = " ".join(str(dataset.attrs.get(key, "")) for key in ("title", "source"))
    observations = Observations(
        time=jnp.asarray(seconds, dtype=float),
        z=jnp.asarray(z.values, dtype=float),
        profiles={name: jnp.asarray(after[name].values, dtype=float) for name in profiles},
        uncertainty=_uncertainties(dataset, profiles),
        name=case.name,
        source="LES" if re.search(r"(?i:large[- ]eddy)|\bLES", words) else "observations",
    )
    return _with_heat_through_bottom(dataset, case, observations), observations


WATER_NAMES = {
    ("temperature", "in_situ"): "in_situ_temperature",
    ("temperature", "potential"): "potential_temperature",
    ("salinity", "practical"): "practical_salinity",
}
"""Names of temperatures and salinities other than the model's variables, by quantity and kind."""


@names_its_file("a dataset of observations")
def observations_from_dataset(
    dataset: "xr.Dataset",
    *,
    start_time: str,
    conservative: bool = True,
    salinity: SalinityGuess | None = None,
    name: str | None = None,
) -> Observations:
    """Build observations from a dataset of `open_observations` with dates.

    Temperature conversion needs a salinity. Where none was measured, the time mean at neighbouring depths is
    used, or 35 if there is none: 1 g/kg changes the result by 0.02 K at 10 degC and by 0.04 K at 30 degC.
    Without any measured salinity, the observations contain none.

    Args:
        dataset: profiles over `time` and `z` or `level`.
        start_time: ISO 8601 time, universal time, at which the time of the observations is 0.
        conservative: convert to conservative temperature and absolute salinity, the variables of the model.
        salinity: practical salinity for the conversion where none was measured: a number, or increasing
            heights [m] and values.
        name: of the observations; by default that of the dataset.

    Raises:
        FileFormatError: no dates, times that the precision cannot resolve, or no position for absolute
            salinity.
    """
    quantities = {name: quantity for (quantity, _), name in WATER_NAMES.items()}
    arrays = {str(name): var for name, var in dataset.data_vars.items() if var.ndim == 2}
    profiles = {quantities.get(name, name): var.values for name, var in arrays.items()}
    if conservative and {"temperature", "salinity"} & profiles.keys():
        profiles |= _modelled(dataset, profiles, salinity)
    per_mass = {key: var.attrs for key, var in arrays.items() if "of_density" in var.attrs}
    if per_mass and {"temperature", "salinity"} <= profiles.keys():
        import gsw  # takes long

        # Convert amounts per mass of water (floats, bottles) with its potential density, or that of reference
        # if unknown. Source: Thierry and Bittig (2021), Argo quality control of oxygen, doi:10.13155/46542.
        density = 1000.0 + gsw.sigma0(profiles["salinity"], profiles["temperature"])
        relative = np.where(np.isfinite(density), density / constants.REFERENCE_DENSITY, 1.0)
        for key, attrs in per_mass.items():
            offset = attrs["offset"]
            profiles[key] = (profiles[key] - offset) * relative ** attrs["of_density"] + offset
    seconds = seconds_since(dataset["time"], start_time)
    time = jnp.asarray(seconds, dtype=float)
    if np.any(np.diff(np.asarray(time)) <= 0.0):
        expected = f"times that {time.dtype} resolves as seconds since start_time, {start_time}"
        got = f"records {np.diff(seconds).min():g} s apart, up to {seconds[-1]:g} s later"
        advice = "choose a start_time close to them, or call tunax_lite.configure() for double precision"
        raise error_of(dataset["time"], expected, got, advice)
    return Observations(
        time=time,
        z=jnp.asarray(dataset["z"].values, dtype=float),
        profiles={key: jnp.asarray(values, dtype=float) for key, values in profiles.items()},
        name=name or str(dataset.attrs.get("case", "observations")),
        rejected={quantities.get(key, key): int(var.attrs.get("rejected", 0)) for key, var in arrays.items()},
    )


def _modelled(
    dataset: "xr.Dataset", profiles: Mapping[str, np.ndarray], requested: SalinityGuess | None
) -> dict[str, np.ndarray]:
    """Conservative temperature and absolute salinity, as far as the dataset has temperature or salinity."""
    kinds = {"temperature": "in_situ", "salinity": "practical"}
    for (quantity, kind), name in WATER_NAMES.items():
        kinds |= {quantity: kind} if name in dataset else {}
    for quantity, kind in {"temperature": "conservative", "salinity": "absolute"}.items():
        if quantity in dataset:  # under this name CF files hold any kind, which the standard name states
            standard_name = dataset[quantity].attrs.get("standard_name")
            kinds[quantity] = NAMES["oceansites"][quantity]["kinds"].get(standard_name, kind)
    missing = np.full_like(next(iter(profiles.values())), np.nan)
    measured, temp = (profiles.get(name, missing) for name in ("salinity", "temperature"))
    heights = np.broadcast_to(dataset["z"].values, missing.shape)
    is_placed = {"latitude", "longitude"} <= set(dataset.coords)
    if not is_placed and kinds["salinity"] == "practical" and np.isfinite(measured).any():
        advice = "add them to the file, give `position`, or conservative=False"
        expected = "the position, for absolute salinity"
        raise error_in(dataset, "LATITUDE, LONGITUDE", expected, "none", advice)
    temperature, absolute = modelled_water(
        temp,
        salinity_at(heights, measured, requested, name=name_of(dataset), temperature=temp),
        heights,
        temperature_kind=kinds["temperature"],
        salinity_kind=kinds["salinity"],
        longitude=dataset["longitude"].values.reshape(-1, 1) if is_placed else 0.0,
        latitude=dataset["latitude"].values.reshape(-1, 1) if is_placed else MIDDLE_LATITUDE,
        anomaly=is_placed,
    )
    modelled = {"temperature": temperature, "salinity": np.where(np.isnan(measured), np.nan, absolute)}
    return {key: values for key, values in modelled.items() if key in profiles}


def _since(times: np.ndarray, start: Any) -> np.ndarray:
    """Times [s] since a start, both dates or both numbers."""
    return (times - start) / np.timedelta64(1_000_000, "us") if times.dtype.kind == "M" else times - start


def _first_complete(dataset: "xr.Dataset", profiles: Mapping[str, "xr.DataArray"]) -> int:
    """Index of the first record with complete profiles; warns if it is not the first of all."""
    time = dataset["time"]
    full = {name: np.asarray(np.isfinite(var.values).all(axis=1)) for name, var in profiles.items()}
    complete = np.logical_and.reduce([*full.values()])
    if not np.any(complete):
        incomplete = sorted(full, key=lambda name: full[name].any())[0]
        advice = "fill the gaps, choose fewer levels, or leave the variable out of the mapping"
        expected = "a time at which all profiles are without gaps"
        raise error_of(profiles[incomplete], expected, "none", advice)
    first = int(np.argmax(complete))
    if first:
        incomplete = " and ".join(name for name, is_full in full.items() if not is_full[:first].all())
        note = (
            f"the run starts at {describe(time, first)}: {first} earlier profiles have gaps in {incomplete}"
        )
        warn_of_input([f"{name_of(dataset)}: {note}"])
    return first


def _grid_around(dataset: "xr.Dataset") -> Grid:
    """Grid with faces midway between levels or at their bounds."""
    z = dataset["z"].values
    has_bounds = "z_upper" in dataset.coords
    if has_bounds:
        faces = np.append(dataset["z_lower"], dataset["z_upper"][-1])
    else:
        middle = 0.5 * (z[1:] + z[:-1])
        faces = np.concatenate([[2.0 * z[0] - middle[0]], middle, [0.0]])
    if abs(faces[-1]) > 1e-6 * abs(faces[0]) or not np.all(np.diff(faces) > 0.0):
        expected = "cells of positive thickness from the bottom to the surface"
        got = f"faces from {faces[0]:g} to {faces[-1]:g} m around levels from {z[0]:g} to {z[-1]:g} m"
        raise error_of(dataset["z"], expected, got, "check the levels and their bounds")
    faces[-1] = 0.0
    uniform = Grid.uniform(-float(faces[0]), z.size)
    slack = 1e-6 * np.diff(faces).min()
    if not has_bounds and np.allclose(uniform.z_face, faces, rtol=0.0, atol=slack):
        return uniform
    return Grid(faces)


def _initial_state(grid: Grid, dataset: "xr.Dataset", names: Collection[str]) -> State:
    faces, z = np.asarray(grid.z_face), dataset["z"].values
    centers = 0.5 * (faces[1:] + faces[:-1])
    initial = {name: dataset[name].values[0] for name in names}
    if not np.allclose(centers, z, rtol=0.0, atol=1e-6 * abs(z[0])):
        initial = {name: np.interp(centers, z, values) for name, values in initial.items()}
    arrays = {name: jnp.asarray(values, dtype=float) for name, values in initial.items()}
    water: dict[str, Any] = {"salinity": _number(dataset, "salinity", dataset.attrs.get("salinity", 35.0))}
    water |= {name: arrays.pop(name) for name in WATER if name in arrays}
    return State.from_profiles(grid, **water, tracers=arrays)


def _with_heat_through_bottom(dataset: "xr.Dataset", case: Case, observations: Observations) -> Case:
    """Prescribe the initial bottom gradient, and warn of it, where it closes the heat budget."""
    if case.background_diffusivity is None or (budget := heat_budget(case, observations)) is None:
        return case
    gained, added = budget
    z, first = np.asarray(observations.z), np.asarray(observations.profiles["temperature"])[0]
    per_kelvin = float(case.equation_of_state.reference_density * case.equation_of_state.heat_capacity)
    out = per_kelvin * float(case.background_diffusivity) * float((first[1] - first[0]) / (z[1] - z[0]))
    # The budget is closer to a prescribed gradient than to an insulated bottom.
    if not 0.5 < (added - gained) / (out or np.inf) < 1.5:
        return case
    note = f"{name_of(dataset)}: heat of {out:.3g} W m-2 leaves through the bottom, down the initial gradient"
    note += f" with the background diffusivity: the profiles change by {gained:.4g} W m-2, of which the"
    warn_of_input([f"{note} surface explains {added:.4g} W m-2"])
    heat = BottomHeat(heat_flux=-out)
    return eqx.tree_at(lambda c: c.interior.bottom_heat, case, heat, is_leaf=lambda x: x is None)


def _series_or_number(variable: "xr.DataArray", start: Any) -> Series | float:
    """Values over time [s] since the start of the case, or a number if the variable has no time."""
    if not variable.dims:
        return float(variable)
    return Series(_since(variable[str(variable.dims[0])].values, start), variable.values)


def _waves(dataset: "xr.Dataset", grid: Grid, start: Any) -> Interior:
    """Stokes drift, interpolated from the levels to the cells, and extrapolated linearly to the surface."""
    drift: dict[str, Series | float] = dict.fromkeys(STOKES_DRIFT, 0.0)
    for key in [key for key in STOKES_DRIFT if key in dataset]:
        values = dataset[key].values
        drift[key] = (
            Series(np.array([-1e12, 1e12]), np.stack([values, values]))  # constant
            if values.ndim == 1
            else _series_or_number(dataset[key], start)
        )
    if not any(isinstance(series, Series) for series in drift.values()):
        return Interior()
    time, values = on_common_times(drift, 0.0)
    z, centers = dataset["z"].values, np.asarray(grid.z_center)
    profiles = [np.broadcast_to(values[key], (time.size, z.size)) for key in STOKES_DRIFT]
    cells = [np.stack([np.interp(centers, z, row) for row in each]) for each in profiles]
    rising = -z[-1] / (z[-1] - z[-2])
    at_surface = [each[:, -1] + rising * (each[:, -1] - each[:, -2]) for each in profiles]

    def over_time(kind: type, parts: list[np.ndarray]) -> TimeSeries:
        arrays = kind(*(jnp.asarray(part, dtype=float) for part in parts))
        return TimeSeries(jnp.asarray(time, dtype=float), arrays, "Stokes drift")

    waves = DriftProfiles(over_time(DriftVectors, cells), over_time(DriftVector, at_surface))
    return Interior(stokes_drift=waves, velocities=_kind_of_means(dataset))


def _kind_of_means(dataset: "xr.Dataset") -> str:
    """Kind of the mean velocities, "eulerian" or "lagrangian", by attributes; warns if it is assumed."""
    velocities = [dataset[name] for name in ("u", "v") if name in dataset]
    named = dataset.attrs.get("velocities")
    others = {key: text for key, text in dataset.attrs.items() if key != "case"}
    sources = [{"velocities": named}] if named else [*(var.attrs for var in velocities), others]
    words = (str(text).lower() for attributes in sources for text in attributes.values())
    means = sorted({mean for text in words for mean in re.findall(r"\b(eulerian|lagrangian)\b", text)})
    if len(means) > 1:
        expected = "either Eulerian or Lagrangian mean velocities"
        advice = "set velocities to one of them"
        raise error_in(dataset, "u, v", expected, "attributes with both words", advice)
    if velocities and not means:
        note = (
            "no attribute states whether velocities contain the Stokes drift (lagrangian); assumed eulerian"
        )
        warn_of_input([f"{name_of(dataset)}: {note}"])
    return (means or ["eulerian"])[0]


def _number(dataset: "xr.Dataset", key: str, value: Any) -> float:
    try:
        number = np.nan if np.iscomplexobj(value) else float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise error_in(dataset, f"attribute {key}", "a number", f"'{value}'", "repair it")
    return number


def _number_attributes(dataset: "xr.Dataset", kind: type, names: Sequence[str]) -> dict[str, float]:
    numbers = {name: _number(dataset, name, dataset.attrs[name]) for name in names if name in dataset.attrs}
    for name, value in numbers.items():
        check_declared(name_of(dataset), f"attribute {name}", kind, name, value)
    return numbers


def part_from_attributes(dataset: "xr.Dataset", part: str) -> Any:
    """Build the `equation_of_state` or `absorption` of a case with constants from the attributes."""
    kind, names = _STATED[part]
    return kind(**_number_attributes(dataset, kind, names))


def _water(
    dataset: "xr.Dataset", requested: AbstractEquationOfState | None, state: State
) -> AbstractEquationOfState:
    """Choose the equation of state; warns of constants that are assumed or not used."""
    path, names = name_of(dataset), [key for key in _STATED["equation_of_state"][1] if key in dataset.attrs]
    if requested is not None:
        warn_of_input([f"{path}: the mapping replaces {', '.join(sorted(names))} of the file"] * bool(names))
        return requested
    water = part_from_attributes(dataset, "equation_of_state")
    units = {field.name: field.metadata.get("unit") for field in dataclasses.fields(water)}
    acting = ["thermal_expansion", "reference_density", "heat_capacity", "gravity"]
    acting += ["haline_contraction"] if np.ptp(np.asarray(state.salinity)) > 0.0 else []
    missing = [name for name in acting if name not in names]
    if not missing:
        return water
    listed = ", ".join(f"{name} = {float(getattr(water, name)):g} {units[name]}" for name in missing)
    advice = "give equation_of_state in the mapping, or attributes in the file"
    warn_of_input([f"{path}: assumed for a linear equation of state: {listed}; {advice}"])
    return water


def _uncertainties(dataset: "xr.Dataset", profiles: Mapping[str, "xr.DataArray"]) -> dict[str, jax.Array]:
    numbers = {}
    for key, variable in profiles.items():
        if "uncertainty" in variable.attrs:
            attribute = f"{name_in_file(variable)}.uncertainty"
            value = _number(dataset, attribute, variable.attrs["uncertainty"])
            if value <= 0.0:
                raise error_in(dataset, f"attribute {attribute}", "a positive number", value, "repair it")
            numbers[key] = jnp.asarray(value, dtype=float)
    return numbers


def _rotation(dataset: "xr.Dataset") -> float:
    """Coriolis parameter [s-1] of the attributes, or else that of the latitude."""
    numbers = _number_attributes(dataset, Case, ("coriolis_parameter",))
    if numbers:
        return numbers["coriolis_parameter"]
    latitude = float(dataset.coords.get("latitude", np.nan))
    if not abs(latitude) <= 90.0:
        expected = "a latitude of -90 to 90 degrees north, or an attribute coriolis_parameter"
        got = dataset.attrs.get("latitude", "none") if np.isnan(latitude) else f"{latitude:g}"
        raise error_in(dataset, "latitude", expected, got, "give one of them")
    return float(coriolis_parameter_at(latitude))


def _forcing(dataset: "xr.Dataset", start: Any) -> AbstractForcing:
    """Fluxes over time [s] since the start, or constants."""
    fluxes: dict[str, Series | float] = {}
    for flux in FLUXES:
        if (name := quantity_of(flux).name) in dataset:
            fluxes[flux] = _series_or_number(dataset[name], start)
    if not fluxes:
        expected = f"variables such as {', '.join('surface_' + flux for flux in _ALWAYS)}"
        advice = "give 'fluxes' in the mapping; 0.0 is no flux"
        raise error_in(dataset, "surface fluxes", expected, "none", advice)
    fluxes = dict.fromkeys(_ALWAYS, 0.0) | fluxes
    series = {flux: each for flux, each in fluxes.items() if isinstance(each, Series)}
    numbers = {flux: each for flux, each in fluxes.items() if not isinstance(each, Series)}
    if all(np.all(each.values == each.values[0]) for each in series.values()):  # as in idealised simulations
        numbers |= {flux: float(each.values[0]) for flux, each in series.items()}
        return ConstantForcing(SurfaceFluxes(**numbers))
    try:
        time, values = on_common_times(series, 0.0)
    except ValueError:
        expected = "at least two times that all fluxes cover"
        advice = "extend the series, or give a number instead"
        raise error_in(dataset, "time", expected, "fewer", advice) from None
    arrays = {flux: jnp.asarray(array, dtype=float) for flux, array in values.items()}
    return TimeSeriesForcing.from_values(jnp.asarray(time, dtype=float), **numbers, **arrays)
