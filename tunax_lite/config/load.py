"""From a YAML file to a checked configuration; every problem of the file in one message."""

import dataclasses
import re
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar, Union, get_args, get_origin

import pydantic
from pydantic.fields import FieldInfo

from ..closures import AbstractClosure
from ..io.yaml_file import ConfigError, Document, read_document, with_overrides, yaml_text
from .builder import closest
from .calibration import CalibrationConfig
from .cases import GotmCase
from .closures import ClosureSection, closure_class, options_of
from .schema import RunConfig
from .series import Place

ConfigT = TypeVar("ConfigT", RunConfig, CalibrationConfig)
SectionT = TypeVar("SectionT", bound=pydantic.BaseModel)


@dataclasses.dataclass(frozen=True)
class Loaded(Generic[ConfigT]):
    """A checked configuration and where it comes from.

    Args:
        place: the file, and where each key was set.
    """

    config: ConfigT
    place: Place

    @property
    def path(self) -> Path:
        """The file."""
        return self.place.path

    @property
    def name(self) -> str:
        """Name of the file without its ending."""
        return self.path.stem

    @property
    def closure_class(self) -> type[AbstractClosure]:
        """The closure that the configuration names."""
        return closure_class(self.config.model.closure.name)

    @property
    def text(self) -> str:
        """All values, defaults included, as YAML: what is stored with results.

        What a case of GOTM says itself has no defaults here.
        """
        own = isinstance(self.config.case, GotmCase) if isinstance(self.config, RunConfig) else False
        unset = {"grid", "model", "time"} - self.config.model_fields_set if own else None
        return yaml_text(self.config.model_dump(exclude=unset))


def load_run(path: Path, overrides: Sequence[str] | Mapping[str, Any] = ()) -> Loaded[RunConfig]:
    """Read the configuration of a run.

    Args:
        path: a YAML file.
        overrides: settings `key.path=value`, or values by key path, that replace those of the file.

    Raises:
        ConfigError: a file or a setting that cannot be used; names file, key path and what was expected.
    """
    return _load(path, overrides, RunConfig)


def load_calibration(path: Path, overrides: Sequence[str] = ()) -> Loaded[CalibrationConfig]:
    """Read the configuration of a calibration; arguments and errors as in `load_run`."""
    return _load(path, overrides, CalibrationConfig)


def load_any(path: Path, overrides: Sequence[str] = ()) -> Loaded[Any]:
    """Read the configuration of a run, or of a calibration if it has `cases`."""
    return _load(path, overrides)


def _load(path: Path, overrides: Sequence[str] | Mapping[str, Any], model: Any = None) -> Loaded[Any]:
    """A file of one kind, or of any; one of another kind, known by one of its keys, is refused."""
    document = with_overrides(read_document(Path(path)), overrides)
    expected, todo = "a run or a calibration", "use `tunax-lite compare`"
    others = {"closures": "a comparison"}
    if model is not None:
        expected, key, other = ("a run", "cases", "a calibration")
        if model is CalibrationConfig:
            expected, key, other = "a calibration", "case", "a run"
        todo, others[key] = "use another file or another command", other
    for key, kind in others.items():
        if key in document.data:
            raise ConfigError(
                f"{document.source}: expected the configuration of {expected}, got that of {kind} (it has "
                f"`{key}`); {todo}."
            )
    model = model or (CalibrationConfig if "cases" in document.data else RunConfig)
    return Loaded(validated(document, model), Place(Path(path), document.origins))


def validated(document: Document, model: type[SectionT]) -> SectionT:
    """Keys and values as sections."""
    try:
        return model.model_validate(document.data)
    except pydantic.ValidationError as error:
        messages = [_message(problem, document, model) for problem in error.errors(include_url=False)]
        raise ConfigError("\n".join(dict.fromkeys(messages))) from error


def _message(problem: Any, document: Document, model: type[pydantic.BaseModel]) -> str:
    kind, context = problem["type"], problem.get("ctx", {})
    path = _key_path(problem["loc"], document.data, missing=kind == "missing")
    if kind == "unknown_key":
        path = (*path, str(context["key"]))
    below = getattr(context.get("error"), "keys", ())
    origin, path = _origin((*path, *below), document), (*path, *below[:1])
    where = f"{document.source}: {origin}{'.'.join(path) or 'top level'}"
    field, sections = _field_at(problem["loc"], model, document.data)
    about = f" ({field.description.split('. ')[0]})" if field is not None and field.description else ""
    got = f"got {problem['input']!r}"
    if kind == "unknown_key":
        return f"{where}: unknown key; {context['hint']}"
    if kind == "missing":
        return f"{where}: expected a value{about}, got none; add this key."
    if kind == "union_tag_not_found":
        tag, tags = context["discriminator"], _tags(field)
        return f"{where}: expected the key {tag}, one of {tags}, got none; add it."
    if kind == "union_tag_invalid":
        hint = closest(context["tag"], re.findall("'([^']*)'", context["expected_tags"]))
        todo = hint if hint.startswith("did") else "choose one of these"
        return (
            f"{where}: expected {context['discriminator']} to be one of {context['expected_tags']}, "
            f"got '{context['tag']}'; {todo}."
        )
    if kind in ("model_type", "model_attributes_type") and sections:
        keys = ", ".join(sections[0].model_fields)
        return f"{where}: expected a mapping with some of the keys {keys}{about}, {got}; write one."
    if kind == "invalid":
        return f"{where}: {problem['msg']}."
    if kind == "value_error":
        return f"{where}: {context['error']}"
    expected = problem["msg"].replace("Input should be", "expected")
    expected = re.sub("expected (?=greater|less)", "expected a number ", expected)
    expected = re.sub("^(?:List|Dictionary|String) should have (.*?)(?: after.*)?$", r"expected \1", expected)
    return f"{where}: {expected}{about}, {got}; correct this value."


def _origin(path: tuple[str, ...], document: Document) -> str:
    """Where the key, or the nearest one above it, was set."""
    while path:
        if path in document.origins:
            return f"{document.origins[path]}: "
        path = path[:-1]
    return ""


def _key_path(location: tuple, data: Any, *, missing: bool) -> tuple[str, ...]:
    """Location of an error in the file: what pydantic adds to name members of unions is left out."""
    path: list[str] = []
    for depth, key in enumerate(location):
        is_item = isinstance(data, list) and isinstance(key, int) and key < len(data)
        if is_item or (isinstance(data, dict) and key in data):
            path.append(str(key))
            data = data[key]
        elif missing and depth == len(location) - 1:
            path.append(str(key))
    return tuple(path)


def _members(annotation: Any) -> list[Any]:
    """The classes that an annotation is made of."""
    if get_origin(annotation) is Annotated:
        return _members(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType, list, dict):
        return [member for argument in get_args(annotation) for member in _members(argument)]
    return [annotation]


def _sections(annotation: Any) -> list[type[pydantic.BaseModel]]:
    is_section = lambda member: isinstance(member, type) and issubclass(member, pydantic.BaseModel)  # noqa: E731
    return [member for member in _members(annotation) if is_section(member)]


def _field_at(
    location: tuple, model: type[pydantic.BaseModel], data: Any
) -> tuple[FieldInfo | None, list[type[pydantic.BaseModel]]]:
    """The declaration of the field that an error is about, and the sections that it may be."""
    sections: list[type[pydantic.BaseModel]] = [model]
    field = None
    for key in location:
        for section in sections:
            if key in section.model_fields:
                field = section.model_fields[str(key)]
                sections = _sections(field.annotation)
                if key == "options" and issubclass(section, ClosureSection):
                    name = data.get("name", "k_epsilon") if isinstance(data, dict) else "k_epsilon"
                    sections = [options_of(closure_class(name))]
                break
        else:
            chosen = [s for s in sections if key in _tag_values(s)]
            sections = chosen or sections
        if isinstance(data, dict):
            data = data[key] if key in data else data
        elif isinstance(data, list) and isinstance(key, int):
            data = data[key]
    return field, sections


def _tag_values(section: type[pydantic.BaseModel]) -> tuple:
    for name in ("format", "kind", "name", "prior"):
        if name in section.model_fields:
            return get_args(section.model_fields[name].annotation)
    return ()


def _tags(field: FieldInfo | None) -> str:
    if field is None:
        return "those in the documentation"
    return ", ".join(f"'{tag}'" for section in _sections(field.annotation) for tag in _tag_values(section))
