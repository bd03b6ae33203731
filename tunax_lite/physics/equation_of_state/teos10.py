"""TEOS-10 as the Boussinesq polynomial of 55 terms,

    rho = sum_k r_k zeta^(k+1) + sum_ijk R_ijk s^i tau^j zeta^k,
    s = sqrt((S + 32) / 40.18861714), tau = T / 40 degC, zeta = -z / 10 km,

with T the conservative temperature and S the absolute salinity. Salinity enters through a root alone, the
height through three powers; both are shared by the expansion and the contraction. One metre counts as one
decibar.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ...declarations import named
from ...numerics.limiters import reciprocal
from .base import AbstractEquationOfState

_Row = tuple[float, ...]
Table = tuple[tuple[_Row, ...], ...]

TEMPERATURE_UNIT = 40.0
SALINITY_UNIT = 40.0 * 35.16504 / 35.0
_SALINITY_OFFSET = 32.0
HEIGHT_UNIT = 1e4

_REFERENCE_PROFILE: _Row = (
    46.494977072,
    -5.2099962525,
    0.22601900708,
    0.064326772569,
    0.015616995503,
    -0.0017243708991,
)
"""Coefficients of zeta, zeta², ...: the part of the density that depends on the height alone [kg m-3]."""

# By power of zeta, then of tau, then of s [kg m-3].
_COEFFICIENTS: Table = (
    (
        (
            801.89615746,
            866.72408165,
            -1786.4682637,
            2037.5295546,
            -1284.9161071,
            432.27585684,
            -60.579916612,
        ),
        (26.010145068, -65.281885265, 81.770425108, -56.888046321, 17.681814114, -1.9193502195),
        (-37.074170417, 61.548258127, -60.362551501, 29.130021253, -5.4723692739),
        (21.661789529, -33.449108469, 19.717078466, -3.1742946532),
        (-8.3627885467, 11.311538584, -5.3563304045),
        (0.54048723791, 0.48169980163),
        (-0.19083568888,),
    ),
    (
        (19.681925209, -42.549998214, 50.774768218, -30.938076334, 6.6051753097),
        (-13.336301113, -4.4870114575, 5.0042598061, -0.65399043664),
        (6.7080479603, 3.5063081279, -1.8795372996),
        (-2.4649669534, -0.55077101279),
        (0.5592793597,),
    ),
    (
        (2.0660924175, -4.9527603989, 2.5019633244),
        (2.0564311499, -0.21311365518),
        (-1.2419983026,),
    ),
    (
        (-0.023342758797, -0.018507636718),
        (0.37969820455,),
    ),
)


def derivative(row: _Row) -> _Row:
    """Coefficients of the derivative of a polynomial."""
    return tuple(power * coefficient for power, coefficient in enumerate(row))[1:]


_EXPANSION: Table = tuple(
    tuple(tuple(-j / TEMPERATURE_UNIT * c for c in row) for j, row in enumerate(rows))[1:]
    for rows in _COEFFICIENTS
)
"""-drho/dT; the last power of zeta loses its constant in tau."""
_CONTRACTION: Table = tuple(
    tuple(tuple(0.5 / SALINITY_UNIT * c for c in derivative(row)) for row in rows if len(row) > 1)
    for rows in _COEFFICIENTS
)
"""drho/dS times s."""


def _horner(coefficients, x):
    """Sum of c_n x^n; the coefficients are numbers or arrays."""
    total = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


def polynomial(table: Table, s, tau, zeta):
    """Sum over powers of zeta, tau and s, in this order of the table."""
    return _horner([_horner([_horner(row, s) for row in rows], tau) for rows in table], zeta)


def root_of_salinity(salinity: Float[Array, "..."], offset: float) -> Float[Array, "..."]:
    """s [1]; its salinity counts from an offset [g kg-1]."""
    # Positive for all salinities that exist: no guard.
    return jnp.sqrt((salinity + offset) * (1.0 / SALINITY_UNIT))


@named("teos10")
class Teos10(AbstractEquationOfState):
    """Density from conservative temperature [degC], absolute salinity [g kg-1] and height [m].

    It agrees with the specific volume of TEOS-10 (75 terms) to 3e-4 kg m-3 in a climatology of the ocean to
    5000 m, to 9e-4 in all cold water to 6000 m, and to 6e-3 in trenches. Expansion and contraction are
    relative to the reference density: 1 % off in the upper 500 m, 3 % in the abyss and in brackish seas.

    Source: Roquet et al. (2015), Ocean Modelling 90, 29-43.
    """

    def density(
        self,
        temperature: Float[Array, "..."],
        salinity: Float[Array, "..."],
        z: Float[Array, "..."],
    ) -> Float[Array, "..."]:
        zeta = z * (-1.0 / HEIGHT_UNIT)
        tau = temperature * (1.0 / TEMPERATURE_UNIT)
        at_rest = zeta * _horner(_REFERENCE_PROFILE, zeta)
        return at_rest + polynomial(_COEFFICIENTS, root_of_salinity(salinity, _SALINITY_OFFSET), tau, zeta)

    def expansion(
        self,
        temperature: Float[Array, "..."],
        salinity: Float[Array, "..."],
        z: Float[Array, "..."],
    ) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        zeta = z * (-1.0 / HEIGHT_UNIT)
        tau = temperature * (1.0 / TEMPERATURE_UNIT)
        s = root_of_salinity(salinity, _SALINITY_OFFSET)
        relative = reciprocal(self.reference_density)
        alpha = relative * polynomial(_EXPANSION, s, tau, zeta)
        beta = relative * (polynomial(_CONTRACTION, s, tau, zeta) * reciprocal(s))
        return alpha, beta
