"""
A closure of your own
=====================

**How do I try out my own formula for the eddy viscosity?**

A diagnostic closure has one method: `diagnose` takes the state of the column and returns eddy
coefficients on the faces. Its fields are its parameters, with unit and range; runs, gradients
and calibrations treat them like those of the built-in closures. `How to <../extending.html>`_
explains each line.
"""

import equinox as eqx
import jax.numpy as jnp
import matplotlib.pyplot as plt

import tunax_lite as tl
from tunax_lite.closures import AbstractDiagnosticClosure, ClosureInputs, EddyCoefficients


class Ekman(AbstractDiagnosticClosure[EddyCoefficients]):
    """nu = c u* |z| exp(-|z| |f| / (b u*)), the same for heat."""

    strength: tl.Scalar = tl.parameter(0.4, valid_range=(0.01, 2.0))
    reach: tl.Scalar = tl.parameter(0.04, valid_range=(0.01, 2.0))
    background: tl.Scalar = tl.parameter(1e-5, unit="m2 s-1", valid_range=(0.0, 1.0))

    def diagnose(self, inputs: ClosureInputs) -> EddyCoefficients:
        distance, velocity = -inputs.grid.z_face[1:-1], inputs.surface_friction_velocity + 1e-6
        decay = jnp.exp(-distance * jnp.abs(inputs.coriolis_parameter) / (self.reach * velocity))
        mixing = self.strength * velocity * distance * decay + self.background
        return EddyCoefficients.from_inner_faces(mixing, mixing)


tl.configure()
grid = tl.Grid.uniform(depth=60.0, n_cells=60)
fluxes, water = (
    tl.SurfaceFluxes(stress_u=0.1),
    tl.State.from_profiles(grid, temperature=lambda z: 20.0 + 0.05 * z),
)
case = tl.Case(grid, water, tl.ConstantForcing(fluxes), coriolis_parameter=1e-4, duration=86400.0)


def surface_temperature(closure):
    run = tl.simulate(tl.Model(closure), case, dt=300.0, output_interval=3600.0)
    return run.state.temperature[-1, -1], run


(surface, run), gradient = eqx.filter_value_and_grad(surface_temperature, has_aux=True)(Ekman())
step = 1e-4
differences = [surface_temperature(Ekman(reach=0.04 + s))[0] for s in (step, -step)]
assert abs((differences[0] - differences[1]) / (2 * step) / gradient.reach - 1.0) < 1e-5
assert abs(gradient.reach + 11.6) < 0.2

# %%
# The same case with k-epsilon, for comparison.

figure, axes = plt.subplots(1, 2, figsize=(7, 3.6), sharey=True, layout="constrained")
for label, shown in (("own closure", run), ("k-epsilon", surface_temperature(tl.KEpsilon())[1])):
    axes[0].plot(shown.state.temperature[-1], grid.z_center, label=label)
    axes[1].plot(shown.clo_state.eddy_diffusivity[-1], grid.z_face)
axes[0].set(xlabel="temperature [°C]", ylabel="z [m]")
axes[0].set_title(f"∂ SST / ∂ reach = {gradient.reach:.2f} K", fontsize="medium")
axes[1].set(xlabel="eddy diffusivity [m$^2$ s$^{-1}$]")
axes[0].legend()
