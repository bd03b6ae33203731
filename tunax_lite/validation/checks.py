"""Runs that a calibration must not spoil: their errors with its parameters, against those without."""

import abc
import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import equinox as eqx

from ..calibration.parameters import known_parameters, with_parameters
from ..closures import AbstractClosure
from ..model import Model

LARGEST_GROWTH = 0.1
"""By which share an error may grow."""


class Error(NamedTuple):
    """Of one variable of a run, in its unit."""

    variable: str
    unit: str
    value: float


@dataclasses.dataclass(frozen=True)
class CheckRow:
    """An error before and after a calibration [unit].

    Args:
        check: name.
        variable: what is compared.
        unit: of the errors.
        uncalibrated, calibrated: root mean square errors; NaN of a run that broke down.
    """

    check: str
    variable: str
    unit: str
    uncalibrated: float
    calibrated: float

    @property
    def growth(self) -> float:
        """Of the error, as a fraction of the uncalibrated one; negative where it shrinks."""
        if self.calibrated == self.uncalibrated:
            return 0.0
        return self.calibrated / self.uncalibrated - 1.0 if self.uncalibrated > 0.0 else math.inf

    @property
    def too_large(self) -> bool:
        """Whether the error grows by more than is allowed, or the calibrated run broke down."""
        return not self.growth <= LARGEST_GROWTH


class AbstractCheck(abc.ABC):
    """A run with something to compare it with; `model` holds the closure of the run itself."""

    name: str
    model: Model
    kind: ClassVar[str]

    @abc.abstractmethod
    def errors(self, model: Model) -> tuple[Error, ...]:
        """Errors of a model in the place of its own."""


def run_checks(
    checks: Sequence[AbstractCheck],
    before: AbstractClosure,
    after: AbstractClosure,
    values: Mapping[str, float],
) -> tuple[CheckRow, ...]:
    """Errors of all checks without and with calibrated parameters.

    A run whose closure is of the calibrated kind keeps its own constants but for those that were
    calibrated; any other takes the closures before and after the calibration.

    Args:
        checks: with different names.
        before, after: closure before and after the calibration.
        values: calibrated values by path; those of other parts than the closure do not matter.

    Raises:
        ValueError: a parameter that the closure of a run does not have.
    """
    known = known_parameters(after)
    values = {path: value for path, value in values.items() if path in known}
    return tuple(row for check in checks for row in _rows(check, before, after, values))


def _rows(
    check: AbstractCheck, before: AbstractClosure, after: AbstractClosure, values: Mapping[str, float]
) -> list[CheckRow]:
    own = check.model.closure
    if type(own) is type(after):
        try:
            pair = own, with_parameters(own, values)
        except ValueError as error:
            raise ValueError(f"check {check.name}: {error}") from None
    else:
        pair = before, after
    first, second = (check.errors(eqx.tree_at(lambda model: model.closure, check.model, one)) for one in pair)
    return [
        CheckRow(check.name, a.variable, a.unit, a.value, b.value) for a, b in zip(first, second, strict=True)
    ]
