"""Prescribed terms below the surface, each absent (`None`) by default.

Here `Interior`, which holds the parts, relaxation towards observed profiles,
dY/dt = ... + rate (Y_observed - Y), implicit in Y.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from .._types import CenterArray, Scalar, ScalarLike, SeriesOrScalar, array_field, is_traced, parameter
from ..declarations import check_settings, setting
from ..grid import Grid
from ..time_series import TimeSeries
from .advection import VerticalVelocity
from .base import AbstractTerm, Column, Tendency
from .level import LakeLevel
from .pressure import AbstractPressureGradient, BottomFriction, BuoyancyGradient, LidFriction, PlumeOnSlope
from .seagrass import Seagrass
from .stokes_drift import AbstractStokesDrift
from .streams import Streams


class RelaxationTarget(eqx.Module):
    """Target profiles of one variable, and the relaxation rate.

    Args:
        profiles: over time, `(n_times, n_cells, *batch)` in the unit of the variable.
        rate: inverse time scale on cells [s-1], at least zero.
        fading_period: over so long after the start of the case the rate falls linearly to zero, and is what
            it was from then on [s], as in GOTM; `None` for a rate that does not change.

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
        """Inverse time scale [s-1] at a time [s] since the start of the case."""
        if self.fading_period is None:
            return self.rate
        left = 1.0 - time / self.fading_period
        return self.rate * jnp.where(left > 0.0, left, 1.0)

    def tendency(self, column: Column) -> Tendency:
        """The pull to the profiles, with the implicit rate of leaving the present values."""
        rate = self.rate_at(column.time)
        return Tendency(
            cells=rate * self.profiles.at(column.time) * column.grid.cell_thickness, loss_rate=rate
        )


class Relaxation(AbstractTerm):
    """Targets of temperature, salinity and velocity; `None` for no relaxation.

    Velocity shares one rate, because u and v share one matrix: that of `u` and `v` must be the same.

    Raises:
        ValueError: a target of only one component of the velocity, or components of different rates.
    """

    temperature: RelaxationTarget | None = None
    salinity: RelaxationTarget | None = None
    u: RelaxationTarget | None = None
    v: RelaxationTarget | None = None

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
        pulls = self._pulls(("u", "v"), column)
        return {name: pull._replace(loss_rate=pulls["v"].loss_rate) for name, pull in pulls.items()}

    def on_scalars(self, column: Column) -> dict[str, Tendency]:
        return self._pulls(("temperature", "salinity"), column)

    def _pulls(self, names: tuple[str, str], column: Column) -> dict[str, Tendency]:
        targets = {name: getattr(self, name) for name in names}
        return {name: target.tendency(column) for name, target in targets.items() if target is not None}


class BottomHeat(AbstractTerm):
    """Heat through the bottom, into the lowest cell: geothermal, or down a gradient that is held there.

    Args:
        heat_flux: into the water, per area of the surface [W m-2].
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
    """Inverse time scale on cells [s-1]: one within the column, others near surface and bottom.

    Args:
        time_scale: within the column [s].
        surface_height, bottom_height: of the layers with their own time scale [m]; by default none.
        surface_time_scale, bottom_time_scale: there [s].
    """
    z = grid.z_center
    rate = jnp.zeros_like(z) + 1.0 / time_scale
    if bottom_time_scale is not None:
        rate = jnp.where(z - grid.z_face[0] <= bottom_height, 1.0 / bottom_time_scale, rate)
    if surface_time_scale is not None:
        rate = jnp.where(-z <= surface_height, 1.0 / surface_time_scale, rate)
    return rate


HOLDABLE = ("temperature", "salinity")  # what may be held


class Interior(eqx.Module):
    """Terms below the surface.

    Args:
        relaxation: towards observed profiles.
        pressure_gradient: of the surface elevation: tides, a river's slope.
        buoyancy_gradient: horizontal gradients of temperature and salinity.
        plume: on a slope.
        vertical_velocity: that carries all profiles up or down.
        streams: into a lake and out of it.
        bottom_friction: drag of the bottom.
        bottom_heat: that enters there.
        seagrass: a canopy on the bottom.
        lid_friction: drag of a lid, ice for one, on the water below it.
        stokes_drift: of surface waves.
        stokes_shear: whether turbulence feels the shear of that drift.
        velocities: `eulerian`, or `lagrangian` for u and v that contain that drift: the Coriolis force and
            fluxes of momentum then follow from them alone.
        wave_height: significant height of the waves [m], `(n_times, *batch)`, for Langmuir turbulence in KPP.
        surface_elevation: height of the surface above its level at rest [m], `(n_times, *batch)`: all cells
            get thicker and thinner together, and keep their temperature, salinity and velocity. Output
            keeps the heights at rest.
        level: how that of a lake moves; by default it stays.
        held: which of `temperature` and `salinity` stay as they are at the start, whatever the fluxes.

    Raises:
        ValueError: another name in `held`, a relaxation of what is held, or two levels.
    """

    relaxation: Relaxation | None = None
    pressure_gradient: AbstractPressureGradient | None = None
    buoyancy_gradient: BuoyancyGradient | None = None
    plume: PlumeOnSlope | None = None
    vertical_velocity: VerticalVelocity | None = None
    streams: Streams | None = None
    bottom_friction: BottomFriction | None = None
    bottom_heat: BottomHeat | None = None
    seagrass: Seagrass | None = None
    lid_friction: LidFriction | None = None
    stokes_drift: AbstractStokesDrift | None = None
    stokes_shear: bool = setting(True)
    velocities: str = setting("eulerian", choices=("eulerian", "lagrangian"))
    wave_height: TimeSeries[SeriesOrScalar] | None = None
    surface_elevation: TimeSeries[SeriesOrScalar] | None = None
    level: LakeLevel | None = None
    held: tuple[str, ...] = eqx.field(default=(), static=True)

    def __check_init__(self):
        check_settings(self)
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

    def check_covers(self, start: float, end: float) -> None:
        """Raise `ValueError` if any series is not known from `start` to `end` [s]."""
        level = None if self.level is None else self.level.prescribed
        waves = self.stokes_drift, self.wave_height
        for part in (*self.terms(), *waves, self.surface_elevation, level):
            if part is not None:
                part.check_covers(start, end)

    def terms(self) -> tuple[AbstractTerm, ...]:
        """What of it acts on the column by itself, in the order in which it is summed."""
        streams = Streams({}) if self.streams is None and self.level is not None else self.streams
        parts = (
            self.vertical_velocity,
            streams,
            self.pressure_gradient,
            self.buoyancy_gradient,
            self.plume,
            self.relaxation,
            self.bottom_friction,
            self.bottom_heat,
            self.seagrass,
            self.lid_friction,
        )
        return tuple(part for part in parts if part is not None)

    def moved(self, grid: Grid, time: ScalarLike) -> Grid:
        """The grid with the surface where it is at `time` [s]; heights count from the surface."""
        if self.surface_elevation is None:
            return grid
        factor = 1.0 + self.surface_elevation.at(time) / grid.depth
        return Grid(grid.z_face * factor)
