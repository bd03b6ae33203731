"""The grid and the water itself: equation of state, light, molecular mixing, rotation of the earth."""

import math

import jax.numpy as jnp
import numpy as np

from ..closures import AbstractClosure
from ..grid import Grid
from ..io.errors import reading
from ..io.series import Series
from ..io.yaml_file import ConfigError
from ..model import Model
from ..physics.absorption import AbstractAbsorption, TwoBandAbsorption
from ..physics.equation_of_state import AbstractEquationOfState, LinearEquationOfState, SpecificVolumeTeos10
from .files import read_columns, read_text
from .profiles import Inputs
from .schema import Input
from .settings import Settings, Source

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


def read_grid(settings: Settings) -> Grid:
    """Cells between the bottom and the mean surface.

    Raises:
        ConfigError: a depth, a number of layers or thicknesses that make no grid.
        FileNotFoundError, FileFormatError: a file of thicknesses that is missing or wrong.
    """
    method, depth, n_cells = (settings[path] for path in ("grid.method", "location.depth", "grid.nlev"))
    settings.without_effect("grid.fixed_grid", "it chooses coordinates of GOTM's output")
    try:
        if method == "analytical":
            settings.without_effect("grid.file", "grid.method is analytical")
            zooms = {"surface_zoom": settings["grid.ddu"], "bottom_zoom": settings["grid.ddl"]}
            return Grid.stretched(depth, n_cells, **zooms)
        for key in ("grid.ddu", "grid.ddl"):
            settings.without_effect(key, f"grid.method is {method}")
        thickness = _thicknesses(settings, n_cells, depth if method == "file_h" else 1.0)
        # The last face is the surface to the last bit.
        depths = np.concatenate([[0.0], np.cumsum(thickness)])
        return Grid(-depth * depths[::-1] / depths[-1])
    except ConfigError:
        raise
    except ValueError as error:
        if "line" in str(error):
            raise
        raise settings.error("grid", str(error).rstrip(".")) from error


def _thicknesses(settings: Settings, n_cells: int, total: float) -> np.ndarray:
    """Thicknesses from the surface down, as the file has them."""
    path = "grid.file"
    name = settings[path]
    if not name:
        raise settings.error(path, "expected the name of a file of layer thicknesses, got none")
    with reading(settings.folder / name, "a file of layer thicknesses"):
        return _read_thicknesses(settings, name, n_cells, total)


def _read_thicknesses(settings: Settings, name: str, n_cells: int, total: float) -> np.ndarray:
    path = "grid.file"
    file = read_text(
        Source(path, "file", 0.0, settings.folder / name, 1, 1.0, 0.0, Input("m"), settings.where(path))
    )
    values = read_columns(file, np.arange(len(file.texts)), (0,), skip=0, names="layer thickness")[:, 0]
    if int(values[0]) != n_cells or values.size < n_cells + 1:
        raise file.error(
            0,
            f"the number of layers, {n_cells} as grid.nlev says, and as many lines",
            f"{values[0]:g} and {values.size - 1} lines",
            "correct the file or grid.nlev",
        )
    thickness = values[1 : n_cells + 1]
    bad = np.flatnonzero(~(thickness > 0.0))
    if bad.size:
        raise file.error(
            int(bad[0]) + 1, "a positive thickness", f"{thickness[bad[0]]:g}", "correct the line"
        )
    if abs(thickness.sum() - total) > 1e-5 * max(total, 1.0):
        raise file.error(
            0,
            f"thicknesses that add up to {total:g}",
            f"{thickness.sum():g}",
            "correct the file or the depth",
        )
    return thickness
