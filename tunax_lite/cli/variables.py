"""Which variables of a run are kept in its file, by our names or by those of GOTM."""

import dataclasses
from collections.abc import Sequence

import jax

from ..config import ConfigError, Run
from ..config.builder import closest
from ..diagnostics import diagnostic
from ..gotm.output import OURS

_STATE = ("temperature", "salinity", "u", "v")


def select(setup: Run, names: Sequence[str], where: str) -> tuple[Run, tuple[str, ...]]:
    """The run with the diagnostics among these names alone, and the names as the file has them.

    Args:
        setup: of the run.
        names: ours, or GOTM's, such as `temp` and `nuh`.
        where: the option or key that they come from, for the message.

    Raises:
        ConfigError: a name that is not known, or that this run does not have.
    """
    shapes = jax.eval_shape(setup.model.init, setup.case)
    carried = {field for field, value in _fields(shapes) if value is not None}
    held = {*_STATE, *setup.case.initial_state.tracers, *carried}
    ours = tuple(dict.fromkeys(name if name in held else OURS.get(name, name) for name in names))
    computed = []
    for name in ours:
        if name in held:
            continue
        try:
            diagnostic(name)
        except ValueError:
            known = [*sorted(held), *OURS]
            raise ConfigError(
                f"{where}: expected variables of this run, or diagnostics, got '{name}'; "
                f"{closest(name, known)}"
            ) from None
        computed.append(name)
    return dataclasses.replace(setup, diagnostics=tuple(computed)), ours


def _fields(clo_state):
    for field in dataclasses.fields(clo_state):
        value = getattr(clo_state, field.name)
        if dataclasses.is_dataclass(value) and not isinstance(value, jax.ShapeDtypeStruct):
            yield from _fields(value)
        else:
            yield field.name, value
