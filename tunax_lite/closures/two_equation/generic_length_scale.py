"""The generic length scale: psi = c_mu0^p k^m l^n with free exponents.

    dpsi/dt = d/dz (nu / sigma_psi dpsi/dz) + psi/k (c_1 P + c_4 P_St + c_3 B - c_2 eps)

Source: Umlauf and Burchard (2003), J. Mar. Res. 61, 235-265, whose model A is the default, and whose
section 4 derives exponents and constants from properties of turbulence.
"""

import math
from typing import Any

from ..._types import Scalar, parameter
from ...declarations import named, setting
from ..stability import AbstractStability, SecondMomentClosure
from .base import AbstractTwoEquation, Exponents, LengthScaleConstants


@named("generic_length_scale")
class GenericLengthScale(AbstractTwoEquation):
    """A generic length scale; the common settings are those of `AbstractTwoEquation`.

    Args:
        exponents: p, m and n of psi = c_mu0^p k^m l^n [1], Python numbers; n < 0, because a psi that grows
            with the length needs a wall function.
        c_psi_1, c_psi_2: production and sink of psi [1].
        c_psi_3_minus: buoyancy term in stable water (B < 0) [1]; if not given it follows from
            `steady_state_richardson_number`.
        c_psi_3_plus: the same in unstable water (B > 0).
        c_psi_4: production by the Stokes drift [1].
        sigma_psi: turbulent Schmidt number of psi [1]; ignored with `imposed_von_karman`.

    Raises:
        ValueError: n that is not negative.
    """

    sigma_k: Scalar = parameter(0.8, valid_range=(0.1, 5.0))
    c_psi_1: Scalar = parameter(1.0, valid_range=(0.05, 5.0))
    c_psi_2: Scalar = parameter(1.22, valid_range=(0.1, 6.0))
    c_psi_3_minus: Scalar | None = parameter(None, valid_range=(-10.0, 5.0))
    c_psi_3_plus: Scalar = parameter(1.0, valid_range=(-2.0, 10.0))
    c_psi_4: Scalar = parameter(0.0, valid_range=(-5.0, 10.0))
    sigma_psi: Scalar = parameter(1.07, valid_range=(0.1, 10.0))
    exponents: Exponents = setting(Exponents(p=3.0, m=1.0, n=-0.67))

    def __check_init__(self):
        if not self.exponents.n < 0.0:
            raise ValueError(f"GenericLengthScale: expected n < 0, got {self.exponents.n}.")

    @classmethod
    def generated(
        cls,
        *,
        von_karman: float = 0.4,
        decay_rate: float = -1.2,
        shear_free_decay: float = -2.0,
        shear_free_slope: float = 0.2,
        m: float = 1.0,
        p: float = 3.0,
        stability: AbstractStability | None = None,
        **others: Any,
    ) -> "GenericLengthScale":
        """The model with given properties of turbulence.

        Args:
            von_karman: kappa of the logarithmic layer [1].
            decay_rate: d in k ~ t^d without production [1], -2 to 0.
            shear_free_decay, shear_free_slope: alpha < 0 and L > 0 in k ~ z^alpha and l = L z of turbulence
                that is stirred at a wall without shear [1].
            m, p: exponents that remain free [1].
            stability: gives c_mu0; by default Canuto's model A.
            others: further arguments; `c_psi_3_plus` is m if it is not given.

        Raises:
            ValueError: properties that no negative n gives.
        """
        stability = SecondMomentClosure() if stability is None else stability
        functions = stability.stability_functions()
        c_mu_0 = float(functions.c_mu_0)
        r, d = c_mu_0 / float(functions.c_mu_shear_free), decay_rate
        kappa_squared, slope_squared = von_karman**2, shear_free_slope**2
        linear = 4.0 * d * r * kappa_squared * m - shear_free_decay * slope_squared * (2.0 + d) * (
            1.0 + 4.0 * m
        )
        difference = r * kappa_squared - slope_squared
        squared = (shear_free_decay * shear_free_slope * (2.0 + d)) ** 2
        radicand = 8.0 * squared * difference * m * (1.0 + 2.0 * m) + linear**2
        n = math.nan
        if radicand > 0.0 and difference != 0.0 and d != -2.0:
            n = -(linear + math.sqrt(radicand)) / (4.0 * (2.0 + d) * difference)
        if not (n < 0.0 and -2.0 < d < 0.0):
            raise ValueError(
                "GenericLengthScale.generated: expected properties that give a negative exponent n, got "
                f"n = {n} for decay_rate {d}, shear_free_decay {shear_free_decay}, shear_free_slope "
                f"{shear_free_slope} and m {m}; measured values are -1.3 to -1.0, -3 to -2 and 0.15 to 0.25."
            )
        sigma_psi = 2.0 * kappa_squared * d * n / (c_mu_0**2 * (d + 2.0))
        constants: dict[str, Any] = {
            "sigma_k": 1.5 * (shear_free_decay * shear_free_slope) ** 2 / (r * c_mu_0**2),
            "c_psi_1": m,
            "c_psi_2": n**2 * kappa_squared / (c_mu_0**2 * sigma_psi) + m,
            "c_psi_3_plus": m,
            "sigma_psi": sigma_psi,
        }
        return cls(**(constants | {"stability": stability, "exponents": Exponents(p, m, n)} | others))

    @property
    def c_psi_3_stable(self) -> Scalar:
        """`c_psi_3_minus`, or what the steady-state Richardson number implies [1]."""
        return self._stable_constant()

    @property
    def _exponents(self) -> Exponents:
        return self.exponents

    def _constants(self, c_mu_0: Scalar) -> LengthScaleConstants:
        return self._with_one_sink(
            self.c_psi_1,
            self.c_psi_2,
            self.c_psi_3_minus,
            self.c_psi_3_plus,
            self.c_psi_4,
            self.sigma_psi,
            c_mu_0,
        )
