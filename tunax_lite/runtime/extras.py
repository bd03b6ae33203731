"""Packages that not every installation has, by the extra that brings them; imports nothing heavy."""

import importlib
import importlib.metadata
from types import ModuleType

EXTRAS = {
    "posterior": ("blackjax",),
    "cluster": ("dask", "distributed", "zarr"),
    "grib": ("cfgrib",),
}
"""Top-level packages by the name of the extra."""


class MissingPackageError(ImportError):
    """An optional package that is missing, or does not load: names what needs it, and how to install it."""


def command_for(package: str) -> str | None:
    """How to install an optional package; `None` for others."""
    extra = next((name for name, packages in EXTRAS.items() if package in packages), None)
    if extra is None:
        return None
    return f"pip install 'tunax_lite[{extra}]' (in a clone: pip install '.[{extra}]')"


def needed(name: str, what: str, instead: str = "") -> ModuleType:
    """Import a module of an optional package.

    Args:
        name: of the module, with dots.
        what: needs it, for the message.
        instead: what else to do, as the end of a sentence.

    Raises:
        MissingPackageError: with the command that installs it.
    """
    try:
        return importlib.import_module(name)
    except (ImportError, RuntimeError) as error:  # a library in C that a package needs is missing
        package = name.partition(".")[0]
        todo = f"{command_for(package)}{instead and ', ' + instead}"
        raise MissingPackageError(
            f"{what}: expected the package {package}, got none ({error}); {todo}.", name=package
        ) from error


def installed() -> dict[str, dict[str, str | None]]:
    """Versions of optional packages by extra and name; `None` for one that is missing."""
    return {extra: {name: _version(name) for name in packages} for extra, packages in EXTRAS.items()}


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
