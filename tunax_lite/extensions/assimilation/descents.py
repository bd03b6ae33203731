"""Ways from a control of 4D-Var to one of lower cost; they differ in how much of the Jacobian G they compute.

`jacobian` computes all of G, a tangent column for each number of the control, and solves the linear problem
exactly. `lanczos` solves it by Krylov vectors of the Hessian of Gauss-Newton,

    (I + Gᵀ R⁻¹ G) dv = -grad J(v_k),

each by one tangent and one adjoint run. Its Ritz pairs (l_i, u_i) precondition the next linearisation by
I + sum_i (l_i^(-1/2) - 1) u_i u_iᵀ (Tshimanga et al. 2008, Q. J. R. Meteorol. Soc. 134, 751-769). `lbfgs`
needs the gradient alone, and gathers curvature from step to step.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Control = Float[Array, " control"]


class Ritz(NamedTuple):
    """Estimates of eigenvalues, and of eigenvectors as columns."""

    values: Float[np.ndarray, " pair"]
    vectors: Float[np.ndarray, "control pair"]

    def root(self, p: np.ndarray) -> np.ndarray:
        """The vector after the symmetric preconditioner: the operator is nearly the identity between two."""
        return p + self.vectors @ ((self.values**-0.5 - 1.0) * (self.vectors.T @ p))


def lanczos(
    product: Callable[[np.ndarray], np.ndarray],
    aim: Float[np.ndarray, " control"],
    n_steps: int,
    tolerance: float = 1e-8,
) -> tuple[Float[np.ndarray, " control"], Ritz]:
    """The solution x of A x = b for a symmetric positive operator, by Lanczos with full orthogonalisation.

    Ends when the residual is below the tolerance times that of zero. The Krylov space is the one of conjugate
    gradients, whose iterates are the same; libraries keep no Ritz pairs of it.

    Source: Golub and Van Loan (2013), Matrix Computations, section 10.1.
    """
    size = np.linalg.norm(aim)
    if size == 0.0:
        return aim, Ritz(np.zeros(0), np.zeros((aim.size, 0)))
    basis, applied = [aim / size], []
    while True:
        applied.append(np.asarray(product(basis[-1])))
        vectors = np.stack(basis, axis=1)
        small = vectors.T @ np.stack(applied, axis=1)  # tridiagonal up to round-off
        values, turns = np.linalg.eigh(0.5 * (small + small.T))
        weights = turns @ (turns[0] * size / values)
        rest = applied[-1]
        for _ in range(2):  # once leaves the round-off of what cancels
            rest = rest - vectors @ (vectors.T @ rest)
        norm = np.linalg.norm(rest)
        if len(basis) == min(n_steps, aim.size) or norm * abs(weights[-1]) < tolerance * size:
            return vectors @ weights, Ritz(values, vectors @ turns)
        basis.append(rest / norm)


@eqx.filter_jit
def gradient_of(cost: Callable[[Control], Array], v: Control) -> Control:
    """Of the cost, by the adjoint of the run."""
    return jax.grad(cost)(v)


@eqx.filter_jit
def curvature(shown: Callable[[Control], Array], precision: Array, v: Control, p: Control) -> Control:
    """The Hessian of Gauss-Newton about v times a vector, by a tangent and an adjoint run."""
    along = jax.jvp(shown, (v,), (p,))[1]
    return p + jax.vjp(shown, v)[1](precision * along)[0]


def by_lanczos(
    cost: Callable[[Control], Array], shown: Callable[[Control], Array], precision: Array, n_inner: int
) -> Callable[[Control], Control]:
    """The next control from a control: the minimum of the linear problem, with the pairs of the last ones."""
    known: list[Ritz] = []

    def aim(v: Control) -> Control:
        def to(p: np.ndarray) -> np.ndarray:
            for each in reversed(known):
                p = each.root(p)
            return p

        def back(p: Array) -> np.ndarray:
            q = np.asarray(p)
            for each in known:
                q = each.root(q)
            return q

        def product(p: np.ndarray) -> np.ndarray:
            return back(curvature(shown, precision, v, jnp.asarray(to(p), v.dtype)))

        solved, pairs = lanczos(product, back(-gradient_of(cost, v)), n_inner)
        step = to(solved)
        known.append(pairs)
        return v + jnp.asarray(step, v.dtype)

    return aim


def by_lbfgs(cost: Callable[[Control], Array], memory_size: int) -> Callable[[Control], Control]:
    """The next control from a control, by the limited-memory quasi-Newton direction of optax."""
    from ...calibration.methods import lbfgs, optax_update

    transformation = lbfgs(memory_size)
    memory = []

    def aim(v: Control) -> Control:
        state = memory.pop() if memory else transformation.init(v)
        scaled, state = optax_update(transformation, gradient_of(cost, v), state, v)
        memory.append(state)
        return v - jnp.asarray(scaled)

    return aim
