"""Place of a value in a configuration, for messages."""

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
    """A configuration, or a part of it, for messages.

    Args:
        path: of the file; relative paths in it are also searched for in its folder.
        origins: where its keys were set, by key path.
        keys: of the part.
    """

    path: Path
    origins: Mapping[tuple[str, ...], str] = dataclasses.field(default_factory=dict)
    keys: tuple[str, ...] = ()

    def below(self, *keys: str) -> "Place":
        """A part of this place."""
        return Place(self.path, self.origins, (*self.keys, *keys))

    @property
    def whole(self) -> "Place":
        """The whole configuration."""
        return Place(self.path, self.origins)

    def at(self, *keys: str) -> str:
        """File, line and key of a part."""
        parts = (*self.keys, *keys)
        known = (self.origins.get(parts[:n]) for n in range(len(parts), 0, -1))
        origin = next((f"{each}: " for each in known if each is not None), "")
        return f"{self.path}: {origin}{'.'.join(parts)}"

    @contextlib.contextmanager
    def naming(self, *keys: str) -> Iterator[None]:
        """Prepend file, line and key to the message of a value or file that is rejected within."""
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
        """The file for a name or a path; data folders in $TUNAX_LITE_DATA are searched, too."""
        try:
            return resolve(name, self.path.parent)
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{self.at(*keys)}: {error}") from error

    def note(self, text: str, *keys: str) -> None:
        """Warn of an input, with file, line and key."""
        warn_of_input([f"{self.at(*keys)}: {text}."])

    def check(self, quantity: str, values: np.ndarray, *keys: str) -> None:
        """Raise `ConfigError` for impossible numbers of a quantity."""
        try:
            check_possible(self.path, self.at(*keys).partition(": ")[2], quantity, values)
        except FileFormatError as error:
            raise ConfigError(str(error)) from error
