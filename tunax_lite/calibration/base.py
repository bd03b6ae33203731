"""The closure for which a set of values was calibrated.

Calibrated values are valid only together with the other constants and the options of the closure. A file of
parameters therefore contains these, too, and its values are inserted only into a closure that has the same.
"""

import contextlib
import dataclasses
from collections.abc import Iterable, Mapping

import numpy as np

from .. import __version__
from .._types import JSON, is_traced, iterate_options, iterate_parameters, iterate_vectors
from ..closures.base import AbstractClosure
from ..declarations import name_of, names_of

_TOLERANCE = 1e-6
"""Relative difference of a number in single and in double precision."""
_MOST_LISTED = 8  # differences in a message


@dataclasses.dataclass(frozen=True)
class Base:
    """A closure without the numbers that a calibration changed.

    Args:
        closure: name of its class.
        name: name in configurations of a closure with the same options and constants, or else a description.
        version: version of this package.
        options: text of parts, choices and switches, by path.
        constants: values by path; `None` for one that is not set, because it follows from others.
    """

    closure: str
    name: str
    version: str
    options: Mapping[str, str]
    constants: Mapping[str, JSON]

    @classmethod
    def of(cls, closure: AbstractClosure, calibrated: Iterable[str]) -> "Base":
        """Return the base of a closure in which the numbers at some paths are calibrated."""
        changed, kind = {path.partition("[")[0] for path in calibrated}, type(closure)
        contents = _contents(closure, changed)
        name = f"{name_of(kind) or kind.__name__} with other options or constants"
        for each in names_of(AbstractClosure).values():
            with contextlib.suppress(TypeError):  # a class without defaults
                if each.kind is kind and not _differences(contents, _contents(each.make(), changed)):
                    name = each.name
                    break
        return cls(kind.__name__, name, __version__, *contents)

    @classmethod
    def read(cls, closure: str, content: JSON, calibrated: Iterable[str]) -> "Base":
        """Read the section `base` of a file, or only the name of a closure; otherwise `ValueError`."""
        try:
            if isinstance(content, str):
                return cls.of(names_of(AbstractClosure)[content].make(), calibrated)
            contents = dict(content["options"]), dict(content["constants"])
            return cls(closure, str(content["name"]), str(content["version"]), *contents)
        except (KeyError, TypeError, ValueError):
            raise ValueError(
                "base: expected name, version, options and constants of the calibrated closure, or only its "
                "name, got something else; calibrate again, or remove the section if the values are valid "
                "with any constants."
            ) from None

    @property
    def content(self) -> dict[str, JSON]:
        """Section `base` of a file; the name of the class is stored separately."""
        return {name: part for name, part in dataclasses.asdict(self).items() if name != "closure"}

    def check(self, closure: AbstractClosure, calibrated: Iterable[str], source: str) -> None:
        """Raise `ValueError` if a closure, unless traced, differs in more than the calibrated numbers."""
        if is_traced(closure):
            return
        current = Base.of(closure, calibrated)
        differences = _differences((self.options, self.constants), (current.options, current.constants))
        if not differences:
            return
        listed = "; ".join(differences[:_MOST_LISTED])
        more = f"; and {len(differences) - _MOST_LISTED} more" if len(differences) > _MOST_LISTED else ""
        version = "" if self.version == current.version else f" of version {self.version}"
        named = f"`{self.name}`" if " " not in self.name else "the `base` of the file"
        raise ValueError(
            f"base: expected the closure on which {source} was calibrated, {self.name}{version}, "
            f"got {current.name}: {listed}{more}; choose {named} for `model.closure`, or calibrate this one."
        )


Contents = tuple[Mapping[str, str], Mapping[str, JSON]]
"""Options and constants."""


def constants_of(closure: AbstractClosure) -> dict[str, JSON]:
    """Numbers and vectors of a closure by path, as files hold them; `None` for a number that is not set."""
    infos = [*iterate_parameters(closure), *iterate_vectors(closure)]
    return {info.path: None if info.value is None else np.asarray(info.value).tolist() for info in infos}


def _contents(closure: AbstractClosure, changed: set[str]) -> Contents:
    values = constants_of(closure)
    options = {path: text for path, text in iterate_options(closure) if path and path not in values}
    return options, {path: value for path, value in values.items() if path not in changed}


def _differences(calibrated: Contents, current: Contents) -> list[str]:
    """Describe the options and constants that differ."""
    first, second = ({**options, **constants} for options, constants in (calibrated, current))
    lines = []
    for path in dict.fromkeys((*first, *second)):
        pair = first.get(path, "absent"), second.get(path, "absent")
        if not _is_same(*pair):
            old, new = ("not set" if value is None else f"{value}"[:40] for value in pair)
            lines.append(f"{path} was {old}, now {new}")
    return lines


def _is_same(first: JSON, second: JSON) -> bool:
    if first is None or second is None or isinstance(first, str) or isinstance(second, str):
        return first == second
    left, right = np.asarray(first, float), np.asarray(second, float)
    same_size = left.shape == right.shape or not left.shape or not right.shape
    return same_size and np.allclose(left, right, rtol=_TOLERANCE, atol=0.0)


class CalibratedValues(dict[str, float]):
    """Values by path from a file `source`, with the base of their calibration, `None` if it is unknown.

    `with_parameters` rejects a closure with another base.
    """

    def __init__(self, values: Mapping[str, float], base: Base | None, source: str):
        dict.__init__(self, values)
        self.base, self.source = base, source
