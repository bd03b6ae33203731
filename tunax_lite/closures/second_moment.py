"""Second-moment closure: non-dimensional functions c_mu and c_mu' of algebraic stress models.

With alpha_N = (k/eps)² N² and alpha_M = (k/eps)² S²,

    c_mu = N_n / D,   c_mu' = N_b / D,   nu = c_mu k²/eps,   kappa = c_mu' k²/eps,
    N_n = n0 + n1 alpha_N + n2 alpha_M,   N_b = b0 + b1 alpha_N + b2 alpha_M,
    D = d0 + d1 alpha_N + d2 alpha_M + d3 alpha_N alpha_M + d4 alpha_N² + d5 alpha_M²,

whose coefficients follow from the constants of the pressure-strain and pressure-scrambling models.
In quasi-equilibrium alpha_M is not taken from the flow but solves P + B = eps, c_mu alpha_M - c_mu' alpha_N =
1, a quadratic equation; in weak equilibrium it is that of the flow.

Source: Umlauf and Burchard (2005), Cont. Shelf Res. 25, 795-827, appendix A; Burchard and Deleersnijder
(2001), J. Mar. Syst. 28, 55-67, for the limits of alpha_N and alpha_M.
"""

import equinox as eqx

from .._types import FieldValue, InnerFaceArray, Scalar, ScalarLike, parameter
from ..declarations import named, setting
from ..numerics.elementary import at_least, at_most, reciprocal, safe_sqrt, unfused
from .stability import AbstractStability, AbstractStabilityFunctions, Flow, Functions

# Realisable closures reach neither bound; they keep other constants from overflowing. Canuto A in
# quasi-equilibrium has D / d0 >= 0.79, c_mu' <= 0.14; 0.34 and 0.29 at the highest `instability_limit`, 0.95.
_SMALLEST_DENOMINATOR = 1e-3
_LARGEST_FUNCTION = 2.0
_SMALLEST_ALPHA_M = 1e-10

_EQUILIBRIA = "quasi", "weak"

_NAMES = "cc1 cc2 cc3 cc4 cc5 cc6 ct1 ct2 ct3 ct4 ct5 ctt".split()
# In this order: Gibson and Launder (1978), J. Fluid Mech. 86, 491-511; Mellor and Yamada (1982), Rev.
# Geophys. 20, 851-875; Kantha and Clayson (1994), J. Geophys. Res. 99, 25235-25266; Luyten et al. (1996), J.
# Geophys. Res. 101, 1327-1346; Canuto et al. (2001), J. Phys. Oceanogr. 31, 1413-1426, models A and B; Cheng
# et al. (2002), J. Atmos. Sci. 59, 1550-1565.
_SETS = """
    gibson_launder  3.6  0.8     1.2     1.2    0.0  0.5    3.0    0.3333  0.3333  0.0  0.3333  0.8
    mellor_yamada   6.0  0.32    0.0     0.0    0.0  0.0    3.728  0.0     0.0     0.0  0.0     0.6102
    kantha_clayson  6.0  0.32    0.0     0.0    0.0  0.0    3.728  0.7     0.7     0.0  0.2     0.6102
    luyten          3.0  0.8     2.0     1.118  0.0  0.5    3.0    0.3333  0.3333  0.0  0.3333  0.8
    canuto_a        5.0  0.8     1.968   1.136  0.0  0.4    5.95   0.6     1.0     0.0  0.3333  0.72
    canuto_b        5.0  0.6983  1.9664  1.094  0.0  0.495  5.6    0.6     1.0     0.0  0.3333  0.477
    cheng           5.0  0.7983  1.968   1.136  0.0  0.5    5.52   0.2134  0.357   0.0  0.3333  0.82
"""
PUBLISHED_SETS: dict[str, dict[str, FieldValue]] = {
    name: dict(zip(_NAMES, map(float, numbers), strict=True))
    for name, *numbers in map(str.split, _SETS.strip().splitlines())
}
"""Constants of `SecondMomentClosure` in the notation of Umlauf and Burchard (2005) [1], by name."""


def bounded(function: InnerFaceArray) -> InnerFaceArray:
    """A stability function between 0 and 2 [1], with zero gradient beyond."""
    return at_most(at_least(function, 0.0), _LARGEST_FUNCTION)


class StabilityFunctions(AbstractStabilityFunctions):
    """The functions c_mu and c_mu' of one second-moment closure.

    Args:
        n0 ... d5: coefficients of N_n, N_b and D, divided by d0, so that D is 1 without stratification and
            shear [1].
        c_mu_0: fourth root of c_mu in neutral equilibrium (P = eps) [1]; 0.5265 for Canuto's model A.
        lowest_alpha_n: lower limit of alpha_N [1].
        equilibrium: as in `SecondMomentClosure`.
    """

    n0: Scalar
    n1: Scalar
    n2: Scalar
    b0: Scalar
    b1: Scalar
    b2: Scalar
    d1: Scalar
    d2: Scalar
    d3: Scalar
    d4: Scalar
    d5: Scalar
    c_mu_0: Scalar
    lowest_alpha_n: Scalar
    equilibrium: str = setting("quasi", choices=_EQUILIBRIA)

    @property
    def c_mu_shear_free(self) -> Scalar:
        """c_mu / `c_mu_0`³ where alpha_N = alpha_M = 0 [1]."""
        return self.n0 / self.c_mu_0**3

    @property
    def critical_richardson_number(self) -> Scalar:
        """The Richardson number at which the equilibrium alpha_N grows without bound [1]."""
        # The coefficient q2 of `equilibrium_ratio` vanishes: t2 y² + s y - c = 0 for y = 1 / Ri.
        s, c = self.n1 - self.b2 - self.d3, self.b1 + self.d4
        return (s + safe_sqrt(s**2 + 4.0 * (self.n2 - self.d5) * c)) / (2.0 * c)

    def in_flow(self, flow: Flow) -> Functions:
        if self.equilibrium == "quasi":
            return self.quasi_equilibrium(flow.alpha_n)
        return self(*self.limited(flow.alpha_n, flow.alpha_m))

    def limited(
        self, alpha_n: InnerFaceArray, alpha_m: InnerFaceArray
    ) -> tuple[InnerFaceArray, InnerFaceArray]:
        """alpha_N limited from below, alpha_M from above, so that the shear stress grows with the shear."""
        alpha_n = at_least(alpha_n, self.lowest_alpha_n)
        n0, n1, d1, d4 = self.n0, self.n1, self.d1, self.d4
        highest = n0 + (n1 + d1 * n0 + (d1 * n1 + d4 * n0 + d4 * n1 * alpha_n) * alpha_n) * alpha_n
        slope = self.d2 * n0 + (self.d2 * n1 + self.d3 * n0 + self.d3 * n1 * alpha_n) * alpha_n
        highest = highest * reciprocal(at_least(slope, _SMALLEST_DENOMINATOR * n0))
        return alpha_n, at_most(at_least(alpha_m, _SMALLEST_ALPHA_M), at_least(highest, 0.0))

    def quasi_equilibrium(self, alpha_n: InnerFaceArray) -> Functions:
        """c_mu and c_mu' [1] where production balances dissipation.

        alpha_N is limited from below. Without a real root the discriminant is taken as zero.
        """
        alpha_n = at_least(alpha_n, self.lowest_alpha_n)
        # t2 alpha_M² + t1 alpha_M + t0 = 0, in the form of the root that stays finite as t2 tends to 0.
        t0 = -1.0 - (self.d1 + self.b0) * alpha_n - (self.d4 + self.b1) * alpha_n**2
        t1 = self.n0 - self.d2 + (self.n1 - self.d3 - self.b2) * alpha_n
        t2 = self.n2 - self.d5
        root = t1 + safe_sqrt(t1**2 - 4.0 * t2 * t0)
        alpha_m = -2.0 * t0 * reciprocal(at_least(root, 1e-10))
        return self(alpha_n, alpha_m)

    def __call__(self, alpha_n: InnerFaceArray, alpha_m: InnerFaceArray) -> Functions:
        """c_mu and c_mu' [1] at given stability and shear numbers, limited to 0 to 2."""
        alpha_n, alpha_m = unfused(alpha_n), unfused(alpha_m)
        inverse = self.inverse_denominator(alpha_n, alpha_m)
        c_mu = unfused(self.n0 + self.n1 * alpha_n + self.n2 * alpha_m) * inverse
        c_mu_prime = unfused(self.b0 + self.b1 * alpha_n + self.b2 * alpha_m) * inverse
        return bounded(c_mu), bounded(c_mu_prime)

    def inverse_denominator(self, alpha_n: InnerFaceArray, alpha_m: InnerFaceArray) -> InnerFaceArray:
        """1 / D [1]."""
        denominator = (
            1.0
            + (self.d1 + self.d4 * alpha_n) * alpha_n
            + (self.d2 + self.d3 * alpha_n + self.d5 * alpha_m) * alpha_m
        )
        return reciprocal(at_least(unfused(denominator), _SMALLEST_DENOMINATOR))

    def equilibrium_ratio(self, richardson_number: ScalarLike) -> Scalar:
        """c_mu / c_mu' [1] in equilibrium at a given Richardson number, where alpha_M = alpha_N / Ri.

        If there is no equilibrium at that Richardson number, the discriminant is taken as zero.
        """
        inverse = 1.0 / richardson_number
        # alpha_N (c_mu / Ri - c_mu') = 1 as a quadratic in alpha_N: q2 x² + q1 x - 1 = 0.
        q1 = (self.n0 - self.d2) * inverse - self.b0 - self.d1
        q2 = ((self.n2 - self.d5) * inverse + self.n1 - self.b2 - self.d3) * inverse - self.b1 - self.d4
        alpha_n = 2.0 / at_least(q1 + safe_sqrt(q1 * q1 + 4.0 * q2), 1e-10)
        c_mu = self.n0 + (self.n1 + self.n2 * inverse) * alpha_n
        return c_mu / (self.b0 + (self.b1 + self.b2 * inverse) * alpha_n)


@named(**PUBLISHED_SETS)
class SecondMomentClosure(AbstractStability):
    """Constants of the second-moment closure; the default is Canuto's model A, others are available by `of`.

    Args:
        cc1 ... cc6: pressure-strain model [1]; nothing depends on `cc5`.
        ct1 ... ct5, ctt: pressure-scrambling model of the buoyancy flux and its variance [1].
        instability_limit: most negative alpha_N, as a fraction of the value at which the shear number of
            quasi-equilibrium reaches zero [1].
        equilibrium: "quasi" (P + B = eps in the functions) or "weak" (the shear of the flow).
    """

    cc1: Scalar = parameter(5.0, valid_range=(2.0, 12.0))
    cc2: Scalar = parameter(0.8, valid_range=(0.0, 1.3))
    cc3: Scalar = parameter(1.968, valid_range=(0.0, 2.5))
    cc4: Scalar = parameter(1.136, valid_range=(0.0, 2.0))
    cc5: Scalar = parameter(0.0, valid_range=(-1.0, 1.0), only_if={"cc5": ()})
    cc6: Scalar = parameter(0.4, valid_range=(0.0, 1.0))
    ct1: Scalar = parameter(5.95, valid_range=(2.0, 15.0))
    ct2: Scalar = parameter(0.6, valid_range=(0.0, 1.5))
    ct3: Scalar = parameter(1.0, valid_range=(0.0, 2.0))
    ct4: Scalar = parameter(0.0, valid_range=(-1.0, 0.9))
    ct5: Scalar = parameter(0.3333, valid_range=(0.0, 0.9))
    ctt: Scalar = parameter(0.72, valid_range=(0.1, 2.0))
    instability_limit: Scalar = parameter(0.5, valid_range=(0.05, 0.95))
    equilibrium: str = setting("quasi", choices=_EQUILIBRIA)

    @classmethod
    def of(cls, name: str, **others: FieldValue) -> "SecondMomentClosure":
        """The closure with one of `PUBLISHED_SETS`; other arguments replace or complete it.

        Raises:
            ValueError: an unknown name.
        """
        if name not in PUBLISHED_SETS:
            raise ValueError(
                f"SecondMomentClosure: expected a set out of {', '.join(PUBLISHED_SETS)}, got {name!r}."
            )
        return cls(**(PUBLISHED_SETS[name] | others))

    @eqx.filter_jit  # traced only once per process
    def stability_functions(self) -> StabilityFunctions:
        """The functions that these constants imply."""
        n0, n1, n2, b0, b1, b2, d1, d2, d3, d4, d5 = self._coefficients()
        linear, square = d1 + b0, d4 + b1
        # The zero of the shear number, 1 + linear x + square x² = 0, in the form that is also exact for
        # square = 0; without a real root, with a discriminant of zero.
        zero_shear = -2.0 / (linear + safe_sqrt(linear**2 - 4.0 * square))
        n, (a1, a2, a3, _) = 0.5 * self.cc1, self._stress_constants()
        radicand = (a2**2 - 3.0 * a3**2 + 3.0 * a1 * n) / (3.0 * n**2)
        c_mu_0 = safe_sqrt(safe_sqrt(at_least(radicand, 1e-8)))
        lowest = self.instability_limit * zero_shear
        coefficients = n0, n1, n2, b0, b1, b2, d1, d2, d3, d4, d5
        return StabilityFunctions(*coefficients, c_mu_0, lowest, self.equilibrium)

    def _stress_constants(self) -> tuple[Scalar, Scalar, Scalar, Scalar]:
        """a1, a2, a3, a5; a4 = cc5 / 2 does not enter the functions."""
        return 2.0 / 3.0 - 0.5 * self.cc2, 1.0 - 0.5 * self.cc3, 1.0 - 0.5 * self.cc4, 0.5 - 0.5 * self.cc6

    def _coefficients(self) -> tuple[Scalar, ...]:
        """n0, n1, n2, b0, b1, b2, d1 ... d5: Umlauf and Burchard (2005), A.20 to A.22, divided by d0."""
        a1, a2, a3, a5 = self._stress_constants()
        t1, t2 = 1.0 - self.ct2, 1.0 - self.ct3
        t3, t5 = 2.0 * (1.0 - self.ct4), 2.0 * self.ctt * (1.0 - self.ct5)
        x, y = 2.0 / self.cc1, 1.0 / self.ct1  # 1 / N and 1 / N_t; d0 = 36 / (x³ y²)
        p, strain, scrambling = a5 * t3, a2 * a2 - 3.0 * a3 * a3, t1 * t1 - t2 * t2
        xy, x_square, quarter_y_square = x * y, x * x, 0.25 * y * y
        d1 = 7.0 / 3.0 * p * xy + t5 * y
        d2 = -scrambling * quarter_y_square - strain * x_square / 3.0
        d3 = (p * ((a2 * t1 - 3.0 * a3 * t2) * y + (a3 * a3 - a2 * a2) * x) - t5 * strain) * x * xy / 3.0
        d4 = (4.0 / 3.0 * p * x + t5) * p * xy * y
        d5 = strain * scrambling * x_square * quarter_y_square / 3.0
        n0 = a1 * x
        n1 = (p * (2.0 / 9.0 * (6.0 * a1 - a2 - 3.0 * a3) * x - (t1 + t2) * y / 3.0) + a1 * t5) * xy
        n2 = -n0 * scrambling * quarter_y_square
        b0 = t3 * y / 3.0
        b1 = p * b0 * xy
        b2 = t3 * (n0 * (t1 - t2) * quarter_y_square + (a1 * (a2 - 3.0 * a3) / 6.0 - strain / 9.0) * x * xy)
        return n0, n1, n2, b0, b1, b2, d1, d2, d3, d4, d5
