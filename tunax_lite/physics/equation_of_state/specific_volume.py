"""TEOS-10 as the polynomial of the specific volume of 75 terms, v = sum_ijk v_ijk s^i tau^j zeta^k,

    s = sqrt((S + 24) / 40.18861714),   tau = T / 40 degC,   zeta = -z / 10 km.

Unlike the Boussinesq polynomial it gives the density in place, and derivatives relative to that density:

    alpha = v_T / v,   beta = -v_S / v.
"""

from jaxtyping import Array, Float

from ...numerics.limiters import reciprocal
from .base import AbstractEquationOfState
from .teos10 import (
    HEIGHT_UNIT,
    SALINITY_UNIT,
    TEMPERATURE_UNIT,
    Table,
    derivative,
    polynomial,
    root_of_salinity,
)

_SALINITY_OFFSET = 24.0

# By power of zeta, then of tau, then of s [m3 kg-1].
_COEFFICIENTS: Table = (
    (
        (
            0.0010769995862,
            -0.00031038981976,
            0.00066928067038,
            -0.00085047933937,
            0.00058086069943,
            -0.00021092370507,
            3.1932457305e-05,
        ),
        (
            -1.5649734675e-05,
            3.5009599764e-05,
            -4.3592678561e-05,
            3.4532461828e-05,
            -1.1959409788e-05,
            1.3864594581e-06,
        ),
        (2.7762106484e-05, -3.7435842344e-05, 3.590782276e-05, -1.8698584187e-05, 3.8595339244e-06),
        (-1.6521159259e-05, 2.4141479483e-05, -1.4353633048e-05, 2.2863324556e-06),
        (6.9111322702e-06, -8.7595873154e-06, 4.3703680598e-06),
        (-8.053961554e-07, -3.30527589e-07),
        (2.0543094268e-07,),
    ),
    (
        (
            -6.0799143809e-05,
            2.4262468747e-05,
            -3.4792460974e-05,
            3.7470777305e-05,
            -1.7322218612e-05,
            3.0927427253e-06,
        ),
        (1.8505765429e-05, -9.5677088156e-06, 1.1100834765e-05, -9.8447117844e-06, 2.590922526e-06),
        (-1.1716606853e-05, -2.3678308361e-07, 2.9283346295e-06, -4.88261392e-07),
        (7.9279656173e-06, -3.4558773655e-06, 3.1655306078e-07),
        (-3.4102187482e-06, 1.2956717783e-06),
        (5.0736766814e-07,),
    ),
    (
        (9.9856169219e-06, -5.8484432984e-07, -4.8122251597e-06, 4.9263106998e-06, -1.7811974727e-06),
        (-1.1736386731e-06, -5.5699154557e-06, 5.4620748834e-06, -1.3544185627e-06),
        (2.130502874e-06, 3.913738708e-07, -6.5731104067e-07),
        (-4.6132540037e-07, 7.7618888092e-09),
        (-6.3352916514e-08,),
    ),
    (
        (-1.1309361437e-06, 3.6310188515e-07, 1.674630378e-08),
        (-3.6527006553e-07, -2.7295696237e-07),
        (2.8695905159e-07,),
    ),
    (
        (1.053115308e-07, -1.1147125423e-07),
        (3.1454099902e-07,),
    ),
    ((-1.2647261286e-08,),),
    ((1.961350393e-09,),),
)
_BY_TEMPERATURE: Table = tuple(
    tuple(tuple(j / TEMPERATURE_UNIT * c for c in row) for j, row in enumerate(rows))[1:]
    for rows in _COEFFICIENTS
    if len(rows) > 1
)
"""dv/dT; the highest powers of zeta are constant in tau."""
_BY_SALINITY: Table = tuple(
    tuple(tuple(0.5 / SALINITY_UNIT * c for c in derivative(row)) for row in rows if len(row) > 1)
    for rows in _COEFFICIENTS
    if len(rows[0]) > 1
)
"""dv/dS times s."""


class SpecificVolumeTeos10(AbstractEquationOfState):
    """Density in place, and expansion and contraction relative to it, as the library GSW and GOTM have them.

    N² = g (alpha dT/dz - beta dS/dz) then counts over the density in place instead of the reference density,
    1.4 per cent more in water of 1013 kg m-3. The Boussinesq equations of the column conserve energy with the
    reference density, as `Teos10` has it.

    Source: Roquet et al. (2015), Ocean Modelling 90, 29-43.
    """

    def density(
        self,
        temperature: Float[Array, "..."],
        salinity: Float[Array, "..."],
        z: Float[Array, "..."],
    ) -> Float[Array, "..."]:
        tau, zeta = temperature * (1.0 / TEMPERATURE_UNIT), z * (-1.0 / HEIGHT_UNIT)
        return reciprocal(polynomial(_COEFFICIENTS, root_of_salinity(salinity, _SALINITY_OFFSET), tau, zeta))

    def expansion(
        self,
        temperature: Float[Array, "..."],
        salinity: Float[Array, "..."],
        z: Float[Array, "..."],
    ) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        tau, zeta = temperature * (1.0 / TEMPERATURE_UNIT), z * (-1.0 / HEIGHT_UNIT)
        s = root_of_salinity(salinity, _SALINITY_OFFSET)
        density = reciprocal(polynomial(_COEFFICIENTS, s, tau, zeta))
        alpha = density * polynomial(_BY_TEMPERATURE, s, tau, zeta)
        beta = -density * (polynomial(_BY_SALINITY, s, tau, zeta) * reciprocal(s))
        return alpha, beta
