"""What an extension offers: kinds of configuration, and cases of another model in the words of this package.

A set-up of another model is translated to a configuration of a run, with a report on every key of its files.
It is run as it is, or it is the case of a configuration with a grid, a model or times of its own.
"""

import abc
import dataclasses
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from .._types import JSON
from ..column.state import State
from ..column.terms import AbstractTerm
from ..io.place import Place
from ..io.yaml_file import ConfigError
from ..registry import additions
from .case import AbstractCase, BuiltCase, GridSection, NativeGrid
from .section import Section

SomeLoaded = Any  # `load.Loaded[RunConfig]`, which imports this module


@dataclasses.dataclass(frozen=True)
class Report:
    """What became of the keys of a set-up of another model.

    Args:
        model: name of the other model.
        source: the configuration file.
        n_followed: number of keys of the file that the run uses.
        differences: what is done differently from the other model.
        without_effect: keys of the file that are not at their defaults and change nothing, with the reason.
        unsupported: keys of the file that are not supported, and at their defaults.
        errors: keys that would change the result and are not supported.
        warnings: oddities of its files, which are read nevertheless.
        ignores_unsupported: whether to run without settings that are not supported.
    """

    model: str
    source: str
    n_followed: int
    differences: tuple[str, ...]
    without_effect: tuple[str, ...]
    unsupported: tuple[str, ...]
    errors: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    ignores_unsupported: bool = False

    def check(self) -> None:
        """Raise `ConfigError` listing all unsupported settings."""
        if self.errors and not self.ignores_unsupported:
            raise ConfigError(
                "\n".join(self.errors)
                + "\n`--set ignore_unsupported=true`, or `case.ignore_unsupported: true` in a configuration "
                "of the package, runs without what these settings ask for."
            )

    def lines(self) -> list[str]:
        """The report as text."""
        start = f"{self.source}: "
        lines = [f"{start}{self.n_followed} settings are followed"]
        for title, entries in (
            (f"in another way than in {self.model}", self.differences),
            ("without effect", self.without_effect),
            ("not supported, at the default", self.unsupported),
            ("odd in the files", self.warnings),
            ("not supported, and changes the result", [e.removeprefix(start) for e in self.errors]),
        ):
            if entries:
                lines += [f"{title}:", *(f"  {entry}" for entry in entries)]
        return lines


class SetUpFormat(NamedTuple):
    """How set-ups of another model are recognised and read."""

    name: str  # as `format` of a case
    recognises: Callable[[Path], bool]
    load: Callable[[Path, Sequence[str] | Mapping[str, JSON]], SomeLoaded]


class AbstractTranslatedCase(AbstractCase):
    """A case of another model; its files also give grid, model and times."""

    @abc.abstractmethod
    def translated(self, where: Place, grid: GridSection, step: float | None) -> SomeLoaded:
        """The loaded configuration of its run, with the report.

        Args:
            where: this section.
            grid: replaces that of the files unless it is native.
            step: time step [s]; `None` for that of the files.
        """

    def named(self, where: Place) -> str:
        return self.translated(where, NativeGrid(kind="native"), None).config.case.name

    def build(self, grid: GridSection, where: Place, step: float | None = None) -> BuiltCase:
        loaded = self.translated(where, grid, step)
        config = loaded.config
        return config.case.build(config.grid, loaded.place.below("case"), config.time.dt)


class Kind(NamedTuple):
    """A kind of configuration file, and what commands do with it.

    Args:
        label: as `tunax-lite schema` names it.
        key: at the top level of its files, and of no others.
        config: its section.
        module: name of the module with its commands, imported when one runs. Its `check` prints what its
            command would do, of the loaded configuration, values of parameters, and the page of `tunax-lite
            check`, and returns the answer for scripts. Its `calibrate`, if it has one, calibrates what it
            describes, with the arguments of `cli.calibrate.calibrate`.
    """

    label: str
    key: str
    config: type[Section]
    module: str

    @property
    def name(self) -> str:
        """In messages."""
        return f"{'an' if self.label[0] in 'aeiou' else 'a'} {self.label}"

    @property
    def commands(self) -> ModuleType:
        """The module, imported."""
        return importlib.import_module(self.module)


def notes_on_terms(terms: Mapping[str, AbstractTerm], state: State) -> Iterator[tuple[str, str]]:
    """Names of terms, and what extensions note about them; `ValueError` for what cannot be.

    Args:
        terms: of a case, by name.
        state: at the start, with the tracers that the case gives, and no others.
    """
    for look in additions("formats", "NOTES_ON_TERMS"):
        yield from look(terms, state)
