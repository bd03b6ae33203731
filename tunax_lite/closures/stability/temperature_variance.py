"""Second-moment closure in which the variance of temperature is known, not in equilibrium.

With alpha_N, alpha_M of `second_moment` and alpha_theta = (g alpha)² theta'² k/eps²,

    w'theta' = -c_mu' k²/eps dT/dz + c_mu* k/eps g alpha theta'²,
    c_mu = (n0 + n1 alpha_N + n2 alpha_M + n3 alpha_theta) / D,   c_mu' = N_b / D,
    c_mu* = (s0 + s1 alpha_N + s2 alpha_M) / D.

Of the coefficients of `second_moment` those terms are missing in N_n and D that are due to a variance in
equilibrium, theta'² = -2 ctt (k/eps) w'theta' dT/dz; they are linear in ctt and give c_mu* and n3. With that
variance c_mu and the flux are those of `second_moment`.

Source: Legay, Deremble, Penduff, Brasseur and Molines (2025), J. Adv. Model. Earth Syst. 17, e2024MS004243.
"""

import equinox as eqx
import jax.numpy as jnp

from ..._types import InnerFaceArray, Scalar
from .second_moment import SecondMomentClosure, StabilityFunctions, bounded


class VarianceFunctions(eqx.Module):
    """c_mu, c_mu' and c_mu* where the variance of temperature is known.

    Args:
        without: the functions where the temperature does not vary.
        n3: coefficient of alpha_theta in c_mu, divided by d0 as all of them [1].
        s0, s1, s2: coefficients of c_mu* [1].
    """

    without: StabilityFunctions
    n3: Scalar
    s0: Scalar
    s1: Scalar
    s2: Scalar

    @classmethod
    def of(cls, closure: SecondMomentClosure) -> "VarianceFunctions":
        """The functions that the constants of a closure imply; `ctt` enters none of them."""
        none, unit = (
            eqx.tree_at(lambda c: c.ctt, closure, jnp.full_like(closure.ctt, ctt)).stability_functions()
            for ctt in (0.0, 0.5)
        )
        s0, s1, s2 = unit.d1 - none.d1, unit.d4 - none.d4, unit.d3 - none.d3
        n3 = ((unit.n1 - none.n1) * none.d1 - none.n0 * s1 - none.n1 * s0) / none.b0
        return cls(none, n3, s0, s1, s2)

    def in_flow(
        self,
        time_scale_squared: InnerFaceArray,
        n_squared: InnerFaceArray,
        s_squared: InnerFaceArray,
        variance_per_tke: InnerFaceArray,
    ) -> tuple[InnerFaceArray, InnerFaceArray, InnerFaceArray]:
        """c_mu, c_mu' and c_mu* [1], limited to 0 to 2.

        Args:
            time_scale_squared: (k/eps)² [s2].
            n_squared, s_squared: N² and S² of the flow [s-2].
            variance_per_tke: (g alpha)² theta'² / k [s-2].
        """
        f = self.without
        alpha_n, alpha_m = f.limited(time_scale_squared * n_squared, time_scale_squared * s_squared)
        inverse = f.inverse_denominator(alpha_n, alpha_m)
        by_variance = self.n3 * (time_scale_squared * variance_per_tke)
        c_mu = (f.n0 + f.n1 * alpha_n + f.n2 * alpha_m + by_variance) * inverse
        c_mu_prime = (f.b0 + f.b1 * alpha_n + f.b2 * alpha_m) * inverse
        c_mu_star = (self.s0 + self.s1 * alpha_n + self.s2 * alpha_m) * inverse
        return bounded(c_mu), bounded(c_mu_prime), bounded(c_mu_star)
