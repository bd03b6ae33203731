"""Second moments and two-equation closures in plain NumPy, from their papers.

The algebra of the second moments is that of Canuto et al. (2001), which shares no term with that of the
package; where a constant follows from an equation, it is the root of that equation as NumPy finds it.
"""

from typing import NamedTuple

import numpy as np

SETS = {  # cc1 ... cc6, ct1 ... ct5, ctt
    "gibson_launder": (3.6, 0.8, 1.2, 1.2, 0.0, 0.5, 3.0, 0.3333, 0.3333, 0.0, 0.3333, 0.8),
    "mellor_yamada": (6.0, 0.32, 0.0, 0.0, 0.0, 0.0, 3.728, 0.0, 0.0, 0.0, 0.0, 0.6102),
    "kantha_clayson": (6.0, 0.32, 0.0, 0.0, 0.0, 0.0, 3.728, 0.7, 0.7, 0.0, 0.2, 0.6102),
    "luyten": (3.0, 0.8, 2.0, 1.118, 0.0, 0.5, 3.0, 0.3333, 0.3333, 0.0, 0.3333, 0.8),
    "canuto_a": (5.0, 0.8, 1.968, 1.136, 0.0, 0.4, 5.95, 0.6, 1.0, 0.0, 0.3333, 0.72),
    "canuto_b": (5.0, 0.6983, 1.9664, 1.094, 0.0, 0.495, 5.6, 0.6, 1.0, 0.0, 0.3333, 0.477),
    "cheng": (5.0, 0.7983, 1.968, 1.136, 0.0, 0.5, 5.52, 0.2134, 0.357, 0.0, 0.3333, 0.82),
}


def root_of(coefficients, *, positive=True) -> float:
    """The real root of one sign that is nearest to zero; the highest power comes first."""
    largest = np.max(np.abs(coefficients))
    roots = np.roots(np.where(np.abs(coefficients) < 1e-30 * largest, 0.0, coefficients))
    real = roots[np.abs(roots.imag) < 1e-9 * np.abs(roots)].real
    return min(real[(real > 0.0) == positive], key=abs)


class SecondMoments:
    """Functions of alpha_N and alpha_M, divided by d0; `cc6` and `ctt` may replace those of the set."""

    def __init__(self, name="canuto_a", *, equilibrium="quasi", cc6=None, ctt=None, instability_limit=0.5):
        cc1, cc2, cc3, cc4, _, own_cc6, ct1, ct2, ct3, _, ct5, own_ctt = SETS[name]
        a1, a2, a3 = cc1 / 2.0, cc3 / 2.0, own_cc6 if cc6 is None else cc6
        ctt = own_ctt if ctt is None else ctt
        a4, a5 = 2.0 * cc3 / 3.0 - cc2, (cc3 - cc4) / 2.0
        b1, b2, b3, b4, bt = ct1, ct2, ct5, ct3 - ct2, 2.0 * ctt
        q = 3.0 * a5**2 + 6.0 * a5 * (1.0 - a2) + 2.0 * (1.0 - a2) ** 2
        w, y = 4.0 - 4.0 * a2 + 3.0 * a4, 2.0 - 2.0 * b2 - b4
        variance = a1 * bt * (1.0 - b3)
        n1 = b1 * variance * w - 2.0 * a1 * (1.0 - a3) * y + 4.0 * b1 * (1.0 - a3) * (a4 - a5)
        nb2 = a1 * b4 * w + 8.0 * a5 * b1 * (1.0 - a2 + a5) - 2.0 * a4 * b1 * (2.0 - 2.0 * a2 + 3.0 * a5)
        d3 = (
            a5 * b1 * (1.0 - a3) * (2.0 - 2.0 * a2 + a5)
            + b1 * variance * q
            + a1 * (1.0 - a3) * (3.0 * b4 * (1.0 - a2 + a5) - (1.0 - b2) * (2.0 - 2.0 * a2 + 3.0 * a5))
        )
        self.n = w / (6.0 * a1), n1 / (6.0 * a1**2 * b1**2), -b4 * w * y / (24.0 * a1 * b1**2)
        self.b = (2.0 / (3.0 * b1), 2.0 * (1.0 - a3) / (3.0 * a1 * b1**2), nb2 / (12.0 * a1**2 * b1**2))
        self.d = (
            1.0,
            (7.0 * (1.0 - a3) + 3.0 * variance) / (3.0 * a1 * b1),
            q / (3.0 * a1**2) - b4 * y / (4.0 * b1**2),
            d3 / (3.0 * a1**3 * b1**2),
            (1.0 - a3) * (4.0 * (1.0 - a3) + 3.0 * variance) / (3.0 * a1**2 * b1**2),
            -b4 * y * q / (12.0 * a1**2 * b1**2),
        )
        self.equilibrium = equilibrium
        (n0, _, n2), (b0, b1, _), (_, d1, d2, _, d4, d5) = self.n, self.b, self.d
        # Neutral equilibrium: c_mu alpha_M = 1, and c_mu = c_mu0^4.
        self.c_mu_0 = root_of([n2 - d5, n0 - d2, -1.0]) ** -0.25
        self.shear_free = n0 / self.c_mu_0**3
        # A part of the stability at which production and dissipation balance without shear.
        self.lowest_alpha_n = instability_limit * root_of([d4 + b1, d1 + b0, 1.0], positive=False)

    def coefficients(self) -> dict[str, float]:
        names = ("n0", "n1", "n2", "b0", "b1", "b2", "d1", "d2", "d3", "d4", "d5")
        return dict(zip(names, (*self.n, *self.b, *self.d[1:]), strict=True))

    def __call__(self, alpha_n, alpha_m):
        """c_mu and c_mu'."""
        d0, d1, d2, d3, d4, d5 = self.d
        denominator = d0 + d1 * alpha_n + d2 * alpha_m + d3 * alpha_n * alpha_m + d4 * alpha_n**2
        denominator = denominator + d5 * alpha_m**2
        return tuple(
            np.clip((c0 + c1 * alpha_n + c2 * alpha_m) / denominator, 0.0, 2.0)
            for c0, c1, c2 in (self.n, self.b)
        )

    def _balance(self):
        """D (c_mu alpha_M - c_mu' alpha_N - 1), zero in equilibrium: factors of alpha_N^i alpha_M^j."""
        (n0, n1, n2), (b0, b1, b2), (d0, d1, d2, d3, d4, d5) = self.n, self.b, self.d
        return np.array([[-d0, n0 - d2, n2 - d5], [-b0 - d1, n1 - b2 - d3, 0.0], [-b1 - d4, 0.0, 0.0]])

    def limited(self, alpha_n, alpha_m):
        """Of the flow: alpha_N from below, alpha_M where the stress no longer grows with the shear."""
        alpha_n = np.maximum(alpha_n, self.lowest_alpha_n)
        (n0, n1, _), (_, d1, d2, d3, d4, _) = self.n, self.d
        highest = np.polyval(np.polymul([d4, d1, 1.0], [n1, n0]), alpha_n)
        highest = highest / np.polyval(np.polymul([d3, d2], [n1, n0]), alpha_n)
        return alpha_n, np.minimum(alpha_m, highest)

    def in_flow(self, alpha_n, alpha_m):
        """c_mu and c_mu' of a flow, as closures take them."""
        alpha_n, alpha_m = self.limited(alpha_n, alpha_m)
        if self.equilibrium == "quasi":
            in_alpha_m = [np.polyval(factors[::-1], alpha_n) + 0.0 * alpha_n for factors in self._balance().T]
            alpha_m = np.array([root_of(polynomial[::-1]) for polynomial in np.transpose(in_alpha_m)])
        return self(alpha_n, alpha_m)

    def equilibrium_ratio(self, richardson_number):
        """c_mu / c_mu' in equilibrium at a Richardson number, alpha_M = alpha_N / Ri."""
        factors = self._balance() / richardson_number ** np.arange(3)
        alpha_n = root_of([np.trace(factors[::-1], offset=i) for i in range(0, -3, -1)])
        c_mu, c_mu_prime = self(alpha_n, alpha_n / richardson_number)
        return c_mu / c_mu_prime


class Constants(NamedTuple):
    """What follows from the constants of the equation for psi = c_mu0^p k^m l^n."""

    von_karman: float
    c_3: float  # in stable water
    decay: float  # alpha, of k ~ z^alpha below breaking waves
    slope: float  # L, of l = L z there


def shear_free(of_tke, of_psi, exponents, c_2, c_mu_0):
    """alpha and L for which d/dz (D dY/dz) is the sink of both equations, k = z^alpha and l = L z.

    The diffusivities are `of_tke` and `of_psi` times sqrt(k) l; c_2 may depend on L², as (constant, slope).
    """
    _, m, n = exponents
    fixed, by_slope_squared = c_2
    # of_tke L 3/2 alpha² = c_mu0³ / L, and of_psi L (m alpha + n)((m + 1/2) alpha + n) = c_2 c_mu0³ / L.
    quadratic = of_psi * m * (m + 0.5) - 1.5 * fixed * of_tke
    decay = root_of(
        [quadratic, of_psi * n * (2.0 * m + 0.5), of_psi * n**2 - by_slope_squared * c_mu_0**3],
        positive=False,
    )
    return decay, np.sqrt(c_mu_0**3 / (1.5 * of_tke)) / abs(decay)


def constants(functions, exponents, c_1, c_2, sigma_k, sigma, *, sigma_waves=None, richardson_number=0.25):
    """Of k-epsilon, k-omega and generic models (Umlauf and Burchard 2003)."""
    n = exponents[2]
    return Constants(
        functions.c_mu_0 * np.sqrt(sigma * (c_2 - c_1)) / abs(n),
        c_2 + (c_1 - c_2) / richardson_number * functions.equilibrium_ratio(richardson_number),
        *shear_free(
            functions.shear_free / sigma_k,
            functions.shear_free / (sigma if sigma_waves is None else sigma_waves),
            exponents,
            (c_2, 0.0),
            functions.c_mu_0,
        ),
    )


def constants_of_mellor_yamada(functions, e_1, e_2, s_q, s_l, *, richardson_number=0.23):
    """The same; c_3 is E_3."""
    b_1 = 2.0**1.5 / functions.c_mu_0**3
    von_karman = np.sqrt((e_2 - e_1 + 1.0) / (s_l * b_1))
    # Of q² l over two: the sink is (1 + E_2 (L / kappa)²) / 2.
    c_2 = (0.5, 0.5 * e_2 / von_karman**2)
    root_2 = np.sqrt(2.0)
    return Constants(
        von_karman,
        1.0 + (e_1 - 1.0) / richardson_number * functions.equilibrium_ratio(richardson_number),
        *shear_free(root_2 * s_q, root_2 * s_l, (0.0, 1.0, 1.0), c_2, functions.c_mu_0),
    )
