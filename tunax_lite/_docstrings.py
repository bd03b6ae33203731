"""Docstrings at run time: they explain fields and options to users, but Python drops them with -OO."""

import ast
import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from types import ModuleType


def docstring_of(documented: type | ModuleType | Callable[..., object]) -> str:
    """Docstring of a class (not inherited), a function or a module; with -OO it is read from the source."""
    text = documented.__dict__.get("__doc__") if isinstance(documented, type) else documented.__doc__
    if sys.flags.optimize >= 2:
        is_module = isinstance(documented, ModuleType)
        name = "" if is_module else documented.__qualname__
        in_source = _docstrings(documented.__name__ if is_module else documented.__module__)
        text = in_source.get(name, text)  # dataclasses and derived classes have one that is not in the source
    return inspect.cleandoc(text or "")


@functools.cache
def _docstrings(module: str) -> Mapping[str, str]:
    """Docstrings in the source of a module by qualified name, which is empty for the module itself."""
    text_by_name: dict[str, str] = {}

    def visit(node: ast.AST, name: str) -> None:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (
            text := ast.get_docstring(node)
        ):
            text_by_name[name] = text
        for child in ast.iter_child_nodes(node):
            inner = "<locals>." if isinstance(node, ast.FunctionDef) else ""
            is_named = isinstance(child, ast.ClassDef | ast.FunctionDef)
            inner_name = child.name if is_named else ""
            visit(child, f"{name}.{inner}{inner_name}".lstrip(".") if inner_name else name)

    try:
        source = inspect.getsource(sys.modules[module])
    except (OSError, TypeError, KeyError):
        return text_by_name
    tree = ast.parse(source)
    visit(tree, "")
    return text_by_name
