"""What turbulence does besides mixing down gradients: terms that closures give in `CloState.terms`."""

from .._types import FaceArray, InnerFaceArray, Scalar
from ..forcing import SurfaceFluxes
from ..numerics.stencils import gradient
from .base import AbstractTerm, Column, Tendency
from .surface import kinematic_fluxes, shortwave_heating


class NonlocalTransport(AbstractTerm):
    """Carries a fraction of what enters through the surface down to each face, whatever the gradients.

    Args:
        fraction: of the surface flux [1], 0 at both ends; of heat with the shortwave radiation that the
            water above has absorbed.
    """

    fraction: FaceArray

    def on_scalars(self, column: Column) -> dict[str, Tendency]:
        # Tracers have no memory of the step before: what enters is what is distributed.
        now = kinematic_fluxes(column.state, column.equation_of_state, column.fluxes)
        before = kinematic_fluxes(column.state, column.equation_of_state, column.fluxes_before)
        entered: dict[str, InnerFaceArray | Scalar] = {**now, "salinity": before["salinity"]}
        entered["temperature"] = _entered(before["temperature"], column.fluxes_before, column)
        inner = self.fraction[1:-1]
        return {name: Tendency(downward=flux * inner) for name, flux in entered.items()}


def _entered(heat: Scalar, fluxes: SurfaceFluxes, column: Column) -> InnerFaceArray | Scalar:
    """Heat that enters through the surface and stays above a face [K m s-1]."""
    passing = shortwave_heating(fluxes, column.absorption, column.equation_of_state, column.grid)
    return heat if passing is None else heat + (passing[-1] - passing[1:-1])


class CounterGradientHeat(AbstractTerm):
    """A flux of heat beside that down its gradient, which makes no water warmer or colder than it was.

    Args:
        upward: flux [K m s-1], 0 at both ends.
    """

    upward: FaceArray

    def on_scalars(self, column: Column) -> dict[str, Tendency]:
        del column
        return {"temperature": Tendency(against_gradient=-self.upward[1:-1])}


class StokesMixing(AbstractTerm):
    """Momentum that turbulence carries down the shear of the Stokes drift.

    Args:
        viscosity: nu_S [m2 s-1].
    """

    viscosity: FaceArray

    def on_velocity(self, column: Column) -> dict[str, Tendency]:
        if column.stokes_drift is None:
            return {}
        inner = self.viscosity[1:-1]
        u, v = (inner * gradient(drift, column.grid) for drift in column.stokes_drift)
        return {"u": Tendency(downward=u), "v": Tendency(downward=v)}
