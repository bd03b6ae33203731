"""Numerical building blocks: stencils, limiters, the tridiagonal solver, implicit diffusion."""

from .cyclic_reduction import ParallelCyclicReduction as ParallelCyclicReduction
from .diffusion import EndValues as EndValues
from .diffusion import Flow as Flow
from .diffusion import Source as Source
from .diffusion import diffuse as diffuse
from .diffusion import diffusion_system as diffusion_system
from .limiters import at_least as at_least
from .limiters import at_most as at_most
from .limiters import reciprocal as reciprocal
from .limiters import safe_sqrt as safe_sqrt
from .limiters import vector_norm as vector_norm
from .powers import power as power
from .powers import product_of_powers as product_of_powers
from .stencils import column_integral as column_integral
from .stencils import difference as difference
from .stencils import gradient as gradient
from .stencils import mean_of_neighbours as mean_of_neighbours
from .stencils import with_end_faces as with_end_faces
from .thomas import ThomasScan as ThomasScan
from .thomas import TwistedThomas as TwistedThomas
from .tridiagonal import PlatformDefault as PlatformDefault
from .tridiagonal import solve_tridiagonal as solve_tridiagonal
from .tridiagonal import solve_tridiagonal_systems as solve_tridiagonal_systems
from .tridiagonal_method import AbstractTridiagonalMethod as AbstractTridiagonalMethod
from .tridiagonal_method import TridiagonalMatrix as TridiagonalMatrix
from .vendor import VendorLibrary as VendorLibrary
