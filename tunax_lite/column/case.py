"""A case: one water column (or a batch of columns) with its forcing and all terms that act on it."""

import dataclasses
import datetime
from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from .._types import (
    Scalar,
    ScalarLike,
    array_field,
    as_float_array,
    batch_shape_of,
    check_range,
    in_precision,
    is_traced,
    parameter,
    shared_by_columns,
)
from ..declarations import check_kinds
from ..ice.base import LEFT_BY_ICE, AbstractIce, IceState, IceStep, UppermostCell, left_at_start, left_by_ice
from ..physics.absorption import AbstractAbsorption, TwoBandAbsorption
from ..physics.equation_of_state import AbstractEquationOfState, default_equation_of_state
from ..physics.stratification import coriolis_parameter
from ..quantities import check_values
from ..views import AbstractShown
from .corrections import InitialCorrection
from .forcing import AbstractForcing, IceSurface, SurfaceFluxes, WaterSurface
from .grid import Grid
from .state import State
from .terms import AbstractTerm, Interior
from .terms.surface import friction_velocity, total_stress
from .time_series import StepsOfRun, check_covers, over_steps


def _is_date(text: str) -> bool:
    try:
        datetime.datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return False
    return True


class Case(AbstractShown):
    """The column: grid, initial state, forcing, rotation, equation of state, duration.

    The equation of state belongs to the case, not to the model: a large-eddy simulation has its own thermal
    expansion, and one model runs many cases.

    Args:
        grid: the vertical grid.
        initial_state: state at the start, on that grid.
        forcing: surface fluxes as a function of the time since the start.
        coriolis_parameter: f [s-1]; by default that of `latitude`, 0 without one.
        equation_of_state: relates buoyancy to temperature and salinity; by default that of
            `default_equation_of_state`: TEOS-10 if a latitude or longitude is known, otherwise linear.
        absorption: absorption of shortwave radiation; used only if the forcing has a shortwave flux.
        interior: prescribed terms below the surface; none by default.
        terms: further terms, under arbitrary names; none by default.
        ice: ice model; none by default.
        initial_correction: added to the initial state; none by default.
        background_viscosity, background_diffusivity: constant, as in large-eddy simulations; replace
            `molecular_viscosity` and `molecular_diffusivity` of the model [m2 s-1].
        duration: length of the case [s].
        name: label in messages and files.
        start_time: ISO 8601 date and time of the start; `None` for an idealised case.
        latitude, longitude: position [degrees north, degrees east]; a `SolarPosition` has its own.
        sites: names of the columns of a batch, for files.

    Raises:
        TypeError: an argument that is not of the class of its field, such as a name instead of a forcing.
        ValueError: a state with a different number of cells, a value that is not finite or impossible for its
            quantity, such as 293 degC, a duration that is not positive, an invalid position or date, names of
            terms that are not identifiers, streams or a level without a lake, a surface_elevation in a lake,
            or ice without the weather that it needs.
    """

    grid: Grid
    initial_state: State
    forcing: AbstractForcing
    coriolis_parameter: Scalar = parameter(None, unit="s-1", valid_range=(-1e-2, 1e-2))
    equation_of_state: AbstractEquationOfState = eqx.field(default=None)  # pyright: ignore[reportAssignmentType]
    absorption: AbstractAbsorption = eqx.field(default_factory=TwoBandAbsorption)
    interior: Interior = eqx.field(default_factory=Interior)
    terms: dict[str, AbstractTerm] = eqx.field(default_factory=dict)
    ice: AbstractIce | None = None
    initial_correction: InitialCorrection | None = None
    background_viscosity: Scalar | None = parameter(None, unit="m2 s-1", valid_range=(0.0, 1.0))
    background_diffusivity: Scalar | None = parameter(None, unit="m2 s-1", valid_range=(0.0, 1.0))
    duration: float = eqx.field(default=172800.0, static=True)
    name: str = eqx.field(default="case", static=True)
    start_time: str | None = eqx.field(default=None, static=True)
    latitude: Scalar | None = array_field(0, default=None, converter=as_float_array)
    longitude: Scalar | None = array_field(0, default=None, converter=as_float_array)
    sites: tuple[str, ...] = eqx.field(default=(), static=True)

    def __post_init__(self):
        if self.coriolis_parameter is None:
            self.coriolis_parameter = 0.0 if self.latitude is None else coriolis_parameter(self.latitude)
        if self.equation_of_state is None:
            self.equation_of_state = default_equation_of_state(self.latitude, self.longitude)

    def __check_init__(self):
        check_kinds(self)
        for name, limit in (("latitude", 90.0), ("longitude", 360.0)):
            check_range(f"{self.name}: {name}", getattr(self, name), (-limit, limit))
        for name in ("streams", "level"):
            if self.grid.area is None and getattr(self.interior, name) is not None:
                expected = f"the grid of a lake for its {name}, got a grid without areas"
                raise ValueError(f"{self.name}: expected {expected}; give its hypsography.")
        if self.grid.area is not None and self.interior.surface_elevation is not None:
            expected = "no surface_elevation in a lake, whose areas above its surface are unknown, got one"
            raise ValueError(f"{self.name}: expected {expected}; prescribe the level of its basin instead.")
        if not all(map(str.isidentifier, self.terms)):
            expected = "names of terms such as 'algae': letters, digits and underscores"
            raise ValueError(f"{self.name}: expected {expected}, got {', '.join(self.terms)}.")
        if isinstance(self.duration, str) or not (np.isfinite(self.duration) and self.duration > 0.0):
            raise ValueError(f"{self.name}: expected a positive duration [s], got {self.duration!r}.")
        if self.start_time is not None and not _is_date(self.start_time):
            expected = "a start_time such as 2012-06-10T00:00:00 (ISO 8601)"
            raise ValueError(f"{self.name}: expected {expected}, got {self.start_time!r}.")
        for path, leaf in jax.tree_util.tree_leaves_with_path(self.initial_state.without_surface()):
            if is_traced(leaf) or not isinstance(leaf, (jax.Array, np.ndarray)):
                continue
            variable = jax.tree_util.keystr(path).lstrip(".")
            if leaf.shape[:1] != (self.grid.n_cells,):
                raise ValueError(
                    f"{self.name}: expected {variable} on the {self.grid.n_cells} cells of the grid, "
                    f"got shape {leaf.shape}; use `case.on(grid)` to move a case to another grid."
                )
            bad = np.argwhere(~np.isfinite(np.asarray(leaf)))
            if len(bad):
                raise ValueError(
                    f"{self.name}: expected a finite initial {variable}, got "
                    f"{np.asarray(leaf)[tuple(bad[0])]} in cell {int(bad[0][0])} (0 is the bottom)."
                )
            if variable in ("temperature", "salinity", "u", "v"):
                check_values(f"{self.name}: initial {variable}", variable, np.asarray(leaf))

        if self.ice is not None and isinstance(self.initial_state.salinity, (jax.Array, np.ndarray)):
            air = eqx.filter_eval_shape(self.forcing.air_temperature, 0.0)
            self.ice.check(self.initial_state, air is not None)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Common batch shape of all arrays in the case: `()` for one column."""
        return batch_shape_of(self)

    def acting(self) -> tuple[AbstractTerm, ...]:
        """Terms that act below the surface, in the order in which their tendencies are summed."""
        return *self.interior.terms(), *self.terms.values()

    def check_step(self, dt: float) -> None:
        """Raise `ValueError` for a step [s] that terms reject, such as one in which pools sink too far."""
        for term in self.acting():
            term.check_step(self.start_state, self.grid, dt)

    @property
    def tracer_units(self) -> dict[str, tuple[str, str]]:
        """Unit and long name of the variables of terms, and of salt and tracers left by ice, by name."""
        units = {name: about for term in self.acting() for name, about in term.tracer_units().items()}
        if self.ice is not None:
            for name in self.initial_state.tracers:
                unit, meaning = units.get(name, ("1", name))
                long_name = f"{meaning} left in the water by freezing, taken back by melting"
                units[name + LEFT_BY_ICE] = ("kg m-2" if unit == "1" else f"{unit} kg m-2", long_name)
        return units

    def check_covers(self, start: float, end: float) -> None:
        """Raise `ValueError` if any forcing or term does not cover `start` to `end` [s]."""
        for part in (self.forcing, *self.acting()):
            part.check_covers(start, end)
        check_covers(self.absorption, start, end)

    @property
    def undiluted(self) -> tuple[str, ...]:
        """Tracers that fresh water does not dilute, such as those that only their own term changes."""
        return tuple(name for term in self.acting() for name in (*term.undiluted(), *term.own_tracers()))

    def diluted(self, state: State) -> dict[str, Scalar]:
        """Concentrations in the uppermost cell that fresh water dilutes, by name."""
        undiluted = self.undiluted
        tracers = {name: tracer[-1] for name, tracer in state.tracers.items() if name not in undiluted}
        return {"salinity": state.salinity[-1], **tracers}

    @property
    def held(self) -> tuple[str, ...]:
        """Variables that keep their initial values."""
        return tuple(name for term in self.acting() for name in term.held())

    @property
    def start_state(self) -> State:
        """Initial state of a run, with its correction, ice, and surface variables of terms."""
        state = self.initial_state
        if self.initial_correction is not None:
            state = self.initial_correction.add_to(state, self.grid)
        if state.surface:  # already complete, as in a batched case
            return state
        surface = {} if self.ice is None else dict(self.ice.start(state))
        level = self.interior.level
        if self.ice is not None and (level is None or level.prescribed is not None):
            # If the level follows the water budget, freezing takes volume, and salt stays in the water.
            surface |= left_at_start(self.ice, surface, self.diluted(state))
        for term in self.acting():
            surface |= term.own_surface(state)
        return dataclasses.replace(state, surface=surface) if surface else state

    def over_steps(self, dt: float, first: int | Array = 0, number: int | None = None) -> "Case":
        """Average fluxes and weather over steps of `dt` [s] where their records are finer.

        Coarser series and series of states at an instant are unchanged. Returns the case, or the same object
        if nothing changes.

        Args:
            dt: length of the steps [s].
            first, number: first step and number of steps of the run, required if the times of a series are
                traced; a traced series with fewer records than steps counts as coarser.
        """
        steps = StepsOfRun(dt, first, number)
        forcing, absorption = self.forcing.over_steps(steps), over_steps(self.absorption, steps)
        changed = self._with_terms(lambda term: term.over_steps(steps))
        parts = lambda case: (case.forcing, case.absorption)  # noqa: E731
        changed = eqx.tree_at(parts, changed, (forcing, absorption))
        leaves = map(jax.tree.leaves, (self, changed))
        return self if all(old is new for old, new in zip(*leaves, strict=False)) else changed

    def placed(self, state: State, time: ScalarLike | None = None) -> "Case":
        """Move the grid to the lake level of a state, or to the prescribed elevation at a time [s]."""
        grid = self.grid
        for term in self.acting():
            grid = term.placed(grid, state, time)
        return self if grid is self.grid else eqx.tree_at(lambda case: case.grid, self, grid)

    def with_von_karman(self, von_karman: Callable[[], Scalar]) -> "Case":
        """Set the von Karman constant of terms that declare none; only these call `von_karman`."""
        return self._with_terms(lambda term: term.with_von_karman(von_karman))

    def _with_terms(self, change: Callable[[AbstractTerm], AbstractTerm]) -> "Case":
        """Replace every term of the case by the result of a function."""

        def is_term(part) -> bool:
            return isinstance(part, AbstractTerm)

        def changed(part):
            return change(part) if is_term(part) else part

        parts = jax.tree.map(changed, (self.interior, self.terms), is_leaf=is_term)
        return eqx.tree_at(lambda case: (case.interior, case.terms), self, parts)

    def ice_step(self, state: State, time: ScalarLike, dt: ScalarLike) -> IceStep:
        """Step of the ice of `dt` [s] that ends at `time` [s] since the start."""
        assert self.ice is not None
        eos, water, thickness = self.equation_of_state, WaterSurface.of(state), self.grid.cell_thickness[-1]

        def fluxes_over(surface: IceSurface | None) -> SurfaceFluxes:
            return self.forcing.at(time, water._replace(ice=surface))

        no_wind, density = jnp.zeros_like(water.temperature), eos.reference_density
        stress = total_stress((no_wind, no_wind), state, self.grid, density, self.acting())
        cell = UppermostCell(
            temperature=water.temperature,
            salinity=water.salinity,
            thickness=thickness,
            volume=self.grid.cell_volume[-1],
            heat_capacity=eos.heat_capacity,
            density=density,
            friction_velocity=friction_velocity(stress, density),
        )
        return self.ice.step(state.surface, cell, fluxes_over, self.forcing.air_temperature(time), dt)

    def left_by_ice(self, state: State, step: IceStep, dt: ScalarLike) -> tuple[IceState, dict[str, Scalar]]:
        """Stores of salt and tracers left by freezing, and fluxes that correct melting; see `ice.base`."""
        assert self.ice is not None
        concentrations, mass = self.diluted(state), self.ice.mass(state.surface)
        if mass is None or step.taken is None or f"salinity{LEFT_BY_ICE}" not in state.surface:
            return {}, {}
        cell_mass = self.equation_of_state.reference_density * self.grid.cell_volume[-1]
        return left_by_ice(mass, step.taken, state.surface, concentrations, cell_mass, dt)

    def unlabelled(self) -> "Case":
        """Remove name, start time, position, sites and duration from the case.

        A program compiled for one unlabelled case serves all cases of the same shapes.
        """
        no_position = {"latitude": None, "longitude": None, "sites": ()}
        return dataclasses.replace(self, name="case", start_time=None, duration=1.0, **no_position)

    def on(self, grid: Grid) -> "Case":
        """Move the case to another grid of the same depth; conserves contents, wave transport and precision.

        A grid without areas takes those of the case. In a lake, whose discrete volume depends on the faces,
        means over the volume are conserved instead of contents.

        Source: first-order conservative remapping, with values constant within a cell.

        Raises:
            ValueError: a grid of different depth, or a batch of grids.
        """
        if self.grid.area is not None and grid.area is None:
            grid = grid.with_hypsography(self.grid.z_face, self.grid.area)
        grid = in_precision(grid, self.grid.z_face.dtype)
        initial = self.initial_state
        state = jax.tree.map(lambda values: remap(values, self.grid, grid), initial.without_surface())
        state = dataclasses.replace(state, surface=initial.surface)
        moved = eqx.tree_at(lambda case: (case.grid, case.initial_state), self, (grid, state))
        return moved._with_terms(lambda term: term.on(self.grid, grid))


def stack_cases(cases: Sequence[Case]) -> Case:
    """Stack single columns into one batched case; quantities that differ get a trailing axis.

    Args:
        cases: with the same number of cells, the same kinds of fluxes, and series on the same times.

    Returns:
        A case of batch shape `(n_cases,)`, as long as the shortest case, with case names as sites, and with
        positions and start time if all cases have positions and share the start time.

    Raises:
        ValueError: no list of cases, or cases of different structure, shapes or times.
    """
    if isinstance(cases, Case) or not cases:
        raise ValueError(f"stack_cases: expected a list [case, ...], got {'one case' if cases else 'none'}.")
    plain = [case.unlabelled() for case in cases]
    for i, (case, unlabelled) in enumerate(zip(cases, plain, strict=True)):
        for field in dataclasses.fields(Case):
            _check_alike(
                field.name, getattr(plain[0], field.name), getattr(unlabelled, field.name), cases[0], case, i
            )

    def stack(path, is_shared: bool, *leaves):
        if not is_shared:
            return jnp.stack(leaves, axis=-1)
        if any(not np.array_equal(leaf, leaves[0]) for leaf in leaves):
            is_time = jax.tree_util.keystr(path).endswith("time")
            expected = "series of forcing on the same times" if is_time else "the same heights"
            raise ValueError(f"stack_cases: expected {expected}.")
        return leaves[0]

    stacked = jax.tree_util.tree_map_with_path(stack, shared_by_columns(plain[0]), *plain)
    start_times = {case.start_time for case in cases}
    places = {name: [getattr(case, name) for case in cases] for name in ("latitude", "longitude")}
    known = {name: each for name, each in places.items() if not any(place is None for place in each)}
    return dataclasses.replace(
        stacked,
        duration=min(case.duration for case in cases),
        name="stacked",
        start_time=start_times.pop() if len(start_times) == 1 else None,
        sites=tuple(case.name for case in cases),
        **{name: jnp.stack(each, axis=-1) for name, each in known.items()},
    )


def _check_alike(name: str, first: PyTree, other: PyTree, reference: Case, case: Case, number: int) -> None:
    """Raise `ValueError` unless a field has the structure and shapes that it has in the first case."""
    shapes = [jax.tree.map(jnp.shape, part) for part in (first, other)]
    if jax.tree.structure(first) == jax.tree.structure(other) and shapes[0] == shapes[1]:
        return
    kinds = [type(part).__name__ for part in (first, other)]
    got = f"{kinds[1]} and {kinds[0]}" if kinds[0] != kinds[1] else f"a {kinds[1]} of another structure"
    remedy = "give all of them the same kind"
    if name in ("grid", "initial_state"):
        remedy = "move it to the same grid with `case.on`, and give the same tracers"
    elif name == "forcing":
        remedy = "give absent fluxes as 0, and constant ones as series on the same times where others are"
    expected = f"{name} of {case.name} ({number}) like that of {reference.name} (0)"
    raise ValueError(f"stack_cases: expected {expected}, got {got}; {remedy}.")


def remap(values, source: Grid, target: Grid):
    """Remap cell means to another grid of the same depth; conserves the mean over the column."""
    if source.batch_shape or target.batch_shape:
        raise ValueError("remap: expected grids of a single column, got a batch of grids.")
    # NumPy, because inside `jit` even an index of a constant array is traced.
    depth, target_depth = (-float(np.asarray(grid.z_face)[0]) for grid in (source, target))
    if abs(depth - target_depth) > 1e-6 * depth:
        raise ValueError(
            f"grid: expected the depth of the case, {depth:g} m, got {target_depth:g} m; "
            "choose a grid of the same depth."
        )
    if source.n_cells == target.n_cells and np.allclose(
        source.z_face, target.z_face, rtol=0.0, atol=1e-9 * depth
    ):
        return values
    x, x_target = _content_coordinate(source), _content_coordinate(target)
    thickness = (x[1:] - x[:-1]).reshape((-1,) + (1,) * (values.ndim - 1))
    content = jnp.concatenate([jnp.zeros_like(values[:1]), jnp.cumsum(values * thickness, axis=0)])

    def interpolate(column):
        return jnp.interp(x_target, x, column)

    flat = content.reshape(content.shape[0], -1)
    at_faces = jax.vmap(interpolate, in_axes=1, out_axes=1)(flat)
    at_faces = at_faces.reshape(at_faces.shape[:1] + values.shape[1:])
    new_thickness = (x_target[1:] - x_target[:-1]).reshape((-1,) + (1,) * (values.ndim - 1))
    return (at_faces[1:] - at_faces[:-1]) / new_thickness


def _content_coordinate(grid: Grid):
    """Coordinate proportional to content: face height, or the fraction of the volume below."""
    if grid.area is None:
        return grid.z_face
    below = jnp.cumsum(grid.cell_volume)
    return jnp.concatenate([jnp.zeros_like(below[:1]), below / below[-1]])
