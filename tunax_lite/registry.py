"""Extensions: packages that add to this one, which does not mention them by name.

An extension is a folder of `tunax_lite/extensions`, or a package with an entry point of the group
`tunax_lite.extensions`. Its modules with the following names are imported when their additions are needed:

    commands    commands of `tunax-lite`, declared with `cli.application.command`; imports nothing slow
    formats     closures and terms (`declarations.named`), `CASE_FORMATS`: sections of cases, `SET_UPS`: files
                of other models that run unchanged, `VARIABLE_NAMES`: other names of variables,
                `NOTES_ON_TERMS`: functions that return notes on unlikely terms of a case
    kinds       `KINDS`: kinds of configuration, and the actions of commands on them
    outputs     `FILES`: for `plot`, functions that draw figures of one or several NetCDF files, by the
                `title` of the files
"""

import functools
import importlib
import importlib.util
import pkgutil
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

Role = Literal["commands", "formats", "kinds", "outputs"]
GROUP = "tunax_lite.extensions"


@functools.cache
def packages() -> tuple[str, ...]:
    """Names of the packages of all extensions: those of this package, then the installed ones."""
    from importlib.metadata import entry_points

    folder = Path(__file__).parent / "extensions"
    package_modules = sorted(f"{GROUP}.{each.name}" for each in pkgutil.iter_modules([str(folder)]))
    return (*package_modules, *sorted(entry.value for entry in entry_points(group=GROUP)))


@functools.cache
def modules(role: Role) -> tuple[ModuleType, ...]:
    """Import and return the modules of one role.

    Raises:
        ImportError: a module is still being imported, so that its additions would be missing.
    """
    specs = [importlib.util.find_spec(f"{package}.{role}") for package in packages()]
    extension_modules = tuple(importlib.import_module(spec.name) for spec in specs if spec is not None)
    for module in extension_modules:
        if getattr(module.__spec__, "_initializing", False):
            raise ImportError(
                f"{module.__name__}: expected tunax_lite.config to be imported before this module, got the "
                "reverse; import tunax_lite.config, which imports it."
            )
    return extension_modules


def additions(role: Role, name: str) -> tuple[Any, ...]:  # Any: of the type that the role requires
    """Additions of all extensions under one name, in the order of the extensions."""
    return tuple(addition for module in modules(role) for addition in getattr(module, name, ()))
