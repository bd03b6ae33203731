"""Second moments of Langmuir turbulence: the vortex force in an algebraic stress model.

With q² = 2 k, N² and the shears U_z and Us_z of current and Stokes drift, all times (l/q)²,

    G_H = -N²,   G_V = U_z . Us_z F,   G_S = |Us_z|² F²,
    w'u' = -q l (S_M U_z + S_S F Us_z),   w'b' = -q l S_H N²,
    S_S = s_0 / (1 + p_h G_H + s_v G_V),
    S_M = (m_0 + m_h G_H S_H + m_s G_S S_S) / (1 + p_h G_H + p_v G_V),
    S_H = (h_0 (1 + p_h G_H) + h_s G_S + h_v G_V) / D,
    D = (1 + p_h G_H + p_v G_V) (1 + q_h G_H) + (r_0 + r_h G_H + r_v G_V) G_V,

whose coefficients follow from the constants of Mellor and Yamada. F increases from 0 at the surface to 1
below: near the surface, waves feed the vertical velocity variance less. l/q is limited so that D > 0, with an
offset in waves and with twice G_H in convection, so that the heat flux increases with -N².

Source: Harcourt (2015), J. Phys. Oceanogr. 45, 84-103, and (2013), J. Phys. Oceanogr. 43, 673-697; Kantha and
Clayson (1994), J. Geophys. Res. 99, 25235-25266, for the constants; GOTM for the limits of l/q, which
Harcourt revised later.
"""

import math
from collections import namedtuple
from typing import NamedTuple

import jax.numpy as jnp

from .._types import ColumnArray, InnerFaceArray, Scalar, ScalarLike, parameter
from ..declarations import named
from ..numerics.elementary import at_least, at_most, reciprocal, safe_sqrt
from .stability import AbstractStability, AbstractWaveFunctions, Flow, Functions, StabilityValues, Waves

_ROOT_2 = math.sqrt(2.0)
_SMALLEST_DENOMINATOR = 1e-3
_SHORTEST_LENGTH = 1e-3


class _Forcing(NamedTuple):
    """G_H, G_V and G_S [1]."""

    buoyancy: InnerFaceArray
    vortex: ColumnArray | Scalar
    waves: ColumnArray | Scalar

    def times(self, fraction: InnerFaceArray) -> "_Forcing":
        return _Forcing(fraction * self.buoyancy, fraction * self.vortex, fraction * self.waves)


_Coefficients = namedtuple("_Coefficients", "m_0 m_h m_s h_0 h_s h_v s_0 s_v p_h p_v q_h r_0 r_h r_v")
"""Coefficients of the functions in the docstring of the module [1]."""


class HarcourtFunctions(AbstractWaveFunctions):
    """The functions c_mu, c_mu' and c_mu_S for one set of constants."""

    c_mu_0: Scalar
    shear_free: Scalar  # `c_mu_shear_free`, where no production makes w'² less than q² / 3
    coefficients: _Coefficients
    constants: "Harcourt"

    @property
    def c_mu_shear_free(self) -> Scalar:
        return self.shear_free

    def in_flow(self, flow: Flow) -> Functions:
        zero = jnp.zeros((), flow.n_squared.dtype)
        forcing = _Forcing(-self._scale(flow) * flow.n_squared, zero, zero)
        return self._limited(forcing, jnp.ones_like(zero))[:2]

    def in_waves(self, flow: Flow, waves: Waves) -> StabilityValues:
        scale = self._scale(flow)
        forcing = _Forcing(-scale * flow.n_squared, scale * waves.shear, scale * waves.shear_squared)
        return self._limited(forcing, self.surface_proximity(waves))

    def surface_proximity(self, waves: Waves) -> InnerFaceArray:
        """F [1]: tanh of the depth over the mean length scale of turbulence where waves produce it."""
        weight = at_least(waves.production, 0.0) * waves.spacing
        total = at_least(jnp.sum(weight, axis=0), 1e-25)
        length = jnp.sum(weight * waves.length, axis=0) * reciprocal(total)
        inverse = reciprocal(at_least(length, _SHORTEST_LENGTH))
        return jnp.tanh(self.constants.proximity_factor * waves.depth * inverse)

    def equilibrium_ratio(self, richardson_number: ScalarLike) -> Scalar:
        ri, b_1, (m_0, m_h, *_) = richardson_number, self.constants.b_1, self.coefficients
        h_0, p_h, q_h = self.coefficients.h_0, self.coefficients.p_h, self.coefficients.q_h
        # B_1 x (S_M / Ri - S_H) = 1 for x = -G_H as a quadratic equation: q2 x² + q1 x - 1 = 0.
        q1 = b_1 * (m_0 / ri - h_0) + p_h + q_h
        q2 = b_1 * (h_0 * p_h - (m_0 * q_h + m_h * h_0) / ri) - p_h * q_h
        x = 2.0 / at_least(q1 + safe_sqrt(q1**2 + 4.0 * q2), 1e-10)
        s_h = h_0 / (1.0 - q_h * x)
        return (m_0 - m_h * x * s_h) / ((1.0 - p_h * x) * s_h)

    def _scale(self, flow: Flow) -> InnerFaceArray:
        """(l/q)² [s2]."""
        return (2.0 / self.constants.b_1) ** 2 * reciprocal(flow.frequency_squared)

    def _limited(self, forcing: _Forcing, proximity: InnerFaceArray | Scalar) -> StabilityValues:
        """The functions with limited l/q, in stable stratification and with waves or cooling."""
        constants = self.constants
        lowest = constants.lowest_buoyancy_number
        forcing = forcing.times(lowest * reciprocal(at_most(forcing.buoyancy, lowest)))
        g_h, g_v, g_s = forcing
        by_waves = self._fraction(g_h, g_v, constants.buoyancy_offset, constants.vortex_offset)
        by_waves = jnp.where(g_v > 0.0, by_waves, 1.0)
        # Pressure redistributes the work of the vortex force near the surface, but conserves energy.
        forcing = _Forcing(g_h, proximity * g_v, proximity**2 * g_s)
        by_cooling = self._fraction(2.0 * g_h, forcing.vortex, 0.0, 0.0)
        by_cooling = jnp.where(g_h > 0.0, by_cooling, 1.0)
        return self(forcing.times(jnp.minimum(by_waves, by_cooling)), proximity)

    def _fraction(
        self, g_h: InnerFaceArray, g_v: ColumnArray | Scalar, offset_h: ScalarLike, offset_v: ScalarLike
    ) -> InnerFaceArray:
        """Largest R <= 1 for which D(R G_H + offset_h, R G_V + offset_v) >= 0, a quadratic in R."""
        c = self.coefficients
        p, q = c.p_h * g_h + c.p_v * g_v, c.q_h * g_h
        r = c.r_h * g_h + c.r_v * g_v
        p_0 = 1.0 + c.p_h * offset_h + c.p_v * offset_v
        q_0, r_0 = 1.0 + c.q_h * offset_h, c.r_0 + c.r_h * offset_h + c.r_v * offset_v
        constant = at_least(jnp.asarray(p_0 * q_0 + r_0 * offset_v), 0.05)
        linear = p * q_0 + q * p_0 + r * offset_v + r_0 * g_v
        square = p * q + r * g_v
        # The smallest positive root, in the form that is also exact for square = 0.
        root = safe_sqrt(linear**2 - 4.0 * square * constant) - linear
        return 2.0 * constant * reciprocal(at_least(root, 2.0 * constant))

    def __call__(self, forcing: _Forcing, proximity: InnerFaceArray | Scalar) -> StabilityValues:
        """c_mu, c_mu' and c_mu_S [1] without limits of l/q; each S is between 0 and its maximum."""
        c, (g_h, g_v, g_s) = self.coefficients, forcing
        common = 1.0 + c.p_h * g_h
        momentum_divisor = common + c.p_v * g_v
        heat_divisor = momentum_divisor * (1.0 + c.q_h * g_h) + (c.r_0 + c.r_h * g_h + c.r_v * g_v) * g_v
        s_h = self._quotient(c.h_0 * common + c.h_s * g_s + c.h_v * g_v, heat_divisor)
        s_s = self._quotient(c.s_0 + 0.0 * g_h, common + c.s_v * g_v)  # on every face
        s_m = self._quotient(c.m_0 + c.m_h * g_h * s_h + c.m_s * g_s * s_s, momentum_divisor)
        factor = _ROOT_2 * self.c_mu_0**3
        return StabilityValues(factor * s_m, factor * s_h, factor * s_s * proximity)

    def _quotient(self, numerator: InnerFaceArray, denominator: InnerFaceArray) -> InnerFaceArray:
        inverse = reciprocal(at_least(denominator, _SMALLEST_DENOMINATOR))
        return at_most(at_least(numerator, 0.0) * inverse, self.constants.largest_function)


@named("harcourt")
class Harcourt(AbstractStability):
    """Stability functions with the vortex force of waves; without waves, those of Kantha and Clayson.

    Args:
        a_1, a_2: length scales of return to isotropy and of buoyancy decorrelation, divided by l [1].
        b_1, b_2: length scales of the dissipation of q² and of buoyancy variance, divided by l [1].
        c_1, c_2, c_3: pressure terms of the stress (c_1) and of the buoyancy fluxes (c_2, c_3) [1].
        proximity_factor: C in F = tanh(C |z| / l_S), l_S the mean length where waves produce turbulence [1].
        lowest_buoyancy_number: minimum of G_H [1]; -0.28 means l <= 0.53 q / N.
        buoyancy_offset, vortex_offset: distances of G_H and G_V from the zero of D in waves [1].
        largest_function: maximum of S_M, S_H and S_S [1].
        c_mu_0: fourth root of c_mu in neutral equilibrium [1], cube root of 2^(3/2) / b_1 if not given.
    """

    a_1: Scalar = parameter(0.92, valid_range=(0.3, 1.5))
    a_2: Scalar = parameter(0.74, valid_range=(0.2, 1.5))
    b_1: Scalar = parameter(16.6, valid_range=(10.0, 30.0))
    b_2: Scalar = parameter(10.1, valid_range=(5.0, 30.0))
    c_1: Scalar = parameter(0.08, valid_range=(0.0, 0.2))
    c_2: Scalar = parameter(0.7, valid_range=(0.0, 1.0))
    c_3: Scalar = parameter(0.2, valid_range=(0.0, 1.0))
    proximity_factor: Scalar = parameter(0.25, valid_range=(0.01, 10.0))
    lowest_buoyancy_number: Scalar = parameter(-0.28, valid_range=(-2.0, -0.01))
    buoyancy_offset: Scalar = parameter(0.003, valid_range=(0.0, 0.01))
    vortex_offset: Scalar = parameter(0.006, valid_range=(0.0, 0.01))
    largest_function: Scalar = parameter(2.12, valid_range=(0.5, 5.0))
    c_mu_0: Scalar | None = parameter(None, valid_range=(0.3, 1.0))

    def stability_functions(self) -> HarcourtFunctions:
        a_1, a_2, b_1, c_1, c_2 = self.a_1, self.a_2, self.b_1, self.c_1, self.c_2
        isotropic, c_1_term = 1.0 - 6.0 * a_1 / b_1, 3.0 * c_1  # 3 w'² / q² in isotropic dissipation
        coefficients = _Coefficients(
            m_0=a_1 * (isotropic - c_1_term),
            m_h=9.0 * a_1 * (2.0 * a_1 + a_2 * (1.0 - c_2)),
            m_s=27.0 * a_1**2,
            h_0=a_2 * isotropic,
            h_s=9.0 * a_1 * a_2 * isotropic * (2.0 * a_1 + a_2),
            h_v=9.0 * a_1 * a_2 * (a_2 * (isotropic - c_1_term) - 2.0 * a_1 * (isotropic + c_1_term)),
            s_0=a_1 * isotropic,
            s_v=-9.0 * a_1**2,
            p_h=-9.0 * a_1 * a_2,
            p_v=-36.0 * a_1**2,
            q_h=-3.0 * a_2 * (6.0 * a_1 + self.b_2 * (1.0 - self.c_3)),
            r_0=-9.0 * a_2**2 * (1.0 - c_2),
            r_h=-162.0 * a_1**2 * a_2 * (2.0 * a_1 + (2.0 - c_2) * a_2),
            r_v=324.0 * a_1**2 * a_2**2 * (1.0 - c_2),
        )
        c_mu_0 = (2.0 * _ROOT_2 / b_1) ** (1.0 / 3.0) if self.c_mu_0 is None else self.c_mu_0
        return HarcourtFunctions(c_mu_0, _ROOT_2 * a_1 * (1.0 - 3.0 * c_1), coefficients, self)
