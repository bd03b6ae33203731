"""Numerical building blocks: stencils, limiters, the tridiagonal solver, implicit diffusion."""

from .diffusion import Added, CarryingRates, EndValues, diffuse, diffusion_system
from .elementary import (
    at_least,
    at_most,
    column_integral,
    difference,
    gradient,
    mean_of_neighbours,
    power,
    product_of_powers,
    quotient,
    reciprocal,
    safe_sqrt,
    vector_norm,
    with_end_faces,
)
from .tridiagonal import (
    AbstractTridiagonalMethod,
    CarryingMatrix,
    PlatformDefault,
    ThomasScan,
    TridiagonalMatrix,
    TwistedThomas,
    VendorLibrary,
    solve_tridiagonal,
    solve_tridiagonal_systems,
)

__all__ = [
    "CarryingRates",
    "diffuse",
    "mean_of_neighbours",
    "safe_sqrt",
    "solve_tridiagonal",
    "vector_norm",
    "with_end_faces",
]


def __dir__() -> list[str]:
    return __all__
