"""What stability functions are: c_mu and c_mu' as functions of stratification and shear."""

import abc
from typing import NamedTuple

import equinox as eqx

from ..._types import InnerFaceArray, Scalar, ScalarLike


class Waves(NamedTuple):
    """What stability functions may know of the Stokes drift, on inner faces.

    Args:
        shear: dU/dz . dU_s/dz [s-2].
        shear_squared: |dU_s/dz|² [s-2].
        production: of turbulence by the Stokes drift [m2 s-3].
        length: of the turbulence [m].
        depth: below the surface [m].
        spacing: between the centers on both sides [m].
    """

    shear: InnerFaceArray
    shear_squared: InnerFaceArray
    production: InnerFaceArray
    length: InnerFaceArray
    depth: InnerFaceArray
    spacing: InnerFaceArray


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


class AbstractWaveFunctions(AbstractStabilityFunctions):
    """Stability functions that the Stokes drift changes, and with which it drives momentum."""

    @abc.abstractmethod
    def in_waves(
        self,
        time_scale_squared: InnerFaceArray,
        n_squared: InnerFaceArray,
        s_squared: InnerFaceArray,
        waves: Waves,
    ) -> tuple[InnerFaceArray, InnerFaceArray, InnerFaceArray]:
        """c_mu, c_mu' and that of the momentum flux down the Stokes shear, -c_mu_S k²/eps dU_s/dz [1]."""


class AbstractStability(eqx.Module):
    """Constants of stability functions."""

    @abc.abstractmethod
    def stability_functions(self) -> AbstractStabilityFunctions:
        """The functions that these constants imply."""
