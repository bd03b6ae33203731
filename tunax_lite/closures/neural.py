"""A neural network that corrects the eddy coefficients of a physical closure.

    nu = nu_0 exp(b tanh(y_1 / b)),    kappa = kappa_0 exp(b tanh(y_2 / b)),    y = network(x)

where nu_0 and kappa_0 are those of the physical closure, x are dimensionless inputs at a face, and b is the
largest correction. With a zero last layer, the network leaves the physical closure unchanged. If that closure
has an equation for the turbulent kinetic energy, the corrected coefficients enter its production in the next
step: the mean flow loses what the turbulence gains.

The network is small and dense, with all weights in one vector, and written as sums of products instead of
matrix products: a width of ten per column is too small for matrix libraries, and in this form the network is
fused into the loop over levels. The batch axes stay last.
"""

import math
from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._types import InnerFaceArray, Scalar, ScalarLike, parameter, vector_parameter
from ..declarations import check_settings, named, setting
from ..numerics.elementary import (
    at_least,
    inner_faces,
    inverse_cube_root,
    reciprocal,
    safe_sqrt,
    with_end_faces,
)
from .base import AbstractCloState, AbstractClosure, AbstractStepper, ClosureInputs
from .energy import AbstractEnergyClosure, TurbulenceState
from .tke import TKE
from .two_equation import KEpsilon

Weights = Float[Array, "weight *#batch"]
"""Layer by layer: the matrix by rows, one row per output, then the offsets."""


def initial_weights(sizes: Sequence[tuple[int, int]], seed: int) -> np.ndarray:
    """Random weights of variance 1 / inputs in all but the last layer; zero weights there, and zero offsets.

    Source: LeCun et al. (1998), in Neural Networks: Tricks of the Trade, Springer, for the variance.
    """
    generator = np.random.default_rng(seed)
    parts = []
    for n_out, n_in in sizes[:-1]:
        parts += [generator.normal(0.0, 1.0 / math.sqrt(n_in), n_out * n_in), np.zeros(n_out)]
    n_out, n_in = sizes[-1]
    return np.concatenate([*parts, np.zeros(n_out * (n_in + 1))])


def evaluate(
    weights: Weights, sizes: Sequence[tuple[int, int]], inputs: Sequence[InnerFaceArray]
) -> list[InnerFaceArray]:
    """Outputs of the network at each face: tanh(W x + b) per hidden layer, W x + b in the last."""
    signals, start = list(inputs), 0
    for i, (n_out, n_in) in enumerate(sizes):
        matrix = weights[start : start + n_out * n_in].reshape(n_out, n_in, *weights.shape[1:])
        start += n_out * n_in
        total = _aligned(weights[start : start + n_out], signals[0])
        start += n_out
        for j, signal in enumerate(signals):
            total = total + _aligned(matrix[:, j], signal) * signal
        total = total if i == len(sizes) - 1 else jnp.tanh(total)
        signals = [total[k] for k in range(n_out)]
    return signals


def _aligned(weights: Float[Array, "..."], signal: InnerFaceArray) -> Float[Array, "..."]:
    """Insert axes of length one into weights, for the levels and batch axes of a signal."""
    n_axes = 1 + signal.ndim - weights.ndim
    return weights.reshape(weights.shape[0], *(1,) * n_axes, *weights.shape[1:])


# Constants that keep the inputs smooth and finite at rest, and hardly affect larger values.
_SLOWEST_ROTATION = 1e-6  # s-1
_WEAKEST_FRICTION_VELOCITY = 1e-3  # m s-1
_WEAKEST_BUOYANCY_FLUX = 1e-10  # m2 s-3
_SMALLEST_VISCOSITY = 1e-5  # m2 s-1
_TURBULENT_STRATIFICATION = 3.0  # N² k² / eps² at which this input is 1/2


@named("neural", neural_recommended="recommended")
class NeuralCorrection(AbstractClosure[AbstractCloState]):
    """A physical closure with a small network that corrects its eddy coefficients, face by face.

    Args:
        largest_correction: b, largest change of the logarithm of a coefficient [1].
        weights: weights of all layers in one vector [1]; by default random, with zeros in the last layer, so
            that there is no correction. A calibration varies all of them, under this name.
        physical: corrected closure; its non-local transport remains unchanged.
        width: outputs of a hidden layer.
        depth: number of hidden layers.
        seed: seed of the random weights.
        where: "everywhere", or "entrainment": multiplied by `entrainment_weight`, which confines it to stable
            water at the base of the turbulent layer.

    Raises:
        ValueError: no hidden layer, or a number of weights that does not match the layers.
    """

    largest_correction: Scalar = parameter(0.3, valid_range=(0.01, 10.0))
    physical: AbstractClosure = eqx.field(default_factory=KEpsilon)
    weights: Weights = vector_parameter(default=None)
    width: int = setting(4, at_least=1)
    depth: int = setting(1, at_least=1)
    seed: int = setting(0, at_least=0)
    where: str = setting("everywhere", choices=("everywhere", "entrainment"))

    def __post_init__(self):
        check_settings(self)
        if self.weights is None:
            self.weights = jnp.asarray(initial_weights(self.layer_sizes, self.seed), dtype=float)

    def __check_init__(self):
        expected = sum(n_out * (n_in + 1) for n_out, n_in in self.layer_sizes)
        shape = getattr(self.weights, "shape", (0,))
        if shape and shape[0] != expected:
            raise ValueError(
                f"NeuralCorrection: expected {expected} weights for {self.depth} hidden layers of "
                f"{self.width} and {self._n_inputs} inputs, got {shape[0]}; change width or depth."
            )

    @property
    def von_karman(self) -> ScalarLike:
        """kappa of the physical closure [1]."""
        return self.physical.von_karman

    @property
    def _n_inputs(self) -> int:
        return 6 if isinstance(self.physical, AbstractEnergyClosure | TKE) else 4  # see `network_inputs`

    @property
    def layer_sizes(self) -> tuple[tuple[int, int], ...]:
        """Numbers of outputs and inputs of each layer, including the last one."""
        widths = self._n_inputs, *(self.width,) * self.depth, 2
        return tuple(zip(widths[1:], widths[:-1], strict=True))

    def prepare(self) -> "CorrectedStepper":
        return CorrectedStepper(self.physical.prepare(), self)

    def corrected(self, clo_state: AbstractCloState, inputs: ClosureInputs) -> AbstractCloState:
        """A state of the physical closure with corrected eddy coefficients."""
        assert self.weights is not None  # set by the constructor
        outputs = evaluate(self.weights, self.layer_sizes, network_inputs(clo_state, inputs))
        bound = self.largest_correction
        corrected = []
        for coefficient, output in zip(_coefficients(clo_state), outputs, strict=True):
            exponent = bound * jnp.tanh(output / bound)
            if self.where == "entrainment":
                exponent = exponent * entrainment_weight(inputs)
            corrected.append(with_end_faces(inner_faces(coefficient) * jnp.exp(exponent)))
        return eqx.tree_at(_coefficients, clo_state, corrected)


class CorrectedStepper(AbstractStepper[AbstractCloState]):
    """Steps of a physical closure, each followed by the correction."""

    physical: AbstractStepper
    correction: NeuralCorrection

    def init(self, inputs: ClosureInputs) -> AbstractCloState:
        return self.physical.init(inputs)

    def step(self, clo_state: AbstractCloState, inputs: ClosureInputs, dt: ScalarLike) -> AbstractCloState:
        return self.correction.corrected(self.physical.step(clo_state, inputs, dt), inputs)


def _coefficients(clo_state: AbstractCloState):
    return clo_state.eddy_viscosity, clo_state.eddy_diffusivity


_CRITICAL_RICHARDSON = 0.25  # critical Richardson number of sheared flow [1]
_EKMAN_FACTOR = 0.4  # depth of the neutral layer under wind, over U / |f| [1]


def entrainment_weight(inputs: ClosureInputs) -> InnerFaceArray:
    """Weight of entrainment by wind and cooling into stable water, on inner faces [1].

        w = F² N⁴ / (N⁴ + (S² / 4)²) exp(-(d / h)⁸),   h = 0.4 U / |f|,   U³ = max(u*³ - B d, 0),
        F = U³ / (U³ + (1 mm s-1)³)

    with B the surface buoyancy flux, negative under cooling, and d the distance to the surface. The weight is
    less than 1/2 where N² < S² / 4, 0 where N² <= 0, without wind and cooling, and where d > u*³ / B under
    heating, and near 0 below the neutral Ekman layer h, where wind no longer stirs. In waves with the Stokes
    drift U_s of the uppermost cell it is multiplied by u*² / (u*² + U_s²). Constants keep it smooth, as for
    the inputs.

    Source: Miles (1961), J. Fluid Mech. 10, 496-508, for 1/4; Kraus and Turner (1967), Tellus 19, 98-106, for
    U; 0.4 lies between the 0.25 of Blackadar and Tennekes (1968), J. Atmos. Sci. 25, 1015-1020, and the 0.7
    of Large et al. (1994), Rev. Geophys. 32, 363-403.
    """
    distance, smallest = -inputs.grid.z_face[1:-1], _WEAKEST_FRICTION_VELOCITY**3
    stirring = at_least(inputs.surface_friction_velocity**3 - inputs.surface_buoyancy_flux * distance, 0.0)
    positive = stirring + smallest
    velocity = positive * inverse_cube_root(positive) ** 2
    stable = at_least(inputs.buoyancy_frequency_squared, 0.0) ** 2
    sheared = (_CRITICAL_RICHARDSON * inputs.shear_squared) ** 2 + _SLOWEST_ROTATION**4
    depth = inputs.coriolis_parameter * distance * reciprocal(_EKMAN_FACTOR * velocity)
    weight = (
        (stirring * reciprocal(positive)) ** 2 * stable * reciprocal(stable + sheared) * jnp.exp(-(depth**8))
    )
    if inputs.waves is None:
        return weight
    wind_squared = (inputs.surface_friction_velocity + _WEAKEST_FRICTION_VELOCITY) ** 2
    u, v = (drift[-1] for drift in inputs.waves.drift)
    return weight * wind_squared * reciprocal(wind_squared + u * u + v * v)


def network_inputs(clo_state: AbstractCloState, inputs: ClosureInputs) -> list[InnerFaceArray]:
    """Inputs of the network at the inner faces after a step [1]: smooth, each between -1 and 1.

    With d the distance to the surface: stratification relative to shear, N² / sqrt(N⁴ + S⁴ + f⁴); d |f| / (d
    |f| + u*); B d / (|B| d + u*³), negative under cooling; nu / (nu + u* d); and for a closure with k and
    epsilon: n / (|n| + 3) with n = N² k² / eps², and k / (k + u*²).
    """
    n_squared, s_squared = inputs.buoyancy_frequency_squared, inputs.shear_squared
    rotation_squared = inputs.coriolis_parameter**2 + _SLOWEST_ROTATION**2
    friction = inputs.surface_friction_velocity + _WEAKEST_FRICTION_VELOCITY
    distance = -inputs.grid.z_face[1:-1]
    turning = distance * safe_sqrt(rotation_squared)
    buoyancy_flux = inputs.surface_buoyancy_flux
    convection = distance * safe_sqrt(buoyancy_flux**2 + _WEAKEST_BUOYANCY_FLUX**2)
    viscosity = inner_faces(clo_state.eddy_viscosity)
    features = [
        n_squared * reciprocal(safe_sqrt(n_squared**2 + s_squared**2 + rotation_squared**2)),
        turning * reciprocal(turning + friction) + 0.0 * n_squared,
        buoyancy_flux * distance * reciprocal(convection + friction**3) + 0.0 * n_squared,
        viscosity * reciprocal(viscosity + friction * distance + _SMALLEST_VISCOSITY),
    ]
    if isinstance(clo_state, TurbulenceState):
        tke = inner_faces(clo_state.turbulent_kinetic_energy)
        stratification = n_squared * (tke * reciprocal(inner_faces(clo_state.dissipation_rate))) ** 2
        features += [
            stratification * reciprocal(jnp.abs(stratification) + _TURBULENT_STRATIFICATION),
            tke * reciprocal(tke + friction**2),
        ]
    return features
