"""JLD2 files, which are HDF5 written by Julia: values, arrays without halo cells, iterations."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from .errors import FileFormatError, check_size
from .units import Conversions, as_conversion


class Jld2:
    """An open JLD2 file (HDF5 written by Julia); its errors name file and key."""

    def __init__(self, path: Path, file: Any, units: Conversions):  # of h5py, which is slow to import
        self.path, self._file, self._units = path, file, units
        self._n_halo = int(self.number("grid/Hz") or 0)

    def __contains__(self, key: str) -> bool:
        return key in self._file

    @property
    def name(self) -> str:
        """Name of the case."""
        name = self.value("parameters/name")
        name = name.decode(errors="replace") if isinstance(name, bytes) else ""
        return name or self.path.stem.removesuffix("_instantaneous_statistics")

    def error(self, key: str, expected: str, got: object, advice: str) -> FileFormatError:
        return FileFormatError(self.path, key, expected, str(got), advice)

    def converted(self, key: str, quantity: str, values: Any, unit: str) -> Any:  # numbers, and the same
        """Values of a quantity in the package's unit, from that of the file."""
        how = as_conversion(self._units.get(quantity))
        return how.apply(self.path, key, quantity, values, unit)

    def value(self, key: object) -> Any:  # whatever the file holds
        """Values at a name or a reference."""
        import h5py  # takes long

        found = self._file.get(key) if isinstance(key, str) else self._file[key]
        if not isinstance(found, h5py.Dataset):
            return None
        block = math.prod(found.chunks or ()) * found.dtype.itemsize
        check_size(self.path, str(key), max(found.nbytes, block))
        value = found[()]
        if isinstance(value, np.void) and "parent" in (value.dtype.names or ()):
            # A wrapped Julia array refers to its parent; a range is stored as its parameters.
            parent = value["parent"]
            return self.value(parent) if isinstance(parent, h5py.Reference) else None
        return value

    def number(self, *keys: str) -> float | None:
        """The first key that holds one finite number; Julia's `nothing` is skipped."""
        for key in keys:
            value = np.asarray(self.value(key))
            if value.dtype.kind in "fiu" and value.size == 1:
                if not np.isfinite(value).all():
                    raise self.error(key, "a finite number", float(value.ravel()[0]), "repair the file")
                return float(value.ravel()[0])
        return None

    def required(self, *keys: str) -> float:
        """The same for a required number."""
        value = self.number(*keys)
        if value is None:
            elsewhere = f" there or in {', '.join(keys[1:])}" if keys[1:] else ""
            advice = "the file is of an unknown generation, or incomplete"
            raise self.error(keys[0], f"a number{elsewhere}", "none", advice)
        return value

    def array(self, key: str) -> np.ndarray | None:
        """Numbers along one axis in double precision, or `None` without such a key."""
        expected = "an array of numbers"
        try:
            value = self.value(key)
        except FileFormatError:
            raise
        except Exception as error:
            raise self.error(key, expected, f"'{error}'", "the file is damaged or incomplete") from error
        if value is not None and np.asarray(value).dtype.kind not in "fiub":
            raise self.error(key, expected, f"type {np.asarray(value).dtype}", "choose another file")
        return None if value is None else np.asarray(value, dtype=float).ravel()

    def cells(self, key: str, n: int) -> np.ndarray | None:
        """An array of `n` values, without halo cells."""
        values, n_halo = self.array(key), self._n_halo
        if values is None or values.size == n:
            return values
        if values.size != n + 2 * n_halo:
            expected = f"{n} values, or {n + 2 * n_halo} with {n_halo} halo cells at each end"
            raise self.error(key, expected, values.size, "the shape does not fit grid/Nz and grid/Hz")
        return values[n_halo : n_halo + n]

    def iterations(self, key: str) -> list[str]:
        """Names of the iterations in a group, in numerical order."""
        group, above = self._file.get(key), self._file.get(key.rpartition("/")[0])
        if not hasattr(group, "keys"):
            known = list(above if hasattr(above, "keys") else self._file)
            got = f"none beside {', '.join(known[:8]) or 'nothing'}"
            raise self.error(key, "a group", got, "this is no LESbrary file, or it is incomplete")
        names = sorted((name for name in map(str, group) if name.isdecimal()), key=int)
        for one, other in zip(names, names[1:], strict=False):
            if int(one) == int(other):
                raise self.error(key, "every iteration once", f"both {one} and {other}", "remove one of them")
        return names
