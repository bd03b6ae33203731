"""KPP level by level with loops and branches, from the equations of Large et al. (1994) and CVMix.

Depths are positive and run from the surface downward: levels and faces 0 are the uppermost.
"""

import numpy as np

KAPPA, EPS, RI_C, BETA, C_STAR = 0.4, 0.1, 0.3, 0.2, 10.0
A_M, C_M, A_S, C_S = 1.2573684, 8.3824050, -28.8617393, 98.9545350
NONLOCAL = 6.3274


def velocity_scales(distance, flux, speed):
    """w_m and w_s [m s-1]."""
    if speed == 0.0:
        convective = max(-distance * KAPPA * flux, 0.0)
        return KAPPA * np.cbrt(C_M * convective), KAPPA * np.cbrt(C_S * convective)
    zeta = distance * KAPPA * flux / speed**3
    if zeta >= 0.0:
        return (KAPPA * speed / (1.0 + 5.0 * zeta),) * 2
    inverse_m = (1.0 - 16.0 * zeta) ** 0.25 if zeta >= -0.2 else np.cbrt(A_M - C_M * zeta)
    inverse_s = (1.0 - 16.0 * zeta) ** 0.5 if zeta >= -1.0 else np.cbrt(A_S - C_S * zeta)
    return KAPPA * speed * inverse_m, KAPPA * speed * inverse_s


def shear_mixing(richardson):
    """nu = kappa [m2 s-1] below the layer: 5e-3 (1 - (Ri / 0.7)²)³, Ri smoothed and 0 beyond."""
    smooth = np.convolve(richardson, [0.25, 0.5, 0.25], "same")
    return 5e-3 * (1.0 - np.clip(smooth / 0.7, 0.0, 1.0) ** 2) ** 3


def upper_mean(values, thickness, part):
    """Mean over the upper part of a column."""
    if part <= thickness[0]:
        return values[0]
    total, reached = 0.0, 0.0
    for value, h in zip(values, thickness, strict=True):
        within = min(h, part - reached)
        total, reached = total + value * within, reached + within
        if reached >= part:
            break
    return total / part


def bulk_richardson(column, speed, flux_above):
    """Ri_b at the centers; `column` has thickness, buoyancy, u, v and N² of all faces."""
    thickness = column["thickness"]
    faces = np.concatenate([[0.0], np.cumsum(thickness)])
    ri = []
    for k, depth in enumerate(0.5 * (faces[1:] + faces[:-1])):
        b, u, v = (upper_mean(column[name], thickness, EPS * depth) for name in ("buoyancy", "u", "v"))
        frequency = np.sqrt(max(column["n_squared"][k], column["n_squared"][k + 1], 0.0))
        concavity = 2.1 - 200.0 * frequency if frequency < 0.002 else 1.7
        w_s = velocity_scales(EPS * depth, flux_above(depth), speed)[1]
        unresolved = depth * frequency * w_s * concavity * np.sqrt(BETA / (C_S * EPS)) / KAPPA**2 / RI_C
        sheared = (u - column["u"][k]) ** 2 + (v - column["v"][k]) ** 2 + max(unresolved, 1e-10)
        ri.append((1.0 - 0.5 * EPS) * depth * (b - column["buoyancy"][k]) / sheared)
    return np.array(ri)


def crossing(ri, depth):
    """Depth of the first crossing; the roots of the polynomial as NumPy finds them."""
    k = next((k for k in range(1, len(ri)) if ri[k] > RI_C), None)
    if k is None:
        return depth[-1]
    top, bottom = depth[k - 1], depth[k]
    rise = (ri[k] - ri[k - 1]) / (bottom - top)
    slope = (ri[k - 1] - ri[k - 2]) / (top - depth[k - 2]) if k > 1 else 0.0
    d = bottom - top
    roots = np.roots(np.trim_zeros([(rise - slope) / d, slope, ri[k - 1] - RI_C], "f"))
    real = roots[np.isreal(roots)].real
    return top + real[(real >= -1e-12) & (real <= d * (1.0 + 1e-9))][0]


def coefficients(column, h, flux, speed, shape, interior, enhanced=True):
    """nu, kappa and the non-local fraction on inner faces, from the surface downward."""
    thickness = column["thickness"]
    faces = np.concatenate([[0.0], np.cumsum(thickness)])
    centers = 0.5 * (faces[1:] + faces[:-1])
    n = len(thickness)

    def at_depth(values):
        k = max(j for j in range(n) if faces[j] <= h)
        slope = max((values[k] - values[k + 1]) / thickness[k], 0.0)
        following = (values[k + 1] - values[k + 2]) / thickness[k + 1] if k + 2 <= n else 0.0
        weight = (faces[k + 1] - h) / thickness[k]
        mean = weight * slope + (1.0 - weight) * max(following, 0.0)
        return values[k + 1] + mean * (faces[k + 1] - h), mean

    results, base = [], max(j for j in range(n) if centers[j] <= h) + 1
    for which, below in enumerate(interior):
        w_end = velocity_scales(EPS * h, flux, speed)[which]
        value, slope = at_depth(below)
        stable = 5.0 * flux / speed**4 if flux > 0.0 else 0.0
        g1, g1_slope = value / (h * w_end), min(-slope / w_end + stable * value, 0.0)
        if shape == "simple":
            g1 = g1_slope = 0.0

        def layer(d, which=which, g1=g1, g1_slope=g1_slope):
            s = d / h
            g = s + (3.0 * g1 - g1_slope - 2.0) * s**2 + (1.0 - 2.0 * g1 + g1_slope) * s**3
            return h * velocity_scales(min(EPS * h, d), flux, speed)[which] * g

        k = np.array([layer(d) if d <= h else below[j] for j, d in enumerate(faces)])
        reach = (h - centers[base - 1]) / (centers[base] - centers[base - 1])
        blend = (1.0 - reach) ** 2 * layer(centers[base - 1]) + reach**2 * k[base]
        if enhanced:
            k[base] = (1.0 - reach) * below[base] + reach * blend
        results.append(k[1:-1])

    def shape_of(s):
        return s * (1.0 - s) ** 2

    reach = (h - centers[base - 1]) / (centers[base] - centers[base - 1])
    fraction = np.array([NONLOCAL * shape_of(d / h) if d <= h else 0.0 for d in faces])
    if faces[base] <= h:
        last = shape_of(centers[base - 1] / h)
        fraction[base] = reach * ((1.0 - reach) ** 2 * NONLOCAL * last + reach**2 * fraction[base])
    return (*results, fraction[1:-1] * (1.0 if flux < 0.0 else 0.5 if flux == 0.0 else 0.0))
