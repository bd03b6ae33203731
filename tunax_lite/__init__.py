"""A differentiable one-dimensional model of the ocean water column.

The names here build and run a model; `tunax_lite.io` reads and writes files, `tunax_lite.calibration`
fits parameters to observations, `tunax_lite.plotting` draws.

Names and modules are imported when they are first used: the command line has to hear of signals before JAX,
which takes a second to import, is there.
"""

TYPE_CHECKING = False  # what type checkers take as true; the module `typing` takes milliseconds

if TYPE_CHECKING:
    from ._types import CenterArray as CenterArray
    from ._types import FaceArray as FaceArray
    from ._types import InnerFaceArray as InnerFaceArray
    from ._types import Scalar as Scalar
    from ._types import ScalarLike as ScalarLike
    from ._types import in_precision as in_precision
    from ._types import iterate_parameters as iterate_parameters
    from ._types import parameter as parameter
    from .case import Case as Case
    from .case import stack_cases as stack_cases
    from .checkpointing import Auto as Auto
    from .checkpointing import SaveEverything as SaveEverything
    from .checkpointing import SavePairs as SavePairs
    from .checkpointing import SaveSegments as SaveSegments
    from .checkpointing import SaveSteps as SaveSteps
    from .closures import Constant as Constant
    from .closures import ConvectiveAdjustment as ConvectiveAdjustment
    from .closures import GenericLengthScale as GenericLengthScale
    from .closures import KEpsilon as KEpsilon
    from .closures import KEpsilonTheta as KEpsilonTheta
    from .closures import KOmega as KOmega
    from .closures import MellorYamada as MellorYamada
    from .closures import OneEquation as OneEquation
    from .closures import PacanowskiPhilander as PacanowskiPhilander
    from .closures import SecondMomentClosure as SecondMomentClosure
    from .forcing import ConstantForcing as ConstantForcing
    from .forcing import SurfaceFluxes as SurfaceFluxes
    from .forcing import TimeSeriesForcing as TimeSeriesForcing
    from .grid import Grid as Grid
    from .model import Model as Model
    from .observations import Observations as Observations
    from .physics import LinearEquationOfState as LinearEquationOfState
    from .physics import TwoBandAbsorption as TwoBandAbsorption
    from .physics import coriolis_parameter as coriolis_parameter
    from .physics import mixed_layer_depth as mixed_layer_depth
    from .planning import choose_checkpointing as choose_checkpointing
    from .planning import estimate_memory as estimate_memory
    from .runtime import configure as configure
    from .sensitivity import jacobian as jacobian
    from .simulation import first_non_finite as first_non_finite
    from .simulation import simulate as simulate
    from .state import State as State
    from .trajectory import Restart as Restart
    from .trajectory import Trajectory as Trajectory

    __version__: str

_NAMES = {
    "_types": "CenterArray FaceArray InnerFaceArray Scalar "
    "ScalarLike iterate_parameters parameter in_precision",
    "case": "Case stack_cases",
    "checkpointing": "Auto SaveEverything SavePairs SaveSegments SaveSteps",
    "closures": "Constant ConvectiveAdjustment GenericLengthScale KEpsilon KEpsilonTheta "
    "KOmega MellorYamada OneEquation PacanowskiPhilander SecondMomentClosure",
    "forcing": "ConstantForcing SurfaceFluxes TimeSeriesForcing",
    "grid": "Grid",
    "model": "Model",
    "observations": "Observations",
    "physics": "LinearEquationOfState TwoBandAbsorption coriolis_parameter mixed_layer_depth",
    "planning": "choose_checkpointing estimate_memory",
    "runtime": "configure",
    "sensitivity": "jacobian",
    "simulation": "first_non_finite simulate",
    "state": "State",
    "trajectory": "Restart Trajectory",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str):
    import importlib

    if name == "__version__":
        from importlib.metadata import version

        value = version("tunax_lite")
    elif name in _MODULES:
        value = getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)
    else:
        try:
            return importlib.import_module(f".{name}", __name__)
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value  # found by Python itself from now on
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, "__version__"})
