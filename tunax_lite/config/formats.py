"""Declarations by which extensions add kinds of configuration and cases of other models.

A set-up of another model is translated to the configuration of a run, with a report on the keys of its files.
A command runs it directly, or a configuration names it as its case and may replace grid, model and times.
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

SomeLoaded = Any  # `load.Loaded[RunConfig]`; `load` imports this module


@dataclasses.dataclass(frozen=True)
class Report:
    """Report on the translation of a set-up of another model.

    Args:
        model: name of the other model.
        source: path of its configuration file.
        n_followed: number of keys of the file that the run uses.
        differences: settings that this package follows in another way.
        without_effect: keys of the file that are not at their defaults and change nothing, with the reason.
        unsupported: unsupported keys of the file that are at their defaults, so that nothing is lost.
        errors: unsupported keys that would change the result.
        warnings: oddities of the files, which are read nevertheless.
        ignores_unsupported: true to run without the settings in `errors`.
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
        """Raise `ConfigError` that lists `errors`, unless they are ignored."""
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

    name: str  # value of the key `format` of a case
    recognises: Callable[[Path], bool]
    load: Callable[[Path, Sequence[str] | Mapping[str, JSON]], SomeLoaded]


class AbstractTranslatedCase(AbstractCase):
    """A case of another model; its files also give grid, model and times."""

    @abc.abstractmethod
    def translated(self, where: Place, grid: GridSection, step: float | None) -> SomeLoaded:
        """Return the configuration of its run, with the report.

        Args:
            where: position of this section.
            grid: grid that replaces the one of the files, unless it is native.
            step: time step [s]; `None` for the one of the files.
        """

    def named(self, where: Place) -> str:
        return self.translated(where, NativeGrid(kind="native"), None).config.case.name

    def build(self, grid: GridSection, where: Place, step: float) -> BuiltCase:
        loaded = self.translated(where, grid, step)
        config = loaded.config
        return config.case.build(config.grid, loaded.place.below("case"), config.time.dt)


class Kind(NamedTuple):
    """A kind of configuration file, and what commands do with it.

    Args:
        label: its name in `tunax-lite schema`.
        key: top-level key by which its files are recognised; `load.kinds` orders kinds that share one.
        config: section of the whole file.
        module: name of the module with its commands, imported when one runs; empty for the kinds of this
            folder, whose commands are in `cli`. `check(loaded, parameters, figures)` takes the loaded
            configuration, the path of a parameter file or `None`, and the `cli.check.InputFigures`; it
            describes the configuration and returns the answer for scripts. `calibrate`, which is optional,
            has the arguments of `cli.calibrate.calibrate`.
    """

    label: str
    key: str
    config: type[Section]
    module: str

    @property
    def name(self) -> str:
        """Label with its article, for messages."""
        return f"{'an' if self.label[0] in 'aeiou' else 'a'} {self.label}"

    @property
    def commands(self) -> ModuleType:
        """The module, imported."""
        return importlib.import_module(self.module)


def notes_on_terms(terms: Mapping[str, AbstractTerm], state: State) -> Iterator[tuple[str, str]]:
    """Yield names of terms with notes of extensions; `ValueError` for terms that do not fit together.

    Args:
        terms: terms of a case, by name.
        state: initial state with the tracers of the configuration, before `with_memory` adds those of terms.
    """
    for look in additions("formats", "NOTES_ON_TERMS"):
        yield from look(terms, state)
