"""Sources of the second quantity psi, and how they are split for steps much longer than k/eps.

Backward Euler with rates of the start of a long step goes wrong in two ways. Turbulence that nothing feeds
has k/eps growing by a dt, a > 0, and hardly recovers from a collapse. And a psi that holds k other than
epsilon does, such as omega, follows a production that the next step will not have: from rest k/omega falls
as far as k rises. There the equation is written for epsilon, at the k that the step has found,

    psi = c_mu0^p k^m l^n ~ k^s eps^(-n),   s = m + 3/2 n,   dln psi/dt = s dln k/dt - n dln eps/dt,
    psi/k (c_i - s) in place of psi/k c_i for all sources,   less s psi/k D_k,

with D_k what diffusion brought to k in this step. Where k falls, the sink grows such that k/eps grows as it
does in time. With dt -> 0, and where nothing changes, all this is the equation as it was.
"""

from typing import NamedTuple

import jax.numpy as jnp

from ..._types import InnerFaceArray, Scalar, ScalarLike
from ...numerics.limiters import at_least, reciprocal
from ...numerics.powers import power, product_of_powers
from ..energy import Turbulence, split_sources


class Exponents(NamedTuple):
    """p, m and n of psi = c_mu0^p k^m l^n, known when the program is built [1]."""

    p: float
    m: float
    n: float


class SourceConstants(NamedTuple):
    """Constants of P, eps, B and P_St in the equation for psi [1], each a number or one per face."""

    c_1: Scalar | InnerFaceArray
    c_2: Scalar | InnerFaceArray
    c_3: Scalar | InnerFaceArray
    c_4: Scalar | InnerFaceArray


def sources_of_psi(
    rates: Turbulence, constants: SourceConstants, exponents: Exponents, c_mu_0: Scalar
) -> tuple[InnerFaceArray, InnerFaceArray, InnerFaceArray]:
    """psi at the start of the step, its source and the rate of its implicit sink [s-1]."""
    (p, m, n), (c_1, c_2, c_3, c_4) = exponents, constants
    shear_part = c_1 * rates.shear_production
    if rates.stokes_production is not None:
        shear_part = shear_part + c_4 * rates.stokes_production
    consumed = c_2 * rates.dissipation
    by_buoyancy = c_3 * rates.buoyancy_production
    source, sink = split_sources(shear_part, by_buoyancy, consumed, waves=rates.waves_join_sink)
    psi = product_of_powers((c_mu_0, p + 3.0 * n), (rates.dissipation, -n), (rates.tke, m + 1.5 * n))
    # The sink is psi/k times this and is divided by psi: 1/k remains.
    return psi, psi * rates.inverse_tke * source, sink * rates.inverse_tke


def sources_at_long_steps(
    rates: Turbulence,
    new_tke: InnerFaceArray,
    constants: SourceConstants,
    exponents: Exponents,
    c_mu_0: Scalar,
    dt: ScalarLike,
) -> tuple[InnerFaceArray, InnerFaceArray, InnerFaceArray]:
    """psi of the new k and the old epsilon, its source and the rate of its implicit sink [s-1].

    Args:
        rates: turbulence that the rates are taken from.
        new_tke: k at the end of the step [m2 s-2].
        constants, exponents: of the equation for psi.
        c_mu_0: of the stability functions [1].
        dt: length of the step [s].
    """
    p, m, n = exponents
    of_tke = m + 1.5 * n
    c_1, c_2, c_3, c_4 = (c - of_tke for c in constants)
    shear_part = c_1 * rates.shear_production
    if rates.stokes_production is not None:
        shear_part = shear_part + c_4 * rates.stokes_production
    net = shear_part + c_3 * rates.buoyancy_production
    fed = jnp.where(net > 0.0, net, at_least(shear_part, 0.0))
    inverse, new_inverse = rates.inverse_tke, reciprocal(new_tke)
    fall = rates.tke_before * new_inverse
    others = [-c_2 * rates.dissipation * inverse, -_recovery(rates, fall, c_2, n, dt)]
    if of_tke != 0.0:
        source, sink_rate = rates.sources_of_tke()
        others.append(-of_tke * ((1.0 - fall) / dt - source * new_inverse + sink_rate))
    growth = fed * inverse + sum(at_least(x, 0.0) for x in others)
    sink_rate = (fed - net) * inverse + sum(at_least(-x, 0.0) for x in others)

    def psi(dissipation: InnerFaceArray) -> InnerFaceArray:
        return product_of_powers((c_mu_0, p + 3.0 * n), (dissipation, -n), (new_tke, of_tke))

    return psi(rates.dissipation_before), psi(rates.dissipation) * growth, sink_rate


def _recovery(
    rates: Turbulence, fall: InnerFaceArray, c_2: Scalar | InnerFaceArray, n: float, dt: ScalarLike
) -> InnerFaceArray:
    """Rate of a further sink [s-1] with which k/eps grows by a dt where nothing is produced.

    With x = dt eps/k, k is divided by 1 + x there, and eps by (1 + x) (1 + a x), a = (c_2 + n) / (-n).
    """
    # The time scale of the start: that of the middle has grown already.
    x = dt * rates.dissipation_before / rates.tke_before
    further = at_least(fall - 1.0, 0.0) * x
    if n > 0.0:
        return (c_2 + n) * further / dt
    slow = 1.0 + at_least(-c_2 / n, 0.0) * x
    fast = slow + at_least(-(c_2 + n) / n, 0.0) * further
    return (power(fast, -n) - power(slow, -n)) / dt
