"""Profiles over depth in a configuration; equation of state and absorption."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ..column.state import State
from ..column.terms import AbstractTerm, Interior
from ..io.series import Series
from ..physics import (
    AbstractAbsorption,
    AbstractEquationOfState,
    LinearEquationOfState,
    TwoBandSeries,
)
from ..physics.equation_of_state import SpecificVolumeTeos10
from .builder import BY_HAND, one_of, section_of
from .section import Annotation, Section, in_short, invalid, key
from .series import (
    ColumnNumber,
    ConversionSection,
    SeriesPart,
    Setting,
    TimedSection,
    check_keys,
    check_table,
)


class TwoLayers(Section):
    """Two layers; depths count from the center of the uppermost cell."""

    upper: float = key("value above")
    lower: float = key("value below")
    upper_depth: float = key("down to which the upper value holds [m]", ge=0.0)
    lower_depth: float = key("from which on the lower value holds [m]", ge=0.0)

    def on(self, z: np.ndarray) -> np.ndarray:
        """Values at cell centers."""
        depth = z[-1] - z
        if self.lower_depth - self.upper_depth < 1e-15:
            return np.where(depth <= self.upper_depth, self.upper, self.lower)
        return np.interp(depth, [self.upper_depth, self.lower_depth], [self.upper, self.lower])


class Profile(ConversionSection):
    """Values over depth: a surface value with a gradient, values at heights, two layers, or a file."""

    instead: ClassVar[str] = "a number or "
    surface: float | None = key("value at the surface", None)
    gradient: float | None = key("change per metre upwards", None)
    z: list[float] | None = key("heights, increasing [m]", None, min_length=2)
    values: list[float] | None = key("values at z", None, min_length=2)
    two_layer: TwoLayers | None = key("two values with a linear transition", None)
    path: str | None = key("file of profiles", None, min_length=1)
    column: ColumnNumber | None = None

    def _check(self) -> None:
        check_keys(
            self,
            (
                ({"surface"}, {"gradient"}),
                ({"z", "values"}, set()),
                ({"two_layer"}, set()),
                ({"path", "column"}, set()),
            ),
            "a number, or `surface` with `gradient`, or `z` with `values`, or `path` with `column`, or "
            "`two_layer`",
        )
        if self.z is not None and self.values is not None:
            check_table(self.z, self.values, "heights")
            if self.z[-1] > 0.0:
                raise invalid(
                    "heights z that end at or below 0", f"{self.z[-1]}", "below the surface they are negative"
                )

    @property
    def ends(self) -> tuple[float, float]:
        """Lowest and highest height [m] of `values`; infinite on a side where the outermost two are equal."""
        assert self.z is not None and self.values is not None
        lowest = -math.inf if self.values[0] == self.values[1] else self.z[0]
        return lowest, math.inf if self.values[-1] == self.values[-2] else self.z[-1]

    def read(self, quantity: str, setting: Setting, *keys: str, whole_period: bool = True) -> Series:
        """Read the values on the cells over the time of the case; without a file, they are constant in time.

        Args:
            quantity: name in the table of quantities, or of a tracer.
            setting: settings of the case.
            keys: keys that lead from the case to this section.
            whole_period: true if a file must cover the case, false if its start suffices.

        Raises:
            ConfigError: numbers that the quantity cannot have.
            FileNotFoundError, FileFormatError: a file that is missing, or cannot be used.
        """
        if self.column is not None:
            column = setting.column(self, quantity, *keys)
            with setting.naming(*keys, "path"):
                return setting.read_profiles(column, whole_period=whole_period)
        self.check_numbers(quantity, setting, *keys)
        z = setting.z_center
        if self.z is not None and self.values is not None:
            values = np.interp(z, self.z, self.converted(quantity, np.asarray(self.values)))
        else:
            along = (self.surface or 0.0) + (self.gradient or 0.0) * z
            values = self.converted(quantity, along if self.two_layer is None else self.two_layer.on(z))
        return constant_in_time(values, quantity, setting, *keys)

    def check_numbers(self, quantity: str, setting: Setting, *keys: str) -> None:
        """Raise `ConfigError` for impossible numbers, also at heights outside the grid."""
        layers = [] if self.two_layer is None else [self.two_layer.upper, self.two_layer.lower]
        numbers = [*(self.values or []), *layers, *([] if self.surface is None else [self.surface])]
        with setting.naming(*keys):
            values = self.converted(quantity, np.asarray(numbers, float))
        setting.check(quantity, values, *keys)


ProfileSection = Annotated[Profile, in_short("surface", Profile | float, float)]


class WaterProfile(Profile):
    """Temperature or salinity over depth, which also a surface value with a buoyancy frequency can give."""

    buoyancy_frequency_squared: float | None = key("N² that sets the gradient [s-2]", None)
    everywhere: bool = key(
        "true for a constant N²; the other of temperature and salinity must be uniform. false for a constant "
        "gradient, from N² at the surface",
        False,
    )

    def _check(self) -> None:
        if self.buoyancy_frequency_squared is None:
            super()._check()
        else:
            form = {"surface", "buoyancy_frequency_squared"}, {"everywhere"}
            check_keys(self, (form,), "`surface` with `buoyancy_frequency_squared`")


WaterProfileSection = Annotated[WaterProfile, in_short("surface", WaterProfile | float, float)]


def constant_in_time(values: np.ndarray, quantity: str, setting: Setting, *keys: str) -> Series:
    """Series of values on the cells that do not change in time; `ConfigError` for impossible values."""
    setting.check(quantity, values, *keys)
    return Series(np.array([0.0, setting.duration]), np.stack([values, values]))


def stratified(
    profile: WaterProfile, other: float, name: str, setting: Setting, water: AbstractEquationOfState
) -> Series:
    """Temperature or salinity on the cells from N², constant in time.

    The gradient is constant, `surface` holds at z = 0, and N² is that at the surface. With `everywhere` N² is
    constant and `surface` is the value of the uppermost cell. The integration then goes down from cell to
    cell: the expansion of the upper cell predicts the lower one, and the expansion at the mean of both gives
    its value. Source: GOTM, `temperature.NN`.

    Args:
        profile: surface value and N².
        other: value of the other variable of temperature and salinity, in the uppermost cell.
        name: "temperature" or "salinity".
        setting: settings of the case.
        water: equation of state.

    Raises:
        ConfigError: water that does not expand, or impossible values.
    """
    z, z_face = setting.z_center, np.asarray(setting.grid.z_face)
    squared, sign = profile.buoyancy_frequency_squared or 0.0, 1.0 if name == "temperature" else -1.0
    profile.check_numbers(name, setting, name)
    with setting.naming(name, "buoyancy_frequency_squared"):

        def expansion(value, height):
            fixed = jnp.full_like(value, other)
            both = (value, fixed) if name == "temperature" else (fixed, value)
            return water.expansion(*both, height)[0 if name == "temperature" else 1] + 0.0 * height

        def coefficient(value, height):
            found = float(of_water(jnp.asarray(value, dtype=float), jnp.asarray(height, dtype=float)))
            if found == 0.0:
                raise ValueError(f"expected water that expands with {name}, got 0; give a gradient instead.")
            return found

        of_water = eqx.filter_jit(expansion) if profile.everywhere else expansion
        surface = profile.converted(name, profile.surface or 0.0)
        values = surface + sign * squared / float(water.gravity * coefficient(surface, 0.0)) * z
        if profile.everywhere:
            strength = squared / float(water.gravity)
            values[-1] = surface
            for i in range(z.size - 2, -1, -1):
                upper, face, step = values[i + 1], z_face[i + 1], z[i + 1] - z[i]
                guess = upper - sign * strength / coefficient(upper, face) * step
                values[i] = upper - sign * strength / coefficient(0.5 * (upper + guess), face) * step
    return constant_in_time(values, name, setting, name)


def with_memory(state: State, interior: Interior, terms: Mapping[str, AbstractTerm]) -> State:
    """Add the tracers of terms that the state lacks, at their initial values."""
    initial: dict[str, float] = {}
    for term in (*interior.terms(), *terms.values()):
        initial |= dict.fromkeys(term.own_tracers(), 0.0) | term.initial_tracers()
    missing = sorted(initial.keys() - state.tracers.keys())
    added = {name: initial[name] + 0.0 * state.temperature for name in missing}
    return dataclasses.replace(state, tracers=state.tracers | added)


class TangentSection(Section):
    """The point at which a linear equation of state is tangent to TEOS-10."""

    temperature: float = key("conservative temperature [degC]", ge=-5.0, le=60.0)
    salinity: float = key("absolute salinity [g kg-1]", ge=0.0, le=60.0)
    pressure: float = key("sea pressure [dbar]", 0.0, ge=0.0, le=12000.0)
    form: Literal["boussinesq", "specific_volume"] = key(
        "polynomial of TEOS-10: that of the equation of state `teos10`, or of `specific_volume`", "boussinesq"
    )


class LinearSection(section_of(LinearEquationOfState, "linear")):
    """A linear equation of state: its coefficients, or the tangent to TEOS-10 at a point."""

    tangent_to_teos10: TangentSection | None = key(
        "point of TEOS-10 that gives expansion, contraction and reference", None
    )

    def _check(self) -> None:
        numbers = {"thermal_expansion", "haline_contraction", "reference_temperature", "reference_salinity"}
        if self.tangent_to_teos10 is not None and (both := sorted(numbers & self.model_fields_set)):
            got = f"it and {', '.join(both)}"
            raise invalid("tangent_to_teos10 or the numbers that it gives", got, "remove one of them")

    def build(self) -> LinearEquationOfState:
        """The equation of state."""
        given = self.given()
        if self.tangent_to_teos10 is None:
            return LinearEquationOfState(**given)
        point = self.tangent_to_teos10.model_dump()
        water = SpecificVolumeTeos10() if point.pop("form") == "specific_volume" else None
        return LinearEquationOfState.from_teos10(**point, water=water, **given)


BY_HAND[LinearEquationOfState] = LinearSection
EquationOfStateSection: Annotation = one_of(AbstractEquationOfState)


class TwoBandSeriesSection(section_of(TwoBandSeries, "two_band_series"), SeriesPart):
    """Two bands of shortwave radiation with time-varying coefficients."""

    makes = TwoBandSeries
    quantities = {name: name for name in ("infrared_fraction", "infrared_depth", "visible_depth")}
    infrared_fraction: TimedSection = key("infrared fraction of the light [1]")
    infrared_depth: TimedSection = key("e-folding depth of the infrared light [m]")
    visible_depth: TimedSection = key("e-folding depth of the visible light [m]")


BY_HAND[TwoBandSeries] = TwoBandSeriesSection
AbsorptionSection: Annotation = one_of(AbstractAbsorption)
"""Absorption of shortwave radiation: a water type of Jerlov, two bands, or from chlorophyll."""
