"""Polynomials of TEOS-10: density, specific volume, and sea surface temperature.

    rho = sum_k r_k zeta^(k+1) + sum_ijk R_ijk s^i tau^j zeta^k,   s = sqrt((S + 32) / 40.18861714)
    v = sum_ijk v_ijk s^i tau^j zeta^k,                            s = sqrt((S + 24) / 40.18861714)
    tau = T / 40 degC,   zeta = -z / 10 km,

with T the conservative temperature and S the absolute salinity. Salinity enters only through a square root,
height only through few powers; expansion and contraction share both. One metre is taken as one decibar.

Source: Roquet et al. (2015), Ocean Modelling 90, 29-43.
"""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from .._types import Scalar
from ..numerics.elementary import horner

Values = Float[Array, "..."]
Row = tuple[float, ...]
Table = tuple[tuple[Row, ...], ...]

TEMPERATURE_UNIT = 40.0
SALINITY_UNIT = 40.0 * 35.16504 / 35.0
HEIGHT_UNIT = 1e4
DENSITY_OFFSET, VOLUME_OFFSET = 32.0, 24.0  # added to the salinity in s [g kg-1]


def _table(text: str) -> Table:
    """Coefficients by power of zeta (separated by slashes), then of tau (lines), then of s."""
    blocks = (block.strip().splitlines() for block in text.split("/"))
    return tuple(tuple(tuple(map(float, line.split())) for line in lines) for lines in blocks)


PROFILE: Row = (46.494977072, -5.2099962525, 0.22601900708, 0.064326772569, 0.015616995503, -0.0017243708991)
"""Coefficients r_k: the part of the density that depends on the height alone [kg m-3]."""
DENSITY = _table("""
    801.89615746 866.72408165 -1786.4682637 2037.5295546 -1284.9161071 432.27585684 -60.579916612
    26.010145068 -65.281885265 81.770425108 -56.888046321 17.681814114 -1.9193502195
    -37.074170417 61.548258127 -60.362551501 29.130021253 -5.4723692739
    21.661789529 -33.449108469 19.717078466 -3.1742946532
    -8.3627885467 11.311538584 -5.3563304045
    0.54048723791 0.48169980163
    -0.19083568888
    /
    19.681925209 -42.549998214 50.774768218 -30.938076334 6.6051753097
    -13.336301113 -4.4870114575 5.0042598061 -0.65399043664
    6.7080479603 3.5063081279 -1.8795372996
    -2.4649669534 -0.55077101279
    0.5592793597
    /
    2.0660924175 -4.9527603989 2.5019633244
    2.0564311499 -0.21311365518
    -1.2419983026
    /
    -0.023342758797 -0.018507636718
    0.37969820455
""")
"""R_ijk of the Boussinesq polynomial of 55 terms [kg m-3]."""
VOLUME = _table("""
    0.0010769995862 -0.00031038981976 0.00066928067038 -0.00085047933937 \
    0.00058086069943 -0.00021092370507 3.1932457305e-05
    -1.5649734675e-05 3.5009599764e-05 -4.3592678561e-05 3.4532461828e-05 -1.1959409788e-05 1.3864594581e-06
    2.7762106484e-05 -3.7435842344e-05 3.590782276e-05 -1.8698584187e-05 3.8595339244e-06
    -1.6521159259e-05 2.4141479483e-05 -1.4353633048e-05 2.2863324556e-06
    6.9111322702e-06 -8.7595873154e-06 4.3703680598e-06
    -8.053961554e-07 -3.30527589e-07
    2.0543094268e-07
    /
    -6.0799143809e-05 2.4262468747e-05 -3.4792460974e-05 3.7470777305e-05 -1.7322218612e-05 3.0927427253e-06
    1.8505765429e-05 -9.5677088156e-06 1.1100834765e-05 -9.8447117844e-06 2.590922526e-06
    -1.1716606853e-05 -2.3678308361e-07 2.9283346295e-06 -4.88261392e-07
    7.9279656173e-06 -3.4558773655e-06 3.1655306078e-07
    -3.4102187482e-06 1.2956717783e-06
    5.0736766814e-07
    /
    9.9856169219e-06 -5.8484432984e-07 -4.8122251597e-06 4.9263106998e-06 -1.7811974727e-06
    -1.1736386731e-06 -5.5699154557e-06 5.4620748834e-06 -1.3544185627e-06
    2.130502874e-06 3.913738708e-07 -6.5731104067e-07
    -4.6132540037e-07 7.7618888092e-09
    -6.3352916514e-08
    /
    -1.1309361437e-06 3.6310188515e-07 1.674630378e-08
    -3.6527006553e-07 -2.7295696237e-07
    2.8695905159e-07
    /
    1.053115308e-07 -1.1147125423e-07
    3.1454099902e-07
    /
    -1.2647261286e-08
    /
    1.961350393e-09
""")
"""v_ijk of the polynomial of 75 terms [m3 kg-1]."""


def _by_temperature(table: Table) -> Table:
    """Coefficients of the derivative by temperature; high powers of zeta may be constant in tau."""
    return tuple(
        tuple(tuple(j / TEMPERATURE_UNIT * c for c in row) for j, row in enumerate(rows))[1:]
        for rows in table
        if len(rows) > 1
    )


def _by_salinity(table: Table) -> Table:
    """Coefficients of the derivative by salinity, times s."""
    return tuple(
        tuple(
            tuple(0.5 / SALINITY_UNIT * (i * c) for i, c in enumerate(row))[1:]
            for row in rows
            if len(row) > 1
        )
        for rows in table
        if len(rows[0]) > 1
    )


DENSITY_BY_TEMPERATURE, DENSITY_BY_SALINITY = _by_temperature(DENSITY), _by_salinity(DENSITY)
"""drho/dT, and drho/dS times s."""


def polynomial(table: Table, s: Values, tau: Values, zeta: Values) -> Values:
    """Evaluate the polynomial of a table at s, tau and zeta [1]."""
    return horner([horner(row, s) for row in _at_height(table, zeta)], tau)


def volume_and_derivatives(s: Values, tau: Values, zeta: Values) -> tuple[Values, Values, Values]:
    """v [m3 kg-1], dv/dT [m3 kg-1 K-1], and dv/dS times s [m3 g-1]."""
    *rows, last = _at_height(VOLUME, zeta)  # the highest power of tau is constant in s
    values, slopes = zip(*(_with_slope(row, s) for row in rows), strict=True)
    volume, by_tau = _with_slope([*values, last[0]], tau)
    return volume, by_tau * (1.0 / TEMPERATURE_UNIT), horner(slopes, tau) * (0.5 / SALINITY_UNIT)


def _at_height(table: Table, zeta: Values) -> list[list]:
    """Coefficients by power of tau and of s at each height.

    On a fixed grid XLA computes them once, before the loop over steps.
    """

    def by_power_of_s(j: int) -> list:
        rows = [block[j] for block in table if j < len(block)]
        return [horner([row[i] for row in rows if i < len(row)], zeta) for i in range(len(rows[0]))]

    return [by_power_of_s(j) for j in range(len(table[0]))]


def _with_slope(coefficients: Sequence, x: Values) -> tuple[PyTree, PyTree]:
    """Sum of c_n x^n of at least two coefficients, and its derivative."""
    *lower, second, slope = coefficients
    total = slope * x + second
    for coefficient in reversed(lower):
        slope = slope * x + total
        total = total * x + coefficient
    return total, slope


def scaled(temperature: Values, salinity: Values, z: Values, offset: float) -> tuple[Values, Values, Values]:
    """s, tau and zeta [1]; an offset is added to the salinity in s [g kg-1]."""
    # The offset makes the argument positive for every salinity: no guard.
    s = jnp.sqrt((salinity + offset) * (1.0 / SALINITY_UNIT))
    return s, temperature * (1.0 / TEMPERATURE_UNIT), z * (-1.0 / HEIGHT_UNIT)


# (potential - conservative temperature) [K] by power of (S - 35) / 40, then of T / 40.
_DIFFERENCE = (
    (-0.0007201, 0.0444805, -0.0010238, -0.2693183, 0.2944937, -0.1381376, 0.0161264, 0.0046015),
    (0.173905, 2.3901491, -0.6144828, 0.2963609, -0.0066936, -0.0621299, 0.0204619, 0.0),
    (0.1913322, -0.1544747, 0.1010388, 0.0129699, -0.0444954, 0.0137641, 0.0, 0.0),
    (0.0011455, -0.0199127, 0.0462899, -0.0270024, 0.0057141, 0.0, 0.0, 0.0),
    (0.0035437, 0.0018817, 0.0001063, -0.0007013, 0.0, 0.0, 0.0, 0.0),
    (0.0154589, 0.0113759, 0.0038063, 0.0, 0.0, 0.0, 0.0, 0.0),
)


def surface_temperature(temperature: Scalar, salinity: Scalar) -> Scalar:
    """In-situ temperature [degC] at the surface, where it equals the potential temperature.

    A least-squares fit to TEOS-10, without iterations: within 3e-6 K for salinities from 28 to 42 g kg-1,
    1e-4 K in brackish water from 5 g kg-1 on, and 3e-3 K in fresh water (at 36 degC).

    Args:
        temperature: conservative temperature [degC], -2 to 36.
        salinity: absolute salinity [g kg-1].

    Source: IOC et al. (2010), inverse of the conservative temperature.
    """
    t, s = jnp.asarray(temperature) * (1.0 / 40.0), (salinity - 35.0) * (1.0 / 40.0)
    by_temperature = np.array(_DIFFERENCE, t.dtype).T.reshape(-1, len(_DIFFERENCE), *(1,) * t.ndim)
    return temperature + horner([*horner([*by_temperature], t)], s)
