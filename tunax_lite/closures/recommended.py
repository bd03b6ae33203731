"""Recommended constants of closures, their data and valid range, from `recommended.toml`."""

import dataclasses
import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

ConstantValue = float | list[float] | bool | str | None
"""Value of a field: a number, a vector, a switch, the name of a part or choice, or `None`."""


class ValidRange(NamedTuple):
    """Lowest and highest values for which recommended constants were calibrated or tested."""

    stress: tuple[float, float]  # [N m-2]
    heat_flux: tuple[float, float]  # into the water [W m-2]
    cell_thickness: tuple[float, float]  # [m]
    dt: tuple[float, float]  # [s]


@dataclasses.dataclass(frozen=True)
class RecommendedSet:
    """Constants of a closure that carry over to simulations which did not calibrate them, by dotted name.

    Args:
        calibrated: results of `command`, rounded.
        imposed: constants chosen before the calibration.
        command: command that calibrates them; `None` if no constant is calibrated.
        data: simulations of the calibration.
        version: version of this package.
        valid: range of the data and of the resolutions.
    """

    calibrated: Mapping[str, ConstantValue]
    imposed: Mapping[str, ConstantValue]
    command: str | None
    data: str
    version: str
    valid: ValidRange

    @property
    def constants(self) -> dict[str, ConstantValue]:
        return {**self.calibrated, **self.imposed}


@functools.cache
def recommended_sets() -> dict[str, RecommendedSet]:
    """Recommended sets by the name of their closure."""
    with (Path(__file__).parent / "recommended.toml").open("rb") as file:
        content = tomllib.load(file)
    data, version, ranges = (content.pop(key) for key in ("data", "version", "range"))
    valid = ValidRange(**{name: tuple(ends) for name, ends in ranges.items()})
    return {
        name: RecommendedSet(
            calibrated=_without_none(each.get("calibrated", {})),
            imposed=_without_none(each.get("imposed", {})),
            command=each.get("command"),
            data=data,
            version=version,
            valid=valid,
        )
        for name, each in content.items()
    }


def _without_none(constants: Mapping[str, ConstantValue]) -> dict[str, ConstantValue]:
    """Replace "none" by `None`, which TOML lacks."""
    return {path: None if value == "none" else value for path, value in constants.items()}
