"""A varying lake level: from the water budget, or prescribed.

    dV/dt = streams + (rain - evaporation) A_s,        z_i = -H + s_i (H + zeta),     s_i constant

The bottom is fixed; all cells stretch and shrink together, and take the areas and volumes of the basin
between their faces. Water does not move with the faces: the flow through a face follows from the streams and
the motion of the faces (`terms.streams`), so that uniform water stays uniform, and contents change only by
inflow and outflow. Rain has the temperature of the surface and no salt; evaporation removes heat and
momentum, and leaves salt and tracers behind.

Source: GOTM's lake branch, `water_balance_method: free_surface`, for the balance and the grid.
"""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from ..._types import Scalar, ScalarLike, SeriesOrScalar, is_traced, parameter
from ..grid import Grid, Hypsography
from ..state import State
from ..time_series import StepsOfRun, TimeSeries
from .base import AbstractTerm, Column, MovingLevel, or_zero

ELEVATION = "surface_elevation"
"""Name of the level in `State.surface`."""


class LakeLevel(AbstractTerm):
    """Level of a lake over time.

    Args:
        basin: areas of the lake at heights above and below its level at rest, which is z = 0 of its grid.
        initial: initial height of the level above that at rest [m]; unused if one is prescribed.
        prescribed: height over time [m]; surplus water leaves at the surface with its properties, and a
            deficit enters there. `None` if the level follows the water budget.

    A level that leaves the basin becomes inf (above) or -inf (below), and stays so.

    Raises:
        ValueError: a level outside the basin.
    """

    basin: Hypsography
    initial: Scalar = parameter(0.0, unit="m", valid_range=(-1000.0, 1000.0))
    prescribed: TimeSeries[SeriesOrScalar] | None = None

    def __check_init__(self):
        if is_traced((self.basin, self.initial, self.prescribed)):
            return
        levels = np.asarray(self.initial)[None] if self.prescribed is None else self.prescribed.values
        low, high = (float(x) for x in (np.max(self.basin.z[0]), np.min(self.basin.z[-1])))
        outside = (np.asarray(levels) <= low) | (np.asarray(levels) > high)
        if np.any(outside):
            row = int(np.argwhere(outside)[0][0])
            at = "at the start" if self.prescribed is None else f"at {float(self.prescribed.time[row]):g} s"
            level = float(np.asarray(levels)[row].flat[0])
            raise ValueError(
                f"level: expected a level within the basin, {low:g} to {high:g} m, got {level:g} m {at}; "
                "extend the hypsography (upwards by its key top), or check unit and sign."
            )

    def over_steps(self, steps: StepsOfRun) -> "LakeLevel":
        return self  # a step uses the level at its end

    def own_surface(self, state: State) -> dict[str, Scalar]:
        level = self.initial if self.prescribed is None else self.prescribed.at(0.0)
        return {ELEVATION: level + 0.0 * state.temperature[-1]}

    def placed(self, grid: Grid, state: State, time: ScalarLike | None) -> Grid:
        return self.grid_at(grid, state.surface[ELEVATION])

    def grid_at(self, at_rest: Grid, elevation: Scalar) -> Grid:
        """Grid at a level [m] above that at rest; its heights count from the surface."""
        faces = at_rest.z_face * (1.0 + elevation / at_rest.depth)
        heights = faces + elevation
        below = self.basin.volume_below(heights)
        return Grid(faces, self.basin.area_at(heights), below[1:] - below[:-1])

    def move(self, column: Column, at_rest: Grid, terms: Sequence[AbstractTerm]) -> Column:
        before, elevation = column.grid, column.state.surface[ELEVATION]
        assert before.area is not None
        density = column.equation_of_state.reference_density
        rain = or_zero(column.fluxes.freshwater_flux, column.state) / density * before.area[-1]
        if self.prescribed is not None:
            new_elevation = self.prescribed.at(column.time) + 0.0 * elevation
        else:
            net = rain
            for flow in filter(None, (term.discharge(column.time) for term in terms)):
                net = net + (flow[0] - flow[1])
            new_elevation = self._filled(at_rest, elevation, column.dt * net)
        grid = self.grid_at(at_rest, new_elevation)
        assert grid.area is not None
        area_ratio = before.area[-1] / grid.area[-1]
        fresh_water = rain / grid.area[-1] if self.prescribed is None else None
        level = MovingLevel(new_elevation, before.cell_volume * area_ratio, fresh_water, area_ratio)
        return column._replace(grid=grid, level=level, surface=column.surface | {ELEVATION: new_elevation})

    def _filled(self, at_rest: Grid, elevation: Scalar, gained: ScalarLike) -> Scalar:
        """Level after adding a volume of water [m3]: inf above the basin, -inf if empty; NaN stays NaN."""
        levels = jnp.stack([elevation, -at_rest.depth + 0.0 * elevation, self.basin.z[-1] + 0.0 * elevation])
        current, empty, full = self.basin.volume_below(levels)
        volume = current + gained
        new = self.basin.height_of(volume[None])[0]
        new = jnp.where(volume > empty, new, jnp.where(volume <= empty, -jnp.inf, jnp.nan))
        new = jnp.where(volume > full, jnp.inf, new)
        return jnp.where(jnp.isinf(elevation), elevation, new)
