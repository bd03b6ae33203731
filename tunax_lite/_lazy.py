"""Names of a package that are imported on first use: a start-up must not import what it does not need."""

import importlib
import sys
from collections.abc import Callable, Mapping


def lazily(
    package: str, names: Mapping[str, str]
) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package that imports these names, and shows no others.

    Args:
        package: its `__name__`.
        names: by module below the package, the names that it defines, separated by spaces.
    """
    modules = {name: module for module, several in names.items() for name in several.split()}

    def load(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f".{modules[name]}", package), name)
        setattr(sys.modules[package], name, value)  # so that Python finds it itself from now on
        return value

    return list(modules), load, lambda: list(modules)
