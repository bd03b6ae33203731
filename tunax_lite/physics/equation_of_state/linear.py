"""Density linear in temperature and salinity."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..._types import Scalar, is_traced, parameter
from ...declarations import named
from .base import AbstractEquationOfState
from .teos10 import Teos10


@named("linear")
class LinearEquationOfState(AbstractEquationOfState):
    """rho = rho_0 (1 - alpha (T - T_0) + beta (S - S_0)).

    Args:
        thermal_expansion: alpha [K-1].
        haline_contraction: beta [kg g-1].
        reference_temperature: T_0, of the reference density [degC].
        reference_salinity: S_0, of the reference density [g kg-1].

    Source of the defaults: GOTM's `linear_custom` with its default constants.
    """

    thermal_expansion: Scalar = parameter(2e-4, unit="K-1", valid_range=(0.0, 1e-3))
    haline_contraction: Scalar = parameter(7.8e-4, unit="kg g-1", valid_range=(0.0, 1e-2))
    reference_temperature: Scalar = parameter(20.0, unit="degC", valid_range=(-5.0, 60.0))
    reference_salinity: Scalar = parameter(35.0, unit="g kg-1", valid_range=(0.0, 60.0))

    @classmethod
    def from_teos10(
        cls, temperature: float, salinity: float, pressure: float = 0.0, **constants: float
    ) -> "LinearEquationOfState":
        """The tangent to TEOS-10 at one point.

        Args:
            temperature: conservative temperature [degC].
            salinity: absolute salinity [g kg-1].
            pressure: sea pressure [dbar].
            constants: gravity, reference density and heat capacity, where they are not the defaults.

        Raises:
            ValueError: a point that is not finite, or a salinity or pressure below 0.
        """
        point = (temperature, salinity, pressure)
        if not is_traced(point) and not (np.all(np.isfinite(point)) and min(salinity, pressure) >= 0.0):
            raise ValueError(
                "LinearEquationOfState.from_teos10: expected a finite temperature [degC], and salinity "
                f"[g kg-1] and pressure [dbar] of at least 0, got {point}."
            )
        z = jnp.asarray(-pressure, dtype=float)
        at = (jnp.asarray(temperature, dtype=float), jnp.asarray(salinity, dtype=float))
        alpha, beta = Teos10(**constants).expansion(*at, z)
        return cls(
            thermal_expansion=alpha,
            haline_contraction=beta,
            reference_temperature=temperature,
            reference_salinity=salinity,
            **constants,
        )

    def density(
        self,
        temperature: Float[Array, "..."],
        salinity: Float[Array, "..."],
        z: Float[Array, "..."],
    ) -> Float[Array, "..."]:
        del z
        return self.reference_density * (1.0 - self._lighter(temperature, salinity))

    def buoyancy(
        self,
        temperature: Float[Array, "..."],
        salinity: Float[Array, "..."],
        z: Float[Array, "..."],
    ) -> Float[Array, "..."]:
        del z  # and without the density itself, in which small differences would drown
        return self.gravity * self._lighter(temperature, salinity)

    def _lighter(
        self, temperature: Float[Array, "..."], salinity: Float[Array, "..."]
    ) -> Float[Array, "..."]:
        warmer = temperature - self.reference_temperature
        saltier = salinity - self.reference_salinity
        return self.thermal_expansion * warmer - self.haline_contraction * saltier

    def expansion(
        self,
        temperature: Float[Array, "..."],
        salinity: Float[Array, "..."],
        z: Float[Array, "..."],
    ) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        del temperature, salinity, z
        return self.thermal_expansion, self.haline_contraction
