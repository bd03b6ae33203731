"""Lists that drive the tests, and what several test files need."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.closures.columns import random_grid
from tunax_lite import (
    Case,
    ConstantDiffusivity,
    ConstantForcing,
    ConvectiveAdjustment,
    Grid,
    KEpsilon,
    PacanowskiPhilander,
    SecondMomentClosure,
    State,
    SurfaceFluxes,
    TimeSeriesForcing,
)
from tunax_lite._types import at_path
from tunax_lite.closures import (
    CATKE,
    EPBL,
    KPP,
    TKE,
    GenericLengthScale,
    KEpsilonTheta,
    KOmega,
    KrausTurner,
    MassFluxConvection,
    MellorYamada,
    MunkAndersonMixing,
    MunkAndersonStability,
    NeuralCorrection,
    OneEquation,
    PriceWellerPinkel,
    RiBased,
)
from tunax_lite.column.forcing import WaterSurface

ALL_CLOSURES = [
    ConstantDiffusivity(),
    ConvectiveAdjustment(),
    PacanowskiPhilander(),
    MunkAndersonMixing(),
    RiBased(),
    KEpsilon(),
    KEpsilonTheta(),
    KOmega(),
    GenericLengthScale(),
    MellorYamada(),
    OneEquation(),
    KPP(),
    CATKE(),
    TKE(),
    KrausTurner(),
    PriceWellerPinkel(),
    EPBL(),
    EPBL.as_in_om4(),
    MassFluxConvection(),
    # A new one changes nothing: this one has random weights.
    NeuralCorrection(
        physical=PacanowskiPhilander(),
        width=3,
        depth=1,
        weights=jnp.asarray(np.random.default_rng(0).normal(0.0, 0.5, 23)),
    ),
]
"""Every closure as users get it; a new closure is added here, and all contract tests apply to it."""

CLOSURE_IDS = [type(closure).__name__ for closure in ALL_CLOSURES]
CLOSURE_IDS[CLOSURE_IDS.index("EPBL") + 1] = "epbl_om4"


def id_of(closure) -> str:
    """Its name in the lists below."""
    known = [*zip(CLOSURE_IDS, ALL_CLOSURES, strict=True), *VARIANTS.items()]
    return next((name for name, other in known if other is closure), type(closure).__name__)


VARIANTS = {
    "KEpsilon.recommended": KEpsilon.recommended(),
    "GenericLengthScale.recommended": GenericLengthScale.recommended(),
    "KEpsilonTheta.recommended": KEpsilonTheta.recommended(),
    "KOmega.recommended": KOmega.recommended(),
    "KPP.recommended": KPP.recommended(),
    "EPBL.recommended": EPBL.recommended(),
    "TKE.recommended": TKE.recommended(),
    "CATKE.recommended": CATKE.recommended(),
    "GenericLengthScale.generated": GenericLengthScale.generated(),
    "KOmega with weak equilibrium": KOmega(stability=SecondMomentClosure(equilibrium="weak")),
    "NeuralCorrection of entrainment": NeuralCorrection(
        physical=RiBased(),
        where="entrainment",
        largest_correction=0.9,
        weights=jnp.asarray(np.random.default_rng(1).normal(0.0, 0.5, 30)),
    ),
    "OneEquation of Munk and Anderson": OneEquation(stability=MunkAndersonStability()),
}
"""Variants of closures, to which all contract tests apply, too."""

ROUNDING = 2e-15
"""Relative rounding error of a loss, a lower bound."""

SMOOTHNESS = 1e-6
"""Relative tolerance of a derivative by differences, besides their own error."""

SAME = 1e-8
"""Relative tolerance of derivatives in forward and reverse mode."""


def cooled_case(n_cells: int = 8, **changes) -> Case:
    """16 m of stratified water in unequal cells, under wind and cooling."""
    grid = random_grid(97, n_cells, depth=16.0)
    state = State.from_profiles(grid, temperature=lambda z: 15.0 + 0.1 * z)
    forcing = ConstantForcing(SurfaceFluxes(stress_u=0.2, heat_flux=-300.0))
    return Case(grid, state, forcing, **{"coriolis_parameter": 1e-4, **changes})


LES_CASES = ("free_convection", "strong_wind", "strong_wind_no_rotation", "strong_wind_weak_cooling")
"""Large-eddy simulations of the LESbrary with a reference run of GOTM each."""

N_CELLS, DEPTH = 12, 24.0
_TIMES = np.linspace(0.0, 12.0 * 3600.0, 13)


def _case(
    n_cells: int,
    depth: float,
    *,
    stratification: float = 0.02,
    zoom: float = 0.0,
    coriolis: float = 0.0,
    salinity: float = 0.0,
    **fluxes,
) -> Case:
    """Case of a common structure, so that one compiled program serves them all."""
    grid = Grid.stretched(depth, n_cells, surface_zoom=zoom)
    dye_flux = fluxes.pop("dye_flux", 0.0)
    names = ("stress_u", "stress_v", "heat_flux", "shortwave_flux", "freshwater_flux", "salt_flux")
    return Case(
        grid=grid,
        # Temperature counts from the surface: rounding then hides less of a small change.
        initial_state=State.from_profiles(
            grid,
            temperature=lambda z: stratification * z,
            salinity=salinity,
            tracers={"dye": lambda z: jnp.exp(z / 10.0)},
        ),
        forcing=TimeSeriesForcing.from_values(
            _TIMES, tracer_fluxes={"dye": dye_flux}, **{name: fluxes.get(name, 0.0) for name in names}
        ),
        coriolis_parameter=coriolis,
        duration=float(_TIMES[-1]),
    )


_DAY = 2.0 * np.pi * _TIMES / 86400.0


def small_cases(n_cells: int, depth: float) -> dict[str, Case]:
    """Cases of 12 h: all in which turbulence closures are known to break, and one with all fluxes."""
    case = partial(_case, n_cells, depth)
    return {
        "rest": case(),
        "wind": case(stress_u=0.1, coriolis=1e-4),
        "cooling": case(heat_flux=-200.0),
        "unstratified": case(stratification=0.0, stress_u=0.1),
        "everything": case(
            zoom=1.5,
            coriolis=-1e-4,
            salinity=2.0,
            stress_u=0.1 * np.cos(_DAY),
            stress_v=0.05 + 0.05 * np.sin(_DAY),
            heat_flux=-150.0,
            shortwave_flux=400.0 * np.maximum(np.sin(_DAY), 0.0),
            freshwater_flux=1e-4 * np.cos(_DAY),
            salt_flux=1e-6,
            dye_flux=1e-5 * np.sin(_DAY),
        ),
    }


CASES = small_cases(N_CELLS, DEPTH)


def get_leaf(module: Any, path: str) -> Any:
    """Field of a module by its dotted path."""
    return at_path(module, path)


def with_leaf(module, path: str, value):
    """The module with one field replaced."""
    return eqx.tree_at(lambda m: get_leaf(m, path), module, value)


def column(module, index: int):
    """One column of a batch."""
    return jax.tree.map(lambda leaf: leaf[..., index], module)


def order_of_accuracy(sizes, errors) -> float:
    """Exponent p of errors = C sizes^p by least squares."""
    return float(np.polyfit(np.log(np.asarray(sizes)), np.log(np.asarray(errors)), 1)[0])


def some_long(values: Iterable[Any], is_long: Callable[[Any], Any], name: Callable[[Any], str] = str) -> list:
    """Parameters of a test, of which those that are long run in `make test-all`."""
    long = [pytest.mark.long]
    return [pytest.param(one, id=name(one), marks=long if is_long(one) else []) for one in values]


_ONE = np.ones(())


class Differentiated:
    """A function of arrays and its derivatives in two programs: the forward one has the values, too."""

    def __init__(self, function: Callable[[Any], Any]):
        self._reverse = jax.jit(lambda x, weights: jax.vjp(function, x)[1](weights)[0])
        self._forward = jax.jit(lambda x, change: jax.jvp(function, (x,), (change,)))

    def reverse(self, x, weights: Any = _ONE):
        """Of the sum of what the function gives by weight."""
        return self._reverse(x, weights)

    def value(self, x):
        return self._forward(x, jax.tree.map(jnp.zeros_like, x))[0]

    def forward(self, x, change):
        return self._forward(x, change)[1]


def water_surface(u: float, v: float, temperature: float, salinity: float) -> WaterSurface:
    """Uppermost cell of a column without ice."""
    return WaterSurface(jnp.asarray(u), jnp.asarray(v), jnp.asarray(temperature), jnp.asarray(salinity))


class Difference(NamedTuple):
    """A derivative by differences, and how wrong it may be: neither knows any other derivative."""

    value: np.ndarray
    error: np.ndarray

    def agrees(self, derivative, tolerance) -> np.ndarray:
        """Whether a derivative is this one: to a fraction, ten times the own error, and a number.

        Where the error is more than a hundredth of the value, a difference says nothing against anything.
        """
        known = self.error <= 0.01 * np.abs(self.value) + tolerance
        off = np.abs(np.asarray(derivative) - self.value)
        return ~known | (off <= SMOOTHNESS * np.abs(self.value) + 10.0 * self.error + tolerance)

    def holds(self, tolerance, fraction: float = SMOOTHNESS) -> np.ndarray:
        """Whether it is known to a fraction, and a number: what is wrong by ten times as much, it finds."""
        return self.error <= fraction * np.abs(self.value) + tolerance


_WIDTHS = 3e-3 / 4.0 ** np.arange(6)
N_POINTS = 2 * len(_WIDTHS) + 1
"""Number of points at which `central_difference` takes a function."""


def central_difference(function: Callable[[np.ndarray], np.ndarray], x: float, scale: float) -> Difference:
    """Derivative of a function of one number by central differences, with their own error.

    Widths are quarters of each other, from 3e-3 to 3e-6 of `scale`. Richardson's extrapolation of two
    neighbours, E(h) = (16 D(h/4) - D(h)) / 15, is of fourth order: where the function is smooth, E of
    neighbouring widths agree until rounding drowns them. The value is the E that differs least from both of
    its neighbours, its error the larger of the two differences: large where a kink or a jump lies within the
    interval. At a kink in `x` itself the difference is the mean of two sides; half of the jump of the
    derivative, J = (4 b(h/4) - b(h)) / 3 with b(h) = (f(x+h) - 2 f(x) + f(x-h)) / h, is error, too.

    Args:
        function: takes all points at once, and gives its values there along axis 0.

    Source: Ridders (1982), Adv. Eng. Softw. 4, 75-76, chooses by the same error.
    """
    h = scale * _WIDTHS
    values = np.asarray(function(np.concatenate([[x], x + h, x - h])))
    middle, (above, below) = values[0], np.split(values[1:], 2)
    h = h.reshape(-1, *np.ones(middle.ndim, int))
    slope, bend = (above - below) / (2.0 * h), ((above - middle) - (middle - below)) / h
    value, jump = (16.0 * slope[1:] - slope[:-1]) / 15.0, (4.0 * bend[1:] - bend[:-1]) / 3.0
    apart = np.abs(np.diff(value, axis=0))
    errors = np.maximum(np.maximum(apart[:-1], apart[1:]), 0.5 * np.abs(jump[1:-1]))
    best = np.argmin(errors, axis=0)[None]
    value, error = (np.take_along_axis(of, best, axis=0)[0] for of in (value[1:-1], errors))
    return Difference(value, error)
