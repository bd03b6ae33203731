"""Extensions: packages that add to this one, and that nothing else names.

An extension is a folder of `tunax_lite/extensions`, or a package with an entry point of the group
`tunax_lite.extensions`. It adds by modules of fixed names, each imported where its additions are needed:

    commands    commands of `tunax-lite`, declared with `cli.application.command`; imports nothing slow
    formats     closures and terms (`declarations.named`), `CASE_FORMATS`: sections of cases, `SET_UPS`: files
                of other models that run as they are, `VARIABLE_NAMES`: other names of variables,
                `NOTES_ON_TERMS`: functions that note what is unlikely about terms of a case
    kinds       `KINDS`: kinds of configuration, with what commands do with them
    outputs     `FILES` for `plot`: by the `title` of its NetCDF files, a function for figures of one or
                several of them
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
    """The modules of one role, imported.

    Raises:
        ImportError: one that is being imported itself, so that its additions would be missed.
    """
    specs = [importlib.util.find_spec(f"{package}.{role}") for package in packages()]
    extension_modules = tuple(importlib.import_module(spec.name) for spec in specs if spec is not None)
    for module in extension_modules:
        if getattr(module.__spec__, "_initializing", False):
            raise ImportError(
                f"{module.__name__}: expected tunax_lite.config to be imported before it, got it first; "
                "import tunax_lite.config, which imports it."
            )
    return extension_modules


def additions(role: Role, name: str) -> tuple[Any, ...]:  # Any: of the type that the role requires
    """What all extensions add under one name, in their order."""
    return tuple(addition for module in modules(role) for addition in getattr(module, name, ()))
