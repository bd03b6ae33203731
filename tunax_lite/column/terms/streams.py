"""Streams into and out of a lake, and the resulting flow through the faces of its cells.

    d(V Y)/dt = q_in Y_in - q_out Y + W_down Y_down - W_up Y_up,      W_up - W_down = q_in - q_out - dV/dt

The volume flux W through the faces balances the streams below and the growth of cells with the level. If the
level is constant or prescribed, surplus water leaves at the surface with its properties and a deficit enters
there, as precipitation and evaporation do. W carries the water of the cell that it leaves, implicitly: no
value leaves the range of its neighbours, however small the lowest cell, at the cost of a numerical
diffusivity of half the speed times the thickness.
"""

import enum
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp

from ..._types import (
    CenterArray,
    Scalar,
    ScalarLike,
    SeriesOrScalar,
    array_field,
    as_float_array,
    is_traced,
    parameter,
)
from ...declarations import setting
from ...numerics.diffusion import CarryingRates
from ...numerics.elementary import reciprocal
from ..time_series import TimeSeries
from .base import AbstractTerm, Column, Tendency, in_top_cell


class StreamPlace(enum.Enum):
    """Place of a stream: uppermost or lowest cell, a range of heights, or the level of its density."""

    SURFACE = "surface"
    BOTTOM = "bottom"
    RANGE = "range"
    INTERLEAVING = "interleaving"


class StreamWater(eqx.Module):
    """Discharge [m3 s-1], negative for outflow, temperature [degC], salinity [g kg-1] and tracers by name.

    By default inflow has the temperature of the cells that it enters, and contains no salt and no tracers.
    Outflow has the properties of the cells.
    """

    discharge: SeriesOrScalar = array_field(0, converter=as_float_array)
    temperature: SeriesOrScalar | None = array_field(0, default=None, converter=as_float_array)
    salinity: SeriesOrScalar | None = array_field(0, default=None, converter=as_float_array)
    tracers: dict[str, SeriesOrScalar] = eqx.field(
        default_factory=dict, converter=lambda items: {name: as_float_array(x) for name, x in items.items()}
    )


def _salinity(water: StreamWater) -> ScalarLike:
    return 0.0 if water.salinity is None else water.salinity


class Stream(eqx.Module):
    """One stream.

    Args:
        series: discharge, temperature, salinity and tracers.
        place: where the stream enters or leaves.
        lower, upper: heights of a range above the level at rest [m]; where no water is between them, the
            stream enters or leaves at the bottom or, if the level fell below them, at the surface.
        density_width: density difference [kg m-3] within which a stream finds its level: its water enters
            cells with a weight of exp(-(rho - rho_stream)² / (2 width²)) times their thickness; water heavier
            than all cells enters at the bottom, lighter water at the surface.

    Raises:
        ValueError: a range of zero height, or an interleaving stream without a temperature.
    """

    series: TimeSeries[StreamWater]
    place: StreamPlace = setting(StreamPlace.SURFACE)
    lower: Scalar = parameter(-1.0, unit="m", valid_range=(-12000.0, 0.0))
    upper: Scalar = parameter(0.0, unit="m", valid_range=(-12000.0, 0.0))
    density_width: Scalar = parameter(0.02, unit="kg m-3", valid_range=(1e-4, 10.0))

    def __check_init__(self):
        if self.place is StreamPlace.INTERLEAVING and self.series.values.temperature is None:
            raise ValueError("streams: expected the temperature of an interleaving stream, got none; add it.")
        if self.place is not StreamPlace.RANGE or is_traced((self.lower, self.upper)):
            return
        if not jnp.all(self.lower < self.upper):
            raise ValueError(
                f"streams: expected lower < upper, heights below the surface [m], got {self.lower} and "
                f"{self.upper}."
            )

    def shares(self, column: Column, water: StreamWater) -> CenterArray:
        """Fraction of the discharge per cell [1]; they sum to 1."""
        faces, thickness = column.grid.z_face, column.grid.cell_thickness
        zeros = jnp.zeros_like(thickness)
        full, empty = jnp.ones_like(zeros[:1]), zeros[1:]
        match self.place:
            case StreamPlace.SURFACE:
                return jnp.concatenate([empty, full])
            case StreamPlace.BOTTOM:
                return jnp.concatenate([full, empty])
            case StreamPlace.RANGE:
                if column.level is not None:
                    faces = faces + column.level.elevation
                weight = jnp.maximum(
                    jnp.minimum(faces[1:], self.upper) - jnp.maximum(faces[:-1], self.lower), 0.0
                )
                total = jnp.sum(weight, axis=0)
                is_dry = self.lower >= faces[-1]
                end = jnp.where(is_dry, jnp.concatenate([empty, full]), jnp.concatenate([full, empty]))
                return jnp.where(total > 0.0, weight / jnp.where(total > 0.0, total, 1.0), end)
            case StreamPlace.INTERLEAVING:
                state, eos = column.state, column.equation_of_state
                ambient = eos.density(state.temperature, state.salinity, jnp.zeros_like(state.temperature))
                zero = jnp.zeros_like(state.temperature[-1])
                assert water.temperature is not None
                stream = eos.density(water.temperature + zero, _salinity(water) + zero, zero)
                exponent = -0.5 * ((ambient - stream) / self.density_width) ** 2
                weight = thickness * jnp.exp(exponent - jnp.max(exponent, axis=0))
                return weight / jnp.sum(weight, axis=0)


class _Flows(NamedTuple):
    """Flow of a step per surface area [m s-1]."""

    entering: CenterArray  # streams into cells
    leaving: CenterArray  # streams out of cells, with the surplus at the surface
    content: dict[str, CenterArray]  # properties times inflow: temperature [K m s-1], salinity, tracers
    surface_inflow: Scalar  # that maintains the level
    growth: CenterArray  # rate at which cells grow with the level


class Streams(AbstractTerm):
    """All streams of a lake, by name. Inflow has no momentum; outflow carries it.

    Raises:
        ValueError: in a run, a stream that brings a tracer which the column does not have.
    """

    streams: dict[str, Stream]

    def discharge(self, time: ScalarLike) -> tuple[ScalarLike, ScalarLike]:
        """Inflow and outflow at a time [m3 s-1], without the correction that maintains the level."""
        discharges = [stream.series.at(time).discharge for stream in self.streams.values()]
        return sum(jnp.maximum(q, 0.0) for q in discharges), sum(jnp.maximum(-q, 0.0) for q in discharges)

    def on_velocity(self, column: Column) -> dict[str, Tendency]:
        parts = self._flow_tendency(column, self._flows(column))
        return {"u": parts, "v": parts}

    def on_scalars(self, column: Column) -> dict[str, Tendency]:
        flows, advected = self._flows(column), column.advected
        parts, area = self._flow_tendency(column, flows), column.grid.cell_area
        assert area is not None
        scalars = {"temperature": advected.temperature, "salinity": advected.salinity, **advected.tracers}
        if unknown := sorted(flows.content.keys() - scalars.keys()):
            known = ", ".join(advected.tracers) or "it has none"
            raise ValueError(
                f"streams: expected tracers of the column ({known}), got {', '.join(unknown)}; add them to "
                "the initial state, or leave them out of the stream."
            )

        def gain(name: str, values: CenterArray) -> CenterArray:
            content = flows.content.get(name, jnp.zeros_like(values))
            return (content + in_top_cell(flows.surface_inflow * values[-1], values)) / area

        return {name: parts._replace(cells=gain(name, values)) for name, values in scalars.items()}

    def _flows(self, column: Column) -> _Flows:
        grid, state = column.grid, column.advected
        assert grid.area is not None  # set in every case with streams
        zero = jnp.zeros_like(state.temperature)
        entering = leaving = zero
        content = {"temperature": zero, "salinity": zero}
        for stream in self.streams.values():
            water = stream.series.at(column.time)
            flow = stream.shares(column, water) * (water.discharge / grid.area[-1])
            inward = jnp.maximum(flow, 0.0)
            temperature = state.temperature if water.temperature is None else water.temperature
            entering, leaving = entering + inward, leaving + jnp.maximum(-flow, 0.0)
            values = {"temperature": temperature, "salinity": _salinity(water), **water.tracers}
            content |= {name: content.get(name, zero) + inward * value for name, value in values.items()}
        growth, level = zero, column.level
        if level is not None:
            growth = (grid.cell_volume - level.volume_before) / column.dt
        if level is not None and level.fresh_water is not None:  # the level takes up any surplus
            return _Flows(entering, leaving, content, zero[-1], growth)
        surplus = jnp.sum(entering - leaving - growth, axis=0)
        overflow = in_top_cell(jnp.maximum(surplus, 0.0), zero)
        return _Flows(entering, leaving + overflow, content, jnp.maximum(-surplus, 0.0), growth)

    def _flow_tendency(self, column: Column, flows: _Flows) -> Tendency:
        """Tendency by the flow out of the lake and between cells, upward from cells with a surplus."""
        grid, surplus = column.grid, flows.entering - flows.leaving - flows.growth
        assert grid.relative_area is not None
        upward = jnp.cumsum(surplus, axis=0)[:-1] / grid.relative_area[1:-1]
        rates = CarryingRates(jnp.maximum(upward, 0.0), jnp.maximum(-upward, 0.0))
        return Tendency(loss_rate=flows.leaving * reciprocal(grid.cell_volume), carrying=rates)
