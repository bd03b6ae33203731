"""Access to JLD2 files (HDF5 written by Julia) with errors that name file and key."""

import math
from pathlib import Path

import h5py
import numpy as np

from .errors import FileFormatError, check_size


class Jld2File:
    """An open JLD2 file.

    Args:
        path: for messages.
        file: the open HDF5 file.
    """

    def __init__(self, path: Path, file: h5py.File):
        self.path = path
        self._file = file

    def __contains__(self, key: str) -> bool:
        return key in self._file

    def error(self, key: str, expected: str, got: str, advice: str) -> FileFormatError:
        """The error to raise, with the name of this file."""
        return FileFormatError(self.path, key, expected, got, advice)

    def number(self, *keys: str) -> float | None:
        """The first of the keys that holds one number; Julia's `nothing` is no number.

        Raises:
            FileFormatError: a number that is not finite.
        """
        for key in keys:
            dataset = self._file.get(key)
            if isinstance(dataset, h5py.Dataset) and dataset.dtype.kind in "fiu" and dataset.size == 1:
                value = float(np.asarray(dataset[()]).ravel()[0])
                if not np.isfinite(value):
                    raise self.error(key, "a finite number", f"{value}", "repair the file")
                return value
        return None

    def required(self, *keys: str) -> float:
        """The same, for a number that has to be there.

        Raises:
            FileFormatError: none of the keys, or a number that is not finite.
        """
        value = self.number(*keys)
        if value is None:
            elsewhere = f" there or in {', '.join(keys[1:])}" if keys[1:] else ""
            raise self.error(
                keys[0],
                f"a number{elsewhere}",
                "none",
                "the file is of an unknown generation, or incomplete",
            )
        return value

    def text(self, key: str) -> str | None:
        """A string, if the key has one."""
        dataset = self._file.get(key)
        value = dataset[()] if isinstance(dataset, h5py.Dataset) and dataset.size == 1 else None
        return value.decode(errors="replace") if isinstance(value, bytes) else None

    def array(self, key: str) -> np.ndarray | None:
        """Numbers along one axis in double precision, or `None` without such a key.

        Raises:
            FileFormatError: a damaged dataset, or one that holds no numbers.
        """
        dataset = self._file.get(key)
        if not isinstance(dataset, h5py.Dataset):
            return None
        try:
            self._check_size(key, dataset)
            value = dataset[()]
            if isinstance(value, np.void) and "parent" in (value.dtype.names or ()):
                # A wrapped Julia array refers to its parent; a range is stored as its rule instead.
                parent = value["parent"]
                referred = self._file[parent] if isinstance(parent, h5py.Reference) else None
                if isinstance(referred, h5py.Dataset):
                    self._check_size(key, referred)
                value = referred[()] if isinstance(referred, h5py.Dataset) else None
            if value is None:
                return None
            if np.asarray(value).dtype.kind not in "fiub":
                raise self.error(
                    key, "an array of numbers", f"type {np.asarray(value).dtype}", "choose another file"
                )
            return np.asarray(value, dtype=float).ravel()
        except FileFormatError:
            raise
        except Exception as error:
            raise self.error(
                key, "an array of numbers", f"'{error}'", "the file is damaged or incomplete"
            ) from error

    def _check_size(self, key: str, dataset: h5py.Dataset) -> None:
        block = math.prod(dataset.chunks or ()) * dataset.dtype.itemsize
        check_size(self.path, key, max(dataset.nbytes, block))

    def iterations(self, key: str) -> list[str]:
        """Names of the members of a group that are iterations, in the order of their numbers.

        Raises:
            FileFormatError: no such group, or the same number twice.
        """
        group = self._file.get(key)
        if not isinstance(group, h5py.Group):
            parent = self._file.get(key.rpartition("/")[0])
            known = list(parent if isinstance(parent, h5py.Group) else self._file)
            raise self.error(
                key,
                "a group",
                f"none beside {', '.join(known[:8]) or 'nothing'}",
                "this is no LESbrary file, or it is incomplete",
            )
        names = sorted((name for name in map(str, group) if name.isdecimal()), key=int)
        for before, after in zip(names, names[1:], strict=False):
            if int(before) == int(after):
                raise self.error(
                    key, "every iteration once", f"both {before} and {after}", "remove one of them"
                )
        return names
