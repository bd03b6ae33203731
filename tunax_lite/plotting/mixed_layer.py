"""The depth of the mixed layer as figures show it: by temperature, of a run and of what was observed."""

import jax
import jax.numpy as jnp
import numpy as np

from ..calibration.misfit.sparse import is_determined, on_centers
from ..grid import Grid
from ..observations import Observations
from ..physics.mixed_layer import mixed_layer_depth
from ..trajectory import Trajectory

_DIFFERENCE, _REFERENCE_DEPTH = 0.2, 10.0
"""K, and m: de Boyer Montegut et al. (2004), J. Geophys. Res. 109, C12003."""


class MixedLayer:
    """The depth at which the temperature is first so much below that at 10 m.

    By 0.2 K; by a tenth of what a column spans from top to bottom where that is less than 2 K, as in
    large-eddy simulations, where 0.2 K is far below the layer. In columns of less than 20 m below that at
    half their depth.

    Args:
        trajectory: of a single column; decides on the difference.
    """

    def __init__(self, trajectory: Trajectory):
        self._grid = trajectory.grid
        first = np.asarray(trajectory.state.temperature[0], dtype=float)
        tenth = float(f"{0.1 * np.ptp(first):.0e}")
        self.difference = min(_DIFFERENCE, tenth) if tenth > 0.0 else _DIFFERENCE

    @property
    def label(self) -> str:
        return f"mixed layer ({self.difference:g} K)"

    def of_run(self, trajectory: Trajectory) -> np.ndarray:
        """Depth of each frame [m]; NaN where the column is mixed to the bottom."""
        return self._depths(np.asarray(trajectory.state.temperature), trajectory.grid)

    def observed(self, observations: Observations) -> tuple[np.ndarray, np.ndarray] | None:
        """Times [s] and depths [m]; `None` where the temperature was not observed.

        Linear between the sensors; only where the profile reaches through the base of the layer.
        """
        if "temperature" not in observations.profiles:
            return None
        z, values = np.asarray(observations.z, float), np.asarray(observations.profiles["temperature"], float)
        centers = np.asarray(self._grid.z_center, dtype=float).reshape(-1)
        depths = self._depths(on_centers(z, values, centers), self._grid)
        known = np.isfinite(depths)
        known &= is_determined("mixed_layer_depth", depths, z, values, float(centers[0]))
        return np.asarray(observations.time, dtype=float)[known], depths[known]

    def _depths(self, temperature: np.ndarray, grid: Grid) -> np.ndarray:
        """Of profiles `(n_times, n_centers)`."""
        bottom = -float(np.min(grid.z_center))
        reference = min(_REFERENCE_DEPTH, -0.5 * float(np.min(grid.z_face)))
        options = {"difference": self.difference, "reference_depth": reference}
        of_frame = jax.vmap(lambda profile: mixed_layer_depth(profile, grid, **options))
        depth = np.asarray(of_frame(jnp.asarray(temperature)), dtype=float)
        return np.where(depth < bottom * (1.0 - 1e-9), depth, np.nan)
