"""One step of vertical diffusion with sources, implicit by the theta scheme, on any grid.

    h_i dY_i/dt = K_i (Y_{i+1} - Y_i) - K_{i-1} (Y_i - Y_{i-1}) + h_i (Q_i - L_i Y_i)

for control volumes of thickness h_i, with the conductance K_i (diffusivity over distance) between the volumes
i and i + 1. The volumes are cells for temperature and velocity, and the spaces between centers for turbulence
quantities, which are defined on faces. There is no diffusive flux through the two ends: a boundary flux F
enters as a source, h Q = F. In this form the matrix is symmetric and sum(h Y) is conserved to round-off.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from .._types import CenterArray, ColumnArray, FaceArray, InnerFaceArray, Scalar, ScalarLike
from .elementary import difference
from .tridiagonal import (
    AbstractTridiagonalMethod,
    CarryingMatrix,
    ExchangeMatrix,
    convergence,
    solve_tridiagonal_systems,
    with_convergence,
)


class Sources(NamedTuple):
    """Explicit sources of a quantity per area and time [unit m s-1]; `None` for none.

    Pass a downward flux rather than its convergence, which would lose content to rounding.
    """

    volumes: ColumnArray | None = None  # h Q, in every volume
    bottom: Scalar | None = None  # flux into the first volume
    surface: Scalar | None = None  # flux into the last volume
    plume_value: InnerFaceArray | None = None  # [unit], of sinking plumes, which replace rising water
    downward: InnerFaceArray | None = None  # flux from each volume to the one below
    plume_rate: InnerFaceArray | None = None  # rate of plumes [m s-1]; `None` for that of all rising water

    def through(self, areas: FaceArray, volumes: CenterArray) -> "Sources":
        """Sources per surface area, from `areas` of faces and mean areas of `volumes` relative to it."""
        return self._replace(
            volumes=None if self.volumes is None else volumes * self.volumes,
            bottom=None if self.bottom is None else areas[0] * self.bottom,
            downward=None if self.downward is None else areas[1:-1] * self.downward,
            plume_rate=None if self.plume_rate is None else areas[1:-1] * self.plume_rate,
        )

    def add_to(self, content: ColumnArray, dt: ScalarLike) -> ColumnArray:
        """Content per area [unit m] after adding the sources over `dt`, without fluxes between volumes."""
        if self.volumes is not None:
            content = content + dt * self.volumes
        # In-place updates of one level; XLA would compute code after a concatenation level by level.
        if self.bottom is not None:
            content = _add_to_level(content, 0, dt * self.bottom)
        if self.surface is not None:
            content = _add_to_level(content, content.shape[0] - 1, dt * self.surface)
        return content


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def _add_to_level(content: ColumnArray, level: int, amount: Scalar) -> ColumnArray:
    changed = content[level : level + 1] + amount
    return jax.lax.dynamic_update_slice_in_dim(content, changed, level, axis=0)


@_add_to_level.defjvp
def _(level, primals, tangents):
    (content, amount), (content_change, amount_change) = primals, tangents
    zeros = jnp.zeros_like(content_change)
    # The transpose of this is one value; the transpose of replacing a level would be a loop with a branch.
    at_level = jax.lax.dynamic_update_slice_in_dim(zeros, zeros[:1] + amount_change, level, axis=0)
    return _add_to_level(content, level, amount), content_change + at_level


class CarryingRates(NamedTuple):
    """Rates of transport from volumes to a neighbour [m s-1], at least zero, always implicit.

    The loss of one volume is the gain of its neighbour. Without negative sources, new values stay positive
    for any rate.
    """

    upward: InnerFaceArray | None = None  # from the volume i to i + 1; `None` for none
    downward: InnerFaceArray | None = None  # from the volume i + 1 to i; `None` for none

    def through(self, areas: FaceArray) -> "CarryingRates":
        """Rates per unit area of the surface, from relative areas of faces."""
        return jax.tree.map(lambda rate: areas[1:-1] * rate, self)

    def add_to(self, matrix: ExchangeMatrix, dt: ScalarLike) -> CarryingMatrix:
        """Add the exchange to the matrix of a step."""
        up = matrix.exchange if self.upward is None else matrix.exchange + dt * self.upward
        down = matrix.exchange if self.downward is None else matrix.exchange + dt * self.downward
        return CarryingMatrix(matrix.kept, up, down)

    def between(
        self, quantity: ColumnArray, plume_value: InnerFaceArray | None, rate: InnerFaceArray | None = None
    ) -> InnerFaceArray:
        """Net downward flux [unit m s-1]; plumes at `rate` [m s-1] replace rising water."""
        flux = jnp.zeros_like(quantity[1:])
        if self.upward is not None:
            below = quantity[:-1]
            if plume_value is None or rate is None:
                flux = flux + self.upward * (-below if plume_value is None else plume_value - below)
            else:
                flux = flux + rate * (plume_value - below) - (self.upward - rate) * below
        if self.downward is not None:
            flux = flux + self.downward * quantity[1:]
        return flux


class EndValues(NamedTuple):
    """Values prescribed in the first and last volume at the end of the step; `None` if free."""

    bottom: Scalar | None = None
    surface: Scalar | None = None

    def hold(self, system: "DiffusionSystem") -> "DiffusionSystem":
        """Replace the balance of a volume by the equation Y = value; `rhs` is an array."""
        rhs, matrix = system.rhs, system.matrix
        kept, *rates = jax.tree.map(
            lambda x: jnp.broadcast_to(x, (x.shape[0], *rhs.shape[1:])), tuple(matrix)
        )
        # The known value moves the neighbour's gain to the right-hand side; its loss stays in the matrix. An
        # exchange matrix has one rate for both directions, which is its first and its last.
        for value, end, neighbour, face in ((self.bottom, 0, 1, 0), (self.surface, -1, -2, -1)):
            if value is not None:
                gained, lost = (rates[0], rates[-1]) if end == 0 else (rates[-1], rates[0])
                rhs = _set_level(rhs, neighbour, rhs[neighbour] + gained[face] * value)
                kept = _set_level(kept, neighbour, kept[neighbour] + lost[face])
                rhs, kept = _set_level(rhs, end, value), _set_level(kept, end, 1.0)
                rates = [_set_level(rate, face, 0.0) for rate in rates]
        return system._replace(matrix=type(matrix)(kept, *rates), rhs=rhs)


def _set_level(values: ColumnArray, level: int, value: ScalarLike) -> ColumnArray:
    new_level = jnp.zeros_like(values[:1]) + value
    return jax.lax.dynamic_update_slice_in_dim(values, new_level, level % values.shape[0], axis=0)


class DiffusionSystem(NamedTuple):
    """One time step as linear systems: `matrix @ new = rhs`, or `matrix @ (new - old) = residual`.

    The second form keeps rounding relative to the change instead of the value. Its residual leaves out the
    downward fluxes between volumes [unit m], which `sinking` has.
    """

    matrix: ExchangeMatrix | CarryingMatrix
    rhs: PyTree
    residual: PyTree
    sinking: PyTree


def diffusion_system(
    quantities: PyTree,
    conductance: InnerFaceArray,
    thickness: ColumnArray,
    dt: ScalarLike,
    *,
    source: PyTree,
    sink_rate: ColumnArray | None = None,
    theta: float = 1.0,
    flow: CarryingRates | None = None,
    thickness_before: ColumnArray | None = None,
) -> DiffusionSystem:
    """Matrix and right-hand sides of one time step; arguments as in `diffuse`.

    `thickness_before` is the thickness at the start of the step, where it varies.
    """
    exchange = dt * conductance
    kept = thickness if sink_rate is None else thickness + dt * sink_rate * thickness

    def right_hand_side(quantity: ColumnArray, sources: Sources) -> ColumnArray:
        content = (thickness if thickness_before is None else thickness_before) * quantity
        if theta != 1.0:
            content = content + (1.0 - theta) * convergence(exchange, quantity)
        if flow is not None and flow.upward is not None and sources.plume_value is not None:
            rate = flow.upward if sources.plume_rate is None else sources.plume_rate
            content = with_convergence(content, dt * rate * sources.plume_value)
        if sources.downward is not None:
            content = with_convergence(content, dt * sources.downward)
        return sources.add_to(content, dt)

    def residual(quantity: ColumnArray, sources: Sources) -> ColumnArray:
        gain = jnp.zeros_like(quantity)
        if thickness_before is not None:
            gain = (thickness_before - thickness) * quantity
        if sink_rate is not None:
            gain = gain - dt * sink_rate * thickness * quantity
        return sources.add_to(gain, dt)

    def sinking(quantity: ColumnArray, sources: Sources) -> InnerFaceArray:
        flux = exchange * difference(quantity)
        if sources.downward is not None:
            flux = flux + dt * sources.downward
        if flow is not None:
            flux = flux + dt * flow.between(quantity, sources.plume_value, sources.plume_rate)
        return flux

    matrix = ExchangeMatrix(kept, theta * exchange)
    return DiffusionSystem(
        matrix if flow is None else flow.add_to(matrix, dt),
        jax.tree.map(right_hand_side, quantities, source),
        jax.tree.map(residual, quantities, source),
        jax.tree.map(sinking, quantities, source),
    )


def diffuse(
    quantities: PyTree,
    conductance: InnerFaceArray,
    thickness: ColumnArray,
    dt: ScalarLike,
    *,
    source: PyTree,
    sink_rate: ColumnArray | None = None,
    theta: float = 1.0,
    held: EndValues | None = None,
    flow: CarryingRates | None = None,
    method: AbstractTridiagonalMethod | None = None,
) -> PyTree:
    """Advance quantities that share their diffusivity by one time step.

    Args:
        quantities: pytree of arrays `(n, *batch)` with values Y.
        conductance: K between neighbouring volumes [m s-1], `(n - 1, *batch)`.
        thickness: h of the volumes [m], `(n, *batch)`.
        dt: time step [s].
        source: pytree like `quantities` with `Sources` for each.
        sink_rate: L [s-1], at least zero, always implicit.
        theta: weight of the new values in the diffusive fluxes: 1 backward Euler, 0.5 Crank-Nicolson.
        held: values prescribed at the ends instead of their balance; for a single quantity.
        flow: additional exchange between volumes; makes the matrix unsymmetric.
        method: solver of the linear system; by default the fastest on the platform.

    Returns:
        The new values. With theta = 1 and non-negative sources they stay positive for any time step.

    Source: Burchard et al. (2003) for the splitting of sources and sinks (Patankar); GOTM `diff_center`.
    """
    # Do not solve for the change: new values then stay positive exactly.
    system = diffusion_system(
        quantities, conductance, thickness, dt, source=source, sink_rate=sink_rate, theta=theta, flow=flow
    )
    if held is not None:
        system = held.hold(system)
    return solve_tridiagonal_systems((system.matrix,), (system.rhs,), method)[0]
