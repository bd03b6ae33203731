"""Errors of readers, the wrapper that converts other exceptions to them, and shared checks."""

import contextlib
import functools
import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

from .._types import InputWarning, valid_range_of
from ..quantities import quantity_of
from ..runtime.memory import TooLargeError, check_memory

P = ParamSpec("P")
R = TypeVar("R")
_Describe = Callable[[int], str] | None
_LONGEST_PART = 400
"""Largest number of characters of each part of a message."""


def shortened(value: object, longest: int = _LONGEST_PART) -> str:
    """Shorten a text in its middle, and escape unprintable characters and line breaks."""
    text = str(value)
    if len(text) > longest:
        half = longest // 2 - 10
        text = f"{text[:half]} ... {text[-half:]}"
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= longest else f"{text[: longest - 4]} ..."


class FileFormatError(ValueError):
    """A file that cannot be used: names file, key (variable, group, attribute), and a remedy.

    Pass the parts of the message without a full stop.
    """

    def __init__(self, path, key: str, expected: str, got: str, advice: str):
        parts = (shortened(part) for part in (path, key, expected, got))
        ValueError.__init__(self, "{}: {}: expected {}, got {}; {}.".format(*parts, advice))

    def name_place(self, place: str) -> None:
        """Prepend the place where a configuration names the file, unless this was done before."""
        if not getattr(self, "has_place", False):
            self.args = (f"{place}: {self}",)
            self.has_place = True


class ConfigError(ValueError):
    """An invalid configuration; its message names the file, the key and the expected value."""


Source = Any  # a path or an xarray dataset (slow to import)


def is_path(source: object) -> bool:
    """Return whether a source is a path; `ValueError` if it is neither that nor an xarray dataset."""
    if not isinstance(source, (str, os.PathLike)) and not hasattr(source, "data_vars"):
        got = shortened(type(source).__name__)
        raise ValueError(f"expected a path or a dataset of xarray, got {got}; give one of them.")
    return not hasattr(source, "data_vars")


def name_of(source: Source) -> str:
    """Name of a source in messages: its path, or the source of a dataset or variable."""
    if not hasattr(source, "encoding"):
        return str(source)
    names = (source.encoding.get("source"), source.attrs.get("id"), source.attrs.get("title"))
    return str(next((name for name in names if name), "dataset"))


@contextlib.contextmanager
def reading(path, kind: str) -> Iterator[None]:
    """Convert any failure while reading a file to an error that names the file.

    Libraries respond to damaged files with all kinds of exceptions, so every one becomes a `FileFormatError`
    that expects a file (or several) of a `kind`. Errors that the package raises itself pass unchanged.
    """
    try:
        with warnings.catch_warnings():
            # Values that libraries warn of are NaN or out of range, and later checks reject them.
            for category in (UserWarning, RuntimeWarning, DeprecationWarning, FutureWarning):
                warnings.simplefilter("ignore", category)
            yield
    except (FileFormatError, ConfigError, FileNotFoundError, InputWarning):
        raise
    except Exception as error:
        name = ", ".join(map(name_of, path if isinstance(path, (list, tuple)) else [path]))
        text = str(error)
        if isinstance(error, ValueError) and "expected" in text and "got" in text:
            raise  # raised by the package about an argument whose name the caller knows
        advice = "it is damaged or of another format"
        if isinstance(error, OSError) and error.strerror:
            text, advice = error.strerror, "check that it can be read and is not damaged"
        elif isinstance(error, KeyError):
            text = f"one without {text}"
        elif not isinstance(error, (OSError, ValueError)):
            text = f"{type(error).__name__}: {text}"
        raise FileFormatError(name, "file", kind, f"'{text}'", advice) from error


def names_its_file(kind: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Wrap a reader in `reading`; its first argument is the file or files."""

    def decorate(read: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(read)

        @functools.wraps(read)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:  # not caused by the file
                raise TypeError(f"{read.__name__}: {error}") from None
            with reading(next(iter(bound.arguments.values())), kind):
                return read(*args, **kwargs)

        return guarded

    return decorate


def check_size(path, key: str, n_bytes: int | float) -> None:
    """Raise `FileFormatError` before allocating an array that does not fit into memory."""
    try:
        check_memory(n_bytes, "")
    except TooLargeError as error:
        expected, advice = "values that fit into the memory", "choose a part of it, or it is damaged"
        raise FileFormatError(path, key, expected, str(error), advice) from None


def existing_file(path) -> Path:
    """Return the path of an existing file; `FileNotFoundError` for anything else, such as a folder."""
    path = Path(path)
    if not os.path.isfile(path):
        expected, got = ("a file", "a folder") if os.path.isdir(path) else ("an existing file", "none")
        raise FileNotFoundError(f"{shortened(path)}: expected {expected}, got {got}; check the path.")
    return path


def is_store(path) -> bool:
    """Return whether a local folder is a Zarr store of version 3 or 2."""
    return any((Path(path) / name).is_file() for name in ("zarr.json", ".zgroup"))


def read_text(path: Path, kind: str, encoding: str | Callable[[bytes], str] = "utf-8") -> str:
    """Read a text file that fits into memory, in an encoding or with a function that decodes it."""
    path = existing_file(path)
    with reading(path, kind):
        check_size(path, "file", 8 * path.stat().st_size)  # memory needed by its parsed content
        return encoding(path.read_bytes()) if callable(encoding) else path.read_text(encoding=encoding)


def decimal(text: str) -> float:
    """Parse a decimal number; Python alone would also accept `1_0` and digits of other scripts."""
    if not text.isascii() or "_" in text:
        raise ValueError(f"expected a number, got {shortened(repr(text))}.")
    return float(text)


def check_names(key: str, names: Iterable[str], allowed: Iterable[str]) -> None:
    """Raise `ValueError` for an unknown name."""
    unknown = [name for name in names if name not in allowed]
    if unknown:
        raise ValueError(f"{key}: expected names among {', '.join(allowed)}, got '{unknown[0]}'.")


def check_increasing(
    path, key: str, values: np.ndarray, describe: _Describe = None, *, increasing: bool = True
) -> None:
    """Raise `FileFormatError` for a value that is not finite or, if `increasing`, not above the one before.

    `describe` names a record in the message.
    """
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        got = f"{values[bad[0]]} in record {bad[0]}"
        raise FileFormatError(path, key, "finite values", got, "repair the file")
    repeats = np.flatnonzero(np.diff(values) <= 0.0)
    if increasing and repeats.size:
        at = int(repeats[0])
        got = f"{values[at + 1]:g} after {values[at]:g} in record {at + 1}"
        got = f"{describe(at + 1)} after {describe(at)}" if describe else got
        got += f" (and so at {repeats.size - 1} more records)" if repeats.size > 1 else ""
        advice = "sort the records and remove duplicates"
        raise FileFormatError(path, key, "values that increase", got, advice)


def check_declared(path, key: str, kind: type, name: str, value: float) -> None:
    """Raise `FileFormatError` for a number outside the range that a class declares for the field `name`."""
    low, high = valid_range_of(kind, name)
    if not low <= value <= high:
        expected, advice = f"a number from {low:g} to {high:g}", "check its unit, or correct it"
        raise FileFormatError(path, key, expected, f"{value:g}", advice)


def check_possible(path, key: str, quantity: str, values: np.ndarray, describe: _Describe = None) -> None:
    """Raise `FileFormatError` for impossible values of a quantity, such as kelvin labelled degC.

    Relative humidity that looks like a fraction is refused, too; NaN and quantities outside the table pass.
    `describe` gives the time of a record (first axis).
    """
    try:
        entry = quantity_of(quantity)
    except KeyError:  # a passive tracer
        return
    if (wrong := entry.first_impossible(values)) is not None:
        (low, high), value = entry.possible, values[wrong]
        sign = "" if entry.positive is None else f" (positive is {entry.positive})"
        advice = f"check the unit, the sign{sign} and the fill value"
        if (unit := entry.likely_unit(value)) is not None:
            advice = f"it looks like {unit}: give that unit (scale_factor or offset in a case of GOTM)"
        got = f"{value:g}" + ("" if describe is None else f" at {describe(wrong[0])}")
        raise FileFormatError(path, key, f"{quantity} between {low:g} and {high:g}", got, advice)
    if quantity == "relative_humidity" and values.size > 1 and 0.0 < np.nanmax(values, initial=0.0) <= 1.5:
        expected, got = "relative humidity in %, some of it above 1.5", f"at most {np.nanmax(values):g}"
        advice = "it looks like a fraction: give the unit 1 (scale_factor: 100 in a case of GOTM)"
        raise FileFormatError(path, key, expected, got, advice)
