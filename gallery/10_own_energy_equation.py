"""
A closure with its own energy equation
======================================

**How do I give a closure a memory?**

A closure with prognostic variables keeps them in its state. `init` returns the initial state, `step`
the state after a time step. This one has turbulent kinetic energy on the inner faces:

.. math::  \\partial_t k = \\nu S^2 - \\kappa N^2 - c\\,k^{3/2}/\\ell, \\qquad
           \\nu = \\kappa = c_\\nu\\,\\ell\\,\\sqrt{k}, \\qquad \\ell = \\min(0.4\\,|z|,\\ \\sqrt{2k}/N).

Sinks are implicit, so that k stays positive for any time step.
"""

import jax.numpy as jnp
import matplotlib.pyplot as plt

import tunax_lite as tl
from tunax_lite.closures import AbstractPlainClosure, CloState, ClosureInputs
from tunax_lite.numerics import safe_sqrt, with_end_faces


class EnergyState(CloState):
    eddy_viscosity: tl.FaceArray
    eddy_diffusivity: tl.FaceArray
    energy: tl.InnerFaceArray  # [m2 s-2]


class LocalEnergy(AbstractPlainClosure[EnergyState]):
    mixing: tl.Scalar = tl.parameter(0.3, valid_range=(0.01, 1.0))
    dissipation: tl.Scalar = tl.parameter(0.4, valid_range=(0.01, 2.0))
    floor: tl.Scalar = tl.parameter(1e-7, unit="m2 s-2", valid_range=(0.0, 1e-3))

    def length(self, energy, inputs: ClosureInputs):
        stable = jnp.maximum(inputs.buoyancy_frequency_squared, 1e-10)
        buoyant, geometric = safe_sqrt(2.0 * energy / stable), -0.4 * inputs.grid.z_face[1:-1]
        return jnp.minimum(buoyant, geometric)

    def with_energy(self, energy, inputs: ClosureInputs) -> EnergyState:
        mixing = with_end_faces(self.mixing * self.length(energy, inputs) * safe_sqrt(energy))
        return EnergyState(mixing, mixing, energy)

    def init(self, inputs: ClosureInputs) -> EnergyState:
        return self.with_energy(self.floor + 0.0 * inputs.shear_squared, inputs)

    def step(self, clo_state: EnergyState, inputs: ClosureInputs, dt) -> EnergyState:
        old, mixing = clo_state.energy, clo_state.eddy_viscosity[1:-1]
        stability = inputs.buoyancy_frequency_squared
        gain = mixing * (inputs.shear_squared + jnp.maximum(-stability, 0.0))
        loss = mixing * jnp.maximum(stability, 0.0) / old
        loss = loss + self.dissipation * safe_sqrt(old) / self.length(old, inputs)
        energy = jnp.maximum((old + dt * gain) / (1.0 + dt * loss), self.floor)
        return self.with_energy(energy, inputs)


# %%
# Its state is saved with the run, like that of the built-in closures.

tl.configure()
grid = tl.Grid.uniform(depth=50.0, n_cells=50)
fluxes, water = (
    tl.SurfaceFluxes(stress_u=0.1),
    tl.State.from_profiles(grid, temperature=lambda z: 20.0 + 0.05 * z),
)
case = tl.Case(grid, water, tl.ConstantForcing(fluxes), coriolis_parameter=1e-4, duration=86400.0)
run = tl.simulate(tl.Model(LocalEnergy()), case, dt=60.0, output_interval=1800.0)
depth = float(tl.mixed_layer_depth(run.state.temperature[-1], grid))
assert abs(depth - 20.8) < 0.5

figure, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
energy = jnp.log10(run.clo_state.energy)
section = ax.pcolormesh(run.time / 3600.0, grid.z_face[1:-1], energy.T, cmap="magma", shading="nearest")
ax.set(xlabel="time [h]", ylabel="z [m]", ylim=(-40, 0), title=f"The mixed layer reaches {depth:.1f} m")
figure.colorbar(section, label="log$_{10}$ k [m$^2$ s$^{-2}$]")
