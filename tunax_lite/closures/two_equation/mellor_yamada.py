"""Mellor and Yamada's level 2.5: the length scale is carried by q² l, with q² = 2 k.

    dq²l/dt = d/dz (S_l q l dq²l/dz) + l (E_1 P + E_6 P_St + E_3 B) - q³/B_1 [1 + E_2 (l/L_z)²]
    dk/dt   = d/dz (S_q q l dk/dz)   + P + P_St + B - q³/(B_1 l),   B_1 = 2^(3/2) / c_mu0³

In the common form psi = k l, c_1 = E_1/2, c_3 = E_3/2, c_4 = E_6/2, c_2 = [1 + E_2 (l/L_z)²]/2, and the
diffusivities are those of a Schmidt number c_mu0 / (sqrt(2) S) in a logarithmic layer.

Source: Mellor and Yamada (1982), Rev. Geophys. Space Phys. 20, 851-875; constants and limits of GOTM.
"""

import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from ..._types import Scalar, parameter
from ...declarations import check_settings, named, setting
from ...numerics.limiters import safe_sqrt
from ..energy import EnergyStepper, TurbulenceState
from ..k_equation import DiffusionByLength
from ..stability import AbstractStability, Harcourt, SecondMomentClosure
from ..walls import ShearFreeLayer
from .base import AbstractTwoEquation
from .equation import WALL_LENGTHS, Exponents, LengthScaleConstants, WallFunction

_ROOT_2 = math.sqrt(2.0)


@named("mellor_yamada", mellor_yamada_harcourt="harcourt")
class MellorYamada(AbstractTwoEquation[TurbulenceState]):
    """Mellor and Yamada's level 2.5 as in GOTM; the common settings are those of `AbstractTwoEquation`.

    `sigma_k` is not used.

    Args:
        e_1, e_2: production of q² l, and its sink near walls [1]; `e_2` is ignored with
            `imposed_von_karman`.
        e_3_minus: buoyancy term in stable water (B < 0) [1]; if not given it follows from
            `steady_state_richardson_number`.
        e_3_plus: the same in unstable water; `None` for the value in stable water, as in GOTM.
        e_6: production by the Stokes drift [1].
        s_q, s_l: diffusivities of q² and q² l over q l [1].
        s_h: fraction s of the stability function S_H in both, sqrt(S² + (s S_H)²) [1]; `None` for constant
            ones.
        wall_length: L_z / kappa: the parabolic or the triangular mean of the distances to surface and
            bottom, or the distance to the surface.

    Raises:
        ValueError: another wall length.
    """

    length_limit: Scalar | None = parameter(0.53, valid_range=(0.01, 2.0))
    steady_state_richardson_number: Scalar = parameter(0.23, valid_range=(0.05, 0.8))
    stability: AbstractStability = eqx.field(default_factory=lambda: SecondMomentClosure.of("kantha_clayson"))
    e_1: Scalar = parameter(1.8, valid_range=(0.5, 5.0))
    e_2: Scalar = parameter(1.33, valid_range=(0.1, 5.0))
    e_3_minus: Scalar | None = parameter(None, valid_range=(-5.0, 20.0))
    e_3_plus: Scalar | None = parameter(None, valid_range=(-5.0, 20.0))
    e_6: Scalar = parameter(4.0, valid_range=(-5.0, 20.0))
    s_q: Scalar = parameter(0.2, valid_range=(0.01, 2.0))
    s_l: Scalar = parameter(0.2, valid_range=(0.01, 2.0))
    s_h: Scalar | None = parameter(None, valid_range=(0.0, 2.0))
    wall_length: str = setting("parabolic", choices=WALL_LENGTHS)

    def __check_init__(self):
        check_settings(self)

    @classmethod
    def harcourt(cls, **others: Any) -> "MellorYamada":
        """The closure for Langmuir turbulence: `Harcourt`, and a length that only waves and walls limit.

        Source: Harcourt (2015), J. Phys. Oceanogr. 45, 84-103, with the numbers of Li et al. (2019), J. Adv.
        Model. Earth Syst. 11, 3545-3592.

        Args:
            others: arguments that replace or complete them.
        """
        constants: dict[str, Any] = {
            "e_3_minus": 5.0,
            "e_6": 6.0,
            "s_h": 0.41,
            "length_limit": None,
            "wall_length": "linear",
            "imposed_von_karman": 0.4,
            "stability": Harcourt(),
        }
        return cls(**(constants | others))

    @property
    def e_3_stable(self) -> Scalar:
        """`e_3_minus`, or what the steady-state Richardson number implies [1]."""
        return 2.0 * self._stable_constant()

    def prepare(self) -> EnergyStepper:
        return self._energy_stepper()

    def _energy_stepper(self) -> EnergyStepper:
        functions, exponents = self.stability.stability_functions(), Exponents(p=0.0, m=1.0, n=1.0)
        c_mu_0, waves = functions.c_mu_0, self.surface.breaking_waves
        e_2 = self._wall_constant(c_mu_0)
        constants = LengthScaleConstants(
            c_1=0.5 * self.e_1,
            c_2=0.5 * (1.0 + e_2),
            c_3_stable=None if self.e_3_minus is None else 0.5 * self.e_3_minus,
            c_3_unstable=None if self.e_3_plus is None else 0.5 * self.e_3_plus,
            c_4=0.5 * self.e_6,
        )
        von_karman = self._von_karman(exponents, constants, c_mu_0 / (_ROOT_2 * self.s_l), c_mu_0)
        diffusions = DiffusionByLength(self.s_q, self.s_h), DiffusionByLength(self.s_l, self.s_h)
        if waves is not None:
            decay, slope = self._shear_free_decay(constants.c_2 - constants.c_1, e_2, c_mu_0)
            waves = ShearFreeLayer.of(waves, decay, slope, diffusions[0].at_wall(functions, shear_free=True))
        return self._with_equation(
            functions,
            exponents,
            constants,
            jnp.asarray(0.5),
            *diffusions,
            von_karman,
            waves,
            wall_function=WallFunction(e_2, von_karman, self.wall_length),
            has_shortest=True,
        )

    def _wall_constant(self, c_mu_0: Scalar) -> Scalar:
        """E_2 [1]."""
        if self.imposed_von_karman is None:
            return self.e_2
        b_1 = 2.0 * _ROOT_2 / c_mu_0**3
        return self.imposed_von_karman**2 * b_1 * self.s_l + self.e_1 - 1.0

    def _shear_free_decay(self, growth: Scalar, e_2: Scalar, c_mu_0: Scalar) -> tuple[Scalar, Scalar]:
        """alpha and L [1] of turbulence that is stirred at a wall without shear, for c_2 - c_1."""
        s_q, s_l = self.s_q, self.s_l
        b_kappa = 2.0 * growth / s_l  # B_1 kappa²
        both = 12.0 * e_2 * (2.0 * s_l - s_q)
        root = safe_sqrt(both + b_kappa * s_l * (s_l + 12.0 * s_q))
        linear = safe_sqrt(b_kappa)
        decay = (5.0 * linear * s_l + root) / (3.0 * linear * (s_q - 2.0 * s_l))
        inside = 0.5 * both + b_kappa * s_l * (13.0 * s_l + 6.0 * s_q) - 5.0 * linear * s_l * root
        slope_squared = inside / (6.0 * s_q * (e_2 - b_kappa * s_l) ** 2)
        von_karman = safe_sqrt(b_kappa * c_mu_0**3 / (2.0 * _ROOT_2))
        return decay, von_karman * safe_sqrt(slope_squared)
