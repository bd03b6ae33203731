"""A differentiable one-dimensional model of the ocean water column.

The names here build and run a model; `tunax_lite.io` reads and writes files, `tunax_lite.calibration` fits
parameters to observations, `tunax_lite.plotting` makes figures.

Names and modules are imported on first use: help and completion of the command line do not need JAX, which
takes a second.
"""

from ._lazy import lazily

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
    from .calibration.ranges import Unconstrained, constrained, unconstrained
    from .closures import (
        CATKE,
        EPBL,
        KPP,
        TKE,
        ConstantDiffusivity,
        ConvectiveAdjustment,
        GenericLengthScale,
        KEpsilon,
        KEpsilonTheta,
        KOmega,
        KrausTurner,
        MassFluxConvection,
        MellorYamada,
        MunkAndersonMixing,
        NeuralCorrection,
        OneEquation,
        PacanowskiPhilander,
        PriceWellerPinkel,
        RiBased,
        SecondMomentClosure,
    )
    from .column.case import Case, stack_cases
    from .column.checkpointing import AutoCheckpointing, SaveEverything, SavePairs, SaveSegments, SaveSteps
    from .column.corrections import CorrectedForcing, InitialCorrection
    from .column.diagnostics import diagnose
    from .column.discretisation import GotmDiscretisation
    from .column.forcing import (
        AbstractForcing,
        ConstantForcing,
        SurfaceFluxes,
        TimeSeriesForcing,
        WaterSurface,
    )
    from .column.grid import Grid, Hypsography
    from .column.integrate import simulate
    from .column.model import Model
    from .column.observables import ColumnState, observable
    from .column.observations import Observations
    from .column.sensitivity import CompiledJacobian, jacobian
    from .column.state import State
    from .column.time_series import TimeSeries
    from .column.trajectory import Restart, Trajectory, first_non_finite
    from .config.stored import load_closure, save_closure
    from .declarations import named, setting
    from .physics import LinearEquationOfState, TwoBandAbsorption, coriolis_parameter, mixed_layer_depth
    from .runtime import configure

    __version__: str

_NAMES = {
    "_types": "CenterArray FaceArray InnerFaceArray Scalar ScalarLike iterate_parameters parameter "
    "in_precision",
    "calibration.ranges": "Unconstrained constrained unconstrained",
    "closures": "CATKE ConstantDiffusivity ConvectiveAdjustment EPBL GenericLengthScale KEpsilon "
    "KEpsilonTheta KOmega KPP KrausTurner MassFluxConvection MellorYamada MunkAndersonMixing "
    "NeuralCorrection OneEquation PacanowskiPhilander PriceWellerPinkel RiBased SecondMomentClosure TKE",
    "column.case": "Case stack_cases",
    "column.checkpointing": "AutoCheckpointing SaveEverything SavePairs SaveSegments SaveSteps",
    "column.corrections": "CorrectedForcing InitialCorrection",
    "column.diagnostics": "diagnose",
    "column.discretisation": "GotmDiscretisation",
    "column.forcing": "AbstractForcing ConstantForcing SurfaceFluxes TimeSeriesForcing WaterSurface",
    "column.grid": "Grid Hypsography",
    "column.integrate": "simulate",
    "column.model": "Model",
    "column.observables": "ColumnState observable",
    "column.observations": "Observations",
    "column.sensitivity": "CompiledJacobian jacobian",
    "column.state": "State",
    "column.time_series": "TimeSeries",
    "column.trajectory": "Restart Trajectory first_non_finite",
    "config.stored": "load_closure save_closure",
    "declarations": "named setting",
    "physics": "LinearEquationOfState TwoBandAbsorption coriolis_parameter mixed_layer_depth",
    "runtime": "configure",
}
__all__, _load, __dir__ = lazily(__name__, _NAMES)


def __getattr__(name: str):
    import importlib

    if name == "__version__":
        from importlib.metadata import version

        globals()[name] = version("tunax_lite")  # Python calls this function only once per name
        return globals()[name]
    if name in __all__:
        return _load(name)
    for module in (name, f"extensions.{name}"):
        try:
            return importlib.import_module(f".{module}", __name__)
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{module}":
                raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; docs/migration.md lists old names")
