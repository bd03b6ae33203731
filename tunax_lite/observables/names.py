"""Names of observables with numbers in them: of a layer, of a mixed layer by another threshold or reference.

heat_content_above_100m            of the water above 100 m
mixed_layer_depth_from_10m         0.2 K below the temperature at 10 m
mixed_layer_depth_0.5K_from_10m    0.5 K below it
mixed_layer_depth_density_0.125kg  0.125 kg m-3 above the density of the uppermost cell
"""

import dataclasses
import re

from ..quantities import QUANTITIES, Quantity

INTEGRALS = ("heat_content", "salt_content", "potential_energy", "potential_energy_anomaly", "kinetic_energy")
"""What can be asked for above a depth."""
THRESHOLDS = {"mixed_layer_depth": ("K", 0.2), "mixed_layer_depth_density": ("kg", 0.03)}
"""Depths with a threshold and a reference: the unit in their names, and the threshold without one."""

_NUMBER = r"\d+(?:\.\d+)?"
_ABOVE = re.compile(rf"(?P<name>{'|'.join(INTEGRALS)})_above_(?P<depth>{_NUMBER})m")
_DEPTH = re.compile(
    rf"(?P<name>mixed_layer_depth(?:_density)?)(?:_(?P<threshold>{_NUMBER})(?P<unit>K|kg))?"
    rf"(?:_from_(?P<depth>{_NUMBER})m)?"
)


@dataclasses.dataclass(frozen=True)
class Parsed:
    """A name and the numbers in it.

    Args:
        name: of the table, without numbers.
        depth: lower end of a layer, or of the reference of a mixed layer [m]; `None` without one.
        threshold: of a mixed layer, in its unit; `None` without one.
    """

    name: str
    depth: float | None = None
    threshold: float | None = None


def parse(name: str) -> Parsed:
    """A name and its numbers; a name without any, or of another form, as it is.

    Raises:
        ValueError: a layer without thickness, or a threshold of 0.
    """
    found = _ABOVE.fullmatch(name)
    if found is not None:
        parsed = Parsed(found["name"], float(found["depth"]))
        if not parsed.depth:
            raise ValueError(f"expected a layer of some thickness, got {name}; give a depth [m] above 0.")
        return parsed
    found = _DEPTH.fullmatch(name)
    if found is None:
        return Parsed(name)
    threshold, depth = (None if found[key] is None else float(found[key]) for key in ("threshold", "depth"))
    unit = THRESHOLDS[found["name"]][0]
    if threshold is not None and (found["unit"] != unit or threshold == 0.0):
        raise ValueError(
            f"expected a threshold of {found['name']} in {unit}, above 0, got {name}; write it like "
            f"{found['name']}_{THRESHOLDS[found['name']][1]:g}{unit}."
        )
    return Parsed(found["name"], depth, threshold)


def variable_of(name: str) -> Quantity | None:
    """The line of the table for a name, with its numbers in words; `None` for a passive tracer."""
    parsed = parse(name)
    variable = QUANTITIES.get(parsed.name)
    if variable is None or parsed.name == name:
        return variable
    if parsed.name in INTEGRALS:
        text = f"{variable.long_name.replace(' of the column', '').replace(' in the column', '')}"
        text += f" of the water above {parsed.depth:g} m"
    else:
        threshold = THRESHOLDS[parsed.name][1] if parsed.threshold is None else parsed.threshold
        where = "of the surface" if parsed.depth is None else f"at {parsed.depth:g} m"
        text = (
            f"depth where the temperature is {threshold:g} K below that {where}"
            if parsed.name == "mixed_layer_depth"
            else f"depth where the potential density exceeds that {where} by {threshold:g} kg m-3"
        )
    return dataclasses.replace(variable, name=name, long_name=text)
