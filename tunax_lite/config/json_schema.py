"""JSON Schemas of configuration files, for editors."""

import numpy as np

from .._types import JSON, ParameterInfo, iterate_parameters
from ..closures import AbstractClosure
from ..declarations import Named, names_of
from .closures import options_of
from .load import kinds
from .section import Section, closest


def configurations() -> dict[str, type[Section]]:
    """Kinds of configuration file, by label."""
    return {kind.label: kind.config for kind in kinds()}


def json_schema(kind: str) -> dict[str, JSON]:
    """The JSON Schema of a kind of configuration file (`configurations`), for editors."""
    known = configurations()
    if kind not in known:
        raise ValueError(f"expected a kind of configuration, got '{kind}'; {closest(kind, list(known))}.")
    schema = known[kind].model_json_schema()
    definitions = schema["$defs"]
    for section in ("ClosureSection", "ComparedClosureSection"):
        if section in definitions:
            definitions[section]["allOf"] = [_of_closure(each) for each in names_of(AbstractClosure).values()]
    for each in dict.fromkeys(each.kind for each in names_of(AbstractClosure).values()):
        options = options_of(each).model_json_schema()
        for name, found in options.pop("$defs", {}).items():
            definitions.setdefault(name, found)
        definitions[_options_name(each)] = options
    properties = schema["properties"]
    if "cases" in properties:
        of_file = {"type": "string", "description": "file with a list of them"}
        properties["cases"] = {"anyOf": [properties["cases"], of_file]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _options_name(kind: type) -> str:
    return f"{kind.__name__}Options"


def _of_closure(each: Named) -> dict[str, JSON]:
    """Options, and names and ranges of the parameters, of a named closure."""
    numbers = {info.path: _number(info) for info in iterate_parameters(each.make())}
    options = {"$ref": f"#/$defs/{_options_name(each.kind)}"}
    then = {"options": options, "parameters": {"properties": numbers}}
    named = {"properties": {"name": {"const": each.name}}, "required": ["name"]}
    return {"if": named, "then": {"properties": then}}


def _number(info: ParameterInfo) -> dict[str, JSON]:
    keys = ("minimum", "maximum")
    bounds = {key: bound for key, bound in zip(keys, info.valid_range, strict=True) if np.isfinite(bound)}
    return {"description": f"[{info.unit}]", **bounds}
