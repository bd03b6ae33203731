"""JSON Schemas of configuration files, for editors."""

from .._types import JSON
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
    properties = schema["properties"]
    if "cases" in properties:
        of_file = {"type": "string", "description": "file with a list of them"}
        properties["cases"] = {"anyOf": [properties["cases"], of_file]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
