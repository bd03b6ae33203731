"""Restart from GOTM's `restart.nc`: water properties on cells and turbulence on faces."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import jax.numpy as jnp
import numpy as np

from ..closures.base import AbstractCloState
from ..column.state import State
from .errors import FileFormatError, check_possible
from .netcdf import read_netcdf

_WATER = {"temperature": "temp", "salinity": "salt", "u": "u", "v": "v"}
_TURBULENCE = {
    "eddy_viscosity": "num",
    "eddy_diffusivity": "nuh",
    "eddy_salt_diffusivity": "nus",
    "stokes_viscosity": "nucl",
    "turbulent_kinetic_energy": "tke",
    "dissipation_rate": "eps",
}
Part = TypeVar("Part", State, AbstractCloState)


def restarted(path: Path, part: Part, *, allow_missing: bool = False) -> Part:
    """A state of one column, or a closure state, updated with the variables of the file.

    Args:
        allow_missing: whether variables missing from the file keep their values.

    Raises:
        FileFormatError: a variable that is missing, not finite, impossible, or on another number of levels.
    """
    names: Mapping[str, str] = _WATER if isinstance(part, State) else _TURBULENCE
    held = {ours: theirs for ours, theirs in names.items() if getattr(part, ours, None) is not None}
    file = read_netcdf(path, only=set(held.values()), at={"time": slice(0, 1)})
    found = {}
    for ours, theirs in held.items():
        before = getattr(part, ours)
        if theirs not in file.variables:
            if allow_missing:
                continue
            advice = "write it with GOTM's restart, or set restart.allow_missing_variable: true"
            raise FileFormatError(path, theirs, "a variable of GOTM's state", "none", advice)
        values = np.asarray(file.variables[theirs].values, float).reshape(-1)
        expected, got = f"{before.shape[0]} levels", f"{values.size}"
        if values.size != before.shape[0]:
            raise FileFormatError(path, theirs, expected, got, "choose the grid of the run that wrote it")
        if not np.isfinite(values).all():
            raise FileFormatError(path, theirs, "finite values", "others", "choose another file")
        check_possible(path, theirs, ours, values)
        found[ours] = jnp.asarray(values, before.dtype)
    return dataclasses.replace(part, **found)
