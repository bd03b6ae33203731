"""Stability functions c_mu and c_mu' of stratification and shear. First-order functions are

    c_mu = c_mu_0^4,   c_mu' = c_mu / Pr(Ri),   Ri = N² / S²

with one class per formula for the Prandtl number.
"""

import abc
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._types import InnerFaceArray, Scalar, ScalarLike, parameter
from ..declarations import named
from ..numerics.elementary import at_least, at_most, quotient, reciprocal, safe_sqrt
from ..views import AbstractShown

Functions = tuple[InnerFaceArray, InnerFaceArray]  # c_mu and c_mu' [1]


class StabilityValues(NamedTuple):
    """c_mu, c_mu', and c_mu_S of the momentum flux down the Stokes shear, -c_mu_S k²/eps dU_s/dz [1]."""

    momentum: InnerFaceArray
    scalars: InnerFaceArray
    stokes: InnerFaceArray | None = None  # `None` if waves do not drive momentum


class Flow(NamedTuple):
    """(eps/k)², N² and S² [s-2] on inner faces."""

    frequency_squared: InnerFaceArray
    n_squared: InnerFaceArray
    s_squared: InnerFaceArray

    @property
    def alpha_n(self) -> InnerFaceArray:
        """N² (k/eps)² [1]."""
        return quotient(self.n_squared, self.frequency_squared)

    @property
    def alpha_m(self) -> InnerFaceArray:
        """S² (k/eps)² [1]."""
        return quotient(self.s_squared, self.frequency_squared)


class Waves(NamedTuple):
    """Stokes drift, and turbulence in it, as input of stability functions on inner faces."""

    shear: InnerFaceArray  # dU/dz . dU_s/dz [s-2]
    shear_squared: InnerFaceArray  # |dU_s/dz|² [s-2]
    production: InnerFaceArray  # P_St [m2 s-3]
    length: InnerFaceArray  # length scale of turbulence [m]
    depth: InnerFaceArray  # depth below the surface [m]
    spacing: InnerFaceArray  # distance between the neighbouring centers [m]


class AbstractStabilityFunctions(eqx.Module):
    """c_mu and c_mu' in nu = c_mu k²/eps and kappa = c_mu' k²/eps, with all coefficients computed.

    Where there is neither shear nor stratification, nu = c_mu_shear_free sqrt(k) l.
    """

    c_mu_0: eqx.AbstractVar[Scalar]  # fourth root of c_mu in neutral equilibrium [1]

    @property
    @abc.abstractmethod
    def c_mu_shear_free(self) -> Scalar:
        """c_mu over `c_mu_0`³ without shear and stratification [1]."""

    @abc.abstractmethod
    def in_flow(self, flow: Flow) -> Functions:
        """c_mu and c_mu' [1] in a flow, without the effect of waves."""

    @abc.abstractmethod
    def equilibrium_ratio(self, richardson_number: ScalarLike) -> Scalar:
        """c_mu / c_mu' [1] where P + B = eps at a given Richardson number."""


class AbstractWaveFunctions(AbstractStabilityFunctions):
    """Stability functions that depend on the Stokes drift, which then drives momentum."""

    @abc.abstractmethod
    def in_waves(self, flow: Flow, waves: Waves) -> StabilityValues:
        """c_mu, c_mu' and c_mu_S [1] in a flow with waves."""


class AbstractStability(AbstractShown):
    """Constants of stability functions."""

    @abc.abstractmethod
    def stability_functions(self) -> AbstractStabilityFunctions:
        """The functions that these constants imply."""


# GOTM's bounds of alpha_M and of the divisor in Ri.
_SMALLEST_ALPHA_M, _SMALLEST_DIVISOR = 1e-10, 1e-8


class AbstractFirstOrder(AbstractStability, AbstractStabilityFunctions):
    """Stability functions defined by a Prandtl number; as in GOTM.

    Args:
        c_mu_0: fourth root of c_mu [1].
    """

    c_mu_0: Scalar = parameter(0.5477, valid_range=(0.3, 1.0))

    @abc.abstractmethod
    def prandtl_number(self, richardson_number: Float[Array, "..."]) -> Float[Array, "..."]:
        """nu / kappa [1] at a gradient Richardson number of either sign."""

    @property
    def c_mu_shear_free(self) -> Scalar:
        return self.c_mu_0

    def stability_functions(self) -> "AbstractFirstOrder":
        return self

    def in_flow(self, flow: Flow) -> Functions:
        alpha_m = at_least(flow.alpha_m, _SMALLEST_ALPHA_M)
        ri = flow.alpha_n * reciprocal(alpha_m + _SMALLEST_DIVISOR)
        c_mu = self.c_mu_0**4 + jnp.zeros_like(ri)
        return c_mu, c_mu * reciprocal(self.prandtl_number(ri) + jnp.zeros_like(ri))

    def equilibrium_ratio(self, richardson_number: ScalarLike) -> Scalar:
        return self.prandtl_number(jnp.asarray(richardson_number))


@named("constant")
class ConstantStability(AbstractFirstOrder):
    """Constant Prandtl number: Pr = Pr_0.

    Args:
        neutral_prandtl_number: Pr_0 [1].
    """

    neutral_prandtl_number: Scalar = parameter(0.74, valid_range=(0.1, 10.0))

    def prandtl_number(self, richardson_number: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.neutral_prandtl_number


@named("munk_anderson")
class MunkAndersonStability(AbstractFirstOrder):
    """Munk and Anderson (1948): Pr = Pr_0 (1 + 10/3 Ri)^(3/2) / (1 + 10 Ri)^(1/2) if stable, else Pr_0.

    Args:
        neutral_prandtl_number: Pr_0 [1].

    Source: Munk and Anderson (1948), J. Mar. Res. 7, 276-295; 3.33 for 10/3 as in GOTM.
    """

    neutral_prandtl_number: Scalar = parameter(0.74, valid_range=(0.1, 10.0))

    def prandtl_number(self, richardson_number: Float[Array, "..."]) -> Float[Array, "..."]:
        ri = at_least(richardson_number, 0.0)
        numerator = 1.0 + 3.33 * ri
        return self.neutral_prandtl_number * numerator * safe_sqrt(numerator * reciprocal(1.0 + 10.0 * ri))


@named("schumann_gerz")
class SchumannGerz(AbstractFirstOrder):
    """Schumann and Gerz (1995): Pr = Pr_0 exp(-Ri / (Pr_0 Ri_inf)) + Ri / Ri_inf <= 3 if stable, else Pr_0.

    Args:
        neutral_prandtl_number: Pr_0 [1].
        flux_richardson_number: Ri_inf, flux Richardson number in very stable stratification [1].

    Source: Schumann and Gerz (1995), J. Appl. Meteorol. 34, 33-48; the limit is GOTM's.
    """

    neutral_prandtl_number: Scalar = parameter(0.74, valid_range=(0.1, 10.0))
    flux_richardson_number: Scalar = parameter(0.25, valid_range=(0.05, 1.0))

    def prandtl_number(self, richardson_number: Float[Array, "..."]) -> Float[Array, "..."]:
        # Bound the exponent: Pr is 3 there in any case.
        scaled = at_most(at_least(richardson_number, 0.0) / self.flux_richardson_number, 30.0)
        neutral = self.neutral_prandtl_number
        return at_most(neutral * jnp.exp(-scaled / neutral) + scaled, 3.0)
