"""Import the names of a package on first use, so that a command starts without slow imports."""

import importlib
import sys
from collections.abc import Callable, Mapping


def lazily(
    package: str, names: Mapping[str, str]
) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` for a package that imports names on first use.

    Args:
        package: `__name__` of the package.
        names: names that each module of the package defines, separated by spaces, by module.
    """
    modules = {name: module for module, listed in names.items() for name in listed.split()}

    def load(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f".{modules[name]}", package), name)
        setattr(sys.modules[package], name, value)  # Python calls this function only once per name
        return value

    return list(modules), load, lambda: list(modules)
