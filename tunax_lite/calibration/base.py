"""The closure behind a set of calibrated values.

A value of one constant holds only together with the values of the others. A file of parameters therefore
carries the options and the constants that were not calibrated, and its values are inserted only into such a
closure.
"""

import contextlib
import dataclasses
from collections.abc import Iterable, Mapping

import numpy as np

from .. import __version__
from .._types import JSON, is_traced, iterate_options, iterate_parameters, iterate_vectors
from ..closures.base import AbstractClosure
from ..declarations import name_of, names_of

_SAME = 1e-6
"""Relative difference that two precisions of the same number may have."""
_LISTED = 8


@dataclasses.dataclass(frozen=True)
class Base:
    """A closure without the numbers that a calibration changed.

    Args:
        closure: name of its class.
        name: in configurations, if the rest is as this name gives it, or else a description.
        version: of this package.
        options: text of parts, choices and switches, by dotted name.
        constants: values by dotted name; `None` for one that follows from others.
    """

    closure: str
    name: str
    version: str
    options: Mapping[str, str]
    constants: Mapping[str, JSON]

    @classmethod
    def of(cls, closure: AbstractClosure, calibrated: Iterable[str]) -> "Base":
        """The base of a closure in which the numbers at some paths are calibrated."""
        changed, kind = {path.partition("[")[0] for path in calibrated}, type(closure)
        facts = _facts(closure, changed)
        name = f"{name_of(kind) or kind.__name__} with its own options and constants"
        for each in names_of(AbstractClosure).values():
            with contextlib.suppress(TypeError):  # a class without defaults
                if each.kind is kind and not _differences(facts, _facts(each.make(), changed)):
                    name = each.name
                    break
        return cls(kind.__name__, name, __version__, *facts)

    @classmethod
    def read(cls, closure: str, content: JSON, calibrated: Iterable[str]) -> "Base":
        """From the content of a file, or from the name of a closure; `ValueError` for another."""
        try:
            if isinstance(content, str):
                return cls.of(names_of(AbstractClosure)[content].make(), calibrated)
            facts = dict(content["options"]), dict(content["constants"])
            return cls(closure, str(content["name"]), str(content["version"]), *facts)
        except (KeyError, TypeError, ValueError):
            raise ValueError(
                "base: expected name, version, options and constants of the calibrated closure, or its name "
                "alone, got others; calibrate again, or remove the section if the values hold beside any "
                "constants."
            ) from None

    @property
    def content(self) -> dict[str, JSON]:
        """For a file, beside the name of the class."""
        return {name: part for name, part in dataclasses.asdict(self).items() if name != "closure"}

    def check(self, closure: AbstractClosure, calibrated: Iterable[str], source: str) -> None:
        """Raise `ValueError` if a closure differs in more than the calibrated numbers."""
        if is_traced(closure):
            return
        here = Base.of(closure, calibrated)
        apart = _differences((self.options, self.constants), (here.options, here.constants))
        if not apart:
            return
        listed = "; ".join(apart[:_LISTED])
        more = f"; and {len(apart) - _LISTED} more" if len(apart) > _LISTED else ""
        version = "" if self.version == here.version else f" of version {self.version}"
        named = f"`{self.name}`" if " " not in self.name else "what `base` in the file says"
        raise ValueError(
            f"base: expected the closure on which {source} was calibrated, {self.name}{version}, "
            f"got {here.name}: {listed}{more}. Choose {named} for `model.closure`, or calibrate on this one."
        )


Facts = tuple[Mapping[str, str], Mapping[str, JSON]]
"""Options and constants."""


def constants_of(closure: AbstractClosure) -> dict[str, JSON]:
    """Numbers and vectors of a closure by path, as files hold them; `None` for a number that is not set."""
    infos = [*iterate_parameters(closure), *iterate_vectors(closure)]
    return {one.path: None if one.value is None else np.asarray(one.value).tolist() for one in infos}


def _facts(closure: AbstractClosure, changed: set[str]) -> Facts:
    values = constants_of(closure)
    options = {path: text for path, text in iterate_options(closure) if path and path not in values}
    return options, {path: value for path, value in values.items() if path not in changed}


def _differences(there: Facts, here: Facts) -> list[str]:
    """Paths at which two differ, with their values, in words."""
    first, second = ({**options, **constants} for options, constants in (there, here))
    lines = []
    for path in dict.fromkeys((*first, *second)):
        pair = first.get(path, "absent"), second.get(path, "absent")
        if not _is_same(*pair):
            old, new = ("not given" if value is None else f"{value}"[:40] for value in pair)
            lines.append(f"{path} is {old} there, {new} here")
    return lines


def _is_same(first: JSON, second: JSON) -> bool:
    if first is None or second is None or isinstance(first, str) or isinstance(second, str):
        return first == second
    one, two = np.asarray(first, float), np.asarray(second, float)
    same_size = one.shape == two.shape or not one.shape or not two.shape
    return same_size and np.allclose(one, two, rtol=_SAME, atol=0.0)


class CalibratedValues(dict[str, float]):
    """Values by path from a file, with the base that they belong to; `None` if the file has none.

    `with_parameters` refuses another base.
    """

    def __init__(self, values: Mapping[str, float], base: Base | None, source: str):
        dict.__init__(self, values)
        self.base, self.source = base, source
