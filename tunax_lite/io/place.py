"""Positions of values in a configuration file, for messages."""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from .._types import warn_of_input
from .errors import ConfigError, FileFormatError, check_possible
from .named_files import resolve


@dataclasses.dataclass(frozen=True)
class Place:
    """Position of a section in a configuration file.

    Args:
        path: path of the file; relative paths in the file are also searched for in its folder.
        origins: line of the file, or option of the command, that set each key, by key path.
        keys: keys that lead to the section; none for the whole file.
    """

    path: Path
    origins: Mapping[tuple[str, ...], str] = dataclasses.field(default_factory=dict)
    keys: tuple[str, ...] = ()

    def below(self, *keys: str) -> "Place":
        """Position of a subsection."""
        return Place(self.path, self.origins, (*self.keys, *keys))

    @property
    def root(self) -> "Place":
        """Position of the whole configuration."""
        return Place(self.path, self.origins)

    def at(self, *keys: str) -> str:
        """Text for messages: file, origin of the key or of the nearest section above it, and dotted key."""
        parts = (*self.keys, *keys)
        origins = (self.origins.get(parts[:n]) for n in range(len(parts), 0, -1))
        origin = next((f"{each}: " for each in origins if each is not None), "")
        return f"{self.path}: {origin}{'.'.join(parts)}"

    @contextlib.contextmanager
    def naming(self, *keys: str) -> Iterator[None]:
        """Prepend this position to errors of values and files in the block; a `ConfigError` has one already.

        A `ValueError` or `ArithmeticError` becomes a `ConfigError`.
        """
        try:
            yield
        except ConfigError:
            raise
        except FileFormatError as error:
            error.name_place(self.at(*keys))
            raise
        except (ValueError, ArithmeticError) as error:
            raise ConfigError(f"{self.at(*keys)}: {error}") from error

    def file(self, name: str, *keys: str) -> Path:
        """Return the file of a name or a path, as `named_files.resolve` does; `FileNotFoundError` if none."""
        try:
            return resolve(name, self.path.parent)
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{self.at(*keys)}: {error}") from error

    def note(self, text: str, *keys: str) -> None:
        """Warn of an input, with its position."""
        warn_of_input([f"{self.at(*keys)}: {text}."])

    def check(self, quantity: str, values: np.ndarray, *keys: str) -> None:
        """Raise `ConfigError` for impossible numbers of a quantity."""
        try:
            check_possible(self.path, self.at(*keys).partition(": ")[2], quantity, values)
        except FileFormatError as error:
            raise ConfigError(str(error)) from error
