"""Load YAML configurations; one message lists all problems of a file."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import pydantic
from pydantic_core import ErrorDetails

from .._types import JSON
from ..closures import AbstractClosure
from ..io.place import Place
from ..io.yaml_file import ConfigError, Document, read_document, with_overrides, yaml_text
from ..registry import additions
from .calibration import CalibrationConfig
from .case import NativeGrid
from .closures import closure_class
from .comparison import ComparisonConfig
from .formats import AbstractTranslatedCase, Kind, Report
from .schema import RunConfig
from .section import Section

ConfigT = TypeVar("ConfigT", bound=Section)


@dataclasses.dataclass(frozen=True)
class Loaded(Generic[ConfigT]):
    """A checked configuration and its origin.

    Args:
        config: section of the whole file.
        place: path of the file, and the origin of each key.
        report: report on the translation of a set-up of another model; `None` for YAML of this package.
    """

    config: ConfigT
    place: Place
    report: Report | None = None

    @property
    def path(self) -> Path:
        """Path of the file."""
        return self.place.path

    @property
    def name(self) -> str:
        """Name of the file without its suffix; for a set-up of another model, that of its case."""
        config: Any = self.config  # Any: with a report it is a `RunConfig`
        return self.path.stem if self.report is None else config.case.name

    @property
    def kind(self) -> Kind:
        """The kind of the configuration."""
        return next(kind for kind in kinds() if isinstance(self.config, kind.config))

    @property
    def closure_class(self) -> type[AbstractClosure]:
        """Class of the closure of a calibration or a map; only these have one `model` for all cases."""
        config: Any = self.config
        return closure_class(config.model.closure.name)

    @property
    def text(self) -> str:
        """All values, including defaults, as YAML: stored with results.

        Defaults of grid, model and time are left out if a set-up of another model gives them.
        """
        config = self.config
        is_translated = isinstance(config, RunConfig) and isinstance(config.case, AbstractTranslatedCase)
        unset = {"grid", "model", "time"} - config.model_fields_set if is_translated else None
        return yaml_text(config.model_dump(exclude=unset))

    @property
    def short_text(self) -> str:
        """The values that the file or an option sets, without defaults, as YAML."""
        return yaml_text(self.config.model_dump(exclude_unset=True))


def load_run(path: Path, overrides: Sequence[str] | Mapping[str, JSON] = ()) -> Loaded[RunConfig]:
    """Read the configuration of a run.

    Args:
        path: a YAML file, or a set-up of another model.
        overrides: settings `key.path=value`, or values by key path, that override those of the file.

    Raises:
        ConfigError: an invalid file or setting; the message names file, key path and the expected value.
    """
    return load(path, overrides, RunConfig)


def load_calibration(path: Path, overrides: Sequence[str] = ()) -> Loaded[CalibrationConfig]:
    """Read the configuration of a calibration; arguments and errors as in `load_run`."""
    return load(path, overrides, CalibrationConfig)


def load_comparison(path: Path, overrides: Sequence[str] = ()) -> Loaded[ComparisonConfig]:
    """Read the configuration of a comparison; arguments and errors as in `load_run`."""
    return load(path, overrides, ComparisonConfig)


def load(
    path: Path, overrides: Sequence[str] | Mapping[str, JSON] = (), *configs: type[ConfigT]
) -> Loaded[ConfigT]:
    """Read a configuration of one of the kinds `configs`, by default of any but a comparison.

    Arguments and errors are those of `load_run`; a file of another kind raises `ConfigError`, too.
    """
    accepted = [kind for kind in kinds() if kind.config in configs]
    if not configs:
        accepted = [kind for kind in kinds() if kind.config is not ComparisonConfig]
    expected = " or ".join(kind.name for kind in accepted)
    set_up = next((each for each in additions("formats", "SET_UPS") if each.recognises(Path(path))), None)
    if set_up is not None and (not configs or RunConfig in configs):
        return set_up.load(Path(path), overrides)
    if set_up is not None:
        raise ConfigError(
            f"{path}: expected the configuration of {expected}, got a set-up of {set_up.name}; write one "
            f"that names it as `case: {{format: {set_up.name}, path: FILE}}`."
        )
    document = with_overrides(with_cases(read_document(Path(path))), overrides)
    kind = kind_in(document.data)
    if kind is not None and kind.key == "cases" and ComparisonConfig in configs:  # it has cases too
        kind = accepted[0]  # all of its closures are the default
    if kind is not None and kind not in accepted:
        todo = "use `tunax-lite compare`" if kind.key == "closures" else "use another file or another command"
        raise ConfigError(
            f"{document.source}: expected the configuration of {expected}, got that of {kind.name} (it has "
            f"`{kind.key}`); {todo}."
        )
    # Any: `ConfigT` cannot follow the file.
    chosen: Any = kind.config if kind is not None else (*configs, RunConfig)[0]
    place = Place(Path(path), document.origins)
    checked = validated(document, chosen)
    if isinstance(checked, CalibrationConfig):
        checked: Any = _with_set_up(checked, place)
    return Loaded(checked, place)


def with_cases(document: Document) -> Document:
    """Replace `cases` by the cases of another file, if it is the name of one.

    Raises:
        FileNotFoundError: no such file.
        ConfigError: a file without `cases`, or with other keys.
    """
    name = document.data.get("cases")
    if not isinstance(name, str):
        return document
    place = Place(Path(document.source), document.origins)
    other = read_document(path := place.file(name, "cases"))
    if list(other.data) != ["cases"] or not isinstance(other.data["cases"], list):
        got = ", ".join(other.data) or "no keys"
        expected = "expected a file with a list of `cases` alone"
        raise ConfigError(f"{place.at('cases')}: {expected}, got {path} with {got}.")
    origins = {key: f"{path}: {line}" for key, line in other.origins.items() if key}
    return Document({**document.data, **other.data}, {**document.origins, **origins}, document.source)


def _with_set_up(config: CalibrationConfig, place: Place) -> CalibrationConfig:
    """Take grid, model and time step from the set-ups of the cases, where the calibration sets none.

    Raises:
        ConfigError: set-ups with different models or time steps.
        FileNotFoundError, FileFormatError: files of a case that cannot be used.
    """
    missing = {"grid", "model"} - config.model_fields_set
    missing |= set() if "dt" in config.time.model_fields_set else {"time"}
    added: dict[str, Any] = {}  # sections by key
    for index, target in enumerate(config.cases if missing else ()):
        if not isinstance(target.case, AbstractTranslatedCase):
            continue
        where = place.below("cases", str(index), "case")
        case = target.case.translated(where, NativeGrid(kind="native"), None).config
        time = config.time.model_copy(update={"dt": [case.time.dt]})
        sections = {"grid": [NativeGrid(kind="native")], "model": case.model, "time": time}
        for name in sorted(missing):
            if added.setdefault(name, sections[name]) != sections[name]:
                which = "time.dt" if name == "time" else name
                expected = f"cases with one {which}, got another than in a case before"
                raise ConfigError(f"{where.at()}: expected {expected}; give {which}.")
    return config.model_copy(update=added)


def kinds() -> tuple[Kind, ...]:
    """All kinds of configuration file, in the order in which `kind_in` tries their keys.

    A comparison has `cases` too, and therefore comes before a calibration.
    """
    return (
        Kind("comparison", "closures", ComparisonConfig, ""),
        *additions("kinds", "KINDS"),
        Kind("calibration", "cases", CalibrationConfig, ""),
        Kind("run", "case", RunConfig, ""),
    )


def kind_in(data: Mapping[str, JSON]) -> Kind | None:
    """Recognise the kind of a file by its keys; `None` if it has the key of no kind."""
    return next((kind for kind in kinds() if kind.key in data), None)


def validated(document: Document, model: type[ConfigT]) -> ConfigT:
    """Validate the content of a file as a section; `ConfigError` lists all problems."""
    try:
        return model.model_validate(document.data)
    except pydantic.ValidationError as error:
        messages = [_message(problem, document) for problem in error.errors(include_url=False)]
        raise ConfigError("\n".join(dict.fromkeys(messages))) from error


def _message(problem: ErrorDetails, document: Document) -> str:
    """Position and text of a problem that pydantic found."""
    path = _key_path(problem["loc"], document.data, named=problem["type"] in ("missing", "rejected"))
    place = Place(Path(document.source), document.origins)
    where = place.at(*path) if path else f"{document.source}: top level"
    # The error that a class raised, without pydantic's prefix "Value error".
    message = problem.get("ctx", {}).get("error", problem["msg"])
    return f"{where}: {str(message).removesuffix('.')}."


def _key_path(location: tuple, data: JSON, *, named: bool) -> tuple[str, ...]:
    """Location of an error in the file, without the names that pydantic adds for members of unions.

    With `named` the last key is the one that is missing or wrong; it need not be in the file.
    """
    path: list[str] = []
    for depth, key in enumerate(location):
        is_item = isinstance(data, list) and isinstance(key, int) and key < len(data)
        if is_item or (isinstance(data, dict) and key in data):
            path.append(str(key))
            data = data[key]
        elif named and depth == len(location) - 1:
            path.append(str(key))
    return tuple(path)
