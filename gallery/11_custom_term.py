"""
A term of your own
==================

**How do I add oxygen that the air renews and bacteria consume?**

Everything that acts on the column besides mixing is a term. This one relaxes the tracer `oxygen` towards
saturation at the surface and consumes it everywhere. `Add a term <../terms.html>`_ lists the other
methods.
"""

import jax.numpy as jnp
import matplotlib.pyplot as plt

import tunax_lite as tl
from tunax_lite.column.terms import AbstractTerm, Column, Tendency


class Oxygen(AbstractTerm):
    piston_velocity: tl.Scalar = tl.parameter(5e-5, unit="m s-1", valid_range=(0.0, 1e-3))
    saturation: tl.Scalar = tl.parameter(280.0, unit="mmol m-3", valid_range=(0.0, 500.0))
    consumption: tl.Scalar = tl.parameter(2e-7, unit="s-1", valid_range=(0.0, 1e-4))

    def on_scalars(self, column: Column) -> dict[str, Tendency]:
        oxygen = column.state.tracers["oxygen"]
        from_air = self.piston_velocity * (self.saturation - oxygen[-1])
        return {"oxygen": Tendency(surface=from_air, loss_rate=self.consumption + 0.0 * oxygen)}


# %%
# Cooling that sets in after ten days of warming brings oxygen down again.

tl.configure()
grid = tl.Grid.uniform(depth=60.0, n_cells=60)
days = jnp.array([0.0, 10.0, 11.0, 20.0])
case = tl.Case(
    grid,
    tl.State.from_profiles(grid, temperature=lambda z: 15.0 + 0.02 * z, tracers={"oxygen": 280.0}),
    tl.TimeSeriesForcing.from_values(
        86400.0 * days, stress_u=0.05 + 0.0 * days, heat_flux=100.0 - 300.0 * (days > 10)
    ),
    coriolis_parameter=1e-4,
    terms={"oxygen": Oxygen()},
    duration=20 * 86400.0,
)
run = tl.simulate(tl.Model(tl.KEpsilon()), case, dt=600.0, output_interval=6 * 3600.0)
oxygen = run.state.tracers["oxygen"]
at_30_m = oxygen[:, 30]
assert at_30_m.min() < 210.0 and at_30_m[-1] > 225.0

figure, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
section = ax.pcolormesh(run.time / 86400.0, grid.z_center, oxygen.T, cmap="cividis", shading="nearest")
ax.set(
    xlabel="time [d]", ylabel="z [m]", title=f"At 30 m oxygen falls to {at_30_m.min():.0f} mmol m$^{{-3}}$"
)
figure.colorbar(section, label="oxygen [mmol m$^{-3}$]")
