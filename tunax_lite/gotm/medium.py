"""The water itself: its equation of state, its light, its molecular mixing, the rotation of the earth."""

import math

import jax.numpy as jnp

from ..closures import AbstractClosure
from ..io.series import Series
from ..model import Model
from ..physics.absorption import AbstractAbsorption, TwoBandAbsorption
from ..physics.equation_of_state import AbstractEquationOfState, LinearEquationOfState, SpecificVolumeTeos10
from .inputs import Inputs
from .settings import Settings

_TEOS10_HEAT_CAPACITY = 3991.86795711963
"""Of TEOS-10 [J kg-1 K-1]: with it GOTM replaces the one given, unless the equation of state is custom."""

_JERLOV = {
    "jerlov-i": (0.58, 0.35, 23.0),
    "jerlov-1-50m": (0.68, 1.2, 28.0),
    "jerlov-ia": (0.62, 0.6, 20.0),
    "jerlov-ib": (0.67, 1.0, 17.0),
    "jerlov-ii": (0.77, 1.5, 14.0),
    "jerlov-iii": (0.78, 1.4, 7.9),
}
"""Infrared fraction, infrared depth [m] and visible depth [m] of GOTM's water types."""


def read_equation_of_state(settings: Settings) -> AbstractEquationOfState:
    """The equation of state, with GOTM's reference density and gravity."""
    method = settings["equation_of_state.method"]
    linear = lambda name: settings[f"equation_of_state.linear.{name}"]  # noqa: E731
    constants = {
        "gravity": settings["physical_constants.gravity"],
        "reference_density": settings["equation_of_state.rho0"],
        "heat_capacity": _TEOS10_HEAT_CAPACITY,
    }
    reason = f"equation_of_state.method is {method}"
    if method == "linear_custom":
        settings.without_effect("equation_of_state.linear.p0", reason)
        return LinearEquationOfState(
            thermal_expansion=linear("alpha"),
            haline_contraction=linear("beta"),
            reference_temperature=linear("T0"),
            reference_salinity=linear("S0"),
            **(constants | {"heat_capacity": linear("cp")}),
        )
    if method == "linear_teos-10":
        point = (linear("T0"), linear("S0"), linear("p0"))
        settings.without_effect("equation_of_state.linear", reason)
        return _tangent(*point, **constants)
    settings.without_effect("equation_of_state.linear", reason)
    return SpecificVolumeTeos10(**constants)


def _tangent(
    temperature: float, salinity: float, pressure: float, **constants: float
) -> LinearEquationOfState:
    """Linear with the expansion and contraction of TEOS-10 at a point, over the density there."""
    point = jnp.asarray(temperature), jnp.asarray(salinity), jnp.asarray(-pressure)
    expansion, contraction = SpecificVolumeTeos10().expansion(*point)
    return LinearEquationOfState(
        thermal_expansion=expansion,
        haline_contraction=contraction,
        reference_temperature=temperature,
        reference_salinity=salinity,
        **constants,
    )


def read_absorption(inputs: Inputs) -> AbstractAbsorption:
    """Jerlov's water types, or constants; what reaches the bottom leaves the column, as in GOTM."""
    settings = inputs.settings
    method = settings["light_extinction.method"]
    if method != "custom":
        for name in ("A", "g1", "g2"):
            settings.without_effect(f"light_extinction.{name}", f"light_extinction.method is {method}")
        return TwoBandAbsorption(*_JERLOV[method], bottom_absorbs=False)
    numbers = []
    for name in ("A", "g1", "g2"):
        value = inputs.scalar(f"light_extinction.{name}")
        if isinstance(value, Series):
            path = f"light_extinction.{name}.method"
            settings.refuse(path, "optics that vary in time are not supported; give a constant")
            value = float(value.values.mean())
        numbers.append(value)
    return TwoBandAbsorption(*numbers, bottom_absorbs=False)


def read_coriolis_parameter(settings: Settings) -> float:
    """f [s-1] of the latitude."""
    angle = math.radians(settings["location.latitude"])
    return 4.0 * math.pi / settings["physical_constants.rotation_period"] * math.sin(angle)


def model_of(closure: AbstractClosure, settings: Settings) -> Model:
    """The model: closure, molecular mixing and the weight of the new values."""
    return Model(
        closure,
        molecular_viscosity=settings["physical_constants.avmolu"],
        molecular_diffusivity=settings["physical_constants.avmolt"],
        molecular_salt_diffusivity=settings["physical_constants.avmols"],
        theta=settings["time.cnpar"],
        like_gotm=True,
    )
