"""The simplified equation of state of NEMO: quadratic, with the two effects of pressure that matter.

    rho - rho_0 = -a (1 + lambda_1 t / 2 + mu_1 d) t + b (1 - lambda_2 s / 2 - mu_2 d) s - nu t s,

t = T - 10 degC, s = S - 35 g kg-1, d = -z the depth: expansion that grows with temperature (cabbeling) and
with depth (thermobaricity), and contraction that weakens with salinity and depth.
"""

from jaxtyping import Array, Float

from ..._types import Scalar, parameter
from ...declarations import named
from .base import AbstractEquationOfState

TEMPERATURE = 10.0
"""Conservative temperature about which the density is expanded [degC]."""
SALINITY = 35.0
"""Absolute salinity about which the density is expanded [g kg-1]."""


@named("simplified")
class SimplifiedEquationOfState(AbstractEquationOfState):
    """S-EOS with the coefficients of NEMO 5.

    Args:
        expansion_rate: a_0 [kg m-3 K-1].
        contraction_rate: b_0 [kg m-3 (g kg-1)-1].
        cabbeling_temperature: lambda_1 [K-1].
        cabbeling_salinity: lambda_2 [(g kg-1)-1].
        thermobaric_temperature: mu_1 [m-1].
        thermobaric_salinity: mu_2 [m-1].
        cross_term: nu [kg m-3 K-1 (g kg-1)-1].

    Source: Roquet et al. (2015), J. Phys. Oceanogr. 45, 2564-2579; NEMO 5, `ln_seos`.
    """

    reference_density: Scalar = parameter(1026.0, unit="kg m-3", valid_range=(500.0, 2000.0))
    expansion_rate: Scalar = parameter(0.1655, unit="kg m-3 K-1", valid_range=(0.0, 1.0))
    contraction_rate: Scalar = parameter(0.76554, unit="kg m-3 (g kg-1)-1", valid_range=(0.0, 5.0))
    cabbeling_temperature: Scalar = parameter(5.952e-2, unit="K-1", valid_range=(-1.0, 1.0))
    cabbeling_salinity: Scalar = parameter(5.4914e-4, unit="(g kg-1)-1", valid_range=(-1.0, 1.0))
    thermobaric_temperature: Scalar = parameter(1.497e-4, unit="m-1", valid_range=(-1e-2, 1e-2))
    thermobaric_salinity: Scalar = parameter(1.109e-5, unit="m-1", valid_range=(-1e-2, 1e-2))
    cross_term: Scalar = parameter(2.4341e-3, unit="kg m-3 K-1 (g kg-1)-1", valid_range=(-1.0, 1.0))

    def density(
        self,
        temperature: Float[Array, "..."],
        salinity: Float[Array, "..."],
        z: Float[Array, "..."],
    ) -> Float[Array, "..."]:
        t, s = temperature - TEMPERATURE, salinity - SALINITY
        thermal = 1.0 + 0.5 * self.cabbeling_temperature * t - self.thermobaric_temperature * z
        haline = 1.0 - 0.5 * self.cabbeling_salinity * s + self.thermobaric_salinity * z
        heavier = self.contraction_rate * haline * s - self.expansion_rate * thermal * t
        return self.reference_density + heavier - self.cross_term * t * s

    def expansion(
        self,
        temperature: Float[Array, "..."],
        salinity: Float[Array, "..."],
        z: Float[Array, "..."],
    ) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        t, s = temperature - TEMPERATURE, salinity - SALINITY
        thermal = 1.0 + self.cabbeling_temperature * t - self.thermobaric_temperature * z
        haline = 1.0 - self.cabbeling_salinity * s + self.thermobaric_salinity * z
        alpha = self.expansion_rate * thermal + self.cross_term * s
        beta = self.contraction_rate * haline - self.cross_term * t
        return alpha / self.reference_density, beta / self.reference_density
