"""JSON Schemas of configuration files, for editors."""

from .._types import JSON
from .load import kinds
from .section import Section, closest


def configurations() -> dict[str, type[Section]]:
    """Sections of all kinds of configuration file, by label."""
    return {kind.label: kind.config for kind in kinds()}


def json_schema(kind: str) -> dict[str, JSON]:
    """Return the JSON Schema of a kind of `configurations`; `ValueError` for an unknown kind."""
    known = configurations()
    if kind not in known:
        raise ValueError(f"expected a kind of configuration, got '{kind}'; {closest(kind, list(known))}.")
    schema = known[kind].model_json_schema()
    properties = schema["properties"]
    if "cases" in properties:
        file_name = {"type": "string", "description": "file with a list of them"}
        properties["cases"] = {"anyOf": [properties["cases"], file_name]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
