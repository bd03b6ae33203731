"""
Several workers
===============

**How do I spread independent runs over processes or a cluster?**

An engine maps a function over items. Here two worker processes of Dask do it; with
``scheduler=`` the same lines use the workers of a cluster, and with `ThisProcess` none.
Results come in the order of the items and are bit-identical.
"""

import matplotlib.pyplot as plt
import numpy as np

import tunax_lite as tl
from tunax_lite.runtime.engine import ThisProcess, open_engine

STRESSES = np.linspace(0.05, 0.4, 8)  # N m-2


def final_depth(stress):
    """Mixed-layer depth after a day [m]. A worker imports what it needs."""
    import tunax_lite as tl

    grid = tl.Grid.uniform(depth=80.0, n_cells=80)
    water = tl.State.from_profiles(grid, temperature=lambda z: 20.0 + 0.05 * z)
    forcing = tl.ConstantForcing(tl.SurfaceFluxes(stress_u=float(stress)))
    case = tl.Case(grid, water, forcing, coriolis_parameter=1e-4, duration=86400.0)
    run = tl.simulate(tl.Model(tl.KEpsilon()), case, dt=60.0, output_interval=3600.0)
    return float(tl.mixed_layer_depth(run.state.temperature[-1], grid))


# %%
# A script that is run as a file keeps this part below ``if __name__ == "__main__":``, because
# workers import it.

if __name__ == "__main__":
    tl.configure()
    with open_engine(workers=2) as engine:
        depths = engine.map(final_depth, list(STRESSES))
    assert depths[::7] == ThisProcess().map(final_depth, [STRESSES[0], STRESSES[-1]])
    assert abs(depths[-1] - 32.5) < 0.3

    figure, ax = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
    ax.plot(STRESSES, depths, "o-")
    ax.set(xlabel="wind stress [N m$^{-2}$]", ylabel="mixed-layer depth after a day [m]", ylim=(0, None))
