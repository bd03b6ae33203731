"""What was measured (or resolved by a large-eddy simulation): profiles over time."""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from ._types import is_traced


class Observations(eqx.Module):
    """Profiles on common times and heights.

    Args:
        time: [s] since the start of the case, increasing, `(n_times,)`.
        z: heights [m], increasing, at most 0, `(n_levels,)`.
        profiles: by variable name (`temperature`, `salinity`, `u`, `v`, a tracer), `(n_times, n_levels)`,
            in the units of `State`; NaN where there is no value.
        uncertainty: standard deviation of a variable, one number each [unit of the variable]; optional.
        name: for messages and files.

    Raises:
        ValueError: times or heights that do not increase, or a profile of another shape.
    """

    time: Float[Array, " time"]
    z: Float[Array, " level"]
    profiles: dict[str, Float[Array, "time level"]]
    uncertainty: dict[str, Float[Array, ""]] = eqx.field(default_factory=dict)
    name: str = eqx.field(default="observations", static=True)

    def __check_init__(self):
        if is_traced((self.time, self.z, self.profiles)) or not hasattr(self.time, "shape"):
            return
        for label, values in (("times [s]", self.time), ("heights [m]", self.z)):
            values = np.asarray(values)
            if values.size < 1 or not np.all(np.isfinite(values)) or np.any(np.diff(values) <= 0.0):
                raise ValueError(
                    f"{self.name}: expected {label} that are finite and increase, got "
                    f"{np.array2string(values, threshold=6, edgeitems=2)}."
                )
        for variable, values in self.profiles.items():
            expected = (self.time.shape[0], self.z.shape[0])
            if values.shape != expected:
                raise ValueError(
                    f"{self.name}: expected {variable} of shape (time, level) = {expected}, got "
                    f"{values.shape}."
                )
