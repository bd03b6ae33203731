"""Bulk formulae written a second time, for one point in plain Python, from the equations of the papers."""

import math

K = 273.15


def saturation(temperature):
    """Vapour pressure over fresh water [Pa] at a temperature [degC], after Goff (1957)."""
    ratio = K / (temperature + K)
    power = (
        10.79574 * (1 - ratio)
        - 5.028 * math.log10(1 / ratio)
        + 1.50475e-4 * (1 - 10 ** (-8.2969 * (1 / ratio - 1)))
        + 0.42873e-3 * (10 ** (4.76955 * (1 - ratio)) - 1)
        + 0.78614
    )
    return 100 * 10**power


def humidity_of(vapour_pressure, pressure):
    """Mass of vapour per mass of air."""
    ratio = 287.05 / 461.495
    return ratio * vapour_pressure / (pressure - (1 - ratio) * vapour_pressure)


def _convective(y):
    return (
        1.5 * math.log((1 + y + y**2) / 3)
        - math.sqrt(3) * math.atan((1 + 2 * y) / math.sqrt(3))
        + (math.pi / math.sqrt(3))
    )


def _kansas(which, z, a):
    x = (1 - a * z) ** 0.25
    if which == "m":
        return 2 * math.log((1 + x) / 2) + math.log((1 + x**2) / 2) - 2 * math.atan(x) + math.pi / 2
    return 2 * math.log((1 + x**2) / 2)


def fairall(w, ta, ts, qa, qs, rho, iterations=20):
    """Wind, temperatures [degC], humidities, density: stress, sensible and latent heat, vapour flux."""
    liu = [
        (0.11, 0.177, 0.0, 0.292, 0.0),
        (0.825, 1.376, 0.929, 1.808, 0.826),
        (3.0, 1.026, -0.599, 1.393, -0.528),
        (10.0, 1.625, -1.018, 1.956, -0.870),
        (30.0, 4.661, -1.475, 4.994, -1.297),
        (100.0, 34.904, -2.067, 30.709, -1.845),
        (300.0, 1667.19, -2.907, 1448.68, -2.682),
        (1000.0, 588000.0, -3.935, 298000.0, -3.616),
    ]

    def psi(which, z):
        if z >= 0.0:
            return -4.7 * z
        f = 1 / (1 + z * z)
        return f * _kansas(which, z, 16.0) + (1 - f) * _convective((1 - 12.87 * z) ** (1 / 3))

    tk, dt, dq = ta + K, ta - ts, qa - qs
    if 9.81 * 10 * (dt + 0.61 * tk * dq) / (tk * w * w) > 0.25:
        return 0.0, 0.0, 0.0, 0.0
    nu = 1.326e-5 * (1 + 6.542e-3 * ta + 8.301e-6 * ta**2 - 4.84e-9 * ta**3)
    us, tstar, qstar, s, gust = 0.04 * w, 0.04 * dt, 0.04 * dq, w, 0.0
    for _ in range(iterations):
        tv = tstar * (1 + 0.61 * qa) + 0.61 * tk * qstar
        ol = 9.81 * 0.41 * tv / (tk * (1 + 0.61 * qa) * us**2)
        z0 = 0.011 * us**2 / 9.81 + 0.11 * nu / us
        us = s * 0.41 / (math.log(10 / z0) - psi("m", 10 * ol))
        re = z0 * us / nu
        _, at, bt, aq, bq = next(row for row in liu if re < row[0])
        tstar = dt * 0.41 / (math.log(2 / (at * re**bt * nu / us)) - psi("h", 2 * ol))
        qstar = dq * 0.41 / (math.log(2 / (aq * re**bq * nu / us)) - psi("h", 2 * ol))
        bf = -9.81 / tk * us * (tstar * (1 + 0.61 * qa) + 0.61 * tk * qstar)
        gust = 1.2 * (bf * 600) ** (1 / 3) if bf > 0 else 0.0
        s = math.hypot(w, gust)
    latent = 2.501e6 - 2370 * ts
    lift = -1.61 * us * qstar - (1 + 1.61 * qa) * us * tstar / tk
    return (
        rho * us**2 / s * w,
        1008 * rho * us * tstar,
        latent * rho * (us * qstar - lift * qa),
        rho * us * qstar,
    )


def coare(w, ta, ts, qa, qs, p, iterations):
    """COARE 3.6, as `fairall`, with the pressure [Pa]."""
    g, kappa, cp, zi = 9.8, 0.4, 1005.0, 600.0
    eps = 461.495 / 287.05 - 1

    def stable(z, a):
        return -(a + 0.6667 * (z - 14.28) * math.exp(-min(50, 0.35 * z)) + 8.525)

    def psi(which, z):
        if z >= 0:
            return stable(z, 1 + z if which == "m" else (1 + 2 * z / 3) ** 1.5)
        f = z * z / (1 + z * z)
        y = (1 - (10.15 if which == "m" else 34.15) * z) ** (1 / 3)
        return (1 - f) * _kansas(which, z, 15.0) + f * _convective(y)

    def charnock(u):
        return max(0.0, min(0.0017 * u - 0.005, 0.028))

    def scalar_roughness(re):
        return min(1.6e-4, 5.8e-5 * re**-0.72)

    beta = 1.2
    tk, sk = ta + K + g / cp * 2.0, ts + K
    t = tk - K
    nu = 1.326e-5 * (1 + 6.542e-3 * t + 8.301e-6 * t**2 - 4.84e-9 * t**3)
    # Any sensible start serves when the iteration has converged.
    us, tz, qz, z0 = 0.035 * max(w, 0.5), tk, qa, 1e-4
    tstar, qstar, s = 0.03 * (tk - sk), 0.03 * (qa - qs), max(w, 0.5)
    for _ in range(iterations):
        buoyant = tstar * (1 + eps * qz) + eps * tz * qstar
        ol = g * kappa * buoyant / max(us**2 * tz * (1 + eps * qz), 1e-9)
        s = max(math.sqrt(w**2 + beta**2 * us**2 * max(-zi * ol / kappa, 0.0) ** (2 / 3)), 0.2)
        z = max(-50.0, min(50.0, 10 * ol))
        zt = max(-50.0, min(50.0, 2 * ol))
        z0 = charnock(us / kappa * math.log(10 / z0)) * us**2 / g + 0.11 * nu / us
        z0t = scalar_roughness(z0 * us / nu)
        tstar, qstar = (d * kappa / (math.log(10 / z0t) - psi("h", z)) for d in (tz - sk, qz - qs))
        us = kappa * s / (math.log(10 / z0) - psi("m", z))
        shift = math.log(2 / 10) + psi("h", z) - psi("h", zt)
        tz, qz = tk - tstar / kappa * shift, qa - qstar / kappa * shift
    absolute = tz - g / cp * 10.0
    rho = p / (287.05 * absolute * (1 + eps * qz))
    rho = (p - rho * g * 10.0) / (287.05 * absolute * (1 + eps * qz))
    water = rho * us * qstar
    return (rho * us**2 / s * w, rho * (1005 + 1860 * qz) * us * tstar, (2.501e6 - 2370 * ts) * water, water)
