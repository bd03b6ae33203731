"""Surface restoring, h dT/dt = ... + w (T_target - T) in the uppermost cell, implicit in T.

With a piston velocity w, the flux does not depend on the grid: rho c_p w (T_target - T) is the heat flux of
Haney (1971), J. Phys. Oceanogr. 1, 241-248; 1e-5 m s-1 corresponds to 40 W m-2 K-1.
"""

from ..._types import Scalar, SeriesOrScalar, array_field, parameter
from ..time_series import TimeSeries
from .base import AbstractTerm, Column, Tendency, in_top_cell


class SurfaceRestoring(AbstractTerm):
    """Restores the uppermost cell towards values over time; `None` for no restoring.

    Args:
        temperature: [degC].
        salinity: [g kg-1].
        temperature_velocity: w for temperature [m s-1].
        salinity_velocity: w for salinity [m s-1].
    """

    temperature: TimeSeries[SeriesOrScalar] | None = array_field(0, default=None)
    salinity: TimeSeries[SeriesOrScalar] | None = array_field(0, default=None)
    temperature_velocity: Scalar = parameter(1e-5, unit="m s-1", valid_range=(0.0, 1.0))
    salinity_velocity: Scalar = parameter(1e-5, unit="m s-1", valid_range=(0.0, 1.0))

    def on_scalars(self, column: Column) -> dict[str, Tendency]:
        tendencies = {}
        for name in ("temperature", "salinity"):
            target, velocity = getattr(self, name), getattr(self, f"{name}_velocity")
            if target is None:
                continue
            rate = in_top_cell(velocity / column.grid.cell_volume[-1], getattr(column.state, name))
            tendencies[name] = Tendency(surface=velocity * target.at(column.time), loss_rate=rate)
        return tendencies
