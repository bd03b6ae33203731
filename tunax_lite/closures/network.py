"""A small dense network on the faces of a column, with all its weights in one vector.

Written as sums of products instead of matrix products: a width of ten on a column is too little for a library
of matrices, and so the network becomes part of the loop over the levels. The batch axes stay last.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._types import InnerFaceArray

if TYPE_CHECKING:
    # Checkers do not see that a network fills them in.
    Weights = Any
else:
    Weights = Float[Array, "weight *#batch"] | None
"""Layer by layer: the matrix by rows, one row per output, then the offsets.

`None` where they are still to be drawn.
"""


def layer_sizes(n_inputs: int, width: int, depth: int, n_outputs: int) -> tuple[tuple[int, int], ...]:
    """Outputs and inputs of each layer, the last one included."""
    widths = (n_inputs, *(width,) * depth, n_outputs)
    return tuple(zip(widths[1:], widths[:-1], strict=True))


def n_weights(sizes: Sequence[tuple[int, int]]) -> int:
    """Length of the vector of weights."""
    return sum(n_out * (n_in + 1) for n_out, n_in in sizes)


def initial_weights(sizes: Sequence[tuple[int, int]], seed: int) -> np.ndarray:
    """Random weights of variance 1 / inputs in all layers but the last, which is zero, as are all offsets.

    Source: LeCun et al. (1998), in Neural Networks: Tricks of the Trade, Springer, for the variance.
    """
    random = np.random.default_rng(seed)
    parts = []
    for n_out, n_in in sizes[:-1]:
        parts += [random.normal(0.0, 1.0 / math.sqrt(n_in), n_out * n_in), np.zeros(n_out)]
    n_out, n_in = sizes[-1]
    return np.concatenate([*parts, np.zeros(n_out * (n_in + 1))])


def evaluate(
    weights: Weights, sizes: Sequence[tuple[int, int]], inputs: Sequence[InnerFaceArray]
) -> list[InnerFaceArray]:
    """Outputs of the network at each face: tanh(W x + b) layer by layer, W x + b at the end.

    Args:
        weights: of all layers.
        sizes: from `layer_sizes`.
        inputs: one array per input, of common shape.
    """
    signals, start = list(inputs), 0
    for i, (n_out, n_in) in enumerate(sizes):
        matrix = weights[start : start + n_out * n_in].reshape(n_out, n_in, *weights.shape[1:])
        start += n_out * n_in
        total = _beside(weights[start : start + n_out], signals[0])
        start += n_out
        for j, signal in enumerate(signals):
            total = total + _beside(matrix[:, j], signal) * signal
        total = total if i == len(sizes) - 1 else jnp.tanh(total)
        signals = [total[k] for k in range(n_out)]
    return signals


def _beside(weights: Float[Array, "..."], signal: InnerFaceArray) -> Float[Array, "..."]:
    """Weights by output, with axes of length one for the levels and the batch axes that they lack."""
    missing = 1 + signal.ndim - weights.ndim
    return weights.reshape(weights.shape[0], *(1,) * missing, *weights.shape[1:])
