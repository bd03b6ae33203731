"""What can be observed of a column besides the variables of its state, by the names of `QUANTITIES`.

Profiles (buoyancy) and numbers (the depth of the mixed layer): each is a function of the state, the grid and
the equation of state, differentiable, with the vertical first and the batch last. Diagnostics, misfits,
figures and tables know them by the same names, which may have numbers in them: `heat_content_above_100m`,
`mixed_layer_depth_0.5K_from_10m`.
"""

import functools
from collections.abc import Callable, Collection

from jaxtyping import Array, Float

from .base import ColumnState as ColumnState
from .buoyancy import buoyancy, potential_density
from .contents import heat_content, salt_content
from .energy import kinetic_energy, potential_energy, potential_energy_anomaly
from .mixed_layer import by_density, by_stratification, by_temperature
from .names import parse
from .names import variable_of as variable_of
from .surface import sea_surface_temperature

Observable = Callable[[ColumnState], Float[Array, "..."]]
"""From the water to a profile on the centers, or to one number per column."""

_INTEGRALS: dict[str, Callable[..., Float[Array, "..."]]] = {
    "heat_content": heat_content,
    "salt_content": salt_content,
    "potential_energy": potential_energy,
    "potential_energy_anomaly": potential_energy_anomaly,
    "kinetic_energy": kinetic_energy,
}
OBSERVABLES: dict[str, Observable] = {
    "buoyancy": buoyancy,
    "potential_density": potential_density,
    "sea_surface_temperature": sea_surface_temperature,
    "mixed_layer_depth": by_temperature,
    "mixed_layer_depth_density": by_density,
    "mixed_layer_depth_stratification": by_stratification,
    **_INTEGRALS,
}
"""By name; those with numbers in their names, such as `heat_content_above_100m`, come from `observable`."""

_STATE = ("temperature", "salinity", "u", "v")
_BY_THRESHOLD = {"mixed_layer_depth": by_temperature, "mixed_layer_depth_density": by_density}


def observable(name: str, tracers: Collection[str] = ()) -> Observable:
    """What a name stands for: a variable of the state, a passive tracer, or one of `OBSERVABLES`.

    Args:
        name: of the observable.
        tracers: names of the passive tracers of the state.

    Raises:
        ValueError: an unknown name, a layer without thickness, or a threshold in another unit.
    """
    if name in _STATE:
        return lambda water: getattr(water.state, name)
    if name in tracers:
        return lambda water: water.state.tracers[name]
    if name in OBSERVABLES:
        return OBSERVABLES[name]
    parsed = parse(name)
    if parsed.name == name:
        known = ", ".join((*_STATE, *tracers, *OBSERVABLES))
        layers = ", ".join(f"{integral}_above_100m" for integral in _INTEGRALS)
        raise ValueError(
            f"expected one of {known}, or of the water above a depth: {layers}, or with a threshold and a "
            "reference: mixed_layer_depth_0.5K_from_10m, mixed_layer_depth_density_0.125kg_from_10m, got "
            f"the variable {name}."
        )
    if parsed.name in _INTEGRALS:
        return functools.partial(_INTEGRALS[parsed.name], depth=parsed.depth)
    given = {} if parsed.threshold is None else {"difference": parsed.threshold}
    return functools.partial(_BY_THRESHOLD[parsed.name], reference_depth=parsed.depth, **given)


def is_number(name: str) -> bool:
    """Whether an observable is one number per column, and no profile."""
    variable = variable_of(name)
    return variable is not None and variable.location == "scalar"


def unit_of_difference(name: str) -> str:
    """Unit of a difference of two values: K where the values are in degC, 1 for a passive tracer."""
    variable = variable_of(name)
    unit = "1" if variable is None else variable.unit
    return "K" if unit == "degC" else unit
