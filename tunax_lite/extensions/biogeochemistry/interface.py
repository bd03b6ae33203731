"""Interface of a biogeochemical model: pools, and the rates of exchange between them in a cell.

A model is a pure function of the pools and the environment of a cell. Its rates are the entries of a
production-destruction matrix, by pairs of names:

    {("nut", "phy"): uptake}     what `nut` loses, `phy` gains [unit s-1]
    {(None, "oxy"): production}  a gain from outside the pools,   {("oxy", None): loss}  a loss to outside

All rates are at least zero. A time scheme turns them into a step; see `schemes`.
"""

import abc
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ..._types import CenterArray, Scalar, ScalarLike
from ...numerics.elementary import reciprocal
from ...views import AbstractShown

DAY = 86400.0
ATMOSPHERE = 101325.0  # [Pa]
Values = Float[Array, "..."]
Pools = Mapping[str, Values]
"""Concentrations by name."""
Exchanges = dict[tuple[str | None, str | None], Values]
"""Rates by source and target, one of which may be outside (`None`); at least zero."""
Contents = Mapping[str, Mapping[str, ScalarLike]]
"""Content per unit of each pool, by conserved quantity."""
Velocities = dict[str, ScalarLike | CenterArray]
"""Vertical velocities through the water, positive upward, by pool [m s-1]."""


Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]
"""Title, names of the columns, and rows of texts."""


def once(values: Values) -> Values:
    """Make XLA compute these values once, instead of again in each loop that uses them."""
    return jax.lax.optimization_barrier(values)


class Pool(NamedTuple):
    """A pool of a model.

    Args:
        name: name within the model.
        unit: unit of the concentration.
        meaning: long name, for files.
        initial: concentration at the start, unless the term or the case sets it.
        on_bottom: true for an amount per area on the bottom, instead of a concentration in the water.
        diluted: true if rain dilutes the pool and evaporation concentrates it.
        positive: true if it cannot be negative.
    """

    name: str
    unit: str
    meaning: str
    initial: float = 0.0
    on_bottom: bool = False
    diluted: bool = True
    positive: bool = True


class Environment(NamedTuple):
    """Environment of the pools, on cells or as one number per column.

    Args:
        temperature: conservative temperature [degC].
        salinity: absolute salinity [g kg-1].
        density: density of the water [kg m-3].
        depth: depth of the centers below the surface [m].
        thickness: thickness of the cells [m].
        light: photosynthetically active radiation at the centers [W m-2].
        surface_light: light just below the surface [W m-2]: visible, or all solar radiation, as chosen by
            `surface_light` of the term.
        shortwave: all solar radiation just below the surface [W m-2].
        wind_speed: wind speed at 10 m [m s-1]; `None` if the case has no wind.
        bottom_stress: stress on the bottom [N m-2].
        time: time since the start of the case [s].
        covered: true where ice covers the surface and stops all exchange through it; `None` without ice.
        air_pressure: air pressure at the surface [Pa]; `None` if gases ignore it, as in FABM's models.
    """

    temperature: CenterArray
    salinity: CenterArray
    density: CenterArray
    depth: CenterArray
    thickness: CenterArray
    light: CenterArray
    surface_light: Scalar
    shortwave: Scalar
    wind_speed: Scalar | None
    bottom_stress: Scalar
    time: ScalarLike
    covered: Bool[Array, "..."] | None = None
    air_pressure: Scalar | None = None

    def dry_air(self) -> Values | float:
        """Pressure of the dry air, P - e [atm]; 1 without an air pressure.

        Source: Weiss and Price (1980), Mar. Chem. 8, 347-359, for the saturated vapour over the water.
        """
        if self.air_pressure is None:
            return 1.0
        return self.air_pressure / ATMOSPHERE - self._vapour()

    def relative_saturation(self) -> Values | float:
        """Saturation of a gas relative to moist air of one atmosphere, (P - e) / (1 atm - e) [1]."""
        return 1.0 if self.air_pressure is None else self.dry_air() / (1.0 - self._vapour())

    def _vapour(self) -> Values:
        hundreds = 0.01 * (self.temperature + 273.15)
        of_temperature = 24.4543 - 67.4509 * reciprocal(hundreds) - 4.8489 * jnp.log(hundreds)
        return jnp.exp(of_temperature - 0.000544 * self.salinity)

    def wind(self) -> Scalar:
        """Wind speed [m s-1].

        Raises:
            ValueError: a case whose forcing has no wind.
        """
        if self.wind_speed is None:
            raise ValueError(
                "Biogeochemistry: expected a wind speed for the exchange of gases, got prescribed fluxes "
                "without wind; give the weather of the case, or the wind_speed of this term."
            )
        return self.wind_speed

    def adapted_growth(self, least: ScalarLike) -> CenterArray:
        """Relative growth of algae adapted to the light at the surface, I / I_opt exp(1 - I / I_opt) [1].

        Args:
            least: smallest optimal light [W m-2]; above it I_opt is a quarter of the light at the surface.

        Source: Steele (1962), Limnol. Oceanogr. 7, 137-150.
        """
        relative = self.light * reciprocal(jnp.maximum(0.25 * self.surface_light, least))
        return relative * jnp.exp(1.0 - relative)

    def cell(self, index: int) -> "Environment":
        """Return the environment of a cell; -1 is the uppermost, 0 the lowest."""
        profiles = ("temperature", "salinity", "density", "depth", "thickness", "light")
        return self._replace(**{name: getattr(self, name)[index] for name in profiles})


class AbstractBiogeochemicalModel(AbstractShown):
    """A biogeochemical model; only `pools` and `rates` are required."""

    remedy: ClassVar[str] = "put it into a term: Biogeochemistry({'mine': ...})"
    """Advice if an instance is passed to `simulate` in place of a model."""

    @abc.abstractmethod
    def pools(self) -> tuple[Pool, ...]:
        """Pools of the model."""

    @abc.abstractmethod
    def rates(self, pools: Pools, environment: Environment) -> Exchanges:
        """Exchanges in the water [unit s-1].

        Args:
            pools: concentrations by name: those of the model, and those of coupled `links`.
            environment: environment of the cells.
        """

    def tables(self) -> list[Table]:
        """Tables for `describe`, of the names that a configuration may use."""
        pools = [
            (each.name, each.unit, f"{each.initial:g}", each.meaning + " (on the bottom)" * each.on_bottom)
            for each in self.pools()
        ]
        title = "pools with these settings; tracers MODEL_POOL, by the name of the model in `models`"
        tables: list[Table] = [(title, ("pool", "unit", "start", "meaning"), pools)]
        if kept := [(name, *about) for name, about in self.measurable().items()]:
            tables.append(("profiles for `kept`, as MODEL_PROFILE", ("profile", "unit", "meaning"), kept))
        if links := [(name,) for name in self.links()]:
            tables.append(("links for `couplings`, as MODEL_LINK", ("link",), links))
        return tables

    def links(self) -> tuple[str, ...]:
        """Names for pools of other models, such as dissolved carbon, that the model changes if coupled."""
        return ()

    def contents(self) -> Contents:
        """Contents of the pools by conserved quantity, as {"nitrogen": {"phy": 1.0, "zoo": 1.0}}."""
        return {}

    def velocities(self, pools: Pools, environment: Environment) -> Velocities:
        """Vertical velocities through the water, positive upward, by pool [m s-1]."""
        return {}

    def attenuation(self, pools: Pools) -> CenterArray | None:
        """Attenuation of visible light by the pools [m-1]."""
        return None

    def through_surface(self, pools: Pools, environment: Environment) -> Exchanges:
        """Exchanges of the uppermost cell with the air [unit m s-1]."""
        return {}

    def through_bottom(self, pools: Pools, environment: Environment) -> Exchanges:
        """Exchanges between the lowest cell, pools on the bottom, and the sediment [unit m s-1]."""
        return {}

    def diagnostics(self, pools: Pools, environment: Environment) -> dict[str, CenterArray]:
        """Profiles of `measurable`, by name."""
        return {}

    def measurable(self) -> dict[str, tuple[str, str]]:
        """Unit and meaning of diagnostics by name; a run can keep them and compare them with measurements."""
        return {}
