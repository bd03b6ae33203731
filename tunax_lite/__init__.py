"""A differentiable one-dimensional model of the ocean water column.

The names here build and run a model; `tunax_lite.io` reads and writes files, `tunax_lite.calibration` fits
parameters to observations, `tunax_lite.plotting` makes figures.

Names and modules are imported on first use: the command line must handle signals before it imports JAX, which
takes a second.
"""

TYPE_CHECKING = False  # true for type checkers; the module `typing` takes milliseconds to import

if TYPE_CHECKING:
    from ._types import (
        CenterArray,
        FaceArray,
        InnerFaceArray,
        Scalar,
        ScalarLike,
        in_precision,
        iterate_parameters,
        parameter,
    )
    from .case import Case, stack_cases
    from .checkpointing import Auto, SaveEverything, SavePairs, SaveSegments, SaveSteps
    from .closures import (
        Constant,
        ConvectiveAdjustment,
        GenericLengthScale,
        KEpsilon,
        KEpsilonTheta,
        KOmega,
        MellorYamada,
        OneEquation,
        PacanowskiPhilander,
        SecondMomentClosure,
    )
    from .forcing import ConstantForcing, SurfaceFluxes, TimeSeriesForcing
    from .grid import Grid
    from .maps.datasets import columns_from_dataset
    from .model import Model
    from .observations import Observations
    from .physics import LinearEquationOfState, TwoBandAbsorption, coriolis_parameter, mixed_layer_depth
    from .planning import choose_checkpointing, estimate_memory
    from .ranges import constrained, unconstrained
    from .runtime import configure
    from .sensitivity import jacobian
    from .simulation import simulate
    from .state import State
    from .trajectory import Restart, Trajectory, first_non_finite

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
    "maps.datasets": "columns_from_dataset",
    "model": "Model",
    "observations": "Observations",
    "physics": "LinearEquationOfState TwoBandAbsorption coriolis_parameter mixed_layer_depth",
    "planning": "choose_checkpointing estimate_memory",
    "runtime": "configure",
    "sensitivity": "jacobian",
    "simulation": "simulate",
    "state": "State",
    "trajectory": "Restart Trajectory first_non_finite",
    "ranges": "constrained unconstrained",
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
    globals()[name] = value  # so that Python finds it itself from now on
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, "__version__"})
