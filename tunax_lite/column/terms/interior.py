"""Prescribed terms below the surface, each absent (`None`) by default.

`Interior` holds the terms. This module also has relaxation towards observed profiles, dY/dt = ... + rate
(Y_observed - Y), implicit in Y.
"""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ..._types import CenterArray, Scalar, ScalarLike, SeriesOrScalar, array_field, is_traced, parameter
from ...declarations import setting
from ..grid import Grid
from ..state import State
from ..time_series import StepsOfRun, TimeSeries
from .advection import VerticalVelocity
from .base import AbstractTerm, Column, Tendency
from .level import LakeLevel
from .pressure import AbstractPressureGradient, BottomFriction, BuoyancyGradient, LidFriction, PlumeOnSlope
from .seagrass import Seagrass
from .stokes_drift import AbstractStokesDrift, Waves
from .streams import Streams


class RelaxationTarget(eqx.Module):
    """Target profiles of one variable, and the relaxation rate.

    Args:
        profiles: profiles over time, `(n_times, n_cells, *batch)`, in the unit of the variable.
        rate: inverse time scale on cells [s-1], at least zero.
        fading_period: period from the start of the case [s] in which the rate decreases linearly to zero;
            thereafter it has its full value again, as in GOTM. `None` for a constant rate.

    Raises:
        ValueError: a rate that is negative or not finite.
    """

    profiles: TimeSeries[CenterArray] = array_field(1)
    rate: CenterArray = array_field(1)
    fading_period: Scalar | None = parameter(None, unit="s", valid_range=(1.0, 1e15))

    def __check_init__(self):
        if is_traced(self.rate):
            return
        rate = np.asarray(self.rate)
        if not np.all(np.isfinite(rate) & (rate >= 0.0)):
            raise ValueError(
                f"relaxation: expected rates of at least 0 s-1, got {rate.min():g} to {rate.max():g}."
            )

    def rate_at(self, time: ScalarLike) -> CenterArray:
        """Relaxation rate [s-1] at a time [s] since the start of the case."""
        if self.fading_period is None:
            return self.rate
        fraction = 1.0 - time / self.fading_period
        return self.rate * jnp.where(fraction > 0.0, fraction, 1.0)

    def tendency(self, column: Column) -> Tendency:
        """Relaxation towards the profiles, with the implicit rate."""
        rate = self.rate_at(column.time)
        return Tendency(
            cells=rate * self.profiles.at(column.time) * column.grid.cell_thickness, loss_rate=rate
        )


class Relaxation(AbstractTerm):
    """Relaxation targets of temperature, salinity, velocity and tracers; `None` for no relaxation.

    Both components of velocity share one matrix, so the rates of `u` and `v` must be equal.

    Raises:
        ValueError: a target for only one velocity component, or components with different rates.
    """

    temperature: RelaxationTarget | None = None
    salinity: RelaxationTarget | None = None
    u: RelaxationTarget | None = None
    v: RelaxationTarget | None = None
    tracers: dict[str, RelaxationTarget] = eqx.field(default_factory=dict)

    def __check_init__(self):
        if (self.u is None) != (self.v is None):
            raise ValueError("relaxation: expected targets of both u and v or of neither, got only one.")
        if self.u is None or self.v is None or is_traced((self.u.rate, self.v.rate)):
            return
        if not np.array_equal(self.u.rate, self.v.rate):
            raise ValueError(
                "relaxation: expected the same rate for u and v, got two; u and v share one matrix."
            )

    def on_velocity(self, column: Column) -> dict[str, Tendency]:
        parts = self._tendencies({"u": self.u, "v": self.v}, column)  # one rate object: one matrix
        return {name: part._replace(loss_rate=parts["v"].loss_rate) for name, part in parts.items()}

    def on_scalars(self, column: Column) -> dict[str, Tendency]:
        of_water = {"temperature": self.temperature, "salinity": self.salinity}
        return self._tendencies(of_water | self.tracers, column)

    def _tendencies(self, targets: dict[str, RelaxationTarget | None], column: Column) -> dict[str, Tendency]:
        return {name: target.tendency(column) for name, target in targets.items() if target is not None}


class BottomHeat(AbstractTerm):
    """Heat flux through the bottom into the lowest cell: geothermal, or down a prescribed gradient.

    Args:
        heat_flux: heat flux into the water, per unit area of the bottom face [W m-2].
    """

    heat_flux: Scalar = parameter(0.0, unit="W m-2", valid_range=(-1e4, 1e4))

    def on_scalars(self, column: Column) -> dict[str, Tendency]:
        eos = column.equation_of_state
        flux = self.heat_flux / (eos.reference_density * eos.heat_capacity)
        return {"temperature": Tendency(bottom=flux)}


def layered_rate(
    grid: Grid,
    time_scale: ScalarLike,
    *,
    surface_height: float = 0.0,
    surface_time_scale: ScalarLike | None = None,
    bottom_height: float = 0.0,
    bottom_time_scale: ScalarLike | None = None,
) -> CenterArray:
    """Relaxation rate on cells [s-1]: one value in the interior, others near surface and bottom.

    Args:
        time_scale: time scale in the interior [s].
        surface_height, bottom_height: heights of the layers with other time scales [m]; none by default.
        surface_time_scale, bottom_time_scale: time scales in these layers [s].
    """
    z = grid.z_center
    rate = jnp.zeros_like(z) + 1.0 / time_scale
    if bottom_time_scale is not None:
        rate = jnp.where(z - grid.z_face[0] <= bottom_height, 1.0 / bottom_time_scale, rate)
    if surface_time_scale is not None:
        rate = jnp.where(-z <= surface_height, 1.0 / surface_time_scale, rate)
    return rate


class SurfaceElevation(AbstractTerm):
    """Prescribed height of the surface above its level at rest [m]; all cells stretch and shrink with it."""

    series: TimeSeries[SeriesOrScalar]

    def over_steps(self, steps: StepsOfRun) -> "SurfaceElevation":
        return self  # a step uses the elevation at its end

    def placed(self, grid: Grid, state: State, time: ScalarLike | None) -> Grid:
        return grid if time is None else Grid(grid.z_face * (1.0 + self.series.at(time) / grid.depth))


HOLDABLE = ("temperature", "salinity")  # variables that may be held constant


class Held(AbstractTerm):
    """Variables that keep their initial values."""

    names: tuple[str, ...] = eqx.field(static=True)

    def held(self) -> tuple[str, ...]:
        return self.names


class Interior(eqx.Module):
    """Terms below the surface, in the order in which their tendencies are summed.

    Args:
        vertical_velocity: vertical advection of all profiles.
        streams: streams into and out of a lake.
        pressure_gradient: pressure gradient of a sloping surface: tides, the slope of a river.
        buoyancy_gradient: horizontal gradients of temperature and salinity.
        plume: plume on a slope.
        relaxation: relaxation towards observed profiles.
        bottom_friction: drag of the bottom.
        bottom_heat: heat flux through the bottom.
        seagrass: a canopy on the bottom.
        lid_friction: drag of a lid, such as ice, on the water below.
        level: varying level of a lake; constant by default.
        stokes_drift: Stokes drift of surface waves.
        stokes_shear: whether the shear of that drift produces turbulence.
        velocities: `eulerian`, or `lagrangian` if u and v include the Stokes drift: then the Coriolis force
            and momentum fluxes depend only on u and v.
        wave_height: significant wave height [m], `(n_times, *batch)`, for Langmuir turbulence in KPP.
        surface_elevation: height of the surface above its level at rest [m], `(n_times, *batch)`: all cells
            stretch and shrink together, and keep their temperature, salinity and velocity. Output has the
            heights at rest.
        held: names among `temperature` and `salinity` of variables that keep their initial values.

    Raises:
        ValueError: another name in `held`, relaxation of a held variable, or two levels.
    """

    vertical_velocity: VerticalVelocity | None = None
    streams: Streams | None = None
    pressure_gradient: AbstractPressureGradient | None = None
    buoyancy_gradient: BuoyancyGradient | None = None
    plume: PlumeOnSlope | None = None
    relaxation: Relaxation | None = None
    bottom_friction: BottomFriction | None = None
    bottom_heat: BottomHeat | None = None
    seagrass: Seagrass | None = None
    lid_friction: LidFriction | None = None
    level: LakeLevel | None = None
    stokes_drift: AbstractStokesDrift | None = None
    stokes_shear: bool = setting(True)
    velocities: str = setting("eulerian", choices=("eulerian", "lagrangian"))
    wave_height: TimeSeries[SeriesOrScalar] | None = None
    surface_elevation: TimeSeries[SeriesOrScalar] | None = None
    held: tuple[str, ...] = eqx.field(default=(), static=True)

    def __check_init__(self):
        unknown = [name for name in self.held if name not in HOLDABLE]
        if unknown:
            raise ValueError(
                f"Interior: expected held to name some of {', '.join(HOLDABLE)}, got {', '.join(unknown)}."
            )
        if self.level is not None and self.surface_elevation is not None:
            raise ValueError(
                "Interior: expected a level or a surface_elevation, got both; remove one of them."
            )
        for name in self.held:
            if self.relaxation is not None and getattr(self.relaxation, name) is not None:
                raise ValueError(
                    f"Interior: expected no relaxation of {name}, which is held, got one; remove one of them."
                )

    def terms(self) -> tuple[AbstractTerm, ...]:
        """Terms in the order of summation: all fields that are terms, and terms built from options."""
        parts: list[object] = [getattr(self, field.name) for field in dataclasses.fields(self)]
        if self.stokes_drift is not None:
            options = self.stokes_shear, self.velocities == "lagrangian"
            parts.append(Waves(self.stokes_drift, self.wave_height, *options))
        if self.surface_elevation is not None:
            parts.append(SurfaceElevation(self.surface_elevation))
        if self.held:
            parts.append(Held(self.held))
        if self.level is not None and self.streams is None:
            parts.insert(0, Streams({}))  # they include the flow through moving faces
        return tuple(part for part in parts if isinstance(part, AbstractTerm))
