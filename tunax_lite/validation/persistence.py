"""The forecast that nothing changes: what every model has to beat."""

import dataclasses

from ..calibration.misfit import Comparison, root_mean_square_errors
from ..case import Case
from ..closures import Constant
from ..forcing import ConstantForcing, SurfaceFluxes
from ..interior import Interior
from ..model import Model
from ..precision import in_precision, precision_of


def persistence_errors(comparison: Comparison) -> dict[str, float]:
    """Root mean square errors of the initial profiles kept, by variable [unit of the variable].

    Args:
        comparison: of a case, `Target.comparison`.
    """
    still = dataclasses.replace(
        comparison,
        case=_undisturbed(comparison.case),
        dt=comparison.dt * comparison.steps_per_frame,
        steps_per_frame=1,
    )
    nothing = Model(
        Constant(viscosity=0.0, diffusivity=0.0), molecular_viscosity=0.0, molecular_diffusivity=0.0
    )
    return root_mean_square_errors(in_precision(nothing, precision_of(case=comparison.case)), still)


def _undisturbed(case: Case) -> Case:
    """The same water where nothing acts on it."""
    forcing = in_precision(ConstantForcing(SurfaceFluxes()), precision_of(case=case))
    f = 0.0 * case.coriolis_parameter
    return dataclasses.replace(case, forcing=forcing, interior=Interior(), coriolis_parameter=f)
