"""The term that carries biogeochemical models through the column.

In each step, in the order of GOTM's coupler to FABM: pools sink or rise by an explicit, limited scheme; rain
dilutes them; they mix with the heat, in the same matrix; then light, and the exchanges between pools.

    dc/dt = -d(w c)/dz + d/dz(kappa dc/dz) + production - destruction

Visible light is attenuated by the water and by the pools; on request the heating follows it.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from ..._types import CenterArray, FaceArray, Scalar, ScalarLike, is_traced, parameter
from ...column.grid import Grid
from ...column.state import State
from ...column.terms import AbstractTerm, Column, Tendency
from ...column.terms.advection import AdvectionScheme, advect
from ...column.terms.base import or_zero
from ...declarations import check_kinds, named, setting
from ...numerics.elementary import at_least, reciprocal, sum_above, with_end_faces
from .interface import (
    ATMOSPHERE,
    AbstractBiogeochemicalModel,
    Environment,
    Exchanges,
    Pool,
    Pools,
    Values,
    Velocities,
    once,
)
from .schemes import AbstractSourceScheme, Concentrations, ModifiedPatankar, add_to, modified_patankar

D = TypeVar("D", bound=Mapping)


class _Fixed(dict):
    """Mapping with a hash, for a static field of a compiled program; never changed."""

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return hash(tuple(sorted(self.items())))

    @classmethod
    def of_numbers(cls, numbers: Mapping[str, float]) -> "_Fixed":
        """Convert initial values of pools to plain numbers."""
        return cls({name: float(value) for name, value in numbers.items()})


@named("biogeochemistry")
class Biogeochemistry(AbstractTerm):
    """Biogeochemical models in the water column; their pools are tracers `MODEL_POOL`.

    Args:
        models: models by names of your choice, with which the names of their pools begin.
        couplings: links between a model and a pool of another, as "npzd_dic = carbonate_dic".
        scheme: time scheme of the exchanges.
        n_substeps: number of substeps of the exchanges per step.
        sinking: scheme of sinking and rising.
        n_sinking_substeps: number n of substeps of sinking per step; |w| dt / (n dz) must be at most 1. With
            null, a configuration chooses it from the initial speeds.
        shading: whether the water is heated by the light that the pools leave.
        dilution: whether rain dilutes and evaporation concentrates the pools.
        implicit_dilution: whether dilution of pools that cannot be negative uses their value at the end of a
            step, as in GOTM; each sinking pool then has a separate mixing matrix.
        open_bottom: whether sinking matter leaves through the bottom, instead of staying in the lowest cell.
        surface_exchange: whether models exchange gases and other matter with the air.
        clipping: whether negative values of pools that cannot be negative are set to zero after each substep,
            which creates matter.
        surface_light: light at the surface for the models: the visible radiation, or all solar radiation,
            which GOTM passes to FABM under that name.
        wind_speed: wind speed at 10 m for a case with prescribed fluxes and no wind [m s-1]; with `None`,
            models that exchange gases refuse such a case.
        air_pressure: pressure at the surface for a case with prescribed fluxes and no air pressure [Pa].
        gases_ignore_pressure: whether gases are always in equilibrium with moist air of one atmosphere, and
            mole fractions in the air count as partial pressures [atm], as in FABM's models.
        initial: initial values of pools without a profile in the case.
        kept: diagnosed profiles to store as tracers of the run, such as `carbon_pH`. They are computed at the
            end of a step, and start from zero unless measurements or the case provide them.

    Raises:
        TypeError: a model or a scheme that is no instance of its class.
        ValueError: no model, a coupling of unknown names, an initial value of an unknown pool or an
            impossible one, or an unknown profile to keep.
    """

    models: dict[str, AbstractBiogeochemicalModel]
    couplings: tuple[str, ...] = setting(())
    scheme: AbstractSourceScheme = eqx.field(default_factory=ModifiedPatankar)
    n_substeps: int = setting(1, at_least=1, at_most=1000)
    sinking: AdvectionScheme = setting(AdvectionScheme.P2_PDM)
    n_sinking_substeps: int | None = setting(1, at_least=1, at_most=1000)
    shading: bool = setting(False)
    dilution: bool = setting(True)
    implicit_dilution: bool = setting(False)
    open_bottom: bool = setting(False)
    surface_exchange: bool = setting(True)
    clipping: bool = setting(False)
    surface_light: str = setting("visible", choices=("visible", "shortwave"))
    wind_speed: Scalar | None = parameter(None, unit="m s-1", valid_range=(0.0, 60.0))
    air_pressure: Scalar = parameter(ATMOSPHERE, unit="Pa", valid_range=(3e4, 1.2e5))
    gases_ignore_pressure: bool = setting(False)
    initial: dict[str, float] = eqx.field(default_factory=dict, static=True, converter=_Fixed.of_numbers)
    kept: tuple[str, ...] = setting(())

    def __check_init__(self):
        check_kinds(self)
        if not self.models:
            raise ValueError("Biogeochemistry: expected at least one model, got none; name it in `models`.")
        known = self.pools()
        for link, pool in self._coupled().items():
            if link not in self._links() or pool not in known:
                links = ", ".join(self._links()) or "none of these models"
                raise ValueError(
                    f"Biogeochemistry: expected couplings of links ({links}) to pools ({', '.join(known)}), "
                    f"as 'LINK = POOL', got '{f'{link} = {pool}' if pool else link}'."
                )
        if unknown := self.initial.keys() - known.keys():
            raise ValueError(
                f"Biogeochemistry: expected initial values of pools ({', '.join(known)}), "
                f"got {', '.join(sorted(unknown))}."
            )
        if unknown := set(self.kept) - self._measurable().keys():
            expected = f"profiles to keep of {', '.join(self._measurable()) or 'none of these models'}"
            raise ValueError(f"Biogeochemistry: expected {expected}, got {', '.join(sorted(unknown))}.")
        for name, value in self.initial.items():
            if message := below_zero(name, known[name], value):
                raise ValueError(f"Biogeochemistry: {message}.")

    def pools(self) -> dict[str, Pool]:
        """All pools by name of the tracer."""
        return {f"{name}_{pool.name}": pool for name, model in self.models.items() for pool in model.pools()}

    def contents(self) -> dict[str, dict[str, ScalarLike]]:
        """Content per unit of each pool, by conserved quantity; see `totals`."""
        contents: dict[str, dict[str, ScalarLike]] = {}
        for name, model in self.models.items():
            for element, amounts in model.contents().items():
                checked(model, "contents", amounts)
                named_amounts = {f"{name}_{pool}": amount for pool, amount in amounts.items()}
                contents[element] = contents.get(element, {}) | named_amounts
        return contents

    def totals(self, tracers: Pools, surface: Pools, grid: Grid) -> dict[str, Values]:
        """Content of the column per surface area, by conserved quantity [unit m].

        Args:
            tracers, surface: fields of a state, or of a trajectory, which has a leading axis of frames.
            grid: vertical grid.
        """
        totals: dict[str, Values] = {}
        for element, amounts in self.contents().items():
            for name, amount in amounts.items():
                if name in tracers:
                    axis = tracers[name].ndim - grid.cell_volume.ndim
                    held = jnp.sum(tracers[name] * grid.cell_volume, axis=axis)
                else:
                    held = surface[name]
                totals[element] = amount * held + totals.get(element, 0.0)
        return totals

    def with_pools(self, state: State, values: Mapping[str, Values | float] | None = None) -> State:
        """Return a state with the pools and kept profiles as tracers.

        Args:
            values: numbers or profiles on the cells of the state, the lowest first, by tracer; others start
                from the initial values of the term and the models.

        Raises:
            TypeError: values that are no numbers.
            ValueError: an unknown tracer, a profile with another number of cells, or a negative value of a
                pool that cannot be negative.
        """
        values_by_pool = self.initial_tracers() | dict(values or {})
        if unknown := values_by_pool.keys() - self.initial_tracers().keys():
            known = ", ".join(self.initial_tracers())
            raise ValueError(f"Biogeochemistry: expected values of {known}, got {', '.join(unknown)}.")
        pools = {name: self._profile(name, value, state) for name, value in values_by_pool.items()}
        return State(state.u, state.v, state.temperature, state.salinity, state.tracers | pools)

    def _profile(self, name: str, value: Values | float, state: State) -> CenterArray:
        """Values of a pool on the cells of a state, for all its columns."""
        cells = state.temperature
        values = jnp.asarray(value, dtype=cells.dtype)
        if values.ndim and len(values) != len(cells):
            raise ValueError(
                f"Biogeochemistry: expected {name} as a number or on the {len(cells)} cells of the state, "
                f"got shape {values.shape}; interpolate it to grid.z_center."
            )
        pool = None if is_traced(values) else self.pools().get(name)
        if pool is not None and (message := below_zero(name, pool, values)):
            raise ValueError(f"Biogeochemistry: {message}.")
        values = _with_trailing_axes(values, cells.ndim)  # batch axes broadcast with those of the state
        return values + 0.0 * _with_trailing_axes(cells, values.ndim)

    # ---- as a term of the column ----

    def own_tracers(self) -> tuple[str, ...]:
        return self.kept

    def initial_tracers(self) -> dict[str, float]:
        pools = self.pools()
        initial = {name: self.initial.get(name, pools[name].initial) for name in self._in_water()}
        return initial | dict.fromkeys(self.kept, 0.0)

    def tracer_units(self) -> dict[str, tuple[str, str]]:
        measurable = self._measurable()
        units = {name: (pool.unit, pool.meaning) for name, pool in self.pools().items()}
        return units | {name: measurable[name] for name in self.kept}

    def own_surface(self, state: State) -> dict[str, Scalar]:
        on_bottom = {name: pool for name, pool in self.pools().items() if pool.on_bottom}
        zeros = 0.0 * state.temperature[0]
        return {name: self.initial.get(name, pool.initial) + zeros for name, pool in on_bottom.items()}

    def move(self, column: Column, at_rest: Grid, terms: Sequence[AbstractTerm]) -> Column:
        bottom = {name: column.state.surface[name] for name in self.own_surface(column.state)}
        return column._replace(surface=column.surface | bottom)

    def shade(self, state: State, grid: Grid) -> FaceArray | None:
        if not self.shading:
            return None
        attenuation = self._attenuation(state.tracers)
        if attenuation is None:
            return None
        half = 0.5 * attenuation * grid.cell_thickness
        above = sum_above(half) + half  # of the lower faces
        return jnp.exp(-jnp.concatenate([above, jnp.zeros_like(above[:1])]))

    def advect(self, column: Column) -> State:
        state, grid = column.advected, column.grid
        self._check_tracers(state)
        # Pools sink before the level of a lake changes.
        volume = grid.cell_volume if column.level is None else column.level.volume_before
        pools = dict(state.tracers)
        environment = self._environment(state, column, pools)
        for name, velocity in self._velocities(pools, environment).items():
            pools[name] = self._after_sinking(pools[name], velocity, grid, volume, column.dt)
        return State(state.u, state.v, state.temperature, state.salinity, pools)

    def _after_sinking(
        self,
        values: CenterArray,
        velocity: ScalarLike | CenterArray,
        grid: Grid,
        volume: CenterArray,
        dt: ScalarLike,
    ) -> CenterArray:
        """Return values after sinking or rising; cells also lose matter on their area of an open bottom."""
        speed, cell_speed = _on_faces(velocity, values, grid)
        n = self.n_sinking_substeps or 1
        part = dt / n
        for _ in range(n):
            before = values
            values = advect(values, speed, grid, part, scheme=self.sinking, moving=volume)
            if self.open_bottom:
                sinking = part * jnp.minimum(cell_speed, 0.0) * _bottom_area(before, grid)
                values = values + sinking * before * reciprocal(volume)
        return values

    def check_step(self, state: State, grid: Grid, dt: float) -> None:
        """Raise `ValueError` if a pool sinks or rises too far in a step of `dt` [s], or is missing."""
        self._check_tracers(state)
        n = self.n_sinking_substeps or 1
        for name, courant in self._courant_numbers(state, grid, dt).items():
            if courant > n * (1.0 + 1e-6):  # round-off is harmless
                raise ValueError(
                    f"Biogeochemistry: expected {name} to cross at most one cell in each substep of sinking "
                    f"({n} in a step), got {courant:.3g} cells in a step of {dt:g} s; set "
                    f"n_sinking_substeps to {int(np.ceil(courant))}."
                )

    def adapted_to(self, state: State, grid: Grid, dt: float) -> "Biogeochemistry":
        """Choose the number of substeps of sinking for a step of `dt` [s] if `n_sinking_substeps` is null."""
        if self.n_sinking_substeps is not None:
            return self
        courant = max(self._courant_numbers(state, grid, dt).values(), default=0.0)
        return dataclasses.replace(self, n_sinking_substeps=1 + int(courant))

    def _courant_numbers(self, state: State, grid: Grid, dt: float) -> dict[str, float]:
        """Largest number of cells that each pool crosses in a step in still water; skips traced speeds."""
        environment, zeros = _still_environment(state, grid), 0.0 * state.temperature
        courant_numbers = {}
        for name, velocity in self._velocities(state.tracers, environment).items():
            if is_traced((velocity, grid)):
                continue
            speed = np.asarray(_on_faces(velocity, zeros, grid)[0])[1:-1]
            per_metre = np.abs(speed) / np.asarray(grid.center_spacing)
            if grid.relative_area is not None:
                # Towards the bottom a cell holds less than its thickness times the area of its upper face.
                volume, area = np.asarray(grid.cell_volume), np.asarray(grid.relative_area)
                # Faces below and above the cells from which matter sinks through the inner faces.
                inner, upper = area[1:-1], area[2:]
                rising = np.maximum(speed, 0.0) * inner / volume[:-1]
                # Through an open bottom a cell also loses matter on its part of the bottom.
                sinking = np.maximum(-speed, 0.0) * (upper if self.open_bottom else inner) / volume[1:]
                per_metre = np.maximum(rising, sinking)
            courant_numbers[name] = float(np.max(per_metre)) * dt
        return courant_numbers

    def undiluted(self) -> tuple[str, ...]:
        # With an implicit dilution `on_scalars` dilutes instead.
        all_pools = self.implicit_dilution or not self.dilution
        return tuple(name for name, pool in self.pools().items() if all_pools or not pool.diluted)

    def on_scalars(self, column: Column) -> dict[str, Tendency]:
        tracers, flux = column.state.tracers, column.fluxes.freshwater_flux
        if not (self.dilution and self.implicit_dilution) or flux is None or column.level is not None:
            return {}
        volume = flux / column.equation_of_state.reference_density
        diluted = {name: pool for name, pool in self.pools().items() if pool.diluted and not pool.on_bottom}
        tendencies = {name: Tendency(surface=-volume * tracers[name][-1]) for name in diluted}
        rain = at_least(volume, 0.0) * reciprocal(column.grid.cell_volume[-1])
        # One object, for pools that share a matrix.
        rain_rate = _in_end_cell(-1, column.state.temperature) * rain
        for name in (name for name, pool in diluted.items() if pool.positive):
            before, after = tracers[name], column.advected.tracers[name]
            loss_rate = rain_rate
            if after is not before:  # the loss is relative to the value before sinking
                held = after[-1] > 0.0
                ratio = jnp.where(held, before[-1] * reciprocal(jnp.where(held, after[-1], 1.0)), 1.0)
                loss_rate = rain_rate * ratio
            tendencies[name] = Tendency(surface=at_least(-volume, 0.0) * before[-1], loss_rate=loss_rate)
        return tendencies

    def react(self, state: State, column: Column) -> State:
        water = {name: state.tracers[name] for name in self._in_water()}
        bottom = {name: state.surface[name] for name in self.own_surface(state)}
        part = column.dt / self.n_substeps
        for _ in range(self.n_substeps):
            environment = self._environment(state, column, state.tracers | water)
            new = self.scheme.step(self.reactions(environment, column.grid), water | bottom, part)
            if self.clipping:
                pools = self.pools()
                new = {k: at_least(v, 0.0) if pools[k].positive else v for k, v in new.items()}
            water, bottom = ({name: new[name] for name in names} for names in (water, bottom))
        tracers, surface = state.tracers | water, state.surface | bottom
        tracers |= self._diagnosed(state, column, tracers)
        return State(state.u, state.v, state.temperature, state.salinity, tracers, surface)

    def reactions(self, environment: Environment, grid: Grid) -> "_Reactions":
        """Return the exchanges between all pools in an environment."""
        pools = self.pools().items()
        on_bottom = tuple(name for name, pool in pools if pool.on_bottom)
        signed = frozenset(k for k, pool in pools if not pool.positive)
        return _Reactions(self, environment, grid, on_bottom, signed)

    # ---- parts ----

    def _check_tracers(self, state: State) -> None:
        """Raise `ValueError` if pools are missing in the state."""
        missing = self.initial_tracers().keys() - state.tracers.keys()
        if missing:
            raise ValueError(
                f"Biogeochemistry: expected the tracers {', '.join(sorted(missing))} in the initial state, "
                "got none; use `with_pools(state)`."
            )

    def _in_water(self) -> list[str]:
        return [name for name, pool in self.pools().items() if not pool.on_bottom]

    def _measurable(self) -> dict[str, tuple[str, str]]:
        return {f"{m}_{k}": v for m, model in self.models.items() for k, v in model.measurable().items()}

    def _diagnosed(self, state: State, column: Column, pools: Pools) -> dict[str, CenterArray]:
        """Profiles of `kept`, for pools at the end of the step."""
        if not self.kept:
            return {}
        environment = self._environment(state, column, pools)
        models = self.models.items()
        by_model = {m: model.diagnostics(self._local(m, pools), environment) for m, model in models}
        diagnostics = {f"{m}_{k}": profile for m in by_model for k, profile in by_model[m].items()}
        return {name: diagnostics[name] for name in self.kept}

    def _coupled(self) -> dict[str, str]:
        pairs = (coupling.partition("=") for coupling in self.couplings)
        return {link.strip(): pool.strip() for link, _, pool in pairs}

    def _links(self) -> list[str]:
        return [f"{name}_{link}" for name, model in self.models.items() for link in model.links()]

    def _names(self, model: str) -> dict[str, str]:
        """Names of tracers by the names that a model uses: for its pools and its coupled links."""
        pools = {pool.name: f"{model}_{pool.name}" for pool in self.models[model].pools()}
        coupled = self._coupled()
        links = {k: coupled[f"{model}_{k}"] for k in self.models[model].links() if f"{model}_{k}" in coupled}
        return pools | links

    def _local(self, model: str, pools: Pools) -> dict[str, Values]:
        return {name: pools[key] for name, key in self._names(model).items() if key in pools}

    def _velocities(self, pools: Pools, environment: Environment) -> Velocities:
        """Vertical velocities by tracer, positive upward [m s-1]."""
        return {
            f"{name}_{pool}": velocity
            for name, model in self.models.items()
            for pool, velocity in checked(
                model, "velocities", model.velocities(self._local(name, pools), environment)
            ).items()
        }

    def _attenuation(self, pools: Pools) -> CenterArray | None:
        parts = [model.attenuation(self._local(name, pools)) for name, model in self.models.items()]
        parts = [part for part in parts if part is not None]
        return sum(parts[1:], start=parts[0]) if parts else None

    def _environment(self, state: State, column: Column, pools: Pools) -> Environment:
        """Environment of the cells, with light that the pools attenuate."""
        grid, eos = column.grid, column.equation_of_state
        thickness, surface = grid.cell_thickness, grid.z_face[-1]
        depth = surface - grid.z_center
        entering = or_zero(column.fluxes.shortwave_flux, state)
        visible = entering * column.absorption.visible(-depth)
        attenuation = self._attenuation(pools)
        if attenuation is not None:
            half = 0.5 * attenuation * thickness
            visible = visible * jnp.exp(-sum_above(half))
        friction = 0.0 * state.temperature[0] if column.bottom is None else column.bottom.friction_velocity
        at_surface = (
            column.absorption.visible(0.0 * depth[-1:])[0] if self.surface_light == "visible" else 1.0
        )
        pressure = self.air_pressure if column.air_pressure is None else column.air_pressure
        return Environment(
            temperature=state.temperature,
            salinity=state.salinity,
            density=eos.density(state.temperature, state.salinity, eos.above_sea_level(grid.z_center)),
            depth=depth,
            thickness=thickness,
            light=visible,
            surface_light=entering * at_surface,
            shortwave=entering,
            wind_speed=self.wind_speed if column.wind_speed is None else column.wind_speed,
            bottom_stress=eos.reference_density * friction**2,
            time=column.time,
            covered=column.covered,
            air_pressure=None if self.gases_ignore_pressure else pressure,
        )


class _Reactions(NamedTuple):
    """Exchanges of all models in an environment."""

    term: Biogeochemistry
    environment: Environment
    grid: Grid
    on_bottom: tuple[str, ...]
    signed: frozenset[str]

    def water(self, pools: Pools) -> Exchanges:
        exchanges: Exchanges = {}
        for name, model in self.term.models.items():
            rates = model.rates(self.term._local(name, pools), self.environment)
            _merge(exchanges, checked(model, "rates", rates), self.term._names(name))
        return {pair: once(rate) for pair, rate in exchanges.items()}

    def ends(self, pools: Pools) -> Concentrations:
        change: Concentrations = {}
        for index in (-1, 0):
            for (source, target), flux in self._through_end(pools, index).items():
                for name, sign in ((source, -1.0), (target, 1.0)):
                    if name is not None:
                        add_to(change, name, self._at(name, index, sign * flux, pools))
        return change

    def after_ends(self, pools: Pools, dt: ScalarLike) -> Concentrations:
        """Apply the modified Patankar scheme to amounts per area in the end cells and on the bottom."""
        new = dict(pools)
        for index in (-1, 0):
            exchanges = self._through_end(pools, index)
            volume = self.grid.cell_volume[index]
            names = {name for pair in exchanges for name in pair if name is not None}
            size = {name: 1.0 if name in self.on_bottom else volume for name in names}
            amounts = {k: new[k] if k in self.on_bottom else new[k][index] * size[k] for k in sorted(names)}
            after = modified_patankar(amounts, exchanges, weights=amounts, dt=dt, signed=self.signed)
            for name, amount in after.items():
                concentration = amount / size[name]
                new[name] = (
                    concentration if name in self.on_bottom else new[name].at[index].set(concentration)
                )
        return new

    def _through_end(self, pools: Pools, index: int) -> Exchanges:
        """Fluxes [unit m s-1] through the surface (cell -1) or the bottom (cell 0)."""
        exchanges: Exchanges = {}
        if index == -1 and not self.term.surface_exchange:
            return exchanges
        # Fluxes are per area of the surface, also in a lake.
        environment = self.environment.cell(index)._replace(thickness=self.grid.cell_volume[index])
        for name, model in self.term.models.items():
            names = self.term._names(name)
            local = self.term._local(name, pools)
            at_end = {k: v if names[k] in self.on_bottom else v[index] for k, v in local.items()}
            through = "through_surface" if index == -1 else "through_bottom"
            fluxes = checked(model, through, getattr(model, through)(at_end, environment))
            if fluxes and index == 0 and self.grid.area is not None:
                raise ValueError(
                    "Biogeochemistry: expected models that exchange nothing with the bottom in a lake, whose "
                    f"bottom takes part at every depth, got {name} ({type(model).__name__}); turn off its "
                    "exchange with the bottom, or leave out the hypsography."
                )
            if index == -1 and environment.covered is not None:
                fluxes = {pair: jnp.where(environment.covered, 0.0, flux) for pair, flux in fluxes.items()}
            _merge(exchanges, fluxes, names)
        return exchanges

    def _at(self, name: str, index: int, flux: Values, pools: Pools) -> Values:
        """Rate of change [unit s-1] of a pool by a flux [unit m s-1] into the end cell or the bottom."""
        if name in self.on_bottom:
            return flux
        return _in_end_cell(index, pools[name]) * (flux / self.grid.cell_volume[index])


def _with_trailing_axes(values: Values, n_axes: int) -> Values:
    """Add trailing axes of length 1 up to a number of axes."""
    return values.reshape(values.shape + (1,) * (n_axes - values.ndim))


def _still_environment(state: State, grid: Grid) -> Environment:
    """Environment in dark and still water at the start of a run."""
    zeros = 0.0 * state.temperature
    return Environment(
        temperature=state.temperature,
        salinity=state.salinity,
        density=1000.0 + zeros,
        depth=-grid.z_center,
        thickness=grid.cell_thickness,
        light=zeros,
        surface_light=zeros[0],
        shortwave=zeros[0],
        wind_speed=zeros[0],
        bottom_stress=zeros[0],
        time=0.0,
    )


def _on_faces(
    velocity: ScalarLike | CenterArray, values: CenterArray, grid: Grid
) -> tuple[FaceArray, ScalarLike | CenterArray]:
    """Velocity on faces [m s-1], zero at both ends, and velocity in cells."""
    if jnp.ndim(velocity) < values.ndim:
        inside = np.ones(grid.n_cells + 1).reshape(-1, *[1] * (values.ndim - 1))
        inside[[0, -1]] = 0.0
        return velocity * jnp.asarray(inside, values.dtype), velocity
    cell_speed = jnp.asarray(velocity)
    lower, upper = grid.cell_thickness[:-1], grid.cell_thickness[1:]
    between = (upper * cell_speed[:-1] + lower * cell_speed[1:]) / (lower + upper)
    return with_end_faces(between), cell_speed


def _bottom_area(values: CenterArray, grid: Grid) -> CenterArray:
    """Area of the bottom in each cell relative to the surface [1]; in the sea 1 in the lowest cell."""
    areas = grid.relative_area
    if areas is None:
        return _in_end_cell(0, values)
    return areas[1:] - jnp.concatenate([jnp.zeros_like(areas[:1]), areas[1:-1]])


def _in_end_cell(index: int, values: CenterArray) -> CenterArray:
    """1 in an end cell, 0 in the others; XLA would compile an update of it to a branch in every cell."""
    mask = np.zeros((values.shape[0], *[1] * (values.ndim - 1)))
    mask[index] = 1.0
    return jnp.asarray(mask, values.dtype)


def checked(model: AbstractBiogeochemicalModel, method: str, values: D) -> D:
    """Return the result of a method of a model if its keys are pools or, for exchanges, also links.

    Raises:
        TypeError: exchanges whose keys are no pairs of names.
        ValueError: an unknown name, which would otherwise be ignored.
    """
    where, pools = f"{type(model).__name__}.{method}", [pool.name for pool in model.pools()]
    has_pairs = method not in ("velocities", "contents")
    known = [*pools, *model.links(), None] if has_pairs else pools
    for key in values:
        if has_pairs and not (isinstance(key, tuple) and len(key) == 2):
            raise TypeError(f"{where}: expected pairs (source, target) as keys, got {key!r}; name both ends.")
        if unknown := [repr(name) for name in (key if has_pairs else (key,)) if name not in known]:
            raise ValueError(
                f"{where}: expected names of pools and links ({', '.join(map(str, known))}), got "
                f"{', '.join(unknown)}; correct it, or declare it in `pools` or `links`."
            )
    return values


def below_zero(name: str, pool: Pool, values: ArrayLike) -> str:
    """Message about negative initial values of a pool that cannot be negative; empty if there are none."""
    least = float(np.min(np.asarray(values), initial=0.0))
    if not pool.positive or least >= 0.0:
        return ""
    return f"expected {name} of at least 0 {pool.unit} at the start, got {least:g}; correct it"


def _merge(exchanges: Exchanges, rates: Exchanges, renamed: Mapping[str, str]) -> None:
    """Add the exchanges of a model under the names of tracers, except those of uncoupled links."""
    for (source, target), rate in rates.items():
        if all(key is None or key in renamed for key in (source, target)):
            pair = renamed[source] if source else None, renamed[target] if target else None
            add_to(exchanges, pair, rate)
