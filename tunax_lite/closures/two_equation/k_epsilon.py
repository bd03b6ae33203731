"""k-epsilon: the length scale is carried by its dissipation rate.

    deps/dt = d/dz (nu / sigma_eps deps/dz) + eps/k (c_1 P + c_4 P_St + c_3 B - c_2 eps)

Source: Rodi (1987), J. Geophys. Res. 92, 5305-5328; Burchard and Bolding (2001), J. Phys. Oceanogr. 31,
1943-1968; Burchard (2001), J. Phys. Oceanogr. 31, 3133-3145, for the Schmidt number under breaking waves;
Oceananigans.jl for another set of constants.
"""

import math
from typing import Any

from ..._types import Scalar, parameter
from ...declarations import named, setting
from ...numerics.limiters import safe_sqrt
from ..energy import EnergyStepper, S, TurbulenceState
from ..stability import AbstractStabilityFunctions, SecondMomentClosure
from .base import AbstractTwoEquation
from .equation import Exponents, LengthScaleConstants


class AbstractKEpsilon(AbstractTwoEquation[S]):
    """The equation for epsilon; the common settings are those of `AbstractTwoEquation`.

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
                f"{type(self).__name__}: expected an imposed_von_karman together with "
                "varying_schmidt_number, got none; give kappa, for example 0.4."
            )

    @property
    def c_eps_3_stable(self) -> Scalar:
        """`c_eps_3_minus`, or what the steady-state Richardson number implies [1]; -0.621 by default."""
        return self._stable_constant()

    def _energy_stepper(self) -> EnergyStepper:
        constants = LengthScaleConstants(
            self.c_eps_1, self.c_eps_2, self.c_eps_3_minus, self.c_eps_3_plus, self.c_eps_4
        )
        return self._with_schmidt_numbers(
            Exponents(p=3.0, m=1.5, n=-1.0),
            constants,
            self.sigma_eps,
            self._shear_free_schmidt_number if self.varying_schmidt_number else None,
        )

    def _shear_free_schmidt_number(self, functions: AbstractStabilityFunctions) -> Scalar:
        """Schmidt number [1] with which l = kappa z where waves stir and no shear produces."""
        assert self.imposed_von_karman is not None  # checked at construction
        ratio = self.imposed_von_karman / functions.c_mu_shear_free
        decay = safe_sqrt(1.5 * self.sigma_k) / ratio
        return (4.0 / 3.0 * decay + 1.0) * (decay + 1.0) * ratio**2 / self.c_eps_2


@named("k_epsilon", k_epsilon_oceananigans="as_in_oceananigans")
class KEpsilon(AbstractKEpsilon[TurbulenceState]):
    """k-epsilon as in GOTM, with GOTM's constants; all settings are those of `AbstractKEpsilon`."""

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

    def prepare(self) -> EnergyStepper:
        return self._energy_stepper()
