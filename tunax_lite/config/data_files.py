"""Which files a configuration reads."""

from collections.abc import Iterator
from typing import Any

from ..io.registry import resolve, sha256_of
from .load import Loaded

_KEYS = ("path", "paths", "forcing_file")


def data_files(loaded: Loaded[Any]) -> dict[str, str]:
    """SHA-256 of the files that the cases of a configuration name, by what they are called there.

    Raises:
        FileNotFoundError: a file that is missing.
    """
    names = dict.fromkeys(_names(loaded.config.model_dump()))
    return {name: sha256_of(resolve(name, loaded.path.parent)) for name in names}


def _names(section: Any) -> Iterator[str]:
    if isinstance(section, list | tuple):
        for item in section:
            yield from _names(item)
    elif isinstance(section, dict):
        for key, value in section.items():
            if key in _KEYS and isinstance(value, str):
                yield value
            elif key in _KEYS and isinstance(value, list | tuple):
                yield from map(str, value)
            else:
                yield from _names(value)
