"""What stability functions are: c_mu and c_mu' as functions of stratification and shear."""

import abc

import equinox as eqx

from ..._types import InnerFaceArray, Scalar, ScalarLike


class AbstractStabilityFunctions(eqx.Module):
    """c_mu and c_mu' in nu = c_mu k²/eps and kappa = c_mu' k²/eps, with all coefficients computed.

    Args:
        c_mu_0: fourth root of c_mu in neutral equilibrium [1].
        c_mu_shear_free: c_mu over `c_mu_0`³ where neither shear nor buoyancy act [1], so that there
            nu = c_mu_shear_free sqrt(k) l.
    """

    c_mu_0: eqx.AbstractVar[Scalar]
    c_mu_shear_free: eqx.AbstractVar[Scalar]

    @abc.abstractmethod
    def in_flow(
        self, time_scale_squared: InnerFaceArray, n_squared: InnerFaceArray, s_squared: InnerFaceArray
    ) -> tuple[InnerFaceArray, InnerFaceArray]:
        """c_mu and c_mu' [1] for given (k/eps)² [s2], N² and S² [s-2]."""

    @abc.abstractmethod
    def equilibrium_ratio(self, richardson_number: ScalarLike) -> Scalar:
        """c_mu / c_mu' [1] where P + B = eps at a given Richardson number."""


class AbstractStability(eqx.Module):
    """Constants of stability functions."""

    @abc.abstractmethod
    def stability_functions(self) -> AbstractStabilityFunctions:
        """The functions that these constants imply."""
