"""A column behind the Basic Model Interface of CSDMS, for model coupling frameworks.

`Bmi` has the methods of `bmipy.Bmi` without depending on that package: frameworks call them by name.
Variables have the names and units of `tunax_lite.quantities`. Derivatives do not pass through this interface,
but through `tunax_lite.coupling.Component`.

Source: Hutton, Piper and Tucker (2020), J. Open Source Softw. 5(51), 2317, version 2.0 of the interface.
"""

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from ...column import forcing
from ...column.forcing import SurfaceFluxes, WaterSurface
from ...column.integrate import count_steps
from ...column.observables import variable_of
from ...column.trajectory import Restart, prognostic_variables
from ...config import load_run
from ...config.build import build_run
from ...quantities import check_values
from .component import Component

FLUXES = tuple(f"surface_{name}" for name in forcing.FLUXES)
"""Input fluxes; those of the configuration apply until they are set."""
_OBSERVED = ("sea_surface_temperature", "mixed_layer_depth")
_GRIDS = ("scalar", "rectilinear", "rectilinear")  # scalars, centers of the cells, faces
Values = np.ndarray


class Bmi:
    """One column, configured like a run, that a framework initialises and steps.

    Grid 0 is a scalar, grid 1 the cell centers and grid 2 the faces, bottom first. The only axis of grids 1
    and 2 is the height [m], positive upward. Inputs are surface fluxes, positive into the water, and all
    prognostic variables; outputs are the prognostic variables, the sea surface temperature and the mixed
    layer depth.

    Raises:
        ValueError: an unknown variable or grid; values of unexpected size, not finite or impossible; a time
            that is past, beyond the end of the run, or not a multiple of the time step.
        RuntimeError: a call before `initialize` that needs the configuration.
        NotImplementedError: `get_value_ptr`, because JAX arrays are immutable, and functions for grid
            properties that these grids lack.
    """

    def __init__(self):
        self._component: Component | None = None

    def initialize(self, config_file: str) -> None:
        """Read a configuration; each note on its input is issued as an `InputWarning`."""
        loaded = load_run(Path(config_file))
        self._precision = loaded.config.precision == "float64"
        with jax.enable_x64(self._precision):
            run = build_run(loaded)
            self._component = Component(run.model, run.case, run.dt)
            self._now = self._component.init()
        self._end = run.case.duration if run.duration is None else run.duration
        self._fluxes: dict[str, float] = {}

    def finalize(self) -> None:
        self._component = None

    def update(self) -> None:
        self._advance(1)

    def update_until(self, time: float) -> None:
        remaining = time - self.get_current_time()
        if remaining:
            self._advance(count_steps(remaining, self.get_time_step(), "the remaining time"))

    def _advance(self, n_steps: int) -> None:
        component = self._initialised()
        end = self.get_current_time() + n_steps * component.dt
        if end > self._end * (1.0 + 1e-9):
            raise ValueError(f"Bmi: expected times up to the end, {self._end:g} s, got {end:g} s.")
        with jax.enable_x64(self._precision):
            fluxes = SurfaceFluxes(**{name.removeprefix("surface_"): x for name, x in self._fluxes.items()})
            self._now = _steps(component, self._now, fluxes, jnp.asarray(n_steps, jnp.int32))

    def get_component_name(self) -> str:
        return "tunax_lite"

    def get_input_var_names(self) -> tuple[str, ...]:
        return *FLUXES, *self._prognostic()

    def get_output_var_names(self) -> tuple[str, ...]:
        return *self._prognostic(), *_OBSERVED

    def get_input_item_count(self) -> int:
        return len(self.get_input_var_names())

    def get_output_item_count(self) -> int:
        return len(self.get_output_var_names())

    def get_start_time(self) -> float:
        return 0.0

    def get_end_time(self) -> float:
        self._initialised()
        return self._end

    def get_current_time(self) -> float:
        dt = self._initialised().dt
        return int(self._now.step) * dt

    def get_time_step(self) -> float:
        return self._initialised().dt

    def get_time_units(self) -> str:
        return "s"

    def get_var_grid(self, name: str) -> int:
        shape = self._value(name).shape
        if not shape:
            return 0
        return 1 if shape[0] == self._heights(1).size else 2

    def get_var_type(self, name: str) -> str:
        return str(self._value(name).dtype)

    def get_var_units(self, name: str) -> str:
        self._value(name)
        quantity = variable_of(name)
        return "1" if quantity is None else quantity.unit

    def get_var_itemsize(self, name: str) -> int:
        return self._value(name).itemsize

    def get_var_nbytes(self, name: str) -> int:
        return self._value(name).nbytes

    def get_var_location(self, name: str) -> str:
        self._value(name)
        return "node"

    def get_value(self, name: str, dest: Values) -> Values:
        dest[:] = self._value(name).reshape(-1)
        return dest

    def get_value_at_indices(self, name: str, dest: Values, inds: Values) -> Values:
        dest[:] = self._value(name).reshape(-1)[inds]
        return dest

    def set_value(self, name: str, src: Values) -> None:
        old = self._value(name)
        if np.size(src) != old.size or not np.isfinite(src).all():
            raise ValueError(f"Bmi: expected {old.size} finite values of {name}, got {src!r:.200}.")
        check_values("Bmi", name, np.asarray(src, dtype=float))
        if name in FLUXES:
            self._fluxes[name] = float(np.reshape(src, ()))
            return
        with jax.enable_x64(self._precision):
            new = jnp.asarray(np.reshape(src, old.shape), old.dtype)
            self._now = self._initialised().set_value(self._now, name, new)

    def set_value_at_indices(self, name: str, inds: Values, src: Values) -> None:
        values = self._value(name).reshape(-1).copy()
        values[inds] = src
        self.set_value(name, values)

    def get_grid_rank(self, grid: int) -> int:
        return self._heights(grid).ndim

    def get_grid_size(self, grid: int) -> int:
        return self._heights(grid).size

    def get_grid_node_count(self, grid: int) -> int:
        return self.get_grid_size(grid)

    def get_grid_type(self, grid: int) -> str:
        self._heights(grid)  # raises for an unknown grid
        return _GRIDS[grid]

    def get_grid_shape(self, grid: int, shape: Values) -> Values:
        shape[:] = self._heights(grid).shape
        return shape

    def get_grid_x(self, grid: int, x: Values) -> Values:
        """Heights [m]: in BMI, x is the first axis of a grid, whatever its direction."""
        x[:] = self._heights(grid)
        return x

    def _unsupported(self, *arguments: object) -> Values:
        raise NotImplementedError("Bmi: grids are one-dimensional and rectilinear, without this property.")

    def get_value_ptr(self, name: str) -> Values:
        raise NotImplementedError("Bmi: JAX arrays cannot change in place; use get_value and set_value.")

    get_grid_y = get_grid_z = get_grid_spacing = get_grid_origin = _unsupported
    get_grid_edge_count = get_grid_face_count = get_grid_edge_nodes = _unsupported
    get_grid_face_edges = get_grid_face_nodes = get_grid_nodes_per_face = _unsupported

    def _initialised(self) -> Component:
        if self._component is None:
            raise RuntimeError("Bmi: expected initialize(CONFIG) before any other call.")
        return self._component

    def _prognostic(self) -> dict[str, PyTree]:
        self._initialised()
        return prognostic_variables(self._now.state, self._now.clo_state)

    def _heights(self, grid: int) -> Float[Values, "..."]:
        if grid not in range(len(_GRIDS)):
            raise ValueError(f"Bmi: expected the number of a grid, 0 to {len(_GRIDS) - 1}, got {grid!r}.")
        column = self._initialised().case.grid
        return np.asarray((0.0, column.z_center, column.z_face)[grid])

    def _value(self, name: str) -> Values:
        component = self._initialised()
        with jax.enable_x64(self._precision):
            if name in self._fluxes:
                return np.asarray(self._fluxes[name])
            if name in FLUXES:
                fluxes = component.case.forcing.at(
                    component.time(self._now), WaterSurface.of(self._now.state)
                )
                flux = getattr(fluxes, name.removeprefix("surface_"))
                return np.asarray(0.0 if flux is None else flux)
            return np.asarray(component.get_value(self._now, name))


@eqx.filter_jit
def _steps(component: Component, now: Restart, fluxes: SurfaceFluxes, n_steps: Array) -> Restart:
    """Advance by a number of steps with one compiled program for all numbers."""
    return component.steps(now, fluxes, n_steps)
