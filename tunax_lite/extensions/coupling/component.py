"""A column as a component of a coupled model: explicit state, with fluxes from outside.

Time stepping is that of `simulate`, through its time loop `advance`. All methods are pure functions of
arrays: they work in `jax.jit`, `jax.lax.scan` and `jax.checkpoint`, and derivatives pass through them.
`tunax_lite.coupling.Bmi` offers the same column behind the Basic Model Interface.
"""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..._types import Scalar, ScalarLike, is_traced, precision_of, without_weak_types
from ...column.arguments import case_over_steps
from ...column.case import Case
from ...column.forcing import AbstractForcing, SurfaceFluxes, WaterSurface, check_fluxes
from ...column.integrate import advance, batched_case, count_steps, start_of
from ...column.model import Model
from ...column.observables import ColumnState, observable
from ...column.trajectory import Restart, prognostic_variables
from ...quantities import check_values


class CoupledForcing(AbstractForcing):
    """Fluxes from another model, which override those of a case.

    Args:
        of_case: forcing of the case, which provides the fluxes that the other model does not. A prescribed
            stress replaces both components and the drag of the case.
        prescribed: fluxes from the other model; `None` for those of the case.
    """

    of_case: AbstractForcing
    prescribed: SurfaceFluxes

    def at(self, time: ScalarLike, water: WaterSurface | None = None) -> SurfaceFluxes:
        overrides = {name: flux for name, flux in vars(self.prescribed).items() if flux is not None}
        fluxes = self.of_case.at(time, water)
        if {"stress_u", "stress_v"} & overrides.keys():  # the drag is part of the replaced stress
            overrides = {"stress_u": None, "stress_v": None, "surface_drag": None} | overrides
        overrides["tracer_fluxes"] = fluxes.tracer_fluxes | self.prescribed.tracer_fluxes
        return dataclasses.replace(fluxes, **overrides)

    def air_temperature(self, time: ScalarLike) -> Scalar | None:
        return self.of_case.air_temperature(time)

    def air_pressure(self, time: ScalarLike) -> Scalar | None:
        return self.of_case.air_pressure(time)

    def wind_speed(self, time: ScalarLike, water: WaterSurface | None = None) -> Scalar | None:
        return self.of_case.wind_speed(time, water)

    def check_covers(self, start: float, end: float) -> None:
        self.of_case.check_covers(start, end)


class Component(eqx.Module):
    """A column, or a batch of columns, that another model steps.

    Args:
        model: numerical model, with the closure.
        case: grid, initial state, terms, and the fluxes that the other model does not prescribe.
        dt: time step [s].

    Raises:
        ValueError: a model and a case of different precision, or a time step that is not positive.
    """

    model: Model
    case: Case
    dt: float = eqx.field(static=True)

    def __init__(self, model: Model, case: Case, dt: float = 60.0):
        count_steps(dt, dt, "dt")
        self.model, case = without_weak_types((model, case), precision_of(model=model, case=case))
        self.case = batched_case(self.model, case_over_steps(self.model, case.unlabelled(), float(dt)))
        self.dt = float(dt)

    @eqx.filter_jit
    def init(self) -> Restart:
        """Return the prognostic variables at the start of the case."""
        return start_of(self.model, self.case)

    def step(self, now: Restart, fluxes: SurfaceFluxes, interval: float | None = None) -> Restart:
        """Advance under fluxes that are constant over an interval.

        Args:
            now: from `init`, `step` or `set_value`.
            fluxes: numbers, or one value per column, positive into the water; where `None`, the flux of the
                case at each step applies.
            interval: duration [s], a multiple of `dt`; by default one time step.

        Raises:
            ValueError: an interval that is not a multiple of `dt`, or impossible fluxes, such as 1 MW m-2,
                unless they are traced.
        """
        check_fluxes("Component.step", fluxes)
        return self._step(now, fluxes, interval)

    @eqx.filter_jit
    def _step(self, now: Restart, fluxes: SurfaceFluxes, interval: float | None) -> Restart:
        n_steps = 1 if interval is None else count_steps(interval, self.dt, "interval")
        return self.steps(now, fluxes, n_steps)

    def steps(self, now: Restart, fluxes: SurfaceFluxes, n_steps: int | Array) -> Restart:
        """Advance by a number of steps without checking fluxes; a traced number excludes reverse mode."""
        case = eqx.tree_at(lambda c: c.forcing, self.case, CoupledForcing(self.case.forcing, fluxes))
        return advance(self.model, case, now, self.dt, n_steps)

    def time(self, now: Restart) -> Float[Array, ""]:
        """Seconds since the start of the case."""
        return now.step.astype(now.state.u.dtype) * self.dt

    def get_value(self, now: Restart, name: str) -> Float[Array, "..."]:
        """Return a prognostic variable or an observable.

        Args:
            now: from `init`, `step` or `set_value`.
            name: name of a variable of the state, the ice, the lake level or the closure, of a tracer, or of
                an observable such as `sea_surface_temperature` or `mixed_layer_depth`.

        Returns:
            `(n_cells, *batch)`, `(n_faces, *batch)` or one number per column, in the unit given in
            `tunax_lite.quantities.QUANTITIES`; for a tracer, in that of `case.tracer_units`.

        Raises:
            ValueError: an unknown name.
        """
        if name in (variables := prognostic_variables(now.state, now.clo_state)):
            return variables[name]
        state = now.state
        grid = self.case.placed(state, self.time(now)).grid
        function = observable(name, state.tracers)
        return function(ColumnState(state, grid, self.case.equation_of_state))

    def set_value(self, now: Restart, name: str, value: Float[Array, "..."] | ScalarLike) -> Restart:
        """Return `now` with new values of a prognostic variable: one per level, or a number for all.

        Raises:
            ValueError: a name that is not prognostic, values of another shape, or impossible ones.
        """
        variables = prognostic_variables(now.state, now.clo_state)
        if name not in variables:
            raise ValueError(f"set_value: expected one of {', '.join(variables)}, got '{name}'.")
        new = jnp.asarray(value, variables[name].dtype)
        if new.ndim and new.shape != variables[name].shape:
            raise ValueError(f"set_value: expected {name} of shape {variables[name].shape}, got {new.shape}.")
        if not is_traced(new):
            check_values("set_value", name, np.asarray(new))
        new = jnp.broadcast_to(new, variables[name].shape)
        return eqx.tree_at(lambda now: prognostic_variables(now.state, now.clo_state)[name], now, new)
