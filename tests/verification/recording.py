"""Central differences that stay away from the kinks of k-epsilon.

The closure is full of switches (Patankar's choice of implicit sinks, the sign of the buoyancy production,
floors, the limit of the length), and a loss over thousands of steps is smooth only between the parameter
values at which one of them flips somewhere. `RecordingKEpsilon` writes down what every switch did on every
face in every step; a difference is taken only over an interval at whose ends and middle all switches agree.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, UInt64

from tunax_lite._types import FaceArray
from tunax_lite.closures import (
    AbstractClosure,
    AbstractStepper,
    CloState,
    ClosureInputs,
    KEpsilon,
    SecondMomentClosure,
    TurbulenceState,
)

_MIXER = np.uint64(6364136223846793005)


class RecordingState(CloState):
    """State of k-epsilon, and one number per column that stands for all switches of all steps so far."""

    eddy_viscosity: FaceArray
    eddy_diffusivity: FaceArray
    turbulence: TurbulenceState
    checksum: UInt64[Array, "*#batch"]

    @classmethod
    def of(cls, turbulence: TurbulenceState, checksum: UInt64[Array, "*#batch"]) -> "RecordingState":
        return cls(
            eddy_viscosity=turbulence.eddy_viscosity,
            eddy_diffusivity=turbulence.eddy_diffusivity,
            turbulence=turbulence,
            checksum=checksum,
        )


class RecordingKEpsilon(AbstractClosure[RecordingState]):
    """k-epsilon that records its switches."""

    closure: KEpsilon

    def prepare(self) -> "RecordingStepper":
        return RecordingStepper(self.closure, self.closure.prepare())


class RecordingStepper(AbstractStepper[RecordingState]):
    """The steps of k-epsilon, with what their switches did."""

    closure: KEpsilon
    stepper: AbstractStepper[TurbulenceState]

    def init(self, inputs: ClosureInputs) -> RecordingState:
        new = self.stepper.init(inputs)
        start = jnp.zeros(inputs.shear_squared.shape[1:], jnp.uint64)
        return RecordingState.of(new, start)

    def step(self, clo_state: RecordingState, inputs: ClosureInputs, dt) -> RecordingState:
        old, inner = clo_state.turbulence, slice(1, -1)
        new = self.stepper.step(old, inputs, dt)
        closure, n_squared = self.closure, inputs.buoyancy_frequency_squared
        assert isinstance(closure.stability, SecondMomentClosure) and closure.length_limit is not None
        functions = closure.stability.stability_functions()
        shear = old.eddy_viscosity[inner] * inputs.shear_squared
        buoyancy = -old.eddy_diffusivity[inner] * n_squared
        time_scale = old.turbulent_kinetic_energy[inner] / old.dissipation_rate[inner]
        tke, dissipation = new.turbulent_kinetic_energy[inner], new.dissipation_rate[inner]
        c_eps_3 = jnp.where(buoyancy > 0.0, closure.c_eps_3_plus, closure.c_eps_3_stable)
        lowest = functions.c_mu_0**3 * tke * jnp.sqrt(0.5 * jnp.maximum(n_squared, 0.0))
        lowest = lowest / closure.length_limit
        at_floor = 1.0 + 1e-12  # both sides were rounded
        switches = (
            shear + buoyancy > 0.0,
            buoyancy > 0.0,
            closure.c_eps_1 * shear + c_eps_3 * buoyancy > 0.0,
            time_scale**2 * n_squared < functions.lowest_alpha_n,
            tke <= closure.turbulent_kinetic_energy_floor * at_floor,
            dissipation <= closure.dissipation_rate_floor * at_floor,
            dissipation <= lowest * at_floor,
            new.eddy_viscosity[inner] > 0.0,
            new.eddy_diffusivity[inner] > 0.0,
        )
        bits = sum(switch.astype(jnp.uint64) << i for i, switch in enumerate(switches))
        # A hash: powers of an odd number tell faces and steps apart; overflow is part of it.
        face = jnp.arange(tke.shape[0], dtype=jnp.uint64).reshape((-1,) + (1,) * (tke.ndim - 1))
        pattern = jnp.sum(bits * (face * _MIXER + _MIXER) ** 3, axis=0)
        checksum = clo_state.checksum * _MIXER + pattern
        return RecordingState.of(new, checksum)
