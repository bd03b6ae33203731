"""Corrections of surface fluxes and initial profiles that a calibration can estimate.

Surface fluxes have a bias and a scale factor, constant or linear in time between knots. Initial profiles have
increments, the control variables of state estimation, linear between heights and constant beyond the
outermost. Increments are defined on heights rather than cells, so that they are independent of the grid.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._types import (
    ColumnArray,
    FieldValue,
    Scalar,
    ScalarLike,
    array_field,
    as_float_array,
    is_traced,
    vector_parameter,
)
from ..declarations import meanings, module_of
from .forcing import DECLARED_FLUXES, FLUXES, AbstractForcing, SurfaceFluxes, WaterSurface
from .grid import Grid
from .state import State
from .time_series import TimeSeries

Knots = Float[Array, "_ *#batch"]
"""Values of one correction: a constant, or one value per knot."""
_Correction = Knots | None


def _checked(names: Iterable[str], allowed: Sequence[str], expected: str) -> tuple[str, ...]:
    names = tuple(names)
    unknown = [name for name in names if name not in allowed]
    if unknown or not names:
        raise ValueError(f"{expected} among {', '.join(allowed)}, got {', '.join(unknown) or 'none'}.")
    return names


SCALES = {
    field.name: field.metadata["scale"] or f"{field.name}_scale"
    for field in DECLARED_FLUXES
    if field.name in FLUXES
}
"""Name of the correction that scales each flux."""


def _declared() -> tuple[dict[str, tuple[object, FieldValue]], dict[str, str]]:
    """Declare a bias for each flux and a scale for each group of fluxes; return fields and meanings."""
    units = {field.name: field.metadata["quantity"].unit for field in DECLARED_FLUXES}
    options = {"coordinate": "time", "default": None, "kw_only": True}
    fields, meaning_by_name = {}, {}
    for scale in dict.fromkeys(SCALES.values()):
        for name in (flux for flux in FLUXES if SCALES[flux] == scale):
            fields[f"{name}_bias"] = _Correction, vector_parameter(unit=units[name], **options)
            meaning_by_name[f"{name}_bias"] = f"added to {meanings(SurfaceFluxes).get(name, name)}"
        fields[scale] = _Correction, vector_parameter(valid_range=(0.0, 10.0), **options)
        meaning_by_name[scale] = f"factor of the {scale.removesuffix('_scale').replace('_', ' ')} [1]."
    return fields, meaning_by_name


_FIELDS, _MEANINGS = _declared()
CORRECTIONS = tuple(_FIELDS)
"""Names of all corrections."""


class CorrectedForcing(AbstractForcing, module_of(_FIELDS, _MEANINGS)):
    """A forcing with corrected fluxes, `scale * flux + bias`.

    Each correction is a vector: one constant, or one value per knot, linear in between and constant before
    the first and after the last knot. With a period, it is linear from the last knot to the first of the next
    period, so that an estimate from some years applies to others. Bulk fluxes respond to the corrected water
    temperature: the air removes part of the heat that a correction adds.

    Args:
        forcing: forcing to correct.
        time: knots [s] since the start of the case, increasing, `(n_knots,)`; `None` for constants only.
        period: period of the knots [s], such as a year for a seasonal correction; longer than the time
            between the first and last knots.

    Raises:
        ValueError: knots that do not increase or exceed one period, or a correction with a different number
            of values; in a run, a scale of a flux that the forcing does not have.
    """

    forcing: AbstractForcing
    time: Float[Array, " knot"] | None = array_field(
        1, is_shared=True, default=None, converter=as_float_array
    )
    period: float | None = eqx.field(default=None, static=True, kw_only=True)

    if TYPE_CHECKING:  # type checkers do not see the derived fields

        def __init__(
            self, forcing: AbstractForcing, time=None, *, period: float | None = None, **corrections: Knots
        ): ...

    @classmethod
    def neutral(
        cls, forcing: AbstractForcing, corrections: Iterable[str], time=None, period: float | None = None
    ) -> "CorrectedForcing":
        """Corrections without effect, as a first guess for calibration.

        Args:
            forcing: forcing to correct.
            corrections: names of the fields, such as `heat_flux_bias`.
            time: knots [s]; `None` for constants.
            period: period of the knots [s].

        Raises:
            ValueError: an unknown name, or invalid knots.
        """
        corrections = _checked(corrections, CORRECTIONS, "corrected forcing: expected corrections")
        n_knots = 1 if time is None else len(time)
        values = {name: jnp.full(n_knots, 1.0 if name.endswith("_scale") else 0.0) for name in corrections}
        knots = None if time is None else jnp.asarray(time, dtype=float)
        return cls(forcing, knots, **values, period=period)

    def __check_init__(self):
        if is_traced(self) or not all(isinstance(v, jax.Array) for v in self._active_corrections().values()):
            return
        n_knots = 1 if self.time is None else len(self.time)
        if self.time is not None and isinstance(self.time, jax.Array):
            TimeSeries(self.time, np.zeros(n_knots), "knots of the corrected forcing")
        if self.period is not None:
            knots = np.zeros(1) if self.time is None else np.asarray(self.time)
            if self.time is None or not knots[-1] - knots[0] < self.period < np.inf:
                got = "no knots" if self.time is None else f"knots over {knots[-1] - knots[0]:g} s"
                raise ValueError(
                    f"corrected forcing: expected knots within one period of {self.period:g} s, got {got}; "
                    "leave out the knot that repeats the first."
                )
        for name, values in self._active_corrections().items():
            if values.shape[0] not in (1, n_knots):
                raise ValueError(
                    f"corrected forcing: expected one number of {name}, or one at each of the {n_knots} "
                    f"knots, got {values.shape[0]}."
                )

    def _active_corrections(self) -> dict[str, Knots]:
        return {name: getattr(self, name) for name in CORRECTIONS if getattr(self, name) is not None}

    def check_covers(self, start: float, end: float) -> None:
        self.forcing.check_covers(start, end)

    def air_temperature(self, time: ScalarLike) -> Scalar | None:
        return self.forcing.air_temperature(time)

    def air_pressure(self, time: ScalarLike) -> Scalar | None:
        return self.forcing.air_pressure(time)

    def wind_speed(self, time: ScalarLike, water: WaterSurface | None = None) -> Scalar | None:
        return self.forcing.wind_speed(time, water)

    def _corrections_at(self, time: ScalarLike) -> dict[str, Scalar]:
        """Corrections at a time [s], by name."""
        constant, varying = {}, {}
        for name, values in self._active_corrections().items():
            if self.time is not None and values.shape[0] > 1:
                varying[name] = values
            else:
                constant[name] = values[0]
        if self.time is None or not varying:
            return constant
        knots, first = self.time, self.time[0]
        if self.period is not None:
            time = first + (time - first) % self.period
            knots = jnp.append(knots, first + self.period)
            varying = {name: jnp.concatenate([values, values[:1]]) for name, values in varying.items()}
        return constant | TimeSeries(knots, varying).at(time)

    def at(self, time: ScalarLike, water: WaterSurface | None = None) -> SurfaceFluxes:
        fluxes, corrections = self.forcing.at(time, water), self._corrections_at(time)
        scales = {flux: corrections[name] for flux, name in SCALES.items() if name in corrections}
        without_flux = {SCALES[name] for name in scales}
        without_flux -= {SCALES[name] for name in scales if getattr(fluxes, name) is not None}
        if without_flux:
            raise ValueError(
                "corrected forcing: expected a flux for each scale, got none for "
                f"{', '.join(sorted(without_flux))}; leave the scale out, or give a bias."
            )
        changed = {}
        for name in FLUXES:
            flux, bias = getattr(fluxes, name), corrections.get(f"{name}_bias")
            if flux is not None and name in scales:
                flux = scales[name] * flux
            changed[name] = flux if bias is None else (bias if flux is None else flux + bias)
        if fluxes.surface_drag is not None and "stress_u" in scales:
            changed["surface_drag"] = scales["stress_u"] * fluxes.surface_drag
        return dataclasses.replace(fluxes, **changed)


VARIABLES = ("temperature", "salinity", "u", "v")


class InitialCorrection(eqx.Module):
    """Increments of the initial profiles; variables without increments (`None`) cost nothing.

    Args:
        z: heights [m], increasing, at most 0, `(n_heights,)`.
        temperature, salinity, u, v: increments at these heights [K, g kg-1, m s-1, m s-1].

    Raises:
        ValueError: heights that do not increase or lie above the surface, or a different number of
            increments.
    """

    z: Float[Array, " height"] = array_field(1, is_shared=True, converter=as_float_array)
    temperature: ColumnArray | None = vector_parameter(unit="K", coordinate="z", default=None)
    salinity: ColumnArray | None = vector_parameter(unit="g kg-1", coordinate="z", default=None)
    u: ColumnArray | None = vector_parameter(unit="m s-1", coordinate="z", default=None)
    v: ColumnArray | None = vector_parameter(unit="m s-1", coordinate="z", default=None)

    @classmethod
    def zero(cls, z, variables: Iterable[str] = ("temperature",)) -> "InitialCorrection":
        """Zero increments, as a first guess for calibration.

        Args:
            z: heights [m]; the cell centers of a grid for one increment per cell.
            variables: names of the corrected variables: temperature, salinity, u, v.

        Raises:
            ValueError: an unknown name, or invalid heights.
        """
        variables = _checked(variables, VARIABLES, "initial correction: expected variables")
        z = jnp.asarray(z, dtype=float)
        return cls(z, **{name: jnp.zeros_like(z) for name in variables})

    def __check_init__(self):
        if is_traced(self) or not isinstance(self.z, jax.Array):
            return
        z = np.asarray(self.z)
        if z.size == 0 or not (np.all(np.isfinite(z)) and np.all(np.diff(z) > 0.0) and z[-1] <= 0.0):
            raise ValueError(
                "initial correction: expected heights [m] that increase and end at or below 0, got "
                f"{np.array2string(z, threshold=6, edgeitems=2)}; sort them, deepest first."
            )
        for name in VARIABLES:
            values = getattr(self, name)
            if isinstance(values, jax.Array) and values.shape[0] != z.shape[0]:
                raise ValueError(
                    f"initial correction: expected an increment of {name} at each of the {z.shape[0]} "
                    f"heights, got {values.shape[0]}."
                )

    def add_to(self, state: State, grid: Grid) -> State:
        """Add the increments to a state."""
        z = grid.z_center
        # Weight of each height in the increment of each cell, (n_cells, n_heights, *batch).
        rows = jnp.eye(self.z.shape[0], dtype=z.dtype)
        weights = jnp.stack([jnp.interp(z, self.z, row) for row in rows], axis=1)

        def corrected(name: str):
            values, increments = getattr(state, name), getattr(self, name)
            if increments is None:
                return values
            if weights.ndim == 2:
                added = jnp.tensordot(weights, increments, 1)
            else:
                added = jnp.sum(weights * _broadcastable(increments[None], weights), axis=1)
            return _broadcastable(values, added) + _broadcastable(added, values)

        return dataclasses.replace(state, **{name: corrected(name) for name in VARIABLES})


def _broadcastable(values, batch):
    """Add trailing axes to values of one column, so that they broadcast with those of a batch."""
    return values.reshape(values.shape + (1,) * max(0, batch.ndim - values.ndim))
