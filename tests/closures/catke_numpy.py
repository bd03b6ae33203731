"""CATKE in plain NumPy, level by level, written from the equations of Wagner et al. (2025)."""

import numpy as np

SETS = {  # C^hi, C^lo, C^un, C^c, C^e
    "u": (0.242, 0.361, 0.370, 3.705, 0.0),
    "c": (0.098, 0.369, 0.572, 4.793, 0.112),
    "e": (0.548, 7.863, 1.447, 3.642, 0.0),
    "d": (0.579, 1.604, 0.923, 3.254, 0.0),
}
C_S, C_B, C_SP, C_RI_0, C_RI_DELTA = 1.131, 0.967, 0.505, 0.254, 1.02
C_W_U_STAR, C_W_W_DELTA, C_W_EPS = 3.179, 0.383, 1.0
E_MIN, J_MIN = 1e-9, 1e-11


def sigma(name, ri):
    """Stability function."""
    high, low, unstable = SETS[name][:3]
    if ri < 0.0:
        return unstable
    return low + (high - low) * min(1.0, max(0.0, (ri - C_RI_0) / C_RI_DELTA))


def length(name, n2, n2_above, s2, ri, w, w3, z, depth, flux):
    """Length of momentum (u), contents (c), energy (e) or dissipation (d) at one height."""
    factor_c, factor_e = SETS[name][3:]
    stable = min(C_S * -z, C_B * (z + depth))
    if n2 > 0.0:
        stable = min(stable, w / np.sqrt(n2))
    stable = stable / sigma(name, ri) if name == "d" else stable * sigma(name, ri)
    convective = 0.0
    if flux > J_MIN and n2 < 0.0:
        flux_richardson = -z * w * s2 / (flux + J_MIN)
        convective = max(0.0, (1.0 - C_SP * flux_richardson) * factor_c * w3 / (flux + J_MIN))
    elif flux > J_MIN and n2 > 0.0 and n2_above < 0.0:
        convective = factor_e * flux / (w * n2 + J_MIN)
    return min(depth, max(stable, convective))


class Column:
    """Heights and the flow on inner faces, index 0 the bottom."""

    def __init__(self, z_face, n2, u, v):
        self.z_face, self.depth = z_face, -z_face[0]
        self.z = 0.5 * (z_face[1:] + z_face[:-1])
        self.h, self.spacing = np.diff(z_face), np.diff(self.z)
        self.n2, self.s2 = n2, (np.diff(u) ** 2 + np.diff(v) ** 2) / self.spacing**2
        self.ri = np.array([0.0 if n == 0.0 else n / s for n, s in zip(n2, self.s2, strict=True)])
        self.n = len(self.z)

    def at_center(self, values, i):
        """Mean of the inner faces that the cell has."""
        return np.mean([values[j] for j in (i - 1, i) if 0 <= j < self.n - 1])

    def dissipation_length(self, i, e, flux):
        above = self.at_center(self.n2, i + 1) if i + 1 < self.n else 0.0
        w = np.sqrt(max(e[i], E_MIN))
        n2, s2, ri = (self.at_center(values, i) for values in (self.n2, self.s2, self.ri))
        return length("d", n2, above, s2, ri, w, w**3, self.z[i], self.depth, flux)

    def coefficient(self, name, e, flux):
        """Eddy coefficient on inner faces."""
        w = np.sqrt(np.maximum(e, E_MIN))
        result = []
        for i in range(self.n - 1):
            w_face, w3 = 0.5 * (w[i] + w[i + 1]), 0.5 * (w[i] ** 3 + w[i + 1] ** 3)
            above = self.n2[i + 1] if i + 2 < self.n else 0.0
            flow = self.n2[i], above, self.s2[i], self.ri[i]
            result.append(w_face * length(name, *flow, w_face, w3, self.z_face[i + 1], self.depth, flux))
        return np.array(result)


def step(column, shear_of_step, nu, kappa, e, flux, u_star, buoyancy_flux, dt, n_substeps=1):
    """e, J, nu and kappa after a step; nu, kappa and S² of the step before it on inner faces."""
    c, n = column, column.n
    produced = nu * shear_of_step * c.spacing
    shear = np.array([c.at_center(produced, i) / c.h[i] for i in range(n)])
    buoyancy = np.array([c.at_center(-kappa * c.n2, i) for i in range(n)])
    e = e.copy()
    for _ in range(n_substeps):
        d = dt / n_substeps
        conductance = c.coefficient("e", e, flux) / c.spacing
        matrix = np.diag(c.h)
        for i, k in enumerate(conductance):
            matrix[i : i + 2, i : i + 2] += d * k * np.array([[1.0, -1.0], [-1.0, 1.0]])
        rhs = c.h * (e + d * (shear + np.maximum(buoyancy, 0.0)))
        rhs[-1] += d * (C_W_U_STAR * u_star**3 + C_W_W_DELTA * max(-buoyancy_flux, 0.0) * c.h[-1])
        for i in range(n):
            rate = np.sqrt(e[i]) / c.dissipation_length(i, e, flux)
            if e[i] > E_MIN:
                rate -= min(buoyancy[i], 0.0) / e[i]
            if i == 0:
                rate += C_W_EPS * np.sqrt(e[0]) / c.h[0]
            matrix[i, i] += d * rate * c.h[i]
        e = np.linalg.solve(matrix, rhs)
    now = -buoyancy_flux
    time = (c.dissipation_length(n - 1, e, flux) ** 2 / max(J_MIN, flux, now)) ** (1.0 / 3.0)
    flux = (flux + dt / time * now) / (1.0 + dt / time)
    return e, flux, c.coefficient("u", e, flux), c.coefficient("c", e, flux)
