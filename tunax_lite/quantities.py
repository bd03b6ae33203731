"""The quantities of the package as data: name, unit, location, CF standard name, sign, and valid range.

Standard names are those of version 93 of the CF table; `None` where it has no fitting name.
"""

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Location = Literal["center", "face", "scalar", "outside"]


@dataclass(frozen=True)
class Quantity:
    """One line of the table.

    Args:
        name: in files, options and messages; a flux through the surface begins with `surface_`.
        long_name: in words.
        unit: as written in the UDUNITS package.
        location: on the grid; what is given from outside is on none.
        standard_name: of CF.
        possible: lowest and highest value; beyond them a number is in another unit or a fill value, not
            sea water or air.
        positive: where a vector or a flux points if it is positive.
        suspect: a wrong unit that is easily taken for the right one, and between what values it is.
    """

    name: str
    long_name: str
    unit: str
    location: Location
    standard_name: str | None = None
    possible: tuple[float, float] = (-math.inf, math.inf)
    positive: str | None = None
    suspect: tuple[str, float, float] | None = None


def _read() -> Iterator[Quantity]:
    """The lines of the table, `quantities.csv`; what is empty is unbounded, or not there."""
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


def quantity_of(name: str) -> Quantity:
    """The line of a quantity; surface fluxes also by their names in the forcing, such as `stress_u`."""
    return QUANTITIES[f"surface_{name}" if f"surface_{name}" in QUANTITIES else name]


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
"""Of files: axes, and what belongs to them."""
