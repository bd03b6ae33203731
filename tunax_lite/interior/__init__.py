"""What acts on the column below its surface and is prescribed, each kind absent (`None`) by default."""

import equinox as eqx

from .._types import ScalarLike, SeriesOrScalar
from ..grid import Grid
from ..terms import AbstractTerm
from ..time_series import TimeSeries
from .advection import AdvectionScheme as AdvectionScheme
from .advection import VelocityAndLevel as VelocityAndLevel
from .advection import VerticalVelocity as VerticalVelocity
from .advection import advect as advect
from .bottom_friction import BottomFriction as BottomFriction
from .buoyancy_gradient import BuoyancyGradient as BuoyancyGradient
from .buoyancy_gradient import HorizontalGradient as HorizontalGradient
from .buoyancy_gradient import PlumeOnSlope as PlumeOnSlope
from .freezing import FreezingBound as FreezingBound
from .pressure_gradient import AbstractPressureGradient as AbstractPressureGradient
from .pressure_gradient import MeanVelocity as MeanVelocity
from .pressure_gradient import SurfaceSlope as SurfaceSlope
from .pressure_gradient import Vector as Vector
from .pressure_gradient import VelocityAndHeight as VelocityAndHeight
from .pressure_gradient import VelocityAtHeight as VelocityAtHeight
from .relaxation import Relaxation as Relaxation
from .relaxation import RelaxationTarget as RelaxationTarget
from .relaxation import layered_rate as layered_rate
from .stokes_drift import AbstractStokesDrift as AbstractStokesDrift
from .stokes_drift import DriftProfiles as DriftProfiles
from .stokes_drift import DriftVector as DriftVector
from .stokes_drift import DriftVectors as DriftVectors
from .stokes_drift import StokesDrift as StokesDrift
from .stokes_drift import WindSeaDrift as WindSeaDrift
from .stokes_drift import WindVector as WindVector

HOLDABLE = ("temperature", "salinity")
"""What may be held."""


class Interior(eqx.Module):
    """What acts below the surface.

    Args:
        relaxation: towards observed profiles.
        pressure_gradient: of the surface elevation: tides, a river's slope.
        buoyancy_gradient: horizontal gradients of temperature and salinity, or a plume on a slope.
        vertical_velocity: that carries all profiles up or down.
        bottom_friction: drag of the bottom.
        stokes_drift: of surface waves.
        freezing_bound: the freezing point, below which the water at the surface does not cool.
        surface_elevation: height of the surface above its level at rest [m], `(n_times, *batch)`: all cells
            get thicker and thinner together, and keep their temperature, salinity and velocity. Output
            keeps the heights at rest.
        held: which of `temperature` and `salinity` stay as they are at the start, whatever the fluxes.

    Raises:
        ValueError: another name in `held`, or a relaxation of what is held.
    """

    relaxation: Relaxation | None = None
    pressure_gradient: AbstractPressureGradient | None = None
    buoyancy_gradient: BuoyancyGradient | PlumeOnSlope | None = None
    vertical_velocity: VerticalVelocity | None = None
    bottom_friction: BottomFriction | None = None
    stokes_drift: AbstractStokesDrift | None = None
    freezing_bound: FreezingBound | None = None
    surface_elevation: TimeSeries[SeriesOrScalar] | None = None
    held: tuple[str, ...] = eqx.field(default=(), static=True)

    def __check_init__(self):
        unknown = [name for name in self.held if name not in HOLDABLE]
        if unknown:
            raise ValueError(
                f"Interior: expected held to name some of {', '.join(HOLDABLE)}, got {', '.join(unknown)}."
            )
        for name in self.held:
            if self.relaxation is not None and getattr(self.relaxation, name) is not None:
                raise ValueError(
                    f"Interior: expected no relaxation of {name}, which is held, got one; remove one of them."
                )

    def check_covers(self, start: float, end: float) -> None:
        """Raise `ValueError` if any series is not known from `start` to `end` [s]."""
        for part in (*self.terms(), self.stokes_drift, self.surface_elevation):
            if part is not None:
                part.check_covers(start, end)

    def terms(self) -> tuple[AbstractTerm, ...]:
        """What of it acts on the column by itself, in the order in which it is summed."""
        parts = (
            self.freezing_bound,
            self.vertical_velocity,
            self.pressure_gradient,
            self.buoyancy_gradient,
            self.relaxation,
            self.bottom_friction,
        )
        return tuple(part for part in parts if part is not None)

    def moved(self, grid: Grid, time: ScalarLike) -> Grid:
        """The grid with the surface where it is at `time` [s]; heights count from the surface."""
        if self.surface_elevation is None:
            return grid
        factor = 1.0 + self.surface_elevation.at(time) / grid.depth
        return Grid(grid.z_face * factor)
