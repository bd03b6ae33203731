"""Observables of a column other than state variables, under the names of `QUANTITIES`.

An observable is a profile (buoyancy) or a scalar (mixed layer depth): a differentiable function of the state,
the grid and the equation of state, with the vertical first and the batch last. Diagnostics, misfits, figures
and tables share the names, which may contain the depth of a layer, or the threshold and the reference depth
of a mixed layer:

heat_content_above_100m            of the water above 100 m
mixed_layer_depth                  0.2 K from that at 10 m (lakes, shallow water: 1 m), colder or warmer
mixed_layer_depth_0.5K_from_5m     0.5 K from that at 5 m
mixed_layer_depth_density_0.125kg  0.125 kg m-3 from the density at 10 m (1 m)
mixed_layer_depth_0.05K_from_0m    0.05 K from the uppermost cell

A depth whose criterion is met nowhere is NaN: the layer reaches deeper than the lowest cell, by an unknown
amount. Depths by temperature and density are interpolated linearly between the two cells around the crossing.
Their derivative is that of the crossing between these two cells: it excludes jumps to another pair of cells,
and is large where the water below the layer is weakly stratified. The depth of maximum N² is always at a
face: its derivative is 0, and a calibration with no other target does not move.
"""

import dataclasses
import functools
import re
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._types import CenterArray, Scalar
from ..physics.equation_of_state import AbstractEquationOfState, carries_conservative_temperature
from ..physics.stratification import buoyancy_frequency_squared, default_reference_depth, mixed_layer_depth
from ..physics.teos10 import surface_temperature
from ..quantities import QUANTITIES, Quantity
from .grid import Grid
from .state import State


class ColumnState(eqx.Module):
    """Modelled or observed water column, from which observables are computed.

    A batch, such as the times of a run, may share the grid of one column. Raises `ValueError` for profiles
    whose first axis does not have one value per cell.
    """

    state: State
    grid: Grid
    equation_of_state: AbstractEquationOfState

    def __post_init__(self):
        self.grid = self.grid.matched_to(self.state.temperature)

    def integral(self, values: CenterArray, depth: float | None) -> Scalar:
        """Integral [unit m] of cell values from a depth [m], or the bottom, to the surface.

        In a lake, over the volume, divided by the surface area.
        """
        if depth is None:
            return jnp.sum(values * self.grid.cell_volume, axis=0)
        lower = jnp.maximum(self.grid.z_face[:-1], -depth)
        part, area = jnp.maximum(self.grid.z_face[1:] - lower, 0.0), self.grid.cell_area
        return jnp.sum(values * (part if area is None else part * area), axis=0)


def sea_surface_temperature(water: ColumnState) -> Scalar:
    """In-situ temperature of the uppermost cell at surface pressure [degC]: its `potential_temperature`."""
    return potential_temperature(water)[-1]


def potential_temperature(water: ColumnState) -> CenterArray:
    """Potential temperature [degC] of columns with TEOS-10; otherwise the temperature of the state.

    At the surface it equals the in-situ temperature, which an instrument measures; at 100 m it is 0.01 K
    lower. In fresh water the conservative temperature [degC] is 5 to 7 % higher.
    """
    if not carries_conservative_temperature(water.equation_of_state):
        return water.state.temperature
    return surface_temperature(water.state.temperature, water.state.salinity)


def heat_content(water: ColumnState, depth: float | None = None) -> Scalar:
    """rho_0 c_p integral of T above a depth, relative to 0 degC [J m-2]."""
    eos = water.equation_of_state
    return eos.reference_density * eos.heat_capacity * water.integral(water.state.temperature, depth)


def salt_content(water: ColumnState, depth: float | None = None) -> Scalar:
    """rho_0 integral of S above a depth [kg m-2]."""
    return 1e-3 * water.equation_of_state.reference_density * water.integral(water.state.salinity, depth)


def potential_density(water: ColumnState) -> CenterArray:
    """Potential density, referenced to the surface [kg m-3]."""
    temperature, salinity = water.state.temperature, water.state.salinity
    return water.equation_of_state.density(temperature, salinity, jnp.zeros_like(temperature))


def buoyancy(water: ColumnState) -> CenterArray:
    """b = -g (rho - rho_0) / rho_0 of the potential density [m s-2]."""
    temperature, salinity = water.state.temperature, water.state.salinity
    return water.equation_of_state.buoyancy(temperature, salinity, jnp.zeros_like(temperature))


def potential_energy(water: ColumnState, depth: float | None = None) -> Scalar:
    """-rho_0 integral of b z above a depth [J m-2]; mixing of stratified water raises it."""
    moment = water.integral(buoyancy(water) * water.grid.z_center, depth)
    return -water.equation_of_state.reference_density * moment


def potential_energy_anomaly(water: ColumnState, depth: float | None = None) -> Scalar:
    """phi = rho_0 / h integral of (b - mean of b) z above a depth h [J m-3]: energy needed to mix the layer.

    The heights are those of cell centers; a cell cut by the depth contributes its part above.

    Source: Simpson (1981), Phil. Trans. R. Soc. A 302, 531-546, per volume of the layer.
    """
    b, z = buoyancy(water), water.grid.z_center
    thickness = water.integral(jnp.ones_like(b), depth)
    mean = water.integral(b, depth) / thickness
    height = water.integral(z + 0.0 * b, depth) / thickness
    moment = water.integral((b - mean) * (z - height), depth)
    return water.equation_of_state.reference_density * moment / thickness


def kinetic_energy(water: ColumnState, depth: float | None = None) -> Scalar:
    """rho_0 integral of (u² + v²) / 2 above a depth [J m-2]."""
    squared = water.state.u**2 + water.state.v**2
    return 0.5 * water.equation_of_state.reference_density * water.integral(squared, depth)


def by_temperature(
    water: ColumnState, difference: float = 0.2, depth: float | None = None, *, bounded: bool = False
) -> Scalar:
    """Depth [m] where the temperature differs by `difference` [K] from that at a reference depth.

    If the criterion is met nowhere, the depth is NaN, or with `bounded` that of the lowest cell.
    """
    options = {"difference": difference, "reference_depth": depth, "bounded": bounded}
    return mixed_layer_depth(water.state.temperature, water.grid, **options)


def by_density(
    water: ColumnState, difference: float = 0.03, depth: float | None = None, *, bounded: bool = False
) -> Scalar:
    """Like `by_temperature`, but by a difference in potential density [kg m-3]."""
    options = {"difference": difference, "reference_depth": depth, "bounded": bounded}
    return mixed_layer_depth(potential_density(water), water.grid, **options)


def by_stratification(water: ColumnState, *, bounded: bool = False) -> Scalar:
    """Depth of the face with the largest N² [m]; NaN, or if `bounded` the bottom, if no N² is positive."""
    n_squared = buoyancy_frequency_squared(water.state, water.grid, water.equation_of_state)
    # Index 0 is the bottom with N² = 0: it is the maximum if no N² is positive.
    squared = jnp.concatenate([jnp.zeros_like(n_squared[:1]), n_squared])
    strongest = jnp.argmax(squared, axis=0)
    faces = jnp.broadcast_to(water.grid.z_face[:-1], squared.shape)
    depth = -jnp.take_along_axis(faces, strongest[None], axis=0)[0]
    return depth if bounded else jnp.where(strongest > 0, depth, jnp.nan)


def ice_thickness(water: ColumnState) -> Scalar:
    """Thickness of the ice [m]; zero without an ice model."""
    return water.state.surface.get("ice_thickness", jnp.zeros_like(water.state.temperature[-1]))


Observable = Callable[[ColumnState], Float[Array, "..."]]
"""Function of the water: a profile on the centers, or a number per column."""
INTEGRALS: dict[str, Callable[..., Float[Array, "..."]]] = {
    each.__name__: each
    for each in (heat_content, salt_content, potential_energy, potential_energy_anomaly, kinetic_energy)
}
"""Integrals, which names may restrict to the water above a depth."""
_LAYERS: dict[str, Callable[..., Scalar]] = {
    "mixed_layer_depth": by_temperature,
    "mixed_layer_depth_density": by_density,
    "mixed_layer_depth_stratification": by_stratification,
}
"""Mixed layer depths, whose criterion may be met nowhere."""
OBSERVABLES: dict[str, Observable] = {
    "buoyancy": buoyancy,
    "potential_density": potential_density,
    "potential_temperature": potential_temperature,
    "sea_surface_temperature": sea_surface_temperature,
    "ice_thickness": ice_thickness,
    **_LAYERS,
    **INTEGRALS,
}
"""Observables by name; `observable` adds names with numbers, such as `heat_content_above_100m`."""

_STATE = ("temperature", "salinity", "u", "v")
MIXED_LAYER_DIFFERENCE = 0.2
"""Default threshold of temperature [K]: de Boyer Montegut et al. (2004), J. Geophys. Res. 109, C12003."""
_THRESHOLDS = {"mixed_layer_depth": ("K", MIXED_LAYER_DIFFERENCE), "mixed_layer_depth_density": ("kg", 0.03)}
"""Depths with a threshold and a reference: unit of the threshold in their names, and its default."""
_NUMBER = r"\d+(?:\.\d+)?"
_ABOVE = re.compile(rf"(?P<name>{'|'.join(INTEGRALS)})_above_(?P<depth>{_NUMBER})m")
_DEPTH = re.compile(
    rf"(?P<name>mixed_layer_depth(?:_density)?)(?:_(?P<threshold>{_NUMBER})(?P<unit>K|kg))?"
    rf"(?:_from_(?P<depth>{_NUMBER})m)?"
)


class Parsed(NamedTuple):
    """A name of the table without numbers, and the numbers that it contained."""

    name: str
    depth: float | None = None  # lower end of a layer, or reference of a mixed layer [m]
    threshold: float | None = None  # of a mixed layer, in its unit


def parse(name: str) -> Parsed:
    """Split a name into the name in the table and its numbers; names without numbers are unchanged.

    Raises `ValueError` for a layer of zero thickness, or a threshold of 0.
    """
    match = _ABOVE.fullmatch(name)
    if match is not None:
        if not float(match["depth"]):
            raise ValueError(f"expected a layer of positive thickness, got {name}; give a depth [m] above 0.")
        return Parsed(match["name"], float(match["depth"]))
    match = _DEPTH.fullmatch(name)
    if match is None:
        return Parsed(name)
    threshold, depth = (None if match[key] is None else float(match[key]) for key in ("threshold", "depth"))
    unit, default = _THRESHOLDS[match["name"]]
    if threshold is not None and (match["unit"] != unit or threshold == 0.0):
        raise ValueError(
            f"expected a threshold of {match['name']} in {unit}, above 0, got {name}; write it like "
            f"{match['name']}_{default:g}{unit}."
        )
    return Parsed(match["name"], depth, threshold)


def variable_of(name: str) -> Quantity | None:
    """Table entry of a name, whose long name mentions the numbers; `None` for a passive tracer."""
    base_name, depth, threshold = parse(name)
    variable = QUANTITIES.get(base_name)
    if variable is None or base_name == name:
        return variable
    if base_name in INTEGRALS:
        text = variable.long_name.replace(" of the column", "").replace(" in the column", "")
        text += f" of the water above {depth:g} m"
    else:
        threshold = _THRESHOLDS[base_name][1] if threshold is None else threshold
        where = "at 10 m (in shallow water 1 m)" if depth is None else f"at {depth:g} m"
        where = "of the uppermost cell" if depth == 0.0 else where
        criterion, unit = (
            ("temperature", "K") if base_name == "mixed_layer_depth" else ("potential density", "kg m-3")
        )
        text = f"depth where the {criterion} differs from that {where} by {threshold:g} {unit}"
    return dataclasses.replace(variable, name=name, long_name=text)


def observable(name: str, tracers: Collection[str] = (), *, bounded: bool = False) -> Observable:
    """Look up a name: a state variable, a passive tracer, or one of `OBSERVABLES`.

    With `bounded`, mixed layers whose criterion is met nowhere end at the lowest cell instead of being NaN.
    Raises `ValueError` for an unknown name, a layer of zero thickness, or a threshold in another unit.
    """
    if name in _STATE:
        return lambda water: getattr(water.state, name)
    if name in tracers:
        return lambda water: water.state.tracers[name]
    base_name, depth, threshold = parse(name)
    if base_name not in OBSERVABLES:
        known = ", ".join((*_STATE, *tracers, *OBSERVABLES))
        layers = ", ".join(f"{integral}_above_100m" for integral in INTEGRALS)
        raise ValueError(
            f"expected one of {known}, or of the water above a depth: {layers}, or with a threshold and a "
            "reference: mixed_layer_depth_0.5K_from_10m, mixed_layer_depth_density_0.125kg_from_10m, got "
            f"the variable {name}."
        )
    options: dict[str, float | bool] = {} if threshold is None else {"difference": threshold}
    options |= {} if depth is None else {"depth": depth}
    options |= {"bounded": True} if bounded and base_name in _LAYERS else {}
    return functools.partial(OBSERVABLES[base_name], **options) if options else OBSERVABLES[base_name]


def is_depth_of_a_criterion(name: str) -> bool:
    """Return whether an observable is a depth whose criterion may be met nowhere."""
    return parse(name).name in _LAYERS


def default_mixed_layer(grid: Grid) -> str:
    """Name of the default mixed layer depth on a grid, including its reference depth, for labels."""
    return f"mixed_layer_depth_from_{float(jnp.max(default_reference_depth(grid))):g}m"


def is_scalar(name: str) -> bool:
    """Return whether an observable is a scalar per column rather than a profile."""
    variable = variable_of(name)
    return variable is not None and variable.location == "scalar"


def unit_of_difference(name: str, tracers: Mapping[str, tuple[str, str]] = MappingProxyType({})) -> str:
    """Unit of the difference of two values: K for degC; for a tracer that of `Case.tracer_units`, or 1."""
    variable = variable_of(name)
    return tracers.get(name, ("1",))[0] if variable is None else variable.unit_of_differences
