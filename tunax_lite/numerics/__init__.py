"""Numerical building blocks: stencils, limiters, the tridiagonal solver, implicit diffusion."""

from .diffusion import CarryingRates, diffuse
from .elementary import mean_of_neighbours, safe_sqrt, vector_norm, with_end_faces
from .tridiagonal import solve_tridiagonal

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
