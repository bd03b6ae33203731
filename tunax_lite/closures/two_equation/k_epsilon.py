"""k-epsilon: the length scale is carried by its dissipation rate.

    deps/dt = d/dz (nu / sigma_eps deps/dz) + eps/k (c_1 P + c_4 P_St + c_3 B - c_2 eps)

Source: Rodi (1987), J. Geophys. Res. 92, 5305-5328; Burchard and Bolding (2001), J. Phys. Oceanogr. 31,
1943-1968; Burchard (2001), J. Phys. Oceanogr. 31, 3133-3145, for the Schmidt number under breaking waves;
Oceananigans.jl for another set of constants.
"""

import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from ..._types import ColumnArray, Scalar, parameter
from ...declarations import named, setting
from ...grid import Grid
from ...numerics.limiters import at_least, at_most, reciprocal, safe_sqrt
from ...numerics.stencils import mean_of_neighbours
from ..energy import Derived, Turbulence
from ..stability import SecondMomentClosure
from .base import AbstractTwoEquation, Exponents, LengthScaleConstants


@named("k_epsilon", k_epsilon_oceananigans="as_in_oceananigans")
class KEpsilon(AbstractTwoEquation):
    """k-epsilon as in GOTM, with GOTM's constants; the common settings are those of `AbstractTwoEquation`.

    Args:
        c_eps_1, c_eps_2: production and sink of epsilon [1].
        c_eps_3_minus: buoyancy term in stable water (B < 0) [1]; if not given it follows from
            `steady_state_richardson_number`.
        c_eps_3_plus: the same in unstable water (B > 0).
        c_eps_4: production by the Stokes drift [1].
        sigma_eps: turbulent Schmidt number of epsilon [1]; ignored with `imposed_von_karman`.
        varying_schmidt_number: whether the Schmidt number grows where epsilon exceeds P + B, up to that of a
            layer below breaking waves in which l = kappa z; for this `imposed_von_karman` must be given.

    Raises:
        ValueError: a Schmidt number that varies without `imposed_von_karman`.
    """

    c_eps_1: Scalar = parameter(1.44, valid_range=(1.0, 2.5))
    c_eps_2: Scalar = parameter(1.92, valid_range=(1.1, 3.5))
    c_eps_3_minus: Scalar | None = parameter(None, valid_range=(-5.0, 2.0))
    c_eps_3_plus: Scalar = parameter(1.5, valid_range=(-2.0, 5.0))
    c_eps_4: Scalar = parameter(0.0, valid_range=(-5.0, 10.0))
    sigma_eps: Scalar = parameter(1.3, valid_range=(0.1, 5.0))
    varying_schmidt_number: bool = setting(False)

    def __check_init__(self):
        if self.varying_schmidt_number and self.imposed_von_karman is None:
            raise ValueError(
                "KEpsilon: expected an imposed_von_karman together with varying_schmidt_number, got none; "
                "give kappa, for example 0.4."
            )

    @classmethod
    def as_in_oceananigans(cls, **others: Any) -> "KEpsilon":
        """The constants of Oceananigans' `TKEDissipationVerticalDiffusivity`.

        Functions of Canuto's model A in weak equilibrium with another `cc6`, one negative constant for
        buoyancy in stable and unstable water, more energy in quiet water, a Charnock roughness length. Its
        quantities live at cell centers, here on faces.

        Args:
            others: arguments that replace or complete them.
        """
        constants: dict[str, Any] = {
            "c_eps_3_minus": -0.65,
            "c_eps_3_plus": -0.65,
            "sigma_eps": 1.2,
            "turbulent_kinetic_energy_floor": 1e-6,
            "surface_roughness_length": 1e-4,
            "charnock_constant": 0.11,
            "length_limit": 0.75 / math.sqrt(2.0),  # there l <= 0.75 sqrt(k) / N
            "stability": SecondMomentClosure(cc6=0.5, equilibrium="weak", instability_limit=0.73),
        }
        return cls(**(constants | others))

    @property
    def c_eps_3_stable(self) -> Scalar:
        """`c_eps_3_minus`, or what the steady-state Richardson number implies [1]; -0.621 by default."""
        return self._stable_constant()

    @property
    def _exponents(self) -> Exponents:
        return Exponents(p=3.0, m=1.5, n=-1.0)

    def _constants(self, c_mu_0: Scalar) -> LengthScaleConstants:
        constants = self._with_one_sink(
            self.c_eps_1,
            self.c_eps_2,
            self.c_eps_3_minus,
            self.c_eps_3_plus,
            self.c_eps_4,
            self.sigma_eps,
            c_mu_0,
        )
        if not self.varying_schmidt_number:
            return constants
        shear_free = self._shear_free_schmidt_number()
        return eqx.tree_at(lambda c: c.sigma_shear_free, constants, shear_free)

    def _shear_free_schmidt_number(self) -> Scalar:
        """Schmidt number [1] with which l = kappa z where waves stir and no shear produces."""
        assert self.imposed_von_karman is not None  # checked at construction
        c_mu = self.stability.stability_functions().c_mu_shear_free
        ratio = self.imposed_von_karman / c_mu
        decay = safe_sqrt(1.5 * self.sigma_k) / ratio
        return (4.0 / 3.0 * decay + 1.0) * (decay + 1.0) * ratio**2 / self.c_eps_2

    def _psi_conductance(self, old: Turbulence, derived: Derived, grid: Grid) -> ColumnArray:
        if not self.varying_schmidt_number:
            return super()._psi_conductance(old, derived, grid)
        known = derived.length_scale
        assert isinstance(known, LengthScaleConstants)
        production = old.shear_production + old.buoyancy_production
        share = at_most(production * old.time_scale * old.inverse_tke, 1.0)
        sigma = known.sigma_shear_free + share * (known.sigma - known.sigma_shear_free)
        # For constants with which it would fall below both, and through zero.
        sigma = at_least(sigma, jnp.minimum(known.sigma, known.sigma_shear_free))
        return mean_of_neighbours(old.viscosity * reciprocal(sigma)) * reciprocal(grid.cell_thickness[1:-1])
