"""Which files a configuration reads."""

from collections.abc import Iterator
from typing import Any

from ..io.registry import resolve, sha256_of
from .load import Loaded

_KEYS = ("path", "paths", "forcing_file", "run")


def data_files(loaded: Loaded[Any]) -> dict[str, str]:
    """SHA-256 of the files that the cases of a configuration name, by what they are called there.

    Raises:
        FileNotFoundError: a file that is missing.
    """
    found = {}
    for name, required in _names(loaded.config.model_dump()):
        try:
            found[name] = sha256_of(resolve(name, loaded.path.parent))
        except FileNotFoundError:
            if required:
                raise
    return found


def _names(section: Any, required: bool = True) -> Iterator[tuple[str, bool]]:
    """Names of files, and whether the configuration cannot do without them."""
    if isinstance(section, list | tuple):
        for item in section:
            yield from _names(item, required)
    elif isinstance(section, dict):
        required = required and not section.get("skip_if_missing", False)
        for key, value in section.items():
            if key in _KEYS and isinstance(value, str):
                yield value, required
            elif key in _KEYS and isinstance(value, list | tuple):
                yield from ((str(item), required) for item in value)
            else:
                yield from _names(value, required)
