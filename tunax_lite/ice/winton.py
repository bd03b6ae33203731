"""Two layers of sea ice, with the heat of brine, below snow: the three-layer model.

    upper ice:  rho_i h/2 (c_i - L T_m / T_1²) dT_1/dt = K_12 (T_s - T_1) + K_32 (T_2 - T_1) + I
    lower ice:  rho_i h/2 c_i dT_2/dt = K_32 (T_1 - T_2) + 2 K_32 (T_f - T_2)
    surface:    A + B T_s = K_12 (T_1 - T_s),     K_12 = 4 k_i k_s / (k_s h + 4 k_i h_s),     K_32 = 2 k_i / h

where A + B T_s is the heat that the air takes, linear around the surface temperature T_s of the previous
step, I the shortwave radiation absorbed by the upper ice, T_m the melting point of saline ice and T_f that of
the water. All temperatures are implicit; T_1 follows from a quadratic equation. Where T_s would exceed its
melting point it stays there, and the remaining heat melts snow and ice from above. Conduction through the
lower ice beyond the heat supplied by the water grows ice from below.

Heat of the water above its freezing point melts ice, unlike in STIM, which also counts shortwave radiation
both at the surface and within the ice, and has no snowfall.

Source: Winton (2000), J. Atmos. Ocean. Technol. 17, 525-531; constants of STIM.
"""

import math
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .._types import Scalar, ScalarLike, is_traced, parameter
from ..column.forcing import IceSurface, SurfaceFluxes
from ..column.state import State
from ..declarations import named, setting
from ..numerics.elementary import at_least, at_most, safe_sqrt
from .base import AbstractIce, IceState, IceStep, Sky, UppermostCell, below_cover, flux_like


class Layers(NamedTuple):
    """Thicknesses [m] of snow and of both halves of the ice, and the temperatures of the latter [degC]."""

    snow: Scalar
    upper: Scalar
    lower: Scalar
    upper_temperature: Scalar
    lower_temperature: Scalar


class SurfaceBalance(NamedTuple):
    """Heat that the air takes, `loss` + `slope` T_s, and radiation absorbed by the upper ice [W m-2]."""

    loss: Scalar
    slope: Scalar
    absorbed: Scalar


class Melting(NamedTuple):
    """Heat available for melting from above and from below [J m-2]; negative where ice grows."""

    above: Scalar
    below: Scalar


@named("winton")
class Winton(AbstractIce):
    """Ice with heat capacity, and snow.

    Args:
        initial_thickness: initial thickness of the ice [m].
        initial_snow: initial thickness of the snow [m].
        conductivity: conductivity of ice, k_i [W m-1 K-1].
        snow_conductivity: conductivity of snow, k_s [W m-1 K-1].
        ice_density: density of ice [kg m-3].
        snow_density: density of snow [kg m-3].
        ice_heat_capacity: heat capacity of ice without brine, c_i [J kg-1 K-1].
        latent_heat: latent heat of melting, L [J kg-1].
        melting_point: melting point of ice with its salt, T_m [degC].
        snow_albedo: albedo of cold snow [1].
        ice_albedo: albedo of cold thick ice [1].
        water_albedo: albedo of ice in the limit of zero thickness [1].
        melting_range: range below T_m over which the albedos decrease as the surface melts [K].
        penetrating_fraction: fraction of the shortwave radiation that enters bare ice [1].
        light_depth: e-folding depth of that radiation [m].
        snow_falls: whether precipitation in air below 0 degC accumulates as snow on the ice; otherwise there
            is no new snow.
        exchanges_water: whether ice exchanges fresh water with the water below: growth takes it, melt and
            rain on the ice return it. A run restarted from a file then differs by rounding from an
            uninterrupted one.

    The formulae need salty water, with a freezing point below T_m.
    """

    thicknesses: ClassVar[tuple[str, ...]] = ("ice_thickness", "snow_thickness")
    initial_thickness: Scalar = parameter(0.0, unit="m", valid_range=(0.0, 20.0))
    initial_snow: Scalar = parameter(0.0, unit="m", valid_range=(0.0, 5.0))
    conductivity: Scalar = parameter(2.03, unit="W m-1 K-1", valid_range=(0.1, 10.0))
    snow_conductivity: Scalar = parameter(0.31, unit="W m-1 K-1", valid_range=(0.01, 5.0))
    ice_density: Scalar = parameter(905.0, unit="kg m-3", valid_range=(500.0, 1000.0))
    snow_density: Scalar = parameter(330.0, unit="kg m-3", valid_range=(50.0, 600.0))
    ice_heat_capacity: Scalar = parameter(2100.0, unit="J kg-1 K-1", valid_range=(1e3, 4e3))
    latent_heat: Scalar = parameter(334000.0, unit="J kg-1", valid_range=(1e5, 4e5))
    melting_point: Scalar = parameter(-0.054, unit="degC", valid_range=(-2.0, -1e-6))
    snow_albedo: Scalar = parameter(0.85, valid_range=(0.0, 1.0))
    ice_albedo: Scalar = parameter(0.5826, valid_range=(0.0, 1.0))
    water_albedo: Scalar = parameter(0.06, valid_range=(0.0, 1.0))
    melting_range: Scalar = parameter(1.0, unit="K", valid_range=(0.01, 10.0))
    penetrating_fraction: Scalar = parameter(0.3, valid_range=(0.0, 1.0))
    light_depth: Scalar = parameter(0.67, unit="m", valid_range=(0.01, 10.0))
    snow_falls: bool = setting(True)
    exchanges_water: bool = setting(False)

    def check(self, state: State, knows_air: bool) -> None:
        salinity = state.salinity[-1]
        if is_traced((salinity, self)):
            return
        if np.any(self.freezing_point(salinity) >= self.melting_point):
            raise ValueError(
                f"Winton: surface salinity of {float(np.min(salinity)):g} g kg-1 is too low; expected water "
                f"that freezes below {float(np.max(self.melting_point)):g} degC, the melting point of ice; "
                "use another ice model, such as MyLake."
            )

    def start(self, state: State) -> IceState:
        zeros = 0.0 * state.temperature[-1]
        cold = at_most(self.freezing_point(state.salinity[-1]), self.melting_point) + zeros
        return {
            "ice_thickness": self.initial_thickness + zeros,
            "snow_thickness": self.initial_snow + zeros,
            "ice_surface_temperature": cold,
            "upper_ice_temperature": cold,
            "lower_ice_temperature": cold,
        }

    def mass(self, ice: IceState) -> Scalar | None:
        if not self.exchanges_water:
            return None
        return self.ice_density * ice["ice_thickness"] + self.snow_density * ice["snow_thickness"]

    def heat_to_melt(self, layers: Layers) -> Scalar:
        """Heat needed to melt all snow and ice to water at T_m [J m-2]."""
        upper = self._upper_heat(layers.upper_temperature) * layers.upper
        lower = self._lower_heat(layers.lower_temperature) * layers.lower
        return self.snow_density * self.latent_heat * layers.snow + upper + lower

    def _upper_heat(self, temperature: Scalar) -> Scalar:
        """Heat needed to melt ice with brine [J m-3]; zero at T_m, where all is brine."""
        heat = self.ice_heat_capacity - self.latent_heat / temperature
        return self.ice_density * heat * (self.melting_point - temperature)

    def _lower_heat(self, temperature: Scalar) -> Scalar:
        """Heat needed to melt ice without brine [J m-3]."""
        heat = self.latent_heat + self.ice_heat_capacity * (self.melting_point - temperature)
        return self.ice_density * heat

    def step(
        self, ice: IceState, cell: UppermostCell, sky: Sky, air_temperature: Scalar | None, dt: ScalarLike
    ) -> IceStep:
        covered = ice["ice_thickness"] > 0.0
        freezing = at_most(self.freezing_point(cell.salinity), self.melting_point)
        excess = (cell.temperature - freezing) * cell.heat_per_kelvin
        albedo, penetrating = self._optics(ice)
        old_surface = ice["ice_surface_temperature"]

        def air_fluxes(surface: Scalar) -> tuple[Scalar, SurfaceFluxes]:
            fluxes = sky(IceSurface(covered, surface, albedo))
            return flux_like(fluxes.heat_flux, surface), fluxes

        heat, slope, fluxes = jax.jvp(air_fluxes, (old_surface,), (jnp.ones_like(old_surface),), has_aux=True)
        slope, light = at_least(-slope, 0.0), flux_like(fluxes.shortwave_flux, old_surface)
        transmitted = penetrating * jnp.exp(-ice["ice_thickness"] / self.light_depth)
        loss_at_zero = -heat - slope * old_surface - (1.0 - penetrating) * light
        air = SurfaceBalance(loss_at_zero, slope, (penetrating - transmitted) * light)
        # In open water the ice variables have no meaning, but must be finite.
        thickness = jnp.where(covered, ice["ice_thickness"], 1.0)
        temperatures = ice["upper_ice_temperature"], ice["lower_ice_temperature"]
        start = Layers(ice["snow_thickness"], 0.5 * thickness, 0.5 * thickness, *temperatures)
        layers, surface, melting = self._conducted(start, air, freezing, dt)
        melting = Melting(melting.above, melting.below + at_least(excess, 0.0))
        heat_gained = air.absorbed - air.loss - air.slope * surface
        if self.snow_falls and air_temperature is not None and fluxes.freshwater_flux is not None:
            is_snow = (air_temperature < 0.0) & covered
            snow = jnp.where(is_snow, at_least(fluxes.freshwater_flux, 0.0), 0.0)
            layers = layers._replace(snow=layers.snow + snow * dt / self.snow_density)
            heat_gained = heat_gained - self.latent_heat * snow
        zeros = jnp.zeros_like(old_surface)
        open_water = Layers(zeros, zeros, zeros, freezing, freezing)
        layers, melting, heat_gained = jax.tree.map(
            lambda ice, water: jnp.where(covered, ice, water),
            (layers, melting, heat_gained),
            (open_water, Melting(zeros, zeros), zeros),
        )
        layers, excess_heat = self._resized(layers, melting, at_least(-excess, 0.0), freezing, cell.density)
        total = layers.upper + layers.lower
        has_ice = total > 0.0
        at_freezing = freezing + excess_heat / cell.heat_per_kelvin
        temperature = jnp.where(covered | (excess < 0.0), at_freezing, cell.temperature)
        variables = {
            "ice_thickness": total,
            "snow_thickness": layers.snow,
            "ice_surface_temperature": jnp.where(has_ice & covered, surface, freezing),
            "upper_ice_temperature": jnp.where(has_ice, layers.upper_temperature, freezing),
            "lower_ice_temperature": jnp.where(has_ice, layers.lower_temperature, freezing),
        }
        taken = None
        if self.exchanges_water:
            ice_grown, snow_grown = total - ice["ice_thickness"], layers.snow - ice["snow_thickness"]
            taken = (self.ice_density * ice_grown + self.snow_density * snow_grown) / dt
        fluxes = below_cover(covered, fluxes, transmitted, taken)
        return IceStep(variables, temperature, fluxes, heat_gained, covered, taken)

    def _optics(self, ice: IceState) -> tuple[Scalar, Scalar]:
        """Albedo, and the fraction of the absorbed radiation that penetrates below the surface [1]."""
        snow = ice["snow_thickness"]
        snowy = snow / (snow + 0.02)  # fraction covered by snow
        thick = at_most(jnp.arctan(5.0 * ice["ice_thickness"]) / math.atan(2.5), 1.0)
        warm = (ice["ice_surface_temperature"] - self.melting_point) / self.melting_range + 1.0
        melts = jnp.clip(warm, 0.0, 1.0)
        of_ice = thick * (self.ice_albedo - 0.075 * melts) + (1.0 - thick) * self.water_albedo
        albedo = snowy * (self.snow_albedo - 0.1235 * melts) + (1.0 - snowy) * of_ice
        return albedo, (1.0 - snowy) * self.penetrating_fraction

    def _conducted(
        self, layers: Layers, air: SurfaceBalance, freezing: Scalar, dt: ScalarLike
    ) -> tuple[Layers, Scalar, Melting]:
        """Layer and surface temperatures after a step, and heat for melting, from the equations times h."""
        h, melting_point = layers.upper + layers.lower, self.melting_point
        upper, lower = layers.upper_temperature, layers.lower_temperature
        storage, k = self.ice_density * h * h / (2.0 * dt), self.conductivity
        capacity, latent = self.ice_heat_capacity, self.latent_heat * melting_point
        k_surface = 4.0 * k * self.snow_conductivity / (self.snow_conductivity + 4.0 * k * layers.snow / h)
        conductance = 6.0 * k + storage * capacity
        a = storage * capacity + 2.0 * k * (4.0 * k + storage * capacity) / conductance
        b = storage * (capacity * upper + latent / upper) + air.absorbed * h
        b = -b - 2.0 * k * (4.0 * k * freezing + storage * capacity * lower) / conductance
        c = storage * latent

        def root_of(a: Scalar, b: Scalar) -> Scalar:
            return -0.5 * (b + safe_sqrt(b * b - 4.0 * a * c)) / a

        k_sum = k_surface + air.slope * h
        unmelted = root_of(a + k_surface * air.slope * h / k_sum, b + air.loss * h * k_surface / k_sum)
        surface = (k_surface * unmelted - air.loss * h) / k_sum
        highest = jnp.where(layers.snow > 0.0, 0.0, melting_point)
        at_melting = root_of(a + k_surface, b - k_surface * highest)
        melts = surface > highest
        upper, surface = jnp.where(melts, at_melting, unmelted), jnp.where(melts, highest, surface)
        conducted = k_surface * (upper - surface) / h
        above = jnp.where(melts, (conducted - air.loss - air.slope * surface) * dt, 0.0)
        lower = (2.0 * k * (upper + 2.0 * freezing) + storage * capacity * lower) / conductance
        below = 4.0 * k * (lower - freezing) / h * dt
        # Cap temperatures at the melting point; the excess heat melts ice.
        capped = at_most(upper, melting_point), at_most(lower, melting_point)
        above = above + (self._upper_heat(capped[0]) - self._upper_heat(upper)) * 0.5 * h
        below = below + (self._lower_heat(capped[1]) - self._lower_heat(lower)) * 0.5 * h
        layers = layers._replace(upper_temperature=capped[0], lower_temperature=capped[1])
        return layers, surface, Melting(above, below)

    def _resized(
        self, layers: Layers, melting: Melting, frazil: Scalar, freezing: Scalar, rho_water: Scalar
    ) -> tuple[Layers, Scalar]:
        """Layers after melting, freezing and division into equal halves, and excess heat [J m-2]."""
        snow, h1, h2, t1, t2 = layers
        grown = (frazil + at_least(-melting.below, 0.0)) / self._lower_heat(freezing)
        t2 = _mixed(h2, t2, grown, freezing)
        h2 = h2 + grown
        q_snow, q_upper, q_lower = (
            self.snow_density * self.latent_heat,
            self._upper_heat(t1),
            self._lower_heat(t2),
        )
        snow, heat_left = _melted(snow, q_snow, melting.above)
        h1, heat_left = _melted(h1, q_upper, heat_left)
        h2, heat_left_above = _melted(h2, q_lower, heat_left)
        h2, heat_left = _melted(h2, q_lower, at_least(melting.below, 0.0))
        h1, heat_left = _melted(h1, q_upper, heat_left)
        snow, heat_left = _melted(snow, q_snow, heat_left)
        # Snow below the water line, pressed down by its weight, becomes ice at its melting point.
        total = h1 + h2
        snow_ice = at_least((self.ice_density * total + self.snow_density * snow) / rho_water - total, 0.0)
        snow = snow - snow_ice * self.ice_density / self.snow_density
        upper_plain = _mixed(h1, self._as_plain(t1), snow_ice, self.melting_point)
        h1 = h1 + snow_ice
        # Redistribute to equal halves.
        half = 0.5 * (h1 + h2)
        moved_down, moved_up = at_least(h1 - half, 0.0), at_least(h2 - half, 0.0)
        t1 = self._with_brine(_mixed(h1 - moved_down, upper_plain, moved_up, t2))
        t2 = _mixed(h2 - moved_up, t2, moved_down, upper_plain)
        above_melting = at_least(t2 - self.melting_point, 0.0)
        t2 = at_most(t2, self.melting_point)
        excess_heat = half * self.ice_density * self.ice_heat_capacity * above_melting
        half = half - excess_heat / (self._upper_heat(t1) + self._lower_heat(t2))
        return Layers(snow, half, half, t1, t2), heat_left_above + heat_left

    def _as_plain(self, temperature: Scalar) -> Scalar:
        """Temperature of ice without brine with the same heat content as ice with brine [degC]."""
        return temperature + self.latent_heat * self.melting_point / (self.ice_heat_capacity * temperature)

    def _with_brine(self, temperature: Scalar) -> Scalar:
        """Temperature of ice with brine with the heat content of ice without brine [degC]."""
        brine = 4.0 * self.melting_point * self.latent_heat / self.ice_heat_capacity
        return 0.5 * (temperature - safe_sqrt(temperature**2 - brine))


def _melted(thickness: Scalar, heat_to_melt: Scalar, heat: Scalar) -> tuple[Scalar, Scalar]:
    """Melt a layer [m] that takes `heat_to_melt` [J m-3]; return the remaining layer and heat [J m-2]."""
    needed = thickness * heat_to_melt
    melts_all = heat >= needed
    remainder = thickness - heat / jnp.where(melts_all, 1.0, heat_to_melt)
    no_melting = heat <= 0.0
    remaining = jnp.where(melts_all & ~no_melting, 0.0, remainder)
    return jnp.where(no_melting, thickness, remaining), jnp.where(melts_all, heat - needed, 0.0)


def _mixed(thickness: Scalar, value: Scalar, other: Scalar, other_value: Scalar) -> Scalar:
    """Mean of two parts of a layer, weighted by thickness [m]; the first value if both are empty."""
    total = thickness + other
    has_layer = total > 0.0
    fraction = jnp.where(has_layer, other, 0.0) / jnp.where(has_layer, total, 1.0)
    return value + fraction * (other_value - value)
