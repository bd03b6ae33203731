"""k-omega: the length scale is carried by omega = sqrt(k) / (c_mu0 l) = eps / (c_mu0^4 k).

    domega/dt = d/dz (nu / sigma_omega domega/dz) + omega/k (c_1 P + c_4 P_St + c_3 B - c_2 eps)

Source: Wilcox (1988), AIAA J. 26, 1299-1310; Umlauf, Burchard and Hutter (2003), Ocean Model. 5, 195-218.
"""

from ..._types import Scalar, parameter
from ...declarations import named
from .base import AbstractTwoEquation, Exponents, LengthScaleConstants


@named("k_omega")
class KOmega(AbstractTwoEquation):
    """k-omega as in GOTM, with GOTM's constants; the common settings are those of `AbstractTwoEquation`.

    Args:
        c_omega_1, c_omega_2: production and sink of omega [1].
        c_omega_3_minus: buoyancy term in stable water (B < 0) [1]; if not given it follows from
            `steady_state_richardson_number`.
        c_omega_3_plus: the same in unstable water (B > 0).
        c_omega_4: production by the Stokes drift [1].
        sigma_omega: turbulent Schmidt number of omega [1]; ignored with `imposed_von_karman`.
    """

    sigma_k: Scalar = parameter(2.0, valid_range=(0.1, 5.0))
    c_omega_1: Scalar = parameter(0.555, valid_range=(0.05, 2.0))
    c_omega_2: Scalar = parameter(0.833, valid_range=(0.1, 3.0))
    c_omega_3_minus: Scalar | None = parameter(None, valid_range=(-5.0, 2.0))
    c_omega_3_plus: Scalar = parameter(0.5, valid_range=(-2.0, 5.0))
    c_omega_4: Scalar = parameter(0.15, valid_range=(-5.0, 10.0))
    sigma_omega: Scalar = parameter(2.0, valid_range=(0.1, 5.0))

    @property
    def c_omega_3_stable(self) -> Scalar:
        """`c_omega_3_minus`, or what the steady-state Richardson number implies [1]; -0.639 by default."""
        return self._stable_constant()

    @property
    def _exponents(self) -> Exponents:
        return Exponents(p=-1.0, m=0.5, n=-1.0)

    def _constants(self, c_mu_0: Scalar) -> LengthScaleConstants:
        return self._with_one_sink(
            self.c_omega_1,
            self.c_omega_2,
            self.c_omega_3_minus,
            self.c_omega_3_plus,
            self.c_omega_4,
            self.sigma_omega,
            c_mu_0,
        )
