"""Numerical building blocks: stencils, limiters, the tridiagonal solver, implicit diffusion."""

from .diffusion import diffuse as diffuse
from .diffusion import diffusion_system as diffusion_system
from .tridiagonal import AbstractTridiagonalMethod as AbstractTridiagonalMethod
from .tridiagonal import PlatformDefault as PlatformDefault
from .tridiagonal import ThomasScan as ThomasScan
from .tridiagonal import TridiagonalMatrix as TridiagonalMatrix
from .tridiagonal import VendorLibrary as VendorLibrary
from .tridiagonal import solve_tridiagonal as solve_tridiagonal
from .tridiagonal import solve_tridiagonal_systems as solve_tridiagonal_systems
