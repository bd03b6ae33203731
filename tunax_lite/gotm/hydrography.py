"""Temperature, salinity and velocity: the initial state, and observed profiles towards which they relax.

Conversions to conservative temperature and absolute salinity are made here, once per profile.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from .._types import CenterArray
from ..grid import Grid
from ..io.sea_water import modelled_water
from ..io.series import Series, on_common_times
from ..physics.equation_of_state import AbstractEquationOfState
from ..state import State
from ..terms import Relaxation, RelaxationTarget, layered_rate
from ..time_series import TimeSeries
from .profiles import Inputs
from .settings import Settings

NO_RELAXATION = 1e15
"""Time scale [s] from which on GOTM's relaxation is off: its default."""


@dataclasses.dataclass(frozen=True)
class Hydrography:
    """What the water is at the start, and what it is drawn to.

    Args:
        initial_state: on the cells.
        relaxation: `None` for none.
        held: which of temperature and salinity are off, and stay as they are.
    """

    initial_state: State
    relaxation: Relaxation | None
    held: tuple[str, ...]


def read_hydrography(inputs: Inputs, grid: Grid, equation_of_state: AbstractEquationOfState) -> Hydrography:
    """Initial state and relaxation.

    Raises:
        ConfigError, FileNotFoundError, FileFormatError: settings or files that cannot be used.
    """
    settings = inputs.settings
    rates = {name: _rate(settings, name, grid) for name in ("temperature", "salinity")}
    whole = any(rate is not None for rate in rates.values())
    measured = {name: _measured(inputs, name, equation_of_state, whole) for name in rates}
    time, values = on_common_times(measured, inputs.period.length)
    # As in GOTM: what is measured at the start is interpolated first and converted then.
    start = {name: series.on(np.zeros(1))[0] for name, series in measured.items()}
    water = converted(inputs, start)
    u, v = (inputs.profile(f"velocities.{name}") for name in ("u", "v"))
    state = State.from_profiles(
        grid,
        temperature=jnp.asarray(water["temperature"]),
        salinity=jnp.asarray(water["salinity"]),
        u=jnp.asarray(u.on(np.zeros(1))[0]),
        v=jnp.asarray(v.on(np.zeros(1))[0]),
    )
    targets: dict[str, RelaxationTarget] = {}
    if whole:
        profiles = converted(inputs, values)
        for name, rate in rates.items():
            if rate is not None:
                # GOTM converts what it relaxes to at the end of a step, for the next one.
                lagging = Series(np.append(time[0], time + inputs.dt), profiles[name][[0, *range(time.size)]])
                targets[name] = _target(name, lagging, rate)
    targets |= _velocity_targets(settings, {"u": u, "v": v}, grid)
    return Hydrography(
        initial_state=state,
        relaxation=Relaxation(**targets) if targets else None,
        held=tuple(name for name in rates if settings[f"{name}.method"] == "off"),
    )


def _target(
    name: str, series: Series, rate: CenterArray, fading_period: float | None = None
) -> RelaxationTarget:
    observed = TimeSeries(jnp.asarray(series.time), jnp.asarray(series.values), f"observed {name}")
    return RelaxationTarget(observed, rate, fading_period)


def _rate(settings: Settings, name: str, grid: Grid) -> CenterArray | None:
    """Rate of relaxation on cells [s-1]; `None` where there is none."""
    read = {key: settings[f"{name}.relax.{key}"] for key in ("tau", "tau_s", "tau_b", "h_s", "h_b")}
    if settings[f"{name}.method"] == "off":
        settings.without_effect(f"{name}.relax", f"{name}.method is off")
        return None
    for key, value in read.items():
        if key.startswith("tau") and value <= 0.0:
            raise settings.error(f"{name}.relax.{key}", f"expected a positive time scale [s], got {value:g}")
    rate = layered_rate(
        grid,
        read["tau"],
        surface_height=read["h_s"],
        surface_time_scale=read["tau_s"],
        bottom_height=read["h_b"],
        bottom_time_scale=read["tau_b"],
    )
    return rate if np.any(np.asarray(rate) > 1.0 / NO_RELAXATION) else None


def _velocity_targets(
    settings: Settings, profiles: dict[str, Series], grid: Grid
) -> dict[str, RelaxationTarget]:
    tau, ramp = settings["velocities.relax.tau"], settings["velocities.relax.ramp"]
    if tau >= NO_RELAXATION:
        settings.without_effect("velocities.relax.ramp", "velocities.relax.tau is off")
        return {}
    if ramp < NO_RELAXATION:
        settings.note(
            "velocities.relax.ramp",
            "as GOTM computes it, the relaxation fades over the ramp and is back at full strength after it",
        )
    if tau <= 0.0:
        raise settings.error("velocities.relax.tau", f"expected a positive time scale [s], got {tau:g}")
    rate = layered_rate(grid, tau)
    fading = ramp if ramp < NO_RELAXATION else None
    return {name: _target(name, series, rate, fading) for name, series in profiles.items()}


def _measured(
    inputs: Inputs, name: str, equation_of_state: AbstractEquationOfState, whole_period: bool
) -> Series:
    """Profiles of temperature or salinity in the measure that the configuration names."""
    settings = inputs.settings
    method = settings[f"{name}.method"]
    letter = name[0]
    layers = {key: f"{name}.two_layer.{key}" for key in ("z_s", f"{letter}_s", "z_b", f"{letter}_b")}
    source = settings.input(name)
    if method != "buoyancy":
        settings.without_effect(f"{name}.NN", f"{name}.method is {method}")
    if method == "two_layer":
        top, above, bottom, below = (settings[path] for path in layers.values())
        if bottom < top:
            raise settings.error(layers["z_b"], f"expected at least z_s = {top:g} m, got {bottom:g}")
        return inputs.at_all_times(_two_layers(inputs.z_center, top, above, bottom, below))
    if method == "buoyancy":
        surface, n_squared = settings[layers[f"{letter}_s"]], settings[f"{name}.NN"]
        settings.without_effect(f"{name}.two_layer", f"{name}.method is buoyancy")
        other = "salinity" if name == "temperature" else "temperature"
        if settings[f"{other}.method"] != "constant":
            raise settings.error(
                f"{name}.method",
                f"expected a constant {other} where {name} follows from the buoyancy frequency, got "
                f"{other}.method: {settings[f'{other}.method']}",
            )
        constant = settings[f"{other}.constant_value"]
        coefficient = _coefficient(equation_of_state, name, constant)
        gravity = float(equation_of_state.gravity)
        profile = _stratified(inputs, surface, n_squared / gravity, coefficient, rises=name == "temperature")
        return inputs.at_all_times(profile)
    settings.without_effect(f"{name}.two_layer", f"{name}.method is {method}")
    if method == "off":
        return inputs.at_all_times(np.full(inputs.z_center.shape, source.constant_value))
    return inputs.profile(name, whole_period=whole_period)


def _two_layers(z: np.ndarray, top: float, above: float, bottom: float, below: float) -> np.ndarray:
    """Two values with a linear transition; GOTM counts depths from the uppermost center."""
    depth = z[-1] - z
    if bottom - top < 1e-15:
        return np.where(depth <= top, above, below)
    return np.interp(depth, [top, bottom], [above, below])


def _coefficient(
    equation_of_state: AbstractEquationOfState, name: str, constant: float
) -> Callable[[float, float], float]:
    """Thermal expansion or haline contraction as a function of the profile's value and the height."""

    @eqx.filter_jit
    def expansion(value, z):
        fixed = jnp.full_like(value, constant)
        if name == "temperature":
            return equation_of_state.expansion(value, fixed, z)[0] + 0.0 * z
        return equation_of_state.expansion(fixed, value, z)[1] + 0.0 * z

    return lambda value, z: float(expansion(jnp.asarray(value, dtype=float), jnp.asarray(z, dtype=float)))


def _stratified(
    inputs: Inputs, surface: float, strength: float, coefficient: Callable[[float, float], float], rises: bool
) -> np.ndarray:
    """Profile of constant N² from the surface down; `strength` is N² / g.

    Source: GOTM, `temperature.NN`: the coefficient at a face follows from its two cells in two passes.
    """
    z = inputs.z_center
    sign = 1.0 if rises else -1.0
    profile = np.empty_like(z)
    profile[-1] = surface
    for i in range(z.size - 2, -1, -1):
        upper, face, step = profile[i + 1], inputs.z_face[i + 1], z[i + 1] - z[i]
        guess = upper - sign * strength / coefficient(upper, face) * step
        profile[i] = upper - sign * strength / coefficient(0.5 * (upper + guess), face) * step
    return profile


_KINDS: dict[str, Any] = {"in-situ": "in_situ", "potential": "potential", "conservative": "conservative"}


def converted(inputs: Inputs, values: dict, z: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """Conservative temperature and absolute salinity at heights [m], by default those of the cells."""
    settings = inputs.settings
    kind = settings["temperature.type"]
    temperature, salinity = modelled_water(
        values["temperature"],
        values["salinity"],
        inputs.z_center if z is None else z,
        temperature_kind=_KINDS[kind],
        salinity_kind=settings["salinity.type"],
        longitude=settings["location.longitude"],
        latitude=settings["location.latitude"],
        anomaly=inputs.salinity_anomaly,
    )
    return {"temperature": temperature, "salinity": salinity}
