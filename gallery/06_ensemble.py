"""
An ensemble
===========

**How does the mixed layer depend on the wind?**

Any number of columns run together: whatever is to vary gets one value per column. The vertical
is the first axis of every array, columns are the last.
"""

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import tunax_lite as tl

tl.configure()
stress = jnp.linspace(0.0, 0.5, 64)  # N m-2, one value per column
grid = tl.Grid.uniform(depth=100.0, n_cells=50)
case = tl.Case(
    grid,
    tl.State.from_profiles(grid, temperature=lambda z: 20.0 + 0.05 * z),
    tl.ConstantForcing(tl.SurfaceFluxes(stress_u=stress, heat_flux=-50.0)),
    coriolis_parameter=1e-4,
    duration=2 * 86400.0,
)
run = tl.simulate(tl.Model(tl.KEpsilon()), case, dt=120.0, output_interval=43200.0)
depth = tl.mixed_layer_depth(run.state.temperature[-1], run.grid)

# %%
# Under rotation the layer deepens about as the friction velocity, the square root of the stress.

strong = np.asarray(stress) > 0.1
exponent = np.polyfit(np.log(stress[strong]), np.log(depth[strong]), 1)[0]
assert abs(exponent - 0.45) < 0.02

figure, ax = plt.subplots(figsize=(5.5, 3.5), layout="constrained")
ax.plot(stress, depth, ".-")
ax.set(xlabel="wind stress [N m$^{-2}$]", ylabel="mixed-layer depth after two days [m]", ylim=(0, None))
ax.set_title(
    f"64 columns; above 0.1 N m$^{{-2}}$ the depth grows as stress$^{{{exponent:.2f}}}$", fontsize="medium"
)
