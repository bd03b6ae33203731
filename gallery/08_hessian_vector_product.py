"""
Hessian-vector products
=======================

**Which combinations of constants does a misfit determine?**

The curvature of a misfit along a direction is one forward derivative of its gradient. Forward over
reverse mode gives this product without a Hessian matrix; for three constants, three products give
the whole matrix.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import tunax_lite as tl
from tunax_lite.io import read_cf_netcdf, resolve

tl.configure()
case, _ = read_cf_netcdf(resolve("synthetic:wind_and_cooling"))
names = ("c_eps_1", "c_eps_2", "sigma_eps")
start = jnp.array([getattr(tl.KEpsilon(), name) for name in names])


def temperature(logarithms):
    """For constants that are multiplied by exp(logarithms)."""
    values = list(start * jnp.exp(logarithms))
    closure = eqx.tree_at(lambda c: [getattr(c, name) for name in names], tl.KEpsilon(), values)
    run = tl.simulate(tl.Model(closure), case, dt=600.0, duration=86400.0, output_interval=7200.0)
    return run.state.temperature


observed = temperature(jnp.zeros(3))


def misfit(logarithms):
    """Mean square error [mK2]."""
    return 1e6 * jnp.mean((temperature(logarithms) - observed) ** 2)


@jax.jit
def hessian_vector_product(direction):
    return jax.jvp(jax.grad(misfit), (jnp.zeros(3),), (direction,))[1]


# %%
# Stiff directions are well determined by the observations, sloppy ones are not.

hessian = np.array([hessian_vector_product(direction) for direction in jnp.eye(3)])
assert np.allclose(hessian, hessian.T, rtol=1e-6, atol=1e-6 * np.abs(hessian).max())
curvature, directions = np.linalg.eigh(hessian)
assert curvature[0] > 0.0 and curvature[2] > 100.0 * curvature[1]

figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
for number in range(3):
    ax.bar(
        np.arange(3) + 0.25 * number,
        directions[:, -1 - number],
        0.25,
        label=f"{curvature[-1 - number]:.3g} mK$^2$",
    )
ax.set_xticks(np.arange(3) + 0.25, names)
ax.axhline(0.0, color="k", lw=0.8)
ax.set(ylabel="direction [1]", title="Eigenvectors of the Hessian, and their curvatures")
ax.legend()
