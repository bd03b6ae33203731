"""The quantities of the package as a table: name, unit, location, CF standard name, sign, valid range.

Most rows are in `quantities.csv`. Rows of surface fluxes and of the weather are declared with the fields of
the classes `SurfaceFluxes` and `Weather`, and entered when these are imported.
Standard names are from version 93 of the CF table; `None` if there is no suitable one.
"""

import csv
import dataclasses
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np

Location = Literal["center", "face", "scalar", "outside"]
K = TypeVar("K", bound=type)


@dataclass(frozen=True)
class Quantity:
    """One row of the table.

    Args:
        name: name in files, options and messages; surface fluxes begin with `surface_`.
        long_name: name in words.
        unit: as written in the UDUNITS package.
        location: location on the grid; `outside` for external quantities.
        standard_name: standard name of CF.
        possible: lowest and highest possible value; values beyond are fill values or in another unit.
        positive: direction of a positive vector or flux.
        suspect: a unit often used by mistake, and the range of values that suggests it.
    """

    name: str
    long_name: str
    unit: str
    location: Location
    standard_name: str | None = None
    possible: tuple[float, float] = (-math.inf, math.inf)
    positive: str | None = None
    suspect: tuple[str, float, float] | None = None

    @property
    def unit_of_differences(self) -> str:
        """The unit of a difference between two values."""
        return "K" if self.unit == "degC" else self.unit

    def first_impossible(self, values: np.ndarray) -> tuple[int, ...] | None:
        """Index of the first impossible value, or `None`; values that are not finite pass."""
        low, high = self.possible
        wrong = np.argwhere(np.isfinite(values) & ((values < low) | (values > high)))
        return tuple(map(int, wrong[0])) if len(wrong) else None

    def likely_unit(self, value: float) -> str | None:
        """Unit that an impossible value suggests, or `None`."""
        if self.suspect is None:
            return None
        unit, lowest, highest = self.suspect
        return unit if lowest <= value <= highest else None


def _read() -> Iterator[Quantity]:
    """Rows of the table `quantities.csv`; empty cells mean unbounded or absent."""
    table = (Path(__file__).parent / "quantities.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(table.splitlines()):
        suspect = row["suspect_unit"]
        yield Quantity(
            row["name"],
            row["long_name"],
            row["unit"],
            row["location"],  # pyright: ignore[reportArgumentType]
            row["standard_name"] or None,
            (float(row["lowest"] or "-inf"), float(row["highest"] or "inf")),
            row["positive"] or None,
            (suspect, float(row["suspect_from"]), float(row["suspect_to"])) if suspect else None,
        )


QUANTITIES: dict[str, Quantity] = {quantity.name: quantity for quantity in _read()}
"""The table by name."""


def declares(location: Location, prefix: str = "") -> Callable[[K], K]:
    """Enter the quantities of a class into the table, each named after its field.

    A field declares its quantity in its metadata, as `{"quantity": Quantity(...)}` with an empty name.

    Args:
        location: location of all these quantities.
        prefix: prefix of their names.
    """

    def enter(kind: K) -> K:
        for field in dataclasses.fields(kind):
            if "quantity" in field.metadata:
                name = prefix + field.name
                declared = field.metadata["quantity"]
                QUANTITIES[name] = dataclasses.replace(declared, name=name, location=location)
        return kind

    return enter


def quantity_of(name: str) -> Quantity:
    """The row of a quantity; surface fluxes also by their names in the forcing, such as `stress_u`."""
    return QUANTITIES[f"surface_{name}" if f"surface_{name}" in QUANTITIES else name]


def check_values(where: str, name: str, values: np.ndarray) -> None:
    """Raise `ValueError` for impossible values of a quantity, such as 293 degC; unknown names pass."""
    try:
        row = quantity_of(name)
    except KeyError:  # a tracer
        return
    if (wrong := row.first_impossible(values)) is not None:
        (low, high), value = row.possible, values[wrong]
        advice = f"positive is {row.positive}; " if row.positive else ""
        if (unit := row.likely_unit(value)) is not None:
            advice = f"it looks like {unit}; "
        raise ValueError(
            f"{where}: expected {row.long_name} from {low:g} to {high:g} {row.unit}, got {value:g}; "
            f"{advice}convert it."
        )


GRID_NAMES = (
    "time",
    "step",
    "z_center",
    "z_face",
    "z_center_bounds",
    "height_face",
    "face_area",
    "time_bounds",
)
"""Variables in files that describe the axes."""
