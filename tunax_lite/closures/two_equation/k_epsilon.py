"""k-epsilon: the length scale is carried by its dissipation rate.

    deps/dt = d/dz (nu / sigma_eps deps/dz) + eps/k (c_1 P + c_4 P_St + c_3 B - c_2 eps)

Source: Rodi (1987), J. Geophys. Res. 92, 5305-5328; Burchard and Bolding (2001), J. Phys. Oceanogr. 31,
1943-1968.
"""

from ..._types import Scalar, parameter
from .base import AbstractTwoEquation, Exponents, LengthScaleConstants


class KEpsilon(AbstractTwoEquation):
    """k-epsilon as in GOTM, with GOTM's constants; the common settings are those of `AbstractTwoEquation`.

    Args:
        c_eps_1, c_eps_2: production and sink of epsilon [1].
        c_eps_3_minus: buoyancy term in stable water (B < 0) [1]; if not given it follows from
            `steady_state_richardson_number`.
        c_eps_3_plus: the same in unstable water (B > 0).
        c_eps_4: production by the Stokes drift [1].
        sigma_eps: turbulent Schmidt number of epsilon [1]; ignored with `imposed_von_karman`.
    """

    c_eps_1: Scalar = parameter(1.44, valid_range=(1.0, 2.5))
    c_eps_2: Scalar = parameter(1.92, valid_range=(1.1, 3.5))
    c_eps_3_minus: Scalar | None = parameter(None, valid_range=(-5.0, 2.0))
    c_eps_3_plus: Scalar = parameter(1.5, valid_range=(-2.0, 5.0))
    c_eps_4: Scalar = parameter(0.0, valid_range=(-5.0, 10.0))
    sigma_eps: Scalar = parameter(1.3, valid_range=(0.1, 5.0))

    @property
    def c_eps_3_stable(self) -> Scalar:
        """`c_eps_3_minus`, or what the steady-state Richardson number implies [1]; -0.621 by default."""
        return self._stable_constant()

    @property
    def _exponents(self) -> Exponents:
        return Exponents(p=3.0, m=1.5, n=-1.0)

    def _constants(self, c_mu_0: Scalar) -> LengthScaleConstants:
        return self._with_one_sink(
            self.c_eps_1,
            self.c_eps_2,
            self.c_eps_3_minus,
            self.c_eps_3_plus,
            self.c_eps_4,
            self.sigma_eps,
            c_mu_0,
        )
