"""Water that cannot cool below its freezing point, with ice that has no thickness.

The heat that would be lost is not: the latent heat of the ice that would form is all that it leaves.

Source: the model `simple` of the ice models of GOTM (STIM).
"""

from .._types import Scalar, parameter
from ..numerics.limiters import at_least
from ..state import State
from ..terms import AbstractTerm, Column


class FreezingBound(AbstractTerm):
    """The uppermost cell enters a step at its freezing point or above.

    Args:
        slope: freezing point over salinity [K per g kg-1].
    """

    slope: Scalar = parameter(-0.0575, unit="K (g kg-1)-1", valid_range=(-0.1, 0.0))

    def before(self, column: Column) -> State:
        return self.apply(column.state)

    def apply(self, state: State) -> State:
        """The state with the bound; over a bound temperature the gradient is that of the salinity."""
        temperature = state.temperature
        surface = at_least(temperature[-1], self.slope * state.salinity[-1])
        return State(state.u, state.v, temperature.at[-1].set(surface), state.salinity, state.tracers)
