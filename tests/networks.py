"""A closure outside the package whose eddy coefficients a network of Equinox computes."""

import equinox as eqx
import jax
import jax.numpy as jnp

import tunax_lite as tl
from tunax_lite.closures import AbstractDiagnosticClosure, ClosureInputs, EddyCoefficients
from tunax_lite.declarations import setting


class Learned(AbstractDiagnosticClosure[EddyCoefficients]):
    """nu = kappa = largest sigmoid(network), where the water is stirred.

    Args:
        largest: coefficient where the network is far above zero [m2 s-1].
        net: of the stratification relative to the shear, and of the distance to the surface.
        width: of its hidden layer.
        seed: of its first weights.
    """

    largest: tl.Scalar = tl.parameter(0.02, unit="m2 s-1", valid_range=(1e-4, 1.0))
    net: eqx.nn.MLP | None = None
    width: int = setting(4, at_least=1)
    seed: int = setting(0, at_least=0)

    def __post_init__(self):
        if self.net is None:
            key = jax.random.key(self.seed)
            self.net = eqx.nn.MLP(2, 1, self.width, 1, activation=jnp.tanh, key=key)

    def diagnose(self, inputs: ClosureInputs) -> EddyCoefficients:
        assert self.net is not None
        n_squared, s_squared = inputs.buoyancy_frequency_squared, inputs.shear_squared
        relative = n_squared / (jnp.abs(n_squared) + s_squared + 1e-8)
        distance = 0.0 * n_squared - inputs.grid.z_face[1:-1] / 50.0
        flat = jnp.stack([relative.ravel(), distance.ravel()])
        found = jax.vmap(self.net, in_axes=-1, out_axes=-1)(flat).reshape(relative.shape)
        mixing = self.largest * jax.nn.sigmoid(found)
        return EddyCoefficients.from_inner_faces(mixing, mixing)
