"""Stokes drift in a configuration."""

from typing import Annotated, Any, Literal

import jax.numpy as jnp
from jaxtyping import Array
from pydantic import Field

from .. import io
from ..column import terms
from ..column.time_series import TimeSeries
from ..io.series import Series, profiles_on_grid
from ..io.yaml_file import ConfigError
from .builder import part_of
from .conversions import UNITS, UnitGiven, conversions_of
from .profiles import ProfileSection, read_profiles, together
from .section import Located, Section, invalid, key
from .series import Paths, SeriesPart, Setting, TimedSection, TimedValue, read_timed, read_together

Wind = TimeSeries[terms.WindVector] | None
"""At 10 m; of a case without weather there is none."""


class ExponentialDrift(SeriesPart):
    """A Stokes drift that decays exponentially with depth."""

    makes, quantities = terms.StokesDrift, {"u": "velocity", "v": "velocity"}
    kind: Literal["exponential"]
    decay_depth: TimedSection = key("d of exp(z / d), at least 0.001 [m]", TimedValue(constant=5.0))
    u: TimedSection = key("eastward, at the surface [m s-1]", TimedValue(constant=0.0))
    v: TimedSection = key("northward, at the surface [m s-1]", TimedValue(constant=0.0))

    def _check(self) -> None:
        depth = self.decay_depth.constant
        if depth is not None and not 1e-3 <= depth <= 1e4:
            expected = f"expected a depth from 0.001 to 10000 [m], got {depth:g}"
            raise Located(("decay_depth",), f"{expected}; correct it.")

    def read(self, setting: Setting, key: str, wind: object = None) -> terms.StokesDrift:
        """The drift."""
        series = self.series(setting, key)
        depth = read_timed(self.decay_depth, "height", setting, "interior", key, "decay_depth")
        if not isinstance(depth, Series):
            return terms.StokesDrift(series, decay_depth=depth)
        depths = TimeSeries(jnp.asarray(depth.time), jnp.asarray(depth.values))
        return terms.StokesDrift(series, depths=depths)


class WindSea(part_of(terms.WindSeaDrift), SeriesPart):
    """The Stokes drift of a wind sea in equilibrium."""

    makes, quantities = terms.WindSeaDrift, {"u": "wind_u", "v": "wind_v"}
    kind: Literal["wind_sea"]
    u: TimedSection | None = key("eastward wind at 10 m [m s-1]; null for that of the weather", None)
    v: TimedSection | None = key("northward wind at 10 m [m s-1]; likewise", None)

    def _check(self) -> None:
        if (self.u is None) != (self.v is None):
            raise invalid("both components of the wind, or none", "one", "give u and v, or remove it")

    def read(self, setting: Setting, key: str, wind: Wind = None) -> terms.WindSeaDrift:
        """The drift from the given wind, or that of the weather."""
        wind = wind if self.u is None else self.series(setting, key)
        if wind is None:
            raise ConfigError(
                f"{setting.at('interior', key)}: expected u and v, or a case with weather at 10 m, got "
                "neither; give the wind at 10 m."
            )
        return terms.WindSeaDrift(wind, **self.given())


class ProfiledDrift(Section):
    """Stokes drift over time and depth, from a CF NetCDF file or profiles."""

    kind: Literal["profiles"]
    paths: Paths | None = None
    u: Annotated[str, Field(min_length=1)] | ProfileSection = key(
        "eastward drift: its name in the file, or a profile [m s-1]"
    )
    v: Annotated[str, Field(min_length=1)] | ProfileSection | None = key(
        "northward drift, likewise; null for no such component", None
    )
    units: dict[Literal["u", "v", "time", "z"], UnitGiven] = key(UNITS, default_factory=dict)
    longest_gap: float = key("longest time that is bridged [s]", 86400.0, gt=0.0)
    surface_u: TimedSection | None = key(
        "eastward drift at the surface [m s-1]; null for that of the cells", None
    )
    surface_v: TimedSection | None = key("northward drift at the surface [m s-1]; likewise", None)

    def _check(self) -> None:
        if (self.surface_u is None) != (self.surface_v is None):
            raise invalid("surface_u and surface_v, or none", "one", "give both")
        if any(isinstance(each, str) == (self.paths is None) for each in self._components.values()):
            raise invalid("names of u and v with `paths`, or profiles without", "a mixture", "correct it")

    @property
    def _components(self) -> dict[str, Any]:  # names with `paths`, otherwise profiles
        return {name: each for name, each in (("u", self.u), ("v", self.v)) if each is not None}

    def read(self, setting: Setting, key: str, wind: Wind) -> terms.DriftProfiles:
        """The drift; a missing component is zero."""

        def drift(u: Array, v: Array | None = None) -> terms.DriftVectors:
            return terms.DriftVectors(u, jnp.zeros_like(u) if v is None else v)

        told, keys, surface = (drift, "Stokes drift", setting, key), ("interior", key), None
        if self.surface_u is not None:
            what = {"surface_u": "velocity", "surface_v": "velocity"}
            at_surface = lambda surface_u, surface_v: terms.DriftVector(surface_u, surface_v)  # noqa: E731
            surface = read_together(self, at_surface, "Stokes drift", setting, *keys, **what)
        if self.paths is None:
            profiles = {name: (each, f"stokes_drift_{name}") for name, each in self._components.items()}
            return terms.DriftProfiles(read_profiles(*told, profiles), surface)
        start_time, z = setting.required_start(*keys), setting.z_center
        paths = [setting.file(path, *keys, "paths") for path in self.paths]
        with setting.naming(*keys):
            read = io.read_oceansites(
                paths,
                start_time=start_time,
                variables=self._components,
                units=conversions_of(self.units),
                name="Stokes drift",
            )
            options = {"longest_gap": self.longest_gap, "duration": setting.duration}
            series = {name: profiles_on_grid(read, name, z, **options) for name in self._components}
        return terms.DriftProfiles(together(*told, series), surface)


StokesDriftSection = Annotated[ExponentialDrift | WindSea | ProfiledDrift, Field(discriminator="kind")]
"""The drift of surface waves."""
